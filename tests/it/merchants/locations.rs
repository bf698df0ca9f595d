//! `search_locations` and `lookup_locations`, which release 2026-08-25 has.

use std::path::PathBuf;

use serde_json::{Value, json};
use ucp_core::Release;

use super::{WAYS, Way, ask, call, ids, timeless};
use crate::harness::{Gateway, Verdict, codes, elements, repository};

/// Around which the sample's distances are told.
fn around(metres: f64) -> Value {
    json!({ "center": { "latitude": 37.7898, "longitude": -122.3942 }, "max": metres })
}

#[test]
fn both_transports_answer_alike() {
    let gateway = Gateway::shared();
    let search = [
        json!({}),
        json!({ "query": "pizza" }),
        json!({ "distance": around(12_874.752) }),
        json!({ "filters": { "hours": { "open_at": "2026-11-21T01:00:00Z" } }, "pagination": { "limit": 100 } }),
        json!({ "filters": { "amenities": ["dev.ucp.amenity.outdoor_seating"] } }),
        json!({ "distance": around(5_000.0), "filters": { "hours": { "open_at": "2026-12-25T12:00:00-08:00" } } }),
        json!({ "pagination": { "limit": 0 } }),
        json!({ "pagination": { "limit": 1.5 } }),
        json!({ "serves": { "point": { "latitude": 1, "longitude": 2 } } }),
        json!({ "serves": {} }),
        json!({ "distance": { "center": { "latitude": 91, "longitude": 0 }, "max": 1 } }),
        json!({ "distance": { "max": 1 } }),
        json!({ "distance": around(-1.0) }),
        json!({ "filters": { "open_now": true } }),
        json!({ "filters": { "inventory": [] } }),
        json!({ "filters": { "hours": { "open_at": "2026-11-21T01:00:00" } } }),
        json!({ "filters": { "hours": {} } }),
        json!({ "filters": { "hours": { "open_at": "2026-11-21T01:00:00Z", "open_until": "x" } } }),
        json!({ "filters": { "amenities": ["wifi"] } }),
    ];
    let lookup = [
        json!({ "ids": ["loc_night_owl_soma"] }),
        json!({ "ids": ["loc_night_owl_soma", "nothing", "loc_night_owl_soma"] }),
        json!({ "ids": ["loc_night_owl_soma"], "distance": around(100.0) }),
        json!({ "ids": [] }),
        json!({}),
        json!({ "ids": ["a"], "filters": { "open_now": true } }),
    ];
    let calls = search.iter().map(|payload| ("search_locations", payload));
    for (name, payload) in calls.chain(lookup.iter().map(|payload| ("lookup_locations", payload))) {
        let [rest, tool, method] = WAYS.map(|way| call(&gateway, Release::NEWEST, way, name, payload));
        assert_eq!(timeless(&rest), timeless(&tool), "{name} {payload}");
        assert_eq!(timeless(&rest), timeless(&method), "{name} {payload}");
        if let Verdict::Answered(_) = rest {
            crate::official::check(name, &rest.answer());
        }
    }
}

#[test]
fn a_radius_is_measured_on_the_ellipsoid() {
    let gateway = Gateway::shared();
    let mut found = Vec::new();
    let mut asked = json!({ "distance": around(12_874.752), "pagination": { "limit": 25 } });
    loop {
        let answer = ask(&gateway, "search_locations", &asked);
        found.extend(elements(&answer["locations"]).iter().map(|location| location["geo"].clone()));
        match answer["pagination"].get("cursor") {
            Some(cursor) => asked["pagination"]["cursor"] = cursor.clone(),
            None => break,
        }
    }
    // A sphere says the opposite of both.
    assert!(found.contains(&json!({ "latitude": 37.9057, "longitude": -122.3942 })));
    assert!(!found.contains(&json!({ "latitude": 37.7897, "longitude": -122.2479 })));
}

