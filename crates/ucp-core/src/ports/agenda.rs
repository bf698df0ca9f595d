//! Port of the agenda: the tasks that outlive a call.
//!
//! A task says that something has to be done at a time: [`Kind`] lists what. It is planned by the commit of the change that
//! it follows from ([`Change`](super::ledger::Change)), so that neither exists without the other, and names the
//! document or the cart that it is about; there is one task of a kind about each. What has to be done is read from the
//! document when the task is carried out: a task that is carried out too often, or whose document has moved on, does no
//! harm.
//!
//! Any number of processes may share an agenda. Whoever carries a task out claims it first, for a time that is extended as
//! long as the work goes on; the claims of a process that died expire on their own. Whoever learns that something has
//! happened [wakes](Agenda::wake) the task, whoever holds it: it is then carried out once more.

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::error::PortError;

named! {
    /// Kind of a task.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Kind {
        /// The end of a checkout's payment is asked for. The key is the checkout's identifier, the body its owner.
        Settle = "settle",
        /// Money of an order is captured, released or given back. The key is the order's identifier, the body its owner.
        MoveMoney = "move_money",
        /// A cart at a shop behind another API that no document names is abandoned. The body is the JSON of its
        /// [reference](crate::purchase::remote_cart_ref::RemoteCartRef).
        Abandon = "abandon",
        /// A platform is told what has happened to an order. The key is the order's identifier.
        Tell = "tell",
        /// The shop behind another API is asked for the order of a checkout whose buyer pays on its page. The key is the
        /// checkout's identifier, the body the JSON of a [`Search`](super::Search).
        FindOrder = "find_order",
        /// The shop elsewhere is asked what has become of an order. The key is the order's identifier; the body its owner, or
        /// what a bridge to a UCP shop knows of the order.
        FollowOrder = "follow_order",
    }
}

impl Kind {
    /// Returns the kind of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// First pause between two times that a task is carried out, before jitter.
const FIRST_PAUSE: SignedDuration = SignedDuration::from_secs(1);

/// Maximum pause.
const LONGEST_PAUSE: SignedDuration = SignedDuration::from_secs(60);

/// Time after which a task is given up.
const TRIED_FOR: SignedDuration = SignedDuration::from_hours(72);

/// A task to be carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Task {
    /// Kind.
    pub kind: Kind,
    /// Identifier, unique among the tasks of its kind.
    pub key: String,
    /// Party that is asked, with the kind. Each lane has places of its own, so that one party that does not answer delays no
    /// other.
    pub lane: String,
    /// Name under which events wake the task: the identifier of a payment attempt.
    pub name: Option<String>,
    /// Time at which it is carried out, UTC.
    pub due: Timestamp,
    /// Data that carrying it out needs.
    pub body: String,
}

/// A change of the agenda, committed with the change of documents that it follows from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Plan {
    /// There is something to do. A task of the same kind and key is replaced; one that was woken stays due.
    Due(Task),
    /// There is more to do. A task of the same kind and key stays as it is, also in the hands of whoever has claimed it, and
    /// is carried out once more.
    Also(Task),
    /// There is nothing to do any more.
    Done(Kind, String),
}

/// A task that can be carried out now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    /// Kind.
    pub kind: Kind,
    /// Identifier.
    pub key: String,
    /// Lane.
    pub lane: String,
}

/// A claimed task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    /// Kind.
    pub kind: Kind,
    /// Identifier.
    pub key: String,
    /// Lane.
    pub lane: String,
    /// Data that carrying it out needs.
    pub body: String,
    /// Number of times that it was carried out without an end.
    pub tries: u32,
    /// Time at which it was due first, UTC.
    pub since: Timestamp,
}

/// A claim on tasks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Identifier of the process, unique across all.
    pub claimant: String,
    /// Time at which the claim expires unless it is extended, UTC.
    pub until: Timestamp,
}

/// State of a task after it was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// There is nothing to do any more.
    Done,
    /// It is to be carried out again at a time.
    At {
        /// Time, UTC.
        at: Timestamp,
        /// Reason, for operators.
        problem: Option<String>,
    },
    /// It is to be carried out again after a pause, and by a time if there is one.
    Later {
        /// Time, UTC.
        by: Option<Timestamp>,
        /// Reason, for operators.
        problem: Option<String>,
    },
}

impl Next {
    /// Returns the result to record. The pause doubles with each time that had no end, half of it jitter: `random` is a
    /// uniformly distributed number.
    pub fn recorded(self, task: &Claimed, now: Timestamp, random: u32) -> Recorded {
        match self {
            Self::Done => Recorded::Done,
            Self::At { at, problem } => Recorded::Again { at, problem },
            Self::Later { problem, .. } if now.duration_since(task.since) >= TRIED_FOR => {
                let problem = problem.unwrap_or_else(|| "nobody said what came of it".to_owned());
                Recorded::GivenUp { problem }
            }
            Self::Later { by, problem } => {
                let full = FIRST_PAUSE.saturating_mul(1 << task.tries.min(6)).min(LONGEST_PAUSE);
                let half = full / 2;
                let jitter = half.mul_f64(f64::from(random) / f64::from(u32::MAX));
                let at = now.saturating_add(half + jitter).unwrap_or(Timestamp::MAX);
                Recorded::Again { at: by.map_or(at, |by| at.min(by)), problem }
            }
        }
    }
}

