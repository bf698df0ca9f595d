//! `Content-Digest` (RFC 9530), which binds the raw bytes of a body to the headers (SIG-03).
//!
//! Sent messages carry sha-256, as UCP requires. Received ones may carry sha-512 as well or instead.

use base64::{Engine as _, prelude::BASE64_STANDARD};
use http::{HeaderMap, HeaderName, HeaderValue};
use sfv::ListEntry;
use sha2::{Digest as _, Sha256, Sha512};

use super::base;

/// Name of the header field.
pub const CONTENT_DIGEST: HeaderName = HeaderName::from_static("content-digest");

/// Returns the value of the field for this body.
pub fn make(body: &[u8]) -> HeaderValue {
    let value = format!("sha-256=:{}:", BASE64_STANDARD.encode(Sha256::digest(body)));
    HeaderValue::from_maybe_shared(value).unwrap_or_else(|_| unreachable!("base64 is visible ASCII"))
}

/// Checks the body against every stated digest of a known algorithm; there has to be at least one. Fails with a text for
/// people that states the fault of the field, or the digest that differs.
pub fn check(headers: &HeaderMap, body: &[u8]) -> Result<(), String> {
    if !headers.contains_key(CONTENT_DIGEST) {
        return Err("the message has no Content-Digest".to_owned());
    }
    let stated = base::dictionary(&CONTENT_DIGEST, headers)
        .map_err(|error| format!("Content-Digest cannot be read: {error}; expected sha-256=:base64:"))?;
    let mut known = false;
    for (algorithm, digest) in &stated {
        let algorithm = algorithm.as_str();
        let differs = match algorithm {
            "sha-256" => !is(digest, &Sha256::digest(body)),
            "sha-512" => !is(digest, &Sha512::digest(body)),
            _ => continue,
        };
        if differs {
            return Err(format!(
                "the body of {} bytes is not the one that Content-Digest states ({algorithm})",
                body.len()
            ));
        }
        known = true;
    }
    if known { Ok(()) } else { Err("Content-Digest states neither sha-256 nor sha-512".to_owned()) }
}

fn is(stated: &ListEntry, digest: &[u8]) -> bool {
    matches!(stated, ListEntry::Item(item) if item.bare_item.as_byte_sequence() == Some(digest))
}
