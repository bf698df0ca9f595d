//! Conversion of a product of the shop to one of the domain.
//!
//! A product that could not be sold as it is described is left out, with a line in the log and a count: one without a
//! name or without a variant. The same holds for a variant without an identifier of its own, without a price in the
//! product's currency, or without a value on each option.

use std::collections::{HashMap, HashSet};

use serde_json::Map;
use ucp_core::{
    catalog::product::{
        Availability, Barcode, Category, Combination, Description, LeadTime, Media, OptionValue, Product,
        ProductOption, QuantityRule, Variant,
    },
    money::{Currency, Price, PriceRange},
    rendering::Renderings,
};
use url::Url;

use super::{
    super::{encoded, money::Money, text},
    lenient::Lenient,
    shape, unit,
};
use ucp_net::Counters;

/// Maximum number of combinations of options that are read: several times what a product can have.
const MOST_COMBINATIONS: usize = 10_000;

/// Maximum number of tags per product.
const MOST_TAGS: usize = 250;

/// Type in the identifier of a product.
pub(super) const PRODUCT: &str = "Product";

/// Type in the identifier of a variant.
pub(crate) const VARIANT: &str = "ProductVariant";

/// Returns `true` if an identifier is one of this type, such as `gid://shopify/Product/1`.
pub(crate) fn is_id(id: &str, of: &str) -> bool {
    let number = id
        .strip_prefix("gid://shopify/")
        .and_then(|rest| rest.strip_prefix(of))
        .and_then(|rest| rest.strip_prefix('/'));
    number.is_some_and(|number| {
        number.bytes().all(|byte| byte.is_ascii_digit()) && !number.starts_with('0') && number.parse::<i64>().is_ok()
    })
}

/// A product of the domain.
#[derive(Debug)]
pub(super) struct Built {
    pub(super) product: Product,
    /// `true` if the product has more variants than it holds and its combinations cannot be read.
    pub(super) unknown: bool,
}

/// Builds a product, with a variant beside those that came with it if one is given; `None` if it is left out.
pub(super) fn build(card: shape::Card, also: Option<Lenient<shape::Variant>>, counters: &Counters) -> Option<Built> {
    let id = card.id.clone();
    let builder = Builder { counters, product: &id };
    match builder.build(card, also) {
        Ok(built) => Some(built),
        Err(reason) => {
            counters.note(reason);
            tracing::warn!(product = text::line(&id).unwrap_or_default(), reason, "invalid upstream product, left out");
            None
        }
    }
}

/// Converts further variants of a product, each with its values on the product's options. If `subscription`, none is
/// available. Those that cannot be sold are left out.
pub(super) fn more(
    product: &Product,
    nodes: Vec<Lenient<shape::Variant>>,
    subscription: bool,
    counters: &Counters,
) -> Vec<Variant> {
    let builder = Builder { counters, product: &product.id };
    let context = Context {
        options: &product.options,
        currency: product.price_range.min.currency,
        title: &product.title,
        page: product.url.as_deref().and_then(Page::of),
        subscription,
    };
    nodes.into_iter().filter_map(|node| builder.variant(node, &context)).collect()
}

/// Returns a product with further variants; its combinations and price range are updated.
pub(super) fn with_variants(product: &Product, more: impl IntoIterator<Item = Variant>) -> Product {
    let mut variants = product.variants.clone();
    let mut ids: HashSet<String> = variants.iter().map(|variant| variant.id.clone()).collect();
    for variant in more {
        let taken = variants.iter().any(|held| held.values == variant.values);
        if !taken && ids.insert(variant.id.clone()) {
            variants.push(variant);
        }
    }
    let combinations = product.combinations.clone().map(|combinations| joined(combinations, &variants));
    let prices = PriceRange::spanning(variants.iter().map(|variant| variant.price));
    Product {
        id: product.id.clone(),
        handle: product.handle.clone(),
        title: product.title.clone(),
        description: product.description.clone(),
        url: product.url.clone(),
        categories: product.categories.clone(),
        price_range: prices.map_or(product.price_range, |prices| around(product.price_range, prices)),
        list_price_range: product.list_price_range,
        media: product.media.clone(),
        options: product.options.clone(),
        variants,
        combinations,
        rating: product.rating.clone(),
        tags: product.tags.clone(),
        metadata: product.metadata.clone(),
        extra: product.extra.clone(),
        renderings: Renderings::default(),
    }
}

