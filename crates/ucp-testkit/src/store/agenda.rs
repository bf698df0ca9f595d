//! Rules of the [`Agenda`]: tasks, claims, turns between lanes.

use std::collections::BTreeSet;

use jiff::Timestamp;
use ucp_core::{
    cart::Cart,
    checkout::{Checkout, State},
    ports::{
        agenda::{Agenda, Claim, Due, Kind, Plan, Recorded, Rested, Room, Task},
        ledger::{Change, Committed},
    },
    purchase::remote_cart_ref::RemoteCartRef,
};

use super::{
    StoreUnderTest,
    fixtures::{ALICE, BOB, Commits as _, at, cart, checkout, hours, now, paying},
};
use crate::{PATIENCE, within};

const ALL: Room<'_> = Room { kinds: &Kind::ALL, per_lane: 1_000, total: 1_000, except: &[] };

/// A cart at a shop behind another API.
pub(super) fn remote(reference: &str) -> RemoteCartRef {
    RemoteCartRef { reference: reference.into(), ..RemoteCartRef::default() }
}

fn task(lane: &str, key: &str, due: Timestamp) -> Task {
    let (lane, key, body) = (lane.into(), key.into(), format!("body of {key}\0"));
    Task { kind: Kind::Abandon, key, lane, name: None, due, body }
}

fn claim(claimant: &str, until: Timestamp) -> Claim {
    Claim { claimant: claimant.into(), until }
}

/// The keys of the tasks that are due, in the order in which they are.
async fn keys(store: &impl Agenda, now: Timestamp) -> Vec<String> {
    store.due_tasks(now, ALL).await.expect("reads").into_iter().map(|due| due.key).collect()
}

async fn plan(store: &impl Agenda, task: Task) {
    store.plan(Plan::Due(task)).await.expect("plans");
}

/// A payment that begins is planned with its commit, under the name of its attempt, and is over with the commit of its end;
/// what was not committed plans nothing. A cart that a document names is not abandoned. Everything is there after a restart.
pub async fn tasks_follow_from_what_is_committed<T: StoreUnderTest>(subject: &T) {
    let change = |state: State, version| Change {
        checkout: at(Checkout { state, ..checkout(ALICE, "chk_1", None) }, version),
        ..Change::default()
    };
    {
        let store = subject.open().await;
        for reference in ["of a cart", "of nobody\0"] {
            plan(&*store, remote(reference).abandonment(now() + hours(1))).await;
        }
        let named = Cart { remote_cart: Some(remote("of a cart")), ..cart(ALICE, "cart_1") };
        assert_eq!(store.commits(Change { cart: at(named, 0), ..Change::default() }).await, Committed::Done);
        assert_eq!(store.commits(change(State::ReadyForComplete, 0)).await, Committed::Done);
        assert_eq!(store.commits(change(paying("chk_1", now()), 7)).await, Committed::Stale);
        assert_eq!(keys(&*store, now() + hours(9)).await, ["of nobody\0"]);
        assert_eq!(store.commits(change(paying("chk_1", now()), 1)).await, Committed::Done);
    }
    let store = subject.open().await;
    assert_eq!(keys(&*store, now()).await, [""; 0], "a call is about to pay");
    assert_eq!(keys(&*store, now() + hours(9)).await, ["chk_1", "of nobody\0"]);
    let due = store.due_tasks(now() + hours(1), ALL).await.expect("reads");
    assert_eq!((due[0].kind, &*due[0].lane), (Kind::Settle, "settle:sandbox"));
    let claimed = store.claim_tasks(due, now() + hours(1), &claim("me", now() + hours(2))).await.expect("claims");
    let mut bodies: Vec<_> = claimed.iter().map(|task| &*task.body).collect();
    bodies.sort_unstable();
    let reference = serde_json::to_string(&remote("of nobody\0")).expect("JSON");
    assert_eq!(bodies, [ALICE, &reference]);
    assert!(store.wake("attempt at chk_1", now()).await.expect("wakes"));
    assert!(!store.wake("attempt at chk_2", now()).await.expect("looks"));
    let over = Change { plans: vec![Plan::Done(Kind::Settle, "chk_1".into())], ..change(State::Canceled, 2) };
    assert_eq!(store.commits(over).await, Committed::Done);
    assert!(!store.record_task(Kind::Settle, "chk_1", "me", Recorded::Done).await.expect("looks"), "it is over");
    assert!(store.record_task(Kind::Abandon, "of nobody\0", "me", Recorded::Done).await.expect("records"));
    assert_eq!(store.tasks(9).await.expect("reads"), []);
}

