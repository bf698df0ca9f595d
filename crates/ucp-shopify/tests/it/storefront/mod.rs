//! Goods and carts in front of an upstream that executes Shopify's schema.
//!
//! The upstream is `tests/upstreams/storefront`, whose README lists its goods; `UCP_STOREFRONT_URL` says where it
//! listens. It is asked through the domain's own operations, as a platform would, and through the port where that says
//! more.

mod buying;

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};
use tokio::time::Instant;
use ucp_core::{
    Code,
    browse::{detail::detail, lookup::lookup, search::search},
    catalog::{
        Context,
        detail::{self, Detail},
        filter::{Filters, PriceFilter},
        lookup,
        product::{Product, SelectedOption},
        search,
    },
    message::Message,
    money::Amount,
    outcome::Outcome,
    ports::{Catalog as _, Named, caller::BuyerSignals},
};
use ucp_shopify::{Storefront, Token, catalog::Options};
use ucp_testkit::shelf::PlainCursors;
use url::Url;

const PRIVATE: &str = "private-token-of-the-test-shop";

/// Listen address of the upstream; `None`, with a printed reason, if there is none.
fn address() -> Option<String> {
    let address = std::env::var("UCP_STOREFRONT_URL").ok();
    if address.is_none() {
        println!("skipped: UCP_STOREFRONT_URL does not say where tests/upstreams/storefront listens");
    }
    address
}

/// The shop, as buyers without a token, or the server with one, see it.
async fn shop(token: Token) -> Option<Storefront> {
    Some(behind(&address()?, token).await)
}

async fn behind(address: &str, token: Token) -> Storefront {
    behind_with(address, token, |_| {}).await
}

async fn behind_with(address: &str, token: Token, change: impl FnOnce(&mut ucp_net::Options)) -> Storefront {
    let mut upstream = ucp_net::Options::new("test shop", Url::parse(address).expect("an address"));
    change(&mut upstream);
    let (clock, random) = (Arc::new(Instant::now), Arc::new(|| 0));
    let options = Options::new(upstream, token, clock, random, jiff::Timestamp::now);
    Storefront::connect(options).await.expect("the shop says where it sells")
}

/// Steers the upstream.
async fn post(url: String, body: Value) -> Value {
    let http = reqwest::Client::builder().no_proxy().build().expect("a client");
    let answer = http.post(url).json(&body).send().await.expect("sent");
    assert!(answer.status().is_success(), "{}", answer.status());
    answer.json().await.unwrap_or(Value::Null)
}

/// A shop of its own that misbehaves in this way as soon as it is asked about products.
async fn misbehaving(fault: Value) -> Option<Storefront> {
    let address = address()?;
    let own = post(format!("{address}/shops"), json!({})).await["url"].as_str().expect("an address").to_owned();
    let shop = behind(&own, Token::None).await;
    post(format!("{own}/faults"), fault).await;
    Some(shop)
}

fn product(number: u32) -> String {
    format!("gid://shopify/Product/{number}")
}

fn variant(number: u32, position: u32) -> String {
    format!("gid://shopify/ProductVariant/{number}{position:04}")
}

fn here(country: &str, language: &str) -> Context {
    Context { country: Some(country.into()), languages: vec![language.into()], ..Context::default() }
}

async fn opened(shop: &Storefront, request: detail::Request) -> Detail {
    match detail(shop, &request, &BuyerSignals::default()).await.expect("carried out") {
        Outcome::Answer(detail) => detail,
        other => panic!("{other:?}"),
    }
}

fn choices(selected: &[(&str, &str)]) -> Vec<SelectedOption> {
    selected
        .iter()
        .map(|(name, label)| SelectedOption { name: (*name).into(), id: None, label: (*label).into() })
        .collect()
}

fn titles(products: &[lookup::Listing]) -> Vec<&str> {
    products.iter().map(|listing| listing.product.title.as_str()).collect()
}

