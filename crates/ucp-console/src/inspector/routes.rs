//! Endpoints of the inspector page: the most recent calls, and a stream of new ones.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::stream;
use http::{
    HeaderValue, StatusCode, Uri,
    header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_TYPE},
};
use jiff::{SignedDuration, Timestamp};
use maud::Markup;
use tokio::sync::broadcast::error::RecvError;
use ucp_core::ports::outbox::WebhookEvent;
use ucp_host::{pages::Subject, running::Running};
use url::form_urlencoded;

use super::{PATH, entry::Summary, recorder::Recorder, shell};
use crate::{
    facts::Facts,
    local,
    page::{self, Place},
};

/// Maximum number of calls in a list.
const LISTED: usize = 200;

/// Interval at which the live stream looks whether the gateway ends, and keeps its connection alive.
const BEAT: Duration = Duration::from_secs(1);

/// Difference between the times at which a call ends and its webhook events are stored, at most.
const MARGIN: SignedDuration = SignedDuration::from_secs(1);

/// Filter of the calls to return.
#[derive(Debug, Default)]
struct Wanted {
    /// Part of the identifier of the request.
    id: String,
    /// Name of the platform, or part of its profile URL.
    platform: String,
    operation: String,
    /// Outcome; `failed` is all but `ok`.
    outcome: String,
}

impl Wanted {
    /// Reads the query of an address.
    fn read(uri: &Uri) -> Result<Self, (StatusCode, &'static str)> {
        let mut wanted = Self::default();
        for (name, value) in form_urlencoded::parse(uri.query().unwrap_or_default().as_bytes()) {
            let member = match &*name {
                "id" => &mut wanted.id,
                "platform" => &mut wanted.platform,
                "operation" => &mut wanted.operation,
                "outcome" => &mut wanted.outcome,
                _ => {
                    let problem = "the query must consist of `id`, `platform`, `operation` and `outcome`";
                    return Err((StatusCode::BAD_REQUEST, problem));
                }
            };
            *member = value.into_owned();
        }
        Ok(wanted)
    }

    fn takes(&self, call: &Summary) -> bool {
        let is_of_platform = || {
            call.platform.as_deref() == Some(&self.platform)
                || call.profile.as_ref().is_some_and(|url| url.contains(&self.platform))
        };
        call.id.contains(&self.id)
            && (self.platform.is_empty() || is_of_platform())
            && (self.operation.is_empty() || call.operation.as_deref() == Some(&*self.operation))
            && match &*self.outcome {
                "" => true,
                "failed" => call.outcome != "ok",
                outcome => call.outcome == outcome,
            }
    }
}

/// Recorder of a gateway, and whether that ends.
#[derive(Clone)]
struct Inspected(Arc<Recorder>, Arc<Running>);

/// Builds the routes beside the other pages for developers, for programs on this machine.
pub fn for_developers(recorder: Arc<Recorder>, running: Arc<Running>) -> Router {
    let page = page::page(&facts(&running), Place::Inspector, "./", "Inspector", shell::SCRIPTS, &shell::content());
    local::only(router(recorder, running, page).fallback(async |uri: Uri| ucp_rest::unknown_path(&uri)))
}

/// Builds the routes of the page and of what it asks, which whoever mounts them protects.
pub(crate) fn router(recorder: Arc<Recorder>, running: Arc<Running>, page: Markup) -> Router {
    Router::new()
        .route("/inspector/calls", get(calls))
        .route("/inspector/calls/{id}", get(call))
        .route("/inspector/calls/{id}/report", get(report))
        .route("/inspector/calls/{id}/webhooks", get(webhooks))
        .route("/inspector/calls/{id}/whole", get(whole))
        .route("/inspector/live", get(live))
        .with_state(Inspected(recorder, running))
        .merge(page::route(PATH, page, page::OWN))
}

/// Returns what the pages about all shops of a process tell.
fn facts(running: &Running) -> Facts {
    let (slots, configuration) = (running.shops.all(), running.configuration());
    let names: Vec<_> = slots.iter().map(|slot| slot.id.as_str()).collect();
    let name = match running.shops.single().and_then(|slot| slot.shop()) {
        Some(shop) => shop.name.clone(),
        None => names.join(", "),
    };
    let url = running.shops.single().map_or_else(|| running.local_url().clone(), |slot| slot.public_url.clone());
    Facts::of(&Subject { settings: &configuration.shops[0], public_url: &url, name: &name, operations: &[] })
}

/// Answers with JSON.
fn json(text: String) -> Response {
    ([(CONTENT_TYPE, "application/json"), (CACHE_CONTROL, "no-store")], text).into_response()
}

