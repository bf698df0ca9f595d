//! What a release has to provide, and which releases there are.

use std::fmt;

use schemars::{Schema, SchemaGenerator};
use serde_json::Value;
use ucp_core::{
    Operation, Outcome, Refusal, Release, Request,
    negotiation::{Active, Declaration},
};

use crate::{profile::Site, refusal, schema, schema::Shapes, v2026_01_11, v2026_01_23, v2026_04_08, v2026_08_25};

/// One release of the protocol: its shapes, and how they are read and written.
pub trait Dialect: fmt::Debug + Sync {
    /// The release this is.
    fn release(&self) -> Release;

    /// The capabilities that this release knows, as far as this gateway has operations for them.
    fn offers(&self) -> &'static [Offer];

    /// The shapes of an operation, or `None` when it cannot be called in this release.
    fn shapes(&self, operation: Operation) -> Option<&'static Shapes>;

    /// The schema of a protocol failure on REST. Its form has been the same since 2026-04-08.
    fn failure(&self, generator: &mut SchemaGenerator) -> Schema {
        schema::error(generator)
    }

    /// The schema of the `data` of a JSON-RPC error.
    fn rpc_failure(&self, generator: &mut SchemaGenerator) -> Schema {
        self.failure(generator)
    }

    /// Rewrites the older spellings that callers of this release may use into its own.
    fn normalize(&self, operation: Operation, payload: &mut Value);

    /// The domain's words for a payload that conforms to the request shape.
    ///
    /// `id` is the resource the transport names. `languages` are the tags the transport names beside the payload, in order of preference; the payload's own come
    /// first.
    ///
    /// # Errors
    /// [`InvalidRequest`](ucp_core::Code::InvalidRequest) for what a schema cannot say.
    fn decode(
        &self,
        operation: Operation,
        id: Option<&str>,
        payload: Value,
        languages: &[String],
    ) -> Result<Request, Refusal>;

    /// An outcome as callers of this release get it. `active` is what was negotiated with the caller; the answer
    /// declares the part of it that belongs to the operation.
    fn encode(&self, operation: Operation, outcome: &Outcome, active: &Active) -> Encoded;

    /// An answer as callers get it who call the operation itself as a JSON-RPC method, rather than a tool or over REST.
    fn direct(&self, document: String) -> String {
        document
    }

    /// A refusal as callers of this release get it. Its form has been the same since 2026-04-08.
    fn refuse(&self, refusal: &Refusal) -> Refused {
        refusal::refuse(refusal)
    }

    /// The profile of a business that speaks this release (rules DISC-01 to DISC-13).
    fn profile(&self, site: &Site<'_>) -> Value;
}

/// A capability in one release.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offer {
    /// The reverse-domain name.
    pub name: &'static str,
    /// The version.
    pub version: &'static str,
    /// The capabilities it extends; empty for a root capability.
    pub extends: &'static [&'static str],
    /// The page of the specification, below its root.
    pub spec: &'static str,
    /// The JSON Schema, below the specification's root.
    pub schema: &'static str,
    /// Whether it is part of the release. What is not can be called by those who know of it, but is not advertised.
    pub published: bool,
}

impl Offer {
    /// A root capability that is part of the release.
    pub(crate) const fn root(
        name: &'static str,
        version: &'static str,
        spec: &'static str,
        schema: &'static str,
    ) -> Self {
        Self { name, version, extends: &[], spec, schema, published: true }
    }

    /// The same as an extension of these capabilities.
    pub(crate) const fn extending(self, extends: &'static [&'static str]) -> Self {
        Self { extends, ..self }
    }

    /// The same for those who know of it only.
    pub(crate) const fn unpublished(self) -> Self {
        Self { published: false, ..self }
    }

    /// The same as a party to a negotiation declares it.
    #[must_use]
    pub fn declaration(&self) -> Declaration {
        Declaration {
            name: self.name.to_owned(),
            version: self.version.to_owned(),
            extends: self.extends.iter().map(|&parent| parent.to_owned()).collect(),
            ..Declaration::default()
        }
    }
}

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

/// The module of a release.
#[must_use]
pub fn dialect(release: Release) -> &'static dyn Dialect {
    match release {
        Release::V2026_01_11 => &v2026_01_11::V2026_01_11,
        Release::V2026_01_23 => &v2026_01_23::V2026_01_23,
        Release::V2026_04_08 => &v2026_04_08::V2026_04_08,
        Release::V2026_08_25 => &v2026_08_25::V2026_08_25,
    }
}

/// The capabilities that a gateway with these operations has in a release: the roots it has an operation for, and what
/// extends them.
pub fn offered<'a>(
    dialect: &dyn Dialect,
    operations: &'a [Operation],
) -> impl Iterator<Item = &'static Offer> + use<'a> {
    let callable: Vec<_> = operations
        .iter()
        .filter(|operation| dialect.shapes(**operation).is_some())
        .map(|operation| operation.row().capability)
        .collect();
    dialect.offers().iter().filter(move |offer| {
        if offer.extends.is_empty() {
            callable.contains(&offer.name)
        } else {
            offer.extends.iter().any(|parent| callable.contains(parent))
        }
    })
}

/// Whether an operation is part of a release, so that its profile and documents tell of it.
#[must_use]
pub fn publishes(dialect: &dyn Dialect, operation: Operation) -> bool {
    let capability = operation.row().capability;
    dialect.shapes(operation).is_some()
        && dialect.offers().iter().any(|offer| offer.published && offer.name == capability)
}

/// Reads a payload: older spellings rewritten, validated against the request shape, put into the domain's words.
///
/// # Errors
/// The first thing that is wrong with it, with its path.
pub fn read(
    dialect: &dyn Dialect,
    operation: Operation,
    id: Option<&str>,
    mut payload: Value,
    languages: &[String],
) -> Result<Request, Refusal> {
    let shapes = dialect.shapes(operation).ok_or_else(|| {
        let (release, name) = (dialect.release(), operation.row().name);
        Refusal::new(ucp_core::Code::UnknownMethod, format!("Release {release} has no operation `{name}`."))
    })?;
    dialect.normalize(operation, &mut payload);
    shapes.check_request(&payload)?;
    dialect.decode(operation, id, payload, languages)
}
