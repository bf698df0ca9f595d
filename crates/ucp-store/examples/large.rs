//! Measures the shop at size: `cargo run --release -p ucp-store --example large -- [PRODUCTS]`.
//!
//! Fills a directory with products of ten variants each as an import does, opens it, and prints how long that took,
//! how long lookups and searches take, and how much memory the process holds.

use std::{
    fmt::Write as _,
    path::Path,
    time::{Duration, Instant},
};

use serde_json::json;
use ucp_core::{
    catalog::{
        filter::{Bound, CategoryPath, Criteria},
        market::Market,
        record::Record,
    },
    money::Amount,
    port::{Catalog as _, Query},
};
use ucp_store::{Database, Options, Shop};

/// The same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % bound
    }

    /// Small numbers are more common, as words are in texts.
    fn skewed(&mut self, bound: usize) -> usize {
        let at = self.below(bound) + 1;
        self.below(at)
    }
}

/// The word of a number, pronounceable.
fn word(mut number: usize) -> String {
    let mut word = String::new();
    for _ in 0..3 {
        let syllables = b"bdfgklmnprstvz";
        word.push(char::from(syllables[number % syllables.len()]));
        number /= syllables.len();
        word.push(char::from(b"aeiou"[number % 5]));
        number /= 5;
    }
    word
}

fn words(random: &mut Random, count: usize) -> String {
    (0..count).fold(String::new(), |mut text, _| {
        let _ = write!(text, "{} ", word(random.skewed(40_000)));
        text
    })
}

fn product(number: usize, random: &mut Random) -> Record {
    let price = 500 + random.below(20_000);
    let variants: Vec<_> = (0..10)
        .map(|at| {
            let price = price + at * 10;
            json!({
                "id": format!("v-{number}-{at}"), "sku": format!("SKU-{number}-{at}"),
                "barcodes": [{"type": "EAN", "value": format!("{:013}", number * 10 + at)}],
                "price": {"amount": price, "currency": "USD"},
                "prices": [{"amount": price * 9 / 10, "currency": "EUR"}],
                "availability": {"available": random.below(4) > 0},
                "options": [{"name": "Size", "label": format!("S{at}")}],
            })
        })
        .collect();
    let category = format!("Department {} > Shelf {}", random.skewed(20), random.below(200));
    serde_json::from_value(json!({
        "id": format!("p-{number}"), "handle": format!("product-{number}"),
        "title": words(random, 6), "description": {"plain": words(random, 30)},
        "categories": [{"value": category}], "tags": [word(random.skewed(500))],
        "metadata": {"vendor": word(random.skewed(2_000))},
        "translations": {"es": {"title": words(random, 6)}},
        "variants": variants,
    }))
    .unwrap_or_else(|error| panic!("{error}"))
}

fn market() -> Market {
    serde_json::from_value(json!({
        "name": "Large", "currency": "USD", "currencies": ["EUR"], "language": "en", "languages": ["es"],
    }))
    .unwrap_or_else(|error| panic!("{error}"))
}

fn memory(when: &str) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let of = |name| {
        status.lines().find(|line| line.starts_with(name)).map(|line| line.replace(['\t', ' '], "")).unwrap_or_default()
    };
    println!("memory {when}: {} ({}, {})", of("VmRSS"), of("RssAnon"), of("RssFile"));
}

fn size(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| size(&entry.path())).sum(),
        Err(_) => std::fs::metadata(path).map_or(0, |meta| meta.len()),
    }
}

async fn measure(name: &str, shop: &Shop, count: usize, mut query: impl FnMut(&mut Random) -> Query) {
    let mut random = Random(7);
    let mut times = Vec::with_capacity(count);
    let mut found = 0;
    for _ in 0..count {
        let query = query(&mut random);
        let start = Instant::now();
        let page = shop.find(&query).await.unwrap_or_else(|refusal| panic!("{refusal}"));
        times.push(start.elapsed());
        found += page.total.unwrap_or_default();
    }
    times.sort_unstable();
    let at = |share: f64| {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "a rank"
        )]
        let rank = (times.len() as f64 * share) as usize;
        times.get(rank.min(times.len() - 1)).copied().unwrap_or_default()
    };
    println!(
        "{name:<34} p50 {:>9.1?}  p99 {:>9.1?}  max {:>9.1?}  mean total {}",
        at(0.5),
        at(0.99),
        at(1.0),
        found / count as u64
    );
}

