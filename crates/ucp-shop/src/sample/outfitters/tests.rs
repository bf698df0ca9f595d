//! Guarantees of the sample shop to its readers and to other tests.

use std::collections::{HashMap, HashSet};

use ucp_core::catalog::{
    Context,
    market::Presentation,
    selection::{Cell, matching, signals},
};

use super::*;

fn checked() -> Vec<Record> {
    let market = market();
    records().into_iter().map(|record| record.check(&market).expect("usable")).collect()
}

fn record(id: &str) -> Record {
    checked().into_iter().find(|record| record.id == id).expect(id)
}

fn presentations() -> Vec<Presentation> {
    let market = market();
    let languages = std::iter::once(&market.language).chain(&market.languages);
    let currencies = || std::iter::once(&market.currency).chain(&market.currencies);
    languages
        .flat_map(|language| {
            currencies().map(|currency| Presentation {
                language: language.clone(),
                currency: *currency,
                country: None,
                customer_group: None,
            })
        })
        .collect()
}

#[test]
fn the_sample_has_its_stated_size_and_is_reproducible() {
    let records = checked();
    let variants: usize = records.iter().map(|record| record.variants.len()).sum();
    let without_the_largest = variants - 2048;
    assert!(records.len() >= 150 && without_the_largest >= 1600, "{} products, {variants} variants", records.len());
    assert_eq!(records, checked());
    assert_eq!(records.iter().filter(|record| record.variants.len() == 2048).count(), 1);
    let recipes: usize = DEPARTMENTS.iter().map(|recipe| recipe.len()).sum();
    assert!(recipes + SHOP.len() < 250_000);
}

#[test]
fn presents_in_every_language_and_currency() {
    assert_eq!(presentations().len(), 8);
    for presentation in presentations() {
        for record in checked() {
            let product = record.present(&presentation);
            let priced = record.currencies().contains(&presentation.currency);
            let expected = if priced { presentation.currency } else { market().currency };
            assert_eq!(product.price_range.min.currency, expected);
            for variant in &product.variants {
                assert!(variant.price.amount.minor() > 0, "{}", variant.id);
                assert!(variant.list_price.is_none_or(|list| list.amount > variant.price.amount), "{}", variant.id);
            }
        }
    }
}

#[test]
fn identifiers_are_unique_in_the_shop() {
    let mut seen: HashMap<&'static str, HashSet<String>> = HashMap::new();
    let mut once =
        |kind, value: &str| assert!(seen.entry(kind).or_default().insert(value.to_owned()), "{kind} {value}");
    for record in checked() {
        once("id", &record.id);
        once("handle", record.handle.as_deref().expect("a handle"));
        once("url", record.url.as_deref().expect("an address"));
        once("title", &record.title);
        for variant in &record.variants {
            once("id", &variant.id);
            once("sku", variant.sku.as_deref().expect("an SKU"));
            let combination: Vec<_> = variant.options.iter().map(|choice| choice.label.as_str()).collect();
            once("combination", &format!("{} {combination:?}", record.id));
            variant.barcodes.iter().for_each(|barcode| once("barcode", &barcode.value));
        }
    }
}

#[test]
fn barcodes_have_check_digits_and_belong_to_nobody() {
    let mut kinds = HashSet::new();
    for barcode in checked().iter().flat_map(|record| &record.variants).flat_map(|variant| &variant.barcodes) {
        let digits: Vec<u32> = barcode.value.chars().rev().map(|digit| digit.to_digit(10).expect("a digit")).collect();
        let weighted: u32 = digits.iter().zip([1, 3].iter().cycle()).map(|(digit, weight)| digit * weight).sum();
        assert_eq!(weighted % 10, 0, "{}", barcode.value);
        let (length, range) = match barcode.kind.as_str() {
            "EAN" => (13, "2"),
            "UPC" => (12, "4"),
            "GTIN" => (14, "12"),
            "ISBN" => (13, "9795"),
            other => panic!("{other}"),
        };
        assert!(barcode.value.len() == length && barcode.value.starts_with(range), "{}", barcode.value);
        kinds.insert(barcode.kind.clone());
    }
    assert_eq!(kinds.len(), 4);
}

