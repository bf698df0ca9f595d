//! Platforms are told about their orders, whatever becomes of either side (rules WHK-01 to WHK-03, SIG-10, SEC-03,
//! T-32).

mod addresses;
pub(crate) mod receiver;
mod snapshots;

use std::{path::Path, process::Output, time::Duration};

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::server::Answer;
use ucp_trust::{
    api_key::ApiKey,
    jwk::{PublicKey, read_document},
    signature::{Message, RequestLine, Scheme, Signed, Start},
};

use self::receiver::{Delivery, Receiver};
use super::shopper::{Shopper, id, ready};
use crate::{
    harness::{Ends as _, Gateway, binary, eventually, flower_shop, folder},
    platforms::host::{Canary, Host, profile_with},
    setup::{Configured, REQUIRE, Setup, Transport},
    signatures::keys,
};

/// Gateway that accepts purchases from profiles on this machine.
pub(crate) fn open() -> String {
    REQUIRE.replace("\"require\"", "\"development\"")
}

/// The capability that says where a platform wants to hear.
const ORDER: &str = "dev.ucp.shopping.order";

/// The profile of a platform that speaks a release and wants to hear at an address.
pub(crate) fn profile(release: Release, webhook: Option<&str>) -> Value {
    let capabilities = ["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", ORDER];
    let mut profile = profile_with(release, &capabilities);
    let config = webhook.map_or(json!({}), |url| json!({ "webhook_url": url }));
    match &mut profile["ucp"]["capabilities"] {
        Value::Array(list) => list[2]["config"] = config,
        named => named[ORDER][0]["config"] = config,
    }
    profile
}

/// A flower shop that signs, and where its platforms are.
struct WebhookSetup {
    gateway: Configured,
    host: Host,
    keys: Vec<PublicKey>,
}

impl WebhookSetup {
    fn open() -> Self {
        Self::with(&open())
    }

    fn with(configuration: &str) -> Self {
        Self::selling(configuration, "flower-shop")
    }

    /// The same with another sample.
    fn selling(configuration: &str, sample: &str) -> Self {
        let data = if sample == "flower-shop" { flower_shop() } else { folder() };
        keys(&["generate"], data.path());
        let (gateway, host) =
            (Setup::new(configuration).arguments(&["--sample", sample]).start_on(data), Host::start());
        let published = gateway.get("/.well-known/ucp").json();
        let keys = read_document(&published, &mut Vec::new()).expect("keys");
        Self { gateway, host, keys }
    }

    /// An order of a platform with this profile; its identifier.
    fn order(&self, release: Release, profile: &str) -> String {
        let shopper = Shopper::new(&self.gateway, release, Transport::Rest).named(profile);
        self.bought(&shopper, &ready(&[("pot_ceramic", 2)]))
    }

    /// An order of these contents; its identifier.
    fn bought(&self, shopper: &Shopper<'_>, wanted: &Value) -> String {
        let completed = shopper.complete(&shopper.create(wanted), "success_token");
        assert_eq!(completed["status"], "completed", "{completed}");
        let order = completed.get("order").map_or_else(|| completed["order_id"].as_str(), |order| order["id"].as_str());
        order.unwrap_or_else(|| panic!("an order: {completed}")).to_owned()
    }

    /// Another gateway on the same directory, in the place of one that was killed.
    fn start_again(&self) -> Gateway {
        let setup = Setup::new(&open());
        let mut command = setup.command("serve");
        command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(self.gateway.data());
        Gateway::spawn(&command, None)
    }

    /// A platform that wants to hear at a receiver; the address of its profile.
    fn platform(&self, name: &str, release: Release, receiver: &Receiver) -> String {
        self.host.profile(&format!("/{name}"), &profile(release, Some(&receiver.url())))
    }

    fn run(&self, arguments: &[&str]) -> Output {
        run(self.gateway.data(), arguments)
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let Output { status, stdout, stderr } = self.run(&[arguments, &["--json"]].concat());
        assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
        serde_json::from_slice(&stdout).expect("JSON")
    }

    /// The webhooks, once the last one is in this state.
    fn until(&self, state: &str) -> Value {
        eventually(state, Duration::from_secs(60), || {
            let all = listed(|| self.json(&["webhooks", "list"]));
            Some(all).filter(|all| all[0]["state"] == state)
        })
    }

