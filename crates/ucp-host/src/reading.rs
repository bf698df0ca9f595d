//! Limits of documents and pages, which everyone may read.
//!
//! A request for one is charged to its sender, who may send as many as anonymous calls, and its bytes to what all strangers may
//! read together.

use std::{num::NonZeroU32, sync::Arc};

use axum::{
    Router,
    extract::Request,
    middleware::{Next, from_fn},
    response::Response,
};
use hyper::body::Body as _;
use ucp_service::ingress::Rules;
use ucp_trust::limit::Throughput;

/// Kibibytes of documents and pages that all strangers may read in each second.
const PER_SECOND: NonZeroU32 = NonZeroU32::MIN.saturating_add((64 << 10) - 1);

/// Returns the limit of the bytes that all strangers read of documents and pages.
pub(crate) fn throughput() -> Arc<Throughput> {
    Arc::new(Throughput::new(PER_SECOND))
}

/// Limits of the documents and pages of a shop.
#[derive(Clone)]
pub(crate) struct Reading {
    rules: Arc<Rules>,
    throughput: Arc<Throughput>,
}

impl Reading {
    pub(crate) const fn new(rules: Arc<Rules>, throughput: Arc<Throughput>) -> Self {
        Self { rules, throughput }
    }

    /// Puts the limits in front of routes.
    pub(crate) fn over(&self, router: Router) -> Router {
        let reading = self.clone();
        router.layer(from_fn(move |request: Request, next: Next| {
            let reading = reading.clone();
            async move { reading.limited(request, async move |request| next.run(request).await).await }
        }))
    }

    /// Answers a request by `answer`, unless a limit is exceeded. Registered platforms have only limits of their own.
    pub(crate) async fn limited(&self, request: Request, answer: impl AsyncFnOnce(Request) -> Response) -> Response {
        let target = request.uri().clone();
        let (head, body) = request.into_parts();
        let entry = match self.rules.browse(&head) {
            Ok(entry) => entry,
            Err(refusal) => return ucp_rest::refused(&target, &refusal),
        };
        let answer = answer(Request::from_parts(head, body)).await;
        if entry.is_registered() || !self.rules.limits.has_anonymous() {
            return answer;
        }
        match self.throughput.take(answer.body().size_hint().lower()) {
            Ok(()) => answer,
            Err(refusal) => ucp_rest::refused(&target, &refusal),
        }
    }
}
