//! Whole purchases, from a cart to an order, in every release and over every transport.

use std::time::Duration;

use serde_json::{Value, json};

use super::{
    id,
    payloads::{address, lines, paying, paying_by, ready, shipping, with},
    text,
};
use crate::{
    Done,
    operation::{Caller, NEWEST, WAYS, Way, endpoints},
    process::{Gateway, eventually},
    stage::{Setup, Stage},
    wire::Response,
};

/// Somebody who buys, with an idempotency key per call.
pub(crate) struct Shopper<'a> {
    pub(crate) gateway: &'a Gateway,
    pub(crate) caller: Caller,
    /// The release whose forms it uses.
    pub(crate) release: &'static str,
    label: String,
    key: String,
}

impl<'a> Shopper<'a> {
    pub(crate) fn new(gateway: &'a Gateway, caller: Caller, label: &str) -> Self {
        let release = caller.endpoint.unwrap_or(NEWEST);
        let (label, key) = (format!("{}{label}", caller.label()), format!("{}{label}", caller.label()));
        Self { gateway, caller, release, label, key }
    }

    /// The same under another profile, in the forms of a release.
    pub(crate) fn of(self, release: &'static str) -> Self {
        Self { release, ..self }
    }

    /// The name of a call.
    pub(crate) fn name(&self, step: &str) -> String {
        format!("{}/{step}", self.label)
    }

    /// A step of a purchase: its key is made from its name.
    pub(crate) fn step(
        &self,
        stage: &mut Stage<'_>,
        name: &str,
        step: &str,
        id: Option<&str>,
        payload: &Value,
    ) -> Value {
        self.response(stage, name, step, id, payload).document()
    }

    /// Waits until a payment that is under way has come to its end.
    pub(crate) fn settle(&self, checkout: &str) -> Done {
        let look = self.caller.over(Way::Rest).call("get_checkout", Some(checkout), &json!({}));
        eventually("a payment comes to its end", Duration::from_secs(120), || {
            let document = self.gateway.send(&look)?.document();
            Ok((document.get("status").and_then(Value::as_str) != Some("complete_in_progress")).then_some(()))
        })
    }

    /// The same with the answer as it came.
    pub(crate) fn response(
        &self,
        stage: &mut Stage<'_>,
        name: &str,
        step: &str,
        id: Option<&str>,
        payload: &Value,
    ) -> Response {
        let key = format!("{}-{name}-{step}", self.key).replace('/', "-");
        let request = self.caller.keyed(Some(&key), name, id, payload);
        stage.ask(&self.name(&format!("{name}/{step}")), self.gateway, &request)
    }
}

/// Tokens of the sandbox, and two that are none.
const TOKENS: [&str; 7] =
    ["fail_token", "challenge_token", "challenge_passed_token", "timeout_token", "unknown_token", "made_up", ""];

/// Plays purchases of flowers.
pub(crate) fn flowers(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new(""))?;
    everywhere(stage, &gateway, "pot_ceramic", "orchid_white", "10OFF")
}

/// Plays purchases of outdoor goods, which have options, taxes and stock.
pub(crate) fn outfitters(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new("").outfitters())?;
    everywhere(stage, &gateway, "var_abc123_red_10", "var_def456_green_9", "WELCOME10")
}

fn everywhere(stage: &mut Stage<'_>, gateway: &Gateway, item: &str, other: &str, code: &str) -> Done {
    for endpoint in endpoints() {
        for way in WAYS {
            let shopper = Shopper::new(gateway, Caller::new(endpoint, way), "");
            buy(stage, &shopper, item, other, code);
            give_up(stage, &shopper, item);
        }
    }
    let mut paid = Vec::new();
    for endpoint in endpoints() {
        for token in TOKENS {
            for way in [Way::Rest, Way::Tool, Way::Flat] {
                let shopper = Shopper::new(gateway, Caller::new(endpoint, way), &format!("/token-{token}"));
                let checkout = id(&shopper.step(stage, "create_checkout", "ready", None, &ready(&[(item, 1)])));
                let payment = paying(shopper.release, token);
                shopper.step(stage, "complete_checkout", "first", Some(&checkout), &payment);
                if token.is_empty() {
                    odd_payments(stage, &shopper, item);
                }
                paid.push((shopper, checkout, payment));
            }
        }
    }
    // Payments of which nobody knows yet what became of them come to their end meanwhile, all together.
    for (shopper, checkout, payment) in &paid {
        shopper.settle(checkout)?;
        shopper.step(stage, "complete_checkout", "first", Some(checkout), payment);
        shopper.step(stage, "get_checkout", "after", Some(checkout), &json!({}));
        let mut elsewhere = ready(&[(item, 1)]);
        elsewhere["fulfillment"] = shipping(&with(address(), &json!({ "address_country": "NZ" })));
        shopper.step(stage, "update_checkout", "elsewhere", Some(checkout), &elsewhere);
    }
    Ok(())
}

