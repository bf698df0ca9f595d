//! The agenda at work: tasks that outlive a call, carried out when they are due.
//!
//! A runner sleeps until this process plans or wakes a task, one that it carries out ends, or a second has passed, in which
//! another process may have planned one or one may have become due. Looking is one read of what is due. Each lane, that is
//! each kind of task at each party that is asked, has a few places: a party that does not answer fills its own, and delays
//! nobody else.

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::MissedTickBehavior,
};
use ucp_core::{
    Refusal,
    port::{
        PortError,
        agenda::{Agenda, Claim, Claimed, Due, Kind, Next, Recorded, Room},
    },
    purchase::sales_service::SalesService,
};

/// Maximum number of tasks that are carried out at once.
const AT_ONCE: usize = 64;

/// Maximum number of those in one lane.
const PER_LANE: usize = 8;

/// Interval of the search for tasks that became due or that other processes planned.
const INTERVAL: Duration = Duration::from_secs(1);

/// Duration of a claim. The tasks of a process that dies are delayed by this time.
const CLAIMED_FOR: SignedDuration = SignedDuration::from_secs(10);

/// Interval at which the claims of tasks that are being carried out are extended.
const EXTENDED_EVERY: Duration = Duration::from_secs(3);

/// Party that knows how tasks are carried out.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Carries out a task. It may have been carried out before, in part or as a whole.
    ///
    /// # Errors
    /// [`Refusal`] if the store fails: the task is carried out again.
    async fn carry_out(&self, task: &Claimed) -> Result<Next, Refusal>;
}

#[async_trait]
impl Worker for SalesService {
    async fn carry_out(&self, task: &Claimed) -> Result<Next, Refusal> {
        Self::carry_out(self, task).await
    }
}

/// Ways in which carrying a task out ends, as they are counted.
const RESULTS: [&str; 3] = ["done", "again", "given_up"];

/// Numbers of tasks that were carried out since the start.
#[derive(Debug, Default)]
pub struct Counts([[AtomicU64; RESULTS.len()]; Kind::ALL.len()]);

impl Counts {
    fn count(&self, kind: Kind, recorded: &Recorded) {
        let result = match recorded {
            Recorded::Done => 0,
            Recorded::Again { .. } => 1,
            Recorded::GivenUp { .. } => 2,
        };
        self.0[kind as usize][result].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the numbers by kind and result.
    pub fn all(&self) -> impl Iterator<Item = (Kind, &'static str, u64)> {
        Kind::ALL.into_iter().zip(&self.0).flat_map(|(kind, counts)| {
            RESULTS.into_iter().zip(counts).map(move |(result, count)| (kind, result, count.load(Ordering::Relaxed)))
        })
    }
}

/// Carries out the tasks of a shop.
pub struct Runner {
    /// Tasks of the shop.
    pub agenda: Arc<dyn Agenda>,
    /// Party that knows how they are carried out.
    pub worker: Arc<dyn Worker>,
    /// Source of the current time.
    pub clock: Arc<dyn Fn() -> Timestamp + Send + Sync>,
    /// Source of jitter: uniformly distributed numbers.
    pub random: Arc<dyn Fn() -> u32 + Send + Sync>,
    /// Name for claims, unique among the runners of all processes.
    pub claimant: String,
    /// Numbers of tasks that were carried out.
    pub counts: Arc<Counts>,
}

impl fmt::Debug for Runner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runner").field("claimant", &self.claimant).finish_non_exhaustive()
    }
}

