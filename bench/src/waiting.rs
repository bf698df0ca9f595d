//! A shop in which payments wait for their buyers' banks, beside the same shop without any.

use std::path::Path;

use serde_json::json;

use crate::{
    Done, Options,
    load::{Load, Run},
    purchase::{Ask, Buyer},
    report::percentiles,
    scenario::{HOST, Scenario, post},
    server::Server,
};

/// Name of the part.
const WAITING: &str = "payments that wait for their buyers";

/// Number of payments that wait.
const PAYMENTS: usize = 3_000;

/// Calls per second, and their connections.
const RATE: f64 = 100.0;
const CONNECTIONS: usize = 8;

/// Measures what is wanted: each round in a shop without payments that wait, then in one with many.
pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    if !options.wants(WAITING) {
        return Ok(());
    }
    let effort = options.effort();
    let count = if options.quick { PAYMENTS / 10 } else { PAYMENTS };
    let config = "[callers]\npolicy = \"development\"\n[limits]\nanonymous = \"none\"\n";
    let open = |name: &str| Server::configured(gateway, &directory.join(name), config, crate::scenario::PLATFORM);
    let (empty, full) = (open("waiting-none")?, open("waiting-many")?);
    let mut buyer = Buyer::with(&full, 1).await?;
    let waits = buyer.scenario(Ask::Wait, count).await?;
    let made = Load { server: &full, scenario: &waits, connections: Ask::Wait.connections(&effort) }.once().await?;
    if made.statuses.iter().any(|status| *status != 200) {
        return Err("a payment does not wait for its buyer".into());
    }
    let profile = format!("GET /.well-known/ucp HTTP/1.1\r\nHost: {HOST}\r\n\r\n");
    let search = post("/catalog/search", &json!({ "query": "roses" }).to_string());
    let asked = [Scenario::one("profile", profile.into_bytes()), Scenario::one("search_catalog", search)];
    let mut runs: [[Vec<Run>; 2]; 2] = Default::default();
    // The first round warms up.
    for round in 0..=effort.rounds {
        for (scenario, runs) in asked.iter().zip(&mut runs) {
            for (server, runs) in [&empty, &full].into_iter().zip(runs) {
                let run = Load { server, scenario, connections: CONNECTIONS }.paced(RATE, effort.round * 2).await?;
                if round > 0 {
                    runs.push(run);
                }
            }
        }
    }
    println!("\n{WAITING}: {RATE:.0} calls per second, in a shop without any and in one with {count}\n");
    println!("{:<34}{:>10}{:>10}", "", "p50 ms", "p99 ms");
    for (scenario, [none, many]) in asked.iter().zip(&runs) {
        for (name, runs) in [("none", none), ("many", many)] {
            let [p50, p99] = percentiles(runs, |_| true);
            println!("  {:<32}{p50:>10}{p99:>10}", format!("{}, {name}", scenario.name));
        }
    }
    let before = [empty.cpu()?, full.cpu()?];
    tokio::time::sleep(effort.round * 5).await;
    let spent = [empty.cpu()? - before[0], full.cpu()? - before[1]].map(|spent| spent.as_secs_f64() * 1e3);
    println!(
        "  processor ms in {:.0} s without calls: {:.1} without, {:.1} with them",
        (effort.round * 5).as_secs_f64(),
        spent[0],
        spent[1]
    );
    Ok(())
}
