//! Numbered changes of products.

use ucp_core::ports::{
    ledger::{Change, Committed, Ledger as _},
    shared::{SharedProduct, SharedShop, SharedStock},
};
use ucp_testkit::{
    postgres,
    store::fixtures::{ALICE, at, checkout, movement, order_of},
};

use super::{options, prefix, stock};
use crate::{
    PostgresStore,
    catalog::{Catalog, Numbers, Publication, Published, TOGETHER},
    events::Changed,
};

async fn store() -> Option<PostgresStore> {
    postgres::database()?;
    Some(PostgresStore::open(&options(), prefix().parse().expect("valid")).await.expect("opens"))
}

fn catalog(identity: &str) -> Catalog {
    let shop =
        SharedShop { identity: identity.into(), market: "{}".into(), terms: "{}".into(), synonyms: String::new() };
    Catalog { shop, number: 1, edition: 1 }
}

fn product(place: i64, document: &str, quantity: i64) -> SharedProduct {
    let id = format!("p{place}");
    SharedProduct { stock: vec![stock(&format!("{id}-0"), quantity)], id, place, number: 0, document: document.into() }
}

#[tokio::test]
async fn a_catalog_is_founded_once() {
    let Some(store) = store().await else { return };
    assert_eq!(store.catalog().await.expect("reads"), None);
    assert_eq!(store.found(&catalog("first"), &[product(1, "{}", 3)]).await.expect("founds"), catalog("first"));
    assert_eq!(store.found(&catalog("second"), &[product(2, "{}", 3)]).await.expect("founds"), catalog("first"));
    let products = store.changes(0).await.expect("reads");
    assert_eq!(products, [SharedProduct { number: 1, ..product(1, "{}", 3) }]);
    store.set_terms("{\"a\":1}").await.expect("writes");
    let terms = store.catalog().await.expect("reads").map(|catalog| catalog.shop.terms);
    assert_eq!(terms.as_deref(), Some("{\"a\":1}"));
    for (synonyms, number) in [("a, b", 1), ("a, b", 1), ("", 2)] {
        store.set_synonyms(synonyms).await.expect("writes");
        let stored = store.catalog().await.expect("reads").map(|catalog| catalog.shop.synonyms);
        assert_eq!(stored.as_deref(), Some(synonyms));
        assert_eq!(store.numbers().await.expect("reads"), Numbers { products: 1, synonyms: number });
    }
}

#[tokio::test]
async fn who_has_read_up_to_a_number_finds_what_came_later() {
    let Some(store) = store().await else { return };
    store.found(&catalog("i"), &[]).await.expect("founds");
    let many: Vec<_> = (1..).map(|place| product(place, "{}", 3)).take(TOGETHER).collect();
    for (base, part) in [&many[..], &many[..10], &many[10..20]].into_iter().enumerate() {
        let base = i64::try_from(base).expect("small") + 1;
        assert_eq!(
            store.publish(base, part, Publication::Statement).await.expect("publishes"),
            Published::Under(base + 1)
        );
        assert_eq!(
            store.publish(base, part, Publication::Statement).await.expect("publishes"),
            Published::Overtaken,
            "{base} is over"
        );
    }
    let (mut after, mut read) = (0, 0);
    loop {
        let changes = store.changes(after).await.expect("reads");
        let Some(last) = changes.last() else { break };
        assert!(changes.is_sorted_by_key(|product| product.number) && changes[0].number > after);
        (after, read) = (last.number, read + changes.len());
    }
    assert_eq!(
        (after, read, store.numbers().await.expect("reads").products),
        (4, TOGETHER, 4),
        "each in its newest state"
    );
}

