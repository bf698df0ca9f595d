//! Reads that are shared: equal ones at the same time are one call, and what came back is kept for a while.
//!
//! A read is equal to another when their [`Key`]s are: shop, release of its API, operation, language, currency, country,
//! and the normalised request. What depends on the buyer (a token, eligibility) must not come here at all, nor do carts
//! and checkouts: their rows of the operation table have no `freshness`.
//!
//! - The call that fills runs as a task of its own. A caller that goes away neither cancels it nor causes another.
//! - A failure, or a panic, is told to everybody who waited, and not kept.
//! - What went stale is served for a while, and renewed by one call in the background; or, later, when the upstream fails.
//! - What is kept is bounded by the bytes it takes, and calls under way by their number.

use std::{
    collections::HashMap,
    fmt,
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::FutureExt as _;
use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};
use tokio::{
    sync::watch,
    time::{Instant, timeout_at},
};
use tracing::Instrument as _;
use ucp_core::operation::Freshness;

use super::{Clock, Counters, Failure, deadline};

/// What an entry costs beside key and value, in bytes: its slot and the allocations around it.
const OVERHEAD: usize = 400;

/// The part of a value that is added to it, because the allocator rounds up.
const ROUNDED: usize = 8;

/// How many bytes an entry is expected to have, for the size of the table.
const USUAL: u64 = 4 << 10;

/// What two reads have to have in common to be equal: a list of texts, compared byte by byte.
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

/// What a fill came back with.
#[derive(Clone, Debug)]
pub enum Filled<V> {
    /// Something to keep.
    Found(V),
    /// That there is nothing.
    Missing(V),
    /// Something that is good for those who wait, and not to be kept: a part failed.
    Once(V),
}

/// What a read is answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served<V> {
    /// The value.
    pub value: V,
    /// How long ago it was asked for.
    pub age: Duration,
    /// Why it is older than it should be, if it is.
    pub stale: Option<Staleness>,
}

/// Why something stale is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Staleness {
    /// It is being renewed.
    Renewing,
    /// The upstream failed.
    Failed,
}

/// The shared reads of one kind of value. Clones are the same ones.
pub struct Shared<V>(Arc<Inner<V>>);

/// How much is shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capacity {
    /// How many bytes are kept.
    pub bytes: u64,
    /// How many calls are under way at most.
    pub fills: usize,
}

impl Default for Capacity {
    fn default() -> Self {
        Self { bytes: 64 << 20, fills: 256 }
    }
}

struct Inner<V> {
    kept: Cache<Key, Arc<Entry<V>>, InBytes>,
    flights: Mutex<HashMap<Key, Flight<V>>>,
    most: usize,
    weigh: fn(&V) -> usize,
    clock: Clock,
    counters: Arc<Counters>,
}

/// Where the result of a call under way will be.
type Flight<V> = watch::Receiver<Option<Result<V, Failure>>>;

struct Entry<V> {
    value: V,
    since: Instant,
    missing: bool,
    weight: u64,
}

/// How an entry can be used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    AsIs,
    WhileRenewing,
    OnError,
    No,
}

impl<V> Entry<V> {
    fn usable(&self, freshness: &Freshness, now: Instant) -> Use {
        let Freshness { fresh, while_revalidating, on_error, missing } = *freshness;
        let age = now.saturating_duration_since(self.since);
        if age < if self.missing { missing } else { fresh } {
            Use::AsIs
        } else if self.missing {
            Use::No
        } else if age < fresh.saturating_add(while_revalidating) {
            Use::WhileRenewing
        } else if age < fresh.saturating_add(on_error) {
            Use::OnError
        } else {
            Use::No
        }
    }
}

#[derive(Clone, Copy)]
struct InBytes;

impl<V> Weighter<Key, Arc<Entry<V>>> for InBytes {
    fn weight(&self, _: &Key, entry: &Arc<Entry<V>>) -> u64 {
        entry.weight
    }
}

