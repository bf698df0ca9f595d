//! The sample shop that a first start creates: a general store in English and Spanish.
//!
//! Everything about it is invented, every address is below `example.com`, and every barcode lies in a range that is not
//! given to products (GS1 restricted circulation; ISBNs of a registration group that does not exist). It is meant to be
//! read by agents that try the protocol out, so its texts are written and not generated, in English and in Spanish.
//!
//! The files in `sample/` are recipes: they state what is particular about a product, and the code here expands them
//! into full [`Record`]s, the same ones every time. `shop.json` holds what the departments share; the other files hold
//! a department each. Runner Pro, Blue Runner Pro and Trail Master X are the products of the UCP specification's
//! examples.
//!
//! A pattern such as `Blue/11` or `*/11` names variants: one option value or `*` for each axis, in order.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Number, Value};
use ucp_core::{
    catalog::{
        market::Market,
        product::{
            Availability, Barcode, Category, Description, Measure, Media, Rating, Reference, SelectedOption, Seller,
            UnitPrice,
        },
        record::{OptionRecord, PriceRecord, Record, Translation, ValueRecord, VariantRecord},
    },
    money::{Amount, Currency, Price},
};

use super::{SAMPLE_PICTURES, recipe};
use crate::database::Opening;

const SHOP: &str = include_str!("../../sample/shop.json");

/// Taxes, deliveries and discounts: an example of every kind of term.
const TERMS: &str = include_str!("../../sample/terms.json");

const DEPARTMENTS: [&str; 11] = [
    include_str!("../../sample/footwear.json"),
    include_str!("../../sample/apparel.json"),
    include_str!("../../sample/outdoor.json"),
    include_str!("../../sample/home.json"),
    include_str!("../../sample/hardware.json"),
    include_str!("../../sample/kitchen.json"),
    include_str!("../../sample/electronics.json"),
    include_str!("../../sample/books.json"),
    include_str!("../../sample/food.json"),
    include_str!("../../sample/beauty.json"),
    include_str!("../../sample/toys.json"),
];

/// The language of the second text of every pair.
const SECOND_LANGUAGE: &str = "es";

/// Returns the market of the sample shop: its languages and currencies.
pub fn market() -> Market {
    shop().market
}

/// Returns the products of the sample shop, always the same ones in the same order.
pub fn records() -> Vec<Record> {
    let shop = shop();
    let mut records = Vec::new();
    for department in DEPARTMENTS {
        let department: Department = recipe(department);
        for shelf in &department.shelves {
            records.extend(
                shelf
                    .products
                    .iter()
                    .map(|product| Maker { shop: &shop, department: &department, shelf, product }.record()),
            );
        }
    }
    records
}

/// Returns the initial content of the sample shop.
pub fn opening() -> Opening {
    Opening { terms: recipe(TERMS), records: records(), ..Opening::of(market()) }
}

fn shop() -> SharedData {
    recipe(SHOP)
}

/// Data that the departments share.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SharedData {
    market: Market,
    /// Base URL of the shop's pages.
    site: String,
    price_lists: Vec<PriceList>,
    sellers: BTreeMap<String, Seller>,
    /// Lists of option values that several products share.
    values: BTreeMap<String, Vec<String>>,
    /// The parts of SKUs for option values for which the rule does not serve.
    codes: BTreeMap<String, String>,
    /// Option names and values in the second language.
    terms: BTreeMap<String, String>,
    /// Option values that make a variant digital.
    digital: Vec<String>,
    /// Option names and values that need no translation; numbers and sizes need none either.
    #[cfg_attr(not(test), expect(dead_code, reason = "so that a test can tell what was forgotten"))]
    same_in_both: Vec<String>,
}

/// Rule for prices in a foreign currency: converted, then raised to a full step less a little.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceList {
    currency: Currency,
    units: i64,
    per: i64,
    step: i64,
    below: i64,
}

