//! Checkouts that the shop signs, for platforms that negotiated mandates (UCP *AP2 Mandates*).
//!
//! Neither what the shop has signed nor what the platform has the buyer sign can be rewritten. Both are forwarded
//! unchanged, and the gateway makes sure that each side finds the keys of the other.

use std::sync::Arc;

use serde_json::{Map, Value};
use ucp_core::{Code, Refusal, Release, operation::AP2_MANDATE, ports::caller::Caller};

use super::{Bridge, platform, response};

/// Maximum number of platforms whose keys are kept for shops to look up, and of keys per platform.
pub(super) const PLATFORMS: (usize, usize) = (2_048, 16);

impl Bridge {
    /// Refuses a call under mandates if the caller's release is not the shop's, or the shop no longer takes mandates.
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
        // Without mandates it would not be the purchase that was agreed on (rule AP2-01).
        let content = "The shop does not take mandates any more, so that nothing can be bought here under them.";
        Err(Refusal::unavailable(content, 300))
    }

    /// Publishes the keys of a platform before the shop learns of it, and returns the [name](platform::name) of the
    /// platform.
    pub(super) fn introduce(&self, caller: &Caller) -> Arc<str> {
        let name: Arc<str> = platform::name(&caller.owner).into();
        let keys: Vec<_> = caller
            .mandate_verifier
            .iter()
            .flat_map(|mandate_verifier| mandate_verifier.platform_keys())
            .take(PLATFORMS.1)
            .collect();
        // Keys are kept if the platform's profile is temporarily unreachable.
        if !keys.is_empty() && self.0.platform_keys.get(&*name).is_none_or(|known| *known != *keys) {
            self.0.platform_keys.insert(Arc::clone(&name), keys.into());
        }
        name
    }

    /// Verifies the shop's signature of a checkout.
    pub(super) async fn verified(&self, body: &Map<String, Value>) -> Result<(), Refusal> {
        let verified = self.0.peer.verify_seal(&Value::Object(body.clone())).await;
        verified.map_err(|error| {
            tracing::error!(%error, "upstream negotiated mandates but did not sign its checkout");
            response::unusable().into()
        })
    }
}
