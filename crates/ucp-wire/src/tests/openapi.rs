//! OpenAPI documents from which generators make clients.

use std::{collections::BTreeMap, sync::LazyLock};

use serde_json::{Map, Value, json};
use ucp_core::{Operation, Release};

use crate::{
    documents::documents,
    schema::{Direction, bundle, generator, validator},
};

/// The OpenAPI document of every release.
fn published() -> impl Iterator<Item = (Release, &'static Value)> {
    static DOCUMENTS: LazyLock<BTreeMap<String, Value>> = LazyLock::new(|| documents("http://127.0.0.1:8080"));
    Release::ALL.iter().map(|release| (*release, &DOCUMENTS[&format!("openapi/{release}/rest.openapi.json")]))
}

/// Calls `visit` with every object in a document and its JSON Pointer.
fn each_object(at: &str, value: &Value, visit: &mut dyn FnMut(&str, &Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            visit(at, members);
            members.iter().for_each(|(name, member)| each_object(&format!("{at}/{name}"), member, visit));
        }
        Value::Array(elements) => {
            elements
                .iter()
                .enumerate()
                .for_each(|(index, element)| each_object(&format!("{at}/{index}"), element, visit));
        }
        _ => {}
    }
}

/// Calls `visit` with every schema of the document of every release that is made for generators, and with the release and
/// the JSON Pointer. Not visited are conditions, which generators pass over.
fn each_schema(mut visit: impl FnMut(&str, &Map<String, Value>)) {
    for (release, document) in published() {
        each_object("", document, &mut |at, schema| {
            if !["/if", "/then", "/not", "/propertyNames"].iter().any(|condition| at.contains(condition)) {
                visit(&format!("{release}{at}"), schema);
            }
        });
    }
}

#[test]
fn licence_and_security_are_declared() {
    for (release, document) in published() {
        assert_eq!(document["info"]["license"]["identifier"], "Apache-2.0", "{release}");
        let schemes = document["components"]["securitySchemes"].as_object().expect("schemes");
        let named: Vec<_> = document["security"]
            .as_array()
            .expect("alternatives")
            .iter()
            .map(|alternative| {
                let names: Vec<_> = alternative.as_object().expect("schemes").keys().map(String::as_str).collect();
                assert!(names.iter().all(|name| schemes.contains_key(*name)), "{release}: {names:?}");
                names.join(" and ")
            })
            .collect();
        assert_eq!(named, ["UcpAgent", "ApiKey", "Bearer", "Signature and SignatureInput and UcpAgent"], "{release}");
    }
}

#[test]
fn patterns_are_those_of_strings() {
    let mut patterns = 0;
    for (release, document) in published() {
        each_object("", document, &mut |at, schema| {
            if schema.get("pattern").is_some_and(Value::is_string) {
                assert_eq!(schema.get("type"), Some(&json!("string")), "{release}{at}");
                patterns += 1;
            }
        });
    }
    assert!(patterns > 0);
}

#[test]
fn properties_are_not_hidden_behind_alternatives() {
    each_schema(|at, schema| {
        if schema.contains_key("properties") {
            for keyword in ["anyOf", "oneOf", "allOf"] {
                assert!(!schema.contains_key(keyword), "{at} has properties and {keyword}");
            }
        }
    });
}

#[test]
fn constants_are_enumerations_of_strings() {
    let mut enumerations = 0;
    each_schema(|at, schema| {
        assert!(!schema.contains_key("const"), "{at}");
        if let Some(Value::Array(values)) = schema.get("enum") {
            assert_eq!(schema.get("type"), Some(&json!("string")), "{at}");
            assert!(values.iter().all(Value::is_string), "{at}");
            enumerations += 1;
        }
        for keyword in ["anyOf", "oneOf"] {
            let alternatives = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
            assert!(alternatives.into_iter().all(|alternative| alternative.get("enum").is_none()), "{at}");
        }
    });
    assert!(enumerations > 0);
}

#[test]
fn alternatives_that_are_objects_have_names() {
    each_schema(|at, schema| {
        for keyword in ["anyOf", "oneOf"] {
            let alternatives = schema.get(keyword).and_then(Value::as_array).into_iter().flatten();
            for alternative in alternatives {
                assert_ne!(alternative["type"], "object", "{at}/{keyword} has an alternative without a name");
            }
        }
    });
}

/// In TypeScript an index signature has to hold for the members that have names, too.
#[test]
fn members_with_names_are_of_their_own_types() {
    each_schema(|at, schema| {
        let typed = schema.get("additionalProperties").is_some_and(Value::is_object);
        assert!(!(typed && schema.contains_key("properties")), "{at} has properties and typed additionalProperties");
    });
    for (release, document) in published().filter(|(release, _)| *release < Release::V2026_08_25) {
        let reference = "#/components/schemas/Consent";
        let consent = validator(&json!({ "$ref": reference, "components": document["components"] }));
        assert!(consent.is_valid(&json!({ "marketing": true, "com.example.survey": false })), "{release}");
        assert!(!consent.is_valid(&json!({ "marketing": true, "com.example.survey": "yes" })), "{release}");
    }
}

