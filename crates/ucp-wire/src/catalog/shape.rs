//! Shapes of answers about the catalog.
//!
//! [`ProductMembers`], [`VariantMembers`] and the types of single members are serialized; the types that compose them
//! only define a schema, because answers are spliced together from serialized parts.
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
    /// The products, best match first.
    pub(crate) products: Vec<Product>,
    pub(crate) pagination: Pagination<'static>,
    /// Messages about the search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Vec<Message>>,
}

/// Products that the IDs of a request name.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "LookupResponse")]
pub(crate) struct LookupResponse {
    pub(crate) ucp: Success<'static>,
    /// The products, each once.
    pub(crate) products: Vec<LookupProduct>,
    /// Messages; `not_found` for each ID that names nothing, with the ID as content.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Vec<Message>>,
}

/// A product in full.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "GetProductResponse")]
pub(crate) struct ProductResponse {
    pub(crate) ucp: Success<'static>,
    pub(crate) product: DetailProduct,
    /// Messages about the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) messages: Option<Vec<Message>>,
}

/// Position of a page in the result.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Pagination<'a> {
    /// Cursor of the next page; present if and only if there is one.
    pub(crate) cursor: Option<&'a str>,
    /// `true` if there is a next page.
    pub(crate) has_next_page: bool,
    /// Number of results on all pages.
    pub(crate) total_count: Option<u64>,
}

/// The members that are the same in every answer about a product.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProductMembers<'a> {
    /// ID of the product.
    pub(crate) id: &'a str,
    /// Name of the product for use in URLs.
    pub(crate) handle: Option<&'a str>,
    /// Title of the product.
    pub(crate) title: &'a str,
    /// Description of the product.
    pub(crate) description: &'a Description,
    /// URL of the product page in the shop.
    #[schemars(extend("format" = "uri"))]
    pub(crate) url: Option<&'a str>,
    /// Categories of the product, in one or more taxonomies.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) categories: &'a [Category],
    /// Price range of all variants.
    pub(crate) price_range: PriceRange,
    /// Range of list prices, before reductions.
    pub(crate) list_price_range: Option<PriceRange>,
    /// Images and other media; the first one represents the product.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) media: &'a [Media],
    /// Aggregated rating by buyers.
    pub(crate) rating: Option<&'a Rating>,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tags: &'a [String],
    /// Data of the merchant outside of the standard model.
    pub(crate) metadata: Option<&'a Map<String, Value>>,
    #[serde(flatten)]
    pub(crate) extra: &'a Map<String, Value>,
}

/// A variant: one combination of option values that can be bought.
#[ucp_macros::omit_none]
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Variant")]
pub(crate) struct VariantMembers<'a> {
    /// ID of the variant, for carts and checkouts.
    pub(crate) id: &'a str,
    /// The merchant's stock keeping unit.
    pub(crate) sku: Option<&'a str>,
    /// Industry-standard product codes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) barcodes: &'a [Barcode],
    /// Name of the variant for use in URLs.
    pub(crate) handle: Option<&'a str>,
    /// Title of the variant.
    pub(crate) title: &'a str,
    /// Description of the variant.
    pub(crate) description: &'a Description,
    /// URL of the variant's page in the shop.
    #[schemars(extend("format" = "uri"))]
    pub(crate) url: Option<&'a str>,
    /// Categories besides those of the product.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) categories: &'a [Category],
    /// Price of the variant.
    pub(crate) price: Price,
    /// Price before a reduction.
    pub(crate) list_price: Option<Price>,
    /// Price of a standard quantity.
    pub(crate) unit_price: Option<UnitPrice<'a>>,
    /// Availability for purchase.
    pub(crate) availability: &'a Availability,
    /// Selected value of every option.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) options: Cow<'a, [SelectedOption]>,
    /// Images and other media of the variant.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) media: &'a [Media],
    /// Aggregated rating by buyers.
    pub(crate) rating: Option<&'a Rating>,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(crate) tags: &'a [String],
    /// Data of the merchant outside of the standard model.
    pub(crate) metadata: Option<&'a Map<String, Value>>,
    /// Seller of the variant.
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
    /// The options in which the variants differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<Vec<ProductOption<'static>>>,
    /// The featured variant.
    #[schemars(length(min = 1))]
    pub(crate) variants: Vec<VariantMembers<'static>>,
}

/// A product with the variants that the IDs of the request name.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "LookupProduct")]
pub(crate) struct LookupProduct {
    #[serde(flatten)]
    pub(crate) members: ProductMembers<'static>,
    /// The options in which the variants differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) options: Option<Vec<ProductOption<'static>>>,
    /// The variants that the IDs name.
    #[schemars(length(min = 1))]
    pub(crate) variants: Vec<LookupVariant>,
}

/// A variant with the IDs of the request that name it.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "LookupVariant")]
pub(crate) struct LookupVariant {
    #[serde(flatten)]
    pub(crate) members: VariantMembers<'static>,
    /// The IDs of the request that name this variant.
    #[schemars(length(min = 1))]
    pub(crate) inputs: Vec<InputCorrelation<'static>>,
}

/// The relation of an ID of the request to a variant.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct InputCorrelation<'a> {
    /// The ID as sent.
    pub(crate) id: &'a str,
    /// `exact` for an ID of this variant, `featured` for an ID of its product.
    #[serde(rename = "match")]
    pub(crate) kind: &'static str,
}

/// A product with signals on its option values, relative to `selected`.
#[ucp_macros::omit_none]
#[derive(Debug, JsonSchema)]
#[schemars(rename = "DetailProduct")]
pub(crate) struct DetailProduct {
    #[serde(flatten)]
    pub(crate) members: ProductMembers<'static>,
    /// The options, each value with signals about the result of choosing it.
    pub(crate) options: Option<Vec<DetailOption<'static>>>,
    /// The effective selection: the request's choices that could be kept, or the featured variant's own values.
    pub(crate) selected: Option<Vec<SelectedOption>>,
    /// The variants that match the effective selection, the featured one first.
    #[schemars(length(min = 1))]
    pub(crate) variants: Vec<VariantMembers<'static>>,
}

/// An option in which variants differ.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ProductOption<'a> {
    /// Name of the option, such as `Size`.
    pub(crate) name: &'a str,
    /// Values of the option.
    #[schemars(length(min = 1))]
    pub(crate) values: Vec<OptionValue<'a>>,
}

/// A value of an option.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct OptionValue<'a> {
    /// ID of the value, the same in every language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a str>,
    /// Label of the value, such as `Large`.
    pub(crate) label: &'a str,
}

/// An option with signals on its values.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DetailOption<'a> {
    /// Name of the option, such as `Size`.
    pub(crate) name: &'a str,
    /// Values of the option.
    #[schemars(length(min = 1))]
    pub(crate) values: Vec<DetailOptionValue<'a>>,
}

/// A value of an option, with signals about the result of choosing it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct DetailOptionValue<'a> {
    /// ID of the value, the same in every language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a str>,
    /// Label of the value, such as `Large`.
    pub(crate) label: &'a str,
    /// `true` if a variant with this value and all other choices can be bought.
    pub(crate) available: bool,
    /// `true` if a variant with this value and all other choices exists.
    pub(crate) exists: bool,
}
