//! A fetcher against a host on this machine that does what hosts must not do, and a listener that must never be
//! touched.

use std::{
    io,
    sync::{Arc, atomic::Ordering::SeqCst},
    time::Duration,
};

use base64::Engine as _;
use tokio::time::{Instant, sleep};
use ucp_core::{Code, Refusal};
use ucp_net::outbound::certificates;
use ucp_testkit::{
    Host,
    host::{Peer, Request},
};
use ucp_trust::{
    address::{ProfileUrl, Reach, UrlRejection},
    directory::{Directory, DirectoryOptions},
    fetch::{FetchError, FetchOptions, Fetched, Fetcher},
};

use crate::addresses::Script;

const PROFILE: &str = r#"{"ucp":{"version":"2026-04-08","capabilities":{}}}"#;

/// Starts a host that answers by the path.
async fn host() -> Host {
    Host::start(async |mut peer| {
        let request = peer.request().await?;
        misbehave(&mut peer, &request).await
    })
    .await
}

async fn misbehave(peer: &mut Peer, request: &Request) -> io::Result<()> {
    let kilobyte = "x".repeat(1_024);
    match request.uri().to_string().as_str() {
        "/slow-head" => {
            for byte in b"HTTP/1.1 200 OK\r\n".iter().chain(b"X-Pad: 1\r\n".iter().cycle()) {
                peer.write([*byte]).await?;
                sleep(Duration::from_millis(20)).await;
            }
            Ok(())
        }
        "/slow-body" => {
            peer.write("HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n").await?;
            loop {
                peer.write(" ").await?;
                sleep(Duration::from_millis(20)).await;
            }
        }
        "/silent" => peer.hangs_up().await,
        "/endless" => {
            peer.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n").await?;
            loop {
                peer.write(format!("400\r\n{kilobyte}\r\n")).await?;
            }
        }
        "/endless-head" => {
            peer.write("HTTP/1.1 200 OK\r\n").await?;
            loop {
                peer.write(format!("X-Pad: {kilobyte}\r\n")).await?;
            }
        }
        "/declared" => peer.write("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n").await,
        "/short" => peer.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}").await,
        "/no-http" => peer.write("220 mail.example ESMTP\r\n").await,
        "/gzip" => peer.answer(200, &[("Content-Encoding", "gzip")], "\u{1f}".repeat(100)).await,
        "/deflate" => peer.answer(200, &[("Content-Encoding", "identity, deflate")], "x").await,
        "/identity" => {
            let headers = [("Content-Encoding", "identity"), ("Cache-Control", "public, max-age=120")];
            peer.answer(200, &headers, PROFILE).await
        }
        "/deep" => peer.answer(200, &[], "[".repeat(100_000)).await,
        "/twice" => peer.answer(200, &[], r#"{"ucp":{"version":"1"},"ucp":{}}"#).await,
        "/html" => peer.answer(200, &[], "<html></html>").await,
        path => match path.strip_prefix("/status/").and_then(|status| status.parse().ok()) {
            Some(status) => {
                let location = format!("http://{}/profile", request.headers()["host"].to_str().expect("a host"));
                peer.answer(status, &[("Location", &location)], PROFILE).await
            }
            None => peer.answer(200, &[], PROFILE).await,
        },
    }
}

