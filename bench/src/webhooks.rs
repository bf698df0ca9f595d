//! Webhooks: how fast platforms are told about their orders, beside a bare client that posts the same bytes.
//!
//! Orders are placed at a gateway without a key, which has to keep back everything that it would have to sign. Then it
//! gets one, and works off what has queued up: each notice is claimed, written, signed, sent, and what came of it
//! recorded, with all that has to be on disk in between. The receiver is a thread of this process.

use std::{
    cell::RefCell,
    net::SocketAddr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime},
};

use futures_util::{TryStreamExt as _, stream::FuturesUnordered};
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};
use ucp_trust::{
    jwk::read_document,
    signature::{Message, RequestLine, Scheme, Signed, Start},
};

use crate::{
    Done, Options,
    load::Connection,
    purchase::{Disk, checkout, keyed_by, payment},
    report::{median, milliseconds},
    scenario::{HOST, get},
    server::{self, Server},
};

/// The name under which this part can be chosen.
const WEBHOOKS: &str = "webhooks";

/// Number of orders, and of platforms.
const ORDERS: usize = 5_000;
const PLATFORMS: usize = 4;

/// Number of buyers that place them at once.
const BUYERS: usize = 64;

/// Maximum time until all of them have arrived.
const PATIENCE: Duration = Duration::from_secs(120);

/// Number of signatures that are verified.
const VERIFIED: usize = 100;

/// Number of orders that are placed one by one afterwards, to measure the delay of a single webhook.
const SINGLE: usize = 50;

const OPEN: &str = "[callers]\npolicy = \"development\"\n\n[profiles]\nloopback = true\n";

/// Requests that the platforms have received.
#[derive(Default)]
struct Heard {
    /// The requests, as they came in.
    requests: Vec<Vec<u8>>,
    first: Option<Instant>,
    last: Option<Instant>,
    connections: usize,
}

/// Platforms on this machine: their profiles, and where they hear.
struct Receiver {
    address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
}

