//! The vectors of the products of a segment, all of them in memory, to be compared one by one.

use tantivy::{DocId, SegmentReader};

use super::documents::{BLOCK, Block, Cells};
use crate::model::{SAME, Vector, norm};

/// Column of vectors.
pub(super) const VECTOR: &str = "vector";

/// Number of products of a shop up to which vectors find products that have no word of a text. In larger shops, they order those
/// that have some.
pub(super) const MOST_FILLED: u64 = 100_000;

/// Similarity from which on a product is found without a word of the text.
const FLOOR: u32 = SAME * 30 / 100;

/// Score of a product that says the same as the text, in units of scores of words.
pub(super) const MOST_SCORE: u32 = 40 * 64;

/// The vectors of the products of a segment.
pub(super) struct Vectors {
    dimensions: usize,
    values: Vec<i8>,
    /// Length of each vector; 0 for a product without one.
    norms: Vec<f32>,
}

impl Vectors {
    /// Reads the vectors of a segment.
    pub(super) fn read(segment: &SegmentReader, dimensions: usize) -> tantivy::Result<Self> {
        let docs = segment.max_doc();
        let mut values = vec![0; docs as usize * dimensions];
        let mut norms = vec![0.0; docs as usize];
        let Some(column) = segment.fast_fields().bytes(VECTOR)? else { return Ok(Self { dimensions, values, norms }) };
        let mut bytes = Vec::new();
        for (doc, own) in (0..docs).zip(values.chunks_exact_mut(dimensions)) {
            let Some(ord) = column.term_ords(doc).next() else { continue };
            bytes.clear();
            if column.ord_to_bytes(ord, &mut bytes)? && bytes.len() == dimensions {
                own.iter_mut().zip(&bytes).for_each(|(value, byte)| *value = byte.cast_signed());
                norms[doc as usize] = norm(own);
            }
        }
        Ok(Self { dimensions, values, norms })
    }

    /// Returns the similarity of a product to a text.
    fn similarity(&self, text: &Vector, doc: DocId) -> u32 {
        let begin = doc as usize * self.dimensions;
        let values = self.values.get(begin..begin + self.dimensions);
        values.map_or(0, |values| text.similarity(values, self.norms[doc as usize]))
    }

    /// Adds the products of a block of a segment of `docs` that a text finds, unless it finds only `candidates`. The scores of those
    /// and of the candidates go to `cells`.
    pub(super) fn find(
        &self,
        text: &Vector,
        block: DocId,
        docs: DocId,
        candidates: &Block,
        fills: bool,
        cells: &mut Cells,
    ) -> Block {
        let begin = block * BLOCK;
        let mut found = *candidates;
        let looked_at = if fills { Block::first(docs - begin) } else { *candidates };
        looked_at.each(|offset| {
            let similarity = self.similarity(text, begin + offset);
            cells[offset as usize] = score(similarity);
            if similarity >= FLOOR {
                found.add(offset);
            }
        });
        found
    }
}

/// Score of a similarity: less than in proportion to it, as texts that have nothing in common are a little similar, too.
fn score(similarity: u32) -> u32 {
    similarity * similarity * MOST_SCORE / (SAME * SAME)
}

/// Returns the column value of a vector.
pub(super) fn bytes(vector: &Vector) -> Vec<u8> {
    vector.values.iter().map(|value| value.cast_unsigned()).collect()
}
