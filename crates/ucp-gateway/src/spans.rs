//! Spans of calls and of deliveries of webhooks, for a collector of OpenTelemetry.
//!
//! A call is a span, child of that of its caller; its stages and its requests to other servers are children of it. They are
//! made of the record of the call when it has ended. Nothing in them tells who a buyer is.

use std::{
    borrow::Cow,
    sync::Arc,
    time::{Duration, Instant, SystemTime},
};

use opentelemetry::{
    InstrumentationScope, KeyValue, SpanId, TraceId,
    trace::{SpanContext, SpanKind, Status, TraceFlags, TraceState},
};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use ucp_core::Release;
use ucp_host::{clock, ended::Ended};
use ucp_record::{Cached, CallRecord, Repetition, RequestSpan, Spans, Trace, TraceContext, Tracer};
use uuid::Uuid;

use crate::export::{Export, otlp};

/// Maker of spans.
#[derive(Debug)]
pub(crate) struct CallTracer {
    export: Export<SpanData>,
    /// Share of the calls that are traced of those whose callers do not decide it, in percent.
    sampled_percent: usize,
    scope: InstrumentationScope,
}

impl CallTracer {
    pub(crate) fn new(export: Export<SpanData>, sampled_percent: usize) -> Self {
        Self { export, sampled_percent, scope: otlp::scope() }
    }

    /// Returns a span for a call whose caller stated this `traceparent`.
    pub(crate) fn span(&self, stated: Option<&str>) -> TraceContext {
        let parent = stated.and_then(TraceContext::parse);
        let (_, random) = Uuid::new_v4().as_u64_pair();
        let span_id = random.to_be_bytes();
        parent.map_or_else(
            || {
                let trace_id = Uuid::new_v4().into_bytes();
                let [one, two, ..] = trace_id;
                TraceContext {
                    trace_id,
                    span_id,
                    is_sampled: usize::from(u16::from_be_bytes([one, two]) % 100) < self.sampled_percent,
                }
            },
            |parent| TraceContext { span_id, ..parent },
        )
    }

    /// Queues the spans of a call: its own, and those below it.
    pub(crate) fn tell(&self, ended: &Ended<'_>, trace: &Trace, spans: &Spans) {
        let Some(own) = trace.own().filter(|own| own.is_sampled) else { return };
        let total: Duration = ended.spent.iter().sum();
        let facts = ended.facts;
        let mut attributes = vec![
            KeyValue::new("ucp.shop", ended.shop.to_owned()),
            KeyValue::new("ucp.transport", facts.transport.as_str()),
            KeyValue::new("ucp.outcome", ended.outcome()),
            KeyValue::new("ucp.request_id", facts.request_id.clone()),
            KeyValue::new("http.request.body.size", whole(facts.bytes_in)),
            KeyValue::new("http.response.body.size", whole(ended.bytes_out)),
        ];
        let texts = [
            ("ucp.operation", facts.operation.map(|operation| operation.row().name)),
            ("ucp.release", facts.release.map(Release::date)),
            ("ucp.cache", facts.cached.map(Cached::as_str)),
            ("ucp.idempotency", facts.repetition.map(Repetition::as_str)),
        ];
        attributes.extend(texts.into_iter().filter_map(|(name, text)| Some(KeyValue::new(name, text?))));
        if facts.profile.is_some() {
            attributes.push(KeyValue::new("ucp.platform", ended.platform.unwrap_or("other").to_owned()));
        }
        if let Some(status) = ended.status {
            attributes.push(KeyValue::new("http.response.status_code", i64::from(status)));
        }
        let name = facts.operation.map_or(facts.transport.as_str(), |operation| operation.row().name);
        let is_ok = ended.status.is_none_or(|status| status < 500);
        self.export_spans((trace, own, spans), total, (name, SpanKind::Server), attributes, is_ok);
    }

