//! The line in the log about each request, and its metrics, written when it has been answered or its caller has gone.
//!
//! A [`CallRecord`] gathers its content on the way of the request. Lines about calls that do not succeed are
//! [sampled](crate::sampling) by their outcome; the others are counted, and so are lines that nobody takes.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    Router,
    body::{Body, to_bytes},
    response::Response,
};
use http::{
    HeaderValue, Request, Uri,
    header::{CONTENT_ENCODING, CONTENT_LENGTH, ETAG, HOST, VARY},
};
use hyper::body::Body as _;
use ucp_console::inspector::{Following, Recorder};
use ucp_host::{
    callers,
    ended::Ended,
    front::{self, Called, answered},
    running::Running,
    shop::{self, RootProfile},
    slot::Slot,
};
use ucp_record::{self as record, CallRecord, Stage, Trace};
use ucp_service::{
    coding::{self, Codable, Coding},
    header,
    ingress::Peer,
};
use ucp_trust::{
    client::{TrustedProxies, forwarded_host},
    signature::input::SIGNATURE,
};

use crate::{
    events::Events,
    metrics::Metrics,
    spans::CallTracer,
    telemetry::{Log, Name, name},
};

/// Names of the stages, in the order of [`Stage::ALL`].
const STAGES: [Name; Stage::ALL.len()] =
    [name!("identify"), name!("read"), name!("domain"), name!("upstream"), name!("store"), name!("encode")];

/// Name in the log and metrics for requests that are for no shop. No shop can have it.
const NOWHERE: &str = "_none";

/// Interval at which it is looked for lines that were left out or lost.
const INTERVAL: Duration = Duration::from_secs(1);

/// Answers requests, and logs what came of them.
#[derive(Debug)]
pub(crate) struct Calls {
    running: Arc<Running>,
    /// Routes where no shop is.
    nowhere: Router,
    /// Routes of shops that are not open.
    front: Router,
    log: Arc<Log>,
    metrics: Metrics,
    events: Option<Arc<Events>>,
    tracer: Option<Arc<CallTracer>>,
    recorder: Option<Arc<Recorder>>,
}

impl Calls {
    pub(crate) fn new(
        running: Arc<Running>,
        log: Arc<Log>,
        metrics: Metrics,
        events: Option<Arc<Events>>,
        tracer: Option<Arc<CallTracer>>,
        recorder: Option<Arc<Recorder>>,
    ) -> Self {
        Self {
            front: front::router(Arc::clone(&running)),
            running,
            nowhere: shop::nowhere(),
            log,
            metrics,
            events,
            tracer,
            recorder,
        }
    }

    /// Answers a request in its shop, which is opened for it if it is one of several.
    pub(crate) async fn answer(&self, mut request: Request<Body>) -> Response {
        name_host(&mut request, &self.running.process().trusted_proxies);
        let coding = Coding::wanted(request.headers());
        let slot = self.running.shops.of(&mut request);
        let stated = header::trace(request.headers(), None);
        let stated = stated.parent.map(|parent| (parent, stated.state));
        let own = self.tracer.as_ref().map(|tracer| tracer.span(stated.as_ref().map(|(parent, _)| parent.as_str())));
        let is_inspected = self.recorder(slot.as_deref()).is_some_and(Recorder::admits);
        let trace = if is_inspected { Some(Trace::kept(stated, own)) } else { Trace::new(stated, own) };
        let (request, following) = if is_inspected {
            let is_development = slot.as_deref().is_some_and(Slot::is_development);
            let (request, following) =
                Following::begin(request, is_development && self.running.process().server.record_unmasked);
            (request, Some(following))
        } else {
            (request, None)
        };
        let begun = CallRecord::begin(Instant::now, self.running.process().log.searches, trace);
        self.metrics.begin();
        let mut ending =
            Ending { calls: self, slot: slot.as_deref(), record: &begun, status: None, bytes_out: 0, following };
        let answer = async {
            let Some(slot) = &slot else { return answered(self.nowhere.clone(), request).await };
            let _call = slot.begin_call();
            if slot.decisions.is_paused(&slot.id) {
                return answered(shop::paused(callers::origins(&slot.settings)), request).await;
            }
            let mut request = request;
            let router = match slot.shop() {
                Some(shop) => match shop.profile.clone().filter(|_| RootProfile::is_asked_for(&request)) {
                    Some(profile) => return profile.answer(request).await,
                    None => shop.router.clone(),
                },
                None => {
                    Called::mark(&mut request, slot);
                    self.front.clone()
                }
            };
            answered(router, request).await
        };
        let mut response = record::scope(Arc::clone(&begun), answer).await;
        if let Some(following) = &mut ending.following {
            response = following.read(response).await;
        }
        response = coded(coding, response).await;
        ending.status = Some(response.status().as_u16());
        ending.bytes_out = response.body().size_hint().lower();
        response
    }

    /// Reports, for as long as it runs, what has no line.
    pub(crate) async fn report(&self) {
        let mut interval = tokio::time::interval(INTERVAL);
        loop {
            interval.tick().await;
            self.report_now(false);
        }
    }

