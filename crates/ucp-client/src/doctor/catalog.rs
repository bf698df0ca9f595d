//! Rules of the catalog: what agents find, open, choose and are told a price of.

use std::collections::HashMap;

use iso_currency::Currency;
use serde_json::{Map, Value, json};
use ucp_core::Operation;
use url::{Host, Url};

use super::{answers::Answers, report::Examination, rule::Rule};
use crate::{
    http::tokens,
    shop::{Answer, Call, CalledShop, Transport},
};

/// Number of products that are looked at one by one.
const SAMPLE: usize = 25;

/// Number of products of a page.
const PAGE: usize = 10;

/// Number of values of options that are chosen per product.
const CHOICES: usize = 8;

/// Maximum of tokens per product of a search, on average.
const MOST_TOKENS: usize = 1_000;

const RULES: &[Rule] = &[
    Rule::CatalogSearchable,
    Rule::CatalogFindable,
    Rule::CatalogIdentifiers,
    Rule::CatalogPage,
    Rule::CatalogDeadEnd,
    Rule::CatalogPrice,
    Rule::CatalogSamePrice,
    Rule::CatalogGtin,
    Rule::CatalogHtml,
    Rule::CatalogTokens,
    Rule::CatalogDescription,
    Rule::CatalogMedia,
    Rule::CatalogDuplicates,
    Rule::CatalogPaging,
    Rule::CatalogTitles,
];

/// The catalog, asked over one transport.
struct Catalog<'a> {
    shop: &'a CalledShop,
    transport: Transport,
    answers: &'a mut Answers,
    examination: &'a mut Examination,
}

/// Looks at a sample of the products, and returns those that can be bought.
pub(super) async fn examine(
    shop: &CalledShop,
    transport: Transport,
    answers: &mut Answers,
    examination: &mut Examination,
) -> Vec<Value> {
    if !shop.offers(Operation::SearchCatalog) {
        examination.skip(RULES, "the shop offers no search");
        return Vec::new();
    }
    let mut catalog = Catalog { shop, transport, answers, examination };
    let products = catalog.sample().await;
    catalog.texts(&products);
    for product in &products {
        catalog.findable(product).await;
        catalog.page(product).await;
    }
    examination.skip(RULES, "there is nothing in the catalog to look at it by");
    products
}

/// Returns the text of a member, or nothing.
fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

