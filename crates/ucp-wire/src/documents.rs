//! The generated documents: what is checked in, and what is served.

use std::collections::BTreeMap;

use serde_json::Value;
use ucp_core::{Operation, Release};

use crate::{
    dialect::dialect,
    openapi, openrpc,
    schema::{self, Direction},
};

/// The address that checked-in documents name: that of a bare start.
pub const DEFAULT_PUBLIC_URL: &str = "http://127.0.0.1:8080";

/// Every document that describes the gateway, by its path in the repository.
#[must_use]
pub fn documents(release: Release, public_url: &str) -> BTreeMap<String, Value> {
    let dialect = dialect(release);
    let schemas = schemas(release).into_iter().map(|(name, schema)| (format!("schemas/{name}.json"), schema));
    let mut documents: BTreeMap<_, _> = schemas.collect();
    documents.insert("openapi/rest.openapi.json".to_owned(), openapi::document(dialect, Operation::ALL, public_url));
    documents.insert("openrpc/mcp.openrpc.json".to_owned(), openrpc::document(dialect, Operation::ALL, public_url));
    documents
}

/// The JSON Schemas of every operation, one for each direction, and of a protocol failure, by name.
#[must_use]
pub fn schemas(release: Release) -> BTreeMap<String, Value> {
    let dialect = dialect(release);
    let mut schemas = BTreeMap::new();
    for operation in Operation::ALL {
        let Some(shapes) = dialect.shapes(*operation) else { continue };
        let name = operation.row().name;
        let request = schema::bundle(&mut schema::generator(Direction::Request), |generator| shapes.request(generator));
        let response =
            schema::bundle(&mut schema::generator(Direction::Response), |generator| shapes.response(generator));
        schemas.insert(format!("{name}.request"), request);
        schemas.insert(format!("{name}.response"), response);
    }
    schemas.insert("error".to_owned(), schema::bundle(&mut schema::generator(Direction::Response), schema::error));
    schemas
}

/// A document as it is checked in: indented, with a final newline.
#[must_use]
pub fn pretty(document: &Value) -> String {
    let mut text =
        serde_json::to_string_pretty(document).unwrap_or_else(|error| unreachable!("JSON serialises: {error}"));
    text.push('\n');
    text
}
