//! Decisions of the shop about requests: stock, codes, deliveries, taxes, consent, terms.

use serde_json::{Value, json};

use super::{
    id,
    payloads::{address, lines, paying, ready, shipping, whole_cart, whole_checkout, with},
    purchase::Shopper,
};
use crate::{
    Done,
    operation::{Caller, Way, endpoints},
    process::Gateway,
    stage::{Setup, Stage},
};

/// Plays requests of all kinds in both sample shops.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let flowers = stage.start(&Setup::new(""))?;
    let outfitters = stage.start(&Setup::new("").outfitters())?;
    for (shop, gateway, item, other) in [
        ("flowers", &flowers, "pot_ceramic", "bouquet_roses"),
        ("outfitters", &outfitters, "var_abc123_red_10", "var_def456_green_9"),
    ] {
        for endpoint in endpoints() {
            for way in [Way::Rest, Way::Tool, Way::Flat] {
                let shopper = Shopper::new(gateway, Caller::new(endpoint, way), &format!("/{shop}"));
                every(stage, &shopper, item, other);
            }
        }
    }
    Ok(())
}

fn every(stage: &mut Stage<'_>, shopper: &Shopper<'_>, item: &str, other: &str) {
    for (label, payload) in checkouts(item, other) {
        let checkout = shopper.step(stage, "create_checkout", label, None, &payload);
        if label.starts_with("delivery") || label.starts_with("code") {
            shopper.step(stage, "update_checkout", label, Some(&id(&checkout)), &payload);
        }
        if label.starts_with("split") {
            let paid = paying(shopper.release, "success_token");
            let paid = shopper.step(stage, "complete_checkout", label, Some(&id(&checkout)), &paid);
            shopper.step(stage, "get_order", label, Some(super::text(&paid, "/order/id")), &json!({}));
        }
    }
    for (label, payload) in carts(item, other) {
        shopper.step(stage, "create_cart", label, None, &payload);
    }
    // An update replaces everything.
    let whole = with(ready(&[(item, 1), (other, 1)]), &json!({ "discounts": { "codes": ["10OFF"] } }));
    let checkout = id(&shopper.step(stage, "create_checkout", "replace", None, &whole));
    for (step, payload) in [
        ("bare", json!({ "line_items": lines(&[(item, 2)]) })),
        ("whole-again", whole),
        ("no-lines", json!({ "line_items": [] })),
        ("cart-of-nobody", json!({ "cart_id": "cart_nothing", "line_items": [] })),
        ("line-unknown", json!({ "line_items": [{ "id": "li_9", "item": { "id": item }, "quantity": 1 }] })),
        (
            "line-twice",
            json!({ "line_items": [{ "id": "li_1", "item": { "id": item }, "quantity": 1 }, { "id": "li_1", "item": { "id": item }, "quantity": 1 }] }),
        ),
        ("line-swapped", json!({ "line_items": [{ "id": "li_1", "item": { "id": other }, "quantity": 1 }] })),
        ("same-item-twice", json!({ "line_items": lines(&[(item, 1), (item, 2)]) })),
        ("id-in-body", json!({ "id": "chk_other", "line_items": lines(&[(item, 1)]) })),
    ] {
        shopper.step(stage, "update_checkout", &format!("replace/{step}"), Some(&checkout), &payload);
    }
}

fn carts(item: &str, other: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("whole", whole_cart(item)),
        ("no-lines", json!({ "line_items": [] })),
        ("nothing", json!({})),
        ("many", json!({ "line_items": lines(&[(item, 9_000)]) })),
        ("unknown-goods", json!({ "line_items": lines(&[("no_such_thing", 1)]) })),
        ("half-known", json!({ "line_items": lines(&[(item, 1), ("no_such_thing", 1)]) })),
        ("by-product", json!({ "line_items": lines(&[("prod_abc123", 1)]) })),
        (
            "in-yen",
            with(
                json!({ "line_items": lines(&[(item, 1)]) }),
                &json!({ "context": { "currency": "JPY", "address_country": "JP" } }),
            ),
        ),
        (
            "in-california",
            with(
                json!({ "line_items": lines(&[(item, 1), (other, 3)]) }),
                &json!({ "context": { "address_country": "US", "address_region": "CA" } }),
            ),
        ),
        (
            "codes",
            with(
                json!({ "line_items": lines(&[(item, 1)]) }),
                &json!({ "discounts": { "codes": ["WELCOME10", "welcome10", "nope", " 10OFF "] } }),
            ),
        ),
        ("from-cart", json!({ "cart_id": "cart_nothing", "line_items": [] })),
    ]
}

