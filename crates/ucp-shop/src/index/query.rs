//! Full-text queries: the tokens of a search text, and the score of each product that matches them.
//!
//! A text is a list of tokens: words and amounts that say something about products. A token matches a product if one of
//! its *leaves* does: its stem in some language in one of the text fields, another name of it, a compound of it, the
//! identifier that it is part of, or, if no product has the word, a word one or two typos away.
//! A product's score is the sum of the leaves that match it, less the share of the tokens that do not; products that match
//! all of them come first. Each leaf is rounded to an integer, so that sums do not depend on the order in which they are
//! made, and weighed by [frozen statistics](super::statistics), so that they do not depend on other products.

use std::sync::Arc;

use tantivy::{
    DocId, Searcher, SegmentReader, Term,
    postings::{BlockSegmentPostings, TermInfo},
    schema::{Field, IndexRecordOption},
};

use super::{
    documents::{BLOCK, Block, Cells},
    leaves::{self, Leaf, Token, UNIT},
    lexicon::Lexicon,
    postings::{Posting, Weight},
    schema::{Fields, NAMING, TEXTS},
    scores::{CommonWords, Key, Scores, common},
    statistics::Statistics,
    vectors::{MOST_SCORE, Vectors},
};
use crate::model::Vector;

/// Match mode: products have to match all tokens, or the important ones of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    All,
    Any,
}

/// Score of matching all tokens: more than the leaves can reach.
pub(super) const ALL: u32 = 1 << 28;

/// Share of the weight of the most important token that a token must have to match on its own, in hundredths.
const KEY_SHARE: u32 = 25;

/// Share of the weight of the kind of product that is asked for, which a product lacks that has it in its description alone: one
/// in so many.
const UNNAMED: u32 = 2;

/// Parsed search text, with the terms that the index has.
pub(super) struct Plan {
    /// Weights of the tokens.
    weights: Vec<u32>,
    /// `true` for each token that matches on its own: words of some weight, and amounts if there are no words.
    keys: Vec<bool>,
    /// In the order of the segments.
    segments: Vec<SegmentTerms>,
    /// Sum of the weights of the tokens.
    weight: u32,
    /// Position of the token that names the kind of product which is asked for.
    kind: Option<usize>,
    /// Words that no product has and for which products with similar words are found.
    pub(super) corrected: Vec<String>,
    /// `true` if the whole text is the identifier of a product.
    is_code: bool,
    /// Vector of the text, where there is a model.
    vector: Option<Vector>,
}

impl Plan {
    /// Parses a search text, and what the caller says about it.
    pub(super) fn new(
        text: &str,
        intent: Option<&str>,
        fields: &Fields,
        lexicon: &Lexicon,
        statistics: &Statistics,
        searcher: &Searcher,
    ) -> tantivy::Result<Self> {
        let read = leaves::read(text, intent, fields, lexicon, statistics, searcher)?;
        let known = || read.tokens.iter().filter(|token| token.is_known);
        let key = known().map(|token| token.weight).max().unwrap_or(0) * KEY_SHARE / 100;
        let are_amounts_keys = !known().any(|token| !token.is_amount);
        let is_key = |token: &Token| token.weight >= key && (are_amounts_keys || !token.is_amount);
        let weights: Vec<_> = read.tokens.iter().map(|token| token.weight).collect();
        let terms = |segment| -> tantivy::Result<_> {
            let lookup = Lookup { segment, fields, statistics };
            let of =
                |tokens: &[Token]| -> tantivy::Result<_> { tokens.iter().map(|token| lookup.leaves(token)).collect() };
            let excluded = read.tokens.iter().filter_map(|token| token.excludes.as_ref());
            let excluded = excluded.map(|it| Ok((lookup.leaves(&it.has)?, lookup.leaves(&it.says)?)));
            let excluded = excluded.collect::<tantivy::Result<_>>()?;
            Ok(SegmentTerms { tokens: of(&read.tokens)?, hints: of(&read.hints)?, excluded })
        };
        Ok(Self {
            weight: weights.iter().sum::<u32>().max(1),
            weights,
            segments: searcher.segment_readers().iter().map(terms).collect::<tantivy::Result<_>>()?,
            keys: read.tokens.iter().map(is_key).collect(),
            kind: read.tokens.iter().position(|token| token.is_kind),
            corrected: read.corrected,
            is_code: read.is_code,
            vector: fields.model().and_then(|model| model.embed(text)),
        })
    }

