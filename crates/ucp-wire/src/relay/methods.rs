//! Methods of delivery in creations and updates of checkouts.
//!
//! Every release requires the lines of each method in an update, and the first two its identifier. The gateway requires
//! neither of its callers (trap T-13), so that both are added for shops which may. Servers of the first two releases also
//! require an identifier of each destination, which is optional in the schemas, and deliver to none that is not chosen.

use serde_json::{Map, Value};
use ucp_core::Release;

use crate::releases::dialect;

/// Returns `true` if a method in the payload lacks what the release requires of it.
pub fn lack_members(to: Release, payload: &Value) -> bool {
    let identified = dialect(to).identifies_methods();
    let mut methods = payload["fulfillment"]["methods"].as_array().into_iter().flatten();
    methods.any(|method| !method["line_item_ids"].is_array() || identified && !method["id"].is_string())
}

/// Adds to the methods in the payload what the release requires of them and they lack. `checkout` is the one that is
/// updated, as the shop states it in that release.
///
/// The first method without lines gets all that no other one names, unless one of them is new: only the shop names
/// that. Lines without identifier are then identified, each as the line of the checkout with the same item.
pub fn supply_members(to: Release, payload: &mut Value, checkout: &Map<String, Value>) {
    let lines = identified(payload, checkout);
    let Some(methods) = payload.pointer_mut("/fulfillment/methods").and_then(Value::as_array_mut) else { return };
    let mut rest = lines.clone();
    if let Some(rest) = &mut rest {
        let named: Vec<_> = methods.iter().filter_map(|method| method["line_item_ids"].as_array()).flatten().collect();
        rest.retain(|id| !named.contains(&id));
    }
    let known: Vec<_> =
        checkout.get("fulfillment").and_then(|stated| stated["methods"].as_array()).into_iter().flatten().collect();
    let mut taken: Vec<Value> = methods.iter().map(|method| method["id"].clone()).collect();
    let mut supplied = false;
    for method in methods.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(rest) = &mut rest
            && !method.get("line_item_ids").is_some_and(Value::is_array)
        {
            method.insert("line_item_ids".to_owned(), std::mem::take(rest).into());
            supplied = true;
        }
        if dialect(to).identifies_methods() && !method.get("id").is_some_and(Value::is_string) {
            let same = |other: &&&Value| method.get("type").is_none_or(|kind| *kind == other["type"]);
            let before = known.iter().filter(same).map(|other| other["id"].clone()).find(|id| !taken.contains(id));
            let unused = || (1..).map(|number| Value::from(format!("method_{number}"))).find(|id| !taken.contains(id));
            if let Some(id) = before.or_else(unused) {
                taken.push(id.clone());
                method.insert("id".to_owned(), id);
            }
        }
    }
    if supplied && let Some(ids) = lines {
        let stated = payload.get_mut("line_items").and_then(Value::as_array_mut).into_iter().flatten();
        for (line, id) in stated.filter_map(Value::as_object_mut).zip(ids) {
            line.entry("id").or_insert(id);
        }
    }
}

/// Names the destinations in the payload that have no identifier, for shops of the first two releases. The only one of a
/// method is then chosen, if the payload chooses none: without identifiers, the caller could not.
pub fn name_destinations(to: Release, payload: &mut Value) {
    if !dialect(to).identifies_methods() {
        return;
    }
    let Some(methods) = payload.pointer_mut("/fulfillment/methods").and_then(Value::as_array_mut) else { return };
    let stated = methods.iter().filter_map(|method| method["destinations"].as_array()).flatten();
    let mut taken: Vec<Value> = stated.map(|destination| destination["id"].clone()).collect();
    for method in methods.iter_mut().filter(|method| method["type"] != "pickup").filter_map(Value::as_object_mut) {
        let Some(destinations) = method.get_mut("destinations").and_then(Value::as_array_mut) else { continue };
        let mut only = None;
        let alone = destinations.len() == 1;
        for destination in destinations.iter_mut().filter_map(Value::as_object_mut) {
            if destination.get("id").is_some_and(Value::is_string) {
                continue;
            }
            let unused =
                (1..).map(|number| Value::from(format!("destination_{number}"))).find(|id| !taken.contains(id));
            if let Some(id) = unused {
                taken.push(id.clone());
                only = Some(id.clone()).filter(|_| alone);
                destination.insert("id".to_owned(), id);
            }
        }
        if let Some(only) = only {
            method.entry("selected_destination_id").or_insert(only);
        }
    }
}