/// A claimed task is nobody else's until the claim ends or its time is over; an extended claim lasts longer.
pub async fn a_claimed_task_is_nobody_elses_until_the_claim_ends<T: StoreUnderTest>(subject: &T) {
    let (here, there) = (subject.open().await, subject.open().await);
    plan(&*here, task("lane", "a", now())).await;
    let due = here.due_tasks(now(), ALL).await.expect("reads");
    assert_eq!(here.claim_tasks(due.clone(), now(), &claim("here", now() + hours(1))).await.expect("claims").len(), 1);
    assert_eq!(keys(&*there, now()).await, [""; 0]);
    assert_eq!(there.claim_tasks(due.clone(), now(), &claim("there", now() + hours(1))).await.expect("claims"), []);
    here.extend_tasks(due.clone(), &claim("here", now() + hours(2))).await.expect("extends");
    assert_eq!(keys(&*there, now() + hours(1)).await, [""; 0]);
    there.extend_tasks(due.clone(), &claim("there", now())).await.expect("extends nothing");
    let later = now() + hours(2);
    let claimed = there.claim_tasks(due.clone(), later, &claim("there", later + hours(1))).await.expect("claims");
    assert_eq!((claimed.len(), claimed[0].tries, claimed[0].since), (1, 0, now()));
    let again = Recorded::Again { at: later + hours(5), problem: Some("no answer".into()) };
    assert!(!here.record_task(Kind::Abandon, "a", "here", Recorded::Done).await.expect("looks"), "the claim was lost");
    assert!(there.record_task(Kind::Abandon, "a", "there", again).await.expect("records"));
    assert_eq!(keys(&*here, later + hours(4)).await, [""; 0]);
    assert_eq!(keys(&*here, later + hours(5)).await, ["a"]);
    let entry = here.tasks(9).await.expect("reads").remove(0);
    assert_eq!((entry.tries, entry.problem.as_deref(), entry.due), (1, Some("no answer"), later + hours(5)));
}

/// Of many who claim the same tasks at once, at several handles, each gets others.
pub async fn of_many_who_claim_the_same_tasks_each_gets_others<T: StoreUnderTest>(subject: &T) {
    let handles = [subject.open().await, subject.open().await, subject.open().await];
    let names: Vec<_> = (0..30).map(|number| format!("t{number:02}")).collect();
    for name in &names {
        plan(&*handles[0], task("lane", name, now())).await;
    }
    let claims: Vec<_> = (0..12_usize)
        .map(|number| {
            let store = handles[number % handles.len()].clone();
            tokio::spawn(async move {
                let due = store.due_tasks(now(), ALL).await.expect("reads");
                let claim = claim(&number.to_string(), now() + hours(1));
                store.claim_tasks(due, now(), &claim).await.expect("claims")
            })
        })
        .collect();
    let mut claimed = Vec::new();
    for one in claims {
        claimed.extend(within("a claim", PATIENCE, one).await.expect("no panic").into_iter().map(|task| task.key));
    }
    let different: BTreeSet<_> = claimed.iter().cloned().collect();
    assert_eq!(claimed.len(), different.len(), "each was claimed once");
    // Rows that two lock at once are left to the next look.
    let left: BTreeSet<_> = keys(&*handles[1], now()).await.into_iter().collect();
    assert_eq!(different.union(&left).cloned().collect::<Vec<_>>(), names);
}