/// Nothing in a product is from a merchant who is not to be trusted.
fn assert_safe(product: &Product) {
    let texts =
        [&product.title, product.description.plain.as_ref().expect("a description")].into_iter().chain(&product.tags);
    let labels =
        product.options.iter().flat_map(|axis| axis.values.iter().map(|value| &value.label).chain([&axis.name]));
    let names = product.variants.iter().flat_map(|variant| [&variant.title, &variant.id]);
    // Names are plain text, in which `<` is one; descriptions were markup.
    for text in texts.chain(labels).chain(names) {
        assert_eq!(ucp_core::text::clean(text), *text);
    }
    let description = product.description.plain.as_deref().expect("a description");
    assert!(!description.contains("script") && !description.contains("alert"), "{description}");
    assert_eq!((&product.description.html, &product.description.markdown), (&None, &None));
    let media = product.media.iter().chain(product.variants.iter().flat_map(|variant| &variant.media));
    let urls = product
        .url
        .iter()
        .chain(product.variants.iter().flat_map(|variant| &variant.url))
        .chain(media.map(|media| &media.url));
    for url in urls {
        assert!(url.starts_with("https://"), "{url}");
    }
}

#[tokio::test]
async fn the_market_is_read() {
    let Some(shop) = shop(Token::None).await else { return };
    let market = shop.market();
    assert_eq!((market.currency.as_str(), market.language.as_str(), market.by_country), ("USD", "en", true));
    assert_eq!(market.languages, ["fr", "es"]);
    let countries: Vec<_> =
        market.countries.iter().map(|(country, currency)| format!("{country} {currency}")).collect();
    assert_eq!(countries, ["CA CAD", "DE EUR", "FR EUR", "JP JPY", "KW KWD", "US USD"]);
}

#[tokio::test]
async fn prices_follow_the_country_and_words_the_language() {
    let Some(shop) = shop(Token::None).await else { return };
    for (country, amount, currency) in [
        ("US", 1_250, "USD"),
        ("CA", 1_690, "CAD"),
        ("DE", 1_150, "EUR"),
        ("FR", 1_250, "EUR"),
        ("JP", 1_880, "JPY"),
        ("KW", 3_838, "KWD"),
        ("BR", 1_250, "USD"),
    ] {
        let mug =
            opened(&shop, detail::Request { id: product(1005), context: here(country, "en"), ..Default::default() })
                .await;
        let price = mug.product.variants[0].price;
        assert_eq!((price.amount.minor(), price.currency.as_str()), (amount, currency), "{country}");
        assert!(mug.product.options.is_empty() && mug.product.combinations.is_none());
        assert_eq!(mug.product.variants[0].title, mug.product.title);
    }
    let [english, french] = ["en", "fr-CA"].map(|language| here("US", language));
    let english = opened(&shop, detail::Request { id: product(1003), context: english, ..Default::default() }).await;
    let french = opened(&shop, detail::Request { id: product(1003), context: french, ..Default::default() }).await;
    assert_ne!(english.product.title, french.product.title);
    assert_ne!(english.product.options[0].name, french.product.options[0].name);
}

#[tokio::test]
async fn searches_find_filter_and_page() {
    let Some(shop) = shop(Token::None).await else { return };
    let buyer_signals = BuyerSignals::default();
    let mut seen = BTreeSet::new();
    let mut request = search::Request { query: Some("shirt".into()), limit: Some(3), ..Default::default() };
    let first = search(&shop, &PlainCursors, &request, &buyer_signals).await.expect("carried out");
    let total = first.total.expect("a total");
    let mut page = first;
    loop {
        assert!(page.products.len() <= 3);
        for listing in &page.products {
            assert!(seen.insert(listing.product.id.clone()), "{} is found twice", listing.product.id);
            assert_safe(&listing.product);
        }
        let Some(cursor) = page.cursor else { break };
        request.cursor = Some(cursor);
        page = search(&shop, &PlainCursors, &request, &buyer_signals).await.expect("carried out");
    }
    assert_eq!(seen.len() as u64, total);
    assert!(total > 6, "{total}");

    // More than one page of the upstream's makes one of ours.
    let browse = |filters, limit| search::Request { filters, limit: Some(limit), ..Default::default() };
    let everything = search(
        &shop,
        &PlainCursors,
        &browse(Filters { available: Some(false), ..Default::default() }, 50),
        &buyer_signals,
    )
    .await
    .expect("carried out");
    assert_eq!(everything.products.len(), 50);

    let cheap = PriceFilter { min: Amount::new(500), max: Amount::new(1_300) };
    for query in [None, Some("mug".to_owned())] {
        let filters = Filters { price: Some(cheap), available: Some(true), ..Default::default() };
        let request = search::Request { query, filters, limit: Some(50), ..Default::default() };
        let found = search(&shop, &PlainCursors, &request, &buyer_signals).await.expect("carried out");
        assert!(
            found.products.iter().any(|listing| listing.product.id == product(1005)),
            "{:?}",
            titles(&found.products)
        );
        for listing in &found.products {
            let shown = &listing.product.variants[listing.variants[0].position];
            assert!(
                (500..=1_300).contains(&shown.price.amount.minor()) && shown.availability.available,
                "{}",
                shown.title
            );
        }
    }
}

