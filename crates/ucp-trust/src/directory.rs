//! Directory of platforms whose profiles are known (UCP overview, *Fetching*; rules AGT-04 to AGT-08).
//!
//! Every request names a platform, and one caller can name ten thousand. The work and memory that this costs is
//! bounded:
//!
//! - A profile is fetched if it is unknown or no longer fresh, once for all callers that wait for it. A caller that
//!   goes away does not affect the others: fetches are tasks of their own.
//! - A profile that is no longer fresh is served for a while as one task fetches it again; after that it is served only
//!   if the fetch fails; in the end it is not served at all. After a failure a profile is not fetched again for 1, 2, 4
//!   … seconds.
//! - Platforms that are not registered share a budget of fetches per second, of concurrent fetches, and of bytes that
//!   are kept. If it has no fetch left, callers are asked to come back (`unavailable`, with `Retry-After`), which UCP
//!   calls asynchronous discovery; if it has no bytes left, entries are evicted.
//! - Of this budget strangers use their shares only ([`Directory::charged_to`], [`ucp_net::shares`]): what they prove to be
//!   and the network that they come from count, not the platforms that they name. So a path that never answers takes one
//!   place of its origin, and of all, for as long as a fetch may take, and leaves places to callers from elsewhere.
//! - Platforms that the operator registered are not subject to these limits: callers of [`Directory::get`] never wait
//!   for them, they are never evicted, and their fetches do not count against the budget.

use std::{
    collections::HashSet,
    future::Future,
    sync::{Arc, PoisonError, RwLock, Weak},
    time::Duration,
};

use tokio::{sync::oneshot, time::Instant};
use ucp_core::{Code, Refusal, operation::Usable};
use ucp_net::in_flight::{self, InFlight, Pending};

use self::{
    budget::{JOINS, Shares},
    memory::{Table, table, whole_seconds},
};
use crate::{
    address::ProfileUrl,
    fetch::{Fetch, Fetched},
    limit::Share,
    profile::PlatformProfile,
};

mod budget;
mod memory;
#[cfg(test)]
mod tests;

pub use self::memory::{Failure, KnownPlatform};

/// Memory for failures, in bytes. Forced refreshes get the same amount.
const LEDGER: u64 = 4 * 1024 * 1024;

/// Parser of a document that is fetched, which returns notes on tolerated faults as well.
pub type ReadProfile = fn(&[u8]) -> Result<(PlatformProfile, Vec<String>), Refusal>;

/// Times and limits of a [`Directory`].
#[derive(Clone, Debug)]
pub struct DirectoryOptions {
    /// Memory for profiles and the values derived from them, in bytes; registered platforms do not count.
    pub capacity: u64,
    /// Minimum time for which a profile is fresh, regardless of what its server states (rule AGT-05). Also the minimum
    /// time between two forced refreshes at one origin (rule AGT-06).
    pub min_ttl: Duration,
    /// Maximum time for which a profile is fresh.
    pub max_ttl: Duration,
    /// Time after the end of its freshness for which a profile is served without waiting, while it is fetched again.
    pub stale_while_revalidate: Duration,
    /// Time after the end of its freshness for which a profile is served if it cannot be fetched again.
    pub stale_if_error: Duration,
    /// Time for which a profile is not fetched again after its first failure; doubled after each further one.
    pub min_backoff: Duration,
    /// Maximum of that time.
    pub max_backoff: Duration,
    /// Long-term rate of fetches for platforms that are not registered, per second.
    pub fetches_per_second: u32,
    /// Maximum number of such fetches in an instant.
    pub fetch_burst: u32,
    /// Maximum number of such fetches in flight. As many wait for a place.
    pub concurrent_fetches: usize,
    /// Maximum number of such fetches in flight to one origin, so that one slow host cannot block all others. As many wait
    /// for a place.
    pub concurrent_fetches_per_origin: usize,
    /// Maximum time for which a fetch waits for a place.
    pub max_wait: Duration,
    /// Parser of what is fetched.
    pub read: ReadProfile,
}

