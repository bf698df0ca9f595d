//! Addresses that are erased while orders are changed: every change stands.

use std::sync::Arc;

use ucp_core::{
    order::{LineQuantity, progress::Tracking},
    ports::{
        buyers::{Buyers as _, Retention},
        ledger::{Change, Committed, Ledger as _, Stored},
        store::Store as _,
    },
};
use ucp_testkit::{
    PATIENCE, postgres,
    store::fixtures::{ALICE, at, cart, checkout, hours, now, order, order_of},
    within,
};

use super::{options, prefix};
use crate::PostgresStore;

/// Number of orders, and of the steps of each.
const ORDERS: usize = 40;
const STEPS: u64 = 8;

/// Ships an order piece by piece, and repeats what others have made stale.
async fn ship(store: Arc<PostgresStore>, id: String) {
    let one = [LineQuantity { id: "line".into(), quantity: 1 }];
    for _ in 0..STEPS {
        loop {
            let Stored { mut document, version } = store.any_order(&id).await.expect("reads").expect("an order");
            document.ship(now(), &one, Tracking::default()).expect("some are left");
            let change = Change { order: Some(Stored { document, version }), quiet: true, ..Change::default() };
            if store.commit(change, None).await.expect("commits") == Committed::Done {
                break;
            }
        }
    }
}

#[tokio::test]
async fn what_is_damaged_is_named_and_stands_in_nobodys_way() {
    if postgres::database().is_none() {
        return;
    }
    let store = PostgresStore::open(&options(), prefix().parse().expect("valid")).await.expect("opens");
    for id in ["one", "two"] {
        let change = Change {
            cart: at(cart(ALICE, id), 0),
            checkout: at(checkout(ALICE, &format!("chk_{id}"), None), 0),
            order: at(order(ALICE, &format!("ord_{id}"), &format!("gone_{id}")), 0),
            quiet: true,
            ..Change::default()
        };
        assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Done);
    }
    for table in ["carts", "checkouts", "orders"] {
        let sql = format!("UPDATE {table} SET document = '{{' || document WHERE shop = $1 AND id LIKE '%two'");
        assert_eq!(store.execute(&sql, &[store.key()]).await.expect("damages"), 1);
    }
    let found = store.personal_data("mina@example.com").await.expect("reads");
    assert_eq!((found.damaged, found.unknown), (vec!["two".into(), "chk_two".into(), "ord_two".into()], 2));
    let erasure = store.erase_buyer("mina@example.com").await.expect("erases");
    let left: Vec<_> = erasure.left.iter().map(|(id, _)| &**id).collect();
    assert_eq!((left, erasure.unknown), (vec!["two", "chk_two", "ord_two"], 2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_is_changed_while_addresses_are_erased_stands() {
    if postgres::database().is_none() {
        return;
    }
    let shop: ucp_core::ShopId = prefix().parse().expect("valid");
    let store = Arc::new(PostgresStore::open(&options(), shop.clone()).await.expect("opens"));
    let other = Arc::new(PostgresStore::open(&options(), shop).await.expect("opens"));
    other.retain(Retention { addresses: Some(hours(1)), ..Retention::default() });
    let mut ids = Vec::new();
    for number in 0..ORDERS {
        let document = order_of(&format!("chk_{number}"), "a-0", STEPS, now() - hours(2));
        ids.push(document.id.clone());
        let change = Change { order: Some(Stored { document, version: 0 }), quiet: true, ..Change::default() };
        assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Done);
    }
    let steps: Vec<_> = ids.iter().map(|id| tokio::spawn(ship(Arc::clone(&store), id.clone()))).collect();
    while steps.iter().any(|step| !step.is_finished()) {
        other.prune(now()).await.expect("prunes");
    }
    for step in steps {
        within("the steps of an order", PATIENCE, step).await.expect("ends");
    }
    other.prune(now()).await.expect("prunes");
    for id in ids {
        let order = store.any_order(&id).await.expect("reads").expect("an order").document;
        assert_eq!((order.events.len() as u64, order.line_items[0].fulfilled), (STEPS, STEPS), "{id}");
    }
}
