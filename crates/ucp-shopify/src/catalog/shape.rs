//! Types of the shop's answers.
//!
//! Only members that a product cannot do without must be present and of their type; any other member that is not what
//! the API promises is read as absent. Values of enumerations are texts, because the API adds values over time.

use serde::{
    Deserialize,
    de::{MapAccess, value::MapAccessDeserializer},
};
use serde_json::{Number, value::RawValue};

use super::lenient::{Lenient, Promised, objects};
use crate::{money::Money, shapes::shapes};

/// Text of an object that is parsed by itself, so that an invalid one does not affect others.
pub(super) type Node = Box<RawValue>;

shapes! { (Clone, Debug, Deserialize) "camelCase"
    /// A page of search results or of a list.
    Found { page: Page }
    Page { total_count: Lenient<u64>, page_info: PageInfo, edges: Vec<Edge> }
    Edge { cursor: String, node: Option<Node> }
    PageInfo { has_next_page: bool, end_cursor: Option<String> }

    /// Objects by identifier.
    Nodes { nodes: Vec<Option<Node>> }
    /// Type of an object, without its other members.
    Typed { #[serde(rename = "__typename")] name: String }
    /// Product of a variant.
    Placed { product: Card }

    /// Products by the codes of their variants.
    Codes { products: CodedProducts }
    CodedProducts { page_info: PageInfo, nodes: Vec<CodedProduct> }
    CodedProduct { variants: CodedVariants }
    CodedVariants { page_info: PageInfo, nodes: Vec<CodedVariant> }
    CodedVariant { id: String, sku: Lenient<String>, barcode: Lenient<String> }

    /// Further variants of a product.
    More { product: Option<MoreOf> }
    MoreOf { requires_selling_plan: Lenient<bool>, variants: Variants }

    /// A product with some of its variants.
    Card {
        id: String, handle: Lenient<String>, title: Lenient<String>, description_html: Lenient<String>,
        online_store_url: Lenient<String>, product_type: Lenient<String>, vendor: Lenient<String>,
        requires_selling_plan: Lenient<bool>, tags: Lenient<Vec<Lenient<String>>>,
        encoded_variant_existence: Lenient<String>, encoded_variant_availability: Lenient<String>,
        category: Lenient<Category>, price_range: Lenient<Range>, compare_at_price_range: Lenient<Range>,
        options: Vec<Axis>, media: Lenient<Media>, featured: Lenient<Variant>, variants: Variants,
    }
    Axis { name: String, option_values: Vec<AxisValue> }
    AxisValue { id: Lenient<String>, name: String }
    /// A page of the variants of a product.
    Variants { page_info: PageInfo, nodes: Vec<Lenient<Variant>> }

    Category { id: Lenient<String> }
    Range { min_variant_price: Lenient<Money>, max_variant_price: Lenient<Money> }
    Media { nodes: Lenient<Vec<Lenient<Medium>>> }
    Medium {
        #[serde(rename = "__typename")] kind: Lenient<String>,
        alt: Lenient<String>, image: Lenient<Image>, sources: Lenient<Vec<Lenient<Source>>>, origin_url: Lenient<String>,
    }
    Source { url: Lenient<String>, mime_type: Lenient<String>, width: Lenient<u32>, height: Lenient<u32> }
    Image { url: Lenient<String>, alt_text: Lenient<String>, width: Lenient<u32>, height: Lenient<u32> }

    Variant {
        id: Lenient<String>, title: Lenient<String>, sku: Lenient<String>, barcode: Lenient<String>,
        available_for_sale: Lenient<bool>, currently_not_in_stock: Lenient<bool>, requires_shipping: Lenient<bool>,
        price: Lenient<Money>, compare_at_price: Lenient<Money>, unit_price: Lenient<Money>,
        unit_price_measurement: Lenient<Measurement>, image: Lenient<Image>,
        selected_options: Lenient<Vec<Lenient<Selected>>>,
    }
    Measurement {
        quantity_value: Lenient<Number>, quantity_unit: Lenient<String>,
        reference_value: Lenient<i64>, reference_unit: Lenient<String>,
    }
    Selected { name: Lenient<String>, value: Lenient<String> }
}

objects!(Category, Range, Media, Medium, Source, Image, Variant, Measurement, Selected);

/// An amount is read as absent unless both of its members are present.
impl<'de> Promised<'de> for Money {
    fn object<A: MapAccess<'de>>(members: A) -> Result<Option<Self>, A::Error> {
        shapes! { (Deserialize) "camelCase" Stated { amount: Lenient<String>, currency_code: Lenient<String> } }
        let Stated { amount, currency_code } = Stated::deserialize(MapAccessDeserializer::new(members))?;
        Ok(amount.0.zip(currency_code.0).map(|(amount, currency_code)| Self { amount, currency_code }))
    }
}
