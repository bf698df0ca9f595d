//! Full-text queries: the tokens of a search text, and the score of each product that matches them.
//!
//! A text is a list of tokens. A token matches a product if one of its *leaves* does: its stem in some language in one
//! of the text fields, the identifier that it is part of, or, if no product has the word, a word one typo away.
//! A product's score is the sum of the leaves that match it. Each leaf is rounded to an integer, so that sums do not
//! depend on the order in which they are made, and weighed by [frozen statistics](super::statistics), so that they do
//! not depend on other products.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::Arc,
};

use tantivy::{
    DocId, Searcher, SegmentReader, TERMINATED, Term,
    fieldnorm::FieldNormReader,
    postings::BlockSegmentPostings,
    query::{Bm25Weight, FuzzyTermQuery},
    schema::{Field, IndexRecordOption},
};

use super::{
    schema::{Fields, TEXTS, code_term},
    scores::{COMMON, CommonWords, Key, Scores},
    statistics::Statistics,
    text::{folded_words, is_stop_word},
};

/// Maximum length of a search text, in bytes; the rest is ignored.
const LONGEST_QUERY: usize = 2_048;

/// Maximum number of different words of a text; further ones are ignored.
const MOST_TOKENS: usize = 24;

/// Maximum number of unknown words of a text that are corrected.
const MOST_CORRECTED: usize = 6;

/// Maximum number of known words that a mistyped one is expanded to.
const MOST_CORRECTIONS: usize = 24;

/// Minimum length of a word that is corrected, in characters: shorter ones have too many neighbors.
const SHORTEST_CORRECTED: usize = 4;

/// Units of an integer score per BM25 point.
const UNIT: f32 = 64.0;

/// Score of a matching identifier: more than words can reach.
const CODE_SCORE: u32 = 40 * 64;

/// Factor on the score of a word that matches by correction.
const CORRECTED: f32 = 0.4;

/// Score of a correction that was unknown when the statistics were made.
const CORRECTED_NEW: u32 = 64;

/// Match mode: products have to match all tokens, or any of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    All,
    Any,
}

/// One way in which a product can match a token.
#[derive(Clone, Copy)]
enum Leaf {
    /// A stem in any of the text fields, with its score multiplied by `factor`.
    Stem { factor: f32 },
    /// A term with a fixed score.
    Flat { field: Field, score: u32 },
}

/// Words in front of an amount that make it a limit, in lower case.
const LIMITS: [&str; 18] = [
    "above", "at", "below", "bis", "cheaper", "hasta", "less", "max", "maximum", "menos", "more", "most", "over",
    "than", "to", "under", "unter", "up",
];

/// Those that no name of a product has before a number: "Air Max 90" is one.
const SURE_LIMITS: [&str; 4] = ["below", "than", "under", "unter"];

/// Words and codes of currencies behind an amount, in lower case.
const CURRENCIES: [&str; 12] =
    ["bucks", "chf", "dollar", "dollars", "eur", "euro", "euros", "gbp", "jpy", "pounds", "usd", "yen"];

/// Splits a search text into its words and those that state a price, such as `under $100`. A text of prices alone is
/// taken as words.
fn without_prices(text: &str) -> (Vec<&str>, Vec<String>) {
    let chunks: Vec<&str> = text.split_whitespace().collect();
    let is = |words: &[&str], place: usize| {
        chunks.get(place).is_some_and(|chunk| words.iter().any(|word| chunk.eq_ignore_ascii_case(word)))
    };
    let is_number = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_digit())
            && text.chars().all(|letter| letter.is_ascii_digit() || matches!(letter, '.' | ','))
    };
    let (mut words, mut prices) = (Vec::new(), Vec::new());
    let mut place = 0;
    while let Some(chunk) = chunks.get(place) {
        let begin = (0..place).rev().take_while(|before| is(&LIMITS, *before)).last();
        let bare = chunk.trim_matches(['$', '€', '£', '¥']);
        let has_currency = is(&CURRENCIES, place + 1);
        let is_price =
            is_number(bare) && (bare.len() < chunk.len() || has_currency || place > 0 && is(&SURE_LIMITS, place - 1));
        place += 1;
        if !is_price {
            words.push(*chunk);
            continue;
        }
        let limits = begin.map_or(0, |begin| place - 1 - begin);
        words.truncate(words.len().saturating_sub(limits));
        place += usize::from(has_currency);
        prices.push(chunks[place - 1 - usize::from(has_currency) - limits..place].join(" "));
    }
    if words.is_empty() { (chunks, Vec::new()) } else { (words, prices) }
}

