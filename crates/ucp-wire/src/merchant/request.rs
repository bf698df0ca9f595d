//! What platforms ask of a directory.
//!
//! The schemas say everything that is refused. What goes beyond the shape of a request is judged by the domain, which says
//! better what would be accepted: such keywords are named in `x-left-to-domain` ([`crate::schema`]). Filters that nobody
//! here knows are told to it by name: left alone they would find more than was asked for. Requests hold addresses of buyers, so that nothing of one is repeated in an error.

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

use crate::catalog::request::{self as catalog, ContextRequest, Signals};

/// A category none of whose parts is blank: of each something is neither `>` nor white space, as Unicode has it.
const CATEGORY: &str = concat!(
    r"^[^>]*[^>\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^>]*",
    r"(>[^>]*[^>\u0009-\u000d\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000][^>]*)*$"
);

/// A reverse-domain name.
const AMENITY: &str = r"^[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?)+$";

/// An instant of RFC 3339 before the year 9999, in the calendar: days of months, leap years and all.
const INSTANT: &str = concat!(
    r"^(?:(?:[0-8][0-9]{3}|9[0-8][0-9]{2}|99[0-8][0-9]|999[0-8])",
    r"-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))",
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)",
    r"[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]{1,9})?(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])$"
);

/// The members of an address any of which names a place.
fn named_places() -> Vec<Value> {
    let named = |member: &str| json!({ "required": [member], "properties": { member: { "minLength": 1 } } });
    ["address_country", "address_region", "address_locality", "postal_code"].map(named).into()
}

/// What merchants to find.
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
    /// The words to look for; empty finds every merchant.
    #[schemars(length(max = 4_096))]
    query: String,
    /// The buyer's circumstances.
    #[serde(default)]
    context: Option<MerchantContext>,
    /// What merchants have to be.
    #[serde(default)]
    filters: Option<MerchantSearchFilters>,
    /// Which page.
    #[serde(default)]
    pagination: Option<MerchantPagination>,
}

/// What is asked about a merchant beside its id.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(example = json!({ "context": { "country": "US" } }))]
pub(crate) struct GetMerchantRequest {
    /// The buyer's circumstances.
    #[serde(default)]
    context: Option<MerchantContext>,
}

/// The buyer's circumstances, as hints: they decide which of equal merchants comes first.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct MerchantContext {
    /// The country, as ISO 3166-1 alpha-2 code.
    #[serde(default)]
    #[schemars(regex(pattern = "^[A-Z]{2}$"))]
    country: Option<String>,
    /// The region of the country.
    #[serde(default)]
    region: Option<String>,
    /// The postal code.
    #[serde(default)]
    postal_code: Option<String>,
    /// What the buyer is after, in free words.
    #[serde(default)]
    intent: Option<String>,
    /// The language to answer in, as BCP 47 tag; overrules `Accept-Language`.
    #[serde(default)]
    language: Option<String>,
}

/// Filters. One and the same location has to pass all of them but the category, which is the merchant's. Unknown ones are
/// refused.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-left-to-domain" = ["additionalProperties"]))]
pub(crate) struct MerchantSearchFilters {
    /// A category such as `Restaurants > Pizza`; what lies below it counts too. No part of it is blank.
    #[serde(default)]
    #[schemars(extend("pattern" = CATEGORY, "x-left-to-domain" = ["pattern"]))]
    category: Option<String>,
    /// Whether only locations that are known to be open now count; `false` asks for nothing.
    #[serde(default)]
    open_now: Option<bool>,
    /// How goods have to reach the buyer: `shipping` by whomever, `pickup` by the buyer.
    #[serde(default)]
    fulfillment_method: Option<CombinedMethod>,
    /// Where the location has to be.
    #[serde(default)]
    location: Option<MerchantLocationFilter>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Where a location has to be: within a radius around an address, or, without one, in the country, region, town and postal
/// code that the address names, of which it has to name one.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend(
    "required" = ["address"],
    "anyOf" = [{ "required": ["radius"] }, { "properties": { "address": { "anyOf": named_places() } } }],
    "additionalProperties" = false,
    "x-left-to-domain" = ["required", "anyOf", "additionalProperties"],
))]
pub(crate) struct MerchantLocationFilter {
    /// The address.
    #[serde(default)]
    #[schemars(
        with = "Option<buyer::PostalAddress>",
        extend("minProperties" = 1, "x-left-to-domain" = ["minProperties"])
    )]
    address: Option<PostalAddress>,
    /// How far from the address the location may be.
    #[serde(default)]
    radius: Option<Radius>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// A distance along the ground.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "Distance")]
struct Radius {
    /// The number.
    #[schemars(range(min = 0))]
    value: f64,
    /// Of what.
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

/// Which page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct MerchantPagination {
    /// The cursor of an earlier answer to the same query.
    #[serde(default)]
    cursor: Option<String>,
    /// How many merchants to return at once, 10 when absent.
    #[serde(default, deserialize_with = "catalog::limit")]
    #[schemars(range(min = 1, max = 25))]
    limit: Option<u64>,
}

