//! Carts and checkouts: what it costs to buy, beside what it costs to flush a file to disk; and how many can be open.
//!
//! Every change goes under an idempotency key of its own, so that requests are made anew for each round.

use std::{
    cell::RefCell,
    fs,
    io::{Seek as _, SeekFrom, Write as _},
    path::Path,
    time::{Duration, Instant},
};

use futures_util::{TryStreamExt as _, stream::FuturesUnordered};
use serde_json::{Value, json};

use crate::{
    Done, Effort, Options, Yardstick, flat_out,
    load::{Connection, Load, Run},
    report::{Row, Series, mebibytes, median, milliseconds, percentiles, table},
    scenario::{HOST, PLATFORM, Request, SampleShop, Scenario, post},
    server::Server,
    settle, warm,
};

/// The parts, by the names under which they can be chosen.
const PURCHASES: &str = "purchases";
const OPEN: &str = "open checkouts";

/// Number of callers if each waits for the disk: enough to share a flush.
const WRITERS: usize = 64;

/// Number of checkouts that are open at once.
const MANY: usize = 100_000;

/// Number of checkouts that are open in the other measurements.
const FEW: usize = 500;

/// Two goods of the sample shop of which there is always enough.
const GOODS: [&str; 2] = ["prod_abc123_size10", "var_hiking-socks_gray_s"];

/// Size of a write between two flushes, in bytes, and number of pages of the file, which are written in turns as in a
/// log.
const PAGE: usize = 4 << 10;
const PAGES: u64 = 4_000;

/// Request to a shop that sells.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ask {
    CreateCart,
    Create,
    CreateOverMcp,
    /// The request of an earlier creation, with its idempotency key.
    CreateAgain,
    Get,
    GetOverMcp,
    Update,
    Complete,
    /// Completion of a checkout whose payment waits for its buyer's bank then.
    Wait,
}

impl Ask {
    const ALL: [Self; 8] = [
        Self::Get,
        Self::GetOverMcp,
        Self::CreateAgain,
        Self::CreateCart,
        Self::Create,
        Self::CreateOverMcp,
        Self::Update,
        Self::Complete,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::CreateCart => "create_cart",
            Self::Create => "create_checkout",
            Self::CreateAgain => "create_checkout, kept answer",
            Self::Get => "get_checkout",
            Self::CreateOverMcp | Self::GetOverMcp => "the same over MCP",
            Self::Update => "update_checkout",
            Self::Complete => "complete_checkout",
            Self::Wait => "complete_checkout that waits",
        }
    }

    /// Returns a part of the expected response.
    const fn sign(self) -> &'static str {
        match self {
            Self::CreateCart => r#""id":"cart_"#,
            Self::Complete => r#""status":"completed""#,
            Self::Wait => r#""status":"requires_escalation""#,
            Self::GetOverMcp | Self::CreateOverMcp => r#""structuredContent":{"ucp":{"version":"#,
            Self::Create | Self::CreateAgain | Self::Get | Self::Update => r#""status":"ready_for_complete""#,
        }
    }

    /// Over how many connections it is asked: more where each waits for the disk.
    pub(crate) const fn connections(self, effort: &Effort) -> usize {
        match self {
            Self::Get | Self::GetOverMcp | Self::CreateAgain => effort.connections,
            _ => WRITERS,
        }
    }
}

/// Somebody who buys.
pub(crate) struct Buyer<'a> {
    server: &'a Server,
    /// Checkouts that are there to be shown and changed.
    open: Vec<String>,
    /// Number of idempotency keys used.
    keys: usize,
}

impl<'a> Buyer<'a> {
    /// A buyer with so many open checkouts.
    pub(crate) async fn with(server: &'a Server, open: usize) -> Done<Self> {
        let mut buyer = Self { server, open: Vec::new(), keys: 0 };
        buyer.open = buyer.made(open).await?;
        Ok(buyer)
    }

