//! Backends of the gateway: the embedded shop, or a remote commerce API.
//!
//! | module | the backend |
//! | :-- | :-- |
//! | [`embedded`] | the shop in the data directory |
//! | `database` | the database that several gateways share |
//! | `replica` | the embedded shop whose products are in that database |
//! | `products` | products that are moved between that database and a directory |
//! | `shopify` | a shop behind Shopify's Storefront GraphQL API |
//! | `http` | a shop that implements the backend contract, in any language |
//! | [`mapped`] | a shop behind any REST or GraphQL API, by a mapping file |
//! | `ucp` | a shop that speaks UCP itself |
//! | `last_known` | what a remote shop stated last about itself, for a start while it is down |
//!
//! [`synchronised`] puts a copy of the catalog in front of the embedded shop, `http` and `mapped`.
//! `counted` counts for the metrics what payment handlers are asked.
//! `inbox` is the endpoint for notices of a shop about orders.
//!
//! A backend is one module here and one line in `open`; its capabilities follow from its ports. Every backend has a
//! data directory, which keeps the answers to idempotency keys, orders, and the queue of webhook events.

mod counted;
mod database;
pub mod embedded;
mod http;
mod inbox;
mod last_known;
pub mod mapped;
pub mod products;
mod replica;
mod shopify;
pub mod synchronised;
pub(crate) mod ucp;

use std::{
    error::Error,
    fs,
    sync::{Arc, OnceLock},
    time::Duration,
};

use axum::Router;
use bytes::Bytes;
use jiff::SignedDuration;
use tokio::task::JoinSet;
use ucp_bridge::Bridge;
use ucp_config::{BackendKind, Data, Settings, Upstream, is_exposed};
use ucp_contract::Transport;
use ucp_core::{
    catalog::cursor::CursorSecret,
    ports::{self, Catalog, OrderInbox, buyers::Retention, remote_cart::RemoteCart, store::Store, transfer::CopyMark},
    pricing::terms::Terms,
    purchase::payment::Declaration,
    sales::SalesService,
};
use ucp_net::{
    self, Counters,
    bulkhead::ConcurrencyLimit,
    client::{Limits, Timeouts},
    rate::Rate,
};
use ucp_service::signing::CurrentKey;
use ucp_shop::{Database as Products, EmbeddedShop, Opening};
use ucp_sqlite::SqliteStore;
use ucp_sync::Synchroniser;
use ucp_trust::limit::BodyLimit;
use url::Url;

use self::last_known::LastKnown;
pub use self::{
    counted::{Counted, PaymentCounts},
    database::{Database, Import},
};
use crate::{clock, files::Files, whereabouts::Whereabouts};

/// Content of a data directory.
#[derive(Clone, Debug)]
pub struct DataDirectory {
    local: Local,
    /// Database that gateways share, if they do.
    pub database: Option<Database>,
}

#[derive(Clone, Debug)]
enum Local {
    /// The embedded shop.
    Embedded(EmbeddedShop),
    /// Records of the gateway in front of a remote shop, with the copy of its catalog once that is open.
    Beside(SqliteStore, Arc<OnceLock<EmbeddedShop>>),
}

impl DataDirectory {
    /// Opens what a shop has in its data directory, or creates it. Blocks.
    pub fn open(settings: &Settings, files: &Files) -> Result<Self, Box<dyn Error>> {
        let data = &settings.sections.data;
        let file = files.open(data)?;
        if settings.database.is_none() {
            check_copied(&file.of(settings.mount.id.clone())?)?;
        }
        fs::create_dir_all(settings.dir())?;
        let database =
            settings.database.as_ref().map(|options| Database::open(options, settings, files)).transpose()?;
        Whereabouts::note(settings)?;
        let local = match (&settings.upstream, database.as_ref().and_then(Database::replica)) {
            (None, Some(replica)) => Local::Embedded(replica.shop().clone()),
            (None, None) => embedded::open_shop(&file, settings).map(Local::Embedded)?,
            (Some(_), _) => Local::Beside(file.of(settings.mount.id.clone())?, Arc::default()),
        };
        let opened = Self { local, database };
        opened.sqlite().retain(retention(data));
        if let Some(database) = &opened.database {
            database.store().retain(retention(data));
        }
        Ok(opened)
    }

    /// Returns the store in the directory.
    pub(crate) fn sqlite(&self) -> &SqliteStore {
        match &self.local {
            Local::Embedded(shop) => shop.database().store(),
            Local::Beside(store, _) => store,
        }
    }