    /// Checks by the signature that a delivery is from this shop.
    #[track_caller]
    fn verified(&self, delivery: &Delivery) {
        let signed = Signed::read(&delivery.headers).expect("readable").expect("signed");
        let (path, query) = delivery.path.split_once('?').expect("a query");
        let (authority, query) = (delivery.header("host"), Some(query));
        let line = RequestLine { method: "POST", scheme: Scheme::Http, authority, path, query };
        let message = Message { start: Start::Request(line), headers: &delivery.headers };
        let verified = signed.verify(&message, &delivery.body, &self.keys, crate::signatures::now());
        verified.unwrap_or_else(|refusal| panic!("{refusal}: {:?}", delivery.headers));
        assert_eq!(delivery.header("idempotency-key"), delivery.header("webhook-id"));
        for name in
            ["webhook-id", "idempotency-key", "webhook-timestamp", "ucp-agent", "content-type", "content-digest"]
        {
            assert!(delivery.header("signature-input").contains(&format!("\"{name}\"")), "{name} is covered");
        }
    }
}

/// List of a command that is run again and again. Without a pause, the machine would do little else.
fn listed(list: impl FnOnce() -> Value) -> Value {
    std::thread::sleep(Duration::from_millis(200));
    list()
}

/// Output of a command on a data directory.
fn run(data: &Path, arguments: &[&str]) -> Output {
    binary().args(arguments).arg("--data-dir").arg(data).ends()
}

/// Checks that these are attempts of one webhook.
#[track_caller]
fn same(deliveries: &[Delivery]) {
    for again in deliveries {
        assert_eq!(again.header("webhook-id"), deliveries[0].header("webhook-id"));
        assert_eq!(again.header("webhook-timestamp"), deliveries[0].header("webhook-timestamp"));
        assert_eq!(again.body, deliveries[0].body);
    }
}

#[test]
fn whk_03_every_step_of_an_order_is_told_in_turn_and_signed() {
    let place = WebhookSetup::open();
    for release in [Release::V2026_04_08, Release::NEWEST] {
        let receiver = Receiver::start([]);
        let order = place.order(release, &place.platform(release.date(), release, &receiver));
        let tracked = ["--carrier", "Post", "--tracking-number", "T1", "--tracking-url", "https://post.example/T1"];
        place.json(&[&["orders", "ship", &order, "--line", "li_1=1"], &tracked[..]].concat());
        place.json(&["orders", "deliver", &order, "--line", "li_1=1"]);
        place.json(&["orders", "cancel", &order, "--reason", "The rest is broken"]);
        let shown = place.json(&["orders", "refund", &order, "--amount", "100", "--reason", "Sorry"]);
        assert_eq!((&shown["version"], &shown["status"]), (&json!(5), &json!("fulfilled")));
        let deliveries = receiver.after(5);
        assert_eq!(deliveries.len(), 5);
        let told: Vec<_> = deliveries.iter().map(Delivery::json).collect();
        for (delivery, body) in deliveries.iter().zip(&told) {
            place.verified(delivery);
            crate::official::check("get_order", body);
            assert_eq!(body["id"], order.as_str());
            assert!(delivery.header("ucp-agent").contains("/.well-known/ucp"));
        }
        let counts = |body: &Value| {
            let count = |list: &Value| list.as_array().map_or(0, Vec::len);
            (count(&body["fulfillment"]["events"]), count(&body["adjustments"]))
        };
        let created = counts(&told[0]).0;
        let expected = [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)].map(|(events, rest)| (created + events, rest));
        assert_eq!(told.iter().map(counts).collect::<Vec<_>>(), expected);
        // The last webhook event equals the response.
        let shopper =
            Shopper::new(&place.gateway, release, Transport::Rest).named(&place.host.url(&format!("/{release}")));
        assert_eq!(shopper.call("get_order", Some(&order), &json!({})).document(), told[4]);
    }
}

#[test]
fn older_releases_get_their_own_form_with_a_detached_signature() {
    let place = WebhookSetup::open();
    for release in [Release::V2026_01_11, Release::V2026_01_23] {
        let receiver = Receiver::start([]);
        let order = place.order(release, &place.platform(release.date(), release, &receiver));
        place.json(&["orders", "cancel", &order, "--line", "li_1=2"]);
        place.json(&["orders", "refund", &order]);
        for delivery in receiver.after(3) {
            let body = delivery.json();
            assert_eq!(body["event_id"], delivery.header("webhook-id"));
            assert!(body["created_time"].is_string(), "{body}");
            let (header, signature) = delivery.header("request-signature").split_once("..").expect("detached");
            let signed = [header.as_bytes(), b".", &delivery.body].concat();
            let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).expect("base64url");
            place.keys[0].verify(&signed, &signature).expect("holds for the body");
            if let Some(folder) = crate::harness::official(release) {
                let schema = crate::official::schema(&folder, "shopping/order.json", None);
                schema.validate(&body).unwrap_or_else(|error| panic!("{release}: {error}: {body}"));
            }
        }
    }
}

