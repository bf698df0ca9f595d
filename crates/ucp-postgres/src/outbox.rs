//! The [`Outbox`] of a [`PostgresStore`].
//!
//! A webhook event is queued by the statement that stores the order. Events of an order are sent in the order of their
//! versions: one is due if no earlier one of its order waits, which is looked up when it is asked for. A claim is part of
//! the row and ends by itself; of several senders that claim the same events at once, each takes those that no other has
//! locked.

use async_trait::async_trait;
use jiff::Timestamp;
use tokio_postgres::{Error, Row};
use ucp_core::{
    Release,
    order::outbox::{
        Attempted, Backlog, Claim, Content, Due, Outbox, Payload, State, Wanted, WebhookEvent, WebhookMessage,
    },
    port::PortError,
};

use crate::{
    connection::{Connection, Value},
    failure::Failure,
    store::PostgresStore,
    text::{escaped, nanoseconds, plain, signed, timestamp},
};

/// Condition: an earlier event of the same order waits.
pub(crate) const BEHIND: &str = "EXISTS (SELECT 1 FROM outbox AS earlier WHERE earlier.shop = $1 \
    AND earlier.order_id = event.order_id AND earlier.state = 'waiting' \
    AND (earlier.order_version, earlier.id) < (event.order_version, event.id))";

/// Columns that [`webhook_event`] reads.
fn columns() -> String {
    format!(
        "event.id, event.order_id, event.owner, event.order_version, event.occurred_at, event.state, event.attempts, \
         CASE WHEN event.state = 'waiting' AND NOT {BEHIND} THEN event.next_at END, event.problem"
    )
}

#[async_trait]
impl Outbox for PostgresStore {
    async fn due(&self, now: Timestamp, wanted: Wanted<'_>) -> Result<Vec<Due>, PortError> {
        // From one owner to the next through the index: the number of events that wait for each does not matter.
        let sql = format!(
            "WITH RECURSIVE owners (owner) AS ( \
                (SELECT min(owner) FROM outbox WHERE shop = $1 AND state = 'waiting') \
                UNION ALL \
                SELECT (SELECT min(owner) FROM outbox WHERE shop = $1 AND state = 'waiting' AND owner > owners.owner) \
                FROM owners WHERE owners.owner IS NOT NULL \
            ), found AS ( \
                SELECT one.id, one.owner, one.next_at, one.made, \
                row_number() OVER (PARTITION BY one.owner ORDER BY one.next_at, one.made) AS turn \
                FROM owners CROSS JOIN LATERAL ( \
                    SELECT id, owner, next_at, made FROM outbox AS event WHERE shop = $1 AND owner = owners.owner \
                    AND state = 'waiting' AND next_at <= $2 AND coalesce(claimed_until, 0) <= $2 AND NOT {BEHIND} \
                    ORDER BY next_at, made LIMIT $3) AS one \
                WHERE owners.owner <> ALL ($4) \
            ) \
            SELECT id, owner FROM found ORDER BY turn, next_at, made LIMIT $5"
        );
        let except = wanted.except.iter().map(|owner| escaped(owner).into_owned()).collect();
        let values = [
            self.key(),
            Value::Number(nanoseconds(now)),
            Value::Number(signed(wanted.per_owner)),
            Value::Texts(except),
            Value::Number(signed(wanted.limit)),
        ];
        let rows = self.rows(&sql, &values).await?;
        let due = rows.iter().map(|row| Ok(Due { id: row.try_get(0)?, owner: plain(row.try_get(1)?) }));
        Ok(due.collect::<Result<_, Error>>().map_err(Failure::from)?)
    }

    async fn claim(&self, ids: Vec<String>, now: Timestamp, claim: &Claim) -> Result<Vec<Content>, PortError> {
        let columns = columns();
        let returned = format!("{columns}, event.since, event.document, event.release, event.body");
        let mine = format!(
            "SELECT {returned} FROM outbox AS event WHERE shop = $1 AND id = ANY($2) AND claimant = $3 AND claimed_until = $4"
        );
        let update = format!(
            "UPDATE outbox AS event SET claimant = $3, claimed_until = $4 WHERE shop = $1 AND id = ANY (ARRAY( \
                SELECT id FROM outbox AS event WHERE shop = $1 AND id = ANY($2) AND state = 'waiting' AND next_at <= $5 \
                AND coalesce(claimed_until, 0) <= $5 AND NOT EXISTS ( \
                    SELECT 1 FROM outbox AS other WHERE other.shop = $1 AND other.order_id = event.order_id \
                    AND other.state = 'waiting' AND other.id <> event.id \
                    AND (other.claimed_until > $5 \
                        OR (other.order_version, other.id) < (event.order_version, event.id))) \
                FOR UPDATE SKIP LOCKED)) \
            RETURNING {returned}"
        );
        let order = ids.clone();
        let ids = ids.iter().map(|id| escaped(id).into_owned()).collect();
        let values = [
            self.key(),
            Value::Texts(ids),
            Value::Text(claim.claimant.clone()),
            Value::Number(nanoseconds(claim.until)),
            Value::Number(nanoseconds(now)),
        ];
        let rows = self.run(async |connection, in_doubt| {
            // What an attempt claimed whose reply was lost.
            let mut claimed = if in_doubt { connection.rows(&mine, &values[..4]).await? } else { Vec::new() };
            claimed.extend(connection.rows(&update, &values).await?);
            Ok(claimed)
        });
        let mut sheets = Vec::new();
        for row in rows.await? {
            sheets.push(Sheet::read(&row)?);
        }
        let mut contents: Vec<_> = sheets.into_iter().filter_map(Sheet::content).collect();
        contents.sort_by_key(|content| order.iter().position(|id| *id == content.webhook_event.id));
        Ok(contents)
    }

