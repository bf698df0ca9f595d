//! Payment handler that authorizes and captures at Stripe (`com.stripe.payments`).
//!
//! | module | holds |
//! | :-- | :-- |
//! | `options` | options of an account, and the mode of its keys |
//! | `amount` | amounts as Stripe counts them |
//! | `tokens` | credentials that Stripe takes |
//! | `wire` | messages of Stripe and their classification |
//! | `event` | events that Stripe sends, and their signatures |
//!
//! # A payment
//! 1. A `PaymentIntent` is created, with manual capture and without a credential. Its idempotency key is the attempt's
//!    `id` with the step, so that creating it again leads to the same one: that is how an attempt is found after a crash,
//!    of which nothing but its `id` is known.
//! 2. It is confirmed with the credential, once. Where the bank wants to see the buyer, Stripe states the page to redirect
//!    the buyer to, and the attempt waits.
//! 3. It is captured, or with manual capture left to the merchant, who captures all of it or a part, once.
//!
//! # Guarantees
//! Those of the [processor](crate::processor). What moves money is the confirmation, which is sent under one key; a
//! `PaymentIntent` that was not confirmed never does. Stripe keeps keys for a day at least: an attempt that is older is
//! looked for by its time and its metadata, and never created again.

mod amount;
mod event;
mod options;
mod tokens;
mod wire;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;
use ucp_core::{
    Code, Refusal,
    message::Message,
    money::Currency,
    ports::payment_handler::Handler,
    purchase::payment::{
        Attempt, AuthenticationStep, Capture, CaptureMode, Declaration, Refund, Settlement, Tender, TransferOutcome,
    },
};
use ucp_net::outbound::SetupError;
use url::form_urlencoded;

pub use self::options::{API, Mode, Options};
use self::{
    options::PAGES,
    tokens::Members,
    wire::{Intent, Made, Status, Step, Verdict},
};
use crate::{
    client::{self, Answer, Call, Failure, Transport},
    credential, mode,
    subject::Subject,
};

/// Version of Stripe's API that requests name.
const VERSION: &str = "2024-06-20";

/// Pause before the first repetition of a request; it doubles each time.
const PAUSE: Duration = Duration::from_millis(100);

/// Maximum size of an answer, in bytes: a list has up to 100 payments.
const MAX_BODY: usize = 2 << 20;

/// Time that buyers have to authenticate. A bank gives them 10 minutes from the moment that its page is shown.
const CHALLENGE: SignedDuration = SignedDuration::from_mins(15);

/// Time for which a creation under the same key is certain to lead to the same payment. Stripe keeps keys for 24 hours.
const KEPT: SignedDuration = SignedDuration::from_hours(20);

/// Maximum number of refunds of a payment among which one is looked for.
const MOST_REFUNDS: u8 = 100;

/// Difference of the clocks here and at Stripe that does not matter, in seconds.
const SKEW: i64 = 3_600;

/// Maximum number of lists of 100 payments among which an old attempt is looked for.
const LISTS: usize = 100;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const STRIPE_VERSION: HeaderName = HeaderName::from_static("stripe-version");

/// Payment handler of a Stripe account.
pub struct Stripe {
    options: Options,
    authorization: HeaderValue,
    mode: Option<Mode>,
    transport: Arc<dyn Transport>,
}

ucp_core::opaque!(Stripe { options.declaration, options.endpoint, mode, options.deadline });

impl Stripe {
    /// Creates a handler for an account, without connecting to Stripe.
    pub fn new(options: Options) -> Result<Self, SetupError> {
        let provider = client::Provider {
            name: "Stripe",
            endpoint: &options.endpoint,
            connect_timeout: options.connect_timeout,
            request_timeout: options.request_timeout,
            max_body: MAX_BODY,
            roots: &options.roots,
        };
        let transport = client::Http::new(&provider)?;
        Ok(Self::over(options, Arc::new(transport)))
    }

    fn over(options: Options, transport: Arc<dyn Transport>) -> Self {
        let (authorization, mode) = (client::authorization(&options.api_key), Mode::of(options.api_key.reveal()));
        Self { options, authorization, mode, transport }
    }

    /// Returns the memo of attempts: where, and with which kind of key, they are made.
    fn memo(&self) -> Value {
        let place = json!({ "endpoint": self.options.endpoint.as_str(), "live": self.mode == Some(Mode::Live) });
        mode::noted(place, self.options.capture)
    }

