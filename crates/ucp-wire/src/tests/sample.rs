//! Carts, checkouts and orders that have everything.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use ucp_core::{
    cart, checkout,
    message::{Message, Severity},
    order,
    purchase::payment::Declaration,
};

/// Value that must never appear anywhere.
pub(super) const CANARY: &str = "tok_canary_4111111111111111";

fn address() -> Value {
    json!({
        "street_address": "123 Main St", "address_locality": "Springfield", "address_region": "IL",
        "postal_code": "62701", "address_country": "US", "gate": "green",
    })
}

fn draft() -> Value {
    json!({
        "line_items": [{ "id": "li_1", "item": "small", "quantity": 2, "parent_id": null }],
        "buyer": {
            "first_name": "Jane", "email": "jane@example.com", "nickname": "J",
            "consent": { "marketing": { "granted": true }, "sale_of_data": { "granted": false } },
        },
        "context": { "country": "US", "region": "IL", "postal_code": "62701", "languages": ["en"], "currency": "USD",
            "eligibility": ["com.example.member"] },
        "context_stated": { "address_country": "US", "currency": "USD", "eligibility": ["com.example.member"] },
        "codes": ["SAVE10", "BOGUS"],
        "fulfillment": null,
        "instruments": [{
            "id": "pi_1", "handler_id": "sandbox", "kind": "card", "selected": true, "billing_address": address(),
            "display": { "brand": "Visa", "last_digits": "4242", "expiry_month": 12, "expiry_year": 2030 },
        }],
        "attribution": { "utm_source": "agent" },
    })
}

fn lines() -> Value {
    json!([{
        "id": "li_1",
        "item": {
            "id": "small", "title": "Olive oil – 500 ml", "price": 1000, "image_url": "https://shop.example/oil.png",
            "needs_fulfillment": true, "weight_grams": 500,
        },
        "quantity": 2,
        "totals": [
            { "kind": "subtotal", "amount": 2000 },
            { "kind": "items_discount", "amount": -200 },
            { "kind": "total", "amount": 1800 },
        ],
    }])
}

fn totals() -> Value {
    json!([
        { "kind": "subtotal", "amount": 2000 },
        { "kind": "items_discount", "amount": -200 },
        { "kind": "fulfillment", "display_text": "Shipping", "amount": 500 },
        { "kind": "tax", "display_text": "Tax", "amount": 120 },
        { "kind": "fee", "display_text": "Gift wrap", "amount": 100 },
        { "kind": "total", "amount": 2520 },
    ])
}

fn discounts() -> Value {
    json!({
        "codes": ["SAVE10", "BOGUS"],
        "applied": [
            { "code": "SAVE10", "title": "10 % off", "amount": 150, "automatic": false, "method": "across", "priority": 1,
              "allocations": [{ "path": "$.line_items[0]", "amount": 150 }] },
            { "title": "Members", "amount": 50, "automatic": true, "method": "each", "priority": 2,
              "eligibility": "com.example.member", "allocations": [{ "path": "$.line_items[0]", "amount": 50 }] },
        ],
    })
}

fn fulfillment() -> Value {
    let option = |id: &str, amount: i64| {
        json!({
            "id": id, "title": "Standard", "description": "Arrives in 5 to 7 days", "carrier": "Post",
            "earliest": "2026-11-25T00:00:00Z", "latest": "2026-11-27T00:00:00Z",
            "totals": [{ "kind": "subtotal", "amount": amount }, { "kind": "total", "amount": amount }],
        })
    };
    json!({
        "methods": [
            {
                "id": "shipping_1", "kind": "shipping", "line_item_ids": ["li_1"],
                "destinations": [{ "id": "dest_1", "address": address() }],
                "selected_destination_id": "dest_1",
                "groups": [{
                    "id": "group_1", "line_item_ids": ["li_1"], "selected_option_id": "standard",
                    "options": [option("standard", 500), option("express", 1000)],
                }],
            },
            {
                "id": "pickup_1", "kind": "pickup", "line_item_ids": [],
                "destinations": [{ "id": "store_1", "name": "Springfield", "address": address() }],
                "selected_destination_id": null, "groups": [],
            },
        ],
        "available_methods": [{ "kind": "pickup", "line_item_ids": ["li_1"], "fulfillable_on": "now",
            "description": "Ready today" }],
    })
}

fn messages() -> Vec<Message> {
    vec![
        Message::error("missing", "Say who buys.", Severity::Recoverable).at("$.buyer.email"),
        Message::warning("quantity_adjusted", "There are fewer.").at("$.line_items[0].quantity"),
        Message::info("note", "A note."),
    ]
}

