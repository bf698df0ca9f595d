//! Runs that bring the copy of a catalog up to date.
//!
//! One run is under way at a time, also between processes: a file in the data directory is locked while it is. A full run
//! reads everything; what it has not seen is asked for by name, and gone if the shop does not know it. A run for changes
//! reads what a shop says to have changed since the last run began, by the shop's clock. Products that the shop names in
//! events are asked for between two pages. Questions are numbered: a page that was asked for before a product was asked
//! for by name says nothing about it.
//!
//! Removals of products only mark them. They are removed together if they are not too many, and held otherwise.

use std::{
    error::Error,
    fs::{File, TryLockError},
    path::PathBuf,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::sync::Notify;
use ucp_contract::ContractShop;
use ucp_shop::{
    Database,
    synchronised::{ByName, ChangedProduct, Missing, Step, Stepped},
};
use ucp_sqlite::Put;

use crate::{
    error::SyncError,
    feed::Fetched,
    source::{Page, Pages, Source, blocking, named, since},
    state::{Ended, Held, Kind, State, Tally, UnderWay},
};

/// Maximum number of products of one run.
const MOST_PRODUCTS: u64 = 10_000_000;

/// Number of products that are asked for by name at once.
const CHANGED: usize = 500;

/// Maximum number of products that a run has not seen and asks for by name. The others stay until the next one.
const MOST_UNSEEN: usize = 20_000;

/// Maximum number of times that the pages of a run are read from the beginning because products were removed meanwhile.
const MOST_ROUNDS: u32 = 3;

/// Interval at which the state is read that another process may have stored.
const LOOK: Duration = Duration::from_secs(2);

/// Interval between two lines of the log about a run.
const LOGGED_EVERY: Duration = Duration::from_secs(10);

/// Pause after the first failed run; it doubles with each further one, up to the interval of runs.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(5);

/// Options of a synchronization.
#[derive(Clone)]
pub struct Options {
    /// Directory of the lock.
    pub data_dir: PathBuf,
    /// Interval between two runs.
    pub interval: SignedDuration,
    /// Interval between two full runs of a shop that tells what changed.
    pub full_interval: SignedDuration,
    /// Share of the products, in per cent, that a run may remove.
    pub max_loss_percent: u64,
    /// Number of products in a page.
    pub page_size: usize,
    /// Source of the current time, UTC.
    pub now: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Events that several gateways share; `None` if this is the only one.
    pub shared: Option<Arc<dyn SharedEvents>>,
}

/// Products that the shop has said to have changed, for the copies of several gateways.
#[async_trait]
pub trait SharedEvents: Send + Sync {
    /// Stores products for all gateways. Fails with the error of the store.
    async fn add(&self, ids: &[String], at: Timestamp) -> Result<(), EventsError>;

    /// Returns products after the number up to which a gateway has read, at most some; without one, only the newest
    /// number. Fails with the error of the store.
    async fn after(&self, number: Option<i64>) -> Result<SharedChanges, EventsError>;
}

/// An error of the store of shared events.
pub type EventsError = Box<dyn Error + Send + Sync>;

/// Products that a gateway has not asked for yet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SharedChanges {
    /// Products.
    pub ids: Vec<String>,
    /// Number of the last of them, or of the newest one if there are none.
    pub number: i64,
    /// `true` if there were more, which are no longer known.
    pub missed: bool,
}

/// Progress of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Kind of the run.
    pub kind: Kind,
    /// Counts of products so far.
    pub tally: Tally,
    /// Number of products of the whole run, if it is known.
    pub total: Option<u64>,
    /// Bytes of a feed that were read, and all.
    pub bytes: Option<(u64, u64)>,
}

/// Result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The run has ended.
    Ended(Ended),
    /// The run has ended, and the products that it would have removed are held.
    Held(Ended, Held),
    /// The feed is the one that was read last.
    Unmodified,
}

/// State of a synchronization for operators.
#[derive(Clone, Debug)]
pub struct Status {
    /// State that is stored.
    pub state: State,
    /// Run of this process.
    pub running: Option<Progress>,
    /// Number of runs that failed since the last one that did not.
    pub failures: u64,
}

