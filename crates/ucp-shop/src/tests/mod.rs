//! Tests of the shop as a whole, on real directories.

mod damage;
mod filtering;
mod killing;
mod lookups;
mod meaning;
mod paging;
mod searching;
mod shops;
mod stock;
mod storing;

use std::path::Path;

use jiff::Timestamp;
use serde_json::{Value, json};
use ucp_core::{
    catalog::{
        filter::Criteria,
        market::{Market, Presentation},
        record::Record,
    },
    ports::{Catalog as _, Match, Named, Page, Query, caller::BuyerSignals},
};
use ucp_sqlite::{Put, Rejected};

use crate::{EmbeddedShop, Opening, Options};

fn market() -> Market {
    serde_json::from_str(
        r#"{"name":"Example","currency":"USD","currencies":["EUR","JPY"],"language":"en","languages":["es"]}"#,
    )
    .expect("a market")
}

fn opening(records: &[Record]) -> Opening {
    Opening { records: records.to_vec(), ..Opening::of(market()) }
}

fn record(value: Value) -> Record {
    serde_json::from_value(value).expect("a record")
}

/// A product with one variant.
fn simple(id: &str, title: &str) -> Record {
    record(json!({
        "id": id, "title": title, "description": {"plain": "Nothing more to say."},
        "variants": [{"id": format!("{id}-v"), "price": {"amount": 1_000, "currency": "USD"}}],
    }))
}

fn open(directory: &Path) -> EmbeddedShop {
    EmbeddedShop::open_or_create(&Options::new(directory), || opening(&[])).expect("opens")
}

fn open_with(directory: &Path, records: &[Record]) -> EmbeddedShop {
    EmbeddedShop::open_or_create(&Options::new(directory), || opening(records)).expect("opens")
}

async fn put(shop: &EmbeddedShop, records: &[Record]) -> Vec<Result<Put, Rejected>> {
    shop.put(records.to_vec(), Timestamp::UNIX_EPOCH).await.expect("puts")
}

fn presentation(language: &str, currency: &str) -> Presentation {
    Presentation {
        language: language.into(),
        currency: currency.parse().expect("a currency"),
        country: None,
        customer_group: None,
    }
}

/// Returns the matches of each identifier, which a shop of its own can always tell.
async fn named(shop: &EmbeddedShop, ids: &[&str], presentation: &Presentation) -> Vec<Vec<Match>> {
    let found = shop.resolve(ids, presentation, &BuyerSignals::default()).await.expect("resolves");
    let matches = |named: Named| match named {
        Named::Found(matches) => matches,
        other => panic!("the shop was not asked: {other:?}"),
    };
    found.into_iter().map(matches).collect()
}

fn query(text: Option<&str>) -> Query {
    Query {
        text: text.map(str::to_owned),
        intent: None,
        criteria: Criteria::default(),
        presentation: presentation("en", "USD"),
        limit: 50,
        after: None,
    }
}

fn ids(page: &Page) -> Vec<&str> {
    page.products.iter().map(|product| product.id.as_str()).collect()
}

async fn search(shop: &EmbeddedShop, text: &str) -> Vec<String> {
    let page = shop.find(&query(Some(text)), &BuyerSignals::default()).await.expect("finds");
    ids(&page).into_iter().map(str::to_owned).collect()
}

/// More pages than any query of these tests has.
const PAGES: usize = 10_000;

/// Every product that a query finds, page by page.
async fn all_pages(shop: &EmbeddedShop, mut query: Query) -> Vec<String> {
    let mut found = Vec::new();
    for _ in 0..PAGES {
        let page = shop.find(&query, &BuyerSignals::default()).await.expect("finds");
        found.extend(ids(&page).into_iter().map(str::to_owned));
        match page.next {
            Some(next) => query.after = Some(next),
            None => return found,
        }
    }
    panic!("{PAGES} pages, and no end of them");
}
