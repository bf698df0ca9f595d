//! Verification of a webhook without the code under test: RFC 9421 and RFC 7797, as far as webhooks need them.

use std::collections::BTreeMap;

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::{client::text, platforms::Arrival};

/// Components that the signature of a webhook has to cover.
const COVERED: &[&str] = &[
    "@method",
    "@authority",
    "@path",
    "@query",
    "ucp-agent",
    "webhook-id",
    "webhook-timestamp",
    "content-digest",
    "content-type",
];

/// Public keys by their identifiers, each as a point.
pub(crate) type Keys = BTreeMap<String, Vec<u8>>;

/// The keys that a profile publishes, or another document with `keys`.
pub(crate) fn keys(document: &Value) -> Keys {
    let coordinate = |jwk: &Value, name| BASE64_URL_SAFE_NO_PAD.decode(text(jwk, name)).expect("base64url");
    let point = |jwk: &Value| [vec![4], coordinate(jwk, "x"), coordinate(jwk, "y")].concat();
    let keys = document["keys"].as_array().expect("keys");
    keys.iter().map(|jwk| (text(jwk, "kid").to_owned(), point(jwk))).collect()
}

/// Checks that a webhook is signed with one of these keys, and is the signed one.
pub(crate) fn verify(arrival: &Arrival, keys: &Keys) -> Result<(), String> {
    if arrival.header("request-signature").is_ok() { detached(arrival, keys) } else { message(arrival, keys) }
}

fn holds(keys: &Keys, kid: &str, signed: &[u8], signature: &[u8]) -> Result<(), String> {
    let key = keys.get(kid).ok_or_else(|| format!("signed with `{kid}`, which is not published"))?;
    let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key);
    key.verify(signed, signature).map_err(|_| "the signature does not hold".to_owned())
}

/// The releases before 2026-04-08: a JWS without its payload, which is the body as it is.
fn detached(arrival: &Arrival, keys: &Keys) -> Result<(), String> {
    let stated = arrival.header("request-signature")?;
    let (head, signature) = stated.split_once("..").ok_or("the signature is not detached")?;
    let decode = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).map_err(|_| "no base64url".to_owned());
    let stated: Value = serde_json::from_slice(&decode(head)?).map_err(|_| "the head is no JSON")?;
    if stated["alg"] != "ES256" || stated["b64"] != false || stated["crit"] != serde_json::json!(["b64"]) {
        return Err(format!("the signature is of another kind: {stated}"));
    }
    let signed = [head.as_bytes(), b".", &arrival.body].concat();
    holds(keys, text(&stated, "kid"), &signed, &decode(signature)?)
}

fn message(arrival: &Arrival, keys: &Keys) -> Result<(), String> {
    let digest = format!("sha-256=:{}:", BASE64_STANDARD.encode(Sha256::digest(&arrival.body)));
    if arrival.header("content-digest")? != digest {
        return Err("the digest is of another body".to_owned());
    }
    let (label, parameters) = arrival.header("signature-input")?.split_once('=').ok_or("no signature input")?;
    let signature = arrival.header("signature")?.strip_prefix(&format!("{label}=:"));
    let signature = signature.and_then(|rest| rest.strip_suffix(':')).ok_or("no signature of that label")?;
    let signature = BASE64_STANDARD.decode(signature).map_err(|_| "no base64")?;
    let (components, more) =
        parameters.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or("no list of components")?;
    let components: Vec<_> = components.split(' ').map(|name| name.trim_matches('"')).collect();
    if let Some(missing) = COVERED.iter().find(|name| !components.contains(name)) {
        return Err(format!("the signature is not about `{missing}`"));
    }
    let (_, kid) = more.split_once(";keyid=\"").ok_or("no keyid")?;
    let kid = kid.split('"').next().unwrap_or_default();
    let mut target = arrival.start.split(' ');
    let (method, target) = (target.next().unwrap_or_default(), target.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut base = String::new();
    for name in components {
        let value = match name {
            "@method" => method.to_owned(),
            "@authority" => arrival.header("host")?.to_ascii_lowercase(),
            "@path" => path.to_owned(),
            "@query" => format!("?{query}"),
            name => arrival.header(name)?.to_owned(),
        };
        base.push_str(&format!("\"{name}\": {value}\n"));
    }
    base.push_str(&format!("\"@signature-params\": {parameters}"));
    holds(keys, kid, base.as_bytes(), &signature)
}
