//! Rules of the [`Outbox`]: the order of webhook events, and the tasks that tell them.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use ucp_core::{
    Release,
    order::{LineQuantity, progress::Tracking},
    ports::{
        agenda::{Agenda as _, Claim, Due, Kind, Recorded, Room},
        ledger::{Change, Committed, Ledger, Stored},
        outbox::{Attempted, Content, Outbox, Payload, State, WebhookEvent, WebhookMessage},
    },
};

use super::StoreUnderTest;
use crate::{PATIENCE, shop::order, within};

fn time(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + seconds).expect("a time")
}

/// Stores the next version of an order.
async fn put(store: &Arc<impl Ledger>, owner: &str, id: &str, version: u64) {
    let mut document = order(owner, id);
    for _ in 0..version {
        let one = [LineQuantity { id: "li_1".into(), quantity: 1 }];
        document.ship(time(1), &one, Tracking::default()).expect("some are left");
    }
    let change = Change { order: Some(Stored { document, version }), ..Change::default() };
    assert_eq!(store.commit(change, None).await.expect("commits"), Committed::Done);
}

fn settled(state: State) -> Attempted {
    Attempted::Settled { state, at: time(10), problem: None }
}

/// As many as there are.
const ALL: Room<'_> = Room { kinds: &[Kind::Tell], per_lane: 1_000, total: 1_000, except: &[] };

const ALICE: &str = "alice's gateway";

async fn webhook_event(store: &Arc<impl Outbox>, id: &str) -> WebhookEvent {
    let mut all = store.webhook_events(1_000).await.expect("reads");
    all.retain(|webhook_event| webhook_event.id == id);
    all.remove(0)
}

/// The first event of an order that waits.
async fn first(store: &Arc<impl Outbox>, order_id: &str) -> Content {
    store.first(order_id, time(0)).await.expect("reads").expect("one waits")
}

/// The orders that are to be told of at a time, with the version of the first event of each.
async fn due<S: Outbox + Ledger>(store: &Arc<S>, at: i64) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for Due { key, .. } in store.due_tasks(time(at), ALL).await.expect("reads") {
        let version = first(store, &key).await.webhook_event.order_version;
        found.push((key, version));
    }
    found
}

/// Records what came of a try to tell of an order that is made at a time, and when the next one is.
async fn record<S: Outbox + Ledger>(store: &Arc<S>, order_id: &str, at: i64, attempted: Attempted, next: i64) {
    let mut tasks = store.due_tasks(time(at), ALL).await.expect("reads");
    tasks.retain(|due| due.key == order_id);
    let claim = Claim { claimant: ALICE.to_owned(), until: time(at + 10) };
    assert_eq!(store.claim_tasks(tasks, time(at), &claim).await.expect("claims").len(), 1);
    let event = first(store, order_id).await.webhook_event;
    assert!(store.record(&event, attempted).await.expect("records"));
    let waits = store.first(order_id, time(at)).await.expect("reads").is_some();
    let recorded = if waits { Recorded::Again { at: time(next), problem: None } } else { Recorded::Done };
    assert!(store.record_task(Kind::Tell, order_id, ALICE, recorded).await.expect("records"));
}

