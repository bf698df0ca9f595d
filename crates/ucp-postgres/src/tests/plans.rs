//! Plans of prepared statements.

use std::time::{Duration, Instant};

use ucp_core::{
    ShopId,
    ports::ledger::{Change, Committed, Key, Ledger as _},
};
use ucp_testkit::{
    PATIENCE,
    postgres::{self, Cluster},
    store::fixtures::{ALICE, at, cart, kept},
};

use crate::{Options, PostgresStore};

/// Number of calls.
const CALLS: u64 = 2000;

#[tokio::test]
async fn what_was_prepared_while_tables_were_empty_is_planned_anew_when_they_are_not() {
    if postgres::database().is_none() {
        return;
    }
    let Some(cluster) = Cluster::start(&["autovacuum=off"]) else { return };
    let mut options: Options = cluster.url("postgres").parse().expect("an address");
    (options.named, options.connections) = (true, 1);
    let store = PostgresStore::open(&options, ShopId::default()).await.expect("opens");
    for number in 0..CALLS {
        let id = number.to_string();
        let key = Key { owner: ALICE.into(), operation: "create_cart", resource: String::new(), key: id.clone() };
        assert_eq!(store.kept(&key).await.expect("reads"), None);
        let change = Change { cart: at(cart(ALICE, &id), 0), ..Change::default() };
        assert_eq!(store.commit(change, Some((key, kept("answer")))).await.expect("commits"), Committed::Done);
        assert!(store.cart(ALICE, &id).await.expect("reads").is_some());
    }
    // The server counts what a connection has read when that is closed.
    drop(store);
    let counted = |column: &str| -> u64 {
        let sql = format!("SELECT sum({column}) FROM pg_stat_user_tables WHERE relname IN ('carts', 'kept')");
        cluster.psql(&sql).parse().expect("a number")
    };
    let start = Instant::now();
    while counted("idx_scan") < 2 * CALLS {
        assert!(start.elapsed() < PATIENCE, "the server has counted {} look-ups", counted("idx_scan"));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let sql = "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname IN ('carts', 'kept')";
    let read: u64 = cluster.psql(sql).parse().expect("a number");
    // A plan for empty tables reads half of all rows at each look-up, on average.
    let most = CALLS * CALLS / 5;
    assert!(read + counted("seq_tup_read") < most, "{read} rows were read in {} look-ups", 2 * CALLS);
}
