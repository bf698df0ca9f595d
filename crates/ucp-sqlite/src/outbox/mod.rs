//! The [`Outbox`] of a [`SqliteStore`].
//!
//! A webhook event is queued by the commit that stores the order, in its savepoint. Of the waiting events of an order
//! only the first has a time of the next attempt, which keeps them in order; [`advance`] gives it to the next one.
//! Nothing is cached.
//!
//! Due events are found by a read, and claimed by a write that checks them again: of two processes that found the same
//! event, one gets it. A claim is part of the row and ends by itself, so that a process that dies leaves nothing to clean
//! up.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, types::Type};
use ucp_core::{
    Release,
    order::outbox::{
        Attempted, Backlog, Claim, Content, Due, Outbox, Payload, State, Wanted, WebhookEvent, WebhookMessage,
    },
    port::PortError,
};

use crate::{
    connection::ShopConnection,
    error::WriteError,
    store::SqliteStore,
    time::{nanoseconds, timestamp},
    webhook_events::advance,
};

/// Columns that [`webhook_event`] reads.
const COLUMNS: &str = "id, order_id, owner, order_version, occurred_at, state, attempts, next_at, problem";

#[async_trait]
impl Outbox for SqliteStore {
    async fn due(&self, now: Timestamp, wanted: Wanted<'_>) -> Result<Vec<Due>, PortError> {
        // From one owner to the next through the index: the number of events that wait for each does not matter.
        const SQL: &str = "\
            WITH RECURSIVE owners (owner) AS ( \
                SELECT min(owner) FROM outbox WHERE shop = ?5 AND next_at IS NOT NULL \
                UNION ALL \
                SELECT (SELECT min(owner) FROM outbox \
                        WHERE shop = ?5 AND next_at IS NOT NULL AND owner > owners.owner) \
                FROM owners WHERE owners.owner IS NOT NULL \
            ), found AS ( \
                SELECT outbox.id, outbox.owner, outbox.next_at, outbox.seq, \
                row_number() OVER (PARTITION BY outbox.owner ORDER BY outbox.next_at, outbox.seq) AS turn \
                FROM owners JOIN outbox ON outbox.seq IN ( \
                    SELECT seq FROM outbox AS one WHERE one.shop = ?5 AND one.owner = owners.owner \
                    AND one.next_at <= ?1 AND ifnull(one.claimed_until, 0) <= ?1 ORDER BY one.next_at LIMIT ?2) \
                WHERE owners.owner NOT IN (SELECT value FROM json_each(?4)) \
            ) \
            SELECT id, owner FROM found ORDER BY turn, next_at, seq LIMIT ?3";
        let except = serde_json::Value::from(wanted.except).to_string();
        let (now, per_owner, limit) = (nanoseconds(now), signed(wanted.per_owner), signed(wanted.limit));
        let due = |row: &Row<'_>| Ok(Due { id: row.get(0)?, owner: row.get(1)? });
        self.read(move |db| {
            db.prepare_cached(SQL)?.query_map((now, per_owner, limit, &except, db.shop()), due)?.collect()
        })
        .await
    }

    async fn claim(&self, ids: Vec<String>, now: Timestamp, claim: &Claim) -> Result<Vec<Content>, PortError> {
        let sql = format!(
            "UPDATE outbox SET claimant = ?1, claimed_until = ?2 WHERE shop = ?5 AND id = ?3 AND state = 'waiting' AND next_at <= ?4 \
             AND ifnull(claimed_until, 0) <= ?4 AND NOT EXISTS ( \
                 SELECT 1 FROM outbox AS other WHERE other.shop = ?5 AND other.order_id = outbox.order_id \
                 AND other.state = 'waiting' AND other.claimed_until > ?4) \
             RETURNING {COLUMNS}, since, document, release, body"
        );
        let (now, until, claimant) = (nanoseconds(now), nanoseconds(claim.until), claim.claimant.clone());
        let claimed = self
            .write(move |db| {
                let mut statement = db.prepare_cached(&sql)?;
                let mut one =
                    |id: &String| statement.query_row((&claimant, until, id, now, db.shop()), Sheet::read).optional();
                Ok(ids.iter().filter_map(|id| one(id).transpose()).collect::<rusqlite::Result<Vec<_>>>()?)
            })
            .await?;
        // Parsed here, not on the writer thread, which others wait for.
        Ok(claimed.into_iter().filter_map(Sheet::content).collect())
    }

    async fn extend(&self, ids: Vec<String>, claim: &Claim) -> Result<(), PortError> {
        let (until, claimant) = (nanoseconds(claim.until), claim.claimant.clone());
        self.write(move |db| {
            let mut statement =
                db.prepare_cached("UPDATE outbox SET claimed_until = ? WHERE shop = ? AND id = ? AND claimant = ?")?;
            ids.iter()
                .try_for_each(|id| statement.execute((until, db.shop(), id, &claimant)).map(drop))
                .map_err(WriteError::from)
        })
        .await
    }

    async fn keep(&self, id: &str, claimant: &str, webhook_message: &WebhookMessage) -> Result<bool, PortError> {
        let (id, claimant, webhook_message) = (id.to_owned(), claimant.to_owned(), webhook_message.clone());
        let sql = "UPDATE outbox SET release = ?, body = ? WHERE shop = ? AND id = ? AND claimant = ? AND body IS NULL";
        self.write(move |db| {
            Ok(db.prepare_cached(sql)?.execute((
                webhook_message.release.date(),
                &webhook_message.body,
                db.shop(),
                &id,
                &claimant,
            ))? == 1)
        })
        .await
    }