    /// Returns `true` if [`Mode::Any`] can find more: there are several tokens, or products can be similar to the text.
    pub(super) const fn has_looser(&self) -> bool {
        !self.is_code && (self.weights.len() > 1 || self.has_meaning())
    }

    /// Returns `true` if products can be similar to the text.
    pub(super) const fn has_meaning(&self) -> bool {
        self.vector.is_some()
    }

    /// Returns a number that is not below that of the products which match all tokens.
    pub(super) fn most(&self) -> u64 {
        let of_token = |leaves: &Vec<LeafTerms>| leaves.iter().map(LeafTerms::len).sum::<u64>();
        let of_segment = |terms: &SegmentTerms| terms.tokens.iter().map(of_token).min().unwrap_or(0);
        self.segments.iter().map(of_segment).sum()
    }

    /// Calls `found` with the products of a segment that match, block by block. Deleted ones are included.
    pub(super) fn score(
        &self,
        source: &Source<'_>,
        mode: Mode,
        mut found: impl FnMut(&mut Matches<'_>),
    ) -> tantivy::Result<()> {
        let terms = &self.segments[source.position];
        let mut tokens = Vec::with_capacity(terms.tokens.len());
        let mut candidates = usize::MAX;
        for token in &terms.tokens {
            // Looking a few products up in a long list beats reading the list.
            let postings = source.postings(token, |length| mode == Mode::Any || candidates >= length / 16)?;
            candidates = candidates.min(postings.iter().map(Posting::len).sum());
            tokens.push(postings);
        }
        let all = |token: &Vec<LeafTerms>| source.postings(token, |_| false);
        let mut hints = terms.hints.iter().map(all).collect::<tantivy::Result<Vec<_>>>()?;
        let mut named = match self.kind {
            Some(kind) => source.naming(&terms.tokens[kind])?,
            None => Vec::new(),
        };
        let mut excluded = Vec::with_capacity(terms.excluded.len());
        for (has, says) in &terms.excluded {
            excluded.push((all(has)?, all(says)?));
        }
        let meaning = self.vector.as_ref().zip(source.vectors).filter(|_| mode == Mode::Any);
        let mut cells = [0; BLOCK as usize];
        let mut similar = [0; BLOCK as usize];
        let mut covered = vec![Block::default(); tokens.len()];
        for number in 0..source.segment.max_doc().div_ceil(BLOCK) {
            let mut matches = Matches {
                plan: self,
                number,
                products: Block::default(),
                most: 0,
                tokens: &[],
                covered: &[],
                excluded: Block::default(),
                unnamed: Block::default(),
                cells: &mut cells,
                similar: None,
                is_blank: true,
            };
            let mut reachable = 0;
            // Tokens that match on their own come first: the others are looked up in what those have found.
            let order =
                (0..tokens.len()).filter(|at| self.is_key(*at)).chain((0..tokens.len()).filter(|at| !self.is_key(*at)));
            for (place, at) in order.enumerate() {
                let narrows = mode == Mode::All && place > 0 || mode == Mode::Any && !self.is_key(at);
                let before = narrows.then_some(matches.products);
                let mut of_token = Block::default();
                for posting in &mut tokens[at] {
                    matches.read(posting, before.as_ref(), &mut of_token);
                }
                covered[at] = of_token;
                if !of_token.is_empty() {
                    reachable += self.weights[at];
                }
                matches.products = match (mode, before) {
                    (_, None) => matches.products.or(&of_token),
                    (Mode::All, Some(before)) => before.and(&of_token),
                    (Mode::Any, Some(before)) => before,
                };
                if matches.products.is_empty() && (mode == Mode::All || !self.is_key(at)) {
                    break;
                }
            }
            if let Some((vector, vectors)) = meaning {
                let docs = source.segment.max_doc();
                matches.products = vectors.find(vector, number, docs, &matches.products, source.fills, &mut similar);
            }
            if !matches.products.is_empty() {
                let products = matches.products;
                for posting in hints.iter_mut().flatten() {
                    matches.read(posting, Some(&products), &mut Block::default());
                }
                if let Some(kind) = self.kind {
                    let mut naming = Block::default();
                    for posting in &mut named {
                        posting.read(number, Some(&products), &mut [0; BLOCK as usize], &mut naming);
                    }
                    matches.unnamed = covered[kind].without(&naming);
                }
                for (has, says) in &mut excluded {
                    let (mut scores, mut having, mut saying) =
                        ([0; BLOCK as usize], Block::default(), Block::default());
                    for (postings, found) in [(has, &mut having), (says, &mut saying)] {
                        postings.iter_mut().for_each(|posting| {
                            posting.read(number, Some(&products), &mut scores, found);
                        });
                    }
                    // Who says that it is not there has the word, too.
                    matches.excluded = matches.excluded.or(&having.without(&saying));
                }
                matches.most = self.rank(matches.most, reachable);
                if meaning.is_some() {
                    matches.most = matches.most.saturating_add(MOST_SCORE);
                    matches.similar = Some(&similar);
                }
                (matches.tokens, matches.covered) = (&tokens, &covered);
                found(&mut matches);
            }
            if !matches.is_blank {
                cells.fill(0);
            }
        }
        Ok(())
    }

    fn is_key(&self, token: usize) -> bool {
        self.keys[token]
    }

    /// Returns the rank of a product whose leaves have this score, and whose tokens this weight.
    fn rank(&self, score: u32, covered: u32) -> u32 {
        if covered >= self.weight {
            return score.saturating_add(ALL);
        }
        let share = u64::from(covered) << 8;
        let share = share / u64::from(self.weight);
        u32::try_from((u64::from(score) * share * share) >> 16).unwrap_or(u32::MAX).clamp(1, ALL - 1)
    }
}

/// The products of a block that match.
pub(super) struct Matches<'a> {
    plan: &'a Plan,
    /// Number of the block.
    pub(super) number: DocId,
    pub(super) products: Block,
    /// A score that no product of the block exceeds.
    pub(super) most: u32,
    tokens: &'a [Vec<Posting>],
    /// The products of the block by token.
    covered: &'a [Block],
    excluded: Block,
    /// Products that have the kind that is asked for somewhere, and do not name it in their title or category.
    unnamed: Block,
    cells: &'a mut Cells,
    /// Scores of the vectors of products, where there are any.
    similar: Option<&'a Cells>,
    is_blank: bool,
}