/// A task that is woken is due at once, whoever has claimed it: what its claimant records does not put it off.
pub async fn what_is_woken_is_due_whoever_holds_it<T: StoreUnderTest>(subject: &T) {
    let (here, there) = (subject.open().await, subject.open().await);
    let named = |due| Task { name: Some("name".into()), ..task("lane", "a", due) };
    plan(&*here, named(now() + hours(9))).await;
    assert!(there.wake("name", now()).await.expect("wakes"));
    assert_eq!(keys(&*here, now()).await, ["a"]);
    let due = || vec![Due { kind: Kind::Abandon, key: "a".into(), lane: "lane".into() }];
    let claimed = here.claim_tasks(due(), now(), &claim("here", now() + hours(1))).await.expect("claims");
    assert_eq!(claimed.len(), 1);
    let again = || Recorded::Again { at: now() + hours(9), problem: None };
    assert!(here.record_task(Kind::Abandon, "a", "here", again()).await.expect("records"));
    assert_eq!(keys(&*here, now()).await, [""; 0], "it was woken before");

    assert!(there.wake("name", now()).await.expect("wakes"));
    assert_eq!(here.claim_tasks(due(), now(), &claim("here", now() + hours(1))).await.expect("claims").len(), 1);
    assert!(there.wake("name", now()).await.expect("wakes"));
    for recorded in [again(), Recorded::Done, Recorded::GivenUp { problem: "enough".into() }] {
        assert!(here.record_task(Kind::Abandon, "a", "here", recorded).await.expect("records"));
        assert_eq!(keys(&*there, now()).await, ["a"]);
        assert_eq!(there.claim_tasks(due(), now(), &claim("here", now() + hours(1))).await.expect("claims").len(), 1);
        assert!(there.wake("name", now()).await.expect("wakes"));
    }
    // Nor does a plan of the same name, made by one who had not heard.
    plan(&*here, named(now() + hours(9))).await;
    assert_eq!(keys(&*there, now()).await, ["a"]);
    let other = Task { name: Some("another".into()), ..task("lane", "a", now() + hours(9)) };
    plan(&*here, other).await;
    assert_eq!(keys(&*there, now()).await, [""; 0], "it is another affair");
}

/// Lanes take turns, and a lane that is left out hides no other.
pub async fn many_tasks_of_one_lane_hide_no_other<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    for number in 0..40 {
        plan(&*store, task("busy", &format!("b{number:02}"), now() + hours(number))).await;
    }
    for (lane, key, due) in [("a lane", "x", 41), ("c lane", "y", 42), ("c lane", "z", 43), ("d lane", "later", 99)] {
        plan(&*store, task(lane, key, now() + hours(due))).await;
    }
    let due = async |room| {
        let due = store.due_tasks(now() + hours(50), room).await.expect("reads");
        due.into_iter().map(|due| due.key).collect::<Vec<_>>()
    };
    assert_eq!(due(Room { per_lane: 2, total: 9, ..ALL }).await, ["b00", "x", "y", "b01", "z"]);
    assert_eq!(due(Room { per_lane: 2, total: 2, ..ALL }).await, ["b00", "x"]);
    assert_eq!(due(Room { per_lane: 9, except: &["busy"], ..ALL }).await, ["x", "y", "z"]);
    assert!(due(Room { kinds: &[Kind::Settle, Kind::Tell], ..ALL }).await.is_empty());
    let tallies = store.tallies().await.expect("reads");
    assert_eq!(tallies.iter().map(|tally| (tally.kind, tally.waiting)).collect::<Vec<_>>(), [(Kind::Abandon, 44)]);
    assert_eq!(tallies[0].due, Some(now()));
}

