//! Dispatch of webhook events: retries and outcomes.
//!
//! An answer of 2xx settles a webhook event, and so does 410, a platform that states no webhook URL, or an answer of 4xx of
//! one whose refused events are parked. After any other outcome the event is sent again after a pause that doubles, with jitter, until it is three days old. The webhook URL
//! is looked up for every attempt. The task of the agenda that tells of an order sends its events one after the other.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use ucp_core::{
    Refusal,
    order::View,
    ports::{
        agenda::{Claimed, Next},
        outbox::{Attempted, Content, Outbox, Payload, State},
    },
};
use ucp_record::{self as record, Tracer};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    fetch::FetchError,
    post::{Answered, Poster},
    signature::key::SigningKey,
};

use crate::{message, recipient::Recipients};

/// First pause between attempts, before jitter.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// Pause after the outbox failed.
const FAILED_PAUSE: Duration = Duration::from_secs(10);

/// Maximum pause between attempts, also when a platform asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// Time after which a webhook event expires.
const TRIED_FOR: SignedDuration = SignedDuration::from_hours(72);

/// Source of the current time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Source of uniformly distributed numbers.
pub type Random = Arc<dyn Fn() -> u32 + Send + Sync>;

/// Source of the current signing key.
pub type Key = Arc<dyn Fn() -> Option<Arc<SigningKey>> + Send + Sync>;

/// Transport of webhook messages.
#[async_trait]
pub trait Post: Send + Sync {
    /// Returns the addresses that may be sent to.
    fn reach(&self) -> Reach;

    /// Sends a message and returns the answer. Implementations bound the time that it takes.
    async fn post(&self, url: &ProfileUrl, headers: HeaderMap, body: Bytes) -> Result<Answered, FetchError>;
}

#[async_trait]
impl Post for Poster {
    fn reach(&self) -> Reach {
        Self::reach(self)
    }

    async fn post(&self, url: &ProfileUrl, headers: HeaderMap, body: Bytes) -> Result<Answered, FetchError> {
        Self::post(self, url, headers, body).await
    }
}

/// Results of attempts to deliver webhook events since the start.
#[derive(Debug, Default)]
pub struct Attempts {
    again: AtomicU64,
    settled: [AtomicU64; State::ALL.len()],
}

impl Attempts {
    fn count(&self, attempted: &Attempted) {
        let counter = match attempted {
            Attempted::Again { .. } => &self.again,
            Attempted::Settled { state, .. } => &self.settled[*state as usize],
        };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of attempts by result: `again` for those that failed and are repeated, or the final state.
    pub fn by_result(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let settled = State::ALL.iter().zip(&self.settled).filter(|(state, _)| **state != State::Waiting);
        let counters =
            std::iter::once(("again", &self.again)).chain(settled.map(|(state, count)| (state.as_str(), count)));
        counters.map(|(result, count)| (result, count.load(Ordering::Relaxed)))
    }
}

/// Delivers webhook events to platforms.
pub struct WebhookDispatcher {
    /// Queue of webhook events.
    pub outbox: Arc<dyn Outbox>,
    /// Directory of the platforms.
    pub recipients: Arc<dyn Recipients>,
    /// Transport.
    pub post: Arc<dyn Post>,
    /// `UCP-Agent` of this business.
    pub agent: HeaderValue,
    /// Signing key. Nothing is sent without one.
    pub key: Key,
    /// Returns the URL of the page of an order for its token.
    pub permalink: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// Source of the current time.
    pub clock: Clock,
    /// Source of jitter.
    pub random: Random,
    /// Results of the attempts.
    pub attempts: Arc<Attempts>,
    /// Tracer of attempts; `None` if no spans are exported.
    pub tracer: Option<Arc<dyn Tracer>>,
    /// `true` once it was logged that there is no key.
    pub warned: AtomicBool,
}
ucp_core::opaque!(WebhookDispatcher { agent });

/// Reasons why a webhook event was not delivered.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// The platform states no webhook URL.
    Unwanted,
    /// The platform answered 410.
    Gone,
    /// The platform refused the event, and is not to be sent it again.
    Refused(String),
    /// A temporary failure, with the pause that the platform asks for, if any.
    Passing(String, Option<Duration>),
    /// Another gateway sends the event by now.
    Lost,
}

