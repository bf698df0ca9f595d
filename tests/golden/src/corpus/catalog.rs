//! Looking around: every catalog operation in every release, over every transport.

use serde_json::{Value, json};

use super::{payloads, text};
use crate::{
    Done,
    operation::{Caller, MAIN, WAYS, Way, endpoints},
    process::Gateway,
    stage::{Setup, Stage},
};

/// Plays all of it in the shop of outdoor goods, and a part among the flowers.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new("").outfitters())?;
    for endpoint in endpoints() {
        for (label, name, payload) in calls() {
            let ways: &[Way] = if label.ends_with('!') { &WAYS } else { &MAIN };
            for way in ways {
                let caller = Caller::new(endpoint, *way);
                let called = format!("{}/{name}/{}", caller.label(), label.trim_end_matches('!'));
                stage.ask(&called, &gateway, &caller.call(name, None, &payload));
            }
        }
        pages(stage, &gateway, endpoint);
        headers(stage, &gateway, endpoint);
    }
    let flowers = stage.start(&Setup::new(""))?;
    for (label, name, payload) in [
        ("roses", "search_catalog", json!({ "query": "roses" })),
        ("everything", "search_catalog", json!({ "filters": { "available": true }, "pagination": { "limit": 50 } })),
        ("pot", "lookup_catalog", json!({ "ids": ["pot_ceramic", "bouquet_roses", "gardenias", "nothing"] })),
        ("orchid", "get_product", json!({ "id": "orchid_white" })),
    ] {
        for endpoint in endpoints() {
            for way in [Way::Rest, Way::Tool] {
                let caller = Caller::new(endpoint, way);
                stage.ask(
                    &format!("flowers/{}/{name}/{label}", caller.label()),
                    &flowers,
                    &caller.call(name, None, &payload),
                );
            }
        }
    }
    Ok(())
}

