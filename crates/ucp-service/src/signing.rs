//! The keys that the gateway signs with.

use std::sync::{Arc, PoisonError, RwLock};

use ucp_trust::{jwk::PublicKey, signature::SigningKey};

/// The key that the gateway signs with at the moment, if it has one, and those that it publishes; others after a rotation.
#[derive(Debug, Default)]
pub struct CurrentKey {
    signer: RwLock<Option<Arc<SigningKey>>>,
    published: RwLock<Arc<[PublicKey]>>,
}

impl CurrentKey {
    /// The key.
    #[must_use]
    pub fn get(&self) -> Option<Arc<SigningKey>> {
        self.signer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Signs with another key from now on.
    pub fn set(&self, key: Option<Arc<SigningKey>>) {
        *self.signer.write().unwrap_or_else(PoisonError::into_inner) = key;
    }

    /// The keys that are published, also those that sign nothing more: what a signature of ours that comes back is
    /// verified with.
    #[must_use]
    pub fn published(&self) -> Arc<[PublicKey]> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Publishes other keys from now on.
    pub fn publish(&self, keys: Arc<[PublicKey]>) {
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }
}
