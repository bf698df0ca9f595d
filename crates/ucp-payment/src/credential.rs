//! Validation of tenders before a payment starts (rules PAY-04 and PAY-05).
//!
//! The messages name members, never their values.

use jiff::Timestamp;
use ucp_core::{
    message::{Message, Severity},
    purchase::payment::{Credential, Declaration, Tender},
};

/// JSONPath of the paying instrument. Payments are not split, so there is only one.
const INSTRUMENT: &str = "$.payment.instruments[0]";

/// Types of credentials that are card numbers in the clear.
const CARD_NUMBERS: &[&str] = &["card", "pan"];

/// Type of credential whose `number` is a network token instead of a card number.
const NETWORK_TOKEN: &str = "network_token";

/// Maximum length of a token, in bytes.
const MAX_TOKEN: usize = 16 * 1024;

/// Returns an error message about a member of the instrument.
pub(crate) fn problem(part: &str, content: String) -> Message {
    Message::Error {
        code: "payment_failed".into(),
        content,
        severity: Severity::Recoverable,
        path: Some(format!("{INSTRUMENT}{part}")),
        content_type: None,
    }
}

/// Returns the credential of a tender, if this handler can pay with it.
pub(crate) fn usable<'a>(
    declaration: &Declaration,
    tender: &'a Tender,
    now: Timestamp,
) -> Result<&'a Credential, Message> {
    let Tender { instrument, credential } = tender;
    let Declaration { id, instruments, .. } = declaration;
    let unusable = |part, content: &str| Err(problem(part, content.to_owned()));
    if instrument.handler_id != *id {
        return unusable(".handler_id", &format!("The instrument is not one of the payment handler `{id}`."));
    }
    if !instruments.contains(&instrument.kind) {
        let taken = instruments.join("`, `");
        return unusable(".type", &format!("The payment handler `{id}` takes instruments of type `{taken}` only."));
    }
    let Some(credential) = credential else {
        let content = "The instrument has no credential. A credential with a token is needed to pay.";
        return unusable(".credential", content);
    };
    let kind = credential.kind.to_ascii_lowercase();
    let members = credential.reveal();
    if CARD_NUMBERS.contains(&kind.as_str()) || (kind != NETWORK_TOKEN && members.contains_key("number")) {
        let content = "Card numbers are not taken. Have the card tokenised, and send a credential with its token.";
        return unusable(".credential", content);
    }
    let content = match members.get("expires_at").filter(|expiry| !expiry.is_null()) {
        None => return Ok(credential),
        Some(expiry) => match expiry.as_str().and_then(|expiry| expiry.parse::<Timestamp>().ok()) {
            Some(expiry) if expiry > now => return Ok(credential),
            Some(_) => "The credential has expired. A new one is needed.",
            None => "The time at which the credential expires cannot be read. An RFC 3339 date and time is expected.",
        },
    };
    unusable(".credential.expires_at", content)
}

/// Returns the token of a credential.
pub(crate) fn token(credential: &Credential) -> Result<&str, Message> {
    let token = credential.reveal().get("token").and_then(serde_json::Value::as_str);
    token.filter(|token| !token.is_empty() && token.len() <= MAX_TOKEN).ok_or_else(|| {
        problem(
            ".credential.token",
            format!("The credential has no usable token. A text of 1 to {MAX_TOKEN} bytes is expected."),
        )
    })
}
