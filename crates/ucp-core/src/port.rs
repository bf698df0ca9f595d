//! What a backend is asked.
//!
//! A port asks for facts and leaves the decisions to the domain. A backend implements the ports of the operations it can
//! serve; the gateway mounts and advertises nothing else.

use std::sync::Arc;

use async_trait::async_trait;

use jiff::Timestamp;

use crate::{
    Refusal, cart,
    catalog::{
        cursor::CursorKey,
        filter::Criteria,
        market::{Market, Presentation},
        product::Product,
    },
    checkout,
    merchant::port::{Geocoder, Merchants},
    operation::ById,
    purchase::{caller::Caller, desk::Decision, ledger::Ledger},
};

/// The ports of one shop.
#[derive(Clone)]
pub struct Backend {
    /// Where its products are found.
    pub catalog: Arc<dyn Catalog>,
    /// Where they are bought.
    pub sales: Arc<dyn Sales>,
    /// Merchants and their locations, where there is a directory of them.
    pub directory: Option<Directory>,
}

/// The ports of a directory of merchants.
#[derive(Clone)]
pub struct Directory {
    /// Who is in it.
    pub merchants: Arc<dyn Merchants>,
    /// Where the addresses are that buyers name.
    pub geocoder: Arc<dyn Geocoder>,
}

impl std::fmt::Debug for Backend {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backend").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Directory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Directory").finish_non_exhaustive()
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

/// Where the goods of a shop are bought.
///
/// Every operation returns what to answer together with what has to be on disk before it is answered; nothing else is
/// written, so that the answer kept under an idempotency key and the state it tells of are one commit. Completing a
/// checkout alone writes down its intent on its own, before money moves. A call that is carried out again, because its
/// change turned out stale or its process died, must never buy twice.
#[async_trait]
pub trait Sales: Send + Sync {
    /// Where answers are kept under idempotency keys, together with the state they tell of.
    fn ledger(&self) -> &dyn Ledger;

    /// The time.
    fn now(&self) -> Timestamp;

    /// `create_cart`.
    async fn create_cart(&self, caller: &Caller, request: cart::Create) -> Result<Decision, Refusal>;
    /// `get_cart`.
    async fn get_cart(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal>;
    /// `update_cart`.
    async fn update_cart(&self, caller: &Caller, request: cart::Update) -> Result<Decision, Refusal>;
    /// `cancel_cart`.
    async fn cancel_cart(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal>;
    /// `create_checkout`.
    async fn create_checkout(&self, caller: &Caller, request: checkout::Create) -> Result<Decision, Refusal>;
    /// `get_checkout`.
    async fn get_checkout(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal>;
    /// `update_checkout`.
    async fn update_checkout(&self, caller: &Caller, request: checkout::Update) -> Result<Decision, Refusal>;
    /// `complete_checkout`.
    async fn complete_checkout(&self, caller: &Caller, request: checkout::Complete) -> Result<Decision, Refusal>;
    /// `cancel_checkout`.
    async fn cancel_checkout(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal>;
    /// `get_order`.
    async fn get_order(&self, caller: &Caller, request: ById) -> Result<Decision, Refusal>;
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
