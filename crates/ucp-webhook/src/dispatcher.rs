//! Dispatch of webhook events: order, retries and outcomes.
//!
//! An answer of 2xx settles a webhook event, and so does 410 or a platform that states no webhook URL. After any other
//! outcome the event is sent again after a pause that doubles, with jitter, until it is three days old. The webhook URL
//! is looked up for every attempt.
//!
//! A dispatcher sleeps until this process queues an event, an event in flight is finished, or a second has passed, in
//! which other processes may have queued events or pauses may have ended. Each time it claims as many events as there
//! is room for, in a single write. The writes about events in flight share commits, because they happen at the same
//! time.

mod traffic;

use std::{
    error::Error,
    fmt,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use tokio::{
    task::{Id, JoinError, JoinSet},
    time::MissedTickBehavior,
};
use ucp_core::{
    Refusal,
    order::{
        View,
        outbox::{Attempted, Claim, Content, Outbox, Payload, State, Wanted},
    },
    port::PortError,
    record::{self, Tracer},
};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    fetch::FetchError,
    post::{Answered, Poster},
    signature::key::SigningKey,
};

use self::traffic::{AT_ONCE, Landing, PER_PLATFORM, Traffic};
use crate::{message, recipient::Recipients};

/// Number of webhook events that are read when some can be sent.
const LOOKED_AT: usize = 2 * AT_ONCE;

/// Interval of the search for webhook events that became due or that other processes queued.
const INTERVAL: Duration = Duration::from_secs(1);

/// Duration of a claim. The webhook events of a dispatcher that dies are delayed by this time.
const CLAIMED_FOR: SignedDuration = SignedDuration::from_secs(10);

/// Interval at which the claims of webhook events in flight are extended.
const EXTENDED_EVERY: Duration = Duration::from_secs(3);

/// First pause between attempts, before jitter.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

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
    /// Name for claims, unique among the dispatchers of all processes.
    pub claimant: String,
}

impl fmt::Debug for WebhookDispatcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WebhookDispatcher").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Reasons why a webhook event was not delivered.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// The platform states no webhook URL.
    Unwanted,
    /// The platform answered 410.
    Gone,
    /// A temporary failure, with the pause that the platform asks for, if any.
    Passing(String, Option<Duration>),
    /// Another dispatcher has claimed the event.
    Lost,
}

