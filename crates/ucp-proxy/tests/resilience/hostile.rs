//! Servers that do not behave, over real connections to this machine.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::join_all;
use http::{HeaderName, HeaderValue, Method, header};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::{Instant, sleep},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivatePkcs8KeyDer},
};
use ucp_proxy::resilience::{
    Effort, Exchange, Failure, Options, Reach, Received, Unreadable, Upstream,
    breaker::Circuit,
    client::{Certificate, SetupError},
    judge::json,
};

use super::{clock, shortest, url};

/// How many bytes of a body are read in these tests.
const LIMIT: usize = 1 << 20;

/// How much more than is read can be under way: buffers of the client, and of the system on both sides.
const UNDER_WAY: u64 = 16 << 20;

/// What a server saw and did.
#[derive(Clone, Default)]
struct Log {
    connections: Arc<AtomicUsize>,
    requests: Arc<AtomicUsize>,
    written: Arc<AtomicU64>,
}

impl Log {
    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }

    fn written(&self) -> u64 {
        self.written.load(Ordering::Relaxed)
    }
}

/// One connection of a server.
struct Peer<S = TcpStream> {
    stream: S,
    log: Log,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Peer<S> {
    /// Reads a request whose body is `{}`.
    async fn request(&mut self) -> io::Result<String> {
        let mut bytes = Vec::new();
        while !bytes.ends_with(b"\r\n\r\n{}") {
            bytes.push(self.stream.read_u8().await?);
        }
        self.log.requests.fetch_add(1, Ordering::Relaxed);
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    async fn write(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.log.written.fetch_add(bytes.as_ref().len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Waits until the other side hangs up.
    async fn hangs_up(&mut self) -> io::Result<()> {
        while self.stream.read(&mut [0; 1_024]).await? > 0 {}
        Ok(())
    }
}

/// A server that does `behaviour` on every connection.
async fn server<F, R>(behaviour: F) -> (SocketAddr, Log)
where
    F: Fn(Peer) -> R + Send + Sync + 'static,
    R: Future<Output = io::Result<()>> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let (address, log) = (listener.local_addr().expect("an address"), Log::default());
    let seen = log.clone();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            seen.connections.fetch_add(1, Ordering::Relaxed);
            // That the other side hangs up is what these tests are about.
            tokio::spawn(behaviour(Peer { stream, log: seen.clone() }));
        }
    });
    (address, log)
}

/// A server that answers with these bytes and hangs up.
async fn answering(bytes: impl Into<Vec<u8>>) -> (SocketAddr, Log) {
    let bytes = Arc::new(bytes.into());
    server(move |mut peer| {
        let bytes = Arc::clone(&bytes);
        async move {
            peer.request().await?;
            peer.write(&*bytes).await
        }
    })
    .await
}

fn answer(headers: &str, body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n{headers}\r\n{body}", body.len())
}

fn options(address: SocketAddr) -> Options {
    Options { max_body: LIMIT, ..Options::new("hostile", url(&format!("http://{address}/"))) }
}

fn upstream(options: &Options) -> Upstream {
    Upstream::new(options, json, clock(), shortest()).expect("an upstream")
}

async fn call(upstream: &Upstream, options: &Options, effort: Effort) -> Result<Received, Failure> {
    let exchange = Exchange::new(effort, Method::POST, options.address.clone()).json("{}");
    upstream.call(exchange).await
}

/// What a write ends with, which is sent once, and how many bytes of a body were read.
async fn once(address: SocketAddr) -> (Failure, u64) {
    let options = options(address);
    let upstream = upstream(&options);
    let failure = call(&upstream, &options, Effort::Write).await.expect_err("no answer");
    let counts = upstream.counters().snapshot();
    assert_eq!((counts.sent, counts.retries), (1, 0));
    (failure, counts.received_bytes)
}

#[tokio::test(start_paused = true)]
async fn a_server_that_behaves_is_understood() {
    let (address, log) = server(|mut peer| async move {
        loop {
            let request = peer.request().await?;
            assert!(request.contains("content-length: 2\r\n") && request.contains("ucp-gateway/"), "{request}");
            peer.write(answer("x-shop: 1\r\n", "{\"ok\":true}")).await?;
        }
    })
    .await;
    let options = options(address);
    let upstream = upstream(&options);
    for _ in 0..3 {
        let received = call(&upstream, &options, Effort::Read).await.expect("an answer");
        assert_eq!((received.status.as_u16(), &received.body[..]), (200, &b"{\"ok\":true}"[..]));
        assert_eq!(received.header(&HeaderName::from_static("x-shop")), Some("1"));
    }
    assert_eq!((log.connections(), log.requests()), (1, 3), "the connection is kept");
}

