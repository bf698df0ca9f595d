//! Port of the outbox: the queue of webhook events about orders (rules WHK-01 to WHK-04).
//!
//! Every commit that stores an order queues a webhook event ([`WebhookEvent`]) as well, so that no event is lost and
//! none reports something that never happened, and plans the task that tells it ([`task`]). An event carries the order as it
//! was at that time, or a document that a shop elsewhere has written about it. There is one task per order, so that its
//! events are sent one after the other: a later one waits until the earlier one is settled. The body of the first attempt is
//! stored, and retries send the same bytes under the same identifier.

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Serialize;

use super::{
    PortError,
    agenda::{Kind, Task},
};
use crate::{Release, order::Order};

/// Metadata of a webhook event, without the order itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct WebhookEvent {
    /// Identifier: a random UUID, sent as `Webhook-Id`.
    pub id: String,
    /// Identifier of the order.
    pub order_id: String,
    /// Platform that receives the event.
    pub owner: String,
    /// Version of the order that the event carries, from 1.
    pub order_version: u64,
    /// Time of the reported change, UTC.
    pub occurred_at: Timestamp,
    /// State of the delivery.
    pub state: State,
    /// Number of attempts so far.
    pub attempts: u32,
    /// Time of the next attempt, UTC; `None` if the event is settled or waits for an earlier one of its order.
    pub next_at: Option<Timestamp>,
    /// Error of the last attempt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
}

named! {
    /// State of the delivery of a webhook event.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
    #[serde(rename_all = "snake_case")]
    pub enum State {
        /// The event has to be sent, for the first time or again.
        Waiting = "waiting",
        /// The platform accepted the event.
        Delivered = "delivered",
        /// The platform answered that it wants no more events (HTTP 410).
        Gone = "gone",
        /// The platform did not accept the event within the retry period.
        Expired = "expired",
        /// The platform refused the event with an answer of 4xx; the operator can send it again.
        Parked = "parked",
        /// The platform declares no webhook URL.
        Unwanted = "unwanted",
    }
}

/// Body of a webhook request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookMessage {
    /// Release of the protocol in which the body is written.
    pub release: Release,
    /// Body as sent.
    pub body: Vec<u8>,
}

/// A webhook event with everything needed to send it.
#[derive(Clone, Debug, PartialEq)]
pub struct Content {
    /// Metadata of the event.
    pub webhook_event: WebhookEvent,
    /// Time from which the retry period is counted, UTC.
    pub since: Timestamp,
    /// Payload of the event.
    pub payload: Payload,
}

/// Payload of a webhook event.
#[derive(Clone, Debug, PartialEq)]
pub enum Payload {
    /// The order as it was at the time of the event, before the first attempt.
    Order(Box<Order>),
    /// The body of an earlier attempt, or one that a shop elsewhere has written.
    WebhookMessage(WebhookMessage),
}

impl Payload {
    /// Reads the payload that a store has: the message if there is one, or else the JSON of the order. Fails with the
    /// error of an order that cannot be parsed, which can quote it.
    pub fn stored(order: Option<&str>, webhook_message: Option<WebhookMessage>) -> serde_json::Result<Self> {
        match webhook_message {
            Some(webhook_message) => Ok(Self::WebhookMessage(webhook_message)),
            None => serde_json::from_str(order.unwrap_or_default()).map(Self::Order),
        }
    }
}

/// Result of an attempt to send a webhook event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attempted {
    /// The event is to be sent again.
    Again {
        /// Error of this attempt.
        problem: String,
    },
    /// The delivery is settled.
    Settled {
        /// Final state; never [`State::Waiting`].
        state: State,
        /// Time of the settlement, UTC.
        at: Timestamp,
        /// Error of this attempt, if it failed.
        problem: Option<String>,
    },
}

/// Webhook events that are still to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// Number of events.
    pub waiting: u64,
    /// Time from which the oldest one waits, UTC; `None` if none waits.
    pub since: Option<Timestamp>,
}

/// Returns the task that tells a platform what has happened to an order since a time.
pub fn task(owner: &str, order_id: &str, since: Timestamp) -> Task {
    let lane = format!("{}:{owner}", Kind::Tell.as_str());
    Task { kind: Kind::Tell, key: order_id.to_owned(), lane, name: None, due: since, body: String::new() }
}

/// Queue of webhook events. All methods fail with [`Unavailable`](crate::Code::Unavailable).
#[async_trait]
pub trait Outbox: Send + Sync {
    /// Returns the first event of an order that waits.
    async fn first(&self, order_id: &str, now: Timestamp) -> Result<Option<Content>, PortError>;

    /// Stores the body of the first attempt. Returns `true` once it is on disk, `false` if there is one, or the event does not
    /// wait any more.
    async fn keep(&self, id: &str, webhook_message: &WebhookMessage) -> Result<bool, PortError>;

    /// Records the result of an attempt. Returns `false` if the event does not wait any more, or somebody else has recorded
    /// an attempt since it was read.
    async fn record(&self, webhook_event: &WebhookEvent, attempted: Attempted) -> Result<bool, PortError>;

    /// Returns the newest events, newest first.
    async fn webhook_events(&self, limit: usize) -> Result<Vec<WebhookEvent>, PortError>;

    /// Returns how many events are still to be sent, and since when.
    async fn backlog(&self) -> Result<Backlog, PortError>;

    /// Queues an event to be sent now, even if it is settled, and restarts its retry period. An event that waits for an
    /// earlier one of its order goes on waiting. Returns `false` if there is no event with this identifier.
    async fn resend(&self, id: &str, now: Timestamp) -> Result<bool, PortError>;
}
