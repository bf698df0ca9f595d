//! Requests that reach the shop, and the responses from it.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, HeaderValue, header::CONTENT_TYPE};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use ucp_bridge::{Token, profile::Transport};
use ucp_core::{
    Code, Operation, Release,
    operation::SupportedOperations,
    ports::{Trace, UcpUpstream as _, owners::Kind},
};
use ucp_testkit::wait;
use ucp_trust::signature::{Message, RequestLine, Scheme, Signed, SigningKey, Start, sign_response};

use super::stub::{
    Act, Ahead, Got, Stub, ask, bridge, call, caller, document, key, now, opened, options, own, tool, ucp,
};

const NEWEST: Release = Release::V2026_08_25;

fn cart(id: &str) -> Value {
    json!({
        "ucp": ucp(NEWEST), "id": id, "line_items": [], "currency": "USD", "totals": [],
        "continue_url": "https://shop.example/c?key=a%20b", "com.example.gift": { "wrapped": true, "layers": 1.50 },
    })
}

fn wanted() -> Value {
    json!({
        "line_items": [{ "item": { "id": "v" }, "quantity": 1, "com.example.engraving": "J" }],
        "signals": { "dev.ucp.buyer_ip": "192.0.2.7", "dev.ucp.user_agent": "A/1" },
        "attribution": { "campaign": "x" },
        "context": { "eligibility": ["com.example.member"], "unknown": [null] },
        "unknown": { "deep": [1, 2.5, "é"] },
    })
}

#[tokio::test(start_paused = true)]
async fn a_call_over_rest_is_the_operations_own() {
    let stub = Stub::of(NEWEST).await;
    let (signing, public) = key();
    let mut options = options(&stub, Transport::Rest);
    options.key = std::sync::Arc::new(move || Some(std::sync::Arc::clone(&signing)));
    options.token = Some(Token::new("s3cret"));
    own(&options, Kind::Cart, "a/b?c").await;
    let bridge = opened(options).await.expect("a bridge");
    stub.usually(|_| Act::json(200, &cart("a/b?c")));
    let mut call = call(Operation::UpdateCart, Some("a/b?c"), wanted());
    call.languages = vec!["de-CH".into(), "fr".into()];
    let key = call.key.clone();
    let carried = ask(&bridge, call).await.expect("an answer");
    assert_eq!(Value::Object(carried.body.into()), cart("a/b?c"));
    let [got] = &stub.got()[..] else { panic!("one request") };
    assert_eq!((got.method.as_str(), got.path.as_str()), ("PUT", "/api/carts/a%2Fb%3Fc"));
    assert_eq!(got.body, wanted(), "to the letter");
    assert_eq!(
        got.header("ucp-agent"),
        Some("profile=\"https://gateway.example/upstream/2026-08-25/.well-known/ucp\"")
    );
    assert_eq!(got.header("idempotency-key"), key.as_deref());
    assert_eq!(got.header("authorization"), Some("Bearer s3cret"));
    assert_eq!(got.header("accept-language"), Some("de-CH, fr"));
    assert!(got.header("request-id").is_some());
    let host = got.header("host").expect("a host").to_owned();
    let line = RequestLine { method: "PUT", scheme: Scheme::Http, authority: &host, path: &got.path, query: None };
    let signed = Signed::read(&got.headers).expect("readable").expect("signed");
    let keys = ucp_trust::jwk::read_set(&json!([public]), &mut Vec::new());
    let message = Message { start: Start::Request(line), headers: &got.headers };
    signed.verify(&message, got.body.to_string().as_bytes(), &keys, now().into()).expect("the gateway's signature");
}

