//! Rules of the [`Outbox`]: the order of webhook events, claims, turns between platforms.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use ucp_core::{
    Release,
    order::{
        LineQuantity,
        outbox::{Attempted, Claim, Outbox, Payload, State, Wanted, WebhookEvent, WebhookMessage},
        progress::Tracking,
    },
    purchase::ledger::{Change, Committed, Ledger, Stored},
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
const ALL: Wanted<'_> = Wanted { per_owner: 1_000, limit: 1_000, except: &[] };

const ALICE: &str = "alice's courier";

/// A claim that holds for the ten seconds before a time.
fn claim(claimant: &str, until: i64) -> Claim {
    Claim { claimant: claimant.to_owned(), until: time(until) }
}

async fn webhook_event(store: &Arc<impl Outbox>, id: &str) -> WebhookEvent {
    let mut all = store.webhook_events(1_000).await.expect("reads");
    all.retain(|webhook_event| webhook_event.id == id);
    all.remove(0)
}

async fn due(store: &Arc<impl Outbox>, at: i64) -> Vec<(String, u64)> {
    let mut found = Vec::new();
    for due in store.due(time(at), ALL).await.expect("reads") {
        let webhook_event = webhook_event(store, &due.id).await;
        found.push((webhook_event.order_id, webhook_event.order_version));
    }
    found
}

async fn head(store: &Arc<impl Outbox>) -> String {
    store.due(time(0), ALL).await.expect("reads").remove(0).id
}

/// Whether somebody gets a webhook event at a time.
async fn gets(store: &Arc<impl Outbox>, id: &str, claimant: &str, at: i64) -> bool {
    let claimed = store.claim(vec![id.to_owned()], time(at), &claim(claimant, at + 10)).await.expect("writes");
    !claimed.is_empty()
}

/// Records what came of a try that is made at a time.
async fn record(store: &Arc<impl Outbox>, id: &str, at: i64, attempted: Attempted) {
    assert!(gets(store, id, ALICE, at).await, "it can be claimed");
    assert!(store.record(id, ALICE, attempted).await.expect("records"));
}

/// Webhook events of one order go out one after the other, a failed one again when it is due, a settled one again when
/// it is resent.
pub async fn each_version_of_an_order_is_told_of_in_turn<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let store = subject.open().await;
    put(&store, "alice", "o1", 0).await;
    put(&store, "alice", "o1", 1).await;
    put(&store, "bob", "o2", 0).await;
    assert_eq!(due(&store, 0).await, [("o1".into(), 1), ("o2".into(), 1)]);
    let first = head(&store).await;
    let again = Attempted::Again { at: time(60), problem: "status 500".into() };
    record(&store, &first, 0, again).await;
    assert_eq!(due(&store, 59).await, [("o2".into(), 1)]);
    assert_eq!(due(&store, 60).await, [("o2".into(), 1), ("o1".into(), 1)]);
    let claimed = store.claim(vec![first.clone()], time(60), &claim(ALICE, 70)).await.expect("writes");
    assert_eq!((claimed[0].webhook_event.attempts, claimed[0].since, claimed.len()), (1, time(0), 1));
    assert_eq!(claimed[0].payload, Payload::Order(Box::new(order("alice", "o1"))), "as it was then");
    assert!(store.record(&first, ALICE, settled(State::Delivered)).await.expect("records"));
    assert_eq!(due(&store, 0).await, [("o1".into(), 2), ("o2".into(), 1)]);
    let told = webhook_event(&store, &first).await;
    assert_eq!((told.state, told.attempts), (State::Delivered, 2));

    // What is settled can be sent once more, before the others of its order.
    assert!(store.resend(&first, time(70)).await.expect("writes"));
    assert_eq!(due(&store, 70).await, [("o2".into(), 1), ("o1".into(), 1)]);
    assert!(!store.resend("nonsense", time(70)).await.expect("writes"));
}

/// The first webhook message that the claimant keeps is what is sent ever after.
pub async fn what_was_sent_first_is_kept_for_good<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let store = subject.open().await;
    put(&store, "alice", "o1", 0).await;
    let id = head(&store).await;
    let webhook_message = WebhookMessage { release: Release::V2026_01_11, body: b"{\"a\": 1}".to_vec() };
    assert!(!store.keep(&id, ALICE, &webhook_message).await.expect("writes"), "nobody has claimed it");
    assert!(gets(&store, &id, ALICE, 0).await);
    assert!(store.keep(&id, ALICE, &webhook_message).await.expect("writes"));
    let other = WebhookMessage { release: Release::NEWEST, body: b"other".to_vec() };
    assert!(!store.keep(&id, ALICE, &other).await.expect("writes"));
    let claimed = store.claim(vec![id], time(10), &claim("another", 20)).await.expect("writes");
    assert_eq!(claimed[0].payload, Payload::WebhookMessage(webhook_message));
}