#[test]
fn shows_everything_a_shop_can_have() {
    let records = checked();
    let count = |what: &dyn Fn(&Record) -> bool| records.iter().filter(|record| what(record)).count();
    for axes in 0..=3 {
        assert!(count(&|record| record.options.len() == axes) >= 3, "{axes} axes");
    }
    for status in ["in_stock", "out_of_stock", "backorder", "preorder", "discontinued"] {
        let has = |record: &Record| {
            record.variants.iter().any(|variant| variant.availability.status.as_deref() == Some(status))
        };
        assert!(count(&has) >= 3, "{status}");
    }
    let holes = |record: &Record| {
        record.options.iter().map(|axis| axis.values.len()).product::<usize>() > record.variants.len()
    };
    assert!(count(&holes) >= 20);
    assert!(count(&|record| record.description.html.is_some()) >= 8);
    assert!(count(&|record| record.variants.iter().any(|variant| variant.unit_price.is_some())) >= 15);
    assert!(count(&|record| record.variants.iter().any(|variant| variant.list_price.is_some())) >= 10);
    assert!(count(&|record| record.metadata.is_some()) >= 10);
    let priced_in = |currencies: usize| count(&|record| record.currencies().len() == currencies);
    assert!(priced_in(4) > 140 && priced_in(2) >= 3 && priced_in(1) >= 3);
    for record in &records {
        let labels = record.options.iter().flat_map(|axis| &axis.values);
        for label in labels {
            let used =
                record.variants.iter().flat_map(|variant| &variant.options).any(|choice| choice.label == label.label);
            assert!(used, "{}: {} is made in no variant", record.id, label.label);
        }
        assert!(record.variants.iter().all(|variant| record.options.is_empty() == variant.options.is_empty()));
    }
}

#[test]
fn every_pattern_names_something() {
    let shop = shop();
    for department in DEPARTMENTS {
        let department: Department = recipe(department);
        for shelf in &department.shelves {
            for product in &shelf.products {
                let axes = Maker { shop: &shop, department: &department, shelf, product }.axes();
                let all = combinations(&axes);
                let lists =
                    [&product.without, &product.sold_out, &product.backorder, &product.preorder, &product.discontinued];
                let patterns = lists
                    .into_iter()
                    .flatten()
                    .chain(product.was_for.iter().flatten())
                    .chain(product.variant_ids.keys())
                    .chain(product.stock.keys());
                for pattern in patterns {
                    assert!(all.iter().any(|labels| matches(pattern, labels)), "{}: {pattern}", product.handle);
                }
                for label in product.extra.keys() {
                    assert!(axes.iter().any(|axis| axis.labels.contains(label)), "{}: {label}", product.handle);
                }
            }
        }
    }
}

#[test]
fn texts_are_in_both_languages() {
    let shop = shop();
    let speaks_for_itself = |label: &str| {
        let units = ["cm", "mm", "m", "g", "kg", "l", "ml", "W", "TB", "%", "°C", "x"];
        let sizes = ["XS", "S", "M", "L", "XL", "XXL", "3XL"];
        let number = |word: &str| {
            word.trim_start_matches(['M', 'L', '-']).chars().all(|letter| letter.is_ascii_digit() || letter == '.')
        };
        sizes.contains(&label) || label.split(' ').all(|word| units.contains(&word) || number(word))
    };
    for record in checked() {
        let second = &record.translations[SECOND_LANGUAGE];
        let (title, text) = (second.title.as_ref().expect("a title"), second.description.as_ref().expect("a text"));
        assert!(!title.is_empty() && text.plain != record.description.plain, "{}", record.id);
        assert_eq!(text.html.is_some(), record.description.html.is_some(), "{}", record.id);
        for axis in &record.options {
            for term in std::iter::once(&axis.name).chain(axis.values.iter().map(|value| &value.label)) {
                let known =
                    second.terms.contains_key(term) || shop.same_in_both.contains(term) || speaks_for_itself(term);
                assert!(known, "{}: {term}", record.id);
            }
        }
    }
    let used: HashSet<String> = checked()
        .iter()
        .flat_map(|record| &record.options)
        .flat_map(|axis| std::iter::once(axis.name.clone()).chain(axis.values.iter().map(|value| value.label.clone())))
        .collect();
    let listed = shop.terms.keys().chain(shop.codes.keys()).chain(&shop.same_in_both);
    let unused: Vec<_> = listed.filter(|term| !used.contains(*term)).collect();
    assert!(unused.is_empty(), "{unused:?}");
}

#[test]
fn every_address_is_an_example() {
    let records = checked().into_iter().map(|record| serde_json::to_string(&record).expect("serialises"));
    for json in records.chain([TERMS.to_owned()]) {
        for (position, _) in json.match_indices("://") {
            let host = json[position + 3..].split(['/', '"']).next().unwrap_or_default();
            assert!(json[..position].ends_with("https") && host.ends_with(".example.com"), "{host}");
        }
    }
}

#[test]
fn some_goods_are_counted_and_all_are_weighed_unless_they_are_digital() {
    let records = checked();
    let variants: Vec<_> = records.iter().flat_map(|record| &record.variants).collect();
    let count = |what: &dyn Fn(&VariantRecord) -> bool| variants.iter().filter(|variant| what(variant)).count();
    assert!(count(&|variant| variant.inventory.is_some()) >= 40);
    assert!(count(&|variant| variant.inventory == Some(0)) >= 3);
    assert!(count(&|variant| matches!(variant.inventory, Some(1..5))) >= 3);
    assert!(count(&|variant| variant.inventory.is_none()) >= 1_000);
    assert!(count(&|variant| variant.digital) >= 5);
    for variant in variants {
        assert_eq!(variant.weight_grams.is_none_or(|grams| grams == 0), variant.digital, "{}", variant.id);
    }
}

