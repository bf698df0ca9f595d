//! What the suite wants to be told about its orders: that one was placed, and that goods were sent.
//!
//! The sample server posts an object of its own with the order inside, signs nothing and tries once: what did not arrive
//! when it happened would only confuse whoever runs next.

use serde_json::{Value, json};
use ucp_core::{
    Release,
    order::{
        Order, View,
        outbox::{Letter, Notice},
    },
};
use ucp_webhook::{
    form::{Form, Manner, Usual},
    recipient::Recipient,
};

use super::front::RELEASE;

/// Writes as the sample server does to those who speak its release, and as usual to everyone else.
pub(super) struct Events;

impl Form for Events {
    fn write(&self, notice: &Notice, view: View, recipient: &Recipient) -> Option<Letter> {
        if recipient.release != RELEASE {
            return Usual.write(notice, view, recipient);
        }
        let event = event(notice.order_version, &view.order)?;
        let checkout = view.order.checkout_id.clone();
        let usual = Usual.write(notice, view, recipient)?;
        let order: Value = serde_json::from_slice(&usual.body).ok()?;
        let body = json!({ "event_type": event, "checkout_id": checkout, "order": order }).to_string().into_bytes();
        Some(Letter { release: RELEASE, body })
    }

    fn manner(&self, release: Release) -> Manner {
        if release == RELEASE { Manner { signed: false, once: true } } else { Manner::USUAL }
    }
}

/// What has happened last to an order, where the suite has a name for it.
fn event(version: u64, order: &Order) -> Option<&'static str> {
    let shipped =
        || order.events.last().is_some_and(|last| last.kind == "shipped" && last.occurred_at == order.changed_at());
    match version {
        1 => Some("order_placed"),
        _ => shipped().then_some("order_shipped"),
    }
}
