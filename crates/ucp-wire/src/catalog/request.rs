//! Catalog requests on the wire, and their conversion to domain requests.
//!
//! The older spellings of the founding documents are accepted in every release.

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer,
    de::{DeserializeOwned, Error as _},
};
use serde_json::{Map, Number, Value, json};
use ucp_core::{
    Refusal,
    catalog::{self, detail, filter, lookup, product::SelectedOption, search},
    money::Amount,
};

/// Converts the payload of a search to a domain request.
///
/// # Errors
/// A value that the schema accepts and the wire type does not.
pub(crate) fn search(payload: Value, languages: &[String]) -> Result<search::Request, Refusal> {
    Ok(parsed::<SearchRequest>(payload)?.into_domain(languages))
}

/// Converts the payload of a lookup to a domain request.
///
/// # Errors
/// A value that the schema accepts and the wire type does not.
pub(crate) fn lookup(payload: Value, languages: &[String]) -> Result<lookup::Request, Refusal> {
    Ok(parsed::<LookupRequest>(payload)?.into_domain(languages))
}

/// Converts the payload of `get_product` to a domain request.
///
/// # Errors
/// A value that the schema accepts and the wire type does not.
pub(crate) fn product(payload: Value, languages: &[String]) -> Result<detail::Request, Refusal> {
    Ok(parsed::<ProductRequest>(payload)?.into_domain(languages))
}

/// Deserializes a payload. It passed the schema, so a failure is one that the schema cannot express.
fn parsed<T: DeserializeOwned>(payload: Value) -> Result<T, Refusal> {
    serde_json::from_value(payload)
        .map_err(|error| Refusal::invalid("$", format!("The request cannot be read: {error}.")))
}

/// Rewrites the spellings of the founding documents: `context.country`, `context.region`, and `filters.category` with
/// one category or several.
pub(crate) fn modernize(payload: &mut Value) {
    modernize_context(payload);
    if let Some(filters) = payload.get_mut("filters").and_then(Value::as_object_mut) {
        rename(filters, "category", "categories");
        if let Some(single @ Value::String(_)) = filters.get_mut("categories") {
            *single = Value::Array(vec![single.take()]);
        }
    }
}

/// Rewrites the older spellings of the context: `context.country` and `context.region`.
pub(crate) fn modernize_context(payload: &mut Value) {
    if let Some(context) = payload.get_mut("context").and_then(Value::as_object_mut) {
        rename(context, "country", "address_country");
        rename(context, "region", "address_region");
    }
}

/// Renames a member, unless the new name is there already.
pub(crate) fn rename(object: &mut Map<String, Value>, old: &str, new: &str) {
    if !object.contains_key(new)
        && let Some(value) = object.shift_remove(old)
    {
        object.insert(new.to_owned(), value);
    }
}

/// A catalog search. Needs a `query` that is not blank or at least one filter.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(
    rename = "SearchRequest",
    extend("anyOf" = [
        { "properties": { "query": { "type": "string", "pattern": "\\S" } }, "required": ["query"] },
        { "properties": { "filters": { "minProperties": 1 } }, "required": ["filters"] },
    ]),
    example = json!({ "query": "blue running shoes", "filters": { "price": { "max": 15000 } }, "pagination": { "limit": 3 } })
)]
pub(crate) struct SearchRequest {
    /// The words to search for; `*` finds all products.
    #[serde(default)]
    #[schemars(length(max = 4_096))]
    query: Option<String>,
    /// Hints about the buyer.
    #[serde(default)]
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    signals: Option<Signals>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    attribution: Option<Attribution>,
    /// Filters on the products.
    #[serde(default)]
    filters: Option<SearchFilters>,
    /// The page to return.
    #[serde(default)]
    pagination: Option<Pagination>,
}

/// A lookup of products and variants by ID.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "LookupRequest", example = json!({ "ids": ["prod_abc123", "TMX-GRN-11"], "context": { "currency": "EUR" } }))]
pub(crate) struct LookupRequest {
    /// Product IDs, variant IDs, SKUs, handles and barcodes, in any mixture; at most 100 different ones.
    #[schemars(length(min = 1))]
    ids: Vec<String>,
    /// Filters on the variants that the IDs name.
    #[serde(default)]
    filters: Option<SearchFilters>,
    /// Hints about the buyer.
    #[serde(default)]
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    signals: Option<Signals>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    attribution: Option<Attribution>,
}

/// A request for one product in full, with the options that the buyer selected so far.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(
    rename = "GetProductRequest",
    example = json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Blue" }], "preferences": ["Color", "Size"] })
)]
pub(crate) struct ProductRequest {
    /// A product ID or a variant ID.
    id: String,
    /// The buyer's choices so far, at most one per option. A variant ID overrules them.
    #[serde(default)]
    #[schemars(length(max = 100))]
    selected: Option<Vec<SelectedOption>>,
    /// Names of options, the most important first. If no variant has all choices, the choice of the last option is
    /// dropped first.
    #[serde(default)]
    #[schemars(length(max = 100))]
    preferences: Option<Vec<String>>,
    /// Filters on the variants, applied after the choices.
    #[serde(default)]
    filters: Option<SearchFilters>,
    /// Hints about the buyer.
    #[serde(default)]
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    signals: Option<Signals>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    attribution: Option<Attribution>,
}

