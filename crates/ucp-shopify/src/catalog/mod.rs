//! Catalog of a shop behind the Storefront API.
//!
//! | module | holds |
//! | :-- | :-- |
//! | `find` | search and browsing: filters of the API, filters applied here, pages |
//! | `resolve` | lookup by identifier, one product in full, further variants of a product |
//! | `codes` | SKUs and barcodes |
//! | `build` | conversion of a product to the domain's |
//! | `shape` | types of the answers |
//! | `lenient` | values that are read as absent if they are not of the promised type |
//! | `unit` | prices per unit of measurement |
//!
//! Identical reads at the same time are coalesced, and answers are cached as long as the operation allows. No answer
//! depends on the buyer: the IP address sent with a request only states on whose behalf it is made.

pub(super) mod build;
mod codes;
mod find;
mod lenient;
mod resolve;
mod shape;
mod unit;

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use ucp_core::{
    catalog::{
        market::{Market, Presentation},
        product::Product,
    },
    operation::{Freshness, Operation},
    ports::{Catalog, CatalogCapabilities, Filtering, Named, Page, PortError, Query, caller::BuyerSignals},
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

/// Options for the connection to a shop and the cache of its answers.
#[derive(Clone)]
pub struct Options {
    /// Options for calls. The address is that of the shop; the path to the API is appended.
    pub upstream: ucp_net::Options,
    /// Version of the API, `YYYY-MM`.
    pub version: String,
    /// Access token.
    pub token: Token,
    /// Identity as a bot, if requests are signed.
    pub bot: Option<Arc<Bot>>,
    /// Limits of the cache.
    pub capacity: Capacity,
    /// Clock of the cache and of calls.
    pub clock: Clock,
    /// Source of random numbers, for the pauses between attempts.
    pub random: Random,
    /// Clock of dates, for the age of what was kept.
    pub now: fn() -> Timestamp,
    /// Statement of the shop about itself to an earlier process, for a shop that is down; see [`Standing::document`].
    pub last: Option<Bytes>,
}
ucp_core::opaque!(Options { upstream, version, token, bot });

impl Options {
    /// Returns the default options for a shop, with the default version and without an identity as a bot.
    pub fn new(upstream: ucp_net::Options, token: Token, clock: Clock, random: Random, now: fn() -> Timestamp) -> Self {
        let (version, capacity) = (client::VERSION.to_owned(), Capacity::default());
        Self { upstream, version, token, bot: None, capacity, clock, random, now, last: None }
    }
}

/// Reason why a shop cannot be connected.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The version is not written as `YYYY-MM`.
    #[error("`{0}` is not a release of the Storefront API: it must be a year and a month, such as `{example}`", example = client::VERSION)]
    Version(String),
    /// No client can be created for the address.
    #[error("the shop {0}")]
    Client(#[from] ucp_net::outbound::SetupError),
    /// The shop cannot be reached, or does not state its country and currency.
    #[error("the shop does not say in which countries and currencies it sells")]
    Market(#[source] Failure),
}

impl SetupError {
    /// Returns `true` if the shop is down or busy, so that it may be connected later without a change of the options.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Market(failure) if failure.is_passing())
    }
}

/// A shop behind the Storefront API. Clones share its state.
#[derive(Clone)]
pub struct Storefront(Arc<StorefrontState>);
ucp_core::opaque!(Storefront);

struct StorefrontState {
    client: Client,
    market: Arc<Current>,
    clock: Clock,
    now: fn() -> Timestamp,
    /// `true` as long as tags of products are requested.
    tags: AtomicBool,
    pages: CoalescingCache<Arc<find::Listing>>,
    nodes: CoalescingCache<Arc<resolve::Slice>>,
    variants: CoalescingCache<Arc<resolve::More>>,
    codes: CoalescingCache<Arc<codes::Coded>>,
    locks: ResourceLocks,
}

impl Storefront {
    /// Connects to a shop and reads its countries, currencies and languages. If the shop is down, what it [stated
    /// last](Options::last) is used. Fails with [`SetupError`] if the options are not usable, or the shop cannot be
    /// read and has stated nothing before.
    pub async fn connect(options: Options) -> Result<Self, SetupError> {
        let Options { upstream, version, token, bot, capacity, clock, random, now, last } = options;
        let digits = |part: &str, length| part.len() == length && part.bytes().all(|byte| byte.is_ascii_digit());
        if !version.split_once('-').is_some_and(|(year, month)| digits(year, 4) && digits(month, 2)) {
            return Err(SetupError::Version(version));
        }
        let tags = AtomicBool::new(token.is_some());
        let client = Client::new(&upstream, &version, token, bot, Arc::clone(&clock), random)?;
        let standing = match market::read(&client).await.map_err(SetupError::Market) {
            Err(error) if error.is_passing() => last.and_then(|last| market::recall(&last, &client)).ok_or(error)?,
            read => read?,
        };
        let market = Arc::new(Current::new(standing, clock()));
        let part = |part: u64| Capacity { bytes: capacity.bytes / 8 * part, fills: capacity.fills };
        let counters = || Arc::clone(client.counters());
        Ok(Self(Arc::new(StorefrontState {
            pages: CoalescingCache::new(part(2), |listing| listing.weight, Arc::clone(&clock), counters()),
            nodes: CoalescingCache::new(part(4), |slice| slice.weight, Arc::clone(&clock), counters()),
            variants: CoalescingCache::new(part(1), |more| more.weight, Arc::clone(&clock), counters()),
            codes: CoalescingCache::new(part(1), |coded| coded.weight, Arc::clone(&clock), counters()),
            client,
            market,
            clock,
            now,
            tags,
            locks: ResourceLocks::default(),
        })))
    }

    /// Returns the client of the shop.
    pub fn client(&self) -> &Client {
        &self.0.client
    }

    /// Returns the properties of the shop. They are renewed in the background on the first use after an hour.
    pub fn standing(&self) -> Arc<Standing> {
        self.0.market.renew(&self.0.client, &self.0.clock);
        self.0.market.get()
    }

    /// Returns the time.
    fn now(&self) -> Timestamp {
        (self.0.now)()
    }

    /// Returns the locks that put changes of one cart in sequence.
    pub(super) fn locks(&self) -> &ResourceLocks {
        &self.0.locks
    }

    /// Returns the counters of calls to the shop.
    pub fn counters(&self) -> &Arc<Counters> {
        self.0.client.counters()
    }

    /// Returns the cache key of a read: shop, version of its API, operation, country, language, tags, and request.
    fn key<'a>(&'a self, operation: &'a str, context: &'a InContext, request: impl Iterator<Item = &'a str>) -> Key {
        let endpoint = self.0.client.endpoint().as_str();
        let tags = if self.0.tags.load(Ordering::Relaxed) { "tags" } else { "" };
        let country = context.country.as_deref().unwrap_or_default();
        let language = context.language.as_deref().unwrap_or_default();
        Key::of([endpoint, operation, country, language, tags].into_iter().chain(request))
    }

    /// Runs a read, with tags if the token may read them. It learns that it may not from the first answer that denies
    /// them: the error takes along the products whose tags were requested, so that the read is repeated without tags.
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
            tracing::warn!("access token may not read product tags; leaving them out");
        }
        client.ask(document, &variables.with(false), CallKind::Read, buyer_signals).await
    }
}

/// The variables of an operation.
#[derive(Clone, Copy)]
struct Variables<'a> {
    context: &'a InContext,
    own: &'a serde_json::Map<String, serde_json::Value>,
    /// `true` if the operation returns whole products, with or without tags.
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

/// Returns the durations for which the answer of an operation is cached.
fn freshness(operation: Operation) -> Freshness {
    operation.row().freshness.unwrap_or(Freshness::NONE)
}

#[async_trait]
impl Catalog for Storefront {
    /// The API applies the filters that the merchant has set up and ignores others; the gateway filters its results
    /// again.
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
    ) -> Result<Named, PortError> {
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
