//! A host of platform profiles on this machine, which misbehaves on demand.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use serde_json::{Value, json};
use ucp_core::Release;
pub(crate) use ucp_testkit::server::Canary;
use ucp_testkit::{
    PATIENCE,
    host::Request,
    server::{Answer, Server},
};

use crate::harness::eventually;

/// A text in each body that is no profile: no caller of a gateway may ever see it.
pub(crate) const MARKER: &str = "upstream-marker-7f3a";

/// Reaction of the host to a request.
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
    server: Server,
    inner: Arc<HostState>,
}

#[derive(Default)]
struct HostState {
    pages: Mutex<HashMap<String, Page>>,
    /// Response for paths without a page.
    others: Mutex<Option<Page>>,
    released: (Mutex<bool>, Condvar),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The path that is asked for, with the query.
fn path(request: &Request) -> &str {
    request.uri().path_and_query().map_or("", |path| path.as_str())
}

impl Host {
    pub(crate) fn start() -> Self {
        let inner = Arc::new(HostState::default());
        let answering = Arc::clone(&inner);
        Self { server: Server::start(move |request| answering.page(path(request)).answer(&answering)), inner }
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// Listen address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
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

    /// Response for all other paths instead of 404.
    pub(crate) fn put_everywhere(&self, page: Page) {
        *lock(&self.inner.others) = Some(page);
    }

    /// Number of requests for a path.
    pub(crate) fn visits(&self, asked: &str) -> usize {
        self.server.requests().iter().filter(|request| path(request) == asked).count()
    }

    /// Number of requests.
    pub(crate) fn all_visits(&self) -> usize {
        self.server.requests().len()
    }

    /// The last request for a path.
    pub(crate) fn last_request(&self, asked: &str) -> Request {
        let found = self.server.requests().into_iter().rfind(|request| path(request) == asked);
        found.unwrap_or_else(|| panic!("{asked} was asked for"))
    }

    /// Waits until a path was asked for.
    pub(crate) fn wait_for_visit(&self, path: &str) {
        eventually("the host is asked", PATIENCE, || (self.visits(path) > 0).then_some(()));
    }

    /// Lets the pages go that are held.
    pub(crate) fn release(&self) {
        *lock(&self.inner.released.0) = true;
        self.inner.released.1.notify_all();
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.release();
    }
}

impl HostState {
    fn page(&self, path: &str) -> Page {
        let page = lock(&self.pages).get(path).cloned().or_else(|| lock(&self.others).clone());
        page.unwrap_or_else(|| Page::status(404))
    }
}

impl Page {
    /// Response of a host.
    fn answer(self, host: &HostState) -> Answer {
        match self {
            Self::Answer(status, headers, body) => Answer::Whole(status, headers, body),
            Self::Held(page) => {
                let (released, changed) = &host.released;
                let held = changed.wait_timeout_while(lock(released), 2 * PATIENCE, |released| !*released);
                let (released, _) = held.unwrap_or_else(PoisonError::into_inner);
                assert!(*released, "a page is let go that is held");
                drop(released);
                page.answer(host)
            }
            Self::Forever(first, others, pause) => Answer::Forever(first, others, pause),
            Self::Half => {
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n";
                Answer::Bytes(format!("{head}{{\"{MARKER}\":").into())
            }
            Self::Noise => Answer::Bytes(format!("220 {MARKER} ESMTP\r\n").into()),
            Self::Nothing => Answer::HangUp,
        }
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
