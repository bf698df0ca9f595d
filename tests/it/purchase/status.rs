//! The states of a checkout: what can be done in each, and what is said to the rest.

use serde_json::json;
use ucp_core::Release;

use super::shopper::{Flowers, Shopper, errors, flowers, id, of_type, ready, ways};
use crate::{
    harness::{Gateway, elements},
    setup::Transport,
};

/// CHK-04, CHK-05, T-21: what is over stays as it is. REST says so with 409, MCP with a result.
#[test]
fn what_is_over_cannot_be_changed() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        for completed in [true, false] {
            let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
            let over = if completed {
                shopper.complete(&checkout, "success_token")
            } else {
                shopper.call("cancel_checkout", Some(id(&checkout)), &json!({})).document()
            };
            let expected = if completed { "completed" } else { "canceled" };
            assert_eq!(over["status"], expected);
            for (operation, payload) in [
                ("update_checkout", ready(&[("pot_ceramic", 2)])),
                ("complete_checkout", shopper.paying("success_token")),
                ("cancel_checkout", json!({})),
            ] {
                let said = shopper.call(operation, Some(id(&checkout)), &payload);
                let status = if transport == Transport::Rest || release < Release::V2026_04_08 { 409 } else { 200 };
                assert_eq!(said.status, status, "{release} {operation}: {said:?}");
                assert_eq!(said.errors().len(), 1, "{said:?}");
                if release >= Release::V2026_04_08 {
                    let outcome = said.document();
                    assert_eq!(outcome["ucp"]["status"], "error", "{outcome}");
                    assert_eq!(outcome.get("id"), None, "{outcome}");
                }
            }
            let after = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
            assert_eq!(after, over, "{release} {transport:?}");
        }
    }
}

/// Only what is ready is completed, and it is told what is missing.
#[test]
fn what_is_not_ready_is_not_paid_for() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&json!({ "line_items": super::shopper::lines(&[("pot_ceramic", 1)]) }));
        let said = shopper.complete(&checkout, "success_token");
        assert_eq!((&said["status"], id(&said)), (&json!("incomplete"), id(&checkout)), "{said}");
        assert!(!errors(&said).is_empty() && said.get("order").is_none(), "{said}");
    }
}

/// Each token of the sandbox, and what becomes of the checkout.
#[test]
fn payments_are_taken_declined_or_left_to_the_buyer() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));

        let declined = shopper.complete(&checkout, "fail_token");
        let [error] = errors(&declined).try_into().expect("one error");
        assert_eq!((&error["code"], &error["severity"]), (&json!("payment_failed"), &json!("recoverable")));
        assert!(declined.get("order").is_none(), "{declined}");
        assert!(["incomplete", "ready_for_complete"].contains(&declined["status"].as_str().expect("a status")));

        // CHK-02, CHK-14.
        let challenged = shopper.complete(&checkout, "challenge_token");
        assert_eq!(challenged["status"], "requires_escalation", "{challenged}");
        let [error] = errors(&challenged).try_into().expect("one error");
        assert_eq!((&error["code"], &error["severity"]), (&json!("requires_3ds"), &json!("requires_buyer_input")));
        assert!(challenged["continue_url"].is_string(), "{challenged}");

        for (payload, what) in [
            (super::shopper::paying_in(release, "no_such_handler", "success_token"), "handler"),
            (shopper.paying("no_such_token"), "token"),
        ] {
            let refused = shopper.call("complete_checkout", Some(id(&checkout)), &payload);
            let document = refused.document();
            assert!(refused.errors().contains(&"payment_failed".to_owned()), "{what}: {document}");
            assert!(document.get("order").is_none(), "{document}");
        }
        let paid = shopper.complete(&checkout, "success_token");
        assert_eq!((&paid["status"], errors(&paid).len()), (&json!("completed"), 0), "{paid}");
    }
}

/// T-39: nothing else is done to a checkout while nobody knows what became of its payment.
#[test]
fn a_payment_under_way_holds_the_checkout() {
    let shop = Flowers::open();
    let shopper = Shopper::rest(&shop);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let waiting = shopper.complete(&checkout, "slow_token");
    assert_eq!(waiting["status"], "complete_in_progress", "{waiting}");
    assert!(waiting.get("order").is_none(), "{waiting}");
    for operation in ["update_checkout", "complete_checkout"] {
        let payload = match operation {
            "update_checkout" => ready(&[("pot_ceramic", 5)]),
            _ => shopper.paying("success_token"),
        };
        let document = shopper.call(operation, Some(id(&checkout)), &payload).document();
        assert_eq!(document["status"], "complete_in_progress", "{operation}: {document}");
        assert_eq!((&document["totals"], &document["line_items"]), (&waiting["totals"], &waiting["line_items"]));
        assert!(!of_type(&document, "error").is_empty(), "{operation}: {document}");
    }
}

