//! The [`Outbox`] of a [`PostgresStore`].
//!
//! A webhook event is queued by the statement that stores the order, together with the task of the agenda that tells it. Events
//! of an order are sent in the order of their versions.
//!
//! Gateways of an earlier version claim events themselves: theirs have a time of the next attempt, and are taken over one by one.

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::Error;
use ucp_core::ports::{
    PortError,
    agenda::{Agenda as _, Kind, Plan},
    outbox::{Attempted, Backlog, Content, Outbox, State, WebhookEvent, WebhookMessage, task},
};

use crate::{
    connection::{Connection, Param},
    failure::Failure,
    rows::read,
    store::PostgresStore,
    text::{escaped, nanoseconds, plain, timestamp},
};

/// Columns of a webhook event.
const COLUMNS: &str = "event.id, event.order_id, event.owner, event.order_version, event.occurred_at, event.state, \
    event.attempts, CASE WHEN event.state = 'waiting' AND NOT EXISTS (SELECT 1 FROM outbox AS earlier \
        WHERE earlier.shop = $1 AND earlier.order_id = event.order_id AND earlier.state = 'waiting' \
        AND (earlier.order_version, earlier.id) < (event.order_version, event.id)) \
    THEN (SELECT due FROM tasks WHERE tasks.shop = $1 AND kind = 'tell' AND key = event.order_id) END, event.problem";

#[async_trait]
impl Outbox for PostgresStore {
    async fn first(&self, order_id: &str, now: Timestamp) -> Result<Option<Content>, PortError> {
        let sql = format!(
            "SELECT {COLUMNS}, event.since, event.document, event.release, event.body, event.next_at IS NOT NULL \
             FROM outbox AS event WHERE shop = $1 AND order_id = $2 AND state = 'waiting' \
             ORDER BY order_version, id LIMIT 1"
        );
        let Some(row) = self.row(&sql, &[self.key(), Param::text(order_id)]).await? else { return Ok(None) };
        let content: Result<Content, PortError> = read(&row)?;
        let of_earlier: bool = row.try_get(13).map_err(Failure::from)?;
        if of_earlier {
            let sql =
                "UPDATE outbox SET next_at = NULL WHERE shop = $1 AND id = $2 AND coalesce(claimed_until, 0) <= $3";
            let id: String = row.try_get(0).map_err(Failure::from)?;
            let values = [self.key(), Param::Text(id), Param::at(now)];
            if self.execute(sql, &values).await? == 0 {
                return Err(PortError::unavailable("A gateway of an earlier version sends this event.", 1));
            }
        }
        content.map(Some)
    }

    async fn keep(&self, id: &str, webhook_message: &WebhookMessage) -> Result<bool, PortError> {
        let sql = "UPDATE outbox SET release = $3, body = $4 WHERE shop = $1 AND id = $2 AND state = 'waiting' AND body IS NULL";
        let mine = "SELECT 1 FROM outbox WHERE shop = $1 AND id = $2 AND release = $3 AND body = $4";
        let values = [
            self.key(),
            Param::text(id),
            Param::plain(webhook_message.release.date()),
            Param::Bytes(webhook_message.body.clone()),
        ];
        self.run(async |connection, in_doubt| done_or_found(&connection, sql, mine, &values, in_doubt).await).await
    }

    async fn record(&self, webhook_event: &WebhookEvent, attempted: Attempted) -> Result<bool, PortError> {
        let (state, settled_at, problem) = match attempted {
            Attempted::Again { problem } => (State::Waiting, None, Some(problem)),
            Attempted::Settled { state, at, problem } => (state, Some(nanoseconds(at)), problem),
        };
        let sql = "UPDATE outbox SET attempts = attempts + 1, state = $4, settled_at = $5, problem = $6 \
                   WHERE shop = $1 AND id = $2 AND state = 'waiting' AND attempts = $3";
        let mine = "SELECT 1 FROM outbox WHERE shop = $1 AND id = $2 AND attempts = $3 + 1 AND state = $4 \
                    AND settled_at IS NOT DISTINCT FROM $5 AND problem IS NOT DISTINCT FROM $6";
        let values = [
            self.key(),
            Param::text(&webhook_event.id),
            Param::Number(webhook_event.attempts.into()),
            Param::plain(state.as_str()),
            Param::OptionalNumber(settled_at),
            Param::OptionalText(problem.map(|problem| escaped(&problem).into_owned())),
        ];
        self.run(async |connection, in_doubt| done_or_found(&connection, sql, mine, &values, in_doubt).await).await
    }

    async fn webhook_events(&self, limit: usize) -> Result<Vec<WebhookEvent>, PortError> {
        let sql = format!("SELECT {COLUMNS} FROM outbox AS event WHERE shop = $1 ORDER BY made DESC LIMIT $2");
        self.list(&sql, &[self.key(), Param::count(limit)]).await
    }

    async fn backlog(&self) -> Result<Backlog, PortError> {
        let sql = "SELECT count(*), min(since) FROM outbox WHERE shop = $1 AND state = 'waiting'";
        let Some(row) = self.row(sql, &[self.key()]).await? else { return Ok(Backlog::default()) };
        let read = || -> Result<Backlog, Error> {
            let since: Option<i64> = row.try_get(1)?;
            Ok(Backlog { waiting: row.try_get::<_, i64>(0)?.unsigned_abs(), since: since.map(timestamp) })
        };
        Ok(read().map_err(Failure::from)?)
    }

    async fn resend(&self, id: &str, now: Timestamp) -> Result<bool, PortError> {
        let sql = "UPDATE outbox SET since = $3, next_at = NULL, settled_at = NULL, state = 'waiting' \
                   WHERE shop = $1 AND id = $2 RETURNING owner, order_id";
        let values = [self.key(), Param::text(id), Param::at(now)];
        let Some(row) = self.row(sql, &values).await? else { return Ok(false) };
        let read = || -> Result<_, Error> { Ok((plain(row.try_get(0)?), plain(row.try_get(1)?))) };
        let (owner, order_id) = read().map_err(Failure::from)?;
        self.plan(Plan::Also(task(&owner, &order_id, now))).await?;
        self.retry(Kind::Tell, &order_id, now).await
    }
}

/// Runs a statement that changes one row. Returns `true` if it did, or if `mine` finds that an attempt whose reply was lost did.
async fn done_or_found(
    connection: &Connection,
    sql: &str,
    mine: &str,
    values: &[Param],
    in_doubt: bool,
) -> Result<bool, Error> {
    if connection.execute(sql, values).await? == 1 {
        return Ok(true);
    }
    Ok(in_doubt && connection.row(mine, values).await?.is_some())
}
