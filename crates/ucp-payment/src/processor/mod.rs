//! Payment handler that authorizes and captures at a payment service provider, over HTTP.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `wire` | messages of the provider and their classification |
//! | `sign` | signatures of requests |
//!
//! # The protocol
//! A payment is identified by the attempt's `id`, which the gateway assigns, and has one of these statuses:
//!
//! | status | meaning |
//! | :-- | :-- |
//! | `pending` | not decided yet |
//! | `authorized` | the money is reserved |
//! | `captured` | the money is taken; final |
//! | `declined` | refused, no money moves; final |
//! | `challenge` | the buyer has to be authenticated, and then pays anew under another `id`; final |
//! | `voided` | canceled, no money moves; final |
//!
//! | request | members of the body | effect |
//! | :-- | :-- | :-- |
//! | `POST /payments` | `id`, `checkout_id`, `amount`, `currency`, `instrument`, `credential` | authorizes, unless a payment of that `id` exists |
//! | `POST /payments/{id}/capture` | `checkout_id`, `amount`, `currency`, and for a part `capture_amount` | captures that much of what is authorized, or all of it, and releases the rest |
//! | `POST /payments/{id}/void` | `checkout_id`, `amount`, `currency` | cancels what is not captured; an unknown `id` is recorded as canceled, whatever arrives later |
//! | `GET /payments/{id}` | | none |
//!
//! Each is answered with status 200 and the current payment, even if there was nothing left to do: `id`, `status`,
//! `amount`, `currency`, and where applicable `captured_amount` (if that is not all), `reference` (the provider's name
//! for it) and `reason` (a code, see below). Amounts are integers in minor units. A request that was not carried out, and will not be, is answered with
//! status 400, 401, 403, 413 or 422 and `{"error": {"code", "message"}}`; an unknown payment with 404 and the code
//! `payment_not_found`. Reasons for `declined` are `refused_by_bank`, `insufficient_funds`, `limit_exceeded`, `expired`
//! and `suspected_fraud`.
//!
//! Every POST carries an `Idempotency-Key`, which consists of the attempt's `id` and the step, and for what the merchant
//! captures or releases later the version of the order: a repeated request is answered again, but not carried out again. Every request carries the API key as a bearer token, a `Content-Digest`
//! (RFC 9530, SHA-256) and a signature (RFC 9421, HMAC with SHA-256) over method, address, both of these headers and
//! the idempotency key.
//!
//! # Guarantees
//! - The processor does not guess. A timeout, a reset, a status 5xx, an answer that cannot be parsed or is about
//!   another payment: all of them leave a payment [`Unknown`](Settlement::Unknown). It is declined only if the provider
//!   says so, or if no request for it ever left this machine.
//! - It does not try again under another `id`. Requests are repeated with the same key only, a few times, until the
//!   [`deadline`](Options::deadline).
//! - It does not ask another provider. The memo holds the address of the provider; an attempt that was made at another
//!   one stays unknown, unless that is one of the [former addresses](Options::previous_urls).
//! - It does not follow redirects, use proxies of the environment, or read more than 64 KiB of an answer.

mod sign;
mod wire;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::{Value, json};
use tokio::time::Instant;
use ucp_core::{
    message::Message,
    money::Amount,
    ports::payment_handler::Handler,
    purchase::payment::{Attempt, Capture, CaptureMode, Declaration, Settlement, Tender, TransferOutcome},
};

use ucp_net::outbound;
pub use ucp_net::outbound::Certificate;

use self::{
    sign::Signer,
    wire::{Payment, Status, Step, Verdict},
};
pub use crate::endpoint::{Endpoint, UnusableEndpoint};
use crate::{
    Clock, Secret,
    client::{self, Call, Failure, Transport},
    credential, mode,
    subject::Subject,
};

