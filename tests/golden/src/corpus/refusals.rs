//! Calls that are refused before they are understood: broken JSON, broken HTTP, missing and conflicting statements.

use serde_json::{Value, json};

use super::payloads::{paying, ready};
use crate::{
    Done,
    operation::{Caller, MAIN, OPERATIONS, PROFILE, RELEASES, WAYS, Way, endpoints, rpc},
    process::Gateway,
    stage::{Setup, Stage},
    wire::Request,
};

/// Plays all of them.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new("").outfitters())?;
    for endpoint in endpoints() {
        texts(stage, &gateway, endpoint);
        callers(stage, &gateway, endpoint);
        http(stage, &gateway, endpoint);
        messages(stage, &gateway, endpoint);
    }
    sizes(stage, &gateway);
    let matching = stage.start(&Setup::new("").outfitters().arguments(&["--mcp-error-status", "matching"]))?;
    for way in WAYS {
        for (label, payload) in [("good", json!({ "id": "prod_abc123" })), ("bad", json!({ "id": 3 }))] {
            let caller = Caller::new(None, way);
            stage.ask(
                &format!("matching/{}/{label}", caller.label()),
                &matching,
                &caller.call("get_product", None, &payload),
            );
        }
    }
    Ok(())
}

/// Payloads that are no sound JSON, or no object.
fn texts(stage: &mut Stage<'_>, gateway: &Gateway, endpoint: Option<&'static str>) {
    let nested = |levels: usize| format!("{{\"query\":\"a\",\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    let texts = [
        ("empty", String::new()),
        ("space", " ".to_owned()),
        ("open", "{".to_owned()),
        ("closed", "}".to_owned()),
        ("comma", "{\"query\":\"a\",}".to_owned()),
        ("comment", "{/*x*/\"query\":\"a\"}".to_owned()),
        ("single-quotes", "{'query':'a'}".to_owned()),
        ("nan", "{\"query\":NaN}".to_owned()),
        ("rest", "{\"query\":\"a\"} x".to_owned()),
        ("two", "{\"query\":\"a\"}{\"query\":\"a\"}".to_owned()),
        ("bom", "\u{feff}{\"query\":\"a\"}".to_owned()),
        ("control", "{\"query\":\"a\u{1}\"}".to_owned()),
        ("twice", "{\"query\":\"a\",\"query\":\"b\"}".to_owned()),
        ("twice-within", "{\"filters\":{\"price\":{\"min\":1,\"min\":2}}}".to_owned()),
        ("twice-escaped", "{\"query\":\"a\",\"quer\\u0079\":\"b\"}".to_owned()),
        ("twice-in-foreign", "{\"query\":\"a\",\"com.example.x\":{\"a'b\":1,\"a'b\":2}}".to_owned()),
        ("oops-within", "{\"query\":\"a\",\"context\":{\"eligibility\":[\"a\",oops]}}".to_owned()),
        ("lone-surrogate", "{\"query\":\"a\",\"signals\":{\"dev.ucp.buyer_ip\":\"\\ud800\"}}".to_owned()),
        ("nested-100", nested(100)),
        ("nested-122", nested(122)),
        ("nested-123", nested(123)),
        ("nested-200", nested(200)),
        ("nested-10000", nested(10_000)),
        ("never-closed", "[".repeat(50_000)),
        ("big-number", "{\"query\":\"a\",\"pagination\":{\"limit\":1e400}}".to_owned()),
        ("exponent", "{\"query\":\"a\",\"pagination\":{\"limit\":1e1}}".to_owned()),
        ("minus-zero", "{\"filters\":{\"price\":{\"min\":-0}}}".to_owned()),
        ("20-digits", "{\"filters\":{\"price\":{\"min\":18446744073709551616}}}".to_owned()),
        ("null", "null".to_owned()),
        ("true", "true".to_owned()),
        ("number", "3".to_owned()),
        ("text", "\"text\"".to_owned()),
        ("list", "[]".to_owned()),
        ("list-of-one", "[{}]".to_owned()),
    ];
    for (label, text) in &texts {
        for way in [Way::Rest, Way::Tool, Way::Named] {
            for name in ["search_catalog", "create_checkout"] {
                let caller = Caller::new(endpoint, way);
                stage.ask(&format!("{}/{name}/text/{label}", caller.label()), gateway, &caller.text(name, None, text));
            }
        }
    }
    let caller = Caller::new(endpoint, Way::Rest);
    let bytes = caller.call("search_catalog", None, &json!({})).body(b"{\"query\":\"\xff\xfe\"}".to_vec());
    stage.ask(&format!("{}/search_catalog/text/not-utf-8", caller.label()), gateway, &bytes);
    let bytes = Request::post(&caller.path("/mcp"), b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}".to_vec());
    stage.ask(&format!("{}/mcp/text/not-utf-8", caller.label()), gateway, &bytes);
}

