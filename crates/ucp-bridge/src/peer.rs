//! The shop as a peer: calls over one transport in one release.

use std::{
    sync::{Arc, OnceLock, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use http::{HeaderName, HeaderValue, Method, header};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use ucp_core::{
    Operation, Refusal,
    operation::{Class, Effect, Method as RowMethod},
    ports::Trace,
};
use ucp_trust::{
    mandate::{MandateError, verify_authorization},
    signature::{Message, Signed, Start, Verified, detached::Detached},
};
use ucp_wire::{dialect, dialect::Seal};
use url::Url;

use super::{
    Options, SetupError, Token,
    discovery::{KnownProfile, Lines, discover, profile_address, recall},
    introduction::{introduce, sign},
    mcp::{self, Sessions},
    platform::profile_path,
    profile::Transport,
    response::{self, Told, Trouble},
};
use ucp_net::{CallKind, Clock, Random, Received, Upstream, UpstreamRequest, path::below};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Time for which a profile is fresh.
pub(super) const TTL: Duration = Duration::from_secs(300);

/// Time until the next attempt after a profile could not be fetched.
const PAUSE: Duration = Duration::from_secs(30);

/// Number of elements of a list that shops are taken to be asked for at most.
const MOST_LISTED: usize = 100;

/// Minimum time between fetches of a profile that lacks something, such as a key (rule AGT-06).
pub(super) const KEY_FLOOR: Duration = Duration::from_secs(60);

/// A call of the shop.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) operation: Operation,
    pub(super) id: Option<String>,
    /// Payload, in the shop's release.
    pub(super) payload: Value,
    /// Languages that the caller named beside the payload.
    pub(super) languages: Vec<String>,
    /// Idempotency key, in a form that every transport takes.
    pub(super) key: Option<String>,
    /// [Name](super::platform::name) of the caller, if mandates were negotiated with it.
    pub(super) mandates: Option<Arc<str>>,
    /// Request identifier and trace context of the call.
    pub(super) trace: Trace,
}

/// The shop.
pub(super) struct Peer {
    options: Arc<Options>,
    address: Url,
    clock: Clock,
    random: Random,
    known: RwLock<Arc<KnownProfile>>,
    lines: Lines,
    sessions: Sessions,
    /// Held while the profile is being renewed.
    renewing: tokio::sync::Mutex<Renewing>,
    /// Called when the keys change with which the shop signs what is forwarded unchanged.
    listener: OnceLock<Listener>,
}
ucp_core::opaque!(Peer);

/// Listener for keys, as JSON Web Keys.
pub(super) type Listener = Box<dyn Fn(Vec<Value>) + Send + Sync>;

/// Times of fetches of the profile.
#[derive(Debug, Default)]
struct Renewing {
    /// Time of the next attempt, after a failed one.
    paused: Option<Instant>,
    /// Time of the last fetch for an unknown key or an invalid signature.
    for_key: Option<Instant>,
}

impl Peer {
    /// Discovers the shop. If it is down, the [last known](Options::last) profile is used, if there is one.
    pub(super) async fn find(options: Arc<Options>, clock: Clock, random: Random) -> Result<Self, SetupError> {
        let address = profile_address(&options.call.address);
        let lines = Lines::default();
        let known = match (discover(&address, options.release, &lines, &options, &clock, &random).await, &options.last)
        {
            (Err(error), Some(last)) if error.is_passing() => {
                recall(last.clone(), &lines, &options, &clock, &random).map_err(|_| error)?
            }
            (discovered, _) => discovered?,
        };
        let known = Arc::new(known);
        tracing::info!(
            release = %known.release,
            transport = known.transport.as_str(),
            endpoint = %known.endpoint,
            known = if known.since.is_some() { "from its profile" } else { "from its profile of an earlier start" },
            "upstream speaks UCP"
        );
        let own = [&options.call.address, &known.endpoint].map(Url::origin);
        for site in known.profile.sites.iter().filter(|site| !own.contains(site) && !options.origins.contains(site)) {
            tracing::warn!(
                site = site.ascii_serialization(),
                "upstream profile names another origin: responses whose `continue_url` leads there are rejected unless `upstream.origins` lists it"
            );
        }
        if dialect(known.release).seal() == Seal::Body && (options.key)().is_none() {
            tracing::warn!("upstream release requires signed requests, and the gateway has no signing key");
        }
        Ok(Self {
            options,
            address,
            clock,
            random,
            known: RwLock::new(known),
            lines,
            sessions: Sessions::default(),
            renewing: tokio::sync::Mutex::default(),
            listener: OnceLock::new(),
        })
    }

    /// Returns the latest result of the discovery.
    pub(super) fn known(&self) -> Arc<KnownProfile> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns `true` if the shop is called over this transport.
    pub(super) fn speaks(&self, transport: Transport) -> bool {
        self.known().transport == transport
    }

    /// Returns `true` if the shop's release has it carry out an operation once per idempotency key. On REST every release
    /// does; over MCP, the first release defines a key for nothing but completing and canceling.
    pub(super) fn honors_key(&self, operation: Operation) -> bool {
        let concludes = matches!(operation.row().effect, Effect::Concluding | Effect::Canceling);
        let known = self.known();
        concludes || known.transport == Transport::Rest || !dialect(known.release).has_methods()
    }

    /// Returns the upstream of the shop's endpoint.
    pub(super) fn line(&self) -> Upstream {
        self.known().line.clone()
    }

    /// Sets the listener for changes of the keys with which the shop signs what is forwarded unchanged. Only the first
    /// one is kept.
    pub(super) fn listen(&self, listener: Listener) {
        if self.listener.set(listener).is_err() {
            tracing::error!("upstream keys are already being watched");
        }
    }

    /// Fetches the profile again if it is older than `age`. If that fails, the earlier profile stays in use.
    pub(super) async fn refresh(&self, age: Duration) {
        let is_old = || self.known().since.is_none_or(|since| (self.clock)().saturating_duration_since(since) >= age);
        if !is_old() {
            return;
        }
        // A renewal that is under way is not waited for.
        let Ok(mut renewing) = self.renewing.try_lock() else { return };
        if is_old() && renewing.paused.is_none_or(|until| until <= (self.clock)()) {
            self.renew(&mut renewing).await;
        }
    }

    /// Returns the result of a new fetch of the profile, for something that cannot be verified with the keys in
    /// `known`. The first such fetch is immediate; further ones wait for [`KEY_FLOOR`], whatever keys are named.
    async fn renewed(&self, known: &Arc<KnownProfile>) -> Arc<KnownProfile> {
        // A second caller needs the result of the first.
        let mut renewing = self.renewing.lock().await;
        let now = (self.clock)();
        let soon = |at: Instant| now.saturating_duration_since(at) < KEY_FLOOR;
        if Arc::ptr_eq(known, &self.known()) && !renewing.for_key.is_some_and(soon) {
            renewing.for_key = Some(now);
            self.renew(&mut renewing).await;
        }
        self.known()
    }

    /// Fetches the profile in the release that the gateway started with, on which its own offering depends.
    async fn renew(&self, renewing: &mut Renewing) {
        let known = self.known();
        let Self { address, lines, options, clock, random, .. } = self;
        match discover(address, Some(known.release), lines, options, clock, random).await {
            Ok(found) => {
                renewing.paused = None;
                found.compare(&known, options.release.is_some());
                let keys = found.sealing_keys();
                *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
                if keys != known.sealing_keys()
                    && let Some(listener) = self.listener.get()
                {
                    tracing::info!("upstream signing keys changed");
                    listener(keys);
                }
            }
            Err(error) => {
                renewing.paused = Some((self.clock)() + PAUSE);
                tracing::warn!(%error, "refreshing the upstream profile failed");
            }
        }
    }

    /// Calls the shop. Fails with [`Trouble`] if the shop refuses, or there is no usable answer.
    pub(super) async fn ask(&self, question: &Question) -> Result<Told, Trouble> {
        self.refresh(TTL).await;
        let known = self.known();
        // REST requires a key of every change. One of the gateway's own promises nothing about a second attempt, so that
        // those who decide about one do not see it.
        let keyed;
        let question = if question.key.is_none() && question.operation.row().effect.writes() {
            keyed = Question { key: Some(uuid::Uuid::new_v4().to_string()), ..question.clone() };
            &keyed
        } else {
            question
        };
        match known.transport {
            Transport::Rest => self.ask_rest(&known, question).await,
            Transport::Mcp => self.ask_mcp(&known, question).await,
        }
    }

    async fn ask_rest(&self, known: &KnownProfile, question: &Question) -> Result<Told, Trouble> {
        let row = question.operation.row();
        let id = question.id.as_deref().unwrap_or_default();
        let segments = row.path.split('/').filter(|segment| !segment.is_empty());
        let url = below(&known.endpoint, segments.map(|segment| if segment == "{id}" { id } else { segment }));
        let url = url.ok_or_else(|| {
            let refusal = Refusal::invalid("$.id", "The identifier must not contain `.` or `..` as path segments.");
            Trouble::Refusal(refusal.accepting("an identifier that this gateway has handed out"))
        })?;
        let method = match row.method {
            RowMethod::Get => Method::GET,
            RowMethod::Post => Method::POST,
            RowMethod::Put => Method::PUT,
        };
        let mut upstream_request = UpstreamRequest::new(call_kind(row.effect), method, url);
        upstream_request.asked = Some(MOST_LISTED);
        if row.method != RowMethod::Get {
            let body = if question.payload.is_object() { question.payload.to_string() } else { "{}".to_owned() };
            upstream_request = upstream_request.json(body);
        }
        upstream_request = upstream_request.header(header::ACCEPT, HeaderValue::from_static("application/json"));
        let received = self.send(known, upstream_request, question).await?;
        if let Some(told) = response::rest_outcome(question.operation, &received) {
            return Ok(told);
        }
        if row.class == Class::Browsing { response::browsed(&received) } else { response::rest(&received) }
    }

    async fn ask_mcp(&self, known: &KnownProfile, question: &Question) -> Result<Told, Trouble> {
        let row = question.operation.row();
        let mut meta = Map::new();
        meta.insert("ucp-agent".to_owned(), json!({ "profile": self.agent(known, question.mandates.as_deref()) }));
        if let Some(key) = &question.key {
            meta.insert("idempotency-key".to_owned(), key.as_str().into());
        }
        let mut arguments = Map::from_iter([("meta".to_owned(), Value::Object(meta))]);
        if let Some(id) = &question.id {
            arguments.insert("id".to_owned(), id.as_str().into());
        }
        if let Some(name) = row.payload {
            let mut payload = question.payload.clone();
            // In other classes the shop returns the context as it was stated: nothing may be added to it.
            if row.class == Class::Browsing {
                state_language(&mut payload, &question.languages);
            }
            arguments.insert(name.to_owned(), payload);
        }
        let has_methods = dialect(known.release).has_methods();
        let (mut retried, mut other) = (false, false);
        loop {
            let session = self.sessions.current();
            let number = self.sessions.number();
            let methods = has_methods && self.sessions.methods() != other;
            let message = if methods { mcp::method } else { mcp::call }(number, row.name, &arguments);
            let upstream_request = self.message(known, call_kind(row.effect), &message, session.as_ref());
            let received = self.send(known, upstream_request, question).await?;
            // The shop may lack this one operation, or the form in which it was asked: that is known by the other one.
            if has_methods && !other && mcp::is_unknown(number, &received) {
                other = true;
                continue;
            }
            if other && mcp::is_carried_out(number, &received) {
                self.sessions.use_methods(methods);
            }
            if !retried && mcp::wants_session(&received) {
                retried = true;
                self.sessions.set(None);
                if self.begin(known, question).await {
                    continue;
                }
            }
            return mcp::read(question.operation, number, &received);
        }
    }

    /// Opens a session; returns `true` if there is one now.
    async fn begin(&self, known: &KnownProfile, question: &Question) -> bool {
        let number = self.sessions.number();
        let begun = self.message(known, CallKind::Read, &mcp::initialize(number), None);
        let Ok(received) = self.send(known, begun, question).await else { return false };
        let Some(session) = mcp::session(number, &received) else { return false };
        let complete = self.message(known, CallKind::Read, &mcp::initialized(), Some(&session));
        let done = self.send(known, complete, question).await.is_ok();
        if done {
            self.sessions.set(Some(session));
        }
        done
    }

    fn message(
        &self,
        known: &KnownProfile,
        call_kind: CallKind,
        message: &Value,
        session: Option<&mcp::Session>,
    ) -> UpstreamRequest {
        let number = message["id"].as_u64().unwrap_or_default();
        let mut upstream_request = UpstreamRequest::new(call_kind, Method::POST, known.endpoint.clone())
            .json(message.to_string())
            .header(header::ACCEPT, mcp::ACCEPT);
        (upstream_request.asked, upstream_request.ending) = (Some(MOST_LISTED), Some(mcp::ending(number)));
        if let Some(session) = session {
            upstream_request = upstream_request.header(mcp::PROTOCOL_VERSION, session.version.clone());
            if let Some(id) = &session.id {
                upstream_request = upstream_request.secret(mcp::SESSION, id.clone());
            }
        }
        upstream_request
    }

    /// Returns the address of the gateway's profile for the shop.
    fn agent(&self, known: &KnownProfile, mandates: Option<&str>) -> String {
        format!("{}{}", self.options.base, profile_path(known.release, mandates))
    }

    /// Sends a request as the gateway; an answer is accepted if its signature is valid, or if it has none.
    async fn send(
        &self,
        known: &KnownProfile,
        mut upstream_request: UpstreamRequest,
        question: &Question,
    ) -> Result<Received, Trouble> {
        let headers = &mut upstream_request.headers;
        introduce(headers, &self.agent(known, question.mandates.as_deref()), &question.trace);
        if let Some(key) = question.key.as_deref().and_then(|key| HeaderValue::from_str(key).ok()) {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if !question.languages.is_empty()
            && let Ok(languages) = HeaderValue::from_str(&question.languages.join(", "))
        {
            headers.insert(header::ACCEPT_LANGUAGE, languages);
        }
        if let Some(token) = self.options.token.as_ref().and_then(Token::bearer) {
            upstream_request = upstream_request.secret(header::AUTHORIZATION, token);
        }
        sign(&mut upstream_request, Some(known.release), &self.options);
        let received = known.line.call(upstream_request).await.map_err(Trouble::heard)?;
        self.check(&received).await?;
        Ok(received)
    }

    /// Verifies the signature of an answer, if it has one.
    async fn check(&self, received: &Received) -> Result<(), Trouble> {
        let doubt = |refusal: Refusal| {
            tracing::error!(reason = refusal.content, "upstream response has no valid signature");
            response::unusable()
        };
        let Some(signed) = Signed::read(&received.headers).map_err(doubt)? else { return Ok(()) };
        let message = Message { start: Start::Response(received.status.as_u16()), headers: &received.headers };
        self.verify(&signed, &message, &received.body).await.map(drop).map_err(doubt)
    }

    /// Verifies a message that the shop has signed; for an unknown key, which may be new, the profile is fetched again.
    pub(super) async fn verify(
        &self,
        signed: &Signed,
        message: &Message<'_>,
        body: &[u8],
    ) -> Result<Verified, Refusal> {
        let mut known = self.known();
        if signed.unknown_key(&known.profile.keys).is_some() {
            known = self.renewed(&known).await;
        }
        signed.verify(message, body, &known.profile.keys, SystemTime::from((self.options.now)()))
    }

    /// Verifies a body that the shop has signed, like [`verify`](Self::verify).
    pub(super) async fn verify_body(&self, detached: &Detached, body: &[u8]) -> Result<(), Refusal> {
        let mut known = self.known();
        if detached.unknown_key(&known.profile.keys).is_some() {
            known = self.renewed(&known).await;
        }
        detached.verify(body, &known.profile.keys)
    }

    /// Verifies the shop's signature of a checkout (rule AP2-02) with the keys that it publishes, which are those that
    /// the gateway publishes for it.
    pub(super) async fn verify_seal(&self, checkout: &Value) -> Result<(), MandateError> {
        let authorization = checkout["ap2"]["merchant_authorization"].as_str().unwrap_or_default();
        let known = self.known();
        let Err(error) = verify_authorization(checkout, authorization, &known.profile.keys) else { return Ok(()) };
        let renewed = self.renewed(&known).await;
        if Arc::ptr_eq(&renewed, &known) {
            return Err(error);
        }
        verify_authorization(checkout, authorization, &renewed.profile.keys)
    }
}

/// Adds the first language to the context of the payload, unless it states one.
fn state_language(payload: &mut Value, languages: &[String]) {
    let (Some(members), Some(language)) = (payload.as_object_mut(), languages.first()) else { return };
    let context = members.entry("context").or_insert_with(|| json!({}));
    if let Some(context) = context.as_object_mut() {
        context.entry("language").or_insert_with(|| language.as_str().into());
    }
}

fn call_kind(effect: Effect) -> CallKind {
    match effect {
        Effect::Safe => CallKind::Read,
        Effect::Creating | Effect::Replacing | Effect::Canceling => CallKind::Write,
        Effect::Concluding => CallKind::Conclude,
    }
}

/// Source of the current time.
pub(super) type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;
