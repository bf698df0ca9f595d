//! The words of the shop's own products: which there are, which are near a mistyped one, and which are compounds.
//!
//! The frozen statistics state whether a word is known and how common it is: what is derived from it does not
//! change between two pages.

use std::collections::{BTreeSet, HashMap};

use tantivy::{Searcher, Term, query::FuzzyTermQuery, schema::Field};

use super::{
    schema::{Fields, TEXTS, reversed},
    statistics::Statistics,
};

/// Maximum number of known words that a mistyped one is expanded to.
const MOST_CORRECTIONS: usize = 24;

/// Minimum length of a word that is corrected, in characters: shorter ones have too many neighbors.
const SHORTEST_CORRECTED: usize = 4;

/// Length up to which a letter in another's place makes another word, in characters: `child` and `chili`.
const SHORT: usize = 5;

/// Minimum length of a word of which two typos are corrected, in characters.
const LONG: usize = 8;

/// Minimum length of the parts of a compound, in characters.
const SHORTEST_PART: usize = 3;

/// Letters between the parts of a compound.
const LINKS: &[&str] = &["", "s", "n", "en", "es", "e", "er"];

/// Maximum number of terms that are read to find the ones that a word is expanded to.
const MOST_READ: usize = 4_096;

/// The words of an index.
pub(super) struct Vocabulary<'a> {
    pub(super) fields: &'a Fields,
    pub(super) statistics: &'a Statistics,
    pub(super) searcher: &'a Searcher,
}

/// Words of the shop's products that are a typo or two away from a word.
#[derive(Default)]
pub(super) struct Near {
    /// Words in the statistics, the most common first.
    pub(super) known: Vec<String>,
    /// Words newer than the statistics. They are matched without stemming: through their stems, a new product could
    /// make old ones appear on a page that a caller has already passed.
    pub(super) new: Vec<String>,
}

