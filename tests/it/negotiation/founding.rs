//! The founding documents as callers of their own release meet them: their envelope, their words, their errors.

use serde_json::{Value, json};
use ucp_core::Release;

use super::*;
use crate::{
    harness::{own_schema_of, rpc, texts},
    wire::Response,
};

const RELEASES: [Release; 2] = [Release::V2026_01_11, Release::V2026_01_23];

/// A call in the envelope of the founding documents: the operation as method, its payload flat beside `_meta`.
fn call(
    place: &NegotiationSetup,
    release: Release,
    endpoint: Option<Release>,
    operation: &str,
    payload: &Value,
) -> Response {
    let url = place.host.profile(&format!("/founding/{release}"), &profile_of(release));
    let mut params = payload.clone();
    params["_meta"] = json!({ "ucp": { "profile": url } });
    params["idempotency_key"] = json!("550e8400-e29b-41d4-a716-446655440000");
    let message = rpc(operation, &params);
    match endpoint {
        Some(endpoint) => place.gateway.rpc_of(endpoint, &message),
        None => place.gateway.rpc(&message),
    }
}

/// Both places where a release can be spoken.
fn endpoints(release: Release) -> [Option<Release>; 2] {
    [None, Some(release)]
}

#[test]
fn d2_methods_take_flat_parameters_and_give_the_payload_as_result() {
    let place = NegotiationSetup::shared();
    for release in RELEASES {
        for endpoint in endpoints(release) {
            let found = call(
                &place,
                release,
                endpoint,
                "search_catalog",
                &json!({
                    "query": "blue running shoes",
                    "context": { "country": "US", "region": "CA" },
                    "filters": { "category": ["Footwear"] },
                    "pagination": { "limit": 3 },
                }),
            );
            assert_eq!(found.status, 200, "{found:?}");
            let result = &found.json()["result"];
            assert!(result.get("structuredContent").is_none() && result.get("content").is_none(), "{result}");
            assert_eq!(result["ucp"]["version"], release.date());
            assert!(result["ucp"].get("status").is_none());
            for product in elements(&result["products"]) {
                assert_eq!(product["category"], product["categories"], "the old spelling repeats the new one");
                assert!(texts(&product["category"], "value").iter().any(|value| value.starts_with("Footwear")));
            }
            let looked = call(&place, release, endpoint, "lookup_catalog", &json!({ "ids": ["var_xyz789"] }));
            let variant = &looked.json()["result"]["products"][0]["variants"][0];
            assert_eq!(variant["input"], json!([{ "id": "var_xyz789", "match": "exact" }]));
            assert_eq!(variant["input"], variant["inputs"]);

            let payload = json!({ "id": "prod_abc123", "selected_options": [{ "name": "Color", "label": "Blue" }] });
            let product = call(&place, release, endpoint, "get_product", &payload);
            let product = &product.json()["result"]["product"];
            assert_eq!(product["selected"], json!([{ "name": "Color", "label": "Blue" }]));
        }
    }
}

#[test]
fn d0_tools_work_under_the_old_releases_too() {
    let place = NegotiationSetup::shared();
    for release in RELEASES {
        let ask = place.ask(Transport::Tool, &format!("/founding/{release}"), &profile_of(release));
        let answer = ask.clone().of("search_catalog", json!({ "query": "shoes" })).answer(&place.gateway);
        assert_eq!((&answer["ucp"]["version"], answer["ucp"].get("status")), (&json!(release.date()), None));
        let response = ask.of("get_product", json!({ "id": "prod_invalid" })).send(&place.gateway);
        product_not_found(release, &response);
    }
}

#[track_caller]
fn product_not_found(release: Release, response: &Response) {
    assert_eq!(response.status, 404, "{response:?}");
    let body = response.json();
    let error = &body["error"];
    assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!("Product not found")), "{response:?}");
    assert_eq!(error["data"]["id"], "prod_invalid", "{response:?}");
    assert_eq!(error["data"]["errors"][0]["code"], "not_found", "{response:?}");
    assert_eq!(error["data"]["status"], "error", "{release}: {response:?}");
}

#[test]
fn d0_an_unknown_product_is_an_error_of_json_rpc() {
    let place = NegotiationSetup::shared();
    for release in RELEASES {
        for endpoint in endpoints(release) {
            let response = call(&place, release, endpoint, "get_product", &json!({ "id": "prod_invalid" }));
            product_not_found(release, &response);
            // And a page that is not there on REST.
            let ask = place.ask(Transport::Rest, &format!("/founding/{release}"), &profile_of(release)).at(endpoint);
            let response = ask.of("get_product", json!({ "id": "prod_invalid" })).send(&place.gateway);
            let body = response.json();
            assert_eq!((response.status, &body["status"]), (404, &json!("requires_escalation")), "{body}");
            assert_eq!(body["messages"][0]["code"], "not_found");
            assert_eq!(body["ucp"]["version"], release.date());
        }
    }
}

