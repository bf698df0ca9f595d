//! The line in the log about each request, and its metrics, written when it has been answered or its caller has gone.
//!
//! What it says is gathered by a [`CallRecord`] on the way of the request. Of refusals, no more than [`SAMPLE`] of a code
//! have a line each second; the others are counted, and so are lines that nobody takes.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use axum::{Router, body::Body, response::Response};
use http::Request;
use hyper::body::Body as _;
use tower::ServiceExt as _;
use ucp_core::{
    Code,
    record::{self, CallRecord, Facts, Stage},
};
use ucp_service::header;

use crate::{
    clock,
    events::Events,
    inspector::{
        entry::Entry,
        recorder::{Following, Recorder},
    },
    metrics::{Ended, Metrics},
    running::Running,
    shop::{self, Shop},
    telemetry::{Log, Name, name},
};

/// Maximum number of lines about refusals with the same code in each [`INTERVAL`].
const SAMPLE: u32 = 20;

/// Names of the stages, in the order of [`Stage::ALL`].
const STAGES: [Name; Stage::ALL.len()] =
    [name!("identify"), name!("read"), name!("domain"), name!("upstream"), name!("store"), name!("encode")];

/// Interval at which refusals and lost lines are counted.
const INTERVAL: Duration = Duration::from_secs(1);

/// Answers requests, and logs what came of them.
#[derive(Debug)]
pub(crate) struct Calls {
    running: Arc<Running>,
    /// Routes of a shop that is paused.
    paused: Router,
    log: Arc<Log>,
    metrics: Metrics,
    events: Option<Events>,
    recorder: Option<Arc<Recorder>>,
    /// Refusals of the current interval, by code.
    refused: Vec<AtomicU32>,
}

impl Calls {
    pub(crate) fn new(
        running: Arc<Running>,
        log: Arc<Log>,
        metrics: Metrics,
        events: Option<Events>,
        recorder: Option<Arc<Recorder>>,
    ) -> Self {
        Self {
            running,
            paused: shop::paused(),
            log,
            metrics,
            events,
            recorder,
            refused: Code::ALL.iter().map(|_| AtomicU32::new(0)).collect(),
        }
    }

    /// Answers a request in its shop.
    pub(crate) async fn answer(&self, request: Request<Body>) -> Response {
        let Some(shop) = self.running.shops.of(&request) else { return answered(Router::new(), request).await };
        let searches = self.running.settings().sections.log.searches;
        let (request, following) = match &self.recorder {
            Some(recorder) => recorder.follow(request),
            None => (request, None),
        };
        let begin = if following.is_some() { CallRecord::following } else { CallRecord::begin };
        let begun = begin(Instant::now, searches);
        let router = if self.running.decisions.is_paused(&shop.id) { &self.paused } else { &shop.router }.clone();
        let trace = header::trace(request.headers(), None).parent;
        self.metrics.begin();
        let mut ending =
            Ending { calls: self, shop: &shop, record: &begun, trace, status: None, bytes_out: 0, following };
        let mut response = record::scope(Arc::clone(&begun), answered(router, request)).await;
        if let Some(following) = &mut ending.following {
            response = following.read(response).await;
        }
        ending.status = Some(response.status().as_u16());
        ending.bytes_out = response.body().size_hint().lower();
        response
    }

    /// Reports, for as long as it runs, what has no line.
    pub(crate) async fn report(&self) {
        let mut interval = tokio::time::interval(INTERVAL);
        let mut told = 0;
        loop {
            interval.tick().await;
            if let Some(recorder) = &self.recorder {
                recorder.refill();
            }
            for (code, refused) in Code::ALL.iter().zip(&self.refused) {
                let count = refused.swap(0, Ordering::Relaxed).saturating_sub(SAMPLE);
                if count > 0 {
                    tracing::warn!(code = code.as_str(), count, "refusals were not logged");
                }
            }
            // Told again for as long as this line may have been dropped too.
            let total = self.log.dropped();
            if total > told {
                tracing::warn!(total, "log lines were dropped");
                told = if self.log.dropped() == total { total } else { told };
            }
        }
    }

    /// Returns `true` if a call is to have a line.
    fn samples(&self, facts: &Facts) -> bool {
        let counted = facts.refused.and_then(|code| self.refused.get(code as usize));
        counted.is_none_or(|counted| counted.fetch_add(1, Ordering::Relaxed) < SAMPLE)
    }
}