#[test]
fn whk_03_what_does_not_arrive_is_sent_again_byte_by_byte() {
    let canary = Canary::start();
    let elsewhere = format!("Location: {}", canary.url());
    let plan = [
        Answer::status(500),
        Answer::HangUp,
        Answer::Whole(307, vec![elsewhere], Vec::new()),
        Answer::Silence,
        Answer::Whole(503, vec!["Retry-After: 1".to_owned()], Vec::new()),
    ];
    let place = WebhookSetup::with(&open().replace("30000", "3000"));
    let receiver = Receiver::start(plan.clone());
    place.order(Release::NEWEST, &place.platform("p", Release::NEWEST, &receiver));
    let deliveries = receiver.after(plan.len() + 1);
    same(&deliveries);
    let all = place.until("delivered");
    assert_eq!(all[0]["attempts"], plan.len() + 1);
    canary.is_untouched();
}

#[test]
fn whk_03_a_platform_that_is_gone_is_left_alone_until_somebody_asks() {
    let place = WebhookSetup::open();
    let receiver = Receiver::start([Answer::status(410)]);
    place.order(Release::NEWEST, &place.platform("p", Release::NEWEST, &receiver));
    let all = place.until("gone");
    let webhook = all[0]["id"].as_str().expect("an identifier");
    assert!(place.run(&["webhooks", "resend", webhook]).status.success());
    same(&receiver.after(2));
    place.until("delivered");
    let wrong = place.run(&["webhooks", "resend", "nonsense"]);
    assert!(!wrong.status.success() && String::from_utf8_lossy(&wrong.stderr).contains("there is no webhook"));
    // A profile without a webhook URL gets no events.
    place.order(Release::NEWEST, &place.host.profile("/silent", &profile(Release::NEWEST, None)));
    place.until("unwanted");
}

/// Registers the platforms of these tests as one that is told in Google's way, at a receiver.
fn as_google(profile: &str, receiver: &Receiver) -> String {
    let (file, url) = ("webhook_headers_file = \"secret\"", receiver.url());
    format!(
        "{}\n[[platform]]\nname = \"Google\"\npreset = \"google\"\n{profile}\nwebhook_url = \"{url}\"\n{file}\n",
        open()
    )
}

#[test]
fn a_platform_is_told_where_and_as_the_operator_says() {
    let (receiver, key) = (Receiver::start([]), ApiKey::generate().expect("random bytes"));
    let known = as_google(&format!("api_key_hash = \"{}\"", key.hash()), &receiver);
    let data = flower_shop();
    keys(&["generate"], data.path());
    let secret = data.path().join("secret");
    std::fs::write(&secret, "X-Goog-Api-Key: hidden-value\n\nX-Partner: 5\n").expect("written");
    let known = known.replace("\"secret\"", &format!("{secret:?}"));
    let gateway = Setup::new(&known).arguments(&["--sample", "flower-shop"]).start_on(data);
    let shopper = Shopper::new(&gateway, Release::V2026_04_08, Transport::Rest).header("X-API-Key", key.reveal());
    let completed = shopper.complete(&shopper.create(&ready(&[("pot_ceramic", 2)])), "success_token");
    let order = completed["order"]["id"].as_str().expect("an order").to_owned();
    for arguments in
        [&["orders", "ship", &order, "--line", "li_1=1"][..], &["orders", "refund", &order, "--amount", "100"]]
    {
        assert!(run(gateway.data(), arguments).status.success(), "{arguments:?}");
    }
    let deliveries = receiver.after(3);
    let told: Vec<_> = deliveries.iter().map(Delivery::json).collect();
    let shipped = told[1]["fulfillment"]["events"].as_array().and_then(|events| events.last()).expect("an event");
    let entries = [&told[0]["id"], &shipped["id"], &told[2]["adjustments"][0]["id"]];
    for ((delivery, body), entry) in deliveries.iter().zip(&told).zip(entries) {
        assert_eq!(delivery.header("webhook-id"), entry.as_str().expect("an identifier"));
        assert_ne!(delivery.header("idempotency-key"), delivery.header("webhook-id"));
        assert_eq!((delivery.header("x-goog-api-key"), delivery.header("x-partner")), ("hidden-value", "5"));
        let time = delivery.header("webhook-timestamp");
        assert!(time.len() == 20 && time.ends_with('Z') && time.parse::<jiff::Timestamp>().is_ok(), "{time}");
        assert_eq!(body["ucp"]["version"], Release::V2026_04_08.date());
    }
    let shown = Setup::new(&known).run("check-config").expect("a configuration");
    for line in ["webhook_timestamp = \"rfc3339\"", "webhook_id = \"entry\"", "webhook_refusal = \"park\""] {
        assert!(shown.contains(line), "{line}: {shown}");
    }
    assert!(!shown.contains("hidden-value") && !gateway.stderr().contains("hidden-value"), "{shown}");
}