/// Webhook events of one order go out one after the other, a failed one again when it is due, a settled one again when
/// it is resent.
pub async fn each_version_of_an_order_is_told_of_in_turn<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let store = subject.open().await;
    put(&store, "alice", "o1", 0).await;
    put(&store, "alice", "o1", 1).await;
    put(&store, "bob", "o2", 0).await;
    assert_eq!(due(&store, 2).await, [("o1".into(), 1), ("o2".into(), 1)]);
    let id = first(&store, "o1").await.webhook_event.id;
    record(&store, "o1", 2, Attempted::Again { problem: "status 500".into() }, 60).await;
    assert_eq!(due(&store, 59).await, [("o2".into(), 1)]);
    assert_eq!(due(&store, 60).await, [("o2".into(), 1), ("o1".into(), 1)]);
    let content = first(&store, "o1").await;
    assert_eq!((content.webhook_event.attempts, content.since), (1, time(0)));
    assert_eq!(content.webhook_event.next_at, Some(time(60)));
    assert_eq!(content.payload, Payload::Order(Box::new(order("alice", "o1"))), "as it was then");
    record(&store, "o1", 60, settled(State::Delivered), 60).await;
    assert_eq!(due(&store, 60).await, [("o2".into(), 1), ("o1".into(), 2)]);
    let told = webhook_event(&store, &id).await;
    assert_eq!((told.state, told.attempts, told.next_at), (State::Delivered, 2, None));
    record(&store, "o1", 60, settled(State::Delivered), 60).await;
    assert_eq!(due(&store, 60).await, [("o2".into(), 1)], "there is nothing to tell of the other");

    // What is settled can be sent once more.
    assert!(store.resend(&id, time(70)).await.expect("writes"));
    assert_eq!(due(&store, 70).await, [("o2".into(), 1), ("o1".into(), 1)]);
    assert_eq!(first(&store, "o1").await.since, time(70));
    assert!(!store.resend("nonsense", time(70)).await.expect("writes"));
}

/// The first webhook message that is kept is what is sent ever after, and an attempt is recorded by whoever has read the
/// event last.
pub async fn what_was_sent_first_is_kept_for_good<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let message = |body: &[u8]| WebhookMessage { release: Release::V2026_01_11, body: body.to_vec() };
    let event = {
        let store = subject.open().await;
        put(&store, "alice", "o1", 0).await;
        put(&store, "alice", "o1", 1).await;
        let event = first(&store, "o1").await.webhook_event;
        assert!(store.keep(&event.id, &message(b"{\"a\": 1}")).await.expect("writes"));
        assert!(!store.keep(&event.id, &message(b"other")).await.expect("writes"));
        event
    };
    // Also for a process that starts later.
    let store = subject.open().await;
    assert_eq!(first(&store, "o1").await.payload, Payload::WebhookMessage(message(b"{\"a\": 1}")));
    let again = Attempted::Again { problem: "status 500".into() };
    assert!(store.record(&event, again).await.expect("records"));
    assert!(!store.record(&event, settled(State::Delivered)).await.expect("writes"), "somebody has tried since");
    let event = first(&store, "o1").await.webhook_event;
    assert_eq!((event.attempts, event.problem.as_deref()), (1, Some("status 500")));
    assert!(store.record(&event, settled(State::Gone)).await.expect("records"));
    assert!(!store.record(&event, settled(State::Gone)).await.expect("writes"), "it does not wait any more");
    assert!(!store.keep(&event.id, &message(b"other")).await.expect("writes"));
    assert_eq!(first(&store, "o1").await.webhook_event.order_version, 2);
}

/// An event that is queued or resent while another of its order is sent is told by whoever sends that, or right after.
pub async fn what_is_queued_while_others_are_sent_comes_after_them<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    // As if they were two processes: each has its own connections.
    let (here, there) = (subject.open().await, subject.open().await);
    put(&here, "alice", "o1", 0).await;
    let claim = Claim { claimant: ALICE.to_owned(), until: time(12) };
    let tasks = here.due_tasks(time(2), ALL).await.expect("reads");
    assert_eq!(here.claim_tasks(tasks, time(2), &claim).await.expect("claims").len(), 1);
    let event = first(&here, "o1").await.webhook_event;
    assert!(here.record(&event, settled(State::Delivered)).await.expect("records"));
    assert!(here.first("o1", time(2)).await.expect("reads").is_none());
    put(&there, "alice", "o1", 1).await;
    assert!(due(&there, 11).await.is_empty(), "the claim holds");
    assert!(
        here.record_task(Kind::Tell, "o1", ALICE, Recorded::Done).await.expect("records"),
        "it is to be done again"
    );
    assert_eq!(due(&there, 11).await, [("o1".into(), 2)]);
    let again = Recorded::Again { at: time(60), problem: None };
    let tasks = there.due_tasks(time(11), ALL).await.expect("reads");
    assert_eq!(there.claim_tasks(tasks, time(11), &claim).await.expect("claims").len(), 1);
    assert!(there.record_task(Kind::Tell, "o1", ALICE, again).await.expect("records"));
    // Another event does not shorten the pause of a platform that fails, and an operator does.
    put(&here, "alice", "o1", 2).await;
    assert!(due(&there, 59).await.is_empty());
    assert!(here.resend(&event.id, time(30)).await.expect("writes"));
    assert_eq!(due(&there, 30).await, [("o1".into(), 1)]);
}

