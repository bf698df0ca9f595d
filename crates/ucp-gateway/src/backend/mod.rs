//! Backends of the gateway: the embedded shop, or a remote commerce API.
//!
//! | module | the backend |
//! | :-- | :-- |
//! | [`embedded`] | the shop in the data directory |
//! | [`shopify`] | a shop behind Shopify's Storefront GraphQL API |
//! | [`ucp`] | a shop that speaks UCP itself |
//!
//! A backend is one module here and one line in [`open`]; its capabilities follow from its ports. Every backend has a
//! data directory, which keeps the answers to idempotency keys, orders, and the queue of webhook events.

pub(crate) mod embedded;
mod shopify;
mod ucp;

use std::{error::Error, sync::Arc, time::Duration};

use axum::Router;
use tokio::task::JoinSet;
use ucp_bridge::Bridge;
use ucp_core::{
    port::{self, Catalog, store::Store},
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
use ucp_trust::limit::BodyLimit;

use crate::{
    clock,
    config::{BackendKind, Settings, Upstream, is_exposed},
};

/// Content of a data directory.
#[derive(Clone, Debug)]
pub(crate) enum DataDirectory {
    /// The embedded shop.
    Embedded(Shop),
    /// Records of the gateway in front of a remote shop.
    Beside(SqliteStore),
}

impl DataDirectory {
    /// Opens the data directory, or creates it. Blocks.
    pub(crate) fn open(settings: &Settings) -> Result<Self, StoreError> {
        match &settings.upstream {
            None => embedded::open_shop(&settings.sections.data).map(Self::Embedded),
            Some(_) => SqliteStore::open_or_create(&settings.sections.data.dir).map(Self::Beside),
        }
    }

    /// Returns the store.
    pub(crate) fn sqlite(&self) -> &SqliteStore {
        match self {
            Self::Embedded(shop) => shop.database().store(),
            Self::Beside(store) => store,
        }
    }
}

/// A backend that is ready for calls.
pub(crate) struct Opened {
    /// Display name of the shop.
    pub(crate) name: String,
    /// Ports of the backend.
    pub(crate) shop: port::Shop,
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
    /// Additional HTTP routes besides the operations.
    pub(crate) router: Router,
    /// Background tasks of the backend, which end with the shop.
    pub(crate) tasks: JoinSet<()>,
}

/// Opens the configured backend. A remote shop is called for its market or its UCP profile.
pub(crate) async fn open(
    data: &DataDirectory,
    store: &Arc<dyn Store>,
    settings: &Settings,
    base: &str,
    signing_key: &Arc<CurrentKey>,
    bodies: &BodyLimit,
) -> Result<Opened, Box<dyn Error>> {
    match (data, &settings.upstream) {
        (DataDirectory::Embedded(shop), _) => embedded::open(shop, settings, base),
        (DataDirectory::Beside(_), Some(upstream)) => {
            if is_exposed(&upstream.url) {
                tracing::warn!(
                    host = upstream.url.host_str(),
                    "the shop is called without encryption: carts and the access token can be read on the way; \
                     use an https address, or a network that only the gateway and the shop are in"
                );
            }
            let place = Place { settings, upstream, base, store, signing_key, bodies };
            match settings.sections.upstream.backend {
                BackendKind::Shopify => shopify::open(&place).await,
                BackendKind::Ucp => ucp::open(&place).await,
                BackendKind::Embedded => Err(NO_SHOP.into()),
            }
        }
        (DataDirectory::Beside(_), None) => Err(NO_SHOP.into()),
    }
}

const NO_SHOP: &str = "there is no shop to serve";

impl Opened {
    /// Combines the catalog of a remote shop with a sales service that has the shop price the carts. Buyers pay on a
    /// page of the shop.
    fn of_remote_carts<S: Catalog + RemoteCart + 'static>(place: &Place<'_>, shop: S, counters: Arc<Counters>) -> Self {
        let shop = Arc::new(shop);
        let sales = SalesService {
            catalog: Arc::clone(&shop) as _,
            ledger: Arc::clone(place.store) as _,
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

/// Returns the connection options of an upstream.
fn reached(name: &str, place: &Place<'_>) -> ucp_net::Options {
    let usual = ucp_net::Options::new(name, place.upstream.url.clone());
    let upstream = &place.settings.sections.upstream;
    let limits =
        |total: Duration, usual: Limits| Limits { answer: usual.answer.min(total), idle: usual.idle.min(total), total };
    ucp_net::Options {
        // The address is the operator's, who is warned at the start.
        plain_http: true,
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

/// Returns a monotonic clock.
fn monotonic() -> ucp_net::Clock {
    Arc::new(tokio::time::Instant::now)
}

/// Returns the source of randomness for the backoff between attempts.
fn chance() -> ucp_net::Random {
    Arc::new(|| {
        let [a, b, c, d, ..] = uuid::Uuid::new_v4().into_bytes();
        u32::from_be_bytes([a, b, c, d])
    })
}

/// Environment in which a remote backend is opened.
struct Place<'a> {
    settings: &'a Settings,
    upstream: &'a Upstream,
    /// Base URL of the gateway, without trailing slash.
    base: &'a str,
    /// Store of the gateway's own records.
    store: &'a Arc<dyn Store>,
    /// Key that the gateway signs with.
    signing_key: &'a Arc<CurrentKey>,
    /// Limit of the memory of request bodies.
    bodies: &'a BodyLimit,
}