impl Runner {
    /// Carries out tasks as they become due, until the future is dropped. Tasks under way at that time are carried out again
    /// by whoever looks next.
    pub async fn run(self) {
        let runner = Arc::new(self);
        let mut running: JoinSet<()> = JoinSet::new();
        let mut tasks: HashMap<Id, Due> = HashMap::new();
        let mut extend = tokio::time::interval(EXTENDED_EVERY);
        extend.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            runner.begin(&mut running, &mut tasks).await;
            let ended = tokio::select! {
                Some(ended) = running.join_next_with_id() => Some(ended),
                () = runner.agenda.planned() => None,
                () = tokio::time::sleep(INTERVAL) => None,
                _ = extend.tick(), if !tasks.is_empty() => {
                    // The store has logged its error already.
                    drop(runner.agenda.extend_tasks(tasks.values().cloned().collect(), &runner.claim()).await);
                    None
                }
            };
            let mut next = ended;
            while let Some(ended) = next {
                let id = ended.map_or_else(|failed: JoinError| failed.id(), |(id, ())| id);
                tasks.remove(&id);
                next = running.try_join_next_with_id();
            }
        }
    }

    /// Returns a claim that begins now.
    fn claim(&self) -> Claim {
        let until = (self.clock)().checked_add(CLAIMED_FOR).unwrap_or(Timestamp::MAX);
        Claim { claimant: self.claimant.clone(), until }
    }

    /// Begins as many tasks as there are places for.
    async fn begin(self: &Arc<Self>, running: &mut JoinSet<()>, tasks: &mut HashMap<Id, Due>) {
        let total = AT_ONCE.saturating_sub(tasks.len());
        if total == 0 {
            return;
        }
        let mut taken: HashMap<String, usize> = HashMap::new();
        for task in tasks.values() {
            *taken.entry(task.lane.clone()).or_default() += 1;
        }
        let full = |(lane, taken): (&String, &usize)| (*taken >= PER_LANE).then(|| lane.clone());
        let full: Vec<_> = taken.iter().filter_map(full).collect();
        let except: Vec<_> = full.iter().map(String::as_str).collect();
        let (now, claim) = ((self.clock)(), self.claim());
        let room = Room { per_lane: PER_LANE, total, except: &except };
        let claimed = async {
            let mut due = self.agenda.due_tasks(now, room).await?;
            due.retain(|due| {
                let taken = taken.entry(due.lane.clone()).or_default();
                *taken += 1;
                *taken <= PER_LANE
            });
            if due.is_empty() { Ok(Vec::new()) } else { self.agenda.claim_tasks(due, now, &claim).await }
        };
        let claimed = claimed.await.unwrap_or_else(|error: PortError| {
            tracing::error!(error = &error as &dyn Error, "tasks that are due cannot be looked for");
            Vec::new()
        });
        for task in claimed {
            let due = Due { kind: task.kind, key: task.key.clone(), lane: task.lane.clone() };
            let runner = Arc::clone(self);
            tasks.insert(running.spawn(async move { runner.carry_out(&task).await }).id(), due);
        }
    }

    /// Carries out a claimed task, and records what came of it.
    async fn carry_out(&self, task: &Claimed) {
        let kind = task.kind.as_str();
        let next = self.worker.carry_out(task).await.unwrap_or_else(|refusal| {
            tracing::error!(
                task = kind,
                key = task.key,
                error = &refusal as &dyn Error,
                "a task cannot be carried out"
            );
            Next::Later { by: None, problem: Some(refusal.content.to_string()) }
        });
        let recorded = next.recorded(task, (self.clock)(), (self.random)());
        self.counts.count(task.kind, &recorded);
        match &recorded {
            Recorded::Done => {}
            Recorded::Again { problem, .. } => {
                tracing::debug!(task = kind, key = task.key, problem, "a task is not over");
            }
            Recorded::GivenUp { problem } => {
                tracing::warn!(task = kind, key = task.key, problem, "a task is given up; an operator can retry it");
            }
        }
        if let Err(error) = self.agenda.record_task(task.kind, &task.key, &self.claimant, recorded).await {
            // The claim expires, and the task is carried out again.
            tracing::error!(
                task = kind,
                key = task.key,
                error = &error as &dyn Error,
                "what came of a task cannot be recorded"
            );
        }
    }
}

#[cfg(test)]
mod tests;
