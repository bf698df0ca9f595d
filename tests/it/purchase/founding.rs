//! The checkout over MCP as the founding documents of the project describe it: every example works, and its answer has
//! every member that the document shows.

use serde_json::{Value, json};
use ucp_core::Release;

use super::shopper::{Shopper, id, total};
use crate::{
    harness::{Ends as _, Gateway, Lent, Shared, binary, elements, rpc, sample_shop},
    setup::Transport,
};

/// The profile that the examples name.
const PROFILE: &str = "https://platform.example/profiles/v2026-01/shopping-agent.json";

/// The product of the examples, and how it is sent.
const JEANS: &str = r#"{"id":"prod_jeans","handle":"blue-jeans","title":"Blue Jeans","description":{"plain":"Jeans."},
    "variants":[{"id":"item_123","sku":"J1","title":"Blue Jeans","description":{"plain":"The only ones."},
    "price":{"amount":5000,"currency":"USD"}}]}"#;

/// A shop that sells them.
fn shop() -> Lent<Gateway> {
    static SHARED: Shared<Gateway> = Shared::new();
    SHARED.get(|| {
        // The sample's terms say how things are sent.
        let data = sample_shop();
        let file = data.path().join("jeans.jsonl");
        std::fs::write(&file, JEANS.replace('\n', " ")).expect("a file");
        let imported = binary().arg("import").arg(&file).arg("--data-dir").arg(data.path()).ends();
        assert!(imported.status.success(), "{imported:?}");
        Gateway::on(data.path(), &[]).keeping(data)
    })
}

fn message(id: u64, method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": method, "params": params, "id": id })
}

/// The parameters of the examples that create and update a checkout, as they stand there.
fn stated(methods: &Value) -> Value {
    json!({
        "_meta": { "ucp": { "profile": PROFILE } },
        "buyer": { "email": "jane.doe@example.com", "first_name": "Jane", "last_name": "Doe" },
        "line_items": [{ "item": { "id": "item_123" }, "quantity": 1 }],
        "currency": "USD",
        "fulfillment": { "methods": methods },
    })
}

/// Calls at the endpoint of the release that the document names, and at the root.
fn result(gateway: &Gateway, root: bool, message: &Value) -> Value {
    let response = if root { gateway.rpc(message) } else { gateway.rpc_of(Release::V2026_01_11, message) };
    assert_eq!(response.status, 200, "{response:?}");
    let answer = response.json();
    assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &message["id"]));
    answer["result"].clone()
}

/// Checks that `answer` has every field of `shown`, and lists at least as long.
#[track_caller]
fn shows(answer: &Value, shown: &Value, path: &str) {
    match shown {
        Value::Object(members) => {
            for (name, member) in members {
                let own = answer.get(name).unwrap_or_else(|| panic!("{path}.{name} of {answer}"));
                shows(own, member, &format!("{path}.{name}"));
            }
        }
        Value::Array(elements) => {
            for (place, element) in elements.iter().enumerate() {
                let own = answer.get(place).unwrap_or_else(|| panic!("{path}[{place}] of {answer}"));
                shows(own, element, &format!("{path}[{place}]"));
            }
        }
        _ => {
            assert_eq!(std::mem::discriminant(answer), std::mem::discriminant(shown), "{path} of {answer}");
        }
    }
}

