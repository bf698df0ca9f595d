//! Texts as words for comparison.
//!
//! Words are folded as everywhere in the gateway ([`ucp_core::text`]). Scripts that put no space between words are cut
//! into single letters and pairs of neighbors, so that a part of a name finds the whole.

use ucp_core::text::words;

/// The terms under which a text is found.
pub(crate) fn indexed_terms(text: &str) -> Vec<String> {
    let mut terms = Vec::new();
    for word in words(text) {
        for run in runs(&word) {
            if is_unspaced(run) {
                terms.extend(run.chars().map(String::from));
                terms.extend(pairs(run));
            } else {
                terms.push(run.to_owned());
            }
        }
    }
    terms
}

/// The terms a query looks for, each once, in the order of the text.
pub(crate) fn sought_terms(text: &str) -> Vec<String> {
    let mut terms: Vec<String> = Vec::new();
    for word in words(text) {
        for run in runs(&word) {
            let found: Vec<_> =
                if is_unspaced(run) && run.chars().count() > 1 { pairs(run).collect() } else { vec![run.to_owned()] };
            for term in found {
                if !terms.contains(&term) {
                    terms.push(term);
                }
            }
        }
    }
    terms
}

/// A word cut where spaced and unspaced scripts meet.
fn runs(word: &str) -> Vec<&str> {
    let mut runs = Vec::new();
    let mut rest = word;
    while let Some(first) = rest.chars().next() {
        let kind = unspaced(first);
        let end = rest.find(|letter| unspaced(letter) != kind).unwrap_or(rest.len());
        let (run, after) = rest.split_at(end);
        runs.push(run);
        rest = after;
    }
    runs
}

fn pairs(run: &str) -> impl Iterator<Item = String> {
    run.chars().zip(run.chars().skip(1)).map(|(first, second)| String::from_iter([first, second]))
}

fn is_unspaced(run: &str) -> bool {
    run.starts_with(unspaced)
}

/// Returns `true` if a letter belongs to a script without spaces: kana, Han, Thai, Lao, Khmer, Burmese.
const fn unspaced(letter: char) -> bool {
    matches!(letter, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_an_unspaced_name_finds_the_whole() {
        let indexed = indexed_terms("カフェ渋谷寿司 Tokyo");
        for query in ["渋谷", "寿司", "谷", "tokyo", "ｶﾌｪ", "カフェ 渋谷"] {
            let sought = sought_terms(query);
            assert!(!sought.is_empty() && sought.iter().all(|term| indexed.contains(term)), "{query}: {sought:?}");
        }
        assert!(!indexed.contains(&"司渋".to_owned()));
        assert_eq!(sought_terms("Late-night PIZZA, pizza"), ["late", "night", "pizza"]);
    }
}
