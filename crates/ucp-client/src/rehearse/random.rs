//! Chance that can be repeated.

/// Numbers that follow from a seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    /// Numbers of one session of a rehearsal.
    pub(super) fn of(seed: u64, session: u64) -> Self {
        let mut mixed = Self(seed ^ session.wrapping_mul(0xA076_1D64_78BD_642F));
        mixed.next();
        mixed
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `end`, or 0 if there is none.
    pub(super) fn below(&mut self, end: usize) -> usize {
        let end = end.max(1) as u64;
        usize::try_from(self.next() % end).unwrap_or_default()
    }

    /// Returns one of several.
    pub(super) fn pick<'a, T>(&mut self, from: &'a [T]) -> Option<&'a T> {
        from.get(self.below(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers() {
        let numbers = |seed, session| {
            let mut random = Random::of(seed, session);
            (0..8).map(|_| random.below(1_000)).collect::<Vec<_>>()
        };
        assert_eq!(numbers(7, 3), numbers(7, 3));
        assert_ne!(numbers(7, 3), numbers(7, 4));
        assert_ne!(numbers(7, 3), numbers(8, 3));
    }
}
