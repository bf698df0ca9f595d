//! Callers that cost nothing to make get no more than one caller, and leave registered platforms what they need.

use std::{net::SocketAddr, sync::mpsc, thread, time::Instant};

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::{
    PATIENCE,
    server::{Answer, Server},
};
use ucp_trust::{jwk::Algorithm, signature::SigningKey};

use super::*;
use crate::{
    harness::{Ends as _, Gateway, REST_HEADERS, binary, eventually, sample_shop},
    operating::{ADMIN, admin, ask},
    platforms::host::{CATALOG, Page, profile_with},
    purchase::shopper::lines,
    signatures::{Draft, key, signing},
    wire::{Response, request},
};

const WANTED: &str = "var_abc123_blue_10";

/// A policy that wants to see profiles, behind a proxy that tells where callers are.
fn behind_a_proxy(more: &str) -> String {
    let policy = REQUIRE.split("[limits]").next().expect("a policy");
    format!("[server]\ntrusted_proxies = [\"127.0.0.1\"]\n{policy}{more}\n")
}

/// A host whose every path is a profile with one key.
fn host_of(key: &SigningKey) -> Host {
    let host = Host::start();
    let profile = profile_with(Release::NEWEST, &[CATALOG[0], CATALOG[1], "dev.ucp.shopping.cart"]);
    host.put_everywhere(Page::json(&signing(profile, &[key])));
    host
}

fn cart(gateway: &Gateway, profile: &str, key: &SigningKey, from: &str) -> Response {
    let body = json!({ "line_items": lines(&[(WANTED, 1)]) }).to_string();
    let mut draft = Draft::new(gateway, Transport::Rest, profile).with("X-Forwarded-For", from);
    draft.path = "/carts".to_owned();
    draft.saying(body.as_bytes()).signed(key).send(gateway)
}

#[test]
fn profiles_of_one_domain_and_callers_of_one_address_hold_what_one_caller_may_hold() {
    let (own, registered) = (key(Algorithm::Ed25519), new_key());
    let host = host_of(&own);
    let platform = format!("[[platform]]\nname = \"Desk\"\n{}\n", hash(&registered));
    let gateway =
        Setup::new(&behind_a_proxy(&format!("[limits]\nsigned = \"none\"\nmax_open_carts = 4\n{platform}"))).start();
    let at = |number: usize| host.url(&format!("/p{number}"));
    let made = (0..10).filter(|number| cart(&gateway, &at(*number), &own, "198.51.100.1").status == 201).count();
    assert_eq!(made, 4, "ten profiles of one host have as much as one");
    let refused = cart(&gateway, &at(0), &own, "203.0.113.9");
    assert_eq!(
        (refused.status, refused.json()["code"].clone()),
        (429, json!("rate_limited")),
        "from anywhere: {refused:?}"
    );
    // Another domain, at the same address and in its network.
    let other = |number: usize| at(number).replace("127.0.0.1", "localhost");
    assert_eq!(cart(&gateway, &other(0), &own, "198.51.100.1").status, 429, "the address is full");
    assert_eq!(cart(&gateway, &other(0), &own, "198.51.100.2").status, 201);
    // Registered platforms are not counted with strangers.
    let headers = [REST_HEADERS, &[("X-API-Key", registered.reveal()), ("X-Forwarded-For", "198.51.100.1")]].concat();
    let body = json!({ "line_items": lines(&[(WANTED, 1)]) }).to_string();
    for _ in 0..6 {
        assert_eq!(gateway.send("POST", "/carts", &headers, body.as_bytes()).status, 201);
    }
}

#[test]
fn wider_networks_hold_several_times_as_much() {
    for (addresses, most) in [
        ((0..40).map(|number| format!("198.51.100.{number}")).collect::<Vec<_>>(), 8),
        ((0..40).map(|number| format!("2001:db8:1:2::{number}")).collect(), 2),
        ((0..40).map(|number| format!("2001:db8:1:{number}::1")).collect(), 8),
        ((0..40).map(|number| format!("2001:db8:1:{number}00::1")).collect(), 32),
    ] {
        let configuration = "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n[callers]\npolicy = \"development\"\n[limits]\nmax_open_carts = 2\n";
        let gateway = Setup::new(configuration).start();
        let body = json!({ "line_items": lines(&[(WANTED, 1)]) }).to_string();
        let create = |from: &String| {
            let headers = [REST_HEADERS, &[("X-Forwarded-For", from.as_str())]].concat();
            gateway.send("POST", "/carts", &headers, body.as_bytes()).status
        };
        let made = addresses.iter().flat_map(|from| [from, from]).filter(|from| create(from) == 201).count();
        assert_eq!(made, most, "{addresses:?}");
    }
}

