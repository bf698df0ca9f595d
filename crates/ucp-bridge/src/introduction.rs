//! Identity of the gateway towards the shop: its profile, and signatures that prove it.

use std::time::SystemTime;

use http::{HeaderMap, HeaderName, HeaderValue};
use ucp_core::port::Trace;
use ucp_trust::signature::{RequestLine, Scheme, sign_request};

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

/// Signs a request, if there is a key.
pub(super) fn sign(upstream_request: &mut UpstreamRequest, options: &Options) {
    let Some(key) = (options.key)() else { return };
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
        tracing::error!(%error, "a request to the shop could not be signed");
    }
}