#[test]
fn an_instant_is_read_in_the_time_zone_of_the_place() {
    let gateway = Gateway::shared();
    let open = |instant: &str| {
        let asked = json!({ "ids": ["loc_night_owl_soma"], "filters": { "hours": { "open_at": instant } } });
        !elements(&ask(&gateway, "lookup_locations", &asked)["locations"]).is_empty()
    };
    for (instant, expected) in [
        ("2026-11-21T00:59:59Z", false),
        ("2026-11-21T01:00:00Z", true),
        ("2026-11-20T17:00:00-08:00", true),
        ("2026-11-21T09:59:59Z", true),
        ("2026-11-21T10:00:00Z", false),
        ("2026-12-25T07:59:00Z", true),
        ("2026-12-25T08:30:00Z", false),
        ("2026-12-26T02:00:00Z", false),
        ("2026-12-27T02:00:00Z", true),
    ] {
        assert_eq!(open(instant), expected, "{instant}");
    }
}

#[test]
fn identifiers_say_what_they_led_to() {
    let gateway = Gateway::shared();
    let asked = json!({ "ids": ["loc_night_owl_soma", "loc_nowhere", "loc_night_owl_soma", "loc_basil_arcade"] });
    let answer = ask(&gateway, "lookup_locations", &asked);
    assert_eq!(ids(&answer["locations"]), ["loc_night_owl_soma", "loc_basil_arcade"]);
    assert_eq!(answer["locations"][0]["inputs"], json!([{ "id": "loc_night_owl_soma" }]));
    assert_eq!(codes(&answer), ["not_found"]);
    let many: Vec<_> = (0..120).map(|number| format!("loc_{number}")).collect();
    let answer = ask(&gateway, "lookup_locations", &json!({ "ids": many }));
    assert!(codes(&answer).contains(&"batch_limit_applied"));
}

#[test]
fn older_releases_have_no_locations() {
    let gateway = Gateway::shared();
    for release in Release::ALL.iter().filter(|release| **release < Release::V2026_08_25) {
        let verdict = call(&gateway, *release, Way::Method, "search_locations", &json!({}));
        assert!(matches!(&verdict, Verdict::Refused(refused) if refused.code == "unknown_method"), "{verdict:?}");
    }
}

/// The schemas of the branch on which locations were written, below `UCP_SPEC_DIR`; `None`, after saying so, when they
/// are not there.
fn branch() -> Option<PathBuf> {
    let folder = std::env::var_os("UCP_SPEC_DIR").map(|folder| repository().join(folder).join("feat-location/source"));
    let folder = folder.filter(|folder| folder.is_dir());
    if folder.is_none() {
        println!("skipped: UCP_SPEC_DIR has no folder feat-location with the specification's branch feat/location");
    }
    folder
}

/// The branch is older than the release in one thing: amenities were a list then.
fn as_on_the_branch(answer: &Value) -> Value {
    let mut answer = answer.clone();
    for location in answer["locations"].as_array_mut().into_iter().flatten() {
        if let Some(amenities) = location.get_mut("amenities") {
            let names: Vec<_> = amenities.as_object().expect("a map").keys().cloned().collect();
            *amenities = json!(names);
        }
    }
    answer
}

#[test]
fn answers_and_requests_conform_to_the_schemas_of_the_branch() {
    let Some(folder) = branch() else { return };
    let gateway = Gateway::shared();
    let schema = |file: &str, shape: &str| crate::official::schema(&folder, file, Some(shape));
    let (search, lookup) = (
        schema("common/location_search.json", "search_response"),
        schema("common/location_lookup.json", "lookup_response"),
    );
    let mut asked = json!({ "pagination": { "limit": 25 } });
    let mut seen = Vec::new();
    loop {
        let answer = ask(&gateway, "search_locations", &asked);
        if let Err(error) = search.validate(&as_on_the_branch(&answer)) {
            panic!("{error} at {}", error.instance_path());
        }
        seen.extend(ids(&answer["locations"]).into_iter().map(str::to_owned));
        match answer["pagination"].get("cursor") {
            Some(cursor) => asked["pagination"]["cursor"] = cursor.clone(),
            None => break,
        }
    }
    for ids in seen.chunks(100) {
        let answer = ask(&gateway, "lookup_locations", &json!({ "ids": ids }));
        assert_eq!(elements(&answer["locations"]).len(), ids.len());
        if let Err(error) = lookup.validate(&as_on_the_branch(&answer)) {
            panic!("{error} at {}", error.instance_path());
        }
    }
    let requests =
        crate::official::request_schema(&folder, "common/location_search.json", Some("search_request"), "search");
    for request in [json!({}), json!({ "query": "pizza", "distance": around(1.0) })] {
        assert!(requests.is_valid(&request), "{request}");
    }
}
