//! Answers and refusals, encoded in a release.

/// An outcome, encoded in a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The answer: a JSON object.
    pub document: String,
    /// The HTTP status on REST.
    pub status: u16,
    /// The error that JSON-RPC callers get instead of the answer, in releases that treat business outcomes as errors.
    pub rpc_error: Option<RpcError>,
}

/// A refusal, encoded in a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status, on REST and (rule ERR-02) on MCP over HTTP.
    pub status: u16,
    /// The body on REST: a JSON object.
    pub body: String,
    /// The error for JSON-RPC callers.
    pub rpc_error: RpcError,
}

/// The `error` member of a JSON-RPC response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// The error code.
    pub code: i32,
    /// The error message, for people.
    pub message: String,
    /// The `data` member: a JSON value.
    pub data: String,
}
