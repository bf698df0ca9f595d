//! Who is told: platforms, as they are known at the moment.

use std::sync::Arc;

use async_trait::async_trait;
use ucp_core::{Refusal, Release, negotiation::Active};

/// A platform, as it is known at the moment.
#[derive(Clone, Debug)]
pub struct Recipient {
    /// Where it wants to hear about orders, as it states it; `None` when it does not.
    pub webhook: Option<String>,
    /// The release it speaks.
    pub release: Release,
    /// What was negotiated with it.
    pub active: Arc<Active>,
}

/// Knows platforms.
#[async_trait]
pub trait Recipients: Send + Sync {
    /// The platform with this profile, as it is now.
    async fn find(&self, owner: &str) -> Result<Recipient, Refusal>;
}
