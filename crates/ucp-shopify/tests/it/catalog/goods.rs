//! Conversion of a shop's statements about its products.

use serde_json::{Value, json};
use ucp_core::{
    catalog::{
        detail,
        product::{Product, SelectedOption},
    },
    ports::{Catalog as _, Named, caller::BuyerSignals},
};

use super::{
    TestShop, ids,
    stub::{Asked, Reply, Stub, card, page, product_id, simple, variant, variant_id},
    words,
};

/// Product as it is found; `None` if it is left out.
async fn shown(node: Value) -> (Option<std::sync::Arc<Product>>, TestShop) {
    let stub = Stub::serve(move |asked| match asked.operation.as_str() {
        "Search" => Reply::Data(page(vec![node.clone(), simple(99, "1.0")], false)),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let found = shop.search(&words("x")).await.expect("carried out");
    // A fault of one product does not hide the next one.
    assert_eq!(found.products.last().map(|listing| listing.product.id.as_str()), Some(product_id(99).as_str()));
    let first = found.products.first().map(|listing| std::sync::Arc::clone(&listing.product));
    (first.filter(|product| product.id != product_id(99)), shop)
}

fn changed(pointer: &str, value: Value) -> Value {
    let mut node = tee();
    *node.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
    node
}

fn tee() -> Value {
    let sized = |number, color, size, amount| variant(number, &[("Color", color), ("Size", size)], amount);
    let variants = vec![sized(11, "Red", "S", "25.0"), sized(12, "Red", "M", "30.5"), sized(13, "Blue", "S", "20.0")];
    card(1, &[("Color", &["Red", "Blue"]), ("Size", &["S", "M"])], &variants, false)
}

#[tokio::test(start_paused = true)]
async fn a_product_is_what_the_shop_says() {
    let mut node = tee();
    node["media"] = json!({ "nodes": [
        { "__typename": "MediaImage", "alt": "Alt", "image": { "url": "https://cdn.example/1.png", "altText": null, "width": 4, "height": 0 } },
        { "__typename": "Video", "alt": null, "sources": [
            { "url": "https://cdn.example/1.m3u8", "mimeType": "application/x-mpegURL", "width": 1, "height": 1 },
            { "url": "https://cdn.example/1.mp4", "mimeType": "video/mp4", "width": 1, "height": 1 } ] },
        { "__typename": "Hologram", "alt": null },
    ] });
    node["variants"]["nodes"][0]["compareAtPrice"] = json!({ "amount": "40.00", "currencyCode": "USD" });
    node["variants"]["nodes"][0]["barcode"] = json!("4006381333931");
    node["variants"]["nodes"][1]["compareAtPrice"] = json!({ "amount": "0.0", "currencyCode": "USD" });
    node["variants"]["nodes"][1]["barcode"] = json!("4006381333932");
    node["variants"]["nodes"][1]["currentlyNotInStock"] = json!(true);
    node["variants"]["nodes"][2]["availableForSale"] = json!(false);
    node["variants"]["nodes"][2]["price"]["amount"] = json!("19.999");
    node["variants"]["nodes"][2]["compareAtPrice"] = json!({ "amount": "20.00", "currencyCode": "USD" });
    let (product, shop) = shown(node).await;
    let product = product.expect("a product");
    assert_eq!((product.title.as_str(), product.description.plain.as_deref()), ("Product 1", Some("Good.")));
    assert_eq!(product.combinations, None);
    let axes: Vec<_> = product.options.iter().map(|axis| (axis.name.as_str(), axis.values.len())).collect();
    assert_eq!(axes, [("Color", 2), ("Size", 2)]);
    let variants: Vec<_> = product
        .variants
        .iter()
        .map(|variant| {
            let list = variant.list_price.map(|price| price.amount.minor());
            (
                variant.values.clone(),
                variant.price.amount.minor(),
                list,
                variant.availability.status.as_deref().expect("a status"),
            )
        })
        .collect();
    assert_eq!(
        variants,
        [
            (vec![0, 0], 2_500, Some(4_000), "in_stock"),
            (vec![0, 1], 3_050, None, "backorder"),
            (vec![1, 0], 2_000, None, "out_of_stock"),
        ]
    );
    assert_eq!(shop.noted("amounts finer than their currency, rounded"), 1);
    assert_eq!(product.variants[0].barcodes[0].kind, "EAN");
    assert!(product.variants[1].barcodes.is_empty(), "its check digit is wrong");
    assert_eq!(product.variants[0].url.as_deref(), Some("https://stub.example/products/product-1?variant=11"));
    let range = product.list_price_range.expect("one is reduced");
    assert_eq!((range.min.amount.minor(), range.max.amount.minor()), (2_000, 4_000));
    assert_eq!((product.price_range.min.amount.minor(), product.price_range.max.amount.minor()), (100, 5_000));
    let media: Vec<_> = product
        .media
        .iter()
        .map(|media| (media.kind.as_str(), media.url.as_str(), media.width, media.height))
        .collect();
    assert_eq!(
        media,
        [
            ("image", "https://cdn.example/1.png", Some(4), None),
            ("video", "https://cdn.example/1.mp4", Some(1), Some(1))
        ]
    );
    assert_eq!(product.media[0].alt_text.as_deref(), Some("Alt"));
    let categories: Vec<_> = product.categories.iter().map(|category| category.value.as_str()).collect();
    assert_eq!(categories, ["aa-1-13", "aa-1", "aa", "Zapatos Niño"]);
}

#[tokio::test(start_paused = true)]
async fn products_that_could_not_be_sold_are_left_out_and_counted() {
    for (node, reason) in [
        (changed("/id", json!("gid://shopify/Cart/1?key=x")), "products left out: no identifier"),
        (changed("/id", json!("gid://shopify/Product/01")), "products left out: no identifier"),
        (changed("/id", json!(7)), "products left out: not of the form that the API promises"),
        (json!("a text"), "products left out: not of the form that the API promises"),
        (
            {
                let mut node = changed("/title", json!(" \u{202e}"));
                node["handle"] = Value::Null;
                node
            },
            "products left out: no title",
        ),
        (
            {
                let mut node = changed("/variants/nodes", json!([]));
                node["featured"] = Value::Null;
                node
            },
            "products left out: no variants",
        ),
        (
            card(1, &[("Title", &["Default Title"])], &[json!({ "id": variant_id(1) })], false),
            "products left out: no price",
        ),
        (
            {
                let mut only = variant(1, &[("Title", "Default Title")], "1.0");
                only["price"] = json!({ "amount": null, "currencyCode": "USD" });
                card(1, &[("Title", &["Default Title"])], &[only], false)
            },
            "products left out: no price",
        ),
        (
            {
                let mut only = variant(1, &[("Title", "Default Title")], "1.0");
                only["price"] = json!({ "amount": "1.0", "currencyCode": "" });
                card(1, &[("Title", &["Default Title"])], &[only], false)
            },
            "products left out: no price",
        ),
        (
            card(1, &[("Size", &["S"])], &[variant(1, &[("Color", "Red")], "1.0")], false),
            "products left out: no variant that could be sold",
        ),
        (changed("/options/0/optionValues", json!([])), "products left out: an option without a name or values"),
    ] {
        let (product, shop) = shown(node).await;
        assert!(product.is_none(), "{reason}");
        assert_eq!(shop.noted(reason), 1, "{reason}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_bad_variant_leaves_the_others() {
    for (pointer, value, reason) in [
        (
            "/variants/nodes/1/price",
            Value::Null,
            "variants left out: no price, or not of the form that the API promises",
        ),
        (
            "/variants/nodes/1/price/amount",
            json!(12),
            "variants left out: no price, or not of the form that the API promises",
        ),
        ("/variants/nodes/1/price/amount", json!("-1.0"), "variants left out: no price in the product's currency"),
        ("/variants/nodes/1/price/currencyCode", json!("EUR"), "variants left out: no price in the product's currency"),
        ("/variants/nodes/1/id", json!("x"), "variants left out: no identifier"),
        ("/variants/nodes/1/selectedOptions", json!([]), "variants left out: not one value on each option"),
        ("/variants/nodes/1/selectedOptions/1/value", json!("XXL"), "variants left out: not one value on each option"),
        ("/variants/nodes/1/selectedOptions/1/value", json!("S"), "variants left out: the same options as another"),
    ] {
        let (product, shop) = shown(changed(pointer, value)).await;
        let product = product.expect("a product");
        assert_eq!(
            product.variants.iter().map(|variant| variant.id.as_str()).collect::<Vec<_>>(),
            [variant_id(11), variant_id(13)],
            "{reason}"
        );
        assert_eq!(shop.noted(reason), 1, "{reason}");
    }
    // The same one twice is once.
    let mut node = tee();
    node["variants"]["nodes"][1] = node["variants"]["nodes"][0].clone();
    assert_eq!(shown(node).await.0.expect("a product").variants.len(), 2);
}

#[tokio::test(start_paused = true)]
async fn what_is_not_as_promised_is_as_if_absent() {
    for (pointer, value) in [
        ("/descriptionHtml", json!(["x"])),
        ("/onlineStoreUrl", json!({ "url": 1 })),
        ("/category", json!("aa-1")),
        ("/category/id", json!("gid://shopify/TaxonomyCategory/../etc")),
        ("/media", json!({ "nodes": [null, 1, { "__typename": "MediaImage", "image": "x" }] })),
        ("/tags", Value::Null),
        ("/tags", json!(["a", 1])),
        ("/priceRange", json!({ "minVariantPrice": 1 })),
        ("/priceRange/minVariantPrice/currencyCode", json!("EUR")),
        ("/compareAtPriceRange", Value::Null),
        ("/featured", Value::Null),
        ("/variants/nodes/0/unitPrice", json!({ "amount": "x", "currencyCode": "USD" })),
        ("/variants/nodes/0/image", json!({ "url": "javascript:alert(1)" })),
        ("/variants/nodes/0/barcode", json!(4)),
        ("/variants/nodes/0/compareAtPrice", json!({ "amount": "1e9", "currencyCode": "USD" })),
    ] {
        let (product, _) = shown(changed(pointer, value)).await;
        let product = product.unwrap_or_else(|| panic!("{pointer}"));
        assert_eq!(product.variants.len(), 3, "{pointer}");
        assert!(
            product.media.is_empty() && product.variants.iter().all(|variant| variant.media.is_empty()),
            "{pointer}"
        );
    }
}

/// Every address in a product.
fn urls(product: &Product) -> Vec<&str> {
    let media = product.media.iter().chain(product.variants.iter().flat_map(|variant| &variant.media));
    let pages = product.url.iter().chain(product.variants.iter().flat_map(|variant| &variant.url));
    pages.chain(media.map(|media| &media.url)).map(String::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn addresses_that_nobody_should_open_are_dropped_wherever_they_are() {
    let filled = |url: &str| {
        let mut node = tee();
        node["onlineStoreUrl"] = json!(url);
        node["featured"]["image"] = json!({ "url": url });
        for variant in node["variants"]["nodes"].as_array_mut().expect("variants") {
            variant["image"] = json!({ "url": url });
        }
        node["media"] = json!({ "nodes": [
            { "__typename": "MediaImage", "alt": null, "image": { "url": url } },
            { "__typename": "Video", "alt": null, "sources": [{ "url": url, "mimeType": "video/mp4" }] },
            { "__typename": "ExternalVideo", "alt": null, "originUrl": url },
            { "__typename": "Model3d", "alt": null, "sources": [{ "url": url, "mimeType": "model/gltf-binary" }] },
        ] });
        node
    };
    let (product, _) = shown(filled("https://shop.example/x")).await;
    // The page, those of three variants, their pictures, and four media.
    assert_eq!(urls(&product.expect("a product")).len(), 11);
    for url in [
        "http://shop.example/x",
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "data:text/html,x",
        "//shop.example/x",
        "https://user:word@shop.example/x",
        "https://shop.example/\u{202e}x",
        "",
    ] {
        let (product, _) = shown(filled(url)).await;
        let product = product.expect("a product");
        assert_eq!((urls(&product), product.variants.len()), (Vec::new(), 3), "{url}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_sold_by_subscription_only_is_not_offered() {
    let mut node = tee();
    node["requiresSellingPlan"] = json!(true);
    let (product, shop) = shown(node).await;
    let product = product.expect("it is shown");
    for variant in &product.variants {
        let availability = &variant.availability;
        // It is not sold out either.
        assert_eq!((availability.available, availability.status.as_deref()), (false, None), "{}", variant.title);
    }
    let filters = ucp_core::catalog::filter::Filters { available: Some(true), ..Default::default() };
    let found = shop.search(&ucp_core::catalog::search::Request { filters, ..words("x") }).await.expect("carried out");
    assert_eq!(ids(&found.products), ["99"]);
    // All other statements about itself are ignored.
    for other in [json!(false), Value::Null, json!("yes")] {
        let mut node = tee();
        node["requiresSellingPlan"] = other.clone();
        let (product, _) = shown(node).await;
        assert!(product.expect("it is shown").variants.iter().all(|variant| variant.availability.available), "{other}");
    }
    // The variants that are read later, by their options or page by page, are sold as the product is.
    for (existence, availability) in [(EXISTENCE, AVAILABILITY), ("", "")] {
        let stub = Stub::serve(move |asked| {
            let Reply::Data(mut data) = about_large(asked, existence, availability) else { return Reply::Usual };
            let pointer = if asked.operation == "Nodes" { "/nodes/0" } else { "/product" };
            data.pointer_mut(pointer).expect("a product")["requiresSellingPlan"] = json!(true);
            Reply::Data(data)
        })
        .await;
        let shop = TestShop::behind(&stub).await;
        let opened = shop.open(chosen("Color", "Green")).await.expect("carried out").expect("a product");
        assert!(opened.product.variants.len() > 1);
        assert!(opened.product.variants.iter().all(|variant| !variant.availability.available));
        assert!(opened.signals.iter().flatten().all(|signal| !signal.available));
        assert!(opened.signals.iter().flatten().any(|signal| signal.exists));
    }
}

/// A product with nine combinations, of which a listing holds one; `Blue` in `L` does not exist, `Red` in `M` is sold
/// out.
fn large(existence: &str, availability: &str) -> Value {
    let mut node =
        card(1, &[("Color", &["Red", "Green", "Blue"]), ("Size", &["S", "M", "L"])], &[numbered(0, 0)], true);
    node["encodedVariantExistence"] = json!(existence);
    node["encodedVariantAvailability"] = json!(availability);
    node
}

fn numbered(color: usize, size: usize) -> Value {
    let (colors, sizes) = (["Red", "Green", "Blue"], ["S", "M", "L"]);
    variant(10 + 3 * color as u64 + size as u64, &[("Color", colors[color]), ("Size", sizes[size])], "10.0")
}

const EXISTENCE: &str = "v1_0:0-2,1:0-2,2:0-1,";
const AVAILABILITY: &str = "v1_0:0 2,1:0-2,2:0-1,";

/// Answers about that product, whose variants can be asked for by their options or in pages.
fn about_large(asked: &Asked, existence: &str, availability: &str) -> Reply {
    match asked.operation.as_str() {
        "Nodes" => Reply::Data(json!({ "nodes": [large(existence, availability)] })),
        "Combinations" => {
            let mut product = json!({ "id": product_id(1) });
            for (alias, choice) in
                asked.variables.as_object().expect("variables").iter().filter(|(alias, _)| alias.starts_with('v'))
            {
                let at = |name: &str, values: [&str; 3]| {
                    let chosen = choice
                        .as_array()
                        .expect("choices")
                        .iter()
                        .find(|choice| choice["name"] == name)
                        .expect("chosen");
                    values.iter().position(|value| chosen["value"] == **value).expect("a value")
                };
                product[alias] = numbered(at("Color", ["Red", "Green", "Blue"]), at("Size", ["S", "M", "L"]));
            }
            Reply::Data(json!({ "product": product }))
        }
        "Variants" => {
            let all: Vec<_> = (0..8).map(|place| numbered(place / 3, place % 3)).collect();
            let (nodes, more) = if asked.variables["after"].is_null() { (&all[..5], true) } else { (&all[5..], false) };
            let page = json!({ "hasNextPage": more, "endCursor": "five" });
            Reply::Data(json!({ "product": { "variants": { "pageInfo": page, "nodes": nodes } } }))
        }
        _ => Reply::Usual,
    }
}

fn chosen(name: &str, label: &str) -> detail::Request {
    let selected = vec![SelectedOption { name: name.into(), id: None, label: label.into() }];
    detail::Request { id: product_id(1), selected, ..detail::Request::default() }
}

#[tokio::test(start_paused = true)]
async fn choices_are_judged_by_combinations_whose_variants_were_not_read() {
    let stub = Stub::serve(|asked| about_large(asked, EXISTENCE, AVAILABILITY)).await;
    let shop = TestShop::behind(&stub).await;
    let blue = shop.open(chosen("Color", "Blue")).await.expect("carried out").expect("a product");
    let variants: Vec<_> =
        blue.variants.iter().map(|position| blue.product.variants[*position].title.as_str()).collect();
    assert_eq!(variants, ["Blue / S", "Blue / M"]);
    let sizes: Vec<_> = blue.signals[1].iter().map(|signal| (signal.exists, signal.available)).collect();
    assert_eq!(sizes, [(true, true), (true, true), (false, false)]);
    assert_eq!(stub.asked("Combinations").len(), 1);
    assert_eq!(stub.asked("Variants").len(), 0);
    let red = shop.open(chosen("Color", "Red")).await.expect("carried out").expect("a product");
    let sizes: Vec<_> = red.signals[1].iter().map(|signal| (signal.exists, signal.available)).collect();
    // The variant in M said of itself that it can be bought, and that is newer than what the product said of it.
    assert_eq!(sizes, [(true, true), (true, true), (true, true)]);
}

#[tokio::test(start_paused = true)]
async fn variants_are_read_page_by_page_where_the_combinations_mean_nothing() {
    for existence in ["v2_0:0", "v1_0:0,7:0,", "v1_", ""] {
        let stub = Stub::serve(move |asked| about_large(asked, existence, AVAILABILITY)).await;
        let shop = TestShop::behind(&stub).await;
        let blue = shop.open(chosen("Color", "Blue")).await.expect("carried out").expect("a product");
        assert_eq!((blue.product.variants.len(), blue.variants.len()), (8, 2), "{existence}");
        assert!(!blue.signals[1][2].exists);
        assert_eq!(shop.noted("combinations of options that cannot be read"), 1, "{existence}");
        assert_eq!(stub.asked("Variants").len(), 2, "{existence}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_variant_and_its_product_agree_on_positions() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Nodes" => {
            let node = |id: &Value| {
                if *id == product_id(1) {
                    return large(EXISTENCE, AVAILABILITY);
                }
                if *id == variant_id(17) {
                    let mut node = numbered(2, 1);
                    node["__typename"] = json!("ProductVariant");
                    node["product"] = large(EXISTENCE, AVAILABILITY);
                    return node;
                }
                Value::Null
            };
            Reply::Data(json!({ "nodes": asked.variables["ids"].as_array().expect("ids").iter().map(node).collect::<Vec<_>>() }))
        }
        "Handles" => Reply::Data(json!({ "h0": large(EXISTENCE, AVAILABILITY) })),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let asked = [product_id(1), variant_id(17), "product-1".to_owned(), variant_id(18)];
    let asked: Vec<_> = asked.iter().map(String::as_str).collect();
    let named = shop
        .storefront
        .resolve(&asked, &shop.storefront.market().own(), &BuyerSignals::default())
        .await
        .expect("carried out");
    let found: Vec<_> = named
        .iter()
        .map(|named| match named {
            Named::Found(matches) => matches.first(),
            other => panic!("{other:?}"),
        })
        .collect();
    let product = &found[0].expect("the product").product;
    assert!(std::sync::Arc::ptr_eq(product, &found[1].expect("the variant").product));
    assert!(std::sync::Arc::ptr_eq(product, &found[2].expect("by handle").product));
    assert!(found[3].is_none());
    let resolved = shop.lookup(&[product_id(1), variant_id(17), "product-1".into()]).await.expect("carried out");
    assert_eq!(ids(&resolved.products), ["1"]);
    let variants: Vec<_> =
        resolved.products[0].variants.iter().map(|variant| product.variants[variant.position].id.as_str()).collect();
    assert_eq!(variants, [variant_id(10), variant_id(17)]);
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_was_not_asked_for_is_not_taken() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Combinations" => {
            let variants = json!({ "id": product_id(1), "v0": numbered(0, 1), "v1": numbered(2, 1), "v2": null });
            Reply::Data(json!({ "product": variants }))
        }
        _ => about_large(asked, EXISTENCE, AVAILABILITY),
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let (own, buyer_signals) = (shop.storefront.market().own(), BuyerSignals::default());
    let opened = shop.storefront.open(&product_id(1), &own, &buyer_signals).await.expect("carried out");
    let Named::Found(opened) = opened else { panic!("{opened:?}") };
    let product = &opened[0].product;
    let wanted: [&[usize]; 3] = [&[2, 0], &[2, 1], &[1, 1]];
    let complete = shop.storefront.complete(product, &wanted, &own, &buyer_signals).await.expect("carried out");
    let held: Vec<_> = complete.variants.iter().map(|variant| variant.values.as_slice()).collect();
    assert_eq!(held, [[0, 0], [2, 1]]);
}
