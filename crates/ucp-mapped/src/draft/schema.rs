//! Types of a GraphQL schema, from an introspection.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Undrafted,
    shape::{MAX_DEPTH, Shape},
};

/// A type as a field or an argument has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TypeRef {
    pub(super) name: String,
    pub(super) is_list: bool,
    pub(super) is_required: bool,
    /// Spelling, such as `[ID!]!`.
    pub(super) text: String,
}

/// A field, or a member of an input.
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) name: String,
    pub(super) arguments: Vec<(String, TypeRef)>,
    pub(super) of: TypeRef,
}

/// A type.
#[derive(Clone, Debug, Default)]
pub(super) struct Type {
    pub(super) fields: Vec<Field>,
    /// Types of a union, and those that implement an interface.
    pub(super) possible: Vec<String>,
    pub(super) is_input: bool,
    pub(super) is_union: bool,
}

/// A schema.
#[derive(Debug, Default)]
pub(super) struct Schema {
    pub(super) types: BTreeMap<String, Type>,
    pub(super) query: String,
    pub(super) mutation: Option<String>,
}

impl Schema {
    /// Reads the answer to an introspection, or its `data`.
    pub(super) fn introspected(document: &Value) -> Result<Self, Undrafted> {
        let inner = document.get("data").unwrap_or(document);
        let schema = inner.get("__schema").ok_or_else(|| {
            Undrafted::Unreadable(
                "must be the answer to an introspection, with `__schema`, or a schema in SDL".to_owned(),
            )
        })?;
        let root = |name: &str| named(&schema[name]).map(str::to_owned);
        let mut types = BTreeMap::new();
        for stated in schema["types"].as_array().into_iter().flatten() {
            let Some(name) = named(stated).filter(|name| !name.starts_with("__")) else { continue };
            let listed = |member: &str| stated[member].as_array().cloned().unwrap_or_default();
            let argument = |stated: &Value| Some((named(stated)?.to_owned(), reference(&stated["type"], MAX_DEPTH)?));
            let fields = listed("fields").into_iter().chain(listed("inputFields")).filter_map(|field| {
                Some(Field {
                    name: named(&field)?.to_owned(),
                    arguments: field["args"].as_array().into_iter().flatten().filter_map(argument).collect(),
                    of: reference(&field["type"], MAX_DEPTH)?,
                })
            });
            let possible = listed("possibleTypes");
            let possible = possible.iter().filter_map(|own| named(own).map(str::to_owned));
            let own = Type {
                fields: fields.collect(),
                possible: possible.collect(),
                is_input: stated["kind"] == "INPUT_OBJECT",
                is_union: stated["kind"] == "UNION",
            };
            types.insert(name.to_owned(), own);
        }
        let query = root("queryType").unwrap_or_else(|| "Query".to_owned());
        Ok(Self { types, query, mutation: root("mutationType") })
    }

    pub(super) fn fields(&self, name: &str) -> &[Field] {
        self.types.get(name).map_or(&[], |own| &own.fields)
    }

    /// Returns the shape of a type, with the members whose names are `wanted`.
    pub(super) fn shape(&self, of: &TypeRef, wanted: &dyn Fn(&str) -> bool, depth: usize) -> Shape {
        let inner = match of.name.as_str() {
            "String" | "ID" => Shape::Text,
            "Int" | "Money" => Shape::Integer,
            "Float" | "Decimal" => Shape::Number,
            "Boolean" => Shape::Boolean,
            name => match self.types.get(name) {
                Some(own) if !own.fields.is_empty() => {
                    if depth == 0 {
                        return Shape::Unknown;
                    }
                    let free = own.fields.iter().filter(|field| field.arguments.iter().all(|(_, of)| !of.is_required));
                    let members = free.filter(|field| wanted(&field.name)).filter_map(|field| {
                        let shape = self.shape(&field.of, wanted, depth - 1);
                        let empty =
                            shape == Shape::Unknown || matches!(&shape, Shape::Object(members) if members.is_empty());
                        (!empty).then(|| (field.name.clone(), shape, field.of.is_required))
                    });
                    Shape::Object(members.collect())
                }
                // Enumerations and scalars of the shop.
                Some(own) if own.is_union => Shape::Unknown,
                _ => Shape::Text,
            },
        };
        match inner {
            Shape::Object(members) if members.is_empty() => Shape::Unknown,
            inner if of.is_list => Shape::List(Box::new(inner)),
            inner => inner,
        }
    }
}

/// Returns the name of something, if it is one as GraphQL has them.
fn named(stated: &Value) -> Option<&str> {
    let name = stated["name"].as_str()?;
    name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_').then_some(name)
}

fn reference(stated: &Value, depth: usize) -> Option<TypeRef> {
    if depth == 0 {
        return None;
    }
    let inner = || reference(&stated["ofType"], depth - 1);
    match stated["kind"].as_str()? {
        "NON_NULL" => inner().map(|inner| TypeRef { is_required: true, text: format!("{}!", inner.text), ..inner }),
        "LIST" => inner().map(|inner| TypeRef {
            is_list: true,
            is_required: false,
            text: format!("[{}]", inner.text),
            name: inner.name,
        }),
        _ => {
            let name = named(stated)?.to_owned();
            Some(TypeRef { text: name.clone(), name, is_list: false, is_required: false })
        }
    }
}
