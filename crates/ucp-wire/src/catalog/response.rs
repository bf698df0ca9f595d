//! Encoding of answers about the catalog. [`shape`](super::shape) holds the schemas of the result.

use ucp_core::{
    catalog::{
        detail::Detail,
        lookup::{Input, ListedVariant, Listing, MatchKind, Resolved},
        product,
        search::Found,
        selection::Signal,
    },
    message::Message,
    rendering::Rendering,
};

use super::{
    shape::{
        DetailOption, DetailOptionValue, InputCorrelation, OptionValue, Pagination, ProductMembers, ProductOption,
        VariantMembers,
    },
    unit_price::UnitPrice,
};
use crate::splice::{Document, json, members};

/// Estimated length of a variant, in bytes.
const VARIANT: usize = 1_024;

/// Adds the members of an answer to `search_catalog`.
pub(crate) fn search(root: &mut Document, found: &Found) {
    listings(root, &found.products);
    root.name("pagination").value(&Pagination {
        cursor: found.cursor.as_deref(),
        has_next_page: found.cursor.is_some(),
        total_count: found.total,
    });
    notes(root, &found.messages);
}

/// Adds the members of an answer to `lookup_catalog`.
pub(crate) fn lookup(root: &mut Document, resolved: &Resolved) {
    listings(root, &resolved.products);
    notes(root, &resolved.messages);
}

/// Adds the members of an answer to `get_product`.
pub(crate) fn get_product(root: &mut Document, detail: &Detail) {
    let product = &*detail.product;
    let rendering = rendering(product);
    root.name("product").object(|object| {
        object.raw(&rendering.members);
        if !product.options.is_empty() {
            let options: Vec<_> =
                product.options.iter().zip(&detail.signals).map(|(axis, signals)| signalled(axis, signals)).collect();
            object.name("options").value(&options);
            object.name("selected").value(&detail.selected);
        }
        object.name("variants").array(|variants| {
            for position in &detail.variants {
                variants.object(|object| object.raw(variant_members(product, rendering, *position)));
            }
        });
    });
    notes(root, &detail.messages);
}

/// Estimates the length of a list of products in bytes, rather too large than too small.
pub(crate) fn expected_listings(listings: &[Listing]) -> usize {
    let listed = |listing: &Listing| {
        let rendering = rendering(&listing.product);
        rendering.members.len() + rendering.options.len() + listing.variants.len() * VARIANT
    };
    listings.iter().map(listed).sum()
}

/// Estimates the length of a product in full in bytes, rather too large than too small.
pub(crate) fn expected_detail(detail: &Detail) -> usize {
    let rendering = rendering(&detail.product);
    // Signals are longer than the values they are added to.
    let variant = detail
        .variants
        .first()
        .map_or(0, |position| variant_members(&detail.product, rendering, *position).len() + VARIANT / 16);
    rendering.members.len() + 4 * rendering.options.len() + detail.variants.len() * variant
}

fn listings(root: &mut Document, listings: &[Listing]) {
    root.name("products").array(|products| listings.iter().for_each(|listing| listed(products, listing)));
}

fn listed(products: &mut Document, listing: &Listing) {
    let rendering = rendering(&listing.product);
    products.object(|object| {
        object.raw(&rendering.members);
        object.raw(&rendering.options);
        object.name("variants").array(|variants| {
            for ListedVariant { position, inputs } in &listing.variants {
                variants.object(|object| {
                    object.raw(variant_members(&listing.product, rendering, *position));
                    if !inputs.is_empty() {
                        object.name("inputs").value(&inputs.iter().map(correlation).collect::<Vec<_>>());
                    }
                });
            }
        });
    });
}

fn notes(root: &mut Document, messages: &[Message]) {
    if !messages.is_empty() {
        root.name("messages").value(messages);
    }
}

fn correlation(input: &Input) -> InputCorrelation<'_> {
    let kind = match input.kind {
        MatchKind::Exact => "exact",
        MatchKind::Featured => "featured",
    };
    InputCorrelation { id: &input.id, kind }
}

fn signalled<'a>(axis: &'a product::ProductOption, signals: &[Signal]) -> DetailOption<'a> {
    let value = |(value, signal): (&'a product::OptionValue, &Signal)| DetailOptionValue {
        id: value.id.as_deref(),
        label: &value.label,
        available: signal.available,
        exists: signal.exists,
    };
    DetailOption { name: &axis.name, values: axis.values.iter().zip(signals).map(value).collect() }
}

fn rendering(product: &product::Product) -> &Rendering {
    product.rendering.get_or_init(|| {
        let options = if product.options.is_empty() {
            Box::default()
        } else {
            format!("\"options\":{}", json(&options(product))).into()
        };
        Rendering::new(members(&product_members(product)), options, product.variants.len())
    })
}

fn variant_members<'a>(product: &product::Product, rendering: &'a Rendering, position: usize) -> &'a str {
    rendering.variant(position, || members(&variant(product, position)))
}

fn options(product: &product::Product) -> Vec<ProductOption<'_>> {
    product
        .options
        .iter()
        .map(|axis| ProductOption {
            name: &axis.name,
            values: axis
                .values
                .iter()
                .map(|value| OptionValue { id: value.id.as_deref(), label: &value.label })
                .collect(),
        })
        .collect()
}

/// Returns the members that are the same in every answer about a product.
fn product_members(product: &product::Product) -> ProductMembers<'_> {
    ProductMembers {
        id: &product.id,
        handle: product.handle.as_deref(),
        title: &product.title,
        description: &product.description,
        url: product.url.as_deref(),
        categories: &product.categories,
        price_range: product.price_range,
        list_price_range: product.list_price_range,
        media: &product.media,
        rating: product.rating.as_ref(),
        tags: &product.tags,
        metadata: product.metadata.as_ref(),
        extra: &product.extra,
    }
}

/// Returns the members of the variant at `position`.
fn variant(product: &product::Product, position: usize) -> VariantMembers<'_> {
    let variant = &product.variants[position];
    VariantMembers {
        id: &variant.id,
        sku: variant.sku.as_deref(),
        barcodes: &variant.barcodes,
        handle: variant.handle.as_deref(),
        title: &variant.title,
        description: &variant.description,
        url: variant.url.as_deref(),
        categories: &variant.categories,
        price: variant.price,
        list_price: variant.list_price,
        unit_price: variant.unit_price.as_ref().and_then(UnitPrice::exact),
        availability: &variant.availability,
        options: product.selection_of(position).into(),
        media: &variant.media,
        rating: variant.rating.as_ref(),
        tags: &variant.tags,
        metadata: variant.metadata.as_ref(),
        seller: variant.seller.as_ref(),
        extra: &variant.extra,
    }
}
