//! Steps of orders that an operator takes, from the command line or over the admin endpoint.
//!
//! A step is applied to the order as stored, and committed only if the order has not changed since; otherwise it is
//! applied again, so that several processes can change orders at the same time. The commit also queues the webhook
//! event for the platform.

use std::sync::Arc;

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use ucp_core::{
    money::Amount,
    order::{
        Hold, LineQuantity, Order,
        progress::{Impossible, Tracking},
    },
    port::{PortError, store::Store},
    purchase::{
        ledger::{Change, Committed, Movement, Stored},
        payment::{Handler, Moved, Refund},
        totals::{TotalKind, amount_of},
    },
};
use url::Url;

/// Maximum number of attempts to commit a step while others change the order.
const TRIES: usize = 16;

/// Maximum length of a text in bytes: of a reason, a carrier, a tracking number or a tracking URL.
const LONGEST_TEXT: usize = 2_000;

/// A step of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Goods are shipped.
    Ship { lines: Vec<LineQuantity>, tracking: Tracking },
    /// Goods have arrived.
    Deliver { lines: Vec<LineQuantity> },
    /// Goods will not be shipped, and go back into the stock.
    Cancel { lines: Vec<LineQuantity>, reason: Option<String> },
    /// Money that waits for the merchant is captured, and the rest released.
    Capture { amount: Option<i64> },
    /// Money that waits for the merchant is released.
    Release,
    /// Money was refunded.
    Refund { amount: Option<i64>, lines: Vec<LineQuantity>, reason: Option<String> },
}

/// Details of a step, as the admin endpoint accepts them. Each step accepts some of them.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Details {
    pub(crate) line_items: Vec<StatedLine>,
    pub(crate) carrier: Option<String>,
    pub(crate) tracking_number: Option<String>,
    pub(crate) tracking_url: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) amount: Option<i64>,
}

/// Quantity of a line item.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatedLine {
    id: String,
    quantity: i64,
}

/// Names of the steps.
pub(crate) const STEPS: [&str; 6] = ["ship", "deliver", "cancel", "capture", "release", "refund"];

/// Reasons why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTaken {
    /// No order has this identifier.
    #[error("there is no order `{0}`; `ucp-gateway orders list` shows those there are")]
    NoSuchOrder(String),
    /// The state of the order does not allow the step.
    #[error("this cannot happen to the order: {0}")]
    Impossible(#[from] Impossible),
    /// The payment service provider refused to capture or release the money.
    #[error("nothing was captured or released: {0}")]
    NotCaptured(String),
    /// The result of a capture or release is unknown.
    #[error(
        "it is not known whether the money was captured or released; the same step can be taken again, and is carried out \
         once"
    )]
    CaptureUnknown,
    /// The payment service provider refused the refund.
    #[error("nothing was refunded: {0}")]
    NotRefunded(String),
    /// The result of a refund is unknown, or another refund was recorded at the same time.
    #[error(
        "it is not known whether the money was given back; the same refund can be requested again, and is given once"
    )]
    RefundUnknown,
    /// The database cannot be read or written, or others kept changing the order.
    #[error(transparent)]
    Unavailable(#[from] PortError),
}

impl Details {
    /// Creates details with these line items and nothing else.
    pub(crate) fn of_lines(lines: Vec<LineQuantity>) -> Self {
        let line_items = lines.into_iter().map(|line| StatedLine { id: line.id, quantity: line.quantity }).collect();
        Self { line_items, ..Self::default() }
    }
}

impl Step {
    /// Creates a step from its name and details.
    ///
    /// # Errors
    /// A message if the name is not one of [`STEPS`], the details include one that this step does not accept, a text is
    /// longer than [`LONGEST_TEXT`] or has control characters, or the tracking URL is not an absolute http or https
    /// URL.
    pub(crate) fn of(name: &str, details: Details) -> Result<Self, String> {
        let Details { line_items, carrier, tracking_number, tracking_url, reason, amount } = details;
        let texts = [&carrier, &tracking_number, &tracking_url, &reason];
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
        if !line_items.is_empty() && matches!(name, "capture" | "release") {
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
            _ => Err(format!("there is no step `{name}`; there are {}", STEPS.join(", "))),
        }
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
        }
        Ok(Vec::new())
    }
}

