//! The database file of a data directory.
//!
//! One SQLite file in WAL mode. One [thread writes](crate::writer), a few connections [read](Readers); any number of
//! processes may share the file. Every commit is flushed before it is reported. The file can hold several shops, each
//! of which sees its own rows only.

use std::{
    error::Error,
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::{Duration, Instant},
};

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, TransactionBehavior, config::DbConfig, ffi};
use tokio::sync::Notify;
use ucp_core::{
    ShopId,
    catalog::cursor::CursorSecret,
    ports::{PortError, buyers::Retention},
};
use ucp_record::{self as record, Stage};

use crate::{
    backup, checksum,
    connection::ShopConnection,
    error::{BackupError, StoreError, WriteError},
    header, log, migrations,
    place::FilePlace,
    witness::{self, Witness},
    writer::{Activity, Writer},
};

/// Name of the database file in the data directory.
pub(crate) const FILE: &str = "shop.db";

/// Busy timeout: longest wait of a statement for other processes.
const BUSY: Duration = Duration::from_secs(30);

/// Pause before another attempt to open a database that another process is opening.
const RETRY: Duration = Duration::from_millis(10);

/// Number of rows removed per transaction, small so that other writes get their turn.
pub(crate) const BATCH: i64 = 200;

/// Maximum number of idle read connections that are kept open.
const KEPT_READERS: usize = 4;

/// The store of a shop in a data directory. Cloning it is cheap and yields the same store.
///
/// It opens without products: a gateway in front of a remote shop keeps its documents here too.
#[derive(Clone, Debug)]
pub struct SqliteStore(Arc<StoreState>);

#[derive(Debug)]
struct StoreState {
    file: Arc<File>,
    shop: ShopId,
    cursor_secret: CursorSecret,
    /// Notified when this process has planned or woken a task of the shop.
    planned: Notify,
    retention: OnceLock<Retention>,
}

/// An open database file, which the shops in it share.
#[derive(Debug)]
struct File {
    path: PathBuf,
    place: FilePlace,
    witness: Arc<Witness>,
    writer: Writer,
    readers: Readers,
    impatient_readers: Readers,
    room: OnceLock<Room>,
}

/// Room that new carts and checkouts have on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Maximum size of the database file, in bytes.
    pub most: u64,
    /// Minimum space that stays free in the file system, in bytes.
    pub free: u64,
}

impl SqliteStore {
    /// Opens the store in `data_dir`, for the shop [`ShopId::default`]. Fails with [`StoreError::Missing`] if there is
    /// none, [`StoreError::Newer`] if a newer gateway wrote it; other [`StoreError`]s if it cannot be opened.
    pub fn open(data_dir: &Path) -> Result<Self, StoreError> {
        let path = data_dir.join(FILE);
        header::check(&path)?;
        if !path.exists() {
            return Err(StoreError::Missing { path });
        }
        Self::at(path)
    }

    /// Opens the store in `data_dir`, or creates an empty one if there is none, for the shop [`ShopId::default`]. Fails
    /// with [`StoreError`] if it can neither be opened nor created.
    pub fn open_or_create(data_dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(data_dir).map_err(|source| StoreError::Directory { path: data_dir.to_owned(), source })?;
        let path = data_dir.join(FILE);
        header::check(&path)?;
        Self::at(path)
    }