#[test]
fn what_a_platform_refuses_waits_for_the_operator_if_it_says_so() {
    let receiver = Receiver::start([Answer::status(429), Answer::status(400)]);
    let host = Host::start();
    let profile = host.profile("/p", &profile(Release::NEWEST, Some("https://elsewhere.invalid/hook")));
    let configuration = as_google(&format!("profile = \"{profile}\""), &receiver);
    let place = WebhookSetup::with(&configuration.replace("\nwebhook_headers_file = \"secret\"", ""));
    let order = place.order(Release::NEWEST, &profile);
    let all = place.until("parked");
    assert_eq!((&all[0]["attempts"], receiver.deliveries().len()), (&json!(2), 2), "429 is tried again: {all}");
    let problem = all[0]["problem"].as_str().expect("a problem");
    assert!(problem.contains("status 400"), "{problem}");
    // What follows is told; the event itself once the operator asks.
    place.json(&["orders", "cancel", &order]);
    assert_ne!(receiver.after(3)[2].body, receiver.deliveries()[1].body);
    assert!(place.run(&["webhooks", "resend", all[0]["id"].as_str().expect("an identifier")]).status.success());
    assert_eq!(receiver.after(4)[3].body, receiver.deliveries()[1].body);
}

#[test]
fn header_fields_of_webhooks_are_checked_and_not_repeated() {
    for (fields, problem) in [
        ("hidden", "line 1 must be a header field"),
        ("X-A: 1\nSignature: hidden", "line 2 must not be `signature`"),
        ("X-A: hidden\nx-a: hidden", "line 2 repeats"),
    ] {
        let platform =
            "[[platform]]\nname = \"P\"\nprofile = \"https://p.example.com/p\"\nwebhook_headers_file = \"fields\"\n";
        let said = Setup::new(platform).file("fields", fields).run("check-config").expect_err("refused");
        assert!(said.contains(problem) && !said.contains("hidden"), "{said}");
    }
}

#[test]
fn a_killed_gateway_tells_what_it_had_not_told() {
    let mut place = WebhookSetup::open();
    let receiver = Receiver::start([Answer::Silence]);
    let order = place.order(Release::NEWEST, &place.platform("p", Release::NEWEST, &receiver));
    receiver.after(1);
    place.gateway.kill();
    // A step of an order while no gateway runs.
    place.json(&["orders", "ship", &order]);
    let mut again = place.start_again();
    let deliveries = receiver.after(3);
    same(&deliveries[..2]);
    assert_ne!(deliveries[1].header("webhook-id"), deliveries[2].header("webhook-id"));
    assert_eq!(deliveries[2].json()["fulfillment"]["events"].as_array().expect("events").len(), 1);
    again.terminate();
}

#[test]
fn sec_03_nothing_is_sent_to_a_forbidden_address() {
    let place = WebhookSetup::open();
    let receiver = Receiver::start([]);
    let port = receiver.address().port();
    for (name, url) in [
        ("unspecified", format!("http://0.0.0.0:{port}/x")),
        ("link-local", "http://169.254.169.254/latest/meta-data".to_owned()),
        ("private", "https://10.0.0.1/x".to_owned()),
        ("scheme", "file:///etc/passwd".to_owned()),
        ("mapped", format!("http://[::ffff:127.0.0.1]:{port}/x")),
        ("user", format!("http://user:pw@127.0.0.1:{port}/x")),
    ] {
        place.order(Release::NEWEST, &place.host.profile(&format!("/{name}"), &profile(Release::NEWEST, Some(&url))));
    }
    let all = eventually("all are tried", Duration::from_secs(60), || {
        let all = listed(|| place.json(&["webhooks", "list"]));
        let tried = |one: &Value| one["attempts"].as_u64() >= Some(1);
        Some(all).filter(|all| all.as_array().expect("a list").iter().all(tried))
    });
    for one in all.as_array().expect("a list") {
        let problem = one["problem"].as_str().expect("a problem");
        assert!(problem.starts_with("the webhook address"), "{one}");
    }
    assert!(receiver.deliveries().is_empty());
}

