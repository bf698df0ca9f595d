//! `--compat conformance`: what the protocol's conformance suite expects beyond the protocol.

use serde_json::{Value, json};

use super::{id, negotiation::host, text, webhooks::told};
use crate::{
    Done,
    operation::RELEASES,
    process::Gateway,
    stage::{Setup, Stage},
    wire::Request,
};

const SECRET: &str = "for-the-suite-only";
const CHECKOUTS: &str = "/checkout-sessions";

/// The suite: a platform of the first release that declares nothing but where it wants to hear of orders.
struct Suite<'a> {
    gateway: &'a Gateway,
    agent: String,
    calls: usize,
}

impl Suite<'_> {
    fn send(
        &mut self,
        stage: &mut Stage<'_>,
        name: &str,
        method: &str,
        path: &str,
        body: &Value,
        more: &[(&str, &str)],
    ) -> Value {
        self.calls += 1;
        let key = format!("suite-{}", self.calls);
        let mut request = Request::new(method, path);
        for (header, value) in
            [("Content-Type", "application/json"), ("UCP-Agent", &self.agent), ("Idempotency-Key", &key)]
        {
            if more.iter().all(|(other, _)| *other != header) {
                request = request.header(header, value);
            }
        }
        request = more.iter().fold(request, |request, (header, value)| request.header(header, value));
        if !body.is_null() {
            request = request.body(body.to_string());
        }
        stage.ask(name, self.gateway, &request).json()
    }
}

/// A bouquet of roses, and more.
fn wanted(more: &Value) -> Value {
    let request = json!({
        "line_items": [{ "item": { "id": "bouquet_roses", "title": "What it is not called" }, "quantity": 1 }],
        "currency": "USD", "payment": { "instruments": [], "handlers": [] },
    });
    super::payloads::with(request, more)
}

fn sent(country: &str) -> Value {
    json!({ "methods": [{
        "type": "shipping", "destinations": [{ "id": "there", "address_country": country }],
        "selected_destination_id": "there", "groups": [{ "selected_option_id": "std-ship" }],
    }] })
}

fn paying(handler: &str, credential: &Value) -> Value {
    json!({ "payment_data": {
        "id": "i", "type": "card", "brand": "Visa", "last_digits": "1111", "handler_id": handler, "credential": credential,
    }, "risk_signals": {} })
}

/// Plays what the suite does.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let mode = ["--compat", "conformance", "--simulation-secret", SECRET];
    let gateway = stage.start(&Setup::new("").arguments(&mode))?;
    stage.note("welcome", &gateway.welcome.join("\n"));
    let host = host(stage)?;
    let order = json!({ "name": "dev.ucp.shopping.order", "version": "2026-01-11", "config": { "webhook_url": host.url("/hooks") } });
    let url = host.profile("/profile.json", &json!({ "ucp": { "version": "2026-01-11", "capabilities": [order] } }));
    let mut suite = Suite { gateway: &gateway, agent: format!("profile=\"{url}\""), calls: 0 };
    stage.ask("profile", &gateway, &Request::get("/.well-known/ucp"));
    for release in RELEASES {
        stage.ask(&format!("profile/{release}"), &gateway, &Request::get(&format!("/ucp/{release}/.well-known/ucp")));
    }
    let token = |token: &str| paying("mock_payment_handler", &json!({ "type": "token", "token": token }));
    for (label, agent) in [
        ("none", "profile=\"...\""),
        ("version", "profile=\"...\"; version=\"2026-01-11\""),
        ("future", "profile=\"...\"; version=\"2099-01-01\""),
        ("empty", ""),
    ] {
        suite.send(stage, &format!("agent/{label}"), "POST", CHECKOUTS, &wanted(&json!({})), &[("UCP-Agent", agent)]);
    }
    for (label, item, quantity) in [
        ("out", "gardenias", 1),
        ("unknown", "no_such_flower", 1),
        ("many", "bouquet_roses", 100_000),
        ("zero", "bouquet_roses", 0),
    ] {
        let body = wanted(&json!({ "line_items": [{ "item": { "id": item }, "quantity": quantity }] }));
        suite.send(stage, &format!("create/{label}"), "POST", CHECKOUTS, &body, &[]);
    }
    for (label, more) in [
        ("code", json!({ "discounts": { "codes": ["10OFF"] }, "fulfillment": sent("US") })),
        ("consent", json!({ "buyer": { "email": "a@example.com", "consent": { "marketing": true } } })),
        ("abroad", json!({ "fulfillment": sent("CA") })),
        (
            "known-buyer",
            json!({ "buyer": { "email": "john.doe@example.com" }, "fulfillment": { "methods": [{ "type": "shipping" }] } }),
        ),
        (
            "new-buyer",
            json!({ "buyer": { "email": "new@example.com" }, "fulfillment": { "methods": [{ "type": "shipping" }] } }),
        ),
        ("wrong", json!({ "line_items": 3 })),
    ] {
        let made = suite.send(stage, &format!("create/{label}"), "POST", CHECKOUTS, &wanted(&more), &[]);
        suite.send(stage, &format!("get/{label}"), "GET", &format!("{CHECKOUTS}/{}", id(&made)), &Value::Null, &[]);
        suite.send(
            stage,
            &format!("update/{label}"),
            "PUT",
            &format!("{CHECKOUTS}/{}", id(&made)),
            &wanted(&more),
            &[],
        );
    }
    let mut paid = Value::Null;
    for (label, payment) in [
        ("fail", token("fail_token")),
        (
            "number",
            paying(
                "mock_payment_handler",
                &json!({ "type": "card", "card_number_type": "fpan", "number": "4242424242424242", "cvc": "123" }),
            ),
        ),
        ("google", paying("google_pay", &json!({ "type": "token", "token": "success_token" }))),
        ("shop", paying("shop_pay", &json!({ "type": "token", "token": "success_token" }))),
        ("nobody", paying("nobody", &json!({ "type": "token", "token": "success_token" }))),
        ("success", token("success_token")),
    ] {
        let body = wanted(&json!({ "buyer": { "email": "payer@example.com" }, "fulfillment": sent("US") }));
        let made = suite.send(stage, &format!("pay/{label}/create"), "POST", CHECKOUTS, &body, &[]);
        let path = format!("{CHECKOUTS}/{}/complete", id(&made));
        paid = suite.send(stage, &format!("pay/{label}"), "POST", &path, &payment, &[]);
        suite.send(stage, &format!("pay/{label}/late"), "POST", &path, &payment, &[]);
        let again = [("Idempotency-Key", "the-same-key")];
        suite.send(stage, &format!("pay/{label}/key"), "POST", &path, &payment, &again);
        suite.send(
            stage,
            &format!("cancel/{label}"),
            "POST",
            &format!("{CHECKOUTS}/{}/cancel", id(&made)),
            &Value::Null,
            &[],
        );
    }
    let bare = suite.send(stage, "pay/homeless/create", "POST", CHECKOUTS, &wanted(&json!({})), &[]);
    suite.send(
        stage,
        "pay/homeless",
        "POST",
        &format!("{CHECKOUTS}/{}/complete", id(&bare)),
        &token("success_token"),
        &[],
    );
    orders(stage, &mut suite, &paid);
    told(stage, "told", &host, 5)
}

