//! The shim for the conformance suite (`tests/conformance`): what the suite expects beyond the protocol is answered in
//! front of a gateway, and by the gateway itself as the protocol says.

use std::{
    net::{SocketAddr, TcpListener},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use conformance_shim::{Options, Release};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use ucp_testkit::server::Answer;

use crate::{
    harness::{Gateway, Lent, Runs, Shared, elements, flower_shop, repository},
    platforms::host::{Host, Page},
    purchase::webhooks::receiver::Receiver,
    setup::{Configured, Setup},
    signatures::keys,
    wire::{Connection, Response, request},
};

const SECRET: &str = "for-the-suite-only";

const ADMIN_TOKEN: &str = "0123456789abcdef0123456789abcdef01234567";

/// A flower shop behind a shim, and a platform that declares nothing but that it wants to hear of orders.
struct Stage {
    gateway: Configured,
    shim: SocketAddr,
    agent: String,
    _host: Host,
}

impl Stage {
    fn open(secret: Option<&str>) -> Self {
        Self::hearing(&json!({}), secret)
    }

    /// The same with a configuration of the capability that says where orders are heard of.
    fn hearing(config: &Value, secret: Option<&str>) -> Self {
        Self::speaking(Release::V2026_01_11, config, secret)
    }

    /// The same in a release.
    fn speaking(release: Release, config: &Value, secret: Option<&str>) -> Self {
        let host = Host::start();
        let order = json!({ "name": "dev.ucp.shopping.order", "version": release.date(), "config": config });
        let capabilities =
            if release == Release::V2026_01_11 { json!([order]) } else { json!({ "dev.ucp.shopping.order": [order] }) };
        let profile = json!({ "ucp": { "version": release.date(), "capabilities": capabilities } });
        let profile = host.put("/profile.json", Page::json(&profile));
        let configuration = std::fs::read_to_string(repository().join("tests/conformance/gateway.toml"));
        let data = flower_shop();
        keys(&["generate"], data.path());
        let gateway = Setup::new(&configuration.expect("a configuration"))
            .variable("UCP_GATEWAY_ADMIN_TOKEN", ADMIN_TOKEN)
            .start_on(data);
        let shim = shim(&gateway, release, secret);
        Self { gateway, shim, agent: format!("profile=\"{profile}\""), _host: host }
    }

    /// One for all tests.
    fn shared() -> Lent<Self> {
        static SHARED: Shared<Stage> = Shared::new();
        SHARED.get(|| Self::open(Some(SECRET)))
    }

    fn send(&self, method: &str, path: &str, body: &Value, more: &[(&str, &str)]) -> Response {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let key = format!("suite-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.send_under(&key, method, path, body, more)
    }

    fn send_under(&self, key: &str, method: &str, path: &str, body: &Value, more: &[(&str, &str)]) -> Response {
        let own = [("Content-Type", "application/json"), ("UCP-Agent", &*self.agent), ("Idempotency-Key", key)];
        let own = own.iter().filter(|(name, _)| more.iter().all(|(other, _)| other != name)).copied();
        let headers: Vec<_> = own.chain(more.iter().copied()).collect();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut connection = Connection::open(self.shim);
        connection.write(&request(method, path, &headers, body.as_bytes()));
        connection.read().unwrap_or_else(|| panic!("{method} {path} gets an answer: {}", self.gateway.stderr()))
    }

    /// Result of a request that is carried out.
    fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let response = self.send(method, path, body, &[]);
        assert!((200..300).contains(&response.status), "{method} {path}: {response:?}");
        response.json()
    }

    /// A request that is refused with this status, and a text that says so.
    fn refused(&self, method: &str, path: &str, body: &Value, status: u16, detail: &str) {
        let response = self.send(method, path, body, &[]);
        assert_eq!(response.status, status, "{response:?}");
        let body = response.json();
        assert!(body["detail"].as_str().is_some_and(|text| text.contains(detail)), "`{detail}` in {body}");
    }

    /// A checkout that can be completed.
    fn ready(&self, buyer: &Value) -> Value {
        let checkout = self.done("POST", CHECKOUTS, &wanted(json!({ "buyer": buyer, "fulfillment": sent("US") })));
        assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
        checkout
    }

    /// The identifier of an order.
    fn order(&self) -> String {
        let checkout = self.ready(&json!({ "email": "somebody@example.com" }));
        let completed = self.done("POST", &complete(&checkout), &paying("success_token"));
        assert_eq!(completed["status"], "completed");
        completed["order"]["id"].as_str().expect("an order").to_owned()
    }
}

impl Runs for Stage {
    fn gateways(&self) -> Vec<&Gateway> {
        vec![&self.gateway]
    }
}

/// Starts a shim in front of a gateway. It ends with the process.
fn shim(gateway: &Gateway, release: Release, secret: Option<&str>) -> SocketAddr {
    static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));
    let admin = gateway.welcome.iter().find_map(|line| line.trim_start().strip_prefix("admin")).expect("an address");
    let options = Options {
        release,
        gateway: format!("http://{}", gateway.address).parse().expect("an address"),
        admin: admin.trim().parse().expect("an address"),
        admin_token: ADMIN_TOKEN.to_owned(),
        simulation_secret: secret.map(str::to_owned),
    };
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.set_nonblocking(true).expect("an option of every socket");
    let address = listener.local_addr().expect("an address");
    RUNTIME.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener).expect("a listener");
        conformance_shim::serve(listener, options).await.expect("it serves");
    });
    address
}

