//! What the shop's answers look like.
//!
//! Only what a product cannot do without has to be there and of its type; anything else that is not what the API promises
//! is as if it were absent. Values of enumerations are texts, because there are ever more of them.

use serde::{Deserialize, Deserializer, de::DeserializeOwned};
use serde_json::{Number, Value, value::RawValue};

use super::super::money::Money;

/// Something, unless it is not of its type.
fn lenient<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(T::deserialize(Value::deserialize(deserializer)?).ok())
}

/// The members of a list that are of its type.
fn some<'de, D: Deserializer<'de>, T: DeserializeOwned>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let list = Option::<Vec<Value>>::deserialize(deserializer)?;
    Ok(list.into_iter().flatten().filter_map(|member| T::deserialize(member).ok()).collect())
}

/// An object that is read by itself, so that a bad one spoils no other.
pub(super) type Node = Option<Box<RawValue>>;

/// A page of what was found.
#[derive(Debug, Deserialize)]
pub(super) struct Found {
    pub(super) page: Page,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) total_count: Option<u64>,
    pub(super) page_info: PageInfo,
    pub(super) edges: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Edge {
    pub(super) cursor: String,
    pub(super) node: Node,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    pub(super) has_next_page: bool,
    pub(super) end_cursor: Option<String>,
}

/// What identifiers name.
#[derive(Debug, Deserialize)]
pub(super) struct Nodes {
    pub(super) nodes: Vec<Node>,
}

/// Just the type of an object.
#[derive(Debug, Deserialize)]
pub(super) struct Typed {
    #[serde(rename = "__typename")]
    pub(super) name: String,
}

/// A variant with its product.
#[derive(Debug, Deserialize)]
pub(super) struct Placed {
    pub(super) product: Card,
    #[serde(flatten)]
    pub(super) variant: Value,
}

/// More variants of a product.
#[derive(Debug, Deserialize)]
pub(super) struct More {
    pub(super) product: Option<MoreOf>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MoreOf {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) requires_selling_plan: Option<bool>,
    pub(super) variants: Variants,
}

/// A product.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Card {
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) handle: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) description_html: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) online_store_url: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) product_type: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) vendor: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) requires_selling_plan: Option<bool>,
    #[serde(default, deserialize_with = "some")]
    pub(super) tags: Vec<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) encoded_variant_existence: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) encoded_variant_availability: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) category: Option<Category>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) price_range: Option<Range>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) compare_at_price_range: Option<Range>,
    pub(super) options: Vec<Axis>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) media: Option<Media>,
    #[serde(default)]
    pub(super) featured: Option<Value>,
    pub(super) variants: Variants,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Category {
    pub(super) id: String,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Range {
    pub(super) min_variant_price: Money,
    pub(super) max_variant_price: Money,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) option_values: Vec<AxisValue>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct AxisValue {
    #[serde(default, deserialize_with = "lenient")]
    pub(super) id: Option<String>,
    pub(super) name: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Media {
    #[serde(deserialize_with = "some")]
    pub(super) nodes: Vec<Medium>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Medium {
    #[serde(rename = "__typename")]
    pub(super) kind: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) alt: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) image: Option<Image>,
    #[serde(default, deserialize_with = "some")]
    pub(super) sources: Vec<Source>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) origin_url: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Source {
    pub(super) url: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) mime_type: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) width: Option<u32>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) height: Option<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Image {
    pub(super) url: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) alt_text: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) width: Option<u32>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) height: Option<u32>,
}

/// Some of the variants of a product, each read by itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variants {
    pub(super) page_info: PageInfo,
    pub(super) nodes: Vec<Value>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variant {
    pub(super) id: String,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) title: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) sku: Option<String>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) barcode: Option<String>,
    pub(super) available_for_sale: bool,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) currently_not_in_stock: Option<bool>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) requires_shipping: Option<bool>,
    pub(super) price: Money,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) compare_at_price: Option<Money>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) unit_price: Option<Money>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) unit_price_measurement: Option<Measurement>,
    #[serde(default, deserialize_with = "lenient")]
    pub(super) image: Option<Image>,
    pub(super) selected_options: Vec<Selected>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measurement {
    pub(super) quantity_value: Number,
    pub(super) quantity_unit: String,
    pub(super) reference_value: i64,
    pub(super) reference_unit: String,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Selected {
    pub(super) name: String,
    pub(super) value: String,
}
