//! A change that is asked for again is not made again, whichever way it is asked for (rules IDM-01 to IDM-07).

use serde_json::{Value, json};
use ucp_core::{Operation, Release};

use super::shopper::{Flowers, Said, Shopper, flowers, id, lines, new_key, ready, ways};
use crate::setup::Transport;

/// A request for each operation that writes, and the resource it is about.
fn writes<'a>(shopper: &Shopper<'a>) -> Vec<(&'static str, Option<String>, Value, Value)> {
    let cart = |quantity: u64| json!({ "line_items": lines(&[("pot_ceramic", quantity)]) });
    let checkout = |quantity: u64| ready(&[("pot_ceramic", quantity)]);
    let new = || Some(id(&shopper.create(&checkout(1))).to_owned());
    let other = shopper.paying("fail_token");
    let mut all = vec![
        ("create_checkout", None, checkout(1), checkout(2)),
        ("update_checkout", new(), checkout(3), checkout(4)),
        ("complete_checkout", new(), shopper.paying("success_token"), other),
    ];
    if !shopper.founding() {
        let made = shopper.call("create_cart", None, &cart(1)).document();
        all.push(("create_cart", None, cart(1), cart(2)));
        all.push(("update_cart", Some(id(&made).to_owned()), cart(3), cart(4)));
    }
    all
}

/// Checks that two responses are equal, byte for byte.
#[track_caller]
fn same(one: &Said, other: &Said) {
    assert_eq!((one.text(), one.status), (other.text(), other.status));
}

#[test]
fn a_retry_gets_the_same_bytes_with_the_same_status() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        for (operation, resource, payload, _) in writes(&shopper) {
            let key = new_key();
            let first = shopper.keyed(Some(&key), operation, resource.as_deref(), &payload);
            for _ in 0..2 {
                let again = shopper.keyed(Some(&key), operation, resource.as_deref(), &payload);
                same(&first, &again);
                if transport == Transport::Rest {
                    assert_eq!(first.response.body, again.response.body);
                }
            }
        }
    }
}

/// T-09: the bytes of a retry over the other transport are others, what it asks is the same.
#[test]
fn a_retry_may_come_over_another_transport() {
    let shop = flowers();
    for release in [Release::V2026_01_23, Release::V2026_04_08, Release::V2026_08_25] {
        for (operation, resource, payload, _) in writes(&Shopper::new(&shop, release, Transport::Rest)) {
            let key = new_key();
            let said = Transport::ALL.map(|transport| {
                Shopper::new(&shop, release, transport).keyed(Some(&key), operation, resource.as_deref(), &payload)
            });
            let first: Value = said[0].document();
            for other in &said[1..] {
                assert_eq!(other.document(), first, "{release} {operation}");
            }
            assert_eq!(said[0].text(), said[1].text(), "{release} {operation}");
        }
    }
    // The formatting of the JSON does not matter either.
    let shopper = Shopper::rest(&shop);
    let (key, payload) = (new_key(), json!({ "line_items": lines(&[("pot_ceramic", 1)]) }));
    let first = shopper.keyed(Some(&key), "create_cart", None, &payload);
    let spaced = br#"{ "line_items" : [ { "quantity": 1.0, "item": { "id": "pot\u005fceramic" } } ] }"#;
    let headers = [crate::harness::REST_HEADERS, &[("Idempotency-Key", key.as_str())]].concat();
    let again = shop.send("POST", "/ucp/2026-08-25/carts", &headers, spaced);
    assert_eq!((again.status, again.body.as_str()), (201, first.text()));
}

#[test]
fn a_key_is_good_for_one_request_only() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        for (operation, resource, payload, other) in writes(&shopper) {
            let key = new_key();
            let first = shopper.keyed(Some(&key), operation, resource.as_deref(), &payload);
            let conflict = shopper.keyed(Some(&key), operation, resource.as_deref(), &other);
            let (code, content, body) = conflict.refusal();
            assert_eq!((conflict.status, code.as_str()), (409, "idempotency_conflict"), "{operation}: {conflict:?}");
            assert!(content.contains("key") && body["accepted"].is_string(), "{body}");
            assert_eq!(body["retryable"], false, "{body}");
            if transport != Transport::Rest {
                let number = if shopper.founding() { -32603 } else { -32000 };
                assert_eq!(conflict.failure.as_ref().expect("a failure")["code"], number, "{conflict:?}");
            }
            // Nothing came of it, and the first answer stands.
            same(&first, &shopper.keyed(Some(&key), operation, resource.as_deref(), &payload));
        }
    }
}