/// Calls as label, operation and payload. Those marked with `!` go over every transport, others over the main ones.
pub(super) fn calls() -> Vec<(&'static str, &'static str, Value)> {
    let ids = |count: usize| (0..count).map(|number| format!("id-{number}")).collect::<Vec<_>>();
    let page = |more: Value| payloads::with(json!({ "query": "shoes", "pagination": { "limit": 2 } }), &more);
    let product = |more: Value| payloads::with(json!({ "id": "prod_abc123" }), &more);
    let option = |name: &str, label: &str| json!({ "name": name, "label": label });
    let mut calls = vec![
        ("words!", "search_catalog", json!({ "query": "blue running shoes", "pagination": { "limit": 2 } })),
        ("nothing-stated!", "search_catalog", json!({})),
        ("whole", "search_catalog", payloads::whole_search()),
        ("typo", "search_catalog", json!({ "query": "runing shose", "pagination": { "limit": 2 } })),
        ("stem", "search_catalog", json!({ "query": "colors", "pagination": { "limit": 2 } })),
        ("spanish", "search_catalog", json!({ "query": "zapatillas", "context": { "language": "es" } })),
        ("sku", "search_catalog", json!({ "query": "RP-BLU-10" })),
        ("no-such-thing!", "search_catalog", json!({ "query": "xyzzyplugh" })),
        ("empty-query", "search_catalog", json!({ "query": "", "pagination": { "limit": 1 } })),
        ("odd-characters", "search_catalog", json!({ "query": "a*\"(\u{0}é–𝕏" })),
        ("long-query", "search_catalog", json!({ "query": "shoe ".repeat(300) })),
        ("category", "search_catalog", page(json!({ "filters": { "categories": ["Footwear"] } }))),
        (
            "category-path",
            "search_catalog",
            page(json!({ "filters": { "categories": ["Footwear > Running", "187"] } })),
        ),
        ("category-old-text", "search_catalog", page(json!({ "filters": { "category": "Footwear" } }))),
        ("category-old-list", "search_catalog", page(json!({ "filters": { "category": ["Footwear"] } }))),
        ("categories-text", "search_catalog", page(json!({ "filters": { "categories": "Footwear" } }))),
        ("category-unknown", "search_catalog", page(json!({ "filters": { "categories": ["No such"] } }))),
        ("price", "search_catalog", page(json!({ "filters": { "price": { "min": 9_000, "max": 13_000 } } }))),
        (
            "price-in-euro",
            "search_catalog",
            page(json!({ "filters": { "price": { "max": 13_000 } }, "context": { "currency": "EUR" } })),
        ),
        ("price-upside-down", "search_catalog", page(json!({ "filters": { "price": { "min": 2, "max": 1 } } }))),
        (
            "price-largest",
            "search_catalog",
            page(json!({ "filters": { "price": { "max": 9_007_199_254_740_991_i64 } } })),
        ),
        (
            "price-too-large",
            "search_catalog",
            page(json!({ "filters": { "price": { "max": 9_007_199_254_740_992_i64 } } })),
        ),
        ("price-negative", "search_catalog", page(json!({ "filters": { "price": { "min": -1 } } }))),
        ("price-fraction", "search_catalog", page(json!({ "filters": { "price": { "min": 0.5 } } }))),
        ("available", "search_catalog", page(json!({ "filters": { "available": true } }))),
        ("unavailable", "search_catalog", page(json!({ "filters": { "available": false } }))),
        (
            "unknown-filter!",
            "search_catalog",
            page(json!({ "filters": { "color": "red", "a'b\\": 1, "\u{1b}[31m": 2 } })),
        ),
        (
            "old-context",
            "search_catalog",
            page(json!({ "context": { "country": "US", "region": "CA", "intent": "comfort" } })),
        ),
        ("limit-0", "search_catalog", json!({ "query": "tent", "pagination": { "limit": 0 } })),
        ("limit-1", "search_catalog", json!({ "query": "tent", "pagination": { "limit": 1 } })),
        ("limit-50", "search_catalog", json!({ "pagination": { "limit": 50 } })),
        ("limit-51", "search_catalog", json!({ "query": "tent", "pagination": { "limit": 51 } })),
        ("limit-1000", "search_catalog", json!({ "query": "tent", "pagination": { "limit": 1000 } })),
        ("limit-fraction", "search_catalog", json!({ "query": "tent", "pagination": { "limit": 2.0 } })),
        ("limit-text", "search_catalog", json!({ "query": "tent", "pagination": { "limit": "2" } })),
        ("cursor-made-up!", "search_catalog", json!({ "query": "x", "pagination": { "cursor": "made up" } })),
        ("cursor-empty", "search_catalog", json!({ "query": "x", "pagination": { "cursor": "" } })),
        ("cursor-offset", "search_catalog", json!({ "query": "x", "pagination": { "cursor": "eyJwYWdlIjoxfQ==" } })),
        ("one-product!", "lookup_catalog", json!({ "ids": ["prod_abc123"] })),
        (
            "ten",
            "lookup_catalog",
            json!({ "ids": ["prod_abc123", "prod_def456", "var_xyz789", "RP-BLU-10", "runner-pro",
            "prod_blue_runner_pro", "TMX-GRN-11", "blue-runner-pro", "nope", "var_abc123_blue_10"] }),
        ),
        ("twice-the-same", "lookup_catalog", json!({ "ids": ["prod_abc123", "prod_abc123", "RP-BLU-10"] })),
        ("variant", "lookup_catalog", json!({ "ids": ["var_xyz789"], "context": { "country": "US" } })),
        (
            "in-spanish-and-yen",
            "lookup_catalog",
            json!({ "ids": ["TMX-GRN-11"], "context": { "language": "es", "currency": "JPY" } }),
        ),
        ("in-dinar", "lookup_catalog", json!({ "ids": ["prod_abc123"], "context": { "currency": "KWD" } })),
        ("unknown-currency", "lookup_catalog", json!({ "ids": ["prod_abc123"], "context": { "currency": "gold" } })),
        (
            "filtered",
            "lookup_catalog",
            json!({ "ids": ["prod_abc123", "prod_def456"], "filters": { "price": { "max": 13_000 } } }),
        ),
        ("unknown!", "lookup_catalog", json!({ "ids": ["prod_notfound1", "prod_abc123", "prod_notfound2"] })),
        ("nothing-found", "lookup_catalog", json!({ "ids": ["prod_invalid"] })),
        ("empty-id", "lookup_catalog", json!({ "ids": [""] })),
        ("no-ids!", "lookup_catalog", json!({})),
        ("empty-list", "lookup_catalog", json!({ "ids": [] })),
        ("hundred", "lookup_catalog", json!({ "ids": ids(100) })),
        ("hundred-and-one!", "lookup_catalog", json!({ "ids": ids(101) })),
        ("whole", "lookup_catalog", payloads::whole_lookup()),
        ("plain!", "get_product", product(json!({}))),
        ("by-variant", "get_product", json!({ "id": "var_abc123_red_10" })),
        ("by-sku", "get_product", json!({ "id": "TMX-GRN-11" })),
        ("by-handle", "get_product", json!({ "id": "trail-master-x" })),
        ("unknown!", "get_product", json!({ "id": "prod_invalid" })),
        ("no-id!", "get_product", json!({})),
        ("long-id", "get_product", json!({ "id": "x".repeat(3_000) })),
        (
            "blue",
            "get_product",
            product(json!({ "selected": [option("Color", "Blue")], "preferences": ["Color", "Size"] })),
        ),
        (
            "relaxed",
            "get_product",
            product(
                json!({ "selected": [option("Color", "Red"), option("Size", "15")], "preferences": ["Color", "Size"] }),
            ),
        ),
        (
            "relaxed-otherwise",
            "get_product",
            product(
                json!({ "selected": [option("Color", "Green"), option("Size", "8")], "preferences": ["Size", "Color"] }),
            ),
        ),
        ("unknown-option", "get_product", product(json!({ "selected": [option("Shape", "Round")] }))),
        (
            "option-twice",
            "get_product",
            product(json!({ "selected": [option("Color", "Red"), option("Color", "Blue")] })),
        ),
        (
            "by-option-id",
            "get_product",
            product(json!({ "selected": [{ "name": "Color", "id": "blue", "label": "Blue" }] })),
        ),
        ("odd-preferences", "get_product", product(json!({ "preferences": ["size", "?", ""] }))),
        ("in-yen", "get_product", product(json!({ "context": { "country": "JP" } }))),
        (
            "old-and-new-country",
            "get_product",
            product(json!({ "context": { "country": "DE", "address_country": "JP" } })),
        ),
        ("in-spanish", "get_product", product(json!({ "context": { "language": "es-MX" } }))),
        ("whole", "get_product", payloads::whole_product()),
        ("option-without-label", "get_product", product(json!({ "selected": [{ "name": "Color" }] }))),
        ("option-without-name", "get_product", product(json!({ "selected": [{ "label": "Red" }] }))),
        (
            "foreign-members!",
            "get_product",
            product(json!({ "com.example.more": { "a": [1, null, {}] }, "unheard_of": true })),
        ),
    ];
    for language in ["en", "fr", "", "x-y-z", "de-DE"] {
        calls.push(("language", "get_product", product(json!({ "context": { "language": language } }))));
    }
    for country in ["US", "DE", "JP", "kw", "??", "GB"] {
        calls.push((
            "country",
            "lookup_catalog",
            json!({ "ids": ["prod_abc123"], "context": { "address_country": country } }),
        ));
    }
    calls
}

