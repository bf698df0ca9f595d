//! The places of storage that are open: database files, one for each data directory, and databases that gateways share.
//! Shops in one place share it.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use ucp_core::{
    ShopId,
    port::{store::Store, tenants::Tenants},
};
use ucp_postgres::{OpenError, Options, PostgresStore};
use ucp_sqlite::{Room, SqliteStore, StoreError};

use crate::config::{Data, Settings, value::Number};

/// Open places of storage. They stay open until the process ends.
#[derive(Debug, Default)]
pub(crate) struct Files {
    directories: Mutex<BTreeMap<PathBuf, SqliteStore>>,
    databases: tokio::sync::Mutex<BTreeMap<String, PostgresStore>>,
}

/// Where a shop has its sales.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Place {
    /// A data directory.
    Directory(PathBuf),
    /// A database, as [`Options::place`] names it.
    Database(String),
}

impl Place {
    /// Returns the place of a shop.
    pub(crate) fn of(settings: &Settings) -> Self {
        match &settings.database {
            Some(options) => Self::Database(options.place()),
            None => Self::Directory(settings.sections.data.dir.to_path_buf()),
        }
    }
}

impl Files {
    /// Returns the file in a data directory, which is opened, or created with its directory. Blocks.
    ///
    /// # Errors
    /// [`StoreError`] if it can neither be opened nor created.
    pub(crate) fn open(&self, data: &Data) -> Result<SqliteStore, StoreError> {
        let mut files = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(store) = files.get(&*data.dir) {
            return Ok(store.clone());
        }
        let store = SqliteStore::open_or_create(&data.dir)?;
        let most = data.max_mb.map_or(u64::MAX, Number::bytes);
        store.limit(Room { most, free: data.min_free_mb.bytes() });
        files.insert(data.dir.to_path_buf(), store.clone());
        Ok(store)
    }

    /// Returns the store of a shop in a database, whose connections all shops in it share.
    ///
    /// # Errors
    /// [`OpenError`] if it cannot be opened.
    pub(crate) async fn database(&self, options: &Options, shop: ShopId) -> Result<PostgresStore, OpenError> {
        let mut databases = self.databases.lock().await;
        if let Some(store) = databases.get(&options.place()) {
            return store.of(shop).await;
        }
        let store = PostgresStore::open(options, shop).await?;
        databases.insert(options.place(), store.clone());
        Ok(store)
    }

    /// Returns all open files, each with its data directory.
    pub(crate) fn directories(&self) -> Vec<(PathBuf, SqliteStore)> {
        let files = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().map(|(path, store)| (path.clone(), store.clone())).collect()
    }

    /// Returns all open databases.
    pub(crate) async fn databases(&self) -> Vec<PostgresStore> {
        self.databases.lock().await.values().cloned().collect()
    }

    /// Returns a store in each open place of storage, to learn whether that can be read.
    pub(crate) async fn stores(&self) -> Vec<Arc<dyn Store>> {
        let files = self.directories().into_iter().map(|(_, store)| Arc::new(store) as Arc<dyn Store>);
        files.chain(self.databases().await.into_iter().map(|store| Arc::new(store) as Arc<dyn Store>)).collect()
    }

    /// Returns all open places of storage.
    pub(crate) async fn all(&self) -> Vec<(Place, Arc<dyn Tenants>)> {
        let files = self.directories().into_iter();
        let files = files.map(|(path, store)| (Place::Directory(path), Arc::new(store) as Arc<dyn Tenants>));
        let databases = self.databases().await.into_iter();
        let databases =
            databases.map(|store| (Place::Database(store.place().to_owned()), Arc::new(store) as Arc<dyn Tenants>));
        files.chain(databases).collect()
    }
}
