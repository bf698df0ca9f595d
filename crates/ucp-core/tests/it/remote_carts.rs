//! Carts at a shop behind another API, and commits that do not come about.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use ucp_core::{
    Outcome,
    call::SaleRequest,
    cart,
    operation::ById,
    ports::{
        Completion, PortError, SalesCapabilities,
        agenda::Agenda as _,
        caller::BuyerSignals,
        payment_handler::Handler as _,
        remote_cart::{OrderOutcome, PlaceRequest, PriceQuote, PriceRequest, RemoteCart, ShopOrder},
    },
    pricing::{self, terms::Terms},
    purchase::{
        payment::{Attempt, Settlement},
        quote::{Facts, ItemFacts, NamedItem},
        remote_cart_ref::RemoteCartRef,
    },
    sales::{ORPHANED_AFTER, SalesService},
};
use ucp_testkit::{
    Fate, ScriptedHandler, TestShop,
    shop::{draft, platform},
};

/// A shop behind another API that sells everything for a dollar.
#[derive(Default)]
pub(crate) struct Remote {
    carts: Mutex<BTreeSet<String>>,
    made: AtomicUsize,
    unreachable: AtomicBool,
    /// `true` once the shop no longer has any cart.
    pub(crate) gone: AtomicBool,
    /// Reference of the last checkout.
    pub(crate) reference: Mutex<Option<String>>,
    /// Results of orders, if the shop accepts them.
    pub(crate) orders: Option<ScriptedHandler>,
}

