//! Budget of extra attempts for all calls to one upstream together: a share of the recent calls, and a few more where
//! there are few.

use std::{collections::VecDeque, time::Duration};

use tokio::time::Instant;

/// Size of the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// Time over which calls are counted, in whole slices of a tenth of it.
    pub window: Duration,
    /// Number of extra attempts per hundred calls of the window.
    pub percent: u32,
    /// Number of extra attempts per window beyond that share.
    pub floor: u32,
}

impl Default for Allowance {
    fn default() -> Self {
        Self { window: Duration::from_secs(10), percent: 10, floor: 10 }
    }
}

/// Number of slices of the window.
const SLICES: u32 = 10;

/// The budget of one upstream, without clock or locks.
#[derive(Debug)]
pub struct Budget {
    allowance: Allowance,
    origin: Instant,
    /// The slices of the window in which anything was counted, the oldest first.
    slices: VecDeque<Slice>,
}

#[derive(Debug)]
struct Slice {
    number: u128,
    calls: u32,
    added: u32,
}

impl Budget {
    /// A budget that nothing was taken out of.
    pub fn new(allowance: Allowance, now: Instant) -> Self {
        Self { allowance, origin: now, slices: VecDeque::new() }
    }

    /// Counts a call.
    pub fn deposit(&mut self, now: Instant) {
        let slice = self.slice(now);
        slice.calls = slice.calls.saturating_add(1);
    }

    /// Counts an added attempt, if there may be one.
    pub fn withdraw(&mut self, now: Instant) -> bool {
        self.slice(now);
        let sum = |count: fn(&Slice) -> u32| self.slices.iter().map(|slice| u64::from(count(slice))).sum::<u64>();
        let (calls, added) = (sum(|slice| slice.calls), sum(|slice| slice.added));
        let Allowance { percent, floor, .. } = self.allowance;
        if added >= u64::from(floor) + calls * u64::from(percent) / 100 {
            return false;
        }
        let slice = self.slice(now);
        slice.added = slice.added.saturating_add(1);
        true
    }

    /// The slice of this instant, after forgetting what is older than the window. Time that runs backwards stands
    /// still.
    fn slice(&mut self, now: Instant) -> &mut Slice {
        let length = (self.allowance.window / SLICES).as_nanos().max(1);
        let number = now.saturating_duration_since(self.origin).as_nanos() / length;
        let number = self.slices.back().map_or(number, |last| number.max(last.number));
        while self.slices.front().is_some_and(|slice| slice.number + u128::from(SLICES) <= number) {
            self.slices.pop_front();
        }
        if self.slices.back().is_none_or(|last| last.number < number) {
            self.slices.push_back(Slice { number, calls: 0, added: 0 });
        }
        let last = self.slices.len() - 1;
        &mut self.slices[last]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_outage_adds_a_tenth_and_the_floor() {
        let start = Instant::now();
        let mut budget = Budget::new(Allowance::default(), start);
        let mut added = 0;
        for call in 0..1_000_u64 {
            let now = start + Duration::from_millis(call * 9);
            budget.deposit(now);
            added += u32::from(budget.withdraw(now)) + u32::from(budget.withdraw(now));
        }
        assert_eq!(added, 110);
    }

    #[test]
    fn where_there_are_few_calls_the_floor_is_left() {
        let start = Instant::now();
        let mut budget = Budget::new(Allowance::default(), start);
        assert_eq!((0..99).filter(|_| budget.withdraw(start)).count(), 10);
        assert!(!budget.withdraw(start + Duration::from_millis(9_999)));
        assert_eq!((0..99).filter(|_| budget.withdraw(start + Duration::from_secs(10))).count(), 10);
    }

    proptest! {
        #[test]
        fn it_gives_what_the_calls_of_the_window_allow(
            steps in prop::collection::vec((prop_oneof![3 => 0_u64..300, 1 => 0_u64..15_000], any::<bool>()), 0..400),
            percent in 0_u32..200,
            floor in 0_u32..5,
        ) {
            let start = Instant::now();
            let mut budget = Budget::new(Allowance { percent, floor, ..Allowance::default() }, start);
            let (mut passed, mut calls, mut added) = (0, Vec::new(), Vec::new());
            for (pass, call) in steps {
                passed += pass;
                let (now, slice) = (start + Duration::from_millis(passed), passed / 1_000);
                if call {
                    budget.deposit(now);
                    calls.push(slice);
                    continue;
                }
                let recent = |all: &[u64]| all.iter().filter(|at| **at + 10 > slice).count() as u64;
                let allowed = recent(&added) < u64::from(floor) + recent(&calls) * u64::from(percent) / 100;
                prop_assert_eq!(budget.withdraw(now), allowed);
                if allowed {
                    added.push(slice);
                }
            }
        }
    }
}
