//! A fetcher against a host on this machine that does what hosts must not do, and a listener that must never be touched.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
    time::{Duration, Instant},
};

use base64::Engine as _;
use futures_util::future::BoxFuture;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivatePkcs8KeyDer},
};
use ucp_core::{Code, Refusal};
use ucp_trust::{
    address::{ProfileUrl, Reach, UrlRejection},
    directory::{Directory, DirectoryOptions},
    fetch::{FetchError, FetchOptions, Fetched, Fetcher, Resolver, certificates},
};

const PROFILE: &str = r#"{"ucp":{"version":"2026-04-08","capabilities":{}}}"#;

/// A host that counts its connections and answers by the path.
#[derive(Clone)]
struct Host {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Host {
    async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("binds");
        let address = listener.local_addr().expect("an address");
        let host = Self { address, connections: Arc::default(), requests: Arc::default() };
        let serving = host.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.connections.fetch_add(1, SeqCst);
                let serving = serving.clone();
                // Callers hang up on it all the time.
                tokio::spawn(async move { serving.serve(stream).await.ok() });
            }
        });
        host
    }

    fn connections(&self) -> usize {
        self.connections.load(SeqCst)
    }

    fn url(&self, path: &str) -> ProfileUrl {
        own(&format!("http://{}{path}", self.address))
    }

    async fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await?);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        self.requests.lock().expect("requests").push(head);
        let kilobyte = "x".repeat(1_024);
        match path.as_str() {
            "/slow-head" => {
                for byte in b"HTTP/1.1 200 OK\r\n".iter().chain(b"X-Pad: 1\r\n".iter().cycle()) {
                    stream.write_all(&[*byte]).await?;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            "/slow-body" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n").await?;
                loop {
                    stream.write_all(b" ").await?;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            "/silent" => tokio::time::sleep(Duration::from_secs(60)).await,
            "/endless" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
                loop {
                    stream.write_all(format!("400\r\n{kilobyte}\r\n").as_bytes()).await?;
                }
            }
            "/endless-head" => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n").await?;
                loop {
                    stream.write_all(format!("X-Pad: {kilobyte}\r\n").as_bytes()).await?;
                }
            }
            "/declared" => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n").await?,
            "/short" => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}").await?,
            "/no-http" => stream.write_all(b"220 mail.example ESMTP\r\n").await?,
            "/gzip" => respond(&mut stream, 200, "Content-Encoding: gzip\r\n", &"\u{1f}".repeat(100)).await?,
            "/deflate" => respond(&mut stream, 200, "Content-Encoding: identity, deflate\r\n", "x").await?,
            "/identity" => {
                let headers = "Content-Encoding: identity\r\nCache-Control: public, max-age=120\r\n";
                respond(&mut stream, 200, headers, PROFILE).await?;
            }
            "/deep" => respond(&mut stream, 200, "", &"[".repeat(100_000)).await?,
            "/twice" => respond(&mut stream, 200, "", r#"{"ucp":{"version":"1"},"ucp":{}}"#).await?,
            "/html" => respond(&mut stream, 200, "", "<html></html>").await?,
            path => match path.strip_prefix("/status/").and_then(|status| status.parse().ok()) {
                Some(status) => {
                    let location = format!("Location: http://{}/profile\r\n", self.address);
                    respond(&mut stream, status, &location, PROFILE).await?;
                }
                None => respond(&mut stream, 200, "", PROFILE).await?,
            },
        }
        stream.shutdown().await
    }
}

