//! Whose cart it is, and what was negotiated with its platform.

use std::sync::Arc;

use super::mandate::Notary;
use crate::{negotiation::Active, port::Visitor};

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
