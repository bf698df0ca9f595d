//! Every answer conforms to a published shape: the official schemas where they are at hand, our own always.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex, PoisonError},
};

use jsonschema::Validator;
use serde_json::{Value, json};
use ucp_core::{
    Operation, Release,
    operation::{CART as CART_CAPABILITY, Class, SHOPPING},
};
use ucp_schema::{
    Direction, ResolveOptions, bundle_refs_with_url_mapping, load_schema, resolve, select_operation_schema,
};

use crate::harness::{Gateway, elements, official, own_schema_of, texts};

/// A schema of the official files, as the protocol's own rules resolve it: the shape of that name, or the whole file.
///
/// `ucp-schema` bundles the files, applies the `ucp_response` annotations and picks the shape. The result is compiled
/// here once; its own `validate` compiles the schema again for every document.
pub(crate) fn schema(folder: &Path, file: &str, shape: Option<&str>) -> Validator {
    resolved(folder, file, &ResolveOptions::new(Direction::Response, "read").def_name(shape.map(str::to_owned)))
}

/// The same for what platforms send: the view that `operation` (`create`, `update` or `complete`) has of a file.
pub(crate) fn request_schema(folder: &Path, file: &str, shape: Option<&str>, operation: &str) -> Validator {
    resolved(folder, file, &ResolveOptions::new(Direction::Request, operation).def_name(shape.map(str::to_owned)))
}

fn resolved(folder: &Path, file: &str, options: &ResolveOptions) -> Validator {
    let schemas = folder.join("schemas");
    let path = schemas.join(file);
    let mut schema = load_schema(&path).expect("an official schema");
    bundle_refs_with_url_mapping(&mut schema, path.parent().expect("a folder"), &schemas, "https://ucp.dev/schemas")
        .expect("the schema refers to files that exist");
    relax(&mut schema);
    let resolved = resolve(&schema, options).expect("the annotations make sense");
    compiled(&select_operation_schema(&resolved, options).expect("the shape exists"))
}

/// Trap T-03: until 2026-04-08 a destination is exactly one of an address and a place of the shop, but every place is
/// an address too, so that no place could ever be shown. It is held against either instead.
fn relax(schema: &mut Value) {
    static SAID: std::sync::Once = std::sync::Once::new();
    match schema {
        Value::Object(members) => {
            let destination = members.get("title").is_some_and(|title| title == "Fulfillment Destination");
            let discriminated = members.get("oneOf").is_some_and(|either| either.to_string().contains("\"const\""));
            if destination
                && !discriminated
                && let Some(either) = members.shift_remove("oneOf")
            {
                SAID.call_once(|| println!("relaxed: places of the shop are addresses, too, by the schema (T-03)"));
                members.insert("anyOf".to_owned(), either);
            }
            members.values_mut().for_each(relax);
        }
        Value::Array(values) => values.iter_mut().for_each(relax),
        _ => {}
    }
}

/// The schemas that answers of one operation are held against.
struct Shapes {
    own: Validator,
    /// The official shapes of an answer, each of which it has to have, and of an outcome without a resource.
    official: Option<(Vec<Validator>, Option<Validator>)>,
}

/// A schema as the tests mean it: formats say what an address is.
fn compiled(schema: &Value) -> Validator {
    jsonschema::options().should_validate_formats(true).build(schema).expect("a valid schema")
}

/// The releases that have the catalog.
pub(crate) const RELEASES: &[Release] = &[Release::V2026_04_08, Release::V2026_08_25];

/// The official shapes of an answer: the resource with each of its extensions.
fn successes(release: Release, operation: Operation) -> Vec<(&'static str, Option<&'static str>)> {
    const CART: Option<&str> = Some("dev.ucp.shopping.cart");
    let named = if release < Release::V2026_04_08 { "checkout" } else { "dev.ucp.shopping.checkout" };
    match (operation, operation.row().class) {
        (Operation::SearchCatalog, _) => vec![("shopping/catalog_search.json", Some("search_response"))],
        (Operation::LookupCatalog, _) => vec![("shopping/catalog_lookup.json", Some("lookup_response"))],
        (Operation::GetProduct, _) => vec![("shopping/catalog_lookup.json", Some("get_product_response"))],
        // A draft that was never published, and what its release added beyond the published files.
        _ if operation.row().service != SHOPPING => vec![],
        (_, Class::Order) => vec![("shopping/order.json", None)],
        _ if operation.row().capability == CART_CAPABILITY => {
            let consent = ("shopping/buyer_consent.json", CART);
            let consented = Some(consent).filter(|_| release >= Release::V2026_08_25);
            [("shopping/cart.json", None), ("shopping/discount.json", CART)].into_iter().chain(consented).collect()
        }
        _ => vec![
            ("shopping/checkout.json", None),
            ("shopping/fulfillment.json", Some(named)),
            ("shopping/discount.json", Some(named)),
            ("shopping/buyer_consent.json", Some(named)),
        ],
    }
}

