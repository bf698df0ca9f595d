//! A shop that speaks UCP itself.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use super::body::Body;
use crate::{
    Operation, Refusal, Release,
    operation::Offering,
    purchase::{caller::Caller, ledger::Ledger, payment::Declaration},
};

/// A shop that speaks UCP itself: it is asked operations, not for facts.
///
/// What it answers is told as it is, but for the release, the envelope, and extensions that the caller has not negotiated.
#[async_trait]
pub trait Relay: Send + Sync {
    /// What can be asked of it, and which extensions it knows.
    fn offering(&self) -> Offering;

    /// How buyers can pay there.
    fn payment_handlers(&self) -> Arc<[Declaration]>;

    /// Where answers are kept under idempotency keys.
    fn ledger(&self) -> &dyn Ledger;

    /// The time.
    fn now(&self) -> Timestamp;

    /// Asks it.
    ///
    /// # Errors
    /// What it refuses, and [`Unavailable`](crate::Code::Unavailable) when it cannot be asked.
    async fn carry(&self, caller: &Caller, call: Relayed) -> Result<Carried, Refusal>;
}

/// A call for a shop that speaks UCP itself.
#[derive(Clone, Debug)]
pub struct Relayed {
    /// What is asked.
    pub operation: Operation,
    /// The release that `payload` is written in.
    pub release: Release,
    /// Which resource it is about.
    pub id: Option<String>,
    /// The payload, valid in that release, with every member that the caller sent.
    pub payload: Value,
    /// The languages that the caller named beside the payload, in order of preference.
    pub languages: Vec<String>,
    /// The caller's idempotency key.
    pub key: Option<String>,
    /// What the call is called in the logs of all who have to do with it.
    pub trace: Trace,
}

/// What a call is called in the logs of all who have to do with it. Each is of a form that HTTP headers can carry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Its `Request-Id`.
    pub request_id: Option<String>,
    /// Its `traceparent` (W3C Trace Context).
    pub parent: Option<String>,
    /// What goes with that, its `tracestate`.
    pub state: Option<String>,
}

/// What a shop that speaks UCP itself answered.
#[derive(Clone, Debug)]
pub struct Carried {
    /// The answer in the release in which it was asked, with the shop's own envelope in `ucp`.
    pub body: Body,
    /// Whether the shop has signed exactly these members, so that none of them may be changed (rule AP2-02).
    pub sealed: bool,
    /// The HTTP status it has on REST.
    pub status: u16,
}
