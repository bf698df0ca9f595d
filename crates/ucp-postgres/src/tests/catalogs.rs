//! Numbered changes of products.

use ucp_core::purchase::ledger::{Change, Committed, Ledger as _};
use ucp_testkit::{postgres, store::fixtures::movement};

use super::{options, prefix};
use crate::{
    PostgresStore,
    catalog::{Catalog, Product, Published, TOGETHER},
};

async fn store() -> Option<PostgresStore> {
    postgres::database()?;
    Some(PostgresStore::open(&options(), prefix().parse().expect("valid")).await.expect("opens"))
}

fn catalog(identity: &str) -> Catalog {
    Catalog { identity: identity.into(), market: "{}".into(), terms: "{}".into(), number: 1, edition: 1 }
}

fn product(place: i64, document: &str, quantity: i64) -> Product {
    let id = format!("p{place}");
    Product { stock: vec![(format!("{id}-0"), quantity)], id, place, number: 0, document: document.into() }
}

#[tokio::test]
async fn a_catalog_is_founded_once() {
    let Some(store) = store().await else { return };
    assert_eq!(store.catalog().await.expect("reads"), None);
    assert_eq!(store.found(&catalog("first"), &[product(1, "{}", 3)]).await.expect("founds"), catalog("first"));
    assert_eq!(store.found(&catalog("second"), &[product(2, "{}", 3)]).await.expect("founds"), catalog("first"));
    let products = store.changes(0).await.expect("reads");
    assert_eq!(products, [Product { number: 1, ..product(1, "{}", 3) }]);
    store.set_terms("{\"a\":1}").await.expect("writes");
    assert_eq!(store.catalog().await.expect("reads"), Some(Catalog { terms: "{\"a\":1}".into(), ..catalog("first") }));
}

#[tokio::test]
async fn who_has_read_up_to_a_number_finds_what_came_later() {
    let Some(store) = store().await else { return };
    store.found(&catalog("i"), &[]).await.expect("founds");
    let many: Vec<_> = (1..).map(|place| product(place, "{}", 3)).take(TOGETHER).collect();
    for (base, part) in [&many[..], &many[..10], &many[10..20]].into_iter().enumerate() {
        let base = i64::try_from(base).expect("small") + 1;
        assert_eq!(store.publish(base, part).await.expect("publishes"), Published::Under(base + 1));
        assert_eq!(store.publish(base, part).await.expect("publishes"), Published::Overtaken, "{base} is over");
    }
    let (mut after, mut read) = (0, 0);
    loop {
        let changes = store.changes(after).await.expect("reads");
        let Some(last) = changes.last() else { break };
        assert!(changes.is_sorted_by_key(|product| product.number) && changes[0].number > after);
        (after, read) = (last.number, read + changes.len());
    }
    assert_eq!((after, read, store.number().await.expect("reads")), (4, TOGETHER, 4), "each in its newest state");
}

#[tokio::test]
async fn a_product_that_is_sold_out_has_changed_and_one_that_is_sold_has_not() {
    let Some(store) = store().await else { return };
    store.found(&catalog("i"), &[]).await.expect("founds");
    store.publish(1, &[product(1, "{}", 3), product(2, "{}", 1)]).await.expect("publishes");
    let sell = async |variant: &str, quantity| {
        let change = Change { stock: vec![movement(variant, quantity)], ..Change::default() };
        store.commit(change, None).await.expect("commits")
    };
    assert_eq!(sell("p1-0", -2).await, Committed::Done);
    assert_eq!(store.number().await.expect("reads"), 2);
    assert_eq!(sell("p1-0", -1).await, Committed::Done);
    assert_eq!(sell("p1-0", -1).await, Committed::Stale);
    assert_eq!(sell("p2-0", -1).await, Committed::Done);
    let changed = store.changes(2).await.expect("reads");
    let changed: Vec<_> = changed.iter().map(|product| (&*product.id, product.number, product.stock[0].1)).collect();
    assert_eq!(changed, [("p1", 3, 0), ("p2", 4, 0)]);
    assert_eq!(sell("p1-0", 5).await, Committed::Done);
    assert_eq!(store.changes(4).await.expect("reads")[0].stock, [("p1-0".to_owned(), 5)]);
    // Quantities that are stated anew replace those that are there; a variant that is not counted is not.
    let mut uncounted = product(1, "{}", 0);
    uncounted.stock.clear();
    let published = store.publish(2, &[uncounted]).await.expect("publishes");
    assert_eq!(published, Published::Under(6), "what is sold is no other edition");
    assert_eq!(store.stock(&["p1-0", "p2-0"]).await.expect("reads"), [None, Some(0)]);
}
