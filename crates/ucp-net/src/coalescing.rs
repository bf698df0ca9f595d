//! Coalesced reads: equal ones at the same time are one call, and what came back is kept for a while (RFC 5861).
//!
//! A read is equal to another when their [`Key`]s are: shop, release of its API, operation, language, currency,
//! country, and the normalized request. What depends on the buyer (a token, eligibility) must not come here at all, nor
//! do carts and checkouts: their rows of the operation table have no `freshness`.
//!
//! - The call that fills runs as a task of its own. A caller that goes away neither cancels it nor causes another.
//! - A failure, or a panic, is told to everybody who waited, and not kept.
//! - What went stale is served for a while, and renewed by one call in the background; or, later, when the upstream
//!   fails.
//! - What is kept is bounded by the bytes it takes, and calls under way by their number.

use std::{
    fmt,
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};
use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};
use tokio::time::{Instant, timeout_at};
use ucp_core::{
    message::Message,
    operation::{Freshness, Usable},
};
use ucp_record::{self as record, Cached, Stage};

use super::{
    Clock, Counters, Failure, deadline,
    in_flight::{InFlight, Pending},
};

/// Size of an entry beside key and value, in bytes: its slot and the allocations around it.
const OVERHEAD: usize = 400;

/// The part of a value that is added to it, because the allocator rounds up.
const ROUNDED: usize = 8;

/// Expected size of an entry, in bytes, for the size of the table.
const USUAL: u64 = 4 << 10;

/// Key of a read: a list of texts, compared byte by byte. Reads with the same key are equal.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(Arc<[u8]>);

impl Key {
    /// The key made of these parts, in their order. No two different lists have the same key.
    pub fn of<T: AsRef<[u8]>>(parts: impl IntoIterator<Item = T>) -> Self {
        let mut bytes = Vec::with_capacity(256);
        for part in parts {
            let part = part.as_ref();
            bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
            bytes.extend_from_slice(part);
        }
        Self(bytes.into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Key").field(&self.0.len()).finish()
    }
}

/// Result of a fill.
#[derive(Clone, Debug)]
pub enum Filled<V> {
    /// Something to keep.
    Found(V),
    /// Absence of the value.
    Missing(V),
    /// Something that is good for those who wait, and not to be kept: a part failed.
    Once(V),
}

/// Result of a read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served<V> {
    /// The value.
    pub value: V,
    /// Time since the value was requested.
    pub age: Duration,
    /// Why it is older than it should be, if it is.
    pub stale: Option<Staleness>,
}

/// Age from which an answer says as of when its facts are.
const DATED_FROM: Duration = Duration::from_secs(10);

impl<V> Served<V> {
    /// Returns the message about facts of a shop that were kept: that the shop does not answer, or as of when they are.
    /// `None` for facts that were just stated.
    pub fn dated(&self, now: Timestamp) -> Option<Message> {
        if self.stale == Some(Staleness::Failed) { Some(stale(self.age)) } else { facts_as_of(self.age, now) }
    }
}

/// Returns the message that the shop does not answer, and how old the facts are.
pub fn stale(age: Duration) -> Message {
    let minutes = (age.as_secs() / 60).max(1);
    Message::warning(
        "stale",
        format!(
            "The shop does not answer at the moment. What is shown is about {minutes} min old; prices and availability may have changed."
        ),
    )
}

/// Returns the message that says as of when facts are; `None` if they were kept for less than `DATED_FROM`.
pub fn facts_as_of(age: Duration, now: Timestamp) -> Option<Message> {
    let span = SignedDuration::try_from(age).ok().filter(|_| age >= DATED_FROM)?;
    let as_of = now.checked_sub(span).ok()?;
    let content = format!("Prices and availability are those of {as_of:.0}, when the shop was asked last.");
    Some(Message::info("facts_as_of", content))
}

/// Why something stale is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// It is being renewed.
    Renewing,
    /// The upstream failed.
    Failed,
}

/// A cache of one kind of value. Clones are the same one.
#[derive(Clone)]
pub struct CoalescingCache<V>(Arc<CacheState<V>>);
ucp_core::opaque!(CoalescingCache<V>);

/// Capacity of a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// Bytes of what is kept.
    pub bytes: u64,
    /// Calls under way.
    pub fills: usize,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { bytes: 64 << 20, fills: 256 }
    }
}

