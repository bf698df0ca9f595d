//! The products of one segment that have a term, and their scores, block by block.

use std::sync::Arc;

use tantivy::{DocId, fieldnorm::FieldNormReader, postings::BlockSegmentPostings};

use super::{
    documents::{BLOCK, Block, Cells},
    schema::TEXTS,
    scores::Scores,
};

/// Largest score of a word in a field: that of a word in all text fields is 16 bits long. Words of real catalogs reach
/// half of it.
const MOST_SCORE: u32 = 10_922;

const _: () = assert!(MOST_SCORE as usize * TEXTS.len() <= u16::MAX as usize);

/// Number of products of a term from which on the scores of those that have it once are computed beforehand.
const MANY: u32 = 1_024;

/// Number of products of a block up to which they are looked up one by one in a list that may be long.
const FEW: u32 = 4;

/// Weight of a term in a field: BM25 as the index computes it, with its usual constants.
#[derive(Clone, Copy)]
pub(super) struct Weight {
    weight: f32,
    mean_length: f32,
}

/// How soon further occurrences of a term count less, and how much longer texts count less.
const SATURATION: f32 = 1.2;
const LENGTH: f32 = 0.75;

impl Weight {
    /// Creates the weight of a term that `freq` of `docs` products have in a field of this mean length, times `factor`.
    pub(super) fn new(freq: u64, docs: u64, mean_length: f32, factor: f32) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a weight")]
        let (others, freq) = (docs.saturating_sub(freq) as f32, freq as f32);
        let rarity = (1.0 + (others + 0.5) / (freq + 0.5)).ln();
        Self { weight: rarity * (1.0 + SATURATION) * factor, mean_length }
    }

    /// Returns the score of a product whose field has this norm and the term so many times.
    fn score(self, norm: u8, freq: u32) -> u32 {
        #[expect(clippy::cast_precision_loss, reason = "a score")]
        let (length, freq) = (FieldNormReader::id_to_fieldnorm(norm) as f32, freq as f32);
        let long = SATURATION * (1.0 - LENGTH + LENGTH * length / self.mean_length);
        rounded(self.weight * (freq / (freq + long)))
    }
}

/// The products of one segment that have a term, and their scores. Blocks are asked for in ascending order; some may be
/// left out. The lists, which decode into buffers of their own, are boxed: postings are moved.
pub(super) enum Posting {
    /// Of a term with a fixed score.
    Flat { blocks: Box<BlockSegmentPostings>, score: u32 },
    /// Of a stem in one field.
    Weighed {
        blocks: Box<BlockSegmentPostings>,
        weight: Weight,
        norms: FieldNormReader,
        /// Scores of products that have the term once, by their norm, for terms of many products.
        once: Option<Box<[u32; 256]>>,
    },
    /// Of products that have a term of every part.
    Joint(Vec<Vec<Posting>>),
    /// Of a stem in all text fields, from an earlier search.
    Kept(Arc<Scores>),
}

impl Posting {
    pub(super) fn weighed(blocks: Box<BlockSegmentPostings>, weight: Weight, norms: FieldNormReader) -> Self {
        let once = (blocks.doc_freq() >= MANY).then(|| {
            let mut scores = Box::new([0; 256]);
            for (norm, score) in (0..=u8::MAX).zip(&mut *scores) {
                *score = weight.score(norm, 1);
            }
            scores
        });
        Self::Weighed { blocks, weight, norms, once }
    }

