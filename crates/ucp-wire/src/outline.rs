//! Outlines of request schemas, for readers who pay by the word: a list of tools is read by a model with every
//! conversation.
//!
//! An outline accepts everything that its schema accepts. Members of a few words stay as they are; of larger ones, the
//! description, the names of their members, which of these are required, and the values that are meant stay.

use serde_json::{Value, json};

/// Maximum length of a member that is kept as a schema, in bytes of JSON.
const KEPT: usize = 160;

/// Maximum depth of the members that are named.
const DEPTH: usize = 4;

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
    let mut outline = json!({ "type": if schema["type"] == "array" { "array" } else { "object" } });
    if let Some(description) = schema.get("description") {
        outline["description"] = description.clone();
    }
    describe(schema, DEPTH, &mut outline);
    *schema = outline;
}

/// Adds to `outline` the members of a schema, which of them are required, and values that are meant.
fn describe(schema: &Value, depth: usize, outline: &mut Value) {
    let below = |schema: &Value| {
        let mut outline = json!({});
        describe(schema, depth - 1, &mut outline);
        outline
    };
    match schema["type"].as_str() {
        Some("object") => {
            if let Some(required) = schema["required"].as_array().filter(|required| !required.is_empty()) {
                outline["required"] = json!(required);
            }
            let members = schema["properties"].as_object().filter(|members| depth > 0 && !members.is_empty());
            if let Some(members) = members {
                outline["properties"] = members.iter().map(|(name, member)| (name.clone(), below(member))).collect();
            }
            if depth > 0 && schema["additionalProperties"].is_object() {
                outline["additionalProperties"] = below(&schema["additionalProperties"]);
            }
        }
        Some("array") => {
            outline["type"] = "array".into();
            // An array is no level of its own for a reader.
            let mut items = json!({});
            describe(&schema["items"], depth, &mut items);
            if items != json!({}) {
                outline["items"] = items;
            }
        }
        Some(kind @ ("boolean" | "integer" | "number")) => outline["type"] = kind.into(),
        Some("string") => {
            if let Some(values) = schema.get("enum") {
                outline["enum"] = values.clone();
            } else if let values @ [_, ..] = &*values(schema) {
                outline["description"] = values.join(", ").into();
            }
        }
        _ => {}
    }
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

/// Returns the values of a string that its description shows as code.
fn values(schema: &Value) -> Vec<&str> {
    schema["description"].as_str().unwrap_or_default().split('`').skip(1).step_by(2).collect()
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
        let page = json!({ "type": "object", "properties": {
            "url": { "type": "string", "format": "uri", "description": "URL. Of the page." },
        } });
        let mut schema = json!({ "type": "object", "required": ["links"], "properties": {
            "limit": { "type": "integer", "minimum": 1, "maximum": GREATEST, "description": "Products per page. At most 50." },
            "links": { "type": "array", "maxItems": 10, "items": page, "description": "Pages; may be none." },
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
            json!({ "type": "string", "description": "URL" })
        );
        let link =
            json!({ "required": ["type"], "properties": { "type": { "description": "faq, terms" }, "url": {} } });
        assert_eq!(
            schema["properties"]["buyer"],
            json!({ "type": "object", "description": "The buyer", "properties": {
                "name": {},
                "source": { "enum": ["business", "platform"] },
                "links": { "type": "array", "items": link },
                "more": { "additionalProperties": {
                    "required": ["granted"],
                    "properties": { "granted": { "type": "boolean" } },
                } },
                "any": {},
            } })
        );
        assert_eq!(schema["required"], json!(["links"]));
    }

    #[test]
    fn depth_has_an_end() {
        let mut schema = json!({ "type": "object", "properties": { "a": { "type": "string" } } });
        for _ in 0..20 {
            schema = json!({ "type": "object", "properties": { "a": schema } });
        }
        let mut outline = json!({});
        describe(&schema, 2, &mut outline);
        assert_eq!(outline, json!({ "properties": { "a": { "properties": { "a": {} } } } }));
    }
}