    fn at(path: PathBuf) -> Result<Self, StoreError> {
        let shop = ShopId::default();
        for part in path.parent().into_iter().chain([&*path]) {
            keep_for_owner(part);
        }
        log::check(&path)?;
        let (connection, cursor_secret) = patiently(|| {
            let open = |source| StoreError::Open { path: path.clone(), source };
            let mut connection = connect(&path).map_err(open)?;
            // What is in the log is worth keeping until nothing is missing.
            let keeps_log = |keeps| connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, keeps);
            keeps_log(true).map_err(open)?;
            witness::check(&connection, &path)?;
            keeps_log(false).map_err(open)?;
            let outdated = migrations::outdated(&connection, &path)?;
            let copy = outdated.map(|version| backup::before_migration(&connection, &path, version)).transpose();
            let copy = copy.map_err(|source| StoreError::NotCopied { path: path.clone(), source: Box::new(source) })?;
            if let Some(copy) = &copy {
                let (copy, version) = (copy.display(), outdated);
                tracing::warn!(%copy, version, "migrating the database to a newer schema; a copy was made");
            }
            if let Err(error) = migrations::migrate(&mut connection, &path) {
                // Another attempt copies it again, if it still is what it was.
                if let Some(copy) =
                    copy.filter(|_| migrations::outdated(&connection, &path).is_ok_and(|now| now == outdated))
                {
                    drop(fs::remove_file(copy));
                }
                return Err(error);
            }
            if copy.is_some() {
                for fault in backup::contradictions(&connection).map_err(open)? {
                    tracing::warn!(fault, "damaged rows left unchanged");
                }
            }
            checksum::guard(&connection).map_err(open)?;
            let key = cursor_secret(ShopConnection::new(&connection, &shop), open)?;
            Ok((connection, key))
        })?;
        let place = FilePlace::of(&path).map_err(|source| StoreError::Directory { path: path.clone(), source })?;
        let witness = Arc::new(Witness::open(&connection, &path)?);
        let file = File {
            writer: Writer::start(connection, Some((place.clone(), Arc::clone(&witness))))?,
            witness,
            place,
            readers: Readers::new(path.clone(), BUSY),
            impatient_readers: Readers::new(path.clone(), Duration::ZERO),
            path,
            room: OnceLock::new(),
        };
        Ok(Self::for_shop(Arc::new(file), shop, cursor_secret))
    }

    /// Returns the store of `shop` in the same file: this one if it is the same shop, or one that sees nothing of what
    /// this one holds. Fails with [`StoreError`] if the key of the shop's cursors can be neither read nor created.
    pub fn of(&self, shop: ShopId) -> Result<Self, StoreError> {
        if shop == self.0.shop {
            return Ok(self.clone());
        }
        let open = |source| StoreError::Open { path: self.path().to_owned(), source };
        let connection = connect(self.path()).map_err(open)?;
        let cursor_secret = cursor_secret(ShopConnection::new(&connection, &shop), open)?;
        Ok(Self::for_shop(Arc::clone(&self.0.file), shop, cursor_secret))
    }

    fn for_shop(file: Arc<File>, shop: ShopId, cursor_secret: CursorSecret) -> Self {
        let (planned, retention) = (Notify::new(), OnceLock::new());
        Self(Arc::new(StoreState { file, shop, cursor_secret, planned, retention }))
    }

    /// Writes a consistent copy of all shops in the database to `to`, and returns its size in bytes. Gateways serve
    /// meanwhile. The copy has its name only once it is whole and on disk. Blocks. Fails with [`BackupError::Exists`]
    /// if there is a file of this name; others if the copy cannot be written.
    pub fn back_up(&self, to: &Path) -> Result<u64, BackupError> {
        let open = |source| StoreError::Open { path: self.path().to_owned(), source };
        backup::copy(&connect(self.path()).map_err(open)?, to, |_| Ok(()))
    }

    /// Checks the database as SQLite does: pages, indexes and references between rows. Returns the faults, at most a
    /// hundred. Blocks, for as long as it takes to read the whole file. Fails with the error of SQLite if the database
    /// cannot be read to its end.
    pub fn faults(&self) -> rusqlite::Result<Vec<String>> {
        let connection = open(self.path())?;
        let mut faults = backup::damage(&connection)?;
        faults.extend(checksum::faults(&connection, backup::FAULTS as usize)?);
        faults.extend(backup::contradictions(&connection)?);
        faults.truncate(backup::FAULTS as usize);
        Ok(faults)
    }

    /// Puts a copy into a data directory that holds no database. The copy itself stays as it is. Blocks. Fails with
    /// [`BackupError::Occupied`] if there is a database already; [`BackupError::Damaged`] and [`StoreError::Newer`] if
    /// this gateway cannot use the copy; others if the files cannot be read or written.
    pub fn restore(from: &Path, data_dir: &Path) -> Result<(), BackupError> {
        let to = data_dir.join(FILE);
        for occupied in [&to, &header::beside(&to, "-wal"), &header::beside(&to, "-journal")] {
            if occupied.exists() {
                return Err(BackupError::Occupied(occupied.clone()));
            }
        }
        header::check(from)?;
        let open = |source| StoreError::Open { path: from.to_owned(), source };
        let copied = Connection::open_with_flags(from, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(open)?;
        migrations::outdated(&copied, from)?;
        let faults = match backup::damage(&copied) {
            // Too damaged to be checked.
            Err(error) if is_damage(&error) => vec![error.to_string()],
            faults => faults.map_err(open)?,
        };
        if let Some(fault) = faults.into_iter().next() {
            return Err(BackupError::Damaged { path: from.to_owned(), fault });
        }
        fs::create_dir_all(data_dir).map_err(|source| StoreError::Directory { path: data_dir.to_owned(), source })?;
        backup::copy(&copied, &to, |restored| {
            // A search index that is still there knows what came after the copy.
            restored.execute("UPDATE shop SET identity = lower(hex(randomblob(16)))", ())?;
            // A copy of an earlier version has neither.
            if restored.table_exists(Some("main"), "commits")? {
                restored.execute("DELETE FROM commits", ())?;
                restored.execute(&format!("UPDATE shop SET sum = {}", checksum::NONE), ())?;
            }
            Ok(())
        })
        .map(drop)
    }

    /// Lets the database in `data_dir` go on without commits that are missing, and returns the copy of its log if there
    /// was one. Blocks. Fails with [`BackupError`] if the database cannot be opened, or its log not be copied.
    pub fn accept_loss(data_dir: &Path) -> Result<Option<PathBuf>, BackupError> {
        let path = data_dir.join(FILE);
        header::check(&path)?;
        if !path.exists() {
            return Err(StoreError::Missing { path }.into());
        }
        let file = |source| BackupError::File { path: path.clone(), source };
        let open = |source| StoreError::Open { path: path.clone(), source };
        let copied = backup::keep_log(&path).map_err(file)?;
        let connection = connect(&path).map_err(open)?;
        connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).map_err(open)?;
        witness::forget(&path).map_err(file)?;
        drop(Self::at(path.clone())?);
        Ok(copied)
    }

    /// Writes the whole log to the file, and empties it. Returns `false` if a reader kept it from that.
    pub(crate) async fn empty_log(&self) -> Result<bool, PortError> {
        let path = self.path().to_owned();
        let emptied = tokio::task::spawn_blocking(move || {
            let connection = open(&path)?;
            connection.busy_timeout(BUSY)?;
            connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |row| row.get::<_, i64>(0))
        });
        Ok(emptied.await.map_err(unwritable)?.map_err(unwritable)? == 0)
    }

    /// Returns `true` if the file that is open is the one at its path. Otherwise nothing is written any more.
    pub fn is_in_place(&self) -> bool {
        self.0.file.place.holds()
    }

    /// Sets the room for new carts and checkouts, for all shops in the file. The first call counts.
    pub fn limit(&self, room: Room) {
        let _ = self.0.file.room.set(room);
    }

    /// Sets how long what names a buyer of the shop is kept. The first call counts.
    pub fn retain(&self, retention: Retention) {
        let _ = self.0.retention.set(retention);
    }

    /// Returns how long what names a buyer is kept.
    pub(crate) fn retention(&self) -> Retention {
        self.0.retention.get().copied().unwrap_or_default()
    }

    /// Returns `true` if there is room for new carts and checkouts, or none of it is known.
    pub(crate) fn has_room(&self) -> bool {
        let Some(Room { most, free }) = self.0.file.room.get() else { return true };
        let is_small = fs::metadata(self.path()).map_or(true, |file| file.len() < *most);
        is_small
            && rustix::fs::statvfs(self.path())
                .map_or(true, |disk| disk.f_bavail.saturating_mul(disk.f_frsize) >= *free)
    }

    /// Returns what was written since the store was opened, by all shops in the file.
    pub fn activity(&self) -> &Activity {
        self.0.file.writer.activity()
    }

    /// Returns the path of the database file.
    pub fn path(&self) -> &Path {
        &self.0.file.path
    }

    /// Returns the identifier of the shop.
    pub fn shop(&self) -> &ShopId {
        &self.0.shop
    }

    /// Returns the key that cursors are sealed with.
    pub fn cursor_secret(&self) -> &CursorSecret {
        &self.0.cursor_secret
    }

    /// Runs `job` on the writer thread, in a savepoint of its own. Returns once it is on disk. Fails with the error of
    /// `job` or of the commit; nothing of it is written then.
    pub async fn execute<T: Send + 'static>(
        &self,
        job: impl FnOnce(ShopConnection<'_>) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, WriteError> {
        let shop = self.0.shop.clone();
        let written = self.0.file.writer.call(move |db| job(ShopConnection::new(db, &shop)));
        record::during(Stage::Store, written).await
    }

    /// As [`execute`](Self::execute), for callers outside an async runtime. Fails as [`execute`](Self::execute).
    pub fn execute_blocking<T: Send + 'static>(
        &self,
        job: impl FnOnce(ShopConnection<'_>) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, WriteError> {
        let shop = self.0.shop.clone();
        self.0.file.writer.call_blocking(move |db| job(ShopConnection::new(db, &shop)))
    }

    /// Runs `read` on this thread in a transaction, so that it sees one snapshot. Fails with the error of `read`, or of
    /// opening a connection.
    pub fn snapshot<T>(&self, read: impl FnOnce(ShopConnection<'_>) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
        self.0.file.readers.read(|db| read(ShopConnection::new(db, &self.0.shop)))
    }

    /// Opens a separate connection, for reading. [`ShopConnection::new`] makes it one to the rows of a shop. Fails with
    /// [`StoreError`] if the database cannot be opened.
    pub fn connect(&self) -> Result<Connection, StoreError> {
        let file = &self.0.file;
        file.readers.open().map_err(|source| StoreError::Open { path: file.path.clone(), source })
    }

    /// Runs `write` in its own transaction, on this thread and not through the writer: for content that has to exist
    /// before anything is served. If `write` fails, the transaction is rolled back. Fails with the error of `write`;
    /// [`StoreError`] if the database cannot be written.
    pub fn transaction<T>(
        &self,
        write: impl FnOnce(ShopConnection<'_>) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let open = |source| StoreError::Open { path: self.path().to_owned(), source };
        let mut connection = connect(self.path()).map_err(open)?;
        let begun = connection.transaction_with_behavior(TransactionBehavior::Immediate);
        let transaction = begun.map_err(WriteError::from)?;
        let written = write(ShopConnection::new(&transaction, &self.0.shop))?;
        let number = witness::count(&transaction).map_err(WriteError::from)?;
        transaction.commit().map_err(WriteError::from)?;
        self.0.file.witness.tell(number);
        Ok(written)
    }

    /// Reads on this thread, or on another one if the database makes it wait. Each statement sees the newest state.
    ///
    /// Reads take microseconds, less than it takes to hand them to another thread, and a database in WAL mode keeps no
    /// reader waiting; should it do so once, the read moves to a thread that may wait.
    pub(crate) async fn read<T: Send + 'static>(
        &self,
        read: impl Fn(ShopConnection<'_>) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, PortError> {
        record::during(Stage::Store, async {
            let shop = &self.0.shop;
            match self.0.file.impatient_readers.query(|db| read(ShopConnection::new(db, shop))) {
                Err(error) if is_busy(&error) => {
                    let StoreState { file, shop, .. } = &*self.0;
                    let (file, shop) = (Arc::clone(file), shop.clone());
                    let read = move || file.readers.query(|db| read(ShopConnection::new(db, &shop)));
                    let read = tokio::task::spawn_blocking(read).await;
                    read.map_err(unanswered)?.map_err(unreadable)
                }
                read => read.map_err(unreadable),
            }
        })
        .await
    }

    /// Runs a write on the writer thread. Returns once it is on disk.
    pub(crate) async fn write<T: Send + 'static>(
        &self,
        job: impl FnOnce(ShopConnection<'_>) -> Result<T, WriteError> + Send + 'static,
    ) -> Result<T, PortError> {
        self.execute(job).await.map_err(unwritable)
    }

    /// Returns the notification for tasks that this process has planned or woken.
    pub(crate) fn bell(&self) -> &Notify {
        &self.0.planned
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

/// Returns the error of a read that failed.
fn unreadable(error: rusqlite::Error) -> PortError {
    if is_damage(&error) { PortError::damaged().because(error) } else { unanswered(error) }
}

/// Returns the error of a read that may succeed later.
fn unanswered(error: impl Error + Send + Sync + 'static) -> PortError {
    PortError::unavailable("The shop's books cannot be read at the moment.", 5).because(error)
}

/// Returns `true` if a read failed because of what is stored, so that it fails again.
pub fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType};
    let is_value = matches!(error, FromSqlConversionFailure(..) | IntegralValueOutOfRange(..) | InvalidColumnType(..));
    let is_refused = error.sqlite_error().is_some_and(|error| error.extended_code == ffi::SQLITE_CONSTRAINT_TRIGGER);
    is_value
        || is_refused
        || matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase))
}

