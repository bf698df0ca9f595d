//! Payments that wait for their buyer, who confirms them at the bank (3-D Secure).

use ucp_core::{
    ports::agenda::Agenda as _,
    sales::handoff::{Done, Page, Step},
};
use ucp_testkit::interrupted;

use super::*;

/// A checkout whose payment waits for its buyer until it was asked for so many times.
async fn waiting(shop: &TestShop, asked: u32) -> checkout::View {
    let id = begin(shop, Draft { fulfillment: Some(home()), ..draft(&[("rose", 2)]) }).await.checkout.id;
    shop.handler.script([Course::Awaiting(asked)]);
    complete(shop, &id).await
}

#[tokio::test]
async fn platforms_see_an_escalation_and_buyers_the_way_to_their_bank() {
    let shop = shop();
    let view = waiting(&shop, 1).await;
    let id = view.checkout.id.clone();
    assert_eq!((view.status, view.checkout.status()), (Status::RequiresEscalation, Status::CompleteInProgress));
    assert_eq!(said(&view.messages), [("requires_3ds".to_owned(), "$.payment.instruments[0]".to_owned())]);
    assert!(view.continue_url.is_some());
    assert_eq!(shop.ledger.remaining("rose"), Some(4), "the goods are set aside");
    let Some(Page::Checkout(desktop)) = shop.sales.page(&view.checkout.token).await.expect("reads") else {
        panic!("no page");
    };
    let attempt = view.checkout.state.attempt().expect("an attempt").clone();
    assert_eq!(desktop.bank(), Some(format!("https://bank.example/{}", attempt.id).as_str()));
    assert_eq!(attempt.return_url, view.continue_url, "the bank sends the buyer back to the page");
    // It was asked for once: the buyer has confirmed by now, and the next who looks after a while sees the order.
    assert_eq!(look(&shop, &id).await.status, Status::RequiresEscalation);
    shop.clock.advance(2);
    let seen = look(&shop, &id).await;
    assert_eq!((seen.status, shop.handler.captures().len()), (Status::Completed, 1));
    assert_eq!(shop.handler.attempts(), 1, "it is the same payment");
    assert_eq!(codes(&seen.messages), [""; 0]);
}

#[tokio::test]
async fn completing_again_goes_on_with_the_same_payment() {
    let shop = shop();
    let id = waiting(&shop, 2).await.checkout.id;
    for _ in 0..2 {
        assert_eq!(complete(&shop, &id).await.status, Status::RequiresEscalation);
        assert_eq!(complete(&shop, &id).await.status, Status::RequiresEscalation, "the processor was asked just now");
        shop.clock.advance(2);
    }
    assert_eq!(complete(&shop, &id).await.status, Status::Completed);
    assert_eq!((shop.handler.attempts(), shop.handler.captures().len()), (1, 1));
}

#[tokio::test]
async fn a_change_calls_the_payment_off_and_gives_the_goods_back() {
    let shop = shop();
    let id = waiting(&shop, 9).await.checkout.id;
    let updated = update(&shop, &id, Draft { fulfillment: Some(home()), ..draft(&[("rose", 6)]) }).await;
    assert_eq!((updated.status, updated.checkout.line_items[0].quantity), (Status::ReadyForComplete, 6));
    assert_eq!(shop.ledger.remaining("rose"), Some(6));
    shop.handler.script([Course::Awaiting(9)]);
    assert_eq!(complete(&shop, &id).await.status, Status::RequiresEscalation);
    let canceled = checkout_of(answered(&shop, &caller(), SaleRequest::CancelCheckout(by(&id))).await);
    assert_eq!((canceled.status, shop.ledger.remaining("rose")), (Status::Canceled, Some(6)));
    assert_eq!((shop.handler.attempts(), shop.handler.captures().len()), (2, 0));
}

#[tokio::test]
async fn a_change_that_is_refused_calls_nothing_off() {
    let shop = shop();
    let id = waiting(&shop, 0).await.checkout.id;
    let mut twice = draft(&[("rose", 1), ("ticket", 1)]);
    twice.line_items.iter_mut().for_each(|line| line.id = Some("same".to_owned()));
    for draft in [twice, Draft::default()] {
        let request = SaleRequest::UpdateCheckout(checkout::Update { id: id.clone(), draft });
        shop.call(&caller(), request).await.expect_err("refused");
    }
    // A draft of which all or nothing is to be applied, and that names a destination that is not there.
    let mut fulfillment = home();
    fulfillment.methods[0].selected_destination_id = Some("elsewhere".to_owned());
    let lost = Draft { fulfillment: Some(fulfillment), all_or_nothing: true, ..draft(&[("rose", 6)]) };
    let unchanged = update(&shop, &id, lost).await;
    assert_eq!(unchanged.status, Status::RequiresEscalation);
    assert!(codes(&unchanged.messages).contains(&"destination_unknown".to_owned()), "{:?}", unchanged.messages);
    assert_eq!(shop.ledger.remaining("rose"), Some(4), "the goods are set aside");
    shop.clock.advance(2);
    assert_eq!(look(&shop, &id).await.status, Status::Completed, "the payment goes on");
    assert_eq!((shop.handler.attempts(), shop.handler.captures().len()), (1, 1));
}

#[tokio::test]
async fn a_change_after_the_time_of_the_checkout_tells_what_the_bank_says() {
    let shop = shop();
    let view = waiting(&shop, 0).await;
    shop.clock.advance(7 * 86_400);
    assert!(view.checkout.expires_at < shop.clock.now());
    let draft = Draft { fulfillment: Some(home()), ..draft(&[("rose", 6)]) };
    let request = SaleRequest::UpdateCheckout(checkout::Update { id: view.checkout.id.clone(), draft });
    let late = shop.call(&caller(), request).await.expect("carried out");
    assert!(format!("{late:?}").contains("checkout_completed"), "{late:?}");
    assert_eq!(shop.handler.captures().len(), 1);
}

