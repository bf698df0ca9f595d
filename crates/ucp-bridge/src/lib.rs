//! Bridge to a shop that speaks UCP itself, on one transport or in one release: the gateway serves all of them in front
//! of it.
//!
//! The bridge decides nothing. A call is written in the shop's release and sent over the shop's transport, and the
//! answer is written in the caller's release; unknown members pass unchanged. Only the identity of the caller is the
//! gateway's own: the shop knows one platform, the gateway, under the gateway's profile and keys, and callers'
//! credentials are never forwarded.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`profile`] | the shop's profile: releases, endpoints, operations |
//! | [`platform`] | the gateway's profiles as a platform |
//! | `owners` | ownership of carts, checkouts and orders that the shop stores |
//! | [`webhook`] | the shop's webhook events about orders |
//! | [`following`] | orders that the shop is asked about |
//! | `demands` | what the shop's release requires of a payload |
//! | `discovery` | discovery of the shop by its profile |
//! | `peer` | calls of the shop, and verification of its answers |
//! | `introduction` | headers that identify the gateway, and signatures of requests |
//! | `mcp` | the MCP transport: tools, sessions, streams of events |
//! | `response` | classification of answers and refusals |
//! | `mandates` | checkouts signed by the shop, and keys for mandates |
//! | `validation` | validation of answers before they are forwarded |
//! | `twice` | members that an answer names twice |
//! | `batch` | lookups that are too large for one call of the shop |
//!
//! Guarantees:
//!
//! - What a platform has not created here does not exist for it, whatever the shop would return.
//! - What the shop has signed for a buyer's mandate is forwarded unchanged, to callers of its own release alone, and
//!   only if the signature is valid under the keys that the gateway publishes for the shop.
//! - Carts, checkouts and orders are never answered from the cache.
//! - A change whose result is unknown is repeated once, and only if the shop's release has an idempotency key for it, or
//!   if it replaces a resource; a completion is not repeated: its checkout is read instead.
//! - An answer with a fault is not forwarded, however the shop came to it; a purchase that the shop has completed is told
//!   all the same, without what is faulty about it.
//! - A checkout that the shop once called completed is never completed again, and one that it was asked to complete is
//!   read before it is asked again. Both are on disk.

mod batch;
mod demands;
mod discovery;
pub mod following;
mod introduction;
mod mandates;
mod mcp;
mod owners;
mod peer;
pub mod platform;
pub mod profile;
mod response;
mod twice;
mod validation;
pub mod webhook;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::join_all;
use http::HeaderValue;
use jiff::{SignedDuration, Timestamp};
use quick_cache::sync::Cache;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};
use ucp_core::{
    Code, Operation, Refusal, Release,
    catalog::lookup,
    operation::{AP2_MANDATE, Class, Effect, Resource, SHOPPING, SupportedOperations},
    ports::{
        ForwardedAnswer, ForwardedCall, MAX_IDS, UcpUpstream, Written,
        caller::Caller,
        ledger::Ledger,
        owners::{Kind, Owner, Owners},
    },
    purchase::payment::Declaration,
};
use ucp_trust::signature::SigningKey;
use ucp_wire::{dialect, relay};
use url::Origin;

use self::{
    batch::LEAST,
    mandates::PLATFORMS,
    owners::nothing,
    peer::{Now, Peer, Question},
    profile::{ProfileError, Transport},
    response::{IN_PROGRESS, Told, Trouble},
};
use ucp_net::{
    self, Clock, CoalescingCache, Counters, Failure, Filled, Key, Random, Reach, Served, Staleness,
    coalescing::Capacity, outbound::SetupError as ClientError,
};

/// Age from which an answer says as of when its facts are.
const DATED_FROM: Duration = Duration::from_secs(10);

/// Returns the key to sign with, if there is one.
pub type KeySource = Arc<dyn Fn() -> Option<Arc<SigningKey>> + Send + Sync>;

/// Bearer token for the shop. Its `Debug` form does not contain it.
#[derive(Clone)]
pub struct Token(Arc<str>);
ucp_core::opaque!(Token);

impl Token {
    /// Creates a token from its text.
    pub fn new(text: &str) -> Self {
        Self(text.into())
    }

    fn bearer(&self) -> Option<HeaderValue> {
        HeaderValue::from_str(&format!("Bearer {}", self.0)).ok()
    }
}

