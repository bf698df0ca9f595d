//! The OpenAPI documents of all releases, merged: each operation, type and member once, with the releases that have it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use ucp_core::{Operation, Release};
use ucp_wire::openapi;

/// Place of the definitions in a document.
const DEFINITIONS: &str = "#/components/schemas/";

/// Merged content of the documents of all releases.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// Operations, in the order of the specification.
    pub(super) operations: Vec<Described>,
    /// Types of requests and answers by name.
    pub(super) types: BTreeMap<String, Type>,
    /// Codes of all refusals.
    pub(super) codes: BTreeSet<String>,
}

/// An operation.
#[derive(Debug)]
pub(super) struct Described {
    pub(super) operation: Operation,
    /// Releases that have it, the newest first.
    pub(super) releases: Vec<Release>,
    /// Type of the request, unless there is no body.
    pub(super) request: Versions,
    pub(super) answer: Versions,
    /// Codes with which it may be refused, in the order of their status.
    pub(super) codes: Vec<String>,
    /// Body of an example by release, the newest first.
    pub(super) examples: Vec<(Release, Value)>,
}

/// A type.
#[derive(Debug, Default)]
pub(super) struct Type {
    pub(super) text: String,
    /// Releases that have it, the newest first.
    pub(super) releases: Vec<Release>,
    pub(super) members: Vec<Member>,
    /// Form of the type, if it is not an object with fields.
    pub(super) form: Versions,
}

/// A member of a type.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) kinds: Versions,
    /// Releases in which it has to be there.
    pub(super) required: Vec<Release>,
}

impl Member {
    /// Returns the releases that have it, the newest first.
    pub(super) fn releases(&self) -> Vec<Release> {
        let mut releases: Vec<_> = self.kinds.iter().flat_map(|(_, releases)| releases).copied().collect();
        releases.sort_by_key(|release| std::cmp::Reverse(release.date()));
        releases
    }
}

/// Description of a value in words, some of which are names of types.
pub(super) type Kind = Vec<Piece>;

/// A part of a [`Kind`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Piece {
    Word(String),
    Type(String),
}

/// Descriptions of a value, with the releases of each; that of the newest release first.
pub(super) type Versions = Vec<(Kind, Vec<Release>)>;

impl Model {
    /// Reads the documents of all releases about these operations.
    pub(super) fn new(operations: &[Operation]) -> Self {
        let mut model = Self::default();
        for release in Release::ALL.iter().rev() {
            let document = openapi::document(ucp_wire::dialect(*release), operations, "");
            model.add(*release, &document, operations);
        }
        let place = |described: &Described| operations.iter().position(|operation| *operation == described.operation);
        model.operations.sort_by_key(place);
        model
    }

    /// Adds the document of a release, of which each must be older than the one before.
    fn add(&mut self, release: Release, document: &Value, operations: &[Operation]) {
        let none = serde_json::Map::new();
        let definitions = document["components"]["schemas"].as_object().unwrap_or(&none);
        let mut answers = BTreeSet::new();
        for operation in operations {
            let row = operation.row();
            let described = &document["paths"][row.path][row.method.as_str().to_ascii_lowercase()];
            if !described.is_object() {
                continue;
            }
            let request = &described["requestBody"]["content"]["application/json"]["schema"];
            let root = &described["responses"]["200"]["content"]["application/json"]["schema"];
            let root = if root.is_null() {
                &described["responses"]["201"]["content"]["application/json"]["schema"]
            } else {
                root
            };
            // The answers of REST are unions of their own, which say nothing beside their parts.
            let named = root["$ref"].as_str().and_then(|name| name.strip_prefix(DEFINITIONS));
            let union = named.and_then(|name| definitions.get(name)).filter(|schema| schema.get("oneOf").is_some());
            answers.extend(union.and(named));
            let own = self.described(*operation);
            own.releases.push(release);
            push(&mut own.answer, kind(union.unwrap_or(root)), release);
            if !request.is_null() {
                push(&mut own.request, kind(request), release);
                let named = request["$ref"].as_str().and_then(|name| name.strip_prefix(DEFINITIONS));
                let schema = named.and_then(|name| definitions.get(name)).unwrap_or(request);
                own.examples.extend(schema["examples"].get(0).map(|example| (release, example.clone())));
            }
            let codes = codes(&described["responses"]);
            let new: Vec<_> = codes.iter().filter(|code| !own.codes.contains(code)).cloned().collect();
            own.codes.extend(new);
            self.codes.extend(codes);
        }
        for (name, schema) in definitions.iter().filter(|(name, _)| !answers.contains(name.as_str())) {
            self.types.entry(name.clone()).or_default().add(release, schema);
        }
    }

