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
use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, ffi, params_from_iter, types::Type};
use serde::de::DeserializeOwned;
use ucp_core::{
    cart::Cart,
    checkout::Checkout,
    order::Order,
    port::PortError,
    purchase::{
        ledger::{Change, Committed, Full, Kept, Key, Ledger, Stored},
        remote_cart_ref::RemoteCartRef,
    },
};

use self::entry::Entry;
use crate::{
    error::WriteError,
    stock,
    store::{SqliteStore, is_damage, unwritable},
    time::nanoseconds,
};

impl SqliteStore {
    /// Reads a document with its version. The first parameter of `sql` is the shop.
    pub(crate) async fn document<T: DeserializeOwned + Send + 'static, const N: usize>(
        &self,
        sql: &'static str,
        parameters: [&str; N],
    ) -> Result<Option<Stored<T>>, PortError> {
        let parameters = parameters.map(str::to_owned);
        self.read(move |db| {
            let parameters = std::iter::once(db.shop()).chain(parameters.iter().map(String::as_str));
            db.prepare_cached(sql)?.query_row(params_from_iter(parameters), stored).optional()
        })
        .await
    }
}

#[async_trait]
impl Ledger for SqliteStore {
    async fn cart(&self, owner: &str, id: &str) -> Result<Option<Stored<Cart>>, PortError> {
        let sql = "SELECT version, document, id FROM carts WHERE shop = ? AND id = ? AND owner = ?";
        self.document(sql, [id, owner]).await
    }

    async fn checkout(&self, owner: &str, id: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        let sql = "SELECT version, document, id FROM checkouts WHERE shop = ? AND id = ? AND owner = ?";
        self.document(sql, [id, owner]).await
    }

    async fn checkout_of_cart(&self, owner: &str, cart: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        let sql = "SELECT version, document, id FROM checkouts WHERE shop = ? AND cart_id = ? AND owner = ? ORDER BY seq DESC LIMIT 1";
        self.document(sql, [cart, owner]).await
    }

    async fn order(&self, owner: &str, id: &str) -> Result<Option<Stored<Order>>, PortError> {
        let sql = "SELECT version, document, id FROM orders WHERE shop = ? AND id = ? AND owner = ?";
        self.document(sql, [id, owner]).await
    }

    async fn cart_by_token(&self, token: &str) -> Result<Option<Stored<Cart>>, PortError> {
        self.document("SELECT version, document, id FROM carts WHERE shop = ? AND token = ?", [token]).await
    }

    async fn checkout_by_token(&self, token: &str) -> Result<Option<Stored<Checkout>>, PortError> {
        self.document("SELECT version, document, id FROM checkouts WHERE shop = ? AND token = ?", [token]).await
    }

    async fn order_by_token(&self, token: &str) -> Result<Option<Stored<Order>>, PortError> {
        self.document("SELECT version, document, id FROM orders WHERE shop = ? AND token = ?", [token]).await
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
        let tells = entry.tells();
        match self.execute(move |db| entry.write(db)).await {
            Ok(committed) => {
                if tells && committed == Committed::Done {
                    self.bell().notify_one();
                }
                Ok(committed)
            }
            Err(WriteError::Database(error)) if is_stale(&error) => Ok(Committed::Stale),
            Err(error) => Err(unwritable(error)),
        }
    }

    async fn note_remote_cart(&self, cart: &RemoteCartRef, at: Timestamp) -> Result<(), PortError> {
        let document = serde_json::to_string(cart).map_err(unwritable)?;
        let (reference, at) = (cart.reference.clone(), nanoseconds(at));
        self.write(move |db| {
            db.prepare_cached(
                "INSERT OR REPLACE INTO remote_carts (shop, reference, document, at) VALUES (?, ?, ?, ?)",
            )?
            .execute((db.shop(), &reference, &document, at))?;
            Ok(())
        })
        .await
    }

    async fn orphaned_remote_carts(&self, before: Timestamp, limit: usize) -> Result<Vec<RemoteCartRef>, PortError> {
        let sql = "SELECT 0, document, reference FROM remote_carts WHERE shop = ? AND at < ? ORDER BY at LIMIT ?";
        let (before, limit) = (nanoseconds(before), i64::try_from(limit).unwrap_or(i64::MAX));
        let noted: Vec<Stored<RemoteCartRef>> = self
            .read(move |db| readable(db.prepare_cached(sql)?.query_map((db.shop(), before, limit), stored)?))
            .await?;
        Ok(noted.into_iter().map(|stored| stored.document).collect())
    }

    async fn forget_remote_cart(&self, cart: &RemoteCartRef) -> Result<(), PortError> {
        let reference = cart.reference.clone();
        self.write(move |db| Ok(entry::unnote_remote_cart(db, &reference)?)).await
    }

    async fn unsettled(&self, before: Timestamp, limit: usize) -> Result<Vec<Stored<Checkout>>, PortError> {
        let sql = "SELECT version, document, id FROM checkouts WHERE shop = ? AND attempted_at < ? ORDER BY attempted_at LIMIT ?";
        let (before, limit) = (nanoseconds(before), i64::try_from(limit).unwrap_or(i64::MAX));
        self.read(move |db| readable(db.prepare_cached(sql)?.query_map((db.shop(), before, limit), stored)?)).await
    }
}

/// Reads rows up to the first error of the database. Damaged rows are logged and left out, so that they keep nobody from
/// the others.
fn readable<T>(rows: impl Iterator<Item = rusqlite::Result<T>>) -> rusqlite::Result<Vec<T>> {
    rows.filter(|row| match row {
        Err(error) if is_damage(error) => {
            tracing::error!(%error, "a row of the database is damaged and passed over");
            false
        }
        _ => true,
    })
    .collect()
}

/// Reads `version, document, id`.
pub(crate) fn stored<T: DeserializeOwned>(row: &Row<'_>) -> rusqlite::Result<Stored<T>> {
    let version = row.get::<_, i64>(0)?.unsigned_abs();
    let text = row.get_ref(1)?.as_str()?;
    // What serde says may quote the document.
    let document = serde_json::from_str(text).map_err(|error| {
        let kind = std::any::type_name::<T>().rsplit("::").next().unwrap_or_default();
        let id: String = row.get(2).unwrap_or_default();
        let place = format!(
            "{kind} `{id}`: unreadable JSON ({:?}) at line {}, column {}",
            error.classify(),
            error.line(),
            error.column()
        );
        rusqlite::Error::FromSqlConversionFailure(1, Type::Text, place.into())
    })?;
    Ok(Stored { document, version })
}

/// Returns `true` if a commit failed because of other commits: the row of this version does not exist, the identifier
/// does, or a quantity would fall below zero.
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
