//! The port behind which mandates are verified.

use std::fmt;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use super::mandate::{Evidence, Mandate};
use crate::{checkout::View, message::Message};

/// Who can tell whether a mandate is good: knows the platform's keys, the shop's own, and how checkouts are written for
/// this platform.
#[async_trait]
pub trait Notary: fmt::Debug + Send + Sync {
    /// Whether a mandate proves, at this time, that the buyer agreed to the checkout as it would be answered now.
    ///
    /// # Errors
    /// Why it does not, as [`refused`](super::mandate::refused) says it.
    async fn verify(&self, mandate: Option<&Mandate>, checkout: View, now: Timestamp) -> Result<Evidence, Message>;

    /// The platform's keys, as far as they are known: public JSON Web Keys. For a shop that verifies mandates itself.
    fn platform_keys(&self) -> Vec<Value> {
        Vec::new()
    }
}
