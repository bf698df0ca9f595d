//! JSON Schemas of requests and answers, and validation against them.
//!
//! In the newest release one type gives the parser, the schema clients read and the validator, so that the three cannot
//! disagree; the schemas of older releases are files. Schemas are draft 2020-12 and self-contained. Optional members are left out when absent, never `null`, as UCP has it.

use std::{
    collections::HashMap,
    mem,
    sync::{Arc, OnceLock},
};

use jsonschema::{
    Validator,
    error::{TypeKind, ValidationErrorKind},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::transform_subschemas};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use ucp_core::{
    Code, Operation, Refusal,
    json::{path_of_pointer, push_name},
    operation::Effect,
};

/// The dialect every schema is written in.
pub const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The member of a derived schema that names keywords beside it which the domain judges, because it has better words for
/// what is wrong. Readers see those keywords and not this member; the validator sees neither.
const LEFT_TO_DOMAIN: &str = "x-left-to-domain";

/// The shapes of one operation in one release.
#[derive(Debug)]
pub struct Shapes {
    request: Option<Shape>,
    answer: Shape,
    no_resource: Shape,
    validator: OnceLock<Validator>,
}

/// A shape, and where its schema comes from.
#[derive(Clone, Debug)]
enum Shape {
    /// A type.
    Derived(fn(&mut SchemaGenerator) -> Schema),
    /// The definition of this name among those of a release.
    Stated(String, Arc<Map<String, Value>>),
}

impl Shape {
    /// The schema, as the generator refers to it.
    fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        let (name, definitions) = match self {
            Self::Derived(derive) => return derive(generator),
            Self::Stated(name, definitions) => (name, definitions),
        };
        let mut schema = json!({ "$ref": format!("{DEFINITIONS}{name}") });
        if generator.settings().inline_subschemas {
            inline(&mut schema, definitions);
        } else {
            define(&schema, definitions, generator.definitions_mut());
        }
        Schema::try_from(schema).unwrap_or_default()
    }
}

/// Where references to definitions lead.
const DEFINITIONS: &str = "#/$defs/";

/// The name of the definition that a schema refers to.
fn referred(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(DEFINITIONS)
}

/// Adds the definitions that a schema refers to, and those that these refer to.
fn define(schema: &Value, definitions: &Map<String, Value>, defined: &mut Map<String, Value>) {
    match schema {
        Value::Object(members) => {
            if let Some(name) = referred(members)
                && !defined.contains_key(name)
                && let Some(definition) = definitions.get(name)
            {
                defined.insert(name.to_owned(), definition.clone());
                define(definition, definitions, defined);
            }
            members.values().for_each(|member| define(member, definitions, defined));
        }
        Value::Array(elements) => elements.iter().for_each(|element| define(element, definitions, defined)),
        _ => {}
    }
}

/// Puts definitions in the place of references to them; what stands beside a reference overrules.
fn inline(schema: &mut Value, definitions: &Map<String, Value>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(definition)) = referred(members).and_then(|name| definitions.get(name)) {
                let optional = members.keys().next().is_some_and(|first| first != "$ref");
                let (mut whole, mut beside) = (definition.clone(), mem::take(members));
                beside.shift_remove("$ref");
                // As generators do, which tell choices that may be left out behind what stands beside them.
                if optional && (whole.contains_key("anyOf") || whole.contains_key("oneOf")) {
                    whole.retain(|name, _| !beside.contains_key(name));
                    beside.extend(whole);
                    *members = beside;
                } else {
                    whole.extend(beside);
                    *members = whole;
                }
            }
            for (name, member) in members {
                inline(member, definitions);
                // As generators do, whose `items` are written schemas: the description first.
                if name == "items"
                    && let Ok(schema) = Schema::try_from(member.take())
                {
                    *member = json!(schema);
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(|element| inline(element, definitions)),
        _ => {}
    }
}

