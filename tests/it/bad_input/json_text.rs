//! Invalid JSON, and too much of it.

use super::*;

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let gateway = Gateway::shared();
    let texts: &[&[u8]] = &[
        b"",
        b" ",
        b"{",
        b"}",
        b"{\"query\":\"runner\"",
        b"{\"query\":\"runner",
        b"{\"query\":",
        b"{\"query\":\"runner\"}}",
        b"{\"query\":\"runner\"} {}",
        b"{\"query\":\"runner\"},",
        b"{'query':'runner'}",
        b"{query:\"runner\"}",
        b"{\"query\":\"runner\",}",
        b"{\"query\":\"runner\" \"filters\":{}}",
        b"{\"query\":\"runner\"} // comment",
        b"{\"query\":nul}",
        b"{\"query\":NaN}",
        b"{\"query\":Infinity}",
        b"{\"pagination\":{\"limit\":-Infinity}}",
        b"{\"query\":\"runner\",\"pagination\":{\"limit\":1e999}}",
        b"{\"query\":\"runner\",\"pagination\":{\"limit\":-1e999}}",
        b"{\"query\":\"runner\",\"pagination\":{\"limit\":01}}",
        b"{\"query\":\"runner\",\"pagination\":{\"limit\":+1}}",
        b"{\"query\":\"runner\",\"pagination\":{\"limit\":0x1}}",
        b"{\"query\":\"runner\",\"pagination\":{\"limit\":1.}}",
        // No UTF-8: a stray byte, an overlong slash, a surrogate, a cut-off letter.
        b"{\"query\":\"\xff\"}",
        b"{\"query\":\"\xc0\xaf\"}",
        b"{\"query\":\"\xed\xa0\x80\"}",
        b"{\"query\":\"\xe2\x82\"}",
        // Control characters have to be escaped.
        b"{\"query\":\"a\nb\"}",
        b"{\"query\":\"a\0b\"}",
        b"{\"query\":\"\\x41\"}",
        // Duplicate keys, anywhere, however they are spelled.
        b"{\"query\":\"a\",\"query\":\"b\"}",
        b"{\"query\":\"a\",\"\\u0071uery\":\"a\"}",
        b"{\"filters\":{\"available\":true,\"available\":true}}",
        b"{\"query\":\"a\",\"com.example.more\":[{\"x\":1,\"x\":1}]}",
    ];
    for text in texts {
        let refusal = refused_by_both(&gateway, "search_catalog", text);
        let shown = String::from_utf8_lossy(text);
        assert_eq!((refusal.code.as_str(), refusal.status), ("malformed_json", 400), "{shown}");
        assert!(refusal.path.as_deref().is_some_and(|path| path.starts_with('$')), "{shown}: {refusal:?}");
        assert!(refusal.accepted.is_some(), "{shown}: {refusal:?}");
    }
}

