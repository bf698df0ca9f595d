//! Tests of searches by meaning, with a model of a few words.

use std::sync::Arc;

use ucp_core::{
    catalog::filter::Bound,
    money::{Amount, Currency},
};

use super::*;
use crate::{Model, model::tests::write};

/// Vectors of what floats, what is drunk, and what is worn.
fn model() -> Arc<Model> {
    let folder = tempfile::tempdir().expect("a folder");
    write(
        folder.path(),
        &[
            ("[UNK]", &[0.0, 0.0, 0.0]),
            ("boat", &[1.0, 0.0, 0.1]),
            ("dinghy", &[0.9, 0.1, 0.1]),
            ("canoe", &[0.8, 0.0, 0.4]),
            ("tea", &[0.0, 1.0, 0.0]),
            ("infusion", &[0.1, 0.9, 0.0]),
            ("coat", &[0.0, 0.1, 1.0]),
            ("green", &[0.1, 0.1, 0.1]),
        ],
    );
    Arc::new(Model::open(folder.path()).expect("opens"))
}

fn options(directory: &Path, model: Option<Arc<Model>>) -> Options {
    Options { model, ..Options::new(directory) }
}

fn goods() -> Vec<Record> {
    let priced = |id: &str, title: &str, amount: i64| {
        let mut product = simple(id, title);
        product.variants[0].price.amount = Amount::new(amount).expect("an amount");
        product
    };
    vec![
        priced("dinghy", "Dinghy", 9_000),
        priced("canoe", "Green canoe", 5_000),
        priced("assam", "Tea", 500),
        priced("infusion", "Infusion", 700),
        priced("coat", "Green coat", 8_000),
        priced("unknown", "Zyx", 100),
    ]
}

fn shop(directory: &Path, model: Option<Arc<Model>>) -> EmbeddedShop {
    EmbeddedShop::open_or_create(&options(directory, model), || opening(&goods())).expect("opens")
}

#[tokio::test]
async fn products_are_found_by_meaning_below_those_with_the_words() {
    let directory = tempfile::tempdir().expect("directory");
    let with = shop(directory.path(), Some(model()));
    // No product has the word: the nearest come first, and others are not found.
    assert_eq!(search(&with, "boat").await, ["dinghy", "canoe"]);
    assert_eq!(search(&with, "tea").await, ["assam", "infusion"]);
    // All words first; below them, meaning and words are added up.
    assert_eq!(search(&with, "green canoe").await, ["canoe", "dinghy", "coat"]);
    assert_eq!(search(&with, "green boat").await, ["dinghy", "canoe", "coat"]);
    assert!(search(&with, "submarine").await.is_empty(), "what the model does not know is not guessed");
    let page = with.find(&query(Some("boat")), &BuyerSignals::default()).await.expect("finds");
    assert_eq!(page.total, Some(2));
    assert_eq!(serde_json::to_value(&page.messages).expect("JSON")[0]["code"], "words_matched_in_part");

    // Without the model, words alone decide; both indexes stay as they are.
    let without = shop(directory.path(), None);
    assert!(search(&without, "boat").await.is_empty());
    assert_eq!(search(&with, "boat").await, ["dinghy", "canoe"]);
}

#[tokio::test]
async fn filters_pages_and_changes_hold_for_meanings() {
    let directory = tempfile::tempdir().expect("directory");
    let shop = shop(directory.path(), Some(model()));
    let mut cheap = query(Some("boat"));
    let most = Bound { currency: Currency::USD, min: Amount::ZERO, max: Amount::new(6_000) };
    cheap.criteria.bounds = Some(vec![most]);
    let page = shop.find(&cheap, &BuyerSignals::default()).await.expect("finds");
    assert_eq!((ids(&page), page.total), (vec!["canoe"], Some(1)));
    let pages = all_pages(&shop, Query { limit: 1, ..query(Some("green boat")) }).await;
    assert_eq!(pages, ["dinghy", "canoe", "coat"]);
    put(&shop, &[simple("raft", "Boat")]).await;
    assert_eq!(search(&shop, "boat").await, ["raft", "dinghy", "canoe"]);
    put(&shop, &[simple("dinghy", "Coat")]).await;
    assert_eq!(search(&shop, "boat").await, ["raft", "canoe"]);
}
