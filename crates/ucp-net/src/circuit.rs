//! The layer that leaves an upstream alone, around the [`breaker`](super::breaker).

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tower::ServiceExt as _;

use super::{
    Clock, Counters, Failure, Received, UpstreamRequest,
    breaker::{Breaker, Change, Circuit, Outcome, Permit, Rules},
    failure::{Blame, Unfit},
    policy::{Policy, Sender},
};

/// The circuit of one upstream. Clones are the same one.
#[derive(Clone)]
pub(super) struct CircuitBreaker(Arc<Shared>);

struct Shared {
    breaker: Mutex<Breaker>,
    upstream: Arc<str>,
    clock: Clock,
    counters: Arc<Counters>,
}

impl CircuitBreaker {
    pub(super) fn new(rules: Rules, upstream: Arc<str>, clock: &Clock, counters: &Arc<Counters>) -> Self {
        let breaker = Mutex::new(Breaker::new(rules, clock()));
        let (clock, counters) = (Arc::clone(clock), Arc::clone(counters));
        Self(Arc::new(Shared { breaker, upstream, clock, counters }))
    }

    pub(super) fn circuit(&self) -> Circuit {
        self.locked(|breaker| breaker.circuit((self.0.clock)()))
    }

    fn locked<T>(&self, with: impl FnOnce(&mut Breaker) -> T) -> T {
        with(&mut self.0.breaker.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn admit(&self) -> Result<Ticket, Duration> {
        let permit = self.locked(|breaker| breaker.admit((self.0.clock)()))?;
        Ok(Ticket { circuit: self.clone(), permit: Some(permit) })
    }

    fn report(&self, permit: Permit, outcome: Outcome) {
        let upstream = &*self.0.upstream;
        match self.locked(|breaker| breaker.report(permit, outcome, (self.0.clock)())) {
            Some(Change::Opened(time)) => {
                self.0.counters.opened.add();
                tracing::warn!(upstream, ?time, "the upstream is left alone");
            }
            Some(Change::Closed) => {
                self.0.counters.closed.add();
                tracing::info!(upstream, "the upstream works again");
            }
            None => {}
        }
    }
}

/// A permit that is handed back whatever becomes of its call.
struct Ticket {
    circuit: CircuitBreaker,
    permit: Option<Permit>,
}

impl Ticket {
    fn report(mut self, outcome: Outcome) {
        if let Some(permit) = self.permit.take() {
            self.circuit.report(permit, outcome);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if let Some(permit) = self.permit.take() {
            self.circuit.report(permit, Outcome::Unknown);
        }
    }
}

/// What a call says about the upstream.
fn outcome(result: &Result<Received, Failure>) -> Outcome {
    match result {
        Ok(_) => Outcome::Good,
        Err(Failure::Answered(answered)) if matches!(answered.unfit, Unfit::Rejected | Unfit::Misconfigured) => {
            Outcome::Shut(answered.pause.unwrap_or_default())
        }
        Err(failure) if failure.blame() == Blame::Upstream => Outcome::Failed,
        Err(_) => Outcome::Unknown,
    }
}

impl Policy for CircuitBreaker {
    async fn handle(self, inner: impl Sender, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        let ticket = match self.admit() {
            Ok(ticket) => ticket,
            Err(wait) => {
                self.0.counters.refused.add();
                return Err(Failure::Open { wait });
            }
        };
        let result = inner.oneshot(upstream_request).await;
        ticket.report(outcome(&result));
        result
    }
}
