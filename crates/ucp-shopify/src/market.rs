//! Countries, currencies and languages of a shop, and its name and policies.
//!
//! The Storefront API shows a country's prices in that country's currency; a currency alone cannot be requested, so that
//! one of its countries is requested instead. All of this is read when the gateway starts, and renewed in the background
//! on the first use after an hour; if that fails, the earlier values stay.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
    time::Duration,
};

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use tokio::{runtime::Handle, time::Instant};
use ucp_core::{
    catalog::{
        filter::CategoryPath,
        market::{Market, Presentation},
        product::Link,
    },
    money::Currency,
    ports::caller::BuyerSignals,
};

use super::{client::Client, documents, shapes::shapes, text};
use ucp_net::{CallKind, Clock, Failure, Unreadable};

/// Time for which a standing is fresh.
const FRESH: Duration = Duration::from_secs(3_600);

/// Time until the next attempt after a standing could not be read.
const AGAIN: Duration = Duration::from_secs(60);

/// Maximum number of product types that are read.
const MOST_TYPES: usize = 250;

/// Country and language of what is shown: the variables of every operation with `@inContext`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize)]
pub struct InContext {
    /// Country of the buyer (ISO 3166-1 alpha-2); `None` for the shop's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub country: Option<String>,
    /// Language, as the API spells it; `None` for the shop's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

/// Properties of a shop, as it states them.
#[derive(Clone, Debug)]
pub struct Standing {
    /// The market of the domain.
    pub market: Arc<Market>,
    /// Country whose prices are shown if the buyer's is unknown.
    pub home: String,
    /// Language codes of the API, by BCP 47 tag.
    codes: BTreeMap<String, String>,
    /// Types of products: the path that filters are compared with, and the merchant's spelling.
    types: Vec<(CategoryPath, String)>,
    /// The answers of the shop that this was read from, as JSON; `None` if an earlier process got them.
    document: Option<Bytes>,
}

impl Standing {
    /// Returns the context in which the API is asked on behalf of a caller.
    pub fn in_context(&self, presentation: &Presentation) -> InContext {
        InContext { country: presentation.country.clone(), language: self.codes.get(&presentation.language).cloned() }
    }

    /// Returns the shop's own statement that this was read from; `None` if an earlier process got it.
    pub fn document(&self) -> Option<&Bytes> {
        self.document.as_ref()
    }

    /// Returns the types of products in a category, as the merchant spells them.
    pub fn types_in(&self, category: &CategoryPath) -> Vec<&str> {
        self.types.iter().filter(|(path, _)| category.contains(path)).map(|(_, own)| own.as_str()).collect()
    }

    /// Returns `true` if the prices of this presentation are the shop's own, as the merchant states them.
    pub fn at_home(&self, presentation: &Presentation) -> bool {
        presentation.currency == self.market.currency
            && presentation.country.as_ref().is_none_or(|country| *country == self.home)
    }
}

/// A standing that is renewed in the background.
#[derive(Debug)]
pub(super) struct Current {
    /// Current standing, and the time from which it is renewed.
    known: RwLock<(Arc<Standing>, Instant)>,
}

impl Current {
    pub(super) fn new(standing: Standing, now: Instant) -> Self {
        let due = if standing.document.is_some() { now + FRESH } else { now };
        Self { known: RwLock::new((Arc::new(standing), due)) }
    }

