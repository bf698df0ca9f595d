//! The directory of merchants: what of it is offered and under which names, and who knows where addresses are.

#[cfg(feature = "directory")]
mod search;
#[cfg(not(feature = "directory"))]
#[path = "directory/without.rs"]
mod search;

use ucp_core::{
    merchant::record::is_reverse_domain,
    negotiation::OwnName,
    operation::{MERCHANT, RESTAURANT},
};
use ucp_net::outbound::Certificate;
use url::Url;

pub use self::search::Search;
#[cfg(not(feature = "directory"))]
pub use self::search::WITHOUT;

use super::{
    document::Document,
    sections::{Geocoder, Merchants},
    value::WebUrl,
};

/// The names that are the protocol's.
const RESERVED: &str = "dev.ucp.";

/// The directory of merchants.
#[derive(Debug)]
pub struct Directory {
    /// `true` if the draft *Merchant* capability is offered.
    pub merchants: bool,
    /// `true` if *Location Search* and *Location Lookup* are offered.
    pub locations: bool,
    /// Name of the capability, if it is not the draft's own.
    pub capability: Option<OwnName>,
    /// Name of the service, if it is not the draft's own.
    pub service: Option<OwnName>,
    /// Settings of searches.
    pub search: Search,
}

impl Directory {
    /// Returns the defaults. A binary without the feature `directory` offers nothing of it.
    pub(crate) fn usual(enabled: bool) -> Self {
        let enabled = enabled && cfg!(feature = "directory");
        Self { merchants: enabled, locations: enabled, capability: None, service: None, search: Search::usual() }
    }
}

/// Completes what the file says. Where it says nothing, all of it is offered in development and nothing otherwise: the
/// merchants that come with the gateway are invented.
pub(super) fn resolve(
    said: &mut Merchants,
    geocoder: &mut Geocoder,
    development: bool,
    roots: &[Certificate],
    known: Option<&Search>,
    document: &mut Document<'_>,
) -> Directory {
    let mut directory = Directory::usual(development);
    directory.merchants = *said.enabled.get_or_insert(directory.merchants);
    directory.locations = *said.locations.get_or_insert(directory.locations);
    directory.capability = own(said, "merchants.capability", &said.capability, MERCHANT, document);
    directory.service = own(said, "merchants.service", &said.service, RESTAURANT, document);
    directory.search = Search::resolve(said, geocoder, roots, known, document);
    directory
}

/// A name of the operator's own, where that is not the usual one.
fn own(said: &Merchants, key: &str, name: &str, usual: &str, document: &mut Document<'_>) -> Option<OwnName> {
    if name == usual {
        return None;
    }
    if !is_reverse_domain(name) {
        document.unfit(key, "expected a reverse-domain name such as com.example.merchant");
    } else if !name.starts_with(RESERVED) && (said.spec.is_none() || said.schema.is_none()) {
        document.add(key, "a name of your own needs `merchants.spec` and `merchants.schema` on its domain");
    }
    let text = |url: &Option<WebUrl>| url.as_ref().map(|WebUrl(url)| Url::to_string(url));
    Some(OwnName { name: name.to_owned(), spec: text(&said.spec), schema: text(&said.schema) })
}
