//! Webhooks about orders in the releases before the catalog, which have no operation for reading orders.

use serde_json::{Value, json};
use ucp_core::operation::ORDER;

use crate::dialect::Occasion;

/// Rewrites an order of a later release into the webhook of these releases: refunded amounts and removed quantities are
/// unsigned, removed lines have the status `fulfilled`, and the body contains the ID and the time of the event.
pub(super) fn webhook_event(document: &str, occasion: &Occasion<'_>) -> String {
    let Ok(mut order) = serde_json::from_str::<Value>(document) else { return document.to_owned() };
    for adjustment in elements(&mut order, "adjustments").filter_map(Value::as_object_mut) {
        let totals = adjustment.shift_remove("totals").unwrap_or_default();
        let total = totals.as_array().and_then(|totals| totals.iter().find(|total| total["type"] == "total"));
        if let Some(amount) = total.and_then(|total| total["amount"].as_i64()) {
            adjustment.insert("amount".to_owned(), amount.unsigned_abs().into());
        }
        for line in adjustment.get_mut("line_items").and_then(Value::as_array_mut).into_iter().flatten() {
            line["quantity"] = line["quantity"].as_i64().unwrap_or_default().unsigned_abs().into();
        }
    }
    for line in elements(&mut order, "line_items") {
        if let Some(quantity) = line["quantity"].as_object_mut() {
            quantity.shift_remove("original");
        }
        if line["status"] == "removed" {
            line["status"] = "fulfilled".into();
        }
    }
    // The capability is stated even if the platform declared another version of it.
    let version = order["ucp"]["version"].clone();
    match &mut order["ucp"]["capabilities"] {
        Value::Array(listed) if listed.is_empty() => listed.push(json!({ "name": ORDER, "version": version })),
        Value::Object(named) if named.is_empty() => {
            named.insert(ORDER.to_owned(), json!([{ "version": version }]));
        }
        _ => {}
    }
    if let Some(members) = order.as_object_mut() {
        members.insert("event_id".to_owned(), occasion.id.into());
        members.insert("created_time".to_owned(), occasion.at.to_string().into());
    }
    order.to_string()
}

fn elements<'a>(order: &'a mut Value, name: &str) -> impl Iterator<Item = &'a mut Value> {
    order.get_mut(name).and_then(Value::as_array_mut).into_iter().flatten()
}
