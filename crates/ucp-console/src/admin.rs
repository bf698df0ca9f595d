//! The admin endpoint: orders and their steps as on the command line, webhook events, probes and metrics, over HTTP on a
//! listener of its own; and the `pages` for operators.
//!
//! Every call must carry the admin token, or, without one, come from this machine and not from a page in a browser. Responses are never cached; errors state the problem.

mod guesses;
mod pages;
mod session;

use std::{
    error::Error,
    fmt,
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use axum::{
    Extension, Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, FromRef, FromRequestParts, Path, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Redirect, Response},
    routing::{get, post},
};
use http::{HeaderMap, HeaderValue, StatusCode, header, request::Parts};
use prometheus::{Encoder as _, TEXT_FORMAT, TextEncoder, proto::MetricFamily};
use serde::Deserialize;
use serde_json::{Value, json};
use ucp_core::{
    Refusal,
    json::{Limits, parse},
    ports::{PortError, agenda::Kind, store::Store},
};
use ucp_host::{
    address::base,
    audit::Actor,
    clock,
    decisions::{Decision, Decisions},
    health::Health,
    openings::Opener,
    orders::{self, Details, NotTaken, Once, Step},
    running::Running,
    shop::Shop,
    slot::Slot,
};
use ucp_payment::Secret;
use ucp_service::{header::require_sound_head, ingress::Peer};
use ucp_sync::{SyncError, Synchroniser};
use ucp_trust::{
    address::ProfileUrl,
    client::{ClientAddress, TrustedProxies},
};

use self::{
    guesses::{Guesses, Verdict},
    session::{Sessions, same},
};
use crate::{
    inspector::{self, Recorder},
    local::{is_local, is_local_page, is_own_page},
};

/// Maximum number of orders or webhook events in a list.
const LISTED: usize = 100;

/// Maximum size of a request body in bytes.
const MAX_BODY: usize = 64 * 1024;

/// The metrics of a process.
#[async_trait]
pub trait Metrics: fmt::Debug + Send + Sync {
    /// Returns all metrics, by name.
    ///
    /// # Errors
    /// [`prometheus::Error`] if two of them have one name.
    async fn families(&self) -> prometheus::Result<Vec<MetricFamily>>;
}

type Answer = Result<Document, Failure>;

/// JSON body of a response.
struct Document(Value);

impl IntoResponse for Document {
    fn into_response(self) -> Response {
        let mut response = Response::new(Body::from(self.0.to_string()));
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }
}

/// Status and error text of a failed call.
struct Failure(StatusCode, String);

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        (self.0, Document(json!({ "error": self.1 }))).into_response()
    }
}

