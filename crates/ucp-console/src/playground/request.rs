//! Requests of the playground page to the gateway beside UCP: JSON of bounded size and rate.

use std::net::{IpAddr, Ipv4Addr};

use axum::{Router, extract::DefaultBodyLimit, response::Response};
use http::{
    HeaderMap, HeaderValue,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use ucp_core::{
    Code, Refusal, Release,
    json::{Limits, parse},
};
use ucp_trust::{
    client::ClientAddress,
    limit::{Quota, Quotas, RateLimits, Share, Stranger},
};

/// Maximum size of a body in bytes.
const MAX_BODY: usize = 256 * 1024;

/// Requests per second in the long run, and at once: a page asks for two answers at each step of its buyer.
const RATE: (u32, u32) = (20, 60);

/// Creates the limit of the rate.
pub(super) fn limit() -> RateLimits {
    RateLimits::new(&Quotas { anonymous: Quota::new(RATE.0, RATE.1), ..Quotas::default() })
}

/// Bounds the bodies of requests.
pub(super) fn bounded(router: Router) -> Router {
    router.layer(DefaultBodyLimit::max(MAX_BODY))
}

/// Reads a request, if the limit has room for it. Pages of other sites cannot send its media type without being asked
/// first.
///
/// # Errors
/// [`Code::RateLimited`], [`Code::UnsupportedMediaType`], or the refusal of a body that cannot be read.
pub(super) fn read<T: DeserializeOwned>(limit: &RateLimits, headers: &HeaderMap, body: &[u8]) -> Result<T, Refusal> {
    let local = ClientAddress::new(IpAddr::V4(Ipv4Addr::LOCALHOST));
    limit.check(&Share::Stranger(Stranger::anonymous(local)))?;
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        return Err(Refusal::new(Code::UnsupportedMediaType, "The body must be JSON.").accepting("application/json"));
    }
    let document = parse(body, Limits::REQUEST)?;
    serde_json::from_value(document).map_err(|error| Refusal::new(Code::InvalidRequest, format!("The body: {error}.")))
}

/// Answers with a document, or with the reason why there is none.
pub(super) fn answer(document: Result<Value, Refusal>) -> Response {
    let mut response = match document {
        Ok(document) => {
            let mut response = Response::new(document.to_string().into());
            response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
            response
        }
        Err(refusal) => ucp_rest::error::answer(Release::NEWEST, &refusal),
    };
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
