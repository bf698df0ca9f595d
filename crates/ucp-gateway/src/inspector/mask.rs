//! Masking: what tells who a buyer is, opens a page of theirs, or pays, is replaced before a record is written.

use std::{borrow::Cow, ops::RangeInclusive};

use serde_json::Value;

/// What stands for a value that was masked.
const MASKED: &str = "•••";

/// Members of which every value is masked, however deep.
const SUBJECTS: [&str; 14] = [
    "ap2",
    "buyer",
    "credential",
    "credentials",
    "customer",
    "destination",
    "destinations",
    "display",
    "mandate",
    "merchant_authorization",
    "origin",
    "payment_data",
    "signals",
    "signature",
];

/// Members whose own value is masked.
const VALUES: [&str; 23] = [
    "address_locality",
    "address_region",
    "authorization",
    "billing_address",
    "checkout_mandate",
    "continue_url",
    "email",
    "extended_address",
    "first_name",
    "full_name",
    "idempotency-key",
    "idempotency_key",
    "ip",
    "last_name",
    "payment_mandate",
    "permalink_url",
    "phone_number",
    "postal_code",
    "query",
    "street_address",
    "token",
    "tracking_number",
    "tracking_url",
];

/// Members of a payment whose values are kept.
const OF_PAYMENTS: [&str; 2] = ["handler_id", "type"];

/// Numbers of digits that a card may have.
const CARD_DIGITS: RangeInclusive<usize> = 12..=19;

/// Query parameters whose values are kept.
const PARAMETERS: [&str; 1] = ["view"];

/// Masks the path and query of a request: e-mail addresses in its parts, and the values of parameters that are not known.
pub(super) fn masked_path(path: &str) -> String {
    let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
    let address = |part: &str| part.contains('@') || part.to_ascii_lowercase().contains("%40");
    let parts: Vec<_> = path.split('/').map(|part| if address(part) { MASKED } else { part }).collect();
    let pair = |pair: &str| match pair.split_once('=') {
        Some((name, _)) if !PARAMETERS.contains(&name) => {
            format!("{}={MASKED}", if address(name) { MASKED } else { name })
        }
        None if address(pair) => MASKED.to_owned(),
        _ => pair.to_owned(),
    };
    let query: Option<Vec<_>> = query.map(|query| query.split('&').map(pair).collect());
    parts.join("/") + &query.map_or_else(String::new, |query| format!("?{}", query.join("&")))
}

/// Replaces the e-mail addresses in a text: what stands around an `@` up to white space, quotes and brackets.
pub(super) fn without_addresses(text: &str) -> Cow<'_, str> {
    if !text.contains('@') {
        return Cow::Borrowed(text);
    }
    let is_edge = |character: char| character.is_whitespace() || "\"'`<>()[]{},;:/\\".contains(character);
    let words = text.split_inclusive(is_edge).map(|word| {
        let edge = word
            .chars()
            .next_back()
            .filter(|last| is_edge(*last))
            .map_or("", |last| &word[word.len() - last.len_utf8()..]);
        let is_address = word
            .trim_end_matches(is_edge)
            .split_once('@')
            .is_some_and(|(name, host)| !name.is_empty() && host.contains('.'));
        if is_address { format!("{MASKED}{edge}") } else { word.to_owned() }
    });
    Cow::Owned(words.collect())
}

