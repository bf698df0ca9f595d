//! Who is told next, and what comes of it.
//!
//! An answer of 2xx settles a notice, and so does 410; whatever else happens, it is tried again after a pause that doubles,
//! with jitter, until it is three days old. Where the platform wants to hear is looked up for every try.

use std::{collections::HashMap, fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use jiff::{SignedDuration, Timestamp};
use tokio::task::{Id, JoinSet};
use ucp_core::{
    Refusal, Release,
    negotiation::Active,
    order::{
        View,
        outbox::{Attempted, Content, Due, Letter, Outbox, State},
    },
};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    fetch::FetchError,
    post::{Answered, Poster},
    signature::key::SigningKey,
};
use ucp_wire::dialect::{Occasion, dialect};

use crate::letter;

/// How many notices are under way at once.
const AT_ONCE: usize = 32;

/// How many of them to one platform.
const PER_PLATFORM: usize = 2;

/// How many notices are looked at when some can be sent. Those under way may be among them.
const LOOKED_AT: usize = 4 * AT_ONCE;

/// How often to look for notices that have become due.
const INTERVAL: Duration = Duration::from_millis(250);

/// How long the first pause is, before jitter.
const FIRST_PAUSE: Duration = Duration::from_secs(1);

/// The longest pause, also when a platform asks for a longer one.
const LONGEST_PAUSE: Duration = Duration::from_secs(60 * 60);

/// For how long a notice is tried.
const TRIED_FOR: SignedDuration = SignedDuration::from_hours(72);

/// The time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// Random numbers, evenly spread.
pub type Random = Arc<dyn Fn() -> u32 + Send + Sync>;

/// The key that signs, if there is one at the moment.
pub type Key = Arc<dyn Fn() -> Option<Arc<SigningKey>> + Send + Sync>;

/// A platform, as it is known at the moment.
#[derive(Clone, Debug)]
pub struct Recipient {
    /// Where it wants to hear about orders, as it states it; `None` when it does not.
    pub webhook: Option<String>,
    /// The release it speaks.
    pub release: Release,
    /// What was negotiated with it.
    pub active: Arc<Active>,
}

/// Knows platforms.
#[async_trait]
pub trait Recipients: Send + Sync {
    /// The platform with this profile, as it is now.
    async fn find(&self, owner: &str) -> Result<Recipient, Refusal>;
}

/// Sends something to an address.
#[async_trait]
pub trait Post: Send + Sync {
    /// Which addresses are sent to.
    fn reach(&self) -> Reach;

    /// Sends it, and says how the address answers. Must end by itself.
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

/// Tells platforms about their orders.
pub struct Courier {
    /// What they are to be told.
    pub outbox: Arc<dyn Outbox>,
    /// Who they are.
    pub recipients: Arc<dyn Recipients>,
    /// How they are reached.
    pub post: Arc<dyn Post>,
    /// The `UCP-Agent` of this business.
    pub agent: HeaderValue,
    /// What signs. Without a key nothing is sent.
    pub key: Key,
    /// The page of an order, by its token.
    pub permalink: Arc<dyn Fn(&str) -> String + Send + Sync>,
    /// The time.
    pub clock: Clock,
    /// What jitter is made of.
    pub random: Random,
}

impl fmt::Debug for Courier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Courier").field("agent", &self.agent).finish_non_exhaustive()
    }
}

/// Why a notice was not delivered.
#[derive(Debug, PartialEq, Eq)]
enum Failure {
    /// There is nowhere to send it to.
    Unwanted,
    /// The platform wants no more of them.
    Gone,
    /// It may work another time, after a pause that the platform may have asked for.
    Passing(String, Option<Duration>),
}

impl Courier {
    /// Sends what is due, for as long as it is polled. Notices that are under way when it is dropped are sent again by the
    /// next one.
    pub async fn run(self) {
        let courier = Arc::new(self);
        let mut flights: JoinSet<()> = JoinSet::new();
        let mut under_way: HashMap<Id, Due> = HashMap::new();
        let mut warned = false;
        loop {
            match (courier.key)() {
                Some(key) => courier.depart(&key, &mut flights, &mut under_way).await,
                None if !warned => warned = courier.warn().await,
                None => {}
            }
            let landed = tokio::select! {
                Some(landed) = flights.join_next_with_id() => Some(landed),
                () = tokio::time::sleep(INTERVAL) => None,
            };
            let mut next = landed;
            while let Some(landed) = next {
                // One that has panicked is no longer under way either.
                let id = landed.map_or_else(|failed| failed.id(), |(id, ())| id);
                under_way.remove(&id);
                next = flights.try_join_next_with_id();
            }
        }
    }

