//! The shop's database: the truth from which everything else here is derived.
//!
//! One SQLite file in WAL mode. One [thread writes](writer), a few connections [read](Readers); any number of processes
//! may share the file. Every commit is flushed before it is reported. A shop exists once the row of table `shop` does,
//! and that row is committed together with the goods it starts with, so that there is never half a shop.

mod header;
pub(crate) mod merchants;
mod migrations;
pub(crate) mod notices;
pub(crate) mod products;
pub(crate) mod revision;
pub(crate) mod stock;
pub(crate) mod writer;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior};
use serde::{Serialize, de::DeserializeOwned};
use tokio::sync::Notify;
use ucp_core::{
    catalog::{cursor::CursorKey, market::Market, record::Record},
    merchant::record::Merchant,
    purchase::terms::Terms,
};

use self::{products::Prepared, writer::Writer};
use crate::error::{Put, Rejected, StoreError, WriteError};

/// The name of the database file in the data directory.
pub(crate) const FILE: &str = "shop.db";

/// How long a statement waits for other processes.
const BUSY: Duration = Duration::from_secs(30);

/// How long to wait before trying again to open what somebody else is opening.
const RETRY: Duration = Duration::from_millis(10);

/// How many connections are kept open for readers.
const KEPT_READERS: usize = 4;

/// The database of one shop.
///
/// This is what an import needs: it reads and writes, but answers no catalog calls and keeps no index. A running
/// [`Shop`](crate::Shop) on the same directory, in any process, notices what is written here by itself.
#[derive(Debug)]
pub struct Database {
    path: PathBuf,
    identity: String,
    pub(crate) market: Arc<Market>,
    cursor_key: CursorKey,
    terms: Arc<Terms>,
    writer: Writer,
    readers: Readers,
    impatient_readers: Readers,
    /// Rung when this process has queued a notice.
    queued: Notify,
}

/// What a new shop starts with.
#[derive(Clone, Debug)]
pub struct Opening {
    /// What it speaks and trades in.
    pub market: Market,
    /// On what terms it sells.
    pub terms: Terms,
    /// Its goods.
    pub records: Vec<Record>,
    /// The merchants in the directory beside it.
    pub merchants: Vec<Merchant>,
}

impl Opening {
    /// A shop without goods, on the terms that hold where nothing is said.
    #[must_use]
    pub fn of(market: Market) -> Self {
        Self { market, terms: Terms::default(), records: Vec::new(), merchants: Vec::new() }
    }
}

