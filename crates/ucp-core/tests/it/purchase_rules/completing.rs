//! Completing a checkout, and what becomes of the payment.

use ucp_testkit::{PATIENCE, until};

use super::*;

#[tokio::test]
async fn a_purchase_becomes_an_order() {
    let shop = shop();
    let created = begin(&shop, Draft { fulfillment: Some(home()), ..draft(&[("rose", 2)]) }).await;
    assert_eq!((created.created, created.permalink_url.as_ref()), (true, None));
    let completed = complete(&shop, &created.checkout.id).await;
    assert_eq!(completed.checkout.status(), Status::Completed);
    assert_eq!((completed.continue_url.as_ref(), completed.created), (None, false));
    let confirmation = completed.checkout.state.order().expect("an order").clone();
    let capture = &shop.handler.captures()[0];
    assert_eq!((capture.amount.minor(), &capture.checkout_id), (1_200, &created.checkout.id));
    let view = order_of(answered(&shop, &caller(), SaleRequest::GetOrder(by(&confirmation.id))).await);
    assert_eq!(Some(&view.permalink_url), completed.permalink_url.as_ref());
    assert_eq!((&view.order.checkout_id, &view.order.totals), (&created.checkout.id, &completed.checkout.totals));
    assert_eq!((&view.order.payment.attempt_id, &view.order.payment.handler_id[..]), (&capture.attempt_id, "scripted"));
    assert_eq!(view.order.line_items[0].total, 2);
    assert_eq!(view.order.expectations[0].destination.street_address.as_deref(), Some("1 Main St"));
    assert_eq!(shop.ledger.remaining("rose"), Some(4));
    assert_eq!(look(&shop, &created.checkout.id).await.checkout, completed.checkout);
}

#[tokio::test]
async fn nothing_of_a_credential_is_kept() {
    let shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    shop.handler.script([Course::Slow(1)]);
    let completed = complete(&shop, &id).await;
    let kept = format!("{completed:?} {:?}", shop.ledger.checkouts());
    assert!(kept.contains("instrument_1") && !kept.contains("tok_secret"), "{kept}");
}

#[tokio::test]
async fn a_total_that_nobody_saw_is_never_charged() {
    let shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    for (cents, total_now) in [(2_500, 2_500), (1_900, 1_900)] {
        shop.shelf.reprice("ticket", cents);
        let told = complete(&shop, &id).await;
        assert_eq!((told.checkout.status(), total(&told)), (Status::ReadyForComplete, total_now));
        assert_eq!(said(&told.messages), [("total_changed".to_owned(), "$.totals".to_owned())]);
        assert_eq!(shop.handler.attempts(), 0, "also when it got cheaper");
    }
    assert_eq!(complete(&shop, &id).await.checkout.status(), Status::Completed);
    assert_eq!(shop.handler.captures()[0].amount.minor(), 1_900);
}

#[tokio::test]
async fn goods_that_are_gone_meanwhile_are_not_sold() {
    let shop = shop();
    let draft_of = |quantity| Draft { fulfillment: Some(home()), ..draft(&[("rose", quantity)]) };
    let id = begin(&shop, draft_of(4)).await.checkout.id;
    let fewer = begin(&shop, draft_of(4)).await.checkout.id;
    assert_eq!(complete(&shop, &id).await.checkout.status(), Status::Completed);
    let told = complete(&shop, &fewer).await;
    assert_eq!((told.checkout.line_items[0].quantity, shop.handler.attempts()), (2, 1));
    let codes = codes(&told.messages);
    assert!(codes.contains(&"quantity_adjusted".into()) && codes.contains(&"total_changed".into()), "{codes:?}");
    shop.ledger.count("rose", 0);
    let told = complete(&shop, &fewer).await;
    assert_eq!((told.checkout.status(), shop.handler.attempts()), (Status::Incomplete, 1));
    assert_eq!(said(&told.messages)[0], ("out_of_stock".to_owned(), "$.line_items[0]".to_owned()));
}

#[tokio::test]
async fn two_lines_of_one_good_share_its_stock() {
    let shop = shop();
    let view = begin(&shop, Draft { fulfillment: Some(home()), ..draft(&[("rose", 4), ("rose", 2)]) }).await;
    assert_eq!(view.checkout.status(), Status::ReadyForComplete);
    assert_eq!(complete(&shop, &view.checkout.id).await.checkout.status(), Status::Completed);
    assert_eq!(shop.ledger.remaining("rose"), Some(0));
}

#[tokio::test]
async fn a_free_purchase_needs_no_payment() {
    let shop = shop();
    let id = begin(&shop, draft(&[("leaflet", 1)])).await.checkout.id;
    let completed = checkout_of(complete_with(&shop, &id, Vec::new()).await);
    assert_eq!((completed.checkout.status(), shop.handler.attempts()), (Status::Completed, 0));
    assert_eq!(shop.ledger.orders().len(), 1);
}

