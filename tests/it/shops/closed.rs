//! Shops that are not open answer what needs no shop, and stay closed.

use serde_json::json;

use super::{THREE, open, search, several};
use crate::{
    harness::{Gateway, REST_HEADERS, RPC_HEADERS, eventually},
    wire::{PATIENCE, Response},
};

/// Three shops without a directory, which are closed a second after their last call.
fn closing(more: &str) -> String {
    let server = "[server]\nclose_idle_s = 1\ntrusted_proxies = [\"127.0.0.1\"]\n";
    format!("{server}[merchants]\nenabled = false\nlocations = false\n{more}{THREE}")
}

/// Sends a request to the shop `one`.
fn send(gateway: &Gateway, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Response {
    gateway.send(method, path, &[headers, &[("Host", "one.localhost")]].concat(), body.as_bytes())
}

fn get(gateway: &Gateway, path: &str) -> Response {
    send(gateway, "GET", path, &[], "")
}

#[test]
fn what_needs_no_shop_opens_none() {
    let (_setup, _data, gateway) = several(&closing(""));
    for prefix in ["", "/ucp/2026-04-08"] {
        for (method, path, status) in [
            ("GET", "/nothing", 404),
            ("POST", "/nothing/", 404),
            ("GET", "/carts/a/b/c", 404),
            ("DELETE", "/carts", 405),
            ("PATCH", "/checkout-sessions/a", 405),
            ("GET", "/mcp", 405),
            ("DELETE", "/.well-known/ucp", 405),
            ("POST", "/openapi.json", 405),
        ] {
            let answer = send(&gateway, method, &format!("{prefix}{path}"), REST_HEADERS, "");
            assert_eq!(answer.status, status, "{method} {prefix}{path}: {answer:?}");
            assert_eq!(answer.header("allow").is_some(), status == 405, "{answer:?}");
            assert!(answer.header("request-id").is_some() && answer.json()["code"].is_string(), "{answer:?}");
        }
    }
    for (method, path, status) in [
        ("DELETE", "/continue/a", 405),
        ("PUT", "/order/a", 405),
        ("POST", "/payments/card/events", 404),
        ("POST", "/upstream/orders", 404),
        ("POST", "/upstream/catalog", 404),
        ("GET", "/.well-known/http-message-signatures-directory", 404),
        ("GET", "/docs/nothing", 404),
        ("GET", "/docs", 200),
        ("GET", "/docs/configuration", 200),
        ("GET", "/docs/search?q=limits", 200),
        ("GET", "/workbench/style.css", 200),
        ("GET", "/robots.txt", 200),
    ] {
        assert_eq!(send(&gateway, method, path, &[], "").status, status, "{method} {path}");
    }
    let query = json!({ "query": "roses" }).to_string();
    let rpc = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" }).to_string();
    let foreign = [("Origin", "https://elsewhere.example")];
    for (path, headers, body) in [("/catalog/search", REST_HEADERS, &query), ("/mcp", RPC_HEADERS, &rpc)] {
        let answer = send(&gateway, "POST", path, &[headers, &foreign].concat(), body);
        assert!(answer.status == 403 && answer.body.contains("origin_forbidden"), "{answer:?}");
    }
    assert!(open(&gateway).is_empty(), "{:?}", open(&gateway));
}

#[test]
fn documents_are_the_same_when_their_shop_is_closed() {
    let (_setup, _data, gateway) = several(&closing(""));
    let profile = get(&gateway, "/.well-known/ucp").json();
    let named = profile["ucp"]["services"].as_object().map_or(0, serde_json::Map::len);
    assert!(named > 0, "{profile}");
    let paths = [
        "/.well-known/ucp",
        "/openapi.json",
        "/openrpc.json",
        "/schemas/search_catalog.request.json",
        "/schemas/nothing.json",
        "/ucp/2026-04-08/.well-known/ucp",
        "/ucp/2026-04-08/openapi.json",
        "/llms.txt",
        "/docs/api",
        "/",
    ];
    let read = |path: &str| {
        let answer = send(&gateway, "GET", path, &[("Accept", "text/html")], "");
        let tag = answer.header("etag").map(str::to_owned);
        (answer.status, tag, answer.body)
    };
    let before = paths.map(read);
    assert_eq!(open(&gateway), ["one"]);
    eventually("the shop is closed", PATIENCE, || open(&gateway).is_empty().then_some(()));
    let after = paths.map(read);
    for ((path, before), after) in paths.iter().zip(before).zip(after) {
        assert_eq!(before, after, "{path}");
    }
    assert!(open(&gateway).is_empty(), "{:?}", open(&gateway));
    assert_eq!(search(&gateway, "one.localhost", "").status, 200);
    assert_eq!(open(&gateway), ["one"]);
}

#[test]
fn who_is_over_the_limit_reads_no_document_and_opens_no_shop() {
    let limits = "[limits]\nanonymous = { per_second = 1, burst = 20 }\n";
    let (_setup, _data, gateway) = several(&closing(limits).replace("[server]", "[server]\nopen_shops = 1"));
    let from = |client: &str, host: &str, method: &str, path: &str, body: &str| {
        let headers = [REST_HEADERS, &[("X-Forwarded-For", client), ("Host", host)]].concat();
        gateway.send(method, path, &headers, body.as_bytes())
    };
    let flooded = |client: &str, method: &str, path: &str, body: &str| {
        let refused = (0..500)
            .map(|_| from(client, "one.localhost", method, path, body))
            .find(|answer| answer.status != 200)
            .expect("a limit");
        assert_eq!((refused.status, refused.json()["code"].as_str()), (429, Some("rate_limited")), "{refused:?}");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    };
    flooded("198.51.100.1", "GET", "/docs/configuration", "");
    assert!(open(&gateway).is_empty(), "{:?}", open(&gateway));
    let query = json!({ "query": "roses" }).to_string();
    // A second may pass between a flood and the call that is refused.
    eventually("a call to a closed shop is refused", PATIENCE, || {
        flooded("198.51.100.1", "POST", "/catalog/search", &query);
        let other = from("203.0.113.9", "two.localhost", "POST", "/catalog/search", &query);
        assert!([200, 429].contains(&other.status), "{other:?}");
        let is_closed = open(&gateway) == ["two"];
        let status = from("198.51.100.1", "one.localhost", "POST", "/catalog/search", &query).status;
        (is_closed && status == 429 && open(&gateway) == ["two"]).then_some(())
    });
    // The same holds of a shop that is open, and others read on.
    assert_eq!(from("203.0.113.10", "one.localhost", "POST", "/catalog/search", &query).status, 200);
    for path in ["/docs/api", "/.well-known/ucp", "/openapi.json", "/workbench/style.css", "/pictures/rose.svg"] {
        let client = format!("198.51.100.{}", 2 + path.len());
        let mut statuses = (0..500).map(|_| from(&client, "one.localhost", "GET", path, "").status);
        assert!(statuses.any(|status| status == 429), "{path}");
    }
    assert_eq!(from("203.0.113.11", "one.localhost", "GET", "/docs/api", "").status, 200);
}
