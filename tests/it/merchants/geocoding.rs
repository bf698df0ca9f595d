//! A geocoder elsewhere, for operators who have one.

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::{Value, json};
use ucp_core::Release;

use super::{Way, call, ids};
use crate::{harness::codes, setup::Configured};

/// A service that knows one street, and fails to answer about another. It ends with the tests.
struct Service {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let asked = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let log = Arc::clone(&log);
                std::thread::spawn(move || answer(&stream, &log));
            }
        });
        Self { address, asked }
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn answer(mut stream: &TcpStream, log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let first = lines.next().unwrap_or_default();
    lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
    let body = if first.contains("Invented") {
        json!([{ "lat": "37.7898", "lon": "-122.3942", "place_rank": 30 }])
    } else {
        json!([])
    };
    let status = if first.contains("Broken") { "500 Oops" } else { "200 OK" };
    log.lock().unwrap_or_else(PoisonError::into_inner).push(first);
    let body = body.to_string();
    let _ = write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
}

fn near(address: &Value) -> Value {
    json!({ "query": "", "filters": { "location": { "address": address, "radius": { "value": 8, "unit": "mi" } } } })
}

#[test]
fn it_is_asked_for_what_is_not_known_here_and_told_no_more_than_it_needs() {
    let service = Service::start();
    let gateway =
        Configured::start(&format!("[geocoder]\nurl = \"http://{}/search\"\ntimeout_ms = 30000", service.address));
    let search =
        |address: &Value| call(&gateway, Release::NEWEST, Way::Method, "search_merchants", &near(address)).answer();
    let invented = json!({
        "street_address": "7 Invented Street",
        "address_locality": "Elsewhere",
        "address_region": "CA",
        "address_country": "US",
        "full_name": "Ford Prefect",
        "phone_number": "555-0142"
    });
    let found = search(&invented);
    assert!(!ids(&found["merchants"]).is_empty(), "{found}");
    assert_eq!(search(&invented)["merchants"], found["merchants"]);
    let asked = service.asked();
    assert_eq!(asked.len(), 1, "what was answered is remembered: {asked:?}");
    assert!(asked[0].starts_with("GET /search?") && asked[0].contains("Invented"), "{asked:?}");
    for secret in ["Ford", "Prefect", "0142"] {
        assert!(!asked[0].contains(secret), "{asked:?}");
    }

    // One that it does not know, and one that it fails about.
    let nowhere = json!({ "street_address": "1 Nowhere", "address_locality": "Nowhere", "address_country": "US" });
    assert_eq!(codes(&search(&nowhere)), ["LOCATION_UNRESOLVED"]);
    let broken = json!({ "street_address": "1 Broken Road", "address_locality": "Nowhere", "address_country": "US" });
    let refused = call(&gateway, Release::NEWEST, Way::Rest, "search_merchants", &near(&broken));
    assert_eq!((refused.refusal().status, refused.refusal().code.as_str()), (503, "unavailable"));
    // The table of postal codes goes on working without it.
    let mut coarse = broken.clone();
    coarse["postal_code"] = json!("94105");
    assert!(!ids(&search(&coarse)["merchants"]).is_empty());
}

#[test]
fn nobody_is_asked_unless_an_operator_says_so() {
    let gateway = crate::harness::Gateway::shared();
    let address =
        json!({ "street_address": "7 Invented Street", "address_locality": "Elsewhere", "address_country": "US" });
    let answer = call(&gateway, Release::NEWEST, Way::Method, "search_merchants", &near(&address)).answer();
    assert_eq!(codes(&answer), ["LOCATION_UNRESOLVED"]);
}
