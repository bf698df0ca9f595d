//! The gateway in front of another shop: what it adds to a lookup, beside nginx in front of the same upstream, and how
//! much it remembers.
//!
//! The upstream answers at once, so that what takes time is on the way. All contestants are asked in turns, in the same
//! run, by the same load generator.

use std::{cell::Cell, path::Path, time::Duration};

use serde_json::json;

use crate::{
    Done, Options,
    load::{Connection, Load, Run},
    nginx,
    report::{mebibytes, median, milliseconds},
    scenario::{Request, Scenario, post},
    server::{Server, processor_time},
    settle, upstream,
};

/// The parts, by the names under which they can be chosen.
const UCP: &str = "fronting a UCP shop";
const STOREFRONT: &str = "fronting a Storefront API";
const COLD: &str = "fronting, equal lookups at once";
const SCAN: &str = "fronting, a scan of many products";

/// Number of connections in the comparison with nginx: as many calls as the gateway has under way by default.
const CONNECTIONS: usize = 32;

/// Number of callers that send the same request at once.
const AT_ONCE: usize = 200;

/// Number of different products that are looked up in a scan.
const SCANNED: u64 = 100_000;

/// Limits of the gateway's cache, in megabytes; the larger is its default.
const CACHES: [u32; 2] = [16, 64];

/// Target, beside nginx and the embedded shop.
const ADDED_MICROS: f64 = 150.0;
const OF_NGINX: f64 = 80.0;

const LOOKUP: &str = "/catalog/lookup";

/// A product that the embedded shop has, as it is looked up in all shops.
const SAMPLE: &str = "prod_abc123";

/// Number and duration of rounds.
struct Pace {
    rounds: usize,
    round: Duration,
    /// Number of different products that are looked up in a round, over many connections and over one.
    many: u64,
    few: u64,
    scanned: u64,
}

impl Pace {
    fn of(options: &Options) -> Self {
        let effort = options.effort();
        let (many, few, scanned) = if options.quick { (1_500, 300, 2_000) } else { (12_000, 3_000, SCANNED) };
        Self { rounds: effort.rounds, round: effort.round, many, few, scanned }
    }
}

/// Numbers of products that nobody has asked for.
struct Unasked(Cell<u64>);

impl Unasked {
    fn new() -> Self {
        Self(Cell::new(1_000_000))
    }

    /// So many look-ups of a product each, no two alike.
    fn lookups(&self, count: u64, of: fn(u64) -> String) -> Scenario {
        let first = self.0.replace(self.0.get() + count);
        let request = |number| Request { bytes: lookup(&of(number)), kind: 0 };
        Scenario {
            name: "lookup".to_owned(),
            requests: (first..first + count).map(request).collect(),
            kinds: Vec::new(),
        }
    }
}

fn lookup(id: &str) -> Vec<u8> {
    post(LOOKUP, &json!({ "ids": [id] }).to_string())
}

fn ucp_id(number: u64) -> String {
    format!("prod_{number}")
}

fn storefront_id(number: u64) -> String {
    format!("gid://shopify/Product/{number}")
}

/// Request to a server.
enum Asked {
    /// The same, over and over.
    Same(Scenario),
    /// Each time for another product.
    Other(fn(u64) -> String),
}

/// A server that takes part.
struct Contestant<'a> {
    name: &'static str,
    server: &'a Server,
    asked: Asked,
    rounds: Vec<Round>,
}

/// Measurements of one contestant in one round. Processor times are in seconds per request.
struct Round {
    rate: f64,
    cpu: f64,
    /// The same of the upstream, and of the load generator.
    upstream: f64,
    generator: f64,
    /// Of single calls, in microseconds.
    p50: f64,
    p99: f64,
}

impl<'a> Contestant<'a> {
    fn new(name: &'static str, server: &'a Server, asked: Asked) -> Self {
        Self { name, server, asked, rounds: Vec::new() }
    }

    async fn load(&self, connections: usize, duration: Duration, count: u64, unasked: &Unasked) -> Done<Run> {
        let server = self.server;
        match &self.asked {
            Asked::Same(scenario) => Load { server, scenario, connections }.closed(duration).await,
            Asked::Other(of) => {
                let scenario = &unasked.lookups(count, *of);
                Load { server, scenario, connections }.once().await
            }
        }
    }

    async fn warm(&self, pace: &Pace, unasked: &Unasked) -> Done<()> {
        self.load(CONNECTIONS, pace.round / 4, pace.many / 4, unasked).await.map(drop)
    }

    async fn round(&mut self, pace: &Pace, unasked: &Unasked, upstream: &Server) -> Done<()> {
        let (own, theirs) = (processor_time("self")?, upstream.cpu()?);
        let run = self.load(CONNECTIONS, pace.round, pace.many, unasked).await?;
        let theirs = upstream.cpu()?.saturating_sub(theirs).as_secs_f64() / run.requests();
        let own = processor_time("self")?.saturating_sub(own).as_secs_f64() / run.requests();
        let single = self.load(1, pace.round / 2, pace.few, unasked).await?;
        let mut latencies: Vec<_> = single.latencies.iter().map(|(_, latency)| *latency).collect();
        latencies.sort_unstable();
        let percentile = |percent: usize| latencies[latencies.len() * percent / 100].as_secs_f64() * 1e6;
        self.rounds.push(Round {
            rate: run.rate(),
            cpu: run.cpu_per_request(),
            upstream: theirs,
            generator: own,
            p50: percentile(50),
            p99: percentile(99),
        });
        Ok(())
    }

