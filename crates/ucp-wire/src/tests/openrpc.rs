//! OpenRPC documents from which generators make clients, which name types by the titles of schemas.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use ucp_core::{Operation, Release};

use crate::{
    documents::documents,
    openrpc::{Detail, tools},
    schema::validator,
};

fn published() -> impl Iterator<Item = (Release, Value)> {
    let mut documents = documents("http://127.0.0.1:8080");
    let document = move |release: &Release| documents.remove(&format!("openrpc/{release}/mcp.openrpc.json"));
    Release::ALL.iter().map(document).zip(Release::ALL).map(|(document, release)| (*release, document.expect("it")))
}

/// Calls `visit` with a schema and every schema inside of it.
fn each_schema(at: &str, schema: &Value, visit: &mut dyn FnMut(&str, &Value)) {
    visit(at, schema);
    let Some(members) = schema.as_object() else { return };
    for (keyword, inner) in members {
        let at = format!("{at}/{keyword}");
        match (keyword.as_str(), inner) {
            ("properties" | "patternProperties", Value::Object(named)) => {
                named.iter().for_each(|(name, schema)| each_schema(&format!("{at}/{name}"), schema, visit));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(listed)) => {
                listed
                    .iter()
                    .enumerate()
                    .for_each(|(index, schema)| each_schema(&format!("{at}/{index}"), schema, visit));
            }
            ("const" | "default" | "enum" | "examples" | "required", _) => {}
            (_, Value::Object(_)) => each_schema(&at, inner, visit),
            _ => {}
        }
    }
}

/// The schemas of a document: those of parameters and results, and the components.
fn roots(document: &Value) -> Vec<(String, &Value)> {
    let mut roots = Vec::new();
    for method in document["methods"].as_array().expect("methods") {
        let name = method["name"].as_str().expect("a name");
        for parameter in method["params"].as_array().expect("parameters") {
            roots.push((format!("{name}.{}", parameter["name"]), &parameter["schema"]));
        }
        roots.push((format!("{name}.result"), &method["result"]["schema"]));
    }
    let components = document["components"]["schemas"].as_object().expect("components");
    roots.extend(components.iter().map(|(name, component)| (name.clone(), component)));
    roots
}

#[test]
fn every_schema_has_a_title_of_its_own() {
    for (release, document) in published() {
        let mut titles = BTreeMap::new();
        for (at, root) in roots(&document) {
            each_schema(&at, root, &mut |at, schema| {
                if schema.is_boolean() || schema.get("$ref").is_some() {
                    return;
                }
                let title = schema["title"].as_str().unwrap_or_else(|| panic!("{release} {at}: no title"));
                let is_name = title.starts_with(|first: char| first.is_ascii_uppercase())
                    && title.chars().all(|letter| letter.is_ascii_alphanumeric());
                assert!(is_name, "{release} {at}: {title}");
                if let Some(other) = titles.insert(title.to_owned(), at.to_owned()) {
                    panic!("{release} {at}: {title} is the title of {other} too");
                }
            });
        }
        for name in document["components"]["schemas"].as_object().expect("components").keys() {
            assert_eq!(titles.get(name), Some(name), "{release}: a component has its name");
        }
        assert!(titles.contains_key("CreateCheckoutResult"), "{release}: results have names: {titles:?}");
    }
}

#[test]
fn every_method_refers_to_the_one_component_with_who_calls() {
    for (release, document) in published() {
        let agent = json!({ "profile": "https://agent.example/profile.json" });
        for method in document["methods"].as_array().expect("methods") {
            let (name, schema) = (method["name"].as_str().expect("a name"), &method["params"][0]["schema"]);
            assert_eq!(method["params"][0]["name"], "meta", "{release} {name}");
            assert_eq!(schema["$ref"], "#/components/schemas/Meta", "{release} {name}");
            let mut whole = schema.clone();
            whole["components"] = document["components"].clone();
            let (validator, needs_key) =
                (validator(&whole), Operation::named(name).expect("an operation").row().effect.needs_key());
            assert_eq!(validator.is_valid(&json!({ "ucp-agent": agent })), !needs_key, "{release} {name}");
            assert!(validator.is_valid(&json!({ "ucp-agent": agent, "idempotency-key": "key" })), "{release} {name}");
            assert!(!validator.is_valid(&json!({ "idempotency-key": "key" })), "{release} {name}");
        }
    }
}

/// A result with a type beside its alternatives would be any object to a generated client.
#[test]
fn results_are_one_of_their_alternatives() {
    for (release, document) in published() {
        for method in document["methods"].as_array().expect("methods") {
            let result = &method["result"]["schema"];
            assert!(result.get("type").is_none(), "{release} {}", method["name"]);
            let alternatives = result["oneOf"].as_array().expect("alternatives");
            assert!(alternatives.iter().all(|one| one.get("$ref").is_some()), "{release} {}", method["name"]);
        }
    }
}

/// Titles cost a model tokens, and tell it nothing.
#[test]
fn tools_do_not_have_the_titles() {
    for release in Release::ALL {
        for detail in [Detail::Outline, Detail::Requests, Detail::Both] {
            for (operation, tool) in tools(crate::dialect(*release), Operation::ALL, false, detail) {
                each_schema("", &tool["inputSchema"], &mut |at, schema| {
                    assert!(!schema["title"].is_string(), "{release} {operation:?}{at}: {}", schema["title"]);
                });
            }
        }
    }
}
