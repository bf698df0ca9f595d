//! The database file of a data directory.
//!
//! One SQLite file in WAL mode. One [thread writes](crate::writer), a few connections [read](Readers); any number of
//! processes may share the file. Every commit is flushed before it is reported.

use std::{
    error::Error,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior};
use tokio::sync::Notify;
use ucp_core::{catalog::cursor::CursorSecret, port::PortError};

use crate::{
    error::{StoreError, WriteError},
    header, migrations,
    writer::Writer,
};

/// Name of the database file in the data directory.
const FILE: &str = "shop.db";

/// Busy timeout: longest wait of a statement for other processes.
const BUSY: Duration = Duration::from_secs(30);

/// Pause before another attempt to open a database that another process is opening.
const RETRY: Duration = Duration::from_millis(10);

/// Number of rows removed per transaction, small so that other writes get their turn.
pub(crate) const BATCH: i64 = 200;

/// Maximum number of idle read connections that are kept open.
const KEPT_READERS: usize = 4;

/// The store of a data directory. Cloning it is cheap and yields the same store.
///
/// It opens without a shop: a gateway in front of a remote shop keeps its documents here too.
#[derive(Clone, Debug)]
pub struct SqliteStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    cursor_secret: CursorSecret,
    writer: Writer,
    readers: Readers,
    impatient_readers: Readers,
    /// Notified when this process has queued a webhook event.
    queued: Notify,
}

