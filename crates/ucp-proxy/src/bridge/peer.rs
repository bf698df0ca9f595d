//! The shop at the other end: found by its profile, called over one transport in one release.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError, RwLock},
    time::{Duration, SystemTime},
};

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use tokio::time::Instant;
use ucp_core::{
    Operation, Refusal,
    operation::{Class, Effect, Method as RowMethod},
};
use ucp_trust::signature::{Message, RequestLine, Scheme, Signed, Start, sign_request};
use url::Url;

use super::{
    Options, SetupError, Token,
    mcp::{self, Sessions},
    platform::profile_path,
    profile::{Profile, ProfileError, Transport},
    told::{self, Told, Trouble},
};
use crate::resilience::{Clock, Effort, Exchange, Failure, Random, Received, Upstream};

const UCP_AGENT: HeaderName = HeaderName::from_static("ucp-agent");
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

/// Where the profile of a business is.
pub(super) const WELL_KNOWN: &str = "/.well-known/ucp";

/// For how long a profile is taken for what it says.
const TTL: Duration = Duration::from_secs(300);

/// How soon a profile is fetched again that could not be.
const PAUSE: Duration = Duration::from_secs(30);

/// How soon a profile is fetched again because a key is not in it.
const KEY_FLOOR: Duration = Duration::from_secs(60);

/// What is asked.
#[derive(Clone, Debug)]
pub(super) struct Question {
    pub(super) operation: Operation,
    pub(super) id: Option<String>,
    /// The payload, in the shop's release.
    pub(super) payload: Value,
    /// The languages that the caller named beside it.
    pub(super) languages: Vec<String>,
    /// The idempotency key, in a form that every transport takes.
    pub(super) key: Option<String>,
    /// Whether mandates were negotiated with the caller.
    pub(super) mandates: bool,
}

/// What is known of the shop.
pub(super) struct Known {
    pub(super) profile: Profile,
    pub(super) release: ucp_core::Release,
    transport: Transport,
    endpoint: Url,
    line: Upstream,
    since: Instant,
}

/// The shop.
pub(super) struct Peer {
    options: Arc<Options>,
    address: Url,
    clock: Clock,
    random: Random,
    known: RwLock<Arc<Known>>,
    lines: Lines,
    sessions: Sessions,
    /// Held by whoever renews what is known: until when nobody tries again.
    renewing: tokio::sync::Mutex<Option<Instant>>,
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer").field("address", &self.address.as_str()).finish_non_exhaustive()
    }
}

/// The origins that the shop is called at: that of its profile, and that of its endpoint.
#[derive(Default)]
struct Lines(Mutex<HashMap<url::Origin, Upstream>>);

impl Lines {
    fn to(&self, url: &Url, options: &Options, clock: &Clock, random: &Random) -> Result<Upstream, SetupError> {
        let mut lines = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(line) = lines.get(&url.origin()) {
            return Ok(line.clone());
        }
        let call = crate::resilience::Options { address: url.clone(), ..options.call.clone() };
        let line = Upstream::new(&call, told::judged, Arc::clone(clock), Arc::clone(random))?;
        lines.insert(url.origin(), line.clone());
        Ok(line)
    }
}

/// The address of the profile of a business, which may be given as such.
fn profile_address(address: &Url) -> Url {
    let mut url = address.clone();
    if !url.path().ends_with(WELL_KNOWN) {
        url.set_path(&format!("{}{WELL_KNOWN}", address.path().trim_end_matches('/')));
    }
    url
}

impl Peer {
    /// Finds out how the shop is called.
    pub(super) async fn find(options: Arc<Options>, clock: Clock, random: Random) -> Result<Self, SetupError> {
        let address = profile_address(&options.call.address);
        let lines = Lines::default();
        let known = Arc::new(discover(&address, &lines, &options, &clock, &random).await?);
        tracing::info!(
            release = %known.release,
            transport = known.transport.as_str(),
            endpoint = %known.endpoint,
            "the shop speaks UCP"
        );
        Ok(Self {
            options,
            address,
            clock,
            random,
            known: RwLock::new(known),
            lines,
            sessions: Sessions::default(),
            renewing: tokio::sync::Mutex::default(),
        })
    }