fn links() -> Value {
    json!([{ "type": "privacy_policy", "url": "https://shop.example/privacy", "title": "Privacy" }])
}

pub(super) fn cart() -> cart::View {
    let cart = json!({
        "id": "cart_1", "owner": "https://agent.example/", "token": "t", "draft": draft(), "line_items": lines(),
        "lines_ever": 1, "currency": "USD", "totals": totals(), "discounts": discounts(), "messages": [],
        "canceled": false, "created_at": "2026-11-20T10:00:00Z", "expires_at": "2026-12-20T10:00:00Z",
    });
    cart::View {
        cart: serde_json::from_value(cart).expect("a cart"),
        continue_url: Some("https://shop.example/continue/t".to_owned()),
        links: serde_json::from_value::<Vec<_>>(links()).expect("links").into(),
        created: false,
        messages: messages(),
    }
}

pub(super) fn checkout(state: &Value) -> checkout::View {
    let mut checkout = json!({
        "id": "chk_1", "owner": "https://agent.example/", "token": "t", "cart_id": "cart_1", "draft": draft(),
        "line_items": lines(), "lines_ever": 1, "currency": "USD", "totals": totals(), "discounts": discounts(),
        "fulfillment": fulfillment(), "messages": [],
        "created_at": "2026-11-20T10:00:00Z", "expires_at": "2026-11-20T16:00:00Z",
    });
    let members = checkout.as_object_mut().expect("an object");
    members.extend(state.as_object().cloned().unwrap_or_default());
    let checkout: Box<checkout::Checkout> = serde_json::from_value(checkout).expect("a checkout");
    checkout::View {
        status: checkout.status(),
        action: None,
        checkout,
        continue_url: Some("https://shop.example/continue/t".to_owned()),
        permalink_url: Some("https://shop.example/order/t".to_owned()),
        handlers: Arc::new([handler()]),
        links: serde_json::from_value::<Vec<_>>(links()).expect("links").into(),
        created: false,
        messages: messages(),
    }
}

pub(super) fn handler() -> Declaration {
    Declaration {
        name: "com.example.sandbox".to_owned(),
        id: "sandbox".to_owned(),
        version: "2026-01-11".to_owned(),
        spec: "https://pay.example/spec".to_owned(),
        schema: "https://pay.example/schema.json".to_owned(),
        instruments: vec!["card".to_owned(), "wallet".to_owned()],
        config: Map::from_iter([("environment".to_owned(), json!("test"))]),
    }
}

pub(super) fn order() -> order::View {
    let order = json!({
        "id": "ord_1", "label": "#1", "token": "t", "owner": "https://agent.example/", "checkout_id": "chk_1",
        "line_items": [{
            "id": "li_1", "item": lines()[0]["item"], "original": 2, "total": 2, "fulfilled": 1,
            "totals": lines()[0]["totals"],
        }],
        "currency": "USD", "totals": totals(),
        "expectations": [
            { "id": "exp_1", "line_items": [{ "id": "li_1", "quantity": 2 }], "method": "shipping",
              "destination": address(), "description": "Arrives soon", "fulfillable_on": "now" },
            { "id": "exp_2", "line_items": [{ "id": "li_1", "quantity": 1 }], "method": null, "destination": {} },
        ],
        "events": [{ "id": "ev_1", "occurred_at": "2026-11-21T10:00:00Z", "kind": "shipped",
            "line_items": [{ "id": "li_1", "quantity": 1 }], "tracking_number": "1Z",
            "tracking_url": "https://post.example/1Z", "carrier": "Post", "description": "On its way" }],
        "adjustments": [{ "id": "adj_1", "kind": "refund", "occurred_at": "2026-11-22T10:00:00Z", "status": "completed",
            "line_items": [{ "id": "li_1", "quantity": -1 }],
            "totals": [{ "kind": "total", "amount": -900 }], "description": "Broken" }],
        "attribution": { "utm_source": "agent" },
        "payment": { "handler_id": "sandbox", "attempt_id": "pay_1", "reference": "r" },
        "placed_at": "2026-11-20T11:00:00Z",
    });
    order::View {
        order: serde_json::from_value(order).expect("an order"),
        permalink_url: "https://shop.example/order/t".to_owned(),
        messages: vec![Message::info("note", "A note.")],
    }
}

/// The order that a completed checkout names.
pub(super) fn completed() -> Value {
    json!({ "status": "completed", "order": { "id": "ord_1", "label": "#1", "token": "t" } })
}
