//! Identity of the gateway towards the shop: its profile, and signatures that prove it.

use std::time::SystemTime;

use http::{HeaderMap, HeaderName, HeaderValue};
use ucp_core::{Release, ports::Trace};
use ucp_trust::signature::{
    RequestLine, Scheme, SigningKey,
    detached::{REQUEST_SIGNATURE, sign_detached},
    sign_request,
};
use ucp_wire::{dialect, dialect::Seal};

use super::Options;
use ucp_net::UpstreamRequest;

const UCP_AGENT: HeaderName = HeaderName::from_static("ucp-agent");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Sets the headers that identify the gateway by its profile, and the call by its request identifier and trace context.
pub(super) fn introduce(headers: &mut HeaderMap, profile: &str, trace: &Trace) {
    let id = trace.request_id.clone().unwrap_or_else(|| uuid::Uuid::new_v4().to_string());
    for (name, value) in [
        (UCP_AGENT, Some(format!("profile=\"{profile}\""))),
        (REQUEST_ID, Some(id)),
        (TRACEPARENT, trace.parent.clone()),
        (TRACESTATE, trace.state.clone()),
    ] {
        if let Some(value) = value.and_then(|value| HeaderValue::from_str(&value).ok()) {
            headers.insert(name, value);
        }
    }
}

/// Signs a request, if there is a key. A shop whose release signs bodies alone also gets that signature, which its
/// release requires of every request; the body of a request without one is empty.
pub(super) fn sign(upstream_request: &mut UpstreamRequest, release: Option<Release>, options: &Options) {
    let Some(key) = (options.key)() else { return };
    if release.is_some_and(|release| dialect(release).seal() == Seal::Body) {
        match detached(&upstream_request.body, &key) {
            Some(signature) => {
                upstream_request.headers.insert(REQUEST_SIGNATURE, signature);
            }
            None => tracing::error!("signing the body of an upstream request failed"),
        }
    }
    let url = upstream_request.url.clone();
    let scheme = if url.scheme() == "https" { Scheme::Https } else { Scheme::Http };
    let method = upstream_request.method.clone();
    let line = RequestLine {
        method: method.as_str(),
        scheme,
        authority: url.authority(),
        path: url.path(),
        query: url.query(),
    };
    let now = SystemTime::from((options.now)());
    if let Err(error) = sign_request(line, &mut upstream_request.headers, &upstream_request.body, &[], &key, now) {
        tracing::error!(%error, "signing an upstream request failed");
    }
}

fn detached(body: &[u8], key: &SigningKey) -> Option<HeaderValue> {
    HeaderValue::from_str(&sign_detached(body, key).ok()?).ok()
}
