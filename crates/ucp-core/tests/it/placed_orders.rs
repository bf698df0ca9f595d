//! Orders that buyers place on the page of a shop behind another API: when the shop reports them, and what is said before.

use std::sync::{Arc, PoisonError, atomic::Ordering};

use async_trait::async_trait;
use ucp_core::{
    Answer, Code, Outcome, Refusal,
    call::SaleRequest,
    checkout::{Create, Update, View, status::Status},
    message::Message,
    operation::ById,
    ports::{
        Commerce as _, Notice, OrderInbox, PlacedLine, PlacedOrder, PortError,
        caller::Caller,
        ledger::{Committed, Ledger as _},
    },
    purchase::{
        line_item::PurchasedItem,
        totals::{TotalKind, Totals, amount_of},
    },
    sales::{ORPHANED_AFTER, SalesService, placing::Placed},
};
use ucp_testkit::{
    TestShop,
    shop::{draft, platform},
};

use crate::remote_carts::{PAGE, Remote, shop};

const STATUS_PAGE: &str = "https://remote.example/orders/1";

/// An inbox of a shop that can be asked for one order.
struct Asked(Option<PlacedOrder>);

#[async_trait]
impl OrderInbox for Asked {
    fn open(&self, _: &Notice<'_>) -> Result<Option<PlacedOrder>, Refusal> {
        Ok(None)
    }

    async fn order(&self, reference: &str) -> Result<Option<PlacedOrder>, PortError> {
        Ok(self.0.clone().filter(|order| order.reference == reference))
    }
}

fn alice() -> Caller {
    platform("alice", &[])
}

fn create() -> SaleRequest {
    SaleRequest::CreateCheckout(Create { draft: draft(&[("a", 2)]), cart_id: None })
}

fn get(id: &str) -> SaleRequest {
    SaleRequest::GetCheckout(ById { id: id.to_owned() })
}

fn view(outcome: Outcome) -> View {
    match outcome {
        Outcome::Answer(Answer::Checkout(view)) => view,
        other => panic!("{other:?}"),
    }
}

async fn ask(shop: &TestShop, request: SaleRequest) -> View {
    view(shop.call(&alice(), request).await.expect("carried out"))
}

/// Creates a checkout; returns its identifier.
async fn handed_off(shop: &TestShop) -> String {
    ask(shop, create()).await.checkout.id
}

fn codes(view: &View) -> Vec<&str> {
    let codes = view.messages.iter().map(|message| match message {
        Message::Error { code, .. } | Message::Warning { code, .. } => code.as_str(),
        Message::Info { code, .. } => code.as_deref().unwrap_or_default(),
    });
    codes.collect()
}

/// The order of the last checkout: two of the item `a` at a dollar each, and a tax of 16 cents.
fn order(shop: &TestShop, remote: &Remote) -> PlacedOrder {
    let reference = remote.reference.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("a reference");
    let goods = || Totals::of(200).and_then(Totals::finish).expect("totals");
    let mut totals = Totals::of(200).expect("totals");
    totals.push(TotalKind::Tax, None, 16).expect("a tax");
    let item = PurchasedItem {
        id: "a".into(),
        title: "A".into(),
        price: ucp_core::money::Amount::new(100).expect("an amount"),
        image_url: None,
        needs_fulfillment: false,
        weight_grams: 0,
        lead_time: ucp_core::catalog::product::LeadTime::default(),
    };
    PlacedOrder {
        reference,
        id: "order 1".into(),
        label: "#1001".into(),
        permalink_url: Some(STATUS_PAGE.into()),
        currency: "USD".parse().expect("a currency"),
        line_items: vec![PlacedLine { item, quantity: 2, totals: goods() }],
        totals: totals.finish().expect("totals"),
        placed_at: shop.clock.now(),
    }
}

#[tokio::test]
async fn an_order_completes_its_checkout_once_however_often_it_is_reported() {
    let (shop, remote) = shop();
    let id = handed_off(&shop).await;
    let order = order(&shop, &remote);
    let (one, other) = tokio::join!(shop.sales.place(&order), shop.sales.place(&order));
    let mut results = [one.expect("stored"), other.expect("stored")];
    results.sort_by_key(|placed| *placed != Placed::Completed);
    assert_eq!(results, [Placed::Completed, Placed::Known]);
    let second = PlacedOrder { id: "order 2".into(), label: "#1002".into(), ..order.clone() };
    assert_eq!(shop.sales.place(&second).await.expect("read"), Placed::Another);
    let shown = ask(&shop, get(&id)).await;
    assert_eq!((shown.checkout.status(), shown.permalink_url.as_deref()), (Status::Completed, Some(STATUS_PAGE)));
    assert_eq!((shown.continue_url.as_deref(), codes(&shown)), (None, vec![]));
    assert_eq!(amount_of(&shown.checkout.totals, TotalKind::Total), 216, "what was paid");
    assert_eq!(shown.checkout.line_items[0].id, "li_1", "the line is the one of before");
    let orders = shop.ledger.orders();
    assert_eq!((orders.len(), orders[0].label.as_str(), orders[0].checkout_id.as_str()), (1, "#1001", id.as_str()));
}

