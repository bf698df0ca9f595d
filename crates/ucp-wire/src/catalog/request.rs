//! What platforms ask of the catalog.
//!
//! The spellings of this project's founding documents, which are older, are taken in every release.

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

/// A search, in the domain's words.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn search(payload: Value, languages: &[String]) -> Result<search::Request, Refusal> {
    Ok(parsed::<SearchRequest>(payload)?.into_domain(languages))
}

/// A lookup, in the domain's words.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn lookup(payload: Value, languages: &[String]) -> Result<lookup::Request, Refusal> {
    Ok(parsed::<LookupRequest>(payload)?.into_domain(languages))
}

/// What a product page is asked, in the domain's words.
///
/// # Errors
/// What the schema does not see.
pub(crate) fn product(payload: Value, languages: &[String]) -> Result<detail::Request, Refusal> {
    Ok(parsed::<ProductRequest>(payload)?.into_domain(languages))
}

/// A payload as its wire type. What the schema accepts parses, so that a failure here is one the schema cannot see.
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

/// Rewrites the older spellings of circumstances: `context.country` and `context.region`.
pub(crate) fn modernize_context(payload: &mut Value) {
    if let Some(context) = payload.get_mut("context").and_then(Value::as_object_mut) {
        rename(context, "country", "address_country");
        rename(context, "region", "address_region");
    }
}

/// Gives a member its present name, unless that is there already.
pub(crate) fn rename(object: &mut Map<String, Value>, old: &str, new: &str) {
    if !object.contains_key(new)
        && let Some(value) = object.shift_remove(old)
    {
        object.insert(new.to_owned(), value);
    }
}

/// What to search for. Needs a `query` that is not blank or at least one filter.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(
    rename = "SearchRequest",
    extend("anyOf" = [
        { "properties": { "query": { "pattern": "\\S" } }, "required": ["query"] },
        { "properties": { "filters": { "minProperties": 1 } }, "required": ["filters"] },
    ]),
    example = json!({ "query": "blue running shoes", "filters": { "price": { "max": 15000 } }, "pagination": { "limit": 3 } })
)]
pub(crate) struct SearchRequest {
    /// The words to look for.
    #[serde(default)]
    #[schemars(length(max = 4_096))]
    query: Option<String>,
    /// The buyer's circumstances.
    #[serde(default)]
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    signals: Option<Signals>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    #[serde(default)]
    attribution: Option<Attribution>,
    /// What products have to be.
    #[serde(default)]
    filters: Option<SearchFilters>,
    /// Which page.
    #[serde(default)]
    pagination: Option<Pagination>,
}

/// What to look up.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "LookupRequest", example = json!({ "ids": ["prod_abc123", "TMX-GRN-11"], "context": { "currency": "EUR" } }))]
pub(crate) struct LookupRequest {
    /// Product ids, variant ids, SKUs, handles and barcodes, in any mixture; at most 100 different ones.
    #[schemars(length(min = 1))]
    ids: Vec<String>,
    /// What variants have to be; applied to what the identifiers name.
    #[serde(default)]
    filters: Option<SearchFilters>,
    /// The buyer's circumstances.
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

/// Which product, and what the buyer chose so far.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(
    rename = "GetProductRequest",
    example = json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Blue" }], "preferences": ["Color", "Size"] })
)]
pub(crate) struct ProductRequest {
    /// A product id or a variant id.
    id: String,
    /// The buyer's choices so far, at most one per option. A variant id overrules them.
    #[serde(default)]
    #[schemars(length(max = 100))]
    selected: Option<Vec<SelectedOption>>,
    /// Names of options, the most important first. When no variant has all choices, the last one named is given up first.
    #[serde(default)]
    #[schemars(length(max = 100))]
    preferences: Option<Vec<String>>,
    /// What variants have to be; applied after the choices.
    #[serde(default)]
    filters: Option<SearchFilters>,
    /// The buyer's circumstances.
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

/// The buyer's circumstances, as hints: they choose language and currency where the shop has them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Context {
    /// The country, best as ISO 3166-1 alpha-2 code.
    #[serde(default)]
    pub(crate) address_country: Option<String>,
    /// The region of the country.
    #[serde(default)]
    pub(crate) address_region: Option<String>,
    /// The postal code.
    #[serde(default)]
    pub(crate) postal_code: Option<String>,
    /// What the buyer is after, in free words.
    #[serde(default)]
    pub(crate) intent: Option<String>,
    /// The language to answer in, as BCP 47 tag; overrules `Accept-Language`.
    #[serde(default)]
    pub(crate) language: Option<String>,
    /// The currency to show prices in, as ISO 4217 code; also the denomination of price filters.
    #[serde(default)]
    pub(crate) currency: Option<String>,
    /// Claims about benefits the buyer is entitled to. Unknown ones are ignored.
    #[serde(default)]
    pub(crate) eligibility: Option<Vec<Claim>>,
}

/// The buyer's circumstances, as hints: they choose language and currency where the shop has them.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Context")]
pub(crate) struct ContextRequest {
    #[serde(flatten)]
    hints: Context,
    /// A place of the business that the buyer prefers, by the business's identifier.
    #[serde(default)]
    location: Option<String>,
    /// The payment handlers that the buyer prefers, the most wanted first.
    #[serde(default)]
    payment: Option<Vec<PreferredHandler>>,
}

/// A payment handler that the buyer prefers.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
struct PreferredHandler {
    /// Its reverse-domain name.
    #[schemars(regex(pattern = r"^[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?)+$"))]
    handler: String,
    /// The types of instruments that the buyer prefers there, the most wanted first.
    #[serde(default)]
    types: Option<Vec<String>>,
}

/// A claim, by reverse-domain name.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
pub(crate) struct Claim(pub(crate) Value);

/// What the platform observed about the buyer's environment, by reverse-domain name.
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

/// Filters; all of them have to hold for one and the same variant.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct SearchFilters {
    /// Categories, any of which will do, by `value` or by the beginning of a path such as `Footwear > Running`.
    #[serde(default)]
    #[schemars(length(max = 100))]
    categories: Option<Vec<String>>,
    /// Bounds for the price.
    #[serde(default)]
    price: Option<PriceFilter>,
    /// Whether to leave out what cannot be bought now.
    #[serde(default)]
    available: Option<bool>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Bounds for the price of a variant, both inclusive, in minor units of `context.currency`.
#[derive(Debug, Deserialize, JsonSchema)]
struct PriceFilter {
    /// The lowest price.
    #[serde(default)]
    min: Option<Amount>,
    /// The highest price.
    #[serde(default)]
    max: Option<Amount>,
}

/// Which page.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "PaginationRequest")]
struct Pagination {
    /// The cursor of an earlier answer to the same query.
    #[serde(default)]
    cursor: Option<String>,
    /// How many products to return at once, 10 when absent; more than 50 are never returned.
    #[serde(default, deserialize_with = "limit")]
    #[schemars(range(min = 1))]
    limit: Option<u64>,
}

/// A page size.
pub(crate) fn limit<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Number::deserialize(deserializer)?;
    // A limit beyond what an integer can hold is still a limit: it is clamped like any other.
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
