//! The same call again, under the same key or another, with the same words or others, over the same transport or
//! another.

use serde_json::{Value, json};

use super::{
    id,
    payloads::{lines, paying, ready},
    purchase::Shopper,
};
use crate::{
    Done,
    operation::{Caller, Way, endpoints},
    stage::{Setup, Stage},
};

/// Plays retries of every operation that writes.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new(""))?;
    for endpoint in endpoints() {
        for way in [Way::Rest, Way::Tool, Way::Named, Way::Flat, Way::Events] {
            let shopper = Shopper::new(&gateway, Caller::new(endpoint, way), "");
            for (name, resource, payload, other) in writes(stage, &shopper) {
                retries(stage, &shopper, name, resource.as_deref(), [&payload, &other]);
            }
            keys(stage, &shopper);
        }
    }
    Ok(())
}

type Write = (&'static str, Option<String>, Value, Value);

/// Every operation that writes, with the resource it is about and two different requests.
fn writes(stage: &mut Stage<'_>, shopper: &Shopper<'_>) -> Vec<Write> {
    let cart = |quantity: u64| json!({ "line_items": lines(&[("pot_ceramic", quantity)]) });
    let checkout = |quantity: u64| ready(&[("pot_ceramic", quantity)]);
    let mut new = |name: &str, number: usize, payload: Value| {
        Some(id(&shopper.step(stage, name, &format!("for-retries-{number}"), None, &payload)))
    };
    vec![
        ("create_checkout", None, checkout(1), checkout(2)),
        ("update_checkout", new("create_checkout", 1, checkout(1)), checkout(3), checkout(4)),
        (
            "complete_checkout",
            new("create_checkout", 2, checkout(1)),
            paying(shopper.release, "success_token"),
            paying(shopper.release, "fail_token"),
        ),
        (
            "complete_checkout",
            new("create_checkout", 3, checkout(1)),
            paying(shopper.release, "fail_token"),
            paying(shopper.release, "success_token"),
        ),
        ("cancel_checkout", new("create_checkout", 4, checkout(1)), json!({}), json!({ "reason": "none" })),
        ("create_cart", None, cart(1), cart(2)),
        ("update_cart", new("create_cart", 5, cart(1)), cart(3), cart(4)),
        ("cancel_cart", new("create_cart", 6, cart(1)), json!({}), json!({ "reason": "none" })),
        ("create_checkout", None, json!({ "line_items": lines(&[("no_such_thing", 1)]) }), checkout(1)),
        ("create_checkout", None, json!({ "line_items": 3 }), checkout(1)),
    ]
}

fn retries(
    stage: &mut Stage<'_>,
    shopper: &Shopper<'_>,
    name: &str,
    resource: Option<&str>,
    [payload, other]: [&Value; 2],
) {
    let key = format!("{}-{name}-{}-{}", shopper.caller.label(), resource.is_some(), payload.to_string().len());
    let calls = [
        ("first", shopper.caller.keyed(Some(&key), name, resource, payload)),
        ("again", shopper.caller.keyed(Some(&key), name, resource, payload)),
        ("rest", shopper.caller.over(Way::Rest).keyed(Some(&key), name, resource, payload)),
        ("tool", shopper.caller.over(Way::Tool).keyed(Some(&key), name, resource, payload)),
        ("other-words", shopper.caller.keyed(Some(&key), name, resource, other)),
        ("other-resource", shopper.caller.keyed(Some(&key), name, Some("chk_other"), payload)),
        (
            "other-platform",
            shopper.caller.clone().named("https://b.example.com/p.json").keyed(Some(&key), name, resource, payload),
        ),
        (
            "other-release",
            Caller::new(Some("2026-01-23"), shopper.caller.way).keyed(Some(&key), name, resource, payload),
        ),
        ("no-key", shopper.caller.keyed(None, name, resource, payload)),
        ("again-at-last", shopper.caller.keyed(Some(&key), name, resource, payload)),
    ];
    let mut first = Vec::new();
    for (step, request) in calls {
        let response = stage.ask(&shopper.name(&format!("{name}/retry/{step}")), shopper.gateway, &request);
        if step == "first" {
            first = response.body;
        } else if step.starts_with("again") {
            let same = format!("{}", first == response.body);
            stage.note(&shopper.name(&format!("{name}/retry/{step}/is-the-same")), &same);
        }
    }
}

/// Keys that are good and keys that are not.
fn keys(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    let payload = json!({ "line_items": lines(&[("pot_ceramic", 1)]) });
    let long = "k".repeat(255);
    let longer = "k".repeat(256);
    for (label, key) in [
        ("empty", ""),
        ("space", "a b"),
        ("long", long.as_str()),
        ("longer", longer.as_str()),
        ("unicode", "schlüssel"),
        ("quoted", "\"quoted\""),
        ("uuid", "6f1c2c0e-0000-4000-8000-00000000000a"),
    ] {
        for name in ["create_checkout", "cancel_checkout"] {
            let request = shopper.caller.keyed(
                Some(key),
                name,
                Some("chk_nothing").filter(|_| name == "cancel_checkout"),
                &payload,
            );
            stage.ask(&shopper.name(&format!("{name}/key/{label}")), shopper.gateway, &request);
        }
    }
    // Two statements that do not agree.
    let request = shopper
        .caller
        .keyed(Some("one-key"), "create_checkout", None, &payload)
        .header("Idempotency-Key", "another-key");
    stage.ask(&shopper.name("create_checkout/key/conflicting"), shopper.gateway, &request);
    let request =
        shopper.caller.keyed(Some("same-key"), "create_checkout", None, &payload).header("Idempotency-Key", "same-key");
    stage.ask(&shopper.name("create_checkout/key/twice"), shopper.gateway, &request);
}
