//! Events of the shop about orders that buyers placed on its pages.
//!
//! An event is the shop's if it is signed as the gateway signs its requests (see [`http`](crate::http)), with the method
//! and path of the endpoint, and no older than [`MAX_AGE`](event::MAX_AGE).

use std::sync::Arc;

use jiff::Timestamp;
use ucp_core::{
    Refusal,
    json::{self, Limits},
    ports::{Notice, OrderInbox, PlacedLine, PlacedOrder},
    purchase::{
        line_item::{MAX_QUANTITY, PurchasedItem},
        totals::{TooLarge, TotalKind, Totals},
    },
};
use ucp_import::{
    jsonl::typed,
    text::{address, line},
};

use crate::{
    documents::{BoughtLine, OrderPlaced},
    event,
    http::SigningSecret,
};

/// Path of the endpoint for events, which the signature covers.
pub const EVENTS_PATH: &str = "/upstream/orders";

/// Maximum number of lines of an order.
const MOST_LINES: usize = 1_000;

/// Verifier and reader of a shop's events. `Debug` does not print the secret.
#[derive(Clone)]
pub struct OrderEvents {
    secret: SigningSecret,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}
ucp_core::opaque!(OrderEvents);

impl OrderEvents {
    /// Creates the inbox of events that are signed with a secret.
    pub fn new(secret: SigningSecret, now: Arc<dyn Fn() -> Timestamp + Send + Sync>) -> Self {
        Self { secret, now }
    }
}

impl OrderInbox for OrderEvents {
    fn open(&self, notice: &Notice<'_>) -> Result<Option<PlacedOrder>, Refusal> {
        event::verify(&self.secret, (self.now)(), EVENTS_PATH, notice)?;
        let unusable = |path: String, reason: String| {
            Refusal::invalid(path, format!("The event must state an order: {reason}."))
                .accepting("an order as the backend contract describes it")
        };
        let value = json::parse(notice.body, Limits::REQUEST).map_err(|fault| event::unreadable(&fault, &unusable))?;
        let event: OrderPlaced = typed(value).map_err(|(path, reason)| unusable(path, reason))?;
        read(event).map(Some).map_err(|(path, reason)| unusable(path, reason))
    }
}

/// Reads an order; the error is the path and the reason.
fn read(event: OrderPlaced) -> Result<PlacedOrder, (String, String)> {
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
        reference: event.reference,
        label: event.order.label.as_deref().and_then(line).unwrap_or_else(|| event.order.id.clone()),
        permalink_url: event.order.url.as_deref().and_then(address),
        id: event.order.id,
        currency: event.currency,
        line_items: lines,
        totals: totals.finish().map_err(too_large)?,
        placed_at: event.placed_at,
    })
}
