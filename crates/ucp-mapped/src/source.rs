//! The servers of a mapping: where requests go, and what they are let in by.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use tokio::time::{Instant, timeout_at};
use ucp_net::{
    Author, CallKind, Classifier, Clock, Counters, Failure, Key, Lane, Options, Random, Received, Scope, Unreadable,
    Upstream, UpstreamRequest, Verdict,
    classifier::{Sound, by_status},
    deadline,
    failure::{Answered, Unfit},
    in_flight::InFlight,
    outbound::SetupError,
    path::leads_out,
};
use url::{Url, form_urlencoded};

use super::file;

/// Time before its end at which a token is fetched anew.
const EARLY: Duration = Duration::from_secs(30);

/// Time for which the failure to get a token is told to whoever asks for one.
const KEPT: Duration = Duration::from_secs(1);

/// Time for which the circuit stays open after the server rejected the gateway's credential.
const MISCONFIGURED: Duration = Duration::from_secs(60);

/// Time for which a token is used whose answer states none.
const UNSTATED: Duration = Duration::from_secs(300);

/// Environment that sources are opened in.
pub struct Surroundings<'a> {
    /// Looks up a secret by its name in the file.
    pub secret: &'a dyn Fn(&str) -> Option<String>,
    /// Makes the options of an upstream from its name and address.
    pub options: &'a dyn Fn(&str, Url) -> Options,
    /// Current time.
    pub clock: Clock,
    /// Current time, as programs get it.
    pub now: fn() -> jiff::Timestamp,
    /// Jitter of retries.
    pub random: Random,
}

/// Error of a source that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// A secret is not stated.
    #[error("source.{source_name}: the secret `{secret}` must be stated, in characters that a header may have")]
    Secret {
        /// Name of the source.
        source_name: String,
        /// Name of the secret.
        secret: String,
    },
    /// There can be no client.
    #[error("source.{source_name}: {error}")]
    Setup {
        /// Name of the source.
        source_name: String,
        /// Reason.
        #[source]
        error: SetupError,
    },
}

/// A server.
pub(super) struct Source {
    pub(super) name: String,
    pub(super) session_cookies: Vec<String>,
    pub(super) session_headers: Vec<HeaderName>,
    /// Address as the mapping states it, for requests without a path, such as those of GraphQL.
    stated: Url,
    /// The same with a slash at its end, for those with one.
    address: Url,
    headers: HeaderMap,
    access: Access,
    upstream: Upstream,
}

enum Access {
    Open,
    Fixed(HeaderName, HeaderValue),
    Tokens(Arc<Tokens>),
}

/// Tokens of OAuth 2.0 client credentials.
struct Tokens {
    upstream: Upstream,
    address: Url,
    client: String,
    secret: String,
    scope: Option<String>,
    /// Header that states the client; `None` if the form does.
    basic: Option<HeaderValue>,
    /// The last token, or the failure to get one, with the time until which it holds.
    held: Mutex<Option<Held>>,
    fetches: InFlight<(), Result<HeaderValue, Failure>>,
    clock: Clock,
}

struct Held {
    token: Result<HeaderValue, Failure>,
    until: Instant,
}

/// A request below the address of a source.
#[derive(Clone)]
pub(super) struct Outgoing {
    pub(super) call_kind: CallKind,
    pub(super) lane: Lane,
    pub(super) author: Author,
    /// `true` if the answer may be a list of any length, of which programs make what was asked for.
    pub(super) is_list: bool,
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) body: Option<Bytes>,
    pub(super) cookies: Option<HeaderValue>,
    /// `true` if cookies or headers of the session of a cart are among what is sent.
    pub(super) is_in_session: bool,
}

impl Outgoing {
    /// Returns what makes requests of a source equal; `None` for one in the session of a cart.
    pub(super) fn key(&self, source: &str) -> Option<Key> {
        if self.is_in_session {
            return None;
        }
        let headers = self.headers.iter().flat_map(|(name, value)| [name.as_str().as_bytes(), value.as_bytes()]);
        let request = [source.as_bytes(), self.method.as_str().as_bytes(), self.url.as_str().as_bytes()];
        let body = self.body.as_deref().unwrap_or_default();
        Some(Key::of(request.into_iter().chain([body]).chain(headers)))
    }
}

/// Classifies by status; an answer must be JSON that can be kept, or empty.
fn classify(received: &Received) -> Verdict {
    let sound = || received.body.is_empty() || serde_json::from_slice::<Sound>(&received.body).is_ok();
    match by_status(received) {
        // What a server says about a refusal may be anything.
        Verdict::Good if received.status.is_success() && !sound() => Verdict::Unreadable(Unreadable::NotJson),
        verdict => verdict,
    }
}

