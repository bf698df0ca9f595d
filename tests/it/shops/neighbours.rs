//! One shop whose backend hangs leaves its neighbors their places.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde_json::json;
use ucp_testkit::server::{Answer, Server};

use super::{THREE, search, several};
use crate::{
    harness::{REST_HEADERS, eventually},
    wire::{PATIENCE, request},
};

/// Places for all requests of the process.
const PLACES: usize = 12;

/// A shop behind the backend contract that says what it is and answers nothing else.
fn hanging() -> Server {
    Server::start(|request| match request.uri().path() {
        "/backend" => Answer::json(&json!({
            "contract": "1",
            "market": { "name": "Hanging", "currency": "USD", "language": "en" },
            "catalog": { "most_ids": 50 },
        })),
        _ => Answer::Silence,
    })
}

#[test]
fn a_shop_that_hangs_and_is_flooded_leaves_places_to_its_neighbours() {
    let backend = hanging();
    let url = backend.url("");
    let (_setup, _data, gateway) = several(&format!(
        "[server]\nmax_in_flight = {PLACES}\n{THREE}[shop.upstream]\nbackend = \"http\"\nurl = \"{}\"\n\
         read_timeout_ms = 60000\n",
        url.trim_end_matches('/')
    ));
    assert_eq!(search(&gateway, "one.localhost", "").status, 200);
    // Far more calls than there are places. None of those that are under way comes back.
    let refused = AtomicUsize::new(0);
    let mut waiting = Vec::new();
    let body = b"{\"query\":\"roses\"}";
    for _ in 0..3 * PLACES {
        let mut connection = gateway.connect();
        assert!(connection.write(&request("POST", "/shops/three/catalog/search", REST_HEADERS, body)));
        waiting.push(connection);
    }
    let asked = || backend.requests().iter().filter(|request| request.uri().path() == "/find").count();
    eventually("the backend is asked", PATIENCE, || (asked() >= 3).then_some(()));
    thread::scope(|scope| {
        for host in ["one.localhost", "two.localhost"] {
            let (gateway, refused) = (&gateway, &refused);
            scope.spawn(move || {
                for _ in 0..50 {
                    let answer = search(gateway, host, "");
                    refused.fetch_add(usize::from(answer.status != 200), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(refused.load(Ordering::Relaxed), 0, "the neighbours are served");
    assert!(asked() <= PLACES / 2, "{} calls of the shop are under way", asked());
}
