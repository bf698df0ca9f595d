//! Data sets: what the gateway sells before a merchant has brought a catalog.
//!
//! | name | what it is |
//! | :-- | :-- |
//! | [`outfitters`] | a large shop in two languages and four currencies, with taxes, deliveries and discounts of all kinds |
//! | [`flower_shop`] | six products, on the terms that the official conformance suite expects |
//!
//! Everything in them is invented, and always the same.

pub mod flower_shop;
pub mod outfitters;

use crate::database::Opening;

/// A data set.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Whether the sample directory of merchants goes with it.
    pub merchants: bool,
    opening: fn() -> Opening,
}

/// The data sets; the first one is what a shop starts with if nobody says otherwise.
pub const SAMPLES: &[Sample] = &[
    Sample {
        name: "outfitters",
        summary: "a large shop in two languages and four currencies",
        merchants: true,
        opening: outfitters::opening,
    },
    Sample {
        name: "flower-shop",
        summary: "the small shop that the official conformance suite expects",
        merchants: false,
        opening: flower_shop::opening,
    },
];

/// The data set of a name.
#[must_use]
pub fn named(name: &str) -> Option<&'static Sample> {
    SAMPLES.iter().find(|sample| sample.name == name)
}

impl Sample {
    /// What a shop starts with that is filled with it.
    #[must_use]
    pub fn opening(&self) -> Opening {
        (self.opening)()
    }
}

/// Reads a file of a data set. Such files are part of the program; that each of them can be read is a matter of its
/// tests.
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
            assert_eq!(serde_json::from_str::<ucp_core::purchase::terms::Terms>(&text).expect("reads"), terms);
            assert_eq!(self::named(sample.name).expect("named").name, sample.name);
        }
        assert!(named("Flower-Shop").is_none());
    }
}