impl Matches<'_> {
    /// Adds what a posting says of the block.
    fn read(&mut self, posting: &mut Posting, candidates: Option<&Block>, found: &mut Block) {
        let most = posting.read(self.number, candidates, self.cells, found);
        self.most = self.most.saturating_add(most);
        self.is_blank = self.is_blank && (most == 0 || matches!(posting, Posting::Kept(_)));
    }

    /// Returns the scores of the products, at least of those that are `wanted`.
    pub(super) fn scores(&mut self, wanted: &Block) -> &Cells {
        for posting in self.tokens.iter().flatten() {
            if let Posting::Kept(scores) = posting {
                scores.add_to(self.cells, self.number, wanted);
                self.is_blank = false;
            }
        }
        wanted.each(|offset| {
            let tokens = self.plan.weights.iter().zip(self.covered);
            let covered: u32 = tokens.filter(|(_, block)| block.contain(offset)).map(|(weight, _)| *weight).sum();
            let covered = match self.plan.kind {
                Some(kind) if self.unnamed.contain(offset) => covered - self.plan.weights[kind] / UNNAMED,
                _ => covered,
            };
            let cell = &mut self.cells[offset as usize];
            let similar = self.similar.map_or(0, |similar| similar[offset as usize]);
            *cell = if self.excluded.contain(offset) {
                // Below all that match as well and do not have what is not asked for.
                self.plan.rank(*cell / 4, covered.min(self.plan.weight / 2)).saturating_add(similar / 4)
            } else {
                self.plan.rank(*cell, covered).saturating_add(similar)
            };
        });
        self.is_blank = false;
        self.cells
    }
}

