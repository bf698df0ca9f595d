//! Orders that buyers place on the page of a shop behind another API: when the shop reports them, and what is said before.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

use async_trait::async_trait;
use ucp_core::{
    Answer, Code, Outcome, Refusal,
    call::SaleRequest,
    checkout::{Create, Update, View, status::Status},
    message::Message,
    money::Amount,
    operation::ById,
    order::{
        AdjustmentStatus, RemoteOrder,
        progress::Tracking,
        report::{Occurrence, OccurrenceKind, Report},
    },
    ports::{
        Commerce as _, FoundOrder, Notice, OrderInbox, OrderWays, PlacedLine, PlacedOrder, PortError, Told,
        agenda::Agenda as _,
        caller::Caller,
        ledger::{Committed, Ledger as _},
    },
    purchase::{
        line_item::PurchasedItem,
        remote_cart_ref::RemoteCartRef,
        totals::{TotalKind, Totals, amount_of},
    },
    sales::{ORPHANED_AFTER, SalesService, following::Reported, placing::Placed},
};
use ucp_testkit::{
    TestShop,
    shop::{draft, platform},
};

use crate::remote_carts::{PAGE, Remote, shop};

const STATUS_PAGE: &str = "https://remote.example/orders/1";

/// An inbox of a shop that can be asked for one order, and what has become of it.
#[derive(Default)]
struct Asked(Option<PlacedOrder>, Mutex<Vec<Occurrence>>);

#[async_trait]
impl OrderInbox for Asked {
    fn ways(&self) -> OrderWays {
        OrderWays { tells: true, finds: self.0.is_some(), follows: true }
    }

    async fn open(&self, _: &Notice<'_>) -> Result<Option<Told>, Refusal> {
        Ok(None)
    }

    async fn order(&self, reference: &str, cart: Option<&RemoteCartRef>) -> Result<Option<FoundOrder>, PortError> {
        assert!(cart.is_some(), "the cart is named");
        let found = self.0.clone().filter(|order| order.reference == reference);
        Ok(found.map(|order| FoundOrder::Whole(Box::new(order))))
    }

    async fn status(&self, order: &RemoteOrder) -> Result<Option<Report>, PortError> {
        let occurrences = self.1.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(Some(report(&order.reference, occurrences)))
    }
}

fn report(order: &str, occurrences: Vec<Occurrence>) -> Report {
    Report { order: order.to_owned(), currency: "USD".parse().ok(), is_ours: true, occurrences }
}