/// Pause before the first repetition of a request; it doubles each time.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum size of a response, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// Header of the idempotency key.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Options of a provider.
#[derive(Clone)]
pub struct Options {
    /// Declaration of the handler in the profile.
    pub declaration: Declaration,
    /// URL of the provider.
    pub endpoint: Endpoint,
    /// Former URLs of the same provider: payments made there are queried at `endpoint`.
    pub previous_urls: Vec<Endpoint>,
    /// API key of the shop.
    pub api_key: Secret,
    /// Identifier of the signing secret, printable ASCII without quotes and backslashes.
    pub key_id: String,
    /// Signing secret.
    pub signing_secret: Secret,
    /// Timeout of DNS, connecting and the TLS handshake together.
    pub connect_timeout: Duration,
    /// Timeout of a request up to the last byte of the response.
    pub request_timeout: Duration,
    /// Time after its start for which an attempt may be sent or awaited. Querying and voiding it have as much time
    /// again.
    pub deadline: Duration,
    /// Maximum number of times that a request is sent.
    pub tries: u32,
    /// Capture mode, which determines when the money is captured.
    pub capture: CaptureMode,
    /// Certificates that are trusted beside those of the system.
    pub roots: Vec<Certificate>,
    /// Source of the current time.
    pub clock: Clock,
}

impl Options {
    /// Returns options with the defaults: 3 s to connect, 8 s for a request, 20 s in total, 3 attempts; the
    /// certificates of the system.
    pub fn new(
        declaration: Declaration,
        endpoint: Endpoint,
        api_key: Secret,
        key_id: String,
        signing_secret: Secret,
        clock: Clock,
    ) -> Self {
        Self {
            declaration,
            endpoint,
            previous_urls: Vec::new(),
            api_key,
            key_id,
            signing_secret,
            connect_timeout: Duration::from_secs(3),
            request_timeout: Duration::from_secs(8),
            deadline: Duration::from_secs(20),
            tries: 3,
            capture: CaptureMode::Automatic,
            roots: Vec::new(),
            clock,
        }
    }
}

/// Reasons why the options allow no [`Processor`].
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The identifier of the signing secret cannot be written in a signature.
    #[error("the name of the signing secret is 1 to 128 printable ASCII characters without quotes and backslashes")]
    KeyId,
    /// The timeouts or the number of attempts allow no request at all.
    #[error("connect timeout, request timeout, deadline and tries have to be more than zero")]
    NoRoom,
    /// The client for the provider cannot be set up.
    #[error("the payment provider {0}")]
    Unreachable(#[source] outbound::SetupError),
}

/// Payment handler of a payment service provider.
pub struct Processor {
    options: Options,
    authorization: HeaderValue,
    signer: Signer,
    transport: Arc<dyn Transport>,
}

ucp_core::opaque!(Processor { options.declaration, options.endpoint, options.deadline });

impl Processor {
    /// Creates a handler for a provider, without connecting to it.
    pub fn new(options: Options) -> Result<Self, SetupError> {
        let provider = client::Provider {
            name: "payment provider",
            endpoint: &options.endpoint,
            connect_timeout: options.connect_timeout,
            request_timeout: options.request_timeout,
            max_body: MAX_BODY,
            roots: &options.roots,
        };
        let transport = client::Http::new(&provider).map_err(SetupError::Unreachable)?;
        Self::over(options, Arc::new(transport))
    }

    fn over(options: Options, transport: Arc<dyn Transport>) -> Result<Self, SetupError> {
        let times = [options.connect_timeout, options.request_timeout, options.deadline];
        if times.contains(&Duration::ZERO) || options.tries == 0 {
            return Err(SetupError::NoRoom);
        }
        let signer = Signer::new(&options.key_id, options.signing_secret.clone()).ok_or(SetupError::KeyId)?;
        Ok(Self { authorization: client::authorization(&options.api_key), signer, options, transport })
    }

    /// Returns `true` if an attempt was made at this provider, by its memo.
    fn is_ours(&self, attempt: &Attempt) -> bool {
        let made_at = attempt.memo["endpoint"].as_str();
        let ours = std::iter::once(&self.options.endpoint)
            .chain(&self.options.previous_urls)
            .any(|ours| Some(ours.as_str()) == made_at);
        if !ours {
            tracing::error!(
                attempt = attempt.id,
                endpoint = self.options.endpoint.as_str(),
                made_at,
                "payment belongs to another provider, its status is unknown here"
            );
        }
        ours
    }

