//! The discovery profile: who the gateway is and what it offers (UCP overview, *Discovery*).
//!
//! Generated from the operations that are mounted, so that nothing is advertised that cannot be called.

use serde_json::{Map, Value, json};
use ucp_core::{Operation, Release, operation::SHOPPING, purchase::payment::Declaration};

use crate::{
    dialect::{Dialect, offered},
    purchase::payment::Handlers,
};

/// Where the published specification lives. Names below `dev.ucp` must point there (rule DISC-09).
pub const SPECIFICATION: &str = "https://ucp.dev";

/// Where the specification of a release has a page or a schema.
#[must_use]
pub fn published_at(release: Release, path: &str) -> String {
    format!("{SPECIFICATION}/{release}/{path}")
}

/// What a profile tells about.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// The address of the REST endpoint, without trailing slash; that of MCP is `mcp` below it.
    pub endpoint: &'a str,
    /// The operations that are mounted.
    pub operations: &'a [Operation],
    /// The public keys of the business, as JSON Web Keys.
    pub keys: &'a [Value],
    /// The payment handlers that the business takes.
    pub handlers: &'a [Declaration],
    /// Other releases that are served, with the addresses of their profiles.
    pub supported_versions: &'a [(Release, String)],
}

/// A profile with registries as maps from names to entries, the form since 2026-01-23. `key_members` name the
/// members that hold the keys.
#[must_use]
pub fn profile(dialect: &dyn Dialect, site: &Site<'_>, key_members: &[&str]) -> Value {
    let release = dialect.release();
    let version = release.date();
    let mut ucp = Map::from_iter([("version".to_owned(), version.into())]);
    if !site.supported_versions.is_empty() {
        let versions =
            site.supported_versions.iter().map(|(release, url)| (release.date().to_owned(), url.as_str().into()));
        ucp.insert("supported_versions".to_owned(), Value::Object(versions.collect()));
    }
    let service = |transport: &str, endpoint: String, schema: &str| {
        json!({
            "version": version,
            "spec": published_at(release, "specification/overview"),
            "transport": transport,
            "endpoint": endpoint,
            "schema": published_at(release, &format!("services/shopping/{schema}")),
        })
    };
    ucp.insert(
        "services".to_owned(),
        json!({ SHOPPING: [
            service("rest", site.endpoint.to_owned(), "rest.openapi.json"),
            service("mcp", format!("{}/mcp", site.endpoint), "mcp.openrpc.json"),
        ] }),
    );
    let mut capabilities = Map::new();
    for offer in offered(dialect, site.operations).filter(|offer| offer.published) {
        let mut entry = json!({
            "version": offer.version,
            "spec": published_at(release, offer.spec),
            "schema": published_at(release, offer.schema),
        });
        // Releases before carts know one parent per extension.
        match offer.extends {
            [] => {}
            [parent] => entry["extends"] = (*parent).into(),
            several => entry["extends"] = several.into(),
        }
        if let Some(Value::Array(entries)) = capabilities.get_mut(offer.name) {
            entries.push(entry);
        } else {
            capabilities.insert(offer.name.to_owned(), json!([entry]));
        }
    }
    ucp.insert("capabilities".to_owned(), Value::Object(capabilities));
    ucp.insert("payment_handlers".to_owned(), json!(Handlers::from(site.handlers)));
    let mut profile = Map::from_iter([("ucp".to_owned(), Value::Object(ucp))]);
    if !site.keys.is_empty() {
        profile.extend(key_members.iter().map(|&member| (member.to_owned(), site.keys.into())));
    }
    Value::Object(profile)
}
