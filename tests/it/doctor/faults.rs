//! Faults of shops, one for each rule, planted into the answers of a sound one.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use http::Request;
use serde_json::{Value, json};
use ucp_client::doctor::Rule;
use ucp_testkit::server::Answer;

use crate::wire::{self, Connection};

/// A question and its answer, before the fault.
struct Passing {
    path: String,
    asked: String,
    status: u16,
    kind: String,
    caching: String,
    location: Option<String>,
    text: String,
    document: Value,
}

/// Plants a fault.
type Plant = fn(&mut Passing);

/// A fault that breaks a rule.
pub(super) struct Fault(Plant);

/// Hands a request on to the gateway at `address`, with answers that name `own` in its place.
pub(super) fn forwarded(address: &str, own: &str, request: &Request<Vec<u8>>, fault: Option<&Fault>) -> Answer {
    let path = request.uri().path_and_query().expect("a path").as_str();
    let fields =
        request.headers().iter().filter(|(name, _)| !["host", "content-length", "connection"].contains(&name.as_str()));
    let fields: Vec<_> = fields.map(|(name, value)| (name.as_str(), value.to_str().expect("text"))).collect();
    let mut connection = Connection::open(address.parse().expect("an address"));
    connection.write(&wire::request(request.method().as_str(), path, &fields, request.body()));
    let response = connection.read().expect("an answer of the gateway");
    let text = response.body.replace(&format!("http://{address}"), own);
    let field = |name: &str| response.header(name).unwrap_or_default().to_owned();
    let mut passing = Passing {
        path: path.to_owned(),
        asked: String::from_utf8_lossy(request.body()).into_owned(),
        status: response.status,
        kind: field("content-type"),
        caching: field("cache-control"),
        location: None,
        document: serde_json::from_str(&text).unwrap_or_default(),
        text,
    };
    if let Some(Fault(plant)) = fault {
        plant(&mut passing);
    }
    let body = if passing.document.is_null() { passing.text } else { passing.document.to_string() };
    let mut fields = vec![format!("Content-Type: {}", passing.kind), format!("Cache-Control: {}", passing.caching)];
    fields.extend(passing.location.map(|location| format!("Location: {location}")));
    Answer::Whole(passing.status, fields, body.into_bytes())
}

impl Passing {
    fn is_profile(&self) -> bool {
        self.path == "/.well-known/ucp"
    }

    fn is_search(&self) -> bool {
        self.path == "/catalog/search"
    }

    fn is_page(&self) -> bool {
        self.path == "/catalog/product" && !self.is_about_nothing()
    }

    fn is_about_nothing(&self) -> bool {
        self.asked.contains("no-such-thing")
    }

    fn is_new_checkout(&self) -> bool {
        self.path == "/checkout-sessions"
    }

    /// The question that both transports are asked.
    fn is_compared(&self) -> bool {
        self.is_search() && self.asked.contains("\"limit\":3}")
    }

    fn fail(&mut self, status: u16) {
        (self.status, self.document, self.text) = (status, Value::Null, "Oops".to_owned());
    }

    fn tools(&mut self) -> &mut Vec<Value> {
        self.document["result"]["tools"].as_array_mut().expect("tools")
    }

    fn is_list_of_tools(&self) -> bool {
        self.asked.contains("\"tools/list\"")
    }

    fn each_product(&mut self, change: fn(&mut Value)) {
        if self.is_search() && self.document["products"].is_array() {
            self.document["products"].as_array_mut().expect("products").iter_mut().for_each(change);
        }
    }
}

/// A plant for the profile.
macro_rules! profile {
    (|$ucp:ident| $change:expr) => {
        |passing: &mut Passing| {
            if passing.is_profile() {
                let $ucp = &mut passing.document["ucp"];
                $change;
            }
        }
    };
}

