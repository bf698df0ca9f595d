//! Purchases that their buyer has to look at in person: who is asked, what an approval is good for, and when it is not
//! (UCP *Checkout*, severity `requires_buyer_review`; rule CHK-02).

use serde_json::json;
use ucp_core::sales::handoff::{Desktop, Done, Page, Payment, Step};

use super::*;

/// The shop, with rules about reviews.
fn strict(reviews: serde_json::Value) -> TestShop {
    let mut shop = shop();
    let mut terms = Terms::clone(&shop.sales.terms);
    terms.reviews = serde_json::from_value(reviews).expect("reviews");
    shop.sales.terms = Arc::new(terms);
    shop
}

fn high_value() -> TestShop {
    strict(
        json!([{ "code": "high_value_order", "reason": "Orders from $40 are confirmed in person.", "min_total": 4_000 }]),
    )
}

async fn desktop(shop: &TestShop, view: &checkout::View) -> Desktop {
    match shop.sales.page(&view.checkout.token).await.expect("reads") {
        Some(Page::Checkout(desktop)) => *desktop,
        other => panic!("no checkout: {other:?}"),
    }
}

async fn hand_in(shop: &TestShop, desktop: &Desktop, step: Step) -> Done {
    shop.sales.hand_in(&desktop.checkout.token, desktop.version, step).await.expect("carried out")
}

/// The reviews that are asked for: code and path.
fn asked(view: &checkout::View) -> Vec<(&str, Option<&str>)> {
    view.messages
        .iter()
        .filter_map(|message| match message {
            Message::Error { code, path, severity: Severity::RequiresBuyerReview, .. } => {
                Some((code.as_str(), path.as_deref()))
            }
            _ => None,
        })
        .collect()
}

#[tokio::test]
async fn a_platform_goes_on_once_the_buyer_has_approved() {
    let shop = high_value();
    let view = begin(&shop, draft(&[("ticket", 2)])).await;
    assert_eq!(view.checkout.status(), Status::RequiresEscalation);
    assert_eq!(asked(&view), [("high_value_order", Some("$.totals"))]);
    assert!(view.continue_url.is_some(), "rule CHK-02");
    // The platform alone gets nowhere, and nothing is paid.
    let refused = complete(&shop, &view.checkout.id).await;
    assert_eq!((refused.checkout.status(), shop.handler.attempts()), (Status::RequiresEscalation, 0));
    assert_eq!(asked(&refused).len(), 1);
    let seen = desktop(&shop, &view).await;
    assert!(seen.wants_approval() && seen.is_payable());
    assert_eq!(seen.payment, Payment::Elsewhere, "what cannot be paid here can be approved here");
    assert_eq!(hand_in(&shop, &seen, Step::Approve).await, Done::Taken);
    assert_eq!(hand_in(&shop, &seen, Step::Approve).await, Done::Stale);
    let approved = look(&shop, &view.checkout.id).await;
    assert_eq!((approved.checkout.status(), asked(&approved).len()), (Status::ReadyForComplete, 0));
    assert!(!desktop(&shop, &view).await.wants_approval());
    // The same terms once more are the same purchase.
    let restated = update(&shop, &view.checkout.id, draft(&[("ticket", 2)])).await;
    assert_eq!(restated.checkout.status(), Status::ReadyForComplete);
    assert_eq!(complete(&shop, &view.checkout.id).await.checkout.status(), Status::Completed);
}

#[tokio::test]
async fn an_approval_is_good_for_what_was_seen_only() {
    let shop = high_value();
    let view = begin(&shop, draft(&[("ticket", 2)])).await;
    assert_eq!(hand_in(&shop, &desktop(&shop, &view).await, Step::Approve).await, Done::Taken);
    let more = update(&shop, &view.checkout.id, draft(&[("ticket", 3)])).await;
    assert_eq!(asked(&more).len(), 1, "more of it was not approved");
    assert_eq!(complete(&shop, &view.checkout.id).await.checkout.status(), Status::RequiresEscalation);
    let back = update(&shop, &view.checkout.id, draft(&[("ticket", 2)])).await;
    assert_eq!(back.checkout.status(), Status::ReadyForComplete);
    // A price that changes without anybody changing the checkout.
    shop.shelf.reprice("ticket", 2_500);
    let changed = complete(&shop, &view.checkout.id).await;
    assert_eq!((changed.checkout.status(), asked(&changed).len()), (Status::RequiresEscalation, 1));
    // The buyer who approves an outdated price is asked again.
    let seen = desktop(&shop, &view).await;
    shop.shelf.reprice("ticket", 2_600);
    assert_eq!(hand_in(&shop, &seen, Step::Approve).await, Done::Taken);
    assert!(desktop(&shop, &view).await.wants_approval());
    assert_eq!(shop.handler.attempts(), 0);
}

#[tokio::test]
async fn the_terms_decide_which_purchases_need_a_review() {
    let rules = json!([
        { "reason": "Tickets are personal.", "items": ["ticket"] },
        { "code": "high_value_order", "reason": "It is a lot.", "min_total": { "USD": 4_000 } },
    ]);
    let shop = strict(rules);
    let asked_of = async |goods: &[(&str, u64)]| {
        let view = begin(&shop, Draft { fulfillment: Some(home()), ..draft(goods) }).await;
        let asked: Vec<_> =
            asked(&view).into_iter().map(|(code, path)| (code.to_owned(), path.map(str::to_owned))).collect();
        asked
    };
    let own = |path: &str| ("buyer_review".to_owned(), Some(path.to_owned()));
    let high = ("high_value_order".to_owned(), Some("$.totals".to_owned()));
    assert_eq!(asked_of(&[("rose", 1)]).await, []);
    assert_eq!(asked_of(&[("rose", 1), ("ticket", 1)]).await, [own("$.line_items[1]")]);
    assert_eq!(asked_of(&[("ticket", 2)]).await, [own("$.line_items[0]"), high]);
    // A rule that states nothing is about everything; one without an amount in the currency takes no chances.
    let shop = strict(json!([{ "reason": "Always." }, { "reason": "Always, here.", "min_total": { "EUR": 1 } }]));
    let view = begin(&shop, draft(&[("leaflet", 1)])).await;
    assert_eq!(asked(&view).len(), 2);
}

#[tokio::test]
async fn a_review_comes_when_nothing_else_is_missing() {
    let shop = high_value();
    let view = begin(&shop, Draft { buyer: None, ..draft(&[("ticket", 2)]) }).await;
    assert_eq!((view.checkout.status(), asked(&view).len()), (Status::Incomplete, 0), "the platform first");
    let view = update(&shop, &view.checkout.id, draft(&[("ticket", 2)])).await;
    assert_eq!(asked(&view).len(), 1);
    let cart = fill(&shop, draft(&[("ticket", 9)])).await;
    assert!(codes(&cart.messages).is_empty(), "nothing is bought yet: {:?}", cart.messages);
}
