//! A shop that speaks UCP itself, on one transport or in one release: in front of it, the gateway serves all of them.
//!
//! Nothing is decided here. A call is written in the shop's release, asked over the shop's transport, and the answer is
//! written in the caller's release; members that nobody names travel untouched. What is the gateway's own is who asks:
//! the shop knows one platform, the gateway, under the gateway's profile and keys, and nothing that callers prove
//! themselves with is handed on.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`profile`] | what the shop says about itself |
//! | [`platform`] | what the gateway says about itself there |
//! | `owners` | to whom carts, checkouts and orders belong that the shop keeps |
//! | [`webhook`] | what the shop tells about orders |
//! | `discovery` | finding the shop, and what is known of it |
//! | `peer` | asking it |
//! | `introduction` | who asks, and the proof of it |
//! | `mcp` | tools, sessions, streams of events |
//! | `response` | answers and refusals, told apart |
//! | `mandates` | what the shop signs, and mandates for it |
//! | `batch` | look-ups that are too large for the shop |
//!
//! What holds:
//!
//! - What a platform has not made here does not exist for it, whatever the shop would tell.
//! - What the shop has signed for a buyer's mandate is handed on as it is, to callers of its own release alone, and
//!   only if the signature holds under the keys that the gateway publishes for the shop.
//! - Carts, checkouts and orders are never answered from memory.
//! - A change whose end is unknown is asked for again only under the key it was asked for with, or after looking.

mod batch;
mod discovery;
mod introduction;
mod mandates;
mod mcp;
mod owners;
mod peer;
pub mod platform;
pub mod profile;
mod response;
pub mod webhook;

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use async_trait::async_trait;
use futures_util::future::join_all;
use http::HeaderValue;
use jiff::Timestamp;
use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Code, Operation, Refusal, Release,
    catalog::lookup,
    operation::{AP2_MANDATE, Class, Effect, Offering, Resource},
    port::{
        ForwardedAnswer, ForwardedCall, MAX_IDS, UcpUpstream, Written,
        owners::{Owner, Owners},
    },
    purchase::{caller::Caller, ledger::Ledger, payment::Declaration},
};
use ucp_trust::signature::SigningKey;
use ucp_wire::relay;

use self::{
    batch::LEAST,
    mandates::PLATFORMS,
    owners::nothing,
    peer::{Now, Peer, Question},
    profile::{ProfileError, Transport},
    response::{Told, Trouble},
};
use ucp_net::{
    self, Clock, CoalescingCache, Counters, Failure, Filled, Key, Random, Reach, Served, Staleness,
    coalescing::Capacity, outbound::SetupError as ClientError,
};

/// The key to sign with, if there is one.
pub type KeySource = Arc<dyn Fn() -> Option<Arc<SigningKey>> + Send + Sync>;

/// A credential for the shop. It prints as its type only.
#[derive(Clone)]
pub struct Token(Arc<str>);

