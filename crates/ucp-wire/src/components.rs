//! Component schemas of the OpenAPI document, in a form that generators of clients understand.
//!
//! A component accepts the same documents as the shape that it is made from. What differs is how it says so, because
//! generators
//!
//! - make the members of a type from `properties`, unless there is an `anyOf` or `oneOf` beside them;
//! - make types with good names only from components, and types of constants only from `enum`;
//! - give every member the type of `additionalProperties`, though those beside it have types of their own, which compiles in
//!   no TypeScript;
//! - take an integer without a format for one of 32 bits, which amounts of money exceed;
//! - try the alternatives of an answer in the order of their names, some of them without a look at `ucp.status`, so that
//!   an answer with a resource and messages would be taken for an [`ErrorResponse`](crate::envelope::ErrorResponse).

use schemars::{
    Schema,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Map, Value, json};

use crate::schema::DEFINITIONS;

/// Prefix of references to components.
const COMPONENTS: &str = "#/components/schemas/";

/// The definition of an answer without a resource, and the name of its component, which follows those of all resources.
const NO_RESOURCE: (&str, &str) = ("ErrorResponse", "UcpErrorResponse");

/// Title of an alternative that only JSON-RPC methods answer with.
const OF_METHOD: &str = "CapabilitiesOfMethod";

/// Returns the components of these definitions.
pub(crate) fn components(definitions: Map<String, Value>) -> Map<String, Value> {
    let mut alternatives = Alternatives::default();
    let mut components = Map::new();
    for (name, definition) in definitions {
        let mut schema = Schema::try_from(definition).unwrap_or_default();
        alternatives.transform(&mut schema);
        components.insert(component(&name).to_owned(), schema.to_value());
    }
    components.extend(alternatives.named);
    components
}

/// Returns the name of the component that is made from a definition.
fn component(definition: &str) -> &str {
    if definition == NO_RESOURCE.0 { NO_RESOURCE.1 } else { definition }
}

/// Rewrites schemas, and collects the alternatives that have become components.
#[derive(Debug, Default)]
struct Alternatives {
    named: Map<String, Value>,
}

impl Transform for Alternatives {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(members) = schema.as_object_mut() else { return };
        if let Some(Value::String(reference)) = members.get_mut("$ref")
            && let Some(definition) = reference.strip_prefix(DEFINITIONS)
        {
            *reference = format!("{COMPONENTS}{}", component(definition));
        }
        if members.get("type").is_some_and(|kind| kind == "integer") {
            members.insert("format".to_owned(), "int64".into());
        }
        if let Some(constant) = members.shift_remove("const") {
            members.insert("enum".to_owned(), json!([constant]));
        }
        if members.contains_key("properties") {
            condition(members);
            rest(members);
        } else {
            over_rest(members);
            for keyword in ["anyOf", "oneOf"] {
                self.name(members, keyword);
            }
        }
    }
}

/// Removes the alternative that only JSON-RPC methods answer with.
fn over_rest(members: &mut Map<String, Value>) {
    let Some(Value::Array(alternatives)) = members.get_mut("anyOf") else { return };
    alternatives.retain(|alternative| alternative["title"] != OF_METHOD);
    if let [Value::Object(only)] = alternatives.as_slice() {
        let only = only.clone();
        members.shift_remove("anyOf");
        only.into_iter().for_each(|(name, value)| {
            members.entry(name).or_insert(value);
        });
    }
}

/// Replaces `anyOf` by `if` and `then`: a document that does not match the first alternative matches one of the others.
fn condition(members: &mut Map<String, Value>) {
    let Some(Value::Array(mut others)) = members.shift_remove("anyOf") else { return };
    let first = others.remove(0);
    let otherwise = if others.len() == 1 { others.remove(0) } else { json!({ "anyOf": others }) };
    members.insert("if".to_owned(), json!({ "not": first }));
    members.insert("then".to_owned(), otherwise);
}

/// Says by `unevaluatedProperties` which type other members have than those that are named.
fn rest(members: &mut Map<String, Value>) {
    if members.get("additionalProperties").is_some_and(Value::is_object)
        && let Some(schema) = members.shift_remove("additionalProperties")
    {
        members.insert("unevaluatedProperties".to_owned(), schema);
    }
}

impl Alternatives {
    /// Makes components of the alternatives that have a title, which becomes the name, and adds the discriminator that
    /// tells them apart if there is one.
    fn name(&mut self, members: &mut Map<String, Value>, keyword: &str) {
        let Some(Value::Array(alternatives)) = members.get_mut(keyword) else { return };
        let mut named = Vec::new();
        for alternative in alternatives.iter_mut() {
            let Some(Value::String(name)) = alternative.as_object_mut().and_then(|object| object.shift_remove("title"))
            else {
                continue;
            };
            let reference = format!("{COMPONENTS}{name}");
            let component = alternative.take();
            *alternative = json!({ "$ref": reference });
            named.push((reference, component.clone()));
            self.named.insert(name, component);
        }
        if named.len() == alternatives.len()
            && let Some(discriminator) = discriminator(&named)
        {
            members.insert("discriminator".to_owned(), discriminator);
        }
    }
}

/// Returns the discriminator of alternatives, which are given with their references: a required property that has another
/// constant in each of them.
fn discriminator(alternatives: &[(String, Value)]) -> Option<Value> {
    let required = alternatives.first()?.1["required"].as_array()?.iter().filter_map(Value::as_str);
    required.into_iter().find_map(|property| {
        let mut mapping = Map::new();
        for (reference, alternative) in alternatives {
            let required = alternative["required"].as_array()?.iter().any(|name| name == property);
            let [Value::String(constant)] = alternative["properties"][property]["enum"].as_array()?.as_slice() else {
                return None;
            };
            let unknown = mapping.insert(constant.clone(), reference.as_str().into()).is_none();
            if !(required && unknown) {
                return None;
            }
        }
        Some(json!({ "propertyName": property, "mapping": mapping }))
    })
}
