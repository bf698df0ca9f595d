//! A product as it is shown to one caller: in one language and one currency.
//!
//! [`Record::present`](super::record::Record::present) creates it. All variants are priced in the same currency and
//! have one value on every option axis: the record is checked for these invariants before it is stored.

use std::{collections::BTreeMap, fmt};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use crate::{
    money::{Price, PriceRange},
    rendering::Renderings,
};

/// A text in one or more formats; at least one is present.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("minProperties" = 1))]
pub struct Description {
    /// Plain text.
    pub plain: Option<String>,
    /// HTML as stated by the merchant; to be sanitized before it is shown.
    pub html: Option<String>,
    /// Markdown as stated by the merchant.
    pub markdown: Option<String>,
}

impl Description {
    /// Returns a description of plain text only.
    pub fn plain(text: impl Into<String>) -> Self {
        Self { plain: Some(text.into()), ..Self::default() }
    }

    /// Returns `true` if no format is present.
    pub const fn is_empty(&self) -> bool {
        self.plain.is_none() && self.html.is_none() && self.markdown.is_none()
    }
}

/// A category of a taxonomy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Category {
    /// Name or path in the taxonomy, which category filters are compared with.
    pub value: String,
    /// Taxonomy: `google_product_category`, `shopify`, `merchant` or another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taxonomy: Option<String>,
}

/// An image, video or 3D model of a product.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Media {
    /// Type: `image`, `video`, `model_3d` or another.
    #[serde(rename = "type")]
    pub kind: String,
    /// URL of the file.
    #[schemars(extend("format" = "uri"))]
    pub url: String,
    /// Alternative text.
    pub alt_text: Option<String>,
    /// Width in pixels.
    #[schemars(range(min = 1))]
    pub width: Option<u32>,
    /// Height in pixels.
    #[schemars(range(min = 1))]
    pub height: Option<u32>,
}

/// Aggregate rating of a product or variant.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rating {
    /// Mean rating.
    #[schemars(with = "f64", range(min = 0))]
    pub value: Number,
    /// Lowest possible rating; 1 if absent.
    #[schemars(with = "Option<f64>", range(min = 0))]
    pub scale_min: Option<Number>,
    /// Highest possible rating.
    #[schemars(with = "f64", range(min = 1))]
    pub scale_max: Number,
    /// Number of ratings.
    pub count: Option<u64>,
}

/// An industry-standard code of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Barcode {
    /// Standard: `UPC`, `EAN`, `ISBN`, `GTIN`, `JAN` or another.
    #[serde(rename = "type")]
    pub kind: String,
    /// Code.
    pub value: String,
}

/// Availability of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Availability {
    /// `true` if the variant can be bought now.
    #[serde(default = "yes")]
    pub available: bool,
    /// Status: `in_stock`, `backorder`, `preorder`, `out_of_stock`, `discontinued` or another.
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

/// Time before goods that are bought now can leave the shop. Not shown in the catalog: carts and checkouts tell it in
/// `fulfillable_on` (UCP *Fulfillment Extension*).
#[ucp_macros::omit_none]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeadTime {
    /// Number of days that the shop needs to make the goods ready.
    pub days: Option<u16>,
    /// Date on which goods are there that are on backorder or preorder, UTC.
    pub available_on: Option<Date>,
}

impl LeadTime {
    /// Maximum number of days to make goods ready.
    pub const MAX_DAYS: u16 = 730;

    /// Number of days that a later date counts as.
    const MOST_DAYS: u16 = 3_650;

    /// Returns the number of whole days after `today` on which the goods can leave the shop; 0 for now.
    pub fn wait(&self, today: Date) -> u16 {
        let until = self.available_on.and_then(|date| date.since(today).ok());
        let until = until.map_or(0, |span| span.get_days().clamp(0, i32::from(Self::MOST_DAYS)).unsigned_abs());
        u16::try_from(until).unwrap_or(Self::MOST_DAYS).max(self.days.unwrap_or_default())
    }