/// Returns the identifiers of the lines in the payload, those of the checkout where it states none; `None` if a line is
/// new.
fn identified(payload: &Value, checkout: &Map<String, Value>) -> Option<Vec<Value>> {
    let stated = payload["line_items"].as_array()?;
    let mut taken: Vec<&Value> = stated.iter().map(|line| &line["id"]).filter(|id| id.is_string()).collect();
    let known = checkout.get("line_items")?.as_array()?;
    let id = |line| {
        let line: &Value = line;
        if line["id"].is_string() {
            return Some(line["id"].clone());
        }
        let same = |other: &&Value| other["item"]["id"] == line["item"]["id"] && !taken.contains(&&other["id"]);
        let id = &known.iter().find(same)?["id"];
        taken.push(id);
        id.is_string().then(|| id.clone())
    };
    stated.iter().map(id).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checkout() -> Value {
        json!({
            "line_items": [{ "id": "l1", "item": { "id": "a" } }, { "id": "l2", "item": { "id": "b" } }],
            "fulfillment": { "methods": [{ "id": "m1", "type": "shipping" }, { "id": "m2", "type": "pickup" }] },
        })
    }

    /// The payload as a shop of the release gets it.
    fn supplied(to: Release, lines: &Value, methods: &Value) -> Value {
        let mut payload = json!({ "line_items": lines, "fulfillment": { "methods": methods } });
        supply_members(to, &mut payload, checkout().as_object().expect("an object"));
        payload
    }

    #[test]
    fn a_method_without_lines_has_those_that_no_other_method_names() {
        let lines = json!([{ "item": { "id": "b" } }, { "item": { "id": "a" } }]);
        let all = supplied(Release::NEWEST, &lines, &json!([{ "type": "shipping" }]));
        assert_eq!(all["fulfillment"]["methods"], json!([{ "type": "shipping", "line_item_ids": ["l2", "l1"] }]));
        assert_eq!((&all["line_items"][0]["id"], &all["line_items"][1]["id"]), (&json!("l2"), &json!("l1")));
        assert!(!lack_members(Release::NEWEST, &all));
        let methods =
            json!([{ "type": "shipping" }, { "type": "pickup", "line_item_ids": ["l2"] }, { "type": "shipping" }]);
        assert!(lack_members(Release::NEWEST, &json!({ "fulfillment": { "methods": methods } })));
        let some = supplied(Release::NEWEST, &lines, &methods);
        let of = |method: usize| &some["fulfillment"]["methods"][method]["line_item_ids"];
        assert_eq!([of(0), of(1), of(2)], [&json!(["l1"]), &json!(["l2"]), &json!([])]);
    }

    #[test]
    fn lines_that_the_shop_has_not_named_yet_are_left_to_it() {
        for lines in [json!([{ "item": { "id": "c" } }]), json!([{ "item": { "id": "a" } }, { "item": { "id": "a" } }])]
        {
            let methods = json!([{ "type": "shipping" }]);
            let left = supplied(Release::NEWEST, &lines, &methods);
            assert_eq!(left, json!({ "line_items": lines, "fulfillment": { "methods": methods } }));
        }
    }

    #[test]
    fn destinations_have_identifiers_in_the_first_releases() {
        let address = |city: &str| json!({ "address_locality": city });
        let payload = json!({ "fulfillment": { "methods": [
            { "type": "shipping", "destinations": [address("a")] },
            { "type": "shipping", "destinations": [{ "id": "destination_1" }, address("b"), address("c")] },
            { "destinations": [address("d")], "selected_destination_id": null },
            { "type": "pickup", "destinations": [address("e")] },
            { "type": "shipping" },
        ] } });
        for to in [Release::V2026_01_11, Release::V2026_01_23] {
            let mut named = payload.clone();
            name_destinations(to, &mut named);
            let methods = &named["fulfillment"]["methods"];
            let ids = |method: usize| -> Vec<&Value> {
                methods[method]["destinations"].as_array().expect("destinations").iter().map(|own| &own["id"]).collect()
            };
            assert_eq!(ids(0), ["destination_2"]);
            assert_eq!(methods[0]["selected_destination_id"], "destination_2");
            assert_eq!(ids(1), ["destination_1", "destination_3", "destination_4"]);
            assert_eq!(methods[1].get("selected_destination_id"), None);
            assert_eq!((ids(2), &methods[2]["selected_destination_id"]), (vec![&json!("destination_5")], &Value::Null));
            assert_eq!(ids(3), [&Value::Null]);
        }
        let mut kept = payload.clone();
        name_destinations(Release::V2026_04_08, &mut kept);
        assert_eq!(kept, payload);
    }

    #[test]
    fn methods_have_identifiers_in_the_first_releases() {
        let lines = json!([{ "id": "mine", "item": { "id": "c" } }]);
        let method = |kind: &str| json!({ "type": kind, "line_item_ids": [] });
        let methods = json!([method("shipping"), method("shipping"), method("pickup"), { "id": "method_2", "line_item_ids": ["mine"] }]);
        for to in [Release::V2026_01_11, Release::V2026_01_23] {
            assert!(lack_members(to, &json!({ "fulfillment": { "methods": methods } })));
            let named = supplied(to, &lines, &methods);
            assert!(!lack_members(to, &named));
            let id = |method: usize| &named["fulfillment"]["methods"][method]["id"];
            assert_eq!(
                [id(0), id(1), id(2), id(3)],
                [&json!("m1"), &json!("method_1"), &json!("m2"), &json!("method_2")]
            );
        }
        assert!(!lack_members(Release::NEWEST, &json!({ "fulfillment": { "methods": methods } })));
        assert_eq!(supplied(Release::NEWEST, &lines, &methods)["fulfillment"]["methods"], methods);
    }
}
