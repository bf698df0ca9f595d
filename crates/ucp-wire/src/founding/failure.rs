//! What callers of the founding dialects get when there is no answer.
//!
//! On REST an error body is `status` and `messages`, with the HTTP status of the case. JSON-RPC callers get an `error`
//! whose `data` lists `errors`, for business outcomes too; -32603 stands for whatever JSON-RPC has no number for. The
//! members of a modern refusal stand beside both, so that one reader understands every release.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use ucp_core::{
    Code, Operation, Refusal,
    message::{Message, Severity},
};

use super::{
    Metadata,
    message::{FoundingMessage, FoundingSeverity, all},
};
use crate::{
    encoded::{Encoded, Refused, RpcError},
    refusal::Body,
    splice::json,
};

/// The status that these releases give every error body.
const ESCALATION: &str = "requires_escalation";

/// The JSON-RPC code of what JSON-RPC itself has no number for.
const INTERNAL: i32 = -32603;

/// The JSON-RPC code of an identifier that names nothing.
const INVALID_PARAMS: i32 = -32602;

/// Why there is nothing to return.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorResponse", deny_unknown_fields)]
pub(crate) struct NoResource<'a> {
    ucp: Metadata<'a>,
    #[schemars(extend("const" = ESCALATION))]
    status: &'static str,
    /// The reasons.
    #[schemars(length(min = 1))]
    messages: Vec<FoundingMessage<'a>>,
    /// Where the buyer can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    continue_url: Option<&'a str>,
}

/// A call that was not carried out, and why.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
struct RefusalBody<'a> {
    #[schemars(extend("const" = ESCALATION))]
    status: &'static str,
    /// The reason.
    #[schemars(length(min = 1))]
    messages: [FoundingMessage<'a>; 1],
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
    /// A stable code that programs can act on.
    code: &'a str,
    /// A text for people.
    message: &'a str,
    /// Who can do something about it.
    severity: FoundingSeverity,
    /// More about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<Details<'a>>,
}

/// More about a reason.
#[derive(Debug, Serialize, JsonSchema)]
struct Details<'a> {
    /// The part of the request it is about, as RFC 9535 JSONPath.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<&'a str>,
    /// What would have been accepted.
    #[serde(skip_serializing_if = "Option::is_none")]
    accepted: Option<&'a str>,
}

/// What is said beside the reasons.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
enum Rest<'a> {
    /// About a call that was not carried out.
    Refusal(Body<'a>),
    /// About a call whose answer is that there is nothing.
    Outcome {
        /// The identifier that leads to nothing.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<&'a str>,
        /// Where the buyer can go on.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(extend("format" = "uri"))]
        continue_url: Option<&'a str>,
    },
}

impl<'a> Fault<'a> {
    fn new(code: &'a str, message: &'a str, severity: FoundingSeverity) -> Self {
        Self { code, message, severity, details: None }
    }

    fn detailed(mut self, path: Option<&'a str>, accepted: Option<&'a str>) -> Self {
        self.details = (path.is_some() || accepted.is_some()).then_some(Details { path, accepted });
        self
    }

    /// The reason that an error message is; other messages are none.
    fn of(message: &'a Message) -> Option<Self> {
        match message {
            Message::Error { code, content, severity, path, .. } => {
                Some(Self::new(code, content, (*severity).into()).detailed(path.as_deref(), None))
            }
            Message::Warning { .. } | Message::Info { .. } => None,
        }
    }
}

/// The schema of the body of a refusal on REST.
pub(super) fn schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<RefusalBody<'static>>()
}

/// The schema of the `data` of a JSON-RPC error.
pub(super) fn rpc_schema(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<ErrorData<'static>>()
}

/// Who can do something about a refusal. What the platform may not do, and what no other call of it would change, is
/// left to the buyer.
fn severity(code: Code) -> FoundingSeverity {
    match code.http_status() {
        401 | 403 | 422 => FoundingSeverity::RequiresBuyerInput,
        _ => FoundingSeverity::Recoverable,
    }
}

/// A refusal, as these releases write it.
pub(super) fn refuse(refusal: &Refusal) -> Refused {
    let (code, content, severity) = (refusal.code.as_str(), refusal.content.as_str(), severity(refusal.code));
    let (path, accepted) = (refusal.path.as_deref(), refusal.accepted.as_deref());
    let body = json(&RefusalBody {
        status: ESCALATION,
        messages: [FoundingMessage::Error { code, content, severity, path, content_type: None }],
        refusal: refusal.into(),
    });
    let data = json(&ErrorData {
        status: "error",
        errors: vec![Fault::new(code, content, severity).detailed(path, accepted)],
        rest: Rest::Refusal(refusal.into()),
    });
    let number = match refusal.code.json_rpc() {
        // The range that JSON-RPC leaves to applications, which UCP uses since 2026-04-08.
        -32099..=-32000 => INTERNAL,
        own => own,
    };
    let rpc_error = RpcError { code: number, message: refusal.content.clone(), data };
    Refused { status: refusal.code.http_status(), body, rpc_error }
}

/// An answer that there is nothing, as these releases write it.
pub(super) fn no_resource(
    operation: Operation,
    ucp: Metadata<'_>,
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
    let errors: Vec<_> = messages.iter().filter_map(Fault::of).collect();
    let (code, message) = if operation == Operation::GetProduct && not_found(Some(Severity::Unrecoverable)) {
        (INVALID_PARAMS, "Product not found")
    } else {
        (INTERNAL, errors.first().map_or("There is nothing to return.", |fault| fault.message))
    };
    let message = message.to_owned();
    let data = json(&ErrorData { status: "error", errors, rest: Rest::Outcome { id, continue_url } });
    Encoded {
        document: json(&NoResource { ucp, status: ESCALATION, messages: all(messages), continue_url }),
        status: if conflict {
            409
        } else if not_found(None) {
            404
        } else {
            400
        },
        rpc_error: Some(RpcError { code, message, data }),
    }
}
