//! Result of negotiating with a platform, computed once per profile and cached with it in the directory.

use std::sync::Arc;

use ucp_core::{Release, negotiation::Active};
use ucp_trust::directory::Weigh;

/// Result of negotiating with a platform's profile.
#[derive(Clone, Debug)]
pub struct NegotiatedProfile {
    /// The release that the profile names, if the gateway supports it.
    pub(crate) release: Option<Release>,
    /// The capabilities active with the platform.
    pub(crate) active: Arc<Active>,
    /// The capabilities active while this business has a signing key, if they differ from `active`.
    pub(crate) signing: Option<Arc<Active>>,
}

impl Weigh for NegotiatedProfile {
    fn weight(&self) -> usize {
        // Estimate: a name, a version and a few parents each. Shared values are counted as if they were not shared.
        const CAPABILITY: usize = 160;
        let count = |active: &Active| active.iter().count() * CAPABILITY;
        count(&self.active) + self.signing.as_deref().map_or(0, count)
    }
}
