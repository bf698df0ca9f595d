//! Conversion of texts to terms.
//!
//! Texts and queries are folded and split in the same way, and reduced to stems in the languages of the market. A text
//! is stemmed in its own language; a query, whose language is unknown, in all of them. Words of scripts
//! that put no spaces between words become pairs of neighboring characters.

use tantivy::tokenizer::{Language, Stemmer, TextAnalyzer, TokenStream as _, WhitespaceTokenizer};
use ucp_core::{
    catalog::market::Market,
    text::{fold, words},
};

/// Maximum length of a word; longer ones, which only hostile texts have, are cut.
const LONGEST_WORD: usize = 64;

/// Stop words, folded: English and Spanish.
const STOP_WORDS: &[&str] = &[
    "a", "al", "an", "and", "are", "as", "at", "be", "by", "con", "como", "de", "del", "e", "el", "en", "es", "for",
    "from", "i", "in", "is", "it", "la", "las", "le", "lo", "los", "me", "mi", "my", "o", "of", "on", "or", "para",
    "por", "que", "se", "sin", "su", "sus", "that", "the", "this", "to", "u", "un", "una", "unas", "unos", "with", "y",
    "your",
];

/// Returns `true` if a folded word is left out of queries that have others.
pub(super) fn is_stop_word(word: &str) -> bool {
    STOP_WORDS.contains(&word)
}

/// Converter of the texts of one market to terms.
pub(super) struct Analysis {
    /// Languages of the market, its default one first, with their stemmers.
    languages: Vec<(String, Option<TextAnalyzer>)>,
}

impl Analysis {
    pub(super) fn new(market: &Market) -> Self {
        let languages = std::iter::once(&market.language).chain(&market.languages);
        Self { languages: languages.map(|tag| (tag.clone(), stemmer(tag))).collect() }
    }

    /// The stems of a text in the language of `tag`, where `words` are its [words](folded_words). Languages that the
    /// market does not know are treated as its own.
    pub(super) fn stems(&self, tag: &str, text: &str, words: &[String]) -> Vec<String> {
        let language = self.languages.iter().find(|(known, _)| known == tag).or_else(|| self.languages.first());
        let Some((_, Some(stemmer))) = language else {
            return words.to_vec();
        };
        let mut stemmer = stemmer.clone();
        let mut stems = stem(&mut stemmer, &words.join(" "));
        // Stemming rules know accents: with them, some words have another stem. Queries come with and without.
        if !text.is_ascii() {
            for word in accented_words(text) {
                let with: Vec<_> = stem(&mut stemmer, &word).iter().map(|stem| fold(stem)).collect();
                if with != stem(&mut stemmer, &fold(&word)) {
                    stems.extend(with);
                }
            }
        }
        stems
    }

    /// The stems of one word of a query in every language of the market, each once.
    pub(super) fn query_stems(&self, word: &str) -> Vec<String> {
        let mut stems = Vec::new();
        for (tag, _) in &self.languages {
            for stem in self.stems(tag, word, &[word.to_owned()]) {
                if !stems.contains(&stem) {
                    stems.push(stem);
                }
            }
        }
        stems
    }
}

/// The words of a text, folded, as the index knows them.
pub(super) fn folded_words(text: &str) -> Vec<String> {
    let mut result = Vec::new();
    for word in words(text) {
        split_unspaced(&word, &mut result);
    }
    result
}

/// The words of a text that have accents, in lower case.
fn accented_words(text: &str) -> impl Iterator<Item = String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_ascii() && !word.chars().any(is_unspaced))
        .map(|word| cut(&word.to_lowercase()).to_owned())
}

/// The stems of the words of a text that is folded and has spaces between words.
fn stem(stemmer: &mut TextAnalyzer, text: &str) -> Vec<String> {
    let mut stems = Vec::new();
    stemmer.token_stream(text).process(&mut |token| stems.push(token.text.clone()));
    stems
}

fn stemmer(tag: &str) -> Option<TextAnalyzer> {
    let primary = tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
    let language = match primary.as_str() {
        "ar" => Language::Arabic,
        "da" => Language::Danish,
        "de" => Language::German,
        "el" => Language::Greek,
        "en" => Language::English,
        "es" => Language::Spanish,
        "fi" => Language::Finnish,
        "fr" => Language::French,
        "hu" => Language::Hungarian,
        "it" => Language::Italian,
        "nb" | "nn" | "no" => Language::Norwegian,
        "nl" => Language::Dutch,
        "pt" => Language::Portuguese,
        "ro" => Language::Romanian,
        "ru" => Language::Russian,
        "sv" => Language::Swedish,
        "ta" => Language::Tamil,
        "tr" => Language::Turkish,
        _ => return None,
    };
    Some(TextAnalyzer::builder(WhitespaceTokenizer::default()).filter(Stemmer::new(language)).build())
}

/// Pushes `word`, with its runs of unspaced script taken apart into pairs of characters.
fn split_unspaced(word: &str, into: &mut Vec<String>) {
    if word.is_ascii() || !word.chars().any(is_unspaced) {
        into.push(cut(word).to_owned());
        return;
    }
    let letters: Vec<char> = word.chars().collect();
    for run in letters.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
        if is_unspaced(run[0]) && run.len() > 1 {
            into.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            into.push(cut(&run.iter().collect::<String>()).to_owned());
        }
    }
}

/// Han, kana, Thai, Lao, Myanmar and Khmer.
const fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

fn cut(word: &str) -> &str {
    &word[..word.floor_char_boundary(LONGEST_WORD)]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn analysis() -> Analysis {
        Analysis::new(
            &serde_json::from_str(r#"{"name":"x","currency":"USD","language":"en","languages":["es"]}"#)
                .expect("market"),
        )
    }

    fn meets(tag: &str, text: &str, query: &str) -> bool {
        let analysis = analysis();
        let text = analysis.stems(tag, text, &folded_words(text));
        folded_words(query).iter().all(|word| analysis.query_stems(word).iter().any(|stem| text.contains(stem)))
    }

    #[test]
    fn queries_meet_texts_across_inflection_accents_and_languages() {
        assert!(meets("en", "Running shoes", "shoe run"));
        assert!(meets("en", "A pair of boots", "BOOT"));
        assert!(meets("es", "Zapatillas para correr", "zapatilla"));
        for (text, query) in
            [("camión", "camiones"), ("habitación", "habitaciones"), ("camiones", "camion"), ("niños", "nino")]
        {
            assert!(meets("es", text, query), "{text} {query}");
        }
        assert!(!meets("en", "Running shoes", "hat"));
        assert!(meets("ja", "東京の靴下", "靴下"));
    }

    #[test]
    fn hostile_words_are_cut() {
        let stems = |tag: &str, text: &str| analysis().stems(tag, text, &folded_words(text));
        let long = stems("es", &"ñ".repeat(100_000));
        assert!(long.iter().all(|stem| stem.len() <= LONGEST_WORD), "{long:?}");
        assert!(stems("en", "\u{0}\u{301} … ").is_empty());
    }
}
