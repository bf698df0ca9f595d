//! [`Buyers`] of the store, and the erasure of old addresses.

use std::collections::HashSet;

use async_trait::async_trait;
use rusqlite::params;
use serde_json::Value;
use ucp_core::{
    catalog::cursor::CursorSecret,
    ports::{
        PortError,
        buyers::{Buyers, Erasure, PersonalData, buyer_mark, mark, need, without_addresses, without_tokens},
    },
};

use crate::{checksum::intact, connection::ShopConnection, store::SqliteStore};

/// Condition of completed checkouts that may be removed, which leave a mark at their orders: no webhook event about the order waits.
pub(crate) const COMPLETED: &str = "AND attempted_at IS NULL AND status = 'completed' AND NOT EXISTS (SELECT 1 FROM orders \
    JOIN outbox ON outbox.shop = orders.shop AND outbox.order_id = orders.id WHERE orders.shop = checkouts.shop \
    AND orders.checkout_id = checkouts.id AND outbox.state = 'waiting')";

/// Carts and checkouts of an email address, which is the second parameter.
const OF_BUYER: &str = "WHERE shop = ?1 AND lower(CASE WHEN json_valid(document) \
    THEN json_extract(document, '$.draft.buyer.email') END) = lower(?2)";

/// Orders of a buyer whose checkouts are gone. The second parameter is the mark.
const BY_MARK: &str = "FROM orders WHERE shop = ?1 AND buyer = ?2 AND anonymous = 0 \
    AND NOT EXISTS (SELECT 1 FROM checkouts WHERE shop = ?1 AND id = orders.checkout_id)";

/// Column over `orders`: the document, or an empty text if it is damaged.
fn order_document() -> String {
    format!("iif({}, document, '')", intact("orders"))
}

/// Returns the identifiers of carts, checkouts and orders that are damaged, of whatever buyer.
fn damaged(db: ShopConnection<'_>) -> rusqlite::Result<Vec<String>> {
    let of = |table: &str| {
        format!("SELECT id FROM {table} WHERE shop = ?1 AND NOT (json_valid(document) AND {})", intact(table))
    };
    let sql = format!("{} UNION ALL {} UNION ALL {}", of("carts"), of("checkouts"), of("orders"));
    db.prepare(&sql)?.query_map([db.shop()], |row| row.get(0))?.collect()
}

/// Counts the orders with addresses whose buyers are not known: their checkouts were removed by a version that left no mark, or
/// were damaged.
fn unknown(db: ShopConnection<'_>) -> rusqlite::Result<u64> {
    let sql = "SELECT count(*) FROM orders WHERE shop = ?1 AND anonymous = 0 AND ifnull(buyer, '?') = '?' \
               AND NOT EXISTS (SELECT 1 FROM checkouts WHERE shop = ?1 AND id = orders.checkout_id)";
    db.query_row(sql, [db.shop()], |row| row.get::<_, i64>(0)).map(i64::unsigned_abs)
}

