//! The site of a business: what its profile and documents tell about, and where.

use serde_json::Value;
use ucp_core::{
    Release,
    negotiation::{Names, OwnName},
    operation::Offering,
    purchase::payment::Declaration,
};

use crate::offer::Offer;

/// Where the published specification lives. Names below `dev.ucp` must point there (rule DISC-09).
pub const SPECIFICATION: &str = "https://ucp.dev";

/// Where the specification of a release has a page or a schema.
#[must_use]
pub fn published_at(release: Release, path: &str) -> String {
    format!("{SPECIFICATION}/{release}/{path}")
}

/// The published description of REST.
pub(crate) const OPENAPI: &str = "rest.openapi.json";

/// The published description of MCP.
pub(crate) const OPENRPC: &str = "mcp.openrpc.json";

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
