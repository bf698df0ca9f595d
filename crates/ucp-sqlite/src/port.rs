//! The [`Store`] port of a [`SqliteStore`], beyond its parts: queries of operators, forwarded webhook messages, and the
//! removal of expired rows.

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::OptionalExtension as _;
use ucp_core::{
    order::Order,
    ports::{
        PortError,
        buyers::Retention,
        ledger::{Holding, Stored},
        owners::MOST as MOST_OWNERS,
        store::{Forwarded, HELD_FOR, Happened, KEPT_FOR, REMEMBERED_FOR, SETTLED_FOR, Store, TAKEN_FOR},
    },
    purchase::mandate::Mandate,
};

use crate::{
    buyers,
    connection::ShopConnection,
    error::WriteError,
    ledger::{stored, stored_columns},
    rows::{nanoseconds, read, signed},
    store::{BATCH, SqliteStore},
    webhook_events::{Message, NewWebhookEvent, queue},
};

/// Rows that are released of a holder: those of each table under a condition.
const RELEASED: [(&str, &str); 3] = [
    ("carts", ""),
    ("checkouts", "AND attempted_at IS NULL AND status <> 'completed'"),
    ("kept", "AND operation <> 'complete_checkout'"),
];

/// Maximum number of pages that are given back to the file system at once.
const VACUUMED: u32 = 2_000;

#[async_trait]
impl Store for SqliteStore {
    async fn newest_orders(&self, limit: usize) -> Result<Vec<Stored<Order>>, PortError> {
        let columns = stored_columns("orders");
        let sql = format!("SELECT {columns} FROM orders WHERE shop = ? ORDER BY seq DESC LIMIT ?");
        self.read(move |db| db.prepare_cached(&sql)?.query_map((db.shop(), signed(limit)), stored)?.collect()).await
    }

    async fn any_order(&self, id: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.document("orders", "id = ?", [id]).await
    }

