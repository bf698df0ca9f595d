//! Limit of pages per network address (rule ERR-03): they share the limits of everything else that is anonymous.

use std::time::Instant;

use super::browser::Browser;
use crate::{
    harness::Gateway,
    setup::{Ask, Configured, Setup, Transport},
    wire::Response,
};

const NOTHING: &str = "/continue/0123456789abcdef0123456789abcdef";

fn slow(more: &str) -> Configured {
    Configured::start(&format!(
        "{more}\n[callers]\npolicy = \"development\"\n[limits]\nanonymous = {{ per_second = 1, burst = 3 }}\n"
    ))
}

/// Sends until it is too much. No more gets in than is allowed: three, and one per second.
#[track_caller]
fn flood(send: impl Fn() -> Response) -> Response {
    let since = Instant::now();
    for got_in in 0..500 {
        let response = send();
        if response.status == 429 {
            return response;
        }
        let allowed = 3 + 1 + since.elapsed().as_secs();
        assert!(got_in < allowed, "{got_in} got in where {allowed} are allowed");
    }
    panic!("nothing was too much");
}

#[track_caller]
fn is_plain(response: &Response) {
    assert_eq!(response.status, 429, "{response:?}");
    let seconds: u64 = response.header("retry-after").expect("when to come back").parse().expect("seconds");
    assert!((1..=10).contains(&seconds), "{response:?}");
    assert_eq!(response.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(response.header("cache-control"), Some("no-store"));
    assert!(response.header("content-security-policy").is_some_and(|policy| policy.contains("default-src 'none'")));
    for shown in ["<h1>Please wait a moment</h1>", "Nothing was changed or charged", "<html lang=\"en\">"] {
        assert!(response.body.contains(shown), "`{shown}` in {response:?}");
    }
}

#[test]
fn err_03_pages_are_limited_whatever_is_tried() {
    let order = "/order/0123456789abcdef0123456789abcdef";
    for (method, place) in [("GET", NOTHING), ("POST", NOTHING), ("GET", order), ("DELETE", NOTHING)] {
        let gateway = slow("");
        is_plain(&flood(|| Browser::new(&gateway).send(method, place, &[], b"")));
    }
}

#[test]
fn err_03_pages_and_calls_share_one_limit() {
    let gateway = slow("");
    is_plain(&flood(|| gateway.get(NOTHING)));
    let call = || Ask::new(Transport::Rest, "https://one.example.com/profile.json").send(&gateway);
    assert_eq!(flood(call).status, 429);
}

/// Behind a proxy that is trusted, one buyer does not use up what others have; without one, nobody's word counts.
#[test]
fn err_03_each_address_has_its_own_share() {
    let from = |gateway: &Gateway, address: &str| {
        Browser::new(gateway).send("GET", NOTHING, &[("X-Forwarded-For", address)], b"")
    };
    let gateway = slow("[server]\ntrusted_proxies = [\"127.0.0.1\"]");
    is_plain(&flood(|| from(&gateway, "198.51.100.7")));
    assert_eq!(from(&gateway, "198.51.100.8").status, 404);
    let gateway =
        Setup::new("[callers]\npolicy = \"development\"\n[limits]\nanonymous = { per_second = 1, burst = 3 }\n")
            .start();
    let mut next = 0;
    let mut changing = || {
        next += 1;
        from(&gateway, &format!("198.51.100.{next}"))
    };
    let turned_away = (0..200).map(|_| changing()).find(|response| response.status == 429);
    is_plain(&turned_away.expect("nothing was too much"));
}
