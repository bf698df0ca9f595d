//! What follows from a platform's profile, worked out once and kept with it in the directory.

use std::sync::Arc;

use ucp_core::{Release, negotiation::Active};
use ucp_trust::directory::Weigh;

/// What follows from a platform's profile.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The release it speaks, if that is one of ours.
    pub(crate) release: Option<Release>,
    /// What is active with it.
    pub(crate) active: Arc<Active>,
    /// The same while this business has a key to sign with, where that makes a difference.
    pub(crate) signing: Option<Arc<Active>>,
}

impl Weigh for Standing {
    fn weight(&self) -> usize {
        // Roughly: a name, a version and a few parents each. Shared values are counted as if they were not.
        const CAPABILITY: usize = 160;
        let count = |active: &Active| active.iter().count() * CAPABILITY;
        count(&self.active) + self.signing.as_deref().map_or(0, count)
    }
}
