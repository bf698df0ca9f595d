//! Handling of a call from its identification to its encoded answer, for all transports.
//!
//! [`CallHandler::handle`] takes the steps one after the other. Each turns one type into the next, so that their order
//! is checked by the compiler: a [`Call`] has to be identified before it can be authorized, and read before it can be
//! executed.

use std::{error::Error as _, fmt, ops::ControlFlow, panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tracing::Instrument as _;
use ucp_core::{
    Answer, Code, Outcome, Refusal, Request,
    browse::{detail::detail, lookup::lookup, search::search},
    call::{CatalogRequest, SaleRequest},
    catalog::cursor::Cursors,
    message::{Message, Severity},
    operation::{Class, Effect, Row},
    ports::{
        Backend, Catalog, Commerce, Decision, ForwardedCall, ShopPort, Then, UcpUpstream,
        caller::{BuyerSignals, Caller},
        ledger::{Bound, Change, Committed, Full, Holder, Kept, Key},
    },
};
use ucp_net::{Lane, Scope, lock::ResourceLocks};
use ucp_record::{self as record, Repetition, Stage};
use ucp_wire::{dialect, encoded::Encoded, view::View};

use crate::{
    access::{Access, Admission},
    agent::idempotency_key,
    call::{Call, Fault, Reply},
    explanation,
    idempotency::{Keyed, identity, replayed, stored},
    platform::{Platform, Platforms},
};

/// Carries out the calls of a gateway; cheap to clone.
#[derive(Clone)]
pub struct CallHandler(Arc<Inner>);

struct Inner {
    backend: Backend,
    platforms: Platforms,
    access: Access,
    locks: ResourceLocks,
    /// View of answers to callers that choose none.
    view: View,
    /// Times that calls may take; `None` if there is nobody to wait for.
    allowances: Option<Allowances>,
}

/// Times that calls may take in which others are asked, by kind of call. Everything below a call ends by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allowances {
    /// Time for reading the catalog.
    pub browse: Duration,
    /// Time for a cart, a checkout or an order.
    pub purchase: Duration,
    /// Time for completing a purchase.
    pub complete: Duration,
}

impl Allowances {
    fn of(&self, row: &Row) -> Duration {
        match (row.class, row.effect) {
            (_, Effect::Concluding) => self.complete,
            (Class::Browsing, _) => self.browse,
            (Class::Purchase | Class::Order, _) => self.purchase,
        }
    }
}

impl fmt::Debug for CallHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CallHandler").field("access", &self.0.access).finish_non_exhaustive()
    }
}

/// A call whose platform is known.
struct Identified {
    call: Call,
    platform: Platform,
}

/// A call that its platform may make.
struct Authorized(Identified);

/// A call of an operation whose capability both sides have.
struct Negotiated(Identified);

/// A call whose payload was validated and converted to a domain request.
struct Read {
    request: Request,
    /// The call as sent, for a shop that speaks UCP itself.
    relayed: Option<ForwardedCall>,
    platform: Platform,
    /// ID of the resource.
    id: Option<String>,
    keyed: Option<Keyed>,
    /// View of the answer.
    view: View,
    admission: Admission,
}

/// A call that changes something, with everything needed to finish it after its caller disconnects.
struct Write {
    request: SaleRequest,
    relayed: Option<ForwardedCall>,
    platform: Platform,
    id: Option<String>,
    keyed: Option<Keyed>,
    /// Whom the change is counted to.
    holder: Option<Holder>,
    /// Held until the end: a change whose caller disconnected still counts as in flight.
    _admission: Admission,
}

impl CallHandler {
    /// Creates the handler in front of a backend, for the platforms that may call it.
    pub fn new(backend: Backend, platforms: Platforms, access: Access) -> Self {
        let locks = ResourceLocks::default();
        Self(Arc::new(Inner { backend, platforms, access, locks, view: View::default(), allowances: None }))
    }

