//! `search_merchants` and `get_merchant` as the draft has them.

use serde_json::{Value, json};
use ucp_core::Release;

use super::{PROFILE, WAYS, Way, ask, call, ids, timeless};
use crate::harness::{Gateway, REST_HEADERS, RPC_HEADERS, as_of_a_model, codes, elements, rpc};

/// The releases, all of which have the draft.
const RELEASES: &[Release] = Release::ALL;

/// The search of the draft's example.
fn example() -> Value {
    json!({
        "query": "late-night pizza",
        "context": { "country": "US", "region": "CA", "intent": "delivery to downtown" },
        "filters": {
            "category": "Restaurants",
            "open_now": true,
            "fulfillment_method": "shipping",
            "location": {
                "address": {
                    "address_locality": "San Francisco",
                    "address_region": "CA",
                    "postal_code": "94105",
                    "address_country": "US"
                },
                "radius": { "value": 8, "unit": "mi" }
            }
        },
        "pagination": { "limit": 20 }
    })
}

/// A message as the draft writes it, sent to the endpoint of the release it is written for.
fn send(gateway: &Gateway, message: &Value) -> Value {
    let response = gateway.send("POST", "/ucp/2026-01-11/mcp", RPC_HEADERS, message.to_string().as_bytes());
    assert_eq!(response.status, 200, "{response:?}");
    response.json()
}

fn params(mut members: Value) -> Value {
    members["_meta"] = json!({ "ucp": { "profile": PROFILE } });
    members
}

#[test]
fn the_examples_of_the_draft_are_answered_as_it_shows() {
    let gateway = Gateway::shared();
    let metadata = json!({
        "version": "2026-01-11",
        "capabilities": [{ "name": "dev.ucp.menu.merchant", "version": "2026-01-11" }]
    });
    let first =
        json!({ "query": "late-night pizza", "context": { "country": "US", "intent": "delivery to downtown" } });
    let answer = send(&gateway, &rpc("search_merchants", &params(first)));
    assert_eq!((&answer["id"], &answer["result"]["ucp"]), (&json!(1), &metadata));
    assert_eq!(answer["result"]["merchants"][0]["id"], "mch_abc123");

    // The state of the shop depends on the time of the run; the rest does not.
    let answer = send(&gateway, &rpc("search_merchants", &params(example())));
    assert_eq!(answer["result"]["ucp"], metadata);
    assert!(answer["result"]["pagination"]["has_next_page"].is_boolean(), "{answer}");
    let mut whenever = example();
    whenever["filters"].as_object_mut().expect("filters").shift_remove("open_now");
    let found = send(&gateway, &rpc("search_merchants", &params(whenever)))["result"].take();
    let [night_owl, ..] = elements(&found["merchants"]) else { panic!("{found}") };
    assert_eq!((&night_owl["id"], &night_owl["name"]), (&json!("mch_abc123"), &json!("Night Owl Pizza")));
    assert_eq!(night_owl["description"], json!({ "plain": "Late-night pizza and calzones." }));
    assert_eq!(night_owl["category"], "Restaurants > Pizza");
    for merchant in elements(&answer["result"]["merchants"]) {
        assert!(ids(&found["merchants"]).contains(&merchant["id"].as_str().expect("an id")), "open ones are among all");
    }

    let asked = json!({ "id": "mch_abc123", "context": { "country": "US" } });
    let answer = send(&gateway, &rpc("get_merchant", &params(asked)));
    assert_eq!(answer["result"]["ucp"], metadata);
    assert_eq!(answer["result"]["merchant"]["name"], "Night Owl Pizza");
    assert_eq!(answer["result"]["merchant"]["category"], "Restaurants > Pizza");

    let answer = send(&gateway, &rpc("get_merchant", &params(json!({ "id": "mch_nobody" }))));
    let expected = json!({
        "ucp": metadata,
        "messages": [{
            "type": "error",
            "code": "NOT_FOUND",
            "content": "The requested merchant ID does not exist",
            "severity": "recoverable"
        }]
    });
    assert_eq!(answer["result"], expected);
}