    /// What is known of it.
    pub(super) fn known(&self) -> Arc<Known> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether it is asked over this transport.
    pub(super) fn speaks(&self, transport: Transport) -> bool {
        self.known().transport == transport
    }

    /// How it is called.
    pub(super) fn line(&self) -> Upstream {
        self.known().line.clone()
    }

    /// Fetches the profile anew, when what is known is older than `age`. A shop that cannot be found keeps what was known
    /// of it.
    pub(super) async fn refresh(&self, age: Duration) {
        let known = self.known();
        if (self.clock)().saturating_duration_since(known.since) < age {
            return;
        }
        // Nobody waits for another one who is at it.
        let Ok(mut paused) = self.renewing.try_lock() else { return };
        if paused.is_some_and(|until| (self.clock)() < until) {
            return;
        }
        match discover(&self.address, &self.lines, &self.options, &self.clock, &self.random).await {
            Ok(found) => {
                *paused = None;
                if found.profile.offering != known.profile.offering || found.release != known.release {
                    tracing::warn!("the shop offers something else than it did; this counts after a restart");
                }
                // What the gateway offers follows from the release it began with.
                if found.release == known.release {
                    *self.known.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(found);
                } else {
                    *paused = Some((self.clock)() + TTL);
                }
            }
            Err(error) => {
                *paused = Some((self.clock)() + PAUSE);
                tracing::warn!(%error, "the profile of the shop cannot be renewed");
            }
        }
    }

    /// Asks it.
    ///
    /// # Errors
    /// What it refuses, and what went wrong.
    pub(super) async fn ask(&self, question: &Question) -> Result<Told, Trouble> {
        self.refresh(TTL).await;
        let known = self.known();
        match known.transport {
            Transport::Rest => self.ask_rest(&known, question).await,
            Transport::Mcp => self.ask_mcp(&known, question).await,
        }
    }

    async fn ask_rest(&self, known: &Known, question: &Question) -> Result<Told, Trouble> {
        let row = question.operation.row();
        let mut url = known.endpoint.clone();
        {
            let mut segments = url.path_segments_mut().map_err(|()| Failure::Unsendable("has no path"))?;
            segments.pop_if_empty();
            for segment in row.path.split('/').filter(|segment| !segment.is_empty()) {
                // Escaped by the URL, so that an identifier never leads anywhere else.
                segments.push(if segment == "{id}" { question.id.as_deref().unwrap_or_default() } else { segment });
            }
        }
        let method = match row.method {
            RowMethod::Get => Method::GET,
            RowMethod::Post => Method::POST,
            RowMethod::Put => Method::PUT,
        };
        let mut exchange = Exchange::new(effort(row.effect), method, url);
        if row.method != RowMethod::Get {
            let body = if question.payload.is_object() { question.payload.to_string() } else { "{}".to_owned() };
            exchange = exchange.json(body);
        }
        exchange = exchange.header(header::ACCEPT, HeaderValue::from_static("application/json"));
        let received = self.send(known, exchange, question).await?;
        told::rest(&received)
    }

