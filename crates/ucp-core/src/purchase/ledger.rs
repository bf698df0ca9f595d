//! The port behind which carts, checkouts, orders and answers under idempotency keys are kept.
//!
//! Everything that one call changes is one [`Change`], committed as a whole together with the answer that is kept under
//! the call's key: either both are there after a crash, or neither. Documents carry a version; a change that was made of
//! an older version than the stored one is not committed, so that several processes can share one store.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{mandate::Presented, remote_cart_ref::RemoteCartRef};
use crate::{cart::Cart, checkout::Checkout, order::Order, port::PortError};

/// A stored document and its version.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    /// The document.
    pub document: T,
    /// Grows with every change; 0 for one that is not stored yet.
    pub version: u64,
}

/// What a call changes. Everything or nothing of it is committed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// A cart to store, with the version it was made of.
    pub cart: Option<Stored<Cart>>,
    /// A checkout to store, with the version it was made of.
    pub checkout: Option<Stored<Checkout>>,
    /// An order to store, with the version it was made of.
    pub order: Option<Stored<Order>>,
    /// Goods that leave the stock or come back, by variant. Uncounted goods are left alone.
    pub stock: Vec<Movement>,
    /// A mandate to keep, in place of an earlier one for the same checkout. It stays for as long as the checkout or its
    /// order does.
    pub mandate: Option<Presented>,
}

impl Change {
    /// Whether nothing changes.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Goods that leave the stock or come back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// The identifier of the variant.
    pub variant: String,
    /// How many: below zero for those that leave.
    pub quantity: i64,
}

/// Whose key, and for what (rule IDM-04).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The platform.
    pub owner: String,
    /// The name of the operation.
    pub operation: &'static str,
    /// The resource it acts on; empty for none.
    pub resource: String,
    /// The key as sent.
    pub key: String,
}

/// An answer that was given under a key, to be given again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The SHA-256 of what was asked, in canonical form: another request under the same key is a mistake (rule IDM-03).
    pub identity: [u8; 32],
    /// The answer, as it was encoded; in the form of `ucp-service`.
    pub answer: String,
    /// When it was given.
    pub at: Timestamp,
}

/// How a commit ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It is on disk.
    Done,
    /// Something changed since it was read, or there are not enough goods left: nothing was committed. Read again and
    /// decide again.
    Stale,
    /// An answer was kept under the same key in the meantime: nothing was committed.
    Kept(Kept),
}

/// Where carts, checkouts, orders and kept answers are.
///
/// Reading and writing fail with [`Unavailable`](crate::Code::Unavailable) (rule IDM-05); whatever is read belongs to
/// `owner`, and what belongs to others does not exist. Tokens alone open pages of their own: they come from outside, are
/// compared and never interpreted or logged.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// A cart.
    async fn cart(&self, owner: &str, id: &str) -> Result<Option<Stored<Cart>>, PortError>;

    /// A checkout.
    async fn checkout(&self, owner: &str, id: &str) -> Result<Option<Stored<Checkout>>, PortError>;

    /// The newest checkout that was made of a cart.
    async fn checkout_of_cart(&self, owner: &str, cart: &str) -> Result<Option<Stored<Checkout>>, PortError>;

    /// An order.
    async fn order(&self, owner: &str, id: &str) -> Result<Option<Stored<Order>>, PortError>;

    /// The cart whose page a token opens, whoever it belongs to.
    async fn cart_by_token(&self, token: &str) -> Result<Option<Stored<Cart>>, PortError>;

    /// The checkout whose page a token opens, whoever it belongs to.
    async fn checkout_by_token(&self, token: &str) -> Result<Option<Stored<Checkout>>, PortError>;

    /// The order whose page a token opens, whoever it belongs to.
    async fn order_by_token(&self, token: &str) -> Result<Option<Stored<Order>>, PortError>;

    /// How many of each variant there are, in the order of `variants`; `None` for those that are not counted.
    async fn stock(&self, variants: &[&str]) -> Result<Vec<Option<u64>>, PortError>;

    /// The answer kept under a key, if there is one that is not too old.
    async fn kept(&self, key: &Key) -> Result<Option<Kept>, PortError>;

    /// Commits a change, and the answer to keep with it. Returns once both are on disk.
    async fn commit(&self, change: Change, keep: Option<(Key, Kept)>) -> Result<Committed, PortError>;

    /// Notes that a shop behind another API has made a cart which no document names yet. Returns once that is on disk. A
    /// commit of a document that names the cart removes the note with it.
    async fn note_remote_cart(&self, cart: &RemoteCartRef, at: Timestamp) -> Result<(), PortError>;

    /// Carts that were noted before a time and that no document names, the oldest first; at most `limit`.
    async fn orphaned_remote_carts(&self, before: Timestamp, limit: usize) -> Result<Vec<RemoteCartRef>, PortError>;

    /// Removes the note of a cart that the shop has given up.
    async fn forget_remote_cart(&self, cart: &RemoteCartRef) -> Result<(), PortError>;

    /// Checkouts with a payment attempt whose end is not known, begun before a time; at most `limit`.
    async fn unsettled(&self, before: Timestamp, limit: usize) -> Result<Vec<Stored<Checkout>>, PortError>;
}