/// Keeps the copy of a catalog. Clones share its state.
#[derive(Clone)]
pub struct Synchroniser(Arc<SynchroniserState>);
ucp_core::opaque!(Synchroniser);

struct SynchroniserState {
    database: Arc<Database>,
    source: Source,
    options: Options,
    state: RwLock<State>,
    running: RwLock<Option<Progress>>,
    failures: AtomicU64,
    wake: Notify,
}

impl Synchroniser {
    /// Creates the synchronization of the catalog in a database.
    ///
    /// # Errors
    /// [`SyncError`] if the state that is stored cannot be read.
    pub fn new(database: Arc<Database>, source: Source, options: Options) -> Result<Self, SyncError> {
        let state = stored(&database)?;
        Ok(Self(Arc::new(SynchroniserState {
            database,
            source,
            options,
            state: RwLock::new(state),
            running: RwLock::default(),
            failures: AtomicU64::new(0),
            wake: Notify::new(),
        })))
    }

    /// Returns the source of the catalog.
    pub fn source(&self) -> &Source {
        &self.0.source
    }

    /// Returns the time as of which the facts of the copy are; `None` before the first run has ended.
    pub fn as_of(&self) -> Option<Timestamp> {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner).as_of
    }

    /// Returns the state for operators.
    pub fn status(&self) -> Status {
        Status {
            state: self.state(),
            running: *self.0.running.read().unwrap_or_else(PoisonError::into_inner),
            failures: self.0.failures.load(Ordering::Relaxed),
        }
    }

    fn state(&self) -> State {
        self.0.state.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Stores that products have changed, and has them asked for soon, by every gateway that shares the events. With a
    /// feed, that is fetched. Returns `false` if too many wait already. Fails with [`SyncError`] if the store cannot be
    /// written.
    pub async fn changed(&self, ids: Vec<String>) -> Result<bool, SyncError> {
        let taken = match &self.0.options.shared {
            Some(shared) => {
                let at = (self.0.options.now)();
                shared.add(&ids, at).await.map(|()| true).map_err(SyncError::Events)?
            }
            None => {
                let database = Arc::clone(&self.0.database);
                blocking(move || database.add_changed(ids, None)).await??
            }
        };
        self.0.wake.notify_one();
        Ok(taken)
    }

    /// Returns `true` if there are events that other gateways were told. The lock is not taken for the question.
    async fn is_told(&self) -> bool {
        let Some(shared) = &self.0.options.shared else { return false };
        let heard = self.state().heard;
        // A failure is logged where they are read.
        shared.after(heard).await.map_or(true, |changes| changes.missed || heard != Some(changes.number))
    }

    /// Reads what other gateways were told.
    async fn hear(&self) -> Result<(), SyncError> {
        let Some(shared) = &self.0.options.shared else { return Ok(()) };
        loop {
            let mut state = self.state();
            let SharedChanges { ids, number, missed } = match shared.after(state.heard).await {
                Ok(changes) => changes,
                Err(error) => {
                    tracing::warn!(error = &*error as &dyn Error, "reading product events failed");
                    return Ok(());
                }
            };
            if state.heard == Some(number) {
                return Ok(());
            }
            if missed {
                tracing::warn!("product events were missed; reading the whole catalog");
                state.full_at = None;
            }
            state.heard = Some(number);
            let (database, text) = (Arc::clone(&self.0.database), text(&state)?);
            if !blocking(move || database.add_changed(ids, Some(text))).await?? {
                return Ok(());
            }
            self.set(state);
        }
    }

    /// Runs whenever it is time, until it is dropped.
    pub async fn keep(self) {
        let mut failed: Option<tokio::time::Instant> = None;
        loop {
            let waits = failed.is_some_and(|failed| failed.elapsed() < self.pause());
            let looked = if waits { self.renew().await } else { self.look((self.0.options.now)()).await };
            match looked {
                Ok(()) if waits => {}
                Ok(()) => {
                    failed = None;
                    self.0.failures.store(0, Ordering::Relaxed);
                }
                Err(SyncError::Busy) => {}
                Err(error) => {
                    self.0.failures.fetch_add(1, Ordering::Relaxed);
                    failed = Some(tokio::time::Instant::now());
                    tracing::error!(error = &error as &dyn Error, "catalog synchronization failed");
                }
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.0.wake.notified() => {}
            }
        }
    }

    /// Does what it is time for.
    pub(crate) async fn look(&self, now: Timestamp) -> Result<(), SyncError> {
        self.renew().await?;
        if self.is_told().await {
            let _lock = self.lock()?;
            self.renew().await?;
            self.hear().await?;
        }
        let state = self.state();
        let database = Arc::clone(&self.0.database);
        let changed = !blocking(move || database.changed(1)).await??.is_empty();
        let is_due = |last: Option<Timestamp>, interval| {
            last.is_none_or(|last| is_stale(last, now) || now.duration_since(last) >= interval)
        };
        let ended = state.last.as_ref().map(|last| last.ended_at);
        let due = match &self.0.source {
            Source::Feed(_) => changed || is_due(ended.max(state.as_of), self.0.options.interval),
            Source::Shop(shop) if shop.tells_changes() => {
                state.full_at.is_none() || is_due(ended, self.0.options.interval)
            }
            Source::Shop(_) => is_due(state.full_at, self.0.options.full_interval),
        };
        if due || state.under_way.is_some() {
            let logged = Mutex::new(tokio::time::Instant::now());
            let told = |progress: &Progress| {
                let mut logged = logged.lock().unwrap_or_else(PoisonError::into_inner);
                if logged.elapsed() >= LOGGED_EVERY {
                    *logged = tokio::time::Instant::now();
                    let Progress { kind, tally, total, .. } = progress;
                    tracing::info!(
                        kind = kind.as_str(),
                        products = tally.read(),
                        total,
                        "catalog synchronization running"
                    );
                }
            };
            self.run(false, false, told).await.map(drop)?;
        } else if changed {
            let _lock = self.lock()?;
            self.renew().await?;
            while self.ask_changed().await? {}
            let mut state = self.state();
            self.remove_lost(&mut state, Kind::Changes, false).await?;
            self.store(state).await?;
        }
        Ok(())
    }

    /// Returns the pause after a failure.
    fn pause(&self) -> Duration {
        let failures = self.0.failures.load(Ordering::Relaxed).clamp(1, 16);
        let pause = FIRST_PAUSE.saturating_mul(1 << failures.saturating_sub(1));
        pause.min(self.0.options.interval).unsigned_abs()
    }

    /// Runs once: goes on with a run that was interrupted, or begins one. The products that it loses are removed even
    /// if they are too many, if `accepts_loss`. Fails with [`SyncError`] if it cannot be brought to its end.
    pub async fn run(
        &self,
        full: bool,
        accepts_loss: bool,
        told: impl Fn(&Progress) + Send + Sync,
    ) -> Result<Ran, SyncError> {
        let _lock = self.lock()?;
        self.renew().await?;
        let ran = self.run_locked(full, accepts_loss, &told).await;
        if let (Err(SyncError::BrokenOff(_) | SyncError::Unreadable(_)), Source::Feed(feed)) = (&ran, &self.0.source) {
            // The same bytes break off again: the feed is fetched anew.
            feed.tidy();
            self.store(State { under_way: None, ..self.state() }).await?;
        }
        *self.0.running.write().unwrap_or_else(PoisonError::into_inner) = None;
        ran
    }

    async fn run_locked(
        &self,
        full: bool,
        accepts_loss: bool,
        told: &(impl Fn(&Progress) + Send + Sync),
    ) -> Result<Ran, SyncError> {
        let market = self.0.database.market();
        let Some((mut run, mut pages)) = self.begin(full).await? else { return Ok(Ran::Unmodified) };
        if run.is_read {
            return self.end(run, accepts_loss).await;
        }
        let now = &self.0.options.now;
        let (size, mut is_again) = (self.0.options.page_size, false);
        let mut question = self.question();
        let mut page = pages.page(&run, size, &market, now()).await?;
        loop {
            let Some(found) = page else {
                // The shop no longer knows the position: the run begins anew, once.
                if std::mem::replace(&mut is_again, true) || run.after.is_none() {
                    return Err(SyncError::Endless("the shop does not know the position that it stated".to_owned()));
                }
                run = UnderWay { after: None, tally: Tally::default(), total: None, ..run };
                question = self.question();
                page = pages.page(&run, size, &market, now()).await?;
                continue;
            };
            let next = found.next.clone();
            if next.is_some() && next == run.after {
                return Err(SyncError::Endless("a page states the position of the page before".to_owned()));
            }
            let progress = Progress { kind: run.kind, tally: run.tally, total: found.total, bytes: found.bytes };
            run.after = next.clone();
            run.has_shrunk |= run.total.zip(found.total).is_some_and(|(before, now)| now < before);
            run.total = found.total.or(run.total);
            if next.is_none() && run.has_shrunk && run.rounds < MOST_ROUNDS {
                // Products after one that was removed have moved to a page that was read already.
                run = UnderWay { rounds: run.rounds + 1, total: None, has_shrunk: false, ..run };
            } else {
                run.is_read = next.is_none();
            }
            // The next page is read while this one is stored.
            let position = run.clone();
            let asked = self.question();
            let following = async {
                match run.is_read {
                    true => None,
                    false => Some(pages.page(&position, size, &market, now()).await),
                }
            };
            let mut after = position.clone();
            let (stepped, following) = tokio::join!(self.step(found, question, &mut after), following);
            run.tally = stepped?;
            question = asked;
            let progress = Progress { tally: run.tally, ..progress };
            *self.0.running.write().unwrap_or_else(PoisonError::into_inner) = Some(progress);
            told(&progress);
            if run.tally.read() > MOST_PRODUCTS {
                return Err(SyncError::Endless(format!("there are more than {MOST_PRODUCTS} products")));
            }
            self.hear().await?;
            match self.ask_changed().await {
                Ok(_) => {}
                // They wait, and the pages go on.
                Err(SyncError::Shop(failure)) => {
                    tracing::warn!(%failure, "fetching changed products failed");
                }
                Err(error) => return Err(error),
            }
            match following {
                Some(following) => page = following?,
                None => return self.end(run, accepts_loss).await,
            }
        }
    }

    /// Returns the number of a question that is about to be asked.
    fn question(&self) -> i64 {
        let mut state = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        state.question += 1;
        state.question
    }

    /// Begins a run, or goes on with the one that was interrupted; `None` if a feed has not changed.
    async fn begin(&self, full: bool) -> Result<Option<(UnderWay, Pages)>, SyncError> {
        let mut state = self.state();
        let now = (self.0.options.now)();
        let market = self.0.database.market();
        let interrupted = state.under_way.clone().filter(|run| !full || run.kind == Kind::Full);
        if let Some(run) = interrupted {
            match &self.0.source {
                Source::Shop(shop) if run.feed.is_none() => {
                    tracing::info!(
                        kind = run.kind.as_str(),
                        products = run.tally.read(),
                        "catalog synchronization resumed"
                    );
                    return Ok(Some((run, Pages::Shop(shop.clone()))));
                }
                Source::Feed(feed) => {
                    let again = match &run.feed {
                        Some(version) => feed.again(version),
                        None => None,
                    };
                    if let Some(Fetched { path, .. }) = again {
                        tracing::info!(products = run.tally.read(), "catalog synchronization resumed");
                        let pages = Pages::of_feed(&path, feed.format(), &market, &run).await?;
                        return Ok(Some((run, pages)));
                    }
                }
                Source::Shop(_) => {}
            }
        }
        let begun = UnderWay {
            kind: Kind::Full,
            since: None,
            begun_at: now,
            after: None,
            tally: Tally::default(),
            feed: None,
            changed_at: None,
            heard: 0,
            total: None,
            has_shrunk: false,
            rounds: 0,
            is_read: false,
        };
        let (run, fetched) = match &self.0.source {
            Source::Shop(shop) => {
                let is_recent = state
                    .full_at
                    .is_some_and(|at| !is_stale(at, now) && now.duration_since(at) < self.0.options.full_interval);
                let as_of = state.as_of.filter(|as_of| !is_stale(*as_of, now));
                let as_of = as_of.map(|as_of| state.shop_as_of.unwrap_or(as_of));
                let since = as_of.filter(|_| !full && is_recent && shop.tells_changes()).map(since);
                let kind = if since.is_some() { Kind::Changes } else { Kind::Full };
                (UnderWay { kind, since, ..begun }, None)
            }
            Source::Feed(feed) => {
                let known = state.feed.clone().filter(|_| !full && state.as_of.is_some());
                let database = Arc::clone(&self.0.database);
                let heard = blocking(move || database.newest_changed()).await??;
                let Some(fetched) = feed.fetch(known.as_ref(), now).await? else {
                    state.as_of = Some(now);
                    state.last = state.last.filter(|last| last.ended_at <= now);
                    self.forget_changed(heard).await?;
                    self.store(state).await?;
                    return Ok(None);
                };
                let age = fetched.age.unwrap_or_default().max(SignedDuration::ZERO);
                let changed_at = Some(now.saturating_sub(age).unwrap_or(Timestamp::MIN));
                (
                    UnderWay { feed: Some(fetched.version.clone()), changed_at, heard, ..begun },
                    Some((feed.clone(), fetched)),
                )
            }
        };
        if run.kind == Kind::Full {
            state.run += 1;
        }
        let is_first = state.full_at.is_none();
        state.under_way = Some(run.clone());
        tracing::info!(kind = run.kind.as_str(), "catalog synchronization started");
        if is_first {
            let (database, text) = (Arc::clone(&self.0.database), text(&state)?);
            blocking(move || database.begin_sync(text)).await??;
            self.set(state);
        } else {
            self.store(state).await?;
        }
        let pages = match (&self.0.source, fetched) {
            (_, Some((feed, fetched))) => Pages::of_feed(&fetched.path, feed.format(), &market, &run).await?,
            (Source::Shop(shop), None) => Pages::Shop(shop.clone()),
            (Source::Feed(_), None) => return Err(SyncError::Panicked),
        };
        Ok(Some((run, pages)))
    }

    /// Stores a page with the state after it, and returns what was done so far.
    async fn step(&self, page: Page, question: i64, run: &mut UnderWay) -> Result<Tally, SyncError> {
        let mut tally = run.tally;
        tally.rejected += page.rejected;
        // The tally of the state is that before the page: what the page does is known only once it is stored.
        run.tally = tally;
        let state = State { under_way: Some(run.clone()), ..self.state() };
        count(&mut tally, self.stepped(page, question, state, None).await?);
        Ok(tally)
    }

    /// Stores a page and a state.
    async fn stepped(
        &self,
        page: Page,
        question: i64,
        state: State,
        named: Option<ByName>,
    ) -> Result<Vec<Stepped>, SyncError> {
        let Page { changes, as_of, .. } = page;
        let step = Step { changes, run: state.run, state: text(&state)?, as_of, question, named };
        let database = Arc::clone(&self.0.database);
        let stepped = blocking(move || database.step(step)).await??;
        // Questions may have been asked meanwhile.
        let mut own = self.0.state.write().unwrap_or_else(PoisonError::into_inner);
        *own = State { question: own.question.max(state.question), ..state };
        drop(own);
        Ok(stepped)
    }

    /// Asks for products by name, and stores what the shop states. Those that are gone are marked.
    async fn ask(&self, shop: &ContractShop, ids: &[String], changed: Vec<ChangedProduct>) -> Result<Tally, SyncError> {
        let question = self.question();
        let mut page = named(shop, ids, &self.0.database.market(), (self.0.options.now)()).await?;
        let named = ByName { unusable: std::mem::take(&mut page.unusable), changed };
        let mut tally = Tally { rejected: page.rejected, ..Tally::default() };
        count(&mut tally, self.stepped(page, question, self.state(), Some(named)).await?);
        Ok(tally)
    }

    /// Asks for the products that the shop has said to have changed, at most some. Returns `false` if there were none.
    async fn ask_changed(&self) -> Result<bool, SyncError> {
        let Source::Shop(shop) = &self.0.source else { return Ok(false) };
        let database = Arc::clone(&self.0.database);
        let changed = blocking(move || database.changed(CHANGED)).await??;
        if changed.is_empty() {
            return Ok(false);
        }
        let ids: Vec<_> = changed.iter().map(|product| product.id.clone()).collect();
        let Tally { created, updated, rejected, .. } = self.ask(shop, &ids, changed).await?;
        tracing::info!(created, updated, rejected, "changed products fetched");
        Ok(true)
    }

    /// Asks by name for products that a full run has not seen: pages may have moved while they were read.
    async fn ask_unseen(&self, shop: &ContractShop, run: i64) -> Result<(), SyncError> {
        let (mut after, mut asked) = (0, 0);
        while asked < MOST_UNSEEN {
            let database = Arc::clone(&self.0.database);
            let unseen = blocking(move || database.unseen(run, after, CHANGED)).await??;
            let Some((last, _)) = unseen.last() else { break };
            after = *last;
            asked += unseen.len();
            let ids: Vec<_> = unseen.into_iter().map(|(_, id)| id).collect();
            self.ask(shop, &ids, Vec::new()).await?;
        }
        if asked > 0 {
            tracing::info!(asked, "products missed by a synchronization fetched");
        }
        Ok(())
    }

    /// Forgets what was said to have changed before a feed was asked for.
    async fn forget_changed(&self, heard: i64) -> Result<(), SyncError> {
        let database = Arc::clone(&self.0.database);
        Ok(blocking(move || database.forget_changed(heard)).await??)
    }

    /// Removes the products that are gone, or holds them if they are too many. Returns the number that were removed.
    async fn remove_lost(&self, state: &mut State, kind: Kind, accepts_loss: bool) -> Result<u64, SyncError> {
        let gone = match kind {
            Kind::Full => Missing::Since(state.run),
            Kind::Changes => Missing::Stated,
        };
        let database = Arc::clone(&self.0.database);
        let (lost, of) = blocking(move || database.missing(gone)).await??;
        // What is said bit by bit keeps to the bound, too.
        let before = if kind == Kind::Full { 0 } else { state.removed };
        if !accepts_loss && lost > 0 && (lost + before) * 100 > (of + before) * self.0.options.max_loss_percent {
            let is_full = state.held.as_ref().is_some_and(|held| held.kind == Kind::Full);
            let (held_kind, run) = match (&state.held, kind) {
                // What a full run has lost stays held beside what was said since.
                (Some(held), Kind::Changes) if is_full => (Kind::Full, held.run),
                _ => (kind, state.run),
            };
            let mut held = Held { kind: held_kind, run, lost, of, since: (self.0.options.now)() };
            let (database, missing) = (Arc::clone(&self.0.database), held.missing());
            (held.lost, held.of) = blocking(move || database.missing(missing)).await??;
            state.held = Some(held);
            tracing::error!(
                lost,
                of,
                "catalog synchronization held: it would remove too many products; if they are gone, run `ucp-gateway catalog sync --accept-loss`"
            );
            return Ok(0);
        }
        let missing = match &self.0.source {
            // What could not be asked for stays until the next run.
            Source::Shop(_) if !accepts_loss => Missing::Stated,
            _ => gone,
        };
        let database = Arc::clone(&self.0.database);
        let removed = blocking(move || database.remove_missing(missing)).await??;
        state.removed = if kind == Kind::Full { 0 } else { before + removed };
        // A run for changes says nothing about what a full run has not seen.
        if kind == Kind::Full || state.held.as_ref().is_some_and(|held| held.kind == Kind::Changes) {
            state.held = None;
        }
        Ok(removed)
    }

    /// Ends a run: removes what it has lost, or holds that.
    async fn end(&self, mut run: UnderWay, accepts_loss: bool) -> Result<Ran, SyncError> {
        if let Source::Shop(shop) = &self.0.source
            && run.kind == Kind::Full
        {
            self.ask_unseen(shop, self.state().run).await?;
        }
        let mut state = self.state();
        let before = state.held.clone();
        run.tally.removed = self.remove_lost(&mut state, run.kind, accepts_loss).await?;
        let is_held = state.held.is_some() && state.held != before;
        let now = (self.0.options.now)();
        let ended = Ended { kind: run.kind, begun_at: run.begun_at, ended_at: now, tally: run.tally };
        state.under_way = None;
        state.as_of = Some(run.begun_at);
        if let Source::Shop(shop) = &self.0.source {
            // The clock of the shop when the run began: its times of changes are compared with that.
            state.shop_as_of = shop.time().and_then(|time| time.checked_sub(now.duration_since(run.begun_at)).ok());
        }
        if run.kind == Kind::Full {
            state.full_at = Some(run.begun_at);
        }
        if let Source::Feed(feed) = &self.0.source {
            state.feed = run.feed;
            feed.tidy();
            self.forget_changed(run.heard).await?;
        }
        state.last = Some(ended.clone());
        let Tally { created, updated, unchanged, removed, rejected } = ended.tally;
        let held = state.held.clone().filter(|_| is_held);
        self.store(state).await?;
        tracing::info!(
            kind = ended.kind.as_str(),
            created,
            updated,
            unchanged,
            removed,
            rejected,
            "catalog synchronization finished"
        );
        Ok(match held {
            Some(held) => Ran::Held(ended, held),
            None => Ran::Ended(ended),
        })
    }

    /// Removes the products that are held. Returns their number; `None` if none are held. Fails with [`SyncError`] if a
    /// run is under way, or the store cannot be written.
    pub async fn release(&self) -> Result<Option<u64>, SyncError> {
        let _lock = self.lock()?;
        self.renew().await?;
        let mut state = self.state();
        let Some(held) = state.held.take() else { return Ok(None) };
        let (database, missing) = (Arc::clone(&self.0.database), held.missing());
        let removed = blocking(move || database.remove_missing(missing)).await??;
        state.removed = 0;
        self.store(state).await?;
        tracing::warn!(removed, "held products released by the operator; removing them");
        Ok(Some(removed))
    }

    /// Reads the state that another process may have stored.
    async fn renew(&self) -> Result<(), SyncError> {
        let database = Arc::clone(&self.0.database);
        let state = blocking(move || stored(&database)).await??;
        self.set(state);
        Ok(())
    }

    async fn store(&self, state: State) -> Result<(), SyncError> {
        let (database, text) = (Arc::clone(&self.0.database), text(&state)?);
        blocking(move || database.set_sync_state(text)).await??;
        self.set(state);
        Ok(())
    }

    fn set(&self, state: State) {
        *self.0.state.write().unwrap_or_else(PoisonError::into_inner) = state;
    }

    /// Takes the lock under which one run at a time is under way. The lock ends with the process.
    fn lock(&self) -> Result<File, SyncError> {
        let path = self.0.options.data_dir.join("synchronisation.lock");
        let file = File::options().create(true).truncate(false).write(true).open(path).map_err(SyncError::Lock)?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(SyncError::Busy),
            Err(TryLockError::Error(error)) => Err(SyncError::Lock(error)),
        }
    }
}

