//! How many calls to one upstream are under way.
//!
//! Reads and writes have rooms of their own: an upstream that is slow to search does not keep a buyer from paying. Who
//! finds the room full waits for a moment in a short queue, and is then turned away, so that callers learn at once what
//! they would learn late.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::{Instant, timeout_at},
};
use tower::{Layer, Service, ServiceExt as _};

use super::{Clock, Counters, Effort, Exchange, Failure, Received};

/// The size of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// How many calls are under way at most.
    pub places: usize,
    /// How many more wait for a place.
    pub queue: usize,
    /// How long they wait.
    pub patience: Duration,
}

impl Room {
    /// A room for so many calls, and as many again that wait for up to 100 ms.
    #[must_use]
    pub const fn of(places: usize) -> Self {
        Self { places, queue: places, patience: Duration::from_millis(100) }
    }
}

/// Both rooms of an upstream. Clones are the same ones.
#[derive(Clone)]
pub(super) struct Bulkhead(Arc<Rooms>);

struct Rooms {
    reads: Doors,
    writes: Doors,
    clock: Clock,
    counters: Arc<Counters>,
}

struct Doors {
    places: Arc<Semaphore>,
    queue: Semaphore,
    patience: Duration,
}

impl Doors {
    fn new(room: Room) -> Self {
        let semaphore = |count: usize| Semaphore::new(count.min(Semaphore::MAX_PERMITS));
        let (places, queue) = (Arc::new(semaphore(room.places)), semaphore(room.queue));
        Self { places, queue, patience: room.patience }
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
    pub(super) fn new(reads: Room, writes: Room, clock: &Clock, counters: &Arc<Counters>) -> Self {
        let (clock, counters) = (Arc::clone(clock), Arc::clone(counters));
        Self(Arc::new(Rooms { reads: Doors::new(reads), writes: Doors::new(writes), clock, counters }))
    }
}

impl<S> Layer<S> for Bulkhead {
    type Service = Housed<S>;

    fn layer(&self, inner: S) -> Housed<S> {
        Housed { inner, bulkhead: self.clone() }
    }
}

#[derive(Clone)]
pub(super) struct Housed<S> {
    inner: S,
    bulkhead: Bulkhead,
}

impl<S> Service<Exchange> for Housed<S>
where
    S: Service<Exchange, Response = Received, Error = Failure> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Received;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Received, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, exchange: Exchange) -> Self::Future {
        let (inner, rooms) = (self.inner.clone(), Arc::clone(&self.bulkhead.0));
        Box::pin(async move {
            let doors = match exchange.effort {
                Effort::Read => &rooms.reads,
                Effort::Write | Effort::Conclude => &rooms.writes,
            };
            let until = (rooms.clock)() + doors.patience;
            let until = exchange.deadline.map_or(until, |deadline| deadline.min(until));
            let Some(_place) = doors.enter(until).await else {
                rooms.counters.shed.add();
                return Err(Failure::Saturated);
            };
            inner.oneshot(exchange).await
        })
    }
}
