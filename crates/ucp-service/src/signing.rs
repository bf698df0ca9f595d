//! The keys that the gateway signs with.

use std::sync::{Arc, PoisonError, RwLock};

use ucp_trust::{jwk::PublicKey, signature::SigningKey};

/// The current signing key, if there is one, and the published keys; both are replaced on a rotation.
#[derive(Debug, Default)]
pub struct CurrentKey {
    signer: RwLock<Option<Arc<SigningKey>>>,
    published: RwLock<Arc<[PublicKey]>>,
}

impl CurrentKey {
    /// Returns the current signing key.
    #[must_use]
    pub fn get(&self) -> Option<Arc<SigningKey>> {
        self.signer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the signing key.
    pub fn set(&self, key: Option<Arc<SigningKey>>) {
        *self.signer.write().unwrap_or_else(PoisonError::into_inner) = key;
    }

    /// Returns the published keys. They include retired ones, so that older signatures of the gateway can still be
    /// verified.
    #[must_use]
    pub fn published(&self) -> Arc<[PublicKey]> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the published keys.
    pub fn publish(&self, keys: Arc<[PublicKey]>) {
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }
}