struct CacheState<V> {
    kept: Cache<Key, Arc<Entry<V>>, InBytes>,
    in_flight: InFlight<Key, Result<V, Failure>>,
    most: usize,
    /// Time of the last [`forget`](CoalescingCache::forget): what was requested before is not kept.
    forgotten: Mutex<Option<Instant>>,
    weigh: fn(&V) -> usize,
    clock: Clock,
    counters: Arc<Counters>,
}

struct Entry<V> {
    value: V,
    since: Instant,
    missing: bool,
    weight: u64,
}

impl<V> Entry<V> {
    fn usable(&self, freshness: &Freshness, now: Instant) -> Usable {
        let age = now.saturating_duration_since(self.since);
        if self.missing { freshness.usable_miss(age) } else { freshness.usable(age) }
    }
}

#[derive(Clone, Copy)]
struct InBytes;

impl<V> Weighter<Key, Arc<Entry<V>>> for InBytes {
    fn weight(&self, _: &Key, entry: &Arc<Entry<V>>) -> u64 {
        entry.weight
    }
}

impl<V: Clone + Send + Sync + 'static> CoalescingCache<V> {
    /// Nothing read yet. `weigh` says how many bytes a value takes. A value is cloned for everybody who gets it: use an
    /// `Arc`.
    pub fn new(capacity: Capacity, weigh: fn(&V) -> usize, clock: Clock, counters: Arc<Counters>) -> Self {
        let (kept, in_flight) = (cache(capacity.bytes), InFlight::default());
        let (most, forgotten) = (capacity.fills, Mutex::default());
        Self(Arc::new(CacheState { kept, in_flight, most, forgotten, weigh, clock, counters }))
    }

    /// Drops the values that `concerns` names. What is being read is not kept either.
    pub fn forget(&self, concerns: impl Fn(&V) -> bool) {
        *self.0.forgotten.lock().unwrap_or_else(PoisonError::into_inner) = Some((self.0.clock)());
        self.0.kept.retain(|_, entry| !concerns(&entry.value));
    }

    /// Returns the size of the kept entries, in bytes, as they are weighed.
    pub fn bytes(&self) -> u64 {
        self.0.kept.weight()
    }

    /// Returns the value that `fill` reads, or read before. `fill` runs at most once, as a task that ends by itself; it
    /// has to be bounded in time, as calls to an [`Upstream`](super::Upstream) are. The caller waits until the
    /// [deadline](deadline::within) that is in force where it is. Fails with the failure of the fill that was waited
    /// for, when there is nothing to serve instead; [`Failure::Saturated`] when too many are under way,
    /// [`Failure::Expired`] when the deadline came first.
    pub async fn get<F, R>(&self, key: &Key, freshness: Freshness, fill: F) -> Result<Served<V>, Failure>
    where
        F: FnOnce() -> R + Send,
        R: Future<Output = Result<Filled<V>, Failure>> + Send + 'static,
    {
        let CacheState { kept, clock, counters, .. } = &*self.0;
        let known = kept.get(key);
        let now = clock();
        let usable = known.as_ref().map_or(Usable::Expired, |entry| entry.usable(&freshness, now));
        match (&known, usable) {
            (Some(entry), Usable::Fresh) => {
                counters.cached.add();
                looked_up(Cached::Hit);
                return Ok(serve(entry, now, None));
            }
            (Some(entry), Usable::WhileRevalidating) => {
                // Whoever is in the way of that is renewing it, or everybody is busy: the next caller tries again.
                if let Ok(Joined::Began(_)) = self.join(key, &freshness, fill) {
                    counters.refreshed.add();
                }
                counters.stale_renewed.add();
                looked_up(Cached::Stale);
                return Ok(serve(entry, now, Some(Staleness::Renewing)));
            }
            _ => {}
        }
        let result = match self.join(key, &freshness, fill) {
            Ok(Joined::Kept(entry)) => {
                counters.cached.add();
                looked_up(Cached::Hit);
                return Ok(serve(&entry, clock(), None));
            }
            Ok(Joined::Began(call)) => {
                counters.filled.add();
                looked_up(Cached::Miss);
                record::during(Stage::Upstream, landed(call)).await
            }
            Ok(Joined::Other(call)) => {
                counters.coalesced.add();
                looked_up(Cached::Coalesced);
                record::during(Stage::Upstream, landed(call)).await
            }
            Err(failure) => Err(failure),
        };
        match (result, known) {
            (Ok(value), _) => Ok(Served { value, age: Duration::ZERO, stale: None }),
            (Err(failure), Some(entry)) => match entry.usable(&freshness, clock()) {
                Usable::Expired => Err(failure),
                _ => {
                    counters.stale_failed.add();
                    Ok(serve(&entry, clock(), Some(Staleness::Failed)))
                }
            },
            (Err(failure), None) => Err(failure),
        }
    }

    /// The call for this key that is under way, or a new one. What was kept meanwhile comes first.
    fn join<F, R>(&self, key: &Key, freshness: &Freshness, fill: F) -> Result<Joined<V>, Failure>
    where
        F: FnOnce() -> R + Send,
        R: Future<Output = Result<Filled<V>, Failure>> + Send + 'static,
    {
        let inner = &self.0;
        let mut calls = inner.in_flight.table();
        if let Some(call) = calls.get(key) {
            return Ok(Joined::Other(call));
        }
        // A call that ended after the cache was asked is found there: it is kept before it is taken off the table.
        let now = (inner.clock)();
        if let Some(entry) = inner.kept.get(key).filter(|entry| entry.usable(freshness, now) == Usable::Fresh) {
            return Ok(Joined::Kept(entry));
        }
        if calls.keys().len() >= inner.most {
            inner.counters.shed.add();
            return Err(Failure::Saturated);
        }
        let (call, pending) = calls.begin(key);
        drop(calls);
        let (cache, key, keep) = (Arc::clone(inner), key.clone(), *freshness != Freshness::NONE);
        // It begins here, where it can borrow: nothing is copied for what is kept already.
        call.spawn(move || {
            let filling = fill();
            async move { cache.keep(key, filling.await, now, keep) }
        });
        Ok(Joined::Began(pending))
    }
}