    /// Starts as many as there is room for.
    async fn depart(
        self: &Arc<Self>,
        key: &Arc<SigningKey>,
        flights: &mut JoinSet<()>,
        under_way: &mut HashMap<Id, Due>,
    ) {
        if under_way.len() >= AT_ONCE {
            return;
        }
        // What is wrong with the outbox is in the log already.
        let due = self.outbox.due((self.clock)(), PER_PLATFORM, LOOKED_AT).await.unwrap_or_default();
        for due in due {
            let to_platform = under_way.values().filter(|other| other.owner == due.owner).count();
            let known = under_way.values().any(|other| other.id == due.id);
            if under_way.len() < AT_ONCE && to_platform < PER_PLATFORM && !known {
                let (courier, key, id) = (Arc::clone(self), Arc::clone(key), due.id.clone());
                under_way.insert(flights.spawn(async move { courier.attempt(&id, &key).await }).id(), due);
            }
        }
    }

    /// Says that nothing can be sent, once there is something to send.
    async fn warn(&self) -> bool {
        let waits = self.outbox.due((self.clock)(), 1, 1).await.is_ok_and(|due| !due.is_empty());
        if waits {
            tracing::warn!(
                "webhooks about orders wait: they have to be signed, and there is no key; make one with \
                 `ucp-gateway keys generate`"
            );
        }
        waits
    }

    /// Tries to deliver a notice, and records what came of it.
    async fn attempt(&self, id: &str, key: &SigningKey) {
        if let Err(refusal) = self.try_one(id, key).await {
            tracing::error!(webhook.id = id, reason = refusal.content, "what came of a webhook cannot be recorded");
            // It is due at once, as if it had not been tried.
            tokio::time::sleep(FIRST_PAUSE).await;
        }
    }

    async fn try_one(&self, id: &str, key: &SigningKey) -> Result<(), Refusal> {
        let Some(content) = self.outbox.content(id).await? else { return Ok(()) };
        if content.notice.state != State::Waiting {
            return Ok(());
        }
        let delivered = self.deliver(&content, key).await?;
        let now = (self.clock)();
        let settled = |state, problem| Attempted::Settled { state, at: now, problem };
        let attempted = match delivered {
            Ok(()) => settled(State::Delivered, None),
            Err(Failure::Unwanted) => settled(State::Unwanted, None),
            Err(Failure::Gone) => settled(State::Gone, Some("the platform answered with status 410".to_owned())),
            Err(Failure::Passing(problem, wish)) => {
                let pause = pause(content.notice.attempts, (self.random)(), wish);
                tracing::info!(
                    webhook.id = id,
                    platform = content.notice.owner,
                    problem,
                    "a webhook was not delivered"
                );
                if now.duration_since(content.since) >= TRIED_FOR {
                    tracing::warn!(webhook.id = id, platform = content.notice.owner, "a webhook is given up on");
                    settled(State::Expired, Some(problem))
                } else {
                    let at = now.checked_add(pause).unwrap_or(Timestamp::MAX);
                    Attempted::Again { at, problem }
                }
            }
        };
        self.outbox.record(id, attempted).await
    }

    /// Delivers a notice. The outer error is one of the outbox.
    async fn deliver(&self, content: &Content, key: &SigningKey) -> Result<Result<(), Failure>, Refusal> {
        let Content { notice, order, letter, .. } = content;
        let passing = |problem| Ok(Err(Failure::Passing(problem, None)));
        let recipient = match self.recipients.find(&notice.owner).await {
            Ok(recipient) => recipient,
            Err(refusal) => return passing(format!("the platform is not known: {}", refusal.content)),
        };
        let Some(webhook) = &recipient.webhook else { return Ok(Err(Failure::Unwanted)) };
        let url = match ProfileUrl::parse(webhook, self.post.reach()) {
            Ok(url) => url,
            Err(rejection) => return passing(format!("the webhook address {rejection}")),
        };
        let letter = match letter {
            Some(letter) => letter.clone(),
            None => {
                let view = View {
                    permalink_url: (self.permalink)(&order.token),
                    order: Box::new(order.clone()),
                    messages: Vec::new(),
                };
                let occasion = Occasion { id: &notice.id, at: notice.occurred_at };
                let body = dialect(recipient.release).notice(view, &recipient.active, &occasion).into_bytes();
                let letter = Letter { release: recipient.release, body };
                // Whatever becomes of this try, the next one sends the same.
                self.outbox.keep(&notice.id, &letter).await?;
                letter
            }
        };
        let headers = match letter::headers(notice, &letter, &url, &self.agent, key, (self.clock)()) {
            Ok(headers) => headers,
            Err(error) => return passing(format!("it cannot be signed: {error}")),
        };
        Ok(match self.post.post(&url, headers, letter.body.into()).await {
            Ok(answered) => judge(answered),
            Err(error) => Err(Failure::Passing(explain(&error), None)),
        })
    }
}

/// What an answer means.
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

/// What went wrong on the way, for operators.
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

/// How long to wait after a try: twice as long as after the one before, of which half is jitter, or as long as the platform
/// wishes.
fn pause(attempts: u32, random: u32, wish: Option<Duration>) -> Duration {
    let full = FIRST_PAUSE.saturating_mul(2u32.saturating_pow(attempts)).min(LONGEST_PAUSE);
    let half = full / 2;
    let jittered = half + half.mul_f64(f64::from(random) / f64::from(u32::MAX));
    wish.map_or(jittered, |wish| wish.min(LONGEST_PAUSE).max(jittered))
}

#[cfg(test)]
mod tests;
