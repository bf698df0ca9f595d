//! The directory of merchants: the draft *Merchant* capability over every way of calling it, UCP's locations on the
//! same engine, and what an operator can do with both.

mod draft;
mod geocoding;
mod importing;
mod locations;
mod offering;
mod privacy;

use serde_json::{Value, json};
use ucp_core::{Operation, Release};
use ucp_wire::documents::release_path;

use crate::harness::{Gateway, REST_HEADERS, RPC_HEADERS, Verdict, rpc};

/// The profile that the examples of the draft name.
const PROFILE: &str = "https://platform.example/profiles/v2026-01/shopping-agent.json";

/// A way of calling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Over REST.
    Rest,
    /// As a tool, with what is asked among the arguments where the operation has it so.
    Tool,
    /// As a JSON-RPC method with the parameters of the draft.
    Method,
}

const WAYS: [Way; 3] = [Way::Rest, Way::Tool, Way::Method];

/// Response of an operation in a version.
fn call(gateway: &Gateway, release: Release, way: Way, name: &str, payload: &Value) -> Verdict {
    let row = Operation::named(name).expect("an operation").row();
    let prefix = release_path(release);
    let envelope = json!({ "ucp": { "profile": PROFILE } });
    let post = |method: &str, params: &Value| {
        gateway.send("POST", &format!("{prefix}/mcp"), RPC_HEADERS, rpc(method, params).to_string().as_bytes())
    };
    match way {
        Way::Rest => {
            let path = row.path.replace("{id}", payload["id"].as_str().unwrap_or_default());
            let body = if row.payload.is_some() { payload.to_string() } else { String::new() };
            let response = gateway.send(row.method.as_str(), &format!("{prefix}{path}"), REST_HEADERS, body.as_bytes());
            Verdict::of_rest(&response)
        }
        Way::Tool => {
            let mut arguments = match (row.flat, row.payload) {
                (false, Some(member)) => json!({ member: payload }),
                _ => payload.clone(),
            };
            arguments["meta"] = json!({ "ucp-agent": { "profile": PROFILE } });
            Verdict::of_rpc(&post("tools/call", &json!({ "name": name, "arguments": arguments })), true)
        }
        Way::Method => {
            let mut params = payload.clone();
            params["_meta"] = envelope;
            Verdict::of_rpc(&post(name, &params), false)
        }
    }
}

/// The answer of an operation of the newest release over REST, which has the shape that its schema promises.
fn ask(gateway: &Gateway, name: &str, payload: &Value) -> Value {
    let answer = call(gateway, Release::NEWEST, Way::Rest, name, payload).answer();
    crate::official::check(name, &answer);
    answer
}

/// A verdict without the cursor of its page, which says when the page was made.
fn timeless(verdict: &Verdict) -> Verdict {
    match verdict {
        Verdict::Answered(_) => {
            let mut answer = verdict.answer();
            if let Some(page) = answer.get_mut("pagination").and_then(Value::as_object_mut) {
                page.shift_remove("cursor");
            }
            Verdict::Answered(answer.to_string())
        }
        Verdict::Refused(_) => verdict.clone(),
    }
}

/// Members of a document that have one name, in the order of the document.
fn ids(list: &Value) -> Vec<&str> {
    crate::harness::texts(list, "id")
}
