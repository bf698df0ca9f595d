//! What a release has to provide.

use std::fmt;

use jiff::Timestamp;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};
use ucp_core::{
    Operation, Refusal, Release,
    message::Message,
    negotiation::{Active, Names, OwnName},
    operation::Offering,
};

use crate::{
    encoded::{Encoded, Refused},
    envelope::{ErrorResponse, Success},
    offer::Offer,
    purchase::shape::Authorization,
    refusal, request,
    schema::{self, Shapes},
    site::Site,
    splice::{json, object},
    upgrade::Upgrade,
};

/// One release of the protocol: its shapes, and what is particular about reading and writing them.
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
    fn normalize(&self, operation: Operation, payload: &mut Value) {
        request::normalize(operation, payload);
    }

    /// Writes an answer that there is nothing to return. `id` is the identifier that leads to nothing, `conflict` says
    /// that the resource is past what was asked.
    fn no_resource(
        &self,
        operation: Operation,
        active: &Active,
        messages: &[Message],
        continue_url: Option<&str>,
        _id: Option<&str>,
        conflict: bool,
    ) -> Encoded {
        let document = json(&ErrorResponse::new(self.release(), operation, active, messages, continue_url));
        Encoded { document, status: if conflict { 409 } else { 200 }, rpc_error: None }
    }

    /// The `ucp` member of an answer that carries what was asked for, without what belongs to this one answer.
    fn metadata(&self, operation: Operation, active: &Active) -> Map<String, Value> {
        object(&Success::new(self.release(), operation, active))
    }

    /// The differences between its documents and those of the next release; `None` for the newest.
    fn upgrade(&self) -> Option<&'static Upgrade>;

    /// Whether an answer without a resource is an error of its transport: a status of 400 or more on REST, a JSON-RPC error
    /// on MCP.
    fn errs_without_resource(&self) -> bool {
        false
    }

    /// Whether servers may take operations as methods of JSON-RPC in place of tools.
    fn has_methods(&self) -> bool {
        false
    }

    /// Whether a payload repeats the identifier of the resource that the transport names.
    fn names_resources_twice(&self, _: Operation) -> bool {
        false
    }

    /// An order as the platform is told about it: `document` is the order as it is answered. What else there is to say
    /// stands in header fields.
    fn notice(&self, document: String, _: &Occasion<'_>) -> String {
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

/// The capabilities that a profile advertises: those of the release, as far as there is a key where one is needed.
pub(crate) fn advertised<'a>(dialect: &dyn Dialect, site: &Site<'a>) -> impl Iterator<Item = &'static Offer> + use<'a> {
    let signs = !site.keys.is_empty();
    offered(dialect, site.offering).filter(move |offer| offer.published && (signs || !offer.signed))
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
