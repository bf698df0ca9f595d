//! Circuit breaker of one kind of traffic, as a state machine without clock or locks.
//!
//! Closed, it counts the outcomes of recent calls. When too large a share of enough calls failed, it *suspects* the
//! upstream; so it does when a call was refused as an intruder's. Only what the gateway asks by itself opens it, because
//! callers choose what they ask: one question can be refused, hang or fail for everybody who asks it, and for nobody
//! else. Open, it admits no call until the gateway's own question was answered. Apart from that, it admits none for as
//! long as the upstream has asked for. Reports of calls that began before the last change of state are ignored.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Thresholds of a circuit breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Time over which calls are counted, in slices of a tenth of it.
    pub window: Duration,
    /// Minimum number of calls in the window before the upstream is suspected.
    pub least: u32,
    /// Share of failed calls from which on it is, in percent.
    pub percent: u32,
    /// Time for which the circuit stays open, and least time between two questions of the gateway's own that suspicion
    /// causes.
    pub open: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self { window: Duration::from_secs(10), least: 20, percent: 50, open: Duration::from_secs(5) }
    }
}

/// Number of slices of the window.
const SLICES: u32 = 10;

/// Time that callers are asked to wait for the answer to the gateway's own question, whose duration is unknown.
pub(super) const PROBE: Duration = Duration::from_secs(1);

/// Maximum time for which a circuit stays open, whatever the upstream states.
pub const LONGEST: Duration = Duration::from_secs(3_600);

/// Maximum time for which no call is made because the upstream asked for it in answer to a caller's question.
pub const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// Outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The upstream answered.
    Good,
    /// The upstream failed.
    Failed,
    /// The upstream refused the gateway; if it refuses the gateway's own question, too, it must be left alone for at
    /// least this time.
    Refused(Duration),
    /// The call was canceled or never sent: it says nothing about the upstream.
    Unknown,
}

/// Answer to the request for a permit.
#[derive(Debug, PartialEq, Eq)]
pub enum Admission {
    /// The call may be made.
    Granted(Permit),
    /// No call is made for this time.
    Refused(Duration),
    /// No call is made for this time, because the upstream was asked too much.
    Limited(Duration),
    /// The gateway has to ask its own question first.
    Due,
}

/// Permit for one call, to be returned to [`Breaker::report`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Permit {
    generation: u64,
}

/// Change of state.
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
    /// The gateway's own question decides.
    Probing,
}

/// A circuit breaker.
#[derive(Debug)]
pub struct Breaker {
    rules: Rules,
    state: State,
    paused: Option<Pause>,
    /// Number of changes of state: permits of earlier states are void.
    generation: u64,
    /// Start of the first slice.
    origin: Instant,
}

/// Pause that the upstream has asked for.
#[derive(Clone, Copy, Debug)]
struct Pause {
    until: Instant,
    is_limit: bool,
}

#[derive(Debug)]
enum State {
    /// Slices of the window in which a call ended, oldest first.
    Closed(VecDeque<Slice>),
    Open {
        until: Instant,
    },
}

#[derive(Clone, Copy, Debug)]
struct Slice {
    number: u128,
    good: u32,
    failed: u32,
}

impl Breaker {
    /// Creates a closed circuit.
    pub fn new(rules: Rules, now: Instant) -> Self {
        Self { rules, state: State::Closed(VecDeque::new()), paused: None, generation: 0, origin: now }
    }

    /// Returns the state at `now`.
    pub fn circuit(&self, now: Instant) -> Circuit {
        let paused = self.paused.map(|pause| pause.until).filter(|until| now < *until);
        match self.state {
            State::Open { until } if now < until => Circuit::Open(paused.map_or(until, |paused| paused.max(until))),
            _ if paused.is_some() => Circuit::Open(paused.unwrap_or(now)),
            State::Open { .. } => Circuit::Probing,
            State::Closed(_) => Circuit::Closed,
        }
    }

    /// Asks for the permit to make a call.
    pub fn admit(&mut self, now: Instant) -> Admission {
        match self.circuit(now) {
            Circuit::Closed => Admission::Granted(Permit { generation: self.generation }),
            Circuit::Open(until) => match self.paused {
                Some(Pause { until: limited, is_limit: true }) if limited == until => Admission::Limited(until - now),
                _ => Admission::Refused(until - now),
            },
            Circuit::Probing => Admission::Due,
        }
    }

    /// Records the outcome of a call, and returns `true` if the upstream is suspected. Suspicion begins anew then.
    #[expect(clippy::needless_pass_by_value, reason = "a permit is good for one report")]
    pub fn report(&mut self, permit: Permit, outcome: Outcome, now: Instant) -> bool {
        if permit.generation != self.generation || !matches!(self.state, State::Closed(_)) {
            return false;
        }
        match outcome {
            Outcome::Good | Outcome::Failed => {
                let suspected = self.count(outcome == Outcome::Failed, now);
                if suspected {
                    self.enter(State::Closed(VecDeque::new()));
                }
                suspected
            }
            Outcome::Refused(_) => true,
            Outcome::Unknown => false,
        }
    }

    /// Admits no call for as long as the upstream asks for. `is_limit` is `true` if it was asked too much.
    pub fn pause(&mut self, time: Duration, is_limit: bool, now: Instant) {
        let until = now + time.min(LONGEST_PAUSE);
        if self.paused.is_none_or(|earlier| earlier.until < until) {
            self.paused = Some(Pause { until, is_limit });
        }
    }

    /// Draws the conclusion from the outcome of the gateway's own question.
    pub fn conclude(&mut self, outcome: Outcome, now: Instant) -> Option<Change> {
        match (outcome, &self.state) {
            (Outcome::Good, State::Open { .. }) => {
                self.enter(State::Closed(VecDeque::new()));
                Some(Change::Closed)
            }
            (Outcome::Failed, _) => self.open(self.rules.open, now),
            (Outcome::Refused(wish), _) => self.open(wish.max(self.rules.open), now),
            // It is asked again soon.
            (Outcome::Unknown, State::Open { .. }) => self.open(PROBE, now),
            (Outcome::Good | Outcome::Unknown, State::Closed(_)) => None,
        }
    }

    /// Opens the circuit for `time`, or leaves it open for longer.
    fn open(&mut self, time: Duration, now: Instant) -> Option<Change> {
        let until = now + time.min(LONGEST);
        match &mut self.state {
            State::Open { until: open } => {
                *open = until.max(*open);
                None
            }
            State::Closed(_) => {
                self.enter(State::Open { until });
                Some(Change::Opened(until - now))
            }
        }
    }

    fn enter(&mut self, state: State) {
        self.state = state;
        self.generation += 1;
    }

    /// Counts a call that ended, and returns `true` if too many failed.
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
