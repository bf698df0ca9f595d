//! Whose cart it is, and what was negotiated with its platform.

use std::{net::IpAddr, sync::Arc};

use super::notary::Notary;
use crate::negotiation::Active;

/// The platform behind a call, as far as carts, checkouts and orders depend on it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Its identity: the address of its profile. Whatever it makes belongs to it and does not exist for others.
    pub owner: String,
    /// What is active with it.
    pub active: Arc<Active>,
    /// Whether it can show several groups per fulfillment method (rule FUL-02).
    pub multi_group: bool,
    /// The buyer in whose name it asks.
    pub visitor: Visitor,
    /// Who can tell whether its mandates are good, where anybody can.
    pub notary: Option<Arc<dyn Notary>>,
}

impl Caller {
    /// Whether a capability was negotiated.
    #[must_use]
    pub fn has(&self, capability: &str) -> bool {
        self.active.contains(capability)
    }
}

/// The buyer in whose name an identified platform asks, as far as its signals say so (UCP *Signals*). It never decides
/// about an answer; a shop behind another API may have to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visitor {
    /// Where the buyer's requests come from.
    pub ip: Option<IpAddr>,
}
