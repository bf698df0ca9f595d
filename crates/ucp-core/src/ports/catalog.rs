//! Port of the catalog of a shop.

use std::sync::Arc;

use async_trait::async_trait;

use super::{PortError, caller::BuyerSignals};
use crate::{
    catalog::{
        filter::Criteria,
        market::{Market, Presentation},
        product::Product,
    },
    message::Message,
};

/// Maximum number of different identifiers in one lookup, unless the shop sets a lower one (rule LKP-05).
pub const MAX_IDS: usize = 100;

/// Capabilities of a catalog. The domain makes up for missing ones, or reports them to the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogCapabilities {
    /// Maximum number of different identifiers in one lookup, at least 10 (rule LKP-05).
    pub most_ids: usize,
    /// Party that applies price filters to the results of a search.
    pub price_filter: Filtering,
}

impl Default for CatalogCapabilities {
    fn default() -> Self {
        Self { most_ids: MAX_IDS, price_filter: Filtering::Native }
    }
}

/// Party that applies a filter to the results of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtering {
    /// The shop, before it makes pages.
    Native,
    /// The gateway, page by page: a page may hold fewer products than requested although more follow.
    Local,
    /// Nobody: callers are told that the filter was not applied.
    None,
}

/// A shop's catalog. All methods fail with [`Unavailable`](crate::Code::Unavailable) or
/// [`InternalError`](crate::Code::InternalError) if the shop fails.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// Returns the capabilities of the catalog.
    fn capabilities(&self) -> CatalogCapabilities {
        CatalogCapabilities::default()
    }

    /// Returns the languages and currencies of the shop.
    fn market(&self) -> Arc<Market>;

    /// Returns one page of the products that match a query. Fails with [`InvalidCursor`](crate::Code::InvalidCursor) if
    /// the position in `query` is no longer valid.
    async fn find(&self, query: &Query, buyer_signals: &BuyerSignals) -> Result<Page, PortError>;

    /// Resolves identifiers, in the order of `ids`.
    ///
    /// Identifiers come from outside: they are compared, never interpreted.
    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError>;

    /// Resolves one identifier, with every existing combination of options, for a buyer who is about to decide: the
    /// answer is no older than a few seconds.
    async fn open(
        &self,
        id: &str,
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Named, PortError> {
        let named = self.resolve(&[id], presentation, buyer_signals).await?.into_iter().next();
        Ok(named.unwrap_or_else(|| Named::Found(Vec::new())))
    }

    /// Returns the same product with the variants of these combinations of option values included, as far as they
    /// exist. Called only for products that do not hold all of their variants.
    async fn complete(
        &self,
        product: &Arc<Product>,
        combinations: &[&[usize]],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Arc<Product>, PortError> {
        let _ = (combinations, presentation, buyer_signals);
        Ok(Arc::clone(product))
    }
}

/// A search, and the page of its results to return.
#[derive(Clone, Debug)]
pub struct Query {
    /// Search text; `None` matches every product.
    pub text: Option<String>,
    /// Wish of the buyer, as free text: it may change the order of the products that match, never which ones do.
    pub intent: Option<String>,
    /// Conditions, all of which at least one variant of a product has to meet.
    pub criteria: Criteria,
    /// Language and currency in which products are shown and prices are compared.
    pub presentation: Presentation,
    /// Page size, at least 1.
    pub limit: usize,
    /// Position after which the page starts, taken from an earlier [`Page::next`] of the same query.
    pub after: Option<Vec<u8>>,
}

/// One page of the results of a query, best match first.
#[derive(Debug)]
pub struct Page {
    /// Products of the page, in the order of the result.
    pub products: Vec<Arc<Product>>,
    /// Position after which the next page starts, if there is one. Following positions neither repeats nor skips a
    /// product, even if the shop adds products in between.
    pub next: Option<Vec<u8>>,
    /// Number of all products that match the query, if the backend knows it.
    pub total: Option<u64>,
    /// Messages about the page, for instance that it is stale.
    pub messages: Vec<Message>,
}

/// Result of resolving an identifier.
#[derive(Clone, Debug)]
pub enum Named {
    /// Matches of the identifier; empty if it names nothing.
    Found(Vec<Match>),
    /// Earlier matches, with a message that says so: the shop cannot be reached at the moment.
    Stale(Vec<Match>, Message),
    /// Matches in a copy of the shop's catalog, with a message that says as of when: the shop cannot say it better, so
    /// that a purchase may be priced from them.
    Dated(Vec<Match>, Message),
    /// The shop could not be reached: the identifier may name something.
    Unchecked,
}

/// A match of an identifier.
#[derive(Clone, Debug)]
pub struct Match {
    /// The product.
    pub product: Arc<Product>,
    /// Part of the product that the identifier names.
    pub target: Target,
}

/// The part of a product that an identifier names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// The product, by its id.
    Product,
    /// The product, by its handle.
    ProductHandle,
    /// The variant at this position, by its id.
    Variant(usize),
    /// The variant at this position, by an identifier that others may share: SKU, handle or barcode.
    VariantAlias(usize),
}
