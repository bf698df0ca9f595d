//! [`Buyers`] of the store, and the erasure of old addresses. Documents are looked into here and not by the server: the text of
//! one can hold what the server's type for JSON refuses.

use std::collections::HashSet;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value as Json;
use ucp_core::ports::{
    PortError,
    buyers::{
        Buyers, Erasure, PersonalData, UNKNOWN, buyer_mark, is_refunding, mark, need, without_addresses, without_tokens,
    },
};

use crate::{
    connection::Param,
    failure::Failure,
    store::{BATCH, PostgresStore},
    text::{key, nanoseconds},
};

/// Orders as [`read`] reads them.
const ORDER: &str = "SELECT id, document, EXISTS (SELECT 1 FROM outbox WHERE outbox.shop = $1 AND outbox.order_id = orders.id \
    AND outbox.state = 'waiting'), version FROM orders WHERE shop = $1";

/// Condition of orders whose checkouts are gone.
const NO_CHECKOUT: &str =
    "NOT EXISTS (SELECT 1 FROM checkouts WHERE checkouts.shop = $1 AND checkouts.id = orders.checkout_id)";

/// A stored document.
struct Row {
    id: String,
    document: Json,
    version: i64,
    /// A payment attempt whose end is unknown, or a webhook event that waits.
    is_pending: bool,
}

#[async_trait]
impl Buyers for PostgresStore {
    async fn personal_data(&self, e_mail: &str) -> Result<PersonalData, PortError> {
        let mut data = PersonalData::default();
        data.carts
            .extend(self.of_buyer("carts", "false", e_mail).await?.into_iter().map(|row| without_tokens(row.document)));
        for checkout in self.of_buyer("checkouts", "attempted_at IS NOT NULL", e_mail).await? {
            data.orders.extend(self.order_of(&checkout.id).await?.map(|row| without_tokens(row.document)));
            data.checkouts.push(without_tokens(checkout.document));
        }
        data.orders.extend(self.marked(e_mail).await?.into_iter().map(|row| without_tokens(row.document)));
        // What is damaged is named, and not shown.
        data.orders.retain(Json::is_object);
        (data.damaged, data.unknown) = (self.damaged().await?, self.unknown().await?);
        Ok(data)
    }

    async fn erase_buyer(&self, e_mail: &str) -> Result<Erasure, PortError> {
        let mut erasure = Erasure {
            residue: Some(
                "PostgreSQL keeps it in its files until VACUUM has removed the old rows, and in its write-ahead log, standbys and backups \
                 for as long as those are kept.",
            ),
            ..Erasure::default()
        };
        for cart in self.of_buyer("carts", "false", e_mail).await? {
            self.forget_answers(&cart.id).await?;
            let sql = "DELETE FROM carts WHERE shop = $1 AND id = $2";
            erasure.carts += usize::from(self.execute(sql, &[self.key(), Param::key(&cart.id)]).await? == 1);
        }
        for checkout in self.of_buyer("checkouts", "attempted_at IS NOT NULL", e_mail).await? {
            let order = self.order_of(&checkout.id).await?;
            if let Some(reason) = self.erase_order(checkout.is_pending, order, &mut erasure).await? {
                erasure.left.push((checkout.id, reason));
                continue;
            }
            self.forget_answers(&checkout.id).await?;
            let sql = "WITH gone AS (DELETE FROM checkouts WHERE shop = $1 AND id = $2 AND attempted_at IS NULL \
                       RETURNING id, status), disputable AS (DELETE FROM mandates WHERE shop = $1 \
                       AND checkout_id IN (SELECT id FROM gone WHERE status <> 'completed')) SELECT 1 FROM gone";
            erasure.checkouts += self.rows(sql, &[self.key(), Param::key(&checkout.id)]).await?.len();
        }
        for order in self.marked(e_mail).await? {
            let id = order.id.clone();
            if let Some(reason) = self.erase_order(false, Some(order), &mut erasure).await? {
                erasure.left.push((id, reason));
            }
        }
        erasure.leave_damaged(self.damaged().await?);
        erasure.unknown = self.unknown().await?;
        Ok(erasure)
    }

    async fn with_personal_data(&self, ids: &[String]) -> Result<HashSet<String>, PortError> {
        let sql = "SELECT id FROM carts WHERE shop = $1 AND id = ANY($2) \
                   UNION SELECT id FROM checkouts WHERE shop = $1 AND id = ANY($2) \
                   UNION SELECT id FROM orders WHERE shop = $1 AND id = ANY($2) AND NOT anonymous";
        let keys = ids.iter().map(|id| key(id).into_owned()).collect();
        let mut stored = HashSet::new();
        for row in self.rows(sql, &[self.key(), Param::Texts(keys)]).await? {
            stored.insert(row.try_get::<_, String>(0).map_err(Failure::from)?);
        }
        Ok(ids.iter().filter(|id| stored.contains(&*key(id))).cloned().collect())
    }
}