#[test]
fn every_way_of_calling_answers_alike_in_every_release() {
    let gateway = Gateway::shared();
    let mut whenever = example();
    whenever["filters"].as_object_mut().expect("filters").shift_remove("open_now");
    let near = |value: u32| {
        json!({ "query": "", "filters": { "location": {
            "address": { "postal_code": "94105", "address_country": "US" },
            "radius": { "value": value, "unit": "km" }
        } } })
    };
    let calls = [
        ("search_merchants", whenever),
        ("search_merchants", json!({ "query": "" })),
        ("search_merchants", near(13)),
        ("search_merchants", near(0)),
        ("search_merchants", json!({ "query": "zzzzz" })),
        (
            "search_merchants",
            json!({ "query": "", "filters": { "location": { "address": { "address_country": "GB" } } } }),
        ),
        ("search_merchants", json!({ "query": "", "context": { "address_country": "JP", "language": "ja" } })),
        ("get_merchant", json!({ "id": "mch_abc123" })),
        ("get_merchant", json!({ "id": "mch_shared_kitchen" })),
        ("get_merchant", json!({ "id": "gid%3A%2F%2Fnobody%2F1" })),
        ("search_merchants", json!({})),
        ("search_merchants", json!({ "query": 3 })),
        ("search_merchants", json!({ "query": null })),
        ("search_merchants", json!({ "query": "", "pagination": { "limit": 26 } })),
        ("search_merchants", json!({ "query": "", "pagination": { "limit": 0 } })),
        ("search_merchants", json!({ "query": "", "pagination": { "cursor": "eyJwYWdlIjoxfQ==" } })),
        ("search_merchants", json!({ "query": "", "context": { "country": "us" } })),
        ("search_merchants", json!({ "query": "", "filters": { "fulfillment_method": "drone" } })),
        ("search_merchants", json!({ "query": "", "filters": { "category": "" } })),
        ("search_merchants", json!({ "query": "", "filters": { "location": {} } })),
        ("search_merchants", json!({ "query": "", "filters": { "location": { "address": {} } } })),
        (
            "search_merchants",
            json!({ "query": "", "filters": { "location": { "radius": { "value": 1, "unit": "km" } } } }),
        ),
        ("search_merchants", json!({ "query": "", "filters": { "michelin_stars": 3 } })),
        (
            "search_merchants",
            json!({ "query": "", "filters": { "location": {
            "address": { "address_country": "US" }, "polygon": []
        } } }),
        ),
        (
            "search_merchants",
            near(13)
                .as_object()
                .map(|near| {
                    let mut wrong = Value::Object(near.clone());
                    wrong["filters"]["location"]["radius"]["unit"] = json!("league");
                    wrong
                })
                .expect("an object"),
        ),
    ];
    for release in RELEASES {
        for (name, payload) in &calls {
            let [rest, tool, method] = WAYS.map(|way| call(&gateway, *release, way, name, payload));
            // On REST an identifier is written for a path.
            if payload["id"].as_str().is_some_and(|id| id.contains('%')) {
                assert_eq!(codes(&rest.answer()), ["NOT_FOUND"]);
                continue;
            }
            // A tool is called by models: what they leave empty is absent.
            let meant = as_of_a_model(*release, name, payload);
            let of_tool =
                if meant == *payload { rest.clone() } else { call(&gateway, *release, WAYS[0], name, &meant) };
            assert_eq!(timeless(&of_tool), timeless(&tool), "{release} {name} {payload}");
            assert_eq!(timeless(&rest), timeless(&method), "{release} {name} {payload}");
            if *release >= Release::V2026_04_08
                && let crate::harness::Verdict::Answered(_) = rest
            {
                crate::official::check(name, &rest.answer());
            }
        }
    }
}

#[test]
fn tools_show_what_is_asked_as_arguments_of_their_own() {
    let gateway = Gateway::shared();
    let tools = gateway.result("tools/list", &json!({}));
    let tool = |name: &str| {
        let found = elements(&tools["tools"]).iter().find(|tool| tool["name"] == name);
        found.expect(name)["inputSchema"].clone()
    };
    let search = tool("search_merchants");
    assert_eq!(search["required"], json!(["meta", "query"]));
    for member in ["meta", "query", "context", "filters", "pagination"] {
        assert!(search["properties"][member].is_object(), "{member}");
    }
    assert_eq!(tool("get_merchant")["required"], json!(["meta", "id"]));
    assert!(tool("get_merchant")["properties"]["context"].is_object());
    assert_eq!(tool("search_locations")["required"], json!(["meta", "location"]));
    let openrpc = gateway.get("/openrpc.json").json();
    let method = elements(&openrpc["methods"]).iter().find(|method| method["name"] == "search_merchants").expect("it");
    assert_eq!(crate::harness::texts(&method["params"], "name"), ["meta", "query", "context", "filters", "pagination"]);
}

