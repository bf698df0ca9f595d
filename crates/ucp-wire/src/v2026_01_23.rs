//! Release 2026-01-23: checkouts, with capabilities and payment handlers by name.
//!
//! Changes in the next release: discounts are negative, there is the severity `unrecoverable`, `context` and
//! `attribution` are returned, and products have their later member names.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::{Map, Value};
use ucp_core::{Operation, Release, Request, negotiation::Active, operation::Class};

use crate::{
    envelope::is_failure,
    offer::Offer,
    pre_catalog::{self, PreCatalog, SCHEMAS},
    profile,
    purchase::consent::is_earlier_reverse_domain,
    schema::{self, Shapes},
    upgrade::{Kept, Upgrade, Way, each_object, each_product, each_variant, insert_before, object},
};

/// Release 2026-01-23.
pub static V2026_01_23: PreCatalog = PreCatalog {
    release: RELEASE,
    offers: &OFFERS,
    shapes: &SHAPES,
    methods: false,
    metadata,
    direct: |document| document,
    profile: |dialect, site| profile::profile(dialect, site, &["signing_keys"]),
    upgrade: &UPGRADE,
    respell: |_, _| {},
    supply: |_, _| {},
};

const RELEASE: Release = Release::V2026_01_23;

static OFFERS: [Offer; 10] = pre_catalog::offers(RELEASE);

static SHAPES: LazyLock<HashMap<Operation, Shapes>> = LazyLock::new(|| schema::stated(&SCHEMAS));

static UPGRADE: Upgrade = Upgrade {
    request: Way { up: request_up, down: request_down },
    answer: Way { up: answer_up, down: answer_down },
    kept: Kept { request: keep_stated, answer: |_, _| {}, variant: |_, _| {} },
};

/// The types of totals in older releases.
const OLDER_TOTALS: [&str; 7] = ["subtotal", "items_discount", "discount", "fulfillment", "tax", "fee", "total"];

/// Returns the `ucp` member of an answer, with payment handlers.
fn metadata(operation: Operation, active: &Active) -> Map<String, Value> {
    let mut metadata = pre_catalog::metadata(RELEASE, operation, active);
    metadata.insert("payment_handlers".to_owned(), Value::Object(Map::new()));
    metadata
}

fn request_up(_: Operation, payload: &mut Map<String, Value>) {
    // This release has no carts to make a checkout from.
    payload.shift_remove("cart_id");
    // Observations of the platform. Signals have reverse-domain names; others cannot be expressed.
    if let Some(Value::Object(mut observed)) = payload.shift_remove("risk_signals") {
        observed.retain(|name, _| is_earlier_reverse_domain(name));
        if !observed.is_empty() {
            payload.entry("signals").or_insert(Value::Object(observed));
        }
    }
}

fn request_down(_: Operation, payload: &mut Map<String, Value>) {
    if let Some(signals) = payload.shift_remove("signals") {
        payload.entry("risk_signals").or_insert(signals);
    }
}

fn answer_up(_: Operation, answer: &mut Map<String, Value>) {
    each_total(answer, &mut |total| {
        if is_discount(total) {
            negate(total);
        }
    });
    each_product(answer, |product| {
        if let Some(categories) = product.shift_remove("category") {
            product.entry("categories").or_insert(categories);
        }
    });
    each_variant(answer, |variant| {
        if let Some(inputs) = variant.shift_remove("input") {
            variant.entry("inputs").or_insert(inputs);
        }
    });
}

fn answer_down(operation: Operation, answer: &mut Map<String, Value>) {
    each_product(answer, |product| {
        if let Some(categories) = product.get("categories").cloned() {
            insert_before(product, "category", categories, &["options", "variants"]);
        }
    });
    each_variant(answer, |variant| {
        variant.shift_remove("input");
        if let Some(inputs) = variant.get("inputs").cloned() {
            variant.insert("input".to_owned(), inputs);
        }
    });
    // Messages of an answer without a resource are rewritten by the release itself (`no_resource`).
    if !is_failure(answer) {
        each_object(answer, "messages", |message| {
            if message.get("severity").is_some_and(|severity| severity == "unrecoverable") {
                message.insert("severity".to_owned(), "requires_buyer_input".into());
            }
        });
    }
    let class = operation.row().class;
    if class == Class::Browsing {
        return;
    }
    each_total(answer, &mut |total| {
        let kind = total.get("type").and_then(Value::as_str).unwrap_or_default();
        if !OLDER_TOTALS.contains(&kind) {
            // The totals must still add up.
            let below = total.get("amount").and_then(Value::as_i64).is_some_and(|amount| amount < 0);
            total.insert("type".to_owned(), if below { "discount" } else { "fee" }.into());
        }
        if is_discount(total) {
            negate(total);
        }
    });
    if class == Class::Purchase {
        answer.shift_remove("context");
        answer.shift_remove("attribution");
    }
    if let Some(order) = object(answer, "order") {
        order.shift_remove("label");
    }
    if let Some(discounts) = object(answer, "discounts") {
        each_object(discounts, "applied", |applied| {
            applied.shift_remove("provisional");
            applied.shift_remove("eligibility");
        });
    }
}

/// Drops `context` as sent: this release uses it and does not return it.
fn keep_stated(_: &Value, request: &mut Request) {
    if let Some(draft) = request.draft() {
        draft.context_stated = None;
    }
}

fn is_discount(total: &Map<String, Value>) -> bool {
    total.get("type").is_some_and(|kind| kind == "discount" || kind == "items_discount")
}

fn negate(total: &mut Map<String, Value>) {
    if let Some(amount) = total.get_mut("amount")
        && let Some(stated) = amount.as_i64()
    {
        *amount = stated.saturating_neg().into();
    }
}

/// Visits the entries of every list of totals.
fn each_total(members: &mut Map<String, Value>, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    each_object(members, "totals", &mut *visit);
    for (_, value) in members.iter_mut().filter(|(name, _)| *name != "totals" && *name != "ucp") {
        inside(value, visit);
    }
}

fn inside(value: &mut Value, visit: &mut dyn FnMut(&mut Map<String, Value>)) {
    match value {
        Value::Object(members) => each_total(members, visit),
        Value::Array(elements) => elements.iter_mut().for_each(|element| inside(element, visit)),
        _ => {}
    }
}
