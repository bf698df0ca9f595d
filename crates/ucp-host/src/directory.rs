//! Composition of the directory of merchants, which is served beside the shop: its enabled operations, the names of its
//! capabilities, its sample data, and the geocoder that locates addresses.

use std::sync::Arc;

use tokio::sync::watch::Receiver;
use ucp_core::{
    Operation,
    negotiation::Names,
    operation::{MERCHANT, RESTAURANT, Resource, SupportedOperations},
    ports::{self, Holdings},
};
use ucp_shop::{Opening, sample::Sample};
use ucp_sqlite::{SqliteStore, StoreError};

/// Returns the offering of a shop together with the operations of the directory that are enabled and have something to
/// find.
pub(crate) fn beside(
    shop: SupportedOperations,
    settings: &ucp_config::Directory,
    holdings: Holdings,
) -> SupportedOperations {
    let mounted = |operation: &Operation| match operation.row().resource {
        Resource::Directory if operation.row().capability == MERCHANT => settings.merchants && holdings.merchants,
        Resource::Directory => settings.locations && holdings.locations,
        Resource::Catalog | Resource::Cart | Resource::Checkout | Resource::Order => {
            shop.operations.contains(operation)
        }
    };
    SupportedOperations { operations: Operation::ALL.iter().copied().filter(mounted).collect(), ..shop }
}

/// Returns the configured names of the draft *Merchant* capability and its service.
pub(crate) fn names(settings: &ucp_config::Directory) -> Names {
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

/// An open directory, if any of its operations is enabled.
#[derive(Default)]
pub(crate) struct Opened {
    /// The directory.
    pub(crate) directory: Option<Arc<dyn ports::Directory>>,
    /// Its contents when it was opened.
    pub(crate) holdings: Holdings,
    /// Its present contents.
    pub(crate) changes: Option<Receiver<Holdings>>,
}

/// Opens the directory if any of its operations is enabled. Blocks until all merchants are read.
#[cfg(feature = "directory")]
pub(crate) fn open(store: &SqliteStore, settings: &ucp_config::Directory) -> Result<Opened, StoreError> {
    use ucp_directory::{
        Directory,
        engine::{Engine, port::Geocoder},
        geocode::Chain,
    };

    if !settings.merchants && !settings.locations {
        return Ok(Opened::default());
    }
    let ucp_config::Search { policy, cache_bytes, places, geocoder, .. } = &settings.search;
    let merchants = Arc::new(Directory::open(store, policy.clone(), *cache_bytes)?);
    let changes = merchants.holdings();
    let holdings = *changes.borrow();
    let asked = geocoder.clone().map(|geocoder| geocoder as Arc<dyn Geocoder>);
    let geocoder = Chain::usual(Arc::clone(&merchants) as Arc<dyn Geocoder>, asked, places);
    let directory = Arc::new(Engine { merchants, geocoder: Arc::new(geocoder) });
    Ok(Opened { directory: Some(directory), holdings, changes: Some(changes) })
}

/// Returns nothing: in a binary without the feature `directory`, settings that enable the directory are refused.
#[cfg(not(feature = "directory"))]
pub(crate) fn open(_: &SqliteStore, _: &ucp_config::Directory) -> Result<Opened, StoreError> {
    Ok(Opened::default())
}
