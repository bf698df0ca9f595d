//! Faults of answers, each in an answer that is sound otherwise.

use serde_json::{Value, json};
use ucp_bridge::profile::Transport;
use ucp_core::{
    Code, Operation, Refusal, Release,
    operation::SupportedOperations,
    ports::{ForwardedAnswer, ForwardedCall, UcpUpstream as _, owners::Kind},
};
use ucp_testkit::log::Log;
use ucp_trust::mandate::authorize;

use super::stub::{Act, Stub, ask, call, caller, document, key, mandating, opened, options, own, ucp};

const OLDEST: Release = Release::V2026_01_23;
const OLDER: Release = Release::V2026_04_08;
const NEWEST: Release = Release::V2026_08_25;

/// An amount that is exact in no JSON parser that reads floating-point numbers.
const HUGE: i64 = 1 << 53;

fn totals(release: Release) -> Value {
    let discount = if release < OLDER { 30 } else { -30 };
    json!([
        { "type": "subtotal", "amount": 200 },
        { "type": "discount", "amount": discount },
        { "type": "fulfillment", "amount": 10 },
        { "type": "tax", "amount": 20 },
        { "type": "total", "amount": 200 },
    ])
}

fn line() -> Value {
    let item = json!({ "id": "v", "title": "V", "price": 100 });
    json!({ "id": "l1", "item": item, "quantity": 2, "totals": [{ "type": "subtotal", "amount": 200 }] })
}

/// A sound cart, checkout or order.
pub(crate) fn sound(kind: Kind, release: Release) -> Value {
    let link = json!({ "type": "terms_of_service", "url": "https://shop.example/terms" });
    let mut body = json!({ "ucp": ucp(release), "id": "x1", "line_items": [line()], "totals": totals(release) });
    let more = match kind {
        Kind::Cart => json!({ "currency": "USD", "continue_url": "https://shop.example/cart" }),
        Kind::Checkout => {
            let option = json!({ "id": "o", "title": "Post", "totals": [{ "type": "total", "amount": 10 }] });
            let group = json!({ "id": "g", "line_item_ids": ["l1"], "options": [option] });
            let method = json!({ "id": "m", "type": "shipping", "line_item_ids": ["l1"], "groups": [group] });
            let allocation = json!({ "path": "$.totals[0]", "amount": 30 });
            let applied = json!({ "title": "Less", "amount": 30, "automatic": true, "allocations": [allocation] });
            json!({
                "currency": "EUR", "status": "ready_for_complete", "links": [link],
                "continue_url": "https://shop.example/c?x=1", "expires_at": "2026-11-22T12:00:01Z",
                "fulfillment": { "methods": [method] }, "discounts": { "applied": [applied] },
            })
        }
        Kind::Order => {
            let adjustment = json!({ "id": "a", "type": "refund", "occurred_at": "2026-11-22T12:00:00Z", "status": "completed",
                "totals": [{ "type": "total", "amount": -50 }] });
            json!({ "checkout_id": "k1", "permalink_url": "https://shop.example/o", "fulfillment": {}, "adjustments": [adjustment] })
        }
        Kind::Completion | Kind::Purchase => panic!("nobody asks for one"),
    };
    body.as_object_mut().expect("an object").extend(more.as_object().cloned().expect("an object"));
    body
}

/// Looks a resource up at a shop of a release that answers this.
async fn looked_up(kind: Kind, release: Release, said: &Value) -> Result<ForwardedAnswer, Refusal> {
    let stub = Stub::of(release).await;
    let options = options(&stub, Transport::Rest);
    own(&options, kind, "x1").await;
    let bridge = opened(options).await.expect("a bridge");
    let said = said.clone();
    stub.usually(move |_| Act::json(200, &said));
    let operation = match kind {
        Kind::Cart => Operation::GetCart,
        Kind::Checkout => Operation::GetCheckout,
        Kind::Order => Operation::GetOrder,
        Kind::Completion | Kind::Purchase => panic!("nobody asks for one"),
    };
    ask(&bridge, ForwardedCall { release, ..call(operation, Some("x1"), Value::Null) }).await
}

