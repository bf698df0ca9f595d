//! Servers that do not behave, over real connections to this machine.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Method, header};
use tokio::time::{Instant, sleep};
use ucp_net::{
    CallKind, Failure, Lane, Options, Reach, Received, Unreadable, Upstream, UpstreamRequest,
    breaker::Circuit,
    classifier::json,
    outbound::{Certificate, SetupError},
};
use ucp_testkit::{
    Host, PATIENCE,
    host::{Peer, answer},
    wait, within,
};

use super::{clock, shortest, url};

/// Maximum number of bytes of a body that are read in these tests.
const LIMIT: usize = 1 << 20;

/// Maximum of data in flight beyond what is read: buffers of the client, and of the system on both sides.
const UNDER_WAY: u64 = 16 << 20;

fn options(address: SocketAddr) -> Options {
    Options { max_body: LIMIT, ..Options::new("hostile", url(&format!("http://{address}/"))) }
}

fn upstream(options: &Options) -> Upstream {
    Upstream::new(options, json, clock(), shortest()).expect("an upstream")
}

async fn call(upstream: &Upstream, options: &Options, call_kind: CallKind) -> Result<Received, Failure> {
    let upstream_request = UpstreamRequest::new(call_kind, Method::POST, options.address.clone()).json("{}");
    upstream.call(upstream_request).await
}

