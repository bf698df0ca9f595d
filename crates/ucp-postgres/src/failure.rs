//! Meaning of the server's errors for a transaction.

use deadpool_postgres::PoolError;
use tokio_postgres::{Error, error::SqlState};
use ucp_core::ports::PortError;

/// Text that a statement of a commit fails with if a document is not of the version that the change is based on.
pub(crate) const STALE: &str = "the change is based on an older version, and is decided again";

/// Text that a statement of a commit fails with if its caller holds as much as it may.
pub(crate) const FULL: &str = "the caller holds as much as it may";

/// Failure of an operation on the store.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The server cannot be reached.
    #[error("the database cannot be reached")]
    Unreachable(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// It is unknown whether the server carried out what it was told to.
    #[error("the database does not say what became of a change")]
    Unknown(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server took too long.
    #[error("the database did not answer within {0:?}")]
    Slow(std::time::Duration),
    /// The server refused a statement.
    #[error("the database refused a statement")]
    Refused(#[source] Error),
    /// A stored value cannot be read.
    #[error("a row of the database cannot be read: {0}")]
    Unreadable(String),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<PoolError> for Failure {
    fn from(error: PoolError) -> Self {
        Self::Unreachable(Box::new(error))
    }
}

impl From<Failure> for PortError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Unreadable(_) => Self::damaged().because(failure),
            _ => Self::unavailable("The shop's books cannot be reached at the moment.", 2).because(failure),
        }
    }
}

/// A database that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The server cannot be reached, or refuses the user.
    #[error("the database {place} cannot be used")]
    Unusable {
        /// The database.
        place: String,
        /// The cause.
        #[source]
        source: Failure,
    },
    /// Newer gateways use the database in a way that this one does not know.
    #[error(
        "the database {place} is of version {found}, which gateways from version {minimum} on can use; this one knows {supported}: \
         use a newer gateway"
    )]
    Newer {
        /// The database.
        place: String,
        /// Version of the schema.
        found: i32,
        /// The oldest version of a gateway that can use it.
        minimum: i32,
        /// Version that this gateway knows.
        supported: i32,
    },
    /// A copy of the shop into the database is not finished.
    #[error(
        "the shop `{shop}` is being copied into the database {place} from {origin}, and the copy is not finished: run \
         `ucp-gateway data copy` again, which goes on with it, or serve the shop from where it was"
    )]
    Copied {
        /// The database.
        place: String,
        /// The shop.
        shop: String,
        /// The place that it is copied from.
        origin: String,
    },
    /// The authorities for certificates cannot be read.
    #[error("the authorities that certify the database cannot be used")]
    Tls(#[source] rustls::Error),
    /// There is no randomness for the key of cursors.
    #[error("the system gives no random numbers")]
    Random(#[source] getrandom::Error),
}

/// Meaning of an error of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Nothing was done, and the same may succeed when it is sent again.
    Again,
    /// The connection is lost, and with it the knowledge of what was done.
    Lost,
    /// A part of a change contradicts what is stored, and nothing was done.
    Contradicted,
    /// Nothing was done, because there is no room on the disk.
    NoSpace,
    /// Nothing was done, and will not be.
    Refused,
}

/// Returns what an error means.
pub(crate) fn meaning(error: &Error) -> Meaning {
    let Some(stated) = error.as_db_error() else {
        // Also errors of values that cannot be converted, which are not the server's.
        let text = error.to_string();
        let local = ["error serializing", "error deserializing", "invalid column", "query returned"];
        return if local.iter().any(|local| text.starts_with(local)) { Meaning::Refused } else { Meaning::Lost };
    };
    let code = stated.code();
    let again = [
        &SqlState::T_R_SERIALIZATION_FAILURE,
        &SqlState::T_R_DEADLOCK_DETECTED,
        // A server that has become a standby, on a connection from before.
        &SqlState::READ_ONLY_SQL_TRANSACTION,
        &SqlState::LOCK_NOT_AVAILABLE,
        &SqlState::TOO_MANY_CONNECTIONS,
    ];
    let contradicted = [
        &SqlState::UNIQUE_VIOLATION,
        &SqlState::CHECK_VIOLATION,
        &SqlState::NUMERIC_VALUE_OUT_OF_RANGE,
        &SqlState::INVALID_TEXT_REPRESENTATION,
    ];
    if again.contains(&code) {
        Meaning::Again
    } else if contradicted.contains(&code) {
        Meaning::Contradicted
    } else if code == &SqlState::DISK_FULL {
        Meaning::NoSpace
    } else if code.code().starts_with("08")
        || code.code().starts_with("57")
        // A pooler that has lost its server says nothing more exact.
        || code == &SqlState::PROTOCOL_VIOLATION
        || stated.severity() == "FATAL"
        || stated.severity() == "PANIC"
    {
        Meaning::Lost
    } else {
        Meaning::Refused
    }
}

/// Returns `true` if a connection on which this error came must not be used again.
pub(crate) fn spoils(error: &Error) -> bool {
    meaning(error) == Meaning::Lost
        || error.as_db_error().is_some_and(|stated| stated.code() == &SqlState::READ_ONLY_SQL_TRANSACTION)
}
