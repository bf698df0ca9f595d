//! Circuit breaker as a state machine without clock or locks.
//!
//! Closed, it counts the outcomes of recent calls; it opens when too large a share of enough calls failed. Open, it
//! admits no call until its time is up; then one call, the probe, decides. A probe that is canceled without a result
//! makes room for another. Reports of calls that began before the last change of state are ignored, except that the
//! upstream asks to be left alone.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Thresholds of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Time over which calls are counted, in slices of a tenth of it.
    pub window: Duration,
    /// Minimum number of calls in the window before the circuit can open.
    pub least: u32,
    /// Share of failed calls that opens the circuit, in percent.
    pub percent: u32,
    /// Time for which the circuit stays open.
    pub open: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self { window: Duration::from_secs(10), least: 20, percent: 50, open: Duration::from_secs(5) }
    }
}

/// Number of slices of the window.
const SLICES: u32 = 10;

/// Time that other callers are asked to wait for a probe, whose duration is unknown.
const PROBE: Duration = Duration::from_secs(1);

/// Maximum time for which a circuit stays open, whatever the upstream states.
pub const LONGEST: Duration = Duration::from_secs(3_600);

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The upstream answered.
    Good,
    /// The upstream failed.
    Failed,
    /// The upstream must be left alone for at least this time.
    Shut(Duration),
    /// The call was canceled or never sent: it says nothing about the upstream.
    Unknown,
}

/// Permit for one call, to be returned to [`Breaker::report`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Permit {
    generation: u64,
}

/// Change of state that a report caused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The circuit opened for this time.
    Opened(Duration),
    /// The circuit closed.
    Closed,
}

/// State of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// Calls are admitted.
    Closed,
    /// No call is admitted until this time.
    Open(Instant),
    /// One call is admitted as a probe.
    Probing,
}

/// A circuit breaker.
#[derive(Debug)]
pub struct Breaker {
    rules: Rules,
    state: State,
    /// Number of changes of state: permits of earlier states are void.
    generation: u64,
    /// Start of the first slice.
    origin: Instant,
}

#[derive(Debug)]
enum State {
    /// Slices of the window in which a call ended, oldest first.
    Closed(VecDeque<Slice>),
    Open {
        until: Instant,
    },
    Probing,
}

#[derive(Clone, Copy, Debug)]
struct Slice {
    number: u128,
    good: u32,
    failed: u32,
}

impl Breaker {
    /// Creates a closed circuit.
    #[must_use]
    pub fn new(rules: Rules, now: Instant) -> Self {
        Self { rules, state: State::Closed(VecDeque::new()), generation: 0, origin: now }
    }

    /// Returns the state at `now`.
    #[must_use]
    pub fn circuit(&self, now: Instant) -> Circuit {
        match self.state {
            State::Closed(_) => Circuit::Closed,
            State::Open { until } if now < until => Circuit::Open(until),
            State::Open { .. } | State::Probing => Circuit::Probing,
        }
    }

    /// Asks for the permit to make a call.
    ///
    /// # Errors
    /// The time until the next attempt makes sense.
    pub fn admit(&mut self, now: Instant) -> Result<Permit, Duration> {
        match self.state {
            State::Closed(_) => {}
            State::Open { until } if now < until => return Err(until - now),
            State::Open { .. } => self.enter(State::Probing),
            State::Probing => return Err(PROBE),
        }
        Ok(Permit { generation: self.generation })
    }

    /// Records the outcome of a call.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is good for one report")]
    pub fn report(&mut self, permit: Permit, outcome: Outcome, now: Instant) -> Option<Change> {
        if let Outcome::Shut(wish) = outcome {
            return self.shut(wish.max(self.rules.open), now);
        }
        if permit.generation != self.generation {
            return None;
        }
        match (&self.state, outcome) {
            (State::Closed(_), Outcome::Good | Outcome::Failed) => {
                if self.count(outcome == Outcome::Failed, now) {
                    return self.shut(self.rules.open, now);
                }
                None
            }
            (State::Probing, Outcome::Good) => {
                self.enter(State::Closed(VecDeque::new()));
                Some(Change::Closed)
            }
            (State::Probing, Outcome::Failed) => self.shut(self.rules.open, now),
            // The next call is the probe.
            (State::Probing, Outcome::Unknown) => {
                self.enter(State::Open { until: now });
                None
            }
            (State::Closed(_) | State::Open { .. }, _) | (State::Probing, Outcome::Shut(_)) => None,
        }
    }

    /// Opens the circuit for `time`, or leaves it open for longer.
    fn shut(&mut self, time: Duration, now: Instant) -> Option<Change> {
        let until = now + time.min(LONGEST);
        match &mut self.state {
            State::Open { until: open } => {
                *open = until.max(*open);
                None
            }
            State::Closed(_) | State::Probing => {
                self.enter(State::Open { until });
                Some(Change::Opened(until - now))
            }
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.generation += 1;
    }

    /// Counts a call that ended, and returns `true` if it opens the circuit.
    fn count(&mut self, failed: bool, now: Instant) -> bool {
        let number = self.slice(now);
        let State::Closed(slices) = &mut self.state else { return false };
        while slices.front().is_some_and(|slice| slice.number + u128::from(SLICES) <= number) {
            slices.pop_front();
        }
        match slices.back_mut() {
            Some(last) if last.number >= number => last.add(failed),
            _ => {
                let mut slice = Slice { number, good: 0, failed: 0 };
                slice.add(failed);
                slices.push_back(slice);
            }
        }
        let bad: u64 = slices.iter().map(|slice| u64::from(slice.failed)).sum();
        let all: u64 = slices.iter().map(|slice| u64::from(slice.good) + u64::from(slice.failed)).sum();
        failed && all >= u64::from(self.rules.least) && bad * 100 >= all * u64::from(self.rules.percent)
    }

    fn slice(&self, now: Instant) -> u128 {
        let length = (self.rules.window / SLICES).as_nanos().max(1);
        now.saturating_duration_since(self.origin).as_nanos() / length
    }
}

impl Slice {
    fn add(&mut self, failed: bool) {
        let count = if failed { &mut self.failed } else { &mut self.good };
        *count = count.saturating_add(1);
    }
}

#[cfg(test)]
mod tests;
