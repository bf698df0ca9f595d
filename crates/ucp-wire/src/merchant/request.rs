//! Directory requests on the wire, and their conversion to domain requests.
//!
//! The schemas describe everything that is refused. Constraints beyond the shape of a request are checked by the
//! domain, which gives better hints about accepted values: their keywords are named in `x-left-to-domain`
//! ([`crate::schema`]). Unknown filters are passed to the domain by name: ignoring them would find more than was asked
//! for. Requests hold addresses of buyers, so errors never repeat a value. Conversions fail for a value that the schema accepts
//! and the wire type does not.

use schemars::JsonSchema;
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::{Map, Value, json};
use ucp_core::{
    Refusal,
    merchant::{
        self, detail, location,
        record::{CombinedMethod, PostalAddress},
        search,
    },
    purchase::buyer,
};

use crate::{
    catalog::request::{self as catalog, ContextRequest, Signals},
    purchase::consent::REVERSE_DOMAIN,
};

/// Pattern of a category without blank parts: each part has a character that is neither `>` nor Unicode white space.
const CATEGORY: &str = concat!(
    r"^[^>]*[^>\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^>]*",
    r"(>[^>]*[^>\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^>]*)*$"
);

/// Pattern of an RFC 3339 instant before the year 9999, with valid days of months and leap years.
const INSTANT: &str = concat!(
    r"^(?:(?:[0-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])",
    r"-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))",
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)",
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]{1,9})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"
);

/// Returns the schemas of which an address without a radius must match one: each requires one member that names an
/// area.
fn named_places() -> Vec<Value> {
    let named = |member: &str| json!({ "required": [member], "properties": { member: { "minLength": 1 } } });
    ["address_country", "address_region", "address_locality", "postal_code"].map(named).into()
}

/// A merchant search.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(example = json!({
    "query": "late-night pizza",
    "filters": {
        "category": "Restaurants",
        "open_now": true,
        "location": {
            "address": { "postal_code": "94105", "address_country": "US" },
            "radius": { "value": 8, "unit": "mi" },
        },
    },
}))]
pub(crate) struct MerchantSearchRequest {
    /// Words to search for. Empty finds every merchant.
    #[schemars(length(max = 4_096))]
    query: String,
    /// Hints about the buyer.
    context: Option<MerchantContext>,
    /// Filters, all of which one location must match. Unknown filters are rejected.
    filters: Option<MerchantSearchFilters>,
    /// Page to return.
    pagination: Option<MerchantPagination>,
}

/// Options of a request for a merchant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(example = json!({ "context": { "country": "US" } }))]
pub(crate) struct GetMerchantRequest {
    /// Hints about the buyer.
    context: Option<MerchantContext>,
}

/// Hints about the buyer. They decide the language and the order of equal merchants.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct MerchantContext {
    /// ISO 3166-1 alpha-2 country code, such as `US`.
    #[schemars(regex(pattern = "^[A-Z]{2}$"))]
    country: Option<String>,
    /// Region, state or province.
    region: Option<String>,
    /// Postal code.
    postal_code: Option<String>,
    /// Wish of the buyer, as free text.
    intent: Option<String>,
    /// BCP 47 language tag, such as `de`. Overrides `Accept-Language`.
    language: Option<String>,
}

/// Filters on merchants. One location must match all of them, except `category`, which is the merchant's. Unknown
/// filters are rejected.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-left-to-domain" = ["additionalProperties"]))]
pub(crate) struct MerchantSearchFilters {
    /// Category such as `Restaurants > Pizza`, with all categories below it. No part may be blank.
    #[serde(default)]
    #[schemars(extend("pattern" = CATEGORY, "x-left-to-domain" = ["pattern"]))]
    category: Option<String>,
    /// `true` to find only locations that are known to be open now. `false` has no effect.
    open_now: Option<bool>,
    /// `shipping` by a carrier or the merchant, or `pickup` by the buyer.
    fulfillment_method: Option<CombinedMethod>,
    /// Area: a `radius` around an `address`, or an `address` that names country, region, town or postal code.
    location: Option<MerchantLocationFilter>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// The area of a location: within a radius around an address, or, without a radius, in the country, region, town and
/// postal code of the address, at least one of which is required.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend(
    "required" = ["address"],
    "anyOf" = [{ "required": ["radius"] }, { "properties": { "address": { "anyOf": named_places() } } }],
    "additionalProperties" = false,
    "x-left-to-domain" = ["required", "anyOf", "additionalProperties"],
))]
pub(crate) struct MerchantLocationFilter {
    /// The address.
    #[schemars(
        with = "Option<buyer::PostalAddress>",
        extend("minProperties" = 1, "x-left-to-domain" = ["minProperties"])
    )]
    address: Option<PostalAddress>,
    /// Maximum distance from the address.
    radius: Option<Radius>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// A distance along the ground.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Distance")]