    /// Returns `true` if an attempt was made at this address with this kind of key.
    fn is_ours(&self, attempt: &Attempt) -> bool {
        let memo = self.memo();
        let ours = ["endpoint", "live"].iter().all(|member| attempt.memo[member] == memo[member]);
        if !ours {
            tracing::error!(
                attempt = attempt.id,
                endpoint = self.options.endpoint.as_str(),
                made_at = attempt.memo["endpoint"].as_str(),
                "payment belongs to another Stripe address or key mode, its status is unknown here"
            );
        }
        ours
    }

    /// Returns a request. Members of one that only reads are in its query.
    fn call(&self, method: Method, path: &[&str], members: &Members, key: Option<&str>) -> Call {
        let mut url = self.options.endpoint.join(&["v1"]);
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.extend(path);
        }
        let mut headers = HeaderMap::new();
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.insert(header::AUTHORIZATION, self.authorization.clone());
        headers.insert(STRIPE_VERSION, HeaderValue::from_static(VERSION));
        let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(members).finish();
        let mut body = Bytes::new();
        if method == Method::GET {
            url.set_query((!text.is_empty()).then_some(&text));
        } else {
            body = text.into();
            headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        }
        if let Some(Ok(key)) = key.map(HeaderValue::from_str) {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        Call { method, url, headers, body }
    }

    /// Sends a request until there is a credible answer, and returns the outcome.
    async fn ask<T>(
        &self,
        step: &str,
        about: &str,
        until: Instant,
        call: impl Fn() -> Call + Sync,
        read: impl Fn(&Answer) -> Verdict<T> + Sync,
    ) -> Verdict<T> {
        // Once a request may have reached Stripe, only its statement about the payment ends the doubt.
        let mut doubtful = false;
        let mut pause = PAUSE;
        for nth in 0..self.options.tries.max(1) {
            if nth > 0 {
                tokio::time::sleep_until(until.min(Instant::now() + pause)).await;
                pause *= 2;
            }
            let now = Instant::now();
            if now >= until {
                break;
            }
            match self.transport.upstream_request(call(), until.min(now + self.options.request_timeout)).await {
                Ok(answer) => match read(&answer) {
                    Verdict::Refused(code) => {
                        tracing::error!(about, step, status = answer.status, code, "Stripe rejected a request");
                        if !doubtful {
                            return Verdict::Refused(code);
                        }
                    }
                    Verdict::Unclear => doubtful = true,
                    verdict => return verdict,
                },
                Err(Failure::Unsent) => {}
                Err(Failure::Lost) => doubtful = true,
            }
            tracing::warn!(about, step, nth, doubtful, "Stripe outcome unknown");
        }
        if doubtful { Verdict::Unclear } else { Verdict::Unsent }
    }

    /// Creates the payment, or returns it as it was when it was created.
    async fn create(&self, attempt: &Attempt, amount: i64, until: Instant) -> Verdict<Intent> {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let members = vec![
            pair("amount", &amount.to_string()),
            pair("currency", &attempt.currency.as_str().to_ascii_lowercase()),
            pair("capture_method", "manual"),
            pair("payment_method_types[]", "card"),
            pair(&format!("metadata[{}]", wire::ATTEMPT), &attempt.id),
            pair(&format!("metadata[{}]", wire::CHECKOUT), &attempt.checkout_id),
        ];
        let key = key(attempt, Step::Create, "");
        let call = || self.call(Method::POST, &["payment_intents"], &members, Some(&key));
        self.ask(Step::Create.as_str(), &attempt.id, until, call, |answer| wire::read(answer, attempt.into())).await
    }

    /// Sends a step of a payment that exists.
    async fn step(
        &self,
        step: Step,
        subject: Subject<'_>,
        id: &str,
        members: &Members,
        key: &str,
        until: Instant,
    ) -> Verdict<Intent> {
        let call = || match step {
            Step::Confirm | Step::Capture | Step::Cancel => {
                self.call(Method::POST, &["payment_intents", id, step.as_str()], members, Some(key))
            }
            Step::Create | Step::Retrieve | Step::Find => {
                self.call(Method::GET, &["payment_intents", id], members, None)
            }
        };
        let is_it = |answer: &Answer| match wire::read(answer, subject) {
            Verdict::Stands(intent) if intent.id != id => Verdict::Unclear,
            verdict => verdict,
        };
        self.ask(step.as_str(), subject.id, until, call, is_it).await
    }

    /// Returns the payment of an attempt as it stands; `None` inside if Stripe has none.
    async fn find(&self, attempt: &Attempt, until: Instant) -> Verdict<Option<Intent>> {
        let age = (self.options.clock)().duration_since(attempt.begun_at);
        let Some(amount) = amount::charged(attempt.amount, attempt.currency) else { return Verdict::Stands(None) };
        if age < KEPT
            && let Verdict::Stands(created) = self.create(attempt, amount, until).await
        {
            let none = Members::new();
            let found = self.step(Step::Retrieve, attempt.into(), &created.id, &none, "", until).await;
            return found.map(Some);
        }
        self.search(attempt, until).await
    }

