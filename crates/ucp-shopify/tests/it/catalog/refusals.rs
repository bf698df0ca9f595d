//! Rejections, throttling and descriptions of a shop, and caching of its responses.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use serde_json::{Value, json};
use ucp_core::{
    Code,
    browse::lookup::lookup,
    catalog::{detail, lookup},
    message::Message,
    ports::{Catalog as _, caller::BuyerSignals},
};
use ucp_net::{Lane, breaker::Circuit};
use ucp_shopify::{SetupError, Token};
use ucp_testkit::{PATIENCE, until};

use super::{
    TestShop, ids,
    stub::{Asked, Reply, Stub, page, product_id, simple},
    words,
};

fn error(code: &str) -> Value {
    json!({ "message": "Sorry", "extensions": { "code": code } })
}

/// Answers about products by their ids, as many as are asked about.
pub(super) fn nodes(asked: &Asked) -> Reply {
    let node = |id: &Value| {
        let number =
            id.as_str().and_then(|id| id.strip_prefix("gid://shopify/Product/")).and_then(|number| number.parse().ok());
        number.filter(|number| *number < 1_000).map_or(Value::Null, |number| simple(number, "1.0"))
    };
    Reply::Data(
        json!({ "nodes": asked.variables["ids"].as_array().expect("ids").iter().map(node).collect::<Vec<_>>() }),
    )
}

/// A stub that answers `Nodes` badly for as long as it is told to, and well after that.
async fn failing(reply: impl Fn() -> Reply + Send + Sync + 'static) -> (Stub, Arc<AtomicUsize>) {
    let times = Arc::new(AtomicUsize::new(0));
    let left = Arc::clone(&times);
    let stub = Stub::serve(move |asked| match asked.operation.as_str() {
        "Nodes" | "Shop"
            if left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1)).is_ok() =>
        {
            reply()
        }
        "Nodes" => nodes(asked),
        _ => Reply::Usual,
    })
    .await;
    (stub, times)
}

#[tokio::test(start_paused = true)]
async fn throttling_is_waited_out() {
    let (stub, times) = failing(|| Reply::Document(json!({ "data": null, "errors": [error("THROTTLED")] }))).await;
    let shop = TestShop::behind(&stub).await;
    times.store(1, Ordering::Relaxed);
    let resolved = shop.lookup(&[product_id(1)]).await.expect("carried out");
    assert_eq!((ids(&resolved.products), stub.asked("Nodes").len()), (vec!["1"], 2));
    // Not for ever, and not with half an answer.
    times.store(100, Ordering::Relaxed);
    let refusal = shop.lookup(&[product_id(2)]).await.expect_err("refused");
    assert_eq!((refusal.code, refusal.retry_after.is_some()), (Code::Unavailable, true));
    assert!(stub.asked("Nodes").len() <= 5);
}