    async fn mandate(&self, checkout_id: &str) -> Result<Option<Mandate>, PortError> {
        let checkout = checkout_id.to_owned();
        let sql = "SELECT mandate FROM mandates WHERE shop = ? AND checkout_id = ?";
        let mandate = move |db: ShopConnection<'_>| {
            db.prepare_cached(sql)?.query_row((db.shop(), &checkout), |row| row.get(0)).optional()
        };
        Ok(self.read(mandate).await?.map(Mandate::new))
    }

    async fn forward(&self, forwarded: Forwarded) -> Result<bool, PortError> {
        let new = self
            .write(move |db| {
                let Forwarded { id, owner, order_id, webhook_message, at } = forwarded;
                let known =
                    db.prepare_cached("SELECT 1 FROM outbox WHERE shop = ? AND id = ?")?.exists((db.shop(), &id))?;
                if known {
                    return Ok(false);
                }
                let versions = "SELECT ifnull(max(order_version), 0) FROM outbox WHERE shop = ? AND order_id = ?";
                let version: i64 = db.prepare_cached(versions)?.query_row((db.shop(), &order_id), |row| row.get(0))?;
                let order_version = version + 1;
                let webhook_event = NewWebhookEvent { id: &id, order_id: &order_id, owner: &owner, order_version, at };
                queue(db, &webhook_event, &Message::WebhookMessage(&webhook_message))?;
                Ok(true)
            })
            .await?;
        if new {
            self.bell().notify_one();
        }
        Ok(new)
    }

    async fn happened(&self, now: Timestamp) -> Result<Vec<Happened>, PortError> {
        self.take_happened(now).await
    }

    async fn holdings(&self, limit: usize) -> Result<Vec<Holding>, PortError> {
        let sql = "SELECT name, open, bytes FROM holdings WHERE shop = ? ORDER BY bytes DESC LIMIT ?";
        self.read(move |db| db.prepare_cached(sql)?.query_map((db.shop(), signed(limit)), read)?.collect()).await
    }

    async fn release(&self, group: &str) -> Result<u64, PortError> {
        let mut removed = 0;
        for (table, condition) in RELEASED {
            let statement = format!(
                "DELETE FROM {table} WHERE seq IN (SELECT seq FROM {table} WHERE shop = ? \
                 AND instr(' ' || holder || ' ', ' ' || ? || ' ') > 0 {condition} LIMIT ?)"
            );
            let group = group.to_owned();
            let delete = move |db: ShopConnection<'_>| {
                Ok(db.prepare_cached(&statement)?.execute((db.shop(), &group, BATCH))? as u64)
            };
            removed += self.in_batches(delete).await?;
        }
        Ok(removed)
    }

    async fn prune(&self, now: Timestamp) -> Result<u64, PortError> {
        let before = |age| now.saturating_sub(age).unwrap_or(Timestamp::MIN);
        let Retention { unfinished, completed, addresses } = self.retention();
        let mut removed = self.prune_owners(now, MOST_OWNERS).await?;
        for (table, key, at, condition, age) in [
            ("kept", "seq", "at", "", KEPT_FOR),
            ("carts", "seq", "expires_at", "", unfinished),
            ("checkouts", "seq", "expires_at", "AND attempted_at IS NULL AND status <> 'completed'", unfinished),
            ("checkouts", "seq", "expires_at", buyers::COMPLETED, completed),
            ("carts", "seq", "expires_at", "AND holder < '~'", HELD_FOR),
            ("checkouts", "seq", "expires_at", "AND holder < '~' AND attempted_at IS NULL", HELD_FOR),
            ("takings", "shop, variant, checkout, at", "at", "", TAKEN_FOR),
            ("outbox", "seq", "settled_at", "", SETTLED_FOR),
            ("tasks", "shop, kind, key", "since", "AND given_up <> 0 AND kind = 'abandon'", REMEMBERED_FOR),
            ("outbox", "seq", "since", "AND state = 'waiting'", REMEMBERED_FOR),
        ] {
            let sql = format!(
                "DELETE FROM {table} WHERE ({key}) IN \
                 (SELECT {key} FROM {table} WHERE shop = ? AND {at} < ? {condition} ORDER BY {at} LIMIT ?)"
            );
            let (secret, before) = (self.cursor_secret().clone(), nanoseconds(before(age)));
            let delete = move |db: ShopConnection<'_>| {
                if condition == buyers::COMPLETED {
                    buyers::mark_orders(db, &secret, before, BATCH)?;
                }
                Ok(db.prepare_cached(&sql)?.execute((db.shop(), before, BATCH))? as u64)
            };
            removed += self.in_batches(delete).await?;
        }
        if let Some(age) = addresses {
            let before = before(age).to_string();
            removed += self.in_batches(move |db| Ok(buyers::erase_addresses(db, &before, BATCH)?)).await?;
        }
        loop {
            let given = self
                .write(|db| {
                    let free =
                        |db: ShopConnection<'_>| db.query_row("PRAGMA freelist_count", (), |row| row.get::<_, i64>(0));
                    let before = free(db)?;
                    let mut vacuum = db.prepare(&format!("PRAGMA incremental_vacuum({VACUUMED})"))?;
                    let mut steps = vacuum.query(())?;
                    while steps.next()?.is_some() {}
                    Ok(before - free(db)?)
                })
                .await?;
            // A file of an earlier version gives nothing back.
            if given < i64::from(VACUUMED) {
                return Ok(removed);
            }
        }
    }
}

impl SqliteStore {
    /// Runs a job that removes or changes at most [`BATCH`] rows until it finds fewer. Returns the number of all.
    async fn in_batches(
        &self,
        job: impl Fn(ShopConnection<'_>) -> Result<u64, WriteError> + Clone + Send + 'static,
    ) -> Result<u64, PortError> {
        let mut all = 0;
        loop {
            let batch = self.write(job.clone()).await?;
            all += batch;
            if batch < BATCH.unsigned_abs() {
                return Ok(all);
            }
        }
    }
}
