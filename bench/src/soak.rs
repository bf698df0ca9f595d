//! Memory and descriptors of the gateway: a long time at capacity, and under ten times the load that a slow shop can take.

use std::{path::Path, time::Duration};

use serde_json::json;
use tokio::time::{Instant, MissedTickBehavior, interval};

use crate::{
    Done, Options,
    load::{Connection, Load, Run, is_good},
    report::{mebibytes, memory},
    scenario::{Request, SampleShop, Scenario, post},
    server::Server,
    settle, upstream,
};

/// The parts, by the names under which they can be chosen.
const SOAK: &str = "soak";
const OVERLOAD: &str = "overload";

/// Number of samples taken of the server while it is kept at capacity.
const SLICES: u32 = 20;

/// Connections at capacity.
const CONNECTIONS: usize = 16;

/// Time that the slow shop takes for each look-up, and number of look-ups that the gateway has under way there at once.
const SLOW: Duration = Duration::from_millis(100);
const PLACES: u32 = 32;

/// Megabytes of answers of the slow shop that are kept: so few that they are there before the load is half over.
const CACHE: u32 = 4;

/// Offered load as a multiple of what the slow shop can take.
const TIMES: f64 = 10.0;

/// Connections over which it is asked for: more than there are answers that take their time.
const CALLERS: usize = 512;

/// A product that the embedded shop has.
const SAMPLE: &str = "prod_abc123";

/// Sample of the resources that a server holds.
#[derive(Clone, Copy)]
struct Sample {
    resident: f64,
    anonymous: f64,
    descriptors: usize,
}

impl Sample {
    fn of(server: &Server) -> Done<Self> {
        let memory = server.memory()?;
        let (resident, anonymous) = (mebibytes(memory.resident), mebibytes(memory.anonymous));
        Ok(Self { resident, anonymous, descriptors: server.descriptors()? })
    }
}

/// Says whether the second half of the samples has more than the first, whose first fifth is for warming up.
fn verdict(samples: &[Sample]) -> &'static str {
    let settled = &samples[samples.len() / 5..];
    let (first, second) = settled.split_at(settled.len() / 2);
    let most = |samples: &[Sample], of: fn(&Sample) -> f64| samples.iter().map(of).fold(0.0, f64::max);
    let anonymous = |samples| most(samples, |sample| sample.anonymous);
    let descriptors =
        |samples| most(samples, |sample| f64::from(u32::try_from(sample.descriptors).unwrap_or(u32::MAX)));
    let is_flat = anonymous(second) <= anonymous(first) * 1.05 + 1.0 && descriptors(second) <= descriptors(first) + 2.0;
    if is_flat { "flat" } else { "NOT FLAT" }
}

pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    // Ten minutes are for those who ask for them.
    let named = options.only.is_some();
    if options.wants(SOAK) && (named || options.quick) {
        soak(options, gateway, directory).await?;
    }
    if options.wants(OVERLOAD) {
        overload(options, gateway, directory).await?;
    }
    Ok(())
}

/// A mix of questions to the sample shop, as fast as they are answered.
async fn soak(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    let seconds = if options.quick { 2 } else { options.soak_seconds };
    let slice = Duration::from_secs(seconds) / SLICES;
    let server = Server::gateway(gateway, &directory.join("soak"))?;
    let shop = SampleShop::sample(&server).await?;
    let requests = shop.scenarios().into_iter().flat_map(|scenario| scenario.requests).collect();
    let mix = Scenario { name: SOAK.to_owned(), requests, kinds: Vec::new() };
    println!("\nAt capacity for {seconds} s: discovery, lookups over both transports, products, searches, in turns");
    println!("  before: {}, {} descriptors", memory(server.memory()?), server.descriptors()?);
    println!("{:>10}{:>12}{:>12}{:>12}{:>14}", "s", "req/s", "RSS MiB", "anon MiB", "descriptors");
    let (begun, mut samples, mut requests) = (Instant::now(), Vec::new(), 0.0);
    for number in 1..=SLICES {
        let run = Load { server: &server, scenario: &mix, connections: CONNECTIONS }.closed(slice).await?;
        requests += run.requests();
        let sample = Sample::of(&server)?;
        samples.push(sample);
        if number % 2 == 0 {
            let Sample { resident, anonymous, descriptors } = sample;
            let passed = begun.elapsed().as_secs_f64();
            println!("{passed:>10.0}{:>12.0}{resident:>12.1}{anonymous:>12.1}{descriptors:>14}", run.rate());
        }
    }
    println!("  {requests:.0} requests, none refused; memory and descriptors: {}", verdict(&samples));
    Ok(())
}

