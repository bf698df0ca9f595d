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
use jiff::Timestamp;
use tower::{Service, ServiceBuilder, ServiceExt as _, layer::layer_fn, util::BoxCloneSyncService};
use ucp_core::{
    Answer, Code, Outcome, Refusal, Request,
    catalog::{detail::detail, lookup::lookup, search::search},
    merchant,
    message::{Message, Severity},
    port::{Backend, Directory, Relay, Relayed, Sales, Shop},
    purchase::{
        caller::Caller,
        desk::Decision,
        ledger::{Change, Committed, Kept, Key},
    },
};
use ucp_wire::{dialect, dialect::Encoded};

use crate::{
    agent::idempotency_key,
    call::{Call, Fault, Reply},
    gate::Access,
    idempotency::{Keyed, Turns, identity, replayed, stored},
    platform::{Platform, Platforms},
};

/// The finished stack; cheap to clone, one clone per call.
pub type Pipeline = BoxCloneSyncService<Call, Reply, Fault>;

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
    request: Request,
    /// The same in the caller's words, for a shop that speaks UCP itself.
    relayed: Option<Relayed>,
    /// Who asks.
    platform: Platform,
    /// Which resource it is about.
    id: Option<String>,
    /// Under which idempotency key.
    keyed: Option<Keyed>,
}

/// The pipeline in front of a backend, for the platforms that may call it.
#[must_use]
pub fn pipeline(backend: Backend, platforms: Platforms, access: Access) -> Pipeline {
    let home = platforms.business().home.clone();
    let relaying = matches!(backend.shop, Shop::Relayed(_));
    let stack = ServiceBuilder::new()
        // Outermost, so that a panic anywhere below is an answer and not a broken connection.
        .layer(layer_fn(|inner| Recover { inner }))
        .layer(layer_fn(move |inner| Identify { inner, platforms: platforms.clone() }))
        // As soon as the release is known: whatever goes wrong below is told in it.
        .layer(layer_fn(|inner| Attribute { inner }))
        .layer(layer_fn(move |inner| Authorize { inner, access }))
        .layer(layer_fn(move |inner| Negotiate { inner, home: home.clone() }))
        // After identification: whoever may not call learns nothing about the shape of calls.
        .layer(layer_fn(move |inner| Validate { inner, relaying }))
        .service(Execute { backend, turns: Turns::default() });
    BoxCloneSyncService::new(stack)
}

type Boxed<T, E = Refusal> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// The future of a layer that decides at once whether the call goes on.
type Decided<F> = Either<Ready<Result<Encoded, Refusal>>, F>;

/// Turns a panic below into a refusal; the caller did nothing wrong and the process lives on.
#[derive(Clone, Debug)]
struct Recover<S> {
    inner: S,
}

