//! The server benchmark: `cargo run -p bench --release`.
//!
//! Starts the gateway as it is shipped and, as the yardstick, a bare axum handler; loads both over loopback in turns;
//! and prints what they did. `docs/performance.md` explains the figures of a run, and `bench/log.md` keeps all of them.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`bare`] | the yardstick: a handler that parses a request and serializes ten products |
//! | [`server`] | servers as child processes: starting, measuring, stopping |
//! | [`load`] | the load generator |
//! | [`scenario`] | what is asked |
//! | [`platform`] | platforms with profiles and keys |
//! | [`callers`] | the same question by callers of several kinds |
//! | [`purchase`] | carts and checkouts, beside flushes to disk |
//! | [`shared`] | the same on PostgreSQL, beside pgbench and SQLite |
//! | [`places`] | a large directory of merchants |
//! | [`webhooks`] | what platforms are told about their orders |
//! | [`fronting`] | the gateway in front of another shop, beside nginx |
//! | [`upstream`] | that shop, which answers at once |
//! | [`nginx`] | the other yardstick: in front of a shop, and with fixed answers |
//! | [`goods`] | a large catalog, made up |
//! | [`relevance`] | how well searches rank |
//! | [`shops`] | a thousand shops of one process, and a neighbor that misbehaves |
//! | [`hanging`] | payments beside a caller whose searches hang |
//! | [`waiting`] | a shop in which payments wait for their buyers' banks |
//! | [`synchronised`] | the copy of a large catalog of another shop |
//! | [`soak`] | a long time at capacity, and ten times more than a slow shop can take |
//! | [`report`] | figures as people read them |

mod bare;
mod callers;
mod fronting;
mod goods;
mod hanging;
mod load;
mod nginx;
mod places;
mod platform;
mod purchase;
mod relevance;
mod report;
mod scenario;
mod server;
mod shared;
mod shops;
mod soak;
mod synchronised;
mod upstream;
mod waiting;
mod webhooks;

use std::{
    error::Error,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use clap::{Args, Parser, Subcommand};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    load::{Connection, Load, Run},
    report::{Row, Series, median, milliseconds, table},
    scenario::{SampleShop, Scenario},
    server::Server,
};

/// Result of a step of the benchmark.
type Done<T> = Result<T, Box<dyn Error>>;

/// Measures the gateway beside a bare axum handler, over loopback.
#[derive(Debug, Parser)]
struct Cli {
    #[command(subcommand)]
    role: Option<Role>,
    #[command(flatten)]
    options: Options,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// Be the bare handler that answers with the products in a file.
    #[command(hide = true)]
    Bare {
        /// An answer of the gateway to a lookup.
        answer: PathBuf,
    },
    /// Be the shop that answers at once.
    #[command(hide = true)]
    Upstream {
        /// An answer of the gateway to a lookup.
        answer: PathBuf,
        /// The product that was looked up.
        id: String,
    },
}

#[derive(Debug, Args)]
struct Options {
    /// Only the sample shop, and only long enough to see that everything works: half a minute.
    #[arg(long)]
    quick: bool,
    /// Only the scenarios whose name contains this.
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Number of products in the large catalog.
    #[arg(long, default_value_t = 100_000, value_name = "NUMBER")]
    products: usize,
    /// Keep the large catalog in this directory, or use the one that is there.
    #[arg(long, value_name = "DIRECTORY")]
    keep: Option<PathBuf>,
    /// Time for which the gateway is kept at capacity, in seconds.
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    soak_seconds: u64,
    /// The gateway to measure; without it, this checkout's is built.
    #[arg(long, env = "UCP_GATEWAY_BIN", value_name = "FILE")]
    gateway: Option<PathBuf>,
    /// The gateway of the commit before, whose relevance is printed beside.
    #[arg(long, env = "UCP_GATEWAY_BEFORE", value_name = "FILE")]
    before: Option<PathBuf>,
}

/// Number and duration of measurements.
struct Effort {
    rounds: usize,
    round: Duration,
    connections: usize,
}

impl Options {
    fn effort(&self) -> Effort {
        let (rounds, round) = if self.quick { (2, 250) } else { (5, 1_000) };
        Effort { rounds, round: Duration::from_millis(round), connections: 16 }
    }

    fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }
}

/// The bare handler, and what it is asked.
struct Yardstick {
    server: Server,
    scenario: Scenario,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let done = match &cli.role {
        Some(Role::Bare { answer }) => bare::serve(answer),
        Some(Role::Upstream { answer, id }) => upstream::serve(answer, id),
        None => generate(&cli.options),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the benchmark on one thread: the generator should take as little as it can from the servers.
fn generate(options: &Options) -> Done<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        // The first to end wins: dropping the servers stops them.
        tokio::select! {
            done = measure(options) => done,
            _ = terminate.recv() => Err("stopped".into()),
            _ = interrupt.recv() => Err("stopped".into()),
        }
    })
}

