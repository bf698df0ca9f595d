//! Every operation, outcome and refusal in every release.

mod mandate;
mod merchant;
mod official;
mod openapi;
mod openrpc;
mod orders;
mod purchase;
mod relay;
mod sample;
mod tools;
mod upgrade;

use std::sync::Arc;
use ucp_core::call::CatalogRequest;

use serde_json::{Map, Value, json};
use ucp_core::{
    Answer, Code, Operation, Outcome, Refusal, Release, cart,
    catalog::{
        detail::Detail,
        lookup::{Input, ListedVariant, Listing, MatchKind, Resolved},
        product::{
            Availability, Category, Description, LeadTime, OptionValue, Product, ProductOption, QuantityRule,
            SelectedOption, UnitPrice, Variant,
        },
        search::Found,
        selection::Signal,
    },
    checkout,
    message::{Message, Severity},
    money::{Amount, Currency, Price, PriceRange},
    negotiation::{Active, Declaration},
    rendering::Renderings,
};

use crate::{
    codec::{encode, read},
    dialect::{Dialect, offered, publishes},
    documents::{documents, schemas},
    refusal::{http_status, json_rpc},
    releases::dialect,
    schema::{self, Direction},
    site::Site,
};

fn price(minor: i64) -> Price {
    Price { amount: Amount::new(minor).expect("an amount"), currency: Currency::USD }
}

/// Olive oil in two sizes, with members that the founding dialect gives a meaning of its own.
fn product() -> Arc<Product> {
    let extra =
        |name: &str| Map::from_iter([(name.to_owned(), json!("the merchant's own")), ("x".to_owned(), json!(1))]);
    let variant = |position: usize, id: &str, minor: i64, litres: f64| Variant {
        id: id.to_owned(),
        sku: Some(format!("SKU-{id}")),
        barcodes: Vec::new(),
        handle: None,
        title: id.to_owned(),
        description: Description::plain("Oil"),
        url: None,
        categories: Vec::new(),
        price: price(minor),
        list_price: None,
        unit_price: Some(
            serde_json::from_value::<UnitPrice>(json!({
                "amount": 2000, "currency": "USD",
                "measure": { "value": litres, "unit": "l" }, "reference": { "value": 1, "unit": "l" },
            }))
            .expect("a unit price"),
        ),
        availability: Availability::default(),
        quantity_rule: QuantityRule::default(),
        lead_time: LeadTime::default(),
        stock_by_location: None,
        weight_grams: 0,
        digital: false,
        values: vec![position],
        media: Vec::new(),
        rating: None,
        tags: Vec::new(),
        metadata: None,
        seller: None,
        extra: extra("input"),
    };
    let value = |label: &str| OptionValue { id: None, label: label.to_owned(), canonical: None };
    Arc::new(Product {
        id: "oil".to_owned(),
        handle: None,
        title: "Olive oil".to_owned(),
        description: Description::plain("Oil"),
        url: Some("https://shop.example/oil".to_owned()),
        categories: vec![Category { value: "Food > Oil".to_owned(), taxonomy: Some("merchant".to_owned()) }],
        price_range: PriceRange { min: price(1000), max: price(1500) },
        list_price_range: None,
        media: Vec::new(),
        options: vec![ProductOption {
            name: "Size".to_owned(),
            canonical: None,
            values: vec![value("500 ml"), value("750 ml")],
        }],
        combinations: None,
        variants: vec![variant(0, "small", 1000, 0.5), variant(1, "large", 1500, 0.75)],
        rating: None,
        tags: Vec::new(),
        metadata: None,
        extra: extra("category"),
        renderings: Renderings::default(),
    })
}

fn listing(inputs: &[(&str, MatchKind)]) -> Listing {
    let inputs = inputs.iter().map(|(id, kind)| Input { id: (*id).to_owned(), kind: *kind }).collect();
    Listing { product: product(), variants: vec![ListedVariant { position: 1, inputs }] }
}

