//! A shop behind the contract: what it states about itself, and its catalog.

use std::{
    collections::{BTreeMap, HashMap, HashSet},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use jiff::Timestamp;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};
use tokio::{sync::Semaphore, time::Instant};
use ucp_core::{
    Code, Refusal,
    catalog::{
        filter::{CategoryPath, Criteria},
        market::{Market, Presentation},
        product::Product,
        record::Record,
    },
    money::Currency,
    operation::{Freshness, Operation},
    ports::{
        Catalog, CatalogCapabilities, Filtering, Match, Named, Page, PortError, Query, Target, caller::BuyerSignals,
    },
    purchase::payment::Declaration,
};
use ucp_import::{
    jsonl::typed,
    text::{address, tidy_answer},
};
use ucp_net::{
    Clock, CoalescingCache, Counters, Failure, Filled, Key, Served, Staleness, Unreadable, coalescing::Capacity,
    deadline, lock::ResourceLocks,
};

use crate::{
    documents::{Backend, CartAbilities, Completion, Context, Find, Found, PriceBounds, Resolve, Resolved, VERSION},
    position::Position,
    transport::{Question, Reply, Transport},
};

/// Number of identifiers in one question, unless the shop states another.
const USUAL_IDS: usize = 50;

/// Maximum length of a position in a result, in bytes.
const LONGEST_POSITION: usize = 1_024;

/// Maximum number of pages of the shop that are read to fill one.
const MOST_PAGES: usize = 8;

/// Maximum number of products that an answer may hold, whatever was asked for.
const MOST_PRODUCTS: usize = 500;

/// Maximum number of carts whose making was not answered that are looked for at once.
const SEARCHED: usize = 32;

/// Time after the beginning of an attempt from which no `/place` can reach the shop any more, unless it is configured.
const PLACE_DEADLINE: Duration = Duration::from_secs(90);

/// Interval at which the shop is asked what it is.
pub const RENEWAL: Duration = Duration::from_secs(300);

/// Reason why a shop cannot be connected.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The shop cannot be reached, or its answer cannot be read.
    #[error("the shop does not say what it is and what it can do (`GET /backend`)")]
    Unanswered(#[source] Failure),
    /// The answer of the shop contradicts the contract.
    #[error("what the shop says about itself (`GET /backend`) cannot be used: {0}")]
    Unusable(String),
}

impl ConnectError {
    /// Returns `true` if the shop is down or busy, so that it may be connected later without a change.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unanswered(failure) if failure.is_passing())
    }
}

/// A shop behind the contract. Clones share its state.
#[derive(Clone)]
pub struct ContractShop(Arc<ShopState>);
ucp_core::opaque!(ContractShop);

struct ShopState {
    transport: Arc<dyn Transport>,
    statement: RwLock<Arc<Statement>>,
    pages: CoalescingCache<Arc<Listing>>,
    resolved: CoalescingCache<Arc<Listing>>,
    locks: ResourceLocks,
    place_deadline: Duration,
    /// Places of carts whose making was not answered and that are looked for.
    searches: Semaphore,
    now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
}

/// Description of a shop, as the shop states it.
#[derive(Clone, Debug)]
struct Statement {
    backend: Backend,
    market: Arc<Market>,
    document: Option<Bytes>,
}

impl Statement {
    /// Reads the answer to `GET /backend`.
    fn read(document: &Bytes, fresh: bool) -> Result<Self, ConnectError> {
        let answer = Reply::Answer(document.clone());
        let backend = answer.read::<Backend>(Question::Backend).map_err(ConnectError::Unanswered)?;
        let backend = backend.ok_or_else(|| ConnectError::Unusable("it is empty".to_owned()))?;
        let market = Arc::new(market(&backend).map_err(ConnectError::Unusable)?);
        Ok(Self { backend, market, document: fresh.then(|| document.clone()) })
    }
}