async fn measure(options: &Options) -> Done<()> {
    let gateway = match &options.gateway {
        Some(gateway) => gateway.clone(),
        None => build()?,
    };
    let directory = tempfile::tempdir()?;
    report::machine();
    if options.wants("relevance") {
        relevance::all(&gateway, options.before.as_deref(), directory.path()).await?;
    }
    sample(options, &gateway, directory.path()).await?;
    if !options.quick && SampleShop::large_scenarios().iter().any(|name| options.wants(name)) {
        many(options, &gateway, directory.path()).await?;
    }
    synchronised::all(options, &gateway, directory.path()).await?;
    shared::all(options, &gateway, directory.path()).await?;
    webhooks::all(options, &gateway, directory.path()).await?;
    places::all(options, &gateway, directory.path()).await?;
    fronting::all(options, &gateway, directory.path()).await?;
    shops::all(options, &gateway, directory.path()).await?;
    hanging::all(options, &gateway, directory.path()).await?;
    waiting::all(options, &gateway, directory.path()).await?;
    soak::all(options, &gateway, directory.path()).await
}

/// Builds the gateway and says where it is.
fn build() -> Done<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["build", "--release", "-p", "ucp-gateway", "--message-format", "json-render-diagnostics"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stderr(std::process::Stdio::inherit())
        .output()?;
    if !output.status.success() {
        return Err("the gateway does not build".into());
    }
    let messages = String::from_utf8(output.stdout)?;
    let executable = messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter_map(|message| message.get("executable")?.as_str().map(PathBuf::from))
        .next_back();
    executable.ok_or_else(|| "cargo does not say where the gateway is".into())
}

/// The sample shop beside the bare handler.
async fn sample(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    let data = directory.join("sample");
    let created = Server::gateway(gateway, &data)?;
    let first_start = created.started;
    drop(created);
    let server = Server::gateway(gateway, &data)?;
    settle().await;
    println!(
        "\nThe sample shop: first start {}, start on the existing directory {}, idle {}\n",
        milliseconds(first_start),
        milliseconds(server.started),
        report::memory(server.memory()?)
    );

    let shop = SampleShop::sample(&server).await?;
    let answer = directory.join("answer.json");
    std::fs::write(&answer, &shop.lookup_answer)?;
    let bare = Yardstick { server: Server::bare(&answer)?, scenario: Scenario::lookup("bare handler", &shop.ids) };
    let scenarios: Vec<_> = shop.scenarios().into_iter().filter(|scenario| options.wants(&scenario.name)).collect();
    if !scenarios.is_empty() {
        compare(options, &server, &scenarios, &bare).await?;
        beside_nginx(options, &server, &scenarios, directory).await?;
    }
    purchase::all(options, gateway, directory, &shop, &bare).await?;
    callers::all(options, gateway, directory, &shop, &server, &bare).await
}

/// Scenarios beside the bare handler.
async fn compare(options: &Options, server: &Server, scenarios: &[Scenario], bare: &Yardstick) -> Done<()> {
    let effort = options.effort();
    let mut rows = Vec::new();
    let mut yard = Series::default();
    for scenario in scenarios {
        let mut series = Series::default();
        warm(&effort, &bare.server, &bare.scenario).await?;
        warm(&effort, server, scenario).await?;
        let mut shares = Vec::new();
        for _ in 0..effort.rounds {
            let reference = flat_out(&effort, &bare.server, &bare.scenario).await?;
            let run = flat_out(&effort, server, scenario).await?;
            shares.push((run.rate() / reference.rate(), run.cpu_per_request() / reference.cpu_per_request()));
            yard.add(&reference);
            series.add(&run);
        }
        let paced = paced(&effort, server, scenario, series.rate()).await?;
        let (rates, costs): (Vec<_>, Vec<_>) = shares.into_iter().unzip();
        rows.push(Row::new(&scenario.name, &series, &paced, server.memory()?, Some((median(rates), median(costs)))));
    }
    let reference = paced(&effort, &bare.server, &bare.scenario, yard.rate()).await?;
    rows.insert(0, Row::new("bare handler", &yard, &reference, bare.server.memory()?, Some((1.0, 1.0))));
    table(&rows);
    Ok(())
}

/// Scenarios that are measured beside nginx as well, with their paths and the aim: the share of the rate of nginx.
const FIXED: [(&str, &str, f64); 3] = [
    ("discovery", "/.well-known/ucp", 0.9),
    ("lookup of 10 ids", "/catalog/lookup", 0.7),
    ("the same over MCP", "/mcp", 0.5),
];