/// While a claim holds, nobody else gets a webhook event of that order; whoever has lost it can do nothing with it.
pub async fn a_claimed_notice_is_nobody_elses_until_the_claim_ends<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    // As if they were two processes: each has its own connections.
    let (here, there) = (subject.open().await, subject.open().await);
    put(&here, "alice", "o1", 0).await;
    put(&here, "alice", "o1", 1).await;
    let id = head(&here).await;
    assert_eq!(head(&there).await, id);
    assert!(gets(&here, &id, "here", 0).await);
    for store in [&here, &there] {
        assert!(due(store, 9).await.is_empty(), "nor is the next one of the order");
        assert!(!gets(store, &id, "there", 9).await);
    }
    here.extend(vec![id.clone()], &claim("here", 12)).await.expect("writes");
    assert!(due(&there, 11).await.is_empty());
    assert_eq!(due(&there, 12).await, [("o1".into(), 1)]);
    assert!(gets(&there, &id, "there", 12).await);

    // Whoever has lost it can neither extend it, nor say what is sent, nor what came of it.
    here.extend(vec![id.clone()], &claim("here", 99)).await.expect("writes");
    let webhook_message = WebhookMessage { release: Release::NEWEST, body: b"{}".to_vec() };
    assert!(!here.keep(&id, "here", &webhook_message).await.expect("writes"));
    assert!(!here.record(&id, "here", settled(State::Delivered)).await.expect("writes"));
    assert!(due(&here, 21).await.is_empty());
    assert_eq!(due(&here, 22).await, [("o1".into(), 1)]);
    assert!(there.record(&id, "there", settled(State::Delivered)).await.expect("writes"));
    assert_eq!(due(&here, 22).await, [("o1".into(), 2)]);

    // One of the order is sent while an earlier one is to be sent again.
    let second = head(&here).await;
    assert!(gets(&there, &second, "there", 22).await);
    assert!(here.resend(&id, time(22)).await.expect("writes"));
    assert!(!gets(&here, &id, "here", 22).await, "one after the other");
    assert!(there.record(&second, "there", settled(State::Delivered)).await.expect("writes"));
    assert!(gets(&here, &id, "here", 22).await);
}

/// Of several dispatchers that claim the same webhook events at once, each webhook event goes to one.
pub async fn of_many_who_claim_the_same_each_gets_something_else<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let (here, there) = (subject.open().await, subject.open().await);
    for number in 0..50 {
        put(&here, "alice", &format!("a{number}"), 0).await;
    }
    let ids: Vec<_> = here.due(time(0), ALL).await.expect("reads").into_iter().map(|due| due.id).collect();
    let claims = ["1", "2", "3", "4"].map(|claimant| {
        let (store, ids) = (if claimant < "3" { here.clone() } else { there.clone() }, ids.clone());
        tokio::spawn(async move { store.claim(ids, time(0), &claim(claimant, 10)).await.expect("writes") })
    });
    let mut claimed = Vec::new();
    for claim in claims {
        let claim = within("a claim", PATIENCE, claim).await.expect("ends");
        claimed.extend(claim.into_iter().map(|content| content.webhook_event.id));
    }
    claimed.sort();
    let mut ids = ids;
    ids.sort();
    assert_eq!(claimed, ids);
}

/// What this process queues or resends wakes one who waits, once.
pub async fn who_waits_is_woken_by_what_is_queued_here<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let store = subject.open().await;
    let waiting = tokio::spawn({
        let store = store.clone();
        async move { store.queued().await }
    });
    put(&store, "alice", "o1", 0).await;
    within("who waits to be woken", PATIENCE, waiting).await.expect("is woken");
    // Also one who waits later, once.
    put(&store, "alice", "o1", 1).await;
    within("who waits later to be woken", PATIENCE, store.queued()).await;
    let id = head(&store).await;
    assert!(store.resend(&id, time(0)).await.expect("writes"));
    within("who waits to be woken by what is sent again", PATIENCE, store.queued()).await;
    let waits = tokio::select! {
        biased;
        () = store.queued() => false,
        () = std::future::ready(()) => true,
    };
    assert!(waits, "each wakes once");
}

/// A stale commit queues nothing.
pub async fn an_order_that_is_not_stored_is_not_told_of<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let store = subject.open().await;
    put(&store, "alice", "o1", 0).await;
    let stale = Change { order: Some(Stored { document: order("alice", "o1"), version: 7 }), ..Change::default() };
    assert_eq!(store.commit(stale, None).await.expect("commits"), Committed::Stale);
    assert_eq!(store.webhook_events(10).await.expect("reads").len(), 1);
}

