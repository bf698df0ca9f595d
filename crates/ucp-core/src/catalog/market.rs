//! Languages and currencies of a shop, and the choice among them for a caller.
//!
//! `context` is a hint: whatever cannot be served falls back to the shop's own language and currency, silently, because
//! every answer says what it is in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Context, product::Link};
use crate::money::{Currency, Rate};

/// Market of a shop: its languages, currencies and pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Market {
    /// Name of the shop.
    pub name: String,
    /// Default currency, in which every product is priced.
    pub currency: Currency,
    /// Other currencies that products may be priced in.
    #[serde(default)]
    pub currencies: Vec<Currency>,
    /// BCP 47 tag of the default language, in which every text is stated.
    pub language: String,
    /// Other languages that texts may be in.
    #[serde(default)]
    pub languages: Vec<String>,
    /// Currency shown to buyers of a country (ISO 3166-1 alpha-2) who request none.
    #[serde(default)]
    pub countries: BTreeMap<String, Currency>,
    /// `true` if what is shown depends on the buyer's country: two countries with one currency may see different prices
    /// then, and the country decides about the currency alone.
    #[serde(default)]
    pub by_country: bool,
    /// Number of units of a currency per unit of the default currency, for price filters in currencies that
    /// a product is not priced in. Prices themselves are never converted.
    #[serde(default)]
    pub rates: BTreeMap<Currency, Rate>,
    /// Policies and other pages of the shop.
    #[serde(default)]
    pub links: Vec<Link>,
}

/// Language and currency of the answer to one caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Presentation {
    /// Tag of the language, as stated by the shop.
    pub language: String,
    /// Preferred currency. Products that are not priced in it are shown in the default currency.
    pub currency: Currency,
    /// Country of the buyer (ISO 3166-1 alpha-2), if what is shown depends on it and the shop knows it.
    pub country: Option<String>,
    /// Customer group whose prices are shown; `None` for those that everyone has.
    pub customer_group: Option<String>,
}

impl Market {
    /// Returns the default language and currency.
    pub fn own(&self) -> Presentation {
        Presentation { language: self.language.clone(), currency: self.currency, country: None, customer_group: None }
    }

    /// Returns the presentation for a caller with `context`.
    pub fn presentation(&self, context: &Context) -> Presentation {
        let language = context.languages.iter().find_map(|tag| self.language_for(tag)).unwrap_or(&self.language);
        let country = context.country.as_ref().map(|country| country.to_ascii_uppercase());
        let there = country.and_then(|country| self.countries.get_key_value(&country));
        let there = there.or_else(|| self.country_with(context.currency.as_deref()?.parse().ok()?));
        let wanted = match &context.currency {
            Some(code) if !self.by_country => code.parse().ok(),
            _ => there.map(|(_, currency)| *currency),
        };
        let currency = wanted.filter(|currency| self.trades_in(*currency)).unwrap_or(self.currency);
        let country = there.filter(|_| self.by_country).map(|(country, _)| country.clone());
        Presentation {
            language: language.to_owned(),
            currency,
            country,
            customer_group: context.customer_group.clone(),
        }
    }

    /// Returns `true` if products may be priced in `currency`.
    pub fn trades_in(&self, currency: Currency) -> bool {
        currency == self.currency || self.currencies.contains(&currency)
    }

    /// Returns the market for products that are priced in `currency` above all.
    #[must_use]
    pub fn priced_in(&self, currency: Currency) -> Self {
        let others = self.currencies.iter().chain([&self.currency]).filter(|other| **other != currency);
        let mut currencies = Vec::new();
        for other in others {
            if !currencies.contains(other) {
                currencies.push(*other);
            }
        }
        Self { currency, currencies, ..self.clone() }
    }

