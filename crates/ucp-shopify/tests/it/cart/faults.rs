//! Faults between the gateway and the shop: nothing is sent twice, and every response is true.

use std::{
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use ucp_core::{Code, Outcome, call::SaleRequest, cart, checkout, purchase::draft::Draft};
use ucp_net::{Lane, breaker::Circuit, rate::Rate};
use ucp_testkit::{PATIENCE, until};

use super::{
    Counter, codes, goods, item, sent, shown,
    stub::{Fault, Stub},
};

/// A shop whose first change of a cart goes wrong.
async fn first_change(fault: impl Fn() -> Fault + Send + Sync + 'static) -> Stub {
    Stub::failing(move |asked, number| (asked.operation == "CartChange" && number == 0).then(&fault)).await
}

fn throttled() -> Value {
    json!({ "errors": [{ "message": "Throttled", "extensions": { "code": "THROTTLED" } }] })
}

#[tokio::test(start_paused = true)]
async fn a_change_of_which_nobody_knows_is_looked_at_and_not_sent_again() {
    const LONG: Duration = Duration::from_secs(60);
    for after in [true, false] {
        let faults: [fn(bool) -> Fault; 4] = [
            |after| Fault::Torn { after },
            |after| Fault::Late { after, wait: LONG },
            |after| Fault::Document { after, document: throttled() },
            |after| Fault::Document {
                after,
                document: json!({ "data": null, "errors": [{ "message": "Internal error." }] }),
            },
        ];
        for (kind, fault) in faults.into_iter().enumerate() {
            let stub = first_change(move || fault(after)).await;
            let counter = Counter::impatient(&stub, Duration::from_millis(300)).await;
            let cart = counter.create_cart(goods(&[(1, 1), (2, 1)])).await;
            let wanted = Draft { codes: Some(vec!["TEN".into()]), ..goods(&[(1, 3), (3, 1)]) };
            let updated = counter.try_update_cart(&cart.id, wanted.clone()).await;
            let place = format!("fault {kind}, after {after}");
            assert_eq!(stub.asked("CartChange").len(), 1, "{place}");
            assert!(kind > 2 || counter.log.has("cart update outcome unknown"), "{place}: it is logged");
            if after {
                // All of it is there: nothing is left to be said.
                let updated = updated.expect("carried out");
                assert_eq!(updated.goods(), [(item(1).as_str(), 3), (item(3).as_str(), 1)], "{place}");
                assert_eq!((updated.total, updated.codes().len()), (3_600, 0), "{place}: {:?}", updated.messages);
            } else {
                // Nothing of it is: the call fails, so that no answer is kept that another try would replay.
                let refusal = updated.expect_err("refused");
                assert_eq!(refusal.code, Code::Unavailable, "{place}");
                assert!(refusal.retry_after.is_some(), "{place}");
                assert!(refusal.content.contains("not all of the change is there"), "{place}: {}", refusal.content);
            }
            // Repeated, it is as it was stated, with one more request where it was not there.
            let again = counter.update_cart(&cart.id, wanted).await;
            assert_eq!((again.total, again.codes().len()), (3_600, 0), "{place}: {:?}", again.messages);
            assert_eq!(stub.asked("CartChange").len(), if after { 1 } else { 2 }, "{place}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn nobody_is_told_that_nothing_was_done_where_nobody_knows() {
    for (status, waits) in [(500, 1), (430, 300)] {
        let broken = Arc::new(AtomicBool::new(false));
        let now = Arc::clone(&broken);
        let stub = Stub::failing(move |asked, _| match asked.operation.as_str() {
            "CartChange" => {
                now.store(true, Ordering::Relaxed);
                Some(if status == 500 { Fault::Torn { after: true } } else { Fault::Status(430) })
            }
            "CartById" | "Shop" if now.load(Ordering::Relaxed) => Some(Fault::Status(status)),
            _ => None,
        })
        .await;
        let counter = Counter::behind(&stub).await;
        let cart = counter.create_cart(goods(&[(1, 1)])).await;
        let refusal = counter.try_update_cart(&cart.id, goods(&[(1, 2)])).await.expect_err("refused");
        assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(waits)));
        assert!(!refusal.content.contains("Nothing was done"), "{}", refusal.content);
        assert_eq!(stub.asked("CartChange").len(), 1);
        if status == 430 {
            // A shop that suspects an attack rejects everything: nothing was done.
            let upstream = counter.storefront.client().upstream();
            let open = async || matches!(upstream.circuit(Lane::Cart), Circuit::Open(_)).then_some(());
            until("the gateway's own question to be refused", PATIENCE, open).await;
            let before = stub.asked("CartById").len();
            let refusal = counter.try_update_cart(&cart.id, goods(&[(1, 2)])).await.expect_err("refused");
            assert!(refusal.content.contains("Nothing was done"), "{}", refusal.content);
            assert_eq!((stub.asked("CartById").len(), stub.writes()), (before, 2));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_new_cart_is_asked_for_once() {
    type Case = (fn() -> Fault, &'static str);
    let faults: [Case; 4] = [
        (|| Fault::Torn { after: true }, "not known"),
        (|| Fault::Document { after: false, document: throttled() }, "an invalid response"),
        (
            || Fault::Document {
                after: false,
                document: json!({ "data": { "created": null }, "errors": [{ "message": "x", "path": ["created"] }] }),
            },
            "couldn't create a cart",
        ),
        (|| Fault::Status(503), "an invalid response"),
    ];
    for (fault, content) in faults {
        let stub =
            Stub::failing(move |asked, number| (asked.operation == "CartCreate" && number == 0).then(fault)).await;
        let counter = Counter::behind(&stub).await;
        let draft = || SaleRequest::CreateCart(cart::Create { draft: goods(&[(1, 1)]) });
        let refusal = counter.call(draft()).await.expect_err("refused");
        assert_eq!((refusal.code, refusal.retry_after.is_some()), (Code::Unavailable, true));
        assert!(refusal.content.contains(content), "{}", refusal.content);
        assert_eq!(stub.writes(), 1);
        assert!(matches!(counter.call(draft()).await, Ok(Outcome::Answer(_))));
    }
}

#[tokio::test(start_paused = true)]
async fn after_half_of_a_change_the_call_fails_and_can_be_repeated() {
    // Removed, and nothing added; then both, and no codes.
    for (carried_out, there) in [(1, &[(1, 1)][..]), (2, &[(1, 1), (3, 1)])] {
        let stub = first_change(move || Fault::Half(carried_out)).await;
        let counter = Counter::behind(&stub).await;
        let cart = counter.create_cart(goods(&[(1, 1), (2, 1)])).await;
        let wanted = Draft { codes: Some(vec!["TEN".into()]), ..goods(&[(1, 1), (3, 1)]) };
        let refusal = counter.try_update_cart(&cart.id, wanted.clone()).await.expect_err("refused");
        assert_eq!((refusal.code, stub.writes()), (Code::Unavailable, 2));
        assert_eq!(stub.goods(), there.iter().map(|(number, quantity)| (item(*number), *quantity)).collect::<Vec<_>>());
        let again = counter.update_cart(&cart.id, wanted).await;
        assert_eq!((again.total, again.codes().len(), stub.goods()), (1_800, 0, vec![(item(1), 1), (item(3), 1)]));
    }
}

#[tokio::test(start_paused = true)]
async fn how_goods_travel_may_be_uncertain_too() {
    for (after, option, total) in [(true, "express", 2_500), (false, "standard", 1_590)] {
        let stub =
            Stub::failing(move |asked, _| (!asked.variables["delivery"].is_null()).then_some(Fault::Torn { after }))
                .await;
        let counter = Counter::behind(&stub).await;
        let checkout = counter.create_checkout(sent(goods(&[(1, 1)]), "US", Some("express")), None).await;
        assert_eq!((checkout.total, stub.carts(), stub.writes()), (total, 1, 2));
        assert_eq!(checkout.delivery, Some((Some("home".into()), vec![Some(option.into())])));
        assert_eq!(checkout.codes().contains(&"change_uncertain"), !after, "{:?}", checkout.messages);
        assert_eq!(checkout.status, Some(if after { "requires_escalation" } else { "incomplete" }));
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_done_before_a_choice_that_was_never_sent_is_told() {
    let stub = Stub::serve().await;
    // The shop's description takes two calls, the cart a third: there is no room for a fourth.
    let (per_second, burst) = (NonZeroU32::MIN, NonZeroU32::new(3).expect("three"));
    let rate = Rate { per_second, burst, max_wait: Duration::ZERO };
    let counter = Counter::with(&stub, |upstream| upstream.rate = Some(rate)).await;
    let checkout = counter.create_checkout(sent(goods(&[(1, 1)]), "US", Some("express")), None).await;
    assert_eq!((checkout.total, stub.writes(), stub.carts()), (1_590, 1, 1));
    assert!(checkout.codes().contains(&"change_uncertain"), "{:?}", checkout.messages);
    assert_eq!(checkout.status, Some("incomplete"));
}

#[tokio::test(start_paused = true)]
async fn a_cart_that_the_shop_has_given_up_is_made_anew() {
    let gone = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&gone);
    let stub = Stub::failing(move |asked, _| {
        // It is there when it is looked at, and no longer when it is changed.
        (asked.operation == "CartChange" && now.load(Ordering::Relaxed)).then_some(Fault::Expired)
    })
    .await;
    let counter = Counter::behind(&stub).await;
    let mut wanted = Draft { codes: Some(vec!["TEN".into()]), ..goods(&[(1, 2), (2, 1)]) };
    let cart = counter.create_cart(wanted.clone()).await;
    let first = cart.continue_url.clone().expect("a page");
    stub.expire();
    let renewed = counter.update_cart(&cart.id, wanted.clone()).await;
    assert_eq!((renewed.id.as_str(), &renewed.lines, renewed.total), (cart.id.as_str(), &cart.lines, cart.total));
    assert!(renewed.codes().is_empty() && renewed.continue_url.as_ref() != Some(&first), "{renewed:?}");
    gone.store(true, Ordering::Relaxed);
    wanted.line_items[0].quantity = 4;
    let again = counter.update_cart(&cart.id, wanted).await;
    assert_eq!(again.goods(), [(item(1).as_str(), 4), (item(2).as_str(), 1)]);
    assert_eq!(
        again.lines.iter().map(|line| &line.0).collect::<Vec<_>>(),
        cart.lines.iter().map(|line| &line.0).collect::<Vec<_>>()
    );
    assert!(again.codes().is_empty(), "{:?}", again.messages);
    assert_eq!((stub.carts(), stub.asked("CartCreate").len()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn a_cart_that_the_shop_has_given_up_is_none_to_look_at() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let cart = counter.create_cart(goods(&[(1, 1)])).await;
    let checkout = counter.create_checkout(goods(&[(1, 1)]), None).await;
    stub.expire();
    let outcome = counter.get_cart(&cart.id).await.expect("carried out");
    let Outcome::NoResource { messages, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(codes(&messages), ["not_found"]);
    let looked = shown(counter.get_checkout(&checkout.id).await.expect("carried out"));
    assert_eq!((looked.status, looked.codes()), (Some("requires_escalation"), vec!["purchase_unconfirmed"]));
    // The buyer may have paid: nothing is put in its place that could be paid for again, now or later.
    let made = stub.asked("CartCreate").len();
    for _ in 0..2 {
        let update = checkout::Update { id: checkout.id.clone(), draft: goods(&[(1, 2)]) };
        let updated = shown(counter.call(SaleRequest::UpdateCheckout(update)).await.expect("carried out"));
        assert_eq!((updated.status, updated.codes()), (Some("requires_escalation"), vec!["purchase_unconfirmed"]));
        assert_eq!(updated.goods(), looked.goods());
    }
    assert_eq!(stub.asked("CartCreate").len(), made);
    // With nothing to put into a new one there is nothing, and that can be looked at.
    let mut empty = goods(&[]);
    empty.buyer = None;
    let emptied = counter.update_cart(&cart.id, empty).await;
    assert_eq!((emptied.lines.len(), emptied.total, emptied.continue_url.is_some()), (0, 0, false));
    let looked = shown(counter.get_cart(&cart.id).await.expect("carried out"));
    assert_eq!((looked.lines.len(), looked.total), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_cart_that_cannot_be_shown_is_not_one_that_is_gone() {
    let broken = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&broken);
    let stub = Stub::failing(move |asked, _| {
        let error = json!({ "message": "Internal error.", "path": ["cart"], "extensions": { "code": "INTERNAL_SERVER_ERROR" } });
        let document = json!({ "data": { "cart": null }, "errors": [error] });
        (asked.operation == "CartById" && now.load(Ordering::Relaxed)).then(|| Fault::Document { after: false, document })
    })
    .await;
    let counter = Counter::behind(&stub).await;
    let cart = counter.create_cart(goods(&[(1, 1)])).await;
    let checkout = counter.create_checkout(goods(&[(1, 1)]), Some(&cart.id)).await;
    broken.store(true, Ordering::Relaxed);
    for result in [
        counter.get_cart(&cart.id).await,
        counter.get_checkout(&checkout.id).await,
        counter.call(SaleRequest::UpdateCart(cart::Update { id: cart.id.clone(), draft: goods(&[(1, 2)]) })).await,
    ] {
        assert_eq!(result.expect_err("refused").code, Code::Unavailable);
    }
    assert_eq!((stub.carts(), stub.asked("CartCreate").len()), (2, 2));
    broken.store(false, Ordering::Relaxed);
    assert!(matches!(counter.get_cart(&cart.id).await, Ok(Outcome::Answer(_))));
}

#[tokio::test(start_paused = true)]
async fn an_amount_that_is_none_is_never_a_price() {
    fn each(value: &mut Value, change: fn(&mut Value)) {
        match value {
            Value::Object(members) => {
                if members.contains_key("currencyCode") {
                    return change(value);
                }
                members.values_mut().for_each(|member| each(member, change));
            }
            Value::Array(members) => members.iter_mut().for_each(|member| each(member, change)),
            _ => {}
        }
    }
    let spoils: [fn(&mut Value); 4] = [
        |data| each(data, |money| *money = Value::Null),
        |data| each(data, |money| money["amount"] = Value::Null),
        |data| each(data, |money| money["currencyCode"] = Value::Null),
        |data| each(data, |money| money["amount"] = "-1.0".into()),
    ];
    for spoil in spoils {
        let broken = Arc::new(AtomicBool::new(false));
        let now = Arc::clone(&broken);
        let stub = Stub::failing(move |asked, number| match asked.operation.as_str() {
            // The response to the first change cannot be read; the cart can.
            "CartChange" if number == 0 => Some(Fault::Spoiled(spoil)),
            "CartById" if now.load(Ordering::Relaxed) => Some(Fault::Spoiled(spoil)),
            "CartCreate" if number == 1 => Some(Fault::Spoiled(spoil)),
            _ => None,
        })
        .await;
        let counter = Counter::behind(&stub).await;
        let cart = counter.create_cart(goods(&[(1, 1)])).await;
        let updated = counter.try_update_cart(&cart.id, goods(&[(1, 2)])).await;
        // An amount below zero is seen only where it is added up; then nobody knows what is there.
        if let Ok(updated) = updated {
            assert_eq!((updated.total, updated.codes().len()), (2_000, 0), "{:?}", updated.messages);
        }
        assert_eq!(stub.asked("CartChange").len(), 1);
        broken.store(true, Ordering::Relaxed);
        assert_eq!(counter.get_cart(&cart.id).await.expect_err("refused").code, Code::Unavailable);
        let draft = goods(&[(1, 1)]);
        let refusal = counter.call(SaleRequest::CreateCart(cart::Create { draft })).await.expect_err("refused");
        assert_eq!(refusal.code, Code::Unavailable);
        broken.store(false, Ordering::Relaxed);
        assert_eq!(shown(counter.get_cart(&cart.id).await.expect("carried out")).total, 2_000);
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_shop_says_of_its_carts_is_kept_to_itself() {
    let said = |code: &str| {
        let content = format!("The cart gid://shopify/Cart/1?key={} is busy.", super::stub::CANARY);
        json!({ "code": code, "field": ["cartId"], "message": content, "target": "gid://shopify/Cart/1" })
    };
    for (errors, warnings) in [
        (json!([said("NEW_CODE")]), json!([said("NEW_WARNING")])),
        (json!([said("INVALID")]), json!([said("DISCOUNT_NOT_FOUND")])),
        (json!([said("é".repeat(40).as_str())]), json!([said(format!("a{}", "é".repeat(40)).as_str())])),
    ] {
        let outcome = json!({ "cart": null, "userErrors": errors, "warnings": warnings });
        let document = json!({ "data": { "created": outcome, "update": outcome } });
        let stub = Stub::failing(move |asked, number| match (asked.operation.as_str(), number) {
            ("CartChange", _) | ("CartCreate", 1) => Some(Fault::Document { after: false, document: document.clone() }),
            _ => None,
        })
        .await;
        let counter = Counter::behind(&stub).await;
        // `call` looks for it in everything.
        let cart = counter.create_cart(goods(&[(1, 1)])).await;
        let updated = counter.update_cart(&cart.id, goods(&[(1, 2)])).await;
        assert_eq!((updated.total, updated.messages.len()), (1_000, 3), "{:?}", updated.messages);
        let draft = goods(&[(1, 1)]);
        assert!(counter.call(SaleRequest::CreateCart(cart::Create { draft })).await.is_err());
    }
}
