//! Client of the Storefront API: one GraphQL operation, one HTTP call.
//!
//! The client translates the API's own conventions into those of [`ucp_net`]: the API throttles with status 200,
//! rejects bots with status 430, and answers a call to a version that it no longer supports in another version without
//! an error. Errors about parts of an answer leave its other parts usable; they are returned beside it.
//!
//! The catalog and the cart of this crate share one [`Client`].

use std::{
    net::IpAddr,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use http::{HeaderName, HeaderValue, Method, header};
use memchr::memmem;
use quick_cache::sync::Cache;
use serde::{
    Deserialize, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::{Map, Value, value::RawValue};
use tokio::time::Instant;
use ucp_core::ports::caller::BuyerSignals;
use url::Url;

use super::{
    bot::Bot,
    deferred,
    documents::{self, Document},
};
use ucp_net::{
    CallKind, Classifier, Clock, Counters, Failure, Options, Random, Received, Unreadable, Upstream, UpstreamRequest,
    Verdict,
    classifier::{by_status, retry_after},
    failure::Unfit,
    outbound::SetupError,
};

/// Version of the API that the documents are written for.
pub const VERSION: &str = "2026-04";

const PUBLIC_TOKEN: HeaderName = HeaderName::from_static("x-shopify-storefront-access-token");
const PRIVATE_TOKEN: HeaderName = HeaderName::from_static("shopify-storefront-private-token");
const BUYER_IP: HeaderName = HeaderName::from_static("shopify-storefront-buyer-ip");
const API_VERSION: HeaderName = HeaderName::from_static("x-shopify-api-version");

/// Time for which no calls are made after the shop rejected the gateway as a bot, or a buyer.
const REJECTED: Duration = Duration::from_secs(300);

/// Number of elements of a list that the shop is asked for at most.
const MOST_LISTED: usize = 250;

/// Maximum number of buyers' addresses for which no calls are made; beyond it, the shop is asked again.
const REJECTED_BUYERS: usize = 10_000;

/// Time for which the circuit is open after the shop refused the gateway as it is configured.
const MISCONFIGURED: Duration = Duration::from_secs(60);

/// Access token for the Storefront API. Its `Debug` form does not contain it.
#[derive(Clone)]
pub enum Token {
    /// No token: products, search and carts are accessible, tags of products are not.
    None,
    /// Public token, as storefronts in browsers use it. Limits are per IP address, which is the gateway's.
    Public(HeaderValue),
    /// Private token, for servers. Limits are per buyer, whose IP address is sent with it if it is known.
    Private(HeaderValue),
}
ucp_core::opaque!(Token);

/// A text that is not an access token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a Storefront access token is made of letters, digits, `_` and `-`")]
pub struct NoToken;

impl Token {
    /// Creates a public token. Fails with [`NoToken`] if the text is empty or has other characters than letters,
    /// digits, `_` and `-`.
    pub fn public(token: &str) -> Result<Self, NoToken> {
        secret(token).map(Self::Public)
    }

    /// Creates a private token. Fails with [`NoToken`] if the text is empty or has other characters than letters,
    /// digits, `_` and `-`.
    pub fn private(token: &str) -> Result<Self, NoToken> {
        secret(token).map(Self::Private)
    }

    /// Returns `true` unless it is [`Token::None`].
    pub const fn is_some(&self) -> bool {
        !matches!(self, Self::None)
    }
}

fn secret(token: &str) -> Result<HeaderValue, NoToken> {
    let fits =
        !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let mut value = HeaderValue::from_str(token).ok().filter(|_| fits).ok_or(NoToken)?;
    value.set_sensitive(true);
    Ok(value)
}

/// Client of one shop. Clones share its state.
#[derive(Clone)]
pub struct Client(Arc<ClientState>);
ucp_core::opaque!(Client);

struct ClientState {
    upstream: Upstream,
    endpoint: Url,
    version: String,
    token: Arc<RwLock<Token>>,
    /// Ends of the times for which no calls are made for a buyer, by the buyer's address.
    rejected: Cache<IpAddr, Instant>,
    clock: Clock,
    /// Identity as a bot, if the client signs its requests.
    bot: Option<Arc<Bot>>,
    /// `true` once the log has reported that another version of the API answers.
    forwarded: AtomicBool,
}

impl Client {
    /// Creates a client of the shop at the address of `options`, for a version (`YYYY-MM`) of its API. Fails with
    /// [`SetupError`] if the address is not that of a server that may be called, or TLS cannot be set up.
    pub fn new(
        options: &Options,
        version: &str,
        token: Token,
        bot: Option<Arc<Bot>>,
        clock: Clock,
        random: Random,
    ) -> Result<Self, SetupError> {
        let endpoint =
            options.address.join(&format!("/api/{version}/graphql.json")).map_err(|_| SetupError::Address)?;
        let upstream = Upstream::new(options, Graphql, Arc::clone(&clock), random)?;
        let (version, forwarded) = (version.to_owned(), AtomicBool::new(false));
        let (token, rejected) = (Arc::new(RwLock::new(token)), Cache::new(REJECTED_BUYERS));
        // The question that is the same whoever calls.
        let own = (endpoint.clone(), Arc::clone(&token), bot.clone());
        upstream.probe_with(move || {
            let (endpoint, token, bot) = &own;
            let request = UpstreamRequest::new(CallKind::Read, Method::POST, endpoint.clone())
                .header(header::ACCEPT, HeaderValue::from_static("application/json"))
                .json(own_question());
            let token = token.read().unwrap_or_else(PoisonError::into_inner).clone();
            signed(token.shown(request), bot.as_deref())
        });
        Ok(Self(Arc::new(ClientState { upstream, endpoint, version, token, rejected, clock, bot, forwarded })))
    }

    /// Runs one operation. `variables` is an object; the shop refuses variables that the document does not declare.
    /// Fails with [`Failure`] if there is no answer, or not one of GraphQL. An answer that consists of errors alone is
    /// a [`Reply`].
    pub async fn ask<T: DeserializeOwned>(
        &self,
        document: &Document,
        variables: &impl Serialize,
        call_kind: CallKind,
        buyer_signals: &BuyerSignals,
    ) -> Result<Reply<T>, Failure> {
        let inner = &*self.0;
        let body = document.written().and_then(|query| serde_json::to_vec(&Question { query, variables }).ok());
        let body = body.ok_or(Failure::Unsendable("cannot be written as JSON"))?;
        let accepted = if document.defers { deferred::ACCEPTED } else { "application/json" };
        let mut upstream_request = UpstreamRequest::new(call_kind, Method::POST, inner.endpoint.clone())
            .header(header::ACCEPT, HeaderValue::from_static(accepted))
            .json(body);
        upstream_request.asked = Some(MOST_LISTED);
        let token = self.token();
        // Only the address that an identified platform states for its buyer: the gateway's own would stand for all buyers.
        let buyer = buyer_signals.ip.filter(|_| matches!(token, Token::Private(_)));
        upstream_request = token.shown(upstream_request);
        if let Some((ip, address)) = buyer.and_then(|ip| Some((ip, HeaderValue::try_from(ip.to_string()).ok()?))) {
            self.admit(ip)?;
            upstream_request = upstream_request.secret(BUYER_IP, address);
            upstream_request.for_buyer = true;
        }
        let received = inner.upstream.call(signed(upstream_request, inner.bot.as_deref())).await;
        if let (Some(ip), Err(Failure::Answered(answered))) = (buyer, &received)
            && answered.unfit == Unfit::BuyerRejected
        {
            self.counters().note("a buyer was rejected");
            inner.rejected.insert(ip, (inner.clock)() + REJECTED);
        }
        let received = received?;
        self.compare_version(&received);
        self.read(document.name, &received)
    }

    /// Checks that the shop has not rejected a buyer lately.
    fn admit(&self, buyer: IpAddr) -> Result<(), Failure> {
        let wait = self.0.rejected.get(&buyer).map(|until| until.saturating_duration_since((self.0.clock)()));
        match wait.filter(|wait| !wait.is_zero()) {
            Some(wait) => Err(Failure::Open { wait }),
            None => Ok(()),
        }
    }

    /// Returns the counters of calls to the shop.
    pub fn counters(&self) -> &Arc<Counters> {
        self.0.upstream.counters()
    }

    /// Returns the shop as an upstream.
    pub fn upstream(&self) -> &Upstream {
        &self.0.upstream
    }

    /// Returns the address of the API.
    pub fn endpoint(&self) -> &Url {
        &self.0.endpoint
    }

    /// Returns the access token.
    pub fn token(&self) -> Token {
        self.0.token.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the access token for all calls that begin from now on.
    pub fn set_token(&self, token: Token) {
        *self.0.token.write().unwrap_or_else(PoisonError::into_inner) = token;
    }

    /// Notes that the API answered in another version than requested, and logs it the first time: for a version that is
    /// no longer supported, the oldest supported one answers without an error.
    fn compare_version(&self, received: &Received) {
        let Some(answering) = received.header(&API_VERSION).filter(|answering| *answering != self.0.version) else {
            return;
        };
        self.counters().note("another release of the API answered");
        if !self.0.forwarded.swap(true, Ordering::Relaxed) {
            let answering: String = answering.chars().filter(char::is_ascii_graphic).take(16).collect();
            tracing::warn!(asked = self.0.version, answering, "upstream no longer serves the requested API version");
        }
    }

    fn read<T: DeserializeOwned>(&self, operation: &'static str, received: &Received) -> Result<Reply<T>, Failure> {
        let body = deferred::assembled(received)?;
        // An answer of the promised form is read in one pass; any other is then read again for a precise error.
        let promised = serde_json::from_slice::<Answer<T>>(&body);
        let (data, errors) = match promised {
            Ok(answer) => (Ok(answer.data), answer.errors),
            Err(_) => {
                let answer: Answer<&RawValue> = serde_json::from_slice(&body)
                    .map_err(|error| if error.is_data() { Unreadable::Unexpected } else { Unreadable::NotJson })?;
                (Err(answer.data), answer.errors)
            }
        };
        let errors = problems(errors.as_ref());
        for error in &errors {
            self.counters().note("errors beside an answer");
            let code = error.code.as_deref().unwrap_or_default();
            tracing::warn!(
                operation,
                code,
                path = error.place(),
                "upstream reported an error for a part of its response"
            );
        }
        let data = data.or_else(|data| {
            let reader = data.map(|data| serde_json::Deserializer::from_str(data.get()));
            let data = reader.map(|mut reader| serde_path_to_error::deserialize(&mut reader)).transpose();
            data.map_err(|error| {
                self.counters().note("answers of an unexpected form");
                tracing::error!(operation, path = %error.path(), "upstream response does not match its API");
                Failure::Unreadable(Unreadable::Unexpected)
            })
        });
        Ok(Reply { data: data?, errors, bytes: received.body.len() })
    }
}

/// An answer of the API.
#[derive(Debug)]
pub struct Reply<T> {
    /// Requested data, as far as the shop could provide it; `None` if it provided nothing.
    pub data: Option<T>,
    /// Errors about the parts that are missing.
    pub errors: Vec<Problem>,
    /// Size of the answer, in bytes.
    pub bytes: usize,
}

impl<T> Reply<T> {
    /// Returns the requested data. Fails with [`Unreadable::Unexpected`] if there is no data: the operation or an
    /// argument does not fit the API.
    pub fn data(self) -> Result<T, Failure> {
        self.data.ok_or(Failure::Unreadable(Unreadable::Unexpected))
    }
}

/// An error of a GraphQL answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Code of the error, such as `ACCESS_DENIED`, if it has one. The API adds codes over time.
    pub code: Option<String>,
    /// The shop's message, for its operator.
    pub message: String,
    /// Path to the part of the answer that the error is about, from the outside inwards.
    pub path: Vec<Step>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A member, by the name or alias in the operation.
    Member(String),
    /// A position in a list.
    Place(usize),
}

impl Problem {
    /// Returns `true` if the error has this code.
    pub fn is(&self, code: &str) -> bool {
        self.code.as_deref() == Some(code)
    }

    /// Returns `true` if the error has no code, or that of a temporary failure.
    pub fn is_passing(&self) -> bool {
        self.code.as_deref().is_none_or(|code| code == THROTTLED || PASSING.contains(&code))
    }

    /// Returns the outermost member on the path.
    pub fn member(&self) -> Option<&str> {
        self.path.iter().find_map(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Place(_) => None,
        })
    }

    /// Returns the innermost member on the path.
    pub fn field(&self) -> Option<&str> {
        self.path.iter().rev().find_map(|step| match step {
            Step::Member(name) => Some(name.as_str()),
            Step::Place(_) => None,
        })
    }

    /// Returns the path as it is logged: printable ASCII, at most 16 steps of at most 64 characters.
    fn place(&self) -> String {
        let steps = self.path.iter().map(|step| match step {
            Step::Member(name) => name.chars().filter(char::is_ascii_graphic).take(64).collect(),
            Step::Place(place) => place.to_string(),
        });
        steps.take(16).collect::<Vec<_>>().join(".")
    }
}

/// Returns the body of the operation by which the gateway finds out whether the shop works.
fn own_question() -> Vec<u8> {
    let nothing = Value::Object(Map::new());
    let question = documents::SHOP.written().map(|query| Question { query, variables: &nothing });
    question.and_then(|question| serde_json::to_vec(&question).ok()).unwrap_or_default()
}

impl Token {
    /// Returns a request that shows the token.
    fn shown(self, request: UpstreamRequest) -> UpstreamRequest {
        match self {
            Self::None => request,
            Self::Public(token) => request.secret(PUBLIC_TOKEN, token),
            Self::Private(token) => request.secret(PRIVATE_TOKEN, token),
        }
    }
}

/// Signs a request as a bot.
fn signed(request: UpstreamRequest, bot: Option<&Bot>) -> UpstreamRequest {
    let Some(signature) = bot.and_then(Bot::signature) else { return request };
    signature.fields().fold(request, |request, (name, value)| request.secret(name, value))
}

#[derive(Serialize)]
struct Question<'a, V> {
    query: &'a RawValue,
    variables: &'a V,
}

