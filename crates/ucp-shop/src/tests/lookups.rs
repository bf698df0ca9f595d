//! Tests of the products and variants that identifiers name.

use ucp_core::ports::Target;
use ucp_testkit::{PATIENCE, within};

use super::*;

/// Two products that share what can be shared.
fn catalog() -> Vec<Record> {
    let variant = |id: &str, sku: &str, handle: &str, barcode: &str| {
        json!({"id": id, "sku": sku, "handle": handle, "barcodes": [{"type": "EAN", "value": barcode}],
               "options": [{"name": "Number", "label": id}], "price": {"amount": 100, "currency": "USD"}})
    };
    let product = |id: &str, handle: &str, variants: Value| {
        record(json!({"id": id, "handle": handle, "title": id, "description": {"plain": id}, "variants": variants}))
    };
    vec![
        product("p1", "first", json!([variant("v1", "shared", "one", "111"), variant("v2", "second", "two", "111")])),
        // The handle is the SKU of the other product; the SKU is the other product's id.
        product("p2", "second", json!([variant("v3", "shared", "shared", "v1"), variant("v4", "p1", "four", "444")])),
    ]
}

async fn resolve(shop: &EmbeddedShop, ids: &[&str]) -> Vec<Vec<(String, Target)>> {
    let found = named(shop, ids, &presentation("en", "USD")).await;
    found
        .into_iter()
        .map(|found| found.into_iter().map(|found| (found.product.id.clone(), found.target)).collect())
        .collect()
}

#[tokio::test]
async fn ids_win_and_aliases_name_all_that_carry_them() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = open_with(directory.path(), &catalog());
    let table = [
        ("p1", vec![("p1", Target::Product)]),
        ("p2", vec![("p2", Target::Product)]),
        ("v1", vec![("p1", Target::Variant(0))]),
        ("v4", vec![("p2", Target::Variant(1))]),
        ("first", vec![("p1", Target::ProductHandle)]),
        ("second", vec![("p1", Target::VariantAlias(1)), ("p2", Target::ProductHandle)]),
        ("shared", vec![("p1", Target::VariantAlias(0)), ("p2", Target::VariantAlias(0))]),
        ("111", vec![("p1", Target::VariantAlias(0)), ("p1", Target::VariantAlias(1))]),
        ("four", vec![("p2", Target::VariantAlias(1))]),
        ("P1", vec![]),
        (" p1", vec![]),
        ("", vec![]),
        ("%", vec![]),
        ("p1\u{0}", vec![]),
        ("' OR 1=1 --", vec![]),
    ];
    let ids: Vec<_> = table.iter().map(|(id, _)| *id).collect();
    let expected: Vec<Vec<_>> =
        table.iter().map(|(_, found)| found.iter().map(|(id, target)| ((*id).to_owned(), *target)).collect()).collect();
    // From the database, from memory, and some of each.
    assert_eq!(resolve(&shop, &ids).await, expected);
    assert_eq!(resolve(&shop, &ids).await, expected);
    let long = "x".repeat(1 << 20);
    let wide = "y".repeat(600);
    let mixed = resolve(&shop, &["v1", &long, &wide, "unheard-of", "p2"]).await;
    assert_eq!(mixed.iter().map(Vec::len).collect::<Vec<_>>(), [1, 0, 0, 0, 1]);
}

#[tokio::test]
async fn an_alias_of_very_many_is_cut_off_in_a_fixed_order() {
    let directory = tempfile::tempdir().expect("directory");
    let variants: Vec<_> = (0..50)
        .map(|at| {
            json!({"id": format!("v{at}"), "sku": "same", "options": [{"name": "N", "label": format!("{at}")}],
                   "price": {"amount": 100, "currency": "USD"}})
        })
        .collect();
    let product = record(json!({"id": "p", "title": "p", "description": {"plain": "p"}, "variants": variants}));
    let shop = open_with(directory.path(), &[product]);
    let expected: Vec<_> = (0..20).map(|at| ("p".to_owned(), Target::VariantAlias(at))).collect();
    assert_eq!(resolve(&shop, &["same"]).await, [expected]);
}

