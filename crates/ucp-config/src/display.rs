//! The settings for people to read, in the form of the file. Of secrets it only says what there is.

use std::fmt;

use serde_json::{Map, Value};

use super::{
    Configuration, Mount, Process, Settings,
    schema::{PROCESS, SHOP, keys, schema, toml, values},
    sections::Sections,
};

/// A single shop, or what belongs to the process, and then each of several shops with what it states and inherits.
impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(settings) = self.single() {
            return settings.fmt(f);
        }
        let Process { server, log, telemetry, events, data, .. } = &*self.process;
        let (server, log, data) = (server.clone(), log.clone(), data.clone());
        let (telemetry, events) = (telemetry.clone(), events.clone());
        let sections = Sections { server, log, telemetry, events, data, ..Sections::default() };
        show_all(f, &sections, "", |schema| schema.get(PROCESS).is_some())?;
        self.shops.iter().try_for_each(|settings| write!(f, "\n{settings}"))
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mount { id, hosts, path, is_one_of_several } = &self.mount;
        if !is_one_of_several {
            return show_all(f, &self.sections, "", |_| true);
        }
        writeln!(f, "[[{SHOP}]]\nname = {}", toml(&id.as_str().into()))?;
        if !hosts.is_empty() {
            writeln!(f, "hosts = {}", toml(&hosts.clone().into()))?;
        }
        if !path.is_empty() {
            writeln!(f, "path = {}", toml(&path.clone().into()))?;
        }
        writeln!(f)?;
        show_all(f, &self.sections, "shop.", |schema| schema.get(PROCESS).is_none())
    }
}

/// Shows those sections and keys of which `shows` is true, each section with a header that begins with `prefix`.
fn show_all(
    f: &mut fmt::Formatter<'_>,
    sections: &Sections,
    prefix: &str,
    shows: impl Fn(&Value) -> bool,
) -> fmt::Result {
    let sections = serde_json::to_value(sections).map_err(|_| fmt::Error)?;
    let mut separator = "";
    for (name, schema) in keys(schema()).into_iter().flatten() {
        let (header, tables) = match &sections[name] {
            Value::Object(table) => (format!("[{prefix}{name}]"), vec![table]),
            Value::Array(tables) => {
                (format!("[[{prefix}{name}]]"), tables.iter().filter_map(Value::as_object).collect())
            }
            _ => continue,
        };
        let is_whole = schema.get(PROCESS).is_some() && shows(schema);
        for table in tables {
            let shown = |key: &str| {
                let schema = keys(schema).and_then(|keys| keys.get(key));
                is_whole || schema.map_or_else(|| shows(&Value::Null), &shows)
            };
            let mut table = table.clone();
            table.retain(|key, _| shown(key));
            if table.is_empty() || (!is_whole && schema.get(PROCESS).is_some() && !shows(schema)) {
                continue;
            }
            writeln!(f, "{separator}{header}")?;
            separator = "\n";
            show(f, &table, schema)?;
        }
    }
    Ok(())
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