#[test]
fn steps_that_cannot_be_taken_say_why_and_change_nothing() {
    let place = WebhookSetup::open();
    let receiver = Receiver::start([]);
    let order = place.order(Release::NEWEST, &place.platform("p", Release::NEWEST, &receiver));
    let before = place.json(&["orders", "show", &order]);
    for (arguments, said) in [
        (vec!["orders", "ship", "ord_nothing"], "order `ord_nothing` not found"),
        (vec!["orders", "ship", &order, "--line", "li_9=1"], "the order has no line `li_9`"),
        (vec!["orders", "ship", &order, "--line", "li_1=3"], "has 2 left for this, not 3"),
        (vec!["orders", "ship", &order, "--line", "li_1"], "expected a line and a quantity"),
        (
            vec!["orders", "ship", &order, "--tracking-url", "javascript:alert(1)"],
            "must be an absolute http or https address",
        ),
        (vec!["orders", "refund", &order, "--amount", "99999999"], "minor units are left to give back"),
        (vec!["orders", "refund", &order, "--amount", "-1"], "minor units are left to give back"),
    ] {
        let output = place.run(&arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && stderr.contains(said), "{arguments:?}: {stderr}");
    }
    assert_eq!(place.json(&["orders", "show", &order]), before);
    assert_eq!(place.json(&["orders", "list"])[0], before);
    assert_eq!(id(&before), order);
}

#[test]
fn two_gateways_on_one_directory_tell_each_step_once_and_in_its_turn() {
    const ORDERS: usize = 12;
    let place = WebhookSetup::open();
    let receiver = Receiver::start([]);
    let setup = Setup::new(&open());
    let mut command = setup.command("serve");
    command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(place.gateway.data());
    let mut other = Gateway::spawn(&command, None);
    let platform = place.platform("p", Release::NEWEST, &receiver);
    // The orders are told of where they were placed; the steps of a third process wait for whoever looks first.
    let orders: Vec<_> = (0..ORDERS).map(|_| place.order(Release::NEWEST, &platform)).collect();
    for order in &orders {
        place.json(&["orders", "ship", order]);
        place.json(&["orders", "deliver", order]);
    }
    let deliveries = receiver.after(3 * ORDERS);
    let waiting = |all: &Value| all.as_array().expect("a list").iter().any(|one| one["state"] == "waiting");
    let all = eventually("all is settled", Duration::from_secs(60), || {
        Some(listed(|| place.json(&["webhooks", "list", "--limit", "100"]))).filter(|all| !waiting(all))
    });
    assert!(all.as_array().expect("a list").iter().all(|one| one["attempts"] == 1), "{all}");
    assert_eq!(receiver.deliveries().len(), 3 * ORDERS, "none twice");
    for order in &orders {
        let of = deliveries.iter().map(Delivery::json).filter(|body| body["id"] == **order);
        let events = |body: &Value| body["fulfillment"].get("events").and_then(Value::as_array).map_or(0, Vec::len);
        assert_eq!(of.map(|body| events(&body)).collect::<Vec<_>>(), [0, 1, 2], "{order}");
    }
    other.terminate();
}

