//! Keeps the shop's cart equal to the stated one, and writes nothing without a reason.

use serde_json::json;
use ucp_core::{Code, Outcome, call::SaleRequest, purchase::draft::Draft};
use ucp_testkit::wait;

use super::{
    Counter, codes, goods, item, sent, shown,
    stub::{Fault, Rule, Stub},
};

#[tokio::test(start_paused = true)]
async fn an_update_replaces_everything_and_a_repeated_one_writes_nothing() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let cart = counter.create_cart(Draft { codes: Some(vec!["TEN".into()]), ..goods(&[(1, 2), (2, 1)]) }).await;
    assert_eq!((cart.goods(), cart.total), (vec![(item(1).as_str(), 2), (item(2).as_str(), 1)], 2_700));
    assert_eq!((stub.writes(), stub.codes()), (1, vec!["TEN".to_owned()]));

    // In another order, with one gone, one changed, one new, no codes, and another buyer.
    let mut wanted = goods(&[(3, 1), (1, 5)]);
    wanted.buyer = None;
    wanted.attribution = Some(serde_json::Map::from_iter([("utm".to_owned(), json!("x"))]));
    let updated = counter.update_cart(&cart.id, wanted.clone()).await;
    assert_eq!((updated.goods(), updated.total), (vec![(item(3).as_str(), 1), (item(1).as_str(), 5)], 6_000));
    assert!(updated.codes().is_empty(), "{updated:?}");
    assert_eq!(updated.lines[1].0, cart.lines[0].0, "the same line");
    assert_eq!(stub.goods(), [(item(1), 5), (item(3), 1)]);
    assert_eq!((stub.codes().len(), stub.buyer()), (0, json!({ "buyer": {}, "address": null })));
    assert_eq!(stub.writes(), 2, "all changes are one request");

    // With or without the names of lines it is the same.
    for ids in [false, true] {
        let mut again = wanted.clone();
        if ids {
            for (line, (id, ..)) in again.line_items.iter_mut().zip(&updated.lines) {
                line.id = Some(id.clone());
            }
        }
        let same = counter.update_cart(&cart.id, again).await;
        assert_eq!(same.lines, updated.lines);
        assert_eq!(stub.writes(), 2, "nothing is to be changed");
    }
    let looked = shown(counter.get_cart(&cart.id).await.expect("carried out"));
    assert_eq!((looked.lines, looked.total), (updated.lines, updated.total));
    assert_eq!(stub.writes(), 2);
}

#[tokio::test(start_paused = true)]
async fn lines_of_the_same_goods_are_one() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let twice = goods(&[(1, 1), (2, 1), (1, 2)]);
    let cart = counter.create_cart(twice.clone()).await;
    assert_eq!(cart.goods(), [(item(1).as_str(), 3), (item(2).as_str(), 1)]);
    assert!(cart.codes().is_empty());
    let again = counter.update_cart(&cart.id, twice).await;
    assert_eq!((again.lines, stub.writes()), (cart.lines, 1));
}

