use proptest::{prelude::*, sample::select, strategy::ValueTree as _, test_runner::TestRunner};
use serde_json::{Map, Value, json};
use ucp_core::{Code, Operation, Release};

use super::read;
use crate::{dialect, schema};

/// Every operation with a payload, in every release that has it.
fn requests() -> Vec<(Release, Operation, &'static Value)> {
    let releases =
        Release::ALL.iter().flat_map(|release| Operation::ALL.iter().map(move |operation| (*release, *operation)));
    let schema =
        |(release, operation)| Some((release, operation, dialect(release).shapes(operation)?.request_schema()?));
    releases.filter_map(schema).collect()
}

fn read_as(release: Release, operation: Operation, payload: &Value) -> Value {
    let mut payload = payload.clone();
    let read = read(dialect(release), operation, &mut payload);
    read.unwrap_or_else(|refusal| panic!("{release} {operation:?}: {refusal:?}"));
    payload
}

/// A schema with its reference followed and the first of its choices in it.
fn chosen(root: &Value, schema: &Value) -> Map<String, Value> {
    let mut chosen = schema::resolved(root, schema).as_object().cloned().unwrap_or_default();
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let first = chosen.get(keyword).and_then(|choices| choices.get(0)).map(|choice| self::chosen(root, choice));
        for (name, value) in first.into_iter().flatten().filter(|(name, _)| name != "required") {
            match (chosen.get_mut(&name), value) {
                (Some(Value::Object(own)), Value::Object(more)) => {
                    more.into_iter().for_each(|(name, value)| {
                        own.entry(name).or_insert(value);
                    });
                }
                (None, value) => drop(chosen.insert(name, value)),
                _ => {}
            }
        }
    }
    chosen
}

/// A document with every member that a schema names.
fn complete(root: &Value, schema: &Value, depth: usize) -> Value {
    let schema = chosen(root, schema);
    if let Some(value) = schema.get("const").or_else(|| schema.get("enum")?.get(0)) {
        return value.clone();
    }
    let kind = |kind: &Value| kind.as_str().or_else(|| kind[0].as_str()).map(str::to_owned);
    match schema.get("type").and_then(kind).as_deref() {
        Some("object") => {
            let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let members = members.filter(|_| depth < 12);
            members.map(|(name, member)| (name.clone(), complete(root, member, depth + 1))).collect()
        }
        Some("array") => match schema.get("items") {
            Some(items) if depth < 12 => json!([complete(root, items, depth + 1)]),
            _ => json!([]),
        },
        Some("integer" | "number") => json!(5),
        Some("boolean") => json!(false),
        _ => json!("x"),
    }
}

/// Every described member of a document: its pointer, its schema, and whether it is required.
fn members(root: &Value, schema: &Value, document: &Value, pointer: &str, found: &mut Vec<(String, Value, bool)>) {
    let schema = chosen(root, schema);
    match document {
        Value::Object(document) => {
            let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
                let Some(value) = document.get(name) else { continue };
                let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
                found.push((pointer.clone(), member.clone(), required.contains(&json!(name))));
                members(root, member, value, &pointer, found);
            }
        }
        Value::Array(elements) => {
            for (position, element) in elements.iter().enumerate() {
                let Some(items) = schema.get("items") else { continue };
                members(root, items, element, &format!("{pointer}/{position}"), found);
            }
        }
        _ => {}
    }
}

fn with(document: &Value, pointer: &str, value: Option<Value>) -> Value {
    let mut document = document.clone();
    let (parent, name) = pointer.rsplit_once('/').expect("a member");
    let name = name.replace("~1", "/").replace("~0", "~");
    let parent = document.pointer_mut(parent).expect("its parent").as_object_mut().expect("an object");
    match value {
        Some(value) => parent.insert(name, value),
        None => parent.shift_remove(&name),
    };
    document
}

/// Each optional member of each operation in each release.
#[test]
fn an_optional_member_that_is_null_is_absent_and_a_required_one_is_not() {
    let (mut absent, mut kept) = (0, 0);
    for (release, operation, schema) in requests() {
        let document = complete(schema, schema, 0);
        let whole = read_as(release, operation, &document);
        assert_eq!(whole, document, "{release} {operation:?}");
        let mut found = Vec::new();
        members(schema, schema, &document, "", &mut found);
        for (pointer, member, required) in found {
            let alone = schema::validator(&json!({ "$defs": schema.get("$defs"), "allOf": [member] }));
            let nulled = with(&document, &pointer, Some(Value::Null));
            let read = read_as(release, operation, &nulled);
            if required || alone.is_valid(&Value::Null) {
                assert_eq!(read, nulled, "{release} {operation:?} {pointer}");
                kept += 1;
            } else {
                assert_eq!(read, with(&document, &pointer, None), "{release} {operation:?} {pointer}");
                absent += 1;
            }
        }
    }
    assert!(absent > 1_000 && kept > 100, "{absent} absent, {kept} kept");
}

#[test]
fn json_in_a_text_is_read_where_the_schema_wants_no_text() {
    let mut count = 0;
    for (release, operation, schema) in requests() {
        let document = complete(schema, schema, 0);
        let text = Value::from(document.to_string());
        assert_eq!(read_as(release, operation, &text), document, "{release} {operation:?}: the whole payload");
        let mut found = Vec::new();
        members(schema, schema, &document, "", &mut found);
        for (pointer, member, _) in found {
            let value = document.pointer(&pointer).expect("it is there");
            let kind = chosen(schema, &member);
            let kind = kind.get("type").and_then(Value::as_str).unwrap_or("string");
            let written = with(&document, &pointer, Some(Value::from(value.to_string())));
            let read = read_as(release, operation, &written);
            if ["object", "array", "integer", "number", "boolean"].contains(&kind) {
                assert_eq!(read, document, "{release} {operation:?} {pointer}");
                count += 1;
            } else if value.is_string() {
                assert_eq!(read, written, "{release} {operation:?} {pointer}: a text stays one");
            }
        }
    }
    assert!(count > 500, "{count} members");
}

