//! Copies of shops that change while they are read.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use async_trait::async_trait;
use bytes::Bytes;
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::{runtime::Runtime, time::Instant};
use ucp_contract::{ContractShop, Question, Reply, Transport};
use ucp_core::catalog::market::Market;
use ucp_net::{Counters, Failure, coalescing::Capacity};
use ucp_shop::{Database, Opening};

use crate::{Feed, Options, Ran, Source, SyncError, Synchroniser, state::Kind};

/// Form in which a shop says where a page begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Paging {
    /// By the number of products before.
    Offset,
    /// By the number of pages before.
    Number,
    /// By the last product of the page before.
    Cursor,
}

/// Change at the shop between two pages.
#[derive(Clone, Debug)]
enum Act {
    /// Products at these places are deleted.
    Delete(Vec<usize>),
    /// Products are inserted before these places.
    Insert(Vec<usize>),
    /// The prices of products at these places change, of which the shop tells.
    Price(Vec<usize>),
}

#[derive(Default)]
struct Goods {
    /// Number and price of each product, in the order of the pages.
    products: Vec<(u32, u64)>,
    inserted: u32,
    /// Changes after each page.
    acts: VecDeque<Act>,
    /// Products that `/resolve` names no variants of.
    emptied: BTreeSet<u32>,
    /// `true` if `/resolve` is no path of the shop, or the shop knows no products there.
    unresolved: bool,
    forgotten: bool,
    resolved: usize,
}

/// A shop whose pages hold at most `cap` products.
struct Shelf {
    goods: Mutex<Goods>,
    paging: Paging,
    cap: usize,
    /// Database to which events are written.
    database: Mutex<Option<Arc<Database>>>,
    counters: Arc<Counters>,
}

fn product(number: u32, price: u64) -> Value {
    json!({
        "id": format!("p{number}"), "title": format!("Product {number}"), "description": {"plain": "A product."},
        "variants": [{"id": format!("v{number}"), "price": {"amount": price, "currency": "EUR"}}],
    })
}

impl Shelf {
    fn goods(&self) -> MutexGuard<'_, Goods> {
        self.goods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, asked: &Value) -> Value {
        let mut goods = self.goods();
        let size = usize::try_from(asked["limit"].as_u64().expect("a limit")).expect("a size").min(self.cap);
        let after: usize = asked["after"].as_str().map_or(0, |after| after.parse().expect("a position"));
        let begin = match self.paging {
            Paging::Offset => after,
            Paging::Number => after * size,
            Paging::Cursor => goods.products.iter().filter(|(number, _)| (*number as usize) < after).count(),
        };
        let page: Vec<_> = goods.products.iter().skip(begin).take(size).copied().collect();
        let next = match self.paging {
            Paging::Offset => begin + page.len(),
            Paging::Number => after + 1,
            Paging::Cursor => page.last().map_or(0, |(number, _)| *number as usize + 1),
        };
        let more = begin + page.len() < goods.products.len();
        let total = goods.products.len();
        let products: Vec<_> = page.iter().map(|(number, price)| product(*number, *price)).collect();
        if more && let Some(act) = goods.acts.pop_front() {
            drop(goods);
            self.act(&act);
        }
        json!({ "products": products, "next": more.then(|| next.to_string()), "total": total })
    }

    fn act(&self, act: &Act) {
        let mut goods = self.goods();
        match act {
            Act::Delete(places) => {
                for place in places {
                    if !goods.products.is_empty() {
                        let place = place % goods.products.len();
                        goods.products.remove(place);
                    }
                }
            }
            Act::Insert(places) => {
                for place in places {
                    let number = 100_000 + goods.inserted;
                    goods.inserted += 1;
                    // Positions that name products stay in their order.
                    let place = if self.paging == Paging::Cursor {
                        goods.products.len()
                    } else {
                        place % (goods.products.len() + 1)
                    };
                    goods.products.insert(place, (number, 100));
                }
            }
            Act::Price(places) => {
                let mut ids = Vec::new();
                for place in places {
                    if !goods.products.is_empty() {
                        let place = place % goods.products.len();
                        goods.products[place].1 += 1;
                        ids.push(format!("p{}", goods.products[place].0));
                    }
                }
                drop(goods);
                self.tell(ids);
            }
        }
    }

    /// Tells of products that have changed.
    fn tell(&self, ids: Vec<String>) {
        let database = self.database.lock().unwrap_or_else(PoisonError::into_inner).clone().expect("a database");
        // The store waits for its writer, which a task must not.
        assert!(thread::spawn(move || database.add_changed(ids, None)).join().expect("no panic").expect("stored"));
    }

    fn resolve(&self, asked: &Value) -> Option<Value> {
        let mut goods = self.goods();
        goods.resolved += 1;
        if goods.unresolved {
            return None;
        }
        let ids: Vec<_> = asked["ids"].as_array().expect("ids").iter().filter_map(Value::as_str).collect();
        let named =
            goods.products.iter().filter(|(number, _)| !goods.forgotten && ids.contains(&&*format!("p{number}")));
        let products = named.map(|(number, price)| {
            let mut product = product(*number, *price);
            if goods.emptied.contains(number) {
                product["variants"] = json!([]);
            }
            product
        });
        Some(json!({ "products": products.collect::<Vec<_>>() }))
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
            Question::Find => self.find(&asked),
            Question::Resolve => match self.resolve(&asked) {
                Some(answer) => answer,
                None => return Ok(Reply::Gone),
            },
            other => panic!("nobody asks {other:?}"),
        };
        Ok(Reply::Answer(answer.to_string().into()))
    }

    fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }
}

