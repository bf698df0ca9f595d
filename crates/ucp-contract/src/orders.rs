//! Orders of a shop behind the contract: those that buyers place on its pages, and what becomes of all of them, as its
//! events say and as it answers.
//!
//! An event is the shop's if it is signed as the gateway signs its requests (see [`http`](crate::http)), with the method
//! and path of the endpoint, and no older than [`MAX_AGE`](event::MAX_AGE); or in a way of its own that the transport knows.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;
use ucp_core::{
    Refusal,
    json::{self, Limits},
    order::{
        AdjustmentStatus, RemoteOrder,
        progress::Tracking,
        report::{Occurrence, Report, ReportedLine},
    },
    ports::{FoundOrder, Notice, OrderInbox, OrderWays, PlacedLine, PlacedOrder, PortError, Told},
    purchase::{
        line_item::{MAX_QUANTITY, PurchasedItem},
        remote_cart_ref::RemoteCartRef,
        totals::{TooLarge, TotalKind, Totals},
    },
};
use ucp_import::{
    jsonl::typed,
    text::{address, line},
};

use crate::{
    ContractShop, Question,
    cart::named,
    documents::{
        Attempt, Bought, BoughtLine, Completion, Order, OrderChanged, OrderEvent, OrderPlaced, OrderQuestion, Outcome,
        PaymentProgress,
    },
    event,
    http::SigningSecret,
};

/// Path of the endpoint for events, which the signature covers.
pub const EVENTS_PATH: &str = "/upstream/orders";

/// Maximum number of lines of an order or an event.
const MOST_LINES: usize = 1_000;

/// Maximum number of events in one document.
const MOST_EVENTS: usize = 1_000;

/// Maximum length of the identifier of an event, in characters.
const LONGEST_ID: usize = 200;

/// Orders of a shop. `Debug` does not print the secret.
#[derive(Clone)]
pub struct ShopOrders {
    shop: ContractShop,
    secret: Option<SigningSecret>,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}
ucp_core::opaque!(ShopOrders);

impl ShopOrders {
    /// Creates the inbox of a shop whose events, if there are any in the contract's form, are signed with a secret.
    pub fn new(
        shop: ContractShop,
        secret: Option<SigningSecret>,
        now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    ) -> Self {
        Self { shop, secret, now }
    }
}

/// Path and reason of a fault.
type Fault = (String, String);

#[async_trait]
impl OrderInbox for ShopOrders {
    fn ways(&self) -> OrderWays {
        let cart = self.shop.cart_abilities();
        let hands_off = |completion| completion == Completion::HandOff;
        OrderWays {
            tells: self.secret.is_some() || self.shop.transport().has_events(),
            finds: cart.as_ref().is_some_and(|cart| cart.finds_orders && hands_off(cart.completion)),
            follows: cart.is_some_and(|cart| cart.order_status),
        }
    }

    async fn open(&self, notice: &Notice<'_>) -> Result<Option<Told>, Refusal> {
        let transport = self.shop.transport();
        let body = if transport.has_events() {
            let Some(body) = transport.event(notice).await? else { return Ok(None) };
            body
        } else if let Some(secret) = &self.secret {
            event::verify(secret, (self.now)(), EVENTS_PATH, notice)?;
            bytes::Bytes::copy_from_slice(notice.body)
        } else {
            return Err(Refusal::unavailable("This gateway takes no events of the shop.", 3_600));
        };
        read_event(&body).map(Some)
    }

    async fn order(&self, reference: &str, cart: Option<&RemoteCartRef>) -> Result<Option<FoundOrder>, PortError> {
        let cart = cart.map(|cart| cart.reference.clone());
        let question = Attempt { reference: reference.to_owned(), cart };
        let outcome = self.shop.ask::<Outcome>(Question::Order, &question).await?;
        let Some(Outcome::Placed { order, bought }) = outcome else { return Ok(None) };
        let Some(bought) = bought else { return Ok(Some(FoundOrder::Named(named(order)))) };
        match placed(reference.to_owned(), order, &bought) {
            Ok(placed) => Ok(Some(FoundOrder::Whole(Box::new(placed)))),
            Err(fault) => Err(unusable_answer(Question::Order, &fault)),
        }
    }

