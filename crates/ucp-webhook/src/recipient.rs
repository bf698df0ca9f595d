//! Recipients of webhook events.

use std::sync::Arc;

use async_trait::async_trait;
use ucp_core::{Refusal, Release, negotiation::Active};

/// A platform as its current profile describes it.
#[derive(Clone, Debug)]
pub struct Recipient {
    /// Webhook URL that the profile states, unvalidated; `None` if it states none.
    pub webhook: Option<String>,
    /// Release of the platform.
    pub release: Release,
    /// Negotiated capabilities.
    pub active: Arc<Active>,
}

/// Directory of platforms.
#[async_trait]
pub trait Recipients: Send + Sync {
    /// Returns the platform with this profile URL.
    async fn find(&self, owner: &str) -> Result<Recipient, Refusal>;
}
