//! The embedded shop: the [`Catalog`] of a [`Database`].
//!
//! Frequent lookups are answered from memory; everything else costs one trip to the blocking pool. A background thread
//! watches the database, also for writes of other processes, and then renews cache and index. Until it has noticed a
//! change, after a quarter of a second at most, answers show the previous state.

use std::{
    collections::HashSet,
    error::Error,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::Duration,
};

use async_trait::async_trait;
use jiff::Timestamp;
use rusqlite::Connection;
use tokio::sync::Semaphore;
use ucp_core::{
    ShopId,
    catalog::{
        market::{Market, Presentation},
        product::Product,
        record::Record,
    },
    ports::{Catalog, Match, Named, Page, PortError, Query, Target, caller::BuyerSignals},
};
use ucp_record::{self as record, Cached, Stage};
use ucp_sqlite::{
    Put, Rejected, ShopConnection, SqliteStore, StoreError, WriteError, is_damage, revision,
    watcher::{WATCH, Watcher},
};

use crate::{
    cache::{Cache, Key, ReadAt},
    database::{Database, Opening},
    index::{Index, IndexError, Progress, SearchError, Synonyms},
    model::Model,
    products::{self, Found, MAX_IDENTIFIER},
    sample::SAMPLE_PICTURES,
    synonyms,
};

/// Longest time that opening waits for another process that is building the index.
const PATIENCE: Duration = Duration::from_secs(20);

/// Maximum number of changed products that leave the cache one by one; if there are more, the cache is emptied.
const FEW: usize = 1_000;

/// Options for opening a shop.
#[derive(Clone)]
pub struct Options {
    /// Directory of the shop's files, which it can share with other shops.
    pub data_dir: PathBuf,
    /// Identifier of the shop.
    pub shop: ShopId,
    /// Approximate size of the product cache, in bytes.
    pub cache_bytes: u64,
    /// Model of which vectors are made, besides the words; `None` for words alone.
    pub model: Option<Arc<Model>>,
    /// Called while a large index is being built.
    pub progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
}

ucp_core::opaque!(Options { data_dir, shop });

impl Options {
    /// Returns the default options: the default shop, 64 MiB of cache.
    pub fn new(data_dir: impl Into<PathBuf>) -> Self {
        Self { data_dir: data_dir.into(), shop: ShopId::default(), cache_bytes: 64 << 20, model: None, progress: None }
    }
}

/// An open shop. Cloning it is cheap and yields the same shop. Errors are those of its [`Database`].
#[derive(Clone, Debug)]
pub struct EmbeddedShop {
    inner: Arc<EmbeddedShopState>,
    // Last, so that the watcher stops when the last handle goes, not when the last search does.
    watcher: Arc<Watcher>,
}

impl EmbeddedShop {
    /// Opens the shop in the data directory.
    ///
    /// Blocks until the search index is up to date, which takes time only if many changes are not in it. Fails with
    /// [`StoreError::Missing`] if there is no shop; other [`StoreError`]s if it cannot be opened. An unusable search
    /// index is no error: everything but searching works without it, and the shop keeps trying.
    pub fn open(options: &Options) -> Result<Self, StoreError> {
        Self::of(Database::of(SqliteStore::open(&options.data_dir)?.of(options.shop.clone())?)?, options)
    }

    /// Opens the shop in the data directory, or creates it with the content that `fill` returns if there is none. See
    /// [`Database::open_or_create`].
    pub fn open_or_create(options: &Options, fill: impl FnOnce() -> Opening) -> Result<Self, StoreError> {
        Self::open_in(&SqliteStore::open_or_create(&options.data_dir)?, options, fill)
    }

    /// As [`open_or_create`](Self::open_or_create), in a store of the data directory that is open already.
    pub fn open_in(store: &SqliteStore, options: &Options, fill: impl FnOnce() -> Opening) -> Result<Self, StoreError> {
        Self::of(Database::of_or_create(store.of(options.shop.clone())?, fill)?, options)
    }

