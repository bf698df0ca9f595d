//! Quality of the ranking: nDCG@10 of judged queries at the sample shop.
//!
//! `relevance.json` holds what people type, and the products that answer it with grades from 1 (related) to 3 (exactly
//! that); all others have 0. Each grade gains `2^grade - 1`, discounted by the logarithm of its rank, as a share of what
//! the best order gains.

use std::{collections::HashMap, path::Path};

use serde::Deserialize;
use serde_json::{Value, json};

use crate::{Done, load::Connection, scenario::post, server::Server};

/// A query and the grades of the products that answer it.
#[derive(Deserialize)]
struct Judged {
    query: String,
    products: HashMap<String, u8>,
}

/// Number of results that count.
const RANKS: usize = 10;

/// Prints the nDCG@10 of each query, beside that of another gateway if there is one.
pub(crate) async fn all(gateway: &Path, before: Option<&Path>, directory: &Path) -> Done<()> {
    let judged: Vec<Judged> = serde_json::from_str(include_str!("../relevance.json"))?;
    let now = scores(gateway, &directory.join("relevance"), &judged).await?;
    let then = match before {
        Some(before) => Some(scores(before, &directory.join("relevance-before"), &judged).await?),
        None => None,
    };
    println!("\nRelevance: nDCG@{RANKS} of {} judged queries at the sample shop\n", judged.len());
    println!("| query | now | before |\n| :-- | --: | --: |");
    let cell = |score: Option<f64>| score.map_or_else(|| "-".to_owned(), |score| format!("{score:.3}"));
    for (place, Judged { query, .. }) in judged.iter().enumerate() {
        println!("| {query} | {:.3} | {} |", now[place], cell(then.as_ref().map(|then| then[place])));
    }
    println!("| mean | {:.3} | {} |", mean(&now), cell(then.as_deref().map(mean)));
    Ok(())
}

fn mean(scores: &[f64]) -> f64 {
    scores.iter().sum::<f64>() / scores.len() as f64
}

async fn scores(gateway: &Path, data: &Path, judged: &[Judged]) -> Done<Vec<f64>> {
    let server = Server::gateway(gateway, data)?;
    let mut connection = Connection::open(server.address).await?;
    let mut scores = Vec::with_capacity(judged.len());
    for Judged { query, products } in judged {
        let body = json!({ "query": query, "pagination": { "limit": RANKS } });
        let answer: Value =
            serde_json::from_slice(&connection.body(&post("/catalog/search", &body.to_string())).await?)?;
        let found = answer["products"].as_array().ok_or("an answer without products")?;
        let grade = |product: &Value| product["id"].as_str().and_then(|id| products.get(id)).copied().unwrap_or(0);
        let mut best: Vec<u8> = products.values().copied().collect();
        best.sort_unstable_by(|a, b| b.cmp(a));
        scores.push(gain(found.iter().map(grade)) / gain(best.into_iter()));
    }
    Ok(scores)
}

/// The discounted cumulative gain of results with these grades.
fn gain(grades: impl Iterator<Item = u8>) -> f64 {
    let discounted = |(rank, grade): (usize, u8)| (f64::from(grade).exp2() - 1.0) / (rank as f64 + 2.0).log2();
    grades.take(RANKS).enumerate().map(discounted).sum()
}
