//! Carts and checkouts: contents, amounts, retries, ownership, how purchases end.

use serde_json::{Value, json};

use super::{End, Subject, amount, asked, came_to_nothing, context};
use crate::{
    harness::{elements, texts},
    purchase::shopper::{Shopper, address, id, lines, new_key, paying_by, paying_in, shipping, total},
    setup::Transport,
};

/// Wanted content of a cart or checkout.
fn holding(goods: &[(&str, u64)]) -> Value {
    json!({ "line_items": lines(goods), "context": context() })
}

/// Everything that a checkout needs.
fn ready(goods: &[(&str, u64)]) -> Value {
    json!({
        "line_items": lines(goods),
        "context": context(),
        "buyer": { "email": "buyer@example.com", "first_name": "Bea", "last_name": "Buyer" },
        "fulfillment": shipping(&address()),
    })
}

/// Items and quantities, in order.
#[track_caller]
fn contents(document: &Value) -> Vec<(String, u64)> {
    let line = |line: &Value| {
        (line["item"]["id"].as_str().expect("an item").to_owned(), line["quantity"].as_u64().expect("a quantity"))
    };
    elements(&document["line_items"]).iter().map(line).collect()
}

fn stated(goods: &[(&str, u64)]) -> Vec<(String, u64)> {
    goods.iter().map(|(item, quantity)| ((*item).to_owned(), *quantity)).collect()
}

/// Checks that totals are sums of their parts: prices and quantities the line, lines the subtotal, totals the total.
#[track_caller]
fn add_up(document: &Value) {
    let amounts = |totals: &Value, kind: &dyn Fn(&str) -> bool| -> i64 {
        let own = elements(totals).iter().filter(|total| kind(total["type"].as_str().expect("text")));
        own.map(|total| total["amount"].as_i64().expect("an amount")).sum()
    };
    assert_eq!(document["currency"], "USD", "{document}");
    assert_eq!(amounts(&document["totals"], &|kind| kind != "total"), total(document, "total"), "{document}");
    let mut subtotal = 0;
    for line in elements(&document["line_items"]) {
        let price = line["item"]["price"].as_i64().expect("a price");
        let own = amounts(&line["totals"], &|kind| kind == "subtotal");
        assert_eq!(price * line["quantity"].as_i64().expect("a quantity"), own, "{line}");
        subtotal += own;
    }
    assert_eq!(subtotal, total(document, "subtotal"), "{document}");
    assert!(total(document, "total") >= 0, "{document}");
}

#[track_caller]
fn cart(shopper: &Shopper<'_>, goods: &[(&str, u64)]) -> Value {
    shopper.call("create_cart", None, &holding(goods)).document()
}

#[track_caller]
fn of(shopper: &Shopper<'_>, operation: &str, document: &Value) -> Value {
    shopper.call(operation, Some(id(document)), &json!({})).document()
}

fn names(document: &Value) -> Vec<String> {
    texts(&document["line_items"], "id").into_iter().map(str::to_owned).collect()
}

/// Purchases confirm the statements of the catalog: availability and price.
pub(super) fn what_is_shown_is_what_is_sold(subject: &Subject) {
    for shopper in subject.shoppers() {
        let variant = |item: &str| {
            let mut product = asked(&shopper, "get_product", json!({ "id": item }))["product"].take();
            assert_eq!(product["variants"][0]["id"], item);
            product["variants"][0].take()
        };
        for item in subject.goods.plenty {
            let shown = variant(item);
            assert_eq!(shown["availability"]["available"], true, "{shown}");
            assert!(amount(&shown["price"]) > 0, "{shown}");
            let made = cart(&shopper, &[(item, 1)]);
            assert_eq!(made["line_items"][0]["item"]["price"], shown["price"]["amount"], "{made}");
        }
        let shown = variant(subject.goods.sold_out);
        assert_eq!(shown["availability"]["available"], false, "{shown}");
    }
}