/// An answer of an operation that says something of everything it can say.
fn answer(operation: Operation) -> Outcome {
    let messages = vec![
        Message::info("note", "A note."),
        Message::error("partial", "Something is missing.", Severity::Unrecoverable),
    ];
    Outcome::Answer(match operation {
        Operation::SearchCatalog => Answer::Products(Found {
            products: vec![listing(&[])],
            cursor: Some("next".to_owned()),
            total: Some(2),
            messages,
        }),
        Operation::LookupCatalog => Answer::ProductsById(Resolved {
            products: vec![listing(&[("oil", MatchKind::Featured), ("large", MatchKind::Exact)])],
            messages,
        }),
        Operation::GetProduct => Answer::Product(Detail {
            product: product(),
            selected: vec![SelectedOption { name: "Size".to_owned(), id: None, label: "750 ml".to_owned() }],
            signals: vec![vec![Signal { exists: true, available: true }; 2]],
            variants: vec![1, 0],
            messages,
        }),
        Operation::CreateCart => Answer::Cart(cart::View { created: true, ..sample::cart() }),
        Operation::GetCart | Operation::UpdateCart | Operation::CancelCart => Answer::Cart(sample::cart()),
        Operation::CreateCheckout => {
            Answer::Checkout(checkout::View { created: true, ..sample::checkout(&json!({ "status": "incomplete" })) })
        }
        Operation::GetCheckout => Answer::Checkout(sample::checkout(&json!({ "status": "requires_escalation" }))),
        Operation::UpdateCheckout => Answer::Checkout(sample::checkout(&json!({ "status": "ready_for_complete" }))),
        Operation::CompleteCheckout => Answer::Checkout(sample::checkout(&sample::completed())),
        Operation::CancelCheckout => Answer::Checkout(sample::checkout(&json!({ "status": "canceled" }))),
        Operation::GetOrder => Answer::Order(sample::order()),
        Operation::SearchMerchants
        | Operation::GetMerchant
        | Operation::SearchLocations
        | Operation::LookupLocations => merchant::answer(operation, messages),
    })
}

/// Returns the capabilities that are active with a platform that declares everything a release offers.
fn active(dialect: &dyn Dialect) -> Active {
    let declared: Vec<Declaration> = offered(dialect, &ucp_core::operation::SupportedOperations::everything())
        .map(super::offer::Offer::declaration)
        .collect();
    Active::all(&declared)
}

fn dialects() -> impl Iterator<Item = &'static dyn Dialect> {
    Release::ALL.iter().map(|release| dialect(*release))
}

fn encoded(dialect: &dyn Dialect, operation: Operation, outcome: &Outcome) -> Value {
    let encoded = encode(dialect, operation, outcome, &active(dialect));
    serde_json::from_str(&encoded.document).expect("JSON")
}

fn parsed(text: &str) -> Value {
    ucp_core::json::parse(text.as_bytes(), ucp_core::json::Limits::REQUEST).expect("JSON without duplicate members")
}

/// The profile of a business that has everything and one key.
fn profile(dialect: &dyn Dialect) -> Value {
    let key = json!({ "kid": "key", "kty": "EC", "crv": "P-256", "x": "x", "y": "y", "alg": "ES256", "use": "sig" });
    dialect.profile(&Site {
        endpoint: "https://shop.example/ucp",
        offering: &ucp_core::operation::SupportedOperations::everything(),
        names: &ucp_core::negotiation::Names::default(),
        keys: &[key],
        handlers: &[sample::handler()],
        supported_versions: &[],
    })
}

#[test]
fn every_dialect_is_that_of_its_release() {
    for release in Release::ALL {
        assert_eq!(dialect(*release).release(), *release);
    }
}

