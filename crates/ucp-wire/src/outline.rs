//! Outlines of request schemas, for readers who pay by the word: a list of tools is read by a model with every
//! conversation.
//!
//! An outline accepts everything that its schema accepts. Members of a few words stay as they are; larger ones become one
//! line of text that names their members, and what of them is required: `*` marks those that are required, `[…]` elements of an array, `{…}` members
//! of an object, and `=` values of which one is meant.

use serde_json::{Map, Value, json};

/// Maximum length of a member that is kept as a schema, in bytes of JSON.
const KEPT: usize = 480;

/// Maximum depth of the members that a line names.
const DEPTH: usize = 5;

/// Keywords that the gateway checks and a caller meets without knowing them.
const LEFT_OUT: &[&str] = &[
    "$schema",
    "default",
    "format",
    "maxItems",
    "maxLength",
    "minLength",
    "minProperties",
    "not",
    "pattern",
    "propertyNames",
];

/// The greatest integer that JSON carries exactly.
const GREATEST: u64 = (1 << 53) - 1;

/// Replaces the schemas of the members of an object schema by their outlines.
pub(crate) fn outline(schema: &mut Value) {
    shorten(schema);
    if let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        members.values_mut().for_each(outline_member);
    }
}

fn outline_member(schema: &mut Value) {
    if schema.to_string().len() <= KEPT {
        return;
    }
    let line = [schema["description"].as_str().unwrap_or_default(), &signature(schema, DEPTH)].join(": ");
    let mut outline = skeleton(schema, DEPTH);
    outline["description"] = line.into();
    *schema = outline;
}

/// Returns the parts of a schema that say what is required, so that clients that check calls notice what is missing.
fn skeleton(schema: &Value, depth: usize) -> Value {
    let kind = schema["type"].as_str().unwrap_or("object");
    let mut skeleton = json!({ "type": kind });
    if let Some(required) = schema["required"].as_array().filter(|required| !required.is_empty()) {
        skeleton["required"] = json!(required);
    }
    if kind == "array" && schema["items"].is_object() {
        skeleton["items"] =
            skeleton_of(&schema["items"], depth).unwrap_or_else(|| json!({ "type": schema["items"]["type"] }));
    }
    let members = schema["properties"].as_object().into_iter().flatten();
    let telling: Map<_, _> =
        members.filter_map(|(name, member)| Some((name.clone(), skeleton_of(member, depth)?))).collect();
    if !telling.is_empty() {
        skeleton["properties"] = Value::Object(telling);
    }
    skeleton
}

/// Returns the skeleton of a part of a schema; `None` if nothing in it is required.
fn skeleton_of(schema: &Value, depth: usize) -> Option<Value> {
    let has_members = depth > 0 && matches!(schema["type"].as_str(), Some("object" | "array"));
    let skeleton = has_members.then(|| skeleton(schema, depth - 1))?;
    skeleton.to_string().contains("\"required\"").then_some(skeleton)
}

/// Removes what a reader can do without: limits, forms, all but the first sentence of descriptions.
fn shorten(schema: &mut Value) {
    let Some(keywords) = schema.as_object_mut() else { return };
    keywords.retain(|keyword, value| {
        let is_open = keyword == "additionalProperties" && *value == true;
        let is_greatest = keyword == "maximum" && *value == GREATEST;
        let is_default = keyword == "minimum" && *value == 0;
        !(LEFT_OUT.contains(&keyword.as_str()) || is_open || is_greatest || is_default)
    });
    // Choices between sets of required members are told by the description.
    let is_condition = |choice: &Value| choice.get("required").is_some() && choice.get("type").is_none();
    if keywords.get("anyOf").and_then(Value::as_array).is_some_and(|choices| choices.iter().all(is_condition)) {
        keywords.shift_remove("anyOf");
    }
    if let Some(Value::String(description)) = keywords.get_mut("description") {
        *description = first_sentence(description);
    }
    for keyword in ["items", "additionalProperties"] {
        if let Some(schema) = keywords.get_mut(keyword) {
            shorten(schema);
        }
    }
    if let Some(members) = keywords.get_mut("properties").and_then(Value::as_object_mut) {
        members.values_mut().for_each(shorten);
    }
}

