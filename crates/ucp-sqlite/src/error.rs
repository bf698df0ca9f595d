//! Errors of the shop's database files, with what its operator can do about each.
//!
//! These errors are for operators: they name files. Callers of the catalog get [`Refusal`](ucp_core::Refusal)s, which
//! say nothing about the inside; the cause is logged where it happens.

use std::{io, path::PathBuf, sync::Arc};

use ucp_core::catalog::record::Unusable;

/// Failure to open, create or write a shop.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The data directory does not exist and cannot be made.
    #[error("cannot create the data directory {}; choose another one with --data-dir, or make its parent writable", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The database file is not an SQLite database. It and the files next to it were left unchanged.
    #[error(
        "{} is not an SQLite database: {what}; it was left as it was: restore it from a backup, or use another data directory",
        path.display()
    )]
    NoDatabase {
        /// The database file.
        path: PathBuf,
        /// The requirement that the file fails.
        what: String,
    },
    /// Opening the database file failed.
    #[error("cannot open the shop's database {}; check that the file is readable and the directory writable", path.display())]
    Open {
        /// The database file.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// A newer version of the gateway wrote the database.
    #[error(
        "the database {} has schema version {found}, but this version of the gateway only knows {supported}; \
         use the newer gateway, or another data directory", path.display()
    )]
    Newer {
        /// The database file.
        path: PathBuf,
        /// The version of its schema.
        found: i64,
        /// The newest version that this gateway knows.
        supported: i64,
    },
    /// No copy of the database could be made before its schema is changed; the database is unchanged.
    #[error(
        "the database {} has an older schema, and was left as it was because no copy of it could be made first",
        path.display()
    )]
    NotCopied {
        /// The database file.
        path: PathBuf,
        /// The cause.
        source: Box<BackupError>,
    },
    /// A schema migration failed; the database is unchanged.
    #[error("cannot bring the database {} to schema version {version}; it was left as it was", path.display())]
    Migration {
        /// The database file.
        path: PathBuf,
        /// The schema version that the migration leads to.
        version: i64,
        /// The cause.
        source: rusqlite::Error,
    },
    /// There is no shop in the data directory.
    #[error("there is no shop in {} yet; start the gateway once, or import a catalog, to create one", path.display())]
    Missing {
        /// The database file.
        path: PathBuf,
    },
    /// The database has content that this gateway did not write.
    #[error("the database {} is damaged: {what}; restore it from a backup, or use another data directory", path.display())]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// Description of the damage.
        what: String,
    },
    /// Commits that were acknowledged are missing. The files were left as they were.
    #[error(
        "the database {} is damaged: {what}; it was left as it was: restore a backup, or go on without what is missing \
         with `ucp-gateway data accept-loss`, which keeps a copy of the log", path.display()
    )]
    Lost {
        /// The database file.
        path: PathBuf,
        /// Description of the loss.
        what: String,
    },
    /// A product or merchant of a new shop's initial content is invalid. Nothing was created.
    #[error("the new shop was not created, because `{id}` cannot be stored: {reason}")]
    Unfit {
        /// Identifier of the product or merchant.
        id: String,
        /// Reason for the rejection.
        reason: String,
    },
    /// The operating system gave no random numbers.
    #[error("the operating system gave no random numbers for the shop's keys")]
    Random(#[source] getrandom::Error),
    /// A background thread could not be started.
    #[error("cannot start a background thread of the shop")]
    Thread(#[source] io::Error),
    /// Writing failed.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl StoreError {
    /// Checks the outcomes of writing a new shop's initial content, each with the identifier of its record. Fails with
    /// [`Unfit`](Self::Unfit) for the first record that was rejected.
    pub fn unfit(outcomes: impl IntoIterator<Item = (String, Result<Put, Rejected>)>) -> Result<(), Self> {
        let rejected = outcomes.into_iter().find_map(|(id, outcome)| Some((id, outcome.err()?.reason)));
        rejected.map_or(Ok(()), |(id, reason)| Err(Self::Unfit { id, reason }))
    }
}

/// Failure to copy a database or to put a copy back.
#[derive(Debug, thiserror::Error)]
pub enum BackupError {
    /// The file to write exists.
    #[error("{} exists already; the name of a backup must be new", .0.display())]
    Exists(PathBuf),
    /// The data directory to restore into holds a database.
    #[error(
        "{} exists already: stop the gateway, move the file and those beside it (`-wal`, `-shm`) away, and restore again",
        .0.display()
    )]
    Occupied(PathBuf),
    /// The file to restore has faults.
    #[error("{} is damaged and was not restored: {fault}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The first fault.
        fault: String,
    },
    /// A file could not be read or written.
    #[error("cannot write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The database could not be read, or the copy not be written.
    #[error("cannot copy the database to {}", path.display())]
    Copy {
        /// The file that was to be written.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
    /// The file to restore cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Failure of a write. Nothing of it is in the database.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// The database reported an error.
    #[error("the database refused the write{}", hint(.0))]
    Database(#[source] Arc<rusqlite::Error>),
    /// The code of the write panicked; it was rolled back.
    #[error("the write failed inside and was rolled back")]
    Panicked,
    /// Another write of the same commit failed in a way that rolled back the whole commit.
    #[error("another write failed and took this one along")]
    RolledBack,
    /// The file was removed or replaced while it was open: what is written to it is found by nobody.
    #[error("the database file was removed or replaced; put it back, or restart the gateway")]
    Displaced,
    /// The writer has stopped.
    #[error("the shop is shutting down")]
    Stopped,
}

impl From<rusqlite::Error> for WriteError {
    fn from(error: rusqlite::Error) -> Self {
        Self::Database(Arc::new(error))
    }
}

fn hint(error: &rusqlite::Error) -> &'static str {
    use rusqlite::ErrorCode;
    match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => ": the disk is full",
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => {
            ": its files are not writable"
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ": another process has been writing for too long",
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ": the file is damaged",
        Some(ErrorCode::SystemIoFailure) => ": the disk reports a failure",
        _ => "",
    }
}

/// Outcome of storing a product or merchant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It did not exist before.
    Created,
    /// It existed and was changed.
    Updated,
    /// It existed with exactly this content.
    Unchanged,
}

/// Rejection of a product or merchant by the store. The stored version, if there is one, is unchanged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Rejected {
    /// Reason for the rejection, with the JSONPath of the invalid member if there is one.
    pub reason: String,
}

impl From<Unusable> for Rejected {
    fn from(unusable: Unusable) -> Self {
        Self { reason: unusable.to_string() }
    }
}
