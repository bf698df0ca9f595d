//! Shapes of answers about merchants and locations.

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

/// Merchants that match a search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "MerchantSearchResponse")]
pub(crate) struct MerchantSearchResponse<'a> {
    pub(crate) ucp: Success<'a>,
    /// The merchants, best match first.
    pub(crate) merchants: Vec<Merchant<'a>>,
    pub(crate) pagination: Pagination<'a>,
    /// Messages about the search.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
}

/// A merchant, or the reasons why there is none.
#[derive(Debug, Serialize, JsonSchema)]
// Without this, the answer without a resource of some releases, which has a `status`, would match too.
#[schemars(rename = "GetMerchantResponse", extend("not" = { "required": ["status"] }))]
pub(crate) struct GetMerchantResponse<'a> {
    pub(crate) ucp: Success<'a>,
    /// The merchant; absent if there is none to show.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) merchant: Option<Merchant<'a>>,
    /// Messages, such as `NOT_FOUND`.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
}

/// Locations that match a search.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LocationSearchResponse")]
pub(crate) struct LocationSearchResponse<'a> {
    pub(crate) ucp: Success<'a>,
    /// The locations, best match first.
    pub(crate) locations: Vec<Location<'a>>,
    pub(crate) pagination: Pagination<'a>,
    /// Messages about the search.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
}

/// Locations that the IDs of a request name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "LocationLookupResponse")]
pub(crate) struct LocationLookupResponse<'a> {
    pub(crate) ucp: Success<'a>,
    /// The locations, each once.
    pub(crate) locations: Vec<LookupLocation<'a>>,
    /// Messages about the lookup.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) messages: &'a [Message],
}

/// A merchant of a directory.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Merchant<'a> {
    /// ID of the merchant.
    pub(crate) id: &'a str,
    /// Name that buyers know.
    pub(crate) name: &'a str,
    /// Description of what the merchant offers.
    pub(crate) description: Option<&'a Description>,
    /// URL of the merchant's website.
    #[schemars(extend("format" = "uri"))]
    pub(crate) url: Option<&'a str>,
    /// Category in a taxonomy, such as `Restaurants > Pizza`.
    pub(crate) category: Option<&'a str>,
    /// Images and other media; the first one represents the merchant.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) media: &'a [Media],
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tags: &'a [String],
    /// Locations of the merchant; in a search, those that pass the filters come first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) locations: Vec<Location<'a>>,
    /// Limits on combining destinations and methods in one order. It does not list the available methods.
    #[schemars(with = "Option<CombinationLimits>")]
    pub(crate) fulfillment_config: Option<&'a FulfillmentConfig>,
    /// Data of the merchant outside of the standard model.
    pub(crate) metadata: Option<&'a Map<String, Value>>,
    #[serde(flatten)]
    pub(crate) extra: &'a Map<String, Value>,
}

/// A place of business.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Location<'a> {
    /// ID of the location.
    pub(crate) id: &'a str,
    /// Name that buyers know.
    pub(crate) name: &'a str,
    /// Postal address.
    #[schemars(with = "Option<buyer::PostalAddress>")]
    pub(crate) address: Option<&'a PostalAddress>,
    /// Geographic coordinates.
    pub(crate) geo: Option<Geo>,
    /// IANA time zone of the hours.
    pub(crate) timezone: Option<&'a str>,
    /// Weekly opening hours; unknown if absent.
    pub(crate) hours: Option<&'a [DailyHours]>,
    /// Hours that replace the weekly hours on single dates.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) exception_hours: &'a [ExceptionHours],
    /// Amenities by reverse-domain name.
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

/// A location with the IDs of the request that name it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LookupLocation<'a> {
    #[serde(flatten)]
    pub(crate) location: Location<'a>,
    /// The IDs of the request that name this location.
    #[schemars(length(min = 1))]
    pub(crate) inputs: Vec<LocationInput<'a>>,
}

/// An ID of the request.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct LocationInput<'a> {
    /// The ID as sent.
    pub(crate) id: &'a str,
}

/// An amenity of a location.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Amenity")]
struct Feature {
    /// Description for buyers.
    description: String,
}

/// Limits on combining destinations and methods in one order.
#[expect(dead_code, reason = "states a shape and is never built")]
#[ucp_macros::omit_none]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "MerchantFulfillmentConfig")]
struct CombinationLimits {
    /// By method, `true` if one order may have several destinations.
    allows_multi_destination: Option<SeveralDestinations>,
    /// The sets of methods that one order may combine.
    allows_method_combinations: Option<Vec<Vec<CombinedMethod>>>,
}

/// By method, `true` if one order may have several destinations.
#[expect(dead_code, reason = "states a shape and is never built")]
#[ucp_macros::omit_none]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "MultiDestination", deny_unknown_fields)]
struct SeveralDestinations {
    /// `true` if several addresses are allowed.
    shipping: Option<bool>,
    /// `true` if several pickup locations are allowed.
    pickup: Option<bool>,
}
