//! Trace headers that an upstream receives, and the recorded spans.

use std::sync::Arc;

use http::Method;
use ucp_net::{CallKind, Options, Upstream, UpstreamRequest, classifier::by_status};
use ucp_record::{self as record, CallRecord, RequestSpan, Trace, TraceContext};
use ucp_testkit::{Host, host::answer};

use super::{clock, shortest, url};

const STATED: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

/// Makes a call on behalf of one with this trace. Returns what the upstream was told in each attempt, and the spans.
async fn told(status: u16, call_kind: CallKind, trace: Option<Arc<Trace>>) -> (Vec<Option<String>>, Vec<RequestSpan>) {
    let host = Host::answering(answer(status, &[("content-type", "application/json")], "{}")).await;
    let options = Options::new("traced", url(&format!("http://{}/", host.address())));
    let upstream = Upstream::new(&options, by_status, clock(), shortest()).expect("an upstream");
    let request = UpstreamRequest::new(call_kind, Method::POST, options.address.clone()).json("{}");
    let record = CallRecord::begin(std::time::Instant::now, false, trace);
    // Its result does not matter here.
    drop(record::scope(Arc::clone(&record), upstream.call(request)).await);
    let stated = host.requests().into_iter().map(|request| {
        let header = request.headers().get("traceparent")?;
        Some(header.to_str().expect("a text").to_owned())
    });
    (stated.collect(), record.trace().map(|trace| trace.take().requests).unwrap_or_default())
}

#[tokio::test(start_paused = true)]
async fn each_attempt_is_a_span_of_its_own_that_the_upstream_is_told() {
    let own = TraceContext { span_id: [7; 8], ..TraceContext::parse(STATED).expect("valid") };
    let trace = || Trace::new(Some((STATED.to_owned(), None)), Some(own));
    for (status, call_kind, attempts) in
        [(200, CallKind::Write, 1), (503, CallKind::Conclude, 1), (503, CallKind::Read, 3)]
    {
        let (stated, spans) = told(status, call_kind, trace()).await;
        assert_eq!((stated.len(), spans.len()), (attempts, attempts), "{spans:?}");
        for (stated, span) in stated.iter().zip(&spans) {
            let expected = TraceContext { span_id: span.span_id, ..own };
            assert_eq!(stated.as_deref(), Some(&*expected.to_string()));
            assert_eq!((span.result, &*span.method, &*span.host), (Some(Ok(status)), "POST", "127.0.0.1"));
        }
        let mut identifiers: Vec<_> = spans.iter().map(|span| span.span_id).collect();
        identifiers.dedup();
        assert_eq!(identifiers.len(), attempts);
    }
}

#[tokio::test(start_paused = true)]
async fn without_spans_of_its_own_a_gateway_hands_on_what_its_caller_stated() {
    let (stated, spans) = told(200, CallKind::Write, Trace::new(Some((STATED.to_owned(), None)), None)).await;
    assert_eq!((stated, spans), (vec![Some(STATED.to_owned())], Vec::new()));
    let (stated, spans) = told(200, CallKind::Write, None).await;
    assert_eq!((stated, spans), (vec![None], Vec::new()));
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_breaks_off_is_a_failure_of_the_span() {
    let host = Host::answering("").await;
    let options = Options::new("traced", url(&format!("http://{}/", host.address())));
    let upstream = Upstream::new(&options, by_status, clock(), shortest()).expect("an upstream");
    let request = UpstreamRequest::new(CallKind::Write, Method::POST, options.address.clone()).json("{}");
    let record = CallRecord::begin(std::time::Instant::now, false, Trace::new(None, TraceContext::parse(STATED)));
    assert!(record::scope(Arc::clone(&record), upstream.call(request)).await.is_err());
    let spans = record.trace().expect("a trace").take().requests;
    assert_eq!(spans.iter().map(|span| span.result).collect::<Vec<_>>(), [Some(Err("broken"))]);
}
