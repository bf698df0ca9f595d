//! Orders as the gateway's webhooks bring them, and as callers change them. The first two releases do not serve orders.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use http::StatusCode;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{sync::watch, time::timeout};

use crate::{platform::Caller, refusal::Refusal};

/// The longest time that a webhook may take to arrive.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug, Default)]
struct KnownOrder {
    /// The order after each change, the newest last.
    versions: Vec<Value>,
    /// The identifiers of the webhooks that brought them.
    webhooks: BTreeSet<String>,
    /// The callers' identifiers of events and adjustments that were taken over.
    taken: BTreeSet<String>,
}

/// The orders of all callers, by their identifiers.
#[derive(Default)]
pub(crate) struct Orders(watch::Sender<BTreeMap<(Caller, String), KnownOrder>>);

impl Orders {
    fn with<T>(&self, caller: &Caller, id: &str, look: impl FnOnce(&KnownOrder) -> T) -> Result<T, Refusal> {
        let orders = self.0.borrow();
        let known = orders.get(&(caller.clone(), id.to_owned()));
        known.map(look).ok_or_else(|| Refusal::new(StatusCode::NOT_FOUND, format!("There is no order `{id}`.")))
    }

    /// The newest version of an order.
    ///
    /// # Errors
    /// If the caller has no such order.
    pub(crate) fn get(&self, caller: &Caller, id: &str) -> Result<Value, Refusal> {
        self.with(caller, id, |known| known.versions.last().cloned().unwrap_or_default())
    }

    /// The number of versions of an order.
    pub(crate) fn versions(&self, caller: &Caller, id: &str) -> Result<usize, Refusal> {
        self.with(caller, id, |known| known.versions.len())
    }

    /// Waits until an order has that many versions.
    pub(crate) async fn wait(&self, caller: &Caller, id: &str, versions: usize) -> Result<(), Refusal> {
        let mut orders = self.0.subscribe();
        let key = (caller.clone(), id.to_owned());
        let there = orders.wait_for(|orders| orders.get(&key).is_some_and(|known| known.versions.len() >= versions));
        match timeout(PATIENCE, there).await {
            Ok(_) => Ok(()),
            Err(_) => Err(Refusal::new(StatusCode::GATEWAY_TIMEOUT, "The gateway sent no webhook; has it a key?")),
        }
    }

    /// Puts a version of an order that the webhook of an identifier brought. Returns the name of the event, where the
    /// suite has one.
    pub(crate) fn put(&self, caller: &Caller, webhook: &str, order: &Value) -> Option<&'static str> {
        let id = order["id"].as_str()?.to_owned();
        let mut event = None;
        self.0.send_modify(|orders| {
            let KnownOrder { versions, webhooks, .. } = orders.entry((caller.clone(), id)).or_default();
            // A webhook may arrive more than once.
            if !webhooks.insert(webhook.to_owned()) {
                return;
            }
            let last = |order: &Value| order["fulfillment"]["events"].as_array().and_then(|all| all.last().cloned());
            event = match versions.last() {
                None => Some("order_placed"),
                Some(before) => last(order)
                    .filter(|event| event["type"] == "shipped" && last(before).as_ref() != Some(event))
                    .map(|_| "order_shipped"),
            };
            versions.push(order.clone());
        });
        event
    }

    /// Returns `true` if an entry of an order is neither in it nor was taken over.
    pub(crate) fn is_new(&self, caller: &Caller, id: &str, entry: &str) -> bool {
        let is_new = |known: &KnownOrder| {
            let order = known.versions.last();
            let entries = order.map(|order| [&order["fulfillment"]["events"], &order["adjustments"]]);
            let mut entries = entries.into_iter().flatten().filter_map(Value::as_array).flatten();
            !known.taken.contains(entry) && entries.all(|known| known["id"] != entry)
        };
        self.with(caller, id, is_new).unwrap_or(false)
    }

    /// Notes that an entry was taken over, under another identifier.
    pub(crate) fn note(&self, caller: &Caller, id: &str, entry: String) {
        self.0.send_modify(|orders| {
            if let Some(known) = orders.get_mut(&(caller.clone(), id.to_owned())) {
                known.taken.insert(entry);
            }
        });
    }
}

/// Returns an order whose adjustments have an `amount` without sign, which the suite looks for in all releases.
pub(crate) fn with_amounts(mut order: Value) -> Value {
    for adjustment in order.get_mut("adjustments").and_then(Value::as_array_mut).into_iter().flatten() {
        let totals = adjustment["totals"].as_array().into_iter().flatten();
        let total = totals.filter(|total| total["type"] == "total").find_map(|total| total["amount"].as_i64());
        if let Some(amount) = total {
            adjustment["amount"] = amount.unsigned_abs().into();
        }
    }
    order
}

/// A step of the admin endpoint.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) details: Value,
}

impl Step {
    /// Sends everything that was not sent yet.
    pub(crate) fn ship_all() -> Self {
        Self { name: "ship", details: json!({}) }
    }
}

/// Fields of an order that a caller sends back and that are read.
#[derive(Debug, Deserialize)]
pub(crate) struct StatedOrder {
    #[serde(default)]
    fulfillment: Fulfillment,
    #[serde(default)]
    adjustments: Vec<Adjustment>,
}

#[derive(Debug, Default, Deserialize)]
struct Fulfillment {
    #[serde(default)]
    events: Vec<Event>,
}

#[derive(Debug, Deserialize)]
struct Event {
    id: String,
    #[serde(rename = "occurred_at")]
    _occurred_at: Timestamp,
    #[serde(rename = "type")]
    kind: String,
    line_items: Value,
    tracking_number: Option<String>,
    tracking_url: Option<String>,
    carrier: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Adjustment {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(rename = "occurred_at")]
    _occurred_at: Timestamp,
    #[serde(rename = "status")]
    _status: AdjustmentStatus,
    #[serde(default)]
    line_items: Vec<Value>,
    amount: Option<u32>,
    description: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum AdjustmentStatus {
    Pending,
    Completed,
    Failed,
}

impl StatedOrder {
    /// The identifiers of all events and adjustments, and the steps that lead to them.
    ///
    /// # Errors
    /// If an entry is of a kind that no step leads to.
    pub(crate) fn steps(self) -> Result<Vec<(String, Step)>, Refusal> {
        let events = self.fulfillment.events.into_iter().map(|event| {
            let Event { id, kind, line_items, tracking_number, tracking_url, carrier, .. } = event;
            let step = match kind.as_str() {
                "shipped" => {
                    let details = json!({
                        "line_items": line_items, "carrier": carrier,
                        "tracking_number": tracking_number, "tracking_url": tracking_url,
                    });
                    Step { name: "ship", details }
                }
                "delivered" => Step { name: "deliver", details: json!({ "line_items": line_items }) },
                _ => return Err(Refusal::unprocessable(format!("No step leads to an event `{kind}`."))),
            };
            Ok((id, step))
        });
        let adjustments = self.adjustments.into_iter().map(|adjustment| {
            let Adjustment { id, kind, line_items, amount, description, .. } = adjustment;
            if kind != "refund" {
                return Err(Refusal::unprocessable(format!("No step leads to an adjustment `{kind}`.")));
            }
            let details = json!({ "line_items": line_items, "amount": amount, "reason": description });
            Ok((id, Step { name: "refund", details }))
        });
        events.chain(adjustments).collect()
    }
}
