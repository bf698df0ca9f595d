//! A product as stated by a merchant: all languages and currencies in one document.
//!
//! The document is a UCP product (release 2026-04-08) with some additions: `translations` beside the texts, `prices`
//! beside a variant's `price`, and members for selling and shipping that are not shown to callers: `inventory`,
//! `stock_by_location`, `quantity_rule`, `lead_days`, `available_on`, `weight_grams`, `digital`. This is the line format of `ucp-gateway import`, and the form in which the embedded shop
//! stores products. A record that passed [`Record::check`] can always be presented.

use std::collections::{BTreeMap, HashMap, HashSet};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{
    market::{Market, Presentation},
    product::{
        Availability, Barcode, Category, Description, LeadTime, Media, OptionValue, Product, ProductOption,
        QuantityRule, Rating, SelectedOption, Seller, UnitPrice, Variant,
    },
};
use crate::{
    money::{Amount, Currency, Price, PriceRange},
    rendering::Renderings,
};

/// A product as stated by a merchant.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Record {
    /// Identifier, unique in the shop.
    pub id: String,
    /// Handle, a name for URLs, unique in the shop.
    pub handle: Option<String>,
    /// Title, in the shop's default language.
    pub title: String,
    /// Description, in the shop's default language.
    pub description: Description,
    /// URL of its page in the shop.
    pub url: Option<String>,
    /// Categories in one or more taxonomies.
    #[serde(default, skip_serializing_if = "Vec::is_empty", alias = "category")]
    pub categories: Vec<Category>,
    /// Media; the first one represents the product.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Option axes; derived from the variants if absent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<OptionRecord>,
    /// All variants, at least one.
    pub variants: Vec<VariantRecord>,
    /// Rating.
    pub rating: Option<Rating>,
    /// Tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Data of the merchant beyond the standard model.
    pub metadata: Option<Map<String, Value>>,
    /// Texts in other languages, by BCP 47 tag.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub translations: BTreeMap<String, Translation>,
    /// Further members, kept as stated.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// An option axis as stated by a merchant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OptionRecord {
    /// Name, such as `Size`.
    pub name: String,
    /// Values in the order in which they are shown.
    pub values: Vec<ValueRecord>,
}

/// A value on an option axis as stated by a merchant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ValueRecord {
    /// Identifier stated by the merchant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Label, such as `Large`.
    pub label: String,
}

/// A variant as stated by a merchant.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct VariantRecord {
    /// Identifier, unique in the shop.
    pub id: String,
    /// Stock keeping unit of the merchant.
    pub sku: Option<String>,
    /// Industry-standard codes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub barcodes: Vec<Barcode>,
    /// Handle, a name for URLs.
    pub handle: Option<String>,
    /// Title; composed of the option labels if absent.
    pub title: Option<String>,
    /// Description; the title if absent.
    pub description: Option<Description>,
    /// URL of its page in the shop.
    pub url: Option<String>,
    /// Categories in addition to those of the product.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub categories: Vec<Category>,
    /// Price in the shop's default currency.
    pub price: Price,
    /// Price before a reduction, in the shop's default currency.
    pub list_price: Option<Price>,
    /// Prices in other currencies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub prices: Vec<PriceRecord>,
    /// Price of a standard quantity, in the shop's default currency.
    pub unit_price: Option<UnitPrice>,
    /// Availability.
    #[serde(default)]
    pub availability: Availability,
    /// Quantity in stock; if absent, the variant is not counted and never sold out.
    pub inventory: Option<u64>,
    /// Number of items at each pickup location, by its identifier. An omitted location has none. If absent, every location
    /// has the variant.
    pub stock_by_location: Option<BTreeMap<String, u64>>,
    /// Quantities in which it is sold; any if absent.
    pub quantity_rule: Option<QuantityRule>,
    /// Number of days that the shop needs to prepare the variant, 0 to 730.
    #[schemars(range(max = 730))]
    pub lead_days: Option<u16>,
    /// Date on which a variant on backorder or preorder is available: YYYY-MM-DD.
    #[schemars(with = "Option<String>", extend("format" = "date"))]
    pub available_on: Option<Date>,
    /// Shipping weight of one piece, in grams.
    pub weight_grams: Option<u64>,
    /// `true` if it is delivered digitally.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub digital: bool,
    /// Value on every option axis.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<SelectedOption>,
    /// Media of this variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub media: Vec<Media>,
    /// Rating of this variant.
    pub rating: Option<Rating>,
    /// Tags of this variant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Data of the merchant beyond the standard model.
    pub metadata: Option<Map<String, Value>>,
    /// Seller.
    pub seller: Option<Seller>,
    /// Further members, kept as stated.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

