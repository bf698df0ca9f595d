//! The [`Store`] port of a [`PostgresStore`], beyond its parts: queries of operators, forwarded webhook messages, and the
//! removal of expired rows.

use async_trait::async_trait;
use jiff::Timestamp;
use ucp_core::{
    order::Order,
    ports::{
        PortError,
        buyers::Retention,
        ledger::{Holding, Stored},
        outbox::task,
        owners::MOST as MOST_OWNERS,
        store::{Forwarded, HELD_FOR, Happened, KEPT_FOR, REMEMBERED_FOR, SETTLED_FOR, Store, TAKEN_FOR},
    },
    purchase::mandate::Mandate,
};
use uuid::Uuid;

use crate::{
    agenda,
    connection::Param,
    events,
    failure::{Failure, Meaning, meaning},
    ledger::stored,
    store::{BATCH, PostgresStore},
    text::nanoseconds,
};

/// Removes carts that expired before `$2`, at most `$3`.
const CARTS: &str = "DELETE FROM carts WHERE shop = $1 AND id = ANY (ARRAY(SELECT id FROM carts WHERE shop = $1 AND expires_at < $2 \
    {} ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED))";

/// Removes checkouts that expired before `$2`, at most `$3`, and the mandates of those that led to no order: without an order
/// there is nothing to dispute.
const CHECKOUTS: &str = "WITH gone AS (DELETE FROM checkouts WHERE shop = $1 AND id = ANY (ARRAY(SELECT id FROM checkouts \
    WHERE shop = $1 AND expires_at < $2 AND attempted_at IS NULL {} ORDER BY expires_at LIMIT $3 FOR UPDATE SKIP LOCKED)) \
    RETURNING id, status), \
    disputable AS (DELETE FROM mandates WHERE shop = $1 \
    AND checkout_id IN (SELECT id FROM gone WHERE status <> 'completed')) \
    SELECT 1 FROM gone";

/// Completed ones leave a mark at their orders first.
const COMPLETED: &str = "AND status = 'completed' AND NOT EXISTS (SELECT 1 FROM orders WHERE orders.shop = $1 \
    AND orders.checkout_id = checkouts.id AND (NOT anonymous AND buyer IS NULL OR EXISTS (SELECT 1 FROM outbox \
    WHERE outbox.shop = $1 AND outbox.order_id = orders.id AND outbox.state = 'waiting')))";

const KEPT: &str = "WITH old AS MATERIALIZED (SELECT key, resource, operation, owner FROM kept WHERE shop = $1 AND at < $2 \
    ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED) DELETE FROM kept USING old WHERE kept.shop = $1 AND kept.key = old.key \
    AND kept.resource = old.resource AND kept.operation = old.operation AND kept.owner = old.owner";

/// Removes rows that are counted to the group `$2`, at most `$3` of a table.
const RELEASED: [&str; 3] = [
    "DELETE FROM carts WHERE shop = $1 AND id = ANY (ARRAY(SELECT id FROM carts WHERE shop = $1 \
     AND holder IS NOT NULL AND string_to_array(holder, ' ') @> ARRAY[$2] LIMIT $3 FOR UPDATE SKIP LOCKED))",
    "WITH gone AS (DELETE FROM checkouts WHERE shop = $1 AND id = ANY (ARRAY(SELECT id FROM checkouts WHERE shop = $1 \
     AND holder IS NOT NULL AND string_to_array(holder, ' ') @> ARRAY[$2] AND attempted_at IS NULL AND status <> 'completed' LIMIT $3 \
     FOR UPDATE SKIP LOCKED)) RETURNING id), \
     disputable AS (DELETE FROM mandates WHERE shop = $1 AND checkout_id IN (SELECT id FROM gone)) SELECT 1 FROM gone",
    "WITH old AS MATERIALIZED (SELECT key, resource, operation, owner FROM kept WHERE shop = $1 \
     AND holder IS NOT NULL AND string_to_array(holder, ' ') @> ARRAY[$2] AND operation <> 'complete_checkout' LIMIT $3 FOR UPDATE SKIP LOCKED) \
     DELETE FROM kept USING old WHERE kept.shop = $1 AND kept.key = old.key AND kept.resource = old.resource \
     AND kept.operation = old.operation AND kept.owner = old.owner",
];