/// PAY-02, PAY-04: what the profile offers is what checkouts take.
#[test]
fn handlers_are_named_in_profiles_and_in_checkouts() {
    let shop = flowers();
    for release in Release::ALL.iter().copied() {
        let profile = shop.get(&format!("{}/.well-known/ucp", ucp_wire::documents::release_path(release))).json();
        let checkout = Shopper::new(&shop, release, Transport::Rest).create(&ready(&[("pot_ceramic", 1)]));
        let ids = |handlers: &serde_json::Value| -> Vec<String> {
            let entries = match handlers {
                serde_json::Value::Array(entries) => entries.clone(),
                map => {
                    let lists = map.as_object().unwrap_or_else(|| panic!("handlers: {map}")).values();
                    lists.flat_map(|list| elements(list).to_vec()).collect()
                }
            };
            entries.iter().map(|entry| id(entry).to_owned()).collect()
        };
        let (offered, taken) = if release == Release::V2026_01_11 {
            (ids(&profile["payment"]["handlers"]), ids(&checkout["payment"]["handlers"]))
        } else {
            (ids(&profile["ucp"]["payment_handlers"]), ids(&checkout["ucp"]["payment_handlers"]))
        };
        assert_eq!((offered, taken.as_slice()), (taken.clone(), ["mock_payment_handler".to_owned()].as_slice()));
    }
}

/// Sold-out items show wherever the catalog is read, in every process.
#[test]
fn goods_that_were_bought_are_gone_from_the_catalog() {
    let shop = Flowers::open();
    let second = super::shopper::flower_shop(shop.data(), &[]);
    let query = json!({ "id": "bouquet_sunflowers" });
    // Asked one after the other, the transports may be on different sides of the sale.
    let availability = |gateway: &Gateway| {
        let rest = gateway.product(&query)["product"]["variants"][0]["availability"].clone();
        let mcp = gateway.mcp_tool("get_product", &query).answer()["product"]["variants"][0]["availability"].clone();
        [rest, mcp]
    };
    for gateway in [&*shop, &second] {
        assert_eq!(availability(gateway), [(); 2].map(|()| json!({ "available": true, "status": "in_stock" })));
    }
    let shopper = Shopper::rest(&shop);
    let checkout = shopper.create(&ready(&[("bouquet_sunflowers", 9_000)]));
    let rest = checkout["line_items"][0]["quantity"].clone();
    assert_eq!(shopper.complete(&checkout, "success_token")["status"], "completed");
    for gateway in [&*shop, &second] {
        crate::harness::eventually("it is sold out", std::time::Duration::from_secs(15), || {
            let gone = json!({ "available": false, "status": "out_of_stock" });
            availability(gateway).iter().all(|said| *said == gone).then_some(())
        });
        let said = Shopper::rest(gateway).call("create_checkout", None, &ready(&[("bouquet_sunflowers", 1)]));
        assert_eq!(said.errors(), ["out_of_stock"], "{rest} were there");
    }
    // Other checkouts with these items learn of it at the latest when paying.
    let found = second.search(&json!({ "query": "sunflowers", "filters": { "available": true } }));
    assert_eq!(elements(&found["products"]).len(), 0, "only what is there is found");
}

/// Stock is checked once more when a checkout is completed, and a total that changed is not charged.
#[test]
fn what_was_sold_meanwhile_is_not_charged() {
    let shop = Flowers::open();
    let shopper = Shopper::rest(&shop);
    let slow = shopper.create(&ready(&[("bouquet_sunflowers", 2)]));
    assert_eq!(slow["status"], "ready_for_complete");
    let all = shopper.create(&ready(&[("bouquet_sunflowers", 9_000)]));
    assert_eq!(shopper.complete(&all, "success_token")["status"], "completed");
    let late = shopper.complete(&slow, "success_token");
    assert_eq!(late["status"], "incomplete", "{late}");
    assert!(errors(&late).iter().any(|error| error["code"] == "out_of_stock"), "{late}");
    assert!(late.get("order").is_none(), "{late}");
}