/// Returns the newest call with an identifier.
async fn found(recorder: &Recorder, id: Result<Path<String>, PathRejection>) -> Option<Arc<Summary>> {
    let Path(id) = id.ok()?;
    recorder.newest(1, |call| call.id == id).await.pop()
}

/// Answers with the last calls.
async fn calls(State(Inspected(recorder, _)): State<Inspected>, uri: Uri) -> Response {
    let wanted = match Wanted::read(&uri) {
        Ok(wanted) => wanted,
        Err(refused) => return refused.into_response(),
    };
    let calls = recorder.newest(LISTED, |call| wanted.takes(call)).await;
    json(serde_json::to_string(&calls.iter().map(|call| &**call).collect::<Vec<_>>()).unwrap_or_default())
}

/// Answers with a call as a whole.
async fn call(
    State(Inspected(recorder, _)): State<Inspected>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Response {
    let found = found(&recorder, id).await.and_then(|call| recorder.ring().get(&call.id));
    found.map_or_else(|| ucp_rest::unknown_path(&uri), json)
}

/// Answers with a call as a whole for a report about a fault: a file, masked as all that is kept.
async fn report(
    State(Inspected(recorder, _)): State<Inspected>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Response {
    let Some(call) = found(&recorder, id).await.and_then(|call| recorder.ring().get(&call.id)) else {
        return ucp_rest::unknown_path(&uri);
    };
    // It is JSON already.
    let text = format!("{{\"ucp_gateway\":\"{}\",\"call\":{call}}}\n", env!("CARGO_PKG_VERSION"));
    let mut response = json(text);
    let file = HeaderValue::from_static("attachment; filename=\"ucp-call.json\"");
    response.headers_mut().insert(CONTENT_DISPOSITION, file);
    response
}

/// Answers with the webhook events that a call led to, as they stand: those about its orders from the time of the call.
async fn webhooks(
    State(Inspected(recorder, running)): State<Inspected>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Response {
    let Some(call) = found(&recorder, id).await else { return ucp_rest::unknown_path(&uri) };
    let shop = running.shops.named(&call.shop).and_then(|slot| slot.shop());
    let (Some(shop), Ok(ended)) = (shop, call.at.parse::<Timestamp>()) else { return json("[]".to_owned()) };
    let begun = ended.saturating_sub(SignedDuration::from_secs_f64(call.ms / 1_000.0) + MARGIN);
    let (begun, ended) = (begun.unwrap_or(Timestamp::MIN), ended.saturating_add(MARGIN).unwrap_or(Timestamp::MAX));
    match shop.store.webhook_events(LISTED).await {
        Ok(mut events) => {
            let of_call = |event: &WebhookEvent| {
                call.about.contains(&event.order_id) && (begun..=ended).contains(&event.occurred_at)
            };
            events.retain(of_call);
            json(serde_json::to_string(&events).unwrap_or_default())
        }
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("the store cannot be read: {error}")).into_response(),
    }
}

/// Answers with a call as it came, if it was recorded whole.
async fn whole(
    State(Inspected(recorder, _)): State<Inspected>,
    id: Result<Path<String>, PathRejection>,
    uri: Uri,
) -> Response {
    let found = found(&recorder, id).await.and_then(|call| recorder.ring().whole(&call.id));
    found.map_or_else(|| ucp_rest::unknown_path(&uri), json)
}

/// Answers with server-sent events: every wanted call as it is recorded, until the gateway ends.
async fn live(State(Inspected(recorder, running)): State<Inspected>, uri: Uri) -> Response {
    let wanted = match Wanted::read(&uri) {
        Ok(wanted) => wanted,
        Err(refused) => return refused.into_response(),
    };
    let calls = stream::unfold((recorder.subscribe(), wanted, running), async |(mut calls, wanted, running)| {
        loop {
            if running.is_stopping() {
                return None;
            }
            let event = match tokio::time::timeout(BEAT, calls.recv()).await {
                Ok(Ok(call)) if !wanted.takes(&call) => continue,
                Ok(Ok(call)) => format!("data: {}\n\n", serde_json::to_string(&*call).unwrap_or_default()),
                Ok(Err(RecvError::Lagged(missed))) => format!("event: missed\ndata: {missed}\n\n"),
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => ": still here\n\n".to_owned(),
            };
            return Some((Ok::<_, Infallible>(Bytes::from(event)), (calls, wanted, running)));
        }
    });
    let headers = [(CONTENT_TYPE, "text/event-stream"), (CACHE_CONTROL, "no-store")];
    (headers, Body::from_stream(calls)).into_response()
}
