//! Filters in the index against the same filters in the domain.

use proptest::{collection::vec, option, prelude::*, sample::select};
use ucp_core::{
    catalog::filter::{Bound, CategoryPath},
    money::Amount,
};

use super::*;

const CATEGORIES: [&str; 6] = ["A", "A > B", "A > B > C", "a>d", "E", "E > B"];
const CURRENCIES: [&str; 3] = ["USD", "EUR", "JPY"];

#[derive(Clone, Debug)]
struct Sketch {
    word: &'static str,
    categories: Vec<&'static str>,
    variants: Vec<Offer>,
}

/// A variant: its prices in the three currencies, whether it is available, and its own categories.
type Offer = (i64, Option<i64>, Option<i64>, bool, Vec<&'static str>);

fn sketch() -> impl Strategy<Value = Sketch> {
    let category = || vec(select(&CATEGORIES[..]), 0..2);
    let price = || 0..6_i64;
    let mostly = |strategy| option::weighted(0.8, strategy);
    let variant = (price(), mostly(price()), mostly(price()), any::<bool>(), prop_oneof![Just(vec![]), category()]);
    (select(&["red", "blue"][..]), category(), vec(variant, 1..5)).prop_map(|(word, categories, variants)| Sketch {
        word,
        categories,
        variants,
    })
}

fn build(number: usize, sketch: &Sketch) -> Record {
    let categories = |values: &[&str]| values.iter().map(|value| json!({"value": value})).collect::<Vec<_>>();
    let variants: Vec<_> = sketch
        .variants
        .iter()
        .enumerate()
        .map(|(at, (usd, eur, jpy, available, own))| {
            let prices: Vec<_> = [("EUR", eur), ("JPY", jpy)]
                .into_iter()
                .filter_map(|(currency, price)| price.map(|price| json!({"amount": price, "currency": currency})))
                .collect();
            json!({
                "id": format!("{number}-{at}"), "options": [{"name": "N", "label": format!("{at}")}],
                "price": {"amount": usd, "currency": "USD"}, "prices": prices,
                "availability": {"available": available}, "categories": categories(own),
            })
        })
        .collect();
    record(json!({
        "id": format!("p{number}"), "title": sketch.word, "description": {"plain": "x"},
        "categories": categories(&sketch.categories), "variants": variants,
    }))
}

fn criteria() -> impl Strategy<Value = Criteria> {
    let amount = || 0..6_i64;
    let bound = (select(&CURRENCIES[..]), amount(), option::of(amount())).prop_map(|(currency, min, max)| Bound {
        currency: currency.parse().expect("a currency"),
        min: Amount::new(min).expect("an amount"),
        max: max.and_then(Amount::new),
    });
    let category = prop_oneof![select(&CATEGORIES[..]), select(&["F", "B", ""][..])];
    (vec(category, 0..3), option::of(vec(bound, 0..3)), any::<bool>()).prop_map(|(categories, bounds, available)| {
        Criteria { categories: categories.into_iter().map(CategoryPath::new).collect(), bounds, available }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_index_admits_what_the_domain_admits(
        sketches in vec(sketch(), 1..40),
        changes in vec((any::<prop::sample::Index>(), sketch()), 0..6),
        questions in vec((criteria(), select(&CURRENCIES[..]), option::of(select(&["red", "blue"][..]))), 30),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let directory = tempfile::tempdir().expect("directory");
            let mut records: Vec<_> = sketches.iter().enumerate().map(|(number, sketch)| build(number, sketch)).collect();
            // Some come first, some later, and some change: several segments, and deletions in them.
            let shop = open_with(directory.path(), &records[..records.len() / 2]);
            for chunk in records[records.len() / 2..].chunks(5) {
                put(&shop, chunk).await;
            }
            for (at, sketch) in &changes {
                let at = at.index(records.len());
                records[at] = build(at, sketch);
                put(&shop, &records[at..=at]).await;
            }
            for (criteria, currency, word) in questions {
                let presentation = presentation("en", currency);
                let expected: std::collections::BTreeSet<_> = records
                    .iter()
                    .filter(|record| word.is_none_or(|word| record.title == word))
                    .map(|record| record.clone().check(&market()).expect("good").present(&presentation))
                    .filter(|product| product.variants.iter().any(|variant| criteria.admit(product, variant)))
                    .map(|product| product.id)
                    .collect();
                let asked = Query { criteria: criteria.clone(), presentation, limit: 7, ..query(word) };
                let total = shop.find(&asked, &BuyerSignals::default()).await.expect("finds").total;
                let found = all_pages(&shop, asked).await;
                assert_eq!(total, Some(expected.len() as u64), "{criteria:?} {currency} {word:?}");
                assert_eq!(found.len(), expected.len(), "{criteria:?} {currency} {word:?}");
                assert_eq!(found.into_iter().collect::<std::collections::BTreeSet<_>>(), expected, "{criteria:?} {currency} {word:?}");
            }
        });
    }
}

/// The example of the rule: filters hold for one variant, not for several together.
#[tokio::test]
async fn one_variant_has_to_pass_everything() {
    let directory = tempfile::tempdir().expect("directory");
    let product = record(json!({
        "id": "p", "title": "p", "description": {"plain": "p"},
        "variants": [
            {"id": "cheap", "price": {"amount": 100, "currency": "USD"}, "availability": {"available": false},
             "options": [{"name": "N", "label": "1"}], "categories": [{"value": "Sale > Now"}]},
            {"id": "dear", "price": {"amount": 900, "currency": "USD"}, "options": [{"name": "N", "label": "2"}]},
        ],
    }));
    let shop = open_with(directory.path(), &[product]);
    let found = async |categories: &[&str], max: i64, available: bool| {
        let bound = Bound { currency: "USD".parse().expect("a currency"), min: Amount::ZERO, max: Amount::new(max) };
        let categories = categories.iter().map(|value| CategoryPath::new(value)).collect();
        let criteria = Criteria { categories, bounds: Some(vec![bound]), available };
        shop.find(&Query { criteria, ..query(None) }, &BuyerSignals::default()).await.expect("finds").total == Some(1)
    };
    assert!(found(&[], 100, false).await);
    assert!(!found(&[], 100, true).await);
    assert!(found(&[], 900, true).await);
    assert!(found(&["sale"], 100, false).await);
    assert!(!found(&["sale"], 900, true).await);
    assert!(!found(&["sale"], 99, false).await);
}
