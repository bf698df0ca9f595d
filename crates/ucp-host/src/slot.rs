//! A shop of the process, whether it is open or not.
//!
//! The only shop of a process is open from its start to its end. Of several, one is opened by its first call, or when it
//! has something to do by itself, and is closed when it has had no calls for a while: it then takes the memory of its
//! settings alone.

use std::{
    collections::HashMap,
    error::Error,
    mem,
    sync::{
        Arc, PoisonError, RwLock, Weak,
        atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    runtime::Handle,
    sync::{Mutex, watch::Receiver},
};
use ucp_config::{Policy, Settings};
use ucp_core::{Refusal, ShopId, ports::Holdings};
use ucp_net::shares::Groups;
use ucp_service::ingress::Rules;
use ucp_trust::{keyring::Keyring, limit::Permit};
use url::Url;

use crate::{
    backend::{DataDirectory, Down},
    callers,
    cause::chain,
    decisions::Decisions,
    files::Files,
    pages::Pages,
    pool::Pool,
    reading::Reading,
    shop::{Shop, Statement, open_keyring},
};

/// Seconds until the first further attempt to open a shop that is down; they double with each one, up to
/// [`LONGEST_PAUSE`].
const FIRST_PAUSE: u32 = 1;

/// Maximum number of seconds between two attempts.
const LONGEST_PAUSE: u32 = 60;

/// Time in seconds after which callers of a shop that could not be opened may try again.
const FAILED_SECONDS: u32 = 5;

/// A configured shop of the process.
pub struct Slot {
    /// Identifier of the shop.
    pub id: ShopId,
    /// Configuration of the shop.
    pub settings: Arc<Settings>,
    /// URL under which clients reach it.
    pub public_url: Url,
    /// Operator's decisions about the shop.
    pub decisions: Decisions,
    /// Names of the registered platforms, by their profile URL.
    pub platforms: HashMap<String, String>,
    /// Rules by which its requests are admitted, whether it is open or not.
    pub(crate) rules: Arc<Rules>,
    pool: Pool,
    files: Arc<Files>,
    state: RwLock<State>,
    /// Statement of the shop when it was last open.
    statement: RwLock<Option<Arc<Statement>>>,
    /// Held while the shop is opened or closed.
    opening: Arc<Mutex<()>>,
    /// Calls that are under way.
    calls: AtomicUsize,
    created: Instant,
    /// Milliseconds from `created` to the last use.
    used: AtomicU64,
    /// Seconds until the next attempt to open a shop that is down.
    pause: Arc<AtomicU32>,
}
ucp_core::opaque!(Slot { id });

enum State {
    /// It may have the data directory of a shop that was configured otherwise.
    Closed(Option<DataDirectory>),
    /// It could not be opened at that time.
    Failed(Instant),
    Open {
        data: DataDirectory,
        shop: Arc<Shop>,
    },
}

impl Slot {
    /// Returns `true` if the shop is under the policy `development`.
    pub fn is_development(&self) -> bool {
        self.settings.policy == Policy::Development
    }

    /// Creates the place of a shop, which is opened later, on `data` if that is open already.
    pub(crate) fn new(
        settings: Arc<Settings>,
        public_url: Url,
        decisions: Decisions,
        pool: &Pool,
        files: Arc<Files>,
        data: Option<DataDirectory>,
    ) -> Self {
        let names = settings.platforms.iter();
        let platforms = names.map(|platform| (platform.profile.as_str().to_owned(), platform.name.clone())).collect();
        let pool = pool.of_shop(&settings);
        Self {
            platforms,
            id: settings.mount.id.clone(),
            rules: Arc::new(callers::rules(&settings, &public_url, &pool)),
            pool,
            settings,
            public_url,
            decisions,
            files,
            state: RwLock::new(State::Closed(data)),
            statement: RwLock::default(),
            opening: Arc::default(),
            calls: AtomicUsize::new(0),
            created: Instant::now(),
            used: AtomicU64::new(0),
            pause: Arc::new(AtomicU32::new(FIRST_PAUSE)),
        }
    }

    /// Returns the shop, if it is open.
    pub fn shop(&self) -> Option<Arc<Shop>> {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            State::Open { shop, .. } => Some(Arc::clone(shop)),
            _ => None,
        }
    }

    /// Returns `false` if other terms of sale were stored since the shop was opened. Those of a closed one are read when it is
    /// opened, and those that cannot be read change nothing.
    pub(crate) async fn has_current_terms(&self) -> bool {
        let (Some(shop), Some(data)) = (self.shop(), self.data()) else { return true };
        let Some(terms) = shop.terms() else { return true };
        match data.terms().await {
            Ok(Some(stored)) => **terms == stored,
            _ => true,
        }
    }

    /// Returns what the shop stated when it was open last.
    pub(crate) fn statement(&self) -> Option<Arc<Statement>> {
        self.statement.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns its pages.
    pub(crate) fn pages(&self) -> &dyn Pages {
        &*self.pool.pages
    }

    /// Returns the limits of its documents and pages.
    pub(crate) fn reading(&self) -> Reading {
        self.pool.reading(&self.rules)
    }

    /// Returns the content of its data directory, if that is open.
    pub fn data(&self) -> Option<DataDirectory> {
        match &*self.state.read().unwrap_or_else(PoisonError::into_inner) {
            State::Open { data, .. } => Some(data.clone()),
            State::Closed(data) => data.clone(),
            _ => None,
        }
    }

    /// Begins a call, for as long as the result is kept.
    pub fn begin_call(self: &Arc<Self>) -> Use {
        self.touch();
        self.calls.fetch_add(1, Ordering::AcqRel);
        Use(Arc::clone(self))
    }

    /// Returns the time for which the shop has had no call; `None` while it has.
    pub(crate) fn idle(&self) -> Option<Duration> {
        let used = Duration::from_millis(self.used.load(Ordering::Acquire));
        let is_idle = self.calls.load(Ordering::Acquire) == 0;
        is_idle.then(|| self.created.elapsed().saturating_sub(used))
    }

    fn touch(&self) {
        self.used.store(u64::try_from(self.created.elapsed().as_millis()).unwrap_or(u64::MAX), Ordering::Release);
    }

    /// Returns the shop, which is opened for the call that asks for it, once `admit` has given a place for that. Fails
    /// with the refusal of calls, if the shop cannot be opened, or as many requests wait for it as may be under way.
    pub(crate) async fn opened(
        self: &Arc<Self>,
        admit: impl FnOnce() -> Result<Permit, Refusal>,
    ) -> Result<Arc<Shop>, Refusal> {
        if let Some(shop) = self.shop() {
            return Ok(shop);
        }
        let _place = self.pool.places.try_acquire(Some(Groups::default()))?;
        let turn = Arc::clone(&self.opening).lock_owned().await;
        let unopened = || Refusal::unavailable("The shop cannot be opened at the moment.", FAILED_SECONDS);
        match (self.shop(), self.failed()) {
            (Some(shop), _) => return Ok(shop),
            (None, true) => return Err(unopened()),
            (None, false) => {}
        }
        let permit = admit()?;
        let (slot, handle) = (Arc::clone(self), Handle::current());
        // It goes on when the caller hangs up, on a thread that may wait for files.
        let opened = tokio::task::spawn_blocking(move || {
            let _held = (turn, permit);
            handle.block_on(async move { slot.start(false).await.map_err(|error| slot.fail(&*error)).ok() })
        });
        match opened.await {
            Ok(Some(shop)) => Ok(shop),
            Ok(None) => Err(unopened()),
            Err(panicked) => {
                tracing::error!(shop = %self.id, error = &panicked as &dyn Error, "opening the shop failed");
                *self.state.write().unwrap_or_else(PoisonError::into_inner) = State::Failed(Instant::now());
                Err(unopened())
            }
        }
    }

    /// Returns `true` unless the shop is being opened or closed, or could not be opened a moment ago.
    pub(crate) fn can_be_opened(&self) -> bool {
        self.opening.try_lock().is_ok() && !self.failed()
    }

    fn failed(&self) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        matches!(&*state, State::Failed(at) if at.elapsed() < Duration::from_secs(FAILED_SECONDS.into()))
    }

    fn fail(&self, error: &dyn Error) {
        tracing::error!(shop = %self.id, error = chain(error), "opening the shop failed");
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = State::Failed(Instant::now());
    }

    /// Opens the shop. A remote shop that is down is served with what it stated last, or else every call of it is
    /// refused; it is then opened in the background as soon as it answers. With `live`, a shop that is down is an
    /// error. Fails with the reason if the shop cannot be opened for another reason than that it is down.
    pub(crate) async fn start(self: &Arc<Self>, live: bool) -> Result<Arc<Shop>, Box<dyn Error>> {
        let data = match self.data() {
            Some(data) => data,
            None => DataDirectory::open(&self.settings, &self.files)?,
        };
        let shop = match self.open(&data, live).await {
            Ok(shop) => shop,
            Err(error) if error.is::<Down>() && !live => {
                let shop = &self.id;
                tracing::warn!(error = &*error, %shop, "upstream unreachable and no saved description: rejecting requests");
                let upstream = self.settings.upstream.as_ref();
                let name = upstream.and_then(|upstream| upstream.url.host_str()).unwrap_or_default().to_owned();
                let pause = Arc::clone(&self.pause);
                let origins = callers::origins(&self.settings);
                Shop::absent(name, &data, origins, move || pause.load(Ordering::Relaxed))
            }
            Err(error) => return Err(error),
        };
        let shop = self.put(data, shop);
        if !shop.ready {
            tracing::warn!(shop = shop.name, "not ready: upstream unreachable, trying again");
            tokio::spawn(retry(Arc::downgrade(self)));
        }
        Ok(shop)
    }

    async fn open(&self, data: &DataDirectory, live: bool) -> Result<Shop, Box<dyn Error>> {
        let keyring = self.keyring()?;
        Shop::open(data, &self.settings, &self.public_url, keyring, &self.decisions, &self.pool, &self.rules, live)
            .await
    }

    /// Opens the keys of the shop, and checks that there are those that have to be there. Fails if the keys cannot be
    /// opened, or a required key is missing.
    pub fn keyring(&self) -> Result<Keyring, Box<dyn Error>> {
        let keyring = open_keyring(&self.settings)?;
        self.settings.check_keys(&keyring)?;
        Ok(keyring)
    }

    /// Returns `true` if the shop, which is open, has a key to sign with.
    pub fn can_sign(&self) -> bool {
        self.rules.signing_key.get().is_some()
    }

    fn put(self: &Arc<Self>, data: DataDirectory, shop: Shop) -> Arc<Shop> {
        let shop = Arc::new(shop);
        *self.statement.write().unwrap_or_else(PoisonError::into_inner) = shop.statement.clone();
        self.touch();
        if let Some((then, now)) = &shop.directory {
            tokio::spawn(reopen(Arc::downgrade(self), Arc::downgrade(&shop), *then, now.clone()));
        }
        let state = State::Open { data, shop: Arc::clone(&shop) };
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = state;
        shop
    }

    /// Closes the shop, unless it is being called or was called meanwhile, or is being opened again because it was down: that
    /// takes as long as its backend does not answer.
    pub(crate) async fn close(&self) {
        let Ok(_turn) = self.opening.try_lock() else { return };
        if self.idle().is_none() {
            return;
        }
        let closed =
            mem::replace(&mut *self.state.write().unwrap_or_else(PoisonError::into_inner), State::Closed(None));
        // Its threads are waited for.
        let dropped = tokio::task::spawn_blocking(move || drop(closed)).await;
        if let Err(panicked) = dropped {
            tracing::error!(shop = %self.id, error = &panicked as &dyn Error, "closing a shop failed");
        }
    }

    /// Returns the time until the next attempt to open a shop that is down: between half of the pause and all of it, so
    /// that the gateways of one shop do not return together.
    fn next_pause(&self) -> Duration {
        let seconds = self.pause.load(Ordering::Relaxed);
        self.pause.store((seconds * 2).min(LONGEST_PAUSE), Ordering::Relaxed);
        let part = uuid::Uuid::new_v4().into_bytes()[0];
        Duration::from_secs(seconds.into()).mul_f64(0.5 + f64::from(part) / 512.0)
    }
}