/// Checkouts as label and request.
fn checkouts(item: &str, other: &str) -> Vec<(&'static str, Value)> {
    let more = |more: Value| with(ready(&[(item, 2)]), &more);
    let codes = |codes: Value| more(json!({ "discounts": { "codes": codes } }));
    let to = |destination: Value| more(json!({ "fulfillment": shipping(&with(address(), &destination)) }));
    let methods = |methods: Value| more(json!({ "fulfillment": { "methods": methods } }));
    let buyer = |buyer: Value| more(json!({ "buyer": buyer }));
    let consent = |consent: Value| buyer(json!({ "email": "buyer@example.com", "consent": consent }));
    let of = |goods: &[(&str, u64)]| ready(goods);
    let line = |line: Value| more(json!({ "line_items": [line] }));
    let destinations =
        json!([with(address(), &json!({ "id": "a" })), with(address(), &json!({ "id": "b", "address_region": "CA" }))]);
    vec![
        ("plain", ready(&[(item, 1)])),
        ("whole", whole_checkout(item)),
        ("nothing", json!({})),
        ("only-lines", json!({ "line_items": lines(&[(item, 1)]) })),
        ("no-lines", more(json!({ "line_items": [] }))),
        ("short-goods", of(&[("bouquet_sunflowers", 9_000), ("var_abc123_blue_8", 9_000)])),
        ("out-of-stock", of(&[(item, 1), ("gardenias", 1), ("var_abc123_green_9", 1)])),
        ("only-out-of-stock", of(&[("gardenias", 1)])),
        ("unknown-goods", of(&[(item, 1), ("no_such_thing", 1)])),
        ("only-unknown-goods", of(&[("no_such_thing", 1)])),
        ("hundred-lines", of(&vec![(item, 1); 100])),
        ("many-lines", of(&vec![(item, 1); 600])),
        ("quantity-0", of(&[(item, 0)])),
        ("quantity-negative", line(json!({ "item": { "id": item }, "quantity": -1 }))),
        ("quantity-fraction", line(json!({ "item": { "id": item }, "quantity": 1.5 }))),
        ("quantity-huge", line(json!({ "item": { "id": item }, "quantity": 9_007_199_254_740_993_i64 }))),
        ("quantity-missing", line(json!({ "item": { "id": item } }))),
        ("item-text", line(json!({ "item": item, "quantity": 1 }))),
        (
            "forged",
            line(
                json!({ "item": { "id": item, "price": 1, "title": "Cheap" }, "quantity": 1, "totals": [{ "type": "total", "amount": 1 }] }),
            ),
        ),
        (
            "forged-around",
            more(
                json!({ "status": "completed", "currency": "JPY", "totals": [], "messages": [], "links": [], "ucp": { "version": "2031-01-01" }, "order": { "id": "ord_mine" } }),
            ),
        ),
        ("code-known", codes(json!(["10off"]))),
        ("code-welcome", codes(json!(["WELCOME10"]))),
        ("code-spaces", codes(json!(["  10Off "]))),
        ("code-unknown", codes(json!(["nope"]))),
        ("code-twice", codes(json!(["10OFF", "10off", "WELCOME10", "welcome10"]))),
        ("code-expired", codes(json!(["SUMMER25"]))),
        ("code-of-others", codes(json!(["STAFF30"]))),
        (
            "code-of-staff",
            with(codes(json!(["STAFF30", "WELCOME10"])), &json!({ "buyer": { "email": "staff@example.com" } })),
        ),
        ("code-none", codes(json!([]))),
        ("code-long", codes(json!(["x".repeat(400)]))),
        ("code-many", codes(json!((0..60).map(|number| format!("c{number}")).collect::<Vec<_>>()))),
        (
            "code-applied-forged",
            more(json!({ "discounts": { "codes": [], "applied": [{ "title": "All of it", "amount": 7_000 }] } })),
        ),
        ("delivery-none", json!({ "line_items": lines(&[(item, 1)]), "buyer": { "email": "a@example.com" } })),
        ("delivery-empty", methods(json!([]))),
        ("delivery-bare", methods(json!([{ "type": "shipping" }]))),
        ("delivery-unknown-type", methods(json!([{ "type": "drone" }]))),
        ("delivery-pickup", methods(json!([{ "type": "pickup" }]))),
        ("delivery-pickup-at", methods(json!([{ "type": "pickup", "selected_destination_id": "store" }]))),
        ("delivery-to-california", to(json!({ "address_region": "CA", "postal_code": "90001" }))),
        ("delivery-to-germany", to(json!({ "address_region": "BE", "address_country": "DE", "postal_code": "10115" }))),
        (
            "delivery-to-japan",
            with(to(json!({ "address_country": "JP" })), &json!({ "context": { "currency": "JPY" } })),
        ),
        ("delivery-to-new-zealand", to(json!({ "address_country": "NZ" }))),
        ("delivery-nowhere", to(json!({ "address_country": "??" }))),
        ("delivery-without-country", to(json!({ "address_country": null }))),
        (
            "delivery-half-known",
            more(json!({ "fulfillment": shipping(&json!({ "address_country": "US", "postal_code": "97477" })) })),
        ),
        ("delivery-choice", methods(json!([{ "type": "shipping", "destinations": destinations }]))),
        (
            "delivery-chosen",
            methods(json!([{ "type": "shipping", "destinations": destinations, "selected_destination_id": "b" }])),
        ),
        (
            "delivery-chosen-unknown",
            methods(json!([{ "type": "shipping", "destinations": destinations, "selected_destination_id": "c" }])),
        ),
        (
            "delivery-express",
            methods(
                json!([{ "type": "shipping", "destinations": [address()], "groups": [{ "selected_option_id": "express" }] }]),
            ),
        ),
        (
            "delivery-option-unknown",
            methods(
                json!([{ "type": "shipping", "destinations": [address()], "groups": [{ "id": "package_1", "selected_option_id": "rocket" }] }]),
            ),
        ),
        ("delivery-old-address", more(json!({ "fulfillment_address": address(), "fulfillment_option_id": "express" }))),
        (
            "delivery-lines-unknown",
            methods(json!([{ "type": "shipping", "line_item_ids": ["li_7"], "destinations": [address()] }])),
        ),
        (
            "split-in-two",
            with(
                of(&[(item, 1), (other, 1)]),
                &json!({ "fulfillment": { "methods": [
            { "type": "shipping", "line_item_ids": ["li_1"], "destinations": [address()] },
            { "type": "shipping", "line_item_ids": ["li_2"], "destinations": [with(address(), &json!({ "address_region": "CA" }))] },
        ] } }),
            ),
        ),
        (
            "split-half",
            with(
                of(&[(item, 1), (other, 1)]),
                &json!({ "fulfillment": { "methods": [
            { "type": "shipping", "line_item_ids": ["li_1"], "destinations": [address()] },
        ] } }),
            ),
        ),
        (
            "split-overlapping",
            with(
                of(&[(item, 1), (other, 1)]),
                &json!({ "fulfillment": { "methods": [
            { "type": "shipping", "line_item_ids": ["li_1", "li_2"], "destinations": [address()] },
            { "type": "shipping", "line_item_ids": ["li_2"], "destinations": [address()] },
        ] } }),
            ),
        ),
        (
            "split-quantities",
            with(
                of(&[(item, 3)]),
                &json!({ "fulfillment": { "methods": [
            { "type": "shipping", "line_items": [{ "id": "li_1", "quantity": 1 }], "destinations": [address()] },
            { "type": "shipping", "line_items": [{ "id": "li_1", "quantity": 2 }], "destinations": [address()] },
        ] } }),
            ),
        ),
        ("buyer-none", more(json!({ "buyer": null }))),
        ("buyer-empty", buyer(json!({}))),
        ("buyer-wrong-email", buyer(json!({ "email": "not an address" }))),
        (
            "buyer-all",
            buyer(
                json!({ "email": "a@example.com", "first_name": "A", "last_name": "B", "full_name": "A B", "phone_number": "+15550100", "odd": 1 }),
            ),
        ),
        ("buyer-long", buyer(json!({ "email": "a@example.com", "first_name": "n".repeat(3_000) }))),
        ("consent-old", consent(json!({ "marketing": true, "sale_of_data": false }))),
        (
            "consent-new",
            consent(
                json!({ "dev.ucp.consent.marketing": { "granted": true }, "com.example.own": { "granted": false } }),
            ),
        ),
        ("consent-odd", consent(json!({ "marketing": "yes" }))),
        ("consent-empty", consent(json!({}))),
        ("currency-yen", more(json!({ "currency": "JPY", "context": { "currency": "JPY" } }))),
        ("currency-unknown", more(json!({ "currency": "XXZ" }))),
        ("language-spanish", more(json!({ "context": { "language": "es" } }))),
        ("payment-stated", more(json!({ "payment": { "instruments": [], "handlers": [] } }))),
        ("ap2", more(json!({ "ap2": { "merchant_authorization": "x" } }))),
        ("signals", more(json!({ "signals": { "dev.ucp.buyer_ip": "203.0.113.7", "odd": [1] } }))),
        ("attribution", more(json!({ "attribution": { "utm_source": "agent" } }))),
        ("cart-and-lines", more(json!({ "cart_id": "cart_nothing" }))),
        ("cart-only", json!({ "cart_id": "cart_nothing" })),
    ]
}

