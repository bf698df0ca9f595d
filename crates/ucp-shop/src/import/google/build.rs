//! From the items of one product to its record.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::{Timestamp, civil::Date};
use serde_json::{Map, Value};
use ucp_core::{
    catalog::{
        market::Market,
        product::{Availability, Barcode, Category, Description, LeadTime, Media, SelectedOption},
        record::{Record, VariantRecord},
    },
    money::Price,
};
use ucp_import::{BadRow, text::plain};

use super::{super::shopify::barcode, item::FeedItem};

/// Attributes that variants differ in, with the names of the options.
const AXES: [(&str, &str); 4] =
    [("color", "Color"), ("size", "Size"), ("material", "Material"), ("pattern", "Pattern")];

/// Attributes that are kept as metadata of the product.
const METADATA: [&str; 4] = ["brand", "condition", "age_group", "gender"];

/// Puts a product together.
pub(super) fn build(items: &[FeedItem], market: &Market, now: Timestamp) -> Result<Record, BadRow> {
    let Some(first) = items.first() else { return Err(BadRow::faulty(1, None, "a product needs at least one item")) };
    let id = first.required("id")?;
    let group = first.get("item_group_id");
    let title = group.and_then(|_| first.text("item_group_title")).or_else(|| first.text("title"));
    let title = title.ok_or_else(|| first.fault("title", "is missing"))?;
    let described = first.get("description").or_else(|| first.get("summary")).and_then(plain);
    let options = options(items)?;
    let mut media = Vec::new();
    for item in items {
        for picture in pictures(item)? {
            if media.iter().all(|known: &Media| known.url != picture.url) {
                media.push(picture);
            }
        }
    }
    let alone = items.len() == 1;
    let mut metadata = Map::new();
    for name in METADATA {
        if let Some(value) = first.text(name) {
            metadata.insert(name.to_owned(), Value::String(value));
        }
    }
    let variants = items.iter().zip(options).map(|(item, options)| variant(item, options, alone, market, now));
    Ok(Record {
        id: format!("prod_{}", group.unwrap_or(id)),
        handle: None,
        description: Description::plain(described.unwrap_or_else(|| title.clone())),
        title,
        url: first.address("link")?,
        categories: categories(first),
        media,
        options: Vec::new(),
        variants: variants.collect::<Result<_, _>>()?,
        rating: None,
        tags: Vec::new(),
        metadata: Some(metadata).filter(|metadata| !metadata.is_empty()),
        translations: BTreeMap::new(),
        extra: Map::new(),
    })
}

/// Returns the option values of each item.
fn options(items: &[FeedItem]) -> Result<Vec<Vec<SelectedOption>>, BadRow> {
    let stated = AXES.into_iter().filter(|(name, _)| items.iter().all(|item| item.text(name).is_some()));
    let axes: Vec<_> = stated.collect();
    let value = |name: &str, label: String| SelectedOption { name: name.to_owned(), id: None, label };
    let mut all: Vec<Vec<SelectedOption>> = items
        .iter()
        .map(|item| axes.iter().filter_map(|(name, axis)| Some(value(axis, item.text(name)?))).collect())
        .collect();
    let distinct: HashSet<Vec<&str>> =
        all.iter().map(|options| options.iter().map(|option| option.label.as_str()).collect()).collect();
    if distinct.len() < items.len() {
        let titles: HashSet<_> = items.iter().map(|item| item.text("title")).collect();
        let by_title = titles.len() == items.len() && !titles.contains(&None);
        for (options, item) in all.iter_mut().zip(items) {
            let title = if by_title { item.text("title") } else { item.text("id") };
            options.push(value("Item", title.ok_or_else(|| item.fault("id", "is missing"))?));
        }
    }
    Ok(all)
}