impl Token {
    /// This credential.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    fn bearer(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Where a shop is, and how it is asked.
#[derive(Clone)]
pub struct Options {
    /// How it is called. The address is that of the business, or of its profile.
    pub call: ucp_net::Options,
    /// Over which transport, where that is not left to its profile.
    pub transport: Option<Transport>,
    /// In which release, where that is not the newest that both sides speak.
    pub release: Option<Release>,
    /// What is shown to it beside signatures.
    pub token: Option<Token>,
    /// How many identifiers one look-up may name there; found out where it is not known.
    pub most_ids: Option<usize>,
    /// How many answers are kept in memory.
    pub cache: Capacity,
    /// The address of the gateway, without trailing slash.
    pub base: String,
    /// What it signs with.
    pub key: KeySource,
    /// The time.
    pub now: Now,
    /// Where answers are kept under idempotency keys.
    pub ledger: Arc<dyn Ledger>,
    /// Where owners are remembered.
    pub owners: Arc<dyn Owners>,
}

/// Why there is no bridge to a shop.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Its address is of no use.
    #[error("The upstream {0}.")]
    Address(#[from] ClientError),
    /// Its profile cannot be fetched.
    #[error("The profile of the upstream cannot be fetched: {0}.")]
    Unreachable(#[from] Failure),
    /// It has no profile where one has to be.
    #[error("The upstream answers with status {0} where its profile has to be.")]
    Status(u16),
    /// Its profile is of no use.
    #[error("The profile of the upstream {0}.")]
    Profile(#[from] ProfileError),
}

/// The bridge to a shop. Clones are the same one.
#[derive(Clone)]
pub struct Bridge(Arc<Inner>);

struct Inner {
    options: Arc<Options>,
    peer: Peer,
    offering: Offering,
    handlers: Arc<[Declaration]>,
    release: Release,
    reads: CoalescingCache<Arc<Result<Told, Trouble>>>,
    /// How many identifiers one look-up may name, as far as that is known.
    most_ids: AtomicUsize,
    /// The keys of platforms with which mandates were negotiated, by their names in addresses of the gateway.
    platform_keys: Cache<Arc<str>, Arc<[Value]>>,
}

impl fmt::Debug for Bridge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bridge").field("peer", &self.0.peer).field("release", &self.0.release).finish_non_exhaustive()
    }
}

impl Bridge {
    /// A bridge to the shop, whose profile is fetched.
    ///
    /// # Errors
    /// When it cannot be, or there is nothing in it that both sides speak.
    pub async fn open(options: Options, clock: Clock, random: Random) -> Result<Self, SetupError> {
        let options = Arc::new(options);
        let peer = Peer::find(Arc::clone(&options), Arc::clone(&clock), random).await?;
        let known = peer.known();
        let counters = Arc::clone(peer.line().counters());
        let weigh = |result: &Arc<Result<Told, Trouble>>| match &**result {
            Ok(told) => told.body.written().map_or_else(|| weight(&told.body), Written::bytes),
            Err(_) => 256,
        };
        Ok(Self(Arc::new(Inner {
            offering: known.profile.offering.clone(),
            handlers: known.profile.handlers.clone().into(),
            release: known.release,
            reads: CoalescingCache::new(options.cache, weigh, clock, counters),
            most_ids: AtomicUsize::new(options.most_ids.unwrap_or(usize::MAX)),
            platform_keys: Cache::new(PLATFORMS.0),
            options,
            peer,
        })))
    }

    /// What happens between the gateway and the shop.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(self.0.peer.line().counters())
    }

    /// The release in which the shop is asked.
    #[must_use]
    pub fn release(&self) -> Release {
        self.0.release
    }

    /// Looks whether the shop offers what it did, and signs with the keys it did, if that was not done for a while.
    pub async fn refresh(&self) {
        self.0.peer.refresh(peer::TTL).await;
    }

    /// The keys with which the shop signs what is handed on as it is: public JSON Web Keys. None, where nothing is.
    #[must_use]
    pub fn sealing_keys(&self) -> Vec<Value> {
        self.0.peer.known().sealing_keys()
    }

    /// Has somebody told when the [`sealing_keys`](Self::sealing_keys) are others, before anything is handed on that
    /// was signed with them.
    pub fn whenever_keys_change(&self, listener: impl Fn(Vec<Value>) + Send + Sync + 'static) {
        self.0.peer.listen(Box::new(listener));
    }

    /// The keys of the platform with this [name](platform::name) with which mandates were negotiated, as far as they
    /// are known: public JSON Web Keys. They are known from each call of the platform, before the shop hears of it.
    #[must_use]
    pub fn platform_keys(&self, name: &str) -> Option<Arc<[Value]>> {
        self.0.platform_keys.get(name)
    }

