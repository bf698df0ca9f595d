//! The agenda at work: tasks that outlive a call, carried out when they are due.
//!
//! A runner sleeps until this process plans or wakes a task, one that it carries out ends, or a second has passed, in which
//! another process may have planned one or one may have become due. Looking is one read of what is due. Each kind of task has
//! places of its own, and of these each lane, that is each party that is asked, has a few: a party that does not answer fills
//! its own, and delays nobody else.

mod lanes;

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use tokio::{
    task::{JoinError, JoinSet},
    time::MissedTickBehavior,
};
use ucp_core::{
    Refusal,
    ports::{
        PortError,
        agenda::{Agenda, Claim, Claimed, Due, Kind, Next, Recorded, Room},
    },
};

use self::lanes::{AT_ONCE, Fared, Lanes, PER_LANE};

/// Maximum number of tasks that are read when some can be carried out.
const LOOKED_AT: usize = 2 * AT_ONCE;

/// Interval of the search for tasks that became due or that other processes planned.
const INTERVAL: Duration = Duration::from_secs(1);

/// Duration of a claim. The tasks of a process that dies are delayed by this time.
const CLAIMED_FOR: SignedDuration = SignedDuration::from_secs(10);

/// Interval at which the claims of tasks that are being carried out are extended.
const EXTENDED_EVERY: Duration = Duration::from_secs(3);

/// Party that knows how tasks are carried out.
#[async_trait]
pub trait Worker: Send + Sync {
    /// Carries out a task. It may have been carried out before, in part or as a whole. Fails with [`Refusal`] if the
    /// store fails: the task is carried out again.
    async fn carry_out(&self, task: &Claimed) -> Result<Next, Refusal>;

    /// Returns `true` if tasks of a kind cannot be carried out at the moment: they wait.
    async fn rests(&self, _: Kind) -> bool {
        false
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
ucp_core::opaque!(Runner { claimant });

impl Runner {
    /// Carries out tasks as they become due, until the future is dropped. Tasks under way at that time are carried out again
    /// by whoever looks next.
    pub async fn run(self) {
        let runner = Arc::new(self);
        let mut running: JoinSet<Fared> = JoinSet::new();
        let mut lanes = Lanes::default();
        let mut extend = tokio::time::interval(EXTENDED_EVERY);
        extend.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            runner.begin(&mut running, &mut lanes).await;
            let ended = tokio::select! {
                Some(ended) = running.join_next_with_id() => Some(ended),
                () = runner.agenda.planned() => None,
                () = tokio::time::sleep(INTERVAL) => None,
                _ = extend.tick(), if !running.is_empty() => {
                    // The store has logged its error already.
                    drop(runner.agenda.extend_tasks(lanes.running(), &runner.claim()).await);
                    None
                }
            };
            let mut next = ended;
            while let Some(ended) = next {
                let (id, fared) = ended.unwrap_or_else(|failed: JoinError| (failed.id(), Fared::Failed));
                lanes.end(id, fared);
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
    async fn begin(self: &Arc<Self>, running: &mut JoinSet<Fared>, lanes: &mut Lanes) {
        let mut kinds = Vec::new();
        for kind in Kind::ALL {
            if lanes.room(kind) > 0 && !self.worker.rests(kind).await {
                kinds.push(kind);
            }
        }
        let (now, claim) = ((self.clock)(), self.claim());
        let room = Room { kinds: &kinds, per_lane: PER_LANE, total: LOOKED_AT, except: &lanes.full() };
        let claimed = async {
            let due = lanes.choose(self.agenda.due_tasks(now, room).await?);
            if due.is_empty() { Ok(Vec::new()) } else { self.agenda.claim_tasks(due, now, &claim).await }
        };
        let claimed = claimed.await.unwrap_or_else(|error: PortError| {
            tracing::error!(error = &error as &dyn Error, "reading the due tasks failed");
            Vec::new()
        });
        for task in claimed {
            let due = Due { kind: task.kind, key: task.key.clone(), lane: task.lane.clone() };
            let runner = Arc::clone(self);
            lanes.begin(running.spawn(async move { runner.carry_out(&task).await }).id(), due);
        }
    }

    /// Carries out a claimed task, and records what came of it.
    async fn carry_out(&self, task: &Claimed) -> Fared {
        let kind = task.kind.as_str();
        let next = self.worker.carry_out(task).await.unwrap_or_else(|refusal| {
            tracing::error!(task = kind, key = task.key, error = &refusal as &dyn Error, "task failed");
            Next::Later { by: None, problem: Some(refusal.content.to_string()) }
        });
        let fared = match &next {
            Next::At { problem: Some(_), .. } | Next::Later { problem: Some(_), .. } => Fared::Failed,
            Next::Done | Next::At { .. } | Next::Later { .. } => Fared::Answered,
        };
        let recorded = next.recorded(task, (self.clock)(), (self.random)());
        self.counts.count(task.kind, &recorded);
        match &recorded {
            Recorded::Done => {}
            Recorded::Again { problem, .. } => {
                tracing::debug!(task = kind, key = task.key, problem, "task not finished, trying again later");
            }
            Recorded::GivenUp { problem } => {
                tracing::warn!(
                    task = kind,
                    key = task.key,
                    problem,
                    "task failed permanently; an operator can retry it"
                );
            }
        }
        if let Err(error) = self.agenda.record_task(task.kind, &task.key, &self.claimant, recorded).await {
            // The claim expires, and the task is carried out again.
            tracing::error!(
                task = kind,
                key = task.key,
                error = &error as &dyn Error,
                "recording the result of a task failed"
            );
            return Fared::Unknown;
        }
        fared
    }
}

#[cfg(test)]
mod tests;