#[tokio::test(start_paused = true)]
async fn a_shop_that_does_not_want_the_gateway_is_left_alone() {
    for (status, text) in [
        (430, "Security Rejection"),
        (401, "{\"errors\":\"Unauthorized\"}"),
        (403, ""),
        (402, "Frozen"),
        (404, "Not found"),
        (423, "Locked"),
    ] {
        let (stub, times) = failing(move || Reply::Other(status, vec![], text.into())).await;
        let shop = TestShop::behind(&stub).await;
        // One question alone is no reason.
        times.store(1, Ordering::Relaxed);
        shop.lookup(&[product_id(9)]).await.expect_err("refused");
        until("the gateway's own question", PATIENCE, async || (stub.asked("Shop").len() == 2).then_some(())).await;
        assert_eq!(ids(&shop.lookup(&[product_id(9)]).await.expect("carried out").products), ["9"], "{status}");
        shop.forward(6);
        // It refuses what the gateway asks by itself, too.
        times.store(2, Ordering::Relaxed);
        shop.lookup(&[product_id(1)]).await.expect_err("refused");
        until("the gateway's own question", PATIENCE, async || (stub.asked("Shop").len() == 3).then_some(())).await;
        for id in 2..4 {
            let refusal = shop.lookup(&[product_id(id)]).await.expect_err("refused");
            assert_eq!(refusal.code, Code::Unavailable, "{status}");
            assert!(!refusal.content.contains("Security"), "{}", refusal.content);
        }
        assert_eq!(stub.asked("Nodes").len(), 3, "{status}: one attempt, and then none");
        assert!(matches!(shop.storefront.client().upstream().circuit(Lane::Browse), Circuit::Open { .. }), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_buyer_that_the_shop_rejects_is_no_reason_to_leave_the_shop_alone() {
    let rejected =
        |asked: &Asked| asked.headers.get("shopify-storefront-buyer-ip").is_some_and(|ip| ip == "203.0.113.9");
    let stub = Stub::serve(move |asked| match (asked.operation.as_str(), rejected(asked)) {
        ("Nodes", true) => Reply::Other(430, vec![], "Security Rejection".into()),
        ("Nodes", _) => nodes(asked),
        _ => Reply::Usual,
    })
    .await;
    let token = Token::private("shpat_1").expect("a token");
    let shop = TestShop::with(&stub, token, "2026-04").await.expect("a shop");
    let ask = async |buyer: &str, id: u64| {
        let buyer_signals = BuyerSignals { ip: Some(buyer.parse::<IpAddr>().expect("an address")) };
        let request = lookup::Request { ids: vec![product_id(id)], ..lookup::Request::default() };
        lookup(&shop.storefront, &request, &buyer_signals).await
    };
    let refusal = ask("203.0.113.9", 1).await.expect_err("refused");
    assert_eq!(refusal.code, Code::Unavailable);
    assert_eq!(shop.storefront.client().upstream().circuit(Lane::Browse), Circuit::Closed);
    assert_eq!(ids(&ask("203.0.113.10", 1).await.expect("carried out").products), ["1"]);
    // The one that was rejected is not asked for again until the time is over, not even by another product.
    let asked = stub.asked("Nodes").len();
    let refusal = ask("203.0.113.9", 2).await.expect_err("refused");
    assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(300)));
    assert_eq!(stub.asked("Nodes").len(), asked);
    shop.forward(301);
    ask("203.0.113.9", 2).await.expect_err("refused anew");
    assert_eq!(stub.asked("Nodes").len(), asked + 1);
}

#[tokio::test(start_paused = true)]
async fn answers_that_are_none_are_refused() {
    let html = || Reply::Other(200, vec![("content-type", "text/html")], "<html>Please wait</html>".into());
    let bad: [Box<dyn Fn() -> Reply + Send + Sync>; 10] = [
        Box::new(html),
        Box::new(|| Reply::Other(200, vec![], String::new())),
        Box::new(|| Reply::Other(200, vec![], "{\"data\":{\"nodes\":[".into())),
        // These begin and end as good ones do.
        Box::new(|| Reply::Other(200, vec![], "{\"data\":{\"nodes\":[}}".into())),
        Box::new(|| Reply::Other(200, vec![], "{\"data\":{\"nodes\":[null]}} {}".into())),
        Box::new(|| Reply::Document(json!({}))),
        Box::new(|| Reply::Document(json!({ "data": { "nodes": "many" } }))),
        Box::new(|| Reply::Document(json!({ "data": { "nodes": [] } }))),
        Box::new(|| Reply::Document(json!({ "data": null, "errors": [error("undefinedField")] }))),
        Box::new(|| Reply::Document(json!([1, 2]))),
    ];
    for (number, reply) in bad.into_iter().enumerate() {
        let (stub, times) = failing(reply).await;
        let shop = TestShop::behind(&stub).await;
        times.store(5, Ordering::Relaxed);
        let refusal = shop.lookup(&[product_id(1)]).await.expect_err("refused");
        assert_eq!(refusal.code, Code::Unavailable, "{number}");
        times.store(0, Ordering::Relaxed);
        assert_eq!(ids(&shop.lookup(&[product_id(1)]).await.expect("well again").products), ["1"], "{number}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_slice_that_fails_leaves_the_others() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Nodes" if asked.variables["ids"].as_array().expect("ids").contains(&json!(product_id(125))) => {
            Reply::Other(500, vec![], String::new())
        }
        "Nodes" => nodes(asked),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let all: Vec<_> = (101..=145).chain([5_000]).map(product_id).collect();
    let resolved = shop.lookup(&all).await.expect("carried out");
    assert_eq!(stub.asked("Nodes").len(), 3);
    assert_eq!(resolved.products.len(), 25);
    let unchecked: Vec<_> = resolved
        .messages
        .iter()
        .filter(|message| matches!(message, Message::Warning { code, .. } if code == "not_checked"))
        .collect();
    assert!(format!("{unchecked:?}").contains(&product_id(125)), "{unchecked:?}");
    let missing = resolved
        .messages
        .iter()
        .filter(|message| matches!(message, Message::Info { code: Some(code), .. } if code == "not_found"));
    assert_eq!(missing.count(), 1, "only what was looked for");
}

#[tokio::test(start_paused = true)]
async fn an_error_about_a_part_leaves_the_rest() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Nodes" => {
            let Reply::Data(mut data) = nodes(asked) else { return Reply::Usual };
            data["nodes"][1] = Value::Null;
            data["nodes"][0]["category"] = Value::Null;
            let mut about = error("INTERNAL_SERVER_ERROR");
            about["path"] = json!(["nodes", 1]);
            let mut denied = error("ACCESS_DENIED");
            denied["path"] = json!(["nodes", 0, "category"]);
            Reply::Document(json!({ "data": data, "errors": [about, denied] }))
        }
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let resolved = shop.lookup(&[product_id(1), product_id(2), product_id(3)]).await.expect("carried out");
    assert_eq!(ids(&resolved.products), ["1", "3"]);
    assert!(
        matches!(&resolved.messages[..], [Message::Warning { code, content, .. }] if code == "not_checked" && content.contains(&product_id(2)))
    );
    // Half an answer is not kept.
    shop.lookup(&[product_id(1), product_id(2), product_id(3)]).await.expect("carried out");
    assert_eq!(stub.asked("Nodes").len(), 2);
}

#[tokio::test(start_paused = true)]
async fn identifiers_that_name_nothing_are_not_asked_about() {
    let stub = Stub::serve(|asked| if asked.operation == "Nodes" { nodes(asked) } else { Reply::Usual }).await;
    let shop = TestShop::behind(&stub).await;
    let strange = [
        "gid://shopify/Product/",
        "gid://shopify/Product/0",
        "gid://shopify/Product/1?x=y",
        "gid://shopify/Product/99999999999999999999",
        "gid://shopify/Cart/1",
        "gid://shopify/Product/1\n",
        "",
        " ",
        "a\u{7}b",
        "\u{202e}",
    ];
    let resolved = shop.lookup(&strange.map(str::to_owned)).await.expect("carried out");
    assert_eq!((resolved.products.len(), resolved.messages.len()), (0, strange.len()));
    for id in strange.iter().chain(&["product-1"]) {
        let request = detail::Request { id: (*id).to_owned(), ..detail::Request::default() };
        assert!(shop.open(request).await.expect("carried out").is_none(), "{id}");
    }
    for operation in ["Nodes", "Handles", "Codes"] {
        assert!(stub.asked(operation).is_empty(), "{operation}");
    }
}

#[tokio::test(start_paused = true)]
async fn tokens_go_with_every_call_and_the_buyers_address_with_private_ones() {
    let buyer_signals = BuyerSignals { ip: Some("203.0.113.9".parse::<IpAddr>().expect("an address")) };
    let header =
        |asked: &Asked, name: &str| asked.headers.get(name).map(|value| value.to_str().expect("text").to_owned());
    let (public, private, buyer) =
        ("x-shopify-storefront-access-token", "shopify-storefront-private-token", "shopify-storefront-buyer-ip");
    for (token, expected) in [
        (Token::None, [None, None, None]),
        (Token::public("abc").expect("a token"), [Some("abc"), None, None]),
        (Token::private("shpat_1").expect("a token"), [None, Some("shpat_1"), Some("203.0.113.9")]),
    ] {
        let (stub, _) = failing(|| Reply::Usual).await;
        let tagged = token.is_some();
        assert!(!format!("{token:?}").contains("abc") && !format!("{token:?}").contains("shpat"));
        let shop = TestShop::with(&stub, token, "2026-04").await.expect("open");
        let request = lookup::Request { ids: vec![product_id(1)], ..lookup::Request::default() };
        lookup(&shop.storefront, &request, &buyer_signals).await.expect("carried out");
        let asked = stub.asked("Nodes").pop().expect("asked");
        assert_eq!(
            [public, private, buyer].map(|name| header(&asked, name)),
            expected.map(|value| value.map(str::to_owned))
        );
        assert_eq!(asked.variables["tags"], json!(tagged));
        // Nothing is known of a buyer when nobody says so.
        let shop_asked = stub.asked("Shop").pop().expect("asked");
        assert_eq!(header(&shop_asked, buyer), None);
        assert!(!format!("{:?}", shop.storefront).contains("shpat"));
    }
    for wrong in ["", "a b", "a\nb", "ä", "a:b"] {
        assert!(Token::private(wrong).is_err() && Token::public(wrong).is_err(), "{wrong}");
    }
}

#[tokio::test(start_paused = true)]
async fn tags_that_may_not_be_read_are_left_out() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Nodes" if asked.variables["tags"] == json!(true) => {
            let mut denied = error("ACCESS_DENIED");
            denied["path"] = json!(["nodes", 0, "tags"]);
            Reply::Document(json!({ "data": { "nodes": [null] }, "errors": [denied] }))
        }
        "Nodes" => nodes(asked),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::with(&stub, Token::public("abc").expect("a token"), "2026-04").await.expect("open");
    for id in 1..4 {
        assert_eq!(shop.lookup(&[product_id(id)]).await.expect("carried out").products.len(), 1);
    }
    assert_eq!((stub.asked("Nodes").len(), shop.noted("tags may not be read")), (4, 1));
}

