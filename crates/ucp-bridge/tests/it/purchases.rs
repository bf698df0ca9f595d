//! Purchases that the shop has completed: told whatever else is wrong with the answer, and never made again.

use serde_json::{Value, json};
use ucp_bridge::{Options, profile::Transport};
use ucp_core::{
    Code, Operation, Release,
    ports::{ForwardedCall, UcpUpstream as _, owners::Kind},
};
use ucp_testkit::log::Log;
use ucp_trust::mandate::authorize;

use super::{
    faults::{sound, with},
    stub::{Act, Got, Stub, ask, call, document, key, mandating, opened, options, own, tool},
};

const NEWEST: Release = Release::V2026_08_25;

/// A checkout that the shop has completed.
fn bought() -> Value {
    let order = json!({ "id": "o1", "permalink_url": "https://shop.example/orders/o1" });
    with(&with(&sound(Kind::Checkout, NEWEST), "/status", &json!("completed")), "/order", &order)
}

fn without(document: &Value, pointer: &str) -> Value {
    let mut rest = document.clone();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    match rest.pointer_mut(parent).expect(pointer) {
        Value::Object(members) => drop(members.remove(name)),
        Value::Array(elements) => drop(elements.remove(name.parse().expect("a number"))),
        other => panic!("{other} has no {name}"),
    }
    rest
}

fn say(transport: Transport, got: &Got, document: &Value) -> Act {
    match transport {
        Transport::Rest => Act::json(200, document),
        Transport::Mcp => Act::json(200, &tool(got, document)),
    }
}

/// Number of times that the shop was asked to complete a checkout.
fn completions(stub: &Stub) -> usize {
    let completes = |got: &Got| got.path.ends_with("/complete") || got.body["params"]["name"] == "complete_checkout";
    stub.got().iter().filter(|got| completes(got)).count()
}

fn complete() -> ForwardedCall {
    call(Operation::CompleteCheckout, Some("x1"), json!({ "payment": {} }))
}

fn get() -> ForwardedCall {
    call(Operation::GetCheckout, Some("x1"), Value::Null)
}

fn with_key(key: &str) -> ForwardedCall {
    ForwardedCall { key: Some(key.to_owned()), ..complete() }
}

async fn set_up(transport: Transport) -> (Stub, Options) {
    let stub = Stub::of(NEWEST).await;
    let options = options(&stub, transport);
    own(&options, Kind::Checkout, "x1").await;
    (stub, options)
}

