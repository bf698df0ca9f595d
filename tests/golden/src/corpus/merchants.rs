//! Merchants and places of business: the draft in every release, locations in the newest.

use serde_json::{Value, json};

use super::text;
use crate::{
    Done,
    operation::{Caller, MAIN, WAYS, Way, endpoints},
    stage::{Setup, Stage},
};

/// Plays the searches and looks of the directory that comes with the sample.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new("").outfitters())?;
    for endpoint in endpoints() {
        for (label, name, id, payload) in calls() {
            let ways: &[Way] = if label.ends_with('!') { &WAYS } else { &MAIN };
            for way in ways {
                let caller = Caller::new(endpoint, *way);
                let name_of = format!("{}/{name}/{}", caller.label(), label.trim_end_matches('!'));
                stage.ask(&name_of, &gateway, &caller.call(name, id, &payload));
            }
        }
        for way in [Way::Rest, Way::Tool, Way::Flat] {
            let caller = Caller::new(endpoint, way);
            for (name, mut payload) in [
                ("search_merchants", json!({ "query": "", "pagination": { "limit": 7 } })),
                ("search_locations", json!({ "query": "pizza", "pagination": { "limit": 2 } })),
            ] {
                for page in 0..3 {
                    let called = format!("{}/{name}/page-{page}", caller.label());
                    let answer = stage.ask(&called, &gateway, &caller.call(name, None, &payload)).document();
                    payload["pagination"]["cursor"] = json!(text(&answer, "/pagination/cursor"));
                }
            }
            let unnamed = caller.clone().unnamed();
            let called = format!("{}/search_merchants/nobody", unnamed.label());
            stage.ask(&called, &gateway, &unnamed.call("search_merchants", None, &json!({ "query": "" })));
        }
    }
    let configuration = "[merchants]\ncapability = \"com.example.directory\"\nservice = \"com.example.places\"\n\
        spec = \"https://www.example.com/directory\"\nschema = \"https://www.example.com/directory.json\"\nmax_radius_km = 5\nrestricted_regions = [\"US-CA\", \"DE\"]\n";
    let other = stage.start(&Setup::new(configuration).outfitters())?;
    for path in ["/.well-known/ucp", "/ucp/2026-01-11/.well-known/ucp"] {
        stage.ask(&format!("other-names{path}"), &other, &crate::wire::Request::get(path));
    }
    for (label, name, id, payload) in calls() {
        let caller = Caller::new(None, Way::Rest);
        stage.ask(&format!("other-names/{name}/{label}"), &other, &caller.call(name, id, &payload));
    }
    let off = stage.start(&Setup::new("[merchants]\nenabled = false\nlocations = false\n").outfitters())?;
    stage.ask("off/.well-known/ucp", &off, &crate::wire::Request::get("/.well-known/ucp"));
    for (name, payload) in [("search_merchants", json!({ "query": "" })), ("search_locations", json!({}))] {
        for way in MAIN {
            let caller = Caller::new(None, way);
            stage.ask(&format!("off/{}/{name}", way.name()), &off, &caller.call(name, None, &payload));
        }
    }
    Ok(())
}

