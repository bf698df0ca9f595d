//! Purchases that are paid at Stripe, in front of a stand-in that is written from Stripe's documents: over every transport,
//! in every release.

use std::{net::SocketAddr, time::SystemTime};

use aws_lc_rs::hmac;
use serde_json::{Value, json};
use ucp_core::Release;
use ucp_fake_psp::{FakeStripe, Fault, Keys, Options, Order, Step};
use ucp_testkit::{PATIENCE, eventually};

use super::shopper::{Shopper, errors, id, paying_in, ready, said_at, ways};
use crate::{
    handoff::browser::{Browser, path},
    harness::{Ends as _, Gateway, binary, flower_shop},
    platforms::host::{Host, profile_with},
    setup::Setup,
    wire::{Connection, Response, request},
};

const API_KEY: &str = "sk_test_canary5d1f0a";
const WEBHOOK_SECRET: &str = "whsec_canary77c1";

/// The identifier of the handler, which the shopper pays with.
const HANDLER: &str = "mock_payment_handler";

struct StripeShop {
    stripe: FakeStripe,
    gateway: Gateway,
    data: tempfile::TempDir,
}

fn configuration(url: &str) -> String {
    format!(
        "[callers]\npolicy = \"development\"\n[limits]\nanonymous = \"none\"\n\
         [[payment]]\nkind = \"stripe\"\nid = \"{HANDLER}\"\nversion = \"2026-01-23\"\n\
         schema = \"https://example.com/stripe.json\"\nurl = \"{url}\"\napi_key_file = \"key\"\n\
         webhook_secret_file = \"secret\"\ntimeout_ms = 5000\n\
         config = {{ environment = \"test\", publishable_key = \"pk_test_1\" }}\n\
         [[payment]]\nkind = \"google_pay\"\nid = \"gpay\"\nprocessed_by = \"{HANDLER}\"\n\
         config = {{ api_version = 2, api_version_minor = 0, environment = \"TEST\", allowed_payment_methods = [ {{ \
         type = \"CARD\", parameters = {{ allowed_auth_methods = [\"PAN_ONLY\"], allowed_card_networks = [\"VISA\"] }}, \
         tokenization_specification = {{ type = \"PAYMENT_GATEWAY\", parameters = {{ gateway = \"stripe\" }} }} }} ] }}\n"
    )
}

impl StripeShop {
    fn open() -> Self {
        let keys = Keys { api_key: API_KEY.to_owned(), signing_secret: String::new() };
        let stripe = FakeStripe::start(Options::new(keys)).expect("Stripe");
        let data = flower_shop();
        let setup = Setup::new(&configuration(&stripe.url())).file("key", API_KEY).file("secret", WEBHOOK_SECRET);
        let setup = setup.arguments(&["--admin-listen", "127.0.0.1:0"]).variable("RUST_LOG", "trace");
        let gateway = setup.spawn("127.0.0.1:0", data.path());
        Self { stripe, gateway, data }
    }

    /// Captured amount of a checkout, number of captures, and states of its payments.
    fn taken(&self, checkout: &Value) -> (u32, Vec<String>) {
        let report = self.stripe.psp().report();
        let of = report.payments.values().filter(|payment| payment.checkout_id == id(checkout));
        (report.captures_of_checkout(id(checkout)), of.map(|payment| payment.status.clone()).collect())
    }

    /// The name of the last attempt to pay for a checkout.
    fn attempt(&self, checkout: &Value) -> String {
        let report = self.stripe.psp().report();
        let found = report.payments.values().find(|payment| payment.checkout_id == id(checkout));
        found.expect("an attempt").id.clone()
    }

    fn event(&self, handler: &str, signature: &str, body: &str) -> Response {
        let headers = [("Content-Type", "application/json"), ("Stripe-Signature", signature)];
        self.gateway.send("POST", &format!("/payments/{handler}/events"), &headers, body.as_bytes())
    }
}

/// Response of the stand-in to a buyer's browser: status and target of the redirect.
fn browse(url: &str) -> (u16, String) {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("an address");
    let mut connection = Connection::open(host.parse::<SocketAddr>().expect("an address"));
    assert!(connection.write(&request("GET", &format!("/{path}"), &[], b"")));
    let response = connection.read().expect("an answer");
    (response.status, response.header("location").unwrap_or_default().to_owned())
}

