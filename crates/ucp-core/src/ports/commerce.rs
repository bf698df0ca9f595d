//! Port of the sales of a shop: carts, checkouts and orders.

use async_trait::async_trait;
use jiff::Timestamp;

use super::{
    caller::Caller,
    ledger::{Change, Ledger, Stored},
};
use crate::{
    Operation, Refusal,
    call::{Outcome, SaleRequest},
    checkout::{Checkout, due_payment::DuePayment},
    operation::{EXTENSIONS, Resource, SupportedOperations},
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
    pub fn offering(self) -> SupportedOperations {
        let asked = |operation: &Operation| match operation.row().resource {
            Resource::Catalog => true,
            Resource::Cart | Resource::Checkout => self.purchases,
            Resource::Order => self.purchases && self.orders,
            Resource::Directory => false,
        };
        SupportedOperations {
            operations: Operation::ALL.iter().copied().filter(asked).collect(),
            extensions: self.extensions.to_vec(),
            sealed_in: None,
        }
    }
}

/// Sales of a shop.
///
/// Every operation returns the answer together with the change that has to be on disk before the answer is given, so
/// that the answer recorded under an idempotency key and the state that it reports are one commit. Deciding writes
/// nothing and asks nobody to do anything: what others have to do is committed with the change as a task, and carried
/// out after it ([`Then`]). A call that is carried out again, because its change was stale or the process died, must never
/// buy twice. Errors are those of the ports behind it.
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

    /// Carries out what follows a decision whose change is committed. Returns the answer in place of the decision's, with
    /// the change to commit before it is given; `None` if it stands, or after [`Then::CallOff`] has to be decided again.
    async fn follow(&self, caller: &Caller, then: Then) -> Result<Option<Decision>, Refusal>;
}

/// An answer, and the change that has to be committed before it is given.
#[derive(Debug)]
pub struct Decision {
    /// Answer to the call.
    pub outcome: Outcome,
    /// Change to commit.
    pub change: Box<Change>,
    /// Work of others that the call waits for, once the change is committed.
    pub then: Option<Then>,
}

/// Work of others that a call waits for. It is carried out by the agenda if the call does not come to it.
#[derive(Debug)]
pub enum Then {
    /// The payment that the change has begun is made.
    Pay(Box<DuePayment>),
    /// The processor is asked for the end of the payment of a checkout, or the shop for its order: at most once in some
    /// seconds, whoever looks at the checkout.
    Ask(Box<Stored<Checkout>>),
    /// The payment of a checkout is called off, which waits for its buyer. Then the call is decided again.
    CallOff(Box<Stored<Checkout>>),
}

impl Decision {
    /// Creates a decision that changes nothing.
    pub fn unchanged(outcome: Outcome) -> Self {
        Self { outcome, change: Box::default(), then: None }
    }

    /// Returns the decision with work of others to wait for.
    #[must_use]
    pub fn then(self, then: Then) -> Self {
        Self { then: Some(then), ..self }
    }
}
