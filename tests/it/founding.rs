//! The founding documents of the project: everything they describe works.
//!
//! D0 is the MCP binding of the catalog, D1 the lookup page, D3 the thread that introduced `get_product`. Where the
//! release decides otherwise (protocol notes, section 3) the release wins, and the test says so.

use serde_json::{Value, json};

use crate::harness::{Gateway, codes, elements, rpc, texts};

/// The profile that the examples of D0 name.
const D0_PROFILE: &str = "https://platform.example/profiles/v2026-01/shopping-agent.json";

/// Calls a tool with the framing of D0 and gives its `structuredContent`.
fn d0(gateway: &Gateway, tool: &str, catalog: &Value) -> Value {
    let arguments = json!({ "meta": { "ucp-agent": { "profile": D0_PROFILE } }, "catalog": catalog });
    let message = rpc("tools/call", &json!({ "name": tool, "arguments": arguments }));
    let response = gateway.rpc(&message);
    assert_eq!(response.status, 200, "{response:?}");
    let answer = response.json()["result"]["structuredContent"].take();
    crate::official::check(tool, &answer);
    answer
}

fn option(name: &str, label: &str) -> Value {
    json!({ "name": name, "label": label })
}

/// `label: (exists, available)` of every value of an option.
fn signals<'a>(product: &'a Value, option: &str) -> Vec<(&'a str, bool, bool)> {
    let axis = elements(&product["options"]).iter().find(|axis| axis["name"] == option).expect("the option");
    let signal = |value: &'a Value| {
        let flag = |name: &str| value[name].as_bool().expect("a signal");
        (value["label"].as_str().expect("a label"), flag("exists"), flag("available"))
    };
    elements(&axis["values"]).iter().map(signal).collect()
}

#[test]
fn d0_search_request_with_the_old_spellings() {
    let gateway = Gateway::shared();
    let answer = d0(
        &gateway,
        "search_catalog",
        &json!({
            "query": "blue running shoes",
            "context": { "country": "US", "region": "CA", "intent": "looking for comfortable everyday shoes" },
            "filters": { "category": ["Footwear"], "price": { "max": 15000 } },
            "pagination": { "limit": 20 }
        }),
    );
    assert_eq!(codes(&answer), ["words_matched_in_part"], "the old spellings are no unknown filters");
    let products = elements(&answer["products"]);
    let blue = products.iter().find(|product| product["title"] == "Blue Runner Pro").expect("Blue Runner Pro");
    assert_eq!(blue["handle"], "blue-runner-pro");
    assert_eq!(blue["description"]["plain"], "Lightweight running shoes with responsive cushioning.");
    assert_eq!(blue["price_range"]["max"], json!({ "amount": 12000, "currency": "USD" }));
    assert_eq!(blue["rating"], json!({ "value": 4.5, "scale_max": 5, "count": 128 }));
    assert_eq!(blue["metadata"]["technology"]["midsole"], "React foam");
    assert_eq!(texts(&blue["options"][0]["values"], "label"), ["8", "9", "10", "11", "12"]);
    assert_eq!(texts(&blue["categories"], "taxonomy"), ["google_product_category", "shopify", "merchant"]);
    assert_eq!(texts(&blue["categories"], "value"), ["187", "aa-8-1", "Footwear > Running"]);
    assert!(blue.get("category").is_none(), "the old spelling is never emitted");
    for product in products {
        assert_eq!(elements(&product["variants"]).len(), 1, "one featured variant (D0 item 13)");
        assert!(product["variants"][0]["price"]["amount"].as_i64().expect("an amount") <= 15000);
        assert!(texts(&product["categories"], "value").iter().any(|value| value.starts_with("Footwear")));
    }
}

/// D0 (and D2) write a single category as text.
#[test]
fn d0_a_single_category_may_be_a_text() {
    let gateway = Gateway::shared();
    let ids = |filters: &Value| texts(&gateway.search(&json!({ "filters": filters }))["products"], "id").join(" ");
    let expected = ids(&json!({ "categories": ["Footwear"] }));
    assert!(!expected.is_empty());
    for filters in
        [json!({ "category": "Footwear" }), json!({ "category": ["Footwear"] }), json!({ "categories": "Footwear" })]
    {
        assert_eq!(ids(&filters), expected, "{filters}");
    }
}

/// D0: `country` and `region` mean `address_country` and `address_region`.
#[test]
fn d0_the_old_context_chooses_the_currency() {
    let gateway = Gateway::shared();
    let currency = |context: &Value| {
        let answer = gateway.product(&json!({ "id": "prod_abc123", "context": context }));
        answer["product"]["price_range"]["min"]["currency"].as_str().expect("a currency").to_owned()
    };
    assert_eq!(currency(&json!({ "country": "JP" })), "JPY");
    assert_eq!(currency(&json!({ "address_country": "JP" })), "JPY");
    assert_eq!(currency(&json!({ "country": "DE", "address_country": "JP" })), "JPY", "the release's own name wins");
}

