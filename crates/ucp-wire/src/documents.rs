//! The generated documents that are checked in and served.

use std::collections::BTreeMap;

use serde_json::Value;
use ucp_core::{Operation, Release};

use crate::{
    dialect::{Dialect, publishes},
    openapi, openrpc,
    releases::dialect,
    schema::{self, Direction},
};

/// Base URL in the checked-in documents: that of a gateway without configuration.
pub const DEFAULT_PUBLIC_URL: &str = "http://127.0.0.1:8080";

/// Returns the path prefix of the endpoint of one release.
pub fn release_path(release: Release) -> String {
    format!("/ucp/{release}")
}

/// Returns every document that describes the gateway, by its path in the repository, with a folder for each release.
pub fn documents(public_url: &str) -> BTreeMap<String, Value> {
    let mut documents = BTreeMap::new();
    for release in Release::ALL {
        let (dialect, endpoint) = (dialect(*release), format!("{public_url}{}", release_path(*release)));
        let (rest, rpc) = (
            openapi::document(dialect, Operation::ALL, &endpoint),
            openrpc::document(dialect, Operation::ALL, &endpoint),
        );
        documents.insert(format!("openapi/{release}/rest.openapi.json"), rest);
        documents.insert(format!("openrpc/{release}/mcp.openrpc.json"), rpc);
        let schemas = schemas(dialect, Operation::ALL).into_iter();
        documents.extend(schemas.map(|(name, schema)| (format!("schemas/{release}/{name}.json"), schema)));
    }
    documents
}

/// Returns the JSON Schemas of those of `operations` that a release publishes, one for each direction, and of a
/// protocol failure, by name.
pub fn schemas(dialect: &dyn Dialect, operations: &[Operation]) -> BTreeMap<String, Value> {
    let mut schemas = BTreeMap::new();
    for operation in operations.iter().filter(|operation| publishes(dialect, **operation)) {
        let Some(shapes) = dialect.shapes(*operation) else { continue };
        let name = operation.row().name;
        let mut requests = schema::generator(Direction::Request);
        if let Some(request) = shapes.request(&mut requests) {
            schemas.insert(format!("{name}.request"), schema::bundle(&mut requests, |_| request));
        }
        let response =
            schema::bundle(&mut schema::generator(Direction::Response), |generator| shapes.response(generator));
        schemas.insert(format!("{name}.response"), response);
    }
    let failure = schema::bundle(&mut schema::generator(Direction::Response), |generator| dialect.failure(generator));
    schemas.insert("error".to_owned(), failure);
    schemas
}

/// Formats a document as it is checked in: indented, with a final newline.
pub fn pretty(document: &Value) -> String {
    let mut text =
        serde_json::to_string_pretty(document).unwrap_or_else(|error| unreachable!("JSON serialises: {error}"));
    text.push('\n');
    text
}
