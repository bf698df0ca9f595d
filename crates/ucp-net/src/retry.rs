//! Trying a read again.
//!
//! Only reads are, only after failures that may pass, only while their deadline leaves room for the pause and for an
//! answer, and only within a [`budget`]: an outage must not be multiplied by everybody's patience. Pauses are drawn at
//! random from an interval that grows ("full jitter"), so that callers who failed together do not come back together. A
//! `Retry-After` of the upstream is waited for in full, or not at all.

pub mod budget;

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tower::ServiceExt as _;

use self::budget::{Allowance, Budget};
use super::{
    CallKind, Clock, Counters, Failure, Random, Received, UpstreamRequest,
    failure::Blame,
    policy::{Policy, Sender},
};

/// Rules for the retries of reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Maximum number of attempts per read, with the first one.
    pub attempts: u32,
    /// The shortest pause.
    pub shortest: Duration,
    /// The longest pause.
    pub longest: Duration,
    /// Minimum time that has to be left for a response after the pause.
    pub least: Duration,
    /// Budget of extra attempts for all calls together.
    pub allowance: Allowance,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            attempts: 3,
            shortest: Duration::from_millis(50),
            longest: Duration::from_millis(800),
            least: Duration::from_millis(100),
            allowance: Allowance::default(),
        }
    }
}

impl Rules {
    /// The pause after so many attempts: evenly drawn between the shortest, and a ceiling that grows fourfold each time
    /// up to the longest.
    fn pause(&self, attempts: u32, random: u32) -> Duration {
        let grown = self.shortest.saturating_mul(4_u32.saturating_pow(attempts));
        let span = grown.min(self.longest).saturating_sub(self.shortest);
        let share = span.as_nanos() * u128::from(random) / u128::from(u32::MAX);
        self.shortest + Duration::from_nanos(u64::try_from(share).unwrap_or(u64::MAX))
    }
}

/// The retries of one upstream. Clones share the budget.
#[derive(Clone)]
pub(super) struct Retry(Arc<State>);

struct State {
    rules: Rules,
    budget: Mutex<Budget>,
    clock: Clock,
    random: Random,
    counters: Arc<Counters>,
}

impl Retry {
    pub(super) fn new(rules: Rules, clock: Clock, random: Random, counters: Arc<Counters>) -> Self {
        let budget = Mutex::new(Budget::new(rules.allowance, clock()));
        Self(Arc::new(State { rules, budget, clock, random, counters }))
    }
}

impl State {
    fn budget<T>(&self, with: impl FnOnce(&mut Budget) -> T) -> T {
        with(&mut self.budget.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the pause before another attempt; `None` if there is to be none.
    fn again(&self, attempts: u32, upstream_request: &UpstreamRequest, failure: &Failure) -> Option<Duration> {
        if upstream_request.call_kind != CallKind::Read || attempts >= self.rules.attempts || !failure.passing() {
            return None;
        }
        let now = (self.clock)();
        let jitter = self.rules.pause(attempts, (self.random)());
        // What the upstream asks for is the least; those who were all told the same still come back one by one.
        let pause = failure.pause().unwrap_or_default().saturating_add(jitter);
        let earliest_answer = now.checked_add(pause)?.checked_add(self.rules.least)?;
        if upstream_request.deadline.is_some_and(|deadline| earliest_answer > deadline) {
            return None;
        }
        if !self.budget(|budget| budget.withdraw(now)) {
            self.counters.retries_refused.add();
            return None;
        }
        Some(pause)
    }
}

impl Policy for Retry {
    async fn handle(self, inner: impl Sender, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        let retry = &self.0;
        retry.budget(|budget| budget.deposit((retry.clock)()));
        let mut attempts = 0;
        let mut first_hand: Option<Failure> = None;
        loop {
            let failure = match inner.clone().oneshot(upstream_request.clone()).await {
                Ok(received) => return Ok(received),
                Err(failure) => failure,
            };
            attempts += 1;
            if let Some(pause) = retry.again(attempts, &upstream_request, &failure) {
                first_hand = Some(failure);
                retry.counters.retries.add();
                tokio::time::sleep(pause).await;
                continue;
            }
            // That the attempt after it was not let through says less than what the upstream did before.
            return Err(match first_hand {
                Some(earlier) if failure.blame() == Blame::Nobody => earlier,
                _ => failure,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn pauses_reach_from_the_shortest_to_a_ceiling_that_grows() {
        let rules = Rules::default();
        let bounds = |attempts| (rules.pause(attempts, 0).as_millis(), rules.pause(attempts, u32::MAX).as_millis());
        assert_eq!([1, 2, 3, 99].map(bounds), [(50, 200), (50, 800), (50, 800), (50, 800)]);
    }

    proptest! {
        #[test]
        fn pauses_stay_within_bounds(attempts: u32, random: u32, shortest in 0_u64..2_000, longest in 0_u64..2_000) {
            let millis = Duration::from_millis;
            let rules = Rules { shortest: millis(shortest), longest: millis(longest), ..Rules::default() };
            let pause = rules.pause(attempts, random);
            prop_assert!(pause >= rules.shortest && pause <= rules.longest.max(rules.shortest), "{:?}", pause);
        }
    }
}
