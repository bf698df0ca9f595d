//! Orders as platforms see them after every kind of step: webhook events, and responses, in every version (rules
//! ORD-02, ORD-03, ORD-05, WHK-03).

use super::*;
use crate::{harness::elements, purchase::shopper::lines};

/// The steps, with the states of both lines after each.
const STEPS: [(&[&str], [&str; 2]); 9] = [
    (&["ship", "--line", "li_1=1", "--carrier", "Post", "--tracking-number", "T1"], ["partial", "processing"]),
    (&["cancel", "--line", "li_2=1", "--reason", "Broken in the warehouse"], ["partial", "processing"]),
    (&["deliver", "--line", "li_1=1"], ["partial", "processing"]),
    (&["refund", "--line", "li_2=1", "--amount", "100", "--reason", "Sorry"], ["partial", "processing"]),
    (&["cancel", "--line", "li_2=1"], ["partial", "removed"]),
    (&["cancel", "--line", "li_1=1"], ["partial", "removed"]),
    (&["ship", "--tracking-url", "https://post.example/T2"], ["fulfilled", "removed"]),
    (&["deliver"], ["fulfilled", "removed"]),
    (&["refund"], ["fulfilled", "removed"]),
];

/// Holds what was told against the official schema of a release that has no answer with an order.
fn conforms(release: Release, told: &Value) {
    if release >= Release::V2026_04_08 {
        crate::official::check("get_order", told);
    } else if let Some(folder) = crate::harness::official(release) {
        let schema = crate::official::schema(&folder, "shopping/order.json", None);
        schema.validate(told).unwrap_or_else(|error| panic!("{release}: {error}: {told}"));
    }
}

/// Checks that an order is the same over every transport as in its webhook event. Responses are validated against the
/// official schemas.
#[track_caller]
fn seen(shopper: &Shopper<'_>, told: &Value) {
    for transport in Transport::ALL.into_iter().filter(|_| shopper.release >= Release::V2026_04_08) {
        let found = shopper.over(transport).call("get_order", Some(id(told)), &json!({})).document();
        assert_eq!(found, *told, "{transport:?}");
    }
}

#[test]
fn ord_02_every_kind_of_snapshot_conforms_and_is_seen_as_it_was_told() {
    let place = WebhookSetup::open();
    for release in Release::ALL.iter().copied() {
        let receiver = Receiver::start([]);
        let profile = place.platform(release.date(), release, &receiver);
        let shopper = Shopper::new(&place.gateway, release, Transport::Rest).named(&profile);
        let mut wanted = ready(&[("bouquet_roses", 3), ("pot_ceramic", 2)]);
        wanted["discounts"] = json!({ "codes": ["10OFF"] });
        wanted["attribution"] = json!({ "utm_source": "agent" });
        let order = place.bought(&shopper, &wanted);
        let mut told = vec![receiver.after(1)[0].json()];
        conforms(release, &told[0]);
        seen(&shopper, &told[0]);
        for (step, states) in STEPS {
            place.json(&[&["orders", step[0], &order], &step[1..]].concat());
            let body = receiver.after(told.len() + 1)[told.len()].json();
            conforms(release, &body);
            seen(&shopper, &body);
            // Versions without a word for lines with nothing left count them as done.
            let gone = |state| if state == "removed" && shopper.founding() { "fulfilled" } else { state };
            assert_eq!(crate::harness::texts(&body["line_items"], "status"), states.map(gone), "{step:?}");
            told.push(body);
        }
        let last = &told[STEPS.len()];
        let kinds = |list: &Value| -> Vec<String> {
            elements(list).iter().map(|one| one["type"].as_str().expect("a type").to_owned()).collect()
        };
        assert_eq!(kinds(&last["fulfillment"]["events"]), ["shipped", "delivered", "shipped", "delivered"]);
        let adjusted = ["cancellation", "refund", "cancellation", "cancellation", "refund"];
        assert_eq!(kinds(&last["adjustments"]), adjusted);
        for (earlier, later) in told.iter().zip(&told[1..]) {
            assert_eq!(earlier["totals"], later["totals"], "what was bought costs what it cost");
            assert_eq!(earlier["fulfillment"]["expectations"], later["fulfillment"]["expectations"]);
        }
        assert_eq!(receiver.deliveries().len(), told.len());
    }
}

#[test]
fn orders_of_goods_that_are_not_sent_conform_too() {
    let place = WebhookSetup::selling(&open(), "outfitters");
    let found = place.gateway.lookup(&json!({ "ids": ["prod_the-lighthouse-ledger"] }));
    let variant = |label: &str| {
        let selected = [json!({ "name": "Binding", "label": label })];
        let page = place.gateway.product(&json!({ "id": found["products"][0]["id"], "selected": selected }));
        id(&page["product"]["variants"][0]).to_owned()
    };
    let (digital, paper) = (variant("E-book"), variant("Paperback"));
    let buyer = json!({ "email": "buyer@example.com", "first_name": "Bea", "last_name": "Buyer" });
    let pickup = json!({ "methods": [{ "type": "pickup", "selected_destination_id": "store-springfield" }] });
    for release in Release::ALL.iter().copied() {
        let receiver = Receiver::start([]);
        let profile = place.platform(release.date(), release, &receiver);
        let shopper = Shopper::new(&place.gateway, release, Transport::Rest).named(&profile);
        for wanted in [
            json!({ "line_items": lines(&[(&digital, 1)]), "buyer": buyer }),
            json!({ "line_items": lines(&[(&paper, 2)]), "buyer": buyer, "fulfillment": pickup }),
            json!({ "line_items": lines(&[(&paper, 1), (&digital, 1)]), "buyer": buyer, "fulfillment": pickup }),
        ] {
            let before = receiver.deliveries().len();
            let order = place.bought(&shopper, &wanted);
            place.json(&["orders", "deliver", &order]);
            place.json(&["orders", "refund", &order]);
            for delivery in &receiver.after(before + 3)[before..] {
                conforms(release, &delivery.json());
            }
            seen(&shopper, &receiver.deliveries()[before + 2].json());
        }
    }
}