    /// Returns `true` if nothing is stated.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}

/// A price for a standard quantity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct UnitPrice {
    /// Price of the reference quantity.
    #[serde(flatten)]
    pub price: Price,
    /// Content of the package.
    pub measure: Measure,
    /// Reference quantity.
    pub reference: Reference,
}

/// Content of a package.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// Quantity.
    #[schemars(with = "f64")]
    pub value: Number,
    /// Unit of measurement.
    pub unit: String,
}

/// Quantity that a unit price refers to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reference {
    /// Quantity.
    pub value: i64,
    /// Unit of measurement.
    pub unit: String,
}

/// A link to a page of the shop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Link {
    /// Type: `privacy_policy`, `terms_of_service`, `refund_policy`, `shipping_policy`, `faq` or another.
    #[serde(rename = "type")]
    pub kind: String,
    /// URL of the page.
    #[schemars(extend("format" = "uri"))]
    pub url: String,
    /// Text to show for the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

/// Seller of a variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Seller {
    /// Name shown to buyers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Policies and other pages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Further members.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// A choice on one option axis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SelectedOption {
    /// Option name, such as `Size`.
    pub name: String,
    /// ID of the value, if the product states IDs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Value label, such as `Large`.
    pub label: String,
}

/// An axis along which the variants of a product differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductOption {
    /// Name shown to this caller.
    pub name: String,
    /// Name in the shop's default language, if it differs; callers may use it too.
    pub canonical: Option<String>,
    /// Values on the axis, at least one.
    pub values: Vec<OptionValue>,
}

/// A value on an option axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OptionValue {
    /// Identifier stated by the merchant, the same in every language.
    pub id: Option<String>,
    /// Label shown to this caller.
    pub label: String,
    /// Label in the shop's default language, if it differs; callers may use it too.
    pub canonical: Option<String>,
}

/// A variant of a product: one combination of option values, which can be bought.
#[derive(Clone, Debug)]
pub struct Variant {
    /// Identifier, which carts and checkouts take.
    pub id: String,
    /// Stock keeping unit of the merchant.
    pub sku: Option<String>,
    /// Industry-standard codes.
    pub barcodes: Vec<Barcode>,
    /// Handle, a name for URLs.
    pub handle: Option<String>,
    /// Title shown to this caller.
    pub title: String,
    /// Description.
    pub description: Description,
    /// URL of its page in the shop.
    pub url: Option<String>,
    /// Categories in addition to those of the product.
    pub categories: Vec<Category>,
    /// Price.
    pub price: Price,
    /// Price before a reduction.
    pub list_price: Option<Price>,
    /// Price of a standard quantity.
    pub unit_price: Option<UnitPrice>,
    /// Availability.
    pub availability: Availability,
    /// Quantities in which it is sold. Not shown to callers, who hear of it where they state another one.
    pub quantity_rule: QuantityRule,
    /// Time before it can leave the shop. Not shown in the catalog.
    pub lead_time: LeadTime,
    /// Number of pieces by pickup place; `None` if every place has it. Not shown in the catalog.
    pub stock_by_location: Option<BTreeMap<String, u64>>,
    /// Shipping weight of one piece, in grams; 0 if unknown. Not shown to callers.
    pub weight_grams: u64,
    /// `true` if it is delivered digitally. Not shown to callers.
    pub digital: bool,
    /// Position of the variant's value on each option axis of the product, in the order of the axes.
    pub values: Vec<usize>,
    /// Media of this variant.
    pub media: Vec<Media>,
    /// Rating of this variant.
    pub rating: Option<Rating>,
    /// Tags of this variant.
    pub tags: Vec<String>,
    /// Data of the merchant beyond the standard model.
    pub metadata: Option<Map<String, Value>>,
    /// Seller.
    pub seller: Option<Seller>,
    /// Further members, as stated by the merchant.
    pub extra: Map<String, Value>,
}

