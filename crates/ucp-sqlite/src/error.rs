//! What can go wrong with the shop's files, and what its operator can do about it.
//!
//! These errors are for operators: they name files. Callers of the catalog get [`Refusal`](ucp_core::Refusal)s, which
//! say nothing about the inside; the cause is logged where it happens.

use std::{io, path::PathBuf, sync::Arc};

use ucp_core::catalog::record::Unusable;

/// Why a shop cannot be opened, created or written.
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
    /// The database file is something else. It was left as it was, and so was what lies beside it.
    #[error(
        "{} is not an SQLite database: {what}; it was left as it was: restore it from a backup, or use another data directory",
        path.display()
    )]
    NoDatabase {
        /// The database file.
        path: PathBuf,
        /// What must hold of it, and does not.
        what: String,
    },
    /// The database file cannot be opened.
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
    /// A schema migration failed; the database is as it was.
    #[error("cannot bring the database {} to schema version {version}; it was left as it was", path.display())]
    Migration {
        /// The database file.
        path: PathBuf,
        /// The version that could not be reached.
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
    /// The database holds something that this gateway did not write.
    #[error("the database {} is damaged: {what}; restore it from a backup, or use another data directory", path.display())]
    Damaged {
        /// The database file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A product or a merchant that a new shop was to start with is unusable. Nothing was created.
    #[error("the new shop was not created, because `{id}` cannot be stored: {reason}")]
    Unfit {
        /// The identifier.
        id: String,
        /// What is wrong with it.
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
    /// [`Unfit`](Self::Unfit) for the first of what was put that was rejected, by identifier.
    ///
    /// # Errors
    /// That.
    pub fn unfit(outcomes: impl IntoIterator<Item = (String, Result<Put, Rejected>)>) -> Result<(), Self> {
        let rejected = outcomes.into_iter().find_map(|(id, outcome)| Some((id, outcome.err()?.reason)));
        rejected.map_or(Ok(()), |(id, reason)| Err(Self::Unfit { id, reason }))
    }
}

/// Why a write was not carried out. Nothing of it is in the database.
#[derive(Clone, Debug, thiserror::Error)]
pub enum WriteError {
    /// The database refused.
    #[error("the database refused the write{}", hint(.0))]
    Database(#[source] Arc<rusqlite::Error>),
    /// The write itself failed in the middle.
    #[error("the write failed inside and was rolled back")]
    Panicked,
    /// A write beside it failed in a way that undid the whole commit.
    #[error("another write failed and took this one along")]
    RolledBack,
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

/// What became of a product or a merchant that was put into the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// It is new.
    Created,
    /// It was there, and is different now.
    Updated,
    /// It was there, exactly like this.
    Unchanged,
}

/// Why a product or a merchant was not put into the store. What was there before is untouched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct Rejected {
    /// What is wrong, with the member as JSONPath where there is one.
    pub reason: String,
}

impl From<Unusable> for Rejected {
    fn from(unusable: Unusable) -> Self {
        Self { reason: unusable.to_string() }
    }
}
