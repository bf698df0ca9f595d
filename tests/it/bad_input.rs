//! Whatever callers send gets a verdict in the protocol's shape: 4xx, JSON, `code`, `content` and a path; never a 5xx,
//! never a plain text, and the same on both transports.

use serde_json::{Value, json};
use ucp_core::Operation;

use crate::{
    harness::{
        Gateway, PROFILE, REST_HEADERS, RPC_HEADERS, Refused, Verdict, codes, elements, meta, own_schema, repository,
        rpc,
    },
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

/// That both refuse it alike, and how.
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

mod json_text {
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
            // Lone and swapped surrogates.
            b"{\"query\":\"\\ud800\"}",
            b"{\"query\":\"\\udc00\\ud800\"}",
            b"{\"query\":\"\\ud800x\"}",
            b"{\"\\ud800\":1}",
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
        assert!(matches!(
            both(&gateway, "search_catalog", &array(40_000)),
            [Verdict::Answered(_), Verdict::Answered(_)]
        ));
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
        for operation in Operation::ALL {
            for payload in ["null", "true", "3", "\"text\"", "[]", "[{}]"] {
                let [rest, mcp] = both(&gateway, operation.row().name, payload.as_bytes());
                assert_eq!(rest, mcp, "{} {payload}", operation.row().name);
                let refusal = rest.refusal();
                assert_eq!(
                    (refusal.code.as_str(), refusal.path.as_deref()),
                    ("invalid_request", Some("$")),
                    "{payload}"
                );
            }
        }
    }
}

mod shape {
    use super::*;