/// Every operation by nobody, by somebody odd, and by somebody who says two things.
fn callers(stage: &mut Stage<'_>, gateway: &Gateway, endpoint: Option<&'static str>) {
    for operation in OPERATIONS {
        let payload = if operation.name == "complete_checkout" {
            paying("2026-04-08", "success_token")
        } else {
            ready(&[("x", 1)])
        };
        for way in WAYS {
            let caller = Caller::new(endpoint, way).unnamed();
            let name = format!("{}/{}/nobody", caller.label(), operation.name);
            stage.ask(
                &name,
                gateway,
                &caller.call(operation.name, Some("some_id").filter(|_| operation.payload.is_none()), &payload),
            );
            let caller = Caller::new(endpoint, way);
            if operation.needs_key {
                let keyless = caller.keyed(None, operation.name, Some("some_id"), &payload);
                stage.ask(&format!("{}/{}/without-key", caller.label(), operation.name), gateway, &keyless);
            }
            if operation.payload.is_some() {
                let empty = caller.call(operation.name, Some("some_id"), &json!({}));
                stage.ask(&format!("{}/{}/empty", caller.label(), operation.name), gateway, &empty);
            }
        }
    }
    let payload = json!({ "id": "prod_abc123", "selected": [] });
    for (label, agent) in [
        ("empty", ""),
        ("no-profile", "version=\"1\""),
        ("token", "profile=https"),
        ("bare", "https://agent.example.com/p"),
        ("not-a-url", "profile=\"nowhere\""),
        ("http", "profile=\"http://agent.example.com/p\""),
        ("private", "profile=\"https://10.0.0.1/p\""),
        ("user", "profile=\"https://user:pw@agent.example.com/p\""),
        ("fragment", "profile=\"https://agent.example.com/p#x\""),
        ("file", "profile=\"file:///etc/passwd\""),
        ("twice-same", "profile=\"https://a.example/p\", profile=\"https://a.example/p\""),
        ("twice-other", "profile=\"https://a.example/p\", profile=\"https://b.example/p\""),
        ("parameters", "profile=\"https://agent.example.com/profile.json\"; version=\"2026-01-11\""),
        ("old-version", "profile=\"https://agent.example.com/profile.json\"; version=\"2099-01-01\""),
        ("more-keys", "a=1, profile=\"https://agent.example.com/profile.json\", b"),
        ("unicode", "profile=\"https://müller.example/p\""),
        ("unclosed", "profile=\"https://agent.example.com/p"),
        ("long", &format!("profile=\"https://agent.example.com/{}\"", "x".repeat(5_000))),
    ] {
        let rest = Caller::new(endpoint, Way::Rest).unnamed().header("UCP-Agent", agent);
        stage.ask(&format!("{}/agent/{label}", rest.label()), gateway, &rest.call("get_product", None, &payload));
        let tool = Caller::new(endpoint, Way::Tool).header("UCP-Agent", agent);
        stage.ask(
            &format!("{}/agent-beside-meta/{label}", tool.label()),
            gateway,
            &tool.call("get_product", None, &payload),
        );
        let header = Caller::new(endpoint, Way::Tool).unnamed().header("UCP-Agent", agent);
        stage.ask(
            &format!("{}/agent-in-header/{label}", header.label()),
            gateway,
            &header.call("get_product", None, &payload),
        );
        let profile = agent.trim_start_matches("profile=").trim_matches('"');
        for way in [Way::Tool, Way::Flat] {
            let named = Caller::new(endpoint, way).named(profile);
            stage.ask(
                &format!("{}/agent-in-meta/{label}", named.label()),
                gateway,
                &named.call("get_product", None, &payload),
            );
        }
    }
    for (label, meta) in [
        ("null", json!(null)),
        ("text", json!("x")),
        ("empty", json!({})),
        ("agent-null", json!({ "ucp-agent": null })),
        ("agent-text", json!({ "ucp-agent": PROFILE })),
        ("profile-number", json!({ "ucp-agent": { "profile": 3 } })),
        ("profile-empty", json!({ "ucp-agent": { "profile": "" } })),
        ("agent-more", json!({ "ucp-agent": { "profile": PROFILE, "version": "2026-01-11", "more": {} } })),
        ("key-number", json!({ "ucp-agent": { "profile": PROFILE }, "idempotency-key": 3 })),
        ("key-null", json!({ "ucp-agent": { "profile": PROFILE }, "idempotency-key": null })),
        ("underscored", json!({ "ucp_agent": { "profile": PROFILE } })),
    ] {
        for (form, message) in [
            (
                "tool",
                rpc("tools/call", &json!({ "name": "get_product", "arguments": { "meta": meta, "catalog": payload } })),
            ),
            ("named", rpc("get_product", &json!({ "meta": meta, "catalog": payload }))),
            ("positional", rpc("get_product", &json!([meta, payload]))),
            ("old", rpc("get_product", &json!({ "_meta": { "ucp": meta }, "id": "prod_abc123" }))),
            ("cancel", rpc("cancel_checkout", &json!({ "meta": meta, "id": "chk_x" }))),
        ] {
            let path = Caller::new(endpoint, Way::Tool).path("/mcp");
            stage.ask(
                &format!("{}/meta/{form}/{label}", endpoint.unwrap_or("root")),
                gateway,
                &Request::post(&path, message.to_string()),
            );
        }
    }
}