/// An event that this process queues or resends notifies whoever waits for tasks.
pub async fn who_waits_is_woken_by_what_is_queued_here<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let store = subject.open().await;
    put(&store, "alice", "o1", 0).await;
    within("a commit of which a platform is told", PATIENCE, store.planned()).await;
    let id = first(&store, "o1").await.webhook_event.id;
    assert!(store.resend(&id, time(0)).await.expect("writes"));
    within("an event that is sent again", PATIENCE, store.planned()).await;
}

/// A stale commit queues nothing.
pub async fn an_order_that_is_not_stored_is_not_told_of<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let store = subject.open().await;
    put(&store, "alice", "o1", 0).await;
    let stale = Change { order: Some(Stored { document: order("alice", "o1"), version: 7 }), ..Change::default() };
    assert_eq!(store.commit(stale, None).await.expect("commits"), Committed::Stale);
    assert_eq!(store.webhook_events(10).await.expect("reads").len(), 1);
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

/// A webhook event as the oracle knows it: its order, and whether it waits.
type KnownEvent = (usize, bool);

/// Exactly the first unsettled webhook event of each order can be sent. Makes data for each of its cases, on a runtime
/// of its own.
pub fn of_each_order_the_first_unsettled_notice_is_due<T: StoreUnderTest<Store: Outbox>>() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = Config { cases: 24, ..Config::default() };
    let checked = TestRunner::new(config).run(&prop::collection::vec(step(), 1..24), |steps| {
        runtime.block_on(async {
            let subject = T::create().await;
            let store = subject.open().await;
            let (mut known, mut versions): (Vec<KnownEvent>, HashMap<usize, u64>) = Default::default();
            for step in steps {
                let due: Vec<_> = due(&store, 1_000).await.into_iter().map(|(order, _)| order).collect();
                let ids: Vec<_> =
                    store.webhook_events(99).await.expect("reads").into_iter().rev().map(|one| one.id).collect();
                let place = |id: &str| ids.iter().position(|known| known == id).expect("is there");
                match step {
                    Step::Store(number) => {
                        let version = versions.entry(number).or_default();
                        if *version < 9 {
                            put(&store, &format!("owner{}", number % 2), &format!("o{number}"), *version).await;
                            *version += 1;
                            known.push((number, true));
                        }
                    }
                    Step::Settle(number) if !due.is_empty() => {
                        let order = &due[number % due.len()];
                        let id = first(&store, order).await.webhook_event.id;
                        record(&store, order, 1_000, settled(State::Delivered), 100).await;
                        known[place(&id)].1 = false;
                    }
                    Step::Fail(number) if !due.is_empty() => {
                        let again = Attempted::Again { problem: "down".into() };
                        record(&store, &due[number % due.len()], 1_000, again, 100).await;
                    }
                    Step::Resend(number) if !ids.is_empty() => {
                        let id = &ids[number % ids.len()];
                        store.resend(id, time(5)).await.expect("writes");
                        known[place(id)].1 = true;
                    }
                    _ => {}
                }
                let mut expected = Vec::new();
                for order in 0..3 {
                    expected.extend(known.iter().position(|one| *one == (order, true)));
                }
                let ids: Vec<_> =
                    store.webhook_events(99).await.expect("reads").into_iter().rev().map(|one| one.id).collect();
                let mut found = Vec::new();
                for Due { key, .. } in store.due_tasks(time(1_000), ALL).await.expect("reads") {
                    let first = first(&store, &key).await.webhook_event.id;
                    found.push(ids.iter().position(|id| *id == first).expect("is there"));
                }
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected);
            }
        });
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}
