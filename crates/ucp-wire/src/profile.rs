//! The discovery profile: who the gateway is and what it offers (UCP overview, *Discovery*).
//!
//! Generated from the operations that are mounted, so that nothing is advertised that cannot be called.

use serde_json::{Map, Value, json};
use ucp_core::{
    Release,
    negotiation::{Names, OwnName},
    operation::Offering,
    purchase::payment::Declaration,
};

use crate::{
    dialect::{Dialect, Offer, offered, services},
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
    /// What can be asked.
    pub offering: &'a Offering,
    /// The names that the business uses in place of those in the operation table.
    pub names: &'a Names,
    /// The public keys of the business, as JSON Web Keys.
    pub keys: &'a [Value],
    /// The payment handlers that the business takes.
    pub handlers: &'a [Declaration],
    /// Other releases that are served, with the addresses of their profiles.
    pub supported_versions: &'a [(Release, String)],
}

impl Site<'_> {
    /// The capabilities that are advertised: those of the release, as far as there is a key where one is needed.
    pub(crate) fn advertised(&self, dialect: &dyn Dialect) -> impl Iterator<Item = &'static Offer> {
        let signs = !self.keys.is_empty();
        offered(dialect, self.offering).filter(move |offer| offer.published && (signs || !offer.signed))
    }

    /// The specification and the schema of a capability in a release.
    #[must_use]
    pub fn documents(&self, release: Release, offer: &Offer) -> (String, String) {
        let own = self.names.own(offer.name);
        let stated = |of: fn(&OwnName) -> &Option<String>| own.and_then(|own| of(own).clone());
        (
            stated(|own| &own.spec).unwrap_or_else(|| published_at(release, offer.spec)),
            stated(|own| &own.schema).unwrap_or_else(|| published_at(release, offer.schema)),
        )
    }

    /// The specification of a service in a release.
    #[must_use]
    pub fn overview(&self, release: Release, service: &str) -> String {
        let own = self.names.own(service).and_then(|own| own.spec.clone());
        own.unwrap_or_else(|| published_at(release, "specification/overview"))
    }

    /// The document that describes a transport of a service, by the name of the published one. What the specification does
    /// not have is described here.
    #[must_use]
    pub fn description(&self, release: Release, service: &str, document: &str) -> String {
        match self.names.own(service) {
            None => {
                let folder = service.rsplit('.').next().unwrap_or_default();
                published_at(release, &format!("services/{folder}/{document}"))
            }
            Some(_) => {
                let own = if document == OPENAPI { "openapi.json" } else { "openrpc.json" };
                format!("{}/{own}", self.endpoint)
            }
        }
    }
}

/// The published description of REST.
pub(crate) const OPENAPI: &str = "rest.openapi.json";

/// The published description of MCP.
pub(crate) const OPENRPC: &str = "mcp.openrpc.json";

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
    for offer in site.advertised(dialect) {
        let (spec, schema) = site.documents(release, offer);
        let mut entry = json!({ "version": offer.version, "spec": spec, "schema": schema });
        // Releases before carts know one parent per extension.
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
