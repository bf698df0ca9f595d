//! The shapes of answers in release 2026-04-08.
//!
//! Some of these types are written out ([`ProductMembers`], [`Success`]); the ones that compose them only state a shape,
//! because answers are spliced from serialised parts.
#![expect(dead_code, reason = "composing types state shapes and are never built")]

use std::{borrow::Cow, collections::BTreeMap};

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};
use ucp_core::{
    catalog::product::{
        Availability, Barcode, Category, Description, Media, Rating, SelectedOption, Seller, UnitPrice,
    },
    message::Message,
    money::{Price, PriceRange},
};

/// Products that match a search.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "SearchResponse")]
pub(super) struct SearchResponse<'a> {
    pub(super) ucp: Success,
    /// The products, the best match first.
    pub(super) products: Vec<Product<'a>>,
    pub(super) pagination: Pagination<'a>,
    /// Notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<Vec<Message>>,
}

/// Products that the identifiers of a request name.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "LookupResponse")]
pub(super) struct LookupResponse<'a> {
    pub(super) ucp: Success,
    /// Each product once.
    pub(super) products: Vec<LookupProduct<'a>>,
    /// Notes; `not_found` with the identifier as content for each one that names nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<Vec<Message>>,
}

/// A product in full.
#[derive(Debug, JsonSchema)]
#[schemars(rename = "GetProductResponse")]
pub(super) struct ProductResponse<'a> {
    pub(super) ucp: Success,
    pub(super) product: DetailProduct<'a>,
    /// Notes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) messages: Option<Vec<Message>>,
}

/// Why there is nothing to return.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorResponse", deny_unknown_fields)]
pub(super) struct ErrorResponse<'a> {
    pub(super) ucp: Failure,
    /// The reasons.
    #[schemars(length(min = 1))]
    pub(super) messages: &'a [Message],
    /// Where the buyer can go on.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(super) continue_url: Option<&'a str>,
}

/// Protocol metadata of an answer that carries what was asked for.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Success {
    /// The release this answer is written in.
    pub(super) version: Dated,
    #[schemars(extend("const" = "success"))]
    pub(super) status: &'static str,
    /// The capabilities that are active for this answer.
    pub(super) capabilities: Capabilities,
}

/// Protocol metadata of an answer without a resource.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Failure {
    /// The release this answer is written in.
    pub(super) version: Dated,
    #[schemars(extend("const" = "error"))]
    pub(super) status: &'static str,
    /// The capabilities that are active for this answer.
    pub(super) capabilities: Capabilities,
}

/// The date of a release.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline, extend("pattern" = r"^\d{4}-\d{2}-\d{2}$"))]
#[serde(transparent)]
pub(super) struct Dated(pub(super) &'static str);

/// Versions of capabilities by name.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
#[serde(transparent)]
pub(super) struct Capabilities(pub(super) BTreeMap<&'static str, [CapabilityVersion; 1]>);

/// A version of a capability.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct CapabilityVersion {
    pub(super) version: Dated,
}

/// Which page this is.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Pagination<'a> {
    /// The cursor of the next page; present if and only if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cursor: Option<&'a str>,
    /// Whether there is a next page.
    pub(super) has_next_page: bool,
    /// How many products there are in all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) total_count: Option<u64>,
}

/// What is the same in every answer about a product.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProductMembers<'a> {
    /// The identifier of the product.
    pub(super) id: &'a str,
    /// A name for addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) handle: Option<&'a str>,
    /// The name.
    pub(super) title: &'a str,
    /// What it is.
    pub(super) description: &'a Description,
    /// Its page in the shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(super) url: Option<&'a str>,
    /// Where it stands in one or more taxonomies.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) categories: &'a [Category],
    /// What its variants cost, all of them.
    pub(super) price_range: PriceRange,
    /// What its variants cost before reductions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) list_price_range: Option<PriceRange>,
    /// Pictures; the first one stands for the product.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) media: &'a [Media],
    /// What buyers think of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rating: Option<&'a Rating>,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) tags: &'a [String],
    /// What the merchant keeps beside the standard model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<&'a Map<String, Value>>,
    #[serde(flatten)]
    pub(super) extra: &'a Map<String, Value>,
}

