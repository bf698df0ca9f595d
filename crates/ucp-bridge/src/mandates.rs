//! Checkouts that the shop signs, for platforms that negotiated mandates (UCP *AP2 Mandates*).
//!
//! Nothing of them can be written anew: neither what the shop has signed, nor what the platform has the buyer sign.
//! They go from one to the other as they are, and the gateway sees to it that each finds the keys of the other.

use std::sync::Arc;

use serde_json::{Map, Value};
use ucp_core::{Code, Refusal, Release, operation::AP2_MANDATE, purchase::caller::Caller};

use super::{Bridge, platform, response};

/// How many platforms' keys are kept, and how many of each, so that shops can look them up.
pub(super) const PLATFORMS: (usize, usize) = (2_048, 16);

impl Bridge {
    /// Whether what the shop signs can be handed on to a caller of this release.
    pub(super) fn can_be_signed_for(&self, release: Release) -> Result<(), Refusal> {
        if release != self.0.release {
            let content = format!(
                "This business takes mandates in release {} alone, because what it signs cannot be written in another one.",
                self.0.release
            );
            let accepted = format!("a profile of release {}, or one without {AP2_MANDATE}", self.0.release);
            return Err(Refusal::new(Code::VersionUnsupported, content).accepting(accepted));
        }
        if self.0.peer.known().profile.offering.extends(AP2_MANDATE, release) {
            return Ok(());
        }
        // Without them it is not the purchase that was agreed to be made (rule AP2-01).
        let content = "The shop does not take mandates any more, so that nothing can be bought here under them.";
        Err(Refusal::unavailable(content, 300))
    }

    /// Keeps the keys of a platform where the shop can look them up that is about to hear of it. Yields its name there.
    pub(super) fn introduce(&self, caller: &Caller) -> Arc<str> {
        let name: Arc<str> = platform::name(&caller.owner).into();
        let keys: Vec<_> = caller
            .mandate_verifier
            .iter()
            .flat_map(|mandate_verifier| mandate_verifier.platform_keys())
            .take(PLATFORMS.1)
            .collect();
        // A profile that is out of reach for once takes no keys away.
        if !keys.is_empty() && self.0.platform_keys.get(&*name).is_none_or(|known| *known != *keys) {
            self.0.platform_keys.insert(Arc::clone(&name), keys.into());
        }
        name
    }

    /// A checkout that the shop has signed.
    pub(super) async fn verified(&self, body: Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
        let checkout = Value::Object(body);
        if let Err(error) = self.0.peer.verify_seal(&checkout).await {
            tracing::error!(%error, "the shop negotiated mandates and has not signed its checkout");
            return Err(response::unusable());
        }
        match checkout {
            Value::Object(body) => Ok(body),
            _ => Err(Refusal::internal()),
        }
    }
}
