//! The same call gets the same answer, byte for byte, whichever way it comes.
//!
//! Calls are generated: valid ones from a small grammar over what the sample shop holds, and mutations of them. Each is
//! sent over REST, as an MCP tool, and as a JSON-RPC method with named and with positional parameters.

use std::{cell::RefCell, collections::BTreeMap};

use proptest::{
    prelude::*,
    sample::select,
    test_runner::{Config, TestRunner},
};
use serde_json::{Map, Value, json};
use ucp_core::{Operation, Release};

use crate::harness::{BROWSING, Gateway, Verdict, as_of_a_model, elements};

/// Number of compared calls.
const CALLS: u32 = 1_200;

/// Content of the sample shop, as far as requests can name it.
struct Goods {
    ids: Vec<String>,
    options: Vec<(String, String)>,
}

impl Goods {
    fn of(gateway: &Gateway) -> Self {
        let (products, _) = gateway.search_all(&json!({ "filters": { "available": false } }), 50);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let mut goods = Self { ids: vec!["nothing".to_owned(), String::new()], options: Vec::new() };
        for product in &products {
            let variant = &product["variants"][0];
            let ids =
                [&product["id"], &product["handle"], &variant["id"], &variant["sku"], &variant["barcodes"][0]["value"]];
            goods.ids.extend(ids.into_iter().filter_map(text));
            for axis in product.get("options").map(elements).unwrap_or_default() {
                let values = elements(&axis["values"]).iter().take(4);
                goods.options.extend(values.filter_map(|value| text(&axis["name"]).zip(text(&value["label"]))));
            }
        }
        goods
    }
}

/// Any JSON, small.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6).prop_map(Value::from),
        "\\PC{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z_.]{0,8}", inner, 0..4).prop_map(|members| json!(members)),
        ]
    })
}

fn price() -> impl Strategy<Value = Value> {
    let amount = || prop_oneof![0..20_000_i64, Just(0), Just(9_007_199_254_740_991)];
    (prop::option::of(amount()), prop::option::of(amount())).prop_map(|(min, max)| {
        let bounds = [("min", min), ("max", max)];
        Value::Object(bounds.into_iter().filter_map(|(name, bound)| Some((name.to_owned(), bound?.into()))).collect())
    })
}

/// An object of some of the given members.
fn some(members: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    members
        .into_iter()
        .map(|(name, value)| prop::option::of(value).prop_map(move |value| value.map(|value| (name.to_owned(), value))))
        .collect::<Vec<_>>()
        .prop_map(|members| Value::Object(members.into_iter().flatten().collect::<Map<_, _>>()))
        .boxed()
}

fn texts_of(pool: &'static [&'static str]) -> BoxedStrategy<Value> {
    select(pool).prop_map(Value::from).boxed()
}

fn filters() -> BoxedStrategy<Value> {
    let category = || texts_of(&["Footwear", "Footwear > Running", "Hardware", "187", "", "No such"]);
    some(vec![
        ("categories", prop::collection::vec(category(), 0..3).prop_map(Value::from).boxed()),
        ("price", price().boxed()),
        ("available", any::<bool>().prop_map(Value::from).boxed()),
        ("category", category()),
        ("color", anything().boxed()),
    ])
}

fn context() -> BoxedStrategy<Value> {
    some(vec![
        ("language", texts_of(&["en", "es", "es-MX", "fr", "", "x-y-z"])),
        ("currency", texts_of(&["USD", "EUR", "JPY", "KWD", "GBP", "CHF", "gold"])),
        ("address_country", texts_of(&["US", "DE", "JP", "kw", "??"])),
        ("country", texts_of(&["ES"])),
        ("eligibility", prop::collection::vec(anything(), 0..3).prop_map(Value::from).boxed()),
    ])
}

