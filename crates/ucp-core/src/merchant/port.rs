//! What a directory is asked.
//!
//! A directory finds and fetches; what is demanded of a location, and what an answer shows, is decided by the domain.
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
use crate::{catalog::filter::CategoryPath, port::PortError};

/// A directory of merchants.
#[async_trait]
pub trait Merchants: Send + Sync {
    /// What the operator of the directory decided.
    fn policy(&self) -> &Policy;

    /// One page of the merchants that a query finds.
    ///
    /// # Errors
    /// [`InvalidCursor`](crate::Code::InvalidCursor) when the position in `query` means nothing,
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) when the directory
    /// fails.
    async fn find(&self, query: &Query) -> Result<Page<Hit>, PortError>;

    /// One page of the locations that a query finds.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    async fn find_locations(&self, query: &Query) -> Result<Page<LocationHit>, PortError>;

    /// The merchants of these ids, in their order; `None` for an id that names nothing.
    ///
    /// Identifiers come from outside: they are compared, never interpreted.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) or [`InternalError`](crate::Code::InternalError) when the directory
    /// fails.
    async fn fetch(&self, ids: &[&str]) -> Result<Vec<Option<Arc<Merchant>>>, PortError>;

    /// For each of `ids`, in their order, the merchants that have a location of this id or alias.
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch).
    async fn fetch_by_location(&self, ids: &[&str]) -> Result<Vec<Vec<Arc<Merchant>>>, PortError>;
}

/// Whoever knows where addresses are.
#[async_trait]
pub trait Geocoder: Send + Sync {
    /// Where an address is; `None` where that is unknown or only known too coarsely to measure from, such as a country.
    ///
    /// The address is a buyer's: it is never logged and never kept beyond the call.
    ///
    /// # Errors
    /// [`Unavailable`](crate::Code::Unavailable) when whoever would know does not answer in time.
    async fn resolve(&self, address: &PostalAddress) -> Result<Option<Resolved>, PortError>;
}

/// Where an address is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Resolved {
    /// The point.
    pub point: Point,
    /// How exactly the point is the address.
    pub precision: Precision,
}

/// What the operator of a directory decided.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// The largest radius in metres that may be asked for. Larger ones are refused, never reduced.
    pub max_radius: Option<f64>,
    /// Countries (`US`) and regions (`US-CA`), in ISO 3166 codes, whose buyers are shown no merchants.
    pub restricted_regions: Vec<String>,
}

/// What to find, and which page of it.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The words to look for; `None` finds everything.
    pub text: Option<String>,
    /// What one and the same location has to be, and its merchant.
    pub criteria: Criteria,
    /// What makes one of equals come first.
    pub preference: Preference,
    /// How many make a page, at least one.
    pub limit: usize,
    /// The position after which the page starts, as an earlier [`Page::next`] gave it for the same query.
    pub after: Option<Vec<u8>>,
}

/// What has to hold. Everything but the category has to hold of one and the same location.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Criteria {
    /// The category the merchant is in, or above it.
    pub category: Option<CategoryPath>,
    /// When the location is known to be open.
    pub open_at: Option<Timestamp>,
    /// The methods, any of which the location has; empty asks for nothing.
    pub methods: Vec<Method>,
    /// How near it is.
    pub within: Option<Circle>,
    /// Where its address is.
    pub place: Option<Place>,
    /// What it has, all of it.
    pub amenities: Vec<String>,
}

impl Criteria {
    /// Whether a location of a merchant meets them all.
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

    /// Whether anything is demanded of a location, so that a merchant without one cannot match.
    #[must_use]
    pub fn concern_locations(&self) -> bool {
        self.open_at.is_some()
            || !self.methods.is_empty()
            || self.within.is_some()
            || self.place.is_some()
            || !self.amenities.is_empty()
    }
}

/// Every point that is at most so far from a centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circle {
    /// The centre.
    pub center: Point,
    /// The distance in metres along the ground, rim included.
    pub max: f64,
}

impl Circle {
    /// Every bit of it, for telling queries apart.
    pub(super) fn bits(self) -> [u64; 3] {
        [self.center.latitude(), self.center.longitude(), self.max].map(f64::to_bits)
    }

    /// Whether a point lies in it.
    #[must_use]
    pub fn holds(self, point: Point) -> bool {
        self.center.distance(point) <= self.max
    }
}

/// What makes one of equals come first. It never decides what is found.
///
/// It tells of the buyer: `Debug` shows nothing of it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Preference {
    /// Roughly where the buyer is.
    pub place: Place,
    /// What the buyer is after, in words.
    pub intent: Option<String>,
}

impl fmt::Debug for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Preference(..)")
    }
}

/// One page of what a query found, the best match first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page<T> {
    /// What was found.
    pub hits: Vec<T>,
    /// The position after which the next page starts, if there is one. Following positions neither repeats nor skips
    /// anything, even if the directory changes in between.
    pub next: Option<Vec<u8>>,
    /// How many the query finds in all, if the directory knows.
    pub total: Option<u64>,
}

/// A merchant that a query found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// The id of the merchant.
    pub merchant: String,
    /// The ids of the locations that meet the criteria, the nearest first where there is something to measure from.
    pub locations: Vec<String>,
}

/// A location that a query found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationHit {
    /// The id of the merchant.
    pub merchant: String,
    /// The id of the location.
    pub location: String,
}