#[test]
fn a_missing_profile_is_refused() {
    let gateway = crate::setup::Setup::new("[callers]\npolicy = \"require\"\n[merchants]\nenabled = true\n").start();
    let response = gateway.rpc(&rpc("search_merchants", &json!({ "query": "" })));
    assert_eq!(response.json()["error"]["data"]["code"], "invalid_profile_url", "{response:?}");
    let without: Vec<_> = REST_HEADERS.iter().copied().filter(|(name, _)| *name != "UCP-Agent").collect();
    let response = gateway.send("GET", "/merchants/mch_abc123", &without, b"");
    assert_eq!(response.json()["code"], "invalid_profile_url", "{response:?}");
}

#[test]
fn an_address_that_nobody_knows_finds_nothing_and_says_so() {
    let gateway = Gateway::shared();
    let anywhere = |address: Value| json!({ "query": "", "filters": { "location": { "address": address, "radius": { "value": 50_000, "unit": "km" } } } });
    for address in [
        json!({ "postal_code": "00000", "address_country": "US" }),
        json!({ "address_country": "US" }),
        json!({ "postal_code": "94105" }),
        json!({ "street_address": "1 Nowhere Road" }),
    ] {
        let answer = ask(&gateway, "search_merchants", &anywhere(address.clone()));
        assert_eq!((ids(&answer["merchants"]), codes(&answer)), (vec![], vec!["LOCATION_UNRESOLVED"]), "{address}");
        assert_eq!(answer["pagination"], json!({ "has_next_page": false, "total_count": 0 }));
        assert_eq!(answer["messages"][0]["severity"], "recoverable");
    }
    // The country may come from the buyer's circumstances.
    let mut told = anywhere(json!({ "postal_code": "94105" }));
    told["context"] = json!({ "country": "US" });
    let answer = ask(&gateway, "search_merchants", &told);
    assert_eq!(codes(&answer).first(), Some(&"LOCATION_APPROXIMATED"));
    assert_eq!(elements(&answer["merchants"]).len(), 10);
}

#[test]
fn a_filter_that_nobody_knows_is_refused_by_its_name() {
    let gateway = Gateway::shared();
    for (filters, path) in [
        (json!({ "michelin_stars": 3 }), "$.filters['michelin_stars']"),
        (
            json!({ "location": { "address": { "address_country": "US" }, "polygon": [] } }),
            "$.filters['location.polygon']",
        ),
    ] {
        let asked = json!({ "query": "", "filters": filters });
        let verdict = call(&gateway, Release::NEWEST, Way::Method, "search_merchants", &asked);
        let refused = verdict.refusal();
        assert_eq!((refused.code.as_str(), refused.path.as_deref()), ("invalid_request", Some(path)));
        assert!(refused.accepted.as_ref().is_some_and(|accepted| accepted.contains("fulfillment_method")));
    }
}

#[test]
fn pages_go_on_until_every_merchant_was_shown_once() {
    let gateway = Gateway::shared();
    let mut seen = Vec::new();
    let mut asked = json!({ "query": "" });
    loop {
        let answer = ask(&gateway, "search_merchants", &asked);
        let page = elements(&answer["merchants"]);
        assert!(page.len() <= 10);
        seen.extend(ids(&answer["merchants"]).into_iter().map(str::to_owned));
        match answer["pagination"].get("cursor") {
            Some(cursor) => asked["pagination"] = json!({ "cursor": cursor }),
            None => {
                assert_eq!(answer["pagination"]["total_count"], seen.len());
                break;
            }
        }
    }
    let different: std::collections::BTreeSet<_> = seen.iter().collect();
    assert!(seen.len() > 50 && different.len() == seen.len(), "{}", seen.len());
}

#[test]
fn what_only_the_operator_knows_is_never_shown() {
    let gateway = Gateway::shared();
    let mut asked = json!({ "query": "", "pagination": { "limit": 25 } });
    loop {
        let answer = ask(&gateway, "search_merchants", &asked);
        for merchant in elements(&answer["merchants"]) {
            for member in ["methods", "language", "translations"] {
                assert_eq!(merchant.get(member), None, "{merchant}");
            }
            for location in merchant.get("locations").map(elements).unwrap_or_default() {
                for member in ["methods", "aliases", "public", "names", "opening_hours"] {
                    assert_eq!(location.get(member), None, "{location}");
                }
            }
        }
        match answer["pagination"].get("cursor") {
            Some(cursor) => asked["pagination"]["cursor"] = cursor.clone(),
            None => break,
        }
    }
    let kitchen = ask(&gateway, "get_merchant", &json!({ "id": "mch_shared_kitchen" }));
    assert!(!kitchen.to_string().contains("\"public\""), "{kitchen}");
}
