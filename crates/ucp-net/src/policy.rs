//! Policies of an upstream as tower layers.

use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use tower::{Layer, Service};

use super::{Failure, Received, UpstreamRequest};

/// A policy that requests pass on their way to the upstream. Clones share its state.
pub(super) trait Policy: Clone + Send + Sync + 'static {
    /// Handles a request; `inner` sends it on.
    fn handle(
        self,
        inner: impl Sender,
        upstream_request: UpstreamRequest,
    ) -> impl Future<Output = Result<Received, Failure>> + Send;
}

/// A service that sends a request on. It is always ready.
pub(super) trait Sender:
    Service<UpstreamRequest, Response = Received, Error = Failure, Future: Send> + Clone + Send + 'static
{
}

impl<S> Sender for S where
    S: Service<UpstreamRequest, Response = Received, Error = Failure, Future: Send> + Clone + Send + 'static
{
}

/// Layer of a policy.
pub(super) struct Enforce<P>(pub(super) P);

impl<S, P: Policy> Layer<S> for Enforce<P> {
    type Service = Enforced<S, P>;

    fn layer(&self, inner: S) -> Enforced<S, P> {
        Enforced { inner, policy: self.0.clone() }
    }
}

/// Service below a policy.
#[derive(Clone)]
pub(super) struct Enforced<S, P> {
    inner: S,
    policy: P,
}

impl<S: Sender, P: Policy> Service<UpstreamRequest> for Enforced<S, P> {
    type Response = Received;
    type Error = Failure;
    type Future = BoxFuture<'static, Result<Received, Failure>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Failure>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, upstream_request: UpstreamRequest) -> Self::Future {
        Box::pin(self.policy.clone().handle(self.inner.clone(), upstream_request))
    }
}
