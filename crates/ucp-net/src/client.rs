//! HTTP client of one upstream.
//!
//! The guarantees of every outbound request ([`outbound`]) hold here. Responses are also read under timeouts, and
//! requests are sent only to the origin of the upstream.

use std::{
    error::Error,
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body::{Body, Frame, SizeHint};
use reqwest::Response;
use tokio::time::{Instant, timeout_at};
use tower::Service;
use ucp_core::json;
use url::Url;

use super::{
    CallKind, Clock, Counters, Failure, Received, Unreadable, UpstreamRequest,
    cut::Cutter,
    outbound::{self, Certificate, Identity, SetupError, check_address, has_content_coding, is_tls},
    upstream_request::{Enough, Sent},
};

/// Time for which an idle connection is kept: shorter than that of most servers, so that they seldom close one while a
/// request is being sent.
const IDLE_CONNECTION: Duration = Duration::from_secs(30);

/// Maximum [weight](json::weight) of an answer, in times the maximum size of its text. Catalogs weigh some ten times their text.
const MOST_WEIGHT: usize = 16;

/// Timeouts of one attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Time until the head of the response: connecting, sending, and the work of the upstream.
    pub answer: Duration,
    /// Time between two chunks of the body.
    pub idle: Duration,
    /// Total time of a call with all its attempts.
    pub total: Duration,
}

/// Timeouts by kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Time for connecting: DNS, TCP and TLS.
    pub connect: Duration,
    /// Timeouts of reads.
    pub read: Limits,
    /// Timeouts of writes.
    pub write: Limits,
    /// Timeouts of calls that complete a purchase.
    pub conclude: Limits,
}

impl Default for Timeouts {
    fn default() -> Self {
        let limits = |answer, idle, total| Limits {
            answer: Duration::from_millis(answer),
            idle: Duration::from_millis(idle),
            total: Duration::from_millis(total),
        };
        Self {
            connect: Duration::from_millis(500),
            read: limits(2_000, 1_000, 3_000),
            write: limits(8_000, 2_000, 10_000),
            conclude: limits(22_000, 3_000, 25_000),
        }
    }
}

impl Timeouts {
    /// Returns the timeouts of a kind of call.
    pub const fn of(&self, call_kind: CallKind) -> Limits {
        match call_kind {
            CallKind::Read => self.read,
            CallKind::Write => self.write,
            CallKind::Conclude => self.conclude,
        }
    }
}

/// Settings of a client.
pub(super) struct Setup<'a> {
    pub(super) address: &'a Url,
    pub(super) plain_http: bool,
    pub(super) roots: &'a [Certificate],
    pub(super) identity: Option<&'a Identity>,
    pub(super) timeouts: Timeouts,
    pub(super) connections: usize,
    pub(super) max_body: usize,
}

/// HTTP client over the network. Clones share connections.
#[derive(Clone)]
pub(super) struct Client(Arc<ClientState>);

struct ClientState {
    http: reqwest::Client,
    /// Address at the only origin that requests are sent to.
    origin: Url,
    timeouts: Timeouts,
    max_body: usize,
    clock: Clock,
    counters: Arc<Counters>,
}

impl Client {
    pub(super) fn new(setup: &Setup<'_>, clock: Clock, counters: Arc<Counters>) -> Result<Self, SetupError> {
        check_address(setup.address, setup.plain_http)?;
        let http = outbound::client(setup.timeouts.connect, setup.roots, |builder| {
            let builder = builder.pool_idle_timeout(IDLE_CONNECTION).pool_max_idle_per_host(setup.connections);
            match setup.identity {
                Some(identity) => builder.identity(identity.clone()),
                None => builder,
            }
        })
        .map_err(SetupError::Tls)?;
        let Setup { timeouts, max_body, .. } = *setup;
        Ok(Self(Arc::new(ClientState { http, origin: setup.address.clone(), timeouts, max_body, clock, counters })))
    }
}

impl ClientState {
    /// Sends a request once and reads the complete response, as a span of the current call.
    async fn send(&self, mut upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        let UpstreamRequest { method, url, headers, .. } = &mut upstream_request;
        let span = outbound::traced(method, url, headers);
        let result = self.exchange(upstream_request).await;
        if let Some(span) = span {
            span.end(result.as_ref().map(|received| received.status.as_u16()).map_err(Failure::kind));
        }
        result
    }

