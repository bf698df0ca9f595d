//! Messages that are no JSON-RPC requests.

use super::*;

/// Unreadable JSON-RPC requests get a response under the ID that could be read.
#[test]
fn broken_messages_are_answered_under_what_id_they_have() {
    let gateway = Gateway::shared();
    for (message, id, code) in [
        (json!([]), json!(null), -32600),
        (json!([1, 2]), json!(null), -32600),
        (json!([rpc("ping", &json!({})), rpc("ping", &json!({}))]), json!(null), -32600),
        (json!(3), json!(null), -32600),
        (json!(null), json!(null), -32600),
        (json!({}), json!(null), -32600),
        (json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }), json!(null), -32600),
        (json!({ "jsonrpc": "2.0", "id": true, "method": "ping" }), json!(null), -32600),
        (json!({ "jsonrpc": "2.0", "id": [1], "method": "ping" }), json!(null), -32600),
        (json!({ "jsonrpc": "2.0", "id": { "a": 1 }, "method": "ping" }), json!(null), -32600),
        (json!({ "jsonrpc": 2.0, "id": 7, "method": "ping" }), json!(7), -32600),
        (json!({ "id": 7, "method": "ping" }), json!(7), -32600),
        (json!({ "jsonrpc": "2.0", "id": 7 }), json!(7), -32600),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": 3 }), json!(7), -32600),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": "x" }), json!(7), -32600),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "" }), json!(7), -32601),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "Search_Catalog" }), json!(7), -32601),
        (json!({ "jsonrpc": "2.0", "id": 7, "method": "x".repeat(100_000) }), json!(7), -32601),
    ] {
        let response = gateway.rpc(&message);
        let body = response.json();
        assert_eq!((&body["id"], &body["error"]["code"]), (&id, &json!(code)), "{message:.100}");
        assert!((400..500).contains(&response.status), "{message:.100}");
        assert!(response.body.len() < 2_000, "what was sent is not sent back");
    }
}

#[test]
fn unknown_tools_and_odd_arguments_are_invalid_parameters() {
    let gateway = Gateway::shared();
    for params in [
        json!({}),
        json!({ "name": "" }),
        json!({ "name": "create_checkout", "arguments": {} }),
        json!({ "name": "GET_PRODUCT", "arguments": {} }),
        json!({ "name": ["get_product"] }),
        json!({ "name": "get_product", "arguments": null }),
        json!({ "name": "get_product", "arguments": "x" }),
        json!({ "name": "get_product", "arguments": [meta(), {}] }),
        json!({ "name": "get_product", "arguments": { "meta": meta() } }),
        json!({ "name": "get_product", "arguments": { "meta": meta(), "id": "prod_abc123" } }),
        json!({ "name": "get_product", "arguments": { "meta": meta(), "catalog": null } }),
    ] {
        let response = gateway.rpc(&rpc("tools/call", &params));
        assert_eq!((response.status, &response.json()["error"]["code"]), (400, &json!(-32602)), "{params}");
        assert!(
            response.json()["error"]["data"]["path"].as_str().is_some_and(|path| path.starts_with('$')),
            "{params}"
        );
    }
}
