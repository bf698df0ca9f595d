//! Chance that can be repeated: `UCP_FAULTS_SEED` makes a run begin as another one did.

use std::cell::Cell;

use crate::client::Way;

/// A generator of numbers (`SplitMix64`).
pub(crate) struct Random(Cell<u64>);

impl Random {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(Cell::new(seed))
    }

    pub(crate) fn next(&self) -> u64 {
        self.0.set(self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
        let mut mixed = self.0.get();
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        self.next() % bound
    }

    /// A position in something of this length; `None` in nothing.
    pub(crate) fn index(&self, length: usize) -> Option<usize> {
        let length = u64::try_from(length).ok().filter(|length| *length > 0)?;
        usize::try_from(self.below(length)).ok()
    }

    /// One of these.
    pub(crate) fn of<T: Copy>(&self, choices: &[T]) -> T {
        choices[self.index(choices.len()).expect("a choice")]
    }

    /// True in so many of a hundred cases.
    pub(crate) fn percent(&self, chance: u64) -> bool {
        self.below(100) < chance
    }

    pub(crate) fn way(&self) -> Way {
        self.of(&[Way::Rest, Way::Mcp])
    }

    /// A new idempotency key.
    pub(crate) fn key(&self) -> String {
        format!("{:016x}{:016x}", self.next(), self.next())
    }
}
