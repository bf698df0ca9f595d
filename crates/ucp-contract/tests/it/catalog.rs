//! Products that can be used and others, positions, what is kept while the shop is down.

use std::{sync::Arc, time::Duration};

use serde_json::{Value, json};
use ucp_contract::{ContractShop, Question, Transport};
use ucp_core::{
    browse::{lookup::lookup, search::search},
    catalog::{Context, lookup, search},
    ports::{Catalog as _, caller::BuyerSignals},
};
use ucp_net::{Failure, coalescing::Capacity};
use ucp_testkit::shelf::PlainCursors;

use crate::stall::Stall;

async fn found(shop: &ContractShop, words: &str) -> Vec<String> {
    let request = search::Request { query: Some(words.into()), ..Default::default() };
    let page = search(shop, &PlainCursors, &request, &BuyerSignals::default()).await.expect("a page");
    page.products.iter().map(|found| found.product.id.clone()).collect()
}

#[tokio::test]
async fn a_product_that_cannot_be_sold_is_left_out_and_counted() {
    for spoil in [
        (|product| product["variants"] = json!([])) as fn(&mut Value),
        |product| product["variants"][0]["price"]["currency"] = json!("USD"),
        |product| product["variants"][0]["price"]["amount"] = json!(2.9),
        |product| product["variants"][0]["price"]["currency"] = json!("XXZ"),
        |product| product["variants"][0]["price"] = json!(null),
        |product| product["title"] = json!(" \u{200b}"),
        |product| product["id"] = json!("apples"),
        |product| *product = json!("pears"),
    ] {
        let stall = Stall::new();
        let shop = stall.connect().await;
        stall.spoil_one(Question::Find, move |answer| spoil(&mut answer["products"][1]));
        assert_eq!(found(&shop, "ripe").await, ["apples", "plums"]);
        let counted = serde_json::to_value(shop.counters().snapshot()).expect("JSON").to_string();
        assert!(counted.contains("products left out"), "{counted}");
    }
}

#[tokio::test]
async fn markup_and_hidden_characters_of_a_shop_go_nowhere() {
    let stall = Stall::new();
    let shop = stall.connect().await;
    stall.spoil_one(Question::Find, |answer| {
        answer["products"][0]["title"] = json!("Ripe\u{202e} apples");
        answer["products"][0]["description"] = json!({ "html": "<p>From <script>evil()</script>the orchard</p>" });
    });
    let request = search::Request { query: Some("apples".into()), ..Default::default() };
    let page = search(&shop, &PlainCursors, &request, &BuyerSignals::default()).await.expect("a page");
    let product = &page.products[0].product;
    assert_eq!(product.title, "Ripe apples");
    assert_eq!(product.description.plain.as_deref(), Some("From the orchard"));
}

#[tokio::test]
async fn a_position_that_does_not_advance_ends_the_result() {
    let stall = Stall::new();
    let shop = stall.connect().await;
    stall.spoil_one(Question::Find, |answer| {
        answer["products"] = json!([]);
        answer["next"] = json!("apples");
    });
    assert!(found(&shop, "ripe").await.is_empty());
    assert!(stall.times(Question::Find) <= 3);
}

#[tokio::test]
async fn identifiers_name_products_variants_and_skus() {
    let stall = Stall::new();
    let shop = stall.connect().await;
    let ids = ["apples", "pears-kg", "PLUMS", "bananas"].map(str::to_owned).to_vec();
    let request = lookup::Request { ids, ..Default::default() };
    let answer = lookup(&shop, &request, &BuyerSignals::default()).await.expect("an answer");
    assert_eq!((answer.products.len(), answer.messages.len()), (3, 1));
    assert_eq!(stall.times(Question::Resolve), 1, "one question for all of them");
}

#[tokio::test]
async fn a_shop_that_is_down_is_what_it_said_last() {
    let stall = Stall::new();
    let document = stall.connect().await.document().expect("what it said");
    stall.spoil(|_, _, _| Err(Failure::Connect));
    let connect = |last| {
        let transport = Arc::clone(&stall) as Arc<dyn Transport>;
        let (clock, now) = (Arc::new(tokio::time::Instant::now), ucp_testkit::Clock::default().port());
        ContractShop::connect(transport, Capacity::default(), clock, now, last)
    };
    assert!(connect(None).await.expect_err("nothing is known of it").is_passing());
    let shop = connect(Some(document)).await.expect("what is known");
    assert_eq!((shop.market().name.as_str(), shop.document()), ("Stall", None));
}

/// The two oldest releases ask for URLs.
#[tokio::test]
async fn a_payment_without_urls_has_those_that_its_name_stands_for() {
    let declared = Stall::new().connect().await.declarations();
    let urls: Vec<_> = declared.iter().map(|handler| (handler.spec.as_str(), handler.schema.as_str())).collect();
    assert_eq!(urls, [("https://example.com/stall", "https://example.com/stall")]);
}

#[tokio::test]
async fn what_a_shop_says_about_itself_has_to_be_usable() {
    for (spoil, named) in [
        ((|answer| answer["contract"] = json!("2")) as fn(&mut Value), "contract"),
        (|answer| answer["market"]["name"] = json!(""), "market.name"),
        (|answer| answer["payment_handlers"][0]["instruments"] = json!([]), "stall"),
    ] {
        let stall = Stall::new();
        stall.spoil_one(Question::Backend, spoil);
        let transport = Arc::clone(&stall) as Arc<dyn Transport>;
        let (clock, now) = (Arc::new(tokio::time::Instant::now), ucp_testkit::Clock::default().port());
        let error =
            ContractShop::connect(transport, Capacity::default(), clock, now, None).await.expect_err("unusable");
        assert!(!error.is_passing() && error.to_string().contains(named), "{error}");
    }
}