    async fn relayed(&self, caller: &Caller, call: ForwardedCall) -> Result<ForwardedAnswer, Refusal> {
        let ForwardedCall { operation, release, id, payload, languages, key, trace } = call;
        if let Some(withdrawn) = self.withdrawn(operation) {
            return Ok(withdrawn);
        }
        let owned = match self.owned(caller, operation, id.as_deref(), &payload).await? {
            Some((kind, id, Some(owned))) => Some((kind, id.to_owned(), owned)),
            Some((kind, _, None)) => return Ok(nothing(kind)),
            None => None,
        };
        let mandates = match &owned {
            Some((.., owned)) => owned.owner.mandates,
            None => operation.row().class != Class::Browsing && caller.has(AP2_MANDATE),
        };
        let signs = mandates && operation.row().resource == Resource::Checkout;
        if signs {
            self.can_be_signed_for(release)?;
        }
        let question = Question {
            operation,
            payload: relay::request(release, self.0.release, operation, id.as_deref(), payload),
            id,
            languages,
            key: key.map(|key| portable(&caller.owner, &key)),
            mandates: mandates.then(|| self.introduce(caller)),
            trace,
        };
        let told = match operation {
            Operation::LookupCatalog => self.look_up(&question).await,
            Operation::CompleteCheckout => self.complete(&question).await,
            _ if operation.row().class == Class::Browsing => self.read(&question).await,
            _ if operation.row().effect.writes() => self.change(&question).await,
            _ => self.0.peer.ask(&question).await,
        };
        if let Err(Trouble::Gone(_)) = &told {
            // Perhaps it says so itself by now.
            self.0.peer.refresh(peer::KEY_FLOOR).await;
            if let Some(withdrawn) = self.withdrawn(operation) {
                return Ok(withdrawn);
            }
        }
        let Told { mut status, body } = told?;
        if release == self.0.release && body.written().is_some() {
            return Ok(ForwardedAnswer { body, sealed: false, status });
        }
        let mut body = relay::answer(self.0.release, release, operation, body.into());
        let failure = relay::is_failure(&body);
        if failure {
            status = if status == 409 || is_over(&body) { 409 } else { 200 };
        } else if operation.row().effect == Effect::Creating {
            // A shop that is asked over MCP does not say whether it made something.
            status = if self.0.peer.speaks(Transport::Mcp) { 201 } else { status };
        }
        if !failure {
            let owner = Owner { platform: caller.owner.clone(), release, mandates };
            self.remember(&owner, operation, owned, &body).await?;
        }
        let sealed = signs && !failure;
        if sealed {
            body = self.verified(body).await?;
        } else {
            body.shift_remove("ap2");
        }
        Ok(ForwardedAnswer { body: body.into(), sealed, status })
    }

    /// The answer about an operation that the shop had when the gateway began, and has no more.
    fn withdrawn(&self, operation: Operation) -> Option<ForwardedAnswer> {
        if self.0.peer.known().offers(operation) || !self.0.offering.operations.contains(&operation) {
            return None;
        }
        let content = format!(
            "The shop does not offer `{}` ({}) any more. It can be asked again when the shop does.",
            operation.row().name,
            operation.row().capability
        );
        Some(failed("capabilities_incompatible", &content))
    }

