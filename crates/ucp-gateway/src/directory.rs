//! Composition of the directory of merchants, which is served beside the shop: its enabled operations, the names of its
//! capabilities, its sample data, and the geocoder that locates addresses.

use ucp_core::{
    Operation,
    negotiation::Names,
    operation::{COMMON, MERCHANT, Offering, RESTAURANT},
    port,
};
use ucp_shop::{Opening, sample::Sample};
use ucp_sqlite::{SqliteStore, StoreError};

use crate::config;

/// Returns the offering of a shop together with the operations of the directory that are enabled.
pub(crate) fn beside(shop: Offering, settings: &config::Directory) -> Offering {
    let mounted = |operation: &Operation| match operation.row().service {
        RESTAURANT => settings.merchants,
        COMMON => settings.locations,
        _ => shop.operations.contains(operation),
    };
    Offering { operations: Operation::ALL.iter().copied().filter(mounted).collect(), ..shop }
}

/// Returns the configured names of the draft *Merchant* capability and its service.
pub(crate) fn names(settings: &config::Directory) -> Names {
    let mut names = Names::default();
    for (name, own) in [(MERCHANT, &settings.capability), (RESTAURANT, &settings.service)] {
        if let Some(own) = own {
            names.replace(name, own.clone());
        }
    }
    names
}

/// Returns the initial content of a shop that is created from a sample: its market, terms and goods, and the sample
/// merchants if they belong to it.
pub(crate) fn sample(sample: &Sample) -> Opening {
    let opening = sample.opening();
    #[cfg(feature = "directory")]
    if sample.merchants {
        return Opening { beside: ucp_directory::sample::fill, ..opening };
    }
    opening
}

/// Opens the directory if any of its operations is enabled, else returns `None`. Blocks until all merchants are read.
#[cfg(feature = "directory")]
pub(crate) fn open(store: &SqliteStore, settings: &config::Directory) -> Result<Option<port::Directory>, StoreError> {
    use std::sync::Arc;

    use ucp_core::merchant::port::Geocoder;
    use ucp_directory::{Directory, geocode::Chain};

    if !settings.merchants && !settings.locations {
        return Ok(None);
    }
    let config::Search { policy, cache_bytes, places, geocoder, .. } = &settings.search;
    let merchants = Arc::new(Directory::open(store, policy.clone(), *cache_bytes)?);
    let asked = geocoder.clone().map(|geocoder| geocoder as Arc<dyn Geocoder>);
    let geocoder = Chain::usual(Arc::clone(&merchants) as Arc<dyn Geocoder>, asked, places);
    Ok(Some(port::Directory { merchants, geocoder: Arc::new(geocoder) }))
}

/// Returns `None`: in a binary without the feature `directory`, settings that enable the directory are refused.
#[cfg(not(feature = "directory"))]
pub(crate) fn open(_: &SqliteStore, _: &config::Directory) -> Result<Option<port::Directory>, StoreError> {
    Ok(None)
}
