//! Signing of messages that the gateway sends under its own name (SIG-03 to SIG-05, SIG-08, SIG-10, SIG-11).
//!
//! These functions are called last, when the bytes of the body and the header fields are final.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue, header::CONTENT_TYPE};
use sfv::StringRef;

use super::{
    base::{self, Component, Message, RequestLine, Start},
    digest::{self, CONTENT_DIGEST},
    input::{SIGNATURE, SIGNATURE_INPUT},
    key::{KeyError, SigningKey},
    verify::required,
};

/// Label of the gateway's signatures.
pub(super) const LABEL: &str = "sig1";

/// Reason why a message was not signed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The message lacks a part that has to be signed.
    #[error("{0}, and it has to be signed")]
    Incomplete(String),
    /// The `kid` contains characters that `Signature-Input` cannot carry.
    #[error("the kid of the key is not printable ASCII")]
    KeyId,
    /// The key is on a curve with which messages are not signed (trap T-33).
    #[error("messages are signed with keys on P-256 or P-384, and this one is on another curve")]
    Curve,
    /// The cryptographic library failed.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// Signs a request: sets its headers `Content-Digest` (if there is a body), `Signature-Input` and `Signature`, and
/// replaces those that are present.
///
/// The signature covers the parts that UCP requires, the fields in `extra`, and the time. Returns the signature base.
/// Fails with [`SignError::Incomplete`] if a field of `extra` is missing, or a body has no `Content-Type`;
/// [`SignError::Curve`] for a key on P-521, which only AP2 uses; [`SignError::KeyId`] if the `kid` is not printable
/// ASCII; [`SignError::Key`] if the cryptographic library fails.
pub fn sign_request(
    line: RequestLine<'_>,
    headers: &mut HeaderMap,
    body: &[u8],
    extra: &[HeaderName],
    key: &SigningKey,
    now: SystemTime,
) -> Result<Vec<u8>, SignError> {
    sign(Start::Request(line), headers, body, extra, key, now)
}

/// Signs a response as [`sign_request`] signs a request. Fails as [`sign_request`].
pub fn sign_response(
    status: u16,
    headers: &mut HeaderMap,
    body: &[u8],
    key: &SigningKey,
    now: SystemTime,
) -> Result<Vec<u8>, SignError> {
    sign(Start::Response(status), headers, body, &[], key, now)
}

fn sign(
    start: Start<'_>,
    headers: &mut HeaderMap,
    body: &[u8],
    extra: &[HeaderName],
    key: &SigningKey,
    now: SystemTime,
) -> Result<Vec<u8>, SignError> {
    if key.algorithm().http_name().is_none() {
        return Err(SignError::Curve);
    }
    if body.is_empty() {
        headers.remove(CONTENT_DIGEST);
    } else {
        if !headers.contains_key(CONTENT_TYPE) {
            return Err(SignError::Incomplete("the message has a body, but no content-type".to_owned()));
        }
        headers.insert(CONTENT_DIGEST, digest::make(body));
    }
    let message = Message { start, headers };
    let mut covered: Vec<_> = required(&message, !body.is_empty()).collect();
    for name in extra {
        let component = Component::Field(name.clone());
        if !covered.contains(&component) {
            covered.push(component);
        }
    }
    let parameters = parameters(&covered, key.public().kid(), now)?;
    let Made { base, input, signature } = make(&covered, &parameters, &message, key)?;
    headers.insert(SIGNATURE_INPUT, input);
    headers.insert(SIGNATURE, signature);
    Ok(base)
}

/// A new signature.
pub(super) struct Made {
    /// Base that it covers.
    pub(super) base: Vec<u8>,
    /// Value of `Signature-Input`.
    pub(super) input: HeaderValue,
    /// Value of `Signature`.
    pub(super) signature: HeaderValue,
}

/// Makes a signature with a key for HTTP messages. `parameters` is the signature's member of `Signature-Input`.
pub(super) fn make(
    covered: &[Component],
    parameters: &str,
    message: &Message<'_>,
    key: &SigningKey,
) -> Result<Made, SignError> {
    let base = base::build(covered, parameters, message).map_err(SignError::Incomplete)?;
    let signature = BASE64_STANDARD.encode(key.sign(&base)?);
    let (input, signature) = (field(format!("{LABEL}={parameters}"))?, field(format!("{LABEL}=:{signature}:"))?);
    Ok(Made { base, input, signature })
}

/// Returns the member of `Signature-Input`, in canonical form.
pub(super) fn parameters(covered: &[Component], kid: &str, now: SystemTime) -> Result<String, SignError> {
    let kid = StringRef::from_str(kid).map_err(|_| SignError::KeyId)?;
    let kid = sfv::ItemSerializer::new().bare_item(kid).finish();
    let created = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let covered: Vec<_> = covered.iter().map(ToString::to_string).collect();
    Ok(format!("({});created={created};keyid={kid}", covered.join(" ")))
}

pub(super) fn field(value: String) -> Result<HeaderValue, SignError> {
    HeaderValue::from_maybe_shared(value).map_err(|_| SignError::KeyId)
}
