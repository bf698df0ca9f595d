//! A host of platform profiles on this machine, which misbehaves on demand, and a canary that nobody may touch.

use std::{
    collections::HashMap,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, Condvar, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    thread::JoinHandle,
    time::Duration,
};

use serde_json::{Value, json};
use ucp_core::Release;

use crate::harness::eventually;

/// A text in each body that is no profile: no caller of a gateway may ever see it.
pub(crate) const MARKER: &str = "upstream-marker-7f3a";

/// How the host treats a request.
#[derive(Clone, Debug)]
pub(crate) enum Page {
    /// A whole answer: its status, headers beside `Content-Length`, and the body.
    Answer(u16, Vec<String>, Vec<u8>),
    /// The same, once [`Host::release`] was called.
    Held(Box<Page>),
    /// These bytes, and then others again and again, with or without a pause, without end.
    Forever(Vec<u8>, Vec<u8>, Option<Duration>),
    /// Half of the body that was announced.
    Half,
    /// Something that is no HTTP.
    Noise,
    /// Nothing at all.
    Nothing,
}

impl Page {
    /// A JSON document.
    pub(crate) fn json(document: &Value) -> Self {
        Self::text("application/json", document.to_string())
    }

    /// A body of some type.
    pub(crate) fn text(media_type: &str, body: impl Into<Vec<u8>>) -> Self {
        Self::Answer(200, vec![format!("Content-Type: {media_type}")], body.into())
    }

    /// A page that says nothing but its status.
    pub(crate) fn status(status: u16) -> Self {
        Self::Answer(status, vec!["Content-Type: text/plain".to_owned()], MARKER.into())
    }

    /// A page that points elsewhere.
    pub(crate) fn redirect(status: u16, to: &str) -> Self {
        Self::Answer(status, vec![format!("Location: {to}")], MARKER.into())
    }

    /// A body without end, as fast as it is taken.
    pub(crate) fn endless() -> Self {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{\"ucp\":\"";
        Self::Forever(head.into(), vec![b'x'; 8 * 1024], None)
    }

    /// A head without end, as fast as it is taken.
    pub(crate) fn endless_head(line: &str) -> Self {
        Self::Forever(b"HTTP/1.1 200 OK\r\n".into(), line.repeat(100).into(), None)
    }

    /// These bytes, and then a byte now and then.
    pub(crate) fn drip(first: &str) -> Self {
        Self::Forever(first.into(), b"x".into(), Some(Duration::from_millis(20)))
    }

    /// The same with one more header.
    pub(crate) fn header(self, header: &str) -> Self {
        let Self::Answer(status, mut headers, body) = self else { panic!("only whole answers have headers") };
        headers.push(header.to_owned());
        Self::Answer(status, headers, body)
    }
}

/// The host. It is gone when this is dropped.
pub(crate) struct Host {
    address: SocketAddr,
    inner: Arc<Inner>,
    listener: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Inner {
    pages: Mutex<HashMap<String, Page>>,
    /// What paths get that have no page.
    others: Mutex<Option<Page>>,
    /// The heads of the requests so far, by path.
    visits: Mutex<Vec<(String, String)>>,
    released: (Mutex<bool>, Condvar),
    closed: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Host {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let inner = Arc::new(Inner::default());
        let accepting = Arc::clone(&inner);
        let listener = std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                if accepting.closed.load(Ordering::Acquire) {
                    break;
                }
                let inner = Arc::clone(&accepting);
                // Whoever hangs up early is no failure of the host.
                std::thread::spawn(move || inner.attend(stream).ok());
            }
        });
        Self { address, inner, listener: Some(listener) }
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Puts a page under a path, and gives its address.
    pub(crate) fn put(&self, path: &str, page: Page) -> String {
        lock(&self.inner.pages).insert(path.to_owned(), page);
        self.url(path)
    }

    /// Puts a profile under a path, and gives its address.
    pub(crate) fn profile(&self, path: &str, profile: &Value) -> String {
        self.put(path, Page::json(profile))
    }

    /// What all other paths get instead of 404.
    pub(crate) fn put_everywhere(&self, page: Page) {
        *lock(&self.inner.others) = Some(page);
    }

    /// How often a path was asked for.
    pub(crate) fn visits(&self, path: &str) -> usize {
        lock(&self.inner.visits).iter().filter(|(visited, _)| visited == path).count()
    }

    /// How often anything was asked for.
    pub(crate) fn all_visits(&self) -> usize {
        lock(&self.inner.visits).len()
    }

    /// The head of the last request for a path.
    pub(crate) fn last_request(&self, path: &str) -> String {
        let visits = lock(&self.inner.visits);
        let found = visits.iter().rev().find(|(visited, _)| visited == path);
        found.unwrap_or_else(|| panic!("{path} was asked for")).1.clone()
    }

    /// Waits until a path was asked for.
    pub(crate) fn wait_for_visit(&self, path: &str) {
        eventually("the host is asked", Duration::from_secs(30), || (self.visits(path) > 0).then_some(()));
    }

