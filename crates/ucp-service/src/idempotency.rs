//! Idempotency: a retried change is answered from the store instead of being made again (UCP *Idempotency*; rules
//! IDM-01 to IDM-07).
//!
//! An answer is stored under the platform, the operation, the resource and the key, in the same commit as the change
//! that it describes. Calls are compared by their meaning, not by their bytes: a retry over the other transport is
//! still a retry (trap T-09). Calls about one resource run one at a time, so that a retry that comes too early waits
//! for the answer instead of racing it.

use serde::{Deserialize, Serialize, de::IgnoredAny};
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Code, Operation, Refusal, Release, json,
    ports::ledger::{Kept, Key},
};
use ucp_record::{self as record, Repetition};
use ucp_wire::encoded::{Encoded, RpcError};

/// Idempotency key of a call, with a hash of the call.
#[derive(Clone, Debug)]
pub(crate) struct Keyed {
    /// The key, scoped to platform, operation and resource.
    pub(crate) key: Key,
    /// Hash of the call, see [`identity`].
    pub(crate) identity: [u8; 32],
}

/// Returns the SHA-256 of the operation, the release, the resource ID and the payload in canonical form (members
/// sorted, integral numbers written as integers).
pub(crate) fn identity(operation: Operation, release: Release, id: Option<&str>, payload: &Value) -> [u8; 32] {
    let mut text = String::with_capacity(512);
    for part in [operation.row().name, release.date(), id.unwrap_or_default()] {
        text.push_str(part);
        text.push('\n');
    }
    canonical(payload, &mut text);
    Sha256::digest(text.as_bytes()).into()
}

fn canonical(value: &Value, text: &mut String) {
    match value {
        Value::Object(members) => {
            let mut names: Vec<_> = members.iter().collect();
            names.sort_unstable_by_key(|(name, _)| *name);
            text.push('{');
            for (name, value) in names {
                quoted(name, text);
                text.push(':');
                canonical(value, text);
                text.push(',');
            }
            text.push('}');
        }
        Value::Array(elements) => {
            text.push('[');
            for element in elements {
                canonical(element, text);
                text.push(',');
            }
            text.push(']');
        }
        Value::Number(number) => match json::integer(number) {
            Some(integer) => text.push_str(&integer.to_string()),
            None => text.push_str(&number.to_string()),
        },
        Value::String(string) => quoted(string, text),
        Value::Bool(true) => text.push_str("true"),
        Value::Bool(false) => text.push_str("false"),
        Value::Null => text.push_str("null"),
    }
}

/// Appends a string between quotes, escaped so that different strings stay different.
fn quoted(string: &str, text: &mut String) {
    text.push('"');
    let mut rest = string;
    while let Some(special) = rest.find(['"', '\\']) {
        let (plain, after) = rest.split_at(special);
        text.push_str(plain);
        text.push('\\');
        text.push_str(&after[..1]);
        rest = &after[1..];
    }
    text.push_str(rest);
    text.push('"');
}