    fn median(&self, of: impl Fn(&Round) -> f64) -> f64 {
        median(self.rounds.iter().map(of).collect())
    }

    /// The median of what it has beside another in the same round.
    fn beside(&self, other: &Self, of: impl Fn(&Round, &Round) -> f64) -> f64 {
        median(self.rounds.iter().zip(&other.rounds).map(|(own, other)| of(own, other)).collect())
    }
}

/// All parts that are wanted.
pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    if ![UCP, STOREFRONT, COLD, SCAN].into_iter().any(|name| options.wants(name)) {
        return Ok(());
    }
    let directory = directory.join("fronting");
    let embedded = Server::gateway(gateway, &directory.join("embedded"))?;
    let answer = Connection::open(embedded.address).await?.body(&lookup(SAMPLE)).await?;
    let file = directory.join("answer.json");
    std::fs::write(&file, &answer)?;
    let upstream = Server::upstream(&file, SAMPLE)?;
    println!("\nIn front of a shop that answers at once: lookups of one product\n");
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let nginx = match nginx::before(upstream.address, &directory.join("nginx"), workers) {
        Ok(nginx) => {
            let version = nginx::version().unwrap_or_default();
            println!("  nginx {version}, `proxy_pass` over kept connections, {workers} workers");
            Some(nginx)
        }
        Err(reason) => {
            println!("  without nginx beside it: {reason}");
            None
        }
    };
    println!("  the gateway has {workers} threads for its work; the upstream and the load generator have one each");
    println!(
        "  req/s: over {CONNECTIONS} connections; p50, p99: over one, where one call follows the other; all in turns"
    );
    let place = FrontedPlace { options, gateway, directory: &directory, upstream: &upstream, nginx: nginx.as_ref() };
    if options.wants(UCP) {
        place.compare(UCP, "ucp", ucp_id, &embedded, answer.len()).await?;
    }
    if options.wants(STOREFRONT) {
        place.compare(STOREFRONT, "shopify", storefront_id, &embedded, answer.len()).await?;
    }
    if options.wants(COLD) {
        place.cold().await?;
    }
    if options.wants(SCAN) {
        place.scan().await?;
    }
    Ok(())
}

/// Context that all parts share.
struct FrontedPlace<'a> {
    options: &'a Options,
    gateway: &'a Path,
    directory: &'a Path,
    upstream: &'a Server,
    nginx: Option<&'a Server>,
}

