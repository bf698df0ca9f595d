//! Requests of the playground beside UCP: signatures, and calls to other endpoints.

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::server::{Answer, Server};

use crate::{
    doctor::forwarded,
    harness::{Gateway, elements},
    setup::Setup,
    wire::Response,
};

const JSON: (&str, &str) = ("Content-Type", "application/json");

/// Request of the page, with additional headers.
fn ask_with(gateway: &Gateway, path: &str, headers: &[(&str, &str)], body: &Value) -> Response {
    let own = ("Origin", "http://localhost");
    let headers: Vec<_> = [JSON, own].iter().chain(headers).copied().collect();
    gateway.send("POST", &format!("/playground/{path}"), &headers, body.to_string().as_bytes())
}

fn ask(gateway: &Gateway, path: &str, body: &Value) -> Response {
    ask_with(gateway, path, &[], body)
}

/// Common rejection of all: requests that are not from the page on this machine.
fn guarded(gateway: &Gateway, path: &str, body: &Value) {
    let path = format!("/playground/{path}");
    for (name, value) in [
        ("Origin", "https://evil.example"),
        ("Origin", "http://localhost:9999"),
        ("Origin", "null"),
        ("Sec-Fetch-Site", "cross-site"),
        ("Sec-Fetch-Site", "same-site"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("Forwarded", "for=127.0.0.1"),
        ("Via", "1.1 proxy"),
    ] {
        let refused = gateway.send("POST", &path, &[JSON, (name, value)], body.to_string().as_bytes());
        assert_eq!((refused.status, &refused.json()["code"]), (404, &json!("unknown_path")), "{path}: {name}: {value}");
    }
    // The request of a form on another site, if its browser says nothing about its origin.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=a"] {
        let refused = gateway.send("POST", &path, &[("Content-Type", kind)], body.to_string().as_bytes());
        assert_eq!(refused.status, 415, "{path}: {kind}");
    }
    assert_eq!(gateway.send("POST", &path, &[JSON], b"{").status, 400, "{path}");
    let long = format!("{{\"address\":\"{}\"}}", "a".repeat(300_000));
    assert_eq!(gateway.send("POST", &path, &[JSON], long.as_bytes()).status, 413, "{path}");
    let unknown = ask(gateway, path.trim_start_matches("/playground/"), &json!({ "other": 1 }));
    assert_eq!((unknown.status, &unknown.json()["code"]), (400, &json!("invalid_request")), "{path}");
}

/// The header fields of a call that is signed as the page has it signed.
fn signed(gateway: &Gateway, path: &str, body: &str) -> Vec<(String, String)> {
    let call =
        json!({ "method": "POST", "path": path, "headers": { "Content-Type": "application/json" }, "body": body });
    let answer = ask(gateway, "sign", &call);
    assert_eq!(answer.status, 200, "{}", answer.body);
    let answer = answer.json();
    assert!(answer["base"].as_str().is_some_and(|base| base.contains("\"@method\": POST")), "{answer}");
    let fields = answer["headers"].as_object().expect("header fields");
    fields.iter().map(|(name, value)| (name.clone(), value.as_str().expect("a text").to_owned())).collect()
}