impl Fault {
    pub(super) fn of(rule: Rule) -> Self {
        let plant: Plant = match rule {
            Rule::ProfileFound => |it| {
                if it.is_profile() {
                    it.fail(404);
                }
            },
            Rule::ProfileRedirect => |it| {
                if it.is_profile() {
                    (it.status, it.location) = (302, Some("/elsewhere".to_owned()));
                }
            },
            Rule::ProfileMediaType => |it| {
                if it.is_profile() {
                    it.kind = "text/html".to_owned();
                }
            },
            Rule::ProfileCaching => |it| {
                if it.is_profile() {
                    it.caching = "no-store".to_owned();
                }
            },
            Rule::ProfileRelease => profile!(|ucp| ucp["version"] = "2030-01-01".into()),
            Rule::ProfileServices => profile!(|ucp| ucp["services"]["dev.ucp.common"][0]["version"] = Value::Null),
            Rule::ProfileEndpoints => {
                profile!(|ucp| ucp["services"]["dev.ucp.common"][0]["endpoint"] = "http://shop.example.com".into())
            }
            Rule::ProfileCapabilities => {
                profile!(|ucp| ucp["capabilities"]["dev.ucp.shopping.order"][0]["version"] = "1.0".into())
            }
            Rule::ProfileExtends => {
                profile!(|ucp| ucp["capabilities"]["dev.ucp.shopping.discount"][0]["extends"] =
                    "dev.ucp.shopping.nothing".into())
            }
            Rule::ProfileAuthority => {
                profile!(
                    |ucp| ucp["capabilities"]["dev.ucp.shopping.cart"][0]["spec"] = "https://example.com/cart".into()
                )
            }
            Rule::ProfileKeys => |it| {
                if it.is_profile() {
                    // One with a private member, and one without the point.
                    it.document["keys"] = json!([
                        { "kid": "a", "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "d": "AA" },
                        { "kid": "b", "kty": "EC", "alg": "ES256" },
                    ]);
                }
            },
            Rule::ProfileVersions => {
                profile!(|ucp| ucp["supported_versions"]["2026-04-08"] =
                    ucp["services"]["dev.ucp.shopping"][1]["endpoint"].clone())
            }
            Rule::ProfilePayment => profile!(|ucp| ucp["payment_handlers"] = json!({})),
            Rule::ProfileOperations => profile!(|ucp| ucp["capabilities"] = json!({})),
            Rule::RestAnswers => |it| {
                if it.is_compared() {
                    it.fail(500);
                }
            },
            Rule::McpAnswers => |it| {
                if it.is_list_of_tools() {
                    it.fail(500);
                }
            },
            Rule::ToolsComplete => |it| {
                if it.is_list_of_tools() {
                    it.tools()[0]["name"] = "find".into();
                }
            },
            Rule::ToolsSchema => |it| {
                if it.is_list_of_tools() {
                    it.tools()[0]["inputSchema"] = json!({ "type": "string" });
                }
            },
            Rule::ToolsLegible => |it| {
                if it.is_list_of_tools() {
                    it.tools()[0]["inputSchema"]["properties"]["catalog"] = json!({ "type": "object", "properties": {
                        "filters": { "type": "object", "properties": { "categories": { "type": "array" } } },
                    } });
                }
            },
            Rule::ToolsCaller => |it| {
                if it.is_list_of_tools() {
                    it.tools()[0]["inputSchema"]["properties"]["meta"] = json!({ "type": "object" });
                }
            },
            Rule::ToolsDescription => |it| {
                if it.is_list_of_tools() {
                    it.tools()[0]["description"] = "Find.".into();
                }
            },
            Rule::ToolsSize => |it| {
                if it.is_list_of_tools() {
                    it.tools()[0]["padding"] = "x".repeat(40_000).into();
                }
            },
            Rule::AnswersSchema => |it| it.each_product(|product| product["title"] = Value::Null),
            Rule::AnswersRelease => |it| {
                if it.is_search() {
                    it.document["ucp"]["version"] = "2026-04-08".into();
                }
            },
            Rule::AnswersTime => |it| {
                if it.is_compared() {
                    thread::sleep(Duration::from_millis(3_100));
                }
            },
            Rule::AnswersCaching => |it| {
                if it.is_search() {
                    it.caching = "public, max-age=60".to_owned();
                }
            },
            Rule::ParityAnswers => |it| {
                if it.is_compared() {
                    it.document["products"][1]["title"] = "Another".into();
                }
            },
            Rule::ParityErrors => |it| {
                if it.path == "/catalog/product" && it.is_about_nothing() {
                    it.document["messages"][0]["code"] = "product_not_found".into();
                }
            },
            Rule::ErrorsMalformed => |it| {
                if it.asked == "{\"query\":" {
                    it.fail(500);
                }
            },
            Rule::ErrorsInvalid => |it| {
                if it.asked.contains("\"three\"") {
                    it.fail(500);
                }
            },
            Rule::ErrorsPlace => |it| {
                if it.is_search() && it.asked.contains("\"three\"") {
                    it.document = json!({ "code": "invalid_request", "content": "No." });
                }
            },
            Rule::ErrorsUnknownId => |it| {
                if it.path == "/catalog/product" && it.is_about_nothing() {
                    it.fail(500);
                }
            },
            Rule::ErrorsUnknownPath => |it| {
                if it.path.contains("no-such-thing") {
                    it.fail(404);
                }
            },
            Rule::ErrorsUnknownTool => |it| {
                if it.asked.contains("no_such_tool") {
                    it.document = json!({ "jsonrpc": "2.0", "id": 1, "result": { "content": [] } });
                }
            },
            Rule::CatalogSearchable => |it| {
                if it.is_search() && !it.asked.contains("query") {
                    it.document["products"] = json!([]);
                }
            },
            Rule::CatalogFindable => |it| {
                if it.is_search() && it.asked.contains("query") {
                    it.document["products"] = json!([]);
                }
            },
            Rule::CatalogIdentifiers => |it| {
                if it.path == "/catalog/lookup" {
                    it.document["products"] = json!([]);
                }
            },
            Rule::CatalogPage => |it| {
                if it.is_page() {
                    it.document["product"]["variants"] = json!([]);
                }
            },
            Rule::CatalogDeadEnd => |it| {
                if it.is_page() && it.asked.contains("selected") {
                    it.document["product"]["variants"] = json!([]);
                }
            },
            Rule::CatalogPrice => |it| it.each_product(|product| product["variants"][0]["price"]["amount"] = 0.into()),
            Rule::CatalogSamePrice => |it| {
                if it.is_page() {
                    it.document["product"]["variants"][0]["price"]["amount"] = 1.into();
                }
            },
            Rule::CatalogGtin => |it| {
                it.each_product(|product| {
                    product["variants"][0]["barcodes"] = json!([{ "type": "EAN", "value": "123" }]);
                });
            },
            Rule::CatalogHtml => |it| it.each_product(|product| product["description"]["plain"] = "<b>Good</b>".into()),
            Rule::CatalogTokens => |it| it.each_product(|product| product["padding"] = "x".repeat(5_000).into()),
            Rule::CatalogDescription => {
                |it| it.each_product(|product| product["description"] = json!({ "plain": " " }))
            }
            Rule::CatalogMedia => |it| it.each_product(|product| product["media"] = json!([])),
            Rule::CatalogDuplicates => |it| {
                if it.is_search() && !it.asked.contains("query") {
                    let products = it.document["products"].as_array_mut().expect("products");
                    products.extend(products.first().cloned());
                }
            },
            Rule::CatalogPaging => |it| {
                if it.is_search() && it.asked.contains("cursor") {
                    it.document["products"] = json!([]);
                }
            },
            Rule::CatalogTitles => |it| it.each_product(|product| product["title"] = "The same".into()),
            Rule::PurchaseTotals => |it| {
                if it.is_new_checkout() {
                    it.document["totals"][0]["amount"] = 1.into();
                }
            },
            Rule::PurchasePrice => |it| {
                if it.is_new_checkout() {
                    it.document["line_items"][0]["item"]["price"] = 1.into();
                }
            },
            Rule::PurchaseIdempotency => |it| {
                static MADE: AtomicUsize = AtomicUsize::new(0);
                if it.is_new_checkout() {
                    it.document["id"] = format!("chk_{}", MADE.fetch_add(1, Ordering::Relaxed)).into();
                }
            },
            Rule::PurchaseConflict => |it| {
                if it.is_new_checkout() && it.asked.contains("\"quantity\":2") {
                    (it.status, it.document) = (201, json!({ "ucp": { "version": "2026-08-25" }, "id": "chk_other" }));
                }
            },
            Rule::PurchasePrivate => |it| {
                if it.is_new_checkout() {
                    it.caching = "max-age=60".to_owned();
                }
            },
            Rule::PurchaseMissing => |it| {
                if it.is_new_checkout() {
                    it.document["messages"] = json!([]);
                }
            },
            Rule::PurchaseCancel => |it| {
                if it.path.ends_with("/cancel") {
                    it.document["status"] = "incomplete".into();
                }
            },
            Rule::PlatformAddress
            | Rule::PlatformReadable
            | Rule::PlatformTolerated
            | Rule::PlatformSize
            | Rule::PlatformWebhook
            | Rule::PlatformCapabilities => panic!("{rule} is of platforms"),
        };
        Self(plant)
    }
}
