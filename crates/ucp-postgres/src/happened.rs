//! Events of orders and checkouts that no call causes, for analysis: steps of orders, whoever takes them, and checkouts
//! that expire unfinished.
//!
//! Each is taken by one gateway, before it tells it: what a gateway has taken that is killed is not told.

use jiff::Timestamp;
use tokio_postgres::Error;
use ucp_core::ports::{PortError, store::Happened};
use uuid::Uuid;

use crate::{connection::Param, failure::Failure, rows::read, store::PostgresStore};

/// Maximum number of orders and of checkouts that are returned at once.
const AT_ONCE: usize = 500;

/// Selects `true` if orders are to be told, the time up to which checkouts were told, and the next such time. Checkouts that
/// expire at the same time are taken together.
const DUE: &str = "SELECT EXISTS (SELECT 1 FROM outbox WHERE shop = $1 AND untold), \
    (SELECT checkouts_until FROM told WHERE shop = $1), \
    (SELECT max(expires_at) FROM (SELECT expires_at FROM checkouts WHERE shop = $1 AND expires_at <= $2 \
        AND expires_at > (SELECT checkouts_until FROM told WHERE shop = $1) ORDER BY expires_at LIMIT $3) AS next)";

const ORDERS: &str = "UPDATE outbox SET untold = false WHERE shop = $1 AND id = ANY (ARRAY(SELECT id FROM outbox \
    WHERE shop = $1 AND untold ORDER BY made LIMIT $2 FOR UPDATE SKIP LOCKED)) \
    RETURNING order_id, owner, order_version, occurred_at, made";

/// Returns the checkouts that expired after `$2` and up to `$3`, unless another gateway has taken them.
const CHECKOUTS: &str = "WITH moved AS (UPDATE told SET checkouts_until = $3 WHERE shop = $1 AND checkouts_until = $2 RETURNING 1) \
    SELECT id, document FROM checkouts, moved WHERE shop = $1 AND expires_at > $2 AND expires_at <= $3 \
    AND status NOT IN ('completed', 'canceled') AND attempted_at IS NULL ORDER BY expires_at, made";

impl PostgresStore {
    /// Returns what happened since this was called last. See [`Store::happened`](ucp_core::ports::store::Store::happened).
    pub(crate) async fn take_happened(&self, now: Timestamp) -> Result<Vec<Happened>, PortError> {
        let now = Param::at(now);
        let limit = Param::count(AT_ONCE);
        let due = self.row(DUE, &[self.key(), now.clone(), limit.clone()]).await?;
        let read = || -> Result<_, Error> {
            Ok(match &due {
                Some(row) => (row.try_get(0)?, row.try_get(1)?, row.try_get(2)?),
                None => (false, None, None),
            })
        };
        let (has_orders, until, next): (bool, Option<i64>, Option<i64>) = read().map_err(Failure::from)?;
        let mut happened = if has_orders { self.take_orders(limit).await? } else { Vec::new() };
        match (until, next) {
            (None, _) => {
                let sql = "INSERT INTO told (shop, checkouts_until) VALUES ($1, $2) ON CONFLICT (shop) DO NOTHING";
                self.execute(sql, &[self.key(), now]).await?;
            }
            (Some(until), Some(next)) => happened.extend(self.take_checkouts(until, next).await?),
            (Some(_), None) => {}
        }
        Ok(happened)
    }

    async fn take_orders(&self, limit: Param) -> Result<Vec<Happened>, PortError> {
        let rows = self.rows(ORDERS, &[self.key(), limit]).await?;
        let placed =
            |row: &tokio_postgres::Row| -> Result<(Uuid, Happened), Failure> { Ok((row.try_get(4)?, read(row)?)) };
        let mut rows = rows.iter().map(placed).collect::<Result<Vec<_>, _>>()?;
        // `RETURNING` promises no order.
        rows.sort_by_key(|(made, _)| *made);
        Ok(rows.into_iter().map(|(_, happened)| happened).collect())
    }

    async fn take_checkouts(&self, until: i64, next: i64) -> Result<Vec<Happened>, PortError> {
        let rows = self.rows(CHECKOUTS, &[self.key(), Param::Number(until), Param::Number(next)]).await?;
        let mut happened = Vec::new();
        for row in rows {
            let (id, document): (String, String) =
                (row.try_get(0).map_err(Failure::from)?, row.try_get(1).map_err(Failure::from)?);
            match serde_json::from_str(&document) {
                Ok(checkout) => happened.push(Happened::Abandoned(Box::new(checkout))),
                Err(error) => {
                    // The error of serde can quote the document.
                    tracing::error!(checkout.id = id, category = ?error.classify(), "unreadable expired checkout");
                }
            }
        }
        Ok(happened)
    }
}