    /// Returns the number of products.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Flat { blocks, .. } | Self::Weighed { blocks, .. } => blocks.doc_freq() as usize,
            Self::Joint(parts) => parts.iter().map(|part| part.iter().map(Self::len).sum()).min().unwrap_or(0),
            Self::Kept(scores) => scores.len(),
        }
    }

    /// Adds the products of a block to `found` and their scores to `cells`, unless the scores are kept: those are added
    /// by whoever needs them. Returns the highest score of a product. Of `candidates`, if there are any, no others need
    /// be found.
    pub(super) fn read(
        &mut self,
        block: DocId,
        candidates: Option<&Block>,
        cells: &mut Cells,
        found: &mut Block,
    ) -> u32 {
        let mut most = 0;
        let mut add = |offset: DocId, score: u32| {
            found.add(offset);
            let cell = &mut cells[offset as usize];
            *cell = cell.saturating_add(score);
            most = most.max(score);
        };
        match self {
            Self::Flat { blocks, score } => within(blocks, block, candidates, |_, offset, _| add(offset, *score)),
            Self::Weighed { blocks, weight, norms, once } => {
                within(blocks, block, candidates, |doc, offset, freq| {
                    let norm = norms.fieldnorm_id(doc);
                    let score = match once {
                        Some(scores) if freq == 1 => scores[usize::from(norm)],
                        _ => weight.score(norm, freq),
                    };
                    add(offset, score);
                });
            }
            Self::Joint(parts) => {
                let mut scores: Cells = [0; BLOCK as usize];
                let mut common = candidates.copied();
                for part in parts {
                    let mut of_part = Block::default();
                    for posting in part {
                        posting.read(block, common.as_ref(), &mut scores, &mut of_part);
                    }
                    common = Some(common.map_or(of_part, |common| common.and(&of_part)));
                }
                common.unwrap_or_default().each(|offset| add(offset, scores[offset as usize]));
            }
            Self::Kept(scores) => {
                *found = found.or(scores.documents(block));
                most = scores.most(block);
            }
        }
        most
    }
}

/// Calls `visit` with the products of a block that are in `postings`, ascending: the product, its offset in the block,
/// and how often it has the term. Of `candidates`, if there are any, no others need be visited.
pub(super) fn within(
    postings: &mut BlockSegmentPostings,
    block: DocId,
    candidates: Option<&Block>,
    mut visit: impl FnMut(DocId, DocId, u32),
) {
    let begin = block * BLOCK;
    if let Some(candidates) = candidates.filter(|candidates| candidates.len() <= FEW) {
        candidates.each(|offset| {
            let at = postings.seek(begin + offset);
            if postings.doc(at) == begin + offset {
                visit(begin + offset, offset, postings.freq(at));
            }
        });
        return;
    }
    if postings.docs().last().is_some_and(|last| *last < begin) {
        postings.seek(begin);
    }
    let end = begin + BLOCK;
    while let docs = postings.docs()
        && let (Some(first), Some(last)) = (docs.first(), docs.last())
        && *first < end
    {
        let from = if *first < begin { docs.partition_point(|doc| *doc < begin) } else { 0 };
        let to = if *last < end { docs.len() } else { docs.partition_point(|doc| *doc < end) };
        for (at, doc) in (from..to).zip(&docs[from..to]) {
            visit(*doc, *doc - begin, postings.freq(at));
        }
        if to < docs.len() {
            return;
        }
        postings.advance();
    }
}

/// Rounds a score to an integer, at least 1: every match counts. Without `f32::round`, which is a call of a function.
fn rounded(score: f32) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is what is wanted")]
    let rounded = (score + 0.5) as u32;
    rounded.clamp(1, MOST_SCORE)
}

#[cfg(test)]
mod tests {
    use tantivy::{
        Index, TantivyDocument, Term,
        query::Bm25Weight,
        schema::{IndexRecordOption, Schema, TEXT},
    };

    use super::*;

    /// Reads the chosen blocks of a posting: products with their scores.
    fn read(posting: &mut Posting, blocks: impl Iterator<Item = DocId>, wanted: &[DocId]) -> Vec<(DocId, u32)> {
        let mut read = Vec::new();
        for number in blocks {
            let mut candidates = Block::default();
            wanted.iter().filter(|doc| *doc / BLOCK == number).for_each(|doc| candidates.add(doc % BLOCK));
            let candidates = (!wanted.is_empty()).then_some(candidates);
            let (mut cells, mut found): (Cells, _) = ([0; BLOCK as usize], Block::default());
            let most = posting.read(number, candidates.as_ref(), &mut cells, &mut found);
            if let Posting::Kept(scores) = posting {
                scores.add_to(&mut cells, number, candidates.as_ref().unwrap_or(&found));
            }
            if let Some(candidates) = &candidates {
                found = found.and(candidates);
            }
            found.each(|offset| {
                assert!((1..=most).contains(&cells[offset as usize]), "of block {number}");
                read.push((number * BLOCK + offset, cells[offset as usize]));
            });
        }
        read
    }

