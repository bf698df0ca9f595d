//! Transport of the contract's questions to a shop.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use http::{Method, StatusCode};
use serde::de::DeserializeOwned;
use ucp_core::{Refusal, ports::Notice};
use ucp_net::{CallKind, Counters, Failure, Lane, Unreadable};

ucp_core::named! {
    /// A question of the contract.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum Question {
        /// Description of the shop and its capabilities.
        Backend = "backend",
        /// One page of the products that match.
        Find = "find",
        /// The products that identifiers name.
        Resolve = "resolve",
        /// The same, no older than a few seconds.
        Open = "open",
        /// Bring a cart to what was stated.
        CartSync = "cart/sync",
        /// A cart as it is.
        CartFetch = "cart/fetch",
        /// Give a cart up.
        CartAbandon = "cart/abandon",
        /// Place an order.
        Place = "place",
        /// Result of an attempt to place one.
        Order = "order",
        /// Progress of an order.
        OrderStatus = "order/status",
        /// Keep an attempt from placing one late.
        Cancel = "cancel",
    }
}

impl Question {
    /// Returns the path below the address of the shop, without leading slash.
    pub const fn path(self) -> &'static str {
        self.as_str()
    }

    /// Returns the HTTP method.
    pub const fn method(self) -> Method {
        match self {
            Self::Backend => Method::GET,
            _ => Method::POST,
        }
    }

    /// Returns the kind of call: only reads are ever sent twice.
    pub const fn call_kind(self) -> CallKind {
        match self {
            Self::Backend
            | Self::Find
            | Self::Resolve
            | Self::Open
            | Self::CartFetch
            | Self::Order
            | Self::OrderStatus => CallKind::Read,
            Self::CartSync | Self::CartAbandon | Self::Cancel => CallKind::Write,
            Self::Place => CallKind::Conclude,
        }
    }

    /// Returns the kind of traffic that the question is.
    pub const fn lane(self) -> Lane {
        match self {
            Self::Backend | Self::Find | Self::Resolve | Self::Open => Lane::Browse,
            Self::CartSync | Self::CartFetch | Self::CartAbandon => Lane::Cart,
            Self::Place | Self::Order | Self::OrderStatus | Self::Cancel => Lane::Payment,
        }
    }
}

/// Reply of a shop to a question.
#[derive(Clone, Debug)]
pub enum Reply {
    /// An answer, as JSON.
    Answer(Bytes),
    /// The requested cart, or the position in a result, does not exist.
    Gone,
    /// The shop refused the question as a whole, for this reason: nothing was done.
    Refused(String),
    /// The order that the question asks for was not sent, for this reason: what comes before it failed.
    Unsent(String),
    /// The shop refused a part of what the question asks for, for this reason, after others were carried out.
    Halted(String),
}

/// Returns `true` if a status says that the request was not carried out and will not be. A conflict can be one with the
/// same request, which is still under way.
pub fn is_definite(status: StatusCode) -> bool {
    status.is_client_error() && !matches!(status.as_u16(), 408 | 409 | 425)
}

impl Reply {
    /// Reads an answer; `None` if what was asked about does not exist. A member that is not of the promised form is
    /// logged with its path and without its value. Fails with [`Unreadable::Unexpected`] for an answer of another form,
    /// and for a refusal.
    pub fn read<T: DeserializeOwned>(&self, question: Question) -> Result<Option<T>, Failure> {
        let path = question.path();
        match self {
            Self::Gone => Ok(None),
            Self::Refused(reason) | Self::Unsent(reason) | Self::Halted(reason) => {
                tracing::error!(question = path, reason, "upstream rejected a backend contract request");
                Err(Failure::Unreadable(Unreadable::Unexpected))
            }
            Self::Answer(body) => {
                let mut reader = serde_json::Deserializer::from_slice(body);
                serde_path_to_error::deserialize(&mut reader).map(Some).map_err(|error| {
                    let (member, problem) = (error.path().to_string(), error.inner());
                    tracing::error!(question = path, member, %problem, "upstream response does not match the backend contract");
                    Failure::Unreadable(Unreadable::Unexpected)
                })
            }
        }
    }
}

/// A way to ask a shop.
#[async_trait]
pub trait Transport: Send + Sync {
    /// Asks a question whose document is `body`, JSON; `null` for [`Question::Backend`]. Fails with [`Failure`] if the
    /// shop cannot be asked or gives no answer.
    async fn ask(&self, question: Question, body: Bytes) -> Result<Reply, Failure>;

    /// Returns `true` if the shop's events have signatures and a form of their own, which [`event`](Self::event) translates.
    fn has_events(&self) -> bool {
        false
    }

    /// Verifies an event, and translates it to one of the contract; `None` if it is about nothing that the contract knows.
    /// Fails with [`SignatureMissing`](ucp_core::Code::SignatureMissing) or
    /// [`SignatureInvalid`](ucp_core::Code::SignatureInvalid) if it is not the shop's,
    /// [`InvalidRequest`](ucp_core::Code::InvalidRequest) if it cannot be read, and
    /// [`Unavailable`](ucp_core::Code::Unavailable) if it has to be sent again.
    async fn event(&self, notice: &Notice<'_>) -> Result<Option<Bytes>, Refusal> {
        let _ = notice;
        Ok(None)
    }

    /// Returns the counters of the calls to the shop.
    fn counters(&self) -> &Arc<Counters>;
}
