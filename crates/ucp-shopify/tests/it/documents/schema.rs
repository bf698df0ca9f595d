//! A schema in GraphQL's own language, from its introspection.

use std::fmt::Write as _;

use serde_json::Value;

/// Types that a server defines by itself.
const BUILT_IN: [&str; 10] =
    ["Int", "Float", "String", "Boolean", "ID", "include", "skip", "deprecated", "specifiedBy", "oneOf"];

/// The definitions of an introspected schema, without descriptions.
pub(crate) fn definitions(introspection: &Value) -> String {
    let schema = introspection.pointer("/data/__schema").or_else(|| introspection.get("__schema")).expect("a schema");
    let mut text = String::from("schema {");
    for (operation, member) in
        [("query", "queryType"), ("mutation", "mutationType"), ("subscription", "subscriptionType")]
    {
        if let Some(name) = schema[member]["name"].as_str() {
            let _ = write!(text, " {operation}: {name}");
        }
    }
    text.push_str(" }\n");
    for directive in list(&schema["directives"]).filter(|directive| !is_built_in(directive)) {
        let places: Vec<_> = list(&directive["locations"]).filter_map(Value::as_str).collect();
        let _ =
            writeln!(text, "directive @{}{} on {}", name(directive), arguments(&directive["args"]), places.join(" | "));
    }
    for definition in list(&schema["types"]).filter(|definition| !is_built_in(definition)) {
        write_type(&mut text, definition);
    }
    text
}

fn write_type(text: &mut String, definition: &Value) {
    let names = |member: &str| list(&definition[member]).map(name).collect::<Vec<_>>();
    let own = name(definition);
    match definition["kind"].as_str() {
        Some("SCALAR") => {
            let _ = writeln!(text, "scalar {own}");
        }
        Some("UNION") => {
            let _ = writeln!(text, "union {own} = {}", names("possibleTypes").join(" | "));
        }
        Some("ENUM") => {
            let _ = writeln!(text, "enum {own} {{ {} }}", names("enumValues").join(" "));
        }
        Some("INPUT_OBJECT") => {
            let _ = writeln!(text, "input {own} {{ {} }}", inputs(&definition["inputFields"]).join(" "));
        }
        Some(kind @ ("OBJECT" | "INTERFACE")) => {
            let keyword = if kind == "OBJECT" { "type" } else { "interface" };
            let interfaces = names("interfaces");
            let implements =
                if interfaces.is_empty() { String::new() } else { format!(" implements {}", interfaces.join(" & ")) };
            let field =
                |field: &Value| format!("{}{}: {}", name(field), arguments(&field["args"]), reference(&field["type"]));
            let fields: Vec<_> = list(&definition["fields"]).map(field).collect();
            let _ = writeln!(text, "{keyword} {own}{implements} {{ {} }}", fields.join(" "));
        }
        kind => panic!("{own} is of an unknown kind, {kind:?}"),
    }
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn name(value: &Value) -> &str {
    value["name"].as_str().expect("a name")
}

fn is_built_in(value: &Value) -> bool {
    name(value).starts_with("__") || BUILT_IN.contains(&name(value))
}

fn arguments(values: &Value) -> String {
    let inputs = inputs(values);
    if inputs.is_empty() { String::new() } else { format!("({})", inputs.join(" ")) }
}

fn inputs(values: &Value) -> Vec<String> {
    let input = |input: &Value| {
        let default = input["defaultValue"].as_str().map(|default| format!(" = {default}")).unwrap_or_default();
        format!("{}: {}{default}", name(input), reference(&input["type"]))
    };
    list(values).map(input).collect()
}

fn reference(value: &Value) -> String {
    match value["kind"].as_str() {
        Some("NON_NULL") => format!("{}!", reference(&value["ofType"])),
        Some("LIST") => format!("[{}]", reference(&value["ofType"])),
        _ => name(value).to_owned(),
    }
}
