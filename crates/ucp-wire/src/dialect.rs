//! What a release has to provide, and which releases there are.

use std::fmt;

use serde_json::Value;
use ucp_core::{Operation, Outcome, Refusal, Release, Request};

use crate::{schema::Shapes, v2026_04_08};

/// One release of the protocol: its shapes, and how they are read and written.
pub trait Dialect: fmt::Debug + Sync {
    /// The release this is.
    fn release(&self) -> Release;

    /// The shapes of an operation, or `None` when the release does not have it.
    fn shapes(&self, operation: Operation) -> Option<&'static Shapes>;

    /// Rewrites the older spellings that callers of this release may use into its own.
    fn normalize(&self, operation: Operation, payload: &mut Value);

    /// The domain's words for a payload that conforms to the request shape.
    ///
    /// `languages` are the tags the transport names beside the payload, in order of preference; the payload's own come
    /// first.
    ///
    /// # Errors
    /// [`InvalidRequest`](ucp_core::Code::InvalidRequest) for what a schema cannot say.
    fn decode(&self, operation: Operation, payload: Value, languages: &[String]) -> Result<Request, Refusal>;

    /// An outcome as the JSON document that callers of this release get.
    fn encode(&self, operation: Operation, outcome: &Outcome) -> String;
}

/// The module of a release.
#[must_use]
pub fn dialect(release: Release) -> &'static dyn Dialect {
    match release {
        Release::V2026_04_08 => &v2026_04_08::V2026_04_08,
    }
}

/// Reads a payload: older spellings rewritten, validated against the request shape, put into the domain's words.
///
/// # Errors
/// The first thing that is wrong with it, with its path.
pub fn read(
    dialect: &dyn Dialect,
    operation: Operation,
    mut payload: Value,
    languages: &[String],
) -> Result<Request, Refusal> {
    let shapes = dialect.shapes(operation).ok_or_else(|| {
        Refusal::new(ucp_core::Code::UnknownPath, format!("Release {} has no such operation.", dialect.release()))
    })?;
    dialect.normalize(operation, &mut payload);
    shapes.check_request(&payload)?;
    dialect.decode(operation, payload, languages)
}