impl<S> Service<Call> for Recover<S>
where
    S: Service<Call, Response = Reply, Error = Fault>,
    S::Future: Send + 'static,
{
    type Response = Reply;
    type Error = Fault;
    type Future = Boxed<Reply, Fault>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let (operation, release) = (call.operation.row().name, call.endpoint.release());
        let failed = move || {
            tracing::error!(operation, "a call panicked");
            Fault { refusal: Refusal::internal(), release }
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

/// Finds out who is calling, and in which release to answer.
#[derive(Clone, Debug)]
struct Identify<S> {
    inner: S,
    platforms: Platforms,
}

impl<S> Service<Call> for Identify<S>
where
    S: Service<Identified, Response = Reply, Error = Fault> + Clone + Send + 'static,
    S::Future: Send + 'static,
{
    type Response = Reply;
    type Error = Fault;
    type Future = Either<Either<Ready<Result<Reply, Fault>>, S::Future>, Boxed<Reply, Fault>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: Call) -> Self::Future {
        let release = call.endpoint.release();
        let fault = move |refusal| Fault { refusal, release };
        match self.platforms.recognize(&call) {
            Some(Ok(platform)) => Either::Left(Either::Right(self.inner.call(Identified { call, platform }))),
            Some(Err(refusal)) => Either::Left(Either::Left(ready(Err(fault(refusal))))),
            None => {
                let (platforms, inner) = (self.platforms.clone(), self.inner.clone());
                Either::Right(Box::pin(async move {
                    let platform = platforms.identify(&call).await.map_err(fault)?;
                    inner.oneshot(Identified { call, platform }).await
                }))
            }
        }
    }
}

/// Says in which release an answer or a refusal is written.
#[derive(Clone, Debug)]
struct Attribute<S> {
    inner: S,
}

impl<S> Service<Identified> for Attribute<S>
where
    S: Service<Identified, Response = Encoded, Error = Refusal>,
    S::Future: Send + 'static,
{
    type Response = Reply;
    type Error = Fault;
    type Future = Boxed<Reply, Fault>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Fault>> {
        self.inner.poll_ready(context).map_err(|refusal| Fault { refusal, release: ucp_core::Release::NEWEST })
    }

    fn call(&mut self, identified: Identified) -> Self::Future {
        let release = identified.platform.release;
        let encoded = self.inner.call(identified);
        Box::pin(async move {
            match encoded.await {
                Ok(encoded) => Ok(Reply { encoded, release }),
                Err(refusal) => Err(Fault { refusal, release }),
            }
        })
    }
}

/// Decides whether the caller may ask this at all.
#[derive(Clone, Debug)]
struct Authorize<S> {
    inner: S,
    access: Access,
}

impl<S> Service<Identified> for Authorize<S>
where
    S: Service<Identified, Response = Encoded, Error = Refusal>,
{
    type Response = Encoded;
    type Error = Refusal;
    type Future = Decided<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, identified: Identified) -> Self::Future {
        let Call { operation, principal, .. } = &identified.call;
        match self.access.check(operation.row().class, principal) {
            Ok(()) => Either::Right(self.inner.call(identified)),
            Err(refusal) => Either::Left(ready(Err(refusal))),
        }
    }
}

/// Checks that both sides have the capability that the operation belongs to (rule NEG-04).
#[derive(Clone, Debug)]
struct Negotiate<S> {
    inner: S,
    home: Option<String>,
}

impl<S> Service<Identified> for Negotiate<S>
where
    S: Service<Identified, Response = Encoded, Error = Refusal>,
{
    type Response = Encoded;
    type Error = Refusal;
    type Future = Decided<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, identified: Identified) -> Self::Future {
        let Platform { release, active, .. } = &identified.platform;
        let (row, dialect) = (identified.call.operation.row(), dialect(*release));
        // What a release does not have is not a matter of negotiation; reading the call says so.
        if active.contains(row.capability) || dialect.shapes(identified.call.operation).is_none() {
            return Either::Right(self.inner.call(identified));
        }
        let messages = vec![Message::error(
            "capabilities_incompatible",
            format!(
                "`{}` needs the capability {}, which the platform's profile does not declare in a version that this \
                 business has in release {release}.",
                row.name,
                active.name_of(row.capability)
            ),
            Severity::Unrecoverable,
        )];
        let outcome = Outcome::NoResource { messages, continue_url: self.home.clone(), id: None, conflict: false };
        Either::Left(ready(identified.platform.answer(identified.call.operation, outcome)))
    }
}

/// Reads payloads: against the schema of the operation, then into the domain's words.
#[derive(Clone, Debug)]
struct Validate<S> {
    inner: S,
    /// Whether what the caller said is needed to the letter.
    relaying: bool,
}

impl<S> Service<Identified> for Validate<S>
where
    S: Service<Valid, Response = Encoded, Error = Refusal>,
{
    type Response = Encoded;
    type Error = Refusal;
    type Future = Decided<S::Future>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, Identified { call, platform }: Identified) -> Self::Future {
        match valid(call, platform, self.relaying) {
            Ok(valid) => Either::Right(self.inner.call(valid)),
            Err(refusal) => Either::Left(ready(Err(refusal))),
        }
    }
}

