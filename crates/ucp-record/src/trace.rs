//! The trace of a call: its place in a distributed trace (W3C Trace Context), and the spans that it consists of.
//!
//! A gateway that exports spans gives each call a span of its own; stages of the call and requests to other servers are its
//! children. One that exports none hands on what the caller stated. A trace that is [kept](Trace::kept) has stages and
//! requests whether they are exported or not, and what was [told](super::tell) on the way.

use std::{
    fmt, mem,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use super::{CallRecord, Stage, current};

/// Maximum number of spans of stages, and of requests, that a trace keeps for a call.
const MOST: usize = 64;

/// Maximum length of a `traceparent` in bytes: version 00 has 55 bytes, newer versions may have more.
const MAX_TRACEPARENT: usize = 256;

/// Identifier of a span.
pub type SpanId = [u8; 8];

/// Place in a distributed trace, as `traceparent` states it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// Identifier of the trace, not zero.
    pub trace_id: [u8; 16],
    /// Identifier of the span, not zero.
    pub span_id: SpanId,
    /// `true` if the spans of this trace are recorded.
    pub is_sampled: bool,
}

impl TraceContext {
    /// Parses a `traceparent`: `version-traceid-parentid-flags` in lower-case hexadecimal, neither of the identifiers
    /// zero. Versions after 00 may append fields after another dash. Returns `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > MAX_TRACEPARENT || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return None;
        }
        let mut parts = text.splitn(5, '-');
        let mut next = || parts.next().unwrap_or_default();
        let (version, trace_id, span_id, flags) = (next(), next(), next(), next());
        let has_more = parts.next().is_some();
        let [version] = hexadecimal(version)?;
        if version == 0xff || version == 0 && has_more {
            return None;
        }
        let (trace_id, span_id) = (hexadecimal(trace_id)?, hexadecimal(span_id)?);
        let [flags] = hexadecimal(flags)?;
        let is_valid = trace_id != [0; 16] && span_id != [0; 8];
        is_valid.then_some(Self { trace_id, span_id, is_sampled: flags & 1 == 1 })
    }

    /// Returns the identifier of the trace in hexadecimal.
    pub fn trace_id(&self) -> String {
        format!("{:032x}", u128::from_be_bytes(self.trace_id))
    }
}

/// The `traceparent` of version 00.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (trace_id, span_id) = (u128::from_be_bytes(self.trace_id), u64::from_be_bytes(self.span_id));
        write!(f, "00-{trace_id:032x}-{span_id:016x}-{:02x}", u8::from(self.is_sampled))
    }
}

/// Reads as many bytes in lower-case hexadecimal.
fn hexadecimal<const N: usize>(text: &str) -> Option<[u8; N]> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = [0; N];
    if pairs.len() != N {
        return None;
    }
    for (byte, &[high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = digit(high)? << 4 | digit(low)?;
    }
    Some(bytes)
}

/// The trace of a call under way.
#[derive(Debug)]
pub struct Trace {
    /// `traceparent` and `tracestate` of the caller, valid as header values.
    stated: Option<(String, Option<String>)>,
    /// Span of the call, if this gateway exports spans.
    own: Option<TraceContext>,
    /// `true` if everything is kept for those who look at the call afterwards.
    is_kept: bool,
    spans: Mutex<Spans>,
}

/// Spans below that of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Spans {
    /// Stages, in the order in which they ended.
    pub stages: Vec<StageSpan>,
    /// Requests to other servers, in the order in which they ended.
    pub requests: Vec<RequestSpan>,
    /// Events, in the order in which they happened.
    pub notes: Vec<Note>,
    /// Number of further ones, which were not kept.
    pub omitted: u32,
    /// End of the call, once it has ended.
    pub ended: Option<Instant>,
    /// Number of requests that began.
    begun: u64,
}

/// Time that a call spent in a stage without a break.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageSpan {
    /// Stage.
    pub stage: Stage,
    /// Beginning.
    pub begun: Instant,
    /// End.
    pub ended: Instant,
}

