//! Counts: never below zero, and sold once.

use ucp_testkit::{PATIENCE, within};

use super::*;

fn takes(goods: &[(&str, i64)]) -> Change {
    Change { stock: goods.iter().map(|(variant, count)| movement(variant, -count)).collect(), ..Change::default() }
}

#[tokio::test]
async fn counts_follow_orders_and_never_fall_below_zero() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[product("a", &[Some(3), Some(0), None])]);
    let counts = async || store.stock(&["a-2", "a-0", "nothing", "a-1", "a-0"]).await.expect("reads");
    assert_eq!(counts().await, [None, Some(3), None, Some(0), Some(3)]);
    assert_eq!(store.stock(&[]).await.expect("reads"), []);
    // Uncounted and unknown goods never run out.
    assert_eq!(store.commits(takes(&[("a-2", 1_000), ("nothing", 5), ("a-0", 2)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(1), None, Some(0), Some(1)]);
    assert_eq!(store.commits(takes(&[("a-0", 2)])).await, Committed::Stale);
    assert_eq!(store.commits(takes(&[("a-0", 1), ("a-1", 1)])).await, Committed::Stale);
    assert_eq!(store.commits(takes(&[("a-0", i64::MAX)])).await, Committed::Stale);
    // Several movements of one variant are one.
    assert_eq!(store.commits(takes(&[("a-0", 1), ("a-0", 1)])).await, Committed::Stale);
    assert_eq!(store.commits(takes(&[("a-0", 5), ("a-0", -5), ("a-1", 2), ("a-1", -2)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(1), None, Some(0), Some(1)]);
    assert_eq!(store.commits(takes(&[("a-0", 1), ("a-1", -4)])).await, Committed::Done);
    assert_eq!(counts().await, [None, Some(0), None, Some(4), Some(0)]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn the_last_ones_are_sold_once() {
    const COUNT: u64 = 20;
    let directory = tempfile::tempdir().expect("directory");
    let handles = [
        open(directory.path(), &[product("a", &[Some(COUNT)])]),
        open(directory.path(), &[]),
        open(directory.path(), &[]),
    ];
    let buyers: Vec<_> = (0..120_usize)
        .map(|number| {
            let store = handles[number % handles.len()].clone();
            tokio::spawn(async move {
                let id = number.to_string();
                let change = Change { order: at(order(ALICE, &id, &id), 0), ..takes(&[("a-0", 1)]) };
                store.keeps(change, key(ALICE, "", &id), kept(&id)).await
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
