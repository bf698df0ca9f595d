//! How many calls to one upstream are under way.
//!
//! Reads and writes have rooms of their own: an upstream that is slow to search does not keep a buyer from paying. Who
//! finds the room full waits for a moment in a short queue, and is then turned away, so that callers learn at once what
//! they would learn late.

use std::{sync::Arc, time::Duration};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use tower::ServiceExt as _;

use super::{
    CallKind, Clock, Counters, Failure, Received, UpstreamRequest,
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

/// Both rooms of an upstream. Clones are the same ones.
#[derive(Clone)]
pub(super) struct Bulkhead(Arc<ConcurrencyLimits>);

struct ConcurrencyLimits {
    reads: Slots,
    writes: Slots,
    clock: Clock,
    counters: Arc<Counters>,
}

struct Slots {
    places: Arc<Semaphore>,
    queue: Semaphore,
    max_wait: Duration,
}

impl Slots {
    fn new(room: ConcurrencyLimit) -> Self {
        let semaphore = |count: usize| Semaphore::new(count.min(Semaphore::MAX_PERMITS));
        let (places, queue) = (Arc::new(semaphore(room.places)), semaphore(room.queue));
        Self { places, queue, max_wait: room.max_wait }
    }

    /// A place, unless none becomes free in time.
    async fn enter(&self, until: Instant) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&self.places).try_acquire_owned() {
            return Some(place);
        }
        let _queued = self.queue.try_acquire().ok()?;
        timeout_at(until, Arc::clone(&self.places).acquire_owned()).await.ok()?.ok()
    }
}

impl Bulkhead {
    pub(super) fn new(
        reads: ConcurrencyLimit,
        writes: ConcurrencyLimit,
        clock: &Clock,
        counters: &Arc<Counters>,
    ) -> Self {
        let (clock, counters) = (Arc::clone(clock), Arc::clone(counters));
        Self(Arc::new(ConcurrencyLimits { reads: Slots::new(reads), writes: Slots::new(writes), clock, counters }))
    }
}

impl Policy for Bulkhead {
    async fn handle(self, inner: impl Sender, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        let limits = &self.0;
        let slots = match upstream_request.call_kind {
            CallKind::Read => &limits.reads,
            CallKind::Write | CallKind::Conclude => &limits.writes,
        };
        let until = (limits.clock)() + slots.max_wait;
        let until = upstream_request.deadline.map_or(until, |deadline| deadline.min(until));
        let Some(_place) = slots.enter(until).await else {
            limits.counters.shed.add();
            return Err(Failure::Saturated);
        };
        inner.oneshot(upstream_request).await
    }
}