#[tokio::test]
async fn products_come_in_the_language_and_currency_of_the_caller() {
    let directory = tempfile::tempdir().expect("directory");
    let product = record(json!({
        "id": "p", "title": "Shoe", "description": {"plain": "p"}, "translations": {"es": {"title": "Zapato"}},
        "variants": [{"id": "v", "price": {"amount": 100, "currency": "USD"}, "prices": [{"amount": 90, "currency": "EUR"}]}],
    }));
    let shop = open_with(directory.path(), &[product]);
    for _ in 0..2 {
        for (language, currency, title, price) in [
            ("en", "USD", "Shoe", "100 USD"),
            ("es", "USD", "Zapato", "100 USD"),
            ("es", "EUR", "Zapato", "90 EUR"),
            ("en", "JPY", "Shoe", "100 USD"),
            ("xx", "EUR", "Shoe", "90 EUR"),
        ] {
            let found = named(&shop, &["p"], &presentation(language, currency)).await;
            let product = &found[0][0].product;
            let shown = product.variants[0].price;
            assert_eq!(
                (product.title.as_str(), format!("{} {}", shown.amount.minor(), shown.currency)),
                (title, price.into())
            );
        }
    }
}

#[tokio::test]
async fn lookups_follow_changes_of_stored_products() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = open_with(directory.path(), &catalog());
    assert_eq!(resolve(&shop, &["new-sku", "one", "v2"]).await.iter().map(Vec::len).collect::<Vec<_>>(), [0, 1, 1]);
    let mut changed = catalog().remove(0);
    changed.title = "Changed".into();
    changed.options.clear();
    changed.variants.swap(0, 1);
    changed.variants[1].sku = Some("new-sku".into());
    changed.variants[1].handle = None;
    assert_eq!(put(&shop, &[changed]).await, [Ok(Put::Updated)]);
    let found = resolve(&shop, &["new-sku", "one", "v2", "shared"]).await;
    assert_eq!(found[0], [("p1".into(), Target::VariantAlias(1))]);
    assert_eq!(found[1], []);
    assert_eq!(found[2], [("p1".into(), Target::Variant(0))]);
    assert_eq!(found[3], [("p2".into(), Target::VariantAlias(0))]);
    let product = &named(&shop, &["p1"], &presentation("en", "USD")).await[0][0].product;
    assert_eq!(product.title, "Changed");
}

/// Callers that look up while a product changes see it as it was or as it is, whole, and never as it was after they
/// could know better.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nothing_stale_is_seen_while_products_change() {
    let directory = tempfile::tempdir().expect("directory");
    let version = |number: usize| {
        let variants: Vec<_> = (0..=number % 5)
            .map(|at| {
                json!({"id": format!("v{at}"), "sku": format!("s{number}-{at}"), "options": [{"name": "N", "label": format!("{at}")}],
                       "price": {"amount": number, "currency": "USD"}})
            })
            .collect();
        record(json!({"id": "p", "title": format!("{number}"), "description": {"plain": "p"}, "variants": variants}))
    };
    let shop = open_with(directory.path(), &[version(0)]);
    let floor = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let readers: Vec<_> = (0..4)
        .map(|_| {
            let (shop, floor) = (shop.clone(), floor.clone());
            tokio::spawn(async move {
                loop {
                    let least = floor.load(std::sync::atomic::Ordering::SeqCst);
                    if least == usize::MAX {
                        return;
                    }
                    for found in named(&shop, &["p", "v0", "v4"], &presentation("en", "USD")).await {
                        for found in found {
                            let number: usize = found.product.title.parse().expect("a number");
                            assert!(number >= least, "{number} after {least}");
                            assert_eq!(found.product.variants.len(), number % 5 + 1);
                            if let Target::Variant(position) = found.target {
                                assert!(position < found.product.variants.len());
                            }
                        }
                    }
                    tokio::task::yield_now().await;
                }
            })
        })
        .collect();
    for number in 1..40 {
        put(&shop, &[version(number)]).await;
        floor.store(number, std::sync::atomic::Ordering::SeqCst);
    }
    floor.store(usize::MAX, std::sync::atomic::Ordering::SeqCst);
    for reader in readers {
        within("a reader to see the last version", PATIENCE, reader).await.expect("saw nothing stale");
    }
}

#[tokio::test]
async fn a_number_of_the_trade_is_one_in_all_its_lengths() {
    let directory = tempfile::tempdir().expect("directory");
    let mut value = serde_json::to_value(simple("soap", "Soap")).expect("json");
    value["variants"][0]["barcodes"] = json!([{"type": "UPC", "value": "012345678905"}]);
    let shop = open_with(directory.path(), &[record(value)]);
    let own = presentation("en", "USD");
    for _ in ["read", "cached"] {
        for (asked, count) in [
            ("012345678905", 1),
            ("0012345678905", 1),
            ("00012345678905", 1),
            ("12345678905", 0),
            ("0112345678905", 0),
            ("00000000", 0),
        ] {
            assert_eq!(named(&shop, &[asked], &own).await[0].len(), count, "{asked}");
        }
    }
}