#[tokio::test(start_paused = true)]
async fn what_the_shop_does_not_take_leaves_the_rest() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    stub.rule(&item(7), Rule { unknown: true, ..Rule::default() });
    stub.rule(&item(8), Rule { subscription: true, ..Rule::default() });
    stub.rule(&item(9), Rule { sixes: true, ..Rule::default() });
    stub.rule(&item(10), Rule { stock: Some(2), ..Rule::default() });
    stub.rule(&item(11), Rule { stock: Some(0), ..Rule::default() });
    let cart = counter.create_cart(goods(&[(7, 1), (1, 1), (8, 1), (9, 5), (10, 4), (11, 1)])).await;
    assert_eq!(cart.goods(), [(item(1).as_str(), 1), (item(10).as_str(), 2)]);
    let said = cart.codes();
    for expected in ["item_unavailable", "quantity_invalid", "quantity_adjusted", "out_of_stock"] {
        assert!(said.contains(&expected), "{said:?}");
    }
    assert_eq!(said.iter().filter(|code| **code == "item_unavailable").count(), 2, "{said:?}");
    assert_eq!(said.len(), 5, "{:?}", cart.messages);

    // The same when they are added to what is there: one refused line refuses all of its request.
    let cart = counter.create_cart(goods(&[(9, 6)])).await;
    let updated = counter.update_cart(&cart.id, goods(&[(9, 7), (7, 1), (2, 1), (3, 2)])).await;
    assert_eq!(updated.goods(), [(item(9).as_str(), 6), (item(2).as_str(), 1), (item(3).as_str(), 2)]);
    assert_eq!(updated.codes(), ["quantity_invalid", "item_unavailable"]);
    assert_eq!(updated.messages[0].path(), Some("$.line_items[0]"));

    // Nothing that could be bought at all is no cart, and the reason is told.
    for (lines, code) in
        [(&[(7, 1)][..], "item_unavailable"), (&[(9, 5)], "quantity_invalid"), (&[], "item_unavailable")]
    {
        let draft = goods(lines);
        let outcome = counter.call(SaleRequest::CreateCart(ucp_core::cart::Create { draft })).await;
        let Ok(Outcome::NoResource { messages, .. }) = outcome else { panic!("{outcome:?}") };
        assert_eq!(codes(&messages), [code], "{lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_of_no_shop_like_this_is_not_asked_about() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let mut wanted = goods(&[(1, 1), (2, 1)]);
    wanted.line_items[1].item = "oil".into();
    let cart = counter.create_cart(wanted.clone()).await;
    assert_eq!((cart.goods(), cart.codes()), (vec![(item(1).as_str(), 1)], vec!["item_unavailable"]));
    let updated = counter.update_cart(&cart.id, wanted).await;
    assert_eq!((updated.codes(), stub.writes()), (vec!["item_unavailable"], 1));
}

#[tokio::test(start_paused = true)]
async fn what_no_shop_could_price_is_refused_before_it_is_asked() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let cart = counter.create_cart(goods(&[(1, 1)])).await;
    let mut twins = goods(&[(1, 1), (2, 1)]);
    for line in &mut twins.line_items {
        line.id = Some("li_1".into());
    }
    for (draft, path) in [
        (goods(&[(1, 1), (2, 0)]), "$.line_items[1].quantity"),
        (goods(&[(1, 3_000_000_000)]), "$.line_items[0].quantity"),
        (goods(&(1..=201).map(|number| (number, 1)).collect::<Vec<_>>()), "$.line_items"),
        (twins, "$.line_items[1].id"),
    ] {
        let refusal = counter.try_update_cart(&cart.id, draft).await.expect_err("refused");
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidRequest, Some(path)));
        assert!(refusal.accepted.is_some());
    }
    assert_eq!((stub.writes(), stub.asked("CartById").len()), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_buyer_keeps_no_goods_out_of_a_cart() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let mut wanted = sent(goods(&[(1, 1)]), "US", None);
    wanted.buyer.as_mut().expect("a buyer").email = Some("nobody@".replace('@', " at "));
    let checkout = counter.create_checkout(wanted.clone(), None).await;
    assert_eq!((checkout.status, checkout.goods()), (Some("incomplete"), vec![(item(1).as_str(), 1)]));
    assert!(checkout.codes().contains(&"field_invalid"), "{:?}", checkout.messages);
    let path = checkout.messages.iter().find_map(|message| message.path().filter(|path| path.starts_with("$.buyer")));
    assert_eq!(path, Some("$.buyer.email"));

    // A country of which the schema has no word is not the request's end.
    let nowhere = sent(goods(&[(1, 1), (2, 2)]), "XX", None);
    let updated = counter.update_checkout(&checkout.id, nowhere.clone()).await;
    assert_eq!(updated.goods(), [(item(1).as_str(), 1), (item(2).as_str(), 2)]);
    assert!(updated.codes().contains(&"address_undeliverable"), "{:?}", updated.messages);
    assert_eq!(updated.status, Some("incomplete"));
    let made = counter.create_checkout(nowhere, None).await;
    assert!(made.codes().contains(&"address_undeliverable"), "{:?}", made.messages);
    assert_eq!(made.goods().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_checkout_goes_on_until_the_buyer_has_to_pay() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let mut anonymous = goods(&[(1, 2)]);
    anonymous.buyer = None;
    let begun = counter.create_checkout(anonymous, None).await;
    assert_eq!((begun.status, begun.total), (Some("incomplete"), 2_000));
    assert!(begun.continue_url.is_some());
    let ready = counter.update_checkout(&begun.id, sent(goods(&[(1, 2)]), "US", None)).await;
    assert_eq!((ready.status, ready.total), (Some("requires_escalation"), 2_590), "{:?}", ready.messages);
    assert_eq!(ready.continue_url.as_deref(), Some("https://stub.example/cart/c/1?key=page"));
    assert_eq!(ready.delivery, Some((Some("home".into()), vec![Some("standard".into())])));
    let express = counter.update_checkout(&begun.id, sent(goods(&[(1, 2)]), "US", Some("express"))).await;
    assert_eq!((express.status, express.total), (Some("requires_escalation"), 3_500));
    assert_eq!(express.delivery, Some((Some("home".into()), vec![Some("express".into())])));
    // The goods as well as how they travel, each in one request.
    assert_eq!(stub.asked("CartChange").len(), 2);
    let drone = counter.update_checkout(&begun.id, sent(goods(&[(1, 2)]), "US", Some("drone"))).await;
    assert_eq!(drone.status, Some("incomplete"));
    assert!(drone.codes().contains(&"option_unknown"), "{:?}", drone.messages);
    // Without any word on delivery, what was said about it is taken back.
    let silent = counter.update_checkout(&begun.id, goods(&[(1, 2)])).await;
    assert_eq!(silent.status, Some("incomplete"));
    assert_eq!(stub.buyer()["address"], json!(null));
}

#[tokio::test(start_paused = true)]
async fn codes_are_told_of_whenever_somebody_looks() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let with = |codes: &[&str]| Draft {
        codes: Some(codes.iter().map(|code| (*code).to_owned()).collect()),
        ..goods(&[(1, 1)])
    };
    let cart = counter.create_cart(with(&["ten", "NOSUCH", "Ten"])).await;
    assert_eq!((cart.total, cart.codes()), (900, vec!["discount_code_invalid"]));
    // The shop says it only once.
    let looked = shown(counter.get_cart(&cart.id).await.expect("carried out"));
    assert_eq!((looked.total, looked.codes()), (900, vec!["discount_code_not_applied"]));
    let same = counter.update_cart(&cart.id, with(&["TEN", "nosuch"])).await;
    assert_eq!((same.codes(), stub.writes()), (vec!["discount_code_not_applied"], 1));
    let good = counter.update_cart(&cart.id, with(&["TEN"])).await;
    assert_eq!((good.total, good.codes().len(), stub.codes()), (900, 0, vec!["TEN".to_owned()]));
    let none = counter.update_cart(&cart.id, with(&[])).await;
    assert_eq!((none.total, stub.codes().len()), (1_000, 0));
}