fn occurrence(shop: &TestShop, id: &str, kind: OccurrenceKind, amount: Option<i64>) -> Occurrence {
    Occurrence {
        id: id.to_owned(),
        kind,
        at: shop.clock.now(),
        lines: Vec::new(),
        amount: amount.and_then(Amount::new),
        status: AdjustmentStatus::Completed,
        tracking: Tracking::default(),
        reason: None,
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
        price: Amount::new(100).expect("an amount"),
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
        is_authorized: false,
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
    for inbox in [None, Some(Arc::new(Asked::default()) as Arc<dyn OrderInbox>)] {
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

/// Creates a checkout at a shop that can be asked for its order; returns its identifier.
async fn findable(shop: &mut TestShop, remote: &Remote) -> String {
    shop.sales = SalesService { order_inbox: Some(Arc::new(NOBODYS)), ..shop.sales.clone() };
    let id = handed_off(shop).await;
    let inbox = Arc::new(Asked(Some(order(shop, remote)), Mutex::default()));
    shop.sales = SalesService { order_inbox: Some(inbox), ..shop.sales.clone() };
    id
}

/// An inbox of a shop that finds nothing yet.
struct Nobodys;

const NOBODYS: Nobodys = Nobodys;

#[async_trait]
impl OrderInbox for Nobodys {
    fn ways(&self) -> OrderWays {
        OrderWays { finds: true, ..OrderWays::default() }
    }

    async fn open(&self, _: &Notice<'_>) -> Result<Option<Told>, Refusal> {
        Ok(None)
    }
}

#[tokio::test]
async fn a_shop_that_can_be_asked_for_an_order_need_not_report_it() {
    for gone in [false, true] {
        let (mut shop, remote) = shop();
        let id = findable(&mut shop, &remote).await;
        remote.gone.store(gone, Ordering::Relaxed);
        let shown = ask(&shop, get(&id)).await;
        assert_eq!((shown.checkout.status(), shown.permalink_url.as_deref()), (Status::Completed, Some(STATUS_PAGE)));
        assert_eq!(shop.ledger.orders().len(), 1);
    }
}

#[tokio::test]
async fn an_order_is_found_without_anybody_looking_also_after_its_checkout_was_canceled_or_has_expired() {
    for end in ["open", "canceled", "expired"] {
        let (mut shop, remote) = shop();
        let id = findable(&mut shop, &remote).await;
        let seconds = shop.sales.terms.lifetimes.checkout_seconds;
        match end {
            "canceled" => drop(ask(&shop, SaleRequest::CancelCheckout(ById { id: id.clone() })).await),
            "expired" => shop.clock.advance(seconds),
            _ => shop.clock.advance(31),
        }
        shop.clock.advance(31);
        shop.carry_out_all().await.expect("the books are fine");
        assert_eq!(ask(&shop, get(&id)).await.checkout.status(), Status::Completed, "{end}");
    }
}

#[tokio::test]
async fn what_is_not_found_is_not_asked_for_for_ever() {
    let (mut shop, _) = shop();
    shop.sales = SalesService { order_inbox: Some(Arc::new(NOBODYS)), ..shop.sales.clone() };
    let id = handed_off(&shop).await;
    let seconds = shop.sales.terms.lifetimes.checkout_seconds;
    shop.clock.advance(seconds);
    shop.clock.advance(31 * 60);
    shop.carry_out_all().await.expect("the books are fine");
    assert_eq!(shop.ledger.tasks(9).await.expect("reads"), []);
    assert_eq!(ask(&shop, get(&id)).await.checkout.status(), Status::Canceled);
}

#[tokio::test]
async fn what_becomes_of_an_order_is_asked_for_and_told_once() {
    let (mut shop, remote) = shop();
    let id = handed_off(&shop).await;
    let placed = order(&shop, &remote);
    let inbox = Arc::new(Asked(Some(placed.clone()), Mutex::default()));
    shop.sales = SalesService { order_inbox: Some(Arc::clone(&inbox) as _), ..shop.sales.clone() };
    assert_eq!(shop.sales.place(&placed).await.expect("stored"), Placed::Completed);
    let say = |occurrences: Vec<Occurrence>| *inbox.1.lock().unwrap_or_else(PoisonError::into_inner) = occurrences;
    let shipped = occurrence(&shop, "s", OccurrenceKind::Shipped, None);
    let refund = occurrence(&shop, "r", OccurrenceKind::Refunded, Some(217));
    // A refund of more than was paid is left out, the rest is applied.
    say(vec![refund, shipped.clone()]);
    for _ in 0..3 {
        shop.clock.advance(70);
        shop.carry_out_all().await.expect("the books are fine");
    }
    let stored = shop.ledger.orders().remove(0);
    assert_eq!((stored.events.len(), stored.adjustments.len()), (1, 0), "{id}");
    let task = shop.ledger.tasks(9).await.expect("reads").remove(0);
    assert!(task.problem.is_some_and(|problem| problem.contains("216 minor units are left")));
    say(vec![shipped, occurrence(&shop, "r", OccurrenceKind::Refunded, Some(216))]);
    shop.clock.advance(70);
    shop.carry_out_all().await.expect("the books are fine");
    assert_eq!(shop.ledger.orders()[0].refundable(), 0);
    // The longer nothing happens, the later the shop is asked; at last no more.
    shop.clock.advance(24 * 3_600);
    shop.carry_out_all().await.expect("the books are fine");
    let next = shop.ledger.tasks(9).await.expect("reads").remove(0).due;
    assert!(next.duration_since(shop.clock.now()).as_hours() >= 2, "{next}");
    shop.clock.advance(91 * 24 * 3_600);
    shop.carry_out_all().await.expect("the books are fine");
    assert_eq!(shop.ledger.tasks(9).await.expect("reads"), []);
}

#[tokio::test]
async fn a_notice_is_applied_as_a_whole_or_not_at_all() {
    let (shop, remote) = shop();
    handed_off(&shop).await;
    let placed = order(&shop, &remote);
    let shipped = occurrence(&shop, "s", OccurrenceKind::Shipped, None);
    let whole = report(&placed.id, vec![shipped.clone()]);
    let early = shop.sales.report(&whole).await.expect_err("not known yet");
    assert_eq!((early.code, early.retry_after.is_some()), (Code::Unavailable, true));
    assert_eq!(shop.sales.place(&placed).await.expect("stored"), Placed::Completed);
    let much = occurrence(&shop, "r", OccurrenceKind::Refunded, Some(217));
    let unfit = shop.sales.report(&report(&placed.id, vec![shipped, much])).await.expect("read");
    assert!(matches!(unfit, Reported::Unfit(misfit) if misfit.position == 1));
    assert!(shop.ledger.orders()[0].events.is_empty());
    let (one, other) = tokio::join!(shop.sales.report(&whole), shop.sales.report(&whole));
    let mut results = [one.expect("stored"), other.expect("stored")];
    results.sort_by_key(|reported| *reported != Reported::Changed);
    assert_eq!(results, [Reported::Changed, Reported::Known]);
    assert_eq!(shop.ledger.orders()[0].events.len(), 1);
    let others = Report { is_ours: false, ..report("others", Vec::new()) };
    assert_eq!(shop.sales.report(&others).await.expect("read"), Reported::Stranger);
}
