//! Carts and checkouts on PostgreSQL: beside `pgbench -N` on the same server, and beside SQLite, in turns.
//!
//! The server is Debian's, in a throw-away cluster that flushes every commit. `pgbench -N` changes one row, inserts one and reads one per
//! transaction, over as many connections as the gateway has.

use std::{
    path::Path,
    process::{Command, Stdio},
};

use ucp_testkit::postgres::{Bouncer, Cluster, program};

use crate::{
    Done, Options,
    purchase::{Ask, Buyer},
    report::{Series, median},
    scenario::PLATFORM,
    server::Server,
};

/// Name of the part.
const POSTGRES: &str = "postgres";

/// Connections of a gateway, and of pgbench.
const CONNECTIONS: usize = 16;

/// Requests to measure.
const ASKED: [Ask; 4] = [Ask::Create, Ask::Update, Ask::Complete, Ask::Get];

/// Checkouts that are there to be shown and changed.
const FEW: usize = 500;

/// Measures what is wanted; nothing where PostgreSQL is not installed.
pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    if !options.wants(POSTGRES) {
        return Ok(());
    }
    let Some(cluster) = Cluster::start(&["fsync=on", "full_page_writes=on", "max_wal_size=4GB"]) else {
        println!("\nPostgreSQL: skipped, because it is not installed");
        return Ok(());
    };
    let effort = options.effort();
    pgbench(&cluster, &["-i", "-q", "-s", "10"])?;
    let bouncer = Bouncer::start(cluster.port(), CONNECTIONS);
    let mut servers = vec![("SQLite".to_owned(), Server::gateway(gateway, &directory.join("sqlite"))?)];
    let mut places = vec![("PostgreSQL", cluster.url("plain"), false), ("prepared", cluster.url("prepared"), true)];
    places.extend(bouncer.as_ref().map(|bouncer| ("pgbouncer", bouncer.url("pooled"), false)));
    for (name, url, prepares) in places {
        let (_, database) = url.rsplit_once('/').ok_or("an address without a database")?;
        drop(cluster.psql(&format!("CREATE DATABASE {database}")));
        let config = format!(
            "[data]\ndatabase = \"{url}\"\ndatabase_connections = {CONNECTIONS}\ndatabase_prepares = {prepares}\n\
             [callers]\npolicy = \"development\"\n"
        );
        servers.push((name.to_owned(), Server::configured(gateway, &directory.join(database), &config, PLATFORM)?));
    }
    let mut buyers = Vec::new();
    for (_, server) in &servers {
        let mut buyer = Buyer::with(server, FEW).await?;
        let mut about = Vec::new();
        for ask in ASKED {
            about.push(buyer.try_out(ask, &effort).await?);
        }
        buyers.push((buyer, about));
    }
    let mut yard = Vec::new();
    let mut asked: Vec<Vec<Series>> =
        servers.iter().map(|_| ASKED.iter().map(|_| Series::default()).collect()).collect();
    let seconds = effort.round.as_secs().max(1).to_string();
    for _ in 0..effort.rounds {
        let clients = CONNECTIONS.to_string();
        yard.push(pgbench(&cluster, &["-N", "-n", "-c", &clients, "-j", "2", "-T", &seconds])?);
        for ((buyer, about), series) in buyers.iter_mut().zip(&mut asked) {
            for ((ask, rate), series) in ASKED.into_iter().zip(about.iter()).zip(series) {
                series.add(&buyer.flat_out(ask, ask.connections(&effort), *rate, effort.round).await?);
            }
        }
    }
    let yard = median(yard);
    println!("\nCarts and checkouts on PostgreSQL, beside `pgbench -N`: {yard:.0} transactions per second\n");
    print!("{:<20}", "req/s");
    servers.iter().for_each(|(name, _)| print!("{name:>12}{:>8}", "of it"));
    println!("{:>12}", "CPU us");
    for (nth, ask) in ASKED.into_iter().enumerate() {
        print!("{:<20}", ask.name());
        for series in &asked {
            print!("{:>12.0}{:>6.0} %", series[nth].rate(), series[nth].rate() / yard * 100.0);
        }
        let costs: Vec<_> = asked.iter().map(|series| format!("{:.0}", series[nth].cost() * 1e6)).collect();
        println!("{:>24}", costs.join(" / "));
    }
    Ok(())
}

/// Runs pgbench, and returns the transactions per second that it counted.
fn pgbench(cluster: &Cluster, arguments: &[&str]) -> Done<f64> {
    let program = program("pgbench").ok_or("PostgreSQL comes without pgbench")?;
    let output = Command::new(program).args(arguments).arg(cluster.url("postgres")).stderr(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(format!("pgbench {arguments:?} fails").into());
    }
    let text = String::from_utf8(output.stdout)?;
    let rate = text.lines().find_map(|line| line.strip_prefix("tps = ")?.split(' ').next()?.parse().ok());
    Ok(rate.unwrap_or_default())
}