struct Radius {
    /// Number of units.
    #[schemars(range(min = 0))]
    value: f64,
    /// The unit.
    unit: Unit,
}

/// A unit of length.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
enum Unit {
    Km,
    Mi,
}

/// Page to return.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct MerchantPagination {
    /// Cursor from the previous page of the same search.
    #[schemars(extend("minLength" = 1, "x-left-to-domain" = ["minLength"]))]
    cursor: Option<String>,
    /// Merchants per page, 10 by default.
    #[serde(default, deserialize_with = "catalog::limit")]
    #[schemars(range(min = 1, max = 25))]
    limit: Option<u64>,
}

/// A location search. Locations must match all conditions.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "LocationSearchRequest", example = json!({
    "query": "pizza",
    "distance": { "center": { "latitude": 37.7898, "longitude": -122.3942 }, "max": 5000 },
    "filters": { "hours": { "open_at": "2026-11-20T18:30:00-08:00" } },
}))]
pub(crate) struct LocationSearchRequest {
    /// Words to search for.
    #[schemars(length(max = 4_096))]
    query: Option<String>,
    /// Hints about the buyer.
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<catalog::Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    signals: Option<Signals>,
    /// Circle that locations must be in.
    distance: Option<LocationDistance>,
    /// Area or address that locations must serve. Always rejected: this directory has no data about it.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 1, "not" = {}, "x-left-to-domain" = ["not"]))]
    serves: Option<Map<String, Value>>,
    /// Filters, all of which must match. Unknown filters are rejected.
    filters: Option<LocationFilter>,
    /// Page to return.
    pagination: Option<LocationPagination>,
}

/// A lookup of locations by ID. Further conditions narrow the result.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "LocationLookupRequest", example = json!({ "ids": ["loc_night_owl_soma"] }))]
pub(crate) struct LocationLookupRequest {
    /// Location IDs, up to 100. Duplicates count once.
    #[schemars(length(min = 1))]
    ids: Vec<String>,
    /// Circle that locations must be in.
    distance: Option<LocationDistance>,
    /// Area or address that locations must serve. Always rejected: this directory has no data about it.
    #[schemars(extend("minProperties" = 1, "maxProperties" = 1, "not" = {}, "x-left-to-domain" = ["not"]))]
    serves: Option<Map<String, Value>>,
    /// Filters, all of which must match. Unknown filters are rejected.
    filters: Option<LocationFilter>,
    /// Hints about the buyer.
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<catalog::Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    signals: Option<Signals>,
}

/// A circle on the ground.
#[derive(Debug, Deserialize, JsonSchema)]
struct LocationDistance {
    /// Center.
    center: Center,
    /// Radius in meters, included.
    #[schemars(range(min = 0))]
    max: f64,
}

/// A point on the Earth.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "GeoRequest")]
struct Center {
    /// WGS 84 latitude in degrees.
    #[schemars(range(min = -90, max = 90))]
    latitude: f64,
    /// WGS 84 longitude in degrees.
    #[schemars(range(min = -180, max = 180))]
    longitude: f64,
}

/// Filters. A location must match all of them. Unknown filters are rejected.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-left-to-domain" = ["additionalProperties"]))]
struct LocationFilter {
    /// Opening hours.
    hours: Option<HoursFilter>,
    /// Required amenities, as reverse-domain names.
    #[schemars(
        length(max = 100),
        extend("items" = json!({ "type": "string", "pattern": REVERSE_DOMAIN, "x-left-to-domain": ["pattern"] }))
    )]
    amenities: Option<Vec<String>>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Filter on opening hours.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-left-to-domain" = ["additionalProperties"]))]