    async fn record(&self, id: &str, claimant: &str, attempted: Attempted) -> Result<bool, PortError> {
        let (id, claimant) = (id.to_owned(), claimant.to_owned());
        self.write(move |db| record(db, &id, &claimant, &attempted)).await
    }

    async fn queued(&self) {
        self.bell().notified().await;
    }

    async fn webhook_events(&self, limit: usize) -> Result<Vec<WebhookEvent>, PortError> {
        let sql = format!("SELECT {COLUMNS} FROM outbox WHERE shop = ? ORDER BY seq DESC LIMIT ?");
        self.read(move |db| db.prepare_cached(&sql)?.query_map((db.shop(), signed(limit)), webhook_event)?.collect())
            .await
    }

    async fn backlog(&self) -> Result<Backlog, PortError> {
        const SQL: &str = "SELECT count(*), min(since) FROM outbox WHERE shop = ? AND state = 'waiting'";
        self.read(|db| {
            db.prepare_cached(SQL)?.query_row([db.shop()], |row| {
                let since = row.get::<_, Option<i64>>(1)?.map(timestamp);
                Ok(Backlog { waiting: row.get::<_, i64>(0)?.unsigned_abs(), since })
            })
        })
        .await
    }

    async fn resend(&self, id: &str, now: Timestamp) -> Result<bool, PortError> {
        let (id, now) = (id.to_owned(), nanoseconds(now));
        let known = self
            .write(move |db| {
                // An event that waits for an earlier one goes on waiting, and a claimed one is being sent.
                let order: Option<String> = db
                    .prepare_cached(
                        "UPDATE outbox SET since = ?1, settled_at = NULL, \
                         next_at = CASE WHEN state = 'waiting' AND next_at IS NULL THEN NULL ELSE ?1 END, \
                         state = 'waiting' WHERE shop = ?3 AND id = ?2 RETURNING order_id",
                    )?
                    .query_row((now, &id, db.shop()), |row| row.get(0))
                    .optional()?;
                order.as_ref().map(|order| advance(db, order)).transpose()?;
                Ok(order.is_some())
            })
            .await?;
        self.bell().notify_one();
        Ok(known)
    }
}

/// Records an attempt. Returns `true` if the claim still held.
fn record(db: ShopConnection<'_>, id: &str, claimant: &str, attempted: &Attempted) -> Result<bool, WriteError> {
    let order: Option<String> = match attempted {
        Attempted::Again { at, problem } => db
            .prepare_cached(
                "UPDATE outbox SET attempts = attempts + 1, claimant = NULL, claimed_until = NULL, next_at = ?, \
                 problem = ? WHERE shop = ? AND id = ? AND state = 'waiting' AND claimant = ? RETURNING order_id",
            )?
            .query_row((nanoseconds(*at), problem, db.shop(), id, claimant), |row| row.get(0)),
        Attempted::Settled { state, at, problem } => db
            .prepare_cached(
                "UPDATE outbox SET attempts = attempts + 1, claimant = NULL, claimed_until = NULL, next_at = NULL, \
                 state = ?, settled_at = ?, problem = ? WHERE shop = ? AND id = ? AND state = 'waiting' AND claimant = ? \
                 RETURNING order_id",
            )?
            .query_row((state.as_str(), nanoseconds(*at), problem, db.shop(), id, claimant), |row| row.get(0)),
    }
    .optional()?;
    order.as_ref().map(|order| advance(db, order)).transpose()?;
    Ok(order.is_some())
}

fn webhook_event(row: &Row<'_>) -> rusqlite::Result<WebhookEvent> {
    let stated: String = row.get(5)?;
    let occurred_at = timestamp(row.get(4)?);
    let state = State::ALL.into_iter().find(|state| state.as_str() == stated);
    Ok(WebhookEvent {
        id: row.get(0)?,
        order_id: row.get(1)?,
        owner: row.get(2)?,
        order_version: row.get::<_, i64>(3)?.unsigned_abs(),
        occurred_at,
        state: state.ok_or_else(|| unreadable(5, "an unknown state"))?,
        attempts: u32::try_from(row.get::<_, i64>(6)?).unwrap_or(u32::MAX),
        // An event that has just become the first of its order is due at once, which is stored as 0.
        next_at: row.get::<_, Option<i64>>(7)?.map(|at| timestamp(at).max(occurred_at)),
        problem: row.get(8)?,
    })
}

/// A row with everything that sending needs.
struct Sheet {
    webhook_event: WebhookEvent,
    since: Timestamp,
    /// JSON of the order.
    document: Option<String>,
    webhook_message: Option<WebhookMessage>,
}

impl Sheet {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        let webhook_message = match (row.get::<_, Option<String>>(11)?, row.get(12)?) {
            (Some(release), Some(body)) => {
                let release = Release::from_date(&release).ok_or_else(|| unreadable(11, "an unknown release"))?;
                Some(WebhookMessage { release, body })
            }
            _ => None,
        };
        Ok(Self {
            webhook_event: webhook_event(row)?,
            since: timestamp(row.get(9)?),
            document: row.get(10)?,
            webhook_message,
        })
    }

    /// Returns the content of the row. A row that cannot be parsed is skipped, and holds no other back.
    fn content(self) -> Option<Content> {
        let Self { webhook_event, since, document, webhook_message } = self;
        match Payload::stored(document.as_deref(), webhook_message) {
            Ok(payload) => Some(Content { webhook_event, since, payload }),
            Err(error) => {
                // The error of serde can quote the document.
                tracing::error!(webhook.id = webhook_event.id, category = ?error.classify(), "an order in the outbox is unreadable");
                None
            }
        }
    }
}

fn unreadable(column: usize, why: &'static str) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, Type::Text, why.into())
}

fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
