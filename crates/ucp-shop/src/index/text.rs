//! Conversion of texts to terms.
//!
//! Texts and queries are folded and split in the same way, and reduced to stems in the languages of the market. A text
//! is stemmed in its own language; a query, whose language is unknown, in all of them. Words of scripts
//! that put no spaces between words become pairs of neighboring characters.

use tantivy::tokenizer::{Language, Stemmer, TextAnalyzer, TokenStream as _, WhitespaceTokenizer};
use ucp_core::{
    catalog::market::Market,
    text::{fold, words_of},
};
use unicode_normalization::UnicodeNormalization as _;

use super::numbers::{Amount, amounts};

/// Maximum length of a word; longer ones, which only hostile texts have, are cut.
const LONGEST_WORD: usize = 64;

/// Maximum number of parts of a compound that are joined to one word, and of parts that a word of letters and digits has.
const MOST_PARTS: usize = 4;

/// Languages that write compounds as one word.
const COMPOUNDING: &[&str] = &["da", "de", "fi", "hu", "nb", "nl", "nn", "no", "sv"];

/// Converter of the texts of one market to terms.
pub(super) struct Analysis {
    /// Languages of the market, its default one first, with their stemmers.
    languages: Vec<(String, Option<TextAnalyzer>)>,
    is_compounding: bool,
}

/// The words of a text.
pub(super) struct Words {
    /// Its words, folded, in their order.
    pub(super) words: Vec<String>,
    /// Other spellings of them: `wifi` of `Wi-Fi`, `iphone` and `15` of `iPhone15`, single characters of scripts without spaces.
    pub(super) others: Vec<String>,
    pub(super) amounts: Vec<Amount>,
}

impl Words {
    pub(super) fn of(text: &str) -> Self {
        let folded = fold_text(text);
        let (mut words, mut others) = (Vec::new(), Vec::new());
        for chunk in folded.split_whitespace() {
            let begin = words.len();
            for word in words_of(chunk) {
                split_unspaced(word, &mut words, Some(&mut others));
                others.extend(runs(word).into_iter().map(str::to_owned));
            }
            if let parts @ [_, _, ..] = &words[begin..]
                && parts.len() <= MOST_PARTS
                && !parts.iter().any(|part| part.chars().any(is_unspaced))
                && !chunk.contains([',', ';', ':', '(', ')'])
            {
                others.push(cut(&parts.concat()).to_owned());
            }
        }
        Self { words, others, amounts: amounts(&folded, count) }
    }
}

/// Number of words that a run of letters and digits becomes.
pub(super) fn count(word: &str) -> usize {
    let mut words = Vec::new();
    split_unspaced(word, &mut words, None);
    words.len()
}

/// The runs of letters and of digits of a word that has both; nothing for any other, and for one that has many.
pub(super) fn runs(word: &str) -> Vec<&str> {
    let is_digit = |letter: char| letter.is_ascii_digit();
    let mut runs = Vec::new();
    let mut begin = 0;
    for ((_, before), (at, letter)) in word.char_indices().zip(word.char_indices().skip(1)) {
        if is_digit(before) != is_digit(letter) {
            runs.push(&word[begin..at]);
            begin = at;
        }
    }
    runs.push(&word[begin..]);
    if (2..=MOST_PARTS).contains(&runs.len()) && word.is_ascii() { runs } else { Vec::new() }
}

/// A text as it is compared: folded, with letters in their plain spelling and without the `'s` of English.
pub(super) fn fold_text(text: &str) -> String {
    let text = if text.contains(['\u{bd}', '\u{bc}', '\u{be}']) {
        text.replace('\u{bd}', ".5").replace('\u{bc}', ".25").replace('\u{be}', ".75")
    } else {
        text.to_owned()
    };
    let folded = fold(&text);
    let folded = if folded.is_ascii() { folded } else { plain(&folded) };
    if !folded.contains("'s") {
        return folded;
    }
    let mut kept = String::with_capacity(folded.len());
    let mut rest = folded.as_str();
    while let Some(at) = rest.find("'s") {
        let is_end = !rest[at + 2..].starts_with(char::is_alphanumeric);
        kept.push_str(&rest[..at]);
        kept.push_str(if is_end { "" } else { "'s" });
        rest = &rest[at + 2..];
    }
    kept + rest
}