#[tokio::test(start_paused = true)]
async fn a_call_over_mcp_is_a_tools() {
    let stub = Stub::of(NEWEST).await;
    let options = options(&stub, Transport::Mcp);
    own(&options, Kind::Cart, "c1").await;
    let bridge = opened(options).await.expect("a bridge");
    stub.usually(|got| Act::json(200, &tool(got, &cart("c1"))));
    let carried = ask(&bridge, call(Operation::UpdateCart, Some("c1"), wanted())).await.expect("an answer");
    assert_eq!((Value::Object(carried.body.into()), carried.status), (cart("c1"), 200));
    let carried = ask(&bridge, call(Operation::CancelCart, Some("c1"), Value::Null)).await.expect("an answer");
    assert_eq!(carried.status, 200);
    let [update, cancel] = &stub.got()[..] else { panic!("two requests") };
    assert_eq!((update.path.as_str(), &update.body["method"]), ("/api/mcp", &json!("tools/call")));
    assert_eq!(update.header("accept"), Some("application/json, text/event-stream"));
    let arguments = &update.body["params"]["arguments"];
    assert_eq!(
        (&update.body["params"]["name"], &arguments["id"], &arguments["cart"]),
        (&json!("update_cart"), &json!("c1"), &wanted())
    );
    assert_eq!(
        arguments["meta"]["ucp-agent"]["profile"],
        "https://gateway.example/upstream/2026-08-25/.well-known/ucp"
    );
    assert_eq!(arguments["meta"]["idempotency-key"], update.header("idempotency-key").expect("a key"));
    assert_ne!(update.body["id"], cancel.body["id"], "every call has a number of its own");
    assert_eq!(cancel.body["params"]["arguments"].as_object().map(serde_json::Map::len), Some(2), "no payload");
}

#[tokio::test(start_paused = true)]
async fn what_a_platform_has_not_made_does_not_exist_for_it() {
    let stub = Stub::of(NEWEST).await;
    let bridge = bridge(&stub, Transport::Mcp).await;
    stub.usually(|got| Act::json(200, &tool(got, &cart("c1"))));
    let made = ask(&bridge, call(Operation::CreateCart, None, wanted())).await.expect("a cart");
    assert_eq!(made.status, 201);
    assert!(
        ask(&bridge, call(Operation::GetCart, Some("c1"), Value::Null)).await.expect("a cart").body.contains_key("id")
    );
    let asked = stub.got().len();
    let other = caller("other", NEWEST);
    for call in [
        call(Operation::GetCart, Some("c1"), Value::Null),
        call(Operation::CancelCart, Some("c1"), Value::Null),
        call(Operation::CreateCheckout, None, json!({ "cart_id": "c1" })),
        call(Operation::GetOrder, Some("c1"), Value::Null),
    ] {
        let answer = bridge.forward(&other, call).await.expect("an answer");
        assert_eq!(answer.body["messages"][0]["code"], "not_found");
    }
    assert_eq!(stub.got().len(), asked, "the shop was not even asked");
    // Another platform that uses the same key gets nothing of it.
    let refused = bridge.forward(&other, call(Operation::CreateCart, None, wanted())).await.expect_err("refused");
    assert_eq!(refused.code, Code::IdempotencyConflict);
}

#[tokio::test(start_paused = true)]
async fn a_release_is_translated_both_ways() {
    let older = Release::V2026_04_08;
    let stub = Stub::of(older).await;
    let bridge = bridge(&stub, Transport::Rest).await;
    assert_eq!(bridge.release(), older);
    stub.usually(move |_| {
        Act::json(201, &json!({
            "ucp": ucp(older), "id": "k1", "status": "incomplete", "currency": "USD", "line_items": [],
            "totals": [{ "type": "subtotal", "amount": 100 }, { "type": "discount", "amount": -30 }, { "type": "total", "amount": 70 }],
            "buyer": { "consent": { "marketing": true } }, "links": [], "attribution": { "campaign": "x" },
        }))
    });
    let mut first = call(
        Operation::CreateCheckout,
        None,
        json!({
            "line_items": [], "buyer": { "consent": { "marketing": true } }, "risk_signals": { "dev.ucp.user_agent": "A/1" },
        }),
    );
    first.release = Release::V2026_01_23;
    let carried = ask(&bridge, first).await.expect("a checkout");
    assert_eq!(carried.body["totals"][1]["amount"], 30);
    assert!(carried.body.get("attribution").is_none());
    assert_eq!(stub.got()[0].body["signals"], json!({ "dev.ucp.user_agent": "A/1" }));
    let mut second = call(
        Operation::CreateCheckout,
        None,
        json!({
            "line_items": [], "buyer": { "consent": { "dev.ucp.consent.marketing": { "granted": true } } },
        }),
    );
    second.key = Some("another".into());
    let carried = ask(&bridge, second).await.expect("a checkout");
    assert_eq!(carried.body["totals"][1]["amount"], -30);
    assert_eq!(carried.body["buyer"]["consent"]["dev.ucp.consent.marketing"]["granted"], true);
    assert_eq!(stub.got()[1].body["buyer"]["consent"], json!({ "marketing": true }));
}

