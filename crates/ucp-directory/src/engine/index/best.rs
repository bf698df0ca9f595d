//! The first of many candidates after a position, in order.
//!
//! Candidates are ordered by relevance, distance and rank. Their chords bound the distances, so that geodesics are
//! worked out only for what may be on the page. No more than a few pages of candidates are held at once: what certainly
//! comes after a page's worth of others is let go.

use std::cmp::Reverse;

use ucp_core::merchant::geo::Chord;

use super::{ordinal, position::Position};

/// Number of candidates that are collected before those that cannot be on the page are dropped.
const MANY: usize = 2_048;

/// Something that may be on the page.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Candidate {
    pub(super) relevance: u32,
    pub(super) chord: Chord,
    pub(super) rank: u32,
    pub(super) own: u32,
}

impl Candidate {
    /// Orders candidates by what is known without working out a geodesic.
    fn key(&self) -> (Reverse<u32>, u64, u32) {
        (Reverse(self.relevance), self.chord.order(), self.rank)
    }
}

/// The position after which a page starts, and how many come before it or at it by rank alone.
#[derive(Debug)]
pub(super) struct After {
    pub(super) position: Position,
    pub(super) ranks: usize,
}

/// Collects candidates.
pub(super) struct Best<'q> {
    limit: usize,
    after: Option<&'q After>,
    /// Works the distance of a candidate out; `None` where there is nothing to measure from.
    measure: Option<&'q dyn Fn(u32) -> f64>,
    kept: Vec<Candidate>,
    /// Number of candidates at which they are dropped next.
    full: usize,
    /// Number of candidates in all, and after the position.
    total: usize,
    later: usize,
}

impl<'q> Best<'q> {
    pub(super) fn new(limit: usize, after: Option<&'q After>, measure: Option<&'q dyn Fn(u32) -> f64>) -> Self {
        Self { limit, after, measure, kept: Vec::new(), full: MANY, total: 0, later: 0 }
    }

    pub(super) fn add(&mut self, candidate: Candidate) {
        self.total += 1;
        if !self.after.is_none_or(|after| self.comes_after(&candidate, after)) {
            return;
        }
        self.later += 1;
        self.kept.push(candidate);
        if self.kept.len() >= self.full {
            self.let_go();
            self.full = MANY.max(2 * self.kept.len());
        }
    }

    fn distance(&self, candidate: &Candidate) -> f64 {
        self.measure.map_or(0.0, |measure| measure(candidate.own))
    }

    fn comes_after(&self, candidate: &Candidate, after: &After) -> bool {
        let After { position, ranks } = after;
        if candidate.relevance != position.relevance {
            return candidate.relevance < position.relevance;
        }
        if candidate.chord.at_least() > position.distance {
            return true;
        }
        if candidate.chord.at_most() < position.distance {
            return false;
        }
        let distance = self.distance(candidate);
        distance > position.distance || (distance == position.distance && candidate.rank >= ordinal(*ranks))
    }

    /// Lets go of what cannot be on the page.
    fn let_go(&mut self) {
        if self.kept.len() <= self.limit || self.limit == 0 {
            return;
        }
        let (_, last, _) = self.kept.select_nth_unstable_by_key(self.limit - 1, Candidate::key);
        let least = last.relevance;
        let rest = self.kept.split_off(self.limit);
        if self.measure.is_some() {
            // Whoever can be as near as the farthest of them may belong before it.
            let of_last = self.kept.iter().filter(|candidate| candidate.relevance == least);
            let reach = of_last.map(|candidate| candidate.chord.at_most()).fold(0.0, f64::max);
            let near = |candidate: &Candidate| candidate.relevance == least && candidate.chord.at_least() <= reach;
            self.kept.extend(rest.into_iter().filter(near));
        }
    }

    /// The page in order, with distances; whether there are more; and how many there are before and after it in all.
    pub(super) fn page(mut self) -> (Vec<(Candidate, f64)>, bool, usize) {
        self.let_go();
        let kept = std::mem::take(&mut self.kept);
        let mut page: Vec<_> = kept.into_iter().map(|candidate| (candidate, self.distance(&candidate))).collect();
        page.sort_unstable_by_key(|(candidate, distance)| {
            (Reverse(candidate.relevance), distance.to_bits(), candidate.rank)
        });
        page.truncate(self.limit);
        (page, self.later > self.limit, self.total)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use ucp_core::merchant::geo::Point;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn what_is_let_go_is_never_missed(
            kinds in prop::collection::vec((0_u32..3, 0_u32..40), 1..9_000),
            limit in 1_usize..12,
            measured: bool,
            turn: prop::sample::Index,
        ) {
            let center = Point::anywhere(50.0, 8.0).expect("a point");
            // Many of one distance, and distances that a chord does not tell apart.
            let point = |near: u32| {
                Point::anywhere(50.0 + f64::from(near / 4) * 0.1, 8.0 + f64::from(near % 4) * 1e-9).expect("a point")
            };
            let candidates: Vec<_> = (0..)
                .zip(&kinds)
                .map(|(own, (relevance, near))| {
                    let chord = center.position().chord(point(*near).position());
                    let chord = if measured { chord } else { Chord::ZERO };
                    Candidate { relevance: *relevance, chord, rank: own, own }
                })
                .collect();
            let distance = |own: u32| if measured { center.distance(point(kinds[own as usize].1)) } else { 0.0 };
            let mut expected: Vec<_> =
                candidates.iter().map(|candidate| (*candidate, distance(candidate.own))).collect();
            expected.sort_by(|(a, near), (b, far)| {
                b.relevance.cmp(&a.relevance).then(near.total_cmp(far)).then(a.rank.cmp(&b.rank))
            });
            let start = turn.index(expected.len() + 1);
            let after = start.checked_sub(1).map(|last| {
                let (candidate, distance) = expected[last];
                let position = Position {
                    relevance: candidate.relevance,
                    distance,
                    name: String::new(),
                    id: String::new(),
                };
                After { position, ranks: candidate.rank as usize + 1 }
            });
            let measure: &dyn Fn(u32) -> f64 = &distance;
            let mut best = Best::new(limit, after.as_ref(), measured.then_some(measure));
            for candidate in &candidates {
                best.add(*candidate);
            }
            let (page, more, total) = best.page();
            let rest = &expected[start..];
            prop_assert_eq!(&page[..], &rest[..limit.min(rest.len())]);
            prop_assert_eq!((more, total), (rest.len() > limit, candidates.len()));
        }
    }
}
