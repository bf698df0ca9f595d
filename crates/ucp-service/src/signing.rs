//! The keys that the gateway signs with.

use std::sync::{Arc, PoisonError, RwLock};

use ucp_trust::{jwk::PublicKey, signature::SigningKey};

/// The current signing keys, if there are any, and the published keys; all are replaced on a rotation.
#[derive(Debug, Default)]
pub struct CurrentKey {
    signer: RwLock<Option<Arc<SigningKey>>>,
    mandate_signer: RwLock<Option<Arc<SigningKey>>>,
    published: RwLock<Arc<[PublicKey]>>,
}

impl CurrentKey {
    /// Returns the current signing key.
    pub fn get(&self) -> Option<Arc<SigningKey>> {
        self.signer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the current key for AP2 mandates, which are not signed with every algorithm.
    pub fn for_mandates(&self) -> Option<Arc<SigningKey>> {
        self.mandate_signer.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the signing keys, for messages and for mandates.
    pub fn set(&self, key: Option<Arc<SigningKey>>, for_mandates: Option<Arc<SigningKey>>) {
        *self.signer.write().unwrap_or_else(PoisonError::into_inner) = key;
        *self.mandate_signer.write().unwrap_or_else(PoisonError::into_inner) = for_mandates;
    }

    /// Returns the published keys. They include retired ones, so that older signatures of the gateway can still be
    /// verified.
    pub fn published(&self) -> Arc<[PublicKey]> {
        Arc::clone(&self.published.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Replaces the published keys.
    pub fn publish(&self, keys: Arc<[PublicKey]>) {
        *self.published.write().unwrap_or_else(PoisonError::into_inner) = keys;
    }
}
