//! Encoding of answers of every operation, in the newest release.
//!
//! The JSON of each product is serialized in parts, once per release, and answers are spliced together from these parts
//! (see [`ucp_core::rendering`]).
//!
//! | module | holds |
//! | :-- | :-- |
//! | `catalog`, `purchase`, `merchant` | answers about products, purchases and merchants |
//! | `older` | parts of answers about products, in older releases |

mod catalog;
mod merchant;
mod older;
mod purchase;

use serde_json::{Map, Value};
use ucp_core::{Answer, Operation, Release, negotiation::Active, operation::Effect, rendering::Extent};

use crate::{
    envelope::Success,
    splice::{Document, members},
};

/// Estimated length of an answer without its products, in bytes.
const ENVELOPE: usize = 1_024;

/// Returns the HTTP status of a successful answer: 201 if the call created the resource, else 200.
pub(crate) fn status(operation: Operation, answer: &Answer) -> u16 {
    let created = match answer {
        Answer::Cart(view) => view.created,
        Answer::Checkout(view) => view.created,
        _ => false,
    };
    if created && operation.row().effect == Effect::Creating { 201 } else { 200 }
}

/// Encodes an answer in the newest release, except for its products.
pub(crate) fn without_products(operation: Operation, answer: &Answer, active: &Active) -> String {
    match answer {
        Answer::Products(_) | Answer::ProductsById(_) | Answer::Product(_) => {
            let mut document = Document::with_capacity(ENVELOPE);
            document.object(|root| {
                root.name("ucp").object(|ucp| Success::write(ucp, Release::NEWEST, operation, active));
                catalog::beside(root, answer);
            });
            document.finish()
        }
        _ => write(operation, answer, active, Extent::Whole),
    }
}

/// Adds the products of an answer in a release to its other members, after its protocol metadata.
pub(crate) fn with_products(
    release: Release,
    answer: &Answer,
    mut others: Map<String, Value>,
    extent: Extent,
) -> String {
    let mut document = Document::with_capacity(ENVELOPE + catalog::expected(release, answer, extent));
    document.object(|root| {
        if let Some(ucp) = others.shift_remove("ucp") {
            root.name("ucp").value(&ucp);
        }
        catalog::products(root, release, answer, extent);
        root.raw(&members(&others));
    });
    document.finish()
}

/// Encodes an answer in the newest release.
pub(crate) fn write(operation: Operation, answer: &Answer, active: &Active, extent: Extent) -> String {
    match answer {
        Answer::Products(_) | Answer::ProductsById(_) | Answer::Product(_) => {
            let mut document = Document::with_capacity(ENVELOPE + catalog::expected(Release::NEWEST, answer, extent));
            document.object(|root| {
                root.name("ucp").object(|ucp| Success::write(ucp, Release::NEWEST, operation, active));
                catalog::products(root, Release::NEWEST, answer, extent);
                catalog::beside(root, answer);
            });
            document.finish()
        }
        Answer::Cart(view) => purchase::cart(operation, view, active),
        Answer::Checkout(view) => purchase::checkout(operation, view, active),
        Answer::Order(view) => purchase::order(operation, view, active),
        Answer::Merchants(found) => merchant::search_merchants(operation, found, active),
        Answer::Merchant(detail) => merchant::get_merchant(operation, detail, active),
        Answer::Locations(found) => merchant::search_locations(operation, found, active),
        Answer::LocationsById(resolved) => merchant::lookup_locations(operation, resolved, active),
    }
}
