//! Notices about orders in the database: queueing them, and which of an order is tried next.

use rusqlite::Connection;
use ucp_core::order::Order;

use crate::time::nanoseconds;

/// Queues a notice about an order that is being stored in the version after `version`.
pub(crate) fn queue(db: &Connection, id: &str, order: &Order, version: i64, text: &str) -> rusqlite::Result<()> {
    let at = nanoseconds(order.changed_at());
    db.prepare_cached(
        "INSERT INTO outbox (id, order_id, owner, order_version, occurred_at, since, document) \
         VALUES (?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute((id, &order.id, &order.owner, version + 1, at, at, text))?;
    advance(db, &order.id)
}

/// Lets the first of the waiting notices of an order be tried, and no other.
pub(crate) fn advance(db: &Connection, order: &str) -> rusqlite::Result<()> {
    db.prepare_cached(
        "UPDATE outbox SET next_at = NULL WHERE order_id = ?1 AND state = 'waiting' AND next_at IS NOT NULL AND seq > \
         (SELECT min(seq) FROM outbox WHERE order_id = ?1 AND state = 'waiting')",
    )?
    .execute((order,))?;
    db.prepare_cached(
        "UPDATE outbox SET next_at = 0 WHERE next_at IS NULL AND seq = \
         (SELECT min(seq) FROM outbox WHERE order_id = ?1 AND state = 'waiting')",
    )?
    .execute((order,))
    .map(drop)
}