    #[test]
    fn scores_are_those_of_the_index() {
        for (freq, docs, mean, factor) in [(1, 1, 1.0, 64.0), (3, 174, 7.25, 256.0), (90_000, 100_000, 41.5, 19.2)] {
            let weight = Weight::new(freq, docs, mean, factor);
            let expected = Bm25Weight::for_one_term_without_explain(freq, docs, mean).boost_by(factor);
            for norm in 0..=u8::MAX {
                for times in [1, 2, 7, 1_000] {
                    assert_eq!(weight.score(norm, times), rounded(expected.score(norm, times)), "{norm} {times}");
                }
            }
        }
    }

    #[test]
    fn every_way_to_read_a_word_tells_the_same() {
        let docs = 5_000;
        let mut schema = Schema::builder();
        let field = schema.add_text_field("text", TEXT);
        let index = Index::create_in_ram(schema.build());
        let mut writer = index.writer_with_num_threads::<TantivyDocument>(1, 15_000_000).expect("a writer");
        let is_in =
            |doc: DocId| doc != 2_047 && (doc.is_multiple_of(3) || (1_000..1_100).contains(&doc)) && doc / BLOCK != 3;
        for doc in 0..docs {
            let count = if is_in(doc) { 1 + doc as usize % 4 } else { 0 };
            let text = format!("{}{}", "word ".repeat(count), "other ".repeat(doc as usize % 7));
            let mut document = TantivyDocument::default();
            document.add_text(field, text);
            writer.add_document(document).expect("adds");
        }
        writer.commit().expect("commits");
        let searcher = index.reader().expect("a reader").searcher();
        let [segment] = searcher.segment_readers() else { panic!("one segment") };
        let posting = || {
            let inverted = segment.inverted_index(field).expect("an index");
            let term = Term::from_field_text(field, "word");
            let blocks = inverted.read_block_postings(&term, IndexRecordOption::WithFreqs).expect("reads");
            let weight = Weight::new(1_500, u64::from(docs), 4.0, 64.0);
            Posting::weighed(
                Box::new(blocks.expect("the word")),
                weight,
                segment.get_fieldnorms_reader(field).expect("norms"),
            )
        };
        let kept = || {
            let mut posting = posting();
            let scores = Scores::new(docs, |number, cells, found| {
                posting.read(number, None, cells, found);
            });
            Posting::Kept(Arc::new(scores))
        };
        let all = 0..docs.div_ceil(BLOCK);
        let expected = read(&mut posting(), all.clone(), &[]);
        assert_eq!(
            expected.iter().map(|(doc, _)| *doc).collect::<Vec<_>>(),
            (0..docs).filter(|doc| is_in(*doc)).collect::<Vec<_>>()
        );
        assert!(expected.iter().any(|(doc, score)| *doc == 3 && *score > expected[0].1), "it has the word four times");
        assert_eq!((posting().len(), kept().len()), (expected.len(), expected.len()));
        assert_eq!(read(&mut kept(), all.clone(), &[]), expected);
        for make in [&posting as &dyn Fn() -> Posting, &kept] {
            let from = |blocks: &[DocId]| -> Vec<_> {
                expected.iter().copied().filter(|(doc, _)| blocks.contains(&(doc / BLOCK))).collect()
            };
            for blocks in [&[1, 4][..], &[4], &[3], &[0, 2, 3]] {
                assert_eq!(read(&mut make(), blocks.iter().copied(), &[]), from(blocks), "{blocks:?}");
            }
            for wanted in
                [&[0, 1, 3, 2_046, 2_047, 4_998, 4_999][..], &[4_095], &[1_023, 1_024, 1_025, 1_026, 1_027, 1_028]]
            {
                let some: Vec<_> = expected.iter().copied().filter(|(doc, _)| wanted.contains(doc)).collect();
                assert_eq!(read(&mut make(), all.clone(), wanted), some, "{wanted:?}");
            }
        }
    }
}
