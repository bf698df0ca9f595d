//! Rules of search, lookup and `get_product` (rules CSR, LKP and PRD, traps T-17 to T-20, T-27 and T-41).

mod context;
mod lookup;
mod product;
mod search;
mod views;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::harness::{Gateway, Verdict, codes, elements, texts};

/// A filter that every product of the sample shop passes.
fn everything() -> Value {
    json!({ "filters": { "available": false } })
}

fn ids(answer: &Value) -> Vec<String> {
    texts(&answer["products"], "id").into_iter().map(str::to_owned).collect()
}

fn titles(answer: &Value) -> Vec<&str> {
    texts(&answer["products"], "title")
}

fn total(answer: &Value) -> u64 {
    answer["pagination"]["total_count"].as_u64().expect("a total")
}

/// Code and path of a refusal, and that its status is 400.
#[track_caller]
fn refused(verdict: &Verdict) -> (&str, &str) {
    let refusal = verdict.refusal();
    assert_eq!(refusal.status, 400, "{refusal:?}");
    assert!(refusal.accepted.is_some(), "it says what would be accepted: {refusal:?}");
    (&refusal.code, refusal.path.as_deref().unwrap_or_default())
}
