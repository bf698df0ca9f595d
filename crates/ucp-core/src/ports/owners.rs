//! Port of the ownership of carts, checkouts and orders that another shop stores for the gateway, and of how far their
//! purchases have come.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};

use super::PortError;
use crate::{Operation, Release, operation::Resource};

named! {
    /// Kind of a resource that has an owner.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Kind {
        /// A cart.
        Cart = "cart",
        /// A checkout.
        Checkout = "checkout",
        /// An order.
        Order = "order",
        /// A checkout that the shop was asked to complete, under the identifier of the checkout.
        Completion = "completion",
        /// A checkout that the shop has completed, under the identifier of the checkout.
        Purchase = "purchase",
    }
}

impl Kind {
    /// Returns the kind of resource that an operation acts on; `None` for operations on resources without owner.
    pub fn of(operation: Operation) -> Option<Self> {
        match operation.row().resource {
            Resource::Cart => Some(Self::Cart),
            Resource::Checkout => Some(Self::Checkout),
            Resource::Order => Some(Self::Order),
            Resource::Catalog | Resource::Directory => None,
        }
    }
}

/// Retention of owners by kind of resource: time since its end, or since the last change of an order, and `true` if at most
/// [`MOST`] are kept.
pub const RETENTION: [(Kind, SignedDuration, bool); 5] = {
    const MONTH: SignedDuration = SignedDuration::from_hours(30 * 24);
    const THREE_YEARS: SignedDuration = SignedDuration::from_hours(3 * 365 * 24);
    [
        (Kind::Cart, MONTH, true),
        (Kind::Checkout, MONTH, true),
        (Kind::Order, THREE_YEARS, false),
        (Kind::Completion, MONTH, false),
        (Kind::Purchase, THREE_YEARS, false),
    ]
};

/// Maximum number of carts, and of checkouts.
pub const MOST: u32 = 1_000_000;

/// Owner of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Platform: the URL of its profile.
    pub platform: String,
    /// Release of the protocol in which the platform was served.
    pub release: Release,
    /// `true` if mandates were negotiated when the resource was created: the shop then knows it under another profile
    /// of the gateway, and it cannot be completed without a mandate (rule AP2-01).
    pub mandates: bool,
}

/// Stored ownership of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// Owner of the resource.
    pub owner: Owner,
    /// Time until which the resource is known to be alive, UTC; some time after that the record may be removed.
    pub until: Timestamp,
}

/// Persistent store of owners. All methods fail with [`Unavailable`](crate::Code::Unavailable).
#[async_trait]
pub trait Owners: Send + Sync {
    /// Returns the owner of a resource; `None` if it is unknown.
    async fn owned(&self, kind: Kind, id: &str) -> Result<Option<Owned>, PortError>;

    /// Records the owner of a resource that is alive until `until`, unless it already has one, and returns the actual
    /// owner. The record is on disk when this returns.
    async fn claim(&self, kind: Kind, id: &str, owner: &Owner, until: Timestamp) -> Result<Owner, PortError>;

    /// Extends the lifetime of a resource that has an owner.
    async fn extend(&self, kind: Kind, id: &str, until: Timestamp) -> Result<(), PortError>;
}