fn orders(stage: &mut Stage<'_>, suite: &mut Suite<'_>, paid: &Value) {
    let order = text(paid, "/order/id").to_owned();
    let path = format!("/orders/{order}");
    let mut document = suite.send(stage, "order/get", "GET", &path, &Value::Null, &[]);
    let line = text(&document, "/line_items/0/id").to_owned();
    document["adjustments"] = json!([{ "id": "adj_suite", "type": "refund", "occurred_at": "2026-01-03T03:04:05Z", "status": "pending", "amount": 500 }]);
    for step in ["order/adjusted", "order/adjusted-again"] {
        suite.send(stage, step, "PUT", &path, &document, &[]);
    }
    for (number, wrong) in [
        json!([{ "id": "a", "type": "refund", "occurred_at": "2026-01-03T03:04:05Z", "status": "odd" }]),
        json!({ "id": "a" }),
        json!([{ "id": "a", "type": "refund", "occurred_at": "soon", "status": "failed" }]),
    ]
    .into_iter()
    .enumerate()
    {
        let mut document = document.clone();
        document["adjustments"] = wrong;
        suite.send(stage, &format!("order/wrong-{number}"), "PUT", &path, &document, &[]);
    }
    document["fulfillment"]["events"] = json!([{
        "id": "evt_suite", "type": "shipped", "occurred_at": "2026-01-02T03:04:05.678+00:00",
        "line_items": [{ "id": line, "quantity": 7 }], "tracking_number": "T1",
    }]);
    suite.send(stage, "order/too-many", "PUT", &path, &document, &[]);
    suite.send(stage, "order/unknown", "GET", "/orders/ord_unknown", &Value::Null, &[]);
    suite.send(stage, "order/stranger", "GET", &path, &Value::Null, &[("UCP-Agent", "profile=\"...\"")]);
    let simulation = format!("/testing/simulate-shipping/{order}");
    for (label, secret) in [("none", None), ("wrong", Some("x")), ("right", Some(SECRET)), ("again", Some(SECRET))] {
        let more: Vec<_> = secret.map(|secret| ("Simulation-Secret", secret)).into_iter().collect();
        suite.send(stage, &format!("shipping/{label}"), "POST", &simulation, &Value::Null, &more);
    }
    suite.send(
        stage,
        "shipping/unknown",
        "POST",
        "/testing/simulate-shipping/ord_x",
        &Value::Null,
        &[("Simulation-Secret", SECRET)],
    );
    suite.send(stage, "order/get-again", "GET", &path, &Value::Null, &[]);
}