    /// Returns the request of a step.
    fn call(&self, step: Step, subject: Subject<'_>, key: &str, body: Bytes) -> Call {
        let (method, url) = match step {
            Step::Authorize => (Method::POST, self.options.endpoint.join(&["payments"])),
            Step::Inquire => (Method::GET, self.options.endpoint.join(&["payments", subject.id])),
            Step::Capture => (Method::POST, self.options.endpoint.join(&["payments", subject.id, "capture"])),
            Step::Void => (Method::POST, self.options.endpoint.join(&["payments", subject.id, "void"])),
        };
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::AUTHORIZATION, self.authorization.clone());
        if method == Method::POST {
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
            // An identifier that is not valid in a header is an error of the shop; the provider then refuses the
            // request.
            if let Ok(key) = HeaderValue::from_str(key) {
                headers.insert(IDEMPOTENCY_KEY, key);
            }
        }
        let mut call = Call { method, url, headers, body };
        self.signer.sign(&mut call, (self.options.clock)());
        call
    }

    /// Sends the request of a step that belongs to the purchase until there is a credible answer, and returns the outcome.
    async fn ask(&self, step: Step, attempt: &Attempt, body: &Value, until: Instant) -> Verdict {
        self.ask_as(step, attempt.into(), &format!("{}:{}", attempt.id, step.as_str()), body, until).await
    }

    /// Sends a request under this idempotency key until there is a credible answer, and returns the outcome.
    async fn ask_as(&self, step: Step, subject: Subject<'_>, key: &str, body: &Value, until: Instant) -> Verdict {
        let body = if step == Step::Inquire { Bytes::new() } else { Bytes::from(body.to_string()) };
        // Once a request may have reached the provider, only the provider's statement about the payment ends the doubt.
        let mut doubtful = false;
        let mut pause = PAUSE;
        for nth in 0..self.options.tries {
            if nth > 0 {
                tokio::time::sleep_until(until.min(Instant::now() + pause)).await;
                pause *= 2;
            }
            let now = Instant::now();
            if now >= until {
                break;
            }
            let call = self.call(step, subject, key, body.clone());
            let verdict =
                match self.transport.upstream_request(call, until.min(now + self.options.request_timeout)).await {
                    Ok(answer) => wire::read(&answer, subject),
                    Err(Failure::Unsent) => Verdict::Unsent,
                    Err(Failure::Lost) => Verdict::Unclear,
                };
            match verdict {
                Verdict::Stands(_) | Verdict::NotFound => return verdict,
                Verdict::Refused if !doubtful => return verdict,
                Verdict::Unsent => {}
                Verdict::Refused | Verdict::Unclear => doubtful = true,
            }
            tracing::warn!(
                attempt = subject.id,
                step = step.as_str(),
                nth,
                doubtful,
                "payment provider outcome unknown"
            );
        }
        if doubtful { Verdict::Unclear } else { Verdict::Unsent }
    }

    /// Captures an authorized payment, unless that is left to the merchant.
    async fn authorized(&self, attempt: &Attempt, payment: Payment, until: Instant) -> Settlement {
        if mode::of(attempt) == CaptureMode::Manual {
            return Settlement::Authorized { reference: payment.reference() };
        }
        match self.ask(Step::Capture, attempt, &money(attempt.into()), until).await {
            Verdict::Stands(payment) => settlement(payment),
            Verdict::NotFound | Verdict::Refused | Verdict::Unsent | Verdict::Unclear => Settlement::Unknown,
        }
    }
}

#[async_trait]
impl Handler for Processor {
    fn declaration(&self) -> &Declaration {
        &self.options.declaration
    }

    fn prepare(&self, tender: &Tender) -> Result<Value, Message> {
        credential::usable(&self.options.declaration, tender, (self.options.clock)())?;
        Ok(mode::noted(json!({ "endpoint": self.options.endpoint.as_str() }), self.options.capture))
    }

    fn deadline(&self) -> Duration {
        self.options.deadline
    }

    async fn pay(&self, attempt: &Attempt, tender: &Tender) -> Settlement {
        let declined = |reason: &str| Settlement::Declined { reason: reason.into() };
        let until = client::until((self.options.clock)(), attempt, self.options.deadline);
        let body = match (self.is_ours(attempt), &tender.credential) {
            (true, Some(credential)) => order(attempt, tender, credential.reveal()),
            _ => return declined("The payment could not be made. Nothing was charged."),
        };
        match self.ask(Step::Authorize, attempt, &body, until).await {
            Verdict::Stands(payment @ Payment { status: Status::Authorized, .. }) => {
                self.authorized(attempt, payment, until).await
            }
            Verdict::Stands(payment) => settlement(payment),
            Verdict::Refused => declined("The payment provider did not take the payment. Nothing was charged."),
            Verdict::Unsent => Settlement::Unsent,
            Verdict::NotFound | Verdict::Unclear => Settlement::Unknown,
        }
    }

