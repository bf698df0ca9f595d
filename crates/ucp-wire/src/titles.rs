//! Titles of schemas, which are the names of the types that generators make from an OpenRPC document.
//!
//! `@open-rpc/typings` and its kin name a type by the title of its schema, and by a hash of its contents if there is none.
//! Two schemas with the same title become one type. Titles are therefore unique in a document: a component has its name, and
//! a schema inside of another one has the title of that and its place there, as `CheckoutBuyerEmail`.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Keywords that hold a schema, with the word for its place.
const SINGLE: &[(&str, &str)] = &[
    ("items", "Item"),
    ("contains", "Item"),
    ("additionalProperties", "Value"),
    ("unevaluatedProperties", "Value"),
    ("propertyNames", "Name"),
    ("not", "Not"),
    ("if", "If"),
    ("then", "Then"),
    ("else", "Else"),
];

/// Keywords that hold schemas which have no names.
const ALTERNATIVES: &[&str] = &["anyOf", "oneOf", "allOf"];

/// Keywords that hold schemas by name.
const NAMED: &[&str] = &["properties", "patternProperties"];

/// The titles of a document.
#[derive(Debug)]
pub(crate) struct Titles {
    taken: BTreeSet<String>,
}

impl Titles {
    /// Gives the components their names as titles, and titles to the schemas inside of them.
    pub(crate) fn of(components: &mut Map<String, Value>) -> Self {
        let mut titles = Self { taken: components.keys().cloned().collect() };
        for (name, component) in components {
            titles.insert(component, name);
        }
        titles
    }

    /// Gives a title to a schema outside of the components, and to the schemas inside of it.
    pub(crate) fn add(&mut self, schema: &mut Value, title: String) {
        // The title is that of what a reference leads to.
        if schema.get("$ref").is_none() {
            let title = self.free(title);
            self.insert(schema, &title);
        }
    }

    fn insert(&mut self, schema: &mut Value, title: &str) {
        let Value::Object(members) = schema else { return };
        members.insert("title".to_owned(), title.into());
        for (keyword, place) in SINGLE {
            if let Some(inner) = members.get_mut(*keyword) {
                self.add(inner, format!("{title}{place}"));
            }
        }
        for keyword in NAMED {
            for (name, inner) in members.get_mut(*keyword).and_then(Value::as_object_mut).into_iter().flatten() {
                self.add(inner, format!("{title}{}", pascal(name)));
            }
        }
        for keyword in ALTERNATIVES {
            let alternatives = members.get_mut(*keyword).and_then(Value::as_array_mut);
            for (position, inner) in alternatives.into_iter().flatten().enumerate() {
                let own = inner.get("title").and_then(Value::as_str).map(str::to_owned);
                self.add(inner, own.unwrap_or_else(|| format!("{title}Option{}", position + 1)));
            }
        }
    }

    /// Returns the title, or one that begins so, if it is taken.
    fn free(&mut self, title: String) -> String {
        let others = (2..).map(|number| format!("{title}{number}"));
        let mut titles = std::iter::once(title.clone()).chain(others);
        let free = titles.find(|title| !self.taken.contains(title)).unwrap_or(title);
        self.taken.insert(free.clone());
        free
    }
}

/// Converts `get_product` to `GetProduct`, and `ucp-agent` to `UcpAgent`.
pub(crate) fn pascal(name: &str) -> String {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect::<String>()
    };
    name.split(|letter: char| !letter.is_ascii_alphanumeric()).map(capitalized).collect()
}