/// The same document with another value at a place, or one more.
pub(crate) fn with(document: &Value, pointer: &str, value: &Value) -> Value {
    let mut changed = document.clone();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    match changed.pointer_mut(parent).expect(pointer) {
        Value::Array(elements) if name == "-" => elements.push(value.clone()),
        Value::Array(elements) => elements[name.parse::<usize>().expect("a number")] = value.clone(),
        Value::Object(members) => drop(members.insert(name.to_owned(), value.clone())),
        other => panic!("{other} has no {name}"),
    }
    changed
}

/// Answers with this value at this place fail, with a refusal and one line of the log that name this path.
async fn all_fail(kind: Kind, release: Release, cases: &[(&str, Value, &str)]) {
    let sound = sound(kind, release);
    looked_up(kind, release, &sound).await.expect("what is sound is forwarded");
    for (pointer, value, path) in cases {
        let (log, _guard) = Log::of_this_thread();
        let refused = looked_up(kind, release, &with(&sound, pointer, value)).await;
        let refused = refused.expect_err(&format!("{pointer} = {value}"));
        assert_eq!((refused.code, refused.retry_after), (Code::UpstreamInvalid, None), "{pointer}");
        assert!(!refused.code.retryable(), "what does not help is not said to be worth a try");
        for part in ["The shop's response is invalid", &format!("`{path}` must"), "Repeating the call does not help"] {
            assert!(refused.content.contains(part), "{pointer} = {value}: {}", refused.content);
        }
        let text = log.text();
        let lines: Vec<_> = text.lines().filter(|line| line.contains("invalid upstream response")).collect();
        assert!(lines.len() == 1 && lines[0].contains(&format!("path=\"{path}\"")), "{pointer}: {lines:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn checkouts_with_a_fault_fail() {
    let no_amount = "$.totals[0].amount";
    all_fail(
        Kind::Checkout,
        NEWEST,
        &[
            ("/totals/0/amount", json!(-1), no_amount),
            ("/totals/0/amount", json!(null), no_amount),
            ("/totals/0/amount", json!("200"), no_amount),
            ("/totals/0/amount", json!(200.5), no_amount),
            ("/totals/0/amount", json!(HUGE), no_amount),
            ("/totals/0/amount", json!(1e300), no_amount),
            ("/totals/1/amount", json!(30), "$.totals[1].amount"),
            ("/totals/3/amount", json!(-20), "$.totals[3].amount"),
            ("/totals/4/amount", json!(null), "$.totals[4].amount"),
            ("/totals/4/amount", json!(201), "$.totals"),
            ("/totals/4/amount", json!(180), "$.totals"),
            ("/totals/4/type", json!(null), "$.totals[4].type"),
            ("/totals/-", json!({ "type": "total", "amount": 200 }), "$.totals"),
            ("/totals/-", json!({ "type": "com.example.tip", "display_text": "Tip", "amount": 7 }), "$.totals"),
            ("/totals/2/lines", json!([{ "display_text": "x", "amount": 9 }]), "$.totals[2].lines"),
            ("/totals/2/lines", json!([{ "display_text": "x", "amount": 9.5 }]), "$.totals[2].lines[0].amount"),
            ("/totals", json!(null), "$.totals"),
            ("/totals", json!({}), "$.totals"),
            ("/line_items/0/item/price", json!(null), "$.line_items[0].item.price"),
            ("/line_items/0/item/price", json!(-100), "$.line_items[0].item.price"),
            ("/line_items/0/totals/0/amount", json!(-200), "$.line_items[0].totals[0].amount"),
            ("/line_items/0/id", json!(null), "$.line_items[0].id"),
            ("/line_items/0", json!("v"), "$.line_items[0]"),
            (
                "/fulfillment/methods/0/groups/0/options/0/totals/0/amount",
                json!(1.25),
                "$.fulfillment.methods[0].groups[0].options[0].totals[0].amount",
            ),
            ("/discounts/applied/0/amount", json!(-30), "$.discounts.applied[0].amount"),
            ("/discounts/applied/0/allocations/0/amount", json!(null), "$.discounts.applied[0].allocations[0].amount"),
            ("/currency", json!("XXQ"), "$.currency"),
            ("/currency", json!("dollars"), "$.currency"),
            ("/currency", json!(null), "$.currency"),
            ("/status", json!(null), "$.status"),
            ("/id", json!("x2"), "$.id"),
            ("/id", json!(null), "$.id"),
            ("/continue_url", json!("https://shop.example.evil.example/c"), "$.continue_url"),
            ("/continue_url", json!("https://shop.example@evil.example/c"), "$.continue_url"),
            ("/continue_url", json!("http://shop.example/c"), "$.continue_url"),
            ("/continue_url", json!("https://shop.example:8443/c"), "$.continue_url"),
            ("/continue_url", json!("javascript:alert(1)"), "$.continue_url"),
            ("/continue_url", json!("/c"), "$.continue_url"),
            ("/continue_url", json!(7), "$.continue_url"),
            ("/links", json!(null), "$.links"),
            ("/status", json!("whatever"), "$.status"),
            ("/status", json!("open"), "$.status"),
            ("/line_items/0/quantity", json!(0), "$.line_items[0].quantity"),
            ("/line_items/0/quantity", json!(-1), "$.line_items[0].quantity"),
            ("/line_items/0/quantity", json!("2"), "$.line_items[0].quantity"),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn carts_with_a_fault_fail() {
    all_fail(
        Kind::Cart,
        OLDER,
        &[
            ("/totals/0/amount", json!(HUGE), "$.totals[0].amount"),
            ("/totals/4/amount", json!(199), "$.totals"),
            ("/line_items/0/item/price", json!(0.5), "$.line_items[0].item.price"),
            ("/currency", json!(""), "$.currency"),
            ("/id", json!("x2"), "$.id"),
            ("/continue_url", json!("https://evil.example/"), "$.continue_url"),
            ("/line_items", json!(null), "$.line_items"),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn orders_with_a_fault_fail() {
    all_fail(
        Kind::Order,
        NEWEST,
        &[
            ("/totals/0/amount", json!(-200), "$.totals[0].amount"),
            ("/totals/4/amount", json!(199), "$.totals"),
            ("/line_items/0/totals/0/amount", json!(null), "$.line_items[0].totals[0].amount"),
            ("/adjustments/0/totals/0/amount", json!(-0.5), "$.adjustments[0].totals[0].amount"),
            ("/adjustments/0/amount", json!("5"), "$.adjustments[0].amount"),
            ("/currency", json!("QQQ"), "$.currency"),
            ("/id", json!("x2"), "$.id"),
            ("/checkout_id", json!(null), "$.checkout_id"),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn the_first_releases_have_no_negative_amounts() {
    all_fail(
        Kind::Checkout,
        OLDEST,
        &[
            ("/totals/1/amount", json!(-30), "$.totals[1].amount"),
            ("/totals/4/amount", json!(-200), "$.totals[4].amount"),
            ("/totals/1/amount", json!(31), "$.totals"),
            ("/totals/-", json!({ "type": "fee", "amount": 1 }), "$.totals"),
        ],
    )
    .await;
}

#[tokio::test(start_paused = true)]
async fn what_the_release_permits_is_no_fault() {
    let total = |amount: i64| json!({ "type": "total", "amount": amount });
    let subtotal = json!({ "type": "subtotal", "amount": 200 });
    for (release, pointer, value) in [
        // A tip, and a credit, have types of their own.
        (
            NEWEST,
            "/totals",
            json!([subtotal, { "type": "com.example.credit", "display_text": "Credit", "amount": -250 }, total(-50)]),
        ),
        // Taxes, of which the first releases do not say if they are told where they are a part of the prices.
        (OLDEST, "/totals", json!([subtotal, { "type": "tax", "amount": 32 }, total(200)])),
        // Discounts on lines, of which the first releases do not say if the subtotal is without them.
        (OLDEST, "/totals", json!([subtotal, { "type": "items_discount", "amount": 50 }, total(150)])),
        (OLDEST, "/totals", json!([subtotal, { "type": "items_discount", "amount": 50 }, total(200)])),
        (NEWEST, "/totals", json!([subtotal, { "type": "items_discount", "amount": -50 }, total(150)])),
        (
            NEWEST,
            "/totals/1/lines",
            json!([{ "display_text": "a", "amount": -40 }, { "display_text": "b", "amount": 10 }]),
        ),
        (NEWEST, "/totals/0/amount", json!(200.0)),
        (NEWEST, "/totals", json!([])),
        (NEWEST, "/totals", json!([total(200)])),
        (NEWEST, "/currency", json!("KWD")),
        (NEWEST, "/links", json!([])),
        (NEWEST, "/com.example.gift", json!({ "amount": -1.5, "url": "https://elsewhere.example/", "none": null })),
    ] {
        let said = with(&sound(Kind::Checkout, release), pointer, &value);
        let answer = document(looked_up(Kind::Checkout, release, &said).await.expect(pointer));
        assert_eq!(answer, said, "{pointer}");
    }
    // Missing products are left out.
    let sound = sound(Kind::Checkout, NEWEST);
    let said = with(&with(&sound, "/buyer", &json!(null)), "/line_items/0/item/image_url", &json!(null));
    assert_eq!(document(looked_up(Kind::Checkout, NEWEST, &said).await.expect("a checkout")), sound);
}

#[tokio::test(start_paused = true)]
async fn an_outcome_leads_nowhere_else_and_neither_does_a_refusal() {
    let outcome = |url: &str| {
        let message = json!({ "type": "error", "code": "not_found", "content": "Gone.", "severity": "unrecoverable" });
        json!({ "ucp": { "version": NEWEST.date(), "status": "error" }, "messages": [message], "continue_url": url })
    };
    looked_up(Kind::Checkout, NEWEST, &outcome("https://shop.example/")).await.expect("an outcome");
    let refused = looked_up(Kind::Checkout, NEWEST, &outcome("https://evil.example/")).await.expect_err("refused");
    assert!(refused.content.contains("`$.continue_url` must"), "{}", refused.content);
    // Nor does it hold what is faulty in a checkout.
    let shop = outcome("https://shop.example/");
    looked_up(Kind::Checkout, NEWEST, &with(&shop, "/id", &json!("x1"))).await.expect("an outcome");
    for (pointer, value, path) in
        [("/id", json!("x2"), "$.id"), ("/totals", json!([{ "type": "total", "amount": -0.5 }]), "$.totals[0].amount")]
    {
        let refused = looked_up(Kind::Checkout, NEWEST, &with(&shop, pointer, &value)).await.expect_err(pointer);
        assert!(refused.content.contains(&format!("`{path}` must")), "{}", refused.content);
    }
    let stub = Stub::of(NEWEST).await;
    let bridge = opened(options(&stub, Transport::Rest)).await.expect("a bridge");
    for (url, led) in [("https://shop.example/", true), ("https://evil.example/", false)] {
        let refusal = json!({ "code": "invalid_request", "content": "No.", "continue_url": url });
        stub.then(move |_| Act::json(400, &refusal));
        let refused = ask(&bridge, call(Operation::CreateCart, None, json!({}))).await.expect_err("refused");
        assert_eq!((refused.code, refused.continue_url.is_some()), (Code::InvalidRequest, led), "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_shops_own_origins_need_no_configuration() {
    let stub = Stub::of(NEWEST).await;
    let mut options = options(&stub, Transport::Rest);
    options.origins.clear();
    own(&options, Kind::Cart, "x1").await;
    let bridge = opened(options).await.expect("a bridge");
    let at = |url: String| with(&sound(Kind::Cart, NEWEST), "/continue_url", &json!(url));
    let (here, elsewhere) =
        (at(stub.url().join("/cart").expect("an address").into()), at("https://shop.example/".into()));
    stub.then(move |_| Act::json(200, &here)).then(move |_| Act::json(200, &elsewhere));
    ask(&bridge, call(Operation::GetCart, Some("x1"), Value::Null)).await.expect("a cart");
    ask(&bridge, call(Operation::GetCart, Some("x1"), Value::Null)).await.expect_err("another site");
}

#[tokio::test(start_paused = true)]
async fn a_change_with_a_faulty_answer_may_have_been_made() {
    let stub = Stub::of(NEWEST).await;
    let options = options(&stub, Transport::Rest);
    own(&options, Kind::Checkout, "x1").await;
    let bridge = opened(options).await.expect("a bridge");
    let faulty = with(&sound(Kind::Checkout, NEWEST), "/totals/4/amount", &json!(1));
    stub.usually(move |_| Act::json(200, &faulty));
    for operation in [Operation::CreateCheckout, Operation::UpdateCheckout, Operation::CompleteCheckout] {
        let id = operation.takes_id().then_some("x1");
        let before = stub.got().len();
        let looked_up = usize::from(operation == Operation::CompleteCheckout);
        let refused = ask(&bridge, call(operation, id, json!({}))).await.expect_err("faulty");
        assert!(refused.content.contains("may have been made"), "{}", refused.content);
        assert!(refused.content.contains("same idempotency key"), "{}", refused.content);
        assert_eq!(stub.got().len(), before + 1 + looked_up, "it is sent once");
    }
}

fn product(id: &str) -> Value {
    let price = |amount: i64| json!({ "amount": amount, "currency": "USD" });
    json!({
        "id": id, "title": "P", "description": { "plain": "P" }, "price_range": { "min": price(0), "max": price(100) },
        "list_price_range": { "min": price(0), "max": price(200) },
        "variants": [{ "id": "v", "title": "V", "description": { "plain": "V" }, "price": price(100), "list_price": price(200),
            "unit_price": { "amount": 5, "currency": "USD" } }],
        "url": "https://elsewhere.example/p",
    })
}

/// Faults of a product, with their places in it.
fn product_faults() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("/price_range/min/amount", json!(-1), ".price_range.min.amount"),
        ("/price_range/max/amount", json!(HUGE), ".price_range.max.amount"),
        ("/list_price_range/max/currency", json!("QQQ"), ".list_price_range.max.currency"),
        ("/variants/0/price/amount", json!(9.99), ".variants[0].price.amount"),
        ("/variants/0/price/amount", json!(null), ".variants[0].price.amount"),
        ("/variants/0/price/currency", json!(null), ".variants[0].price.currency"),
        ("/variants/0/price", json!(null), ".variants[0].price"),
        ("/variants/0/price", json!(100), ".variants[0].price"),
        ("/variants/0/list_price/amount", json!("1"), ".variants[0].list_price.amount"),
        ("/variants/0/unit_price/amount", json!(-5), ".variants[0].unit_price.amount"),
        ("/variants", json!(null), ".variants"),
        ("/id", json!(null), ".id"),
        ("/id", json!("faul\u{200b}ty"), ".id"),
        ("/id", json!("x".repeat(1 << 20)), ".id"),
        ("/variants/0/id", json!("v\u{0}"), ".variants[0].id"),
        ("/title", json!(null), ".title"),
    ]
}

#[tokio::test(start_paused = true)]
async fn faulty_products_are_left_out_of_lists_and_counted() {
    for (operation, name) in
        [(Operation::SearchCatalog, "search_catalog"), (Operation::LookupCatalog, "lookup_catalog")]
    {
        for (pointer, value, path) in product_faults() {
            let (log, _guard) = Log::of_this_thread();
            let stub = Stub::of(NEWEST).await;
            let bridge = opened(options(&stub, Transport::Rest)).await.expect("a bridge");
            let faulty = with(&product("faulty"), pointer, &value);
            let list = json!([product("a"), faulty, product("b"), "nothing"]);
            stub.usually(move |_| Act::json(200, &json!({ "ucp": ucp(NEWEST), "products": list })));
            let payload = if name == "search_catalog" { json!({ "query": "x" }) } else { json!({ "ids": ["x"] }) };
            for _ in 0..2 {
                let answer = document(ask(&bridge, call(operation, None, payload.clone())).await.expect("an answer"));
                assert_eq!(answer["products"], json!([product("a"), product("b")]), "{pointer}");
            }
            let text = log.text();
            let lines: Vec<_> = text.lines().filter(|line| line.contains("invalid upstream products")).collect();
            assert_eq!(lines.len(), 1, "once, although it is answered twice: {lines:?}");
            for part in [name, "left_out=2", "of=4", &format!("`$.products[1]{path}` must")] {
                assert!(lines[0].contains(part), "{part}: {}", lines[0]);
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_product_page_with_a_fault_fails_as_a_whole() {
    let stub = Stub::of(NEWEST).await;
    let bridge = opened(options(&stub, Transport::Rest)).await.expect("a bridge");
    for (n, (pointer, value, path)) in product_faults().into_iter().enumerate() {
        let faulty = with(&product("p"), pointer, &value);
        stub.then(move |_| Act::json(200, &json!({ "ucp": ucp(NEWEST), "product": faulty })));
        let asked = call(Operation::GetProduct, None, json!({ "id": format!("p{n}") }));
        let refused = ask(&bridge, asked).await.expect_err(pointer);
        assert!(refused.content.contains(&format!("`$.product{path}` must")), "{}", refused.content);
    }
    // Missing products are left out here too.
    let said = with(&product("p"), "/variants/0/sku", &json!(null));
    stub.then(move |_| Act::json(200, &json!({ "ucp": ucp(NEWEST), "product": said })));
    let answer = ask(&bridge, call(Operation::GetProduct, None, json!({ "id": "p" }))).await.expect("a product");
    assert_eq!(document(answer)["product"], product("p"));
}

#[tokio::test(start_paused = true)]
async fn what_the_shop_has_signed_is_whole_or_fails() {
    let ((shop, public), (_, platform)) = (key(), key());
    let stub = Stub::offering(OLDER, &SupportedOperations::everything(), &[public]).await;
    let bridge = opened(options(&stub, Transport::Rest)).await.expect("a bridge");
    let buyer = mandating("agent", OLDER, &[platform]);
    let sound = sound(Kind::Checkout, OLDER);
    for (pointer, value, fault) in [
        ("/unknown", json!(null), None),
        ("/buyer", json!(null), Some("`$.buyer` must not be null")),
        ("/line_items/0/item/image_url", json!(null), Some("`$.line_items[0].item.image_url` must not be null")),
        ("/totals/4/amount", json!(1), Some("`$.totals` must add up")),
        ("/line_items/0/item/title", json!(" Two  words "), None),
        ("/line_items/0/item/title", json!("gnp.\u{202e}exe"), Some("`$.line_items[0].item.title` must be plain text")),
        ("/note", json!({ "description": { "html": "<b>x</b>" } }), Some("`$.note.description` must be plain text")),
        ("/note", json!("x".repeat(30_000)), Some("`$.note` must be plain text")),
    ] {
        let mut said = with(&sound, pointer, &value);
        said["ap2"] = json!({ "merchant_authorization": authorize(&said, &shop).expect("signed") });
        let answer = said.clone();
        stub.then(move |_| Act::json(201, &answer));
        let asked = ForwardedCall { release: OLDER, ..call(Operation::CreateCheckout, None, json!({})) };
        match (bridge.forward(&buyer, asked).await, fault) {
            (Ok(answer), None) => assert_eq!(document(answer).to_string(), said.to_string()),
            (Err(refused), Some(fault)) => assert!(refused.content.contains(fault), "{}", refused.content),
            (other, _) => panic!("{pointer}: {other:?}"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_cart_of_another_release_is_judged_in_that_of_the_shop() {
    // 30 is a discount in the shop's release, and would be a surcharge in the caller's.
    let stub = Stub::of(OLDEST).await;
    let options = options(&stub, Transport::Rest);
    own(&options, Kind::Checkout, "x1").await;
    let bridge = opened(options).await.expect("a bridge");
    stub.usually(|_| Act::json(200, &sound(Kind::Checkout, OLDEST)));
    let asked = call(Operation::GetCheckout, Some("x1"), Value::Null);
    let answer = bridge.forward(&caller("agent", NEWEST), asked).await.expect("a checkout");
    assert_eq!(answer.body["totals"][1]["amount"], -30);
}
