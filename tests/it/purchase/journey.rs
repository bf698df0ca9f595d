//! From a cart to an order, over every transport in every release.

use serde_json::{Value, json};
use ucp_core::Release;

use super::shopper::{Shopper, address, errors, flowers, id, lines, said_at, shipping, total, ways};
use crate::{
    harness::{elements, texts},
    setup::Transport,
};

/// The signed amount of a total, whatever sign its release writes discounts with.
fn discount(shopper: &Shopper<'_>, document: &Value) -> i64 {
    let amount = total(document, "discount");
    if shopper.founding() { -amount } else { amount }
}

/// Checks that the totals of a checkout are the sum of their parts (rules TOT-01 to TOT-03).
#[track_caller]
fn adds_up(shopper: &Shopper<'_>, document: &Value) {
    let amounts = elements(&document["totals"]).iter().filter(|total| total["type"] != "total");
    let sum: i64 = amounts
        .map(|total| {
            let off =
                shopper.founding() && ["discount", "items_discount"].contains(&total["type"].as_str().expect("text"));
            total["amount"].as_i64().expect("an amount") * if off { -1 } else { 1 }
        })
        .sum();
    assert_eq!(sum, total(document, "total"), "{document}");
}

/// Buys roses and pots, step by step, and gives the last answer to `complete_checkout`.
fn buys(shopper: &Shopper<'_>) -> Value {
    let goods = lines(&[("bouquet_roses", 2), ("pot_ceramic", 1)]);
    let mut checkout = if shopper.founding() {
        shopper.create(&json!({ "line_items": goods }))
    } else {
        let said =
            shopper.call("create_cart", None, &json!({ "line_items": goods, "context": { "address_country": "US" } }));
        if shopper.transport == Transport::Rest {
            assert_eq!(said.status, 201, "{said:?}");
        }
        let cart = said.document();
        adds_up(shopper, &cart);
        assert!(cart.get("status").is_none(), "carts have no status (CRT-01): {cart}");
        assert_eq!(shopper.call("get_cart", Some(id(&cart)), &json!({})).document(), cart);
        let checkout = shopper.create(&json!({ "cart_id": id(&cart) }));
        assert_eq!(checkout["context"], json!({ "address_country": "US" }));
        checkout
    };
    assert_eq!((total(&checkout, "subtotal"), &checkout["currency"]), (8_500, &json!("USD")));
    assert_eq!(checkout["status"], "incomplete", "{checkout}");
    let path = |error: &Value| error["path"].as_str().unwrap_or_default().to_owned();
    let missing: Vec<_> = errors(&checkout).iter().map(path).collect();
    assert!(missing.iter().any(|path| path.starts_with("$.fulfillment")), "{checkout}");
    let numbers = texts(&checkout["line_items"], "id").into_iter().map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document(), checkout);

    let mut wanted = json!({
        "line_items": [
            { "id": numbers[0], "item": { "id": "bouquet_roses" }, "quantity": 2 },
            { "id": numbers[1], "item": { "id": "pot_ceramic" }, "quantity": 1 },
        ],
        "buyer": { "email": "buyer@example.com", "first_name": "Bea", "last_name": "Buyer" },
        "fulfillment": shipping(&address()),
    });
    checkout = shopper.update(&checkout, &wanted);
    assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
    assert_eq!(texts(&checkout["line_items"], "id"), numbers);
    assert_eq!(checkout["buyer"]["email"], "buyer@example.com");
    let method = &checkout["fulfillment"]["methods"][0];
    let group = &method["groups"][0];
    assert_eq!(texts(&group["options"], "id"), ["std-ship", "exp-ship-us"]);

    wanted["fulfillment"]["methods"][0] = json!({
        "id": method["id"], "type": "shipping", "line_item_ids": method["line_item_ids"],
        "destinations": method["destinations"], "selected_destination_id": method["selected_destination_id"],
        "groups": [{ "id": group["id"], "selected_option_id": "exp-ship-us" }],
    });
    wanted["discounts"] = json!({ "codes": ["10off"] });
    checkout = shopper.update(&checkout, &wanted);
    adds_up(shopper, &checkout);
    assert_eq!(checkout["discounts"]["codes"], json!(["10off"]));
    assert_eq!(elements(&checkout["discounts"]["applied"]).len(), 1);
    assert_eq!((discount(shopper, &checkout), total(&checkout, "fulfillment")), (-850, 1_500));
    assert_eq!((&checkout["status"], total(&checkout, "total")), (&json!("ready_for_complete"), 9_150));

    let completed = shopper.complete(&checkout, "success_token");
    assert_eq!((&completed["status"], total(&completed, "total")), (&json!("completed"), 9_150), "{completed}");
    assert!(completed.get("continue_url").is_none(), "nothing is left to be done (CHK-03): {completed}");
    assert_eq!(errors(&completed), [Value::Null; 0]);
    let permalink = completed["order"]["permalink_url"].as_str().expect("an address");
    assert!(permalink.starts_with("http") && !permalink.contains(id(&completed["order"])), "{permalink}");
    assert_eq!(shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document(), completed);
    completed
}

