//! Identifiers that are not of this shop, and words that nobody means well.

use serde_json::{Value, json};

use super::{Subject, amount, asked, came_to_nothing, context};
use crate::{
    harness::elements,
    purchase::shopper::{id, lines},
};

/// Identifiers that somebody may try.
fn foreign() -> Vec<String> {
    let mut ids: Vec<String> = [
        "",
        " ",
        "0",
        "-1",
        "null",
        "nothing",
        "../../etc/passwd",
        "/admin",
        "?key=1",
        "%2e%2e%2f",
        "'; drop table products; --",
        "\"} { __typename",
        "${jndi:ldap://localhost}",
        "gid://shopify/Product/1",
        "gid://shopify/Product/01005",
        "gid://shopify/Product/99999999999999999999999999",
        "gid://shopify/Cart/1?key=1",
        "gid://shopify/Customer/1",
        "gid://shopify/Shop/1",
        "gid://other/Product/1005",
        "\u{202e}dlrow",
        "\u{0}",
        "line\nbreak",
        "köln-ß-漢字-🛒",
    ]
    .map(str::to_owned)
    .into();
    ids.push("long".repeat(500));
    ids
}

/// Nobody's identifier finds anything, fails anything, or becomes a question of its own.
pub(super) fn identifiers_of_nobody_find_nothing(subject: &Subject) {
    for shopper in subject.shoppers() {
        for foreign in foreign() {
            let said = shopper.call("get_product", None, &json!({ "id": foreign, "context": context() }));
            came_to_nothing(&said);
            let said = shopper.call(
                "lookup_catalog",
                None,
                &json!({ "ids": [foreign, subject.goods.plenty[0]], "context": context() }),
            );
            if said.failure.is_some() {
                came_to_nothing(&said);
                continue;
            }
            let answer = said.document();
            assert_eq!(elements(&answer["products"]).len(), 1, "{foreign:?}: {answer}");
            // A shop whose API ignores the condition on codes has others that nobody has looked at.
            let told = |message: &&Value| ["not_found", "not_checked"].iter().any(|code| message["code"] == *code);
            let missing = elements(&answer["messages"]).iter().filter(told);
            assert_eq!(missing.count(), 1, "{foreign:?}: {answer}");
        }
    }
}

/// Nor can it be bought, nor is there a cart or an order of that name.
pub(super) fn identifiers_of_nobody_are_not_sold(subject: &Subject) {
    for shopper in subject.shoppers() {
        for foreign in foreign() {
            let said = shopper.call(
                "create_cart",
                None,
                &json!({ "line_items": lines(&[(&foreign, 1)]), "context": context() }),
            );
            let bought = said.failure.is_none()
                && said.document().get("line_items").is_some_and(|lines| {
                    elements(lines).iter().any(|line| line["quantity"] != 0 && amount(&price(line)) > 0)
                });
            assert!(!bought, "{foreign:?}: {said:?}");
        }
        // In a path these are written as addresses are.
        for written in ["nothing", "%00", "%2e%2e%2f", "gid:%2f%2fshopify%2fCart%2f1%3fkey=1", "%F0%9F%9B%92", "%ff"] {
            for operation in ["get_cart", "get_checkout", "cancel_cart", "cancel_checkout"] {
                came_to_nothing(&shopper.call(operation, Some(written), &json!({})));
            }
        }
    }
}

fn price(line: &Value) -> Value {
    json!({ "amount": line["item"]["price"], "currency": "USD" })
}

/// Searches for the words as they are, whatever they mean in the shop's own query language.
pub(super) fn words_are_only_words(subject: &Subject) {
    for shopper in subject.shoppers() {
        for words in [
            "zzxqjvw",
            "tag:* OR title:*",
            "\"unclosed",
            "(((",
            "a:b:c AND NOT -",
            "\\",
            "*",
            "\u{202e}\u{200b}",
            "漢字 🛒",
            "' OR 1=1 --",
        ] {
            let answer = asked(&shopper, "search_catalog", json!({ "query": words, "pagination": { "limit": 5 } }));
            assert!(elements(&answer["products"]).len() <= 5, "{words}: {answer}");
        }
        let answer = asked(&shopper, "search_catalog", json!({ "query": "zzxqjvw" }));
        assert!(elements(&answer["products"]).is_empty(), "{answer}");
    }
}

/// The location of a buyer may be unknown to the shop; requests succeed nevertheless.
pub(super) fn a_buyer_may_be_anywhere(subject: &Subject) {
    for shopper in subject.shoppers() {
        for place in [
            json!({ "address_country": "AQ" }),
            json!({ "address_country": "ZZ", "language": "tlh" }),
            json!({ "currency": "XXX" }),
            json!({ "currency": "JPY", "language": "zh-Hant-TW" }),
            json!({ "language": "not a language" }),
            json!({ "address_country": "US", "unknown": { "kept": 1 } }),
            json!({}),
        ] {
            for (operation, payload) in [
                ("search_catalog", json!({ "query": subject.goods.word, "context": place })),
                ("lookup_catalog", json!({ "ids": [subject.goods.plenty[0]], "context": place })),
                ("get_product", json!({ "id": subject.goods.choices, "context": place })),
                ("create_cart", json!({ "line_items": lines(&[(subject.goods.plenty[0], 1)]), "context": place })),
            ] {
                let said = shopper.call(operation, None, &payload);
                if said.failure.is_some() {
                    // Words that are no country or language at all are told apart from unknown ones.
                    assert_eq!(said.refusal().0, "invalid_request", "{operation} {place}");
                    continue;
                }
                let document = said.document();
                if operation == "create_cart" {
                    assert!(!id(&document).is_empty(), "{document}");
                }
            }
        }
    }
}
