//! Coordinates of addresses.
//!
//! A [`Chain`] asks one source after the other, the most exact one first: the directory's own locations by their street
//! ([`KnownPlaces`]), then the middles of postal codes, then those of towns ([`PostalCodes`], [`Localities`]). A source that
//! needs the network, such as an [`HttpGeocoder`], is one more link. An address that none of them knows is unknown: a
//! search is never widened instead.
//!
//! Addresses are those of buyers: they are neither logged nor stored here, and errors do not contain them.

pub mod http;
pub mod table;

use std::{
    collections::HashMap,
    hash::{BuildHasher as _, RandomState},
    sync::Arc,
};

use async_trait::async_trait;
use ucp_core::{
    merchant::{
        address::AddressPlace,
        geo::Point,
        record::{Geo, Merchant, PostalAddress, Precision},
    },
    ports::PortError,
    text::words,
};

use crate::engine::port::{Geocoder, Resolved};

pub use self::{
    http::HttpGeocoder,
    table::{Table, TableError},
};

/// Maximum distance between locations with one address, in meters; farther apart, the address is ambiguous.
const SAME_ADDRESS: f64 = 250.0;

/// Geocoders that are asked one after the other.
#[derive(Clone, Default)]
pub struct Chain {
    links: Vec<Arc<dyn Geocoder>>,
}
ucp_core::opaque!(Chain);

impl Chain {
    /// Creates a chain of these sources, in this order.
    pub fn new(links: Vec<Arc<dyn Geocoder>>) -> Self {
        Self { links }
    }

    /// Creates the usual chain: known streets, then `exact` (such as a geocoding service), postal codes, towns.
    pub fn usual(known: Arc<dyn Geocoder>, exact: Option<Arc<dyn Geocoder>>, table: &Arc<Table>) -> Self {
        let coarse: [Arc<dyn Geocoder>; 2] =
            [Arc::new(PostalCodes(Arc::clone(table))), Arc::new(Localities(Arc::clone(table)))];
        Self::new(std::iter::once(known).chain(exact).chain(coarse).collect())
    }
}

#[async_trait]
impl Geocoder for Chain {
    /// A source that fails is skipped. Its failure is returned only if no other source knows the address: a retry may
    /// succeed then.
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        let mut failed = None;
        for link in &self.links {
            match link.resolve(address).await {
                Ok(Some(resolved)) => return Ok(Some(resolved)),
                Ok(None) => {}
                Err(refusal) => failed = Some(refusal),
            }
        }
        failed.map_or(Ok(None), Err)
    }
}

/// Geocoder of the centers of postal codes.
#[derive(Clone, Debug)]
pub struct PostalCodes(pub Arc<Table>);

#[async_trait]
impl Geocoder for PostalCodes {
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        let point = self.0.postal_code(&AddressPlace::of(address));
        Ok(point.map(|point| Resolved { point, precision: Precision::PostalCode }))
    }
}

/// Geocoder of the centers of towns. A country or a region alone is too coarse to measure from.
#[derive(Clone, Debug)]
pub struct Localities(pub Arc<Table>);

#[async_trait]
impl Geocoder for Localities {
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        let point = self.0.locality(&AddressPlace::of(address));
        Ok(point.map(|point| Resolved { point, precision: Precision::Locality }))
    }
}

/// Geocoder of the street addresses of public locations, stored as digests that need little memory.
#[derive(Clone, Debug, Default)]
pub struct KnownPlaces {
    hasher: RandomState,
    /// Coordinates by digest; `None` for an address whose locations are apart, so that one of them is wrong.
    points: HashMap<u64, Option<Point>>,
}

impl KnownPlaces {
    /// Returns the coordinates of an address, if a location has it.
    pub fn find(&self, address: &PostalAddress) -> Option<Resolved> {
        let point = keys(address).iter().find_map(|key| *self.points.get(&self.hasher.hash_one(key))?)?;
        Some(Resolved { point, precision: Precision::Street })
    }
}

/// Builder of a [`KnownPlaces`].
#[derive(Debug, Default)]
pub struct KnownBuilder(KnownPlaces);

impl KnownBuilder {
    /// Adds the public locations of a merchant that state both address and coordinates.
    pub fn add(&mut self, merchant: &Merchant) {
        for location in merchant.locations.iter().filter(|location| location.public) {
            let exact = |geo: &Geo| geo.precision.is_none_or(|precision| precision == Precision::Street);
            let point = location.point().filter(|_| location.geo.as_ref().is_some_and(exact));
            let (Some(address), Some(point)) = (&location.address, point) else { continue };
            for key in keys(address) {
                self.0
                    .points
                    .entry(self.0.hasher.hash_one(key))
                    .and_modify(|known| *known = known.filter(|known| known.distance(point) <= SAME_ADDRESS))
                    .or_insert(Some(point));
            }
        }
    }

    /// Returns the geocoder of all added addresses.
    pub fn finish(self) -> KnownPlaces {
        self.0
    }
}

#[async_trait]
impl Geocoder for KnownPlaces {
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError> {
        Ok(self.find(address))
    }
}

/// Returns the digests of a street address: its street with the postal code, and with the town.
fn keys(address: &PostalAddress) -> Vec<String> {
    let street = words(address.street_address.as_deref().unwrap_or_default()).join(" ");
    let AddressPlace { country: Some(country), region, locality, postal_code } = AddressPlace::of(address) else {
        return Vec::new();
    };
    // A street without a number is no address.
    if !street.contains(char::is_numeric) {
        return Vec::new();
    }
    let by_code = postal_code.map(|code| format!("{street}\t{country}\t{code}"));
    let by_town = region.zip(locality).map(|(region, town)| format!("{street}\t{country}\t{region}\t{town}"));
    by_code.into_iter().chain(by_town).collect()
}

#[cfg(test)]
mod tests;