/// Quantities in which a line of a variant is sold: multiples of `step`, from `min` to `max`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QuantityRule {
    /// Smallest quantity, at least 1.
    pub min: u64,
    /// Number of pieces that are sold together, such as those of a box, at least 1.
    pub step: u64,
    /// Largest quantity, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max: Option<u64>,
}

impl Default for QuantityRule {
    fn default() -> Self {
        Self { min: 1, step: 1, max: None }
    }
}

impl QuantityRule {
    /// Largest number in a rule: nobody buys more of one item.
    pub const MAX: u64 = 1_000_000;

    /// Returns `true` if some quantity is sold, and none of the numbers is out of range.
    pub fn is_usable(&self) -> bool {
        let numbers = [self.min, self.step, self.max.unwrap_or(Self::MAX)];
        numbers.iter().all(|number| (1..=Self::MAX).contains(number)) && self.at_most(Self::MAX).is_some()
    }

    /// Returns the largest quantity up to `wanted` that is sold; `None` if even the smallest one is more.
    pub fn at_most(&self, wanted: u64) -> Option<u64> {
        let quantity = self.max.map_or(wanted, |max| wanted.min(max));
        let quantity = quantity - quantity % self.step.max(1);
        (quantity >= self.min.max(1)).then_some(quantity)
    }
}

impl fmt::Display for QuantityRule {
    /// Writes the quantities as the end of "is sold …".
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.step > 1 {
            write!(f, "in multiples of {}, ", self.step)?;
        }
        write!(f, "at least {}", self.min.next_multiple_of(self.step.max(1)))?;
        if let Some(max) = self.max {
            write!(f, " and at most {max}")?;
        }
        f.write_str(" at a time")
    }
}

/// An existing combination of option values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Combination {
    /// Position of the value on each option axis of the product, in the order of the axes.
    pub values: Vec<usize>,
    /// `true` if it can be bought now.
    pub available: bool,
}

/// A product as it is shown to one caller.
#[derive(Debug)]
pub struct Product {
    /// Identifier, the same in all languages and currencies.
    pub id: String,
    /// Handle, a name for URLs.
    pub handle: Option<String>,
    /// Title shown to this caller.
    pub title: String,
    /// Description.
    pub description: Description,
    /// URL of its page in the shop.
    pub url: Option<String>,
    /// Categories in one or more taxonomies.
    pub categories: Vec<Category>,
    /// Range of the prices of all variants (rule PRD-11).
    pub price_range: PriceRange,
    /// Range of the list prices of reduced variants, if any variant is reduced.
    pub list_price_range: Option<PriceRange>,
    /// Media; the first one represents the product.
    pub media: Vec<Media>,
    /// Option axes, along which the variants differ; empty for a product with one variant only.
    pub options: Vec<ProductOption>,
    /// Variants in the merchant's order, at least one. They are complete unless `combinations` is stated.
    pub variants: Vec<Variant>,
    /// All existing combinations of option values, each once, if `variants` is not complete.
    pub combinations: Option<Vec<Combination>>,
    /// Rating.
    pub rating: Option<Rating>,
    /// Tags.
    pub tags: Vec<String>,
    /// Data of the merchant beyond the standard model.
    pub metadata: Option<Map<String, Value>>,
    /// Further members, as stated by the merchant.
    pub extra: Map<String, Value>,
    /// The product as JSON, created on first use.
    pub renderings: Renderings,
}

impl Product {
    /// Returns the options of the variant at `position`, as shown in `variants[].options` and `product.selected`.
    pub fn selection_of(&self, position: usize) -> Vec<SelectedOption> {
        self.options.iter().zip(&self.variants[position].values).map(|(axis, value)| axis.selected(*value)).collect()
    }
}

impl ProductOption {
    /// Returns the value at `position` as a choice on this axis.
    pub fn selected(&self, position: usize) -> SelectedOption {
        let value = &self.values[position];
        SelectedOption { name: self.name.clone(), id: value.id.clone(), label: value.label.clone() }
    }
}