#[test]
fn a_purchase_goes_through_over_every_transport_in_every_release() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let completed = buys(&shopper);
        let order_id = id(&completed["order"]);
        if release < Release::V2026_04_08 {
            continue;
        }
        let order = shopper.call("get_order", Some(order_id), &json!({})).document();
        assert_eq!((id(&order), &order["checkout_id"]), (order_id, &completed["id"]));
        assert_eq!((&order["totals"], &order["currency"]), (&completed["totals"], &completed["currency"]));
        assert_eq!(order["permalink_url"], completed["order"]["permalink_url"]);
        let fulfillment = &order["fulfillment"];
        assert_eq!(elements(&fulfillment["expectations"]).len(), 1, "{order}");
        assert_eq!(fulfillment["expectations"][0]["id"], "exp_1");
        assert_eq!(fulfillment["expectations"][0]["destination"]["address_country"], "US");
        for (line, bought) in elements(&order["line_items"]).iter().zip(elements(&completed["line_items"])) {
            assert_eq!((&line["id"], &line["item"]), (&bought["id"], &bought["item"]));
            assert_eq!((&line["quantity"]["total"], &line["quantity"]["fulfilled"]), (&bought["quantity"], &json!(0)));
            assert_eq!(line["status"], "processing");
        }
    }
}

/// Resources of one version can be read in every other version that has them.
#[test]
fn an_order_is_the_same_in_each_release_that_has_orders() {
    let shop = flowers();
    let first = Shopper::new(&shop, Release::V2026_01_11, Transport::Method);
    let completed = buys(&first);
    let order_id = id(&completed["order"]).to_owned();
    for (release, transport) in ways().filter(|(release, _)| *release >= Release::V2026_04_08) {
        let order = Shopper::new(&shop, release, transport).call("get_order", Some(&order_id), &json!({})).document();
        assert_eq!(total(&order, "total"), 9_150);
        assert_eq!(total(&order, "discount"), -850, "signed since carts: {order}");
    }
}

