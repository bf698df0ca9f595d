//! On what terms the shop sells: where to, with which taxes, and how long an offer stands.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::Release;

use super::shopper::{Shopper, address, errors, flower_shop, id, lines, ready, said_at, shipping, total, ways};
use crate::{
    harness::{self, Ends as _, Gateway, binary, elements, eventually, texts},
    setup::Transport,
};

/// The terms of a shop as the command shows them, or what it says to a file that holds these.
fn terms(data: &TempDir, set: Option<&Value>) -> Result<String, String> {
    let file = tempfile::NamedTempFile::new().expect("a file");
    let mut command = binary();
    command.arg("terms").arg("--data-dir").arg(data.path());
    if let Some(terms) = set {
        std::fs::write(file.path(), terms.to_string()).expect("a file");
        command.arg(file.path());
    }
    let output = command.ends();
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// A directory with a shop of flowers that has other terms.
pub(crate) fn directory(change: impl FnOnce(&mut Value)) -> TempDir {
    let data = harness::flower_shop();
    let mut present: Value = serde_json::from_str(&terms(&data, None).expect("the terms")).expect("JSON");
    change(&mut present);
    terms(&data, Some(&present)).expect("terms that make sense");
    data
}

/// A shop of flowers with other terms.
pub(crate) fn shop(change: impl FnOnce(&mut Value)) -> (Gateway, TempDir) {
    let data = directory(change);
    (flower_shop(data.path(), &[]), data)
}

#[test]
fn an_address_that_nothing_is_sent_to_is_told_so() {
    let (shop, _data) = shop(|terms| {
        terms["shipping"]["rates"] =
            json!([{ "id": "local", "title": "By bicycle", "countries": ["US"], "price": 500, "max_grams": 5000 }]);
        terms["shipping"]["free"] = json!([]);
    });
    let mut far = address();
    far["address_country"] = json!("NZ");
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let mut request = ready(&[("pot_ceramic", 1)]);
        let near = shopper.create(&request);
        assert_eq!((&near["status"], total(&near, "fulfillment")), (&json!("ready_for_complete"), 500));
        request["fulfillment"] = shipping(&far);
        let checkout = shopper.update(&near, &request);
        let place = "$.fulfillment.methods[0].destinations[0]";
        assert_eq!(said_at(&checkout, "error"), [format!("address_undeliverable {place}")], "{checkout}");
        assert_eq!(errors(&checkout)[0]["severity"], "recoverable", "MSG-03");
        assert_eq!(checkout["status"], "incomplete");
        // Too heavy for it.
        let checkout = shopper.update(&near, &ready(&[("pot_ceramic", 50)]));
        assert_eq!(said_at(&checkout, "error"), [format!("fulfillment_unavailable {place}")], "{checkout}");
        assert_eq!(shopper.update(&near, &ready(&[("pot_ceramic", 1)]))["status"], "ready_for_complete");
    }
}