    /// A read that equal ones share, unless it is about a buyer.
    async fn read(&self, question: &Question) -> Result<Told, Trouble> {
        let freshness = question.operation.row().freshness.filter(|_| is_anybodys(&question.payload));
        let Some(freshness) = freshness else { return self.0.peer.ask(question).await };
        let languages = question.languages.join(",");
        let key = Key::of([
            self.0.release.date(),
            question.operation.row().name,
            languages.as_str(),
            question.payload.to_string().as_str(),
        ]);
        let fill = || {
            let (bridge, question) = (self.clone(), question.clone());
            async move {
                match bridge.0.peer.ask(&question).await {
                    Ok(told) if told.is_failure() => Ok(Filled::Missing(Arc::new(Ok(told)))),
                    Ok(told) => Ok(Filled::Found(Arc::new(Ok(told.written_down())))),
                    Err(Trouble::Failure(failure)) => Err(failure),
                    Err(refused) => Ok(Filled::Once(Arc::new(Err(refused)))),
                }
            }
        };
        let Served { value, age, stale } = self.0.reads.get(&key, freshness, fill).await?;
        let mut told = (*value).clone()?;
        if stale == Some(Staleness::Failed) {
            tracing::debug!(operation = question.operation.row().name, "an older answer is served");
            let minutes = (age.as_secs() / 60).max(1);
            let content = format!(
                "The shop does not answer at the moment. What is shown is about {minutes} min old; prices and availability \
                 may have changed."
            );
            let messages = batch::elements(told.body.to_mut(), "messages");
            messages.push(json!({ "type": "warning", "code": "stale", "content": content }));
        }
        Ok(told)
    }

    /// A look-up, in as many parts as the shop needs. However few it takes at once, one call does not become very many.
    async fn look_up(&self, question: &Question) -> Result<Told, Trouble> {
        let Some(ids) = batch::ids(&question.payload) else { return self.read(question).await };
        if ids.len() > MAX_IDS {
            return Err(lookup::too_many(ids.len(), MAX_IDS).into());
        }
        loop {
            let most = self.0.most_ids.load(Ordering::Relaxed).max(1);
            let whole = ids.len() <= most;
            let parts = join_all(ids.chunks(most).map(|part| async move {
                if whole {
                    return (part, self.read(question).await);
                }
                let payload = batch::slice(&question.payload, part);
                (part, self.read(&Question { payload, ..question.clone() }).await)
            }));
            let parts = parts.await;
            let asked = ids.len().min(most);
            if asked > LEAST && parts.iter().any(|(_, result)| is_too_large(result)) {
                let learned = (asked / 2).max(LEAST);
                tracing::info!(ids = learned, "the shop takes fewer identifiers at once");
                self.0.most_ids.fetch_min(learned, Ordering::Relaxed);
                continue;
            }
            return batch::merge(parts);
        }
    }

    /// A change. Where it is not known whether it was made, it is asked for once more, if that cannot make it twice.
    async fn change(&self, question: &Question) -> Result<Told, Trouble> {
        let result = self.0.peer.ask(question).await;
        let Err(Trouble::Failure(failure)) = &result else { return result };
        let repeatable = question.key.is_some() || question.operation.row().effect == Effect::Replacing;
        if failure.reach() == Reach::Never || !repeatable {
            return result;
        }
        tracing::info!(operation = question.operation.row().name, "a change of unknown end is asked for again");
        self.0.peer.ask(question).await
    }

    /// A completion. Where its end is not known, the checkout is looked at.
    async fn complete(&self, question: &Question) -> Result<Told, Trouble> {
        let result = self.0.peer.ask(question).await;
        let Err(Trouble::Failure(failure)) = &result else { return result };
        if failure.reach() == Reach::Never {
            return result;
        }
        let look = Question { operation: Operation::GetCheckout, payload: Value::Null, key: None, ..question.clone() };
        match self.0.peer.ask(&look).await {
            Ok(told) if told.body.get("status").is_some_and(|status| status == "completed" || status == "complete_in_progress") => {
                Ok(told)
            }
            Ok(told) if !relay::is_failure(&told.body) => Err(Refusal::unavailable(
                "The shop did not say how the purchase ended; the checkout is still open. Repeat the call with the same \
                 idempotency key.",
                2,
            )
            .into()),
            _ => result,
        }
    }
}

#[async_trait]
impl UcpUpstream for Bridge {
    fn offering(&self) -> Offering {
        self.0.offering.clone()
    }

    fn payment_handlers(&self) -> Arc<[Declaration]> {
        Arc::clone(&self.0.handlers)
    }

