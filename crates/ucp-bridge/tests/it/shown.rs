//! The part of a shop's answers that is shown: addresses that clients may open, and texts without what nobody sees.

use serde_json::{Value, json};
use ucp_bridge::profile::Transport;
use ucp_core::{Operation, Release, ports::owners::Kind};
use ucp_testkit::log::Log;

use super::{
    faults::{sound, with},
    stub::{Act, Stub, ask, bridge, call, document, opened, options, own, tool, ucp},
};

const NEWEST: Release = Release::V2026_08_25;

#[tokio::test(start_paused = true)]
async fn links_on_other_hosts_are_shown_and_buyers_are_sent_to_none() {
    let (log, _guard) = Log::of_this_thread();
    let stub = Stub::of(NEWEST).await;
    let mut profile = stub.shown();
    profile["ucp"]["services"]["dev.ucp.shopping"].as_array_mut().expect("services").push(
        json!({ "version": NEWEST.date(), "transport": "embedded", "endpoint": "https://checkout.brand.example/e" }),
    );
    stub.profile(profile);
    let options = options(&stub, Transport::Rest);
    own(&options, Kind::Checkout, "x1").await;
    own(&options, Kind::Order, "x1").await;
    let bridge = opened(options).await.expect("a bridge");
    let warned = log.text();
    let warned: Vec<_> = warned.lines().filter(|line| line.contains("`upstream.origins`")).collect();
    assert!(warned.len() == 1 && warned[0].contains("https://checkout.brand.example"), "{warned:?}");

    let get = || ask(&bridge, call(Operation::GetCheckout, Some("x1"), Value::Null));
    let link = |url: &str| json!({ "type": "terms_of_service", "url": url });
    let open = sound(Kind::Checkout, NEWEST);
    let links = json!([
        link("https://brand.example/terms"), link("http://127.0.0.1:9/terms"), link("http://brand.example/terms"),
        link("javascript:alert(1)"), link("data:text/html,x"), { "type": "faq", "url": null },
    ]);
    let said = with(&open, "/links", &links);
    stub.then(move |_| Act::json(200, &said));
    let kept = json!([link("https://brand.example/terms"), link("http://127.0.0.1:9/terms")]);
    assert_eq!(document(get().await.expect("a checkout")), with(&open, "/links", &kept));
    assert!(log.text().contains(".links[2].url, .links[3].url, .links[4].url"), "{}", log.text());

    let said = with(&open, "/continue_url", &json!("https://brand.example/c"));
    stub.then(move |_| Act::json(200, &said));
    get().await.expect_err("another site");
    let text = log.text();
    let refused = text.lines().find(|line| line.contains("invalid upstream response")).expect("a line");
    assert!(refused.contains("`upstream.origins`") && refused.contains("https://brand.example"), "{refused}");

    let order = with(&sound(Kind::Order, NEWEST), "/permalink_url", &json!("https://brand.example/o"));
    let said = order.clone();
    stub.then(move |_| Act::json(200, &said));
    let told = ask(&bridge, call(Operation::GetOrder, Some("x1"), Value::Null)).await.expect("an order");
    assert_eq!(document(told), order);
}

#[tokio::test(start_paused = true)]
async fn an_end_that_has_passed_is_left_out() {
    for (kind, operation) in [(Kind::Cart, Operation::GetCart), (Kind::Checkout, Operation::GetCheckout)] {
        for (end, kept) in [
            (json!("2026-11-22T12:00:01Z"), true),
            (json!("2026-11-22T12:00:00Z"), false),
            (json!("1999-12-31T23:59:59Z"), false),
            (json!("tomorrow"), false),
            (json!(7), false),
        ] {
            let stub = Stub::of(NEWEST).await;
            let options = options(&stub, Transport::Rest);
            own(&options, kind, "x1").await;
            let bridge = opened(options).await.expect("a bridge");
            let said = with(&sound(kind, NEWEST), "/expires_at", &end);
            stub.usually(move |_| Act::json(200, &said));
            let told = ask(&bridge, call(operation, Some("x1"), Value::Null)).await.expect("an answer");
            assert_eq!(told.body.contains_key("expires_at"), kept, "{end}");
        }
    }
}

fn product() -> Value {
    let price = json!({ "amount": 100, "currency": "USD" });
    json!({
        "id": "p", "title": "Tea \u{202e}\u{200b}pot\u{0}", "url": "javascript:alert(1)",
        "description": { "html": "<p>Fine.<script>alert(1)</script></p>" },
        "media": [
            { "type": "image", "url": "data:image/svg+xml,x" },
            { "type": "image", "url": "https://cdn.example/p.png", "alt_text": "A\u{2066}pot" },
        ],
        "variants": [{
            "id": "v", "title": "x".repeat(1 << 20), "price": price, "description": { "markdown": "**Big** <img src=x>" },
            "url": "ftp://shop.example/v", "tags": ["\u{e0041}new"],
        }],
        "com.example.note": "y".repeat(1 << 20),
    })
}

