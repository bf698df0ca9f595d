//! The calling platform, and the capabilities negotiated with it.

use std::{net::IpAddr, sync::Arc};

use super::mandate_verifier::MandateVerifier;
use crate::negotiation::Active;

/// The platform that makes a call, as far as carts, checkouts and orders depend on it.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Identity of the platform: the URL of its profile. Documents belong to the platform that creates them and do not
    /// exist for others.
    pub owner: String,
    /// Capabilities and extensions negotiated with the platform.
    pub active: Arc<Active>,
    /// `true` if the platform can show several groups per fulfillment method (rule FUL-02).
    pub multi_group: bool,
    /// Buyer on whose behalf the platform calls.
    pub buyer_signals: BuyerSignals,
    /// Customer group that the operator states for the platform, if the call is proven to be the platform's.
    pub customer_group: Option<String>,
    /// Verifier of the platform's mandates; `None` if mandates cannot be verified.
    pub mandate_verifier: Option<Arc<dyn MandateVerifier>>,
}

impl Caller {
    /// Returns `true` if a capability was negotiated.
    pub fn has(&self, capability: &str) -> bool {
        self.active.contains(capability)
    }
}

/// Signals about the buyer, as sent by an identified platform (UCP *Signals*). They never influence an answer, but a
/// shop behind another API may need them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BuyerSignals {
    /// IP address of the buyer.
    pub ip: Option<IpAddr>,
}