/// Pages of one search, each fetched over another transport, and cursors where they do not belong.
fn pages(stage: &mut Stage<'_>, gateway: &Gateway, endpoint: Option<&'static str>) {
    let caller = |way| Caller::new(endpoint, way);
    let mut payload = json!({ "query": "color", "pagination": { "limit": 3 } });
    let mut cursor = String::new();
    for (number, way) in WAYS.into_iter().enumerate() {
        let name = format!("{}/search_catalog/page-{number}", caller(way).label());
        let answer = stage.ask(&name, gateway, &caller(way).call("search_catalog", None, &payload)).document();
        cursor = text(&answer, "/pagination/cursor").to_owned();
        payload["pagination"]["cursor"] = json!(cursor);
    }
    let first = json!({ "query": "color", "pagination": { "limit": 2 } });
    let answer = gateway.send(&caller(Way::Rest).call("search_catalog", None, &first));
    if let Ok(answer) = answer {
        text(&answer.document(), "/pagination/cursor").clone_into(&mut cursor);
    }
    for (label, payload) in [
        ("of-another-query", json!({ "query": "shoes", "pagination": { "cursor": cursor } })),
        ("with-another-limit", json!({ "query": "color", "pagination": { "cursor": cursor, "limit": 7 } })),
        (
            "with-a-filter",
            json!({ "query": "color", "filters": { "available": true }, "pagination": { "cursor": cursor } }),
        ),
        (
            "in-another-currency",
            json!({ "query": "color", "context": { "currency": "JPY" }, "pagination": { "cursor": cursor } }),
        ),
        ("cut", json!({ "query": "color", "pagination": { "cursor": &cursor[1..] } })),
    ] {
        for way in [Way::Rest, Way::Tool] {
            let name = format!("{}/search_catalog/cursor-{label}", caller(way).label());
            stage.ask(&name, gateway, &caller(way).call("search_catalog", None, &payload));
        }
    }
}

/// Changes of headers of a valid call.
fn headers(stage: &mut Stage<'_>, gateway: &Gateway, endpoint: Option<&'static str>) {
    for (name, value) in [
        ("Accept-Language", "es"),
        ("Accept-Language", "fr;q=0.5, es;q=0.9"),
        ("Accept-Language", "*"),
        ("Accept", "application/json"),
        ("Accept", "*/*"),
        ("Accept", "text/html"),
        ("Accept-Encoding", "gzip, br"),
        ("Request-Id", "trace-7:1"),
        ("Request-Id", "a b"),
        ("traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
        ("Origin", "https://evil.example"),
        ("Origin", "null"),
        ("X-API-Key", "ucpk_nobody"),
        ("Authorization", "Bearer eyJhbGciOi.J9.x"),
        ("Idempotency-Key", "some-key-for-a-read"),
        ("UCP-Version", "2026-01-11"),
        ("Accept-Signature", "sig1=(\"@status\")"),
    ] {
        for way in MAIN {
            let caller = Caller::new(endpoint, way).header(name, value);
            let called = format!("{}/get_product/header/{name}={value}", caller.label());
            stage.ask(
                &called,
                gateway,
                &caller.call("get_product", None, &json!({ "id": "prod_abc123", "selected": [] })),
            );
        }
    }
}