/// Options for the connection to a shop.
#[derive(Clone)]
pub struct Options {
    /// Options for calls. The address is that of the business, or of its profile.
    pub call: ucp_net::Options,
    /// Transport to use; `None` to choose by the shop's profile.
    pub transport: Option<Transport>,
    /// Release to use; `None` for the newest that both sides speak.
    pub release: Option<Release>,
    /// Bearer token to send beside signatures.
    pub token: Option<Token>,
    /// Maximum number of identifiers in one lookup at the shop; found by trying if `None`.
    pub most_ids: Option<usize>,
    /// Origins of the shop to which answers may send buyers, besides those of its profile and its endpoint.
    pub origins: Vec<Origin>,
    /// Limits of the cache of answers.
    pub cache: Capacity,
    /// Address of the gateway, without trailing slash.
    pub base: String,
    /// Source of the key that requests are signed with.
    pub key: KeySource,
    /// Source of the current time.
    pub now: Now,
    /// Store of answers by idempotency key.
    pub ledger: Arc<dyn Ledger>,
    /// Store of owners.
    pub owners: Arc<dyn Owners>,
    /// Profile that the shop sent to an earlier process, for a shop that is down; see [`Bridge::document`].
    pub last: Option<Bytes>,
}

/// Reason why no bridge to a shop can be opened.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// The address cannot be used.
    #[error("The upstream {0}.")]
    Address(#[from] ClientError),
    /// The profile cannot be fetched.
    #[error("The profile of the upstream cannot be fetched: {0}.")]
    Unreachable(#[from] Failure),
    /// The address of the profile answers with another status than success.
    #[error("The upstream answers with status {0} where its profile has to be.")]
    Status(u16),
    /// The profile cannot be used.
    #[error("The profile of the upstream {0}.")]
    Profile(#[from] ProfileError),
    /// The profile declares no operation.
    #[error(
        "The upstream offers nothing to call in release {release}: its profile declares none of the capabilities {known}."
    )]
    Nothing {
        /// Release in which the shop would be called.
        release: Release,
        /// Capabilities that the gateway knows in this release.
        known: String,
    },
}

impl SetupError {
    /// Returns `true` if the shop is down or busy, so that it may be opened later without a change of the options.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable(failure) => failure.is_passing(),
            Self::Status(status) => matches!(status, 408 | 429 | 500..),
            Self::Address(_) | Self::Profile(_) | Self::Nothing { .. } => false,
        }
    }
}

/// Bridge to a shop. Clones share its state.
#[derive(Clone)]
pub struct Bridge(Arc<BridgeState>);
ucp_core::opaque!(Bridge);

struct BridgeState {
    options: Arc<Options>,
    peer: Peer,
    offering: SupportedOperations,
    handlers: Arc<[Declaration]>,
    release: Release,
    reads: CoalescingCache<Arc<Result<Told, Trouble>>>,
    /// Maximum number of identifiers in one lookup, as far as it is known; `usize::MAX` otherwise.
    most_ids: AtomicUsize,
    /// Public keys of platforms with which mandates were negotiated, by their [names](platform::name).
    platform_keys: Cache<Arc<str>, Arc<[Value]>>,
}

