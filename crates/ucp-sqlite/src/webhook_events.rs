//! Webhook events about orders in the database: queueing them, and which of an order is tried next.

use jiff::Timestamp;
use ucp_core::order::outbox::WebhookMessage;

use crate::{connection::ShopConnection, time::nanoseconds};

/// A webhook event to queue.
pub(crate) struct NewWebhookEvent<'a> {
    /// A UUID.
    pub(crate) id: &'a str,
    pub(crate) order_id: &'a str,
    /// The platform that is told.
    pub(crate) owner: &'a str,
    /// The version of the order that it carries, from 1.
    pub(crate) order_version: i64,
    /// When that happened which it tells of.
    pub(crate) at: Timestamp,
}

/// What a webhook event carries.
pub(crate) enum Message<'a> {
    /// The order, as JSON.
    Order(&'a str),
    /// What somebody else has written about it.
    WebhookMessage(&'a WebhookMessage),
}

/// Queues a webhook event.
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
    let at = nanoseconds(at);
    db.prepare_cached(
        "INSERT INTO outbox (shop, id, order_id, owner, order_version, occurred_at, since, document, release, body) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute((db.shop(), id, order_id, owner, order_version, at, at, document, release, body))?;
    advance(db, order_id)
}

/// Lets the first of the waiting webhook events of an order be tried, and no other.
pub(crate) fn advance(db: ShopConnection<'_>, order: &str) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE outbox SET next_at = NULL \
         WHERE shop = ?1 AND order_id = ?2 AND state = 'waiting' AND next_at IS NOT NULL AND seq > \
         (SELECT min(seq) FROM outbox WHERE shop = ?1 AND order_id = ?2 AND state = 'waiting')",
    )?
    .execute((db.shop(), order))?;
    db.prepare_cached(
        "UPDATE outbox SET next_at = 0 WHERE next_at IS NULL AND seq = \
         (SELECT min(seq) FROM outbox WHERE shop = ?1 AND order_id = ?2 AND state = 'waiting')",
    )?
    .execute((db.shop(), order))
    .map(drop)
}