    /// A schema with its `$ref` followed.
    fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
        match schema.get("$ref").and_then(Value::as_str) {
            Some(reference) => root.pointer(reference.trim_start_matches('#')).expect("a definition"),
            None => schema,
        }
    }

    /// A document with every member that a schema describes.
    fn complete(root: &Value, schema: &Value) -> Value {
        let schema = resolved(root, schema);
        match schema["type"].as_str() {
            Some("object") => {
                let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
                members.map(|(name, member)| (name.clone(), complete(root, member))).collect()
            }
            Some("array") => json!([complete(root, &schema["items"])]),
            Some("integer") => json!(5),
            Some("boolean") => json!(false),
            Some("string") | None => json!("x"),
            Some(other) => panic!("the request schemas have learnt a type: {other}"),
        }
    }

    /// Every place of a document that a schema describes, as path and pointer, with the type that is wanted there.
    fn places(root: &Value, schema: &Value, path: &str, pointer: &str, found: &mut Vec<(String, String, String)>) {
        let schema = resolved(root, schema);
        let Some(kind) = schema["type"].as_str() else { return };
        found.push((path.to_owned(), pointer.to_owned(), kind.to_owned()));
        for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            places(root, member, &format!("{path}.{name}"), &format!("{pointer}/{name}"), found);
        }
        if let Some(items) = schema.get("items") {
            places(root, items, &format!("{path}[0]"), &format!("{pointer}/0"), found);
        }
    }

    fn wrong_values(kind: &str) -> Vec<Value> {
        let all = [json!(null), json!(true), json!(3), json!(1.5), json!("text"), json!([]), json!({})];
        let fits = |value: &Value| match kind {
            "object" => value.is_object(),
            "array" => value.is_array(),
            "integer" => value.is_i64(),
            "boolean" => value.is_boolean(),
            _ => value.is_string(),
        };
        all.into_iter().filter(|value| !fits(value)).collect()
    }

    /// One mutation for each member of each request and each wrong type, generated from our own request schemas.
    #[test]
    fn a_wrong_type_anywhere_is_refused_at_its_place() {
        let gateway = Gateway::shared();
        let mut refusals = 0;
        for operation in Operation::ALL {
            let name = operation.row().name;
            let text = std::fs::read_to_string(repository().join(format!("schemas/{name}.request.json")));
            let schema: Value = serde_json::from_str(&text.expect("a schema")).expect("JSON");
            let mut valid = complete(&schema, &schema);
            if let Some(pagination) = valid.get_mut("pagination").and_then(Value::as_object_mut) {
                // A cursor that was issued by nobody is refused for itself.
                pagination.shift_remove("cursor");
            }
            assert!(own_schema(&format!("{name}.request")).is_valid(&valid), "{valid}");
            assert!(matches!(gateway.rest(name, &valid), Verdict::Answered(_)), "{name} takes {valid}");
            let mut found = Vec::new();
            places(&schema, &schema, "$", "", &mut found);
            assert!(found.len() > 15, "{name}: {found:?}");
            for (path, pointer, kind) in found {
                if path == "$.pagination.cursor" {
                    valid["pagination"]["cursor"] = json!("x");
                }
                for wrong in wrong_values(&kind) {
                    // The founding documents write a single category as text.
                    if path == "$.filters.categories" && wrong.is_string() {
                        continue;
                    }
                    let mut payload = valid.clone();
                    *payload.pointer_mut(&pointer).unwrap_or_else(|| panic!("{pointer} of {valid}")) = wrong.clone();
                    let [rest, mcp] = both(&gateway, name, payload.to_string().as_bytes());
                    assert_eq!(rest, mcp, "{name} {path} {wrong}");
                    let refusal = rest.refusal();
                    assert_eq!(refusal.code, "invalid_request", "{name} {path} {wrong}: {refusal:?}");
                    assert_eq!(refusal.path.as_deref(), Some(path.as_str()), "{name} {wrong}: {refusal:?}");
                    assert!(refusal.accepted.is_some(), "{name} {path} {wrong}: {refusal:?}");
                    refusals += 1;
                }
                if path == "$.pagination.cursor" {
                    valid["pagination"].as_object_mut().expect("an object").shift_remove("cursor");
                }
            }
        }
        assert!(refusals > 300, "{refusals} refusals");
    }

    #[test]
    fn amounts_are_integers_of_a_sane_size() {
        let gateway = Gateway::shared();
        for bound in ["min", "max"] {
            for wrong in ["-1", "0.5", "1e300", "9007199254740992", "-0.1", "18446744073709551616", "1e-5"] {
                let payload = format!("{{\"filters\":{{\"price\":{{\"{bound}\":{wrong}}}}}}}");
                let [rest, mcp] = both(&gateway, "search_catalog", payload.as_bytes());
                assert_eq!(rest, mcp, "{payload}");
                let refusal = rest.refusal();
                let path = format!("$.filters.price.{bound}");
                assert_eq!(
                    (refusal.code.as_str(), refusal.path.as_ref()),
                    ("invalid_request", Some(&path)),
                    "{payload}"
                );
            }
        }
    }

    #[test]
    fn missing_members_are_named() {
        let gateway = Gateway::shared();
        for (operation, payload, path) in [
            ("lookup_catalog", json!({}), "$.ids"),
            ("get_product", json!({}), "$.id"),
            ("get_product", json!({ "id": "x", "selected": [{ "label": "Red" }] }), "$.selected[0].name"),
            ("get_product", json!({ "id": "x", "selected": [{ "name": "Color" }] }), "$.selected[0].label"),
        ] {
            let [rest, mcp] = both(&gateway, operation, payload.to_string().as_bytes());
            assert_eq!(rest, mcp, "{payload}");
            assert_eq!(rest.refusal().path.as_deref(), Some(path), "{payload}");
        }
    }

    /// Names of members are echoed in paths; nothing of them may break out.
    #[test]
    fn paths_and_contents_are_printable_whatever_is_sent() {
        let gateway = Gateway::shared();
        for name in ["a'b", "\\", "\u{1b}[31m", "\r\nX: y", "𝕏", "\u{202e}", &"n".repeat(10_000)] {
            let payload = json!({ "query": "runner", "filters": { name: true }, "com.example.more": { name: 1 } });
            for verdict in both(&gateway, "search_catalog", payload.to_string().as_bytes()) {
                let answer = verdict.answer();
                assert_eq!(codes(&answer), ["filter_ignored"]);
                let content = answer["messages"][0]["content"].as_str().expect("a text");
                assert!(content.len() < 500 && !content.chars().any(char::is_control), "{content:?}");
            }
            let key = serde_json::to_string(name).expect("JSON");
            let twice = format!("{{\"query\":\"a\",\"com.example.more\":{{{key}:1,{key}:2}}}}");
            let path = refused_by_both(&gateway, "search_catalog", twice.as_bytes()).path.expect("a path");
            assert!(path.len() < 500 && !path.chars().any(char::is_control), "{path:?}");
        }
    }
}