/// Methods, paths and headers that lead nowhere.
fn http(stage: &mut Stage<'_>, gateway: &Gateway, endpoint: Option<&'static str>) {
    let caller = Caller::new(endpoint, Way::Rest);
    let label = endpoint.unwrap_or("root");
    let paths = [
        "/catalog/search",
        "/catalog/lookup",
        "/catalog/product",
        "/carts",
        "/carts/x",
        "/carts/x/cancel",
        "/checkout-sessions",
        "/checkout-sessions/x",
        "/checkout-sessions/x/complete",
        "/checkout-sessions/x/cancel",
        "/orders/x",
        "/orders",
        "/merchants/search",
        "/merchants/x",
        "/locations/search",
        "/locations/lookup",
        "/mcp",
        "/.well-known/ucp",
        "/openapi.json",
        "/openrpc.json",
        "/nowhere",
        "/catalog",
        "/catalog/search/",
        "//catalog/search",
        "/catalog/../orders/x",
        "/checkout-sessions/x/burn",
        "/healthz",
        "/",
        "/docs",
        "/continue/x",
        "/order/x",
    ];
    for path in paths {
        for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"] {
            let request =
                Request::new(method, &caller.path(path)).header("UCP-Agent", &format!("profile=\"{PROFILE}\""));
            stage.ask(&format!("{label}/http/{method} {path}"), gateway, &request);
        }
    }
    for way in [Way::Rest, Way::Tool] {
        let sound = Caller::new(endpoint, way).call("get_product", None, &json!({ "id": "prod_abc123" }));
        for media_type in [
            "text/plain",
            "application/json; charset=utf-8",
            "application/json;charset=latin1",
            "application/problem+json",
            "application/x-www-form-urlencoded",
            "APPLICATION/JSON",
            "json",
            "application/json, application/json",
            "",
        ] {
            let request = sound.clone().without("content-type").header("Content-Type", media_type);
            stage.ask(&format!("{label}/{}/content-type/{media_type}", way.name()), gateway, &request);
        }
        stage.ask(
            &format!("{label}/{}/content-type-missing", way.name()),
            gateway,
            &sound.clone().without("content-type"),
        );
        for accept in [
            "text/html",
            "text/*",
            "application/*",
            "text/event-stream;q=0",
            "application/json;q=0",
            "image/png, */*;q=0.1",
            "nonsense",
            "",
        ] {
            stage.ask(
                &format!("{label}/{}/accept/{accept}", way.name()),
                gateway,
                &sound.clone().header("Accept", accept),
            );
        }
        for (name, value) in [
            ("Host", "evil.example"),
            ("Content-Encoding", "gzip"),
            ("Expect", "100-continue"),
            ("Content-Length", "abc"),
            ("Transfer-Encoding", "gzip"),
            ("X-HTTP-Method-Override", "DELETE"),
            ("Access-Control-Request-Method", "POST"),
            ("Content-Digest", "sha-256=:AAAA:"),
            ("Signature", "sig1=:aHVudGVyMg==:"),
            ("Signature-Input", "sig1=(\"@method\");keyid=\"x\""),
        ] {
            let request = sound.clone().header(name, value).header("Connection", "close");
            stage.ask(&format!("{label}/{}/header/{name}={value}", way.name()), gateway, &request);
        }
        let query = Request { path: format!("{}?a=b&c", sound.path), ..sound.clone() };
        stage.ask(&format!("{label}/{}/query", way.name()), gateway, &query);
        let many = (0..150).fold(sound.clone(), |request, number| request.header(&format!("X-Header-{number}"), "x"));
        stage.ask(&format!("{label}/{}/many-headers", way.name()), gateway, &many);
    }
    for path in [
        "/ucp/2025-01-01/mcp",
        "/ucp/2026-01-11",
        "/ucp",
        "/ucp/newest/catalog/search",
        "/schemas/nothing.json",
        "/%",
        "/%00",
        "/é",
    ] {
        if endpoint.is_none() {
            stage.ask(&format!("path/GET {path}"), gateway, &Request::get(path));
            stage.ask(&format!("path/POST {path}"), gateway, &Request::post(path, "{}"));
        }
    }
}

