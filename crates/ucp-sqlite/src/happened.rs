//! Events of orders and checkouts that no call causes, for analysis: steps of orders, whoever takes them, and checkouts
//! that expire unfinished.
//!
//! Each commit of an order marks the row of its webhook event; how far expired checkouts were looked at is noted for each
//! shop. Both are taken in one transaction, so that of several processes one is told.

use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use ucp_core::ports::{PortError, store::Happened};

use crate::{
    connection::ShopConnection,
    error::WriteError,
    rows::{nanoseconds, read},
    store::SqliteStore,
};

/// Maximum number of orders and of checkouts that are returned at once.
const AT_ONCE: i64 = 500;

/// Conditions of a checkout that expired unfinished. One with a payment whose end is unknown is not over.
const UNFINISHED: &str = "status NOT IN ('completed', 'canceled') AND attempted_at IS NULL";

impl SqliteStore {
    /// Returns what happened since this was called last. See [`Store::happened`](ucp_core::ports::store::Store::happened).
    pub(crate) async fn take_happened(&self, now: Timestamp) -> Result<Vec<Happened>, PortError> {
        let now = nanoseconds(now);
        // Nothing is written, and nothing flushed, while nothing happens.
        if !self.read(move |db| is_due(db, now)).await? {
            return Ok(Vec::new());
        }
        let (orders, checkouts) = self.write(move |db| Ok((orders(db)?, checkouts(db, now)?))).await?;
        // Parsed here, not on the writer thread, which others wait for.
        let abandoned = checkouts.into_iter().filter_map(|(id, document)| match serde_json::from_str(&document) {
            Ok(checkout) => Some(Happened::Abandoned(Box::new(checkout))),
            Err(error) => {
                // The error of serde can quote the document.
                tracing::error!(checkout.id = id, category = ?error.classify(), "unreadable expired checkout");
                None
            }
        });
        Ok(orders.into_iter().chain(abandoned).collect())
    }
}

fn is_due(db: ShopConnection<'_>, now: i64) -> rusqlite::Result<bool> {
    db.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM outbox WHERE shop = ?1 AND untold = 1) \
         OR NOT EXISTS (SELECT 1 FROM told WHERE shop = ?1) \
         OR EXISTS (SELECT 1 FROM checkouts WHERE shop = ?1 AND expires_at <= ?2 \
                    AND expires_at > (SELECT checkouts_until FROM told WHERE shop = ?1))",
    )?
    .query_row((db.shop(), now), |row| row.get(0))
}

fn orders(db: ShopConnection<'_>) -> Result<Vec<Happened>, WriteError> {
    let mut statement = db.prepare_cached(
        "UPDATE outbox SET untold = NULL WHERE seq IN \
         (SELECT seq FROM outbox WHERE shop = ? AND untold = 1 ORDER BY seq LIMIT ?) \
         RETURNING order_id, owner, order_version, occurred_at, seq",
    )?;
    let rows = statement.query_map((db.shop(), AT_ONCE), |row| Ok((row.get::<_, i64>(4)?, read(row)?)))?;
    let mut rows = rows.collect::<rusqlite::Result<Vec<_>>>()?;
    // `RETURNING` promises no order.
    rows.sort_by_key(|(seq, _)| *seq);
    Ok(rows.into_iter().map(|(_, happened)| happened).collect())
}

/// Returns identifiers and documents.
fn checkouts(db: ShopConnection<'_>, now: i64) -> Result<Vec<(String, String)>, WriteError> {
    let until = db.prepare_cached("SELECT checkouts_until FROM told WHERE shop = ?")?;
    let until: Option<i64> = { until }.query_row([db.shop()], |row| row.get(0)).optional()?;
    let Some(until) = until else {
        db.prepare_cached("INSERT INTO told (shop, checkouts_until) VALUES (?, ?)")?.execute((db.shop(), now))?;
        return Ok(Vec::new());
    };
    // Those that expire at the same time are taken together.
    let last: Option<i64> = db
        .prepare_cached(
            "SELECT max(expires_at) FROM (SELECT expires_at FROM checkouts \
             WHERE shop = ? AND expires_at > ? AND expires_at <= ? ORDER BY expires_at LIMIT ?)",
        )?
        .query_row((db.shop(), until, now, AT_ONCE), |row| row.get(0))?;
    let Some(last) = last else { return Ok(Vec::new()) };
    db.prepare_cached("UPDATE told SET checkouts_until = ? WHERE shop = ?")?.execute((last, db.shop()))?;
    let sql = format!(
        "SELECT id, document FROM checkouts WHERE shop = ? AND expires_at > ? AND expires_at <= ? AND {UNFINISHED} \
         ORDER BY expires_at"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map((db.shop(), until, last), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<rusqlite::Result<_>>()?)
}