/// Rest of a task: nobody has claimed it since a time, or it was carried out fewer times than that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rested {
    /// Time, UTC.
    pub since: Timestamp,
    /// Number of times.
    pub tries: u32,
}

/// Result of carrying a task out, as it is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// There is nothing to do any more.
    Done,
    /// The task is to be carried out again: at a time, or at once if it was woken meanwhile.
    Again {
        /// Time, UTC.
        at: Timestamp,
        /// Reason, for operators.
        problem: Option<String>,
    },
    /// The task is not carried out again unless somebody [wakes](Agenda::wake) or [retries](Agenda::retry) it.
    GivenUp {
        /// Reason, for operators.
        problem: String,
    },
}

/// Selection of tasks that are due.
#[derive(Clone, Copy, Debug)]
pub struct Room<'a> {
    /// Kinds.
    pub kinds: &'a [Kind],
    /// Maximum number per lane.
    pub per_lane: usize,
    /// Maximum number in total.
    pub total: usize,
    /// Lanes to leave out.
    pub except: &'a [&'a str],
}

/// A task as operators see it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Kind.
    pub kind: Kind,
    /// Identifier.
    pub key: String,
    /// Lane.
    pub lane: String,
    /// Time at which it is carried out, UTC.
    pub due: Timestamp,
    /// Time at which it was due first, UTC.
    pub since: Timestamp,
    /// Number of times that it was carried out without an end.
    pub tries: u32,
    /// `true` if it is not carried out again by itself.
    pub given_up: bool,
    /// Reason why the last time had no end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// Number of tasks of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Kind.
    pub kind: Kind,
    /// Number of those that are carried out when they are due.
    pub waiting: u64,
    /// Number of those that were given up.
    pub given_up: u64,
    /// Earliest time at which one of those that wait is due, UTC.
    pub due: Option<Timestamp>,
}

/// Tasks of a shop. All methods fail with [`Unavailable`](crate::Code::Unavailable).
#[async_trait]
pub trait Agenda: Send + Sync {
    /// Plans a task that follows from no change of a document. Returns once it is on disk.
    async fn plan(&self, plan: Plan) -> Result<(), PortError>;

    /// Returns the tasks that are due at a time and that nobody has claimed. The longest overdue task of each lane comes
    /// first, then the second of each, and so on.
    async fn due_tasks(&self, now: Timestamp, room: Room<'_>) -> Result<Vec<Due>, PortError>;

    /// Claims tasks, and returns those that were claimed; the others are not due any more, or another process has claimed
    /// them. Returns once the claims are on disk.
    async fn claim_tasks(&self, tasks: Vec<Due>, now: Timestamp, claim: &Claim) -> Result<Vec<Claimed>, PortError>;

    /// Claims a task, due or not, that has rested, and makes it due. Returns `None` for any other.
    async fn seize(
        &self,
        kind: Kind,
        key: &str,
        rested: Rested,
        now: Timestamp,
        claim: &Claim,
    ) -> Result<Option<Claimed>, PortError>;

    /// Extends claims of a claimant, as far as they still belong to it.
    async fn extend_tasks(&self, tasks: Vec<Due>, claim: &Claim) -> Result<(), PortError>;

    /// Records the result of carrying a task out, which ends the claim. Returns `false` if the claim was lost, or the task
    /// was planned anew: then nothing was recorded.
    async fn record_task(&self, kind: Kind, key: &str, claimant: &str, recorded: Recorded) -> Result<bool, PortError>;

    /// Makes the tasks of a name due now, whoever has claimed them. Returns `false` if there is none.
    async fn wake(&self, name: &str, now: Timestamp) -> Result<bool, PortError>;

    /// Makes a task due now, also one that was given up. Returns `false` if there is none.
    async fn retry(&self, kind: Kind, key: &str, now: Timestamp) -> Result<bool, PortError>;

    /// Waits until this process has planned a task by itself, woken or retried one, or committed that there is
    /// [more to do](Plan::Also), since the last call. Only one task may wait.
    async fn planned(&self);

    /// Returns the tasks: those that were given up, and then the longest overdue.
    async fn tasks(&self, limit: usize) -> Result<Vec<Entry>, PortError>;

    /// Returns the numbers of tasks by kind, of kinds that there are tasks of.
    async fn tallies(&self) -> Result<Vec<Tally>, PortError>;
}
