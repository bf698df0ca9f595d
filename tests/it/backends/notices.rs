//! End of a purchase after a handoff to the shop: webhooks of the shop behind the Storefront API about its orders
//! (`orders/create`), and responses without them.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use aws_lc_rs::hmac;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::server::{Answer, Server};

use crate::{
    harness::{Gateway, codes, elements, folder},
    platforms::host::{Host, profile_with},
    purchase::{
        shopper::{Shopper, id, lines},
        webhooks::{self, receiver::Receiver},
    },
    setup::Transport,
    signatures::keys,
    wire::Response,
};

const SECRET: &str = "secret-of-the-webhooks";
const PATH: &str = "/upstream/orders";
const ITEM: &str = "gid://shopify/ProductVariant/11";
const PAGE: &str = "https://stub.example/cart/c/1?key=2";
const STATUS_PAGE: &str = "https://stub.example/1/orders/ab/authenticate?key=c";

/// A shop with one cart, which is gone once it is paid for.
struct Stub {
    server: Server,
    paid: Arc<AtomicBool>,
}

impl Stub {
    fn start() -> Self {
        let paid = Arc::new(AtomicBool::new(false));
        let gone = Arc::clone(&paid);
        let server = Server::start(move |request| {
            let body: Value = serde_json::from_slice(request.body()).expect("JSON");
            Answer::json(&answered(&body, gone.load(Ordering::SeqCst)))
        });
        Self { server, paid }
    }

    /// The buyer pays, or the shop gives the cart up.
    fn lose_the_cart(&self) {
        self.paid.store(true, Ordering::SeqCst);
    }

    /// The attributes of the carts that were made, the last one's first.
    fn reference(&self) -> String {
        let bodies = self
            .server
            .requests()
            .into_iter()
            .rev()
            .map(|request| serde_json::from_slice::<Value>(request.body()).expect("JSON"));
        let mut inputs = bodies.map(|body| body["variables"]["input"]["attributes"].clone()).filter(Value::is_array);
        let attributes = inputs.next().expect("a cart with attributes");
        let own = attributes.as_array().into_iter().flatten().find(|own| own["key"] == "_ucp_checkout");
        own.expect("a reference")["value"].as_str().expect("a text").to_owned()
    }
}

fn answered(body: &Value, gone: bool) -> Value {
    let query = body["query"].as_str().expect("a document");
    let usd = |amount: &str| json!({ "amount": amount, "currencyCode": "USD" });
    let country = json!({ "isoCode": "US", "currency": { "isoCode": "USD" } });
    let cart = || {
        let cost =
            json!({ "amountPerQuantity": usd("10.0"), "subtotalAmount": usd("20.0"), "totalAmount": usd("20.0") });
        let goods = json!({
            "__typename": "ProductVariant", "id": ITEM, "title": "Default Title", "requiresShipping": false, "image": null,
            "product": { "id": "gid://shopify/Product/1", "title": "Mug" },
        });
        let line = json!({
            "__typename": "CartLine", "id": "gid://shopify/CartLine/1", "quantity": 2, "cost": cost,
            "discountAllocations": [], "merchandise": goods,
        });
        json!({
            "id": "gid://shopify/Cart/1?key=2", "checkoutUrl": PAGE, "attributes": [], "discountCodes": [],
            "discountAllocations": [], "cost": { "subtotalAmount": usd("20.0"), "totalAmount": usd("20.0") },
            "lines": { "pageInfo": { "hasNextPage": false }, "nodes": [line] }, "deliveryGroups": { "nodes": [] },
        })
    };
    if query.contains("CartCreate") {
        return json!({ "data": { "created": { "cart": cart(), "userErrors": [], "warnings": [] } } });
    }
    if query.contains("CartById") {
        return json!({ "data": { "cart": (!gone).then(cart) } });
    }
    json!({ "data": {
        "shop": { "name": "Stub" }, "productTypes": { "edges": [] },
        "localization": {
            "availableCountries": [country], "availableLanguages": [{ "isoCode": "EN" }], "country": country,
            "language": { "isoCode": "EN" },
        },
    } })
}

fn configuration(stub: &Stub, more: &str) -> String {
    format!(
        "[profiles]\nloopback = true\n[upstream]\nbackend = \"shopify\"\nurl = \"http://{}\"\nconnect_timeout_ms = 20000\n\
         read_timeout_ms = 30000\nwrite_timeout_ms = 30000\n{more}",
        stub.server.address()
    )
}

fn wanted() -> Value {
    json!({
        "line_items": lines(&[(ITEM, 2)]), "context": { "address_country": "US" },
        "buyer": { "email": "buyer@example.com", "first_name": "Bea", "last_name": "Buyer" },
    })
}