#[tokio::test]
async fn what_is_kept_for_one_customer_group_is_shown_to_no_other() {
    let stall = Stall::new();
    let shop = stall.connect().await;
    stall.spoil(|question, asked, mut answer| {
        if question == Question::Resolve && asked["context"]["customer_group"] == "trade" {
            answer["products"][0]["variants"][0]["price"]["amount"] = json!(200);
        }
        Ok(Some(answer))
    });
    let groups = [(None, 290), (Some("trade"), 200), (None, 290), (Some("trade"), 200), (Some("florists"), 290)];
    for (group, cents) in groups {
        let context = Context { customer_group: group.map(str::to_owned), ..Context::default() };
        let request = lookup::Request { ids: vec!["apples".into()], context, ..lookup::Request::default() };
        let resolved = lookup(&shop, &request, &BuyerSignals::default()).await.expect("products");
        assert_eq!(resolved.products[0].product.variants[0].price.amount.minor(), cents, "{group:?}");
    }
    assert_eq!(stall.times(Question::Resolve), 3);
}

/// Has the stall state prices in dollars to buyers who are shown them.
fn dollars(stall: &Stall) {
    stall.spoil(|question, asked, mut answer| {
        if question == Question::Backend {
            answer["market"]["currencies"] = json!(["USD"]);
            answer["market"]["countries"] = json!({ "US": "USD" });
        }
        if asked["context"]["currency"] == "USD" {
            for product in answer["products"].as_array_mut().into_iter().flatten() {
                let price = &mut product["variants"][0]["price"];
                *price = json!({ "amount": price["amount"].as_i64().unwrap_or(0) + 1_000, "currency": "USD" });
            }
        }
        Ok(Some(answer))
    });
}

#[tokio::test]
async fn products_may_be_priced_in_the_currency_of_the_buyer_alone() {
    let stall = Stall::new();
    dollars(&stall);
    let shop = stall.connect().await;
    for (currency, expected) in [("USD", ("USD", 1_290)), ("EUR", ("EUR", 290)), ("GBP", ("EUR", 290))] {
        let context = Context { currency: Some(currency.to_owned()), ..Context::default() };
        let request = search::Request { query: Some("apples".into()), context, ..search::Request::default() };
        let page = search(&shop, &PlainCursors, &request, &BuyerSignals::default()).await.expect("a page");
        let price = page.products[0].product.variants[0].price;
        assert_eq!((price.currency.as_str(), price.amount.minor()), expected, "{currency}");
    }
}

#[tokio::test]
async fn a_copy_has_the_prices_of_every_currency() {
    let stall = Stall::new();
    dollars(&stall);
    let shop = stall.connect().await;
    let page = shop.page_of_all(None, None, 2).await.expect("a page").expect("the first one");
    let stated = shop.stated(&["plums".to_owned()]).await.expect("products");
    for (product, cents) in page.products.iter().chain(&stated).zip([290, 340, 410]) {
        let variant = &product["variants"][0];
        assert_eq!(variant["price"], json!({ "amount": cents, "currency": "EUR" }), "{product}");
        assert_eq!(variant["prices"], json!([{ "amount": cents + 1_000, "currency": "USD" }]), "{product}");
    }
    let asked = stall.state().asked.clone();
    let others = asked.iter().filter(|(_, asked)| asked["context"]["currency"] == "USD");
    let others: Vec<_> = others.map(|(question, asked)| (*question, asked["context"]["country"].clone())).collect();
    assert_eq!(others, [(Question::Resolve, json!("US")), (Question::Resolve, json!("US"))], "one question for a page");
}

#[tokio::test(start_paused = true)]
async fn facts_that_were_kept_state_their_age_until_an_event_about_them() {
    let stall = Stall::new();
    let shop = stall.connect().await;
    let request = search::Request { query: Some("ripe".into()), ..search::Request::default() };
    let said = async || {
        let page = search(&shop, &PlainCursors, &request, &BuyerSignals::default()).await.expect("a page");
        serde_json::to_value(&page.messages).expect("JSON").to_string()
    };
    let looked_up = async || {
        let request = lookup::Request { ids: vec!["apples".into()], ..lookup::Request::default() };
        let found = lookup(&shop, &request, &BuyerSignals::default()).await.expect("an answer");
        serde_json::to_value(&found.messages).expect("JSON").to_string()
    };
    assert!(!said().await.contains("facts_as_of") && !looked_up().await.contains("facts_as_of"));
    tokio::time::advance(Duration::from_secs(15)).await;
    assert!(said().await.contains("facts_as_of") && looked_up().await.contains("facts_as_of"));
    shop.forget(&["bananas".to_owned()]);
    assert!(said().await.contains("facts_as_of"));
    assert_eq!((stall.times(Question::Find), stall.times(Question::Resolve)), (1, 1));
    shop.forget(&["apples".to_owned()]);
    assert!(!said().await.contains("facts_as_of") && !looked_up().await.contains("facts_as_of"));
    assert_eq!((stall.times(Question::Find), stall.times(Question::Resolve)), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn what_is_being_read_when_an_event_arrives_is_not_kept() {
    let stall = Stall::new();
    let shop = stall.connect().await;
    stall.delay(Question::Find, Duration::from_secs(2));
    let event = async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        shop.forget(&["apples".to_owned()]);
    };
    let (first, ()) = tokio::join!(found(&shop, "ripe"), event);
    assert_eq!((first.len(), found(&shop, "ripe").await.len()), (3, 3));
    assert_eq!(stall.times(Question::Find), 2, "it may be older than the event");
    found(&shop, "ripe").await;
    assert_eq!(stall.times(Question::Find), 2);
}