/// Returns combinations updated and completed by the variants: their statements are at least as recent.
fn joined(mut combinations: Vec<Combination>, variants: &[Variant]) -> Vec<Combination> {
    let mut held: HashMap<&[usize], bool> =
        variants.iter().map(|variant| (variant.values.as_slice(), variant.availability.available)).collect();
    for combination in &mut combinations {
        if let Some(available) = held.remove(combination.values.as_slice()) {
            combination.available = available;
        }
    }
    let unheard = variants.iter().filter(|variant| held.contains_key(variant.values.as_slice()));
    combinations.extend(
        unheard
            .map(|variant| Combination { values: variant.values.clone(), available: variant.availability.available }),
    );
    combinations
}

fn around(one: PriceRange, other: PriceRange) -> PriceRange {
    PriceRange::spanning([one.min, one.max, other.min, other.max]).unwrap_or(one)
}

struct Builder<'a> {
    counters: &'a Counters,
    product: &'a str,
}

/// Properties of the product that a variant belongs to.
struct Context<'a> {
    options: &'a [ProductOption],
    currency: Currency,
    title: &'a str,
    /// Page of the product.
    page: Option<Page>,
    /// `true` if the product is sold by subscription only, which the gateway does not support.
    subscription: bool,
}

impl Builder<'_> {
    fn build(&self, card: shape::Card, also: Option<Lenient<shape::Variant>>) -> Result<Built, &'static str> {
        if !is_id(&card.id, PRODUCT) {
            return Err("products left out: no identifier");
        }
        let title = card.title.as_deref().and_then(text::line).or_else(|| card.handle.as_deref().and_then(text::line));
        let title = title.ok_or("products left out: no title")?;
        let url = card.online_store_url.as_deref().and_then(text::address);
        let options = options(&card.options)?;

        let featured = Some(card.featured).filter(|featured| featured.is_some());
        let nodes: Vec<_> = card.variants.nodes.into_iter().chain(featured).chain(also).collect();
        let currency = nodes.iter().find_map(currency).ok_or(if nodes.is_empty() {
            "products left out: no variants"
        } else {
            "products left out: no price"
        })?;
        let subscription = *card.requires_selling_plan == Some(true);
        let page = url.as_deref().and_then(Page::of);
        let context = Context { options: &options, currency, title: &title, page, subscription };
        let mut variants: Vec<Variant> = Vec::with_capacity(nodes.len());
        for node in nodes {
            let Some(variant) = self.variant(node, &context) else { continue };
            // The featured variant is usually among the others too.
            if variants.iter().any(|held| held.id == variant.id) {
                continue;
            }
            if variants.iter().any(|held| held.values == variant.values) {
                self.leave_out("variants left out: the same options as another");
                continue;
            }
            variants.push(variant);
        }
        let held = PriceRange::spanning(variants.iter().map(|variant| variant.price))
            .ok_or("products left out: no variant that could be sold")?;

        let partial = card.variants.page_info.has_next_page && !options.is_empty();
        let axes: Vec<_> = options.iter().map(|axis| axis.values.len()).collect();
        let existing = (card.encoded_variant_existence.as_deref(), card.encoded_variant_availability.as_deref());
        let mut combinations = if partial { self.combinations(existing, &axes, &variants) } else { None };
        if subscription {
            combinations.iter_mut().flatten().for_each(|combination| combination.available = false);
        }
        let stated = card.price_range.as_ref().and_then(|range| self.range(range, currency));
        let price_range = stated.map_or(held, |stated| around(stated, held));
        let list_price_range = if partial {
            let before = card.compare_at_price_range.as_ref().and_then(|range| self.range(range, currency));
            before.and_then(|before| reduced(price_range, before))
        } else {
            listed(&variants)
        };
        let unknown = partial && combinations.is_none();
        let media = card.media.0.and_then(|media| media.nodes.0).unwrap_or_default();
        let tags = card.tags.0.unwrap_or_default();
        let product = Product {
            description: Description::plain(
                card.description_html.as_deref().and_then(text::plain).unwrap_or_else(|| title.clone()),
            ),
            id: card.id,
            handle: card.handle.as_deref().and_then(text::line),
            title,
            url,
            categories: categories(card.category.as_ref(), card.product_type.as_deref()),
            price_range,
            list_price_range,
            media: media.iter().flat_map(|medium| &**medium).filter_map(medium).collect(),
            options,
            variants,
            combinations,
            rating: None,
            tags: tags.iter().filter_map(|tag| text::line(tag.as_deref()?)).take(MOST_TAGS).collect(),
            metadata: card
                .vendor
                .as_deref()
                .and_then(text::line)
                .map(|vendor| Map::from_iter([("vendor".to_owned(), vendor.into())])),
            extra: Map::new(),
            renderings: Renderings::default(),
        };
        Ok(Built { product, unknown })
    }

    fn leave_out(&self, reason: &'static str) {
        self.counters.note(reason);
        tracing::warn!(product = self.product, reason, "invalid variant, left out");
    }

    fn variant(&self, node: Lenient<shape::Variant>, context: &Context<'_>) -> Option<Variant> {
        let needed = node.0.and_then(|mut variant| {
            let needed = (
                variant.id.0.take()?,
                variant.price.0.take()?,
                variant.selected_options.0.take()?,
                variant.available_for_sale.0.take()?,
            );
            Some((needed, variant))
        });
        let Some(((id, price, selected, for_sale), variant)) = needed else {
            self.leave_out("variants left out: no price, or not of the form that the API promises");
            return None;
        };
        if !is_id(&id, VARIANT) {
            self.leave_out("variants left out: no identifier");
            return None;
        }
        let Some(price) = self.price(&price).filter(|price| price.currency == context.currency) else {
            self.leave_out("variants left out: no price in the product's currency");
            return None;
        };
        let Some(values) = values(&selected, context.options) else {
            self.leave_out("variants left out: not one value on each option");
            return None;
        };
        let own = variant.title.as_deref().and_then(text::line).filter(|_| !context.options.is_empty());
        let title = own.unwrap_or_else(|| context.title.to_owned());
        let available = for_sale && !context.subscription;
        let status = match (available, variant.currently_not_in_stock.unwrap_or_default()) {
            // It may be in stock but cannot be bought here.
            _ if context.subscription => None,
            (true, true) => Some("backorder"),
            (true, false) => Some("in_stock"),
            (false, _) => Some("out_of_stock"),
        };
        let unit_price = variant.unit_price.as_ref().zip(variant.unit_price_measurement.as_ref());
        let list_price = variant.compare_at_price.as_ref().and_then(|before| self.price(before));
        Some(Variant {
            sku: variant.sku.as_deref().and_then(text::line),
            barcodes: variant.barcode.as_deref().and_then(barcode).into_iter().collect(),
            handle: None,
            description: Description::plain(title.clone()),
            title,
            url: context.page.as_ref().and_then(|page| page.with(&id)),
            categories: Vec::new(),
            price,
            list_price: list_price.filter(|before| before.currency == price.currency && before.amount > price.amount),
            unit_price: unit_price.and_then(|(stated, measurement)| unit::price(stated, measurement, price)),
            availability: Availability { available, status: status.map(str::to_owned) },
            quantity_rule: QuantityRule::default(),
            lead_time: LeadTime::default(),
            stock_by_location: None,
            weight_grams: 0,
            digital: *variant.requires_shipping == Some(false),
            values,
            media: variant.image.as_ref().and_then(image).into_iter().collect(),
            rating: None,
            tags: Vec::new(),
            metadata: None,
            seller: None,
            extra: Map::new(),
            id,
        })
    }

    fn price(&self, money: &Money) -> Option<Price> {
        let (price, rounded) = money.price().ok()?;
        if rounded {
            self.counters.note("amounts finer than their currency, rounded");
        }
        Some(price)
    }

    /// Converts a price range; `None` unless both ends are in `currency` and in order.
    fn range(&self, range: &shape::Range, currency: Currency) -> Option<PriceRange> {
        let price = |money: &Lenient<Money>| self.price(money.as_ref()?);
        let (min, max) = (price(&range.min_variant_price)?, price(&range.max_variant_price)?);
        let fits = min.currency == currency && max.currency == currency && min.amount <= max.amount;
        fits.then_some(PriceRange { min, max })
    }

    /// Returns all existing combinations; `None` if they cannot be read.
    fn combinations(
        &self,
        (existing, available): (Option<&str>, Option<&str>),
        axes: &[usize],
        variants: &[Variant],
    ) -> Option<Vec<Combination>> {
        let decode = |text: Option<&str>| encoded::decode(text.unwrap_or_default(), axes, MOST_COMBINATIONS);
        let (existing, mut available) = match (decode(existing), decode(available)) {
            (Ok(existing), Ok(available)) if !existing.is_empty() => (existing, available),
            (existing, available) => {
                self.counters.note("combinations of options that cannot be read");
                let error = existing.err().or(available.err()).map(|error| error.to_string());
                tracing::warn!(product = self.product, error, "reading the variants of a product failed");
                return None;
            }
        };
        available.sort_unstable();
        let combinations = existing.into_iter().map(|values| {
            let available = available.binary_search(&values).is_ok();
            Combination { values, available }
        });
        Some(joined(combinations.collect(), variants))
    }
}