fn variant(
    item: &FeedItem,
    options: Vec<SelectedOption>,
    alone: bool,
    market: &Market,
    now: Timestamp,
) -> Result<VariantRecord, BadRow> {
    let currency = market.currency;
    let price = item.money("price", currency)?.ok_or_else(|| item.fault("price", "is missing"))?;
    let sale = item.money("sale_price", currency)?.filter(|sale| *sale < price);
    let sale = if item.is_on_sale(now)? { sale } else { None };
    let barcodes = item.all("gtin").filter_map(barcode).chain(mpn(item));
    Ok(VariantRecord {
        id: item.required("id")?.to_owned(),
        sku: None,
        barcodes: barcodes.collect(),
        handle: None,
        title: None,
        description: None,
        url: if alone { None } else { item.address("link")? },
        categories: Vec::new(),
        price: Price { amount: sale.unwrap_or(price), currency },
        list_price: sale.map(|_| Price { amount: price, currency }),
        prices: Vec::new(),
        unit_price: None,
        availability: availability(item)?,
        inventory: None,
        quantity_rule: None,
        stock_by_location: None,
        lead_days: item.text("max_handling_time").map(|days| handling(item, &days)).transpose()?,
        available_on: item.text("availability_date").map(|text| day(item, &text)).transpose()?,
        weight_grams: item.grams()?,
        digital: false,
        options,
        media: if alone { Vec::new() } else { pictures(item)? },
        rating: None,
        tags: Vec::new(),
        metadata: None,
        seller: None,
        extra: Map::new(),
    })
}

/// Reads the number of days in which an item is made ready.
fn handling(item: &FeedItem, days: &str) -> Result<u16, BadRow> {
    let days = days.trim().parse().ok().filter(|days| *days <= LeadTime::MAX_DAYS);
    let expected = || format!("must be a number of days from 0 to {}", LeadTime::MAX_DAYS);
    days.ok_or_else(|| item.fault("max_handling_time", expected()))
}

/// Reads the day of a time in ISO 8601, as its own offset has it.
fn day(item: &FeedItem, text: &str) -> Result<Date, BadRow> {
    let day = text.trim().get(..10).and_then(|day| day.parse().ok());
    day.ok_or_else(|| item.fault("availability_date", "must be a time in ISO 8601, such as 2026-12-24T08:00+0100"))
}

fn mpn(item: &FeedItem) -> Option<Barcode> {
    item.text("mpn").map(|value| Barcode { kind: "MPN".to_owned(), value })
}

fn availability(item: &FeedItem) -> Result<Availability, BadRow> {
    let stated = item.required("availability")?.to_ascii_lowercase().replace([' ', '-'], "_");
    let known: HashMap<_, _> =
        HashMap::from([("in_stock", true), ("out_of_stock", false), ("preorder", true), ("backorder", true)]);
    match known.get(stated.as_str()) {
        Some(available) => Ok(Availability { available: *available, status: Some(stated) }),
        None => Err(item.fault("availability", "must be `in_stock`, `out_of_stock`, `preorder` or `backorder`")),
    }
}

fn pictures(item: &FeedItem) -> Result<Vec<Media>, BadRow> {
    let (own, more) = ("image_link", "additional_image_link");
    // A cell holds several addresses of the second kind, in which a comma is written `%2C`.
    let more_addresses = item.all(more).flat_map(|cell| cell.split(',')).map(str::trim);
    let stated = item.all(own).map(|address| (own, address)).chain(more_addresses.map(|address| (more, address)));
    let picture = |(name, address): (&str, &str)| -> Result<Media, BadRow> {
        let url = item.checked_address(name, address)?;
        Ok(Media { kind: "image".to_owned(), url, alt_text: None, width: None, height: None })
    };
    stated.filter(|(_, address)| !address.is_empty()).map(picture).collect()
}

fn categories(item: &FeedItem) -> Vec<Category> {
    let of = |name: &'static str, taxonomy: &'static str| {
        item.all(name).filter_map(move |value| {
            let value = ucp_import::text::line(value)?;
            Some(Category { value, taxonomy: Some(taxonomy.to_owned()) })
        })
    };
    of("google_product_category", "google_product_category").chain(of("product_type", "merchant")).collect()
}
