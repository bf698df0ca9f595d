//! Signatures of requests: HTTP Message Signatures (RFC 9421) with a shared secret (`hmac-sha256`).

use base64::{Engine as _, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit as _, Mac as _};
use http::{HeaderName, HeaderValue, header};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};

use super::IDEMPOTENCY_KEY;
use crate::{Secret, client::Call};

const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");
const SIGNATURE_INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// Maximum length of the identifier of a secret, in bytes.
const MAX_KEY_ID: usize = 128;

/// Signer of requests.
pub(super) struct Signer {
    key_id: String,
    secret: Secret,
}

impl Signer {
    /// Creates a signer, if the identifier of its secret can be written in a signature.
    pub(super) fn new(key_id: &str, secret: Secret) -> Option<Self> {
        let writable = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
        let usable = (1..=MAX_KEY_ID).contains(&key_id.len()) && key_id.bytes().all(writable);
        usable.then(|| Self { key_id: key_id.into(), secret })
    }

    /// Adds the digest of the body and the signature.
    pub(super) fn sign(&self, call: &mut Call, now: Timestamp) {
        let digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(Sha256::digest(&call.body)));
        insert(call, CONTENT_DIGEST, &digest);
        let (mut names, mut base) = (Vec::new(), String::new());
        let mut part = |name: &str, value: &str| {
            base.push_str(&format!("\"{name}\": {value}\n"));
            names.push(format!("\"{name}\""));
        };
        part("@method", call.method.as_str());
        part("@target-uri", call.url.as_str());
        for name in [&header::AUTHORIZATION, &CONTENT_DIGEST, &IDEMPOTENCY_KEY] {
            if let Some(Ok(value)) = call.headers.get(name).map(HeaderValue::to_str) {
                part(name.as_str(), value);
            }
        }
        let created = now.as_second();
        let names = names.join(" ");
        let input = format!("({names});created={created};keyid=\"{}\";alg=\"hmac-sha256\"", self.key_id);
        base.push_str(&format!("\"@signature-params\": {input}"));
        let mut mac = Hmac::<Sha256>::new_from_slice(self.secret.reveal().as_bytes())
            .unwrap_or_else(|_| unreachable!("HMAC takes keys of any length"));
        mac.update(base.as_bytes());
        let signature = BASE64_STANDARD.encode(mac.finalize().into_bytes());
        insert(call, SIGNATURE_INPUT, &format!("sig1={input}"));
        insert(call, SIGNATURE, &format!("sig1=:{signature}:"));
    }
}

fn insert(call: &mut Call, name: HeaderName, value: &str) {
    let value = HeaderValue::from_str(value).unwrap_or_else(|_| unreachable!("signatures are printable ASCII"));
    call.headers.insert(name, value);
}