#[tokio::test]
async fn unusable_tenders_are_refused_with_their_path() {
    let shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    let mut wallet = card("scripted");
    wallet.instrument.kind = "wallet".into();
    let bare = Tender { credential: None, ..card("scripted") };
    let root = "$.payment.instruments";
    for (tenders, path) in [
        (vec![], root.to_owned()),
        (vec![card("scripted"), card("scripted")], root.to_owned()),
        (vec![chosen(card("scripted")), chosen(card("scripted"))], root.to_owned()),
        (vec![card("elsewhere")], format!("{root}[0].handler_id")),
        (vec![card("scripted"), chosen(card("elsewhere"))], format!("{root}[1].handler_id")),
        (vec![wallet], format!("{root}[0]")),
        (vec![bare], format!("{root}[0].credential")),
    ] {
        let told = checkout_of(complete_with(&shop, &id, tenders).await);
        assert_eq!((told.checkout.status(), total(&told)), (Status::Incomplete, 2_000));
        assert_eq!(said(&told.messages), [("payment_failed".to_owned(), path)]);
    }
    assert_eq!(shop.handler.attempts(), 0);
    let several = || vec![card("elsewhere"), chosen(card("scripted"))];
    shop.handler.script([Course::Declined]);
    let declined = checkout_of(complete_with(&shop, &id, several()).await);
    assert_eq!(said(&declined.messages), [("payment_failed".to_owned(), format!("{root}[1]"))]);
    let completed = checkout_of(complete_with(&shop, &id, several()).await);
    assert_eq!(completed.checkout.status(), Status::Completed, "the chosen one pays");
}

fn chosen(mut tender: Tender) -> Tender {
    tender.instrument.selected = Some(true);
    tender
}

#[tokio::test]
async fn a_declined_payment_leaves_the_checkout_open() {
    let shop = shop();
    let id = begin(&shop, Draft { fulfillment: Some(home()), ..draft(&[("rose", 5)]) }).await.checkout.id;
    shop.handler.script([Course::Declined]);
    let declined = complete(&shop, &id).await;
    assert_eq!(declined.checkout.status(), Status::Incomplete);
    assert_eq!(said(&declined.messages), [("payment_failed".to_owned(), "$.payment.instruments[0]".to_owned())]);
    assert_eq!((shop.ledger.remaining("rose"), shop.ledger.orders().len()), (Some(6), 0));
    assert_eq!(complete(&shop, &id).await.checkout.status(), Status::Completed);
    assert_eq!((shop.handler.attempts(), shop.handler.captures().len()), (2, 1));
}

#[tokio::test]
async fn a_challenged_buyer_comes_back_and_pays() {
    let shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    shop.handler.script([Course::Challenged]);
    let challenged = complete(&shop, &id).await;
    assert_eq!(challenged.checkout.status(), Status::RequiresEscalation);
    assert_eq!(codes(&challenged.messages), ["requires_3ds"]);
    assert!(challenged.continue_url.is_some());
    assert_eq!(look(&shop, &id).await.messages, challenged.messages);
    assert_eq!(complete(&shop, &id).await.checkout.status(), Status::Completed);
}

#[tokio::test]
async fn an_unknown_payment_is_asked_after_and_never_made_again() {
    for course in [Course::AnswerLost, Course::Slow(2), Course::Late(2)] {
        let shop = shop();
        let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
        shop.handler.script([course]);
        let waiting = complete(&shop, &id).await;
        assert_eq!((waiting.checkout.status(), waiting.checkout.state.order()), (Status::CompleteInProgress, None));
        assert!(waiting.continue_url.is_some());
        assert_eq!(look(&shop, &id).await.checkout, waiting.checkout);
        let completed = until("the purchase to be completed", PATIENCE, async || {
            shop.clock.advance(2);
            let again = complete(&shop, &id).await;
            if again.checkout.status() == Status::Completed {
                return Some(again);
            }
            assert_eq!(said(&again.messages), [("complete_in_progress".to_owned(), "$.status".to_owned())]);
            None
        })
        .await;
        assert_eq!(completed.checkout.id, id);
        assert_eq!((shop.handler.attempts(), shop.handler.captures().len()), (1, 1), "{course:?}");
    }
}

