//! Port of a directory of merchants.
//!
//! A directory finds and fetches; the domain decides about criteria, and about the content of answers.
//! The [`index`](super::index) answers [`Merchants::find`] and [`Merchants::find_locations`] for directories that fit
//! into memory.

use std::{fmt, sync::Arc};

use async_trait::async_trait;
use jiff::Timestamp;
use serde::Deserialize;

use super::{
    address::Place,
    geo::Point,
    record::{Location, Merchant, Method, PostalAddress, Precision},
};
use crate::{catalog::filter::CategoryPath, ports::PortError};

/// What there is in a directory: operations about nothing are not offered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Holdings {
    /// `true` if it has a merchant.
    pub merchants: bool,
    /// `true` if it has a location.
    pub locations: bool,
}

/// A directory of merchants.
#[async_trait]
pub trait Merchants: Send + Sync {
    /// Returns the policy of the operator.
    fn policy(&self) -> &Policy;

    /// Returns one page of the merchants that match a query.
    ///
    /// # Errors
    /// [`InvalidCursor`](crate::Code::InvalidCursor) if the position in `query` is invalid,
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) if the directory
    /// fails.
    async fn find(&self, query: &Query) -> Result<Page<Hit>, PortError>;

    /// Returns one page of the locations that match a query.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    async fn find_locations(&self, query: &Query) -> Result<Page<LocationHit>, PortError>;

    /// Returns the merchants with these ids, in their order; `None` for an unknown id.
    ///
    /// Identifiers come from outside: they are compared, never interpreted.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) if the directory
    /// fails.
    async fn fetch(&self, ids: &[&str]) -> Result<Vec<Option<Arc<Merchant>>>, PortError>;

    /// Returns the merchants that have a location with the id or alias, for each of `ids` in their order.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    async fn fetch_by_location(&self, ids: &[&str]) -> Result<Vec<Vec<Arc<Merchant>>>, PortError>;
}

/// Geocoder of postal addresses.
#[async_trait]
pub trait Geocoder: Send + Sync {
    /// Returns the coordinates of an address; `None` if they are unknown, or too coarse to measure from, such as those
    /// of a country.
    ///
    /// The address is a buyer's: it must be neither logged nor stored.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) if the geocoder does not answer in time.
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError>;
}

/// Coordinates of an address.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolved {
    /// Coordinates.
    pub point: Point,
    /// Precision of the coordinates.
    pub precision: Precision,
}

/// Policy of the operator of a directory.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Maximum radius of a search, in metres. Larger ones are refused, not reduced.
    pub max_radius: Option<f64>,
    /// Countries (`US`) and regions (`US-CA`), as ISO 3166 codes, whose buyers are shown no merchants.
    pub restricted_regions: Vec<String>,
}

/// A query, and the page of its results.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// Words to search for; `None` matches everything.
    pub text: Option<String>,
    /// Criteria that one location and its merchant must meet.
    pub criteria: Criteria,
    /// Preferences for the order of equal matches.
    pub preference: Preference,
    /// Size of a page, at least 1.
    pub limit: usize,
    /// Position after which the page begins, from an earlier [`Page::next`] of the same query.
    pub after: Option<Vec<u8>>,
}

/// Criteria, all of which must be met; except for the category, by one and the same location.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Criteria {
    /// Category of the merchant, or one above it.
    pub category: Option<CategoryPath>,
    /// Time at which the location is known to be open.
    pub open_at: Option<Timestamp>,
    /// Fulfillment methods, one of which the location offers; empty for any.
    pub methods: Vec<Method>,
    /// Area that the location is in.
    pub within: Option<Circle>,
    /// Requirements on the address of the location.
    pub place: Option<Place>,
    /// Amenities, all of which the location has.
    pub amenities: Vec<String>,
}

impl Criteria {
    /// Returns `true` if a location of a merchant meets all criteria.
    #[must_use]
    pub fn admit(&self, merchant: &Merchant, location: &Location) -> bool {
        let category = || merchant.category.as_deref().map(CategoryPath::new);
        let methods = merchant.methods_at(location);
        let own_place = || location.address.as_ref().map(Place::of).unwrap_or_default();
        let open = |instant| location.schedule().ok().flatten().is_some_and(|schedule| schedule.open_at(instant));
        self.category.as_ref().is_none_or(|sought| category().is_some_and(|own| sought.contains(&own)))
            && (self.methods.is_empty() || self.methods.iter().any(|method| methods.contains(method)))
            && self.amenities.iter().all(|amenity| location.amenities.contains_key(amenity))
            && self.place.as_ref().is_none_or(|sought| sought.holds(&own_place()))
            && self.within.is_none_or(|circle| location.point().is_some_and(|point| circle.holds(point)))
            && self.open_at.is_none_or(open)
    }

    /// Returns `true` if there is a criterion for locations, so that a merchant without a location cannot match.
    #[must_use]
    pub fn concern_locations(&self) -> bool {
        self.open_at.is_some()
            || !self.methods.is_empty()
            || self.within.is_some()
            || self.place.is_some()
            || !self.amenities.is_empty()
    }
}

/// The points within a distance of a centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circle {
    /// Centre.
    pub center: Point,
    /// Maximum geodesic distance, in metres, inclusive.
    pub max: f64,
}

impl Circle {
    /// Returns all of its bits, for telling queries apart.
    pub(super) fn bits(self) -> [u64; 3] {
        [self.center.latitude(), self.center.longitude(), self.max].map(f64::to_bits)
    }

    /// Returns `true` if a point is in the circle.
    #[must_use]
    pub fn holds(self, point: Point) -> bool {
        self.center.distance(point) <= self.max
    }
}

/// Preferences for the order of equal matches. They never decide whether something matches.
///
/// They are data of the buyer: `Debug` prints none of them.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Preference {
    /// Approximate location of the buyer.
    pub place: Place,
    /// Intent of the buyer, in words.
    pub intent: Option<String>,
}

impl fmt::Debug for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preference(..)")
    }
}

/// One page of the matches of a query, the best match first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// Matches.
    pub hits: Vec<T>,
    /// Position after which the next page begins, if there is one. Following positions neither repeats nor skips
    /// matches, even if the directory changes in between.
    pub next: Option<Vec<u8>>,
    /// Total number of matches, if it is known.
    pub total: Option<u64>,
}

/// A merchant that matches a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Identifier of the merchant.
    pub merchant: String,
    /// Identifiers of the locations that meet the criteria; the nearest first, if the query has a centre.
    pub locations: Vec<String>,
}

/// A location that matches a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationHit {
    /// Identifier of the merchant.
    pub merchant: String,
    /// Identifier of the location.
    pub location: String,
}