    /// Returns the current standing.
    pub(super) fn get(&self) -> Arc<Standing> {
        Arc::clone(&self.known.read().unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Renews the standing in the background if it is due.
    pub(super) fn renew(self: &Arc<Self>, client: &Client, clock: &Clock) {
        let Ok(runtime) = Handle::try_current() else { return };
        let now = clock();
        if now < self.known.read().unwrap_or_else(PoisonError::into_inner).1 {
            return;
        }
        {
            let mut known = self.write();
            // Another call may have come first. The one that renews has [`AGAIN`] for it; after a failure, the next
            // attempt begins then.
            if now < known.1 {
                return;
            }
            known.1 = now + AGAIN;
        }
        let (current, client, clock) = (Arc::clone(self), client.clone(), Arc::clone(clock));
        runtime.spawn(async move {
            match read(&client).await {
                Ok(fresh) => *current.write() = (Arc::new(fresh), clock() + FRESH),
                Err(failure) => {
                    client.counters().note("market: not renewed");
                    tracing::warn!(%failure, "refreshing the upstream description failed; keeping the previous one");
                }
            }
        });
    }

    fn write(&self) -> RwLockWriteGuard<'_, (Arc<Standing>, Instant)> {
        self.known.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads the standing from the shop. Fails with [`Failure`] if the shop does not answer, or does not state its country
/// and currency.
pub(super) async fn read(client: &Client) -> Result<Standing, Failure> {
    let nobody = BuyerSignals::default();
    let variables = serde_json::json!({});
    let answer = client.ask::<Answer>(&documents::SHOP, &variables, CallKind::Read, &nobody).await?.data()?;
    let types = serde_json::json!({ "first": MOST_TYPES });
    // The spelling of product types only improves filters: without it the standing is complete.
    let types = match client.ask::<Types>(&documents::TYPES, &types, CallKind::Read, &nobody).await {
        Ok(reply) => reply.data.unwrap_or_default(),
        Err(_) => Types::default(),
    };
    let host = client.endpoint().host_str().unwrap_or_default();
    let stated = Stated { answer, types };
    let document = serde_json::to_vec(&stated).ok().map(Bytes::from);
    let standing = standing(stated, host).ok_or_else(|| {
        tracing::error!("upstream does not state its country and currency");
        Failure::Unreadable(Unreadable::Unexpected)
    })?;
    Ok(Standing { document, ..standing })
}

/// Reads the standing from the [document](Standing::document) of an earlier one; `None` if it is none.
pub(super) fn recall(document: &[u8], client: &Client) -> Option<Standing> {
    standing(serde_json::from_slice(document).ok()?, client.endpoint().host_str().unwrap_or_default())
}

fn standing(stated: Stated, host: &str) -> Option<Standing> {
    let Stated { answer: Answer { shop, localization }, types } = stated;
    let localization = localization?;
    let shop = shop.unwrap_or_default();
    let home = localization.country?;
    let currency = home.currency()?;
    let countries: BTreeMap<String, Currency> = localization
        .available_countries
        .iter()
        .flatten()
        .chain([&home])
        .filter(|country| {
            country.iso_code.len() == 2 && country.iso_code.bytes().all(|letter| letter.is_ascii_uppercase())
        })
        .filter_map(|country| Some((country.iso_code.clone(), country.currency()?)))
        .collect();
    let others: BTreeSet<Currency> = countries.values().copied().filter(|other| *other != currency).collect();

    let own =
        localization.language.filter(Language::is_code).map_or_else(|| "EN".to_owned(), |language| language.iso_code);
    let mut codes = BTreeMap::new();
    let mut languages = Vec::new();
    let offered = localization.available_languages.into_iter().flatten().filter(Language::is_code);
    for code in std::iter::once(own.clone()).chain(offered.map(|language| language.iso_code)) {
        for tag in tags(&code) {
            if !codes.contains_key(&tag) {
                codes.insert(tag.clone(), code.clone());
                languages.push(tag);
            }
        }
    }
    let language = languages.first()?.clone();
    languages.remove(0);

    let policies = [
        ("privacy_policy", shop.privacy_policy),
        ("terms_of_service", shop.terms_of_service),
        ("refund_policy", shop.refund_policy),
        ("shipping_policy", shop.shipping_policy),
    ];
    let link = |(kind, policy): (&str, Option<Policy>)| {
        let policy = policy?;
        Some(Link {
            kind: kind.to_owned(),
            url: text::address(policy.url.as_deref()?)?,
            title: policy.title.as_deref().and_then(text::line),
        })
    };
    let market = Market {
        name: shop.name.as_deref().and_then(text::line).unwrap_or_else(|| host.to_owned()),
        currency,
        currencies: others.into_iter().collect(),
        language,
        languages,
        countries,
        by_country: true,
        rates: BTreeMap::new(),
        links: policies.into_iter().filter_map(link).collect(),
    };
    let types = types.product_types.edges.into_iter().flatten().filter_map(|edge| edge.node);
    let types = types.filter(|own| !own.trim().is_empty()).map(|own| (CategoryPath::new(&own), own)).collect();
    Some(Standing { market: Arc::new(market), home: home.iso_code, codes, types, document: None })
}

/// Returns the BCP 47 tags of a language of the API, the usual one first.
fn tags(code: &str) -> Vec<String> {
    let usual = match code.split_once('_') {
        None => code.to_ascii_lowercase(),
        Some((language, region)) => format!("{}-{region}", language.to_ascii_lowercase()),
    };
    // Chinese is distinguished by script, which the API has no code for; Norwegian has two codes for mostly one
    // language.
    let others: &[&str] = match code {
        "ZH_CN" => &["zh-Hans", "zh-Hans-CN", "zh-SG", "zh-Hans-SG"],
        "ZH_TW" => &["zh-Hant", "zh-Hant-TW", "zh-HK", "zh-Hant-HK", "zh-MO"],
        "NO" => &["nb"],
        "NB" => &["no"],
        _ => &[],
    };
    std::iter::once(usual).chain(others.iter().map(|tag| (*tag).to_owned())).collect()
}

shapes! { (Debug, Default, Deserialize, Serialize) "camelCase"
    /// Answers of a shop from which its standing is read.
    Stated { answer: Answer, types: Types }
    Answer { shop: Option<StatedShop>, localization: Option<Localization> }
    StatedShop {
        name: Option<String>, privacy_policy: Option<Policy>, terms_of_service: Option<Policy>,
        refund_policy: Option<Policy>, shipping_policy: Option<Policy>,
    }
    Policy { title: Option<String>, url: Option<String> }
    Localization {
        #[serde(default)] available_countries: Vec<Option<Country>>,
        #[serde(default)] available_languages: Vec<Option<Language>>,
        country: Option<Country>, language: Option<Language>,
    }
    Country { iso_code: String, currency: Option<Coded> }
    Coded { iso_code: String }
    Language { iso_code: String }
    Types { #[serde(default)] product_types: Edges }
    Edges { #[serde(default)] edges: Vec<Option<Edge>> }
    Edge { node: Option<String> }
}

impl Country {
    fn currency(&self) -> Option<Currency> {
        self.currency.as_ref()?.iso_code.parse().ok()
    }
}

impl Language {
    /// Returns `true` if the code is written like a `LanguageCode`: it is sent back to the API as one.
    fn is_code(&self) -> bool {
        let letters =
            |part: &str| matches!(part.len(), 2..=3) && part.bytes().all(|letter| letter.is_ascii_uppercase());
        self.iso_code
            .split_once('_')
            .map_or_else(|| letters(&self.iso_code), |(one, other)| letters(one) && letters(other))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use ucp_core::catalog::Context;

    use super::*;

    fn country(code: &str, currency: &str) -> Value {
        json!({ "isoCode": code, "currency": { "isoCode": currency } })
    }

    fn shop(languages: &[&str]) -> Standing {
        let policy = |url: &str| json!({ "title": "Policy\u{202e}", "url": url });
        let answer = json!({
            "shop": {
                "name": " Example\n shop ",
                "privacyPolicy": policy("https://shop.example/privacy"), "termsOfService": null,
                "refundPolicy": policy("javascript:alert(1)"), "shippingPolicy": policy("http://shop.example/shipping"),
            },
            "localization": {
                "availableCountries": [
                    country("US", "USD"), country("DE", "EUR"), country("FR", "EUR"), country("JP", "JPY"), null,
                    country("XX1", "EUR"), country("ZZ", "???"), { "isoCode": "CA", "currency": null },
                ],
                "availableLanguages": languages.iter().map(|code| json!({ "isoCode": code })).collect::<Vec<_>>(),
                "country": country("US", "USD"),
                "language": { "isoCode": "EN" },
            },
        });
        let types = json!({ "productTypes": { "edges": [{ "node": "Zapatillas Niño" }, { "node": "Shoes > Running" }, { "node": "" }, null] } });
        let types = serde_json::from_value(types).expect("types");
        let stated = Stated { answer: serde_json::from_value(answer).expect("an answer"), types };
        standing(stated, "shop.example").expect("a standing")
    }

    fn presented(
        standing: &Standing,
        country: Option<&str>,
        language: &str,
        currency: Option<&str>,
    ) -> (InContext, String) {
        let context = Context {
            country: country.map(str::to_owned),
            languages: vec![language.to_owned()],
            currency: currency.map(str::to_owned),
            ..Context::default()
        };
        let presentation = standing.market.presentation(&context);
        (standing.in_context(&presentation), presentation.currency.to_string())
    }

    #[test]
    fn a_market_is_what_the_shop_says() {
        let standing = shop(&["EN", "FR"]);
        let market = &standing.market;
        assert_eq!((market.name.as_str(), market.currency.as_str(), market.by_country), ("Example shop", "USD", true));
        assert_eq!(market.countries.keys().collect::<Vec<_>>(), ["DE", "FR", "JP", "US"]);
        assert_eq!(market.currencies.iter().map(Currency::as_str).collect::<Vec<_>>(), ["EUR", "JPY"]);
        assert_eq!((market.language.as_str(), market.languages.as_slice()), ("en", &["fr".to_owned()][..]));
        // Only addresses that a client may open.
        let links: Vec<_> =
            market.links.iter().map(|link| (link.kind.as_str(), link.url.as_str(), link.title.as_deref())).collect();
        assert_eq!(links, [("privacy_policy", "https://shop.example/privacy", Some("Policy"))]);
        assert_eq!(standing.types_in(&CategoryPath::new("shoes")), ["Shoes > Running"]);
        assert_eq!(standing.types_in(&CategoryPath::new("ZAPATILLAS nino")), ["Zapatillas Niño"]);
        assert!(standing.types_in(&CategoryPath::new("Running")).is_empty());
    }

    #[test]
    fn the_country_decides_about_the_currency() {
        let standing = shop(&["EN"]);
        let expect = |(context, shown): (InContext, String), country: Option<&str>, currency: &str| {
            assert_eq!((context.country.as_deref(), shown.as_str()), (country, currency));
        };
        expect(presented(&standing, Some("de"), "en", None), Some("DE"), "EUR");
        expect(presented(&standing, Some("DE"), "en", Some("JPY")), Some("DE"), "EUR");
        expect(presented(&standing, None, "en", Some("EUR")), Some("DE"), "EUR");
        expect(presented(&standing, None, "en", Some("USD")), None, "USD");
        expect(presented(&standing, Some("BR"), "en", None), None, "USD");
        let home = |country: Option<&str>| {
            let context = Context { country: country.map(str::to_owned), ..Context::default() };
            standing.at_home(&standing.market.presentation(&context))
        };
        assert!(home(None) && home(Some("US")) && home(Some("BR")) && !home(Some("DE")));
    }

    #[test]
    fn languages_are_spelled_as_each_side_does() {
        let standing = shop(&["EN", "PT_BR", "PT_PT", "ZH_TW", "ZH_CN", "NB", "FIL", "../x", "E", "EN_"]);
        for (tag, code) in [
            ("en", "EN"),
            ("en-GB", "EN"),
            ("pt-BR", "PT_BR"),
            ("pt-br", "PT_BR"),
            ("pt-PT", "PT_PT"),
            ("pt", "PT_BR"),
            ("zh-Hans", "ZH_CN"),
            ("zh-hans-cn", "ZH_CN"),
            ("zh-CN", "ZH_CN"),
            ("zh-Hant", "ZH_TW"),
            ("zh-HK", "ZH_TW"),
            ("no", "NB"),
            ("nb-NO", "NB"),
            ("fil", "FIL"),
            ("tlh", "EN"),
            ("", "EN"),
        ] {
            assert_eq!(presented(&standing, None, tag, None).0.language.as_deref(), Some(code), "{tag}");
        }
        assert!(standing.market.languages.iter().all(|tag| !tag.contains('.') && !tag.contains('_')));
    }

    #[test]
    fn a_shop_without_a_currency_is_none() {
        for localization in [
            Value::Null,
            json!({ "country": null }),
            json!({ "country": { "isoCode": "US", "currency": { "isoCode": "$" } } }),
        ] {
            let answer =
                serde_json::from_value(json!({ "shop": null, "localization": localization })).expect("an answer");
            assert!(standing(Stated { answer, types: Types::default() }, "shop.example").is_none());
        }
    }
}