#[test]
fn d0_lookup_of_a_product_and_a_variant() {
    let answer = d0(
        &Gateway::shared(),
        "lookup_catalog",
        &json!({ "ids": ["prod_abc123", "var_xyz789"], "context": { "country": "US" } }),
    );
    assert_eq!(texts(&answer["products"], "id"), ["prod_abc123", "prod_def456"]);
    let products = elements(&answer["products"]);
    assert_eq!(products[0]["variants"][0]["inputs"], json!([{ "id": "prod_abc123", "match": "featured" }]));
    let trail = &products[1];
    assert_eq!(trail["title"], "Trail Master X");
    assert_eq!(trail["description"]["plain"], "Rugged trail running shoes with aggressive tread.");
    assert_eq!(elements(&trail["variants"]).len(), 1, "only the requested variant (D0 item 13)");
    let variant = &trail["variants"][0];
    assert_eq!(variant["id"], "var_xyz789");
    assert_eq!(variant["sku"], "TMX-GRN-11");
    assert_eq!(variant["title"], "Size 11 - Green");
    assert_eq!(variant["price"], json!({ "amount": 15000, "currency": "USD" }));
    assert_eq!(variant["inputs"], json!([{ "id": "var_xyz789", "match": "exact" }]));
    assert_eq!(variant["seller"]["name"], "Example Store");
}

#[test]
fn d0_partial_success_and_nothing_found() {
    let gateway = Gateway::shared();
    let ids = json!({ "ids": ["prod_abc123", "prod_notfound1", "prod_notfound2"] });
    let answer = d0(&gateway, "lookup_catalog", &ids);
    assert_eq!(texts(&answer["products"], "id"), ["prod_abc123"]);
    assert_eq!(
        answer["messages"],
        json!([
            { "type": "info", "code": "not_found", "content": "prod_notfound1" },
            { "type": "info", "code": "not_found", "content": "prod_notfound2" }
        ])
    );
    let answer = d0(&gateway, "lookup_catalog", &json!({ "ids": ["prod_invalid"] }));
    assert_eq!(answer["products"], json!([]));
    assert_eq!(answer["messages"], json!([{ "type": "info", "code": "not_found", "content": "prod_invalid" }]));
    assert_eq!(answer["ucp"]["status"], "success");
}

/// The worked example of D0, down to each signal.
#[test]
fn d0_get_product_with_blue_selected() {
    let answer = d0(
        &Gateway::shared(),
        "get_product",
        &json!({
            "id": "prod_abc123",
            "selected": [{ "name": "Color", "label": "Blue" }],
            "preferences": ["Color", "Size"],
            "context": { "country": "US" }
        }),
    );
    let product = &answer["product"];
    assert_eq!(product["handle"], "runner-pro");
    assert_eq!(product["url"], "https://business.example.com/products/runner-pro");
    assert_eq!(product["price_range"]["min"], json!({ "amount": 12000, "currency": "USD" }));
    assert_eq!(product["price_range"]["max"], json!({ "amount": 15000, "currency": "USD" }));
    assert_eq!(product["selected"], json!([{ "name": "Color", "label": "Blue" }]));
    let (yes, no) = (true, false);
    assert_eq!(signals(product, "Color"), [("Blue", yes, yes), ("Red", yes, yes), ("Green", yes, no)]);
    assert_eq!(
        signals(product, "Size"),
        [("8", yes, yes), ("9", yes, yes), ("10", yes, yes), ("11", no, no), ("12", yes, yes)]
    );
    let variants = elements(&product["variants"]);
    let summary: Vec<_> = variants
        .iter()
        .map(|variant| {
            let text = |name: &str| variant[name].as_str().unwrap_or_default();
            (text("id"), text("sku"), text("title"), variant["price"]["amount"].as_i64().unwrap_or_default())
        })
        .collect();
    assert_eq!(
        summary,
        [
            ("var_abc123_blue_8", "RP-BLU-08", "Blue / Size 8", 12000),
            ("var_abc123_blue_9", "RP-BLU-09", "Blue / Size 9", 12000),
            ("var_abc123_blue_10", "RP-BLU-10", "Blue / Size 10", 12000),
            ("var_abc123_blue_12", "RP-BLU-12", "Blue / Size 12", 15000),
        ]
    );
    for variant in variants {
        assert_eq!(variant["availability"]["available"], true);
        assert_eq!(variant["options"][0], option("Color", "Blue"));
    }
    assert_eq!(product["rating"], json!({ "value": 4.5, "scale_max": 5, "count": 128 }));
}

