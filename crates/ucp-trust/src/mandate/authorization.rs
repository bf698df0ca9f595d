//! Signature of the business over a checkout (AP2-02): `ap2.merchant_authorization`.
//!
//! It is a JWS over the canonical form of the checkout without its member `ap2`, sent without the payload: recipients
//! restore the payload from the checkout, in whatever order and spelling they received it.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use super::{canonical::canonical_of, error::MandateError, jws::Jws};
use crate::{
    jwk::{PublicKey, quoted},
    signature::key::{KeyError, SigningKey},
};

/// Member of a checkout that the signature leaves out.
pub(super) const AP2: &str = "ap2";

/// Member of [`AP2`] that holds the signature.
pub(super) const MERCHANT_AUTHORIZATION: &str = "merchant_authorization";

/// Signs a checkout in the form in which it is going to be answered, except for its member `ap2`, and returns the value
/// of `ap2.merchant_authorization`. Any value but an object counts as an empty object. Fails with [`KeyError`] if the
/// cryptographic library fails.
pub fn authorize(checkout: &Value, key: &SigningKey) -> Result<String, KeyError> {
    let header = json!({ "alg": key.algorithm().as_str(), "kid": key.public().kid() });
    let header = BASE64_URL_SAFE_NO_PAD.encode(header.to_string());
    let signature = key.sign(format!("{header}.{}", payload(checkout)).as_bytes())?;
    Ok(format!("{header}..{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
}

/// Verifies a signature over a checkout with the published keys of its supposed signer. Fails with
/// [`MandateError::AuthorizationInvalid`] if the signature cannot be read, names none of the keys, or does not hold.
pub fn verify_authorization(checkout: &Value, authorization: &str, keys: &[PublicKey]) -> Result<(), MandateError> {
    verify_attached(&attach(checkout, authorization)?, keys).map(drop)
}

/// Inserts the payload into a signature that was sent without it.
pub(super) fn attach(checkout: &Value, authorization: &str) -> Result<String, MandateError> {
    match authorization.split_once("..") {
        Some((header, signature)) if !header.contains('.') && !signature.contains('.') => {
            Ok(format!("{header}.{}.{signature}", payload(checkout)))
        }
        _ => Err(invalid("is not `<header>..<signature>`, each in base64url")),
    }
}

/// Verifies a signature with its payload.
pub(super) fn verify_attached<'a>(compact: &'a str, keys: &[PublicKey]) -> Result<Jws<'a>, MandateError> {
    let signature = Jws::read(compact).map_err(invalid)?;
    let kid = signature.header.kid.as_deref().ok_or_else(|| invalid("has a header without kid"))?;
    let key = keys.iter().find(|key| key.kid() == kid).ok_or_else(|| {
        invalid(format!("names the key {}, which this business does not publish, or no longer", quoted(kid)))
    })?;
    signature.verify(key).map_err(invalid)?;
    Ok(signature)
}

fn invalid(why: impl AsRef<str>) -> MandateError {
    MandateError::AuthorizationInvalid(format!(
        "The merchant authorization of the checkout {}. The checkout has to be exactly as this business answered it.",
        why.as_ref()
    ))
}

fn payload(checkout: &Value) -> String {
    let payload = checkout.as_object().map_or_else(|| b"{}".to_vec(), |members| canonical_of(&Payload(members)));
    BASE64_URL_SAFE_NO_PAD.encode(payload)
}

/// A checkout without the member that the signature leaves out.
struct Payload<'a>(&'a Map<String, Value>);

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().filter(|(name, _)| *name != AP2))
    }
}
