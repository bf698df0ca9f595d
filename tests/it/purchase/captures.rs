//! Money that is authorized with the purchase and captured by the merchant, over the admin endpoint and on the command line.

use std::{net::SocketAddr, time::Duration};

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_fake_psp::{FakeStripe, Keys, Options};
use ucp_testkit::{PATIENCE, eventually};

use super::shopper::{Shopper, id, ready, total, ways};
use crate::{
    harness::{Ends as _, Gateway, binary, flower_shop},
    setup::Setup,
    wire::{Connection, request},
};

const API_KEY: &str = "sk_test_captures";

/// The identifier of the handler, which the shopper pays with.
const HANDLER: &str = "mock_payment_handler";

struct CapturingShop {
    stripe: FakeStripe,
    setup: Setup,
    data: TempDir,
    gateway: Gateway,
}

impl CapturingShop {
    fn open() -> Self {
        let keys = Keys { api_key: API_KEY.to_owned(), signing_secret: String::new() };
        let stripe = FakeStripe::start(Options::new(keys)).expect("Stripe");
        let setup = Setup::new(&format!(
            "[callers]\npolicy = \"development\"\n[limits]\nanonymous = \"none\"\n\
             [[payment]]\nkind = \"stripe\"\nid = \"{HANDLER}\"\nversion = \"2026-01-23\"\n\
             schema = \"https://example.com/stripe.json\"\nurl = \"{}\"\napi_key_file = \"key\"\n\
             timeout_ms = 1000\ndeadline_ms = 4000\ncapture = \"manual\"\n",
            stripe.url()
        ));
        let setup = setup.file("key", API_KEY).arguments(&["--admin-listen", "127.0.0.1:0"]);
        let data = flower_shop();
        let gateway = setup.spawn("127.0.0.1:0", data.path());
        Self { stripe, setup, data, gateway }
    }

    fn restart(&mut self) {
        self.gateway.kill();
        self.gateway = self.setup.spawn("127.0.0.1:0", self.data.path());
    }

    /// An order that was bought with this token, its total, and the name of its payment.
    fn bought(&self, shopper: &Shopper<'_>, token: &str) -> (String, i64, String) {
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let completed = shopper.complete(&checkout, token);
        assert_eq!(completed["status"], "completed", "{completed}");
        let report = self.stripe.psp().report();
        let payment = report.payments.values().find(|payment| payment.checkout_id == id(&checkout)).expect("a payment");
        assert_eq!((&*payment.status, payment.taken), ("authorized", 0), "it waits for the merchant");
        (id(&completed["order"]).to_owned(), total(&completed, "total"), payment.id.clone())
    }

    /// A connection to the operator's listener.
    #[track_caller]
    fn operator(&self) -> Connection {
        let line = self.gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
        let address: SocketAddr = line.expect("where it listens").parse().expect("an address");
        Connection::open(address)
    }

    /// An order as the operator sees it.
    #[track_caller]
    fn shown(&self, order: &str) -> Value {
        let mut connection = self.operator();
        assert!(connection.write(&request("GET", &format!("/orders/{order}"), &[], b"")));
        connection.read().expect("an answer").json()
    }

    /// Asks for a step of an order.
    #[track_caller]
    fn asked(&self, order: &str, step: &str, details: &Value) -> Connection {
        let mut connection = self.operator();
        let body = details.to_string();
        assert!(connection.write(&request("POST", &format!("/orders/{order}/{step}"), &[], body.as_bytes())));
        connection
    }

    /// Takes a step of an order.
    #[track_caller]
    fn step(&self, order: &str, step: &str, details: &Value) -> (u16, Value) {
        let response = self.asked(order, step, details).read().expect("an answer");
        (response.status, response.json())
    }

    /// Captured amount of a payment, number of captures, and number of cancellations that released it.
    fn moved(&self, payment: &str) -> (i64, u32, u32) {
        let report = self.stripe.psp().report();
        let payment = &report.payments[payment];
        (payment.taken, payment.captures, payment.voids)
    }

    /// A command about an order: what it prints if it succeeds, else what is wrong.
    fn command(&self, step: &str, order: &str, more: &[&str]) -> Result<String, String> {
        let mut command = binary();
        command.args(["orders", step, order, "--config"]).arg(self.setup.path("gateway.toml"));
        let output = command.arg("--data-dir").arg(self.data.path()).args(more).ends();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }
}

#[test]
fn the_merchant_captures_a_part_of_whatever_was_bought() {
    let shop = CapturingShop::open();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&shop.gateway, release, transport);
        let (order, total, payment) = shop.bought(&shopper, "pm_ok");
        for (details, problem) in [
            (json!({ "amount": total + 1 }), format!("a capture must be 1 to {total} minor units")),
            (json!({ "amount": 0 }), format!("a capture must be 1 to {total} minor units")),
        ] {
            let (status, told) = shop.step(&order, "capture", &details);
            assert_eq!(status, 422, "{told}");
            assert!(told["error"].as_str().is_some_and(|error| error.contains(&problem)), "{told}");
        }
        assert_eq!(shop.step(&order, "capture", &json!({ "line_items": [{ "id": "li_1", "quantity": 1 }] })).0, 400);
        assert_eq!(shop.step(&order, "refund", &json!({ "amount": 1 })).0, 422, "nothing was captured");
        let part = json!({ "amount": total - 300 });
        let (status, told) = shop.step(&order, "capture", &part);
        assert_eq!((status, &told["captured"], &told["refundable"]), (200, &json!(total - 300), &json!(total - 300)));
        assert_eq!(told["payment"]["hold"], json!({ "status": "captured", "amount": total - 300 }));
        assert_eq!(shop.step(&order, "capture", &part).0, 200, "the same capture again");
        assert_eq!(shop.step(&order, "capture", &json!({ "amount": 300 })).0, 422, "it is captured once");
        assert_eq!(shop.step(&order, "release", &json!({})).0, 422);
        assert_eq!(shop.moved(&payment), (total - 300, 1, 0));
        assert_eq!(shop.step(&order, "refund", &json!({ "amount": total - 299 })).0, 422, "more than was captured");
        assert_eq!(shop.step(&order, "refund", &json!({})).0, 200);
        assert_eq!(shop.stripe.psp().refunded(&payment), total - 300);
    }
}