    /// Lets the pages go that are held.
    pub(crate) fn release(&self) {
        *lock(&self.inner.released.0) = true;
        self.inner.released.1.notify_all();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.inner.closed.store(true, Ordering::Release);
        self.release();
        // Wakes the listener up.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
    }
}

impl Inner {
    /// One request, and how it is treated.
    fn attend(&self, stream: TcpStream) -> std::io::Result<()> {
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.set_write_timeout(Some(Duration::from_secs(30)))?;
        let mut reader = BufReader::new(stream);
        let mut head = String::new();
        if reader.fill_buf()?.first() == Some(&0x16) {
            // Somebody speaks TLS here. What servers of plain http say to that:
            return reader.get_mut().write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
        while !head.ends_with("\r\n\r\n") {
            if reader.read_line(&mut head)? == 0 {
                return Ok(());
            }
        }
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let page = lock(&self.pages).get(&path).cloned().or_else(|| lock(&self.others).clone());
        lock(&self.visits).push((path, head));
        self.treat(page.unwrap_or_else(|| Page::status(404)), reader.get_mut())?;
        // The other side has to have read it all before the connection is reset.
        reader.get_ref().shutdown(std::net::Shutdown::Write)?;
        reader.read_to_end(&mut Vec::new()).map(|_| ())
    }

    fn treat(&self, page: Page, stream: &mut TcpStream) -> std::io::Result<()> {
        let open = || !self.closed.load(Ordering::Acquire);
        match page {
            Page::Answer(status, headers, body) => {
                let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
                let length = body.len();
                let head = format!("HTTP/1.1 {status} Whatever\r\n{headers}Content-Length: {length}\r\n");
                stream.write_all(format!("{head}Connection: close\r\n\r\n").as_bytes())?;
                stream.write_all(&body)
            }
            Page::Held(page) => {
                let mut released = lock(&self.released.0);
                while !*released {
                    released = self.released.1.wait(released).unwrap_or_else(PoisonError::into_inner);
                }
                drop(released);
                self.treat(*page, stream)
            }
            Page::Forever(first, others, pause) => {
                stream.write_all(&first)?;
                while open() {
                    stream.write_all(&others)?;
                    pause.into_iter().for_each(std::thread::sleep);
                }
                Ok(())
            }
            Page::Half => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n";
                stream.write_all(format!("{head}{{\"{MARKER}\":").as_bytes())
            }
            Page::Noise => stream.write_all(format!("220 {MARKER} ESMTP\r\n").as_bytes()),
            Page::Nothing => Ok(()),
        }
    }
}

/// A listener that stands for everything that a gateway must not reach.
pub(crate) struct Canary {
    address: SocketAddr,
    visitors: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Canary {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let visitors = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&visitors);
        // Ends with the process: it holds nothing but the port.
        std::thread::spawn(move || {
            while let Ok((_, visitor)) = listener.accept() {
                lock(&book).push(visitor);
            }
        });
        Self { address, visitors }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    /// An address of it that a gateway could be made to visit.
    pub(crate) fn url(&self) -> String {
        format!("http://{}/secret", self.address)
    }

    /// That nobody has connected to it.
    #[track_caller]
    pub(crate) fn is_untouched(&self) {
        // A visit of its own shows that it counts, and comes behind all others.
        let own = TcpStream::connect(self.address).and_then(|stream| stream.local_addr()).expect("it listens");
        let visitors = eventually("it counts", Duration::from_secs(30), || {
            Some(lock(&self.visitors).clone()).filter(|visitors| visitors.contains(&own))
        });
        assert_eq!(visitors, [own], "the canary was touched");
        lock(&self.visitors).clear();
    }
}

/// The names of the capabilities that catalog operations need.
pub(crate) const CATALOG: [&str; 2] = ["dev.ucp.shopping.catalog.search", "dev.ucp.shopping.catalog.lookup"];

/// The profile of a platform that speaks a release, in the form of that release, and has these capabilities.
pub(crate) fn profile_with(release: Release, capabilities: &[&str]) -> Value {
    let version = release.date();
    let entry = |name: &str| {
        let file = name.rsplit('.').next().unwrap_or_default();
        json!({
            "version": version,
            "spec": format!("https://ucp.dev/{version}/specification/{file}"),
            "schema": format!("https://ucp.dev/{version}/schemas/shopping/{file}.json"),
        })
    };
    if release == Release::V2026_01_11 {
        let capabilities = capabilities.iter().map(|name| {
            let mut entry = entry(name);
            entry["name"] = json!(name);
            entry
        });
        return json!({ "ucp": { "version": version, "capabilities": capabilities.collect::<Vec<_>>() } });
    }
    let capabilities: serde_json::Map<_, _> =
        capabilities.iter().map(|&name| (name.to_owned(), json!([entry(name)]))).collect();
    json!({ "ucp": { "version": version, "capabilities": capabilities } })
}

/// The same with all that the catalog needs.
pub(crate) fn profile_of(release: Release) -> Value {
    profile_with(release, &CATALOG)
}
