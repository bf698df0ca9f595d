//! Port of the sales of a shop: carts, checkouts and orders.

use async_trait::async_trait;
use jiff::Timestamp;

use crate::{
    Operation, Refusal,
    call::{Outcome, SaleRequest},
    operation::{EXTENSIONS, Offering, Resource},
    purchase::{
        caller::Caller,
        ledger::{Change, Ledger},
    },
};

/// Sales operations and extensions that a shop supports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SalesCapabilities {
    /// `true` if there are carts and checkouts; otherwise the catalog is all that is offered.
    pub purchases: bool,
    /// Means by which purchases are completed.
    pub completion: Completion,
    /// `true` if orders can be read.
    pub orders: bool,
    /// Extensions of carts and checkouts that the shop supports, by the names of the operation table.
    pub extensions: &'static [&'static str],
}

/// Means by which purchases are completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// By the platform, through the API.
    Native,
    /// By the buyer, on a page of the shop.
    HandOff,
}

impl SalesCapabilities {
    /// Everything that the domain supports.
    pub const ALL: Self =
        Self { purchases: true, completion: Completion::Native, orders: true, extensions: EXTENSIONS };

    /// Returns the operations and extensions that such a shop can serve.
    #[must_use]
    pub fn offering(self) -> Offering {
        let asked = |operation: &Operation| match operation.row().resource {
            Resource::Catalog => true,
            Resource::Cart | Resource::Checkout => self.purchases,
            Resource::Order => self.purchases && self.orders,
            Resource::Directory => false,
        };
        Offering {
            operations: Operation::ALL.iter().copied().filter(asked).collect(),
            extensions: self.extensions.to_vec(),
            sealed_in: None,
        }
    }
}

/// Sales of a shop.
///
/// Every operation returns the answer together with the change that has to be on disk before the answer is given, so
/// that the answer recorded under an idempotency key and the state that it reports are one commit. Completing a
/// checkout is an exception: it stores the payment attempt on its own before money moves. A call that is carried out
/// again, because its change was stale or the process died, must never buy twice.
#[async_trait]
pub trait Commerce: Send + Sync {
    /// Returns the supported operations and extensions.
    fn capabilities(&self) -> SalesCapabilities {
        SalesCapabilities::ALL
    }

    /// Returns the store of documents and of the answers recorded under idempotency keys.
    fn ledger(&self) -> &dyn Ledger;

    /// Returns the current time, UTC.
    fn now(&self) -> Timestamp;

    /// Carries out a request, up to the commit of its change.
    ///
    /// # Errors
    /// Errors of the ports behind it, and [`InvalidRequest`](crate::Code::InvalidRequest) for a draft that cannot be
    /// priced.
    async fn decide(&self, caller: &Caller, request: SaleRequest) -> Result<Decision, Refusal>;
}

/// An answer, and the change that has to be committed before it is given.
#[derive(Debug)]
pub struct Decision {
    /// Answer to the call.
    pub outcome: Outcome,
    /// Change to commit.
    pub change: Change,
}

impl Decision {
    /// Creates a decision that changes nothing.
    #[must_use]
    pub fn unchanged(outcome: Outcome) -> Self {
        Self { outcome, change: Change::default() }
    }
}