/// A request to another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestSpan {
    /// Identifier, which the other server was told.
    pub span_id: SpanId,
    /// HTTP method.
    pub method: String,
    /// Host.
    pub host: String,
    /// Port.
    pub port: Option<u16>,
    /// Beginning.
    pub begun: Instant,
    /// End.
    pub ended: Instant,
    /// Status of the response, or the kind of failure; `None` if the request was given up.
    pub result: Option<Result<u16, &'static str>>,
}

/// Something that happened on the way of a call, for those who look at the call afterwards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// Time.
    pub at: Instant,
    /// Name of the kind, such as `negotiated`.
    pub kind: &'static str,
    /// Description of the event, for people. It does not reveal who a buyer is.
    pub detail: String,
}

impl Trace {
    /// Creates the trace of a call whose caller stated this `traceparent` and `tracestate`. `own` is the span of the call
    /// if spans are exported. Returns `None` if there is nothing to hand on.
    pub fn new(stated: Option<(String, Option<String>)>, own: Option<TraceContext>) -> Option<Arc<Self>> {
        let exists = stated.is_some() || own.is_some();
        exists.then(|| Arc::new(Self { stated, own, is_kept: false, spans: Mutex::default() }))
    }

    /// Creates the trace of a call as [`new`](Self::new) does, which is kept.
    pub fn kept(stated: Option<(String, Option<String>)>, own: Option<TraceContext>) -> Arc<Self> {
        Arc::new(Self { stated, own, is_kept: true, spans: Mutex::default() })
    }

    /// Returns the span of the call.
    pub const fn own(&self) -> Option<TraceContext> {
        self.own
    }

    /// Returns the identifier of the trace in hexadecimal.
    pub fn id(&self) -> Option<String> {
        let stated = || self.stated.as_ref()?.0.split('-').nth(1).map(str::to_owned);
        self.own.map(|own| own.trace_id()).or_else(stated)
    }

    /// Returns the span of the caller.
    pub fn parent(&self) -> Option<TraceContext> {
        TraceContext::parse(&self.stated.as_ref()?.0)
    }

    /// Returns `tracestate` of the caller.
    pub fn state(&self) -> Option<&str> {
        self.stated.as_ref()?.1.as_deref()
    }

    /// Returns the spans below that of the call. Later ones are lost.
    pub fn take(&self) -> Spans {
        let mut spans = self.spans();
        let begun = spans.begun;
        mem::replace(&mut *spans, Spans { begun, ..Spans::default() })
    }

    fn is_recorded(&self) -> bool {
        self.is_kept || self.own.is_some_and(|own| own.is_sampled)
    }

    /// Keeps what happened at this time, if this trace is kept.
    pub(super) fn tell(&self, clock: fn() -> Instant, kind: &'static str, detail: impl FnOnce() -> String) {
        if !self.is_kept {
            return;
        }
        let note = Note { at: clock(), kind, detail: detail() };
        let mut spans = self.spans();
        if spans.notes.len() < MOST {
            spans.notes.push(note);
        } else {
            spans.omitted += 1;
        }
    }

    fn spans(&self) -> MutexGuard<'_, Spans> {
        self.spans.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the end of the call.
    pub(super) fn end(&self, now: Instant) {
        if self.is_recorded() {
            self.spans().ended = Some(now);
        }
    }

    /// Keeps the time from `begun` to `ended` as one in this stage.
    pub(super) fn stage(&self, stage: Stage, begun: Instant, ended: Instant) {
        if !self.is_recorded() || begun == ended {
            return;
        }
        let mut spans = self.spans();
        if let Some(last) = spans.stages.last_mut().filter(|last| last.stage == stage && last.ended == begun) {
            last.ended = ended;
        } else if spans.stages.len() < MOST {
            spans.stages.push(StageSpan { stage, begun, ended });
        } else {
            spans.omitted += 1;
        }
    }

    /// Returns the identifier of the next child of the span: different ones, in no order that means anything.
    pub fn child(&self, own: TraceContext) -> SpanId {
        let number = {
            let mut spans = self.spans();
            spans.begun += 1;
            spans.begun
        };
        // The output of a generator whose state is the span (splitmix64).
        let mut bits = u64::from_be_bytes(own.span_id).wrapping_add(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ bits >> 31).max(1).to_be_bytes()
    }
}

