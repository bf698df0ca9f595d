//! Request schemas as lists of tools show them: valid for the strictest reader, and in outline for models, who read the
//! list with every conversation.
//!
//! Readers of tools convert schemas into the dialects of models. Many stop at arrays without `items`, members without
//! `type`, choices between conditions, boolean and empty schemas; some give the whole list up, others tell their model
//! that the member is an object. What is listed here has none of these, and accepts everything that the gateway accepts.

use serde_json::{Map, Value, json};

/// Maximum depth of the members that are named below a member of the payload.
const DEPTH: usize = 3;

/// Members that an outline leaves out, by the name of the member around them: no model needs them to buy.
const LEFT_OUT: &[(&str, &str)] = &[
    ("context", "location"),
    ("context", "payment"),
    ("destinations", "address"),
    ("destinations", "name"),
    ("destinations", "type"),
    ("item", "quantity_unit"),
    ("line_items", "parent_id"),
];

/// Members whose own members an outline does not name.
const CLOSED: &[&str] = &["billing_address", "consent"];

/// Keywords that an outline keeps. Limits are none of them: clients that check arguments by them refuse a call in words of
/// their own, which not all show to their model, where the gateway says what it accepts.
const KEPT: &[&str] = &["enum", "const", "minItems"];

/// Words that add nothing to a name.
const FILLERS: &[&str] = &["a", "an", "and", "by", "for", "in", "is", "of", "on", "or", "the", "to", "with"];

/// Side of a tool that a schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Arguments of the tool.
    Input,
    /// Result of the tool.
    Output,
}

/// Makes a schema valid for the strictest reader. It accepts at least what it accepted before.
///
/// Arguments lose the schemas of unnamed members, too, which the strict mode of `OpenAI` refuses.
pub fn legible(schema: &mut Value, side: Side) {
    let Some(keywords) = schema.as_object_mut() else { return };
    keywords.shift_remove("not");
    let others = keywords.get("additionalProperties");
    if side == Side::Input || others.is_some_and(|others| others.is_boolean() || *others == json!({})) {
        keywords.shift_remove("additionalProperties");
    }
    for keyword in ["properties", "$defs"] {
        if let Some(members) = keywords.get_mut(keyword).and_then(Value::as_object_mut) {
            // Nothing fits `{ "not": {} }`: a member that is always rejected.
            members.retain(|_, member| member.get("not") != Some(&json!({})));
            members.values_mut().for_each(|member| legible(member, side));
        }
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = keywords.get_mut(keyword) {
            legible(schema, side);
        }
    }
    // Without closed objects, more than one choice may fit.
    for keyword in ["oneOf", "anyOf"] {
        let Some(Value::Array(mut choices)) = keywords.shift_remove(keyword) else { continue };
        choices.iter_mut().for_each(|choice| legible(choice, side));
        // Descriptions tell conditions on members.
        if choices.iter().all(is_typed) {
            keywords.insert("anyOf".to_owned(), choices.into());
        }
    }
    if !is_typed_by(keywords, &["type", "$ref", "anyOf"])
        && is_typed_by(keywords, &["enum", "const"])
        && strings(keywords)
    {
        keywords.insert("type".to_owned(), "string".into());
    }
}

/// Returns `true` if a reader knows from the schema itself what it describes.
fn is_typed(schema: &Value) -> bool {
    schema.as_object().is_some_and(|keywords| is_typed_by(keywords, &["type", "$ref", "anyOf"]))
}

fn is_typed_by(keywords: &Map<String, Value>, names: &[&str]) -> bool {
    names.iter().any(|name| keywords.contains_key(*name))
}

/// Returns `true` if all values of an enumeration or constant are strings.
fn strings(keywords: &Map<String, Value>) -> bool {
    let values = keywords.get("enum").and_then(Value::as_array).into_iter().flatten();
    values.chain(keywords.get("const")).all(Value::is_string)
}

/// Replaces the schemas of the members of a legible payload by their outlines: type, first sentence of the description,
/// values, and the names of their members. Limits and forms are left out, which callers meet when they exceed them.
pub(crate) fn outline(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    keywords.retain(|keyword, _| ["type", "description", "properties", "required"].contains(&keyword.as_str()));
    if let Some(Value::String(description)) = keywords.get_mut("description") {
        *description = first_sentence(description);
    }
    if let Some(members) = keywords.get_mut("properties").and_then(Value::as_object_mut) {
        for (name, member) in members {
            *member = outlined(member, &[name], DEPTH);
        }
    }
}

