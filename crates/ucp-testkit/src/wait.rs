//! Waits that end, and say what they waited for.
//!
//! A test that waits for what a defect keeps from happening should fail and name it, not hang. [`within`] bounds a
//! future, [`until`] polls from a task, [`eventually`] polls from a thread. None of them judges speed: [`PATIENCE`] is
//! far more than anything takes on a machine that is busy with other things.

use std::{
    future::Future,
    panic::Location,
    thread::JoinHandle,
    time::{Duration, Instant},
};

use futures_util::future::{join, join_all};

/// Upper bound for whatever is expected to happen without delay.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// Returns the output of a future, which has to complete in time. With a paused clock the time is virtual. Panics if it
/// does not; the message has the location of the call and `what`.
#[track_caller]
pub fn within<F: Future>(what: &str, most: Duration, future: F) -> impl Future<Output = F::Output> {
    let caller = Location::caller();
    async move {
        match tokio::time::timeout(most, future).await {
            Ok(output) => output,
            Err(_) => panic!("{caller}: waited {most:?} for {what}"),
        }
    }
}

/// Returns the outputs of several futures that run beside each other, in their order. Panics if one of them takes
/// longer than [`PATIENCE`]; the message has the location of the call.
#[track_caller]
pub fn all<F: Future>(futures: impl IntoIterator<Item = F>) -> impl Future<Output = Vec<F::Output>> {
    within("every one of several calls", PATIENCE, join_all(futures))
}

/// Returns the outputs of two futures that run beside each other. Panics if one of them takes longer than [`PATIENCE`];
/// the message has the location of the call.
#[track_caller]
pub fn both<A: Future, B: Future>(one: A, other: B) -> impl Future<Output = (A::Output, B::Output)> {
    within("both of two calls", PATIENCE, join(one, other))
}

/// Asks again and again from a task, until there is an answer. Panics if there is none in time; the message has the
/// location of the call and `what`.
#[track_caller]
pub fn until<T>(what: &str, most: Duration, mut look: impl AsyncFnMut() -> Option<T>) -> impl Future<Output = T> {
    within(what, most, async move {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// Asks again and again from a thread, until there is an answer. Panics if there is none in time; the message has
/// `what`.
#[track_caller]
pub fn eventually<T>(what: &str, most: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(began.elapsed() < most, "waited {most:?} for {what}");
        std::thread::sleep(PAUSE);
    }
}

/// Returns what a thread returned. Panics if the thread panicked, or does not end in time.
#[track_caller]
pub fn joined<T>(what: &str, most: Duration, thread: JoinHandle<T>) -> T {
    eventually(what, most, || thread.is_finished().then_some(()));
    thread.join().unwrap_or_else(|_| panic!("{what}: the thread panicked"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHORT: Duration = Duration::from_millis(10);

    #[tokio::test]
    async fn a_future_that_does_not_complete_fails_with_its_name_and_place() {
        let failure = tokio::spawn(within("what never comes", SHORT, std::future::pending::<()>())).await;
        let failure = failure.expect_err("a panic").into_panic();
        let text = failure.downcast_ref::<String>().expect("a text");
        assert!(text.starts_with(file!()) && text.ends_with("waited 10ms for what never comes"), "{text}");
    }

    #[tokio::test]
    async fn until_waits_for_a_later_result() {
        let mut looks = 0;
        let found = until("the third look", PATIENCE, async || {
            looks += 1;
            (looks == 3).then_some(looks)
        });
        assert_eq!(found.await, 3);
        let thread = std::thread::spawn(|| std::thread::sleep(SHORT));
        joined("a thread", PATIENCE, thread);
    }

    #[test]
    #[should_panic(expected = "waited 10ms for what never comes")]
    fn looking_in_vain_fails_by_name() {
        eventually("what never comes", SHORT, || None::<()>);
    }
}
