//! The rules of the store port, on files.

use std::sync::Arc;

use tempfile::TempDir;
use ucp_testkit::{store::StoreUnderTest, store_suite};

use crate::{SqliteStore, WriteError, stock};

struct DataDirectory(TempDir);

impl StoreUnderTest for DataDirectory {
    type Store = SqliteStore;

    async fn create() -> Self {
        Self(tempfile::tempdir().expect("a directory"))
    }

    async fn open(&self) -> Arc<SqliteStore> {
        Arc::new(SqliteStore::open_or_create(self.0.path()).expect("opens"))
    }

    async fn count(&self, goods: &[(&str, u64)]) {
        count(&*self.open().await, goods);
    }
}

store_suite!(DataDirectory);

/// Puts a product of one variant into the store for each count.
pub(crate) fn count(store: &SqliteStore, goods: &[(&str, u64)]) {
    let put = |db: &rusqlite::Connection| {
        for (variant, quantity) in goods {
            db.execute("INSERT INTO products (id, revision, document) VALUES (?, 1, '{}')", [variant])?;
            stock::count(db, db.last_insert_rowid(), &[((*variant).to_owned(), *quantity)])?;
        }
        Ok::<(), rusqlite::Error>(())
    };
    store.transaction(|db| put(db).map_err(WriteError::from).map_err(Into::into)).expect("puts");
}
