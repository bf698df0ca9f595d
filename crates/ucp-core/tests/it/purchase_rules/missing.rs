//! Missing parts of a checkout, and the party that can supply them.

use super::*;

#[tokio::test]
async fn everything_that_is_missing_is_said_at_once() {
    let shop = shop();
    let view = begin(&shop, Draft { buyer: None, ..draft(&[("rose", 1), ("weed", 1)]) }).await;
    assert_eq!(view.checkout.status(), Status::Incomplete);
    let said = said(&view.messages);
    for place in ["$.buyer.email", "$.fulfillment", "$.line_items"] {
        assert!(said.iter().any(|(_, path)| path.starts_with(place)), "{place} in {said:?}");
    }
    let view = update(&shop, &view.checkout.id, Draft { fulfillment: Some(home()), ..draft(&[("rose", 1)]) }).await;
    assert_eq!((view.checkout.status(), &view.messages[..]), (Status::ReadyForComplete, &[][..]));
    assert_eq!(total(&view), 850);
}

#[tokio::test]
async fn completing_what_is_incomplete_says_the_same_and_pays_nothing() {
    let shop = shop();
    let created = begin(&shop, Draft { buyer: None, ..draft(&[("rose", 1)]) }).await;
    let completed = complete(&shop, &created.checkout.id).await;
    assert_eq!(completed.checkout.status(), Status::Incomplete);
    assert_eq!(completed.messages, created.messages);
    assert_eq!((shop.handler.attempts(), shop.ledger.remaining("rose")), (0, Some(6)));
}

#[tokio::test]
async fn problems_that_no_platform_can_solve_escalate_to_the_buyer() {
    let shop = shop();
    let without = platform("https://a.example/ucp", &[FULFILLMENT]);
    let escalated = |view: &checkout::View| {
        let buyer = |message: &Message| {
            matches!(
                message,
                Message::Error { severity: Severity::RequiresBuyerInput | Severity::RequiresBuyerReview, .. }
            )
        };
        assert_eq!(view.checkout.status(), Status::RequiresEscalation);
        assert!(view.messages.iter().any(buyer) && view.continue_url.is_some(), "rule CHK-02: {view:?}");
    };
    escalated(&begin_by(&shop, &without, draft(&[("rose", 1)]), None).await);
    assert_eq!(
        begin_by(&shop, &without, draft(&[("ticket", 1)]), None).await.checkout.status(),
        Status::ReadyForComplete
    );
    let mut shop = shop;
    shop.sales.handlers = Arc::new([]);
    escalated(&begin(&shop, draft(&[("ticket", 1)])).await);
    let free = begin(&shop, draft(&[("leaflet", 1)])).await;
    assert_eq!(free.checkout.status(), Status::ReadyForComplete, "there is nothing to pay: {:?}", free.messages);
    assert_eq!(complete(&shop, &free.checkout.id).await.checkout.status(), Status::Completed);
}

#[tokio::test]
async fn what_was_not_negotiated_is_neither_heard_nor_told() {
    let shop = shop();
    let without = platform("https://a.example/ucp", &[DISCOUNT, FULFILLMENT, BUYER_CONSENT]);
    let agreed = Purpose { granted: true, extra: serde_json::Map::new() };
    let consent = Consent { marketing: Some(agreed), ..Consent::default() };
    let buyer = Buyer { email: Some("buyer@example.com".into()), consent: Some(consent), ..Buyer::default() };
    let stated = Draft {
        codes: Some(vec!["TEN".into()]),
        fulfillment: Some(home()),
        buyer: Some(buyer),
        ..draft(&[("rose", 1), ("ticket", 1)])
    };
    let deaf = begin_by(&shop, &without, stated.clone(), None).await;
    assert_eq!((&deaf.checkout.discounts, &deaf.checkout.fulfillment), (&None, &None));
    assert_eq!((&deaf.checkout.draft.codes, &deaf.checkout.draft.fulfillment), (&None, &None));
    assert_eq!(deaf.checkout.draft.buyer.as_ref().and_then(|buyer| buyer.consent.clone()), None);
    assert_eq!(total(&deaf), 2_350);
    let view = begin(&shop, stated).await;
    assert!(view.checkout.discounts.is_some() && view.checkout.fulfillment.is_some());
    assert!(view.checkout.draft.buyer.is_some_and(|buyer| buyer.consent.is_some()));
}