/// Carts can be changed, and given up.
#[test]
fn a_cart_is_replaced_as_a_whole_and_gone_when_it_is_canceled() {
    let shop = flowers();
    for (release, transport) in ways().filter(|(release, _)| *release >= Release::V2026_04_08) {
        let shopper = Shopper::new(&shop, release, transport);
        let request = json!({
            "line_items": lines(&[("bouquet_roses", 2), ("pot_ceramic", 1)]),
            "buyer": { "email": "buyer@example.com" },
            "discounts": { "codes": ["10OFF"] },
            "attribution": { "utm_source": "agent" },
        });
        let cart = shopper.call("create_cart", None, &request).document();
        assert_eq!(total(&cart, "discount"), -850, "{cart}");
        assert_eq!(cart["attribution"], json!({ "utm_source": "agent" }));
        let kept = &cart["line_items"][1]["id"];
        let fewer = json!({ "line_items": [{ "id": kept, "item": { "id": "pot_ceramic" }, "quantity": 3 }] });
        let changed = shopper.call("update_cart", Some(id(&cart)), &fewer).document();
        assert_eq!((id(&changed), elements(&changed["line_items"]).len()), (id(&cart), 1));
        assert_eq!((&changed["line_items"][0]["id"], total(&changed, "total")), (kept, 4_500));
        for gone in ["buyer", "attribution"] {
            assert!(changed.get(gone).is_none(), "{gone} was left out, and is gone (CRT-02): {changed}");
        }
        assert!(elements(&changed["totals"]).iter().all(|total| total["type"] != "discount"), "{changed}");
        // A line that is new gets a number that none had before (T-48).
        let more = json!({ "line_items": [{ "item": { "id": "bouquet_tulips" }, "quantity": 1 }] });
        let renewed = shopper.call("update_cart", Some(id(&cart)), &more).document();
        let number = &renewed["line_items"][0]["id"];
        assert!(elements(&cart["line_items"]).iter().all(|line| line["id"] != *number), "{number} of {renewed}");

        let canceled = shopper.call("cancel_cart", Some(id(&cart)), &json!({})).document();
        assert_eq!((&canceled["line_items"], &canceled["totals"]), (&renewed["line_items"], &renewed["totals"]));
        for (operation, payload) in [("get_cart", json!({})), ("update_cart", more), ("cancel_cart", json!({}))] {
            let said = shopper.call(operation, Some(id(&cart)), &payload);
            assert_eq!((said.status, said.errors()), (200, vec!["not_found".to_owned()]), "{operation}");
        }
    }
}

/// The same with the names that the sample of outfitters has: several currencies, places to pick things up at, goods
/// that need no delivery.
#[test]
fn goods_can_be_picked_up_and_digital_ones_need_no_delivery() {
    let shop = crate::harness::Gateway::start();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let found = shop.lookup(&json!({ "ids": ["prod_the-lighthouse-ledger"] }));
        let book = &found["products"][0];
        let id_of = |label: &str| {
            let page = shop.product(&json!({
                "id": book["id"], "selected": [{ "name": "Binding", "label": label }],
            }));
            id(&page["product"]["variants"][0]).to_owned()
        };
        let (digital, paper) = (id_of("E-book"), id_of("Paperback"));
        let buyer = json!({ "email": "buyer@example.com", "first_name": "Bea", "last_name": "Buyer" });

        let checkout = shopper.create(&json!({ "line_items": lines(&[(&digital, 1)]), "buyer": buyer }));
        assert_eq!(checkout["status"], "ready_for_complete", "nothing has to be sent (FUL-07): {checkout}");

        let request = json!({
            "line_items": lines(&[(&paper, 1)]), "buyer": buyer, "fulfillment": { "methods": [{ "type": "pickup" }] },
        });
        let checkout = shopper.create(&request);
        let places = &checkout["fulfillment"]["methods"][0]["destinations"];
        assert!(texts(places, "id").contains(&"store-springfield"), "{checkout}");
        assert!(elements(places).iter().all(|place| place["name"].is_string()), "{checkout}");
        let mut chosen = request.clone();
        chosen["line_items"][0]["id"] = checkout["line_items"][0]["id"].clone();
        chosen["fulfillment"]["methods"][0] = json!({
            "id": checkout["fulfillment"]["methods"][0]["id"], "type": "pickup",
            "line_item_ids": checkout["fulfillment"]["methods"][0]["line_item_ids"],
            "selected_destination_id": "store-springfield",
        });
        let checkout = shopper.update(&checkout, &chosen);
        assert_eq!(checkout["fulfillment"]["methods"][0]["selected_destination_id"], "store-springfield");
        assert_eq!(checkout["status"], "ready_for_complete", "{release} {transport:?}: {checkout}");
        assert_eq!(said_at(&checkout, "error"), [""; 0]);
    }
}
