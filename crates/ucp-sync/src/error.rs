//! Why a run ends early.

use ucp_net::Failure;
use ucp_shop::import::{BadRow, Unimportable};
use ucp_sqlite::{StoreError, WriteError};

use crate::feed::FeedError;

/// Why a run ended early. It goes on where it was when it is begun again.
#[derive(Debug, thiserror::Error)]
pub enum SyncError {
    /// A run is under way.
    #[error("the catalog is being synchronized by another process")]
    Busy,
    /// The shop gives no answer.
    #[error("the shop cannot be asked for its catalog")]
    Shop(#[source] Failure),
    /// The feed cannot be fetched.
    #[error("the feed cannot be fetched")]
    Feed(#[from] FeedError),
    /// The feed cannot be read.
    #[error("the feed cannot be read")]
    Unreadable(#[source] Unimportable),
    /// The feed breaks off.
    #[error("the feed breaks off, and nothing is removed: {0}")]
    BrokenOff(BadRow),
    /// The pages do not come to an end.
    #[error("the catalog does not come to an end: {0}")]
    Endless(String),
    /// The state that is stored cannot be read.
    #[error("the state of the synchronization cannot be read: {0}")]
    State(String),
    /// The store cannot be read.
    #[error("the store cannot be read")]
    Store(#[from] StoreError),
    /// The store cannot be written.
    #[error("the store cannot be written")]
    Write(#[from] WriteError),
    /// The events that gateways share cannot be stored.
    #[error("events about products cannot be stored for all gateways")]
    Events(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The lock cannot be taken.
    #[error("the lock of the synchronization cannot be taken")]
    Lock(#[source] std::io::Error),
    /// The work failed inside.
    #[error("the synchronization failed with an internal error")]
    Panicked,
}
