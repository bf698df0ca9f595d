//! The JSON Schema of the configuration file, and the example file, which is made of it.

use std::{fmt::Write as _, sync::LazyLock};

use schemars::SchemaGenerator;
use serde::Serialize as _;
use serde_json::{Map, Value};
use ucp_wire::schema::{Direction, bundle, inlining_generator};

use super::sections::Sections;

/// The keyword of what belongs to the process and not to one of several shops.
pub(super) const PROCESS: &str = "x-process";

/// The keyword of the former name of a key, which is still accepted, with a warning.
pub(super) const FORMER: &str = "x-former";

/// The section of several shops.
pub(super) const SHOP: &str = "shop";

/// The JSON Schema of the file (draft 2020-12). Of a shop of several, it has the keys that select it alone.
pub(crate) fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let mut schema =
            bundle(&mut inlining_generator(Direction::Request), SchemaGenerator::subschema_for::<Sections>);
        // Of a section, its keys state the defaults.
        for section in schema["properties"].as_object_mut().into_iter().flat_map(Map::values_mut) {
            section.as_object_mut().and_then(|section| section.shift_remove("default"));
        }
        schema
    });
    &SCHEMA
}

/// The JSON Schema of the file, for editors, with the sections of each shop of several.
pub fn published() -> Value {
    let mut schema = schema().clone();
    let sections = schema["properties"].as_object().cloned().unwrap_or_default();
    let own = sections.into_iter().filter(|(name, section)| name != SHOP && section.get(PROCESS).is_none());
    let own = own.map(|(name, mut section)| {
        if let Some(keys) = section.get_mut("properties").and_then(Value::as_object_mut) {
            keys.retain(|_, key| key.get(PROCESS).is_none());
        }
        (name, section)
    });
    let own: Vec<_> = own.collect();
    if let Some(keys) = schema["properties"][SHOP]["items"]["properties"].as_object_mut() {
        keys.extend(own);
    }
    schema
}

/// The schema of a table, where this is it, or one of a choice, or that of an array of tables.
pub(super) fn table(schema: &Value) -> Option<&Value> {
    let inner = || schema.get("items").and_then(table);
    let either = || schema.get("anyOf")?.as_array()?.iter().find_map(table);
    schema.get("properties").map(|_| schema).or_else(inner).or_else(either)
}

/// The keys of such a table.
pub(crate) fn keys(schema: &Value) -> Option<&Map<String, Value>> {
    table(schema)?["properties"].as_object()
}

/// The texts of a value that is one or an array of them.
pub(super) fn values(value: &Value) -> impl Iterator<Item = &str> {
    let all = value.as_array().map_or_else(|| std::slice::from_ref(value), Vec::as_slice);
    all.iter().filter_map(Value::as_str)
}

/// A value as TOML has it.
pub(crate) fn toml(value: &Value) -> String {
    let mut text = String::new();
    match value.serialize(toml::ser::ValueSerializer::new(&mut text)) {
        Ok(_) => text,
        Err(error) => unreachable!("values of a TOML file can be written as TOML: {error}"),
    }
}

/// Maximum length of a line of the example file, in bytes.
const WIDTH: usize = 120;

/// The example file: every key with its documentation and its default, or commented out with an example.
pub fn example() -> String {
    let mut text = "\
# The configuration of ucp-gateway, with every key and its default: `ucp-gateway serve --config gateway.toml`.
# No file is needed. Flags and environment variables go before what it says; `ucp-gateway check-config` shows the result.
# Keys that are commented out have no default, or one that depends on something else. Paths are relative to this file.
# `ucp-gateway config schema` prints a JSON Schema of this file, for editors.
"
    .to_owned();
    for (name, section) in keys(schema()).into_iter().flatten() {
        let repeated = section["type"] == "array";
        text.push('\n');
        comment(&mut text, &section["description"], "");
        let _ = if repeated { writeln!(text, "# [[{name}]]") } else { writeln!(text, "[{name}]") };
        for (key, schema) in keys(section).into_iter().flatten() {
            let range = match (&schema["minimum"], &schema["maximum"]) {
                (Value::Number(least), Value::Number(most)) => format!("From {least} to {most}."),
                _ => String::new(),
            };
            comment(&mut text, &schema["description"], &range);
            let (value, usual) = match schema.get("default") {
                Some(default) => (default, !repeated && schema.get("x-only").is_none()),
                None => (&schema["examples"][0], false),
            };
            let _ = writeln!(text, "{}{key} = {}", if usual { "" } else { "# " }, toml(value));
        }
    }
    text
}

/// Writes a documentation as comment.
fn comment(text: &mut String, documentation: &Value, more: &str) {
    let mut line = "#".to_owned();
    // The values of a choice are listed at the end; the text before names them.
    let documentation = documentation.as_str().unwrap_or_default().split("\n\n- `").next().unwrap_or_default();
    for word in documentation.split_whitespace().chain(more.split_whitespace()) {
        if line.len() + 1 + word.len() > WIDTH {
            let _ = writeln!(text, "{line}");
            line.truncate(1);
        }
        line.push(' ');
        line.push_str(word);
    }
    let _ = writeln!(text, "{line}");
}