const CHECKOUTS: &str = "/checkout-sessions";

/// A bouquet of roses, and more.
fn wanted(more: Value) -> Value {
    let mut request = json!({
        "line_items": [{ "item": { "id": "bouquet_roses", "title": "What it is not called" }, "quantity": 1 }],
        "currency": "USD",
        "payment": { "instruments": [], "handlers": [] },
    });
    let Value::Object(more) = more else { panic!("an object") };
    request.as_object_mut().expect("an object").extend(more);
    request
}

/// Delivery to a country.
fn sent(country: &str) -> Value {
    json!({ "methods": [{
        "type": "shipping",
        "destinations": [{ "id": "there", "address_country": country }],
        "selected_destination_id": "there",
        "groups": [{ "selected_option_id": "std-ship" }],
    }] })
}

fn paying(token: &str) -> Value {
    paying_by("mock_payment_handler", json!({ "type": "token", "token": token }))
}

fn paying_by(handler: &str, credential: Value) -> Value {
    let mut card = json!({ "id": "i", "type": "card", "brand": "Visa", "last_digits": "1111" });
    card["handler_id"] = handler.into();
    card["credential"] = credential;
    json!({ "payment_data": card, "risk_signals": {} })
}

fn path(checkout: &Value) -> String {
    format!("{CHECKOUTS}/{}", checkout["id"].as_str().expect("an id"))
}

fn complete(checkout: &Value) -> String {
    format!("{}/complete", path(checkout))
}

#[test]
fn the_root_presents_the_first_release_with_what_the_suite_looks_for() {
    let stage = Stage::shared();
    let profile = stage.done("GET", "/.well-known/ucp", &Value::Null);
    assert_eq!(profile["ucp"]["version"], "2026-01-11");
    let rest = &profile["ucp"]["services"]["dev.ucp.shopping"]["rest"];
    assert_eq!(rest["endpoint"], format!("http://{}", stage.shim));
    let named = |list: &Value, member: &str| -> Vec<String> {
        elements(list).iter().map(|entry| entry[member].as_str().expect("a name").to_owned()).collect()
    };
    let capabilities = named(&profile["ucp"]["capabilities"], "name");
    for name in ["checkout", "order", "discount", "fulfillment", "buyer_consent"] {
        let name = format!("dev.ucp.shopping.{name}");
        assert_eq!(capabilities.iter().filter(|own| **own == name).count(), 1, "{name} in {capabilities:?}");
    }
    let mut handlers = named(&profile["payment"]["handlers"], "id");
    handlers.sort();
    assert_eq!(handlers, ["google_pay", "mock_payment_handler", "shop_pay"]);
}

