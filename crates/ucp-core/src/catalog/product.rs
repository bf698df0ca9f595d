//! A product as one caller sees it: in one language and one currency.
//!
//! Made from a [`Record`](super::record::Record) by [`present`](super::record::Record::present). Every variant of a
//! product is priced in the same currency and has one value on every option axis; these are invariants that the record
//! checks before it is stored.

use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::{
    money::{Price, PriceRange},
    rendering::Rendering,
};

/// A text in one or more formats; at least one is present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct Description {
    /// Plain text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plain: Option<String>,
    /// HTML from the merchant. Sanitise it before it is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub html: Option<String>,
    /// Markdown from the merchant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub markdown: Option<String>,
}

impl Description {
    /// A description of plain text only.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { plain: Some(text.into()), ..Self::default() }
    }

    /// Whether no format is present.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.plain.is_none() && self.html.is_none() && self.markdown.is_none()
    }
}

/// A category of a taxonomy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Category {
    /// The name or path in the taxonomy; what category filters are compared with.
    pub value: String,
    /// Which taxonomy: `google_product_category`, `shopify`, `merchant` or another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taxonomy: Option<String>,
}

/// A picture, film or model of a product.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Media {
    /// `image`, `video`, `model_3d` or another.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it is.
    #[schemars(extend("format" = "uri"))]
    pub url: String,
    /// What it shows, for those who cannot see it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alt_text: Option<String>,
    /// Width in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub width: Option<u32>,
    /// Height in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub height: Option<u32>,
}

/// What buyers think of a product, in aggregate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rating {
    /// The mean rating.
    #[schemars(with = "f64", range(min = 0))]
    pub value: Number,
    /// The lowest possible rating; 1 when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub scale_min: Option<Number>,
    /// The highest possible rating.
    #[schemars(with = "f64", range(min = 1))]
    pub scale_max: Number,
    /// How many ratings there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// An industry-standard code of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Barcode {
    /// The standard: `UPC`, `EAN`, `ISBN`, `GTIN`, `JAN` or another.
    #[serde(rename = "type")]
    pub kind: String,
    /// The code.
    pub value: String,
}

/// Whether a variant can be bought.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Availability {
    /// Whether it can be bought now.
    #[serde(default = "yes")]
    pub available: bool,
    /// More about it: `in_stock`, `backorder`, `preorder`, `out_of_stock`, `discontinued` or another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

const fn yes() -> bool {
    true
}

impl Default for Availability {
    fn default() -> Self {
        Self { available: true, status: None }
    }
}

/// A price for a standard quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitPrice {
    /// The price of the reference quantity.
    #[serde(flatten)]
    pub price: Price,
    /// How much the package holds.
    pub measure: Measure,
    /// The quantity the price is for.
    pub reference: Reference,
}

/// How much a package holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// The quantity.
    #[schemars(with = "f64")]
    pub value: Number,
    /// The unit of measurement.
    pub unit: String,
}

/// The quantity a unit price is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// The quantity.
    pub value: i64,
    /// The unit of measurement.
    pub unit: String,
}

/// A link to a page of the shop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// `privacy_policy`, `terms_of_service`, `refund_policy`, `shipping_policy`, `faq` or another.
    #[serde(rename = "type")]
    pub kind: String,
    /// Where it is.
    #[schemars(extend("format" = "uri"))]
    pub url: String,
    /// A text to show for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Who sells a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seller {
    /// The name shown to buyers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Policies and other pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Members that no rule speaks about.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A choice on one option axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelectedOption {
    /// The option, such as `Size`.
    pub name: String,
    /// The identifier of the value, when the product states identifiers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The value, such as `Large`.
    pub label: String,
}

/// An axis along which the variants of a product differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductOption {
    /// The name shown to this caller.
    pub name: String,
    /// The name in the shop's own language, where it differs; callers may use it too.
    pub canonical: Option<String>,
    /// The values on the axis, at least one.
    pub values: Vec<OptionValue>,
}

/// A value on an option axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionValue {
    /// The merchant's identifier for it, the same in every language.
    pub id: Option<String>,
    /// The label shown to this caller.
    pub label: String,
    /// The label in the shop's own language, where it differs; callers may use it too.
    pub canonical: Option<String>,
}

