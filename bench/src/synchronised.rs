//! A synchronized catalog: the first run, starts, a run for a hundredth of the products, and searches in the copy.
//!
//! The shop implements the backend contract and states its products page by page, out of a file, so that it takes as
//! little of the machine as it can.

use std::{
    fs::{self, File},
    io::{BufRead as _, BufReader},
    net::SocketAddr,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use axum::{
    Json, Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::{
    Done, Options, goods,
    load::Connection,
    report::{mebibytes, memory, milliseconds},
    scenario::{PLATFORM, SampleShop, post as request},
    server::{Memory, Server},
    settle,
};

/// Name of the part.
const SYNCHRONISED: &str = "a synchronised catalog";

/// Share of the products that change, as a divisor.
const ONE_OF: usize = 100;

/// Number of products in a page.
const PAGE: usize = 500;

/// Longest time until a search finds what has changed.
const PATIENCE: Duration = Duration::from_secs(120);

/// The word that only a product has that has changed.
fn renewed(id: &str) -> String {
    format!("renewed{}", id.replace('-', ""))
}

/// Measures what is wanted.
pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    if options.quick || !options.wants(SYNCHRONISED) {
        return Ok(());
    }
    let directory = directory.join("synchronised");
    fs::create_dir_all(&directory)?;
    let count = options.products;
    println!("\nA synchronised catalog of {count} products");
    let feed = directory.join("products.jsonl");
    println!("  as JSON Lines: {} MB", goods::write(&feed, count)? / 1_000_000);
    let shop = Arc::new(Remote::open(feed)?);
    let address = shop.start()?;

    let data = directory.join("data");
    fs::create_dir_all(&data)?;
    let config = format!(
        "[callers]\npolicy = \"development\"\n[upstream]\nbackend = \"http\"\nurl = \"http://{address}\"\n\
         [catalog]\nsource = \"backend\"\npage_size = {PAGE}\ninterval_s = 2592000\n"
    );
    fs::write(data.join("gateway.toml"), &config)?;

    let first = synchronise(gateway, &data)?;
    println!("  first run: {}, at most {:.0} MiB; {}", milliseconds(first.took), mebibytes(first.peak), first.said);
    let server = Server::configured(gateway, &data, &config, PLATFORM)?;
    println!("  first start: {}, {}", milliseconds(server.started), memory(server.memory()?));
    drop(server);
    let server = Server::configured(gateway, &data, &config, PLATFORM)?;
    settle().await;
    println!("  start on the existing directory: {}, {}", milliseconds(server.started), memory(server.memory()?));

    shop.has_changed.store(true, Ordering::Relaxed);
    let begun = Instant::now();
    let changes = synchronise(gateway, &data)?;
    println!(
        "  changes of 1 %: {}, at most {:.0} MiB; {}",
        milliseconds(changes.took),
        mebibytes(changes.peak),
        changes.said
    );
    let last = goods::product_id((count - 1) / ONE_OF * ONE_OF);
    found(&server, &renewed(&last), &last, begun).await?;
    println!("  until a running gateway finds the last of them: {}\n", milliseconds(begun.elapsed()));

    crate::searches(options, &server, SampleShop::large(count).into_iter()).await
}

/// A run of `catalog sync`.
struct Synchronisation {
    took: Duration,
    /// Largest resident memory, in bytes.
    peak: u64,
    /// Output of the process.
    said: String,
}

/// Brings the copy up to date.
fn synchronise(gateway: &Path, data: &Path) -> Done<Synchronisation> {
    let begun = Instant::now();
    let mut command = Command::new(gateway);
    command.args(["catalog", "sync", "--config"]).arg(data.join("gateway.toml")).arg("--data-dir").arg(data);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut peak = 0;
    let status = loop {
        peak = Memory::of(child.id()).map_or(peak, |memory| memory.peak);
        match child.try_wait()? {
            Some(status) => break status,
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    let took = begun.elapsed();
    let said = std::io::read_to_string(child.stdout.take().ok_or("a run without output")?)?;
    if !status.success() {
        return Err(format!("a synchronisation failed: {said}").into());
    }
    Ok(Synchronisation { took, peak, said: said.trim().to_owned() })
}

/// Waits until a search for a word finds a product.
async fn found(server: &Server, word: &str, id: &str, begun: Instant) -> Done<()> {
    let search = request("/catalog/search", &json!({ "query": word }).to_string());
    let mut connection = Connection::open(server.address).await?;
    loop {
        let answer: Value = serde_json::from_slice(&connection.body(&search).await?)?;
        if answer["products"].as_array().is_some_and(|found| found.iter().any(|product| product["id"] == id)) {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("{id} was not found within {} s after it changed", PATIENCE.as_secs()).into());
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A shop that implements the backend contract.
struct Remote {
    /// Its products, a line each.
    products: File,
    /// Offsets of the beginnings of the lines, and of the end of the last one.
    lines: Vec<u64>,
    /// The products that change, as they are then.
    changed: Vec<String>,
    has_changed: AtomicBool,
}

impl Remote {
    fn open(file: PathBuf) -> Done<Self> {
        let mut reader = BufReader::new(File::open(&file)?);
        let (mut lines, mut changed, mut line) = (vec![0], Vec::new(), String::new());
        while reader.read_line(&mut line)? > 0 {
            if (lines.len() - 1).is_multiple_of(ONE_OF) {
                let mut product: Value = serde_json::from_str(&line)?;
                let [id, title] = [&product["id"], &product["title"]].map(|text| text.as_str().unwrap_or_default());
                product["title"] = format!("{} {title}", renewed(id)).into();
                changed.push(product.to_string());
            }
            lines.push(lines[lines.len() - 1] + line.len() as u64);
            line.clear();
        }
        Ok(Self { products: File::open(file)?, lines, changed, has_changed: AtomicBool::new(false) })
    }

    /// Serves on a thread of its own until the process ends.
    fn start(self: &Arc<Self>) -> Done<SocketAddr> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let router =
            Router::new().route("/backend", get(backend)).route("/find", post(find)).with_state(Arc::clone(self));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        thread::spawn(move || {
            // An error shows as a run that fails.
            drop(runtime.block_on(async { axum::serve(TcpListener::from_std(listener)?, router).await }));
        });
        Ok(address)
    }

    /// The products of a page as a JSON array, and how many there are in all.
    fn page(&self, changes: bool, from: usize, limit: usize) -> std::io::Result<(String, usize)> {
        if changes {
            let changed = if self.has_changed.load(Ordering::Relaxed) { self.changed.as_slice() } else { &[] };
            let to = (from + limit).min(changed.len());
            return Ok((changed.get(from..to).unwrap_or_default().join(","), changed.len()));
        }
        let count = self.lines.len() - 1;
        let (from, to) = (from.min(count), (from + limit).min(count));
        let mut bytes = vec![0; usize::try_from(self.lines[to] - self.lines[from]).unwrap_or_default()];
        self.products.read_exact_at(&mut bytes, self.lines[from])?;
        // Lines hold no line feeds within, because they are JSON.
        bytes.pop();
        let text = String::from_utf8(bytes).map_err(std::io::Error::other)?;
        Ok((text.replace('\n', ","), count))
    }
}

async fn backend() -> Json<Value> {
    Json(json!({
        "contract": "1",
        "market": {
            "name": "Large", "currency": "USD", "currencies": ["EUR", "JPY"], "language": "en", "languages": ["es"],
        },
        "catalog": { "most_ids": 50, "updated_since": true },
    }))
}

async fn find(State(shop): State<Arc<Remote>>, Json(asked): Json<Value>) -> Response {
    let from = asked["after"].as_str().and_then(|after| after.parse().ok()).unwrap_or(0);
    let limit = asked["limit"].as_u64().and_then(|limit| usize::try_from(limit).ok()).unwrap_or(PAGE);
    match shop.page(asked["updated_since"].is_string(), from, limit) {
        Ok((products, total)) => {
            let next = (from + limit < total).then(|| (from + limit).to_string());
            let body = format!(r#"{{"products":[{products}],"next":{},"total":{total}}}"#, json!(next));
            ([(header::CONTENT_TYPE, "application/json")], body).into_response()
        }
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, error.to_string()).into_response(),
    }
}
