//! Sets of products of a segment, one bit each, in blocks.
//!
//! Searches go through a segment block by block: what they hold of one stays in the processor's first cache, and a block
//! of which no product can belong on the page is passed over.

use tantivy::DocId;

/// Number of products of a block.
pub(super) const BLOCK: DocId = 1_024;

/// Scores of the products of one block, 0 for those that have none.
pub(super) type Cells = [u32; BLOCK as usize];

const WORDS: usize = (BLOCK / u64::BITS) as usize;

/// A set of products of one block, by their offsets in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Block([u64; WORDS]);

impl Block {
    /// Returns the set of the first products of a block, as many as `count`.
    pub(super) fn first(count: DocId) -> Self {
        let mut block = Self::default();
        for (begin, word) in (0..BLOCK).step_by(u64::BITS as usize).zip(&mut block.0) {
            let bits = count.saturating_sub(begin).min(u64::BITS);
            *word = u64::MAX.checked_shr(u64::BITS - bits).unwrap_or(0);
        }
        block
    }

    pub(super) const fn add(&mut self, offset: DocId) {
        self.0[(offset % BLOCK / u64::BITS) as usize] |= 1 << (offset % u64::BITS);
    }

    pub(super) const fn contain(&self, offset: DocId) -> bool {
        self.0[(offset % BLOCK / u64::BITS) as usize] >> (offset % u64::BITS) & 1 == 1
    }

    pub(super) fn len(&self) -> u32 {
        self.0.iter().map(|word| word.count_ones()).sum()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// Returns the number of products before an offset.
    pub(super) fn rank(&self, offset: DocId) -> u32 {
        let word = (offset % BLOCK / u64::BITS) as usize;
        let before = self.0[word] & !(u64::MAX << (offset % u64::BITS));
        self.0[..word].iter().map(|word| word.count_ones()).sum::<u32>() + before.count_ones()
    }

    /// Calls `visit` with the offset of every product, ascending.
    pub(super) fn each(&self, mut visit: impl FnMut(DocId)) {
        for (begin, word) in (0..BLOCK).step_by(u64::BITS as usize).zip(self.0) {
            let mut rest = word;
            while rest != 0 {
                visit(begin + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }

    /// Leaves the products of which `is_kept` is true.
    pub(super) fn retain(&mut self, mut is_kept: impl FnMut(DocId) -> bool) {
        for (begin, word) in (0..BLOCK).step_by(u64::BITS as usize).zip(&mut self.0) {
            let mut rest = *word;
            while rest != 0 {
                if !is_kept(begin + rest.trailing_zeros()) {
                    *word &= !(rest & rest.wrapping_neg());
                }
                rest &= rest - 1;
            }
        }
    }

    pub(super) fn and(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    pub(super) fn or(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    pub(super) fn without(&self, other: &Self) -> Self {
        Self(std::array::from_fn(|word| self.0[word] & !other.0[word]))
    }
}

/// A set of products of a segment.
#[derive(Default)]
pub(super) struct Documents(Vec<Block>);

impl Documents {
    /// Creates an empty set of products of a segment that has so many.
    pub(super) fn new(docs: DocId) -> Self {
        Self(vec![Block::default(); docs.div_ceil(BLOCK) as usize])
    }

    pub(super) fn add(&mut self, doc: DocId) {
        self.0[(doc / BLOCK) as usize].add(doc % BLOCK);
    }

    pub(super) fn push(&mut self, block: Block) {
        self.0.push(block);
    }

    pub(super) fn contain(&self, doc: DocId) -> bool {
        self.block(doc / BLOCK).contain(doc % BLOCK)
    }

    /// Returns the products of a block, by its number.
    pub(super) fn block(&self, number: DocId) -> &Block {
        const NONE: &Block = &Block([0; WORDS]);
        self.0.get(number as usize).unwrap_or(NONE)
    }

    /// Returns the memory that the set takes, in bytes.
    pub(super) fn size(&self) -> usize {
        size_of_val(&*self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offsets(block: &Block) -> Vec<DocId> {
        let mut offsets = Vec::new();
        block.each(|offset| offsets.push(offset));
        offsets
    }

    fn of(offsets: &[DocId]) -> Block {
        let mut block = Block::default();
        offsets.iter().for_each(|offset| block.add(*offset));
        block
    }

    #[test]
    fn a_block_contains_the_added_offsets() {
        let added = [0, 63, 64, 129, 1_023];
        let block = of(&added);
        assert_eq!((offsets(&block), block.len(), block.is_empty()), (added.to_vec(), 5, false));
        assert!(added.iter().all(|offset| block.contain(*offset)) && !block.contain(1));
        assert_eq!([0, 1, 64, 65, 1_023].map(|offset| block.rank(offset)), [0, 1, 2, 3, 4]);
        let other = of(&[63, 65]);
        assert_eq!(offsets(&block.and(&other)), [63]);
        assert_eq!(offsets(&block.or(&other)), [0, 63, 64, 65, 129, 1_023]);
        assert_eq!(offsets(&block.without(&other)), [0, 64, 129, 1_023]);
        let mut odd = block;
        odd.retain(|offset| offset % 2 == 1);
        assert_eq!(offsets(&odd), [63, 129, 1_023]);
        for count in [0, 1, 63, 64, 65, 1_000, 1_024] {
            assert_eq!(offsets(&Block::first(count)), (0..count).collect::<Vec<_>>(), "{count}");
        }
    }

    #[test]
    fn a_set_contains_the_added_documents() {
        let mut documents = Documents::new(2_050);
        [0, 63, 64, 1_023, 1_024, 2_049].into_iter().for_each(|doc| documents.add(doc));
        assert_eq!(offsets(documents.block(0)), [0, 63, 64, 1_023]);
        assert_eq!(offsets(documents.block(1)), [0]);
        assert_eq!(offsets(documents.block(2)), [1]);
        assert!(documents.block(9).is_empty());
    }
}
