//! Requests as language models write them.
//!
//! Models fill in every member that a tool lists: with `null` or an empty text where they have nothing to say, and with
//! JSON text where an object, a list, a number or a boolean belongs. [`read`] makes of it what they mean, by the schema of
//! the request alone: what the schema accepts stays as it is, and what cannot be read stays to be refused at its path.

use std::{collections::HashMap, sync::LazyLock};

use serde_json::{Map, Value, json};
use ucp_core::{
    Operation, Refusal,
    json::{Limits, integer, parse, push_name},
    operation::Effect,
};

use crate::{dialect::Dialect, schema};

/// Reads a payload that a model wrote: members that are left empty are removed, and JSON text becomes what it says.
/// Fails with [`MalformedJson`](ucp_core::Code::MalformedJson) or [`RequestTooLarge`](ucp_core::Code::RequestTooLarge)
/// for a JSON text that names a member twice, nests too deep, or holds too much.
pub fn read(dialect: &dyn Dialect, operation: Operation, payload: &mut Value) -> Result<(), Refusal> {
    match dialect.shapes(operation).and_then(schema::Shapes::request_schema) {
        Some(schema) => Reader::of(schema).read(payload, "$"),
        None => Ok(()),
    }
}

/// Reads the `meta` of a tool in the same way, with the same errors.
pub fn read_meta(meta: &mut Value) -> Result<(), Refusal> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
        let mut schema = schema::meta(Effect::Safe);
        schema::without_platform(&mut schema);
        schema["properties"]["idempotency-key"]["minLength"] = 1.into();
        schema
    });
    Reader::of(&SCHEMA).read(meta, "$.meta")
}

/// Reads the arguments of a tool, if they are JSON text, with the same errors.
pub fn read_arguments(arguments: &mut Value) -> Result<(), Refusal> {
    static SCHEMA: LazyLock<Value> = LazyLock::new(|| json!({ "type": "object" }));
    Reader::of(&SCHEMA).read(arguments, "$.params.arguments")
}

/// Levels of choices between forms that are looked into.
const MOST_CHOICES: usize = 8;

/// Reader of one value.
struct Reader<'a> {
    /// The schema, with its definitions.
    root: &'a Value,
    /// Values that JSON texts may still hold.
    values: usize,
    /// `true` if a schema, by its address, accepts an empty text.
    takes_blank: HashMap<*const Value, bool>,
}

impl<'a> Reader<'a> {
    fn of(root: &'a Value) -> Self {
        Self { root, values: Limits::REQUEST.values, takes_blank: HashMap::new() }
    }

    fn read(&mut self, value: &mut Value, path: &str) -> Result<(), Refusal> {
        // Most payloads are as they should be, which is seen without the schema.
        if !may_mean_something_else(value) {
            return Ok(());
        }
        self.value(&[self.root], value, &mut path.to_owned(), 0)
    }

