//! A shop that answers what a test says.
//!
//! A test is told the name of the operation and its variables. What the shop says about itself is answered here, unless
//! a test does.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use url::Url;

pub(crate) use crate::graphql::Asked;
use crate::graphql::{document, serve};

/// Response.
pub(crate) enum Reply {
    /// `data`.
    Data(Value),
    /// A whole document, with status 200.
    Document(Value),
    /// A status, headers and a text.
    Other(u16, Vec<(&'static str, &'static str)>, String),
    /// Default responses of the stub.
    Usual,
}

type Answer = dyn Fn(&Asked) -> Reply + Send + Sync;

struct State {
    answer: Box<Answer>,
    asked: Mutex<Vec<Asked>>,
}

/// The server. It ends with the runtime of the test.
#[derive(Clone)]
pub(crate) struct Stub {
    pub(crate) url: Url,
    state: Arc<State>,
}

impl Stub {
    pub(crate) async fn serve(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        let state = Arc::new(State { answer: Box::new(answer), asked: Mutex::default() });
        let own = Arc::clone(&state);
        let host = serve(move |mut peer, asked| {
            let reply = own.reply(asked);
            async move {
                match reply {
                    Reply::Data(data) => document(&mut peer, &json!({ "data": data })).await?,
                    Reply::Document(whole) => document(&mut peer, &whole).await?,
                    Reply::Other(status, headers, text) => peer.answer(status, &headers, text).await?,
                    Reply::Usual => unreachable!("it was replaced"),
                }
                Ok(peer)
            }
        })
        .await;
        Self { url: host.url("/").parse().expect("an address"), state }
    }

    /// Requests so far by operations of this name.
    pub(crate) fn asked(&self, operation: &str) -> Vec<Asked> {
        self.state
            .asked
            .lock()
            .expect("not poisoned")
            .iter()
            .filter(|asked| asked.operation == operation)
            .cloned()
            .collect()
    }
}

impl State {
    fn reply(&self, asked: Asked) -> Reply {
        let reply = match (self.answer)(&asked) {
            Reply::Usual => Reply::Document(usual(&asked.operation)),
            reply => reply,
        };
        self.asked.lock().expect("not poisoned").push(asked);
        reply
    }
}

/// Description of the shop by itself.
fn usual(operation: &str) -> Value {
    let country = |code: &str, currency: &str| json!({ "isoCode": code, "currency": { "isoCode": currency } });
    match operation {
        "Shop" => json!({ "data": {
            "shop": { "name": "Stub", "privacyPolicy": { "title": "Privacy", "url": "https://stub.example/privacy" } },
            "localization": {
                "availableCountries": [country("US", "USD"), country("DE", "EUR"), country("JP", "JPY")],
                "availableLanguages": [{ "isoCode": "EN" }, { "isoCode": "PT_BR" }],
                "country": country("US", "USD"),
                "language": { "isoCode": "EN" },
            },
        } }),
        "Types" => {
            json!({ "data": { "productTypes": { "edges": [{ "node": "Zapatos Niño" }, { "node": "A \"quoted\\type" }] } } })
        }
        "Codes" => json!({ "data": codes(&[], false) }),
        other => panic!("nobody answers {other}"),
    }
}

/// Products, each with the codes of its variants: number, SKU and barcode.
pub(crate) fn codes(products: &[&[(u64, &str, &str)]], more: bool) -> Value {
    let variant = |(number, sku, barcode): &(u64, &str, &str)| json!({ "id": variant_id(*number), "sku": sku, "barcode": barcode });
    let product = |variants: &&[(u64, &str, &str)]| {
        let nodes: Vec<_> = variants.iter().map(variant).collect();
        json!({ "variants": { "pageInfo": { "hasNextPage": false }, "nodes": nodes } })
    };
    let nodes: Vec<_> = products.iter().map(product).collect();
    json!({ "products": { "pageInfo": { "hasNextPage": more }, "nodes": nodes } })
}

/// The id of a product.
pub(crate) fn product_id(number: u64) -> String {
    format!("gid://shopify/Product/{number}")
}

/// The id of a variant.
pub(crate) fn variant_id(number: u64) -> String {
    format!("gid://shopify/ProductVariant/{number}")
}

/// A variant with these options, at this price in US dollars.
pub(crate) fn variant(number: u64, options: &[(&str, &str)], amount: &str) -> Value {
    json!({
        "id": variant_id(number), "title": options.iter().map(|(_, value)| *value).collect::<Vec<_>>().join(" / "),
        "sku": format!("SKU-{number}"), "barcode": null, "availableForSale": true, "currentlyNotInStock": false,
        "requiresShipping": true, "price": { "amount": amount, "currencyCode": "USD" }, "compareAtPrice": null,
        "unitPrice": null, "unitPriceMeasurement": null, "image": null,
        "selectedOptions": options.iter().map(|(name, value)| json!({ "name": name, "value": value })).collect::<Vec<_>>(),
    })
}

/// A product in one form, at this price in US dollars.
pub(crate) fn simple(number: u64, amount: &str) -> Value {
    card(
        number,
        &[("Title", &["Default Title"])],
        &[variant(number * 100, &[("Title", "Default Title")], amount)],
        false,
    )
}

/// A product with these options and these of its variants; `more` says whether there are others.
pub(crate) fn card(number: u64, options: &[(&str, &[&str])], variants: &[Value], more: bool) -> Value {
    let price = |amount: &str| json!({ "amount": amount, "currencyCode": "USD" });
    let value = |(place, name): (usize, &&str)| json!({ "id": format!("gid://shopify/ProductOptionValue/{number}{place}"), "name": name });
    json!({
        "__typename": "Product", "id": product_id(number), "handle": format!("product-{number}"),
        "title": format!("Product {number}"), "descriptionHtml": "<p>Good.</p>",
        "onlineStoreUrl": format!("https://stub.example/products/product-{number}"), "productType": "Zapatos Niño",
        "vendor": "Maker", "tags": ["new"], "encodedVariantExistence": null, "encodedVariantAvailability": null,
        "category": { "id": "gid://shopify/TaxonomyCategory/aa-1-13" },
        "priceRange": { "minVariantPrice": price("1.0"), "maxVariantPrice": price("50.0") },
        "compareAtPriceRange": { "minVariantPrice": price("0.0"), "maxVariantPrice": price("0.0") },
        "options": options.iter().map(|(name, values)| json!({
            "name": name, "optionValues": values.iter().enumerate().map(value).collect::<Vec<_>>(),
        })).collect::<Vec<_>>(),
        "media": { "nodes": [] },
        "featured": variants.first(),
        "variants": { "pageInfo": { "hasNextPage": more }, "nodes": variants },
    })
}

/// A page of what was found, each product with a position of its own.
pub(crate) fn page(products: Vec<Value>, more: bool) -> Value {
    let edges = products.into_iter().map(|node| {
        let cursor = format!("after {}", node["id"].as_str().unwrap_or_default());
        json!({ "cursor": cursor, "node": node })
    });
    let edges: Vec<_> = edges.collect();
    json!({ "page": { "totalCount": edges.len(), "pageInfo": { "hasNextPage": more }, "edges": edges } })
}
