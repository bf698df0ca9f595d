//! Several shops of one process: what a thousand cost, and what one whose backend misbehaves takes from another.

use std::{fmt::Write as _, fs, net::SocketAddr, path::Path, thread, time::Duration};

use serde_json::json;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    time::Instant,
};

use crate::{
    Done, Effort, Options,
    load::{Connection, Load},
    report::{mebibytes, median, memory, milliseconds, percentiles},
    scenario::{HOST, PLATFORM, Scenario, post},
    server::{Memory, Server},
    settle,
};

/// Name of the part.
const SHOPS: &str = "shops";

/// Number of shops.
const MANY: usize = 1_000;

/// Number of shops to compare with.
const FEW: usize = 10;

/// Path of the shop that misbehaves.
const NEIGHBOUR: &str = "/shops/neighbour";

/// Calls of the shop that misbehaves, per second, and the connections that they come over.
const CALLS: f64 = 50.0;
const CALLERS: usize = 32;

/// Measures what is wanted.
pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    if !options.wants(SHOPS) {
        return Ok(());
    }
    let directory = directory.join(SHOPS);
    many(options, gateway, &directory).await?;
    neighbours(options, gateway, &directory).await
}

/// A thousand shops in one data directory: start, memory, and what opening one costs.
async fn many(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    let count = if options.quick { FEW * 5 } else { MANY };
    println!("\n{count} shops of one process, in one data directory");
    let data = directory.join("many");
    let config = |count: usize, more: &str| {
        let mut config = format!(
            "{more}[data]\nsample = \"flower-shop\"\n[callers]\npolicy = \"development\"\n\
             [[shop]]\nname = \"first\"\nhosts = [\"{HOST}\"]\n"
        );
        for number in 1..count {
            // Writing to a text cannot fail.
            let _ = write!(config, "[[shop]]\nname = \"shop-{number}\"\npath = \"/shops/{number}\"\n");
        }
        config
    };
    let idle = async |count: usize| -> Done<(Duration, Memory)> {
        let server = Server::configured(gateway, &data, &config(count, ""), PLATFORM)?;
        settle().await;
        Ok((server.started, server.memory()?))
    };
    let (few, much) = (idle(FEW).await?, idle(count).await?);
    println!("  first start, up to an answer of the first shop: {}", milliseconds(much.0));
    println!("  {FEW} shops: {}; {count}: {}", memory(few.1), memory(much.1));
    println!("  each shop that nobody has called: {:.1} KiB", each(few.1, much.1, count - FEW));

    let server = Server::configured(gateway, &data, &config(count, "[server]\nclose_idle_s = 2\n"), PLATFORM)?;
    let mut connection = Connection::open(server.address).await?;
    let mut open = async |number: usize| -> Done<f64> {
        let begun = Instant::now();
        let lookup = json!({ "ids": ["bouquet_roses"] }).to_string();
        connection.body(&elsewhere(&format!("/shops/{number}/catalog/lookup"), &lookup)).await?;
        Ok(begun.elapsed().as_secs_f64())
    };
    let mut made = Vec::new();
    for number in 1..count {
        made.push(open(number).await?);
    }
    println!("  first call of a shop, which makes it: {:.0} ms", median(made) * 1e3);
    // At most a hundred of them are open.
    println!("  after a call of each: {}, {} descriptors", memory(server.memory()?), server.descriptors()?);
    tokio::time::sleep(Duration::from_secs(5)).await;
    println!("  all closed again: {}, {} descriptors", memory(server.memory()?), server.descriptors()?);
    let mut opened = Vec::new();
    for number in 1..FEW {
        opened.push(open(number).await?);
    }
    println!("  first call of a shop that is there: {:.0} ms", median(opened) * 1e3);
    drop(server);
    let there = idle(count).await?;
    println!("  start on what is there: {}, {}", milliseconds(there.0), memory(there.1));
    println!("  each idle shop: {:.1} KiB", each(few.1, there.1, count - FEW));
    Ok(())
}

/// A request that posts JSON to a host that no shop has, where all those with a path are.
fn elsewhere(path: &str, body: &str) -> Vec<u8> {
    String::from_utf8_lossy(&post(path, body)).replacen(HOST, "localhost", 1).into_bytes()
}

/// The anonymous memory of each of `count` more shops, in KiB.
fn each(few: Memory, much: Memory, count: usize) -> f64 {
    let count = f64::from(u32::try_from(count).unwrap_or(u32::MAX));
    (mebibytes(much.anonymous) - mebibytes(few.anonymous)) * 1024.0 / count
}

/// Misbehaviour of a neighbor's backend.
#[derive(Clone, Copy)]
enum Fault {
    /// It answers nothing.
    Hangs,
    /// It answers without end.
    Floods,
    /// It closes every connection in the middle of an answer.
    Breaks,
    /// The programs of its mapping take all memory that they get, and their process dies.
    Crashes,
}

impl Fault {
    /// All of them, with what is said of a shop whose backend has it.
    const ALL: [(&str, Self); 4] = [
        ("hangs", Self::Hangs),
        ("floods", Self::Floods),
        ("breaks connections", Self::Breaks),
        ("crashes", Self::Crashes),
    ];

    /// Returns the configuration of a shop with such a backend, whose files are in `data`.
    fn upstream(self, data: &Path) -> Done<String> {
        if !matches!(self, Self::Crashes) {
            return Ok(format!("backend = \"http\"\nurl = \"http://{}\"\n", misbehaving(self)?));
        }
        let mapping = data.join("crashes.toml");
        fs::write(&mapping, CRASHING)?;
        Ok(format!("backend = \"mapped\"\nmapping_file = {mapping:?}\n"))
    }
}