    async fn inquire(&self, attempt: &Attempt) -> Settlement {
        if !self.is_ours(attempt) {
            return Settlement::Unknown;
        }
        let until = Instant::now() + self.options.deadline;
        match self.ask(Step::Inquire, attempt, &Value::Null, until).await {
            Verdict::Stands(payment @ Payment { status: Status::Authorized, .. }) => {
                self.authorized(attempt, payment, until).await
            }
            Verdict::Stands(payment) => settlement(payment),
            Verdict::NotFound => Settlement::Absent,
            Verdict::Refused | Verdict::Unsent | Verdict::Unclear => Settlement::Unknown,
        }
    }

    async fn forget(&self, attempt: &Attempt) -> bool {
        if !self.is_ours(attempt) {
            return false;
        }
        let until = Instant::now() + self.options.deadline;
        let verdict = self.ask(Step::Void, attempt, &money(attempt.into()), until).await;
        matches!(verdict, Verdict::Stands(Payment { status: Status::Voided | Status::Declined, .. }))
    }

    async fn capture(&self, capture: &Capture) -> TransferOutcome {
        let (subject, until) = (Subject::from(capture), Instant::now() + self.options.deadline);
        let (step, mut body) = match capture.amount {
            Amount::ZERO => (Step::Void, money(subject)),
            _ => (Step::Capture, money(subject)),
        };
        if step == Step::Capture && capture.amount != capture.authorized {
            body["capture_amount"] = json!(capture.amount);
        }
        // What was asked before may have been carried out: only what the provider says of the payment is a result.
        match self.ask_as(Step::Inquire, subject, "", &Value::Null, until).await {
            Verdict::Stands(payment) => {
                if let Some(moved) = ended(capture, payment) {
                    return moved;
                }
            }
            Verdict::NotFound => {
                return TransferOutcome::Refused { reason: "the provider does not know the payment".to_owned() };
            }
            Verdict::Refused | Verdict::Unsent | Verdict::Unclear => return TransferOutcome::Unknown,
        }
        match self.ask_as(step, subject, &capture.id, &body, until).await {
            Verdict::Stands(payment) => ended(capture, payment).unwrap_or(TransferOutcome::Unknown),
            Verdict::Refused => TransferOutcome::Refused { reason: "the provider refused it".to_owned() },
            Verdict::NotFound | Verdict::Unsent | Verdict::Unclear => TransferOutcome::Unknown,
        }
    }
}

/// Returns the result of a capture or release, from a payment as it stands; `None` as long as it can be captured.
fn ended(capture: &Capture, payment: Payment) -> Option<TransferOutcome> {
    let refused = |reason: String| Some(TransferOutcome::Refused { reason });
    match payment.status {
        Status::Pending | Status::Authorized => None,
        Status::Captured | Status::Voided | Status::Declined if payment.captured() == capture.amount => {
            Some(TransferOutcome::Done { reference: payment.reference() })
        }
        Status::Captured => {
            refused(format!("the provider has captured {} minor units before", payment.captured().minor()))
        }
        Status::Voided | Status::Declined | Status::Challenge => {
            refused("the authorization is over at the provider, and nothing was captured".to_owned())
        }
    }
}

/// Body of the steps that need no credential.
fn money(subject: Subject<'_>) -> Value {
    json!({ "checkout_id": subject.checkout_id, "amount": subject.amount, "currency": subject.currency })
}

/// Body of an authorization.
fn order(attempt: &Attempt, tender: &Tender, credential: &serde_json::Map<String, Value>) -> Value {
    let instrument = &tender.instrument;
    json!({
        "id": attempt.id,
        "checkout_id": attempt.checkout_id,
        "amount": attempt.amount,
        "currency": attempt.currency,
        "instrument": {
            "id": instrument.id,
            "type": instrument.kind,
            "billing_address": instrument.billing_address,
        },
        "credential": credential,
    })
}

/// Returns the settlement for the status of a payment.
fn settlement(payment: Payment) -> Settlement {
    match payment.status {
        Status::Captured => Settlement::Captured { reference: payment.reference() },
        Status::Declined => Settlement::Declined { reason: payment.reason().into() },
        Status::Voided => Settlement::Declined { reason: "The payment was called off. Nothing was charged.".into() },
        Status::Challenge => {
            Settlement::Challenged { reason: "The bank asks the buyer to confirm the payment.".into() }
        }
        Status::Pending | Status::Authorized => Settlement::Unknown,
    }
}

#[cfg(test)]
mod tests;
