//! Requests of programs on this machine, to which pages for developers and an admin listener without a token answer.

use axum::{
    Router,
    extract::Request,
    middleware::{Next, from_fn},
    response::Response,
};
use ucp_service::ingress::{Hosts, Peer};

/// Restricts routes to requests of programs on this machine. To others there is nothing under their paths.
pub(crate) fn only(router: Router) -> Router {
    router.layer(from_fn(async |request: Request, next: Next| -> Response {
        if is_local(&request) { next.run(request).await } else { ucp_rest::unknown_path(request.uri()) }
    }))
}

/// Returns `true` for a request of a program on this machine: from a loopback address, to a loopback name, and neither
/// forwarded by a proxy nor sent by a page of another site.
pub(crate) fn is_local(request: &Request) -> bool {
    const FORWARDED: [&str; 6] = ["forwarded", "origin", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    let headers = request.headers();
    let peer = request.extensions().get::<Peer>();
    peer.is_some_and(|Peer(ip)| ip.to_canonical().is_loopback())
        && Hosts::default().admit_page(headers, request.uri()).is_ok()
        && !FORWARDED.iter().any(|name| headers.contains_key(*name))
        && headers.get("sec-fetch-site").is_none_or(|site| site == "none" || site == "same-origin")
}