/// Answers a request with a router.
pub(crate) async fn answered(router: Router, request: Request<Body>) -> Response {
    router.oneshot(request).await.unwrap_or_else(|never| match never {})
}

/// Writes the line about a request when it is dropped.
struct Ending<'a> {
    calls: &'a Calls,
    shop: &'a Shop,
    record: &'a CallRecord,
    /// Value of `traceparent`.
    trace: Option<String>,
    /// Status of the answer; `None` if the caller has gone before there was one.
    status: Option<u16>,
    bytes_out: u64,
    /// What the inspector keeps of the request, if it records the call.
    following: Option<Following>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let (facts, spent) = self.record.end();
        let platform = facts.profile.as_ref().and_then(|profile| self.shop.platforms.get(profile));
        let ended = Ended {
            shop: self.shop.id.as_str(),
            platform: platform.map(String::as_str),
            facts: &facts,
            status: self.status,
            bytes_out: self.bytes_out,
            spent,
        };
        self.calls.metrics.count(&ended);
        if let (Some(recorder), Some(following)) = (&self.calls.recorder, self.following.take()) {
            let (at, events) = (clock::timestamp().to_string(), self.record.take_events());
            recorder.record(Entry::of(&ended, at, following.method(), following.path(), events), following);
        }
        if let Some(events) = &self.calls.events {
            events.tell(&ended);
        }
        if !self.calls.log.has_calls || !self.calls.samples(&facts) {
            return;
        }
        let mut line = self.calls.log.line("call");
        line.plain(&name!("request_id"), &facts.request_id);
        if let Some(id) = self.trace.as_ref().and_then(|trace| trace.split('-').nth(1)) {
            line.plain(&name!("trace_id"), id);
        }
        line.plain(&name!("shop"), self.shop.id.as_str());
        line.plain(&name!("transport"), facts.transport.as_str());
        if let Some(release) = facts.release {
            line.plain(&name!("release"), release.date());
        }
        if let Some(operation) = facts.operation {
            line.plain(&name!("operation"), operation.row().name);
        }
        if let Some(profile) = &facts.profile {
            match platform {
                Some(name) => line.string("platform", name),
                None => {
                    line.plain(&name!("platform"), "other");
                    line.plain(&name!("origin"), origin(profile));
                }
            }
        }
        match (facts.refused, &facts.error, self.status) {
            (_, _, None) => line.plain(&name!("outcome"), "hung_up"),
            (Some(code), ..) => line.plain(&name!("outcome"), code.as_str()),
            (None, Some(code), _) => line.string("outcome", code),
            (None, None, Some(..400)) => line.plain(&name!("outcome"), "ok"),
            (None, None, Some(_)) => line.plain(&name!("outcome"), "error"),
        }
        if let Some(status) = self.status {
            line.number(&name!("status"), status.into());
        }
        line.number(&name!("bytes_in"), facts.bytes_in as u64);
        line.number(&name!("bytes_out"), self.bytes_out);
        if let Some(cached) = facts.cached {
            line.plain(&name!("cache"), cached.as_str());
        }
        if let Some(repetition) = facts.repetition {
            line.plain(&name!("idempotency"), repetition.as_str());
        }
        if let Some(query) = &facts.query {
            line.string("query", query);
        }
        line.object(&name!("ms"), |line| {
            line.milliseconds(&name!("total"), spent.iter().sum());
            for (name, spent) in STAGES.iter().zip(spent) {
                line.milliseconds(name, spent);
            }
        });
        self.calls.log.write(line);
    }
}

/// Returns the origin of a profile URL, which is normalised: of ASCII, without user information and default port.
fn origin(profile: &str) -> &str {
    let authority = profile.find("://").map_or(0, |at| at + 3);
    let end = profile[authority..].find(['/', '?', '#']).map_or(profile.len(), |at| authority + at);
    &profile[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_have_their_names() {
        assert_eq!(STAGES.map(|name| name.pretty), Stage::ALL.map(|stage| format!(" {}=", stage.as_str())));
    }

    #[test]
    fn the_origin_of_a_profile_is_all_before_its_path() {
        for (profile, expected) in [
            ("https://agent.example.com/profile.json?a=//b", "https://agent.example.com"),
            ("https://[::1]:8443/", "https://[::1]:8443"),
            ("http://127.0.0.1", "http://127.0.0.1"),
            ("https://a.example?b", "https://a.example"),
        ] {
            assert_eq!(origin(profile), expected);
        }
    }
}