/// Opens a shop that is down again until it answers, and serves it then. Ends when the shop is closed or configured
/// anew.
async fn retry(slot: Weak<Slot>) {
    loop {
        let Some(pause) = slot.upgrade().map(|slot| slot.next_pause()) else { return };
        tokio::time::sleep(pause).await;
        let Some(slot) = slot.upgrade() else { return };
        let _turn = slot.opening.lock().await;
        let (Some(false), Some(data)) = (slot.shop().map(|shop| shop.ready), slot.data()) else { return };
        match slot.open(&data, true).await {
            Ok(shop) => {
                tracing::info!(shop = shop.name, "upstream reachable, ready");
                slot.put(data, shop);
                return;
            }
            Err(error) => {
                tracing::warn!(shop = %slot.id, error = &*error, "opening the shop failed, trying again");
            }
        }
    }
}

/// Opens a shop again when its directory gets its first merchant or location, or loses its last one: these decide what
/// is offered. Ends when the shop is closed or configured anew.
async fn reopen(slot: Weak<Slot>, shop: Weak<Shop>, then: Holdings, mut now: Receiver<Holdings>) {
    if now.wait_for(|now| *now != then).await.is_err() {
        return;
    }
    drop(now);
    let Some(slot) = slot.upgrade() else { return };
    let _turn = slot.opening.lock().await;
    let (Some(open), Some(data)) = (slot.shop(), slot.data()) else { return };
    if !Weak::ptr_eq(&shop, &Arc::downgrade(&open)) {
        return;
    }
    match slot.open(&data, open.ready).await {
        Ok(shop) => {
            tracing::info!(shop = %slot.id, "directory changed, operations updated");
            slot.put(data, shop);
        }
        Err(error) => {
            tracing::warn!(shop = %slot.id, error = &*error, "directory changed, operations unchanged");
        }
    }
}

/// A call that is under way in a shop.
#[derive(Debug)]
pub struct Use(Arc<Slot>);

impl Drop for Use {
    fn drop(&mut self) {
        self.0.touch();
        self.0.calls.fetch_sub(1, Ordering::AcqRel);
    }
}
