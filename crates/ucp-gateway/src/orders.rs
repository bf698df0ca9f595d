//! Moving orders along: the steps that an operator takes, from the command line or over the admin endpoint.
//!
//! A step is decided on the order as it is and committed only if nobody has changed it since; otherwise it is decided
//! again. So it does not matter how many processes are at it. The platform is told by way of the commit.

use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use ucp_core::{
    order::{
        LineQuantity, Order,
        progress::{Impossible, Tracking},
    },
    port::{PortError, store::Store},
    purchase::{
        ledger::{Change, Committed, Movement, Stored},
        totals::{TotalKind, amount_of},
    },
};
use url::Url;

/// How often a step is decided again because somebody else changed the order meanwhile.
const TRIES: usize = 16;

/// The longest text that is taken: a reason, a carrier, a tracking number or address.
const LONGEST_TEXT: usize = 2_000;

/// A step of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Goods leave.
    Ship { lines: Vec<LineQuantity>, tracking: Tracking },
    /// Goods have arrived.
    Deliver { lines: Vec<LineQuantity> },
    /// Goods will not be sent, and go back into the stock.
    Cancel { lines: Vec<LineQuantity>, reason: Option<String> },
    /// Money was given back.
    Refund { amount: Option<i64>, lines: Vec<LineQuantity>, reason: Option<String> },
}

/// What a step is about, as the admin endpoint takes it. Each step has some of these.
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

/// So many of a line.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StatedLine {
    id: String,
    quantity: i64,
}

/// The names of the steps.
pub(crate) const STEPS: [&str; 4] = ["ship", "deliver", "cancel", "refund"];

/// Why a step was not taken.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotTaken {
    /// There is no such order.
    #[error("there is no order `{0}`; `ucp-gateway orders list` shows those there are")]
    NoSuchOrder(String),
    /// The order does not allow it.
    #[error("this cannot happen to the order: {0}")]
    Impossible(#[from] Impossible),
    /// The database does not allow it at the moment.
    #[error(transparent)]
    Unavailable(#[from] PortError),
}

impl Details {
    /// The same, as the command line has it.
    pub(crate) fn of_lines(lines: Vec<LineQuantity>) -> Self {
        let line_items = lines.into_iter().map(|line| StatedLine { id: line.id, quantity: line.quantity }).collect();
        Self { line_items, ..Self::default() }
    }
}

impl Step {
    /// A step by its name.
    ///
    /// # Errors
    /// What it cannot have, or is no text that is taken.
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
        if amount.is_some() && name != "refund" {
            return Err(format!("only `refund` has an amount, `{name}` has not"));
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
            "refund" => Ok(Self::Refund { amount, lines, reason }),
            _ => Err(format!("there is no step `{name}`; there are {}", STEPS.join(", "))),
        }
    }

    /// Takes the step with an order. Yields the goods that come back into the stock.
    fn apply(&self, order: &mut Order, at: Timestamp) -> Result<Vec<Movement>, Impossible> {
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
            Self::Refund { amount, lines, reason } => {
                order.refund(at, *amount, lines, reason.clone())?;
            }
        }
        Ok(Vec::new())
    }
}

/// Takes a step with an order. Yields the order as it is then.
pub(crate) async fn take(
    store: &dyn Store,
    id: &str,
    step: &Step,
    now: fn() -> Timestamp,
) -> Result<Stored<Order>, NotTaken> {
    for _ in 0..TRIES {
        let order = store.any_order(id).await?;
        let Stored { mut document, version } = order.ok_or_else(|| NotTaken::NoSuchOrder(id.to_owned()))?;
        let stock = step.apply(&mut document, now())?;
        let taken = Stored { document, version: version + 1 };
        let stored = Stored { document: taken.document.clone(), version };
        let change = Change { order: Some(stored), stock, ..Change::default() };
        if store.commit(change, None).await? == Committed::Done {
            return Ok(taken);
        }
    }
    Err(PortError::unavailable("Too many changes are made to this order at the same time.", 1).into())
}

/// An order as operators see it.
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
        "refundable": order.refundable(),
        "line_items": lines,
        "events": order.events,
        "adjustments": order.adjustments,
        "payment": order.payment,
    })
}

/// Where an order stands as a whole.
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