impl PriceList {
    fn amount(&self, own: i64) -> Amount {
        let exact = (own * self.units).div_euclid(self.per).max(1);
        amount((exact + self.step - 1) / self.step * self.step - self.below)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Department {
    seller: Option<String>,
    /// The kind of barcode that its goods carry.
    barcode: Option<Standard>,
    /// `true` if option values have identifiers.
    #[serde(default)]
    value_ids: bool,
    shelves: Vec<Shelf>,
}

#[derive(Clone, Copy, Deserialize)]
enum Standard {
    #[serde(rename = "EAN")]
    Ean,
    #[serde(rename = "UPC")]
    Upc,
    #[serde(rename = "GTIN")]
    Gtin,
    #[serde(rename = "ISBN")]
    Isbn,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Shelf {
    /// The shop's own path, such as `Footwear > Running`.
    path: String,
    /// The number in Google's product taxonomy.
    google: Option<String>,
    /// The identifier in Shopify's product taxonomy.
    shopify: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    /// Weight of its goods in grams, unless they state the content of a package.
    grams: u64,
    products: Vec<Product>,
}

/// A text in both languages.
type Pair = (String, String);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Product {
    handle: String,
    /// The identifier, where it does not follow from the handle.
    id: Option<String>,
    title: Pair,
    text: Pair,
    /// Selling points. A product that has some is also described in HTML.
    points: Option<(Vec<String>, Vec<String>)>,
    /// The price in the shop's own currency.
    price: Money,
    /// Previous price of reduced variants.
    was: Option<Money>,
    /// Patterns of the reduced variants; all variants if absent.
    was_for: Option<Vec<String>>,
    /// Surcharge per option value.
    #[serde(default)]
    extra: BTreeMap<String, Money>,
    /// The currencies beside the shop's own; all of them where absent.
    currencies: Option<Vec<Currency>>,
    /// The option axes in order, each with its values or the `@name` of a shared list.
    #[serde(default)]
    options: Map<String, Value>,
    /// Combinations that are not made.
    #[serde(default)]
    without: Vec<String>,
    #[serde(default)]
    sold_out: Vec<String>,
    #[serde(default)]
    backorder: Vec<String>,
    #[serde(default)]
    preorder: Vec<String>,
    #[serde(default)]
    discontinued: Vec<String>,
    /// Quantity in stock, by pattern; the first one that matches counts. Other variants are not counted.
    #[serde(default)]
    stock: Map<String, Value>,
    /// Weight in grams, if it differs from that of its shelf.
    grams: Option<u64>,
    /// Prefix of the SKUs.
    sku: String,
    rating: Option<(Number, u64)>,
    #[serde(default)]
    tags: Vec<String>,
    #[serde(default)]
    metadata: Map<String, Value>,
    /// Content of a package, such as `250 g`, or the option axis that states it.
    measure: Option<String>,
    /// Titles and descriptions of variants, with `{Axis}` for the value on an axis.
    variant_title: Option<String>,
    variant_text: Option<String>,
    /// Identifiers of variants, by pattern, where they do not follow from the product's.
    #[serde(default)]
    variant_ids: BTreeMap<String, String>,
    /// Subject of the first picture, if it is not the title.
    picture: Option<String>,
    /// `true` if the variants name their seller.
    #[serde(default = "yes")]
    sold_by: bool,
}

const fn yes() -> bool {
    true
}

/// A decimal amount in the shop's own currency, in minor units.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
struct Money(i64);

impl TryFrom<String> for Money {
    type Error = String;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let minor = text.split_once('.').filter(|(_, cents)| cents.len() == 2);
        let minor = minor.and_then(|(whole, cents)| format!("{whole}{cents}").parse().ok());
        minor.map(Self).ok_or_else(|| format!("`{text}` is not an amount with two decimals"))
    }
}

fn amount(minor: i64) -> Amount {
    Amount::new(minor).expect("an amount of the sample shop")
}

/// An option axis with its values.
struct Axis {
    name: String,
    labels: Vec<String>,
}

/// Makes a record from the recipe of a product and what it shares with others.
struct Maker<'a> {
    shop: &'a SharedData,
    department: &'a Department,
    shelf: &'a Shelf,
    product: &'a Product,
}

impl Maker<'_> {
    fn record(&self) -> Record {
        let product = self.product;
        let axes = self.axes();
        let (title, second_title) = &product.title;
        let (text, second_text) = &product.text;
        let (points, second_points) =
            product.points.as_ref().map_or((None, None), |(first, second)| (Some(first), Some(second)));
        let terms = axes.iter().flat_map(|axis| std::iter::once(&axis.name).chain(&axis.labels));
        let terms =
            terms.filter_map(|term| self.shop.terms.get(term).map(|second| (term.clone(), second.clone()))).collect();
        let translation = Translation {
            title: Some(second_title.clone()),
            description: Some(description(second_text, second_points)),
            terms,
        };
        Record {
            id: product.id.clone().unwrap_or_else(|| format!("prod_{}", product.handle)),
            handle: Some(product.handle.clone()),
            title: title.clone(),
            description: description(text, points),
            url: Some(format!("{}/products/{}", self.shop.site, product.handle)),
            categories: self.categories(),
            media: vec![Media {
                kind: "image".to_owned(),
                url: self.picture(""),
                alt_text: Some(product.picture.as_ref().unwrap_or(title).clone()),
                width: Some(800),
                height: Some(800),
            }],
            options: axes
                .iter()
                .map(|axis| OptionRecord {
                    name: axis.name.clone(),
                    values: axis
                        .labels
                        .iter()
                        .map(|label| ValueRecord { id: self.value_id(&axis.name, label), label: label.clone() })
                        .collect(),
                })
                .collect(),
            variants: combinations(&axes)
                .into_iter()
                .filter(|labels| !matches_any(&product.without, labels))
                .map(|labels| self.variant(&axes, &labels))
                .collect(),
            rating: product.rating.clone().map(|(value, count)| Rating {
                value,
                scale_min: None,
                scale_max: 5.into(),
                count: Some(count),
            }),
            tags: self.shelf.tags.iter().chain(&product.tags).cloned().collect(),
            metadata: (!product.metadata.is_empty()).then(|| product.metadata.clone()),
            translations: BTreeMap::from([(SECOND_LANGUAGE.to_owned(), translation)]),
            extra: Map::new(),
        }
    }