/// The address to which the page sends the buyer on.
fn bank(page: &str) -> String {
    let start = page.find("/fake/3ds/").expect("the way to the bank");
    let start = page[..start].rfind('"').expect("an attribute") + 1;
    page[start..].split(['"', '?']).next().expect("an address").to_owned()
}

fn signature(secret: &str, at: u64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let digest = hmac::sign(&key, format!("{at}.{body}").as_bytes());
    let digest: String = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("t={at},v1={digest}")
}

#[expect(clippy::disallowed_methods, reason = "Stripe has a clock of its own")]
fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a time").as_secs()
}

#[test]
fn a_purchase_is_paid_at_stripe_once_whoever_buys() {
    let shop = StripeShop::open();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop.gateway, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let declined = shopper.complete(&checkout, "pm_decline");
        assert_eq!((&declined["status"], shop.taken(&checkout).0), (&json!("incomplete"), 0), "{declined}");
        let said = &errors(&declined)[0];
        assert_eq!(said["content"], "There is not enough money on the account.", "{declined}");
        let refused = shopper.complete(&checkout, "tok-of-another");
        assert!(said_at(&refused, "error")[0].ends_with(".credential.token"), "{refused}");
        let completed = shopper.complete(&checkout, "pm_ok");
        assert_eq!(completed["status"], "completed", "{completed}");
        assert_eq!(shop.taken(&checkout).0, 1);
        let again = shopper.call("complete_checkout", Some(id(&checkout)), &shopper.paying("pm_ok"));
        assert!(again.response.status < 500);
        assert_eq!(shop.taken(&checkout).0, 1, "it is paid once");
    }
}