/// The order of a checkout with this reference, placed long ago.
fn order(reference: &str, number: u64) -> Vec<u8> {
    order_of(reference, number, "2026-01-23T10:00:00-05:00")
}

fn order_of(reference: &str, number: u64, created_at: &str) -> Vec<u8> {
    let set = |amount: &str| {
        let money = json!({ "amount": amount, "currency_code": "USD" });
        json!({ "shop_money": money, "presentment_money": money })
    };
    let line = json!({ "id": 1, "variant_id": 11, "title": "Mug", "quantity": 2, "price_set": set("10.00") });
    json!({
        "id": number, "name": format!("#{number}"), "created_at": created_at,
        "order_status_url": STATUS_PAGE, "note_attributes": [{ "name": "_ucp_checkout", "value": reference }],
        "total_price_set": set("21.60"), "total_tax_set": set("1.60"), "line_items": [line],
    })
    .to_string()
    .into_bytes()
}

fn signed(body: &[u8]) -> String {
    BASE64_STANDARD.encode(hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, SECRET.as_bytes()), body))
}

/// Tells the gateway about an order.
fn told(gateway: &Gateway, id: &str, body: &[u8], hmac: Option<&str>) -> Response {
    told_about(gateway, "orders/create", id, body, hmac)
}

/// Sends a webhook of a topic.
fn told_about(gateway: &Gateway, topic: &str, id: &str, body: &[u8], hmac: Option<&str>) -> Response {
    let mut headers =
        vec![("Content-Type", "application/json"), ("X-Shopify-Topic", topic), ("X-Shopify-Webhook-Id", id)];
    headers.extend(hmac.map(|hmac| ("X-Shopify-Hmac-Sha256", hmac)));
    gateway.send("POST", PATH, &headers, body)
}

fn platform<'a>(gateway: &'a Gateway, profile: &str) -> Shopper<'a> {
    Shopper::new(gateway, Release::NEWEST, Transport::Rest).named(profile)
}

fn looked_at(shopper: &Shopper<'_>, checkout: &Value) -> Value {
    shopper.call("get_checkout", Some(id(checkout)), &json!({})).document()
}

#[test]
fn a_checkout_that_a_buyer_pays_for_at_the_shop_is_completed_when_the_shop_tells() {
    let stub = Stub::start();
    let host = Host::start();
    let receiver = Receiver::start([]);
    let (gateway, data) = in_front_of(&stub, true);
    let mut profile = profile_with(Release::NEWEST, &["dev.ucp.shopping.checkout", ORDER]);
    profile["ucp"]["capabilities"][ORDER][0]["config"] = json!({ "webhook_url": receiver.url() });
    let profile = host.profile("/platform", &profile);
    let shopper = platform(&gateway, &profile);
    let checkout = shopper.create(&wanted());
    assert_eq!((&checkout["status"], &checkout["continue_url"]), (&json!("requires_escalation"), &json!(PAGE)));
    let reference = stub.reference();
    assert!(!checkout.to_string().contains(&reference), "the reference is between the gateway and the shop");

    stub.lose_the_cart();
    let unknown = looked_at(&shopper, &checkout);
    assert_eq!((&unknown["status"], &unknown["continue_url"]), (&json!("requires_escalation"), &json!(PAGE)));
    assert_eq!(codes(&unknown), ["purchase_unconfirmed"]);
    let updated = shopper.call("update_checkout", Some(id(&checkout)), &wanted()).document();
    assert_eq!((&updated["status"], codes(&updated)), (&json!("requires_escalation"), vec!["purchase_unconfirmed"]));

    // Webhooks of others change nothing.
    let body = order(&reference, 1001);
    for hmac in [None, Some("bm9uc2Vuc2U="), Some(&*signed(b"something else"))] {
        let refused = told(&gateway, "1", &body, hmac);
        assert_eq!(refused.status, 401, "{refused:?}");
        assert!(refused.json()["content"].as_str().is_some_and(|content| !content.is_empty()), "{refused:?}");
    }
    let large = vec![b' '; 2 * 1024 * 1024];
    assert_eq!(told(&gateway, "1", &large, Some(&signed(&large))).status, 413);
    // A checkout that nobody knows is one that may be about to be stored, as long as its order is new.
    let now = jiff::Timestamp::now().to_string();
    for (ignored, status) in [
        (order("nobody", 1000), 200),
        (order_of("nobody", 1000, &now), 503),
        (json!({ "note_attributes": [] }).to_string().into_bytes(), 400),
    ] {
        let answer = told(&gateway, "0", &ignored, Some(&signed(&ignored)));
        assert_eq!((answer.status, answer.header("retry-after").is_some()), (status, status == 503), "{answer:?}");
    }
    assert_eq!(looked_at(&shopper, &checkout)["status"], "requires_escalation");
    assert!(gateway.stderr().contains("order event rejected"));

    // It is on disk before it is acknowledged: a gateway that is killed right after that knows it.
    assert_eq!(told(&gateway, "2", &body, Some(&signed(&body))).status, 200);
    drop(gateway);
    let gateway = started(&stub, true, &data);
    let shopper = platform(&gateway, &profile);
    let completed = looked_at(&shopper, &checkout);
    assert_eq!(completed["status"], "completed", "{completed}");
    assert_eq!(completed["order"]["permalink_url"], STATUS_PAGE);
    assert_eq!(completed["order"]["label"], "#1001");
    assert!(codes(&completed).is_empty() && completed.get("continue_url").is_none(), "{completed}");
    assert_eq!(total_of(&completed), 2_160, "what was paid, with the taxes of the shop's page");
    let shown = shopper.call("get_order", Some(text(&completed["order"]["id"])), &json!({})).document();
    assert_eq!((&shown["permalink_url"], total_of(&shown)), (&json!(STATUS_PAGE), 2_160));

    // The platform hears of it, once, however often the shop says it.
    for notice in ["2", "3"] {
        assert_eq!(told(&gateway, notice, &body, Some(&signed(&body))).status, 200);
    }
    let another = order(&reference, 1002);
    assert_eq!(told(&gateway, "4", &another, Some(&signed(&another))).status, 200);
    let heard = receiver.after(1);
    assert_eq!(heard[0].json()["id"], completed["order"]["id"], "{}", heard[0].json());
    assert_eq!(looked_at(&shopper, &checkout), completed);
    let database = rusqlite::Connection::open(data.path().join("shop.db")).expect("the database");
    let count = |sql: &str| database.query_row(sql, (), |row| row.get::<_, i64>(0)).expect("a number");
    assert_eq!((count("SELECT count(*) FROM orders"), count("SELECT count(*) FROM outbox")), (1, 1));
}