/// A request to another server that the current call is about to make: what it states about the trace, and its span.
#[derive(Debug)]
pub struct OutboundRequest {
    trace: Arc<Trace>,
    clock: fn() -> Instant,
    /// Place in the trace, if one is handed on.
    parent: Option<String>,
    /// Span, unless none is recorded or it has ended.
    span: Option<RequestSpan>,
}

impl OutboundRequest {
    /// Begins a request of the current call; `None` if there is none, or no trace of it.
    pub fn begin(method: &str, host: &str, port: Option<u16>) -> Option<Self> {
        let record = current()?;
        let (trace, clock) = (Arc::clone(record.trace.as_ref()?), record.clock);
        let stated = || Some(trace.stated.as_ref()?.0.clone());
        // Without a span of the call, nobody is told that of the request.
        let span_id = trace.own.map_or([0; 8], |own| trace.child(own));
        let parent = trace.own.map(|own| TraceContext { span_id, ..own }.to_string()).or_else(stated);
        let span = trace.is_recorded().then(|| {
            let begun = clock();
            let (method, host) = (method.to_owned(), host.to_owned());
            RequestSpan { span_id, method, host, port, begun, ended: begun, result: None }
        });
        Some(Self { trace, clock, parent, span })
    }

    /// Returns the value of `traceparent`, if there is one to hand on.
    pub fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    /// Returns the value of `tracestate`.
    pub fn state(&self) -> Option<&str> {
        self.trace.state()
    }

    /// Ends the request with the status of its response, or the kind of its failure.
    pub fn end(mut self, result: Result<u16, &'static str>) {
        if let Some(span) = &mut self.span {
            span.result = Some(result);
        }
    }
}

impl Drop for OutboundRequest {
    fn drop(&mut self) {
        let Some(mut span) = self.span.take() else { return };
        span.ended = (self.clock)();
        let mut spans = self.trace.spans();
        if spans.requests.len() < MOST {
            spans.requests.push(span);
        } else {
            spans.omitted += 1;
        }
    }
}

/// Tracer of work that no call asked for, such as the delivery of a webhook event.
pub trait Tracer: fmt::Debug + Send + Sync {
    /// Begins a trace, and its record.
    fn begin(&self) -> Arc<CallRecord>;