impl From<PortError> for Failure {
    fn from(error: PortError) -> Self {
        tracing::error!(error = &error as &dyn Error, "operator request failed");
        Self(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

impl From<prometheus::Error> for Failure {
    fn from(error: prometheus::Error) -> Self {
        Self(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(ucp_wire::refusal::http_status(refusal.code));
        let accepted = refusal.accepted.map(|accepted| format!(" Accepted: {accepted}.")).unwrap_or_default();
        Self(status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), format!("{}{accepted}", refusal.content))
    }
}

impl From<NotTaken> for Failure {
    fn from(why: NotTaken) -> Self {
        let status = match &why {
            NotTaken::NoSuchOrder(_) => StatusCode::NOT_FOUND,
            NotTaken::Impossible(_) | NotTaken::NotCaptured(_) | NotTaken::NotRefunded(_) => {
                StatusCode::UNPROCESSABLE_ENTITY
            }
            NotTaken::Seen(_) | NotTaken::KeyReused | NotTaken::Ambiguous(..) => StatusCode::CONFLICT,
            NotTaken::Unknown(_) => StatusCode::BAD_GATEWAY,
            NotTaken::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self(status, why.to_string())
    }
}

/// Builds the routes, which are protected by the token, or open to this machine without one. With a recorder the inspector
/// is among them.
pub fn router(
    running: Arc<Running>,
    health: Health,
    metrics: Arc<dyn Metrics>,
    recorder: Option<Arc<Recorder>>,
) -> Router {
    let guard = Guard { running: Arc::clone(&running), sessions: Arc::default(), guesses: Arc::default() };
    let pages = pages::router(&guard, health.clone(), Arc::clone(&metrics), recorder);
    let metrics = async move || {
        let mut text = Vec::with_capacity(16 << 10);
        TextEncoder::new().encode(&metrics.families().await?, &mut text)?;
        Ok::<_, Failure>(([(header::CONTENT_TYPE, TEXT_FORMAT)], text))
    };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/reload", post(reload))
        .route("/shops", get(shops))
        .route("/shops/{shop}/pause", post(pause))
        .route("/shops/{shop}/resume", post(resume))
        .nest("/shops/{shop}", of_shop())
        .merge(of_shop())
        .fallback(async || {
            let problem = "there is nothing here; see `/operator` for pages, `/shops`, `/platforms/blocked`, `/orders`, `/webhooks`, `/tasks`, `/holders`, `/upstream`, `/catalog`, \
                           `/metrics`, `/livez` and `/readyz`";
            Failure(StatusCode::NOT_FOUND, problem.to_owned())
        })
        .with_state(running)
        .merge(health.router(true))
        .merge(pages)
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(guard, admit))
}

/// Builds the routes that are about one shop: the only one, or below `/shops/ID` one of several.
fn of_shop() -> Router<Arc<Running>> {
    Router::new()
        .route("/platforms/blocked", get(blocked))
        .route("/platforms/block", post(block))
        .route("/platforms/unblock", post(unblock))
        .route("/upstream", get(upstream))
        .route("/catalog", get(catalog))
        .route("/catalog/release", post(release))
        .route("/orders", get(list))
        .route("/orders/{id}", get(show))
        .route("/orders/{id}/{step}", post(step))
        .route("/webhooks", get(webhooks))
        .route("/webhooks/{id}/resend", post(resend))
        .route("/tasks", get(tasks))
        .route("/holders", get(holders))
        .route("/holders/free", post(free))
        .route("/tasks/{step}/{id}/retry", post(retry))
}

/// The shop that a call is about.
struct Of(Arc<Slot>);

impl<S: Send + Sync> FromRequestParts<S> for Of
where
    Arc<Running>: FromRef<S>,
{
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Failure> {
        let running = Arc::<Running>::from_ref(state);
        let Named { shop } = Path::<Named>::from_request_parts(parts, state)
            .await
            .map_or_else(|_| Named { shop: None }, |Path(named)| named);
        match shop {
            Some(id) => running
                .shops
                .named(&id)
                .map(Self)
                .ok_or_else(|| Failure(StatusCode::NOT_FOUND, format!("there is no shop `{id}`; see `/shops`"))),
            None => running.shops.single().map(Self).ok_or_else(|| {
                let path = parts.uri.path();
                let problem = format!("there are several shops; name one of `/shops`, as in `/shops/ID{path}`");
                Failure(StatusCode::NOT_FOUND, problem)
            }),
        }
    }
}

impl Of {
    /// Opens the shop, if it is not open.
    async fn opened(&self, running: &Running) -> Result<Arc<Shop>, Failure> {
        let unavailable = |refusal: Refusal| Failure(StatusCode::SERVICE_UNAVAILABLE, refusal.content);
        running.opened(&self.0, Opener::Gateway).await.map_err(unavailable)
    }

    async fn store(&self, running: &Running) -> Result<Arc<dyn Store>, Failure> {
        self.opened(running).await.map(|shop| Arc::clone(&shop.store))
    }
}

/// Parameters of a path, of which each route has some.
#[derive(Deserialize)]
struct Named {
    shop: Option<String>,
}

/// Parameters of a path that names an order or a webhook event.
#[derive(Deserialize)]
struct Identified {
    id: String,
    #[serde(default)]
    step: String,
}

/// State by which requests are admitted: the configuration with its token, and the sessions of browsers.
#[derive(Clone, Debug)]
struct Guard {
    running: Arc<Running>,
    sessions: Arc<Sessions>,
    guesses: Arc<Guesses>,
}

/// Judges a token that a request shows. The time of the comparison reveals nothing of the right one.
fn judge(guesses: &Guesses, client: ClientAddress, presented: &str, token: &Secret) -> Verdict {
    let verdict = guesses.judge(client, same(presented, token.reveal()), Instant::now());
    let address = tracing::field::display(client);
    match verdict {
        Verdict::Right => {}
        Verdict::Wrong => tracing::warn!(address, "wrong admin token"),
        Verdict::TooMany(_) => tracing::warn!(address, "too many wrong admin tokens; none is checked for now"),
    }
    verdict
}

/// Returns the address that a request comes from.
fn client(peer: Option<&Peer>, headers: &HeaderMap, proxies: &TrustedProxies) -> ClientAddress {
    ClientAddress::of(peer.map_or(IpAddr::from([127, 0, 0, 1]), |peer| peer.0), headers, proxies)
}

/// Returns whole seconds for `Retry-After`.
fn retry_after(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

/// Returns `true` for the paths of the pages for operators.
fn is_page(path: &str) -> bool {
    inspector::is_its(path)
        || path.strip_prefix(pages::PATH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Admits requests that carry the token as bearer token, or, without one, direct ones of programs on this machine. Pages
/// open to browsers that have logged in, too, or, without a token, to those on this machine. [`Guesses`] are limited.
async fn admit(
    State(Guard { running, sessions, guesses }): State<Guard>,
    mut request: Request,
    next: Next,
) -> Response {
    if let Err(refusal) = require_sound_head(&request) {
        return uncached(Failure::from(refusal).into_response());
    }
    // As the configuration has it now: the token may have changed since the start.
    let process = running.process();
    let Some(admin) = &process.admin else {
        let problem = "the configuration has no admin listener any longer; this one ends with the process".to_owned();
        return uncached(Failure(StatusCode::FORBIDDEN, problem).into_response());
    };
    let path = request.uri().path();
    let (is_page, is_file) = (is_page(path), pages::is_file(path));
    let Some(token) = &admin.token else {
        if is_local(&request) || (is_page || is_file) && is_local_page(&request) {
            request.extensions_mut().insert(Actor::Local);
            request.extensions_mut().insert(sessions.own.clone());
            return uncached(next.run(request).await);
        }
        let problem = "without an admin token, calls come directly from programs on this machine".to_owned();
        return uncached(Failure(StatusCode::FORBIDDEN, problem).into_response());
    };
    let presented = request.headers().get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
    let presented = presented.and_then(|value| value.split_once(' '));
    let presented = presented.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, token)| token);
    let verdict = presented.map(|presented| {
        let client = client(request.extensions().get(), request.headers(), &process.trusted_proxies);
        judge(&guesses, client, presented, token)
    });
    if verdict == Some(Verdict::Right) {
        request.extensions_mut().insert(Actor::Token);
        request.extensions_mut().insert(sessions.own.clone());
        return uncached(next.run(request).await);
    }
    if is_page && is_own_page(request.headers()) {
        if let Some(key) = sessions.of(request.headers(), token, Instant::now()) {
            request.extensions_mut().insert(Actor::Browser);
            request.extensions_mut().insert(key);
            return uncached(next.run(request).await);
        }
        if request.uri().path() != pages::LOGIN && !matches!(verdict, Some(Verdict::TooMany(_))) {
            return uncached(Redirect::to(pages::LOGIN).into_response());
        }
    }
    // What a page needs to look like one tells nothing, and the page that asks for the token has none yet.
    if request.uri().path() == pages::LOGIN || is_file {
        return uncached(next.run(request).await);
    }
    if let Some(Verdict::TooMany(time)) = verdict {
        let seconds = retry_after(time);
        let problem = format!("too many wrong admin tokens: none is read for {seconds} seconds; then try again");
        let mut response = Failure(StatusCode::TOO_MANY_REQUESTS, problem).into_response();
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
        return uncached(response);
    }
    let problem = "every call shows the admin token, as `Authorization: Bearer TOKEN`; a browser opens `/operator`";
    let mut response = Failure(StatusCode::UNAUTHORIZED, problem.to_owned()).into_response();
    response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    uncached(response)
}

fn uncached(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Body of a call about a platform.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfPlatform {
    /// Profile URL of the platform.
    profile: String,
}

async fn reload(Extension(actor): Extension<Actor>, State(running): State<Arc<Running>>) -> Answer {
    audited(&running.decisions, actor, "reload", "")?;
    match running.reload().await {
        Ok(late) => Ok(Document(json!({ "reloaded": true, "from_next_start": late }))),
        Err(error) => Err(Failure(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())),
    }
}

async fn shops(State(running): State<Arc<Running>>) -> Answer {
    let shown = |slot: &Arc<Slot>| {
        let (paused, shop) = (slot.decisions.is_paused(&slot.id), slot.shop());
        let mount = &slot.settings.mount;
        let name = shop.as_ref().map(|shop| shop.name.clone());
        let mut shown = json!({ "id": slot.id.as_str(), "name": name, "ready": shop.as_ref().map(|shop| shop.ready), "paused": paused });
        if mount.is_one_of_several {
            shown["open"] = shop.is_some().into();
            shown["url"] = base(&slot.public_url).into();
        }
        shown
    };
    Ok(Document(running.shops.all().iter().map(shown).collect()))
}

async fn pause(Extension(actor): Extension<Actor>, Of(slot): Of) -> Answer {
    decide(&slot, actor, &Decision::Pause(slot.id.clone()))
}

async fn resume(Extension(actor): Extension<Actor>, Of(slot): Of) -> Answer {
    decide(&slot, actor, &Decision::Resume(slot.id.clone()))
}

async fn blocked(Of(slot): Of) -> Answer {
    Ok(Document(json!(slot.decisions.blocked())))
}

async fn block(Extension(actor): Extension<Actor>, Of(slot): Of, body: Bytes) -> Answer {
    decide(&slot, actor, &Decision::Block(profile(&slot, &body)?))
}

async fn unblock(Extension(actor): Extension<Actor>, Of(slot): Of, body: Bytes) -> Answer {
    decide(&slot, actor, &Decision::Unblock(profile(&slot, &body)?))
}

/// Returns the profile URL in a body, normalized.
fn profile(slot: &Slot, body: &[u8]) -> Result<String, Failure> {
    let wrong = |problem: String| Failure(StatusCode::BAD_REQUEST, problem);
    let named: OfPlatform = serde_json::from_slice(body)
        .map_err(|error| wrong(format!("the body must be `{{\"profile\": \"https://…\"}}`: {error}")))?;
    let url =
        ProfileUrl::parse(&named.profile, slot.settings.reach).map_err(|rejection| wrong(rejection.to_string()))?;
    Ok(url.as_str().to_owned())
}

fn decide(slot: &Slot, actor: Actor, decision: &Decision) -> Answer {
    let unkept = |error| Failure(StatusCode::SERVICE_UNAVAILABLE, format!("the decision cannot be kept: {error}"));
    slot.decisions.take(actor, decision).map_err(unkept)?;
    Ok(Document(json!({ "done": true })))
}

/// Writes a line of the audit log about a step that is not kept among the decisions.
fn audited(decisions: &Decisions, actor: Actor, action: &str, subject: &str) -> Result<(), Failure> {
    let unwritten =
        |error| Failure(StatusCode::SERVICE_UNAVAILABLE, format!("the audit log cannot be written: {error}"));
    decisions.audit.add(actor, action, subject).map_err(unwritten)
}

async fn upstream(State(running): State<Arc<Running>>, of: Of) -> Answer {
    match &of.opened(&running).await?.counters {
        Some(counters) => Ok(Document(json!(counters.snapshot()))),
        None => Err(Failure(StatusCode::NOT_FOUND, "the shop is the embedded one, and has no upstream".to_owned())),
    }
}

/// Returns the synchronization of a shop.
async fn synchroniser(of: &Of, running: &Running) -> Result<Synchroniser, Failure> {
    let found = of.opened(running).await?.synchroniser.clone();
    found.ok_or_else(|| Failure(StatusCode::NOT_FOUND, "no catalog is copied; see `catalog.source`".to_owned()))
}

async fn catalog(State(running): State<Arc<Running>>, of: Of) -> Answer {
    let status = synchroniser(&of, &running).await?.status();
    let mut document = json!(status.state);
    document["failures"] = status.failures.into();
    document["running"] = status.running.map_or(Value::Null, |run| json!({ "kind": run.kind, "tally": run.tally }));
    Ok(Document(document))
}

async fn release(Extension(actor): Extension<Actor>, State(running): State<Arc<Running>>, of: Of) -> Answer {
    audited(&of.0.decisions, actor, "catalog release", "")?;
    match synchroniser(&of, &running).await?.release().await {
        Ok(removed) => Ok(Document(json!({ "removed": removed.unwrap_or_default() }))),
        Err(SyncError::Busy) => Err(Failure(StatusCode::CONFLICT, SyncError::Busy.to_string())),
        Err(error) => {
            tracing::error!(error = &error as &dyn Error, "releasing held products failed");
            Err(Failure(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
        }
    }
}

async fn list(State(running): State<Arc<Running>>, of: Of) -> Answer {
    let orders = of.store(&running).await?.newest_orders(LISTED).await?;
    Ok(Document(orders.iter().map(orders::shown).collect()))
}

async fn show(State(running): State<Arc<Running>>, of: Of, Path(Identified { id, .. }): Path<Identified>) -> Answer {
    let store = of.store(&running).await?;
    Ok(Document(orders::shown(&orders::named(&*store, &id).await?)))
}

async fn step(
    Extension(actor): Extension<Actor>,
    State(running): State<Arc<Running>>,
    of: Of,
    Path(Identified { id, step }): Path<Identified>,
    headers: HeaderMap,
    body: Bytes,
) -> Answer {
    let key = headers.get("idempotency-key").and_then(|key| key.to_str().ok());
    take(actor, &running, &of, &id, &step, Once { key, seen: None }, &body).await
}

/// Takes a step of an order, as the body says it.
async fn take(actor: Actor, running: &Running, of: &Of, id: &str, step: &str, once: Once<'_>, body: &[u8]) -> Answer {
    let details = if body.is_empty() {
        Details::default()
    } else {
        let wrong = |problem: String| Failure(StatusCode::BAD_REQUEST, format!("the body cannot be read: {problem}"));
        let document = parse(body, Limits::REQUEST).map_err(|refusal| wrong(refusal.content))?;
        serde_json::from_value(document).map_err(|error| wrong(error.to_string()))?
    };
    let action = format!("order {step}");
    let step = Step::of(step, details).map_err(|problem| Failure(StatusCode::BAD_REQUEST, problem))?;
    audited(&of.0.decisions, actor, &action, id)?;
    let shop = of.opened(running).await?;
    let order = orders::take(&*shop.store, shop.handlers(), id, &step, once, clock::timestamp).await?;
    Ok(Document(orders::shown(&order)))
}

async fn webhooks(State(running): State<Arc<Running>>, of: Of) -> Answer {
    Ok(Document(json!(of.store(&running).await?.webhook_events(LISTED).await?)))
}

async fn tasks(State(running): State<Arc<Running>>, of: Of) -> Answer {
    Ok(Document(json!(of.store(&running).await?.tasks(LISTED).await?)))
}

async fn holders(State(running): State<Arc<Running>>, of: Of) -> Answer {
    Ok(Document(json!(of.store(&running).await?.holdings(LISTED).await?)))
}

/// Body of a call about a group of callers.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OfHolder {
    /// Name of the group, as `/holders` shows it.
    name: String,
}

async fn free(Extension(actor): Extension<Actor>, State(running): State<Arc<Running>>, of: Of, body: Bytes) -> Answer {
    let OfHolder { name } = serde_json::from_slice(&body).map_err(|error| {
        let problem = format!("the body must be `{{\"name\": \"example.com\"}}`, with a name of `/holders`: {error}");
        Failure(StatusCode::BAD_REQUEST, problem)
    })?;
    audited(&of.0.decisions, actor, "holder free", &name)?;
    match of.store(&running).await?.release(&name).await? {
        0 => Err(Failure(StatusCode::NOT_FOUND, format!("`{name}` holds nothing that can be freed; see `/holders`"))),
        removed => Ok(Document(json!({ "name": name, "removed": removed }))),
    }
}

async fn retry(
    Extension(actor): Extension<Actor>,
    State(running): State<Arc<Running>>,
    of: Of,
    Path(Identified { id, step }): Path<Identified>,
) -> Answer {
    audited(&of.0.decisions, actor, "task retry", &id)?;
    let kind = Kind::from_name(&step);
    if let Some(kind) = kind
        && of.store(&running).await?.retry(kind, &id, clock::timestamp()).await?
    {
        return Ok(Document(json!({ "kind": kind, "key": id, "given_up": false })));
    }
    Err(Failure(StatusCode::NOT_FOUND, format!("there is no task `{step}` of `{id}`; see `/tasks`")))
}

async fn resend(
    Extension(actor): Extension<Actor>,
    State(running): State<Arc<Running>>,
    of: Of,
    Path(Identified { id, .. }): Path<Identified>,
) -> Answer {
    audited(&of.0.decisions, actor, "webhook resend", &id)?;
    if of.store(&running).await?.resend(&id, clock::timestamp()).await? {
        return Ok(Document(json!({ "id": id, "state": "waiting" })));
    }
    Err(Failure(StatusCode::NOT_FOUND, format!("there is no webhook `{id}`; see `/webhooks`")))
}
