//! Callers who do not say who they are, or say it wrong.

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
    let gateway = Gateway::with(&["--policy", "require"]);
    for without in [&[][..], &["name; version=\"1\""], &["profil=\"https://agent.example.com/p\""]] {
        invalid(&Verdict::of_rest(&rest(&gateway, without)));
        invalid(&mcp(&gateway, without, &Value::Null));
    }
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

/// A browser, or a first call with curl: nobody else can reach the gateway.
#[test]
fn in_development_a_call_without_a_platform_is_served() {
    let gateway = Gateway::start();
    for without in [&[][..], &["name; version=\"1\""]] {
        assert_eq!(rest(&gateway, without).status, 200, "{without:?}");
        for meta in [Value::Null, json!({}), json!({ "ucp-agent": null })] {
            assert!(matches!(mcp(&gateway, without, &meta), Verdict::Answered(_)), "{without:?} {meta}");
        }
    }
    // Wrong statements are always rejected.
    invalid(&mcp(&gateway, &[], &json!({ "ucp-agent": {} })));
    // All such callers are one, and no platform that names itself.
    let json = [("Content-Type", "application/json")];
    let lines = json!({ "line_items": [{ "item": { "id": "var_abc123_blue_10" }, "quantity": 1 }] });
    let made = gateway.send("POST", "/carts", &json, lines.to_string().as_bytes());
    assert_eq!(made.status, 201, "{made:?}");
    let path = format!("/carts/{}", made.json()["id"].as_str().expect("an id"));
    assert_eq!(gateway.send("GET", &path, &[], b"").json()["id"], made.json()["id"]);
    assert_eq!(codes(&gateway.send("GET", &path, &[("UCP-Agent", &quoted(PROFILE))], b"").json()), ["not_found"]);
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

/// Unauthorized callers learn nothing about the shape of requests.
#[test]
fn the_platform_is_asked_for_before_the_payload_is_judged() {
    let gateway = Gateway::with(&["--policy", "require"]);
    let response = gateway.send("POST", "/catalog/product", &[("Content-Type", "application/json")], b"{}");
    invalid(&Verdict::of_rest(&response));
    let message = rpc("tools/call", &json!({ "name": "get_product", "arguments": { "catalog": {} } }));
    invalid(&Verdict::of_rpc(&gateway.rpc(&message), true));
}
