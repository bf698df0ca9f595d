//! What flags and the file choose among by a word.

use std::fmt;

use clap::ValueEnum;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ucp_core::purchase::payment::CaptureMode;

/// What a caller's profile has to be good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Policy {
    /// It has to be there and well-formed.
    Require,
    /// A caller whose profile cannot be fetched is served the catalog.
    Lenient,
    /// A caller whose profile cannot be fetched is served everything.
    Development,
}

/// What callers may use that are nobody in particular.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Anonymous {
    /// The catalog.
    #[default]
    Browsing,
    /// All operations.
    Everything,
}

/// What answers of the catalog hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CatalogView {
    /// Everything on a product page; listings leave to it what is long.
    #[default]
    Standard,
    /// Everything that the shop states.
    Full,
    /// What helps to choose.
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

/// What becomes of the signature of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Check {
    /// It is not looked at.
    Off,
    /// It has to be right, if there is one.
    #[default]
    Verify,
    /// There has to be one that is right.
    Enforce,
}

/// Which answers are signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Signed {
    /// Those of operations that place an order.
    #[default]
    Completing,
    /// All of them.
    All,
    /// None.
    None,
}

/// The oldest version of TLS that the listener speaks.
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

/// The HTTP status of JSON-RPC errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum McpErrorStatus {
    /// The status that says the same as the error, except towards clients that name a version of MCP, which get 200.
    #[default]
    Fitting,
    /// The status that says the same as the error, whoever calls.
    Matching,
}

/// What the gateway stands in front of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum BackendKind {
    /// The embedded shop.
    #[default]
    Embedded,
    /// A shop behind Shopify's Storefront GraphQL API, or one that is compatible.
    Shopify,
    /// A shop that implements the backend contract over HTTP.
    Http,
    /// A shop behind any REST or GraphQL API, by a mapping file.
    Mapped,
    /// A shop that speaks UCP itself.
    Ucp,
}

/// Source that the catalog is copied from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CatalogSource {
    /// None: the shop is asked.
    #[default]
    None,
    /// The shop, page by page.
    Backend,
    /// A feed.
    Feed,
}

/// Format of a feed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FeedFormat {
    /// JSON Lines of UCP products.
    Jsonl,
    /// Shopify's product CSV export.
    Shopify,
    /// A feed of Google Merchant Center, RSS 2.0 or Atom.
    GoogleXml,
    /// A feed of Google Merchant Center, tab-separated.
    GoogleTsv,
}

/// What a token of a Shopify-style API is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum TokenKind {
    /// One for servers.
    #[default]
    Private,
    /// One for browsers.
    Public,
}

/// The form of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogFormat {
    /// For people on a terminal, else JSON.
    #[default]
    Auto,
    /// A JSON object in each line.
    Json,
    /// Lines for people.
    Pretty,
}

/// What is logged.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize, JsonSchema, ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogLevel {
    /// Nothing.
    Off,
    /// What failed.
    Error,
    /// What needs looking after.
    Warn,
    /// What happened, with a line about each call.
    #[default]
    Info,
    /// What is decided on the way.
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

/// How a shop that speaks UCP is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Transport {
    /// Over REST.
    Rest,
    /// Over MCP.
    Mcp,
}

/// Kind of a payment handler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HandlerKind {
    /// It moves no money, and does what its tokens say.
    #[default]
    Sandbox,
    /// It authorises and captures at a payment service provider.
    Processor,
    /// It authorises and captures at Stripe.
    Stripe,
    /// It takes tokens of Google Pay, with which another handler pays.
    GooglePay,
}
