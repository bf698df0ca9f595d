//! Documents of a shop that speaks UCP itself, handed on between it and a caller of another release.
//!
//! Everything here works on JSON as it came: members that nobody names travel untouched, in either direction. Each release
//! says in a [`Step`] how its documents differ from those of the release before; what lies between two releases is walked
//! step by step. Only the envelope is written anew, because it tells what was negotiated with the caller and not with
//! the gateway.
//!
//! Whether an answer carries what was asked for is told by `ucp.status` in every release here, also in those that have no
//! such member: [`answer`] puts it in, [`encode`] takes it out.

mod envelope;
mod prune;

use serde_json::{Map, Value};
use ucp_core::{Operation, Release};

use crate::{
    releases::dialect,
    step::{Step, Way},
};

pub use envelope::{encode, notice};

/// A payload of a release as another one has it. `id` is the resource that the transport names.
///
/// What the other release has no word for stays as it is: requests are open.
#[must_use]
pub fn request(from: Release, to: Release, operation: Operation, id: Option<&str>, mut payload: Value) -> Value {
    // The older spellings that callers of a release may use are none that a shop has to know.
    dialect(from).normalize(operation, &mut payload);
    if let Value::Object(members) = &mut payload {
        walk(from, to, operation, members, |step| &step.request);
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
    walk(from, to, operation, &mut body, |step| &step.answer);
    body
}

/// Whether an answer says why there is nothing to return, rather than carrying what was asked for.
#[must_use]
pub fn is_failure(body: &Map<String, Value>) -> bool {
    body.get("ucp").is_some_and(|ucp| ucp["status"] == "error")
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

/// Takes every step between two releases.
fn walk(
    from: Release,
    to: Release,
    operation: Operation,
    document: &mut Map<String, Value>,
    part: impl Fn(&'static Step) -> &'static Way,
) {
    let step = |release: &Release| part(dialect(*release).step());
    let between = |low: Release, high: Release| &Release::ALL[low.ordinal() + 1..=high.ordinal()];
    if from < to {
        between(from, to).iter().for_each(|release| (step(release).newer)(operation, document));
    } else if to < from {
        between(to, from).iter().rev().for_each(|release| (step(release).older)(operation, document));
    }
}