/// Platforms take turns in what is due.
pub async fn many_notices_of_one_platform_hide_no_other<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let store = subject.open().await;
    for number in 0..300 {
        put(&store, "alice", &format!("a{number}"), 0).await;
    }
    put(&store, "bob", "b", 0).await;
    for number in 0..2 {
        put(&store, "carol", &format!("c{number}"), 0).await;
    }
    let wanted = Wanted { per_owner: 2, limit: 100, except: &[] };
    let owners = async |wanted| -> Vec<String> {
        store.due(time(0), wanted).await.expect("reads").into_iter().map(|due| due.owner).collect()
    };
    // The first of each, then the second of each.
    assert_eq!(owners(wanted).await, ["alice", "bob", "carol", "alice", "carol"]);
    assert_eq!(owners(Wanted { limit: 3, per_owner: 99, ..wanted }).await, ["alice", "bob", "carol"]);
    assert_eq!(owners(Wanted { except: &["alice", "nobody"], ..wanted }).await, ["bob", "carol", "carol"]);
    // Those that are claimed make room for others.
    for _ in 0..2 {
        let id = head(&store).await;
        assert!(gets(&store, &id, ALICE, 0).await);
    }
    assert_eq!(owners(wanted).await, ["alice", "bob", "carol", "alice", "carol"]);
}

/// Webhook events, what is kept of them, and claims are there for a process that starts later.
pub async fn notices_and_claims_are_there_after_a_restart<T: StoreUnderTest<Store: Outbox>>(subject: &T) {
    let webhook_message = WebhookMessage { release: Release::V2026_01_11, body: b"{\"a\": 1}".to_vec() };
    let id = {
        let store = subject.open().await;
        put(&store, "alice", "o1", 0).await;
        put(&store, "alice", "o1", 1).await;
        let id = head(&store).await;
        assert!(gets(&store, &id, ALICE, 0).await);
        assert!(store.keep(&id, ALICE, &webhook_message).await.expect("writes"));
        id
    };
    let store = subject.open().await;
    assert!(due(&store, 9).await.is_empty(), "the claim holds");
    assert!(!gets(&store, &id, "another", 9).await);
    assert_eq!(due(&store, 10).await, [("o1".into(), 1)]);
    let claimed = store.claim(vec![id.clone()], time(10), &claim("another", 20)).await.expect("writes");
    assert_eq!(claimed[0].payload, Payload::WebhookMessage(webhook_message));
    assert!(store.record(&id, "another", settled(State::Gone)).await.expect("records"));
    drop(store);
    let store = subject.open().await;
    let told = webhook_event(&store, &id).await;
    assert_eq!((told.state, told.attempts, told.next_at), (State::Gone, 1, None));
    assert_eq!(due(&store, 10).await, [("o1".into(), 2)]);
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
type Known = (usize, bool);

/// Whatever happens, exactly the first unsettled webhook event of each order can be sent. Makes data for each of its
/// cases, on a runtime of its own.
pub fn of_each_order_the_first_unsettled_notice_is_due<T: StoreUnderTest<Store: Outbox>>() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let config = Config { cases: 24, ..Config::default() };
    let checked = TestRunner::new(config).run(&prop::collection::vec(step(), 1..24), |steps| {
        runtime.block_on(async {
            let subject = T::create().await;
            let store = subject.open().await;
            let (mut known, mut versions): (Vec<Known>, HashMap<usize, u64>) = Default::default();
            for step in steps {
                let mut due: Vec<_> = store.due(time(1_000), ALL).await.expect("reads");
                due.sort_by(|one, other| one.id.cmp(&other.id));
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
                        let id = &due[number % due.len()].id;
                        record(&store, id, 1_000, settled(State::Delivered)).await;
                        known[place(id)].1 = false;
                    }
                    Step::Fail(number) if !due.is_empty() => {
                        let again = Attempted::Again { at: time(100), problem: "down".into() };
                        record(&store, &due[number % due.len()].id, 1_000, again).await;
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
                let due = store.due(time(1_000), ALL).await.expect("reads");
                let mut found: Vec<_> =
                    due.iter().map(|due| ids.iter().position(|id| *id == due.id).expect("is there")).collect();
                found.sort_unstable();
                expected.sort_unstable();
                assert_eq!(found, expected);
            }
        });
        Ok(())
    });
    checked.unwrap_or_else(|failure| panic!("{failure}"));
}