/// Ten times as many look-ups as the places in front of a slow shop can take, whatever becomes of them.
async fn overload(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    let seconds = if options.quick { 3 } else { 60 };
    let duration = Duration::from_secs(seconds);
    let directory = directory.join("overload");
    let embedded = Server::gateway(gateway, &directory.join("embedded"))?;
    let answer = Connection::open(embedded.address).await?.body(&lookup(SAMPLE)).await?;
    drop(embedded);
    let file = directory.join("answer.json");
    std::fs::write(&file, &answer)?;
    let slow = Server::upstream(&file, SAMPLE)?;
    let config = format!(
        "[server]\nmax_connections = 1024\nmax_in_flight = 512\n[upstream]\nreads_in_flight = {PLACES}\ncache_mb = {CACHE}\n"
    );
    let server = Server::fronting(gateway, &directory.join("front"), "ucp", slow.address, &config)?;
    upstream::slow(&slow, SLOW).await?;
    settle().await;
    let capacity = f64::from(PLACES) / SLOW.as_secs_f64();
    println!(
        "\nIn front of a shop that takes {} ms for each look-up, {PLACES} at once: {capacity:.0} per second",
        SLOW.as_millis()
    );
    println!("  before: {}, {} descriptors", memory(server.memory()?), server.descriptors()?);
    let calm = unasked(1_000_000, capacity / 2.0, duration / 4);
    let load = Load { server: &server, scenario: &calm, connections: CALLERS };
    show("half of that", &load.flood(capacity / 2.0, duration / 4).await?);
    let much = unasked(2_000_000, capacity * TIMES, duration);
    let load = Load { server: &server, scenario: &much, connections: CALLERS };
    let mut samples = Vec::new();
    let flood = load.flood(capacity * TIMES, duration);
    tokio::pin!(flood);
    let mut ticks = interval(duration / 30);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let run = loop {
        tokio::select! {
            run = &mut flood => break run?,
            _ = ticks.tick() => samples.push(Sample::of(&server)?),
        }
    };
    show("ten times that", &run);
    let most = samples.iter().map(|sample| sample.resident).fold(0.0, f64::max);
    let descriptors = samples.iter().map(|sample| sample.descriptors).max().unwrap_or_default();
    println!("  at most {most:.1} MiB resident and {descriptors} descriptors: {}", verdict(&samples));
    settle().await;
    println!("  after: {}, {} descriptors", memory(server.memory()?), server.descriptors()?);
    Ok(())
}

/// Look-ups of products that nobody has asked for, as many as are due at this rate.
fn unasked(first: u32, rate: f64, duration: Duration) -> Scenario {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a few hundred thousand")]
    let count = (rate * duration.as_secs_f64()) as u32 + 1;
    let request = |number| Request { bytes: lookup(&format!("prod_{number}")), kind: 0 };
    Scenario { name: OVERLOAD.to_owned(), requests: (first..first + count).map(request).collect(), kinds: Vec::new() }
}

fn lookup(id: &str) -> Vec<u8> {
    post("/catalog/lookup", &json!({ "ids": [id] }).to_string())
}

/// Prints how many were accepted and refused, and how long both took.
fn show(name: &str, run: &Run) {
    let of = |wanted: &dyn Fn(u16) -> bool| {
        let pairs = run.statuses.iter().zip(&run.latencies).filter(|(status, _)| wanted(**status));
        let mut latencies: Vec<_> = pairs.map(|(_, (_, latency))| *latency).collect();
        latencies.sort_unstable();
        latencies
    };
    let percentile = |latencies: &[Duration], percent: usize| {
        latencies.get(latencies.len() * percent / 100).map_or(0.0, |latency| latency.as_secs_f64() * 1e3)
    };
    let per_second = |latencies: &[Duration]| {
        f64::from(u32::try_from(latencies.len()).unwrap_or(u32::MAX)) / run.elapsed.as_secs_f64()
    };
    let accepted = of(&is_good);
    println!(
        "  {name}: {:.0} per second asked for; {:.0} accepted, p50 {:.0} ms, p99 {:.0} ms",
        run.rate(),
        per_second(&accepted),
        percentile(&accepted, 50),
        percentile(&accepted, 99)
    );
    for status in [429, 503] {
        let refused = of(&|other| other == status);
        if !refused.is_empty() {
            let (p50, p99) = (percentile(&refused, 50), percentile(&refused, 99));
            println!("    {:.0} refused with {status}, p50 {p50:.1} ms, p99 {p99:.0} ms", per_second(&refused));
        }
    }
    let others = of(&|status| !is_good(status) && !matches!(status, 429 | 503)).len();
    if others > 0 {
        println!("    {others} ANSWERED OTHERWISE");
    }
}