/// Returns the currency of a variant's price.
fn currency(node: &Lenient<shape::Variant>) -> Option<Currency> {
    let money = node.as_ref()?.price.as_ref()?;
    money.price().ok().map(|(price, _)| price.currency)
}

/// Returns the options of a product; empty for one in a single form, whose option value the API calls `Default Title`.
fn options(axes: &[shape::Axis]) -> Result<Vec<ProductOption>, &'static str> {
    if let [axis] = axes
        && let [value] = axis.option_values.as_slice()
        && value.name == "Default Title"
    {
        return Ok(Vec::new());
    }
    let option = |axis: &shape::Axis| {
        let value = |value: &shape::AxisValue| {
            let label = text::line(&value.name)?;
            let canonical = written(&value.name, &label);
            Some(OptionValue { id: value.id.as_deref().and_then(text::line), label, canonical })
        };
        let values =
            axis.option_values.iter().map(value).collect::<Option<Vec<_>>>().filter(|values| !values.is_empty())?;
        let name = text::line(&axis.name)?;
        Some(ProductOption { canonical: written(&axis.name, &name), name, values })
    };
    axes.iter().map(|axis| option(axis).ok_or("products left out: an option without a name or values")).collect()
}

/// Returns a name as the merchant wrote it if it is shown in another form: the API expects it unchanged.
fn written(own: &str, shown: &str) -> Option<String> {
    (own != shown).then(|| own.to_owned())
}