impl SqliteStore {
    /// Opens the store in `data_dir`.
    ///
    /// # Errors
    /// [`StoreError::Missing`] if there is none, [`StoreError::Newer`] if a newer gateway wrote it; other
    /// [`StoreError`]s if it cannot be opened.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let path = data_dir.join(FILE);
        header::check(&path)?;
        if !path.exists() {
            return Err(StoreError::Missing { path });
        }
        Self::at(path)
    }

    /// Opens the store in `data_dir`, or creates an empty one if there is none.
    ///
    /// # Errors
    /// [`StoreError`] if it can neither be opened nor created.
    pub fn open_or_create(data_dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(data_dir).map_err(|source| StoreError::Directory { path: data_dir.to_owned(), source })?;
        let path = data_dir.join(FILE);
        header::check(&path)?;
        Self::at(path)
    }

    fn at(path: PathBuf) -> Result<Self, StoreError> {
        let (connection, cursor_secret) = patiently(|| {
            let open = |source| StoreError::Open { path: path.clone(), source };
            let mut connection = connect(&path).map_err(open)?;
            migrations::migrate(&mut connection, &path)?;
            let key = cursor_secret(&connection, open)?;
            Ok((connection, key))
        })?;
        Ok(Self(Arc::new(Inner {
            cursor_secret,
            writer: Writer::start(connection)?,
            readers: Readers::new(path.clone(), BUSY),
            impatient_readers: Readers::new(path.clone(), Duration::ZERO),
            queued: Notify::new(),
            path,
        })))
    }

    /// Returns the path of the database file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// Returns the key that cursors are sealed with.
    #[must_use]
    pub fn cursor_secret(&self) -> &CursorSecret {
        &self.0.cursor_secret
    }

    /// Returns the writer thread's handle.
    #[must_use]
    pub fn writer(&self) -> &Writer {
        &self.0.writer
    }

    /// Returns the read connections.
    #[must_use]
    pub fn readers(&self) -> &Readers {
        &self.0.readers
    }

    /// Opens a separate connection, for reading.
    ///
    /// # Errors
    /// [`StoreError`] if the database cannot be opened.
    pub fn connect(&self) -> Result<Connection, StoreError> {
        self.0.readers.open().map_err(|source| StoreError::Open { path: self.0.path.clone(), source })
    }

    /// Runs `write` in its own transaction, on this thread and not through the writer: for content that has to exist
    /// before anything is served. If `write` fails, the transaction is rolled back.
    ///
    /// # Errors
    /// The error of `write`; [`StoreError`] if the database cannot be written.
    pub fn transaction<T>(&self, write: impl FnOnce(&Connection) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let open = |source| StoreError::Open { path: self.0.path.clone(), source };
        let mut connection = connect(&self.0.path).map_err(open)?;
        let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(WriteError::from)?;
        let written = write(&transaction)?;
        transaction.commit().map_err(WriteError::from)?;
        Ok(written)
    }

    /// Reads on this thread, or on another one if the database makes it wait. Each statement sees the newest state.
    ///
    /// Reads take microseconds, less than it takes to hand them to another thread, and a database in WAL mode keeps no
    /// reader waiting; should it do so once, the read moves to a thread that may wait.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl Fn(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, PortError> {
        match self.0.impatient_readers.query(&read) {
            Err(error) if is_busy(&error) => {
                let store = self.clone();
                let read = tokio::task::spawn_blocking(move || store.readers().query(read)).await;
                read.map_err(unreadable)?.map_err(unreadable)
            }
            read => read.map_err(unreadable),
        }
    }

    /// Runs a write on the writer thread. Returns once it is on disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Connection) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, PortError> {
        self.0.writer.call(job).await.map_err(unwritable)
    }

    /// Returns the notification for webhook events that this process has queued.
    pub(crate) fn bell(&self) -> &Notify {
        &self.0.queued
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn unreadable(error: impl Error + Send + Sync + 'static) -> PortError {
    PortError::unavailable("The shop's books cannot be read at the moment.", 5).because(error)
}

/// Returns the error of a call whose write failed.
pub(crate) fn unwritable(error: impl Error + Send + Sync + 'static) -> PortError {
    PortError::unavailable("The shop's books cannot be written at the moment.", 5).because(error)
}

/// Returns the key of cursors. The first process that opens the database creates it.
fn cursor_secret(
    connection: &Connection,
    open: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<CursorSecret, StoreError> {
    let stored = || connection.query_row("SELECT key FROM cursor_key", (), |row| row.get(0)).map(CursorSecret::new);
    if let Some(key) = stored().optional().map_err(&open)? {
        return Ok(key);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(StoreError::Random)?;
    connection.execute("INSERT OR IGNORE INTO cursor_key (id, key) VALUES (1, ?)", [key]).map_err(WriteError::from)?;
    stored().map_err(open)
}

/// Opens a database that another process may be opening too, with retries. SQLite waits for locks by itself, but not
/// for the one under which a new file becomes a WAL database: there it gives up at once.
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
    // Under heavy writing, a checkpoint every 4 MiB (SQLite's default) takes longer than the writes themselves.
    connection.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    // The writer touches random pages of the identifiers' index.
    connection.pragma_update(None, "cache_size", -16_384)?;
    Ok(connection)
}

/// Read connections, opened on demand.
#[derive(Debug)]
pub struct Readers {
    path: PathBuf,
    /// Busy timeout of the connections.
    patience: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Readers {
    const fn new(path: PathBuf, patience: Duration) -> Self {
        Self { path, patience, idle: Mutex::new(Vec::new()) }
    }

    /// Runs `read` in a transaction, so that it sees one snapshot.
    ///
    /// # Errors
    /// The error of `read`, or of opening a connection.
    pub fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.lend(|connection| {
            let transaction = connection.transaction()?;
            let value = read(&transaction)?;
            transaction.finish()?;
            Ok(value)
        })
    }

    /// Runs `query` outside of a transaction: each of its statements sees the newest state.
    fn query<T>(&self, query: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn version(directory: &Path) -> i64 {
        let connection = Connection::open(directory.join(FILE)).expect("a database");
        connection.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a number")
    }

    #[test]
    fn a_data_directory_of_a_newer_gateway_is_refused_with_both_versions_and_left_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        drop(SqliteStore::open_or_create(directory.path()).expect("creates"));
        let known = version(directory.path());
        let newer = Connection::open(directory.path().join(FILE)).expect("a database");
        newer.pragma_update(None, "user_version", known + 1).expect("a newer gateway writes");
        drop(newer);
        let before = fs::read(directory.path().join(FILE)).expect("reads");
        let errors = [SqliteStore::open(directory.path()), SqliteStore::open_or_create(directory.path())]
            .map(|opened| opened.expect_err("newer"));
        for error in errors {
            let StoreError::Newer { found, supported, .. } = &error else { panic!("{error}") };
            assert_eq!((*found, *supported), (known + 1, known));
            let text = error.to_string();
            assert!(
                text.contains(&format!("version {}", known + 1)) && text.contains(&format!("knows {known}")),
                "{text}"
            );
        }
        assert!(fs::read(directory.path().join(FILE)).expect("reads") == before);
    }

    #[test]
    fn the_key_of_page_positions_is_made_once() {
        let (directory, other) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
        let open = |directory: &tempfile::TempDir| SqliteStore::open_or_create(directory.path()).expect("opens");
        let secret = |path| *open(path).cursor_secret().reveal();
        assert_eq!(secret(&directory), secret(&directory));
        assert_ne!(secret(&directory), secret(&other));
    }

    #[test]
    fn a_transaction_that_fails_leaves_nothing() {
        let directory = tempfile::tempdir().expect("a directory");
        let store = SqliteStore::open_or_create(directory.path()).expect("creates");
        let insert = |db: &Connection| {
            let product = "INSERT INTO products (id, revision, document) VALUES ('p', 1, '{}')";
            db.execute(product, ()).map(drop).map_err(|error| WriteError::from(error).into())
        };
        let products = || store.readers().read(crate::revision::newest_revision).expect("reads");
        let failed = store.transaction(|db| insert(db).and(Err::<(), _>(WriteError::Panicked.into())));
        assert!(matches!(failed, Err(StoreError::Write(WriteError::Panicked))));
        assert_eq!(products(), 0);
        store.transaction(insert).expect("writes");
        assert_eq!(products(), 1);
    }
}
