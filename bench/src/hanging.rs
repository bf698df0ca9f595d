//! Payments and searches of others, beside a caller whose searches hang at the shop behind the backend contract.

use std::path::Path;

use serde_json::{Value, json};
use ucp_testkit::{host, server};

use crate::{
    Done, Options,
    load::{Load, Run},
    purchase::{Ask, Buyer},
    report::percentiles,
    scenario::{Request, Scenario, post},
    server::Server,
};

/// Name of the part.
const HANGING: &str = "payments beside hanging searches";

/// Word that the shop never answers a search for.
const HANGS: &str = "hang";

/// Searches that hang, per second, and the connections that they come over.
const CALLS: f64 = 20.0;
const CALLERS: usize = 32;

/// Payments, and searches of others, per second.
const PAYMENTS: f64 = 40.0;
const SEARCHES: f64 = 40.0;

/// Connections of those who pay, and of those who search.
const OTHERS: usize = 8;

/// Measures what is wanted: each round alone, then beside the caller whose searches hang.
pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    if !options.wants(HANGING) {
        return Ok(());
    }
    let effort = options.effort();
    // It has a runtime of its own.
    let shop = tokio::task::spawn_blocking(|| server::Server::start(answer)).await?;
    // Checkouts are made by more callers at once than a shop is asked by default.
    let config = "[callers]\npolicy = \"development\"\n[upstream]\nwrites_in_flight = 128\n";
    let front = Server::fronting(gateway, &directory.join("hanging"), "http", shop.address(), config)?;
    let mut buyer = Buyer::with(&front, 1).await?;
    let fine = search((0..5_000).map(|number| format!("shoes {number}")));
    let fine = Load { server: &front, scenario: &fine, connections: OTHERS };
    let hanging = search([HANGS.to_owned()]);
    let hanging = Load { server: &front, scenario: &hanging, connections: CALLERS };
    let (mut alone, mut beside) = ([const { Vec::new() }; 2], [const { Vec::new() }; 2]);
    // The first round warms up.
    for round in 0..=effort.rounds {
        for (called, runs) in [(false, &mut alone), (true, &mut beside)] {
            let duration = effort.round * 2;
            let paying = buyer.scenario_for(Ask::Complete, PAYMENTS, duration).await?;
            let paying = Load { server: &front, scenario: &paying, connections: OTHERS };
            let others =
                async { Done::Ok([paying.paced(PAYMENTS, duration).await?, fine.paced(SEARCHES, duration).await?]) };
            let both = if called {
                tokio::select! {
                    both = others => both?,
                    // Those that hang are refused after the payments are over, at the earliest.
                    Err(error) = hanging.flood(CALLS, duration * 4) => return Err(error),
                }
            } else {
                others.await?
            };
            for (runs, run) in runs.iter_mut().zip(both).filter(|_| round > 0) {
                runs.push(run);
            }
        }
    }
    println!(
        "\n{HANGING}: {PAYMENTS:.0} payments, then {SEARCHES:.0} searches per second, alone and beside {CALLS:.0} \
         searches per second of a caller whom the shop answers nothing\n"
    );
    println!("{:<34}{:>10}{:>10}", "", "p50 ms", "p99 ms");
    for (name, runs) in ["complete_checkout", "search_catalog"].into_iter().zip(alone.iter().zip(&beside)) {
        show(&format!("{name}, alone"), runs.0);
        show(&format!("{name}, beside it"), runs.1);
    }
    Ok(())
}

fn show(name: &str, runs: &[Run]) {
    let [p50, p99] = percentiles(runs, |_| true);
    println!("  {name:<32}{p50:>10}{p99:>10}");
}

/// Searches for these words in turn.
fn search(words: impl IntoIterator<Item = String>) -> Scenario {
    let bytes = |words: String| post("/catalog/search", &json!({ "query": words }).to_string());
    let requests = words.into_iter().map(|words| Request { bytes: bytes(words), kind: 0 }).collect();
    Scenario { name: HANGING.to_owned(), requests, kinds: Vec::new() }
}

/// Answer of the shop, which has whatever it is asked for.
fn answer(request: &host::Request) -> server::Answer {
    let asked: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    let named = |id: &Value| {
        let product = format!("product-{}", id.as_str().unwrap_or_default());
        json!({
            "id": product, "title": "Shoes", "description": { "plain": "Light." },
            "variants": [{ "id": id, "price": { "amount": 1_000, "currency": "USD" } }],
        })
    };
    server::Answer::json(&match request.uri().path() {
        "/backend" => json!({
            "contract": "1",
            "market": { "name": "Shop", "currency": "USD", "language": "en" },
            "catalog": { "most_ids": 50 },
            "cart": { "completion": "place", "codes": false, "delivery": false, "pickup": false },
            "payment_handlers": [{
                "name": "com.example.shop", "id": "mock_payment_handler", "version": "2026-01-01", "instruments": ["card"],
            }],
        }),
        "/find" if asked["words"] == HANGS => return server::Answer::Silence,
        "/find" => json!({ "products": [named(&json!("shoes"))], "next": null, "total": 1 }),
        "/resolve" | "/open" => {
            json!({ "products": asked["ids"].as_array().into_iter().flatten().map(named).collect::<Vec<_>>() })
        }
        "/cart/sync" => {
            let asked = asked["lines"].as_array().into_iter().flatten();
            let lines: Vec<_> = asked
                .map(|line| json!({ "variant": line["variant"], "quantity": line["quantity"], "price": 1_000 }))
                .collect();
            let pieces: u64 = lines.iter().filter_map(|line| line["quantity"].as_u64()).sum();
            json!({ "cart": "cart", "currency": "USD", "lines": lines, "total": pieces * 1_000 })
        }
        "/place" => json!({ "status": "placed", "order": { "id": asked["reference"] } }),
        _ => json!({ "status": "absent" }),
    })
}