/// Returns the position of a variant's value on each option; `None` if an option has no value or an unknown one.
fn values(selected: &[Lenient<shape::Selected>], options: &[ProductOption]) -> Option<Vec<usize>> {
    let chosen = |choice: &Lenient<shape::Selected>| {
        let choice = choice.as_ref()?;
        Some((text::line(choice.name.as_deref()?)?, text::line(choice.value.as_deref()?)?))
    };
    let chosen: Vec<_> = selected.iter().filter_map(chosen).collect();
    let value = |axis: &ProductOption| {
        let (_, label) = chosen.iter().find(|(name, _)| *name == axis.name)?;
        axis.values.iter().position(|value| value.label == *label)
    };
    options.iter().map(value).collect()
}

/// Returns the range of list prices of variants, all of which are held; `None` if none is reduced.
fn listed(variants: &[Variant]) -> Option<PriceRange> {
    let any = variants.iter().any(|variant| variant.list_price.is_some());
    // Variants that are not reduced count with their price: the range covers all variants.
    let prices = || variants.iter().map(|variant| variant.list_price.unwrap_or(variant.price));
    any.then(|| PriceRange::spanning(prices())).flatten()
}

/// Returns the range of list prices from the ranges that the shop states for all variants, in which a variant that is
/// not reduced counts as zero.
fn reduced(prices: PriceRange, before: PriceRange) -> Option<PriceRange> {
    let larger = |one: Price, other: Price| if other.amount > one.amount { other } else { one };
    (before.max.amount > prices.max.amount)
        .then(|| PriceRange { min: larger(prices.min, before.min), max: larger(prices.max, before.max) })
}

