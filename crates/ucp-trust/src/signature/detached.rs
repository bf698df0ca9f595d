//! Detached signatures over a body alone (RFC 7797), with which the releases before HTTP Message Signatures sign
//! webhooks.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use http::{HeaderMap, HeaderName};
use serde_json::{Value, json};
use ucp_core::{
    json::{self, Limits},
    refusal::{Code, Refusal},
};

use super::key::{KeyError, SigningKey};
use crate::jwk::{PublicKey, quoted};

/// Header field with a detached signature.
pub const REQUEST_SIGNATURE: HeaderName = HeaderName::from_static("request-signature");

/// Limits on the JSON of a header.
const HEADER: Limits = Limits { depth: 4, values: 64 };

/// A detached signature, parsed but not verified.
#[derive(Clone, Debug)]
pub struct Detached {
    /// Header, as received.
    header: String,
    signature: Vec<u8>,
    algorithm: String,
    /// Identifier of the key that the header names.
    kid: Option<String>,
    /// `true` if the signature covers the body in base64url (RFC 7515, appendix F) instead of its bytes.
    encoded: bool,
}

impl Detached {
    /// Parses the signature of a message. Returns `None` if it has none. Fails with [`Code::SignatureInvalid`] if the
    /// header field holds no detached signature.
    pub fn read(headers: &HeaderMap) -> Result<Option<Self>, Refusal> {
        let mut fields = headers.get_all(REQUEST_SIGNATURE).iter();
        let (Some(field), further) = (fields.next(), fields.next()) else { return Ok(None) };
        let text = field.to_str().ok().filter(|_| further.is_none());
        let parts = text.and_then(|text| text.split_once("..")).ok_or_else(|| {
            invalid("must be one detached JSON Web Signature, `<header>..<signature>`, each in base64url")
        })?;
        Self::parse(parts.0, parts.1).map(Some)
    }

    fn parse(header: &str, signature: &str) -> Result<Self, Refusal> {
        let decode = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text);
        let signature = decode(signature).map_err(|_| invalid("must be in base64url without padding"))?;
        let stated = decode(header).map_err(|_| invalid("must have a header in base64url without padding"))?;
        let stated = json::parse(&stated, HEADER).map_err(|_| invalid("must have a header that is JSON"))?;
        let critical = stated.get("crit").map_or(Some(false), |names| (*names == json!(["b64"])).then_some(true));
        let encoded = match (stated.get("b64"), critical) {
            (None, Some(false)) => true,
            (Some(Value::Bool(encoded)), Some(true)) => *encoded,
            _ => return Err(invalid("must have a header without critical extensions other than b64")),
        };
        let algorithm = stated["alg"].as_str().ok_or_else(|| invalid("must have a header with alg"))?.to_owned();
        let kid = stated["kid"].as_str().map(str::to_owned);
        Ok(Self { header: header.to_owned(), signature, algorithm, kid, encoded })
    }

    /// Returns the key that the signature names, if it is not among `keys`.
    pub fn unknown_key(&self, keys: &[PublicKey]) -> Option<&str> {
        self.kid.as_deref().filter(|kid| keys.iter().all(|key| key.kid() != *kid))
    }

    /// Verifies the body with the keys of its sender: the named one, or each of them if none is named. The algorithm
    /// has to be that of the key. Fails with [`Code::KeyNotFound`] if the named key is not among `keys`,
    /// [`Code::SignatureInvalid`] if the signature is not valid.
    pub fn verify(&self, body: &[u8], keys: &[PublicKey]) -> Result<(), Refusal> {
        if let Some(kid) = self.unknown_key(keys) {
            let content =
                format!("`Request-Signature` names the key {}, which its sender does not publish.", quoted(kid));
            return Err(Refusal::new(Code::KeyNotFound, content));
        }
        let payload = if self.encoded { BASE64_URL_SAFE_NO_PAD.encode(body).into_bytes() } else { body.to_vec() };
        let signed = [self.header.as_bytes(), b".", &payload].concat();
        let named = |key: &&PublicKey| self.kid.as_deref().is_none_or(|kid| key.kid() == kid);
        let fits = |key: &&PublicKey| key.algorithm().is_some_and(|algorithm| algorithm.as_str() == self.algorithm);
        if keys.iter().filter(named).filter(fits).any(|key| key.verify(&signed, &self.signature).is_ok()) {
            return Ok(());
        }
        Err(invalid("must be valid for the body under a key of its sender"))
    }
}

