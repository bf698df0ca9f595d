//! Criteria of a search for locations, and the policy of the operator, which limits them.

use jiff::Timestamp;
use serde::Deserialize;

use super::{
    address::AddressPlace,
    geo::Point,
    record::{Location, Merchant, Method},
};
use crate::catalog::filter::CategoryPath;

/// Policy of the operator of a directory.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Policy {
    /// Maximum radius of a search, in meters. Larger ones are refused, not reduced.
    pub max_radius: Option<f64>,
    /// Countries (`US`) and regions (`US-CA`), as ISO 3166 codes, whose buyers are shown no merchants.
    pub restricted_regions: Vec<String>,
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
    pub place: Option<AddressPlace>,
    /// Amenities, all of which the location has.
    pub amenities: Vec<String>,
}

impl Criteria {
    /// Returns `true` if a location of a merchant meets all criteria.
    pub fn admit(&self, merchant: &Merchant, location: &Location) -> bool {
        let category = || merchant.category.as_deref().map(CategoryPath::new);
        let methods = merchant.methods_at(location);
        let own_place = || location.address.as_ref().map(AddressPlace::of).unwrap_or_default();
        let open = |instant| location.schedule().ok().flatten().is_some_and(|schedule| schedule.open_at(instant));
        self.category.as_ref().is_none_or(|sought| category().is_some_and(|own| sought.contains(&own)))
            && (self.methods.is_empty() || self.methods.iter().any(|method| methods.contains(method)))
            && self.amenities.iter().all(|amenity| location.amenities.contains_key(amenity))
            && self.place.as_ref().is_none_or(|sought| sought.holds(&own_place()))
            && self.within.is_none_or(|circle| location.point().is_some_and(|point| circle.holds(point)))
            && self.open_at.is_none_or(open)
    }

    /// Returns `true` if there is a criterion for locations, so that a merchant without a location cannot match.
    pub fn concern_locations(&self) -> bool {
        self.open_at.is_some()
            || !self.methods.is_empty()
            || self.within.is_some()
            || self.place.is_some()
            || !self.amenities.is_empty()
    }
}

/// The points within a distance of a center.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Circle {
    /// Centre.
    pub center: Point,
    /// Maximum geodesic distance, in meters, inclusive.
    pub max: f64,
}

impl Circle {
    /// Returns all of its bits, for telling queries apart.
    pub fn bits(self) -> [u64; 3] {
        [self.center.latitude(), self.center.longitude(), self.max].map(f64::to_bits)
    }

    /// Returns `true` if a point is in the circle.
    pub fn holds(self, point: Point) -> bool {
        self.center.distance(point) <= self.max
    }
}