#[test]
fn what_is_canceled_is_released() {
    let shop = CapturingShop::open();
    let shopper = Shopper::rest(&shop.gateway);
    let (order, _, payment) = shop.bought(&shopper, "pm_ok");
    let (status, told) = shop.step(&order, "cancel", &json!({ "reason": "sold out" }));
    assert_eq!((status, &told["payment"]["hold"]["status"]), (200, &json!("released")), "{told}");
    assert_eq!((&told["captured"], &told["refundable"]), (&json!(0), &json!(0)));
    assert_eq!(shop.moved(&payment), (0, 0, 1));
    assert_eq!(shop.step(&order, "capture", &json!({})).0, 422);
    assert_eq!(shop.step(&order, "release", &json!({})).0, 200, "the same release again");

    // Its answer is lost again and again: the goods are canceled, and the release is finished by itself.
    let (order, _, payment) = shop.bought(&shopper, "pm_okZPvoidZCerror_afterZC9");
    let (status, told) = shop.step(&order, "cancel", &json!({}));
    assert_eq!(
        (status, &told["status"], &told["payment"]["hold"]["status"]),
        (200, &json!("canceled"), &json!("releasing"))
    );
    assert_eq!(shop.step(&order, "capture", &json!({})).0, 422, "not while it may be released");
    eventually("the release to be known", PATIENCE, || {
        (shop.shown(&order)["payment"]["hold"]["status"] == "released").then_some(())
    });
    assert_eq!(shop.moved(&payment), (0, 0, 1));

    // An authorization that has expired captures nothing, and there is nothing left to release.
    let (order, _, payment) = shop.bought(&shopper, "pm_refuse_capture");
    let (status, told) = shop.step(&order, "capture", &json!({}));
    assert_eq!((status, shop.moved(&payment).0), (422, 0), "{told}");
    assert_eq!(shop.step(&order, "release", &json!({})).0, 200);
}

#[test]
fn a_capture_is_made_once_whenever_the_gateway_is_killed() {
    let mut shop = CapturingShop::open();
    for (nth, fault) in
        ["hang_before", "hang_after", "reset_after", "error_after", "late", "slow"].into_iter().enumerate()
    {
        for step in ["capture", "release"] {
            let asked = if step == "capture" { "capture" } else { "void" };
            let (order, total, payment) =
                shop.bought(&Shopper::rest(&shop.gateway), &format!("pm_okZP{asked}ZC{fault}ZC2"));
            let details = if step == "capture" { json!({ "amount": total - 100 }) } else { json!({}) };
            let mut asked = shop.asked(&order, step, &details);
            // Somewhere between what is stored before Stripe is asked and the answer.
            std::thread::sleep(Duration::from_millis(10 << nth));
            shop.gateway.signal("KILL");
            assert!(asked.read().is_none_or(|answer| answer.status == 200), "{fault} of {step}");
            shop.restart();
            let known = (0..5).any(|_| shop.step(&order, step, &details).0 == 200);
            assert!(known, "{fault} of {step}: nobody knows what became of it");
            let (taken, moved) = if step == "capture" { (total - 100, (total - 100, 1, 0)) } else { (0, (0, 0, 1)) };
            assert_eq!(shop.moved(&payment), moved, "{fault} of {step}");
            let (status, shown) = shop.step(&order, step, &details);
            assert_eq!((status, &shown["captured"]), (200, &json!(taken)), "{fault} of {step}: {shown}");
        }
    }
}

#[test]
fn the_command_line_captures_and_releases() {
    let shop = CapturingShop::open();
    let shopper = Shopper::rest(&shop.gateway);
    let (order, total, payment) = shop.bought(&shopper, "pm_ok");
    let shown = shop.command("capture", &order, &["--amount", "700"]).expect("it is captured");
    assert!(shown.contains("payment: 7.00 USD captured"), "{shown}");
    assert_eq!(shop.moved(&payment), (700, 1, 0));
    let problem = shop.command("release", &order, &[]).expect_err("it is captured");
    assert!(problem.contains("it was captured, and the rest released"), "{problem}");
    assert!(total > 700);
    let (order, _, payment) = shop.bought(&shopper, "pm_ok");
    let shown = shop.command("release", &order, &["--json"]).expect("it is released");
    assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON")["payment"]["hold"]["status"], "released");
    assert_eq!(shop.moved(&payment), (0, 0, 1));
}
