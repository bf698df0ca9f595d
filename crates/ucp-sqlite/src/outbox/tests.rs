//! Retention of webhook events.

use ucp_core::ports::{
    ledger::{Change, Committed, Ledger as _, Stored},
    store::Store as _,
};
use ucp_testkit::shop::order;

use super::*;

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

#[tokio::test]
async fn what_is_settled_goes_after_a_week_and_what_waits_in_vain_after_a_month() {
    let directory = tempfile::tempdir().expect("a directory");
    let store = SqliteStore::open_or_create(directory.path()).expect("opens");
    for owner in ["alice", "bob"] {
        let change = Change { order: Some(Stored { document: order(owner, owner), version: 0 }), ..Change::default() };
        assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Done);
    }
    let alice = store.first("alice", time(0)).await.expect("reads").expect("one waits").webhook_event;
    let settled = Attempted::Settled { state: State::Unwanted, at: time(10), problem: None };
    assert!(store.record(&alice, settled).await.expect("records"));
    let day = 24 * 60 * 60;
    for (days, left) in [(6, 2), (8, 1), (29, 1), (31, 0)] {
        store.prune(time(days * day)).await.expect("removes");
        assert_eq!(store.webhook_events(10).await.expect("reads").len(), left, "after {days} days");
    }
}
