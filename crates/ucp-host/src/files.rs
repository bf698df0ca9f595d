//! The places of storage that are open: database files, one for each data directory, and databases that gateways share.
//! Shops in one place share it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use futures_util::future::join_all;
use tokio::sync::OnceCell;
use ucp_config::{Data, Number, Settings};
use ucp_core::{
    ShopId,
    ports::{store::Store, tenants::Tenants},
};
use ucp_postgres::{OpenError, Options, PostgresStore};
use ucp_sqlite::{Room, SqliteStore, StoreError};
use uuid::Uuid;

/// Interval at which databases are told that this process serves shops from them: several times within
/// [`WATCHED`](crate::machine::WATCHED).
const BEAT: Duration = Duration::from_secs(4);

/// Maximum time for which databases are told at the end of the process.
const PATIENCE: Duration = Duration::from_secs(2);

/// Open places of storage. They stay open until the process ends.
#[derive(Debug, Default)]
pub struct Files {
    /// Name of this process in databases.
    gateway: OnceLock<Uuid>,
    /// Shops that are served from databases, each with the place of its own.
    served: Mutex<BTreeSet<(String, ShopId)>>,
    directories: Mutex<BTreeMap<PathBuf, SqliteStore>>,
    /// Databases that were asked for, each with how it is reached: shops with passwords of their own share no connections.
    databases: Mutex<Vec<(Options, Arc<OnceCell<PostgresStore>>)>>,
}

/// Place of a shop's sales.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StoragePlace {
    /// A data directory.
    Directory(PathBuf),
    /// A database, as [`Options::place`] names it.
    Database(String),
}

impl StoragePlace {
    /// Returns the place of a shop.
    pub fn of(settings: &Settings) -> Self {
        match &settings.database {
            Some(options) => Self::Database(options.place()),
            None => Self::Directory(settings.sections.data.dir.to_path_buf()),
        }
    }
}

impl fmt::Display for StoragePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::Database(place) => f.write_str(place),
        }
    }
}

impl Files {
    /// Returns the file in a data directory, which is opened, or created with its directory. Blocks. Fails with
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

    /// Returns the store of a shop that is served from a database, whose connections all shops in it share. Who waits for a
    /// database keeps nobody from another. Fails with [`OpenError`] if it cannot be opened, or a copy of the shop into it is
    /// not finished.
    pub(crate) async fn database(&self, options: &Options, shop: ShopId) -> Result<PostgresStore, OpenError> {
        let known = self.known().iter().find(|(known, _)| known == options).map(|(_, cell)| Arc::clone(cell));
        let cell = known.unwrap_or_else(|| {
            let cell = Arc::default();
            self.known().push((options.clone(), Arc::clone(&cell)));
            cell
        });
        let store = cell.get_or_try_init(|| PostgresStore::open(options, shop.clone())).await?.of(shop.clone()).await?;
        store.serve(self.gateway()).await?;
        let place = store.place().to_owned();
        self.served.lock().unwrap_or_else(PoisonError::into_inner).insert((place, shop));
        Ok(store)
    }

    /// Tells databases that no shop is served from them any more. What cannot be told is seen within
    /// [`WATCHED`](crate::machine::WATCHED).
    pub async fn leave(&self) {
        let told = self.databases().into_iter().map(async |store| drop(store.leave(self.gateway()).await));
        drop(tokio::time::timeout(PATIENCE, join_all(told)).await);
    }

    /// Returns the name of this process in databases.
    fn gateway(&self) -> Uuid {
        *self.gateway.get_or_init(Uuid::new_v4)
    }

    /// Tells databases which shops are served from them, for as long as the places of storage are open.
    pub async fn beat(files: Weak<Self>) {
        let mut failing = BTreeSet::new();
        loop {
            tokio::time::sleep(BEAT).await;
            let Some(files) = files.upgrade() else { return };
            for store in files.databases() {
                let place = store.place().to_owned();
                let served = files.served.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let shops: Vec<_> =
                    served.iter().filter(|(at, _)| *at == place).map(|(_, shop)| shop.as_str()).collect();
                match store.beat(files.gateway(), &shops).await {
                    Ok(()) => drop(failing.remove(&place)),
                    // A state is logged when it begins.
                    Err(error) => {
                        if failing.insert(place) {
                            let error: &dyn std::error::Error = &error;
                            tracing::warn!(error, "telling the database that it is in use failed");
                        }
                    }
                }
            }
        }
    }

    /// Returns `true` if a database is open.
    pub(crate) fn has(&self, options: &Options) -> bool {
        self.known().iter().any(|(known, cell)| known == options && cell.initialized())
    }

    fn known(&self) -> MutexGuard<'_, Vec<(Options, Arc<OnceCell<PostgresStore>>)>> {
        self.databases.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns all open files, each with its data directory.
    pub fn directories(&self) -> Vec<(PathBuf, SqliteStore)> {
        let files = self.directories.lock().unwrap_or_else(PoisonError::into_inner);
        files.iter().map(|(path, store)| (path.clone(), store.clone())).collect()
    }

    /// Returns all open databases.
    pub fn databases(&self) -> Vec<PostgresStore> {
        self.known().iter().filter_map(|(_, cell)| cell.get().cloned()).collect()
    }

    /// Returns a store in each open place, to learn whether that can be read.
    pub(crate) fn stores(&self) -> BTreeMap<StoragePlace, Arc<dyn Store>> {
        self.all::<Arc<dyn Store>>(|store| Arc::new(store), |store| Arc::new(store)).collect()
    }

    /// Returns all open places with the shops in them.
    pub fn tenants(&self) -> Vec<(StoragePlace, Arc<dyn Tenants>)> {
        self.all::<Arc<dyn Tenants>>(|store| Arc::new(store), |store| Arc::new(store)).collect()
    }

    /// Returns all open places, each with what `of_file` or `of_database` makes of its store.
    fn all<T>(
        &self,
        of_file: fn(SqliteStore) -> T,
        of_database: fn(PostgresStore) -> T,
    ) -> impl Iterator<Item = (StoragePlace, T)> {
        let files = self.directories().into_iter();
        let files = files.map(move |(path, store)| (StoragePlace::Directory(path), of_file(store)));
        let databases = self.databases().into_iter();
        files.chain(databases.map(move |store| (StoragePlace::Database(store.place().to_owned()), of_database(store))))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::net::TcpListener;
    use ucp_testkit::within;

    use super::*;

    #[tokio::test]
    async fn a_database_that_does_not_answer_keeps_nobody_from_what_is_open() {
        let silent = TcpListener::bind(("127.0.0.1", 0)).await.expect("an address");
        let port = silent.local_addr().expect("an address").port();
        let options: Options = format!("postgres://ucp@127.0.0.1:{port}/ucp").parse().expect("an address");
        let files = Arc::new(Files::default());
        let (waiting, asked) = (Arc::clone(&files), options.clone());
        let opening = tokio::spawn(async move { waiting.database(&asked, ShopId::default()).await.map(drop) });
        let (_connection, _) = within("a connection", ucp_testkit::PATIENCE, silent.accept()).await.expect("connects");
        let all = tokio::task::spawn_blocking(move || {
            (files.has(&options), files.databases().len(), files.stores().len(), files.tenants().len())
        });
        let all = within("the open places", Duration::from_secs(2), all).await.expect("no panic");
        assert_eq!(all, (false, 0, 0, 0));
        assert!(!opening.is_finished());
        opening.abort();
    }
}