#[tokio::test(start_paused = true)]
async fn a_page_that_nobody_may_open_is_none_to_go_on_with() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    for (page, opened) in [
        ("https://shop.example/cart/c/1?key=page", true),
        ("http://127.0.0.1:9/cart", true),
        ("http://shop.example/cart/c/1", false),
        ("javascript:alert(1)", false),
        ("/cart", false),
    ] {
        stub.pay_at(page);
        let checkout = counter.create_checkout(sent(goods(&[(1, 1)]), "US", None), None).await;
        assert_eq!(checkout.continue_url.as_deref(), opened.then_some(page));
        assert_eq!(checkout.status, Some(if opened { "requires_escalation" } else { "incomplete" }), "{page}");
        assert_eq!(checkout.codes().contains(&"payment_unavailable"), !opened, "{page}");
        let cart = counter.create_cart(goods(&[(1, 1)])).await;
        assert_eq!(cart.continue_url.as_deref(), opened.then_some(page));
    }
}

#[tokio::test(start_paused = true)]
async fn calls_about_one_cart_take_turns() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let cart = counter.create_cart(goods(&[(1, 1)])).await;
    let checkout = counter.create_checkout(Draft::default(), Some(&cart.id)).await;
    let other = counter.create_cart(goods(&[(1, 1)])).await;
    let (cart, other, checkout, counter) = (&cart.id, &other.id, &checkout.id, &counter);
    let calls = (1..=8).map(|number| async move {
        match number % 4 {
            0 => counter.update_cart(other, goods(&[(1, number)])).await,
            1 => counter.update_checkout(checkout, sent(goods(&[(1, number)]), "US", Some("express"))).await,
            _ => counter.update_cart(cart, goods(&[(2, number), (1, 1)])).await,
        }
    });
    wait::all(calls).await;
    assert!(stub.asked("CartChange").len() >= 8);
    assert_eq!(stub.most_at_once(), 1);
    // The last write wins, for all of them.
    let looked = shown(counter.get_cart(cart).await.expect("carried out"));
    assert_eq!(
        looked.goods().iter().map(|(_, quantity)| quantity).sum::<u64>() * 1_000,
        u64::try_from(looked.total).expect("a sum")
    );
}