fn first_sentence(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let end = [". ", "; "].iter().filter_map(|end| text.find(end)).min().unwrap_or(text.len());
    text[..end].trim_end_matches('.').to_owned()
}

/// Returns the members of a schema in one line.
fn signature(schema: &Value, depth: usize) -> String {
    match schema["type"].as_str() {
        Some("object") => object(schema, depth),
        Some("array") => format!("[{}]", signature(&schema["items"], depth)),
        Some("string") => match values(schema).as_slice() {
            [] => String::new(),
            values => format!("={}", values.join("|")),
        },
        _ => String::new(),
    }
}

fn object(schema: &Value, depth: usize) -> String {
    let none = Map::new();
    let members = schema["properties"].as_object().unwrap_or(&none);
    let required = schema["required"].as_array().map(Vec::as_slice).unwrap_or_default();
    if depth == 0 && !members.is_empty() {
        return "{…}".to_owned();
    }
    let mut named: Vec<_> = members
        .iter()
        .map(|(name, member)| {
            let mark = if required.iter().any(|required| required == name) { "*" } else { "" };
            format!("{name}{mark}{}", signature(member, depth.saturating_sub(1)))
        })
        .collect();
    if schema["additionalProperties"].is_object() {
        named.push(format!("<name>{}", signature(&schema["additionalProperties"], depth.saturating_sub(1))));
    }
    format!("{{{}}}", named.join(", "))
}

/// Returns the values of a string: those of its enumeration, or those that its description shows as code.
fn values(schema: &Value) -> Vec<&str> {
    match schema["enum"].as_array() {
        Some(values) => values.iter().filter_map(Value::as_str).collect(),
        None => schema["description"].as_str().unwrap_or_default().split('`').skip(1).step_by(2).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_members_become_a_line_and_small_ones_stay() {
        let link = json!({ "type": "object", "properties": {
            "type": { "type": "string", "description": "Type: `faq` or `terms`. Others are taken." },
            "url": { "type": "string", "format": "uri", "description": "URL of the page" },
        }, "required": ["type"] });
        let mut schema = json!({ "type": "object", "required": ["links"], "properties": {
            "limit": { "type": "integer", "minimum": 1, "maximum": GREATEST, "description": "Products per page. At most 50." },
            "links": { "type": "array", "maxItems": 10, "items": link, "description": "Pages; may be none." },
            "buyer": {
                "type": "object",
                "description": "The buyer",
                "properties": {
                    "name": { "type": "string", "pattern": ".", "description": "x".repeat(KEPT) },
                    "source": { "type": "string", "enum": ["business", "platform"] },
                    "links": { "type": "array", "items": link },
                    "more": { "type": "object", "additionalProperties": { "type": "object", "properties": {
                        "granted": { "type": "boolean" },
                    }, "required": ["granted"] } },
                    "any": { "type": "object", "additionalProperties": true },
                },
            },
        } });
        outline(&mut schema);
        assert_eq!(
            schema["properties"]["limit"],
            json!({ "type": "integer", "minimum": 1, "description": "Products per page" })
        );
        assert_eq!(schema["properties"]["links"]["description"], "Pages");
        assert_eq!(
            schema["properties"]["links"]["items"]["properties"]["url"],
            json!({ "type": "string", "description": "URL of the page" })
        );
        assert_eq!(
            schema["properties"]["buyer"],
            json!({
                "type": "object",
                "properties": { "links": { "type": "array", "items": { "type": "object", "required": ["type"] } } },
                "description": "The buyer: {name, source=business|platform, links[{type*=faq|terms, url}], \
                    more{<name>{granted*}}, any{}}",
            })
        );
        assert_eq!(schema["required"], json!(["links"]));
    }

    #[test]
    fn depth_has_an_end() {
        let mut schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        for _ in 0..20 {
            schema = json!({ "type": "object", "properties": { "a": schema } });
        }
        assert_eq!(signature(&schema, 2), "{a{a{…}}}");
    }
}