#[tokio::test(start_paused = true)]
async fn another_release_of_the_api_is_noticed() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Nodes" => {
            let Reply::Data(data) = nodes(asked) else { return Reply::Usual };
            Reply::Other(200, vec![("x-shopify-api-version", "2026-01")], json!({ "data": data }).to_string())
        }
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::with(&stub, Token::None, "2025-10").await.expect("open");
    for id in 1..3 {
        assert_eq!(shop.lookup(&[product_id(id)]).await.expect("carried out").products.len(), 1);
    }
    assert_eq!(shop.noted("another release of the API answered"), 2);
    for version in ["", "2026", "2026-4", "unstable", "2026-04/../admin"] {
        assert!(matches!(TestShop::with(&stub, Token::None, version).await, Err(SetupError::Version(_))), "{version}");
    }
}

#[tokio::test(start_paused = true)]
async fn equal_reads_are_one_and_answers_are_kept() {
    let (stub, _) = failing(|| Reply::Usual).await;
    let shop = Arc::new(TestShop::behind(&stub).await);
    let readers = (0..50).map(|number| {
        let shop = Arc::clone(&shop);
        // The order of identifiers does not matter, nor how often they are named.
        let ids = if number % 2 == 0 {
            vec![product_id(1), product_id(2)]
        } else {
            vec![product_id(2), product_id(1), product_id(2)]
        };
        tokio::spawn(async move { shop.lookup(&ids).await.expect("carried out").products.len() })
    });
    for reader in readers.collect::<Vec<_>>() {
        assert_eq!(reader.await.expect("no panic"), 2);
    }
    assert_eq!(stub.asked("Nodes").len(), 1);
    // A product page is not answered from a listing, and only for seconds from itself.
    let open = || shop.open(detail::Request { id: product_id(1), ..detail::Request::default() });
    for expected in [2, 2] {
        open().await.expect("carried out").expect("a product");
        assert_eq!(stub.asked("Nodes").len(), expected);
    }
    shop.forward(6);
    open().await.expect("carried out").expect("a product");
    assert_eq!(stub.asked("Nodes").len(), 3);
    // Another country is another read.
    let context = super::from("DE");
    let request = lookup::Request { ids: vec![product_id(1), product_id(2)], context, ..lookup::Request::default() };
    lookup(&shop.storefront, &request, &BuyerSignals::default()).await.expect("carried out");
    assert_eq!(stub.asked("Nodes").len(), 4);
}