    /// Returns the embedded shop, if there is one.
    fn embedded(&self) -> Option<&EmbeddedShop> {
        match &self.local {
            Local::Embedded(shop) => Some(shop),
            Local::Beside(..) => None,
        }
    }

    /// Returns the place of the copy of a remote shop's catalog, with the store that it is made in.
    fn copy(&self) -> Option<(&SqliteStore, &OnceLock<EmbeddedShop>)> {
        match &self.local {
            Local::Embedded(_) => None,
            Local::Beside(store, copy) => Some((store, copy)),
        }
    }

    /// Returns the products: those of the embedded shop, or the copy of a remote shop's catalog.
    pub fn products(&self) -> Option<&EmbeddedShop> {
        match &self.local {
            Local::Embedded(shop) => Some(shop),
            Local::Beside(_, copy) => copy.get(),
        }
    }

    /// Reads the terms of sale of the embedded shop as they are stored now; `None` if there is none.
    pub(crate) async fn terms(&self) -> Result<Option<Terms>, Box<dyn Error>> {
        match (self.embedded(), self.database.as_ref().filter(|database| database.replica().is_some())) {
            (None, _) => Ok(None),
            (Some(_), Some(database)) => match database.store().catalog().await? {
                Some(catalog) => Ok(Some(serde_json::from_str(&catalog.shop.terms)?)),
                None => Ok(None),
            },
            (Some(shop), None) => Ok(Some(shop.database().stored_terms()?)),
        }
    }

    /// Returns the store of carts, checkouts and orders.
    pub fn store(&self) -> Arc<dyn Store> {
        match &self.database {
            Some(database) => Arc::new(database.store().clone()),
            None => Arc::new(self.sqlite().clone()),
        }
    }

    /// Returns the key that cursors are sealed with.
    pub(crate) fn cursor_secret(&self) -> &CursorSecret {
        match &self.database {
            Some(database) => database.store().cursor_secret(),
            None => self.sqlite().cursor_secret(),
        }
    }
}

/// Checks that a shop in a data directory is not one of which the copy is not finished.
fn check_copied(store: &SqliteStore) -> Result<(), Box<dyn Error>> {
    match store.copied()? {
        Some(CopyMark { origin, is_finished: false }) => Err(format!(
            "the shop `{}` is being copied to {} from {origin}, and the copy is not finished: run `ucp-gateway data copy` again, \
             which goes on with it, or serve the shop from where it was",
            store.shop(),
            store.path().display()
        )
        .into()),
        _ => Ok(()),
    }
}

/// Returns how long what names a buyer is kept.
pub fn retention(data: &Data) -> Retention {
    let hours = |hours: usize| SignedDuration::from_hours(i64::try_from(hours).unwrap_or(i64::MAX / 3_600));
    Retention {
        unfinished: hours(data.keep_unfinished_hours.count()),
        completed: hours(data.keep_completed_hours.count()),
        addresses: data.keep_addresses_days.map(|days| hours(days.count() * 24)),
    }
}

/// A backend that is ready for calls.
pub(crate) struct Opened {
    /// Display name of the shop.
    pub(crate) name: String,
    /// Ports of the backend.
    pub(crate) shop: ports::ShopPort,
    /// Payment handlers that buyers can use.
    pub(crate) handlers: Arc<[Declaration]>,
    /// Sales service, if the gateway itself carries out purchases.
    pub(crate) sales: Option<SalesService>,
    /// `true` if buyers continue on pages of the gateway.
    pub(crate) pages: bool,
    /// Bridge to a shop that speaks UCP.
    pub(crate) bridge: Option<Bridge>,
    /// Counters of the calls to a remote shop; `None` for the embedded shop.
    pub(crate) counters: Option<Arc<Counters>>,
    /// Numbers of the results of the payment handlers.
    pub(crate) payments: Arc<PaymentCounts>,
    /// Statement of a remote shop about itself; `None` for the embedded shop.
    pub(crate) statement: Option<Statement>,
    /// Synchronization of the copy of the catalog, if there is one.
    pub(crate) synchroniser: Option<Synchroniser>,
    /// Additional HTTP routes besides the operations.
    pub(crate) router: Router,
    /// Background tasks of the backend, which end with the shop.
    pub(crate) tasks: JoinSet<()>,
}

