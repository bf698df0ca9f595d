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
use ucp_trust::host::Authority;

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
    let headers = request.headers();
    let peer = request.extensions().get::<Peer>();
    peer.is_some_and(|Peer(ip)| ip.to_canonical().is_loopback())
        && Hosts::default().admit_page(headers, request.uri()).is_ok()
        && !headers.keys().any(|name| is_of_proxies(name.as_str()))
        && is_own_page(headers)
}

/// Returns `true` for the name of a header that a proxy adds, by a rule, for there are too many to know: browsers and programs
/// on this machine send no names that begin with `X-` but a few, and none with the words of proxies.
fn is_of_proxies(name: &str) -> bool {
    /// Names with `x-` of clients, and of the gateway's own pages.
    const OWN: [&str; 4] = ["x-api-key", "x-csrf-token", "x-prometheus-scrape-timeout-seconds", "x-requested-with"];
    /// Words of names: what proxies say of their client, and who they are.
    const WORDS: &str = "akamai ali azure cdn cf client clientip cloudflare cloudfront connecting edge fastly fly forward forwarded \
        forwards incap ip proxied proxy real remote via";
    let has_word = || name.split(['-', '_']).any(|word| WORDS.split(' ').any(|known| known == word));
    !OWN.contains(&name) && !name.starts_with("sec-") && (name.starts_with("x-") || has_word())
}

/// Returns `true` unless a browser says that a page of another site has sent the request.
pub(crate) fn is_own_page(headers: &HeaderMap) -> bool {
    let host = headers.get(HOST).and_then(|host| Authority::read(host.to_str().ok()?).ok());
    let is_own = |origin: &HeaderValue| {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://"));
        let (default, origin) = match origin {
            Some(("https", authority)) => (443, Authority::read(authority)),
            Some((_, authority)) => (80, Authority::read(authority)),
            None => return false,
        };
        host.zip(origin.ok()).is_some_and(|(host, origin)| host.is_same(&origin, default))
    };
    headers.get("sec-fetch-site").is_none_or(|site| site == "none" || site == "same-origin")
        && headers.get_all(ORIGIN).iter().all(is_own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proxies_add_is_told_from_what_clients_send() {
        let of_proxies = "Akamai-Origin-Hop Ali-CDN-Real-IP CDN-Loop CF-Connecting-IP CF-IPCountry CF-Ray CF-Visitor Client-IP \
            CloudFront-Viewer-Address DO-Connecting-IP Fastly-Client-IP Fastly-SSL Fly-Client-IP Fly-Region Forwarded \
            Forwarded-For Incap-Client-IP Max-Forwards Proxy-Authorization Proxy-Client-IP Proxy-Connection Remote-Addr \
            True-Client-IP Via WL-Proxy-Client-IP X-Amz-Cf-Id X-Amzn-Trace-Id X-AppEngine-Country X-ARR-LOG-ID X-Azure-ClientIP \
            X-Client-IP X-Cloud-Trace-Context X-Cluster-Client-IP X-Envoy-External-Address X-Forwarded X-Forwarded-By \
            X-Forwarded-Client-Cert X-Forwarded-For X-Forwarded-Host X-Forwarded-Port X-Forwarded-Prefix X-Forwarded-Proto \
            X-Forwarded-Scheme X-Forwarded-Server X-Forwarded-Ssl X-HTTPS X-Nginx-Proxy X-Original-Forwarded-For \
            X-Original-Host X-Original-URI X-ProxyUser-Ip X-Real-IP X-Remote-IP X-Request-Start X-Scheme X-Served-By X-SSL \
            X-Sucuri-ClientIP X-Url-Scheme X-Varnish X-Vercel-Forwarded-For";
        for name in of_proxies.split_whitespace() {
            assert!(is_of_proxies(&name.to_ascii_lowercase()), "{name}");
        }
        let of_clients = "Accept Accept-Encoding Accept-Language Authorization Cache-Control Connection Content-Length \
            Content-Type Cookie DNT Host Idempotency-Key If-None-Match Last-Event-ID MCP-Protocol-Version MCP-Session-Id Origin \
            Pragma Prefer Priority Range Referer Request-Id Sec-CH-UA Sec-CH-UA-Platform Sec-Fetch-Dest Sec-Fetch-Site Sec-GPC \
            Signature Signature-Input TE Traceparent Tracestate UCP-Agent Upgrade-Insecure-Requests User-Agent X-API-Key \
            X-Prometheus-Scrape-Timeout-Seconds X-Requested-With";
        for name in of_clients.split_whitespace() {
            assert!(!is_of_proxies(&name.to_ascii_lowercase()), "{name}");
        }
    }

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