    async fn ask_mcp(&self, known: &Known, question: &Question) -> Result<Told, Trouble> {
        let row = question.operation.row();
        let mut meta = Map::new();
        meta.insert("ucp-agent".to_owned(), json!({ "profile": self.agent(known, question.mandates) }));
        if let Some(key) = &question.key {
            meta.insert("idempotency-key".to_owned(), key.as_str().into());
        }
        let mut arguments = Map::from_iter([("meta".to_owned(), Value::Object(meta))]);
        if let Some(id) = &question.id {
            arguments.insert("id".to_owned(), id.as_str().into());
        }
        if let Some(name) = row.payload {
            let mut payload = question.payload.clone();
            // Elsewhere circumstances are given back as they were stated, so that nothing may be added to them.
            if row.class == Class::Browsing {
                state_language(&mut payload, &question.languages);
            }
            arguments.insert(name.to_owned(), payload);
        }
        let mut retried = false;
        loop {
            let session = self.sessions.current();
            let number = self.sessions.number();
            let exchange =
                self.message(known, effort(row.effect), &mcp::call(number, row.name, &arguments), session.as_ref());
            let received = self.send(known, exchange, question).await?;
            if !retried && mcp::wants_session(&received) {
                retried = true;
                self.sessions.set(None);
                if self.begin(known, question).await {
                    continue;
                }
            }
            return mcp::read(number, &received);
        }
    }

    /// Begins a session. Whether there is one now.
    async fn begin(&self, known: &Known, question: &Question) -> bool {
        let number = self.sessions.number();
        let begun = self.message(known, Effort::Read, &mcp::initialize(number), None);
        let Ok(received) = self.send(known, begun, question).await else { return false };
        let Some(session) = mcp::session(number, &received) else { return false };
        let complete = self.message(known, Effort::Read, &mcp::initialized(), Some(&session));
        let done = self.send(known, complete, question).await.is_ok();
        if done {
            self.sessions.set(Some(session));
        }
        done
    }

    fn message(&self, known: &Known, effort: Effort, message: &Value, session: Option<&mcp::Session>) -> Exchange {
        let mut exchange = Exchange::new(effort, Method::POST, known.endpoint.clone())
            .json(message.to_string())
            .header(header::ACCEPT, mcp::ACCEPT);
        if let Some(session) = session {
            exchange = exchange.header(mcp::PROTOCOL_VERSION, session.version.clone());
            if let Some(id) = &session.id {
                exchange = exchange.secret(mcp::SESSION, id.clone());
            }
        }
        exchange
    }

    /// The profile that the gateway names there.
    fn agent(&self, known: &Known, mandates: bool) -> String {
        format!("{}{}", self.options.base, profile_path(known.release, mandates))
    }

