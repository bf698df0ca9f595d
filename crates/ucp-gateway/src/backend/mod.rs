//! What the gateway stands in front of: the embedded shop, or a commerce API elsewhere.
//!
//! | module | the backend |
//! | :-- | :-- |
//! | [`embedded`] | the shop in the data directory |
//! | [`shopify`] | a shop behind Shopify's Storefront GraphQL API |
//! | [`ucp`] | a shop that speaks UCP itself |
//!
//! A backend is one module here and one line in [`open`]; what it can do follows from its ports. Whatever it is, there
//! is a data directory: answers under idempotency keys, orders, and what platforms are told are kept there.

pub(crate) mod embedded;
mod shopify;
mod ucp;

use std::{error::Error, sync::Arc, time::Duration};

use axum::Router;
use tokio::task::JoinSet;
use ucp_bridge::Bridge;
use ucp_core::{
    port::{self, Catalog},
    purchase::{payment::Declaration, remote_cart::RemoteCart, sales_service::SalesService, terms::Terms},
};
use ucp_net::{
    self, Counters,
    bulkhead::ConcurrencyLimit,
    client::{Limits, Timeouts},
    rate::Rate,
};
use ucp_service::signing::CurrentKey;
use ucp_shop::Shop;
use ucp_sqlite::{SqliteStore, StoreError};

use crate::{
    clock,
    config::{BackendKind, Settings, Upstream},
};

/// What is in the data directory.
#[derive(Clone, Debug)]
pub(crate) enum Store {
    /// The shop that is served.
    Embedded(Shop),
    /// What is kept beside a shop that is elsewhere.
    Beside(SqliteStore),
}

impl Store {
    /// Opens the data directory, or makes it. Blocks.
    pub(crate) fn open(settings: &Settings) -> Result<Self, StoreError> {
        match &settings.upstream {
            None => embedded::open_shop(&settings.sections.data).map(Self::Embedded),
            Some(_) => SqliteStore::open_or_create(&settings.sections.data.dir).map(Self::Beside),
        }
    }

    /// The SQLite store.
    pub(crate) fn sqlite(&self) -> &SqliteStore {
        match self {
            Self::Embedded(shop) => shop.database().store(),
            Self::Beside(store) => store,
        }
    }
}

/// A backend that is ready to be asked.
pub(crate) struct Opened {
    /// The name of the shop, for people.
    pub(crate) name: String,
    /// What is asked.
    pub(crate) shop: port::Shop,
    /// How buyers can pay.
    pub(crate) handlers: Arc<[Declaration]>,
    /// Place of sale, where purchases are decided by the gateway.
    pub(crate) sales: Option<SalesService>,
    /// True if buyers go on at pages of the gateway.
    pub(crate) pages: bool,
    /// The bridge to a shop that speaks UCP.
    pub(crate) bridge: Option<Bridge>,
    /// What happens between the gateway and a shop that is elsewhere.
    pub(crate) counters: Option<Arc<Counters>>,
    /// Routes beside the operations.
    pub(crate) router: Router,
    /// Background tasks of the backend, which end with the shop.
    pub(crate) tasks: JoinSet<()>,
}

/// Opens the backend of the settings, which may ask it who it is.
pub(crate) async fn open(
    store: &Store,
    settings: &Settings,
    base: &str,
    signing_key: &Arc<CurrentKey>,
) -> Result<Opened, Box<dyn Error>> {
    match (store, &settings.upstream) {
        (Store::Embedded(shop), _) => embedded::open(shop, settings, base),
        (Store::Beside(sqlite), Some(upstream)) => {
            let place = Place { settings, upstream, base, sqlite, signing_key };
            match settings.sections.upstream.backend {
                BackendKind::Shopify => shopify::open(&place).await,
                BackendKind::Ucp => ucp::open(&place).await,
                BackendKind::Embedded => Err(NO_SHOP.into()),
            }
        }
        (Store::Beside(_), None) => Err(NO_SHOP.into()),
    }
}

const NO_SHOP: &str = "there is no shop to serve";

impl Opened {
    /// A shop behind another API that gives facts, and a sales service at which it prices what is bought. Buyers pay on
    /// its page.
    fn of_remote_carts<S: Catalog + RemoteCart + 'static>(place: &Place<'_>, shop: S, counters: Arc<Counters>) -> Self {
        let shop = Arc::new(shop);
        let sales = SalesService {
            catalog: Arc::clone(&shop) as _,
            ledger: Arc::new(place.sqlite.clone()),
            terms: Arc::new(Terms::default()),
            handlers: Arc::new([]),
            remote_carts: Some(Arc::clone(&shop) as _),
            pages: place.base.to_owned(),
            clock: Arc::new(clock::timestamp),
            random: Arc::new(|| uuid::Uuid::new_v4().into_bytes()),
        };
        Self {
            name: shop.market().name.clone(),
            shop: port::Shop::Facts { catalog: shop, sales: Arc::new(sales.clone()) },
            handlers: Arc::new([]),
            sales: Some(sales),
            pages: false,
            bridge: None,
            counters: Some(counters),
            router: Router::new(),
            tasks: JoinSet::new(),
        }
    }
}

/// How an upstream is reached.
fn reached(name: &str, place: &Place<'_>) -> ucp_net::Options {
    let usual = ucp_net::Options::new(name, place.upstream.url.clone());
    let upstream = &place.settings.sections.upstream;
    let limits =
        |total: Duration, usual: Limits| Limits { answer: usual.answer.min(total), idle: usual.idle.min(total), total };
    ucp_net::Options {
        roots: place.settings.extra_roots.clone(),
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

/// A clock that nobody sets.
fn monotonic() -> ucp_net::Clock {
    Arc::new(tokio::time::Instant::now)
}

/// Chance, for pauses between attempts.
fn chance() -> ucp_net::Random {
    Arc::new(|| {
        let [a, b, c, d, ..] = uuid::Uuid::new_v4().into_bytes();
        u32::from_be_bytes([a, b, c, d])
    })
}

/// Where a backend is opened that is elsewhere.
struct Place<'a> {
    settings: &'a Settings,
    upstream: &'a Upstream,
    /// The address of the gateway, without trailing slash.
    base: &'a str,
    /// What is kept beside it.
    sqlite: &'a SqliteStore,
    /// What the gateway signs with.
    signing_key: &'a Arc<CurrentKey>,
}