#[test]
fn every_published_operation_is_read_and_written_by_its_shapes() {
    for (dialect, operation) in dialects().flat_map(|dialect| Operation::ALL.iter().map(move |own| (dialect, *own))) {
        let at = format!("{} of {}", operation.row().name, dialect.release());
        let Some(shapes) = dialect.shapes(operation) else {
            assert!(
                read(dialect, operation, None, json!({}), &[])
                    .is_err_and(|refusal| refusal.code == Code::UnknownMethod)
            );
            assert!(!publishes(dialect, operation), "{at}");
            continue;
        };
        let mut requests = schema::generator(Direction::Request);
        let example = match shapes.request(&mut requests) {
            Some(request) => schema::bundle(&mut requests, |_| request)["examples"][0].clone(),
            None => Value::Null,
        };
        let id = operation.takes_id().then_some("the one");
        let read = read(dialect, operation, id, example, &[]).unwrap_or_else(|refusal| panic!("{at}: {refusal}"));
        assert_eq!(read.operation(), operation, "{at}");

        let response =
            schema::bundle(&mut schema::generator(Direction::Response), |generator| shapes.response(generator));
        let validator = schema::validator(&response);
        let unavailable = Message::error("capabilities_incompatible", "No.", Severity::Unrecoverable);
        let missing = Message::error("not_found", "No.", Severity::Unrecoverable);
        let elsewhere = Outcome::NoResource {
            messages: vec![unavailable, Message::info("note", "A note.")],
            continue_url: Some("https://shop.example/".to_owned()),
            id: None,
            conflict: false,
        };
        let past = Outcome::past("oil", Message::error("not_open", "No.", Severity::Unrecoverable));
        for outcome in [answer(operation), Outcome::nothing_under("oil", missing), elsewhere, past] {
            let encoded = encode(dialect, operation, &outcome, &active(dialect));
            let document = parsed(&encoded.document);
            if let Err(error) = validator.validate(&document) {
                panic!("{at}: {error} in {document}");
            }
            assert_eq!(document["ucp"]["version"], dialect.release().date(), "{at}");
            let capabilities = &document["ucp"]["capabilities"];
            match capabilities.as_array() {
                Some(listed) => assert!(listed.iter().any(|entry| entry["name"] == operation.row().capability), "{at}"),
                None => assert!(capabilities[operation.row().capability][0]["version"].is_string(), "{at}"),
            }
            let founding = dialect.release() < Release::V2026_04_08;
            let fails = matches!(outcome, Outcome::NoResource { .. });
            assert_eq!(encoded.rpc_error.is_some(), founding && fails, "{at}");
            let conflict = matches!(outcome, Outcome::NoResource { conflict: true, .. });
            let fine = matches!(encoded.status, 200 | 201);
            assert_eq!(fine, !(fails && (founding || conflict)), "{at}");
            assert_eq!(encoded.status == 409, conflict, "{at}");
            if let Some(error) = encoded.rpc_error {
                let mut generator = schema::generator(Direction::Response);
                let data = schema::bundle(&mut generator, |generator| dialect.rpc_failure(generator));
                let said = parsed(&error.data);
                schema::validator(&data).validate(&said).unwrap_or_else(|error| panic!("{at}: {error} in {said}"));
                let Outcome::NoResource { id, .. } = &outcome else { panic!("{at}: no outcome without a resource") };
                assert_eq!(said.get("id"), id.clone().map(Value::from).as_ref());
            }
        }
    }
}

/// Code of every error, its HTTP status, its JSON-RPC code, and `true` if a retry can help.
const FAILURES: [(&str, u16, i32, bool); 32] = [
    ("malformed_json", 400, -32700, false),
    ("invalid_request", 400, -32602, false),
    ("invalid_message", 400, -32600, false),
    ("invalid_cursor", 400, -32602, false),
    ("request_too_large", 400, -32602, false),
    ("invalid_profile_url", 400, -32001, false),
    ("digest_mismatch", 400, -32600, false),
    ("algorithm_unsupported", 400, -32600, false),
    ("signature_missing", 401, -32000, false),
    ("signature_invalid", 401, -32000, false),
    ("key_not_found", 401, -32000, false),
    ("unauthorized", 401, -32000, false),
    ("forbidden", 403, -32000, false),
    ("origin_forbidden", 403, -32000, false),
    ("unknown_path", 404, -32601, false),
    ("unknown_method", 404, -32601, false),
    ("unknown_tool", 400, -32602, false),
    ("method_not_allowed", 405, -32600, false),
    ("not_acceptable", 406, -32600, false),
    ("request_timeout", 408, -32000, true),
    ("idempotency_conflict", 409, -32000, false),
    ("body_too_large", 413, -32600, false),
    ("unsupported_media_type", 415, -32600, false),
    ("transfer_coding_unsupported", 501, -32600, false),
    ("profile_malformed", 422, -32001, false),
    ("version_unsupported", 422, -32001, false),
    ("profile_unreachable", 424, -32001, true),
    ("rate_limited", 429, -32000, true),
    ("internal_error", 500, -32603, true),
    ("stored_data_damaged", 500, -32603, false),
    ("upstream_invalid", 502, -32603, false),
    ("unavailable", 503, -32000, true),
];