/// Messages that are no JSON-RPC requests, and methods and tools that nobody knows.
fn messages(stage: &mut Stage<'_>, gateway: &Gateway, endpoint: Option<&'static str>) {
    let path = Caller::new(endpoint, Way::Tool).path("/mcp");
    let tool = |params: Value| rpc("tools/call", &params);
    let meta = json!({ "ucp-agent": { "profile": PROFILE } });
    let messages = [
        json!([]),
        json!([1, 2]),
        json!([rpc("ping", &json!({})), rpc("ping", &json!({}))]),
        json!(3),
        json!(null),
        json!({}),
        json!({ "jsonrpc": "2.0", "id": null, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": true, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": [1], "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 1.5, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 9_007_199_254_740_993_i64, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": "é\"\\", "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": "", "method": "unheard_of" }),
        json!({ "jsonrpc": 2.0, "id": 7, "method": "ping" }),
        json!({ "id": 7, "method": "ping" }),
        json!({ "jsonrpc": "2.0", "id": 7 }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": 3 }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": "x" }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": null }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "more": 1 }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "" }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "Search_Catalog" }),
        json!({ "jsonrpc": "2.0", "id": 7, "method": "x".repeat(10_000) }),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": { "requestId": 1 } }),
        json!({ "jsonrpc": "2.0", "method": "unheard_of" }),
        json!({ "jsonrpc": "2.0", "method": "tools/call", "params": { "name": "unheard_of" } }),
        json!({ "jsonrpc": "2.0", "id": 4, "result": {} }),
        json!({ "jsonrpc": "2.0", "id": 4, "error": { "code": 1, "message": "x" } }),
        rpc("resources/list", &json!({})),
        rpc("logging/setLevel", &json!({ "level": "debug" })),
        rpc("prompts/list", &json!({})),
        rpc("server/discover", &json!({})),
        rpc("get_product", &json!([meta, { "id": "prod_abc123" }, {}])),
        rpc("get_product", &json!([])),
        rpc("get_product", &json!({ "catalog": { "id": "prod_abc123" } })),
        rpc("get_product", &json!({ "meta": meta, "catalog": { "id": "prod_abc123" }, "id": "prod_def456" })),
        rpc(
            "get_product",
            &json!({ "meta": meta, "_meta": { "ucp": { "profile": "https://b.example/p" } }, "id": "prod_abc123" }),
        ),
        tool(json!({})),
        tool(json!({ "name": "" })),
        tool(json!({ "name": "GET_PRODUCT", "arguments": {} })),
        tool(json!({ "name": ["get_product"] })),
        tool(json!({ "name": "unheard_of", "arguments": {} })),
        tool(json!({ "name": "get_product" })),
        tool(json!({ "name": "get_product", "arguments": null })),
        tool(json!({ "name": "get_product", "arguments": "x" })),
        tool(json!({ "name": "get_product", "arguments": [meta, {}] })),
        tool(json!({ "name": "get_product", "arguments": { "meta": meta } })),
        tool(json!({ "name": "get_product", "arguments": { "meta": meta, "id": "prod_abc123" } })),
        tool(json!({ "name": "get_product", "arguments": { "meta": meta, "catalog": null } })),
        tool(
            json!({ "name": "get_product", "arguments": { "meta": meta, "catalog": { "id": "prod_abc123" }, "more": 1 } }),
        ),
        tool(json!({ "name": "get_checkout", "arguments": { "meta": meta } })),
        tool(json!({ "name": "get_checkout", "arguments": { "meta": meta, "id": 3 } })),
        tool(json!({ "name": "get_checkout", "arguments": { "meta": meta, "id": "" } })),
        tool(json!({ "name": "get_checkout", "arguments": { "meta": meta, "id": "x".repeat(3_000) } })),
        tool(json!({ "name": "update_checkout", "arguments": { "meta": meta, "checkout": {} } })),
        tool(json!({ "name": "complete_checkout", "arguments": { "meta": meta, "id": "chk_x" } })),
        tool(json!({ "name": "get_merchant", "arguments": { "meta": meta } })),
        tool(json!({ "name": "search_merchants", "arguments": { "meta": meta, "merchant": { "query": "" } } })),
        tool(
            json!({ "name": "search_merchants", "arguments": { "meta": meta, "query": "", "merchant": { "query": "" } } }),
        ),
    ];
    for (number, message) in messages.iter().enumerate() {
        let request = Request::post(&path, message.to_string());
        stage.ask(&format!("{}/message/{number}", endpoint.unwrap_or("root")), gateway, &request);
        let told = request.header("MCP-Protocol-Version", "2025-11-25");
        stage.ask(&format!("{}/message-2025-11-25/{number}", endpoint.unwrap_or("root")), gateway, &told);
    }
}

