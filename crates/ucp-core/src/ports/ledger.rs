//! Port of the store that holds carts, checkouts, orders and the answers recorded under idempotency keys.
//!
//! Everything that one call changes is one [`Change`], committed as a whole together with the answer that is recorded
//! under the call's key and the tasks that follow from it: after a crash either all are stored or none. Documents carry a version; a change that is
//! based on an older version than the stored one is not committed, so that several processes can share one store.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{
    PortError,
    agenda::{Agenda, Kind, Plan},
};
use crate::{cart::Cart, checkout::Checkout, order::Order, purchase::mandate::Presented};

/// A stored document and its version.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored<T> {
    /// The document.
    pub document: T,
    /// Version of the stored document, which grows with every change; 0 for a document that is not stored yet.
    pub version: u64,
}

/// All changes of one call, committed as a whole or not at all.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Change {
    /// Cart to store, with the version that it is based on.
    pub cart: Option<Stored<Cart>>,
    /// Checkout to store, with the version that it is based on.
    pub checkout: Option<Stored<Checkout>>,
    /// Order to store, with the version that it is based on.
    pub order: Option<Stored<Order>>,
    /// `true` if the platform is not told about the order, because nothing that it sees has changed.
    pub quiet: bool,
    /// Stock movements by variant. Variants whose stock is not counted are ignored.
    pub stock: Vec<Movement>,
    /// Mandate to store; it replaces an earlier one for the same checkout and stays as long as the checkout or its
    /// order does.
    pub mandate: Option<Presented>,
    /// Changes of the agenda, besides those that follow from the documents ([`plans`](Self::plans)).
    pub plans: Vec<Plan>,
    /// `true` if the answer is recorded by a later commit: its holder must have room for twice the size of the checkout, too.
    pub answered_later: bool,
    /// Caller that what is new is counted to, and what it may hold; `None` for callers without a limit.
    pub holder: Option<Holder>,
}

/// Groups of callers that carts, checkouts and recorded answers are counted to, each with its limits. A document counts to
/// whoever wrote it last.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// Groups that the caller belongs to, that of the caller itself first.
    pub bounds: Vec<Bound>,
}

/// Limits of what one group of callers may hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// Name of the group, without white space.
    pub name: String,
    /// Maximum number of its carts and checkouts that led to no order.
    pub open: u64,
    /// Maximum size of their documents and of the recorded answers, in bytes.
    pub bytes: u64,
}

impl Holder {
    /// Beginning of the names of registered platforms. It sorts behind all other names: what registered platforms hold
    /// stays as long as what is counted to nobody.
    pub const REGISTERED: &str = "~";

    /// Returns `true` for a registered platform.
    pub fn is_registered(&self) -> bool {
        self.bounds.iter().any(|bound| bound.name.starts_with(Self::REGISTERED))
    }

    /// Returns the names of all groups, as a store keeps them with a row.
    pub fn names(&self) -> String {
        self.bounds.iter().map(|bound| bound.name.as_str()).collect::<Vec<_>>().join(" ")
    }
}

/// Returns `true` if a row with these [names](Holder::names) is counted to a group.
pub fn is_counted_to(names: &str, group: &str) -> bool {
    names.split(' ').any(|name| name == group)
}

/// Carts, checkouts and recorded answers that are counted to a group of callers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Holding {
    /// Name of the group.
    pub name: String,
    /// Number of its carts and checkouts that led to no order.
    pub open: u64,
    /// Size of their documents and of the recorded answers, in bytes.
    pub bytes: u64,
}

impl Change {
    /// Returns `true` if nothing changes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the changes of the agenda that are committed with this one: besides those that are stated, a payment that has
    /// begun is to be settled, and a cart at a shop that a document names is not abandoned.
    pub fn plans(&self) -> Vec<Plan> {
        let mut plans = self.plans.clone();
        let (cart, checkout) = (self.cart.as_ref(), self.checkout.as_ref());
        let named = [
            cart.and_then(|cart| cart.document.remote_cart.as_ref()),
            checkout.and_then(|checkout| checkout.document.remote_cart.as_ref()),
        ];
        plans.extend(named.into_iter().flatten().map(|named| Plan::Done(Kind::Abandon, named.task_key())));
        plans.extend(checkout.and_then(|checkout| checkout.document.task()).map(Plan::Due));
        plans
    }
}

