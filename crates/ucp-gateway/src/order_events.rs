//! Events of orders and checkouts that no call causes, logged and counted: steps of orders, whoever takes them, and
//! checkouts that expire unfinished.

use std::{error::Error, sync::Arc, time::Duration};

use serde_json::{Map, Value};
use ucp_core::{
    checkout::Checkout,
    order::{Adjustment, Order},
    ports::store::{Happened, Store},
    purchase::totals::{Total, TotalKind, amount_of},
};
use ucp_host::{clock, running::Running, slot::Slot};
use ucp_record::Step;

use crate::{events::Events, metrics::Metrics};

/// Interval at which the store is asked.
const INTERVAL: Duration = Duration::from_secs(2);

/// Tells what happens for as long as it runs.
pub(crate) async fn tell(running: Arc<Running>, metrics: Metrics, events: Option<Arc<Events>>) {
    let mut interval = tokio::time::interval(INTERVAL);
    interval.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        // Of a shop that is closed, it is told once the shop is open.
        for slot in running.shops.all().iter().filter(|slot| slot.shop().is_some()) {
            if let Some(data) = slot.data() {
                tell_of(slot, &*data.store(), &metrics, events.as_deref()).await;
            }
        }
    }
}

/// Tells what has happened in a shop.
async fn tell_of(shop: &Slot, store: &dyn Store, metrics: &Metrics, events: Option<&Events>) {
    let happened = match store.happened(clock::timestamp()).await {
        Ok(happened) => happened,
        Err(error) => {
            tracing::warn!(error = &error as &dyn Error, "reading order and checkout events failed");
            return;
        }
    };
    for happened in happened {
        match happened {
            Happened::Abandoned(checkout) => {
                let platform = shop.platforms.get(&checkout.owner).map(String::as_str);
                metrics.step(shop.id.as_str(), platform, Step::Abandoned);
                if let Some(events) = events {
                    events.happened("checkout_session_canceled", abandoned(shop, &checkout));
                }
            }
            Happened::Order { order_id, version, at, .. } => {
                let Some(events) = events else { continue };
                match store.any_order(&order_id).await {
                    Ok(Some(order)) => {
                        for (kind, adjustment) in kinds(&order.document, version, at) {
                            events.happened(kind, changed(shop, &order.document, at, adjustment));
                        }
                    }
                    // A shop elsewhere keeps it, and has told its platform about it.
                    Ok(None) => {}
                    Err(error) => {
                        tracing::warn!(error = &error as &dyn Error, order_id, "reporting an order step failed");
                    }
                }
            }
        }
    }
}

/// Returns the types of the events that a version of an order was, with the adjustments among them.
fn kinds(order: &Order, version: u64, at: jiff::Timestamp) -> Vec<(&'static str, Option<&Adjustment>)> {
    if version == 1 {
        return vec![("order_created", None)];
    }
    let events = order.events.iter().filter(|event| event.occurred_at == at).map(|event| match &*event.kind {
        "shipped" => ("order_shipped", None),
        "delivered" => ("order_delivered", None),
        _ => ("order_updated", None),
    });
    let adjustments = order.adjustments.iter().filter(|adjustment| adjustment.occurred_at == at);
    let adjustments = adjustments.map(|adjustment| match &*adjustment.kind {
        "cancellation" => ("order_canceled", Some(adjustment)),
        "return" => ("order_returned", Some(adjustment)),
        _ => ("order_updated", Some(adjustment)),
    });
    let kinds: Vec<_> = events.chain(adjustments).collect();
    if kinds.is_empty() { vec![("order_updated", None)] } else { kinds }
}

fn changed(shop: &Slot, order: &Order, at: jiff::Timestamp, adjustment: Option<&Adjustment>) -> Map<String, Value> {
    let mut event = begun(shop, &order.owner);
    event.insert("timestamp".to_owned(), at.to_string().into());
    event.insert("order_id".to_owned(), order.id.as_str().into());
    event.insert("checkout_session_id".to_owned(), order.checkout_id.as_str().into());
    amounts(&mut event, order.currency.to_string(), &order.totals, order.line_items.len());
    if let Some(adjustment) = adjustment {
        event.insert("adjustment_type".to_owned(), adjustment.kind.as_str().into());
        event.insert("adjustment_amount".to_owned(), amount_of(&adjustment.totals, TotalKind::Total).into());
    }
    event
}

fn abandoned(shop: &Slot, checkout: &Checkout) -> Map<String, Value> {
    let mut event = begun(shop, &checkout.owner);
    event.insert("timestamp".to_owned(), checkout.expires_at.to_string().into());
    event.insert("checkout_session_id".to_owned(), checkout.id.as_str().into());
    event.insert("checkout_status".to_owned(), "canceled".into());
    event.insert("cancel_reason".to_owned(), "expired".into());
    amounts(&mut event, checkout.currency.to_string(), &checkout.totals, checkout.line_items.len());
    event
}

fn begun(shop: &Slot, owner: &str) -> Map<String, Value> {
    let platform = shop.platforms.get(owner).map_or("other", String::as_str);
    let members = [("app_name", shop.id.as_str()), ("platform", platform)];
    members.into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect()
}

fn amounts(event: &mut Map<String, Value>, currency: String, totals: &[Total], lines: usize) {
    event.insert("currency".to_owned(), currency.into());
    event.insert("total_amount".to_owned(), amount_of(totals, TotalKind::Total).into());
    event.insert("line_item_count".to_owned(), lines.into());
}