/// Plays a shop with terms of its own: short offers, other taxes, other deliveries.
pub(crate) fn terms(stage: &mut Stage<'_>) -> Done {
    for sample in ["flower-shop", "outfitters"] {
        let setup = if sample == "outfitters" { Setup::new("").outfitters() } else { Setup::new("") };
        let gateway = stage.start(&setup)?;
        let data = gateway.data.clone();
        gateway.stop()?;
        let folder = data.display().to_string();
        let shown = stage.run(&format!("{sample}/show"), &["terms", "--data-dir", &folder], b"")?;
        let mut terms: Value =
            serde_json::from_str(&shown.stdout).map_err(|error| format!("the terms must be JSON: {error}"))?;
        for (label, wrong) in [("not-json", "{"), ("empty", "{}"), ("a-list", "[]"), ("unknown", "{\"odd\":1}")] {
            let file = stage.file("wrong.json", wrong)?.display().to_string();
            stage.run(&format!("{sample}/{label}"), &["terms", &file, "--data-dir", &folder], b"")?;
        }
        terms["lifetimes"]["checkout_seconds"] = json!(1);
        terms["lifetimes"]["cart_seconds"] = json!(1);
        terms["shipping"]["rates"] =
            json!([{ "id": "local", "title": "By bicycle", "countries": ["US"], "price": 500, "max_grams": 5000 }]);
        terms["shipping"]["free"] = json!([]);
        let file = stage.file("terms.json", &terms.to_string())?.display().to_string();
        stage.run(&format!("{sample}/set"), &["terms", &file, "--data-dir", &folder], b"")?;
        stage.run(&format!("{sample}/show-again"), &["terms", "--data-dir", &folder], b"")?;
        let gateway = stage.start(&setup.on(&data))?;
        expired(stage, &gateway, sample);
    }
    Ok(())
}