/// The terms of a plan that a segment has, by token.
struct SegmentTerms {
    tokens: Vec<Vec<LeafTerms>>,
    /// Of words that change the order of the products that match.
    hints: Vec<Vec<LeafTerms>>,
    /// Of words that are excluded, each with words that say that it is not there.
    excluded: Vec<(Vec<LeafTerms>, Vec<LeafTerms>)>,
}

/// The terms of a leaf that a segment has.
enum LeafTerms {
    Flat { field: Field, term: TermInfo, score: u32 },
    Stem { stem: String, factor: f32, by_field: Vec<FieldTerm> },
    Joint(Vec<Vec<FieldTerm>>),
}

impl LeafTerms {
    /// Returns the number of products that have them; those that have several count several times.
    fn len(&self) -> u64 {
        let all = |terms: &Vec<FieldTerm>| terms.iter().map(|found| u64::from(found.term.doc_freq)).sum::<u64>();
        match self {
            Self::Flat { term, .. } => term.doc_freq.into(),
            Self::Stem { by_field, .. } => all(by_field),
            Self::Joint(parts) => parts.iter().map(all).min().unwrap_or(0),
        }
    }
}

/// A stem in the text field at index `position` of [`TEXTS`].
struct FieldTerm {
    position: usize,
    term: TermInfo,
    weight: Weight,
}

/// A look for terms in one segment. Most of them are in none: they are other names and other forms of a word.
struct Lookup<'a> {
    segment: &'a SegmentReader,
    fields: &'a Fields,
    statistics: &'a Statistics,
}

impl Lookup<'_> {
    fn leaves(&self, token: &Token) -> tantivy::Result<Vec<LeafTerms>> {
        let mut found = Vec::new();
        for leaf in &token.leaves {
            match leaf {
                Leaf::Flat { text, field, score } => found.extend(self.term(*field, text)?.map(|term| {
                    let (field, score) = (*field, *score);
                    LeafTerms::Flat { field, term, score }
                })),
                Leaf::Stem { stem, factor } => {
                    let by_field = self.stems(std::slice::from_ref(stem), *factor)?;
                    if !by_field.is_empty() {
                        found.push(LeafTerms::Stem { stem: stem.clone(), factor: *factor, by_field });
                    }
                }
                Leaf::Joint { parts, factor } => {
                    let parts: Vec<_> =
                        parts.iter().map(|stems| self.stems(stems, *factor)).collect::<tantivy::Result<_>>()?;
                    // A part that is nowhere leaves nothing.
                    if !parts.iter().any(Vec::is_empty) {
                        found.push(LeafTerms::Joint(parts));
                    }
                }
            }
        }
        Ok(found)
    }

    fn stems(&self, stems: &[String], factor: f32) -> tantivy::Result<Vec<FieldTerm>> {
        let mut found = Vec::new();
        for stem in stems {
            for (position, (_, of_field)) in TEXTS.iter().enumerate() {
                let Some(term) = self.term(self.fields.texts[position], stem)? else { continue };
                let freq = u64::from(self.statistics.doc_freq(position, stem)).max(1);
                let docs = self.statistics.docs.max(freq);
                let mean_length = self.statistics.mean_length(position);
                let weight = Weight::new(freq, docs, mean_length, of_field * factor * UNIT);
                found.push(FieldTerm { position, term, weight });
            }
        }
        Ok(found)
    }

    fn term(&self, field: Field, text: &str) -> tantivy::Result<Option<TermInfo>> {
        Ok(self.segment.inverted_index(field)?.get_term_info(&Term::from_field_text(field, text))?)
    }
}

/// One segment, and what scores depend on in it.
pub(super) struct Source<'a> {
    pub(super) segment: &'a SegmentReader,
    /// Its position among the segments.
    pub(super) position: usize,
    pub(super) fields: &'a Fields,
    pub(super) statistics: &'a Statistics,
    pub(super) common: &'a CommonWords,
    pub(super) vectors: Option<&'a Vectors>,
    /// `true` if vectors find products that have no word of the text.
    pub(super) fills: bool,
}

