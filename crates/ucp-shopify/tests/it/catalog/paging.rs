//! Searching and browsing: what the API is asked, what is filtered here, and how pages are made of pages.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use serde_json::{Value, json};
use ucp_core::{
    Code,
    catalog::{
        Context,
        filter::{Filters, PriceFilter},
        search,
    },
    money::Amount,
};

use super::{
    TestShop, browse, from, ids,
    stub::{Reply, Stub, card, page, simple, variant},
    words,
};

fn price(min: i64, max: i64) -> Filters {
    Filters { price: Some(PriceFilter { min: Amount::new(min), max: Amount::new(max) }), ..Filters::default() }
}

fn categories(values: &[&str]) -> Filters {
    Filters { categories: Some(values.iter().map(|value| (*value).to_owned()).collect()), ..Filters::default() }
}

/// The number of a position that the stub gave out.
fn number(after: &Value) -> u64 {
    after.as_str().and_then(|after| after.rsplit('/').next()).map_or(0, |number| number.parse().expect("a number"))
}

/// A shop of `count` products, whose prices are their numbers in dollars.
async fn shelf(count: u64) -> (Stub, TestShop) {
    let stub = Stub::serve(move |asked| match asked.operation.as_str() {
        "Search" | "Browse" => {
            let first = number(&asked.variables["after"]) + 1;
            let last = (first + asked.variables["first"].as_u64().expect("a number") - 1).min(count);
            let products = (first..=last).map(|number| simple(number, &format!("{number}.0"))).collect();
            let mut page = page(products, last < count);
            page["page"]["totalCount"] = json!(count);
            Reply::Data(page)
        }
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    (stub, shop)
}

#[tokio::test(start_paused = true)]
async fn the_api_filters_what_it_can() {
    let (stub, shop) = shelf(1).await;
    let filters = |filters: Filters, country: &'static str, query: Option<&str>| {
        let request = search::Request {
            query: query.map(str::to_owned),
            filters,
            context: from(country),
            ..search::Request::default()
        };
        let (stub, shop) = (&stub, &shop);
        async move {
            shop.search(&request).await.expect("carried out");
            let operation = if request.query.is_some() { "Search" } else { "Browse" };
            stub.asked(operation).pop().expect("asked").variables
        }
    };
    let everything = Filters { available: Some(true), ..price(1_050, 2_000) };
    let asked = filters(everything.clone(), "US", Some("  red \n shoes\u{202e} ")).await;
    assert_eq!(asked["query"], "red shoes");
    assert_eq!(asked["filters"], json!([{ "available": true }, { "price": { "min": 10.5, "max": 20.0 } }]));
    assert_eq!(
        (&asked["unavailable"], &asked["country"], &asked["language"], &asked["tags"]),
        (&json!("HIDE"), &json!("US"), &json!("EN"), &json!(false))
    );
    assert_eq!(filters(price(7, 7), "JP", Some("x")).await["filters"], json!([{ "price": { "min": 7, "max": 7 } }]));
    let asked = filters(everything.clone(), "US", None).await;
    assert_eq!(asked["query"], "available_for_sale:true AND variants.price:>=10.5 AND variants.price:<=20.0");
    // Prices in a list are the shop's own, whatever the buyer is shown.
    assert_eq!(filters(everything, "DE", None).await["query"], "available_for_sale:true");

    assert_eq!(
        filters(categories(&["zapatos nino"]), "US", Some("x")).await["filters"],
        json!([{ "productType": "Zapatos Niño" }])
    );
    assert_eq!(filters(categories(&["Hats", "aa-1"]), "US", Some("x")).await["filters"], json!([]));
    assert_eq!(
        filters(categories(&["aa-1", "hg-3-2"]), "US", Some("x")).await["filters"],
        json!([{ "category": { "id": "gid://shopify/TaxonomyCategory/aa-1" } }, { "category": { "id": "gid://shopify/TaxonomyCategory/hg-3-2" } }])
    );
    assert_eq!(
        filters(categories(&["a \"QUOTED\\type", "Hats\" OR tag:x"]), "US", None).await["query"],
        r#"(product_type:"A \"quoted\\type" OR product_type:"hats\" or tag:x")"#
    );
    assert_eq!(filters(categories(&["aa-1"]), "US", None).await["query"], "");
}

#[tokio::test(start_paused = true)]
async fn a_price_filter_in_a_currency_without_a_country_is_one_of_a_country_that_has_it() {
    let stub = Stub::serve(|asked| match asked.operation.as_str() {
        "Search" => {
            let mut node = simple(1, "15.0");
            let country = asked.variables["country"].as_str();
            let currency = if country == Some("DE") { "EUR" } else { "USD" };
            for price in [
                "/featured/price",
                "/variants/nodes/0/price",
                "/priceRange/minVariantPrice",
                "/priceRange/maxVariantPrice",
            ] {
                node.pointer_mut(price).expect("a price")["currencyCode"] = json!(currency);
            }
            Reply::Data(page(vec![node], false))
        }
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let found = async |country: Option<&str>, currency: &str| {
        let context =
            Context { country: country.map(str::to_owned), currency: Some(currency.to_owned()), ..Context::default() };
        let request = search::Request { filters: price(1_000, 2_000), context, ..words("x") };
        let found = shop.search(&request).await.expect("carried out");
        let prices: Vec<_> =
            found.products.iter().map(|listing| listing.product.variants[0].price.currency.to_string()).collect();
        (prices, found.messages.len())
    };
    assert_eq!(found(None, "EUR").await, (vec!["EUR".to_owned()], 0));
    let asked = stub.asked("Search");
    assert_eq!(
        (&asked[0].variables["country"], &asked[0].variables["filters"][0]["price"]["min"]),
        (&json!("DE"), &json!(10.0))
    );
    // A country that has another one decides, and a currency that no country has is told about.
    assert_eq!(found(Some("US"), "EUR").await, (vec!["USD".to_owned()], 1));
    assert_eq!(found(None, "CHF").await, (vec!["USD".to_owned()], 1));
}

#[tokio::test(start_paused = true)]
async fn filters_that_the_shop_ignores_are_applied_here() {
    let (stub, shop) = shelf(200).await;
    let request = search::Request { limit: Some(4), ..browse(price(900, 2_300)) };
    let first = shop.search(&request).await.expect("carried out");
    // A page of twenty, though four products were asked for: fewer would have found less.
    assert_eq!((ids(&first.products), first.total), (vec!["9", "10", "11", "12"], None));
    assert_eq!(stub.asked("Browse").iter().map(|asked| asked.variables["first"].clone()).collect::<Vec<_>>(), [20]);
    let second = search::Request { cursor: first.cursor, limit: Some(9), ..request.clone() };
    let second = shop.search(&second).await.expect("carried out");
    assert_eq!(ids(&second.products), ["13", "14", "15", "16", "17", "18", "19", "20", "21"]);
    let third = search::Request { cursor: second.cursor, limit: Some(9), ..request.clone() };
    let third = shop.search(&third).await.expect("carried out");
    assert_eq!(ids(&third.products), ["22", "23"]);
    // A page may be empty although others follow: nobody searches the whole shop for one page.
    let nothing = search::Request { limit: Some(2), ..browse(price(19_000, 19_000)) };
    let found = shop.search(&nothing).await.expect("carried out");
    assert!(found.products.is_empty() && found.cursor.is_some());
}

#[tokio::test(start_paused = true)]
async fn pages_of_the_api_make_pages_of_any_size() {
    let (stub, shop) = shelf(47).await;
    let mut request = search::Request { limit: Some(50), ..words("x") };
    let all = shop.search(&request).await.expect("carried out");
    assert_eq!((all.products.len(), all.cursor.is_none(), all.total), (47, true, Some(47)));
    let firsts: Vec<_> = stub.asked("Search").iter().map(|asked| asked.variables["first"].clone()).collect();
    assert_eq!(firsts, [20, 20, 20]);
    let mut seen = Vec::new();
    for limit in [7, 1, 20, 30] {
        request.limit = Some(limit);
        let found = shop.search(&request).await.expect("carried out");
        seen.extend(ids(&found.products).iter().map(|id| id.parse::<u64>().expect("a number")));
        request.cursor = found.cursor;
    }
    assert_eq!((seen, request.cursor), ((1..=47).collect(), None));
}

#[tokio::test(start_paused = true)]
async fn a_variant_that_passes_is_found_among_those_that_a_listing_does_not_hold() {
    let stub = Stub::serve(|asked| {
        let sized = |number, size: &str, amount: &str| variant(number, &[("Size", size)], amount);
        match asked.operation.as_str() {
            "Search" => {
                let mut large = card(1, &[("Size", &["S", "M", "L"])], &[sized(1, "S", "10.0")], true);
                large["encodedVariantExistence"] = json!("v1_0-2");
                large["encodedVariantAvailability"] = json!("v1_0-2");
                Reply::Data(page(vec![large], false))
            }
            "Variants" => Reply::Data(json!({ "product": { "variants": {
                "pageInfo": { "hasNextPage": false, "endCursor": null },
                "nodes": [sized(1, "S", "10.0"), sized(2, "M", "20.0"), sized(3, "L", "30.0")],
            } } })),
            _ => Reply::Usual,
        }
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let request = search::Request { filters: price(2_500, 3_500), ..words("x") };
    let found = shop.search(&request).await.expect("carried out");
    let listing = &found.products[0];
    assert_eq!(listing.product.variants[listing.variants[0].position].price.amount.minor(), 3_000);
    // Its prices lie elsewhere altogether: nothing has to be read for that.
    let request = search::Request { filters: price(10_000, 20_000), ..words("x") };
    assert!(shop.search(&request).await.expect("carried out").products.is_empty());
    assert_eq!(stub.asked("Variants").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_was_found_before_a_failure_is_an_answer() {
    let stub = Stub::serve(|asked| match (asked.operation.as_str(), number(&asked.variables["after"])) {
        ("Search", 0) => Reply::Data(page((1..=20).map(|number| simple(number, "1.0")).collect(), true)),
        ("Search", _) => Reply::Other(500, vec![], "sorry".into()),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let mut request = search::Request { limit: Some(30), ..words("x") };
    let found = shop.search(&request).await.expect("carried out");
    assert_eq!(found.products.len(), 20);
    request.cursor = found.cursor;
    assert!(request.cursor.is_some());
    let refusal = shop.search(&request).await.expect_err("refused");
    assert_eq!((refusal.code, refusal.retry_after.is_some()), (Code::Unavailable, true));
}

#[tokio::test(start_paused = true)]
async fn positions_that_lead_nowhere_are_not_followed() {
    // One that the shop no longer knows.
    let lost = AtomicBool::new(false);
    let stub = Stub::serve(move |asked| match asked.operation.as_str() {
        "Search" if lost.swap(true, Ordering::Relaxed) => Reply::Document(json!({
            "data": null, "errors": [{ "message": "Invalid cursor for current pagination sort.", "extensions": { "code": "BAD_REQUEST" } }],
        })),
        "Search" => Reply::Data(page(vec![simple(1, "1.0")], true)),
        _ => Reply::Usual,
    })
    .await;
    let shop = TestShop::behind(&stub).await;
    let mut request = search::Request { limit: Some(1), ..words("x") };
    request.cursor = shop.search(&request).await.expect("carried out").cursor;
    let refusal = shop.search(&request).await.expect_err("refused");
    assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidCursor, Some("$.pagination.cursor")));

    // One that stays where it is, and one that is no text to hand out.
    for cursor in ["same".to_owned(), "x".repeat(5_000), String::new()] {
        let calls = std::sync::Arc::new(AtomicUsize::new(0));
        let (counted, own) = (std::sync::Arc::clone(&calls), cursor.clone());
        let stub = Stub::serve(move |asked| match asked.operation.as_str() {
            "Search" => {
                counted.fetch_add(1, Ordering::Relaxed);
                let mut page = page(vec![simple(1, "1.0")], true);
                page["page"]["edges"][0]["cursor"] = json!(own);
                Reply::Data(page)
            }
            _ => Reply::Usual,
        })
        .await;
        let shop = TestShop::behind(&stub).await;
        let found = shop.search(&search::Request { limit: Some(50), ..words("x") }).await.expect("carried out");
        assert_eq!(found.cursor, None, "{}", cursor.len());
        assert!(calls.load(Ordering::Relaxed) <= 2);
    }
}
