//! Events that Stripe sends to a webhook endpoint, and their signatures (`Stripe-Signature`).

use hmac::{Hmac, KeyInit as _, Mac as _};
use jiff::Timestamp;
use serde::Deserialize;
use sha2::Sha256;
use std::collections::HashMap;
use ucp_core::{Code, Refusal};

use super::wire::ATTEMPT;
use crate::Secret;

/// Name of the header field with the signatures.
const SIGNATURE: &str = "stripe-signature";

/// Maximum age of an event, and how far its time may be ahead, in seconds.
const TOLERANCE: i64 = 300;

/// Maximum number of signatures of an event that are tried: while a secret is rotated there are two.
const MAX_SIGNATURES: usize = 8;

/// Verifies an event, and returns the identifier of the attempt that it is about, if it is about one. Fails with
/// [`Refusal`] if no signature is Stripe's, the event is too old, or it cannot be read.
pub(super) fn open(
    secret: &Secret,
    headers: &[(&str, &str)],
    body: &[u8],
    now: Timestamp,
) -> Result<Option<String>, Refusal> {
    let stated = headers.iter().find(|(name, _)| *name == SIGNATURE).map(|(_, value)| *value);
    let stated = stated.ok_or_else(|| Refusal::new(Code::SignatureMissing, "The event has no `Stripe-Signature`."))?;
    let invalid = |content: &'static str| Refusal::new(Code::SignatureInvalid, content);
    let parts = || stated.split(',').filter_map(|part| part.trim().split_once('='));
    let at = parts().find(|(name, _)| *name == "t").map(|(_, value)| value);
    let at = at.filter(|at| at.bytes().all(|byte| byte.is_ascii_digit()));
    let at = at.ok_or_else(|| invalid("`Stripe-Signature` has no time `t`, in seconds since 1970."))?;
    let signed = |signature: &str| {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.reveal().as_bytes())
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.update(at.as_bytes());
        mac.update(b".");
        mac.update(body);
        bytes(signature).is_some_and(|signature| mac.verify_slice(&signature).is_ok())
    };
    let mut signatures = parts().filter(|(name, _)| *name == "v1").take(MAX_SIGNATURES);
    if !signatures.any(|(_, signature)| signed(signature)) {
        return Err(invalid("No signature `v1` of the event was made with the secret of this endpoint."));
    }
    let age = at.parse::<i64>().ok().and_then(|at| now.as_second().checked_sub(at));
    if !age.is_some_and(|age| (-TOLERANCE..=TOLERANCE).contains(&age)) {
        return Err(invalid("The event was signed more than 5 minutes ago, or in the future."));
    }
    #[derive(Deserialize)]
    struct Event {
        data: Data,
    }
    #[derive(Deserialize)]
    struct Data {
        object: Object,
    }
    #[derive(Deserialize)]
    struct Object {
        metadata: Option<HashMap<String, String>>,
    }
    let event: Event = serde_json::from_slice(body).map_err(|error| {
        let content =
            format!("The body is not an event of Stripe: column {} of line {}.", error.column(), error.line());
        Refusal::invalid("$", content)
    })?;
    Ok(event.data.object.metadata.and_then(|mut metadata| metadata.remove(ATTEMPT)))
}

/// Returns the bytes of a SHA-256 digest in hexadecimal digits.
fn bytes(text: &str) -> Option<[u8; 32]> {
    let digits: Vec<u8> = text.chars().map(|digit| u8::try_from(digit.to_digit(16)?).ok()).collect::<Option<_>>()?;
    let bytes: Vec<u8> = digits.chunks_exact(2).map(|pair| pair[0] << 4 | pair[1]).collect();
    if digits.len() == 64 { bytes.try_into().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: &str = r#"{"id":"evt_1","data":{"object":{"id":"pi_1","metadata":{"ucp_attempt":"pay_1"}}}}"#;

    fn signature(secret: &str, at: i64, body: &str) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("a key");
        mac.update(format!("{at}.{body}").as_bytes());
        mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn opened(header: &str, body: &str, now: i64) -> Result<Option<String>, Code> {
        let secret = "whsec_test".parse().expect("a secret");
        let now = Timestamp::from_second(now).expect("a time");
        open(&secret, &[("stripe-signature", header)], body.as_bytes(), now).map_err(|refusal| refusal.code)
    }

    #[test]
    fn only_fresh_events_of_stripe_are_believed() {
        let right = signature("whsec_test", 1_000, BODY);
        let wrong = signature("whsec_other", 1_000, BODY);
        let about = Ok(Some("pay_1".to_owned()));
        assert_eq!(opened(&format!("t=1000,v1={right}"), BODY, 1_000), about);
        assert_eq!(opened(&format!("t=1000,v1={right},v0=ab"), BODY, 1_300), about);
        assert_eq!(opened(&format!("t=1000, v1={wrong}, v1={right}"), BODY, 700), about, "while secrets are rotated");
        for (header, body, now) in [
            (format!("t=1000,v1={wrong}"), BODY, 1_000),
            (format!("t=1001,v1={right}"), BODY, 1_000),
            (format!("t=1000,v1={right}"), "{}", 1_000),
            (format!("t=1000,v1={right}"), BODY, 1_301),
            (format!("t=1000,v1={right}"), BODY, 699),
            (format!("t=1000,v0={right}"), BODY, 1_000),
            (format!("v1={right}"), BODY, 1_000),
            (format!("t=-1,v1={right}"), BODY, 1_000),
            (format!("t=1000,v1={}", &right[..62]), BODY, 1_000),
            (String::new(), BODY, 1_000),
        ] {
            assert_eq!(opened(&header, body, now), Err(Code::SignatureInvalid), "{header} {body} {now}");
        }
        let many = format!("t=1000{},v1={right}", format!(",v1={wrong}").repeat(MAX_SIGNATURES));
        assert_eq!(opened(&many, BODY, 1_000), Err(Code::SignatureInvalid));
    }

    #[test]
    fn well_formed_events_about_anything_else_are_ignored() {
        for (body, expected) in [
            (r#"{"data":{"object":{"id":"cus_1"}}}"#, Ok(None)),
            (r#"{"data":{"object":{"metadata":null}}}"#, Ok(None)),
            (r#"{"data":{"object":{"metadata":{"a":"b"}}}}"#, Ok(None)),
            ("{", Err(Code::InvalidRequest)),
            ("[]", Err(Code::InvalidRequest)),
        ] {
            let header = format!("t=1000,v1={}", signature("whsec_test", 1_000, body));
            assert_eq!(opened(&header, body, 1_000), expected, "{body}");
        }
    }
}