fn market() -> Market {
    serde_json::from_value(json!({ "name": "Shelf", "currency": "EUR", "language": "en" })).expect("a market")
}

/// A shop, and a copy of its catalog.
struct Copied {
    shelf: Arc<Shelf>,
    database: Arc<Database>,
    synchroniser: Synchroniser,
    clock: ucp_testkit::Clock,
    directory: TempDir,
}

impl Copied {
    async fn new(paging: Paging, count: u32, cap: usize, page_size: usize, max_loss_percent: u64) -> Self {
        let products = (0..count).map(|number| (number, 100)).collect();
        let shelf = Arc::new(Shelf {
            goods: Mutex::new(Goods { products, ..Goods::default() }),
            paging,
            cap,
            database: Mutex::default(),
            counters: Arc::default(),
        });
        let directory = tempfile::tempdir().expect("a directory");
        let database = Database::open_or_create(directory.path(), || Opening::of(market())).expect("opens");
        let database = Arc::new(database);
        *shelf.database.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&database));
        let clock = ucp_testkit::Clock::default();
        let transport = Arc::clone(&shelf) as Arc<dyn Transport>;
        let shop =
            ContractShop::connect(transport, Capacity::default(), Arc::new(Instant::now), clock.port(), None).await;
        let options = options(&directory, &clock, max_loss_percent, page_size);
        let source = Source::Shop(shop.expect("a shop"));
        let synchroniser = Synchroniser::new(Arc::clone(&database), source, options).expect("opens");
        Self { shelf, database, synchroniser, clock, directory }
    }

    async fn full(&self) -> Ran {
        self.synchroniser.run(true, false, |_| {}).await.expect("runs")
    }

    /// The products of the copy with their prices.
    fn copy(&self) -> BTreeMap<u32, u64> {
        let products = self.database.shared_products().expect("reads");
        let there = products.iter().filter(|product| product.document != "null").map(|product| {
            let record: Value = serde_json::from_str(&product.document).expect("JSON");
            let number = product.id[1..].parse().expect("a number");
            (number, record["variants"][0]["price"]["amount"].as_u64().expect("a price"))
        });
        let all: Vec<_> = there.collect();
        let copy: BTreeMap<_, _> = all.iter().copied().collect();
        assert_eq!(all.len(), copy.len(), "each of them is there once");
        copy
    }

    fn shop(&self) -> BTreeMap<u32, u64> {
        self.shelf.goods().products.iter().copied().collect()
    }
}