/// What locations to find. Everything that is demanded has to hold.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "LocationSearchRequest", example = json!({
    "query": "pizza",
    "distance": { "center": { "latitude": 37.7898, "longitude": -122.3942 }, "max": 5000 },
    "filters": { "hours": { "open_at": "2026-11-20T18:30:00-08:00" } },
}))]
pub(crate) struct LocationSearchRequest {
    /// The words to look for.
    #[serde(default)]
    #[schemars(length(max = 4_096))]
    query: Option<String>,
    /// The buyer's circumstances.
    #[serde(default)]
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<catalog::Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    signals: Option<Signals>,
    /// How near locations have to be.
    #[serde(default)]
    distance: Option<LocationDistance>,
    /// Whom locations have to serve. This directory does not know, and refuses it.
    #[serde(default)]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 1, "not" = {}, "x-left-to-domain" = ["not"]))]
    serves: Option<Map<String, Value>>,
    /// What locations have to be.
    #[serde(default)]
    filters: Option<LocationFilter>,
    /// Which page.
    #[serde(default)]
    pagination: Option<LocationPagination>,
}

/// What locations to look up. What is demanded beside the identifiers narrows what they name.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "LocationLookupRequest", example = json!({ "ids": ["loc_night_owl_soma"] }))]
pub(crate) struct LocationLookupRequest {
    /// Identifiers of locations; at most 100 different ones are looked up.
    #[schemars(length(min = 1))]
    ids: Vec<String>,
    /// How near locations have to be.
    #[serde(default)]
    distance: Option<LocationDistance>,
    /// Whom locations have to serve. This directory does not know, and refuses it.
    #[serde(default)]
    #[schemars(extend("minProperties" = 1, "maxProperties" = 1, "not" = {}, "x-left-to-domain" = ["not"]))]
    serves: Option<Map<String, Value>>,
    /// What locations have to be.
    #[serde(default)]
    filters: Option<LocationFilter>,
    /// The buyer's circumstances.
    #[serde(default)]
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<catalog::Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    signals: Option<Signals>,
}

/// A circle on the ground.
#[derive(Debug, Deserialize, JsonSchema)]
struct LocationDistance {
    /// Its centre.
    center: Center,
    /// Its radius in metres, rim included.
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

/// Filters; a location has to pass all of them. Unknown ones are refused.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-left-to-domain" = ["additionalProperties"]))]
struct LocationFilter {
    /// When it has to be open.
    #[serde(default)]
    hours: Option<HoursFilter>,
    /// What it has to have, by reverse-domain name.
    #[serde(default)]
    #[schemars(
        length(max = 100),
        extend("items" = json!({ "type": "string", "pattern": AMENITY, "x-left-to-domain": ["pattern"] }))
    )]
    amenities: Option<Vec<String>>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// When a location has to be open.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(extend("additionalProperties" = false, "x-left-to-domain" = ["additionalProperties"]))]
struct HoursFilter {
    /// An RFC 3339 instant with `Z` or a numeric offset.
    #[schemars(extend("pattern" = INSTANT, "x-left-to-domain" = ["pattern"]))]
    open_at: String,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Which page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct LocationPagination {
    /// The cursor of an earlier answer to the same query.
    #[serde(default)]
    cursor: Option<String>,
    /// How many locations to return at once, 10 when absent; more than 25 are never returned.
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

/// A search for merchants, in the domain's words.
///
/// # Errors
/// What the schema does not see.
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

/// What is asked about a merchant, in the domain's words.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn get_merchant(id: String, payload: Value, languages: &[String]) -> Result<detail::Request, Refusal> {
    let GetMerchantRequest { context } = parsed(payload)?;
    Ok(detail::Request { id, context: MerchantContext::into_domain(context, languages) })
}

/// A search for locations, in the domain's words.
///
/// # Errors
/// What the schema does not see.
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

/// A lookup of locations, in the domain's words.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn lookup_locations(payload: Value, languages: &[String]) -> Result<location::LookupRequest, Refusal> {
    let stated: LocationLookupRequest = parsed(payload)?;
    Ok(location::LookupRequest {
        ids: stated.ids,
        demands: demands(stated.distance, stated.serves, stated.filters),
        context: context(stated.context, languages),
    })
}

/// A payload as its wire type. What the schema accepts parses.
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

/// The names of members that are not known, here and in the member `inner`.
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
        Self {
            category,
            open_now,
            fulfillment_method: fulfillment_method.map(|method| match method {
                CombinedMethod::Shipping => search::FulfillmentMethod::Shipping,
                CombinedMethod::Pickup => search::FulfillmentMethod::Pickup,
            }),
            location,
            unknown: names(others, within, "location"),
        }
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