#[derive(Deserialize)]
struct Answer<T> {
    data: Option<T>,
    errors: Option<Value>,
}

/// Reads the errors of an answer. Some servers state a single text instead of a list.
fn problems(errors: Option<&Value>) -> Vec<Problem> {
    let listed = match errors {
        None | Some(Value::Null) => &[],
        Some(Value::Array(errors)) => errors.as_slice(),
        Some(error) => std::slice::from_ref(error),
    };
    let step = |step: &Value| match step {
        Value::String(name) => Some(Step::Member(name.clone())),
        Value::Number(place) => place.as_u64().and_then(|place| usize::try_from(place).ok()).map(Step::Place),
        _ => None,
    };
    let problem = |error: &Value| Problem {
        code: error.pointer("/extensions/code").and_then(Value::as_str).map(str::to_owned),
        message: error.get("message").or(Some(error)).and_then(Value::as_str).unwrap_or_default().to_owned(),
        path: error.get("path").and_then(Value::as_array).into_iter().flatten().filter_map(step).collect(),
    };
    listed.iter().map(problem).collect()
}

/// Classifier of the Storefront API's answers.
struct Graphql;

/// Code of the error with which the API limits the rate of the gateway.
const THROTTLED: &str = "THROTTLED";

/// Codes of errors that are temporary failures of the shop.
const PASSING: [&str; 4] = ["INTERNAL_SERVER_ERROR", "SERVICE_UNAVAILABLE", "TIMEOUT", "SHOP_TEMPORARILY_UNAVAILABLE"];