impl Source<'_> {
    /// Returns the products that a token matches, by leaf, or by leaf and field. `is_read` tells of a number of
    /// products whether all of them will be asked for.
    fn postings(&self, leaves: &[LeafTerms], is_read: impl Fn(usize) -> bool) -> tantivy::Result<Vec<Posting>> {
        let mut postings = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            match leaf {
                LeafTerms::Flat { field, term, score } => {
                    let blocks = self.blocks(*field, term, IndexRecordOption::Basic)?;
                    postings.push(Posting::Flat { blocks, score: *score });
                }
                LeafTerms::Stem { stem, factor, by_field } => {
                    self.stem(stem, *factor, by_field, &is_read, &mut postings)?;
                }
                LeafTerms::Joint(parts) => postings.push(self.joint(parts)?),
            }
        }
        Ok(postings)
    }

    /// Returns the products that have a term of the leaves in their title or categories.
    fn naming(&self, leaves: &[LeafTerms]) -> tantivy::Result<Vec<Posting>> {
        let mut postings = Vec::new();
        let flat = |field: Field, term: &TermInfo| -> tantivy::Result<_> {
            Ok(Posting::Flat { blocks: self.blocks(field, term, IndexRecordOption::Basic)?, score: 0 })
        };
        for leaf in leaves {
            match leaf {
                LeafTerms::Stem { by_field, .. } => {
                    for FieldTerm { position, term, .. } in by_field.iter().filter(|found| found.position < NAMING) {
                        postings.push(flat(self.fields.texts[*position], term)?);
                    }
                }
                LeafTerms::Joint(parts) => postings.push(self.joint(parts)?),
                LeafTerms::Flat { field, term, .. } => postings.push(flat(*field, term)?),
            }
        }
        Ok(postings)
    }

    /// Returns the products that have a stem of every part.
    fn joint(&self, parts: &[Vec<FieldTerm>]) -> tantivy::Result<Posting> {
        let joint = parts.iter().map(|part| self.weighed(part));
        Ok(Posting::Joint(joint.collect::<tantivy::Result<_>>()?))
    }

    fn stem(
        &self,
        stem: &str,
        factor: f32,
        by_field: &[FieldTerm],
        is_read: impl Fn(usize) -> bool,
        postings: &mut Vec<Posting>,
    ) -> tantivy::Result<()> {
        let key = || Key {
            segment: self.segment.segment_id(),
            epoch: self.statistics.epoch,
            factor: factor.to_bits(),
            stem: stem.to_owned(),
        };
        let docs = self.segment.max_doc();
        let length = by_field.iter().map(|found| found.term.doc_freq as usize).sum();
        if length < common(docs) {
            postings.append(&mut self.weighed(by_field)?);
        } else if let Some(scores) = self.common.get(&key()) {
            postings.push(Posting::Kept(scores));
        } else if is_read(length) {
            let mut by_field = self.weighed(by_field)?;
            let scores = Arc::new(Scores::new(docs, |number, cells, found| {
                for posting in &mut by_field {
                    posting.read(number, None, cells, found);
                }
            }));
            self.common.keep(key(), &scores);
            postings.push(Posting::Kept(scores));
        } else {
            postings.append(&mut self.weighed(by_field)?);
        }
        Ok(())
    }

    /// Returns the products of stems in text fields.
    fn weighed(&self, terms: &[FieldTerm]) -> tantivy::Result<Vec<Posting>> {
        let weighed = terms.iter().map(|FieldTerm { position, term, weight }| {
            let field = self.fields.texts[*position];
            let blocks = self.blocks(field, term, IndexRecordOption::WithFreqs)?;
            Ok(Posting::weighed(blocks, *weight, self.segment.get_fieldnorms_reader(field)?))
        });
        weighed.collect()
    }

    fn blocks(
        &self,
        field: Field,
        term: &TermInfo,
        option: IndexRecordOption,
    ) -> tantivy::Result<Box<BlockSegmentPostings>> {
        Ok(Box::new(self.segment.inverted_index(field)?.read_block_postings_from_terminfo(term, option)?))
    }
}
