//! What the outbox promises, on a real database.

use std::{collections::HashMap, sync::Arc};

use proptest::prelude::*;
use serde_json::json;
use ucp_core::{
    order::progress::Tracking,
    purchase::ledger::{Change, Committed, Ledger as _, Stored},
};

use super::*;
use crate::{Database, Opening};

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

fn books(directory: &std::path::Path) -> Books {
    let market = serde_json::from_value(json!({"name": "Example", "currency": "USD", "language": "en"}));
    let market = market.expect("a market");
    Books::new(Arc::new(Database::open_or_create(directory, || Opening::of(market)).expect("opens")))
}

fn order(owner: &str, id: &str) -> Order {
    serde_json::from_value(json!({
        "id": id, "label": id, "token": format!("t_{id}"), "owner": owner, "checkout_id": format!("chk_{id}"),
        "line_items": [{
            "id": "li_1", "item": {"id": "a", "title": "A", "price": 100, "needs_fulfillment": true},
            "original": 9, "total": 9, "fulfilled": 0, "totals": [{"kind": "total", "amount": 900}],
        }],
        "currency": "USD", "totals": [{"kind": "total", "amount": 900}], "expectations": [], "events": [],
        "adjustments": [], "payment": {"handler_id": "h", "attempt_id": "a", "reference": "r"}, "placed_at": time(0),
    }))
    .expect("an order")
}

/// Stores the next version of an order.
async fn store(books: &Books, owner: &str, id: &str, version: u64) {
    let mut document = order(owner, id);
    for _ in 0..version {
        let one = [ucp_core::order::LineQuantity { id: "li_1".into(), quantity: 1 }];
        document.ship(time(1), &one, Tracking::default()).expect("some are left");
    }
    let change = Change { order: Some(Stored { document, version }), ..Change::default() };
    assert_eq!(books.commit(change, None).await.expect("commits"), Committed::Done);
}

fn settled(state: State) -> Attempted {
    Attempted::Settled { state, at: time(10), problem: None }
}

async fn due(books: &Books, at: i64) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for due in books.due(time(at), 1_000, 1_000).await.expect("reads") {
        let notice = books.content(&due.id).await.expect("reads").expect("is there").notice;
        found.push((notice.order_id, notice.order_version));
    }
    found
}

async fn head(books: &Books) -> String {
    books.due(time(0), 1, 1).await.expect("reads").remove(0).id
}

#[tokio::test]
async fn each_version_of_an_order_is_told_of_in_turn() {
    let directory = tempfile::tempdir().expect("a directory");
    let books = books(directory.path());
    store(&books, "alice", "o1", 0).await;
    store(&books, "alice", "o1", 1).await;
    store(&books, "bob", "o2", 0).await;
    assert_eq!(due(&books, 0).await, [("o1".into(), 1), ("o2".into(), 1)]);
    let first = head(&books).await;
    let again = Attempted::Again { at: time(60), problem: "status 500".into() };
    books.record(&first, again).await.expect("records");
    assert_eq!(due(&books, 59).await, [("o2".into(), 1)]);
    assert_eq!(due(&books, 60).await, [("o2".into(), 1), ("o1".into(), 1)]);
    books.record(&first, settled(State::Delivered)).await.expect("records");
    assert_eq!(due(&books, 0).await, [("o1".into(), 2), ("o2".into(), 1)]);

    let content = books.content(&first).await.expect("reads").expect("is there");
    assert_eq!((content.notice.state, content.notice.attempts), (State::Delivered, 2));
    assert_eq!(content.order, order("alice", "o1"), "as it was then");

    // What is settled can be sent once more, before the others of its order.
    assert!(books.resend(&first, time(70)).await.expect("writes"));
    assert_eq!(due(&books, 70).await, [("o2".into(), 1), ("o1".into(), 1)]);
    assert!(!books.resend("nonsense", time(70)).await.expect("writes"));
}

#[tokio::test]
async fn what_was_sent_first_is_kept_for_good() {
    let directory = tempfile::tempdir().expect("a directory");
    let books = books(directory.path());
    store(&books, "alice", "o1", 0).await;
    let id = head(&books).await;
    let letter = Letter { release: Release::V2026_01_11, body: b"{\"a\": 1}".to_vec() };
    books.keep(&id, &letter).await.expect("writes");
    let other = Letter { release: Release::NEWEST, body: b"other".to_vec() };
    books.keep(&id, &other).await.expect("writes");
    assert_eq!(books.content(&id).await.expect("reads").expect("is there").letter, Some(letter));
}