/// Hints about the buyer. They select language and currency if the shop has them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Context {
    /// The country, preferably as ISO 3166-1 alpha-2 code.
    #[serde(default)]
    pub(crate) address_country: Option<String>,
    /// The region of the country.
    #[serde(default)]
    pub(crate) address_region: Option<String>,
    /// The postal code.
    #[serde(default)]
    pub(crate) postal_code: Option<String>,
    /// The buyer's intent, as free text.
    #[serde(default)]
    pub(crate) intent: Option<String>,
    /// The language to answer in, as BCP 47 tag; overrules `Accept-Language`.
    #[serde(default)]
    pub(crate) language: Option<String>,
    /// The currency to show prices in, as ISO 4217 code; also the currency of price filters.
    #[serde(default)]
    pub(crate) currency: Option<String>,
    /// Claims about benefits that the buyer is entitled to. Unknown ones are ignored.
    #[serde(default)]
    pub(crate) eligibility: Option<Vec<Claim>>,
}

/// Hints about the buyer. They select language and currency if the shop has them.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Context")]
pub(crate) struct ContextRequest {
    #[serde(flatten)]
    hints: Context,
    /// ID of a location of the business that the buyer prefers.
    #[serde(default)]
    location: Option<String>,
    /// The payment handlers that the buyer prefers, in order of preference.
    #[serde(default)]
    payment: Option<Vec<PreferredHandler>>,
}

/// A payment handler that the buyer prefers.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
struct PreferredHandler {
    /// Reverse-domain name of the handler.
    #[schemars(regex(pattern = r"^[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?)+$"))]
    handler: String,
    /// The instrument types that the buyer prefers, in order of preference.
    #[serde(default)]
    types: Option<Vec<String>>,
}

/// A claim, as a reverse-domain name.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
pub(crate) struct Claim(pub(crate) Value);

/// Observations of the platform about the buyer's environment, by reverse-domain name.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Signals {
    #[expect(dead_code, reason = "signals are opaque here")]
    #[serde(flatten)]
    observed: Map<String, Value>,
}

/// Referral and campaign parameters of the platform. They never change an answer.
#[derive(Debug, Deserialize, JsonSchema)]
struct Attribution {
    #[expect(dead_code, reason = "attribution is opaque here")]
    #[serde(flatten)]
    parameters: Map<String, Value>,
}

/// Filters; one and the same variant has to pass all of them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct SearchFilters {
    /// Categories, at least one of which has to match, by `value` or by the beginning of a path such as `Footwear >
    /// Running`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    categories: Option<Vec<String>>,
    /// Range of the price.
    #[serde(default)]
    price: Option<PriceFilter>,
    /// `true` to leave out variants that cannot be bought now.
    #[serde(default)]
    available: Option<bool>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Range of the price of a variant, both bounds inclusive, in minor units of `context.currency`.
#[derive(Debug, Deserialize, JsonSchema)]
struct PriceFilter {
    /// The lowest price.
    #[serde(default)]
    min: Option<Amount>,
    /// The highest price.
    #[serde(default)]
    max: Option<Amount>,
}

/// The page to return.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "PaginationRequest")]
struct Pagination {
    /// The cursor of an earlier answer to the same query.
    #[serde(default)]
    cursor: Option<String>,
    /// Maximum number of products per page, 10 if absent; more than 50 are never returned.
    #[serde(default, deserialize_with = "limit")]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

/// Deserializes a page size. Integers beyond `u64` become `u64::MAX`.
pub(crate) fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Number::deserialize(deserializer)?;
    // A limit beyond the range of an integer is still a limit: it is clamped like any other.
    let whole = number
        .as_u64()
        .or_else(|| number.as_f64().filter(|float| float.fract() == 0.0 && *float >= 1.0).map(|_| u64::MAX));
    let small = ucp_core::json::integer(&number).and_then(|integer| u64::try_from(integer).ok());
    small.or(whole).map(Some).ok_or_else(|| D::Error::custom("a limit is an integer"))
}

impl Context {
    fn into_domain(this: Option<Self>, languages: &[String]) -> catalog::Context {
        let this = this.unwrap_or_default();
        catalog::Context {
            country: this.address_country,
            languages: this.language.into_iter().chain(languages.iter().cloned()).collect(),
            currency: this.currency,
            customer_group: None,
        }
    }
}

impl SearchFilters {
    fn into_domain(this: Option<Self>) -> filter::Filters {
        let this = this.unwrap_or_default();
        filter::Filters {
            categories: this.categories,
            price: this.price.map(|price| filter::PriceFilter { min: price.min, max: price.max }),
            available: this.available,
            unknown: this.others.into_iter().map(|(name, _)| name).collect(),
        }
    }
}

impl SearchRequest {
    fn into_domain(self, languages: &[String]) -> search::Request {
        let pagination = self.pagination.unwrap_or_default();
        search::Request {
            query: self.query,
            context: Context::into_domain(self.context, languages),
            filters: SearchFilters::into_domain(self.filters),
            cursor: pagination.cursor,
            limit: pagination.limit.map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
        }
    }
}

impl LookupRequest {
    fn into_domain(self, languages: &[String]) -> lookup::Request {
        lookup::Request {
            ids: self.ids,
            filters: SearchFilters::into_domain(self.filters),
            context: Context::into_domain(self.context, languages),
        }
    }
}

impl ProductRequest {
    fn into_domain(self, languages: &[String]) -> detail::Request {
        detail::Request {
            id: self.id,
            selected: self.selected.unwrap_or_default(),
            preferences: self.preferences.unwrap_or_default(),
            filters: SearchFilters::into_domain(self.filters),
            context: Context::into_domain(self.context, languages),
        }
    }
}
