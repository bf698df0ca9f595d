//! JSON Schemas of requests and answers, and validation against them.
//!
//! In the newest release one type defines the parser, the published schema and the validator, so that the three cannot
//! disagree; the schemas of older releases are files. Schemas are draft 2020-12 and self-contained. Absent members are
//! left out, never `null`, as UCP requires.

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

/// The `$schema` of every schema.
pub const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// The member of a derived schema that names sibling keywords which the domain checks, because its error messages are
/// better. Published schemas have these keywords and not this member; the validator has neither.
const LEFT_TO_DOMAIN: &str = "x-left-to-domain";

/// The shapes of one operation in one release.
#[derive(Debug)]
pub struct Shapes {
    request: Option<Shape>,
    answer: Shape,
    no_resource: Shape,
    validator: OnceLock<Validator>,
    members: OnceLock<Members>,
}

/// A shape, by the source of its schema.
#[derive(Clone, Debug)]
enum Shape {
    /// Derived from a type.
    Derived(fn(&mut SchemaGenerator) -> Schema),
    /// Stated in a file: the definition of this name among those of a release.
    Stated(String, Arc<Map<String, Value>>),
}

impl Shape {
    /// Returns the schema, or a reference to its definition in the generator.
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

/// Prefix of references to definitions.
pub(crate) const DEFINITIONS: &str = "#/$defs/";

/// Returns the name of the definition that a schema refers to.
fn referred(schema: &Map<String, Value>) -> Option<&str> {
    schema.get("$ref")?.as_str()?.strip_prefix(DEFINITIONS)
}

/// Adds the definitions that a schema refers to, directly or indirectly.
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

/// Replaces references by the definitions they refer to; members next to a reference overrule those of the definition.
fn inline(schema: &mut Value, definitions: &Map<String, Value>) {
    match schema {
        Value::Object(members) => {
            if let Some(Value::Object(definition)) = referred(members).and_then(|name| definitions.get(name)) {
                let optional = members.keys().next().is_some_and(|first| first != "$ref");
                let (mut whole, mut beside) = (definition.clone(), mem::take(members));
                beside.shift_remove("$ref");
                // As generators do, which put the choices of optional members after the members next to the reference.
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
                // As generators do, which write `items` with the description first.
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
    /// Creates the shapes of an operation with the request `Q`, the answer `A`, and the answer `N` without a resource.
    pub fn of<Q: JsonSchema, A: JsonSchema, N: JsonSchema>() -> Self {
        Self { request: Some(Shape::Derived(SchemaGenerator::subschema_for::<Q>)), ..Self::without_request::<A, N>() }
    }

    /// Creates the shapes of an operation without a payload, with the answer `A`, and the answer `N` without a
    /// resource.
    pub fn without_request<A: JsonSchema, N: JsonSchema>() -> Self {
        Self {
            request: None,
            answer: Shape::Derived(SchemaGenerator::subschema_for::<A>),
            no_resource: Shape::Derived(SchemaGenerator::subschema_for::<N>),
            validator: OnceLock::new(),
            members: OnceLock::new(),
        }
    }

    /// Returns the schema of the request payload, or a reference to it; `None` for an operation without a payload.
    pub fn request(&self, generator: &mut SchemaGenerator) -> Option<Schema> {
        self.request.as_ref().map(|request| request.schema(generator))
    }

    /// Returns the schema of the answer with a resource, or a reference to it.
    pub fn answer(&self, generator: &mut SchemaGenerator) -> Schema {
        self.answer.schema(generator)
    }

    /// Returns the schema of the answer without a resource, or a reference to it.
    pub fn no_resource(&self, generator: &mut SchemaGenerator) -> Schema {
        self.no_resource.schema(generator)
    }

    /// Returns the schema of all answers, with and without a resource. Its root has the type `object` because MCP
    /// clients accept no other output schema (trap T-29).
    pub fn response(&self, generator: &mut SchemaGenerator) -> Schema {
        let (answer, no_resource) = (self.answer(generator), self.no_resource(generator));
        schemars::json_schema!({ "type": "object", "oneOf": [answer, no_resource] })
    }

    /// Validates a request payload. The payload of an operation without one is not looked at. Fails with
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

    /// Returns the paths of the members of a payload that mean nothing. See [`Members::ignored`].
    pub(crate) fn ignored(&self, payload: &Value) -> Vec<String> {
        self.members().map(|members| members.ignored(payload)).unwrap_or_default()
    }

    /// Returns the published schema of the request payload, with its definitions; `None` for an operation without a
    /// payload.
    pub(crate) fn request_schema(&self) -> Option<&Value> {
        self.members().map(|members| &members.request)
    }

    fn members(&self) -> Option<&Members> {
        let request = self.request.as_ref()?;
        Some(self.members.get_or_init(|| {
            Members::new(
                bundle(&mut settings(Direction::Request).into_generator(), |generator| request.schema(generator)),
                bundle(&mut settings(Direction::Response).into_generator(), |generator| self.answer(generator)),
            )
        }))
    }
}

/// Maximum number of paths that [`Members::ignored`] returns.
const MOST_IGNORED: usize = 10;

/// Members that are not looked into: what they hold beside the members of the schema is answered, is read by others, or,
/// as the text of a unit, is the shop's own to word.
const OPEN: [&str; 3] = ["context", "payment", "quantity_unit"];

/// The members of the objects of a request, and of the answer to it.
#[derive(Debug)]
struct Members {
    request: Value,
    answer: Value,
}

impl Members {
    /// Reads the members from the schemas of request and answer.
    const fn new(request: Value, answer: Value) -> Self {
        Self { request, answer }
    }

    /// Returns the first paths of members that neither the request nor the answer has in that place: an answer may be
    /// sent back as it is. Objects that may have any members have none that means nothing.
    fn ignored(&self, payload: &Value) -> Vec<String> {
        let mut paths = Vec::new();
        self.compare(payload, &self.request, Some(&self.answer), &mut "$".to_owned(), &mut paths);
        paths
    }

    fn compare(
        &self,
        value: &Value,
        request: &Value,
        answer: Option<&Value>,
        path: &mut String,
        paths: &mut Vec<String>,
    ) {
        let request = resolved(&self.request, request);
        let answer = answer.map(|answer| resolved(&self.answer, answer));
        let here = path.len();
        match value {
            Value::Array(elements) => {
                let Some(of_request) = request.get("items") else { return };
                let of_answer = answer.and_then(|answer| answer.get("items"));
                for (position, element) in elements.iter().enumerate() {
                    path.push_str(&format!("[{position}]"));
                    self.compare(element, of_request, of_answer, path, paths);
                    path.truncate(here);
                }
            }
            Value::Object(members) => {
                let (Some(known), None) = (properties(request), request.get("additionalProperties")) else { return };
                let answered = answer.and_then(properties);
                if answered.is_none() && answer.is_some() {
                    return;
                }
                for (name, member) in members {
                    let of_answer = answered.and_then(|answered| answered.get(name));
                    let is_open = OPEN.contains(&name.as_str());
                    push_name(path, name);
                    match known.get(name) {
                        Some(_) if is_open => {}
                        Some(of_request) => self.compare(member, of_request, of_answer, path, paths),
                        None if of_answer.is_some() => {}
                        None if paths.len() < MOST_IGNORED => paths.push(path.clone()),
                        None => {}
                    }
                    path.truncate(here);
                }
            }
            _ => {}
        }
    }
}

/// Returns the definition that a schema of `root` refers to, or the schema itself.
pub(crate) fn resolved<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    let name = schema.as_object().and_then(referred);
    name.and_then(|name| root.get("$defs")?.get(name)).unwrap_or(schema)
}

fn properties(schema: &Value) -> Option<&Map<String, Value>> {
    schema.get("properties")?.as_object()
}

/// Schemas of a release in a file.
#[derive(Deserialize)]
struct File {
    /// By the name of an operation, the names of the definitions of its request (or `null`) and of its answer.
    operations: Map<String, Value>,
    #[serde(rename = "$defs")]
    definitions: Map<String, Value>,
}

/// Reads the files of a release: operations come from the first one, whose definitions overrule those of the others.
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

/// Reads the shapes of a release from its files.
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
            members: OnceLock::new(),
        };
        Some((Operation::named(name)?, shapes))
    });
    shapes.collect()
}

