//! Shops with sessions, streams and manners of their own; and shops with none.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use serde_json::{Value, json};
use ucp_bridge::profile::Transport;
use ucp_core::{Code, Operation, Release, ports::owners::Kind};

use super::stub::{Act, Got, Stub, ask, bridge, call, document, opened, options, own, tool, ucp};

/// Behavior of the shop, for every request.
type Acting = Box<dyn Fn() -> Act + Send>;

const NEWEST: Release = Release::V2026_08_25;

fn found() -> Value {
    json!({ "ucp": ucp(NEWEST), "products": [], "pagination": { "has_next_page": false } })
}

#[tokio::test(start_paused = true)]
async fn a_session_is_begun_when_the_shop_wants_one_and_again_when_it_forgot() {
    let stub = Stub::of(NEWEST).await;
    let bridge = bridge(&stub, Transport::Mcp).await;
    let mut sessions = 0;
    stub.usually(move |got| match (got.body["method"].as_str(), got.header("mcp-session-id")) {
        (Some("initialize"), _) => {
            sessions += 1;
            let result = json!({ "protocolVersion": "2025-03-26", "capabilities": {}, "serverInfo": { "name": "s", "version": "1" } });
            Act::json(200, &json!({ "jsonrpc": "2.0", "id": got.body["id"], "result": result }))
                .with("mcp-session-id", &format!("session-{sessions}"))
        }
        (Some("notifications/initialized"), Some(_)) => Act::text(202, "text/plain", ""),
        (Some("tools/call"), None) => Act::text(400, "text/plain", "Bad Request: no valid session"),
        // It forgets a session after one call.
        (Some("tools/call"), Some(session)) if session == format!("session-{sessions}") => {
            if got.body["params"]["arguments"]["catalog"]["query"] == "second" && sessions == 1 {
                Act::text(404, "text/plain", "Session not found")
            } else {
                assert_eq!(got.header("mcp-protocol-version"), Some("2025-03-26"));
                Act::json(200, &tool(got, &found()))
            }
        }
        other => panic!("unexpected: {other:?}"),
    });
    for query in ["first", "second", "third"] {
        let carried =
            ask(&bridge, call(Operation::SearchCatalog, None, json!({ "query": query }))).await.expect("an answer");
        assert_eq!(Value::Object(carried.body.into()), found(), "{query}");
    }
    let methods: Vec<_> =
        stub.got().iter().map(|got| got.body["method"].as_str().unwrap_or_default().to_owned()).collect();
    assert_eq!(methods.iter().filter(|method| *method == "initialize").count(), 2, "{methods:?}");
}

#[tokio::test(start_paused = true)]
async fn streams_of_events_and_texts_are_answers_too() {
    let stub = Stub::of(NEWEST).await;
    let bridge = bridge(&stub, Transport::Mcp).await;
    stub.then(|got| {
        let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": {} });
        let answer = tool(got, &found());
        Act::text(
            200,
            "text/event-stream",
            &format!("event: message\ndata: {progress}\n\nevent: message\ndata: {answer}\n\n"),
        )
    });
    stub.then(|got| {
        let content = json!([{ "type": "text", "text": found().to_string() }]);
        Act::json(200, &json!({ "jsonrpc": "2.0", "id": got.body["id"], "result": { "content": content } }))
    });
    for query in ["stream", "text"] {
        let carried =
            ask(&bridge, call(Operation::SearchCatalog, None, json!({ "query": query }))).await.expect("an answer");
        assert_eq!(Value::Object(carried.body.into()), found());
    }
}

