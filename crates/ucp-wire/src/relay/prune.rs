//! Removal of members that were not negotiated with the caller.

use serde_json::{Map, Value};
use ucp_core::{
    Operation,
    negotiation::Active,
    operation::{AP2_MANDATE, BUYER_CONSENT, CART, CHECKOUT, DISCOUNT, FULFILLMENT},
};

/// The members that extensions add to carts and checkouts, as paths.
const MEMBERS: [(&str, &[&str]); 4] = [
    (DISCOUNT, &["discounts"]),
    (FULFILLMENT, &["fulfillment"]),
    (BUYER_CONSENT, &["buyer", "consent"]),
    (AP2_MANDATE, &["ap2"]),
];

/// Removes the members of extensions that are not active with the caller. Members that belong to no declared extension
/// stay.
pub(super) fn prune(operation: Operation, body: &mut Map<String, Value>, active: &Active) {
    let root = operation.row().capability;
    let negotiated = |name: &str| active.relevant_to(root).any(|(known, _)| known == name);
    if matches!(root, CART | CHECKOUT) {
        for (extension, path) in MEMBERS {
            if !negotiated(active.name_of(extension)) {
                remove(body, path);
            }
        }
    }
    // Members of a vendor's extension start with the name of the extension.
    let declared = body.get("ucp").and_then(|ucp| ucp["capabilities"].as_object());
    let foreign: Vec<_> = declared
        .into_iter()
        .flatten()
        .map(|(name, _)| name.clone())
        .filter(|name| !name.starts_with("dev.ucp.") && !negotiated(name))
        .collect();
    body.retain(|member, _| {
        !foreign
            .iter()
            .any(|name| member.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    });
}

fn remove(body: &mut Map<String, Value>, path: &[&str]) {
    match path {
        [] => {}
        [last] => {
            body.shift_remove(*last);
        }
        [first, rest @ ..] => {
            if let Some(inner) = body.get_mut(*first).and_then(Value::as_object_mut) {
                remove(inner, rest);
            }
        }
    }
}