impl Shapes {
    /// The shapes of an operation that reads `Q` and answers `A`, or `N` when there is nothing to return.
    #[must_use]
    pub fn of<Q: JsonSchema, A: JsonSchema, N: JsonSchema>() -> Self {
        Self { request: Some(Shape::Derived(SchemaGenerator::subschema_for::<Q>)), ..Self::without_request::<A, N>() }
    }

    /// The shapes of an operation that takes no payload and answers `A`, or `N` when there is nothing to return.
    #[must_use]
    pub fn without_request<A: JsonSchema, N: JsonSchema>() -> Self {
        Self {
            request: None,
            answer: Shape::Derived(SchemaGenerator::subschema_for::<A>),
            no_resource: Shape::Derived(SchemaGenerator::subschema_for::<N>),
            validator: OnceLock::new(),
        }
    }

    /// The schema of the request payload, as the generator refers to it; `None` for an operation that takes none.
    pub fn request(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        self.request.as_ref().map(|request| request.schema(generator))
    }

    /// The schema of the answer that there is nothing, as the generator refers to it.
    pub fn no_resource(&self, generator: &mut SchemaGenerator) -> Schema {
        self.no_resource.schema(generator)
    }

    /// The schema of the answer: what was asked for, or why there is nothing. Its root is an object for the sake of MCP
    /// clients, which take no other output schema (trap T-29).
    pub fn response(&self, generator: &mut SchemaGenerator) -> Schema {
        let (answer, no_resource) = (self.answer.schema(generator), self.no_resource.schema(generator));
        schemars::json_schema!({ "type": "object", "oneOf": [answer, no_resource] })
    }

    /// Validates a request payload. Where none is taken, whatever comes is left alone.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for the first violation.
    pub fn check_request(&self, payload: &Value) -> Result<(), Refusal> {
        let Some(request) = &self.request else { return Ok(()) };
        let validator = self.validator.get_or_init(|| {
            let mut settings = settings(Direction::Request);
            settings.transforms.insert(0, Box::new(leave_to_domain));
            validator(&bundle(&mut settings.into_generator(), |generator| request.schema(generator)))
        });
        validator.validate(payload).map_err(|error| refusal(&error))
    }
}

/// Schemas of a release as a file states them.
#[derive(Deserialize)]
struct File {
    /// By the name of an operation, the definitions of its request, if it takes one, and of its answer.
    operations: Map<String, Value>,
    #[serde(rename = "$defs")]
    definitions: Map<String, Value>,
}

/// The files of a release: the first one tells the operations, and its definitions overrule those of the others.
fn files(texts: &[&str]) -> (Map<String, Value>, Arc<Map<String, Value>>) {
    let (mut operations, mut definitions) = (Map::new(), Map::new());
    for text in texts.iter().rev() {
        let file: File =
            serde_json::from_str(text).unwrap_or_else(|error| unreachable!("the files of releases are JSON: {error}"));
        operations = file.operations;
        definitions.extend(file.definitions);
    }
    (operations, Arc::new(definitions))
}

/// The shapes of a release as files state them.
pub(crate) fn stated(texts: &[&str]) -> HashMap<Operation, Shapes> {
    let (operations, definitions) = files(texts);
    let shape = |name: &Value| name.as_str().map(|name| Shape::Stated(name.to_owned(), Arc::clone(&definitions)));
    let no_resource = Shape::Stated("ErrorResponse".to_owned(), Arc::clone(&definitions));
    let shapes = operations.iter().filter_map(|(name, shapes)| {
        let shapes = Shapes {
            request: shape(&shapes[0]),
            answer: shape(&shapes[1])?,
            no_resource: no_resource.clone(),
            validator: OnceLock::new(),
        };
        Some((Operation::named(name)?, shapes))
    });
    shapes.collect()
}

/// The definition of this name in the files of a release, as the generator refers to it.
pub(crate) fn named(name: &str, texts: &[&str], generator: &mut SchemaGenerator) -> Schema {
    Shape::Stated(name.to_owned(), files(texts).1).schema(generator)
}

/// Which way a document travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a platform to the gateway.
    Request,
    /// From the gateway to a platform.
    Response,
}

