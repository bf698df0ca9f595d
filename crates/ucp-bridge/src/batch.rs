//! Lookups that are too large for one call of the shop: splitting, and merging of the answers.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use super::response::{Told, Trouble};

/// Number of identifiers in one lookup that every shop should accept (rule LKP-05).
pub(super) const LEAST: usize = 10;

/// Returns the identifiers of a lookup, each once; `None` if they cannot be read, so that there is nothing to split.
pub(super) fn ids(payload: &Value) -> Option<Vec<&str>> {
    let stated = payload["ids"].as_array()?;
    let mut seen = HashSet::new();
    let texts = stated.iter().map(Value::as_str).collect::<Option<Vec<_>>>()?;
    Some(texts.into_iter().filter(|id| seen.insert(*id)).collect())
}

/// Returns the lookup of some of the identifiers.
pub(super) fn slice(payload: &Value, ids: &[&str]) -> Value {
    let mut payload = payload.clone();
    payload["ids"] = json!(ids);
    payload
}

/// Merges the answers about each slice. Identifiers of failed slices are named as unchecked, never as missing. Fails
/// with [`Trouble`] of the first failed slice if none has an answer.
pub(super) fn merge(slices: Vec<(&[&str], Result<Told, Trouble>)>) -> Result<Told, Trouble> {
    let mut whole: Option<Told> = None;
    let (mut unchecked, mut trouble) = (Vec::<&str>::new(), None);
    for (ids, result) in slices {
        match result {
            Ok(told) => match &mut whole {
                None => whole = Some(told),
                Some(whole) => add(whole.body.to_mut(), told.body.into()),
            },
            Err(failed) => {
                unchecked.extend(ids);
                trouble.get_or_insert(failed);
            }
        }
    }
    let mut whole = match (whole, trouble) {
        (Some(whole), _) => whole,
        (None, Some(trouble)) => return Err(trouble),
        (None, None) => {
            let body = Map::from_iter([("products".to_owned(), json!([]))]);
            return Ok(Told::new(200, body));
        }
    };
    if !unchecked.is_empty() {
        let content =
            format!("The shop could not be asked about some identifiers; ask again later: {}.", unchecked.join(", "));
        elements(whole.body.to_mut(), "messages")
            .push(json!({ "type": "warning", "code": "not_checked", "content": content }));
    }
    Ok(whole)
}

/// Adds the products and messages of another answer.
fn add(whole: &mut Map<String, Value>, mut other: Map<String, Value>) {
    if let Some(Value::Array(products)) = other.shift_remove("products") {
        let known = elements(whole, "products");
        for product in products {
            match known.iter_mut().find(|known| by_id(known, &product)) {
                Some(known) => unite(known, product, "variants", by_id, |known, variant| {
                    for name in ["inputs", "input"] {
                        if variant.get(name).is_some() {
                            unite(known, variant.clone(), name, PartialEq::eq, |_, _| {});
                        }
                    }
                }),
                None => known.push(product),
            }
        }
    }
    if let Some(Value::Array(messages)) = other.shift_remove("messages") {
        let known = elements(whole, "messages");
        for message in messages {
            if !known.contains(&message) {
                known.push(message);
            }
        }
    }
}

fn by_id(one: &Value, other: &Value) -> bool {
    one["id"] == other["id"]
}

/// Adds the elements of an array of an object to those of the same object in another answer, and `add`s to those that are
/// the `same`.
fn unite(
    known: &mut Value,
    mut other: Value,
    name: &str,
    same: fn(&Value, &Value) -> bool,
    add: impl Fn(&mut Value, &Value),
) {
    let Some(others) = other.get_mut(name).and_then(Value::as_array_mut).map(std::mem::take) else { return };
    let Some(known) = known.as_object_mut() else { return };
    let known = elements(known, name);
    for element in others {
        match known.iter_mut().find(|known| same(known, &element)) {
            Some(known) => add(known, &element),
            None => known.push(element),
        }
    }
}

/// Returns the array in a member, which is created, or replaced by an empty one, if it is not an array.
pub(super) fn elements<'a>(members: &'a mut Map<String, Value>, name: &str) -> &'a mut Vec<Value> {
    let member = members.entry(name).or_insert_with(|| json!([]));
    if !member.is_array() {
        *member = json!([]);
    }
    match member {
        Value::Array(elements) => elements,
        _ => unreachable!("it was just made an array"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ucp_net::Failure;

    fn told(body: Value) -> Result<Told, Trouble> {
        let Value::Object(body) = body else { panic!("an object") };
        Ok(Told::new(200, body))
    }

    #[test]
    fn products_and_inputs_are_united() {
        let one = told(json!({ "ucp": {}, "products": [
            { "id": "p", "variants": [{ "id": "v", "inputs": [{ "id": "p", "match": "featured" }] }] },
        ] }));
        let other = told(json!({ "ucp": {}, "products": [
            { "id": "p", "variants": [
                { "id": "v", "inputs": [{ "id": "v", "match": "exact" }] },
                { "id": "w", "inputs": [{ "id": "w", "match": "exact" }] },
            ] },
            { "id": "q", "variants": [] },
        ], "messages": [{ "type": "info", "code": "not_found", "content": "x" }] }));
        let whole = merge(vec![(&[], one), (&[], other)]).expect("an answer").body;
        let expected = json!({
            "ucp": {},
            "products": [
                { "id": "p", "variants": [
                    { "id": "v", "inputs": [{ "id": "p", "match": "featured" }, { "id": "v", "match": "exact" }] },
                    { "id": "w", "inputs": [{ "id": "w", "match": "exact" }] },
                ] },
                { "id": "q", "variants": [] },
            ],
            "messages": [{ "type": "info", "code": "not_found", "content": "x" }],
        });
        assert_eq!(Value::Object(whole.into()), expected);
    }

    #[test]
    fn what_was_not_checked_is_named_and_nothing_is_made_of_nothing() {
        let failed = || Err(Trouble::Failure(Failure::Connect));
        let found = told(json!({ "ucp": {}, "products": [] }));
        let whole = merge(vec![(&["a"], found), (&["b", "c"], failed())]).expect("an answer");
        let message = &whole.body["messages"][0];
        assert_eq!((&message["type"], &message["code"]), (&json!("warning"), &json!("not_checked")));
        assert!(message["content"].as_str().is_some_and(|content| content.ends_with("b, c.")));
        assert!(merge(vec![(&["a"], failed())]).is_err());
    }
}