impl FrontedPlace<'_> {
    /// A gateway that has seen nothing yet.
    fn front(&self, backend: &str, name: &str, config: &str) -> Done<Server> {
        let data = self.directory.join(format!("{backend}-{name}"));
        Server::fronting(self.gateway, &data, backend, self.upstream.address, config)
    }

    /// The upstream alone, behind nginx, and behind the gateway.
    async fn compare(
        &self,
        name: &'static str,
        backend: &str,
        id: fn(u64) -> String,
        embedded: &Server,
        embedded_bytes: usize,
    ) -> Done<()> {
        let (pace, unasked) = (Pace::of(self.options), Unasked::new());
        let front = self.front(backend, "lookups", "")?;
        let known = lookup(&id(1));
        let shown = Connection::open(front.address).await?.body(&known).await?;
        // The upstream's own requests: over UCP the same, over another API those of the gateway.
        let direct = match backend {
            "shopify" => post("/api/2026-04/graphql.json", &upstream::asked(self.upstream).await?),
            _ => known.clone(),
        };
        let upstream_bytes = Connection::open(self.upstream.address).await?.body(&direct).await?.len();
        let same = |bytes: &[u8]| Asked::Same(Scenario::one(name, bytes.to_vec()));
        let mut contestants = vec![Contestant::new("upstream alone", self.upstream, same(&direct))];
        contestants.extend(self.nginx.map(|nginx| Contestant::new("nginx before it", nginx, same(&direct))));
        let uncached = contestants.len();
        contestants.push(Contestant::new("gateway, other products", &front, Asked::Other(id)));
        contestants.push(Contestant::new("gateway, the same product", &front, same(&known)));
        contestants.push(Contestant::new("embedded shop", embedded, same(&lookup(SAMPLE))));
        println!(
            "\n{name}: the upstream answers {upstream_bytes} bytes, the gateway {}, the embedded shop {embedded_bytes}\n",
            shown.len()
        );
        for contestant in &contestants {
            contestant.warm(&pace, &unasked).await?;
        }
        for _ in 0..pace.rounds {
            for contestant in &mut contestants {
                contestant.round(&pace, &unasked, self.upstream).await?;
            }
        }
        table(&contestants, uncached);
        verdict(&contestants, uncached, self.nginx.is_some());
        Ok(())
    }

    /// Many callers at once who ask for the same product, which nobody has asked for before.
    async fn cold(&self) -> Done<()> {
        println!("\n{AT_ONCE} equal lookups at once of a product that was not asked for before\n");
        for (backend, id) in [("ucp", ucp_id as fn(u64) -> String), ("shopify", storefront_id)] {
            let front = self.front(backend, "cold", "")?;
            // The first waits for the upstream until all have asked; the second round finds the upstream at its usual
            // pace.
            for (held, number) in [(true, 1), (false, 2)] {
                let bytes = lookup(&id(number));
                let requests = (0..AT_ONCE).map(|_| Request { bytes: bytes.clone(), kind: 0 }).collect();
                let scenario = &Scenario { name: COLD.to_owned(), requests, kinds: Vec::new() };
                if held {
                    upstream::hold(self.upstream).await?;
                }
                let before = upstream::calls(self.upstream).await?;
                let run = Load { server: &front, scenario, connections: AT_ONCE }.once().await?;
                let calls = upstream::calls(self.upstream).await? - before;
                let kind = if held { "held back until all have asked" } else { "answered at once" };
                println!("  {backend}, {kind}: {:.0} answers, {calls} call to the upstream", run.requests());
                if calls != 1 {
                    return Err(format!("{AT_ONCE} equal lookups at once made {calls} calls").into());
                }
            }
        }
        Ok(())
    }

    /// Measures the memory of a gateway after lookups of very many products.
    async fn scan(&self) -> Done<()> {
        let pace = Pace::of(self.options);
        println!("\n{} products, each looked up once\n", pace.scanned);
        println!("{:<28}{:>12}{:>12}{:>12}{:>12}{:>12}", "RSS in MiB", "before", "after", "peak", "grown by", "took");
        for (backend, id) in [("ucp", ucp_id as fn(u64) -> String), ("shopify", storefront_id)] {
            for cache in CACHES {
                let name = format!("scan-{cache}");
                let front = self.front(backend, &name, &format!("[upstream]\ncache_mb = {cache}\n"))?;
                settle().await;
                let (before, unasked) = (front.memory()?, Unasked::new());
                let mut elapsed = Duration::ZERO;
                let mut left = pace.scanned;
                while left > 0 {
                    let count = left.min(10_000);
                    let scenario = &unasked.lookups(count, id);
                    elapsed += Load { server: &front, scenario, connections: CONNECTIONS }.once().await?.elapsed;
                    left -= count;
                }
                settle().await;
                let after = front.memory()?;
                println!(
                    "{:<28}{:>12.1}{:>12.1}{:>12.1}{:>12.1}{:>12}",
                    format!("{backend}, cache_mb = {cache}"),
                    mebibytes(before.resident),
                    mebibytes(after.resident),
                    mebibytes(after.peak),
                    mebibytes(after.resident.saturating_sub(before.resident)),
                    milliseconds(elapsed)
                );
            }
        }
        Ok(())
    }
}

fn table(contestants: &[Contestant<'_>], uncached: usize) {
    let heads = ["req/s", "CPU us", "upstream", "generator", "p50 us", "p99 us", "p50 added", "p99 added"];
    let line = |name: &str, cells: &[String]| {
        println!("{name:<28}{}", cells.iter().map(|cell| format!("{cell:>11}")).collect::<String>());
    };
    line("", &heads.map(str::to_owned));
    let Some(bare) = contestants.first() else { return };
    for (place, contestant) in contestants.iter().enumerate() {
        let micros = |of: fn(&Round) -> f64| format!("{:.1}", 1e6 * contestant.median(of));
        // Nothing is added to a call that is not made.
        let added = |of: fn(&Round) -> f64| {
            if place == 0 || place > uncached {
                return String::new();
            }
            format!("{:.0}", contestant.beside(bare, |own, bare| of(own) - of(bare)))
        };
        line(
            contestant.name,
            &[
                format!("{:.0}", contestant.median(|round| round.rate)),
                micros(|round| round.cpu),
                micros(|round| round.upstream),
                micros(|round| round.generator),
                format!("{:.0}", contestant.median(|round| round.p50)),
                format!("{:.0}", contestant.median(|round| round.p99)),
                added(|round| round.p50),
                added(|round| round.p99),
            ],
        );
    }
}

/// Prints the results beside the targets.
fn verdict(contestants: &[Contestant<'_>], uncached: usize, beside_nginx: bool) {
    let [bare, .., cached, embedded] = contestants else { return };
    let gateway = &contestants[uncached];
    let share = |own: &Round, other: &Round| 100.0 * own.rate / other.rate;
    println!(
        "\n  the gateway adds {:.0} us at p50 (target: at most {ADDED_MICROS})",
        gateway.beside(bare, |own, bare| own.p50 - bare.p50)
    );
    if beside_nginx {
        let nginx = &contestants[uncached - 1];
        println!("  uncached, {:.0} % of the rate of nginx (target: {OF_NGINX})", gateway.beside(nginx, share));
    }
    println!("  cached, {:.0} % of the rate of the embedded shop (target: 100)", cached.beside(embedded, share));
}