    /// Sets the times that calls may take in which others are asked. To be called before the handler is cloned.
    #[must_use]
    pub fn allowing(mut self, allowances: Option<Allowances>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.allowances = allowances;
        }
        self
    }

    /// Sets the view of answers to callers that choose none. To be called before the handler is cloned.
    #[must_use]
    pub fn viewing(mut self, view: View) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.view = view;
        }
        self
    }

    /// Carries out a call.
    ///
    /// # Errors
    /// A refusal, in the caller's release as far as that is known. A panic becomes an internal error: the caller did
    /// nothing wrong, and the process lives on.
    pub async fn handle(&self, call: Call) -> Result<Reply, Fault> {
        let (operation, release) = (call.operation.row().name, call.endpoint.release());
        record::note(|facts| {
            (facts.operation, facts.release) = (Some(call.operation), Some(release));
            facts.resource = call.id.clone().filter(|_| call.operation.row().class != Class::Browsing);
        });
        // In a place of its own: what holds it is moved several times before it begins.
        let handling = Box::pin(self.0.handle(call));
        let handled = match AssertUnwindSafe(handling).catch_unwind().await {
            Ok(handled) => handled,
            Err(_) => Err(Fault { refusal: Refusal::internal().because("the call panicked"), release }),
        };
        if let Err(Fault { refusal, .. }) = &handled {
            record::tell("refused", || match &refusal.path {
                Some(path) => format!("{} at {path}: {}", refusal.code, refusal.content),
                None => format!("{}: {}", refusal.code, refusal.content),
            });
            if let Some(cause) = refusal.source() {
                tracing::error!(operation, code = %refusal.code, error = cause, "call failed");
            }
        }
        handled
    }
}

impl Inner {
    async fn handle(&self, call: Call) -> Result<Reply, Fault> {
        let release = call.endpoint.release();
        let identified = self.identify(call).await.map_err(|refusal| Fault { refusal, release })?;
        // From here on errors are encoded in the caller's release.
        let release = identified.platform.release;
        match self.answer(identified).await {
            Ok(encoded) => Ok(Reply { encoded, release }),
            Err(refusal) => Err(Fault { refusal, release }),
        }
    }

    async fn answer(&self, identified: Identified) -> Result<Encoded, Refusal> {
        let authorized = self.authorize(identified)?;
        let negotiated = match self.negotiate(authorized) {
            ControlFlow::Continue(negotiated) => negotiated,
            ControlFlow::Break(answered) => return answered,
        };
        // After authorization: a caller without access learns nothing about the shape of payloads.
        let read = self.read(negotiated)?;
        self.execute(read).await
    }

    /// Determines the platform and the release to answer in.
    async fn identify(&self, call: Call) -> Result<Identified, Refusal> {
        record::enter(Stage::Identify);
        let (platform, is_cached) = match self.platforms.recognize(&call) {
            Some(recognized) => (recognized?, true),
            None => (Box::pin(self.platforms.identify(&call)).await?, false),
        };
        self.platforms.blocked().admit(&platform.profile)?;
        record::note(|facts| {
            (facts.release, facts.profile) = (Some(platform.release), Some(platform.profile.as_str().to_owned()));
        });
        explanation::tell(&call, &platform, is_cached);
        Ok(Identified { call, platform })
    }

    /// Checks that the caller may call operations of this class.
    fn authorize(&self, identified: Identified) -> Result<Authorized, Refusal> {
        let Call { operation, admission, .. } = &identified.call;
        self.access.check(operation.row().class, &admission.principal)?;
        Ok(Authorized(identified))
    }

