//! Answers of every operation, in the newest release.

use ucp_core::{Answer, Operation, Release, negotiation::Active, operation::Effect};

use crate::{
    catalog::response as catalog, envelope::Success, merchant::response as merchant, purchase::response as purchase,
    splice::Document,
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

/// Encodes an answer in the newest release.
pub(crate) fn write(operation: Operation, answer: &Answer, active: &Active) -> String {
    let about_catalog = |expected: usize, fill: &dyn Fn(&mut Document)| {
        let mut document = Document::with_capacity(ENVELOPE + expected);
        document.object(|root| {
            root.name("ucp").value(&Success::new(Release::NEWEST, operation, active));
            fill(root);
        });
        document.finish()
    };
    match answer {
        Answer::Products(found) => about_catalog(catalog::expected_listings(&found.products), &|root| {
            catalog::search(root, found);
        }),
        Answer::ProductsById(resolved) => about_catalog(catalog::expected_listings(&resolved.products), &|root| {
            catalog::lookup(root, resolved);
        }),
        Answer::Product(detail) => about_catalog(catalog::expected_detail(detail), &|root| {
            catalog::get_product(root, detail);
        }),
        Answer::Cart(view) => purchase::cart(operation, view, active),
        Answer::Checkout(view) => purchase::checkout(operation, view, active),
        Answer::Order(view) => purchase::order(operation, view, active),
        Answer::Merchants(found) => merchant::search_merchants(operation, found, active),
        Answer::Merchant(detail) => merchant::get_merchant(operation, detail, active),
        Answer::Locations(found) => merchant::search_locations(operation, found, active),
        Answer::LocationsById(resolved) => merchant::lookup_locations(operation, resolved, active),
    }
}
