//! Texts as words for comparison.
//!
//! Words are folded as everywhere in the gateway ([`crate::text`]). Scripts that put no space between words are cut
//! into single letters and pairs of neighbours, so that a part of a name finds the whole.

use crate::text::words;

/// The terms under which a text is found.
#[must_use]
pub fn indexed_terms(text: &str) -> Vec<String> {
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
#[must_use]
pub fn sought_terms(text: &str) -> Vec<String> {
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

/// Whether a letter belongs to a script without spaces: kana, Han, Thai, Lao, Khmer, Burmese.
const fn unspaced(letter: char) -> bool {
    matches!(letter, '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' | '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

/// What an HTML or Markdown text says, without its marks. For comparison and as a fallback, not for display as markup.
#[must_use]
pub fn plain_text(formatted: &str) -> String {
    let mut plain = String::with_capacity(formatted.len());
    let mut rest = formatted;
    while let Some(mark) = rest.find(['<', '&', '*', '_', '#', '`', '[', ']', '>']) {
        plain.push_str(&rest[..mark]);
        let (sign, after) = (&rest[mark..=mark], &rest[mark + 1..]);
        rest = match sign {
            // A tag separates words; a lone bracket is text.
            "<" if after.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next)) => {
                plain.push(' ');
                after.find('>').map_or("", |end| &after[end + 1..])
            }
            "<" => {
                plain.push('<');
                after
            }
            "&" => {
                let entities = [
                    ("amp;", "&"),
                    ("lt;", "<"),
                    ("gt;", ">"),
                    ("quot;", "\""),
                    ("#39;", "'"),
                    ("apos;", "'"),
                    ("nbsp;", " "),
                ];
                let (text, length) = entities
                    .into_iter()
                    .find(|(name, _)| after.starts_with(name))
                    .map_or(("&", 0), |(name, text)| (text, name.len()));
                plain.push_str(text);
                &after[length..]
            }
            // The address of a Markdown link.
            "]" if after.starts_with('(') => after.find(')').map_or("", |end| &after[end + 1..]),
            // A mark inside a word is a letter of it.
            "_" if plain.ends_with(char::is_alphanumeric) && after.starts_with(char::is_alphanumeric) => {
                plain.push('_');
                after
            }
            _ => after,
        };
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
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

    #[test]
    fn markup_is_taken_off() {
        for (formatted, plain) in [
            ("<p>Fish &amp; <b>chips</b></p><p>Daily</p>", "Fish & chips Daily"),
            ("# Late\n**night** _pizza_ at [ours](https://pizza.example.com)", "Late night pizza at ours"),
            ("snake_case, 1 < 2, &bogus; <unclosed", "snake_case, 1 < 2, &bogus;"),
            ("", ""),
        ] {
            assert_eq!(plain_text(formatted), plain);
        }
    }
}