#[test]
fn every_failure_keeps_its_status_and_its_number() {
    let told: Vec<_> = Code::ALL
        .iter()
        .map(|code| {
            let refused = dialect(Release::NEWEST).refuse(&Refusal::new(*code, "No."));
            (code.as_str(), refused.status, refused.rpc_error.code, code.retryable())
        })
        .collect();
    assert_eq!(told, FAILURES);
}

#[test]
fn every_refusal_is_written_in_every_release() {
    for (dialect, code) in dialects().flat_map(|dialect| Code::ALL.iter().map(move |code| (dialect, *code))) {
        let mut refusal = Refusal::new(code, "No.").at("$.ids[0]").accepting("something else");
        refusal.retry_after = Some(7);
        refusal.continue_url = Some("https://shop.example/".to_owned());
        let refused = dialect.refuse(&refusal);
        let (body, data) = (parsed(&refused.body), parsed(&refused.rpc_error.data));
        let mut generator = schema::generator(Direction::Response);
        let shape = schema::bundle(&mut generator, |generator| dialect.failure(generator));
        schema::validator(&shape).validate(&body).unwrap_or_else(|error| panic!("{code}: {error} in {body}"));
        let mut generator = schema::generator(Direction::Response);
        let shape = schema::bundle(&mut generator, |generator| dialect.rpc_failure(generator));
        schema::validator(&shape).validate(&data).unwrap_or_else(|error| panic!("{code}: {error} in {data}"));
        assert_eq!(refused.status, http_status(code));
        for said in [&body, &data] {
            assert_eq!(said["code"], code.as_str());
            assert_eq!(said["retry_after"], 7);
            assert_eq!(said["continue_url"], "https://shop.example/");
        }
        if dialect.release() >= Release::V2026_04_08 {
            assert_eq!(refused.rpc_error.code, json_rpc(code));
            continue;
        }
        assert_eq!(body["status"], "requires_escalation");
        assert_eq!(
            (&body["messages"][0]["code"], &body["messages"][0]["content"]),
            (&json!(code.as_str()), &json!("No."))
        );
        assert_eq!((&data["status"], &data["errors"][0]["message"]), (&json!("error"), &json!("No.")));
        let expected = if json_rpc(code) > -32600 { -32603 } else { json_rpc(code) };
        assert_eq!(refused.rpc_error.code, expected, "{code}");
    }
}

#[test]
fn the_founding_catalog_is_written_as_its_document_shows_it() {
    for dialect in dialects().filter(|dialect| dialect.release() < Release::V2026_04_08) {
        let found = encoded(dialect, Operation::LookupCatalog, &answer(Operation::LookupCatalog));
        assert!(found["ucp"].get("status").is_none());
        assert_eq!(found["ucp"]["capabilities"]["dev.ucp.shopping.catalog.lookup"][0]["version"], "2026-02-01");
        let product = &found["products"][0];
        assert_eq!(product["category"], product["categories"]);
        assert_eq!(product["category"][0]["value"], "Food > Oil");
        assert_eq!(product["variants"][0]["input"], product["variants"][0]["inputs"]);
        assert_eq!(product["variants"][0]["input"][1], json!({ "id": "large", "match": "exact" }));
        assert_eq!(product["x"], 1);
        assert_eq!(found["messages"][1]["severity"], "requires_buyer_input");

        let missing =
            Outcome::nothing_under("prod_invalid", Message::error("not_found", "No.", Severity::Unrecoverable));
        let missing = encode(dialect, Operation::GetProduct, &missing, &active(dialect));
        assert_eq!(missing.status, 404);
        let error = missing.rpc_error.expect("an error");
        assert_eq!((error.code, error.message.as_str()), (-32602, "Product not found"));
        assert_eq!(parsed(&error.data)["id"], "prod_invalid");

        let filtered =
            Outcome::nothing_under("prod_dear", Message::error("not_found", "Too dear.", Severity::Recoverable));
        let error = encode(dialect, Operation::GetProduct, &filtered, &active(dialect)).rpc_error.expect("an error");
        assert_eq!((error.code, error.message.as_str()), (-32603, "Too dear."));
    }
}