/// A key is one's own, and belongs to one operation (IDM-04).
#[test]
fn keys_do_not_get_in_each_others_way() {
    let shop = flowers();
    let (one, other) = (Shopper::rest(&shop), Shopper::rest(&shop).named("https://other.example.com/p"));
    let key = new_key();
    let create = |shopper: &Shopper<'_>, quantity: u64| {
        let said = shopper.keyed(Some(&key), "create_checkout", None, &ready(&[("pot_ceramic", quantity)]));
        id(&said.document()).to_owned()
    };
    let (mine, theirs) = (create(&one, 1), create(&other, 2));
    assert_ne!(mine, theirs);
    let second = id(&one.create(&ready(&[("pot_ceramic", 1)]))).to_owned();
    let canceled = one.keyed(Some(&key), "cancel_checkout", Some(&mine), &json!({}));
    assert_eq!((canceled.status, &canceled.document()["status"]), (200, &json!("canceled")));
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let again = shopper.keyed(Some(&key), "cancel_checkout", Some(&second), &json!({}));
        assert_eq!((again.status, again.refusal().0.as_str()), (409, "idempotency_conflict"), "{again:?}");
        if transport != Transport::Rest {
            let number = if shopper.founding() { -32603 } else { -32000 };
            assert_eq!(again.failure.expect("a failure")["code"], number);
        }
    }
    assert_eq!(one.call("get_checkout", Some(&second), &json!({})).document()["status"], "ready_for_complete");
    let cart = one.keyed(Some(&key), "create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) }));
    assert_eq!(cart.status, 201);
}

/// IDM-01: what gives something up, or pays, is only done under a key.
#[test]
fn what_needs_a_key_says_so() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        for operation in Operation::ALL.iter().map(|operation| operation.row()).filter(|row| row.effect.needs_key()) {
            if shopper.founding() && operation.name == "cancel_cart" {
                continue;
            }
            let resource = if operation.name == "cancel_cart" {
                shopper.call("create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) })).document()
            } else {
                shopper.create(&ready(&[("pot_ceramic", 1)]))
            };
            let payload = shopper.paying("success_token");
            for key in [None, Some(""), Some("a b"), Some("\u{e9}"), Some("k".repeat(256).as_str())] {
                if transport == Transport::Rest && key == Some("\u{e9}") {
                    continue; // No header can hold it as text.
                }
                let said = shopper.keyed(key, operation.name, Some(id(&resource)), &payload);
                let (code, content, body) = said.refusal();
                assert_eq!((said.status, code.as_str()), (400, "invalid_request"), "{key:?}: {said:?}");
                assert!(content.contains("idempotency key"), "{content}");
                assert!(body["accepted"].as_str().is_some_and(|text| text.contains("UUID")), "{body}");
                if transport != Transport::Rest {
                    assert_eq!(said.failure.expect("a failure")["code"], -32602);
                }
            }
            let read = if operation.name == "cancel_cart" { "get_cart" } else { "get_checkout" };
            assert_eq!(shopper.call(read, Some(id(&resource)), &json!({})).document(), resource, "nothing was done");
        }
    }
}

/// A rejected request does not consume its key.
#[test]
fn a_request_that_makes_no_sense_burns_no_key() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let key = new_key();
        let wrong = json!({ "line_items": [{ "item": { "id": "pot_ceramic" }, "quantity": 0 }] });
        assert_eq!(shopper.keyed(Some(&key), "create_checkout", None, &wrong).status, 400);
        let said = shopper.keyed(Some(&key), "create_checkout", None, &ready(&[("pot_ceramic", 1)]));
        assert_eq!(said.document()["status"], "ready_for_complete");
    }
}

/// A business outcome is kept like any other answer.
#[test]
fn an_answer_that_there_is_nothing_is_replayed_too() {
    let shop = flowers();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        let (key, payload) = (new_key(), json!({ "line_items": lines(&[("no_such_thing", 1)]) }));
        let [one, other] = [0, 1].map(|_| shopper.keyed(Some(&key), "create_checkout", None, &payload));
        assert_eq!(one.errors(), ["item_unavailable"]);
        let mut documents = [&one, &other].map(|said| said.response.json());
        for document in &mut documents {
            // The one thing that is each call's own.
            for (place, own) in [("/error/data", "request_id"), ("/result", "_meta")] {
                if let Some(members) = document.pointer_mut(place).and_then(Value::as_object_mut) {
                    members.shift_remove(own);
                }
            }
        }
        assert_eq!((one.status, &documents[0]), (other.status, &documents[1]));
        // A declined payment as well: whoever tries again needs another key.
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let (key, declined) = (new_key(), shopper.paying("fail_token"));
        let complete = |key: &str| shopper.keyed(Some(key), "complete_checkout", Some(id(&checkout)), &declined);
        let first = complete(&key);
        assert_eq!(first.errors(), ["payment_failed"], "{first:?}");
        same(&first, &complete(&key));
        let paid = shopper.complete(&checkout, "success_token");
        assert_eq!(paid["status"], "completed");
        same(&first, &complete(&key));
    }
}