impl Database {
    /// Opens the shop in `data_dir`.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none; otherwise why it cannot be opened.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let path = data_dir.join(FILE);
        header::check(&path)?;
        if !path.exists() {
            return Err(StoreError::Missing { path });
        }
        let connection = connect_and_migrate(&path)?;
        Self::on(connection, path)
    }

    /// Opens the shop in `data_dir`, or creates it with what `fill` says if there is none.
    ///
    /// The shop and its goods appear in one transaction: whoever is killed in the middle leaves no shop, and of two
    /// processes that try at once one creates it and the other one opens it.
    ///
    /// # Errors
    /// Why it can neither be opened nor created.
    pub fn open_or_create(data_dir: &Path, fill: impl FnOnce() -> Opening) -> Result<Self, StoreError> {
        fs::create_dir_all(data_dir).map_err(|source| StoreError::Directory { path: data_dir.to_owned(), source })?;
        let path = data_dir.join(FILE);
        header::check(&path)?;
        let mut connection = connect_and_migrate(&path)?;
        if !patiently(|| exists(&connection).map_err(|source| StoreError::Open { path: path.clone(), source }))? {
            create(&mut connection, &path, fill())?;
        }
        Self::on(connection, path)
    }

    /// The shop of an open connection, which becomes the writer's.
    fn on(connection: Connection, path: PathBuf) -> Result<Self, StoreError> {
        let row = connection
            .query_row("SELECT identity, market, cursor_key, terms FROM shop", (), |row| {
                Ok((
                    row.get::<_, String>(0)?,
                    row.get::<_, String>(1)?,
                    row.get::<_, [u8; 32]>(2)?,
                    row.get::<_, String>(3)?,
                ))
            })
            .optional()
            .map_err(|source| StoreError::Open { path: path.clone(), source })?;
        let Some((identity, market, key, terms)) = row else {
            return Err(StoreError::Missing { path });
        };
        let market = readable(&path, "market", &market)?;
        let terms = readable(&path, "terms", &terms)?;
        Ok(Self {
            identity,
            market: Arc::new(market),
            cursor_key: CursorKey::new(key),
            terms: Arc::new(terms),
            writer: Writer::start(connection)?,
            readers: Readers::new(path.clone(), BUSY),
            impatient_readers: Readers::new(path.clone(), Duration::ZERO),
            queued: Notify::new(),
            path,
        })
    }

    /// What the shop speaks and trades in.
    #[must_use]
    pub fn market(&self) -> Arc<Market> {
        Arc::clone(&self.market)
    }

    /// On what terms the shop sells, as they were when it was opened.
    #[must_use]
    pub fn terms(&self) -> Arc<Terms> {
        Arc::clone(&self.terms)
    }

    /// Sells on other terms, from the next time the shop is opened on. For callers outside an async runtime; whether the
    /// terms make sense is for [`Terms::check`] to say before.
    ///
    /// # Errors
    /// Nothing was stored, because the database failed.
    pub fn set_terms_blocking(&self, terms: &Terms) -> Result<(), StoreError> {
        let text = writable(&self.path, "terms", terms)?;
        let set = move |db: &Connection| db.execute("UPDATE shop SET terms = ?", [text]).map(drop);
        Ok(self.writer.call_blocking(move |db| Ok(set(db)?))?)
    }

    /// Stores products: one transaction for all of them. The outcomes are in the order of `records`.
    ///
    /// A product whose id the shop knows is updated in place. A product that cannot be stored is rejected as a whole and
    /// does not affect the others.
    ///
    /// # Errors
    /// Nothing was stored, because the database failed.
    pub async fn put(&self, records: Vec<Record>) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
        let market = self.market();
        // Checking and serialising keeps a thread busy.
        let prepared = tokio::task::spawn_blocking(move || prepare(records, &market)).await;
        let prepared = prepared.map_err(|_| WriteError::Panicked)?;
        self.writer.call(move |db| products::put(db, prepared)).await
    }

    /// The same for callers outside an async runtime.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn put_blocking(&self, records: Vec<Record>) -> Result<Vec<Result<Put, Rejected>>, WriteError> {
        let prepared = prepare(records, &self.market);
        self.writer.call_blocking(move |db| products::put(db, prepared))
    }

    /// The thread that writes, for work on other tables.
    #[must_use]
    pub const fn writer(&self) -> &Writer {
        &self.writer
    }

    /// Rings when this process has queued a notice.
    pub(crate) const fn queued(&self) -> &Notify {
        &self.queued
    }

    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Those who rather fail with [`ErrorCode::DatabaseBusy`] than wait.
    pub(crate) const fn impatient_readers(&self) -> &Readers {
        &self.impatient_readers
    }

    /// The key under which page positions are sealed.
    #[must_use]
    pub const fn cursor_key(&self) -> &CursorKey {
        &self.cursor_key
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    /// A connection of one's own, for reading.
    pub(crate) fn connect(&self) -> Result<Connection, StoreError> {
        self.readers.open().map_err(|source| StoreError::Open { path: self.path.clone(), source })
    }
}

/// Reads a column of table `shop`.
fn readable<T: DeserializeOwned>(path: &Path, what: &str, text: &str) -> Result<T, StoreError> {
    serde_json::from_str(text).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        what: format!("the shop's {what} in it cannot be read ({error})"),
    })
}

fn writable<T: Serialize>(path: &Path, what: &str, value: &T) -> Result<String, StoreError> {
    serde_json::to_string(value).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        what: format!("the shop's {what} cannot be written ({error})"),
    })
}

