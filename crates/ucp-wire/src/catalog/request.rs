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
pub(crate) fn search(payload: Value, languages: &[String]) -> Result<search::Request, Refusal> {
    Ok(parsed::<SearchRequest>(payload)?.into_domain(languages))
}

/// Converts the payload of a lookup to a domain request.
pub(crate) fn lookup(payload: Value, languages: &[String]) -> Result<lookup::Request, Refusal> {
    Ok(parsed::<LookupRequest>(payload)?.into_domain(languages))
}

/// Converts the payload of `get_product` to a domain request.
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

/// A catalog search: a `query` that is not blank, at least one filter, or both.
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
    /// Words to search for, or `*` for all products.
    #[schemars(length(max = 4_096))]
    query: Option<String>,
    /// Hints about the buyer.
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    signals: Option<Signals>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    attribution: Option<Attribution>,
    /// Filters on products.
    filters: Option<SearchFilters>,
    /// Page to return.
    pagination: Option<Pagination>,
}

/// A lookup of products and variants by ID.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(rename = "LookupRequest", example = json!({ "ids": ["prod_abc123", "TMX-GRN-11"], "context": { "currency": "EUR" } }))]
pub(crate) struct LookupRequest {
    /// Product IDs, variant IDs, SKUs, handles or barcodes, in any mixture, up to 100. Duplicates count once.
    #[schemars(length(min = 1))]
    ids: Vec<String>,
    /// Filters on the matching variants.
    filters: Option<SearchFilters>,
    /// Hints about the buyer.
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    signals: Option<Signals>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    attribution: Option<Attribution>,
}

/// A request for one product in full, with the options that the buyer selected so far.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(
    rename = "GetProductRequest",
    example = json!({ "id": "prod_abc123", "selected": [{ "name": "Color", "label": "Blue" }], "preferences": ["Color", "Size"] })
)]
pub(crate) struct ProductRequest {
    /// Product ID or variant ID.
    id: String,
    /// The buyer's choices so far, at most one per option. A variant ID overrules them.
    #[schemars(length(max = 100))]
    selected: Option<Vec<SelectedOption>>,
    /// Option names, most important first. If no variant has all choices, the choice of the last option is dropped
    /// first.
    #[schemars(length(max = 100))]
    preferences: Option<Vec<String>>,
    /// Filters on the variants, applied after the choices.
    filters: Option<SearchFilters>,
    /// Hints about the buyer.
    #[schemars(with = "Option<ContextRequest>")]
    context: Option<Context>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    signals: Option<Signals>,
    #[expect(dead_code, reason = "part of the shape; never decides about an answer")]
    attribution: Option<Attribution>,
}

/// Hints about the buyer. They select language and currency if the shop has them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub(crate) struct Context {
    /// ISO 3166-1 alpha-2 country code, such as `US`.
    pub(crate) address_country: Option<String>,
    /// Region, state or province.
    pub(crate) address_region: Option<String>,
    /// Postal code.
    pub(crate) postal_code: Option<String>,
    /// Wish of the buyer, as free text.
    pub(crate) intent: Option<String>,
    /// BCP 47 language tag, such as `de`. Overrides `Accept-Language`.
    pub(crate) language: Option<String>,
    /// ISO 4217 currency code, such as `EUR`. Of prices and price filters.
    pub(crate) currency: Option<String>,
    /// Benefits that the buyer claims, as reverse-domain names. Unknown ones are ignored.
    pub(crate) eligibility: Option<Vec<Claim>>,
}

/// Hints about the buyer. They select language and currency if the shop has them.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Context")]
pub(crate) struct ContextRequest {
    #[serde(flatten)]
    hints: Context,
    /// ID of the preferred location of the shop.
    location: Option<String>,
    /// Preferred payment handlers, best first.
    payment: Option<Vec<PreferredHandler>>,
}

/// A payment handler that the buyer prefers.
#[expect(dead_code, reason = "states a shape and is never built")]
#[derive(Debug, JsonSchema)]
struct PreferredHandler {
    /// Reverse-domain name of the handler.
    #[schemars(regex(pattern = r"^[a-z](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9_-]*[a-z0-9_])?)+$"))]
    handler: String,
    /// Preferred instrument types, best first.
    types: Option<Vec<String>>,
}

/// A claim, as a reverse-domain name.
#[derive(Debug, Deserialize, JsonSchema)]
#[schemars(inline, extend("type" = "string", "x-left-to-domain" = ["type"]))]
#[serde(transparent)]
pub(crate) struct Claim(pub(crate) Value);

/// Buyer environment signals, such as IP address, keyed by reverse-domain name.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Signals {
    #[expect(dead_code, reason = "signals are opaque here")]
    #[serde(flatten)]
    observed: Map<String, Value>,
}

/// Referral and campaign parameters. They never change the response.
#[derive(Debug, Deserialize, JsonSchema)]
struct Attribution {
    #[expect(dead_code, reason = "attribution is opaque here")]
    #[serde(flatten)]
    parameters: Map<String, Value>,
}

/// Filters. A variant must match all of them.
#[derive(Debug, Default, Deserialize, JsonSchema)]
struct SearchFilters {
    /// Categories, any of which matches: the `value` of one, or the beginning of a path such as `Footwear > Running`.
    #[schemars(length(max = 100))]
    categories: Option<Vec<String>>,
    /// Price range, bounds included, in minor units of `context.currency` (1250 is 12.50).
    price: Option<PriceFilter>,
    /// `true` to leave out variants that cannot be bought now.
    available: Option<bool>,
    #[serde(flatten)]
    others: Map<String, Value>,
}

/// Price range of a variant, bounds included, in minor units of `context.currency`.
#[derive(Debug, Deserialize, JsonSchema)]
struct PriceFilter {
    /// Lowest price.
    min: Option<Amount>,
    /// Highest price.
    max: Option<Amount>,
}

/// Page to return.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[schemars(rename = "PaginationRequest")]
struct Pagination {
    /// Cursor from the previous page of the same search.
    #[schemars(extend("minLength" = 1, "x-left-to-domain" = ["minLength"]))]
    cursor: Option<String>,
    /// Products per page, 10 by default and 50 at most.
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
            intent: this.intent,
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