/// Returns the outline of a member at the end of the path `names`, with `depth` levels of members.
fn outlined(schema: &Value, names: &[&str], depth: usize) -> Value {
    let mut outline = Map::new();
    if let Some(kind) = schema.get("type") {
        outline.insert("type".to_owned(), kind.clone());
    }
    let description = schema.get("description").and_then(Value::as_str).map(first_sentence);
    if let Some(description) = description.filter(|description| tells_more(description, names)) {
        outline.insert("description".to_owned(), description.into());
    }
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        if KEPT.contains(&keyword.as_str()) {
            outline.insert(keyword.clone(), value.clone());
        }
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        let choices = choices.iter().map(|choice| outlined(choice, names, depth));
        outline.insert("anyOf".to_owned(), choices.collect());
    }
    if let Some(items) = schema.get("items") {
        // An array is no level of its own, and its description tells what is in it.
        let mut items = outlined(items, names, depth);
        items.as_object_mut().and_then(|items| items.shift_remove("description"));
        outline.insert("items".to_owned(), items);
    }
    let own = names.last().copied().unwrap_or_default();
    let members = schema.get("properties").and_then(Value::as_object);
    if let Some(members) = members.filter(|members| depth > 0 && !members.is_empty() && !CLOSED.contains(&own)) {
        let named = members.iter().filter(|(name, _)| !LEFT_OUT.contains(&(own, name.as_str())));
        let below = |name: &String, member| outlined(member, &[names, &[name]].concat(), depth - 1);
        let members: Map<_, _> = named.map(|(name, member)| (name.clone(), below(name, member))).collect();
        outline.insert("properties".to_owned(), members.into());
        let required = schema.get("required").and_then(Value::as_array);
        if let Some(required) = required.filter(|required| !required.is_empty()) {
            outline.insert("required".to_owned(), json!(required));
        }
    }
    Value::Object(outline)
}

fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = text.find(". ").unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// Returns `true` if a description has a word that the last two names of a path do not have.
fn tells_more(description: &str, names: &[&str]) -> bool {
    let names = names.iter().rev().take(2).flat_map(|name| name.split('_')).collect::<Vec<_>>();
    let words = description.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let mut words = words.map(str::to_lowercase).filter(|word| !FILLERS.contains(&word.as_str()));
    words.any(|word| !names.iter().any(|name| *name == word || name.strip_suffix('s') == Some(&word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_of_tools_are_simplified_for_strict_readers() {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "source": { "enum": ["business", "platform"] },
                "more": { "type": "object", "additionalProperties": true },
                "by_name": { "type": "object", "additionalProperties": { "type": "string" } },
                "chosen": { "oneOf": [{ "type": "string" }, { "type": "null" }] },
                "rejected": { "type": "object", "not": {} },
                "list": { "type": "array", "items": { "type": "object", "additionalProperties": false } },
            },
            "anyOf": [{ "required": ["query"] }, { "required": ["list"] }],
        });
        let mut output = schema.clone();
        legible(&mut schema, Side::Input);
        let mut expected = json!({
            "type": "object",
            "properties": {
                "query": { "type": "string" },
                "source": { "enum": ["business", "platform"], "type": "string" },
                "more": { "type": "object" },
                "by_name": { "type": "object" },
                "chosen": { "anyOf": [{ "type": "string" }, { "type": "null" }] },
                "list": { "type": "array", "items": { "type": "object" } },
            },
        });
        assert_eq!(schema, expected);
        legible(&mut output, Side::Output);
        expected["properties"]["by_name"]["additionalProperties"] = json!({ "type": "string" });
        assert_eq!(output, expected);
    }

    #[test]
    fn an_outline_has_types_sentences_and_values() {
        let mut schema = json!({
            "type": "object",
            "description": "A search. At length.",
            "required": ["links"],
            "examples": [{}],
            "properties": {
                "limit": { "type": "integer", "minimum": 1, "maximum": 50, "description": "Products per page. At most 50." },
                "links": { "type": "array", "maxItems": 10, "description": "Pages", "items": {
                    "type": "object",
                    "description": "A page.",
                    "required": ["type"],
                    "properties": {
                        "type": { "type": "string", "description": "Type, such as `faq` or `terms`. Others are taken." },
                        "url": { "type": "string", "format": "uri", "description": "The URL of the link." },
                        "source": { "type": "string", "enum": ["business", "platform"], "description": "Who said so." },
                    },
                } },
                "postal_code": { "type": "string", "maxLength": 255, "description": "Postal code." },
                "chosen": { "anyOf": [{ "type": "string", "maxLength": 9 }, { "type": "null" }], "description": "Choice." },
            },
        });
        outline(&mut schema);
        let expected = json!({
            "type": "object",
            "description": "A search",
            "required": ["links"],
            "properties": {
                "limit": { "type": "integer", "description": "Products per page" },
                "links": { "type": "array", "description": "Pages", "items": {
                    "type": "object",
                    "properties": {
                        "type": { "type": "string", "description": "Type, such as `faq` or `terms`" },
                        "url": { "type": "string" },
                        "source": { "type": "string", "description": "Who said so", "enum": ["business", "platform"] },
                    },
                    "required": ["type"],
                } },
                "postal_code": { "type": "string" },
                "chosen": { "description": "Choice", "anyOf": [{ "type": "string" }, { "type": "null" }] },
            },
        });
        assert_eq!(schema, expected);
    }

    #[test]
    fn outlines_of_nested_schemas_end_at_their_depth() {
        let mut schema = json!({ "type": "object", "properties": { "z": { "type": "string" } }, "required": ["z"] });
        for _ in 0..20 {
            schema = json!({ "type": "object", "properties": { "a": schema } });
        }
        let end = json!({ "type": "object" });
        let one = json!({ "type": "object", "properties": { "a": end } });
        assert_eq!(outlined(&schema, &[], 1), one);
        assert_eq!(outlined(&schema, &[], 2), json!({ "type": "object", "properties": { "a": one } }));
    }
}
