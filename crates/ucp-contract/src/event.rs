//! Signatures of the shop's events.
//!
//! An event is the shop's if it is signed as the gateway signs its requests (see [`http`](crate::http)), with the method
//! and path of the endpoint, and no older than [`MAX_AGE`].

use jiff::{SignedDuration, Timestamp};
use ucp_core::{Code, Refusal, ports::Notice};

use crate::http::{SIGNATURE, SigningSecret, TIMESTAMP};

/// Maximum difference between the time of an event's signature and now.
pub const MAX_AGE: SignedDuration = SignedDuration::from_mins(5);

/// Checks that an event at the endpoint `path` is the shop's. Fails with [`SignatureMissing`](Code::SignatureMissing)
/// or [`SignatureInvalid`](Code::SignatureInvalid) if it is not.
pub fn verify(secret: &SigningSecret, now: Timestamp, path: &str, notice: &Notice<'_>) -> Result<(), Refusal> {
    let stated = notice.header(SIGNATURE.as_str()).zip(notice.header(TIMESTAMP.as_str()));
    let (signature, timestamp) = stated.ok_or_else(|| {
        Refusal::new(Code::SignatureMissing, "A webhook must be signed by the shop.")
            .accepting("the header fields `X-Signature-Timestamp` and `X-Signature`")
    })?;
    let refused = |content: &str| {
        Refusal::new(Code::SignatureInvalid, content.to_owned())
            .accepting("`sha256=` and the HMAC-SHA256 of time, method, path and body, in hexadecimal digits")
    };
    let signed_at = timestamp.parse().ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    if signed_at.is_none_or(|signed_at| now.duration_since(signed_at).abs() > MAX_AGE) {
        return Err(refused(
            "`X-Signature-Timestamp` must be the time of the event, in seconds, at most 5 minutes ago.",
        ));
    }
    if !secret.verify(signature, timestamp, "POST", path, notice.body) {
        return Err(refused("`X-Signature` is not the signature of this event under the shared secret."));
    }
    Ok(())
}

/// Returns the error of an event for a fault of its JSON: its place, and the reason, for `unusable`.
pub(crate) fn unreadable(fault: &Refusal, unusable: &dyn Fn(String, String) -> Refusal) -> Refusal {
    let path = fault.path.as_deref().unwrap_or("$").to_owned();
    unusable(path, fault.content.trim_end_matches('.').to_owned())
}
