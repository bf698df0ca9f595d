//! Effects of one upstream on the gateway, and of the gateway on it.
//!
//! | module | is about |
//! | :-- | :-- |
//! | [`stack`] | the layers together, around answers that are made up |
//! | [`shared`] | equal reads, and what is kept of them |
//! | [`hostile`] | servers that do not behave, over real connections |
//! | [`traces`] | what an upstream is told about the trace of a call |
//!
//! Nothing here waits for time to pass: the clock of tokio is paused, and goes on when there is nothing else to do.

mod coalescing;
mod hostile;
mod stack;
mod traces;

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use tokio::time::Instant;
use tower::{Service, service_fn};
use ucp_net::{CallKind, Clock, Failure, Options, Random, Received, UpstreamRequest};
use url::Url;

/// The address of the upstream that is made up.
const ADDRESS: &str = "https://shop.example/api";

fn url(text: &str) -> Url {
    Url::parse(text).expect("an address")
}

fn options() -> Options {
    Options::new("shop", url(ADDRESS))
}

fn upstream_request(call_kind: CallKind) -> UpstreamRequest {
    UpstreamRequest::new(call_kind, Method::POST, url(ADDRESS)).json("{}")
}

fn clock() -> Clock {
    Arc::new(Instant::now)
}

/// Pauses as short as they can be drawn.
fn shortest() -> Random {
    Arc::new(|| 0)
}

/// Pauses of all lengths.
fn any_length() -> Random {
    let drawn = AtomicU32::new(0);
    Arc::new(move || drawn.fetch_add(0x9e37_79b9, Ordering::Relaxed))
}

fn received(status: u16, headers: &[(&'static str, &str)], body: &'static str) -> Received {
    let headers: HeaderMap = headers
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value")))
        .collect();
    let status = StatusCode::from_u16(status).expect("a status");
    Received { status, headers, body: Bytes::from_static(body.as_bytes()) }
}

/// The requests that reached a transport, and when.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<(Instant, UpstreamRequest)>>>);

impl Seen {
    fn count(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn note(&self, upstream_request: UpstreamRequest) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((Instant::now(), upstream_request));
    }

    fn all(&self) -> Vec<UpstreamRequest> {
        let seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        seen.iter().map(|(_, upstream_request)| upstream_request.clone()).collect()
    }

    fn last(&self) -> UpstreamRequest {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).last().expect("a request").1.clone()
    }

    fn instants(&self) -> Vec<Instant> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(at, _)| *at).collect()
    }
}

/// A transport that answers with `answer`, which gets the number of the request.
fn transport<F, R>(
    seen: &Seen,
    answer: F,
) -> impl Service<UpstreamRequest, Response = Received, Error = Failure, Future: Send> + Clone + Send + Sync + 'static
where
    F: Fn(usize) -> R + Clone + Send + Sync + 'static,
    R: Future<Output = Result<Received, Failure>> + Send + 'static,
{
    let seen = seen.clone();
    service_fn(move |upstream_request: UpstreamRequest| {
        let mut all = seen.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.push((Instant::now(), upstream_request));
        answer(all.len() - 1)
    })
}