    /// Ends a trace whose span has this name and attribute. `is_ok` is `false` if the work failed.
    fn end(&self, record: &CallRecord, name: &'static str, attribute: (&'static str, &str), is_ok: bool);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{enter, inherit_trace, scope, tell};

    const STATED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_place_in_a_trace_is_read_and_written() {
        let context = TraceContext::parse(STATED).expect("valid");
        assert_eq!((context.to_string(), context.is_sampled), (STATED.to_owned(), true));
        assert_eq!(context.trace_id(), "4bf92f3577b34da6a3ce929d0e0e4736");
        assert_eq!(TraceContext::parse(&format!("cc{}-what-the-future", &STATED[2..])), Some(context));
        for wrong in [
            "",
            "00",
            &STATED[..54],
            &format!("{STATED}-more"),
            &format!("ff{}", &STATED[2..]),
            &STATED.to_uppercase(),
            &STATED.replace("4bf92f3577b34da6a3ce929d0e0e4736", &"0".repeat(32)),
            &STATED.replace("00f067aa0ba902b7", &"0".repeat(16)),
            &STATED.replace("-01", "-0x"),
            &format!("01{}-{}", &STATED[2..], "x".repeat(300)),
            &format!("01{}-\u{e4}", &STATED[2..]),
        ] {
            assert_eq!(TraceContext::parse(wrong), None, "{wrong}");
        }
    }

    fn stated() -> Option<(String, Option<String>)> {
        Some((STATED.to_owned(), Some("a=b".to_owned())))
    }

    #[tokio::test]
    async fn what_the_caller_stated_is_handed_on_where_no_span_is_exported() {
        assert!(OutboundRequest::begin("GET", "shop.example", None).is_none(), "there is no call");
        let record = CallRecord::begin(Instant::now, false, None);
        scope(record, async { assert!(OutboundRequest::begin("GET", "shop.example", None).is_none()) }).await;
        let trace = Trace::new(stated(), None);
        let record = CallRecord::begin(Instant::now, false, trace);
        scope(Arc::clone(&record), async {
            let request = OutboundRequest::begin("GET", "shop.example", None).expect("a trace");
            assert_eq!((request.parent(), request.state()), (Some(STATED), Some("a=b")));
        })
        .await;
        let trace = record.trace().expect("a trace");
        assert_eq!((trace.take(), trace.id().as_deref()), (Spans::default(), Some(&STATED[3..35])));
    }

    #[tokio::test]
    async fn a_span_has_those_of_its_stages_and_requests_below_it() {
        let own = TraceContext { span_id: [7; 8], ..TraceContext::parse(STATED).expect("valid") };
        let record = CallRecord::begin(Instant::now, false, Trace::new(stated(), Some(own)));
        scope(Arc::clone(&record), async {
            enter(Stage::Domain);
            let first = OutboundRequest::begin("GET", "shop.example", Some(443)).expect("a trace");
            let second = inherit_trace(async { OutboundRequest::begin("POST", "shop.example", None) });
            let second = tokio::spawn(second).await.expect("no panic").expect("a trace");
            assert_ne!(first.parent(), second.parent());
            for request in [&first, &second] {
                let told = request.parent().and_then(TraceContext::parse).expect("valid");
                assert_eq!((told.trace_id, told.is_sampled), (own.trace_id, true));
                assert_ne!(told.span_id, own.span_id);
            }
            second.end(Ok(204));
            drop(first);
            for _ in 0..2 * MOST {
                OutboundRequest::begin("GET", "shop.example", None).expect("a trace").end(Err("timeout"));
            }
        })
        .await;
        drop(record.end());
        let spans = record.trace().expect("a trace").take();
        assert_eq!(spans.requests[0].result, Some(Ok(204)));
        assert_eq!((spans.requests[1].result, spans.requests[1].port), (None, Some(443)));
        assert_eq!((spans.requests.len(), spans.omitted), (MOST, 66));
        assert_eq!(spans.stages.iter().map(|span| span.stage).collect::<Vec<_>>(), [Stage::Identify, Stage::Domain]);
    }

    #[tokio::test]
    async fn a_trace_that_is_not_sampled_is_handed_on_and_not_kept() {
        let own = TraceContext { is_sampled: false, ..TraceContext::parse(STATED).expect("valid") };
        let record = CallRecord::begin(Instant::now, false, Trace::new(None, Some(own)));
        scope(Arc::clone(&record), async {
            let request = OutboundRequest::begin("GET", "shop.example", None).expect("a trace");
            let parent = request.parent().expect("a parent");
            assert!(parent.starts_with(&STATED[..36]) && parent.ends_with("-00"));
            request.end(Ok(200));
        })
        .await;
        let spans = record.trace().expect("a trace").take();
        assert!(spans.requests.is_empty() && spans.stages.is_empty());
    }

    #[tokio::test]
    async fn a_trace_that_is_kept_has_everything_and_hands_on_nothing_of_its_own() {
        tell("nothing", || panic!("there is no call"));
        for quiet in [None, Trace::new(stated(), None)] {
            let quiet = CallRecord::begin(Instant::now, false, quiet);
            scope(quiet, async { tell("nothing", || panic!("nobody looks at it")) }).await;
        }
        let record = CallRecord::begin(Instant::now, false, Some(Trace::kept(None, None)));
        scope(Arc::clone(&record), async {
            tell("negotiated", || "release 1".to_owned());
            let request = OutboundRequest::begin("GET", "shop.example", None).expect("a trace");
            assert_eq!((request.parent(), request.state()), (None, None));
            request.end(Ok(200));
            enter(Stage::Domain);
            (0..2 * MOST).for_each(|_| tell("more", String::new));
        })
        .await;
        drop(record.end());
        let spans = record.trace().expect("a trace").take();
        assert_eq!((spans.notes[0].kind, spans.notes[0].detail.as_str()), ("negotiated", "release 1"));
        assert_eq!((spans.notes.len(), spans.omitted), (MOST, 65));
        assert_eq!((spans.requests[0].result, spans.stages.len()), (Some(Ok(200)), 2));
    }
}