/// A token of a query.
struct Token {
    leaves: Vec<(String, Leaf)>,
    /// Approximate number of products that have it. Rare tokens are evaluated first.
    freq: u64,
}

/// Parsed search text.
pub(super) struct Plan {
    tokens: Vec<Token>,
    /// Words that no product has and for which products with similar words are found.
    pub(super) corrected: Vec<String>,
    /// Words that state a price, which no product is found by.
    pub(super) prices: Vec<String>,
}

impl Plan {
    /// Parses a search text.
    pub(super) fn new(
        text: &str,
        fields: &Fields,
        statistics: &Statistics,
        searcher: &Searcher,
    ) -> tantivy::Result<Self> {
        let text = &text[..text.floor_char_boundary(LONGEST_QUERY)];
        // Each word with the identifiers that it can be a part of.
        let mut tokens: Vec<(String, BTreeSet<String>)> = Vec::new();
        let whole = code_term(text);
        let (chunks, prices) = without_prices(text);
        for chunk in chunks {
            let chunk_code = code_term(chunk);
            for word in folded_words(chunk) {
                let position = match tokens.iter().position(|(known, _)| *known == word) {
                    Some(position) => position,
                    None => {
                        tokens.push((word, BTreeSet::from([whole.clone()])));
                        tokens.len() - 1
                    }
                };
                tokens[position].1.insert(chunk_code.clone());
            }
        }
        if tokens.iter().any(|(word, _)| !is_stop_word(word)) {
            tokens.retain(|(word, _)| !is_stop_word(word));
        }
        tokens.truncate(MOST_TOKENS);

        let mut corrected = 0;
        let mut plan = Self { tokens: Vec::with_capacity(tokens.len()), corrected: Vec::new(), prices };
        for (word, codes) in tokens {
            let mut stems: BTreeMap<String, f32> =
                fields.analysis().query_stems(&word).into_iter().map(|stem| (stem, 1.0)).collect();
            let known = |stem: &str| (0..TEXTS.len()).any(|field| statistics.doc_freq(field, stem) > 0);
            let mut leaves: Vec<_> =
                codes.into_iter().map(|code| (code, Leaf::Flat { field: fields.codes, score: CODE_SCORE })).collect();
            let unknown = statistics.doc_freq(TEXTS.len(), &word) == 0 && !stems.keys().any(|stem| known(stem));
            if unknown && corrected < MOST_CORRECTED && is_correctable(&word) {
                corrected += 1;
                let near = near(&word, fields, statistics, searcher)?;
                // Products that are newer than the statistics may have the word after all.
                let mut exact = vec![Term::from_field_text(fields.words, &word)];
                exact.extend(leaves.iter().map(|(code, _)| Term::from_field_text(fields.codes, code)));
                exact.extend(
                    stems.keys().flat_map(|stem| fields.texts.iter().map(|field| Term::from_field_text(*field, stem))),
                );
                let mut is_somewhere = false;
                for term in &exact {
                    is_somewhere = is_somewhere || searcher.doc_freq(term)? > 0;
                }
                let is_alone = near.known.is_empty() && near.new.is_empty();
                if !is_alone && !is_somewhere {
                    plan.corrected.push(word.clone());
                }
                for word in near.known {
                    for stem in fields.analysis().query_stems(&word) {
                        stems.entry(stem).or_insert(CORRECTED);
                    }
                }
                leaves.extend(
                    near.new.into_iter().map(|word| (word, Leaf::Flat { field: fields.words, score: CORRECTED_NEW })),
                );
            }
            let mut freq = 1;
            for (stem, factor) in stems {
                freq += (0..TEXTS.len()).map(|field| u64::from(statistics.doc_freq(field, &stem))).sum::<u64>();
                leaves.push((stem, Leaf::Stem { factor }));
            }
            plan.tokens.push(Token { leaves, freq });
        }
        plan.tokens.sort_by_key(|token| token.freq);
        Ok(plan)
    }

