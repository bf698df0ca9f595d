//! Pages: together they are the whole result, whatever happens in between.

use std::collections::{BTreeMap, BTreeSet};

use proptest::{collection::vec, option, prelude::*, sample::select};
use ucp_core::{Code, Refusal};

use super::*;
use crate::Synonyms;

const WORDS: [&str; 8] = ["red", "green", "blue", "shoe", "boots", "running", "winter", "light"];

fn text(words: &[usize]) -> String {
    words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ")
}

fn product(number: usize, title: &[usize], description: &[usize]) -> Record {
    let mut product = simple(&format!("p{number}"), &format!("Item {}", text(title)));
    product.description.plain = Some(format!("This is {}", text(description)));
    product
}

fn products(count: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<(Vec<usize>, Vec<usize>)>> {
    let words = |count| vec(0..WORDS.len(), count);
    vec((words(0..4), words(0..12)), count)
}

fn build(first: usize, sketches: &[(Vec<usize>, Vec<usize>)]) -> Vec<Record> {
    sketches.iter().enumerate().map(|(at, (title, description))| product(first + at, title, description)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn pages_are_the_whole_result_in_one_order(
        before in products(1..50),
        additions in vec(products(1..40), 0..4),
        asked in option::weighted(0.85, select(&["red", "shoe boot", "run winter lights", "red umbrella", "wintr", "item", "runing blue"][..])),
        limit in 1..9_usize,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            let directory = tempfile::tempdir().expect("directory");
            let shop = open_with(directory.path(), &build(0, &before));
            let asked = Query { limit, ..query(asked) };
            // The oracle: everything at once.
            let whole = shop.find(&Query { limit: 10_000, ..asked.clone() }, &BuyerSignals::default()).await.expect("finds");
            assert!(whole.next.is_none());
            assert_eq!(whole.total, Some(whole.products.len() as u64));
            assert_eq!(all_pages(&shop, asked.clone()).await, ids(&whole));

            // The same, while products are added, segments merged and statistics outgrown.
            let mut additions = additions.iter();
            let (mut found, mut next, mut count) = (Vec::new(), asked.clone(), before.len());
            for turn in 0.. {
                assert!(turn < PAGES, "no end of pages");
                let page = shop.find(&next, &BuyerSignals::default()).await.expect("finds");
                assert!(page.products.len() <= limit);
                found.extend(ids(&page).into_iter().map(str::to_owned));
                if let Some(sketches) = additions.next() {
                    put(&shop, &build(count, sketches)).await;
                    count += sketches.len();
                }
                match page.next {
                    Some(position) => next.after = Some(position),
                    None => break,
                }
            }
            assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len(), "twice: {found:?}");
            let old: BTreeSet<_> = ids(&whole).into_iter().collect();
            let kept: Vec<_> = found.iter().map(String::as_str).filter(|id| old.contains(id)).collect();
            assert_eq!(kept, ids(&whole), "skipped or reordered");
            // What is new is where it belongs: nothing of before has moved.
            let now = all_pages(&shop, Query { limit: 50, ..asked }).await;
            let places: BTreeMap<_, _> = now.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
            if old.iter().all(|id| places.contains_key(id)) {
                assert!(kept.is_sorted_by_key(|id| places[id]), "{kept:?} {now:?}");
            }
        });
    }
}

#[tokio::test]
async fn positions_survive_a_restart_and_new_statistics() {
    let directory = tempfile::tempdir().expect("directory");
    let many = |from: usize, to: usize| {
        (from..to).map(|number| product(number, &[0, number % 8], &[number % 5])).collect::<Vec<_>>()
    };
    let shop = open_with(directory.path(), &many(0, 30));
    let whole = all_pages(&shop, query(Some("red shoe"))).await;
    let first =
        shop.find(&Query { limit: 2, ..query(Some("red shoe")) }, &BuyerSignals::default()).await.expect("finds");
    let position = first.next.clone().expect("more");
    put(&shop, &many(30, 200)).await;
    let rest = |after: Vec<u8>| Query { after: Some(after), ..query(Some("red shoe")) };
    let second = all_pages(&shop, rest(position.clone())).await;
    drop(shop);
    // The shop has more than doubled: opening it renews the statistics, and keeps the old ones.
    let shop = open(directory.path());
    assert_eq!(all_pages(&shop, rest(position.clone())).await, second);
    let fresh =
        shop.find(&Query { limit: 2, ..query(Some("red shoe")) }, &BuyerSignals::default()).await.expect("finds");
    assert_ne!(fresh.next.expect("more")[2..10], position[2..10], "the statistics are new");
    let old: Vec<_> = ids(&first)
        .into_iter()
        .chain(second.iter().map(String::as_str))
        .filter(|id| whole.iter().any(|old| old == id))
        .collect();
    assert_eq!(old, whole);
}

