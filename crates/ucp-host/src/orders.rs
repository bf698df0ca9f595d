//! Steps of orders that an operator takes, from the command line or over the admin endpoint.
//!
//! A step is applied to the order as stored, and committed only if the order has not changed since; otherwise it is
//! applied again, so that several processes can change orders at the same time. The commit also queues the webhook
//! event for the platform. Money that a step moves is stored before the processor is asked, and the agenda goes on asking
//! if the step is interrupted.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Refusal,
    order::{
        AdjustmentStatus, Hold, LineQuantity, Order,
        progress::{Impossible, Tracking},
    },
    ports::{
        PortError,
        agenda::Plan,
        ledger::{Change, Committed, Kept, Key, Movement, Stored},
        payment_handler::Handler,
        store::Store,
    },
    purchase::totals::{TotalKind, amount_of},
    sales::money::{self, Settled},
};
use url::Url;

/// Maximum number of attempts to commit a step while others change the order.
const TRIES: usize = 16;

/// Maximum length of a text in bytes: of a reason, a carrier, a tracking number or a tracking URL.
const LONGEST_TEXT: usize = 2_000;

/// A step of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Goods are shipped.
    Ship {
        /// Line items that are shipped, with their quantities.
        lines: Vec<LineQuantity>,
        /// Tracking data for the buyer.
        tracking: Tracking,
    },
    /// Goods have arrived.
    Deliver {
        /// Line items that have arrived, with their quantities.
        lines: Vec<LineQuantity>,
    },
    /// Goods will not be shipped, and go back into the stock.
    Cancel {
        /// Line items that are not shipped, with their quantities.
        lines: Vec<LineQuantity>,
        /// Why, for the buyer to read.
        reason: Option<String>,
    },
    /// Money that waits for the merchant is captured, and the rest released.
    Capture {
        /// Amount in minor units, if one was named.
        amount: Option<i64>,
    },
    /// Money that waits for the merchant is released.
    Release,
    /// Money is given back.
    Refund {
        /// Amount in minor units, if one was named.
        amount: Option<i64>,
        /// Line items that it is for.
        lines: Vec<LineQuantity>,
        /// Why, for the buyer to read.
        reason: Option<String>,
    },
    /// The operator has given money back at the processor.
    Confirm {
        /// Identifier of the refund.
        refund: String,
    },
}

/// Details of a step, as the admin endpoint accepts them. Each step accepts some of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Details {
    /// Line items that the step is about.
    pub line_items: Vec<StatedLine>,
    /// Carrier of a shipment.
    pub carrier: Option<String>,
    /// Its number there.
    pub tracking_number: Option<String>,
    /// Page on which the buyer follows it.
    pub tracking_url: Option<String>,
    /// Reason, for the buyer to read.
    pub reason: Option<String>,
    /// Amount in minor units.
    pub amount: Option<i64>,
    /// Identifier of a refund.
    pub refund: Option<String>,
}

/// Quantity of a line item.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StatedLine {
    id: String,
    quantity: i64,
}

/// Names of the steps.
pub const STEPS: [&str; 7] = ["ship", "deliver", "cancel", "capture", "release", "refund", "confirm"];

/// Means by which a step is taken once, however often it is sent.
#[derive(Clone, Copy, Debug, Default)]
pub struct Once<'a> {
    /// Idempotency key.
    pub key: Option<&'a str>,
    /// Version of the order that the operator has seen.
    pub seen: Option<u64>,
}

/// Reasons why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub enum NotTaken {
    /// No order has this identifier.
    #[error("order `{0}` not found; see `ucp-gateway orders list`")]
    NoSuchOrder(String),
    /// Several orders have this label or identifier of the shop.
    #[error("`{0}` means several orders: {1}; name one of these")]
    Ambiguous(String, String),
    /// The state of the order does not allow the step.
    #[error("this cannot happen to the order: {0}")]
    Impossible(#[from] Impossible),
    /// The order was changed since the operator has seen it.
    #[error("the order is in version {0} by now; look at it again, and take the step if it is still to be taken")]
    Seen(u64),
    /// Another step was taken under the idempotency key.
    #[error("another step was taken under this `Idempotency-Key`")]
    KeyReused,
    /// The payment service provider refused to capture or release the money.
    #[error("nothing was captured or released: {0}")]
    NotCaptured(String),
    /// The payment service provider refused the refund.
    #[error("nothing was refunded: {0}")]
    NotRefunded(String),
    /// The result of a capture, a release or a refund is unknown.
    #[error(
        "it is not known yet whether the money was moved ({0}); the provider is asked again by itself, and the order shows what \
         came of it: do not take the step a second time"
    )]
    Unknown(String),
    /// The database cannot be read or written, or others kept changing the order.
    #[error(transparent)]
    Unavailable(#[from] PortError),
}