/// Webhooks about an order of two mugs, in their order, each with its topic and `true` if its platform is told.
fn becoming(number: u64, whole: &Value) -> Vec<(&'static str, Value, bool)> {
    let parcel = json!({
        "id": 9, "order_id": number, "status": "success", "created_at": "2026-01-24T10:00:00Z",
        "tracking_company": "Post", "tracking_number": "T1", "tracking_url": "https://post.example/T1",
        "line_items": [{ "id": 1, "variant_id": 11, "quantity": 1 }],
    });
    let mut delivered = parcel.clone();
    delivered["shipment_status"] = json!("delivered");
    delivered["updated_at"] = json!("2026-01-25T10:00:00Z");
    let refund = json!({
        "id": 7, "order_id": number, "created_at": "2026-01-26T10:00:00Z", "note": "Sold out",
        "refund_line_items": [{ "quantity": 1, "restock_type": "cancel", "line_item": { "id": 1, "variant_id": 11 } }],
        "transactions": [{ "id": 3, "kind": "refund", "status": "success", "amount": "10.80", "currency": "USD" }],
    });
    let with = |members: Value| {
        let mut whole = whole.clone();
        for (name, value) in members.as_object().into_iter().flatten() {
            whole[name] = value.clone();
        }
        whole
    };
    let updated = json!({ "financial_status": "paid", "fulfillments": [delivered], "refunds": [refund] });
    vec![
        ("orders/paid", with(json!({ "financial_status": "paid" })), false),
        ("fulfillments/create", parcel, true),
        ("fulfillments/update", delivered, true),
        ("refunds/create", refund, true),
        ("orders/updated", with(updated), false),
    ]
}