/// First line of a stored answer; the document follows as it is. Escaping the document to embed it in another one would
/// cost more than encoding it.
#[derive(Debug, Serialize, Deserialize)]
struct Heading {
    status: u16,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rpc_error: Option<KeptError>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptError {
    code: i32,
    message: String,
    data: String,
}

/// Serializes an answer for the store.
pub(crate) fn stored(encoded: &Encoded) -> String {
    let rpc_error = encoded.rpc_error.clone();
    let heading = Heading {
        status: encoded.status,
        rpc_error: rpc_error.map(|RpcError { code, message, data }| KeptError { code, message, data }),
    };
    let heading = serde_json::to_string(&heading).unwrap_or_else(|error| unreachable!("texts serialise: {error}"));
    [&heading, "\n", &encoded.document].concat()
}

/// Returns the stored answer for a repetition of the same call.
///
/// # Errors
/// [`Code::IdempotencyConflict`] if the call differs from the stored one (rule IDM-03); [`Code::StoredDataDamaged`] if
/// the stored answer is not one that [`stored`] wrote.
pub(crate) fn replayed(kept: &Kept, identity: &[u8; 32]) -> Result<Encoded, Refusal> {
    let is_same = kept.identity == *identity;
    record::note(|facts| facts.repetition = Some(if is_same { Repetition::Replayed } else { Repetition::Conflict }));
    if !is_same {
        let content = "The idempotency key was used for another request before.";
        let accepted = "the same request as before, or a new key";
        return Err(Refusal::new(Code::IdempotencyConflict, content).accepting(accepted));
    }
    let (heading, document) = kept.answer.split_once('\n').unwrap_or_default();
    let damaged = |error: serde_json::Error| {
        // The error of serde can quote the answer.
        Refusal::damaged().because(format!("a kept answer cannot be parsed ({:?})", error.classify()))
    };
    let Heading { status, rpc_error } = serde_json::from_str(heading).map_err(damaged)?;
    serde_json::from_str::<IgnoredAny>(document).map_err(damaged)?;
    let rpc_error = rpc_error.map(|KeptError { code, message, data }| RpcError { code, message, data });
    Ok(Encoded { document: document.to_owned(), status, rpc_error })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    const OPERATION: Operation = Operation::CreateCart;

    fn of(payload: &Value) -> [u8; 32] {
        identity(OPERATION, Release::NEWEST, None, payload)
    }

    #[test]
    fn the_same_request_is_the_same_however_it_is_written() {
        let one = json!({ "a": 1, "b": [{ "c": "x", "d": null }] });
        let other = serde_json::from_str(r#"{ "b": [ { "d": null, "c": "\u0078" } ], "a": 1.0 }"#).expect("JSON");
        assert_eq!(of(&one), of(&other));
        for different in [
            json!({ "a": 2, "b": [{ "c": "x", "d": null }] }),
            json!({ "a": "1", "b": [{ "c": "x", "d": null }] }),
            json!({ "a": 1, "b": [{ "c": "x" }] }),
            json!({ "a": 1, "b": { "c": "x", "d": null } }),
            json!({ "a": 1, "b": [{ "c": "x\\", "d": null }] }),
            json!({ "a": 1, "b": [{ "c": "x\",\"d\":null,}" }] }),
        ] {
            assert_ne!(of(&one), of(&different), "{different}");
        }
        assert_ne!(of(&one), identity(OPERATION, Release::V2026_04_08, None, &one));
        assert_ne!(of(&one), identity(Operation::UpdateCart, Release::NEWEST, None, &one));
        assert_ne!(of(&one), identity(OPERATION, Release::NEWEST, Some("a"), &one));
    }

    #[test]
    fn an_answer_comes_back_as_it_was() {
        let error = RpcError { code: -32603, message: "m\nn".into(), data: "{\"a\":\n1}".into() };
        let encoded = Encoded { document: "{\"b\":\n\"\\u0000\"}".into(), status: 201, rpc_error: Some(error) };
        let kept = Kept { identity: [1; 32], answer: stored(&encoded), at: jiff_epoch() };
        assert_eq!(replayed(&kept, &[1; 32]), Ok(encoded));
        assert_eq!(replayed(&kept, &[2; 32]).expect_err("another request").code, Code::IdempotencyConflict);
    }

    fn jiff_epoch() -> jiff::Timestamp {
        jiff::Timestamp::UNIX_EPOCH
    }

    proptest! {
        #[test]
        fn the_order_of_members_never_matters(mut members: Vec<(String, i64)>) {
            members.sort();
            members.dedup_by(|a, b| a.0 == b.0);
            let object = |members: &[(String, i64)]| Value::Object(members.iter().map(|(name, value)| (name.clone(), (*value).into())).collect());
            let forward = object(&members);
            members.reverse();
            prop_assert_eq!(of(&forward), of(&object(&members)));
        }
    }
}
