//! Requests and answers about checkouts.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use crate::{refusal::Refusal, release::Release};

/// Pays with the token that always pays instead of a card number, which the gateway's sandbox does not take.
pub(crate) fn take_card(request: &mut Value) {
    let token = |instrument: &mut Value| {
        if instrument["credential"]["type"] == "card" {
            instrument["credential"] = json!({ "type": "token", "token": "success_token" });
        }
    };
    request.get_mut("payment_data").into_iter().for_each(token);
    let instruments = request.pointer_mut("/payment/instruments").and_then(Value::as_array_mut);
    instruments.into_iter().flatten().for_each(token);
}

/// Leaves out identifiers of destinations that are empty, which the sample server takes for none.
pub(crate) fn leave_out_empty(request: &mut Value) {
    let methods = request.pointer_mut("/fulfillment/methods").and_then(Value::as_array_mut);
    let destinations = methods.into_iter().flatten().filter_map(|method| method.get_mut("destinations"));
    for destination in destinations.filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut) {
        if destination.get("id").is_some_and(|id| id == "") {
            destination.remove("id");
        }
    }
}

/// Leaves identifiers out of an update that only the sample server's checkouts have: of lines and of groups.
pub(crate) fn leave_out_unknown(update: &mut Value, before: &Value) {
    let ids = |list: &Value| -> Vec<Value> { entries(list).map(|entry| entry["id"].clone()).collect() };
    let lines = [ids(&before["line_items"]), ids(&update["line_items"])].concat();
    let groups: Vec<_> = entries(&before["fulfillment"]["methods"]).flat_map(|method| ids(&method["groups"])).collect();
    let methods = update.pointer_mut("/fulfillment/methods").and_then(Value::as_array_mut);
    for method in methods.into_iter().flatten().filter_map(Value::as_object_mut) {
        if method.get("line_item_ids").is_some_and(|named| entries(named).any(|id| !lines.contains(id))) {
            method.remove("line_item_ids");
        }
        let named = method.get_mut("groups").and_then(Value::as_array_mut);
        for group in named.into_iter().flatten().filter_map(Value::as_object_mut) {
            if group.get("id").is_some_and(|id| !groups.contains(id)) {
                group.remove("id");
            }
        }
    }
}

/// Keeps `members` of `before` in an update that does not name them. By the protocol an update replaces everything.
pub(crate) fn keep(members: &[&str], update: &mut Value, before: &Value) {
    let Some(update) = update.as_object_mut() else { return };
    for member in members {
        if let Some(kept) = before.get(member) {
            update.entry(*member).or_insert_with(|| kept.clone());
        }
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

/// An answer with what the suite looks for: the lists of instruments and destinations of a checkout, also where there are
/// none, or the reason as `detail`.
pub(crate) fn completed(release: Release, mut document: Value, status: StatusCode) -> Value {
    if !status.is_success() {
        document["detail"] = document["messages"][0]["content"].clone();
    } else if document.get("line_items").is_some() {
        if document.pointer("/payment/instruments").is_none() {
            document["payment"]["instruments"] = json!([]);
        }
        let methods = document.pointer_mut("/fulfillment/methods").and_then(Value::as_array_mut);
        for method in methods.into_iter().flatten().filter_map(Value::as_object_mut) {
            if let (Some(none), None) = (release.no_destinations(), method.get("destinations")) {
                method.insert("destinations".to_owned(), none);
            }
        }
    }
    document
}

/// Addresses that buyers stated without an identifier, by email address.
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
    entries(&document["messages"])
}

fn entries(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
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
        let conflict = completed(Release::V2026_04_08, message("checkout_completed", ""), StatusCode::CONFLICT);
        assert_eq!(conflict["detail"], "Why.");
        assert_eq!(completed(Release::V2026_04_08, message("free_shipping", ""), StatusCode::OK).get("detail"), None);
        for payment in [json!(null), json!({ "handlers": [] }), json!({ "instruments": [{ "id": "i" }] })] {
            let listed = payment.get("instruments").cloned().unwrap_or(json!([]));
            let checkout =
                completed(Release::V2026_01_11, json!({ "line_items": [], "payment": payment }), StatusCode::OK);
            assert_eq!(checkout["payment"]["instruments"], listed);
        }
        let bare = json!({ "line_items": [], "fulfillment": { "methods": [{ "id": "shipping_1" }] } });
        for release in Release::ALL {
            let checkout = completed(release, bare.clone(), StatusCode::OK);
            assert_eq!(
                checkout["fulfillment"]["methods"][0].get("destinations").cloned(),
                release.no_destinations(),
                "{release:?}"
            );
        }
    }

    #[test]
    fn identifiers_of_the_checkout_are_kept_and_others_left_out() {
        let groups = |id: &str| json!([{ "id": id, "selected_option_id": "std-ship" }]);
        let of = |lines: Value, group: &str| {
            json!({
                "line_items": [{ "id": "li_2" }],
                "fulfillment": { "methods": [{ "id": "m", "line_item_ids": lines, "groups": groups(group) }] },
            })
        };
        let before = json!({
            "line_items": [{ "id": "li_1" }],
            "fulfillment": { "methods": [{ "id": "m", "groups": groups("g") }] },
        });
        let mut known = of(json!(["li_1", "li_2"]), "g");
        leave_out_unknown(&mut known, &before);
        assert_eq!(known, of(json!(["li_1", "li_2"]), "g"));
        let mut unknown = of(json!(["li_1", "item_123"]), "group_1");
        leave_out_unknown(&mut unknown, &before);
        assert_eq!(
            unknown["fulfillment"]["methods"],
            json!([{ "id": "m", "groups": [{ "selected_option_id": "std-ship" }] }])
        );
        let method = |destinations: Value| json!({ "fulfillment": { "methods": [{ "destinations": destinations }] } });
        let mut empty = method(json!([{ "id": "", "address_country": "US" }, { "id": "home" }]));
        leave_out_empty(&mut empty);
        assert_eq!(empty, method(json!([{ "address_country": "US" }, { "id": "home" }])));
        for mut odd in [json!(null), json!({ "fulfillment": [1] }), json!({ "fulfillment": { "methods": [1] } })] {
            leave_out_unknown(&mut odd, &json!(null));
            leave_out_empty(&mut odd);
        }
    }

    #[test]
    fn card_numbers_become_the_token_that_pays() {
        let card = json!({ "type": "card", "number": "4242424242424242" });
        let token = json!({ "type": "token", "token": "fail_token" });
        for (credential, paid) in [(card, "success_token"), (token, "fail_token")] {
            let instrument = json!({ "credential": credential });
            let mut request = json!({ "payment_data": instrument, "payment": { "instruments": [instrument] } });
            take_card(&mut request);
            assert_eq!(request["payment_data"]["credential"]["token"], paid);
            assert_eq!(request["payment"]["instruments"][0], request["payment_data"]);
        }
    }
}