#[test]
fn the_gateway_signs_calls_of_the_page_to_itself() {
    let gateway = Setup::new(
        "[callers]\npolicy = \"development\"\n[signatures]\nbrowsing = \"enforce\"\npurchase = \"enforce\"\n",
    )
    .start();
    let body = r#"{"query":"runner"}"#;
    for release in Release::ALL {
        let path = format!("/ucp/{release}/catalog/search");
        let agent = format!("profile=\"http://{}/playground/profiles/{release}.json\"", gateway.address);
        let unsigned = gateway.send("POST", &path, &[JSON, ("UCP-Agent", &agent)], body.as_bytes());
        assert_eq!((unsigned.status, &unsigned.json()["code"]), (401, &json!("signature_missing")));
        let fields = signed(&gateway, &path, body);
        let names: Vec<_> = fields.iter().map(|(name, _)| name.as_str()).collect();
        for name in ["content-digest", "signature-input", "signature", "ucp-agent"] {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let found = gateway.send("POST", &path, &fields, body.as_bytes());
        if *release < Release::V2026_04_08 {
            // A platform with a profile of a version gets that version, and it has no catalog.
            let found = found.json();
            assert_eq!(found["messages"][0]["code"], "capabilities_incompatible", "{release}: {found}");
        } else {
            assert_eq!(found.status, 200, "{release}: {}", found.body);
            assert!(!elements(&found.json()["products"]).is_empty());
        }
        // The signature is one of these bytes, at this path.
        let changed = gateway.send("POST", &path, &fields, br#"{"query":"boots!"}"#);
        assert_eq!((changed.status, &changed.json()["code"]), (400, &json!("digest_mismatch")), "{release}");
        let other = format!("/ucp/{release}/catalog/lookup");
        assert_eq!(gateway.send("POST", &other, &fields, body.as_bytes()).status, 401, "{release}");
    }
    // The profile is there for others on this machine, and says the key.
    let profile = gateway.get(&format!("/playground/profiles/{}.json", Release::NEWEST));
    assert_eq!(profile.status, 200);
    assert_eq!(profile.json()["ucp"]["version"], Release::NEWEST.date());
    assert!(!profile.body.contains("\"d\":"), "the private half stays here: {}", profile.body);

    // A change over MCP, too.
    let path = format!("/ucp/{}/mcp", Release::NEWEST);
    let profile = format!("http://{}/playground/profiles/{}.json", gateway.address, Release::NEWEST);
    let arguments = json!({
        "meta": { "ucp-agent": { "profile": profile }, "idempotency-key": "signed-1" },
        "checkout": { "line_items": [{ "item": { "id": "var_abc123_blue_8" }, "quantity": 1 }] },
    });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": { "name": "create_checkout", "arguments": arguments } }).to_string();
    let fields = signed(&gateway, &path, &message);
    let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    let made = gateway.send("POST", &path, &fields, message.as_bytes()).json();
    assert!(made["result"]["structuredContent"]["id"].is_string(), "{made}");
}

#[test]
fn nothing_but_calls_of_the_gateway_is_signed() {
    let gateway = Gateway::start();
    let newest = Release::NEWEST;
    let call = |method: &str, path: &str| json!({ "method": method, "path": path });
    guarded(&gateway, "sign", &call("GET", &format!("/ucp/{newest}/orders/ord_1")));
    for (method, path) in [
        ("GET", "/operator".to_owned()),
        ("POST", "/playground/call".to_owned()),
        ("POST", "https://shop.example/catalog/search".to_owned()),
        ("POST", format!("//evil.example/ucp/{newest}/mcp")),
        ("POST", "/ucp/2020-01-01/mcp".to_owned()),
        ("GET", format!("/ucp/{newest}/mcp")),
        ("DELETE", format!("/ucp/{newest}/orders/ord_1")),
        ("GET", format!("/ucp/{newest}/orders/a/b")),
        ("GET", format!("/ucp/{newest}/orders/a?other=1")),
        ("no method", format!("/ucp/{newest}/orders/a")),
    ] {
        let refused = ask(&gateway, "sign", &call(method, &path));
        assert_eq!((refused.status, &refused.json()["code"]), (400, &json!("invalid_request")), "{method} {path}");
    }
    let path = format!("/ucp/{newest}/orders/ord_1");
    assert_eq!(ask(&gateway, "sign", &call("GET", &path)).status, 200);
    for fields in
        [json!({ "Authorization": "Bearer a" }), json!({ "Host": "evil.example" }), json!({ "Cookie": "a=b" })]
    {
        let refused = ask(&gateway, "sign", &json!({ "method": "GET", "path": path, "headers": fields }));
        assert_eq!(refused.status, 400, "{fields}");
    }
    let lenient = Setup::new("[callers]\npolicy = \"lenient\"\n").start();
    for path in ["sign", "endpoint", "call"] {
        assert_eq!(ask(&lenient, path, &json!({})).status, 404, "{path}");
    }
    assert_eq!(lenient.get(&format!("/playground/profiles/{newest}.json")).status, 404);
}

/// A stand-in for a shop elsewhere: the gateway at `address`, whose answers `change` may change.
fn elsewhere(address: String, change: impl Fn(&str, &mut Answer) + Send + Sync + 'static) -> Server {
    Server::start(move |request| {
        let own = format!("http://{}", request.headers()["host"].to_str().expect("a host"));
        let mut answer = forwarded(&address, &own, request);
        change(request.uri().path(), &mut answer);
        answer
    })
}

#[test]
fn a_shop_elsewhere_is_discovered_and_called_over_both_transports() {
    let (gateway, shop) = (Gateway::start(), Gateway::start());
    let server = elsewhere(shop.address.to_string(), |_, _| {});
    let address = server.url("");
    let found = ask(&gateway, "endpoint", &json!({ "address": address }));
    assert_eq!(found.status, 200, "{}", found.body);
    let found = found.json();
    assert_eq!((&found["release"], &found["lacks"]), (&json!(Release::NEWEST.date()), &json!([])));
    assert_eq!(found["releases"].as_array().map(Vec::len), Some(Release::ALL.len()), "{found}");
    assert!(elements(&found["operations"]).contains(&json!("search_catalog")), "{found}");

    // The proof of the page's user proves nothing elsewhere.
    let secrets = [
        ("Cookie", "ucp_operator=secret"),
        ("Authorization", "Bearer secret"),
        ("UCP-Agent", "profile=\"https://own.example\""),
    ];
    // A key of another gateway.
    let their_key = format!("ucpk_{}", "A".repeat(43));
    for release in Release::ALL {
        let there = ask(&gateway, "endpoint", &json!({ "address": address, "release": release.date() })).json();
        let has_catalog = elements(&there["operations"]).contains(&json!("search_catalog"));
        let call = |transport: &str| {
            let asked = json!({
                "address": address, "release": release.date(), "transport": transport, "operation": "search_catalog",
                "payload": { "query": "runner", "pagination": { "limit": 3 } },
                "profile": "https://agent.example.com/profile.json", "key": their_key,
            });
            let answer = ask_with(&gateway, "call", &secrets, &asked);
            assert_eq!(answer.status, if has_catalog { 200 } else { 400 }, "{}", answer.body);
            answer.json()
        };
        // The first two releases have no catalog.
        if !has_catalog {
            assert!(*release < Release::NEWEST, "{there}");
            assert_eq!(call("rest")["path"], "$.operation");
            continue;
        }
        let (rest, mcp) = (call("rest"), call("mcp"));
        assert_eq!((&rest["status"], &mcp["status"]), (&json!(401), &json!(401)), "the key is none of that shop");
        assert!(
            rest["request"]["headers"]["authorization"] == "Bearer •••"
                && !rest["request"].to_string().contains(&their_key),
            "{rest}"
        );
        let call = |transport: &str| {
            let asked = json!({
                "address": address, "release": release.date(), "transport": transport, "operation": "search_catalog",
                "payload": { "query": "runner", "pagination": { "limit": 3 } },
                "profile": "https://agent.example.com/profile.json",
            });
            ask_with(&gateway, "call", &secrets, &asked).json()
        };
        let (rest, mcp) = (call("rest"), call("mcp"));
        assert_eq!((&rest["status"], &mcp["status"]), (&json!(200), &json!(200)), "{release}: {rest} {mcp}");
        assert_eq!(rest["raw"], mcp["raw"], "{release}");
        assert_eq!(rest["raw"]["ucp"]["version"], release.date());
        assert_eq!(elements(&rest["said"]["products"]).len(), 2, "{rest}");
        assert!(rest["bytes"].as_u64() > Some(100) && rest["milliseconds"].as_f64() > Some(0.0), "{rest}");
        assert!(rest["request"]["url"].as_str().is_some_and(|url| url.starts_with(&address)), "{rest}");
    }
    let seen = server.requests();
    for request in &seen {
        let fields = format!("{:?}", request.headers());
        assert!(
            !fields.contains("secret") && !fields.contains("own.example") && !request.headers().contains_key("cookie"),
            "{fields}"
        );
    }
    assert!(seen.iter().any(|request| {
        request.headers().get("authorization").is_some_and(|key| *key == *format!("Bearer {their_key}"))
    }));
}

/// Changes of a call that gets a response.
type Change = fn(&mut Value);

#[test]
fn only_what_a_shop_declares_is_called() {
    let (gateway, shop) = (Gateway::start(), Gateway::start());
    let address = format!("http://{}", shop.address);
    let call = |change: Change| {
        let mut asked = json!({
            "address": address, "transport": "rest", "operation": "search_catalog", "payload": { "query": "runner" },
        });
        change(&mut asked);
        let answer = ask(&gateway, "call", &asked);
        (answer.status, answer.json())
    };
    assert_eq!(call(|_| {}).0, 200);
    guarded(&gateway, "call", &json!({ "address": address, "transport": "rest", "operation": "search_catalog" }));
    guarded(&gateway, "endpoint", &json!({ "address": address }));
    let refused: [(Change, &str); 6] = [
        (|asked| asked["operation"] = "../operator".into(), "$.operation"),
        (|asked| asked["operation"] = "search_merchants".into(), "$.operation"),
        (|asked| asked["transport"] = "a2a".into(), "$.transport"),
        (|asked| asked["release"] = "2020-01-01".into(), "$.release"),
        (|asked| asked["key"] = "a\r\nHost: b".into(), "$.key"),
        (|asked| asked["profile"] = "a".repeat(3_000).into(), "$.profile"),
    ];
    for (change, path) in refused {
        let (status, refused) = call(change);
        assert_eq!((status, &refused["path"]), (400, &json!(path)), "{refused}");
    }
    // An identifier is one segment of the path.
    let (_, answered) = call(|asked| {
        asked["operation"] = "get_order".into();
        asked["id"] = "../../operator?a=b".into();
        asked["payload"] = Value::Null;
    });
    let unanswered = answered["unanswered"].as_str().unwrap_or_default();
    assert!(unanswered.contains("the identifier is none in one"), "{answered}");
}

#[test]
fn addresses_that_must_not_be_reached_are_refused() {
    let gateway = Gateway::start();
    let discover = |address: &str| ask(&gateway, "endpoint", &json!({ "address": address }));
    for address in [
        "http://shop.example.com",
        "https://10.0.0.7",
        "https://192.168.1.1/shop",
        "https://169.254.169.254/latest/meta-data",
        "https://[fd00::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://0x0a000001/",
        "https://printer.local/",
        "https://intranet/",
        "https://user:password@shop.example.com",
        "https://shop.example.com:22",
        "ftp://shop.example.com",
        "file:///etc/passwd",
        "",
    ] {
        let refused = discover(address);
        let told = refused.json();
        assert_eq!((refused.status, &told["path"]), (400, &json!("$.address")), "{address}: {told}");
        assert!(told["accepted"].as_str().is_some_and(|accepted| accepted.contains("https")), "{told}");
    }
    // A shop is where its profile is, and nowhere else.
    let lost = Server::start(|_| Answer::status(404));
    let told = discover(&lost.url("")).json();
    assert!(
        told["code"] == "profile_unreachable" && told["content"].as_str().is_some_and(|text| text.contains("404")),
        "{told}"
    );
    let elsewhere = Server::start(|request| match request.uri().path() {
        "/.well-known/ucp" => Answer::Whole(302, vec!["Location: /hidden".to_owned()], Vec::new()),
        other => panic!("{other} is asked for"),
    });
    assert_eq!(discover(&elsewhere.url("")).json()["code"], "profile_unreachable", "redirects are not followed");
    let endless = Server::start(|_| {
        let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n".to_vec();
        Answer::Forever(head, vec![b' '; 65_536], None)
    });
    let told = discover(&endless.url("")).json();
    assert!(told["content"].as_str().is_some_and(|text| text.contains("larger than 2 MiB")), "{told}");
}

#[test]
fn a_profile_leads_to_no_address_that_must_not_be_reached() {
    let (gateway, shop) = (Gateway::start(), Gateway::start());
    let server = elsewhere(shop.address.to_string(), |path, answer| {
        if let Answer::Whole(_, _, body) = answer
            && path == "/.well-known/ucp"
        {
            let mut profile: Value = serde_json::from_slice(body).expect("a profile");
            for entry in profile["ucp"]["services"]["dev.ucp.shopping"].as_array_mut().expect("endpoints") {
                if entry["transport"] == "rest" {
                    entry["endpoint"] = "https://10.0.0.7/ucp".into();
                }
            }
            *body = profile.to_string().into_bytes();
        }
    });
    let call = |transport: &str| {
        let asked = json!({ "address": server.url(""), "transport": transport, "operation": "search_catalog",
            "payload": { "query": "runner" }, "profile": "https://agent.example.com/profile.json" });
        ask(&gateway, "call", &asked).json()
    };
    let refused = call("rest");
    assert!(refused["unanswered"].as_str().is_some_and(|text| text.contains("private use")), "{refused}");
    assert_eq!(call("mcp")["status"], 200, "the other endpoint is one of this machine");
}

#[test]
fn what_the_page_asks_is_bounded() {
    let gateway = Gateway::start();
    let refused = (0..400).find_map(|_| {
        let answer = ask(&gateway, "endpoint", &json!({ "address": "ftp://shop.example" }));
        (answer.status == 429).then_some(answer)
    });
    let refused = refused.expect("a limit of the rate");
    assert!(refused.header("retry-after").is_some() && refused.json()["code"] == "rate_limited", "{}", refused.body);
}
