//! To whom carts, checkouts and orders belong that a shop elsewhere keeps for the gateway.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{Operation, Release, operation::Resource, port::PortError};

/// What belongs to somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// A cart.
    Cart,
    /// A checkout.
    Checkout,
    /// An order.
    Order,
}

impl Kind {
    /// What an operation is about.
    #[must_use]
    pub fn of(operation: Operation) -> Option<Self> {
        match operation.row().resource {
            Resource::Cart => Some(Self::Cart),
            Resource::Checkout => Some(Self::Checkout),
            Resource::Order => Some(Self::Order),
            Resource::Catalog | Resource::Directory => None,
        }
    }

    /// What it is called.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Cart => "cart",
            Self::Checkout => "checkout",
            Self::Order => "order",
        }
    }
}

/// To whom something belongs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The platform: the address of its profile.
    pub platform: String,
    /// The release that it was served in.
    pub release: Release,
    /// Whether it was made with mandates negotiated: it is then known to the shop under another profile of the gateway, and
    /// nothing about it is concluded without (rule AP2-01).
    pub mandates: bool,
}

/// What is remembered of something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owned {
    /// To whom it belongs.
    pub owner: Owner,
    /// Until when it is alive as far as that is known; some time after that it may be forgotten.
    pub until: Timestamp,
}

/// Where owners are remembered. It outlives restarts.
#[async_trait]
pub trait Owners: Send + Sync {
    /// To whom something belongs.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when that cannot be read.
    async fn owned(&self, kind: Kind, id: &str) -> Result<Option<Owned>, PortError>;

    /// Remembers to whom something belongs that is alive until then, unless it belongs to somebody. Returns to whom it does.
    /// On disk when this returns.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when that cannot be written.
    async fn claim(&self, kind: Kind, id: &str, owner: &Owner, until: Timestamp) -> Result<Owner, PortError>;

    /// Remembers that something that belongs to somebody is alive for longer.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when that cannot be written.
    async fn extend(&self, kind: Kind, id: &str, until: Timestamp) -> Result<(), PortError>;
}