/// A purchase with everything that can be changed on the way.
pub(crate) fn buy(stage: &mut Stage<'_>, shopper: &Shopper<'_>, item: &str, other: &str, code: &str) -> Value {
    let goods = json!({ "line_items": lines(&[(item, 2)]) });
    let cart = shopper.step(stage, "create_cart", "two", None, &goods);
    let cart = id(&cart);
    shopper.step(stage, "get_cart", "two", Some(&cart), &json!({}));
    let more = with(
        json!({ "line_items": lines(&[(item, 1), (other, 2)]) }),
        &json!({ "discounts": { "codes": [code, "nope"] } }),
    );
    shopper.step(stage, "update_cart", "with-codes", Some(&cart), &more);
    shopper.step(stage, "get_cart", "with-codes", Some(&cart), &json!({}));
    let from_cart =
        shopper.step(stage, "create_checkout", "from-cart", None, &json!({ "cart_id": cart, "line_items": [] }));
    shopper.step(stage, "get_cart", "after-checkout", Some(&cart), &json!({}));
    shopper.step(stage, "cancel_checkout", "from-cart", Some(&id(&from_cart)), &json!({}));

    let checkout = shopper.step(stage, "create_checkout", "bare", None, &goods);
    let checkout = id(&checkout);
    shopper.step(stage, "get_checkout", "bare", Some(&checkout), &json!({}));
    let early = paying(shopper.release, "success_token");
    shopper.step(stage, "complete_checkout", "too-early", Some(&checkout), &early);
    let wanted = with(ready(&[(item, 2), (other, 1)]), &json!({ "discounts": { "codes": [code] } }));
    let updated = shopper.step(stage, "update_checkout", "whole", Some(&checkout), &wanted);
    let method = updated.pointer("/fulfillment/methods/0").cloned().unwrap_or_default();
    let group = json!({ "id": text(&method, "/groups/0/id"), "selected_option_id": "express" });
    let faster = with(
        wanted.clone(),
        &json!({
            "line_items": [{ "id": "li_1", "item": { "id": item }, "quantity": 2 }, { "item": { "id": other }, "quantity": 1 }],
            "fulfillment": { "methods": [{
                "id": text(&method, "/id"), "type": "shipping", "line_item_ids": method.get("line_item_ids"), "groups": [group],
            }] },
        }),
    );
    shopper.step(stage, "update_checkout", "express", Some(&checkout), &faster);
    shopper.step(stage, "get_checkout", "express", Some(&checkout), &json!({}));
    shopper.step(stage, "complete_checkout", "declined", Some(&checkout), &paying(shopper.release, "fail_token"));
    let payment = paying(shopper.release, "success_token");
    let first = shopper.response(stage, "complete_checkout", "paid", Some(&checkout), &payment);
    let again = shopper.response(stage, "complete_checkout", "paid", Some(&checkout), &payment);
    stage.note(&shopper.name("complete_checkout/paid-again-is-the-same"), &(first.body == again.body).to_string());
    for way in [Way::Rest, Way::Tool, Way::Named, Way::Flat] {
        let key = format!("{}-complete_checkout-paid", shopper.key).replace('/', "-");
        let other = shopper.caller.over(way).keyed(Some(&key), "complete_checkout", Some(&checkout), &payment);
        stage.ask(&shopper.name(&format!("complete_checkout/paid-over-{}", way.name())), shopper.gateway, &other);
    }
    shopper.step(stage, "complete_checkout", "another-key", Some(&checkout), &payment);
    shopper.step(stage, "get_checkout", "paid", Some(&checkout), &json!({}));
    shopper.step(stage, "update_checkout", "after-payment", Some(&checkout), &wanted);
    shopper.step(stage, "cancel_checkout", "after-payment", Some(&checkout), &json!({}));
    let paid = first.document();
    let order = [text(&paid, "/order/id"), text(&paid, "/order_id")];
    let order = order.into_iter().find(|order| order.starts_with("ord_")).unwrap_or("ord_nothing").to_owned();
    shopper.step(stage, "get_order", "paid", Some(&order), &json!({}));
    // Orders of others do not exist.
    let stranger = shopper.caller.clone().named("https://stranger.example.com/p.json");
    stage.ask(
        &shopper.name("get_order/stranger"),
        shopper.gateway,
        &stranger.call("get_order", Some(&order), &json!({})),
    );
    for name in ["get_checkout", "update_checkout", "cancel_checkout", "complete_checkout"] {
        let request = stranger.call(name, Some(&checkout), &wanted);
        stage.ask(&shopper.name(&format!("{name}/stranger")), shopper.gateway, &request);
    }
    paid
}