    /// Returns a refund as Stripe has it; `None` inside if it has none.
    async fn given(&self, refund: &Refund, until: Instant) -> Verdict<Option<Made>> {
        #[derive(Deserialize)]
        struct List {
            data: Vec<Made>,
        }
        let query = vec![
            ("payment_intent".to_owned(), refund.reference.clone()),
            ("limit".to_owned(), MOST_REFUNDS.to_string()),
        ];
        let call = || self.call(Method::GET, &["refunds"], &query, None);
        let listed = self.ask("find_refund", &refund.id, until, call, wire::listed::<List>).await;
        listed.map(|List { data }| data.into_iter().find(|made| made.is_of(&refund.id)))
    }

    /// Looks for the payment of an attempt among all that were created at the time.
    async fn search(&self, attempt: &Attempt, until: Instant) -> Verdict<Option<Intent>> {
        #[derive(Deserialize)]
        struct List {
            data: Vec<Value>,
            has_more: bool,
        }
        let begun = attempt.begun_at.as_second();
        let mut after: Option<String> = None;
        for _ in 0..LISTS {
            let mut members = vec![
                ("limit".to_owned(), "100".to_owned()),
                ("created[gte]".to_owned(), (begun - SKEW).to_string()),
                ("created[lte]".to_owned(), (begun + SKEW).to_string()),
            ];
            members.extend(after.take().map(|id| ("starting_after".to_owned(), id)));
            let call = || self.call(Method::GET, &["payment_intents"], &members, None);
            let list = match self.ask(Step::Find.as_str(), &attempt.id, until, call, wire::listed::<List>).await {
                Verdict::Stands(list) => list,
                other => return other.map(|_| None),
            };
            let last = list.data.last().and_then(|intent| Some(intent.get("id")?.as_str()?.to_owned()));
            let mut intents = list.data.into_iter().filter_map(|intent| Intent::deserialize(intent).ok());
            if let Some(intent) = intents.find(|intent| intent.is_of(attempt.into())) {
                return Verdict::Stands(Some(intent));
            }
            match last {
                Some(last) if list.has_more => after = Some(last),
                _ => return Verdict::Stands(None),
            }
        }
        tracing::error!(attempt = attempt.id, "payment not among the first that Stripe lists for its time");
        Verdict::Unclear
    }

    /// Returns the settlement for a payment, and captures or calls off what needs that. `when` distinguishes the keys of
    /// those steps from those of earlier calls, because Stripe repeats an answer to a key even if it was an error.
    async fn settle(&self, attempt: &Attempt, intent: Intent, when: &str, until: Instant) -> Settlement {
        let none = Members::new();
        let intent = match intent.status {
            Status::RequiresCapture if mode::of(attempt) == CaptureMode::Manual => {
                return Settlement::Authorized { reference: intent.id };
            }
            Status::RequiresCapture => {
                let key = key(attempt, Step::Capture, when);
                match self.step(Step::Capture, attempt.into(), &intent.id, &none, &key, until).await {
                    Verdict::Stands(intent) => intent,
                    Verdict::Refused(_) => {
                        match self.step(Step::Retrieve, attempt.into(), &intent.id, &none, "", until).await {
                            Verdict::Stands(intent) => intent,
                            _ => return Settlement::Unknown,
                        }
                    }
                    Verdict::Unsent | Verdict::Unclear => return Settlement::Unknown,
                }
            }
            Status::RequiresAction if intent.redirect(self.options.endpoint.url()).is_none() => {
                // Without a page there is nowhere to send the buyer.
                let key = key(attempt, Step::Cancel, when);
                match self.step(Step::Cancel, attempt.into(), &intent.id, &none, &key, until).await {
                    Verdict::Stands(intent) => intent,
                    _ => return Settlement::Unknown,
                }
            }
            _ => intent,
        };
        match intent.status {
            Status::Succeeded => {
                if !intent.is_whole() {
                    tracing::error!(attempt = attempt.id, "payment captured only in part at Stripe");
                }
                Settlement::Captured { reference: intent.id }
            }
            Status::Canceled => {
                Settlement::Declined { reason: "The payment was called off. Nothing was charged.".into() }
            }
            Status::RequiresPaymentMethod if intent.has_failed() => {
                Settlement::Declined { reason: intent.reason().into() }
            }
            Status::RequiresPaymentMethod | Status::RequiresConfirmation => Settlement::Absent,
            Status::RequiresAction => match intent.redirect(self.options.endpoint.url()) {
                Some(url) => Settlement::AwaitingBuyer {
                    step: AuthenticationStep::ThreeDsChallenge,
                    url,
                    until: attempt.begun_at.saturating_add(CHALLENGE).unwrap_or(Timestamp::MAX),
                },
                None => Settlement::Unknown,
            },
            Status::Processing | Status::RequiresCapture => Settlement::Unknown,
        }
    }