/// A variant: one combination of option values that can be bought.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Variant")]
pub(super) struct VariantMembers<'a> {
    /// The identifier of the variant; what carts and checkouts take.
    pub(super) id: &'a str,
    /// The merchant's stock keeping unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) sku: Option<&'a str>,
    /// Industry-standard codes.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) barcodes: &'a [Barcode],
    /// A name for addresses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) handle: Option<&'a str>,
    /// The name.
    pub(super) title: &'a str,
    /// What it is.
    pub(super) description: &'a Description,
    /// Its page in the shop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "uri"))]
    pub(super) url: Option<&'a str>,
    /// Categories beside those of the product.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) categories: &'a [Category],
    /// What it costs.
    pub(super) price: Price,
    /// What it cost before a reduction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) list_price: Option<Price>,
    /// What a standard quantity of it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) unit_price: Option<&'a UnitPrice>,
    /// Whether it can be bought.
    pub(super) availability: &'a Availability,
    /// Its value on every option.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) options: Cow<'a, [SelectedOption]>,
    /// Pictures of it.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) media: &'a [Media],
    /// What buyers think of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) rating: Option<&'a Rating>,
    /// Tags.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub(super) tags: &'a [String],
    /// What the merchant keeps beside the standard model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) metadata: Option<&'a Map<String, Value>>,
    /// Who sells it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) seller: Option<&'a Seller>,
    #[serde(flatten)]
    pub(super) extra: &'a Map<String, Value>,
}

/// A product with its featured variant.
#[derive(Debug, JsonSchema)]
pub(super) struct Product<'a> {
    #[serde(flatten)]
    pub(super) members: ProductMembers<'a>,
    /// The options along which its variants differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<Vec<ProductOption<'a>>>,
    /// The featured variant.
    #[schemars(length(min = 1))]
    pub(super) variants: Vec<VariantMembers<'a>>,
}

/// A product with the variants that identifiers of the request led to.
#[derive(Debug, JsonSchema)]
pub(super) struct LookupProduct<'a> {
    #[serde(flatten)]
    pub(super) members: ProductMembers<'a>,
    /// The options along which its variants differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<Vec<ProductOption<'a>>>,
    /// The variants that identifiers led to.
    #[schemars(length(min = 1))]
    pub(super) variants: Vec<LookupVariant<'a>>,
}

/// A variant, and which identifiers led to it.
#[derive(Debug, JsonSchema)]
pub(super) struct LookupVariant<'a> {
    #[serde(flatten)]
    pub(super) members: VariantMembers<'a>,
    /// The identifiers of the request that led to this variant.
    #[schemars(length(min = 1))]
    pub(super) inputs: Vec<InputCorrelation<'a>>,
}

/// How an identifier of the request led to a variant.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct InputCorrelation<'a> {
    /// The identifier as sent.
    pub(super) id: &'a str,
    /// `exact` for an identifier of this variant, `featured` for one of its product.
    #[serde(rename = "match")]
    pub(super) kind: &'static str,
}

/// A product with signals on its option values, relative to `selected`.
#[derive(Debug, JsonSchema)]
pub(super) struct DetailProduct<'a> {
    #[serde(flatten)]
    pub(super) members: ProductMembers<'a>,
    /// The options, with what choosing each value would lead to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) options: Option<Vec<DetailOption<'a>>>,
    /// The effective selection: what is left of the request's choices, or the featured variant's own values.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) selected: Option<Vec<SelectedOption>>,
    /// The variants that match the effective selection, the featured one first.
    #[schemars(length(min = 1))]
    pub(super) variants: Vec<VariantMembers<'a>>,
}

/// An option along which variants differ.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct ProductOption<'a> {
    /// The name, such as `Size`.
    pub(super) name: &'a str,
    /// The values.
    #[schemars(length(min = 1))]
    pub(super) values: Vec<OptionValue<'a>>,
}

/// A value of an option.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct OptionValue<'a> {
    /// The identifier, the same in every language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    /// The label, such as `Large`.
    pub(super) label: &'a str,
}

/// An option with signals on its values.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DetailOption<'a> {
    /// The name, such as `Size`.
    pub(super) name: &'a str,
    /// The values.
    #[schemars(length(min = 1))]
    pub(super) values: Vec<DetailOptionValue<'a>>,
}

/// A value of an option, and what choosing it would lead to.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct DetailOptionValue<'a> {
    /// The identifier, the same in every language.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<&'a str>,
    /// The label, such as `Large`.
    pub(super) label: &'a str,
    /// Whether a variant with this value, and all other choices as they are, can be bought.
    pub(super) available: bool,
    /// Whether there is such a variant at all.
    pub(super) exists: bool,
}
