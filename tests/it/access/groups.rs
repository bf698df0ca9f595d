//! Customer groups: a credential opens the prices of a platform's group, and its name alone does not.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use ucp_testkit::server::{Answer, Server};
use ucp_trust::jwk::Algorithm;

use super::*;
use crate::{
    platforms::host::profile_with,
    signatures::{Draft, key, signing},
};

const TRADER: &str = "https://trader.example.com/profile.json";

/// Paths of the questions that a shop was asked, each with the customer group.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A shop behind the backend contract with a vase that costs 10.00 EUR, and 8.00 EUR for the trade.
fn shop(asked: &Asked) -> Server {
    let asked = Arc::clone(asked);
    Server::start(move |request| {
        let path = request.uri().path().to_owned();
        let question: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let group = question["context"]["customer_group"].clone();
        let price = if group == "trade" { 800 } else { 1_000 };
        asked.lock().unwrap_or_else(PoisonError::into_inner).push((path.clone(), group));
        let product = json!({
            "id": "vase", "title": "Vase", "description": { "plain": "Blue." },
            "variants": [{ "id": "vase-1", "price": { "amount": price, "currency": "EUR" } }],
        });
        Answer::json(&match path.as_str() {
            "/backend" => json!({
                "contract": "1", "market": { "name": "Vases", "currency": "EUR", "language": "en" },
                "cart": { "completion": "hand_off" },
            }),
            "/find" | "/resolve" | "/open" => json!({ "products": [product] }),
            "/cart/sync" => json!({
                "cart": "c1", "currency": "EUR", "continue_url": "https://shop.example.com/c1",
                "lines": [{ "variant": "vase-1", "quantity": 1, "price": price }], "total": price,
            }),
            _ => Value::Null,
        })
    })
}

#[test]
fn a_credential_opens_the_prices_of_the_group_and_a_name_does_not() {
    let (asked, key) = (Asked::default(), new_key());
    let server = shop(&asked);
    let platform = platform("Trader", TRADER, &format!("{}\ncustomer_group = \"trade\"", hash(&key)));
    let configuration = format!("{REQUIRE}\n[upstream]\nsigning_secret_file = \"secret\"\n{platform}");
    let url = server.url("");
    let capabilities = ["catalog.search", "catalog.lookup", "cart"].map(|name| format!("dev.ucp.shopping.{name}"));
    let profile = profile_with(Release::NEWEST, &capabilities.each_ref().map(String::as_str));
    let setup = Setup::new(&configuration).file("profile.json", &profile.to_string());
    let setup = setup.file("secret", "a-secret-that-shop-and-gateway-share");
    let gateway = setup.arguments(&["--backend", "http", "--upstream-url", &url]).start();
    let cart = json!({ "line_items": [{ "item": { "id": "vase-1" }, "quantity": 1 }] });
    for (operation, payload, price) in [
        ("search_catalog", json!({ "query": "vase" }), "/products/0/variants/0/price/amount"),
        ("lookup_catalog", json!({ "ids": ["vase"] }), "/products/0/variants/0/price/amount"),
        ("get_product", json!({ "id": "vase" }), "/product/variants/0/price/amount"),
        ("create_cart", cart, "/line_items/0/item/price"),
    ] {
        // In turn, so that an answer to one of them that was kept would be seen.
        for (turn, is_proven) in [false, true, false, true].into_iter().enumerate() {
            let ask = Ask::new(Transport::Rest, TRADER).of(operation, payload.clone());
            let ask = ask.header("Idempotency-Key", &format!("key-of-{operation}-{turn}"));
            let ask = if is_proven { ask.header("X-API-Key", key.reveal()) } else { ask };
            let response = ask.send(&gateway);
            if operation == "create_cart" && !is_proven {
                assert_eq!(response.status, 401, "carts are for platforms that prove who they are: {response:?}");
                continue;
            }
            let expected = if is_proven { 800 } else { 1_000 };
            assert_eq!(response.json().pointer(price), Some(&json!(expected)), "{operation}: {response:?}");
        }
    }
    let asked = asked.lock().unwrap_or_else(PoisonError::into_inner);
    for path in ["/find", "/resolve", "/open", "/cart/sync"] {
        let groups = |group: &Value| asked.iter().any(|(own, stated)| own == path && stated == group);
        assert!(groups(&json!("trade")), "{path}: {asked:?}");
        assert_eq!(groups(&Value::Null), path != "/cart/sync", "{path}: {asked:?}");
    }
}

#[test]
fn a_signature_opens_the_prices_of_the_group_too() {
    let (asked, own, foreign) = (Asked::default(), key(Algorithm::Es256), key(Algorithm::Es256));
    let server = shop(&asked);
    let platform = platform("Trader", TRADER, "customer_group = \"trade\"");
    let configuration = format!("{REQUIRE}\n[upstream]\nsigning_secret_file = \"secret\"\n{platform}");
    let url = server.url("");
    let profile = signing(profile_with(Release::NEWEST, &["dev.ucp.shopping.catalog.lookup"]), &[&own]);
    let setup = Setup::new(&configuration).file("profile.json", &profile.to_string());
    let setup = setup.file("secret", "a-secret-that-shop-and-gateway-share");
    let gateway = setup.arguments(&["--backend", "http", "--upstream-url", &url]).start();
    let ask = || {
        let question = json!({ "id": "vase" }).to_string();
        Draft::new(&gateway, Transport::Rest, TRADER).saying(question.as_bytes())
    };
    for _ in 0..2 {
        let price = |draft: Draft| draft.send(&gateway).json()["product"]["variants"][0]["price"]["amount"].clone();
        assert_eq!(price(ask()), 1_000);
        assert_eq!(price(ask().signed(&own)), 800);
        let refused = ask().signed(&foreign).send(&gateway);
        assert_eq!(refused.status, 401, "{refused:?}");
    }
}