#[test]
fn older_spellings_are_taken_in_every_release() {
    for dialect in dialects() {
        for category in [json!("Footwear"), json!(["Footwear"])] {
            let payload = json!({
                "query": "shoes", "context": { "country": "US", "region": "CA" }, "filters": { "category": category },
            });
            let read = read(dialect, Operation::SearchCatalog, None, payload, &[]).expect("a search");
            let ucp_core::Request::Catalog(CatalogRequest::SearchCatalog(search)) = read else { panic!("a search") };
            assert_eq!(search.context.country.as_deref(), Some("US"));
            assert_eq!(search.filters.categories.as_deref(), Some(&["Footwear".to_owned()][..]));
            assert!(search.filters.unknown.is_empty());
        }
    }
}

#[test]
fn the_newest_release_reads_its_context_and_writes_typed_measures() {
    let newest = dialect(Release::NEWEST);
    let context = |context: Value| {
        read(newest, Operation::LookupCatalog, None, json!({ "ids": ["oil"], "context": context }), &[])
    };
    let preferred = json!({ "currency": "EUR", "location": "store", "payment": [{ "handler": "com.example.pay" }] });
    let Ok(ucp_core::Request::Catalog(CatalogRequest::LookupCatalog(lookup))) = context(preferred) else {
        panic!("a lookup")
    };
    assert_eq!(lookup.context.currency.as_deref(), Some("EUR"));
    assert_eq!(context(json!({ "location": 5 })).expect_err("wrong").path.as_deref(), Some("$.context.location"));
    let handler = context(json!({ "payment": [{ "types": [] }] })).expect_err("wrong");
    assert_eq!(handler.path.as_deref(), Some("$.context.payment[0].handler"));

    let found = encoded(newest, Operation::SearchCatalog, &answer(Operation::SearchCatalog));
    let unit_price = &found["products"][0]["variants"][0]["unit_price"];
    assert_eq!(unit_price["measure"], json!({ "value": 75, "unit": "LTR", "scale": 2, "display_text": "l" }));
    assert_eq!(unit_price["reference"], json!({ "value": 1, "unit": "LTR", "display_text": "l" }));
}

#[test]
fn documents_and_profiles_tell_only_what_a_release_has() {
    let documents = documents("http://127.0.0.1:8080");
    for dialect in dialects() {
        let (release, modern) = (dialect.release(), dialect.release() >= Release::V2026_04_08);
        // The draft is in every release, locations in the newest.
        let locations = release >= Release::V2026_08_25;
        let paths = if locations { 4 } else { 2 };
        let openapi = &documents[&format!("openapi/{release}/rest.openapi.json")];
        assert_eq!(openapi["paths"].as_object().map(Map::len), Some(if modern { 11 } else { 4 } + paths));
        assert!(openapi["components"]["schemas"]["Error"].is_object());
        let openrpc = &documents[&format!("openrpc/{release}/mcp.openrpc.json")];
        assert_eq!(openrpc["methods"].as_array().map(Vec::len), Some(if modern { 13 } else { 5 } + paths));
        assert_eq!(openrpc["x-error-data"]["$ref"], "#/components/schemas/Error");
        assert_eq!(schemas(dialect, Operation::ALL).len(), if modern { 22 } else { 9 } + 2 * paths);

        let profile = profile(dialect);
        assert_eq!(profile["ucp"]["version"], release.date());
        assert_eq!(profile["signing_keys"][0]["kid"], "key");
        assert_eq!(profile.get("keys").is_some(), release == Release::V2026_08_25);
        let service = &profile["ucp"]["services"]["dev.ucp.shopping"];
        let (rest, capabilities) = match release {
            Release::V2026_01_11 => (&service["rest"], profile["ucp"]["capabilities"].as_array().map(Vec::len)),
            _ => (&service[0], profile["ucp"]["capabilities"].as_object().map(Map::len)),
        };
        assert_eq!(rest["endpoint"], "https://shop.example/ucp");
        // Locations, and payment authentication.
        assert_eq!(capabilities, Some(if modern { 9 } else { 6 } + if locations { 4 } else { 1 }));
    }
}
