//! Refusals of the shop in the words of its own program, calls that it does not answer, and where calls must not go.

use serde_json::{Value, json};
use ucp_bridge::{Token, profile::Transport};
use ucp_core::{Code, Operation, Release, ports::owners::Kind};
use ucp_testkit::log::Log;

use super::stub::{Act, Got, Stub, ask, call, document, key, opened, options, own, tool, ucp};

const NEWEST: Release = Release::V2026_08_25;

/// Error that a caller receives.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Told {
    /// A business outcome with this code and status.
    Outcome(&'static str, u16),
    /// A refusal with this code.
    Refusal(Code),
}

use Told::{Outcome, Refusal};

#[tokio::test(start_paused = true)]
async fn refusals_are_told_as_what_they_are_and_logged_once() {
    let faults = json!({ "detail": [{ "type": "missing", "loc": ["body", "line_items"], "msg": "Field required" }] });
    let header = json!({ "detail": [{ "type": "missing", "loc": ["header", "x-shop"], "msg": "Field required" }] });
    let (complete, update, create) =
        (Operation::CompleteCheckout, Operation::UpdateCheckout, Operation::CreateCheckout);
    for (operation, status, stated, told, level) in [
        (complete, 402, json!({ "detail": "No.", "code": "CARD_DECLINED" }), Outcome("payment_failed", 200), "WARN"),
        (complete, 402, json!({ "detail": "No." }), Outcome("payment_failed", 200), "WARN"),
        (complete, 422, json!({ "detail": "No.", "code": "UNKNOWN_TOKEN" }), Outcome("payment_failed", 200), "WARN"),
        (create, 400, json!({ "detail": "No.", "code": "OUT_OF_STOCK" }), Outcome("out_of_stock", 200), "WARN"),
        (update, 409, json!({ "detail": "No.", "code": "INSUFFICIENT_STOCK" }), Outcome("out_of_stock", 200), "WARN"),
        (
            update,
            409,
            json!({ "detail": "No.", "code": "CHECKOUT_NOT_MODIFIABLE" }),
            Outcome("checkout_not_modifiable", 409),
            "WARN",
        ),
        (update, 409, json!({ "detail": "It is completed." }), Outcome("conflict", 409), "WARN"),
        (
            update,
            409,
            json!({ "detail": "No.", "code": "IDEMPOTENCY_CONFLICT" }),
            Refusal(Code::IdempotencyConflict),
            "WARN",
        ),
        (
            update,
            409,
            json!({ "detail": "Idempotency-Key was used before." }),
            Refusal(Code::IdempotencyConflict),
            "WARN",
        ),
        (create, 409, json!({ "detail": "It is used." }), Refusal(Code::IdempotencyConflict), "WARN"),
        (update, 404, json!({ "detail": "No.", "code": "RESOURCE_NOT_FOUND" }), Outcome("not_found", 200), "WARN"),
        (update, 410, json!({ "detail": "No.", "code": "GONE" }), Outcome("not_found", 200), "WARN"),
        (create, 422, faults, Refusal(Code::InvalidRequest), "WARN"),
        (create, 422, json!({}), Refusal(Code::InvalidRequest), "WARN"),
        (create, 418, json!({ "detail": "No.", "code": "TEAPOT" }), Refusal(Code::InvalidRequest), "WARN"),
        (create, 422, header, Refusal(Code::InternalError), "ERROR"),
        (create, 415, json!({ "detail": "No." }), Refusal(Code::InternalError), "ERROR"),
        (create, 403, json!({ "detail": "No." }), Refusal(Code::Unavailable), "ERROR"),
    ] {
        let (log, _guard) = Log::of_this_thread();
        let stub = Stub::of(NEWEST).await;
        let options = options(&stub, Transport::Rest);
        own(&options, Kind::Checkout, "k1").await;
        let bridge = opened(options).await.expect("a bridge");
        let said = stated.clone();
        // A checkout whose payment was declined is read, which fails here.
        stub.usually(|_| Act::json(500, &json!({}))).then(move |_| Act::json(status, &said));
        let id = operation.takes_id().then_some("k1");
        let result = ask(&bridge, call(operation, id, json!({}))).await;
        let case = format!("{status} {stated}");
        match (result, told) {
            (Ok(answer), Outcome(code, status)) => {
                assert_eq!((answer.status, &answer.body["messages"][0]["code"]), (status, &json!(code)), "{case}");
                assert_eq!(answer.body["messages"][0]["content"], stated["detail"], "{case}");
            }
            (Err(refused), Refusal(code)) => {
                assert_eq!(refused.code, code, "{case}: {}", refused.content);
                // Repeating is only worth it where the operator may mend something meanwhile.
                assert!(!refused.content.to_lowercase().contains("retry later"), "{case}: {}", refused.content);
            }
            (result, _) => panic!("{case}: {result:?}"),
        }
        let text = log.text();
        let lines: Vec<_> = text.lines().filter(|line| line.contains("upstream rejected")).collect();
        assert_eq!(lines.len(), 1, "{case}: {lines:?}");
        let code = stated["code"].as_str().map(|code| format!("code=\"{code}\"")).unwrap_or_default();
        for part in [level, &format!("status={status}"), &code] {
            assert!(lines[0].contains(part), "{case}: {}", lines[0]);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_tool_refuses_in_words_of_its_own_too() {
    for (operation, data, told) in [
        (Operation::CreateCheckout, json!({ "code": "OUT_OF_STOCK" }), Outcome("out_of_stock", 200)),
        (Operation::CompleteCheckout, json!({ "code": "CARD_DECLINED" }), Outcome("payment_failed", 200)),
        (Operation::UpdateCheckout, json!({ "code": "ADDRESS_UNKNOWN" }), Refusal(Code::InvalidRequest)),
    ] {
        let stub = Stub::of(NEWEST).await;
        let options = options(&stub, Transport::Mcp);
        own(&options, Kind::Checkout, "k1").await;
        let bridge = opened(options).await.expect("a bridge");
        let error = json!({ "code": -32000, "message": "No.", "data": data });
        let said = move |got: &Got| Act::json(200, &json!({ "jsonrpc": "2.0", "id": got.body["id"], "error": error }));
        stub.usually(|_| Act::json(500, &json!({}))).then(said);
        let id = operation.takes_id().then_some("k1");
        match (ask(&bridge, call(operation, id, json!({}))).await, told) {
            (Ok(answer), Outcome(code, _)) => assert_eq!(answer.body["messages"][0]["code"], code),
            (Err(refused), Refusal(code)) => assert_eq!((refused.code, &*refused.content), (code, "No.")),
            (result, _) => panic!("{data}: {result:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_declined_payment_leaves_the_checkout_open() {
    let stub = Stub::of(NEWEST).await;
    let options = options(&stub, Transport::Rest);
    own(&options, Kind::Checkout, "k1").await;
    let bridge = opened(options).await.expect("a bridge");
    let open = json!({ "ucp": ucp(NEWEST), "id": "k1", "status": "ready_for_complete", "totals": [] });
    stub.then(|_| Act::json(402, &json!({ "detail": "Not enough money.", "code": "INSUFFICIENT_FUNDS" })));
    stub.then(move |_| Act::json(200, &open));
    let answer = document(ask(&bridge, call(Operation::CompleteCheckout, Some("k1"), json!({}))).await.expect("it"));
    assert_eq!((&answer["status"], &answer["id"]), (&json!("ready_for_complete"), &json!("k1")));
    assert_eq!(answer["messages"][0]["code"], "payment_failed");
    assert_eq!(answer["messages"][0]["content"], "Not enough money.");
}

/// A shop that is silent or breaks off, each time that something is created.
async fn sent(release: Release, transport: Transport, key: bool, silent: bool) -> Vec<Got> {
    let stub = Stub::of(release).await;
    let bridge = opened(options(&stub, transport)).await.expect("a bridge");
    stub.usually(move |got| {
        if release == Release::V2026_01_11 && got.body["method"] == "tools/call" {
            let error = json!({ "code": -32601, "message": "Method not found" });
            return Act::json(200, &json!({ "jsonrpc": "2.0", "id": got.body["id"], "error": error }));
        }
        if silent { Act::Never } else { Act::BreakOff("{\"ucp\"") }
    });
    let mut create = call(Operation::CreateCheckout, None, json!({ "line_items": [], "currency": "USD" }));
    create.key = create.key.filter(|_| key);
    ask(&bridge, create).await.expect_err("no answer");
    stub.got().into_iter().filter(|got| got.body["method"] != "tools/call" || release != Release::V2026_01_11).collect()
}

#[tokio::test(start_paused = true)]
async fn a_creation_without_answer_is_repeated_only_where_its_key_is_defined() {
    for silent in [true, false] {
        for release in Release::ALL.iter().copied() {
            let twice = sent(release, Transport::Rest, true, silent).await;
            assert_eq!(twice.len(), 2, "{release}, silent: {silent}");
            assert_eq!(twice[0].header("idempotency-key"), twice[1].header("idempotency-key"));
            let once = sent(release, Transport::Rest, false, silent).await;
            assert_eq!(once.len(), 1, "{release}: nobody else knows that key");
            assert!(once[0].header("idempotency-key").is_some_and(|key| key.len() == 36), "the release requires one");
        }
        assert_eq!(sent(Release::V2026_01_23, Transport::Mcp, true, silent).await.len(), 2);
        // Over MCP the first release has no key for it.
        assert_eq!(sent(Release::V2026_01_11, Transport::Mcp, true, silent).await.len(), 1);
    }
    // Nor as a tool, as which it is tried first.
    let stub = Stub::of(Release::V2026_01_11).await;
    let bridge = opened(options(&stub, Transport::Mcp)).await.expect("a bridge");
    stub.usually(|_| Act::Never);
    let create = call(Operation::CreateCheckout, None, json!({ "line_items": [], "currency": "USD" }));
    ask(&bridge, create).await.expect_err("no answer");
    assert_eq!(stub.got().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_shop_that_offers_nothing_is_told_at_the_start() {
    for release in [Release::V2026_01_11, NEWEST] {
        let stub = Stub::of(release).await;
        let mut profile = stub.shown();
        let none = if release == NEWEST { json!({}) } else { json!([]) };
        *profile.pointer_mut("/ucp/capabilities").expect("capabilities") = none;
        stub.profile(profile);
        let error = opened(options(&stub, Transport::Rest)).await.expect_err("nothing to call").to_string();
        let expected =
            format!("offers nothing to call in release {release}: its profile declares none of the capabilities");
        assert!(error.contains(&expected) && error.contains("dev.ucp.shopping.checkout"), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn credentials_follow_no_redirect() {
    for status in [301, 302, 303, 307, 308] {
        let (other, stub) = (Stub::of(NEWEST).await, Stub::of(NEWEST).await);
        other.usually(|got| panic!("it is asked: {got:?}"));
        let to = other.url();
        for transport in [Transport::Rest, Transport::Mcp] {
            let mut options = options(&stub, transport);
            let (signing, _) = key();
            options.key = std::sync::Arc::new(move || Some(std::sync::Arc::clone(&signing)));
            options.token = Some(Token::new("s3cret"));
            let bridge = opened(options).await.expect("a bridge");
            let location = to.join("/api/mcp").expect("an address");
            stub.usually(move |_| Act::text(status, "text/plain", "").with("location", location.as_str()));
            for operation in [Operation::SearchCatalog, Operation::CreateCart] {
                let refused =
                    ask(&bridge, call(operation, None, json!({ "query": "x" }))).await.expect_err("elsewhere");
                assert_eq!(refused.code, Code::Unavailable);
            }
            let got = stub.got().pop().expect("a request");
            assert_eq!(got.header("authorization"), Some("Bearer s3cret"), "the shop itself gets it");
            assert!(got.header("signature").is_some());
        }
        assert_eq!((other.got().len(), other.profile_fetches()), (0, 0), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_transport_is_rest_where_the_profile_has_both() {
    let stub = Stub::of(NEWEST).await;
    let mut options = options(&stub, Transport::Rest);
    options.transport = None;
    let bridge = opened(options).await.expect("a bridge");
    stub.usually(|got| match got.path.ends_with("/mcp") {
        true => Act::json(200, &tool(got, &Value::Null)),
        false => Act::json(200, &json!({ "ucp": ucp(NEWEST), "products": [] })),
    });
    ask(&bridge, call(Operation::SearchCatalog, None, json!({ "query": "x" }))).await.expect("an answer");
    assert_eq!(stub.got()[0].path, "/api/catalog/search");
    let example = include_str!("../../../../docs/gateway.example.toml");
    assert!(example.contains("Unset: REST where the shop's profile has both."));
}
