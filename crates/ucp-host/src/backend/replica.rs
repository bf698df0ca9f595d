//! The embedded shop whose products are in the database that gateways share.
//!
//! Each gateway has a copy of the products in its data directory, with a search index and a cache of its own, and follows the numbered
//! changes in the database. Before it answers, it asks for the number of the newest change, together with all others that ask at
//! that moment, and follows first. So an answer is never older than [`FRESH`], the question aside; while the database
//! cannot be reached, the catalog is what it was.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::{Duration, Instant},
};

use async_trait::async_trait;
use tokio::{
    sync::Mutex,
    task::{AbortHandle, JoinHandle},
    time::timeout,
};
use ucp_config::Settings;
use ucp_core::{
    catalog::market::{Market, Presentation},
    message::Message,
    ports::{Catalog, CatalogCapabilities, Named, Page, PortError, Query, caller::BuyerSignals},
};
use ucp_postgres::{PostgresStore, catalog::Numbers};
use ucp_shop::{
    EmbeddedShop,
    replica::{adopt, restart},
};
use ucp_sqlite::SqliteStore;

use super::{
    products::{follow, founded, is_ahead},
    synchronised::options,
};

/// Time for which products are taken to be those of the database.
const FRESH: Duration = Duration::from_millis(20);

/// Interval at which changes are looked for without a call that needs them.
const INTERVAL: Duration = Duration::from_millis(500);

/// Longest wait of a call for the number of the newest change.
const ASKING: Duration = Duration::from_millis(500);

/// Longest wait of a call for the changes up to it. An import of many thousand products takes longer.
const FOLLOWING: Duration = Duration::from_secs(2);

/// Time for which nobody asks again after the database did not answer, or its changes could not be followed in time: calls would wait
/// one after the other.
const UNASKED: Duration = Duration::from_secs(1);

/// The products of the database, as this gateway has them. Clones share one copy.
#[derive(Clone, Debug)]
pub struct Replica(Arc<ReplicaState>);

#[derive(Debug)]
struct ReplicaState {
    copy: Arc<Copy>,
    follower: AbortHandle,
}

impl Drop for ReplicaState {
    fn drop(&mut self) {
        self.follower.abort();
    }
}

#[derive(Debug)]
struct Copy {
    shop: EmbeddedShop,
    store: PostgresStore,
    /// Number of the newest change in the database that is known of.
    newest: AtomicI64,
    /// Number of the newest change that is in the copy.
    followed: AtomicI64,
    /// Number of the last change of synonyms that is in the copy; none if that is not known.
    synonyms: AtomicI64,
    /// Result of the last question for the newest change; locked while one is under way.
    known: Mutex<KnownState>,
    begun: Instant,
    /// Time at which the copy was last known to have everything, in milliseconds after `begun`, for whoever must not wait.
    complete_at: AtomicI64,
    /// Held while changes are followed.
    following: Arc<Mutex<()>>,
}

/// Known state of a copy.
#[derive(Debug, Default)]
struct KnownState {
    /// Time at which it was last known to have everything.
    complete: Option<Instant>,
    /// Time at which that could not be found out.
    failed: Option<Instant>,
}

/// Lag of a copy behind the shop.
#[derive(Clone, Copy, Debug)]
pub struct Lag {
    /// Changes that are known of and not in the copy.
    pub changes: u64,
    /// Milliseconds since the copy was last known to have everything.
    pub milliseconds: u64,
}

impl Replica {
    /// Opens the copy in the data directory, and follows the database up to its newest change.
    pub(super) async fn open(
        store: &PostgresStore,
        file: &SqliteStore,
        settings: &Settings,
    ) -> Result<Self, Box<dyn Error>> {
        let local = file.of(settings.mount.id.clone())?;
        let catalog = founded(store, &local, &settings.sections.data).await?;
        adopt(&local, &catalog.shop)?;
        let products = ucp_shop::Database::of(local.clone())?;
        let options = options(settings);
        if is_ahead(store, &products).await? {
            tracing::warn!("database is older than the copy of its products; rebuilding the copy");
            restart(products.store())?;
            // The search index of no products takes the place of one that knows too much.
            drop(EmbeddedShop::of(ucp_shop::Database::of(local)?, &options)?);
        }
        let followed = follow(store, &products).await.map_err(|error| error as Box<dyn Error>)?;
        let copy = Arc::new(Copy {
            shop: EmbeddedShop::of(products, &options)?,
            store: store.clone(),
            newest: AtomicI64::new(followed),
            followed: AtomicI64::new(followed),
            synonyms: AtomicI64::new(i64::MIN),
            known: Mutex::default(),
            begun: Instant::now(),
            complete_at: AtomicI64::new(0),
            following: Arc::default(),
        });
        let following = Arc::clone(&copy);
        let task: JoinHandle<()> = tokio::spawn(async move {
            let mut ticks = tokio::time::interval(INTERVAL);
            loop {
                ticks.tick().await;
                if following.store.is_reachable() {
                    following.catch_up().await;
                } else {
                    // Who asks learns that the database is back.
                    drop(following.store.ping().await);
                }
            }
        });
        Ok(Self(Arc::new(ReplicaState { copy, follower: task.abort_handle() })))
    }