    /// Returns what distinguishes the keys of a later call from those of [`pay`](Handler::pay).
    fn when(&self) -> String {
        (self.options.clock)().as_millisecond().to_string()
    }
}

/// Returns why an amount in a currency cannot be moved.
fn in_steps(currency: Currency) -> String {
    format!("Stripe moves amounts in {currency} in steps of {} minor units only.", amount::step(currency))
}

/// Returns the idempotency key of a step.
fn key(attempt: &Attempt, step: Step, when: &str) -> String {
    let when = if when.is_empty() { String::new() } else { format!(":{when}") };
    format!("{}:{}{when}", attempt.id, step.as_str())
}

#[async_trait]
impl Handler for Stripe {
    fn declaration(&self) -> &Declaration {
        &self.options.declaration
    }

    fn prepare(&self, tender: &Tender) -> Result<Value, Message> {
        let credential = credential::usable(&self.options.declaration, tender, (self.options.clock)())?;
        tokens::members(tender, credential)?;
        Ok(self.memo())
    }

    fn deadline(&self) -> Duration {
        self.options.deadline
    }

    fn authentication_origins(&self) -> Option<Vec<String>> {
        let endpoint = self.options.endpoint.url();
        // Stripe's pages have an origin of their own; a stand-in for Stripe serves them itself.
        let pages = if endpoint.as_str() == API { PAGES.to_owned() } else { endpoint.origin().ascii_serialization() };
        Some(vec![pages])
    }

    async fn pay(&self, attempt: &Attempt, tender: &Tender) -> Settlement {
        let declined = |reason: &str| Settlement::Declined { reason: reason.into() };
        let until = client::until((self.options.clock)(), attempt, self.options.deadline);
        let members = tender.credential.as_ref().and_then(|credential| tokens::members(tender, credential).ok());
        let Some(mut members) = members.filter(|_| self.is_ours(attempt)) else {
            return declined("The payment could not be made. Nothing was charged.");
        };
        let Some(amount) = amount::charged(attempt.amount, attempt.currency) else {
            let step = amount::step(attempt.currency);
            tracing::error!(attempt = attempt.id, currency = %attempt.currency, step, "amount not chargeable at Stripe");
            return declined("Amounts such as this cannot be charged in the currency. Nothing was charged.");
        };
        let created = match self.create(attempt, amount, until).await {
            Verdict::Stands(intent) => intent,
            Verdict::Refused(_) => {
                return declined("The payment provider did not take the payment. Nothing was charged.");
            }
            // What is not confirmed charges nothing, whether it exists or not.
            Verdict::Unsent | Verdict::Unclear => return Settlement::Unsent,
        };
        members.extend(attempt.return_url.iter().map(|url| ("return_url".to_owned(), url.clone())));
        let key = key(attempt, Step::Confirm, "");
        match self.step(Step::Confirm, attempt.into(), &created.id, &members, &key, until).await {
            Verdict::Stands(intent) => match self.settle(attempt, intent, "", until).await {
                // It was confirmed: there is no doubt that Stripe knows it.
                Settlement::Absent => Settlement::Unknown,
                settlement => settlement,
            },
            Verdict::Refused(_) => declined("The payment provider did not take the payment. Nothing was charged."),
            Verdict::Unsent => Settlement::Unsent,
            Verdict::Unclear => Settlement::Unknown,
        }
    }

    async fn inquire(&self, attempt: &Attempt) -> Settlement {
        if !self.is_ours(attempt) {
            return Settlement::Unknown;
        }
        let until = Instant::now() + self.options.deadline;
        match self.find(attempt, until).await {
            Verdict::Stands(Some(intent)) => self.settle(attempt, intent, &self.when(), until).await,
            Verdict::Stands(None) => Settlement::Absent,
            Verdict::Refused(_) | Verdict::Unsent | Verdict::Unclear => Settlement::Unknown,
        }
    }

