//! The directory of merchants beside the shop: which of its operations are mounted, under which names, and who knows where
//! addresses are.

use std::sync::Arc;

use ucp_core::{
    Operation,
    merchant::port::Geocoder,
    negotiation::Names,
    operation::{COMMON, MERCHANT, Offering, RESTAURANT},
    port,
};
use ucp_store::{
    Database, StoreError,
    directory::{Directory, geocode::Chain},
};

use crate::config;

/// What a shop offers, and beside it what is enabled of the directory.
pub(crate) fn beside(shop: Offering, settings: &config::Directory) -> Offering {
    let mounted = |operation: &Operation| match operation.row().service {
        RESTAURANT => settings.merchants,
        COMMON => settings.locations,
        _ => shop.operations.contains(operation),
    };
    Offering { operations: Operation::ALL.iter().copied().filter(mounted).collect(), ..shop }
}

/// The names under which the draft is offered.
pub(crate) fn names(settings: &config::Directory) -> Names {
    let mut names = Names::default();
    for (name, own) in [(MERCHANT, &settings.capability), (RESTAURANT, &settings.service)] {
        if let Some(own) = own {
            names.replace(name, own.clone());
        }
    }
    names
}

/// Opens the directory, if anything of it is mounted. Blocks until all merchants are read.
pub(crate) fn open(
    database: &Arc<Database>,
    settings: &config::Directory,
) -> Result<Option<port::Directory>, StoreError> {
    if !settings.merchants && !settings.locations {
        return Ok(None);
    }
    let merchants = Arc::new(Directory::open(database, settings.policy.clone(), settings.cache_bytes)?);
    let asked = settings.geocoder.clone().map(|geocoder| geocoder as Arc<dyn Geocoder>);
    let geocoder = Chain::usual(Arc::clone(&merchants) as Arc<dyn Geocoder>, asked, &settings.places);
    Ok(Some(port::Directory { merchants, geocoder: Arc::new(geocoder) }))
}