/// Returns the definition of this name in the files of a release, or a reference to it.
pub(crate) fn named(name: &str, texts: &[&str], generator: &mut SchemaGenerator) -> Schema {
    Shape::Stated(name.to_owned(), files(texts).1).schema(generator)
}

/// The direction of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From a platform to the gateway.
    Request,
    /// From the gateway to a platform.
    Response,
}

/// Creates a generator whose schemas refer to shared definitions.
pub fn generator(direction: Direction) -> SchemaGenerator {
    settings(direction).into_generator()
}

/// Creates a generator whose schemas contain no references, for readers that cannot follow them.
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

/// Builds a self-contained schema from the schema that `root` makes and the definitions that it refers to.
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

/// Cleans up a schema without references for publication.
pub fn standing_alone(mut schema: Schema) -> Value {
    tidy(&mut schema);
    schema.to_value()
}

/// Removes the keywords that the domain checks.
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

/// Adapts a derived schema to the wire: removes `null` for absent members, and formats other than `uri`; makes
/// enumerations of choices between constants.
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
        if let Some(Value::Array(values)) = object.get_mut("enum") {
            values.retain(|value| !value.is_null());
        }
        enumerate(object);
        if object.get("default").is_some_and(Value::is_null) {
            object.shift_remove("default");
        }
        object.shift_remove(LEFT_TO_DOMAIN);
    }
    transform_subschemas(&mut tidy, schema);
}