#[tokio::main]
async fn main() {
    sample();
    let count: usize = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(100_000);
    let kept = std::env::args().nth(2);
    let temporary = std::env::temp_dir().join(format!("ucp-large-{}", std::process::id()));
    let directory = kept.clone().map_or(temporary, Into::into);
    let existed = directory.exists();
    if !existed {
        let database =
            Database::open_or_create(&directory, || (market(), Vec::new())).unwrap_or_else(|error| panic!("{error}"));
        let mut random = Random(42);
        let (mut making, start) = (Duration::ZERO, Instant::now());
        for first in (0..count).step_by(500) {
            let made = Instant::now();
            let batch: Vec<_> = (first..count.min(first + 500)).map(|number| product(number, &mut random)).collect();
            making += made.elapsed();
            let outcomes = database.put(batch).await.unwrap_or_else(|error| panic!("{error}"));
            assert!(outcomes.iter().all(Result::is_ok));
        }
        println!(
            "stored {count} products in {:.1?} (and {making:.1?} to make them up)",
            start.elapsed().saturating_sub(making)
        );
        println!("database {} MB", size(&directory) >> 20);
        memory("after storing");
    }
    let start = Instant::now();
    let shop = Shop::open(&Options::new(&directory)).unwrap_or_else(|error| panic!("{error}"));
    println!("opened in {:.1?}", start.elapsed());
    memory("after opening");
    if !existed {
        drop(shop);
        println!("index {} MB", size(&directory.join("index")) >> 20);
    } else {
        drop(shop);
    }
    let start = Instant::now();
    let shop = Shop::open(&Options::new(&directory)).unwrap_or_else(|error| panic!("{error}"));
    println!("opened again in {:.1?}", start.elapsed());
    memory("after opening again");

    let plain = |text: Option<String>, criteria: Criteria| Query {
        text,
        criteria,
        presentation: market().own(),
        limit: 10,
        after: None,
    };
    let all = Criteria::default;
    let priced = |random: &mut Random| {
        let min = 500 + i64::try_from(random.below(10_000)).unwrap_or_default();
        let bound = Bound {
            currency: market().currency,
            min: Amount::new(min).unwrap_or_default(),
            max: Amount::new(min + 3_000),
        };
        let categories = vec![CategoryPath::new(&format!("Department {}", random.skewed(20)))];
        Criteria { categories, bounds: Some(vec![bound]), available: true }
    };
    measure("browse", &shop, 200, |_| plain(None, all())).await;
    measure("browse, all filters", &shop, 200, |random| plain(None, priced(random))).await;
    measure("browse, available only", &shop, 200, |_| plain(None, Criteria { available: true, ..all() })).await;
    measure("one word", &shop, 2_000, |random| plain(Some(word(random.skewed(5_000))), all())).await;
    measure("one very common word", &shop, 500, |random| plain(Some(word(random.skewed(10))), all())).await;
    measure("two words", &shop, 2_000, |random| plain(Some(words2(random)), all())).await;
    measure("two words, all filters", &shop, 2_000, |random| plain(Some(words2(random)), priced(random))).await;
    measure("three words, any", &shop, 500, |random| {
        plain(
            Some(format!(
                "{} {} {}",
                word(random.skewed(9_000)),
                word(random.skewed(9_000)),
                word(random.skewed(40_000))
            )),
            all(),
        )
    })
    .await;
    measure("a typo", &shop, 1_000, |random| {
        let mut typo = word(random.skewed(5_000));
        typo.insert(3, 'q');
        plain(Some(typo), all())
    })
    .await;
    measure("24 very common words", &shop, 100, |random| plain(Some(words_of(random, 24, 60)), all())).await;
    measure("an SKU", &shop, 500, |random| plain(Some(format!("SKU-{}-3", random.below(count))), all())).await;
    memory("after searching");

    let ids: Vec<String> = (0..10).map(|number| format!("SKU-{}-5", number * (count / 10))).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let presentation = market().own();
    let start = Instant::now();
    let found = shop.resolve(&ids, &presentation).await.unwrap_or_else(|refusal| panic!("{refusal}"));
    println!("resolving 10 cold ids: {:.1?} ({} found)", start.elapsed(), found.iter().flatten().count());
    let start = Instant::now();
    for _ in 0..10_000 {
        shop.resolve(&ids, &presentation).await.unwrap_or_else(|refusal| panic!("{refusal}"));
    }
    println!("resolving 10 hot ids: {:.2?}", start.elapsed() / 10_000);
    drop(shop);
    if kept.is_none() {
        drop(std::fs::remove_dir_all(&directory));
    }
}

/// The shop of a first start.
fn sample() {
    let directory = std::env::temp_dir().join(format!("ucp-sample-{}", std::process::id()));
    for when in ["created", "opened"] {
        let start = Instant::now();
        let fill = || (ucp_store::sample::market(), ucp_store::sample::records());
        let shop = Shop::open_or_create(&Options::new(&directory), fill).unwrap_or_else(|error| panic!("{error}"));
        println!("{when} the sample shop in {:.1?}", start.elapsed());
        memory("with the sample shop");
        drop(shop);
    }
    drop(std::fs::remove_dir_all(&directory));
}

fn words2(random: &mut Random) -> String {
    format!("{} {}", word(random.skewed(300)), word(random.skewed(300)))
}

fn words_of(random: &mut Random, count: usize, bound: usize) -> String {
    (0..count).map(|_| word(random.below(bound)) + " ").collect()
}