/// Returns the market of a shop. Fails if the answer to `GET /backend` violates the contract; the message describes
/// the violation.
pub(crate) fn market(backend: &Backend) -> Result<Market, String> {
    if backend.contract != VERSION {
        return Err(format!("`contract` must be \"{VERSION}\", not {:?}", backend.contract));
    }
    let stated = backend.market.clone();
    if stated.name.trim().is_empty() || stated.language.trim().is_empty() {
        return Err("`market.name` and `market.language` must not be empty".to_owned());
    }
    let mut ids = HashSet::new();
    for handler in &backend.payment_handlers {
        if handler.instruments.is_empty() || !ids.insert(&handler.id) {
            let id = &handler.id;
            return Err(format!("the payment handler `{id}` needs an id of its own and a type of instrument"));
        }
    }
    Ok(Market {
        name: stated.name,
        currency: stated.currency,
        currencies: stated.currencies,
        language: stated.language,
        languages: stated.languages,
        countries: stated.countries,
        by_country: false,
        rates: Default::default(),
        links: stated.links,
    })
}

/// Products of an answer, as they are shown to one kind of caller.
#[derive(Debug, Default)]
struct Listing {
    products: Vec<Arc<Product>>,
    next: Option<String>,
    total: Option<u64>,
    /// `true` if the shop no longer knows the position that the page was to start after.
    lost: bool,
    weight: usize,
}

impl ContractShop {
    /// Asks a shop what it is. If it is down, `last` is used: what it stated to an earlier process. Fails with
    /// [`ConnectError`] if it does not answer and `last` is `None`, or if the answer cannot be used.
    pub async fn connect(
        transport: Arc<dyn Transport>,
        capacity: Capacity,
        clock: Clock,
        now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
        last: Option<Bytes>,
    ) -> Result<Self, ConnectError> {
        let statement = match (asked(&*transport).await, last) {
            (Ok(document), _) => Statement::read(&document, true)?,
            (Err(failure), Some(last)) if failure.is_passing() => {
                tracing::warn!(%failure, "upstream unreachable; using its last known description");
                Statement::read(&last, false)?
            }
            (Err(failure), _) => return Err(ConnectError::Unanswered(failure)),
        };
        let counters = Arc::clone(transport.counters());
        let cache = || {
            CoalescingCache::new(
                capacity,
                |listing: &Arc<Listing>| listing.weight,
                Arc::clone(&clock),
                Arc::clone(&counters),
            )
        };
        Ok(Self(Arc::new(ShopState {
            transport,
            statement: RwLock::new(Arc::new(statement)),
            pages: cache(),
            resolved: cache(),
            locks: ResourceLocks::default(),
            place_deadline: PLACE_DEADLINE,
            searches: Semaphore::new(SEARCHED),
            now,
        })))
    }

    /// Returns the shop with this time after the beginning of an attempt from which no `/place` can reach the shop any
    /// more. Default: 90 s. Has no effect once there are clones.
    #[must_use]
    pub fn placing_within(mut self, place_deadline: Duration) -> Self {
        if let Some(state) = Arc::get_mut(&mut self.0) {
            state.place_deadline = place_deadline;
        }
        self
    }

    /// Returns the time after the beginning of an attempt from which no `/place` can reach the shop any more.
    pub(crate) fn latest_place(&self) -> Duration {
        self.0.place_deadline
    }

    /// Forgets what is kept of these products, and of pages and lookups that found nothing.
    pub fn forget(&self, products: &[String]) {
        let products: HashSet<&str> = products.iter().map(String::as_str).collect();
        let concerns = |listing: &Arc<Listing>| {
            let is_named = |product: &Arc<Product>| {
                let variants = || product.variants.iter().any(|variant| products.contains(variant.id.as_str()));
                products.contains(product.id.as_str()) || variants()
            };
            listing.products.is_empty() || listing.products.iter().any(is_named)
        };
        self.0.pages.forget(concerns);
        self.0.resolved.forget(concerns);
    }