#[tokio::test]
async fn a_product_that_is_sold_out_has_changed_and_one_that_is_sold_has_not() {
    let Some(store) = store().await else { return };
    store.found(&catalog("i"), &[]).await.expect("founds");
    store.publish(1, &[product(1, "{}", 3), product(2, "{}", 1)], Publication::Statement).await.expect("publishes");
    let sell = async |variant: &str, quantity| {
        let change = Change { stock: vec![movement(variant, quantity)], ..Change::default() };
        store.commit(change, None).await.expect("commits")
    };
    assert_eq!(sell("p1-0", -2).await, Committed::Done);
    assert_eq!(store.numbers().await.expect("reads").products, 2);
    assert_eq!(sell("p1-0", -1).await, Committed::Done);
    assert_eq!(sell("p1-0", -1).await, Committed::Stale);
    assert_eq!(sell("p2-0", -1).await, Committed::Done);
    let changed = store.changes(2).await.expect("reads");
    let changed: Vec<_> =
        changed.iter().map(|product| (&*product.id, product.number, product.stock[0].quantity)).collect();
    assert_eq!(changed, [("p1", 3, 0), ("p2", 4, 0)]);
    assert_eq!(sell("p1-0", 5).await, Committed::Done);
    assert_eq!(store.changes(4).await.expect("reads")[0].stock, [SharedStock { quantity: 5, ..stock("p1-0", 3) }]);
    // Quantities that are stated anew replace those that are there; a variant that is not counted is not.
    let mut uncounted = product(1, "{}", 0);
    uncounted.stock.clear();
    let published = store.publish(2, &[uncounted], Publication::Statement).await.expect("publishes");
    assert_eq!(published, Published::Under(6), "what is sold is no other edition");
    assert_eq!(store.stock(&["p1-0", "p2-0"]).await.expect("reads"), [None, Some(0)]);
}

