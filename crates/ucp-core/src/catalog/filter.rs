//! The filters that search, lookup and `get_product` share (UCP *Search Filters*).
//!
//! All filters combine with AND and are judged per variant: a product stays when one and the same variant passes all of
//! them. [`Filters`] is what the caller wrote; [`Criteria`] is what it means in this shop for this caller.

use super::{
    Context,
    market::{Market, Presentation},
    product::{Category, Product, Variant},
};
use crate::{
    message::Message,
    money::{Amount, Currency, MAX_AMOUNT, Price, Rounding},
    text::{fold, quoted},
};

/// Filters of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filters {
    /// Categories, any of which a product may be in; an empty list means any.
    pub categories: Option<Vec<String>>,
    /// Bounds for the price of a variant.
    pub price: Option<PriceFilter>,
    /// `true` to match only variants that can be bought now; `false` does not filter. An extension of this gateway.
    pub available: Option<bool>,
    /// Names of filters that this gateway does not know.
    pub unknown: Vec<String>,
}

/// Bounds in minor units of `context.currency`, both inclusive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PriceFilter {
    /// Lowest price.
    pub min: Option<Amount>,
    /// Highest price.
    pub max: Option<Amount>,
}

impl Filters {
    /// Returns `true` if the request states no filter at all, not even one that everything passes.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Returns the criteria for a caller who is answered in `presentation`, and notes on filters that are not applied.
    pub fn criteria(
        &self,
        market: &Market,
        context: &Context,
        presentation: &Presentation,
    ) -> (Criteria, Vec<Message>) {
        let mut notes: Vec<_> = self
            .unknown
            .iter()
            .map(|name| {
                Message::info("filter_ignored", format!("This shop has no filter `{}`; it was ignored.", quoted(name)))
            })
            .collect();
        let bounds = self.price.and_then(|price| bounds(price, market, context, presentation, &mut notes));
        let mut categories: Vec<_> = self.categories.iter().flatten().map(|value| CategoryPath::new(value)).collect();
        categories.sort();
        categories.dedup();
        (Criteria { categories, bounds, available: self.available == Some(true) }, notes)
    }
}

fn bounds(
    price: PriceFilter,
    market: &Market,
    context: &Context,
    presentation: &Presentation,
    notes: &mut Vec<Message>,
) -> Option<Vec<Bound>> {
    let own = market.currency;
    let denomination = match &context.currency {
        // Denominated in nothing: the currency the caller is shown is the one it can mean.
        None => presentation.currency,
        Some(code) => match code.parse() {
            Ok(currency) => currency,
            Err(_) => {
                notes.push(Message::info(
                    "price_filter_ignored",
                    "`context.currency` must be an ISO 4217 code; the price filter was not applied.",
                ));
                return None;
            }
        },
    };
    // Where the country decides about the currency, everything is priced in the currency shown.
    let priced = if market.by_country { denomination == presentation.currency } else { market.trades_in(denomination) };
    let direct =
        priced.then(|| Bound { currency: denomination, min: price.min.unwrap_or(Amount::ZERO), max: price.max });
    let converted = (denomination != own).then(|| market.rates.get(&denomination)).flatten().map(|rate| Bound {
        currency: own,
        min: price.min.map_or(Amount::ZERO, |min| rate.divide(min, denomination, own, Rounding::Up)),
        max: price.max.map(|max| rate.divide(max, denomination, own, Rounding::Down)),
    });
    match (&direct, &converted) {
        (None, None) => {
            let content = if market.by_country {
                let shown = presentation.currency;
                format!("Prices are in {shown} for this buyer, so that the price filter in {denomination} was not applied. State it in {shown}, or state a country that has prices in {denomination}.")
            } else {
                format!("This shop has neither prices nor an exchange rate in {denomination}, so that the price filter could not be applied.")
            };
            notes.push(Message::info("price_filter_ignored", content));
            return None;
        }
        (Some(_), None) if denomination != own && !market.by_country => notes.push(Message::info(
            "price_filter_not_converted",
            format!("This shop has no exchange rate for {denomination}: products without a price in {denomination} were left out."),
        )),
        (_, Some(_)) => notes.push(Message::info(
            "price_filter_converted",
            format!("For products that are not priced in {denomination} the price filter was converted to {own}."),
        )),
        (Some(_), None) => {}
    }
    Some(direct.into_iter().chain(converted).collect())
}

/// Criteria that a variant must meet.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Criteria {
    /// Categories, any of which will do; empty means any.
    pub categories: Vec<CategoryPath>,
    /// Bounds by currency. A price in a currency without bounds does not pass. `None` means any price.
    pub bounds: Option<Vec<Bound>>,
    /// `true` if the variant must be available now.
    pub available: bool,
}

/// Bounds for prices in one currency, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bound {
    /// Currency of the prices.
    pub currency: Currency,
    /// Lowest price.
    pub min: Amount,
    /// Highest price, if there is one.
    pub max: Option<Amount>,
}

impl Bound {
    /// Returns the bounds in minor units, for indexes.
    pub fn range(&self) -> std::ops::RangeInclusive<i64> {
        self.min.minor()..=self.max.map_or(MAX_AMOUNT, Amount::minor)
    }
}

impl Criteria {
    /// Returns `true` if a variant of a product meets the criteria.
    pub fn admit(&self, product: &Product, variant: &Variant) -> bool {
        (!self.available || variant.availability.available)
            && self.admit_price(variant.price)
            && (self.categories.is_empty() || {
                let mut own = product.categories.iter().chain(&variant.categories).map(CategoryPath::of);
                own.any(|category| self.categories.iter().any(|filter| filter.contains(&category)))
            })
    }

