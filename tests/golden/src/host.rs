//! A server on loopback: it holds the profiles of platforms, and takes and keeps what is sent to it.

use std::{
    collections::{HashMap, VecDeque},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};

use crate::{Done, process::eventually};

/// Received data.
#[derive(Clone, Debug)]
pub(crate) struct Visit {
    pub(crate) line: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Visit {
    /// The first value of a header.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map_or("", |(_, value)| value)
    }
}

/// Status, media type and body of a page.
type Page = (u16, String, Vec<u8>);

#[derive(Default)]
struct HostState {
    pages: Mutex<HashMap<String, Page>>,
    posts: Mutex<Vec<Visit>>,
    visits: Mutex<Vec<Visit>>,
    answers: Mutex<VecDeque<u16>>,
    closed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The server. It is gone when this is dropped.
pub(crate) struct Host {
    pub(crate) address: SocketAddr,
    inner: Arc<HostState>,
}

impl Host {
    pub(crate) fn start() -> Done<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").map_err(|error| format!("a loopback port: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let inner = Arc::new(HostState::default());
        let accepting = Arc::clone(&inner);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.closed.load(Ordering::Acquire) {
                    break;
                }
                let inner = Arc::clone(&accepting);
                std::thread::spawn(move || inner.attend(stream).ok());
            }
        });
        Ok(Self { address, inner })
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Puts a page under a path, and gives its address.
    pub(crate) fn page(&self, path: &str, status: u16, media_type: &str, body: &str) -> String {
        lock(&self.inner.pages).insert(path.to_owned(), (status, media_type.to_owned(), body.as_bytes().to_vec()));
        self.url(path)
    }

    /// Puts a profile under a path, and gives its address.
    pub(crate) fn profile(&self, path: &str, profile: &Value) -> String {
        self.page(path, 200, "application/json", &profile.to_string())
    }

    /// The statuses that the next posts are answered with; later ones get 200.
    pub(crate) fn answer_with(&self, statuses: &[u16]) {
        lock(&self.inner.answers).extend(statuses);
    }

    /// The posts so far, once there are so many.
    pub(crate) fn posts(&self, count: usize) -> Done<Vec<Visit>> {
        eventually(&format!("{count} posts arrive at the host"), Duration::from_secs(60), || {
            Ok(Some(lock(&self.inner.posts).clone()).filter(|posts| posts.len() >= count))
        })
    }

    /// The requests other than posts so far.
    pub(crate) fn visits(&self) -> Vec<Visit> {
        lock(&self.inner.visits).clone()
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.inner.closed.store(true, Ordering::Release);
        // Wakes the listener up.
        let _ = TcpStream::connect(self.address);
    }
}

impl HostState {
    fn attend(&self, stream: TcpStream) -> std::io::Result<()> {
        for limit in [TcpStream::set_read_timeout, TcpStream::set_write_timeout] {
            limit(&stream, Some(Duration::from_secs(30)))?;
        }
        let mut reader = BufReader::new(stream);
        let mut visit = Visit { line: String::new(), headers: Vec::new(), body: Vec::new() };
        if reader.read_line(&mut visit.line)? == 0 {
            return Ok(());
        }
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            match line.trim_end().split_once(':') {
                Some((name, value)) => visit.headers.push((name.to_owned(), value.trim().to_owned())),
                None => break,
            }
        }
        let length = visit.header("content-length").parse().unwrap_or(0);
        visit.body = vec![0; length];
        reader.read_exact(&mut visit.body)?;
        visit.line = visit.line.trim_end().to_owned();
        let path = visit.line.split(' ').nth(1).unwrap_or_default().to_owned();
        let (status, media_type, body) = if visit.line.starts_with("POST") {
            lock(&self.posts).push(visit);
            let status = lock(&self.answers).pop_front().unwrap_or(200);
            (status, "application/json".to_owned(), b"{}".to_vec())
        } else {
            lock(&self.visits).push(visit);
            lock(&self.pages).get(&path).cloned().unwrap_or((404, "text/plain".to_owned(), b"nothing".to_vec()))
        };
        let head = format!(
            "HTTP/1.1 {status} Whatever\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let stream = reader.get_mut();
        stream.write_all(head.as_bytes())?;
        stream.write_all(&body)?;
        stream.shutdown(std::net::Shutdown::Write)?;
        reader.read_to_end(&mut Vec::new()).map(|_| ())
    }
}

/// The capabilities of a platform that does everything.
pub(crate) const EVERYTHING: [&str; 11] = [
    "dev.ucp.shopping.catalog.search",
    "dev.ucp.shopping.catalog.lookup",
    "dev.ucp.shopping.cart",
    "dev.ucp.shopping.checkout",
    "dev.ucp.shopping.order",
    "dev.ucp.shopping.fulfillment",
    "dev.ucp.shopping.discount",
    "dev.ucp.shopping.buyer_consent",
    "dev.ucp.menu.merchant",
    "dev.ucp.common.location.search",
    "dev.ucp.common.location.lookup",
];

/// The profile of a platform that speaks a release and has these capabilities, in the form of that release.
pub(crate) fn profile(release: &str, capabilities: &[&str]) -> Value {
    let entry = |name: &str| {
        let file = name.rsplit('.').next().unwrap_or_default();
        json!({
            "version": release,
            "spec": format!("https://ucp.dev/{release}/specification/{file}"),
            "schema": format!("https://ucp.dev/{release}/schemas/shopping/{file}.json"),
        })
    };
    if release == "2026-01-11" {
        let list = capabilities.iter().map(|name| {
            let mut entry = entry(name);
            entry["name"] = json!(name);
            entry
        });
        return json!({ "ucp": { "version": release, "capabilities": list.collect::<Vec<_>>() } });
    }
    let named: serde_json::Map<_, _> =
        capabilities.iter().map(|name| ((*name).to_owned(), json!([entry(name)]))).collect();
    json!({ "ucp": { "version": release, "capabilities": named } })
}

/// The same for a platform that wants to hear of its orders.
pub(crate) fn listening(release: &str, capabilities: &[&str], webhook: &str) -> Value {
    const ORDER: &str = "dev.ucp.shopping.order";
    let mut profile = profile(release, capabilities);
    match &mut profile["ucp"]["capabilities"] {
        Value::Array(list) => {
            for entry in list.iter_mut().filter(|entry| entry["name"] == ORDER) {
                entry["config"] = json!({ "webhook_url": webhook });
            }
        }
        named => named[ORDER][0]["config"] = json!({ "webhook_url": webhook }),
    }
    profile
}