async fn respond(stream: &mut TcpStream, status: u16, headers: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    let head = format!("HTTP/1.1 {status} Whatever\r\nContent-Length: {length}\r\n{headers}\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await
}

fn own(text: &str) -> ProfileUrl {
    ProfileUrl::parse(text, Reach::Loopback).expect("an address")
}

fn options(reach: Reach) -> FetchOptions {
    FetchOptions {
        reach,
        connect_timeout: Duration::from_millis(200),
        deadline: Duration::from_millis(500),
        max_body: 64 * 1024,
        ..FetchOptions::default()
    }
}

fn fetcher(reach: Reach) -> Fetcher {
    Fetcher::new(options(reach)).expect("a fetcher")
}

/// A resolver that gives one answer after the other, and the last one for ever.
struct Script {
    answers: Vec<Vec<IpAddr>>,
    asked: Arc<AtomicUsize>,
}

impl Script {
    fn new(answers: &[&[&str]]) -> (Arc<Self>, Arc<AtomicUsize>) {
        let address = |text: &&str| text.parse().expect("an address");
        let answers = answers.iter().map(|answer| answer.iter().map(address).collect()).collect();
        let asked = Arc::<AtomicUsize>::default();
        (Arc::new(Self { answers, asked: Arc::clone(&asked) }), asked)
    }
}

impl Resolver for Script {
    fn resolve(&self, _host: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, SeqCst).min(self.answers.len() - 1);
        let answer = self.answers[turn].clone();
        Box::pin(async { Ok(answer) })
    }
}

#[tokio::test]
async fn a_plain_answer_is_fetched_as_it_is() {
    let host = Host::start().await;
    let sign = Arc::new(|headers: &mut http::HeaderMap, url: &url::Url| {
        assert!(headers.contains_key("user-agent"));
        headers.insert("x-signed", url.path().parse().expect("a value"));
    });
    let fetcher = Fetcher::new(FetchOptions { sign: Some(sign), ..options(Reach::Loopback) }).expect("a fetcher");
    let fetched = fetcher.fetch(&host.url("/profile")).await;
    assert_eq!(fetched, Ok(Fetched { body: PROFILE.into(), max_age: None }));
    let fetched = fetcher.fetch(&host.url("/identity?query=1")).await;
    assert_eq!(fetched, Ok(Fetched { body: PROFILE.into(), max_age: None }));
    let fetched = fetcher.fetch(&host.url("/identity")).await.expect("fetched");
    assert_eq!(fetched.max_age, Some(Duration::from_secs(120)));

    let request = host.requests.lock().expect("requests")[0].to_ascii_lowercase();
    let version = env!("CARGO_PKG_VERSION");
    for header in [
        "get /profile http/1.1".to_owned(),
        "accept: application/json".to_owned(),
        "accept-encoding: identity".to_owned(),
        format!("user-agent: ucp-gateway/{version}"),
        "x-signed: /profile".to_owned(),
    ] {
        assert!(request.lines().any(|line| line == header), "{header}: {request}");
    }
    assert!(!request.contains("cookie") && !request.contains("referer"), "{request}");
    assert_eq!(host.connections(), 3, "no connection is reused");
}

#[tokio::test]
async fn redirects_and_other_statuses_are_not_followed() {
    let host = Host::start().await;
    let fetcher = fetcher(Reach::Loopback);
    for status in [300, 301, 302, 303, 304, 307, 308] {
        let refused = fetcher.fetch(&host.url(&format!("/status/{status}"))).await;
        assert_eq!(refused, Err(FetchError::Redirect(status)));
    }
    for status in [201, 206, 401, 404, 500, 503] {
        let refused = fetcher.fetch(&host.url(&format!("/status/{status}"))).await;
        assert_eq!(refused, Err(FetchError::Status(status)));
    }
    let refusal = Refusal::from(FetchError::Redirect(302));
    assert!(refusal.content.contains("not followed"), "{refusal}");
    assert_eq!((refusal.code, host.connections()), (Code::ProfileUnreachable, 13));
}