impl Bridge {
    /// Opens a bridge to the shop, whose profile is fetched. If the shop is down, the [last known](Options::last)
    /// profile is used. Fails with [`SetupError`] if the profile cannot be fetched and none is known, names no release
    /// or transport that both sides speak, or declares no operation.
    pub async fn open(options: Options, clock: Clock, random: Random) -> Result<Self, SetupError> {
        let options = Arc::new(options);
        let peer = Peer::find(Arc::clone(&options), Arc::clone(&clock), random).await?;
        let known = peer.known();
        if known.profile.offering.operations.is_empty() {
            return Err(SetupError::Nothing { release: known.release, known: capabilities(known.release) });
        }
        let counters = Arc::clone(peer.line().counters());
        let weigh = |result: &Arc<Result<Told, Trouble>>| match &**result {
            Ok(told) => told.body.written().map_or_else(|| weight(&told.body), Written::bytes),
            Err(_) => 256,
        };
        Ok(Self(Arc::new(BridgeState {
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

    /// Returns the counters of calls to the shop.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(self.0.peer.line().counters())
    }

    /// Returns the shop's profile as the shop sent it; `None` if it has not sent one since the bridge was opened.
    pub fn document(&self) -> Option<Bytes> {
        let known = self.0.peer.known();
        known.since.map(|_| known.document.clone())
    }

    /// Returns the release in which the shop is called.
    pub fn release(&self) -> Release {
        self.0.release
    }

    /// Fetches the shop's profile again if it is older than five minutes, for changes of its operations and keys.
    pub async fn refresh(&self) {
        self.0.peer.refresh(peer::TTL).await;
    }

    /// Returns the public JSON Web Keys with which the shop signs what is forwarded unchanged; empty if nothing is.
    pub fn sealing_keys(&self) -> Vec<Value> {
        self.0.peer.known().sealing_keys()
    }

    /// Sets the listener that is called when the [`sealing_keys`](Self::sealing_keys) change, before anything signed
    /// with the new ones is forwarded. Only the first listener is kept.
    pub fn whenever_keys_change(&self, listener: impl Fn(Vec<Value>) + Send + Sync + 'static) {
        self.0.peer.listen(Box::new(listener));
    }

    /// Returns the public JSON Web Keys of the platform with this [name](platform::name) if mandates were negotiated
    /// with it and its keys are known. They become known with each call of the platform, before the shop is called.
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
        let mut question = Question {
            operation,
            payload: relay::request(release, self.0.release, operation, id.as_deref(), payload),
            id,
            languages,
            key: key.map(|key| portable(&caller.owner, &key)),
            mandates: mandates.then(|| self.introduce(caller)),
            trace,
        };
        self.supply(&mut question).await;
        let owner = Owner { platform: caller.owner.clone(), release, mandates };
        let told = match operation {
            Operation::LookupCatalog => self.look_up(&question).await,
            Operation::CompleteCheckout => self.complete(&owner, &question).await,
            _ if operation.row().class == Class::Browsing => self.read(&question).await,
            _ if operation.row().effect.writes() => self.change(&question).await,
            _ => self.ask(&question).await,
        };
        if let Err(Trouble::Gone(_)) = &told {
            // The shop's profile may no longer declare the operation.
            self.0.peer.refresh(peer::KEY_FLOOR).await;
            if let Some(withdrawn) = self.withdrawn(operation) {
                return Ok(withdrawn);
            }
        }
        let completed = match &told {
            Ok(told) => told.completed,
            Err(trouble) => matches!(trouble, Trouble::Unusable { completed: true, .. }),
        };
        if completed && let Some(id) = stated_id(&question, &told) {
            self.note(Kind::Purchase, &id, &owner).await;
        }
        let Told { mut status, body, .. } = told?;
        if release == self.0.release && body.written().is_some() {
            return Ok(ForwardedAnswer { body, sealed: false, status });
        }
        let mut body = relay::answer(self.0.release, release, operation, body.into());
        let failure = relay::is_failure(&body);
        if failure {
            status = if status == 409 || is_over(&body) { 409 } else { 200 };
        } else if operation.row().effect == Effect::Creating {
            // A shop that is called over MCP does not report if it created something.
            status = if self.0.peer.speaks(Transport::Mcp) { 201 } else { status };
        } else if status == 201 {
            // Only what creates something answers so; some shops also complete with it.
            status = 200;
        }
        if !failure {
            match self.remember(&owner, operation, owned, &body).await {
                Err(refusal) if completed => {
                    tracing::error!(%refusal, "recording the owner of an order failed; it has none until its checkout is read again");
                }
                remembered => remembered?,
            }
        }
        let mut sealed = signs && !failure;
        if sealed {
            match self.verified(&body).await {
                // Nothing is agreed on any more, and the purchase has to be told.
                Err(_) if completed || body.get("status").is_some_and(|status| status == IN_PROGRESS) => sealed = false,
                verified => verified?,
            }
        }
        if !sealed {
            body.shift_remove("ap2");
        }
        Ok(ForwardedAnswer { body: body.into(), sealed, status })
    }

    /// Returns the answer about an operation that the shop offered when the gateway started and no longer offers.
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

    /// Reads something; identical reads share one answer, unless they depend on the buyer.
    async fn read(&self, question: &Question) -> Result<Told, Trouble> {
        let freshness = question.operation.row().freshness.filter(|_| is_anybodys(&question.payload));
        let Some(freshness) = freshness else { return self.ask(question).await };
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
                match bridge.ask(&question).await {
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
            tracing::debug!(operation = question.operation.row().name, "serving a stale cached response");
            let minutes = (age.as_secs() / 60).max(1);
            let content = format!(
                "The shop does not answer at the moment. What is shown is about {minutes} min old; prices and availability \
                 may have changed."
            );
            let messages = batch::elements(told.body.to_mut(), "messages");
            messages.push(json!({ "type": "warning", "code": "stale", "content": content }));
        } else if age >= DATED_FROM
            && let Ok(as_of) = (self.0.options.now)().checked_sub(SignedDuration::try_from(age).unwrap_or_default())
        {
            let content = format!("Prices and availability are those of {as_of:.0}, when the shop was asked last.");
            let messages = batch::elements(told.body.to_mut(), "messages");
            messages.push(json!({ "type": "info", "code": "facts_as_of", "content": content }));
        }
        Ok(told)
    }

    /// Looks up identifiers in as many calls as the shop needs. At most [`MAX_IDS`] are accepted, which limits the
    /// calls.
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
                tracing::info!(ids = learned, "upstream accepts fewer identifiers per request");
                self.0.most_ids.fetch_min(learned, Ordering::Relaxed);
                continue;
            }
            return batch::merge(parts);
        }
    }