    async fn status(&self, order: &RemoteOrder) -> Result<Option<Report>, PortError> {
        let question = OrderQuestion { order: order.reference.clone() };
        let Some(changed) = self.shop.ask::<OrderChanged>(Question::OrderStatus, &question).await? else {
            return Ok(None);
        };
        if changed.order.id != order.reference {
            let fault = ("$.order.id".to_owned(), "must be the order that was asked for".to_owned());
            return Err(unusable_answer(Question::OrderStatus, &fault));
        }
        report(changed).map(Some).map_err(|fault| unusable_answer(Question::OrderStatus, &fault))
    }
}

/// Returns the error for an answer that violates the contract.
fn unusable_answer(question: Question, (path, reason): &Fault) -> PortError {
    tracing::error!(question = question.path(), path, reason, "upstream response does not match the backend contract");
    PortError::unavailable("The shop's answer cannot be used.", 60)
}

/// Reads an event of the contract.
fn read_event(body: &[u8]) -> Result<Told, Refusal> {
    let unusable = |path: String, reason: String| {
        Refusal::invalid(path, format!("The event must state an order: {reason}."))
            .accepting("an order, or what has become of one, as the backend contract describes it")
    };
    let value = json::parse(body, Limits::REQUEST).map_err(|fault| event::unreadable(&fault, &unusable))?;
    let told = if value.get("events").is_some() {
        typed(value).and_then(report).map(Told::Reported)
    } else {
        whole(value).and_then(|OrderPlaced { reference, order, bought }| {
            placed(reference, order, &bought).map(|placed| Told::Placed(Box::new(placed)))
        })
    };
    told.map_err(|(path, reason)| unusable(path, reason))
}

/// Reads a document whose members a nested one has, too: the path of a fault in that is not known otherwise.
fn whole<T: DeserializeOwned>(value: Value) -> Result<T, Fault> {
    typed::<Bought>(value.clone())?;
    typed(value)
}

/// Checks an event, or what has become of an order, whoever made it. Fails with the violation to correct, with its path.
pub fn check(body: &[u8]) -> Result<(), String> {
    let told = read_event(body);
    told.map(drop).map_err(|refusal| format!("{}: {}", refusal.path.as_deref().unwrap_or("$"), refusal.content))
}

/// Reads what has become of an order; the error is the path and the reason.
fn report(changed: OrderChanged) -> Result<Report, Fault> {
    let OrderChanged { reference, order, currency, events } = changed;
    if events.len() > MOST_EVENTS {
        return Err(("$.events".to_owned(), format!("there must be at most {MOST_EVENTS}")));
    }
    let occurrences = events.into_iter().enumerate().map(|(position, event)| occurrence(position, event));
    let is_ours = reference.is_some();
    Ok(Report {
        order: order.id,
        currency: Some(currency),
        is_ours,
        occurrences: occurrences.collect::<Result<_, _>>()?,
    })
}

fn occurrence(position: usize, event: OrderEvent) -> Result<Occurrence, Fault> {
    let OrderEvent { id, kind, at, lines, amount, status, carrier, tracking_number, tracking_url, reason } = event;
    let path = |member: &str| format!("$.events[{position}].{member}");
    let length = id.chars().count();
    if !(1..=LONGEST_ID).contains(&length) || id.chars().any(char::is_control) {
        return Err((path("id"), format!("must be a text of 1 to {LONGEST_ID} characters")));
    }
    if lines.len() > MOST_LINES {
        return Err((path("lines"), format!("there must be at most {MOST_LINES} lines")));
    }
    if let Some(line) = lines.iter().position(|line| !(1..=MAX_QUANTITY).contains(&line.quantity)) {
        let reason = format!("must be a whole number from 1 to {MAX_QUANTITY}");
        return Err((path(&format!("lines[{line}].quantity")), reason));
    }
    let shown = |text: Option<String>| text.as_deref().and_then(line);
    let lines = lines.into_iter().map(|stated| ReportedLine {
        variant: stated.variant,
        quantity: stated.quantity,
        title: shown(stated.title),
        price: stated.price,
    });
    Ok(Occurrence {
        id,
        kind,
        at,
        lines: lines.collect(),
        amount,
        status: status.unwrap_or(AdjustmentStatus::Completed),
        tracking: Tracking {
            carrier: shown(carrier),
            number: shown(tracking_number),
            url: tracking_url.as_deref().and_then(address),
        },
        reason: shown(reason),
    })
}

