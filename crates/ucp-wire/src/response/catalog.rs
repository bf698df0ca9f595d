//! Encoding of answers about the catalog. [`shape`](crate::catalog::shape) holds the schemas of the result.

use serde::Serialize;
use ucp_core::{
    Answer, Release,
    catalog::{
        detail::Detail,
        lookup::{Input, ListedVariant, Listing, MatchKind},
        product::{self, SelectedOption},
        selection::Signal,
    },
    message::Message,
    rendering::{Extent, Rendering},
};

use super::older;
use crate::{
    catalog::{
        shape::{
            DetailOption, DetailOptionValue, InputCorrelation, OptionValue, Pagination, ProductMembers, ProductOption,
            VariantMembers,
        },
        unit_price::UnitPrice,
    },
    splice::{Document, object},
    view,
};

/// Estimated length of a variant, in bytes.
const VARIANT: usize = 1_024;

/// Members of a product in a listing that depend on its options.
#[derive(Serialize)]
struct Listed<'a> {
    options: Vec<ProductOption<'a>>,
}

/// Members of a product that depend on a selection.
#[derive(Serialize)]
struct Chosen<'a> {
    options: Vec<DetailOption<'a>>,
    selected: &'a [SelectedOption],
}

impl Chosen<'_> {
    /// Adds the members as they are serialized.
    fn add_to(&self, product: &mut Document) {
        product.name("options").array(|options| {
            for DetailOption { name, values } in &self.options {
                options.object(|option| {
                    option.name("name").text(name);
                    option.name("values").array(|list| {
                        values.iter().for_each(|value| list.object(|object| signals(object, value)));
                    });
                });
            }
        });
        product.name("selected").value(self.selected);
    }
}

fn signals(object: &mut Document, value: &DetailOptionValue<'_>) {
    let DetailOptionValue { id, label, available, exists } = value;
    if let Some(id) = id {
        object.name("id").text(id);
    }
    object.name("label").text(label);
    object.name("available").raw(if *available { "true" } else { "false" });
    object.name("exists").raw(if *exists { "true" } else { "false" });
}

/// Members of a variant that depend on what was looked up.
#[derive(Serialize)]
struct FoundBy<'a> {
    inputs: Vec<InputCorrelation<'a>>,
}

/// Adds the products of an answer in a release; nothing if the answer is about something else.
/// `extent` is that of listings.
pub(crate) fn products(root: &mut Document, release: Release, answer: &Answer, extent: Extent) {
    match answer {
        Answer::Products(found) => listings(root, release, &found.products, extent),
        Answer::ProductsById(resolved) => listings(root, release, &resolved.products, extent),
        Answer::Product(detail) => product(root, release, detail),
        _ => {}
    }
}

/// Adds the members beside the products of an answer.
pub(crate) fn beside(root: &mut Document, answer: &Answer) {
    match answer {
        Answer::Products(found) => {
            root.name("pagination").value(&Pagination {
                cursor: found.cursor.as_deref(),
                has_next_page: found.cursor.is_some(),
                total_count: found.total,
            });
            notes(root, &found.messages);
        }
        Answer::ProductsById(resolved) => notes(root, &resolved.messages),
        Answer::Product(detail) => notes(root, &detail.messages),
        _ => {}
    }
}

/// Estimates the length of the products of an answer in bytes, rather too large than too small.
pub(crate) fn expected(release: Release, answer: &Answer, extent: Extent) -> usize {
    let listed = |listing: &Listing| {
        let rendering = rendering(&listing.product, release, extent);
        rendering.members.len() + rendering.options.len() + listing.variants.len() * VARIANT
    };
    match answer {
        Answer::Products(found) => found.products.iter().map(listed).sum(),
        Answer::ProductsById(resolved) => resolved.products.iter().map(listed).sum(),
        Answer::Product(detail) => {
            let product = &*detail.product;
            let rendering = rendering(product, release, Extent::Whole);
            // Signals are longer than the values they are added to.
            let variant = detail
                .variants
                .first()
                .map_or(0, |at| variant_members(product, release, Extent::Whole, rendering, *at).len() + VARIANT / 16);
            rendering.members.len() + 4 * rendering.options.len() + detail.variants.len() * variant
        }
        _ => 0,
    }
}