#[tokio::test]
async fn categories_are_types_or_a_taxonomy() {
    let Some(shop) = shop(Token::None).await else { return };
    let buyer_signals = BuyerSignals::default();
    let posters = Filters { categories: Some(vec!["POSTERS".into()]), ..Default::default() };
    let mut counts = Vec::new();
    for query in [None, Some("poster".to_owned())] {
        let request = search::Request { query, filters: posters.clone(), limit: Some(50), ..Default::default() };
        let found = search(&shop, &PlainCursors, &request, &buyer_signals).await.expect("carried out");
        for listing in &found.products {
            assert!(
                listing.product.categories.iter().any(|category| category.value == "Posters"),
                "{}",
                listing.product.title
            );
        }
        counts.push(found.products.len());
    }
    assert!(counts.iter().all(|count| *count > 0), "{counts:?}");
    let all = search(
        &shop,
        &PlainCursors,
        &search::Request { query: Some("shirt".into()), limit: Some(50), ..Default::default() },
        &buyer_signals,
    )
    .await
    .expect("carried out");
    let listed = all.products.iter().find_map(|listing| {
        let ids: Vec<_> = listing
            .product
            .categories
            .iter()
            .filter(|category| category.taxonomy.as_deref() == Some("shopify"))
            .collect();
        ids.iter().any(|category| category.value.matches('-').count() > 1).then(|| ids[0].value.clone())
    });
    let leaf = listed.expect("a shirt is somewhere in the taxonomy");
    for id in [leaf.as_str(), leaf.rsplit_once('-').expect("a level above").0] {
        let filters = Filters { categories: Some(vec![id.into()]), ..Default::default() };
        let request = search::Request { query: Some("shirt".into()), filters, limit: Some(50), ..Default::default() };
        let found = search(&shop, &PlainCursors, &request, &buyer_signals).await.expect("carried out");
        assert!(!found.products.is_empty(), "{id}");
    }
}

#[tokio::test]
async fn lookups_take_any_mixture() {
    let Some(shop) = shop(Token::None).await else { return };
    let mug = opened(&shop, detail::Request { id: product(1005), ..Default::default() }).await;
    let handle = mug.product.handle.clone().expect("a handle");
    let mut ids: Vec<String> = (2001..=2060).map(product).collect();
    ids.extend([
        variant(1003, 1),
        product(1003),
        handle.clone(),
        product(9),
        variant(9, 9),
        "no-such-handle".into(),
        "gid://shopify/Cart/1".into(),
        "gid://shopify/Product/1?x".into(),
        product(1017),
    ]);
    let request = lookup::Request { ids: ids.clone(), ..Default::default() };
    let resolved = lookup(&shop, &request, &BuyerSignals::default()).await.expect("carried out");
    assert_eq!(resolved.products.len(), 62, "{:?}", titles(&resolved.products));
    let missing: Vec<_> = resolved.messages.iter().map(|message| format!("{message:?}")).collect();
    assert_eq!(missing.len(), 6, "{missing:?}");
    let tee = resolved.products.iter().find(|listing| listing.product.id == product(1003)).expect("the tee");
    let inputs: BTreeSet<_> =
        tee.variants.iter().flat_map(|variant| variant.inputs.iter().map(|input| input.id.as_str())).collect();
    assert_eq!(inputs, BTreeSet::from([variant(1003, 1).as_str(), product(1003).as_str()]));
    // A variant beyond those that come with a listing.
    let far = variant(1001, 2_048);
    let named = shop
        .resolve(&[&product(1001), &far], &shop.market().own(), &BuyerSignals::default())
        .await
        .expect("carried out");
    let [Named::Found(by_product), Named::Found(by_variant)] = named.as_slice() else { panic!("{named:?}") };
    assert!(Arc::ptr_eq(&by_product[0].product, &by_variant[0].product));
    assert_eq!(by_variant[0].product.variants.last().map(|variant| &variant.id), Some(&far));
    // Products sold elsewhere.
    let request = lookup::Request { ids: vec![product(1017)], context: here("DE", "en"), ..Default::default() };
    assert_eq!(lookup(&shop, &request, &BuyerSignals::default()).await.expect("carried out").products.len(), 1);
}

