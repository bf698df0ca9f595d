//! The admin endpoint: orders and their steps as on the command line, webhook events, probes and metrics, over HTTP on a
//! listener of its own.
//!
//! Every call must carry the admin token, or, without one, come from this machine and not from a page in a browser. Responses are never cached; errors state the problem.

use std::{error::Error, sync::Arc};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{DefaultBodyLimit, Path, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use http::{HeaderValue, StatusCode, header};
use serde::Deserialize;
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use ucp_core::{
    ShopId,
    json::{Limits, parse},
    port::{PortError, store::Store},
};
use ucp_sync::{SyncError, Synchroniser};
use ucp_trust::address::ProfileUrl;

use crate::{
    clock,
    decisions::Decision,
    local::is_local,
    metrics::{Sources, TEXT_FORMAT},
    orders::{self, Details, NotTaken, Step},
    running::Running,
    shop::Shop,
};

/// Maximum number of orders or webhook events in a list.
const LISTED: usize = 100;

/// Maximum size of a request body in bytes.
const MAX_BODY: usize = 64 * 1024;

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
        tracing::error!(error = &error as &dyn Error, "a call of the operator failed");
        Self(StatusCode::SERVICE_UNAVAILABLE, error.to_string())
    }
}

impl From<NotTaken> for Failure {
    fn from(why: NotTaken) -> Self {
        let status = match &why {
            NotTaken::NoSuchOrder(_) => StatusCode::NOT_FOUND,
            NotTaken::Impossible(_) | NotTaken::NotRefunded(_) => StatusCode::UNPROCESSABLE_ENTITY,
            NotTaken::RefundUnknown => StatusCode::BAD_GATEWAY,
            NotTaken::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self(status, why.to_string())
    }
}

/// Builds the routes, which are protected by the token, or open to this machine without one.
pub(crate) fn router(sources: Sources) -> Router {
    let (running, health) = (Arc::clone(&sources.running), sources.health.clone());
    let metrics = async move || match sources.text().await {
        Ok(text) => Ok(([(header::CONTENT_TYPE, TEXT_FORMAT)], text)),
        Err(error) => Err(Failure(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/reload", post(reload))
        .route("/shops", get(shops))
        .route("/shops/{id}/pause", post(pause))
        .route("/shops/{id}/resume", post(resume))
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
        .fallback(async || {
            let problem = "there is nothing here; see `/shops`, `/platforms/blocked`, `/orders`, `/webhooks`, `/upstream`, `/catalog`, \
                           `/metrics`, `/livez` and `/readyz`";
            Failure(StatusCode::NOT_FOUND, problem.to_owned())
        })
        .with_state(Arc::clone(&running))
        .merge(health.router(true))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(running, guard))
}

/// Admits requests that carry the token as bearer token, or, without one, direct ones of programs on this machine. The time
/// of the comparison reveals only the token's length.
async fn guard(State(running): State<Arc<Running>>, request: Request, next: Next) -> Response {
    // As the configuration has it now: the token may have changed since the start.
    let settings = running.settings();
    let Some(admin) = &settings.admin else {
        let problem = "the configuration has no admin listener any longer; this one ends with the process".to_owned();
        return uncached(Failure(StatusCode::FORBIDDEN, problem).into_response());
    };
    let Some(token) = &admin.token else {
        if is_local(&request) {
            return uncached(next.run(request).await);
        }
        let problem = "without an admin token, calls come directly from programs on this machine".to_owned();
        return uncached(Failure(StatusCode::FORBIDDEN, problem).into_response());
    };
    let presented = request.headers().get(header::AUTHORIZATION).map(HeaderValue::as_bytes);
    let presented = presented.and_then(|value| value.strip_prefix(b"Bearer "));
    let known = presented.is_some_and(|presented| bool::from(presented.ct_eq(token.reveal().as_bytes())));
    uncached(if known {
        next.run(request).await
    } else {
        let problem = "every call shows the admin token, as `Authorization: Bearer TOKEN`".to_owned();
        let mut response = Failure(StatusCode::UNAUTHORIZED, problem).into_response();
        response.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        response
    })
}

fn uncached(mut response: Response) -> Response {
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Body of a call about a platform.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    /// Profile URL of the platform.
    profile: String,
}

async fn reload(State(running): State<Arc<Running>>) -> Answer {
    audited(&running, "reload", "")?;
    match running.reload().await {
        Ok(late) => Ok(Document(json!({ "reloaded": true, "from_next_start": late }))),
        Err(problem) => Err(Failure(StatusCode::UNPROCESSABLE_ENTITY, problem)),
    }
}

async fn shops(State(running): State<Arc<Running>>) -> Answer {
    let shown = |shop: &Arc<Shop>| {
        let paused = running.decisions.is_paused(&shop.id);
        json!({ "id": shop.id.as_str(), "name": shop.name, "ready": shop.ready, "paused": paused })
    };
    Ok(Document(running.shops.all().iter().map(shown).collect()))
}

async fn pause(State(running): State<Arc<Running>>, Path(id): Path<String>) -> Answer {
    decide(&running, &Decision::Pause(known(&running, &id)?))
}

async fn resume(State(running): State<Arc<Running>>, Path(id): Path<String>) -> Answer {
    decide(&running, &Decision::Resume(known(&running, &id)?))
}

async fn blocked(State(running): State<Arc<Running>>) -> Answer {
    Ok(Document(json!(running.decisions.blocked())))
}

async fn block(State(running): State<Arc<Running>>, body: Bytes) -> Answer {
    decide(&running, &Decision::Block(profile(&running, &body)?))
}

async fn unblock(State(running): State<Arc<Running>>, body: Bytes) -> Answer {
    decide(&running, &Decision::Unblock(profile(&running, &body)?))
}

/// Returns the identifier of a shop that is served.
fn known(running: &Running, id: &str) -> Result<ShopId, Failure> {
    let shop = running.shops.all().into_iter().find(|shop| shop.id.as_str() == id);
    shop.map(|shop| shop.id.clone())
        .ok_or_else(|| Failure(StatusCode::NOT_FOUND, format!("there is no shop `{id}`; see `/shops`")))
}

/// Returns the profile URL in a body, normalised.
fn profile(running: &Running, body: &[u8]) -> Result<String, Failure> {
    let wrong = |problem: String| Failure(StatusCode::BAD_REQUEST, problem);
    let named: Named = serde_json::from_slice(body)
        .map_err(|error| wrong(format!("the body must be `{{\"profile\": \"https://…\"}}`: {error}")))?;
    let url = ProfileUrl::parse(&named.profile, running.settings().reach)
        .map_err(|rejection| wrong(rejection.to_string()))?;
    Ok(url.as_str().to_owned())
}

fn decide(running: &Running, decision: &Decision) -> Answer {
    let unkept = |error| Failure(StatusCode::SERVICE_UNAVAILABLE, format!("the decision cannot be kept: {error}"));
    running.decisions.take(decision).map_err(unkept)?;
    Ok(Document(json!({ "done": true })))
}

/// Writes a line of the audit log about a step that is not kept among the decisions.
fn audited(running: &Running, action: &str, subject: &str) -> Result<(), Failure> {
    let unwritten =
        |error| Failure(StatusCode::SERVICE_UNAVAILABLE, format!("the audit log cannot be written: {error}"));
    running.decisions.audit(action, subject).map_err(unwritten)
}

/// Returns the shop that is served.
fn shop(running: &Running) -> Result<Arc<Shop>, Failure> {
    let shop = running.shops.all().into_iter().next();
    shop.ok_or_else(|| Failure(StatusCode::SERVICE_UNAVAILABLE, "no shop is served".to_owned()))
}

/// Returns the store of the shop that is served.
fn store(running: &Running) -> Result<Arc<dyn Store>, Failure> {
    Ok(Arc::clone(&shop(running)?.store))
}

async fn upstream(State(running): State<Arc<Running>>) -> Answer {
    match running.shops.all().into_iter().find_map(|shop| shop.counters.clone()) {
        Some(counters) => Ok(Document(json!(counters.snapshot()))),
        None => Err(Failure(StatusCode::NOT_FOUND, "the shop is the embedded one, and has no upstream".to_owned())),
    }
}

/// Returns the synchronisation of the shop that is served.
fn synchroniser(running: &Running) -> Result<Synchroniser, Failure> {
    let found = running.shops.all().into_iter().find_map(|shop| shop.synchroniser.clone());
    found.ok_or_else(|| Failure(StatusCode::NOT_FOUND, "no catalog is copied; see `catalog.source`".to_owned()))
}

async fn catalog(State(running): State<Arc<Running>>) -> Answer {
    let status = synchroniser(&running)?.status();
    let mut document = json!(status.state);
    document["failures"] = status.failures.into();
    document["running"] = status.running.map_or(Value::Null, |run| json!({ "kind": run.kind, "tally": run.tally }));
    Ok(Document(document))
}

async fn release(State(running): State<Arc<Running>>) -> Answer {
    audited(&running, "catalog release", "")?;
    match synchroniser(&running)?.release().await {
        Ok(removed) => Ok(Document(json!({ "removed": removed.unwrap_or_default() }))),
        Err(SyncError::Busy) => Err(Failure(StatusCode::CONFLICT, SyncError::Busy.to_string())),
        Err(error) => {
            tracing::error!(error = &error as &dyn Error, "held products cannot be released");
            Err(Failure(StatusCode::SERVICE_UNAVAILABLE, error.to_string()))
        }
    }
}

async fn list(State(running): State<Arc<Running>>) -> Answer {
    let orders = store(&running)?.newest_orders(LISTED).await?;
    Ok(Document(orders.iter().map(orders::shown).collect()))
}

async fn show(State(running): State<Arc<Running>>, Path(id): Path<String>) -> Answer {
    let order = store(&running)?.any_order(&id).await?;
    Ok(Document(orders::shown(&order.ok_or(NotTaken::NoSuchOrder(id))?)))
}

async fn step(State(running): State<Arc<Running>>, Path((id, step)): Path<(String, String)>, body: Bytes) -> Answer {
    let details = if body.is_empty() {
        Details::default()
    } else {
        let wrong = |problem: String| Failure(StatusCode::BAD_REQUEST, format!("the body cannot be read: {problem}"));
        let document = parse(&body, Limits::REQUEST).map_err(|refusal| wrong(refusal.content))?;
        serde_json::from_value(document).map_err(|error| wrong(error.to_string()))?
    };
    let action = format!("order {step}");
    let step = Step::of(&step, details).map_err(|problem| Failure(StatusCode::BAD_REQUEST, problem))?;
    audited(&running, &action, &id)?;
    let shop = shop(&running)?;
    Ok(Document(orders::shown(&orders::take(&*shop.store, shop.handlers(), &id, &step, clock::timestamp).await?)))
}

async fn webhooks(State(running): State<Arc<Running>>) -> Answer {
    Ok(Document(json!(store(&running)?.webhook_events(LISTED).await?)))
}

async fn resend(State(running): State<Arc<Running>>, Path(id): Path<String>) -> Answer {
    audited(&running, "webhook resend", &id)?;
    if store(&running)?.resend(&id, clock::timestamp()).await? {
        return Ok(Document(json!({ "id": id, "state": "waiting" })));
    }
    Err(Failure(StatusCode::NOT_FOUND, format!("there is no webhook `{id}`; see `/webhooks`")))
}