    async fn exchange(&self, upstream_request: UpstreamRequest) -> Result<Received, Failure> {
        if !is_same_origin(&upstream_request.url, &self.origin) {
            return Err(Failure::Unsendable("is for another origin than the upstream's"));
        }
        let limits = self.timeouts.of(upstream_request.call_kind);
        let attempt = Attempt::begin((self.clock)(), limits, upstream_request.deadline);
        let UpstreamRequest { method, url, headers, body, asked, ending, sent, .. } = upstream_request;
        // Nobody asks for a body that is empty, so that nothing would tell when the rest of the request is sent.
        if body.is_empty() {
            sent.mark();
        }
        let mut request = self.http.request(method, url).headers(headers);
        if !body.is_empty() {
            request = request.body(reqwest::Body::wrap(Payload { bytes: Some(body), sent: sent.clone() }));
        }
        let answer = timeout_at(attempt.before(limits.answer, attempt.began), request.send()).await;
        let response = match answer {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => return Err(failure(error, &sent)),
            Err(_) => return Err(attempt.late((self.clock)(), Failure::Timeout { sent: sent.get() }, &sent)),
        };
        let status = response.status();
        if status.is_redirection() {
            return Err(Failure::Redirect(status.as_u16()));
        }
        if has_content_coding(response.headers()) {
            return Err(Failure::Unreadable(Unreadable::Encoding));
        }
        let enough = ending.and_then(|ending| ending(response.headers()));
        let cutter = Cutter::new(asked.unwrap_or(usize::MAX));
        self.body(response, enough, cutter, &attempt, &sent).await
    }

    async fn body(
        &self,
        mut response: Response,
        mut enough: Option<Enough>,
        mut cutter: Cutter,
        attempt: &Attempt,
        sent: &Sent,
    ) -> Result<Received, Failure> {
        let limit = self.max_body;
        if response.content_length().is_some_and(|length| length > limit as u64) {
            return Err(Failure::TooLarge { limit });
        }
        // Who opens a stream has not answered yet.
        let pause = if enough.is_some() { attempt.limits.answer } else { attempt.limits.idle };
        let mut length = 0;
        loop {
            let until = attempt.before(pause, (self.clock)());
            match timeout_at(until, response.chunk()).await {
                Ok(Ok(Some(chunk))) => {
                    self.counters.received_bytes.count(chunk.len() as u64);
                    length += chunk.len();
                    if length > limit {
                        return Err(Failure::TooLarge { limit });
                    }
                    cutter.read(&chunk);
                    if enough.as_mut().is_some_and(|enough| enough(&chunk)) {
                        break;
                    }
                }
                Ok(Ok(None)) => break,
                Ok(Err(error)) => return Err(failure(error, sent)),
                Err(_) => return Err(attempt.late((self.clock)(), Failure::TooSlow, sent)),
            }
        }
        let body = cutter.finish().freeze();
        if json::weight(&body, usize::MAX) > limit.saturating_mul(MOST_WEIGHT) {
            return Err(Failure::TooLarge { limit });
        }
        let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
        Ok(Received { status, headers, body })
    }
}

/// Deadline of an attempt, and the failure when it passes.
struct Attempt {
    began: Instant,
    end: Instant,
    limits: Limits,
}

impl Attempt {
    fn begin(began: Instant, limits: Limits, deadline: Option<Instant>) -> Self {
        let end = began + limits.total;
        Self { began, end: deadline.map_or(end, |deadline| deadline.min(end)), limits }
    }

    /// Returns the time `limit` after `since`, at most the end of the attempt.
    fn before(&self, limit: Duration, since: Instant) -> Instant {
        self.end.min(since + limit)
    }

    /// Returns the failure of an attempt whose time is up. If the upstream had less time than its timeout, the failure
    /// counts against the caller's deadline.
    fn late(&self, now: Instant, failure: Failure, sent: &Sent) -> Failure {
        let given = self.end.saturating_duration_since(self.began);
        if now >= self.end && given < self.limits.answer { Failure::Expired { sent: sent.get() } } else { failure }
    }
}

/// Returns `true` if two URLs are of the same origin (WHATWG HTML, *Origin*).
fn is_same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host() == other.host()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Request body that records when it is handed to a connection.
struct Payload {
    bytes: Option<Bytes>,
    sent: Sent,
}

impl Body for Payload {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        self.sent.mark();
        Poll::Ready(self.bytes.take().map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, Bytes::len) as u64)
    }
}

/// Returns the failure for an error of the client. The log gets the whole chain without the URL, which may hold
/// secrets.
fn failure(error: reqwest::Error, sent: &Sent) -> Failure {
    let error = error.without_url();
    tracing::debug!(error = &error as &dyn Error, "upstream request failed");
    if error.is_builder() {
        return Failure::Unsendable("is not a valid HTTP request");
    }
    if !error.is_connect() {
        return Failure::Broken { sent: sent.get() };
    }
    if is_tls(&error) { Failure::Tls } else { Failure::Connect }
}

impl Service<UpstreamRequest> for Client {
    type Response = Received;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Received, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, upstream_request: UpstreamRequest) -> Self::Future {
        let client = Arc::clone(&self.0);
        Box::pin(async move { client.send(upstream_request).await })
    }
}
