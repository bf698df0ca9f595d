//! Tests of the stock, and of its effect on the catalog.

use proptest::prelude::*;
use ucp_core::ports::ledger::{Change, Committed, Ledger as _, Movement};
use ucp_sqlite::{ShopConnection, SqliteStore, revision::newest_revision};
use ucp_testkit::{
    PATIENCE,
    store::fixtures::{self, ALICE, at, order_of},
    until,
};

use super::*;
use crate::{Database, Stored};

/// A product with a variant for each count; those without are not counted.
fn product(id: &str, counts: &[Option<u64>]) -> Record {
    let variants: Vec<_> = (0..)
        .zip(counts)
        .map(|(number, count): (u32, _)| {
            let mut variant = json!({
                "id": format!("{id}-{number}"), "price": {"amount": 100, "currency": "USD"},
                "options": [{"name": "Number", "label": number.to_string()}],
            });
            if let Some(count) = count {
                variant["inventory"] = (*count).into();
            }
            variant
        })
        .collect();
    record(json!({"id": id, "title": id, "description": {"plain": id}, "variants": variants}))
}

fn movement(variant: &str, quantity: i64) -> Movement {
    Movement { variant: variant.into(), quantity }
}

fn takes(goods: &[(&str, i64)]) -> Change {
    Change { stock: goods.iter().map(|(variant, count)| movement(variant, -count)).collect(), ..Change::default() }
}

async fn commit(store: &SqliteStore, change: Change) -> Committed {
    store.commit(change, None).await.expect("commits")
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
        // Of each variant that is or was counted: the quantity, and the number that was stated last.
        let mut model = [Some((2, 2)), None, Some((0, 0)), None];
        let mut variants = 3;
        let goods = [product("a", &[Some(2), None, Some(0)]), product("b", &[Some(1)])];
        let database = Database::open_or_create(directory.path(), || opening(&goods)).expect("opens");
        let store = database.store();
        let mut revision = 1;
        for step in steps {
            let (before, variants_before) = (model, variants);
            match &step {
                Step::Move(movements) => {
                    let mut moved = model.map(|row| row.map(|(count, stated)| (i64::try_from(count).expect("small"), stated)));
                    for (variant, quantity) in movements {
                        if let Some((count, _)) = &mut moved[*variant] {
                            *count += quantity;
                        }
                    }
                    let possible = moved.iter().flatten().all(|(count, _)| *count >= 0);
                    if possible {
                        model = moved.map(|row| row.map(|(count, stated)| (count.unsigned_abs(), stated)));
                    }
                    let stock = movements.iter().map(|(variant, by)| movement(&format!("a-{variant}"), *by)).collect();
                    let committed = runtime.block_on(commit(store, Change { stock, ..Change::default() }));
                    prop_assert_eq!(committed, if possible { Committed::Done } else { Committed::Stale });
                }
                Step::Import(counts) => {
                    let (mut same, mut kept) = (counts.len() == variants, 0);
                    for (row, count) in model.iter_mut().zip(counts) {
                        let as_before = row.map(|(_, stated)| stated) == *count;
                        same &= as_before;
                        if as_before {
                            kept += u64::from(row.is_some_and(|(count, stated)| count != stated));
                        } else {
                            *row = count.map(|count| (count, count));
                        }
                    }
                    variants = counts.len();
                    let put = database.put_blocking(vec![product("a", counts)], Timestamp::UNIX_EPOCH).expect("puts");
                    let outcome = if same { Put::Unchanged } else { Put::Updated };
                    prop_assert_eq!(&put, &Stored { outcomes: vec![Ok(outcome)], kept }, "{:?}", step);
                }
            }
            let ids: Vec<_> = (0..4).map(|number| format!("a-{number}")).collect();
            let ids: Vec<_> = ids.iter().map(String::as_str).collect();
            let counts = runtime.block_on(store.stock(&ids)).expect("reads");
            prop_assert_eq!(&counts, &model.map(|row| row.map(|(count, _)| count)), "after {:?}", step);
            // The catalog is told when something is sold out or comes back, and only then.
            let newest = store.snapshot(newest_revision).expect("reads");
            let sold_out = |model: [Option<(u64, u64)>; 4]| model.map(|row| row.is_some_and(|(count, _)| count == 0));
            let changed = variants_before != variants || sold_out(before) != sold_out(model);
            prop_assert_eq!(newest > revision, changed, "{:?}", step);
            revision = newest;
        }
        prop_assert_eq!(runtime.block_on(store.stock(&["b-0"])).expect("reads"), [Some(1)]);
    }
}