fn product(root: &mut Document, release: Release, detail: &Detail) {
    let product = &*detail.product;
    let rendering = rendering(product, release, Extent::Whole);
    root.name("product").object(|object| {
        object.raw(&rendering.members);
        if !product.options.is_empty() {
            let options: Vec<_> =
                product.options.iter().zip(&detail.signals).map(|(axis, signals)| signalled(axis, signals)).collect();
            let chosen = Chosen { options, selected: &detail.selected };
            if release == Release::NEWEST {
                chosen.add_to(object);
            } else {
                object.raw(&older::product(release, &chosen));
            }
        }
        object.name("variants").array(|variants| {
            for position in &detail.variants {
                let members = variant_members(product, release, Extent::Whole, rendering, *position);
                variants.object(|object| object.raw(members));
            }
        });
    });
}

fn listings(root: &mut Document, release: Release, listings: &[Listing], extent: Extent) {
    let mut found = (release != Release::NEWEST).then(|| {
        let listed = listings.iter().flat_map(|listing| &listing.variants);
        let looked_up = listed.filter(|listed| !listed.inputs.is_empty());
        let found = looked_up.map(|listed| FoundBy { inputs: listed.inputs.iter().map(correlation).collect() });
        older::found_by(release, found).into_iter()
    });
    root.name("products").array(|products| {
        listings.iter().for_each(|listing| listed(products, release, extent, listing, found.as_mut()));
    });
}

/// Adds a product. `found` yields the members of those of its variants that were looked up, in an older release.
fn listed(
    products: &mut Document,
    release: Release,
    extent: Extent,
    listing: &Listing,
    mut found: Option<&mut impl Iterator<Item = Box<str>>>,
) {
    let product = &*listing.product;
    let rendering = rendering(product, release, extent);
    products.object(|object| {
        object.raw(&rendering.members);
        object.raw(&rendering.options);
        object.name("variants").array(|variants| {
            for ListedVariant { position, inputs } in &listing.variants {
                variants.object(|object| {
                    object.raw(variant_members(product, release, extent, rendering, *position));
                    match &mut found {
                        _ if inputs.is_empty() => {}
                        Some(found) => object.raw(&found.next().unwrap_or_default()),
                        None => found_by(object, inputs),
                    }
                });
            }
        });
    });
}

/// Adds how a variant was looked up, as [`FoundBy`] has it.
fn found_by(variant: &mut Document, inputs: &[Input]) {
    variant.name("inputs").array(|list| {
        for InputCorrelation { id, kind } in inputs.iter().map(correlation) {
            list.object(|input| {
                input.name("id").text(id);
                input.name("match").text(kind);
            });
        }
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

fn rendering(product: &product::Product, release: Release, extent: Extent) -> &Rendering {
    product.renderings.of(release, extent, || {
        let options = if product.options.is_empty() {
            Box::default()
        } else {
            older::product(release, &Listed { options: options(product, extent) })
        };
        let stated = product_members(product);
        let members = match extent {
            Extent::Whole => older::product(release, &stated),
            Extent::Listed => {
                let mut stated = object(&stated);
                view::list_product(&mut stated);
                older::product(release, &stated)
            }
        };
        Rendering::new(members, options, product.variants.len())
    })
}

fn variant_members<'a>(
    product: &product::Product,
    release: Release,
    extent: Extent,
    rendering: &'a Rendering,
    position: usize,
) -> &'a str {
    rendering.variant(position, || {
        let (of, stated) = (&product.variants[position], variant(product, position));
        match extent {
            Extent::Whole => older::variant(release, of, &stated),
            Extent::Listed => {
                let mut stated = object(&stated);
                view::list_variant(&mut stated, !product.media.is_empty());
                older::variant(release, of, &stated)
            }
        }
    })
}

fn options(product: &product::Product, extent: Extent) -> Vec<ProductOption<'_>> {
    let has_ids = extent == Extent::Whole;
    product
        .options
        .iter()
        .map(|axis| ProductOption {
            name: &axis.name,
            values: axis
                .values
                .iter()
                .map(|value| OptionValue { id: value.id.as_deref().filter(|_| has_ids), label: &value.label })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::splice::members;

    #[test]
    fn options_are_written_as_they_are_serialized() {
        let value = |id, available| DetailOptionValue { id, label: "Size \"L\"", available, exists: !available };
        let options = vec![
            DetailOption { name: "Size", values: vec![value(None, true), value(Some("l"), false)] },
            DetailOption { name: "Color", values: Vec::new() },
        ];
        let selected = [SelectedOption { name: "Size".to_owned(), id: None, label: "L".to_owned() }];
        for (options, selected) in [(options, &selected[..]), (Vec::new(), &[])] {
            let chosen = Chosen { options, selected };
            let mut document = Document::default();
            chosen.add_to(&mut document);
            assert_eq!(document.finish(), *members(&chosen));
        }
    }
}