/// Everything that is stated is there, as many as were stated; it goes where it was sent, and costs what the chosen way
/// costs.
pub(super) fn nothing_is_lost_on_the_way(subject: &Subject) {
    let [one, other] = subject.goods.plenty;
    for shopper in subject.shoppers() {
        for goods in [&[(one, 10)][..], &[(one, 2), (other, 10)]] {
            assert_eq!(contents(&cart(&shopper, goods)), stated(goods));
            let checkout = shopper.create(&ready(goods));
            assert_eq!(contents(&checkout), stated(goods));
            let methods = elements(&checkout["fulfillment"]["methods"]);
            let travels: i64 = methods
                .iter()
                .flat_map(|method| elements(&method["groups"]))
                .map(|group| {
                    let chosen =
                        elements(&group["options"]).iter().find(|own| own["id"] == group["selected_option_id"]);
                    total(chosen.expect("a chosen way"), "total")
                })
                .sum();
            let told = elements(&checkout["totals"]).iter().filter(|total| total["type"] == "fulfillment");
            let told: i64 = told.map(|total| total["amount"].as_i64().expect("an amount")).sum();
            assert_eq!(told, travels, "{checkout}");
            let to = &methods[0]["destinations"][0];
            assert_eq!(to["street_address"], address()["street_address"], "{checkout}");
        }
    }
}

/// A line keeps its name as long as it is there, and no other line has it, then or later (trap T-48).
pub(super) fn lines_keep_their_names(subject: &Subject) {
    let [one, other] = subject.goods.plenty;
    for shopper in subject.shoppers() {
        let made = cart(&shopper, &[(one, 1), (other, 1)]);
        let update = |wanted: &Value| names(&shopper.call("update_cart", Some(id(&made)), wanted).document());
        let before = names(&made);
        assert_ne!(before[0], before[1]);
        let mut wanted = holding(&[(other, 2)]);
        wanted["line_items"][0]["id"] = json!(before[1]);
        assert_eq!(update(&wanted), before[1..], "stated by its name");
        let mut wanted = holding(&[(other, 2), (one, 1)]);
        wanted["line_items"][0]["id"] = json!(before[1]);
        let more = update(&wanted);
        assert_eq!(more[0], before[1]);
        assert!(!before.contains(&more[1]), "a new line has a new name: {before:?} {more:?}");
        let turned = update(&holding(&[(one, 1), (other, 2)]));
        assert_eq!(turned, [more[1].clone(), more[0].clone()], "recognised by what they name");
    }
}

/// Statements replace the previous ones, and are returned in the same order until they are replaced.
pub(super) fn a_cart_is_what_was_stated_last(subject: &Subject) {
    let [one, other] = subject.goods.plenty;
    for shopper in subject.shoppers() {
        let first = cart(&shopper, &[(one, 1)]);
        assert_eq!(contents(&first), stated(&[(one, 1)]));
        for goods in [&[(one, 3)][..], &[(one, 3), (other, 2)], &[(other, 1), (one, 2)], &[(other, 4)], &[(one, 1)]] {
            let now = shopper.call("update_cart", Some(id(&first)), &holding(goods)).document();
            assert_eq!(id(&now), id(&first));
            assert_eq!(contents(&now), stated(goods));
            let numbers = texts(&now["line_items"], "id");
            assert!(numbers.iter().all(|number| !number.is_empty()), "{now}");
            assert_eq!(of(&shopper, "get_cart", &now), now);
        }
    }
}

/// Nothing is added, lost or rounded on the way from prices to totals.
pub(super) fn amounts_add_up(subject: &Subject) {
    let [one, other] = subject.goods.plenty;
    for shopper in subject.shoppers() {
        for goods in [&[(one, 1)][..], &[(one, 3)], &[(one, 2), (other, 5)], &[(other, 7), (one, 1)]] {
            let made = cart(&shopper, goods);
            add_up(&made);
            let mut wanted = ready(goods);
            let checkout = shopper.create(&wanted);
            add_up(&checkout);
            assert_eq!(total(&checkout, "subtotal"), total(&made, "subtotal"));
            wanted["discounts"] = json!({ "codes": subject.goods.code.into_iter().collect::<Vec<_>>() });
            add_up(&shopper.update(&checkout, &wanted));
        }
    }
}