#[test]
fn unit_prices_follow_the_rule() {
    for record in checked() {
        for variant in &record.variants {
            let Some(unit) = &variant.unit_price else { continue };
            assert_eq!(unit.measure.unit, unit.reference.unit);
            let held = unit.measure.value.as_i64().expect("a whole quantity");
            let exact = variant.price.amount.minor() * unit.reference.value;
            assert!((unit.price.amount.minor() * held - exact).abs() * 2 <= held, "{}", variant.id);
        }
    }
}

#[test]
fn holds_the_products_of_the_specification_examples() {
    let runner = record("prod_abc123").present(&market().own());
    assert_eq!((runner.title.as_str(), runner.handle.as_deref()), ("Runner Pro", Some("runner-pro")));
    assert_eq!(runner.url.as_deref(), Some("https://business.example.com/products/runner-pro"));
    assert_eq!((runner.price_range.min.amount.minor(), runner.price_range.max.amount.minor()), (12_000, 15_000));
    let rating = runner.rating.as_ref().expect("rated");
    assert_eq!((rating.value.as_f64(), rating.scale_max.as_f64(), rating.count), (Some(4.5), Some(5.0), Some(128)));
    let labels = |axis: usize| runner.options[axis].values.iter().map(|value| value.label.as_str()).collect::<Vec<_>>();
    assert_eq!((labels(0), labels(1)), (vec!["Blue", "Red", "Green"], vec!["8", "9", "10", "11", "12"]));
    let blue: Vec<_> = runner.variants.iter().filter(|variant| variant.values[0] == 0).collect();
    let ids: Vec<_> = blue.iter().map(|variant| variant.id.as_str()).collect();
    assert_eq!(ids, ["var_abc123_blue_8", "var_abc123_blue_9", "var_abc123_blue_10", "var_abc123_blue_12"]);
    assert_eq!(blue[0].sku.as_deref(), Some("RP-BLU-08"));
    assert_eq!((blue[0].title.as_str(), blue[0].description.plain.as_deref()), ("Blue / Size 8", Some("Blue, Size 8")));
    assert_eq!((blue[2].price.amount.minor(), blue[3].price.amount.minor()), (12_000, 15_000));
    assert_eq!(blue[2].media[0].url, "https://pictures.example.com/runner-pro-blue.svg");
    assert!(blue.iter().all(|variant| variant.availability.available));
    assert!(
        runner.variants.iter().filter(|variant| variant.values[0] == 2).all(|variant| !variant.availability.available)
    );
    assert_eq!(runner.variants.iter().filter(|variant| variant.values[0] == 1).count(), 5);

    let blue_runner = record("prod_blue_runner_pro").present(&market().own());
    assert_eq!(blue_runner.variants[2].id, "prod_abc123_size10");
    assert_eq!(blue_runner.variants[2].sku.as_deref(), Some("BRP-BLU-10"));
    assert_eq!(blue_runner.variants[2].title, "Size 10");
    assert!(blue_runner.categories.iter().any(|category| category.value == "Footwear > Running"));
    assert!(blue_runner.price_range.max.amount.minor() <= 15_000);

    let trail = record("prod_def456").present(&market().own());
    let variant = trail.variants.iter().find(|variant| variant.id == "var_xyz789").expect("the example's variant");
    assert_eq!((variant.sku.as_deref(), variant.title.as_str()), (Some("TMX-GRN-11"), "Size 11 - Green"));
    assert_eq!((trail.price_range.min, trail.price_range.max), (variant.price, variant.price));
    assert_eq!(variant.price.amount.minor(), 15_000);
}

#[test]
fn the_options_of_the_example_signal_as_the_specification_shows() {
    let runner = record("prod_abc123").present(&market().own());
    let cells: Vec<_> = runner
        .variants
        .iter()
        .map(|variant| Cell { values: &variant.values, available: variant.availability.available })
        .collect();
    let signals = signals(&[3, 5], &cells, &[Some(0), None]);
    let shown = |axis: usize| signals[axis].iter().map(|signal| (signal.available, signal.exists)).collect::<Vec<_>>();
    let (yes, sold_out, hole) = ((true, true), (false, true), (false, false));
    assert_eq!(shown(0), [yes, yes, sold_out]);
    assert_eq!(shown(1), [yes, yes, yes, hole, yes]);
    assert_eq!(matching(&cells, &[Some(0), None]), [0, 1, 2, 3]);
}

#[test]
fn speaks_spanish_and_yen_where_asked() {
    let context = Context { country: Some("JP".to_owned()), languages: vec!["es-MX".to_owned()], ..Context::default() };
    let runner = record("prod_abc123").present(&market().presentation(&context));
    assert_eq!(runner.options[0].values[0].label, "Azul");
    assert_eq!(runner.options[0].values[0].canonical.as_deref(), Some("Blue"));
    assert_eq!(runner.price_range.min.amount.minor(), 18_000);
}
