//! Requests from the gateway in front to the shop: each passes through here, and is validated against the official
//! schemas of the shop's version.

use std::{
    collections::BTreeMap,
    io::{Read as _, Write as _},
    net::{SocketAddr, TcpStream},
    sync::{Arc, Mutex, PoisonError},
};

use serde_json::Value;
use ucp_core::{Operation, Release, operation::Method};
use ucp_testkit::{
    host::Request,
    server::{Answer, Server},
};

use crate::official::request_fault;

/// The faults that were found, and how often each operation was asked for.
#[derive(Default)]
struct Found {
    faults: Vec<String>,
    asked: BTreeMap<&'static str, usize>,
}

/// A shop's address, behind which the shop listens elsewhere. At its end it fails the test if a request was faulty.
pub(super) struct Recorder {
    server: Server,
    behind: SocketAddr,
    found: Arc<Mutex<Found>>,
}

impl Recorder {
    /// One in front of a shop that is asked in a release.
    pub(super) fn start(release: Release) -> Self {
        let behind = ucp_testkit::leash::free_address();
        let found = Arc::new(Mutex::new(Found::default()));
        let noting = Arc::clone(&found);
        let server = Server::start(move |request| {
            if is_of_gateway(request)
                && let Some((operation, payload)) = read(request)
            {
                let mut found = noting.lock().unwrap_or_else(PoisonError::into_inner);
                *found.asked.entry(operation.row().name).or_default() += 1;
                let fault = payload.and_then(|payload| request_fault(release, operation, &payload));
                found.faults.extend(fault.or_else(|| unsigned(release, request)));
            }
            forward(behind, request).map_or(Answer::HangUp, Answer::Bytes)
        });
        Self { server, behind, found }
    }

    /// The address under which the shop is reached.
    pub(super) fn url(&self) -> String {
        self.server.url("")
    }

    /// The address at which the shop has to listen.
    pub(super) fn behind(&self) -> String {
        self.behind.to_string()
    }

    /// Number of requests for an operation.
    pub(super) fn asked(&self, operation: &str) -> usize {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.asked.get(operation).copied().unwrap_or_default()
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        if !std::thread::panicking() {
            assert!(found.faults.is_empty(), "{} requests are faulty: {:#?}", found.faults.len(), found.faults);
        }
    }
}

/// Returns `true` if a request is the other gateway's: the test itself names other profiles, and no trace.
fn is_of_gateway(request: &Request) -> bool {
    let agent = request.headers().get("ucp-agent").and_then(|agent| agent.to_str().ok()).unwrap_or_default();
    agent.contains("/upstream/") && request.headers().contains_key("request-id")
}

/// The operation that a request asks for, and its payload if it has one.
fn read(request: &Request) -> Option<(Operation, Option<Value>)> {
    let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
    if body["jsonrpc"] == "2.0" {
        let params = &body["params"];
        let operation = Operation::named(params["name"].as_str().or_else(|| body["method"].as_str())?)?;
        let arguments = if params["arguments"].is_object() { &params["arguments"] } else { params };
        return Some((operation, operation.row().payload.and_then(|name| arguments.get(name).cloned())));
    }
    let path = request.uri().path();
    let of = |operation: &&Operation| {
        let row = operation.row();
        let method = match row.method {
            Method::Get => "GET",
            Method::Post => "POST",
            Method::Put => "PUT",
        };
        let (own, stated): (Vec<_>, Vec<_>) = (row.path.split('/').skip(1).collect(), path.split('/').collect());
        // At the end of the path, behind that of a release.
        let tail = stated.len().checked_sub(own.len()).map(|start| &stated[start..]);
        request.method() == method
            && tail.is_some_and(|tail| own.iter().zip(tail).all(|(own, stated)| *own == "{id}" || own == stated))
    };
    // The longer path is the more specific one.
    let operation = Operation::ALL.iter().filter(of).max_by_key(|operation| operation.row().path.split('/').count())?;
    Some((*operation, operation.row().payload.map(|_| body)))
}

/// Missing headers that a version requires.
fn unsigned(release: Release, request: &Request) -> Option<String> {
    let signed = request.headers().contains_key("signature");
    let missing = release < Release::V2026_04_08 && signed && !request.headers().contains_key("request-signature");
    missing.then(|| format!("`Request-Signature` is missing: {:?}", request.uri()))
}

/// Response of the shop, as it came; `None` if there is none.
fn forward(behind: SocketAddr, request: &Request) -> Option<Vec<u8>> {
    let mut text = format!("{} {} HTTP/1.1\r\n", request.method(), request.uri());
    for (name, value) in request.headers().iter().filter(|(name, _)| *name != "connection") {
        text.push_str(&format!("{name}: {}\r\n", value.to_str().ok()?));
    }
    text.push_str("connection: close\r\n\r\n");
    let mut stream = TcpStream::connect(behind).ok()?;
    stream.write_all(&[text.as_bytes(), request.body()].concat()).ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    (!answer.is_empty()).then_some(answer)
}
