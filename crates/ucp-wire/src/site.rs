//! The site of a business: the input of its profile, and the URLs of documents.

use serde_json::Value;
use ucp_core::{
    Release,
    negotiation::{Names, OwnName},
    operation::SupportedOperations,
    purchase::payment::Declaration,
};

use crate::offer::Offer;

/// Root URL of the published specification. Names below `dev.ucp` must point there (rule DISC-09).
pub const SPECIFICATION: &str = "https://ucp.dev";

/// Returns the URL of a page or schema of the specification of a release.
pub fn published_at(release: Release, path: &str) -> String {
    format!("{SPECIFICATION}/{release}/{path}")
}

/// Returns the URL of a page of the specification of a release.
pub(crate) fn specification(release: Release, page: &str) -> String {
    published_at(release, &format!("specification/{page}"))
}

/// File name of the published description of REST.
pub(crate) const OPENAPI: &str = "rest.openapi.json";

/// File name of the published description of MCP.
pub(crate) const OPENRPC: &str = "mcp.openrpc.json";

/// The input of a profile.
#[derive(Clone, Copy, Debug)]
pub struct Site<'a> {
    /// URL of the REST endpoint, without trailing slash; that of MCP is `mcp` below it.
    pub endpoint: &'a str,
    /// The operations and capabilities that the business offers.
    pub offering: &'a SupportedOperations,
    /// The names that the business uses instead of those in the operation table.
    pub names: &'a Names,
    /// The public keys of the business, as JSON Web Keys.
    pub keys: &'a [Value],
    /// The payment handlers that the business accepts.
    pub handlers: &'a [Declaration],
    /// The other releases, each with the URL of its profile.
    pub supported_versions: &'a [(Release, String)],
}

impl Site<'_> {
    /// Returns the URLs of the specification and the schema of a capability in a release.
    pub fn documents(&self, release: Release, offer: &Offer) -> (String, String) {
        let own = self.names.own(offer.name);
        let stated = |of: fn(&OwnName) -> &Option<String>| own.and_then(|own| of(own).clone());
        (
            stated(|own| &own.spec).unwrap_or_else(|| specification(release, offer.spec)),
            stated(|own| &own.schema)
                .unwrap_or_else(|| published_at(release, &format!("schemas/{}.json", offer.schema))),
        )
    }

    /// Returns the URL of the specification of a service in a release.
    pub fn overview(&self, release: Release, service: &str) -> String {
        let own = self.names.own(service).and_then(|own| own.spec.clone());
        own.unwrap_or_else(|| specification(release, "overview"))
    }

    /// Returns the URL of the document that describes a transport of a service. `document` is the file name of the
    /// published one; a service under a name of its own is described by the gateway's own document.
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