/// A payload that an operation may understand.
fn payload(goods: &Goods, operation: Operation) -> BoxedStrategy<Value> {
    let id = || select(goods.ids.clone()).prop_map(Value::from);
    let choice = select(goods.options.clone()).prop_map(|(name, label)| json!({ "name": name, "label": label }));
    let mut members = vec![
        ("filters", filters()),
        ("context", context()),
        ("signals", some(vec![("dev.ucp.buyer_ip", texts_of(&["203.0.113.7"]))])),
        ("attribution", some(vec![("utm_source", texts_of(&["agent"]))])),
    ];
    let required = match operation {
        Operation::SearchCatalog => {
            let page = some(vec![
                ("limit", (0..60_i64).prop_map(Value::from).boxed()),
                ("cursor", texts_of(&["", "eyJwYWdlIjoxfQ=="])),
            ]);
            members.push(("pagination", prop_oneof![1 => page, 3 => Just(json!({ "limit": 4 }))].boxed()));
            let words =
                ["runner", "blue running shoes", "colr", "zapatillas", "steel", "", "\u{0}", "RP-BLU-10", "a*\"("];
            (
                "query",
                prop_oneof![4 => select(words.to_vec()).prop_map(Value::from), 1 => "\\PC{0,20}".prop_map(Value::from)]
                    .boxed(),
            )
        }
        Operation::LookupCatalog => ("ids", prop::collection::vec(id(), 0..8).prop_map(Value::from).boxed()),
        _ => {
            members.push(("selected", prop::collection::vec(choice, 0..4).prop_map(Value::from).boxed()));
            members.push((
                "preferences",
                prop::collection::vec(texts_of(&["Color", "Size", "size", "?"]), 0..3).prop_map(Value::from).boxed(),
            ));
            ("id", id().boxed())
        }
    };
    (required.1, some(members))
        .prop_map(move |(value, mut rest)| {
            rest[required.0] = value;
            rest
        })
        .boxed()
}

/// Puts `value` in the place of some member or element, or takes it away.
fn mutate(document: &mut Value, place: &prop::sample::Index, value: Option<Value>) {
    fn count(value: &Value) -> usize {
        1 + match value {
            Value::Object(members) => members.values().map(count).sum(),
            Value::Array(values) => values.iter().map(count).sum(),
            _ => 0,
        }
    }
    fn walk(node: &mut Value, left: &mut usize, value: &mut Option<Value>) -> bool {
        if *left == 0 {
            *node = value.take().unwrap_or(Value::Null);
            return true;
        }
        *left -= 1;
        match node {
            Value::Object(members) => members.values_mut().any(|member| walk(member, left, value)),
            Value::Array(values) => values.iter_mut().any(|element| walk(element, left, value)),
            _ => false,
        }
    }
    let mut left = place.index(count(document));
    walk(document, &mut left, &mut { value });
}

fn calls(goods: &Goods) -> impl Strategy<Value = (&'static str, Value)> + use<> {
    let of = |operation: Operation| {
        let valid = payload(goods, operation);
        let mutated = (valid.clone(), any::<prop::sample::Index>(), prop::option::of(anything())).prop_map(
            |(mut document, place, value)| {
                mutate(&mut document, &place, value);
                document
            },
        );
        let name = operation.row().name;
        prop_oneof![3 => valid, 2 => mutated, 1 => anything()].prop_map(move |payload| (name, payload)).boxed()
    };
    prop::strategy::Union::new(BROWSING.map(of))
}