#[test]
fn a_buyer_confirms_at_the_bank_and_comes_back() {
    let shop = StripeShop::open();
    for (nth, (release, transport)) in ways().enumerate() {
        let shopper = Shopper::new(&shop.gateway, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let challenged = shopper.complete(&checkout, "pm_challenge");
        assert_eq!(challenged["status"], "requires_escalation", "{challenged}");
        assert!(said_at(&challenged, "error").iter().any(|said| said.starts_with("requires_3ds")), "{challenged}");
        let seen = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
        assert_eq!(seen["status"], "requires_escalation", "{seen}");
        let again = shopper.complete(&checkout, "pm_challenge");
        assert_eq!(again["status"], "requires_escalation", "it is the same payment: {again}");
        assert_eq!(shop.taken(&checkout).1, ["requires_action"]);

        let mut browser = Browser::new(&shop.gateway);
        let place = path(&challenged["continue_url"]);
        let asked = "continue_to=https%3A%2F%2Fagent.example.com%2Fchat%2F7";
        // Some platforms say where their own page is.
        let leads_back = nth % 4 < 2;
        let page = browser.open(&if leads_back { format!("{place}?{asked}") } else { place });
        page.shows("Your bank asks you to confirm");
        page.shows("Go to your bank");
        page.hides("<script");
        let verdict = if nth % 2 == 0 { "pass" } else { "fail" };
        let (status, back) = browse(&format!("{}/{verdict}", bank(&page.response.body)));
        assert_eq!(status, 303);
        let back = url::Url::parse(&back).expect("the way back");
        assert_eq!(back.path(), path(&challenged["continue_url"]));
        let page = browser.open(&format!("{}?{}", back.path(), back.query().expect("what Stripe adds")));
        assert_eq!(page.response.status, 303, "what Stripe adds to the address does not stay in it");
        let after = if leads_back { format!("?done=pay&{asked}") } else { "?done=pay".to_owned() };
        assert_eq!(page.response.header("location"), Some(after.as_str()));
        let page = browser.open(&format!("{}{after}", back.path()));
        if leads_back {
            page.shows("href=\"https://agent.example.com/chat/7\"");
        } else {
            page.hides("agent.example.com");
        }
        let seen = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
        if verdict == "pass" {
            page.shows("Thank you for your order");
            assert_eq!((&seen["status"], shop.taken(&checkout).0), (&json!("completed"), 1), "{seen}");
        } else {
            page.shows("You weren't charged");
            assert_eq!((&seen["status"], shop.taken(&checkout).0), (&json!("incomplete"), 0), "{seen}");
            assert_eq!(shopper.complete(&checkout, "pm_ok")["status"], "completed");
            assert_eq!(shop.taken(&checkout).0, 1);
        }
    }
}

/// The surface leads on to Stripe's page, whose origin the handler declares, and that leads back to the surface.
#[test]
fn a_platform_shows_the_page_of_stripe_itself() {
    let shop = StripeShop::open();
    let host = Host::start();
    let (extension, kind) = ("dev.ucp.common.payment.authentication", "dev.ucp.common.payment.three_ds_challenge");
    let capabilities = ["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", extension];
    let mut profile = profile_with(Release::NEWEST, &capabilities);
    profile["ucp"]["capabilities"][extension][0]["extends"] = json!("dev.ucp.shopping.checkout");
    let profile = host.profile("/shows", &profile);
    for verdict in ["pass", "fail"] {
        let shopper = Shopper::rest(&shop.gateway).named(&profile);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let begun = shopper.complete(&checkout, "pm_challenge");
        assert_eq!(begun["status"], "complete_in_progress", "{begun}");
        let url = &begun["actions"][kind][0]["config"]["url"];
        let origins = &begun["ucp"]["payment_handlers"]["com.stripe.payments"][0]["config"]["action_origins"];
        let stripe = url::Url::parse(&shop.stripe.url()).expect("an address").origin().ascii_serialization();
        assert!(origins.as_array().is_some_and(|origins| origins.contains(&json!(stripe))), "{begun}");
        let surface = shop.gateway.get(&path(url));
        let place = surface.body.split("data-begin=\"").nth(1).and_then(|rest| rest.split(['"', '?']).next());
        let (status, back) = browse(&format!("{}/{verdict}", place.expect("the way to the bank")));
        let back = url::Url::parse(&back).expect("the way back");
        assert_eq!((status, back.path().ends_with("/returned")), (303, true), "{back}");
        let returned = shop.gateway.get(&format!("{}?{}", back.path(), back.query().expect("what Stripe adds")));
        assert!(returned.status == 200 && returned.body.contains("action.done"), "{returned:?}");
        let seen = shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document();
        let expected = if verdict == "pass" { ("completed", 1) } else { ("incomplete", 0) };
        assert_eq!((&seen["status"], shop.taken(&checkout).0), (&json!(expected.0), expected.1), "{seen}");
        assert_eq!(seen.get("actions"), None, "{seen}");
    }
}

#[test]
fn a_payment_that_waits_for_its_buyer_is_called_off_by_a_change() {
    let shop = StripeShop::open();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop.gateway, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        shopper.complete(&checkout, "pm_challenge");
        let updated = shopper.update(&checkout, &ready(&[("pot_ceramic", 2)]));
        assert_eq!(
            (&updated["status"], &updated["line_items"][0]["quantity"]),
            (&json!("ready_for_complete"), &json!(2))
        );
        assert_eq!(shop.taken(&checkout).1, ["voided"]);
        assert_eq!(shopper.complete(&checkout, "pm_challenge")["status"], "requires_escalation");
        let canceled = shopper.call("cancel_checkout", Some(id(&checkout)), &json!({})).document();
        assert_eq!(canceled["status"], "canceled", "{canceled}");
        assert_eq!(shop.taken(&checkout), (0, vec!["voided".to_owned(), "voided".to_owned()]));
    }
    // A confirmed payment has succeeded meanwhile.
    let shopper = Shopper::rest(&shop.gateway);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let challenged = shopper.complete(&checkout, "pm_challenge");
    let page = Browser::new(&shop.gateway).open(&path(&challenged["continue_url"]));
    browse(&format!("{}/pass", bank(&page.response.body)));
    let late = shopper.call("cancel_checkout", Some(id(&checkout)), &json!({}));
    assert_eq!(late.errors(), ["checkout_completed"]);
    assert_eq!(shop.taken(&checkout).0, 1);
}

