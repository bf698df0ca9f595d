//! Answers and refusals, written in a release.

/// An outcome, written in a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// The answer: a JSON object.
    pub document: String,
    /// Its HTTP status on REST.
    pub status: u16,
    /// What JSON-RPC callers get instead of the answer, in releases that make errors of business outcomes.
    pub rpc_error: Option<RpcError>,
}

/// A refusal, written in a release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The HTTP status, on REST and (rule ERR-02) on MCP over HTTP.
    pub status: u16,
    /// The body on REST: a JSON object.
    pub body: String,
    /// The same for JSON-RPC callers.
    pub rpc_error: RpcError,
}

/// The `error` member of a JSON-RPC response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RpcError {
    /// The code.
    pub code: i32,
    /// What went wrong, for people.
    pub message: String,
    /// More about it: a JSON value.
    pub data: String,
}