fn elements(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn products(answer: &Answer) -> Vec<Value> {
    answer.resource().and_then(|document| document.get("products")?.as_array().cloned()).unwrap_or_default()
}

impl Catalog<'_> {
    async fn ask(&mut self, operation: Operation, payload: Value) -> Option<Answer> {
        self.answers.ask(self.shop, self.transport, &Call::new(operation, payload), self.examination).await
    }

    /// Reads the catalog page by page.
    async fn sample(&mut self) -> Vec<Value> {
        let mut sample: Vec<Value> = Vec::new();
        let (mut cursor, mut bytes, mut shown) = (None::<String>, 0, 0);
        while sample.len() < SAMPLE {
            let mut pagination = json!({ "limit": PAGE });
            if let Some(cursor) = &cursor {
                pagination["cursor"] = cursor.as_str().into();
            }
            let Some(answer) = self
                .ask(Operation::SearchCatalog, json!({ "filters": { "available": true }, "pagination": pagination }))
                .await
            else {
                break;
            };
            let page = products(&answer);
            if cursor.is_none() {
                let at = "search_catalog without words";
                self.examination.check(Rule::CatalogSearchable, !page.is_empty(), at, || answer.exchange.shown());
            } else {
                let new = page.iter().all(|product| sample.iter().all(|known| known["id"] != product["id"]));
                let at = "search_catalog with a cursor";
                self.examination.check(Rule::CatalogPaging, new && !page.is_empty(), at, || {
                    let ids: Vec<_> = page.iter().map(|product| text(product, "id")).collect();
                    format!("the next page has {ids:?}")
                });
            }
            let mut ids: Vec<_> = page.iter().map(|product| text(product, "id")).collect();
            ids.sort_unstable();
            let twice: Vec<_> = ids.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| pair[0]).collect();
            self.examination.check(Rule::CatalogDuplicates, twice.is_empty(), "search_catalog", || {
                format!("the same page has more than once: {}", twice.join(", "))
            });
            bytes += answer.exchange.body.len();
            shown += page.len();
            let next = answer.resource().and_then(|document| document.get("pagination")).cloned().unwrap_or_default();
            let before = sample.len();
            for product in page {
                if sample.iter().all(|known| known["id"] != product["id"]) {
                    sample.push(product);
                }
            }
            cursor = next["cursor"].as_str().filter(|_| next["has_next_page"] == true).map(str::to_owned);
            if cursor.is_none() || sample.len() == before {
                break;
            }
        }
        self.examination.skip(&[Rule::CatalogPaging], "there is one page");
        if let Some(each) = bytes.checked_div(shown).map(tokens) {
            self.examination.figure("products that were looked at", sample.len().min(SAMPLE));
            self.examination.figure("tokens per product of a search", each);
            self.examination
                .check(Rule::CatalogTokens, each <= MOST_TOKENS, "search_catalog", || format!("{each} tokens"));
        }
        sample.truncate(SAMPLE);
        sample
    }

    /// Looks at titles, descriptions and images.
    fn texts(&mut self, products: &[Value]) {
        let mut titles: HashMap<String, &str> = HashMap::new();
        for product in products {
            let (id, title) = (text(product, "id"), text(product, "title"));
            let at = format!("{id} {title}");
            let twin = titles.insert(title.to_lowercase(), id);
            let unique = twin.is_none() && !title.is_empty();
            self.examination.check(Rule::CatalogTitles, unique, &at, || match twin {
                Some(twin) => format!("{twin} has the same title"),
                None => "no title".to_owned(),
            });
            let plain = text(&product["description"], "plain");
            let any = elements(&json!(["plain", "markdown", "html"])).any(|kind| {
                product["description"][kind.as_str().unwrap_or_default()]
                    .as_str()
                    .is_some_and(|text| !text.trim().is_empty())
            });
            self.examination
                .check(Rule::CatalogDescription, any, &at, || format!("description: {}", product["description"]));
            for (name, text) in [("title", title), ("description.plain", plain)] {
                self.examination.check(Rule::CatalogHtml, !has_html(text), &at, || format!("{name}: {text}"));
            }
            let pictures = elements(&product["media"]).filter(|media| media["type"] == "image");
            let pictured = pictures.into_iter().any(|media| is_loadable(text(media, "url"), &self.shop.address));
            self.examination.check(Rule::CatalogMedia, pictured, &at, || format!("media: {}", product["media"]));
        }
    }

    /// Searches for the title of a product.
    async fn findable(&mut self, product: &Value) {
        let (id, title) = (text(product, "id"), text(product, "title"));
        if title.is_empty() {
            return;
        }
        let query = json!({ "query": title, "pagination": { "limit": PAGE } });
        let Some(answer) = self.ask(Operation::SearchCatalog, query).await else { return };
        let found = products(&answer);
        let place = found.iter().position(|other| other["id"] == product["id"]);
        self.examination.check(Rule::CatalogFindable, place.is_some(), &format!("{id} {title}"), || {
            let first = found.first().map_or("nothing", |first| text(first, "title"));
            format!("{} results, the first is {first:?}", found.len())
        });
    }

    /// Looks at prices and barcodes of a product as a document has it.
    fn prices(&mut self, product: &Value, at: &str) {
        let range = &product["price_range"];
        let (least, most) = (range["min"]["amount"].as_i64(), range["max"]["amount"].as_i64());
        if let (Some(least), Some(most)) = (least, most) {
            self.examination
                .check(Rule::CatalogPrice, 0 < least && least <= most, at, || format!("price_range: {range}"));
        }
        for variant in elements(&product["variants"]) {
            let price = &variant["price"];
            let amount = price["amount"].as_i64();
            let currency = price["currency"].as_str().and_then(Currency::from_code);
            let within = amount.is_some_and(|amount| {
                amount > 0 && least.is_none_or(|least| least <= amount) && most.is_none_or(|most| amount <= most)
            });
            let id = text(variant, "id");
            self.examination.check(Rule::CatalogPrice, within && currency.is_some(), at, || {
                format!("{id} costs {price}, and the range is {range}")
            });
            for code in elements(&variant["barcodes"]) {
                let (kind, value) = (text(code, "type").to_ascii_uppercase(), text(code, "value"));
                if ["EAN", "UPC", "GTIN"].iter().any(|gtin| kind.starts_with(gtin)) {
                    self.examination
                        .check(Rule::CatalogGtin, is_gtin(value), at, || format!("{id} has {kind} {value:?}"));
                }
            }
        }
    }

    /// Opens a product, chooses values of its options, and looks its variant up.
    async fn page(&mut self, found: &Value) {
        let (id, title) = (text(found, "id"), text(found, "title"));
        let at = format!("{id} {title}");
        self.prices(found, &at);
        if self.shop.offers(Operation::LookupCatalog)
            && let Some(variant) = found["variants"][0]["id"].as_str()
            && let Some(answer) = self.ask(Operation::LookupCatalog, json!({ "ids": [variant] })).await
        {
            let resolved = products(&answer);
            let same = resolved.iter().any(|product| product["id"] == found["id"]);
            self.examination.check(Rule::CatalogIdentifiers, same, &at, || {
                let ids: Vec<_> = resolved.iter().map(|product| text(product, "id")).collect();
                format!("{variant} leads to {ids:?}")
            });
        }
        if !self.shop.offers(Operation::GetProduct) {
            return;
        }
        let Some(answer) = self.ask(Operation::GetProduct, json!({ "id": id })).await else { return };
        let product = answer.resource().and_then(|document| document.get("product")).cloned().unwrap_or_default();
        let opened = elements(&product["variants"]).next().is_some() && product["id"] == found["id"];
        if !self.examination.check(Rule::CatalogPage, opened, &at, || answer.exchange.shown()) {
            return;
        }
        self.prices(&product, &at);
        for variant in elements(&product["variants"]) {
            let shown = elements(&found["variants"]).find(|shown| shown["id"] == variant["id"]);
            let Some(shown) = shown else { continue };
            let same = shown["price"] == variant["price"];
            self.examination.check(Rule::CatalogSamePrice, same, &at, || {
                format!("{} costs {} in the search and {} on the page", variant["id"], shown["price"], variant["price"])
            });
        }
        self.choices(&product, &at).await;
    }

    /// Chooses each value that is said to be available.
    async fn choices(&mut self, product: &Value, at: &str) {
        let mut chosen = 0;
        for option in elements(&product["options"]) {
            for value in elements(&option["values"]).filter(|value| value["available"] == true) {
                if chosen == CHOICES {
                    return;
                }
                chosen += 1;
                let choice = Map::from_iter([
                    ("name".to_owned(), option["name"].clone()),
                    ("label".to_owned(), value["label"].clone()),
                ]);
                // The other choices are kept as long as the new one allows it.
                let others = elements(&product["selected"]).filter(|other| other["name"] != option["name"]).cloned();
                let selected: Vec<Value> = std::iter::once(Value::Object(choice)).chain(others).collect();
                let ask = json!({ "id": product["id"], "selected": selected, "preferences": [option["name"]] });
                let Some(answer) = self.ask(Operation::GetProduct, ask).await else { continue };
                let page = answer.resource().and_then(|page| page.get("product")).cloned().unwrap_or_default();
                let has = |variant: &&Value| {
                    elements(&variant["options"])
                        .any(|own| own["name"] == option["name"] && own["label"] == value["label"])
                };
                let leads = elements(&page["variants"])
                    .filter(has)
                    .any(|variant| variant["availability"]["available"] != false);
                self.examination.check(Rule::CatalogDeadEnd, leads, at, || {
                    format!(
                        "{} {} is available, and leads to {} variants, none of which can be bought with it",
                        option["name"],
                        value["label"],
                        elements(&page["variants"]).count()
                    )
                });
            }
        }
    }
}

