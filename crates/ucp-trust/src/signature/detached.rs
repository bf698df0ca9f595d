//! Detached signatures over a body alone (RFC 7797), with which the releases before HTTP Message Signatures sign
//! webhooks.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::HeaderName;
use serde_json::json;

use super::key::{KeyError, SigningKey};

/// Header field with a detached signature.
pub const REQUEST_SIGNATURE: HeaderName = HeaderName::from_static("request-signature");

/// Signs the bytes of a body and returns `<header>..<signature>`. The signed body is not encoded (`b64` is false), and
/// the header names the key.
///
/// # Errors
///
/// [`KeyError`] if the cryptographic library fails.
pub fn sign_detached(body: &[u8], key: &SigningKey) -> Result<String, KeyError> {
    let header = json!({ "alg": key.algorithm().as_str(), "kid": key.public().kid(), "b64": false, "crit": ["b64"] });
    let header = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
    let signature = key.sign(&[header.as_bytes(), b".", body].concat())?;
    Ok(format!("{header}..{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::jwk::Algorithm;

    #[test]
    fn the_signature_holds_for_the_very_bytes() {
        let key = SigningKey::generate(Algorithm::Es256).expect("a key");
        let signed = sign_detached(b"{\"a\": 1}", &key).expect("signs");
        let (header, signature) = signed.split_once("..").expect("no payload");
        let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text).expect("base64url");
        let stated: Value = serde_json::from_slice(&decode(header)).expect("JSON");
        assert_eq!((&stated["kid"], &stated["b64"]), (&key.public().kid().into(), &false.into()));
        let holds = |body: &[u8]| {
            let signed = [header.as_bytes(), b".", body].concat();
            key.public().verify(&signed, &decode(signature)).is_ok()
        };
        assert!(holds(b"{\"a\": 1}"));
        assert!(!holds(b"{\"a\":1}"));
    }
}