    fn admit_price(&self, price: Price) -> bool {
        self.bounds.as_ref().is_none_or(|bounds| {
            bounds.iter().any(|bound| bound.currency == price.currency && bound.range().contains(&price.amount.minor()))
        })
    }
}

/// A category as its folded path, so that `Footwear` holds `Footwear > Running`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CategoryPath(Vec<String>);

impl CategoryPath {
    /// Parses the path of a category value.
    pub fn new(value: &str) -> Self {
        Self(value.split('>').map(|segment| fold(segment.trim())).collect())
    }

    /// Returns the path of a product's category.
    pub fn of(category: &Category) -> Self {
        Self::new(&category.value)
    }

    /// Returns `true` if `other` is this category or below it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    /// This category and all above it, each as one text, for indexes: a filter matches the text it is itself.
    pub fn ancestry(&self) -> impl Iterator<Item = String> {
        (1..=self.0.len()).map(|depth| self.0[..depth].join(">"))
    }

    /// Returns the whole path as one text, as [`ancestry`](Self::ancestry) spells it.
    pub fn key(&self) -> String {
        self.0.join(">")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::market::tests::market;

    type Bounds = Vec<(String, i64, i64)>;

    fn resolve(currency: Option<&str>) -> (Option<Bounds>, Vec<String>) {
        let context = Context { currency: currency.map(str::to_owned), ..Context::default() };
        let filters = Filters {
            price: Some(PriceFilter { min: Amount::new(1_001), max: Amount::new(2_000) }),
            ..Filters::default()
        };
        let market = market();
        let (criteria, notes) = filters.criteria(&market, &context, &market.presentation(&context));
        let bounds = criteria.bounds.map(|bounds| {
            bounds
                .iter()
                .map(|bound| (bound.currency.to_string(), *bound.range().start(), *bound.range().end()))
                .collect()
        });
        let codes = notes.into_iter().map(|note| match note {
            Message::Info { code, .. } => code.expect("a code"),
            other => panic!("{other:?}"),
        });
        (bounds, codes.collect())
    }

    #[test]
    fn price_filters_convert_only_at_a_known_rate_and_say_so() {
        assert_eq!(resolve(None), (Some(vec![("USD".into(), 1001, 2000)]), vec![]));
        assert_eq!(resolve(Some("usd")), (Some(vec![("USD".into(), 1001, 2000)]), vec![]));
        assert_eq!(
            resolve(Some("EUR")),
            (Some(vec![("EUR".into(), 1001, 2000)]), vec!["price_filter_not_converted".into()])
        );
        assert_eq!(
            resolve(Some("GBP")),
            (Some(vec![("USD".into(), 1252, 2500)]), vec!["price_filter_converted".into()])
        );
        assert_eq!(resolve(Some("CHF")), (None, vec!["price_filter_ignored".into()]));
        assert_eq!(resolve(Some("gold")), (None, vec!["price_filter_ignored".into()]));
    }

    #[test]
    fn where_the_country_decides_about_the_currency_a_price_filter_applies_to_what_is_shown_or_not_at_all() {
        let market = crate::catalog::market::Market {
            by_country: true,
            countries: [("US", "USD"), ("JP", "JPY")]
                .map(|(country, code)| (country.into(), code.parse().expect("a currency")))
                .into(),
            rates: std::collections::BTreeMap::new(),
            ..market()
        };
        let filters = Filters { price: Some(PriceFilter { min: None, max: Amount::new(2_000) }), ..Filters::default() };
        let applied = |country: Option<&str>, currency: Option<&str>| {
            let [country, currency] = [country, currency].map(|text| text.map(str::to_owned));
            let context = Context { country, currency, ..Context::default() };
            let (criteria, notes) = filters.criteria(&market, &context, &market.presentation(&context));
            let bounds = criteria.bounds.map(|bounds| bounds.iter().map(|bound| bound.currency.to_string()).collect());
            let codes = notes.into_iter().map(|note| match note {
                Message::Info { code, .. } => code.expect("a code"),
                other => panic!("{other:?}"),
            });
            (bounds, codes.collect::<Vec<_>>())
        };
        let to = |currency: &str| Some(vec![currency.to_owned()]);
        assert_eq!(applied(None, None), (to("USD"), vec![]));
        assert_eq!(applied(None, Some("JPY")), (to("JPY"), vec![]));
        assert_eq!(applied(Some("JP"), Some("JPY")), (to("JPY"), vec![]));
        let ignored = || vec!["price_filter_ignored".to_owned()];
        assert_eq!(applied(Some("US"), Some("JPY")), (None, ignored()));
        assert_eq!(applied(Some("JP"), Some("USD")), (None, ignored()));
        assert_eq!(applied(None, Some("EUR")), (None, ignored()), "no country has it");
    }

    #[test]
    fn a_category_holds_what_lies_below_it() {
        let holds = |filter: &str, value: &str| CategoryPath::new(filter).contains(&CategoryPath::new(value));
        assert!(holds("Footwear", "Footwear > Running"));
        assert!(holds("footwear>RUNNING", "Footwear > Running"));
        assert!(!holds("Running", "Footwear > Running"));
        assert!(!holds("Foot", "Footwear > Running"));
        assert!(!holds("Footwear > Running", "Footwear"));
        assert!(holds("187", "187"));
    }

    #[test]
    fn unknown_filters_are_named() {
        let filters = Filters { unknown: vec!["color\u{7}".into()], ..Filters::default() };
        assert!(!filters.is_empty());
        let market = market();
        let (criteria, notes) = filters.criteria(&market, &Context::default(), &market.own());
        assert_eq!(criteria, Criteria::default());
        assert_eq!(notes, [Message::info("filter_ignored", "This shop has no filter `color`; it was ignored.")]);
    }
}