impl Default for DirectoryOptions {
    fn default() -> Self {
        Self {
            capacity: 64 * 1024 * 1024,
            min_ttl: Duration::from_mins(1),
            max_ttl: Duration::from_hours(24),
            stale_while_revalidate: Duration::from_mins(10),
            stale_if_error: Duration::from_hours(24),
            min_backoff: Duration::from_secs(1),
            max_backoff: Duration::from_mins(5),
            fetches_per_second: 20,
            fetch_burst: 40,
            concurrent_fetches: 32,
            concurrent_fetches_per_origin: 8,
            max_wait: Duration::from_secs(2),
            read: PlatformProfile::read,
        }
    }
}

/// A value kept with a profile, which knows its size in memory.
pub trait Weigh {
    /// Returns the memory that the value holds besides its own size, in bytes.
    fn weight(&self) -> usize;
}

impl Weigh for () {
    fn weight(&self) -> usize {
        0
    }
}

/// Directory of known platforms and the values derived from their profiles. Cheap to clone; clones share all state.
pub struct Directory<V> {
    inner: Arc<DirectoryState<V>>,
    /// Caller that causes fetches.
    share: Option<Share>,
}

impl<V> Clone for Directory<V> {
    fn clone(&self) -> Self {
        Self { inner: Arc::clone(&self.inner), share: self.share.clone() }
    }
}

type Derive<V> = Box<dyn Fn(&PlatformProfile) -> V + Send + Sync>;
type Outcome<V> = Result<Arc<KnownPlatform<V>>, Refusal>;
type Fetches<'a, V> = in_flight::Table<'a, ProfileUrl, Outcome<V>>;

struct DirectoryState<V> {
    options: DirectoryOptions,
    fetcher: Box<dyn Fetch>,
    derive: Derive<V>,
    known: Table<Arc<KnownPlatform<V>>>,
    failures: Table<Arc<Failure>>,
    /// Time of the last forced refresh, by origin.
    forced: Table<Instant>,
    /// Platforms that are registered by address; their fetches do not count against the budget.
    followed: RwLock<HashSet<ProfileUrl>>,
    fetches: InFlight<ProfileUrl, Outcome<V>>,
    /// Budget of fetches for platforms that are not registered.
    shares: Shares,
}

