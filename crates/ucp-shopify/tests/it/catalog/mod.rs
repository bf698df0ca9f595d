//! The catalog in front of a shop that says whatever a test wants: what is malformed, partial, throttled, late or not
//! true.
//!
//! The clock of tokio is paused.

mod bot;
mod codes;
mod goods;
mod paging;
mod refusals;
mod stub;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;
use ucp_core::{
    Refusal,
    browse::{detail::detail, lookup::lookup, search::search},
    catalog::{
        Context,
        detail::{self, Detail},
        filter::Filters,
        lookup::{self, Listing, Resolved},
        search::{self, Found},
    },
    outcome::Outcome,
    ports::caller::BuyerSignals,
};
use ucp_shopify::{SetupError, Storefront, Token, catalog::Options};
use ucp_testkit::shelf::PlainCursors;

use self::stub::Stub;

/// A shop behind a stub, and a clock that can be put forward.
struct TestShop {
    storefront: Storefront,
    ahead: Arc<AtomicU64>,
}

impl TestShop {
    async fn behind(stub: &Stub) -> Self {
        Self::with(stub, Token::None, "2026-04").await.expect("the shop says where it sells")
    }

    async fn with(stub: &Stub, token: Token, version: &str) -> Result<Self, SetupError> {
        Self::connect(stub, |options| {
            options.token = token;
            version.clone_into(&mut options.version);
        })
        .await
    }

    async fn connect(stub: &Stub, adapt: impl FnOnce(&mut Options)) -> Result<Self, SetupError> {
        let ahead = Arc::new(AtomicU64::new(0));
        let seconds = Arc::clone(&ahead);
        let clock: ucp_net::Clock =
            Arc::new(move || Instant::now() + Duration::from_secs(seconds.load(Ordering::Relaxed)));
        let mut upstream = ucp_net::Options::new("stub", stub.url.clone());
        upstream.timeouts.connect = Duration::from_secs(20);
        upstream.timeouts.read.answer = Duration::from_secs(20);
        upstream.timeouts.read.total = Duration::from_secs(30);
        let mut options = Options::new(upstream, Token::None, clock, Arc::new(|| 0), || {
            "2026-09-01T12:00:00Z".parse().expect("a time")
        });
        adapt(&mut options);
        Ok(Self { storefront: Storefront::connect(options).await?, ahead })
    }

    fn forward(&self, seconds: u64) {
        self.ahead.fetch_add(seconds, Ordering::Relaxed);
    }

    /// Number of notes of the adapter.
    fn noted(&self, what: &str) -> u64 {
        self.storefront.client().counters().snapshot().noted.get(what).copied().unwrap_or_default()
    }

    async fn search(&self, request: &search::Request) -> Result<Found, Refusal> {
        search(&self.storefront, &PlainCursors, request, &BuyerSignals::default()).await
    }

    async fn lookup(&self, ids: &[String]) -> Result<Resolved, Refusal> {
        let request = lookup::Request { ids: ids.to_vec(), ..lookup::Request::default() };
        lookup(&self.storefront, &request, &BuyerSignals::default()).await
    }

    async fn open(&self, request: detail::Request) -> Result<Option<Detail>, Refusal> {
        Ok(match detail(&self.storefront, &request, &BuyerSignals::default()).await? {
            Outcome::Answer(detail) => Some(detail),
            _ => None,
        })
    }
}

fn words(query: &str) -> search::Request {
    search::Request { query: Some(query.into()), ..search::Request::default() }
}

fn browse(filters: Filters) -> search::Request {
    search::Request { filters, ..search::Request::default() }
}

fn from(country: &str) -> Context {
    Context { country: Some(country.into()), ..Context::default() }
}

fn ids(products: &[Listing]) -> Vec<&str> {
    products.iter().map(|listing| listing.product.id.rsplit('/').next().unwrap_or_default()).collect()
}
