//! The shape of a protocol failure: the body of a REST error, the `data` of a JSON-RPC error.
//!
//! UCP defines `code`, `content` and `continue_url`; the other members are additions of this gateway: the place of the
//! fault, the accepted values, and whether a retry can help.

use schemars::JsonSchema;
use serde::Serialize;
use ucp_core::{Code, Refusal, refusal::Kind};

use crate::{
    encoded::{Refused, RpcError},
    splice::json,
};

/// A call that was not carried out, with the reason.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct Body<'a> {
    /// The kind of failure: one of the codes of the gateway's registry.
    #[schemars(extend("enum" = Code::ALL.iter().map(|code| code.as_str()).collect::<Vec<_>>()))]
    pub code: &'a str,
    /// Text for people.
    pub content: &'a str,
    /// The part of the request that is at fault, as RFC 9535 JSONPath from the root of the payload.
    pub path: Option<&'a str>,
    /// Values that would have been accepted.
    pub accepted: Option<&'a str>,
    /// `true` if the same call can succeed later.
    pub retryable: bool,
    /// Seconds after which to retry.
    pub retry_after: Option<u32>,
    /// URL where the buyer can continue without this call.
    #[schemars(extend("format" = "uri"))]
    pub continue_url: Option<&'a str>,
}

impl<'a> From<&'a Refusal> for Body<'a> {
    fn from(refusal: &'a Refusal) -> Self {
        Self {
            code: refusal.code.as_str(),
            content: &refusal.content,
            path: refusal.path.as_deref(),
            accepted: refusal.accepted.as_deref(),
            retryable: refusal.code.retryable(),
            retry_after: refusal.retry_after,
            continue_url: refusal.continue_url.as_deref(),
        }
    }
}

/// The HTTP status of a failure, on REST and (rule ERR-02) on MCP over HTTP.
pub const fn http_status(code: Code) -> u16 {
    match code.kind() {
        Kind::Malformed | Kind::InvalidArguments | Kind::InvalidEnvelope | Kind::InvalidIdentity => 400,
        Kind::Unauthenticated => 401,
        Kind::Forbidden => 403,
        Kind::NotFound => 404,
        Kind::WrongMethod => 405,
        Kind::NotAcceptable => 406,
        Kind::TooSlow => 408,
        Kind::Conflict => 409,
        Kind::TooLarge => 413,
        Kind::UnsupportedType => 415,
        Kind::IncompatiblePlatform => 422,
        Kind::UnreachablePlatform => 424,
        Kind::RateLimited => 429,
        Kind::Internal | Kind::Damaged => 500,
        Kind::NotImplemented => 501,
        Kind::Nonconforming => 502,
        Kind::Unavailable => 503,
    }
}

/// The code of the JSON-RPC error object that says a failure.
pub const fn json_rpc(code: Code) -> i32 {
    match code.kind() {
        Kind::Malformed => -32700,
        Kind::Internal | Kind::Damaged | Kind::Nonconforming => -32603,
        Kind::InvalidArguments => -32602,
        Kind::NotFound => -32601,
        Kind::InvalidEnvelope
        | Kind::WrongMethod
        | Kind::NotAcceptable
        | Kind::TooLarge
        | Kind::UnsupportedType
        | Kind::NotImplemented => -32600,
        Kind::InvalidIdentity | Kind::IncompatiblePlatform | Kind::UnreachablePlatform => -32001,
        Kind::Unauthenticated
        | Kind::Forbidden
        | Kind::TooSlow
        | Kind::Conflict
        | Kind::RateLimited
        | Kind::Unavailable => -32000,
    }
}

/// Encodes a refusal in the form used since 2026-04-08.
pub fn refuse(refusal: &Refusal) -> Refused {
    let body = json(&Body::from(refusal));
    Refused {
        status: http_status(refusal.code),
        rpc_error: RpcError { code: json_rpc(refusal.code), message: refusal.told(), data: body.clone() },
        body,
    }
}