#[tokio::test]
async fn slow_and_endless_answers_end() {
    let host = Host::start().await;
    let fetcher = fetcher(Reach::Loopback);
    for (path, expected) in [
        ("/slow-head", FetchError::Timeout),
        ("/slow-body", FetchError::Timeout),
        ("/silent", FetchError::Timeout),
        ("/endless", FetchError::TooLarge { limit: 64 * 1024 }),
        ("/declared", FetchError::TooLarge { limit: 64 * 1024 }),
        ("/endless-head", FetchError::Interrupted),
        ("/short", FetchError::Interrupted),
        ("/no-http", FetchError::Interrupted),
        ("/gzip", FetchError::Encoding),
        ("/deflate", FetchError::Encoding),
    ] {
        let started = Instant::now();
        assert_eq!(fetcher.fetch(&host.url(path)).await, Err(expected), "{path}");
        assert!(started.elapsed() < Duration::from_secs(2), "{path}");
    }
    // Nobody listens there.
    let closed = {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("binds");
        listener.local_addr().expect("an address")
    };
    assert_eq!(fetcher.fetch(&own(&format!("http://{closed}/"))).await, Err(FetchError::Connection));
}

#[tokio::test]
async fn only_certificates_that_are_trusted_for_the_host_count() {
    let certified = rcgen::generate_simple_self_signed(["platform.example".to_owned()]).expect("a certificate");
    let certificate = certified.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(certified.signing_key.serialize_der());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .expect("a configuration");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("binds");
    let port = listener.local_addr().expect("an address").port();
    tokio::spawn(async move {
        let acceptor = TlsAcceptor::from(Arc::new(config));
        while let Ok((stream, _)) = listener.accept().await {
            // Those who do not trust it hang up.
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let mut request = [0; 4_096];
                let _ = stream.read(&mut request).await;
                let length = PROFILE.len();
                let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{PROFILE}");
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        }
    });
    let pem = format!(
        "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
        base64::engine::general_purpose::STANDARD.encode(&certificate)
    );
    let trusting = certificates(pem.as_bytes()).expect("a certificate");
    for (host, roots, expected) in [
        ("platform.example", trusting.clone(), Ok(PROFILE.into())),
        ("platform.example", Vec::new(), Err(FetchError::Tls)),
        ("another.example", trusting, Err(FetchError::Tls)),
    ] {
        let (resolver, _) = Script::new(&[&["127.0.0.1"]]);
        let fetcher = Fetcher::new(FetchOptions { roots, resolver, ..options(Reach::Loopback) }).expect("a fetcher");
        let fetched = fetcher.fetch(&own(&format!("https://{host}:{port}/profile"))).await;
        assert_eq!(fetched.map(|fetched| fetched.body), expected, "{host}");
    }
    // And a host that does not speak TLS.
    let plain = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("binds");
    let address = plain.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut stream, _) = plain.accept().await.expect("a caller");
        stream.write_all(b"220 mail.example ESMTP\r\n").await.expect("greets");
        stream.read_u8().await
    });
    assert_eq!(fetcher(Reach::Loopback).fetch(&own(&format!("https://{address}/"))).await, Err(FetchError::Tls));
}

#[tokio::test]
async fn bombs_are_malformed_profiles() {
    let host = Host::start().await;
    let directory: Directory<()> = Directory::new(fetcher(Reach::Loopback), DirectoryOptions::default(), |_| ());
    for path in ["/deep", "/twice", "/html", "/gzip"] {
        let refusal = directory.get(&host.url(path)).await.expect_err(path);
        assert_eq!(refusal.code, Code::ProfileMalformed, "{path}: {refusal}");
        assert!(!refusal.content.contains("127.0.0.1"), "{refusal}");
    }
    assert!(directory.get(&host.url("/profile")).await.is_ok());
    assert!(directory.peek(host.url("/profile").as_str()).is_some());
}

