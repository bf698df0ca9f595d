//! Port of mandate verification.

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use crate::{
    checkout::View,
    message::Message,
    purchase::mandate::{Evidence, Mandate},
};

/// Verifier of mandates: an implementation knows the platform's keys, the shop's keys, and how checkouts are written
/// for this platform.
#[async_trait]
pub trait MandateVerifier: fmt::Debug + Send + Sync {
    /// Verifies that a mandate proves, at time `now`, that the buyer agreed to the checkout as it would be answered
    /// now. Fails with the reason of the rejection, as an error message made by
    /// [`refused`](crate::purchase::mandate::refused).
    async fn verify(&self, mandate: Option<&Mandate>, checkout: View, now: Timestamp) -> Result<Evidence, Message>;

    /// Returns the known public keys of the platform as JSON Web Keys, for a shop that verifies mandates itself.
    fn platform_keys(&self) -> Vec<Value> {
        Vec::new()
    }
}