/// Maximum quantity in stock, and maximum weight in grams, of a variant.
pub const MAX_COUNT: u64 = 1_000_000_000_000;

impl VariantRecord {
    /// Checks the members for selling and shipping. The error names the member.
    fn check_inventory(&self) -> Result<(), (&'static str, String)> {
        for (member, count) in [("inventory", self.inventory), ("weight_grams", self.weight_grams)] {
            if let Some(count) = count.filter(|count| *count > MAX_COUNT) {
                return Err((member, format!("{count} is more than {MAX_COUNT}")));
            }
        }
        for (place, count) in self.stock_by_location.iter().flatten() {
            if place.is_empty() || *count > MAX_COUNT {
                let reason =
                    format!("must have identifiers of pickup places, each with a count of at most {MAX_COUNT}");
                return Err(("stock_by_location", reason));
            }
        }
        if self.lead_days.is_some_and(|days| days > LeadTime::MAX_DAYS) {
            return Err(("lead_days", format!("must be a number of days from 0 to {}", LeadTime::MAX_DAYS)));
        }
        if self.quantity_rule.is_some_and(|rule| !rule.is_usable()) {
            let most = QuantityRule::MAX;
            let expected = "and a multiple of `step` must be from `min` to `max`";
            return Err(("quantity_rule", format!("`min`, `step` and `max` must be from 1 to {most}, {expected}")));
        }
        if self.digital && self.weight_grams.is_some_and(|grams| grams > 0) {
            return Err(("weight_grams", "what is `digital` weighs nothing; leave one of the two out".to_owned()));
        }
        // Counted goods can be bought as long as there are some. Whoever says something else has to leave out the
        // count.
        let Availability { available, status } = &self.availability;
        match (self.inventory, status.as_deref()) {
            (Some(_), Some("backorder")) if *available => Err((
                "inventory",
                "goods that are sold on backorder are sold without counting; leave one of the two out".to_owned(),
            )),
            (Some(1..), Some("out_of_stock")) => Err((
                "inventory",
                "is not 0, but `availability` says `out_of_stock`; leave one of the two out".to_owned(),
            )),
            _ => Ok(()),
        }
    }
}

/// A price in a currency other than the shop's default one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PriceRecord {
    /// Price, in minor units.
    pub amount: Amount,
    /// Price before a reduction, in minor units.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list_amount: Option<Amount>,
    /// ISO 4217 code of the currency.
    pub currency: Currency,
}

/// Texts of a product in another language. Absent texts are shown in the shop's default language.
#[ucp_macros::omit_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Translation {
    /// Title.
    pub title: Option<String>,
    /// Description.
    pub description: Option<Description>,
    /// Names of option axes and labels of option values, by their text in the shop's default language.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub terms: BTreeMap<String, String>,
}

/// Error of a record that cannot be stored.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct Unusable {
    /// JSONPath of the member.
    pub path: String,
    /// Description of the fault.
    pub reason: String,
}

impl Unusable {
    fn new(path: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { path: path.into(), reason: reason.into() }
    }
}

impl Record {
    /// Adds derived members (option axes, titles), and checks the invariants that [`present`](Self::present) relies on.
    /// Fails with [`Unusable`] for the first invalid member.
    pub fn check(mut self, market: &Market) -> Result<Self, Unusable> {
        for (path, text) in [("$.id", &self.id), ("$.title", &self.title)] {
            if text.trim().is_empty() {
                return Err(Unusable::new(path, "must not be empty"));
            }
        }
        if self.description.is_empty() {
            return Err(Unusable::new("$.description", "needs a text in `plain`, `html` or `markdown`"));
        }
        if self.variants.is_empty() {
            return Err(Unusable::new("$.variants", "a product needs at least one variant"));
        }
        // Derived from the variants; what a line says about them is not trusted.
        for derived in ["price_range", "list_price_range", "selected"] {
            self.extra.shift_remove(derived);
        }
        self.complete_options()?;
        let mut ids = HashSet::new();
        for (position, variant) in self.variants.iter_mut().enumerate() {
            let at = |member: &str| format!("$.variants[{position}].{member}");
            if variant.id.trim().is_empty() {
                return Err(Unusable::new(at("id"), "must not be empty"));
            }
            if variant.id == self.id || !ids.insert(variant.id.clone()) {
                return Err(Unusable::new(at("id"), format!("`{}` is used twice", variant.id)));
            }
            if variant.description.as_ref().is_some_and(Description::is_empty) {
                return Err(Unusable::new(at("description"), "needs a text in `plain`, `html` or `markdown`"));
            }
            let own = market.currency;
            for (member, price) in [("price", Some(variant.price)), ("list_price", variant.list_price)] {
                if price.is_some_and(|price| price.currency != own) {
                    return Err(Unusable::new(at(member), format!("must be in the shop's own currency, {own}")));
                }
            }
            if variant.unit_price.as_ref().is_some_and(|unit| unit.price.currency != own) {
                return Err(Unusable::new(at("unit_price"), format!("must be in the shop's own currency, {own}")));
            }
            let mut currencies = HashSet::from([own]);
            for price in &variant.prices {
                if !currencies.insert(price.currency) {
                    return Err(Unusable::new(at("prices"), format!("two prices in {}", price.currency)));
                }
                if !market.trades_in(price.currency) {
                    return Err(Unusable::new(at("prices"), format!("the shop does not trade in {}", price.currency)));
                }
            }
            variant.check_inventory().map_err(|(member, reason)| Unusable::new(at(member), reason))?;
            variant.extra.shift_remove("inputs");
        }
        Ok(self)
    }