/// Returns `true` if a text has tags or entities of HTML.
fn has_html(text: &str) -> bool {
    let tag = text.match_indices('<').any(|(place, _)| {
        let rest = text[place + 1..].trim_start_matches('/');
        rest.starts_with(|c: char| c.is_ascii_alphabetic()) && rest.contains('>')
    });
    let entity = text.match_indices('&').any(|(place, _)| {
        let rest = &text[place + 1..];
        let name = rest.split(';').next().unwrap_or_default();
        let named = (2..=8).contains(&name.len()) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '#');
        rest.len() > name.len() && named
    });
    tag || entity
}

/// Returns `true` if a picture is served over https, or by a shop that is only on this machine itself.
fn is_loadable(picture: &str, shop: &Url) -> bool {
    let Ok(picture) = Url::parse(picture) else { return false };
    let is_local = match shop.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    picture.scheme() == "https" || is_local && picture.origin() == shop.origin()
}

/// Returns `true` if the digits have the length of a GTIN and end in its check digit.
fn is_gtin(code: &str) -> bool {
    if !matches!(code.len(), 8 | 12 | 13 | 14) || !code.bytes().all(|byte| byte.is_ascii_digit()) {
        return false;
    }
    let weighted = code
        .bytes()
        .rev()
        .enumerate()
        .map(|(place, digit)| u32::from(digit - b'0') * if place % 2 == 0 { 1 } else { 3 });
    weighted.sum::<u32>().is_multiple_of(10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_digits_of_gtins() {
        for code in ["4006381333931", "012345678905", "96385074", "00012345678905"] {
            assert!(is_gtin(code), "{code}");
        }
        for code in ["4006381333932", "", "123", "40063813339a1"] {
            assert!(!is_gtin(code), "{code}");
        }
    }

    #[test]
    fn pictures_over_http_are_loadable_only_from_a_shop_on_this_machine() {
        for (picture, shop, expected) in [
            ("https://cdn.example/mug.jpg", "https://shop.example/", true),
            ("http://127.0.0.1:8080/pictures/mug.svg", "http://127.0.0.1:8080/", true),
            ("http://localhost:8080/mug.svg", "http://localhost:8080/", true),
            ("http://[::1]:8080/mug.svg", "http://[::1]:8080/", true),
            ("http://127.0.0.1:9090/mug.svg", "http://127.0.0.1:8080/", false),
            ("http://shop.example/mug.jpg", "http://shop.example/", false),
            ("http://192.168.1.7:8080/mug.jpg", "http://192.168.1.7:8080/", false),
            ("http://localhost.example/mug.jpg", "http://localhost.example/", false),
            ("/mug.jpg", "https://shop.example/", false),
            ("", "https://shop.example/", false),
        ] {
            let shop = Url::parse(shop).expect("an address");
            assert_eq!(is_loadable(picture, &shop), expected, "{picture} at {shop}");
        }
    }

    #[test]
    fn html_is_told_from_text() {
        for text in ["<b>Mug</b>", "Tea &amp; cups", "a <br/> b", "&#39;"] {
            assert!(has_html(text), "{text}");
        }
        for text in ["Mug", "1 < 2 > 0", "salt & pepper; more", "<3"] {
            assert!(!has_html(text), "{text}");
        }
    }
}