    /// Opens the shop of a store for a copy of a catalog with this market, or creates it without products. See
    /// [`Database::of_market`].
    pub fn of_market(store: SqliteStore, market: &Market, options: &Options) -> Result<Self, StoreError> {
        Self::of(Database::of_market(store, market)?, options)
    }

    /// Opens the shop whose products are in `database`, in the data directory.
    pub fn of(database: Database, options: &Options) -> Result<Self, StoreError> {
        let connection = database.store().connect()?;
        let parallel = std::thread::available_parallelism().map_or(1, std::num::NonZero::get) * 2;
        let inner = Arc::new(EmbeddedShopState {
            index: Index::new(
                &options.data_dir,
                database.store().shop(),
                database.identity(),
                &database.market,
                options.model.clone(),
            )
            .reporting(options.progress.clone()),
            cache: Cache::new(options.cache_bytes),
            searches: Arc::new(Semaphore::new(parallel)),
            reads: Arc::new(Semaphore::new(parallel)),
            database: Arc::new(database),
            pictures: RwLock::default(),
            damaged: Mutex::default(),
        });
        let watcher = watch(Arc::clone(&inner), connection)?;
        Ok(Self { inner, watcher: Arc::new(watcher) })
    }

    /// Stores products, as [`Database::put`] does. When this returns, lookups and searches see them; searches a little
    /// later if another process is writing the search index at that time.
    pub async fn put(&self, records: Vec<Record>, as_of: Timestamp) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
        let outcomes = self.inner.database.put(records, as_of).await?;
        self.refresh().await;
        Ok(outcomes)
    }

    /// Has the pictures of the [sample](crate::sample) shown below the base URL `base`, such as
    /// `https://shop.example/pictures/`, where [`picture`](crate::sample::picture) is served.
    pub fn show_pictures_below(&self, base: &str) {
        *self.inner.pictures.write().unwrap_or_else(PoisonError::into_inner) = Some(base.into());
        // Cached products name the previous address.
        self.inner.cache.change(None);
    }

    /// Has searches use the synonyms of the configuration, besides those that were imported.
    pub fn use_synonyms(&self, synonyms: &Arc<Synonyms>) {
        self.inner.index.configure_synonyms(Arc::clone(synonyms));
    }

    /// Makes cache and index catch up with the database now, instead of at the next look of the watcher.
    pub async fn refresh(&self) {
        // The request fails only if the watcher has stopped; then nothing is refreshed any more.
        drop(self.watcher.request().await);
    }

    /// Compares the search index with the products, and describes the difference. Waits for no other process that is
    /// writing either of them.
    pub fn index_fault(&self) -> Result<Option<String>, StoreError> {
        let store = self.inner.database.store();
        let stored = store.snapshot(revision::count);
        let stored = stored.map_err(|source| StoreError::Open { path: store.path().to_owned(), source })?;
        Ok(match self.inner.index.snapshot() {
            None => Some("the search index cannot be used; it is made anew when a gateway is started".to_owned()),
            Some(index) if i64::try_from(index.products()) != Ok(stored) => {
                Some(format!("the search index has {} products, the database has {stored}", index.products()))
            }
            Some(_) => None,
        })
    }

    /// Returns the number of products whose last change is not in the search index yet.
    pub fn index_lag(&self) -> Result<u64, StoreError> {
        let store = self.inner.database.store();
        let lag = store.snapshot(|db| revision::count_since(db, self.inner.index.revision()));
        lag.map(i64::unsigned_abs).map_err(|source| StoreError::Open { path: store.path().to_owned(), source })
    }

    /// Returns `true` if the shop can be searched, `false` while its index is being made.
    pub fn is_searchable(&self) -> bool {
        self.inner.index.snapshot().is_some()
    }

    /// Returns the database, for work on other tables.
    pub fn database(&self) -> &Arc<Database> {
        &self.inner.database
    }
}

#[derive(Debug)]
struct EmbeddedShopState {
    database: Arc<Database>,
    cache: Cache,
    index: Index,
    /// Limit of concurrent searches.
    searches: Arc<Semaphore>,
    /// Limit of concurrent database reads other than searches.
    reads: Arc<Semaphore>,
    /// Base URL below which the pictures of the sample are served.
    pictures: RwLock<Option<Box<str>>>,
    /// Damaged products, each of which is logged once.
    damaged: Mutex<HashSet<i64>>,
}

