//! The directory of merchants beside a shop: stored in the same file, searched with an index in memory.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`engine`] | the operations on merchants and locations, and the index that finds them |
//! | [`Directory`] | the merchants of a store: the index, documents, and the watch for changes |
//! | [`import`] | import of a file of merchants |
//! | [`geocode`] | coordinates of addresses, from tables or a service |
//! | [`merchants`] | the tables of merchants: all that an import needs |
//! | [`sample`] | the merchants of a sample shop |
//!
//! Index, cached documents and known addresses follow the database, whichever process changes it.

pub mod engine;
pub mod geocode;
pub mod import;
pub mod merchants;
pub mod sample;
mod watch;
mod workers;

#[cfg(test)]
mod tests;

use std::sync::{Arc, PoisonError, RwLock};

use async_trait::async_trait;
use quick_cache::{Weighter, sync::Cache};
use rusqlite::Connection;
use tokio::sync::watch::{Receiver, Sender};
use ucp_core::{
    Refusal, ShopId,
    merchant::{
        criteria::Policy,
        record::{Merchant, PostalAddress},
    },
    ports::{Holdings, PortError},
};
use ucp_sqlite::{ShopConnection, SqliteStore, StoreError, watcher::Watcher};

use self::{
    engine::{
        index::{Index, IndexBuilder},
        port::{Geocoder, Hit, LocationHit, Merchants, Page, Query, Resolved},
    },
    geocode::{KnownBuilder, KnownPlaces},
    watch::watch,
    workers::Workers,
};

/// Approximate ratio of the memory of a merchant to the length of its document.
const EXPANSION: u64 = 4;

/// Usual length of a document, in bytes.
const USUAL: u64 = 1_024;

/// An open directory. Cloning it is cheap and yields the same directory.
#[derive(Clone)]
pub struct Directory {
    inner: Arc<DirectoryState>,
    workers: Arc<Workers>,
    // Last, so that the watcher stops when the last handle goes, not when the last search does.
    watcher: Arc<Watcher>,
}
ucp_core::opaque!(Directory);

impl Directory {
    /// Opens the directory in a store, with a cache of about `cache_bytes` of merchants.
    ///
    /// Blocks until all merchants are read. Fails with [`StoreError`] if they cannot be read.
    pub fn open(store: &SqliteStore, policy: Policy, cache_bytes: u64) -> Result<Self, StoreError> {
        let connection = store.connect()?;
        let (shop, snapshot) = (store.shop().clone(), RwLock::new(Arc::new(Snapshot::empty())));
        let holdings = Sender::new(Holdings::default());
        let inner = Arc::new(DirectoryState { shop, policy, cache_bytes, snapshot, holdings });
        let watcher = watch(Arc::clone(&inner), connection)?;
        let workers = Workers::start(store)?;
        Ok(Self { inner, workers: Arc::new(workers), watcher: Arc::new(watcher) })
    }

    /// Returns what there is in the directory, as it changes.
    pub fn holdings(&self) -> Receiver<Holdings> {
        self.inner.holdings.subscribe()
    }

    /// Has the directory follow the database now, instead of at the next look of the watcher.
    pub async fn refresh(&self) {
        // A watcher that has stopped refreshes nothing any more.
        drop(self.watcher.request().await);
    }

    /// Searches on a worker thread. The documents of the hits, which will be requested next, are read on the same
    /// thread, which saves a second change of threads.
    async fn search<T: Send + 'static>(
        &self,
        query: &Query,
        find: fn(&Index, &Query) -> Result<Page<T>, Refusal>,
        merchant: fn(&T) -> &str,
    ) -> Result<Page<T>, PortError> {
        let (query, inner) = (query.clone(), Arc::clone(&self.inner));
        self.workers
            .run(move |connection| {
                let snapshot = inner.snapshot();
                let page = find(&snapshot.index, &query)?;
                let missing = |id: &&str| snapshot.remembered(id).is_none();
                let ids: Vec<_> = page.hits.iter().map(merchant).filter(missing).collect();
                if !ids.is_empty() {
                    read(connection, &inner.shop, |db| {
                        ids.iter().try_for_each(|id| snapshot.merchant(db, id).map(drop))
                    })?;
                }
                Ok(page)
            })
            .await
    }

    /// Reads from the database on a worker thread.
    async fn read<T: Send + 'static>(
        &self,
        from: impl FnOnce(&Snapshot, ShopConnection<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, PortError> {
        let inner = Arc::clone(&self.inner);
        self.workers
            .run(move |connection| {
                let snapshot = inner.snapshot();
                read(connection, &inner.shop, |db| from(&snapshot, db))
            })
            .await
    }
}