fn invalid(must: &str) -> Refusal {
    Refusal::new(Code::SignatureInvalid, format!("`Request-Signature` {must}."))
}

/// Signs the bytes of a body and returns `<header>..<signature>`. The signed body is not encoded (`b64` is false), and
/// the header names the key. Fails with [`KeyError`] if the cryptographic library fails.
pub fn sign_detached(body: &[u8], key: &SigningKey) -> Result<String, KeyError> {
    let header = json!({ "alg": key.algorithm().as_str(), "kid": key.public().kid(), "b64": false, "crit": ["b64"] });
    let header = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
    let signature = key.sign(&[header.as_bytes(), b".", body].concat())?;
    Ok(format!("{header}..{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::jwk::Algorithm;

    fn headers(signature: &str) -> HeaderMap {
        HeaderMap::from_iter([(REQUEST_SIGNATURE, signature.parse().expect("a value"))])
    }

    fn refused(signature: &str, body: &[u8], keys: &[PublicKey]) -> Option<Code> {
        let read = Detached::read(&headers(signature)).map(|detached| detached.expect("a signature"));
        read.and_then(|detached| detached.verify(body, keys)).err().map(|refusal| refusal.code)
    }

    #[test]
    fn only_the_sender_signs_and_only_these_bytes() {
        let (key, stranger) = (SigningKey::generate(Algorithm::Es256), SigningKey::generate(Algorithm::Es256));
        let (key, stranger) = (key.expect("a key"), stranger.expect("a key"));
        let keys = [key.public().clone()];
        let signature = sign_detached(b"{}", &key).expect("signs");
        assert_eq!(refused(&signature, b"{}", &keys), None);
        assert_eq!(refused(&signature, b"{ }", &keys), Some(Code::SignatureInvalid));
        assert_eq!(refused(&signature, b"{}", &[stranger.public().clone()]), Some(Code::KeyNotFound));
        assert_eq!(refused(&signature, b"{}", &[]), Some(Code::KeyNotFound));
        assert!(Detached::read(&HeaderMap::new()).expect("readable").is_none());
        let of = |header: &Value, payload: &[u8], key: &SigningKey| {
            let header = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
            let signature = key.sign(&[header.as_bytes(), b".", payload].concat()).expect("signs");
            format!("{header}..{}", BASE64_URL_SAFE_NO_PAD.encode(signature))
        };
        // The body in base64url, as RFC 7515 has it, and no name of a key.
        assert_eq!(refused(&of(&json!({ "alg": "ES256" }), b"e30", &key), b"{}", &keys), None);
        assert_eq!(
            refused(&of(&json!({ "alg": "ES256" }), b"e30", &stranger), b"{}", &keys),
            Some(Code::SignatureInvalid)
        );
        for header in [
            json!({ "alg": "none" }),
            json!({ "alg": "ES384" }),
            json!({ "kid": key.public().kid() }),
            json!({ "alg": "ES256", "b64": true }),
            json!({ "alg": "ES256", "crit": ["exp"] }),
            json!([]),
        ] {
            assert_eq!(refused(&of(&header, b"e30", &key), b"{}", &keys), Some(Code::SignatureInvalid), "{header}");
        }
        for signature in ["", "a.b.c", "..", "!..!", "e30..é"] {
            let Ok(value) = http::HeaderValue::from_bytes(signature.as_bytes()) else { continue };
            let headers = HeaderMap::from_iter([(REQUEST_SIGNATURE, value)]);
            assert_eq!(Detached::read(&headers).expect_err(signature).code, Code::SignatureInvalid);
        }
    }

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
