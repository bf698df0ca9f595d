//! To whom carts, checkouts and orders belong that a shop keeps for the gateway.
//!
//! The shop knows the gateway alone, and would give it the cart of any platform. What a platform has not made here does
//! not exist for it.

use async_trait::async_trait;
use ucp_core::{
    Operation, Refusal, Release,
    operation::{CART, CHECKOUT},
};

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
        match operation.row().capability {
            CART => Some(Self::Cart),
            CHECKOUT => Some(Self::Checkout),
            _ if operation == Operation::GetOrder => Some(Self::Order),
            _ => None,
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
}

/// Where owners are remembered. It outlives restarts.
#[async_trait]
pub trait Owners: Send + Sync {
    /// To whom something belongs.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) when that cannot be read.
    async fn owner(&self, kind: Kind, id: &str) -> Result<Option<Owner>, Refusal>;

    /// Remembers to whom something belongs, unless it belongs to somebody. Returns to whom it does. On disk when this
    /// returns.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) when that cannot be written.
    async fn claim(&self, kind: Kind, id: &str, owner: &Owner) -> Result<Owner, Refusal>;
}
