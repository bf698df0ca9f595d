use ucp_core::{
    checkout::{Checkout, State},
    purchase::ledger::{Change, Committed},
};
use ucp_testkit::store::fixtures::{ALICE, Commits as _, at, checkout, hours, now, order, paying};

use super::*;

fn open(directory: &std::path::Path) -> SqliteStore {
    SqliteStore::open_or_create(directory).expect("opens")
}

/// What happened, in words.
async fn told(store: &SqliteStore, now: Timestamp) -> Vec<String> {
    let happened = store.happened(now).await.expect("reads").into_iter();
    let words = happened.map(|happened| match happened {
        Happened::Order { order_id, owner, version, .. } => format!("{order_id} {version} of {owner}"),
        Happened::Abandoned(checkout) => format!("{} is abandoned", checkout.id),
    });
    words.collect()
}

#[tokio::test]
async fn each_version_of_an_order_is_told_once() {
    let directory = tempfile::tempdir().expect("directory");
    let (one, other) = (open(directory.path()), open(directory.path()));
    assert!(told(&one, now()).await.is_empty());
    for (id, version) in [("a", 0), ("b", 0), ("a", 1)] {
        let change = Change { order: at(order(ALICE, id, id), version), ..Change::default() };
        assert_eq!(one.commits(change).await, Committed::Done);
    }
    assert_eq!(told(&other, now()).await, ["a 1", "b 1", "a 2"].map(|version| format!("{version} of {ALICE}")));
    assert!(told(&one, now()).await.is_empty(), "the other process has told it");
    drop((one, other));
    assert!(told(&open(directory.path()), now()).await.is_empty());
}

#[tokio::test]
async fn checkouts_that_expire_unfinished_are_told_once() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path());
    let put = async |id: &str, age, state: State| {
        let change = Checkout { expires_at: now() + age, state, ..checkout(ALICE, id, None) };
        assert_eq!(store.commits(Change { checkout: at(change, 0), ..Change::default() }).await, Committed::Done);
    };
    put("before", hours(-1), State::Incomplete).await;
    assert!(told(&store, now()).await.is_empty(), "what expired before anybody asked is not told");
    put("ready", hours(1), State::ReadyForComplete).await;
    put("with the buyer", hours(2), State::RequiresEscalation).await;
    put("canceled", hours(1), State::Canceled).await;
    put("paying", hours(1), paying("paying", now())).await;
    put("open", hours(3), State::Incomplete).await;
    assert!(told(&store, now()).await.is_empty());
    assert_eq!(told(&store, now() + hours(1)).await, ["ready is abandoned"]);
    assert!(told(&store, now() + hours(1)).await.is_empty());
    assert_eq!(told(&store, now() + hours(9)).await, ["with the buyer is abandoned", "open is abandoned"]);
    assert!(told(&store, now() + hours(9)).await.is_empty());
}
