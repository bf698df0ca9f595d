//! The rules of the store port, on files.

mod backups;

use std::sync::Arc;

use jiff::Timestamp;
use tempfile::TempDir;
use ucp_core::ShopId;
use ucp_testkit::{store::StoreUnderTest, store_suite};

use crate::{ShopConnection, SqliteStore, WriteError, stock};

struct DataDirectory(TempDir);

impl StoreUnderTest for DataDirectory {
    type Store = SqliteStore;

    async fn create() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    async fn open_shop(&self, shop: ShopId) -> Arc<SqliteStore> {
        let store = SqliteStore::open_or_create(self.0.path()).expect("opens");
        Arc::new(store.of(shop).expect("opens"))
    }

    async fn count(&self, goods: &[(&str, u64)]) {
        count(&*self.open().await, goods);
    }
}

store_suite!(DataDirectory);

/// Puts a product of one variant into the store for each count.
pub(crate) fn count(store: &SqliteStore, goods: &[(&str, u64)]) {
    let put = |db: ShopConnection<'_>| {
        for (variant, quantity) in goods {
            db.execute(
                "INSERT INTO products (shop, id, revision, document) VALUES (?, ?, 1, '{}')",
                (db.shop(), variant),
            )?;
            stock::count(
                db,
                db.last_insert_rowid(),
                &[((*variant).to_owned(), Some(*quantity))],
                Timestamp::UNIX_EPOCH,
            )?;
        }
        Ok::<(), rusqlite::Error>(())
    };
    store.transaction(|db| put(db).map_err(WriteError::from).map_err(Into::into)).expect("puts");
}
