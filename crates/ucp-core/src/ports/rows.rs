//! Rows of a store: what their columns mean, whichever database has them.

use jiff::Timestamp;

use super::{
    agenda::{Claimed, Due, Entry, Kind, Tally},
    error::PortError,
    ledger::Holding,
    outbox::{Content, Payload, State, WebhookEvent, WebhookMessage},
    owners::{Owned, Owner},
    store::Happened,
};
use crate::Release;

/// A row that a query has found. All methods fail if the column has another type.
pub trait Row {
    /// Reason why a column cannot be read.
    type Error;

    /// Returns the text in a column.
    fn text(&self, column: usize) -> Result<Option<String>, Self::Error>;

    /// Returns the number in a column.
    fn number(&self, column: usize) -> Result<Option<i64>, Self::Error>;

    /// Returns the bytes in a column.
    fn bytes(&self, column: usize) -> Result<Option<Vec<u8>>, Self::Error>;

    /// Returns the yes or no in a column.
    fn flag(&self, column: usize) -> Result<bool, Self::Error>;

    /// Returns the error of a column with a value that no store writes there.
    fn unreadable(&self, column: usize, value: String) -> Self::Error;
}

/// Type that can be read from a row, with the errors of the row.
pub trait FromRow: Sized {
    /// Reads a row.
    fn read<R: Row>(row: &R) -> Result<Self, R::Error>;
}

/// Returns a time as it is stored: nanoseconds since 1970. Times beyond the year 2262 become that year.
pub fn nanoseconds(time: Timestamp) -> i64 {
    let nanoseconds = time.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// Returns a time that was stored.
pub fn timestamp(nanoseconds: i64) -> Timestamp {
    Timestamp::from_nanosecond(i128::from(nanoseconds)).unwrap_or(Timestamp::MAX)
}

/// Returns a number as databases count.
pub fn signed(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn text<R: Row>(row: &R, column: usize) -> Result<String, R::Error> {
    row.text(column)?.ok_or_else(|| row.unreadable(column, "no text".to_owned()))
}

fn number<R: Row>(row: &R, column: usize) -> Result<i64, R::Error> {
    row.number(column)?.ok_or_else(|| row.unreadable(column, "no number".to_owned()))
}

fn count<R: Row>(row: &R, column: usize) -> Result<u64, R::Error> {
    number(row, column).map(i64::unsigned_abs)
}

fn tries<R: Row>(row: &R, column: usize) -> Result<u32, R::Error> {
    Ok(u32::try_from(number(row, column)?).unwrap_or(u32::MAX))
}

fn time<R: Row>(row: &R, column: usize) -> Result<Timestamp, R::Error> {
    number(row, column).map(timestamp)
}

fn kind<R: Row>(row: &R, column: usize) -> Result<Kind, R::Error> {
    let stated = text(row, column)?;
    Kind::from_name(&stated).ok_or_else(|| row.unreadable(column, format!("an unknown kind of task, `{stated}`")))
}

/// Of `kind, key, lane`.
impl FromRow for Due {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        Ok(Self { kind: kind(row, 0)?, key: text(row, 1)?, lane: text(row, 2)? })
    }
}

/// Of `kind, key, lane, body, tries, since`.
impl FromRow for Claimed {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        let Due { kind, key, lane } = Due::read(row)?;
        Ok(Self { kind, key, lane, body: text(row, 3)?, tries: tries(row, 4)?, since: time(row, 5)? })
    }
}

/// Of `kind, key, lane, due, since, tries, given_up, problem`.
impl FromRow for Entry {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        let Due { kind, key, lane } = Due::read(row)?;
        let (due, since, tries) = (time(row, 3)?, time(row, 4)?, tries(row, 5)?);
        Ok(Self { kind, key, lane, due, since, tries, given_up: row.flag(6)?, problem: row.text(7)? })
    }
}

/// Of a kind of task, the numbers of those that wait and were given up, and when the first is due.
impl FromRow for Tally {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        let due = row.number(3)?.map(timestamp);
        Ok(Self { kind: kind(row, 0)?, waiting: count(row, 1)?, given_up: count(row, 2)?, due })
    }
}

/// Of `name, open, bytes`.
impl FromRow for Holding {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        Ok(Self { name: text(row, 0)?, open: count(row, 1)?, bytes: count(row, 2)? })
    }
}

/// Of `owner, release, mandates, at`.
impl FromRow for Owned {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        // A release that is no longer known was one of the oldest.
        let release = Release::from_date(&text(row, 1)?).unwrap_or(Release::ALL[0]);
        let owner = Owner { platform: text(row, 0)?, release, mandates: row.flag(2)? };
        Ok(Self { owner, until: time(row, 3)? })
    }
}

/// A step of an order, of `order_id, owner, order_version, occurred_at`.
impl FromRow for Happened {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        let (order_id, owner, version) = (text(row, 0)?, text(row, 1)?, count(row, 2)?);
        Ok(Self::Order { order_id, owner, version, at: time(row, 3)? })
    }
}

/// Of `id, order_id, owner, order_version, occurred_at, state, attempts`, when it is sent next, and `problem`.
impl FromRow for WebhookEvent {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        let stated = text(row, 5)?;
        let state = State::ALL.into_iter().find(|state| state.as_str() == stated);
        Ok(Self {
            id: text(row, 0)?,
            order_id: text(row, 1)?,
            owner: text(row, 2)?,
            order_version: count(row, 3)?,
            occurred_at: time(row, 4)?,
            state: state
                .ok_or_else(|| row.unreadable(5, format!("an unknown state of a webhook event, `{stated}`")))?,
            attempts: tries(row, 6)?,
            next_at: row.number(7)?.map(timestamp),
            problem: row.text(8)?,
        })
    }
}

/// Of the columns of a webhook event, `since, document, release, body`. A document can be unreadable in a row that is not.
impl FromRow for Result<Content, PortError> {
    fn read<R: Row>(row: &R) -> Result<Self, R::Error> {
        let webhook_message = match (row.text(11)?, row.bytes(12)?) {
            (Some(stated), Some(body)) => {
                let unknown = || row.unreadable(11, format!("an unknown release of a webhook message, `{stated}`"));
                Some(WebhookMessage { release: Release::from_date(&stated).ok_or_else(unknown)?, body })
            }
            _ => None,
        };
        let (webhook_event, since) = (WebhookEvent::read(row)?, time(row, 9)?);
        let payload = Payload::stored(row.text(10)?.as_deref(), webhook_message);
        // The error of serde can quote the document.
        let unreadable = |error: serde_json::Error| {
            PortError::internal().because(format!("an order in the outbox is unreadable ({:?})", error.classify()))
        };
        Ok(payload.map(|payload| Content { webhook_event, since, payload }).map_err(unreadable))
    }
}