async fn is_available(shop: &EmbeddedShop, variant: &str) -> bool {
    let found = named(shop, &[variant], &presentation("en", "USD")).await;
    let ucp_core::ports::Target::Variant(position) = found[0][0].target else { panic!("{found:?}") };
    let availability = &found[0][0].product.variants[position].availability;
    assert_eq!(availability.status.as_deref() == Some("out_of_stock"), !availability.available);
    availability.available
}

/// The products that are found when only those are wanted that can be bought.
async fn available(shop: &EmbeddedShop) -> Vec<String> {
    let query = Query { criteria: Criteria { available: true, ..Criteria::default() }, ..query(None) };
    shop.find(&query, &BuyerSignals::default())
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
    let here = open_with(directory.path(), &records);
    let there = EmbeddedShop::open(&Options::new(directory.path())).expect("opens");
    let store = there.database().store();
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
    assert_eq!(commit(store, takes(&[("a-0", 1), ("b-1", 1)])).await, Committed::Done);
    shown([false, false, false], &["c"]).await;
    assert_eq!(commit(store, takes(&[("b-0", -2)])).await, Committed::Done);
    shown([false, true, false], &["b", "c"]).await;
    here.put(vec![product("a", &[None])], Timestamp::UNIX_EPOCH).await.expect("puts");
    shown([true, true, false], &["a", "b", "c"]).await;
    assert_eq!(store.stock(&["a-0"]).await.expect("reads"), [None]);
}

#[tokio::test]
async fn an_import_sets_what_it_counts() {
    let directory = tempfile::tempdir().expect("directory");
    let database = Database::open_or_create(directory.path(), || opening(&[])).expect("opens");
    let store = database.store();
    let put = async |record: Record| database.put(vec![record], Timestamp::UNIX_EPOCH).await.expect("puts").remove(0);
    let counts = async || store.stock(&["a-0", "a-1"]).await.expect("reads");
    assert_eq!(put(product("a", &[Some(5), None])).await, Ok(Put::Created));
    assert_eq!(counts().await, [Some(5), None]);
    assert_eq!(put(product("a", &[Some(5), None])).await, Ok(Put::Unchanged));
    assert_eq!(commit(store, takes(&[("a-0", 2)])).await, Committed::Done);
    // The number is as before: what was sold stays sold.
    assert_eq!(put(product("a", &[Some(5), None])).await, Ok(Put::Unchanged));
    assert_eq!(counts().await, [Some(3), None]);
    assert_eq!(put(product("a", &[Some(6), None])).await, Ok(Put::Updated));
    assert_eq!(put(product("a", &[Some(5), None])).await, Ok(Put::Updated));
    assert_eq!(counts().await, [Some(5), None], "a number that is stated again after another one is news");
    assert_eq!(put(product("a", &[None, Some(0)])).await, Ok(Put::Updated));
    assert_eq!(counts().await, [None, Some(0)]);
    // The number of a variant that is no longer there is remembered, and another product may take its name.
    assert_eq!(put(product("a", &[Some(1)])).await, Ok(Put::Updated));
    assert_eq!(counts().await, [Some(1), Some(0)]);
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
    let read = |db: ShopConnection<'_>| {
        db.query_row("SELECT group_concat(document) FROM products", (), |row| row.get::<_, String>(0))
    };
    let documents = store.snapshot(read).expect("reads");
    assert!(!documents.contains("inventory"), "{documents}");
}

/// A checkout of pieces of a variant whose payment has begun, and what its end changes.
fn held(checkout: &str, variant: &str, pieces: i64, version: u64) -> Change {
    Change {
        checkout: at(fixtures::checkout(ALICE, checkout, None), version),
        stock: vec![movement(variant, -pieces)],
        ..Change::default()
    }
}

/// The order of a checkout of pieces of a variant, placed at a time.
fn sold(checkout: &str, variant: &str, pieces: u64, placed_at: Timestamp) -> Change {
    Change { order: at(order_of(checkout, variant, pieces, placed_at), 0), ..Change::default() }
}