fn shapes(release: Release, operation: Operation) -> Arc<Shapes> {
    static SHAPES: Mutex<BTreeMap<(Release, &str), Arc<Shapes>>> = Mutex::new(BTreeMap::new());
    let name = operation.row().name;
    let mut shapes = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
    let made = shapes.entry((release, name)).or_insert_with(|| {
        let failure = match release {
            Release::V2026_08_25 => Some("common/types/error_response.json"),
            Release::V2026_04_08 => Some("shopping/types/error_response.json"),
            _ => None,
        };
        let official = official(release).map(|folder| {
            let successes = successes(release, operation);
            let successes = successes.into_iter().map(|(file, shape)| schema(&folder, file, shape)).collect();
            (successes, failure.map(|file| schema(&folder, file, None)))
        });
        Arc::new(Shapes { own: own_schema_of(release, &format!("{name}.response")), official })
    });
    Arc::clone(made)
}

/// Holds an answer against every schema there is for it in the release it is written in.
#[track_caller]
pub(crate) fn check(operation: &str, answer: &Value) {
    let release = answer["ucp"]["version"].as_str().and_then(Release::from_date).expect("a release");
    let shapes = shapes(release, Operation::named(operation).expect("an operation"));
    let holds = |schema: &Validator, whose: &str| {
        if let Err(error) = schema.validate(answer) {
            panic!("{whose} schema of {operation} in {release}: {error} at {}: {answer:.4000}", error.instance_path());
        }
    };
    holds(&shapes.own, "our own");
    if let Some((successes, failure)) = &shapes.official {
        match failure {
            Some(failure) if answer["ucp"]["status"] == "error" => holds(failure, "the official"),
            _ => successes.iter().for_each(|schema| holds(schema, "the official")),
        }
    }
}

/// The official shapes of what a platform sends, each of which a payload has to have.
pub(crate) fn request_shapes(release: Release, operation: Operation) -> Vec<(&'static str, Option<&'static str>)> {
    let named = if release < Release::V2026_04_08 { "checkout" } else { "dev.ucp.shopping.checkout" };
    match operation {
        Operation::SearchCatalog => vec![("shopping/catalog_search.json", Some("search_request"))],
        Operation::LookupCatalog => vec![("shopping/catalog_lookup.json", Some("lookup_request"))],
        Operation::GetProduct => vec![("shopping/catalog_lookup.json", Some("get_product_request"))],
        Operation::CompleteCheckout if release == Release::V2026_01_11 => vec![("shopping/payment_data.json", None)],
        _ if operation.row().capability == CART_CAPABILITY => vec![("shopping/cart.json", None)],
        _ => vec![("shopping/checkout.json", None), ("shopping/fulfillment.json", Some(named))],
    }
}

