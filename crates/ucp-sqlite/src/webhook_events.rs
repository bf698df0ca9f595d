//! Webhook events in the database, queued with the task that tells them.

use jiff::Timestamp;
use ucp_core::ports::{
    agenda::Plan,
    outbox::{WebhookMessage, task},
};

use crate::{agenda, connection::ShopConnection, rows::nanoseconds};

/// A webhook event to be queued.
pub(crate) struct NewWebhookEvent<'a> {
    /// Identifier, a UUID.
    pub(crate) id: &'a str,
    /// Identifier of the order.
    pub(crate) order_id: &'a str,
    /// Platform that receives the event.
    pub(crate) owner: &'a str,
    /// Version of the order in the event, from 1.
    pub(crate) order_version: i64,
    /// Time of the change that the event reports, UTC.
    pub(crate) at: Timestamp,
}

/// Content of a webhook event.
pub(crate) enum Message<'a> {
    /// The order, as JSON.
    Order(&'a str),
    /// A message that a remote shop has written.
    WebhookMessage(&'a WebhookMessage),
}

/// Queues a webhook event, in the transaction that `db` is in.
pub(crate) fn queue(
    db: ShopConnection<'_>,
    webhook_event: &NewWebhookEvent<'_>,
    message: &Message<'_>,
) -> rusqlite::Result<()> {
    let NewWebhookEvent { id, order_id, owner, order_version, at } = *webhook_event;
    let (document, webhook_message) = match message {
        Message::Order(document) => (Some(document), None),
        Message::WebhookMessage(webhook_message) => (None, Some(webhook_message)),
    };
    let (release, body) =
        webhook_message.map(|webhook_message| (webhook_message.release.date(), &webhook_message.body)).unzip();
    agenda::write(db, &Plan::Also(task(owner, order_id, at)))?;
    let at = nanoseconds(at);
    db.prepare_cached(
        "INSERT INTO outbox (shop, id, order_id, owner, order_version, occurred_at, since, document, release, body, untold) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1)",
    )?
    .execute((db.shop(), id, order_id, owner, order_version, at, at, document, release, body))
    .map(drop)
}
