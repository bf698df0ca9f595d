//! The gateway as its shop sees it: a platform, with profiles of its own.
//!
//! A profile declares whatever can be relayed. Mandates are another matter: where both sides declare them, no checkout
//! can be completed without (rule AP2-01), so that there are profiles with and one without, and which of them a call
//! names depends on its caller.
//!
//! A mandate is signed by the platform that had the buyer agree, and the shop looks for its key in the profile of
//! whoever presents it. So each platform has a profile of the gateway with mandates to itself, which publishes the
//! platform's keys beside those of the gateway. What can be done with a key of that platform, there at the shop, is to
//! be that platform.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Operation, Release,
    negotiation::Names,
    operation::{AP2_MANDATE, EXTENSIONS, ORDER, Offering, SHOPPING},
};
use ucp_wire::{dialect, site::Site};

/// Where orders are told of, below the gateway's address.
pub const ORDERS_PATH: &str = "/upstream/orders";

/// Where the profile of the gateway as a platform is, below its address: the one without mandates, or the one of the
/// platform with this name.
#[must_use]
pub fn profile_path(release: Release, mandates: Option<&str>) -> String {
    let kind = mandates.map(|platform| format!("/mandates/{platform}")).unwrap_or_default();
    format!("/upstream/{release}{kind}/.well-known/ucp")
}

/// The name of a platform in addresses of the gateway. It tells nothing about the platform, and is the same after a
/// restart.
#[must_use]
pub fn name(platform: &str) -> String {
    Sha256::digest(platform).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// These keys, and those of others beside them; public JSON Web Keys. Signatures name a key by its `kid` alone, so that
/// a `kid` that is taken by another key stays with the first.
#[must_use]
pub fn beside(mut keys: Vec<Value>, others: impl IntoIterator<Item = Value>) -> Vec<Value> {
    for other in others {
        match keys.iter().find(|key| key["kid"] == other["kid"]) {
            None => keys.push(other),
            Some(known) if ["crv", "x", "y"].iter().all(|member| known[member] == other[member]) => {}
            Some(_) => {
                let kid = other["kid"].as_str();
                tracing::warn!(
                    kid,
                    "a key is not published, because another one has its kid; what it signs cannot be verified"
                );
            }
        }
    }
    keys
}

/// The profile of the gateway at `base` as a platform. `keys` are its public keys, as JSON Web Keys.
#[must_use]
pub fn profile(release: Release, mandates: bool, base: &str, keys: &[Value]) -> Value {
    let shopping = |operation: &Operation| operation.row().service == SHOPPING;
    let offering = Offering {
        operations: Operation::ALL.iter().copied().filter(shopping).collect(),
        extensions: EXTENSIONS.iter().copied().filter(|extension| mandates || *extension != AP2_MANDATE).collect(),
        sealed_in: None,
    };
    let site = Site {
        endpoint: base,
        offering: &offering,
        names: &Names::default(),
        keys,
        handlers: &[],
        supported_versions: &[],
    };
    let mut profile = dialect(release).profile(&site);
    let ucp = &mut profile["ucp"];
    // A platform is called nowhere.
    for entries in ucp["services"].as_object_mut().into_iter().flat_map(|services| services.values_mut()) {
        for entry in entries.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            entry.shift_remove("endpoint");
        }
    }
    let webhook = json!({ "webhook_url": format!("{base}{ORDERS_PATH}") });
    match &mut ucp["capabilities"] {
        Value::Object(named) => {
            for entry in named.get_mut(ORDER).and_then(Value::as_array_mut).into_iter().flatten() {
                entry["config"] = webhook.clone();
            }
        }
        Value::Array(listed) => {
            for entry in listed.iter_mut().filter(|entry| entry["name"] == ORDER) {
                entry["config"] = webhook.clone();
            }
        }
        _ => {}
    }
    profile
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kid_stays_with_the_first_key_that_has_it() {
        let key =
            |kid: &str, x: &str| json!({ "kid": kid, "kty": "EC", "crv": "P-256", "x": x, "y": "y", "use": "sig" });
        let mut again = key("a", "1");
        again["alg"] = "ES256".into();
        let published = beside(vec![key("a", "1")], [again, key("b", "2"), key("a", "3"), key("b", "4")]);
        assert_eq!(published, [key("a", "1"), key("b", "2")]);
    }
}
