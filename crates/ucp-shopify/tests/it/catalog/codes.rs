//! Lookups by numbers, SKUs and barcodes.

use serde_json::{Value, json};
use ucp_core::{
    catalog::lookup::{MatchKind, Resolved},
    message::Message,
};

use super::{
    TestShop,
    stub::{Asked, Reply, Stub, card, codes, product_id, simple, variant, variant_id},
};

/// A shop with product 1, whose variants 11 and 12 go by codes, and product 2.
fn about(asked: &Asked) -> Reply {
    let tee = || {
        let sized = |number, size: &str| variant(number, &[("Size", size)], "10.0");
        card(1, &[("Size", &["S", "M"])], &[sized(11, "S"), sized(12, "M")], false)
    };
    let of_variant = |number, size: &str| {
        let mut node = variant(number, &[("Size", size)], "10.0");
        node["__typename"] = json!("ProductVariant");
        node["product"] = tee();
        node
    };
    let node = |id: &Value| match id.as_str().expect("an id") {
        id if id == product_id(1) => tee(),
        id if id == product_id(2) => simple(2, "5.0"),
        id if id == variant_id(11) => of_variant(11, "S"),
        id if id == variant_id(12) => of_variant(12, "M"),
        _ => Value::Null,
    };
    match asked.operation.as_str() {
        "Nodes" => {
            let ids = asked.variables["ids"].as_array().expect("ids");
            Reply::Data(json!({ "nodes": ids.iter().map(node).collect::<Vec<_>>() }))
        }
        "Handles" => Reply::Data(json!({})),
        _ => Reply::Usual,
    }
}

/// Matches of each identifier: identifier, variant, and whether it names that very one.
fn inputs(resolved: &Resolved) -> Vec<(&str, &str, bool)> {
    let listed = resolved.products.iter().flat_map(|listing| {
        let named = move |position: usize| listing.product.variants[position].id.rsplit('/').next().expect("a number");
        listing.variants.iter().flat_map(move |variant| {
            variant
                .inputs
                .iter()
                .map(move |input| (input.id.as_str(), named(variant.position), input.kind == MatchKind::Exact))
        })
    });
    let mut inputs: Vec<_> = listed.collect();
    inputs.sort_unstable();
    inputs
}

fn said(resolved: &Resolved) -> Vec<(&str, &str)> {
    let said = resolved.messages.iter().map(|message| match message {
        Message::Info { code: Some(code), content, .. } | Message::Warning { code, content, .. } => {
            (code.as_str(), content.as_str())
        }
        other => panic!("{other:?}"),
    });
    said.collect()
}

#[tokio::test(start_paused = true)]
async fn numbers_skus_and_barcodes_are_looked_up() {
    let stub = Stub::serve(|asked| match (asked.operation.as_str(), asked.variables["query"].as_str()) {
        ("Codes", Some(query)) if query.contains("sku:") => {
            // Not exact: a part of the code will do.
            Reply::Data(codes(&[&[(11, "TEE S/1", ""), (12, "TEE S/12", "")], &[(99, "TEE", "")]], false))
        }
        ("Codes", Some(query)) => {
            assert_eq!(query, r#"barcode:"4006381333931""#);
            Reply::Data(codes(&[&[(11, "TEE S/1", "40"), (12, "TEE S/12", "4006381333931")]], false))
        }
        _ => about(asked),
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let asked = ["1", "11", "TEE S/1", "4006381333931", "tee", "2"].map(str::to_owned);
    let resolved = shop.lookup(&asked).await.expect("carried out");
    assert_eq!(
        inputs(&resolved),
        [
            ("1", "11", false),
            ("11", "11", true),
            ("2", "200", false),
            ("4006381333931", "12", true),
            ("TEE S/1", "11", true),
        ]
    );
    assert_eq!(said(&resolved), [("not_found", "tee")]);
    let queries: Vec<_> = stub.asked("Codes").iter().map(|asked| asked.variables["query"].clone()).collect();
    assert_eq!(queries.len(), 2, "{queries:?}");
    assert_eq!(queries[0], r#"sku:"4006381333931" OR sku:"TEE S/1" OR sku:"tee""#);
}

#[tokio::test(start_paused = true)]
async fn a_code_that_could_not_be_looked_for_everywhere_is_told_as_unchecked() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        // The shop ignores the condition, and has more products than it returns.
        "Codes" => Reply::Data(codes(&[&[(11, "TEE-1", "")]], true)),
        _ => about(asked),
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let resolved = shop.lookup(&["TEE-1", "CAP-1"].map(str::to_owned)).await.expect("carried out");
    assert_eq!(inputs(&resolved), [("TEE-1", "11", true)]);
    let [("not_checked", content)] = said(&resolved)[..] else { panic!("{:?}", resolved.messages) };
    assert!(content.contains("CAP-1") && !content.contains("TEE-1"), "{content}");

    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Codes" => Reply::Other(500, vec![], String::new()),
        _ => about(asked),
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let resolved = shop.lookup(&["1", "CAP-1"].map(str::to_owned)).await.expect("carried out");
    assert_eq!((inputs(&resolved).len(), said(&resolved)[0].0), (1, "not_checked"));
}
