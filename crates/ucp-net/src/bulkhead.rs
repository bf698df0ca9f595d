//! How many calls to one upstream are under way.
//!
//! Each kind of traffic has places of its own: an upstream that is slow to search does not keep a buyer from paying. Of
//! these, one caller takes half at most, so that its slow questions leave room for those of others. Who finds no place
//! waits for a moment in a short queue, and is then turned away, so that callers learn at once what they would learn late.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use tower::ServiceExt as _;

use super::{
    Author, CallerId, Clock, Counters, Failure, Lane, Received, Scope, UpstreamRequest,
    policy::{Policy, Sender},
};

/// The size of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimit {
    /// How many calls are under way at most.
    pub places: usize,
    /// How many more wait for a place.
    pub queue: usize,
    /// How long they wait.
    pub max_wait: Duration,
}

impl ConcurrencyLimit {
    /// A room for so many calls, and as many again that wait for up to 100 ms.
    #[must_use]
    pub const fn of(places: usize) -> Self {
        Self { places, queue: places, max_wait: Duration::from_millis(100) }
    }
}

/// Places that the gateway's own questions have besides those of calls.
const PROBES: ConcurrencyLimit = ConcurrencyLimit::of(2);

/// The places of an upstream. Clones are the same ones.
#[derive(Clone)]
pub(super) struct Bulkhead(Arc<ConcurrencyLimits>);

struct ConcurrencyLimits {
    lanes: [Slots; Lane::ALL.len()],
    probes: Slots,
    clock: Clock,
    counters: Arc<Counters>,
}

struct Slots {
    places: Arc<Semaphore>,
    queue: Semaphore,
    max_wait: Duration,
    /// Places that one caller has at most.
    share: usize,
    /// Those that callers with calls under way have left.
    shares: Arc<Mutex<HashMap<CallerId, Arc<Semaphore>>>>,
}

/// A place, with the part of a caller's share that it takes.
struct Place {
    /// Given back first: a share without a permit out is forgotten.
    share: Option<(OwnedSemaphorePermit, Share)>,
    _place: OwnedSemaphorePermit,
}

struct Share {
    caller: CallerId,
    size: usize,
    shares: Arc<Mutex<HashMap<CallerId, Arc<Semaphore>>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some((permit, share)) = self.share.take() {
            drop(permit);
            share.forget();
        }
    }
}

impl Share {
    /// Forgets the share of a caller that has all of it left, and does not wait for a part.
    fn forget(&self) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let unused = |left: &Arc<Semaphore>| left.available_permits() == self.size && Arc::strong_count(left) == 1;
        if shares.get(&self.caller).is_some_and(unused) {
            shares.remove(&self.caller);
        }
    }
}

impl Slots {
    fn new(room: ConcurrencyLimit) -> Self {
        let semaphore = |count: usize| Semaphore::new(count.min(Semaphore::MAX_PERMITS));
        let (places, queue) = (Arc::new(semaphore(room.places)), semaphore(room.queue));
        let share = room.places.div_ceil(2).clamp(1, Semaphore::MAX_PERMITS);
        Self { places, queue, max_wait: room.max_wait, share, shares: Arc::default() }
    }

    /// A place, unless none becomes free in time.
    async fn enter(&self, caller: Option<CallerId>, until: Instant) -> Option<Place> {
        let left = caller.map(|caller| {
            let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
            let left = Arc::clone(shares.entry(caller).or_insert_with(|| Arc::new(Semaphore::new(self.share))));
            (left, Share { caller, size: self.share, shares: Arc::clone(&self.shares) })
        });
        let free = || Arc::clone(&self.places).try_acquire_owned().ok();
        let (share, place) = match left {
            None => (None, free()),
            Some((left, share)) => {
                let part = Arc::clone(&left).try_acquire_owned().ok();
                let part = match part {
                    Some(part) => Some(part),
                    None => match self.queue.try_acquire() {
                        Ok(_queued) => timeout_at(until, left.acquire_owned()).await.ok().and_then(Result::ok),
                        Err(_) => None,
                    },
                };
                let Some(part) = part else {
                    share.forget();
                    return None;
                };
                (Some((part, share)), free())
            }
        };
        let place = match place {
            Some(place) => Some(place),
            None => match self.queue.try_acquire() {
                Ok(_queued) => {
                    timeout_at(until, Arc::clone(&self.places).acquire_owned()).await.ok().and_then(Result::ok)
                }
                Err(_) => None,
            },
        };
        match (place, share) {
            (Some(place), share) => Some(Place { share, _place: place }),
            (None, Some((part, share))) => {
                drop(part);
                share.forget();
                None
            }
            (None, None) => None,
        }
    }
}

impl Bulkhead {
    pub(super) fn new(
        reads: ConcurrencyLimit,
        writes: ConcurrencyLimit,
        clock: &Clock,
        counters: &Arc<Counters>,
    ) -> Self {
        let lanes = Lane::ALL.map(|lane| Slots::new(if lane == Lane::Browse { reads } else { writes }));
        let (clock, counters) = (Arc::clone(clock), Arc::clone(counters));
        Self(Arc::new(ConcurrencyLimits { lanes, probes: Slots::new(PROBES), clock, counters }))
    }
}

impl Policy for Bulkhead {
    async fn handle(self, inner: impl Sender, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        let limits = &self.0;
        let (slots, caller) = match upstream_request.author {
            Author::Probe => (&limits.probes, None),
            _ => (&limits.lanes[upstream_request.lane as usize], Scope::current().caller),
        };
        let until = (limits.clock)() + slots.max_wait;
        let until = upstream_request.deadline.map_or(until, |deadline| deadline.min(until));
        let Some(_place) = slots.enter(caller, until).await else {
            limits.counters.shed.add();
            return Err(Failure::Saturated);
        };
        inner.oneshot(upstream_request).await
    }
}
