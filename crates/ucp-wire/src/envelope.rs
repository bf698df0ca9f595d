//! The envelope of answers since 2026-04-08: `ucp` with a status, and the error response without a resource (UCP *Error
//! Handling*; rules ERR-04 and NEG-05 to NEG-07).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{Operation, Release, message::Message, negotiation::Active};

use crate::splice::Document;

/// Returns `true` if an answer is an error response without a resource.
pub fn is_failure(body: &Map<String, Value>) -> bool {
    body.get("ucp").is_some_and(|ucp| ucp["status"] == "error")
}

/// An answer without a resource, with the reasons.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorResponse", deny_unknown_fields)]
pub(crate) struct ErrorResponse<'a> {
    pub(crate) ucp: Failure<'a>,
    /// The reasons.
    #[schemars(length(min = 1))]
    pub(crate) messages: &'a [Message],
    /// URL where the buyer can continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) continue_url: Option<&'a str>,
}

impl<'a> ErrorResponse<'a> {
    pub(crate) fn new(
        release: Release,
        operation: Operation,
        active: &'a Active,
        messages: &'a [Message],
        continue_url: Option<&'a str>,
    ) -> Self {
        let capabilities = Capabilities::relevant(operation, active);
        Self { ucp: Failure { version: Dated(release.date()), status: "error", capabilities }, messages, continue_url }
    }
}

/// Protocol metadata of a successful answer.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Success<'a> {
    /// Release of this answer.
    pub(crate) version: Dated<'a>,
    #[schemars(extend("const" = "success"))]
    pub(crate) status: &'static str,
    /// Capabilities that are active for this answer.
    pub(crate) capabilities: Capabilities<'a>,
}

impl<'a> Success<'a> {
    pub(crate) fn new(release: Release, operation: Operation, active: &'a Active) -> Self {
        let capabilities = Capabilities::relevant(operation, active);
        Self { version: Dated(release.date()), status: "success", capabilities }
    }

    /// Adds its members to an object, as they are serialized.
    pub(crate) fn write(ucp: &mut Document, release: Release, operation: Operation, active: &Active) {
        ucp.name("version").text(release.date());
        ucp.name("status").text("success");
        ucp.name("capabilities").object(|capabilities| {
            for (name, version) in active.relevant_to(operation.row().capability) {
                let versions = capabilities.key(name);
                versions.array(|versions| versions.object(|one| one.name("version").text(version)));
            }
        });
    }
}

/// Protocol metadata of an answer without a resource.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Failure<'a> {
    /// Release of this answer.
    pub(crate) version: Dated<'a>,
    #[schemars(extend("const" = "error"))]
    pub(crate) status: &'static str,
    /// Capabilities that are active for this answer.
    pub(crate) capabilities: Capabilities<'a>,
}

/// Date of a release.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline, extend("pattern" = r"^\d{4}-\d{2}-\d{2}$"))]
#[serde(transparent)]
pub(crate) struct Dated<'a>(pub(super) &'a str);

/// Versions of capabilities by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
pub(crate) struct Capabilities<'a>(pub(super) BTreeMap<&'a str, [CapabilityVersion<'a>; 1]>);

impl<'a> Capabilities<'a> {
    /// Returns the active capabilities that answers of an operation declare.
    pub(crate) fn relevant(operation: Operation, active: &'a Active) -> Self {
        let relevant = active.relevant_to(operation.row().capability);
        Self(relevant.map(|(name, version)| (name, [CapabilityVersion { version: Dated(version) }])).collect())
    }
}

/// Version of a capability.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CapabilityVersion<'a> {
    pub(crate) version: Dated<'a>,
}

#[cfg(test)]
mod tests {
    use ucp_core::negotiation::Declaration;

    use super::*;
    use crate::splice::json;

    #[test]
    fn metadata_is_written_as_it_is_serialized() {
        let declared = |name: &str, extends: &[&str]| Declaration {
            name: name.to_owned(),
            version: "2026-08-25".to_owned(),
            extends: extends.iter().map(|&name| name.to_owned()).collect(),
            ..Declaration::default()
        };
        let root = Operation::GetProduct.row().capability;
        let all =
            [declared(root, &[]), declared("com.example.\"quoted\"", &[root]), declared("com.example.other", &[])];
        for active in [Active::default(), Active::all(&all)] {
            let mut document = Document::default();
            document.object(|ucp| Success::write(ucp, Release::NEWEST, Operation::GetProduct, &active));
            assert_eq!(document.finish(), json(&Success::new(Release::NEWEST, Operation::GetProduct, &active)));
        }
    }
}