#[tokio::test]
async fn a_number_that_is_stated_as_before_gives_nothing_back_and_another_one_less_what_is_held_or_was_sold_since() {
    let Some(store) = store().await else { return };
    store.found(&catalog("i"), &[]).await.expect("founds");
    let second = |second: i64| second * 1_000_000_000;
    let mut base = 1;
    let mut state = async |number: i64, at: i64| {
        let stated = SharedStock { stated_at: Some(second(at)), ..stock("p1-0", number) };
        let product = SharedProduct { stock: vec![stated], ..product(1, "{}", 0) };
        let published = store.publish(base, &[product], Publication::Statement).await.expect("publishes");
        let Published::Under(number) = published else { panic!("{published:?}") };
        base = number;
        store.stock(&["p1-0"]).await.expect("reads")[0]
    };
    let hold = async |id: &str, version, pieces: i64| {
        let checkout = at(checkout(ALICE, id, None), version);
        let change = Change { checkout, stock: vec![movement("p1-0", -pieces)], ..Change::default() };
        assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Done);
    };
    let sell = async |id: &str, pieces: u64, second: i64| {
        let placed_at = jiff::Timestamp::from_second(second).expect("a time");
        let change = Change { order: at(order_of(id, "p1-0", pieces, placed_at), 0), ..Change::default() };
        assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Done);
    };
    assert_eq!(state(2, 100).await, Some(2));
    hold("one", 0, 2).await;
    assert_eq!(state(2, 110).await, Some(0));
    hold("one", 1, -2).await;
    assert_eq!(store.stock(&["p1-0"]).await.expect("reads"), [Some(2)]);
    hold("two", 0, 2).await;
    sell("two", 2, 120).await;
    assert_eq!(state(2, 130).await, Some(0));
    assert_eq!(state(3, 119).await, Some(1));
    assert_eq!(state(4, 125).await, Some(4));
    hold("three", 0, 3).await;
    assert_eq!(state(1, 140).await, Some(0));
    hold("three", 1, -3).await;
    assert_eq!(store.stock(&["p1-0"]).await.expect("reads"), [Some(1)]);
    hold("four", 0, 1).await;
    sell("four", 1, 150).await;
    let canceled = order_of("four", "p1-0", 1, jiff::Timestamp::from_second(170).expect("a time"));
    let back = Change { order: at(canceled, 1), stock: vec![movement("p1-0", 1)], ..Change::default() };
    assert_eq!(store.commit(back, None).await.expect("commits"), Committed::Done);
    assert_eq!(state(5, 160).await, Some(6));
    // What is not stated, such as by a gateway of an earlier version, changes nothing.
    let silent = SharedProduct {
        stock: vec![SharedStock { stated: None, stated_at: None, ..stock("p1-0", 9) }],
        ..product(1, "{}", 0)
    };
    store.publish(base, &[silent], Publication::Statement).await.expect("publishes");
    assert_eq!(store.stock(&["p1-0"]).await.expect("reads"), [Some(6)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_taken_while_a_number_is_stated_is_subtracted_from_it() {
    let Some(store) = store().await else { return };
    store.found(&catalog("i"), &[]).await.expect("founds");
    let stated = |number: i64| SharedProduct {
        stock: vec![SharedStock { stated_at: Some(i64::MAX - 1), ..stock("p1-0", number) }],
        ..product(1, "{}", 0)
    };
    store.publish(1, &[stated(1_000)], Publication::Statement).await.expect("publishes");
    let takers: Vec<_> = (0..8)
        .map(|taker| {
            let store = store.clone();
            tokio::spawn(async move {
                for number in 0..20 {
                    let checkout = at(checkout(ALICE, &format!("{taker} {number}"), None), 0);
                    let change = Change { checkout, stock: vec![movement("p1-0", -1)], ..Change::default() };
                    assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Done);
                }
            })
        })
        .collect();
    let mut base = 2;
    for number in 0..20 {
        let goods = [stated(2_000 + number)];
        let published = store.publish(base, &goods, Publication::Statement).await.expect("publishes");
        let Published::Under(number) = published else { panic!("{published:?}") };
        base = number;
    }
    for taker in takers {
        ucp_testkit::within("a taker", ucp_testkit::PATIENCE, taker).await.expect("no panic");
    }
    assert_eq!(store.stock(&["p1-0"]).await.expect("reads"), [Some(2_019 - 160)]);
}

#[tokio::test]
async fn what_a_shop_has_said_to_have_changed_is_read_by_every_gateway() {
    let Some(store) = store().await else { return };
    let add = async |ids: &[&str], second: i64| {
        let ids: Vec<_> = ids.iter().map(|id| (*id).to_owned()).collect();
        store.add_changed(&ids, jiff::Timestamp::from_second(second).expect("a time")).await.expect("adds");
    };
    let read = async |after| {
        let Changed { ids, number, missed } = store.changed_after(after).await.expect("reads");
        (ids.join(" "), number, missed)
    };
    assert_eq!(read(None).await, (String::new(), 0, false));
    add(&["a", "b"], 100).await;
    // Who begins now has nothing to read; others read on where they were.
    assert_eq!(read(None).await, (String::new(), 2, false));
    assert_eq!(read(Some(0)).await, ("a b".into(), 2, false));
    add(&["b", "c\0"], 200).await;
    assert_eq!(read(Some(0)).await, ("a b b c\0".into(), 4, false));
    assert_eq!(read(Some(2)).await, ("b c\0".into(), 4, false));
    assert_eq!(read(Some(4)).await, (String::new(), 4, false));
    // What is too old is no longer kept, and who was not here is told so.
    let week = 7 * 24 * 3_600;
    ucp_core::ports::store::Store::prune(&store, jiff::Timestamp::from_second(150 + week).expect("a time"))
        .await
        .expect("prunes");
    assert_eq!(read(Some(0)).await, ("b c\0".into(), 4, true));
    assert_eq!(read(Some(2)).await, ("b c\0".into(), 4, false));
    ucp_core::ports::store::Store::prune(&store, jiff::Timestamp::from_second(250 + week).expect("a time"))
        .await
        .expect("prunes");
    assert_eq!(read(Some(2)).await, (String::new(), 4, true));
    assert_eq!(read(Some(4)).await, (String::new(), 4, false));
    // A database that was restored as it was before.
    assert_eq!(read(Some(9)).await, (String::new(), 4, true));
}
