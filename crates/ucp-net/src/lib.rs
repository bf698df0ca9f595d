//! Calls to upstream servers.
//!
//! An upstream is somebody else's server: it can be slow, overloaded, broken or hostile, and it must not take the
//! gateway with it. Everything that keeps it at a distance is here, once for every kind of upstream; an adapter says
//! what it wants ([`UpstreamRequest`]), what an answer means ([`Classifier`]), and what a read may be answered with
//! instead ([`Freshness`](ucp_core::operation::Freshness)).
//!
//! [`Upstream`] is a stack of tower layers (`policy`) around an HTTP [`client`]. From the caller inwards:
//!
//! | layer | what it does | why at this place |
//! | :-- | :-- | :-- |
//! | [`deadline`] | ends the call when its time is up, and hands the time that is left down | nothing below may outlast it |
//! | [`retry`] | tries a read again, within a budget | each attempt passes everything below anew |
//! | [`breaker`] | refuses while the upstream is down, or has asked for a pause; by [`Lane`] | before a place is taken that a useless call would only block |
//! | [`bulkhead`] | bounds how many calls are under way, by [`Lane`], and the shares of strangers | a slow read never keeps a buyer from paying |
//! | [`rate`] | bounds how many calls begin per second | counts only what is really sent |
//! | [`classifier`] | tells answers from failures | all above see failures alone, whatever their dialect |
//! | [`client`] | sends, and reads what comes within limits of time and size | |
//!
//! [`CoalescingCache`] stands in front of it for reads: equal reads at the same time are one call ([`in_flight`]), and
//! answers are kept for as long as the kind of read allows. [`Counters`] say what all of it did.
//!
//! [`outbound`] is the HTTP client behind all requests of the gateway, those to profiles, webhooks and payment
//! providers included, and [`lock`] lets changes of one resource wait for each other.
//!
//! Invariants, whatever the upstream does:
//!
//! - A call ends by its deadline. A response is read up to a bound, never further.
//! - Only a [read](CallKind::Read) is ever sent twice.
//! - Failures of callers' questions alone shut nothing: the gateway asks a question of its own first ([`Author`]).
//! - A request goes to the one origin that the upstream was set up with. Redirects are not followed.
//! - A [`Failure`] says whether the request can have reached the upstream.

pub mod breaker;
pub mod bulkhead;
mod circuit;
pub mod classifier;
pub mod client;
pub mod coalescing;
pub mod counters;
mod cut;
pub mod deadline;
pub mod failure;
pub mod in_flight;
pub mod lock;
pub mod outbound;
pub mod path;
mod policy;
pub mod rate;
pub mod retry;
mod scope;
pub mod shares;
pub mod upstream;
pub mod upstream_request;

use std::sync::Arc;

use tokio::time::Instant;

pub use self::{
    classifier::{Classifier, Verdict},
    coalescing::{CoalescingCache, Filled, Key, Served, Staleness},
    counters::{Counters, Snapshot},
    failure::{Failure, Reach},
    scope::Scope,
    upstream::{Options, Upstream},
    upstream_request::{Author, CallKind, Ending, Lane, Received, Unreadable, UpstreamRequest},
};

/// Current time. It must run like the clock of tokio, which all sleeps and timeouts here use: tests pause that one.
pub type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// Source of uniformly distributed numbers, for the jitter of retries.
pub type Random = Arc<dyn Fn() -> u32 + Send + Sync>;