impl PostgresStore {
    /// Removes the addresses from the order of a purchase and its webhook events, and counts it. Returns why it is still needed.
    async fn erase_order(
        &self,
        is_paying: bool,
        mut order: Option<Row>,
        erasure: &mut Erasure,
    ) -> Result<Option<&'static str>, PortError> {
        let mut needed = reason(is_paying, order.as_ref());
        // A step that somebody takes meanwhile stands: the order is read again.
        while let (None, Some(read)) = (needed, &order) {
            if self.erase_address(read).await? {
                erasure.orders += 1;
                break;
            }
            let again = self.order(&read.id).await?;
            if again.as_ref().is_none_or(|again| again.version == read.version) {
                break;
            }
            needed = reason(is_paying, again.as_ref());
            order = again;
        }
        if let (None, Some(order)) = (needed, order) {
            let sql = "DELETE FROM outbox WHERE shop = $1 AND order_id = $2";
            self.execute(sql, &[self.key(), Param::text(&order.id)]).await?;
        }
        Ok(needed)
    }

    /// Marks the orders whose checkouts are about to be removed: completed ones that expired before a time (nanoseconds since
    /// 1970).
    pub(crate) async fn mark_orders(&self, before: i64) -> Result<(), PortError> {
        let sql = "SELECT orders.id, checkouts.document FROM checkouts JOIN orders ON orders.shop = $1 \
                   AND orders.checkout_id = checkouts.id WHERE checkouts.shop = $1 AND expires_at < $2 AND status = 'completed' \
                   AND attempted_at IS NULL AND NOT anonymous AND buyer IS NULL LIMIT $3";
        let values = [self.key(), Param::Number(before), Param::Number(BATCH)];
        loop {
            let rows = self.rows(sql, &values).await?;
            for row in &rows {
                let checkout: String = row.try_get(1).map_err(Failure::from)?;
                let marked = Param::Text(buyer_mark(self.cursor_secret(), &checkout));
                let id = Param::Text(row.try_get(0).map_err(Failure::from)?);
                let sql = "UPDATE orders SET buyer = $3 WHERE shop = $1 AND id = $2 AND buyer IS NULL";
                self.execute(sql, &[self.key(), id, marked]).await?;
            }
            if (rows.len() as u64) < BATCH.unsigned_abs() {
                return Ok(());
            }
        }
    }

    /// Returns the orders of a buyer whose checkouts are gone.
    async fn marked(&self, e_mail: &str) -> Result<Vec<Row>, PortError> {
        let sql = format!("{ORDER} AND buyer = $2 AND NOT anonymous AND {NO_CHECKOUT}");
        let marked = Param::Text(mark(self.cursor_secret(), e_mail));
        let rows = self.rows(&sql, &[self.key(), marked]).await?;
        Ok(rows.iter().map(read).collect::<Result<_, _>>()?)
    }

    /// Counts the orders with addresses whose buyers are not known: their checkouts were removed by a version that left no mark,
    /// or were damaged.
    async fn unknown(&self) -> Result<u64, PortError> {
        let sql = format!(
            "SELECT count(*) FROM orders WHERE shop = $1 AND NOT anonymous AND coalesce(buyer, $2) = $2 AND {NO_CHECKOUT}"
        );
        let row = self.row(&sql, &[self.key(), Param::plain(UNKNOWN)]).await?;
        let count = row.map(|row| row.try_get::<_, i64>(0)).transpose().map_err(Failure::from)?;
        Ok(count.unwrap_or_default().unsigned_abs())
    }

    /// Returns the identifiers of carts, checkouts and orders that are damaged, of whatever buyer.
    async fn damaged(&self) -> Result<Vec<String>, PortError> {
        let mut damaged = Vec::new();
        for table in ["carts", "checkouts", "orders"] {
            let sql = format!("SELECT id, document FROM {table} WHERE shop = $1 AND id > $2 ORDER BY id LIMIT {BATCH}");
            let mut after = String::new();
            loop {
                let rows = self.rows(&sql, &[self.key(), Param::Text(after)]).await?;
                let Some(last) = rows.last() else { break };
                after = last.try_get(0).map_err(Failure::from)?;
                for row in &rows {
                    let document: &str = row.try_get(1).map_err(Failure::from)?;
                    if !document.parse().is_ok_and(|document: Json| document.is_object()) {
                        damaged.push(row.try_get(0).map_err(Failure::from)?);
                    }
                }
            }
        }
        Ok(damaged)
    }

    /// Removes the addresses from orders that were placed before a time (nanoseconds since 1970), and that no refund or webhook
    /// event is pending for. Returns the number of orders that changed.
    pub(crate) async fn erase_addresses(&self, before: i64) -> Result<u64, PortError> {
        let sql = "SELECT id, document, false, version, placed_at FROM orders WHERE shop = $1 AND NOT anonymous AND placed_at < $2 \
                   AND placed_at >= $3 AND NOT EXISTS (SELECT 1 FROM outbox WHERE outbox.shop = $1 \
                   AND outbox.order_id = orders.id AND outbox.state = 'waiting') ORDER BY placed_at LIMIT $4";
        let (mut erased, mut from) = (0, nanoseconds(Timestamp::MIN));
        loop {
            let values = [self.key(), Param::Number(before), Param::Number(from), Param::Number(BATCH)];
            let rows = self.rows(sql, &values).await?;
            let mut changed = 0;
            for row in &rows {
                let order = read(row)?;
                if order.document.is_object() && !is_refunding(&order.document) && self.erase_address(&order).await? {
                    changed += 1;
                }
            }
            erased += changed;
            let last = rows.last().map(|row| row.try_get(4)).transpose().map_err(Failure::from)?;
            match last {
                // Those of a full batch that stay as they are would be read again for ever.
                Some(last) if rows.len() as u64 == BATCH.unsigned_abs() && (changed > 0 || last > from) => from = last,
                _ => return Ok(erased),
            }
        }
    }

    /// Removes the addresses from an order, unless it has none or was changed since it was read. Returns `true` if it did.
    async fn erase_address(&self, order: &Row) -> Result<bool, PortError> {
        let sql = "UPDATE orders SET version = version + 1, document = $3, anonymous = true, buyer = NULL \
                   WHERE shop = $1 AND id = $2 AND version = $4 AND NOT anonymous";
        let document = without_addresses(order.document.clone()).to_string();
        let values = [self.key(), Param::Text(order.id.clone()), Param::Text(document), Param::Number(order.version)];
        Ok(self.execute(sql, &values).await? == 1)
    }

    /// Removes the answers recorded for calls about a cart or checkout, with the one that created it.
    async fn forget_answers(&self, id: &str) -> Result<(), PortError> {
        let sql = "DELETE FROM kept WHERE shop = $1 AND (resource = $2 OR position($3 IN answer) > 0)";
        let values = [self.key(), Param::key(id), Param::Bytes(id.as_bytes().to_vec())];
        self.execute(sql, &values).await.map(drop)
    }

    /// Returns the rows of a table whose buyer has an email address.
    async fn of_buyer(&self, table: &str, pending: &str, e_mail: &str) -> Result<Vec<Row>, PortError> {
        let e_mail = e_mail.to_lowercase();
        // What the server finds holds the address somewhere.
        let sql = format!(
            "SELECT id, document, {pending}, version FROM {table} WHERE shop = $1 AND position($2 IN lower(document)) > 0 ORDER BY made"
        );
        let rows = self.rows(&sql, &[self.key(), Param::text(&e_mail)]).await?;
        let mut found = Vec::new();
        for row in rows {
            let row = read(&row)?;
            let stated = row.document.pointer("/draft/buyer/email").and_then(Json::as_str);
            if stated.is_some_and(|stated| stated.to_lowercase() == e_mail) {
                found.push(row);
            }
        }
        Ok(found)
    }

    async fn order_of(&self, checkout: &str) -> Result<Option<Row>, PortError> {
        let row = self.row(&format!("{ORDER} AND checkout_id = $2"), &[self.key(), Param::key(checkout)]).await?;
        Ok(row.map(|row| read(&row)).transpose()?)
    }

    async fn order(&self, id: &str) -> Result<Option<Row>, PortError> {
        let row = self.row(&format!("{ORDER} AND id = $2"), &[self.key(), Param::plain(id)]).await?;
        Ok(row.map(|row| read(&row)).transpose()?)
    }
}

fn read(row: &tokio_postgres::Row) -> Result<Row, Failure> {
    let document: String = row.try_get(1)?;
    let document = document.parse().unwrap_or_default();
    Ok(Row { id: row.try_get(0)?, document, is_pending: row.try_get(2)?, version: row.try_get(3)? })
}

/// Returns why the personal data of a purchase are still needed.
fn reason(is_paying: bool, order: Option<&Row>) -> Option<&'static str> {
    let is_telling = order.is_some_and(|order| order.is_pending);
    need(is_paying, order.map(|order| &order.document), is_telling)
}
