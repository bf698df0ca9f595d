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
    DocId, Searcher, SegmentReader, Term,
    postings::BlockSegmentPostings,
    query::{Bm25Weight, FuzzyTermQuery},
    schema::{Field, IndexRecordOption},
};

use super::{
    documents::{BLOCK, Block, Cells},
    postings::Posting,
    schema::{Fields, TEXTS, code_term},
    scores::{CommonWords, Key, Scores, common},
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

    /// Calls `found` with the products of a segment that match, block by block. Deleted ones are included.
    pub(super) fn score(
        &self,
        source: &Source<'_>,
        mode: Mode,
        mut found: impl FnMut(&mut Matches<'_>),
    ) -> tantivy::Result<()> {
        let mut tokens = Vec::with_capacity(self.tokens.len());
        let mut candidates = usize::MAX;
        for token in &self.tokens {
            // Looking a few products up in a long list beats reading the list.
            let postings = source.postings(token, |length| mode == Mode::Any || candidates >= length / 16)?;
            candidates = candidates.min(postings.iter().map(Posting::len).sum());
            tokens.push(postings);
        }
        let mut cells = [0; BLOCK as usize];
        for number in 0..source.segment.max_doc().div_ceil(BLOCK) {
            let mut matches =
                Matches { number, products: Block::default(), most: 0, tokens: &[], cells: &mut cells, is_blank: true };
            for (at, postings) in tokens.iter_mut().enumerate() {
                let before = (mode == Mode::All && at > 0).then_some(matches.products);
                let mut of_token = Block::default();
                for posting in postings {
                    matches.read(posting, before.as_ref(), &mut of_token);
                }
                matches.products = match before {
                    Some(before) => before.and(&of_token),
                    None => matches.products.or(&of_token),
                };
                if mode == Mode::All && matches.products.is_empty() {
                    break;
                }
            }
            matches.tokens = &tokens;
            if !matches.products.is_empty() {
                found(&mut matches);
            }
            if !matches.is_blank {
                cells.fill(0);
            }
        }
        Ok(())
    }
}

/// The products of a block that match.
pub(super) struct Matches<'a> {
    /// Number of the block.
    pub(super) number: DocId,
    pub(super) products: Block,
    /// A score that no product of the block exceeds.
    pub(super) most: u32,
    tokens: &'a [Vec<Posting>],
    cells: &'a mut Cells,
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
        self.cells
    }
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
        let docs = self.segment.max_doc();
        let can_be_common = docs as usize >= common(docs) / TEXTS.len();
        if can_be_common && let Some(scores) = self.common.get(&key()) {
            postings.push(Posting::Kept(scores));
            return Ok(());
        }
        let mut by_field = Vec::with_capacity(TEXTS.len());
        for field in 0..TEXTS.len() {
            by_field.extend(self.weighed(field, stem, factor)?);
        }
        let length = by_field.iter().map(Posting::len).sum();
        if length >= common(docs) && is_read(length) {
            let scores = Arc::new(Scores::new(docs, |number, cells, found| {
                for posting in &mut by_field {
                    posting.read(number, None, cells, found);
                }
            }));
            self.common.keep(key(), &scores);
            postings.push(Posting::Kept(scores));
        } else {
            postings.append(&mut by_field);
        }
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
        Ok(Some(Posting::weighed(blocks, weight, self.segment.get_fieldnorms_reader(field)?)))
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
