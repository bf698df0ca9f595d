//! `lookup_catalog`: what a list of identifiers names (UCP *Catalog Lookup*, *Batch Lookup*).

use std::sync::Arc;

use super::{Context, filter::Filters, product::Product};
use crate::{Code, Refusal, message::Message};

/// Maximum number of identifiers in one call, repetitions included (trap T-20).
pub const MAX_LISTED_IDS: usize = 1_000;

/// Request of a lookup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Product ids, variant ids, SKUs, handles and barcodes, in any mixture.
    pub ids: Vec<String>,
    /// Filters on variants.
    pub filters: Filters,
    /// Hints about the buyer.
    pub context: Context,
}

/// A product with the variants that an answer shows.
#[derive(Debug)]
pub struct Listing {
    /// Product.
    pub product: Arc<Product>,
    /// Variants to show, the featured one first.
    pub variants: Vec<ListedVariant>,
}

/// A variant in an answer.
#[derive(Debug)]
pub struct ListedVariant {
    /// Its position in the product.
    pub position: usize,
    /// Identifiers of the request that led to it; empty in a search.
    pub inputs: Vec<Input>,
}

/// Match of an identifier of the request with a variant (rules LKP-03 and LKP-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Identifier as sent.
    pub id: String,
    /// Kind of the match: with the variant itself, or with a product that the variant represents.
    pub kind: MatchKind,
}

/// Kind of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchKind {
    /// This very variant.
    Exact,
    /// The product; the shop chose the variant.
    Featured,
}

/// Answer of a lookup.
#[derive(Debug)]
pub struct Resolved {
    /// Each product once, in the order in which the request first names them.
    pub products: Vec<Listing>,
    /// Notes, one `not_found` for each identifier that names nothing.
    pub messages: Vec<Message>,
}

/// Returns the refusal of a call with more identifiers than are looked up at once (rule LKP-05).
pub fn too_many(named: usize, most: usize) -> Refusal {
    Refusal::new(Code::RequestTooLarge, format!("Too many identifiers: {named}."))
        .at("$.ids")
        .accepting(format!("at most {most} different identifiers in one call"))
}
