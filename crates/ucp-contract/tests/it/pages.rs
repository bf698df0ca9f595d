//! Pages made of pages: caps, filters, products that disappear, failures.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use proptest::{prelude::*, test_runner::TestRunner};
use serde_json::{Value, json};
use tokio::time::Instant;
use ucp_contract::{ContractShop, Question, Reply, Transport};
use ucp_core::{
    Code, Refusal,
    browse::search::search,
    catalog::{
        filter::{Filters, PriceFilter},
        search,
    },
    money::Amount,
    ports::caller::BuyerSignals,
};
use ucp_net::{Counters, Failure, coalescing::Capacity};
use ucp_testkit::shelf::PlainCursors;

/// Numbering of pages at the shop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    /// By the last product of the page before.
    Last,
    /// By the number of products before.
    Offset,
    /// By the number of the page, of the size that was asked for.
    Number,
}

/// A shop of many products, each of which has its number for a price, and pages of at most `cap`.
struct Shelf {
    style: Style,
    cap: usize,
    /// Numbers of the products that are there.
    there: Mutex<BTreeSet<usize>>,
    /// Numbers of the questions that fail.
    fails: Vec<usize>,
    asked: Mutex<Vec<Value>>,
    counters: Arc<Counters>,
}

impl Shelf {
    fn new(style: Style, count: usize, cap: usize, fails: &[usize]) -> Arc<Self> {
        let (there, fails) = (Mutex::new((1..=count).collect()), fails.to_vec());
        Arc::new(Self { style, cap, there, fails, asked: Mutex::default(), counters: Arc::default() })
    }