/// A mapping whose programs want more memory than programs get.
const CRASHING: &str = r#"
[market]
name = "Neighbour"
currency = "USD"
language = "en"

[source.shop]
address = "http://127.0.0.1:9/"

[find]
answer = "{products: [range(1e12)]}"

[resolve]
answer = "{products: [range(1e12)]}"
"#;

/// A shop at a quarter of its load, beside one whose backend misbehaves.
async fn neighbours(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    let effort = options.effort();
    println!("\nA shop at a quarter of its highest rate, beside another that is called {CALLS:.0} times per second");
    println!("{:<34}{:>10}{:>18}{:>10}{:>18}", "", "p50 ms", "from - to", "p99 ms", "from - to");
    let mut servers = Vec::new();
    for (name, fault) in Fault::ALL {
        let data = directory.join(name.replace(' ', "-"));
        fs::create_dir_all(&data)?;
        let upstream = fault.upstream(&data)?;
        let config = format!(
            "[callers]\npolicy = \"development\"\n[server]\nmax_in_flight = 64\n[[shop]]\nname = \"first\"\nhosts = [\"{HOST}\"]\n\
             [[shop]]\nname = \"neighbour\"\npath = \"{NEIGHBOUR}\"\n\
             [shop.upstream]\n{upstream}"
        );
        servers.push((name, Server::configured(gateway, &data, &config, PLATFORM)?));
    }
    for (name, server) in &servers {
        let shop = crate::scenario::SampleShop::sample(server).await?;
        let lookup = Scenario::lookup("lookup", &shop.ids);
        crate::warm(&effort, server, &lookup).await?;
        let rate = crate::flat_out(&effort, server, &lookup).await?.rate() / 4.0;
        let (mut alone, mut beside) = (Vec::new(), Vec::new());
        for _ in 0..effort.rounds {
            alone.push(round(&effort, server, &lookup, rate, false).await?);
            beside.push(round(&effort, server, &lookup, rate, true).await?);
        }
        show(&format!("alone, {rate:.0} per second"), &alone);
        show(&format!("beside one whose backend {name}"), &beside);
    }
    Ok(())
}

/// A round, while the neighbor is called or left alone. Returns the 50th and 99th percentile in milliseconds.
async fn round(effort: &Effort, server: &Server, lookup: &Scenario, rate: f64, called: bool) -> Done<[f64; 2]> {
    let load = Load { server, scenario: lookup, connections: effort.connections };
    let search = elsewhere(&format!("{NEIGHBOUR}/catalog/search"), &json!({ "query": "roses" }).to_string());
    let neighbour = Scenario::one("neighbour", search);
    let calls = Load { server, scenario: &neighbour, connections: CALLERS };
    let run = if called {
        tokio::select! {
            run = load.paced(rate, effort.round) => run?,
            // Those whose answers never come wait until the round is over.
            Err(error) = calls.flood(CALLS, effort.round) => return Err(error),
        }
    } else {
        load.paced(rate, effort.round).await?
    };
    Ok(percentiles(&[run], |_| true).map(|text| text.parse().unwrap_or_default()))
}

fn show(name: &str, rounds: &[[f64; 2]]) {
    print!("  {name:<32}");
    for nth in 0..2 {
        let of: Vec<_> = rounds.iter().map(|round| round[nth]).collect();
        let (least, most) = (of.iter().copied().fold(f64::MAX, f64::min), of.iter().copied().fold(0.0, f64::max));
        print!("{:>10.2}{:>18}", median(of), format!("{least:.2} - {most:.2}"));
    }
    println!();
}

/// Starts a backend that says what it is, and misbehaves when it is asked for anything. It has a thread of its own, so
/// that it does not hold up the load generator.
fn misbehaving(fault: Fault) -> Done<SocketAddr> {
    let listener = std::net::TcpListener::bind((HOST, 0))?;
    listener.set_nonblocking(true)?;
    let address = listener.local_addr()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::spawn(move || {
        runtime.block_on(async {
            let Ok(listener) = TcpListener::from_std(listener) else { return };
            while let Ok((stream, _)) = listener.accept().await {
                // Ends when the gateway has had enough.
                tokio::spawn(async move { drop(answer(stream, fault).await) });
            }
        });
    });
    Ok(address)
}

async fn answer(mut stream: TcpStream, fault: Fault) -> std::io::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let mut filled = 0;
        while !buffer[..filled].windows(4).any(|window| window == b"\r\n\r\n") {
            match stream.read(&mut buffer[filled..]).await? {
                0 => return Ok(()),
                read => filled += read,
            }
        }
        if buffer.starts_with(b"GET /backend ") {
            let body = json!({
                "contract": "1",
                "market": { "name": "Neighbour", "currency": "USD", "language": "en" },
                "catalog": { "most_ids": 50 },
            })
            .to_string();
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n");
            stream.write_all(format!("{head}{body}").as_bytes()).await?;
            continue;
        }
        match fault {
            Fault::Hangs => std::future::pending::<()>().await,
            Fault::Floods => {
                stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n").await?;
                loop {
                    stream.write_all(&[b' '; 16 << 10]).await?;
                }
            }
            Fault::Breaks | Fault::Crashes => {
                let begun = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{";
                return stream.write_all(begun).await;
            }
        }
    }
}