#[test]
fn profiles_of_one_domain_send_what_one_caller_may_send() {
    let own = key(Algorithm::Ed25519);
    let host = host_of(&own);
    let gateway = Setup::new(&behind_a_proxy("[limits]\nsigned = { per_second = 1, burst = 3 }\n")).start();
    let start = Instant::now();
    let mut passed = 0;
    for number in 0..60 {
        // From ten addresses, each with limits of its own.
        let draft = Draft::new(&gateway, Transport::ALL[number % 3], &host.url(&format!("/p{}", number % 10)));
        let draft = draft.with("X-Forwarded-For", &format!("198.51.{}.1", number % 7));
        passed += u64::from(draft.signed(&own).send(&gateway).status == 200);
        assert!(passed <= 3 + 1 + start.elapsed().as_secs(), "{passed} passed");
    }
    assert!(passed >= 3);
}

#[test]
fn strangers_at_a_slow_shop_leave_places_to_registered_platforms() {
    const PLACES: usize = 16;
    let shop = Server::start(|request| match request.uri().path() {
        "/backend" => Answer::json(&json!({
            "contract": "1",
            "market": { "name": "Slow", "currency": "USD", "language": "en" },
            "catalog": { "most_ids": 50 },
        })),
        _ if String::from_utf8_lossy(request.body()).contains("quick") => Answer::json(&json!({ "products": [] })),
        _ => Answer::Silence,
    });
    let registered = new_key();
    let configuration = format!(
        "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n[callers]\npolicy = \"development\"\n\
         [[platform]]\nname = \"Desk\"\n{}\n[upstream]\nbackend = \"http\"\nurl = \"{}\"\n\
         read_timeout_ms = 60000\nreads_in_flight = {PLACES}\n",
        hash(&registered),
        shop.url("").trim_end_matches('/')
    );
    let gateway = Setup::new(&configuration).start();
    let asked = || shop.requests().iter().filter(|request| request.uri().path() == "/find").count();
    let mut waiting = Vec::new();
    for address in 0..4 {
        for number in 0..PLACES {
            let from = format!("198.51.{address}.1");
            let body = json!({ "query": format!("slow {address} {number}") }).to_string();
            let headers = [REST_HEADERS, &[("X-Forwarded-For", from.as_str())]].concat();
            let mut connection = gateway.connect();
            assert!(connection.write(&request("POST", "/catalog/search", &headers, body.as_bytes())));
            waiting.push(connection);
        }
    }
    eventually("strangers fill their part", PATIENCE, || (asked() >= PLACES * 3 / 4).then_some(()));
    for number in 0..30 {
        let body = json!({ "query": format!("quick {number}") }).to_string();
        let headers = [REST_HEADERS, &[("X-API-Key", registered.reveal()), ("X-Forwarded-For", "198.51.0.1")]].concat();
        let answer = gateway.send("POST", "/catalog/search", &headers, body.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let stranger = [REST_HEADERS, &[("X-Forwarded-For", "203.0.113.1")]].concat();
    assert_eq!(gateway.send("POST", "/catalog/search", &stranger, b"{\"query\":\"quick\"}").status, 503);
    assert_eq!(asked(), PLACES * 3 / 4 + 30);
}

/// Twenty origins that say nothing, named from two addresses, and sixteen new platforms meanwhile.
#[test]
fn silent_origins_do_not_stop_discovery() {
    let own = key(Algorithm::Ed25519);
    let gateway = Setup::new(&behind_a_proxy("[limits]\nanonymous = \"none\"\n")).start();
    let silent: Vec<_> = (0..20)
        .map(|_| {
            let host = Host::start();
            host.put_everywhere(Page::Held(Box::new(Page::Nothing)));
            host
        })
        .collect();
    let visits = || silent.iter().map(Host::all_visits).sum::<usize>();
    thread::scope(|scope| {
        for (number, host) in silent.iter().enumerate() {
            let gateway = &gateway;
            let from = format!("198.51.{}.1", number % 2);
            scope.spawn(move || {
                Ask::new(Transport::Rest, &host.url("/p")).header("X-Forwarded-For", &from).send(gateway)
            });
        }
        eventually("the silent origins are asked", PATIENCE, || (visits() >= 16).then_some(()));
        let (found, founds) = mpsc::channel();
        let hosts: Vec<_> = (0..16).map(|_| host_of(&own)).collect();
        for (number, host) in hosts.iter().enumerate() {
            let (gateway, found, url) = (&gateway, found.clone(), host.url("/new"));
            let from = format!("203.0.{}.1", number % 4);
            scope.spawn(move || {
                let ask = Ask::new(Transport::Rest, &url).header("X-Forwarded-For", &from);
                found.send(ask.send(gateway).status)
            });
        }
        drop(found);
        let statuses: Vec<_> = founds.iter().collect();
        assert_eq!(statuses, [200; 16]);
        assert_eq!(visits(), 16, "the others wait or are refused");
        silent.iter().for_each(Host::release);
    });
}

fn holders(data: &std::path::Path, arguments: &[&str]) -> (bool, String) {
    let output = binary().arg("holders").args(arguments).arg("--data-dir").arg(data).ends();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn operators_see_what_strangers_hold_and_free_it() {
    let data = sample_shop();
    let configuration = "[server]\ntrusted_proxies = [\"127.0.0.1\"]\n[callers]\npolicy = \"development\"\n[limits]\nmax_open_carts = 2\n";
    let gateway = Setup::new(configuration).arguments(&ADMIN).spawn("127.0.0.1:0", data.path());
    let admin: SocketAddr = admin(&gateway);
    let body = json!({ "line_items": lines(&[(WANTED, 1)]) }).to_string();
    let create = |from: &str| {
        let headers = [REST_HEADERS, &[("X-Forwarded-For", from)]].concat();
        gateway.send("POST", "/carts", &headers, body.as_bytes()).status
    };
    assert_eq!(["198.51.100.1"; 3].map(create), [201, 201, 429]);
    assert_eq!(create("203.0.113.1"), 201);
    let listed: Value = ask(admin, "GET", "/holders", b"").json();
    let open = |name: &str| {
        let found = listed.as_array().and_then(|all| all.iter().find(|holding| holding["name"] == name).cloned());
        found.unwrap_or_default()["open"].as_u64()
    };
    let names = ["198.51.100.1", "198.51.100.0/24", "203.0.113.1", "203.0.113.0/24", "203.0.113.2"];
    assert_eq!(names.map(open), [Some(2), Some(2), Some(1), Some(1), None], "{listed}");
    let free = |name: &str| ask(admin, "POST", "/holders/free", json!({ "name": name }).to_string().as_bytes());
    let freed = free("198.51.100.1");
    assert_eq!((freed.status, freed.json()["name"].clone()), (200, json!("198.51.100.1")), "{freed:?}");
    assert_eq!(free("198.51.100.1").status, 404);
    assert_eq!(ask(admin, "POST", "/holders/free", b"{}").status, 400);
    assert_eq!(["198.51.100.1"; 3].map(create), [201, 201, 429]);
    let (listed, text) = holders(data.path(), &["list"]);
    assert!(listed && text.contains("198.51.100.0/24  2 carts and checkouts"), "{text}");
    let (freed, text) = holders(data.path(), &["free", "198.51.100.0/24"]);
    assert!(freed && text.contains("Removed"), "{text}");
    let (freed, text) = holders(data.path(), &["free", "198.51.100.0/24"]);
    assert!(!freed && text.contains("holders list"), "{text}");
    assert_eq!(create("198.51.100.1"), 201);
    let audit = std::fs::read_to_string(data.path().join("audit.jsonl")).expect("an audit log");
    assert!(audit.contains("holder free") && audit.contains("198.51.100.1"), "{audit}");
}
