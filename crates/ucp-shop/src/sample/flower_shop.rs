//! The flower shop that the official conformance suite expects: identifiers, prices, stock, codes, promotions and
//! customers follow its test data.
//!
//! A purchase needs no more than an item and a country here, and nothing is taxed. Products with a single variant: the
//! identifiers by which the suite buys are those of the variants.

use serde::Deserialize;
use ucp_core::{
    catalog::{market::Market, record::Record},
    pricing::terms::Terms,
};

use super::recipe;
use crate::database::Opening;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowerShop {
    market: Market,
    terms: Terms,
    records: Vec<Record>,
}

/// Returns the initial content of the flower shop: its market, sales terms and products.
pub fn opening() -> Opening {
    let FlowerShop { market, terms, records } = recipe(include_str!("../../sample/flower-shop.json"));
    Opening { terms, records, ..Opening::of(market) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sells_what_the_conformance_suite_buys() {
        let Opening { market, terms, records, .. } = opening();
        let goods: Vec<_> = records
            .iter()
            .map(|record| {
                let [variant] = &record.variants[..] else { panic!("{}", record.id) };
                (variant.id.as_str(), record.title.as_str(), variant.price.amount.minor(), variant.inventory)
            })
            .collect();
        let expected = [
            ("bouquet_roses", "Bouquet of Red Roses", 3500, Some(1000)),
            ("pot_ceramic", "Ceramic Pot", 1500, Some(2000)),
            ("bouquet_sunflowers", "Sunflower Bundle", 2500, Some(500)),
            ("bouquet_tulips", "Spring Tulips", 3000, Some(1500)),
            ("orchid_white", "White Orchid", 4500, Some(800)),
            ("gardenias", "Gardenias", 2000, Some(0)),
        ];
        assert_eq!(goods, expected);
        assert_eq!(market.currency, "USD".parse().expect("a currency"));
        let codes: Vec<_> = terms.discounts.iter().flat_map(|discount| &discount.codes).collect();
        assert_eq!(codes, ["10OFF", "WELCOME20", "FIXED500"]);
        let rates: Vec<_> = terms.shipping.rates.iter().map(|rate| rate.id.as_str()).collect();
        assert_eq!(rates, ["std-ship", "exp-ship-us", "exp-ship-intl"]);
        let customers: Vec<_> =
            terms.customers.iter().map(|customer| (customer.email.as_str(), customer.addresses.len())).collect();
        assert_eq!(
            customers,
            [("john.doe@example.com", 2), ("jane.smith@example.com", 1), ("jane.doe@example.com", 0)]
        );
        assert!(terms.required.is_empty() && terms.shipping.required.is_empty());
    }
}
