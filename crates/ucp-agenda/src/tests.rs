use std::sync::{Mutex, MutexGuard, PoisonError};

use ucp_core::ports::agenda::{Plan, Task};
use ucp_testkit::{Clock, MemoryLedger, PATIENCE, until};

use super::*;

fn locked<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A worker who says what is carried out, and never ends tasks whose key begins with `hang`.
#[derive(Default)]
struct Slow {
    begun: Mutex<Vec<String>>,
}

#[async_trait]
impl Worker for Slow {
    async fn carry_out(&self, task: &Claimed) -> Result<Next, Refusal> {
        locked(&self.begun).push(task.key.clone());
        if task.key.starts_with("hang") {
            std::future::pending::<()>().await;
        }
        if task.key.starts_with("refuse") {
            return Err(Refusal::internal());
        }
        Ok(Next::Done)
    }
}

struct RunnerSetup {
    agenda: Arc<MemoryLedger>,
    worker: Arc<Slow>,
    clock: Clock,
    counts: Arc<Counts>,
    running: tokio::task::JoinHandle<()>,
}

impl Drop for RunnerSetup {
    fn drop(&mut self) {
        self.running.abort();
    }
}

impl RunnerSetup {
    fn open() -> Self {
        let (agenda, worker) = (Arc::new(MemoryLedger::default()), Arc::new(Slow::default()));
        let (clock, counts) = (Clock::default(), Arc::new(Counts::default()));
        let runner = Runner {
            agenda: Arc::clone(&agenda) as _,
            worker: Arc::clone(&worker) as _,
            clock: clock.port(),
            random: Arc::new(|| 0),
            claimant: "here".into(),
            counts: Arc::clone(&counts),
        };
        Self { agenda, worker, clock, counts, running: tokio::spawn(runner.run()) }
    }

    async fn plan(&self, lane: &str, key: &str) {
        let (lane, key, body) = (lane.into(), key.into(), String::new());
        let task = Task { kind: Kind::Abandon, key, lane, name: None, due: self.clock.now(), body };
        self.agenda.plan(Plan::Due(task)).await.expect("plans");
    }

    /// Waits until so many tasks are left.
    async fn left(&self, number: usize) {
        until("tasks to be carried out", PATIENCE, async || {
            (self.agenda.tasks(1_000).await.expect("reads").len() == number).then_some(())
        })
        .await;
    }
}

#[tokio::test]
async fn a_party_that_does_not_answer_delays_no_other() {
    let place = RunnerSetup::open();
    for number in 0..50 {
        place.plan("slow", &format!("hang {number}")).await;
    }
    for number in 0..20 {
        place.plan("fast", &format!("{number}")).await;
    }
    place.left(50).await;
    let begun = locked(&place.worker.begun).clone();
    assert_eq!(begun.iter().filter(|key| key.starts_with("hang")).count(), 1, "it has not answered yet");
    assert_eq!(place.counts.all().map(|(.., count)| count).sum::<u64>(), 20);
}

#[tokio::test]
async fn what_the_store_refused_is_carried_out_again_after_a_pause() {
    let place = RunnerSetup::open();
    place.plan("lane", "refuse").await;
    let entry = until("a task to be tried", PATIENCE, async || {
        let entry = place.agenda.tasks(9).await.expect("reads").remove(0);
        (entry.tries > 0).then_some(entry)
    })
    .await;
    assert!(entry.due > place.clock.now() && entry.problem.is_some() && !entry.given_up, "{entry:?}");
}

#[tokio::test]
async fn a_party_that_fails_has_one_place_again() {
    let place = RunnerSetup::open();
    for number in 0..4 {
        place.plan("lane", &format!("{number}")).await;
    }
    place.left(0).await;
    place.plan("lane", "refuse").await;
    until("a task to be tried", PATIENCE, async || {
        (place.agenda.tasks(9).await.expect("reads").remove(0).tries > 0).then_some(())
    })
    .await;
    // Once it is carried out, the failure before it is known.
    place.plan("other", "first").await;
    place.left(1).await;
    for number in 0..3 {
        place.plan("lane", &format!("hang {number}")).await;
    }
    place.plan("other", "last").await;
    place.left(4).await;
    let begun = locked(&place.worker.begun).clone();
    assert_eq!(begun.iter().filter(|key| key.starts_with("hang")).count(), 1, "{begun:?}");
}