    /// Asks the shop again what it is. Market and limits hold from then on; what is offered to platforms waits for a
    /// restart, which the log asks for.
    pub async fn renew(&self) {
        let before = self.statement();
        let read = match asked(&*self.0.transport).await {
            Ok(document) if before.document.as_ref() == Some(&document) => return,
            Ok(document) => Statement::read(&document, true),
            Err(failure) => Err(ConnectError::Unanswered(failure)),
        };
        match read {
            Ok(fresh) => {
                let offers = |statement: &Statement| {
                    (statement.backend.cart.clone(), statement.backend.payment_handlers.clone())
                };
                if offers(&fresh) != offers(&before) {
                    tracing::warn!("upstream capabilities changed; restart or reload the gateway");
                }
                *self.0.statement.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(fresh);
            }
            Err(error) => {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "refreshing the upstream description failed; keeping the previous one"
                );
            }
        }
    }

    /// Returns what the shop stated about itself to this process.
    pub fn document(&self) -> Option<Bytes> {
        self.statement().document.clone()
    }

    /// Returns the counters of the calls to the shop.
    pub fn counters(&self) -> &Arc<Counters> {
        self.0.transport.counters()
    }

    /// Returns `true` if the gateway places orders at the shop.
    pub fn takes_orders(&self) -> bool {
        self.cart_abilities().is_some_and(|cart| cart.completion == Completion::Place)
    }

    /// Returns the payment handlers that the shop declares, if it places orders.
    pub fn declarations(&self) -> Vec<Declaration> {
        let statement = self.statement();
        let handlers = statement.backend.payment_handlers.iter().filter(|_| self.takes_orders()).cloned();
        let declaration = |handler: crate::documents::PaymentHandler| {
            let address = handler.address();
            let stated = |url: String| if url.is_empty() { address.clone() } else { url };
            Declaration {
                spec: stated(handler.spec),
                schema: stated(handler.schema),
                name: handler.name,
                id: handler.id,
                version: handler.version,
                instruments: handler.instruments,
                config: handler.config,
            }
        };
        handlers.map(declaration).collect()
    }

    /// Returns `true` if the shop tells which products changed since a time.
    pub fn tells_changes(&self) -> bool {
        self.statement().backend.catalog.updated_since
    }

    /// Returns what the shop's clock shows, by the `Date` of its last answer; `None` if it states none.
    pub fn time(&self) -> Option<Timestamp> {
        self.counters().upstream_time()
    }

    /// Returns a page of the whole catalog, or of what changed since a time, as the shop states it; `None` if it no
    /// longer knows the position `after`. Fails with [`Failure`] if the shop cannot be asked or gives no answer.
    pub async fn page_of_all(
        &self,
        updated_since: Option<Timestamp>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Option<Found>, Failure> {
        let find = Find {
            words: None,
            categories: Vec::new(),
            prices: Vec::new(),
            available: false,
            updated_since,
            context: self.context(&self.market().own(), None, &BuyerSignals::default()),
            limit,
            after: after.map(str::to_owned),
        };
        match self.ask::<Found>(Question::Find, &find).await? {
            // A shop always has a first page: that there is none is its failure.
            None if after.is_none() => Err(Failure::Unreadable(Unreadable::Unexpected)),
            None => Ok(None),
            Some(mut found) => {
                self.price_in_others(&mut found.products).await?;
                Ok(Some(found))
            }
        }
    }

    /// Returns the products of these identifiers, as the shop states them, asked in groups of what it takes at once.
    /// Fails with [`Failure`] if the shop cannot be asked or gives no answer.
    pub async fn stated(&self, ids: &[String]) -> Result<Vec<Value>, Failure> {
        let mut products = Vec::new();
        for ids in ids.chunks(self.capabilities().most_ids) {
            let context = self.context(&self.market().own(), None, &BuyerSignals::default());
            let resolved = self.ask::<Resolved>(Question::Resolve, &Resolve { ids: ids.to_vec(), context }).await?;
            // A product that is unknown is missing in the answer: that there is no answer is a failure.
            products.extend(resolved.ok_or(Failure::Unreadable(Unreadable::Unexpected))?.products);
        }
        self.price_in_others(&mut products).await?;
        Ok(products)
    }

    fn statement(&self) -> Arc<Statement> {
        Arc::clone(&self.0.statement.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the abilities of carts, if the shop has any.
    pub(crate) fn cart_abilities(&self) -> Option<CartAbilities> {
        self.statement().backend.cart.clone()
    }

    /// Returns the current time, UTC.
    pub(crate) fn now(&self) -> Timestamp {
        (self.0.now)()
    }

    pub(crate) fn transport(&self) -> &dyn Transport {
        &*self.0.transport
    }

    pub(crate) fn locks(&self) -> &ResourceLocks {
        &self.0.locks
    }

    pub(crate) fn searches(&self) -> &Semaphore {
        &self.0.searches
    }

    /// Asks a question, and reads the answer; `None` if what was asked about does not exist.
    pub(crate) async fn ask<T: DeserializeOwned>(
        &self,
        question: Question,
        document: &impl Serialize,
    ) -> Result<Option<T>, Failure> {
        self.reply(question, document).await?.read(question)
    }

    /// Asks a question, and returns the reply unread.
    pub(crate) async fn reply(&self, question: Question, document: &impl Serialize) -> Result<Reply, Failure> {
        let body = serde_json::to_vec(document).map_err(|_| Failure::Unsendable("cannot be written as JSON"))?;
        self.0.transport.ask(question, body.into()).await
    }

    pub(crate) fn context(
        &self,
        presentation: &Presentation,
        country: Option<String>,
        buyer_signals: &BuyerSignals,
    ) -> Context {
        Context {
            language: presentation.language.clone(),
            currency: presentation.currency,
            country,
            buyer_ip: buyer_signals.ip.map(|ip| ip.to_string()),
            customer_group: presentation.customer_group.clone(),
        }
    }

    /// Returns the products of an answer that can be shown. Any other is left out with a line in the log.
    fn listing(&self, values: Vec<Value>, presentation: &Presentation) -> Listing {
        let market = self.market();
        let mut in_others: BTreeMap<Currency, Market> = BTreeMap::new();
        let mut ids = HashSet::new();
        let mut listing = Listing::default();
        for (position, mut value) in values.into_iter().take(MOST_PRODUCTS).enumerate() {
            if !tidy_answer(&mut value, &|url| address(url).is_some()).left_out.is_empty() {
                self.counters().note("addresses left out: not on https");
            }
            // A product in memory and its renderings take about three times its JSON.
            listing.weight += 3 * value.to_string().len();
            let id: String = value["id"].as_str().unwrap_or_default().chars().take(200).collect();
            let checked = |record: Record| {
                // A shop may state its prices in the currency of the buyer alone.
                let stated = record.variants.first().map(|variant| variant.price.currency);
                let market = match stated.filter(|stated| *stated != market.currency && market.trades_in(*stated)) {
                    Some(stated) => in_others.entry(stated).or_insert_with(|| market.priced_in(stated)),
                    None => &*market,
                };
                record.check(market).map_err(|fault| (fault.path, fault.reason))
            };
            match typed::<Record>(value).and_then(checked) {
                Ok(record) if ids.insert(record.id.clone()) => {
                    listing.products.push(Arc::new(record.present(presentation)));
                }
                Ok(_) => self.counters().note("products left out: twice in an answer"),
                Err((path, reason)) => {
                    self.counters().note("products left out: not of the contract's form");
                    tracing::warn!(position, id, path, reason, "invalid upstream product, left out");
                }
            }
        }
        listing
    }

    async fn page(&self, query: &Query, after: Option<&str>, limit: usize) -> Result<Served<Arc<Listing>>, Failure> {
        let Presentation { language, currency, country, .. } = &query.presentation;
        let criteria = &query.criteria;
        let prices = criteria.bounds.iter().flatten().map(|bound| PriceBounds {
            currency: bound.currency,
            min: bound.min,
            max: bound.max,
        });
        let find = Find {
            words: query.text.clone(),
            categories: criteria.categories.iter().map(CategoryPath::key).collect(),
            prices: prices.collect(),
            available: criteria.available,
            updated_since: None,
            context: self.context(&query.presentation, country.clone(), &BuyerSignals::default()),
            limit,
            after: after.map(str::to_owned),
        };
        let body = serde_json::to_vec(&find).map_err(|_| Failure::Unsendable("cannot be written as JSON"))?;
        let key = Key::of([&body[..], language.as_bytes(), currency.as_str().as_bytes()]);
        let (shop, presentation, positioned) = (self.clone(), query.presentation.clone(), after.is_some());
        let fill = move || async move {
            let reply = shop.0.transport.ask(Question::Find, body.into()).await?;
            if positioned && matches!(reply, Reply::Gone) {
                return Ok(Filled::Once(Arc::new(Listing { lost: true, ..Listing::default() })));
            }
            // A shop always has a first page: that there is none is its failure.
            let found = reply.read(Question::Find)?.ok_or(Failure::Unreadable(Unreadable::Unexpected))?;
            let Found { products, next, total } = found;
            let next = next.filter(|next| {
                let fits = !next.is_empty() && next.len() <= LONGEST_POSITION;
                if !fits {
                    shop.counters().note("positions that are empty or too long");
                }
                fits
            });
            Ok(Filled::Found(Arc::new(Listing { next, total, ..shop.listing(products, &presentation) })))
        };
        self.0.pages.get(&key, freshness(Operation::SearchCatalog), fill).await
    }

    async fn resolved(
        &self,
        question: Question,
        ids: &[&str],
        presentation: &Presentation,
    ) -> Result<Served<Arc<Listing>>, Failure> {
        let context = self.context(presentation, presentation.country.clone(), &BuyerSignals::default());
        let document = Resolve { ids: ids.iter().map(|id| (*id).to_owned()).collect(), context };
        let body = serde_json::to_vec(&document).map_err(|_| Failure::Unsendable("cannot be written as JSON"))?;
        let key = Key::of([question.path().as_bytes(), &body]);
        let (shop, presentation) = (self.clone(), presentation.clone());
        let operation = if question == Question::Open { Operation::GetProduct } else { Operation::LookupCatalog };
        let fill = move || async move {
            let reply = shop.0.transport.ask(question, body.into()).await?;
            let Resolved { products } = reply.read(question)?.unwrap_or_default();
            let listing = Arc::new(shop.listing(products, &presentation));
            Ok(if listing.products.is_empty() { Filled::Missing(listing) } else { Filled::Found(listing) })
        };
        self.0.resolved.get(&key, freshness(operation), fill).await
    }
}

impl ContractShop {
    /// Returns what an identifier names, with the age of the facts.
    fn named(&self, found: Vec<Match>, served: &Served<Arc<Listing>>) -> Named {
        match served.dated(self.now()) {
            Some(message) if served.stale == Some(Staleness::Failed) => Named::Stale(found, message),
            Some(message) if !found.is_empty() => Named::Dated(found, message),
            _ => Named::Found(found),
        }
    }

    /// Adds the prices in the other currencies of the market to products that state none, as the shop states them to a
    /// buyer who is shown the currency. Fails with [`Failure`] if the shop cannot be asked or gives no answer.
    async fn price_in_others(&self, products: &mut [Value]) -> Result<(), Failure> {
        let market = self.market();
        for currency in market.currencies.iter().copied().filter(|currency| *currency != market.currency) {
            let lacks = |product: &&Value| {
                let variants = product["variants"].as_array().into_iter().flatten();
                let states = |variant: &Value| {
                    let mut prices = variant["prices"].as_array().into_iter().flatten();
                    prices.any(|price| price["currency"] == currency.as_str())
                };
                product["deleted"] != true && variants.into_iter().any(|variant| !states(variant))
            };
            let lacking = products.iter().filter(lacks).filter_map(|product| product["id"].as_str());
            let lacking: Vec<String> = lacking.map(str::to_owned).collect();
            let country =
                market.countries.iter().find(|(_, own)| **own == currency).map(|(country, _)| country.clone());
            let context = self.context(&Presentation { currency, ..market.own() }, country, &BuyerSignals::default());
            let mut priced: HashMap<String, Value> = HashMap::new();
            for ids in lacking.chunks(self.capabilities().most_ids) {
                let question = Resolve { ids: ids.to_vec(), context: context.clone() };
                let answer = self.ask::<Resolved>(Question::Resolve, &question).await?;
                let answer = answer.ok_or(Failure::Unreadable(Unreadable::Unexpected))?;
                for mut product in answer.products {
                    for variant in product["variants"].as_array_mut().into_iter().flatten() {
                        if let Some(id) = variant["id"].as_str().map(str::to_owned)
                            && let Some(price) = price_in(currency, variant)
                        {
                            priced.insert(id, price);
                        }
                    }
                }
            }
            for variant in products.iter_mut().filter_map(|product| product["variants"].as_array_mut()).flatten() {
                let Some(price) = variant["id"].as_str().and_then(|id| priced.remove(id)) else { continue };
                let Some(variant) = variant.as_object_mut() else { continue };
                let prices = variant.entry("prices").or_insert_with(|| Value::Array(Vec::new()));
                if let Some(prices) = prices.as_array_mut() {
                    prices.push(price);
                }
            }
        }
        Ok(())
    }

    /// Asks what an identifier names now, whatever was kept of it. Fails with [`Failure`] if the shop cannot be asked or
    /// gives no answer.
    pub(crate) async fn opened_anew(&self, id: &str, presentation: &Presentation) -> Result<Named, Failure> {
        let context = self.context(presentation, presentation.country.clone(), &BuyerSignals::default());
        let question = Resolve { ids: vec![id.to_owned()], context };
        let Resolved { products } = self.ask(Question::Open, &question).await?.unwrap_or_default();
        Ok(Named::Found(matches(&self.listing(products, presentation), id)))
    }
}

/// Returns the price of a variant in a currency, as an entry of `prices`.
pub(crate) fn price_in(currency: Currency, variant: &Value) -> Option<Value> {
    let is_in = |price: &Value| price["currency"] == currency.as_str();
    if is_in(&variant["price"]) {
        let list_amount =
            Some(&variant["list_price"]).filter(|price| is_in(price)).map(|price| price["amount"].clone());
        let mut price = json!({ "amount": variant["price"]["amount"], "currency": currency });
        if let Some(list_amount) = list_amount {
            price["list_amount"] = list_amount;
        }
        return Some(price);
    }
    variant["prices"].as_array()?.iter().find(|price| is_in(price)).cloned()
}

async fn asked(transport: &dyn Transport) -> Result<Bytes, Failure> {
    match transport.ask(Question::Backend, Bytes::from_static(b"null")).await? {
        Reply::Answer(document) => Ok(document),
        Reply::Gone => Err(Failure::Unreadable(ucp_net::Unreadable::Unexpected)),
        refused @ (Reply::Refused(_) | Reply::Unsent(_) | Reply::Halted(_)) => {
            refused.read::<Value>(Question::Backend).and(Err(Failure::Unreadable(ucp_net::Unreadable::Unexpected)))
        }
    }
}

fn freshness(operation: Operation) -> Freshness {
    operation.row().freshness.unwrap_or(Freshness::NONE)
}

/// Returns the part of a product that an identifier names, if it names one.
fn target(product: &Product, id: &str) -> Option<Target> {
    let variants = || product.variants.iter().enumerate();
    if let Some((position, _)) = variants().find(|(_, variant)| variant.id == id) {
        return Some(Target::Variant(position));
    }
    if product.id == id {
        return Some(Target::Product);
    }
    if product.handle.as_deref() == Some(id) {
        return Some(Target::ProductHandle);
    }
    let alias = |variant: &ucp_core::catalog::product::Variant| {
        variant.sku.as_deref() == Some(id)
            || variant.handle.as_deref() == Some(id)
            || variant.barcodes.iter().any(|barcode| barcode.value == id)
    };
    variants().find(|(_, variant)| alias(variant)).map(|(position, _)| Target::VariantAlias(position))
}

fn matches(listing: &Listing, id: &str) -> Vec<Match> {
    let found = listing.products.iter().filter_map(|product| Some((product, target(product, id)?)));
    found.map(|(product, target)| Match { product: Arc::clone(product), target }).collect()
}

fn lost() -> PortError {
    Refusal::new(Code::InvalidCursor, "The cursor has expired at the shop.")
        .at("$.pagination.cursor")
        .accepting("no cursor, for the first page")
        .into()
}

#[async_trait]
impl Catalog for ContractShop {
    fn capabilities(&self) -> CatalogCapabilities {
        let most = self.statement().backend.catalog.most_ids.map_or(USUAL_IDS, usize::from);
        CatalogCapabilities { most_ids: most.clamp(10, ucp_core::ports::MAX_IDS), price_filter: Filtering::Local }
    }

    fn market(&self) -> Arc<Market> {
        Arc::clone(&self.statement().market)
    }

    async fn find(&self, query: &Query, _: &BuyerSignals) -> Result<Page, PortError> {
        let mut page = Page { products: Vec::new(), next: None, total: None, messages: Vec::new() };
        if query.criteria.bounds.as_ref().is_some_and(Vec::is_empty) {
            return Ok(page);
        }
        let native = self.statement().backend.catalog.filters;
        let filtered = query.criteria != Criteria::default();
        // Filters of the shop are believed only as far as they leave out.
        let passes = |product: &Product| {
            !filtered || product.variants.iter().any(|variant| query.criteria.admit(product, variant))
        };
        let mut position = match &query.after {
            Some(bytes) => Position::read(bytes).ok_or_else(lost)?,
            None => Position::first(query.limit, filtered && !native),
        };
        let mut slowest = Duration::ZERO;
        for number in 0..MOST_PAGES {
            let asked = Instant::now();
            let served = match self.page(query, position.after.as_deref(), position.size).await {
                Ok(served) => served,
                // The products found so far are an answer; the next page starts where this one stopped.
                Err(failure) if !page.products.is_empty() => {
                    tracing::warn!(%failure, "page shorter than requested");
                    return Ok(page);
                }
                Err(failure) => return Err(failure.into()),
            };
            slowest = slowest.max(asked.elapsed());
            let listing = &*served.value;
            if listing.lost {
                return Err(lost());
            }
            if page.messages.is_empty() {
                page.messages.extend(served.dated(self.now()));
            }
            if number == 0 && (native || !filtered) {
                page.total = listing.total;
            }
            let mut is_full = false;
            for product in listing.products.iter().filter(|product| passes(product)) {
                if position.has_given(&product.id) || page.products.iter().any(|found| found.id == product.id) {
                    continue;
                }
                is_full = page.products.len() == query.limit;
                if is_full {
                    break;
                }
                position.give(&product.id);
                page.products.push(Arc::clone(product));
            }
            if is_full {
                page.next = Some(position.write());
                break;
            }
            // A position that does not advance would be followed forever.
            let Some(next) = listing.next.clone().filter(|next| position.after.as_ref() != Some(next)) else {
                page.next = None;
                break;
            };
            position = position.page_after(next);
            page.next = Some(position.write());
            // Whoever has waited this long gets what there is rather than a refusal.
            let is_late = || deadline::current().is_some_and(|deadline| Instant::now() + slowest > deadline);
            if page.products.len() >= query.limit || is_late() {
                break;
            }
        }
        Ok(page)
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        _: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        let slices: Vec<_> = ids.chunks(self.capabilities().most_ids).collect();
        let asked = slices.iter().map(|slice| self.resolved(Question::Resolve, slice, presentation));
        let answers = join_all(asked).await;
        // A shop that answers nothing at all has not said that there is nothing.
        if let Some(failure) = answers.first().and_then(|first| first.as_ref().err())
            && answers.iter().all(Result::is_err)
        {
            return Err(failure.into());
        }
        let mut named = Vec::with_capacity(ids.len());
        for (slice, answer) in slices.into_iter().zip(answers) {
            match answer {
                Ok(served) => {
                    let found = slice.iter().map(|id| matches(&served.value, id));
                    named.extend(found.map(|found| self.named(found, &served)));
                }
                Err(failure) => {
                    tracing::warn!(%failure, ids = slice.len(), "some identifiers could not be checked upstream");
                    named.extend(slice.iter().map(|_| Named::Unchecked));
                }
            }
        }
        Ok(named)
    }

    async fn open(&self, id: &str, presentation: &Presentation, _: &BuyerSignals) -> Result<Named, PortError> {
        let served = self.resolved(Question::Open, &[id], presentation).await?;
        Ok(self.named(matches(&served.value, id), &served))
    }
}
