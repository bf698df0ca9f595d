//! JSON Web Signatures (RFC 7515) in compact form, as far as AP2 uses them.
//!
//! The algorithm is one of three, and has to be that of the key's curve: a header cannot choose another one, least of
//! all `none`. Keys come from the caller, which knows the signer, never from the signature itself. Base64url is read
//! strictly, so that each signature has one spelling.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Map, Value};
use ucp_core::json::{self, Limits};

use crate::jwk::{Algorithm, PublicKey, quoted};

/// Limits on the JSON of a header.
const HEADER: Limits = Limits { depth: 4, values: 64 };

/// Limits on the JSON of a payload or a disclosure. A checkout has some ten levels.
const PAYLOAD: Limits = Limits { depth: 48, values: 20_000 };

/// A signature with its payload, parsed but not verified.
pub(super) struct Jws<'a> {
    pub(super) header: Header,
    /// Header and payload as received.
    signed: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
}

/// Members of a header that matter here.
pub(super) struct Header {
    algorithm: Algorithm,
    pub(super) kid: Option<String>,
    pub(super) typ: Option<String>,
}

impl<'a> Jws<'a> {
    /// Parses the compact form. An error is the second half of a sentence about the signature.
    pub(super) fn read(compact: &'a str) -> Result<Self, String> {
        let parts = || {
            let (signed, signature) = compact.rsplit_once('.')?;
            let (header, payload) = signed.split_once('.')?;
            (!payload.contains('.')).then_some((signed, header, payload, signature))
        };
        let (signed, header, payload, signature) =
            parts().ok_or("is not `<header>.<payload>.<signature>`, each in base64url")?;
        let signature = decode(signature).map_err(|why| format!("has a signature that {why}"))?;
        Ok(Self { header: Header::read(header)?, signed, payload, signature })
    }

    /// Checks that the signature was made over this header and payload with this key.
    pub(super) fn verify(&self, key: &PublicKey) -> Result<(), String> {
        let stated = self.header.algorithm;
        match key.algorithm() {
            Some(algorithm) if algorithm == stated => {}
            Some(algorithm) => {
                return Err(format!("states {}, but its key is for {}", stated.as_str(), algorithm.as_str()));
            }
            None => return Err(format!("was made with {}", key.unsupported().unwrap_or("a key of another type"))),
        }
        key.verify(self.signed.as_bytes(), &self.signature).map_err(|error| format!("does not hold: {error}"))
    }

    /// Returns the signed payload.
    pub(super) fn payload(&self) -> Result<Map<String, Value>, String> {
        match parse(self.payload, PAYLOAD).map_err(|why| format!("has a payload that {why}"))? {
            Value::Object(payload) => Ok(payload),
            _ => Err("has a payload that is not a JSON object".to_owned()),
        }
    }

    /// Returns the same signature without its payload: `<header>..<signature>` (RFC 7515, appendix F).
    pub(super) fn detached(&self, compact: &str) -> String {
        let header = &self.signed[..self.signed.len() - self.payload.len()];
        let signature = &compact[self.signed.len()..];
        format!("{header}{signature}")
    }
}

impl Header {
    fn read(encoded: &str) -> Result<Self, String> {
        let header = parse(encoded, HEADER).map_err(|why| format!("has a header that {why}"))?;
        let Value::Object(header) = header else {
            return Err("has a header that is not a JSON object".to_owned());
        };
        let text = |name: &str| match header.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(format!("has a header whose {name} is not a string")),
        };
        let stated = text("alg")?.ok_or("has a header without alg")?;
        let algorithm = Algorithm::MANDATE
            .into_iter()
            .find(|algorithm| algorithm.as_str() == stated)
            .ok_or_else(|| format!("states the algorithm {}; ES256, ES384 and ES512 are accepted", quoted(stated)))?;
        if header.contains_key("crit") {
            return Err("has a header with crit, and no extension is known here".to_owned());
        }
        Ok(Self { algorithm, kid: text("kid")?.map(str::to_owned), typ: text("typ")?.map(str::to_owned) })
    }
}

/// Parses a payload or a disclosure.
pub(super) fn payload_json(encoded: &str) -> Result<Value, String> {
    parse(encoded, PAYLOAD)
}

fn parse(encoded: &str, limits: Limits) -> Result<Value, String> {
    json::parse(&decode(encoded)?, limits).map_err(|refusal| {
        let path = refusal.path.map(|path| format!(" ({path})")).unwrap_or_default();
        format!("is not accepted as JSON{path}: {}", refusal.content.trim_end_matches('.'))
    })
}

fn decode(encoded: &str) -> Result<Vec<u8>, String> {
    BASE64_URL_SAFE_NO_PAD.decode(encoded).map_err(|_| "is not base64url without padding".to_owned())
}