#[test]
fn events_of_stripe_settle_a_payment_and_those_of_others_do_not() {
    let shop = StripeShop::open();
    let shopper = Shopper::rest(&shop.gateway);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let challenged = shopper.complete(&checkout, "pm_challenge");
    let page = Browser::new(&shop.gateway).open(&path(&challenged["continue_url"]));
    browse(&format!("{}/pass", bank(&page.response.body)));
    let body = json!({
        "id": "evt_1", "object": "event", "type": "payment_intent.amount_capturable_updated",
        "data": { "object": { "object": "payment_intent", "metadata": { "ucp_attempt": shop.attempt(&checkout) } } },
    });
    let body = body.to_string();
    for (handler, signature, status) in [
        (HANDLER, signature("whsec_of_another", now(), &body), 401),
        (HANDLER, signature(WEBHOOK_SECRET, now() - 400, &body), 401),
        (HANDLER, String::new(), 401),
        ("unknown", signature(WEBHOOK_SECRET, now(), &body), 404),
    ] {
        let response = shop.event(handler, &signature, &body);
        assert_eq!(response.status, status, "{response:?}");
        assert_eq!(shop.taken(&checkout).0, 0);
    }
    let response = shop.event(HANDLER, &signature(WEBHOOK_SECRET, now(), &body), &body);
    assert_eq!(response.status, 200, "{response:?}");
    eventually("it to be captured although nobody looks", PATIENCE, || (shop.taken(&checkout).0 == 1).then_some(()));
    // Repeated, and about something else.
    for body in [body.as_str(), r#"{"data":{"object":{"id":"cus_1"}}}"#] {
        assert_eq!(shop.event(HANDLER, &signature(WEBHOOK_SECRET, now(), body), body).status, 200);
    }
    assert_eq!(shop.taken(&checkout).0, 1);
    assert_eq!(shopper.call("get_checkout", Some(id(&checkout)), &json!({})).document()["status"], "completed");
}

#[test]
fn tokens_of_google_pay_are_paid_at_stripe() {
    let shop = StripeShop::open();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop.gateway, release, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let mut payload = paying_in(release, "gpay", "{\"id\":\"tok_okGoogle\",\"object\":\"token\"}");
        let instrument = match payload.get_mut("payment_data") {
            Some(instrument) => instrument,
            None => &mut payload["payment"]["instruments"][0],
        };
        instrument["credential"]["type"] = json!("PAYMENT_GATEWAY");
        let completed = shopper.call("complete_checkout", Some(id(&checkout)), &payload).document();
        assert_eq!((&completed["status"], shop.taken(&checkout).0), (&json!("completed"), 1), "{completed}");
    }
    let profile = shop.gateway.get("/.well-known/ucp").json();
    let declared = &profile["ucp"]["payment_handlers"];
    assert_eq!(declared["com.google.pay"][0]["spec"], "https://pay.google.com/gp/p/ucp/2026-01-23/", "{profile}");
    assert_eq!(declared["com.stripe.payments"][0]["config"]["publishable_key"], "pk_test_1", "{profile}");
}

#[test]
fn money_is_given_back_at_stripe_over_the_admin_endpoint() {
    let shop = StripeShop::open();
    let shopper = Shopper::rest(&shop.gateway);
    let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
    let completed = shopper.complete(&checkout, "pm_ok");
    let (order, attempt) = (id(&completed["order"]).to_owned(), shop.attempt(&checkout));
    let line = shop.gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    let address: SocketAddr = line.expect("where it listens").parse().expect("an address");
    let refund = |body: &Value| {
        let mut connection = Connection::open(address);
        let body = body.to_string();
        assert!(connection.write(&request("POST", &format!("/orders/{order}/refund"), &[], body.as_bytes())));
        connection.read().expect("an answer")
    };
    assert_eq!(refund(&json!({ "amount": 500 })).status, 200);
    assert_eq!(shop.stripe.psp().refunded(&attempt), 500);
    assert_eq!(refund(&json!({ "amount": 1_000_000 })).status, 422);
    assert_eq!(refund(&json!({ "amount": 500 })).status, 200, "another refund of the same amount");
    assert_eq!(shop.stripe.psp().refunded(&attempt), 1_000);
    let rest = refund(&json!({}));
    assert_eq!((rest.status, &rest.json()["refundable"]), (200, &json!(0)));
    let total = shop.stripe.psp().report().payments[&attempt].amount;
    assert_eq!(shop.stripe.psp().refunded(&attempt), total);
    assert_eq!(refund(&json!({})).status, 422, "nothing is left");
}

/// Refunds of one order of three pieces, over the admin endpoint.
struct Refunds {
    shop: StripeShop,
    address: SocketAddr,
    order: String,
    attempt: String,
}