#[tokio::test]
async fn a_payment_that_never_arrived_is_given_up_once_it_cannot_arrive_any_more() {
    let shop = shop();
    let id = begin(&shop, Draft { fulfillment: Some(home()), ..draft(&[("rose", 5)]) }).await.checkout.id;
    shop.handler.script([Course::RequestLost]);
    complete(&shop, &id).await;
    shop.clock.advance(59);
    assert_eq!(shop.carry_out_all().await, Ok(0));
    assert_eq!(
        (look(&shop, &id).await.checkout.status(), shop.ledger.remaining("rose")),
        (Status::CompleteInProgress, Some(1))
    );
    shop.clock.advance(1);
    assert_eq!(shop.carry_out_all().await, Ok(1));
    let reopened = look(&shop, &id).await;
    assert_eq!((reopened.checkout.status(), shop.ledger.remaining("rose")), (Status::ReadyForComplete, Some(6)));
    assert_eq!(codes(&reopened.messages), ["completion_not_sent"]);
    assert_eq!(shop.carry_out_all().await, Ok(0));
}

#[tokio::test]
async fn a_repeated_completion_returns_its_own_order_again() {
    let shop = shop();
    let by_call = async |id: &str, call: Option<&str>| {
        let (id, call) = (id.to_owned(), call.map(str::to_owned));
        let request = checkout::Complete { id, tenders: vec![card("scripted")], mandate: None, call };
        answered(&shop, &caller(), SaleRequest::CompleteCheckout(request)).await
    };
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    let completed = checkout_of(by_call(&id, Some("key")).await);
    assert_eq!(checkout_of(by_call(&id, Some("key")).await).checkout, completed.checkout);
    for other in [Some("other key"), None] {
        assert_eq!(nothing(by_call(&id, other).await), (vec!["checkout_completed".to_owned()], true));
    }
    // Also when others settled it, and a call without a key is never anybody's retry.
    for (call, conflict) in [(Some("key"), false), (None, true)] {
        let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
        shop.handler.script([Course::AnswerLost]);
        assert_eq!(checkout_of(by_call(&id, call).await).checkout.status(), Status::CompleteInProgress);
        shop.clock.advance(1);
        assert_eq!(shop.carry_out_all().await, Ok(1));
        let again = by_call(&id, call).await;
        assert_eq!(matches!(again, Outcome::NoResource { conflict: true, .. }), conflict);
    }
    assert_eq!((shop.handler.attempts(), shop.handler.captures().len()), (3, 3));
}

#[tokio::test]
async fn a_checkout_in_payment_is_neither_canceled_nor_updated() {
    let shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    shop.handler.script([Course::Slow(1)]);
    let waiting = complete(&shop, &id).await.checkout;
    let canceled = checkout_of(answered(&shop, &caller(), SaleRequest::CancelCheckout(by(&id))).await);
    let updated = update(&shop, &id, draft(&[("leaflet", 1)])).await;
    for view in [canceled, updated] {
        assert_eq!(view.checkout, waiting);
        assert_eq!(said(&view.messages), [("complete_in_progress".to_owned(), "$.status".to_owned())]);
    }
    // Time does not cancel it either.
    shop.clock.advance(7 * 60 * 60);
    assert_eq!(look(&shop, &id).await.checkout, waiting);
    for _ in 0..2 {
        shop.carry_out_all().await.expect("carried out");
    }
    assert_eq!(look(&shop, &id).await.checkout.status(), Status::Completed);
}

#[tokio::test]
async fn payments_of_a_handler_that_is_gone_wait_for_it() {
    let mut shop = shop();
    let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
    shop.handler.script([Course::AnswerLost]);
    complete(&shop, &id).await;
    let handlers = std::mem::replace(&mut shop.sales.handlers, Arc::new([Arc::new(ScriptedHandler::new("new"))]));
    shop.clock.advance(1_000);
    assert_eq!(shop.carry_out_all().await, Ok(0));
    assert_eq!(look(&shop, &id).await.checkout.status(), Status::CompleteInProgress);
    shop.sales.handlers = handlers;
    assert_eq!(shop.carry_out_all().await, Ok(1));
    assert_eq!(look(&shop, &id).await.checkout.status(), Status::Completed);
}

#[tokio::test]
async fn payments_that_nobody_can_ask_after_hold_up_no_others() {
    let mut shop = shop();
    let mut ids = Vec::new();
    for _ in 0..4 {
        ids.push(begin(&shop, draft(&[("ticket", 1)])).await.checkout.id);
    }
    shop.handler.script([Course::AnswerLost; 3]);
    for id in &ids[..3] {
        complete(&shop, id).await;
        shop.clock.advance(1);
    }
    let new = Arc::new(ScriptedHandler::new("new"));
    new.script([Course::AnswerLost]);
    shop.sales.handlers = Arc::new([new]);
    complete_with(&shop, &ids[3], vec![card("new")]).await;
    shop.clock.advance(1_000);
    for _ in 0..3 {
        shop.carry_out_all().await.expect("carried out");
    }
    assert_eq!(look(&shop, &ids[3]).await.checkout.status(), Status::Completed);
}