/// Unknown or sold-out items are reported where they were stated, and are not in the result; the others are.
pub(super) fn what_cannot_be_bought_is_said(subject: &Subject) {
    let goods = subject.goods;
    for shopper in subject.shoppers() {
        for operation in ["create_cart", "create_checkout"] {
            for item in ["nothing", goods.sold_out] {
                let document = shopper.call(operation, None, &holding(&[(goods.plenty[1], 1), (item, 1)])).document();
                let told = elements(&document["messages"]).iter().filter(|message| message["type"] == "error");
                let place = |message: &Value| message["path"].as_str().unwrap_or_default().starts_with("$.line_items");
                assert!(told.clone().any(place), "{operation} {item}: {document}");
                add_up(&document);
                assert!(contents(&document).contains(&(goods.plenty[1].to_owned(), 1)), "{document}");
                // Some shops keep a line for what is sold out, which nobody can pay for.
                if item != goods.sold_out {
                    assert_eq!(contents(&document).len(), 1, "{document}");
                }
            }
        }
    }
}

/// A code makes it cheaper by what is said; one that is unknown is said and changes nothing.
pub(super) fn a_code_is_taken_off_or_refused(subject: &Subject) {
    let goods = [(subject.goods.plenty[0], 1)];
    let Some(code) = subject.goods.code else { return };
    for shopper in subject.shoppers() {
        let checkout = shopper.create(&holding(&goods));
        let plain = total(&checkout, "total");
        let with = |codes: Value| {
            let mut wanted = holding(&goods);
            wanted["discounts"] = json!({ "codes": codes });
            shopper.update(&checkout, &wanted)
        };
        let cheaper = with(json!([code]));
        add_up(&cheaper);
        assert!(total(&cheaper, "total") < plain, "{cheaper}");
        let applied: i64 = elements(&cheaper["discounts"]["applied"])
            .iter()
            .map(|applied| applied["amount"].as_i64().expect("an amount"))
            .sum();
        assert_eq!(applied.abs(), plain - total(&cheaper, "total"), "{cheaper}");
        let unknown = with(json!(["NO-SUCH-CODE"]));
        assert_eq!(total(&unknown, "total"), plain);
        let told = elements(&unknown["messages"]).iter().map(|message| message["code"].as_str().unwrap_or_default());
        assert!(told.clone().any(|code| code.starts_with("discount_code_")), "{unknown}");
        assert_eq!(total(&with(json!([])), "total"), plain);
    }
}

/// The same key is the same call: one cart, one answer, byte for byte. Another call under it is refused.
pub(super) fn a_retry_is_the_same_call(subject: &Subject) {
    let item = subject.goods.plenty[0];
    for shopper in subject.shoppers() {
        let key = new_key();
        let first = shopper.keyed(Some(&key), "create_checkout", None, &holding(&[(item, 1)]));
        let again = shopper.keyed(Some(&key), "create_checkout", None, &holding(&[(item, 1)]));
        assert_eq!((first.status, first.text()), (again.status, again.text()));
        let another = shopper.keyed(Some(&key), "create_checkout", None, &holding(&[(item, 2)]));
        assert_eq!(another.refusal().0, "idempotency_conflict");
        let checkout = first.document();
        let key = new_key();
        let update =
            |quantity| shopper.keyed(Some(&key), "update_checkout", Some(id(&checkout)), &holding(&[(item, quantity)]));
        let first = update(2);
        assert_eq!(first.text(), update(2).text());
        assert_eq!(update(3).refusal().0, "idempotency_conflict");
        assert_eq!(contents(&of(&shopper, "get_checkout", &checkout)), stated(&[(item, 2)]));
    }
}

/// Nobody learns of what another platform made, whatever they ask.
pub(super) fn what_is_somebody_elses_does_not_exist(subject: &Subject) {
    let item = subject.goods.plenty[0];
    for shopper in subject.shoppers() {
        let (own_cart, checkout) = (cart(&shopper, &[(item, 1)]), shopper.create(&holding(&[(item, 1)])));
        let stranger = shopper.clone().named("https://stranger.example/profile");
        for (operation, of) in [
            ("get_cart", id(&own_cart)),
            ("update_cart", id(&own_cart)),
            ("cancel_cart", id(&own_cart)),
            ("get_checkout", id(&checkout)),
            ("update_checkout", id(&checkout)),
            ("cancel_checkout", id(&checkout)),
        ] {
            let told = stranger.call(operation, Some(of), &holding(&[(item, 2)]));
            assert_eq!(told.errors(), ["not_found"], "{operation}");
            // And in the same words as of what nobody made.
            let nobodys = stranger.call(operation, Some(&of.replace(['a', 'b', '1'], "c")), &holding(&[(item, 2)]));
            assert_eq!((told.status, nobodys.errors()), (nobodys.status, told.errors()), "{operation}");
        }
        // It takes what it made into a checkout only itself.
        came_to_nothing(&stranger.call(
            "create_checkout",
            None,
            &json!({ "cart_id": id(&own_cart), "line_items": [] }),
        ));
        assert_eq!(of(&shopper, "get_cart", &own_cart), own_cart);
        assert_eq!(of(&shopper, "get_checkout", &checkout), checkout);
    }
}

