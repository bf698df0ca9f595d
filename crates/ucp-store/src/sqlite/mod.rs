//! The shop's database: the truth from which everything else here is derived.
//!
//! One SQLite file in WAL mode. One [thread writes](writer), a few connections [read](Readers); any number of processes
//! may share the file. Every commit is flushed before it is reported. A shop exists once the row of table `shop` does,
//! and that row is committed together with the goods it starts with, so that there is never half a shop.

mod migrations;
pub(crate) mod products;
pub(crate) mod writer;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior};
use ucp_core::catalog::{cursor::CursorKey, market::Market, record::Record};

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
    writer: Writer,
    readers: Readers,
}

impl Database {
    /// Opens the shop in `data_dir`.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none; otherwise why it cannot be opened.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let path = data_dir.join(FILE);
        if !path.exists() {
            return Err(StoreError::Missing { path });
        }
        let connection = connect_and_migrate(&path)?;
        Self::on(connection, path)
    }

    /// Opens the shop in `data_dir`, or creates it with the market and goods of `fill` if there is none.
    ///
    /// The shop and its goods appear in one transaction: whoever is killed in the middle leaves no shop, and of two
    /// processes that try at once one creates it and the other one opens it.
    ///
    /// # Errors
    /// Why it can neither be opened nor created.
    pub fn open_or_create(data_dir: &Path, fill: impl FnOnce() -> (Market, Vec<Record>)) -> Result<Self, StoreError> {
        fs::create_dir_all(data_dir).map_err(|source| StoreError::Directory { path: data_dir.to_owned(), source })?;
        let path = data_dir.join(FILE);
        let mut connection = connect_and_migrate(&path)?;
        if !patiently(|| exists(&connection).map_err(|source| StoreError::Open { path: path.clone(), source }))? {
            let (market, records) = fill();
            create(&mut connection, &path, &market, records)?;
        }
        Self::on(connection, path)
    }

    /// The shop of an open connection, which becomes the writer's.
    fn on(connection: Connection, path: PathBuf) -> Result<Self, StoreError> {
        let row = connection
            .query_row("SELECT identity, market, cursor_key FROM shop", (), |row| {
                Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, [u8; 32]>(2)?))
            })
            .optional()
            .map_err(|source| StoreError::Open { path: path.clone(), source })?;
        let Some((identity, market, key)) = row else {
            return Err(StoreError::Missing { path });
        };
        let market = serde_json::from_str(&market).map_err(|error| StoreError::Damaged {
            path: path.clone(),
            what: format!("the market is unreadable ({error})"),
        })?;
        Ok(Self {
            identity,
            market: Arc::new(market),
            cursor_key: CursorKey::new(key),
            writer: Writer::start(connection)?,
            readers: Readers { path: path.clone(), idle: Mutex::default() },
            path,
        })
    }

    /// What the shop speaks and trades in.
    #[must_use]
    pub fn market(&self) -> Arc<Market> {
        Arc::clone(&self.market)
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

    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    pub(crate) const fn cursor_key(&self) -> &CursorKey {
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
    // The writer touches identifiers all over their index.
    connection.pragma_update(None, "cache_size", -16_384)?;
    Ok(connection)
}

fn exists(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) > 0 FROM shop", (), |row| row.get(0))
}

fn create(connection: &mut Connection, path: &Path, market: &Market, records: Vec<Record>) -> Result<(), StoreError> {
    let ids: Vec<_> = records.iter().map(|record| record.id.clone()).collect();
    let prepared = prepare(records, market);
    let mut random = [0; 48];
    getrandom::fill(&mut random).map_err(StoreError::Random)?;
    let (key, identity) = random.split_at(32);
    let identity: String = identity.iter().map(|byte| format!("{byte:02x}")).collect();
    let market = serde_json::to_string(market).map_err(|error| StoreError::Damaged {
        path: path.to_owned(),
        what: format!("the market is unwritable ({error})"),
    })?;

    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(WriteError::from)?;
    if exists(&transaction).map_err(WriteError::from)? {
        return Ok(());
    }
    transaction
        .execute("INSERT INTO shop (id, identity, market, cursor_key) VALUES (1, ?, ?, ?)", (identity, market, key))
        .map_err(WriteError::from)?;
    let outcomes = products::put(&transaction, prepared)?;
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
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    /// Runs `read` in a transaction, so that everything it sees belongs together.
    pub(crate) fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let mut connection = match idle {
            Some(connection) => connection,
            None => self.open()?,
        };
        let transaction = connection.transaction()?;
        let value = read(&transaction)?;
        transaction.finish()?;
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < KEPT_READERS {
            idle.push(connection);
        }
        Ok(value)
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let connection = Connection::open(&self.path)?;
        connection.busy_timeout(BUSY)?;
        connection.pragma_update(None, "query_only", true)?;
        Ok(connection)
    }
}
