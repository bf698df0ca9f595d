use std::{cell::Cell, future::poll_fn, task::Poll};

use super::*;

thread_local! {
    static NOW: Cell<(Option<Instant>, u64)> = const { Cell::new((None, 0)) };
}

fn now() -> Instant {
    let (start, seconds) = NOW.get();
    let start = start.unwrap_or_else(Instant::now);
    NOW.set((Some(start), seconds));
    start + Duration::from_secs(seconds)
}

fn pass(seconds: u64) {
    let (start, before) = NOW.get();
    NOW.set((start, before + seconds));
}

/// Lets a future wait once, while time passes.
async fn waiting(seconds: u64) {
    let mut waited = false;
    poll_fn(|context| {
        if mem::replace(&mut waited, true) {
            return Poll::Ready(());
        }
        pass(seconds);
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[tokio::test]
async fn time_is_counted_for_one_stage_at_a_time() {
    let record = CallRecord::begin(now, false, None);
    scope(Arc::clone(&record), async {
        pass(1);
        enter(Stage::Read);
        pass(2);
        enter(Stage::Domain);
        pass(3);
        // Two waits at the same time; the first one ends later than the second.
        let store = during(Stage::Store, async {
            waiting(10).await;
            waiting(20).await;
        });
        let upstream = during(Stage::Upstream, waiting(100));
        tokio::join!(store, upstream);
        pass(4);
        // A wait that is given up.
        let given_up = during(Stage::Store, waiting(1_000));
        tokio::select! { biased; () = given_up => {}, () = std::future::ready(()) => {} }
        pass(5);
        enter(Stage::Encode);
        pass(6);
    })
    .await;
    let spent = record.end().1.map(|time| time.as_secs());
    assert_eq!(spent.iter().sum::<u64>(), 1 + 2 + 3 + 130 + 4 + 1_000 + 5 + 6);
    assert_eq!((spent[0], spent[1], spent[2], spent[5]), (1, 2, 3 + 4 + 5, 6));
    assert_eq!((spent[3], spent[4]), (100, 1_030));
}

#[tokio::test]
async fn notes_are_recorded_at_the_call_of_their_task() {
    note(|_| panic!("there is no call"));
    let [one, two] = [(); 2].map(|()| CallRecord::begin(now, false, None));
    let call = |record: &Arc<CallRecord>, bytes| {
        scope(Arc::clone(record), async move {
            waiting(0).await;
            let inherited = inherit(async { note(|facts| facts.looked_up(Cached::Stale)) });
            tokio::spawn(inherited).await.expect("no panic");
            note(|facts| facts.bytes_in = bytes);
            note(|facts| facts.looked_up(Cached::Hit));
        })
    };
    tokio::join!(call(&one, 1), call(&two, 2));
    for (record, bytes) in [(one, 1), (two, 2)] {
        let facts = record.end().0;
        assert_eq!((facts.bytes_in, facts.cached), (bytes, Some(Cached::Stale)));
    }
    assert!(current().is_none());
}
