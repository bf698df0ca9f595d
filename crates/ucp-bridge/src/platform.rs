//! Profiles of the gateway as a platform, for the shop.
//!
//! A profile declares all that can be relayed, except for mandates: where both sides declare them, no checkout can be
//! completed without one (rule AP2-01). So there are profiles with mandates and one without, and the caller decides
//! which of them a call names.
//!
//! A mandate is signed by the platform on which the buyer agreed, and the shop looks for the key in the profile of the
//! platform that presents it. Therefore each platform has its own profile of the gateway with mandates, which publishes
//! the platform's keys beside those of the gateway. With a key of a platform, only that platform can be impersonated at
//! the shop.

use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Operation, Release,
    negotiation::Names,
    operation::{AP2_MANDATE, BUYER_CONSENT, DISCOUNT, FULFILLMENT, ORDER, SHOPPING, SupportedOperations},
};
use ucp_wire::{dialect, site::Site};

/// Path below the gateway's address at which webhook events about orders are received.
pub const ORDERS_PATH: &str = "/upstream/orders";

/// Returns the path below the gateway's address of its profile as a platform: the profile without mandates, or that of
/// the platform with this [name].
pub fn profile_path(release: Release, mandates: Option<&str>) -> String {
    let kind = mandates.map(|platform| format!("/mandates/{platform}")).unwrap_or_default();
    format!("/upstream/{release}{kind}/.well-known/ucp")
}

/// Returns the name of a platform in addresses of the gateway: a digest that does not reveal the platform and is the
/// same after a restart.
pub fn name(platform: &str) -> String {
    Sha256::digest(platform).iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the keys followed by others; public JSON Web Keys. Signatures name a key by its `kid` alone, so that a `kid`
/// stays with the first key that has it.
pub fn beside(mut keys: Vec<Value>, others: impl IntoIterator<Item = Value>) -> Vec<Value> {
    for other in others {
        match keys.iter().find(|key| key["kid"] == other["kid"]) {
            None => keys.push(other),
            Some(known) if ["crv", "x", "y"].iter().all(|member| known[member] == other[member]) => {}
            Some(_) => {
                let kid = other["kid"].as_str();
                tracing::warn!(kid, "key not published: another key has its kid, so its signatures cannot be verified");
            }
        }
    }
    keys
}

/// Extensions in which answers of a shop are handed on. Authentications of a shop's buyers take place on its own page:
/// its answers would be of no use to platforms that cannot show them.
pub(crate) const RELAYED: &[&str] = &[FULFILLMENT, DISCOUNT, BUYER_CONSENT, AP2_MANDATE];

/// Returns the profile of the gateway at `base` as a platform. `keys` are its public keys, as JSON Web Keys; `orders` is the
/// address at which it receives webhook events about orders, if it wants them.
pub fn profile(release: Release, mandates: bool, base: &str, keys: &[Value], orders: Option<&str>) -> Value {
    let shopping = |operation: &Operation| operation.row().service == SHOPPING;
    let offering = SupportedOperations {
        operations: Operation::ALL.iter().copied().filter(shopping).collect(),
        extensions: RELAYED.iter().copied().filter(|extension| mandates || *extension != AP2_MANDATE).collect(),
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
    // A platform has no endpoint.
    for entries in ucp["services"].as_object_mut().into_iter().flat_map(|services| services.values_mut()) {
        for entry in entries.as_array_mut().into_iter().flatten().filter_map(Value::as_object_mut) {
            entry.shift_remove("endpoint");
        }
    }
    let Some(orders) = orders else { return profile };
    let webhook = json!({ "webhook_url": orders });
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
