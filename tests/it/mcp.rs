//! The MCP endpoint, for every generation of clients.

use serde_json::{Value, json};
use ucp_core::{Operation, Release};
use ucp_wire::documents::release_path;

use crate::{
    harness::{BROWSING, Gateway, PROFILE, RPC_HEADERS, Verdict, elements, meta, rpc, texts},
    wire::{self, Response},
};

const HANDSHAKE_VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];

/// Posts a message with headers of its own choice beside `Content-Type`.
/// A message without what names the request it belongs to.
fn anonymous(mut message: Value) -> Value {
    if let Some(data) = message.pointer_mut("/error/data").and_then(Value::as_object_mut) {
        data.shift_remove("request_id");
    }
    message
}

fn post(gateway: &Gateway, message: &Value, headers: &[(&str, &str)]) -> Response {
    let headers = [RPC_HEADERS, headers].concat();
    gateway.send("POST", "/mcp", &headers, message.to_string().as_bytes())
}

fn call(tool: &str, payload: &Value) -> Value {
    rpc("tools/call", &json!({ "name": tool, "arguments": { "meta": meta(), "catalog": payload } }))
}

/// The JSON-RPC error code and the HTTP status of a failure.
#[track_caller]
fn failure(response: &Response) -> (i64, u16) {
    let body = response.json();
    let code = body["error"]["code"].as_i64().unwrap_or_else(|| panic!("a failure: {response:?}"));
    assert!(body["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{response:?}");
    (code, response.status)
}

mod bare {
    use super::*;

    /// Requests of `ucp-cli` and plain HTTP testers.
    #[test]
    fn callers_without_handshake_list_and_call_with_any_accept_header_or_none() {
        let gateway = Gateway::shared();
        for accept in [
            None,
            Some("application/json"),
            Some("application/json, text/event-stream"),
            Some("*/*"),
            Some("text/event-stream, application/json;q=0.5"),
        ] {
            let headers: Vec<_> = accept.map(|value| ("Accept", value)).into_iter().collect();
            let listed = post(&gateway, &rpc("tools/list", &json!({})), &headers);
            assert_eq!(texts(&listed.json()["result"]["tools"], "name").len(), Operation::ALL.len(), "{accept:?}");
            let called = post(&gateway, &call("get_product", &json!({ "id": "prod_abc123" })), &headers);
            let result = called.json()["result"].take();
            assert_eq!(result["structuredContent"]["product"]["id"], "prod_abc123", "{accept:?}");
            assert_eq!(result["content"][0]["type"], "text");
            assert!(result.get("resultType").is_none(), "nothing of a later era");
        }
    }

    #[test]
    fn params_may_be_left_out() {
        let gateway = Gateway::shared();
        let listed = gateway.rpc(&json!({ "jsonrpc": "2.0", "id": "a", "method": "tools/list" })).json();
        assert_eq!((&listed["id"], elements(&listed["result"]["tools"]).len()), (&json!("a"), Operation::ALL.len()));
    }

    #[test]
    fn ids_come_back_as_they_were_sent() {
        let gateway = Gateway::shared();
        for id in [json!(0), json!(-7), json!(9_007_199_254_740_993_i64), json!("x"), json!(""), json!("é\"\\")] {
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": "ping" });
            assert_eq!(gateway.rpc(&message).json()["id"], id);
            let message = json!({ "jsonrpc": "2.0", "id": id, "method": "unheard_of" });
            assert_eq!(gateway.rpc(&message).json()["id"], id);
        }
    }

    #[test]
    fn operations_are_methods_with_named_positional_or_flat_parameters() {
        let gateway = Gateway::shared();
        let payload = json!({ "id": "prod_abc123" });
        let expected = gateway.product(&payload);
        for params in [
            json!({ "meta": meta(), "catalog": payload }),
            json!([meta(), payload]),
            json!({ "meta": meta(), "id": "prod_abc123" }),
            json!({ "_meta": { "ucp": { "profile": PROFILE } }, "id": "prod_abc123" }),
        ] {
            assert_eq!(gateway.result("get_product", &params), expected, "{params}");
        }
        let header = [("UCP-Agent", "profile=\"https://agent.example.com/profile.json\"")];
        let by_header = post(&gateway, &rpc("get_product", &json!({ "catalog": payload })), &header);
        assert_eq!(by_header.json()["result"], expected);
        let too_many = gateway.rpc(&rpc("get_product", &json!([meta(), payload, {}])));
        assert_eq!(failure(&too_many), (-32602, 400));
    }

    #[test]
    fn rpc_discover_is_the_openrpc_document() {
        let gateway = Gateway::shared();
        assert_eq!(gateway.result("rpc.discover", &json!({})), gateway.get("/openrpc.json").json());
    }
}

mod handshake {
    use super::*;

    fn initialize(gateway: &Gateway, version: &Value) -> Value {
        let params =
            json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        gateway.result("initialize", &params)
    }

    #[test]
    fn known_versions_are_agreed_on_and_others_countered_with_the_newest() {
        let gateway = Gateway::shared();
        for version in HANDSHAKE_VERSIONS {
            let result = initialize(&gateway, &json!(version));
            assert_eq!(result["protocolVersion"], version);
            assert_eq!(result["capabilities"], json!({ "tools": {} }));
            assert_eq!(result["serverInfo"]["name"], "ucp-gateway");
            assert!(result["instructions"].as_str().is_some_and(|text| text.contains("create_checkout")), "{result}");
        }
        for version in [json!("2026-07-28"), json!("1999-01-01"), json!(""), json!("draft"), json!(null), json!(3)] {
            assert_eq!(initialize(&gateway, &version)["protocolVersion"], "2025-11-25", "{version}");
        }
        assert_eq!(gateway.result("initialize", &json!({}))["protocolVersion"], "2025-11-25");
    }

    #[test]
    fn a_client_of_each_version_pings_lists_and_calls() {
        let gateway = Gateway::shared();
        for version in HANDSHAKE_VERSIONS {
            let headers = [("Accept", "application/json, text/event-stream"), ("MCP-Protocol-Version", version)];
            let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
            let told = post(&gateway, &told, &headers);
            assert_eq!((told.status, told.body.as_str()), (202, ""), "{version}");
            assert_eq!(post(&gateway, &rpc("ping", &json!({})), &headers).json()["result"], json!({}));
            let listed = post(&gateway, &rpc("tools/list", &json!({ "_meta": { "progressToken": 1 } })), &headers);
            assert_eq!(elements(&listed.json()["result"]["tools"]).len(), Operation::ALL.len());
            let called = post(&gateway, &call("search_catalog", &json!({ "query": "runner" })), &headers);
            assert!(called.json()["result"]["structuredContent"]["products"].is_array(), "{version}");
        }
    }

    #[test]
    fn messages_that_want_no_answer_get_none() {
        let gateway = Gateway::shared();
        for message in [
            json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
            json!({ "jsonrpc": "2.0", "method": "unheard_of" }),
            json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "unheard_of" } }),
            json!({ "jsonrpc": "2.0", "id": 4, "result": {} }),
            json!({ "jsonrpc": "2.0", "id": 4, "error": { "code": 1, "message": "x" } }),
        ] {
            let response = gateway.rpc(&message);
            assert_eq!((response.status, response.body.as_str()), (202, ""), "{message}");
        }
    }
}

