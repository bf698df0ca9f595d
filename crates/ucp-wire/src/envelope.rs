//! What stands around an answer since 2026-04-08: `ucp` with a status, and the error response without a resource (UCP
//! *Error Handling*; rules ERR-04 and NEG-05 to NEG-07).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use ucp_core::{Answer, Operation, Outcome, message::Message, negotiation::Active};

use crate::{
    catalog::{Form, response},
    dialect::Encoded,
    splice::{Document, json},
};

/// About how long an answer is without what was asked for.
const ENVELOPE: usize = 1_024;

/// An outcome as it has been written since 2026-04-08.
pub(crate) fn encode(form: &impl Form, operation: Operation, outcome: &Outcome, active: &Active) -> Encoded {
    let version = Dated(form.release().date());
    let capabilities = Capabilities::relevant(operation, active);
    let document = match outcome {
        Outcome::Answer(answer) => write(form, answer, |root| {
            root.name("ucp").value(&Success { version, status: "success", capabilities });
        }),
        Outcome::NoResource { messages, continue_url, .. } => json(&ErrorResponse {
            ucp: Failure { version, status: "error", capabilities },
            messages,
            continue_url: continue_url.as_deref(),
        }),
    };
    Encoded { document, status: 200, rpc_error: None }
}

/// An answer, after what `begin` adds.
pub(crate) fn write(form: &impl Form, answer: &Answer, begin: impl FnOnce(&mut Document)) -> String {
    let expected = match answer {
        Answer::SearchCatalog(found) => response::expected_listings(form, &found.products),
        Answer::LookupCatalog(resolved) => response::expected_listings(form, &resolved.products),
        Answer::GetProduct(detail) => response::expected_detail(form, detail),
    };
    let mut document = Document::with_capacity(ENVELOPE + expected);
    document.object(|root| {
        begin(root);
        match answer {
            Answer::SearchCatalog(found) => response::search(form, root, found),
            Answer::LookupCatalog(resolved) => response::lookup(form, root, resolved),
            Answer::GetProduct(detail) => response::get_product(form, root, detail),
        }
    });
    document.finish()
}

/// Why there is nothing to return.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorResponse", deny_unknown_fields)]
pub(crate) struct ErrorResponse<'a> {
    pub(crate) ucp: Failure<'a>,
    /// The reasons.
    #[schemars(length(min = 1))]
    pub(crate) messages: &'a [Message],
    /// Where the buyer can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) continue_url: Option<&'a str>,
}

/// Protocol metadata of an answer that carries what was asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Success<'a> {
    /// The release this answer is written in.
    pub(crate) version: Dated<'a>,
    #[schemars(extend("const" = "success"))]
    pub(crate) status: &'static str,
    /// The capabilities that are active for this answer.
    pub(crate) capabilities: Capabilities<'a>,
}

/// Protocol metadata of an answer without a resource.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Failure<'a> {
    /// The release this answer is written in.
    pub(crate) version: Dated<'a>,
    #[schemars(extend("const" = "error"))]
    pub(crate) status: &'static str,
    /// The capabilities that are active for this answer.
    pub(crate) capabilities: Capabilities<'a>,
}

/// The date of a release.
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
    /// The active capabilities that answers of an operation declare.
    pub(crate) fn relevant(operation: Operation, active: &'a Active) -> Self {
        let relevant = active.relevant_to(operation.row().capability);
        Self(relevant.map(|(name, version)| (name, [CapabilityVersion { version: Dated(version) }])).collect())
    }
}

/// A version of a capability.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CapabilityVersion<'a> {
    pub(crate) version: Dated<'a>,
}
