//! Port of the store of a gateway.

use super::owners::Owners;
use crate::{order::outbox::Outbox, purchase::ledger::Ledger};

/// Everything that a gateway stores: documents, stock and recorded answers ([`Ledger`]), webhook events that platforms
/// are still to receive ([`Outbox`]), and the owners of resources at another shop ([`Owners`]).
///
/// One store implements all three, because a commit of the ledger that stores an order queues its webhook event.
/// Several processes may have it open at once. `ucp_testkit::store` is its conformance suite.
pub trait Store: Ledger + Outbox + Owners {}

impl<S: Ledger + Outbox + Owners + ?Sized> Store for S {}