    /// Reads a value that any of `schemas` describes.
    fn value(
        &mut self,
        schemas: &[&'a Value],
        value: &mut Value,
        path: &mut String,
        depth: usize,
    ) -> Result<(), Refusal> {
        if let Value::String(text) = value
            && !self.accept(schemas, "string")
            && let Some(read) = self.parsed(schemas, text, path, depth)?
        {
            *value = read;
        }
        match value {
            Value::Object(members) => self.members(schemas, members, path, depth),
            Value::Array(elements) => {
                let forms = self.forms(schemas, &CHOICES);
                let items: Vec<_> = forms.iter().filter_map(|form| form.get("items")).collect();
                if items.is_empty() {
                    return Ok(());
                }
                let here = path.len();
                for (position, element) in elements.iter_mut().enumerate() {
                    path.push_str(&format!("[{position}]"));
                    self.value(&items, element, path, depth + 1)?;
                    path.truncate(here);
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn members(
        &mut self,
        schemas: &[&'a Value],
        members: &mut Map<String, Value>,
        path: &mut String,
        depth: usize,
    ) -> Result<(), Refusal> {
        let (bases, forms) = (self.forms(schemas, &["allOf"]), self.forms(schemas, &CHOICES));
        let required = |name: &str| {
            let names = bases.iter().filter_map(|base| base.get("required")?.as_array()).flatten();
            names.into_iter().any(|required| required == name)
        };
        // What holds in any case goes before what a choice adds to it.
        let named = |name: &str| -> Vec<&'a Value> {
            let stated = |forms: &[&'a Value]| -> Vec<&'a Value> {
                forms.iter().filter_map(|form| form.get("properties")?.get(name)).collect()
            };
            let own = stated(&bases);
            let chosen = if own.is_empty() { stated(&forms) } else { own };
            if chosen.is_empty() {
                let others = forms.iter().filter_map(|form| form.get("additionalProperties"));
                return others.filter(|schema| schema.is_object()).collect();
            }
            chosen
        };
        members.retain(|name, member| {
            let described = named(name);
            described.is_empty() || required(name) || !self.is_left_empty(&described, member)
        });
        let here = path.len();
        for (name, member) in members {
            let described = named(name);
            if described.is_empty() {
                continue;
            }
            push_name(path, name);
            self.value(&described, member, path, depth + 1)?;
            path.truncate(here);
        }
        Ok(())
    }

    /// Returns `true` if a value says nothing where the schemas want something: `null`, or a text without characters.
    fn is_left_empty(&mut self, schemas: &[&'a Value], value: &Value) -> bool {
        match value {
            Value::Null => !self.accept(schemas, "null"),
            Value::String(text) if text.is_empty() => !schemas.iter().any(|schema| self.takes_blank(schema, 0)),
            _ => false,
        }
    }

    /// Parses a text as JSON of a type that the schemas accept; returns `None` if it is not.
    fn parsed(
        &mut self,
        schemas: &[&'a Value],
        text: &str,
        path: &str,
        depth: usize,
    ) -> Result<Option<Value>, Refusal> {
        let text = text.trim_ascii();
        let is_composed = text.starts_with(['{', '[']);
        let limits = Limits { depth: Limits::REQUEST.depth.saturating_sub(depth), values: self.values };
        let read = match parse(text.as_bytes(), limits) {
            Ok(read) => read,
            // Said about the text, which means to be JSON; any other text has the wrong type.
            Err(refusal) if is_composed => {
                let place = refusal.path.as_deref().unwrap_or("$");
                let place = format!("{path}{}", place.strip_prefix('$').unwrap_or_default());
                return Err(Refusal { path: Some(place), ..refusal });
            }
            Err(_) => return Ok(None),
        };
        self.values = self.values.saturating_sub(count(&read));
        let fits = match &read {
            Value::Object(_) => self.accept(schemas, "object"),
            Value::Array(_) => self.accept(schemas, "array"),
            Value::Bool(_) => self.accept(schemas, "boolean"),
            Value::Number(number) => {
                self.accept(schemas, "number") || integer(number).is_some() && self.accept(schemas, "integer")
            }
            Value::Null | Value::String(_) => false,
        };
        Ok(fits.then_some(read))
    }

    /// Returns the schemas, with their references followed, and those that they name under `keywords`.
    fn forms(&self, schemas: &[&'a Value], keywords: &[&str]) -> Vec<&'a Value> {
        let mut forms = Vec::new();
        schemas.iter().for_each(|schema| self.collect(schema, keywords, 0, &mut forms));
        forms
    }

    fn collect(&self, schema: &'a Value, keywords: &[&str], level: usize, forms: &mut Vec<&'a Value>) {
        let schema = schema::resolved(self.root, schema);
        forms.push(schema);
        if level < MOST_CHOICES {
            choices(schema, keywords).for_each(|choice| self.collect(choice, keywords, level + 1, forms));
        }
    }

    /// Returns `true` if any of the schemas accepts values of a type.
    fn accept(&self, schemas: &[&'a Value], kind: &str) -> bool {
        schemas.iter().any(|schema| self.accepts(schema, kind, 0))
    }

    fn accepts(&self, schema: &'a Value, kind: &str, level: usize) -> bool {
        let schema = schema::resolved(self.root, schema);
        let typed = match &schema["type"] {
            Value::String(single) => single == kind,
            Value::Array(several) => several.iter().any(|one| one == kind),
            _ => true,
        };
        let constant = |value: &Value| match value {
            Value::Null => kind == "null",
            Value::String(_) => kind == "string",
            Value::Bool(_) => kind == "boolean",
            Value::Number(_) => matches!(kind, "integer" | "number"),
            Value::Array(_) => kind == "array",
            Value::Object(_) => kind == "object",
        };
        let listed = schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.iter().any(constant));
        let mut choices = choices(schema, &CHOICES).peekable();
        let chosen = level >= MOST_CHOICES
            || choices.peek().is_none()
            || choices.any(|choice| self.accepts(choice, kind, level + 1));
        typed && listed && schema.get("const").is_none_or(constant) && chosen
    }

    /// Returns `true` if a schema accepts a text without characters.
    fn takes_blank(&mut self, schema: &'a Value, level: usize) -> bool {
        const ABOUT_TEXT: [&str; 6] = ["type", "minLength", "pattern", "format", "enum", "const"];
        let schema = schema::resolved(self.root, schema);
        let address = std::ptr::from_ref(schema);
        if let Some(known) = self.takes_blank.get(&address) {
            return *known;
        }
        let about: Map<String, Value> = ABOUT_TEXT
            .iter()
            .filter_map(|keyword| Some(((*keyword).to_owned(), schema.get(keyword)?.clone())))
            .collect();
        let choices: Vec<_> = choices(schema, &CHOICES).collect();
        let chosen = level >= MOST_CHOICES
            || choices.is_empty()
            || choices.iter().any(|choice| self.takes_blank(choice, level + 1));
        let takes = chosen && (about.is_empty() || schema::validator(&Value::Object(about)).is_valid(&json!("")));
        self.takes_blank.insert(address, takes);
        takes
    }
}

/// Keywords that list schemas of the same value.
const CHOICES: [&str; 3] = ["anyOf", "oneOf", "allOf"];

/// Returns the schemas of the same value that a schema lists under `keywords`.
fn choices<'a>(schema: &'a Value, keywords: &[&str]) -> impl Iterator<Item = &'a Value> {
    keywords.iter().filter_map(|keyword| schema.get(keyword)?.as_array()).flatten()
}

/// Returns `true` if a value is or holds `null`, an empty text, or one that may be JSON of another type than a text.
fn may_mean_something_else(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(_) | Value::Number(_) => false,
        Value::String(text) => {
            let text = text.trim_ascii();
            text.is_empty()
                || text.starts_with(|first: char| matches!(first, '{' | '[' | '-' | '0'..='9'))
                || matches!(text, "true" | "false")
        }
        Value::Array(elements) => elements.iter().any(may_mean_something_else),
        Value::Object(members) => members.values().any(may_mean_something_else),
    }
}

/// Returns the number of values in a value, itself included.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Object(members) => members.values().map(count).sum::<usize>(),
        Value::Array(elements) => elements.iter().map(count).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