    /// Derives the option axes from the variants if they are absent, and sorts the values of every variant by axis.
    fn complete_options(&mut self) -> Result<(), Unusable> {
        if self.options.is_empty() {
            for choice in self.variants.iter().flat_map(|variant| &variant.options) {
                let axis = match self.options.iter_mut().find(|axis| axis.name == choice.name) {
                    Some(axis) => axis,
                    None => {
                        self.options.push(OptionRecord { name: choice.name.clone(), values: Vec::new() });
                        self.options.last_mut().ok_or_else(|| Unusable::new("$.options", "unreadable"))?
                    }
                };
                if axis.values.iter().all(|value| value.label != choice.label) {
                    axis.values.push(ValueRecord { id: choice.id.clone(), label: choice.label.clone() });
                }
            }
        }
        let mut names = HashSet::new();
        for (position, axis) in self.options.iter().enumerate() {
            let at = |member: &str| format!("$.options[{position}].{member}");
            if !names.insert(axis.name.as_str()) {
                return Err(Unusable::new(at("name"), format!("`{}` is used twice", axis.name)));
            }
            if axis.values.is_empty() {
                return Err(Unusable::new(at("values"), "an option needs at least one value"));
            }
            let labels: HashSet<_> = axis.values.iter().map(|value| &value.label).collect();
            if labels.len() != axis.values.len() {
                return Err(Unusable::new(at("values"), "a label is used twice"));
            }
        }
        for (position, variant) in self.variants.iter_mut().enumerate() {
            let path = || format!("$.variants[{position}].options");
            if variant.options.len() != self.options.len() {
                let axes: Vec<_> = self.options.iter().map(|axis| axis.name.as_str()).collect();
                return Err(Unusable::new(
                    path(),
                    format!("needs one value for each of the options [{}]", axes.join(", ")),
                ));
            }
            let mut ordered = Vec::with_capacity(self.options.len());
            for axis in &self.options {
                let choice = variant
                    .options
                    .iter()
                    .find(|choice| choice.name == axis.name)
                    .ok_or_else(|| Unusable::new(path(), format!("has no value for `{}`", axis.name)))?;
                let value = axis.values.iter().find(|value| value.label == choice.label).ok_or_else(|| {
                    Unusable::new(path(), format!("`{}` is not a value of `{}`", choice.label, axis.name))
                })?;
                ordered.push(SelectedOption {
                    name: axis.name.clone(),
                    id: value.id.clone(),
                    label: value.label.clone(),
                });
            }
            variant.options = ordered;
        }
        Ok(())
    }

    /// Returns the currencies in which every variant is priced; the shop's default one first.
    pub fn currencies(&self) -> Vec<Currency> {
        let own = self.variants.iter().map(|variant| variant.price.currency).take(1);
        let others = self.variants.first().map(|first| first.prices.as_slice()).unwrap_or_default();
        let everywhere = |currency: &Currency| {
            self.variants.iter().all(|variant| variant.prices.iter().any(|price| price.currency == *currency))
        };
        own.chain(others.iter().map(|price| price.currency).filter(everywhere)).collect()
    }

