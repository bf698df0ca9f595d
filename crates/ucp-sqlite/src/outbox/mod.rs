//! The [`Outbox`] of a [`SqliteStore`].
//!
//! A webhook event is queued by the commit that stores the order, in its savepoint, together with the task of the agenda that
//! tells it. Nothing is cached.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use ucp_core::ports::{
    PortError,
    agenda::{Kind, Plan},
    outbox::{Attempted, Backlog, Content, Outbox, State, WebhookEvent, WebhookMessage, task},
};

use crate::{
    agenda,
    rows::{nanoseconds, read, signed, timestamp},
    store::SqliteStore,
};

/// Columns of a webhook event.
const COLUMNS: &str = "id, order_id, owner, order_version, occurred_at, state, attempts, \
    CASE WHEN seq = (SELECT min(seq) FROM outbox AS first \
        WHERE first.shop = ?1 AND first.order_id = event.order_id AND first.state = 'waiting') THEN \
        (SELECT due FROM tasks WHERE tasks.shop = ?1 AND kind = 'tell' AND key = order_id) END, event.problem";

#[async_trait]
impl Outbox for SqliteStore {
    async fn first(&self, order_id: &str, _: Timestamp) -> Result<Option<Content>, PortError> {
        let sql = format!(
            "SELECT {COLUMNS}, since, document, release, body FROM outbox AS event \
             WHERE shop = ?1 AND order_id = ?2 AND state = 'waiting' ORDER BY seq LIMIT 1"
        );
        let order_id = order_id.to_owned();
        let first = self.read(move |db| db.prepare_cached(&sql)?.query_row((db.shop(), &order_id), read).optional());
        first.await?.transpose()
    }

    async fn keep(&self, id: &str, webhook_message: &WebhookMessage) -> Result<bool, PortError> {
        let (id, webhook_message) = (id.to_owned(), webhook_message.clone());
        let sql =
            "UPDATE outbox SET release = ?, body = ? WHERE shop = ? AND id = ? AND state = 'waiting' AND body IS NULL";
        self.write(move |db| {
            let WebhookMessage { release, body } = &webhook_message;
            Ok(db.prepare_cached(sql)?.execute((release.date(), body, db.shop(), &id))? == 1)
        })
        .await
    }

    async fn record(&self, webhook_event: &WebhookEvent, attempted: Attempted) -> Result<bool, PortError> {
        let (id, attempts) = (webhook_event.id.clone(), webhook_event.attempts);
        let (state, settled_at, problem) = match attempted {
            Attempted::Again { problem } => (State::Waiting, None, Some(problem)),
            Attempted::Settled { state, at, problem } => (state, Some(nanoseconds(at)), problem),
        };
        let sql = "UPDATE outbox SET attempts = attempts + 1, state = ?, settled_at = ?, problem = ? \
                   WHERE shop = ? AND id = ? AND state = 'waiting' AND attempts = ?";
        self.write(move |db| {
            let values = (state.as_str(), settled_at, &problem, db.shop(), &id, attempts);
            Ok(db.prepare_cached(sql)?.execute(values)? == 1)
        })
        .await
    }

    async fn webhook_events(&self, limit: usize) -> Result<Vec<WebhookEvent>, PortError> {
        let sql = format!("SELECT {COLUMNS} FROM outbox AS event WHERE shop = ?1 ORDER BY seq DESC LIMIT ?2");
        self.read(move |db| db.prepare_cached(&sql)?.query_map((db.shop(), signed(limit)), read)?.collect()).await
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
        let id = id.to_owned();
        let known = self
            .write(move |db| {
                let told: Option<(String, String)> = db
                    .prepare_cached(
                        "UPDATE outbox SET since = ?, settled_at = NULL, state = 'waiting' WHERE shop = ? AND id = ? \
                         RETURNING owner, order_id",
                    )?
                    .query_row((nanoseconds(now), db.shop(), &id), |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                let Some((owner, order_id)) = told else { return Ok(false) };
                agenda::write(db, &Plan::Also(task(&owner, &order_id, now)))?;
                agenda::retry(db, Kind::Tell, &order_id, now)?;
                Ok(true)
            })
            .await?;
        self.bell().notify_one();
        Ok(known)
    }
}

#[cfg(test)]
mod tests;