impl Source {
    pub(super) fn open(name: &str, source: &file::Source, around: &Surroundings<'_>) -> Result<Self, SourceError> {
        let missing = |secret: &str| SourceError::Secret { source_name: name.to_owned(), secret: secret.to_owned() };
        let secret = |secret: &str| (around.secret)(secret).ok_or_else(|| missing(secret));
        let options = |address: &Url| (around.options)(name, address.clone());
        let upstream = |options: Options| {
            let plain_http = options.plain_http || source.plain_http;
            let classifier: fn(&Received) -> Verdict = classify;
            upstream(&Options { plain_http, ..options }, classifier, around)
                .map_err(|error| SourceError::Setup { source_name: name.to_owned(), error })
        };
        let sensitive = |text: String, named: &str| {
            let mut value = HeaderValue::from_str(&text).map_err(|_| missing(named))?;
            value.set_sensitive(true);
            Ok(value)
        };
        let access = match &source.auth {
            None => Access::Open,
            Some(file::Auth::Token { secret: named, header, prefix }) => {
                let name = header.parse().map_err(|_| missing(named))?;
                Access::Fixed(name, sensitive(format!("{prefix}{}", secret(named)?), named)?)
            }
            Some(file::Auth::Basic { user, secret: named }) => {
                let pair = STANDARD.encode(format!("{user}:{}", secret(named)?));
                Access::Fixed(header::AUTHORIZATION, sensitive(format!("Basic {pair}"), named)?)
            }
            Some(file::Auth::Oauth { token_address, client, secret: named, scope, credentials }) => {
                let known = secret(named)?;
                // Each part is encoded as in a form first (RFC 6749, 2.3.1).
                let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
                let basic = (*credentials == file::Credentials::Header)
                    .then(|| STANDARD.encode(format!("{}:{}", encoded(client), encoded(&known))))
                    .map(|pair| sensitive(format!("Basic {pair}"), named));
                let mut options = options(&token_address.0);
                // Whoever waits for a token waits for one request: an answer may take the time of all attempts.
                options.timeouts.read.answer = options.timeouts.read.total;
                Access::Tokens(Arc::new(Tokens {
                    upstream: upstream(options)?,
                    address: token_address.0.clone(),
                    client: client.clone(),
                    secret: known,
                    scope: scope.clone(),
                    basic: basic.transpose()?,
                    held: Mutex::default(),
                    fetches: InFlight::default(),
                    clock: around.clock.clone(),
                }))
            }
        };
        let stated = source.address.0.clone();
        let mut address = stated.clone();
        if !address.path().ends_with('/') {
            address.set_path(&format!("{}/", address.path()));
        }
        let headers = source.headers.iter();
        let headers = headers.filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?))).collect();
        let upstream = upstream(options(&address))?;
        let (name, session_cookies) = (name.to_owned(), source.session_cookies.clone());
        let session_headers = source.session_headers.iter().filter_map(|name| name.parse().ok()).collect();
        Ok(Self { name, session_cookies, session_headers, stated, address, headers, access, upstream })
    }

    pub(super) fn counters(&self) -> &std::sync::Arc<Counters> {
        self.upstream.counters()
    }

    /// Returns the URL of a path below the address; `None` for one that leads out of it.
    pub(super) fn url(&self, path: &str, query: &[(String, String)]) -> Option<Url> {
        let (path, stated) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let url = if path.is_empty() { self.stated.clone() } else { self.address.join(&format!("./{path}")).ok()? };
        let inside = url.origin() == self.address.origin() && url.path().starts_with(self.stated.path());
        if !inside || leads_out(path) || path.contains('#') {
            return None;
        }
        let mut url = url;
        url.set_query(stated);
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query.iter().map(|(name, value)| (name, value)));
        }
        Some(url)
    }

    pub(super) fn upstream(&self) -> &Upstream {
        &self.upstream
    }

    /// Sends a request. Only reads are ever sent twice.
    pub(super) async fn send(&self, outgoing: Outgoing) -> Result<Received, Failure> {
        let Access::Tokens(tokens) = &self.access else { return self.attempt(&outgoing, None).await };
        let token = tokens.get_for(outgoing.call_kind).await?;
        let received = self.attempt(&outgoing, Some(token.clone())).await?;
        if received.status != StatusCode::UNAUTHORIZED {
            return Ok(received);
        }
        // The server has ended the token before its time.
        tokens.end(&token);
        if outgoing.call_kind != CallKind::Read {
            return Ok(received);
        }
        let token = tokens.get_for(outgoing.call_kind).await?;
        self.attempt(&outgoing, Some(token)).await
    }

    async fn attempt(&self, outgoing: &Outgoing, token: Option<HeaderValue>) -> Result<Received, Failure> {
        let mut request = UpstreamRequest::new(outgoing.call_kind, outgoing.method.clone(), outgoing.url.clone());
        (request.lane, request.author) = (outgoing.lane, outgoing.author);
        request.asked = outgoing.is_list.then_some(0);
        request.headers = self.headers.clone();
        request.headers.entry(header::ACCEPT).or_insert(HeaderValue::from_static("application/json"));
        if let Some(body) = &outgoing.body {
            request = request.json(body.clone());
        }
        for (name, value) in &outgoing.headers {
            request = request.header(name.clone(), value.clone());
        }
        if let Some(cookies) = &outgoing.cookies {
            request = request.secret(header::COOKIE, cookies.clone());
        }
        if let Access::Fixed(name, value) = &self.access {
            request = request.secret(name.clone(), value.clone());
        }
        if let Some(token) = token {
            request = request.secret(header::AUTHORIZATION, token);
        }
        self.upstream.call(request).await
    }
}