#[async_trait]
impl Catalog for EmbeddedShop {
    fn market(&self) -> Arc<Market> {
        self.inner.database.market()
    }

    async fn find(&self, query: &Query, _: &BuyerSignals) -> Result<Page, PortError> {
        let (inner, query) = (Arc::clone(&self.inner), query.clone());
        let found = blocking(&self.inner.searches, move || inner.find(&query)).await;
        // A search that panicked may do so again.
        if matches!(found, Err(PortError::Internal { .. })) {
            self.inner.index.distrust();
        }
        found
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        _: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        let mut resolved: Vec<_> = ids.iter().map(|id| self.inner.resolve_cached(id, presentation)).collect();
        let missing: Vec<String> =
            ids.iter().zip(&resolved).filter(|(_, found)| found.is_none()).map(|(id, _)| (*id).to_owned()).collect();
        let cached = if missing.is_empty() { Cached::Hit } else { Cached::Miss };
        record::note(|facts| facts.looked_up(cached));
        if !missing.is_empty() {
            let (inner, presentation) = (Arc::clone(&self.inner), presentation.clone());
            let read = blocking(&self.inner.reads, move || inner.resolve(&missing, &presentation)).await;
            let mut read = read?.into_iter();
            for empty in resolved.iter_mut().filter(|found| found.is_none()) {
                *empty = read.next();
            }
        }
        Ok(resolved.into_iter().map(|found| Named::Found(found.unwrap_or_default())).collect())
    }
}

/// Runs `work` on the blocking pool, once `turns` has a free permit. Fails with the error of `work`;
/// [`PortError::Internal`] if it panics or the process is shutting down.
async fn blocking<T: Send + 'static>(
    turns: &Arc<Semaphore>,
    work: impl FnOnce() -> Result<T, PortError> + Send + 'static,
) -> Result<T, PortError> {
    record::during(Stage::Store, async {
        let turn = Arc::clone(turns).acquire_owned().await.map_err(|closed| PortError::internal().because(closed))?;
        let work = tokio::task::spawn_blocking(move || {
            let done = work();
            // The permit is held until the work is done, even if the caller was dropped.
            drop(turn);
            done
        });
        work.await.unwrap_or_else(|failed| Err(PortError::internal().because(failed)))
    })
    .await
}

impl EmbeddedShopState {
    /// Returns the cache key of a product in the caller's language and currency.
    fn key(&self, seq: i64, presentation: &Presentation) -> Key {
        let market = &self.database.market;
        let language = if market.language == presentation.language {
            0
        } else {
            // Languages that the market does not have are shown in its own.
            market.languages.iter().position(|language| *language == presentation.language).map_or(0, |at| at + 1)
        };
        Key { seq, language: u16::try_from(language).unwrap_or_default(), currency: presentation.currency }
    }

    /// Resolves an identifier from memory; `None` if the cache cannot answer.
    fn resolve_cached(&self, id: &str, presentation: &Presentation) -> Option<Vec<Match>> {
        if id.len() > MAX_IDENTIFIER {
            return Some(Vec::new());
        }
        let found = self.cache.name(id)?;
        found
            .iter()
            .map(|Found { seq, target }| {
                let product = self.cache.product(&self.key(*seq, presentation))?;
                // Name and product may have been read from different states of the database.
                carries(&product, *target, id).then_some(Match { product, target: *target })
            })
            .collect()
    }

    /// Resolves identifiers from one snapshot of the database.
    fn resolve(&self, ids: &[String], presentation: &Presentation) -> Result<Vec<Vec<Match>>, PortError> {
        let read_at = self.cache.now();
        let read = self.database.store().snapshot(|db| {
            ids.iter()
                .map(|id| {
                    let found = products::resolve(db, id)?;
                    self.cache.keep_name(read_at, id, &found);
                    let mut matches = Vec::with_capacity(found.len());
                    for Found { seq, target } in found {
                        if let Some(product) = self.load(db, read_at, seq, presentation)? {
                            matches.push((seq, Match { product, target }));
                        }
                    }
                    // A cached product may be of another snapshot than the names.
                    for (seq, found) in &mut matches {
                        if !carries(&found.product, found.target, id)
                            && let Some(product) = self.read(db, read_at, *seq, presentation)?
                        {
                            found.product = product;
                        }
                    }
                    matches.retain(|(_, found)| carries(&found.product, found.target, id));
                    Ok(matches.into_iter().map(|(_, found)| found).collect())
                })
                .collect()
        });
        read.map_err(unreadable)
    }

