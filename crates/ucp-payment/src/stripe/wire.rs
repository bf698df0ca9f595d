//! Messages of Stripe and their classification.

use serde::{Deserialize, de::DeserializeOwned};
use std::collections::HashMap;
use ucp_core::{
    money::Currency,
    purchase::payment::{Capture, TransferOutcome},
};
use url::Url;

use super::amount::charged;
use crate::{client::Answer, subject::Subject};

/// Name of the member of a payment's metadata that holds the identifier of the attempt.
pub(super) const ATTEMPT: &str = "ucp_attempt";

/// Name of the member of a payment's metadata that holds the identifier of the checkout.
pub(super) const CHECKOUT: &str = "ucp_checkout";

/// Name of the member of a refund's metadata that holds its identifier.
pub(super) const REFUND: &str = "ucp_refund";

/// Maximum length of the identifier of an object at Stripe, in bytes.
const MAX_ID: usize = 255;

/// Steps of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Create,
    Confirm,
    Retrieve,
    Find,
    Capture,
    Cancel,
}

impl Step {
    /// Returns the second part of the idempotency key, which is also the name in the log.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Confirm => "confirm",
            Self::Retrieve => "retrieve",
            Self::Find => "find",
            Self::Capture => "capture",
            Self::Cancel => "cancel",
        }
    }
}

/// Status of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    RequiresPaymentMethod,
    RequiresConfirmation,
    RequiresAction,
    Processing,
    RequiresCapture,
    Canceled,
    Succeeded,
}

/// A `PaymentIntent`, as far as it matters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Intent {
    pub(super) id: String,
    pub(super) status: Status,
    amount: i64,
    amount_received: Option<i64>,
    currency: Currency,
    #[serde(default)]
    metadata: HashMap<String, String>,
    next_action: Option<NextAction>,
    last_payment_error: Option<Problem>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct NextAction {
    redirect_to_url: Option<Redirect>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Redirect {
    url: Option<String>,
}

/// An error of Stripe.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Problem {
    #[serde(rename = "type")]
    kind: Option<String>,
    code: Option<String>,
    decline_code: Option<String>,
    payment_intent: Option<Box<Intent>>,
}

impl Intent {
    /// Returns `true` if this is the payment of an attempt.
    pub(super) fn is_of(&self, subject: Subject<'_>) -> bool {
        self.metadata.get(ATTEMPT).is_some_and(|attempt| attempt == subject.id)
            && Some(self.amount) == charged(subject.amount, subject.currency)
            && self.currency == subject.currency
            && self.id.len() <= MAX_ID
            && self.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    }

    /// Returns `true` if all of the amount was captured.
    pub(super) fn is_whole(&self) -> bool {
        self.amount_received.is_none_or(|received| received == self.amount)
    }

    /// Returns the result of a capture or release; `None` as long as the payment can be captured. `amount` is that of the
    /// capture, as Stripe counts it.
    pub(super) fn ended(&self, capture: &Capture, amount: i64) -> Option<TransferOutcome> {
        let done = match self.status {
            Status::RequiresCapture => return None,
            Status::Succeeded => amount > 0 && self.amount_received.is_none_or(|received| received == amount),
            _ => amount == 0 && self.status == Status::Canceled,
        };
        let reason = match (self.status, self.amount_received) {
            _ if done => return Some(TransferOutcome::Done { reference: self.id.clone() }),
            (Status::Succeeded, Some(received)) => {
                format!("Stripe has captured {received} before, in {} as it counts them", capture.currency)
            }
            (Status::Succeeded, None) => "Stripe has captured it before".to_owned(),
            _ => "the authorization is over at Stripe, and nothing was captured".to_owned(),
        };
        Some(TransferOutcome::Refused { reason })
    }

    /// Returns the URL on which the buyer has to authenticate: https, or of the same origin as `endpoint`.
    pub(super) fn redirect(&self, endpoint: &Url) -> Option<String> {
        let text = self.next_action.as_ref()?.redirect_to_url.as_ref()?.url.as_ref()?;
        let url = Url::parse(text).ok()?;
        let encrypted = url.scheme() == "https" || url.origin() == endpoint.origin();
        let plain = url.username().is_empty() && url.password().is_none() && url.host().is_some();
        (encrypted && plain).then(|| url.into())
    }

    /// Returns `true` if a confirmation has failed.
    pub(super) const fn has_failed(&self) -> bool {
        self.last_payment_error.is_some()
    }

    /// Returns the reason of a decline for the buyer.
    pub(super) fn reason(&self) -> &'static str {
        self.last_payment_error.as_ref().map_or("The payment was refused.", Problem::reason)
    }
}

