//! Sending to an address whose host changes its mind (rules SEC-02, SEC-03).

use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use ucp_testkit::{Host, host::answer};
use ucp_trust::{
    address::{ProfileUrl, Reach},
    fetch::{FetchError, FetchOptions},
    post::Poster,
};

use crate::addresses::Script;

fn poster(reach: Reach, answers: &[&[&str]]) -> Poster {
    let (resolver, _) = Script::new(answers);
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
    let receiver = Host::answering("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n").await;
    let port = receiver.address().port();
    let url = format!("http://hook.localhost:{port}/x");
    let poster =
        poster(Reach::Loopback, &[&["127.0.0.1"], &["169.254.169.254"], &["127.0.0.1", "10.0.0.1"], &["127.0.0.1"]]);
    assert_eq!(post(&poster, &url).await, Ok(204));
    assert_eq!(post(&poster, &url).await, Err(FetchError::ForbiddenAddress { range: "link local" }));
    assert_eq!(post(&poster, &url).await, Err(FetchError::ForbiddenAddress { range: "private use" }));
    assert_eq!(post(&poster, &url).await, Ok(204));
    assert_eq!(receiver.connections(), 2);
}

#[tokio::test]
async fn this_machine_is_reached_only_where_that_is_allowed() {
    let receiver = Host::answering("HTTP/1.1 204 No Content\r\n\r\n").await;
    let port = receiver.address().port();
    let poster = poster(Reach::Public, &[&["127.0.0.1"]]);
    assert!(matches!(post(&poster, &format!("http://127.0.0.1:{port}/x")).await, Err(FetchError::Address(_))));
    let named = format!("https://hook.example:{port}/x");
    assert_eq!(post(&poster, &named).await, Err(FetchError::ForbiddenAddress { range: "loopback" }));
    assert_eq!(receiver.connections(), 0);
}

#[tokio::test]
async fn redirects_are_answers_and_nothing_else() {
    let elsewhere = Host::answering("HTTP/1.1 204 No Content\r\n\r\n").await;
    let receiver = Host::answering(answer(307, &[("Location", &elsewhere.url("/"))], "")).await;
    let port = receiver.address().port();
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"]]);
    assert_eq!(post(&poster, &format!("http://127.0.0.1:{port}/x")).await, Ok(307));
    assert_eq!((receiver.connections(), elsewhere.connections()), (1, 0));
}

/// A receiver that takes one delivery after the other over each connection, on an address of this machine.
async fn patient(ip: &str, port: u16) -> Host {
    Host::at((ip, port), async |mut peer| {
        loop {
            peer.request().await?;
            peer.answer(200, &[], "ok").await?;
        }
    })
    .await
}

/// Numbers of connections and requests.
fn counts(receiver: &Host) -> (usize, usize) {
    (receiver.connections(), receiver.asked())
}

#[tokio::test]
async fn one_delivery_after_the_other_goes_over_one_connection() {
    let receiver = patient("127.0.0.1", 0).await;
    let port = receiver.address().port();
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"], &["127.0.0.1", "127.0.0.9"]]);
    for host in ["hook.localhost", "127.0.0.1"] {
        let (before, _) = counts(&receiver);
        for _ in 0..20 {
            assert_eq!(post(&poster, &format!("http://{host}:{port}/x")).await, Ok(200));
        }
        assert_eq!(counts(&receiver).0, before + 1, "{host}");
    }
}

#[tokio::test]
async fn an_open_connection_is_not_used_once_the_name_is_found_at_a_forbidden_address() {
    let receiver = patient("127.0.0.1", 0).await;
    let port = receiver.address().port();
    let url = format!("http://hook.localhost:{port}/x");
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"], &["127.0.0.1", "10.0.0.1"], &[], &["127.0.0.1"]]);
    assert_eq!(post(&poster, &url).await, Ok(200));
    assert_eq!(post(&poster, &url).await, Err(FetchError::ForbiddenAddress { range: "private use" }));
    assert_eq!(post(&poster, &url).await, Err(FetchError::UnknownHost));
    assert_eq!(counts(&receiver), (1, 1), "nothing was sent meanwhile");
    assert_eq!(post(&poster, &url).await, Ok(200));
    assert_eq!(counts(&receiver), (1, 2));
}

#[tokio::test]
async fn a_host_that_has_moved_is_found_where_it_is_now_although_a_connection_is_open() {
    let old = patient("127.0.0.1", 0).await;
    let port = old.address().port();
    let new = patient("127.0.0.2", port).await;
    let url = format!("http://hook.localhost:{port}/x");
    // The first delivery resolves once, those over connections of their own twice.
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"], &["127.0.0.2"]]);
    assert_eq!(post(&poster, &url).await, Ok(200));
    for _ in 0..3 {
        assert_eq!(post(&poster, &url).await, Ok(200));
    }
    assert_eq!((counts(&old), counts(&new)), ((1, 1), (3, 3)));
}

#[tokio::test]
async fn an_answer_without_end_costs_no_more_than_its_connection() {
    let endless = "HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\nand so on";
    let receiver = Host::answering(endless).await;
    let port = receiver.address().port();
    let poster = poster(Reach::Loopback, &[&["127.0.0.1"]]);
    for _ in 0..2 {
        assert_eq!(post(&poster, &format!("http://127.0.0.1:{port}/x")).await, Ok(200));
    }
    assert_eq!(receiver.connections(), 2);
}