fn shown() -> Value {
    json!({
        "id": "p", "title": "Tea pot", "description": { "plain": "Fine." },
        "media": [{ "type": "image", "url": "https://cdn.example/p.png", "alt_text": "Apot" }],
        "variants": [{
            "id": "v", "title": "x".repeat(500), "price": { "amount": 100, "currency": "USD" },
            "description": { "plain": "**Big**" }, "tags": ["new"],
        }],
        "com.example.note": "y".repeat(20_000),
    })
}

#[tokio::test(start_paused = true)]
async fn products_are_shown_as_those_of_any_other_shop() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let bridge = bridge(&stub, transport).await;
        stub.usually(move |got| {
            let page = got.path.ends_with("/product") || got.body["params"]["name"] == "get_product";
            let mut body =
                json!({ "ucp": ucp(NEWEST), "messages": [{ "type": "info", "code": "x", "content": "a\u{202e}b" }] });
            if page {
                body["product"] = product();
            } else {
                body["products"] = json!([product()]);
            }
            match transport {
                Transport::Rest => Act::json(200, &body),
                Transport::Mcp => Act::json(200, &tool(got, &body)),
            }
        });
        for (operation, payload, place) in [
            (Operation::SearchCatalog, json!({ "query": "tea" }), "/products/0"),
            (Operation::LookupCatalog, json!({ "ids": ["p"] }), "/products/0"),
            (Operation::GetProduct, json!({ "id": "p" }), "/product"),
        ] {
            let told = document(ask(&bridge, call(operation, None, payload)).await.expect("an answer"));
            assert_eq!(told.pointer(place), Some(&shown()), "{operation:?} over {transport:?}");
            assert_eq!(told["messages"][0]["content"], "ab");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_names_a_member_twice_is_none() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let options = options(&stub, transport);
        own(&options, Kind::Checkout, "x1").await;
        let bridge = opened(options).await.expect("a bridge");
        let twice = |document: &Value, from: &str, to: &str| document.to_string().replacen(from, to, 1);
        let checkout = twice(&sound(Kind::Checkout, NEWEST), "\"quantity\":2", "\"quantity\":200,\"quantity\":2");
        let list = json!({ "ucp": ucp(NEWEST), "products": [{ "id": "p", "title": "P", "variants": [] }] });
        let list = twice(&list, "\"id\":\"p\"", "\"id\":\"q\",\"id\":\"p\"");
        for (said, call, path) in [
            (checkout, call(Operation::GetCheckout, Some("x1"), Value::Null), "$.line_items[0].quantity"),
            (list, call(Operation::SearchCatalog, None, json!({ "query": "p" })), "$.products[0].id"),
        ] {
            stub.usually(move |got| match transport {
                Transport::Rest => Act::text(200, "application/json", &said),
                Transport::Mcp => {
                    let id = &got.body["id"];
                    let message = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"structuredContent":{said}}}}}"#);
                    Act::text(200, "application/json", &message)
                }
            });
            let refused = ask(&bridge, call).await.expect_err("ambiguous");
            assert!(refused.content.contains(&format!("`{path}` must not be named twice")), "{}", refused.content);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_were_kept_for_a_while_state_their_age() {
    for transport in [Transport::Rest, Transport::Mcp] {
        let stub = Stub::of(NEWEST).await;
        let bridge = bridge(&stub, transport).await;
        let found = json!({ "ucp": ucp(NEWEST), "products": [], "pagination": { "has_next_page": false } });
        let said = found.clone();
        stub.usually(move |got| match transport {
            Transport::Rest => Act::json(200, &said),
            Transport::Mcp => Act::json(200, &tool(got, &said)),
        });
        let search = || ask(&bridge, call(Operation::SearchCatalog, None, json!({ "query": "tea" })));
        for waited in [0, 3] {
            tokio::time::advance(std::time::Duration::from_secs(waited)).await;
            assert_eq!(document(search().await.expect("an answer")), found);
        }
        tokio::time::advance(std::time::Duration::from_secs(12)).await;
        let dated = document(search().await.expect("an answer"));
        assert_eq!(dated["messages"][0]["code"], "facts_as_of", "{dated}");
        assert_eq!(stub.got().len(), 1, "it was kept");
    }
}
