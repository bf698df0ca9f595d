//! Responses of the provider.

use serde::{Deserialize, Serialize};
use serde_json::json;

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reply {
    /// The HTTP status.
    pub status: u16,
    /// The body.
    pub body: String,
}

impl Reply {
    /// An error of the protocol.
    #[must_use]
    pub fn error(status: u16, code: &str, message: &str) -> Self {
        Self { status, body: json!({ "error": { "code": code, "message": message } }).to_string() }
    }
}