#[tokio::test(start_paused = true)]
async fn what_a_call_is_called_is_handed_on() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let bridge = bridge(&stub, transport).await;
        stub.usually(move |got| match transport {
            Transport::Rest => Act::json(201, &cart("c1")),
            Transport::Mcp => Act::json(200, &tool(got, &cart("c1"))),
        });
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let mut named = call(Operation::CreateCart, None, wanted());
        named.trace = Trace {
            request_id: Some("r-1".into()),
            parent: Some(parent.into()),
            state: Some("vendor=1,other@x=2".into()),
        };
        ask(&bridge, named).await.expect("a cart");
        ask(&bridge, call(Operation::CreateCart, None, wanted())).await.expect("a cart");
        let [named, nameless] = &stub.got()[..] else { panic!("two requests") };
        assert_eq!(named.header("request-id"), Some("r-1"));
        assert_eq!(
            (named.header("traceparent"), named.header("tracestate")),
            (Some(parent), Some("vendor=1,other@x=2"))
        );
        assert!(nameless.header("request-id").is_some_and(|id| id.len() == 36), "it has a name all the same");
        assert_eq!((nameless.header("traceparent"), nameless.header("tracestate")), (None, None));
    }
}

/// Answers, written as no program here would write them.
const STRANGE: [&str; 2] = [
    r#""zz":{"b":1,"a":18446744073709551615,"c":-9223372036854775808,"é":[9007199254740993,0.1,1.0,5e-324,"ÿ",null]},"id":"c1","line_items":[],"a.b":{"":{}}"#,
    r#""id":"c1","messages":[{"type":"info","z":1,"code":"x","content":"y"}],"totals":[{"type":"total","amount":1,"display_text":"₿"}]"#,
];

#[tokio::test(start_paused = true)]
async fn members_that_nobody_names_stay_as_they_are_in_their_order() {
    for transport in [Transport::Rest, Transport::Mcp] {
        for strange in STRANGE {
            let stub = Stub::of(NEWEST).await;
            let bridge = bridge(&stub, transport).await;
            let said = format!("{{\"ucp\":{},{strange}}}", ucp(NEWEST));
            let document = said.clone();
            stub.usually(move |got| match transport {
                Transport::Rest => Act::text(201, "application/json", &document),
                Transport::Mcp => {
                    let id = &got.body["id"];
                    let text =
                        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"structuredContent":{document},"x":1}}}}"#);
                    Act::text(200, "application/json", &text)
                }
            });
            // The other direction, in the same words.
            let payload: Value = serde_json::from_str(&format!("{{{strange}}}")).expect("JSON");
            let carried = ask(&bridge, call(Operation::CreateCart, None, payload)).await.expect("a cart");
            assert_eq!(serde_json::to_string(&*carried.body).expect("JSON"), said, "from {transport:?}");
            let got = stub.got().remove(0);
            let there = match transport {
                Transport::Rest => got.body,
                Transport::Mcp => got.body["params"]["arguments"]["cart"].clone(),
            };
            assert_eq!(there.to_string(), format!("{{{strange}}}"), "to {transport:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn look_ups_are_split_and_put_together_again() {
    let stub = Stub::of(NEWEST).await;
    let bridge = bridge(&stub, Transport::Rest).await;
    stub.usually(|got| {
        let ids: Vec<_> =
            got.body["ids"].as_array().expect("ids").iter().map(|id| id.as_str().expect("a text").to_owned()).collect();
        if ids.len() > 10 {
            return Act::json(400, &json!({ "code": "request_too_large", "content": "Ten at most." }));
        }
        if ids.iter().any(|id| id == "id-13") {
            return Act::text(500, "text/html", "<h1>Oops</h1>");
        }
        let products: Vec<_> = ids
            .iter()
            .map(|id| {
                let price = json!({ "amount": 100, "currency": "USD" });
                json!({ "id": format!("p-{id}"), "variants": [{ "id": id, "price": price, "inputs": [{ "id": id }] }] })
            })
            .collect();
        Act::json(200, &json!({ "ucp": ucp(NEWEST), "products": products }))
    });
    let ids: Vec<_> = (0..25).map(|number| format!("id-{number}")).chain(["id-0".to_owned()]).collect();
    let carried = ask(&bridge, call(Operation::LookupCatalog, None, json!({ "ids": ids }))).await.expect("an answer");
    let products = carried.body["products"].as_array().expect("products");
    assert_eq!(products.len(), 15, "two of three slices");
    let messages = carried.body["messages"].as_array().expect("messages");
    assert_eq!(messages.len(), 1);
    assert_eq!((&messages[0]["type"], &messages[0]["code"]), (&json!("warning"), &json!("not_checked")));
    let content = messages[0]["content"].as_str().expect("a text");
    assert!(content.contains("id-10") && content.contains("id-19") && !content.contains("id-9,"), "{content}");
    // The result is remembered.
    let before = stub.got().len();
    ask(
        &bridge,
        call(
            Operation::LookupCatalog,
            None,
            json!({ "ids": (100..120).map(|id| format!("id-{id}")).collect::<Vec<_>>() }),
        ),
    )
    .await
    .expect("an answer");
    assert_eq!(stub.got().len() - before, 2);
}

