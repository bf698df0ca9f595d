//! What becomes of orders at shops behind the backend contract or a mapping: it is heard and asked for, judged, and told to
//! platforms in their releases. Orders that buyers place on the page of a shop which tells nothing are found.

use std::{
    sync::{Arc, Mutex, PoisonError},
    thread,
};

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::{
    PATIENCE, eventually,
    server::{Answer, Server},
};

use crate::{
    database,
    harness::{Ends as _, Gateway, binary, folder},
    platforms::host::Host,
    purchase::{
        shopper::{Shopper, id, lines, new_key, paying_in},
        webhooks::{self, receiver::Receiver},
    },
    setup::{Setup, Transport},
    signatures::keys,
    wire::{Connection, Response, request},
};

const SECRET: &str = "secret-of-the-shop";
const PATH: &str = "/upstream/orders";
const ADMIN_TOKEN: &str = "admin-token-of-the-shop";

/// State of the shop.
#[derive(Default)]
struct Books {
    /// Order of the cart, once the buyer has placed it.
    paid: bool,
    /// What has become of the order.
    events: Vec<Value>,
}

/// A shop with vases of 10.00 EUR, which knows its order by `order_id`.
#[derive(Clone)]
struct Vases {
    server: Arc<Server>,
    books: Arc<Mutex<Books>>,
}

impl Vases {
    /// Starts it, with abilities of its carts.
    fn start(abilities: &'static str) -> Self {
        let books = Arc::new(Mutex::new(Books::default()));
        let known = Arc::clone(&books);
        let server = Server::start(move |request| {
            let asked: Value = serde_json::from_slice(request.body()).unwrap_or_default();
            let known = known.lock().unwrap_or_else(PoisonError::into_inner);
            answered(request.uri().path(), &asked, &known, abilities)
        });
        Self { server: Arc::new(server), books }
    }

