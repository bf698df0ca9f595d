//! Limit on the rate of calls to one upstream, by the generic cell rate algorithm.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    RateLimiter, clock,
    middleware::NoOpMiddleware,
    state::{InMemoryState, NotKeyed},
};
use tokio::time::Instant;
use tower::ServiceExt as _;

use super::{
    Clock, Counters, Failure, Received, UpstreamRequest,
    policy::{Policy, Sender},
};

/// Rate limit of the calls to an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// Number of calls per second in the long run.
    pub per_second: NonZeroU32,
    /// Maximum number of calls at once, after a pause.
    pub burst: NonZeroU32,
    /// Maximum time that a call waits for its turn; one that would have to wait longer is rejected.
    pub max_wait: Duration,
}

/// The clock of the upstream, as the limiter reads it: the time since it was made.
#[derive(Clone)]
struct Since {
    origin: Instant,
    clock: Clock,
}

impl clock::Clock for Since {
    type Instant = Duration;

    fn now(&self) -> Duration {
        (self.clock)().saturating_duration_since(self.origin)
    }
}

type Limiter = RateLimiter<NotKeyed, InMemoryState, Since, NoOpMiddleware<Duration>>;

/// The limit of one upstream, if it has one. Clones are the same one.
#[derive(Clone)]
pub(super) struct RateLimit(Arc<State>);

struct State {
    limit: Option<(Limiter, Duration)>,
    clock: Clock,
    counters: Arc<Counters>,
}

impl RateLimit {
    pub(super) fn new(rate: Option<Rate>, clock: &Clock, counters: &Arc<Counters>) -> Self {
        let limit = rate.map(|rate| {
            let quota = governor::Quota::per_second(rate.per_second).allow_burst(rate.burst);
            let since = Since { origin: clock(), clock: Arc::clone(clock) };
            (RateLimiter::direct_with_clock(quota, since), rate.max_wait)
        });
        Self(Arc::new(State { limit, clock: Arc::clone(clock), counters: Arc::clone(counters) }))
    }
}

impl State {
    /// Waits for its turn, if that comes before `deadline`.
    async fn turn(&self, deadline: Option<Instant>) -> Result<(), Failure> {
        let Some((limiter, max_wait)) = &self.limit else { return Ok(()) };
        let until = (self.clock)() + *max_wait;
        let until = deadline.map_or(until, |deadline| deadline.min(until));
        // Others may take the turn that was waited for.
        while let Err(early) = limiter.check() {
            let now = (self.clock)();
            let wait = early.wait_time_from(now.saturating_duration_since(limiter.clock().origin));
            if now + wait > until {
                self.counters.limited.add();
                return Err(Failure::Limited { wait });
            }
            tokio::time::sleep(wait.max(Duration::from_millis(1))).await;
        }
        Ok(())
    }
}

impl Policy for RateLimit {
    async fn handle(self, inner: impl Sender, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        self.0.turn(upstream_request.deadline).await?;
        self.0.counters.sent.add();
        inner.oneshot(upstream_request).await
    }
}
