//! Requests to servers.

use serde_json::{Value, json};

use crate::{Done, goods, goods::Random, load::Connection, server::Server};

/// The host that is asked.
pub(crate) const HOST: &str = "127.0.0.1";

/// The platform that asks where it does not matter who does.
pub(crate) const PLATFORM: &str = "https://agent.example.com/profile.json";

/// Runner Pro, the product of the specification's examples.
const RUNNER_PRO: &str = "prod_abc123";

/// The product with 2,048 variants.
const SCREW: &str = "prod_fathom-machine-screw";

/// A request, ready to be sent.
pub(crate) struct Request {
    pub(crate) bytes: Vec<u8>,
    /// Index of its kind in the scenario.
    pub(crate) kind: usize,
}

/// Requests that are sent in turn.
pub(crate) struct Scenario {
    pub(crate) name: String,
    pub(crate) requests: Vec<Request>,
    /// The names of kinds of requests that are reported apart; none if they are all alike.
    pub(crate) kinds: Vec<&'static str>,
}

impl Scenario {
    pub(crate) fn one(name: &str, bytes: Vec<u8>) -> Self {
        Self { name: name.to_owned(), requests: vec![Request { bytes, kind: 0 }], kinds: Vec::new() }
    }

    fn rest(name: &str, path: &str, body: &Value) -> Self {
        Self::one(name, post(path, &body.to_string()))
    }

    /// The lookup of a few identifiers.
    pub(crate) fn lookup(name: &str, ids: &[String]) -> Self {
        Self::rest(name, "/catalog/lookup", &json!({ "ids": ids }))
    }
}

/// Facts about a shop that requests need.
pub(crate) struct SampleShop {
    /// Ten products.
    pub(crate) ids: Vec<String>,
    /// Response to a lookup of them.
    pub(crate) lookup_answer: Vec<u8>,
    /// A value of the first option of the product with 2,048 variants.
    choice: Value,
}

impl SampleShop {
    /// The sample shop that a server serves.
    pub(crate) async fn sample(server: &Server) -> Done<Self> {
        let mut connection = Connection::open(server.address).await?;
        let browse = json!({ "filters": { "available": true }, "pagination": { "limit": 10 } });
        let found: Value =
            serde_json::from_slice(&connection.body(&post("/catalog/search", &browse.to_string())).await?)?;
        let products = found["products"].as_array().ok_or("no products")?;
        let ids: Vec<_> = products.iter().filter_map(|product| product["id"].as_str().map(str::to_owned)).collect();
        if ids.len() != 10 {
            return Err("the sample shop has fewer than ten products".into());
        }
        let lookup_answer = connection.body(&post("/catalog/lookup", &json!({ "ids": ids }).to_string())).await?;
        let screw = connection.body(&post("/catalog/product", &json!({ "id": SCREW }).to_string())).await?;
        let screw: Value = serde_json::from_slice(&screw)?;
        let axis = &screw["product"]["options"][0];
        let choice = json!({ "name": axis["name"], "label": axis["values"][0]["label"] });
        Ok(Self { ids, lookup_answer, choice })
    }

    /// Returns the body of a lookup of the ten products.
    pub(crate) fn lookup(&self) -> String {
        json!({ "ids": self.ids }).to_string()
    }

    /// Returns the scenarios for the sample shop.
    pub(crate) fn scenarios(&self) -> Vec<Scenario> {
        let product = |name: &str, body: &Value| Scenario::rest(name, "/catalog/product", body);
        let call = json!({
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {
                "name": "lookup_catalog",
                "arguments": { "meta": { "ucp-agent": { "profile": PLATFORM } }, "catalog": { "ids": self.ids } },
            },
        });
        vec![
            Scenario::one("discovery", get("/.well-known/ucp")),
            Scenario::lookup("lookup of 10 ids", &self.ids),
            Scenario::one("the same, zstd", encoded("zstd", "/catalog/lookup", &self.lookup())),
            Scenario::one("the same, gzip", encoded("gzip", "/catalog/lookup", &self.lookup())),
            Scenario::rest("the same over MCP", "/mcp", &call),
            product("get_product Runner Pro", &json!({ "id": RUNNER_PRO })),
            product("get_product 2,048 variants", &json!({ "id": SCREW })),
            product("the same, 1 of 3 chosen", &json!({ "id": SCREW, "selected": [self.choice] })),
            Scenario::rest("search blue running shoes", "/catalog/search", &json!({ "query": "blue running shoes" })),
        ]
    }

    /// Returns the scenarios for the [large catalog](goods) of so many products.
    pub(crate) fn large(products: usize) -> Vec<Scenario> {
        let mut random = Random::new(7);
        let kinds =
            vec!["one word", "two words", "two words, all filters", "one word with a typo", "browse a category"];
        let requests = (0..4_000)
            .map(|number| {
                let kind = number % kinds.len();
                let body = search(kind, &mut random);
                Request { bytes: post("/catalog/search", &body.to_string()), kind }
            })
            .collect();
        let ten = |random: &mut Random| {
            let ids: Vec<_> = (0..10).map(|_| goods::product_id(random.below(products))).collect();
            post("/catalog/lookup", &json!({ "ids": ids }).to_string())
        };
        let hot = ten(&mut random);
        let cold = (0..4_000).map(|_| Request { bytes: ten(&mut random), kind: 0 }).collect();
        vec![
            Scenario { name: LARGE[0].to_owned(), requests, kinds },
            Scenario { name: LARGE[1].to_owned(), requests: cold, kinds: Vec::new() },
            Scenario::one(LARGE[2], hot),
        ]
    }

    /// The names of these scenarios.
    pub(crate) const fn large_scenarios() -> &'static [&'static str] {
        LARGE
    }
}

const LARGE: &[&str] = &["search, all kinds", "lookup of 10 of all ids", "lookup of the same 10 ids"];

/// A search of a kind.
fn search(kind: usize, random: &mut Random) -> Value {
    let two = |random: &mut Random| format!("{} {}", goods::common_word(random), goods::common_word(random));
    match kind {
        0 => json!({ "query": goods::common_word(random) }),
        1 => json!({ "query": two(random) }),
        2 => {
            let min = 500 + random.below(10_000);
            json!({
                "query": two(random),
                "filters": {
                    "categories": [goods::department(random)],
                    "price": { "min": min, "max": min + 10_000 },
                    "available": true,
                },
            })
        }
        3 => {
            let mut word = goods::common_word(random);
            word.insert(3, 'q');
            json!({ "query": word })
        }
        _ => json!({ "filters": { "categories": [goods::department(random)], "available": true } }),
    }
}

/// A request that posts JSON.
pub(crate) fn post(path: &str, body: &str) -> Vec<u8> {
    post_as(PLATFORM, path, body)
}

/// The same, in the name of a platform.
pub(crate) fn post_as(profile: &str, path: &str, body: &str) -> Vec<u8> {
    format!(
        "POST {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
         UCP-Agent: profile=\"{profile}\"\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// The same, with the answer in a content coding.
fn encoded(coding: &str, path: &str, body: &str) -> Vec<u8> {
    let asked = format!("POST {path} HTTP/1.1\r\nAccept-Encoding: {coding}");
    let plain = post(path, body);
    let rest = plain.iter().skip_while(|byte| **byte != b'\r').copied();
    asked.into_bytes().into_iter().chain(rest).collect()
}

/// A request that asks for a document.
pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept: application/json\r\n\r\n").into_bytes()
}
