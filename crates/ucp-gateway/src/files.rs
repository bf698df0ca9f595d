//! The database files that are open, one for each data directory: shops in one directory share it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use ucp_sqlite::{Room, SqliteStore, StoreError};

use crate::config::{Data, value::Number};

/// Open database files by data directory. They stay open until the process ends.
#[derive(Debug, Default)]
pub(crate) struct Files(Mutex<BTreeMap<PathBuf, SqliteStore>>);

impl Files {
    /// Returns the file in a data directory, which is opened, or created with its directory. Blocks.
    ///
    /// # Errors
    /// [`StoreError`] if it can neither be opened nor created.
    pub(crate) fn open(&self, data: &Data) -> Result<SqliteStore, StoreError> {
        let mut files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = files.get(&*data.dir) {
            return Ok(store.clone());
        }
        let store = SqliteStore::open_or_create(&data.dir)?;
        let most = data.max_mb.map_or(u64::MAX, Number::bytes);
        store.limit(Room { most, free: data.min_free_mb.bytes() });
        files.insert(data.dir.to_path_buf(), store.clone());
        Ok(store)
    }

    /// Returns all open files, each with its data directory.
    pub(crate) fn all(&self) -> Vec<(PathBuf, SqliteStore)> {
        let files = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().map(|(path, store)| (path.clone(), store.clone())).collect()
    }
}
