//! `search_merchants`: merchants by words, filters or both (draft *Merchant* capability).

use super::{
    Context,
    address::AddressPlace,
    criteria::{Criteria, Policy},
    geo::{METRES_PER_KILOMETRE, METRES_PER_MILE},
    listing::Listing,
    record::{CombinedMethod, Method, PostalAddress},
};
use crate::{Refusal, catalog::filter::CategoryPath, message::Message};

/// Request of a search.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Request {
    /// Words to search for; blank matches every merchant.
    pub query: String,
    /// Hints about the buyer.
    pub context: Context,
    /// Filters on merchants.
    pub filters: Filters,
    /// Cursor of an earlier answer, after which the page begins.
    pub cursor: Option<String>,
    /// Requested size of a page, 1 to [`MAX_LIMIT`](super::MAX_LIMIT).
    pub limit: Option<u64>,
}

/// Filters of a request. One location has to pass all of them, except for the category.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filters {
    /// Category; categories below it match too.
    pub category: Option<String>,
    /// `true` to match only locations that are open now; `false` does not filter.
    pub open_now: Option<bool>,
    /// Fulfillment method.
    pub fulfillment_method: Option<CombinedMethod>,
    /// Area or address of the location.
    pub location: Option<LocationFilter>,
    /// Names of filters that this gateway does not know.
    pub unknown: Vec<String>,
}

/// Location of a merchant: near an address, or at it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LocationFilter {
    /// Address. Without a radius, its country, region, town and postal code have to be those of the location.
    pub address: Option<PostalAddress>,
    /// Maximum distance of the location from the address.
    pub radius: Option<Radius>,
}

/// A distance in the caller's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Radius {
    /// Number, at least 0.
    pub value: f64,
    /// Unit.
    pub unit: Unit,
}

/// A unit of length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unit {
    /// 1,000 meters.
    Kilometre,
    /// 1,609.344 meters.
    Mile,
}

impl Radius {
    /// Converts the distance to meters. A finite distance stays finite: it is cut to the largest number.
    pub fn metres(self) -> f64 {
        let metres = self.value
            * match self.unit {
                Unit::Kilometre => METRES_PER_KILOMETRE,
                Unit::Mile => METRES_PER_MILE,
            };
        if self.value.is_finite() { metres.min(f64::MAX) } else { metres }
    }
}

/// A page of merchants.
#[derive(Debug)]
pub struct Found {
    /// Merchants, the best match first.
    pub merchants: Vec<Listing>,
    /// Cursor of the next page, if there is one.
    pub cursor: Option<String>,
    /// Total number of merchants, if the directory knows it.
    pub total: Option<u64>,
    /// Messages.
    pub messages: Vec<Message>,
}

impl Filters {
    /// Checks that the filters are known and valid. Fails with a refusal of the first filter that is not, with its
    /// path.
    pub fn check(&self, policy: &Policy) -> Result<(), Refusal> {
        self.criteria()?;
        self.around(policy).map(drop)
    }

    /// Converts the filters to criteria, except for those that need a clock or a geocoder; `None` for an address that
    /// does not exist. Fails with a refusal of the first filter that is unknown or invalid, with its path.
    pub fn criteria(&self) -> Result<Option<Criteria>, Refusal> {
        known(&self.unknown, "`category`, `open_now`, `fulfillment_method` and `location`")?;
        let category = match self.category.as_deref() {
            Some(category) if category.split('>').any(|segment| segment.trim().is_empty()) => {
                return Err(Refusal::invalid("$.filters.category", "The category has an empty part.")
                    .accepting("a category such as `Restaurants` or `Restaurants > Pizza`"));
            }
            category => category.map(CategoryPath::new),
        };
        let methods = match self.fulfillment_method {
            Some(CombinedMethod::Shipping) => vec![Method::Delivery, Method::Shipping],
            Some(CombinedMethod::Pickup) => vec![Method::Pickup],
            None => Vec::new(),
        };
        let place = match &self.location {
            Some(LocationFilter { address: Some(address), radius: None }) => {
                let members = [
                    &address.address_country,
                    &address.address_region,
                    &address.address_locality,
                    &address.postal_code,
                ];
                if members.into_iter().flatten().all(String::is_empty) {
                    return Err(Refusal::invalid("$.filters.location.address", "The address names no place.").accepting(
                        "at least one of `address_country`, `address_region`, `address_locality` and `postal_code`; or a `radius`",
                    ));
                }
                let place = AddressPlace::of(address);
                // An address of blanks and punctuation names no place, and must not match every place.
                if place.is_empty() {
                    return Ok(None);
                }
                Some(place)
            }
            _ => None,
        };
        Ok(Some(Criteria { category, methods, place, ..Criteria::default() }))
    }

    /// Returns the address and the radius around it, if there is a radius. Fails with a refusal of an address or a
    /// radius that is invalid, with its path.
    pub fn around(&self, policy: &Policy) -> Result<Option<(&PostalAddress, Radius)>, Refusal> {
        let Some(LocationFilter { address, radius }) = &self.location else { return Ok(None) };
        match (address, radius) {
            (None, None) => Err(Refusal::invalid("$.filters.location", "The location filter says nothing.")
                .accepting("an `address`, with or without a `radius`")),
            (None, Some(_)) => Err(Refusal::invalid("$.filters.location", "A radius requires a center.")
                .accepting("an `address` beside the `radius`")),
            (Some(_), None) => Ok(None),
            (Some(address), Some(radius)) => {
                if *address == PostalAddress::default() {
                    return Err(Refusal::invalid("$.filters.location.address", "The address says nothing.")
                        .accepting("for example a `postal_code` with an `address_country`"));
                }
                within_bounds(policy, radius.metres(), "$.filters.location.radius.value")?;
                Ok(Some((address, *radius)))
            }
        }
    }
}

/// Refuses filters that this gateway does not know: without them, the answer would be wider than the request.
pub(super) fn known(unknown: &[String], known: &str) -> Result<(), Refusal> {
    let Some(name) = unknown.first() else { return Ok(()) };
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(64).collect();
    Err(Refusal::invalid(format!("$.filters['{}']", name.replace('\'', "\\'")), format!("Unknown filter `{name}`."))
        .accepting(format!("the filters {known}")))
}

/// Refuses a radius that is invalid or larger than the operator allows.
pub(super) fn within_bounds(policy: &Policy, metres: f64, path: &str) -> Result<(), Refusal> {
    if !(metres.is_finite() && metres >= 0.0) {
        return Err(Refusal::invalid(path, "The radius must be a distance.").accepting("a number that is at least 0"));
    }
    match policy.max_radius {
        Some(max) if metres > max => Err(Refusal::invalid(path, "The radius is larger than this directory searches.")
            .accepting(format!("at most {max} meters ({:.1} km)", max / METRES_PER_KILOMETRE))),
        _ => Ok(()),
    }
}