/// Bodies around the limits.
fn sizes(stage: &mut Stage<'_>, gateway: &Gateway) {
    const MIB: usize = 1_048_576;
    for way in MAIN {
        let caller = Caller::new(None, way);
        let empty = caller.call("search_catalog", None, &json!({ "query": "a", "x": "" })).body.len();
        for size in [MIB, MIB + 1, 2 * MIB] {
            let filler = "x".repeat(size - empty);
            let request = caller
                .call("search_catalog", None, &json!({ "query": "a", "x": filler }))
                .header("Connection", "close");
            stage.ask(&format!("{}/size/{size}", caller.label()), gateway, &request);
        }
        for count in [40_000, 400_000] {
            let request = caller.text(
                "search_catalog",
                None,
                &format!("{{\"query\":\"a\",\"x\":[{}0]}}", "0,".repeat(count - 1)),
            );
            stage.ask(&format!("{}/values/{count}", caller.label()), gateway, &request);
        }
    }
    for release in RELEASES {
        let caller = Caller::new(Some(release), Way::Rest);
        let request =
            caller.call("search_catalog", None, &json!({})).body(vec![b' '; MIB + 1]).header("Connection", "close");
        stage.ask(&format!("{}/size/spaces", caller.label()), gateway, &request);
    }
}
