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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::{Value, json};
    use tower::ServiceExt as _;
    use ucp_core::{
        Code, Operation, Release,
        catalog::{
            cursor::CursorKey,
            market::{Market, Presentation},
        },
        port::{Catalog, Match, Page, Query},
    };

    use super::*;
    use crate::agent::Claim;

    /// A shop that knows nothing, and fails in the ways a shop can.
    struct Broken {
        market: Arc<Market>,
        key: CursorKey,
    }

    #[async_trait::async_trait]
    impl Catalog for Broken {
        fn market(&self) -> Arc<Market> {
            Arc::clone(&self.market)
        }

        fn cursor_key(&self) -> &CursorKey {
            &self.key
        }

        async fn find(&self, _: &Query) -> Result<Page, Refusal> {
            panic!("a secret of the shop")
        }

        async fn resolve(&self, ids: &[&str], _: &Presentation) -> Result<Vec<Vec<Match>>, Refusal> {
            if ids.contains(&"down") {
                Err(Refusal::unavailable("The shop is closed.", 7))
            } else {
                Ok(vec![Vec::new(); ids.len()])
            }
        }
    }

    async fn call(operation: Operation, payload: Value, profile: Option<&str>) -> Result<Value, Refusal> {
        let market = json!({ "name": "Broken", "currency": "USD", "language": "en" });
        let market = Arc::new(serde_json::from_value(market).expect("a market"));
        let catalog = Arc::new(Broken { market, key: CursorKey::new([1; 32]) });
        let claims = profile.map(|profile| Claim { place: "the test", profile: profile.to_owned() });
        let call = Call {
            operation,
            release: Release::V2026_04_08,
            id: None,
            payload,
            claims: claims.into_iter().collect(),
            languages: Vec::new(),
        };
        let reply = pipeline(Backend { catalog }).oneshot(call).await?;
        Ok(serde_json::from_str(&reply.document).expect("answers are JSON"))
    }

    const PLATFORM: Option<&str> = Some("https://agent.example/profile");

    #[tokio::test]
    async fn a_panic_is_an_answer_and_tells_nothing() {
        let refusal = call(Operation::SearchCatalog, json!({ "query": "x" }), PLATFORM).await.expect_err("refused");
        assert_eq!(refusal, Refusal::internal());
    }

    #[tokio::test]
    async fn a_failure_of_the_shop_reaches_the_caller_as_it_is() {
        let refusal = call(Operation::LookupCatalog, json!({ "ids": ["down"] }), PLATFORM).await.expect_err("refused");
        assert_eq!((refusal.code, refusal.retry_after), (Code::Unavailable, Some(7)));
    }

    #[tokio::test]
    async fn callers_are_identified_before_their_payload_is_read() {
        let nonsense = json!({ "ids": 3 });
        let anonymous = call(Operation::LookupCatalog, nonsense.clone(), None).await.expect_err("refused");
        assert_eq!(anonymous.code, Code::InvalidProfileUrl);
        let identified = call(Operation::LookupCatalog, nonsense, PLATFORM).await.expect_err("refused");
        assert_eq!((identified.code, identified.path.as_deref()), (Code::InvalidRequest, Some("$.ids")));
    }

    #[tokio::test]
    async fn nothing_found_is_an_outcome() {
        let found = call(Operation::LookupCatalog, json!({ "ids": ["a", "a"] }), PLATFORM).await.expect("an answer");
        assert_eq!(found["messages"], json!([{ "type": "info", "code": "not_found", "content": "a" }]));
        let missing = call(Operation::GetProduct, json!({ "id": "a" }), PLATFORM).await.expect("an answer");
        assert_eq!(
            (&missing["ucp"]["status"], &missing["messages"][0]["severity"]),
            (&json!("error"), &json!("unrecoverable"))
        );
    }
}
