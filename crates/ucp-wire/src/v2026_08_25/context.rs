//! The buyer's circumstances as platforms tell them in release 2026-08-25 (UCP *Context*).

use schemars::JsonSchema;
use serde::Deserialize;

use crate::catalog::request;

/// The buyer's circumstances, as hints: they choose language and currency where the shop has them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Context {
    #[serde(flatten)]
    hints: request::Context,
    /// A place of the business that the buyer prefers, by the business's identifier.
    #[expect(dead_code, reason = "part of the shape; this shop has no places")]
    #[serde(default)]
    location: Option<String>,
    /// The payment handlers that the buyer prefers, the most wanted first.
    #[expect(dead_code, reason = "part of the shape; nothing in a catalog depends on it")]
    #[serde(default)]
    payment: Option<Vec<PreferredHandler>>,
}

/// A payment handler that the buyer prefers.
#[derive(Debug, Deserialize, JsonSchema)]
struct PreferredHandler {
    /// Its reverse-domain name.
    #[expect(dead_code, reason = "part of the shape; nothing in a catalog depends on it")]
    #[schemars(regex(pattern = r"^[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?)+$"))]
    handler: String,
    /// The types of instruments that the buyer prefers there, the most wanted first.
    #[expect(dead_code, reason = "part of the shape; nothing in a catalog depends on it")]
    #[serde(default)]
    types: Option<Vec<String>>,
}

impl From<Context> for request::Context {
    fn from(context: Context) -> Self {
        context.hints
    }
}