/// A task is seized before it is due, by one at a time, and not again until it has rested.
pub async fn a_task_is_seized_once_in_a_while<T: StoreUnderTest>(subject: &T) {
    let (here, there) = (subject.open().await, subject.open().await);
    plan(&*here, task("lane", "a", now() + hours(9))).await;
    let seize = async |store: &T::Store, (rested, tries), claimant| {
        let (claim, rested) = (claim(claimant, now() + hours(1)), Rested { since: now() - rested, tries });
        store.seize(Kind::Abandon, "a", rested, now(), &claim).await.expect("seizes").is_some()
    };
    assert!(seize(&here, (hours(0), 0), "here").await);
    assert!(!seize(&there, (hours(0), 9), "there").await, "it is claimed");
    let again = Recorded::Again { at: now() + hours(9), problem: None };
    assert!(here.record_task(Kind::Abandon, "a", "here", again).await.expect("records"));
    assert!(!seize(&there, (hours(1), 1), "there").await, "it has not rested");
    let again = Recorded::Again { at: now() + hours(9), problem: None };
    assert!(seize(&there, (hours(1), 2), "there").await, "it was carried out once");
    assert!(there.record_task(Kind::Abandon, "a", "there", again).await.expect("records"));
    assert!(!seize(&there, (hours(1), 2), "there").await, "it was carried out twice");
    assert!(seize(&there, (hours(0), 0), "there").await);
    assert_eq!(keys(&*here, now() + hours(1)).await, ["a"], "whoever dies with it leaves it due");
    let rested = Rested { since: now(), tries: 9 };
    let none = here.seize(Kind::Settle, "a", rested, now(), &claim("here", now())).await.expect("looks");
    assert_eq!(none, None, "there is no such task");
}

/// A task that was given up is not due until it is retried or woken, and operators see it first.
pub async fn what_was_given_up_can_be_retried<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    plan(&*store, task("lane", "fine", now())).await;
    plan(&*store, Task { name: Some("name".into()), ..task("lane", "lost", now() + hours(1)) }).await;
    let give_up = async || {
        let due = store.due_tasks(now() + hours(1), ALL).await.expect("reads");
        let lost = due.into_iter().filter(|due| due.key == "lost").collect();
        let claim = claim("me", now() + hours(2));
        assert_eq!(store.claim_tasks(lost, now() + hours(1), &claim).await.expect("claims").len(), 1);
        let given_up = Recorded::GivenUp { problem: "three days\0".into() };
        assert!(store.record_task(Kind::Abandon, "lost", "me", given_up).await.expect("records"));
    };
    give_up().await;
    assert_eq!(keys(&*store, now() + hours(99)).await, ["fine"]);
    let entry = store.tasks(9).await.expect("reads").remove(0);
    assert_eq!((&*entry.key, entry.given_up, entry.problem.as_deref()), ("lost", true, Some("three days\0")));
    assert_eq!(store.tallies().await.expect("reads")[0].given_up, 1);
    assert!(store.retry(Kind::Abandon, "lost", now()).await.expect("retries"));
    assert!(!store.retry(Kind::Abandon, "unknown", now()).await.expect("looks"));
    give_up().await;
    assert!(store.wake("name", now()).await.expect("wakes"));
    let due: BTreeSet<_> = keys(&*store, now() + hours(1)).await.into_iter().collect();
    assert_eq!(due, ["fine", "lost"].map(str::to_owned).into());
}

/// A process that waits is notified of every task that it wakes or plans by itself; those that a commit plans for later are
/// found when they are due.
pub async fn who_waits_is_woken_by_what_is_planned_here<T: StoreUnderTest>(subject: &T) {
    let store = subject.open().await;
    let change = Change {
        checkout: at(Checkout { state: paying("chk_1", now()), ..checkout(BOB, "chk_1", None) }, 0),
        ..Change::default()
    };
    assert_eq!(store.commits(change).await, Committed::Done);
    plan(&*store, task("lane", "a", now())).await;
    within("a task that is planned by itself", PATIENCE, store.planned()).await;
    assert!(store.wake("attempt at chk_1", now()).await.expect("wakes"));
    within("a wake", PATIENCE, store.planned()).await;
}
