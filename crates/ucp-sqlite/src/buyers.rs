//! Personal data of a buyer: what is stored about an e-mail address, and its erasure.
//!
//! A buyer is found by the address in carts and checkouts. An order has no address of its own: it is found by its
//! checkout, for as long as that is kept.

use rusqlite::params;
use serde::Serialize;
use serde_json::{Value, json};

use crate::{
    connection::ShopConnection,
    error::{StoreError, WriteError},
    store::SqliteStore,
};

/// Carts and checkouts of an e-mail address, which is the second parameter.
const OF_BUYER: &str = "WHERE shop = ?1 AND lower(json_extract(document, '$.draft.buyer.email')) = lower(?2)";

/// Everything that is stored about a buyer.
#[derive(Debug, Default, Serialize)]
pub struct PersonalData {
    /// Carts, as stored.
    pub carts: Vec<Value>,
    /// Checkouts, as stored.
    pub checkouts: Vec<Value>,
    /// Orders of these checkouts, as stored.
    pub orders: Vec<Value>,
}

/// Result of an erasure.
#[derive(Debug, Default)]
pub struct Erasure {
    /// Number of carts that were removed.
    pub carts: usize,
    /// Number of checkouts that were removed.
    pub checkouts: usize,
    /// Number of orders whose addresses were removed.
    pub orders: usize,
    /// Checkouts that were left as they are, each with the reason.
    pub left: Vec<(String, &'static str)>,
}

/// A checkout of a buyer, and what may still happen to it.
struct Purchase {
    id: String,
    /// A payment attempt whose end is unknown.
    is_paying: bool,
    order: Option<(String, Value)>,
    is_told: bool,
}

impl Purchase {
    /// Returns why the personal data are still needed.
    fn need(&self) -> Option<&'static str> {
        let adjustments = self.order.iter().flat_map(|(_, order)| order["adjustments"].as_array()).flatten();
        if self.is_paying {
            Some("a payment for it is not settled")
        } else if adjustments.into_iter().any(|adjustment| adjustment["status"] == "pending") {
            Some("a refund of its order is pending")
        } else if !self.is_told {
            Some("a webhook event about its order waits")
        } else {
            None
        }
    }
}

impl SqliteStore {
    /// Returns everything that is stored about a buyer, without the tokens of pages.
    ///
    /// # Errors
    /// [`StoreError`] if the database cannot be read.
    pub fn personal_data(&self, e_mail: &str) -> Result<PersonalData, StoreError> {
        let read = |db: ShopConnection<'_>| {
            let documents = |sql: &str| -> rusqlite::Result<Vec<Value>> {
                let mut statement = db.prepare(sql)?;
                let rows = statement.query_map((db.shop(), e_mail), |row| {
                    let mut document: Value = row.get::<_, String>(0)?.parse().unwrap_or_default();
                    drop_tokens(&mut document);
                    Ok(document)
                })?;
                rows.collect()
            };
            Ok(PersonalData {
                carts: documents(&format!("SELECT document FROM carts {OF_BUYER}"))?,
                checkouts: documents(&format!("SELECT document FROM checkouts {OF_BUYER}"))?,
                orders: documents(&format!(
                    "SELECT document FROM orders WHERE shop = ?1 AND checkout_id IN (SELECT id FROM checkouts {OF_BUYER})"
                ))?,
            })
        };
        self.snapshot(read).map_err(|source| StoreError::Open { path: self.path().to_owned(), source })
    }

    /// Erases the personal data of a buyer: their carts and checkouts, the answers recorded for them, and the addresses
    /// and past webhook events of their orders. What a payment, a refund or a webhook event still needs stays. Blocks.
    ///
    /// # Errors
    /// [`WriteError`] if the database failed; then nothing was erased.
    pub fn erase_buyer(&self, e_mail: &str) -> Result<Erasure, WriteError> {
        let e_mail = e_mail.to_owned();
        self.execute_blocking(move |db| Ok(erase(db, &e_mail)?))
    }
}

/// Removes the tokens that open pages from a document.
fn drop_tokens(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.shift_remove("token");
            members.values_mut().for_each(drop_tokens);
        }
        Value::Array(elements) => elements.iter_mut().for_each(drop_tokens),
        _ => {}
    }
}

fn erase(db: ShopConnection<'_>, e_mail: &str) -> rusqlite::Result<Erasure> {
    // What is removed is overwritten, not only forgotten.
    db.pragma_update(None, "secure_delete", "ON")?;
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
        if let Some(reason) = purchase.need() {
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
    Ok(erasure)
}

/// Removes the addresses from an order. Returns the number of orders that changed.
fn erase_address(db: ShopConnection<'_>, id: &str, mut order: Value) -> rusqlite::Result<usize> {
    for expectation in order["expectations"].as_array_mut().into_iter().flatten() {
        expectation["destination"] = json!({});
    }
    let sql = "UPDATE orders SET version = version + 1, document = ?, anonymous = 1 WHERE shop = ? AND id = ?";
    db.execute(sql, (order.to_string(), db.shop(), id))
}

/// Removes the addresses from up to `limit` orders that were placed before a time, in RFC 3339, and that no refund or
/// webhook event is pending for. Returns the number of orders that changed.
pub(crate) fn erase_addresses(db: ShopConnection<'_>, before: &str, limit: i64) -> rusqlite::Result<u64> {
    let mut statement = db.prepare_cached(
        "SELECT id, document FROM orders \
         WHERE shop = ?1 AND anonymous = 0 AND json_extract(document, '$.placed_at') < ?2 \
         AND NOT EXISTS (SELECT 1 FROM outbox WHERE shop = ?1 AND order_id = orders.id AND state = 'waiting') \
         AND NOT EXISTS (SELECT 1 FROM json_each(document, '$.adjustments') WHERE json_extract(value, '$.status') = 'pending') \
         LIMIT ?3",
    )?;
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
         (SELECT document FROM orders WHERE shop = ?1 AND checkout_id = checkouts.id), \
         NOT EXISTS (SELECT 1 FROM orders JOIN outbox ON outbox.shop = ?1 AND outbox.order_id = orders.id \
         WHERE orders.shop = ?1 AND orders.checkout_id = checkouts.id AND outbox.state = 'waiting') \
         FROM checkouts {OF_BUYER}"
    );
    let mut statement = db.prepare(&sql)?;
    let rows = statement.query_map(params![db.shop(), e_mail], |row| {
        let order: Option<String> = row.get(2)?;
        let document: Option<String> = row.get(3)?;
        let document = document.map(|document| document.parse().unwrap_or_default());
        Ok(Purchase { id: row.get(0)?, is_paying: row.get(1)?, order: order.zip(document), is_told: row.get(4)? })
    })?;
    rows.collect()
}
