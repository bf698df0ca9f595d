//! The shops in a file: which of them have something to do, or to remove.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::Connection;
use ucp_core::{
    ShopId,
    ports::{PortError, buyers::Retention, store::Store, tenants::Tenants},
};

use crate::{error::StoreError, rows::nanoseconds, store::SqliteStore};

/// Shops with tasks that are due.
const AT_WORK: &str = "SELECT DISTINCT shop FROM tasks WHERE given_up = 0 AND due <= ?1";

/// Tables with rows that expire.
const EXPIRING: [&str; 6] = ["kept", "carts", "checkouts", "outbox", "owners", "takings"];

impl SqliteStore {
    /// Returns the shops that have been opened in the file. Fails with [`StoreError`] if the database cannot be read.
    pub fn shops(&self) -> Result<Vec<ShopId>, StoreError> {
        let read = self.snapshot(|db| {
            let mut statement = db.prepare_cached("SELECT shop FROM cursor_key ORDER BY shop")?;
            statement.query_map((), |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
        });
        let read = read.map_err(|source| StoreError::Open { path: self.path().to_owned(), source })?;
        Ok(read.iter().filter_map(|shop| shop.parse().ok()).collect())
    }
}

#[async_trait]
impl Tenants for SqliteStore {
    async fn shops_at_work(&self, now: Timestamp) -> Result<Vec<ShopId>, PortError> {
        let now = nanoseconds(now);
        let read = self.read(move |db| {
            let mut statement = db.prepare_cached(AT_WORK)?;
            statement.query_map([now], |row| row.get::<_, String>(0))?.collect::<rusqlite::Result<Vec<_>>>()
        });
        Ok(read.await?.iter().filter_map(|shop| shop.parse().ok()).collect())
    }

    async fn shops_with_rows(&self) -> Result<Vec<ShopId>, PortError> {
        let read = self.read(|db| {
            let mut shops = Vec::new();
            for table in EXPIRING {
                shops.extend(shops_in(&db, table)?);
            }
            shops.sort_unstable();
            shops.dedup();
            Ok(shops)
        });
        Ok(read.await?.iter().filter_map(|shop| shop.parse().ok()).collect())
    }

    async fn store_of(&self, shop: ShopId, retention: Retention) -> Result<Arc<dyn Store>, PortError> {
        let store = self.of(shop).map_err(|error| {
            PortError::unavailable("The shop's books cannot be read at the moment.", 5).because(error)
        })?;
        store.retain(retention);
        Ok(Arc::new(store))
    }
}

/// Returns the shops with rows in a table, of which an index begins with the shop: one look-up for each of them.
fn shops_in(db: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let mut statement = db.prepare_cached(&format!("SELECT min(shop) FROM {table} WHERE shop > ?"))?;
    let mut shops: Vec<String> = Vec::new();
    while let Some(next) = statement.query_row([shops.last().map_or("", String::as_str)], |row| row.get(0))? {
        shops.push(next);
    }
    Ok(shops)
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    #[tokio::test]
    async fn shops_with_something_to_do_and_to_remove_are_told_from_the_others() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = SqliteStore::open_or_create(directory.path()).expect("creates");
        assert!(store.shops_at_work(Timestamp::MAX).await.expect("reads").is_empty());
        assert!(store.shops_with_rows().await.expect("reads").is_empty());
        let db = Connection::open(store.path()).expect("opens");
        db.execute_batch(
            "INSERT INTO tasks (shop, kind, key, lane, due, body, since)
             VALUES ('one', 'abandon', 'r', 'abandon', -1, '{}', 1), ('four', 'abandon', 's', 'abandon', 1, '{}', 1);
             INSERT INTO owners (shop, kind, id, owner, release, at)
             VALUES ('two', 'cart', 'c', 'o', '2026-04-08', 1), ('three', 'cart', 'c', 'o', '2026-04-08', 1);",
        )
        .expect("writes");
        let names = |shops: Vec<ShopId>| shops.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(store.shops_at_work(Timestamp::UNIX_EPOCH).await.expect("reads")), ["one"]);
        assert_eq!(names(store.shops_with_rows().await.expect("reads")), ["three", "two"]);
    }
}