    /// Returns the shop with the copy.
    pub(crate) fn shop(&self) -> &EmbeddedShop {
        &self.0.copy.shop
    }

    /// Returns the message that the database cannot be asked for changes, if it cannot.
    fn unanswered(&self) -> Option<Message> {
        let text = "The shop's books cannot be reached at the moment. Prices and availability may have changed.";
        (!self.0.copy.store.is_reachable()).then(|| Message::warning("stale", text.to_owned()))
    }

    /// Returns how far the copy is behind.
    pub fn lag(&self) -> Lag {
        let copy = &self.0.copy;
        let changes = copy.newest.load(Ordering::Relaxed) - copy.followed.load(Ordering::Relaxed);
        let now = i64::try_from(copy.begun.elapsed().as_millis()).unwrap_or(i64::MAX);
        let milliseconds = now - copy.complete_at.load(Ordering::Relaxed);
        Lag { changes: changes.max(0).unsigned_abs(), milliseconds: milliseconds.max(0).unsigned_abs() }
    }
}

impl Copy {
    /// Follows the database, unless that was done a moment ago. Calls that ask at the same time wait for one question.
    async fn catch_up(self: &Arc<Self>) {
        if !self.store.is_reachable() {
            return;
        }
        let mut known = self.known.lock().await;
        let since = |at: Option<Instant>, time| at.is_some_and(|at| at.elapsed() < time);
        if since(known.complete, FRESH) || since(known.failed, UNASKED) {
            return;
        }
        let asked = Instant::now();
        // Whatever ends this early, also a call that is given up.
        known.failed = Some(asked);
        let Ok(Ok(numbers)) = timeout(ASKING, self.store.numbers()).await else { return };
        self.newest.fetch_max(numbers.products, Ordering::Relaxed);
        let are_synonyms_old = self.synonyms.load(Ordering::Relaxed) != numbers.synonyms;
        if self.followed.load(Ordering::Relaxed) < numbers.products || are_synonyms_old {
            // In a task of its own, so that a call that gives up waiting does not end it.
            let copy = Arc::clone(self);
            let following = tokio::spawn(async move { copy.follow(numbers).await });
            if !matches!(timeout(FOLLOWING, following).await, Ok(Ok(true))) {
                return;
            }
        }
        *known = KnownState { complete: Some(asked), failed: None };
        let at = asked.saturating_duration_since(self.begun).as_millis();
        self.complete_at.store(i64::try_from(at).unwrap_or(i64::MAX), Ordering::Relaxed);
    }

    /// Follows the database up to its newest change, which was under these numbers. Returns `false` if that failed.
    async fn follow(&self, numbers: Numbers) -> bool {
        let _turn = self.following.lock().await;
        let followed = async {
            if self.synonyms.load(Ordering::Relaxed) != numbers.synonyms
                && let Some(catalog) = self.store.catalog().await?
            {
                self.shop.database().replicate_synonyms(catalog.shop.synonyms).await?;
            }
            follow(&self.store, self.shop.database()).await
        };
        match followed.await {
            Ok(followed) => {
                self.synonyms.store(numbers.synonyms, Ordering::Relaxed);
                self.shop.refresh().await;
                self.followed.store(followed, Ordering::Relaxed);
                self.newest.fetch_max(followed, Ordering::Relaxed);
                true
            }
            Err(error) => {
                tracing::warn!(
                    error = &*error as &dyn Error,
                    "following the changes of the catalog in the database failed"
                );
                false
            }
        }
    }
}

#[async_trait]
impl Catalog for Replica {
    fn capabilities(&self) -> CatalogCapabilities {
        self.shop().capabilities()
    }

    fn market(&self) -> Arc<Market> {
        self.shop().market()
    }

    async fn find(&self, query: &Query, buyer_signals: &BuyerSignals) -> Result<Page, PortError> {
        self.0.copy.catch_up().await;
        let mut page = self.shop().find(query, buyer_signals).await?;
        page.messages.extend(self.unanswered());
        Ok(page)
    }

    async fn resolve(
        &self,
        ids: &[&str],
        presentation: &Presentation,
        buyer_signals: &BuyerSignals,
    ) -> Result<Vec<Named>, PortError> {
        self.0.copy.catch_up().await;
        let named = self.shop().resolve(ids, presentation, buyer_signals).await?;
        let Some(message) = self.unanswered() else { return Ok(named) };
        let stale = |named| match named {
            Named::Found(matches) => Named::Stale(matches, message.clone()),
            other => other,
        };
        Ok(named.into_iter().map(stale).collect())
    }
}