/// Returns the error of a call whose write failed.
pub(crate) fn unwritable(error: impl Error + Send + Sync + 'static) -> PortError {
    PortError::unavailable("The shop's books cannot be written at the moment.", 5).because(error)
}

/// Returns the key of the shop's cursors. The first process that opens the shop creates it.
fn cursor_secret(
    db: ShopConnection<'_>,
    open: impl Fn(rusqlite::Error) -> StoreError,
) -> Result<CursorSecret, StoreError> {
    let sql = "SELECT key FROM cursor_key WHERE shop = ?";
    let stored = || db.query_row(sql, [db.shop()], |row| row.get(0)).map(CursorSecret::new);
    if let Some(key) = stored().optional().map_err(&open)? {
        return Ok(key);
    }
    let mut key = [0; 32];
    getrandom::fill(&mut key).map_err(StoreError::Random)?;
    db.execute("INSERT OR IGNORE INTO cursor_key (shop, key) VALUES (?, ?)", (db.shop(), key))
        .map_err(WriteError::from)?;
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

/// Number of prepared statements that a connection keeps: more than this crate has. A commit runs about forty.
const STATEMENTS: usize = 256;

/// Opens a connection whose statements are planned once. By default SQLite plans a statement anew whenever a value is
/// bound that it looked at in planning, which costs several times what running the statement does.
fn open(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    // A container has no directory for temporary files.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    checksum::register(&connection)?;
    Ok(connection)
}

pub(crate) fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let is_new = fs::metadata(path).map_or(true, |file| file.len() == 0);
    let connection = open(path)?;
    connection.busy_timeout(BUSY)?;
    if is_new {
        // What is pruned is given back to the file system. Has an effect before anything is in the file.
        connection.pragma_update(None, "auto_vacuum", "INCREMENTAL")?;
    }
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    // What is removed or changed is overwritten, so that the file has nothing left that was erased.
    connection.pragma_update(None, "secure_delete", "ON")?;
    // Under heavy writing, a checkpoint every 4 MiB (SQLite's default) takes longer than the writes themselves.
    connection.pragma_update(None, "wal_autocheckpoint", 4_000)?;
    // The writer touches random pages of the identifiers' index.
    connection.pragma_update(None, "cache_size", -16_384)?;
    if migrations::is_current(&connection)? {
        checksum::guard(&connection)?;
    }
    Ok(connection)
}