/// Returns the category in Shopify's taxonomy with all categories above it, and the merchant's own type of product.
fn categories(category: Option<&shape::Category>, own: Option<&str>) -> Vec<Category> {
    let id = category.and_then(|category| category.id.as_deref()?.strip_prefix("gid://shopify/TaxonomyCategory/"));
    let id = id.filter(|id| {
        !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    });
    // `aa-1-13` is below `aa-1`, and that below `aa`.
    let lines =
        id.into_iter().flat_map(|id| std::iter::successors(Some(id), |id| id.rsplit_once('-').map(|(above, _)| above)));
    let taxonomy = |name: &str, value: String| Category { value, taxonomy: Some(name.to_owned()) };
    lines
        .filter(|id| !id.is_empty())
        .map(|id| taxonomy("shopify", id.to_owned()))
        .chain(own.and_then(text::line).map(|own| taxonomy("merchant", own)))
        .collect()
}

/// Returns a barcode with its standard if the length and the check digit fit one.
fn barcode(code: &str) -> Option<Barcode> {
    let code = code.trim();
    let digits: Vec<u32> = code.chars().map(|letter| letter.to_digit(10)).collect::<Option<_>>()?;
    let kind = match (digits.len(), code.get(..2)?) {
        (12, _) => "UPC",
        (13, "97") if code.starts_with("978") || code.starts_with("979") => "ISBN",
        (13, "45" | "49") => "JAN",
        (8 | 13, _) => "EAN",
        (14, _) => "GTIN",
        _ => return None,
    };
    let weighted =
        digits.iter().rev().enumerate().map(|(place, digit)| if place % 2 == 1 { digit * 3 } else { *digit });
    (weighted.sum::<u32>() % 10 == 0).then(|| Barcode { kind: kind.to_owned(), value: code.to_owned() })
}

/// Page of a product on which a variant can be selected: the address before and behind the number of the variant.
struct Page {
    before: String,
    behind: String,
}

impl Page {
    fn of(page: &str) -> Option<Self> {
        let mut url = Url::parse(page).ok()?;
        let behind = url.fragment().map(|fragment| format!("#{fragment}")).unwrap_or_default();
        url.set_fragment(None);
        url.query_pairs_mut().append_pair("variant", "");
        Some(Self { before: url.into(), behind })
    }

    /// Returns the address with a variant selected by its identifier.
    fn with(&self, id: &str) -> Option<String> {
        let Self { before, behind } = self;
        id.rsplit('/').next().map(|number| format!("{before}{number}{behind}"))
    }
}

fn image(image: &shape::Image) -> Option<Media> {
    Some(Media {
        kind: "image".to_owned(),
        url: text::address(image.url.as_deref()?)?,
        alt_text: image.alt_text.as_deref().and_then(text::line),
        width: image.width.filter(|width| *width > 0),
        height: image.height.filter(|height| *height > 0),
    })
}

fn medium(medium: &shape::Medium) -> Option<Media> {
    let alt = medium.alt.as_deref().and_then(text::line);
    let of = |kind: &str, url: &str, width: Option<u32>, height: Option<u32>| {
        Some(Media {
            kind: kind.to_owned(),
            url: text::address(url)?,
            alt_text: alt.clone(),
            width: width.filter(|width| *width > 0),
            height: height.filter(|height| *height > 0),
        })
    };
    let best = |kind: &str, preferred: &str| {
        let mut sources = medium.sources.iter().flatten().filter_map(|source| source.as_ref());
        let usual = |source: &&shape::Source| source.mime_type.as_deref() == Some(preferred);
        let source = sources.clone().find(usual).or_else(|| sources.next())?;
        of(kind, source.url.as_deref()?, *source.width, *source.height)
    };
    match medium.kind.as_deref()? {
        "MediaImage" => {
            let media = image(medium.image.as_ref()?)?;
            Some(Media { alt_text: media.alt_text.or(alt), ..media })
        }
        "Video" => best("video", "video/mp4"),
        "ExternalVideo" => of("video", medium.origin_url.as_deref()?, None, None),
        "Model3d" => best("model_3d", "model/gltf-binary"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