impl WebhookDispatcher {
    /// Returns `true` if nothing can be sent: there is no signing key, which is logged once there is an event to send.
    pub async fn rests(&self) -> bool {
        if (self.key)().is_some() {
            return false;
        }
        if !self.warned.load(Ordering::Relaxed) && self.outbox.backlog().await.is_ok_and(|backlog| backlog.waiting > 0)
        {
            self.warned.store(true, Ordering::Relaxed);
            tracing::warn!("webhooks are waiting for a signing key; create one with `ucp-gateway keys generate`");
        }
        true
    }

    /// Sends the events of an order that wait, one after the other, until one is not accepted.
    pub async fn tell(&self, task: &Claimed) -> Next {
        loop {
            match self.tell_next(&task.key).await {
                Ok(None) => {}
                Ok(Some(next)) => return next,
                Err(refusal) => {
                    tracing::error!(
                        order.id = task.key,
                        error = &refusal as &dyn Error,
                        "reading or recording a webhook's result failed"
                    );
                    return self.after(FAILED_PAUSE, Some(refusal.content.to_string()));
                }
            }
        }
    }

    /// Returns the next step of a task after a pause.
    fn after(&self, pause: Duration, problem: Option<String>) -> Next {
        Next::At { at: (self.clock)().checked_add(pause).unwrap_or(Timestamp::MAX), problem }
    }

    /// Attempts to deliver the first waiting event of an order, as a trace of its own. Returns what is to be done next; `None`
    /// if the next event can be sent.
    async fn tell_next(&self, order_id: &str) -> Result<Option<Next>, Refusal> {
        let Some(key) = (self.key)() else { return Ok(Some(self.after(FAILED_PAUSE, None))) };
        let Some(content) = self.outbox.first(order_id, (self.clock)()).await? else { return Ok(Some(Next::Done)) };
        let Some(tracer) = &self.tracer else { return self.attempt(&content, &key).await };
        let record = tracer.begin();
        let told = record::scope(Arc::clone(&record), self.attempt(&content, &key)).await;
        let id = ("ucp.webhook.id", &*content.webhook_event.id);
        tracer.end(&record, "deliver_webhook", id, !matches!(told, Ok(Some(Next::At { problem: Some(_), .. }))));
        told
    }

    /// Attempts to deliver a webhook event and records the outcome.
    async fn attempt(&self, content: &Content, key: &SigningKey) -> Result<Option<Next>, Refusal> {
        let Content { webhook_event, since, .. } = content;
        let (id, owner) = (&*webhook_event.id, &*webhook_event.owner);
        let delivered = self.deliver(content, key).await?;
        let now = (self.clock)();
        let settled = |state, problem| (Attempted::Settled { state, at: now, problem }, None);
        let (attempted, next) = match delivered {
            Ok(()) => settled(State::Delivered, None),
            Err(Failure::Unwanted) => settled(State::Unwanted, None),
            Err(Failure::Gone) => settled(State::Gone, Some("the platform answered with status 410".to_owned())),
            Err(Failure::Refused(problem)) => {
                tracing::warn!(webhook.id = id, platform = owner, problem, "webhook parked until it is sent again");
                settled(State::Parked, Some(problem))
            }
            Err(Failure::Lost) => {
                tracing::info!(webhook.id = id, "webhook taken over by another gateway");
                return Ok(Some(self.after(Duration::ZERO, None)));
            }
            Err(Failure::Passing(problem, wish)) => {
                tracing::info!(
                    webhook.id = id,
                    platform = owner,
                    problem,
                    "webhook delivery failed, trying again later"
                );
                if now.duration_since(*since) >= TRIED_FOR {
                    tracing::warn!(webhook.id = id, platform = owner, "webhook delivery failed permanently");
                    let next = self.after(Duration::ZERO, Some(problem.clone()));
                    (Attempted::Settled { state: State::Expired, at: now, problem: Some(problem) }, Some(next))
                } else {
                    let pause = pause(webhook_event.attempts, (self.random)(), wish);
                    let next = self.after(pause, Some(problem.clone()));
                    (Attempted::Again { problem }, Some(next))
                }
            }
        };
        self.attempts.count(&attempted);
        if !self.outbox.record(webhook_event, attempted).await? {
            tracing::info!(webhook.id = id, "webhook result left to another gateway");
            return Ok(Some(self.after(Duration::ZERO, None)));
        }
        Ok(next)
    }

