//! Sound JSON of the wrong shape: every member of every request with a value of another type.

use super::*;

/// A schema with its `$ref` followed.
fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => root.pointer(reference.trim_start_matches('#')).expect("a definition"),
        None => schema,
    }
}

/// A document with every member that a schema describes.
fn complete(root: &Value, schema: &Value) -> Value {
    let schema = resolved(root, schema);
    match schema["type"].as_str() {
        Some("object") => {
            let members = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
            members.map(|(name, member)| (name.clone(), complete(root, member))).collect()
        }
        Some("array") => json!([complete(root, &schema["items"])]),
        Some("integer") => json!(5),
        Some("boolean") => json!(false),
        Some("string") | None => json!("x"),
        Some(other) => panic!("the request schemas have learnt a type: {other}"),
    }
}

/// Every place of a document that a schema describes, as path and pointer, with the type that is wanted there.
fn places(root: &Value, schema: &Value, path: &str, pointer: &str, found: &mut Vec<(String, String, String)>) {
    let schema = resolved(root, schema);
    let Some(kind) = schema["type"].as_str() else { return };
    found.push((path.to_owned(), pointer.to_owned(), kind.to_owned()));
    for (name, member) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        places(root, member, &format!("{path}.{name}"), &format!("{pointer}/{name}"), found);
    }
    if let Some(items) = schema.get("items") {
        places(root, items, &format!("{path}[0]"), &format!("{pointer}/0"), found);
    }
}

fn wrong_values(kind: &str) -> Vec<Value> {
    let all = [json!(null), json!(true), json!(3), json!(1.5), json!("text"), json!([]), json!({})];
    let fits = |value: &Value| match kind {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "integer" => value.is_i64(),
        "boolean" => value.is_boolean(),
        _ => value.is_string(),
    };
    all.into_iter().filter(|value| !fits(value)).collect()
}

/// One mutation for each member of each request and each wrong type, generated from our own request schemas.
#[test]
fn a_wrong_type_anywhere_is_refused_at_its_place() {
    let gateway = Gateway::shared();
    let mut refusals = 0;
    for operation in crate::harness::BROWSING {
        let name = operation.row().name;
        let text = std::fs::read_to_string(
            repository().join(format!("schemas/{}/{name}.request.json", ucp_core::Release::NEWEST)),
        );
        let schema: Value = serde_json::from_str(&text.expect("a schema")).expect("JSON");
        let mut valid = complete(&schema, &schema);
        if let Some(pagination) = valid.get_mut("pagination").and_then(Value::as_object_mut) {
            // A cursor that was issued by nobody is refused for itself.
            pagination.shift_remove("cursor");
        }
        if let Some(handler) = valid.pointer_mut("/context/payment/0/handler") {
            *handler = json!("com.example.pay");
        }
        assert!(own_schema(&format!("{name}.request")).is_valid(&valid), "{valid}");
        assert!(matches!(gateway.rest(name, &valid), Verdict::Answered(_)), "{name} takes {valid}");
        let mut found = Vec::new();
        places(&schema, &schema, "$", "", &mut found);
        assert!(found.len() > 15, "{name}: {found:?}");
        // A claim is never a reason to refuse a call.
        for (path, pointer, kind) in found.into_iter().filter(|(path, ..)| path != "$.context.eligibility[0]") {
            if path == "$.pagination.cursor" {
                valid["pagination"]["cursor"] = json!("x");
            }
            for wrong in wrong_values(&kind) {
                // The founding documents write a single category as text.
                if path == "$.filters.categories" && wrong.is_string() {
                    continue;
                }
                let mut payload = valid.clone();
                *payload.pointer_mut(&pointer).unwrap_or_else(|| panic!("{pointer} of {valid}")) = wrong.clone();
                let [rest, mcp] = both(&gateway, name, payload.to_string().as_bytes());
                // A tool is called by models: what they leave empty is absent.
                assert_eq!(
                    gateway.rest(name, &crate::harness::as_of_a_model(ucp_core::Release::NEWEST, name, &payload)),
                    mcp,
                    "{name} {path} {wrong}"
                );
                let refusal = rest.refusal();
                assert_eq!(refusal.code, "invalid_request", "{name} {path} {wrong}: {refusal:?}");
                assert_eq!(refusal.path.as_deref(), Some(path.as_str()), "{name} {wrong}: {refusal:?}");
                assert!(refusal.accepted.is_some(), "{name} {path} {wrong}: {refusal:?}");
                refusals += 1;
            }
            if path == "$.pagination.cursor" {
                valid["pagination"].as_object_mut().expect("an object").shift_remove("cursor");
            }
        }
    }
    assert!(refusals > 300, "{refusals} refusals");
}

#[test]
fn amounts_are_integers_of_a_sane_size() {
    let gateway = Gateway::shared();
    for bound in ["min", "max"] {
        for wrong in ["-1", "0.5", "1e300", "9007199254740992", "-0.1", "18446744073709551616", "1e-5"] {
            let payload = format!("{{\"filters\":{{\"price\":{{\"{bound}\":{wrong}}}}}}}");
            let [rest, mcp] = both(&gateway, "search_catalog", payload.as_bytes());
            assert_eq!(rest, mcp, "{payload}");
            let refusal = rest.refusal();
            let path = format!("$.filters.price.{bound}");
            assert_eq!((refusal.code.as_str(), refusal.path.as_ref()), ("invalid_request", Some(&path)), "{payload}");
        }
    }
}

#[test]
fn missing_members_are_named() {
    let gateway = Gateway::shared();
    for (operation, payload, path) in [
        ("lookup_catalog", json!({}), "$.ids"),
        ("get_product", json!({}), "$.id"),
        ("get_product", json!({ "id": "x", "selected": [{ "label": "Red" }] }), "$.selected[0].name"),
        ("get_product", json!({ "id": "x", "selected": [{ "name": "Color" }] }), "$.selected[0].label"),
    ] {
        let [rest, mcp] = both(&gateway, operation, payload.to_string().as_bytes());
        assert_eq!(rest, mcp, "{payload}");
        assert_eq!(rest.refusal().path.as_deref(), Some(path), "{payload}");
    }
}

/// Names of members are echoed in paths; nothing of them may break out.
#[test]
fn paths_and_contents_are_printable_whatever_is_sent() {
    let gateway = Gateway::shared();
    for name in ["a'b", "\\", "\r\nX: y", "𝕏", "\u{202e}", &"n".repeat(10_000)] {
        let payload = json!({ "query": "runner", "filters": { name: true }, "com.example.more": { name: 1 } });
        for verdict in both(&gateway, "search_catalog", payload.to_string().as_bytes()) {
            let answer = verdict.answer();
            assert_eq!(codes(&answer), ["filter_ignored"]);
            let content = answer["messages"][0]["content"].as_str().expect("a text");
            assert!(content.len() < 500 && !content.chars().any(char::is_control), "{content:?}");
        }
        let key = serde_json::to_string(name).expect("JSON");
        let twice = format!("{{\"query\":\"a\",\"com.example.more\":{{{key}:1,{key}:2}}}}");
        let path = refused_by_both(&gateway, "search_catalog", twice.as_bytes()).path.expect("a path");
        assert!(path.len() < 500 && !path.chars().any(char::is_control), "{path:?}");
    }
}
