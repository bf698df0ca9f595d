//! The port behind which platforms are told about their orders (rules WHK-01 to WHK-04).
//!
//! Whatever stores an order queues a notice in the same commit, so that none is lost and none is about something that
//! never happened. A notice carries the order as it was then, or what a shop elsewhere has
//! written about it. Those of one order go out one after the other: a later one
//! waits until the earlier one is settled. What was sent the first time is kept and sent again, byte by byte, under the
//! same identifier.
//!
//! Any number of couriers, in any number of processes, may share an outbox. Who wants to send a notice claims it before, for
//! a short time that is extended for as long as the work goes on. While the claim holds, nobody else gets the notice or
//! another one of its order; where a courier has died, its claims end by themselves.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use super::Order;
use crate::{Release, port::PortError};

/// What is known about a notice, beside the order itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Notice {
    /// The identifier: a random UUID, sent as `Webhook-Id`.
    pub id: String,
    /// The order it is about.
    pub order_id: String,
    /// The platform that is told.
    pub owner: String,
    /// Which version of the order it carries; the first is 1.
    pub order_version: u64,
    /// When that happened which it tells of.
    pub occurred_at: Timestamp,
    /// What became of it.
    pub state: State,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried next; `None` when it is settled, or waits for an earlier one of its order.
    pub next_at: Option<Timestamp>,
    /// What was wrong with the last try.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

/// What became of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It has to be sent, for the first time or again.
    Waiting,
    /// The platform has taken it.
    Delivered,
    /// The platform answered that it wants no more of these (410).
    Gone,
    /// The platform has not taken it for as long as it is tried.
    Expired,
    /// The platform names no address to send it to.
    Unwanted,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Waiting, Self::Delivered, Self::Gone, Self::Expired, Self::Unwanted];

    /// Its name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Delivered => "delivered",
            Self::Gone => "gone",
            Self::Expired => "expired",
            Self::Unwanted => "unwanted",
        }
    }
}

/// A notice that can be sent now.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Due {
    /// Its identifier.
    pub id: String,
    /// The platform that is told.
    pub owner: String,
}

/// What is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Letter {
    /// The release that it is written in.
    pub release: Release,
    /// The body, as it goes out.
    pub body: Vec<u8>,
}

/// A notice with all that it takes to send it.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// The notice.
    pub notice: Notice,
    /// Since when it is tried: the time until it expires is counted from here.
    pub since: Timestamp,
    /// What it says.
    pub payload: Payload,
}

/// Contents of a notice.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// The order as it was then. Before the first try.
    Order(Box<Order>),
    /// What was sent before, or what a shop elsewhere has written.
    Letter(Letter),
}

/// What came of a try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempted {
    /// It is to be tried again.
    Again {
        /// When.
        at: Timestamp,
        /// What was wrong.
        problem: String,
    },
    /// It is settled.
    Settled {
        /// As what. [`State::Waiting`] settles nothing and is not meant.
        state: State,
        /// When.
        at: Timestamp,
        /// What was wrong.
        problem: Option<String>,
    },
}

/// Who claims notices, and for how long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The courier: a text that no other one has, in whichever process it may be.
    pub claimant: String,
    /// When others may have the notices, unless the claim is extended until then.
    pub until: Timestamp,
}

/// Which notices are looked for.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// At most so many of each platform.
    pub per_owner: usize,
    /// At most so many altogether.
    pub limit: usize,
    /// None of these platforms.
    pub except: &'a [&'a str],
}

/// Where notices wait. All of it fails with [`Unavailable`](crate::Code::Unavailable).
#[async_trait]
pub trait Outbox: Send + Sync {
    /// The notices that can be sent at a time and that nobody has claimed: of each order the first that is not settled. The
    /// longest overdue of each platform come first, then the second of each, and so on, so that the many notices of one
    /// hide no other's.
    async fn due(&self, now: Timestamp, wanted: Wanted<'_>) -> Result<Vec<Due>, PortError>;

    /// Claims notices, and yields those that were there to be claimed; others were faster, or the notice is settled. Returns
    /// once it is on disk.
    async fn claim(&self, ids: Vec<String>, now: Timestamp, claim: &Claim) -> Result<Vec<Content>, PortError>;

    /// Extends claims of a claimant, where they are still its own.
    async fn extend(&self, ids: Vec<String>, claim: &Claim) -> Result<(), PortError>;

    /// Keeps what is about to be sent for the first time. Returns once it is on disk, and whether it is: not when the claim
    /// was lost meanwhile.
    async fn keep(&self, id: &str, claimant: &str, letter: &Letter) -> Result<bool, PortError>;

    /// Records what came of a try, which ends the claim. When the notice is settled, the next one of its order can go.
    /// Whether it was recorded: not when the claim was lost meanwhile.
    async fn record(&self, id: &str, claimant: &str, attempted: Attempted) -> Result<bool, PortError>;

    /// Waits until this process has queued something since this was last waited for. What others have queued, only looking
    /// tells. For one who waits.
    async fn queued(&self);

    /// The newest notices, newest first.
    async fn notices(&self, limit: usize) -> Result<Vec<Notice>, PortError>;

    /// Sends a notice once more, or at once if it waits. Whether there is one of this identifier.
    async fn resend(&self, id: &str, now: Timestamp) -> Result<bool, PortError>;
}