#[tokio::test]
async fn two_thousand_variants_are_opened_without_reading_them() {
    let Some(shop) = shop(Token::None).await else { return };
    let selected = choices(&[("Diameter", "M8"), ("Length", "40 mm")]);
    let bolt = opened(&shop, detail::Request { id: product(1001), selected, ..Default::default() }).await;
    let combinations = bolt.product.combinations.as_ref().expect("combinations");
    assert_eq!(combinations.len(), 2_048);
    assert!(combinations.iter().any(|combination| !combination.available));
    assert_eq!((bolt.signals[0].len(), bolt.signals[1].len(), bolt.signals[2].len()), (16, 16, 8));
    assert!(bolt.signals.iter().flatten().all(|signal| signal.exists));
    assert_eq!(bolt.variants.len(), 8, "all finishes of M8 x 40 mm");
    for position in &bolt.variants {
        let title = &bolt.product.variants[*position].title;
        assert!(title.starts_with("M8 / 40 mm / "), "{title}");
    }
    // M3 of 5 mm is sold out in every finish.
    let selected = choices(&[("diameter", "m3"), ("length", "5 MM")]);
    let sold_out = opened(&shop, detail::Request { id: product(1001), selected, ..Default::default() }).await;
    assert!(sold_out.signals[2].iter().all(|signal| signal.exists && !signal.available));
    assert!(sold_out.variants.iter().all(|position| !sold_out.product.variants[*position].availability.available));
    // By the id of a variant that no page of a listing shows.
    let by_variant = opened(&shop, detail::Request { id: variant(1001, 2_048), ..Default::default() }).await;
    assert_eq!(by_variant.product.variants[by_variant.variants[0]].id, variant(1001, 2_048));
    assert_eq!(by_variant.selected.len(), 3);
}

#[tokio::test]
async fn combinations_that_do_not_exist_are_given_up() {
    let Some(shop) = shop(Token::None).await else { return };
    let fabric = opened(&shop, detail::Request { id: product(1002), ..Default::default() }).await;
    let existing: usize = fabric.product.combinations.as_ref().map_or(fabric.product.variants.len(), Vec::len);
    assert_eq!(existing, 185);
    let felt = fabric.product.options.iter().enumerate().find_map(|(axis, option)| {
        option.values.iter().position(|value| value.label == "Felt").map(|value| (axis, value))
    });
    let (axis, value) = felt.expect("a value without a variant");
    let all = opened(
        &shop,
        detail::Request { id: product(1002), selected: choices(&[("No such option", "x")]), ..Default::default() },
    )
    .await;
    assert!(!all.signals[axis][value].exists);
    let name = fabric.product.options[axis].name.clone();
    let relaxed = opened(
        &shop,
        detail::Request { id: product(1002), selected: choices(&[(&name, "Felt")]), ..Default::default() },
    )
    .await;
    assert!(relaxed.selected.is_empty());
    assert!(!relaxed.variants.is_empty());

    let green = opened(
        &shop,
        detail::Request { id: product(1003), selected: choices(&[("Color", "Green")]), ..Default::default() },
    )
    .await;
    let sizes = green.product.options.iter().position(|axis| axis.name == "Size").expect("sizes");
    let large = green.product.options[sizes].values.iter().position(|value| value.label == "XL").expect("XL");
    assert!(!green.signals[sizes][large].exists);
}

