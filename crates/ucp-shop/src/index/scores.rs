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

use super::documents::{BLOCK, Block, Cells, Documents};

/// Number of postings, over all fields, from which on a word is common in a segment of so many products: from there on,
/// the set of the products takes less memory than four times their scores do.
pub(super) fn common(docs: DocId) -> usize {
    (docs as usize / 64).max(LEAST_COMMON)
}

/// The same in a small segment. Tests have shops that are smaller still.
const LEAST_COMMON: usize = if cfg!(test) { 500 } else { 8_192 };

/// Memory of all scores that are kept for a shop, in bytes.
const CAPACITY: u64 = 64 << 20;

/// Number of words whose scores the capacity is expected to hold.
const EXPECTED: usize = 256;

/// Share of a block's products below which counting those before each of them beats going through all.
const SPARSE: u32 = 16;

/// Scores of the products of one segment that have a word: two bytes for each of them, and a bit for every product.
pub(super) struct Scores {
    documents: Documents,
    /// The place of the first score of each block, and the highest of them.
    blocks: Vec<(u32, u16)>,
    /// In the order of the products.
    scores: Vec<u16>,
}

impl Scores {
    /// Creates the scores of a word in a segment of `docs` products. `read` finds those of a block that have it, and adds
    /// their scores.
    pub(super) fn new(docs: DocId, mut read: impl FnMut(DocId, &mut Cells, &mut Block)) -> Self {
        let (mut documents, mut blocks, mut scores) = (Documents::default(), Vec::new(), Vec::new());
        let mut cells: Cells = [0; BLOCK as usize];
        for number in 0..docs.div_ceil(BLOCK) {
            let mut block = Block::default();
            read(number, &mut cells, &mut block);
            let (begin, mut most) = (scores.len(), 0);
            block.each(|offset| {
                let score = u16::try_from(std::mem::take(&mut cells[offset as usize])).unwrap_or(u16::MAX);
                most = most.max(score);
                scores.push(score);
            });
            blocks.push((u32::try_from(begin).unwrap_or(u32::MAX), most));
            documents.push(block);
        }
        scores.shrink_to_fit();
        Self { documents, blocks, scores }
    }

    /// Returns the number of products.
    pub(super) const fn len(&self) -> usize {
        self.scores.len()
    }

    /// Returns the products of a block, by its number.
    pub(super) fn documents(&self, block: DocId) -> &Block {
        self.documents.block(block)
    }

    /// Returns the highest score in a block.
    pub(super) fn most(&self, block: DocId) -> u32 {
        self.blocks.get(block as usize).map_or(0, |(_, most)| u32::from(*most))
    }

    /// Adds the scores of the products of a block, at least those of `wanted`.
    pub(super) fn add_to(&self, cells: &mut Cells, block: DocId, wanted: &Block) {
        let Some((begin, _)) = self.blocks.get(block as usize) else { return };
        let documents = self.documents.block(block);
        let scores = &self.scores[*begin as usize..];
        let mut add = |offset: DocId, rank: usize| {
            let cell = &mut cells[offset as usize];
            *cell = cell.saturating_add(scores.get(rank).copied().map_or(0, u32::from));
        };
        let both = documents.and(wanted);
        if both.len() < documents.len() / SPARSE {
            both.each(|offset| add(offset, documents.rank(offset) as usize));
        } else {
            let mut rank = 0;
            documents.each(|offset| {
                add(offset, rank);
                rank += 1;
            });
        }
    }

    /// Returns the memory that the scores take, in bytes.
    fn size(&self) -> usize {
        self.documents.size() + size_of_val(&*self.blocks) + size_of_val(&*self.scores)
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
        (size_of::<Key>() + key.stem.len() + scores.size()) as u64
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