/// Calls as label, operation, identifier and payload. Those marked with `!` go over every transport.
fn calls() -> Vec<(&'static str, &'static str, Option<&'static str>, Value)> {
    let near = |value: f64, unit: &str| {
        json!({ "query": "", "filters": { "location": {
            "address": { "postal_code": "94105", "address_country": "US" }, "radius": { "value": value, "unit": unit },
        } } })
    };
    let around = |metres: f64| json!({ "center": { "latitude": 37.7898, "longitude": -122.3942 }, "max": metres });
    let open = |time: &str| json!({ "filters": { "hours": { "open_at": time } }, "pagination": { "limit": 25 } });
    let merchants = |payload: Value| ("merchants", "search_merchants", None, payload);
    let locations = |payload: Value| ("locations", "search_locations", None, payload);
    let many: Vec<_> = (0..120).map(|number| format!("loc_{number}")).collect();
    let mut calls = vec![
        (
            "words!",
            "search_merchants",
            None,
            json!({ "query": "late-night pizza", "context": { "country": "US", "region": "CA" } }),
        ),
        ("one!", "get_merchant", Some("mch_abc123"), json!({})),
        ("kitchen", "get_merchant", Some("mch_shared_kitchen"), json!({ "context": { "address_country": "US" } })),
        ("unknown!", "get_merchant", Some("mch_nobody"), json!({})),
        ("odd-id", "get_merchant", Some("gid%3A%2F%2Fnobody%2F1"), json!({})),
        ("words!", "search_locations", None, json!({ "query": "pizza" })),
        (
            "two!",
            "lookup_locations",
            None,
            json!({ "ids": ["loc_night_owl_soma", "nothing", "loc_night_owl_soma", "loc_basil_arcade"] }),
        ),
        ("many", "lookup_locations", None, json!({ "ids": many })),
        (
            "with-distance",
            "lookup_locations",
            None,
            json!({ "ids": ["loc_night_owl_soma"], "distance": around(100.0) }),
        ),
        ("empty", "lookup_locations", None, json!({ "ids": [] })),
        ("nothing-stated", "lookup_locations", None, json!({})),
        ("wrong-filter", "lookup_locations", None, json!({ "ids": ["a"], "filters": { "open_now": true } })),
    ];
    calls.extend(
        [
            json!({}),
            json!({ "query": "" }),
            json!({ "query": "zzzzz" }),
            json!({ "query": 3 }),
            json!({ "query": null }),
            near(13.0, "km"),
            near(8.0, "mi"),
            near(0.0, "km"),
            near(13.0, "league"),
            near(4.0, "km"),
            json!({ "query": "", "filters": { "location": { "address": { "address_country": "GB" } } } }),
            json!({ "query": "", "filters": { "location": { "address": { "postal_code": "00000", "address_country": "US" } } } }),
            json!({ "query": "", "filters": { "location": { "address": { "street_address": "1 Main St", "address_locality": "San Francisco", "address_country": "US" }, "radius": { "value": 5, "unit": "km" } } } }),
            json!({ "query": "", "filters": { "location": {} } }),
            json!({ "query": "", "filters": { "location": { "address": {} } } }),
            json!({ "query": "", "filters": { "location": { "radius": { "value": 1, "unit": "km" } } } }),
            json!({ "query": "", "filters": { "location": { "address": { "address_country": "US" }, "polygon": [] } } }),
            json!({ "query": "", "context": { "address_country": "JP", "language": "ja" } }),
            json!({ "query": "", "context": { "address_country": "DE" } }),
            json!({ "query": "", "context": { "address_country": "US", "address_region": "CA" } }),
            json!({ "query": "", "context": { "country": "us" } }),
            json!({ "query": "", "filters": { "category": "Restaurants" } }),
            json!({ "query": "", "filters": { "category": "" } }),
            json!({ "query": "", "filters": { "fulfillment_method": "shipping" } }),
            json!({ "query": "", "filters": { "fulfillment_method": "pickup" } }),
            json!({ "query": "", "filters": { "fulfillment_method": "drone" } }),
            json!({ "query": "", "filters": { "michelin_stars": 3 } }),
            json!({ "query": "", "pagination": { "limit": 26 } }),
            json!({ "query": "", "pagination": { "limit": 0 } }),
            json!({ "query": "", "pagination": { "cursor": "eyJwYWdlIjoxfQ==" } }),
        ]
        .map(merchants),
    );
    calls.extend(
        [
            json!({}),
            json!({ "distance": around(12_874.752) }),
            json!({ "distance": around(5_000.0), "filters": { "hours": { "open_at": "2026-12-25T12:00:00-08:00" } } }),
            json!({ "distance": { "center": { "latitude": 91, "longitude": 0 }, "max": 1 } }),
            json!({ "distance": { "max": 1 } }),
            json!({ "distance": around(-1.0) }),
            json!({ "filters": { "amenities": ["dev.ucp.amenity.outdoor_seating"] } }),
            json!({ "filters": { "amenities": ["wifi"] } }),
            json!({ "filters": { "open_now": true } }),
            json!({ "filters": { "inventory": [] } }),
            json!({ "filters": { "hours": {} } }),
            json!({ "filters": { "hours": { "open_at": "2026-11-21T01:00:00Z", "open_until": "x" } } }),
            json!({ "serves": { "point": { "latitude": 37.7898, "longitude": -122.3942 } } }),
            json!({ "serves": {} }),
            json!({ "pagination": { "limit": 0 } }),
            json!({ "pagination": { "limit": 1.5 } }),
            json!({ "pagination": { "limit": 100 } }),
            open("2026-11-21T01:00:00Z"),
            open("2026-11-21T00:59:59Z"),
            open("2026-12-25T08:30:00Z"),
            open("2026-11-21T01:00:00"),
            open("2027-02-29T12:00:00Z"),
        ]
        .map(locations),
    );
    calls
}