mod ids {
    use super::*;

    fn hostile() -> Vec<String> {
        let mut ids: Vec<String> = [
            "' OR '1'='1",
            "'; DROP TABLE products; --",
            "\" OR 1=1",
            "%",
            "_",
            "*",
            "prod_abc12*",
            "PROD_ABC123",
            " prod_abc123",
            "prod_abc123 ",
            "prod_abc123\0",
            "\0",
            "../../../etc/passwd",
            "file:///etc/passwd",
            "http://169.254.169.254/latest/meta-data",
            "$.ids",
            "{{7*7}}",
            "${jndi:ldap://x}",
            "<script>alert(1)</script>",
            "\u{202e}321cba_dorp",
            "ｐrod_abc123",
            "🦀",
            "\r\nSet-Cookie: a=b",
            "null",
            "0",
            "-1",
            "NaN",
        ]
        .map(str::to_owned)
        .to_vec();
        ids.push("x".repeat(1_000_000));
        ids.push("é".repeat(100_000));
        ids
    }

    /// SEC-04: identifiers are compared, never interpreted.
    #[test]
    fn sec_04_identifiers_are_opaque() {
        let gateway = Gateway::shared();
        for id in hostile() {
            let shown: String = id.chars().take(40).collect();
            let product = json!({ "id": id });
            let [rest, mcp] = both(&gateway, "get_product", product.to_string().as_bytes());
            assert_eq!(rest, mcp, "{shown}");
            let answer = rest.answer();
            assert_eq!((codes(&answer), &answer["ucp"]["status"]), (vec!["not_found"], &json!("error")), "{shown}");

            let listed = json!({ "ids": [id, "prod_abc123"] });
            let [rest, mcp] = both(&gateway, "lookup_catalog", listed.to_string().as_bytes());
            assert_eq!(rest, mcp, "{shown}");
            let answer = rest.answer();
            assert_eq!(elements(&answer["products"]).len(), 1, "{shown}");
            assert_eq!(answer["messages"][0]["content"], id, "the identifier comes back as it was sent (LKP-06)");
        }
    }

    #[test]
    fn texts_of_every_kind_are_only_texts() {
        let gateway = Gateway::shared();
        for text in hostile().into_iter().filter(|text| text.len() < 1_000) {
            for payload in [
                json!({ "query": "runner", "context": { "language": text, "currency": text, "address_country": text, "intent": text } }),
                json!({ "query": "runner", "filters": { "categories": [text] } }),
            ] {
                gateway.search(&payload);
            }
            let selected = json!([{ "name": text, "label": text, "id": text }]);
            gateway.product(&json!({ "id": "prod_abc123", "selected": selected, "preferences": [text, text] }));
        }
    }
}

mod agent {
    use super::*;

    const PAYLOAD: &str = "{\"id\":\"prod_abc123\"}";

    fn rest(gateway: &Gateway, agents: &[&str]) -> Response {
        let mut headers = vec![("Content-Type", "application/json")];
        headers.extend(agents.iter().map(|agent| ("UCP-Agent", *agent)));
        gateway.send("POST", "/catalog/product", &headers, PAYLOAD.as_bytes())
    }

    fn mcp(gateway: &Gateway, agents: &[&str], meta: &Value) -> Verdict {
        let mut headers = RPC_HEADERS.to_vec();
        headers.extend(agents.iter().map(|agent| ("UCP-Agent", *agent)));
        let mut arguments = json!({ "catalog": { "id": "prod_abc123" } });
        if !meta.is_null() {
            arguments["meta"] = meta.clone();
        }
        let message = rpc("tools/call", &json!({ "name": "get_product", "arguments": arguments })).to_string();
        Verdict::of_rpc(&gateway.send("POST", "/mcp", &headers, message.as_bytes()), true)
    }

    fn quoted(profile: &str) -> String {
        format!("profile=\"{profile}\"")
    }