#[tokio::test(start_paused = true)]
async fn pages_instead_of_documents_are_told_apart() {
    let nested = "[".repeat(500_000);
    for body in
        ["<!doctype html><p>Back soon", "", "{\"data\":{\"product\":{\"title\":\"Sho", "{} {}", "\u{feff}{}", &nested]
    {
        let (address, _) = answering(answer("content-type: application/json\r\n", body)).await;
        let (failure, read) = once(address).await;
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
        let (address, log) = answering(bytes).await;
        let (failure, _) = once(address).await;
        assert!(matches!(failure, Failure::Broken { sent: true }), "{bytes}: {failure:?}");
        assert_eq!((failure.reach(), log.requests()), (Reach::Perhaps, 1), "{bytes}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_read_is_sent_again_after_a_reset_and_a_write_is_not() {
    for (effort, expected) in [(Effort::Read, 3), (Effort::Write, 1), (Effort::Conclude, 1)] {
        let (address, log) = answering("").await;
        let options = options(address);
        let failure = call(&upstream(&options), &options, effort).await.expect_err("no answer");
        assert!(matches!(failure, Failure::Broken { .. }), "{failure:?}");
        assert_eq!((log.requests(), log.connections()), (expected, expected), "{effort:?}");
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
        // What is announced is not even begun.
        ("HTTP/1.1 200 OK\r\ncontent-length: 524288000\r\n\r\n", 0),
        ("HTTP/1.1 200 OK\r\n\r\n", LIMIT as u64 + (512 << 10)),
        // A chunk of 2 GiB.
        ("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n80000000\r\n", LIMIT as u64 + (512 << 10)),
    ] {
        let (address, log) = server(move |peer| flood(peer, head)).await;
        let (failure, read) = once(address).await;
        assert!(matches!(failure, Failure::TooLarge { limit: LIMIT }), "{failure:?}");
        assert!(read <= most && read >= most.min(LIMIT as u64), "{head}: {read}");
        assert!(log.written() < UNDER_WAY, "{head}: {}", log.written());
    }
}

#[tokio::test(start_paused = true)]
async fn a_body_of_exactly_the_limit_is_read() {
    let body = format!("\"{}\"", "x".repeat(LIMIT - 2));
    let (address, _) = answering(answer("", &body)).await;
    let options = options(address);
    let received = call(&upstream(&options), &options, Effort::Read).await.expect("an answer");
    assert_eq!(received.body.len(), LIMIT);
    let (address, _) = answering(answer("", &format!("{body} "))).await;
    assert!(matches!(once(address).await.0, Failure::TooLarge { .. }));
}

#[tokio::test(start_paused = true)]
async fn heads_without_end_are_not_read() {
    let (address, log) = server(|mut peer| async move {
        peer.request().await?;
        peer.write("HTTP/1.1 200 OK\r\n").await?;
        let line = format!("x-filler: {}\r\n", "x".repeat(8_000));
        for _ in 0..(500 << 20) / line.len() {
            peer.write(&line).await?;
        }
        Ok(())
    })
    .await;
    let (failure, read) = once(address).await;
    assert!(matches!(failure, Failure::Broken { sent: true }), "{failure:?}");
    assert_eq!(read, 0);
    assert!(log.written() < UNDER_WAY, "{}", log.written());
}

#[tokio::test(start_paused = true)]
async fn compressed_answers_are_refused_unread() {
    for coding in ["gzip", "br", "identity, gzip", "GZIP"] {
        let (address, _) = answering(answer(&format!("content-encoding: {coding}\r\n"), "\u{1f}bomb")).await;
        let (failure, read) = once(address).await;
        assert!(matches!(failure, Failure::Unreadable(Unreadable::Encoding)), "{coding}: {failure:?}");
        assert_eq!(read, 0);
    }
    let (address, _) = server(|mut peer| async move {
        let request = peer.request().await?.to_ascii_lowercase();
        assert!(!request.contains("accept-encoding"), "{request}");
        peer.write(answer("content-encoding: identity\r\n", "{}")).await
    })
    .await;
    let options = options(address);
    call(&upstream(&options), &options, Effort::Read).await.expect("an answer");
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
    for (what, start, pace, effort, spent, read) in [
        // Often enough not to be idle: the limit for everything ends it.
        ("a byte every 0.7 s", body, 700, Effort::Read, 3_000, 4),
        ("a byte every 0.7 s", body, 700, Effort::Write, 10_000, 14),
        ("a byte a second", body, 1_001, Effort::Read, 1_000, 0),
        ("a byte a second", body, 1_001, Effort::Write, 10_000, 9),
        ("a head that does not end", head, 700, Effort::Write, 8_000, 0),
    ] {
        let (address, log) = server(move |peer| drip(peer, start, Duration::from_millis(pace))).await;
        let options = options(address);
        let (upstream, began) = (upstream(&options), Instant::now());
        let failure = call(&upstream, &options, effort).await.expect_err("no answer");
        let expected = if read == 0 && start == head {
            matches!(failure, Failure::Timeout { sent: true })
        } else {
            matches!(failure, Failure::TooSlow)
        };
        assert!(expected, "{what}: {failure:?}");
        // Time stands still while anything is done.
        assert_eq!(began.elapsed().as_millis() / 10, spent / 10, "{what}, {effort:?}");
        assert_eq!((upstream.counters().snapshot().received_bytes, log.requests()), (read, 1), "{what}, {effort:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn silence_comes_to_an_end_and_counts_against_the_upstream() {
    let (address, log) = server(|mut peer| async move { peer.hangs_up().await }).await;
    let options = options(address);
    let (upstream, began) = (upstream(&options), Instant::now());
    let failure = call(&upstream, &options, Effort::Write).await.expect_err("no answer");
    assert!(matches!(failure, Failure::Timeout { sent: true }), "{failure:?}");
    assert_eq!(began.elapsed().as_millis() / 10, 800);
    let reads = join_all((0..20).map(|_| call(&upstream, &options, Effort::Read))).await;
    assert!(reads.iter().all(|answer| matches!(answer, Err(Failure::Timeout { sent: true }))));
    assert!(matches!(upstream.circuit(), Circuit::Open(_)));
    assert!(log.connections() >= 21);
}

#[tokio::test(start_paused = true)]
async fn connections_that_were_closed_meanwhile_are_not_used() {
    let (address, log) = answering(answer("", "{}")).await;
    let options = options(address);
    let upstream = upstream(&options);
    for _ in 0..5 {
        call(&upstream, &options, Effort::Write).await.expect("an answer");
        sleep(Duration::from_secs(1)).await;
    }
    assert_eq!((log.connections(), log.requests()), (5, 5));
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_interim_answers_comes_to_an_end() {
    let (address, log) = server(|mut peer| async move {
        peer.request().await?;
        loop {
            peer.write("HTTP/1.1 100 Continue\r\n\r\n").await?;
            sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    let (failure, _) = once(address).await;
    assert!(matches!(failure, Failure::Timeout { sent: true }), "{failure:?}");
    assert_eq!(log.requests(), 1);
}

#[tokio::test(start_paused = true)]
async fn nobody_follows_a_redirect_and_credentials_stay() {
    let (elsewhere, other) = answering(answer("", "{}")).await;
    for status in [301, 302, 303, 307, 308] {
        for target in [format!("http://{elsewhere}/"), "/again".to_owned(), format!("//{elsewhere}/")] {
            let bytes = format!("HTTP/1.1 {status} Moved\r\nlocation: {target}\r\ncontent-length: 2\r\n\r\n{{}}");
            let (address, log) = answering(bytes).await;
            let options = options(address);
            let exchange = Exchange::new(Effort::Read, Method::POST, options.address.clone())
                .secret(header::AUTHORIZATION, HeaderValue::from_static("Bearer hush"))
                .json("{}");
            let failure = upstream(&options).call(exchange).await.expect_err("no answer");
            assert!(matches!(failure, Failure::Redirect(found) if found == status), "{failure:?}");
            assert_eq!(log.requests(), 1, "{status} to {target}");
        }
    }
    assert_eq!(other.connections(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_request_for_another_origin_is_not_sent() {
    let (address, log) = answering(answer("", "{}")).await;
    let (elsewhere, other) = answering(answer("", "{}")).await;
    let upstream = upstream(&options(address));
    for target in [
        format!("http://{elsewhere}/"),
        format!("https://{address}/"),
        format!("http://localhost:{}/", address.port()),
        "http://shop.example/".to_owned(),
        "data:text/plain,{}".to_owned(),
    ] {
        let failure = upstream.call(Exchange::new(Effort::Read, Method::GET, url(&target))).await.expect_err("unsent");
        assert!(matches!(failure, Failure::Unsendable(_)) && failure.never_sent(), "{target}: {failure:?}");
    }
    assert_eq!((log.connections(), other.connections()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn nobody_there_is_certain() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let (failure, _) = once(address).await;
    assert!(matches!(failure, Failure::Connect) && failure.never_sent(), "{failure:?}");
}

#[tokio::test(start_paused = true)]
async fn who_goes_away_hangs_up() {
    let (hung_up, heard) = tokio::sync::oneshot::channel();
    let hung_up = std::sync::Mutex::new(Some(hung_up));
    let hung_up = Arc::new(hung_up);
    let (address, _) = server(move |mut peer| {
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
    let options = options(address);
    let upstream = upstream(&options);
    let going = tokio::time::timeout(Duration::from_millis(100), call(&upstream, &options, Effort::Read)).await;
    assert!(going.is_err());
    heard.await.expect("it hung up");
    assert_eq!(upstream.circuit(), Circuit::Closed);
}

/// A server with a certificate for `name`, and the certificate.
async fn encrypted(name: &str) -> (SocketAddr, Log, Certificate) {
    let issued = rcgen::generate_simple_self_signed(vec![name.to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key.into())
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let (address, log) = server(move |peer| {
        let acceptor = acceptor.clone();
        async move {
            let stream = acceptor.accept(peer.stream).await?;
            let mut peer = Peer { stream, log: peer.log };
            peer.request().await?;
            peer.write(answer("", "{}")).await?;
            peer.hangs_up().await
        }
    })
    .await;
    (address, log, Certificate::from_der(issued.cert.der()).expect("a certificate"))
}

fn over_tls(address: SocketAddr, roots: Vec<Certificate>) -> Options {
    Options { roots, address: url(&format!("https://{address}/")), ..options(address) }
}

// With a clock that runs: nothing here waits, and a paused one would go on while a handshake is computed elsewhere.
#[tokio::test]
async fn only_trusted_certificates_are_spoken_to() {
    let patient = |options: Options| {
        let mut options = options;
        options.patience.connect = Duration::from_secs(20);
        options.patience.write.answer = Duration::from_secs(30);
        options.patience.write.total = Duration::from_secs(30);
        options
    };
    let (address, log, certificate) = encrypted("127.0.0.1").await;
    let trusting = patient(over_tls(address, vec![certificate.clone()]));
    call(&upstream(&trusting), &trusting, Effort::Write).await.expect("an answer");
    assert_eq!(log.requests(), 1);

    let (other_name, other_log, other) = encrypted("shop.example").await;
    let nonsense = server(|mut peer| async move { peer.write("I do not speak TLS.\r\n").await }).await;
    for (what, options) in [
        ("nobody vouches for it", over_tls(address, Vec::new())),
        ("somebody vouches for another", over_tls(address, vec![other.clone()])),
        ("it is for another name", over_tls(other_name, vec![other, certificate])),
        ("it speaks no TLS", over_tls(nonsense.0, Vec::new())),
    ] {
        let options = patient(options);
        let failure = call(&upstream(&options), &options, Effort::Write).await.expect_err("no trust");
        assert!(matches!(failure, Failure::Tls) && failure.never_sent(), "{what}: {failure:?}");
    }
    assert_eq!((log.requests(), other_log.requests()), (1, 0), "nothing was sent");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_does_not_end_is_given_up() {
    let (address, log) = server(|mut peer| async move { peer.hangs_up().await }).await;
    let options = over_tls(address, Vec::new());
    let (upstream, began) = (upstream(&options), Instant::now());
    let failure = call(&upstream, &options, Effort::Write).await.expect_err("no connection");
    assert!(matches!(failure, Failure::Connect) && failure.never_sent(), "{failure:?}");
    assert_eq!((began.elapsed().as_millis() / 10, log.connections()), (50, 1));
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
