//! HTTP client of the provider.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use bytes::Bytes;
use http::{HeaderMap, Method};
use tokio::time::Instant;
use ucp_net::{
    CallKind, Failure as Unanswered, Upstream, UpstreamRequest, bulkhead::ConcurrencyLimit, classifier::by_status,
    client::Limits, client::Timeouts, outbound::SetupError, retry, upstream,
};
use url::Url;

use super::{Options, wire::Answer};

/// Maximum size of a response, in bytes.
const MAX_BODY: usize = 64 * 1024;

/// Maximum number of concurrent requests.
const AT_ONCE: usize = 64;

/// A request. It has no `Debug`: its body may hold a credential.
pub(super) struct Call {
    pub(super) method: Method,
    pub(super) url: Url,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

/// Reasons why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Failure {
    /// Nothing was sent.
    Unsent,
    /// Something may have been sent.
    Lost,
}

/// Transport of requests to the provider.
#[async_trait]
pub(super) trait Transport: Send + Sync {
    /// Sends a request once and reads the complete response, until `deadline` at most.
    async fn upstream_request(&self, call: Call, deadline: Instant) -> Result<Answer, Failure>;
}

/// HTTP over the network. A circuit breaker suspends requests for some seconds if the provider fails repeatedly.
pub(super) struct Http(Upstream);

impl Http {
    pub(super) fn new(options: &Options) -> Result<Self, SetupError> {
        let Options { connect_timeout, request_timeout, ref endpoint, ref roots, .. } = *options;
        let limits = Limits { answer: request_timeout, idle: request_timeout, total: request_timeout };
        let options = upstream::Options {
            roots: roots.clone(),
            timeouts: Timeouts { connect: connect_timeout, read: limits, write: limits, conclude: limits },
            max_body: MAX_BODY,
            // The processor repeats a step itself: it alone knows what an answer says about the attempt.
            retry: retry::Rules { attempts: 1, ..retry::Rules::default() },
            writes: ConcurrencyLimit { max_wait: Duration::from_secs(1), ..ConcurrencyLimit::of(AT_ONCE) },
            ..upstream::Options::new("payment provider", endpoint.url().clone())
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
