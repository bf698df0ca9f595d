//! Messages as the releases before 2026-04-08 write them: their list of severities is closed and shorter.

use schemars::JsonSchema;
use serde::Serialize;
use ucp_core::message::{ContentType, Message, Severity};

/// Who can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "Severity")]
#[serde(rename_all = "snake_case")]
pub(crate) enum FoundingSeverity {
    /// The platform can mend it with another call.
    Recoverable,
    /// The buyer has to provide something that the API does not take.
    RequiresBuyerInput,
    /// The buyer has to look at it and agree.
    RequiresBuyerReview,
}

impl From<Severity> for FoundingSeverity {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Recoverable => Self::Recoverable,
            // Nothing exists that the platform could act on, so that only the buyer can go on.
            Severity::RequiresBuyerInput | Severity::Unrecoverable => Self::RequiresBuyerInput,
            Severity::RequiresBuyerReview => Self::RequiresBuyerReview,
        }
    }
}

/// A message inside an answer.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Message")]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum FoundingMessage<'a> {
    /// Something that keeps the operation from its goal.
    Error {
        /// A stable code that programs can act on.
        code: &'a str,
        /// A text for people.
        content: &'a str,
        /// Who can do something about it.
        severity: FoundingSeverity,
        /// The part it is about, as RFC 9535 JSONPath.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<&'a str>,
        /// How `content` is to be read; plain text when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_type: Option<ContentType>,
    },
    /// Something the buyer has to be shown.
    Warning {
        /// A stable code that programs can act on.
        code: &'a str,
        /// A text for people.
        content: &'a str,
        /// The part it is about, as RFC 9535 JSONPath.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<&'a str>,
        /// How `content` is to be read; plain text when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_type: Option<ContentType>,
    },
    /// Something worth knowing.
    Info {
        /// A stable code that programs can act on.
        #[serde(skip_serializing_if = "Option::is_none")]
        code: Option<&'a str>,
        /// A text for people.
        content: &'a str,
        /// The part it is about, as RFC 9535 JSONPath.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<&'a str>,
        /// How `content` is to be read; plain text when absent.
        #[serde(skip_serializing_if = "Option::is_none")]
        content_type: Option<ContentType>,
    },
}

impl<'a> From<&'a Message> for FoundingMessage<'a> {
    fn from(message: &'a Message) -> Self {
        match message {
            Message::Error { code, content, severity, path, content_type } => Self::Error {
                code,
                content,
                severity: (*severity).into(),
                path: path.as_deref(),
                content_type: *content_type,
            },
            Message::Warning { code, content, path, content_type } => {
                Self::Warning { code, content, path: path.as_deref(), content_type: *content_type }
            }
            Message::Info { code, content, path, content_type } => {
                Self::Info { code: code.as_deref(), content, path: path.as_deref(), content_type: *content_type }
            }
        }
    }
}

/// Messages as these releases write them.
pub(super) fn all(messages: &[Message]) -> Vec<FoundingMessage<'_>> {
    messages.iter().map(Into::into).collect()
}