#[test]
fn what_becomes_of_an_order_is_told_by_webhooks_of_every_topic_in_every_release() {
    let (stub, host) = (Stub::start(), Host::start());
    let (gateway, _data) = in_front_of(&stub, true);
    let send = |topic: &str, body: &Value| {
        let body = body.to_string().into_bytes();
        for hmac in [None, Some(&*signed(b"another body"))] {
            assert_eq!(told_about(&gateway, topic, "forged", &body, hmac).status, 401, "{topic}");
        }
        // However often it is said, it happens once.
        for notice in ["1", "1", "2"] {
            let answer = told_about(&gateway, topic, notice, &body, Some(&signed(&body)));
            assert_eq!(answer.status, 200, "{topic}: {answer:?}");
        }
    };
    for (number, release) in (2_001_u64..).step_by(2).zip(Release::ALL.iter().copied()) {
        let receiver = Receiver::start([]);
        let profile = webhooks::profile(release, Some(&receiver.url()));
        let profile = host.profile(&format!("/{}", release.date()), &profile);
        let shopper = Shopper::new(&gateway, release, Transport::Rest).named(&profile);
        let buy = |number: u64| {
            let checkout = shopper.create(&wanted());
            let mut whole: Value = serde_json::from_slice(&order(&stub.reference(), number)).expect("JSON");
            whole["financial_status"] = json!("authorized");
            send("orders/create", &whole);
            let completed = looked_at(&shopper, &checkout);
            assert_eq!(completed["status"], "completed", "{release}: {completed}");
            let order = completed.get("order").map_or(&completed["order_id"], |order| &order["id"]);
            (text(order).to_owned(), whole)
        };
        // The first releases have no question for an order.
        let shown = |order: &str, heard: &Value| match release < Release::V2026_04_08 {
            true => heard.clone(),
            false => shopper.call("get_order", Some(order), &json!({})).document(),
        };
        let last = |count: usize| {
            let last = receiver.after(count)[count - 1].json();
            last.get("order").cloned().unwrap_or(last)
        };
        let (order, whole) = buy(number);
        let mut count = 1;
        for (topic, body, is_told) in becoming(number, &whole) {
            send(topic, &body);
            count += usize::from(is_told);
            if is_told {
                assert_eq!(last(count)["id"], json!(order), "{release}: {topic}");
            }
        }
        let shown_of = shown(&order, &last(count));
        let kinds: Vec<_> = elements(&shown_of["fulfillment"]["events"]).iter().map(|event| &event["type"]).collect();
        assert_eq!(kinds, ["shipped", "delivered"], "{release}: {shown_of}");
        assert_eq!(shown_of["fulfillment"]["events"][0]["tracking_number"], "T1", "{release}: {shown_of}");
        let kinds: Vec<_> = elements(&shown_of["adjustments"]).iter().map(|adjustment| &adjustment["type"]).collect();
        assert_eq!(kinds, ["cancellation", "refund"], "{release}: {shown_of}");
        // Another order is canceled as a whole.
        let (order, mut whole) = buy(number + 1);
        whole["cancelled_at"] = json!("2026-01-24T10:00:00Z");
        whole["financial_status"] = json!("voided");
        send("orders/cancelled", &whole);
        count += 2;
        let canceled = shown(&order, &last(count));
        assert_eq!(canceled["id"], json!(order), "{release}: {canceled}");
        assert_eq!(canceled["adjustments"][0]["type"], "cancellation", "{release}: {canceled}");
        // What was repeated, or known already, was told to nobody.
        assert_eq!(receiver.deliveries().len(), count, "{release}");
    }
}

#[test]
fn a_shop_that_tells_nothing_leaves_a_checkout_open_until_it_expires() {
    let stub = Stub::start();
    let (gateway, data) = in_front_of(&stub, false);
    let shopper = Shopper::rest(&gateway);
    let checkout = shopper.create(&wanted());
    stub.lose_the_cart();
    let unknown = looked_at(&shopper, &checkout);
    assert_eq!((&unknown["status"], &unknown["continue_url"]), (&json!("requires_escalation"), &json!(PAGE)));
    assert_eq!(codes(&unknown), ["purchase_unconfirmed"]);
    let body = order(&stub.reference(), 1001);
    assert_eq!(told(&gateway, "1", &body, Some(&signed(&body))).status, 404);
    assert!(gateway.stderr().contains("webhook_secret_file"), "the operator is told");
    // Its time passes.
    let database = rusqlite::Connection::open(data.path().join("shop.db")).expect("the database");
    let past = "UPDATE checkouts SET document = json_set(document, '$.expires_at', '2020-01-01T00:00:00Z')";
    database.execute(past, ()).expect("a change");
    let over = looked_at(&shopper, &checkout);
    assert_eq!((&over["status"], codes(&over)), (&json!("canceled"), vec!["expired"]));
}

/// The capability that says where a platform wants to hear.
const ORDER: &str = "dev.ucp.shopping.order";

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("a text: {value}"))
}

fn total_of(document: &Value) -> i64 {
    crate::purchase::shopper::total(document, "total")
}

/// A gateway in front of the shop, on a directory of its own, which knows the secret of its webhooks or not.
fn in_front_of(stub: &Stub, hears: bool) -> (Gateway, tempfile::TempDir) {
    let data = folder();
    keys(&["generate"], data.path());
    (started(stub, hears, &data), data)
}

/// A gateway in front of the shop on this directory, which outlives it.
fn started(stub: &Stub, hears: bool, data: &tempfile::TempDir) -> Gateway {
    let [secret, file] = ["webhooks", "gateway.toml"].map(|name| data.path().join(name));
    std::fs::write(&secret, format!("{SECRET}\n")).expect("a file");
    let more = if hears { format!("webhook_secret_file = \"{}\"\n", secret.display()) } else { String::new() };
    std::fs::write(&file, configuration(stub, &more)).expect("a file");
    Gateway::on(data.path(), &["--config", file.to_str().expect("UTF-8")])
}
