//! Until when a call is worth anything.
//!
//! An operation of the gateway is many calls to an upstream. Whoever begins it says once when it has to be over, with
//! [`within`]; every call, wait and repetition below ends by then, without the deadline being an argument everywhere.
//! Tasks that are spawned begin anew, so that a read that several callers share is not bound to the one who came first.

use std::{future::Future, sync::Arc};

use tokio::time::{Instant, timeout_at};
use tower::ServiceExt as _;

use super::{
    Clock, Counters, Failure, Received, UpstreamRequest,
    client::Timeouts,
    policy::{Policy, Sender},
};

tokio::task_local! {
    static DEADLINE: Instant;
}

/// Runs `operation`, whose calls to upstreams all end by `deadline`, or by an earlier one that is in force already. The
/// operation itself is not cut off.
pub async fn within<F: Future>(deadline: Instant, operation: F) -> F::Output {
    DEADLINE.scope(current().map_or(deadline, |earlier| earlier.min(deadline)), operation).await
}

/// The deadline that is in force here.
#[must_use]
pub fn current() -> Option<Instant> {
    DEADLINE.try_with(|deadline| *deadline).ok()
}

/// Ends calls whose time is up. Clones are the same one.
#[derive(Clone)]
pub(super) struct Deadline(Arc<Rule>);

struct Rule {
    timeouts: Timeouts,
    clock: Clock,
    counters: Arc<Counters>,
}

impl Deadline {
    pub(super) fn new(timeouts: Timeouts, clock: &Clock, counters: &Arc<Counters>) -> Self {
        Self(Arc::new(Rule { timeouts, clock: Arc::clone(clock), counters: Arc::clone(counters) }))
    }
}

impl Policy for Deadline {
    async fn handle(self, inner: impl Sender, mut upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        let rule = &self.0;
        let now = (rule.clock)();
        let own = now + rule.timeouts.of(upstream_request.call_kind).total;
        let deadline = [upstream_request.deadline, current()].into_iter().flatten().fold(own, Instant::min);
        upstream_request.deadline = Some(deadline);
        let sent = upstream_request.sent.clone();
        let result = if deadline <= now {
            Err(Failure::Expired { sent: false })
        } else {
            let result = timeout_at(deadline, inner.oneshot(upstream_request)).await;
            result.unwrap_or_else(|_| Err(Failure::Expired { sent: sent.get() }))
        };
        if matches!(result, Err(Failure::Expired { .. })) {
            rule.counters.expired.add();
        }
        result
    }
}