/// The answer of the examples; what is the shop's own choice there, names and prices of deliveries above all, is only
/// looked at for being there.
fn shown(option: &str) -> Value {
    let money = |amount: u64| json!([{ "type": "total", "amount": amount }]);
    json!({
        "ucp": {
            "version": "2026-01-11",
            "capabilities": {
                "dev.ucp.shopping.checkout": [{ "version": "2026-01-11" }],
                "dev.ucp.shopping.fulfillment": [{ "version": "2026-01-11" }]
            },
            "payment_handlers": {}
        },
        "id": "checkout_abc123",
        "status": "incomplete",
        "buyer": { "email": "jane.doe@example.com", "first_name": "Jane", "last_name": "Doe" },
        "line_items": [{
            "id": "item_123",
            "item": { "id": "item_123", "title": "Blue Jeans", "price": 5000 },
            "quantity": 1,
            "totals": [{ "type": "subtotal", "amount": 5000 }, { "type": "total", "amount": 5000 }]
        }],
        "currency": "USD",
        "totals": [
            { "type": "subtotal", "amount": 5000 },
            { "type": "fulfillment", "display_text": "Shipping", "amount": 500 },
            { "type": "total", "amount": 5500 }
        ],
        "fulfillment": { "methods": [{
            "id": "shipping_1", "type": "shipping", "line_item_ids": ["item_123"], "selected_destination_id": "dest_home",
            "destinations": [{
                "id": "dest_home", "street_address": "123 Main St", "address_locality": "Springfield",
                "address_region": "IL", "postal_code": "62701", "address_country": "US"
            }],
            "groups": [{
                "id": "package_1", "line_item_ids": ["item_123"], "selected_option_id": option,
                "options": [
                    { "id": "standard", "title": "Standard Shipping", "totals": money(500) },
                    { "id": "express", "title": "Express Shipping", "totals": money(1000) }
                ]
            }]
        }] },
        "links": [
            { "type": "privacy_policy", "url": "https://business.example.com/privacy" },
            { "type": "terms_of_service", "url": "https://business.example.com/terms" }
        ],
        "continue_url": "https://business.example.com/checkout-sessions/checkout_abc123",
        "expires_at": "2026-01-11T18:30:00Z"
    })
}

#[test]
fn d4_every_example_of_the_checkout_over_mcp_works() {
    let gateway = shop();
    let mut create = stated(&json!([{
        "type": "shipping",
        "destinations": [{
            "street_address": "123 Main St", "address_locality": "Springfield", "address_region": "IL",
            "postal_code": "62701", "address_country": "US"
        }]
    }]));
    create["idempotency_key"] = json!("550e8400-e29b-41d4-a716-446655440000");
    let created = result(&gateway, false, &message(1, "create_checkout", &create));
    shows(&created, &shown("standard"), "$");
    let line = &created["line_items"][0];
    assert_eq!((&line["item"]["title"], &line["item"]["price"]), (&json!("Blue Jeans"), &json!(5000)));
    // The key makes the same call again the same call.
    assert_eq!(result(&gateway, false, &message(1, "create_checkout", &create)), created);

    // The update names what the answer named: the line is meant by what it is about, the method by its number.
    let method = &created["fulfillment"]["methods"][0];
    let mut update = stated(&json!([{
        "id": method["id"],
        "line_item_ids": method["line_item_ids"],
        "groups": [{ "id": method["groups"][0]["id"], "selected_option_id": "express" }]
    }]));
    update["id"] = created["id"].clone();
    let updated = result(&gateway, false, &message(2, "update_checkout", &update));
    shows(&updated, &shown("express"), "$");
    let chosen = &updated["fulfillment"]["methods"][0];
    assert_eq!(chosen["groups"][0]["selected_option_id"], "express");
    assert_eq!(chosen["destinations"], method["destinations"], "where to was said before");
    let option = elements(&chosen["groups"][0]["options"]).iter().find(|option| option["id"] == "express");
    let price = elements(&option.expect("the option")["totals"]).iter().find(|total| total["type"] == "total");
    assert_eq!(json!(total(&updated, "fulfillment")), price.expect("a price")["amount"]);

    let by_id = json!({ "_meta": { "ucp": { "profile": PROFILE } }, "id": created["id"] });
    assert_eq!(result(&gateway, false, &message(3, "get_checkout", &by_id)), updated);

    // `checkout` as the text has it, and `payment` as the schema of the release.
    let handlers = created["ucp"]["payment_handlers"].as_object().expect("handlers");
    let handler = &handlers.values().next().expect("a handler")[0]["id"];
    let instrument = json!({ "id": "i", "handler_id": handler, "type": "card", "brand": "visa", "last_digits": "1111",
        "credential": { "type": "token", "token": "success_token" } });
    let mut complete = by_id.clone();
    complete["idempotency_key"] = json!("550e8400-e29b-41d4-a716-446655440001");
    complete["checkout"] = json!({ "payment_data": instrument });
    let completed = result(&gateway, false, &message(4, "complete_checkout", &complete));
    assert_eq!(completed["status"], "completed", "{completed}");
    let order = completed["order"].as_object().expect("an order");
    assert_eq!(order.keys().collect::<Vec<_>>(), ["id", "permalink_url"], "a partial order");

    let another = result(&gateway, false, &message(5, "create_checkout", &stated(&json!([]))));
    let mut cancel = json!({ "_meta": { "ucp": { "profile": PROFILE } }, "id": another["id"] });
    cancel["idempotency_key"] = json!("550e8400-e29b-41d4-a716-446655440002");
    assert_eq!(result(&gateway, false, &message(6, "cancel_checkout", &cancel))["status"], "canceled");
}