    #[track_caller]
    fn invalid(verdict: &Verdict) {
        let refusal = verdict.refusal();
        assert_eq!((refusal.code.as_str(), refusal.status), ("invalid_profile_url", 400), "{refusal:?}");
    }

    /// AGT-01, AGT-02.
    #[test]
    fn agt_02_the_header_is_a_dictionary_with_an_https_profile() {
        let gateway = Gateway::shared();
        for fine in [
            quoted(PROFILE),
            quoted("https://business.example.com/.well-known/ucp"),
            format!("{}; version=\"2026-04-08\"", quoted(PROFILE)),
            format!("a=1, {}, b=(1 2);c", quoted(PROFILE)),
            quoted("https://127.0.0.1:8443/p"),
        ] {
            assert_eq!(rest(&gateway, &[&fine]).status, 200, "{fine}");
            assert!(matches!(mcp(&gateway, &[&fine], &Value::Null), Verdict::Answered(_)), "{fine}");
        }
        let long = quoted(&format!("https://agent.example/{}", "a".repeat(4_000)));
        for wrong in [
            "",
            "https://agent.example.com/p",
            "profile=https://agent.example.com/p",
            "profile",
            "profile=?1",
            "profile=3",
            "profile=(\"https://agent.example.com/p\")",
            "profile=\"https://agent.example.com/p",
            "Profile=\"https://agent.example.com/p\"",
            "profil=\"https://agent.example.com/p\"",
            "profile=\"http://agent.example.com/p\"",
            "profile=\"ftp://agent.example.com/p\"",
            "profile=\"file:///etc/passwd\"",
            "profile=\"javascript:alert(1)\"",
            "profile=\"//agent.example.com/p\"",
            "profile=\"agent.example.com\"",
            "profile=\"https://\"",
            "profile=\"https://u:p@agent.example.com/\"",
            "profile=\" https://agent.example.com/\"",
            "profile=\"\"",
            "profile=\"https://agent.example.com/\u{e9}\"",
            &long,
        ] {
            invalid(&Verdict::of_rest(&rest(&gateway, &[wrong])));
            invalid(&mcp(&gateway, &[wrong], &Value::Null));
            // A good `meta` does not excuse a bad header.
            invalid(&mcp(&gateway, &[wrong], &meta()));
        }
    }

    #[test]
    fn agt_01_a_call_without_a_platform_is_refused() {
        let gateway = Gateway::shared();
        invalid(&Verdict::of_rest(&rest(&gateway, &[])));
        for meta in [
            Value::Null,
            json!({}),
            json!([]),
            json!("x"),
            json!({ "ucp-agent": {} }),
            json!({ "ucp-agent": null }),
            json!({ "ucp-agent": PROFILE }),
            json!({ "ucp-agent": { "profile": null } }),
            json!({ "ucp-agent": { "profile": 3 } }),
            json!({ "ucp-agent": { "profile": "" } }),
            json!({ "ucp-agent": { "profile": "http://agent.example.com/p" } }),
        ] {
            invalid(&mcp(&gateway, &[], &meta));
        }
    }

    /// Trap T-08: the places of one request that name the platform agree, or it is refused.
    #[test]
    fn t_08_contradicting_claims_are_refused() {
        let gateway = Gateway::shared();
        let (own, other) = (quoted(PROFILE), quoted("https://other.example.com/p"));
        assert!(matches!(mcp(&gateway, &[&own], &meta()), Verdict::Answered(_)));
        invalid(&mcp(&gateway, &[&other], &meta()));
        invalid(&Verdict::of_rest(&rest(&gateway, &[&own, &other])));
        invalid(&Verdict::of_rest(&rest(&gateway, &[&own, &own])));
        invalid(&mcp(&gateway, &[&own, &own], &meta()));
        let mut params =
            json!({ "name": "get_product", "arguments": { "meta": meta(), "catalog": { "id": "prod_abc123" } } });
        params["_meta"] = json!({ "ucp": { "profile": "https://other.example.com/p" } });
        invalid(&Verdict::of_rpc(&gateway.rpc(&rpc("tools/call", &params)), true));
    }