#[tokio::test]
async fn a_cancellation_after_the_buyer_confirmed_finds_the_order() {
    let shop = shop();
    let view = waiting(&shop, 0).await;
    let late = shop.call(&caller(), SaleRequest::CancelCheckout(by(&view.checkout.id))).await.expect("carried out");
    assert!(format!("{late:?}").contains("checkout_completed"), "{late:?}");
    assert_eq!(shop.handler.captures().len(), 1);
}

#[tokio::test]
async fn buyers_can_cancel_instead_of_confirming() {
    let shop = shop();
    let view = waiting(&shop, 9).await;
    let Some(Page::Checkout(desktop)) = shop.sales.page(&view.checkout.token).await.expect("reads") else {
        panic!("no page");
    };
    let hand_in = |step| shop.sales.hand_in(&view.checkout.token, desktop.version, step);
    assert_eq!(hand_in(Step::Pay).await.expect("carried out"), Done::Closed);
    assert_eq!(hand_in(Step::Cancel).await.expect("carried out"), Done::Taken);
    assert_eq!(look(&shop, &view.checkout.id).await.status, Status::Canceled);
    assert_eq!((shop.ledger.remaining("rose"), shop.handler.captures().len()), (Some(6), 0));
}

#[tokio::test]
async fn a_payment_that_nobody_confirms_is_called_off_in_time() {
    let shop = shop();
    let id = waiting(&shop, 99).await.checkout.id;
    shop.clock.advance(899);
    assert_eq!(shop.carry_out_due().await, Ok(0), "the processor is not asked all the time");
    shop.clock.advance(1);
    assert_eq!(shop.carry_out_due().await, Ok(1));
    let reopened = look(&shop, &id).await;
    assert_eq!((reopened.status, shop.ledger.remaining("rose")), (Status::Incomplete, Some(6)));
    assert_eq!(codes(&reopened.messages), ["payment_failed"]);
    assert_eq!(complete(&shop, &id).await.status, Status::Completed, "it can be paid anew");
    assert_eq!(shop.handler.captures().len(), 1);
}

#[tokio::test]
async fn reading_a_waiting_checkout_queries_the_processor_at_intervals() {
    let shop = shop();
    let view = waiting(&shop, 3).await;
    for asked in 1..=3 {
        // However often, and by whichever way.
        for _ in 0..5 {
            assert_eq!(look(&shop, &view.checkout.id).await.status, Status::RequiresEscalation);
            assert_eq!(complete(&shop, &view.checkout.id).await.status, Status::RequiresEscalation);
        }
        assert_eq!(shop.handler.asked(), asked);
        shop.clock.advance(2);
    }
    assert_eq!(look(&shop, &view.checkout.id).await.status, Status::Completed);
}

#[tokio::test]
async fn buyers_who_come_from_the_bank_are_told_at_once_and_nobody_asks_for_ever() {
    let shop = shop();
    let view = waiting(&shop, 2).await;
    for status in [Status::CompleteInProgress, Status::CompleteInProgress, Status::Completed] {
        let Some(Page::Checkout(page)) = shop.sales.page(&view.checkout.token).await.expect("reads") else {
            panic!("no page");
        };
        assert_eq!(page.checkout.status(), status);
    }
    let view = waiting(&shop, 99).await;
    let before = shop.handler.asked();
    for _ in 0..50 {
        shop.sales.page(&view.checkout.token).await.expect("reads");
    }
    assert_eq!(shop.handler.asked() - before, 8);
}

#[tokio::test]
async fn a_message_of_the_processor_settles_its_payment_and_no_other() {
    let shop = shop();
    let view = waiting(&shop, 0).await;
    let attempt = view.checkout.state.attempt().expect("an attempt").id.clone();
    let wake = async |attempt: &str| shop.ledger.wake(attempt, shop.clock.now()).await.expect("wakes");
    assert!(!wake("pay_of_another").await);
    assert_eq!(shop.carry_out_due().await, Ok(0));
    assert!(wake(&attempt).await);
    assert_eq!(shop.carry_out_due().await, Ok(1));
    assert!(!wake(&attempt).await);
    assert_eq!((shop.handler.captures().len(), shop.ledger.orders().len()), (1, 1));
}

#[tokio::test]
async fn an_interrupted_authentication_pays_at_most_once() {
    for asked in [0, 1, 99] {
        for polls in 0..40 {
            let shop = shop();
            let id = begin(&shop, draft(&[("ticket", 1)])).await.checkout.id;
            shop.handler.script([Course::Awaiting(asked)]);
            let request =
                checkout::Complete { id: id.clone(), tenders: vec![card("scripted")], mandate: None, call: None };
            let (cut, platform) = (shop.clone(), caller());
            let call = async move { cut.call(&platform, SaleRequest::CompleteCheckout(request)).await };
            let _ = interrupted(call, polls).await;
            let (cut, platform, get) = (shop.clone(), caller(), SaleRequest::GetCheckout(by(&id)));
            let _ = interrupted(async move { cut.call(&platform, get).await }, polls / 2).await;
            shop.clock.advance(901);
            for _ in 0..3 {
                shop.carry_out_all().await.expect("carried out");
            }
            let status = look(&shop, &id).await.status;
            let captures = shop.handler.captures().len();
            assert_eq!(captures, usize::from(status == Status::Completed), "{asked} {polls}: {status:?}");
            assert_ne!(status, Status::RequiresEscalation, "{asked} {polls}");
        }
    }
}
