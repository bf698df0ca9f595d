//! Messages: what an answer tells the platform or the buyer beside its payload (UCP overview, *Error Handling*).
//!
//! A message is part of a successful exchange. A failure of the exchange itself is a [`Refusal`](crate::Refusal).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Party that can resolve an error (rule MSG-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// The platform can mend it with another call.
    Recoverable,
    /// The buyer has to provide something that the API does not take.
    RequiresBuyerInput,
    /// The buyer has to look at it and agree.
    RequiresBuyerReview,
    /// Nothing exists that could be acted on.
    Unrecoverable,
}

/// Format of the text of a message.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ContentType {
    /// Plain text, the default.
    #[default]
    Plain,
    /// Markdown.
    Markdown,
}

/// A message inside an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Message {
    /// Something that keeps the operation from its goal.
    #[schemars(title = "MessageError")]
    Error {
        /// A stable code that programs can act on.
        code: String,
        /// A text for people.
        content: String,
        /// Party that can resolve it.
        severity: Severity,
        /// The part of the answer it is about, as RFC 9535 JSONPath from the root of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Format of `content`; plain text if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_type: Option<ContentType>,
    },
    /// Something the buyer has to be shown.
    #[schemars(title = "MessageWarning")]
    Warning {
        /// A stable code that programs can act on.
        code: String,
        /// A text for people.
        content: String,
        /// The part of the answer it is about, as RFC 9535 JSONPath from the root of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Format of `content`; plain text if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_type: Option<ContentType>,
    },
    /// Something worth knowing.
    #[schemars(title = "MessageInfo")]
    Info {
        /// A stable code that programs can act on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        code: Option<String>,
        /// A text for people.
        content: String,
        /// The part of the answer it is about, as RFC 9535 JSONPath from the root of the answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<String>,
        /// Format of `content`; plain text if absent.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_type: Option<ContentType>,
    },
}

impl Message {
    /// An error with no path.
    pub fn error(code: impl Into<String>, content: impl Into<String>, severity: Severity) -> Self {
        Self::Error { code: code.into(), content: content.into(), severity, path: None, content_type: None }
    }

    /// A warning with no path.
    pub fn warning(code: impl Into<String>, content: impl Into<String>) -> Self {
        Self::Warning { code: code.into(), content: content.into(), path: None, content_type: None }
    }

    /// The part of the answer it is about.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::Error { path, .. } | Self::Warning { path, .. } | Self::Info { path, .. } => path.as_deref(),
        }
    }

    /// The same, about the part of the answer at `path` (RFC 9535 JSONPath from its root).
    #[must_use]
    pub fn at(mut self, place: impl Into<String>) -> Self {
        match &mut self {
            Self::Error { path, .. } | Self::Warning { path, .. } | Self::Info { path, .. } => {
                *path = Some(place.into());
            }
        }
        self
    }

    /// A note with a code.
    pub fn info(code: impl Into<String>, content: impl Into<String>) -> Self {
        Self::Info { code: Some(code.into()), content: content.into(), path: None, content_type: None }
    }
}
