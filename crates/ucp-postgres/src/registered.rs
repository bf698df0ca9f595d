//! Rows that a group of callers has, and the bound on those of registered platforms.
//!
//! Registered platforms may hold so many rows that adding these up with each commit would cost more than the commit. A
//! gateway adds them up once in a while, and what it commits itself in between; other gateways exceed the bound by no more
//! than they commit in that time.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use tokio_postgres::Error;
use ucp_core::ports::ledger::{Bound, Full};

use crate::connection::{Connection, Param};

/// Time for which a sum counts.
const FRESH: Duration = Duration::from_secs(30);

/// Time for which a sum counts that leaves no room: rows may have been freed.
const BRIEF: Duration = Duration::from_secs(1);

/// Number of rows of a platform, and their size in bytes.
#[derive(Clone, Copy, Debug)]
struct Tally {
    at: Instant,
    open: u64,
    bytes: u64,
}

/// Sums of the rows of registered platforms, by name.
#[derive(Debug, Default)]
pub(crate) struct Registered(Mutex<HashMap<String, Tally>>);

impl Registered {
    /// Counts new rows of a platform, unless they are beyond its bound. Fails with the error of the database.
    pub(crate) async fn add(
        &self,
        connection: &Connection,
        shop: &Param,
        bound: &Bound,
        (open, bytes): (u64, u64),
    ) -> Result<Option<Full>, Error> {
        let excess = |tally: Tally| {
            let is_open = tally.open.saturating_add(open) > bound.open;
            let is_large = tally.bytes.saturating_add(bytes) > bound.bytes;
            if is_open { Some(Full::Open) } else { is_large.then_some(Full::Bytes) }
        };
        let known = self.sums().get(&bound.name).copied();
        let known = known.filter(|tally| tally.at.elapsed() < if excess(*tally).is_some() { BRIEF } else { FRESH });
        let tally = match known {
            Some(tally) => tally,
            None => {
                let sql = format!("SELECT open::bigint, bytes::bigint FROM ({}) AS has", held("$2"));
                let row = connection.row(&sql, &[shop.clone(), Param::Text(bound.name.clone())]).await?;
                let sums = row.map(|row| Ok::<_, Error>((row.try_get::<_, i64>(0)?, row.try_get::<_, i64>(1)?)));
                let (open, bytes) = sums.transpose()?.unwrap_or_default();
                let tally = Tally { at: Instant::now(), open: open.unsigned_abs(), bytes: bytes.unsigned_abs() };
                self.sums().insert(bound.name.clone(), tally);
                tally
            }
        };
        let full = excess(tally);
        if full.is_none()
            && let Some(tally) = self.sums().get_mut(&bound.name)
        {
            (tally.open, tally.bytes) = (tally.open + open, tally.bytes + bytes);
        }
        Ok(full)
    }

    fn sums(&self) -> MutexGuard<'_, HashMap<String, Tally>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the query of the number and size of a group's rows in the shop `$1`.
pub(crate) fn held(name: &str) -> String {
    let rows = [("carts", "1"), ("checkouts", "1"), ("kept", "0")].map(|(table, open)| {
        format!(
            "SELECT {open} AS open, held FROM {table} \
             WHERE shop = $1 AND holder IS NOT NULL AND string_to_array(holder, ' ') @> ARRAY[{name}]"
        )
    });
    let rows = rows.join(" UNION ALL ");
    format!("SELECT coalesce(sum(open), 0) AS open, coalesce(sum(held), 0) AS bytes FROM ({rows}) AS counted")
}