impl Details {
    /// Creates details with these line items and nothing else.
    pub fn of_lines(lines: Vec<LineQuantity>) -> Self {
        let line_items = lines.into_iter().map(|line| StatedLine { id: line.id, quantity: line.quantity }).collect();
        Self { line_items, ..Self::default() }
    }
}

impl Step {
    /// Creates a step from its name and details. Fails with a message if the name is not one of [`STEPS`], the details
    /// include one that this step does not accept, a text is longer than `LONGEST_TEXT` or has control characters, or
    /// the tracking URL is not an absolute http or https URL.
    pub fn of(name: &str, details: Details) -> Result<Self, String> {
        let Details { line_items, carrier, tracking_number, tracking_url, reason, amount, refund } = details;
        let texts = [&carrier, &tracking_number, &tracking_url, &reason, &refund];
        if texts.into_iter().flatten().any(|text| text.len() > LONGEST_TEXT || text.chars().any(char::is_control)) {
            return Err(format!("texts have at most {LONGEST_TEXT} bytes, without control characters"));
        }
        if let Some(url) = &tracking_url
            && !Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
        {
            return Err("the tracking URL must be an absolute http or https address".to_owned());
        }
        let tracked = carrier.is_some() || tracking_number.is_some() || tracking_url.is_some();
        if tracked && name != "ship" {
            return Err(format!("only `ship` has a carrier, a tracking number and a tracking URL, `{name}` has not"));
        }
        if amount.is_some() && !matches!(name, "capture" | "refund") {
            return Err(format!("only `capture` and `refund` have an amount, `{name}` has not"));
        }
        if refund.is_some() != (name == "confirm") {
            return Err("`confirm`, and no other step, names a refund".to_owned());
        }
        if !line_items.is_empty() && matches!(name, "capture" | "release" | "confirm") {
            return Err(format!("`{name}` is about the money of an order, and has no line items"));
        }
        if reason.is_some() && !matches!(name, "cancel" | "refund") {
            return Err(format!("only `cancel` and `refund` have a reason, `{name}` has not"));
        }
        let lines = line_items.into_iter().map(|line| LineQuantity { id: line.id, quantity: line.quantity }).collect();
        let tracking = Tracking { carrier, number: tracking_number, url: tracking_url };
        match name {
            "ship" => Ok(Self::Ship { lines, tracking }),
            "deliver" => Ok(Self::Deliver { lines }),
            "cancel" => Ok(Self::Cancel { lines, reason }),
            "capture" => Ok(Self::Capture { amount }),
            "release" => Ok(Self::Release),
            "refund" => Ok(Self::Refund { amount, lines, reason }),
            "confirm" => Ok(Self::Confirm { refund: refund.unwrap_or_default() }),
            _ => Err(format!("there is no step `{name}`; there are {}", STEPS.join(", "))),
        }
    }

    /// Returns `true` if the step is there to move money.
    const fn moves(&self) -> bool {
        matches!(self, Self::Refund { .. }) || self.draws()
    }

    /// Returns `true` if the step moves money that waits for the merchant.
    const fn draws(&self) -> bool {
        matches!(self, Self::Capture { .. } | Self::Release)
    }

    /// Applies the step to an order of this version. Returns the goods that come back into the stock.
    fn apply(&self, order: &mut Order, version: u64, at: Timestamp) -> Result<Vec<Movement>, Impossible> {
        match self {
            Self::Ship { lines, tracking } => order.ship(at, lines, tracking.clone())?,
            Self::Deliver { lines } => order.deliver(at, lines)?,
            Self::Cancel { lines, reason } => {
                let before: Vec<_> = order.line_items.iter().map(|line| line.total).collect();
                order.cancel(at, lines, reason.clone())?;
                let back = order.line_items.iter().zip(before).filter(|(line, before)| line.total < *before);
                return Ok(back
                    .map(|(line, before)| Movement {
                        variant: line.item.id.clone(),
                        quantity: i64::try_from(before - line.total).unwrap_or(i64::MAX),
                    })
                    .collect());
            }
            Self::Capture { amount } => {
                order.begin_capture(*amount, version)?;
            }
            Self::Release => {
                order.begin_release(version)?;
            }
            Self::Refund { amount, lines, reason } => {
                order.refund(at, *amount, lines, reason.clone())?;
            }
            Self::Confirm { refund } => order.confirm(refund)?,
        }
        Ok(Vec::new())
    }
}