/// Reads an order; the error is the path and the reason.
fn placed(reference: String, order: Order, event: &Bought) -> Result<PlacedOrder, Fault> {
    let too_large = |_: TooLarge| ("$.total".to_owned(), "the sum is too large".to_owned());
    if event.lines.is_empty() || event.lines.len() > MOST_LINES {
        return Err(("$.lines".to_owned(), format!("there must be 1 to {MOST_LINES} lines")));
    }
    let mut lines = Vec::with_capacity(event.lines.len());
    let (mut subtotal, mut off) = (0, 0);
    for (position, bought) in event.lines.iter().enumerate() {
        let BoughtLine { variant, title, quantity, price, discount } = bought;
        let at = |member: &str| format!("$.lines[{position}].{member}");
        if !(1..=MAX_QUANTITY).contains(quantity) {
            return Err((at("quantity"), format!("must be a whole number from 1 to {MAX_QUANTITY}")));
        }
        let own = i128::from(price.minor()) * i128::from(*quantity);
        let reduced = discount.map_or(0, |discount| i128::from(discount.minor()));
        if reduced > own {
            return Err((at("discount"), "must not be more than the price of the line".to_owned()));
        }
        let mut totals = Totals::of(own).map_err(too_large)?;
        totals.push(TotalKind::ItemsDiscount, None, -reduced).map_err(too_large)?;
        (subtotal, off) = (subtotal + own, off + reduced);
        let title = line(title).ok_or_else(|| (at("title"), "must not be empty".to_owned()))?;
        let item = PurchasedItem {
            id: variant.clone(),
            title,
            price: *price,
            image_url: None,
            needs_fulfillment: true,
            weight_grams: 0,
            lead_time: ucp_core::catalog::product::LeadTime::default(),
        };
        lines.push(PlacedLine { item, quantity: *quantity, totals: totals.finish().map_err(too_large)? });
    }
    let mut totals = Totals::of(subtotal).map_err(too_large)?;
    let discount = event.discount.map_or(0, |discount| i128::from(discount.minor()));
    if discount > subtotal - off {
        return Err(("$.discount".to_owned(), "must not be more than the price of the goods".to_owned()));
    }
    totals.push(TotalKind::ItemsDiscount, None, -off).map_err(too_large)?;
    totals.push(TotalKind::Discount, None, -discount).map_err(too_large)?;
    if let Some(delivery) = event.delivery {
        totals.push(TotalKind::Fulfillment, None, delivery.minor().into()).map_err(too_large)?;
    }
    for (kind, charges) in [(TotalKind::Fee, &event.fees), (TotalKind::Tax, &event.taxes)] {
        for charge in charges {
            totals.push(kind, line(&charge.title), charge.amount.minor().into()).map_err(too_large)?;
        }
    }
    for (position, credit) in event.credits.iter().enumerate() {
        let (paid, left) = (i128::from(credit.amount.minor()), totals.sum());
        if paid > left {
            return Err((format!("$.credits[{position}].amount"), format!("must be at most {left}, which is left")));
        }
        totals.push(credit.kind.total(), Some(credit.title()), -paid).map_err(too_large)?;
    }
    if totals.sum() != i128::from(event.total.minor()) {
        return Err(("$.total".to_owned(), format!("must be the sum of the parts, {}", totals.sum())));
    }
    Ok(PlacedOrder {
        reference,
        label: order.label.as_deref().and_then(line).unwrap_or_else(|| order.id.clone()),
        permalink_url: order.url.as_deref().and_then(address),
        is_authorized: order.payment == Some(PaymentProgress::Authorized),
        id: order.id,
        currency: event.currency,
        line_items: lines,
        totals: totals.finish().map_err(too_large)?,
        placed_at: event.placed_at,
    })
}
