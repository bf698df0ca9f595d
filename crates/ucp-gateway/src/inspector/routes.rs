//! The page of the inspector, and what it asks: recorded calls, and those that come.

use std::{convert::Infallible, sync::Arc, time::Duration};

use axum::{
    Router,
    body::{Body, Bytes},
    extract::{Query, State},
    response::{IntoResponse, Response},
    routing::get,
};
use futures_util::stream;
use http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, CONTENT_TYPE},
};
use serde::Deserialize;
use tokio::sync::broadcast::error::RecvError;
use ucp_workbench::Facts;

use super::{entry::Entry, recorder::Recorder};
use crate::running::Running;

/// Maximum number of calls in a list.
const LISTED: usize = 200;

/// Interval at which the live stream looks whether the gateway ends, and keeps its connection alive.
const BEAT: Duration = Duration::from_secs(1);

/// Which calls are asked for.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Wanted {
    /// Identifier of the request.
    id: Option<String>,
    /// Name or part of the profile URL of the platform.
    platform: Option<String>,
    operation: Option<String>,
    /// Outcome; `failed` is all but `ok`.
    outcome: Option<String>,
}

impl Wanted {
    fn takes(&self, entry: &Entry) -> bool {
        let same = |wanted: &Option<String>, own: Option<&str>| {
            wanted.as_deref().is_none_or(|wanted| wanted.is_empty() || own == Some(wanted))
        };
        let of_platform = |wanted: &str| {
            entry.platform.as_deref() == Some(wanted) || entry.profile.as_ref().is_some_and(|url| url.contains(wanted))
        };
        same(&self.id, Some(&entry.id))
            && self.platform.as_deref().is_none_or(|wanted| wanted.is_empty() || of_platform(wanted))
            && same(&self.operation, entry.operation.as_deref())
            && match self.outcome.as_deref() {
                Some("failed") => entry.outcome != "ok",
                _ => same(&self.outcome, Some(&entry.outcome)),
            }
    }
}

/// Recorder of a gateway, and whether that ends.
#[derive(Clone)]
struct Inspected(Arc<Recorder>, Arc<Running>);

/// Builds the routes, which whoever mounts them protects.
pub(crate) fn router(facts: &Facts, recorder: &Arc<Recorder>, running: &Arc<Running>) -> Router {
    Router::new()
        .route("/inspector/calls", get(calls))
        .route("/inspector/live", get(live))
        .with_state(Inspected(Arc::clone(recorder), Arc::clone(running)))
        .merge(ucp_workbench::inspector(facts))
}

async fn calls(State(Inspected(recorder, _)): State<Inspected>, Query(wanted): Query<Wanted>) -> Response {
    let ring = recorder.ring.clone();
    let read = tokio::task::spawn_blocking(move || ring.newest(LISTED, |entry| wanted.takes(entry)));
    match read.await.map_err(std::io::Error::other).flatten() {
        Ok(entries) => json(serde_json::to_string(&entries).unwrap_or_default()),
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, error.to_string()).into_response(),
    }
}

fn json(text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Answers with server-sent events: every call as it is recorded, until the gateway ends.
async fn live(State(Inspected(recorder, running)): State<Inspected>) -> Response {
    let calls = stream::unfold((recorder.subscribe(), running), async |(mut calls, running)| {
        loop {
            if running.is_stopping() {
                return None;
            }
            let event = match tokio::time::timeout(BEAT, calls.recv()).await {
                Ok(Ok(entry)) => format!("data: {entry}\n\n"),
                Ok(Err(RecvError::Lagged(missed))) => format!("event: missed\ndata: {missed}\n\n"),
                Ok(Err(RecvError::Closed)) => return None,
                Err(_) => ": still here\n\n".to_owned(),
            };
            return Some((Ok::<_, Infallible>(Bytes::from(event)), (calls, running)));
        }
    });
    let mut response = Response::new(Body::from_stream(calls));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