    /// Makes a change. If it is unknown whether the change was made, it is requested once more, if that cannot make it
    /// twice.
    async fn change(&self, question: &Question) -> Result<Told, Trouble> {
        let result = self.ask(question).await;
        let Err(Trouble::Failure(failure)) = &result else { return result };
        let once = question.key.is_some() && self.0.peer.honors_key(question.operation);
        let repeatable = once || question.operation.row().effect == Effect::Replacing;
        if failure.reach() == Reach::Never || !repeatable {
            return result;
        }
        tracing::info!(operation = question.operation.row().name, "retrying a write with unknown outcome");
        self.ask(question).await
    }

    /// Completes a checkout. If the result is unknown, the checkout is read instead, and so is one that the shop was asked
    /// to complete before, by this process or an earlier one.
    async fn complete(&self, owner: &Owner, question: &Question) -> Result<Told, Trouble> {
        let id = question.id.as_deref().unwrap_or_default();
        let owners = &self.0.options.owners;
        if owners.owned(Kind::Purchase, id).await.map_err(Refusal::from)?.is_some() {
            return Ok(Told::new(409, over()));
        }
        if owners.owned(Kind::Completion, id).await.map_err(Refusal::from)?.is_some() {
            match self.standing(question).await {
                Ok(told) if told.is_failure() || told.is_concluded() => return Ok(told),
                Ok(_) => {}
                Err(trouble) => return Err(trouble),
            }
        } else {
            let now = (self.0.options.now)();
            owners.claim(Kind::Completion, id, owner, now).await.map_err(Refusal::from)?;
        }
        let result = self.ask(question).await;
        let unknown = match &result {
            Ok(told) if told.is_declined() && question.mandates.is_none() => {
                return Ok(self.declined(question, told).await);
            }
            Err(Trouble::Failure(failure)) => failure.reach() != Reach::Never,
            Err(Trouble::Unusable { completed, .. }) => {
                if *completed {
                    self.note(Kind::Purchase, id, owner).await;
                }
                true
            }
            _ => false,
        };
        if !unknown {
            return result;
        }
        match self.standing(question).await {
            Ok(told) if told.is_concluded() => Ok(told),
            Ok(told) if !told.is_failure() && matches!(result, Err(Trouble::Failure(_))) => Err(Refusal::unavailable(
                "The shop did not say how the purchase ended; the checkout is still open. Repeat the call with the same \
                 idempotency key.",
                2,
            )
            .into()),
            _ => result,
        }
    }

    /// Returns a checkout as it stands at the shop.
    async fn standing(&self, question: &Question) -> Result<Told, Trouble> {
        let look = Question { operation: Operation::GetCheckout, payload: Value::Null, key: None, ..question.clone() };
        self.ask(&look).await
    }