impl WebhookDispatcher {
    /// Sends webhook events as they become due, until the future is dropped. Events in flight at that time are sent
    /// again by the next dispatcher.
    pub async fn run(self) {
        let dispatcher = Arc::new(self);
        let mut flights: JoinSet<Landing> = JoinSet::new();
        let mut traffic = Traffic::default();
        let mut warned = false;
        let mut extend = tokio::time::interval(EXTENDED_EVERY);
        extend.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            if let Some(key) = (dispatcher.key)() {
                dispatcher.depart(&key, &mut flights, &mut traffic).await;
            } else if !warned {
                warned = dispatcher.warn().await;
            }
            let landed = tokio::select! {
                Some(landed) = flights.join_next_with_id() => Some(landed),
                () = dispatcher.outbox.queued() => None,
                () = tokio::time::sleep(INTERVAL) => None,
                _ = extend.tick(), if !flights.is_empty() => {
                    // The outbox has logged its error already.
                    drop(dispatcher.outbox.extend(traffic.webhook_events(), &dispatcher.claim()).await);
                    None
                }
            };
            let mut next = landed;
            while let Some(landed) = next {
                let (id, landing) = landed.unwrap_or_else(|failed: JoinError| (failed.id(), Landing::Failed));
                traffic.land(id, landing);
                next = flights.try_join_next_with_id();
            }
        }
    }

    /// Returns a claim that begins now.
    fn claim(&self) -> Claim {
        let until = (self.clock)().checked_add(CLAIMED_FOR).unwrap_or(Timestamp::MAX);
        Claim { claimant: self.claimant.clone(), until }
    }

    /// Starts as many deliveries as the limits allow.
    async fn depart(self: &Arc<Self>, key: &Arc<SigningKey>, flights: &mut JoinSet<Landing>, traffic: &mut Traffic) {
        let room = traffic.room();
        if room == 0 {
            return;
        }
        let (now, claim) = ((self.clock)(), self.claim());
        let wanted = Wanted { per_owner: PER_PLATFORM.min(room), limit: LOOKED_AT, except: &traffic.full() };
        let due = traffic.choose(found(self.outbox.due(now, wanted).await));
        if due.is_empty() {
            return;
        }
        let ids = due.into_iter().map(|due| due.id).collect();
        for content in found(self.outbox.claim(ids, now, &claim).await) {
            let (id, owner) = (content.webhook_event.id.clone(), content.webhook_event.owner.clone());
            let (dispatcher, key) = (Arc::clone(self), Arc::clone(key));
            let flight: Id = flights.spawn(async move { dispatcher.traced(content, &key).await }).id();
            traffic.depart(flight, id, owner);
        }
    }

    /// Logs that there is no signing key, once there is an event to send.
    async fn warn(&self) -> bool {
        let one = Wanted { per_owner: 1, limit: 1, except: &[] };
        let waits = self.outbox.due((self.clock)(), one).await.is_ok_and(|due| !due.is_empty());
        if waits {
            tracing::warn!(
                "webhooks about orders wait: they have to be signed, and there is no key; make one with \
                 `ucp-gateway keys generate`"
            );
        }
        waits
    }

    /// Attempts to deliver a webhook event, as a trace of its own.
    async fn traced(&self, content: Content, key: &SigningKey) -> Landing {
        let Some(tracer) = &self.tracer else { return self.attempt(content, key).await };
        let (id, record) = (content.webhook_event.id.clone(), tracer.begin());
        let landing = record::scope(Arc::clone(&record), self.attempt(content, key)).await;
        tracer.end(&record, "deliver_webhook", ("ucp.webhook.id", &id), !matches!(landing, Landing::Failed));
        landing
    }

    /// Attempts to deliver a webhook event and records the outcome.
    async fn attempt(&self, content: Content, key: &SigningKey) -> Landing {
        let id = content.webhook_event.id.clone();
        match self.try_one(content, key).await {
            Ok(landing) => landing,
            Err(refusal) => {
                // The claim expires, and then the event is due as if it had not been tried.
                tracing::error!(
                    webhook.id = id,
                    error = &refusal as &dyn Error,
                    "what came of a webhook cannot be recorded"
                );
                Landing::Neither
            }
        }
    }

    async fn try_one(&self, content: Content, key: &SigningKey) -> Result<Landing, Refusal> {
        let Content { webhook_event, since, .. } = &content;
        let (id, owner) = (&*webhook_event.id, &*webhook_event.owner);
        let delivered = self.deliver(&content, key).await?;
        let now = (self.clock)();
        let settled = |state, problem| Attempted::Settled { state, at: now, problem };
        let (attempted, landing) = match delivered {
            Ok(()) => (settled(State::Delivered, None), Landing::Taken),
            Err(Failure::Unwanted) => (settled(State::Unwanted, None), Landing::Neither),
            Err(Failure::Gone) => {
                (settled(State::Gone, Some("the platform answered with status 410".to_owned())), Landing::Taken)
            }
            Err(Failure::Lost) => {
                tracing::info!(webhook.id = id, "a webhook is sent by another gateway by now");
                return Ok(Landing::Neither);
            }
            Err(Failure::Passing(problem, wish)) => {
                let pause = pause(webhook_event.attempts, (self.random)(), wish);
                tracing::info!(webhook.id = id, platform = owner, problem, "a webhook was not delivered");
                let attempted = if now.duration_since(*since) >= TRIED_FOR {
                    tracing::warn!(webhook.id = id, platform = owner, "a webhook is given up on");
                    settled(State::Expired, Some(problem))
                } else {
                    let at = now.checked_add(pause).unwrap_or(Timestamp::MAX);
                    Attempted::Again { at, problem }
                };
                (attempted, Landing::Failed)
            }
        };
        self.attempts.count(&attempted);
        if !self.outbox.record(id, &self.claimant, attempted).await? {
            tracing::info!(webhook.id = id, "what came of a webhook is for another gateway to say by now");
        }
        Ok(landing)
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
                if !self.outbox.keep(&webhook_event.id, &self.claimant, &webhook_message).await? {
                    return Ok(Err(Failure::Lost));
                }
                webhook_message
            }
        };
        let headers = match message::headers(webhook_event, &webhook_message, &url, &self.agent, key, (self.clock)()) {
            Ok(headers) => headers,
            Err(error) => return passing(format!("it cannot be signed: {error}")),
        };
        Ok(match self.post.post(&url, headers, webhook_message.body.into()).await {
            Ok(answered) => judge(answered),
            Err(error) => Err(Failure::Passing(explain(&error), None)),
        })
    }
}

/// Returns the result of a query of the outbox, or an empty one if the query fails: the next round repeats it.
fn found<T: Default>(looked: Result<T, PortError>) -> T {
    looked.unwrap_or_else(|error| {
        tracing::error!(error = &error as &dyn Error, "webhooks that wait cannot be looked for");
        T::default()
    })
}

/// Classifies the answer of a platform.
fn judge(answered: Answered) -> Result<(), Failure> {
    let Answered { status, retry_after } = answered;
    match status {
        200..300 => Ok(()),
        410 => Err(Failure::Gone),
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
