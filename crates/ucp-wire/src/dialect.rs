//! The interface of a release: its shapes, names and differences.

use std::fmt;

use jiff::Timestamp;
use schemars::{Schema, SchemaGenerator};
use serde_json::{Map, Value};
use ucp_core::{
    Operation, Refusal, Release,
    message::Message,
    negotiation::{Active, Names, OwnName},
    operation::SupportedOperations,
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

/// One release of the protocol: its shapes, and the particulars of its requests and answers.
pub trait Dialect: fmt::Debug + Sync {
    /// Returns the release.
    fn release(&self) -> Release;

    /// Returns the capabilities that can be negotiated in this release, including unpublished ones.
    fn offers(&self) -> &'static [Offer];

    /// Returns the shapes of an operation, or `None` if it cannot be called in this release.
    fn shapes(&self, operation: Operation) -> Option<&'static Shapes>;

    /// Returns the schema of a protocol failure on REST. Its form has been the same since 2026-04-08.
    fn failure(&self, generator: &mut SchemaGenerator) -> Schema {
        schema::error(generator)
    }

    /// Returns the schema of the `data` of a JSON-RPC error.
    fn rpc_failure(&self, generator: &mut SchemaGenerator) -> Schema {
        self.failure(generator)
    }

    /// Rewrites older spellings that callers of this release may use into those of the release.
    fn normalize(&self, operation: Operation, payload: &mut Value) {
        request::normalize(operation, payload);
    }

    /// Rewrites a normalized payload into the spelling of this release, where [`normalize`](Self::normalize) prefers a
    /// later one.
    fn respell(&self, _: Operation, _: &mut Map<String, Value>) {}

    /// Adds members that the release requires of a payload, and that callers of other releases cannot know of.
    fn supply(&self, _: Operation, _: &mut Map<String, Value>) {}

    /// Returns `true` if the payload of an operation states a currency.
    fn states_currency(&self, _: Operation) -> bool {
        false
    }

    /// Returns `true` if updates identify each method of delivery, and requests each destination.
    fn identifies_methods(&self) -> bool {
        false
    }

    /// Encodes an outcome without a resource. `_id` is the ID that was not found; `conflict` is `true` if the state of
    /// the resource no longer permits the operation.
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

    /// Returns the `ucp` member of a successful answer: the release and the negotiated capabilities, without members
    /// that belong to a single answer.
    fn metadata(&self, operation: Operation, active: &Active) -> Map<String, Value> {
        object(&Success::new(self.release(), operation, active))
    }

    /// Returns the differences from the next release; `None` for the newest.
    fn upgrade(&self) -> Option<&'static Upgrade>;

    /// Returns `true` if an outcome without a resource is an error of its transport: a status of 400 or more on REST, a
    /// JSON-RPC error on MCP.
    fn errs_without_resource(&self) -> bool {
        false
    }

    /// Returns `true` if this release lets servers offer operations as JSON-RPC methods instead of tools.
    fn has_methods(&self) -> bool {
        false
    }

    /// Returns `true` if discounts in totals are negative amounts; otherwise all amounts in totals are positive.
    fn signs_totals(&self) -> bool {
        true
    }

    /// Returns `true` if the payload of an operation repeats the resource ID that the transport names.
    fn names_resources_twice(&self, _: Operation) -> bool {
        false
    }

    /// Rewrites an encoded order into the body of a webhook. The metadata of the event is in HTTP headers, except in
    /// releases that override this.
    fn webhook_event(&self, document: String, _: &Occasion<'_>) -> String {
        document
    }

    /// Returns the kind of signature that webhooks carry.
    fn seal(&self) -> Seal {
        Seal::Message
    }

    /// Rewrites an answer for callers that use the operation as a JSON-RPC method, rather than as a tool or over REST.
    fn direct(&self, _: Operation, document: String) -> String {
        document
    }

    /// Encodes a refusal. Its form has been the same since 2026-04-08.
    fn refuse(&self, refusal: &Refusal) -> Refused {
        refusal::refuse(refusal)
    }

    /// Builds the profile of a business in this release (rules DISC-01 to DISC-13).
    fn profile(&self, site: &Site<'_>) -> Value;
}

/// Metadata of a webhook event.
#[derive(Clone, Copy, Debug)]
pub struct Occasion<'a> {
    /// ID of the event.
    pub id: &'a str,
    /// Time of the event, UTC.
    pub at: Timestamp,
}

/// Signature of a webhook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// HTTP Message Signature (RFC 9421).
    Message,
    /// Detached JSON Web Signature over the body alone (RFC 7797), in the header `Request-Signature`.
    Body,
}

/// Returns the capabilities of a gateway in a release: root capabilities with a callable operation, their extensions,
/// and webhook-only capabilities of operations that the release does not have.
pub fn offered<'a>(
    dialect: &dyn Dialect,
    offering: &'a SupportedOperations,
) -> impl Iterator<Item = &'static Offer> + use<'a> {
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

/// Returns the capabilities that a profile advertises: those in the release's specification, without those that need a
/// signing key if there is none.
pub(crate) fn advertised<'a>(dialect: &dyn Dialect, site: &Site<'a>) -> impl Iterator<Item = &'static Offer> + use<'a> {
    let signs = !site.keys.is_empty();
    offered(dialect, site.offering).filter(move |offer| offer.published && (signs || !offer.signed))
}

/// Returns the services that a gateway with these operations has in a release, in the order of the operation table.
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

/// Returns `true` if an operation is in the release's specification, so that profile and documents list it.
pub fn publishes(dialect: &dyn Dialect, operation: Operation) -> bool {
    let capability = operation.row().capability;
    dialect.shapes(operation).is_some()
        && dialect.offers().iter().any(|offer| offer.published && offer.name == capability)
}

/// Returns the names of capabilities in a release, for a business that uses `names` of its own.
pub fn names(dialect: &dyn Dialect, names: &Names) -> Names {
    let mut names = names.clone();
    for offer in dialect.offers().iter().filter(|offer| offer.known_as != offer.name) {
        names.replace(offer.known_as, OwnName { name: offer.name.to_owned(), spec: None, schema: None });
    }
    names
}

/// Adds the merchant authorization to a checkout. `document` is the JSON object that was signed, without `ap2` (rule
/// AP2-02).
pub fn authorized(mut document: String, merchant_authorization: &str) -> String {
    if document.ends_with('}') {
        document.pop();
        document.push_str(",\"ap2\":");
        document.push_str(&json(&Authorization { merchant_authorization }));
        document.push('}');
    }
    document
}