#[test]
fn later_releases_are_spoken_as_their_state_of_the_suite_does() {
    for release in [Release::V2026_01_23, Release::V2026_04_08] {
        let receiver = Receiver::start([]);
        let stage = Stage::speaking(release, &json!({ "webhook_url": receiver.url() }), Some(SECRET));
        let newest = release == Release::V2026_04_08;
        let profile = stage.done("GET", "/.well-known/ucp", &Value::Null);
        let [service] = elements(&profile["ucp"]["services"]["dev.ucp.shopping"]) else { panic!("{profile}") };
        assert_eq!(
            (&service["transport"], &service["endpoint"]),
            (&json!("rest"), &json!(format!("http://{}", stage.shim)))
        );
        assert_eq!(profile.get("version").is_some(), !newest, "{profile}");

        let none = json!({ "line_items": [{ "item": { "id": "gardenias" }, "quantity": 1 }] });
        let missing = stage.send("POST", CHECKOUTS, &none, &[]);
        assert_eq!(missing.json().get("detail").is_some(), !newest, "{missing:?}");
        assert_eq!(missing.status < 300, newest, "{missing:?}");

        // Identifiers are those of the sample server.
        let mut stated = wanted(json!({ "fulfillment": sent("US") }));
        let begun = stage.done("POST", CHECKOUTS, &stated);
        assert_eq!(begun["payment"]["instruments"], json!([]), "{begun}");
        let method = &mut stated["fulfillment"]["methods"][0];
        method["line_item_ids"] = json!(["item_123"]);
        method["groups"] = json!([{ "id": "group_1", "selected_option_id": "exp-ship-us" }]);
        method["destinations"][0]["id"] = json!("");
        method.as_object_mut().expect("an object").remove("selected_destination_id");
        let updated = stage.done("PUT", &path(&begun), &stated);
        let group = &updated["fulfillment"]["methods"][0]["groups"][0];
        assert_eq!(group["selected_option_id"], "exp-ship-us", "{updated}");
        assert_ne!(updated["fulfillment"]["methods"][0]["destinations"][0]["id"], "");

        let number = json!({ "type": "card", "card_number_type": "fpan", "number": "4242424242424242", "cvc": "123" });
        let instrument =
            json!({ "id": "i", "handler_id": "mock_payment_handler", "type": "card", "credential": number });
        let paid = stage.done("POST", &complete(&begun), &json!({ "payment": { "instruments": [instrument] } }));
        let order_path = format!("/orders/{}", paid["order"]["id"].as_str().expect("an order"));
        let mut order = stage.done("GET", &order_path, &Value::Null);
        assert_eq!(order["checkout_id"], begun["id"]);
        order["adjustments"] = json!([{
            "id": "adj_suite", "type": "refund", "occurred_at": "2026-01-03T03:04:05Z", "status": "pending", "amount": 500,
        }]);
        let changed = stage.done("PUT", &order_path, &order);
        assert_eq!(changed["adjustments"][0]["amount"], 500, "{changed}");
        let told = &receiver.after(1)[0];
        let event = told.headers.get("x-event-type").and_then(|event| event.to_str().ok());
        assert_eq!(event, newest.then_some("order_placed"));
        let body = told.json();
        let shown = if newest { &body } else { &body["order"] };
        assert_eq!((&body["checkout_id"], &shown["id"]), (&begun["id"], &order["id"]), "{body}");
        assert_eq!(stage.send("GET", "/orders/ord_x", &Value::Null, &[]).status, if newest { 200 } else { 404 });
    }
}

