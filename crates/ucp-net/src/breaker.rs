//! When an upstream is left alone: a circuit breaker as a state machine without clock or locks.
//!
//! Closed, it counts how calls ended lately; when too many of enough failed it opens. Open, it lets nobody through
//! until its time is up; then one call goes first, the probe, and decides for all. A probe that is given up without a
//! result makes room for another. What calls report that began before the circuit last changed counts no longer, except
//! that the upstream wants to be left alone.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// When a circuit opens, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Over which time calls are counted, in whole slices of a tenth of it.
    pub window: Duration,
    /// How many calls have to have ended in it.
    pub least: u32,
    /// How many of a hundred of them have to have failed.
    pub percent: u32,
    /// For how long the circuit is open.
    pub open: Duration,
}

impl Default for Rules {
    fn default() -> Self {
        Self { window: Duration::from_secs(10), least: 20, percent: 50, open: Duration::from_secs(5) }
    }
}

/// How many slices the window has.
const SLICES: u32 = 10;

/// How long others are asked to wait for a probe. Nobody knows how long it really takes.
const PROBE: Duration = Duration::from_secs(1);

/// The longest that a circuit is open at a stretch, whatever the upstream says.
pub const LONGEST: Duration = Duration::from_secs(3_600);

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The upstream did its work.
    Good,
    /// The upstream failed.
    Failed,
    /// The upstream wants to be left alone for at least so long.
    Shut(Duration),
    /// Nothing was learnt about the upstream: the call was given up, or never sent.
    Unknown,
}

/// The leave to make one call. It has to be handed back to [`Breaker::report`].
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub struct Permit {
    generation: u64,
}

/// What a report changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The circuit opened, for so long.
    Opened(Duration),
    /// It closed.
    Closed,
}

/// What a circuit does with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Circuit {
    /// Calls go through.
    Closed,
    /// No call goes through until then.
    Open(Instant),
    /// One call goes through, to see.
    Probing,
}

/// The state of one circuit.
#[derive(Debug)]
pub struct Breaker {
    rules: Rules,
    state: State,
    /// Counts the changes of state: a permit of an earlier one means nothing any more.
    generation: u64,
    /// What slices are counted from.
    origin: Instant,
}

#[derive(Debug)]
enum State {
    /// The slices of the window in which a call ended, the oldest first.
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
    /// A closed circuit.
    #[must_use]
    pub fn new(rules: Rules, now: Instant) -> Self {
        Self { rules, state: State::Closed(VecDeque::new()), generation: 0, origin: now }
    }

    /// What it does with calls.
    #[must_use]
    pub fn circuit(&self, now: Instant) -> Circuit {
        match self.state {
            State::Closed(_) => Circuit::Closed,
            State::Open { until } if now < until => Circuit::Open(until),
            State::Open { .. } | State::Probing => Circuit::Probing,
        }
    }

    /// Asks to make a call.
    ///
    /// # Errors
    /// For how long there is no sense in asking again.
    pub fn admit(&mut self, now: Instant) -> Result<Permit, Duration> {
        match self.state {
            State::Closed(_) => {}
            State::Open { until } if now < until => return Err(until - now),
            State::Open { .. } => self.enter(State::Probing),
            State::Probing => return Err(PROBE),
        }
        Ok(Permit { generation: self.generation })
    }

    /// Hears how a call ended.
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

    /// Opens the circuit for `time`. One that is open longer stays so.
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

    /// Counts a call that ended, and says whether that was one failure too many.
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
