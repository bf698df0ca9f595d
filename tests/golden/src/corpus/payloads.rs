//! Payloads of more than one scene.

use serde_json::{Value, json};

/// An address in the state that the sample shops tax nothing in.
pub(crate) fn address() -> Value {
    json!({
        "street_address": "1 Main St", "address_locality": "Springfield", "address_region": "OR",
        "postal_code": "97477", "address_country": "US",
    })
}

/// Lines of a request.
pub(crate) fn lines(goods: &[(&str, u64)]) -> Value {
    goods.iter().map(|(item, quantity)| json!({ "item": { "id": item }, "quantity": quantity })).collect()
}

/// A delivery to an address.
pub(crate) fn shipping(destination: &Value) -> Value {
    json!({ "methods": [{ "type": "shipping", "destinations": [destination] }] })
}

/// Everything that a checkout needs.
pub(crate) fn ready(goods: &[(&str, u64)]) -> Value {
    json!({
        "line_items": lines(goods),
        "buyer": { "email": "buyer@example.com", "first_name": "Bea" },
        "fulfillment": shipping(&address()),
    })
}

/// The same with more members.
pub(crate) fn with(mut document: Value, more: &Value) -> Value {
    if let (Some(members), Some(more)) = (document.as_object_mut(), more.as_object()) {
        members.extend(more.clone());
    }
    document
}

/// Payment, in the form of a version.
pub(crate) fn paying(release: &str, token: &str) -> Value {
    paying_by(release, "mock_payment_handler", &json!({ "type": "token", "token": token }))
}

/// Payment with a handler and a credential.
pub(crate) fn paying_by(release: &str, handler: &str, credential: &Value) -> Value {
    if release == "2026-01-11" {
        return json!({ "payment_data": {
            "id": "instrument_1", "handler_id": handler, "type": "card", "brand": "visa", "last_digits": "1111",
            "credential": credential,
        } });
    }
    json!({ "payment": { "instruments": [{
        "id": "instrument_1", "handler_id": handler, "type": "card", "selected": true,
        "display": { "brand": "visa", "last_digits": "1111" }, "credential": credential,
    }] } })
}

/// A search with every member that it may have.
pub(crate) fn whole_search() -> Value {
    json!({
        "query": "shoes",
        "filters": {
            "categories": ["Footwear"], "price": { "min": 1, "max": 50_000 }, "available": true,
        },
        "context": {
            "language": "en", "currency": "USD", "address_country": "US", "address_region": "CA", "postal_code": "90001",
            "intent": "a walk", "eligibility": ["com.example.member"],
        },
        "signals": { "dev.ucp.buyer_ip": "203.0.113.7", "dev.ucp.user_agent": "golden" },
        "attribution": { "utm_source": "agent" },
        "pagination": { "limit": 3 },
    })
}

/// A lookup with every member that it may have.
pub(crate) fn whole_lookup() -> Value {
    let mut whole = whole_search();
    let members = whole.as_object_mut().expect("an object");
    members.remove("query");
    members.remove("pagination");
    with(whole, &json!({ "ids": ["prod_abc123", "TMX-GRN-11"] }))
}

/// A product page with every member that its request may have.
pub(crate) fn whole_product() -> Value {
    let mut whole = whole_lookup();
    whole.as_object_mut().expect("an object").remove("ids");
    with(
        whole,
        &json!({
            "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Blue" }], "preferences": ["Color", "Size"],
        }),
    )
}

/// A cart with every member that it may have.
pub(crate) fn whole_cart(item: &str) -> Value {
    json!({
        "line_items": [{ "id": "li_1", "item": { "id": item, "title": "Anything", "price": 1 }, "quantity": 2 }],
        "buyer": { "email": "buyer@example.com", "first_name": "Bea", "last_name": "Buyer", "phone_number": "+15550100" },
        "context": { "address_country": "US", "address_region": "CA", "postal_code": "90001", "currency": "USD", "language": "en" },
        "discounts": { "codes": ["WELCOME10"] },
        "signals": { "dev.ucp.buyer_ip": "203.0.113.7" },
        "attribution": { "utm_source": "agent" },
        "com.example.own": { "kept": false },
    })
}

/// A checkout with every member that it may have.
pub(crate) fn whole_checkout(item: &str) -> Value {
    with(
        whole_cart(item),
        &json!({
            "currency": "USD",
            "fulfillment": { "methods": [{
                "id": "shipping_1", "type": "shipping", "line_item_ids": ["li_1"], "selected_destination_id": "home",
                "destinations": [{
                    "id": "home", "first_name": "Bea", "last_name": "Buyer", "street_address": "1 Main St",
                    "extended_address": "Flat 2", "address_locality": "Los Angeles", "address_region": "CA",
                    "postal_code": "90001", "address_country": "US", "phone_number": "+15550100",
                }],
                "groups": [{ "id": "package_1", "line_item_ids": ["li_1"], "selected_option_id": "express" }],
            }] },
        }),
    )
}
