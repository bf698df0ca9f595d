//! Rules of what happened without a call.

use jiff::Timestamp;
use ucp_core::{
    checkout::{Checkout, State},
    ports::{
        ledger::{Change, Committed},
        store::{Happened, Store},
    },
};

use super::{
    StoreUnderTest,
    fixtures::{ALICE, Commits as _, at, checkout, hours, now, order, paying},
};

/// Returns the events of a store, in words.
async fn told(store: &impl Store, now: Timestamp) -> Vec<String> {
    let happened = store.happened(now).await.expect("reads").into_iter();
    let words = happened.map(|happened| match happened {
        Happened::Order { order_id, owner, version, .. } => format!("{order_id} {version} of {owner}"),
        Happened::Abandoned(checkout) => format!("{} is abandoned", checkout.id),
    });
    words.collect()
}

/// Each version of an order is told to one process, in the order in which they were stored.
pub async fn each_version_of_an_order_is_told_once<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let (one, other) = (subject.open().await, subject.open().await);
    assert!(told(&*one, now()).await.is_empty());
    for (id, version) in [("a", 0), ("b", 0), ("a", 1)] {
        let change = Change { order: at(order(ALICE, id, id), version), ..Change::default() };
        assert_eq!(one.commits(change).await, Committed::Done);
    }
    assert_eq!(told(&*other, now()).await, ["a 1", "b 1", "a 2"].map(|version| format!("{version} of {ALICE}")));
    assert!(told(&*one, now()).await.is_empty(), "the other process has told it");
    assert!(told(&*subject.open().await, now()).await.is_empty());
}

/// A version of an order of which its platform sees nothing is told to nobody, and those after it are.
pub async fn a_quiet_version_of_an_order_is_not_told<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let store = subject.open().await;
    assert!(told(&*store, now()).await.is_empty());
    for (version, quiet) in [(0, false), (1, true), (2, true), (3, false)] {
        let change = Change { order: at(order(ALICE, "a", "a"), version), quiet, ..Change::default() };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    let stored = store.any_order("a").await.expect("reads").expect("the order");
    assert_eq!(stored.version, 4, "it is stored all the same");
    assert_eq!(told(&*store, now()).await, ["a 1", "a 4"].map(|version| format!("{version} of {ALICE}")));
}

/// A checkout that expires unfinished is told once, unless it expired before anybody asked.
pub async fn checkouts_that_expire_unfinished_are_told_once<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let (store, other) = (subject.open().await, subject.open().await);
    let put = async |id: &str, age, state: State| {
        let change = Checkout { expires_at: now() + age, state, ..checkout(ALICE, id, None) };
        assert_eq!(store.commits(Change { checkout: at(change, 0), ..Change::default() }).await, Committed::Done);
    };
    put("before", hours(-1), State::Incomplete).await;
    assert!(told(&*store, now()).await.is_empty(), "what expired before anybody asked is not told");
    put("ready", hours(1), State::ReadyForComplete).await;
    put("with the buyer", hours(2), State::RequiresEscalation).await;
    put("canceled", hours(1), State::Canceled).await;
    put("paying", hours(1), paying("paying", now())).await;
    put("open", hours(3), State::Incomplete).await;
    assert!(told(&*store, now()).await.is_empty());
    assert_eq!(told(&*store, now() + hours(1)).await, ["ready is abandoned"]);
    assert!(told(&*other, now() + hours(1)).await.is_empty(), "the other process has told it");
    assert_eq!(told(&*other, now() + hours(9)).await, ["with the buyer is abandoned", "open is abandoned"]);
    assert!(told(&*store, now() + hours(9)).await.is_empty());
}

/// Of several processes that ask at the same time, each gets something else.
pub async fn of_many_who_ask_what_happened_each_is_told_something_else<T: StoreUnderTest<Store: Store>>(subject: &T) {
    let store = subject.open().await;
    assert!(told(&*store, now()).await.is_empty());
    for number in 0..40 {
        let id = format!("o-{number}");
        let expiring = Checkout { expires_at: now() + hours(1), ..checkout(ALICE, &id, None) };
        let change = Change {
            order: at(order(ALICE, &id, &format!("of {id}")), 0),
            checkout: at(expiring, 0),
            ..Change::default()
        };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    let mut asking = tokio::task::JoinSet::new();
    for _ in 0..4 {
        let store = subject.open().await;
        asking.spawn(async move { told(&*store, now() + hours(2)).await });
    }
    let mut all: Vec<_> = asking.join_all().await.concat();
    // A process that found all of them taken by another one that was not done yet asks again later.
    all.extend(told(&*store, now() + hours(2)).await);
    let number = all.len();
    all.sort();
    all.dedup();
    assert_eq!((number, all.len()), (80, 80));
}