#[tokio::test(start_paused = true)]
async fn equal_reads_are_one_unless_they_are_about_a_buyer() {
    let stub = Stub::of(NEWEST).await;
    let bridge = bridge(&stub, Transport::Rest).await;
    let said = json!({ "ucp": ucp(NEWEST), "products": [], "pagination": { "has_next_page": false } });
    stub.usually(move |_| Act::json(200, &said));
    let search = |payload: Value| ask(&bridge, call(Operation::SearchCatalog, None, payload));
    let plain = json!({ "query": "tea" });
    let answers = wait::all((0..20).map(|_| search(plain.clone()))).await;
    assert!(answers.iter().all(Result::is_ok));
    assert_eq!(stub.got().len(), 1);
    let personal = json!({ "query": "tea", "signals": { "dev.ucp.buyer_ip": "192.0.2.7" } });
    for _ in 0..3 {
        search(personal.clone()).await.expect("an answer");
    }
    assert_eq!(stub.got().len(), 4);
    assert_eq!(stub.got()[3].body, personal);
}

fn rpc_error(got: &Got, code: i64, data: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": got.body["id"], "error": { "code": code, "message": "No.", "data": data } })
}

#[tokio::test(start_paused = true)]
async fn refusals_keep_their_code_on_either_transport() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let bridge = bridge(&stub, transport).await;
        for (status, number, stated, expected, wait) in [
            (
                429,
                -32000,
                json!({ "code": "rate_limited", "content": "Slow down.", "retry_after": 17 }),
                Code::RateLimited,
                Some(17),
            ),
            (400, -32602, json!({ "code": "invalid_cursor", "content": "No such page." }), Code::InvalidCursor, None),
            (
                409,
                -32000,
                json!({ "code": "idempotency_conflict", "content": "Other." }),
                Code::IdempotencyConflict,
                None,
            ),
            (422, -32001, json!({ "code": "version_unsupported", "content": "No." }), Code::Unavailable, Some(30)),
            (401, -32000, json!({ "code": "signature_missing", "content": "Sign." }), Code::Unavailable, Some(30)),
            (404, -32601, json!({ "code": "unknown_method", "content": "What?" }), Code::Unavailable, Some(30)),
        ] {
            stub.usually(move |got| match transport {
                Transport::Rest => Act::json(status, &stated),
                Transport::Mcp => Act::json(status, &rpc_error(got, number, &stated)),
            });
            let mut call = call(Operation::CreateCart, None, wanted());
            call.key = Some(format!("{status}-{number}-{expected}"));
            let refused = ask(&bridge, call).await.expect_err("refused");
            assert_eq!(
                (refused.code, refused.retry_after),
                (expected, wait),
                "{status} over {transport:?}: {}",
                refused.content
            );
        }
    }
}

