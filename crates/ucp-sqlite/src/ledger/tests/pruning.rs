//! Age: what is removed, and what stays.

use ucp_core::{
    checkout::State,
    order::{Confirmation, Expectation, Order},
    ports::{buyers::Retention, ledger::Full, store::Store as _},
    purchase::buyer::PostalAddress,
};
use ucp_testkit::{PATIENCE, store::fixtures::holder, until};

use super::*;

#[tokio::test]
async fn what_is_old_goes_and_what_may_matter_stays() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let month = hours(30 * 24);
    let moment = SignedDuration::from_nanos(1);
    for (id, expires_at) in
        [("old", now() - month - moment), ("due", now() - month), ("expired", now() - hours(1)), ("open", now())]
    {
        let change = Change {
            cart: at(Cart { expires_at, ..cart(ALICE, id) }, 0),
            checkout: at(Checkout { expires_at, ..checkout(ALICE, id, None) }, 0),
            order: at(order(ALICE, id, id), 0),
            ..Change::default()
        };
        assert_eq!(store.commits(change).await, Committed::Done);
        let mut unsettled = checkout(ALICE, &format!("unsettled {id}"), None);
        (unsettled.expires_at, unsettled.state) = (expires_at, paying(id, expires_at));
        assert_eq!(store.commits(Change { checkout: at(unsettled, 0), ..Change::default() }).await, Committed::Done);
    }
    for (name, age) in [("old", hours(48) + moment), ("due", hours(48)), ("new", hours(0))] {
        let answer = Kept { at: now() - age, ..kept(name) };
        assert_eq!(store.keeps(Change::default(), key(ALICE, "", name), answer).await, Committed::Done);
    }
    assert_eq!(store.prune(now()).await.expect("prunes"), 3);
    assert_eq!(store.prune(now()).await.expect("prunes"), 0);
    assert_eq!(
        (store.rows("carts"), store.rows("checkouts"), store.rows("orders"), store.rows("kept")),
        (3, 3 + 4, 4, 2)
    );
    assert_eq!(store.cart(ALICE, "old").await.expect("reads"), None);
    assert!(store.cart(ALICE, "due").await.expect("reads").is_some());
    assert!(store.checkout(ALICE, "unsettled old").await.expect("reads").is_some());
    assert_eq!(store.kept(&key(ALICE, "", "old")).await.expect("reads"), None);
    // At the ends of time.
    assert_eq!(store.prune(Timestamp::MIN).await.expect("prunes"), 0);
    // With what was to be told of the four orders.
    assert_eq!(store.prune(Timestamp::MAX).await.expect("prunes"), 3 + 3 + 2 + 4);
    assert_eq!((store.rows("checkouts"), store.rows("orders")), (4, 4));
}

#[tokio::test]
async fn much_that_is_old_goes_in_several_steps() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let many = 2 * crate::store::BATCH + 1;
    for number in 0..many {
        let keep = (key(ALICE, "", &number.to_string()), kept("old"));
        // Queued without waiting, so that they share commits.
        tokio::spawn({
            let store = store.clone();
            async move { store.commit(Change::default(), Some(keep)).await }
        });
    }
    until("all answers to be kept", PATIENCE, async || (store.rows("kept") >= many).then_some(())).await;
    assert_eq!(store.prune(now() + hours(49)).await.expect("prunes"), many.unsigned_abs());
    assert_eq!(store.rows("kept"), 0);
}

#[tokio::test]
async fn what_strangers_left_goes_soon_and_its_room_is_given_back() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let holder = holder("192.0.2.1", 200, u64::MAX);
    let hour = hours(1) + SignedDuration::from_nanos(1);
    for number in 0..200 {
        let expires_at = if number < 150 { now() - hour } else { now() - hours(1) };
        let cart =
            Cart { expires_at, token: format!("{number}{}", "x".repeat(8_000)), ..cart(ALICE, &number.to_string()) };
        let change = Change { cart: at(cart, 0), holder: holder.clone(), ..Change::default() };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    let more = Change { cart: at(cart(ALICE, "more"), 0), holder, ..Change::default() };
    assert_eq!(store.commits(more.clone()).await, Committed::Full(Full::Open));
    let pages = |store: &SqliteStore| {
        let pages = |db: ShopConnection<'_>| db.query_row("PRAGMA page_count", (), |row| row.get::<_, i64>(0));
        store.snapshot(pages).expect("reads")
    };
    let before = pages(&store);
    assert_eq!(store.prune(now()).await.expect("prunes"), 150);
    assert_eq!(store.rows("carts"), 50);
    assert!(pages(&store) * 2 < before, "{before} pages before, {} now", pages(&store));
    assert_eq!(store.commits(more).await, Committed::Done);
}

#[tokio::test]
async fn personal_data_go_after_times_of_their_own() {
    let directory = tempfile::tempdir().expect("directory");
    let store = open(directory.path(), &[]);
    let (hour, day) = (hours(1), hours(24));
    store.retain(Retention { unfinished: hour, completed: day, addresses: Some(day) });
    for (id, expired) in [("new", hours(0)), ("old", hour * 2), ("older", day * 2)] {
        let expires_at = now() - expired;
        let confirmation =
            Confirmation { id: id.to_owned(), label: "1".to_owned(), token: id.to_owned(), permalink_url: None };
        let completed = State::Completed { order: confirmation };
        let destination =
            PostalAddress { street_address: Some("77 Quince Lane".to_owned()), ..PostalAddress::default() };
        let expectation = Expectation {
            id: "e".to_owned(),
            line_items: Vec::new(),
            method: None,
            destination,
            description: None,
            fulfillable_on: None,
        };
        let order = Order { placed_at: expires_at, expectations: vec![expectation], ..order(ALICE, id, id) };
        let change = Change {
            cart: at(Cart { expires_at, ..cart(ALICE, id) }, 0),
            checkout: at(Checkout { expires_at, state: completed, ..checkout(ALICE, id, None) }, 0),
            order: at(order, 0),
            ..Change::default()
        };
        assert_eq!(store.commits(change).await, Committed::Done);
    }
    let addresses = async |store: &SqliteStore| {
        let mut found = Vec::new();
        for id in ["new", "old", "older"] {
            let order = store.order(ALICE, id).await.expect("reads").expect("an order").document;
            found
                .push(order.expectations.iter().any(|expectation| expectation.destination != PostalAddress::default()));
        }
        found
    };
    assert_eq!(addresses(&store).await, [true; 3]);
    // Two carts; the events of the orders wait, for which their checkouts stay.
    assert_eq!(store.prune(now()).await.expect("prunes"), 2);
    assert_eq!((store.rows("carts"), store.rows("checkouts")), (1, 3));
    assert_eq!(addresses(&store).await, [true; 3], "a webhook event waits");
    let settle = |db: ShopConnection<'_>| Ok(db.execute("UPDATE outbox SET state = 'delivered'", ())?);
    store.execute(settle).await.expect("settles");
    assert_eq!(store.prune(now()).await.expect("prunes"), 2);
    assert_eq!((addresses(&store).await, store.rows("checkouts")), (vec![true, true, false], 2));
    assert_eq!(store.prune(now()).await.expect("prunes"), 0);
}
