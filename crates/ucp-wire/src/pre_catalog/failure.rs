//! Errors in the releases before the catalog.
//!
//! On REST an error body is `status` and `messages`, with the matching HTTP status. JSON-RPC callers get an `error`
//! whose `data` lists `errors`, for business outcomes too; the code is -32603 for everything that JSON-RPC has no code
//! for. Both also have the members of a refusal of later releases, so that one reader understands every release.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{
    Code, Operation, Refusal,
    message::{Message, Severity},
    refusal::Kind,
};

use super::SCHEMAS;
use crate::{
    encoded::{Encoded, Refused, RpcError},
    refusal::{Body, http_status, json_rpc},
    schema,
    splice::json,
};

/// The `status` of every error body.
const ESCALATION: &str = "requires_escalation";

/// JSON-RPC code of errors that JSON-RPC has no code for.
const INTERNAL: i32 = -32603;

/// JSON-RPC code of an unknown ID.
const INVALID_PARAMS: i32 = -32602;

/// An answer without a resource (`ErrorResponse`).
#[derive(Debug, Serialize)]
struct NoResource<'a> {
    ucp: Map<String, Value>,
    status: &'static str,
    messages: Vec<Message>,
    #[serde(skip_serializing_if = "Option::is_none")]
    continue_url: Option<&'a str>,
}

/// A call that was not carried out, with the reason.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct RefusalBody<'a> {
    #[schemars(extend("const" = ESCALATION))]
    status: &'static str,
    /// The reason.
    #[schemars(schema_with = "messages")]
    messages: [Message; 1],
    #[serde(flatten)]
    refusal: Body<'a>,
}

/// The `data` of a JSON-RPC error.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct ErrorData<'a> {
    #[schemars(extend("const" = "error"))]
    status: &'static str,
    /// The reasons.
    #[schemars(length(min = 1))]
    errors: Vec<Fault<'a>>,
    #[serde(flatten)]
    rest: Rest<'a>,
}

/// A reason.
#[derive(Debug, Serialize, JsonSchema)]
struct Fault<'a> {
    /// Stable code for programs.
    code: &'a str,
    /// Text for people.
    message: &'a str,
    /// The party that can resolve the error.
    #[schemars(schema_with = "severities")]
    severity: Severity,
    /// Details about the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details<'a>>,
}

/// Details about a reason.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
struct Details<'a> {
    /// The part of the request that is at fault, as RFC 9535 JSONPath.
    path: Option<&'a str>,
    /// Values that would have been accepted.
    accepted: Option<&'a str>,
}

/// Further members of the error data.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Rest<'a> {
    /// A call that was not carried out.
    Refusal(Body<'a>),
    /// A call that was carried out and found no resource.
    Outcome {
        /// The ID that was not found.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        /// URL where the buyer can continue.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("format" = "uri"))]
        continue_url: Option<&'a str>,
    },
}

impl<'a> Fault<'a> {
    fn new(code: &'a str, message: &'a str, severity: Severity) -> Self {
        Self { code, message, severity, details: None }
    }

    fn detailed(mut self, path: Option<&'a str>, accepted: Option<&'a str>) -> Self {
        self.details = (path.is_some() || accepted.is_some()).then_some(Details { path, accepted });
        self
    }

    /// Converts an error message; returns `None` for warnings and infos.
    fn of(message: &'a Message) -> Option<Self> {
        match message {
            Message::Error { code, content, severity, path, .. } => {
                Some(Self::new(code, content, *severity).detailed(path.as_deref(), None))
            }
            Message::Warning { .. } | Message::Info { .. } => None,
        }
    }
}

/// Replaces the severity `unrecoverable`, which these releases do not have: if the platform cannot act, only the buyer
/// can.
fn softened(mut message: Message) -> Message {
    if let Message::Error { severity: severity @ Severity::Unrecoverable, .. } = &mut message {
        *severity = Severity::RequiresBuyerInput;
    }
    message
}

/// Returns the schema of a list of one message.
fn messages(generator: &mut SchemaGenerator) -> Schema {
    let message = schema::named("Message", &SCHEMAS, generator);
    json_schema!({ "type": "array", "items": message, "minItems": 1, "maxItems": 1 })
}

/// Returns the schema of a severity.
fn severities(generator: &mut SchemaGenerator) -> Schema {
    schema::named("Severity", &SCHEMAS, generator)
}

/// Returns the schema of the body of a refusal on REST.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<RefusalBody<'static>>()
}

/// Returns the schema of the `data` of a JSON-RPC error.
pub(super) fn rpc_schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<ErrorData<'static>>()
}

/// Returns the severity of a refusal. The buyer has to act if the platform is not permitted to, or if no other call of
/// the platform would change the result.
fn severity(code: Code) -> Severity {
    match code.kind() {
        Kind::Unauthenticated | Kind::Forbidden | Kind::IncompatiblePlatform => Severity::RequiresBuyerInput,
        _ => Severity::Recoverable,
    }
}

/// Encodes a refusal.
pub(super) fn refuse(refusal: &Refusal) -> Refused {
    let (code, content, severity) = (refusal.code.as_str(), refusal.content.as_str(), severity(refusal.code));
    let (path, accepted) = (refusal.path.as_deref(), refusal.accepted.as_deref());
    let reason = Message::error(code, content, severity);
    let body = json(&RefusalBody {
        status: ESCALATION,
        messages: [match path {
            Some(path) => reason.at(path),
            None => reason,
        }],
        refusal: refusal.into(),
    });
    let data = json(&ErrorData {
        status: "error",
        errors: vec![Fault::new(code, content, severity).detailed(path, accepted)],
        rest: Rest::Refusal(refusal.into()),
    });
    let number = match json_rpc(refusal.code) {
        // The range that JSON-RPC leaves to applications, which UCP uses since 2026-04-08.
        -32099..=-32000 => INTERNAL,
        own => own,
    };
    let rpc_error = RpcError { code: number, message: refusal.told(), data };
    Refused { status: http_status(refusal.code), body, rpc_error }
}

/// Encodes an outcome without a resource.
pub(super) fn no_resource(
    operation: Operation,
    ucp: Map<String, Value>,
    messages: &[Message],
    continue_url: Option<&str>,
    id: Option<&str>,
    conflict: bool,
) -> Encoded {
    let not_found = |wanted: Option<Severity>| {
        messages.iter().any(|message| {
            matches!(message, Message::Error { code, severity, .. }
                if code == "not_found" && wanted.is_none_or(|wanted| wanted == *severity))
        })
    };
    let softened: Vec<_> = messages.iter().cloned().map(softened).collect();
    let errors: Vec<_> = softened.iter().filter_map(Fault::of).collect();
    let (code, text) = if operation == Operation::GetProduct && not_found(Some(Severity::Unrecoverable)) {
        (INVALID_PARAMS, "Product not found")
    } else {
        (INTERNAL, errors.first().map_or("There is nothing to return.", |fault| fault.message))
    };
    let text = text.to_owned();
    let data = json(&ErrorData { status: "error", errors, rest: Rest::Outcome { id, continue_url } });
    Encoded {
        document: json(&NoResource { ucp, status: ESCALATION, messages: softened, continue_url }),
        status: if conflict {
            409
        } else if not_found(None) {
            404
        } else {
            400
        },
        rpc_error: Some(RpcError { code, message: text, data }),
    }
}