    /// Delivers a webhook event. The outer error is that of the outbox.
    async fn deliver(&self, content: &Content, key: &SigningKey) -> Result<Result<(), Failure>, Refusal> {
        let Content { webhook_event, payload, .. } = content;
        let passing = |problem| Ok(Err(Failure::Passing(problem, None)));
        let recipient = match self.recipients.find(&webhook_event.owner).await {
            Ok(recipient) => recipient,
            Err(refusal) => return passing(format!("the platform is not known: {}", refusal.content)),
        };
        let Some(webhook) = &recipient.webhook else { return Ok(Err(Failure::Unwanted)) };
        let url = match ProfileUrl::parse(webhook, self.post.reach()) {
            Ok(url) => url,
            Err(rejection) => return passing(format!("the webhook address {rejection}")),
        };
        let webhook_message = match payload {
            Payload::WebhookMessage(webhook_message) => webhook_message.clone(),
            Payload::Order(order) => {
                let view = View {
                    permalink_url: order.permalink(|token| (self.permalink)(token)),
                    order: order.clone(),
                    messages: Vec::new(),
                };
                let webhook_message = message::write(webhook_event, view, &recipient);
                // Later attempts send the same bytes, whatever the outcome of this one.
                if !self.outbox.keep(&webhook_event.id, &webhook_message).await? {
                    return Ok(Err(Failure::Lost));
                }
                webhook_message
            }
        };
        let headers = match message::headers(
            webhook_event,
            &webhook_message,
            &recipient.delivery,
            &url,
            &self.agent,
            key,
            (self.clock)(),
        ) {
            Ok(headers) => headers,
            Err(error) => return passing(format!("it cannot be signed: {error}")),
        };
        Ok(match self.post.post(&url, headers, webhook_message.body.into()).await {
            Ok(answered) => judge(answered, recipient.delivery.parks_refused),
            Err(error) => Err(Failure::Passing(explain(&error), None)),
        })
    }
}

/// Classifies the answer of a platform; `parks` if one of 4xx is not to be repeated.
fn judge(answered: Answered, parks: bool) -> Result<(), Failure> {
    let Answered { status, retry_after } = answered;
    match status {
        200..300 => Ok(()),
        410 => Err(Failure::Gone),
        400..500 if parks && !matches!(status, 408 | 425 | 429) => {
            Err(Failure::Refused(format!("the platform answered with status {status}")))
        }
        300..400 => {
            let problem = format!("the platform answered with a redirect ({status}), which is not followed");
            Err(Failure::Passing(problem, retry_after))
        }
        _ => Err(Failure::Passing(format!("the platform answered with status {status}"), retry_after)),
    }
}

/// Returns the text of a failure for operators.
fn explain(error: &FetchError) -> String {
    match error {
        FetchError::Address(rejection) => format!("the webhook address {rejection}"),
        FetchError::ForbiddenAddress { range } => {
            format!(
                "the host of the webhook address resolves to a special-use address ({range}), which is not connected to"
            )
        }
        FetchError::UnknownHost => "the host of the webhook address has no address".to_owned(),
        FetchError::Connection => "no connection to the host of the webhook address could be made".to_owned(),
        FetchError::Tls => {
            "the host of the webhook address has no trusted certificate, or does not speak TLS".to_owned()
        }
        FetchError::Timeout => "the platform did not answer in time".to_owned(),
        _ => "the platform did not send a whole HTTP response".to_owned(),
    }
}

/// Returns the pause after an attempt: twice the one before, half of it jitter, or the time that the platform asks for
/// if that is longer, up to [`LONGEST_PAUSE`].
fn pause(attempts: u32, random: u32, wish: Option<Duration>) -> Duration {
    let full = FIRST_PAUSE.saturating_mul(2u32.saturating_pow(attempts)).min(LONGEST_PAUSE);
    let half = full / 2;
    let jittered = half + half.mul_f64(f64::from(random) / f64::from(u32::MAX));
    wish.map_or(jittered, |wish| wish.min(LONGEST_PAUSE).max(jittered))
}

#[cfg(test)]
mod tests;