#[test]
fn a_text_without_characters_is_absent_where_none_is_accepted() {
    let search = |payload: Value| read_as(Release::NEWEST, Operation::SearchCatalog, &payload);
    for release in [Release::V2026_04_08, Release::V2026_08_25] {
        let payload = json!({ "query": "", "pagination": { "cursor": "", "limit": "3" } });
        let read = read_as(release, Operation::SearchCatalog, &payload);
        assert_eq!(read, json!({ "query": "", "pagination": { "limit": 3 } }), "{release}");
    }
    let merchants = json!({ "query": "pizza", "pagination": { "cursor": "" } });
    assert_eq!(
        read_as(Release::NEWEST, Operation::SearchMerchants, &merchants),
        json!({ "query": "pizza", "pagination": {} })
    );
    assert_eq!(search(json!({ "query": "x", "filters": "", "pagination": "" })), json!({ "query": "x" }));
    assert_eq!(
        search(json!({ "filters": { "price": { "min": "", "max": "15000" } } })),
        json!({ "filters": { "price": { "max": 15000 } } })
    );
}

#[test]
fn texts_that_are_no_json_of_the_wanted_type_stay() {
    for wrong in [
        json!({ "pagination": { "limit": "three" } }),
        json!({ "pagination": { "limit": "1.5" } }),
        json!({ "pagination": { "limit": "[1]" } }),
        json!({ "pagination": "3" }),
        json!({ "pagination": "null" }),
        json!({ "filters": { "available": "yes" } }),
        json!({ "query": 3 }),
        json!({ "query": { "a": null } }),
        json!({ "com.example.more": null, "filters": { "com.example.more": null } }),
        json!([null, ""]),
        json!(null),
        json!("text"),
    ] {
        assert_eq!(read_as(Release::NEWEST, Operation::SearchCatalog, &wrong), wrong, "{wrong}");
    }
}

#[test]
fn json_text_is_as_strict_as_the_message_around_it() {
    let refused = |text: &str| {
        let mut payload = json!({ "query": "x", "filters": text });
        let refusal = read(dialect(Release::NEWEST), Operation::SearchCatalog, &mut payload).expect_err(text);
        (refusal.code, refusal.path.unwrap_or_default())
    };
    assert_eq!(refused(r#"{"price":{"min":1,"min":2}}"#), (Code::MalformedJson, "$.filters.price.min".to_owned()));
    assert_eq!(refused(r#"{"price":"#), (Code::MalformedJson, "$.filters.price".to_owned()));
    assert_eq!(refused(&format!("{}{}", "[".repeat(200), "]".repeat(200))).0, Code::MalformedJson);
    assert_eq!(refused(&format!("[{}1]", "1,".repeat(60_000))).0, Code::RequestTooLarge);
    // All texts of a payload together.
    let many = format!("[{}1]", "1,".repeat(30_000));
    let mut payload = json!({ "filters": many, "pagination": many });
    let refusal = read(dialect(Release::NEWEST), Operation::SearchCatalog, &mut payload).expect_err("too many");
    assert_eq!(refusal.code, Code::RequestTooLarge);
    assert!(refusal.path.is_some_and(|path| path.starts_with("$.pagination[")));
}

/// A document of the members that a schema names, with values that are right by chance.
fn anything(root: &Value, schema: &Value, depth: usize) -> BoxedStrategy<Value> {
    let schema = chosen(root, schema);
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return select(values.clone()).boxed();
    }
    if let Some(value) = schema.get("const") {
        return Just(value.clone()).boxed();
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("object") if depth < 5 => {
            let required = schema.get("required").and_then(Value::as_array).cloned().unwrap_or_default();
            let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            let members: Vec<_> = members
                .map(|(name, member)| {
                    let (name, chance) = (name.clone(), if required.contains(&json!(name)) { 0.999 } else { 0.3 });
                    let value = anything(root, member, depth + 1);
                    prop::option::weighted(chance, value)
                        .prop_map(move |value| value.map(|value| (name.clone(), value)))
                })
                .collect();
            members.prop_map(|members| Value::Object(members.into_iter().flatten().collect())).boxed()
        }
        Some("object") => Just(json!({})).boxed(),
        Some("array") => match schema.get("items") {
            Some(items) if depth < 5 => {
                prop::collection::vec(anything(root, items, depth + 1), 0..3).prop_map(Value::from).boxed()
            }
            _ => Just(json!([])).boxed(),
        },
        Some("integer" | "number") => (0..100_i64).prop_map(Value::from).boxed(),
        Some("boolean") => any::<bool>().prop_map(Value::from).boxed(),
        _ => select(vec![
            "",
            "3",
            "true",
            "null",
            "{\"a\":null}",
            "[\"\"]",
            "US",
            "USD",
            "de",
            "x@example.com",
            "https://a.example/",
        ])
        .prop_map(Value::from)
        .boxed(),
    }
}

#[test]
fn a_well_formed_payload_is_never_changed() {
    let mut valid = 0;
    for (release, operation, schema) in requests() {
        let validator = schema::validator(schema);
        let mut runner = TestRunner::deterministic();
        let strategy = anything(schema, schema, 0);
        for _ in 0..60 {
            let payload = strategy.new_tree(&mut runner).expect("a payload").current();
            if validator.is_valid(&payload) {
                assert_eq!(read_as(release, operation, &payload), payload, "{release} {operation:?}");
                valid += 1;
            }
        }
    }
    assert!(valid > 500, "{valid} well-formed payloads");
}
