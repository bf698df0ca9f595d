//! Locations of buyers are used by the search only.

use serde_json::{Value, json};
use ucp_core::Release;

use super::{WAYS, call};
use crate::{harness::Verdict, setup::Setup};

/// Parts of addresses that occur nowhere else.
const SECRETS: [&str; 9] = [
    "Xanadu Crescent",
    "Apartment Quux",
    "Kublaiville",
    "ZZ9PLURAL",
    "Ford Prefect",
    "555-0142",
    "pizza beside my clinic",
    "37.123987",
    "-122.987654",
];

fn requests() -> Vec<(&'static str, Value)> {
    let address = json!({
        "street_address": "42 Xanadu Crescent",
        "extended_address": "Apartment Quux",
        "address_locality": "Kublaiville",
        "address_region": "CA",
        "postal_code": "ZZ9PLURAL",
        "address_country": "US",
        "full_name": "Ford Prefect",
        "phone_number": "+1 555-0142"
    });
    let within = |radius: Value| json!({ "query": "pizza beside my clinic", "filters": { "location": { "address": address, "radius": radius } } });
    let mut known = within(json!({ "value": 8, "unit": "mi" }));
    known["filters"]["location"]["address"]["postal_code"] = json!("94105");
    vec![
        ("search_merchants", within(json!({ "value": 8, "unit": "mi" }))),
        ("search_merchants", known),
        // Refused by the schema, by the reader, and by the domain.
        ("search_merchants", within(json!({ "value": -1, "unit": "mi" }))),
        ("search_merchants", within(json!({ "value": 1e300, "unit": "furlong" }))),
        ("search_merchants", json!({ "query": "", "filters": { "location": { "address": address } } })),
        ("search_merchants", json!({ "query": "", "context": { "country": "US", "postal_code": "ZZ9PLURAL" } })),
        ("search_merchants", json!({ "query": "", "context": { "country": "Kublaiville" } })),
        (
            "search_locations",
            json!({ "distance": { "center": { "latitude": 37.123_987, "longitude": -122.987_654 }, "max": 5000 } }),
        ),
        (
            "search_locations",
            json!({ "distance": { "center": { "latitude": 37.123_987, "longitude": -122.987_654 }, "max": -1 } }),
        ),
    ]
}

#[test]
fn addresses_of_buyers_are_in_no_log_whatever_its_level() {
    let gateway = Setup::new("").variable("RUST_LOG", "trace").start();
    for (name, payload) in requests() {
        for way in WAYS {
            let verdict = call(&gateway, Release::NEWEST, way, name, &payload);
            if let Verdict::Refused(refused) = verdict {
                for secret in SECRETS {
                    assert!(!format!("{refused:?}").contains(secret), "{name}: {refused:?}");
                }
            }
        }
    }
    let log = gateway.stderr();
    assert!(log.contains("search_merchants"), "calls are in the log");
    for secret in SECRETS {
        if let Some(line) = log.lines().find(|line| line.contains(secret)) {
            panic!("`{secret}` is in the log: {line:.500}");
        }
    }
}
