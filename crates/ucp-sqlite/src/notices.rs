//! Notices about orders in the database: queueing them, and which of an order is tried next.

use jiff::Timestamp;
use rusqlite::Connection;
use ucp_core::order::outbox::Letter;

use crate::time::nanoseconds;

/// A notice to queue.
pub(crate) struct NewNotice<'a> {
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

/// What a notice carries.
pub(crate) enum Message<'a> {
    /// The order, as JSON.
    Order(&'a str),
    /// What somebody else has written about it.
    Letter(&'a Letter),
}

/// Queues a notice.
pub(crate) fn queue(db: &Connection, notice: &NewNotice<'_>, message: &Message<'_>) -> rusqlite::Result<()> {
    let NewNotice { id, order_id, owner, order_version, at } = *notice;
    let (document, letter) = match message {
        Message::Order(document) => (Some(document), None),
        Message::Letter(letter) => (None, Some(letter)),
    };
    let (release, body) = letter.map(|letter| (letter.release.date(), &letter.body)).unzip();
    let at = nanoseconds(at);
    db.prepare_cached(
        "INSERT INTO outbox (id, order_id, owner, order_version, occurred_at, since, document, release, body) \
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
    )?
    .execute((id, order_id, owner, order_version, at, at, document, release, body))?;
    advance(db, order_id)
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