    async fn forget(&self, attempt: &Attempt) -> bool {
        if !self.is_ours(attempt) {
            return false;
        }
        let until = Instant::now() + self.options.deadline;
        match self.find(attempt, until).await {
            // Whatever is created later is never confirmed.
            Verdict::Stands(None | Some(Intent { status: Status::Canceled, .. })) => true,
            Verdict::Stands(Some(intent)) => {
                let key = key(attempt, Step::Cancel, &self.when());
                let canceled = self.step(Step::Cancel, attempt.into(), &intent.id, &Members::new(), &key, until).await;
                matches!(canceled, Verdict::Stands(Intent { status: Status::Canceled, .. }))
            }
            Verdict::Refused(_) | Verdict::Unsent | Verdict::Unclear => false,
        }
    }

    fn notified(&self, headers: &[(&str, &str)], body: &[u8]) -> Result<Option<String>, Refusal> {
        match &self.options.webhook_secret {
            Some(secret) => event::open(secret, headers, body, (self.options.clock)()),
            None => Err(Refusal::new(Code::UnknownPath, "This payment handler has no secret to verify events with.")),
        }
    }

    async fn capture(&self, capture: &Capture) -> TransferOutcome {
        let Some(amount) = amount::charged(capture.amount, capture.currency) else {
            return TransferOutcome::Refused { reason: in_steps(capture.currency) };
        };
        let (id, subject, until) = (&capture.reference, Subject::from(capture), Instant::now() + self.options.deadline);
        // What was asked before may have been carried out, and Stripe forgets keys after a day: only what it says of the
        // payment is a result.
        let none = Members::new();
        match self.step(Step::Retrieve, subject, id, &none, "", until).await {
            Verdict::Stands(intent) => {
                if let Some(moved) = intent.ended(capture, amount) {
                    return moved;
                }
            }
            Verdict::Refused(_) | Verdict::Unsent | Verdict::Unclear => return TransferOutcome::Unknown,
        }
        let (step, members) = match amount {
            0 => (Step::Cancel, Members::new()),
            amount => (Step::Capture, vec![("amount_to_capture".to_owned(), amount.to_string())]),
        };
        match self.step(step, subject, id, &members, &capture.id, until).await {
            Verdict::Stands(intent) => intent.ended(capture, amount).unwrap_or(TransferOutcome::Unknown),
            Verdict::Refused(code) => match self.step(Step::Retrieve, subject, id, &none, "", until).await {
                Verdict::Stands(intent) => {
                    let refused = || TransferOutcome::Refused { reason: format!("Stripe refused it: {code}") };
                    intent.ended(capture, amount).unwrap_or_else(refused)
                }
                _ => TransferOutcome::Unknown,
            },
            Verdict::Unsent | Verdict::Unclear => TransferOutcome::Unknown,
        }
    }

    fn gives_back(&self) -> bool {
        true
    }

    async fn refunded(&self, refund: &Refund) -> TransferOutcome {
        match self.given(refund, Instant::now() + self.options.deadline).await {
            Verdict::Stands(Some(made)) => made.moved(),
            _ => TransferOutcome::Unknown,
        }
    }

    async fn refund(&self, refund: &Refund) -> TransferOutcome {
        let Some(amount) = amount::charged(refund.amount, refund.currency) else {
            return TransferOutcome::Refused { reason: in_steps(refund.currency) };
        };
        let until = Instant::now() + self.options.deadline;
        // It may have been given before: Stripe forgets keys after a day.
        match self.given(refund, until).await {
            Verdict::Stands(Some(made)) => return made.moved(),
            Verdict::Stands(None) => {}
            Verdict::Refused(_) | Verdict::Unsent | Verdict::Unclear => return TransferOutcome::Unknown,
        }
        let members = vec![
            ("payment_intent".to_owned(), refund.reference.clone()),
            ("amount".to_owned(), amount.to_string()),
            (format!("metadata[{}]", wire::REFUND), refund.id.clone()),
            // Its events name the attempt, as those of the payment do.
            (format!("metadata[{}]", wire::ATTEMPT), refund.attempt_id.clone()),
        ];
        let call = || self.call(Method::POST, &["refunds"], &members, Some(&refund.id));
        match self.ask("refund", &refund.id, until, call, wire::listed::<Made>).await {
            Verdict::Stands(made) => made.moved(),
            // A refusal is one only if Stripe has no such refund: a key that was withdrawn is refused whatever there is.
            Verdict::Refused(code) => match self.given(refund, until).await {
                Verdict::Stands(Some(made)) => made.moved(),
                Verdict::Stands(None) => {
                    TransferOutcome::Refused { reason: format!("Stripe refused the refund: {code}.") }
                }
                Verdict::Refused(_) | Verdict::Unsent | Verdict::Unclear => TransferOutcome::Unknown,
            },
            Verdict::Unsent | Verdict::Unclear => TransferOutcome::Unknown,
        }
    }
}
