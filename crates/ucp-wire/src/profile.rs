//! The discovery profile: who the gateway is and what it offers (UCP overview, *Discovery*).
//!
//! Generated from the operations that are mounted, so that nothing is advertised that cannot be called.

use serde_json::{Map, Value, json};
use ucp_core::{
    Operation, Release,
    operation::{Capability, SHOPPING},
};

/// Where the published specification lives. Names below `dev.ucp` must point there (rule DISC-09).
const SPECIFICATION: &str = "https://ucp.dev";

/// The profile of a gateway that serves `operations` in `release` under `public_url`, which has no trailing slash.
#[must_use]
pub fn profile(release: Release, operations: &[Operation], public_url: &str) -> Value {
    let version = release.date();
    let mut capabilities = Map::new();
    for operation in operations {
        let Capability { name, spec, schema } = operation.row().capability;
        capabilities.entry(name).or_insert_with(|| {
            json!([{
                "version": version,
                "spec": format!("{SPECIFICATION}/{version}/specification/{spec}"),
                "schema": format!("{SPECIFICATION}/{version}/schemas/{schema}"),
            }])
        });
    }
    let service = |transport: &str, endpoint: String, schema: &str| {
        json!({
            "version": version,
            "spec": format!("{SPECIFICATION}/{version}/specification/overview"),
            "transport": transport,
            "endpoint": endpoint,
            "schema": format!("{SPECIFICATION}/{version}/services/shopping/{schema}"),
        })
    };
    json!({
        "ucp": {
            "version": version,
            "services": {
                SHOPPING: [
                    service("rest", public_url.to_owned(), "rest.openapi.json"),
                    service("mcp", format!("{public_url}/mcp"), "mcp.openrpc.json"),
                ],
            },
            "capabilities": capabilities,
            "payment_handlers": {},
        },
    })
}
