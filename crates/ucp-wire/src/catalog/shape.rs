//! The shapes of answers about the catalog.
//!
//! Some of these types are written out ([`ProductMembers`], [`VariantMembers`]); the ones that compose them only state a
//! shape, because answers are spliced from serialised parts.
#![expect(dead_code, reason = "composing types state shapes and are never built")]

use std::borrow::Cow;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{
    catalog::product::{Availability, Barcode, Category, Description, Media, Rating, SelectedOption, Seller},
    message::Message,
    money::{Price, PriceRange},
};

use super::unit_price::UnitPrice;
use crate::envelope::Success;

/// Products that match a search.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "SearchResponse")]
pub(crate) struct SearchResponse {
    pub(crate) ucp: Success<'static>,
    /// The products, the best match first.
    pub(crate) products: Vec<Product>,
    pub(crate) pagination: Pagination<'static>,
    /// Notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Vec<Message>>,
}

/// Products that the identifiers of a request name.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "LookupResponse")]
pub(crate) struct LookupResponse {
    pub(crate) ucp: Success<'static>,
    /// Each product once.
    pub(crate) products: Vec<LookupProduct>,
    /// Notes; `not_found` with the identifier as content for each one that names nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Vec<Message>>,
}

/// A product in full.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "GetProductResponse")]
pub(crate) struct ProductResponse {
    pub(crate) ucp: Success<'static>,
    pub(crate) product: DetailProduct,
    /// Notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Vec<Message>>,
}

/// Which page this is.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Pagination<'a> {
    /// The cursor of the next page; present if and only if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cursor: Option<&'a str>,
    /// Whether there is a next page.
    pub(crate) has_next_page: bool,
    /// How many there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) total_count: Option<u64>,
}

/// What is the same in every answer about a product.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProductMembers<'a> {
    /// The identifier of the product.
    pub(crate) id: &'a str,
    /// A name for addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) handle: Option<&'a str>,
    /// The name.
    pub(crate) title: &'a str,
    /// What it is.
    pub(crate) description: &'a Description,
    /// Its page in the shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) url: Option<&'a str>,
    /// Where it stands in one or more taxonomies.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) categories: &'a [Category],
    /// What its variants cost, all of them.
    pub(crate) price_range: PriceRange,
    /// What its variants cost before reductions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) list_price_range: Option<PriceRange>,
    /// Pictures; the first one stands for the product.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) media: &'a [Media],
    /// What buyers think of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rating: Option<&'a Rating>,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tags: &'a [String],
    /// What the merchant keeps beside the standard model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<&'a Map<String, Value>>,
    #[serde(flatten)]
    pub(crate) extra: &'a Map<String, Value>,
}

/// A variant: one combination of option values that can be bought.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Variant")]
pub(crate) struct VariantMembers<'a> {
    /// The identifier of the variant; what carts and checkouts take.
    pub(crate) id: &'a str,
    /// The merchant's stock keeping unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sku: Option<&'a str>,
    /// Industry-standard codes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) barcodes: &'a [Barcode],
    /// A name for addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) handle: Option<&'a str>,
    /// The name.
    pub(crate) title: &'a str,
    /// What it is.
    pub(crate) description: &'a Description,
    /// Its page in the shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(crate) url: Option<&'a str>,
    /// Categories beside those of the product.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) categories: &'a [Category],
    /// What it costs.
    pub(crate) price: Price,
    /// What it cost before a reduction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) list_price: Option<Price>,
    /// What a standard quantity of it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) unit_price: Option<UnitPrice<'a>>,
    /// Whether it can be bought.
    pub(crate) availability: &'a Availability,
    /// Its value on every option.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) options: Cow<'a, [SelectedOption]>,
    /// Pictures of it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) media: &'a [Media],
    /// What buyers think of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rating: Option<&'a Rating>,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tags: &'a [String],
    /// What the merchant keeps beside the standard model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) metadata: Option<&'a Map<String, Value>>,
    /// Who sells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seller: Option<&'a Seller>,
    #[serde(flatten)]
    pub(crate) extra: &'a Map<String, Value>,
}

/// A product with its featured variant.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "Product")]
pub(crate) struct Product {
    #[serde(flatten)]
    pub(crate) members: ProductMembers<'static>,
    /// The options along which its variants differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<Vec<ProductOption<'static>>>,
    /// The featured variant.
    #[schemars(length(min = 1))]
    pub(crate) variants: Vec<VariantMembers<'static>>,
}

/// A product with the variants that identifiers of the request led to.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "LookupProduct")]
pub(crate) struct LookupProduct {
    #[serde(flatten)]
    pub(crate) members: ProductMembers<'static>,
    /// The options along which its variants differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<Vec<ProductOption<'static>>>,
    /// The variants that identifiers led to.
    #[schemars(length(min = 1))]
    pub(crate) variants: Vec<LookupVariant>,
}

/// A variant, and which identifiers led to it.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "LookupVariant")]
pub(crate) struct LookupVariant {
    #[serde(flatten)]
    pub(crate) members: VariantMembers<'static>,
    /// The identifiers of the request that led to this variant.
    #[schemars(length(min = 1))]
    pub(crate) inputs: Vec<InputCorrelation<'static>>,
}

/// How an identifier of the request led to a variant.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InputCorrelation<'a> {
    /// The identifier as sent.
    pub(crate) id: &'a str,
    /// `exact` for an identifier of this variant, `featured` for one of its product.
    #[serde(rename = "match")]
    pub(crate) kind: &'static str,
}

/// A product with signals on its option values, relative to `selected`.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "DetailProduct")]
pub(crate) struct DetailProduct {
    #[serde(flatten)]
    pub(crate) members: ProductMembers<'static>,
    /// The options, with what choosing each value would lead to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<Vec<DetailOption<'static>>>,
    /// The effective selection: what is left of the request's choices, or the featured variant's own values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) selected: Option<Vec<SelectedOption>>,
    /// The variants that match the effective selection, the featured one first.
    #[schemars(length(min = 1))]
    pub(crate) variants: Vec<VariantMembers<'static>>,
}

/// An option along which variants differ.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProductOption<'a> {
    /// The name, such as `Size`.
    pub(crate) name: &'a str,
    /// The values.
    #[schemars(length(min = 1))]
    pub(crate) values: Vec<OptionValue<'a>>,
}

/// A value of an option.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OptionValue<'a> {
    /// The identifier, the same in every language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a str>,
    /// The label, such as `Large`.
    pub(crate) label: &'a str,
}

/// An option with signals on its values.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DetailOption<'a> {
    /// The name, such as `Size`.
    pub(crate) name: &'a str,
    /// The values.
    #[schemars(length(min = 1))]
    pub(crate) values: Vec<DetailOptionValue<'a>>,
}

/// A value of an option, and what choosing it would lead to.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DetailOptionValue<'a> {
    /// The identifier, the same in every language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a str>,
    /// The label, such as `Large`.
    pub(crate) label: &'a str,
    /// Whether a variant with this value, and all other choices as they are, can be bought.
    pub(crate) available: bool,
    /// Whether there is such a variant at all.
    pub(crate) exists: bool,
}