#[test]
fn ten_thousand_notices_for_a_platform_that_hangs_delay_no_other_and_take_no_memory() {
    let place = WebhookSetup::open();
    let (dead, living) = (Receiver::start(vec![Answer::Silence; 64]), Receiver::start([]));
    let order = place.order(Release::NEWEST, &place.platform("dead", Release::NEWEST, &dead));
    dead.after(1);
    // As many as if ten thousand orders had been placed.
    let database = rusqlite::Connection::open(place.gateway.data().join("shop.db")).expect("the database");
    let many = "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 10000)";
    for copies in [
        "INSERT INTO outbox (shop, id, order_id, owner, order_version, occurred_at, document, since) \
         SELECT shop, outbox.id || n, order_id || n, owner, 1, occurred_at, document, since FROM outbox, n WHERE order_id = ?",
        "INSERT INTO tasks (shop, kind, key, lane, due, body, since) \
         SELECT shop, kind, key || n, lane, 0, body, since FROM tasks, n WHERE kind = 'tell' AND key = ?",
    ] {
        assert_eq!(database.execute(&format!("{many} {copies}"), (&order,)).expect("inserts"), 10_000);
    }
    let before = place.gateway.status("VmRSS");
    let already = dead.deliveries().len();
    for number in 0..12 {
        place.order(Release::NEWEST, &place.platform(&format!("living{}", number % 3), Release::NEWEST, &living));
    }
    living.after(12);
    // One hangs until it has timed out, then the next one: never two at once, and all of the others were told
    // meanwhile.
    let tries = dead.deliveries().len() - already;
    assert!(tries <= 2, "{tries} tries came between");
    let claimed = "SELECT count(*) FROM tasks WHERE claimed_until IS NOT NULL AND key LIKE ? || '%'";
    let claimed: i64 = database.query_row(claimed, (&order,), |row| row.get(0)).expect("a number");
    assert!(claimed <= 1, "{claimed} are claimed");
    let grown = place.gateway.status("VmRSS").saturating_sub(before);
    assert!(grown < 32 * 1024, "{grown} KiB more");
}

#[test]
fn operators_move_orders_over_http_too() {
    let data = crate::harness::folder();
    let configuration = open() + "[server]\nadmin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"token\"\n";
    let setup = Setup::new(&configuration).file("token", "operators-only\n").arguments(&["--sample", "flower-shop"]);
    let place = WebhookSetup { gateway: setup.start_on(data), host: Host::start(), keys: Vec::new() };
    let line = place.gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin")).expect("the address");
    let address: std::net::SocketAddr = line.trim().trim_start_matches("http://").parse().expect("an address");
    let order = place.order(Release::NEWEST, &place.host.profile("/p", &profile(Release::NEWEST, None)));
    let call = |method: &str, path: &str, token: &str, body: &Value| {
        let headers = [("Authorization", token), ("Content-Type", "application/json")];
        let mut connection = crate::wire::Connection::open(address);
        connection.write(&crate::wire::request(method, path, &headers, body.to_string().as_bytes()));
        let response = connection.read().expect("an answer");
        (response.status, response.json())
    };
    let token = "Bearer operators-only";
    for wrong in ["", "Bearer", "Bearer ", "Bearer operators-onl", "Bearer operators-only2", "operators-only"] {
        let (status, said) = call("POST", &format!("/orders/{order}/ship"), wrong, &json!({}));
        assert_eq!((status, said["error"].is_string()), (401, true), "{wrong}");
    }
    let (status, listed) = call("GET", "/orders", token, &json!({}));
    assert_eq!((status, &listed[0]["id"], &listed[0]["version"]), (200, &json!(order), &json!(1)));
    let one = json!({ "line_items": [{ "id": "li_1", "quantity": 1 }], "carrier": "Post" });
    let (status, shipped) = call("POST", &format!("/orders/{order}/ship"), token, &one);
    assert_eq!((status, &shipped["status"]), (200, &json!("partial")), "{shipped}");
    assert_eq!(call("GET", &format!("/orders/{order}"), token, &json!({})), (200, shipped));
    for (path, body, status) in [
        (format!("/orders/{order}/ship"), json!({ "line_items": [{ "id": "li_1", "quantity": 2 }] }), 422),
        (format!("/orders/{order}/ship"), json!({ "lines": [] }), 400),
        (format!("/orders/{order}/deliver"), json!({ "carrier": "Post" }), 400),
        (format!("/orders/{order}/burn"), json!({}), 400),
        ("/orders/ord_nothing/ship".to_owned(), json!({}), 404),
        ("/webhooks/nothing/resend".to_owned(), json!({}), 404),
        ("/".to_owned(), json!({}), 404),
    ] {
        let (found, said) = call("POST", &path, token, &body);
        assert_eq!((found, said["error"].is_string()), (status, true), "{path} {body}: {said}");
    }
    let (status, webhooks) = call("GET", "/webhooks", token, &json!({}));
    assert_eq!((status, webhooks.as_array().map(Vec::len)), (200, Some(2)));
    // The shop itself knows nothing of this.
    assert_eq!(place.gateway.get("/orders").status, 404);
}