    /// Returns `true` if both modes find the same, as there is at most one token.
    pub(super) const fn is_single(&self) -> bool {
        self.tokens.len() <= 1
    }

    /// Calls `found` with the products of a segment that match, ascending, and their scores. Deleted ones are included.
    ///
    /// # Errors
    /// Errors of the index, after which the sheet is of no use.
    pub(super) fn score(
        &self,
        source: &Source<'_>,
        mode: Mode,
        sheet: &mut Sheet,
        mut found: impl FnMut(DocId, u32),
    ) -> tantivy::Result<()> {
        let cells = sheet.of(source.segment.max_doc() as usize);
        // Those that match the tokens so far, after each token.
        let mut levels: Vec<Matches> = Vec::new();
        for (number, token) in (1..).zip(&self.tokens) {
            let mut matches = match (mode, levels.pop()) {
                (Mode::Any, Some(matches)) => matches,
                (Mode::All, Some(before)) => {
                    levels.push(before);
                    Matches::default()
                }
                (_, None) => Matches::default(),
            };
            let candidates = levels.last().filter(|_| mode == Mode::All);
            // Looking a few products up in a long list beats reading the list.
            let few = |length: usize| candidates.and_then(|candidates| candidates.fewer_than(length / 16));
            let mut postings = source.postings(token, |length| few(length).is_none())?;
            if let ([_], [posting]) = (&*self.tokens, &mut *postings) {
                posting.each(&mut found);
                return Ok(());
            }
            for posting in &mut postings {
                match mode {
                    Mode::All => narrow(cells, posting, number, few(posting.len()), &mut matches),
                    Mode::Any => widen(cells, posting, &mut matches),
                }
            }
            matches.docs.sort_unstable();
            let is_empty = matches.is_empty();
            levels.push(matches);
            if mode == Mode::All && is_empty {
                break;
            }
        }
        let level = match mode {
            Mode::All => u32::try_from(levels.len()).unwrap_or(u32::MAX),
            Mode::Any => 1,
        };
        match levels.last() {
            Some(Matches { is_many: true, .. }) => {
                let at_level = (0..).zip(&*cells).filter(|(_, cell)| **cell >> SCORE_BITS == level);
                at_level.for_each(|(doc, cell)| found(doc, cell & MOST_SCORE));
            }
            Some(Matches { docs, .. }) => docs.iter().for_each(|doc| found(*doc, cells[*doc as usize] & MOST_SCORE)),
            None => {}
        }
        match levels.first() {
            Some(Matches { is_many: true, .. }) => cells.fill(0),
            Some(Matches { docs, .. }) => docs.iter().for_each(|doc| cells[*doc as usize] = 0),
            None => {}
        }
        Ok(())
    }
}

/// Number of bits of a score in a cell; the others hold the number of leading tokens that the product matches.
const SCORE_BITS: u32 = 27;

/// Largest score in a cell.
const MOST_SCORE: u32 = (1 << SCORE_BITS) - 1;

/// Scores of one segment while they are computed: a cell for each product. All cells are zero between searches, because
/// making a sheet for each of them takes longer than scoring.
#[derive(Default)]
pub(super) struct Sheet(Vec<u32>);

impl Sheet {
    fn of(&mut self, size: usize) -> &mut [u32] {
        if self.0.len() < size {
            self.0.resize(size, 0);
        }
        &mut self.0[..size]
    }
}