#[tokio::test]
async fn an_order_that_is_not_stored_is_not_told_of() {
    let directory = tempfile::tempdir().expect("a directory");
    let books = books(directory.path());
    store(&books, "alice", "o1", 0).await;
    let stale = Change { order: Some(Stored { document: order("alice", "o1"), version: 7 }), ..Change::default() };
    assert_eq!(books.commit(stale, None).await.expect("commits"), Committed::Stale);
    assert_eq!(books.notices(10).await.expect("reads").len(), 1);
}

#[tokio::test]
async fn many_notices_of_one_platform_hide_no_other() {
    let directory = tempfile::tempdir().expect("a directory");
    let books = books(directory.path());
    for number in 0..300 {
        store(&books, "alice", &format!("a{number}"), 0).await;
    }
    store(&books, "bob", "b", 0).await;
    let due = books.due(time(0), 2, 100).await.expect("reads");
    assert_eq!(due.iter().filter(|due| due.owner == "alice").count(), 2);
    assert_eq!(due.iter().filter(|due| due.owner == "bob").count(), 1);
}

#[tokio::test]
async fn what_is_settled_goes_after_a_week_and_what_waits_in_vain_after_a_month() {
    let directory = tempfile::tempdir().expect("a directory");
    let books = books(directory.path());
    for owner in ["alice", "bob"] {
        store(&books, owner, owner, 0).await;
    }
    let alice = books.due(time(0), 1, 10).await.expect("reads").remove(0);
    books.record(&alice.id, settled(State::Unwanted)).await.expect("records");
    let day = 24 * 60 * 60;
    for (days, left) in [(6, 2), (8, 1), (29, 1), (31, 0)] {
        books.prune(time(days * day)).await.expect("removes");
        assert_eq!(books.notices(10).await.expect("reads").len(), left, "after {days} days");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Store(usize),
    Settle(usize),
    Fail(usize),
    Resend(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        (0usize..3).prop_map(Step::Store),
        (0usize..8).prop_map(Step::Settle),
        (0usize..8).prop_map(Step::Fail),
        (0usize..16).prop_map(Step::Resend),
    ]
}

/// A notice as the oracle knows it: its order, and whether it waits.
type Known = (usize, bool);

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// Whatever happens, exactly the first unsettled notice of each order can be sent.
    #[test]
    fn of_each_order_the_first_unsettled_notice_is_due(steps in prop::collection::vec(step(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        let directory = tempfile::tempdir().expect("a directory");
        runtime.block_on(async {
            let books = books(directory.path());
            let (mut known, mut versions): (Vec<Known>, HashMap<usize, u64>) = Default::default();
            for step in steps {
                let mut due: Vec<_> = books.due(time(1_000), 99, 99).await.expect("reads");
                due.sort_by(|one, other| one.id.cmp(&other.id));
                let ids: Vec<_> = books.notices(99).await.expect("reads").into_iter().rev().map(|one| one.id).collect();
                let place = |id: &str| ids.iter().position(|known| known == id).expect("is there");
                match step {
                    Step::Store(number) => {
                        let version = versions.entry(number).or_default();
                        if *version < 9 {
                            store(&books, &format!("owner{}", number % 2), &format!("o{number}"), *version).await;
                            *version += 1;
                            known.push((number, true));
                        }
                    }
                    Step::Settle(number) if !due.is_empty() => {
                        let id = &due[number % due.len()].id;
                        books.record(id, settled(State::Delivered)).await.expect("records");
                        known[place(id)].1 = false;
                    }
                    Step::Fail(number) if !due.is_empty() => {
                        let again = Attempted::Again { at: time(100), problem: "down".into() };
                        books.record(&due[number % due.len()].id, again).await.expect("records");
                    }
                    Step::Resend(number) if !ids.is_empty() => {
                        let id = &ids[number % ids.len()];
                        books.resend(id, time(5)).await.expect("writes");
                        known[place(id)].1 = true;
                    }
                    _ => {}
                }
                let mut expected = Vec::new();
                for order in 0..3 {
                    expected.extend(known.iter().position(|one| *one == (order, true)));
                }
                let ids: Vec<_> = books.notices(99).await.expect("reads").into_iter().rev().map(|one| one.id).collect();
                let due = books.due(time(1_000), 99, 99).await.expect("reads");
                let mut found: Vec<_> =
                    due.iter().map(|due| ids.iter().position(|id| *id == due.id).expect("is there")).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected);
            }
        });
    }
}