#[test]
fn everything_is_active_whatever_a_platform_declares_and_whatever_it_calls_itself() {
    let stage = Stage::shared();
    let request = wanted(json!({ "discounts": { "codes": ["10OFF"] }, "fulfillment": sent("US") }));
    let checkout = stage.done("POST", CHECKOUTS, &request);
    assert_eq!(checkout["discounts"]["applied"][0]["code"], "10OFF");
    assert!(checkout["fulfillment"]["methods"][0]["groups"][0]["options"].is_array());
    for (agent, status) in [
        (r#"profile="...""#, 201),
        (r#"profile="..."; version="2026-01-11""#, 201),
        (r#"profile="..."; version="2099-01-01""#, 400),
    ] {
        let response = stage.send("POST", CHECKOUTS, &request, &[("UCP-Agent", agent)]);
        assert_eq!(response.status, status, "{agent}: {response:?}");
    }
}

#[test]
fn what_cannot_be_bought_is_refused_as_a_whole() {
    let stage = Stage::shared();
    let of =
        |item: &str, quantity: u64| wanted(json!({ "line_items": [{ "item": { "id": item }, "quantity": quantity }] }));
    stage.refused("POST", CHECKOUTS, &of("gardenias", 1), 400, "Insufficient stock");
    stage.refused("POST", CHECKOUTS, &of("no_such_flower", 1), 400, "Product not found");
    stage.refused("POST", CHECKOUTS, &of("bouquet_roses", 100_000), 400, "Insufficient stock");
    let checkout = stage.done("POST", CHECKOUTS, &of("bouquet_roses", 2));
    stage.refused("PUT", &path(&checkout), &of("bouquet_roses", 100_000), 400, "Insufficient stock");
    assert_eq!(stage.done("GET", &path(&checkout), &Value::Null)["line_items"][0]["quantity"], 2, "nothing changed");
}

#[test]
fn a_purchase_is_completed_or_refused() {
    let stage = Stage::shared();
    let homeless = stage.done("POST", CHECKOUTS, &wanted(json!({})));
    stage.refused(
        "POST",
        &complete(&homeless),
        &paying("success_token"),
        400,
        "Fulfillment address and option must be selected",
    );
    let checkout = stage.ready(&json!({ "email": "payer@example.com" }));
    let failing = paying("fail_token");
    let first = stage.send_under("fails-twice", "POST", &complete(&checkout), &failing, &[]);
    let again = stage.send_under("fails-twice", "POST", &complete(&checkout), &failing, &[]);
    assert_eq!((first.status, again.status), (402, 402), "{first:?}");
    assert_eq!(first.body, again.body);
    let number = json!({ "type": "card", "card_number_type": "fpan", "number": "4242424242424242", "cvc": "123" });
    let paid = stage.done("POST", &complete(&checkout), &paying_by("mock_payment_handler", number));
    assert_eq!(paid["status"], "completed");
    assert!(!paid.to_string().contains("4242424242424242"));
    for handler in ["google_pay", "shop_pay"] {
        let checkout = stage.ready(&json!({ "email": "payer@example.com" }));
        let token = json!({ "type": "token", "token": "success_token" });
        let mut payment = paying_by(handler, token);
        // Proof of what was agreed is of another extension, and left alone.
        payment["ap2"] = json!({ "checkout_mandate": "a.b.c~d" });
        assert_eq!(stage.done("POST", &complete(&checkout), &payment)["status"], "completed", "{handler}");
    }
    let late = stage.send("POST", &complete(&checkout), &paying("success_token"), &[]);
    assert_eq!(late.status, 409, "{late:?}");
}

#[test]
fn a_buyer_stays_and_new_addresses_are_remembered() {
    let stage = Stage::shared();
    let checkout = stage.done("POST", CHECKOUTS, &wanted(json!({ "buyer": { "email": "newcomer@example.com" } })));
    let address = json!({ "street_address": "5 Elm St", "address_locality": "Here", "address_country": "US" });
    let deliver = |method: Value| wanted(json!({ "fulfillment": { "methods": [method] } }));
    let stated = deliver(json!({ "type": "shipping", "destinations": [address] }));
    let updated = stage.done("PUT", &path(&checkout), &stated);
    assert_eq!(updated["buyer"]["email"], "newcomer@example.com");
    let id = &updated["fulfillment"]["methods"][0]["destinations"][0]["id"];
    assert!(id.is_string(), "{updated}");

    let bare = deliver(json!({ "type": "shipping" }));
    let destinations = |email: &str| {
        let checkout = stage.done("POST", CHECKOUTS, &wanted(json!({ "buyer": { "email": email } })));
        let updated = stage.done("PUT", &path(&checkout), &bare);
        elements(updated["fulfillment"]["methods"][0].get("destinations").unwrap_or(&json!([]))).to_vec()
    };
    let remembered = destinations("NEWCOMER@example.com");
    assert_eq!((remembered.len(), &remembered[0]["id"]), (1, id));
    assert!(destinations("stranger@example.com").is_empty());
    assert_eq!(destinations("john.doe@example.com")[0]["id"], "addr_1", "what the shop has stored is still there");
}

#[test]
fn orders_can_be_looked_at_and_added_to() {
    let stage = Stage::shared();
    let order_path = format!("/orders/{}", stage.order());
    let mut order = stage.done("GET", &order_path, &Value::Null);
    let line = order["line_items"][0].clone();
    assert_eq!(line["quantity"]["total"], 1);
    assert_eq!(order["fulfillment"]["expectations"].as_array().map(Vec::len), Some(1));
    order["fulfillment"]["events"] = json!([{
        "id": "evt_suite", "type": "shipped", "occurred_at": "2026-01-02T03:04:05.678+00:00",
        "line_items": [{ "id": line["id"], "quantity": 1 }], "tracking_number": "T1", "description": "On its way",
    }]);
    order["adjustments"] = json!([{
        "id": "adj_suite", "type": "refund", "occurred_at": "2026-01-03T03:04:05Z", "status": "pending", "amount": 500,
        "line_items": [{ "id": line["id"], "quantity": 1 }],
    }]);
    for _ in 0..2 {
        let added = stage.done("PUT", &order_path, &order);
        assert_eq!(added["fulfillment"]["events"].as_array().map(Vec::len), Some(1), "it is not added twice");
        assert_eq!(added["fulfillment"]["events"][0]["tracking_number"], "T1");
        assert_eq!(added["line_items"][0]["status"], "fulfilled");
        assert_eq!(added["adjustments"].as_array().map(Vec::len), Some(1));
        assert_eq!(
            (&added["adjustments"][0]["amount"], &added["adjustments"][0]["line_items"][0]["quantity"]),
            (&json!(500), &json!(1))
        );
        assert_eq!(added, stage.done("GET", &order_path, &Value::Null));
    }
    for (member, value) in [
        (
            "adjustments",
            json!([{ "id": "a", "type": "refund", "occurred_at": "2026-01-03T03:04:05Z", "status": "odd" }]),
        ),
        ("adjustments", json!({ "id": "a" })),
        ("adjustments", json!([{ "id": "a", "type": "refund", "occurred_at": "soon", "status": "failed" }])),
        ("fulfillment", json!({ "events": [{ "id": "e" }] })),
        (
            "fulfillment",
            json!({ "events": [{
                "id": "e", "type": "shipped", "occurred_at": "2026-01-03T03:04:05Z",
                "line_items": [{ "id": line["id"], "quantity": 7 }],
            }] }),
        ),
    ] {
        let mut wrong = order.clone();
        wrong[member] = value;
        stage.refused("PUT", &order_path, &wrong, 422, "");
    }
    stage.refused("GET", "/orders/ord_unknown", &Value::Null, 404, "");
    let stranger = [("UCP-Agent", r#"profile="...""#)];
    assert_eq!(stage.send("GET", &order_path, &Value::Null, &stranger).status, 404, "orders of others do not exist");
    assert_eq!(stage.send("PUT", &order_path, &order, &stranger).status, 404);
}

#[test]
fn shipping_is_simulated_for_those_who_know_the_secret() {
    let stage = Stage::shared();
    let id = stage.order();
    let simulation = format!("/testing/simulate-shipping/{id}");
    for wrong in [&[][..], &[("Simulation-Secret", "for-the-suite-onlY")], &[("Simulation-Secret", "")]] {
        let response = stage.send("POST", &simulation, &Value::Null, wrong);
        assert_eq!(response.status, 403, "{response:?}");
        assert!(!response.body.contains(SECRET));
    }
    let order = format!("/orders/{id}");
    assert_eq!(
        stage.done("GET", &order, &Value::Null)["fulfillment"].get("events").cloned().unwrap_or(json!([])),
        json!([])
    );
    let knowing = [("Simulation-Secret", SECRET)];
    assert_eq!(stage.send("POST", &simulation, &Value::Null, &knowing).status, 200);
    assert_eq!(stage.done("GET", &order, &Value::Null)["fulfillment"]["events"][0]["type"], "shipped");
    let nothing_left = stage.send("POST", &simulation, &Value::Null, &knowing);
    assert_eq!(nothing_left.status, 422, "{nothing_left:?}");
    assert_eq!(stage.send("POST", "/testing/simulate-shipping/ord_x", &Value::Null, &knowing).status, 404);
}

#[test]
fn the_suite_is_told_of_its_orders_in_its_own_form_without_a_key_and_once() {
    // The first one fails, and what is told later must not be mixed up with it.
    let receiver = Receiver::start([Answer::status(500)]);
    let stage = Stage::hearing(&json!({ "webhook_url": receiver.url() }), Some(SECRET));
    let failed = stage.order();
    receiver.after(1);
    let checkout = stage.ready(&json!({ "email": "somebody@example.com" }));
    let completed = stage.done("POST", &complete(&checkout), &paying("success_token"));
    let order = completed["order"]["id"].as_str().expect("an order");
    receiver.after(2);
    let path = format!("/orders/{order}");
    let mut changed = stage.done("GET", &path, &Value::Null);
    changed["adjustments"] = json!([{
        "id": "adj_suite", "type": "refund", "occurred_at": "2026-01-03T03:04:05Z", "status": "pending", "amount": 5,
    }]);
    stage.done("PUT", &path, &changed);
    let simulation = format!("/testing/simulate-shipping/{order}");
    assert_eq!(stage.send("POST", &simulation, &Value::Null, &[("Simulation-Secret", SECRET)]).status, 200);
    let deliveries = receiver.after(3);
    assert!(deliveries.iter().all(|delivery| !delivery.headers.contains_key("request-signature")));
    let [first, placed, shipped] = [0, 1, 2].map(|number| deliveries[number].json());
    assert_eq!((deliveries.len(), &first["order"]["id"]), (3, &json!(failed)), "nobody is told of the refund");
    for (body, event) in [(&placed, "order_placed"), (&shipped, "order_shipped")] {
        assert_eq!(body["event_type"], event);
        assert_eq!((&body["checkout_id"], &body["order"]["id"]), (&checkout["id"], &json!(order)));
    }
    assert_eq!(placed["order"]["fulfillment"]["expectations"][0]["destination"]["address_country"], "US");
    assert_eq!(shipped["order"]["fulfillment"]["events"][0]["type"], "shipped");
}

#[test]
fn nothing_opens_the_simulation_when_there_is_no_secret() {
    for secret in [None, Some("")] {
        let stage = Stage::open(secret);
        for header in [&[][..], &[("Simulation-Secret", "")], &[("Simulation-Secret", "none")]] {
            assert_eq!(stage.send("POST", "/testing/simulate-shipping/ord_x", &Value::Null, header).status, 403);
        }
    }
}

#[test]
fn the_gateway_itself_answers_as_the_protocol_says() {
    let stage = Stage::open(None);
    let agent = format!("profile=\"{}\"", crate::harness::PROFILE);
    // Nothing of the shim is on the way.
    let stage = Stage { shim: stage.gateway.address, agent, ..stage };
    assert_eq!(stage.gateway.get("/.well-known/ucp").json()["ucp"]["version"], "2026-08-25");
    let testing =
        stage.send("POST", "/testing/simulate-shipping/ord_x", &Value::Null, &[("Simulation-Secret", SECRET)]);
    assert_eq!((testing.status, &testing.json()["code"]), (404, &json!("unknown_path")));
    let first = |path: &str| format!("/ucp/2026-01-11{path}");
    let checkouts = first(CHECKOUTS);
    // Rejections that the suite expects follow the protocol, at the root and at the endpoint of its version.
    let many = wanted(json!({ "line_items": [{ "item": { "id": "bouquet_roses" }, "quantity": 100_000 }] }));
    for endpoint in ["", "/ucp/2026-01-11"] {
        let cut = stage.done("POST", &format!("{endpoint}{CHECKOUTS}"), &many);
        assert_eq!(cut["line_items"][0]["quantity"], 1_000);
    }
    let none = wanted(json!({ "line_items": [{ "item": { "id": "gardenias" }, "quantity": 1 }] }));
    assert_eq!(stage.send("POST", &checkouts, &none, &[]).json().get("detail"), None);
    let checkout = stage.done("POST", &checkouts, &wanted(json!({ "fulfillment": sent("US") })));
    let failed = stage.done("POST", &first(&complete(&checkout)), &paying("fail_token"));
    assert_eq!((&failed["status"], &failed["messages"][0]["code"]), (&json!("incomplete"), &json!("payment_failed")));
    let number = json!({ "type": "card", "number": "4242424242424242" });
    let number = stage.done("POST", &first(&complete(&checkout)), &paying_by("mock_payment_handler", number));
    assert_ne!(number["status"], "completed");
    let homeless = stage.done("POST", &checkouts, &wanted(json!({ "buyer": { "email": "b@example.com" } })));
    let incomplete = stage.done("POST", &first(&complete(&homeless)), &paying("success_token"));
    assert_eq!(incomplete["status"], "incomplete");
    let replaced = stage.done("PUT", &first(&path(&homeless)), &wanted(json!({})));
    assert_eq!(replaced.get("buyer"), None, "an update replaces the buyer, too");
    let paid = stage.done("POST", &first(&complete(&checkout)), &paying("success_token"));
    let order = format!("/orders/{}", paid["order"]["id"].as_str().expect("an order"));
    assert_eq!(stage.send("PUT", &order, &json!({}), &[]).status, 405);
    assert_eq!(stage.send("GET", &first(&order), &Value::Null, &[]).status, 404);
}
