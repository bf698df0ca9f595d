//! The layers together, around answers that are made up.

use std::{
    cell::RefCell,
    collections::HashMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::FutureExt as _;
use http::{HeaderName, HeaderValue, header};
use proptest::{prelude::*, test_runner::TestRunner};
use tokio::time::{Instant, sleep, timeout};
use tower::service_fn;
use ucp_core::{Code, Refusal, ports::PortError};
use ucp_net::{
    Author, CallKind, Failure, Lane, Options, Reach, Received, Scope, Snapshot, Unreadable, Upstream, UpstreamRequest,
    Verdict,
    breaker::{self, Circuit},
    bulkhead::ConcurrencyLimit,
    classifier::{self, json},
    deadline,
    rate::Rate,
    shares::{Groups, Step},
};
use ucp_testkit::wait;

use super::{Seen, any_length, clock, options, received, shortest, transport, upstream_request};

const OK: (u16, &[(&str, &str)], &str) = (200, &[], "{}");

/// Classifies the responses of a shop behind GraphQL.
fn graphql(received: &Received) -> Verdict {
    match (received.status.as_u16(), json(received)) {
        (430, _) => Verdict::Rejected { shut: Duration::from_secs(600) },
        (401 | 402 | 403 | 404 | 423, _) => Verdict::Misconfigured { shut: Duration::from_secs(60) },
        (_, Verdict::Good) if received.body.windows(9).any(|part| part == b"THROTTLED") => {
            Verdict::Throttled { pause: None }
        }
        (_, verdict) => verdict,
    }
}

/// A breaker that never opens, for what is about something else.
const LENIENT: breaker::Rules =
    breaker::Rules { window: Duration::from_secs(10), least: u32::MAX, percent: 100, open: Duration::from_secs(5) };

/// An upstream that always answers the same.
fn always(
    options: &Options,
    seen: &Seen,
    answer: impl Fn() -> Result<Received, Failure> + Clone + Send + Sync + 'static,
) -> Upstream {
    Upstream::over(options, graphql, clock(), shortest(), transport(seen, move |_| std::future::ready(answer())))
}

#[tokio::test(start_paused = true)]
async fn only_reads_that_may_succeed_are_sent_again() {
    let answer = |status, headers: &[(&'static str, &str)], body| Ok(received(status, headers, body));
    let throttled = r#"{"errors":[{"message":"Throttled","extensions":{"code":"THROTTLED"}}]}"#;
    let cases = [
        ("an answer", answer(200, &[], "{}"), 1),
        ("an answer about something that is not there", answer(410, &[], "{}"), 1),
        ("503", answer(503, &[], ""), 3),
        ("502", answer(502, &[], ""), 3),
        ("504", answer(504, &[], ""), 3),
        ("500", answer(500, &[], ""), 1),
        ("429", answer(429, &[], ""), 3),
        ("429 that fits", answer(429, &[("retry-after", "1")], ""), 3),
        ("429 beyond the deadline", answer(429, &[("retry-after", "3")], ""), 1),
        ("429 without end", answer(429, &[("retry-after", "99999999999999999999999")], ""), 1),
        ("503 beyond the deadline", answer(503, &[("retry-after", "60")], ""), 1),
        ("THROTTLED with status 200", answer(200, &[], throttled), 3),
        ("430", answer(430, &[], "Shopify Security Rejection"), 1),
        ("401", answer(401, &[], ""), 1),
        ("a page", answer(200, &[("content-type", "text/html")], "<html>"), 1),
        ("no connection", Err(Failure::Connect), 3),
        ("a reset", Err(Failure::Broken { sent: true }), 3),
        ("silence", Err(Failure::Timeout { sent: true }), 3),
        ("no trust", Err(Failure::Tls), 1),
        ("too much", Err(Failure::TooLarge { limit: 1 }), 1),
        ("too slow", Err(Failure::TooSlow), 1),
        ("a redirect", Err(Failure::Redirect(302)), 1),
    ];
    for (name, result, attempts) in cases {
        for (call_kind, expected) in [(CallKind::Read, attempts), (CallKind::Write, 1), (CallKind::Conclude, 1)] {
            let (seen, result) = (Seen::default(), result.clone());
            let upstream = always(&options(), &seen, move || result.clone());
            let answered = upstream.call(upstream_request(call_kind)).await;
            assert_eq!(answered.is_ok(), name.starts_with("an answer"), "{name}: {answered:?}");
            assert_eq!(seen.count(), expected, "{name}, {call_kind:?}");
            let counts = upstream.counters().snapshot();
            assert_eq!(
                (counts.calls, counts.sent, counts.retries),
                (1, expected as u64, expected as u64 - 1),
                "{name}"
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_that_succeeds_the_second_time_succeeds() {
    let seen = Seen::default();
    let answers = transport(&seen, |number| {
        std::future::ready(if number == 0 { Err(Failure::Connect) } else { Ok(received(OK.0, OK.1, OK.2)) })
    });
    let upstream = Upstream::over(&options(), json, clock(), any_length(), answers);
    assert_eq!(upstream.call(upstream_request(CallKind::Read)).await.expect("an answer").body, "{}");
    assert_eq!(seen.count(), 2);
}

#[tokio::test(start_paused = true)]
async fn pauses_are_kept_and_what_the_upstream_asks_for_is_the_least() {
    let pauses = async |asked: Option<&'static str>| {
        let seen = Seen::default();
        let headers: Vec<_> = asked.map(|seconds| ("retry-after", seconds)).into_iter().collect();
        let upstream = always(&options(), &seen, move || Ok(received(503, &headers, "")));
        upstream.call(upstream_request(CallKind::Read)).await.expect_err("no answer");
        seen.instants().windows(2).map(|pair| (pair[1] - pair[0]).as_millis()).collect::<Vec<_>>()
    };
    assert_eq!(pauses(None).await, [50, 50]);
    assert_eq!(pauses(Some("1")).await, [1_050, 1_050]);
    // Once more does not fit into the three seconds of a read.
    assert_eq!(pauses(Some("2")).await, [2_050]);
}

#[tokio::test(start_paused = true)]
async fn an_outage_is_not_multiplied() {
    let seen = Seen::default();
    let upstream = always(&Options { breaker: LENIENT, ..options() }, &seen, || Err(Failure::Broken { sent: true }));
    for _ in 0..200 {
        upstream.call(upstream_request(CallKind::Read)).await.expect_err("no answer");
    }
    // 200 calls within ten seconds, a tenth of that, and the floor.
    assert_eq!(seen.count(), 230);
    assert_eq!(upstream.counters().snapshot().retries, 30);
    assert!(upstream.counters().snapshot().retries_refused > 150);
}

#[tokio::test(start_paused = true)]
async fn every_call_ends_by_its_deadline() {
    let seen = Seen::default();
    let hang = transport(&seen, |_| std::future::pending());
    let upstream = Upstream::over(&options(), json, clock(), shortest(), hang);
    let spent = async |call_kind, own: Option<u64>, outer: Option<u64>| {
        let start = Instant::now();
        let mut upstream_request = upstream_request(call_kind);
        if let Some(own) = own {
            upstream_request = upstream_request.by(start + Duration::from_millis(own));
        }
        let result = match outer {
            Some(outer) => {
                deadline::within(start + Duration::from_millis(outer), upstream.call(upstream_request)).await
            }
            None => upstream.call(upstream_request).await,
        };
        assert!(matches!(result, Err(Failure::Expired { .. })), "{result:?}");
        let spent = start.elapsed().as_millis();
        assert_eq!(seen.last().deadline, Some(Instant::now()), "it is passed down");
        spent
    };
    assert_eq!(spent(CallKind::Read, None, None).await, 3_000);
    assert_eq!(spent(CallKind::Write, None, None).await, 10_000);
    assert_eq!(spent(CallKind::Conclude, None, None).await, 25_000);
    assert_eq!(spent(CallKind::Read, Some(700), None).await, 700);
    assert_eq!(spent(CallKind::Read, Some(9_000), None).await, 3_000);
    assert_eq!(spent(CallKind::Read, Some(700), Some(300)).await, 300);
    assert_eq!(spent(CallKind::Read, Some(300), Some(700)).await, 300);
    // Giving up because somebody was in a hurry says nothing about the upstream.
    assert_eq!(upstream.circuit(Lane::Browse), Circuit::Closed);
}

#[tokio::test(start_paused = true)]
async fn deadlines_only_come_closer() {
    let now = Instant::now();
    let far = now + Duration::from_secs(9);
    let near = now + Duration::from_secs(1);
    assert_eq!(deadline::current(), None);
    let inner = deadline::within(near, deadline::within(far, async { deadline::current() })).await;
    assert_eq!(inner, Some(near));
    let spawned = deadline::within(near, async { tokio::spawn(async { deadline::current() }).await }).await;
    assert_eq!(spawned.expect("a task"), None);
}

#[tokio::test(start_paused = true)]
async fn a_call_whose_time_is_up_is_not_sent() {
    let seen = Seen::default();
    let upstream = always(&options(), &seen, || Ok(received(OK.0, OK.1, OK.2)));
    let failure = upstream.call(upstream_request(CallKind::Write).by(Instant::now())).await.expect_err("too late");
    assert!(matches!(failure, Failure::Expired { sent: false }) && failure.never_sent());
    assert_eq!(seen.count(), 0);
}

/// A question of the gateway's own, as the server sees it.
fn is_own(upstream_request: &UpstreamRequest) -> bool {
    upstream_request.author == Author::Probe
}

/// An upstream that answers callers and the gateway by `answer`, which is told whether the gateway asks.
fn behind(
    options: &Options,
    seen: &Seen,
    answer: impl Fn(&UpstreamRequest) -> Result<Received, Failure> + Clone + Send + Sync + 'static,
) -> Upstream {
    let seen = seen.clone();
    let server = service_fn(move |upstream_request: UpstreamRequest| {
        let answered = answer(&upstream_request);
        seen.note(upstream_request);
        async move {
            tokio::task::yield_now().await;
            answered
        }
    });
    Upstream::over(options, graphql, clock(), shortest(), server)
}

fn ok() -> Result<Received, Failure> {
    Ok(received(OK.0, OK.1, OK.2))
}

/// Lets the gateway's own question be answered.
async fn a_moment() {
    sleep(Duration::from_millis(1)).await;
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_fails_is_left_alone_and_tried_by_the_gateway() {
    let (seen, works) = (Seen::default(), Arc::new(std::sync::atomic::AtomicBool::new(false)));
    let up = Arc::clone(&works);
    let upstream = behind(&options(), &seen, move |_| match up.load(std::sync::atomic::Ordering::Relaxed) {
        true => ok(),
        false => Err(Failure::Broken { sent: true }),
    });
    for _ in 0..20 {
        upstream.call(upstream_request(CallKind::Write)).await.expect_err("broken");
    }
    a_moment().await;
    assert_eq!((seen.count(), is_own(&seen.last())), (21, true), "the gateway asks by itself");
    let failure = upstream.call(upstream_request(CallKind::Write)).await.expect_err("open");
    assert!(matches!(failure, Failure::Open { wait } if wait < Duration::from_secs(5)), "{failure:?}");
    assert_eq!(Refusal::from(PortError::from(failure)).retry_after, Some(5));
    assert_eq!(seen.count(), 21);
    // Nothing was heard about other traffic.
    assert_eq!(upstream.circuit(Lane::Browse), Circuit::Closed);
    upstream.call(upstream_request(CallKind::Conclude)).await.expect_err("broken");
    assert_eq!(seen.count(), 22);

    sleep(Duration::from_secs(5)).await;
    // No caller's question is the one that decides, and one question is enough for all who wait.
    let answers = wait::all((0..10).map(|_| upstream.call(upstream_request(CallKind::Write)))).await;
    assert!(answers.iter().all(|answer| matches!(answer, Err(Failure::Open { .. }))), "{answers:?}");
    assert_eq!((seen.count(), is_own(&seen.last())), (23, true));

    works.store(true, std::sync::atomic::Ordering::Relaxed);
    sleep(Duration::from_secs(5)).await;
    let answers = wait::all((0..10).map(|_| upstream.call(upstream_request(CallKind::Write)))).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!((seen.count(), upstream.circuit(Lane::Cart)), (34, Circuit::Closed));
    let counts = upstream.counters().snapshot();
    assert_eq!((counts.opened, counts.closed), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn questions_of_callers_shut_nothing_however_they_end() {
    for answer in [
        || Ok(received(403, &[], "firewall")),
        || Ok(received(430, &[], "Security Rejection")),
        || Ok(received(500, &[], "")),
        || Ok(received(503, &[], "")),
        || Err(Failure::Timeout { sent: true }),
        || Err(Failure::Broken { sent: true }),
        || Ok(received(200, &[], "<html>")),
    ] {
        let seen = Seen::default();
        let upstream = behind(&options(), &seen, move |asked| if is_own(asked) { ok() } else { answer() });
        for _ in 0..100 {
            for call_kind in [CallKind::Read, CallKind::Write, CallKind::Conclude] {
                let failure = upstream.call(upstream_request(call_kind)).await.expect_err("a failure");
                assert!(!matches!(failure, Failure::Open { .. }), "{failure:?}");
            }
        }
        let own = seen.all().iter().filter(|asked| is_own(asked)).count();
        assert!(own >= 1, "the gateway asks by itself");
        let seconds = seen.instants().last().expect("calls").duration_since(seen.instants()[0]).as_secs();
        assert!(own as u64 <= 1 + seconds / 5, "{own} questions within {seconds} s");
    }
}

#[tokio::test(start_paused = true)]
async fn an_upstream_that_rejects_the_gateway_is_left_alone_at_once() {
    for (status, shut) in [(430, 600), (401, 60), (423, 60)] {
        let seen = Seen::default();
        let upstream = behind(&options(), &seen, move |_| Ok(received(status, &[], "")));
        upstream.probe_with(|| upstream_request(CallKind::Read));
        let failure = upstream.call(upstream_request(CallKind::Read)).await.expect_err("rejected");
        assert_eq!(Refusal::from(PortError::from(&failure)).retry_after, Some(shut), "{status}");
        a_moment().await;
        for lane in Lane::ALL {
            assert!(
                matches!(upstream.circuit(lane), Circuit::Open(until) if until > Instant::now() + Duration::from_secs(shut.into()) / 2)
            );
        }
        upstream.call(upstream_request(CallKind::Conclude)).await.expect_err("open");
        assert_eq!((seen.count(), is_own(&seen.last())), (2, true), "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_gateway_asks_by_itself_needs_no_other_question() {
    let seen = Seen::default();
    let upstream = behind(&options(), &seen, |_| Ok(received(401, &[], "")));
    let own = || {
        let mut request = upstream_request(CallKind::Read);
        request.author = Author::Gateway;
        request
    };
    upstream.call(own()).await.expect_err("refused");
    assert!(matches!(upstream.circuit(Lane::Payment), Circuit::Open(_)));
    upstream.call(own()).await.expect_err("open");
    assert_eq!(seen.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_asked_for_is_kept_by_all_calls_of_that_kind() {
    for status in [429, 503] {
        let seen = Seen::default();
        let upstream = behind(&options(), &seen, move |_| Ok(received(status, &[("retry-after", "30")], "")));
        upstream.call(upstream_request(CallKind::Read)).await.expect_err("too many");
        for second in 0..25 {
            let failure = upstream.call(upstream_request(CallKind::Read)).await.expect_err("too many");
            // Callers are told whether the shop is asked too much.
            let wait = match failure {
                Failure::Limited { wait } if status == 429 => wait,
                Failure::Open { wait } if status == 503 => wait,
                other => panic!("{status}: {other:?}"),
            };
            assert_eq!(wait, Duration::from_secs(30 - second));
            sleep(Duration::from_secs(1)).await;
        }
        assert_eq!(seen.count(), 1, "{status}");
        upstream.call(upstream_request(CallKind::Conclude)).await.expect_err("asked for itself");
        assert_eq!(seen.count(), 2, "{status}: others are not kept waiting");
        sleep(Duration::from_secs(5)).await;
        upstream.call(upstream_request(CallKind::Read)).await.expect_err("asked again");
        assert_eq!(seen.count(), 3, "{status}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_whose_questions_hang_leaves_places_to_all_others() {
    let slow = service_fn(|upstream_request: UpstreamRequest| async move {
        if upstream_request.headers.contains_key("x-hangs") {
            std::future::pending::<()>().await;
        }
        ok()
    });
    let options = Options { reads: ConcurrencyLimit::of(8), ..options() };
    let upstream = Upstream::over(&options, json, clock(), shortest(), slow);
    let by = |name: &str, lane| {
        let stranger = Some(Groups::default().and(Step::Address, &name));
        Scope { stranger, lane: Some(lane), ..Scope::default() }
    };
    let hang = || upstream_request(CallKind::Read).header(HeaderName::from_static("x-hangs"), HeaderValue::from(1));
    let hanging = wait::all((0..20).map(|_| by("one", Lane::Browse).run(upstream.call(hang()))));
    let others = async {
        sleep(Duration::from_millis(500)).await;
        for _ in 0..50 {
            by("two", Lane::Browse).run(upstream.call(upstream_request(CallKind::Read))).await.expect("a place");
            by("one", Lane::Cart).run(upstream.call(upstream_request(CallKind::Read))).await.expect("a place");
            upstream.call(upstream_request(CallKind::Conclude)).await.expect("a place");
        }
        let failure = by("one", Lane::Browse).run(upstream.call(upstream_request(CallKind::Read))).await;
        assert!(matches!(failure, Err(Failure::Saturated)), "{failure:?}");
    };
    let (hanging, ()) = wait::both(hanging, others).await;
    let count = |expected: fn(&Failure) -> bool| hanging.iter().filter(|end| end.as_ref().is_err_and(expected)).count();
    assert_eq!(count(|failure| matches!(failure, Failure::Expired { .. })), 4, "half of the places");
    assert_eq!(count(|failure| matches!(failure, Failure::Saturated)), 16);
    by("one", Lane::Browse).run(upstream.call(upstream_request(CallKind::Read))).await.expect("a place again");
}

#[tokio::test(start_paused = true)]
async fn what_the_upstream_did_says_more_than_that_it_is_left_alone_now() {
    let seen = Seen::default();
    let rules = breaker::Rules { least: 2, ..breaker::Rules::default() };
    let upstream = always(&Options { breaker: rules, ..options() }, &seen, || Ok(received(503, &[], "")));
    let failure = upstream.call(upstream_request(CallKind::Read)).await.expect_err("no answer");
    assert!(matches!(failure, Failure::Answered(_)), "{failure:?}");
    assert_eq!(seen.count(), 3, "the third attempt was not let through, and the gateway asked by itself");
}

#[tokio::test(start_paused = true)]
async fn reads_and_writes_have_rooms_of_their_own() {
    let seen = Seen::default();
    let slow = transport(&seen, |_| async {
        sleep(Duration::from_millis(900)).await;
        Ok(received(OK.0, OK.1, OK.2))
    });
    let options = Options {
        reads: ConcurrencyLimit { queue: 3, ..ConcurrencyLimit::of(4) },
        writes: ConcurrencyLimit { queue: 0, ..ConcurrencyLimit::of(2) },
        ..options()
    };
    let upstream = Upstream::over(&options, json, clock(), shortest(), slow);
    let start = Instant::now();
    let reads = wait::all(
        (0..20).map(async |_| (upstream.call(upstream_request(CallKind::Read)).await, start.elapsed().as_millis())),
    );
    let writes = [CallKind::Write, CallKind::Conclude, CallKind::Write, CallKind::Write]
        .map(|call_kind| upstream.call(upstream_request(call_kind)));
    let (reads, writes) = wait::both(reads, wait::all(writes)).await;
    let done: Vec<_> = writes.iter().map(Result::is_ok).collect();
    assert_eq!(done, [true, true, true, false], "reads do not take their places, nor do changes those of payments");
    let ended = |at| reads.iter().filter(|(answer, ended)| *ended == at && answer.is_ok() == (at > 0)).count();
    assert_eq!((ended(0), ended(900), ended(1_800)), (13, 4, 3), "those that are not strangers wait");
    assert!(reads.iter().all(|(answer, _)| match answer {
        Ok(_) => true,
        Err(failure) => matches!(failure, Failure::Saturated) && failure.never_sent(),
    }));
    assert_eq!((seen.count(), upstream.counters().snapshot().shed), (10, 14));
}

#[tokio::test(start_paused = true)]
async fn who_waits_gets_the_next_place_and_who_leaves_gives_it_back() {
    let seen = Seen::default();
    let slow = transport(&seen, |_| async {
        sleep(Duration::from_millis(60)).await;
        Ok(received(OK.0, OK.1, OK.2))
    });
    let upstream =
        Upstream::over(&Options { reads: ConcurrencyLimit::of(1), ..options() }, json, clock(), shortest(), slow);
    let both = wait::all((0..2).map(|_| upstream.call(upstream_request(CallKind::Read)))).await;
    assert!(both.iter().all(Result::is_ok));
    let hasty = timeout(Duration::from_millis(1), upstream.call(upstream_request(CallKind::Read))).await;
    assert!(hasty.is_err());
    assert!(upstream.call(upstream_request(CallKind::Read)).await.is_ok());
    assert_eq!((seen.count(), upstream.counters().snapshot().shed), (4, 0));
}

#[tokio::test(start_paused = true)]
async fn calls_begin_at_the_rate_that_was_set() {
    let (seen, number) = (Seen::default(), |number| NonZeroU32::new(number).expect("a number"));
    let rate = Rate { per_second: number(10), burst: number(5), max_wait: Duration::from_secs(1) };
    let answers = transport(&seen, |_| std::future::ready(Ok(received(OK.0, OK.1, OK.2))));
    let upstream = Upstream::over(&Options { rate: Some(rate), ..options() }, json, clock(), shortest(), answers);
    let start = Instant::now();
    let answers = wait::all((0..30).map(|_| upstream.call(upstream_request(CallKind::Read)))).await;
    let begun: Vec<_> = seen.instants().iter().map(|at| (*at - start).as_millis()).collect();
    assert_eq!(begun.iter().filter(|at| **at == 0).count(), 5);
    // One every 100 ms, for as long as anybody is ready to wait.
    assert_eq!(begun.len(), 15);
    assert!(begun.windows(2).skip(4).all(|pair| (99..=101).contains(&(pair[1] - pair[0]))), "{begun:?}");
    let limited = answers.iter().filter(|answer| matches!(answer, Err(Failure::Limited { .. }))).count();
    assert_eq!((limited, upstream.counters().snapshot().limited), (15, 15));
}

#[tokio::test(start_paused = true)]
async fn failures_tell_callers_what_to_do() {
    let answered = |status| {
        let seen = Seen::default();
        let upstream = always(&options(), &seen, move || Ok(received(status, &[], "{\"secret\":1}")));
        async move { upstream.call(upstream_request(CallKind::Write)).await.expect_err("a failure") }
    };
    let cases = [
        (Failure::Unsendable("is not a valid HTTP request"), Reach::Never, Code::InternalError),
        (Failure::Saturated, Reach::Never, Code::Unavailable),
        (Failure::Limited { wait: Duration::from_millis(1_500) }, Reach::Never, Code::Unavailable),
        (Failure::Open { wait: Duration::from_secs(5) }, Reach::Never, Code::Unavailable),
        (Failure::Expired { sent: false }, Reach::Never, Code::Unavailable),
        (Failure::Expired { sent: true }, Reach::Perhaps, Code::Unavailable),
        (Failure::Connect, Reach::Never, Code::Unavailable),
        (Failure::Tls, Reach::Never, Code::Unavailable),
        (Failure::Timeout { sent: true }, Reach::Perhaps, Code::Unavailable),
        (Failure::Timeout { sent: false }, Reach::Never, Code::Unavailable),
        (Failure::TooSlow, Reach::Answered, Code::Unavailable),
        (Failure::Broken { sent: true }, Reach::Perhaps, Code::Unavailable),
        (Failure::Broken { sent: false }, Reach::Never, Code::Unavailable),
        (Failure::TooLarge { limit: 9 }, Reach::Answered, Code::Unavailable),
        (Failure::Redirect(302), Reach::Answered, Code::Unavailable),
        (Failure::Unreadable(Unreadable::NotJson), Reach::Answered, Code::Unavailable),
        (answered(503).await, Reach::Answered, Code::Unavailable),
        (Failure::Abandoned, Reach::Perhaps, Code::InternalError),
    ];
    for (failure, reach, code) in cases {
        assert_eq!((failure.reach(), failure.never_sent()), (reach, reach == Reach::Never), "{failure}");
        let refusal = Refusal::from(PortError::from(&failure));
        assert_eq!(refusal.code, code, "{failure}");
        assert_eq!(refusal.retry_after.is_some(), code == Code::Unavailable, "{failure}");
        assert!(refusal.content.ends_with('.') && !format!("{failure} {failure:?} {refusal}").contains("secret"));
    }
    let limited = Refusal::from(PortError::from(Failure::Limited { wait: Duration::from_millis(1_500) }));
    assert_eq!(limited.retry_after, Some(2));
}

#[test]
fn retry_after_is_read_in_both_forms() {
    let date = "Sun, 06 Nov 1994 08:49:37 GMT";
    for (stated, now, expected) in [
        ("7", None, Some(7)),
        (" 7 ", None, Some(7)),
        ("0", None, Some(0)),
        ("99999999999999999999", None, Some(u64::MAX)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", Some(date), Some(30)),
        ("Sun, 06 Nov 1994 08:40:00 GMT", Some(date), Some(0)),
        ("Sun, 06 Nov 1994 08:50:07 GMT", None, None),
        ("-1", Some(date), None),
        ("1.5", None, None),
        ("soon", Some(date), None),
        ("", None, None),
    ] {
        let mut headers = http::HeaderMap::from_iter([(header::RETRY_AFTER, HeaderValue::from_static(stated))]);
        if let Some(now) = now {
            headers.insert(header::DATE, HeaderValue::from_static(now));
        }
        assert_eq!(classifier::retry_after(&headers), expected.map(Duration::from_secs), "{stated}");
    }
}

#[derive(Clone, Debug)]
struct Call {
    /// Milliseconds since the call before.
    after: u64,
    call_kind: CallKind,
    /// Patience of its caller, in milliseconds.
    patience: u64,
    /// Results of its attempts, each with its time in milliseconds; the last one is repeated.
    attempts: Vec<(u64, u8)>,
}

fn call() -> impl Strategy<Value = Call> {
    let call_kind = prop_oneof![4 => Just(CallKind::Read), 1 => Just(CallKind::Write), 1 => Just(CallKind::Conclude)];
    let attempt = (prop_oneof![3 => 0_u64..50, 1 => 0_u64..5_000], 0_u8..100);
    let after = prop_oneof![8 => 0_u64..20, 1 => 0_u64..3_000];
    (after, call_kind, 0_u64..4_000, prop::collection::vec(attempt, 1..4))
        .prop_map(|(after, call_kind, patience, attempts)| Call { after, call_kind, patience, attempts })
}

fn outcome(kind: u8) -> Result<Received, Failure> {
    match kind {
        0..50 => Ok(received(OK.0, OK.1, OK.2)),
        50..65 => Ok(received(503, &[], "")),
        65..75 => Ok(received(429, &[("retry-after", "1")], "")),
        75..90 => Err(Failure::Broken { sent: true }),
        90..99 => Err(Failure::Connect),
        _ => Ok(received(430, &[], "")),
    }
}

/// Observations of a server over many calls.
#[derive(Default)]
struct Watch {
    under_way: [usize; 3],
    most: [usize; 3],
    /// Questions of the gateway's own.
    own: usize,
    attempts: HashMap<usize, usize>,
    late: usize,
}

/// Counts an attempt as under way for as long as it is there.
struct Present(Arc<Mutex<Watch>>, usize);

impl Drop for Present {
    fn drop(&mut self) {
        watched(&self.0).under_way[self.1] -= 1;
    }
}

fn watched(watch: &Mutex<Watch>) -> MutexGuard<'_, Watch> {
    watch.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn storm(calls: Vec<Call>) -> (Watch, Snapshot) {
    let (watch, calls) = (Arc::new(Mutex::new(Watch::default())), Arc::new(calls));
    let server = {
        let (watch, calls) = (Arc::clone(&watch), Arc::clone(&calls));
        service_fn(move |upstream_request: UpstreamRequest| {
            if is_own(&upstream_request) {
                let mut seen = watched(&watch);
                seen.own += 1;
                let answer = outcome(u8::try_from(seen.own * 37 % 100).expect("below 100"));
                return async { answer }.boxed();
            }
            let number: usize = upstream_request.headers["x-call"].to_str().expect("text").parse().expect("a number");
            let room = upstream_request.lane as usize;
            let mut seen = watched(&watch);
            seen.under_way[room] += 1;
            seen.most[room] = seen.most[room].max(seen.under_way[room]);
            seen.late += usize::from(upstream_request.deadline.is_none_or(|deadline| Instant::now() > deadline));
            let attempt = seen.attempts.entry(number).or_default();
            let attempts = &calls[number].attempts;
            let (takes, kind) = attempts[(*attempt).min(attempts.len() - 1)];
            *attempt += 1;
            let present = Present(Arc::clone(&watch), room);
            async move {
                let _present = present;
                sleep(Duration::from_millis(takes)).await;
                outcome(kind)
            }
            .boxed()
        })
    };
    let options = Options { reads: ConcurrencyLimit::of(6), writes: ConcurrencyLimit::of(2), ..options() };
    let upstream = Upstream::over(&options, graphql, clock(), any_length(), server);
    let mut tasks = Vec::new();
    for (number, Call { after, call_kind, patience, .. }) in calls.iter().cloned().enumerate() {
        sleep(Duration::from_millis(after)).await;
        let (upstream, deadline) = (upstream.clone(), Instant::now() + Duration::from_millis(patience));
        tasks.push(tokio::spawn(async move {
            let upstream_request = upstream_request(call_kind)
                .header(HeaderName::from_static("x-call"), HeaderValue::from(number))
                .by(deadline);
            let result = upstream.call(upstream_request).await;
            (Instant::now() <= deadline, result)
        }));
    }
    for task in tasks {
        let (in_time, _) = task.await.expect("nothing panics");
        watched(&watch).late += usize::from(!in_time);
    }
    let counts = upstream.counters().snapshot();
    let mut seen = watched(&watch);
    assert_eq!((seen.attempts.values().sum::<usize>() + seen.own) as u64, counts.sent);
    assert_eq!(counts.calls, calls.len() as u64);
    (std::mem::take(&mut *seen), counts)
}

#[test]
fn whatever_happens_the_limits_hold() {
    let all = RefCell::new([0; 6]);
    let storms = prop::collection::vec(call(), 0..120);
    let result = TestRunner::new(ProptestConfig::with_cases(400)).run(&storms, |calls| {
        let call_kinds: Vec<_> = calls.iter().map(|call| call.call_kind).collect();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let (watch, counts) = runtime.expect("a runtime").block_on(storm(calls));
        prop_assert_eq!((watch.under_way, watch.late), ([0, 0, 0], 0));
        prop_assert!(watch.most[0] <= 6 && watch.most[1] <= 2 && watch.most[2] <= 2, "{:?}", watch.most);
        for (number, attempts) in watch.attempts {
            let most = if call_kinds[number] == CallKind::Read { 3 } else { 1 };
            prop_assert!(attempts <= most, "{} was sent {} times", number, attempts);
        }
        let Snapshot { sent, retries, opened, refused, shed, expired, .. } = counts;
        for (sum, count) in all.borrow_mut().iter_mut().zip([sent, retries, opened, refused, shed, expired]) {
            *sum += count;
        }
        Ok(())
    });
    result.unwrap_or_else(|broken| panic!("{broken}"));
    // All of it did happen, and often.
    assert!(all.borrow().iter().all(|sum| *sum >= 50), "{all:?}");
}
