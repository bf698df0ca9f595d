//! `lookup_catalog`: identifiers of every kind, and how they are correlated.

use super::*;

/// `id match` of every input of every variant of a product.
fn inputs(product: &Value) -> Vec<String> {
    let inputs = elements(&product["variants"]).iter().flat_map(|variant| elements(&variant["inputs"]));
    let text = |input: &Value| {
        format!("{} {}", input["id"].as_str().unwrap_or_default(), input["match"].as_str().unwrap_or_default())
    };
    inputs.map(text).collect()
}

#[test]
fn lkp_01_every_kind_of_identifier_resolves() {
    let gateway = Gateway::shared();
    let page = gateway.product(&json!({ "id": "var_abc123_blue_10" }));
    let barcode = page["product"]["variants"][0]["barcodes"][0]["value"].as_str().expect("a barcode").to_owned();
    for (id, kind, featured) in [
        ("prod_abc123", "featured", false),
        ("runner-pro", "featured", false),
        ("var_abc123_blue_10", "exact", true),
        ("RP-BLU-10", "exact", true),
        (&barcode, "exact", true),
    ] {
        let answer = gateway.lookup(&json!({ "ids": [id] }));
        assert_eq!(ids(&answer), ["prod_abc123"], "{id}");
        assert_eq!(inputs(&answer["products"][0]), [format!("{id} {kind}")]);
        if featured {
            assert_eq!(answer["products"][0]["variants"][0]["id"], "var_abc123_blue_10", "{id}");
        }
        assert!(answer.get("messages").is_none());
    }
}

#[test]
fn lkp_02_identifiers_and_products_count_once() {
    let gateway = Gateway::shared();
    let answer = gateway.lookup(&json!({ "ids": ["prod_abc123", "prod_abc123", "runner-pro", "nothing", "nothing"] }));
    assert_eq!(ids(&answer), ["prod_abc123"]);
    assert_eq!(inputs(&answer["products"][0]), ["prod_abc123 featured", "runner-pro featured"]);
    assert_eq!(codes(&answer), ["not_found"]);
}

#[test]
fn t_20_a_product_and_its_variant_come_as_one_product() {
    let gateway = Gateway::shared();
    let two = gateway.lookup(&json!({ "ids": ["var_abc123_red_9", "prod_abc123"] }));
    assert_eq!(ids(&two), ["prod_abc123"]);
    let variants = elements(&two["products"][0]["variants"]);
    assert_eq!(variants.len(), 2, "the variant that was asked for, and the featured one");
    assert_eq!(variants[0]["inputs"][0]["match"], "featured", "the first one stands for the product (CSR-09)");
    assert_eq!(variants[1]["id"], "var_abc123_red_9");
    let featured = variants[0]["id"].clone();
    let one = gateway.lookup(&json!({ "ids": [featured, "prod_abc123"] }));
    let variants = elements(&one["products"][0]["variants"]);
    assert_eq!((variants.len(), elements(&variants[0]["inputs"]).len()), (1, 2), "identical: one variant, two inputs");
}

#[test]
fn lkp_05_a_hundred_different_ids_are_the_limit() {
    let gateway = Gateway::shared();
    let batch = |count: usize| json!({ "ids": (0..count).map(|place| format!("id-{place}")).collect::<Vec<_>>() });
    let full = gateway.lookup(&batch(100));
    assert_eq!((ids(&full).len(), codes(&full).len()), (0, 100));
    assert_eq!(refused(&gateway.rest("lookup_catalog", &batch(101))), ("request_too_large", "$.ids"));
    // Trap T-20: repetitions are taken out before counting, within reason.
    let repeated = |count: usize| json!({ "ids": vec!["prod_abc123"; count] });
    assert_eq!(ids(&gateway.lookup(&repeated(1_000))), ["prod_abc123"]);
    assert_eq!(refused(&gateway.rest("lookup_catalog", &repeated(1_001))), ("request_too_large", "$.ids"));
    assert_eq!(refused(&gateway.rest("lookup_catalog", &json!({ "ids": [] }))), ("invalid_request", "$.ids"));
}

#[test]
fn lkp_06_unknown_ids_are_notes_in_request_order() {
    let answer = Gateway::shared().lookup(&json!({ "ids": ["z", "prod_abc123", "a"] }));
    assert_eq!(ids(&answer), ["prod_abc123"]);
    assert_eq!(
        answer["messages"],
        json!([
            { "type": "info", "code": "not_found", "content": "z" },
            { "type": "info", "code": "not_found", "content": "a" }
        ])
    );
}

#[test]
fn lkp_07_filters_run_after_resolution() {
    let gateway = Gateway::shared();
    let lookup = |ids: Value, filters: Value| gateway.lookup(&json!({ "ids": ids, "filters": filters }));
    // Size 12 costs 150 USD, the others 120: the featured variant is the best one that passes (T-20).
    let dear = lookup(json!(["prod_abc123"]), json!({ "price": { "min": 15_000 } }));
    assert_eq!(dear["products"][0]["variants"][0]["id"], "var_abc123_blue_12");
    let none = lookup(json!(["prod_abc123", "var_xyz789"]), json!({ "price": { "max": 1 } }));
    assert_eq!(none["products"], json!([]));
    assert_eq!(codes(&none), [""; 0], "they were found, and filtered");
    let exact = lookup(json!(["var_abc123_blue_8"]), json!({ "price": { "min": 15_000 } }));
    assert_eq!(exact["products"], json!([]), "a variant is asked for itself");
    let sold_out = lookup(json!(["var_abc123_green_8", "var_abc123_blue_8"]), json!({ "available": true }));
    assert_eq!(texts(&sold_out["products"][0]["variants"], "id"), ["var_abc123_blue_8"]);
    let other = lookup(json!(["prod_abc123"]), json!({ "categories": ["Hardware"] }));
    assert_eq!(other["products"], json!([]));
}

/// LKP-03: no variant without inputs, no input that was not sent.
#[test]
fn lkp_03_inputs_name_what_was_sent_and_nothing_else() {
    let gateway = Gateway::shared();
    let found = gateway.search(&json!({ "filters": { "available": true }, "pagination": { "limit": 50 } }));
    let sent: Vec<_> = elements(&found["products"])
        .iter()
        .flat_map(|product| [product["handle"].clone(), product["variants"][0]["sku"].clone()])
        .collect();
    let answer = gateway.lookup(&json!({ "ids": sent }));
    let mut correlated: Vec<String> = Vec::new();
    for product in elements(&answer["products"]) {
        for variant in elements(&product["variants"]) {
            let inputs = elements(&variant["inputs"]);
            assert!(!inputs.is_empty());
            correlated.extend(inputs.iter().map(|input| input["id"].as_str().expect("an id").to_owned()));
        }
    }
    correlated.sort();
    let mut expected: Vec<_> = sent.iter().map(|id| id.as_str().expect("an id").to_owned()).collect();
    expected.sort();
    assert_eq!(correlated, expected);
}