impl Vocabulary<'_> {
    /// Returns the number of products that have a word as it is.
    pub(super) fn word_freq(&self, word: &str) -> u32 {
        self.statistics.doc_freq(TEXTS.len(), word)
    }

    /// Returns the number of products that have a stem, in the field that most have it in.
    pub(super) fn stem_freq(&self, stem: &str) -> u32 {
        (0..TEXTS.len()).map(|field| self.statistics.doc_freq(field, stem)).max().unwrap_or(0)
    }

    /// The words that are one typo away, or two if there are none and the word is long.
    pub(super) fn near(&self, word: &str) -> tantivy::Result<Near> {
        let length = word.chars().count();
        // Another number is another thing.
        if length < SHORTEST_CORRECTED || word.chars().any(char::is_numeric) {
            return Ok(Near::default());
        }
        let one = self.within(word, 1)?;
        if !one.known.is_empty() || !one.new.is_empty() || length < LONG {
            return Ok(one);
        }
        self.within(word, 2)
    }

    fn within(&self, word: &str, distance: u8) -> tantivy::Result<Near> {
        let automaton =
            || FuzzyTermQuery::new(Term::from_field_text(self.fields.words, word), distance, true).automaton();
        let mut found: HashMap<String, u32> = HashMap::new();
        for segment in self.searcher.segment_readers() {
            let inverted = segment.inverted_index(self.fields.words)?;
            let mut terms = inverted.terms().search(automaton()?).into_stream()?;
            while terms.advance() {
                if let Ok(term) = std::str::from_utf8(terms.key())
                    && is_typo(word, term)
                {
                    found.entry(term.to_owned()).or_insert_with(|| self.word_freq(term));
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

    /// The known stems of compounds that end with a stem, the most common first.
    pub(super) fn ending_with(&self, stem: &str, most: usize) -> tantivy::Result<Vec<String>> {
        if stem.chars().count() < SHORTEST_PART {
            return Ok(Vec::new());
        }
        let terms = self.beginning(self.fields.heads, &reversed(stem))?;
        let whole = |end: String| {
            let own = reversed(&end);
            let first = own.strip_suffix(stem).unwrap_or_default().to_owned();
            (self.is_first_part(&first)).then_some(own)
        };
        Ok(self.most_common(terms.into_iter().filter_map(whole), most))
    }

    /// The known stems of compounds that begin with a word, the most common first.
    pub(super) fn beginning_with(&self, word: &str, most: usize) -> tantivy::Result<Vec<String>> {
        let terms = self.beginning(self.fields.words, word)?;
        let is_compound = |term: &String| {
            let rest = &term[word.len()..];
            LINKS.iter().any(|link| {
                rest.strip_prefix(link)
                    .is_some_and(|second| second.chars().count() >= SHORTEST_PART && self.word_freq(second) > 0)
            })
        };
        let stems = terms.into_iter().filter(is_compound).flat_map(|term| self.fields.analysis().query_stems(&term));
        Ok(self.most_common(stems, most))
    }

    /// Returns `true` if a word can be the first part of a compound.
    fn is_first_part(&self, word: &str) -> bool {
        word.chars().count() >= SHORTEST_PART
    }

    fn most_common(&self, stems: impl Iterator<Item = String>, most: usize) -> Vec<String> {
        let stems: BTreeSet<String> = stems.collect();
        let mut known: Vec<_> =
            stems.into_iter().map(|stem| (self.stem_freq(&stem), stem)).filter(|(freq, _)| *freq > 0).collect();
        known.sort_by(|(a_freq, a), (b_freq, b)| b_freq.cmp(a_freq).then_with(|| a.cmp(b)));
        known.into_iter().take(most).map(|(_, stem)| stem).collect()
    }

    /// The terms of a field that are longer than their beginning.
    pub(super) fn beginning(&self, field: Field, begin: &str) -> tantivy::Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        for segment in self.searcher.segment_readers() {
            let inverted = segment.inverted_index(field)?;
            let mut terms = inverted.terms().range().ge(begin).into_stream()?;
            let mut read = 0;
            while terms.advance() && terms.key().starts_with(begin.as_bytes()) && read < MOST_READ {
                read += 1;
                if let Ok(term) = std::str::from_utf8(terms.key())
                    && term.len() > begin.len()
                {
                    found.insert(term.to_owned());
                }
            }
        }
        Ok(found)
    }

    /// The two known words that a word is made of, the longer second one first: `schreibtisch` and `stuhl`.
    pub(super) fn parts(&self, word: &str) -> Option<[String; 2]> {
        let links = if self.fields.analysis().is_compounding() { LINKS } else { &LINKS[..1] };
        let is_compounding = self.fields.analysis().is_compounding();
        let is_part = |part: &str| if is_compounding { self.has(part) } else { self.word_freq(part) > 0 };
        let at = word.char_indices().map(|(at, _)| at).skip(SHORTEST_PART);
        for at in at.take_while(|at| word[*at..].chars().count() >= SHORTEST_PART) {
            let (first, second) = word.split_at(at);
            if !is_part(second) {
                continue;
            }
            for link in links {
                if let Some(first) = first.strip_suffix(link)
                    && first.chars().count() >= SHORTEST_PART
                    && is_part(first)
                {
                    return Some([first.to_owned(), second.to_owned()]);
                }
            }
        }
        None
    }

    /// The longest known word that a compound begins with.
    pub(super) fn first_part<'w>(&self, word: &'w str) -> Option<&'w str> {
        let ends = word.char_indices().map(|(at, _)| at).skip(SHORTEST_PART + 1);
        ends.map(|end| &word[..end]).filter(|first| self.word_freq(first) > 0).last()
    }

    /// Returns `true` if a product has a word in some form.
    pub(super) fn has(&self, word: &str) -> bool {
        self.word_freq(word) > 0 || self.fields.analysis().query_stems(word).iter().any(|stem| self.stem_freq(stem) > 0)
    }
}

/// Returns `true` if a word can be a mistyped other one: its first letter is right, and in a short word no letter is in the
/// place of another.
fn is_typo(word: &str, other: &str) -> bool {
    let (mut own, mut others): (Vec<char>, Vec<char>) = (word.chars().collect(), other.chars().collect());
    let has_other = own.iter().zip(&others).filter(|(a, b)| a != b).count() == 1;
    if own.len() == others.len() && own.len() <= SHORT && has_other {
        return false;
    }
    if own.first() == others.first() {
        return true;
    }
    // Two letters in each other's place, or one too many in a long word.
    own.truncate(2);
    others.truncate(2);
    own.reverse();
    own == others || word.chars().count() > SHORT && word.chars().skip(1).eq(other.chars())
}
