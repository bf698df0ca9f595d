//! One after another at each cart.
//!
//! What is changed in a cart follows from what is in it, so that nobody else may change it in between.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use tokio::{
    sync::{Mutex as Door, OwnedMutexGuard},
    time::timeout,
};
use ucp_core::Refusal;

/// How long somebody stands in line: about as long as a change takes at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// Doors that are no longer used are forgotten whenever there are so many more.
const MANY: usize = 1_024;

/// The lines in front of all carts of a shop.
#[derive(Default)]
pub(crate) struct Turns {
    doors: Mutex<Doors>,
}

#[derive(Default)]
struct Doors {
    of: HashMap<String, Weak<Door<()>>>,
    /// How many there may be before unused ones are forgotten.
    most: usize,
}

/// Somebody's turn at a cart, until it is dropped.
pub(super) struct Turn(#[expect(dead_code, reason = "held for as long as the turn lasts")] OwnedMutexGuard<()>);

impl Turns {
    /// Waits for a turn at a cart.
    ///
    /// # Errors
    /// [`Unavailable`](ucp_core::Code::Unavailable) when others take too long.
    pub(super) async fn take(&self, reference: &str) -> Result<Turn, Refusal> {
        let door = self.door(reference);
        let turn = timeout(PATIENCE, door.lock_owned()).await;
        turn.map(Turn).map_err(|_| {
            Refusal::unavailable("Another call is changing the same cart. Nothing was done; repeat the call.", 1)
        })
    }

    fn door(&self, reference: &str) -> Arc<Door<()>> {
        let mut doors = self.doors.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(door) = doors.of.get(reference).and_then(Weak::upgrade) {
            return door;
        }
        if doors.of.len() >= doors.most {
            doors.of.retain(|_, door| door.strong_count() > 0);
            doors.most = doors.of.len() + MANY;
        }
        let door = Arc::new(Door::default());
        doors.of.insert(reference.to_owned(), Arc::downgrade(&door));
        door
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_after_another_at_each_cart_and_side_by_side_at_different_ones() {
        let turns = Arc::new(Turns::default());
        let (inside, most) = (Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]), Arc::new(AtomicUsize::new(0)));
        let calls = (0..20).map(|number| {
            let (turns, inside, most) = (Arc::clone(&turns), Arc::clone(&inside), Arc::clone(&most));
            tokio::spawn(async move {
                let _turn = turns.take(&format!("cart {}", number % 2)).await.expect("a turn");
                assert_eq!(inside[number % 2].fetch_add(1, Ordering::SeqCst), 0);
                let both = inside.iter().map(|count| count.load(Ordering::SeqCst)).sum();
                most.fetch_max(both, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(100)).await;
                inside[number % 2].fetch_sub(1, Ordering::SeqCst);
            })
        });
        for call in calls.collect::<Vec<_>>() {
            ucp_testkit::within("a turn", ucp_testkit::PATIENCE, call).await.expect("no panic");
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn nobody_stands_in_line_for_ever() {
        let turns = Turns::default();
        let held = turns.take("cart").await.expect("a turn");
        let refusal = turns.take("cart").await.err().expect("no turn");
        assert_eq!((refusal.code, refusal.retry_after), (ucp_core::Code::Unavailable, Some(1)));
        drop(held);
        assert!(turns.take("cart").await.is_ok());
    }

    #[tokio::test]
    async fn carts_that_nobody_is_at_are_forgotten() {
        let turns = Turns::default();
        let kept = turns.take("kept").await.expect("a turn");
        for number in 0..10 * MANY {
            drop(turns.take(&number.to_string()).await.expect("a turn"));
        }
        let doors = turns.doors.lock().expect("not poisoned").of.len();
        assert!(doors <= MANY + 1, "{doors}");
        assert!(turns.doors.lock().expect("not poisoned").of.contains_key("kept"));
        drop(kept);
    }
}