/// Marks orders whose checkouts are about to be removed, in the same transaction: completed ones that expired before a time
/// (nanoseconds since 1970), up to `limit` of them.
pub(crate) fn mark_orders(
    db: ShopConnection<'_>,
    secret: &CursorSecret,
    before: i64,
    limit: i64,
) -> rusqlite::Result<()> {
    let sql = format!(
        "SELECT orders.seq, checkouts.document FROM (SELECT seq, id, document FROM checkouts WHERE shop = ?1 AND expires_at < ?2 \
         {COMPLETED} ORDER BY expires_at LIMIT ?3) AS checkouts \
         JOIN orders ON orders.shop = ?1 AND orders.checkout_id = checkouts.id \
         WHERE orders.anonymous = 0 AND orders.buyer IS NULL AND {}",
        intact("orders")
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map((db.shop(), before, limit), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let orders: Vec<(i64, String)> = rows.collect::<Result<_, _>>()?;
    for (seq, checkout) in orders {
        db.prepare_cached("UPDATE orders SET buyer = ? WHERE seq = ?")?
            .execute((buyer_mark(secret, &checkout), seq))?;
    }
    Ok(())
}

/// A checkout of a buyer, and what may still happen to it.
struct Purchase {
    id: String,
    /// A payment attempt whose end is unknown.
    is_paying: bool,
    order: Option<(String, Value)>,
    /// A webhook event about the order waits.
    is_telling: bool,
}

#[async_trait]
impl Buyers for SqliteStore {
    async fn personal_data(&self, e_mail: &str) -> Result<PersonalData, PortError> {
        let e_mail = e_mail.to_owned();
        let documents = |db: ShopConnection<'_>, sql: &str, e_mail: &str| -> rusqlite::Result<Vec<Value>> {
            let mut statement = db.prepare(sql)?;
            let rows = statement.query_map((db.shop(), e_mail), |row| {
                Ok(without_tokens(row.get::<_, String>(0)?.parse().unwrap_or_default()))
            })?;
            rows.collect()
        };
        let document = order_document();
        let orders = format!(
            "SELECT {document} FROM orders WHERE shop = ?1 AND checkout_id IN (SELECT id FROM checkouts {OF_BUYER})"
        );
        let marked = mark(self.cursor_secret(), &e_mail);
        self.read(move |db| {
            // Of one snapshot.
            let db = &db;
            let transaction = db.unchecked_transaction()?;
            let mut data = PersonalData {
                damaged: damaged(*db)?,
                unknown: unknown(*db)?,
                carts: documents(*db, &format!("SELECT document FROM carts {OF_BUYER}"), &e_mail)?,
                checkouts: documents(*db, &format!("SELECT document FROM checkouts {OF_BUYER}"), &e_mail)?,
                orders: documents(*db, &orders, &e_mail)?,
            };
            data.orders.extend(documents(*db, &format!("SELECT {document} {BY_MARK}"), &marked)?);
            // What is damaged is named, and not shown.
            data.orders.retain(Value::is_object);
            transaction.finish()?;
            Ok(data)
        })
        .await
    }

    async fn erase_buyer(&self, e_mail: &str) -> Result<Erasure, PortError> {
        let e_mail = e_mail.to_owned();
        let marked = mark(self.cursor_secret(), &e_mail);
        let mut erasure = self.write(move |db| Ok(erase(db, &e_mail, &marked)?)).await?;
        if !self.empty_log().await? {
            erasure.residue = Some(
                "The log of the database still has it, because somebody has been reading for a long time: erase again, or restart the \
                 gateway.",
            );
        }
        Ok(erasure)
    }

    async fn with_personal_data(&self, ids: &[String]) -> Result<HashSet<String>, PortError> {
        const SQL: &str = "WITH asked (id) AS (SELECT value FROM json_each(?2)) \
                           SELECT id FROM carts WHERE shop = ?1 AND id IN asked \
                           UNION SELECT id FROM checkouts WHERE shop = ?1 AND id IN asked \
                           UNION SELECT id FROM orders WHERE shop = ?1 AND id IN asked AND anonymous = 0";
        let ids = Value::from(ids).to_string();
        self.read(move |db| db.prepare_cached(SQL)?.query_map((db.shop(), &ids), |row| row.get(0))?.collect()).await
    }
}

fn erase(db: ShopConnection<'_>, e_mail: &str, marked: &str) -> rusqlite::Result<Erasure> {
    let mut erasure = Erasure::default();
    let carts: Vec<String> = db
        .prepare(&format!("SELECT id FROM carts {OF_BUYER}"))?
        .query_map((db.shop(), e_mail), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for id in carts {
        erasure.carts += db.execute("DELETE FROM carts WHERE shop = ? AND id = ?", (db.shop(), &id))?;
        forget_answers(db, &id)?;
    }
    for purchase in purchases(db, e_mail)? {
        if let Some(reason) =
            need(purchase.is_paying, purchase.order.as_ref().map(|(_, order)| order), purchase.is_telling)
        {
            erasure.left.push((purchase.id, reason));
            continue;
        }
        if let Some((id, order)) = purchase.order {
            erasure.orders += erase_address(db, &id, order)?;
            db.execute("DELETE FROM outbox WHERE shop = ? AND order_id = ?", (db.shop(), &id))?;
        }
        erasure.checkouts +=
            db.execute("DELETE FROM checkouts WHERE shop = ? AND id = ?", (db.shop(), &purchase.id))?;
        forget_answers(db, &purchase.id)?;
    }
    let sql = format!(
        "SELECT id, {}, EXISTS (SELECT 1 FROM outbox WHERE shop = ?1 AND order_id = orders.id AND state = 'waiting') {BY_MARK}",
        order_document()
    );
    let mut statement = db.prepare(&sql)?;
    let rows = statement.query_map((db.shop(), marked), |row| {
        Ok((row.get(0)?, row.get::<_, String>(1)?.parse().unwrap_or_default(), row.get(2)?))
    })?;
    let orders: Vec<(String, Value, bool)> = rows.collect::<Result<_, _>>()?;
    for (id, order, is_telling) in orders {
        match need(false, Some(&order), is_telling) {
            Some(reason) => erasure.left.push((id, reason)),
            None => {
                erasure.orders += erase_address(db, &id, order)?;
                db.execute("DELETE FROM outbox WHERE shop = ? AND order_id = ?", (db.shop(), &id))?;
            }
        }
    }
    erasure.leave_damaged(damaged(db)?);
    erasure.unknown = unknown(db)?;
    Ok(erasure)
}

/// Removes the addresses from an order. Returns the number of orders that changed.
fn erase_address(db: ShopConnection<'_>, id: &str, order: Value) -> rusqlite::Result<usize> {
    let sql = "UPDATE orders SET version = version + 1, document = ?, anonymous = 1, buyer = NULL \
               WHERE shop = ? AND id = ?";
    db.execute(sql, (without_addresses(order).to_string(), db.shop(), id))
}

/// Removes the addresses from up to `limit` orders that were placed before a time, in RFC 3339, and that no refund or
/// webhook event is pending for. Returns the number of orders that changed.
pub(crate) fn erase_addresses(db: ShopConnection<'_>, before: &str, limit: i64) -> rusqlite::Result<u64> {
    let sql = format!(
        "SELECT id, document FROM orders \
         WHERE shop = ?1 AND anonymous = 0 AND CASE WHEN json_valid(document) THEN json_extract(document, '$.placed_at') END < ?2 \
         AND {} \
         AND NOT EXISTS (SELECT 1 FROM outbox WHERE shop = ?1 AND order_id = orders.id AND state = 'waiting') \
         AND NOT EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(document) THEN document END, '$.adjustments') WHERE json_extract(value, '$.status') = 'pending') \
         LIMIT ?3",
        intact("orders")
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map((db.shop(), before, limit), |row| Ok((row.get(0)?, row.get(1)?)))?;
    let orders: Vec<(String, String)> = rows.collect::<Result<_, _>>()?;
    let mut erased = 0;
    for (id, document) in orders {
        let Ok(order) = document.parse() else { continue };
        erased += erase_address(db, &id, order)? as u64;
    }
    Ok(erased)
}

/// Removes the answers recorded for calls about a cart or checkout, with the one that created it.
fn forget_answers(db: ShopConnection<'_>, id: &str) -> rusqlite::Result<()> {
    db.execute("DELETE FROM kept WHERE shop = ?1 AND (resource = ?2 OR instr(answer, ?2) > 0)", (db.shop(), id))
        .map(drop)
}

fn purchases(db: ShopConnection<'_>, e_mail: &str) -> rusqlite::Result<Vec<Purchase>> {
    let sql = format!(
        "SELECT id, attempted_at IS NOT NULL, \
         (SELECT id FROM orders WHERE shop = ?1 AND checkout_id = checkouts.id), \
         (SELECT {} FROM orders WHERE shop = ?1 AND checkout_id = checkouts.id), \
         EXISTS (SELECT 1 FROM orders JOIN outbox ON outbox.shop = ?1 AND outbox.order_id = orders.id \
         WHERE orders.shop = ?1 AND orders.checkout_id = checkouts.id AND outbox.state = 'waiting') \
         FROM checkouts {OF_BUYER}",
        order_document()
    );
    let mut statement = db.prepare(&sql)?;
    let rows = statement.query_map(params![db.shop(), e_mail], |row| {
        let order: Option<String> = row.get(2)?;
        let document: Option<String> = row.get(3)?;
        let document = document.map(|document| document.parse().unwrap_or_default());
        Ok(Purchase { id: row.get(0)?, is_paying: row.get(1)?, order: order.zip(document), is_telling: row.get(4)? })
    })?;
    rows.collect()
}
