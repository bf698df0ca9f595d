//! Choice of the variant that represents a product (rules CSR-09, LKP-04).
//!
//! Search and lookup show one variant per product. It is the one that fits the caller's words best, then one that can
//! be bought, then the one the merchant put first; and it always passes the caller's filters.

use super::{filter::Criteria, product::Product};
use crate::text::{fold, words, words_of};

/// Maximum number of words of a query that are compared with labels.
const MOST_WORDS: usize = 64;

/// Words of a query, folded once per request.
#[derive(Clone, Debug, Default)]
pub struct Words(Vec<String>);

impl Words {
    /// Splits `query` into words.
    pub fn of(query: &str) -> Self {
        let mut words = words(query);
        words.truncate(MOST_WORDS);
        Self(words)
    }

    /// Returns the number of words that occur in `text`.
    fn hits(&self, text: &str) -> usize {
        let is_wanted = |word: &[u8]| self.0.iter().any(|wanted| wanted.as_bytes().eq_ignore_ascii_case(word));
        if text.is_ascii() {
            // Folding changes nothing but its case.
            return text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric()).filter(|word| is_wanted(word)).count();
        }
        words_of(&fold(text)).filter(|word| is_wanted(word.as_bytes())).count()
    }
}

/// Returns the position of the variant that represents a product; `None` if no variant passes the filters.
pub fn featured(product: &Product, criteria: &Criteria, wanted: &Words) -> Option<usize> {
    let admitted =
        || (0..product.variants.len()).filter(|position| criteria.admit(product, &product.variants[*position]));
    if wanted.0.is_empty() {
        // Nothing to fit, so that most products need no look at all of their variants.
        return admitted()
            .find(|position| product.variants[*position].availability.available)
            .or_else(|| admitted().next());
    }
    // Labels are judged once per value, not once per variant: a product may have thousands of variants.
    let hits: Vec<Vec<usize>> = product
        .options
        .iter()
        .map(|axis| axis.values.iter().map(|value| wanted.hits(&value.label)).collect())
        .collect();
    let sku = wanted.0.concat();
    admitted().max_by_key(|position| {
        let variant = &product.variants[*position];
        let labels: usize = variant.values.iter().zip(&hits).map(|(value, axis)| axis[*value]).sum();
        (
            variant.sku.as_ref().is_some_and(|own| spells(own, &sku)),
            labels,
            variant.availability.available,
            std::cmp::Reverse(*position),
        )
    })
}

/// Returns `true` if a code consists of these letters and digits, apart from other characters.
fn spells(code: &str, letters: &str) -> bool {
    if code.is_ascii() {
        let own = code.bytes().filter(u8::is_ascii_alphanumeric).map(|letter| letter.to_ascii_lowercase());
        return code.len() >= letters.len() && own.eq(letters.bytes());
    }
    fold(code).chars().filter(|letter| letter.is_alphanumeric()).eq(letters.chars())
}
