//! The search index, which is derived from the database.
//!
//! The payload of the last commit states the database that it was made from, the last revision in it, and how documents
//! were made. An index that is missing, unreadable, incomplete, of another database, made differently or newer than the
//! database is deleted and rebuilt; one that is behind is brought up to date. Only
//! [`maintain`](Index::maintain) writes, under the index's file lock; a process that finds the lock taken follows what
//! the other one writes. The lock dies with its process.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`schema`] | the fields of the index, and the document of a product |
//! | [`text`] | conversion of texts to terms |
//! | [`numbers`] | amounts of texts, in one spelling |
//! | [`han`] | simplified and traditional Chinese characters |
//! | [`statistics`] | frozen statistics, so that scores do not shift between pages |
//! | [`documents`] | sets of products, in blocks |
//! | [`price_ranges`] | lowest and highest prices, by which most products pass a filter or fail it |
//! | [`postings`] | the products that have a term, and their scores |
//! | [`vectors`] | the vectors of products, where there is a model |
//! | [`scores`] | scores of common words, kept from one search to the next |
//! | [`synonyms`] | names that mean the same, as a file states them |
//! | [`lexicon`] | stop words, exclusions and synonyms of the languages of a market |
//! | [`vocabulary`] | the words of the shop's products: typos, compounds |
//! | [`leaves`] | the tokens of a search text, and the ways to match them |
//! | [`query`] | parsed search texts, and the scores of products |
//! | [`search`] | one page of results: filters, order, positions |

mod documents;
mod han;
mod leaves;
mod lexicon;
mod numbers;
mod postings;
mod price_ranges;
mod query;
mod schema;
mod scores;
pub(crate) mod search;
mod statistics;
mod synonyms;
mod text;
mod vectors;
mod vocabulary;

use std::{
    error::Error,
    fs, io,
    num::NonZero,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering},
        mpsc,
    },
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tantivy::{
    Directory as _, IndexReader, IndexSettings, IndexWriter, ReloadPolicy, TantivyError, Term,
    directory::{INDEX_WRITER_LOCK, MmapDirectory, error::LockError},
    index::IndexMeta,
    indexer::{IndexWriterOptions, LogMergePolicy},
};
use ucp_core::{ShopId, catalog::market::Market};
use ucp_sqlite::{ShopConnection, checksum, revision};

pub(crate) use self::search::{SearchError, Snapshot};
pub use self::synonyms::{BadSynonyms, LONGEST_SYNONYMS, Synonyms};
use self::{
    lexicon::{Lexicon, Lexicons},
    schema::Fields,
    scores::CommonWords,
    statistics::Statistics,
};
use crate::{model::Model, products};

/// Name of the index in the data directory. Shops other than the default one append their identifier, and an index with vectors
/// appends [`VECTORS`]: a process without the model leaves it alone.
const DIRECTORY: &str = "index";
const VECTORS: &str = ".vectors";

/// Number of epochs of statistics that are kept for callers who are paging.
const KEPT_EPOCHS: usize = 3;

/// Memory of each indexing thread before it writes a segment, in bytes.
const BUDGET_PER_THREAD: usize = 48 << 20;

/// Number of products from which on several threads index.
const MANY: i64 = 500;

/// Time without changes after which the statistics of a shop that has doubled are renewed.
const QUIET: Duration = Duration::from_secs(10);