    /// Whoever may not call learns nothing about the shape of calls.
    #[test]
    fn the_platform_is_asked_for_before_the_payload_is_judged() {
        let gateway = Gateway::shared();
        let response = gateway.send("POST", "/catalog/product", &[("Content-Type", "application/json")], b"{}");
        invalid(&Verdict::of_rest(&response));
        let message = rpc("tools/call", &json!({ "name": "get_product", "arguments": { "catalog": {} } }));
        invalid(&Verdict::of_rpc(&gateway.rpc(&message), true));
    }
}

mod http {
    use super::*;

    #[test]
    fn only_json_is_taken() {
        let gateway = Gateway::shared();
        let agent = REST_HEADERS[1];
        for fine in
            ["application/json", "application/json; charset=utf-8", "APPLICATION/JSON", "application/problem+json"]
        {
            let response =
                gateway.send("POST", "/catalog/search", &[("Content-Type", fine), agent], b"{\"query\":\"runner\"}");
            assert_eq!(response.status, 200, "{fine}");
        }
        for wrong in [
            None,
            Some(""),
            Some("text/plain"),
            Some("text/json"),
            Some("application/x-www-form-urlencoded"),
            Some("multipart/form-data; boundary=x"),
            Some("application/json; charset=latin1"),
            Some("application/jsonp"),
            Some("*/*"),
        ] {
            let mut headers = vec![agent];
            headers.extend(wrong.map(|value| ("Content-Type", value)));
            for path in ["/catalog/search", "/mcp"] {
                let response = gateway.send("POST", path, &headers, b"{\"query\":\"runner\"}");
                let verdict =
                    if path == "/mcp" { Verdict::of_rpc(&response, true) } else { Verdict::of_rest(&response) };
                let refusal = verdict.refusal();
                assert_eq!(
                    (refusal.code.as_str(), refusal.status),
                    ("unsupported_media_type", 415),
                    "{path} {wrong:?}"
                );
            }
        }
    }

    #[test]
    fn unknown_paths_are_answered_in_json() {
        let gateway = Gateway::shared();
        for path in [
            "/",
            "/catalog",
            "/catalog/",
            "/catalog/search/",
            "//catalog/search",
            "/Catalog/Search",
            "/catalog/%73earch",
            "/catalog/../etc/passwd",
            "/%00",
            "/%ff",
            "/mcp/",
            "/.well-known/ucp/",
            "/.well-known/",
            "/schemas/",
            "/carts",
            "/favicon.ico",
            &format!("/{}", "a".repeat(8_000)),
        ] {
            for method in ["GET", "POST"] {
                let response = gateway.send(method, path, REST_HEADERS, if method == "POST" { b"{}" } else { b"" });
                let verdict = Verdict::of_rest(&response);
                assert_eq!(
                    (verdict.refusal().status, verdict.refusal().code.as_str()),
                    (404, "unknown_path"),
                    "{method} {path:.60}"
                );
            }
        }
    }

    #[test]
    fn wrong_methods_are_answered_with_the_right_ones() {
        let gateway = Gateway::shared();
        let operations = Operation::ALL.iter().map(|operation| (operation.row().path, "POST"));
        let documents = ["/.well-known/ucp", "/openapi.json", "/openrpc.json", "/schemas/error.json"]
            .map(|path| (path, "GET,HEAD"));
        for (path, allowed) in operations.chain([("/mcp", "POST")]).chain(documents) {
            for method in ["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
                if allowed.split(',').any(|own| own == method) {
                    continue;
                }
                let response = gateway.send(method, path, REST_HEADERS, if method == "POST" { b"{}" } else { b"" });
                assert_eq!((response.status, response.header("allow")), (405, Some(allowed)), "{method} {path}");
                assert_eq!(Verdict::of_rest(&response).refusal().code, "method_not_allowed", "{method} {path}");
            }
        }
    }