/// Products that match.
#[derive(Default)]
struct Matches {
    /// Products, unless they are many.
    docs: Vec<DocId>,
    /// `true` for so many that reading all cells beats sorting them.
    is_many: bool,
}

impl Matches {
    fn push(&mut self, doc: DocId, of: usize) {
        if self.is_many {
            return;
        }
        self.docs.push(doc);
        if self.docs.len() * 16 > of {
            self.is_many = true;
            self.docs.clear();
        }
    }

    const fn is_empty(&self) -> bool {
        self.docs.is_empty() && !self.is_many
    }

    /// Returns the products if they are fewer than `limit`.
    fn fewer_than(&self, limit: usize) -> Option<&[DocId]> {
        (!self.is_many && self.docs.len() < limit).then_some(&self.docs)
    }
}

/// Adds a posting of the token `number` (from 1) to the products that match all tokens before it: those of
/// `candidates`, or all that reached the level before.
fn narrow(cells: &mut [u32], posting: &mut Posting, number: u32, candidates: Option<&[DocId]>, matches: &mut Matches) {
    let size = cells.len();
    let mut add = |doc: DocId, score: u32| {
        let cell = &mut cells[doc as usize];
        let level = *cell >> SCORE_BITS;
        if level == number - 1 {
            matches.push(doc, size);
        } else if level != number {
            return;
        }
        *cell = (number << SCORE_BITS) | ((*cell & MOST_SCORE) + score).min(MOST_SCORE);
    };
    match candidates {
        Some(docs) => posting.among(docs, add),
        None => posting.each(&mut add),
    }
}

/// Adds the score of a leaf to every product that it matches.
fn widen(cells: &mut [u32], posting: &mut Posting, matches: &mut Matches) {
    let size = cells.len();
    posting.each(&mut |doc, score| {
        let cell = &mut cells[doc as usize];
        if *cell >> SCORE_BITS == 0 {
            matches.push(doc, size);
        }
        *cell = (1 << SCORE_BITS) | ((*cell & MOST_SCORE) + score).min(MOST_SCORE);
    });
}

/// One segment, and what scores depend on in it.
pub(super) struct Source<'a> {
    pub(super) segment: &'a SegmentReader,
    pub(super) fields: &'a Fields,
    pub(super) statistics: &'a Statistics,
    pub(super) common: &'a CommonWords,
}

