//! Steps of a platform from first contact to a variant that it could buy, with an ordinary HTTP library: every URL
//! comes from the profile, every ID from an earlier response.

use reqwest::Client;
use serde_json::{Value, json};

use crate::{
    harness::{Gateway, PROFILE, elements},
    wire::PATIENCE,
};

/// A platform that found a gateway, and speaks one of its transports.
struct Platform {
    client: Client,
    endpoint: String,
    transport: &'static str,
}

impl Platform {
    async fn discover(origin: &str, transport: &'static str) -> Self {
        let client = Client::builder().timeout(PATIENCE).build().expect("a client");
        let profile = client.get(format!("{origin}/.well-known/ucp")).send().await.expect("a profile");
        assert!(profile.status().is_success());
        let profile: Value = profile.json().await.expect("JSON");
        let services = elements(&profile["ucp"]["services"]["dev.ucp.shopping"]);
        let service = services.iter().find(|service| service["transport"] == transport).expect(transport);
        assert_eq!(service["version"], profile["ucp"]["version"]);
        Self { client, endpoint: service["endpoint"].as_str().expect("an endpoint").to_owned(), transport }
    }

    async fn call(&self, operation: &str, path: &str, payload: Value) -> Value {
        let request = if self.transport == "rest" {
            let request = self.client.post(format!("{}{path}", self.endpoint));
            request.header("UCP-Agent", format!("profile=\"{PROFILE}\"")).json(&payload)
        } else {
            let arguments = json!({ "meta": { "ucp-agent": { "profile": PROFILE } }, "catalog": payload });
            let params = json!({ "name": operation, "arguments": arguments });
            let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params });
            self.client.post(&self.endpoint).json(&message)
        };
        let mut answer: Value = request.send().await.expect("an answer").json().await.expect("JSON");
        if self.transport == "rest" { answer } else { answer["result"]["structuredContent"].take() }
    }

    /// Searches, opens what was found, chooses until one variant is left, and looks that one up.
    async fn shop(&self) -> Vec<Value> {
        let query =
            json!({ "query": "trail running shoes", "filters": { "available": true }, "pagination": { "limit": 5 } });
        let found = self.call("search_catalog", "/catalog/search", query).await;
        let id = &found["products"][0]["id"];
        let mut page = self.call("get_product", "/catalog/product", json!({ "id": id })).await;
        let mut selected = Vec::new();
        for option in elements(&page["product"]["options"].clone()) {
            let value = elements(&option["values"]).iter().rfind(|value| value["available"] == true).expect("a choice");
            selected.push(json!({ "name": option["name"], "label": value["label"] }));
            page = self.call("get_product", "/catalog/product", json!({ "id": id, "selected": selected })).await;
        }
        let variant = &page["product"]["variants"][0];
        let looked_up = self.call("lookup_catalog", "/catalog/lookup", json!({ "ids": [variant["id"]] })).await;
        assert_eq!(looked_up["products"][0]["variants"][0]["price"], variant["price"]);
        assert_eq!(variant["availability"]["available"], true);
        vec![found, page, looked_up]
    }
}

#[tokio::test]
async fn a_platform_gets_from_the_profile_to_a_variant_on_either_transport() {
    let gateway = Gateway::shared();
    let origin = format!("http://{}", gateway.address);
    let rest = Platform::discover(&origin, "rest").await.shop().await;
    let mcp = Platform::discover(&origin, "mcp").await.shop().await;
    assert_eq!(rest, mcp);
}
