//! The shapes of answers about merchants and locations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{
    catalog::product::{Description, Media},
    merchant::{
        hours::{DailyHours, ExceptionHours},
        record::{Amenity, CombinedMethod, FulfillmentConfig, PostalAddress},
    },
    message::Message,
    purchase::buyer,
};

use crate::{catalog::shape::Pagination, envelope::Success};

/// Merchants that a search found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MerchantSearchResponse")]
pub(crate) struct MerchantSearchResponse<'a> {
    pub(crate) ucp: Success<'a>,
    /// The merchants, the best match first.
    pub(crate) merchants: Vec<Merchant<'a>>,
    pub(crate) pagination: Pagination<'a>,
    /// Notes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
}

/// A merchant, or why there is none to show.
#[derive(Debug, Serialize, JsonSchema)]
// What some releases answer where nothing can be returned has a status, and would fit otherwise.
#[schemars(rename = "GetMerchantResponse", extend("not" = { "required": ["status"] }))]
pub(crate) struct GetMerchantResponse<'a> {
    pub(crate) ucp: Success<'a>,
    /// The merchant; absent where there is none to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) merchant: Option<Merchant<'a>>,
    /// Notes, such as `NOT_FOUND`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
}

/// Locations that a search found.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LocationSearchResponse")]
pub(crate) struct LocationSearchResponse<'a> {
    pub(crate) ucp: Success<'a>,
    /// The locations, the best match first.
    pub(crate) locations: Vec<Location<'a>>,
    pub(crate) pagination: Pagination<'a>,
    /// Notes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
}

/// Locations that identifiers name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LocationLookupResponse")]
pub(crate) struct LocationLookupResponse<'a> {
    pub(crate) ucp: Success<'a>,
    /// Each location once.
    pub(crate) locations: Vec<LookupLocation<'a>>,
    /// Notes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
}

/// A merchant of a directory.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Merchant<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// The name buyers know.
    pub(crate) name: &'a str,
    /// What the merchant offers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) description: Option<&'a Description>,
    /// The merchant's own page.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) url: Option<&'a str>,
    /// Where the merchant stands in a taxonomy, such as `Restaurants > Pizza`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) category: Option<&'a str>,
    /// Pictures; the first one stands for the merchant.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) media: &'a [Media],
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tags: &'a [String],
    /// Where the merchant is; in a search, what met the filters comes first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) locations: Vec<Location<'a>>,
    /// Which destinations and methods one order may combine. It does not say which methods there are.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<CombinationLimits>")]
    pub(crate) fulfillment_config: Option<&'a FulfillmentConfig>,
    /// What the merchant keeps beside the standard model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<&'a Map<String, Value>>,
    #[serde(flatten)]
    pub(crate) extra: &'a Map<String, Value>,
}

/// A place of business.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Location<'a> {
    /// The identifier.
    pub(crate) id: &'a str,
    /// The name buyers know.
    pub(crate) name: &'a str,
    /// Its postal address.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<buyer::PostalAddress>")]
    pub(crate) address: Option<&'a PostalAddress>,
    /// Where it is on the map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) geo: Option<Geo>,
    /// The IANA time zone that its hours are in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) timezone: Option<&'a str>,
    /// The weekly hours; unknown where absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) hours: Option<&'a [DailyHours]>,
    /// What replaces the weekly hours on single dates.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) exception_hours: &'a [ExceptionHours],
    /// What it has, by reverse-domain name.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<BTreeMap<String, Feature>>")]
    pub(crate) amenities: Option<&'a BTreeMap<String, Amenity>>,
    #[serde(flatten)]
    pub(crate) extra: &'a Map<String, Value>,
}

/// A point on the Earth.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
pub(crate) struct Geo {
    /// WGS 84 latitude in degrees.
    #[schemars(range(min = -90, max = 90))]
    pub(crate) latitude: f64,
    /// WGS 84 longitude in degrees.
    #[schemars(range(min = -180, max = 180))]
    pub(crate) longitude: f64,
}

/// A location, and which identifiers led to it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LookupLocation<'a> {
    #[serde(flatten)]
    pub(crate) location: Location<'a>,
    /// The identifiers of the request that led to this location.
    #[schemars(length(min = 1))]
    pub(crate) inputs: Vec<LocationInput<'a>>,
}

/// An identifier of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LocationInput<'a> {
    /// The identifier as sent.
    pub(crate) id: &'a str,
}

/// Something a location has.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Amenity")]
struct Feature {
    /// What it is, for buyers.
    description: String,
}

/// Which destinations and methods one order may combine.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "MerchantFulfillmentConfig")]
struct CombinationLimits {
    /// By method, whether one order may have several destinations.
    #[serde(skip_serializing_if = "Option::is_none")]
    allows_multi_destination: Option<SeveralDestinations>,
    /// The sets of methods that one order may combine.
    #[serde(skip_serializing_if = "Option::is_none")]
    allows_method_combinations: Option<Vec<Vec<CombinedMethod>>>,
}

/// By method, whether one order may have several destinations.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "MultiDestination", deny_unknown_fields)]
struct SeveralDestinations {
    /// Several addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    shipping: Option<bool>,
    /// Several locations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pickup: Option<bool>,
}