fn upstream(options: &Options, classifier: impl Classifier, around: &Surroundings<'_>) -> Result<Upstream, SetupError> {
    Upstream::new(options, classifier, around.clock.clone(), around.random.clone())
}

/// Answer of a token endpoint (RFC 6749, 5.1).
#[derive(Deserialize)]
struct Granted {
    access_token: String,
    expires_in: Option<u64>,
}

impl Tokens {
    /// Returns the request for a token (RFC 6749, 4.4.2).
    fn form(&self) -> String {
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "client_credentials");
        if self.basic.is_none() {
            form.append_pair("client_id", &self.client).append_pair("client_secret", &self.secret);
        }
        if let Some(scope) = &self.scope {
            form.append_pair("scope", scope);
        }
        form.finish()
    }

    fn held(&self) -> MutexGuard<'_, Option<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a token before its time.
    fn end(&self, ended: &HeaderValue) {
        let mut held = self.held();
        if held.as_ref().is_some_and(|held| held.token.as_ref().is_ok_and(|token| token == ended)) {
            *held = None;
        }
    }

    /// Returns a token for a request of this kind. Without one, the request is not sent.
    async fn get_for(self: &Arc<Self>, call_kind: CallKind) -> Result<HeaderValue, Failure> {
        self.get().await.map_err(|failure| match call_kind {
            CallKind::Read => failure,
            // Whatever became of the request for a token: the change itself was not asked for.
            CallKind::Write | CallKind::Conclude => Failure::Open { wait: failure.pause().unwrap_or(KEPT) },
        })
    }

    /// Returns a token that is valid for a while. It is asked for once for all who wait, and so is a failure told to all
    /// who come within a moment.
    async fn get(self: &Arc<Self>) -> Result<HeaderValue, Failure> {
        let pending = {
            let mut fetches = self.fetches.table();
            if let Some(held) = &*self.held()
                && (self.clock)() < held.until
            {
                return held.token.clone();
            }
            match fetches.get(&()) {
                Some(pending) => pending,
                None => {
                    let (fetch, pending) = fetches.begin(&());
                    drop(fetches);
                    let tokens = Arc::clone(self);
                    fetch.spawn(move || async move { tokens.renewed().await });
                    pending
                }
            }
        };
        let outcome = async { pending.outcome().await.unwrap_or(Err(Failure::Abandoned)) };
        match deadline::current() {
            Some(deadline) => timeout_at(deadline, outcome).await.unwrap_or(Err(Failure::Expired { sent: false })),
            None => outcome.await,
        }
    }

    /// Fetches a token, and keeps it, or the failure.
    async fn renewed(&self) -> Result<HeaderValue, Failure> {
        // Nobody's deadline but that of the request: others wait for the same token.
        let fetched = Scope::default().run(self.fetch()).await;
        let lifetime = fetched.as_ref().map_or(KEPT, |(_, lifetime)| lifetime.saturating_sub(EARLY));
        let token = fetched.map(|(token, _)| token);
        *self.held() = Some(Held { token: token.clone(), until: (self.clock)() + lifetime });
        token
    }

    async fn fetch(&self) -> Result<(HeaderValue, Duration), Failure> {
        let mut request = UpstreamRequest::new(CallKind::Read, Method::POST, self.address.clone())
            .header(header::CONTENT_TYPE, HeaderValue::from_static("application/x-www-form-urlencoded"));
        (request.author, request.body) = (Author::Gateway, self.form().into());
        if let Some(basic) = &self.basic {
            request = request.secret(header::AUTHORIZATION, basic.clone());
        }
        let received = self.upstream.call(request).await?;
        if !received.status.is_success() {
            return Err(refused(received));
        }
        let granted: Granted = received.json().map_err(Failure::Unreadable)?;
        let lifetime = granted.expires_in.map_or(UNSTATED, Duration::from_secs).min(Duration::from_secs(86_400));
        let token = HeaderValue::from_str(&format!("Bearer {}", granted.access_token));
        let mut token = token.map_err(|_| Failure::Unreadable(Unreadable::Unexpected))?;
        token.set_sensitive(true);
        Ok((token, lifetime))
    }
}

/// Failure of a request that the server does not let in.
pub(super) fn refused(received: Received) -> Failure {
    Failure::Answered(Box::new(Answered { unfit: Unfit::Misconfigured, pause: Some(MISCONFIGURED), received }))
}