impl Refunds {
    fn open() -> Self {
        let shop = StripeShop::open();
        let shopper = Shopper::rest(&shop.gateway);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 3)]));
        let completed = shopper.complete(&checkout, "pm_ok");
        let (order, attempt) = (id(&completed["order"]).to_owned(), shop.attempt(&checkout));
        let line = shop.gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
        let address: SocketAddr = line.expect("where it listens").parse().expect("an address");
        Self { shop, address, order, attempt }
    }

    fn asked(&self, key: Option<&str>, body: &Value) -> Response {
        let mut connection = Connection::open(self.address);
        let headers: Vec<_> = key.into_iter().map(|key| ("Idempotency-Key", key)).collect();
        let body = body.to_string();
        assert!(connection.write(&request(
            "POST",
            &format!("/orders/{}/refund", self.order),
            &headers,
            body.as_bytes()
        )));
        connection.read().expect("an answer")
    }

    /// Amounts and states of the refunds in the books.
    fn booked(&self) -> Vec<(i64, String)> {
        let mut connection = Connection::open(self.address);
        assert!(connection.write(&request("GET", &format!("/orders/{}", self.order), &[], b"")));
        let order = connection.read().expect("an answer").json();
        let refunds = order["adjustments"].as_array().expect("adjustments").iter();
        let booked = |refund: &Value| {
            let amount = refund["totals"][0]["amount"].as_i64().expect("an amount");
            (-amount, refund["status"].as_str().expect("a status").to_owned())
        };
        refunds.map(booked).collect()
    }

    fn given(&self) -> i64 {
        self.shop.stripe.psp().refunded(&self.attempt)
    }
}

/// Number of times that a refund is asked for in one step.
const TRIES: u32 = 3;

#[test]
fn a_refund_whose_answer_is_lost_is_finished_by_itself_before_another_begins() {
    let refunds = Refunds::open();
    refunds.shop.stripe.psp().inject(Order { step: Step::Refund, fault: Fault::ErrorAfter, times: TRIES });
    let lost = refunds.asked(None, &json!({ "amount": 500 }));
    assert!(lost.status == 502 && lost.body.contains("asked again by itself"), "{lost:?}");
    assert_eq!(refunds.asked(None, &json!({ "amount": 700 })).status, 200, "the first is settled before");
    assert_eq!(refunds.booked(), [(500, "completed".to_owned()), (700, "completed".to_owned())]);
    assert_eq!(refunds.given(), 1_200);
}

#[test]
fn refunds_that_are_asked_for_at_once_or_twice_are_booked_as_they_are_given() {
    let refunds = Refunds::open();
    std::thread::scope(|scope| {
        for amount in [100, 200, 300] {
            let refunds = &refunds;
            scope.spawn(move || assert_eq!(refunds.asked(None, &json!({ "amount": amount })).status, 200));
        }
    });
    for _ in 0..2 {
        assert_eq!(refunds.asked(Some("key"), &json!({ "amount": 50 })).status, 200);
    }
    assert_eq!(refunds.asked(Some("key"), &json!({ "amount": 51 })).status, 409);
    let mut booked = refunds.booked();
    booked.sort_unstable();
    assert_eq!(booked, [50, 100, 200, 300].map(|amount| (amount, "completed".to_owned())));
    assert_eq!(refunds.given(), 650);
    // The same step of another order is another one, and not taken under this key.
    let other = Shopper::rest(&refunds.shop.gateway);
    let completed = other.complete(&other.create(&ready(&[("pot_ceramic", 1)])), "pm_ok");
    let refunds = Refunds { order: id(&completed["order"]).to_owned(), ..refunds };
    assert_eq!(refunds.asked(Some("key"), &json!({ "amount": 50 })).status, 409);
    assert_eq!(refunds.booked(), []);
}

#[test]
fn a_refund_that_the_bank_sends_back_later_has_failed() {
    let refunds = Refunds::open();
    assert_eq!(refunds.asked(None, &json!({ "amount": 500 })).status, 200);
    assert_eq!(refunds.booked(), [(500, "completed".to_owned())]);
    refunds.shop.stripe.psp().send_refunds_back(&refunds.attempt);
    let body = json!({
        "id": "evt_1", "object": "event", "type": "refund.failed",
        "data": { "object": { "object": "refund", "metadata": { "ucp_attempt": refunds.attempt } } },
    });
    let body = body.to_string();
    let response = refunds.shop.event(HANDLER, &signature(WEBHOOK_SECRET, now(), &body), &body);
    assert_eq!(response.status, 200, "{response:?}");
    eventually("the refund to have failed in the books, too", PATIENCE, || {
        (refunds.booked() == [(500, "failed".to_owned())]).then_some(())
    });
    // A failed refund can be repeated.
    assert_eq!(refunds.asked(None, &json!({ "amount": 500 })).status, 200);
    assert_eq!(refunds.booked(), [(500, "failed".to_owned()), (500, "completed".to_owned())]);
    assert_eq!(refunds.given(), 500);
}