impl Opened {
    /// Creates a backend without what only some have.
    fn new(name: String, shop: ports::ShopPort, handlers: Arc<[Declaration]>) -> Self {
        Self {
            name,
            shop,
            handlers,
            sales: None,
            pages: false,
            bridge: None,
            counters: None,
            payments: Arc::default(),
            statement: None,
            synchroniser: None,
            router: Router::new(),
            tasks: JoinSet::new(),
        }
    }
}

/// Returns what a remote shop has stated about itself since it was opened, in a form from which the shop can be opened
/// again; `None` if it was opened while it was down.
pub(crate) type Statement = Arc<dyn Fn() -> Option<Bytes> + Send + Sync>;

/// Failure to open a remote shop that is down or busy.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(crate) struct Down(Box<dyn Error + Send + Sync>);

/// Returns the failure to open a remote shop, as one that may pass if `passing` is `true`.
fn down(passing: bool, error: impl Error + Send + Sync + 'static) -> Box<dyn Error> {
    if passing { Box::new(Down(Box::new(error))) } else { Box::new(error) }
}

/// Opens the configured backend. A remote shop is called for its market or its UCP profile; if it is down, what it
/// stated last is used, unless `live` is `true`. Fails with [`Down`] if the shop may be opened later; another error if
/// the configuration must be changed first.
pub(crate) async fn open(
    data: &DataDirectory,
    store: &Arc<dyn Store>,
    settings: &Settings,
    base: &str,
    signing_key: &Arc<CurrentKey>,
    bodies: &BodyLimit,
    live: bool,
) -> Result<Opened, Box<dyn Error>> {
    match (data.embedded(), &settings.upstream) {
        (Some(shop), _) => {
            let catalog: Arc<dyn Catalog> = match data.database.as_ref().and_then(Database::replica) {
                Some(replica) => Arc::new(replica.clone()),
                None => Arc::new(shop.clone()),
            };
            let terms = data.terms().await?.unwrap_or_default();
            embedded::open(shop, catalog, Arc::clone(store) as _, terms, settings, base, bodies)
        }
        (None, Some(upstream)) => {
            if is_exposed(&upstream.url) {
                tracing::warn!(
                    host = upstream.url.host_str(),
                    "connection to the upstream is not encrypted: carts and the access token can be read on the network; use https, or a trusted network"
                );
            }
            let kind = settings.sections.upstream.backend;
            let last_known = LastKnown::new(&settings.dir(), kind, upstream);
            let last = if live { None } else { last_known.read() };
            let place = RemotePlace { settings, upstream, base, data, store, signing_key, bodies, last };
            let mut opened = match kind {
                BackendKind::Shopify => shopify::open(&place).await,
                BackendKind::Http => http::open(&place).await,
                BackendKind::Mapped => mapped::open(&place).await,
                BackendKind::Ucp => ucp::open(&place).await,
                BackendKind::Embedded => Err(NO_SHOP.into()),
            }?;
            if let Some(statement) = opened.statement.clone() {
                opened.tasks.spawn(keep(statement, last_known));
            }
            Ok(opened)
        }
        (None, None) => Err(NO_SHOP.into()),
    }
}

/// Opens the synchronization of the catalog for a command: without a search index, which a gateway makes.
///
/// # Errors
/// An error if no catalog is copied, the store cannot be opened, or the shop does not say what it is.
pub async fn synchroniser(settings: &Settings) -> Result<Synchroniser, Box<dyn Error>> {
    let Some(copy) = &settings.catalog else {
        return Err("the configuration copies no catalog; see `catalog.source`".into());
    };
    let store = SqliteStore::open_or_create(&settings.sections.data.dir)?.of(settings.mount.id.clone())?;
    fs::create_dir_all(settings.dir())?;
    let Some(upstream) = &settings.upstream else {
        let market = synchronised::market(&settings.sections.catalog);
        let database = Products::of_or_create(store, || Opening::of(market))?;
        return synchronised::synchroniser(database, settings, copy, None);
    };
    let transport: Arc<dyn Transport> = match settings.sections.upstream.backend {
        BackendKind::Mapped => mapped::transport(settings, upstream)?,
        _ => Arc::new(http::transport(settings, upstream)?),
    };
    let shop = http::connect(settings, transport, None).await?;
    let database = Products::of_market(store, &shop.market())?;
    synchronised::synchroniser(database, settings, copy, Some(&shop))
}