fn prepare(records: Vec<Record>, market: &Market) -> Vec<Result<Prepared, Rejected>> {
    records.into_iter().map(|record| Prepared::new(record, market)).collect()
}

fn connect_and_migrate(path: &Path) -> Result<Connection, StoreError> {
    patiently(|| {
        let mut connection = connect(path).map_err(|source| StoreError::Open { path: path.to_owned(), source })?;
        migrations::migrate(&mut connection, path)?;
        Ok(connection)
    })
}

/// Opens a database that another process may be opening too. SQLite waits for locks by itself, but not for the one under
/// which a new file becomes a WAL database: there it gives up at once.
fn patiently<T>(open: impl Fn() -> Result<T, StoreError>) -> Result<T, StoreError> {
    let started = Instant::now();
    loop {
        match open() {
            Err(StoreError::Open { source, .. })
                if source.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) && started.elapsed() < BUSY =>
            {
                std::thread::sleep(RETRY);
            }
            opened => return opened,
        }
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // In the times when much is written, copying it into the database every four mebibytes takes longer than writing it.
    connection.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    // The writer touches identifiers all over their index.
    connection.pragma_update(None, "cache_size", -16_384)?;
    Ok(connection)
}

fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) > 0 FROM shop", (), |row| row.get(0))
}

fn create(connection: &mut Connection, path: &Path, opening: Opening) -> Result<(), StoreError> {
    let Opening { market, terms, records, merchants } = opening;
    let ids: Vec<_> = records.iter().map(|record| record.id.clone()).collect();
    let prepared = prepare(records, &market);
    let mut random = [0; 48];
    getrandom::fill(&mut random).map_err(StoreError::Random)?;
    let (key, identity) = random.split_at(32);
    let identity: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    let row = (identity, writable(path, "market", &market)?, key, writable(path, "terms", &terms)?);

    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(WriteError::from)?;
    if exists(&transaction).map_err(WriteError::from)? {
        return Ok(());
    }
    transaction
        .execute("INSERT INTO shop (id, identity, market, cursor_key, terms) VALUES (1, ?, ?, ?, ?)", row)
        .map_err(WriteError::from)?;
    let outcomes = products::put(&transaction, prepared)?;
    if let Some((id, Err(rejected))) = ids.into_iter().zip(outcomes).find(|(_, outcome)| outcome.is_err()) {
        return Err(StoreError::Unfit { id, reason: rejected.reason });
    }
    let ids: Vec<_> = merchants.iter().map(|merchant| merchant.id.clone()).collect();
    let outcomes = merchants::put_merchants(&transaction, merchants)?;
    if let Some((id, Err(rejected))) = ids.into_iter().zip(outcomes).find(|(_, outcome)| outcome.is_err()) {
        return Err(StoreError::Unfit { id, reason: rejected.reason });
    }
    transaction.commit().map_err(WriteError::from)?;
    Ok(())
}

/// Connections that read, opened as they are needed.
#[derive(Debug)]
pub(crate) struct Readers {
    path: PathBuf,
    /// How long they wait for others.
    patience: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    const fn new(path: PathBuf, patience: Duration) -> Self {
        Self { path, patience, idle: Mutex::new(Vec::new()) }
    }

    /// Runs `read` in a transaction, so that everything it sees belongs together.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.lend(|connection| {
            let transaction = connection.transaction()?;
            let value = read(&transaction)?;
            transaction.finish()?;
            Ok(value)
        })
    }

    /// Runs `query` outside of a transaction: each of its statements sees the newest state.
    pub(crate) fn query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.lend(|connection| query(connection))
    }

    fn lend<T>(&self, borrow: impl FnOnce(&mut Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.open()?,
        };
        let value = borrow(&mut connection)?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT_READERS {
            idle.push(connection);
        }
        Ok(value)
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(self.patience)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cache_size", -8_192)?;
        Ok(connection)
    }
}
