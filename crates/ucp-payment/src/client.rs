//! HTTP client of a provider.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use jiff::Timestamp;
use tokio::time::Instant;
use ucp_core::purchase::payment::Attempt;
use ucp_net::{
    CallKind, Failure as Unanswered, Upstream, UpstreamRequest,
    bulkhead::ConcurrencyLimit,
    classifier::by_status,
    client::Limits,
    client::Timeouts,
    outbound::{Certificate, SetupError},
    retry, upstream,
};
use url::Url;

use crate::{Endpoint, Secret};

/// Maximum number of concurrent requests.
const AT_ONCE: usize = 64;

/// A response as it was received.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: Bytes,
}

/// A request. It has no `Debug`: its body may hold a credential.
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// Reasons why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Nothing was sent.
    Unsent,
    /// Something may have been sent.
    Lost,
}

/// Transport of requests to the provider.
#[async_trait]
pub(crate) trait Transport: Send + Sync {
    /// Sends a request once and reads the complete response, until `deadline` at most.
    async fn upstream_request(&self, call: Call, deadline: Instant) -> Result<Answer, Failure>;
}

/// Place of a provider, and the times within which it has to answer.
pub(crate) struct Provider<'a> {
    pub(crate) name: &'static str,
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) connect_timeout: Duration,
    pub(crate) request_timeout: Duration,
    pub(crate) max_body: usize,
    pub(crate) roots: &'a [Certificate],
}

/// Returns the header that shows an API key.
pub(crate) fn authorization(api_key: &Secret) -> HeaderValue {
    let mut authorization = HeaderValue::from_str(&format!("Bearer {}", api_key.reveal()))
        .unwrap_or_else(|_| unreachable!("a secret is visible ASCII"));
    authorization.set_sensitive(true);
    authorization
}

/// Returns the time until which an attempt may be sent, counted from when it was stored.
pub(crate) fn until(now: Timestamp, attempt: &Attempt, deadline: Duration) -> Instant {
    // If the clock went back, the attempt counts as new.
    let age = Duration::try_from(now.duration_since(attempt.begun_at)).unwrap_or_default();
    Instant::now() + deadline.saturating_sub(age)
}

/// HTTP over the network. A circuit breaker suspends requests for some seconds if the provider fails repeatedly.
pub(crate) struct Http(Upstream);

impl Http {
    pub(crate) fn new(provider: &Provider<'_>) -> Result<Self, SetupError> {
        let Provider { name, endpoint, connect_timeout, request_timeout, max_body, roots } = *provider;
        let limits = Limits { answer: request_timeout, idle: request_timeout, total: request_timeout };
        let options = upstream::Options {
            roots: roots.to_vec(),
            timeouts: Timeouts { connect: connect_timeout, read: limits, write: limits, conclude: limits },
            max_body,
            // The handler repeats a step itself: it alone knows what an answer says about the attempt.
            retry: retry::Rules { attempts: 1, ..retry::Rules::default() },
            writes: ConcurrencyLimit { max_wait: Duration::from_secs(1), ..ConcurrencyLimit::of(AT_ONCE) },
            ..upstream::Options::new(name, endpoint.url().clone())
        };
        Upstream::new(&options, by_status, Arc::new(Instant::now), Arc::new(|| 0)).map(Self)
    }
}

#[async_trait]
impl Transport for Http {
    async fn upstream_request(&self, call: Call, deadline: Instant) -> Result<Answer, Failure> {
        let Call { method, url, headers, body } = call;
        let mut upstream_request = UpstreamRequest::new(CallKind::Conclude, method, url);
        (upstream_request.headers, upstream_request.body) = (headers, body);
        let received = match self.0.call(upstream_request.by(deadline)).await {
            Ok(received) => received,
            // The status does not matter here: the content of the answer decides.
            Err(Unanswered::Answered(answered)) => answered.received,
            // The connection was made and broke: the provider may have read the request.
            Err(Unanswered::Broken { .. }) => return Err(Failure::Lost),
            Err(failure) if failure.never_sent() => return Err(Failure::Unsent),
            Err(_) => return Err(Failure::Lost),
        };
        Ok(Answer { status: received.status.as_u16(), body: received.body })
    }
}
