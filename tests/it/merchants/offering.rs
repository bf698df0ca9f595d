//! Operations, their names, and the operator's decisions about them.

use serde_json::{Value, json};
use ucp_core::{Operation, Release, operation::SHOPPING};
use ucp_wire::documents::release_path;

use super::{PROFILE, Way, call, ids};
use crate::{
    harness::{Gateway, codes, rpc, texts},
    setup::{Configured, Setup},
};

fn profile(gateway: &Gateway, release: Release) -> Value {
    gateway.get(&format!("{}/.well-known/ucp", release_path(release))).json()["ucp"].take()
}

/// The services and capabilities of a release that are not about shopping.
fn beside(gateway: &Gateway, release: Release) -> Vec<String> {
    let profile = profile(gateway, release);
    let names = |registry: &Value| match registry {
        Value::Array(entries) => {
            entries.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
        }
        Value::Object(entries) => entries.keys().cloned().collect::<Vec<_>>(),
        _ => panic!("{registry}"),
    };
    let all = names(&profile["services"]).into_iter().chain(names(&profile["capabilities"]));
    all.filter(|name| !name.starts_with(SHOPPING)).collect()
}

#[test]
fn it_is_in_the_profile_where_it_is_enabled() {
    let gateway = Gateway::shared();
    for release in Release::ALL {
        let draft = ["dev.ucp.restaurant", "dev.ucp.menu.merchant"];
        let mut expected: Vec<_> = draft.to_vec();
        if *release >= Release::V2026_08_25 {
            expected.extend(["dev.ucp.common", "dev.ucp.common.location.search", "dev.ucp.common.location.lookup"]);
            // Of the sandbox.
            expected.push("dev.ucp.common.payment.authentication");
        }
        let mut offered = beside(&gateway, *release);
        offered.sort();
        expected.sort_unstable();
        assert_eq!(offered, expected, "{release}");
    }
}

#[test]
fn what_is_not_enabled_is_not_there_at_all() {
    for (configuration, gone) in [
        ("[merchants]\nenabled = false\nlocations = false", vec!["dev.ucp.restaurant", "dev.ucp.common"]),
        ("[merchants]\nenabled = false", vec!["dev.ucp.restaurant"]),
        ("[merchants]\nlocations = false", vec!["dev.ucp.common"]),
    ] {
        let gateway = Configured::start(configuration);
        let tools = gateway.result("tools/list", &json!({}));
        let (openapi, services) =
            (gateway.get("/openapi.json").json(), profile(&gateway, Release::NEWEST)["services"].take());
        for operation in Operation::ALL {
            let row = operation.row();
            let there = !gone.contains(&row.service);
            assert_eq!(texts(&tools["tools"], "name").contains(&row.name), there, "{configuration} {}", row.name);
            assert_eq!(openapi["paths"].get(row.path).is_some(), there, "{configuration} {}", row.path);
            assert_eq!(services.get(row.service).is_some(), there, "{configuration} {}", row.service);
            if !there {
                let verdict = call(&gateway, Release::NEWEST, Way::Rest, row.name, &json!({ "id": "mch_abc123" }));
                assert_eq!(verdict.refusal().code, "unknown_path", "{}", row.name);
                let verdict = call(&gateway, Release::NEWEST, Way::Method, row.name, &json!({}));
                assert_eq!(verdict.refusal().code, "unknown_method", "{}", row.name);
            }
        }
    }
}

/// The invented merchants of the sample are not served to callers from other machines.
#[test]
fn outside_of_development_it_has_to_be_enabled() {
    let gateway = Configured::start("[callers]\npolicy = \"lenient\"");
    assert_eq!(beside(&gateway, Release::NEWEST), [""; 0]);
    let gateway = Configured::start("[callers]\npolicy = \"lenient\"\n[merchants]\nenabled = true");
    assert_eq!(beside(&gateway, Release::NEWEST), ["dev.ucp.restaurant", "dev.ucp.menu.merchant"]);
}

