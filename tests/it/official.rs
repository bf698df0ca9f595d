//! Every answer conforms to a published shape: the official schemas where they are at hand, our own always.

use std::{collections::BTreeMap, path::Path, sync::OnceLock};

use jsonschema::Validator;
use serde_json::{Value, json};
use ucp_core::{Operation, Release};
use ucp_schema::{
    Direction, ResolveOptions, bundle_refs_with_url_mapping, load_schema, resolve, select_operation_schema,
};

use crate::harness::{Gateway, elements, official, own_schema_of, texts};

/// A schema of the official files, as the protocol's own rules resolve it: the shape of that name, or the whole file.
///
/// `ucp-schema` bundles the files, applies the `ucp_response` annotations and picks the shape. The result is compiled
/// here once; its own `validate` compiles the schema again for every document.
pub(crate) fn schema(folder: &Path, file: &str, shape: Option<&str>) -> Validator {
    let schemas = folder.join("schemas");
    let path = schemas.join(file);
    let mut schema = load_schema(&path).expect("an official schema");
    bundle_refs_with_url_mapping(&mut schema, path.parent().expect("a folder"), &schemas, "https://ucp.dev/schemas")
        .expect("the schema refers to files that exist");
    let options = ResolveOptions::new(Direction::Response, "read").def_name(shape.map(str::to_owned));
    let resolved = resolve(&schema, &options).expect("the annotations make sense");
    compiled(&select_operation_schema(&resolved, &options).expect("the shape exists"))
}

/// The schemas that answers of one operation are held against.
struct Shapes {
    own: Validator,
    /// The official shapes of an answer and of an outcome without a resource.
    official: Option<(Validator, Validator)>,
}

/// A schema as the tests mean it: formats say what an address is.
fn compiled(schema: &Value) -> Validator {
    jsonschema::options().should_validate_formats(true).build(schema).expect("a valid schema")
}

/// The releases that have the catalog.
pub(crate) const RELEASES: &[Release] = &[Release::V2026_04_08, Release::V2026_08_25];

fn shapes() -> &'static BTreeMap<(Release, &'static str), Shapes> {
    static SHAPES: OnceLock<BTreeMap<(Release, &'static str), Shapes>> = OnceLock::new();
    SHAPES.get_or_init(|| {
        let shapes = |release: Release, operation: &Operation| {
            let name = operation.row().name;
            let (file, shape) = match operation {
                Operation::SearchCatalog => ("shopping/catalog_search.json", "search_response"),
                Operation::LookupCatalog => ("shopping/catalog_lookup.json", "lookup_response"),
                Operation::GetProduct => ("shopping/catalog_lookup.json", "get_product_response"),
            };
            let failure = match release {
                Release::V2026_08_25 => "common/types/error_response.json",
                _ => "shopping/types/error_response.json",
            };
            let official =
                official(release).map(|folder| (schema(&folder, file, Some(shape)), schema(&folder, failure, None)));
            ((release, name), Shapes { own: own_schema_of(release, &format!("{name}.response")), official })
        };
        RELEASES.iter().flat_map(|release| Operation::ALL.iter().map(|operation| shapes(*release, operation))).collect()
    })
}

/// Holds an answer against every schema there is for it in the release it is written in.
#[track_caller]
pub(crate) fn check(operation: &str, answer: &Value) {
    let release = answer["ucp"]["version"].as_str().and_then(Release::from_date).expect("a release");
    let shapes = &shapes()[&(release, operation)];
    let holds = |schema: &Validator, whose: &str| {
        if let Err(error) = schema.validate(answer) {
            panic!("{whose} schema of {operation} in {release}: {error} at {}: {answer:.2000}", error.instance_path());
        }
    };
    holds(&shapes.own, "our own");
    if let Some((success, failure)) = &shapes.official {
        holds(if answer["ucp"]["status"] == "error" { failure } else { success }, "the official");
    }
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
    let shapes = &shapes()[&(Release::NEWEST, "get_product")];
    let schemas: Vec<_> =
        [Some(&shapes.own), shapes.official.as_ref().map(|(success, _)| success)].into_iter().flatten().collect();
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