/// Trap T-30: clients of MCP that shook hands read no error that does not come with 200.
#[test]
fn t_30_errors_of_the_old_releases_reach_clients_that_shook_hands() {
    let place = NegotiationSetup::shared();
    for release in RELEASES {
        let ask = place.ask(Transport::Tool, &format!("/founding/{release}"), &profile_of(release));
        let ask = ask.of("get_product", json!({ "id": "prod_invalid" })).header("MCP-Protocol-Version", "2025-06-18");
        let response = ask.send(&place.gateway);
        let result = response.json()["result"].take();
        assert_eq!((response.status, &result["isError"]), (200, &json!(true)), "{response:?}");
        assert_eq!(result["structuredContent"]["errors"][0]["code"], "not_found", "{response:?}");
    }
}

/// Neither the severity of later releases nor their `ucp.status` is known to these callers.
#[test]
fn outcomes_without_a_resource_are_errors_in_the_old_shape() {
    let place = NegotiationSetup::shared();
    for release in RELEASES {
        let profile = profile_with(release, &[SEARCH]);
        for transport in Transport::ALL {
            let ask = place.ask(transport, &format!("/founding/{release}/search"), &profile);
            let response = ask.send(&place.gateway);
            let body = response.json();
            assert_eq!(response.status, 400, "{response:?}");
            if transport == Transport::Rest {
                assert_eq!(body["status"], "requires_escalation");
                assert_eq!(codes(&body), ["capabilities_incompatible"]);
                assert_eq!(body["messages"][0]["severity"], "requires_buyer_input");
                continue;
            }
            let error = &body["error"];
            assert_eq!(error["code"], -32603, "{response:?}");
            assert_eq!(error["data"]["status"], "error");
            let fault = &error["data"]["errors"][0];
            assert_eq!(fault["code"], "capabilities_incompatible");
            assert_eq!(fault["severity"], "requires_buyer_input");
            assert_eq!(fault["message"], error["message"]);
        }
    }
}

#[test]
fn refusals_have_the_old_shape_and_the_new_members_beside_it() {
    let place = NegotiationSetup::shared();
    for release in RELEASES {
        for (payload, code, number) in
            [(json!({ "id": 3 }), "invalid_request", -32602), (json!({}), "invalid_request", -32602)]
        {
            for transport in Transport::ALL {
                let ask = place.ask(transport, &format!("/founding/{release}"), &profile_of(release));
                let refused = ask.of("get_product", payload.clone()).refusal(&place.gateway);
                assert_eq!(refused.verdict(), (400, code), "{refused:?}");
                old_shape(transport, &refused.body, code);
                if transport == Transport::Rest {
                    own_schema_of(release, "error").validate(&refused.body).expect("the shape that is checked in");
                }
                assert_eq!(refused.number.unwrap_or(number), number, "{refused:?}");
            }
        }
        // Lines that later versions number have the one number here.
        let url = place.host.url(&format!("/founding/missing/{release}"));
        for transport in Transport::ALL {
            let refused = Ask::new(transport, &url).at(Some(release)).refusal(&place.gateway);
            assert_eq!(refused.verdict(), (424, "profile_unreachable"), "{refused:?}");
            old_shape(transport, &refused.body, "profile_unreachable");
            assert_eq!(refused.number.unwrap_or(-32603), -32603, "{refused:?}");
        }
    }
}

#[track_caller]
fn old_shape(transport: Transport, body: &Value, code: &str) {
    let (status, reasons, text) = match transport {
        Transport::Rest => ("requires_escalation", "messages", "content"),
        Transport::Tool | Transport::Method => ("error", "errors", "message"),
    };
    assert_eq!(body["status"], status, "{body}");
    let reason = &body[reasons][0];
    assert_eq!((&reason["code"], &reason[text]), (&json!(code), &body["content"]), "{body}");
    let severity = reason["severity"].as_str().expect("a severity");
    assert!(["recoverable", "requires_buyer_input", "requires_buyer_review"].contains(&severity), "{body}");
    assert_eq!(body["code"], code);
}

/// No later release learns the old manners.
#[test]
fn callers_of_later_releases_get_none_of_this() {
    let place = NegotiationSetup::shared();
    for release in [Release::V2026_04_08, Release::V2026_08_25] {
        for transport in Transport::ALL {
            let ask = place.ask(transport, &format!("/later/{release}"), &profile_of(release));
            let answer = ask.clone().of("get_product", json!({ "id": "prod_invalid" })).answer(&place.gateway);
            assert_eq!((codes(&answer), &answer["ucp"]["status"]), (vec!["not_found"], &json!("error")));
            let found = ask.clone().answer(&place.gateway);
            assert!(found["product"].get("category").is_none());
            let refused = ask.of("get_product", json!({})).refusal(&place.gateway);
            assert!(refused.body.get("errors").is_none() && refused.body.get("messages").is_none(), "{refused:?}");
        }
    }
}