    /// What HTTP itself forbids is refused before a path is known: no body, and the connection ends.
    #[test]
    fn broken_http_is_refused_without_a_word() {
        let gateway = Gateway::shared();
        let head = |rest: &str| format!("POST /catalog/search HTTP/1.1\r\nHost: localhost\r\n{rest}\r\n").into_bytes();
        let many: String = (0..500).map(|number| format!("X-{number}: a\r\n")).collect();
        for (bytes, status) in [
            (head(&many), 431),
            (head(&format!("X-Long: {}\r\n", "a".repeat(MIB))), 431),
            (format!("GET /{} HTTP/1.1\r\nHost: localhost\r\n\r\n", "a".repeat(100_000)).into_bytes(), 414),
            (head("Content-Length: abc\r\n"), 400),
            (head("Content-Length: -1\r\n"), 400),
            (head("Content-Length: 5\r\nContent-Length: 6\r\n"), 400),
            (head("No colon here\r\n"), 400),
            (head("Na me: x\r\n"), 400),
            (b"garbage\r\n\r\n".to_vec(), 400),
            (b"GET / HTTP/9.9\r\n\r\n".to_vec(), 400),
            (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 a TLS hello\r\n\r\n".to_vec(), 400),
        ] {
            let shown = String::from_utf8_lossy(&bytes[..bytes.len().min(80)]).into_owned();
            let mut connection = gateway.connect();
            connection.write(&bytes);
            let response = connection.read().unwrap_or_else(|| panic!("an answer to {shown}"));
            assert_eq!((response.status, response.body.as_str()), (status, ""), "{shown}");
            assert!(connection.read().is_none(), "the connection ends after {shown}");
        }
    }

    #[test]
    fn header_values_that_are_no_text_are_read_as_absent_or_refused() {
        let gateway = Gateway::shared();
        for name in ["Accept-Language", "Request-Id", "Accept", "If-None-Match", "X-Anything"] {
            let mut bytes =
                b"POST /catalog/product HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n".to_vec();
            bytes.extend_from_slice(format!("UCP-Agent: profile=\"{PROFILE}\"\r\n{name}: ").as_bytes());
            bytes.extend_from_slice(b"\xff\xfe\x80\r\nContent-Length: 20\r\n\r\n{\"id\":\"prod_abc123\"}");
            let response = gateway.raw(&bytes).expect("an answer");
            assert_eq!(response.status, 200, "{name}");
        }
        let languages = "a,".repeat(20_000);
        let response =
            gateway.rest_in("get_product", &json!({ "id": "prod_abc123" }), &[("Accept-Language", &languages)]);
        assert!(matches!(response, Verdict::Answered(_)));
    }

    #[test]
    fn request_ids_come_back_when_they_are_sane() {
        let gateway = Gateway::shared();
        let answered = |path: &str, id: &str| {
            let response = gateway.send("POST", path, &[REST_HEADERS, &[("Request-Id", id)]].concat(), b"{}");
            response.header("request-id").expect("a request id").to_owned()
        };
        for path in ["/catalog/search", "/mcp", "/nowhere"] {
            assert_eq!(answered(path, "7c1f6d52-2b9c-4c36-9b43-5d6d3c2ad3a4"), "7c1f6d52-2b9c-4c36-9b43-5d6d3c2ad3a4");
            for odd in ["", "a b", "<x>", &"a".repeat(1_000)] {
                assert_eq!(answered(path, odd).len(), 36, "{path} {odd:.20}");
            }
        }
    }

    /// A request that is cut off in the middle costs nothing but its connection.
    #[test]
    fn a_client_that_leaves_in_the_middle_is_forgotten() {
        let gateway = Gateway::shared();
        let bytes = wire::request("POST", "/catalog/search", REST_HEADERS, b"{\"query\":\"runner\"}");
        for length in [1, 20, bytes.len() - 10, bytes.len() - 1, bytes.len()] {
            let mut connection = gateway.connect();
            connection.write(&bytes[..length]);
            drop(connection);
        }
        // A body that ends before its length.
        let mut connection = gateway.connect();
        connection.write(&bytes[..bytes.len() - 5]);
        connection.finish_writing();
        if let Some(response) = connection.read() {
            assert_eq!(response.status, 400, "{response:?}");
        }
        gateway.search(&json!({ "query": "runner" }));
    }
}

mod rpc_messages {
    use super::*;

    /// What cannot be read as a JSON-RPC request is answered under the id that could be read.
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
            (json!({ "jsonrpc": "2.0", "id": 7, "method": "ping", "params": null }), json!(7), -32600),
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