impl<V: Weigh + Send + Sync + 'static> Directory<V> {
    /// Creates an empty directory. `derive` computes the value that every request needs, once for each fetched or
    /// pinned profile.
    pub fn new(
        fetcher: impl Fetch,
        options: DirectoryOptions,
        derive: impl Fn(&PlatformProfile) -> V + Send + Sync + 'static,
    ) -> Self {
        let shares = Shares::new(&options, Instant::now());
        let inner = DirectoryState {
            shares,
            known: table(options.capacity),
            failures: table(LEDGER),
            forced: table(LEDGER),
            followed: RwLock::default(),
            fetches: InFlight::default(),
            fetcher: Box::new(fetcher),
            derive: Box::new(derive),
            options,
        };
        Self { inner: Arc::new(inner), share: None }
    }

    /// Returns the same directory for a caller: fetches that it causes count for its share of the budget too.
    pub fn charged_to(&self, share: Option<&Share>) -> Self {
        Self { share: share.cloned(), ..self.clone() }
    }

    /// Registers a platform with a profile that the operator supplies. It never expires and is never fetched.
    pub fn pin(&self, url: ProfileUrl, profile: PlatformProfile) {
        self.inner.followed_mut().remove(&url);
        let derived = (self.inner.derive)(&profile);
        self.inner.keep(KnownPlatform::pinned(url, profile, derived, None));
    }

    /// Registers a platform by the address of its profile. The profile is fetched regularly in the background, and
    /// served for as long as no newer one could be fetched. Has no effect on a platform that is already registered by
    /// address.
    ///
    /// The future yields the result of the first fetch, or `Ok` at once if the platform was already registered. It need
    /// not be awaited: the directory keeps trying by itself. Must be called inside of a Tokio runtime.
    pub fn pin_url(&self, url: ProfileUrl) -> impl Future<Output = Result<(), Refusal>> + Send + 'static {
        let (told, first) = oneshot::channel();
        if self.inner.followed_mut().insert(url.clone()) {
            tokio::spawn(follow(Arc::downgrade(&self.inner), url, told));
        }
        // The sender is dropped if the platform was already registered or the directory is gone.
        async { first.await.unwrap_or(Ok(())) }
    }

    /// Returns a platform if it is known and its profile is fresh, which suffices for most requests. Fetches nothing.
    ///
    /// `url` need not be parsed as a [`ProfileUrl`] first: only normalized texts of checked addresses are found.
    pub fn peek(&self, url: &str) -> Option<Arc<KnownPlatform<V>>> {
        self.inner.known.get(url).filter(|known| self.inner.usable(known) == Usable::Fresh)
    }

    /// Returns the failure to fetch the profile of an unknown platform, for as long as it is not fetched again. Fetches
    /// nothing; `url` is looked up as by [`Directory::peek`].
    pub fn peek_failure(&self, url: &str) -> Option<Arc<Failure>> {
        let failure = self.inner.failures.get(url)?;
        (failure.until > Instant::now() && self.inner.known.peek(url).is_none()).then_some(failure)
    }

    /// Returns a platform, and fetches its profile if necessary.
    ///
    /// # Errors
    /// - [`Code::InvalidProfileUrl`], [`Code::ProfileUnreachable`] or [`Code::ProfileMalformed`] if the profile cannot
    ///   be fetched or read, or could not be a short time ago;
    /// - [`Code::Unavailable`] if the limits on fetches for platforms that are not registered are reached;
    /// - [`Code::InternalError`] if the task that fetches the profile fails.
    pub async fn get(&self, url: &ProfileUrl) -> Result<Arc<KnownPlatform<V>>, Refusal> {
        let inner = &self.inner;
        let known = inner.known.get(url.as_str());
        let usable = known.as_ref().map_or(Usable::Expired, |known| inner.usable(known));
        match (known, usable) {
            (Some(known), Usable::Fresh) => Ok(known),
            (Some(known), _) if inner.is_followed(url) => Ok(known),
            (None, _) if inner.is_followed(url) => Err(inner.not_yet(url)),
            (Some(known), Usable::WhileRevalidating) => {
                // If no fetch can be started, the known profile is still served.
                let _ = inner.fetch(&mut inner.fetches.table(), url, false, self.share.as_ref());
                Ok(known)
            }
            (Some(known), Usable::OnError) => self.fetched(url).await.or(Ok(known)),
            (_, Usable::Expired) | (None, _) => self.fetched(url).await,
        }
    }

    /// Fetches a profile, or joins the fetch of another caller. If that finds no place in the share of the other one, this
    /// caller tries its own.
    async fn fetched(&self, url: &ProfileUrl) -> Outcome<V> {
        let mut tries = 0;
        loop {
            let (is_joined, fetch) = {
                let mut fetches = self.inner.fetches.table();
                (fetches.get(url).is_some(), self.inner.fetch(&mut fetches, url, false, self.share.as_ref())?)
            };
            tries += 1;
            match outcome(fetch).await {
                Err(refusal) if is_joined && refusal.code == Code::Unavailable && tries < JOINS => {}
                ended => return ended,
            }
        }
    }

    /// Works like [`Directory::get`], but does not wait for an unknown platform whose last fetch failed: callers get
    /// that failure at once, and when another attempt is due, it is made in the background. For callers that also serve
    /// unknown platforms. Fails like [`Directory::get`].
    pub async fn get_or_last_failure(&self, url: &ProfileUrl) -> Result<Arc<KnownPlatform<V>>, Refusal> {
        let inner = &self.inner;
        let unknown = inner.known.peek(url.as_str()).is_none();
        if let Some(failure) = inner.failures.get(url.as_str()).filter(|_| unknown) {
            let now = Instant::now();
            if failure.until <= now {
                // The outcome is for later callers.
                let _ = inner.fetch(&mut inner.fetches.table(), url, false, self.share.as_ref());
            }
            return Err(failure.refusal(now));
        }
        self.get(url).await
    }

    /// Returns a platform that has signed with the key `kid`. If its profile has no such key, the profile is fetched
    /// again first, but at most once per origin in [`DirectoryOptions::min_ttl`] (rule AGT-06), and only if the limits
    /// of [`Directory::get`] leave room. If it is not fetched, or the fetch fails, the result is the known profile.
    /// Fails like [`Directory::get`].
    pub async fn refresh_for_key(&self, url: &ProfileUrl, kid: &str) -> Result<Arc<KnownPlatform<V>>, Refusal> {
        let asked_at = Instant::now();
        let known = self.get(url).await?;
        let fetchable = known.fresh_until.is_some();
        if known.profile.key(kid).is_some() || known.fetched_at >= asked_at || !fetchable {
            return Ok(known);
        }
        match self.inner.force(url, self.share.as_ref()) {
            Some(fetch) => outcome(fetch).await.or(Ok(known)),
            None => Ok(known),
        }
    }

    /// Returns the number of known platforms.
    pub fn len(&self) -> usize {
        self.inner.known.len()
    }

    /// Returns `true` if no platform is known.
    pub fn is_empty(&self) -> bool {
        self.inner.known.is_empty()
    }

    /// Returns the memory taken by platforms that are not registered, in bytes.
    pub fn weight(&self) -> u64 {
        self.inner.known.weight()
    }
}

