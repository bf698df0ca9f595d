//! Settings of searches in the directory of merchants: the operator's policy, and the sources that locate addresses.

use std::{fs::File, io::BufReader, path::PathBuf, sync::Arc};

use ucp_core::merchant::{criteria::Policy, geo::METRES_PER_KILOMETRE};
use ucp_directory::geocode::{HttpGeocoder, Table, http::Options};
use ucp_net::outbound::Certificate;

use crate::{
    document::Document,
    sections::{Geocoder, Merchants},
    value::WebUrl,
};

/// Settings of searches in the directory.
#[derive(Clone, Debug)]
pub struct Search {
    /// Operator's policy for searches.
    pub policy: Policy,
    /// Maximum size of the merchants kept in memory, in bytes.
    pub cache_bytes: u64,
    /// The table of places.
    pub places: Arc<Table>,
    /// The file of that table; `None` for the places of the sample.
    file: Option<PathBuf>,
    /// The service that is asked where addresses are.
    pub geocoder: Option<Arc<HttpGeocoder>>,
}

impl Search {
    /// Returns the defaults.
    pub(super) fn usual() -> Self {
        Self {
            policy: Policy::default(),
            cache_bytes: Merchants::default().cache_mb.bytes(),
            places: Arc::new(Table::fixture()),
            file: None,
            geocoder: None,
        }
    }

    /// Completes what the file says. The table of places is that of `known`, if it is of the same file: it may be large, and
    /// several shops share it.
    pub(crate) fn resolve(
        said: &Merchants,
        geocoder: &mut Geocoder,
        roots: &[Certificate],
        known: Option<&Self>,
        document: &mut Document<'_>,
    ) -> Self {
        let mut search = Self::usual();
        search.policy = Policy {
            max_radius: said.max_radius_km.map(|most| f64::from(most.0) * METRES_PER_KILOMETRE),
            restricted_regions: said.restricted_regions.clone(),
        };
        for region in said.restricted_regions.iter().filter(|region| !is_region(region)) {
            let problem = format_args!("`{region}` is neither a country such as US nor a region such as US-CA");
            document.unfit("merchants.restricted_regions", problem);
        }
        search.cache_bytes = said.cache_mb.bytes();
        if let Some(path) = &geocoder.places {
            document.note_change(path);
        }
        let file = geocoder.places.as_ref().map(|path| path.to_path_buf());
        if let Some(known) = known.filter(|known| known.file == file) {
            search.places = Arc::clone(&known.places);
        } else if let Some(path) = &geocoder.places {
            let read = File::open(&**path).map_err(|error| format!("{}: {error}", path.display()));
            let table = read.and_then(|file| {
                Table::read(BufReader::new(file)).map_err(|error| format!("{}: {error}", path.display()))
            });
            search.places = document.led("geocoder.places", table).map_or(search.places, Arc::new);
        }
        search.file = file;
        geocoder.names = Some(search.places.len().to_string());
        if let Some(WebUrl(endpoint)) = &geocoder.url {
            let deadline = geocoder.timeout_ms.get_or_insert_default().time();
            let options = Options { deadline, roots: roots.to_vec(), ..Options::new(endpoint.clone()) };
            let geocoder = HttpGeocoder::new(options).map_err(|error| format!("the geocoder {error}"));
            search.geocoder = document.led("geocoder.url", geocoder).map(Arc::new);
        }
        search
    }
}

/// Returns `true` if this is a country or a region, in ISO 3166 codes.
fn is_region(code: &str) -> bool {
    let country = |code: &str| code.len() == 2 && code.bytes().all(|byte| byte.is_ascii_uppercase());
    match code.split_once('-') {
        None => country(code),
        Some((own, region)) => {
            country(own) && (1..=3).contains(&region.len()) && region.bytes().all(|byte| byte.is_ascii_alphanumeric())
        }
    }
}