mod modern {
    use super::*;

    const VERSION: &str = "2026-07-28";

    fn envelope(version: &str) -> Value {
        json!({
            "io.modelcontextprotocol/protocolVersion": version,
            "io.modelcontextprotocol/clientCapabilities": {},
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" }
        })
    }

    fn message(method: &str) -> Value {
        let mut params = json!({ "_meta": envelope(VERSION) });
        if method == "tools/call" {
            params["name"] = json!("get_product");
            params["arguments"] = json!({ "meta": meta(), "catalog": { "id": "prod_abc123" } });
        }
        rpc(method, &params)
    }

    const HEADERS: [(&str, &str); 3] =
        [("MCP-Protocol-Version", VERSION), ("Mcp-Method", "tools/call"), ("Mcp-Name", "get_product")];

    /// The headers of a call with one of them changed or left out.
    fn changed(name: &str, value: Option<&'static str>) -> Vec<(&'static str, &'static str)> {
        let kept = HEADERS.into_iter().filter(|(own, _)| *own != name);
        let renamed = HEADERS.into_iter().find(|(own, _)| *own == name).map(|(own, _)| own);
        kept.chain(renamed.zip(value)).collect()
    }

    #[test]
    fn discovery_listing_and_calling_need_no_handshake() {
        let gateway = Gateway::shared();
        for method in ["server/discover", "tools/list"] {
            let headers = [("mcp-protocol-version", VERSION), ("mcp-method", method)];
            let result = post(&gateway, &message(method), &headers).json()["result"].take();
            assert_eq!(result["resultType"], "complete", "{method}");
            assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ucp-gateway", "{method}");
            assert!(result["ttlMs"].is_u64() && result["cacheScope"].is_string(), "{method}: {result}");
        }
        let headers = [("MCP-Protocol-Version", VERSION), ("Mcp-Method", "server/discover")];
        let discovered = post(&gateway, &message("server/discover"), &headers).json()["result"].take();
        assert_eq!(discovered["capabilities"], json!({ "tools": {} }));
        let versions = elements(&discovered["supportedVersions"]);
        assert_eq!(versions[0], VERSION);
        assert_eq!(versions.len(), 5);
        let called = post(&gateway, &message("tools/call"), &HEADERS).json()["result"].take();
        assert_eq!(called["resultType"], "complete");
        assert_eq!(called["structuredContent"]["product"]["id"], "prod_abc123");
        assert!(called.get("ttlMs").is_none(), "an answer about a product is nobody else's");
    }

    #[test]
    fn headers_may_be_encoded_padded_and_in_any_case() {
        let gateway = Gateway::shared();
        let headers = [
            ("mcp-protocol-version", VERSION),
            ("MCP-METHOD", "  tools/call  "),
            ("mcp-Name", "=?base64?Z2V0X3Byb2R1Y3Q=?="),
        ];
        assert_eq!(post(&gateway, &message("tools/call"), &headers).status, 200);
    }

