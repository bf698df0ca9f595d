//! What a backend is asked.
//!
//! A port asks for facts and leaves the decisions to the domain. A backend implements the ports of the operations it can
//! serve; the gateway mounts and advertises nothing else.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{
    Refusal,
    catalog::{
        cursor::CursorKey,
        filter::Criteria,
        market::{Market, Presentation},
        product::Product,
    },
};

/// The ports of one shop.
#[derive(Clone)]
pub struct Backend {
    /// Where its products are found.
    pub catalog: Arc<dyn Catalog>,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

/// A shop's catalog.
#[async_trait]
pub trait Catalog: Send + Sync {
    /// What the shop speaks and trades in.
    fn market(&self) -> Arc<Market>;

    /// The key under which page positions of this shop are sealed. It outlives restarts.
    fn cursor_key(&self) -> &CursorKey;

    /// One page of the products that a query finds.
    ///
    /// # Errors
    /// [`InvalidCursor`](crate::Code::InvalidCursor) when the position in `query` no longer means anything,
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) when the shop fails.
    async fn find(&self, query: &Query) -> Result<Page, Refusal>;

    /// What each of `ids` names, in the order of `ids`; an empty list for one that names nothing.
    ///
    /// Identifiers come from outside: they are compared, never interpreted.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) when the shop fails.
    async fn resolve(&self, ids: &[&str], presentation: &Presentation) -> Result<Vec<Vec<Match>>, Refusal>;
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