    /// Returns a country whose buyers are shown another currency than the default one, with that currency; `None` if a
    /// currency can be chosen without a country. Of several countries it is the one that the currency is named after,
    /// as the first two letters of an ISO 4217 code say, and otherwise the first by its code.
    fn country_with(&self, currency: Currency) -> Option<(&String, &Currency)> {
        if !self.by_country || currency == self.currency {
            return None;
        }
        let mut countries = self.countries.iter().filter(|(_, own)| **own == currency);
        let first = countries.clone().next();
        countries.find(|(country, _)| currency.as_str().starts_with(country.as_str())).or(first)
    }

    /// Returns the shop's language for a tag: the same tag, or else one with the same primary language (RFC 4647
    /// lookup).
    fn language_for(&self, tag: &str) -> Option<&str> {
        let own = || std::iter::once(&self.language).chain(&self.languages).map(String::as_str);
        let primary = |tag: &str| tag.split(['-', '_']).next().unwrap_or_default().to_ascii_lowercase();
        own()
            .find(|language| language.eq_ignore_ascii_case(tag))
            .or_else(|| own().find(|language| primary(language) == primary(tag)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn market() -> Market {
        serde_json::from_str(
            r#"{"name":"Example","currency":"USD","currencies":["EUR","JPY"],"language":"en","languages":["es"],
                "countries":{"JP":"JPY","ES":"EUR","GB":"GBP"},"rates":{"GBP":"0.8"}}"#,
        )
        .expect("a market")
    }

    fn presented(country: Option<&str>, languages: &[&str], currency: Option<&str>) -> (String, String) {
        let context = Context {
            country: country.map(str::to_owned),
            languages: languages.iter().map(|tag| (*tag).to_owned()).collect(),
            currency: currency.map(str::to_owned),
            customer_group: None,
            intent: None,
        };
        let presentation = market().presentation(&context);
        (presentation.language, presentation.currency.to_string())
    }

    #[test]
    fn a_currency_without_a_country_chooses_a_country_where_the_country_decides() {
        let market = Market {
            by_country: true,
            currencies: ["EUR", "JPY", "CHF"].map(|code| code.parse().expect("a currency")).to_vec(),
            countries: [("US", "USD"), ("PR", "USD"), ("AT", "EUR"), ("DE", "EUR"), ("CH", "CHF"), ("AA", "CHF")]
                .map(|(country, code)| (country.to_owned(), code.parse().expect("a currency")))
                .into(),
            ..market()
        };
        let presented = |country: Option<&str>, currency: Option<&str>| {
            let [country, currency] = [country, currency].map(|text| text.map(str::to_owned));
            let shown = market.presentation(&Context { country, currency, ..Context::default() });
            (shown.country.unwrap_or_default(), shown.currency.to_string())
        };
        let expect = |got: (String, String), country: &str, currency: &str| {
            assert_eq!(got, (country.to_owned(), currency.to_owned()));
        };
        expect(presented(None, Some("EUR")), "AT", "EUR");
        expect(presented(None, Some("chf")), "CH", "CHF");
        expect(presented(Some("BR"), Some("EUR")), "AT", "EUR");
        expect(presented(Some("US"), Some("EUR")), "US", "USD");
        expect(presented(None, Some("USD")), "", "USD");
        // A currency that no country has, and one that is none.
        expect(presented(None, Some("JPY")), "", "USD");
        expect(presented(None, Some("gold")), "", "USD");
    }

    #[test]
    fn hints_choose_what_the_shop_has_and_nothing_else() {
        let expect =
            |got: (String, String), language: &str, currency: &str| assert_eq!(got, (language.into(), currency.into()));
        expect(presented(None, &[], None), "en", "USD");
        expect(presented(Some("jp"), &["ja", "es-MX"], None), "es", "JPY");
        expect(presented(Some("JP"), &[], Some("eur")), "en", "EUR");
        expect(presented(Some("GB"), &["fr"], Some("GBP")), "en", "USD");
        expect(presented(Some("Japan"), &["", "-"], Some("money")), "en", "USD");
        expect(presented(Some("JP"), &[], Some("GBP")), "en", "USD");
    }
}