    /// Keeps on disk how far the purchase of a checkout has come. Where that fails, the shop is asked again.
    pub(crate) async fn note(&self, kind: Kind, id: &str, owner: &Owner) {
        let (owners, now) = (&self.0.options.owners, (self.0.options.now)());
        let noted = match owners.owned(kind, id).await {
            Ok(None) => owners.claim(kind, id, owner, now).await.map(drop),
            known => known.map(drop),
        };
        if let Err(error) = noted {
            tracing::error!(error = %Refusal::from(error), "recording a completed upstream checkout failed");
        }
    }

    /// Returns the checkout whose payment was declined, which says so; or the answer itself if the checkout cannot be
    /// read.
    async fn declined(&self, question: &Question, told: &Told) -> Told {
        let Ok(mut checkout) = self.standing(question).await else { return told.clone() };
        if checkout.is_failure() || !checkout.body.contains_key("id") {
            return told.clone();
        }
        let said = told.body.get("messages").and_then(Value::as_array).cloned().unwrap_or_default();
        batch::elements(checkout.body.to_mut(), "messages").extend(said);
        checkout
    }
}

#[async_trait]
impl UcpUpstream for Bridge {
    fn offering(&self) -> SupportedOperations {
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

/// Returns the capabilities with operations in a release, each once, separated by commas.
fn capabilities(release: Release) -> String {
    let callable =
        |operation: &&Operation| operation.row().service == SHOPPING && dialect(release).shapes(**operation).is_some();
    let mut names: Vec<_> =
        Operation::ALL.iter().filter(callable).map(|operation| operation.row().capability).collect();
    names.dedup();
    names.join(", ")
}

/// Returns an idempotency key in a form that every transport takes. A UUID is kept; any other key is replaced by a UUID
/// derived from it and its owner: to the shop, all callers are one platform.
fn portable(owner: &str, key: &str) -> String {
    if uuid::Uuid::try_parse(key).is_ok_and(|uuid| uuid.hyphenated().to_string() == key.to_ascii_lowercase()) {
        return key.to_owned();
    }
    digest_id(&[owner.as_bytes(), &[0], key.as_bytes()].concat())
}

/// Returns the UUID derived from the SHA-256 of these bytes.
fn digest_id(bytes: &[u8]) -> String {
    let mut id = [0; 16];
    id.copy_from_slice(&Sha256::digest(bytes)[..16]);
    uuid::Builder::from_custom_bytes(id).into_uuid().to_string()
}

/// Returns `true` if the answer to a payload does not depend on the buyer.
fn is_anybodys(payload: &Value) -> bool {
    let states = |name: &str| payload.get(name).is_some_and(|stated| !stated.is_null());
    !states("signals") && !states("attribution") && !states("buyer") && payload["context"]["eligibility"].is_null()
}

/// Returns an answer without a result, with this reason.
fn failed(code: &str, content: &str) -> ForwardedAnswer {
    ForwardedAnswer { body: failure(code, content).into(), sealed: false, status: 200 }
}

fn failure(code: &str, content: &str) -> Map<String, Value> {
    let message = json!({ "type": "error", "code": code, "content": content, "severity": "unrecoverable" });
    Map::from_iter([("ucp".to_owned(), json!({ "status": "error" })), ("messages".to_owned(), json!([message]))])
}

/// Returns the answer that a checkout is completed already (trap T-21).
fn over() -> Map<String, Value> {
    failure("checkout_completed", "A checkout that is `completed` cannot be completed. `get_checkout` shows its order.")
}

/// Returns the identifier of the checkout that a call or its answer is about.
fn stated_id(question: &Question, told: &Result<Told, Trouble>) -> Option<String> {
    let answered = || Some(told.as_ref().ok()?.body.get("id")?.as_str()?.to_owned());
    let about = question.operation.row().resource == Resource::Checkout;
    question.id.clone().filter(|_| about).or_else(|| answered().filter(|_| about))
}

/// Returns `true` if there is no result because a checkout is already completed or canceled (trap T-21).
fn is_over(body: &Map<String, Value>) -> bool {
    let messages = body.get("messages").and_then(Value::as_array).into_iter().flatten();
    messages
        .into_iter()
        .any(|message| message["code"] == "checkout_completed" || message["code"] == "checkout_canceled")
}

fn is_too_large(result: &Result<Told, Trouble>) -> bool {
    matches!(result, Err(Trouble::Refusal(refusal)) if refusal.code == Code::RequestTooLarge)
}

/// Returns the approximate size of a document in memory, in bytes.
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