/// An answer that a key signs, with a body that may be another one.
fn signed(key: &SigningKey, body: &Value, sent: &Value) -> Act {
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
    sign_response(200, &mut headers, body.to_string().as_bytes(), key, now().into()).expect("signed");
    ["content-digest", "signature-input", "signature"]
        .into_iter()
        .fold(Act::json(200, sent), |act, name| act.with(name, headers[name].to_str().expect("a text")))
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_is_signed_has_to_be_signed_by_the_shop() {
    let ((shop, public), (stranger, _)) = (key(), key());
    let stub = Stub::offering(NEWEST, &SupportedOperations::everything(), &[public]).await;
    let options = options(&stub, Transport::Rest);
    own(&options, Kind::Cart, "c1").await;
    let bridge = opened(options).await.expect("a bridge");
    let get = || ask(&bridge, call(Operation::GetCart, Some("c1"), Value::Null));
    let said = std::sync::Arc::clone(&shop);
    stub.usually(move |_| signed(&said, &cart("c1"), &cart("c1")));
    assert_eq!(Value::Object(get().await.expect("a cart").body.into()), cart("c1"));
    stub.usually(move |_| signed(&stranger, &cart("c1"), &cart("c1")));
    assert_eq!(get().await.expect_err("a stranger's").code, Code::Unavailable);
    stub.usually(move |_| signed(&shop, &cart("c2"), &cart("c1")));
    assert_eq!(get().await.expect_err("about another body").code, Code::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn a_finished_checkout_is_a_conflict_whichever_transport_told() {
    let over = json!({
        "ucp": { "version": NEWEST.date(), "status": "error", "capabilities": {} },
        "messages": [{ "type": "error", "code": "checkout_completed", "content": "Over.", "severity": "unrecoverable" }],
    });
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let options = options(&stub, transport);
        own(&options, Kind::Checkout, "k1").await;
        let bridge = opened(options).await.expect("a bridge");
        let over = over.clone();
        stub.usually(move |got| match transport {
            Transport::Rest => Act::json(409, &over),
            Transport::Mcp => Act::json(200, &tool(got, &over)),
        });
        let carried = ask(&bridge, call(Operation::CancelCheckout, Some("k1"), Value::Null)).await.expect("an outcome");
        assert_eq!(carried.status, 409, "{transport:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_shop_that_can_be_asked_about_nothing_is_said_to_be_out_of_reach() {
    let stub = Stub::of(NEWEST).await;
    let bridge = bridge(&stub, Transport::Rest).await;
    stub.usually(|_| Act::text(503, "text/plain", "").with("retry-after", "7"));
    let ids: Vec<_> = (0..25).map(|number| format!("id-{number}")).collect();
    let refused = ask(&bridge, call(Operation::LookupCatalog, None, json!({ "ids": ids }))).await.expect_err("refused");
    assert_eq!((refused.code, refused.retry_after), (Code::Unavailable, Some(7)));
    let refused = ask(&bridge, call(Operation::CreateCart, None, wanted())).await.expect_err("refused");
    assert_eq!((refused.code, refused.retry_after), (Code::Unavailable, Some(7)));
}

/// A shop of this release with all but one operation.
fn without(operation: Operation) -> SupportedOperations {
    let mut offering = SupportedOperations::everything();
    offering.operations.retain(|kept| *kept != operation);
    offering
}

#[tokio::test(start_paused = true)]
async fn what_the_shop_stops_to_offer_is_said_to_be_gone_until_it_is_back() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let ahead = Ahead::default();
        let bridge = ahead.opened(options(&stub, transport)).await;
        let whole = stub.shown();
        let said = json!({ "ucp": ucp(NEWEST), "products": [] });
        let answer = said.clone();
        stub.usually(move |got| match transport {
            Transport::Rest => Act::json(200, &answer),
            Transport::Mcp => Act::json(200, &tool(got, &answer)),
        });
        let search = |query: &str| ask(&bridge, call(Operation::SearchCatalog, None, json!({ "query": query })));
        assert_eq!(document(search("1").await.expect("an answer")), said);
        // It says so itself.
        let smaller = Stub::offering(NEWEST, &without(Operation::SearchCatalog), &[]).await.shown();
        stub.profile(with_endpoints_of(&whole, smaller.clone()));
        assert!(search("2").await.expect("an answer").body.contains_key("products"), "nobody knows yet");
        ahead.by(Duration::from_secs(400));
        bridge.refresh().await;
        let asked = stub.got().len();
        let gone = document(search("3").await.expect("an outcome"));
        assert_eq!(gone["messages"][0]["code"], "capabilities_incompatible", "{gone}");
        assert!(
            gone["messages"][0]["content"].as_str().is_some_and(|text| text.contains("`search_catalog`")),
            "{gone}"
        );
        assert_eq!(stub.got().len(), asked, "it was not asked");
        assert!(
            bridge.offering().operations.contains(&Operation::SearchCatalog),
            "what the gateway offers is what it began with"
        );
        // It is back.
        stub.profile(whole.clone());
        ahead.by(Duration::from_secs(400));
        bridge.refresh().await;
        assert_eq!(document(search("4").await.expect("an answer")), said);
        // It does not have it, and said so elsewhere already.
        stub.profile(with_endpoints_of(&whole, smaller));
        ahead.by(Duration::from_secs(100));
        stub.usually(move |got| match transport {
            Transport::Rest => Act::text(404, "text/plain", "Not found"),
            Transport::Mcp => {
                let error = json!({ "code": -32601, "message": "No such method." });
                Act::json(404, &json!({ "jsonrpc": "2.0", "id": got.body["id"], "error": error }))
            }
        });
        let gone = document(search("5").await.expect("an outcome"));
        assert_eq!(gone["messages"][0]["code"], "capabilities_incompatible", "{gone}");
    }
}

/// A profile with the services of another one.
fn with_endpoints_of(other: &Value, mut profile: Value) -> Value {
    profile["ucp"]["services"] = other["ucp"]["services"].clone();
    profile
}

#[tokio::test(start_paused = true)]
async fn what_is_alive_is_remembered_for_longer() {
    let stub = Stub::of(NEWEST).await;
    let mut options = options(&stub, Transport::Rest);
    let days = Arc::new(AtomicI64::new(0));
    let day = |n: i64| now() + SignedDuration::from_hours(24 * n);
    let passed = Arc::clone(&days);
    options.now = Arc::new(move || day(passed.load(Ordering::Relaxed)));
    let bridge = opened(options.clone()).await.expect("a bridge");
    let of = |id: &str, expires_at: Option<Timestamp>| {
        let mut cart = cart(id);
        cart["expires_at"] = json!(expires_at.map(|at| at.to_string()));
        cart
    };
    let until = async |id: &str| options.owners.owned(Kind::Cart, id).await.expect("read").expect("known").until;
    for (id, stated, known) in [
        ("never", None, day(0)),
        ("soon", Some(day(6)), day(6)),
        ("past", Some(day(-6)), day(0)),
        // Nobody is believed that it lives for ever.
        ("forever", Some(day(100_000)), day(366)),
    ] {
        let said = of(id, stated);
        stub.usually(move |_| Act::json(201, &said));
        ask(&bridge, call(Operation::CreateCart, None, wanted())).await.expect("a cart");
        assert_eq!(until(id).await, known, "{id}");
    }
    let get = async |id: &str, expires_at| {
        let said = of(id, expires_at);
        stub.usually(move |_| Act::json(200, &said));
        ask(&bridge, call(Operation::GetCart, Some(id), Value::Null)).await.expect("a cart");
        until(id).await
    };
    assert_eq!(get("soon", Some(day(7))).await, day(6), "so little is not worth writing down");
    assert_eq!(get("soon", Some(day(8))).await, day(8));
    assert_eq!(get("soon", Some(day(3))).await, day(8), "nothing is made shorter");
    days.store(10, Ordering::Relaxed);
    assert_eq!(get("never", None).await, day(10), "it is alive now");
}
