//! Scores of common words, which are computed once for each segment and kept for the searches that follow.
//!
//! A common word has a posting list in every text field, each as long as a good part of the catalog. Reading them costs
//! most of the time of a search, and the same few words are in most searches.

use std::{fmt, sync::Arc};

use quick_cache::{
    DefaultHashBuilder, OptionsBuilder, Weighter,
    sync::{Cache, DefaultLifecycle},
};
use tantivy::{DocId, index::SegmentId};

/// Number of postings, over all fields, from which on a word is common.
pub(super) const COMMON: usize = 8_192;

/// Memory of all scores that are kept for a shop, in bytes.
const CAPACITY: u64 = 64 << 20;

/// Number of words whose scores the capacity is expected to hold.
const EXPECTED: usize = 256;

/// Number of low bits of a document that an entry holds beside its score.
const LOW_BITS: u32 = 16;

/// Largest score of an entry.
const MOST: u32 = u16::MAX as u32;

/// Scores of the products of one segment that have a word, four bytes each.
pub(super) struct Scores {
    /// The first entry of each 65,536 documents, and the number of all.
    starts: Vec<usize>,
    /// The low bits of a document above its score, ascending within their documents.
    entries: Vec<u32>,
}

impl Scores {
    /// Creates the scores of a segment from one cell for each document, 0 for those that do not have the word. Returns
    /// `None` if a score is too large to be kept.
    pub(super) fn new(cells: &[u32]) -> Option<Self> {
        let (mut starts, mut entries) = (vec![0], Vec::new());
        for block in cells.chunks(1 << LOW_BITS) {
            for (low, score) in (0..).zip(block).filter(|(_, score)| **score > 0) {
                if *score > MOST {
                    return None;
                }
                entries.push((low << LOW_BITS) | score);
            }
            starts.push(entries.len());
        }
        entries.shrink_to_fit();
        Some(Self { starts, entries })
    }

    /// Returns the number of products.
    pub(super) const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Calls `visit` with every product and its score, ascending.
    pub(super) fn each(&self, visit: &mut impl FnMut(DocId, u32)) {
        for (high, block) in (0..).zip(self.starts.windows(2)) {
            for entry in &self.entries[block[0]..block[1]] {
                visit((high << LOW_BITS) | (entry >> LOW_BITS), entry & MOST);
            }
        }
    }

    /// Like [`each`](Self::each), but only for the products in `candidates`, which are ascending.
    pub(super) fn among(&self, candidates: &[DocId], mut visit: impl FnMut(DocId, u32)) {
        let mut passed = 0;
        for candidate in candidates {
            let (high, low) = ((candidate >> LOW_BITS) as usize, candidate & MOST);
            let Some([start, end]) = self.starts.get(high..high + 2) else { return };
            passed = passed.max(*start);
            let rest = &self.entries[passed..*end];
            passed += rest.partition_point(|entry| entry >> LOW_BITS < low);
            if let Some(entry) = self.entries[passed..*end].first().filter(|entry| *entry >> LOW_BITS == low) {
                visit(*candidate, entry & MOST);
            }
        }
    }
}

/// Word of a search in one segment, under the statistics and with the factor that its scores come from.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) segment: SegmentId,
    pub(super) epoch: u64,
    pub(super) factor: u32,
    pub(super) stem: String,
}

#[derive(Clone)]
struct Weight;

impl Weighter<Key, Arc<Scores>> for Weight {
    fn weight(&self, key: &Key, scores: &Arc<Scores>) -> u64 {
        (size_of::<Key>() + key.stem.len() + size_of_val(&*scores.entries) + size_of_val(&*scores.starts)) as u64
    }
}

/// Scores of the common words of a shop, those that are searched for most.
pub(super) struct CommonWords(Cache<Key, Arc<Scores>, Weight>);

impl fmt::Debug for CommonWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommonWords").field("words", &self.0.len()).finish()
    }
}

impl Default for CommonWords {
    fn default() -> Self {
        // One shard: what is heavier than a shard is not kept.
        let options =
            OptionsBuilder::new().estimated_items_capacity(EXPECTED).weight_capacity(CAPACITY).shards(1).build();
        Self(match options {
            Ok(options) => {
                Cache::with_options(options, Weight, DefaultHashBuilder::default(), DefaultLifecycle::default())
            }
            Err(_) => Cache::with_weighter(EXPECTED, CAPACITY, Weight),
        })
    }
}

impl CommonWords {
    pub(super) fn get(&self, key: &Key) -> Option<Arc<Scores>> {
        self.0.get(key)
    }

    pub(super) fn keep(&self, key: Key, scores: &Arc<Scores>) {
        self.0.insert(key, Arc::clone(scores));
    }

    /// Forgets the scores of all segments but those of `segments`.
    pub(super) fn retain(&self, segments: &[SegmentId]) {
        self.0.retain(|key, _| segments.contains(&key.segment));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_come_back_as_they_were() {
        let mut cells = vec![0; 200_000];
        for (doc, score) in [(0, 1), (7, 65_535), (65_535, 2), (65_536, 3), (131_071, 4), (199_999, 5)] {
            cells[doc] = score;
        }
        let scores = Scores::new(&cells).expect("scores");
        let mut all = Vec::new();
        scores.each(&mut |doc, score| all.push((doc, score)));
        assert_eq!(all, [(0, 1), (7, 65_535), (65_535, 2), (65_536, 3), (131_071, 4), (199_999, 5)]);
        assert_eq!(scores.len(), all.len());
        let mut some = Vec::new();
        scores.among(&[0, 1, 8, 65_535, 65_537, 131_071, 131_072, 199_999, 200_000, 4_000_000], |doc, score| {
            some.push((doc, score));
        });
        assert_eq!(some, [(0, 1), (65_535, 2), (131_071, 4), (199_999, 5)]);
        cells[9] = 65_536;
        assert!(Scores::new(&cells).is_none());
        assert_eq!(Scores::new(&[]).expect("scores").len(), 0);
    }
}