    /// Checks that both sides have the capability that the operation belongs to (rule NEG-04).
    fn negotiate(&self, Authorized(identified): Authorized) -> ControlFlow<Result<Encoded, Refusal>, Negotiated> {
        let Identified { call, platform } = &identified;
        let (row, release) = (call.operation.row(), platform.release);
        // An operation that the release does not have is refused by `read`, not by negotiation.
        if platform.active.contains(row.capability) || dialect(release).shapes(call.operation).is_none() {
            return ControlFlow::Continue(Negotiated(identified));
        }
        explanation::tell_incompatible(platform, platform.active.name_of(row.capability));
        let messages = vec![Message::error(
            "capabilities_incompatible",
            format!(
                "`{}` needs the capability {}, which the platform's profile does not declare in a version that this \
                 business has in release {release}.",
                row.name,
                platform.active.name_of(row.capability)
            ),
            Severity::Unrecoverable,
        )];
        let continue_url = self.platforms.business().home.clone();
        let outcome = Outcome::NoResource { messages, continue_url, id: None, conflict: false };
        ControlFlow::Break(platform.answer(call.operation, outcome, View::Full))
    }

    /// Validates the payload against the schema of the operation and converts it to a domain request.
    fn read(&self, Negotiated(Identified { call, platform }): Negotiated) -> Result<Box<Read>, Refusal> {
        record::enter(Stage::Read);
        let Call { operation, id, mut payload, lenient, idempotency_keys, languages, view, trace, admission, .. } =
            call;
        let row = operation.row();
        if lenient {
            // Before anything depends on it: a retry that leaves out what was empty is the same call.
            ucp_wire::lenient::read(dialect(platform.release), operation, &mut payload)?;
        }
        let key = idempotency_key(&idempotency_keys)?;
        if key.is_none() && row.effect.needs_key() {
            let content = format!("`{}` is only carried out under an idempotency key.", row.name);
            return Err(Refusal::new(Code::InvalidRequest, content).accepting(
                "a new key, preferably a UUID: over REST `Idempotency-Key`, on MCP `meta[\"idempotency-key\"]`",
            ));
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
        let relayed = matches!(self.backend.shop, ShopPort::Upstream(_)).then(|| ForwardedCall {
            operation,
            release: platform.release,
            id: id.clone(),
            payload: payload.clone(),
            languages: languages.clone(),
            key: key.map(str::to_owned),
            trace,
        });
        let mut request = ucp_wire::read(dialect(platform.release), operation, id.as_deref(), payload, &languages)?;
        record::tell("validated", || format!("against the schema of `{}` in {}", row.name, platform.release));
        match &mut request {
            Request::Sale(SaleRequest::CompleteCheckout(complete)) => {
                complete.call = keyed.as_ref().map(|keyed| keyed.key.key.clone());
            }
            Request::Catalog(CatalogRequest::SearchCatalog(search)) => record::note_query(search.query.as_deref()),
            _ => {}
        }
        if let Request::Catalog(request) = &mut request {
            let context = match request {
                CatalogRequest::SearchCatalog(search) => &mut search.context,
                CatalogRequest::LookupCatalog(lookup) => &mut lookup.context,
                CatalogRequest::GetProduct(detail) => &mut detail.context,
            };
            context.customer_group.clone_from(&platform.customer_group);
        }
        let view = view.unwrap_or(self.view);
        Ok(Box::new(Read { request, relayed, platform, id, keyed, view, admission }))
    }

    /// Executes a request against the backend, within the time and the places that it may take there.
    async fn execute(&self, read: Box<Read>) -> Result<Encoded, Refusal> {
        let row = read.request.operation().row();
        let lane = match (row.class, row.effect) {
            (_, Effect::Concluding) | (Class::Order, _) => Lane::Payment,
            (Class::Purchase, _) => Lane::Cart,
            (Class::Browsing, _) => Lane::Browse,
        };
        let allowance = self.allowances.map(|allowances| allowances.of(row));
        let scope = Scope { lane: Some(lane), allowance, ..read.admission.scope() };
        scope.run(self.carry(read)).await
    }

    /// Carries out a request and encodes the outcome.
    async fn carry(&self, read: Box<Read>) -> Result<Encoded, Refusal> {
        record::enter(Stage::Domain);
        let operation = read.request.operation();
        tracing::debug!(operation = operation.row().name, platform = read.platform.profile.as_str(), "call");
        let outcome = match (&read.request, &self.backend.shop) {
            (Request::Sale(request), _) if request.operation().row().effect.writes() => {
                return Box::pin(self.change(*read)).await;
            }
            (Request::Directory(request), _) => {
                let directory = self.backend.directory.as_ref().ok_or_else(|| {
                    Refusal::internal().because("there is no directory, but its operations are mounted")
                })?;
                let (cursors, now) = (&*self.backend.cursors, self.backend.shop.now());
                Outcome::Answer(directory.answer(request.clone(), cursors, now).await?)
            }
            (_, ShopPort::Upstream(relay)) => {
                let Read { relayed, platform, view, .. } = *read;
                return Box::pin(relay_to(&**relay, &platform, relayed, view)).await;
            }
            (Request::Catalog(request), ShopPort::Facts { catalog, .. }) => {
                browse(&**catalog, &*self.backend.cursors, request, &read.platform.buyer_signals).await?
            }
            (Request::Sale(request), ShopPort::Facts { sales, .. }) => {
                let caller = read.platform.caller();
                let decision = sales.decide(&caller, request.clone()).await?;
                Box::pin(looked_after(sales, &caller, decision)).await?
            }
        };
        read.platform.answer(operation, outcome, read.view)
    }

    /// Carries out a request that changes something, in a task of its own, so that a change that was begun is finished even
    /// if the caller disconnects.
    async fn change(&self, read: Read) -> Result<Encoded, Refusal> {
        let Read { request: Request::Sale(request), relayed, platform, id, keyed, admission, .. } = read else {
            return Err(Refusal::internal().because("carts and checkouts alone are changed"));
        };
        let holder = self.access.holder(&admission, request.operation().row().effect);
        let write = Write { request, relayed, platform, id, keyed, holder, _admission: admission };
        let (shop, locks) = (self.backend.shop.clone(), self.locks.clone());
        let scope = Scope::current();
        let written = async move { scope.run(carry_out(&shop, &locks, write)).await };
        let written = tokio::spawn(record::inherit(written).in_current_span());
        written.await.unwrap_or_else(|_| Err(Refusal::internal().because("the change panicked")))
    }
}

/// Maximum time that a call which only looks waits for a processor or a shop that is asked for it.
const GLANCE: Duration = Duration::from_millis(1_500);

/// Returns the answer to a call that only looks. A processor or a shop that is asked meanwhile may take longer: then the call
/// is answered with what is known, and whoever looks next learns of the rest.
async fn looked_after(sales: &Arc<dyn Commerce>, caller: &Caller, decision: Decision) -> Result<Outcome, Refusal> {
    let Decision { outcome, then: Some(then), .. } = decision else { return Ok(decision.outcome) };
    let (sales, caller) = (Arc::clone(sales), caller.clone());
    let scope = Scope::current();
    let asked = async move { scope.run(async move { sales.follow(&caller, then).await }).await };
    match tokio::time::timeout(GLANCE, tokio::spawn(record::inherit(asked).in_current_span())).await {
        Ok(Ok(asked)) => Ok(asked?.map_or(outcome, |decision| decision.outcome)),
        Ok(Err(_)) => Err(Refusal::internal().because("what was asked panicked")),
        Err(_) => Ok(outcome),
    }
}

/// Answers a catalog request.
async fn browse(
    catalog: &dyn Catalog,
    cursors: &dyn Cursors,
    request: &CatalogRequest,
    buyer_signals: &BuyerSignals,
) -> Result<Outcome, Refusal> {
    Ok(match request {
        CatalogRequest::SearchCatalog(request) => {
            Outcome::Answer(search(catalog, cursors, request, buyer_signals).await?.into())
        }
        CatalogRequest::LookupCatalog(request) => {
            Outcome::Answer(lookup(catalog, request, buyer_signals).await?.into())
        }
        CatalogRequest::GetProduct(request) => detail(catalog, request, buyer_signals).await?.map(Answer::from),
    })
}

/// Maximum time that a call waits for another one about the same resource.
const PATIENCE: Duration = Duration::from_secs(3);

/// Number of seconds after which a caller that there was no room for may find some.
const FULL_FOR: u32 = 600;

/// Maximum number of times that a change is decided when concurrent changes of the same resource make it stale.
const TRIES: usize = 16;

/// Carries out a call that changes something: once per idempotency key, one at a time per resource, and answered only
/// when the change and the answer are committed.
async fn carry_out(shop: &ShopPort, locks: &ResourceLocks, write: Write) -> Result<Encoded, Refusal> {
    let Write { request, relayed, platform, id, keyed, holder, _admission } = write;
    let (operation, caller, ledger): (_, Caller, _) = (request.operation(), platform.caller(), shop.ledger());
    let contended = match &request {
        SaleRequest::CreateCheckout(create) if create.cart_id.is_some() => create.cart_id.as_ref(),
        _ => id.as_ref(),
    };
    let contended = contended.map_or_else(|| keyed.as_ref().map(|keyed| keyed.key.key.as_str()), |id| Some(id));
    let _lock = match contended {
        Some(name) => {
            let lock = locks.lock(format!("{} {name}", caller.owner), PATIENCE).await;
            Some(lock.ok_or_else(|| Refusal::unavailable("Another request for the same resource is in progress.", 2))?)
        }
        None => None,
    };
    if keyed.is_some() {
        record::note(|facts| facts.repetition = Some(Repetition::New));
    }
    let mut followed = Followed::default();
    for _ in 0..TRIES {
        record::enter(Stage::Domain);
        if let Some(Keyed { key, identity }) = &keyed
            && let Some(kept) = ledger.kept(key).await?
        {
            return replayed(&kept, identity);
        }
        let (encoded, change) = match shop {
            ShopPort::Facts { sales, .. } => {
                match Box::pin(decided(sales, &platform, &request, holder.as_ref(), &mut followed)).await? {
                    Some(decided) => decided,
                    None => continue,
                }
            }
            // The shop itself stores the change.
            ShopPort::Upstream(relay) => {
                (relay_to(&**relay, &platform, relayed.clone(), View::Full).await?, Box::default())
            }
        };
        let keep = keyed.as_ref().map(|Keyed { key, identity }| {
            (key.clone(), Kept { identity: *identity, answer: stored(&encoded), at: shop.now() })
        });
        if change.is_empty() && keep.is_none() {
            return Ok(encoded);
        }
        let parts = [
            ("cart", change.cart.is_some()),
            ("checkout", change.checkout.is_some()),
            ("order", change.order.is_some()),
            ("stock", !change.stock.is_empty()),
            ("answer under its idempotency key", keep.is_some()),
        ];
        // What a payment has led to is committed whatever room there is: it was there when the payment began.
        let all = |holder: Holder| Holder {
            bounds: holder.bounds.into_iter().map(|bound| Bound { bytes: u64::MAX, ..bound }).collect(),
        };
        let room = if followed.paid { holder.clone().map(all) } else { holder.clone() };
        let committed = ledger.commit(Change { holder: room, ..*change }, keep).await;
        // A purchase at another shop is made by now, and is told whether or not the answer can be kept.
        let bought = matches!(shop, ShopPort::Upstream(_)) && operation.row().effect == Effect::Concluding;
        if bought && matches!(committed, Err(_) | Ok(Committed::Full(_))) {
            tracing::error!(?committed, "storing the response for retries failed; it was sent once");
            return Ok(encoded);
        }
        let committed = committed?;
        record::tell(if matches!(committed, Committed::Done) { "committed" } else { "not_committed" }, || {
            parts.iter().filter(|(_, is_part)| *is_part).map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
        });
        match committed {
            Committed::Done => return Ok(encoded),
            Committed::Full(full) => return Err(no_room(full, holder.as_ref())),
            Committed::Stale => {}
            Committed::Kept(kept) => {
                return keyed.map_or_else(|| Err(Refusal::internal()), |keyed| replayed(&kept, &keyed.identity));
            }
        }
    }
    Err(Refusal::unavailable("Too many concurrent changes to this resource.", 1))
}

/// Steps that have followed the decisions about a call so far.
#[derive(Debug, Default)]
struct Followed {
    /// `true` once a payment was called off.
    called_off: bool,
    /// `true` once a payment has begun.
    paid: bool,
}

/// Decides about a call of a shop whose sales are carried out here, and carries out what follows. Returns the answer with the
/// change to commit; `None` if it has to be decided again.
async fn decided(
    sales: &Arc<dyn Commerce>,
    platform: &Platform,
    request: &SaleRequest,
    holder: Option<&Holder>,
    followed: &mut Followed,
) -> Result<Option<(Encoded, Box<Change>)>, Refusal> {
    let (operation, caller) = (request.operation(), platform.caller());
    let Decision { outcome, change, then } = sales.decide(&caller, request.clone()).await?;
    let Some(then) = then.filter(|then| !(followed.called_off && matches!(then, Then::CallOff(_)))) else {
        return Ok(Some((platform.answer(operation, outcome, View::Full)?, change)));
    };
    if !change.is_empty() {
        match sales.ledger().commit(Change { holder: holder.cloned(), ..*change }, None).await? {
            Committed::Done => {}
            Committed::Full(full) => return Err(no_room(full, holder)),
            Committed::Stale | Committed::Kept(_) => return Ok(None),
        }
    }
    let calls_off = matches!(then, Then::CallOff(_));
    followed.called_off |= calls_off;
    followed.paid |= matches!(then, Then::Pay(_));
    Ok(match sales.follow(&caller, then).await? {
        Some(ended) => Some((platform.answer(operation, ended.outcome, View::Full)?, ended.change)),
        None if calls_off => None,
        None => Some((platform.answer(operation, outcome, View::Full)?, Box::default())),
    })
}

/// Returns the refusal of a change that there is no room for.
fn no_room(full: Full, holder: Option<&Holder>) -> Refusal {
    let own = holder.and_then(|holder| holder.bounds.first());
    let (open, bytes) = own.map_or((0, 0), |own| (own.open, own.bytes));
    let accepted = "fewer or smaller carts and checkouts, others once they have expired, or an API key of the shop";
    let exceeded = |content: String| {
        let refusal = Refusal::new(Code::RateLimited, content).accepting(accepted);
        Refusal { retry_after: Some(FULL_FOR), ..refusal }
    };
    match full {
        Full::Open => exceeded(format!(
            "The caller has {open} carts and checkouts here, or its network several times as many, which is as many as they \
             may have."
        )),
        Full::Bytes => exceeded(format!(
            "The carts and checkouts of the caller take {bytes} bytes, or those of its network several times as many, which \
             is as much as they may."
        )),
        Full::Store => {
            Refusal::unavailable("Storage limit reached: new carts and checkouts are temporarily rejected.", FULL_FOR)
                .because("the database or its disk is as full as `data.max_mb` and `data.min_free_mb` permit")
        }
    }
}

/// Forwards a call to a shop that speaks UCP itself and encodes its answer.
async fn relay_to(
    relay: &dyn UcpUpstream,
    platform: &Platform,
    relayed: Option<ForwardedCall>,
    view: View,
) -> Result<Encoded, Refusal> {
    let relayed = relayed.ok_or_else(|| Refusal::internal().because("what the caller said was not kept"))?;
    let operation = relayed.operation;
    let carried = relay.forward(&platform.caller(), relayed).await?;
    Ok(platform.relayed(operation, &carried, view))
}

#[cfg(test)]
mod tests;