impl<V: Weigh + Send + Sync + 'static> DirectoryState<V> {
    fn is_followed(&self, url: &ProfileUrl) -> bool {
        self.followed.read().unwrap_or_else(PoisonError::into_inner).contains(url)
    }

    fn followed_mut(&self) -> impl std::ops::DerefMut<Target = HashSet<ProfileUrl>> {
        self.followed.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn usable(&self, known: &KnownPlatform<V>) -> Usable {
        known.usable(Instant::now(), &self.options)
    }

    fn keep(&self, known: KnownPlatform<V>) -> Arc<KnownPlatform<V>> {
        let known = Arc::new(known);
        self.known.insert(known.url.as_str().into(), Arc::clone(&known));
        known
    }

    /// Joins the fetch of a profile that is in flight, or starts one. `again` is `true` for a fetch although the
    /// profile is known and fresh.
    fn fetch(
        self: &Arc<Self>,
        fetches: &mut Fetches<'_, V>,
        url: &ProfileUrl,
        again: bool,
        share: Option<&Share>,
    ) -> Result<Pending<Outcome<V>>, Refusal> {
        if let Some(fetch) = fetches.get(url) {
            return Ok(fetch);
        }
        // A fetch may have ended since the caller looked.
        let fresh = self.known.peek(url.as_str()).filter(|known| !again && self.usable(known) == Usable::Fresh);
        if let Some(known) = fresh {
            return Ok(Pending::ended(Ok(known)));
        }
        let now = Instant::now();
        if let Some(failure) = self.failures.get(url.as_str()).filter(|failure| failure.until > now) {
            return Err(failure.refusal(now));
        }
        let charged = (!self.is_followed(url)).then(|| share.and_then(Share::groups));
        if charged.is_some() {
            self.shares.charge(share, now).map_err(busy)?;
        }
        let (call, pending) = fetches.begin(url);
        let (inner, url) = (Arc::clone(self), url.clone());
        call.spawn(|| async move {
            let Some(stranger) = charged else { return inner.visit(&url).await };
            let Some(_place) = inner.shares.enter(url.origin(), stranger).await else {
                return Err(busy(Duration::ZERO));
            };
            inner.visit(&url).await
        });
        Ok(pending)
    }

    /// Starts or joins a fetch although the profile is fresh; returns `None` if that is not allowed now.
    fn force(self: &Arc<Self>, url: &ProfileUrl, share: Option<&Share>) -> Option<Pending<Outcome<V>>> {
        let mut fetches = self.fetches.table();
        if let Some(fetch) = fetches.get(url) {
            return Some(fetch);
        }
        let now = Instant::now();
        if self.forced.get(url.origin()).is_some_and(|at| now < at + self.options.min_ttl) {
            return None;
        }
        let fetch = self.fetch(&mut fetches, url, true, share).ok()?;
        self.forced.insert(url.origin().into(), now);
        Some(fetch)
    }

    /// Fetches a profile and stores the outcome.
    async fn visit(&self, url: &ProfileUrl) -> Outcome<V> {
        let fetched = self.fetcher.fetch(url).await.map_err(Refusal::from);
        match fetched.and_then(|Fetched { body, max_age }| Ok(((self.options.read)(&body)?, max_age))) {
            Ok(((profile, notes), max_age)) => {
                if !notes.is_empty() {
                    tracing::info!(profile.url = %url, ?notes, "platform profile has faults that were tolerated");
                }
                let followed = self.is_followed(url);
                // The platform may have been registered in the meantime.
                if let Some(pinned) = self.known.peek(url.as_str()).filter(|known| known.is_pinned() && !followed) {
                    return Ok(pinned);
                }
                let derived = (self.derive)(&profile);
                let least = self.options.min_ttl;
                let lifetime = max_age.unwrap_or(least).min(self.options.max_ttl).max(least);
                let known = if followed {
                    KnownPlatform::pinned(url.clone(), profile, derived, Some(lifetime))
                } else {
                    KnownPlatform::cached(url.clone(), profile, derived, lifetime)
                };
                self.failures.remove(url.as_str());
                Ok(self.keep(known))
            }
            Err(refusal) => {
                tracing::info!(profile.url = %url, %refusal, "fetching a platform profile failed");
                Err(self.remember(url, refusal))
            }
        }
    }

    /// Stores a failure, with a pause twice as long as the last one if that was not long ago.
    fn remember(&self, url: &ProfileUrl, refusal: Refusal) -> Refusal {
        let now = Instant::now();
        let DirectoryOptions { min_backoff, max_backoff, .. } = self.options;
        let last = self.failures.get(url.as_str()).filter(|last| now < last.until + max_backoff);
        let attempts = last.map_or(0, |last| last.attempts).saturating_add(1);
        let pause = min_backoff.saturating_mul(2u32.saturating_pow(attempts - 1)).min(max_backoff);
        let failure = Arc::new(Failure { url: url.clone(), refusal, attempts, until: now + pause });
        self.failures.insert(url.as_str().into(), Arc::clone(&failure));
        failure.refusal(now)
    }

    /// Returns the refusal for a registered platform whose profile is not known yet.
    fn not_yet(&self, url: &ProfileUrl) -> Refusal {
        let now = Instant::now();
        match self.failures.get(url.as_str()) {
            Some(failure) => failure.refusal(now),
            None => Refusal {
                retry_after: Some(1),
                ..Refusal::new(Code::ProfileUnreachable, "The platform's profile is being fetched for the first time.")
            },
        }
    }

    /// Returns the time at which a registered platform is to be fetched again.
    fn due(&self, url: &ProfileUrl, outcome: &Outcome<V>) -> Instant {
        let soon = Instant::now() + self.options.min_backoff;
        let due = match outcome {
            Ok(known) => known.fresh_until,
            Err(_) => self.failures.get(url.as_str()).map(|failure| failure.until),
        };
        due.map_or(soon, |due| due.max(soon))
    }
}

