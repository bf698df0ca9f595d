//! JSON Schemas derived from the wire types, and validation against them.
//!
//! One type gives the parser, the schema clients read and the validator, so that the three cannot disagree. Schemas are
//! draft 2020-12 and self-contained. Optional members are left out when absent, never `null`, as UCP has it.

use jsonschema::{
    Validator,
    error::{TypeKind, ValidationErrorKind},
};
use schemars::{JsonSchema, Schema, SchemaGenerator, generate::SchemaSettings, transform::transform_subschemas};
use serde_json::{Map, Value, json};
use ucp_core::{
    Code, Refusal,
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
    request: Option<RequestShape>,
    answer: fn(&mut SchemaGenerator) -> Schema,
    no_resource: fn(&mut SchemaGenerator) -> Schema,
}

/// What an operation reads.
#[derive(Debug)]
struct RequestShape {
    schema: fn(&mut SchemaGenerator) -> Schema,
    validator: Validator,
}

impl Shapes {
    /// The shapes of an operation that reads `Q` and answers `A`, or `N` when there is nothing to return.
    #[must_use]
    pub fn of<Q: JsonSchema, A: JsonSchema, N: JsonSchema>() -> Self {
        let mut settings = settings(Direction::Request);
        settings.transforms.insert(0, Box::new(leave_to_domain));
        let schema = bundle(&mut settings.into_generator(), SchemaGenerator::subschema_for::<Q>);
        let request = RequestShape { schema: SchemaGenerator::subschema_for::<Q>, validator: validator(&schema) };
        Self { request: Some(request), ..Self::without_request::<A, N>() }
    }

    /// The shapes of an operation that takes no payload and answers `A`, or `N` when there is nothing to return.
    #[must_use]
    pub fn without_request<A: JsonSchema, N: JsonSchema>() -> Self {
        Self {
            request: None,
            answer: SchemaGenerator::subschema_for::<A>,
            no_resource: SchemaGenerator::subschema_for::<N>,
        }
    }

    /// The schema of the request payload, as the generator refers to it; `None` for an operation that takes none.
    pub fn request(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        self.request.as_ref().map(|request| (request.schema)(generator))
    }

    /// The schema of the answer that there is nothing, as the generator refers to it.
    pub fn no_resource(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.no_resource)(generator)
    }

    /// The schema of the answer: what was asked for, or why there is nothing. Its root is an object for the sake of MCP
    /// clients, which take no other output schema (trap T-29).
    pub fn response(&self, generator: &mut SchemaGenerator) -> Schema {
        let (answer, no_resource) = ((self.answer)(generator), (self.no_resource)(generator));
        schemars::json_schema!({ "type": "object", "oneOf": [answer, no_resource] })
    }

    /// Validates a request payload. Where none is taken, whatever comes is left alone.
    ///
    /// # Errors
    /// [`Code::InvalidRequest`] for the first violation.
    pub fn check_request(&self, payload: &Value) -> Result<(), Refusal> {
        match &self.request {
            Some(request) => request.validator.validate(payload).map_err(|error| refusal(&error)),
            None => Ok(()),
        }
    }
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
    let referred = root.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix("#/$defs/"));
    let mut resolved = match referred.and_then(|name| definitions.shift_remove(name)) {
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
