//! The port of what a gateway keeps.

use super::owners::Owners;
use crate::{order::outbox::Outbox, purchase::ledger::Ledger};

/// Everything that a gateway keeps: documents, stock and kept answers ([`Ledger`]), what platforms are still to be told
/// ([`Outbox`]), and to whom things at a shop elsewhere belong ([`Owners`]).
///
/// A store is one place for all three, because a commit of the ledger that stores an order queues its notice. Several
/// processes may have it open at once. `ucp_testkit::store` is its conformance suite.
pub trait Store: Ledger + Outbox + Owners {}

impl<S: Ledger + Outbox + Owners + ?Sized> Store for S {}
