//! Every input gets a response in the protocol's form: 4xx, JSON, `code`, `content` and a path; never a 5xx, never
//! plain text, and the same on both transports.

mod agent;
mod http;
mod ids;
mod json_text;
mod rpc_messages;
mod shape;

use serde_json::{Value, json};
use ucp_core::Operation;

use crate::{
    harness::{
        Gateway, PROFILE, REST_HEADERS, RPC_HEADERS, Refused, Verdict, codes, elements, meta, own_schema, repository,
        rpc,
    },
    setup::Configured,
    wire::{self, Response},
};

const MIB: usize = 1024 * 1024;

/// The verdicts on a payload that is given as bytes: over REST, and inside the envelope of a tool call.
fn both(gateway: &Gateway, operation: &str, payload: &[u8]) -> [Verdict; 2] {
    let row = Operation::named(operation).expect("an operation").row();
    let rest = gateway.send("POST", row.path, REST_HEADERS, payload);
    let envelope = call(operation, payload);
    let mcp = gateway.send("POST", "/mcp", RPC_HEADERS, &envelope);
    [Verdict::of_rest(&rest), Verdict::of_rpc(&mcp, true)]
}

/// A tool call around a payload that may be no JSON.
fn call(operation: &str, payload: &[u8]) -> Vec<u8> {
    let arguments = json!({ "meta": meta(), "catalog": "PAYLOAD" });
    around(&rpc("tools/call", &json!({ "name": operation, "arguments": arguments })), payload)
}

/// A message with a payload in the place that says so.
fn around(message: &Value, payload: &[u8]) -> Vec<u8> {
    let text = message.to_string();
    let (before, after) = text.split_once("\"PAYLOAD\"").expect("the place of the payload");
    [before.as_bytes(), payload, after.as_bytes()].concat()
}

/// Checks that both reject it equally, and returns the error.
#[track_caller]
fn refused_by_both(gateway: &Gateway, operation: &str, payload: &[u8]) -> Refused {
    let [rest, mcp] = both(gateway, operation, payload);
    let (rest, mcp) = (rest.refusal().clone(), mcp.refusal());
    assert!((400..500).contains(&rest.status), "{rest:?}");
    assert_eq!((&rest.code, rest.status), (&mcp.code, mcp.status), "{:.200}", String::from_utf8_lossy(payload));
    rest
}

/// `{"query":"x","com.example.more":…}`
fn with_extension(value: &str) -> Vec<u8> {
    format!("{{\"query\":\"runner\",\"com.example.more\":{value}}}").into_bytes()
}

fn nested(levels: usize) -> Vec<u8> {
    with_extension(&format!("{}1{}", "[".repeat(levels), "]".repeat(levels)))
}

/// After the worst, the same gateway still answers, and nothing in it has panicked.
#[test]
fn a_gateway_that_was_sent_everything_at_once_still_answers() {
    let gateway = Gateway::start();
    let before = gateway.rest("get_product", &json!({ "id": "prod_abc123" }));
    std::thread::scope(|scope| {
        for round in 0..8_usize {
            let gateway = &gateway;
            scope.spawn(move || {
                for (place, body) in
                    [nested(10_000), vec![0xff; 1_000], vec![b'['; MIB], with_extension("1e999"), nested(100)]
                        .into_iter()
                        .enumerate()
                {
                    let path = ["/catalog/search", "/mcp", "/catalog/lookup"][(round + place) % 3];
                    let response = gateway.send("POST", path, REST_HEADERS, &body);
                    assert!(response.status < 500, "{response:?}");
                    response.json();
                }
            });
        }
    });
    assert_eq!(gateway.rest("get_product", &json!({ "id": "prod_abc123" })), before);
    assert_eq!(gateway.stderr(), "");
}