/// Masks a document in place. The text of an MCP result repeats its structured content and is masked as a whole.
pub(crate) fn mask(document: &mut Value) {
    match document {
        Value::Object(members) => {
            let is_text = members.get("type").is_some_and(|kind| kind == "text");
            for (name, value) in members.iter_mut() {
                if SUBJECTS.contains(&name.as_str()) || (is_text && name == "text") {
                    blank(value);
                } else if name == "payment" {
                    mask_payment(value);
                } else if VALUES.contains(&name.as_str()) {
                    match value {
                        Value::Object(_) | Value::Array(_) => blank(value),
                        _ => *value = MASKED.into(),
                    }
                } else {
                    mask(value);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(mask),
        // Wherever else a card or an address stands, as under a name that was misspelt.
        Value::String(text) if has_card(text) => *document = MASKED.into(),
        Value::String(text) => {
            if let Cow::Owned(masked) = without_addresses(text) {
                *text = masked;
            }
        }
        Value::Number(number) if has_card(&number.to_string()) => *document = MASKED.into(),
        _ => {}
    }
}

/// Masks a payment in place, whatever stands where it should: what it is for stays, and nothing that pays.
fn mask_payment(document: &mut Value) {
    match document {
        Value::Object(members) => {
            for (name, value) in members.iter_mut() {
                if OF_PAYMENTS.contains(&name.as_str()) && value.is_string() {
                    mask(value);
                } else {
                    mask_payment(value);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(mask_payment),
        other => blank(other),
    }
}

/// Returns `true` if a text has a number that may be that of a card: 12 to 19 digits, with spaces or hyphens between them,
/// of which the last checks the others (ISO/IEC 7812-1).
fn has_card(text: &str) -> bool {
    let runs = text.split(|character: char| !character.is_ascii_digit() && !matches!(character, ' ' | '-'));
    runs.filter(|run| run.len() >= *CARD_DIGITS.start()).any(|run| {
        let digits: Vec<u32> = run.chars().filter_map(|character| character.to_digit(10)).collect();
        let doubled = |digit: u32| if digit > 4 { 2 * digit - 9 } else { 2 * digit };
        let sum = |digits: &[u32]| -> u32 {
            let places = digits.iter().rev().enumerate();
            places.map(|(place, digit)| if place % 2 == 1 { doubled(*digit) } else { *digit }).sum()
        };
        CARD_DIGITS.contains(&digits.len()) && sum(&digits).is_multiple_of(10)
    })
}

/// Masks every value of a document, and leaves its form.
fn blank(document: &mut Value) {
    match document {
        Value::Object(members) => members.values_mut().for_each(blank),
        Value::Array(elements) => elements.iter_mut().for_each(blank),
        Value::Null => {}
        value => *value = MASKED.into(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn nothing_of_a_buyer_is_left_and_the_rest_is() {
        let secret = ["bea@example.com", "Bea", "1 Main St", "97401", "tok_1", "blue shoes", "a211b75c"];
        let mut document = json!({
            "jsonrpc": "2.0",
            "params": { "arguments": { "meta": { "idempotency-key": "tok_1" }, "catalog": { "query": "blue shoes" } } },
            "id": "chk_1", "status": "incomplete", "buyer": { "email": "bea@example.com", "first_name": "Bea" },
            "fulfillment": { "methods": [{ "id": "shipping_1", "destinations": [{ "street_address": "1 Main St", "postal_code": "97401" }],
                "groups": [{ "id": "package_1", "options": [{ "title": "Standard" }] }] }] },
            "payment": { "instruments": [{ "handler_id": "sandbox", "credential": { "token": "tok_1" } }] },
            "continue_url": "https://shop.example/continue/a211b75c",
            "content": [{ "type": "text", "text": "{\"buyer\":{\"first_name\":\"Bea\"}}" }],
            "totals": [{ "type": "total", "amount": 12_000 }],
        });
        mask(&mut document);
        let text = document.to_string();
        for secret in secret {
            assert!(!text.contains(secret), "{secret} in {text}");
        }
        for kept in ["chk_1", "shipping_1", "package_1", "Standard", "sandbox", "12000"] {
            assert!(text.contains(kept), "{kept} in {text}");
        }
        assert_eq!(document["buyer"], json!({ "email": MASKED, "first_name": MASKED }));
    }

    #[test]
    fn what_pays_is_masked_wherever_it_stands() {
        let card = "4111111111111111";
        let mut document = json!({
            "one": { "payment": card },
            "two": { "payment": { "instruments": [{ "id": "tok_1", "handler_id": "sandbox", "type": "card", "last": 7 }] } },
            "three": { "note": "card 4111-1111 1111 1111, 12/30", "number": 4_111_111_111_111_111_u64 },
            "four": { "gtin": "4111111111111112", "at": "2026-11-26T14:56:31Z", "type": card },
        });
        mask(&mut document);
        let expected = json!({
            "one": { "payment": MASKED },
            "two": { "payment": { "instruments": [{ "id": MASKED, "handler_id": "sandbox", "type": "card", "last": MASKED }] } },
            "three": { "note": MASKED, "number": MASKED },
            "four": { "gtin": "4111111111111112", "at": "2026-11-26T14:56:31Z", "type": MASKED },
        });
        assert_eq!(document, expected);
    }

    #[test]
    fn addresses_are_masked_wherever_they_stand() {
        let mut document =
            json!({ "emial": "bea@example.com", "note": ["Gift for <bea@example.com>, soon"], "at": "@ 5 @home" });
        mask(&mut document);
        let expected = json!({ "emial": MASKED, "note": ["Gift for <•••>, soon"], "at": "@ 5 @home" });
        assert_eq!(document, expected);
        for (path, expected) in [
            ("/carts/cart_1", "/carts/cart_1"),
            ("/carts/cart_1?view=compact", "/carts/cart_1?view=compact"),
            ("/carts/cart_1?email=bea%40example.com&view=compact&x", "/carts/cart_1?email=•••&view=compact&x"),
            ("/carts/bea@example.com/x?bea@example.com", "/carts/•••/x?•••"),
            ("/carts/bea%40example.com?", "/carts/•••?"),
        ] {
            assert_eq!(masked_path(path), expected);
        }
    }
}