    fn described(&mut self, operation: Operation) -> &mut Described {
        let place = self.operations.iter().position(|described| described.operation == operation);
        let place = place.unwrap_or_else(|| {
            self.operations.push(Described {
                operation,
                releases: Vec::new(),
                request: Vec::new(),
                answer: Vec::new(),
                codes: Vec::new(),
                examples: Vec::new(),
            });
            self.operations.len() - 1
        });
        &mut self.operations[place]
    }
}

impl Type {
    fn add(&mut self, release: Release, schema: &Value) {
        self.releases.push(release);
        if self.text.is_empty() {
            self.text = text(schema);
        }
        let Some(properties) = schema["properties"].as_object() else {
            push(&mut self.form, kind(schema), release);
            return;
        };
        let required: BTreeSet<_> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        for (name, schema) in properties {
            let place = self.members.iter().position(|member| member.name == *name).unwrap_or_else(|| {
                let (name, text) = (name.clone(), text(schema));
                self.members.push(Member { name, text, kinds: Vec::new(), required: Vec::new() });
                self.members.len() - 1
            });
            let member = &mut self.members[place];
            push(&mut member.kinds, kind(schema), release);
            if required.contains(name.as_str()) {
                member.required.push(release);
            }
        }
    }
}

fn text(schema: &Value) -> String {
    schema["description"].as_str().unwrap_or_default().to_owned()
}

/// Notes what a value is in a release.
fn push(versions: &mut Versions, kind: Kind, release: Release) {
    match versions.iter_mut().find(|(known, _)| *known == kind) {
        Some((_, releases)) => releases.push(release),
        None => versions.push((kind, vec![release])),
    }
}

/// Returns the codes in the descriptions of responses: they begin lines, as code.
fn codes(responses: &Value) -> Vec<String> {
    let texts = responses.as_object().into_iter().flat_map(serde_json::Map::values);
    let lines = texts.filter_map(|response| response["description"].as_str()).flat_map(str::lines);
    lines.filter_map(|line| Some(line.strip_prefix('`')?.split_once("`: ")?.0.to_owned())).collect()
}

fn word(text: impl Into<String>) -> Kind {
    vec![Piece::Word(text.into())]
}

/// Joins kinds with a word between them.
fn joined(kinds: impl IntoIterator<Item = Kind>, between: &str) -> Kind {
    let mut whole = Kind::new();
    for kind in kinds {
        if !whole.is_empty() {
            whole.push(Piece::Word(between.to_owned()));
        }
        whole.extend(kind);
    }
    whole
}