const TAKINGS: &str = "WITH old AS MATERIALIZED (SELECT variant, checkout, at FROM takings WHERE shop = $1 AND at < $2 \
    ORDER BY at LIMIT $3 FOR UPDATE SKIP LOCKED) DELETE FROM takings USING old WHERE takings.shop = $1 \
    AND takings.variant = old.variant AND takings.checkout = old.checkout AND takings.at = old.at";

const SETTLED: &str = "DELETE FROM outbox WHERE shop = $1 AND id = ANY (ARRAY(SELECT id FROM outbox WHERE shop = $1 AND settled_at < $2 \
    ORDER BY settled_at LIMIT $3 FOR UPDATE SKIP LOCKED))";

/// Carts at a remote shop that could not be abandoned.
const GIVEN_UP: &str = "DELETE FROM tasks WHERE (shop, kind, key) IN (SELECT shop, kind, key FROM tasks \
    WHERE shop = $1 AND since < $2 AND given_up AND kind = 'abandon' LIMIT $3 FOR UPDATE SKIP LOCKED)";

const UNSETTLED: &str = "DELETE FROM outbox WHERE shop = $1 AND id = ANY (ARRAY(SELECT id FROM outbox WHERE shop = $1 AND since < $2 \
    AND state = 'waiting' ORDER BY since LIMIT $3 FOR UPDATE SKIP LOCKED))";

#[async_trait]
impl Store for PostgresStore {
    async fn newest_orders(&self, limit: usize) -> Result<Vec<Stored<Order>>, PortError> {
        let sql =
            "SELECT version, document, id FROM orders WHERE shop = $1 ORDER BY placed_at DESC, made DESC LIMIT $2";
        let rows = self.rows(sql, &[self.key(), Param::count(limit)]).await?;
        Ok(rows.iter().map(stored).collect::<Result<_, Failure>>()?)
    }

    async fn any_order(&self, id: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.document("orders", "id = $2", [Param::key(id)]).await
    }

    async fn mandate(&self, checkout_id: &str) -> Result<Option<Mandate>, PortError> {
        let sql = "SELECT mandate FROM mandates WHERE shop = $1 AND checkout_id = $2";
        let Some(row) = self.row(sql, &[self.key(), Param::key(checkout_id)]).await? else { return Ok(None) };
        let mandate: Vec<u8> = row.try_get(0).map_err(Failure::from)?;
        Ok(Some(Mandate::new(String::from_utf8_lossy(&mandate).into_owned())))
    }

    async fn forward(&self, forwarded: Forwarded) -> Result<bool, PortError> {
        let Forwarded { id, owner, order_id, webhook_message, at } = forwarded;
        // Two messages about one order that arrive at once at two gateways come one after the other.
        let lock = "SELECT 1 FROM shops WHERE shop = $1 FOR UPDATE";
        let sql = "INSERT INTO outbox (shop, id, order_id, owner, order_version, occurred_at, since, release, body, made, \
                       state, attempts, untold) \
                   SELECT $1, $2, $3, $4, coalesce(max(order_version), 0) + 1, $5, $5, $6, $7, $8, 'waiting', 0, true \
                   FROM outbox WHERE shop = $1 AND order_id = $3";
        let values = [
            self.key(),
            Param::text(&id),
            Param::text(&order_id),
            Param::text(&owner),
            Param::at(at),
            Param::plain(webhook_message.release.date()),
            Param::Bytes(webhook_message.body),
            Param::Uuid(Uuid::now_v7()),
        ];
        let (columns, woken) = (agenda::COLUMNS, agenda::WOKEN);
        let tell = format!("INSERT INTO tasks (shop, {columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8) {woken}");
        let mut planned = vec![self.key()];
        planned.extend(agenda::values(&task(&owner, &order_id, at)));
        let new = self.run(async |connection, in_doubt| {
            connection.object.batch_execute("BEGIN").await?;
            let queued = async {
                connection.rows(lock, &values[..1]).await?;
                connection.execute(sql, &values).await?;
                connection.execute(&tell, &planned).await?;
                connection.object.batch_execute("COMMIT").await
            };
            let queued = queued.await;
            if queued.is_err() {
                // Fails only with the connection.
                drop(connection.object.batch_execute("ROLLBACK").await);
            }
            match queued {
                Ok(()) => Ok(true),
                // It is there: because of another message of this identifier, or because of an attempt whose reply was lost.
                Err(error) if meaning(&error) == Meaning::Contradicted => Ok(in_doubt),
                Err(error) => Err(error),
            }
        });
        let new = new.await?;
        if new {
            self.bell().notify_one();
        }
        Ok(new)
    }