#[test]
fn every_transport_gives_the_same_answer_to_the_same_call() {
    let gateway = Gateway::shared();
    let goods = Goods::of(&gateway);
    assert!(
        goods.ids.len() > 600 && goods.options.len() > 100,
        "{} ids, {} options",
        goods.ids.len(),
        goods.options.len()
    );
    let tally: RefCell<BTreeMap<(&str, String), u32>> = RefCell::default();
    let config = Config { cases: CALLS, failure_persistence: None, max_shrink_iters: 200, ..Config::default() };
    let compared = TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(proptest::test_runner::RngAlgorithm::ChaCha),
    )
    .run(&calls(&goods), |(operation, payload)| {
        let rest = gateway.rest(operation, &payload);
        // A tool is called by models: what they leave empty is absent.
        let meant = as_of_a_model(Release::NEWEST, operation, &payload);
        let of_tool = if meant == payload { rest.clone() } else { gateway.rest(operation, &meant) };
        prop_assert_eq!(&gateway.mcp_tool(operation, &payload), &of_tool, "tools/call of {} {}", operation, payload);
        for (transport, verdict) in [
            ("named", gateway.direct_named(operation, &payload)),
            ("positional", gateway.direct_positional(operation, &payload)),
        ] {
            prop_assert_eq!(&verdict, &rest, "{} of {} {}", transport, operation, payload);
        }
        let outcome = match &rest {
            Verdict::Refused(refused) => {
                prop_assert!((400..500).contains(&refused.status), "{:?}", refused);
                refused.code.clone()
            }
            Verdict::Answered(document) => {
                let answer: Value = serde_json::from_str(document).expect("JSON");
                let products = answer.get("products").map_or(1, |products| elements(products).len());
                crate::official::check(operation, &answer);
                match (answer["ucp"]["status"].as_str(), products) {
                    (Some("error"), _) => "no resource",
                    (_, 0) => "nothing",
                    _ => "something",
                }
                .to_owned()
            }
        };
        *tally.borrow_mut().entry((operation, outcome)).or_default() += 1;
        Ok(())
    });
    if let Err(difference) = compared {
        panic!("{difference}");
    }
    // The comparison is worth something only when calls of every kind were among them.
    let tally = tally.into_inner();
    let count =
        |operation: &str, outcome: &str| tally.get(&(operation, outcome.to_owned())).copied().unwrap_or_default();
    for operation in BROWSING {
        let name = operation.row().name;
        assert!(count(name, "something") >= 50, "{name}: {tally:?}");
        assert!(count(name, "invalid_request") >= 50, "{name}: {tally:?}");
    }
    assert!(count("search_catalog", "nothing") >= 10, "{tally:?}");
    assert!(count("search_catalog", "invalid_cursor") >= 5, "{tally:?}");
    assert!(count("lookup_catalog", "nothing") >= 5, "{tally:?}");
    assert!(count("get_product", "no resource") >= 10, "{tally:?}");
}

/// Pages of one search, each fetched another way: cursors are good on every transport.
#[test]
fn a_cursor_goes_from_transport_to_transport() {
    let gateway = Gateway::shared();
    let mut payload = json!({ "query": "color", "pagination": { "limit": 3 } });
    let ways: [fn(&Gateway, &str, &Value) -> Verdict; 4] =
        [Gateway::rest, Gateway::mcp_tool, Gateway::direct_named, Gateway::direct_positional];
    let mut seen = Vec::new();
    for way in ways {
        let mut answer = way(&gateway, "search_catalog", &payload).answer();
        seen.extend(elements(&answer["products"]).iter().map(|product| product["id"].to_string()));
        payload["pagination"]["cursor"] = answer["pagination"]["cursor"].take();
    }
    let whole = gateway.search(&json!({ "query": "color", "pagination": { "limit": 12 } }));
    let whole: Vec<_> = elements(&whole["products"]).iter().map(|product| product["id"].to_string()).collect();
    assert_eq!(seen, whole);
}

/// `Accept-Language` and a conflicting header mean the same on both.
#[test]
fn headers_mean_the_same_on_both_transports() {
    let gateway = Gateway::shared();
    let payload = json!({ "id": "prod_abc123" });
    let spanish = gateway.rest_in("get_product", &payload, &[("Accept-Language", "es")]);
    let message = crate::harness::rpc(
        "tools/call",
        &json!({ "name": "get_product", "arguments": { "meta": crate::harness::meta(), "catalog": payload } }),
    );
    let headers = [crate::harness::RPC_HEADERS, &[("Accept-Language", "es")]].concat();
    let over_mcp = gateway.send("POST", "/mcp", &headers, message.to_string().as_bytes());
    assert_eq!(Verdict::of_rpc(&over_mcp, true), spanish);
    assert_ne!(spanish, gateway.rest("get_product", &payload));
}