    fn ledger(&self) -> &dyn Ledger {
        &*self.0.options.ledger
    }

    fn now(&self) -> Timestamp {
        (self.0.options.now)()
    }

    async fn forward(&self, caller: &Caller, call: ForwardedCall) -> Result<ForwardedAnswer, Refusal> {
        self.relayed(caller, call).await
    }
}

/// An idempotency key as every transport takes it. A UUID is handed on; from others one is made, which depends on whose
/// it is: the shop knows all callers as one.
fn portable(owner: &str, key: &str) -> String {
    if uuid::Uuid::try_parse(key).is_ok_and(|uuid| uuid.hyphenated().to_string() == key.to_ascii_lowercase()) {
        return key.to_owned();
    }
    digest_id(&[owner.as_bytes(), &[0], key.as_bytes()].concat())
}

/// The UUID that is made of these bytes.
fn digest_id(bytes: &[u8]) -> String {
    let mut id = [0; 16];
    id.copy_from_slice(&Sha256::digest(bytes)[..16]);
    uuid::Builder::from_custom_bytes(id).into_uuid().to_string()
}

/// Whether an answer to these is the same whoever asks.
fn is_anybodys(payload: &Value) -> bool {
    let states = |name: &str| payload.get(name).is_some_and(|stated| !stated.is_null());
    !states("signals") && !states("attribution") && !states("buyer") && payload["context"]["eligibility"].is_null()
}

/// An answer that there is nothing to return, for this reason.
fn failed(code: &str, content: &str) -> ForwardedAnswer {
    let message = json!({ "type": "error", "code": code, "content": content, "severity": "unrecoverable" });
    let members = [("ucp".to_owned(), json!({ "status": "error" })), ("messages".to_owned(), json!([message]))];
    ForwardedAnswer { body: Map::from_iter(members).into(), sealed: false, status: 200 }
}

/// Whether there is nothing to return because a checkout is past what was asked (trap T-21).
fn is_over(body: &Map<String, Value>) -> bool {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    messages
        .into_iter()
        .any(|message| message["code"] == "checkout_completed" || message["code"] == "checkout_canceled")
}

fn is_too_large(result: &Result<Told, Trouble>) -> bool {
    matches!(result, Err(Trouble::Refusal(refusal)) if refusal.code == Code::RequestTooLarge)
}

/// About how many bytes a document takes in memory.
fn weight(members: &Map<String, Value>) -> usize {
    fn of(value: &Value) -> usize {
        const SLOT: usize = 48;
        SLOT + match value {
            Value::String(text) => text.len(),
            Value::Array(elements) => elements.iter().map(of).sum(),
            Value::Object(members) => weight(members),
            _ => 0,
        }
    }
    members.iter().map(|(name, value)| 2 * name.len() + of(value)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_uuids_and_nobody_elses() {
        let own = "6b1b2a3e-27c1-4c54-9d43-2d7f2a1f0c11";
        assert_eq!(portable("a", own), own);
        let made = portable("a", "not-a-uuid-but-long-enough");
        assert!(uuid::Uuid::try_parse(&made).is_ok());
        assert_eq!(made, portable("a", "not-a-uuid-but-long-enough"));
        assert_ne!(made, portable("b", "not-a-uuid-but-long-enough"));
        assert_ne!(made, portable("a", "not-a-uuid-but-long-enough2"));
    }

    #[test]
    fn what_depends_on_the_buyer_is_not_shared() {
        assert!(is_anybodys(&json!({ "query": "x", "context": { "address_country": "US" } })));
        for personal in [
            json!({ "signals": { "dev.ucp.buyer_ip": "192.0.2.1" } }),
            json!({ "context": { "eligibility": ["com.example.member"] } }),
            json!({ "attribution": { "campaign": "x" } }),
        ] {
            assert!(!is_anybodys(&personal), "{personal}");
        }
    }
}