impl<V> Clone for Shared<V> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<V> fmt::Debug for Shared<V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl<V: Clone + Send + Sync + 'static> Shared<V> {
    /// Nothing read yet. `weigh` says how many bytes a value takes. A value is cloned for everybody who gets it: use an
    /// `Arc`.
    #[must_use]
    pub fn new(capacity: Capacity, weigh: fn(&V) -> usize, clock: Clock, counters: Arc<Counters>) -> Self {
        let (kept, flights) = (cache(capacity.bytes), Mutex::default());
        Self(Arc::new(Inner { kept, flights, most: capacity.fills, weigh, clock, counters }))
    }

    /// How many bytes are kept, as they are weighed.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.0.kept.weight()
    }

    /// What `fill` reads, or read before. It is run at most once, as a task that ends by itself; it has to be bounded in
    /// time, as calls to an [`Upstream`](super::Upstream) are. The caller waits until the
    /// [deadline](deadline::within) that is in force where it is.
    ///
    /// # Errors
    /// The failure of the fill that was waited for, when there is nothing to serve instead; [`Failure::Saturated`] when too
    /// many are under way, [`Failure::Expired`] when the deadline came first.
    pub async fn get<F, R>(&self, key: &Key, freshness: Freshness, fill: F) -> Result<Served<V>, Failure>
    where
        F: FnOnce() -> R + Send,
        R: Future<Output = Result<Filled<V>, Failure>> + Send + 'static,
    {
        let Inner { kept, clock, counters, .. } = &*self.0;
        let known = kept.get(key);
        let now = clock();
        let usable = known.as_ref().map_or(Use::No, |entry| entry.usable(&freshness, now));
        match (&known, usable) {
            (Some(entry), Use::AsIs) => {
                counters.cached.add();
                return Ok(serve(entry, now, None));
            }
            (Some(entry), Use::WhileRenewing) => {
                // Whoever is in the way of that is renewing it, or everybody is busy: the next caller tries again.
                if let Ok(Joined::Began(_)) = self.join(key, &freshness, fill) {
                    counters.refreshed.add();
                }
                counters.stale_renewed.add();
                return Ok(serve(entry, now, Some(Staleness::Renewing)));
            }
            _ => {}
        }
        let result = match self.join(key, &freshness, fill) {
            Ok(Joined::Kept(entry)) => {
                counters.cached.add();
                return Ok(serve(&entry, clock(), None));
            }
            Ok(Joined::Began(flight)) => {
                counters.filled.add();
                landed(flight).await
            }
            Ok(Joined::Other(flight)) => {
                counters.coalesced.add();
                landed(flight).await
            }
            Err(failure) => Err(failure),
        };
        match (result, known) {
            (Ok(value), _) => Ok(Served { value, age: Duration::ZERO, stale: None }),
            (Err(failure), Some(entry)) => match entry.usable(&freshness, clock()) {
                Use::No => Err(failure),
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
        let mut flights = self.0.flights();
        if let Some(flight) = flights.get(key) {
            return Ok(Joined::Other(flight.clone()));
        }
        // A call that ended after the cache was asked is found there: it is kept before it is taken off the list.
        let now = (self.0.clock)();
        if let Some(entry) = self.0.kept.get(key).filter(|entry| entry.usable(freshness, now) == Use::AsIs) {
            return Ok(Joined::Kept(entry));
        }
        if flights.len() >= self.0.most {
            self.0.counters.shed.add();
            return Err(Failure::Saturated);
        }
        let (result, flight) = watch::channel(None);
        flights.insert(key.clone(), flight.clone());
        drop(flights);
        let landing = Landing { shared: Arc::clone(&self.0), key: key.clone(), result };
        // It begins here, where it can borrow: nothing is copied for what is kept already.
        let filling = catch_unwind(AssertUnwindSafe(fill));
        let keep = *freshness != Freshness::NONE;
        let task = async move {
            let filled = match filling {
                Ok(filling) => AssertUnwindSafe(filling).catch_unwind().await,
                Err(panic) => Err(panic),
            };
            landing.land(filled.unwrap_or(Err(Failure::Abandoned)), now, keep);
        };
        tokio::spawn(task.in_current_span());
        Ok(Joined::Began(flight))
    }
}

/// What a read joins.
enum Joined<V> {
    /// Nothing: it was kept meanwhile.
    Kept(Arc<Entry<V>>),
    /// A call of its own.
    Began(Flight<V>),
    /// Another's.
    Other(Flight<V>),
}

impl<V> Inner<V> {
    fn flights(&self) -> MutexGuard<'_, HashMap<Key, Flight<V>>> {
        self.flights.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a call, however it comes.
struct Landing<V> {
    shared: Arc<Inner<V>>,
    key: Key,
    result: watch::Sender<Option<Result<V, Failure>>>,
}

impl<V: Clone> Landing<V> {
    fn land(self, filled: Result<Filled<V>, Failure>, since: Instant, keep: bool) {
        let result = match filled {
            Ok(Filled::Found(value)) => Ok((value, keep, false)),
            Ok(Filled::Missing(value)) => Ok((value, keep, true)),
            Ok(Filled::Once(value)) => Ok((value, false, false)),
            Err(failure) => Err(failure),
        };
        let result = result.map(|(value, keep, missing)| {
            if keep {
                let own = (self.shared.weigh)(&value);
                let weight = (OVERHEAD + self.key.0.len() + own + own / ROUNDED) as u64;
                let entry = Entry { value: value.clone(), since, missing, weight };
                self.shared.kept.insert(self.key.clone(), Arc::new(entry));
            }
            value
        });
        self.result.send_replace(Some(result));
    }
}

/// Also when the task is dropped, at the end of the process.
impl<V> Drop for Landing<V> {
    fn drop(&mut self) {
        self.shared.flights().remove(&self.key);
    }
}

/// The result of a call, if it comes in time.
async fn landed<V: Clone>(mut flight: Flight<V>) -> Result<V, Failure> {
    let landed = async {
        let result = flight.wait_for(Option::is_some).await.map_err(|_| Failure::Abandoned)?;
        result.clone().unwrap_or(Err(Failure::Abandoned))
    };
    match deadline::current() {
        // The fill goes on. Nothing is known about what it sent.
        Some(deadline) => timeout_at(deadline, landed).await.unwrap_or(Err(Failure::Expired { sent: true })),
        None => landed.await,
    }
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