impl Source<'_> {
    /// Returns the products that a token matches, by leaf, or by leaf and field. `is_read` tells of a number of
    /// products whether all of them will be asked for.
    fn postings(&self, token: &Token, is_read: impl Fn(usize) -> bool) -> tantivy::Result<Vec<Posting>> {
        let mut postings = Vec::with_capacity(token.leaves.len());
        for (text, leaf) in &token.leaves {
            match *leaf {
                Leaf::Flat { field, score } => {
                    let blocks = self.blocks(field, text, IndexRecordOption::Basic)?;
                    postings.extend(blocks.map(|blocks| Posting::Flat { blocks, score }));
                }
                Leaf::Stem { factor } => self.stem(text, factor, &is_read, &mut postings)?,
            }
        }
        Ok(postings)
    }

    fn stem(
        &self,
        stem: &str,
        factor: f32,
        is_read: impl Fn(usize) -> bool,
        postings: &mut Vec<Posting>,
    ) -> tantivy::Result<()> {
        let key = || Key {
            segment: self.segment.segment_id(),
            epoch: self.statistics.epoch,
            factor: factor.to_bits(),
            stem: stem.to_owned(),
        };
        let can_be_common = self.segment.max_doc() as usize >= COMMON / TEXTS.len();
        if can_be_common && let Some(scores) = self.common.get(&key()) {
            postings.push(Posting::Kept(scores));
            return Ok(());
        }
        let mut by_field = Vec::with_capacity(TEXTS.len());
        for field in 0..TEXTS.len() {
            by_field.extend(self.weighed(field, stem, factor)?);
        }
        let length = by_field.iter().map(Posting::len).sum();
        if length >= COMMON && is_read(length) {
            let mut cells = vec![0; self.segment.max_doc() as usize];
            for posting in &mut by_field {
                posting.each(&mut |doc, score| cells[doc as usize] += score);
            }
            if let Some(scores) = Scores::new(&cells).map(Arc::new) {
                self.common.keep(key(), &scores);
                postings.push(Posting::Kept(scores));
                return Ok(());
            }
            by_field.clear();
            for field in 0..TEXTS.len() {
                by_field.extend(self.weighed(field, stem, factor)?);
            }
        }
        postings.append(&mut by_field);
        Ok(())
    }

    /// Returns the products with a stem in the text field at index `position` of [`TEXTS`].
    fn weighed(&self, position: usize, stem: &str, factor: f32) -> tantivy::Result<Option<Posting>> {
        let field = self.fields.texts[position];
        let Some(blocks) = self.blocks(field, stem, IndexRecordOption::WithFreqs)? else { return Ok(None) };
        let freq = u64::from(self.statistics.doc_freq(position, stem)).max(1);
        let docs = self.statistics.docs.max(freq);
        let weight = Bm25Weight::for_one_term_without_explain(freq, docs, self.statistics.mean_length(position));
        let weight = weight.boost_by(TEXTS[position].1 * factor * UNIT);
        let once = (blocks.doc_freq() >= MANY).then(|| {
            let mut scores = Box::new([0; 256]);
            for (norm, score) in (0..=u8::MAX).zip(&mut *scores) {
                *score = rounded(weight.score(norm, 1));
            }
            scores
        });
        Ok(Some(Posting::Weighed { blocks, weight, norms: self.segment.get_fieldnorms_reader(field)?, once }))
    }

    fn blocks(
        &self,
        field: Field,
        text: &str,
        option: IndexRecordOption,
    ) -> tantivy::Result<Option<BlockSegmentPostings>> {
        Ok(self.segment.inverted_index(field)?.read_block_postings(&Term::from_field_text(field, text), option)?)
    }
}

/// The products of one segment that have a term, and their scores.
enum Posting {
    Flat {
        blocks: BlockSegmentPostings,
        score: u32,
    },
    Weighed {
        blocks: BlockSegmentPostings,
        weight: Bm25Weight,
        norms: FieldNormReader,
        /// Scores of products that have the term once, by their norm, for terms of many products.
        once: Option<Box<[u32; 256]>>,
    },
    /// Over all text fields, from an earlier search.
    Kept(Arc<Scores>),
}

/// Number of products of a term from which on the scores of those that have it once are computed beforehand.
const MANY: u32 = 1_024;

impl Posting {
    fn len(&self) -> usize {
        match self {
            Self::Flat { blocks, .. } | Self::Weighed { blocks, .. } => blocks.doc_freq() as usize,
            Self::Kept(scores) => scores.len(),
        }
    }

    /// Calls `visit` with every product and its score, ascending.
    fn each(&mut self, visit: &mut impl FnMut(DocId, u32)) {
        match self {
            Self::Flat { blocks, score } => {
                while !blocks.docs().is_empty() {
                    blocks.docs().iter().for_each(|doc| visit(*doc, *score));
                    blocks.advance();
                }
            }
            Self::Weighed { blocks, weight, norms, once } => {
                while !blocks.docs().is_empty() {
                    for (doc, freq) in blocks.docs().iter().zip(blocks.freqs()) {
                        let norm = norms.fieldnorm_id(*doc);
                        visit(
                            *doc,
                            match once {
                                Some(scores) if *freq == 1 => scores[usize::from(norm)],
                                _ => rounded(weight.score(norm, *freq)),
                            },
                        );
                    }
                    blocks.advance();
                }
            }
            Self::Kept(scores) => scores.each(visit),
        }
    }