#[tokio::test(start_paused = true)]
async fn a_shop_of_the_first_release_may_have_methods_and_no_tools() {
    let first = Release::V2026_01_11;
    let stub = Stub::of(first).await;
    let bridge = bridge(&stub, Transport::Mcp).await;
    assert_eq!(bridge.release(), first);
    stub.usually(move |got| {
        let said = |name: &str, value: Value| {
            Act::json(200, &json!({ "jsonrpc": "2.0", "id": got.body["id"], name: value }))
        };
        match got.body["method"].as_str() {
            Some("create_checkout" | "get_checkout") => {
                let capabilities = json!([{ "name": "dev.ucp.shopping.checkout", "version": first.date() }]);
                said("result", json!({
                    "ucp": { "version": first.date(), "capabilities": capabilities }, "id": "k1", "status": "incomplete",
                    "line_items": [], "currency": "USD", "totals": [], "links": [], "payment": { "handlers": [] },
                }))
            }
            _ => said("error", json!({ "code": -32601, "message": "Method not found" })),
        }
    });
    let create = || call(Operation::CreateCheckout, None, json!({ "line_items": [], "currency": "USD" }));
    let key = create().key;
    let carried = ask(&bridge, create()).await.expect("a checkout");
    assert_eq!((&carried.body["id"], carried.status), (&json!("k1"), 201));
    ask(&bridge, call(Operation::GetCheckout, Some("k1"), Value::Null)).await.expect("a checkout");
    let got = stub.got();
    let methods: Vec<_> = got.iter().map(|got| got.body["method"].as_str().expect("a method")).collect();
    assert_eq!(methods, ["tools/call", "create_checkout", "get_checkout"], "it is tried once");
    let params = &got[1].body["params"];
    let profile = "https://gateway.example/upstream/2026-01-11/.well-known/ucp";
    assert_eq!(params["_meta"], json!({ "ucp": { "profile": profile } }));
    assert_eq!((params["idempotency_key"].as_str(), params.get("meta")), (key.as_deref(), None));
    assert_eq!(params["checkout"]["line_items"], json!([]));
    assert_eq!(got[2].body["params"]["id"], "k1");
}

