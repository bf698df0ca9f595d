//! The gateway as its shop sees it: a platform, with a profile of its own.
//!
//! The profile declares whatever can be relayed. Mandates are another matter: where both sides declare them, no checkout
//! can be completed without (rule AP2-01), so that there is a profile with and one without, and which of them a call names
//! depends on its caller.

use serde_json::{Value, json};
use ucp_core::{
    Operation, Release,
    negotiation::Names,
    operation::{AP2_MANDATE, EXTENSIONS, ORDER, Offering, SHOPPING},
};
use ucp_wire::{dialect, profile::Site};

/// Where orders are told of, below the gateway's address.
pub const ORDERS_PATH: &str = "/upstream/orders";

/// Where the profile of the gateway as a platform is, below its address.
#[must_use]
pub fn profile_path(release: Release, mandates: bool) -> String {
    let kind = if mandates { "/mandates" } else { "" };
    format!("/upstream/{release}{kind}/.well-known/ucp")
}

/// The profile of the gateway at `base` as a platform. `keys` are its public keys, as JSON Web Keys.
#[must_use]
pub fn profile(release: Release, mandates: bool, base: &str, keys: &[Value]) -> Value {
    let shopping = |operation: &Operation| operation.row().service == SHOPPING;
    let offering = Offering {
        operations: Operation::ALL.iter().copied().filter(shopping).collect(),
        extensions: EXTENSIONS.iter().copied().filter(|extension| mandates || *extension != AP2_MANDATE).collect(),
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