    /// So many new checkouts.
    async fn made(&mut self, count: usize) -> Done<Vec<String>> {
        let requests = self.requests(Ask::Create, count).await?;
        let (requests, made) = (&RefCell::new(requests), &RefCell::new(Vec::with_capacity(count)));
        let caller = async || {
            let mut connection = Connection::open(self.server.address).await?;
            loop {
                let Some(request) = requests.borrow_mut().pop() else { return Done::Ok(()) };
                let body = String::from_utf8(connection.body(&request.bytes).await?)?;
                let id = body.split_once(r#""id":"chk_"#).and_then(|(_, rest)| rest.split_once('"'));
                let Some((id, _)) = id else { return Err(format!("a checkout without an id: {body}").into()) };
                made.borrow_mut().push(format!("chk_{id}"));
            }
        };
        (0..WRITERS).map(|_| caller()).collect::<FuturesUnordered<_>>().try_collect::<()>().await?;
        Ok(made.take())
    }

    /// So many requests of a kind, each of which can be sent once.
    async fn requests(&mut self, ask: Ask, count: usize) -> Done<Vec<Request>> {
        let completed =
            if matches!(ask, Ask::Complete | Ask::Wait) { Box::pin(self.made(count)).await? } else { Vec::new() };
        let request = |number: usize| {
            let key = format!("bench-key-{}", self.keys + number);
            let open = || &self.open[number % self.open.len()];
            let quantity = 1 + number % 9;
            match ask {
                Ask::CreateCart => keyed("POST", "/carts", &key, &goods(quantity)),
                Ask::Create => keyed("POST", "/checkout-sessions", &key, &checkout(1)),
                Ask::CreateOverMcp => {
                    call("create_checkout", &json!({ "meta": meta(Some(&key)), "checkout": checkout(1) }))
                }
                Ask::CreateAgain => {
                    let key = format!("bench-key-{}", number % self.open.len());
                    keyed("POST", "/checkout-sessions", &key, &checkout(1))
                }
                Ask::Get => get(&format!("/checkout-sessions/{}", open())),
                Ask::GetOverMcp => call("get_checkout", &json!({ "meta": meta(None), "id": open() })),
                Ask::Update => {
                    let path = format!("/checkout-sessions/{}", open());
                    keyed("PUT", &path, &key, &checkout(quantity))
                }
                Ask::Complete | Ask::Wait => {
                    let path = format!("/checkout-sessions/{}/complete", completed[number]);
                    let token = if ask == Ask::Wait { "three_ds_token" } else { "success_token" };
                    keyed("POST", &path, &key, &payment(token))
                }
            }
        };
        let requests = (0..count).map(|number| Request { bytes: request(number), kind: 0 }).collect();
        self.keys += count;
        Ok(requests)
    }

    /// Requests of a kind at `rate` per second for `duration`.
    pub(crate) async fn scenario_for(&mut self, ask: Ask, rate: f64, duration: Duration) -> Done<Scenario> {
        self.scenario(ask, times(rate, duration) + 1).await
    }

    /// So many requests of a kind.
    pub(crate) async fn scenario(&mut self, ask: Ask, count: usize) -> Done<Scenario> {
        let requests = self.requests(ask, count).await?;
        Ok(Scenario { name: ask.name().to_owned(), requests, kinds: Vec::new() })
    }

    /// Asks as often as callers can in a round, when so many are answered per second.
    pub(crate) async fn flat_out(&mut self, ask: Ask, callers: usize, rate: f64, round: Duration) -> Done<Run> {
        let scenario = &self.scenario(ask, times(rate, round)).await?;
        Load { server: self.server, scenario, connections: callers }.once().await
    }

    /// Asks at half of the highest rate.
    async fn paced(&mut self, ask: Ask, effort: &Effort, rate: f64) -> Done<Vec<Run>> {
        let mut runs = Vec::new();
        for _ in 0..effort.rounds {
            let scenario = &self.scenario_for(ask, rate / 2.0, effort.round).await?;
            let load = Load { server: self.server, scenario, connections: ask.connections(effort) };
            runs.push(load.paced(rate / 2.0, effort.round).await?);
        }
        Ok(runs)
    }

    /// Checks the answer to a question, and returns roughly how many are answered per second.
    pub(crate) async fn try_out(&mut self, ask: Ask, effort: &Effort) -> Done<f64> {
        let first = self.requests(ask, 1).await?;
        let mut connection = Connection::open(self.server.address).await?;
        for request in first {
            let answer = String::from_utf8(connection.body(&request.bytes).await?)?;
            if !answer.contains(ask.sign()) {
                return Err(format!("{} is not answered as it should be:\n{answer}", ask.name()).into());
            }
        }
        // Twice, because the first time warms up.
        self.flat_out(ask, ask.connections(effort), 1_000.0, effort.round / 4).await?;
        Ok(self.flat_out(ask, ask.connections(effort), 4_000.0, effort.round / 4).await?.rate())
    }
}

/// All parts that are wanted, each on a new sample shop.
pub(crate) async fn all(
    options: &Options,
    gateway: &Path,
    directory: &Path,
    shop: &SampleShop,
    bare: &Yardstick,
) -> Done<()> {
    if options.wants(PURCHASES) {
        let data = directory.join("purchases");
        let server = Server::gateway(gateway, &data)?;
        purchases(options, &server, &data, shop, bare).await?;
    }
    if options.wants(OPEN) {
        open(options, &Server::gateway(gateway, &directory.join("open"))?).await?;
    }
    Ok(())
}

/// Measures the cost of purchases, in turns with the bare handler, the lookup of items and flushes to disk.
async fn purchases(options: &Options, server: &Server, data: &Path, shop: &SampleShop, bare: &Yardstick) -> Done<()> {
    let effort = options.effort();
    let mut disk = Disk::beside(data)?;
    let mut buyer = Buyer::with(server, FEW).await?;
    let lookup = Scenario::lookup("lookup of 10 ids", &shop.ids);
    warm(&effort, &bare.server, &bare.scenario).await?;
    warm(&effort, server, &lookup).await?;
    let mut about = Vec::new();
    for ask in Ask::ALL {
        about.push(buyer.try_out(ask, &effort).await?);
    }
    let (mut yard, mut look) = (Series::default(), Series::default());
    let mut asked: Vec<Series> = Ask::ALL.iter().map(|_| Series::default()).collect();
    let (mut flushes, mut flushed) = (Vec::new(), Vec::new());
    for _ in 0..effort.rounds {
        yard.add(&flat_out(&effort, &bare.server, &bare.scenario).await?);
        look.add(&flat_out(&effort, server, &lookup).await?);
        for ((ask, rate), series) in Ask::ALL.into_iter().zip(&about).zip(&mut asked) {
            series.add(&buyer.flat_out(ask, ask.connections(&effort), *rate, effort.round).await?);
        }
        let run = disk.flushes(1, effort.round / 2)?;
        flushed.push(run.rate());
        flushes.push(run);
    }

    println!("\nCarts and checkouts: {WRITERS} callers where something is written, {} elsewhere\n", effort.connections);
    let share = |series: &Series| Some((series.rate() / yard.rate(), series.cost() / yard.cost()));
    let mut rows = Vec::new();
    for (name, on, scenario, series) in
        [("bare handler", &bare.server, &bare.scenario, &yard), (&*lookup.name, server, &lookup, &look)]
    {
        let paced = crate::paced(&effort, on, scenario, series.rate()).await?;
        rows.push(Row::new(name, series, &paced, on.memory()?, share(series)));
    }
    for (ask, series) in Ask::ALL.into_iter().zip(&asked) {
        let paced = buyer.paced(ask, &effort, series.rate()).await?;
        rows.push(Row::new(ask.name(), series, &paced, server.memory()?, share(series)));
    }
    table(&rows);

    let of = |ask: Ask| Ask::ALL.into_iter().zip(&asked).find(|(other, _)| *other == ask).map(|(_, series)| series);
    let (Some(create), Some(get)) = (of(Ask::Create), of(Ask::Get)) else { return Err("nothing was asked".into()) };
    let flushed = median(flushed);
    println!("\n  get_checkout: {:.0} % of the rate of the lookup (target: 50 %)", 100.0 * get.rate() / look.rate());
    println!(
        "  create_checkout: {:.0} per second (target: 2,000), while one who writes 4 KiB and flushes them does so \
         {flushed:.0} times per second",
        create.rate()
    );
    one_caller(&effort, &mut buyer, &mut disk).await
}

/// Measures the latency of a single caller, beside the flushes that cannot be avoided.
async fn one_caller(effort: &Effort, buyer: &mut Buyer<'_>, disk: &mut Disk) -> Done<()> {
    println!("\n{:<32}{:>10}{:>10}", "One caller alone", "p50 ms", "p99 ms");
    for (name, ask, flushes) in
        [("one flush", Ask::Create, 1), ("one flush", Ask::Update, 1), ("two flushes", Ask::Complete, 2)]
    {
        let (mut bare, mut ours) = (Vec::new(), Vec::new());
        for _ in 0..effort.rounds {
            bare.push(disk.flushes(flushes, effort.round / 2)?);
            let rate = 500.0;
            ours.push(buyer.flat_out(ask, 1, rate, effort.round / 2).await?);
        }
        for (name, runs) in [(name, bare), (ask.name(), ours)] {
            let [p50, p99] = percentiles(&runs, |_| true);
            println!("{name:<32}{p50:>10}{p99:>10}");
        }
    }
    Ok(())
}

/// Measures the memory of many open checkouts, and their effect on the reads of one.
async fn open(options: &Options, server: &Server) -> Done<()> {
    let effort = options.effort();
    let many = if options.quick { 4 * FEW } else { MANY };
    let mut buyer = Buyer::with(server, FEW).await?;
    let few = read(&mut buyer, &effort, &format!("get, {FEW} open")).await?;
    settle().await;
    let before = server.memory()?;
    let start = Instant::now();
    while buyer.open.len() < many {
        let count = (many - buyer.open.len()).min(5_000);
        let more = buyer.made(count).await?;
        buyer.open.extend(more);
    }
    let elapsed = start.elapsed();
    settle().await;
    let after = server.memory()?;
    println!("\n{many} open checkouts, made in {}\n", milliseconds(elapsed));
    println!(
        "  RSS grew by {:.1} MiB, from {:.1} to {:.1} (target: under 300 MiB); of its own, by {:.1} MiB to {:.1}\n",
        mebibytes(after.resident.saturating_sub(before.resident)),
        mebibytes(before.resident),
        mebibytes(after.resident),
        mebibytes(after.anonymous.saturating_sub(before.anonymous)),
        mebibytes(after.anonymous)
    );
    let all = read(&mut buyer, &effort, &format!("get, {many} open, any")).await?;
    buyer.open.truncate(FEW);
    let same = read(&mut buyer, &effort, &format!("get, {many} open, {FEW} of them")).await?;
    table(&[few, all, same]);
    Ok(())
}

/// Shows the open checkouts of a buyer, in no order.
async fn read(buyer: &mut Buyer<'_>, effort: &Effort, name: &str) -> Done<Row> {
    let mut scenario = buyer.scenario(Ask::Get, buyer.open.len()).await?;
    // Neighbours in the file are not asked for one after another.
    scenario.requests.sort_unstable_by(|one, other| one.bytes.cmp(&other.bytes));
    warm(effort, buyer.server, &scenario).await?;
    let mut series = Series::default();
    for _ in 0..effort.rounds {
        series.add(&flat_out(effort, buyer.server, &scenario).await?);
    }
    let paced = crate::paced(effort, buyer.server, &scenario, series.rate()).await?;
    Ok(Row::new(name, &series, &paced, buyer.server.memory()?, None))
}

/// A file beside the shop's database.
pub(crate) struct Disk {
    file: fs::File,
    page: u64,
}

impl Disk {
    pub(crate) fn beside(data: &Path) -> Done<Self> {
        let mut file = fs::File::create(data.join("flushed"))?;
        for _ in 0..PAGES {
            file.write_all(&[0; PAGE])?;
        }
        file.sync_all()?;
        Ok(Self { file, page: 0 })
    }