/// Many at once under one key: one of them is carried out, and all get its answer.
#[test]
fn calls_at_the_same_time_are_one_call() {
    let shop = Flowers::open();
    for operation in ["create_checkout", "complete_checkout", "cancel_checkout"] {
        let shopper = Shopper::rest(&shop);
        let payload = match operation {
            "create_checkout" => ready(&[("pot_ceramic", 1)]),
            _ => shopper.paying("success_token"),
        };
        let resource = (operation != "create_checkout").then(|| shopper.create(&ready(&[("pot_ceramic", 1)])));
        let (key, resource) = (new_key(), resource.as_ref().map(id));
        let said: Vec<_> = std::thread::scope(|scope| {
            let calls: Vec<_> = (0..12)
                .map(|number| {
                    let shopper = shopper.over(Transport::ALL[number % 2]);
                    let (key, payload) = (&key, &payload);
                    scope.spawn(move || shopper.keyed(Some(key), operation, resource, payload))
                })
                .collect();
            calls.into_iter().map(|call| call.join().expect("an answer")).collect()
        });
        for other in &said[1..] {
            assert_eq!(other.text(), said[0].text(), "{operation}");
        }
    }
    // One of the calls that completed something made an order, and no more than one.
    let shopper = Shopper::rest(&shop);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let payload = shopper.paying("success_token");
    let said: Vec<_> = std::thread::scope(|scope| {
        let complete = || shopper.call("complete_checkout", Some(id(&checkout)), &payload);
        let calls: Vec<_> = (0..8).map(|_| scope.spawn(complete)).collect();
        calls.into_iter().map(|call| call.join().expect("an answer")).collect()
    });
    let orders = said.iter().filter(|said| said.status == 200).count();
    assert_eq!(orders, 1, "keys of their own, one purchase: {said:?}");
    assert!(said.iter().all(|said| said.status == 200 || said.status == 409), "{said:?}");
}

/// The answer is on disk before it is given.
#[test]
fn a_retry_after_a_restart_gets_the_same_bytes() {
    let mut shop = Flowers::open();
    let data = shop.data().to_owned();
    let mut kept = Vec::new();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop, release, transport);
        for (operation, resource, payload, _) in writes(&shopper) {
            let key = new_key();
            let said = shopper.keyed(Some(&key), operation, resource.as_deref(), &payload);
            kept.push((release, transport, key, operation, resource, payload, said));
        }
    }
    shop.kill();
    let after = super::shopper::flower_shop(&data, &[]);
    for (release, transport, key, operation, resource, payload, said) in kept {
        let again =
            Shopper::new(&after, release, transport).keyed(Some(&key), operation, resource.as_deref(), &payload);
        same(&said, &again);
        if resource.is_some() && operation == "complete_checkout" {
            assert_eq!(again.document()["status"], "completed");
        }
    }
}

/// Two gateways on one directory are one shop.
#[test]
fn a_retry_may_reach_another_process() {
    let shop = Flowers::open();
    let second = super::shopper::flower_shop(shop.data(), &[]);
    let shopper = Shopper::rest(&shop);
    for (operation, resource, payload, other) in writes(&shopper) {
        let key = new_key();
        let first = shopper.keyed(Some(&key), operation, resource.as_deref(), &payload);
        let elsewhere = shopper.at(&second);
        // The second process reaches the shop under another address.
        let again = elsewhere.keyed(Some(&key), operation, resource.as_deref(), &payload);
        same(&first, &again);
        assert_eq!(elsewhere.keyed(Some(&key), operation, resource.as_deref(), &other).status, 409);
    }
    // At the same time, from both sides.
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let (key, payload) = (new_key(), shopper.paying("success_token"));
    let said: Vec<_> = std::thread::scope(|scope| {
        let calls: Vec<_> = (0..8)
            .map(|number| {
                let shopper = if number % 2 == 0 { shopper.clone() } else { shopper.at(&second) };
                let (key, payload, checkout) = (&key, &payload, id(&checkout));
                scope.spawn(move || shopper.keyed(Some(key), "complete_checkout", Some(checkout), payload))
            })
            .collect();
        calls.into_iter().map(|call| call.join().expect("an answer")).collect()
    });
    let documents: Vec<_> = said.iter().filter(|said| said.status == 200).map(Said::document).collect();
    let orders: std::collections::BTreeSet<_> =
        documents.iter().filter_map(|document| document["order"]["id"].as_str()).collect();
    assert_eq!(orders.len(), 1, "{said:?}");
}