/// The same framing at the root, where the newest release is spoken: everything flat, the result bare.
#[test]
fn d4_the_framing_works_at_the_root_too() {
    let gateway = shop();
    let created = result(&gateway, true, &message(1, "create_checkout", &stated(&json!([{ "type": "shipping" }]))));
    assert_eq!(created["ucp"]["version"], Release::NEWEST.date());
    let by_id = json!({ "_meta": { "ucp": { "profile": PROFILE } }, "id": id(&created) });
    assert_eq!(result(&gateway, true, &message(2, "get_checkout", &by_id)), created);
}

/// "MUST be present in every MCP tool invocation", and the key where it is required.
#[test]
fn d4_what_must_be_there_is_asked_for() {
    let gateway = shop();
    let mut anonymous = stated(&json!([]));
    anonymous.as_object_mut().expect("an object").shift_remove("_meta");
    let requiring = Gateway::with(&["--policy", "require"]);
    let response = requiring.rpc_of(Release::V2026_01_11, &rpc("create_checkout", &anonymous));
    assert_eq!((response.status, &response.json()["error"]["data"]["code"]), (400, &json!("invalid_profile_url")));
    let shopper = Shopper::new(&gateway, Release::V2026_01_11, Transport::Method).named(PROFILE);
    let checkout = shopper.create(&json!({ "line_items": [{ "item": { "id": "item_123" }, "quantity": 1 }] }));
    for operation in ["complete_checkout", "cancel_checkout"] {
        let said = shopper.keyed(None, operation, Some(id(&checkout)), &shopper.paying("success_token"));
        let (code, content, _) = said.refusal();
        assert_eq!((said.status, code.as_str()), (400, "invalid_request"), "{content}");
        assert_eq!(said.failure.expect("a failure")["code"], -32602);
    }
}

/// Errors have the form that the document shows.
#[test]
fn d4_errors_are_json_rpc_errors_with_ucp_codes() {
    let gateway = shop();
    let params = json!({ "_meta": { "ucp": { "profile": PROFILE } }, "line_items": [{ "item": { "id": "sku_999" }, "quantity": 1 }] });
    let answer = gateway.rpc_of(Release::V2026_01_11, &rpc("create_checkout", &params)).json();
    let error = &answer["error"];
    assert_eq!((&error["code"], &error["data"]["status"]), (&json!(-32603), &json!("error")), "{answer}");
    let first = &error["data"]["errors"][0];
    assert_eq!(first["code"], "item_unavailable");
    assert!(first["message"].as_str().is_some_and(|text| text.contains("sku_999")), "{answer}");
    assert!(["recoverable", "requires_buyer_input"].contains(&first["severity"].as_str().expect("a severity")));
}