#[tokio::test(start_paused = true)]
async fn what_is_old_is_shown_and_said_while_the_shop_fails() {
    let broken = Arc::new(AtomicBool::new(false));
    let now = Arc::clone(&broken);
    let stub = Stub::serve(move |asked| match asked.operation.as_str() {
        _ if now.load(Ordering::Relaxed) => Reply::Other(500, vec![], String::new()),
        "Search" => Reply::Data(page(vec![simple(1, "1.0")], false)),
        "Nodes" => nodes(asked),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let open = || shop.open(detail::Request { id: product_id(1), ..detail::Request::default() });
    assert!(shop.search(&words("x")).await.expect("carried out").messages.is_empty());
    let looked_up = shop.lookup(&[product_id(1), product_id(2)]).await.expect("carried out");
    assert!(looked_up.messages.is_empty() && looked_up.products.len() == 2);
    open().await.expect("carried out").expect("a product");
    broken.store(true, Ordering::Relaxed);
    shop.forward(300);
    let found = shop.search(&words("x")).await.expect("carried out");
    assert_eq!(ids(&found.products), ["1"]);
    assert!(
        matches!(&found.messages[..], [Message::Warning { code, content, .. }] if code == "stale" && content.contains("5 min")),
        "{:?}",
        found.messages
    );
    // A look-up says it too, once it can no longer be that it is being renewed.
    shop.forward(100);
    let listed = [1, 2, 3].map(product_id);
    let resolved = shop.lookup(&listed[..2]).await.expect("carried out");
    assert_eq!(ids(&resolved.products), ["1", "2"]);
    assert!(
        matches!(&resolved.messages[..], [Message::Warning { code, content, .. }] if code == "stale" && content.contains("6 min")),
        "{:?}",
        resolved.messages
    );
    // An ID without a cached product is not reported as missing.
    assert_eq!(shop.lookup(&listed).await.expect_err("refused").code, Code::Unavailable);
    // Data for the buyer's decision are never stale.
    assert_eq!(open().await.expect_err("refused").code, Code::Unavailable);
    shop.forward(600);
    assert_eq!(shop.search(&words("x")).await.expect_err("refused").code, Code::Unavailable);
}

#[tokio::test(start_paused = true)]
async fn facts_that_were_kept_state_their_age() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Search" => Reply::Data(page(vec![simple(1, "1.0")], false)),
        "Nodes" => nodes(asked),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let said = async || {
        let found = shop.search(&words("x")).await.expect("carried out").messages;
        let looked_up = shop.lookup(&[product_id(1), product_id(2)]).await.expect("carried out").messages;
        let opened = shop.open(detail::Request { id: product_id(1), ..detail::Request::default() });
        let opened = opened.await.expect("carried out").expect("a product").messages;
        [found, looked_up, opened].map(|messages| serde_json::to_string(&messages).expect("JSON"))
    };
    assert_eq!(said().await, ["[]", "[]", "[]"]);
    shop.forward(15);
    let [found, looked_up, opened] = said().await;
    for kept in [&found, &looked_up] {
        assert_eq!(kept.matches("facts_as_of").count(), 1, "{kept}");
        assert!(kept.contains("2026-09-01T11:59:45Z"), "{kept}");
    }
    // What a buyer decides by is asked for anew.
    assert_eq!(opened, "[]");
    assert_eq!((stub.asked("Search").len(), stub.asked("Nodes").len()), (1, 3));
}

#[tokio::test(start_paused = true)]
async fn what_the_shop_says_about_itself_is_renewed_and_kept() {
    let state = Arc::new(AtomicUsize::new(0));
    let now = Arc::clone(&state);
    let country = |code: &str, currency: &str| json!({ "isoCode": code, "currency": { "isoCode": currency } });
    let stub = Stub::serve(move |asked| match (asked.operation.as_str(), now.load(Ordering::Relaxed)) {
        ("Shop", 2) => Reply::Data(json!({ "shop": null, "localization": {
            "availableCountries": [country("JP", "JPY")], "availableLanguages": [], "country": country("JP", "JPY"), "language": null,
        } })),
        ("Shop", 1) | ("Types", _) => Reply::Other(500, vec![], String::new()),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let currency = || shop.storefront.market().currency.to_string();
    assert_eq!(currency(), "USD");
    state.store(1, Ordering::Relaxed);
    shop.forward(3_601);
    assert_eq!(currency(), "USD");
    until("a renewal to fail", PATIENCE, async || (shop.noted("market: not renewed") > 0).then_some(())).await;
    assert_eq!(currency(), "USD");
    state.store(2, Ordering::Relaxed);
    shop.forward(61);
    until("a renewal", PATIENCE, async || (currency() == "JPY").then_some(())).await;
    assert_eq!(shop.storefront.market().name, "127.0.0.1");
}

#[tokio::test(start_paused = true)]
async fn a_shop_that_says_nothing_about_itself_is_none() {
    for reply in [
        json!({ "data": null, "errors": [error("ACCESS_DENIED")] }),
        json!({ "data": { "shop": null, "localization": null } }),
    ] {
        let stub = Stub::serve(move |_| Reply::Document(reply.clone())).await;
        assert!(matches!(TestShop::with(&stub, Token::None, "2026-04").await, Err(SetupError::Market(_))));
    }
}
