//! The views of catalog answers: everything, what listings show of it, and what helps to choose.

use std::fs;

use serde_json::{Value, json};
use ucp_core::Release;

use crate::{
    harness::{Ends as _, Gateway, RPC_HEADERS, binary, elements, rpc},
    purchase::shopper::ways,
    setup::{Ask, Setup, Transport},
};

const STRANGER: &str = "https://agent.example.com/profile.json";

/// The answer of a tool, and the length of its text.
fn tool(gateway: &Gateway, path: &str, name: &str, payload: &Value) -> (Value, usize) {
    let arguments = json!({ "meta": { "ucp-agent": { "profile": STRANGER } }, "catalog": payload });
    let call = rpc("tools/call", &json!({ "name": name, "arguments": arguments }));
    let result = gateway.send("POST", path, RPC_HEADERS, call.to_string().as_bytes()).json()["result"].take();
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert_eq!(serde_json::from_str::<Value>(text).expect("JSON"), result["structuredContent"]);
    (result["structuredContent"].clone(), text.len())
}

#[test]
fn ten_products_are_few_bytes() {
    let gateway = Gateway::shared();
    // Shoes have a dozen sizes each.
    for (query, most) in
        [("running shoes", 12_800), ("jacket", 11_800), ("set", 11_800), ("shirt", 11_800), ("coffee", 11_800)]
    {
        let payload = json!({ "query": query, "pagination": { "limit": 10 } });
        let (full, before) = tool(&gateway, "/mcp", "search_catalog", &payload);
        let (compact, after) = tool(&gateway, "/mcp?view=compact", "search_catalog", &payload);
        assert_eq!(elements(&full["products"]).len(), elements(&compact["products"]).len());
        println!("{query}: {} products, {before} bytes, {after} compact", elements(&full["products"]).len());
        assert!(after <= 4_400, "{query}: {after} bytes");
        let count = elements(&full["products"]).len();
        assert!(count < 10 || before <= most, "{query}: {before} bytes of ten products");
        for (whole, part) in elements(&full["products"]).iter().zip(elements(&compact["products"])) {
            for name in ["id", "title", "price_range"] {
                assert_eq!(whole.get(name), part.get(name), "{name}");
            }
        }
        let ids: Vec<_> = elements(&full["products"]).iter().map(|product| &product["id"]).collect();
        let payload = json!({ "ids": ids });
        let (full, before) = tool(&gateway, "/mcp", "lookup_catalog", &payload);
        let (compact, after) = tool(&gateway, "/mcp?view=compact", "lookup_catalog", &payload);
        assert_eq!(elements(&full["products"]).len(), elements(&compact["products"]).len());
        println!("lookup of {}: {before} bytes, {after} compact", ids.len());
        assert!(after <= 5_000, "lookup of {query}: {after} bytes");
        for (whole, part) in elements(&full["products"]).iter().zip(elements(&compact["products"])) {
            let names = |product: &Value| product["variants"][0]["inputs"].clone();
            assert_eq!((&whole["price_range"], names(whole)), (&part["price_range"], names(part)));
            let available = |product: &Value| product["variants"][0]["availability"]["available"].clone();
            assert_eq!(available(whole), available(part));
        }
    }
}