    /// Reports it once; everything at the end of the process.
    pub(crate) fn report_now(&self, is_end: bool) {
        if let Some(events) = &self.events {
            events.report(is_end);
        }
        self.log.report(is_end);
    }

    /// Returns the recorder of the calls of a shop, which is there under the policy `development`.
    fn recorder(&self, slot: Option<&Slot>) -> Option<&Recorder> {
        let is_development = slot.is_some_and(Slot::is_development);
        self.recorder.as_deref().filter(|_| is_development || self.running.process().server.inspect)
    }
}

/// Has a request that a trusted proxy forwards name the host that the client of the proxy named.
fn name_host(request: &mut Request<Body>, trusted: &TrustedProxies) {
    let peer = request.extensions().get::<Peer>();
    let Some(host) = peer.and_then(|peer| forwarded_host(peer.0, request.headers(), trusted)) else { return };
    request.headers_mut().insert(HOST, host);
    if let (Some(_), Some(target)) = (request.uri().authority(), request.uri().path_and_query()) {
        *request.uri_mut() = Uri::from(target.clone());
    }
}

/// Compresses an answer that may be, if it is large, and `coding` is what the client asks for.
async fn coded(coding: Option<Coding>, mut response: Response) -> Response {
    let Some(codable) = response.extensions_mut().remove::<Codable>() else { return response };
    let is_large = response.body().size_hint().exact().is_some_and(|size| size >= coding::LEAST as u64);
    // The signature covers the content as it is.
    if !is_large || response.headers().contains_key(SIGNATURE) {
        return response;
    }
    response.headers_mut().append(VARY, HeaderValue::from_static("Accept-Encoding"));
    let Some(coding) = coding else { return response };
    let (mut head, body) = response.into_parts();
    // It is in memory already, and reading that cannot fail.
    let bytes = to_bytes(body, usize::MAX).await.unwrap_or_default();
    let Some(coded) = codable.encode(coding, &bytes) else { return Response::from_parts(head, bytes.into()) };
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
    let tag = head.headers.get(ETAG).and_then(|tag| tag.to_str().ok()?.strip_suffix('"').map(str::to_owned));
    if let Some(tag) = tag.and_then(|tag| HeaderValue::from_str(&format!("{tag}-{}\"", coding.name())).ok()) {
        head.headers.insert(ETAG, tag);
    }
    Response::from_parts(head, coded.into())
}

/// Writes the line about a request when it is dropped.
struct Ending<'a> {
    calls: &'a Calls,
    /// Shop that the request is for; `None` if it is for none.
    slot: Option<&'a Slot>,
    record: &'a CallRecord,
    /// Status of the answer; `None` if the caller has gone before there was one.
    status: Option<u16>,
    bytes_out: u64,
    /// Data collected for the inspector.
    following: Option<Following>,
}

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let (facts, spent) = self.record.end();
        let platform = facts.profile.as_ref().zip(self.slot).and_then(|(profile, slot)| slot.platforms.get(profile));
        let shop = self.slot.map_or(NOWHERE, |slot| slot.id.as_str());
        let ended = Ended {
            shop,
            platform: platform.map(String::as_str),
            facts: &facts,
            are_orders_elsewhere: self.slot.is_some_and(|slot| slot.settings.are_orders_elsewhere()),
            status: self.status,
            bytes_out: self.bytes_out,
            spent,
        };
        let outcome = ended.outcome();
        self.calls.metrics.count(&ended);
        let trace = self.record.trace();
        if let Some(events) = &self.calls.events {
            events.tell(&ended, trace);
        }
        let recorder = self.calls.recorder(self.slot);
        let following = recorder.zip(self.following.take());
        if let (Some(recorder), None) = (recorder, &following) {
            recorder.skip(&ended);
        }
        if let Some(trace) = trace.filter(|_| self.calls.tracer.is_some() || following.is_some()) {
            let spans = trace.take();
            if let Some(tracer) = &self.calls.tracer {
                tracer.tell(&ended, trace, &spans);
            }
            if let Some((recorder, following)) = following {
                recorder.record(&ended, following, &spans);
            }
        }
        let log = &self.calls.log;
        if !log.has_calls || outcome != "ok" && !log.admits(outcome, platform.is_some()) {
            return;
        }
        let mut line = log.call();
        line.plain(&name!("request_id"), &facts.request_id);
        if let Some(id) = trace.and_then(|trace| trace.id()) {
            line.plain(&name!("trace_id"), &id);
        }
        line.plain(&name!("shop"), shop);
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
        if let Some(agent) = &facts.agent {
            line.plain(&name!("agent"), agent);
        }
        match (facts.refused, &facts.error, self.status) {
            (_, _, None) => line.plain(&name!("outcome"), "client_closed"),
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
        line.milliseconds(&name!("ms", "total"), spent.iter().sum());
        for (name, spent) in STAGES.iter().zip(spent) {
            line.milliseconds(name, spent);
        }
        line.end_object();
        log.write(line);
    }
}

/// Returns the origin of a profile URL, which is normalized: of ASCII, without user information and default port.
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
