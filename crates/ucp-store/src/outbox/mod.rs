//! What platforms are still to be told: the [`Outbox`] of a [`Database`](crate::Database).
//!
//! A notice is queued by the commit that stores the order, in its savepoint. Of the waiting ones of an order only the first
//! has a time at which it is tried, which is what keeps them in order; [`advance`] moves that on. Nothing is held in memory.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _, Row, types::Type};
use ucp_core::{
    Refusal, Release,
    order::{
        Order,
        outbox::{Attempted, Content, Due, Letter, Notice, Outbox, State},
    },
};

use crate::{
    Books,
    error::WriteError,
    ledger::{nanoseconds, timestamp},
};

/// The columns that [`notice`] reads.
const COLUMNS: &str = "id, order_id, owner, order_version, occurred_at, state, attempts, next_at, problem";

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
fn advance(db: &Connection, order: &str) -> rusqlite::Result<()> {
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

#[async_trait]
impl Outbox for Books {
    async fn due(&self, now: Timestamp, per_owner: usize, limit: usize) -> Result<Vec<Due>, Refusal> {
        // From one owner to the next through the index: how much waits for each does not matter.
        const SQL: &str = "\
            WITH RECURSIVE owners (owner) AS ( \
                SELECT min(owner) FROM outbox WHERE next_at IS NOT NULL \
                UNION ALL \
                SELECT (SELECT min(owner) FROM outbox WHERE next_at IS NOT NULL AND owner > owners.owner) \
                FROM owners WHERE owners.owner IS NOT NULL \
            ) \
            SELECT outbox.id, outbox.owner FROM owners JOIN outbox ON outbox.seq IN ( \
                SELECT seq FROM outbox AS one WHERE one.owner = owners.owner AND one.next_at <= ?1 \
                ORDER BY one.next_at LIMIT ?2) \
            ORDER BY outbox.next_at, outbox.seq LIMIT ?3";
        let bounds = (nanoseconds(now), signed(per_owner), signed(limit));
        let due = |row: &Row<'_>| Ok(Due { id: row.get(0)?, owner: row.get(1)? });
        self.read(move |db| db.prepare_cached(SQL)?.query_map(bounds, due)?.collect()).await
    }

    async fn content(&self, id: &str) -> Result<Option<Content>, Refusal> {
        let id = id.to_owned();
        let sql = format!("SELECT {COLUMNS}, since, document, release, body FROM outbox WHERE id = ?");
        self.read(move |db| db.prepare_cached(&sql)?.query_row((&id,), content).optional()).await
    }

    async fn keep(&self, id: &str, letter: &Letter) -> Result<(), Refusal> {
        let (id, letter) = (id.to_owned(), letter.clone());
        self.write(move |db| {
            db.prepare_cached("UPDATE outbox SET release = ?, body = ? WHERE id = ? AND body IS NULL")?.execute((
                letter.release.date(),
                &letter.body,
                &id,
            ))?;
            Ok(())
        })
        .await
    }

    async fn record(&self, id: &str, attempted: Attempted) -> Result<(), Refusal> {
        let id = id.to_owned();
        self.write(move |db| record(db, &id, &attempted)).await
    }

    async fn notices(&self, limit: usize) -> Result<Vec<Notice>, Refusal> {
        let sql = format!("SELECT {COLUMNS} FROM outbox ORDER BY seq DESC LIMIT ?");
        self.read(move |db| db.prepare_cached(&sql)?.query_map((signed(limit),), notice)?.collect()).await
    }

    async fn resend(&self, id: &str, now: Timestamp) -> Result<bool, Refusal> {
        let (id, now) = (id.to_owned(), nanoseconds(now));
        self.write(move |db| {
            // One that waits for its turn goes on waiting for it.
            let order: Option<String> = db
                .prepare_cached(
                    "UPDATE outbox SET since = ?1, settled_at = NULL, \
                     next_at = CASE WHEN state = 'waiting' AND next_at IS NULL THEN NULL ELSE ?1 END, state = 'waiting' \
                     WHERE id = ?2 RETURNING order_id",
                )?
                .query_row((now, &id), |row| row.get(0))
                .optional()?;
            order.as_ref().map(|order| advance(db, order)).transpose()?;
            Ok(order.is_some())
        })
        .await
    }
}

fn record(db: &Connection, id: &str, attempted: &Attempted) -> Result<(), WriteError> {
    // A notice that is settled already was tried by somebody else at the same time.
    let order: Option<String> = match attempted {
        Attempted::Again { at, problem } => db
            .prepare_cached(
                "UPDATE outbox SET attempts = attempts + 1, next_at = ?, problem = ? \
                 WHERE id = ? AND state = 'waiting' RETURNING order_id",
            )?
            .query_row((nanoseconds(*at), problem, id), |row| row.get(0)),
        Attempted::Settled { state, at, problem } => db
            .prepare_cached(
                "UPDATE outbox SET attempts = attempts + 1, next_at = NULL, state = ?, settled_at = ?, problem = ? \
                 WHERE id = ? AND state = 'waiting' RETURNING order_id",
            )?
            .query_row((state.as_str(), nanoseconds(*at), problem, id), |row| row.get(0)),
    }
    .optional()?;
    order.map(|order| advance(db, &order)).transpose()?;
    Ok(())
}

fn notice(row: &Row<'_>) -> rusqlite::Result<Notice> {
    let stated: String = row.get(5)?;
    let occurred_at = timestamp(row.get(4)?);
    let state = State::ALL.into_iter().find(|state| state.as_str() == stated);
    Ok(Notice {
        id: row.get(0)?,
        order_id: row.get(1)?,
        owner: row.get(2)?,
        order_version: row.get::<_, i64>(3)?.unsigned_abs(),
        occurred_at,
        state: state.ok_or_else(|| unreadable(5, "an unknown state"))?,
        attempts: u32::try_from(row.get::<_, i64>(6)?).unwrap_or(u32::MAX),
        // One that has just become the first of its order is due at once, which is written as 0.
        next_at: row.get::<_, Option<i64>>(7)?.map(|at| timestamp(at).max(occurred_at)),
        problem: row.get(8)?,
    })
}

fn content(row: &Row<'_>) -> rusqlite::Result<Content> {
    let order = serde_json::from_str(row.get_ref(10)?.as_str()?).map_err(|_| unreadable(10, "unreadable JSON"))?;
    let letter = match (row.get::<_, Option<String>>(11)?, row.get(12)?) {
        (Some(release), Some(body)) => {
            let release = Release::from_date(&release).ok_or_else(|| unreadable(11, "an unknown release"))?;
            Some(Letter { release, body })
        }
        _ => None,
    };
    Ok(Content { notice: notice(row)?, since: timestamp(row.get(9)?), order, letter })
}

fn unreadable(column: usize, why: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
