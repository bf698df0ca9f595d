//! Documents of a shop that speaks UCP itself, handed on between it and a caller of another release.
//!
//! Everything here works on JSON as it came: members that nobody names travel untouched, in either direction. Each release
//! says in an [`Upgrade`](crate::upgrade::Upgrade) how its documents differ from those of the next one; what lies between
//! two releases is walked step by step. Only the envelope is written anew, because it tells what was negotiated with the caller and not with
//! the gateway.
//!
//! Whether an answer carries what was asked for is told by `ucp.status` in every release here, also in those that have no
//! such member: [`answer`] puts it in, [`encode`] takes it out.

mod envelope;
mod prune;

use serde_json::{Map, Value};
use ucp_core::{Operation, Release};

use crate::releases::{dialect, upgrades};

pub use crate::envelope::is_failure;
pub use envelope::{encode, notice};

/// A payload of a release as another one has it. `id` is the resource that the transport names.
///
/// What the other release has no word for stays as it is: requests are open.
#[must_use]
pub fn request(from: Release, to: Release, operation: Operation, id: Option<&str>, mut payload: Value) -> Value {
    // The older spellings that callers of a release may use are none that a shop has to know.
    dialect(from).normalize(operation, &mut payload);
    if let Value::Object(members) = &mut payload {
        upgrades(from, to).for_each(|upgrade| (upgrade.request.up)(operation, members));
        upgrades(to, from).rev().for_each(|upgrade| (upgrade.request.down)(operation, members));
        // What the transport names already may be missing, or has to be repeated (trap T-12).
        if let Some(id) = id {
            members.shift_remove("id");
            if dialect(to).names_resources_twice(operation) {
                members.insert("id".to_owned(), id.into());
            }
        }
    }
    payload
}

/// An answer of a release as another one has it, but for the envelope.
#[must_use]
pub fn answer(from: Release, to: Release, operation: Operation, mut body: Map<String, Value>) -> Map<String, Value> {
    tell_failure(operation, &mut body);
    upgrades(from, to).for_each(|upgrade| (upgrade.answer.up)(operation, &mut body));
    upgrades(to, from).rev().for_each(|upgrade| (upgrade.answer.down)(operation, &mut body));
    body
}

/// Makes the envelope tell that there is nothing to return, where the release has other signs for it.
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
