//! Requests and answers about checkouts.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use crate::refusal::Refusal;

/// Pays with the token that always pays instead of a card number, which the gateway's sandbox does not take.
pub(crate) fn take_card(payment: &mut Value) {
    if let Some(credential) = payment.pointer_mut("/payment_data/credential")
        && credential["type"] == "card"
    {
        *credential = json!({ "type": "token", "token": "success_token" });
    }
}

/// Keeps the buyer of `before` in an update that names none. By the protocol an update replaces everything.
pub(crate) fn keep_buyer(update: &mut Value, before: &Value) {
    if let (Some(update), Some(buyer)) = (update.as_object_mut(), before.get("buyer")) {
        update.entry("buyer").or_insert_with(|| buyer.clone());
    }
}

/// Why the sample server refuses contents: goods are missing from the checkout.
pub(crate) fn unavailable(document: &Value) -> Option<Refusal> {
    messages(document).find_map(|message| {
        let reason = match text(message, "code") {
            "item_unavailable" => "Product not found.",
            "out_of_stock" | "quantity_adjusted" => "Insufficient stock.",
            _ => return None,
        };
        Some(Refusal::new(StatusCode::BAD_REQUEST, format!("{reason} {}", text(message, "content"))))
    })
}

/// Why the sample server refuses to complete: a checkout that is not completed has errors.
pub(crate) fn incomplete(document: &Value) -> Option<Refusal> {
    let errors = || messages(document).filter(|message| message["type"] == "error");
    let about = |path: &str| errors().find(|error| text(error, "path").starts_with(path));
    if let Some(error) = about("$.payment") {
        let failed = matches!(text(error, "code"), "payment_failed" | "requires_3ds");
        let status = if failed { StatusCode::PAYMENT_REQUIRED } else { StatusCode::BAD_REQUEST };
        return Some(Refusal::new(status, text(error, "content")));
    }
    let detail = match about("$.fulfillment") {
        Some(error) => format!("Fulfillment address and option must be selected. {}", text(error, "content")),
        None => text(errors().next()?, "content").to_owned(),
    };
    Some(Refusal::new(StatusCode::BAD_REQUEST, detail))
}

/// An answer with what the suite looks for: the list of instruments, also an empty one, or the reason as `detail`.
pub(crate) fn completed(mut document: Value, status: StatusCode) -> Value {
    if !status.is_success() {
        document["detail"] = document["messages"][0]["content"].clone();
    } else if let Some(payment) = document.get_mut("payment").and_then(Value::as_object_mut) {
        payment.entry("instruments").or_insert_with(|| json!([]));
    }
    document
}

/// Addresses that buyers stated without an identifier, by e-mail address.
#[derive(Debug, Default)]
pub(crate) struct Addresses(BTreeMap<String, Vec<Value>>);

impl Addresses {
    /// Puts a buyer's addresses into the shipping methods of a request that states none.
    pub(crate) fn offer(&self, stated: &mut Value) {
        let Some(addresses) = buyer(stated).and_then(|email| self.0.get(&email)) else { return };
        let methods = stated.pointer_mut("/fulfillment/methods").and_then(Value::as_array_mut);
        for method in methods.into_iter().flatten() {
            if method["type"] == "shipping" && destinations(method).is_empty() {
                method["destinations"] = json!(addresses);
            }
        }
    }

    /// Remembers the addresses that the gateway has given identifiers to. The shop's own keep theirs.
    pub(crate) fn remember(&mut self, stated: &Value, answered: &Value) {
        let methods = |document: &Value| document["fulfillment"]["methods"].as_array().cloned().unwrap_or_default();
        let stated: Vec<_> = methods(stated).iter().flat_map(destinations).collect();
        let nameless = !stated.is_empty() && stated.iter().all(|destination| destination.get("id").is_none());
        let Some(email) = buyer(answered).filter(|_| nameless) else { return };
        let known = self.0.entry(email).or_default();
        for address in methods(answered).iter().flat_map(destinations) {
            if address["id"].as_str().is_some_and(|id| id.starts_with("dest_")) && !known.contains(&address) {
                known.push(address);
            }
        }
    }
}

fn messages(document: &Value) -> impl Iterator<Item = &Value> {
    document["messages"].as_array().into_iter().flatten()
}

fn text<'a>(message: &'a Value, member: &str) -> &'a str {
    message[member].as_str().unwrap_or_default()
}

fn buyer(document: &Value) -> Option<String> {
    document["buyer"]["email"].as_str().map(|email| email.trim().to_lowercase())
}

fn destinations(method: &Value) -> Vec<Value> {
    method["destinations"].as_array().cloned().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_was_wrong_in_their_detail() {
        let message = |code: &str, path: &str| json!({ "messages": [{ "type": "error", "code": code, "content": "Why.", "path": path }] });
        for (refuse, code, path, expected) in [
            (
                incomplete as fn(&Value) -> Option<Refusal>,
                "payment_failed",
                "$.payment.instruments[0]",
                Some((402, "Why.")),
            ),
            (incomplete, "requires_3ds", "$.payment", Some((402, "Why."))),
            (incomplete, "handler_unknown", "$.payment", Some((400, "Why."))),
            (
                incomplete,
                "fulfillment_required",
                "$.fulfillment.methods",
                Some((400, "Fulfillment address and option must be selected. Why.")),
            ),
            (incomplete, "field_required", "$.buyer.email", Some((400, "Why."))),
            (unavailable, "fulfillment_required", "$.fulfillment.methods", None),
            (unavailable, "item_unavailable", "$.line_items[0]", Some((400, "Product not found. Why."))),
            (unavailable, "quantity_adjusted", "$.line_items[0]", Some((400, "Insufficient stock. Why."))),
        ] {
            let refused = refuse(&message(code, path)).map(|refusal| (refusal.status.as_u16(), refusal.detail));
            assert_eq!(refused, expected.map(|(status, detail)| (status, detail.to_owned())), "{code}");
        }
        let conflict = completed(message("checkout_completed", ""), StatusCode::CONFLICT);
        assert_eq!(conflict["detail"], "Why.");
        assert_eq!(completed(message("free_shipping", ""), StatusCode::OK).get("detail"), None);
        for payment in [json!({ "handlers": [] }), json!({ "handlers": [], "instruments": [{ "id": "i" }] })] {
            let listed = payment.get("instruments").cloned().unwrap_or(json!([]));
            assert_eq!(completed(json!({ "payment": payment }), StatusCode::OK)["payment"]["instruments"], listed);
        }
    }
}
