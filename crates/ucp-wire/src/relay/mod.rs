//! Documents of a shop that speaks UCP itself, forwarded between it and a caller of another release.
//!
//! Everything here works on JSON as it came: unknown members pass unchanged in both directions. Each release defines in
//! an [`Upgrade`](crate::upgrade::Upgrade) the differences from the next one; documents are rewritten release by
//! release. Only the envelope is written anew, because it names the capabilities negotiated with the caller and not
//! with the gateway.
//!
//! In between, `ucp.status` distinguishes an answer with a resource from one without, also in releases that have no
//! such member: [`answer`] adds it, [`encode`] removes it.

mod absent;
mod envelope;
pub mod methods;
mod prune;

use serde_json::{Map, Value};
use ucp_core::{Operation, Release};

use crate::releases::{dialect, upgrades};

pub use crate::envelope::is_failure;
pub use absent::{find_null, without_nulls};
pub use envelope::{encode, webhook_event};

/// Rewrites a payload of one release into another. `id` is the resource ID that the transport names.
///
/// Members that the other release does not have stay as they are: requests are open.
pub fn request(from: Release, to: Release, operation: Operation, id: Option<&str>, mut payload: Value) -> Value {
    // Older spellings are accepted from callers only; the shop need not know them.
    dialect(from).normalize(operation, &mut payload);
    if let Value::Object(members) = &mut payload {
        upgrades(from, to).for_each(|upgrade| (upgrade.request.up)(operation, members));
        upgrades(to, from).rev().for_each(|upgrade| (upgrade.request.down)(operation, members));
        if from == to {
            dialect(to).respell(operation, members);
        }
        // The payload may omit the ID that the transport names, or has to repeat it (trap T-12).
        if let Some(id) = id {
            members.shift_remove("id");
            if dialect(to).names_resources_twice(operation) {
                members.insert("id".to_owned(), id.into());
            }
        }
    }
    payload
}

/// Adds to a payload of a release what the release requires, and what callers of other releases cannot know of.
pub fn supply(to: Release, operation: Operation, payload: &mut Value) {
    // The payload of an operation that only some releases have one for.
    if payload.is_null() && operation == Operation::CompleteCheckout {
        *payload = Value::Object(Map::new());
    }
    if operation.drafts_checkout() {
        methods::name_destinations(to, payload);
    }
    if let Value::Object(members) = payload {
        // Required beside a cart as well, whose lines count instead (trap T-14).
        if operation == Operation::CreateCheckout && members.contains_key("cart_id") {
            members.entry("line_items").or_insert_with(|| Value::Array(Vec::new()));
        }
        dialect(to).supply(operation, members);
    }
}

/// Rewrites an answer of one release into another, except for the envelope.
pub fn answer(from: Release, to: Release, operation: Operation, mut body: Map<String, Value>) -> Map<String, Value> {
    tell_failure(operation, &mut body);
    upgrades(from, to).for_each(|upgrade| (upgrade.answer.up)(operation, &mut body));
    upgrades(to, from).rev().for_each(|upgrade| (upgrade.answer.down)(operation, &mut body));
    body
}

/// Sets `ucp.status` to `error` in an answer without a resource, for releases that mark it differently.
fn tell_failure(operation: Operation, body: &mut Map<String, Value>) {
    let carries = body.contains_key(operation.row().carries);
    if carries || !body.get("messages").is_some_and(Value::is_array) {
        return;
    }
    body.shift_remove("status");
    if !body.get("ucp").is_some_and(Value::is_object) {
        body.shift_insert(0, "ucp".to_owned(), Value::Object(Map::new()));
    }
    body["ucp"]["status"] = "error".into();
}
