//! Limit on the concurrent calls to one upstream.
//!
//! Each kind of traffic has places of its own: an upstream that is slow to search does not keep a buyer from paying. Of
//! these, strangers take their [shares](super::shares), so that their slow questions leave room for those of others. Who
//! finds no place waits for a moment in a short queue, and is then turned away, so that callers learn at once what they
//! would learn late. Registered platforms come first in that queue and wait longer: places of strangers become free
//! meanwhile.

use std::{sync::Arc, time::Duration};

use tower::ServiceExt as _;

use super::{
    Author, Clock, Counters, Failure, Lane, Received, Scope, UpstreamRequest,
    policy::{Policy, Sender},
    shares::Places,
};

/// The size of a room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConcurrencyLimit {
    /// Maximum number of calls under way.
    pub places: usize,
    /// Maximum number of requests that wait for a place.
    pub queue: usize,
    /// Maximum time for which strangers wait; others wait ten times as long.
    pub max_wait: Duration,
}

impl ConcurrencyLimit {
    /// A room for so many calls, and as many again that wait for up to 100 ms.
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
    places: Places,
    max_wait: Duration,
}

impl Slots {
    fn new(room: ConcurrencyLimit) -> Self {
        Self { places: Places::wide(room.places, room.queue), max_wait: room.max_wait }
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
        let (slots, stranger) = match upstream_request.author {
            Author::Probe => (&limits.probes, None),
            _ => (&limits.lanes[upstream_request.lane as usize], Scope::current().stranger),
        };
        let patience = if stranger.is_some() { slots.max_wait } else { slots.max_wait * 10 };
        let until = (limits.clock)() + patience;
        let until = upstream_request.deadline.map_or(until, |deadline| deadline.min(until));
        let Some(_place) = slots.places.take(stranger, until).await else {
            limits.counters.shed.add();
            return Err(Failure::Saturated);
        };
        inner.oneshot(upstream_request).await
    }
}
