//! Until when a call is worth anything.
//!
//! An operation of the gateway is many calls to an upstream. Whoever begins it says once when it has to be over, with
//! [`within`] or a [`Scope`]; every call, wait and repetition below ends by then, without the deadline being an argument
//! everywhere. A read that several callers share is not bound to the one who came first.

use std::{future::Future, sync::Arc};

use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};
use tower::ServiceExt as _;
use ucp_record as record;

use super::{
    Clock, Counters, Failure, Received, Scope, UpstreamRequest,
    client::Timeouts,
    policy::{Policy, Sender},
};

/// Runs `operation`, whose calls to upstreams all end by `deadline`, or by an earlier one that is in force already. The
/// operation itself is not cut off.
pub async fn within<F: Future>(deadline: Instant, operation: F) -> F::Output {
    Scope::current().by(deadline, operation).await
}

/// The deadline that is in force here.
pub fn current() -> Option<Instant> {
    Scope::current().deadline
}

/// Waits for `work` until the deadline that is in force here. The work goes on after that, by requests that may take as
/// long as the completion of a purchase, and what comes of it is left to `late`: nobody else hears of it. Fails with
/// the failure of the work, or [`Failure::Expired`].
pub async fn outlast<T, F>(
    work: impl Future<Output = Result<T, Failure>> + Send + 'static,
    late: impl FnOnce(T) -> F + Send + 'static,
) -> Result<T, Failure>
where
    T: Send + 'static,
    F: Future<Output = ()> + Send,
{
    let (told, heard) = oneshot::channel();
    let scope = Scope { outlasting: true, allowance: None, ..Scope::current() }.shared();
    let working = scope.run(async move {
        if let Err(Ok(made)) = told.send(work.await) {
            late(made).await;
        }
    });
    tokio::spawn(record::inherit_trace(working));
    let heard = async { heard.await.unwrap_or(Err(Failure::Abandoned)) };
    match current() {
        Some(deadline) => timeout_at(deadline, heard).await.unwrap_or(Err(Failure::Expired { sent: true })),
        None => heard.await,
    }
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