/// A generator whose schemas refer to shared definitions.
#[must_use]
pub fn generator(direction: Direction) -> SchemaGenerator {
    settings(direction).into_generator()
}

/// A generator whose schemas refer to nothing, for readers that cannot follow references.
#[must_use]
pub fn inlining_generator(direction: Direction) -> SchemaGenerator {
    settings(direction).with(|settings| settings.inline_subschemas = true).into_generator()
}

fn settings(direction: Direction) -> SchemaSettings {
    let settings = SchemaSettings::draft2020_12().with(|settings| settings.meta_schema = None).with_transform(tidy);
    match direction {
        Direction::Request => settings.for_deserialize(),
        Direction::Response => settings.for_serialize(),
    }
}

/// A self-contained schema: what `root` makes, with the definitions it refers to.
pub fn bundle(generator: &mut SchemaGenerator, root: impl FnOnce(&mut SchemaGenerator) -> Schema) -> Value {
    let root = root(generator);
    let mut definitions = generator.take_definitions(true);
    let mut schema = Map::from_iter([("$schema".to_owned(), Value::from(DRAFT))]);
    let mut resolved = match root.as_object().and_then(referred).and_then(|name| definitions.shift_remove(name)) {
        Some(definition) => Schema::try_from(definition).unwrap_or_default(),
        None => root.clone(),
    };
    tidy(&mut resolved);
    if let Value::Object(members) = resolved.to_value() {
        schema.extend(members);
    }
    if !definitions.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(definitions));
    }
    Value::Object(schema)
}

/// A schema that refers to nothing, as it is shown to readers.
#[must_use]
pub fn standing_alone(mut schema: Schema) -> Value {
    tidy(&mut schema);
    schema.to_value()
}

/// Takes the keywords away that the domain judges.
fn leave_to_domain(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut()
        && let Some(Value::Array(keywords)) = object.shift_remove(LEFT_TO_DOMAIN)
    {
        for keyword in keywords.iter().filter_map(Value::as_str) {
            object.shift_remove(keyword);
        }
    }
    transform_subschemas(&mut leave_to_domain, schema);
}

/// Makes a derived schema say what the wire does: no `null` for absent members, no formats that only Rust knows.
pub(crate) fn tidy(schema: &mut Schema) {
    if let Some(object) = schema.as_object_mut() {
        if object.get("format").and_then(Value::as_str).is_some_and(|format| format != "uri") {
            object.shift_remove("format");
        }
        if let Some(Value::Array(types)) = object.get_mut("type") {
            types.retain(|name| name != "null");
            if let [single] = types.as_slice() {
                let single = single.clone();
                object.insert("type".to_owned(), single);
            }
        }
        if let Some(Value::Array(choices)) = object.get_mut("anyOf") {
            choices.retain(|choice| choice.get("type").and_then(Value::as_str) != Some("null"));
            if let [Value::Object(only)] = choices.as_slice() {
                let only = only.clone();
                object.shift_remove("anyOf");
                for (name, value) in only {
                    object.entry(name).or_insert(value);
                }
            }
        }
        if object.get("default").is_some_and(Value::is_null) {
            object.shift_remove("default");
        }
        object.shift_remove(LEFT_TO_DOMAIN);
    }
    transform_subschemas(&mut tidy, schema);
}

/// A validator for a self-contained schema of this crate.
///
/// # Panics
/// When the schema is no schema: a mistake in the crate that every test run finds.
#[must_use]
pub fn validator(schema: &Value) -> Validator {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .build(schema)
        .unwrap_or_else(|error| unreachable!("derived schemas compile: {error}"))
}

/// What a violation means for the caller. Values are never repeated: they may be a buyer's.
fn refusal(error: &jsonschema::ValidationError<'_>) -> Refusal {
    let (path, fault, accepted) = fault(error);
    let mut refusal = Refusal::new(Code::InvalidRequest, format!("{fault}.")).at(path);
    refusal.accepted = accepted;
    refusal
}