fn lock(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Receiver {
    fn start() -> Done<Self> {
        let listener = std::net::TcpListener::bind((HOST, 0))?;
        listener.set_nonblocking(true)?;
        let receiver = Self { address: listener.local_addr()?, heard: Arc::default() };
        let (address, heard) = (receiver.address, Arc::clone(&receiver.heard));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        std::thread::spawn(move || {
            runtime.block_on(async {
                let Ok(listener) = TcpListener::from_std(listener) else { return };
                while let Ok((stream, _)) = listener.accept().await {
                    // A client that disconnects has sent its last message.
                    tokio::spawn(attend(stream, address, Arc::clone(&heard)));
                }
            });
        });
        Ok(receiver)
    }

    fn profile(&self, platform: usize) -> String {
        format!("http://{}/profile-{platform}", self.address)
    }

    fn count(&self) -> usize {
        lock(&self.heard).requests.len()
    }

    /// Waits until so many webhooks have come in.
    async fn after(&self, count: usize) -> Done<()> {
        let start = Instant::now();
        while self.count() < count {
            if start.elapsed() > PATIENCE {
                return Err(format!("{} of {count} webhooks have arrived in time", self.count()).into());
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    /// Forgets what was heard, and yields it.
    fn take(&self) -> Heard {
        std::mem::take(&mut *lock(&self.heard))
    }
}

/// Answers one request after the other.
async fn attend(mut stream: TcpStream, address: SocketAddr, heard: Arc<Mutex<Heard>>) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = vec![0; 64 << 10];
    let (mut filled, mut told) = (0, false);
    loop {
        let whole = whole(&buffer[..filled]);
        let Some(length) = whole.filter(|length| *length <= filled) else {
            if let Some(length) = whole.filter(|length| *length > buffer.len()) {
                buffer.resize(length, 0);
            }
            let read = stream.read(&mut buffer[filled..]).await?;
            if read == 0 {
                return Ok(());
            }
            filled += read;
            continue;
        };
        let request = buffer[..length].to_vec();
        buffer.copy_within(length..filled, 0);
        filled -= length;
        let answer = if let Some(number) = request.strip_prefix(b"GET /profile-") {
            let number = number.split(|byte| *byte == b' ').next().unwrap_or_default();
            profile(address, &String::from_utf8_lossy(number)).to_string()
        } else {
            let now = Instant::now();
            let mut heard = lock(&heard);
            heard.first.get_or_insert(now);
            heard.last = Some(now);
            heard.connections += usize::from(!std::mem::replace(&mut told, true));
            heard.requests.push(request);
            String::new()
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nCache-Control: max-age=86400\r\n\
             Content-Length: {}\r\n\r\n",
            answer.len()
        );
        stream.write_all((head + &answer).as_bytes()).await?;
    }
}

/// Returns the length of the first of these requests in bytes, once its head is there.
fn whole(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|window| window == b"\r\n\r\n")?;
    let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length:")?.trim().parse::<usize>().ok());
    Some(end + 4 + length.unwrap_or(0))
}

/// The profile of a platform that wants to hear of its orders.
fn profile(address: SocketAddr, number: &str) -> Value {
    const RELEASE: &str = "2026-08-25";
    let entry = |name: &str| {
        json!({
            "version": RELEASE,
            "spec": format!("https://ucp.dev/{RELEASE}/specification/{name}"),
            "schema": format!("https://ucp.dev/{RELEASE}/schemas/shopping/{name}.json"),
        })
    };
    let mut order = entry("order");
    order["config"] = json!({ "webhook_url": format!("http://{address}/hook-{number}") });
    json!({ "ucp": { "version": RELEASE, "capabilities": {
        "dev.ucp.shopping.checkout": [entry("checkout")],
        "dev.ucp.shopping.fulfillment": [entry("fulfillment")],
        "dev.ucp.shopping.order": [order],
    } } })
}

/// Result of one round.
struct Round {
    /// Webhooks per second: of the gateway, and of the bare client.
    rate: f64,
    bare: f64,
    /// Processor time of the gateway per webhook, in seconds.
    cpu: f64,
    connections: usize,
    /// Average length of a webhook's body, in bytes.
    bytes: usize,
    /// Number of 4 KiB writes with a flush per second meanwhile, by a writer with nothing else to do.
    flushes: f64,
}

/// The part, if it is wanted.
pub(crate) async fn all(options: &Options, gateway: &Path, directory: &Path) -> Done<()> {
    if !options.wants(WEBHOOKS) {
        return Ok(());
    }
    let (rounds, orders) = if options.quick { (1, ORDERS / 10) } else { (3, ORDERS) };
    let mut done = Vec::new();
    let mut soon = Vec::new();
    for number in 0..rounds {
        let data = directory.join(format!("webhooks-{number}"));
        let (round, single) = round(options, gateway, &data, orders).await?;
        done.push(round);
        soon.extend(single);
    }
    let of = |value: fn(&Round) -> f64| median(done.iter().map(value).collect());
    let most = done.iter().map(|round| round.connections).max().unwrap_or_default();
    println!(
        "\nWebhooks: {orders} orders of {PLATFORMS} platforms, {} bytes each, signed (ES256), kept and recorded on disk\n",
        done.first().map_or(0, |round| round.bytes)
    );
    println!("{:<32}{:>12}{:>12}{:>14}", "", "per second", "CPU us", "connections");
    println!("{:<32}{:>12.0}{:>12}{:>14}", "bare client, the same bytes", of(|round| round.bare), "", most);
    println!("{:<32}{:>12.0}{:>12.1}{:>14}", "courier", of(|round| round.rate), of(|round| round.cpu) * 1e6, most);
    println!(
        "\n  target: 1,000 per second; 4 KiB can be written and flushed {:.0} times per second",
        of(|round| round.flushes)
    );
    soon.sort_unstable();
    let percentile = |percent: usize| soon.get(soon.len() * percent / 100).copied().unwrap_or_default();
    println!(
        "  from the answer to complete_checkout to the webhook, one at a time: p50 {:.1} ms, p99 {:.1} ms",
        percentile(50).as_secs_f64() * 1e3,
        percentile(99).as_secs_f64() * 1e3
    );
    Ok(())
}

async fn round(options: &Options, gateway: &Path, data: &Path, orders: usize) -> Done<(Round, Vec<Duration>)> {
    let receiver = Receiver::start()?;
    let server = Server::configured(gateway, data, OPEN, &receiver.profile(0))?;
    let start = Instant::now();
    place(&server, &receiver, 0..orders).await?;
    println!("  {orders} orders placed in {}", milliseconds(start.elapsed()));
    if receiver.count() > 0 {
        return Err("webhooks were sent without a key".into());
    }
    let cpu = server.cpu()?;
    server::generate_key(gateway, data)?;
    receiver.after(orders).await?;
    let cpu = server.cpu()?.saturating_sub(cpu);
    let flushes = Disk::beside(data)?.flushes(1, options.effort().round / 2)?.rate();

    let heard = receiver.take();
    let (Some(first), Some(last)) = (heard.first, heard.last) else { return Err("nothing was heard".into()) };
    verify(&server, &heard.requests).await?;
    let connections = heard.connections;
    let bodies = heard.requests.iter().map(|request| body(request).len()).sum::<usize>();
    let bare = bare(receiver.address, heard.requests, connections).await?;
    receiver.take();

    let mut soon = Vec::new();
    for number in 0..SINGLE {
        place(&server, &receiver, orders + number..orders + number + 1).await?;
        let answered = Instant::now();
        receiver.after(number + 1).await?;
        soon.push(answered.elapsed());
    }
    let count = u32::try_from(orders)?;
    let round = Round {
        rate: f64::from(count) / last.duration_since(first).as_secs_f64(),
        bare,
        cpu: cpu.as_secs_f64() / f64::from(count),
        connections,
        bytes: bodies / orders,
        flushes,
    };
    Ok((round, soon))
}

/// Places orders, in turns of all platforms.
async fn place(server: &Server, receiver: &Receiver, numbers: std::ops::Range<usize>) -> Done<()> {
    let callers = numbers.len().min(BUYERS);
    let numbers = &RefCell::new(numbers);
    let buyer = async || {
        let mut connection = Connection::open(server.address).await?;
        loop {
            let Some(number) = numbers.borrow_mut().next() else { return Done::Ok(()) };
            let platform = receiver.profile(number % PLATFORMS);
            let create = keyed_by(&platform, "POST", "/checkout-sessions", &format!("create-{number}"), &checkout(1));
            let created = String::from_utf8(connection.body(&create).await?)?;
            let (_, rest) = created.split_once(r#""id":"chk_"#).ok_or("a checkout without an id")?;
            let id = rest.split('"').next().unwrap_or_default();
            let path = format!("/checkout-sessions/chk_{id}/complete");
            let complete = keyed_by(&platform, "POST", &path, &format!("complete-{number}"), &payment("success_token"));
            let completed = String::from_utf8(connection.body(&complete).await?)?;
            if !completed.contains(r#""status":"completed""#) {
                return Err(format!("a checkout was not completed:\n{completed}").into());
            }
        }
    };
    (0..callers).map(|_| buyer()).collect::<FuturesUnordered<_>>().try_collect::<()>().await
}

/// Posts the same bytes over as many connections, as fast as they are answered; how many per second.
async fn bare(address: SocketAddr, requests: Vec<Vec<u8>>, connections: usize) -> Done<f64> {
    let count = u32::try_from(requests.len())?;
    let mut open = Vec::new();
    for _ in 0..connections {
        open.push(Connection::open(address).await?);
    }
    let (requests, start) = (&RefCell::new(requests), Instant::now());
    let sender = async |mut connection: Connection| {
        loop {
            let Some(request) = requests.borrow_mut().pop() else { return Done::Ok(()) };
            connection.body(&request).await?;
        }
    };
    open.into_iter().map(sender).collect::<FuturesUnordered<_>>().try_collect::<()>().await?;
    Ok(f64::from(count) / start.elapsed().as_secs_f64())
}

/// Checks that webhooks are signed by the gateway, and that none is sent twice.
async fn verify(server: &Server, requests: &[Vec<u8>]) -> Done<()> {
    let published = Connection::open(server.address).await?.body(&get("/.well-known/ucp")).await?;
    let keys = read_document(&serde_json::from_slice(&published)?, &mut Vec::new()).ok_or("a profile without keys")?;
    let mut ids = std::collections::HashSet::new();
    for (number, request) in requests.iter().enumerate() {
        let (path, headers) = head(request)?;
        if !ids.insert(headers.get("webhook-id").ok_or("a webhook without an identifier")?.clone()) {
            return Err("a webhook was sent twice".into());
        }
        if number % (requests.len() / VERIFIED).max(1) != 0 {
            continue;
        }
        let authority = headers.get("host").ok_or("a webhook without a host")?.to_str()?;
        let line = RequestLine { method: "POST", scheme: Scheme::Http, authority, path: &path, query: None };
        let signed = Signed::read(&headers).ok().flatten().ok_or("a webhook that is not signed")?;
        let message = Message { start: Start::Request(line), headers: &headers };
        signed.verify(&message, body(request), &keys, now()).map_err(|refusal| refusal.to_string())?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "what was sent was signed now")]
fn now() -> SystemTime {
    SystemTime::now()
}

/// The path and the header fields of a request.
fn head(request: &[u8]) -> Done<(String, HeaderMap)> {
    let head = &request[..request.len() - body(request).len()];
    let mut lines = std::str::from_utf8(head)?.lines();
    let path = lines.next().and_then(|line| line.split(' ').nth(1)).ok_or("a request without a path")?.to_owned();
    let mut headers = HeaderMap::new();
    for (name, value) in lines.filter_map(|line| line.split_once(':')) {
        headers.append(HeaderName::from_bytes(name.as_bytes())?, HeaderValue::from_str(value.trim())?);
    }
    Ok((path, headers))
}

/// The body of a request.
fn body(request: &[u8]) -> &[u8] {
    let end = request.windows(4).position(|window| window == b"\r\n\r\n").map_or(request.len(), |end| end + 4);
    &request[end..]
}