/// D0 wanted a JSON-RPC error here; D1, the end of D3's thread and the release want an outcome (PRD-02).
#[test]
fn d1_an_unknown_product_is_an_outcome() {
    let gateway = Gateway::shared();
    let answer = d0(&gateway, "get_product", &json!({ "id": "prod_invalid" }));
    assert_eq!(answer["ucp"]["status"], "error");
    assert_eq!((codes(&answer), &answer["messages"][0]["severity"]), (vec!["not_found"], &json!("unrecoverable")));
    assert!(answer.get("product").is_none());
}

/// D0 item 12, D1: over the limit is an error of the protocol.
#[test]
fn d1_too_many_ids_are_refused() {
    let gateway = Gateway::shared();
    let ids: Vec<_> = (0..101).map(|number| format!("id-{number}")).collect();
    let payload = json!({ "ids": ids });
    let refusal = gateway.rest("lookup_catalog", &payload);
    assert_eq!((refusal.refusal().status, refusal.refusal().code.as_str()), (400, "request_too_large"));
    let response = gateway.rpc(&rpc(
        "tools/call",
        &json!({ "name": "lookup_catalog", "arguments": { "meta": { "ucp-agent": { "profile": D0_PROFILE } }, "catalog": payload } }),
    ));
    assert_eq!(response.json()["error"]["code"], -32602);
}

#[test]
fn d1_duplicates_count_once_and_every_id_is_accounted_for() {
    let answer = d0(
        &Gateway::shared(),
        "lookup_catalog",
        &json!({ "ids": ["prod_abc123", "var_abc123_blue_10", "prod_abc123", "RP-BLU-10", "runner-pro"] }),
    );
    let products = elements(&answer["products"]);
    assert_eq!(products.len(), 1, "one product, once (D1)");
    let inputs: Vec<(&str, &str)> = elements(&products[0]["variants"])
        .iter()
        .flat_map(|variant| elements(&variant["inputs"]))
        .map(|input| (input["id"].as_str().expect("an id"), input["match"].as_str().expect("a kind")))
        .collect();
    let mut sorted = inputs.clone();
    sorted.sort_unstable();
    assert_eq!(
        sorted,
        [
            ("RP-BLU-10", "exact"),
            ("prod_abc123", "featured"),
            ("runner-pro", "featured"),
            ("var_abc123_blue_10", "exact"),
        ],
        "{inputs:?}"
    );
}

/// D0 item 11.
#[test]
fn d0_the_default_page_holds_ten_products() {
    let answer = d0(&Gateway::shared(), "search_catalog", &json!({ "filters": { "available": true } }));
    assert_eq!(elements(&answer["products"]).len(), 10);
    assert_eq!(answer["pagination"]["has_next_page"], true);
    assert!(answer["pagination"]["cursor"].is_string());
}

/// The iterative flow of D3, each step stateless.
#[test]
fn d3_iterative_flow_from_nothing_to_blue_to_a_relaxed_red() {
    let gateway = Gateway::shared();
    // 1. No selection: the featured variant shows itself (trap T-17).
    let first = d0(&gateway, "get_product", &json!({ "id": "prod_abc123" }));
    let product = &first["product"];
    assert_eq!(product["selected"], product["variants"][0]["options"], "the featured variant's own options (PRD-05)");
    assert_eq!(elements(&product["options"]).len(), 2, "the option map");

    // 2. Blue.
    let second = d0(&gateway, "get_product", &json!({ "id": "prod_abc123", "selected": [option("Color", "Blue")] }));
    assert_eq!(second["product"]["selected"], json!([option("Color", "Blue")]));
    for variant in elements(&second["product"]["variants"]) {
        assert_eq!(variant["options"][0], option("Color", "Blue"));
    }
    assert_eq!(signals(&second["product"], "Size")[3], ("11", false, false), "relative to Blue");

    // 3. Red in a size that no shoe has: Size, the last preference, is given up.
    let third = d0(
        &gateway,
        "get_product",
        &json!({
            "id": "prod_abc123",
            "selected": [option("Color", "Red"), option("Size", "15")],
            "preferences": ["Color", "Size"]
        }),
    );
    assert_eq!(third["product"]["selected"], json!([option("Color", "Red")]));
    let variants = elements(&third["product"]["variants"]);
    assert_eq!(variants.len(), 5);
    for variant in variants {
        assert_eq!(variant["options"][0], option("Color", "Red"));
    }
    assert_eq!(signals(&third["product"], "Size")[3], ("11", true, true), "relative to Red");
}

/// Section 3: method name = operation, payload flat beside `_meta.ucp.profile`, result bare.
#[test]
fn d2_flat_parameters_with_the_old_envelope() {
    let gateway = Gateway::shared();
    let params = json!({ "_meta": { "ucp": { "profile": D0_PROFILE } }, "id": "prod_abc123" });
    let bare = gateway.result("get_product", &params);
    assert_eq!(bare["product"]["id"], "prod_abc123");
    assert_eq!(bare, gateway.product(&json!({ "id": "prod_abc123" })));
}