/// Maximum number of orders of one name that are told apart.
const NAMESAKES: usize = 9;

/// Returns the order that a name means: its identifier, its identifier at a shop behind another API, or its label. Fails with
/// [`NotTaken`] if there is none, or more than one.
pub async fn named(store: &dyn Store, name: &str) -> Result<Stored<Order>, NotTaken> {
    if let Some(order) = store.any_order(name).await? {
        return Ok(order);
    }
    let mut orders = store.orders_named(name, NAMESAKES).await?;
    match orders.len() {
        0 => Err(NotTaken::NoSuchOrder(name.to_owned())),
        1 => Ok(orders.swap_remove(0)),
        _ => {
            let ids: Vec<_> = orders.iter().map(|order| &*order.document.id).collect();
            Err(NotTaken::Ambiguous(name.to_owned(), ids.join(", ")))
        }
    }
}

/// Takes a step of the order that a name means, and returns the changed order.
///
/// Money is moved by the handler that took it, or has authorized it: what is to move is stored first, so that it is
/// known whatever happens, and is moved once. Money that another step has begun to move is moved before. A refund of
/// money that no handler here has taken is only recorded, and one that the handler leaves to the operator is pending
/// until it is confirmed. The money of an order whose goods are all canceled is released. Fails with [`NotTaken`] if
/// the order does not exist or does not allow the step, the money is not moved, it is not known yet whether it was, or
/// the change cannot be stored.
pub async fn take(
    store: &dyn Store,
    handlers: &[Arc<dyn Handler>],
    name: &str,
    step: &Step,
    once: Once<'_>,
    now: fn() -> Timestamp,
) -> Result<Stored<Order>, NotTaken> {
    let id = &*named(store, name).await?.document.id;
    let identity: [u8; 32] = Sha256::digest(format!("{id:?} {step:?}")).into();
    let key = once.key.map(|key| {
        let (owner, resource, key) = ("operator".to_owned(), id.to_owned(), key.to_owned());
        Key { owner, operation: "take_step", resource, key }
    });
    for _ in 0..TRIES {
        let order = store.any_order(id).await?.ok_or_else(|| NotTaken::NoSuchOrder(id.to_owned()))?;
        if let Some(key) = &key
            && let Some(kept) = store.kept(key).await?
        {
            return if kept.identity == identity { Ok(order) } else { Err(NotTaken::KeyReused) };
        }
        if once.seen.is_some_and(|seen| seen != order.version) {
            return Err(NotTaken::Seen(order.version));
        }
        // Money that an earlier step has begun to move is moved before.
        let (order, before) = match step.moves() {
            true => moved(store, handlers, order).await?,
            false => (order, Settled::Ended(None)),
        };
        if before == Settled::Stale {
            continue;
        }
        let Stored { mut document, version } = order.clone();
        let handler = money::handler_of(handlers, &document);
        if let (Step::Refund { .. }, Settled::Unknown(problem), Some(_)) = (step, &before, handler) {
            return Err(NotTaken::Unknown(problem.clone()));
        }
        let stock = step.apply(&mut document, version, now())?;
        if step.draws() && handler.is_none() && document.begun_capture().is_some() {
            let problem = format!("the payment handler `{}` is not configured here", document.payment.handler_id);
            return Err(NotTaken::NotCaptured(problem));
        }
        if let (Step::Refund { .. }, Some(refund)) = (step, document.adjustments.last_mut()) {
            match handler {
                None => refund.status = AdjustmentStatus::Completed,
                Some(handler) => refund.by_hand = !handler.gives_back(),
            }
        }
        if matches!(step, Step::Cancel { .. }) && handler.is_some() && document.is_to_be_released() {
            document.begin_release(version)?;
        }
        let begins = document.movement().filter(|movement| order.document.movement().as_ref() != Some(movement));
        let taken = if document == order.document {
            order
        } else {
            let plans = begins.as_ref().and_then(|_| document.task(now())).map(Plan::Due).into_iter().collect();
            let keep = key.clone().map(|key| (key, Kept { identity, answer: String::new(), at: now() }));
            let changed = Some(Stored { document: document.clone(), version });
            let change = Change { order: changed, quiet: step.draws(), stock, plans, ..Change::default() };
            if store.commit(change, keep).await? != Committed::Done {
                continue;
            }
            Stored { document, version: version + 1 }
        };
        if begins.is_none() {
            return match before {
                Settled::Unknown(problem) if step.draws() => Err(NotTaken::Unknown(problem)),
                _ => Ok(taken),
            };
        }
        let position = taken.document.adjustments.len().saturating_sub(1);
        let (mut taken, mut settled) = moved(store, handlers, taken).await?;
        for _ in 0..TRIES {
            if settled != Settled::Stale {
                break;
            }
            // Somebody else has asked the provider meanwhile, or changed the order.
            let now = store.any_order(id).await?.ok_or_else(|| NotTaken::NoSuchOrder(id.to_owned()))?;
            (taken, settled) = moved(store, handlers, now).await?;
        }
        return came_of(step, position, taken, settled);
    }
    Err(PortError::unavailable("Too many changes are made to this order at the same time.", 1).into())
}