/// Rewrites a choice between described strings as an enumeration, whose description has those of the values.
fn enumerate(schema: &mut Map<String, Value>) {
    let Some(choices) = schema.get("oneOf").and_then(Value::as_array) else { return };
    let Some(values) = choices.iter().map(|choice| choice["const"].as_str()).collect::<Option<Vec<_>>>() else {
        return;
    };
    let mut description: Vec<_> =
        schema.get("description").and_then(Value::as_str).into_iter().map(str::to_owned).collect();
    let described = choices
        .iter()
        .zip(&values)
        .filter_map(|(choice, value)| Some(format!("- `{value}`: {}", choice["description"].as_str()?)));
    description.push(described.collect::<Vec<_>>().join("\n"));
    let enumeration = json!({ "type": "string", "enum": values, "description": description.join("\n\n") });
    schema.shift_remove("oneOf");
    schema.shift_remove("description");
    if let Value::Object(enumeration) = enumeration {
        schema.extend(enumeration);
    }
}

/// Compiles a self-contained schema of this crate. Panics if the schema is invalid: a mistake in the crate that every
/// test run finds.
pub fn validator(schema: &Value) -> Validator {
    jsonschema::options()
        .with_draft(jsonschema::Draft::Draft202012)
        .should_validate_formats(true)
        .build(schema)
        .unwrap_or_else(|error| unreachable!("derived schemas compile: {error}"))
}

/// Converts a violation to a refusal. Values are never repeated: they may be personal data.
fn refusal(error: &jsonschema::ValidationError<'_>) -> Refusal {
    let (path, fault, accepted) = fault(error);
    let mut refusal = Refusal::new(Code::InvalidRequest, format!("{fault}.")).at(path);
    refusal.accepted = accepted;
    refusal
}

/// Returns the path of a violation, a description, and the accepted values.
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
        ValidationErrorKind::Enum { options } => ("is not a known value".to_owned(), Some(format!("one of {options}"))),
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
            ("has a member whose name is not allowed".to_owned(), accepted)
        }
        ValidationErrorKind::Format { format } => {
            ("has the wrong form".to_owned(), Some(format!("a text of the format `{format}`")))
        }
        other => (format!("violates `{}`", other.keyword()), None),
    };
    let fault = format!("`{path}` {what}");
    (path, fault, accepted)
}

/// Returns the schema of a protocol failure.
pub fn error(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<crate::refusal::Body<'static>>()
}

/// Returns the schema of the `meta` member of MCP arguments: the platform profile and the idempotency key.
pub fn meta(effect: Effect) -> Value {
    let key = if effect.writes() {
        "Unique ID (UUID) for this change. Reuse it only to retry the same call."
    } else {
        "Ignored: this call changes nothing."
    };
    let mut meta = json!({
        "type": "object",
        "description": "The calling platform: `ucp-agent.profile` is the https URL of its UCP profile.",
        "properties": {
            "ucp-agent": {
                "type": "object",
                "properties": {
                    "profile": {
                        "type": "string",
                        "format": "uri",
                        "description": "The https URL of the platform's UCP profile.",
                    },
                },
                "required": ["profile"],
            },
            "idempotency-key": { "type": "string", "description": key },
        },
        "required": ["ucp-agent"],
    });
    if effect.needs_key() {
        meta["required"] = json!(["ucp-agent", "idempotency-key"]);
    }
    meta
}

/// Shortens `meta` for an operation with this effect.
pub fn outline_meta(meta: &mut Value, effect: Effect) {
    meta["description"] = "The calling platform".into();
    meta["properties"]["ucp-agent"]["properties"]["profile"] =
        json!({ "type": "string", "description": "https URL of your UCP profile" });
    if effect == Effect::Safe
        && let Some(members) = meta["properties"].as_object_mut()
    {
        members.shift_remove("idempotency-key");
    }
}

/// Makes the platform profile optional in `meta`, for a transport that knows the platform.
pub fn without_platform(meta: &mut Value) {
    if let Some(required) = meta["required"].as_array_mut() {
        required.retain(|name| name != "ucp-agent");
    }
}
