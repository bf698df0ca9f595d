//! Enumerated values of flags and configuration keys.

use std::fmt;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ucp_core::purchase::payment::CaptureMode;

/// Treatment of callers whose UCP profile cannot be fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// Reject the request.
    Require,
    /// Allow catalog requests only.
    Lenient,
    /// Allow all requests; for local use only.
    Development,
}

/// Access for anonymous callers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Anonymous {
    /// The catalog.
    #[default]
    Browsing,
    /// All operations.
    Everything,
}

/// Level of detail of catalog responses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CatalogView {
    /// Everything on product pages; listings omit long fields.
    #[default]
    Standard,
    /// Every field of the shop.
    Full,
    /// Fields that help to choose.
    Compact,
}

/// Time at which the money of a purchase is captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Capture {
    /// With the purchase.
    #[default]
    Automatic,
    /// By the merchant, after the purchase.
    Manual,
}

impl From<Capture> for CaptureMode {
    fn from(capture: Capture) -> Self {
        match capture {
            Capture::Automatic => Self::Automatic,
            Capture::Manual => Self::Manual,
        }
    }
}

/// Signature check of requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Check {
    /// Signatures are ignored.
    Off,
    /// A signature must be valid if there is one.
    #[default]
    Verify,
    /// A valid signature is required.
    Enforce,
}

/// Responses that are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Signed {
    /// Responses of operations that place an order.
    #[default]
    Completing,
    /// All responses.
    All,
    /// No responses.
    None,
}

/// Minimum TLS version of the listener.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub(crate) enum TlsVersion {
    /// TLS 1.2.
    #[serde(rename = "1.2")]
    V1_2,
    /// TLS 1.3.
    #[default]
    #[serde(rename = "1.3")]
    V1_3,
}

/// HTTP status of JSON-RPC errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum McpErrorStatus {
    /// 200 for clients that send `MCP-Protocol-Version`, otherwise the status that matches the error.
    #[default]
    #[serde(alias = "fitting")]
    #[value(alias = "fitting")]
    Auto,
    /// The status that matches the error, for all clients.
    #[serde(alias = "matching")]
    #[value(alias = "matching")]
    Always,
}

/// Backend type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum BackendKind {
    /// The embedded shop.
    #[default]
    Embedded,
    /// Shopify's Storefront GraphQL API, or a compatible one.
    Shopify,
    /// An HTTP adapter that implements the backend API.
    Http,
    /// Any REST or GraphQL API, by a mapping file.
    Mapped,
    /// A UCP shop.
    Ucp,
}

/// Source of the synced catalog copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CatalogSource {
    /// No copy; requests go to the upstream.
    #[default]
    None,
    /// The upstream, page by page.
    Backend,
    /// A feed.
    Feed,
}

/// Format of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FeedFormat {
    /// JSON Lines of UCP products.
    Jsonl,
    /// Shopify's product CSV export.
    Shopify,
    /// A feed of Google Merchant Center, RSS 2.0 or Atom.
    GoogleXml,
    /// A feed of Google Merchant Center, tab-separated.
    GoogleTsv,
}

/// Kind of a token of a Shopify-style API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TokenKind {
    /// A token for servers.
    #[default]
    Private,
    /// A token for browsers.
    Public,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Plain text on a terminal, else JSON.
    #[default]
    Auto,
    /// One JSON object per line.
    Json,
    /// Plain text.
    Pretty,
}

/// Minimum level of log lines.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    /// Nothing.
    Off,
    /// Failures.
    Error,
    /// Conditions that need attention.
    Warn,
    /// Events, with one line per request.
    #[default]
    Info,
    /// Decisions in between.
    Debug,
    /// Everything.
    Trace,
}

impl fmt::Display for LogLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("off", |value| value.get_name()))
    }
}

/// Transport to a UCP shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// REST.
    Rest,
    /// MCP.
    Mcp,
}

/// Kind of a payment handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HandlerKind {
    /// Moves no money; each token states its result.
    #[default]
    Sandbox,
    /// Authorizes and captures at a payment service provider.
    Processor,
    /// Authorizes and captures at Stripe.
    Stripe,
    /// Accepts Google Pay tokens, which another handler processes.
    GooglePay,
}

/// Platform whose demands are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Preset {
    /// Google, for its shopping surfaces.
    Google,
}

/// Form of the time of a webhook event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookTimestamp {
    /// Seconds since 1970, as UCP says.
    Unix,
    /// RFC 3339, in seconds.
    Rfc3339,
}

/// Identifier of a webhook event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookId {
    /// One of its own for each event.
    Event,
    /// That of the newest entry of the order.
    Entry,
}

/// Meaning of an answer of 4xx to a webhook event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WebhookRefusal {
    /// The event is sent again.
    Retry,
    /// The event waits for the operator.
    Park,
}