/// Results for offers that are no longer valid.
fn expired(stage: &mut Stage<'_>, gateway: &Gateway, sample: &str) {
    let item = if sample == "outfitters" { "var_abc123_red_10" } else { "pot_ceramic" };
    let shoppers: Vec<_> = endpoints()
        .flat_map(|endpoint| [Way::Rest, Way::Tool, Way::Flat].map(|way| Caller::new(endpoint, way)))
        .map(|caller| Shopper::new(gateway, caller, &format!("/{sample}/expired")))
        .collect();
    let made: Vec<_> = shoppers
        .iter()
        .map(|shopper| {
            let checkout = id(&shopper.step(stage, "create_checkout", "short", None, &ready(&[(item, 1)])));
            let cart =
                id(&shopper.step(stage, "create_cart", "short", None, &json!({ "line_items": lines(&[(item, 1)]) })));
            (checkout, cart)
        })
        .collect();
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    for (shopper, (checkout, cart)) in shoppers.iter().zip(made) {
        for name in ["get_checkout", "update_checkout", "complete_checkout", "cancel_checkout"] {
            let payload = if name == "complete_checkout" {
                paying(shopper.release, "success_token")
            } else {
                ready(&[(item, 2)])
            };
            shopper.step(stage, name, "expired", Some(&checkout), &payload);
        }
        for name in ["get_cart", "update_cart", "cancel_cart"] {
            shopper.step(stage, name, "expired", Some(&cart), &json!({ "line_items": lines(&[(item, 2)]) }));
        }
        shopper.step(
            stage,
            "create_checkout",
            "from-expired-cart",
            None,
            &json!({ "cart_id": cart, "line_items": [] }),
        );
    }
}