    async fn happened(&self, now: Timestamp) -> Result<Vec<Happened>, PortError> {
        self.take_happened(now).await
    }

    async fn holdings(&self, limit: usize) -> Result<Vec<Holding>, PortError> {
        let sql = "SELECT name, CAST(sum(open) AS bigint), CAST(sum(held) AS bigint) AS bytes FROM (\
                   SELECT holder, 1 AS open, held FROM carts WHERE shop = $1 AND holder IS NOT NULL UNION ALL \
                   SELECT holder, 1, held FROM checkouts WHERE shop = $1 AND holder IS NOT NULL UNION ALL \
                   SELECT holder, 0, held FROM kept WHERE shop = $1 AND holder IS NOT NULL) AS counted \
                   CROSS JOIN LATERAL unnest(string_to_array(holder, ' ')) AS groups_of (name) \
                   GROUP BY name ORDER BY bytes DESC LIMIT $2";
        self.list(sql, &[self.key(), Param::count(limit)]).await
    }

    async fn release(&self, group: &str) -> Result<u64, PortError> {
        let values = [self.key(), Param::key(group), Param::Number(BATCH)];
        let mut removed = 0;
        for sql in RELEASED {
            removed += self.in_batches(sql, &values).await?;
        }
        Ok(removed)
    }

    async fn prune(&self, now: Timestamp) -> Result<u64, PortError> {
        let before = |age| nanoseconds(now.saturating_sub(age).unwrap_or(Timestamp::MIN));
        let Retention { unfinished, completed, addresses } = self.retention();
        let mut removed = self.prune_owners(now, MOST_OWNERS).await?;
        let marked = now.saturating_sub(KEPT_FOR).unwrap_or(Timestamp::MIN);
        self.forget_marks(marked).await?;
        self.adopt(now).await?;
        self.mark_orders(before(completed)).await?;
        for (statement, condition, before) in [
            (KEPT, "", before(KEPT_FOR)),
            (CARTS, "", before(unfinished)),
            (CHECKOUTS, "AND status <> 'completed'", before(unfinished)),
            (CHECKOUTS, COMPLETED, before(completed)),
            (CARTS, "AND holder < '~'", before(HELD_FOR)),
            (CHECKOUTS, "AND holder < '~'", before(HELD_FOR)),
            (TAKINGS, "", before(TAKEN_FOR)),
            (events::OLD, "", before(events::KEPT_FOR)),
            (GIVEN_UP, "", before(REMEMBERED_FOR)),
            (SETTLED, "", before(SETTLED_FOR)),
            (UNSETTLED, "", before(REMEMBERED_FOR)),
        ] {
            let sql = statement.replace("{}", condition);
            let values = [self.key(), Param::Number(before), Param::Number(BATCH)];
            removed += self.in_batches(&sql, &values).await?;
        }
        if let Some(age) = addresses {
            removed += self.erase_addresses(before(age)).await?;
        }
        Ok(removed)
    }
}

impl PostgresStore {
    /// Removes the marks of commits from before a time, which are in the order of their time.
    async fn forget_marks(&self, before: Timestamp) -> Result<(), PortError> {
        let seconds = before.as_second().max(0).unsigned_abs();
        let first = Uuid::new_v7(uuid::Timestamp::from_unix_time(seconds, 0, 0, 0));
        let sql = "DELETE FROM commits WHERE shop = $1 AND id = ANY (ARRAY(SELECT id FROM commits WHERE shop = $1 AND id < $2 \
                   ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED))";
        let values = [self.key(), Param::Uuid(first), Param::Number(BATCH)];
        self.in_batches(sql, &values).await.map(drop)
    }

    /// Runs a statement that removes at most [`BATCH`] rows until it removes fewer. Returns the number of all.
    async fn in_batches(&self, sql: &str, values: &[Param]) -> Result<u64, PortError> {
        let mut removed = 0;
        loop {
            let batch = self.execute(sql, values).await?;
            removed += batch;
            if batch < BATCH.unsigned_abs() {
                return Ok(removed);
            }
        }
    }
}
