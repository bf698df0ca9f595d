//! One mutation for each member of each request of each release, made from the schemas that we publish: what they do
//! not allow is refused at its place, what they allow is answered, and nothing fails.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use ucp_core::{Operation, Release, operation::Class};

use super::shopper::{Flowers, Said, Shopper, id, lines, ready};
use crate::{
    harness::{as_of_a_model, own_schema_of, repository},
    setup::Transport,
};

fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).expect("a definition"),
        None => schema,
    }
}

/// A document with every member that a schema describes.
fn complete(root: &Value, schema: &Value) -> Value {
    let schema = resolved(root, schema);
    if let Some(choices) = schema.get("enum") {
        return choices[0].clone();
    }
    match schema["type"].as_str() {
        Some("object") => {
            let described = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let mut members: serde_json::Map<_, _> =
                described.map(|(name, member)| (name.clone(), complete(root, member))).collect();
            if let Some(others) = schema.get("additionalProperties").filter(|others| others.is_object()) {
                members.insert("com.example.more".to_owned(), complete(root, others));
            }
            Value::Object(members)
        }
        Some("array") => json!([complete(root, &schema["items"])]),
        Some("integer") => json!(1),
        Some("boolean") => json!(true),
        _ if schema.get("format").is_some_and(|format| format == "uri") => json!("https://example.com/"),
        _ => json!("x"),
    }
}

/// A place of a document: its path, its pointer, and what it may hold.
struct MemberPlace {
    path: String,
    pointer: String,
    schema: Value,
}

/// Every place of a document that a schema describes.
fn places(root: &Value, schema: &Value, path: &str, pointer: &str, found: &mut Vec<MemberPlace>) {
    let schema = resolved(root, schema);
    found.push(MemberPlace { path: path.to_owned(), pointer: pointer.to_owned(), schema: schema.clone() });
    for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        places(root, member, &format!("{path}.{name}"), &format!("{pointer}/{name}"), found);
    }
    if let Some(others) = schema.get("additionalProperties").filter(|others| others.is_object()) {
        places(root, others, &format!("{path}['com.example.more']"), &format!("{pointer}/com.example.more"), found);
    }
    if let Some(items) = schema.get("items") {
        places(root, items, &format!("{path}[0]"), &format!("{pointer}/0"), found);
    }
}

/// Returns `true` if what stands in a place has to be the identifier of another part of the request.
fn names_others(path: &str) -> bool {
    ["parent_id", "line_item_ids", "methods[0].id", "groups[0].id"].iter().any(|name| path.contains(name))
}

/// Replacement for a place.
fn mutations(place: &MemberPlace, present: &Value) -> Vec<Value> {
    let mut all = vec![
        json!(null),
        json!(true),
        json!(3),
        json!(-1),
        json!(1.5),
        json!(1e30),
        json!(u64::MAX),
        json!("text"),
        json!(""),
        json!("\u{202e}\u{1f339}e\u{301}"),
        json!([]),
        json!({}),
        json!([present]),
        json!({ "value": present }),
    ];
    let length = place.schema.get("maxLength").and_then(Value::as_u64).unwrap_or(2_000);
    if present.is_string() {
        all.push(json!("n".repeat(usize::try_from(length).expect("a length") + 1)));
        all.push(json!("\u{1f339}".repeat(usize::try_from(length).expect("a length"))));
    }
    if let Some(most) = place.schema.get("maxItems").and_then(Value::as_u64) {
        let more = usize::try_from(most).expect("a length") + 1;
        all.push(Value::Array(vec![present[0].clone(); more]));
    }
    if present.is_object() {
        all.push((0..200).map(|number| (format!("com.example.n{number}"), json!(number))).collect());
    }
    all.retain(|value| value != present);
    all
}

