//! State of a synchronization, as it is stored with every step.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use ucp_shop::synchronised::Missing;

/// State of a synchronization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct State {
    /// Number of the last full run that was begun.
    pub run: i64,
    /// Run that has not ended yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub under_way: Option<UnderWay>,
    /// Time as of which prices and stock of the copy are; absent before the first run has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// Beginning of the last full run that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub full_at: Option<Timestamp>,
    /// Last run that has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Ended>,
    /// Products that a run would have removed, until the operator decides.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<Held>,
    /// Version of the feed that was read last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed: Option<Version>,
    /// Time by the shop's clock up to which its changes are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shop_as_of: Option<Timestamp>,
    /// Number of the last question to the shop.
    pub question: i64,
    /// Number of products that were removed since the last full run.
    pub removed: u64,
    /// Number of the last change that was read in the database that gateways share.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heard: Option<i64>,
}

ucp_core::named! {
    /// Kind of a run.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Kind {
        /// Everything that the shop sells. What it does not state is gone.
        Full = "full",
        /// Changes since a time.
        Changes = "changes",
    }
}

/// A run that has not ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnderWay {
    /// Kind of the run.
    pub kind: Kind,
    /// Time from which changes are asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// Time of its beginning.
    pub begun_at: Timestamp,
    /// Position from which it goes on: of a shop, the shop's; of a feed, the number of its products that were read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
    /// Counts of products so far.
    pub tally: Tally,
    /// Version of the feed that it reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub feed: Option<Version>,
    /// Time at which that was changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_at: Option<Timestamp>,
    /// Number of the newest changed product that waited when the feed was asked for.
    #[serde(default)]
    pub heard: i64,
    /// Number of products that the shop stated with the last page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// `true` if that became less from one page to the next: pages that are counted have moved, and are read again.
    #[serde(default)]
    pub has_shrunk: bool,
    /// Number of times that the pages were read from the beginning.
    #[serde(default)]
    pub rounds: u32,
    /// `true` if all pages were read.
    #[serde(default)]
    pub is_read: bool,
}

/// Number of products by what a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// New products.
    pub created: u64,
    /// Changed products.
    pub updated: u64,
    /// Products that were stored already.
    pub unchanged: u64,
    /// Products that were removed.
    pub removed: u64,
    /// Products that are left out because they cannot be used.
    pub rejected: u64,
}

impl Tally {
    /// Returns the number of products that were read.
    pub const fn read(&self) -> u64 {
        self.created + self.updated + self.unchanged + self.rejected
    }
}

/// A run that has ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// Kind of the run.
    pub kind: Kind,
    /// Time of its beginning.
    pub begun_at: Timestamp,
    /// Time of its end.
    pub ended_at: Timestamp,
    /// Counts of products.
    pub tally: Tally,
}

/// Products that a run would have removed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Held {
    /// Kind of the run.
    pub kind: Kind,
    /// Number of the full run before which they were last seen.
    pub run: i64,
    /// Number of products that would be lost.
    pub lost: u64,
    /// Number of products that there were.
    pub of: u64,
    /// Time since which they are held.
    pub since: Timestamp,
}

impl Held {
    pub(crate) const fn missing(&self) -> Missing {
        match self.kind {
            Kind::Full => Missing::Since(self.run),
            Kind::Changes => Missing::Stated,
        }
    }
}

/// Version of a feed, by which it is recognized.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Version {
    /// Size in bytes.
    pub bytes: u64,
    /// Time of the last change of a file, in nanoseconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<i64>,
    /// `ETag` of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// `Last-Modified` of the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_modified: Option<String>,
}