/// Failure to bring the index up to date. The next attempt may succeed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum IndexError {
    /// Another process is writing the index.
    #[error("another process is writing the search index")]
    Busy,
    /// The index failed.
    #[error("the search index failed")]
    Tantivy(#[source] TantivyError),
    /// The database could not be read.
    #[error("the database could not be read for the search index")]
    Database(#[from] rusqlite::Error),
    /// The file system failed.
    #[error("the files of the search index could not be written")]
    Io(#[from] io::Error),
}

impl From<TantivyError> for IndexError {
    fn from(error: TantivyError) -> Self {
        match error {
            TantivyError::LockFailure(LockError::LockBusy, _) => Self::Busy,
            other => Self::Tantivy(other),
        }
    }
}

/// Payload of a commit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Payload {
    /// Identity of the database that it was made from.
    identity: String,
    /// [`Fields::fingerprint`] of its documents.
    fingerprint: String,
    /// Revision of the last change that is in it.
    revision: i64,
    /// Position of the last product in it.
    last: i64,
    /// Epochs of the statistics that it can be searched with, newest first.
    epochs: Vec<u64>,
}

/// An index that was opened and checked.
struct Opened {
    index: tantivy::Index,
    reader: IndexReader,
    payload: Payload,
    statistics: Vec<Arc<Statistics>>,
}

/// State that maintenance keeps from one run to the next.
#[derive(Default)]
struct Maintenance {
    opened: Option<Opened>,
    changed: Option<Instant>,
}

/// Progress of building an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Number of products that are in it.
    pub done: u64,
    /// Number of products that it will have.
    pub total: u64,
}

/// Number of products after which progress is told again.
const TOLD_EVERY: u64 = 2_000;

/// Time after which a line about progress is logged again.
const LOGGED_EVERY: Duration = Duration::from_secs(5);

/// Progress of adding products, which several threads count.
struct Telling<'a> {
    progress: Option<&'a (dyn Fn(Progress) + Send + Sync)>,
    done: AtomicU64,
    total: u64,
    logged: Mutex<Instant>,
}

impl Telling<'_> {
    fn count(&self) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        if !done.is_multiple_of(TOLD_EVERY) && done != self.total {
            return;
        }
        if let Some(progress) = self.progress {
            progress(Progress { done, total: self.total });
        }
        if let Ok(mut logged) = self.logged.try_lock()
            && logged.elapsed() >= LOGGED_EVERY
        {
            *logged = Instant::now();
            tracing::info!(products = done, of = self.total, "adding products to the search index");
        }
    }
}

/// The search index of one shop.
pub(crate) struct Index {
    directory: PathBuf,
    identity: String,
    fields: Arc<Fields>,
    current: RwLock<Option<Arc<Snapshot>>>,
    maintenance: Mutex<Maintenance>,
    revision: AtomicI64,
    distrusted: AtomicBool,
    progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>,
    common: Arc<CommonWords>,
    lexicons: Arc<Lexicons>,
    stated: Mutex<Stated>,
}

/// Synonyms that the operator of a shop has stated.
#[derive(Debug, Default)]
struct Stated {
    /// Those that were imported.
    imported: Arc<Synonyms>,
    /// Those of the configuration.
    configured: Arc<Synonyms>,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("directory", &self.directory).finish_non_exhaustive()
    }
}

impl Index {
    /// Creates the index of `shop` beside the database of `identity`. It can be searched once it was
    /// [maintained](Self::maintain).
    pub(crate) fn new(
        data_dir: &Path,
        shop: &ShopId,
        identity: &str,
        market: &Market,
        model: Option<Arc<Model>>,
    ) -> Self {
        let mut name = if *shop == ShopId::default() { DIRECTORY.to_owned() } else { format!("{DIRECTORY}-{shop}") };
        if model.is_some() {
            name.push_str(VECTORS);
        }
        let fields = Fields::new(market, model);
        Self {
            directory: data_dir.join(name),
            identity: identity.to_owned(),
            lexicons: Arc::new(Lexicons::new(Lexicon::new(fields.analysis(), &[]))),
            stated: Mutex::default(),
            fields: Arc::new(fields),
            current: RwLock::default(),
            maintenance: Mutex::default(),
            revision: AtomicI64::new(0),
            distrusted: AtomicBool::new(false),
            progress: None,
            common: Arc::default(),
        }
    }

    /// Calls `progress` while the index is being built.
    pub(crate) fn reporting(self, progress: Option<Arc<dyn Fn(Progress) + Send + Sync>>) -> Self {
        Self { progress, ..self }
    }