#[tokio::test]
async fn peculiar_goods_are_shown_as_they_are() {
    let Some(shop) = shop(Token::private(PRIVATE).ok().unwrap_or(Token::None)).await else { return };
    let open = async |number| {
        opened(
            &shop,
            detail::Request { id: product(number), selected: choices(&[("any", "any")]), ..Default::default() },
        )
        .await
    };
    let statuses = |detail: &Detail| -> BTreeSet<String> {
        detail.product.variants.iter().filter_map(|variant| variant.availability.status.clone()).collect()
    };
    let parka = open(1004).await;
    assert_eq!(statuses(&parka), BTreeSet::from(["backorder".into(), "in_stock".into(), "out_of_stock".into()]));
    assert_eq!(statuses(&open(1006).await), BTreeSet::from(["out_of_stock".into()]));
    let boots = open(1007).await;
    let reduced: Vec<_> = boots.product.variants.iter().filter_map(|variant| variant.list_price).collect();
    assert_eq!(reduced.iter().map(|price| price.amount.minor()).collect::<Vec<_>>(), [10_000]);
    assert_eq!(boots.product.variants[0].price.amount.minor(), 7_020);
    let honey = open(1008).await;
    assert!(honey.product.variants.iter().all(|variant| variant.unit_price.is_some()));
    let lamp = open(1009).await;
    assert_safe(&lamp.product);
    for number in [1010, 1011] {
        assert_eq!(open(number).await.product.url, None);
    }
    let camera = open(1012).await;
    assert_safe(&camera.product);
    let kinds: BTreeSet<_> = camera.product.media.iter().map(|media| media.kind.as_str()).collect();
    assert_eq!(kinds, BTreeSet::from(["image", "model_3d", "video"]));
    let barcodes: BTreeSet<_> =
        camera.product.variants.iter().flat_map(|variant| &variant.barcodes).map(|code| code.kind.as_str()).collect();
    assert_eq!(barcodes, BTreeSet::from(["EAN", "GTIN", "UPC"]));
    assert!(open(1014).await.product.variants.iter().all(|variant| variant.digital));
    // Nobody can subscribe here.
    let coffee = open(1018).await;
    assert!(coffee.product.variants.iter().all(|variant| !variant.availability.available));
    assert!(coffee.product.variants.iter().all(|variant| variant.availability.status.is_none()));
    let stone = open(1015).await;
    assert_eq!(stone.product.description.plain.as_deref(), Some(stone.product.title.as_str()));
    assert_eq!(open(1020).await.product.price_range.min.amount.minor(), 0);
    // With a token there are tags.
    assert!(!open(1003).await.product.tags.is_empty());
}

#[tokio::test]
async fn misbehaviour_is_survived() {
    let ids: Vec<String> = [1003, 1004, 1005].map(product).into();
    for (fault, found, unchecked) in [
        (json!({ "kind": "null_price", "match": "Nodes" }), 0, 0),
        (json!({ "kind": "missing_currency", "match": "Nodes" }), 0, 0),
        (json!({ "kind": "duplicate_variants", "match": "Nodes" }), 3, 0),
        (json!({ "kind": "unknown_enum", "match": "Nodes", "count": null }), 3, 0),
        (json!({ "kind": "partial", "match": "Nodes" }), 2, 1),
        (json!({ "kind": "throttled", "match": "Nodes" }), 3, 0),
        (json!({ "kind": "503", "match": "Nodes" }), 3, 0),
        (json!({ "kind": "reset", "match": "Nodes" }), 3, 0),
        (json!({ "kind": "delay", "delay": 200, "match": "Nodes" }), 3, 0),
    ] {
        let Some(shop) = misbehaving(fault.clone()).await else { return };
        let request = lookup::Request { ids: ids.clone(), ..Default::default() };
        let resolved = lookup(&shop, &request, &BuyerSignals::default()).await.expect("carried out");
        assert_eq!(resolved.products.len(), found, "{fault}");
        let warned = resolved
            .messages
            .iter()
            .filter(|message| matches!(message, Message::Warning { code, .. } if code == "not_checked"));
        assert_eq!(warned.count(), unchecked, "{fault}");
        for listing in &resolved.products {
            let ids: BTreeSet<_> = listing.product.variants.iter().map(|variant| &variant.id).collect();
            assert_eq!(ids.len(), listing.product.variants.len(), "{fault}");
        }
    }
    for kind in ["430", "401", "html", "empty", "truncated", "redirect", "500", "huge"] {
        let Some(shop) = misbehaving(json!({ "kind": kind, "match": "Nodes", "count": null })).await else { return };
        let request = lookup::Request { ids: ids.clone(), ..Default::default() };
        let refusal = lookup(&shop, &request, &BuyerSignals::default()).await.expect_err("refused");
        assert_eq!((refusal.code, refusal.retry_after.is_some()), (Code::Unavailable, true), "{kind}");
    }
}
