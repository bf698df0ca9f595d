//! The sales of a shop: carts, checkouts and orders.

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

/// What can be bought in a shop, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SalesCapabilities {
    /// How purchases end.
    pub completion: Completion,
    /// Whether orders can be looked at.
    pub orders: bool,
    /// The extensions of carts and checkouts that it knows, by the domain's names.
    pub extensions: &'static [&'static str],
}

/// How purchases end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Through the API.
    Native,
    /// On a page of the shop, by the buyer.
    HandOff,
}

impl SalesCapabilities {
    /// Everything that the domain knows.
    pub const ALL: Self = Self { completion: Completion::Native, orders: true, extensions: EXTENSIONS };

    /// What can be asked of such a shop.
    #[must_use]
    pub fn offering(self) -> Offering {
        let asked = |operation: &Operation| match operation.row().resource {
            Resource::Catalog | Resource::Cart | Resource::Checkout => true,
            Resource::Order => self.orders,
            Resource::Directory => false,
        };
        Offering {
            operations: Operation::ALL.iter().copied().filter(asked).collect(),
            extensions: self.extensions.to_vec(),
            sealed_in: None,
        }
    }
}

/// Where the goods of a shop are bought.
///
/// Every operation returns what to answer together with what has to be on disk before it is answered; nothing else is
/// written, so that the answer kept under an idempotency key and the state it tells of are one commit. Completing a
/// checkout alone writes down its intent on its own, before money moves. A call that is carried out again, because its
/// change turned out stale or its process died, must never buy twice.
#[async_trait]
pub trait Sales: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> SalesCapabilities {
        SalesCapabilities::ALL
    }

    /// Where answers are kept under idempotency keys, together with the state they tell of.
    fn ledger(&self) -> &dyn Ledger;

    /// The time.
    fn now(&self) -> Timestamp;

    /// Decides what becomes of a request.
    ///
    /// # Errors
    /// What the ports behind it fail with, and what cannot be priced.
    async fn decide(&self, caller: &Caller, request: SaleRequest) -> Result<Decision, Refusal>;
}

/// What to answer, and what has to be on disk before.
#[derive(Debug)]
pub struct Decision {
    /// The answer.
    pub outcome: Outcome,
    /// What changes.
    pub change: Change,
}

impl Decision {
    /// An answer that changes nothing.
    #[must_use]
    pub fn unchanged(outcome: Outcome) -> Self {
        Self { outcome, change: Change::default() }
    }
}