/// From a cart to where the shop takes the money: through the API, or on a page of its own.
pub(super) fn a_purchase_ends_as_the_shop_can(subject: &Subject) {
    let goods = [(subject.goods.plenty[0], 1), (subject.goods.plenty[1], 1)];
    for shopper in subject.shoppers() {
        let made = cart(&shopper, &goods);
        let checkout = shopper.create(&json!({ "cart_id": id(&made), "line_items": [] }));
        assert_eq!(contents(&checkout), stated(&goods));
        assert_eq!(checkout["status"], "incomplete", "{checkout}");
        assert!(!elements(&checkout["messages"]).is_empty(), "what is missing is said: {checkout}");
        let checkout = shopper.update(&checkout, &ready(&goods));
        let method = &checkout["fulfillment"]["methods"][0];
        assert!(!elements(&method["groups"][0]["options"]).is_empty(), "{checkout}");
        let page = checkout["continue_url"].as_str().unwrap_or_default();
        match subject.goods.end {
            End::HandedOff => {
                assert_eq!(checkout["status"], "requires_escalation", "{checkout}");
                assert!(page.starts_with("https://") || page.starts_with("http://127.0.0.1"), "{checkout}");
                // Nothing is paid through the API there.
                let paying = paying_in(shopper.release, "nobody", "token");
                came_to_nothing(&shopper.call("complete_checkout", Some(id(&checkout)), &paying));
                let now = of(&shopper, "get_checkout", &checkout);
                assert_eq!((&now["status"], now.get("order")), (&json!("requires_escalation"), None));
            }
            End::Paid { handler, kind, token } => {
                assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
                let (key, paying) = (new_key(), paying_by(kind, shopper.release, handler, token));
                let pay = || shopper.keyed(Some(&key), "complete_checkout", Some(id(&checkout)), &paying);
                let done = pay();
                let document = done.document();
                assert_eq!(document["status"], "completed", "{document}");
                assert_eq!(pay().text(), done.text());
                let order = document["order"]["id"].as_str().expect("an order");
                let order = shopper.call("get_order", Some(order), &json!({})).document();
                assert_eq!(total(&order, "total"), total(&checkout, "total"));
                assert_eq!(elements(&order["line_items"]).len(), goods.len(), "{order}");
                let over = shopper.call("update_checkout", Some(id(&checkout)), &ready(&goods));
                assert_eq!(over.errors(), ["checkout_completed"]);
            }
        }
    }
}

/// Rejects changes of canceled resources.
pub(super) fn what_is_canceled_stays_so(subject: &Subject) {
    let item = subject.goods.plenty[0];
    for shopper in subject.shoppers() {
        let made = cart(&shopper, &[(item, 1)]);
        of(&shopper, "cancel_cart", &made);
        for operation in ["get_cart", "update_cart", "cancel_cart"] {
            assert_eq!(
                shopper.call(operation, Some(id(&made)), &holding(&[(item, 2)])).errors(),
                ["not_found"],
                "{operation}"
            );
        }
        let checkout = shopper.create(&ready(&[(item, 1)]));
        assert_eq!(of(&shopper, "cancel_checkout", &checkout)["status"], "canceled");
        assert_eq!(of(&shopper, "get_checkout", &checkout)["status"], "canceled");
        let over = shopper.call("update_checkout", Some(id(&checkout)), &ready(&[(item, 2)]));
        came_to_nothing(&over);
        assert_eq!(contents(&of(&shopper, "get_checkout", &checkout)), stated(&[(item, 1)]));
    }
}