/// Describes what a schema allows.
fn kind(schema: &Value) -> Kind {
    if let Some(name) = schema["$ref"].as_str() {
        return vec![Piece::Type(name.strip_prefix(DEFINITIONS).unwrap_or(name).to_owned())];
    }
    let list = |name: &str| schema[name].as_array().into_iter().flatten();
    let either = list("oneOf").chain(list("anyOf")).map(kind);
    let either = joined(either, " or ");
    if !either.is_empty() {
        return either;
    }
    if let Some(value) = schema.get("const") {
        return word(value.to_string());
    }
    let values: Vec<_> = list("enum").map(Value::to_string).collect();
    if !values.is_empty() {
        return word(values.join(", "));
    }
    let name = match &schema["type"] {
        Value::Array(names) => joined(names.iter().filter_map(Value::as_str).map(word), " or "),
        Value::String(name) if name == "array" => {
            let mut whole = word("array of ");
            whole.extend(kind(&schema["items"]));
            whole
        }
        Value::String(name) if name == "object" && schema["additionalProperties"].is_object() => {
            let mut whole = word("object of ");
            whole.extend(kind(&schema["additionalProperties"]));
            whole
        }
        Value::String(name) => word(name.as_str()),
        _ => word("any value"),
    };
    let limits = limits(schema);
    if limits.is_empty() { name } else { joined([name, word(limits)], ", ") }
}

/// Describes the limits of a schema.
fn limits(schema: &Value) -> String {
    let between = |least: &str, most: &str, of: &str| match (schema[least].as_u64(), schema[most].as_u64()) {
        (Some(least), Some(most)) if least == most => Some(format!("{least}{of}")),
        (Some(least), Some(most)) => Some(format!("{least} to {most}{of}")),
        (Some(least), None) => Some(format!("{least}{of} or more")),
        (None, Some(most)) => Some(format!("at most {most}{of}")),
        (None, None) => None,
    };
    let said = [
        schema["format"]
            .as_str()
            .filter(|format| !format.starts_with("int") && !format.starts_with("uint"))
            .map(str::to_owned),
        between("minLength", "maxLength", " characters"),
        between("minItems", "maxItems", " elements"),
        between("minimum", "maximum", ""),
        schema["pattern"].as_str().map(|pattern| format!("matches {pattern}")),
    ];
    said.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_member_is_told_once_with_the_releases_that_have_it() {
        let (new, old) = (Release::NEWEST, Release::ALL[0]);
        let mut merged = Type::default();
        merged.add(
            new,
            &json!({ "properties": {
            "id": { "type": "string", "maxLength": 9, "description": "Identifier." },
            "lines": { "type": "array", "items": { "$ref": "#/components/schemas/Line" } },
        }, "required": ["id"] }),
        );
        merged.add(old, &json!({ "properties": { "id": { "type": "integer" }, "state": { "enum": ["a", "b"] } } }));
        let names: Vec<_> = merged.members.iter().map(|member| (member.name.as_str(), member.releases())).collect();
        assert_eq!(names, [("id", vec![new, old]), ("lines", vec![new]), ("state", vec![old])]);
        let [id, lines, state] = &merged.members[..] else { unreachable!("three") };
        assert_eq!((id.text.as_str(), &id.required, id.kinds.len()), ("Identifier.", &vec![new], 2));
        assert_eq!(lines.kinds[0].0, [Piece::Word("array of ".into()), Piece::Type("Line".into())]);
        assert_eq!(state.kinds[0].0, word("\"a\", \"b\""));
    }

    #[test]
    fn every_operation_and_every_type_it_names_is_described() {
        let model = Model::new(Operation::ALL);
        assert_eq!(model.operations.len(), Operation::ALL.len());
        let kinds = model.operations.iter().flat_map(|described| described.request.iter().chain(&described.answer));
        let members = model
            .types
            .values()
            .flat_map(|known| known.form.iter().chain(known.members.iter().flat_map(|member| &member.kinds)));
        for (kind, _) in kinds.chain(members) {
            for piece in kind {
                let Piece::Type(name) = piece else { continue };
                assert!(model.types.contains_key(name), "{name}");
            }
        }
        for Described { operation, request, answer, codes, examples, releases } in &model.operations {
            let name = operation.row().name;
            assert!(!answer.is_empty() && codes.iter().any(|code| code == "rate_limited"), "{name}");
            assert!(request.is_empty() || examples.len() == releases.len(), "{name} has an example in every release");
        }
    }
}