#[tokio::test(start_paused = true)]
async fn a_purchase_is_told_whatever_else_is_wrong_with_the_answer() {
    let whole = bought();
    let page = "/order/permalink_url";
    for (pointer, value, told) in [
        ("/com.example.x", json!(null), with(&whole, "/com.example.x", &json!(null))),
        // On the domain of the brand, which only is shown.
        (page, json!("https://brand.example/o1"), with(&whole, page, &json!("https://brand.example/o1"))),
        (page, json!("http://brand.example/o1"), without(&whole, page)),
        (page, json!("javascript:alert(1)"), without(&whole, page)),
        (page, json!(7), without(&whole, page)),
        ("/links/0/url", json!("data:text/html,x"), with(&whole, "/links", &json!([]))),
        ("/links/0/url", json!("/terms"), with(&whole, "/links", &json!([]))),
        ("/links", json!("none"), without(&whole, "/links")),
        ("/continue_url", json!("https://brand.example/c"), without(&whole, "/continue_url")),
        ("/totals/4/amount", json!(1), with(&whole, "/totals", &json!([]))),
        ("/totals/0/amount", json!(-1), with(&whole, "/totals", &json!([]))),
        ("/currency", json!("QQQ"), without(&whole, "/currency")),
        ("/line_items/0/quantity", json!(0), with(&whole, "/line_items", &json!([]))),
        ("/discounts/applied/0/amount", json!("x"), without(&whole, "/discounts")),
        ("/fulfillment", json!([]), without(&whole, "/fulfillment")),
        ("/id", json!(null), whole.clone()),
        // It is over: nothing expires any more.
        ("/expires_at", json!("1999-01-01T00:00:00Z"), with(&whole, "/expires_at", &json!("1999-01-01T00:00:00Z"))),
    ] {
        for transport in [Transport::Rest, Transport::Mcp] {
            let (log, _guard) = Log::of_this_thread();
            let (stub, options) = set_up(transport).await;
            let bridge = opened(options.clone()).await.expect("a bridge");
            let said = with(&whole, pointer, &value);
            stub.usually(move |got| say(transport, got, &said));
            let done = ask(&bridge, complete()).await.expect(pointer);
            assert_eq!((done.status, document(done)), (200, told.clone()), "{pointer} = {value}");
            assert_eq!(document(ask(&bridge, get()).await.expect(pointer)), told, "{pointer} = {value}");
            let left_out = told != with(&whole, pointer, &value) && pointer != "/id";
            assert_eq!(log.text().contains("left out"), left_out, "{pointer} = {value}: {}", log.text());
            // Under any key, by this process and the next one.
            let again = opened(options).await.expect("a bridge");
            for bridge in [&bridge, &again] {
                for call in [complete(), with_key("another")] {
                    let over = ask(bridge, call).await.expect("an outcome");
                    assert_eq!((over.status, &over.body["messages"][0]["code"]), (409, &json!("checkout_completed")));
                }
            }
            assert_eq!(completions(&stub), 1, "{pointer} = {value}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_purchase_without_an_order_is_on_its_way() {
    for order in [json!(null), json!({}), json!({ "id": "" }), json!("o1")] {
        let (stub, options) = set_up(Transport::Rest).await;
        let bridge = opened(options).await.expect("a bridge");
        let nameless = with(&bought(), "/order", &order);
        stub.usually(move |_| Act::json(200, &nameless));
        for call in [complete(), get()] {
            let told = document(ask(&bridge, call).await.expect("a checkout"));
            assert_eq!((&told["status"], told.get("order")), (&json!("complete_in_progress"), None), "{order}");
            assert_eq!(told["messages"][0]["code"], "order_not_named", "{told}");
        }
        // It is named later.
        stub.usually(|_| Act::json(200, &bought()));
        assert_eq!(document(ask(&bridge, get()).await.expect("a checkout")), bought());
        ask(&bridge, with_key("another")).await.expect("an outcome");
        assert_eq!(completions(&stub), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_which_it_is_not_known_whose_it_is_is_not_told_and_nothing_is_bought_again() {
    let other = with(&bought(), "/id", &json!("x2")).to_string();
    let twice = bought().to_string().replacen("\"order\":", "\"order\":{\"id\":\"o2\"},\"order\":", 1);
    for said in [other, twice] {
        let (stub, options) = set_up(Transport::Rest).await;
        let bridge = opened(options).await.expect("a bridge");
        stub.usually(move |_| Act::text(200, "application/json", &said));
        let refused = ask(&bridge, complete()).await.expect_err("faulty");
        assert_eq!(refused.code, Code::UpstreamInvalid);
        assert_eq!(ask(&bridge, get()).await.expect_err("faulty").code, Code::UpstreamInvalid);
        for call in [complete(), with_key("another")] {
            let over = ask(&bridge, call).await.expect("an outcome");
            assert_eq!(over.body["messages"][0]["code"], "checkout_completed");
        }
        assert_eq!(completions(&stub), 1);
        // The shop's own state is returned.
        stub.usually(|_| Act::json(200, &bought()));
        assert_eq!(document(ask(&bridge, get()).await.expect("a checkout")), bought());
    }
    // Of other members, those that are named twice are left out.
    let (stub, options) = set_up(Transport::Rest).await;
    let bridge = opened(options).await.expect("a bridge");
    let twice = bought().to_string().replacen("\"currency\":", "\"currency\":\"USD\",\"currency\":", 1);
    stub.usually(move |_| Act::text(200, "application/json", &twice));
    assert_eq!(document(ask(&bridge, complete()).await.expect("a checkout")), without(&bought(), "/currency"));
}

#[tokio::test(start_paused = true)]
async fn a_checkout_is_read_before_it_is_completed_again() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let (stub, options) = set_up(transport).await;
        let bridge = opened(options.clone()).await.expect("a bridge");
        // Nobody knows how it ended.
        stub.then(|_| Act::Never).usually(|_| Act::text(500, "text/plain", ""));
        assert_eq!(ask(&bridge, complete()).await.expect_err("unknown").code, Code::Unavailable);
        assert_eq!(ask(&bridge, with_key("another")).await.expect_err("still unknown").code, Code::Unavailable);
        assert_eq!(completions(&stub), 1, "nobody knows, so that nothing is sent");
        // The process that is started next knows that it was sent.
        let again = opened(options).await.expect("a bridge");
        stub.usually(move |got| say(transport, got, &bought()));
        assert_eq!(document(ask(&again, complete()).await.expect("a checkout")), bought());
        assert_eq!(completions(&stub), 1);
        // One that is open is sent again.
        let (stub, options) = set_up(transport).await;
        let bridge = opened(options).await.expect("a bridge");
        let open = sound(Kind::Checkout, NEWEST);
        stub.then(|_| Act::Never).usually(move |got| say(transport, got, &open));
        let refused = ask(&bridge, complete()).await.expect_err("open");
        assert!(refused.content.contains("still open"), "{}", refused.content);
        let open = sound(Kind::Checkout, NEWEST);
        stub.then(move |got| say(transport, got, &open)).then(move |got| say(transport, got, &bought()));
        assert_eq!(document(ask(&bridge, complete()).await.expect("a checkout")), bought());
        assert_eq!(completions(&stub), 2);
    }
}

#[tokio::test(start_paused = true)]
async fn a_purchase_under_a_mandate_is_told_without_a_signature_that_does_not_hold() {
    let release = Release::V2026_04_08;
    let ((shop, public), (stranger, _), (_, platform)) = (key(), key(), key());
    let bought = with(&bought(), "/ucp/version", &json!(release.date()));
    let at_brand = with(&bought, "/order/permalink_url", &json!("javascript:alert(1)"));
    for (said, by, told) in [
        (bought.clone(), &shop, None),
        (bought.clone(), &stranger, Some(bought.clone())),
        (at_brand.clone(), &shop, Some(without(&at_brand, "/order/permalink_url"))),
    ] {
        let stub = Stub::offering(
            release,
            &ucp_core::operation::SupportedOperations::everything(),
            std::slice::from_ref(&public),
        )
        .await;
        let options = options(&stub, Transport::Rest);
        let buyer = mandating("agent", release, std::slice::from_ref(&platform));
        let owner = ucp_core::ports::owners::Owner { platform: buyer.owner.clone(), release, mandates: true };
        options.owners.claim(Kind::Checkout, "x1", &owner, super::stub::now()).await.expect("claimed");
        let bridge = opened(options).await.expect("a bridge");
        let mut sealed = said;
        sealed["ap2"] = json!({ "merchant_authorization": authorize(&sealed, by).expect("signed") });
        let answer = sealed.clone();
        stub.usually(move |_| Act::json(200, &answer));
        let asked = ForwardedCall { release, ..complete() };
        let done = bridge.forward(&buyer, asked).await.expect("a checkout");
        assert_eq!(done.sealed, told.is_none());
        assert_eq!(document(done), told.unwrap_or(sealed));
    }
}