fn act() -> impl Strategy<Value = Act> {
    let places = || prop::collection::vec(0..200_usize, 1..4);
    prop_oneof![places().prop_map(Act::Delete), places().prop_map(Act::Insert), places().prop_map(Act::Price)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
    #[test]
    fn a_copy_has_what_was_there_during_the_run(
        paging in prop::sample::select(vec![Paging::Offset, Paging::Number, Paging::Cursor]),
        count in 0..60_u32,
        cap in 3..20_usize,
        page_size in 2..15_usize,
        is_first in any::<bool>(),
        acts in prop::collection::vec(act(), 0..4),
    ) {
        Runtime::new().expect("a runtime").block_on(async {
            let copied = Copied::new(paging, count, cap, page_size, 100).await;
            if !is_first {
                copied.full().await;
                assert_eq!(copied.copy(), copied.shop());
            }
            copied.shelf.goods().acts = acts.into();
            copied.full().await;
            let (copy, shop) = (copied.copy(), copied.shop());
            for (number, price) in shop.iter().filter(|(number, _)| **number < 100_000) {
                assert_eq!(copy.get(number), Some(price), "product {number}");
            }
            // And when nothing happens any more, the copy is the shop.
            copied.shelf.goods().acts.clear();
            copied.full().await;
            assert_eq!(copied.copy(), copied.shop());
        });
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_changes_nothing_while_the_shop_has_no_answer_and_keeps_to_the_bound_of_losses() {
    let copied = Copied::new(Paging::Offset, 40, 10, 10, 30).await;
    copied.full().await;
    let told: Vec<_> = (0..38).map(|number| format!("p{number}")).collect();
    copied.shelf.goods().unresolved = true;
    assert!(copied.synchroniser.changed(told.clone()).await.expect("stored"));
    let failed = copied.synchroniser.look(copied.clock.now()).await;
    assert!(matches!(failed, Err(SyncError::Shop(_))), "{failed:?}");
    assert_eq!(copied.copy().len(), 40);
    // The shop answers again, and knows nothing: that is held, and shown.
    (copied.shelf.goods().unresolved, copied.shelf.goods().forgotten) = (false, true);
    copied.synchroniser.look(copied.clock.now()).await.expect("looks");
    assert_eq!(copied.copy().len(), 40);
    let held = copied.synchroniser.status().state.held.expect("held");
    assert_eq!((held.kind, held.lost, held.of), (Kind::Changes, 38, 40));
    // It knows them again.
    copied.shelf.goods().forgotten = false;
    copied.synchroniser.changed(told).await.expect("stored");
    copied.synchroniser.look(copied.clock.now()).await.expect("looks");
    assert_eq!(copied.synchroniser.status().state.held, None);
    // Bit by bit, too.
    for number in 0..20 {
        copied.shelf.goods().products.retain(|(own, _)| *own != number);
        copied.synchroniser.changed(vec![format!("p{number}")]).await.expect("stored");
        copied.synchroniser.look(copied.clock.now()).await.expect("looks");
    }
    assert_eq!(copied.copy().len(), 28, "30 % of 40");
    assert_eq!(copied.synchroniser.status().state.held.expect("held").lost, 8);
    assert_eq!(copied.synchroniser.release().await.expect("releases"), Some(8));
    assert_eq!(copied.copy(), copied.shop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_full_run_has_not_seen_is_asked_for_before_it_is_removed() {
    let copied = Copied::new(Paging::Offset, 30, 10, 10, 30).await;
    copied.full().await;
    copied.shelf.goods().acts = vec![Act::Delete(vec![2])].into();
    copied.shelf.goods().resolved = 0;
    copied.full().await;
    assert_eq!(copied.copy().len(), 30, "what was seen goes with the next run");
    copied.full().await;
    assert_eq!(copied.copy(), copied.shop());
    assert!(copied.shelf.goods().resolved > 0);
    // A shop that cannot be asked loses nothing, and the run goes on where it was.
    copied.shelf.act(&Act::Delete(vec![5]));
    copied.shelf.goods().unresolved = true;
    let failed = copied.synchroniser.run(true, false, |_| {}).await;
    assert!(matches!(failed, Err(SyncError::Shop(_))), "{failed:?}");
    assert_eq!(copied.copy().len(), 29);
    copied.shelf.goods().unresolved = false;
    assert!(copied.synchroniser.status().state.under_way.expect("a run").is_read);
    copied.full().await;
    assert_eq!(copied.copy(), copied.shop());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_product_that_has_lost_its_variants_is_not_sold() {
    let copied = Copied::new(Paging::Cursor, 10, 10, 10, 30).await;
    copied.full().await;
    copied.shelf.goods().emptied.insert(3);
    copied.synchroniser.changed(vec!["p3".into()]).await.expect("stored");
    copied.synchroniser.look(copied.clock.now()).await.expect("looks");
    assert!(!copied.copy().contains_key(&3));
    assert_eq!(copied.copy().len(), 9);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_time_in_the_future_is_no_reason_to_wait() {
    let copied = Copied::new(Paging::Cursor, 10, 10, 10, 30).await;
    let now = copied.clock.now();
    let a_year_ahead = now + SignedDuration::from_hours(365 * 24);
    let wrong = Options { now: Arc::new(move || a_year_ahead), ..copied.options() };
    let source = copied.synchroniser.source().clone();
    let earlier = Synchroniser::new(Arc::clone(&copied.database), source, wrong).expect("opens");
    earlier.run(true, false, |_| {}).await.expect("runs");
    copied.shelf.act(&Act::Delete(vec![1]));
    copied.synchroniser.look(now).await.expect("looks");
    assert_eq!(copied.copy(), copied.shop());
    assert_eq!(copied.synchroniser.status().state.full_at, Some(now));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_while_a_feed_is_fetched_has_it_fetched_again() {
    let copied = Copied::new(Paging::Cursor, 0, 10, 10, 100).await;
    let feed = copied.directory.path().join("feed.jsonl");
    let write = |price: u64| std::fs::write(&feed, format!("{}\n", product(1, price))).expect("a file");
    write(100);
    let source = Source::Feed(Feed::file(feed.clone(), None, 1 << 20));
    let database = Arc::clone(&copied.database);
    let synchroniser = Synchroniser::new(database, source, copied.options()).expect("opens");
    let told = || {
        let database = Arc::clone(&copied.database);
        let told = thread::spawn(move || database.add_changed(vec!["p1".into()], None)).join();
        assert!(told.expect("no panic").expect("stored"));
    };
    told();
    // While the feed is read.
    synchroniser.run(false, false, |_| told()).await.expect("runs");
    assert_eq!(copied.copy(), BTreeMap::from([(1, 100)]));
    assert_eq!(copied.database.changed(9).expect("reads").len(), 1, "the event stays");
    write(2_000);
    synchroniser.look(copied.clock.now()).await.expect("looks");
    assert_eq!(copied.copy(), BTreeMap::from([(1, 2_000)]));
    assert!(copied.database.changed(9).expect("reads").is_empty());
}

impl Copied {
    fn options(&self) -> Options {
        options(&self.directory, &self.clock, 30, 10)
    }
}

fn options(directory: &TempDir, clock: &ucp_testkit::Clock, max_loss_percent: u64, page_size: usize) -> Options {
    Options {
        data_dir: directory.path().to_owned(),
        interval: SignedDuration::from_mins(5),
        full_interval: SignedDuration::from_hours(24),
        max_loss_percent,
        page_size,
        now: clock.port(),
        shared: None,
    }
}