/// Reads in a transaction, so that all statements see one snapshot.
fn read<T>(
    connection: &mut Connection,
    shop: &ShopId,
    read: impl FnOnce(ShopConnection<'_>) -> rusqlite::Result<T>,
) -> Result<T, PortError> {
    let reading = || {
        let transaction = connection.transaction()?;
        let value = read(ShopConnection::new(&transaction, shop))?;
        transaction.finish()?;
        Ok(value)
    };
    reading().map_err(|error: rusqlite::Error| {
        PortError::unavailable("The directory cannot be read at the moment.", 5).because(error)
    })
}

#[async_trait]
impl Merchants for Directory {
    fn policy(&self) -> &Policy {
        &self.inner.policy
    }

    async fn find(&self, query: &Query) -> Result<Page<Hit>, PortError> {
        self.search(query, Index::find, |hit| &hit.merchant).await
    }

    async fn find_locations(&self, query: &Query) -> Result<Page<LocationHit>, PortError> {
        self.search(query, Index::find_locations, |hit| &hit.merchant).await
    }

    async fn fetch(&self, ids: &[&str]) -> Result<Vec<Option<Arc<Merchant>>>, PortError> {
        let snapshot = self.inner.snapshot();
        let remembered: Vec<_> = ids.iter().map(|id| snapshot.remembered(id)).collect();
        if remembered.iter().all(Option::is_some) {
            return Ok(remembered);
        }
        let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
        self.read(move |snapshot, db| ids.iter().map(|id| snapshot.merchant(db, id)).collect()).await
    }

    async fn fetch_by_location(&self, ids: &[&str]) -> Result<Vec<Vec<Arc<Merchant>>>, PortError> {
        let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
        self.read(move |snapshot, db| {
            ids.iter()
                .map(|location| {
                    let owners = merchants::owners(db, location)?;
                    let merchants = owners.iter().map(|id| snapshot.merchant(db, id));
                    merchants.filter_map(Result::transpose).collect()
                })
                .collect()
        })
        .await
    }
}

/// Resolves the addresses of the directory's public locations.
#[async_trait]
impl Geocoder for Directory {
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        Ok(self.inner.snapshot().known.find(address))
    }
}

struct DirectoryState {
    shop: ShopId,
    policy: Policy,
    cache_bytes: u64,
    snapshot: RwLock<Arc<Snapshot>>,
    holdings: Sender<Holdings>,
}

impl DirectoryState {
    fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the whole directory, and publishes it.
    fn load(&self, db: ShopConnection<'_>) -> rusqlite::Result<()> {
        let snapshot = Snapshot::read(db, self.cache_bytes)?;
        tracing::debug!(
            merchants = snapshot.index.merchants(),
            locations = snapshot.index.locations(),
            "directory loaded"
        );
        let holdings =
            Holdings { merchants: snapshot.index.merchants() > 0, locations: snapshot.index.locations() > 0 };
        *self.snapshot.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
        self.holdings.send_if_modified(|known| std::mem::replace(known, holdings) != holdings);
        Ok(())
    }
}

/// Data derived from one state of the directory. Documents are read on demand, and may be newer.
struct Snapshot {
    index: Index,
    known: KnownPlaces,
    documents: Cache<String, Document, Weights>,
}

/// A merchant, and the length of its document in bytes.
#[derive(Clone)]
struct Document {
    merchant: Arc<Merchant>,
    length: u64,
}

/// Weighter of documents by their approximate memory, in bytes.
#[derive(Clone)]
struct Weights;

impl Weighter<String, Document> for Weights {
    fn weight(&self, id: &String, document: &Document) -> u64 {
        id.len() as u64 + document.length * EXPANSION
    }
}

impl Snapshot {
    fn empty() -> Self {
        Self::new(IndexBuilder::default().finish(), KnownPlaces::default(), 0)
    }

    fn new(index: Index, known: KnownPlaces, cache_bytes: u64) -> Self {
        let usual = usize::try_from(cache_bytes / (USUAL * EXPANSION)).unwrap_or(usize::MAX);
        Self { index, known, documents: Cache::with_weighter(usual, cache_bytes, Weights) }
    }

    fn read(db: ShopConnection<'_>, cache_bytes: u64) -> rusqlite::Result<Self> {
        let (mut index, mut known) = (IndexBuilder::default(), KnownBuilder::default());
        merchants::for_each(db, |merchant| {
            index.add(merchant);
            known.add(merchant);
        })?;
        Ok(Self::new(index.finish(), known.finish(), cache_bytes))
    }

    fn remembered(&self, id: &str) -> Option<Arc<Merchant>> {
        self.documents.get(id).map(|document| document.merchant)
    }

    /// Returns a merchant from the cache, or reads it into the cache.
    fn merchant(&self, db: ShopConnection<'_>, id: &str) -> rusqlite::Result<Option<Arc<Merchant>>> {
        if let Some(merchant) = self.remembered(id) {
            return Ok(Some(merchant));
        }
        let Some((merchant, length)) = merchants::fetch(db, id)? else { return Ok(None) };
        let merchant = Arc::new(merchant);
        let document = Document { merchant: Arc::clone(&merchant), length: length as u64 };
        self.documents.insert(id.to_owned(), document);
        Ok(Some(merchant))
    }
}
