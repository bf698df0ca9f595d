//! The directory of merchants: what of it is offered and under which names, and who knows where addresses are.

use std::{fs::File, io::BufReader, sync::Arc};

use ucp_core::{
    merchant::{geo::METRES_PER_KILOMETRE, port::Policy, record::is_reverse_domain},
    negotiation::OwnName,
    operation::{MERCHANT, RESTAURANT},
};
use ucp_geocode::{HttpGeocoder, Options};
use ucp_store::directory::geocode::Table;
use url::Url;

use super::{Problems, Root, file};

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
    /// How many megabytes of merchants to keep in memory.
    pub(crate) cache_mb: u32,
    /// The table of places, and where it comes from, if it is not the one that comes with the gateway.
    pub(crate) places: Arc<Table>,
    /// The file of the table of places.
    pub(crate) places_file: Option<std::path::PathBuf>,
    /// The service that is asked where addresses are.
    pub(crate) geocoder: Option<Arc<HttpGeocoder>>,
    /// How that service is asked.
    pub(crate) geocoder_options: Option<Options>,
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
            cache_mb: CACHE_MB,
            places: Arc::new(Table::fixture()),
            places_file: None,
            geocoder: None,
            geocoder_options: None,
        }
    }
}

/// How many megabytes of merchants are kept in memory where nothing is said.
const CACHE_MB: u32 = 16;

/// Completes what the file says. Where it says nothing, all of it is offered in development and nothing otherwise: the
/// merchants that come with the gateway are invented.
pub(super) fn resolve(
    said: file::Merchants,
    geocoder: &file::Geocoder,
    development: bool,
    roots: &[Root],
    problems: &mut Problems<'_>,
) -> Directory {
    let mut directory = Directory::usual(development);
    directory.merchants = said.enabled.unwrap_or(development);
    directory.locations = said.locations.unwrap_or(development);
    let own = |name: Option<String>, key: &str, usual: &str, problems: &mut Problems<'_>| {
        let name = name.filter(|name| name != usual)?;
        if !is_reverse_domain(&name) {
            problems.add(key, format_args!("expected a reverse-domain name such as com.example.merchant"));
        } else if !name.starts_with(RESERVED) && (said.spec.is_none() || said.schema.is_none()) {
            problems.add(
                key,
                format_args!("a name of your own needs `merchants.spec` and `merchants.schema` on its domain"),
            );
        }
        Some(OwnName { name, spec: text(said.spec.as_ref()), schema: text(said.schema.as_ref()) })
    };
    directory.capability = own(said.capability.clone(), "merchants.capability", MERCHANT, problems);
    directory.service = own(said.service.clone(), "merchants.service", RESTAURANT, problems);
    directory.policy = Policy {
        max_radius: said.max_radius_km.map(|most| f64::from(most.0) * METRES_PER_KILOMETRE),
        restricted_regions: said.restricted_regions,
    };
    for region in &directory.policy.restricted_regions {
        if !is_region(region) {
            problems.add(
                "merchants.restricted_regions",
                format_args!("`{region}` is neither a country such as US nor a region such as US-CA"),
            );
        }
    }
    directory.cache_mb = said.cache_mb.map_or(CACHE_MB, |size| size.0);
    if let Some(path) = &geocoder.places {
        let path = problems.document.relative(path);
        let read = File::open(&path).map_err(|error| error.to_string());
        match read.and_then(|file| Table::read(BufReader::new(file)).map_err(|error| error.to_string())) {
            Ok(table) => directory.places = Arc::new(table),
            Err(error) => problems.add("geocoder.places", format_args!("{}: {error}", path.display())),
        }
        directory.places_file = Some(path);
    }
    if let Some(file::ServiceUrl(endpoint)) = &geocoder.url {
        let usual = Options::new(endpoint.clone());
        let options = Options {
            deadline: geocoder.timeout_ms.map_or(usual.deadline, file::Milliseconds::duration),
            roots: roots.iter().flat_map(|root| root.certificates.clone()).collect(),
            ..usual
        };
        match HttpGeocoder::new(options.clone()) {
            Ok(asked) => directory.geocoder = Some(Arc::new(asked)),
            Err(error) => problems.add("geocoder.url", error),
        }
        directory.geocoder_options = Some(options);
    }
    directory
}

fn text(url: Option<&file::ServiceUrl>) -> Option<String> {
    url.map(|file::ServiceUrl(url): &file::ServiceUrl| Url::to_string(url))
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