#[tokio::test]
async fn positions_hold_in_an_index_of_the_same_products_and_in_no_other() {
    let directory = tempfile::tempdir().expect("directory");
    let many: Vec<_> = (0..9).map(|number| product(number, &[0], &[])).collect();
    let shop = open_with(directory.path(), &many);
    let next = shop
        .find(&Query { limit: 2, ..query(Some("red")) }, &BuyerSignals::default())
        .await
        .expect("finds")
        .next
        .expect("more");
    drop(shop);
    std::fs::remove_dir_all(directory.path().join("index")).expect("removes");
    // An index of the same products scores alike, wherever it was made.
    let shop = open(directory.path());
    let after = Query { limit: 2, after: Some(next.clone()), ..query(Some("red")) };
    let page = shop.find(&after, &BuyerSignals::default()).await.expect("finds");
    assert_eq!(ids(&page), ["p2", "p3"]);
    let other = tempfile::tempdir().expect("directory");
    let of_others = open_with(other.path(), &many[..8]);
    for position in [next.clone(), next[..5].to_vec(), vec![], vec![0xff; 64], [&[7], &next[1..]].concat()] {
        let query = Query { after: Some(position), ..query(Some("red")) };
        let refusal = Refusal::from(of_others.find(&query, &BuyerSignals::default()).await.expect_err("outdated"));
        assert_eq!((refusal.code, refusal.path.as_deref()), (Code::InvalidCursor, Some("$.pagination.cursor")));
    }
    // Lists without scores do not depend on the index.
    let next = shop
        .find(&Query { limit: 2, ..query(None) }, &BuyerSignals::default())
        .await
        .expect("finds")
        .next
        .expect("more");
    drop(shop);
    std::fs::remove_dir_all(directory.path().join("index")).expect("removes");
    let shop = open(directory.path());
    let page = shop
        .find(&Query { limit: 3, after: Some(next), ..query(None) }, &BuyerSignals::default())
        .await
        .expect("finds");
    assert_eq!(ids(&page), ["p2", "p3", "p4"]);
}

#[tokio::test]
async fn pages_go_on_with_the_synonyms_that_they_began_with() {
    let directory = tempfile::tempdir().expect("directory");
    let records: Vec<_> = (0..30).map(|number| simple(&format!("c{number}"), "Grey Couch")).collect();
    let shop = open_with(directory.path(), &records);
    let state = |text: &str| shop.use_synonyms(&Synonyms::read(text).expect("reads").into());
    state("glarp, couch");
    let asked = Query { limit: 10, ..query(Some("glarp")) };
    let first = shop.find(&asked, &BuyerSignals::default()).await.expect("finds");
    assert_eq!((first.total, ids(&first)[0]), (Some(30), "c0"));
    state("glarp => lamp");
    assert!(search(&shop, "glarp").await.is_empty());
    let rest = all_pages(&shop, Query { after: first.next.clone(), ..asked.clone() }).await;
    assert_eq!(rest, (10..30).map(|number| format!("c{number}")).collect::<Vec<_>>());
    // Those of long ago are forgotten.
    state("glarp => shelf");
    state("glarp => chair");
    let old = Query { after: first.next, ..asked };
    let refused = shop.find(&old, &BuyerSignals::default()).await.expect_err("outdated");
    assert_eq!(Refusal::from(refused).code, Code::InvalidCursor);
}
