//! The OpenRPC document of the MCP binding, and the list of MCP tools.
//!
//! An OpenRPC method is an MCP tool: its name is the tool's, its parameters are the tool's arguments. The gateway also
//! accepts direct calls of the methods, with parameters by name or by position, as clients generated from this document
//! send them.

use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use ucp_core::{
    Code, Operation, Refusal,
    operation::{Effect, Row},
};

use crate::{
    dialect::{Dialect, publishes},
    outline::{Side, legible, outline},
    schema::{self, DEFINITIONS, Direction},
    titles::{Titles, pascal},
};

/// Version of OpenRPC.
const OPENRPC: &str = "1.3.2";

/// Codes that no method returns: they concern paths.
const ELSEWHERE: &[Code] = &[Code::UnknownPath, Code::MethodNotAllowed];

/// Errors of MCP 2026-07-28, which are not in UCP's registry of codes.
const MCP_FAILURES: &[(i32, &str)] = &[
    (-32020, "A header does not repeat what the body says (MCP 2026-07-28)."),
    (-32022, "The version of MCP is not supported; `data` names those that are."),
];

/// Builds the document for those of `operations` that the release of `dialect` publishes, served under `endpoint`.
pub fn document(dialect: &dyn Dialect, operations: &[Operation], endpoint: &str) -> Value {
    let mut requests = schema::generator(Direction::Request);
    let mut responses = schema::generator(Direction::Response);
    let error = dialect.rpc_failure(&mut responses);
    let mut methods: Vec<_> = operations
        .iter()
        .filter(|operation| publishes(dialect, **operation))
        .filter_map(|operation| {
            let (row, shapes) = (operation.row(), dialect.shapes(*operation)?);
            let mut parameters = vec![json!({ "name": "meta", "required": true, "schema": meta(row.effect) })];
            if operation.takes_id() {
                parameters.push(json!({ "name": "id", "required": true, "schema": { "type": "string" } }));
            }
            if let Some(schema) = shapes.request(&mut requests) {
                match row.payload {
                    _ if row.flat => parameters.extend(members(&schema, &requests)),
                    Some(payload) => {
                        parameters.push(json!({ "name": payload, "required": true, "schema": schema }));
                    }
                    None => {}
                }
            }
            Some(json!({
                "name": row.name,
                "summary": row.title,
                "description": row.description,
                "tags": [{ "name": row.capability }],
                "paramStructure": if row.flat { "by-name" } else { "either" },
                "params": parameters,
                "result": {
                    "name": "answer",
                    "schema": { "oneOf": [shapes.answer(&mut responses), shapes.no_resource(&mut responses)] },
                },
                "errors": errors(dialect),
            }))
        })
        .collect();
    let mut components = requests.take_definitions(true);
    components.extend(responses.take_definitions(true));
    components.insert(META.to_owned(), schema::meta(Effect::Safe));
    let mut titles = Titles::of(&mut components);
    methods.iter_mut().for_each(|method| entitle(method, &mut titles));
    let mut document = json!({
        "openrpc": OPENRPC,
        "info": {
            "title": "ucp-gateway: UCP over MCP",
            "description": format!(
                "The MCP binding of the Universal Commerce Protocol, release {}, as this gateway serves it. Every method is \
                 an MCP tool of the same name and can be called directly too. The `data` of an error is an `Error`.",
                dialect.release()
            ),
            "version": dialect.release().date(),
            "license": { "name": "Apache-2.0" },
        },
        "servers": [{ "name": "gateway", "url": format!("{endpoint}/mcp") }],
        "methods": methods,
        "components": { "schemas": components },
    });
    document["x-error-data"] = error.to_value();
    relocate(&mut document);
    document
}

/// Name of the component with what every call says about itself.
const META: &str = "Meta";

/// Returns a reference to the component with what a call says about itself. Where the idempotency key is required, the title
/// is that of the type that generators make, which copy what is beside a reference into what it leads to.
fn meta(effect: Effect) -> Value {
    let mut meta = json!({ "$ref": format!("{DEFINITIONS}{META}") });
    if effect.needs_key() {
        meta["title"] = format!("Keyed{META}").into();
        meta["required"] = schema::meta(effect)["required"].take();
    }
    meta
}

/// Gives titles to the schemas of a method that are not components.
fn entitle(method: &mut Value, titles: &mut Titles) {
    let name = pascal(method["name"].as_str().unwrap_or_default());
    for parameter in method["params"].as_array_mut().into_iter().flatten() {
        let title = format!("{name}{}", pascal(parameter["name"].as_str().unwrap_or_default()));
        titles.add(&mut parameter["schema"], title);
    }
    titles.add(&mut method["result"]["schema"], format!("{name}Result"));
}

/// Rewrites references from `#/$defs/` to `#/components/schemas/`, the place of definitions in OpenRPC.
fn relocate(value: &mut Value) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                match member {
                    Value::String(reference) if name == "$ref" => {
                        *reference = reference.replacen("#/$defs/", "#/components/schemas/", 1);
                    }
                    other => relocate(other),
                }
            }
        }
        Value::Array(elements) => elements.iter_mut().for_each(relocate),
        _ => {}
    }
}