struct HoursFilter {
    /// RFC 3339 time with offset at which the location is open, such as `2026-11-20T18:30:00-08:00`.
    #[schemars(extend("pattern" = INSTANT, "x-left-to-domain" = ["pattern"]))]
    open_at: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Page to return.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct LocationPagination {
    /// Cursor from the previous page of the same search.
    #[schemars(extend("minLength" = 1, "x-left-to-domain" = ["minLength"]))]
    cursor: Option<String>,
    /// Locations per page, 10 by default and 25 at most.
    #[serde(default, deserialize_with = "catalog::limit")]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

/// Rewrites the spellings of later releases that callers of the draft may use: `context.address_country` and
/// `context.address_region`.
pub(crate) fn modernize(payload: &mut Value) {
    if let Some(context) = payload.get_mut("context").and_then(Value::as_object_mut) {
        catalog::rename(context, "address_country", "country");
        catalog::rename(context, "address_region", "region");
    }
}

/// Converts the payload of a merchant search to a domain request.
pub(crate) fn search_merchants(payload: Value, languages: &[String]) -> Result<search::Request, Refusal> {
    let MerchantSearchRequest { query, context, filters, pagination } = parsed(payload)?;
    let MerchantPagination { cursor, limit } = pagination.unwrap_or_default();
    Ok(search::Request {
        query,
        context: MerchantContext::into_domain(context, languages),
        filters: filters.unwrap_or_default().into(),
        cursor,
        limit,
    })
}

/// Converts the payload of `get_merchant` to a domain request.
pub(crate) fn get_merchant(id: String, payload: Value, languages: &[String]) -> Result<detail::Request, Refusal> {
    let GetMerchantRequest { context } = parsed(payload)?;
    Ok(detail::Request { id, context: MerchantContext::into_domain(context, languages) })
}

/// Converts the payload of a location search to a domain request.
pub(crate) fn search_locations(payload: Value, languages: &[String]) -> Result<location::SearchRequest, Refusal> {
    let stated: LocationSearchRequest = parsed(payload)?;
    let LocationPagination { cursor, limit } = stated.pagination.unwrap_or_default();
    Ok(location::SearchRequest {
        query: stated.query,
        demands: demands(stated.distance, stated.serves, stated.filters),
        context: context(stated.context, languages),
        cursor,
        limit,
    })
}

/// Converts the payload of a location lookup to a domain request.
pub(crate) fn lookup_locations(payload: Value, languages: &[String]) -> Result<location::LookupRequest, Refusal> {
    let stated: LocationLookupRequest = parsed(payload)?;
    Ok(location::LookupRequest {
        ids: stated.ids,
        demands: demands(stated.distance, stated.serves, stated.filters),
        context: context(stated.context, languages),
    })
}

/// Deserializes a payload that passed the schema.
fn parsed<T: DeserializeOwned>(payload: Value) -> Result<T, Refusal> {
    serde_json::from_value(payload).map_err(|_| Refusal::invalid("$", "The request cannot be read."))
}

fn demands(
    distance: Option<LocationDistance>,
    serves: Option<Map<String, Value>>,
    filters: Option<LocationFilter>,
) -> location::Demands {
    let LocationFilter { hours, amenities, others } = filters.unwrap_or_default();
    let (open_at, within) = match hours {
        Some(HoursFilter { open_at, others }) => (Some(open_at), others),
        None => (None, Map::new()),
    };
    location::Demands {
        distance: distance.map(|LocationDistance { center, max }| location::Distance {
            latitude: center.latitude,
            longitude: center.longitude,
            max,
        }),
        serves: serves.and_then(|target| target.into_iter().next()).map(|(form, _)| form),
        open_at,
        amenities: amenities.unwrap_or_default(),
        unknown: names(others, within, "hours"),
    }
}

/// Returns the names of unknown members, those in the member `inner` with its name as prefix.
fn names(here: Map<String, Value>, within: Map<String, Value>, inner: &str) -> Vec<String> {
    let within = within.into_iter().map(|(name, _)| format!("{inner}.{name}"));
    here.into_iter().map(|(name, _)| name).chain(within).collect()
}

fn context(stated: Option<catalog::Context>, languages: &[String]) -> merchant::Context {
    let stated = stated.unwrap_or_default();
    merchant::Context {
        country: stated.address_country,
        region: stated.address_region,
        postal_code: stated.postal_code,
        intent: stated.intent,
        languages: stated.language.into_iter().chain(languages.iter().cloned()).collect(),
    }
}

impl MerchantContext {
    fn into_domain(this: Option<Self>, languages: &[String]) -> merchant::Context {
        let Self { country, region, postal_code, intent, language } = this.unwrap_or_default();
        let languages = language.into_iter().chain(languages.iter().cloned()).collect();
        merchant::Context { country, region, postal_code, intent, languages }
    }
}

impl From<MerchantSearchFilters> for search::Filters {
    fn from(stated: MerchantSearchFilters) -> Self {
        let MerchantSearchFilters { category, open_now, fulfillment_method, location, others } = stated;
        let (location, within) = match location {
            Some(MerchantLocationFilter { address, radius, others }) => {
                (Some(search::LocationFilter { address, radius: radius.map(Into::into) }), others)
            }
            None => (None, Map::new()),
        };
        Self { category, open_now, fulfillment_method, location, unknown: names(others, within, "location") }
    }
}

impl From<Radius> for search::Radius {
    fn from(Radius { value, unit }: Radius) -> Self {
        let unit = match unit {
            Unit::Km => search::Unit::Kilometre,
            Unit::Mi => search::Unit::Mile,
        };
        Self { value, unit }
    }
}