    #[test]
    fn every_violation_has_its_code() {
        let gateway = Gateway::shared();
        for (name, value, code) in [
            ("MCP-Protocol-Version", None, -32020),
            ("MCP-Protocol-Version", Some("2025-11-25"), -32020),
            ("Mcp-Method", None, -32020),
            ("Mcp-Method", Some("tools/list"), -32020),
            ("Mcp-Method", Some("Tools/Call"), -32020),
            ("Mcp-Name", None, -32020),
            ("Mcp-Name", Some("search_catalog"), -32020),
            ("Mcp-Name", Some("=?base64?!!?="), -32020),
        ] {
            let response = post(&gateway, &message("tools/call"), &changed(name, value));
            assert_eq!(failure(&response), (code, 400), "{name}: {value:?}");
        }
        // Required content of `_meta`.
        for missing in ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"] {
            for replacement in [None, Some(json!(3)), Some(json!(null))] {
                let mut message = message("tools/call");
                let envelope = message["params"]["_meta"].as_object_mut().expect("an object");
                envelope.shift_remove(missing);
                envelope.extend(replacement.map(|value| (missing.to_owned(), value)));
                let response = post(&gateway, &message, &HEADERS);
                assert_eq!(failure(&response), (-32602, 400), "{missing}: {message}");
            }
        }
        // A version nobody knows.
        let mut unknown = message("tools/call");
        unknown["params"]["_meta"] = envelope("2031-01-01");
        let response = post(&gateway, &unknown, &changed("MCP-Protocol-Version", Some("2031-01-01")));
        assert_eq!(failure(&response), (-32022, 400));
        let data = &response.json()["error"]["data"];
        assert_eq!((&data["requested"], &data["supported"][0]), (&json!("2031-01-01"), &json!(VERSION)));
        let probe = post(&gateway, &rpc("server/discover", &json!({})), &[("MCP-Protocol-Version", "2031-01-01")]);
        assert_eq!(failure(&probe), (-32022, 400));
    }

    #[test]
    fn a_refused_tool_is_a_result_and_an_unknown_one_an_error() {
        let gateway = Gateway::shared();
        let mut refused = message("tools/call");
        refused["params"]["arguments"]["catalog"] = json!({});
        let response = post(&gateway, &refused, &HEADERS);
        let result = response.json()["result"].take();
        assert_eq!(
            (response.status, &result["isError"], &result["resultType"]),
            (200, &json!(true), &json!("complete"))
        );
        assert_eq!(result["structuredContent"]["path"], "$.id");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "ucp-gateway");
        let mut unknown = message("tools/call");
        unknown["params"]["name"] = json!("buy_everything");
        let response = post(&gateway, &unknown, &changed("Mcp-Name", Some("buy_everything")));
        assert_eq!(failure(&response), (-32602, 400));
    }

    #[test]
    fn methods_of_the_handshake_are_gone() {
        let gateway = Gateway::shared();
        for method in ["initialize", "ping", "logging/setLevel", "resources/list", "unheard_of"] {
            let headers = [("MCP-Protocol-Version", VERSION), ("Mcp-Method", method)];
            assert_eq!(failure(&post(&gateway, &message(method), &headers)), (-32601, 404), "{method}");
        }
        // And the other way round.
        assert_eq!(failure(&gateway.rpc(&rpc("server/discover", &json!({})))), (-32601, 404));
    }

    #[test]
    fn the_answer_is_the_same_in_every_era() {
        let gateway = Gateway::shared();
        let modern = Verdict::of_rpc(&post(&gateway, &message("tools/call"), &HEADERS), true);
        assert_eq!(modern, gateway.rest("get_product", &json!({ "id": "prod_abc123" })));
    }
}

mod http {
    use super::*;

    #[test]
    fn other_methods_are_refused_with_allow() {
        let gateway = Gateway::shared();
        for method in ["GET", "DELETE", "PUT", "PATCH", "OPTIONS"] {
            let response = gateway.send(method, "/mcp", &[("Accept", "text/event-stream")], b"");
            assert_eq!((response.status, response.header("allow")), (405, Some("POST")), "{method}");
            assert_eq!(response.json()["code"], "method_not_allowed", "{method}");
        }
    }

    #[test]
    fn callers_that_take_nothing_but_events_get_one() {
        let gateway = Gateway::shared();
        for accept in ["text/event-stream", "text/*"] {
            for message in [rpc("tools/list", &json!({})), rpc("unheard_of", &json!({}))] {
                let response = post(&gateway, &message, &[("Accept", accept)]);
                assert_eq!(response.header("content-type"), Some("text/event-stream"));
                let event =
                    response.body.strip_prefix("event: message\ndata: ").and_then(|rest| rest.strip_suffix("\n\n"));
                let event: Value = serde_json::from_str(event.expect("one event")).expect("JSON on one line");
                let plain = gateway.rpc(&message);
                // A client that accepts event streams is an MCP library.
                let status = if accept == "text/event-stream" { 200 } else { plain.status };
                assert_eq!((anonymous(event), response.status), (anonymous(plain.json()), status));
            }
        }
        let response = post(&gateway, &rpc("ping", &json!({})), &[("Accept", "text/html")]);
        assert_eq!((response.status, response.json()["error"]["data"]["code"].as_str()), (406, Some("not_acceptable")));
    }

    /// `dns-rebinding-protection` of the MCP conformance tool.
    #[test]
    fn foreign_pages_and_host_names_are_refused() {
        let gateway = Gateway::shop_example();
        let ping = rpc("ping", &json!({})).to_string();
        let status = |headers: &[(&str, &str)]| {
            let headers = [RPC_HEADERS, headers].concat();
            gateway.send("POST", "/mcp", &headers, ping.as_bytes()).status
        };
        for host in
            ["localhost", "localhost:8080", "127.0.0.1:1", "[::1]:8080", "shop.example.com", "SHOP.example.com:443"]
        {
            assert_eq!(status(&[("Host", host)]), 200, "{host}");
        }
        for host in ["evil.example", "shop.example.com.evil.example", "evil-shop.example.com", "127.0.0.1.nip.io", ""] {
            assert_eq!(status(&[("Host", host)]), 403, "{host}");
        }
        for origin in ["http://localhost:3000", "http://127.0.0.1", "https://shop.example.com"] {
            assert_eq!(status(&[("Host", "localhost"), ("Origin", origin)]), 200, "{origin}");
        }
        for origin in [
            "https://evil.example",
            "null",
            "",
            "file://",
            "https://localhost.evil.example",
            "http://localhost@evil.example",
        ] {
            assert_eq!(status(&[("Host", "localhost"), ("Origin", origin)]), 403, "{origin}");
        }
        let refused = gateway.send("POST", "/mcp", &[("Host", "evil.example"), RPC_HEADERS[0]], ping.as_bytes());
        assert_eq!(refused.json()["error"]["data"]["code"], "origin_forbidden");
    }

