//! The settings for people to read, in the form of the file. Of secrets it only says what there is.

use std::fmt;

use serde_json::{Map, Value};

use super::{
    Settings,
    schema::{keys, schema, toml, values},
};

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sections = serde_json::to_value(&self.sections).map_err(|_| fmt::Error)?;
        let mut separator = "";
        for (name, schema) in keys(&schema()).into_iter().flatten() {
            let (header, tables) = match &sections[name] {
                Value::Object(table) => (format!("[{name}]"), vec![table]),
                Value::Array(tables) => (format!("[[{name}]]"), tables.iter().filter_map(Value::as_object).collect()),
                _ => continue,
            };
            for table in tables {
                writeln!(f, "{separator}{header}")?;
                separator = "\n";
                show(f, table, schema)?;
            }
        }
        Ok(())
    }
}

/// Shows the keys of a table that mean something in it, and the remarks between them.
fn show(f: &mut fmt::Formatter<'_>, table: &Map<String, Value>, schema: &Value) -> fmt::Result {
    let kind = table.values().next();
    for (key, value) in table {
        let schema = keys(schema).and_then(|keys| keys.get(key));
        let says = |keyword: &str| schema.and_then(|schema| schema.get(keyword));
        let kind = kind.and_then(Value::as_str);
        if says("x-only").is_some_and(|only| values(only).all(|only| Some(only) != kind)) {
            continue;
        }
        let remark = if value.is_null() { says("x-without") } else { Some(value) };
        match remark.and_then(Value::as_str) {
            Some(remark) if value.is_null() || schema.is_none() || says("writeOnly").is_some() => {
                writeln!(f, "# {key}: {remark}")?;
            }
            _ if value.is_null() => {}
            _ => writeln!(f, "{key} = {}", toml(value))?,
        }
    }
    Ok(())
}