    /// Has searches use these synonyms of the configuration, besides those that were imported.
    pub(crate) fn configure_synonyms(&self, synonyms: Arc<Synonyms>) {
        self.state(|stated| &mut stated.configured, synonyms);
    }

    /// Has searches use these synonyms, which were imported, besides those of the configuration.
    pub(crate) fn import_synonyms(&self, synonyms: Arc<Synonyms>) {
        self.state(|stated| &mut stated.imported, synonyms);
    }

    fn state(&self, part: impl FnOnce(&mut Stated) -> &mut Arc<Synonyms>, synonyms: Arc<Synonyms>) {
        let mut stated = self.stated.lock().unwrap_or_else(PoisonError::into_inner);
        let own = part(&mut stated);
        if *own == synonyms {
            return;
        }
        *own = synonyms;
        let all = [Arc::clone(&stated.imported), Arc::clone(&stated.configured)];
        self.lexicons.replace(Lexicon::new(self.fields.analysis(), &all));
    }

    /// Returns the index as of the last maintenance, if it is usable.
    pub(crate) fn snapshot(&self) -> Option<Arc<Snapshot>> {
        self.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the revision of the last change that is known to be in the index.
    pub(crate) fn revision(&self) -> i64 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Has the next maintenance look for damage. To be called after a failed search.
    pub(crate) fn distrust(&self) {
        self.distrusted.store(true, Ordering::Relaxed);
    }

    /// Brings the index up to date with the database, or rebuilds it if that is not possible.
    pub(crate) fn maintain(&self, db: ShopConnection<'_>) -> Result<(), IndexError> {
        let mut maintenance = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        let result = self.maintain_with(&mut maintenance, db);
        if result.is_err() {
            // Whatever state this is, the next attempt starts from what is on disk.
            maintenance.opened = None;
        }
        result
    }

    fn maintain_with(&self, maintenance: &mut Maintenance, db: ShopConnection<'_>) -> Result<(), IndexError> {
        let damaged =
            self.distrusted.swap(false, Ordering::Relaxed) && maintenance.opened.as_ref().is_some_and(is_damaged);
        let kept = maintenance.opened.take().filter(|_| !damaged);
        let is_new = kept.is_none();
        let found = match kept {
            Some(opened) => Ok(opened),
            None if damaged => Err("it is damaged".to_owned()),
            None => self.open(),
        };
        // From here on, everything is read from one state of the database. It has all that was in the database when
        // the index was opened, so that an index that knows more is not from this database's past.
        let _transaction = db.unchecked_transaction()?;
        let newest = revision::newest_revision(db)?;
        let found = found.and_then(|opened| match opened.payload.revision <= newest {
            true => Ok(opened),
            false => Err("it is ahead of the database".to_owned()),
        });
        let mut opened = match found {
            Ok(opened) => opened,
            Err(reason) => {
                // Not searched any longer: it may be what is wrong.
                self.publish(None)?;
                maintenance.changed = Some(Instant::now());
                self.build(db, newest, &reason)?
            }
        };
        if is_new {
            self.publish(Some(&opened))?;
        }
        if opened.payload.revision < newest {
            opened = self.catch_up(opened, db, newest)?;
            maintenance.changed = Some(Instant::now());
        }
        // Not in the middle of an import, whose end will tell more.
        let is_quiet = is_new || maintenance.changed.is_none_or(|changed| changed.elapsed() > QUIET);
        if is_quiet && has_doubled(&opened) {
            opened = self.renew(opened)?;
        }
        self.revision.store(opened.payload.revision, Ordering::Relaxed);
        maintenance.opened = Some(opened);
        Ok(())
    }

    /// Publishes `opened` to searches.
    fn publish(&self, opened: Option<&Opened>) -> Result<(), IndexError> {
        let snapshot = opened
            .map(|opened| {
                let (before, common) = (self.snapshot(), Arc::clone(&self.common));
                let (searcher, statistics) = (opened.reader.searcher(), opened.statistics.clone());
                let lexicons = Arc::clone(&self.lexicons);
                Snapshot::new(searcher, Arc::clone(&self.fields), statistics, common, lexicons, before.as_deref())
            })
            .transpose()?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = snapshot.map(Arc::new);
        Ok(())
    }

    /// Opens the index on disk, or returns the reason why it is unusable.
    fn open(&self) -> Result<Opened, String> {
        if !self.directory.join("meta.json").exists() {
            return Err("there is none".to_owned());
        }
        let unreadable = |error: TantivyError| format!("it cannot be opened ({error})");
        let index = tantivy::Index::open_in_dir(&self.directory).map_err(unreadable)?;
        let payload = payload(&index.load_metas().map_err(unreadable)?).ok_or("it is incomplete")?;
        if payload.identity != self.identity {
            return Err("it belongs to another database".to_owned());
        }
        if payload.fingerprint != self.fields.fingerprint || index.schema() != self.fields.schema {
            return Err("it was made in another way".to_owned());
        }
        let statistics: Vec<_> = payload
            .epochs
            .iter()
            .map(|epoch| Statistics::read(&self.directory, *epoch).map(Arc::new))
            .collect::<Result<_, _>>()
            .map_err(|error| format!("its statistics cannot be read ({error})"))?;
        if statistics.is_empty() {
            return Err("it has no statistics".to_owned());
        }
        let reader = reader(&index).map_err(unreadable)?;
        Ok(Opened { index, reader, payload, statistics })
    }

    /// Builds the index from nothing.
    fn build(&self, db: ShopConnection<'_>, newest: i64, reason: &str) -> Result<Opened, IndexError> {
        fs::create_dir_all(&self.directory)?;
        let directory = MmapDirectory::open(&self.directory).map_err(TantivyError::from)?;
        let lock = match directory.acquire_lock(&INDEX_WRITER_LOCK) {
            Ok(lock) => lock,
            Err(LockError::LockBusy) => return Err(IndexError::Busy),
            Err(LockError::IoError(error)) => return Err(io::Error::new(error.kind(), error.to_string()).into()),
        };
        let start = Instant::now();
        tracing::info!(reason, "building the search index");
        clear(&self.directory)?;
        let index = tantivy::Index::create(directory, self.fields.schema.clone(), IndexSettings::default())?;
        // The writer takes the lock itself. Should another process be quicker, it builds the index in our place.
        drop(lock);
        let last = last(db)?;
        let mut writer = self.writer(&index, revision::count_since(db, 0)?)?;
        let count = self.add(&writer, db, 0, 0)?;
        writer.commit()?;

        let searcher = reader(&index)?.searcher();
        let statistics = Arc::new(Statistics::count(&searcher, &self.fields.counted())?);
        statistics.write(&self.directory)?;
        let payload = Payload {
            identity: self.identity.clone(),
            fingerprint: self.fields.fingerprint.clone(),
            revision: newest,
            last,
            epochs: vec![statistics.epoch],
        };
        commit(&mut writer, &payload)?;
        writer.wait_merging_threads()?;
        tracing::info!(products = count, elapsed = ?start.elapsed(), "built the search index");
        let reader = reader(&index)?;
        Ok(Opened { index, reader, payload, statistics: vec![statistics] })
    }

    /// Adds the products that changed since the last commit.
    fn catch_up(&self, opened: Opened, db: ShopConnection<'_>, newest: i64) -> Result<Opened, IndexError> {
        let changed = revision::count_since(db, opened.payload.revision)?;
        let Some((mut writer, mut opened)) = self.lock(opened, changed)? else {
            return Err(IndexError::Busy);
        };
        if opened.payload.revision < newest {
            let Payload { revision, last: known, .. } = opened.payload;
            let count = self.add(&writer, db, revision, known)?;
            opened.payload.revision = newest;
            opened.payload.last = last(db)?;
            commit(&mut writer, &opened.payload)?;
            tracing::debug!(products = count, revision = newest, "updated the search index");
            opened.reader.reload()?;
        }
        self.publish(Some(&opened))?;
        writer.wait_merging_threads()?;
        opened.reader.reload()?;
        self.publish(Some(&opened))?;
        Ok(opened)
    }

    /// Renews the statistics. Callers who are paging continue with the older ones.
    fn renew(&self, opened: Opened) -> Result<Opened, IndexError> {
        let Some((mut writer, mut opened)) = self.lock(opened, 0)? else {
            return Err(IndexError::Busy);
        };
        if has_doubled(&opened) {
            let statistics = Statistics::count(&opened.reader.searcher(), &self.fields.counted())?;
            statistics.write(&self.directory)?;
            opened.statistics.insert(0, Arc::new(statistics));
            opened.statistics.truncate(KEPT_EPOCHS);
            opened.payload.epochs = opened.statistics.iter().map(|statistics| statistics.epoch).collect();
            commit(&mut writer, &opened.payload)?;
            Statistics::tidy(&self.directory, &opened.payload.epochs);
            opened.reader.reload()?;
            tracing::info!(
                products = opened.reader.searcher().num_docs(),
                "renewed the statistics of the search index"
            );
        }
        self.publish(Some(&opened))?;
        writer.wait_merging_threads()?;
        Ok(opened)
    }

    /// Returns a writer of about this number of products for `opened` as it is on disk now; `None` if another process
    /// is writing.
    fn lock(&self, opened: Opened, products: i64) -> Result<Option<(IndexWriter, Opened)>, IndexError> {
        let writer = match self.writer(&opened.index, products) {
            Ok(writer) => writer,
            Err(IndexError::Busy) => {
                // The other process is doing the same work; what it has committed so far is used.
                if let Ok(theirs) = self.open() {
                    self.publish(Some(&theirs))?;
                }
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if payload(&opened.index.load_metas()?).as_ref() == Some(&opened.payload) {
            return Ok(Some((writer, opened)));
        }
        // Another process was here since. Under the lock, nothing moves any more.
        match self.open() {
            Ok(opened) => Ok(Some((writer, opened))),
            Err(reason) => {
                tracing::warn!(reason, "search index left inconsistent by another process; rebuilding it");
                Ok(None)
            }
        }
    }

    fn writer(&self, index: &tantivy::Index, products: i64) -> Result<IndexWriter, IndexError> {
        let threads = if products < MANY { 1 } else { parallelism() };
        let options = IndexWriterOptions::builder()
            .num_worker_threads(threads)
            .memory_budget_per_thread(BUDGET_PER_THREAD)
            .num_merge_threads(1)
            .build();
        let writer = index.writer_with_options(options)?;
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(4);
        policy.set_del_docs_ratio_before_merge(0.3);
        writer.set_merge_policy(Box::new(policy));
        Ok(writer)
    }

    /// Indexes the products that changed after `since`; those up to `known` in the shop's order may be
    /// in the index already.
    fn add(&self, writer: &IndexWriter, db: ShopConnection<'_>, since: i64, known: i64) -> Result<i64, IndexError> {
        // `db` is in a transaction: what is counted is what is read.
        let changed = revision::count_since(db, since)?;
        let telling = Telling {
            progress: self.progress.as_deref().filter(|_| since == 0),
            done: AtomicU64::new(0),
            total: changed.unsigned_abs(),
            logged: Mutex::new(Instant::now()),
        };
        let add = |seq: i64, document: &str, sold_out: &str| -> Result<(), IndexError> {
            if seq <= known {
                writer.delete_term(Term::from_field_u64(self.fields.seq, seq.cast_unsigned()));
            }
            match products::parse(document, Some(sold_out)) {
                _ if document == revision::REMOVED => {}
                Ok(record) => drop(writer.add_document(self.fields.document(seq, &record))?),
                Err(error) => {
                    tracing::error!(product = seq, error = &error as &dyn Error, "damaged product, left out of search");
                }
            }
            telling.count();
            Ok(())
        };
        let (sold_out, intact) = (products::SOLD_OUT, checksum::intact("products"));
        let mut statement = db.prepare(&format!(
            "SELECT seq, iif({intact}, document, ''), {sold_out} FROM products WHERE shop = ? AND revision > ? ORDER BY seq"
        ))?;
        let mut rows = statement.query((db.shop(), since))?;
        if changed < MANY {
            while let Some(row) = rows.next()? {
                let text = |column| Ok::<_, rusqlite::Error>(row.get_ref(column)?.as_str().unwrap_or_default());
                add(row.get(0)?, text(1)?, text(2)?)?;
            }
            return Ok(changed);
        }
        // Reading and stemming takes longer than indexing, and can be shared.
        std::thread::scope(|scope| {
            let (sender, receiver) = mpsc::sync_channel::<(i64, String, String)>(64);
            // Owned by the workers alone: once they have all failed, sending fails too.
            let receiver = Arc::new(Mutex::new(receiver));
            let add = &add;
            let workers: Vec<_> = (0..parallelism())
                .map(|_| {
                    let receiver = Arc::clone(&receiver);
                    scope.spawn(move || {
                        loop {
                            let next = receiver.lock().unwrap_or_else(PoisonError::into_inner).recv();
                            match next {
                                Ok((seq, document, sold_out)) => add(seq, &document, &sold_out)?,
                                Err(_) => return Ok::<_, IndexError>(()),
                            }
                        }
                    })
                })
                .collect();
            drop(receiver);
            let mut read = || -> rusqlite::Result<()> {
                while let Some(row) = rows.next()? {
                    if sender.send((row.get(0)?, row.get(1)?, row.get(2)?)).is_err() {
                        break;
                    }
                }
                Ok(())
            };
            let read = read();
            drop(sender);
            for worker in workers {
                worker.join().map_err(|_| IndexError::Io(io::Error::other("an indexing thread failed")))??;
            }
            read?;
            Ok(changed)
        })
    }

    /// Checks for damage that opening the index does not detect.
    pub(crate) fn verify(&self) {
        let maintenance = self.maintenance.lock().unwrap_or_else(PoisonError::into_inner);
        if maintenance.opened.as_ref().is_some_and(is_damaged) {
            self.distrust();
        }
    }
}

/// Returns `true` if the statistics are of a shop of less than half the size.
fn has_doubled(opened: &Opened) -> bool {
    opened.statistics.first().is_some_and(|statistics| opened.reader.searcher().num_docs() > statistics.docs * 2)
}

fn is_damaged(opened: &Opened) -> bool {
    match opened.index.validate_checksum() {
        Ok(damaged) if damaged.is_empty() => false,
        Ok(damaged) => {
            tracing::error!(files = ?damaged, "search index damaged");
            true
        }
        Err(error) => {
            tracing::error!(error = &error as &dyn std::error::Error, "reading the search index failed");
            true
        }
    }
}

fn payload(meta: &IndexMeta) -> Option<Payload> {
    serde_json::from_str(meta.payload.as_deref()?).ok()
}

fn reader(index: &tantivy::Index) -> Result<IndexReader, TantivyError> {
    index.reader_builder().reload_policy(ReloadPolicy::Manual).doc_store_cache_num_blocks(0).try_into()
}

fn commit(writer: &mut IndexWriter, payload: &Payload) -> Result<(), IndexError> {
    let text = serde_json::to_string(payload).map_err(io::Error::other)?;
    let mut commit = writer.prepare_commit()?;
    commit.set_payload(&text);
    commit.commit()?;
    Ok(())
}

/// Returns the position of the last product.
fn last(db: ShopConnection<'_>) -> rusqlite::Result<i64> {
    db.query_row("SELECT coalesce(max(seq), 0) FROM products WHERE shop = ?", [db.shop()], |row| row.get(0))
}

fn parallelism() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get).min(4)
}

/// Removes everything but the lock files: a lock on a deleted file excludes no process.
fn clear(directory: &Path) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "lock") {
            continue;
        }
        match if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) } {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(())
}
