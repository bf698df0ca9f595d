//! What stands around an answer since 2026-04-08: `ucp` with a status, and the error response without a resource (UCP
//! *Error Handling*; rules ERR-04 and NEG-05 to NEG-07).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use ucp_core::{
    Answer, Operation, Outcome, Release, message::Message, negotiation::Active, operation::Effect,
    purchase::payment::Declaration,
};

use crate::{
    catalog::{Form, response},
    encoded::Encoded,
    merchant,
    purchase::{self, payment::Handlers},
    splice::{Document, json},
};

/// About how long an answer is without what was asked for.
const ENVELOPE: usize = 1_024;

/// An outcome as it has been written since 2026-04-08.
pub(crate) fn encode<F: Form + purchase::Form>(
    form: &F,
    operation: Operation,
    outcome: &Outcome,
    active: &Active,
) -> Encoded {
    let release = form.release();
    let (document, status) = match outcome {
        Outcome::Answer(answer) => {
            let ucp = Success::new(release, operation, active);
            let document = write::<F, F>(form, operation, answer, active, |root| {
                root.name("ucp").value(&ucp);
            });
            (document, status(operation, answer))
        }
        Outcome::NoResource { messages, continue_url, conflict, .. } => {
            let version = Dated(release.date());
            let capabilities = Capabilities::relevant(operation, active);
            let document = json(&ErrorResponse {
                ucp: Failure { version, status: "error", capabilities },
                messages,
                continue_url: continue_url.as_deref(),
            });
            (document, if *conflict { 409 } else { 200 })
        }
    };
    Encoded { document, status, rpc_error: None }
}

/// The HTTP status of an answer that carries what was asked for.
pub(crate) fn status(operation: Operation, answer: &Answer) -> u16 {
    let created = match answer {
        Answer::Cart(view) => view.created,
        Answer::Checkout(view) => view.created,
        _ => false,
    };
    if created && operation.row().effect == Effect::Creating { 201 } else { 200 }
}

/// An answer. Those about the catalog begin with what `begin` adds.
pub(crate) fn write<C: Form, P: purchase::Form>(
    form: &C,
    operation: Operation,
    answer: &Answer,
    active: &Active,
    begin: impl FnOnce(&mut Document),
) -> String {
    let about_catalog = |expected: usize, fill: &dyn Fn(&mut Document)| {
        let mut document = Document::with_capacity(ENVELOPE + expected);
        document.object(|root| {
            begin(root);
            fill(root);
        });
        document.finish()
    };
    match answer {
        Answer::Products(found) => about_catalog(response::expected_listings(form, &found.products), &|root| {
            response::search(form, root, found);
        }),
        Answer::ProductsById(resolved) => {
            about_catalog(response::expected_listings(form, &resolved.products), &|root| {
                response::lookup(form, root, resolved);
            })
        }
        Answer::Product(detail) => about_catalog(response::expected_detail(form, detail), &|root| {
            response::get_product(form, root, detail);
        }),
        Answer::Cart(view) => purchase::response::cart::<P>(operation, view, active),
        Answer::Checkout(view) => purchase::response::checkout::<P>(operation, view, active),
        Answer::Order(view) => purchase::response::order::<P>(operation, view, active),
        Answer::Merchants(found) => merchant::response::search_merchants::<P>(operation, found, active),
        Answer::Merchant(detail) => merchant::response::get_merchant::<P>(operation, detail, active),
        Answer::Locations(found) => merchant::response::search_locations::<P>(operation, found, active),
        Answer::LocationsById(resolved) => merchant::response::lookup_locations::<P>(operation, resolved, active),
    }
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

impl<'a> Success<'a> {
    pub(crate) fn new(release: Release, operation: Operation, active: &'a Active) -> Self {
        let capabilities = Capabilities::relevant(operation, active);
        Self { version: Dated(release.date()), status: "success", capabilities }
    }
}

/// Protocol metadata of a checkout.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct CheckoutSuccess<'a> {
    #[serde(flatten)]
    success: Success<'a>,
    /// The payment handlers that the checkout can be paid with.
    payment_handlers: Handlers<'a>,
}

impl<'a> CheckoutSuccess<'a> {
    pub(crate) fn new(release: Release, operation: Operation, active: &'a Active, handlers: &'a [Declaration]) -> Self {
        Self { success: Success::new(release, operation, active), payment_handlers: handlers.into() }
    }
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