/// CHK-07: what nobody concluded in time is canceled.
#[test]
fn a_checkout_expires() {
    let (shop, _data) = shop(|terms| {
        terms["lifetimes"] = json!({ "cart_seconds": 2, "checkout_seconds": 2 });
    });
    let open: Vec<_> = ways()
        .map(|(release, transport)| {
            let shopper = Shopper::new(&shop, release, transport);
            let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
            (shopper, checkout)
        })
        .collect();
    let newest = Shopper::rest(&shop);
    let cart = newest.call("create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) })).document();
    for (shopper, checkout) in &open {
        let over = eventually("it expires", Duration::from_secs(30), || {
            let present = shopper.call("get_checkout", Some(id(checkout)), &json!({})).document();
            (present["status"] == "canceled").then_some(present)
        });
        assert!(over.get("continue_url").is_none(), "{over}");
        assert_eq!(over["line_items"], checkout["line_items"]);
        let paid = shopper.call("complete_checkout", Some(id(checkout)), &shopper.paying("success_token"));
        assert!(paid.failure.is_some() || paid.document().get("id").is_none(), "{paid:?}");
    }
    eventually("the cart is gone", Duration::from_secs(30), || {
        let said = newest.call("get_cart", Some(id(&cart)), &json!({}));
        (said.errors() == ["not_found"]).then_some(())
    });
}

/// Taxes are added where they are not in the price already, and named in either case.
#[test]
fn taxes_follow_the_destination() {
    let shop = Gateway::start();
    let shopper = Shopper::rest(&shop);
    let buying = |region: &str| {
        let mut to = address();
        to["address_region"] = json!(region);
        let checkout = shopper.create(&json!({
            "line_items": lines(&[("var_abc123_blue_8", 1)]), "buyer": { "email": "buyer@example.com" },
            "fulfillment": shipping(&to),
        }));
        let tax: i64 = elements(&checkout["totals"])
            .iter()
            .filter(|total| total["type"] == "tax")
            .map(|total| total["amount"].as_i64().expect("an amount"))
            .sum();
        (tax, total(&checkout, "subtotal") + total(&checkout, "fulfillment"), checkout)
    };
    let (tax, ..) = buying("OR");
    assert_eq!(tax, 0);
    let (tax, taxed, checkout) = buying("CA");
    // 7.25 %, half a cent up; each line and the delivery are rounded on their own.
    assert!((tax - (taxed * 725 + 5_000) / 10_000).abs() <= 1, "{tax} of {taxed}: {checkout}");
    let (_, _, checkout) = buying("NY");
    assert_eq!(texts(&checkout["totals"], "type").iter().filter(|kind| **kind == "tax").count(), 3, "{checkout}");
}

/// Mistakes in the sales terms are reported, and nothing is changed.
#[test]
fn terms_that_make_no_sense_are_refused() {
    let data = harness::flower_shop();
    let before = terms(&data, None).expect("the terms");
    let present: Value = serde_json::from_str(&before).expect("JSON");
    for (pointer, wrong) in [
        ("/discounts", json!([{ "id": "x", "title": "X", "codes": ["X"], "off": "200%" }])),
        ("/shipping/rates", json!([{ "id": "x", "title": "X", "price": -1 }])),
        ("/shipping", json!({ "rates": "free" })),
        ("/shippping", json!({})),
    ] {
        let mut terms_of = present.clone();
        match terms_of.pointer_mut(pointer) {
            Some(place) => *place = wrong.clone(),
            None => terms_of[pointer.trim_start_matches('/')] = wrong.clone(),
        }
        let said = terms(&data, Some(&terms_of)).expect_err(pointer);
        assert!(!said.contains("panicked") && said.lines().count() < 10 && !said.is_empty(), "{pointer}: {said}");
    }
    assert_eq!(terms(&data, None).expect("the terms"), before);
}

/// Known buyers choose among the addresses that the shop has of them.
#[test]
fn a_known_buyer_is_offered_stored_addresses() {
    let data = harness::flower_shop();
    let shop = flower_shop(data.path(), &[]);
    for (release, transport) in [(Release::V2026_01_11, Transport::Rest), (Release::NEWEST, Transport::Tool)] {
        let shopper = Shopper::new(&shop, release, transport);
        let mut request = json!({
            "line_items": lines(&[("pot_ceramic", 1)]), "buyer": { "email": "John.Doe@example.com" },
            "fulfillment": { "methods": [{ "type": "shipping" }] },
        });
        let checkout = shopper.create(&request);
        let method = &checkout["fulfillment"]["methods"][0];
        assert_eq!(texts(&method["destinations"], "id"), ["addr_1", "addr_2"], "{checkout}");
        request["fulfillment"]["methods"][0] = json!({
            "id": method["id"], "type": "shipping", "line_item_ids": method["line_item_ids"],
            "selected_destination_id": "addr_2",
        });
        let checkout = shopper.update(&checkout, &request);
        assert_eq!(checkout["fulfillment"]["methods"][0]["selected_destination_id"], "addr_2", "{checkout}");
        assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
        request["buyer"]["email"] = json!("someone.else@example.com");
        let other = shopper.create(&request);
        assert!(!other.to_string().contains("456 Oak Ave"), "addresses of others are nobody's business: {other}");
    }
}