/// A request for each operation that takes one, as it is carried out.
fn requests<'a>(shopper: &Shopper<'a>) -> Vec<(&'static str, Option<String>)> {
    let callable = |operation: &&Operation| {
        let row = operation.row();
        let carts = shopper.release >= Release::V2026_04_08 || row.name.ends_with("_checkout");
        row.class == Class::Purchase && row.payload.is_some() && carts
    };
    let resource = |name: &str| match name {
        "update_cart" => {
            let cart = shopper.call("create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) }));
            Some(id(&cart.document()).to_owned())
        }
        // One that nobody can complete, so that it stays open.
        "update_checkout" | "complete_checkout" => {
            Some(id(&shopper.create(&json!({ "line_items": lines(&[("pot_ceramic", 1)]) }))).to_owned())
        }
        _ => None,
    };
    Operation::ALL
        .iter()
        .filter(callable)
        .map(|operation| operation.row().name)
        .map(|name| (name, resource(name)))
        .collect()
}

/// Content, without the parts of each call.
fn verdict(said: &Said) -> Result<u16, (u16, String, String, String)> {
    if said.failure.is_none() || !said.errors().contains(&"invalid_request".to_owned()) {
        return Ok(said.status);
    }
    let (code, _, body) = said.refusal();
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    Err((said.status, code, text("path"), text("accepted")))
}

#[test]
fn a_mutation_of_any_member_is_refused_at_its_place_or_answered() {
    let shop = Flowers::open();
    let mut tally = BTreeMap::new();
    for release in Release::ALL.iter().copied() {
        let shopper = Shopper::new(&shop, release, Transport::Rest);
        for (operation, resource) in requests(&shopper) {
            let file = repository().join(format!("schemas/{release}/{operation}.request.json"));
            let schema: Value = serde_json::from_str(&std::fs::read_to_string(file).expect("a schema")).expect("JSON");
            let validator = own_schema_of(release, &format!("{operation}.request"));
            let mut valid = complete(&schema, &schema);
            // Values beyond the schema must be valid, too.
            for (pointer, sound) in [
                ("/line_items/0/item/id", "pot_ceramic"),
                ("/fulfillment/methods/0/type", "shipping"),
                ("/context/payment/0/handler", "com.example.pay"),
            ] {
                if let Some(place) = valid.pointer_mut(pointer) {
                    *place = json!(sound);
                }
            }
            assert!(validator.is_valid(&valid), "{valid}");
            let mut found = Vec::new();
            places(&schema, &schema, "$", "", &mut found);
            assert!(found.len() > 5, "{operation} has members");
            for (number, place) in found.iter().enumerate() {
                let present = valid.pointer(&place.pointer).unwrap_or_else(|| panic!("{} of {valid}", place.pointer));
                for mutation in mutations(place, present) {
                    let mut request = valid.clone();
                    *request.pointer_mut(&place.pointer).expect("the place") = mutation.clone();
                    // References to other parts of the request are validated by the shop, not by the schema.
                    for (holder, name) in [
                        ("/line_items/0", "parent_id"),
                        ("/fulfillment/methods/0", "line_item_ids"),
                        ("/fulfillment/methods/0", "id"),
                        ("/fulfillment/methods/0/groups/0", "id"),
                    ] {
                        if !names_others(&place.path)
                            && let Some(members) = request.pointer_mut(holder).and_then(Value::as_object_mut)
                        {
                            members.shift_remove(name);
                        }
                    }
                    let allowed = validator.is_valid(&request) && !names_others(&place.path);
                    // Valid requests are worth a few calls only: they are written to disk.
                    if allowed && number % 3 != 0 {
                        continue;
                    }
                    let said = shopper.call(operation, resource.as_deref(), &request);
                    let rest = verdict(&said);
                    let context = || format!("{release} {operation} {} {mutation:.80}: {said:.900?}", place.path);
                    match &rest {
                        Ok(status) => {
                            // A claim is never a reason to refuse a call.
                            let is_claim = place.path.starts_with("$.context.eligibility");
                            assert!(allowed || names_others(&place.path) || is_claim, "{}", context());
                            // The first two releases say with 400 that there is nothing to sell.
                            let nothing = *status == 400 && shopper.founding();
                            assert!(nothing || [200, 201, 404, 409].contains(status), "{}", context());
                        }
                        Err((status, code, path, accepted)) => {
                            assert!(!allowed, "{}", context());
                            assert_eq!((*status, code.as_str()), (400, "invalid_request"), "{}", context());
                            // Of two such members, either may be the one that is wrong.
                            assert!(path.starts_with(&place.path) || names_others(path), "{}", context());
                            assert!(!accepted.is_empty() || said.refusal().1.contains("is missing"), "{}", context());
                        }
                    }
                    let refused = rest.is_err();
                    *tally.entry((release, operation, refused)).or_insert(0_u32) += 1;
                    if refused && number % 5 == 0 {
                        for transport in [Transport::Tool, Transport::Method] {
                            // Flat parameters are the payload; without one they are another.
                            if mutation.is_null() || (place.pointer.is_empty() && !mutation.is_object()) {
                                continue;
                            }
                            // Models call tools: what they leave empty is absent.
                            let meant = as_of_a_model(release, operation, &request);
                            if transport == Transport::Tool && meant != request {
                                continue;
                            }
                            let other = shopper.over(transport).call(operation, resource.as_deref(), &request);
                            assert_eq!(verdict(&other), rest, "{transport:?} {}", context());
                        }
                    }
                }
            }
        }
    }
    for ((release, operation, refused), count) in &tally {
        assert!(*count >= 3, "{release} {operation} {refused}: {count}");
    }
    let refusals: u32 = tally.iter().filter(|((.., refused), _)| *refused).map(|(_, count)| count).sum();
    assert!(refusals > 5_000, "{refusals} refusals");
    let after = Shopper::rest(&shop).create(&ready(&[("pot_ceramic", 1)]));
    assert_eq!(after["status"], "ready_for_complete");
    assert_eq!(shop.stderr(), "");
}