#[tokio::test(start_paused = true)]
async fn a_shop_that_lacks_one_tool_keeps_the_others() {
    let first = Release::V2026_01_11;
    let stub = Stub::of(first).await;
    let bridge = bridge(&stub, Transport::Mcp).await;
    // `true` while it has tools, of which one is missing.
    let tools = Arc::new(AtomicBool::new(true));
    let has_tools = Arc::clone(&tools);
    stub.usually(move |got| {
        let said =
            |name: &str, value: Value| Act::json(200, &json!({ "jsonrpc": "2.0", "id": got.body["id"], name: value }));
        let capabilities = json!([{ "name": "dev.ucp.shopping.checkout", "version": first.date() }]);
        let checkout = json!({
            "ucp": { "version": first.date(), "capabilities": capabilities }, "id": "k1", "status": "incomplete",
            "line_items": [], "currency": "USD", "totals": [], "links": [], "payment": { "handlers": [] },
        });
        let tool = got.body["method"] == "tools/call";
        let name = if tool { &got.body["params"]["name"] } else { &got.body["method"] };
        if tool != has_tools.load(Ordering::Relaxed) || name == "cancel_checkout" {
            return said("error", json!({ "code": -32601, "message": "Method not found" }));
        }
        said("result", if tool { json!({ "structuredContent": checkout }) } else { checkout })
    });
    let asked = |from: usize| -> Vec<String> {
        stub.got()[from..].iter().map(|got| got.body["method"].as_str().expect("a method").to_owned()).collect()
    };
    let get = || call(Operation::GetCheckout, Some("k1"), Value::Null);
    let create = call(Operation::CreateCheckout, None, json!({ "line_items": [], "currency": "USD" }));
    ask(&bridge, create).await.expect("a checkout");
    let before = stub.got().len();
    ask(&bridge, call(Operation::CancelCheckout, Some("k1"), Value::Null)).await.expect_err("it has no such tool");
    assert_eq!(asked(before), ["tools/call", "cancel_checkout"], "that call alone");
    ask(&bridge, get()).await.expect("a checkout");
    assert_eq!(asked(before + 2), ["tools/call"], "and no other one");
    // It is replaced by another program, and replaced again.
    for (form, other) in [("get_checkout", "tools/call"), ("tools/call", "get_checkout")] {
        tools.fetch_not(Ordering::Relaxed);
        let before = stub.got().len();
        ask(&bridge, get()).await.expect("a checkout");
        ask(&bridge, get()).await.expect("a checkout");
        assert_eq!(asked(before), [other, form, form], "what was learnt is forgotten when it fails");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stays_open_is_over_with_the_answer() {
    let stub = Stub::of(NEWEST).await;
    let bridge = bridge(&stub, Transport::Mcp).await;
    let noise = |n: u64| json!({ "jsonrpc": "2.0", "method": "notifications/progress", "params": { "progress": n } });
    stub.then(move |got| {
        // Requests to the gateway, and responses to others, do not matter to the call.
        let ping = json!({ "jsonrpc": "2.0", "id": got.body["id"], "method": "ping" });
        let other =
            json!({ "jsonrpc": "2.0", "id": 4_000, "result": { "structuredContent": { "ucp": {}, "id": "x" } } });
        let answer = tool(got, &found()).to_string();
        let (first, second) = answer.split_at(answer.len() / 2);
        let mut pieces: Vec<_> = (0..50).map(|n| format!("event: message\ndata: {}\n\n", noise(n))).collect();
        pieces.extend([
            format!(": hello\r\n\r\ndata: {ping}\r\n\r\ndata: {other}\r\n\r\n"),
            format!("data: {first}"),
            second.to_owned(),
            "\n".to_owned(),
            "\n".to_owned(),
        ]);
        Act::Stream(pieces)
    });
    let search = |query: &str| ask(&bridge, call(Operation::SearchCatalog, None, json!({ "query": query })));
    assert_eq!(document(search("open").await.expect("an answer")), found());
    // One that never answers is given up, however much it talks.
    let endless = "x".repeat(1 << 20);
    for pieces in [vec![], vec![format!("data: {}\n\n", noise(1))], vec![format!(": {endless}\n"); 20]] {
        let mut options = options(&stub, Transport::Mcp);
        options.call.retry.attempts = 1;
        let bridge = opened(options).await.expect("a bridge");
        stub.then(move |_| Act::Stream(pieces.clone()));
        let refused = ask(&bridge, call(Operation::SearchCatalog, None, json!({ "query": "never" }))).await;
        assert_eq!(refused.expect_err("no answer").code, Code::Unavailable);
    }
}

#[tokio::test(start_paused = true)]
async fn nonsense_is_a_refusal_and_never_a_crash() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let mut options = options(&stub, transport);
        options.call.max_body = 64 << 10;
        options.call.retry.attempts = 1;
        options.call.breaker.least = u32::MAX;
        let bridge = opened(options).await.expect("a bridge");
        let huge = format!("{{\"ucp\":{{}},\"x\":\"{}\"}}", "a".repeat(100 << 10));
        let acts: Vec<(&str, Acting)> = vec![
            ("html", Box::new(|| Act::text(200, "text/html", "<html>Maintenance</html>"))),
            ("cut off", Box::new(|| Act::BreakOff("{\"ucp\":{"))),
            ("cut short", Box::new(|| Act::text(200, "application/json", "{\"ucp\":{"))),
            ("huge", Box::new(move || Act::text(200, "application/json", &huge))),
            ("redirect", Box::new(|| Act::text(302, "text/plain", "").with("location", "http://127.0.0.1:1/"))),
            ("array", Box::new(|| Act::text(200, "application/json", "[1,2]"))),
            ("number", Box::new(|| Act::text(200, "application/json", "7"))),
            ("no result", Box::new(|| Act::text(200, "application/json", "{\"jsonrpc\":\"2.0\",\"id\":99999}"))),
            ("stream", Box::new(|| Act::text(200, "text/event-stream", "data: {\n\ndata: nothing\n\n"))),
            ("silence", Box::new(|| Act::Never)),
            ("500", Box::new(|| Act::text(500, "text/plain", "at Shop.java:17"))),
            ("403", Box::new(|| Act::text(403, "text/html", "<h1>Forbidden</h1>"))),
        ];
        for (name, act) in acts {
            // REST answers are whatever an object says.
            if transport == Transport::Rest && name == "no result" {
                continue;
            }
            stub.usually(move |_| act());
            let refused = ask(&bridge, call(Operation::SearchCatalog, None, json!({ "query": name }))).await;
            let refused = refused.expect_err(name);
            assert_eq!(refused.code, Code::Unavailable, "{name} over {transport:?}");
            for leaked in ["Shop.java", "<h1>", "127.0.0.1"] {
                assert!(!refused.content.contains(leaked), "{name}: {}", refused.content);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whether_a_purchase_was_made_is_looked_up() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let options = options(&stub, transport);
        for id in ["k1", "k2", "k3", "k4"] {
            own(&options, Kind::Checkout, id).await;
        }
        let bridge = opened(options).await.expect("a bridge");
        let say = move |got: &Got, document: &Value| match transport {
            Transport::Rest => Act::json(200, document),
            Transport::Mcp => Act::json(200, &tool(got, document)),
        };
        let checkout = |id: &str, status: &str| {
            let mut checkout = json!({ "ucp": ucp(NEWEST), "id": id, "status": status, "totals": [] });
            if status == "completed" {
                checkout["order"] = json!({ "id": "o1", "permalink_url": "https://shop.example/o1" });
            }
            checkout
        };
        let payment = json!({ "payment": { "instruments": [{ "id": "pi", "handler_id": "h", "type": "card", "selected": true,
            "credential": { "type": "token", "token": "tok", "com.example.cryptogram": "x" } }] } });
        let complete = |id: &str| call(Operation::CompleteCheckout, Some(id), payment.clone());
        // It hangs, and has carried it out.
        let done = checkout("k1", "completed");
        stub.then(|_| Act::Never).then(move |got| say(got, &done));
        let carried = ask(&bridge, complete("k1")).await.expect("the truth");
        assert_eq!((&carried.body["status"], &carried.body["order"]["id"]), (&json!("completed"), &json!("o1")));
        // It breaks off, and is at it.
        let at_it = checkout("k2", "complete_in_progress");
        stub.then(|_| Act::BreakOff("{")).then(move |got| say(got, &at_it));
        assert_eq!(ask(&bridge, complete("k2")).await.expect("the truth").body["status"], "complete_in_progress");
        // It answers nonsense, and has done nothing.
        let open = checkout("k3", "ready_for_complete");
        stub.then(|_| Act::text(200, "text/html", "<html>")).then(move |got| say(got, &open));
        let refused = ask(&bridge, complete("k3")).await.expect_err("not known to be done");
        assert_eq!(refused.code, Code::Unavailable);
        assert!(refused.content.contains("still open"), "{}", refused.content);
        // Nothing can be found out.
        stub.then(|_| Act::Never).usually(|_| Act::text(500, "text/plain", ""));
        let refused = ask(&bridge, complete("k4")).await.expect_err("unknown");
        assert!(refused.content.contains("not known whether"), "{}", refused.content);
        let sent = |got: &Got| match transport {
            Transport::Rest => got.path.ends_with("/complete").then(|| got.body.clone()),
            Transport::Mcp => {
                let params = &got.body["params"];
                (params["name"] == "complete_checkout").then(|| params["arguments"]["checkout"].clone())
            }
        };
        let completions: Vec<_> = stub.got().iter().filter_map(sent).collect();
        assert_eq!(completions.len(), 4, "each was sent once");
        assert_eq!(completions[0], payment, "what pays is handed on to the letter");
        // The order is the platform's now.
        stub.usually(move |got| say(got, &json!({ "ucp": ucp(NEWEST), "id": "o1" })));
        assert_eq!(
            ask(&bridge, call(Operation::GetOrder, Some("o1"), Value::Null)).await.expect("an order").body["id"],
            "o1"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn a_change_of_unknown_end_is_asked_for_again_under_its_key() {
    let stub = Stub::of(NEWEST).await;
    let bridge = bridge(&stub, Transport::Rest).await;
    let cart = json!({ "ucp": ucp(NEWEST), "id": "c1" });
    let said = cart.clone();
    stub.then(|_| Act::BreakOff("{\"ucp\"")).then(move |_| Act::json(201, &said));
    let carried = ask(&bridge, call(Operation::CreateCart, None, json!({ "line_items": [] }))).await.expect("a cart");
    assert_eq!(Value::Object(carried.body.into()), cart);
    let got = stub.got();
    assert_eq!(got.len(), 2);
    assert_eq!(got[0].header("idempotency-key"), got[1].header("idempotency-key"));
    // Without a key nobody knows.
    stub.usually(|_| Act::BreakOff("{\"ucp\""));
    let mut keyless = call(Operation::CreateCart, None, json!({ "line_items": [] }));
    keyless.key = None;
    ask(&bridge, keyless).await.expect_err("unknown");
    assert_eq!(stub.got().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn shops_that_cannot_be_understood_are_told_at_the_start() {
    let stub = Stub::of(NEWEST).await;
    let whole = stub.shown();
    let mut unknown = whole.clone();
    unknown["ucp"]["version"] = "2031-01-01".into();
    let mut nowhere = whole.clone();
    nowhere["ucp"]["services"] = json!({});
    for (profile, expected) in [
        (json!("nothing"), "cannot be read"),
        (unknown, "offers the releases 2031-01-01"),
        (nowhere, "names no endpoint"),
    ] {
        stub.profile(profile);
        let error = opened(options(&stub, Transport::Mcp)).await.expect_err("no bridge").to_string();
        assert!(error.contains(expected), "{error}");
    }
    // Only an older release is wanted, and not there.
    stub.profile(whole);
    let mut options = options(&stub, Transport::Mcp);
    options.release = Some(Release::V2026_01_23);
    assert!(opened(options).await.is_err());
}