    #[test]
    fn a_message_may_come_in_pieces_and_several_over_one_connection() {
        let gateway = Gateway::shared();
        let message = rpc("ping", &json!({})).to_string();
        let bytes = wire::request("POST", "/mcp", RPC_HEADERS, message.as_bytes());
        let mut connection = gateway.connect();
        for piece in bytes.chunks(7) {
            connection.write(piece);
        }
        assert_eq!(connection.read().expect("an answer").status, 200);
        // Pipelined.
        connection.write(&bytes.repeat(3));
        for _ in 0..3 {
            assert_eq!(connection.read().expect("an answer").json()["result"], json!({}));
        }
        let chunked = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n{:x}\r\n{message}\r\n0\r\n\r\n",
            message.len()
        );
        connection.write(chunked.as_bytes());
        assert_eq!(connection.read().expect("an answer").status, 200);
    }
}

mod failures {
    use super::*;

    /// A platform that no address of a profile can name.
    fn wrong() -> Value {
        json!({ "ucp-agent": { "profile": "http://agent.example.com/p" } })
    }

    /// Every way to fail, with its JSON-RPC code and its HTTP status (rule ERR-02).
    fn table() -> Vec<(Value, i64, u16)> {
        vec![
            (json!([]), -32600, 400),
            (json!([rpc("ping", &json!({}))]), -32600, 400),
            (json!("text"), -32600, 400),
            (json!({ "jsonrpc": "1.0", "id": 1, "method": "ping" }), -32600, 400),
            (json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }), -32600, 400),
            (rpc("unheard_of", &json!({})), -32601, 404),
            (rpc("resources/list", &json!({})), -32601, 404),
            (call("unheard_of", &json!({})), -32602, 400),
            (rpc("tools/call", &json!({})), -32602, 400),
            (rpc("tools/call", &json!({ "name": 3 })), -32602, 400),
            (rpc("tools/call", &json!([])), -32602, 400),
            (rpc("tools/call", &json!({ "name": "get_product", "arguments": [] })), -32602, 400),
            (rpc("tools/call", &json!({ "name": "get_product", "arguments": { "meta": meta() } })), -32602, 400),
            (call("get_product", &json!({})), -32602, 400),
            (
                rpc(
                    "tools/call",
                    &json!({ "name": "get_product", "arguments": { "meta": wrong(), "catalog": { "id": "x" } } }),
                ),
                -32001,
                400,
            ),
            (rpc("get_product", &json!({ "meta": wrong(), "catalog": { "id": "x" } })), -32001, 400),
        ]
    }

    #[test]
    fn err_02_the_http_status_says_the_same_as_the_error() {
        let gateway = Gateway::shared();
        for (message, code, status) in table() {
            assert_eq!(failure(&gateway.rpc(&message)), (code, status), "{message}");
        }
    }

    /// The ways by which a library of MCP is known.
    fn libraries() -> Vec<[(&'static str, &'static str); 1]> {
        let versions = HANDSHAKE_VERSIONS.iter().map(|version| [("MCP-Protocol-Version", *version)]);
        let others = [
            ("Accept", "application/json, text/event-stream"),
            ("Mcp-Session-Id", "0b1e7a4e-9d0f-4f57-8f0b-1f0e8f3b2a11"),
        ];
        versions.chain(others.map(|header| [header])).collect()
    }

    /// Trap T-30: libraries of MCP take another status for a broken connection, and the error for their own.
    #[test]
    fn t_30_libraries_get_200_and_refused_tools_as_results_unless_told_otherwise() {
        let fitting = Gateway::shared();
        let matching = Gateway::with(&["--mcp-error-status", "always"]);
        for headers in libraries() {
            for (message, code, status) in table() {
                if message.is_array() && takes_batches(headers) {
                    continue;
                }
                let response = post(&fitting, &message, &headers);
                let strict = post(&matching, &message, &headers);
                assert_eq!(failure(&strict), (code, status), "{message}");
                // A tool that there is was called, and says itself what was wrong.
                if message["method"] == "tools/call" && message["params"]["name"] == "get_product" {
                    let (body, told) = (response.json(), strict.json());
                    let result = &body["result"];
                    assert_eq!((response.status, &result["isError"]), (200, &json!(true)), "{message}");
                    let mut data = told["error"]["data"].clone();
                    data.as_object_mut().expect("an object").shift_remove("request_id");
                    assert_eq!(result["structuredContent"], data, "{message}");
                    let text = result["content"][0]["text"].as_str().expect("a text");
                    for said in [&data["content"], &data["path"], &data["accepted"]] {
                        assert!(said.as_str().is_none_or(|said| text.contains(said.trim_end_matches('.'))), "{text}");
                    }
                    assert!(text.ends_with("Retrying the same call does not help; change it first."), "{text}");
                    assert!(result["_meta"]["ucp-gateway/request-id"].is_string(), "{body}");
                    continue;
                }
                assert_eq!(failure(&response), (code, 200), "{message}");
                assert_eq!(anonymous(strict.json()), anonymous(response.json()), "{message}");
            }
        }
        // Allowed origins do not depend on MCP.
        let headers = [("MCP-Protocol-Version", "2025-11-25"), ("Host", "evil.example")];
        assert_eq!(post(&fitting, &rpc("ping", &json!({})), &headers).status, 403);
        let told =
            post(&fitting, &json!({ "jsonrpc": "2.0", "method": "x" }), &[("MCP-Protocol-Version", "2025-11-25")]);
        assert_eq!(told.status, 202);
    }

    /// Returns `true` if the client may be one of the version that has batches.
    fn takes_batches(headers: [(&str, &str); 1]) -> bool {
        headers[0].0 != "MCP-Protocol-Version" || headers[0].1 == "2025-03-26"
    }

    #[test]
    fn bare_callers_keep_the_error_of_json_rpc() {
        let gateway = Gateway::shared();
        for accept in ["application/json", "*/*", "text/*"] {
            let response = gateway.send(
                "POST",
                "/mcp",
                &[RPC_HEADERS, &[("Accept", accept)]].concat(),
                call("search_catalog", &json!({ "query": "x", "pagination": { "limit": 0 } })).to_string().as_bytes(),
            );
            assert_eq!(response.status, 400, "{response:?}");
            assert!(response.body.contains("-32602") && response.body.contains("$.pagination.limit"), "{response:?}");
        }
    }

    #[test]
    fn a_library_reads_where_the_fault_is_and_what_would_be_accepted() {
        let gateway = Gateway::shared();
        for release in [None, Some(Release::V2026_01_11), Some(Release::V2026_04_08), Some(Release::NEWEST)] {
            for query in ["", "?schemas=full"] {
                let path = format!("{}/mcp{query}", release.map(release_path).unwrap_or_default());
                let message =
                    call("search_catalog", &json!({ "query": "x", "pagination": { "limit": 0 } })).to_string();
                let headers = [RPC_HEADERS, &[("Accept", "application/json, text/event-stream")]].concat();
                let result = gateway.send("POST", &path, &headers, message.as_bytes()).json()["result"].take();
                let text = result["content"][0]["text"].as_str().unwrap_or_default();
                assert!(text.contains("`$.pagination.limit`") && text.contains("at least 1"), "{path}: {result}");
                // Libraries check every structure against the schema that is listed, where there is one.
                let is_listed = release.is_some() && !query.is_empty();
                assert_eq!(result.get("structuredContent").is_none(), is_listed, "{path}: {result}");
            }
        }
    }

    /// In the first releases a product that is not there is an error of the transport.
    #[test]
    fn outcomes_that_are_errors_of_their_release_reach_the_model_too() {
        let gateway = Gateway::shared();
        let message = call("get_product", &json!({ "id": "prod_unknown" })).to_string();
        let path = format!("{}/mcp", release_path(Release::V2026_01_11));
        let headers = [RPC_HEADERS, &[("MCP-Protocol-Version", "2025-11-25")]].concat();
        let result = gateway.send("POST", &path, &headers, message.as_bytes()).json()["result"].take();
        assert_eq!(result["isError"], true, "{result}");
        assert!(result["content"][0]["text"].as_str().is_some_and(|text| text.starts_with("Product not found")));
        assert_eq!(result["structuredContent"]["errors"][0]["code"], "not_found", "{result}");
    }

    #[test]
    fn whoever_shows_nothing_else_is_known_by_the_session_of_its_handshake() {
        let gateway = Gateway::shared();
        let hello = rpc("initialize", &json!({ "protocolVersion": "2025-03-26", "capabilities": {} }));
        let session =
            |headers: &[(&str, &str)]| post(&gateway, &hello, headers).header("mcp-session-id").map(str::to_owned);
        let own = session(&[("Accept", "application/json")]).expect("a session");
        assert_ne!(session(&[]).expect("a session"), own);
        assert!(own.len() == 36 && own.bytes().all(|byte| byte.is_ascii_graphic()), "{own}");
        for known in libraries() {
            assert_eq!(session(&known), None, "{known:?} is enough");
        }
        let refused = post(&gateway, &call("get_product", &json!({})), &[("Mcp-Session-Id", &own)]);
        assert_eq!((refused.status, &refused.json()["result"]["isError"]), (200, &json!(true)));
        // Nothing is remembered that could be ended.
        let ended = gateway.send("DELETE", "/mcp", &[("Mcp-Session-Id", &own)], b"");
        assert_eq!(ended.status, 405);
        let matching = Gateway::with(&["--mcp-error-status", "always"]);
        assert_eq!(post(&matching, &hello, &[]).header("mcp-session-id"), None);
    }

    #[test]
    fn methods_that_are_not_there_end_no_session() {
        let gateway = Gateway::shared();
        for method in ["prompts/list", "resources/list", "logging/setLevel"] {
            let accept = [("Accept", "application/json, text/event-stream")];
            assert_eq!(failure(&post(&gateway, &rpc(method, &json!({})), &accept)), (-32601, 200), "{method}");
        }
    }

    #[test]
    fn batches_are_answered_where_there_are_such() {
        let gateway = Gateway::shared();
        let refused = call("get_product", &json!({}));
        let told = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let batch = json!([rpc("ping", &json!({})), told, refused, rpc("unheard_of", &json!({})), 3]);
        for headers in libraries().into_iter().filter(|headers| takes_batches(*headers)) {
            let response = post(&gateway, &batch, &headers);
            let body = response.json();
            let answers = elements(&body);
            assert_eq!((response.status, answers.len()), (200, 4), "{body}");
            assert_eq!(answers[0]["result"], json!({}));
            assert_eq!(answers[1]["result"]["isError"], true);
            assert_eq!((&answers[2]["error"]["code"], &answers[3]["error"]["code"]), (&json!(-32601), &json!(-32600)));
            let silent = post(&gateway, &json!([told, told]), &headers);
            assert_eq!((silent.status, silent.body.as_str()), (202, ""));
            let many = post(&gateway, &json!(vec![rpc("ping", &json!({})); 17]), &headers);
            assert_eq!(many.json()["error"]["code"], -32600, "{many:?}");
        }
        for headers in [("MCP-Protocol-Version", "2025-11-25"), ("Accept", "application/json")] {
            assert_eq!(post(&gateway, &batch, &[headers]).json()["error"]["code"], -32600, "{headers:?}");
        }
    }
}

