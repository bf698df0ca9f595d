//! What a backend is asked.
//!
//! A port asks for facts and leaves the decisions to the domain. A backend implements the ports of the operations it can
//! serve; the gateway mounts and advertises nothing else.

mod body;

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;

use jiff::Timestamp;
use serde_json::Value;

pub use self::body::{Body, NEGOTIATED, Written};
use crate::{
    Operation, Refusal, Release, cart,
    catalog::{
        cursor::CursorKey,
        filter::Criteria,
        lookup::MAX_IDS,
        market::{Market, Presentation},
        product::Product,
    },
    checkout,
    merchant::port::{Geocoder, Merchants},
    message::Message,
    operation::{ById, Class, EXTENSIONS, Offering, SHOPPING},
    purchase::{caller::Caller, desk::Decision, ledger::Ledger, payment::Declaration},
};

/// The ports of one business.
#[derive(Clone)]
pub struct Backend {
    /// Where goods are found and bought.
    pub shop: Shop,
    /// Merchants and their locations, where there is a directory of them.
    pub directory: Option<Directory>,
}

/// Where goods are found and bought.
#[derive(Clone)]
pub enum Shop {
    /// One that gives facts and leaves the decisions to the domain.
    Facts {
        /// Where its products are found.
        catalog: Arc<dyn Catalog>,
        /// Where they are bought.
        sales: Arc<dyn Sales>,
    },
    /// One that speaks UCP itself and decides on its own.
    Relayed(Arc<dyn Relay>),
}

impl Shop {
    /// What can be asked of it. The profile follows from it: nothing else is mounted or advertised.
    #[must_use]
    pub fn offering(&self) -> Offering {
        match self {
            Self::Facts { sales, .. } => sales.capabilities().offering(),
            Self::Relayed(relay) => relay.offering(),
        }
    }

    /// Where answers are kept under idempotency keys.
    #[must_use]
    pub fn ledger(&self) -> &dyn Ledger {
        match self {
            Self::Facts { sales, .. } => sales.ledger(),
            Self::Relayed(relay) => relay.ledger(),
        }
    }

    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match self {
            Self::Facts { sales, .. } => sales.now(),
            Self::Relayed(relay) => relay.now(),
        }
    }
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

/// What can be bought in a shop, and how far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SalesCapabilities {
    /// How purchases end.
    pub completion: Completion,
    /// Whether orders can be looked at.
    pub orders: bool,
    /// The extensions of carts and checkouts that it knows, by the domain's names.
    pub extensions: &'static [&'static str],
}

/// How purchases end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Through the API.
    Native,
    /// On a page of the shop, by the buyer.
    HandOff,
}

impl SalesCapabilities {
    /// Everything that the domain knows.
    pub const ALL: Self = Self { completion: Completion::Native, orders: true, extensions: EXTENSIONS };

    /// What can be asked of such a shop.
    #[must_use]
    pub fn offering(self) -> Offering {
        let asked = |operation: &Operation| match operation.row().class {
            Class::Browsing => operation.row().service == SHOPPING,
            Class::Purchase => true,
            Class::Order => self.orders,
        };
        Offering {
            operations: Operation::ALL.iter().copied().filter(asked).collect(),
            extensions: self.extensions.to_vec(),
            sealed_in: None,
        }
    }
}

/// The buyer in whose name an identified platform asks, as far as its signals say so (UCP *Signals*). It never decides
/// about an answer; a shop behind another API may have to be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visitor {
    /// Where the buyer's requests come from.
    pub ip: Option<IpAddr>,
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

    /// The key under which page positions of this shop are sealed. It outlives restarts.
    fn cursor_key(&self) -> &CursorKey;

    /// One page of the products that a query finds.
    ///
    /// # Errors
    /// [`InvalidCursor`](crate::Code::InvalidCursor) when the position in `query` no longer means anything,
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) when the shop fails.
    async fn find(&self, query: &Query, visitor: &Visitor) -> Result<Page, Refusal>;

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
    ) -> Result<Vec<Named>, Refusal>;

    /// What one identifier names, with every combination of options that there is, for a buyer who is about to decide: it
    /// is no older than a few seconds.
    ///
    /// # Errors
    /// As [`resolve`](Self::resolve).
    async fn open(&self, id: &str, presentation: &Presentation, visitor: &Visitor) -> Result<Vec<Match>, Refusal> {
        match self.resolve(&[id], presentation, visitor).await?.into_iter().next() {
            Some(Named::Found(matches) | Named::Stale(matches, _)) => Ok(matches),
            Some(Named::Unchecked) => Err(Refusal::unavailable("The shop cannot be asked at the moment.", 1)),
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
    ) -> Result<Arc<Product>, Refusal> {
        let _ = (combinations, presentation, visitor);
        Ok(Arc::clone(product))
    }
}

/// Where the goods of a shop are bought.
///
/// Every operation returns what to answer together with what has to be on disk before it is answered; nothing else is
/// written, so that the answer kept under an idempotency key and the state it tells of are one commit. Completing a
/// checkout alone writes down its intent on its own, before money moves. A call that is carried out again, because its
/// change turned out stale or its process died, must never buy twice.
#[async_trait]
pub trait Sales: Send + Sync {
    /// What it can do.
    fn capabilities(&self) -> SalesCapabilities {
        SalesCapabilities::ALL
    }

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

/// A shop that speaks UCP itself: it is asked operations, not for facts.
///
/// What it answers is told as it is, but for the release, the envelope, and extensions that the caller has not negotiated.
#[async_trait]
pub trait Relay: Send + Sync {
    /// What can be asked of it, and which extensions it knows.
    fn offering(&self) -> Offering;

    /// How buyers can pay there.
    fn payment_handlers(&self) -> Arc<[Declaration]>;

    /// Where answers are kept under idempotency keys.
    fn ledger(&self) -> &dyn Ledger;

    /// The time.
    fn now(&self) -> Timestamp;

    /// Asks it.
    ///
    /// # Errors
    /// What it refuses, and [`Unavailable`](crate::Code::Unavailable) when it cannot be asked.
    async fn carry(&self, caller: &Caller, call: Relayed) -> Result<Carried, Refusal>;
}

/// A call for a shop that speaks UCP itself.
#[derive(Clone, Debug)]
pub struct Relayed {
    /// What is asked.
    pub operation: Operation,
    /// The release that `payload` is written in.
    pub release: Release,
    /// Which resource it is about.
    pub id: Option<String>,
    /// The payload, valid in that release, with every member that the caller sent.
    pub payload: Value,
    /// The languages that the caller named beside the payload, in order of preference.
    pub languages: Vec<String>,
    /// The caller's idempotency key.
    pub key: Option<String>,
    /// What the call is called in the logs of all who have to do with it.
    pub trace: Trace,
}

/// What a call is called in the logs of all who have to do with it. Each is of a form that HTTP headers can carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its `Request-Id`.
    pub request_id: Option<String>,
    /// Its `traceparent` (W3C Trace Context).
    pub parent: Option<String>,
    /// What goes with that, its `tracestate`.
    pub state: Option<String>,
}

/// What a shop that speaks UCP itself answered.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The answer in the release in which it was asked, with the shop's own envelope in `ucp`.
    pub body: Body,
    /// Whether the shop has signed exactly these members, so that none of them may be changed (rule AP2-02).
    pub sealed: bool,
    /// The HTTP status it has on REST.
    pub status: u16,
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
