//! Types of the shop's answers.
//!
//! Only members that a product cannot do without must be present and of their type; any other member that is not what
//! the API promises is read as absent. Values of enumerations are texts, because the API adds values over time.

use serde::{
    Deserialize,
    de::{MapAccess, value::MapAccessDeserializer},
};
use serde_json::{Number, value::RawValue};

use super::{
    super::money::Money,
    lenient::{Lenient, Promised, objects},
};

/// Text of an object that is parsed by itself, so that an invalid one does not affect others.
pub(super) type Node = Box<RawValue>;

/// A page of search results or of a list.
#[derive(Debug, Deserialize)]
pub(super) struct Found {
    pub(super) page: Page,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Page {
    pub(super) total_count: Lenient<u64>,
    pub(super) page_info: PageInfo,
    pub(super) edges: Vec<Edge>,
}

#[derive(Debug, Deserialize)]
pub(super) struct Edge {
    pub(super) cursor: String,
    pub(super) node: Option<Node>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PageInfo {
    pub(super) has_next_page: bool,
    pub(super) end_cursor: Option<String>,
}

/// Objects by identifier.
#[derive(Debug, Deserialize)]
pub(super) struct Nodes {
    pub(super) nodes: Vec<Option<Node>>,
}

/// Type of an object, without its other members.
#[derive(Debug, Deserialize)]
pub(super) struct Typed {
    #[serde(rename = "__typename")]
    pub(super) name: String,
}

/// Product of a variant.
#[derive(Debug, Deserialize)]
pub(super) struct Placed {
    pub(super) product: Card,
}

/// Products by the codes of their variants.
#[derive(Debug, Deserialize)]
pub(super) struct Codes {
    pub(super) products: CodedProducts,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodedProducts {
    pub(super) page_info: PageInfo,
    pub(super) nodes: Vec<CodedProduct>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodedProduct {
    pub(super) variants: CodedVariants,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodedVariants {
    pub(super) page_info: PageInfo,
    pub(super) nodes: Vec<CodedVariant>,
}

#[derive(Debug, Deserialize)]
pub(super) struct CodedVariant {
    pub(super) id: String,
    pub(super) sku: Lenient<String>,
    pub(super) barcode: Lenient<String>,
}

/// Further variants of a product.
#[derive(Debug, Deserialize)]
pub(super) struct More {
    pub(super) product: Option<MoreOf>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MoreOf {
    pub(super) requires_selling_plan: Lenient<bool>,
    pub(super) variants: Variants,
}

/// A product with some of its variants.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Card {
    pub(super) id: String,
    pub(super) handle: Lenient<String>,
    pub(super) title: Lenient<String>,
    pub(super) description_html: Lenient<String>,
    pub(super) online_store_url: Lenient<String>,
    pub(super) product_type: Lenient<String>,
    pub(super) vendor: Lenient<String>,
    pub(super) requires_selling_plan: Lenient<bool>,
    pub(super) tags: Lenient<Vec<Lenient<String>>>,
    pub(super) encoded_variant_existence: Lenient<String>,
    pub(super) encoded_variant_availability: Lenient<String>,
    pub(super) category: Lenient<Category>,
    pub(super) price_range: Lenient<Range>,
    pub(super) compare_at_price_range: Lenient<Range>,
    pub(super) options: Vec<Axis>,
    pub(super) media: Lenient<Media>,
    pub(super) featured: Lenient<Variant>,
    pub(super) variants: Variants,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Axis {
    pub(super) name: String,
    pub(super) option_values: Vec<AxisValue>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct AxisValue {
    pub(super) id: Lenient<String>,
    pub(super) name: String,
}

/// A page of the variants of a product.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variants {
    pub(super) page_info: PageInfo,
    pub(super) nodes: Vec<Lenient<Variant>>,
}

objects!(Category, Range, Media, Medium, Source, Image, Variant, Measurement, Selected);

/// An amount is read as absent unless both of its members are present.
impl<'de> Promised<'de> for Money {
    fn object<A: MapAccess<'de>>(members: A) -> Result<Option<Self>, A::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct Stated {
            amount: Lenient<String>,
            currency_code: Lenient<String>,
        }
        let Stated { amount, currency_code } = Stated::deserialize(MapAccessDeserializer::new(members))?;
        Ok(amount.0.zip(currency_code.0).map(|(amount, currency_code)| Self { amount, currency_code }))
    }
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Category {
    pub(super) id: Lenient<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Range {
    pub(super) min_variant_price: Lenient<Money>,
    pub(super) max_variant_price: Lenient<Money>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Media {
    pub(super) nodes: Lenient<Vec<Lenient<Medium>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Medium {
    #[serde(rename = "__typename")]
    pub(super) kind: Lenient<String>,
    pub(super) alt: Lenient<String>,
    pub(super) image: Lenient<Image>,
    pub(super) sources: Lenient<Vec<Lenient<Source>>>,
    pub(super) origin_url: Lenient<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Source {
    pub(super) url: Lenient<String>,
    pub(super) mime_type: Lenient<String>,
    pub(super) width: Lenient<u32>,
    pub(super) height: Lenient<u32>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Image {
    pub(super) url: Lenient<String>,
    pub(super) alt_text: Lenient<String>,
    pub(super) width: Lenient<u32>,
    pub(super) height: Lenient<u32>,
}

/// A variant.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Variant {
    pub(super) id: Lenient<String>,
    pub(super) title: Lenient<String>,
    pub(super) sku: Lenient<String>,
    pub(super) barcode: Lenient<String>,
    pub(super) available_for_sale: Lenient<bool>,
    pub(super) currently_not_in_stock: Lenient<bool>,
    pub(super) requires_shipping: Lenient<bool>,
    pub(super) price: Lenient<Money>,
    pub(super) compare_at_price: Lenient<Money>,
    pub(super) unit_price: Lenient<Money>,
    pub(super) unit_price_measurement: Lenient<Measurement>,
    pub(super) image: Lenient<Image>,
    pub(super) selected_options: Lenient<Vec<Lenient<Selected>>>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Measurement {
    pub(super) quantity_value: Lenient<Number>,
    pub(super) quantity_unit: Lenient<String>,
    pub(super) reference_value: Lenient<i64>,
    pub(super) reference_unit: Lenient<String>,
}

#[derive(Clone, Debug, Deserialize)]
pub(super) struct Selected {
    pub(super) name: Lenient<String>,
    pub(super) value: Lenient<String>,
}