#[tokio::test]
async fn an_order_that_is_reported_before_its_checkout_is_stored_is_to_be_reported_again() {
    let (shop, remote) = shop();
    let decision = shop.sales.decide(&alice(), create()).await.expect("decided");
    let order = order(&shop, &remote);
    let refusal = shop.sales.place(&order).await.expect_err("not stored yet");
    assert_eq!((refusal.code, refusal.retry_after.is_some()), (Code::Unavailable, true));
    assert_eq!(shop.ledger.commit(*decision.change, None).await.expect("written"), Committed::Done);
    assert_eq!(shop.sales.place(&order).await.expect("stored"), Placed::Completed);
}

#[tokio::test]
async fn an_order_of_no_checkout_is_not_reported_for_ever() {
    let (shop, remote) = shop();
    handed_off(&shop).await;
    let order = PlacedOrder { reference: "nobody's".into(), ..order(&shop, &remote) };
    shop.sales.place(&order).await.expect_err("a call may be about to store it");
    shop.clock.advance(u32::try_from(ORPHANED_AFTER.as_secs()).expect("some minutes"));
    assert_eq!(shop.sales.place(&order).await.expect("read"), Placed::Unknown);
    assert!(shop.ledger.orders().is_empty());
}

#[tokio::test]
async fn a_change_that_was_decided_before_the_order_was_reported_is_not_stored() {
    let (shop, remote) = shop();
    let id = handed_off(&shop).await;
    let update = || SaleRequest::UpdateCheckout(Update { id: id.clone(), draft: draft(&[("a", 5)]) });
    let decision = shop.sales.decide(&alice(), update()).await.expect("decided");
    assert_eq!(shop.sales.place(&order(&shop, &remote)).await.expect("stored"), Placed::Completed);
    assert_eq!(shop.ledger.commit(*decision.change, None).await.expect("compared"), Committed::Stale);
    // Decided again, the change is refused.
    let again = shop.call(&alice(), update()).await.expect("answered");
    assert!(!matches!(again, Outcome::Answer(_)), "{again:?}");
    assert_eq!(ask(&shop, get(&id)).await.checkout.status(), Status::Completed);
}

#[tokio::test]
async fn an_order_completes_a_checkout_that_was_canceled_or_has_expired_while_the_buyer_paid() {
    for canceled in [true, false] {
        let (shop, remote) = shop();
        let id = handed_off(&shop).await;
        if canceled {
            ask(&shop, SaleRequest::CancelCheckout(ById { id: id.clone() })).await;
        } else {
            let seconds = shop.sales.terms.lifetimes.checkout_seconds;
            shop.clock.advance(seconds);
        }
        assert_eq!(ask(&shop, get(&id)).await.checkout.status(), Status::Canceled);
        assert_eq!(shop.sales.place(&order(&shop, &remote)).await.expect("stored"), Placed::Completed);
        let shown = ask(&shop, get(&id)).await;
        assert_eq!((shown.checkout.status(), codes(&shown)), (Status::Completed, vec![]));
        assert_eq!(shop.ledger.orders().len(), 1);
    }
}

#[tokio::test]
async fn a_cart_that_is_gone_leaves_its_checkout_open_until_it_expires() {
    let (mut shop, remote) = shop();
    for inbox in [None, Some(Arc::new(Asked(None)) as Arc<dyn OrderInbox>)] {
        remote.gone.store(false, Ordering::Relaxed);
        shop.sales = SalesService { order_inbox: inbox, ..shop.sales };
        let id = handed_off(&shop).await;
        remote.gone.store(true, Ordering::Relaxed);
        let update = SaleRequest::UpdateCheckout(Update { id: id.clone(), draft: draft(&[("a", 5)]) });
        for request in [get(&id), update, get(&id)] {
            let shown = ask(&shop, request).await;
            assert_eq!(
                (shown.checkout.status(), codes(&shown)),
                (Status::RequiresEscalation, vec!["purchase_unconfirmed"])
            );
            assert_eq!(shown.continue_url.as_deref(), Some(PAGE));
            assert_eq!(shown.checkout.line_items[0].quantity, 2, "what was handed over stays");
        }
        let seconds = shop.sales.terms.lifetimes.checkout_seconds;
        shop.clock.advance(seconds);
        let over = ask(&shop, get(&id)).await;
        assert_eq!((over.checkout.status(), codes(&over)), (Status::Canceled, vec!["expired"]));
    }
}

#[tokio::test]
async fn a_shop_that_can_be_asked_for_an_order_need_not_report_it() {
    let (mut shop, remote) = shop();
    let id = handed_off(&shop).await;
    let inbox = Arc::new(Asked(Some(order(&shop, &remote))));
    shop.sales = SalesService { order_inbox: Some(inbox), ..shop.sales };
    assert!(ask(&shop, get(&id)).await.checkout.status().is_open(), "as long as the cart is there");
    remote.gone.store(true, Ordering::Relaxed);
    let shown = ask(&shop, get(&id)).await;
    assert_eq!((shown.checkout.status(), shown.permalink_url.as_deref()), (Status::Completed, Some(STATUS_PAGE)));
    assert_eq!(shop.ledger.orders().len(), 1);
}