    async fn extend(&self, ids: Vec<String>, claim: &Claim) -> Result<(), PortError> {
        let until = Value::Number(nanoseconds(claim.until));
        let values = [self.key(), Value::Texts(ids), Value::Text(claim.claimant.clone()), until];
        let sql = "UPDATE outbox SET claimed_until = $4 WHERE shop = $1 AND id = ANY($2) AND claimant = $3";
        self.execute(sql, &values).await.map(drop)
    }

    async fn keep(&self, id: &str, claimant: &str, webhook_message: &WebhookMessage) -> Result<bool, PortError> {
        let sql =
            "UPDATE outbox SET release = $4, body = $5 WHERE shop = $1 AND id = $2 AND claimant = $3 AND body IS NULL";
        let mine = "SELECT 1 FROM outbox WHERE shop = $1 AND id = $2 AND claimant = $3 AND release = $4 AND body = $5";
        let values = [
            self.key(),
            Value::text(id),
            Value::Text(claimant.to_owned()),
            Value::Text(webhook_message.release.date().to_owned()),
            Value::Bytes(webhook_message.body.clone()),
        ];
        self.run(async |connection, in_doubt| done_or_found(&connection, sql, mine, &values, in_doubt).await).await
    }

    async fn record(&self, id: &str, claimant: &str, attempted: Attempted) -> Result<bool, PortError> {
        let (state, next_at, settled_at, problem) = match attempted {
            Attempted::Again { at, problem } => (State::Waiting, Some(nanoseconds(at)), None, Some(problem)),
            Attempted::Settled { state, at, problem } => (state, None, Some(nanoseconds(at)), problem),
        };
        let sql = "UPDATE outbox SET attempts = attempts + 1, claimant = NULL, claimed_until = NULL, state = $4, next_at = $5, \
                   settled_at = $6, problem = $7 WHERE shop = $1 AND id = $2 AND state = 'waiting' AND claimant = $3";
        // The claimant is known by having had it: the row says nothing of it any more.
        let mine = "SELECT 1 FROM outbox WHERE shop = $1 AND id = $2 AND claimant IS DISTINCT FROM $3 AND state = $4 \
                    AND next_at IS NOT DISTINCT FROM $5 AND settled_at IS NOT DISTINCT FROM $6 \
                    AND problem IS NOT DISTINCT FROM $7";
        let values = [
            self.key(),
            Value::text(id),
            Value::Text(claimant.to_owned()),
            Value::Text(state.as_str().to_owned()),
            Value::OptionalNumber(next_at),
            Value::OptionalNumber(settled_at),
            Value::OptionalText(problem.map(|problem| escaped(&problem).into_owned())),
        ];
        self.run(async |connection, in_doubt| done_or_found(&connection, sql, mine, &values, in_doubt).await).await
    }

    async fn queued(&self) {
        self.bell().notified().await;
    }

    async fn webhook_events(&self, limit: usize) -> Result<Vec<WebhookEvent>, PortError> {
        let sql = format!("SELECT {} FROM outbox AS event WHERE shop = $1 ORDER BY made DESC LIMIT $2", columns());
        let rows = self.rows(&sql, &[self.key(), Value::Number(signed(limit))]).await?;
        Ok(rows.iter().map(webhook_event).collect::<Result<_, Failure>>()?)
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
        let sql = "UPDATE outbox SET since = $3, next_at = $3, settled_at = NULL, state = 'waiting' WHERE shop = $1 AND id = $2";
        let values = [self.key(), Value::text(id), Value::Number(nanoseconds(now))];
        let known = self.execute(sql, &values).await? == 1;
        self.bell().notify_one();
        Ok(known)
    }
}

/// Runs a statement that changes one row. Returns `true` if it did, or if `mine` finds that an attempt whose reply was lost did.
async fn done_or_found(
    connection: &Connection,
    sql: &str,
    mine: &str,
    values: &[Value],
    in_doubt: bool,
) -> Result<bool, Error> {
    if connection.execute(sql, values).await? == 1 {
        return Ok(true);
    }
    Ok(in_doubt && connection.row(mine, values).await?.is_some())
}

fn webhook_event(row: &Row) -> Result<WebhookEvent, Failure> {
    let stated: String = row.try_get(5)?;
    let occurred_at = timestamp(row.try_get(4)?);
    let state = State::ALL.into_iter().find(|state| state.as_str() == stated);
    Ok(WebhookEvent {
        id: plain(row.try_get(0)?),
        order_id: plain(row.try_get(1)?),
        owner: plain(row.try_get(2)?),
        order_version: row.try_get::<_, i64>(3)?.unsigned_abs(),
        occurred_at,
        state: state.ok_or_else(|| Failure::Unreadable(format!("an unknown state of a webhook event, `{stated}`")))?,
        attempts: u32::try_from(row.try_get::<_, i64>(6)?).unwrap_or(u32::MAX),
        // An event that has not been tried is due at once, which is stored as 0.
        next_at: row.try_get::<_, Option<i64>>(7)?.map(|at| timestamp(at).max(occurred_at)),
        problem: row.try_get::<_, Option<String>>(8)?.map(plain),
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
    fn read(row: &Row) -> Result<Self, Failure> {
        let webhook_message = match (row.try_get::<_, Option<String>>(11)?, row.try_get(12)?) {
            (Some(release), Some(body)) => {
                let release = Release::from_date(&release).ok_or_else(|| {
                    Failure::Unreadable(format!("an unknown release of a webhook message, `{release}`"))
                })?;
                Some(WebhookMessage { release, body })
            }
            _ => None,
        };
        Ok(Self {
            webhook_event: webhook_event(row)?,
            since: timestamp(row.try_get(9)?),
            document: row.try_get(10)?,
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