fn valid(call: Call, platform: Platform, relaying: bool) -> Result<Valid, Refusal> {
    let Call { operation, id, payload, idempotency_keys, languages, trace, .. } = call;
    let row = operation.row();
    let key = idempotency_key(&idempotency_keys)?;
    if key.is_none() && row.effect.needs_key() {
        let content = format!("`{}` is only carried out under an idempotency key.", row.name);
        return Err(Refusal::new(Code::InvalidRequest, content)
            .accepting("a new key, best a UUID: on REST `Idempotency-Key`, on MCP `meta[\"idempotency-key\"]`"));
    }
    let keyed = key.filter(|_| row.effect.writes()).map(|key| Keyed {
        key: Key {
            owner: platform.profile.as_str().to_owned(),
            operation: row.name,
            resource: id.clone().unwrap_or_default(),
            key: key.to_owned(),
        },
        identity: identity(operation, platform.release, id.as_deref(), &payload),
    });
    let relayed = relaying.then(|| Relayed {
        operation,
        release: platform.release,
        id: id.clone(),
        payload: payload.clone(),
        languages: languages.clone(),
        key: key.map(str::to_owned),
        trace,
    });
    let mut request =
        ucp_wire::dialect::read(dialect(platform.release), operation, id.as_deref(), payload, &languages)?;
    if let Request::CompleteCheckout(complete) = &mut request {
        complete.call = keyed.as_ref().map(|keyed| keyed.key.key.clone());
    }
    Ok(Valid { request, relayed, platform, id, keyed })
}

/// Asks the backend for facts and lets the domain decide.
#[derive(Clone, Debug)]
struct Execute {
    backend: Backend,
    turns: Turns,
}

impl Service<Valid> for Execute {
    type Response = Encoded;
    type Error = Refusal;
    type Future = Boxed<Encoded>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Refusal>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, valid: Valid) -> Self::Future {
        let backend = self.backend.clone();
        let operation = valid.request.operation();
        tracing::debug!(operation = operation.row().name, platform = valid.platform.profile.as_str(), "call");
        if operation.row().effect.writes() {
            let turns = self.turns.clone();
            // On its own, so that what was begun is brought to its end also when the caller hangs up.
            let written = tokio::spawn(async move { write(&backend.shop, &turns, valid).await });
            return Box::pin(async move { written.await.unwrap_or_else(|_| Err(Refusal::internal())) });
        }
        Box::pin(async move {
            let Valid { request, relayed, platform, .. } = valid;
            if let Request::SearchMerchants(_)
            | Request::GetMerchant(_)
            | Request::SearchLocations(_)
            | Request::LookupLocations(_) = request
            {
                let directory = backend.directory.as_ref().ok_or_else(|| {
                    tracing::error!("there is no directory, but its operations are mounted");
                    Refusal::internal()
                })?;
                let answer = consult(directory, request, backend.shop.now()).await?;
                return platform.answer(operation, Outcome::Answer(answer));
            }
            let (catalog, sales) = match &backend.shop {
                Shop::Facts { catalog, sales } => (&**catalog, &**sales),
                Shop::Relayed(relay) => return carry(&**relay, &platform, relayed).await,
            };
            let outcome = match request {
                Request::SearchCatalog(request) => {
                    Outcome::Answer(Answer::SearchCatalog(search(catalog, &request, &platform.visitor).await?))
                }
                Request::LookupCatalog(request) => {
                    Outcome::Answer(Answer::LookupCatalog(lookup(catalog, &request, &platform.visitor).await?))
                }
                Request::GetProduct(request) => detail(catalog, &request, &platform.visitor).await?,
                sale => decide(sales, &platform.caller(), sale).await?.outcome,
            };
            platform.answer(operation, outcome)
        })
    }
}

/// What the directory answers about merchants and their locations as of `now`.
async fn consult(directory: &Directory, request: Request, now: Timestamp) -> Result<Answer, Refusal> {
    let Directory { merchants, geocoder } = directory;
    let (merchants, geocoder) = (&**merchants, &**geocoder);
    Ok(match request {
        Request::SearchMerchants(request) => {
            Answer::SearchMerchants(merchant::search::search(merchants, geocoder, &request, now).await?)
        }
        Request::GetMerchant(request) => Answer::GetMerchant(merchant::detail::detail(merchants, &request, now).await?),
        Request::SearchLocations(request) => {
            Answer::SearchLocations(merchant::location::search(merchants, &request, now).await?)
        }
        Request::LookupLocations(request) => {
            Answer::LookupLocations(merchant::location::lookup(merchants, &request, now).await?)
        }
        _ => {
            tracing::error!("the directory holds nothing but merchants");
            return Err(Refusal::internal());
        }
    })
}

