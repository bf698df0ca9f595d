//! Folding text for comparison.
//!
//! Buyers and agents write names as they please. Everything that compares words (option labels, search terms, language
//! tags) folds them the same way: compatibility decomposition, accents dropped, lower case.

use unicode_normalization::{UnicodeNormalization as _, char::is_combining_mark};

/// `text` without accents and letter case, for comparison only.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfkd().filter(|letter| !is_combining_mark(*letter)).flat_map(char::to_lowercase).collect()
}

/// The words of `text`, folded: runs of letters and digits.
pub fn words(text: &str) -> Vec<String> {
    fold(text)
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folding_drops_case_accents_and_width() {
        assert_eq!(fold("ÉCLAIR Ｎº1"), "eclair no1");
        assert_eq!(words("Zapatillas niño, talla 42½"), ["zapatillas", "nino", "talla", "421", "2"]);
    }
}
