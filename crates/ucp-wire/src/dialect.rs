//! What a release has to provide, and which releases there are.

use std::fmt;

use jiff::Timestamp;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};
use ucp_core::{
    Answer, Operation, Outcome, Refusal, Release, Request,
    negotiation::{Active, Declaration, Names, OwnName},
    operation::Offering,
    order,
};

use crate::{
    profile::Site, purchase::shape::Authorization, refusal, relay::Step, schema, schema::Shapes, splice::json,
    v2026_01_11, v2026_01_23, v2026_04_08, v2026_08_25,
};

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

    /// The `ucp` member of an answer that carries what was asked for, without what belongs to this one answer.
    fn metadata(&self, operation: Operation, active: &Active) -> Map<String, Value>;

    /// How its documents differ from those of the release before.
    fn step(&self) -> &'static Step;

    /// Whether a payload repeats the identifier of the resource that the transport names.
    fn names_resources_twice(&self, _: Operation) -> bool {
        false
    }

    /// An order as the platform is told about it (rules WHK-01 to WHK-03): the order as it is answered. What else there is
    /// to say stands in header fields.
    fn notice(&self, view: order::View, active: &Active, _: &Occasion<'_>) -> String {
        self.encode(Operation::GetOrder, &Outcome::Answer(Answer::GetOrder(view)), active).document
    }

    /// The same for an order that is written already.
    fn noticed(&self, document: String, _: &Occasion<'_>) -> String {
        document
    }

    /// How the platform is shown who tells it.
    fn seal(&self) -> Seal {
        Seal::Message
    }

    /// An answer as callers get it who call the operation itself as a JSON-RPC method, rather than a tool or over REST.
    fn direct(&self, _: Operation, document: String) -> String {
        document
    }

    /// A refusal as callers of this release get it. Its form has been the same since 2026-04-08.
    fn refuse(&self, refusal: &Refusal) -> Refused {
        refusal::refuse(refusal)
    }

    /// The profile of a business that speaks this release (rules DISC-01 to DISC-13).
    fn profile(&self, site: &Site<'_>) -> Value;
}

/// The formats of mandates that are taken: SD-JWT VC (rule AP2-07).
pub(crate) const MANDATE_FORMATS: &[&str] = &["dc+sd-jwt"];

/// What a notice is about, beside the order.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// The identifier of the notice.
    pub id: &'a str,
    /// When it happened.
    pub at: Timestamp,
}

/// How a notice is signed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// With an HTTP Message Signature (RFC 9421).
    Message,
    /// With a detached JSON Web Signature over the body alone (RFC 7797), in `Request-Signature`.
    Body,
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
    /// What the domain calls it; differs from the name where a release has another one.
    pub known_as: &'static str,
    /// Whether this side signs under it, so that it is offered only where there is a key to sign with.
    pub signed: bool,
    /// Whether nothing is called under it: whoever has bought something is told what becomes of it.
    pub tells: bool,
    /// The formats of verifiable presentations it takes, as its configuration states them.
    pub presentations: &'static [&'static str],
}

impl Offer {
    /// A root capability that is part of the release.
    pub(crate) const fn root(
        name: &'static str,
        version: &'static str,
        spec: &'static str,
        schema: &'static str,
    ) -> Self {
        Self {
            name,
            version,
            extends: &[],
            spec,
            schema,
            published: true,
            known_as: name,
            signed: false,
            tells: false,
            presentations: &[],
        }
    }

    /// The same as an extension of these capabilities.
    pub(crate) const fn extending(self, extends: &'static [&'static str]) -> Self {
        Self { extends, ..self }
    }

    /// The same as one under which both sides sign, with presentations of these formats.
    pub(crate) const fn signing(self, presentations: &'static [&'static str]) -> Self {
        Self { signed: true, presentations, ..self }
    }

    /// The same as one under which nothing is called, and platforms are told of their orders, signed.
    pub(crate) const fn telling(self) -> Self {
        Self { tells: true, signed: true, ..self }
    }

    /// The same where the domain has another name for it.
    pub(crate) const fn known_as(self, known_as: &'static str) -> Self {
        Self { known_as, ..self }
    }

    /// The same for those who know of it only.
    pub(crate) const fn unpublished(self) -> Self {
        Self { published: false, ..self }
    }

    /// What its entry in a profile has for its `config`, if anything.
    pub(crate) fn config(&self) -> Option<Value> {
        let formats = self.presentations.iter().map(|format| ((*format).to_owned(), Value::Object(Map::new())));
        (!self.presentations.is_empty())
            .then(|| serde_json::json!({ "vp_formats_supported": Value::Object(formats.collect()) }))
    }

    /// The same as a party to a negotiation declares it.
    #[must_use]
    pub fn declaration(&self) -> Declaration {
        self.declaration_under(&Names::default())
    }

    /// The same as a party declares it that uses these names.
    #[must_use]
    pub fn declaration_under(&self, names: &Names) -> Declaration {
        Declaration {
            name: names.of(self.name).to_owned(),
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

/// The capabilities that a gateway has in a release that offers this: the roots it has an operation for, what
/// extends them, and those under which it tells of what other releases have an operation for.
pub fn offered<'a>(dialect: &dyn Dialect, offering: &'a Offering) -> impl Iterator<Item = &'static Offer> + use<'a> {
    let callable: Vec<_> = offering
        .operations
        .iter()
        .filter(|operation| dialect.shapes(**operation).is_some())
        .map(|operation| operation.row().capability)
        .collect();
    let release = dialect.release();
    dialect.offers().iter().filter(move |offer| {
        if offer.tells {
            offering.operations.iter().any(|operation| operation.row().capability == offer.name)
        } else if offer.extends.is_empty() {
            callable.contains(&offer.name)
        } else {
            offering.extends(offer.known_as, release) && offer.extends.iter().any(|parent| callable.contains(parent))
        }
    })
}

/// The services that a gateway with these operations has in a release, in the order of the operation table.
#[must_use]
pub fn services(dialect: &dyn Dialect, operations: &[Operation]) -> Vec<&'static str> {
    let mut services = Vec::new();
    for operation in operations.iter().filter(|operation| publishes(dialect, **operation)) {
        let service = operation.row().service;
        if !services.contains(&service) {
            services.push(service);
        }
    }
    services
}

/// Whether an operation is part of a release, so that its profile and documents tell of it.
#[must_use]
pub fn publishes(dialect: &dyn Dialect, operation: Operation) -> bool {
    let capability = operation.row().capability;
    dialect.shapes(operation).is_some()
        && dialect.offers().iter().any(|offer| offer.published && offer.name == capability)
}

/// The names that capabilities have in a release, of a business that has `names` of its own.
#[must_use]
pub fn names(dialect: &dyn Dialect, names: &Names) -> Names {
    let mut names = names.clone();
    for offer in dialect.offers().iter().filter(|offer| offer.known_as != offer.name) {
        names.replace(offer.known_as, OwnName { name: offer.name.to_owned(), spec: None, schema: None });
    }
    names
}

/// A checkout with the shop's word for it: `document` is what that is about, a JSON object without `ap2` (rule AP2-02).
#[must_use]
pub fn authorized(mut document: String, merchant_authorization: &str) -> String {
    if document.ends_with('}') {
        document.pop();
        document.push_str(",\"ap2\":");
        document.push_str(&json(&Authorization { merchant_authorization }));
        document.push('}');
    }
    document
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
