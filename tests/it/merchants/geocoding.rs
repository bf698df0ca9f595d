//! A geocoder elsewhere, for operators who have one.

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::server::{Answer, Server};

use super::{Way, call, ids};
use crate::{harness::codes, setup::Configured};

/// A service that knows one street, and fails to answer about another.
fn service() -> Server {
    Server::start(|request| {
        let asked = request.uri().to_string();
        if asked.contains("Broken") {
            return Answer::status(500);
        }
        let known = json!({ "lat": "37.7898", "lon": "-122.3942", "place_rank": 30 });
        Answer::json(&if asked.contains("Invented") { json!([known]) } else { json!([]) })
    })
}

fn near(address: &Value) -> Value {
    json!({ "query": "", "filters": { "location": { "address": address, "radius": { "value": 8, "unit": "mi" } } } })
}

#[test]
fn it_is_asked_for_what_is_not_known_here_and_told_no_more_than_it_needs() {
    let service = service();
    let gateway = Configured::start(&format!("[geocoder]\nurl = \"{}\"\ntimeout_ms = 30000", service.url("/search")));
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
    let asked: Vec<_> =
        service.requests().iter().map(|request| format!("{} {}", request.method(), request.uri())).collect();
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