/// A checkout that was made of a cart is a thing of its own.
pub(super) fn a_checkout_is_not_its_cart(subject: &Subject) {
    let [one, other] = subject.goods.plenty;
    for shopper in subject.shoppers() {
        let made = cart(&shopper, &[(one, 1)]);
        let checkout = shopper.create(&json!({ "cart_id": id(&made), "line_items": [] }));
        shopper.call("update_cart", Some(id(&made)), &holding(&[(other, 2)])).document();
        assert_eq!(contents(&of(&shopper, "get_checkout", &checkout)), stated(&[(one, 1)]), "the cart was changed");
        of(&shopper, "cancel_checkout", &checkout);
        assert_eq!(contents(&of(&shopper, "get_cart", &made)), stated(&[(other, 2)]), "the checkout was canceled");
    }
}

/// Rejects further steps of finished resources.
pub(super) fn what_is_over_stays_so(subject: &Subject) {
    let one = subject.goods.plenty[0];
    for shopper in subject.shoppers() {
        let made = cart(&shopper, &[(one, 1)]);
        let checkout = shopper.create(&json!({ "cart_id": id(&made), "line_items": [] }));
        of(&shopper, "cancel_cart", &made);
        let now = of(&shopper, "get_checkout", &checkout);
        let after = shopper.call("update_checkout", Some(id(&checkout)), &ready(&[(one, 1)]));
        let open = after.failure.is_none() && !after.errors().iter().any(|code| code == "checkout_canceled");
        assert_eq!(now["status"] != "canceled", open, "{now} {after:?}");
    }
}

/// The shop's own cart IDs are secrets of shop and gateway: they are in no response and in no line of the log.
pub(super) fn names_of_the_shops_carts_stay_inside(subject: &Subject) {
    let [one, other] = subject.goods.plenty;
    let Some(secret) = subject.goods.secret else { return };
    for shopper in subject.shoppers() {
        let made = shopper.call("create_cart", None, &holding(&[(one, 1), (other, 1)]));
        let checkout = shopper.call("create_checkout", None, &ready(&[(one, 1)]));
        let [of_cart, of_checkout] = [&made, &checkout].map(|said| id(&said.document()).to_owned());
        let mut coded = ready(&[(one, 1)]);
        coded["discounts"] =
            json!({ "codes": subject.goods.code.into_iter().chain(["NO-SUCH-CODE"]).collect::<Vec<_>>() });
        let nothing = json!({});
        for said in [
            shopper.call("get_cart", Some(&of_cart), &nothing),
            shopper.call("update_cart", Some(&of_cart), &holding(&[(subject.goods.sold_out, 1), (one, 1)])),
            shopper.call("update_checkout", Some(&of_checkout), &coded),
            shopper.call("get_checkout", Some(&of_checkout), &nothing),
            shopper.call("cancel_checkout", Some(&of_checkout), &nothing),
            shopper.call("cancel_cart", Some(&of_cart), &nothing),
            made,
            checkout,
        ] {
            assert!(!said.text().contains(secret), "{}", said.text());
        }
        assert!(!subject.gateway.stderr().contains(secret), "{}", subject.gateway.stderr());
    }
}

/// A cart that was begun over one transport goes on over the other.
pub(super) fn both_transports_see_the_same_cart(subject: &Subject) {
    let [one, other] = subject.goods.plenty;
    let [rest, tool] = subject.shoppers();
    assert_eq!((rest.transport, tool.transport), (Transport::Rest, Transport::Tool));
    for (begins, goes_on) in [(&rest, &tool), (&tool, &rest)] {
        let made = cart(begins, &[(one, 1)]);
        assert_eq!(of(goes_on, "get_cart", &made), made);
        let now = goes_on.call("update_cart", Some(id(&made)), &holding(&[(one, 2), (other, 1)])).document();
        assert_eq!(of(begins, "get_cart", &made), now);
        let checkout = begins.create(&ready(&[(one, 1)]));
        assert_eq!(of(goes_on, "get_checkout", &checkout), checkout);
        // A retry over the other transport is still a retry.
        let key = new_key();
        let first = begins.keyed(Some(&key), "create_cart", None, &holding(&[(other, 1)])).document();
        let again = goes_on.keyed(Some(&key), "create_cart", None, &holding(&[(other, 1)])).document();
        assert_eq!(first, again);
    }
}
