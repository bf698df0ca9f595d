//! The examples of the published documents, sent as they stand to the sample shop.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use ucp_core::{Operation, Release};
use ucp_wire::documents::release_path;

use crate::{
    harness::{Gateway, RPC_HEADERS, elements, rpc},
    purchase::shopper::{Shopper, id, of_type, ways},
    setup::Transport,
};

/// The examples that a client of a transport reads, by operation.
type Examples = BTreeMap<&'static str, Vec<Value>>;

/// Examples of the OpenAPI document.
fn of_openapi(gateway: &Gateway, release: Release) -> Examples {
    let document = gateway.get(&format!("{}/openapi.json", release_path(release))).json();
    let paths = document["paths"].as_object().expect("paths").values();
    let operations = paths.flat_map(|path| path.as_object().expect("operations").values());
    let stated = operations.filter_map(|operation| {
        let name = Operation::named(operation["operationId"].as_str()?)?.row().name;
        let schema = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"].as_str()?;
        let schema = document.pointer(schema.trim_start_matches('#')).expect("a schema");
        Some((name, elements(&schema["examples"]).to_vec()))
    });
    stated.collect()
}

/// Examples of the tools.
fn of_tools(gateway: &Gateway, release: Release) -> Examples {
    let path = format!("{}/mcp?schemas=full", release_path(release));
    let listed = gateway.send("POST", &path, RPC_HEADERS, rpc("tools/list", &json!({})).to_string().as_bytes()).json();
    let stated = elements(&listed["result"]["tools"]).iter().filter_map(|tool| {
        let row = Operation::named(tool["name"].as_str()?)?.row();
        let examples = &tool["inputSchema"]["properties"][row.payload?]["examples"];
        examples.is_array().then(|| (row.name, elements(examples).to_vec()))
    });
    stated.collect()
}

#[test]
fn examples_work_as_they_stand() {
    let gateway = Gateway::shared();
    for (release, transport) in ways() {
        let examples = if transport == Transport::Rest { of_openapi } else { of_tools }(&gateway, release);
        let shopper = Shopper::new(&gateway, release, transport);
        let said = |operation: &str, of: Option<&str>, count: usize| -> Value {
            let examples = examples.get(operation).map_or(&[][..], Vec::as_slice);
            assert_eq!(examples.len(), count, "{release} {transport:?}: examples of {operation}");
            examples.iter().fold(Value::Null, |_, example| {
                let answer = shopper.call(operation, of, example).document();
                let told = [of_type(&answer, "error"), of_type(&answer, "warning")].concat();
                assert!(told.is_empty(), "{release} {transport:?} {operation} {example}: {answer}");
                answer
            })
        };
        if release >= Release::V2026_04_08 {
            assert!(!elements(&said("search_catalog", None, 1)["products"]).is_empty());
            assert_eq!(elements(&said("lookup_catalog", None, 1)["products"]).len(), 2);
            assert_eq!(
                said("get_product", None, 1)["product"]["selected"],
                json!([{ "name": "Color", "label": "Blue" }])
            );
            let cart = said("create_cart", None, 1);
            said("update_cart", Some(id(&cart)), 1);
        }
        if release == Release::NEWEST {
            assert!(!elements(&said("search_locations", None, 1)["locations"]).is_empty());
            assert_eq!(elements(&said("lookup_locations", None, 1)["locations"]).len(), 1);
        }
        let checkout = said("create_checkout", None, 1);
        assert_eq!(checkout["status"], "ready_for_complete", "{release} {transport:?}: {checkout}");
        let checkout = said("update_checkout", Some(id(&checkout)), 1);
        let paid = said("complete_checkout", Some(id(&checkout)), 1);
        assert_eq!(paid["status"], "completed", "{release} {transport:?}: {paid}");
    }
}