    fn find(&self, query: &Query) -> Result<Page, PortError> {
        let Some(snapshot) = self.index.snapshot() else {
            return Err(PortError::unavailable("The shop's search is being prepared.", 2));
        };
        let hits = snapshot.search(query).map_err(|error| match error {
            SearchError::Position(refusal) => refusal.into(),
            SearchError::Index(error) => {
                self.index.distrust();
                PortError::unavailable("The shop cannot be searched at the moment.", 5).because(error)
            }
        })?;
        let read_at = self.cache.now();
        let cached: Vec<_> =
            hits.seqs.iter().map(|seq| self.cache.product(&self.key(*seq, &query.presentation))).collect();
        let products = if cached.iter().all(Option::is_some) {
            cached.into_iter().flatten().collect()
        } else {
            let read = self.database.store().snapshot(|db| {
                let load = |(seq, cached): (&i64, Option<Arc<Product>>)| match cached {
                    Some(product) => Ok(Some(product)),
                    None => self.read(db, read_at, *seq, &query.presentation),
                };
                hits.seqs.iter().zip(cached).filter_map(|hit| load(hit).transpose()).collect()
            });
            read.map_err(unreadable)?
        };
        let messages = if hits.total == 0 { Vec::new() } else { hits.looseness.told() };
        Ok(Page { products, next: hits.next, total: Some(hits.total), messages })
    }

    /// Returns a product from the cache, or else from the database.
    fn load(
        &self,
        db: ShopConnection<'_>,
        read_at: ReadAt,
        seq: i64,
        presentation: &Presentation,
    ) -> rusqlite::Result<Option<Arc<Product>>> {
        match self.cache.product(&self.key(seq, presentation)) {
            Some(product) => Ok(Some(product)),
            None => self.read(db, read_at, seq, presentation),
        }
    }