    /// Like [`each`](Self::each), but only for the products in `candidates`, which are ascending.
    fn among(&mut self, candidates: &[DocId], mut visit: impl FnMut(DocId, u32)) {
        match self {
            Self::Flat { blocks, score } => seek(blocks, candidates, |doc, _, _| visit(doc, *score)),
            Self::Weighed { blocks, weight, norms, .. } => seek(blocks, candidates, |doc, blocks, at| {
                visit(doc, rounded(weight.score(norms.fieldnorm_id(doc), blocks.freq(at))));
            }),
            Self::Kept(scores) => scores.among(candidates, visit),
        }
    }
}

/// Calls `visit` with the products of `candidates` that are in `blocks`, and their places in the current block.
fn seek(
    blocks: &mut BlockSegmentPostings,
    candidates: &[DocId],
    mut visit: impl FnMut(DocId, &BlockSegmentPostings, usize),
) {
    for candidate in candidates {
        let at = blocks.seek(*candidate);
        let doc = blocks.doc(at);
        if doc == TERMINATED {
            return;
        }
        if doc == *candidate {
            visit(doc, blocks, at);
        }
    }
}

/// Rounds a score to an integer, at least 1: every match counts. Without `f32::round`, which is a call of a function.
fn rounded(score: f32) -> u32 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates, which is what is wanted")]
    let rounded = (score + 0.5) as u32;
    rounded.clamp(1, MOST_SCORE)
}

/// Returns `true` if a word may be corrected. Numbers and codes are not: another number is another thing.
fn is_correctable(word: &str) -> bool {
    word.chars().count() >= SHORTEST_CORRECTED && !word.chars().any(char::is_numeric)
}

/// Words of the shop's products that are one typo away from a word.
struct Near {
    /// Words in the statistics, the most common first.
    known: Vec<String>,
    /// Words newer than the statistics. They are matched without stemming: through their stems, a new product could
    /// make old ones appear on a page that a caller has already passed.
    new: Vec<String>,
}

fn near(word: &str, fields: &Fields, statistics: &Statistics, searcher: &Searcher) -> tantivy::Result<Near> {
    let automaton = || FuzzyTermQuery::new(Term::from_field_text(fields.words, word), 1, true).automaton();
    let mut found: HashMap<String, u32> = HashMap::new();
    for segment in searcher.segment_readers() {
        let inverted = segment.inverted_index(fields.words)?;
        let mut terms = inverted.terms().search(automaton()?).into_stream()?;
        while terms.advance() {
            if let Ok(term) = std::str::from_utf8(terms.key()) {
                found.entry(term.to_owned()).or_insert_with(|| statistics.doc_freq(TEXTS.len(), term));
            }
        }
    }
    let (mut known, new): (Vec<_>, Vec<_>) = found.into_iter().partition(|(_, freq)| *freq > 0);
    known.sort_by(|(a, a_freq), (b, b_freq)| b_freq.cmp(a_freq).then_with(|| a.cmp(b)));
    known.truncate(MOST_CORRECTIONS);
    Ok(Near {
        known: known.into_iter().map(|(word, _)| word).collect(),
        new: new.into_iter().map(|(word, _)| word).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_no_words_to_search_for() {
        let read = |text| {
            let (words, prices) = without_prices(text);
            (words.join(" "), prices.join("; "))
        };
        let of = |words: &str, prices: &str| (words.to_owned(), prices.to_owned());
        assert_eq!(read("red running shoes under $100"), of("red running shoes", "under $100"));
        assert_eq!(
            read("under $1,000.50 tent for less than 20 euros"),
            of("tent for", "under $1,000.50; less than 20 euros")
        );
        assert_eq!(read("shoes below 100"), of("shoes", "below 100"));
        assert_eq!(read("100 USD gift"), of("gift", "100 USD"));
        assert_eq!(read("gift 50€ max $60"), of("gift", "50€; max $60"));
        assert_eq!(read("$100"), of("$100", ""), "there is nothing else");
        for words in
            ["air max 90", "wood screws box of 100", "up to 10", "under armour", "$", "over the moon", "5$a", ""]
        {
            assert_eq!(read(words), of(words, ""), "{words}");
        }
    }
}