/// Read connections, opened on demand.
#[derive(Debug)]
struct Readers {
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
    fn read<T>(&self, read: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> rusqlite::Result<T> {
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
        let connection = open(&self.path)?;
        connection.busy_timeout(self.patience)?;
        connection.pragma_update(None, "query_only", true)?;
        connection.pragma_update(None, "cache_size", -8_192)?;
        Ok(connection)
    }
}

/// Bit of a directory in which everyone can create files.
const STICKY: u32 = 0o1000;

/// Takes the permissions of everyone but its owner from a directory or file: there are names and addresses of buyers in
/// it. What belongs to another user, is not there, or is a directory that users share, such as `/` or `/tmp`, stays as it
/// is.
fn keep_for_owner(path: &Path) {
    let Ok(metadata) = fs::metadata(path) else { return };
    let is_root = fs::canonicalize(path).is_ok_and(|path| path.parent().is_none());
    let mode = metadata.permissions().mode();
    if mode & 0o077 != 0 && mode & STICKY == 0 && !is_root {
        drop(fs::set_permissions(path, fs::Permissions::from_mode(mode & 0o700)));
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
        let insert = |db: ShopConnection<'_>| {
            let product = "INSERT INTO products (shop, id, revision, document) VALUES (?, 'p', 1, '{}')";
            db.execute(product, [db.shop()]).map(drop).map_err(|error| WriteError::from(error).into())
        };
        let products = || store.snapshot(crate::revision::newest_revision).expect("reads");
        let failed = store.transaction(|db| insert(db).and(Err::<(), _>(WriteError::Panicked.into())));
        assert!(matches!(failed, Err(StoreError::Write(WriteError::Panicked))));
        assert_eq!(products(), 0);
        store.transaction(insert).expect("writes");
        assert_eq!(products(), 1);
    }
}