/// Returns the state that is stored. Fails with [`SyncError`] if it cannot be read.
pub fn stored(database: &Database) -> Result<State, SyncError> {
    match database.sync_state()? {
        Some(text) => serde_json::from_str(&text).map_err(|error| SyncError::State(error.to_string())),
        None => Ok(State::default()),
    }
}

fn text(state: &State) -> Result<String, SyncError> {
    serde_json::to_string(state).map_err(|error| SyncError::State(error.to_string()))
}

/// Returns `true` for a time that lies in the future: a clock was wrong when it was stored.
fn is_stale(time: Timestamp, now: Timestamp) -> bool {
    let is_stale = time > now;
    if is_stale {
        tracing::warn!(%time, "last catalog synchronization lies in the future; treating it as never");
    }
    is_stale
}

/// Adds the outcomes of a step. What is only marked as gone is counted when it is removed.
fn count(tally: &mut Tally, stepped: Vec<Stepped>) {
    for outcome in stepped {
        match outcome {
            Stepped::Put(Put::Created) => tally.created += 1,
            Stepped::Put(Put::Updated) => tally.updated += 1,
            Stepped::Put(Put::Unchanged) | Stepped::Newer => tally.unchanged += 1,
            Stepped::Gone | Stepped::Unknown => {}
            Stepped::Rejected(rejected) => {
                tally.rejected += 1;
                tracing::warn!(%rejected, "invalid product, left out of the catalog");
            }
        }
    }
}