impl Problem {
    /// Returns the reason of a decline for the buyer. Stripe's own text is not passed on: its content is unknown, and
    /// some codes must not be told to the buyer.
    fn reason(&self) -> &'static str {
        match (self.code.as_deref(), self.decline_code.as_deref()) {
            (Some("payment_intent_authentication_failure"), _) => {
                "The bank could not confirm the buyer. Nothing was charged."
            }
            (Some("expired_card"), _) => "The means of payment has expired.",
            (_, Some("insufficient_funds")) => "There is not enough money on the account.",
            (_, Some("card_velocity_exceeded" | "withdrawal_count_limit_exceeded")) => {
                "The payment exceeds a limit of the account."
            }
            (_, Some("fraudulent" | "lost_card" | "stolen_card" | "merchant_blacklist" | "security_violation")) => {
                "The bank refused the payment for reasons of security."
            }
            (Some("card_declined"), _) => "The bank refused the payment.",
            _ => "The payment was refused.",
        }
    }
}

/// A refund, as far as it matters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Made {
    id: String,
    status: Option<String>,
    #[serde(default)]
    metadata: HashMap<String, String>,
}

impl Made {
    /// Returns `true` if this is the refund of an identifier.
    pub(super) fn is_of(&self, id: &str) -> bool {
        self.metadata.get(REFUND).is_some_and(|refund| refund == id)
    }

    pub(super) fn moved(self) -> TransferOutcome {
        match self.status.as_deref() {
            Some(status @ ("failed" | "canceled")) => {
                TransferOutcome::Refused { reason: format!("Stripe states that the refund has {status}.") }
            }
            // The bank has it: what came of it is asked again, and told by an event.
            Some("pending" | "requires_action") => TransferOutcome::Unknown,
            _ => TransferOutcome::Done { reference: self.id },
        }
    }
}

/// Outcome of a request to Stripe.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict<T> {
    /// Stripe described what it has.
    Stands(T),
    /// The request was rejected and will not be carried out; with Stripe's code, if it looks like one.
    Refused(String),
    /// The request was not sent.
    Unsent,
    /// The request may have been carried out.
    Unclear,
}

impl<T> Verdict<T> {
    /// Returns the same outcome, with something else that stands.
    pub(super) fn map<U>(self, other: impl FnOnce(T) -> U) -> Verdict<U> {
        match self {
            Self::Stands(stands) => Verdict::Stands(other(stands)),
            Self::Refused(code) => Verdict::Refused(code),
            Self::Unsent => Verdict::Unsent,
            Self::Unclear => Verdict::Unclear,
        }
    }
}

/// Classifies a response about a payment.
pub(super) fn read(answer: &Answer, subject: Subject<'_>) -> Verdict<Intent> {
    let verdict = match answer.status {
        200 => match serde_json::from_slice(&answer.body) {
            Ok(intent) => Verdict::Stands(intent),
            Err(_) => Verdict::Unclear,
        },
        _ => refusal(answer),
    };
    match verdict {
        Verdict::Stands(intent) if !intent.is_of(subject) => {
            tracing::error!(attempt = subject.id, "Stripe answered about another payment");
            Verdict::Unclear
        }
        verdict => verdict,
    }
}

/// Classifies a response about something else than a payment.
pub(super) fn listed<T: DeserializeOwned>(answer: &Answer) -> Verdict<T> {
    match answer.status {
        200 => serde_json::from_slice(&answer.body).map_or(Verdict::Unclear, Verdict::Stands),
        _ => match refusal(answer) {
            Verdict::Refused(code) => Verdict::Refused(code),
            _ => Verdict::Unclear,
        },
    }
}

/// Classifies a response with a status other than 200: Stripe answers a decline with the payment in the error.
pub(super) fn refusal(answer: &Answer) -> Verdict<Intent> {
    #[derive(Deserialize)]
    struct Refusal {
        error: Problem,
    }
    // Proxies and firewalls answer with such statuses too, without any knowledge of payments.
    let Ok(Refusal { error: problem }) = serde_json::from_slice(&answer.body) else { return Verdict::Unclear };
    if let (402, Some(mut intent)) = (answer.status, problem.payment_intent.clone()) {
        intent.last_payment_error.get_or_insert(Problem { payment_intent: None, ..problem });
        return Verdict::Stands(*intent);
    }
    let code = plain(problem.code.or(problem.kind).unwrap_or_default());
    match answer.status {
        400..=404 => Verdict::Refused(code),
        // 409: another request with the same key is being carried out; 429 and 5xx: to be asked again.
        _ => Verdict::Unclear,
    }
}

/// Returns a code for the log, or `…` if it does not look like one.
fn plain(code: String) -> String {
    let plain = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if plain { code } else { "…".to_owned() }
}