/// Returns the members of a request as separate parameters.
fn members(request: &Schema, generator: &SchemaGenerator) -> Vec<Value> {
    let name = request.get("$ref").and_then(Value::as_str).and_then(|name| name.rsplit('/').next());
    let defined = name.and_then(|name| generator.definitions().get(name));
    let member = |member: &str| defined.and_then(|defined| defined.get(member));
    let required: Vec<_> = member("required").and_then(Value::as_array).into_iter().flatten().collect();
    let properties = member("properties").and_then(Value::as_object).into_iter().flatten();
    let parameter = |(name, schema): (&String, &Value)| {
        let mut schema = Schema::try_from(schema.clone()).unwrap_or_default();
        schema::tidy(&mut schema);
        json!({ "name": name, "required": required.iter().any(|own| *own == name), "schema": schema })
    };
    properties.map(parameter).collect()
}

/// Returns the errors that methods can fail with, including business outcomes in releases that treat these as errors.
fn errors(dialect: &dyn Dialect) -> Vec<Value> {
    // OpenRPC distinguishes errors by number; several of UCP's codes share one.
    let mut by_number: Vec<(i32, Vec<String>)> = Vec::new();
    let number = |code: Code| dialect.refuse(&Refusal::new(code, "")).rpc_error.code;
    if dialect.errs_without_resource() {
        by_number.push((number(Code::InternalError), vec!["A business outcome without a resource.".to_owned()]));
    }
    for code in Code::ALL.iter().filter(|code| !ELSEWHERE.contains(code)) {
        let text = format!("{code}: {}", code.meaning());
        let number = number(*code);
        match by_number.iter_mut().find(|(known, _)| *known == number) {
            Some((_, texts)) => texts.push(text),
            None => by_number.push((number, vec![text])),
        }
    }
    by_number.extend(MCP_FAILURES.iter().map(|(number, text)| (*number, vec![(*text).to_owned()])));
    by_number.into_iter().map(|(number, texts)| json!({ "code": number, "message": texts.join(" ") })).collect()
}

/// Returns the hints about the effects of a tool, for clients that ask their users for confirmation.
fn annotations(row: &Row) -> Value {
    let mut annotations = json!({
        "title": row.title,
        "readOnlyHint": row.effect == Effect::Safe,
        "openWorldHint": false,
    });
    // The other hints mean nothing for tools that only read.
    if row.effect.writes() {
        annotations["destructiveHint"] = row.effect.needs_key().into();
        // An operation that needs an idempotency key is carried out once per key.
        annotations["idempotentHint"] = row.effect.needs_key().into();
    }
    annotations
}

/// Detail of a list of tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// An outline of each request: types, one sentence per member, and values.
    Outline,
    /// The whole schema of each request.
    Requests,
    /// The whole schemas of each request and answer; not for callers that are answered in different releases.
    Both,
}

/// Builds the MCP tools for those of `operations` that can be called in the release of `dialect`, in the order of the
/// table.
///
/// Schemas are valid for the strictest reader ([`legible`]). Input schemas contain no references, because clients show
/// and use parts of them separately. `anonymous` makes the
/// platform profile optional, for a transport that knows the platform.
pub fn tools(
    dialect: &dyn Dialect,
    operations: &[Operation],
    anonymous: bool,
    detail: Detail,
) -> Vec<(Operation, Value)> {
    operations
        .iter()
        .filter_map(|operation| {
            let (row, shapes) = (operation.row(), dialect.shapes(*operation)?);
            let mut properties = Map::new();
            let mut required = Vec::new();
            // The idempotency key stays required even if the platform is known otherwise.
            let meta_required = !anonymous || row.effect.needs_key();
            if meta_required {
                required.push("meta");
            }
            let mut meta = schema::meta(row.effect);
            if anonymous {
                schema::without_platform(&mut meta);
            }
            if detail == Detail::Outline {
                schema::outline_meta(&mut meta, row.effect);
            }
            properties.insert("meta".to_owned(), meta);
            if operation.takes_id() {
                required.push("id");
                let description = format!("ID of the {}", row.resource.noun());
                properties.insert("id".to_owned(), json!({ "type": "string", "description": description }));
            }
            let request = shapes.request(&mut schema::inlining_generator(Direction::Request));
            let request = request.map(|request| {
                let mut request = schema::standing_alone(request);
                legible(&mut request, Side::Input);
                if detail == Detail::Outline {
                    outline(&mut request);
                }
                request
            });
            let mut flat = Value::Null;
            match (row.payload, request) {
                (_, Some(request)) if row.flat => flat = request,
                (Some(payload), Some(request)) => {
                    required.push(payload);
                    properties.insert(payload.to_owned(), request);
                }
                _ => {}
            }
            properties.extend(flat["properties"].as_object().cloned().unwrap_or_default());
            required.extend(flat["required"].as_array().into_iter().flatten().filter_map(Value::as_str));
            let mut tool = json!({
                "name": row.name,
                "description": row.description,
                "inputSchema": { "type": "object", "properties": properties, "required": required },
                "annotations": annotations(row),
            });
            // In an outline the annotations alone have the title, which clients of all versions know.
            if detail != Detail::Outline {
                tool["title"] = row.title.into();
                tool["inputSchema"]["$schema"] = schema::DRAFT.into();
            }
            if detail == Detail::Both {
                let mut generator = schema::generator(Direction::Response);
                let mut output = schema::bundle(&mut generator, |generator| shapes.response(generator));
                legible(&mut output, Side::Output);
                tool["outputSchema"] = output;
            }
            Some((*operation, tool))
        })
        .collect()
}
