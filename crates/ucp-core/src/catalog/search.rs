//! `search_catalog`: products by words, filters or both (UCP *Catalog Search*).

use super::{Context, filter::Filters, lookup::Listing};
use crate::message::Message;

/// Default number of products per page (rule CSR-05).
pub const DEFAULT_LIMIT: usize = 10;

/// Maximum number of products per page; larger numbers are clamped silently (rule CSR-05).
pub const MAX_LIMIT: usize = 50;

/// Request of a search.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Words to search for.
    pub query: Option<String>,
    /// Hints about the buyer.
    pub context: Context,
    /// Filters on products.
    pub filters: Filters,
    /// Start of the page: the cursor of an earlier response.
    pub cursor: Option<String>,
    /// Requested size of a page, at least 1.
    pub limit: Option<usize>,
}

/// A page of products.
#[derive(Debug)]
pub struct Found {
    /// Products, the best match first, each with its featured variant.
    pub products: Vec<Listing>,
    /// Cursor of the next page, if there is one.
    pub cursor: Option<String>,
    /// Total number of products, if the backend knows it.
    pub total: Option<u64>,
    /// Notes.
    pub messages: Vec<Message>,
}