    /// Queues a span that has ended and took `total`, with its children.
    fn export_spans(
        &self,
        (trace, own, spans): (&Trace, TraceContext, &Spans),
        total: Duration,
        (name, span_kind): (&'static str, SpanKind),
        mut attributes: Vec<KeyValue>,
        is_ok: bool,
    ) {
        let clocks = Clocks { now: clock::now(), instant: Instant::now() };
        let ended = clocks.time(spans.ended.unwrap_or(clocks.instant));
        if spans.omitted > 0 {
            attributes.push(KeyValue::new("ucp.spans_omitted", i64::from(spans.omitted)));
        }
        let parent = trace.parent().filter(|parent| parent.span_id != own.span_id);
        let state: TraceState = trace.state().and_then(|state| state.parse().ok()).unwrap_or_default();
        let span = |span_id: [u8; 8]| {
            let (trace_id, flags) = (TraceId::from_bytes(own.trace_id), TraceFlags::SAMPLED);
            SpanContext::new(trace_id, SpanId::from_bytes(span_id), flags, false, state.clone())
        };
        let child = |span_id, name, span_kind, begun, ended, attributes, status| SpanData {
            span_context: span(span_id),
            parent_span_id: SpanId::from_bytes(own.span_id),
            parent_span_is_remote: false,
            span_kind,
            name,
            start_time: clocks.time(begun),
            end_time: clocks.time(ended),
            attributes,
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status,
            instrumentation_scope: self.scope.clone(),
        };
        let whole_call = SpanData {
            parent_span_id: parent.map_or(SpanId::INVALID, |parent| SpanId::from_bytes(parent.span_id)),
            parent_span_is_remote: parent.is_some(),
            start_time: ended.checked_sub(total).unwrap_or(ended),
            end_time: ended,
            ..child(own.span_id, name.into(), span_kind, clocks.instant, clocks.instant, attributes, status(is_ok))
        };
        let mut all = vec![whole_call];
        for stage in &spans.stages {
            let name = Cow::Borrowed(stage.stage.as_str());
            all.push(child(
                trace.child(own),
                name,
                SpanKind::Internal,
                stage.begun,
                stage.ended,
                Vec::new(),
                Status::Unset,
            ));
        }
        for request in &spans.requests {
            let (attributes, is_ok) = described(request);
            let (method, status) = (request.method.clone(), status(is_ok));
            let RequestSpan { span_id, begun, ended, .. } = *request;
            all.push(child(span_id, method.into(), SpanKind::Client, begun, ended, attributes, status));
        }
        self.export.tell(all.into_iter());
    }
}

impl Tracer for CallTracer {
    fn begin(&self) -> Arc<CallRecord> {
        CallRecord::begin(Instant::now, false, Trace::new(None, Some(self.span(None))))
    }

    fn end(&self, record: &CallRecord, name: &'static str, (key, value): (&'static str, &str), is_ok: bool) {
        let total = record.end().1.iter().sum();
        let Some(trace) = record.trace() else { return };
        let Some(own) = trace.own().filter(|own| own.is_sampled) else { return };
        let attributes = vec![KeyValue::new(key, value.to_owned())];
        self.export_spans((trace, own, &trace.take()), total, (name, SpanKind::Internal), attributes, is_ok);
    }
}

/// One moment on the wall clock and on the clock of the records.
#[derive(Clone, Copy)]
struct Clocks {
    now: SystemTime,
    instant: Instant,
}

impl Clocks {
    fn time(self, instant: Instant) -> SystemTime {
        self.now.checked_sub(self.instant.saturating_duration_since(instant)).unwrap_or(self.now)
    }
}

/// Returns the attributes of a request, and `true` if it did not fail.
fn described(request: &RequestSpan) -> (Vec<KeyValue>, bool) {
    let mut attributes = vec![
        KeyValue::new("http.request.method", request.method.clone()),
        KeyValue::new("server.address", request.host.clone()),
    ];
    if let Some(port) = request.port {
        attributes.push(KeyValue::new("server.port", i64::from(port)));
    }
    match request.result {
        Some(Ok(status)) => {
            attributes.push(KeyValue::new("http.response.status_code", i64::from(status)));
            (attributes, status < 400)
        }
        Some(Err(kind)) => {
            attributes.push(KeyValue::new("error.type", kind));
            (attributes, false)
        }
        None => {
            attributes.push(KeyValue::new("error.type", "given_up"));
            (attributes, false)
        }
    }
}

fn status(is_ok: bool) -> Status {
    if is_ok { Status::Unset } else { Status::error("") }
}

fn whole(number: impl TryInto<i64>) -> i64 {
    number.try_into().unwrap_or(i64::MAX)
}