    fn asked(&self) -> usize {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn delete(&self, number: usize) {
        self.there.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }

    /// Connects a gateway that keeps no answer from one call to the next.
    async fn connect(self: &Arc<Self>) -> (ContractShop, Arc<AtomicU64>) {
        let ahead = Arc::new(AtomicU64::new(0));
        let own = Arc::clone(&ahead);
        let clock = Arc::new(move || Instant::now() + Duration::from_secs(own.load(Ordering::Relaxed)));
        let (transport, now) = (Arc::clone(self) as Arc<dyn Transport>, ucp_testkit::Clock::default().port());
        let shop = ContractShop::connect(transport, Capacity::default(), clock, now, None).await.expect("a shop");
        (shop, ahead)
    }

    fn find(&self, asked: &Value) -> Value {
        let there: Vec<usize> = self.there.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let size = usize::try_from(asked["limit"].as_u64().expect("a limit")).expect("a size").min(self.cap);
        let after: usize = asked["after"].as_str().map_or(0, |after| after.parse().expect("a position"));
        let begin = match self.style {
            Style::Last => there.iter().filter(|number| **number <= after).count(),
            Style::Offset => after,
            Style::Number => after * size,
        };
        let page: Vec<usize> = there.iter().skip(begin).take(size).copied().collect();
        let next = match self.style {
            Style::Last => page.last().copied().unwrap_or(after),
            Style::Offset => begin + page.len(),
            Style::Number => after + 1,
        };
        let products = page.iter().map(|number| {
            let price = json!({ "amount": number, "currency": "EUR" });
            json!({ "id": format!("p{number}"), "title": format!("Product {number}"), "description": { "plain": "Good." }, "variants": [{ "id": format!("v{number}"), "price": price }] })
        });
        let more = begin + page.len() < there.len();
        json!({ "products": products.collect::<Vec<_>>(), "next": more.then(|| next.to_string()) })
    }
}

#[async_trait]
impl Transport for Shelf {
    async fn ask(&self, question: Question, body: Bytes) -> Result<Reply, Failure> {
        let asked: Value = serde_json::from_slice(&body).expect("JSON");
        let answer = match question {
            Question::Backend => {
                json!({ "contract": "1", "market": { "name": "Shelf", "currency": "EUR", "language": "en" } })
            }
            Question::Find => {
                let number = {
                    let mut all = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
                    all.push(asked.clone());
                    all.len() - 1
                };
                if self.fails.contains(&number) {
                    return Err(Failure::Broken { sent: true });
                }
                self.find(&asked)
            }
            other => panic!("nobody asks {other:?}"),
        };
        Ok(Reply::Answer(answer.to_string().into()))
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

/// Prices from `min` to `max`.
fn priced(min: i64, max: i64) -> search::Request {
    let price = Some(PriceFilter { min: Amount::new(min), max: Amount::new(max) });
    search::Request { filters: Filters { price, ..Filters::default() }, ..search::Request::default() }
}

async fn page(shop: &ContractShop, request: &search::Request) -> Result<(Vec<usize>, Option<String>), Refusal> {
    let found = search(shop, &PlainCursors, request, &BuyerSignals::default()).await?;
    let number = |id: &str| id.trim_start_matches('p').parse().expect("a number");
    Ok((found.products.iter().map(|found| number(&found.product.id)).collect(), found.cursor))
}

/// All that is found, page by page, with these sizes in turn; between two pages `between` is told their number.
async fn all(shelf: &Arc<Shelf>, mut request: search::Request, sizes: &[usize], between: impl Fn(usize)) -> Vec<usize> {
    let (shop, ahead) = shelf.connect().await;
    let mut found = Vec::new();
    for number in 0..1_000 {
        request.limit = Some(sizes[number % sizes.len()]);
        let (numbers, cursor) = page(&shop, &request).await.expect("a page");
        assert!(numbers.len() <= sizes[number % sizes.len()]);
        found.extend(numbers);
        if cursor.is_none() {
            return found;
        }
        request.cursor = cursor;
        ahead.fetch_add(10_000, Ordering::Relaxed);
        between(number);
    }
    panic!("the pages have no end");
}

#[test]
fn each_match_is_found_once_whatever_the_shop_does() {
    let style = prop_oneof![Just(Style::Last), Just(Style::Offset), Just(Style::Number)];
    let shops = (style, 0_usize..120, 1_usize..60, prop::collection::vec(1_usize..=50, 1..5));
    let filters = (any::<bool>(), 1_i64..120, 1_i64..120);
    let deleted = prop::collection::vec(1_usize..120, 0..20);
    let result = TestRunner::new(ProptestConfig::with_cases(300)).run(
        &(shops, filters, deleted),
        |((style, count, cap, sizes), (is_filtered, one, other), deleted)| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
            let shelf = Shelf::new(style, count, cap, &[]);
            let (min, max) = (one.min(other), one.max(other));
            let request = if is_filtered {
                priced(min, max)
            } else {
                search::Request { query: Some("*".into()), ..search::Request::default() }
            };
            // A shop that counts loses its place when something disappears.
            let deleted = if style == Style::Last { deleted } else { Vec::new() };
            let found = runtime.block_on(all(&shelf, request, &sizes, |number| {
                if let Some(gone) = deleted.get(number) {
                    shelf.delete(*gone);
                }
            }));
            let matches = |number: &usize| !is_filtered || (min..=max).contains(&i64::try_from(*number).unwrap_or(0));
            let expected: Vec<usize> = (1..=count).filter(matches).collect();
            let kept =
                |numbers: &[usize]| numbers.iter().filter(|own| !deleted.contains(own)).copied().collect::<Vec<_>>();
            prop_assert_eq!(kept(&found), kept(&expected));
            let once: BTreeSet<_> = found.iter().collect();
            prop_assert_eq!(once.len(), found.len());
            Ok(())
        },
    );
    result.unwrap_or_else(|broken| panic!("{broken}"));
}

#[tokio::test]
async fn pages_that_few_products_pass_are_filled() {
    let shelf = Shelf::new(Style::Number, 400, 50, &[]);
    let (shop, _) = shelf.connect().await;
    let (found, cursor) = page(&shop, &search::Request { limit: Some(5), ..priced(311, 400) }).await.expect("a page");
    assert_eq!((found, cursor.is_some()), ((311..=315).collect(), true));
    assert_eq!(shelf.asked(), 7);
    // Within bounds: nobody reads a whole shop for one page.
    let shelf = Shelf::new(Style::Number, 4_000, 50, &[]);
    let (shop, _) = shelf.connect().await;
    let (found, cursor) = page(&shop, &priced(3_000, 4_000)).await.expect("a page");
    assert_eq!((found.len(), cursor.is_some(), shelf.asked()), (0, true, 8));
}

#[tokio::test]
async fn a_shop_that_fails_has_not_said_that_there_is_nothing() {
    // The first page has nothing that passes, and the second fails.
    let shelf = Shelf::new(Style::Number, 200, 50, &[1]);
    let (shop, _) = shelf.connect().await;
    assert_eq!(page(&shop, &priced(120, 200)).await.expect_err("nobody knows").code, Code::Unavailable);
    // Earlier results are a response, and the next page continues where it stopped.
    let shelf = Shelf::new(Style::Number, 200, 50, &[1]);
    let (shop, _) = shelf.connect().await;
    let (found, cursor) = page(&shop, &search::Request { limit: Some(20), ..priced(41, 200) }).await.expect("a page");
    assert_eq!(found, (41..=50).collect::<Vec<_>>());
    let next = search::Request { limit: Some(20), cursor, ..priced(41, 200) };
    assert_eq!(page(&shop, &next).await.expect("a page").0, (51..=70).collect::<Vec<_>>());
}