fn time(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

#[tokio::test]
async fn sold_goods_are_never_given_back() {
    let directory = tempfile::tempdir().expect("directory");
    let database = Database::open_or_create(directory.path(), || opening(&[])).expect("opens");
    let store = database.store();
    let put = async |count: u64, second: i64| {
        let stored = database.put(vec![product("a", &[Some(count)])], time(second)).await.expect("puts");
        assert!(stored[0].is_ok(), "{stored:?}");
        store.stock(&["a-0"]).await.expect("reads")[0]
    };
    let left = async || store.stock(&["a-0"]).await.expect("reads")[0];
    assert_eq!(put(2, 100).await, Some(2));
    // Held for a payment, while the feed comes again as it was; then the payment fails.
    assert_eq!(commit(store, held("one", "a-0", 2, 0)).await, Committed::Done);
    assert_eq!(put(2, 110).await, Some(0));
    assert_eq!(commit(store, held("one", "a-0", -2, 1)).await, Committed::Done);
    assert_eq!(left().await, Some(2));
    // Both are sold, and the feed comes again as it was.
    assert_eq!(commit(store, held("two", "a-0", 2, 0)).await, Committed::Done);
    assert_eq!(commit(store, sold("two", "a-0", 2, time(120))).await, Committed::Done);
    assert_eq!(put(2, 130).await, Some(0));
    // A new number of before the sale does not know of it; one of after it does.
    assert_eq!(put(3, 119).await, Some(1));
    assert_eq!(put(4, 125).await, Some(4));
    // What is held is in no number. It comes back as far as the number goes.
    assert_eq!(commit(store, held("three", "a-0", 3, 0)).await, Committed::Done);
    assert_eq!(put(1, 140).await, Some(0));
    assert_eq!(commit(store, held("three", "a-0", -3, 1)).await, Committed::Done);
    assert_eq!(left().await, Some(1));
    // What comes back from an order after the number is not in it either.
    assert_eq!(commit(store, held("four", "a-0", 1, 0)).await, Committed::Done);
    assert_eq!(commit(store, sold("four", "a-0", 1, time(150))).await, Committed::Done);
    let mut order = order_of("four", "a-0", 1, time(150));
    order.cancel(time(170), &[], None).expect("cancels");
    let canceled = Change { order: at(order, 1), stock: vec![movement("a-0", 1)], ..Change::default() };
    assert_eq!(commit(store, canceled).await, Committed::Done);
    assert_eq!(put(5, 160).await, Some(6));
    // A feed that leaves the product out for a while gives nothing back either.
    assert_eq!(commit(store, held("five", "a-0", 6, 0)).await, Committed::Done);
    assert_eq!(commit(store, sold("five", "a-0", 6, time(180))).await, Committed::Done);
    let removed = std::thread::scope(|scope| scope.spawn(|| database.remove_blocking(vec!["a".into()])).join());
    assert_eq!(removed.expect("no panic").expect("removes"), [true]);
    assert_eq!(put(5, 190).await, Some(0));
    // A month later, nobody needs to know of the sales.
    let takings = || store.snapshot(|db| db.query_row("SELECT count(*) FROM takings", (), |row| row.get::<_, i64>(0)));
    assert!(takings().expect("counts") > 0);
    ucp_core::ports::store::Store::prune(store, time(180 + 31 * 24 * 3_600)).await.expect("prunes");
    assert_eq!(takings().expect("counts"), 0);
}

#[tokio::test]
async fn goods_that_are_stated_to_be_sold_out_are_not_so_for_ever() {
    let directory = tempfile::tempdir().expect("directory");
    let mut record = product("a", &[Some(0), Some(0)]);
    for (variant, status) in record.variants.iter_mut().zip(["out_of_stock", "discontinued"]) {
        variant.availability = serde_json::from_value(json!({"available": false, "status": status})).expect("one");
    }
    let shop = open_with(directory.path(), &[record]);
    let store = shop.database().store();
    assert!(!is_available(&shop, "a-0").await);
    assert_eq!(commit(store, takes(&[("a-0", -1), ("a-1", -1)])).await, Committed::Done);
    shop.refresh().await;
    assert!(is_available(&shop, "a-0").await);
    let found = named(&shop, &["a-1"], &presentation("en", "USD")).await;
    let availability = &found[0][0].product.variants[1].availability;
    assert_eq!((availability.available, availability.status.as_deref()), (false, Some("discontinued")));
}
