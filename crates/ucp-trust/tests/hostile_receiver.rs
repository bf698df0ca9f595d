//! Sending to an address whose host changes its mind (rules SEC-02, SEC-03).

use std::{
    io,
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::HeaderMap;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    fetch::{FetchError, FetchOptions, Resolver},
    post::Poster,
};

/// Answers one after the other, the last one for ever.
struct Script {
    answers: Vec<Vec<IpAddr>>,
    asked: AtomicUsize,
}

impl Resolver for Script {
    fn resolve(&self, _: &str) -> BoxFuture<'static, io::Result<Vec<IpAddr>>> {
        let turn = self.asked.fetch_add(1, Ordering::SeqCst).min(self.answers.len() - 1);
        let answer = self.answers[turn].clone();
        Box::pin(async { Ok(answer) })
    }
}

/// A receiver that says this to everybody, and how many came.
async fn receiver(answer: &'static str) -> (u16, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let came = Arc::new(AtomicUsize::new(0));
    let counting = Arc::clone(&came);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counting.fetch_add(1, Ordering::SeqCst);
            let mut request = vec![0; 4096];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    (port, came)
}

fn poster(reach: Reach, answers: &[&[&str]]) -> Poster {
    let answers = answers.iter().map(|one| one.iter().map(|ip| ip.parse().expect("an address")).collect()).collect();
    let resolver = Arc::new(Script { answers, asked: AtomicUsize::new(0) });
    Poster::new(&FetchOptions { reach, resolver, deadline: Duration::from_secs(20), ..FetchOptions::default() })
        .expect("a poster")
}

async fn post(poster: &Poster, url: &str) -> Result<u16, FetchError> {
    let url = ProfileUrl::parse(url, Reach::Loopback).expect("an address");
    let answered = poster.post(&url, HeaderMap::new(), Bytes::from_static(b"{}")).await;
    // A connection can be used again when the task that drives it has run.
    tokio::time::sleep(Duration::from_millis(5)).await;
    answered.map(|answered| answered.status)
}

#[tokio::test]
async fn the_addresses_of_a_name_are_judged_for_every_delivery() {
    let (port, came) = receiver("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await;
    let url = format!("http://hook.localhost:{port}/x");
    let poster =
        poster(Reach::Loopback, &[&["127.0.0.1"], &["169.254.169.254"], &["127.0.0.1", "10.0.0.1"], &["127.0.0.1"]]);
    assert_eq!(post(&poster, &url).await, Ok(204));
    assert_eq!(post(&poster, &url).await, Err(FetchError::ForbiddenAddress { range: "link local" }));
    assert_eq!(post(&poster, &url).await, Err(FetchError::ForbiddenAddress { range: "private use" }));
    assert_eq!(post(&poster, &url).await, Ok(204));
    assert_eq!(came.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn this_machine_is_reached_only_where_that_is_allowed() {
    let (port, came) = receiver("HTTP/1.1 204 No Content\r\n\r\n").await;
    let poster = poster(Reach::Public, &[&["127.0.0.1"]]);
    assert!(matches!(post(&poster, &format!("http://127.0.0.1:{port}/x")).await, Err(FetchError::Address(_))));
    let named = format!("https://hook.example:{port}/x");
    assert_eq!(post(&poster, &named).await, Err(FetchError::ForbiddenAddress { range: "loopback" }));
    assert_eq!(came.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn redirects_are_answers_and_nothing_else() {
    let (elsewhere, came) = receiver("HTTP/1.1 204 No Content\r\n\r\n").await;
    let answer = format!("HTTP/1.1 307 X\r\nLocation: http://127.0.0.1:{elsewhere}/\r\nContent-Length: 0\r\n\r\n");
    let (port, _) = receiver(Box::leak(answer.into_boxed_str())).await;
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"]]);
    assert_eq!(post(&poster, &format!("http://127.0.0.1:{port}/x")).await, Ok(307));
    assert_eq!(came.load(Ordering::SeqCst), 0);
}

/// What a receiver that keeps its connections open has seen.
#[derive(Default)]
struct Seen {
    connections: AtomicUsize,
    requests: AtomicUsize,
}

/// A receiver that takes one delivery after the other over each connection, on an address of this machine.
async fn patient(ip: &str, port: u16) -> (u16, Arc<Seen>) {
    let listener = TcpListener::bind((ip, port)).await.expect("a free port");
    let port = listener.local_addr().expect("an address").port();
    let seen = Arc::new(Seen::default());
    let counting = Arc::clone(&seen);
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            counting.connections.fetch_add(1, Ordering::SeqCst);
            let counting = Arc::clone(&counting);
            tokio::spawn(async move {
                let mut request = vec![0; 4096];
                while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                    counting.requests.fetch_add(1, Ordering::SeqCst);
                    let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
                    if stream.write_all(answer).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (port, seen)
}

impl Seen {
    fn counts(&self) -> (usize, usize) {
        (self.connections.load(Ordering::SeqCst), self.requests.load(Ordering::SeqCst))
    }
}

#[tokio::test]
async fn one_delivery_after_the_other_goes_over_one_connection() {
    let (port, seen) = patient("127.0.0.1", 0).await;
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"], &["127.0.0.1", "127.0.0.9"]]);
    for host in ["hook.localhost", "127.0.0.1"] {
        let (before, _) = seen.counts();
        for _ in 0..20 {
            assert_eq!(post(&poster, &format!("http://{host}:{port}/x")).await, Ok(200));
        }
        assert_eq!(seen.counts().0, before + 1, "{host}");
    }
}

#[tokio::test]
async fn an_open_connection_is_not_used_once_the_name_is_found_at_a_forbidden_address() {
    let (port, seen) = patient("127.0.0.1", 0).await;
    let url = format!("http://hook.localhost:{port}/x");
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"], &["127.0.0.1", "10.0.0.1"], &[], &["127.0.0.1"]]);
    assert_eq!(post(&poster, &url).await, Ok(200));
    assert_eq!(post(&poster, &url).await, Err(FetchError::ForbiddenAddress { range: "private use" }));
    assert_eq!(post(&poster, &url).await, Err(FetchError::UnknownHost));
    assert_eq!(seen.counts(), (1, 1), "nothing was sent meanwhile");
    assert_eq!(post(&poster, &url).await, Ok(200));
    assert_eq!(seen.counts(), (1, 2));
}

#[tokio::test]
async fn a_host_that_has_moved_is_found_where_it_is_now_although_a_connection_is_open() {
    let (port, old) = patient("127.0.0.1", 0).await;
    let (_, new) = patient("127.0.0.2", port).await;
    let url = format!("http://hook.localhost:{port}/x");
    // The first delivery resolves once, those over connections of their own twice.
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"], &["127.0.0.2"]]);
    assert_eq!(post(&poster, &url).await, Ok(200));
    for _ in 0..3 {
        assert_eq!(post(&poster, &url).await, Ok(200));
    }
    assert_eq!((old.counts(), new.counts()), ((1, 1), (3, 3)));
}

#[tokio::test]
async fn an_answer_without_end_costs_no_more_than_its_connection() {
    let endless = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nand so on";
    let (port, came) = receiver(endless).await;
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"]]);
    for _ in 0..2 {
        assert_eq!(post(&poster, &format!("http://127.0.0.1:{port}/x")).await, Ok(200));
    }
    assert_eq!(came.load(Ordering::SeqCst), 2);
}