#[test]
fn compact_answers_are_true_to_every_schema() {
    let gateway = Gateway::shared();
    let calls = [
        ("search_catalog", json!({ "query": "shoes" })),
        ("lookup_catalog", json!({ "ids": ["prod_abc123", "TMX-GRN-11", "nope"] })),
        ("get_product", json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Blue" }] })),
    ];
    for (release, transport) in ways().filter(|(release, _)| *release >= Release::V2026_04_08) {
        for (name, payload) in &calls {
            let ask = Ask::new(transport, STRANGER).at(Some(release)).of(name, payload.clone());
            let standard = ask.answer(&gateway);
            let full = ask.clone().query("view=full").answer(&gateway);
            let compact = ask.clone().query("view=compact").answer(&gateway);
            crate::official::check(name, &compact);
            assert!(compact.to_string().len() < full.to_string().len(), "{release} {transport:?} {name}");
            assert_eq!(compact["messages"], full["messages"]);
            // The compact view of one caller does not affect the next one.
            assert_eq!(ask.answer(&gateway), standard);
            assert_eq!(ask.clone().query("view=full").answer(&gateway), full);
            assert_eq!(ask.clone().query("view=standard").answer(&gateway), standard);
            assert_eq!(standard == full, *name == "get_product", "{name}");
        }
    }
    let detail = Ask::new(Transport::Rest, STRANGER).query("view=compact").answer(&gateway);
    let product = &detail["product"];
    assert!(!elements(&product["options"]).is_empty() && product.get("media").is_none(), "{product}");
    let lookup = json!({ "ids": ["TMX-GRN-11", "prod_abc123"] });
    let looked_up = Ask::new(Transport::Rest, STRANGER).of("lookup_catalog", lookup).query("view=compact");
    for product in elements(&looked_up.answer(&gateway)["products"]) {
        assert!(elements(&product["variants"]).iter().all(|variant| variant["inputs"].is_array()), "{product}");
    }
}

#[test]
fn a_long_description_is_shortened_in_listings_and_whole_on_the_page() {
    let long = "Knitted from wool of one farm. ".repeat(600);
    let described = json!({ "plain": long.trim() });
    let product = json!({
        "id": "jumper", "title": "Jumper", "description": described,
        "variants": [{
            "id": "jumper-m", "title": "M", "price": { "amount": 9000, "currency": "USD" }, "description": described,
        }],
    });
    let data = tempfile::tempdir().expect("a directory");
    let file = data.path().join("goods.jsonl");
    fs::write(&file, product.to_string()).expect("a file");
    let imported = binary().arg("import").arg(&file).arg("--data-dir").arg(data.path()).ends();
    assert!(imported.status.success(), "{imported:?}");
    let gateway = Setup::new("").start_on(data);
    for (release, transport) in ways().filter(|(release, _)| *release >= Release::V2026_04_08) {
        for (name, payload) in
            [("search_catalog", json!({ "query": "jumper" })), ("lookup_catalog", json!({ "ids": ["jumper-m"] }))]
        {
            let ask = Ask::new(transport, STRANGER).at(Some(release)).of(name, payload);
            let answer = ask.answer(&gateway);
            crate::official::check(name, &answer);
            let product = &elements(&answer["products"])[0];
            for of in [product, &product["variants"][0]] {
                let text = of["description"]["plain"].as_str().expect("plain text");
                assert!(text.contains("get_product") && text.chars().count() < 480, "{release} {transport:?} {text}");
            }
            let whole = ask.query("view=full").answer(&gateway);
            assert_eq!(elements(&whole["products"])[0]["description"]["plain"], long.trim());
        }
        let page = Ask::new(transport, STRANGER).at(Some(release)).of("get_product", json!({ "id": "jumper" }));
        assert_eq!(page.answer(&gateway)["product"]["description"]["plain"], long.trim());
    }
}

#[test]
fn an_unknown_view_is_refused_and_says_what_there_is() {
    let gateway = Gateway::shared();
    for transport in Transport::ALL {
        let refused = Ask::new(transport, STRANGER).query("view=small").refusal(&gateway);
        assert_eq!(refused.verdict(), (400, "invalid_request"));
        assert_eq!(refused.body["accepted"], "`view=standard`, `view=full` or `view=compact`");
    }
}

#[test]
fn an_operator_can_make_it_the_usual_view() {
    let gateway = Setup::new("[callers]\nview = \"compact\"\n").start();
    for transport in Transport::ALL {
        let ask = Ask::new(transport, STRANGER);
        assert!(ask.answer(&gateway)["product"].get("media").is_none(), "{transport:?}");
        assert!(ask.clone().query("view=full").answer(&gateway)["product"]["media"].is_array(), "{transport:?}");
        assert_eq!(ask.clone().query("view=compact").answer(&gateway), ask.answer(&gateway));
    }
}
