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
use serde_json::{Value, json};
use subtle::ConstantTimeEq as _;
use ucp_core::{
    json::{Limits, parse},
    port::{PortError, store::Store},
};
use ucp_payment::Secret;
use ucp_service::ingress::{Hosts, Peer};

use crate::{
    clock,
    metrics::{Sources, TEXT_FORMAT},
    orders::{self, Details, NotTaken, Step},
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
            NotTaken::Impossible(_) => StatusCode::UNPROCESSABLE_ENTITY,
            NotTaken::Unavailable(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self(status, why.to_string())
    }
}

/// Builds the routes, which are protected by the token, or open to this machine without one.
pub(crate) fn router(store: Arc<dyn Store>, sources: Sources, token: Option<Secret>) -> Router {
    let (shops, health) = (sources.shops.clone(), sources.health.clone());
    let upstream = async move |request: Request| match shops.of(&request).and_then(|shop| shop.counters.clone()) {
        Some(counters) => Ok(Document(json!(counters.snapshot()))),
        None => Err(Failure(StatusCode::NOT_FOUND, "the shop is the embedded one, and has no upstream".to_owned())),
    };
    let metrics = async move || match sources.text().await {
        Ok(text) => Ok(([(header::CONTENT_TYPE, TEXT_FORMAT)], text)),
        Err(error) => Err(Failure(StatusCode::INTERNAL_SERVER_ERROR, error.to_string())),
    };
    Router::new()
        .route("/metrics", get(metrics))
        .route("/upstream", get(upstream))
        .route("/orders", get(list))
        .route("/orders/{id}", get(show))
        .route("/orders/{id}/{step}", post(step))
        .route("/webhooks", get(webhooks))
        .route("/webhooks/{id}/resend", post(resend))
        .fallback(async || {
            Failure(
                StatusCode::NOT_FOUND,
                "there is nothing here; see `/orders`, `/webhooks`, `/upstream`, `/metrics`, `/livez` and `/readyz`"
                    .to_owned(),
            )
        })
        .with_state(store)
        .merge(health.router(true))
        .layer(DefaultBodyLimit::max(MAX_BODY))
        .layer(middleware::from_fn_with_state(token, guard))
}

/// Admits requests that carry the token as bearer token, or, without one, direct ones of programs on this machine. The time
/// of the comparison reveals only the token's length.
async fn guard(State(token): State<Option<Secret>>, request: Request, next: Next) -> Response {
    let Some(token) = token else {
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

/// Returns `true` for a request of a program on this machine: from a loopback address, to a loopback name, and neither
/// forwarded by a proxy nor sent by a page of another site.
fn is_local(request: &Request) -> bool {
    const FORWARDED: [&str; 6] = ["forwarded", "origin", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip"];
    let headers = request.headers();
    let peer = request.extensions().get::<Peer>();
    peer.is_some_and(|Peer(ip)| ip.to_canonical().is_loopback())
        && Hosts::default().admit_page(headers, request.uri()).is_ok()
        && !FORWARDED.iter().any(|name| headers.contains_key(*name))
        && headers.get("sec-fetch-site").is_none_or(|site| site == "none" || site == "same-origin")
}

async fn list(State(store): State<Arc<dyn Store>>) -> Answer {
    let orders = store.newest_orders(LISTED).await?;
    Ok(Document(orders.iter().map(orders::shown).collect()))
}

async fn show(State(store): State<Arc<dyn Store>>, Path(id): Path<String>) -> Answer {
    let order = store.any_order(&id).await?;
    Ok(Document(orders::shown(&order.ok_or(NotTaken::NoSuchOrder(id))?)))
}

async fn step(State(store): State<Arc<dyn Store>>, Path((id, step)): Path<(String, String)>, body: Bytes) -> Answer {
    let details = if body.is_empty() {
        Details::default()
    } else {
        let wrong = |problem: String| Failure(StatusCode::BAD_REQUEST, format!("the body cannot be read: {problem}"));
        let document = parse(&body, Limits::REQUEST).map_err(|refusal| wrong(refusal.content))?;
        serde_json::from_value(document).map_err(|error| wrong(error.to_string()))?
    };
    let step = Step::of(&step, details).map_err(|problem| Failure(StatusCode::BAD_REQUEST, problem))?;
    Ok(Document(orders::shown(&orders::take(&*store, &id, &step, clock::timestamp).await?)))
}

async fn webhooks(State(store): State<Arc<dyn Store>>) -> Answer {
    Ok(Document(json!(store.webhook_events(LISTED).await?)))
}

async fn resend(State(store): State<Arc<dyn Store>>, Path(id): Path<String>) -> Answer {
    if store.resend(&id, clock::timestamp()).await? {
        return Ok(Document(json!({ "id": id, "state": "waiting" })));
    }
    Err(Failure(StatusCode::NOT_FOUND, format!("there is no webhook `{id}`; see `/webhooks`")))
}