/// Scenarios beside nginx, which answers with the same bytes from a file, in turns on the same cores.
async fn beside_nginx(options: &Options, server: &Server, scenarios: &[Scenario], directory: &Path) -> Done<()> {
    let effort = options.effort();
    let (mut measured, mut answers) = (Vec::new(), Vec::new());
    for (name, path, aim) in FIXED {
        let Some(scenario) = scenarios.iter().find(|scenario| scenario.name == name) else { continue };
        answers.push((path, Connection::open(server.address).await?.body(&scenario.requests[0].bytes).await?));
        measured.push((scenario, aim));
    }
    if measured.is_empty() {
        return Ok(());
    }
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let nginx = match nginx::fixed(&answers, &directory.join("nginx"), workers) {
        Ok(nginx) => nginx,
        Err(reason) => {
            println!("\n  without nginx beside it: {reason}");
            return Ok(());
        }
    };
    println!("\n{:<28}{:>10}{:>10}{:>10}{:>10}", "beside nginx, fixed answer", "req/s", "of nginx", "share", "aim");
    for (scenario, aim) in measured {
        warm(&effort, &nginx, scenario).await?;
        warm(&effort, server, scenario).await?;
        let (mut own, mut fixed, mut shares) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..effort.rounds {
            fixed.push(flat_out(&effort, &nginx, scenario).await?.rate());
            own.push(flat_out(&effort, server, scenario).await?.rate());
            shares.extend(own.last().zip(fixed.last()).map(|(own, fixed)| own / fixed));
        }
        let (own, fixed, share) = (median(own), median(fixed), median(shares));
        println!("{:<28}{own:>10.0}{fixed:>10.0}{share:>10.2}{aim:>10.1}", scenario.name);
    }
    Ok(())
}

/// A large catalog: import, start, memory, searches, lookups.
async fn many(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    let data = options.keep.clone().unwrap_or_else(|| directory.join("large"));
    println!("\nA catalog of {} products", options.products);
    if !data.exists() {
        let file = directory.join("products.jsonl");
        let start = Instant::now();
        let bytes = goods::write(&file, options.products)?;
        println!("  written as JSON Lines in {}: {} MB", milliseconds(start.elapsed()), bytes / 1_000_000);
        let start = Instant::now();
        server::import(gateway, &file, &data)?;
        println!("  imported in {}", milliseconds(start.elapsed()));
        std::fs::remove_file(&file)?;
        let start = Server::gateway(gateway, &data)?.started;
        println!("  first start, which builds the search index: {}", milliseconds(start));
    }
    let server = Server::gateway(gateway, &data)?;
    settle().await;
    println!("  start on the existing directory: {}", milliseconds(server.started));
    println!("  idle: {}\n", report::memory(server.memory()?));

    let scenarios = SampleShop::large(options.products).into_iter().filter(|scenario| options.wants(&scenario.name));
    searches(options, &server, scenarios).await
}

/// Searches and lookups in a [large catalog](goods).
async fn searches(options: &Options, server: &Server, scenarios: impl Iterator<Item = Scenario>) -> Done<()> {
    let effort = options.effort();
    let mut rows = Vec::new();
    for scenario in scenarios {
        warm(&effort, server, &scenario).await?;
        let mut series = Series::default();
        for _ in 0..effort.rounds {
            series.add(&flat_out(&effort, server, &scenario).await?);
        }
        let paced = paced(&effort, server, &scenario, series.rate()).await?;
        rows.push(Row::new(&scenario.name, &series, &paced, server.memory()?, None));
        for (kind, name) in scenario.kinds.iter().enumerate() {
            rows.push(Row::part(name, &paced, kind));
        }
    }
    table(&rows);
    settle().await;
    println!("\n  after the load: {}", report::memory(server.memory()?));
    Ok(())
}

/// Lets a server finish what it does after its first answer.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}

async fn warm(effort: &Effort, server: &Server, scenario: &Scenario) -> Done<()> {
    Load { server, scenario, connections: effort.connections }.closed(effort.round / 4).await.map(drop)
}

async fn flat_out(effort: &Effort, server: &Server, scenario: &Scenario) -> Done<Run> {
    Load { server, scenario, connections: effort.connections }.closed(effort.round).await
}

/// At half of the highest rate, which is where latencies mean something.
async fn paced(effort: &Effort, server: &Server, scenario: &Scenario, rate: f64) -> Done<Vec<Run>> {
    let load = Load { server, scenario, connections: effort.connections };
    let mut runs = Vec::new();
    for _ in 0..effort.rounds {
        runs.push(load.paced(rate / 2.0, effort.round).await?);
    }
    Ok(runs)
}