    /// Sends a request as the gateway, and believes what comes back as far as it is signed right, or not at all.
    async fn send(&self, known: &Known, mut exchange: Exchange, question: &Question) -> Result<Received, Trouble> {
        let headers = &mut exchange.headers;
        introduce(headers, &self.agent(known, question.mandates));
        if let Some(key) = question.key.as_deref().and_then(|key| HeaderValue::from_str(key).ok()) {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        if !question.languages.is_empty()
            && let Ok(languages) = HeaderValue::from_str(&question.languages.join(", "))
        {
            headers.insert(header::ACCEPT_LANGUAGE, languages);
        }
        if let Some(token) = self.options.token.as_ref().and_then(Token::bearer) {
            exchange = exchange.secret(header::AUTHORIZATION, token);
        }
        sign(&mut exchange, &self.options);
        let received = known.line.call(exchange).await.map_err(Trouble::heard)?;
        self.check(&received).await?;
        Ok(received)
    }

    /// Checks the signature of an answer, if it has one.
    async fn check(&self, received: &Received) -> Result<(), Trouble> {
        let doubt = |refusal: Refusal| {
            tracing::error!(reason = refusal.content, "an answer of the shop is not signed by it");
            Trouble::Refusal(told::unusable())
        };
        let Some(signed) = Signed::read(&received.headers).map_err(doubt)? else { return Ok(()) };
        let message = Message { start: Start::Response(received.status.as_u16()), headers: &received.headers };
        self.verify(&signed, &message, &received.body).await.map_err(doubt)
    }

    /// Verifies what the shop has signed; a key that is not known may be a new one.
    pub(super) async fn verify(&self, signed: &Signed, message: &Message<'_>, body: &[u8]) -> Result<(), Refusal> {
        let known = self.known();
        if signed.unknown_key(&known.profile.keys).is_some() {
            self.refresh(KEY_FLOOR).await;
        }
        let now = SystemTime::from((self.options.now)());
        signed.verify(message, body, &self.known().profile.keys, now).map(|_| ())
    }
}

/// Finds the profile of the shop, in the newest release that both sides speak.
async fn discover(
    address: &Url,
    lines: &Lines,
    options: &Options,
    clock: &Clock,
    random: &Random,
) -> Result<Known, SetupError> {
    let since = clock();
    let mut profile = fetch(address, lines, options, clock, random).await?;
    if let Some(leaf) = profile.choose(options.release)? {
        let leaf =
            Url::parse(leaf).map_err(|error| ProfileError::Malformed(format!("{leaf:?} is no address: {error}")))?;
        profile = fetch(&leaf, lines, options, clock, random).await?;
        if profile.choose(options.release)?.is_some() {
            return Err(ProfileError::Malformed("a profile of an older release is about another one".to_owned()).into());
        }
    }
    let release = profile.release.ok_or_else(|| ProfileError::Malformed("it has no known release".to_owned()))?;
    let (transport, endpoint) = profile.endpoint(options.transport)?;
    let endpoint = endpoint.clone();
    let line = lines.to(&endpoint, options, clock, random)?;
    Ok(Known { profile, release, transport, endpoint, line, since })
}

async fn fetch(
    url: &Url,
    lines: &Lines,
    options: &Options,
    clock: &Clock,
    random: &Random,
) -> Result<Profile, SetupError> {
    let mut exchange = Exchange::new(Effort::Read, Method::GET, url.clone())
        .header(header::ACCEPT, HeaderValue::from_static("application/json"));
    let release = options.release.unwrap_or(ucp_core::Release::NEWEST);
    introduce(&mut exchange.headers, &format!("{}{}", options.base, profile_path(release, false)));
    sign(&mut exchange, options);
    let received = lines.to(url, options, clock, random)?.call(exchange).await?;
    if !received.status.is_success() {
        return Err(SetupError::Status(received.status.as_u16()));
    }
    Ok(Profile::read(&received.body)?)
}

/// Says who is asking.
fn introduce(headers: &mut HeaderMap, profile: &str) {
    if let Ok(agent) = HeaderValue::from_str(&format!("profile=\"{profile}\"")) {
        headers.insert(UCP_AGENT, agent);
    }
    if let Ok(id) = HeaderValue::from_str(&uuid::Uuid::new_v4().to_string()) {
        headers.insert(REQUEST_ID, id);
    }
}

/// Signs a request, where there is a key.
fn sign(exchange: &mut Exchange, options: &Options) {
    let Some(key) = (options.key)() else { return };
    let url = exchange.url.clone();
    let scheme = if url.scheme() == "https" { Scheme::Https } else { Scheme::Http };
    let method = exchange.method.clone();
    let line = RequestLine {
        method: method.as_str(),
        scheme,
        authority: url.authority(),
        path: url.path(),
        query: url.query(),
    };
    let now = SystemTime::from((options.now)());
    if let Err(error) = sign_request(line, &mut exchange.headers, &exchange.body, &[], &key, now) {
        tracing::error!(%error, "a request to the shop could not be signed");
    }
}

/// Says in the payload which language is wanted, where only the transport did.
fn state_language(payload: &mut Value, languages: &[String]) {
    let (Some(members), Some(language)) = (payload.as_object_mut(), languages.first()) else { return };
    let context = members.entry("context").or_insert_with(|| json!({}));
    if let Some(context) = context.as_object_mut() {
        context.entry("language").or_insert_with(|| language.as_str().into());
    }
}

fn effort(effect: Effect) -> Effort {
    match effect {
        Effect::Safe => Effort::Read,
        Effect::Writing | Effect::Canceling => Effort::Write,
        Effect::Concluding => Effort::Conclude,
    }
}

/// The time, as whoever reads it wants it.
pub(super) type Now = Arc<dyn Fn() -> Timestamp + Send + Sync>;