    fn variant(&self, axes: &[Axis], labels: &[&str]) -> VariantRecord {
        let product = self.product;
        let own = self.shop.market.currency;
        let surcharge: i64 = labels.iter().filter_map(|label| product.extra.get(*label)).map(|money| money.0).sum();
        let price = product.price.0 + surcharge;
        let reduced = product.was_for.as_ref().is_none_or(|patterns| matches_any(patterns, labels));
        let list_price = product.was.filter(|_| reduced).map(|was| was.0 + surcharge);
        let lists = self.shop.price_lists.iter();
        let lists = lists.filter(|list| product.currencies.as_ref().is_none_or(|only| only.contains(&list.currency)));
        let filled = |pattern: &String| {
            axes.iter()
                .zip(labels)
                .fold(pattern.clone(), |text, (axis, label)| text.replace(&format!("{{{}}}", axis.name), label))
        };
        let stem = product.id.as_deref().and_then(|id| id.strip_prefix("prod_")).unwrap_or(&product.handle);
        let given = product.variant_ids.iter().find(|(pattern, _)| matches(pattern, labels)).map(|(_, id)| filled(id));
        let id = given
            .unwrap_or_else(|| labels.iter().fold(format!("var_{stem}"), |id, label| format!("{id}_{}", slug(label))));
        let digital = labels.iter().any(|label| self.shop.digital.iter().any(|digital| digital == label));
        let sku = labels.iter().fold(product.sku.clone(), |sku, label| format!("{sku}-{}", self.code(label)));
        VariantRecord {
            sku: Some(sku),
            barcodes: self.department.barcode.iter().map(|standard| standard.barcode(&id)).collect(),
            id,
            handle: None,
            title: product.variant_title.as_ref().map(filled),
            description: product.variant_text.as_ref().map(|text| Description::plain(filled(text))),
            url: None,
            categories: Vec::new(),
            price: Price { amount: amount(price), currency: own },
            list_price: list_price.map(|list| Price { amount: amount(list), currency: own }),
            prices: lists
                .map(|list| PriceRecord {
                    amount: list.amount(price),
                    list_amount: list_price.map(|own| list.amount(own)),
                    currency: list.currency,
                })
                .collect(),
            unit_price: self.unit_price(axes, labels, price),
            availability: self.availability(labels),
            inventory: product
                .stock
                .iter()
                .find(|(pattern, _)| matches(pattern, labels))
                .map(|(_, count)| count.as_u64().expect("a count")),
            quantity_rule: None,
            stock_by_location: None,
            lead_days: None,
            available_on: None,
            weight_grams: (!digital).then(|| self.grams(axes, labels)),
            digital,
            options: axes
                .iter()
                .zip(labels)
                .map(|(axis, label)| SelectedOption {
                    name: axis.name.clone(),
                    id: self.value_id(&axis.name, label),
                    label: (*label).to_owned(),
                })
                .collect(),
            media: self.variant_media(axes, labels),
            rating: None,
            tags: Vec::new(),
            metadata: None,
            seller: self
                .department
                .seller
                .as_ref()
                .filter(|_| product.sold_by)
                .map(|name| self.shop.sellers[name].clone()),
            extra: Map::new(),
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let values = |values: &Value| match values {
            Value::String(shared) => self.shop.values[shared.trim_start_matches('@')].clone(),
            listed => serde_json::from_value(listed.clone()).expect("a list of option values"),
        };
        self.product.options.iter().map(|(name, listed)| Axis { name: name.clone(), labels: values(listed) }).collect()
    }

    fn categories(&self) -> Vec<Category> {
        let shelf = self.shelf;
        let category =
            |value: &String, taxonomy: &str| Category { value: value.clone(), taxonomy: Some(taxonomy.to_owned()) };
        let google = shelf.google.iter().map(|value| category(value, "google_product_category"));
        let shopify = shelf.shopify.iter().map(|value| category(value, "shopify"));
        google.chain(shopify).chain(std::iter::once(category(&shelf.path, "merchant"))).collect()
    }

    fn availability(&self, labels: &[&str]) -> Availability {
        let product = self.product;
        let (available, status) = if matches_any(&product.discontinued, labels) {
            (false, "discontinued")
        } else if matches_any(&product.sold_out, labels) {
            (false, "out_of_stock")
        } else if matches_any(&product.preorder, labels) {
            (true, "preorder")
        } else if matches_any(&product.backorder, labels) {
            (true, "backorder")
        } else {
            (true, "in_stock")
        };
        Availability { available, status: Some(status.to_owned()) }
    }

    /// Returns the content of a package with its unit, if the product states it: in whole grams and milliliters, so
    /// that everything computed from it is exact.
    fn held(&self, axes: &[Axis], labels: &[&str]) -> Option<(i64, String)> {
        let measure = self.product.measure.as_deref()?;
        let held = axes.iter().zip(labels).find(|(axis, _)| axis.name == measure).map_or(measure, |(_, label)| label);
        let (quantity, unit) = held.split_once(' ').expect("a quantity and a unit");
        let (whole, fraction) = quantity.split_once('.').unwrap_or((quantity, ""));
        let thousandths: i64 = format!("{whole}{fraction:0<3}").parse().expect("a quantity");
        let (factor, unit) = match unit {
            "kg" => (1000, "g"),
            "l" => (1000, "ml"),
            _ => (1, unit),
        };
        Some((thousandths * factor / 1000, unit.to_owned()))
    }

    /// Returns the weight of a variant in grams: the stated one, else its content plus a tenth for
    /// the package, else that of its shelf.
    fn grams(&self, axes: &[Axis], labels: &[&str]) -> u64 {
        let held = self.held(axes, labels).filter(|(_, unit)| matches!(unit.as_str(), "g" | "ml"));
        let measured = held.map(|(held, _)| held.unsigned_abs() * 11 / 10);
        self.product.grams.or(measured).unwrap_or(self.shelf.grams)
    }

    /// Returns the price of 100 grams, 100 milliliters or one other unit, rounded to the nearest minor unit.
    fn unit_price(&self, axes: &[Axis], labels: &[&str], price: i64) -> Option<UnitPrice> {
        let (held, unit) = self.held(axes, labels)?;
        let reference = if matches!(unit.as_str(), "g" | "ml") { 100 } else { 1 };
        let unit_amount = (price * reference * 2 + held) / (held * 2);
        Some(UnitPrice {
            price: Price { amount: amount(unit_amount), currency: self.shop.market.currency },
            measure: Measure { value: held.into(), unit: unit.clone() },
            reference: Reference { value: reference, unit },
        })
    }

    fn variant_media(&self, axes: &[Axis], labels: &[&str]) -> Vec<Media> {
        let color = axes.iter().zip(labels).find(|(axis, _)| axis.name == "Color").map(|(_, label)| *label);
        let Some(color) = color.filter(|_| self.product.sold_by) else { return Vec::new() };
        let url = self.picture(&format!("-{}", slug(color)));
        let alt_text = Some(format!("{} in {color}", self.product.title.0));
        vec![Media { kind: "image".to_owned(), url, alt_text, width: None, height: None }]
    }

    fn picture(&self, suffix: &str) -> String {
        format!("{SAMPLE_PICTURES}{}{suffix}.svg", self.product.handle)
    }

    fn value_id(&self, axis: &str, label: &str) -> Option<String> {
        self.department.value_ids.then(|| format!("opt_{}_{}", slug(axis), slug(label)))
    }

    /// The part of an SKU that stands for an option value: `8` is `08`, `250 g` is `250G`, `Blue` is `BLU`, `Dark oak`
    /// is `DO`.
    fn code(&self, label: &str) -> String {
        if let Some(code) = self.shop.codes.get(label) {
            return code.clone();
        }
        if label.bytes().any(|byte| byte.is_ascii_digit()) {
            let code: String = label.replace('.', "P").chars().filter(char::is_ascii_alphanumeric).collect();
            return format!("{:0>2}", code.to_ascii_uppercase());
        }
        let words: Vec<_> = label.split([' ', '-']).filter(|word| !word.is_empty()).collect();
        let letters = if words.len() > 1 { 1 } else { 3 };
        words.iter().flat_map(|word| word.chars().take(letters)).flat_map(char::to_uppercase).collect()
    }
}

/// The description in plain text and, with selling points, in HTML.
fn description(text: &str, points: Option<&Vec<String>>) -> Description {
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let html = points.map(|points| {
        let items: String = points.iter().map(|point| format!("<li>{}</li>", escaped(point))).collect();
        format!("<p>{}</p><ul>{items}</ul>", escaped(text))
    });
    let plain = points.into_iter().flatten().fold(text.to_owned(), |plain, point| format!("{plain}\n- {point}"));
    Description { plain: Some(plain), html, markdown: None }
}

/// Returns every combination of option values, the last axis varying fastest; one empty combination without axes.
fn combinations(axes: &[Axis]) -> Vec<Vec<&str>> {
    axes.iter().fold(vec![Vec::new()], |combinations, axis| {
        let extended = |combination: Vec<_>| {
            axis.labels.iter().map(move |label| [combination.as_slice(), &[label.as_str()]].concat())
        };
        combinations.into_iter().flat_map(extended).collect()
    })
}

fn matches_any(patterns: &[String], labels: &[&str]) -> bool {
    patterns.iter().any(|pattern| matches(pattern, labels))
}

fn matches(pattern: &str, labels: &[&str]) -> bool {
    pattern == "*"
        || pattern.split('/').count() == labels.len()
            && pattern.split('/').zip(labels).all(|(part, label)| part == "*" || part == *label)
}

/// `label` as a part of an identifier or a file name.
fn slug(label: &str) -> String {
    let mut slug = String::new();
    for letter in label.to_lowercase().replace('.', "p").chars() {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.ends_with('-') {
            slug.push('-');
        }
    }
    slug.trim_matches('-').to_owned()
}

impl Standard {
    /// A code for a variant: digits that follow from its identifier, in a range that no product has, and a check digit.
    fn barcode(self, id: &str) -> Barcode {
        let (kind, range, length) = match self {
            Self::Ean => ("EAN", "2", 13),
            Self::Upc => ("UPC", "4", 12),
            Self::Gtin => ("GTIN", "12", 14),
            Self::Isbn => ("ISBN", "9795", 13),
        };
        // FNV-1a: the code of a variant does not change when the recipes around it do.
        let hash = id
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let free = length - range.len() - 1;
        let digits = format!("{hash:020}");
        let code = format!("{range}{}", &digits[digits.len() - free..]);
        let weighted: u32 = code
            .bytes()
            .rev()
            .zip([3, 1].into_iter().cycle())
            .map(|(digit, weight)| u32::from(digit - b'0') * weight)
            .sum();
        Barcode { kind: kind.to_owned(), value: format!("{code}{}", (10 - weighted % 10) % 10) }
    }
}

#[cfg(test)]
mod tests;