mod empties {
    use super::*;

    fn tool(gateway: &Gateway, name: &str, arguments: &Value) -> Value {
        gateway.result("tools/call", &json!({ "name": name, "arguments": arguments }))["structuredContent"].take()
    }

    #[test]
    fn what_a_model_leaves_empty_is_absent() {
        let gateway = Gateway::shared();
        let plain =
            json!({ "query": "runner", "filters": { "price": { "max": 15000 } }, "pagination": { "limit": 3 } });
        let expected = tool(&gateway, "search_catalog", &json!({ "meta": meta(), "catalog": plain }));
        assert!(!elements(&expected["products"]).is_empty());
        let empties = json!({
            "query": "runner", "context": null, "signals": null, "attribution": "",
            "filters": { "price": { "min": null, "max": "15000" }, "categories": null, "available": null },
            "pagination": { "limit": "3", "cursor": "" },
        });
        for catalog in [empties.clone(), json!(empties.to_string())] {
            let mut own = meta();
            own["idempotency-key"] = json!(null);
            for meta in [own.clone(), json!(own.to_string())] {
                let arguments = json!({ "meta": meta, "catalog": catalog });
                assert_eq!(tool(&gateway, "search_catalog", &arguments), expected, "{arguments}");
                assert_eq!(tool(&gateway, "search_catalog", &json!(arguments.to_string())), expected, "{arguments}");
            }
        }
        // REST stays strict, and so do methods, which programs call.
        assert_eq!(gateway.rest("search_catalog", &empties).refusal().code, "invalid_request");
        assert_eq!(gateway.direct_named("search_catalog", &empties).refusal().code, "invalid_request");
    }