/// The place of a violation, what is wrong there, and what would be accepted.
fn fault(error: &jsonschema::ValidationError<'_>) -> (String, String, Option<String>) {
    let mut path = path_of_pointer(error.instance_path().as_str());
    let (what, accepted) = match error.kind() {
        ValidationErrorKind::Required { property } => {
            push_name(&mut path, property.as_str().unwrap_or_default());
            ("is missing".to_owned(), None)
        }
        ValidationErrorKind::Type { kind: TypeKind::Single(kind) } => {
            ("has the wrong type".to_owned(), Some(kind.to_string()))
        }
        ValidationErrorKind::Minimum { limit } => ("is too small".to_owned(), Some(format!("at least {limit}"))),
        ValidationErrorKind::Maximum { limit } => ("is too large".to_owned(), Some(format!("at most {limit}"))),
        ValidationErrorKind::MinItems { limit } => {
            ("has too few elements".to_owned(), Some(format!("at least {limit}")))
        }
        ValidationErrorKind::MaxItems { limit } => {
            ("has too many elements".to_owned(), Some(format!("at most {limit}")))
        }
        ValidationErrorKind::MinLength { limit } => {
            ("is too short".to_owned(), Some(format!("at least {limit} characters")))
        }
        ValidationErrorKind::MaxLength { limit } => {
            ("is too long".to_owned(), Some(format!("at most {limit} characters")))
        }
        ValidationErrorKind::Pattern { pattern } => {
            ("has the wrong form".to_owned(), Some(format!("a text that matches {pattern}")))
        }
        ValidationErrorKind::Enum { options } => {
            ("is no value that is known here".to_owned(), Some(format!("one of {options}")))
        }
        ValidationErrorKind::AnyOf { context } => {
            let faults = context.iter().filter_map(|branch| branch.first()).map(|error| fault(error).1);
            return (
                path,
                faults.collect::<Vec<_>>().join(", and "),
                Some("a request that mends one of these".to_owned()),
            );
        }
        ValidationErrorKind::OneOfNotValid { context } => {
            let forms = context.iter().filter_map(|branch| branch.first()).filter_map(|error| fault(error).2);
            ("fits none of the forms that it can have".to_owned(), Some(forms.collect::<Vec<_>>().join(", or ")))
        }
        ValidationErrorKind::PropertyNames { error } => {
            let accepted = fault(error).2.map(|form| format!("names of members of this form: {form}"));
            ("has a member whose name is none".to_owned(), accepted)
        }
        ValidationErrorKind::Format { format } => {
            ("has the wrong form".to_owned(), Some(format!("a text of the format `{format}`")))
        }
        other => (format!("violates `{}`", other.keyword()), None),
    };
    let fault = format!("`{path}` {what}");
    (path, fault, accepted)
}

/// The schema of a protocol failure.
pub fn error(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<crate::refusal::Body<'static>>()
}

/// The `meta` member of MCP arguments: who calls, and under which idempotency key.
#[must_use]
pub fn meta(effect: Effect) -> Value {
    let mut meta = json!({
        "type": "object",
        "description": "Who is calling: `ucp-agent.profile` is the https address of the platform's UCP profile.",
        "properties": {
            "ucp-agent": {
                "type": "object",
                "properties": {
                    "profile": {
                        "type": "string",
                        "format": "uri",
                        "description": "The https address of the platform's UCP profile.",
                    },
                },
                "required": ["profile"],
            },
            "idempotency-key": {
                "type": "string",
                "description": "A key that makes a retry of a changing call safe. Reading calls ignore it.",
            },
        },
        "required": ["ucp-agent"],
    });
    if effect.needs_key() {
        meta["required"] = json!(["ucp-agent", "idempotency-key"]);
    }
    meta
}

/// Leaves the platform out of what `meta` requires, for a transport that knows it otherwise.
pub fn without_platform(meta: &mut Value) {
    if let Some(required) = meta["required"].as_array_mut() {
        required.retain(|name| name != "ucp-agent");
    }
}