    /// Writes 4 KiB and flushes them, for a while; each so many times counts as one.
    pub(crate) fn flushes(&mut self, times: usize, duration: Duration) -> Done<Run> {
        let mut run = Run::default();
        let start = Instant::now();
        while start.elapsed() < duration {
            let since = Instant::now();
            for _ in 0..times {
                self.page = (self.page + 1) % PAGES;
                self.file.seek(SeekFrom::Start(self.page * PAGE as u64))?;
                self.file.write_all(&[b'x'; PAGE])?;
                self.file.sync_data()?;
            }
            run.latencies.push((0, since.elapsed()));
        }
        run.elapsed = start.elapsed();
        Ok(run)
    }
}

/// Returns the number of events at a rate per second in a duration, rounded up and at least 1.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "far from both ends")]
fn times(rate: f64, duration: Duration) -> usize {
    (rate * duration.as_secs_f64()).ceil().max(1.0) as usize
}

/// Lines to buy.
fn goods(quantity: usize) -> Value {
    json!({ "line_items": GOODS.map(|id| json!({ "item": { "id": id }, "quantity": quantity })) })
}

/// Returns the checkout that a platform sends, which then only has to be paid.
pub(crate) fn checkout(quantity: usize) -> Value {
    let mut checkout = goods(quantity);
    checkout["buyer"] = json!({
        "first_name": "Jane",
        "last_name": "Doe",
        "email": "jane.doe@example.com",
        "phone_number": "+12025550143",
    });
    checkout["fulfillment"] = json!({ "methods": [{
        "type": "shipping",
        "selected_destination_id": "home",
        "destinations": [{
            "id": "home",
            "street_address": "1 Main Street",
            "address_locality": "Springfield",
            "address_region": "CA",
            "postal_code": "94043",
            "address_country": "US",
        }],
    }] });
    checkout
}

/// Returns a payment for the sandbox.
pub(crate) fn payment(token: &str) -> Value {
    json!({ "payment": { "instruments": [{
        "id": "instrument_1",
        "handler_id": "mock_payment_handler",
        "type": "card",
        "selected": true,
        "credential": { "type": "token", "token": token },
    }] } })
}

fn meta(key: Option<&str>) -> Value {
    let mut meta = json!({ "ucp-agent": { "profile": PLATFORM } });
    if let Some(key) = key {
        meta["idempotency-key"] = json!(key);
    }
    meta
}

/// A call of a tool.
fn call(tool: &str, arguments: &Value) -> Vec<u8> {
    let params = json!({ "name": tool, "arguments": arguments });
    post("/mcp", &json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string())
}

/// A change under an idempotency key.
fn keyed(method: &str, path: &str, key: &str, body: &Value) -> Vec<u8> {
    keyed_by(PLATFORM, method, path, key, body)
}

/// The same, in the name of a platform.
pub(crate) fn keyed_by(platform: &str, method: &str, path: &str, key: &str, body: &Value) -> Vec<u8> {
    let body = body.to_string();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
         UCP-Agent: profile=\"{platform}\"\r\nIdempotency-Key: {key}\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

fn get(path: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {HOST}\r\nAccept: application/json\r\nUCP-Agent: profile=\"{PLATFORM}\"\r\n\r\n"
    )
    .into_bytes()
}