#[tokio::test(start_paused = true)]
async fn a_checkout_and_the_cart_it_was_made_of_go_their_own_ways() {
    let stub = Stub::serve().await;
    let counter = Counter::behind(&stub).await;
    let cart = counter.create_cart(goods(&[(1, 2), (2, 1)])).await;
    let checkout = counter.create_checkout(sent(Draft::default(), "US", None), Some(&cart.id)).await;
    assert_eq!((&checkout.lines, checkout.total), (&cart.lines, 3_590));
    // The state of the cart does not affect a purchase that has begun.
    counter.update_cart(&cart.id, goods(&[(3, 7)])).await;
    let looked = shown(counter.get_checkout(&checkout.id).await.expect("carried out"));
    assert_eq!((&looked.lines, looked.total, looked.status), (&checkout.lines, checkout.total, checkout.status));
    assert_eq!(looked.codes(), checkout.codes());
    // And the other way round.
    let request = SaleRequest::CancelCheckout(ucp_core::operation::ById { id: checkout.id.clone() });
    assert!(matches!(counter.call(request).await, Ok(Outcome::Answer(_))));
    let looked = shown(counter.get_cart(&cart.id).await.expect("carried out"));
    assert_eq!((looked.goods(), looked.codes().len()), (vec![(item(3).as_str(), 7)], 0));
    let again = counter.create_checkout(goods(&[]), Some(&cart.id)).await;
    assert_eq!(again.goods(), [(item(3).as_str(), 7)]);
    counter.cancel_cart(&cart.id).await.expect("carried out");
    let looked = shown(counter.get_checkout(&again.id).await.expect("carried out"));
    assert_eq!((looked.goods(), &looked.continue_url), (vec![(item(3).as_str(), 7)], &again.continue_url));
}

#[tokio::test(start_paused = true)]
async fn a_cart_that_is_given_up_is_forgotten() {
    let stub = Stub::failing(|asked, number| match (asked.operation.as_str(), number) {
        // At first nobody can say whether it was done; the second time nothing is said about the buyer.
        ("CartForget", 0) => Some(Fault::Torn { after: true }),
        ("CartForget", 1) => Some(Fault::Document {
            after: false,
            document: json!({
                "data": { "emptied": { "userErrors": [] }, "forgotten": null },
                "errors": [{ "message": "Internal error.", "path": ["forgotten"] }],
            }),
        }),
        _ => None,
    })
    .await;
    let counter = Counter::behind(&stub).await;
    let cart = counter.create_cart(goods(&[(1, 1)])).await;
    assert_eq!(stub.buyer()["buyer"]["email"], "buyer@example.com");
    assert!(matches!(counter.cancel_cart(&cart.id).await, Ok(Outcome::Answer(_))));
    assert!(matches!(counter.get_cart(&cart.id).await, Ok(Outcome::NoResource { .. })));
    // The shop is told until it says so.
    for ended in [0, 0, 1] {
        assert_eq!(counter.shop.carry_out_all().await.expect("the books are fine"), ended);
    }
    assert_eq!((stub.goods().len(), stub.buyer()["buyer"].clone()), (0, json!({})));
    assert!(matches!(counter.get_cart(&cart.id).await, Ok(Outcome::NoResource { .. })));
    // One that the shop has given up already.
    let cart = counter.create_cart(goods(&[(1, 1)])).await;
    stub.expire();
    assert!(matches!(counter.cancel_cart(&cart.id).await, Ok(Outcome::Answer(_))));
    assert_eq!(counter.shop.carry_out_all().await.expect("the books are fine"), 1);
}
