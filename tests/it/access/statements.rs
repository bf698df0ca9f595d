//! Repeated statements in a request must agree (trap T-08).

use serde_json::{Value, json};

use super::*;
use crate::{
    harness::{Gateway, PROFILE, RPC_HEADERS, rpc},
    setup::{Refused, agent},
};

const KEY: &str = "550e8400-e29b-41d4-a716-446655440000";
const ANOTHER: &str = "550e8400-e29b-41d4-a716-446655440001";

/// A message with headers of its own beside `Content-Type`.
fn post(gateway: &Gateway, message: &Value, headers: &[(&str, &str)]) -> crate::wire::Response {
    let headers = [RPC_HEADERS, headers].concat();
    gateway.send("POST", "/mcp", &headers, message.to_string().as_bytes())
}

#[test]
fn t_08_a_header_that_names_another_platform_than_the_arguments_is_refused() {
    let gateway = Gateway::shared();
    for transport in [Transport::Tool, Transport::Method] {
        Ask::new(transport, PROFILE).header("UCP-Agent", &agent(PROFILE)).answer(&gateway);
        let ask = Ask::new(transport, PROFILE).header("UCP-Agent", &agent("https://other.example.com/p"));
        let refused = ask.refusal(&gateway);
        assert_eq!((refused.verdict(), refused.number), ((400, "invalid_profile_url"), Some(-32001)));
        assert!(refused.content.contains("`UCP-Agent` header"), "{refused:?}");
        assert!(refused.content.contains("name different platforms"), "{refused:?}");
    }
    // All three places at once, each of them the odd one.
    let (own, other) = (PROFILE, "https://other.example.com/p");
    for [meta, envelope, header] in [[other, own, own], [own, other, own], [own, own, other]] {
        let params = json!({
            "name": "get_product",
            "_meta": { "ucp": { "profile": envelope } },
            "arguments": { "meta": { "ucp-agent": { "profile": meta } }, "catalog": { "id": "prod_abc123" } },
        });
        let response = post(&gateway, &rpc("tools/call", &params), &[("UCP-Agent", &agent(header))]);
        let refused = Refused::read(Transport::Tool, &response);
        assert_eq!(refused.verdict(), (400, "invalid_profile_url"));
    }
}

#[test]
fn t_08_idempotency_keys_that_differ_are_refused() {
    let gateway = Gateway::shared();
    let call = |meta: &str, flat: Option<&str>| {
        let meta = json!({ "ucp-agent": { "profile": PROFILE }, "idempotency-key": meta });
        let mut params = json!({ "meta": meta, "id": "prod_abc123" });
        if let Some(key) = flat {
            params["idempotency_key"] = json!(key);
        }
        rpc("get_product", &params)
    };
    for (message, header) in [(call(KEY, None), KEY), (call(KEY, Some(KEY)), KEY)] {
        assert_eq!(post(&gateway, &message, &[("Idempotency-Key", header)]).status, 200);
    }
    for (message, headers) in [
        (call(KEY, None), vec![("Idempotency-Key", ANOTHER)]),
        (call(KEY, Some(ANOTHER)), vec![]),
        (call(KEY, Some(KEY)), vec![("Idempotency-Key", ANOTHER)]),
        (call(KEY, None), vec![("Idempotency-Key", KEY), ("Idempotency-Key", ANOTHER)]),
    ] {
        let refused = Refused::read(Transport::Method, &post(&gateway, &message, &headers));
        assert_eq!((refused.verdict(), refused.number), ((400, "invalid_request"), Some(-32602)), "{message}");
        assert!(refused.content.contains("are different idempotency keys"), "{refused:?}");
        assert_eq!(refused.body["accepted"], "one key, wherever it is repeated");
    }
    let twice = Ask::new(Transport::Rest, PROFILE).header("Idempotency-Key", KEY).header("Idempotency-Key", ANOTHER);
    assert_eq!(twice.refusal(&gateway).verdict(), (400, "invalid_request"));
}

#[test]
fn idempotency_keys_that_are_none_are_refused() {
    let gateway = Gateway::shared();
    let long = "a".repeat(256);
    for transport in Transport::ALL {
        for key in ["", "a b", "\u{e9}", &long] {
            let refused = Ask::new(transport, PROFILE).header("Idempotency-Key", key).refusal(&gateway);
            assert_eq!(refused.verdict(), (400, "invalid_request"), "{key}");
        }
        Ask::new(transport, PROFILE).header("Idempotency-Key", &"a".repeat(255)).answer(&gateway);
    }
    for key in [json!(3), json!(null), json!({}), json!("")] {
        let meta = json!({ "ucp-agent": { "profile": PROFILE }, "idempotency-key": key });
        let message = rpc("get_product", &json!({ "meta": meta, "catalog": { "id": "prod_abc123" } }));
        let refused = Refused::read(Transport::Method, &post(&gateway, &message, &[]));
        assert_eq!(refused.verdict(), (400, "invalid_request"), "{key}");
    }
}

/// Clients of MCP wait for an answer under the identifier of their message, and read no other.
#[test]
fn a_header_that_cannot_be_read_is_complained_about_under_the_identifier_of_the_message() {
    let gateway = Gateway::shared();
    let message = json!({ "jsonrpc": "2.0", "id": "seven", "method": "tools/list" });
    for (name, value, code) in [
        ("UCP-Agent", "no dictionary", "invalid_profile_url"),
        ("X-API-Key", "nobody", "unauthorized"),
        ("Signature", "sig1=:AAAA:", "signature_missing"),
    ] {
        let response = post(&gateway, &message, &[(name, value)]);
        let refused = Refused::read(Transport::Method, &response);
        assert_eq!((refused.code.as_str(), &response.json()["id"]), (code, &json!("seven")), "{response:?}");
        // The same as an event, for those who take nothing else.
        let event = post(&gateway, &message, &[(name, value), ("Accept", "text/event-stream")]);
        // A client that accepts event streams is an MCP library, which reads errors with 200 only.
        let status = if code == "unauthorized" { 401 } else { 200 };
        assert_eq!((event.status, event.header("content-type")), (status, Some("text/event-stream")));
        let data = event.body.strip_prefix("event: message\ndata: ").unwrap_or_else(|| panic!("{event:?}"));
        let body: Value = serde_json::from_str(data.trim()).expect("JSON");
        assert_eq!((&body["id"], &body["error"]["data"]["code"]), (&json!("seven"), &json!(code)), "{event:?}");
    }
}
