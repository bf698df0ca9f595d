//! Counts: never below zero, sold once, and what they mean for the catalog.

use proptest::prelude::*;
use ucp_core::{
    catalog::{filter::Criteria, market::Presentation},
    port::{Catalog as _, Query},
    purchase::caller::Visitor,
};
use ucp_testkit::{PATIENCE, until, within};

use super::*;
use crate::{Options, Put, Shop, tests::named};

fn takes(goods: &[(&str, i64)]) -> Change {
    Change { stock: goods.iter().map(|(variant, count)| movement(variant, -count)).collect(), ..Change::default() }
}

#[tokio::test]
async fn counts_follow_orders_and_never_fall_below_zero() {
    let directory = tempfile::tempdir().expect("directory");
    let books = books(directory.path(), &[product("a", &[Some(3), Some(0), None])]);
    let counts = async || books.stock(&["a-2", "a-0", "nothing", "a-1", "a-0"]).await.expect("reads");
    assert_eq!(counts().await, [None, Some(3), None, Some(0), Some(3)]);
    assert_eq!(books.stock(&[]).await.expect("reads"), []);
    // Uncounted and unknown goods never run out.
    assert_eq!(books.commits(takes(&[("a-2", 1_000), ("nothing", 5), ("a-0", 2)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(1), None, Some(0), Some(1)]);
    assert_eq!(books.commits(takes(&[("a-0", 2)])).await, Committed::Stale);
    assert_eq!(books.commits(takes(&[("a-0", 1), ("a-1", 1)])).await, Committed::Stale);
    assert_eq!(books.commits(takes(&[("a-0", i64::MAX)])).await, Committed::Stale);
    // Several movements of one variant are one.
    assert_eq!(books.commits(takes(&[("a-0", 1), ("a-0", 1)])).await, Committed::Stale);
    assert_eq!(books.commits(takes(&[("a-0", 5), ("a-0", -5), ("a-1", 2), ("a-1", -2)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(1), None, Some(0), Some(1)]);
    assert_eq!(books.commits(takes(&[("a-0", 1), ("a-1", -4)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(0), None, Some(4), Some(0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_ones_are_sold_once() {
    const COUNT: u64 = 20;
    let directory = tempfile::tempdir().expect("directory");
    let handles = [
        books(directory.path(), &[product("a", &[Some(COUNT)])]),
        books(directory.path(), &[]),
        books(directory.path(), &[]),
    ];
    let buyers: Vec<_> = (0..120_usize)
        .map(|number| {
            let books = handles[number % handles.len()].clone();
            tokio::spawn(async move {
                let id = number.to_string();
                let change = Change { order: at(order(ALICE, &id, &id), 0), ..takes(&[("a-0", 1)]) };
                books.keeps(change, key(ALICE, "", &id), kept(&id)).await
            })
        })
        .collect();
    let mut sold = 0;
    for buyer in buyers {
        match within("a buyer", PATIENCE, buyer).await.expect("no panic") {
            Committed::Done => sold += 1,
            Committed::Stale => {}
            Committed::Kept(kept) => panic!("{kept:?}"),
        }
    }
    assert_eq!(sold, COUNT);
    assert_eq!(handles[0].stock(&["a-0"]).await.expect("reads"), [Some(0)]);
    let sold = i64::try_from(sold).expect("small");
    assert_eq!((handles[0].rows("orders"), handles[0].rows("kept")), (sold, sold));
}

#[derive(Clone, Debug)]
enum Step {
    /// Goods move, by position of the variant.
    Move(Vec<(usize, i64)>),
    /// The product is imported with these counts.
    Import(Vec<Option<u64>>),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        3 => prop::collection::vec((0..4_usize, -4..5_i64), 1..6).prop_map(Step::Move),
        1 => prop::collection::vec(prop::option::weighted(0.7, 0..6_u64), 1..4).prop_map(Step::Import),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn counts_are_those_of_a_model(steps in prop::collection::vec(step(), 1..25)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        let directory = tempfile::tempdir().expect("directory");
        let mut model = vec![Some(2), None, Some(0)];
        let books = books(directory.path(), &[product("a", &model), product("b", &[Some(1)])]);
        let mut revision = 1;
        for step in steps {
            let sold_out = |model: &[Option<u64>]| model.iter().map(|count| *count == Some(0)).collect::<Vec<_>>();
            let before = model.clone();
            match &step {
                Step::Move(movements) => {
                    let mut moved: Vec<Option<i64>> =
                        model.iter().map(|count| count.map(|count| i64::try_from(count).expect("small"))).collect();
                    for (variant, quantity) in movements {
                        if let Some(Some(count)) = moved.get_mut(*variant) {
                            *count += quantity;
                        }
                    }
                    let possible = moved.iter().flatten().all(|count| *count >= 0);
                    if possible {
                        model = moved.iter().map(|count| count.map(i64::unsigned_abs)).collect();
                    }
                    let stock = movements.iter().map(|(variant, by)| movement(&format!("a-{variant}"), *by)).collect();
                    let committed = runtime.block_on(books.commits(Change { stock, ..Change::default() }));
                    prop_assert_eq!(committed, if possible { Committed::Done } else { Committed::Stale });
                }
                Step::Import(counts) => {
                    let put = books.database.put_blocking(vec![product("a", counts)]).expect("puts");
                    let same = if *counts == model { Put::Unchanged } else { Put::Updated };
                    prop_assert_eq!(&put, &[Ok(same)]);
                    model.clone_from(counts);
                }
            }
            let ids: Vec<_> = (0..4).map(|number| format!("a-{number}")).collect();
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            let counts = runtime.block_on(books.stock(&ids)).expect("reads");
            prop_assert_eq!(&counts[..model.len()], &model[..], "after {:?}", step);
            prop_assert!(counts[model.len()..].iter().all(Option::is_none));
            // The catalog is told when something is sold out or comes back, and only then.
            let newest = books.database.readers().read(crate::sqlite::revision::newest_revision).expect("reads");
            let other_variants = before.len() != model.len();
            prop_assert_eq!(newest > revision, other_variants || sold_out(&before) != sold_out(&model), "{:?}", step);
            revision = newest;
        }
        prop_assert_eq!(runtime.block_on(books.stock(&["b-0"])).expect("reads"), [Some(1)]);
    }
}

async fn is_available(shop: &Shop, variant: &str) -> bool {
    let presentation =
        Presentation { language: "en".into(), currency: "USD".parse().expect("a currency"), country: None };
    let found = named(shop, &[variant], &presentation).await;
    let ucp_core::port::Target::Variant(position) = found[0][0].target else { panic!("{found:?}") };
    let availability = &found[0][0].product.variants[position].availability;
    assert_eq!(availability.status.as_deref() == Some("out_of_stock"), !availability.available);
    availability.available
}

/// The products that are found when only those are wanted that can be bought.
async fn available(shop: &Shop) -> Vec<String> {
    let query = Query {
        text: None,
        criteria: Criteria { available: true, ..Criteria::default() },
        presentation: Presentation {
            language: "en".into(),
            currency: "USD".parse().expect("a currency"),
            country: None,
        },
        limit: 50,
        after: None,
    };
    shop.find(&query, &Visitor::default())
        .await
        .expect("finds")
        .products
        .iter()
        .map(|product| product.id.clone())
        .collect()
}

#[tokio::test]
async fn what_is_sold_out_is_not_available_until_some_come_back() {
    let directory = tempfile::tempdir().expect("directory");
    let records = [product("a", &[Some(1)]), product("b", &[Some(0), Some(1)]), product("c", &[None])];
    let here = Shop::open_or_create(&Options::new(directory.path()), || Opening {
        records: records.to_vec(),
        ..Opening::of(market())
    })
    .expect("opens");
    let there = Shop::open(&Options::new(directory.path())).expect("opens");
    let books = Books::new(Arc::clone(there.database()));
    assert_eq!(available(&here).await, ["a", "b", "c"]);
    assert!(is_available(&here, "a-0").await && !is_available(&here, "b-0").await && is_available(&here, "b-1").await);

    let shown = async |expected: [bool; 3], found: &[&str]| {
        // Those who did not write it notice by themselves.
        for shop in [&here, &there] {
            until(&format!("the stock {expected:?}"), PATIENCE, async || {
                let [a, b, c] = ["a-0", "b-0", "b-1"].map(|id| is_available(shop, id));
                let shown = [a.await, b.await, c.await];
                (shown == expected && available(shop).await == found).then_some(())
            })
            .await;
        }
    };
    assert_eq!(books.commits(takes(&[("a-0", 1), ("b-1", 1)])).await, Committed::Done);
    shown([false, false, false], &["c"]).await;
    assert_eq!(books.commits(takes(&[("b-0", -2)])).await, Committed::Done);
    shown([false, true, false], &["b", "c"]).await;
    here.put(vec![product("a", &[None])]).await.expect("puts");
    shown([true, true, false], &["a", "b", "c"]).await;
    assert_eq!(books.stock(&["a-0"]).await.expect("reads"), [None]);
}

#[tokio::test]
async fn an_import_sets_what_it_counts() {
    let directory = tempfile::tempdir().expect("directory");
    let books = books(directory.path(), &[]);
    let put = async |record: Record| books.database.put(vec![record]).await.expect("puts").remove(0);
    let counts = async || books.stock(&["a-0", "a-1"]).await.expect("reads");
    assert_eq!(put(product("a", &[Some(5), None])).await, Ok(Put::Created));
    assert_eq!(counts().await, [Some(5), None]);
    assert_eq!(put(product("a", &[Some(5), None])).await, Ok(Put::Unchanged));
    assert_eq!(books.commits(takes(&[("a-0", 2)])).await, Committed::Done);
    assert_eq!(put(product("a", &[Some(5), None])).await, Ok(Put::Updated));
    assert_eq!(counts().await, [Some(5), None]);
    assert_eq!(put(product("a", &[None, Some(0)])).await, Ok(Put::Updated));
    assert_eq!(counts().await, [None, Some(0)]);
    // A variant that is no longer there is not counted either, and another product may take its name.
    assert_eq!(put(product("a", &[Some(1)])).await, Ok(Put::Updated));
    assert_eq!(counts().await, [Some(1), None]);
    let mut heir = product("b", &[Some(9)]);
    heir.variants[0].id = "a-1".into();
    assert_eq!(put(heir).await, Ok(Put::Created));
    assert_eq!(counts().await, [Some(1), Some(9)]);
    // A product that is rejected leaves its counts alone.
    let mut bad = product("a", &[Some(77)]);
    bad.title.clear();
    assert!(put(bad).await.is_err());
    assert_eq!(counts().await, [Some(1), Some(9)]);
    // Counts are no part of the document.
    let read = |db: &rusqlite::Connection| {
        db.query_row("SELECT group_concat(document) FROM products", (), |row| row.get::<_, String>(0))
    };
    let documents = books.database.readers().read(read).expect("reads");
    assert!(!documents.contains("inventory"), "{documents}");
}

#[tokio::test]
async fn goods_that_are_stated_to_be_sold_out_are_not_so_for_ever() {
    let directory = tempfile::tempdir().expect("directory");
    let mut record = product("a", &[Some(0), Some(0)]);
    for (variant, status) in record.variants.iter_mut().zip(["out_of_stock", "discontinued"]) {
        variant.availability = serde_json::from_value(json!({"available": false, "status": status})).expect("one");
    }
    let shop = Shop::open_or_create(&Options::new(directory.path()), || Opening {
        records: vec![record],
        ..Opening::of(market())
    })
    .expect("opens");
    let books = Books::new(Arc::clone(shop.database()));
    assert!(!is_available(&shop, "a-0").await);
    assert_eq!(books.commits(takes(&[("a-0", -1), ("a-1", -1)])).await, Committed::Done);
    shop.refresh().await;
    assert!(is_available(&shop, "a-0").await);
    let presentation =
        Presentation { language: "en".into(), currency: "USD".parse().expect("a currency"), country: None };
    let found = named(&shop, &["a-1"], &presentation).await;
    let availability = &found[0][0].product.variants[1].availability;
    assert_eq!((availability.available, availability.status.as_deref()), (false, Some("discontinued")));
}