/// A generated client can tell an answer with a resource from one without by `ucp.status`, and messages by `type`.
#[test]
fn answers_and_messages_have_discriminators() {
    for (release, document) in published() {
        let schemas = &document["components"]["schemas"];
        let mapping = &schemas["Message"]["discriminator"]["mapping"];
        assert_eq!(schemas["Message"]["discriminator"]["propertyName"], "type", "{release}");
        for (kind, name) in [("error", "MessageError"), ("warning", "MessageWarning"), ("info", "MessageInfo")] {
            assert_eq!(mapping[kind], format!("#/components/schemas/{name}"), "{release}");
            assert_eq!(schemas[name]["properties"]["type"]["enum"], json!([kind]), "{release}");
        }
        if release >= Release::V2026_04_08 {
            for (name, status) in [("Success", "success"), ("CheckoutSuccess", "success"), ("Failure", "error")] {
                let stated = &schemas[name];
                assert_eq!(stated["properties"]["status"]["enum"], json!([status]), "{release} {name}");
                assert!(stated["required"].as_array().expect("names").contains(&json!("status")), "{release} {name}");
            }
        }
    }
}

/// Amounts of money do not fit into the 32 bits that generators take for an integer.
#[test]
fn integers_have_64_bits() {
    let mut integers = 0;
    each_schema(|at, schema| {
        if schema.get("type").is_some_and(|kind| kind == "integer") {
            assert_eq!(schema.get("format"), Some(&json!("int64")), "{at}");
            integers += 1;
        }
    });
    assert!(integers > 0);
}

/// Generated clients try the alternatives in the order of their names.
#[test]
fn answers_without_a_resource_are_tried_last() {
    let mut answers = 0;
    for (release, document) in published() {
        let schemas = document["components"]["schemas"].as_object().expect("schemas");
        for (name, schema) in schemas.iter().filter(|(name, _)| name.ends_with("Answer")) {
            let alternatives = schema["oneOf"].as_array().expect("alternatives").iter();
            let names: Vec<_> = alternatives.map(|alternative| alternative["$ref"].as_str().expect("a name")).collect();
            assert!(names.is_sorted(), "{release} {name}: {names:?}");
            assert!(names.ends_with(&["#/components/schemas/UcpErrorResponse"]), "{release} {name}: {names:?}");
            answers += 1;
        }
    }
    assert!(answers > 0);
}

/// The components say in other words what the schemas of requests say.
#[test]
fn components_accept_what_the_schemas_accept() {
    let payloads = [
        json!({}),
        json!({ "query": "" }),
        json!({ "query": "\t " }),
        json!({ "query": 1 }),
        json!({ "query": "shoes" }),
        json!({ "filters": {} }),
        json!({ "filters": { "available": true } }),
        json!({ "query": " ", "filters": { "available": true } }),
        json!({ "query": "shoes", "filters": {} }),
        json!({ "line_items": [] }),
        json!({ "cart_id": "cart_1" }),
        json!({ "cart_id": "cart_1", "line_items": [] }),
        json!({ "cart_id": 1 }),
        json!({ "line_items": [], "buyer": { "consent": { "dev.ucp.marketing": { "granted": true } } } }),
        json!({ "line_items": [], "buyer": { "consent": { "Marketing": { "granted": true } } } }),
        json!({ "line_items": [], "buyer": { "consent": { "dev.ucp.marketing": { "granted": true, "source": null } } } }),
        json!({ "line_items": [], "buyer": { "consent": { "dev.ucp.marketing": { "granted": true, "source": "platform" } } } }),
        json!({ "line_items": [], "fulfillment": { "methods": [{ "selected_destination_id": null }] } }),
        json!({ "line_items": [], "fulfillment": { "methods": [{ "selected_destination_id": 1 }] } }),
        json!({ "query": "", "filters": { "fulfillment_method": "pickup" } }),
        json!({ "query": "", "filters": { "fulfillment_method": "carrier" } }),
        json!({ "query": "", "filters": { "location": {} } }),
        json!({ "query": "", "filters": { "location": { "address": {} } } }),
        json!({ "query": "", "filters": { "location": { "address": { "street_address": "1 Main St" } } } }),
        json!({ "query": "", "filters": { "location": { "address": { "postal_code": "" } } } }),
        json!({ "query": "", "filters": { "location": { "address": { "postal_code": "94105" } } } }),
        json!({ "query": "", "filters": { "location": {
            "address": { "street_address": "1 Main St" }, "radius": { "value": 1, "unit": "km" },
        } } }),
    ];
    let mut verdicts = [0; 2];
    for (release, document) in published() {
        for operation in Operation::ALL {
            let row = operation.row();
            let content = &document["paths"][row.path][row.method.as_str().to_lowercase()]["requestBody"]["content"];
            let Some(reference) = content["application/json"]["schema"]["$ref"].as_str() else { continue };
            let component = validator(&json!({ "$ref": reference, "components": document["components"] }));
            let shapes = crate::dialect(release).shapes(*operation).expect("shapes");
            let mut requests = generator(Direction::Request);
            let shape = shapes.request(&mut requests).expect("a request");
            let schema = validator(&bundle(&mut requests, |_| shape));
            for payload in &payloads {
                let accepted = schema.is_valid(payload);
                assert_eq!(component.is_valid(payload), accepted, "{release} {operation:?}: {payload}");
                verdicts[usize::from(accepted)] += 1;
            }
        }
    }
    assert!(verdicts.iter().all(|count| *count > 50), "{verdicts:?}");
}