/// Returns the order if the money of the step was moved. `position` is that of its adjustment.
fn came_of(step: &Step, position: usize, taken: Stored<Order>, settled: Settled) -> Result<Stored<Order>, NotTaken> {
    let order = &taken.document;
    let (pending, refused) = match (step, order.adjustments.get(position)) {
        (Step::Refund { .. }, Some(refund)) => {
            (refund.status == AdjustmentStatus::Pending && !refund.by_hand, refund.status == AdjustmentStatus::Failed)
        }
        _ if step.draws() => (order.begun_capture().is_some(), order.payment.hold == Some(Hold::Authorized)),
        _ => (false, false),
    };
    let (said, or_else) = match settled {
        Settled::Ended(said) => (said, "the provider refused it"),
        Settled::Unknown(problem) => (Some(problem), ""),
        Settled::Stale => (None, "the provider is being asked"),
    };
    let said = said.unwrap_or_else(|| or_else.to_owned());
    match (refused, pending) {
        (true, _) if step.draws() => Err(NotTaken::NotCaptured(said)),
        (true, _) => Err(NotTaken::NotRefunded(said)),
        (_, true) => Err(NotTaken::Unknown(said)),
        _ => Ok(taken),
    }
}

/// Has the money of an order moved that is to move.
async fn moved(
    store: &dyn Store,
    handlers: &[Arc<dyn Handler>],
    order: Stored<Order>,
) -> Result<(Stored<Order>, Settled), NotTaken> {
    let settled = money::settle(store, handlers, order).await;
    settled.map_err(|refusal: Refusal| NotTaken::Unavailable(refusal.into()))
}

/// Encodes an order as JSON for operators.
pub fn shown(order: &Stored<Order>) -> Value {
    let Stored { document: order, version } = order;
    let lines: Vec<_> = order
        .line_items
        .iter()
        .map(|line| {
            json!({
                "id": line.id,
                "item": { "id": line.item.id, "title": line.item.title },
                "quantity": { "original": line.original, "total": line.total, "fulfilled": line.fulfilled },
                "status": line.status().as_str(),
            })
        })
        .collect();
    json!({
        "id": order.id,
        "label": order.label,
        "shop_order_id": order.remote.as_ref().map(|remote| &remote.reference),
        "version": version,
        "platform": order.owner,
        "checkout_id": order.checkout_id,
        "placed_at": order.placed_at,
        "status": status(order),
        "currency": order.currency,
        "total": amount_of(&order.totals, TotalKind::Total),
        "captured": order.captured(),
        "refundable": order.refundable(),
        "line_items": lines,
        "events": order.events,
        "adjustments": order.adjustments,
        "payment": order.payment,
    })
}

/// Returns the status of an order as a whole, from the quantities of its line items.
pub fn status(order: &Order) -> &'static str {
    let (total, fulfilled) = order.line_items.iter().fold((0u64, 0u64), |(total, fulfilled), line| {
        (total.saturating_add(line.total), fulfilled.saturating_add(line.fulfilled))
    });
    match (total, fulfilled) {
        (0, _) => "canceled",
        (_, 0) => "processing",
        (total, fulfilled) if fulfilled >= total => "fulfilled",
        _ => "partial",
    }
}