    /// Returns the product in one language and one currency. If not every variant is priced in the currency, the shop's
    /// default one is used, so that a product is always shown in a single currency.
    pub fn present(&self, presentation: &Presentation) -> Product {
        let translation = self.translations.get(&presentation.language);
        let term = |own: &str| translation.and_then(|texts| texts.terms.get(own)).filter(|term| *term != own);
        let currency = presentation.currency;
        let priced = self.currencies().contains(&currency);

        let options: Vec<_> = self
            .options
            .iter()
            .map(|axis| ProductOption {
                name: term(&axis.name).unwrap_or(&axis.name).clone(),
                canonical: term(&axis.name).map(|_| axis.name.clone()),
                values: axis
                    .values
                    .iter()
                    .map(|value| OptionValue {
                        id: value.id.clone(),
                        label: term(&value.label).unwrap_or(&value.label).clone(),
                        canonical: term(&value.label).map(|_| value.label.clone()),
                    })
                    .collect(),
            })
            .collect();
        let positions: Vec<HashMap<&str, usize>> = self
            .options
            .iter()
            .map(|axis| {
                axis.values.iter().enumerate().map(|(position, value)| (value.label.as_str(), position)).collect()
            })
            .collect();
        let title = translation.and_then(|texts| texts.title.as_ref()).unwrap_or(&self.title);

        let variants: Vec<_> = self
            .variants
            .iter()
            .map(|variant| {
                let values: Vec<usize> = variant
                    .options
                    .iter()
                    .zip(&positions)
                    .map(|(choice, axis)| axis.get(choice.label.as_str()).copied().unwrap_or_default())
                    .collect();
                let labels: Vec<_> =
                    values.iter().zip(&options).map(|(value, axis)| axis.values[*value].label.as_str()).collect();
                let labelled = if labels.is_empty() { title.clone() } else { labels.join(" / ") };
                // A translated product names its variants by their translated options.
                let variant_title =
                    if translation.is_some() { None } else { variant.title.clone() }.unwrap_or(labelled);
                let own_description = if translation.is_some() { None } else { variant.description.clone() };
                let foreign = variant.prices.iter().find(|price| priced && price.currency == currency);
                let price = foreign.map_or(variant.price, |price| Price { amount: price.amount, currency });
                let list_price = match foreign {
                    Some(price) => price.list_amount.map(|amount| Price { amount, currency }),
                    None => variant.list_price,
                };
                Variant {
                    id: variant.id.clone(),
                    sku: variant.sku.clone(),
                    barcodes: variant.barcodes.clone(),
                    handle: variant.handle.clone(),
                    description: own_description.unwrap_or_else(|| Description::plain(variant_title.clone())),
                    title: variant_title,
                    url: variant.url.clone(),
                    categories: variant.categories.clone(),
                    price,
                    list_price: list_price.filter(|list| list.amount > price.amount),
                    // Stated by the merchant for one currency; never converted.
                    unit_price: variant.unit_price.clone().filter(|_| foreign.is_none()),
                    availability: variant.availability.clone(),
                    quantity_rule: variant.quantity_rule.unwrap_or_default(),
                    lead_time: LeadTime { days: variant.lead_days, available_on: variant.available_on },
                    stock_by_location: variant.stock_by_location.clone(),
                    weight_grams: variant.weight_grams.unwrap_or_default(),
                    digital: variant.digital,
                    values,
                    media: variant.media.clone(),
                    rating: variant.rating.clone(),
                    tags: variant.tags.clone(),
                    metadata: variant.metadata.clone(),
                    seller: variant.seller.clone(),
                    extra: variant.extra.clone(),
                }
            })
            .collect();

        let nothing = Price { amount: Amount::ZERO, currency };
        Product {
            id: self.id.clone(),
            handle: self.handle.clone(),
            title: title.clone(),
            description: translation
                .and_then(|texts| texts.description.clone())
                .unwrap_or_else(|| self.description.clone()),
            url: self.url.clone(),
            categories: self.categories.clone(),
            price_range: PriceRange::spanning(variants.iter().map(|variant| variant.price))
                .unwrap_or(PriceRange { min: nothing, max: nothing }),
            // Unreduced variants take part with their price, or the range would not be one of list prices.
            list_price_range: variants.iter().any(|variant| variant.list_price.is_some()).then(|| {
                PriceRange::spanning(variants.iter().map(|variant| variant.list_price.unwrap_or(variant.price)))
                    .unwrap_or(PriceRange { min: nothing, max: nothing })
            }),
            media: self.media.clone(),
            options,
            variants,
            combinations: None,
            rating: self.rating.clone(),
            tags: self.tags.clone(),
            metadata: self.metadata.clone(),
            extra: self.extra.clone(),
            renderings: Renderings::default(),
        }
    }
}