/// Holds a payload against the official schemas of a release, where they are at hand. Returns the first fault.
pub(crate) fn request_fault(release: Release, operation: Operation, payload: &Value) -> Option<String> {
    type Schemas = BTreeMap<(Release, &'static str), Arc<Vec<Validator>>>;
    static SCHEMAS: Mutex<Schemas> = Mutex::new(BTreeMap::new());
    let folder = official(release)?;
    let name = operation.row().name;
    let made = || {
        let view = name.split('_').next().expect("a verb");
        let shapes = request_shapes(release, operation).into_iter();
        Arc::new(shapes.map(|(file, shape)| request_schema(&folder, file, shape, view)).collect())
    };
    let schemas = {
        let mut schemas = SCHEMAS.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(schemas.entry((release, name)).or_insert_with(made))
    };
    schemas.iter().find_map(|schema| {
        let error = schema.validate(payload).err()?;
        Some(format!("{name} in {release}: {error} at {}: {payload:.2000}", error.instance_path()))
    })
}

/// The circumstances that answers are asked for in.
fn contexts() -> Vec<Value> {
    vec![
        json!({}),
        json!({ "language": "es", "currency": "EUR" }),
        json!({ "address_country": "JP", "language": "ja" }),
        json!({ "currency": "KWD" }),
    ]
}

fn calls(gateway: &Gateway, release: Release, operation: &str, payload: &Value) -> Value {
    let answer = gateway.rest_of(release, operation, payload).answer();
    assert_eq!(answer["ucp"]["version"], release.date());
    check(operation, &answer);
    answer
}

#[test]
fn every_product_conforms_in_every_language_and_currency() {
    let gateway = Gateway::shared();
    for (release, context) in
        RELEASES.iter().flat_map(|release| contexts().into_iter().map(|context| (*release, context)))
    {
        let mut products = 0;
        let mut payload =
            json!({ "filters": { "available": false }, "context": context, "pagination": { "limit": 50 } });
        loop {
            let found = calls(&gateway, release, "search_catalog", &payload);
            let ids = texts(&found["products"], "id");
            products += ids.len();
            let variants: Vec<_> =
                elements(&found["products"]).iter().map(|product| product["variants"][0]["id"].clone()).collect();
            let named: Vec<Value> = ids.iter().map(|id| Value::from(*id)).chain(variants).collect();
            let listed = calls(&gateway, release, "lookup_catalog", &json!({ "ids": named, "context": context }));
            assert_eq!(elements(&listed["products"]).len(), ids.len());
            match found["pagination"].get("cursor") {
                Some(cursor) => payload["pagination"]["cursor"] = cursor.clone(),
                None => break,
            }
        }
        assert!(products >= 150, "{products} products");
    }
}

#[test]
fn every_product_page_conforms_step_by_step() {
    let gateway = Gateway::shared();
    let (products, _) = gateway.search_all(&json!({ "filters": { "available": false } }), 50);
    let contexts = contexts();
    let mut narrowed = 0;
    for (place, product) in products.iter().enumerate() {
        let release = RELEASES[place / contexts.len() % RELEASES.len()];
        let context = &contexts[place % contexts.len()];
        let id = &product["id"];
        let page = calls(&gateway, release, "get_product", &json!({ "id": id, "context": context }));
        let variant = &page["product"]["variants"][0]["id"];
        calls(&gateway, release, "get_product", &json!({ "id": variant, "context": context }));
        let Some(options) = page["product"].get("options") else { continue };
        narrowed += 1;
        let choice = |axis: &Value, last: bool| {
            let values = elements(&axis["values"]);
            let value = if last { values.last() } else { values.first() }.expect("a value");
            json!({ "name": axis["name"], "label": value["label"] })
        };
        let axes = elements(options);
        for selected in [
            vec![choice(&axes[0], true)],
            axes.iter().map(|axis| choice(axis, true)).collect(),
            vec![choice(&axes[0], false), json!({ "name": "No such option", "label": "x" })],
        ] {
            calls(&gateway, release, "get_product", &json!({ "id": id, "selected": selected, "context": context }));
        }
    }
    assert!(narrowed >= 100, "{narrowed} products with options");
}

/// A check that takes everything would prove nothing.
#[test]
fn the_schemas_tell_a_broken_answer_from_a_sound_one() {
    let gateway = Gateway::shared();
    let answer = gateway.product(&json!({ "id": "prod_abc123" }));
    let shapes = shapes(Release::NEWEST, Operation::GetProduct);
    let theirs = shapes.official.iter().flat_map(|(successes, _)| successes);
    let schemas: Vec<_> = std::iter::once(&shapes.own).chain(theirs).collect();
    for (pointer, broken) in [
        ("/ucp", json!({})),
        ("/ucp/version", json!("draft")),
        ("/product/title", json!(3)),
        ("/product/variants", json!([])),
        ("/product/variants/0/price", json!({ "amount": 1.5, "currency": "USD" })),
        ("/product/price_range/min/currency", json!("dollars")),
        ("/product/options/0/values/0", json!({})),
        ("/product/media/0/url", json!("no address")),
    ] {
        let mut changed = answer.clone();
        *changed.pointer_mut(pointer).expect(pointer) = broken;
        for schema in &schemas {
            assert!(!schema.is_valid(&changed), "{pointer}");
        }
    }
}

#[test]
fn outcomes_without_a_resource_conform() {
    let gateway = Gateway::shared();
    let outcomes = [
        ("search_catalog", json!({ "query": "zzzzqqqq" })),
        (
            "search_catalog",
            json!({ "query": "shoes", "filters": { "color": "red", "price": { "max": 1 } }, "context": { "currency": "CHF" } }),
        ),
        ("lookup_catalog", json!({ "ids": ["nothing", "prod_abc123"] })),
        ("lookup_catalog", json!({ "ids": ["nothing"] })),
        ("get_product", json!({ "id": "nothing" })),
        ("get_product", json!({ "id": "prod_abc123", "filters": { "price": { "max": 1 } } })),
        ("get_product", json!({ "id": "prod_abc123", "filters": { "unheard_of": true } })),
    ];
    for (release, (operation, payload)) in
        RELEASES.iter().flat_map(|release| outcomes.iter().map(|outcome| (*release, outcome)))
    {
        calls(&gateway, release, operation, payload);
    }
}
