//! Requests of programs on this machine, to which pages for developers and an admin listener without a token answer.

use axum::{
    Router,
    extract::Request,
    middleware::{Next, from_fn},
};
use http::{
    HeaderMap, HeaderValue,
    header::{HOST, ORIGIN},
};
use ucp_service::ingress::{Hosts, Peer};

/// Restricts routes to requests of programs on this machine. To others there is nothing under their paths.
pub(crate) fn only(router: Router) -> Router {
    restricted(router, is_local)
}

/// Restricts routes to the same, and to requests that a page of the same address has sent.
pub(crate) fn only_pages(router: Router) -> Router {
    restricted(router, is_local_page)
}

fn restricted(router: Router, admits: fn(&Request) -> bool) -> Router {
    router.layer(from_fn(move |request: Request, next: Next| async move {
        if admits(&request) { next.run(request).await } else { ucp_rest::unknown_path(request.uri()) }
    }))
}

/// Returns `true` for a request of a program on this machine: from a loopback address, to a loopback name, and neither
/// forwarded by a proxy nor sent by a page of another site.
pub(crate) fn is_local(request: &Request) -> bool {
    is_local_page(request) && !request.headers().contains_key(ORIGIN)
}

/// Returns `true` for the same, or one that a page of the same address has sent.
pub(crate) fn is_local_page(request: &Request) -> bool {
    const FORWARDED: [&str; 5] = ["forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    let headers = request.headers();
    let peer = request.extensions().get::<Peer>();
    peer.is_some_and(|Peer(ip)| ip.to_canonical().is_loopback())
        && Hosts::default().admit_page(headers, request.uri()).is_ok()
        && !FORWARDED.iter().any(|name| headers.contains_key(*name))
        && is_own_page(headers)
}

/// Returns `true` unless a browser says that a page of another site has sent the request.
pub(crate) fn is_own_page(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let is_own = |origin: &HeaderValue| {
        let authority = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        authority.is_some_and(|(_, authority)| Some(authority) == host)
    };
    headers.get("sec-fetch-site").is_none_or(|site| site == "none" || site == "same-origin")
        && headers.get_all(ORIGIN).iter().all(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_of_other_sites_are_told_from_own_ones() {
        let host = ("host", "127.0.0.1:8081");
        let is_own = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter();
            let headers: HeaderMap = pairs
                .map(|(name, value)| (http::HeaderName::from_static(name), value.parse().expect("a value")))
                .collect();
            is_own_page(&headers)
        };
        assert!(is_own(&[host]));
        assert!(is_own(&[host, ("origin", "http://127.0.0.1:8081"), ("sec-fetch-site", "same-origin")]));
        assert!(is_own(&[host, ("sec-fetch-site", "none")]));
        for (name, value) in [
            ("origin", "https://evil.example"),
            ("origin", "null"),
            ("origin", "http://127.0.0.1:9999"),
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
        ] {
            assert!(!is_own(&[host, (name, value)]), "{name}: {value}");
        }
    }
}
