//! The configuration is read again and again while platforms call: no request is lost, and nothing is left behind.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{Gateway, REST_HEADERS, admin, configured, reload};
use crate::{
    harness::{elements, eventually},
    purchase::shopper::lines,
    wire::{Connection, PATIENCE, Response, request},
};
use serde_json::json;

/// Requests are due at this distance from each other: 200 per second.
const PACE: Duration = Duration::from_millis(5);

/// Clients that send them in turns, each over a connection that it keeps. A request that is lost is not sent again.
const CLIENTS: usize = 8;

/// Sends every request when it is due, or as soon as its client is free, and reads its answer.
fn client(gateway: &Gateway, number: usize, total: usize, begun: Instant, sent: &AtomicUsize) -> Vec<String> {
    let mut connection = gateway.connect();
    let mut carts = Vec::new();
    for (turn, place) in (number..total).step_by(CLIENTS).enumerate() {
        let due = PACE * u32::try_from(place).expect("few requests");
        thread::sleep(due.saturating_sub(begun.elapsed()));
        // Connections are opened meanwhile, too.
        if turn % 5 == 4 {
            connection = gateway.connect();
        }
        sent.fetch_add(1, Ordering::Relaxed);
        if turn % 4 == 3 {
            let body = json!({ "line_items": lines(&[("var_abc123_red_10", 1)]) }).to_string();
            let answer = answered(&mut connection, "/carts", body.as_bytes(), place);
            assert_eq!(answer.status, 201, "request {place}: {answer:?}");
            carts.push(answer.json()["id"].as_str().expect("an identifier").to_owned());
        } else {
            let answer = answered(&mut connection, "/catalog/search", b"{\"query\":\"runner\"}", place);
            assert_eq!(answer.status, 200, "request {place}: {answer:?}");
            assert!(!elements(&answer.json()["products"]).is_empty(), "request {place}: {answer:?}");
        }
    }
    carts
}

#[track_caller]
fn answered(connection: &mut Connection, path: &str, body: &[u8], place: usize) -> Response {
    assert!(connection.write(&request("POST", path, REST_HEADERS, body)), "request {place} cannot be sent");
    connection.read().unwrap_or_else(|| panic!("request {place} is lost"))
}

#[test]
fn reloads_at_200_requests_per_second_lose_none() {
    const RELOADS: usize = 20;
    const BETWEEN: usize = 50;
    let (setup, data) = configured("");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let (total, sent, begun) = (RELOADS * BETWEEN, AtomicUsize::new(0), Instant::now());
    let carts: Vec<_> = thread::scope(|scope| {
        let start = |number| {
            let (gateway, sent) = (&gateway, &sent);
            scope.spawn(move || client(gateway, number, total, begun, sent))
        };
        let clients: Vec<_> = (0..CLIENTS).map(start).collect();
        for round in 0..RELOADS {
            eventually("the requests before the next reload are sent", PATIENCE, || {
                let is_over = clients.iter().any(thread::ScopedJoinHandle::is_finished);
                (is_over || sent.load(Ordering::Relaxed) >= round * BETWEEN).then_some(())
            });
            let (status, answer) = reload(admin(&gateway));
            assert_eq!(status, 200, "{answer}");
        }
        clients.into_iter().flat_map(|client| client.join().expect("no panic")).collect()
    });
    let rate = u32::try_from(total).map_or(f64::MAX, f64::from) / begun.elapsed().as_secs_f64();
    println!("{total} requests at {rate:.0} per second, {RELOADS} reloads, {} carts", carts.len());
    assert_eq!(sent.load(Ordering::Relaxed), total);
    // A response of one shop is known to the next ones.
    for cart in carts {
        assert_eq!(gateway.send("GET", &format!("/carts/{cart}"), REST_HEADERS, b"").status, 200, "{cart}");
    }
}

#[test]
fn reloads_leave_nothing_behind() {
    /// After these, the allocator has what two shops beside each other take.
    const BEFORE: usize = 10;
    const RELOADS: usize = 200;
    /// Memory of the allocator rises and falls by half of this; 200 open shops take thirty times as much.
    const WANDERING_KIB: u64 = 32 * 1024;
    let (setup, data) = configured("");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let round = |times| {
        for _ in 0..times {
            let (status, answer) = reload(admin(&gateway));
            assert_eq!(status, 200, "{answer}");
            assert_eq!(super::search(&gateway).status, 200);
        }
    };
    round(BEFORE);
    let (descriptors, threads, memory) = (gateway.descriptors(), gateway.status("Threads"), gateway.status("VmRSS"));
    round(RELOADS);
    let grown = gateway.status("VmRSS").saturating_sub(memory);
    println!("{RELOADS} reloads: {grown} KiB more than {memory}");
    assert!(grown < WANDERING_KIB, "{grown} KiB more after {RELOADS} reloads, {memory} KiB before");
    eventually("what the reloads opened is closed", PATIENCE, || {
        (gateway.descriptors() <= descriptors + 8).then_some(())
    });
    eventually("the threads that the reloads began have ended", PATIENCE, || {
        (gateway.status("Threads") <= threads + 8).then_some(())
    });
}