/// Letters that have no accent to drop and are written in other ways, too.
fn plain(folded: &str) -> String {
    let mut plain = String::with_capacity(folded.len());
    for letter in folded.nfc() {
        match letter {
            '\u{153}' => plain.push_str("oe"),
            '\u{e6}' => plain.push_str("ae"),
            '\u{f8}' => plain.push('o'),
            '\u{df}' => plain.push_str("ss"),
            '\u{142}' => plain.push('l'),
            '\u{111}' | '\u{f0}' => plain.push('d'),
            '\u{fe}' => plain.push_str("th"),
            '\u{131}' => plain.push('i'),
            '\u{2019}' | '\u{2bc}' => plain.push('\''),
            '\u{201d}' | '\u{2033}' => plain.push('"'),
            // Arabic: forms of alif, ya and ta, and the line that stretches words.
            '\u{671}' => plain.push('\u{627}'),
            '\u{649}' => plain.push('\u{64a}'),
            '\u{629}' => plain.push('\u{647}'),
            '\u{640}' => {}
            // Hebrew: the forms of letters at the end of a word.
            '\u{5da}' => plain.push('\u{5db}'),
            '\u{5dd}' => plain.push('\u{5de}'),
            '\u{5df}' => plain.push('\u{5e0}'),
            '\u{5e3}' => plain.push('\u{5e4}'),
            '\u{5e5}' => plain.push('\u{5e6}'),
            other => plain.push(super::han::simplified(other)),
        }
    }
    plain
}

/// Languages that name the kind of a product before what it is like, by primary tag.
const KIND_FIRST: [&str; 9] = ["ar", "ca", "es", "fr", "he", "it", "pt", "ro", "vi"];

impl Analysis {
    pub(super) fn new(market: &Market) -> Self {
        let languages = std::iter::once(&market.language).chain(&market.languages);
        let languages: Vec<_> = languages.map(|tag| (tag.clone(), stemmer(tag))).collect();
        let is_compounding = languages.iter().any(|(tag, _)| COMPOUNDING.contains(&primary(tag).as_str()));
        Self { languages, is_compounding }
    }

    /// Returns `true` if a language of the market writes compounds as one word.
    pub(super) const fn is_compounding(&self) -> bool {
        self.is_compounding
    }

    /// Returns `true` if the own language of the market names the kind of a product before what it is like.
    pub(super) fn is_kind_first(&self) -> bool {
        self.languages.first().is_some_and(|(tag, _)| KIND_FIRST.contains(&primary(tag).as_str()))
    }

    /// The primary tags of the languages of the market.
    pub(super) fn tags(&self) -> impl Iterator<Item = String> {
        self.languages.iter().map(|(tag, _)| primary(tag))
    }

    /// The stems of a text in the language of `tag`, where `words` are its [words](split_words). Languages that the
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
                let with: Vec<_> = stem(&mut stemmer, &word).iter().map(|stem| fold_text(stem)).collect();
                if with != stem(&mut stemmer, &fold_text(&word)) {
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

/// The words of a text that is folded, as the index knows them.
pub(super) fn split_words(folded: &str) -> Vec<String> {
    let mut result = Vec::new();
    for word in words_of(folded) {
        split_unspaced(word, &mut result, None);
    }
    result
}

/// The primary language of a tag.
fn primary(tag: &str) -> String {
    tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase()
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
    let language = match primary(tag).as_str() {
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

/// Pushes `word`, with its runs of unspaced script taken apart into pairs of characters; the single characters of
/// longer runs go to `others`.
fn split_unspaced(word: &str, into: &mut Vec<String>, mut others: Option<&mut Vec<String>>) {
    if word.is_ascii() || !word.chars().any(is_unspaced) {
        into.push(cut(word).to_owned());
        return;
    }
    let letters: Vec<char> = word.chars().collect();
    for run in letters.chunk_by(|a, b| is_unspaced(*a) == is_unspaced(*b)) {
        if is_unspaced(run[0]) && run.len() > 1 {
            into.extend(run.windows(2).map(|pair| pair.iter().collect::<String>()));
            if let Some(others) = &mut others {
                others.extend(run.iter().map(char::to_string));
            }
        } else {
            into.push(cut(&run.iter().collect::<String>()).to_owned());
        }
    }
}

/// Han, kana, Thai, Lao, Myanmar and Khmer; and Hangul, whose words take endings.
const fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7a3}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
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
        let text = analysis.stems(tag, text, &Words::of(text).words);
        split_words(&fold_text(query))
            .iter()
            .all(|word| analysis.query_stems(word).iter().any(|stem| text.contains(stem)))
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
        let stems = |tag: &str, text: &str| analysis().stems(tag, text, &Words::of(text).words);
        let long = stems("es", &"ñ".repeat(100_000));
        assert!(long.iter().all(|stem| stem.len() <= LONGEST_WORD), "{long:?}");
        assert!(stems("en", "\u{0}\u{301} … ").is_empty());
    }
}
