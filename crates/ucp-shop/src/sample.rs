//! Sample data sets: the content of a new shop for which no catalog was imported.
//!
//! | name | content |
//! | :-- | :-- |
//! | [`outfitters`] | a large shop in two languages and four currencies, with taxes, deliveries and discounts of all kinds |
//! | [`flower_shop`] | six products, on the terms that the official conformance suite expects |
//!
//! All data are invented, and the same on every start.

pub mod flower_shop;
pub mod outfitters;
mod picture;

pub use self::picture::{SAMPLE_PICTURES, picture};

use crate::database::Opening;

/// A data set.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Name on the command line.
    pub name: &'static str,
    /// Short description.
    pub summary: &'static str,
    /// Words of a search that finds something in it.
    pub query: &'static str,
    /// `true` if the sample directory of merchants belongs to it.
    pub merchants: bool,
    opening: fn() -> Opening,
}

/// All data sets; the first one is the default.
pub const SAMPLES: &[Sample] = &[
    Sample {
        name: "outfitters",
        summary: "a large shop in two languages and four currencies",
        query: "blue running shoes",
        merchants: true,
        opening: outfitters::opening,
    },
    Sample {
        name: "flower-shop",
        summary: "the small shop that the official conformance suite expects",
        query: "roses",
        merchants: false,
        opening: flower_shop::opening,
    },
];

/// Returns the data set of a name.
pub fn named(name: &str) -> Option<&'static Sample> {
    SAMPLES.iter().find(|sample| sample.name == name)
}

impl Sample {
    /// Returns the content of a new shop.
    pub fn opening(&self) -> Opening {
        (self.opening)()
    }
}

/// Parses a file of a data set. The files are part of the program, and a test parses each of them.
fn recipe<T: for<'a> serde::Deserialize<'a>>(text: &str) -> T {
    serde_json::from_str(text).expect("a file of a data set")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_data_set_can_be_sold() {
        for sample in SAMPLES {
            let Opening { market, terms, records, .. } = sample.opening();
            assert_eq!(terms.check(&market), Ok(()), "{}", sample.name);
            assert!(!records.is_empty() && !terms.shipping.rates.is_empty(), "{}", sample.name);
            let ids: Vec<String> = records
                .into_iter()
                .map(|record| record.check(&market).expect(sample.name))
                .flat_map(|record| record.variants.into_iter().map(|variant| variant.id).chain([record.id]))
                .collect();
            let named = terms.discounts.iter().flat_map(|discount| &discount.items);
            let named = named.chain(terms.shipping.free.iter().flat_map(|free| &free.items));
            for id in named.chain(terms.shipping.separate.iter().flatten()) {
                assert!(ids.contains(id), "{}: there is no `{id}`", sample.name);
            }
            // Terms are kept as JSON.
            let text = serde_json::to_string(&terms).expect("writes");
            assert_eq!(serde_json::from_str::<ucp_core::pricing::terms::Terms>(&text).expect("reads"), terms);
            assert_eq!(self::named(sample.name).expect("named").name, sample.name);
        }
        assert!(named("Flower-Shop").is_none());
    }
}