impl Remote {
    fn carts(&self) -> BTreeSet<String> {
        self.carts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[async_trait]
impl RemoteCart for Remote {
    fn capabilities(&self) -> SalesCapabilities {
        let completion = if self.orders.is_some() { Completion::Native } else { Completion::HandOff };
        SalesCapabilities { purchases: true, completion, orders: false, extensions: &[] }
    }

    async fn place(&self, request: PlaceRequest<'_>) -> OrderOutcome {
        let (Some(orders), Some(tender)) = (&self.orders, request.tender) else {
            return OrderOutcome::Placed(order("free"));
        };
        assert_eq!(request.checkout.remote_cart.as_ref().map(|cart| &cart.reference[..6]), Some("remote"));
        let memo = orders.prepare(tender).expect("an instrument of the kind that is declared");
        outcome(orders.pay(&Attempt { memo, ..request.attempt.clone() }, tender).await)
    }

    async fn placed(&self, attempt: &Attempt, cart: Option<&RemoteCartRef>) -> OrderOutcome {
        assert_eq!(cart.map(|cart| &cart.reference[..6]), Some("remote"));
        match &self.orders {
            Some(_) if attempt.amount.minor() == 0 => OrderOutcome::Placed(order("free")),
            Some(orders) => outcome(orders.inquire(attempt).await),
            None => OrderOutcome::Unknown,
        }
    }

    async fn cancel(&self, attempt: &Attempt, cart: Option<&RemoteCartRef>) -> bool {
        assert_eq!(cart.map(|cart| &cart.reference[..6]), Some("remote"));
        match &self.orders {
            Some(orders) => orders.forget(attempt).await,
            None => false,
        }
    }

    async fn sync(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError> {
        if self.gone.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if let Some(reference) = request.reference {
            *self.reference.lock().unwrap_or_else(PoisonError::into_inner) = Some(reference.to_owned());
        }
        let reference = request.remote_cart.map_or_else(
            || format!("remote {}", self.made.fetch_add(1, Ordering::Relaxed)),
            |cart| cart.reference.clone(),
        );
        self.carts.lock().unwrap_or_else(PoisonError::into_inner).insert(reference.clone());
        let good = |id: &str| ItemFacts {
            id: id.to_owned(),
            product_id: id.to_owned(),
            title: id.to_owned(),
            price: ucp_core::money::Amount::new(100).expect("an amount"),
            image_url: None,
            available: true,
            stock: None,
            quantity_rule: ucp_core::catalog::product::QuantityRule::default(),
            problem: None,
            weight_grams: 0,
            lead_time: ucp_core::catalog::product::LeadTime::default(),
            stock_by_location: None,
            needs_fulfillment: false,
        };
        let currency = "USD".parse().expect("a currency");
        let facts = Facts {
            currency,
            own_currency: currency,
            taxes: Vec::new(),
            credits: Vec::new(),
            unmet_codes: Vec::new(),
            goods: request.draft.line_items.iter().map(|line| NamedItem::One(good(&line.item))).collect(),
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        let PriceRequest { purpose, draft, caller, previous, .. } = request;
        let quote = pricing::quote(purpose, draft, &facts, &Terms::default(), caller, previous)?;
        let continue_url = Some(PAGE.to_owned());
        let remote_cart = Some(RemoteCartRef { reference, continue_url, ..RemoteCartRef::default() });
        Ok(Some(PriceQuote { quote, purchasable: true, remote_cart }))
    }

    async fn fetch(&self, request: PriceRequest<'_>) -> Result<Option<PriceQuote>, PortError> {
        self.sync(request).await
    }

    async fn abandon(&self, cart: &RemoteCartRef, _: &BuyerSignals) -> Result<(), PortError> {
        if self.unreachable.load(Ordering::Relaxed) {
            return Err(PortError::unavailable("The shop cannot be told.", 1));
        }
        self.carts.lock().unwrap_or_else(PoisonError::into_inner).remove(&cart.reference);
        Ok(())
    }
}

/// An order as the shop names it.
pub(crate) fn order(id: &str) -> ShopOrder {
    let permalink_url = Some(format!("https://remote.example/orders/{id}"));
    ShopOrder { id: id.to_owned(), label: Some(format!("no. {id}")), permalink_url, is_authorized: false }
}

/// Result of a payment as result of an order.
fn outcome(settlement: Settlement) -> OrderOutcome {
    match settlement {
        Settlement::Captured { reference } | Settlement::Authorized { reference } => {
            OrderOutcome::Placed(order(&reference))
        }
        Settlement::Declined { reason } => OrderOutcome::Declined { reason },
        Settlement::Unsent => OrderOutcome::Unsent,
        Settlement::Challenged { reason } => OrderOutcome::Challenged { reason, continue_url: Some(PROOF.to_owned()) },
        Settlement::AwaitingBuyer { .. } | Settlement::Unknown => OrderOutcome::Unknown,
        Settlement::Absent => OrderOutcome::Absent,
    }
}

/// Page on which buyers prove who they are.
pub(crate) const PROOF: &str = "https://remote.example/proof";

/// Page on which buyers pay.
pub(crate) const PAGE: &str = "https://remote.example/pay";

pub(crate) fn shop() -> (TestShop, Arc<Remote>) {
    let (mut shop, remote) = (TestShop::new(Terms::default()), Arc::new(Remote::default()));
    shop.sales = SalesService { remote_carts: Some(Arc::clone(&remote) as _), ..shop.sales };
    (shop, remote)
}

fn create() -> SaleRequest {
    SaleRequest::CreateCart(cart::Create { draft: draft(&[("a", 1)]) })
}

/// Lets the time pass after which a cart without an owner is an orphan.
fn wait(shop: &TestShop) {
    shop.clock.advance(u32::try_from(ORPHANED_AFTER.as_secs()).expect("some minutes") + 1);
}

#[tokio::test]
async fn a_cart_that_a_document_names_stays_and_ends_with_it() {
    let (shop, remote) = shop();
    let alice = platform("alice", &[]);
    let Ok(Outcome::Answer(ucp_core::Answer::Cart(view))) = shop.call(&alice, create()).await else { panic!("a cart") };
    wait(&shop);
    assert_eq!(shop.carry_out_due().await, Ok(0));
    assert_eq!(remote.carts().len(), 1);
    let cancel = SaleRequest::CancelCart(ById { id: view.cart.id.clone() });
    shop.call(&alice, cancel).await.expect("cancels");
    assert_eq!(shop.carry_out_due().await, Ok(1));
    assert!(remote.carts().is_empty());
}

#[tokio::test]
async fn a_crash_between_the_cart_at_the_shop_and_the_commit_leaves_nothing_behind() {
    let (shop, remote) = shop();
    let alice = platform("alice", &[]);
    shop.ledger.decide_fates(|_| Fate::FailsBefore);
    for _ in 0..3 {
        shop.call(&alice, create()).await.expect_err("nothing was committed");
    }
    shop.ledger.recover();
    assert_eq!((remote.carts().len(), shop.ledger.carts().len()), (3, 0));
    assert_eq!(shop.carry_out_due().await, Ok(0), "a call may still be about to commit");
    wait(&shop);
    assert_eq!(shop.carry_out_due().await, Ok(3));
    assert!(remote.carts().is_empty());
    assert_eq!(shop.carry_out_due().await, Ok(0));
}

#[tokio::test]
async fn a_commit_that_fails_after_all_was_written_leaves_its_cart_alone() {
    let (shop, remote) = shop();
    shop.ledger.decide_fates(|_| Fate::FailsAfter);
    shop.call(&platform("alice", &[]), create()).await.expect_err("nobody was told");
    shop.ledger.recover();
    wait(&shop);
    assert_eq!(shop.carry_out_due().await, Ok(0));
    assert_eq!((remote.carts().len(), shop.ledger.carts().len()), (1, 1));
}

#[tokio::test]
async fn a_shop_that_cannot_be_told_is_told_later_and_keeps_no_other_cart_waiting() {
    let (shop, remote) = shop();
    let alice = platform("alice", &[]);
    shop.ledger.decide_fates(|_| Fate::FailsBefore);
    shop.call(&alice, create()).await.expect_err("nothing was committed");
    wait(&shop);
    remote.unreachable.store(true, Ordering::Relaxed);
    assert_eq!(shop.carry_out_due().await, Ok(1), "the shop cannot be told");
    let told = shop.ledger.tasks(9).await.expect("reads").remove(0);
    assert_eq!((told.tries, told.problem.is_some()), (1, true));
    remote.unreachable.store(false, Ordering::Relaxed);
    shop.call(&alice, create()).await.expect_err("nothing was committed");
    wait(&shop);
    assert_eq!(shop.carry_out_due().await, Ok(2));
    assert!(remote.carts().is_empty());
}