/// Results for abandoned carts and checkouts, and for unknown identifiers.
fn give_up(stage: &mut Stage<'_>, shopper: &Shopper<'_>, item: &str) {
    let goods = ready(&[(item, 1)]);
    let checkout = id(&shopper.step(stage, "create_checkout", "to-cancel", None, &goods));
    for step in ["once", "twice"] {
        shopper.step(stage, "cancel_checkout", step, Some(&checkout), &json!({}));
    }
    shopper.step(stage, "get_checkout", "canceled", Some(&checkout), &json!({}));
    shopper.step(stage, "update_checkout", "canceled", Some(&checkout), &goods);
    shopper.step(stage, "complete_checkout", "canceled", Some(&checkout), &paying(shopper.release, "success_token"));
    let goods = json!({ "line_items": lines(&[(item, 1)]) });
    let cart = id(&shopper.step(stage, "create_cart", "to-cancel", None, &goods));
    for step in ["once", "twice"] {
        shopper.step(stage, "cancel_cart", step, Some(&cart), &json!({}));
    }
    shopper.step(stage, "get_cart", "canceled", Some(&cart), &json!({}));
    shopper.step(stage, "update_cart", "canceled", Some(&cart), &goods);
    shopper.step(stage, "create_checkout", "from-canceled-cart", None, &json!({ "cart_id": cart, "line_items": [] }));
    for (name, unknown) in [
        ("get_cart", "cart_nothing"),
        ("update_cart", "cart_nothing"),
        ("cancel_cart", "cart_nothing"),
        ("get_checkout", "chk_nothing"),
        ("update_checkout", "chk_nothing"),
        ("complete_checkout", "chk_nothing"),
        ("cancel_checkout", "chk_nothing"),
        ("get_order", "ord_nothing"),
        ("get_cart", "%20"),
        ("get_order", "a%2Fb"),
    ] {
        let payload =
            if name == "complete_checkout" { paying(shopper.release, "success_token") } else { goods.clone() };
        shopper.step(stage, name, unknown, Some(unknown), &payload);
        let keyless = shopper.caller.keyed(None, name, Some(unknown), &payload);
        stage.ask(&shopper.name(&format!("{name}/{unknown}/without-key")), shopper.gateway, &keyless);
    }
}

/// Payments that are no payments, or of another release.
fn odd_payments(stage: &mut Stage<'_>, shopper: &Shopper<'_>, item: &str) {
    let card = json!({ "type": "card", "number": "4242424242424242", "cvc": "123" });
    let success = json!({ "type": "token", "token": "success_token" });
    for (step, wrong) in [
        ("nothing", json!({})),
        ("null", json!({ "payment": null })),
        ("no-instruments", json!({ "payment": { "instruments": [] } })),
        ("unknown-handler", paying_by(shopper.release, "nobody", &success)),
        ("another-credential", paying_by(shopper.release, "mock_payment_handler", &card)),
        ("no-credential", paying_by(shopper.release, "mock_payment_handler", &Value::Null)),
        ("both-forms", with(paying("2026-01-11", "success_token"), &paying("2026-04-08", "success_token"))),
        ("of-the-oldest", paying("2026-01-11", "success_token")),
        ("of-the-newest", paying(NEWEST, "success_token")),
        (
            "with-mandate",
            with(paying(shopper.release, "success_token"), &json!({ "ap2": { "checkout_mandate": "a.b.c~d" } })),
        ),
        (
            "risk-signals",
            with(paying(shopper.release, "success_token"), &json!({ "risk_signals": { "a": 1 }, "signals": {} })),
        ),
    ] {
        let checkout = id(&shopper.step(stage, "create_checkout", step, None, &ready(&[(item, 1)])));
        shopper.step(stage, "complete_checkout", step, Some(&checkout), &wrong);
    }
}