#[test]
fn a_refund_of_lines_is_about_what_was_paid_for_them() {
    let refunds = Refunds::open();
    for quantity in [0, -1, 4, 100] {
        let refused = refunds.asked(None, &json!({ "line_items": [{ "id": "li_1", "quantity": quantity }] }));
        assert_eq!(refused.status, 422, "{quantity}: {refused:?}");
    }
    let one = refunds.asked(None, &json!({ "line_items": [{ "id": "li_1", "quantity": 1 }] }));
    assert_eq!(one.status, 200, "{one:?}");
    let total = refunds.shop.stripe.psp().report().payments[&refunds.attempt].amount;
    let given = refunds.given();
    assert!(0 < given && given <= total / 3 + 1, "{given} of {total}");
    assert_eq!(refunds.booked(), [(given, "completed".to_owned())]);
}

#[test]
fn keys_and_credentials_are_in_no_log_and_no_file() {
    let mut shop = StripeShop::open();
    let shopper = Shopper::rest(&shop.gateway);
    for token in ["pm_okZPcanary31ab", "pm_declineZPcanary31ab", "pm_challengeZPcanary31ab"] {
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let answer = shopper.complete(&checkout, token);
        assert!(!answer.to_string().contains("canary31ab"), "{answer}");
    }
    assert!(shop.stripe.psp().saw("canary31ab"));
    shop.event(HANDLER, &signature(WEBHOOK_SECRET, now(), "{}"), "{}");
    shop.gateway.terminate();
    let logged = shop.gateway.stderr();
    assert!(logged.contains("ucp_payment") || logged.contains("hyper"), "nothing was logged");
    let mut files = vec![shop.data.path().to_owned()];
    let mut texts = vec![logged.into_bytes()];
    while let Some(file) = files.pop() {
        if file.is_dir() {
            files.extend(std::fs::read_dir(&file).expect("a directory").map(|file| file.expect("a file").path()));
        } else {
            texts.push(std::fs::read(&file).expect("a file"));
        }
    }
    for canary in ["canary31ab", "canary5d1f0a", "canary77c1"] {
        let found = |text: &Vec<u8>| text.windows(canary.len()).any(|window| window == canary.as_bytes());
        assert!(!texts.iter().any(found), "{canary} was kept");
    }
}

#[test]
fn mistakes_in_the_configuration_are_told_with_what_must_be() {
    let check = |configuration: &str, key: &str| {
        let setup = Setup::new(configuration).file("key", key).file("secret", WEBHOOK_SECRET);
        let mut command = binary();
        command.arg("check-config").arg("--config").arg(setup.path("gateway.toml"));
        let output = command.ends();
        let said = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(said).expect("text"))
    };
    let right = configuration("https://api.stripe.com");
    let (fine, said) = check(&right, "sk_test_1");
    assert!(fine && !said.contains("warning"), "{said}");
    for (wrong, key, expected) in [
        (right.clone(), "sk_live_1", "the key moves money"),
        (right.clone(), "sk_live_1", "the publishable key is of the other mode"),
        (right.clone(), "sk_live_1", "`environment` says another mode"),
        (right.clone(), "psp_1", "does not begin with `sk_`"),
    ] {
        let (fine, said) = check(&wrong, key);
        assert!(fine && said.contains(expected), "{said}");
        assert!(!said.contains(key), "a key was printed: {said}");
    }
    for (wrong, expected) in [
        (
            right.replace("processed_by = \"mock_payment_handler\"", "processed_by = \"gpay\""),
            "of the kind `stripe` or `processor`",
        ),
        (right.replace("processed_by = \"mock_payment_handler\"\n", ""), "Google Pay needs the id"),
        (right.replace("\"PAYMENT_GATEWAY\"", "\"DIRECT\""), "must be of the type PAYMENT_GATEWAY"),
        (right.replace("allowed_payment_methods", "methods"), "platforms need `allowed_payment_methods`"),
        (right.replace("schema = \"https://example.com/stripe.json\"\n", ""), "a stripe needs this"),
        (right.replace("https://api.stripe.com", "http://api.stripe.com"), "is not an https address"),
        (right.replace("webhook_secret_file", "signing_secret_file"), "with the kind `processor` only"),
        (right.replace("api_key_file = \"key\"\n", ""), "either this or `api_key_env`"),
    ] {
        let (fine, said) = check(&wrong, "sk_test_1");
        assert!(!fine && said.contains(expected), "{expected}: {said}");
    }
}