    /// Reads a product from the database and caches it.
    fn read(
        &self,
        db: ShopConnection<'_>,
        read_at: ReadAt,
        seq: i64,
        presentation: &Presentation,
    ) -> rusqlite::Result<Option<Arc<Product>>> {
        let (record, length) = match products::load(db, seq) {
            Ok(Some(loaded)) => loaded,
            Ok(None) => return Ok(None),
            // The others are sold.
            Err(error) if is_damage(&error) => {
                let mut damaged = self.damaged.lock().unwrap_or_else(PoisonError::into_inner);
                if damaged.insert(seq) {
                    tracing::error!(error = &error as &dyn Error, "damaged product, off sale");
                }
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        let mut product = record.present(presentation);
        if let Some(base) = self.pictures.read().unwrap_or_else(PoisonError::into_inner).as_deref() {
            let of_variants = product.variants.iter_mut().flat_map(|variant| &mut variant.media);
            for media in product.media.iter_mut().chain(of_variants) {
                if let Some(file) = media.url.strip_prefix(SAMPLE_PICTURES) {
                    media.url = format!("{base}{file}");
                }
            }
        }
        let product = Arc::new(product);
        self.cache.keep_product(read_at, self.key(seq, presentation), &product, length);
        Ok(Some(product))
    }
}

/// Returns `true` if `id` names the part of the product that `target` selects.
fn carries(product: &Product, target: Target, id: &str) -> bool {
    match target {
        Target::Product => product.id == id,
        Target::ProductHandle => product.handle.as_deref() == Some(id),
        Target::Variant(position) => product.variants.get(position).is_some_and(|variant| variant.id == id),
        Target::VariantAlias(position) => product.variants.get(position).is_some_and(|variant| {
            variant.sku.as_deref() == Some(id)
                || variant.handle.as_deref() == Some(id)
                || variant.barcodes.iter().any(|barcode| products::is_same_barcode(&barcode.value, id))
        }),
    }
}

fn unreadable(error: rusqlite::Error) -> PortError {
    PortError::unavailable("The shop's catalog cannot be read at the moment.", 5).because(error)
}

/// Refreshes cache and index for the first time, and starts the thread that does so after every change.
fn watch(inner: Arc<EmbeddedShopState>, connection: Connection) -> Result<Watcher, StoreError> {
    let mut state = Watch {
        inner,
        connection,
        seen: None,
        revision: None,
        synonyms: String::new(),
        complaint: None,
        verified: false,
    };
    // Before the first call, and on this thread: an asynchronous caller should not wait for it elsewhere.
    state.start();
    Watcher::start("shop-watcher", move |_| state.look())
}

/// State of the background thread.
struct Watch {
    inner: Arc<EmbeddedShopState>,
    connection: Connection,
    /// SQLite's data version, which changes with every commit of another connection.
    seen: Option<i64>,
    /// Revision of the last change that the cache reflects.
    revision: Option<i64>,
    /// Text of the imported synonyms that the index uses.
    synonyms: String,
    /// Last problem of the index that was logged, so that a lasting one is logged once.
    complaint: Option<String>,
    /// `true` if the index was verified since the shop was opened.
    verified: bool,
}

impl Watch {
    /// Refreshes for the first time. If another process is building the index, waits for it up to [`PATIENCE`].
    fn start(&mut self) {
        let started = std::time::Instant::now();
        self.refresh();
        while self.inner.index.snapshot().is_none() && self.complaint.is_none() && started.elapsed() < PATIENCE {
            std::thread::sleep(WATCH);
            self.refresh();
        }
    }

    fn look(&mut self) {
        if !self.verified {
            self.verified = true;
            self.inner.index.verify();
        }
        self.refresh();
    }

    fn refresh(&mut self) {
        if let Err(error) = self.refresh_cache() {
            // It is unknown what has changed, so the whole cache goes.
            self.inner.cache.change(None);
            self.complain(&error);
            return;
        }
        match self.inner.index.maintain(self.db()) {
            Ok(()) => self.complaint = None,
            // Another process is updating the index.
            Err(IndexError::Busy) => {}
            Err(error) => self.complain(&error),
        }
    }

    fn refresh_cache(&mut self) -> rusqlite::Result<()> {
        let seen: i64 = self.connection.pragma_query_value(None, "data_version", |row| row.get(0))?;
        if self.seen == Some(seen) {
            return Ok(());
        }
        let newest = revision::newest_revision(self.db())?;
        if self.revision != Some(newest) {
            let mut changed = match self.revision {
                Some(revision) => revision::changed_since(self.db(), revision, FEW)?,
                None => None,
            };
            if let Some(changed) = &mut changed {
                changed.sort_unstable();
            }
            self.inner.cache.change(changed.as_deref());
            self.revision = Some(newest);
        }
        self.refresh_synonyms()?;
        self.seen = Some(seen);
        Ok(())
    }

    /// Has the index use the synonyms that were imported last.
    fn refresh_synonyms(&mut self) -> rusqlite::Result<()> {
        let text = synonyms::read(self.db())?;
        if text != self.synonyms {
            // Only another version of the gateway stores what this one cannot read.
            let read = Synonyms::read(&text).inspect_err(|error| {
                tracing::error!(error = error as &dyn Error, "stored synonyms are not used");
            });
            self.inner.index.import_synonyms(Arc::new(read.unwrap_or_default()));
            self.synonyms = text;
        }
        Ok(())
    }

    fn db(&self) -> ShopConnection<'_> {
        ShopConnection::new(&self.connection, self.inner.database.store().shop())
    }

    fn complain(&mut self, error: &dyn Error) {
        let mut text = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            text = format!("{text}: {cause}");
            source = cause.source();
        }
        if self.complaint.as_ref() != Some(&text) {
            tracing::error!(error = text, "refreshing the shop failed");
            self.complaint = Some(text);
        }
    }
}
