//! The [`Ledger`] of a [`SqliteStore`].
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`entry`] | the rows of a commit |
//!
//! A commit is one job of the [writer](crate::writer) thread: versions are compared, the stock is changed and the answer
//! is recorded in one transaction, so that any number of threads and processes can commit at once. Nothing is cached:
//! each read sees the newest state of the database, whichever process wrote it.

mod entry;

use async_trait::async_trait;
use rusqlite::{OptionalExtension as _, Row, ffi, params_from_iter, types::Type};
use serde::de::DeserializeOwned;
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    order::Order,
    ports::{
        PortError,
        ledger::{Change, Committed, Full, Kept, Key, Ledger, Stored},
    },
};

use self::entry::Entry;
use crate::{
    checksum,
    error::WriteError,
    rows::signed,
    stock,
    store::{SqliteStore, is_damage, unwritable},
};

impl SqliteStore {
    /// Reads the document of a table that meets a condition, with its version.
    pub(crate) async fn document<T: DeserializeOwned + Send + 'static, const N: usize>(
        &self,
        table: &'static str,
        condition: &'static str,
        parameters: [&str; N],
    ) -> Result<Option<Stored<T>>, PortError> {
        let parameters = parameters.map(str::to_owned);
        let sql = format!("SELECT {} FROM {table} WHERE shop = ? AND {condition}", stored_columns(table));
        self.read(move |db| {
            let parameters = std::iter::once(db.shop()).chain(parameters.iter().map(String::as_str));
            db.prepare_cached(&sql)?.query_row(params_from_iter(parameters), stored).optional()
        })
        .await
    }
}

#[async_trait]
impl Ledger for SqliteStore {
    async fn cart(&self, owner: &str, id: &str) -> Result<Option<Stored<Cart>>, PortError> {
        self.document("carts", "id = ? AND owner = ?", [id, owner]).await
    }

    async fn checkout(&self, owner: &str, id: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.document("checkouts", "id = ? AND owner = ?", [id, owner]).await
    }

    async fn checkout_of_cart(&self, owner: &str, cart: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.document("checkouts", "cart_id = ? AND owner = ? ORDER BY seq DESC LIMIT 1", [cart, owner]).await
    }

    async fn order(&self, owner: &str, id: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.document("orders", "id = ? AND owner = ?", [id, owner]).await
    }

    async fn cart_by_token(&self, token: &str) -> Result<Option<Stored<Cart>>, PortError> {
        self.document("carts", "token = ?", [token]).await
    }

    async fn checkout_by_token(&self, token: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.document("checkouts", "token = ?", [token]).await
    }

    async fn order_by_token(&self, token: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.document("orders", "token = ?", [token]).await
    }

    async fn orders_named(&self, name: &str, limit: usize) -> Result<Vec<Stored<Order>>, PortError> {
        let columns = stored_columns("orders");
        let sql = format!(
            "SELECT {columns} FROM orders WHERE shop = ?1 AND (id = ?2 \
             OR CASE WHEN json_valid(document) THEN json_extract(document, '$.label') END = ?2 \
             OR CASE WHEN json_valid(document) THEN json_extract(document, '$.remote.reference') END = ?2) \
             ORDER BY seq DESC LIMIT ?3"
        );
        let name = name.to_owned();
        self.read(move |db| db.prepare_cached(&sql)?.query_map((db.shop(), &name, signed(limit)), stored)?.collect())
            .await
    }

    async fn stock(&self, variants: &[&str]) -> Result<Vec<Option<u64>>, PortError> {
        let variants: Vec<String> = variants.iter().map(|variant| (*variant).to_owned()).collect();
        self.read(move |db| variants.iter().map(|variant| stock::quantity(db, variant)).collect()).await
    }

    async fn kept(&self, key: &Key) -> Result<Option<Kept>, PortError> {
        let key = key.clone();
        self.read(move |db| entry::kept(db, &key)).await
    }

    async fn commit(&self, change: Change, keep: Option<(Key, Kept)>) -> Result<Committed, PortError> {
        let entry = Entry::new(change, keep).map_err(|error| {
            // The error of serde can quote the document.
            PortError::internal().because(format!("a document cannot be written as JSON ({:?})", error.classify()))
        })?;
        if entry.is_empty() {
            return Ok(Committed::Done);
        }
        if entry.created() > 0 && !self.has_room() {
            return Ok(Committed::Full(Full::Store));
        }
        let rings = entry.rings();
        match self.execute(move |db| entry.write(db)).await {
            Ok(committed) => {
                if rings && committed == Committed::Done {
                    self.bell().notify_one();
                }
                Ok(committed)
            }
            Err(WriteError::Database(error)) if is_stale(&error) => Ok(Committed::Stale),
            Err(WriteError::Database(error)) if is_damage(&error) => Err(PortError::damaged().because(error)),
            Err(error) => Err(unwritable(error)),
        }
    }
}

/// Columns of a table that [`stored`] reads.
pub(crate) fn stored_columns(table: &str) -> String {
    format!("version, document, id, {}", checksum::intact(table))
}

/// Reads [`stored_columns`].
pub(crate) fn stored<T: DeserializeOwned>(row: &Row<'_>) -> rusqlite::Result<Stored<T>> {
    let version = row.get::<_, i64>(0)?.unsigned_abs();
    let damaged = |what: String| {
        let kind = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
        let id: String = row.get(2).unwrap_or_default();
        rusqlite::Error::FromSqlConversionFailure(1, Type::Text, format!("{kind} `{id}`: {what}").into())
    };
    if !row.get::<_, bool>(3)? {
        return Err(damaged("not as it was written".to_owned()));
    }
    let text = row.get_ref(1)?.as_str()?;
    // What serde says may quote the document.
    let document = serde_json::from_str(text).map_err(|error| {
        let (kind, line, column) = (error.classify(), error.line(), error.column());
        damaged(format!("unreadable JSON ({kind:?}) at line {line}, column {column}"))
    })?;
    Ok(Stored { document, version })
}

/// Returns `true` if a commit failed because of other commits: the row of this version does not exist, the identifier
/// does, the cart has another open checkout, or a quantity would fall below zero.
fn is_stale(error: &rusqlite::Error) -> bool {
    match error {
        rusqlite::Error::StatementChangedRows(_) => true,
        rusqlite::Error::SqliteFailure(ffi::Error { extended_code, .. }, _) => {
            matches!(*extended_code, ffi::SQLITE_CONSTRAINT_UNIQUE | ffi::SQLITE_CONSTRAINT_CHECK)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