/// Result of a write, which is sent once, and number of bytes of the body that were read.
async fn once(address: SocketAddr) -> (Failure, u64) {
    let options = options(address);
    let upstream = upstream(&options);
    let failure = call(&upstream, &options, CallKind::Write).await.expect_err("no answer");
    let counts = upstream.counters().snapshot();
    assert_eq!((counts.sent, counts.retries), (1, 0));
    (failure, counts.received_bytes)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_behaves_is_understood() {
    let host = Host::start(async |mut peer| {
        loop {
            let request = peer.request().await?;
            assert_eq!(
                (request.body().as_slice(), request.headers()["content-length"].as_bytes()),
                (&b"{}"[..], &b"2"[..])
            );
            assert!(request.headers()["user-agent"].to_str().expect("text").contains("ucp-gateway/"), "{request:?}");
            peer.answer(200, &[("x-shop", "1")], "{\"ok\":true}").await?;
        }
    })
    .await;
    let options = options(host.address());
    let upstream = upstream(&options);
    for _ in 0..3 {
        let received = call(&upstream, &options, CallKind::Read).await.expect("an answer");
        assert_eq!((received.status.as_u16(), &received.body[..]), (200, &b"{\"ok\":true}"[..]));
        assert_eq!(received.header(&HeaderName::from_static("x-shop")), Some("1"));
    }
    assert_eq!((host.connections(), host.asked()), (1, 3), "the connection is kept");
}

#[tokio::test(start_paused = true)]
async fn pages_instead_of_documents_are_told_apart() {
    let nested = "[".repeat(500_000);
    for body in
        ["<!doctype html><p>Back soon", "", "{\"data\":{\"product\":{\"title\":\"Sho", "{} {}", "\u{feff}{}", &nested]
    {
        let host = Host::answering(answer(200, &[("content-type", "application/json")], body)).await;
        let (failure, read) = once(host.address()).await;
        assert!(matches!(failure, Failure::Unreadable(Unreadable::NotJson)), "{failure:?}");
        assert_eq!((read, failure.reach()), (body.len() as u64, Reach::Answered));
    }
}

#[tokio::test(start_paused = true)]
async fn answers_that_break_off_are_no_answers() {
    for bytes in [
        "",
        "HTTP/1.1 200 OK\r\ncontent-le",
        "HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n",
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        "<html>This is no HTTP</html>",
        "SSH-2.0-OpenSSH\r\n",
        "HTTP/1.1 9999 Over\r\n\r\n",
    ] {
        let host = Host::answering(bytes).await;
        let (failure, _) = once(host.address()).await;
        assert!(matches!(failure, Failure::Broken { sent: true }), "{bytes}: {failure:?}");
        assert_eq!((failure.reach(), host.asked()), (Reach::Perhaps, 1), "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_is_sent_again_after_a_reset_and_a_write_is_not() {
    for (call_kind, expected) in [(CallKind::Read, 3), (CallKind::Write, 1), (CallKind::Conclude, 1)] {
        let host = Host::answering("").await;
        let options = options(host.address());
        let failure = call(&upstream(&options), &options, call_kind).await.expect_err("no answer");
        assert!(matches!(failure, Failure::Broken { .. }), "{failure:?}");
        assert_eq!((host.asked(), host.connections()), (expected, expected), "{call_kind:?}");
    }
}

/// 500 MiB, as fast as they are taken.
async fn flood(mut peer: Peer, head: &'static str) -> io::Result<()> {
    peer.request().await?;
    peer.write(head).await?;
    let piece = vec![b' '; 64 << 10];
    for _ in 0..(500 << 20) / piece.len() {
        peer.write(&piece).await?;
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn five_hundred_mebibytes_are_not_read() {
    for (head, most) in [
        // The announced body is not even read.
        ("HTTP/1.1 200 OK\r\ncontent-length: 524288000\r\n\r\n", 0),
        ("HTTP/1.1 200 OK\r\n\r\n", LIMIT as u64 + (512 << 10)),
        // A chunk of 2 GiB.
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n80000000\r\n", LIMIT as u64 + (512 << 10)),
    ] {
        let host = Host::start(move |peer| flood(peer, head)).await;
        let (failure, read) = once(host.address()).await;
        assert!(matches!(failure, Failure::TooLarge { limit: LIMIT }), "{failure:?}");
        assert!(read <= most && read >= most.min(LIMIT as u64), "{head}: {read}");
        assert!(host.written() < UNDER_WAY, "{head}: {}", host.written());
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_of_exactly_the_limit_is_read() {
    let body = format!("\"{}\"", "x".repeat(LIMIT - 2));
    let host = Host::answering(answer(200, &[], &body)).await;
    let options = options(host.address());
    let received = call(&upstream(&options), &options, CallKind::Read).await.expect("an answer");
    assert_eq!(received.body.len(), LIMIT);
    let host = Host::answering(answer(200, &[], format!("{body} "))).await;
    assert!(matches!(once(host.address()).await.0, Failure::TooLarge { .. }));
}

#[tokio::test(start_paused = true)]
async fn an_answer_of_far_too_many_values_is_not_taken() {
    let body = format!("{{\"a\":[[{}]]}}", vec!["{}"; 9_000].join(","));
    let values = vec![body; LIMIT / 32_000].join(",");
    let host = Host::answering(answer(200, &[], format!("[{values}]"))).await;
    let (failure, read) = once(host.address()).await;
    assert!(matches!(failure, Failure::TooLarge { limit: LIMIT }), "{failure:?}");
    assert!(read <= LIMIT as u64, "{read}");
}

#[tokio::test(start_paused = true)]
async fn heads_without_end_are_not_read() {
    let host = Host::start(async |mut peer| {
        peer.request().await?;
        peer.write("HTTP/1.1 200 OK\r\n").await?;
        let line = format!("x-filler: {}\r\n", "x".repeat(8_000));
        for _ in 0..(500 << 20) / line.len() {
            peer.write(&line).await?;
        }
        Ok(())
    })
    .await;
    let (failure, read) = once(host.address()).await;
    assert!(matches!(failure, Failure::Broken { sent: true }), "{failure:?}");
    assert_eq!(read, 0);
    assert!(host.written() < UNDER_WAY, "{}", host.written());
}

#[tokio::test(start_paused = true)]
async fn compressed_answers_are_refused_unread() {
    for coding in ["gzip", "br", "identity, gzip", "GZIP"] {
        let host = Host::answering(answer(200, &[("content-encoding", coding)], "\u{1f}bomb")).await;
        let (failure, read) = once(host.address()).await;
        assert!(matches!(failure, Failure::Unreadable(Unreadable::Encoding)), "{coding}: {failure:?}");
        assert_eq!(read, 0);
    }
    let host = Host::start(async |mut peer| {
        let request = peer.request().await?;
        assert!(!request.headers().contains_key("accept-encoding"), "{request:?}");
        peer.answer(200, &[("content-encoding", "identity")], "{}").await
    })
    .await;
    let options = options(host.address());
    call(&upstream(&options), &options, CallKind::Read).await.expect("an answer");
}

/// Sends `text` at one byte every `pace`, without end.
async fn drip(mut peer: Peer, head: &'static str, pace: Duration) -> io::Result<()> {
    peer.request().await?;
    peer.write(head).await?;
    loop {
        sleep(pace).await;
        peer.write("x").await?;
    }
}

#[tokio::test(start_paused = true)]
async fn one_byte_a_second_comes_to_an_end() {
    let (head, body) = ("HTTP/1.1 200 OK\r\nx-slow: ", "HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n");
    for (what, start, pace, call_kind, spent, read) in [
        // Often enough not to be idle: the limit for everything ends it.
        ("a byte every 0.7 s", body, 700, CallKind::Read, 3_000, 4),
        ("a byte every 0.7 s", body, 700, CallKind::Write, 10_000, 14),
        ("a byte a second", body, 1_001, CallKind::Read, 1_000, 0),
        ("a byte a second", body, 1_001, CallKind::Write, 10_000, 9),
        ("a head that does not end", head, 700, CallKind::Write, 8_000, 0),
    ] {
        let host = Host::start(move |peer| drip(peer, start, Duration::from_millis(pace))).await;
        let options = options(host.address());
        let (upstream, began) = (upstream(&options), Instant::now());
        let failure = call(&upstream, &options, call_kind).await.expect_err("no answer");
        let expected = if read == 0 && start == head {
            matches!(failure, Failure::Timeout { sent: true })
        } else {
            matches!(failure, Failure::TooSlow)
        };
        assert!(expected, "{what}: {failure:?}");
        // Time stands still while anything is done.
        assert_eq!(began.elapsed().as_millis() / 10, spent / 10, "{what}, {call_kind:?}");
        assert_eq!((upstream.counters().snapshot().received_bytes, host.asked()), (read, 1), "{what}, {call_kind:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_comes_to_an_end_and_counts_against_the_upstream() {
    let host = Host::start(async |mut peer| peer.hangs_up().await).await;
    let options = options(host.address());
    let (upstream, began) = (upstream(&options), Instant::now());
    let failure = call(&upstream, &options, CallKind::Write).await.expect_err("no answer");
    assert!(matches!(failure, Failure::Timeout { sent: true }), "{failure:?}");
    assert_eq!(began.elapsed().as_millis() / 10, 800);
    let reads = wait::all((0..20).map(|_| call(&upstream, &options, CallKind::Read))).await;
    assert!(reads.iter().all(|answer| matches!(answer, Err(Failure::Timeout { sent: true }))));
    // The gateway's own question meets silence, too.
    sleep(Duration::from_secs(3)).await;
    assert!(matches!(upstream.circuit(Lane::Browse), Circuit::Open(_)));
    assert!(host.connections() >= 21);
}

#[tokio::test(start_paused = true)]
async fn connections_that_were_closed_meanwhile_are_not_used() {
    let host = Host::answering(answer(200, &[], "{}")).await;
    let options = options(host.address());
    let upstream = upstream(&options);
    for _ in 0..5 {
        call(&upstream, &options, CallKind::Write).await.expect("an answer");
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!((host.connections(), host.asked()), (5, 5));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_interim_answers_comes_to_an_end() {
    let host = Host::start(async |mut peer| {
        peer.request().await?;
        loop {
            peer.write("HTTP/1.1 100 Continue\r\n\r\n").await?;
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let (failure, _) = once(host.address()).await;
    assert!(matches!(failure, Failure::Timeout { sent: true }), "{failure:?}");
    assert_eq!(host.asked(), 1);
}

#[tokio::test(start_paused = true)]
async fn nobody_follows_a_redirect_and_credentials_stay() {
    let elsewhere = Host::answering(answer(200, &[], "{}")).await;
    for status in [301, 302, 303, 307, 308] {
        for target in [elsewhere.url("/"), "/again".to_owned(), format!("//{}/", elsewhere.address())] {
            let bytes = format!("HTTP/1.1 {status} Moved\r\nlocation: {target}\r\ncontent-length: 2\r\n\r\n{{}}");
            let host = Host::answering(bytes).await;
            let options = options(host.address());
            let upstream_request = UpstreamRequest::new(CallKind::Read, Method::POST, options.address.clone())
                .secret(header::AUTHORIZATION, HeaderValue::from_static("Bearer hush"))
                .json("{}");
            let failure = upstream(&options).call(upstream_request).await.expect_err("no answer");
            assert!(matches!(failure, Failure::Redirect(found) if found == status), "{failure:?}");
            assert_eq!(host.asked(), 1, "{status} to {target}");
        }
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_for_another_origin_is_not_sent() {
    let host = Host::answering(answer(200, &[], "{}")).await;
    let elsewhere = Host::answering(answer(200, &[], "{}")).await;
    let upstream = upstream(&options(host.address()));
    for target in [
        elsewhere.url("/"),
        format!("https://{}/", host.address()),
        format!("http://localhost:{}/", host.address().port()),
        "http://shop.example/".to_owned(),
        "data:text/plain,{}".to_owned(),
    ] {
        let failure =
            upstream.call(UpstreamRequest::new(CallKind::Read, Method::GET, url(&target))).await.expect_err("unsent");
        assert!(matches!(failure, Failure::Unsendable(_)) && failure.never_sent(), "{target}: {failure:?}");
    }
    assert_eq!((host.connections(), elsewhere.connections()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn nobody_there_is_certain() {
    let (failure, _) = once(Host::nobody()).await;
    assert!(matches!(failure, Failure::Connect) && failure.never_sent(), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_hangs_up() {
    let (hung_up, heard) = tokio::sync::oneshot::channel();
    let hung_up = std::sync::Mutex::new(Some(hung_up));
    let hung_up = Arc::new(hung_up);
    let host = Host::start(move |mut peer| {
        let hung_up = Arc::clone(&hung_up);
        async move {
            peer.request().await?;
            peer.hangs_up().await?;
            let told = hung_up.lock().expect("not poisoned").take();
            told.expect("one connection").send(()).expect("somebody listens");
            Ok(())
        }
    })
    .await;
    let options = options(host.address());
    let upstream = upstream(&options);
    let going = tokio::time::timeout(Duration::from_millis(100), call(&upstream, &options, CallKind::Read)).await;
    assert!(going.is_err());
    within("the connection to be hung up", PATIENCE, heard).await.expect("it hung up");
    assert_eq!(upstream.circuit(Lane::Browse), Circuit::Closed);
}

/// A server with a certificate for `name`, and the certificate.
async fn encrypted(name: &str) -> (Host, Certificate) {
    let (host, certificate) = Host::encrypted(name, async |mut peer| {
        peer.request().await?;
        peer.answer(200, &[], "{}").await?;
        peer.hangs_up().await
    })
    .await;
    (host, Certificate::from_der(&certificate).expect("a certificate"))
}

fn over_tls(address: SocketAddr, roots: Vec<Certificate>) -> Options {
    Options { roots, address: url(&format!("https://{address}/")), ..options(address) }
}

// With a clock that runs: nothing here waits, and a paused one would go on while a handshake is computed elsewhere.
#[tokio::test]
async fn only_trusted_certificates_are_spoken_to() {
    let patient = |options: Options| {
        let mut options = options;
        options.timeouts.connect = Duration::from_secs(20);
        options.timeouts.write.answer = Duration::from_secs(30);
        options.timeouts.write.total = Duration::from_secs(30);
        options
    };
    let (host, certificate) = encrypted("127.0.0.1").await;
    let address = host.address();
    let trusting = patient(over_tls(address, vec![certificate.clone()]));
    call(&upstream(&trusting), &trusting, CallKind::Write).await.expect("an answer");
    assert_eq!(host.asked(), 1);

    let (other_name, other) = encrypted("shop.example").await;
    let nonsense = Host::start(async |mut peer| peer.write("I do not speak TLS.\r\n").await).await;
    for (what, options) in [
        ("nobody vouches for it", over_tls(address, Vec::new())),
        ("somebody vouches for another", over_tls(address, vec![other.clone()])),
        ("it is for another name", over_tls(other_name.address(), vec![other, certificate])),
        ("it speaks no TLS", over_tls(nonsense.address(), Vec::new())),
    ] {
        let options = patient(options);
        let failure = call(&upstream(&options), &options, CallKind::Write).await.expect_err("no trust");
        assert!(matches!(failure, Failure::Tls) && failure.never_sent(), "{what}: {failure:?}");
    }
    assert_eq!((host.asked(), other_name.asked()), (1, 0), "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_does_not_end_is_given_up() {
    let host = Host::start(async |mut peer| peer.hangs_up().await).await;
    let options = over_tls(host.address(), Vec::new());
    let (upstream, began) = (upstream(&options), Instant::now());
    let failure = call(&upstream, &options, CallKind::Write).await.expect_err("no connection");
    assert!(matches!(failure, Failure::Connect) && failure.never_sent(), "{failure:?}");
    assert_eq!((began.elapsed().as_millis() / 10, host.connections()), (50, 1));
}

#[test]
fn upstreams_are_servers_that_may_be_asked() {
    let made = |address: &str, plain_http| {
        let options = Options { plain_http, ..Options::new("shop", url(address)) };
        Upstream::new(&options, json, clock(), shortest()).map(drop)
    };
    for (address, plain_http) in [
        ("https://shop.example/api", false),
        ("http://127.0.0.1:9/", false),
        ("http://[::1]:9/", false),
        ("http://localhost/", false),
        ("http://shop.example/", true),
    ] {
        assert!(made(address, plain_http).is_ok(), "{address}");
    }
    assert!(matches!(made("http://shop.example/", false), Err(SetupError::Unencrypted)));
    for address in ["ftp://shop.example/", "https://user@shop.example/", "https://:word@shop.example/", "data:,x"] {
        assert!(matches!(made(address, true), Err(SetupError::Address)), "{address}");
    }
}