fn url(host: &Host, path: &str) -> ProfileUrl {
    own(&host.url(path))
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

#[tokio::test]
async fn a_plain_answer_is_fetched_as_it_is() {
    let host = host().await;
    let sign = Arc::new(|headers: &mut http::HeaderMap, url: &url::Url| {
        assert!(headers.contains_key("user-agent"));
        headers.insert("x-signed", url.path().parse().expect("a value"));
    });
    let fetcher = Fetcher::new(FetchOptions { sign: Some(sign), ..options(Reach::Loopback) }).expect("a fetcher");
    let fetched = fetcher.fetch(&url(&host, "/profile")).await;
    assert_eq!(fetched, Ok(Fetched { body: PROFILE.into(), max_age: None }));
    let fetched = fetcher.fetch(&url(&host, "/identity?query=1")).await;
    assert_eq!(fetched, Ok(Fetched { body: PROFILE.into(), max_age: None }));
    let fetched = fetcher.fetch(&url(&host, "/identity")).await.expect("fetched");
    assert_eq!(fetched.max_age, Some(Duration::from_secs(120)));

    let request = host.requests().remove(0);
    assert_eq!((request.method().as_str(), request.uri().path()), ("GET", "/profile"));
    for (name, value) in [
        ("accept", "application/json"),
        ("accept-encoding", "identity"),
        ("user-agent", concat!("ucp-gateway/", env!("CARGO_PKG_VERSION"))),
        ("x-signed", "/profile"),
    ] {
        let values: Vec<_> = request.headers().get_all(name).iter().collect();
        assert_eq!(values, [value], "{name}");
    }
    let headers = format!("{:?}", request.headers());
    assert!(!headers.contains("cookie") && !headers.contains("referer"), "{headers}");
    assert_eq!(host.connections(), 3, "no connection is reused");
}

#[tokio::test]
async fn redirects_and_other_statuses_are_not_followed() {
    let host = host().await;
    let fetcher = fetcher(Reach::Loopback);
    for status in [300, 301, 302, 303, 304, 307, 308] {
        let refused = fetcher.fetch(&url(&host, &format!("/status/{status}"))).await;
        assert_eq!(refused, Err(FetchError::Redirect(status)));
    }
    for status in [201, 206, 401, 404, 500, 503] {
        let refused = fetcher.fetch(&url(&host, &format!("/status/{status}"))).await;
        assert_eq!(refused, Err(FetchError::Status(status)));
    }
    let refusal = Refusal::from(FetchError::Redirect(302));
    assert!(refusal.content.contains("not followed"), "{refusal}");
    assert_eq!((refusal.code, host.connections()), (Code::ProfileUnreachable, 13));
}

#[tokio::test(start_paused = true)]
async fn slow_and_endless_answers_end() {
    let host = host().await;
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
        assert_eq!(fetcher.fetch(&url(&host, path)).await, Err(expected), "{path}");
        // By the paused clock.
        assert!(started.elapsed() < Duration::from_secs(2), "{path}");
    }
    let refused = fetcher.fetch(&own(&format!("http://{}/", Host::nobody()))).await;
    assert_eq!(refused, Err(FetchError::Connection));
}

#[tokio::test]
async fn only_certificates_that_are_trusted_for_the_host_count() {
    let (encrypted, certificate) = Host::encrypted("platform.example", async |mut peer| {
        peer.request().await?;
        peer.answer(200, &[], PROFILE).await?;
        peer.hangs_up().await
    })
    .await;
    let port = encrypted.address().port();
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
    let plain = Host::start(async |mut peer| {
        peer.write("220 mail.example ESMTP\r\n").await?;
        peer.hangs_up().await
    })
    .await;
    let greeted = fetcher(Reach::Loopback).fetch(&own(&format!("https://{}/", plain.address()))).await;
    assert_eq!(greeted, Err(FetchError::Tls));
}

#[tokio::test]
async fn bombs_are_malformed_profiles() {
    let host = host().await;
    let directory: Directory<()> = Directory::new(fetcher(Reach::Loopback), DirectoryOptions::default(), |_| ());
    for path in ["/deep", "/twice", "/html", "/gzip"] {
        let refusal = directory.get(&url(&host, path)).await.expect_err(path);
        assert_eq!(refusal.code, Code::ProfileMalformed, "{path}: {refusal}");
        assert!(!refusal.content.contains("127.0.0.1"), "{refusal}");
    }
    assert!(directory.get(&url(&host, "/profile")).await.is_ok());
    assert!(directory.peek(url(&host, "/profile").as_str()).is_some());
}

#[tokio::test]
async fn this_machine_is_never_touched_under_any_name() {
    let canary = host().await;
    let port = canary.address().port();
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
    let host = host().await;
    let url = own(&format!("https://rebind.example:{}/profile", host.address().port()));
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
    let host = host().await;
    let port = host.address().port();
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
