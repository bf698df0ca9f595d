//! Which languages and currencies a shop speaks, and which of them a caller gets.
//!
//! `context` is a hint: whatever cannot be served falls back to the shop's own language and currency, silently, because
//! every answer says what it is in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{Context, product::Link};
use crate::money::{Currency, Rate};

/// What a shop speaks and trades in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Market {
    /// The name of the shop.
    pub name: String,
    /// The currency every product is priced in.
    pub currency: Currency,
    /// Other currencies that products may be priced in.
    #[serde(default)]
    pub currencies: Vec<Currency>,
    /// The BCP 47 tag of the language every text is in.
    pub language: String,
    /// Other languages that texts may be in.
    #[serde(default)]
    pub languages: Vec<String>,
    /// The currency buyers of a country (ISO 3166-1 alpha-2) are shown when they name none.
    #[serde(default)]
    pub countries: BTreeMap<String, Currency>,
    /// Whether what is shown follows the buyer's country: two countries with one currency may see different prices
    /// then, and the country decides about the currency alone.
    #[serde(default)]
    pub by_country: bool,
    /// How many units of a currency one unit of the shop's own currency is worth, for price filters in currencies that
    /// a product is not priced in. Prices themselves are never converted.
    #[serde(default)]
    pub rates: BTreeMap<Currency, Rate>,
    /// The shop's policies and other pages.
    #[serde(default)]
    pub links: Vec<Link>,
}

/// The language and currency that one caller is answered in.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Presentation {
    /// The shop's tag of the language.
    pub language: String,
    /// The preferred currency. Products that are not priced in it are shown in the shop's own.
    pub currency: Currency,
    /// The buyer's country (ISO 3166-1 alpha-2), where what is shown follows it and the shop knows it.
    pub country: Option<String>,
}

impl Market {
    /// The shop's own language and currency.
    #[must_use]
    pub fn own(&self) -> Presentation {
        Presentation { language: self.language.clone(), currency: self.currency, country: None }
    }

    /// What a caller with `context` is answered in.
    #[must_use]
    pub fn presentation(&self, context: &Context) -> Presentation {
        let language = context.languages.iter().find_map(|tag| self.language_for(tag)).unwrap_or(&self.language);
        let country = context.country.as_ref().map(|country| country.to_ascii_uppercase());
        let there = country.and_then(|country| self.countries.get_key_value(&country));
        let wanted = match &context.currency {
            Some(code) if !self.by_country => code.parse().ok(),
            _ => there.map(|(_, currency)| *currency),
        };
        let currency = wanted.filter(|currency| self.trades_in(*currency)).unwrap_or(self.currency);
        let country = there.filter(|_| self.by_country).map(|(country, _)| country.clone());
        Presentation { language: language.to_owned(), currency, country }
    }

    /// Whether products may be priced in `currency`.
    #[must_use]
    pub fn trades_in(&self, currency: Currency) -> bool {
        currency == self.currency || self.currencies.contains(&currency)
    }

    /// The shop's language for a tag: the same tag, or else one with the same primary language (RFC 4647 lookup).
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
        };
        let presentation = market().presentation(&context);
        (presentation.language, presentation.currency.to_string())
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