#[tokio::test]
async fn this_machine_is_never_touched_under_any_name() {
    let canary = Host::start().await;
    let port = canary.address.port();
    for literal in
        ["2130706433", "0177.0.0.1", "[::ffff:127.0.0.1]", "[64:ff9b::7f00:1]", "0x7f.1", "127.0.0.1", "[::1]"]
    {
        let text = format!("https://{literal}:{port}/profile");
        let verdict = ProfileUrl::parse(&text, Reach::Public);
        assert!(matches!(verdict, Err(UrlRejection::SpecialAddress(_))), "{text}: {verdict:?}");
        // Even an address that passed elsewhere does not pass here.
        if let Ok(url) = ProfileUrl::parse(&text, Reach::Loopback) {
            let refused = fetcher(Reach::Public).fetch(&url).await;
            assert!(matches!(refused, Err(FetchError::Address(_))), "{text}: {refused:?}");
        }
    }

    let url = ProfileUrl::parse(&format!("https://rebind.example:{port}/profile"), Reach::Public).expect("public");
    for (answers, range) in [
        (&["127.0.0.1"][..], "loopback"),
        (&["::1"], "loopback"),
        (&["::ffff:127.0.0.1"], "IPv4-mapped"),
        (&["64:ff9b::7f00:1"], "NAT64"),
        (&["2002:7f00:1::"], "6to4"),
        (&["10.0.0.1"], "private use"),
        (&["169.254.169.254"], "link local"),
        (&["0.0.0.0"], "this network"),
        // One forbidden address among good ones is enough, wherever it stands.
        (&["1.1.1.1", "127.0.0.1"], "loopback"),
        (&["127.0.0.1", "1.1.1.1"], "loopback"),
    ] {
        let (resolver, asked) = Script::new(&[answers]);
        let fetcher = Fetcher::new(FetchOptions { resolver, ..options(Reach::Public) }).expect("a fetcher");
        let refused = fetcher.fetch(&url).await.expect_err("forbidden");
        assert_eq!(refused, FetchError::ForbiddenAddress { range }, "{answers:?}");
        assert_eq!(asked.load(SeqCst), 1);
        let refusal = Refusal::from(refused);
        assert_eq!(refusal.code, Code::InvalidProfileUrl);
        assert!(refusal.content.contains(range) && !answers.iter().any(|ip| refusal.content.contains(ip)), "{refusal}");
    }
    assert_eq!(canary.connections(), 0);
}

#[tokio::test]
async fn a_name_that_resolves_differently_the_next_time_gains_nothing() {
    let host = Host::start().await;
    let url = own(&format!("https://rebind.example:{}/profile", host.address.port()));
    let (resolver, asked) = Script::new(&[&["127.0.0.1"], &["192.168.0.1"]]);
    let fetcher = Fetcher::new(FetchOptions { resolver, ..options(Reach::Loopback) }).expect("a fetcher");
    // A fetcher that judged one answer and connected to the next one would not arrive here.
    assert!(fetcher.fetch(&url).await.is_err(), "it does not speak TLS");
    assert_eq!((asked.load(SeqCst), host.connections()), (1, 1));
    // And what was judged once is judged again.
    assert_eq!(fetcher.fetch(&url).await, Err(FetchError::ForbiddenAddress { range: "private use" }));
    assert_eq!((asked.load(SeqCst), host.connections()), (2, 1));
}

#[tokio::test]
async fn development_reaches_this_machine_and_no_other_private_one() {
    let host = Host::start().await;
    let port = host.address.port();
    let fetch = |name: &str, answers: &[&str]| {
        let (resolver, _) = Script::new(&[answers]);
        let fetcher = Fetcher::new(FetchOptions { resolver, ..options(Reach::Loopback) }).expect("a fetcher");
        let url = own(&format!("http://{name}:{port}/profile"));
        async move { fetcher.fetch(&url).await.map(|fetched| fetched.body) }
    };
    assert_eq!(fetch("agent.localhost", &["127.0.0.1"]).await, Ok(PROFILE.into()));
    assert_eq!(fetch("localhost", &["192.168.0.1"]).await, Err(FetchError::ForbiddenAddress { range: "private use" }));
    assert_eq!(fetch("localhost", &["1.1.1.1"]).await, Err(FetchError::UnknownHost), "plain http leaves this machine");
    assert_eq!(fetch("localhost", &[]).await, Err(FetchError::UnknownHost));
    assert_eq!(host.connections(), 1);
}
