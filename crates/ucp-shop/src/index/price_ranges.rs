//! Lowest and highest prices of products in one currency and segment, by which most products pass a filter or fail it.
//!
//! Columns are compact and slow to read value by value. These take 16 bytes for each product, and are made when a filter
//! asks for them first.

use std::ops::RangeInclusive;

use tantivy::{DocId, columnar::Column};

use super::{documents::Documents, schema::unpack};

/// Stands for prices from here on, of which only that is known.
const BEYOND: u32 = u32::MAX;

/// Lowest and highest price of a product's offers in minor units; the lowest is above the highest if there is no offer.
#[derive(Clone, Copy, Debug)]
struct PriceRange {
    lowest: u32,
    highest: u32,
}

impl PriceRange {
    const NONE: Self = Self { lowest: BEYOND, highest: 0 };

    fn add(&mut self, price: i64) {
        let price = u32::try_from(price).unwrap_or(BEYOND);
        self.lowest = self.lowest.min(price);
        self.highest = self.highest.max(price);
    }

    /// Returns whether one of the offers has a price in one of the ranges asked for; `None` if its offers have to be
    /// looked at.
    fn meets(self, asked: &[RangeInclusive<i64>]) -> Option<bool> {
        if self.lowest > self.highest {
            return Some(false);
        }
        let known = |price: u32| (price != BEYOND).then_some(i64::from(price));
        let (lowest, highest) = (known(self.lowest), known(self.highest));
        let has = |price: Option<i64>| price.is_some_and(|price| asked.iter().any(|range| range.contains(&price)));
        if has(lowest) || has(highest) {
            return Some(true);
        }
        let from = lowest.unwrap_or(i64::from(BEYOND));
        let is_beside = |range: &RangeInclusive<i64>| {
            *range.end() < from || highest.is_some_and(|highest| *range.start() > highest)
        };
        asked.iter().all(is_beside).then_some(false)
    }
}

/// The ranges of all products of a segment in one currency.
pub(super) struct PriceRanges {
    /// Of all offers, and of those that can be bought.
    ranges: Vec<[PriceRange; 2]>,
    /// Products that have such offers: a filter that asks for nothing else reads nothing else.
    with_offers: [Documents; 2],
}

impl PriceRanges {
    /// Reads the column of offers.
    pub(super) fn read(offers: &Column<u64>, docs: DocId) -> Self {
        let mut ranges = vec![[PriceRange::NONE; 2]; docs as usize];
        let mut with_offers = [Documents::new(docs), Documents::new(docs)];
        for (doc, [all, available]) in (0..).zip(&mut ranges) {
            for offer in offers.values_for_doc(doc) {
                let (price, is_available) = unpack(offer);
                all.add(price);
                with_offers[0].add(doc);
                if is_available {
                    available.add(price);
                    with_offers[1].add(doc);
                }
            }
        }
        Self { ranges, with_offers }
    }

    /// Returns the products that have an offer, that can be bought if `available`.
    pub(super) const fn with_offers(&self, available: bool) -> &Documents {
        &self.with_offers[available as usize]
    }

    /// Returns whether a product has an offer in one of the ranges asked for, that can be bought if `available`; `None`
    /// if its offers have to be looked at.
    pub(super) fn meet(&self, doc: DocId, asked: Option<&[RangeInclusive<i64>]>, available: bool) -> Option<bool> {
        let has_offer = self.with_offers(available).contain(doc);
        let Some(asked) = asked.filter(|_| has_offer) else { return Some(has_offer) };
        self.ranges.get(doc as usize)?[usize::from(available)].meets(asked)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn price_ranges_agree_with_the_prices_of_their_variants(
            prices in prop::collection::vec(prop_oneof![0..50_i64, 4_294_967_290..4_294_967_300_i64], 0..5),
            asked in prop::collection::vec(
                prop_oneof![(0..60_i64, 0..20_i64), (4_294_967_280..4_294_967_310_i64, 0..10_i64)], 0..3),
        ) {
            let asked: Vec<_> = asked.into_iter().map(|(from, length)| from..=from + length).collect();
            let mut range = PriceRange::NONE;
            prices.iter().for_each(|price| range.add(*price));
            let is_met = prices.iter().any(|price| asked.iter().any(|range| range.contains(price)));
            if let Some(said) = range.meets(&asked) {
                prop_assert_eq!(said, is_met);
            }
            if prices.len() < 3 && prices.iter().all(|price| *price < 50) {
                prop_assert!(!is_met || range.meets(&asked) == Some(true));
            }
        }
    }
}
