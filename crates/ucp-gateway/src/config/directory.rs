//! The directory of merchants: what of it is offered and under which names, and who knows where addresses are.

use std::{fs::File, io::BufReader, sync::Arc};

use ucp_core::{
    merchant::{geo::METRES_PER_KILOMETRE, port::Policy, record::is_reverse_domain},
    negotiation::OwnName,
    operation::{MERCHANT, RESTAURANT},
};
use ucp_geocode::{HttpGeocoder, Options};
use ucp_net::outbound::Certificate;
use ucp_store::directory::geocode::Table;
use url::Url;

use super::{
    document::Document,
    sections::{Geocoder, Merchants},
    value::WebUrl,
};

/// The names that are the protocol's.
const RESERVED: &str = "dev.ucp.";

/// The directory of merchants.
#[derive(Debug)]
pub(crate) struct Directory {
    /// Whether the draft *Merchant* capability is offered.
    pub(crate) merchants: bool,
    /// Whether *Location Search* and *Location Lookup* are offered.
    pub(crate) locations: bool,
    /// What the draft's capability is called, where that is not the draft's own name.
    pub(crate) capability: Option<OwnName>,
    /// What the draft's service is called, where that is not the draft's own name.
    pub(crate) service: Option<OwnName>,
    /// What the operator decided about searches.
    pub(crate) policy: Policy,
    /// How many bytes of merchants to keep in memory.
    pub(crate) cache_bytes: u64,
    /// The table of places.
    pub(crate) places: Arc<Table>,
    /// The service that is asked where addresses are.
    pub(crate) geocoder: Option<Arc<HttpGeocoder>>,
}

impl Directory {
    /// What holds where nothing is said.
    pub(crate) fn usual(enabled: bool) -> Self {
        Self {
            merchants: enabled,
            locations: enabled,
            capability: None,
            service: None,
            policy: Policy::default(),
            cache_bytes: Merchants::default().cache_mb.bytes(),
            places: Arc::new(Table::fixture()),
            geocoder: None,
        }
    }
}

/// Completes what the file says. Where it says nothing, all of it is offered in development and nothing otherwise: the
/// merchants that come with the gateway are invented.
pub(super) fn resolve(
    said: &mut Merchants,
    geocoder: &mut Geocoder,
    development: bool,
    roots: &[Certificate],
    document: &mut Document<'_>,
) -> Directory {
    let mut directory = Directory::usual(development);
    directory.merchants = *said.enabled.get_or_insert(development);
    directory.locations = *said.locations.get_or_insert(development);
    directory.capability = own(said, "merchants.capability", &said.capability, MERCHANT, document);
    directory.service = own(said, "merchants.service", &said.service, RESTAURANT, document);
    directory.policy = Policy {
        max_radius: said.max_radius_km.map(|most| f64::from(most.get()) * METRES_PER_KILOMETRE),
        restricted_regions: said.restricted_regions.clone(),
    };
    for region in said.restricted_regions.iter().filter(|region| !is_region(region)) {
        let problem = format_args!("`{region}` is neither a country such as US nor a region such as US-CA");
        document.unfit("merchants.restricted_regions", problem);
    }
    directory.cache_bytes = said.cache_mb.bytes();
    if let Some(path) = &geocoder.places {
        let read = File::open(&**path).map_err(|error| error.to_string());
        match read.and_then(|file| Table::read(BufReader::new(file)).map_err(|error| error.to_string())) {
            Ok(table) => directory.places = Arc::new(table),
            Err(error) => document.add("geocoder.places", format_args!("{}: {error}", path.display())),
        }
    }
    geocoder.names = Some(directory.places.len().to_string());
    if let Some(WebUrl(endpoint)) = &geocoder.url {
        let deadline = geocoder.timeout_ms.get_or_insert_default().time();
        match HttpGeocoder::new(Options { deadline, roots: roots.to_vec(), ..Options::new(endpoint.clone()) }) {
            Ok(asked) => directory.geocoder = Some(Arc::new(asked)),
            Err(error) => document.add("geocoder.url", error),
        }
    }
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

/// Whether this is a country or a region, in ISO 3166 codes.
fn is_region(code: &str) -> bool {
    let country = |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    match code.split_once('-') {
        None => country(code),
        Some((own, region)) => {
            country(own) && (1..=3).contains(&region.len()) && region.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    }
}