/// Keeps what the shop states about itself, whenever that has changed.
async fn keep(statement: Statement, last_known: LastKnown) {
    loop {
        if let Some(document) = statement() {
            last_known.keep(&document);
        }
        tokio::time::sleep(KEEP_INTERVAL).await;
    }
}

/// Interval at which a changed statement of a remote shop is kept.
const KEEP_INTERVAL: Duration = Duration::from_secs(60);

const NO_SHOP: &str = "there is no shop to serve";

impl Opened {
    /// Combines the catalog of a remote shop with a sales service that has the shop price the carts. Buyers pay on a
    /// page of the shop, and `order_inbox` is how the gateway hears of their orders; or the shop takes orders and payments
    /// of these handlers from the gateway.
    fn of_remote_carts<S: Catalog + RemoteCart + 'static>(
        place: &RemotePlace<'_>,
        shop: S,
        shop_handlers: Vec<Declaration>,
        order_inbox: Option<Arc<dyn OrderInbox>>,
        counters: Arc<Counters>,
        statement: Statement,
    ) -> Self {
        let shop = Arc::new(shop);
        let sales = SalesService {
            catalog: Arc::clone(&shop) as _,
            ledger: Arc::clone(place.store) as _,
            terms: Arc::new(Terms::default()),
            handlers: Arc::new([]),
            shop_handlers: shop_handlers.into(),
            remote_carts: Some(Arc::clone(&shop) as _),
            order_inbox: order_inbox.clone(),
            pages: place.base.to_owned(),
            clock: Arc::new(clock::timestamp),
            random: Arc::new(|| uuid::Uuid::new_v4().into_bytes()),
        };
        let notices = order_inbox.filter(|inbox| inbox.ways().tells);
        let notices = notices.map(|inbox| inbox::router(inbox, sales.clone(), place));
        let (name, handlers) = (shop.market().name.clone(), sales.declarations());
        let shop = ports::ShopPort::Facts { catalog: shop, sales: Arc::new(sales.clone()) };
        let (sales, counters, statement) = (Some(sales), Some(counters), Some(statement));
        Self { sales, counters, statement, router: notices.unwrap_or_default(), ..Self::new(name, shop, handlers) }
    }
}

/// Returns the connection options of an upstream.
fn reached(name: &str, settings: &Settings, url: &Url) -> ucp_net::Options {
    let usual = ucp_net::Options::new(name, url.clone());
    let upstream = &settings.sections.upstream;
    let limits =
        |total: Duration, usual: Limits| Limits { answer: usual.answer.min(total), idle: usual.idle.min(total), total };
    ucp_net::Options {
        // The address is the operator's, who is warned at the start.
        plain_http: true,
        roots: settings.extra_roots.clone(),
        identity: settings.upstream.as_ref().and_then(|upstream| upstream.identity.clone()),
        timeouts: Timeouts {
            connect: upstream.connect_timeout_ms.time(),
            read: limits(upstream.read_timeout_ms.time(), usual.timeouts.read),
            write: limits(upstream.write_timeout_ms.time(), usual.timeouts.write),
            conclude: limits(upstream.complete_timeout_ms.time(), usual.timeouts.conclude),
        },
        reads: ConcurrencyLimit::of(upstream.reads_in_flight.count()),
        writes: ConcurrencyLimit::of(upstream.writes_in_flight.count()),
        rate: upstream.per_second.map(|rate| Rate {
            per_second: rate.positive(),
            burst: rate.positive(),
            max_wait: Duration::from_millis(100),
        }),
        ..usual
    }
}

/// Returns a monotonic clock.
pub fn monotonic() -> ucp_net::Clock {
    Arc::new(tokio::time::Instant::now)
}

/// Returns the source of randomness for the backoff between attempts.
pub fn chance() -> ucp_net::Random {
    Arc::new(clock::jitter)
}

/// Environment in which a remote backend is opened.
struct RemotePlace<'a> {
    settings: &'a Settings,
    upstream: &'a Upstream,
    /// Base URL of the gateway, without trailing slash.
    base: &'a str,
    /// Content of the data directory.
    data: &'a DataDirectory,
    /// Store of the gateway's own records.
    store: &'a Arc<dyn Store>,
    /// Key that the gateway signs with.
    signing_key: &'a Arc<CurrentKey>,
    /// Limit of the memory of request bodies.
    bodies: &'a BodyLimit,
    /// Last statement of the shop about itself, if it may be opened while it is down.
    last: Option<Bytes>,
}