/// Something that can be bought: one combination of option values.
#[derive(Clone, Debug)]
pub struct Variant {
    /// The identifier that carts and checkouts take.
    pub id: String,
    /// The merchant's stock keeping unit.
    pub sku: Option<String>,
    /// Industry-standard codes.
    pub barcodes: Vec<Barcode>,
    /// A name for addresses.
    pub handle: Option<String>,
    /// The name shown to this caller.
    pub title: String,
    /// What it is.
    pub description: Description,
    /// Its page in the shop.
    pub url: Option<String>,
    /// Categories beside those of the product.
    pub categories: Vec<Category>,
    /// What it costs.
    pub price: Price,
    /// What it cost before a reduction.
    pub list_price: Option<Price>,
    /// What a standard quantity of it costs.
    pub unit_price: Option<UnitPrice>,
    /// Whether it can be bought.
    pub availability: Availability,
    /// What one of it weighs as it is shipped, in grams; 0 where unknown. Not shown to callers.
    pub weight_grams: u64,
    /// Whether it reaches the buyer without being shipped or picked up. Not shown to callers.
    pub digital: bool,
    /// For each option axis of the product, in order, the position of this variant's value.
    pub values: Vec<usize>,
    /// Pictures of this variant.
    pub media: Vec<Media>,
    /// What buyers think of this variant.
    pub rating: Option<Rating>,
    /// Tags of this variant.
    pub tags: Vec<String>,
    /// What the merchant keeps beside the standard model.
    pub metadata: Option<Map<String, Value>>,
    /// Who sells it.
    pub seller: Option<Seller>,
    /// Members that no rule speaks about, carried as they came.
    pub extra: Map<String, Value>,
}

/// A combination of option values that there is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// For each option axis of the product, in order, the position of the value.
    pub values: Vec<usize>,
    /// Whether it can be bought now.
    pub available: bool,
}

/// A product as one caller sees it.
#[derive(Debug)]
pub struct Product {
    /// The identifier, stable across languages and currencies.
    pub id: String,
    /// A name for addresses.
    pub handle: Option<String>,
    /// The name shown to this caller.
    pub title: String,
    /// What it is.
    pub description: Description,
    /// Its page in the shop.
    pub url: Option<String>,
    /// Where it stands in one or more taxonomies.
    pub categories: Vec<Category>,
    /// What its variants cost, all of them (rule PRD-11).
    pub price_range: PriceRange,
    /// What its reduced variants cost before, if any is reduced.
    pub list_price_range: Option<PriceRange>,
    /// Pictures; the first one stands for the product.
    pub media: Vec<Media>,
    /// The axes along which the variants differ; none for a product with one form.
    pub options: Vec<ProductOption>,
    /// What can be bought, at least one, in the merchant's order: everything, unless `combinations` says what else
    /// there is.
    pub variants: Vec<Variant>,
    /// Every combination of option values that there is, each once, where `variants` does not hold all of them.
    pub combinations: Option<Vec<Combination>>,
    /// What buyers think of it.
    pub rating: Option<Rating>,
    /// Tags.
    pub tags: Vec<String>,
    /// What the merchant keeps beside the standard model.
    pub metadata: Option<Map<String, Value>>,
    /// Members that no rule speaks about, carried as they came.
    pub extra: Map<String, Value>,
    /// The product as JSON, made when it is first asked for.
    pub rendering: OnceLock<Rendering>,
}

impl Product {
    /// The options of the variant at `position`, as `variants[].options` and `product.selected` show them.
    #[must_use]
    pub fn selection_of(&self, position: usize) -> Vec<SelectedOption> {
        self.options.iter().zip(&self.variants[position].values).map(|(axis, value)| axis.selected(*value)).collect()
    }
}

impl ProductOption {
    /// The value at `position` as a choice on this axis.
    #[must_use]
    pub fn selected(&self, position: usize) -> SelectedOption {
        let value = &self.values[position];
        SelectedOption { name: self.name.clone(), id: value.id.clone(), label: value.label.clone() }
    }
}