#[test]
fn it_goes_by_the_names_of_the_operator() {
    let gateway = Configured::start(
        "[merchants]
        capability = \"com.example.directory.merchant\"
        service = \"com.example.directory\"
        spec = \"https://example.com/directory\"
        schema = \"https://example.com/directory.json\"",
    );
    let own = profile(&gateway, Release::NEWEST);
    assert!(
        own["services"].get("dev.ucp.restaurant").is_none()
            && own["capabilities"].get("dev.ucp.menu.merchant").is_none()
    );
    let capability = &own["capabilities"]["com.example.directory.merchant"][0];
    assert_eq!(
        (capability["spec"].as_str(), capability["schema"].as_str()),
        (Some("https://example.com/directory"), Some("https://example.com/directory.json"))
    );
    assert_eq!(texts(&own["services"]["com.example.directory"], "transport"), ["rest", "mcp"]);
    for (release, way) in [(Release::NEWEST, Way::Rest), (Release::V2026_01_11, Way::Method)] {
        let answer = call(&gateway, release, way, "get_merchant", &json!({ "id": "mch_abc123" })).answer();
        assert!(answer["ucp"].to_string().contains("com.example.directory.merchant"), "{}", answer["ucp"]);
        assert!(!answer["ucp"].to_string().contains("dev.ucp.menu"), "{}", answer["ucp"]);
    }
}

#[test]
fn names_of_ones_own_need_documents_of_ones_own() {
    let refused = Setup::new("[merchants]\ncapability = \"com.example.merchant\"").run("serve").expect_err("refused");
    assert!(refused.contains("merchants.spec"), "{refused}");
    let refused = Setup::new("[merchants]\nservice = \"Directory\"").run("serve").expect_err("refused");
    assert!(refused.contains("merchants.service") || refused.contains("reverse-domain"), "{refused}");
}

#[test]
fn the_operator_decides_about_radius_and_regions() {
    let gateway = Configured::start("[merchants]\nmax_radius_km = 10\nrestricted_regions = [\"US-NV\", \"CU\"]");
    let near = |value: f64| {
        json!({ "query": "", "filters": { "location": {
            "address": { "postal_code": "94105", "address_country": "US" },
            "radius": { "value": value, "unit": "km" }
        } } })
    };
    let search = |payload: &Value| call(&gateway, Release::NEWEST, Way::Method, "search_merchants", payload);
    assert!(!ids(&search(&near(10.0)).answer()["merchants"]).is_empty());
    let refused = search(&near(10.1));
    assert_eq!(refused.refusal().path.as_deref(), Some("$.filters.location.radius.value"));
    for context in [json!({ "country": "US", "region": "NV" }), json!({ "country": "CU" })] {
        let answer = search(&json!({ "query": "", "context": context })).answer();
        assert_eq!((ids(&answer["merchants"]), codes(&answer)), (vec![], vec!["REGION_RESTRICTED"]));
        let asked = json!({ "id": "mch_abc123", "context": context });
        let answer = call(&gateway, Release::NEWEST, Way::Method, "get_merchant", &asked).answer();
        assert_eq!((answer.get("merchant"), codes(&answer)), (None, vec!["REGION_RESTRICTED"]));
    }
    let elsewhere = json!({ "query": "", "context": { "country": "US", "region": "CA" } });
    assert!(!ids(&search(&elsewhere).answer()["merchants"]).is_empty());
}

#[test]
fn a_table_of_places_of_ones_own_is_used() {
    let row = "NZ\t9999\tInvented Bay\tOtago\tOTA\t\t\t\t\t37.7898\t-122.3942\t6\n";
    let gateway = Setup::new("[geocoder]\nplaces = \"places.tsv\"").file("places.tsv", row).start();
    let near = |code: &str, country: &str| {
        json!({ "query": "", "filters": { "location": {
            "address": { "postal_code": code, "address_country": country },
            "radius": { "value": 8, "unit": "mi" }
        } } })
    };
    let found = |payload: &Value| call(&gateway, Release::NEWEST, Way::Method, "search_merchants", payload).answer();
    assert!(!ids(&found(&near("9999", "NZ"))["merchants"]).is_empty());
    assert_eq!(
        codes(&found(&near("94105", "US"))),
        ["LOCATION_UNRESOLVED"],
        "the table of the sample is not read beside it"
    );
    let refused = Setup::new("[geocoder]\nplaces = \"places.tsv\"").file("places.tsv", "NZ\t1\n").run("serve");
    assert!(refused.expect_err("refused").contains("line 1"));
}

/// A platform that does not declare the draft does not get it.
#[test]
fn it_is_negotiated_like_any_capability() {
    let gateway = Gateway::shared();
    let params = json!({ "_meta": { "ucp": { "profile": PROFILE } }, "query": "pizza" });
    let answer = gateway.rpc(&rpc("search_merchants", &params)).json();
    assert_eq!(
        answer["result"]["ucp"]["capabilities"],
        json!({ "dev.ucp.menu.merchant": [{ "version": "2026-08-25" }] })
    );
}
