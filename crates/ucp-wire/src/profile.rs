//! The discovery profile: identity and capabilities of the gateway (UCP overview, *Discovery*).
//!
//! Generated from the mounted operations, so that nothing is advertised that cannot be called.

use serde_json::{Map, Value, json};

use crate::{
    dialect::{Dialect, advertised, services},
    purchase::payment::Handlers,
    site::{OPENAPI, OPENRPC, Site},
};

/// Builds a profile with registries as maps from names to entries, the form since 2026-01-23. `key_members` are the
/// names of the members that hold the public keys.
pub fn profile(dialect: &dyn Dialect, site: &Site<'_>, key_members: &[&str]) -> Value {
    let release = dialect.release();
    let version = release.date();
    let mut ucp = Map::from_iter([("version".to_owned(), version.into())]);
    if !site.supported_versions.is_empty() {
        let versions =
            site.supported_versions.iter().map(|(release, url)| (release.date().to_owned(), url.as_str().into()));
        ucp.insert("supported_versions".to_owned(), Value::Object(versions.collect()));
    }
    let entry = |service: &str, transport: &str, endpoint: String, document: &str| {
        json!({
            "version": version,
            "spec": site.overview(release, service),
            "transport": transport,
            "endpoint": endpoint,
            "schema": site.description(release, service, document),
        })
    };
    let services = services(dialect, &site.offering.operations).into_iter().map(|service| {
        let entries = [
            entry(service, "rest", site.endpoint.to_owned(), OPENAPI),
            entry(service, "mcp", format!("{}/mcp", site.endpoint), OPENRPC),
        ];
        (site.names.of(service).to_owned(), json!(entries))
    });
    ucp.insert("services".to_owned(), Value::Object(services.collect()));
    let mut capabilities = Map::new();
    for offer in advertised(dialect, site) {
        let (spec, schema) = site.documents(release, offer);
        let mut entry = json!({ "version": offer.version, "spec": spec, "schema": schema });
        // Releases before carts allow one parent per extension.
        match offer.extends {
            [] => {}
            [parent] => entry["extends"] = (*parent).into(),
            several => entry["extends"] = several.into(),
        }
        if let Some(config) = offer.config() {
            entry["config"] = config;
        }
        let name = site.names.of(offer.name);
        if let Some(Value::Array(entries)) = capabilities.get_mut(name) {
            entries.push(entry);
        } else {
            capabilities.insert(name.to_owned(), json!([entry]));
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