/// Fill that a read joins.
enum Joined<V> {
    /// Nothing: it was kept meanwhile.
    Kept(Arc<Entry<V>>),
    /// A call of its own.
    Began(Pending<Result<V, Failure>>),
    /// Another's.
    Other(Pending<Result<V, Failure>>),
}

impl<V: Clone> CacheState<V> {
    /// Keeps what a fill came back with, if it is to be kept.
    fn keep(&self, key: Key, filled: Result<Filled<V>, Failure>, since: Instant, keep: bool) -> Result<V, Failure> {
        let (value, keep, missing) = match filled? {
            Filled::Found(value) => (value, keep, false),
            Filled::Missing(value) => (value, keep, true),
            Filled::Once(value) => (value, false, false),
        };
        let forgotten = *self.forgotten.lock().unwrap_or_else(PoisonError::into_inner);
        if keep && forgotten.is_none_or(|forgotten| forgotten < since) {
            let own = (self.weigh)(&value);
            let weight = (OVERHEAD + key.0.len() + own + own / ROUNDED) as u64;
            self.kept.insert(key, Arc::new(Entry { value: value.clone(), since, missing, weight }));
        }
        Ok(value)
    }
}

/// The result of a call, if it comes in time.
async fn landed<V: Clone>(call: Pending<Result<V, Failure>>) -> Result<V, Failure> {
    let outcome = async { call.outcome().await.unwrap_or(Err(Failure::Abandoned)) };
    match deadline::current() {
        // The fill goes on. Nothing is known about what it sent.
        Some(deadline) => timeout_at(deadline, outcome).await.unwrap_or(Err(Failure::Expired { sent: true })),
        None => outcome.await,
    }
}

fn looked_up(cached: Cached) {
    record::note(|facts| facts.looked_up(cached));
}

fn serve<V: Clone>(entry: &Entry<V>, now: Instant, stale: Option<Staleness>) -> Served<V> {
    Served { value: entry.value.clone(), age: now.saturating_duration_since(entry.since), stale }
}

fn cache<V>(bytes: u64) -> Cache<Key, Arc<Entry<V>>, InBytes> {
    // Few shards: an entry can be no larger than its shard, and one answer may be large.
    let options = OptionsBuilder::new()
        .shards(4)
        .weight_capacity(bytes)
        .estimated_items_capacity(usize::try_from(bytes / USUAL).unwrap_or(usize::MAX).max(64))
        .build();
    match options {
        Ok(options) => {
            Cache::with_options(options, InBytes, DefaultHashBuilder::default(), DefaultLifecycle::default())
        }
        Err(_) => Cache::with_weighter(64, bytes, InBytes),
    }
}