impl Classifier for Graphql {
    fn classify(&self, received: &Received) -> Verdict {
        match received.status.as_u16() {
            430 => Verdict::Rejected { shut: REJECTED },
            401..=404 | 423 => Verdict::Misconfigured { shut: MISCONFIGURED },
            _ => match by_status(received) {
                Verdict::Good => judge_answer(received),
                verdict => verdict,
            },
        }
    }
}

/// Returns `true` if an answer is recognizably good, as nearly all are: it begins and ends like one and does not
/// contain the word `"errors"`. Its JSON is validated when it is read, so that this check saves one pass.
fn is_plainly_good(body: &[u8]) -> bool {
    body.starts_with(br#"{"data":{"#) && body.ends_with(b"}") && memmem::find(body, br#""errors""#).is_none()
}

fn judge_answer(received: &Received) -> Verdict {
    let body = match deferred::assembled(received) {
        Ok(body) => body,
        Err(unreadable) => return Verdict::Unreadable(unreadable),
    };
    if is_plainly_good(&body) {
        return Verdict::Good;
    }
    #[derive(Deserialize)]
    struct Outline {
        data: Option<IgnoredAny>,
        errors: Option<Value>,
    }
    let outline: Outline = match serde_json::from_slice(&body) {
        Ok(outline) => outline,
        Err(error) if error.is_data() => return Verdict::Unreadable(Unreadable::Unexpected),
        Err(_) => return Verdict::Unreadable(Unreadable::NotJson),
    };
    let errors = problems(outline.errors.as_ref());
    if errors.iter().any(|error| error.is(THROTTLED)) {
        return Verdict::Throttled { pause: retry_after(&received.headers) };
    }
    if outline.data.is_some() {
        return Verdict::Good;
    }
    let any = |codes: &[&str]| errors.iter().any(|error| codes.iter().any(|code| error.is(code)));
    if errors.is_empty() {
        Verdict::Unreadable(Unreadable::Unexpected)
    } else if any(&PASSING) {
        Verdict::Transient { pause: retry_after(&received.headers) }
    } else if any(&["SHOP_INACTIVE"]) {
        Verdict::Misconfigured { shut: MISCONFIGURED }
    } else {
        // A document or an argument does not fit the API: the shop itself is well.
        Verdict::Good
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_a_word_of_errors_is_looked_at_closely() {
        assert!(is_plainly_good(br#"{"data":{"nodes":[{"title":"\"errors\""}]},"extensions":{"cost":1}}"#));
        for closely in [
            r#"{"data":{"nodes":[null]},"errors":[{"extensions":{"code":"THROTTLED"}}]}"#,
            r#"{"errors":[],"data":{"nodes":[]}}"#,
            r#"{"data":null}"#,
            r#"{"data":{"nodes":["#,
            r#"[{"data":{}}]"#,
            "<html>",
            "",
        ] {
            assert!(!is_plainly_good(closely.as_bytes()), "{closely}");
        }
    }
}
