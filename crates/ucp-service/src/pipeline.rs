//! The stack of layers that every call passes, whichever transport it came by.
//!
//! Each layer turns one type into the next, so that their order is checked by the compiler: a [`Call`] has to be
//! identified before it can be validated, and validated before it can be executed.

use std::{
    future::{Future, Ready, ready},
    panic::AssertUnwindSafe,
    pin::Pin,
    task::{Context, Poll},
};

use futures_util::{FutureExt as _, future::Either};
use tower::{Service, ServiceBuilder, layer::layer_fn, util::BoxCloneSyncService};
use ucp_core::{
    Answer, Outcome, Refusal, Request,
    catalog::{detail::detail, lookup::lookup, search::search},
    port::Backend,
};
use ucp_wire::dialect;

use crate::{
    agent::Platform,
    call::{Call, Reply},
};

/// The finished stack; cheap to clone, one clone per call.
pub type Pipeline = BoxCloneSyncService<Call, Reply, Refusal>;

/// A call whose sender is known.
#[derive(Debug)]
pub struct Identified {
    /// The call.
    pub call: Call,
    /// Who sends it.
    pub platform: Platform,
}

/// A call that makes sense, in the domain's words.
#[derive(Debug)]
pub struct Valid {
    /// What is asked.
    pub request: Request,
    /// Who asks.
    pub platform: Platform,
}

/// The pipeline in front of a backend.
#[must_use]
pub fn pipeline(backend: Backend) -> Pipeline {
    let stack = ServiceBuilder::new()
        // Outermost, so that a panic anywhere below is an answer and not a broken connection.
        .layer(layer_fn(|inner| Recover { inner }))
        .layer(layer_fn(|inner| Encode { inner }))
        .layer(layer_fn(|inner| Identify { inner }))
        // After identification: whoever may not call learns nothing about the shape of calls.
        .layer(layer_fn(|inner| Validate { inner }))
        .service(Execute { backend });
    BoxCloneSyncService::new(stack)
}

type Boxed<T> = Pin<Box<dyn Future<Output = Result<T, Refusal>> + Send>>;

/// Turns a panic below into a refusal; the caller did nothing wrong and the process lives on.
#[derive(Clone, Debug)]
struct Recover<S> {
    inner: S,
}

impl<S> Service<Call> for Recover<S>
where
    S: Service<Call, Response = Reply, Error = Refusal>,
    S::Future: Send + 'static,
{
    type Response = Reply;
    type Error = Refusal;
    type Future = Boxed<Reply>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let operation = call.operation.row().name;
        let failed = move || {
            tracing::error!(operation, "a call panicked");
            Refusal::internal()
        };
        // The stages above run while the future is made, the ones below while it is polled.
        match std::panic::catch_unwind(AssertUnwindSafe(|| self.inner.call(call))) {
            Ok(future) => {
                Box::pin(async move { AssertUnwindSafe(future).catch_unwind().await.unwrap_or_else(|_| Err(failed())) })
            }
            Err(_) => Box::pin(ready(Err(failed()))),
        }
    }
}

/// Writes outcomes in the release their call came in.
#[derive(Clone, Debug)]
struct Encode<S> {
    inner: S,
}

impl<S> Service<Call> for Encode<S>
where
    S: Service<Call, Response = Outcome, Error = Refusal>,
    S::Future: Send + 'static,
{
    type Response = Reply;
    type Error = Refusal;
    type Future = Boxed<Reply>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let (dialect, operation) = (dialect(call.release), call.operation);
        let outcome = self.inner.call(call);
        Box::pin(async move { Ok(Reply { document: dialect.encode(operation, &outcome.await?) }) })
    }
}

/// Finds out who is calling.
#[derive(Clone, Debug)]
struct Identify<S> {
    inner: S,
}

impl<S> Service<Call> for Identify<S>
where
    S: Service<Identified, Response = Outcome, Error = Refusal>,
{
    type Response = Outcome;
    type Error = Refusal;
    type Future = Either<Ready<Result<Outcome, Refusal>>, S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        match Platform::identify(&call.claims) {
            Ok(platform) => Either::Right(self.inner.call(Identified { call, platform })),
            Err(refusal) => Either::Left(ready(Err(refusal))),
        }
    }
}

/// Reads payloads: against the schema of the operation, then into the domain's words.
#[derive(Clone, Debug)]
struct Validate<S> {
    inner: S,
}

impl<S> Service<Identified> for Validate<S>
where
    S: Service<Valid, Response = Outcome, Error = Refusal>,
{
    type Response = Outcome;
    type Error = Refusal;
    type Future = Either<Ready<Result<Outcome, Refusal>>, S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, Identified { call, platform }: Identified) -> Self::Future {
        match ucp_wire::dialect::read(dialect(call.release), call.operation, call.payload, &call.languages) {
            Ok(request) => Either::Right(self.inner.call(Valid { request, platform })),
            Err(refusal) => Either::Left(ready(Err(refusal))),
        }
    }
}

/// Asks the backend for facts and lets the domain decide.
#[derive(Clone, Debug)]
struct Execute {
    backend: Backend,
}

impl Service<Valid> for Execute {
    type Response = Outcome;
    type Error = Refusal;
    type Future = Boxed<Outcome>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, Valid { request, platform }: Valid) -> Self::Future {
        let backend = self.backend.clone();
        tracing::debug!(operation = request.operation().row().name, platform = %platform.profile, "call");
        Box::pin(async move {
            let catalog = &*backend.catalog;
            match request {
                Request::SearchCatalog(request) => {
                    Ok(Outcome::Answer(Answer::SearchCatalog(search(catalog, &request).await?)))
                }
                Request::LookupCatalog(request) => {
                    Ok(Outcome::Answer(Answer::LookupCatalog(lookup(catalog, &request).await?)))
                }
                Request::GetProduct(request) => detail(catalog, &request).await,
            }
        })
    }
}