/// Returns the refusal of a fetch for which the limits leave no room, for some time.
fn busy(wait: Duration) -> Refusal {
    Refusal::unavailable(
        "The platform's profile is not cached yet, and too many profiles are being fetched.",
        whole_seconds(wait),
    )
}

/// Waits for the outcome of a fetch, which is [`Refusal::internal`] if its task failed.
async fn outcome<V>(fetch: Pending<Outcome<V>>) -> Outcome<V> {
    fetch.outcome().await.unwrap_or_else(|| Err(Refusal::internal()))
}

/// Keeps the profile of a registered platform fresh, for as long as the platform is registered by address and the
/// directory exists.
async fn follow<V: Weigh + Send + Sync + 'static>(
    directory: Weak<DirectoryState<V>>,
    url: ProfileUrl,
    told: oneshot::Sender<Result<(), Refusal>>,
) {
    let mut told = Some(told);
    loop {
        let Some(inner) = directory.upgrade().filter(|inner| inner.is_followed(&url)) else { return };
        let fetch = inner.fetch(&mut inner.fetches.table(), &url, true, None);
        let outcome = match fetch {
            Ok(fetch) => outcome(fetch).await,
            Err(refusal) => Err(refusal),
        };
        let due = inner.due(&url, &outcome);
        drop(inner);
        if let Some(told) = told.take() {
            // The receiver may have been dropped.
            let _ = told.send(outcome.map(|_| ()));
        }
        tokio::time::sleep_until(due).await;
    }
}
