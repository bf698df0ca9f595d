//! Port of a shop that speaks UCP itself.

use std::sync::Arc;

use async_trait::async_trait;
use jiff::Timestamp;
use serde_json::Value;

use super::{body::Body, caller::Caller, ledger::Ledger};
use crate::{Operation, Refusal, Release, operation::SupportedOperations, purchase::payment::Declaration};

/// A shop that speaks UCP itself: whole operations are forwarded to it.
///
/// Its answers are forwarded as they are, except for the release, the envelope, and extensions that the caller has not
/// negotiated.
#[async_trait]
pub trait UcpUpstream: Send + Sync {
    /// Returns the operations and extensions that the shop supports.
    fn offering(&self) -> SupportedOperations;

    /// Returns the payment handlers that the shop accepts.
    fn payment_handlers(&self) -> Arc<[Declaration]>;

    /// Returns the store of the answers recorded under idempotency keys.
    fn ledger(&self) -> &dyn Ledger;

    /// Returns the current time, UTC.
    fn now(&self) -> Timestamp;

    /// Forwards a call to the shop. Fails with the refusal of the shop, or [`Unavailable`](crate::Code::Unavailable) if
    /// the shop cannot be reached.
    async fn forward(&self, caller: &Caller, call: ForwardedCall) -> Result<ForwardedAnswer, Refusal>;
}

/// A call to forward to a shop that speaks UCP itself.
#[derive(Clone, Debug)]
pub struct ForwardedCall {
    /// Operation to carry out.
    pub operation: Operation,
    /// Release of the protocol in which `payload` is written.
    pub release: Release,
    /// Identifier of the resource; `None` for operations without one.
    pub id: Option<String>,
    /// Payload, valid in that release, with every member that the caller sent.
    pub payload: Value,
    /// Languages that the caller named besides the payload, in order of preference.
    pub languages: Vec<String>,
    /// Idempotency key of the caller.
    pub key: Option<String>,
    /// Identifiers that correlate the call across the logs of all participants.
    pub trace: Trace,
}

/// Identifiers that correlate a call across the logs of all participants. All are valid HTTP header values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// Header `Request-Id`.
    pub request_id: Option<String>,
    /// Header `traceparent` (W3C Trace Context).
    pub parent: Option<String>,
    /// Header `tracestate`, which belongs to `traceparent`.
    pub state: Option<String>,
}

/// Answer of a shop that speaks UCP itself.
#[derive(Clone, Debug)]
pub struct ForwardedAnswer {
    /// Answer in the release of the call, with the shop's own envelope in `ucp`.
    pub body: Body,
    /// `true` if the shop has signed exactly these members, so that none of them may be changed (rule AP2-02).
    pub sealed: bool,
    /// HTTP status of the answer on REST.
    pub status: u16,
}
