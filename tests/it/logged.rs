//! Log of a failed request: its cause, under the request ID that its caller received.

use serde_json::{Value, json};
use ucp_core::{Operation, Release};
use ucp_testkit::{PATIENCE, eventually};

use crate::{
    harness::folder,
    platforms::host::{Host, Page},
    purchase::shopper::{Flowers, Shopper, lines, new_key},
    setup::{Setup, Transport},
};

/// Invalid identifiers: too long, or with characters that would write into the log.
const HOSTILE: [&str; 4] = ["a\tb", "x\" code=\"forged", "\u{e9}\u{1f6d2}", "<script>"];

/// Makes a call that fails inside. Its answer and the log name the request alike; only the log says why. Returns the
/// name.
#[track_caller]
fn fails(shopper: &Shopper<'_>, operation: &str, payload: &Value, status: u16, texts: &[&str]) -> String {
    let Shopper { gateway, transport, .. } = *shopper;
    let key = Operation::named(operation).expect("an operation").row().effect.needs_key().then(new_key);
    let (method, path, headers, body) = shopper.request(key.as_deref(), operation, None, payload);
    let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let response = gateway.send(method, &path, &headers, &body);
    assert_eq!(response.status, status, "{response:?}");
    let id = response.header("request-id").expect("an identifier");
    if transport != Transport::Rest {
        assert_eq!(response.json()["error"]["data"]["request_id"], id, "{response:?}");
    }
    let request = format!("request{{request_id={id} ");
    eventually(&format!("a line with {request} and {texts:?}"), PATIENCE, || {
        let has = |line: &str| line.contains(&request) && texts.iter().all(|text| line.contains(text));
        gateway.stderr().lines().any(has).then_some(())
    });
    assert!(texts.iter().all(|text| !format!("{response:?}").contains(text)), "callers are not told: {response:?}");
    id.to_owned()
}

#[test]
fn a_store_that_fails_is_logged_under_the_identifier_of_the_call() {
    let flowers = Flowers::open();
    let database = rusqlite::Connection::open(flowers.data().join("shop.db")).expect("the database");
    database.execute_batch("ALTER TABLE carts RENAME TO lost").expect("the table is gone");
    let payload = json!({ "line_items": lines(&[("bouquet_roses", 1)]) });
    let too_long = "a".repeat(129);
    for transport in Transport::ALL {
        let shopper = Shopper::new(&flowers, Release::NEWEST, transport);
        let failed = |shopper: &Shopper<'_>| {
            fails(shopper, "create_cart", &payload, 503, &["ERROR", "call failed", "no such table"])
        };
        let own = format!("trace-7:{transport:?}");
        assert_eq!(failed(&shopper.clone().header("Request-Id", &own)), own);
        assert_eq!(failed(&shopper).len(), 36);
        for hostile in HOSTILE.into_iter().chain([too_long.as_str()]) {
            assert_eq!(failed(&shopper.clone().header("Request-Id", hostile)).len(), 36, "{hostile}");
            assert!(!flowers.stderr().contains(hostile), "{hostile}");
        }
    }
    // An invalid header is rejected before anything reads it.
    let refused = flowers.send("POST", "/carts", &[("Request-Id", "a\u{1b}[2Jb")], b"{}");
    assert_eq!((refused.status, refused.header("request-id").map(str::len)), (400, Some(36)));
    assert!(!flowers.stderr().contains("[2Jb"));
}

#[test]
fn a_shop_that_is_down_is_logged_under_the_identifier_of_the_call() {
    const LOOPBACK: &str = "[profiles]\nloopback = true\n";
    let mut shop = Setup::new(LOOPBACK).arguments(&["--sample", "flower-shop"]).start_on(folder());
    let front = Setup::new(LOOPBACK)
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{}", shop.address)])
        .start_on(folder());
    shop.kill();
    for transport in Transport::ALL {
        let own = format!("trace-7:{transport:?}");
        let shopper = Shopper::new(&front, Release::NEWEST, transport).header("Request-Id", &own);
        let payload = json!({ "query": "roses" });
        let why = "could not connect to the upstream";
        assert_eq!(fails(&shopper, "search_catalog", &payload, 503, &["WARN", why]), own);
    }
}

#[test]
fn a_refusal_of_the_shop_is_one_line_under_the_identifier_of_the_call() {
    let host = Host::start();
    let (release, checkout) = (Release::NEWEST, "dev.ucp.shopping.checkout");
    let service = json!({ "version": release.date(), "transport": "rest", "endpoint": host.url("/shop") });
    host.profile(
        "/.well-known/ucp",
        &json!({ "ucp": {
            "version": release.date(), "services": { "dev.ucp.shopping": [service] }, "payment_handlers": {},
            "capabilities": { checkout: [{ "version": release.date() }] },
        } }),
    );
    let front = Setup::new("[profiles]\nloopback = true\n")
        .arguments(&["--backend", "ucp", "--upstream-url", &host.url("")])
        .start_on(folder());
    let faulty =
        json!({ "ucp": { "version": release.date(), "status": "success" }, "id": "k1", "currency": "dollars" });
    for (n, (stated, status, text)) in [
        (json!({ "detail": "None left.", "code": "OUT_OF_STOCK" }), 400, "code=\"OUT_OF_STOCK\""),
        (json!({ "detail": "Declined." }), 402, "content=\"Declined.\""),
        (json!({ "detail": "Name a quantity." }), 422, "content=\"Name a quantity.\""),
        (faulty, 201, "path=\"$.currency\""),
    ]
    .into_iter()
    .enumerate()
    {
        let json = vec!["Content-Type: application/json".to_owned()];
        host.put("/shop/checkout-sessions", Page::Answer(status, json, stated.to_string().into()));
        let id = format!("call-{n}");
        let shopper = Shopper::new(&front, release, Transport::Rest).header("Request-Id", &id);
        let payload = json!({ "line_items": lines(&[("a", 1)]) });
        let (method, path, headers, body) = shopper.request(None, "create_checkout", None, &payload);
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        front.send(method, &path, &headers, &body);
        let request = format!("request{{request_id={id} ");
        let lines = || -> Vec<String> {
            let log = front.stderr();
            let about = |line: &&str| {
                line.contains(&request)
                    && (line.contains("invalid upstream response") || line.contains("upstream rejected"))
            };
            log.lines().filter(about).map(str::to_owned).collect()
        };
        eventually(&format!("a line with {request}"), PATIENCE, || (!lines().is_empty()).then_some(()));
        let lines = lines();
        assert_eq!(lines.len(), 1, "{lines:?}");
        assert!(lines[0].contains(text), "{lines:?}");
        assert!(status == 201 || lines[0].contains(&format!("status={status}")), "{lines:?}");
    }
}