    fn now(&self, change: impl FnOnce(&mut Books)) {
        change(&mut self.books.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Answers a question of the contract. An order is named after the reference that it was placed with.
fn answered(path: &str, asked: &Value, known: &Books, abilities: &str) -> Answer {
    let products = json!([{
        "id": "vase", "title": "Vase", "description": { "plain": "A vase." },
        "variants": [{ "id": "vase-1", "digital": true, "price": { "amount": 1_000, "currency": "EUR" } }],
    }]);
    let cart: Value = serde_json::from_str(abilities).expect("JSON");
    let reference = asked["reference"].as_str().unwrap_or_default();
    Answer::json(&match path {
        "/backend" => json!({
            "contract": "1",
            "market": { "name": "Vases", "currency": "EUR", "language": "en" },
            "payment_handlers": if cart["completion"] == "place" {
                json!([{ "name": "com.example.vases", "id": "vases", "version": "2026-01-01", "instruments": ["card"] }])
            } else {
                json!([])
            },
            "cart": cart,
        }),
        "/find" | "/resolve" | "/open" => json!({ "products": products }),
        "/cart/sync" | "/cart/fetch" => json!({
            "cart": asked["cart"].as_str().unwrap_or("cart-1"), "currency": "EUR", "total": 3_000,
            "lines": [{ "variant": "vase-1", "quantity": 3, "price": 1_000 }],
            "continue_url": (cart["completion"] == "hand_off").then_some("https://vases.example/cart-1"),
        }),
        "/place" => {
            json!({ "status": "placed", "order": { "id": format!("O-{reference}"), "label": "No. 7", "payment": "authorized" } })
        }
        "/order" if known.paid => json!({ "status": "placed", "order": { "id": "O-1", "label": "No. 1" } }),
        "/order" => json!({ "status": "absent" }),
        "/order/status" => json!({ "order": { "id": asked["order"] }, "currency": "EUR", "events": known.events }),
        _ => Value::Null,
    })
}

const PLACES: &str = r#"{ "completion": "place", "order_status": true }"#;
const HANDS_OFF: &str = r#"{ "completion": "hand_off", "finds_orders": true, "order_status": true }"#;

fn setup(vases: &Vases) -> Setup {
    let configuration = format!(
        "{}\n[upstream]\nsigning_secret_file = \"secret\"\n[server]\nadmin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"token\"\n",
        webhooks::open()
    );
    Setup::new(&configuration).file("secret", SECRET).file("token", ADMIN_TOKEN).arguments(&[
        "--backend",
        "http",
        "--upstream-url",
        &vases.server.url(""),
    ])
}

fn hmac_of(text: &str) -> String {
    hmac_under(SECRET, text)
}

fn hmac_under(secret: &str, text: &str) -> String {
    let digest = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes()), text.as_bytes());
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Sends an event, signed as the contract says.
fn told(gateway: &Gateway, event: &Value) -> Response {
    told_to(gateway, "localhost", SECRET, event)
}

/// Sends an event to a host, signed under a secret.
fn told_to(gateway: &Gateway, host: &str, secret: &str, event: &Value) -> Response {
    let (body, time) = (event.to_string(), jiff::Timestamp::now().as_second().to_string());
    let signature = format!("sha256={}", hmac_under(secret, &format!("{time}\nPOST\n{PATH}\n{body}")));
    let headers = [
        ("Host", host),
        ("Content-Type", "application/json"),
        ("X-Signature-Timestamp", &*time),
        ("X-Signature", &*signature),
    ];
    gateway.send("POST", PATH, &headers, body.as_bytes())
}

/// Sends a request to the admin endpoint.
fn admin(gateway: &Gateway, method: &str, path: &str) -> Response {
    let line = gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    let mut connection = Connection::open(line.expect("where it listens").parse().expect("an address"));
    let token = format!("Bearer {ADMIN_TOKEN}");
    assert!(connection.write(&request(method, path, &[("Authorization", &token)], b"")));
    connection.read().expect("an answer")
}

/// Buys three vases; the identifier of the order.
fn bought(shopper: &Shopper<'_>, release: Release) -> String {
    let wanted = json!({ "line_items": lines(&[("vase-1", 3)]), "buyer": { "email": "buyer@example.com" } });
    let checkout = shopper.create(&wanted);
    assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
    let paying = paying_in(release, "vases", "token");
    let completed = shopper.keyed(Some(&new_key()), "complete_checkout", Some(id(&checkout)), &paying).document();
    assert_eq!(completed["status"], "completed", "{completed}");
    let order = completed.get("order").map_or_else(|| completed["order_id"].as_str(), |order| order["id"].as_str());
    order.unwrap_or_else(|| panic!("an order: {completed}")).to_owned()
}

fn shipped(quantity: u64) -> Value {
    json!({
        "id": "parcel 1", "kind": "shipped", "at": "2026-01-02T03:04:05Z", "carrier": "Post", "tracking_number": "T1",
        "tracking_url": "https://post.example/T1", "lines": [{ "variant": "vase-1", "quantity": quantity }],
    })
}

fn refunded(name: &str, amount: i64) -> Value {
    json!({ "id": name, "kind": "refunded", "at": "2026-01-03T03:04:05Z", "amount": amount, "reason": "Broken" })
}

fn event(order: &str, events: &[Value]) -> Value {
    json!({ "order": { "id": order }, "currency": "EUR", "events": events })
}

#[test]
fn what_becomes_of_an_order_reaches_its_platform_in_every_release() {
    let vases = Vases::start(PLACES);
    let host = Host::start();
    let data = folder();
    keys(&["generate"], data.path());
    let setup = setup(&vases);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    for release in Release::ALL.iter().copied() {
        let receiver = Receiver::start([]);
        let profile = webhooks::profile(release, Some(&receiver.url()));
        let profile = host.profile(&format!("/{}", release.date()), &profile);
        let shopper = Shopper::new(&gateway, release, Transport::Rest).named(&profile);
        let order = bought(&shopper, release);
        let own = admin(&gateway, "GET", &format!("/orders/{order}")).json();
        let of_shop = own["shop_order_id"].as_str().expect("the shop's identifier").to_owned();
        assert_eq!((&own["captured"], &own["payment"]["hold"]["status"]), (&json!(0), &json!("authorized")), "{own}");
        assert_eq!(admin(&gateway, "GET", &format!("/orders/{of_shop}")).json()["id"], json!(order));

        // What is not the shop's, and what does not fit the order, changes nothing.
        let parcel = event(&of_shop, &[shipped(2)]);
        let forged = gateway.send("POST", PATH, &[("Content-Type", "application/json")], parcel.to_string().as_bytes());
        assert_eq!(forged.status, 401, "{forged:?}");
        let mut dollars = event(&of_shop, &[refunded("refund 1", 100)]);
        dollars["currency"] = json!("USD");
        for (unfit, path) in [
            (event(&of_shop, &[shipped(4)]), "$.events[0]"),
            (event(&of_shop, &[shipped(2), refunded("refund 1", 3_001)]), "$.events[1]"),
            (dollars, "$.events[0]"),
            (
                event(&of_shop, &[json!({ "id": "", "kind": "shipped", "at": "2026-01-02T03:04:05Z" })]),
                "$.events[0].id",
            ),
        ] {
            let refused = told(&gateway, &unfit);
            assert_eq!((refused.status, &refused.json()["path"]), (400, &json!(path)), "{refused:?}");
        }
        assert_eq!(told(&gateway, &event("of-others", &[shipped(1)])).status, 200, "others sell in the same shop");
        let mut ours = event("of-nobody-yet", &[shipped(1)]);
        ours["reference"] = json!("reference");
        assert_eq!(told(&gateway, &ours).status, 503, "it is to be sent again");

        // However often it is said, it happens once.
        let refund = event(&of_shop, &[refunded("refund 1", 1_000)]);
        for said in [&parcel, &refund, &parcel, &refund] {
            let answer = told(&gateway, said);
            assert_eq!(answer.status, 200, "{answer:?}");
        }
        let heard = receiver.after(3);
        let last = heard[2].json();
        let last = last.get("order").unwrap_or(&last);
        assert_eq!(last["id"], json!(order), "{last}");
        assert!(last.to_string().contains("https://post.example/T1"), "{last}");
        assert_eq!(last["adjustments"][0]["type"], "refund", "{last}");
        // The first releases have no question for an order.
        let shown = match release < Release::V2026_04_08 {
            true => last.clone(),
            false => shopper.call("get_order", Some(&order), &json!({})).document(),
        };
        assert_eq!(shown["fulfillment"]["events"][0]["tracking_number"], "T1", "{shown}");
        assert_eq!(shown["line_items"][0]["status"], "partial", "{shown}");
        assert_eq!(shown["adjustments"][0]["status"], "completed", "{shown}");
        let own = admin(&gateway, "GET", &format!("/orders/{order}")).json();
        assert_eq!((&own["captured"], &own["refundable"]), (&json!(3_000), &json!(2_000)), "{own}");

        // The page of the order answers, and says it as well.
        let link = shown["permalink_url"].as_str().expect("a link");
        let path = link.find("/order/").map(|at| &link[at..]).expect("our page");
        let page = gateway.send("GET", path, &[("Accept", "text/html")], b"");
        assert_eq!((page.status, page.body.contains("T1")), (200, true), "{page:?}");
        assert_eq!(gateway.send("GET", "/order/0123456789abcdef", &[], b"").status, 404);
    }
    // A gateway that is killed right after it has answered knows it.
    let orders = admin(&gateway, "GET", "/orders").json();
    drop(gateway);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    assert_eq!(admin(&gateway, "GET", "/orders").json(), orders);
    let list = orders.as_array().expect("a list");
    assert_eq!(list.len(), Release::ALL.len());
    let name = |order: &Value, member: &str| order[member].as_str().expect("a name").to_owned();
    let of_shop = name(&list[0], "shop_order_id");
    let by = |name: &str| binary().args(["orders", "show", name, "--json", "--data-dir"]).arg(data.path()).ends();
    let found: Value = serde_json::from_slice(&by(&of_shop).stdout).expect("JSON");
    assert_eq!(found["id"], list[0]["id"]);
    let ambiguous = by("No. 7");
    assert!(!ambiguous.status.success());
    let said = String::from_utf8_lossy(&ambiguous.stderr).into_owned();
    assert!(list.iter().all(|order| said.contains(&name(order, "id"))), "{said}");
}

#[test]
fn a_shop_that_tells_nothing_is_asked_what_has_become_of_an_order() {
    let vases = Vases::start(PLACES);
    let (host, receiver, data) = (Host::start(), Receiver::start([]), folder());
    keys(&["generate"], data.path());
    let gateway = setup(&vases).spawn("127.0.0.1:0", data.path());
    let release = Release::NEWEST;
    let profile = host.profile("/platform", &webhooks::profile(release, Some(&receiver.url())));
    let shopper = Shopper::new(&gateway, release, Transport::Tool).named(&profile);
    let order = bought(&shopper, release);
    let ask = || {
        let asked = admin(&gateway, "POST", &format!("/tasks/follow_order/{order}/retry"));
        assert_eq!(asked.status, 200, "{asked:?}");
    };
    vases.now(|books| books.events = vec![shipped(3), refunded("much", 9_999)]);
    ask();
    let heard = receiver.after(2);
    assert_eq!(heard[1].json()["line_items"][0]["status"], "fulfilled", "{}", heard[1].json());
    // What does not fit is left out, and the operator sees why.
    ask();
    eventually("the operator to see what does not fit", PATIENCE, || {
        let tasks = admin(&gateway, "GET", "/tasks").json().to_string();
        tasks.contains("3000 minor units are left to give back, not 9999").then_some(())
    });
    vases.now(|books| books.events = vec![shipped(3), refunded("all", 3_000)]);
    ask();
    let heard = receiver.after(3);
    assert_eq!(heard[2].json()["adjustments"][0]["status"], "completed", "{}", heard[2].json());
    assert!(heard[2].json()["adjustments"].as_array().is_some_and(|all| all.len() == 1));
}

#[test]
fn an_event_reaches_its_order_at_every_gateway_of_a_database() {
    let Some(database) = database::database() else { return };
    let vases = Vases::start(PLACES);
    let (host, receiver) = (Host::start(), Receiver::start([]));
    let data = [folder(), folder()];
    let gateways = data.each_ref().map(|data| {
        keys(&["generate"], data.path());
        setup(&vases).arguments(&["--database", &database]).spawn("127.0.0.1:0", data.path())
    });
    let [here, there] = &gateways;
    let release = Release::NEWEST;
    let profile = host.profile("/platform", &webhooks::profile(release, Some(&receiver.url())));
    let shopper = Shopper::new(here, release, Transport::Rest).named(&profile);
    let order = bought(&shopper, release);
    let of_shop = admin(there, "GET", &format!("/orders/{order}")).json()["shop_order_id"].clone();
    let of_shop = of_shop.as_str().expect("the shop's identifier");
    let [parcel, refund] = [shipped(3), refunded("refund 1", 500)].map(|happened| event(of_shop, &[happened]));
    // Each is said at both, the refund at the same time.
    for gateway in [there, here] {
        assert_eq!(told(gateway, &parcel).status, 200);
    }
    thread::scope(|scope| {
        let said = [here, there].map(|gateway| scope.spawn(|| told(gateway, &refund).status));
        assert!(said.map(|said| said.join().expect("no panic")).iter().all(|status| *status == 200));
    });
    let heard = receiver.after(3);
    assert_eq!(heard[2].json()["adjustments"][0]["status"], "completed", "{}", heard[2].json());
    for gateway in [here, there] {
        let shown = shopper.at(gateway).call("get_order", Some(&order), &json!({})).document();
        let counts = ["events", "adjustments"].map(|list| {
            let of = if list == "events" { &shown["fulfillment"] } else { &shown };
            of[list].as_array().map(Vec::len)
        });
        assert_eq!(counts, [Some(1), Some(1)], "{shown}");
    }
    assert_eq!(receiver.deliveries().len(), 3);
}

#[test]
fn an_event_of_one_of_several_shops_reaches_its_own_orders_alone() {
    let vases = [Vases::start(PLACES), Vases::start(PLACES)];
    let shops: String = ["one", "two"]
        .iter()
        .zip(&vases)
        .map(|(name, vases)| {
            format!(
                "[[shop]]\nname = \"{name}\"\nhosts = [\"{name}.localhost\"]\n[shop.upstream]\nbackend = \"http\"\n\
                 url = \"{}\"\nsigning_secret_file = \"{name}\"\n",
                vases.server.url("")
            )
        })
        .collect();
    let data = folder();
    let gateway = Setup::new(&format!("[limits]\nunverified = \"none\"\n{shops}"))
        .file("one", "secret-of-the-shop-one")
        .file("two", "secret-of-the-shop-two")
        .spawn("127.0.0.1:0", data.path());
    let release = Release::NEWEST;
    let shoppers = ["one.localhost", "two.localhost"]
        .map(|host| Shopper::new(&gateway, release, Transport::Rest).header("Host", host));
    let orders = shoppers.each_ref().map(|shopper| bought(shopper, release));
    // The shop names an order after the reference that it was placed with.
    let of_shop = vases.each_ref().map(|vases| {
        let requests = vases.server.requests();
        let place = requests.iter().find(|request| request.uri().path() == "/place").expect("an order");
        let asked: Value = serde_json::from_slice(place.body()).expect("JSON");
        format!("O-{}", asked["reference"].as_str().expect("a reference"))
    });
    let status = |number: usize| {
        let shown = shoppers[number].call("get_order", Some(&orders[number]), &json!({})).document();
        shown["line_items"][0]["status"].clone()
    };
    let parcel = event(&of_shop[0], &[shipped(3)]);
    // The other shop's secret is none of this one, and its events are about its own orders.
    assert_eq!(told_to(&gateway, "one.localhost", "secret-of-the-shop-two", &parcel).status, 401);
    assert_eq!(told_to(&gateway, "two.localhost", "secret-of-the-shop-two", &parcel).status, 200);
    assert_eq!([status(0), status(1)], ["processing", "processing"]);
    assert_eq!(told_to(&gateway, "one.localhost", "secret-of-the-shop-one", &parcel).status, 200);
    assert_eq!([status(0), status(1)], ["fulfilled", "processing"]);
}

#[test]
fn an_order_that_the_buyer_placed_on_the_page_of_a_shop_is_found() {
    for transport in Transport::ALL {
        let vases = Vases::start(HANDS_OFF);
        let data = folder();
        let gateway = setup(&vases).spawn("127.0.0.1:0", data.path());
        let shopper = Shopper::new(&gateway, Release::NEWEST, transport);
        let wanted = json!({ "line_items": lines(&[("vase-1", 3)]), "buyer": { "email": "buyer@example.com" } });
        let [checkout, unseen] = [shopper.create(&wanted), shopper.create(&wanted)];
        assert_eq!(checkout["continue_url"], "https://vases.example/cart-1", "{checkout}");
        let looked_at = |checkout: &Value| shopper.call("get_checkout", Some(id(checkout)), &json!({})).document();
        assert_ne!(looked_at(&checkout)["status"], "completed");
        vases.now(|books| books.paid = true);
        let completed = eventually("the order to be found", PATIENCE, || {
            Some(looked_at(&checkout)).filter(|checkout| checkout["status"] == "completed")
        });
        assert_eq!(completed["order"]["label"], "No. 1", "{completed}");
        let link = completed["order"]["permalink_url"].as_str().expect("a link");
        let path = link.find("/order/").map(|at| &link[at..]).expect("our page");
        assert_eq!(gateway.send("GET", path, &[], b"").status, 200);
        // Nobody has to look: the agenda asks, too.
        let asked = admin(&gateway, "POST", &format!("/tasks/find_order/{}/retry", id(&unseen)));
        assert_eq!(asked.status, 200, "{asked:?}");
        eventually("the other order to be found", PATIENCE, || {
            let orders = admin(&gateway, "GET", "/orders").json();
            (orders.as_array().map(Vec::len) == Some(2)).then_some(())
        });
    }
}

/// A mapped shop whose buyers pay on its page, which knows an order by its cart, and has events of its own.
const MAPPING: &str = r#"
[market]
name = "Vases"
currency = "EUR"
language = "en"
[source.shop]
address = "ADDRESS"
[find]
answer = "{products: []}"
[resolve]
answer = '{products: [$question.ids[] | {id: "vase", title: ., description: {plain: .}, variants: [{id: ., digital: true, price: {amount: 1000, currency: "EUR"}}]}]}'
[cart]
completion = "hand_off"
[cart.sync]
answer = '''
{
  cart: ($question.cart // ("c-" + $question.reference)), currency: "EUR", continue_url: "https://vases.example/pay",
  lines: [$question.lines[] | {variant, quantity, price: 1000}], total: (1000 * ([$question.lines[].quantity] | add))
}
'''
[cart.fetch]
answer = '{cart: $question.cart, currency: "EUR", continue_url: "https://vases.example/pay", total: 3000, lines: [{variant: "vase-1", quantity: 3, price: 1000}]}'
[cart.abandon]
answer = "null"
[[order.step]]
name = "found"
path = "orders?cart={$question.cart}"
[order]
answer = '''
if $found == [] then {status: "absent"} else $found[0] | {status: "placed", order: {id, label: .number}, bought: {
  currency: "EUR", total: .paid, placed_at: "2026-01-02T03:04:05Z",
  lines: [{variant: "vase-1", title: "Vase", quantity: 2, price: 1000}],
}} end
'''
[order_event.signature]
header = "X-Vases-Signature"
secret = "SHOP_SECRET"
prefix = "v1="
[order_event.translate]
answer = '''
if $question.headers["x-vases-topic"] != "parcel" then null
else $question.body | {order: {id: .order}, currency: "EUR", events: [{id: .parcel, kind: "shipped", at: .sent}]} end
'''
"#;

#[test]
fn a_mapped_shop_is_asked_for_orders_and_its_events_are_translated() {
    let paid = Arc::new(Mutex::new(false));
    let known = Arc::clone(&paid);
    let server = Server::start(move |request| {
        assert!(request.uri().query().is_some_and(|query| query.starts_with("cart=c-")), "{:?}", request.uri());
        let paid = *known.lock().unwrap_or_else(PoisonError::into_inner);
        Answer::json(&if paid { json!([{ "id": "O-9", "number": "9", "paid": 2_000 }]) } else { json!([]) })
    });
    let setup = Setup::new("[limits]\nunverified = \"none\"\n[upstream]\nmapping_file = \"shop.toml\"\n")
        .file("shop.toml", &MAPPING.replace("ADDRESS", &server.url("/")))
        .arguments(&["--backend", "mapped"])
        .variable("SHOP_SECRET", SECRET);
    let gateway = setup.start_on(folder());
    let shopper = Shopper::rest(&gateway);
    let wanted = json!({ "line_items": lines(&[("vase-1", 3)]), "buyer": { "email": "buyer@example.com" } });
    let checkout = shopper.create(&wanted);
    *paid.lock().unwrap_or_else(PoisonError::into_inner) = true;
    let completed = eventually("the order to be found", PATIENCE, || {
        let checkout = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
        Some(checkout).filter(|checkout| checkout["status"] == "completed")
    });
    assert_eq!(crate::purchase::shopper::total(&completed, "total"), 2_000, "what was bought: {completed}");
    let order = completed["order"]["id"].as_str().expect("an order").to_owned();
    let body = json!({ "order": "O-9", "parcel": "p1", "sent": "2026-01-03T03:04:05Z" }).to_string();
    let tell = |topic: &str, signature: &str| {
        let headers =
            [("Content-Type", "application/json"), ("X-Vases-Topic", topic), ("X-Vases-Signature", signature)];
        gateway.send("POST", PATH, &headers, body.as_bytes()).status
    };
    let signature = format!("v1={}", hmac_of(&body));
    for forged in ["", "v1=", &hmac_of(&body), &signature.replace("v1=", "v2="), &format!("v1={}", hmac_of("other"))] {
        assert_eq!(tell("parcel", forged), 401, "{forged}");
    }
    assert_eq!(tell("newsletter", &signature), 200, "it is nothing to the gateway");
    let shown = || shopper.call("get_order", Some(&order), &json!({})).document();
    assert_eq!(shown()["line_items"][0]["status"], "processing");
    for _ in 0..2 {
        assert_eq!(tell("parcel", &signature), 200);
    }
    let shown = shown();
    assert_eq!(shown["line_items"][0]["status"], "fulfilled", "{shown}");
    assert_eq!(shown["fulfillment"]["events"].as_array().map(Vec::len), Some(1), "{shown}");
}
