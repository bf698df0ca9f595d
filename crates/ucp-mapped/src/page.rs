//! The page of the reference of mapping files.

use std::fmt::Write as _;

use serde_json::Value;

use super::{
    file,
    program::{FILTERS, FORBIDDEN, FilterOfOurs},
};

/// Hand-written part of the page, with `{{keys}}`, `{{filters}}` and `{{forbidden}}` where the rest goes.
const TEXT: &str = include_str!("page.md");

/// Tables of the file that have a section, in their order: the name in the schema, and what stands in the file.
const TABLES: [(&str, &str); 13] = [
    ("Mapping", "The top of the file"),
    ("Market", "`[market]`"),
    ("CatalogAbilities", "`[catalog]`"),
    ("PaymentHandler", "`[[payment_handlers]]`"),
    ("Source", "`[source.NAME]`"),
    ("Choice", "`[source.NAME.choice.NAME]`"),
    ("Auth", "`auth` of a source"),
    ("Carts", "`[cart]`"),
    ("Asked", "A question: `[find]`, `[cart.sync]` and the others"),
    ("OrderEvents", "`[order_event]`"),
    ("Signature", "`[order_event.signature]`"),
    ("Step", "A step: `[[find.step]]`, or a shared `[request.NAME]`"),
    ("Link", "`[[market.links]]`"),
];

/// Formats the page, which is checked in as `docs/mapping-reference.md`.
pub fn page() -> String {
    let filters = FILTERS.iter().map(|FilterOfOurs { call, input, value, example: [code, from, to] }| {
        let cells = [
            format!("`{call}`"),
            (*input).to_owned(),
            (*value).to_owned(),
            format!("`{from}` with `{code}` is `{to}`"),
        ];
        format!("| {} |\n", cells.map(|cell| cell.replace('|', "\\|")).join(" | "))
    });
    let forbidden = FORBIDDEN.map(|(name, reason)| format!("| `{name}` | {reason} |\n")).concat();
    let keys = keys(&file::schema().to_value());
    let filters = filters.collect::<String>();
    TEXT.replace("{{keys}}\n", &keys).replace("{{filters}}\n", &filters).replace("{{forbidden}}\n", &forbidden)
}

/// Returns the sections of the tables of the file.
fn keys(schema: &Value) -> String {
    let mut text = String::new();
    for (name, title) in TABLES {
        let table = if name == "Mapping" { schema } else { &schema["$defs"][name] };
        // Writing to a text cannot fail.
        let _ = writeln!(text, "\n### {title}\n\n{}", line(table));
        match table["oneOf"].as_array() {
            Some(kinds) => {
                for kind in kinds {
                    let constant = kind["properties"]["kind"]["const"].as_str().unwrap_or_default();
                    let _ = writeln!(text, "\n`kind = \"{constant}\"`: {}", line(kind));
                    rows(&mut text, kind);
                }
            }
            None => rows(&mut text, table),
        }
    }
    text
}

/// Adds the table of the keys of an object.
fn rows(text: &mut String, table: &Value) {
    let _ = writeln!(text, "\n| key | value | default | |\n| :-- | :-- | :-- | :-- |");
    for (name, key) in table["properties"].as_object().into_iter().flatten() {
        if key.get("const").is_some() {
            continue;
        }
        let required = table["required"].as_array().is_some_and(|names| names.iter().any(|other| other == name));
        let default = match &key["default"] {
            _ if required => "required".to_owned(),
            Value::Null | Value::Object(_) | Value::Array(_) => String::new(),
            Value::String(text) if text.is_empty() => String::new(),
            default => format!("`{default}`"),
        };
        let _ = writeln!(text, "| `{name}` | {} | {default} | {} |", kind(key), line(key).replace('|', "\\|"));
    }
}

/// Describes the value of a key.
fn kind(key: &Value) -> String {
    let reference = |key: &Value| key["$ref"].as_str().and_then(|name| name.rsplit('/').next()).map(str::to_owned);
    let of_variants = || {
        let variants = key["anyOf"].as_array()?;
        variants.iter().find(|variant| variant["type"] != "null").map(kind)
    };
    if let Some(name) = reference(key).or_else(|| key["allOf"][0].as_object().and_then(|_| reference(&key["allOf"][0])))
    {
        return match &*name {
            "Program" => "program".to_owned(),
            "Address" => "URL".to_owned(),
            "Asked" => "question".to_owned(),
            "Credentials" => "`body`, `header`".to_owned(),
            "Encoding" => "`hex`, `base64`".to_owned(),
            "Completion" => "`place`, `hand_off`".to_owned(),
            "Paging" => "`page`, `offset`, `cursor`".to_owned(),
            _ => "table".to_owned(),
        };
    }
    if let Some(kind) = of_variants() {
        return kind;
    }
    let named = match &key["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or_default(),
        kind => kind.as_str().unwrap_or_default(),
    };
    match named {
        "array" => format!("array of {}", kind(&key["items"])),
        "object" if key["additionalProperties"].is_object() => {
            format!("table of {} by name", kind(&key["additionalProperties"]))
        }
        "object" => "table".to_owned(),
        "string" => "text".to_owned(),
        other => other.to_owned(),
    }
}

/// Returns the description of a part of the schema in one line.
fn line(part: &Value) -> String {
    part["description"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_table_of_the_file() {
        let page = page();
        let schema = file::schema().to_value();
        for name in schema["$defs"].as_object().expect("definitions").keys() {
            let simple = ["Program", "Address", "Completion", "Credentials", "Currency", "Encoding", "Paging"]
                .contains(&&**name);
            assert!(simple || TABLES.iter().any(|(table, _)| table == name), "{name} has no section");
        }
        for row in [
            "| `each` | program |",
            "| `completion` | `place`, `hand_off` | required |",
            "| `address` | URL | required |",
            "| `accept` | array of integer |",
            "| `minor($currency)` |",
            "| `now` | use `$now`",
            "| `prefix` | text | `\"Bearer \"` |",
        ] {
            assert!(page.contains(row), "{row}: {page}");
        }
        assert!(!page.contains("{{"), "{page}");
    }
}
