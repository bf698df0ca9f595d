//! Messages of the provider and their classification.

use serde::Deserialize;
use ucp_core::money::{Amount, Currency};

use crate::{client::Answer, subject::Subject};

/// Steps of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Authorize,
    Capture,
    Inquire,
    Void,
}

impl Step {
    /// Returns the second part of the idempotency key, which is also the name in the log.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Authorize => "authorize",
            Self::Capture => "capture",
            Self::Inquire => "inquire",
            Self::Void => "void",
        }
    }
}

/// Status of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Status {
    Pending,
    Authorized,
    Captured,
    Declined,
    Challenge,
    Voided,
}

/// A payment as the provider describes it.
#[derive(Debug, PartialEq, Deserialize)]
pub(super) struct Payment {
    id: String,
    pub(super) status: Status,
    amount: Amount,
    captured_amount: Option<Amount>,
    currency: Currency,
    reference: Option<String>,
    reason: Option<String>,
}

/// Maximum length of the provider's reference of a payment, in bytes.
const MAX_REFERENCE: usize = 128;

impl Payment {
    /// Returns the amount that was captured.
    pub(super) fn captured(&self) -> Amount {
        if self.status == Status::Captured { self.captured_amount.unwrap_or(self.amount) } else { Amount::ZERO }
    }

    /// Returns the provider's reference, or the identifier of the payment if there is no reference that can be
    /// displayed.
    pub(super) fn reference(self) -> String {
        let usable = |reference: &String| {
            (1..=MAX_REFERENCE).contains(&reference.len()) && reference.bytes().all(|byte| byte.is_ascii_graphic())
        };
        self.reference.filter(usable).unwrap_or(self.id)
    }

    /// Returns the reason of a decline for the buyer. The provider's own text is not passed on: its content is unknown.
    pub(super) fn reason(&self) -> &'static str {
        match self.reason.as_deref() {
            Some("insufficient_funds") => "There is not enough money on the account.",
            Some("limit_exceeded") => "The payment exceeds a limit of the account.",
            Some("expired") => "The means of payment has expired.",
            Some("suspected_fraud") => "The bank refused the payment for reasons of security.",
            Some("refused_by_bank") => "The bank refused the payment.",
            _ => "The payment was refused.",
        }
    }
}

/// Outcome of a request to the provider.
#[derive(Debug, PartialEq)]
pub(super) enum Verdict {
    /// The provider described the payment.
    Stands(Payment),
    /// The provider does not know the payment.
    NotFound,
    /// The request was rejected and will not be carried out.
    Refused,
    /// The request was not sent.
    Unsent,
    /// The request may have been carried out.
    Unclear,
}

/// Classifies a response to a step of a payment.
pub(super) fn read(answer: &Answer, subject: Subject<'_>) -> Verdict {
    #[derive(Deserialize)]
    struct Refusal {
        error: Problem,
    }
    #[derive(Deserialize)]
    struct Problem {
        code: String,
        #[serde(rename = "message")]
        _message: String,
    }
    if answer.status == 200 {
        return match serde_json::from_slice::<Payment>(&answer.body) {
            Ok(payment) if is_about(&payment, subject) => Verdict::Stands(payment),
            Ok(_) => {
                tracing::error!(attempt = subject.id, "payment provider answered about another payment");
                Verdict::Unclear
            }
            Err(_) => Verdict::Unclear,
        };
    }
    // Proxies and firewalls answer with such statuses too, without any knowledge of payments.
    let Ok(Refusal { error: Problem { code, .. } }) = serde_json::from_slice(&answer.body) else {
        return Verdict::Unclear;
    };
    match answer.status {
        404 if code == "payment_not_found" => Verdict::NotFound,
        status @ (400 | 401 | 403 | 413 | 422) => {
            tracing::error!(attempt = subject.id, status, code = plain(&code), "payment provider rejected a request");
            Verdict::Refused
        }
        _ => Verdict::Unclear,
    }
}

fn is_about(payment: &Payment, subject: Subject<'_>) -> bool {
    payment.id == subject.id && payment.amount == subject.amount && payment.currency == subject.currency
}

/// Returns a code for the log, or `…` if it does not look like one.
fn plain(code: &str) -> &str {
    let plain = code.len() <= 64 && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    if plain { code } else { "…" }
}