#[test]
fn characters_that_no_text_needs_are_refused_wherever_they_stand() {
    let gateway = Gateway::shared();
    for (text, path) in [
        (r#"{"query":"w1\u0000"}"#, "$.query"),
        (r#"{"query":"\u001b[2J"}"#, "$.query"),
        (r#"{"query":"a\u007f"}"#, "$.query"),
        (r#"{"query":"a\u0092"}"#, "$.query"),
        (r#"{"query":"a\ufffe"}"#, "$.query"),
        (r#"{"query":"a\ud83f\udfff"}"#, "$.query"),
        (r#"{"query":"\ud800"}"#, "$.query"),
        (r#"{"query":"\udc00\ud800"}"#, "$.query"),
        (r#"{"query":"\ud800x"}"#, "$.query"),
        (r#"{"\ud800":1}"#, "$"),
        (r#"{"query":"a","filters":{"categories":["b","\u0000"]}}"#, "$.filters.categories[1]"),
        (r#"{"query":"a","context":{"com.example.more":{"\u0000":1}}}"#, "$.context['com.example.more']['\\u{0}']"),
    ] {
        let refusal = refused_by_both(&gateway, "search_catalog", text.as_bytes());
        assert_eq!((refusal.code.as_str(), refusal.status), ("invalid_request", 400), "{text}");
        assert_eq!(refusal.path.as_deref(), Some(path), "{text}");
        assert!(refusal.accepted.is_some(), "{text}: {refusal:?}");
    }
    let plain = refused_by_both(&gateway, "get_product", br#"{"id":"prod_abc123\u0000"}"#);
    assert_eq!((plain.code.as_str(), plain.path.as_deref()), ("invalid_request", Some("$.id")));
    // An ID in a path, and a message that names something else than a payload.
    for path in ["/carts/a%00", "/checkout-sessions/%EF%BF%BF", "/orders/%C2%80"] {
        let refused = gateway.send("GET", path, REST_HEADERS, b"");
        assert_eq!(refused.status, 400, "{path}: {refused:?}");
        let refused = refused.json();
        assert_eq!(
            (&refused["code"], &refused["path"], &refused["retryable"]),
            (&json!("invalid_request"), &json!("$.id"), &json!(false))
        );
    }
    let meta = json!({ "ucp-agent": { "profile": "https://agent.example/profile" }, "idempotency-key": "a\0b" });
    let arguments = json!({ "meta": meta, "cart": { "line_items": [] } });
    let message = rpc("tools/call", &json!({ "name": "create_cart", "arguments": arguments }));
    let refused = gateway.send("POST", "/mcp", RPC_HEADERS, message.to_string().as_bytes()).json();
    assert_eq!(refused["id"], message["id"], "{refused}");
    let data = &refused["error"]["data"];
    assert_eq!((&data["code"], &data["retryable"]), (&json!("invalid_request"), &json!(false)));
    assert_eq!(data["path"], "$.params.arguments.meta['idempotency-key']");
}

#[test]
fn a_place_deep_inside_is_named() {
    let gateway = Gateway::shared();
    for (text, path) in [
        (&b"{\"filters\":{\"price\":{\"min\":1,\"min\":2}}}"[..], "$.filters.price.min"),
        (b"{\"query\":\"a\",\"context\":{\"eligibility\":[\"a\",oops]}}", "$.context.eligibility[1]"),
        (b"{\"query\":\"a\",\"signals\":{\"dev.ucp.buyer_ip\":\"\\ud800\"}}", "$.signals['dev.ucp.buyer_ip']"),
    ] {
        let [rest, mcp] = both(&gateway, "search_catalog", text);
        assert_eq!(rest.refusal().path.as_deref(), Some(path));
        assert_eq!(mcp.refusal().path.as_deref(), Some(path), "the path starts at the root of the payload");
        // By name and by position too.
        for params in [json!({ "meta": meta(), "catalog": "PAYLOAD" }), json!([meta(), "PAYLOAD"])] {
            let message = around(&rpc("search_catalog", &params), text);
            let direct = Verdict::of_rpc(&gateway.send("POST", "/mcp", RPC_HEADERS, &message), false);
            assert_eq!(direct.refusal().path.as_deref(), Some(path), "{params}");
        }
    }
}

#[test]
fn the_longest_nesting_is_the_same_on_both_transports() {
    let gateway = Gateway::shared();
    // The payload object is a level of its own.
    let [rest, mcp] = both(&gateway, "search_catalog", &nested(122));
    assert!(matches!(rest, Verdict::Answered(_)), "{rest:?}");
    assert_eq!(rest, mcp);
    for levels in [123, 124, 125, 127, 128, 129, 10_000, 200_000] {
        let [rest, mcp] = both(&gateway, "search_catalog", &nested(levels));
        assert_eq!(rest, mcp, "{levels}: the envelope does not count");
        assert_eq!(rest.refusal().code, "malformed_json", "{levels}");
    }
    // Never closed.
    for opening in ["[", "{\"a\":"] {
        let refusal = refused_by_both(&gateway, "search_catalog", opening.repeat(150_000).as_bytes());
        assert_eq!(refusal.code, "malformed_json");
    }
}

#[test]
fn documents_of_too_many_values_are_refused() {
    let gateway = Gateway::shared();
    let array = |count: usize| with_extension(&format!("[{}0]", "0,".repeat(count - 1)));
    assert!(matches!(both(&gateway, "search_catalog", &array(40_000)), [Verdict::Answered(_), Verdict::Answered(_)]));
    // The envelope's own few values count too, so that the paths differ by as many elements.
    let refusal = refused_by_both(&gateway, "search_catalog", &array(400_000));
    assert_eq!((refusal.code.as_str(), refusal.status), ("request_too_large", 400));
    let million = refused_by_both(&gateway, "search_catalog", &array(1_000_000));
    assert_eq!((million.code.as_str(), million.status), ("body_too_large", 413), "two megabytes");
    let ids = format!("{{\"ids\":[{}\"x\"]}}", "\"x\",".repeat(200_000));
    assert_eq!(refused_by_both(&gateway, "lookup_catalog", ids.as_bytes()).code, "request_too_large");
}

#[test]
fn bodies_end_at_one_mebibyte() {
    let gateway = Gateway::shared();
    let sized = |frame: &dyn Fn(&[u8]) -> Vec<u8>, size: usize| {
        let empty = frame(&with_extension("\"\"")).len();
        frame(&with_extension(&format!("\"{}\"", "x".repeat(size - empty))))
    };
    let rest = |size| gateway.send("POST", "/catalog/search", REST_HEADERS, &sized(&<[u8]>::to_vec, size));
    let mcp = |size| gateway.send("POST", "/mcp", RPC_HEADERS, &sized(&|body| call("search_catalog", body), size));
    assert_eq!((rest(MIB).status, mcp(MIB).status), (200, 200), "exactly one mebibyte");
    for size in [MIB + 1, 2 * MIB, 8 * MIB] {
        for (verdict, transport) in
            [(Verdict::of_rest(&rest(size)), "REST"), (Verdict::of_rpc(&mcp(size), true), "MCP")]
        {
            let refusal = verdict.refusal();
            assert_eq!((refusal.code.as_str(), refusal.status), ("body_too_large", 413), "{transport} {size}");
        }
    }
}

/// Roots that are JSON, but no request.
#[test]
fn payloads_that_are_no_objects_are_refused() {
    let gateway = Gateway::shared();
    for operation in crate::harness::BROWSING {
        for payload in ["null", "true", "3", "\"text\"", "[]", "[{}]"] {
            let [rest, mcp] = both(&gateway, operation.row().name, payload.as_bytes());
            assert_eq!(rest, mcp, "{} {payload}", operation.row().name);
            let refusal = rest.refusal();
            assert_eq!((refusal.code.as_str(), refusal.path.as_deref()), ("invalid_request", Some("$")), "{payload}");
        }
    }
}
