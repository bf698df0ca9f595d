//! Until when a call is worth anything.
//!
//! An operation of the gateway is many calls to an upstream. Whoever begins it says once when it has to be over, with
//! [`within`]; every call, wait and repetition below ends by then, without the deadline being an argument everywhere.
//! Tasks that are spawned begin anew, so that a read that several callers share is not bound to the one who came first.

use std::{
    future::Future,
    sync::Arc,
    task::{Context, Poll},
};

use futures_util::future::BoxFuture;
use tokio::time::{Instant, timeout_at};
use tower::{Layer, Service};

use super::{Clock, Counters, Failure, Received, UpstreamRequest, client::Timeouts};

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

impl<S> Layer<S> for Deadline {
    type Service = Limited<S>;

    fn layer(&self, inner: S) -> Limited<S> {
        Limited { inner, rule: self.clone() }
    }
}

#[derive(Clone)]
pub(super) struct Limited<S> {
    inner: S,
    rule: Deadline,
}

impl<S> Service<UpstreamRequest> for Limited<S>
where
    S: Service<UpstreamRequest, Response = Received, Error = Failure>,
    S::Future: Send + 'static,
{
    type Response = Received;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Received, Failure>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut upstream_request: UpstreamRequest) -> Self::Future {
        let rule = Arc::clone(&self.rule.0);
        let now = (rule.clock)();
        let own = now + rule.timeouts.of(upstream_request.call_kind).total;
        let deadline = [upstream_request.deadline, current()].into_iter().flatten().fold(own, Instant::min);
        upstream_request.deadline = Some(deadline);
        if deadline <= now {
            rule.counters.expired.add();
            return Box::pin(async { Err(Failure::Expired { sent: false }) });
        }
        let sent = upstream_request.sent.clone();
        let answer = self.inner.call(upstream_request);
        Box::pin(async move {
            let result = timeout_at(deadline, answer).await;
            let result = result.unwrap_or_else(|_| Err(Failure::Expired { sent: sent.get() }));
            if matches!(result, Err(Failure::Expired { .. })) {
                rule.counters.expired.add();
            }
            result
        })
    }
}
