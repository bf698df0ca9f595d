//! Masking: what tells who a buyer is, opens a page of theirs, or pays, is replaced before a record is written.

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

/// Masks a document in place. The text of an MCP result repeats its structured content and is masked as a whole.
pub(crate) fn mask(document: &mut Value) {
    match document {
        Value::Object(members) => {
            let is_text = members.get("type").is_some_and(|kind| kind == "text");
            for (name, value) in members.iter_mut() {
                if SUBJECTS.contains(&name.as_str()) || (is_text && name == "text") {
                    blank(value);
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
        _ => {}
    }
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
}