/// Takes a step of the order with this identifier, and returns the changed order.
///
/// Money is given back by the handler that took it, if that is one of `handlers` and refunds; otherwise the refund is
/// only recorded. A capture and a release are carried out by the handler that has authorized the payment. They are stored
/// before it is asked; if the result is not known, the same step asks again. Where all goods of an order are canceled, its
/// money is released, if the handler is there.
///
/// # Errors
/// [`NotTaken`] if the order does not exist or does not allow the step, the money cannot be captured, released or given
/// back, or the change cannot be stored.
pub(crate) async fn take(
    store: &dyn Store,
    handlers: &[Arc<dyn Handler>],
    id: &str,
    step: &Step,
    now: fn() -> Timestamp,
) -> Result<Stored<Order>, NotTaken> {
    let mut given: Option<Refund> = None;
    for _ in 0..TRIES {
        let order = store.any_order(id).await?;
        let Stored { mut document, version } = order.ok_or_else(|| NotTaken::NoSuchOrder(id.to_owned()))?;
        let handler = handler_of(handlers, &document);
        let known = document.payment.hold.clone();
        let before = document.refundable();
        let refunds = document.adjustments.iter().filter(|adjustment| adjustment.kind == "refund").count();
        let stock = step.apply(&mut document, version, now())?;
        if step.draws() && handler.is_none() && document.begun_capture().is_some() {
            let problem = format!("the payment handler `{}` is not configured here", document.payment.handler_id);
            return Err(NotTaken::NotCaptured(problem));
        }
        let canceled = matches!(step, Step::Cancel { .. }) && document.line_items.iter().all(|line| line.total == 0);
        if canceled && handler.is_some() && document.payment.hold == Some(Hold::Authorized) {
            document.begin_release(version)?;
        }
        if matches!(step, Step::Refund { .. }) {
            let refund = refund(&document, refunds, before - document.refundable());
            match (&given, refund) {
                // Under one identifier money is given back once, so that another refund of the same one must be recorded.
                (Some(given), refund) if refund.as_ref() != Some(given) => return Err(NotTaken::RefundUnknown),
                (None, Some(refund)) => {
                    give_back(handler, &document, &refund).await?;
                    given = Some(refund);
                }
                _ => {}
            }
        }
        let began = document.payment.hold != known;
        let taken = if step.draws() && !began {
            Stored { document, version }
        } else {
            let stored = Stored { document: document.clone(), version };
            let change = Change { order: Some(stored), quiet: step.draws(), stock, ..Change::default() };
            if store.commit(change, None).await? != Committed::Done {
                continue;
            }
            Stored { document, version: version + 1 }
        };
        let Some(handler) = handler.filter(|_| began || step.draws()) else { return Ok(taken) };
        match drawn(store, handler, taken).await? {
            Some(taken) => return Ok(taken),
            // Somebody else has changed the order meanwhile: the same step finds out what became of the money.
            None if step.draws() => {}
            None => return Err(NotTaken::CaptureUnknown),
        }
    }
    Err(PortError::unavailable("Too many changes are made to this order at the same time.", 1).into())
}

/// Returns the handler that took the payment of an order, or has authorized it.
fn handler_of<'h>(handlers: &'h [Arc<dyn Handler>], order: &Order) -> Option<&'h Arc<dyn Handler>> {
    let handler = handlers.iter().find(|handler| handler.declaration().id == order.payment.handler_id);
    handler.filter(|_| order.remote.is_none())
}

/// Has the handler carry out the capture or release that was begun of an order, and stores the result. Returns the order,
/// or `None` if it was changed meanwhile.
async fn drawn(
    store: &dyn Store,
    handler: &Arc<dyn Handler>,
    order: Stored<Order>,
) -> Result<Option<Stored<Order>>, NotTaken> {
    let Some(capture) = order.document.begun_capture() else { return Ok(Some(order)) };
    let Stored { mut document, version } = order;
    let refused = match handler.capture(&capture).await {
        Moved::Done { reference } => {
            tracing::info!(order = document.id, capture = capture.id, reference, "money was captured or released");
            None
        }
        Moved::ByHand => Some("the payment handler does not capture".to_owned()),
        Moved::Refused { reason } => Some(reason),
        Moved::Unknown => return Err(NotTaken::CaptureUnknown),
    };
    document.end_capture(refused.is_none());
    let stored = Stored { document: document.clone(), version };
    let change = Change { order: Some(stored), quiet: true, ..Change::default() };
    if store.commit(change, None).await? != Committed::Done {
        return Ok(None);
    }
    match refused {
        Some(reason) => Err(NotTaken::NotCaptured(reason)),
        None => Ok(Some(Stored { document, version: version + 1 })),
    }
}

/// Returns the refund of an amount of an order with this number of earlier refunds.
fn refund(order: &Order, earlier: usize, minor: i64) -> Option<Refund> {
    Some(Refund {
        id: format!("{}:refund:{}:{minor}", order.payment.attempt_id, earlier + 1),
        reference: order.payment.reference.clone(),
        amount: Amount::new(minor)?,
        currency: order.currency,
    })
}

/// Has the handler that took the money of an order give an amount of it back.
async fn give_back(handler: Option<&Arc<dyn Handler>>, order: &Order, refund: &Refund) -> Result<(), NotTaken> {
    let Some(handler) = handler else { return Ok(()) };
    match handler.refund(refund).await {
        Moved::Done { reference } => {
            tracing::info!(order = order.id, refund = refund.id, reference, "money was given back");
            Ok(())
        }
        Moved::ByHand => Ok(()),
        Moved::Refused { reason } => Err(NotTaken::NotRefunded(reason)),
        Moved::Unknown => Err(NotTaken::RefundUnknown),
    }
}

/// Encodes an order as JSON for operators.
pub(crate) fn shown(order: &Stored<Order>) -> Value {
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
pub(crate) fn status(order: &Order) -> &'static str {
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