    #[test]
    fn a_purchase_may_be_written_as_text() {
        let gateway = Gateway::start();
        let lines = json!([{ "item": { "id": "var_abc123_blue_10" }, "quantity": "1" }]).to_string();
        let checkout = json!({ "line_items": lines, "buyer": { "first_name": null, "email": "a@example.com" } });
        let made = tool(&gateway, "create_checkout", &json!({ "meta": meta(), "checkout": checkout }));
        assert_eq!((&made["line_items"][0]["quantity"], &made["buyer"]["email"]), (&json!(1), &json!("a@example.com")));
    }

    #[test]
    fn every_method_takes_parameters_that_are_null() {
        let gateway = Gateway::shared();
        for method in ["ping", "tools/list", "initialize", "rpc.discover"] {
            let answer = gateway.rpc(&json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": null })).json();
            assert!(answer["result"].is_object(), "{method}: {answer}");
        }
        let params = json!({ "name": "get_merchant", "arguments": null, "_meta": null });
        let refused = Verdict::of_rpc(&gateway.rpc(&rpc("tools/call", &params)), true);
        assert_eq!(refused.refusal().path.as_deref(), Some("$.id"), "nothing but the identifier is missing");
    }

    #[test]
    fn json_text_is_read_as_strictly_as_the_message() {
        let gateway = Gateway::shared();
        for (filters, code, path) in [
            (r#"{"price":{"min":1,"min":2}}"#, "malformed_json", "$.filters.price.min"),
            (r#"{"price":{"min":1}"#, "malformed_json", "$.filters"),
            ("price", "invalid_request", "$.filters"),
            ("[1]", "invalid_request", "$.filters"),
        ] {
            let payload = json!({ "query": "x", "filters": filters });
            let verdict = gateway.mcp_tool("search_catalog", &payload);
            let refusal = verdict.refusal();
            assert_eq!((refusal.code.as_str(), refusal.path.as_deref()), (code, Some(path)), "{filters}");
        }
    }
}

mod about {
    use super::*;
    use crate::setup::Setup;

    #[test]
    fn a_handshake_says_which_shop_it_is() {
        let logo = "https://flowers.example.com/logo.png";
        let pages = format!(
            "[pages]\nname = \"Flowers & Co\"\nlogo_url = \"{logo}\"\ndescription = \"Cut flowers.\\nDelivered\\u0000 the same day.\"\n"
        );
        let (named, plain) = (Setup::new(&pages).start(), Gateway::shared());
        let said = |gateway: &Gateway| gateway.result("initialize", &json!({ "protocolVersion": "2025-11-25" }));
        let (named, plain) = (said(&named), said(&plain));
        assert_eq!(named["serverInfo"]["title"], "Flowers & Co");
        assert_eq!(named["serverInfo"]["icons"], json!([{ "src": logo }]));
        assert!(plain["serverInfo"].get("icons").is_none());
        assert_ne!(plain["serverInfo"]["title"], "UCP gateway");
        let told = named["instructions"].as_str().expect("a text");
        assert!(told.contains("Flowers & Co: ") && told.contains("Cut flowers. Delivered the same day."), "{told}");
        let told = plain["instructions"].as_str().expect("a text");
        for part in ["Currencies: USD, ", "Languages: en", "Product categories: ", "get_product has", "minor units"] {
            assert!(told.contains(part), "{part}: {told}");
        }
        assert!(told.len() < 2_000, "{told}");
    }

    #[test]
    fn tools_that_are_not_chosen_are_not_named() {
        let gateway = Gateway::shared();
        let hello = rpc("initialize", &json!({})).to_string();
        let said = gateway.send("POST", "/mcp?tools=catalog", RPC_HEADERS, hello.as_bytes()).json();
        let told = said["result"]["instructions"].as_str().expect("a text");
        assert!(told.contains("search_catalog") && !told.contains("checkout"), "{told}");
    }
}

mod tools {
    use super::*;

    /// Every schema below a schema, itself included.
    fn subschemas<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
        found.push(value);
        match value {
            Value::Object(members) => members.values().for_each(|member| subschemas(member, found)),
            Value::Array(values) => values.iter().for_each(|value| subschemas(value, found)),
            _ => {}
        }
    }

    fn texts_of(array: &Value) -> Vec<&str> {
        elements(array).iter().filter_map(Value::as_str).collect()
    }

    /// The tools of the catalog, which are all asked alike.
    fn catalog() -> impl Iterator<Item = Value> {
        let browsing = |tool: &Value| BROWSING.iter().any(|operation| tool["name"] == operation.row().name);
        list().into_iter().filter(browsing)
    }

    fn list() -> Vec<Value> {
        listed(&Gateway::shared(), "/mcp")
    }

    /// The tools of an endpoint.
    fn listed(gateway: &Gateway, path: &str) -> Vec<Value> {
        let list = rpc("tools/list", &json!({})).to_string();
        elements(&gateway.send("POST", path, RPC_HEADERS, list.as_bytes()).json()["result"]["tools"]).to_vec()
    }

    /// Every path of an endpoint, with the release in which it lists tools.
    fn endpoints() -> Vec<(Release, String)> {
        let leaf = |release: &Release| (*release, format!("{}/mcp", release_path(*release)));
        [(Release::NEWEST, "/mcp".to_owned())].into_iter().chain(Release::ALL.iter().map(leaf)).collect()
    }

    /// The text that a model reads with every conversation.
    #[test]
    fn lists_of_tools_are_short() {
        let gateway = Gateway::shared();
        for (_, path) in endpoints() {
            let listed = gateway.send("POST", &path, RPC_HEADERS, rpc("tools/list", &json!({})).to_string().as_bytes());
            assert!(listed.body.len() <= 40_000, "{path}: {} bytes", listed.body.len());
            let shop = format!("{path}?tools=catalog,cart,checkout,order");
            let shop = gateway.send("POST", &shop, RPC_HEADERS, rpc("tools/list", &json!({})).to_string().as_bytes());
            assert!(shop.body.len() < 31_000, "{path} without a directory: {} bytes", shop.body.len());
            for tool in elements(&listed.json()["result"]["tools"]) {
                for (name, parameter) in tool["inputSchema"]["properties"].as_object().expect("parameters") {
                    let is_described = parameter["description"].as_str().is_some_and(|text| !text.contains('\n'));
                    assert!(is_described, "{path} {}: {name}: {parameter}", tool["name"]);
                }
            }
        }
    }

    /// An outline is for reading: it refuses nothing that the whole schema accepts.
    #[test]
    fn an_outline_accepts_what_the_schema_accepts() {
        let gateway = Gateway::shared();
        let mut accepted = 0;
        for (release, path) in endpoints() {
            let outlines = listed(&gateway, &path);
            let full = listed(&gateway, &format!("{path}?schemas=full"));
            assert_eq!(outlines.len(), full.len());
            for (outline, full) in outlines.iter().zip(&full) {
                let (outline, full_input) = (&outline["inputSchema"], &full["inputSchema"]);
                assert_eq!(outline["required"], full_input["required"], "{path}");
                let names = |schema: &Value| -> Vec<String> {
                    schema["properties"].as_object().expect("members").keys().cloned().collect()
                };
                assert_eq!(names(outline), names(full_input), "{path}");
                let schema = jsonschema::validator_for(outline).expect("a schema");
                let operation = full["name"].as_str().and_then(Operation::named).expect("an operation");
                let Some(payload) = operation.row().payload.filter(|_| !operation.row().flat) else { continue };
                for example in elements(&full_input["properties"][payload]["examples"]) {
                    let mut meta = meta();
                    meta["idempotency-key"] = json!("0190b6f2-4d1e-7c3a-9c55-1f2e3d4c5b6a");
                    let mut arguments = json!({ "meta": meta, payload: example });
                    if operation.takes_id() {
                        arguments["id"] = json!("an-id");
                    }
                    assert!(schema.is_valid(&arguments), "{release} {}: {arguments}", full["name"]);
                    accepted += 1;
                }
            }
        }
        assert!(accepted >= 20, "{accepted} examples");
    }

    #[test]
    fn a_client_chooses_its_tools() {
        let gateway = Gateway::shared();
        let names = |query: &str| -> Vec<String> {
            let tools = listed(&gateway, &format!("/mcp?{query}"));
            texts(&json!(tools), "name").into_iter().map(str::to_owned).collect()
        };
        assert_eq!(names("tools=catalog"), ["search_catalog", "lookup_catalog", "get_product"]);
        assert_eq!(names("tools=order,catalog&other=1").len(), 4);
        assert_eq!(names("").len(), Operation::ALL.len());
        // Tools outside the list cannot be called.
        let arguments = json!({ "meta": meta(), "checkout": { "line_items": [] } });
        let message = rpc("tools/call", &json!({ "name": "create_checkout", "arguments": arguments }));
        let refused = gateway.send("POST", "/mcp?tools=catalog", RPC_HEADERS, message.to_string().as_bytes());
        let refused = Verdict::of_rpc(&refused, true);
        assert_eq!(refused.refusal().code, "unknown_tool", "{refused:?}");
        let refused = gateway.send("POST", "/mcp?tools=everything", RPC_HEADERS, message.to_string().as_bytes());
        let refused = Verdict::of_rpc(&refused, true);
        assert_eq!(refused.refusal().code, "invalid_request", "{refused:?}");
        assert!(refused.refusal().accepted.as_ref().is_some_and(|accepted| accepted.contains("catalog, cart")));
    }

    #[test]
    fn input_schemas_stand_alone_and_describe_every_member_by_an_object() {
        for tool in list() {
            let input = &tool["inputSchema"];
            let row = tool["name"].as_str().and_then(Operation::named).expect("an operation").row();
            assert_eq!((&input["type"], &input["required"][0]), (&json!("object"), &json!("meta")), "{}", row.name);
            let required = texts_of(&input["required"]);
            let payload = row.payload.filter(|_| !row.flat);
            assert!(payload.is_none_or(|payload| required.contains(&payload)), "{}: {required:?}", row.name);
            assert_eq!(required.contains(&"id"), row.path.contains("{id}"), "{}: {required:?}", row.name);
            let mut all = Vec::new();
            subschemas(input, &mut all);
            for schema in &all {
                assert!(schema.get("$ref").is_none() && schema.get("$defs").is_none(), "{schema}");
                for holder in ["properties", "patternProperties"] {
                    let members = schema.get(holder).and_then(Value::as_object);
                    for (name, member) in members.into_iter().flatten() {
                        assert!(member.is_object(), "{} {holder}.{name}: {member}", tool["name"]);
                    }
                }
                let items = schema.get("items");
                assert!(items.is_none_or(Value::is_object), "{} items: {items:?}", tool["name"]);
            }
            assert!(jsonschema::meta::is_valid(input), "{}", tool["name"]);
        }
    }

    #[test]
    fn meta_names_the_platform_and_may_carry_an_idempotency_key() {
        for tool in catalog() {
            let schema = jsonschema::validator_for(&tool["inputSchema"]).expect("a schema");
            let arguments = |meta: Value| json!({ "meta": meta, "catalog": { "ids": ["x"], "id": "x", "query": "x" } });
            assert!(schema.is_valid(&arguments(meta())), "{}", tool["name"]);
            let mut keyed = meta();
            keyed["idempotency-key"] = json!("0190b6f2-4d1e-7c3a-9c55-1f2e3d4c5b6a");
            keyed["com.example.trace"] = json!("open");
            assert!(schema.is_valid(&arguments(keyed)), "{}", tool["name"]);
            assert!(!schema.is_valid(&arguments(json!({}))), "{}", tool["name"]);
            assert!(!schema.is_valid(&json!({ "meta": meta() })), "{}", tool["name"]);
        }
        let gateway = Gateway::shared();
        let mut keyed = meta();
        keyed["idempotency-key"] = json!("k");
        let arguments = json!({ "meta": keyed, "catalog": { "query": "runner" } });
        gateway.result("tools/call", &json!({ "name": "search_catalog", "arguments": arguments }));
    }

    /// Trap T-29: clients take no other output schema, and validate every result against it.
    #[test]
    fn output_schemas_are_objects_that_every_outcome_conforms_to() {
        let gateway = Gateway::shared();
        let listed = listed(&gateway, &format!("{}/mcp?schemas=full", release_path(Release::NEWEST)));
        let browsing = |tool: &&Value| BROWSING.iter().any(|operation| tool["name"] == operation.row().name);
        for tool in listed.iter().filter(browsing) {
            let output = &tool["outputSchema"];
            assert_eq!((&output["type"], elements(&output["anyOf"]).len()), (&json!("object"), 2));
            let schema = jsonschema::validator_for(output).expect("a schema");
            let name = tool["name"].as_str().expect("a name");
            for payload in [
                json!({ "ids": ["prod_abc123"], "id": "prod_abc123", "query": "runner" }),
                json!({ "ids": ["x"], "id": "x", "query": "zzzzqqqq" }),
            ] {
                let answer = gateway.mcp_tool(name, &payload).answer();
                assert!(schema.is_valid(&answer), "{name}: {answer}");
            }
            assert!(!schema.is_valid(&json!({})), "{name}");
        }
    }

    #[test]
    fn reading_tools_say_that_they_only_read() {
        for tool in list() {
            let operation = tool["name"].as_str().and_then(Operation::named).expect("an operation");
            assert_eq!(tool["annotations"]["readOnlyHint"], !operation.row().effect.writes(), "{}", tool["name"]);
            assert!(tool["description"].as_str().is_some_and(|text| text.len() > 20), "{}", tool["name"]);
        }
    }
}
