//! The catalog of a shop.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    catalog::{
        filter::Criteria,
        market::{Market, Presentation},
        product::Product,
    },
    message::Message,
    port::PortError,
    purchase::caller::Visitor,
};

/// How many different identifiers one lookup may name, where the shop does not say less (rule LKP-05).
pub const MAX_IDS: usize = 100;

/// What a catalog can do. What it cannot, the domain makes up for, or says that it was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CatalogCapabilities {
    /// How many different identifiers one lookup may name, at least ten (rule LKP-05).
    pub most_ids: usize,
    /// Who applies price filters to what a search finds.
    pub price_filter: Filtering,
}

impl Default for CatalogCapabilities {
    fn default() -> Self {
        Self { most_ids: MAX_IDS, price_filter: Filtering::Native }
    }
}

/// Who applies a filter to what a search finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filtering {
    /// The shop, before pages are made.
    Native,
    /// The gateway, page by page: a page may hold fewer products than were asked for although more follow.
    Local,
    /// Nobody: callers are told.
    None,
}

/// A shop's catalog.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> CatalogCapabilities {
        CatalogCapabilities::default()
    }

    /// What the shop speaks and trades in.
    fn market(&self) -> Arc<Market>;

    /// One page of the products that a query finds.
    ///
    /// # Errors
    /// [`InvalidCursor`](crate::Code::InvalidCursor) when the position in `query` no longer means anything,
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) when the shop fails.
    async fn find(&self, query: &Query, visitor: &Visitor) -> Result<Page, PortError>;

    /// What each of `ids` names, in the order of `ids`.
    ///
    /// Identifiers come from outside: they are compared, never interpreted.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) when the shop fails.
    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        visitor: &Visitor,
    ) -> Result<Vec<Named>, PortError>;

    /// What one identifier names, with every combination of options that there is, for a buyer who is about to decide: it
    /// is no older than a few seconds.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    async fn open(&self, id: &str, presentation: &Presentation, visitor: &Visitor) -> Result<Vec<Match>, PortError> {
        match self.resolve(&[id], presentation, visitor).await?.into_iter().next() {
            Some(Named::Found(matches) | Named::Stale(matches, _)) => Ok(matches),
            Some(Named::Unchecked) => Err(PortError::unavailable("The shop cannot be asked at the moment.", 1)),
            None => Ok(Vec::new()),
        }
    }

    /// The same product with the variants of these combinations of option values among its variants, as far as they can be
    /// had. Asked only about products that do not hold all of theirs.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    async fn complete(
        &self,
        product: &Arc<Product>,
        combinations: &[&[usize]],
        presentation: &Presentation,
        visitor: &Visitor,
    ) -> Result<Arc<Product>, PortError> {
        let _ = (combinations, presentation, visitor);
        Ok(Arc::clone(product))
    }
}

/// What to find, and which page of it.
#[derive(Clone, Debug)]
pub struct Query {
    /// The words to look for; `None` finds every product.
    pub text: Option<String>,
    /// What at least one variant of a product has to be.
    pub criteria: Criteria,
    /// The language and currency products are shown in, and prices are judged in.
    pub presentation: Presentation,
    /// How many products make a page, at least one.
    pub limit: usize,
    /// The position after which the page starts, as an earlier [`Page::next`] gave it for the same query.
    pub after: Option<Vec<u8>>,
}

/// One page of what a query found, the best match first.
#[derive(Debug)]
pub struct Page {
    /// The products.
    pub products: Vec<Arc<Product>>,
    /// The position after which the next page starts, if there is one. Following positions neither repeats nor skips a
    /// product, even if the shop adds products in between.
    pub next: Option<Vec<u8>>,
    /// How many products the query finds in all, if the backend knows.
    pub total: Option<u64>,
    /// What is to be said about it, such as that it is not of today.
    pub messages: Vec<Message>,
}

/// What came of an identifier.
#[derive(Clone, Debug)]
pub enum Named {
    /// What it names; nothing, if it names nothing.
    Found(Vec<Match>),
    /// What it named a while ago, and that it did: the shop cannot be asked now.
    Stale(Vec<Match>, Message),
    /// The shop could not be asked: it may name something.
    Unchecked,
}

/// What an identifier names.
#[derive(Clone, Debug)]
pub struct Match {
    /// The product.
    pub product: Arc<Product>,
    /// Which part of it, and how.
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