/// How often a change is decided anew because others changed the same thing meanwhile.
const TRIES: usize = 16;

/// Carries out a call that changes something: once per idempotency key, one after another per resource, and answered only
/// when the change and the answer are on disk.
async fn write(shop: &Shop, turns: &Turns, valid: Valid) -> Result<Encoded, Refusal> {
    let Valid { request, relayed, platform, id, keyed } = valid;
    let (operation, caller, ledger) = (request.operation(), platform.caller(), shop.ledger());
    let contended = match &request {
        Request::CreateCheckout(create) if create.cart_id.is_some() => create.cart_id.as_ref(),
        _ => id.as_ref(),
    };
    let contended = contended.map_or_else(|| keyed.as_ref().map(|keyed| keyed.key.key.as_str()), |id| Some(id));
    let _turn = match contended {
        Some(name) => Some(turns.take(format!("{} {name}", caller.owner)).await?),
        None => None,
    };
    for _ in 0..TRIES {
        if let Some(Keyed { key, identity }) = &keyed
            && let Some(kept) = ledger.kept(key).await?
        {
            return replayed(&kept, identity);
        }
        let (encoded, change) = match shop {
            Shop::Facts { sales, .. } => {
                let decision = decide(&**sales, &caller, request.clone()).await?;
                (platform.answer(operation, decision.outcome)?, decision.change)
            }
            // What changes, changes there.
            Shop::Relayed(relay) => (carry(&**relay, &platform, relayed.clone()).await?, Change::default()),
        };
        let keep = keyed.as_ref().map(|Keyed { key, identity }| {
            (key.clone(), Kept { identity: *identity, answer: stored(&encoded), at: shop.now() })
        });
        if change.is_empty() && keep.is_none() {
            return Ok(encoded);
        }
        match ledger.commit(change, keep).await? {
            Committed::Done => return Ok(encoded),
            Committed::Stale => {}
            Committed::Kept(kept) => {
                return keyed.map_or_else(|| Err(Refusal::internal()), |keyed| replayed(&kept, &keyed.identity));
            }
        }
    }
    Err(Refusal::unavailable("Too many changes are made to this resource at the same time.", 1))
}

/// What a shop answers that speaks UCP itself.
async fn carry(relay: &dyn Relay, platform: &Platform, relayed: Option<Relayed>) -> Result<Encoded, Refusal> {
    let relayed = relayed.ok_or_else(|| {
        tracing::error!("what the caller said was not kept");
        Refusal::internal()
    })?;
    let operation = relayed.operation;
    let carried = relay.carry(&platform.caller(), relayed).await?;
    Ok(platform.relayed(operation, &carried))
}

/// What the shop decides about a cart, a checkout or an order.
async fn decide(sales: &dyn Sales, caller: &Caller, request: Request) -> Result<Decision, Refusal> {
    match request {
        Request::CreateCart(request) => sales.create_cart(caller, request).await,
        Request::GetCart(request) => sales.get_cart(caller, request).await,
        Request::UpdateCart(request) => sales.update_cart(caller, request).await,
        Request::CancelCart(request) => sales.cancel_cart(caller, request).await,
        Request::CreateCheckout(request) => sales.create_checkout(caller, request).await,
        Request::GetCheckout(request) => sales.get_checkout(caller, request).await,
        Request::UpdateCheckout(request) => sales.update_checkout(caller, request).await,
        Request::CompleteCheckout(request) => sales.complete_checkout(caller, request).await,
        Request::CancelCheckout(request) => sales.cancel_checkout(caller, request).await,
        Request::GetOrder(request) => sales.get_order(caller, request).await,
        Request::SearchCatalog(_)
        | Request::LookupCatalog(_)
        | Request::GetProduct(_)
        | Request::SearchMerchants(_)
        | Request::GetMerchant(_)
        | Request::SearchLocations(_)
        | Request::LookupLocations(_) => {
            tracing::error!("neither the catalog nor the directory is for sale");
            Err(Refusal::internal())
        }
    }
}

#[cfg(test)]
mod tests;