/// A change of the stock of one variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Movement {
    /// Identifier of the variant.
    pub variant: String,
    /// Change of the stock in pieces: negative for goods that leave it, positive for goods that come back.
    pub quantity: i64,
}

/// Scope and text of an idempotency key (rule IDM-04).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Identity of the platform that sent the key.
    pub owner: String,
    /// Name of the operation.
    pub operation: &'static str,
    /// Identifier of the resource that the operation acts on; empty if there is none. It is no part of the scope: answers of
    /// gateways of the version before were recorded with it.
    pub resource: String,
    /// Idempotency key as sent.
    pub key: String,
}

/// An answer recorded under an idempotency key, to be replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// SHA-256 of the request in canonical form: a different request under the same key is an error (rule IDM-03).
    pub identity: [u8; 32],
    /// Encoded answer, in the format of `ucp-service`.
    pub answer: String,
    /// Time at which the answer was given, UTC.
    pub at: Timestamp,
}

/// Result of a commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Committed {
    /// Everything was committed and is on disk.
    Done,
    /// Nothing was committed: a document changed since it was read, or the stock does not suffice. The caller reads and
    /// decides again.
    Stale,
    /// Nothing was committed: another answer has been recorded under the same key in the meantime.
    Kept(Kept),
    /// Nothing was committed, because there is no room.
    Full(Full),
}

/// Room that a commit lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// A group of the holder has as many carts and checkouts as it may have.
    Open,
    /// The documents and answers of a group of the holder are as large as they may be.
    Bytes,
    /// The store itself has no room for new carts and checkouts.
    Store,
}

/// Store of carts, checkouts, orders and recorded answers.
///
/// Reading and writing fail with [`Unavailable`](crate::Code::Unavailable) (rule IDM-05). Documents are read for their
/// `owner`; the documents of other owners do not exist. Page tokens alone open a document without its owner: they come
/// from outside, are compared, and are never interpreted or logged.
#[async_trait]
pub trait Ledger: Agenda {
    /// Returns a cart of `owner`.
    async fn cart(&self, owner: &str, id: &str) -> Result<Option<Stored<Cart>>, PortError>;

    /// Returns a checkout of `owner`.
    async fn checkout(&self, owner: &str, id: &str) -> Result<Option<Stored<Checkout>>, PortError>;

    /// Returns the newest checkout that was created from a cart.
    async fn checkout_of_cart(&self, owner: &str, cart: &str) -> Result<Option<Stored<Checkout>>, PortError>;

    /// Returns an order of `owner`.
    async fn order(&self, owner: &str, id: &str) -> Result<Option<Stored<Order>>, PortError>;

    /// Returns the cart whose page a token opens, regardless of its owner.
    async fn cart_by_token(&self, token: &str) -> Result<Option<Stored<Cart>>, PortError>;

    /// Returns the checkout whose page a token opens, regardless of its owner.
    async fn checkout_by_token(&self, token: &str) -> Result<Option<Stored<Checkout>>, PortError>;

    /// Returns the order whose page a token opens, regardless of its owner.
    async fn order_by_token(&self, token: &str) -> Result<Option<Stored<Order>>, PortError>;

    /// Returns the orders of any platform that a name means: a gateway's identifier, the shop's identifier, or a label;
    /// newest first, at most `limit`.
    async fn orders_named(&self, name: &str, limit: usize) -> Result<Vec<Stored<Order>>, PortError>;

    /// Returns the stock of each variant in pieces, in the order of `variants`; `None` for variants whose stock is not
    /// counted.
    async fn stock(&self, variants: &[&str]) -> Result<Vec<Option<u64>>, PortError>;

    /// Returns the answer recorded under a key, unless it has expired.
    async fn kept(&self, key: &Key) -> Result<Option<Kept>, PortError>;

    /// Commits a change and the answer to record with it. Returns once both are on disk.
    async fn commit(&self, change: Change, keep: Option<(Key, Kept)>) -> Result<Committed, PortError>;
}
