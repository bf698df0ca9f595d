//! The catalog of a shop behind the Storefront API.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `find` | search and browsing: what the API filters, what is filtered here, pages |
//! | `resolve` | what identifiers name, one product in full, more variants of it |
//! | `build` | a product as the domain knows it |
//! | `shape` | what answers look like |
//! | `lenient` | values that are read as far as they are what was promised |
//! | `unit` | prices per unit of measurement |
//!
//! Reads are shared and kept for as long as the operation allows. Nothing in them depends on who the buyer is: an
//! address that goes with a request says only on whose behalf it is made.

pub(super) mod build;
mod find;
mod lenient;
mod resolve;
mod shape;
mod unit;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use async_trait::async_trait;
use serde::{Serialize, de::DeserializeOwned};
use ucp_core::{
    catalog::{
        market::{Market, Presentation},
        product::Product,
    },
    operation::{Freshness, Operation},
    port::{Catalog, CatalogCapabilities, Filtering, Match, Named, Page, PortError, Query},
    purchase::caller::BuyerSignals,
};

use super::{
    bot::Bot,
    client::{self, Client, Problem, Reply, Token},
    documents::Document,
    market::{self, Current, InContext, Standing},
};
use ucp_net::{
    CallKind, Clock, CoalescingCache, Counters, Failure, Key, Random, coalescing::Capacity, lock::ResourceLocks,
};

/// How a shop is reached, and how what it says is kept.
#[derive(Clone)]
pub struct Options {
    /// How it is called. The address is that of the shop; the path to the API is added.
    pub upstream: ucp_net::Options,
    /// The release of the API, `YYYY-MM`.
    pub version: String,
    /// How the gateway shows who it is.
    pub token: Token,
    /// As which bot it asks, if it says so.
    pub bot: Option<Arc<Bot>>,
    /// How much is kept.
    pub capacity: Capacity,
    /// The time.
    pub clock: Clock,
    /// Chance, for pauses.
    pub random: Random,
}

impl Options {
    /// The usual options for a shop, which is not told about a bot.
    #[must_use]
    pub fn new(upstream: ucp_net::Options, token: Token, clock: Clock, random: Random) -> Self {
        let (version, capacity) = (client::VERSION.to_owned(), Capacity::default());
        Self { upstream, version, token, bot: None, capacity, clock, random }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("upstream", &self.upstream)
            .field("version", &self.version)
            .field("token", &self.token)
            .field("bot", &self.bot)
            .finish_non_exhaustive()
    }
}

/// Why a shop cannot be stood in front of.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The release is not written as one.
    #[error("`{0}` is not a release of the Storefront API: it must be a year and a month, such as `{example}`", example = client::VERSION)]
    Version(String),
    /// There can be no client for it.
    #[error("the shop {0}")]
    Client(#[from] ucp_net::outbound::SetupError),
    /// It does not say where it sells and in which currency.
    #[error("the shop does not say in which countries and currencies it sells")]
    Market(#[source] Failure),
}

/// A shop behind the Storefront API. Clones are the same one.
#[derive(Clone)]
pub struct Storefront(Arc<Inner>);

struct Inner {
    client: Client,
    market: Arc<Current>,
    clock: Clock,
    /// Whether tags of products may be read.
    tags: AtomicBool,
    pages: CoalescingCache<Arc<find::Listing>>,
    nodes: CoalescingCache<Arc<resolve::Slice>>,
    variants: CoalescingCache<Arc<resolve::More>>,
    locks: ResourceLocks,
}

impl fmt::Debug for Storefront {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Storefront").field("client", &self.0.client).finish_non_exhaustive()
    }
}

impl Storefront {
    /// Stands in front of a shop, once it has said where it sells.
    ///
    /// # Errors
    /// When the options do not fit, or the shop does not say so.
    pub async fn connect(options: Options) -> Result<Self, SetupError> {
        let Options { upstream, version, token, bot, capacity, clock, random } = options;
        let digits = |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        if !version.split_once('-').is_some_and(|(year, month)| digits(year, 4) && digits(month, 2)) {
            return Err(SetupError::Version(version));
        }
        let tags = AtomicBool::new(token.is_some());
        let client = Client::new(&upstream, &version, token, bot, Arc::clone(&clock), random)?;
        let standing = market::read(&client).await.map_err(SetupError::Market)?;
        let market = Arc::new(Current::new(standing, clock()));
        let part = |part: u64| Capacity { bytes: capacity.bytes / 4 * part, fills: capacity.fills };
        let counters = || Arc::clone(client.counters());
        Ok(Self(Arc::new(Inner {
            pages: CoalescingCache::new(part(1), |listing| listing.weight, Arc::clone(&clock), counters()),
            nodes: CoalescingCache::new(part(2), |slice| slice.weight, Arc::clone(&clock), counters()),
            variants: CoalescingCache::new(part(1), |more| more.weight, Arc::clone(&clock), counters()),
            client,
            market,
            clock,
            tags,
            locks: ResourceLocks::default(),
        })))
    }

