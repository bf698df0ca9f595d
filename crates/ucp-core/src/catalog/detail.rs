//! `get_product`: one product in full, narrowed by option choices (UCP *Catalog Lookup*, *Get Product*).

use std::sync::Arc;

use super::{
    Context,
    filter::Filters,
    product::{Product, SelectedOption},
    selection::Signal,
};
use crate::message::Message;

/// Request for a product, with the buyer's choices so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Identifier of a product or a variant (rule PRD-01).
    pub id: String,
    /// Choices so far, at most one per option.
    pub selected: Vec<SelectedOption>,
    /// Names of options, the most important first: the last one is given up first.
    pub preferences: Vec<String>,
    /// Filters on variants.
    pub filters: Filters,
    /// Hints about the buyer.
    pub context: Context,
}

/// A product in full.
#[derive(Debug)]
pub struct Detail {
    /// Product.
    pub product: Arc<Product>,
    /// Effective selection, in the order of the product's options.
    pub selected: Vec<SelectedOption>,
    /// For each option, for each of its values, what choosing it would lead to.
    pub signals: Vec<Vec<Signal>>,
    /// Positions of the variants that match, the featured one first.
    pub variants: Vec<usize>,
    /// Notes.
    pub messages: Vec<Message>,
}