    /// What it is asked through.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// What the shop says about itself. It is read again every hour.
    #[must_use]
    pub fn standing(&self) -> Arc<Standing> {
        self.0.market.renew(&self.0.client, &self.0.clock);
        self.0.market.get()
    }

    /// The lines in front of its carts.
    pub(super) fn locks(&self) -> &ResourceLocks {
        &self.0.locks
    }

    /// What happens between the gateway and the shop.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        self.0.client.counters()
    }

    /// The key of a read: the shop, the release of its API and the operation, who it is shown to, and what is asked.
    fn key<'a>(&'a self, operation: &'a str, context: &'a InContext, request: impl Iterator<Item = &'a str>) -> Key {
        let endpoint = self.0.client.endpoint().as_str();
        let tags = if self.0.tags.load(Ordering::Relaxed) { "tags" } else { "" };
        let country = context.country.as_deref().unwrap_or_default();
        let language = context.language.as_deref().unwrap_or_default();
        Key::of([endpoint, operation, country, language, tags].into_iter().chain(request))
    }

    /// Asks, with tags where they may be read. Whether they may is learnt from the first answer that says no: the error
    /// takes the products along whose tags were asked for.
    async fn ask<T: DeserializeOwned>(
        &self,
        document: &Document,
        variables: Variables<'_>,
        buyer_signals: &BuyerSignals,
    ) -> Result<Reply<T>, Failure> {
        let client = &self.0.client;
        let tags = self.0.tags.load(Ordering::Relaxed);
        let reply = client.ask(document, &variables.with(tags), CallKind::Read, buyer_signals).await?;
        let denied = |error: &Problem| error.is("ACCESS_DENIED") && error.field() == Some("tags");
        if !tags || !reply.errors.iter().any(denied) {
            return Ok(reply);
        }
        if self.0.tags.swap(false, Ordering::Relaxed) {
            self.counters().note("tags may not be read");
            tracing::warn!("the access token may not read tags of products; they are left out from now on");
        }
        client.ask(document, &variables.with(false), CallKind::Read, buyer_signals).await
    }
}

/// The variables of an operation.
#[derive(Clone, Copy)]
struct Variables<'a> {
    context: &'a InContext,
    own: &'a serde_json::Map<String, serde_json::Value>,
    /// Whether the operation shows whole products, with or without tags.
    cards: bool,
}

impl<'a> Variables<'a> {
    fn with(self, tags: bool) -> impl Serialize + use<'a> {
        #[derive(Serialize)]
        struct All<'a> {
            #[serde(flatten)]
            context: &'a InContext,
            #[serde(flatten)]
            own: &'a serde_json::Map<String, serde_json::Value>,
            #[serde(skip_serializing_if = "Option::is_none")]
            tags: Option<bool>,
        }
        All { context: self.context, own: self.own, tags: self.cards.then_some(tags) }
    }
}

/// For how long what an operation reads is kept.
fn freshness(operation: Operation) -> Freshness {
    operation.row().freshness.unwrap_or(Freshness::NONE)
}

#[async_trait]
impl Catalog for Storefront {
    /// The API filters as the merchant has set it up, and ignores what is not; what it lets through is filtered again.
    fn capabilities(&self) -> CatalogCapabilities {
        CatalogCapabilities { price_filter: Filtering::Local, ..CatalogCapabilities::default() }
    }

    fn market(&self) -> Arc<Market> {
        Arc::clone(&self.standing().market)
    }

    async fn find(&self, query: &Query, buyer_signals: &BuyerSignals) -> Result<Page, PortError> {
        self.search(query, *buyer_signals).await
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        self.look_up(ids, presentation, *buyer_signals).await
    }

    async fn open(
        &self,
        id: &str,
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Vec<Match>, PortError> {
        self.show(id, presentation, *buyer_signals).await
    }

    async fn complete(
        &self,
        product: &Arc<Product>,
        combinations: &[&[usize]],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Arc<Product>, PortError> {
        self.add_variants(product, combinations, presentation, *buyer_signals).await
    }
}
