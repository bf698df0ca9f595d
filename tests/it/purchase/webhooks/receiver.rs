//! A platform's end of webhooks, which answers as it is told.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use http::HeaderMap;
use serde_json::Value;
use ucp_testkit::{
    PATIENCE,
    host::Request,
    server::{Answer, Server},
};

/// A webhook that came in.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl From<Request> for Delivery {
    fn from(request: Request) -> Self {
        let (head, body) = request.into_parts();
        Self { path: head.uri.to_string(), headers: head.headers, body }
    }
}

impl Delivery {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("{name}: {:?}", self.headers)).to_str().expect("a text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// The receiver. It takes what has no answer planned.
pub(crate) struct Receiver {
    server: Server,
    plan: Arc<Mutex<VecDeque<Answer>>>,
}

impl Receiver {
    pub(crate) fn start(plan: impl IntoIterator<Item = Answer>) -> Self {
        let plan: VecDeque<_> = plan.into_iter().collect();
        let plan = Arc::new(Mutex::new(plan));
        let left = Arc::clone(&plan);
        let server = Server::start(move |_| {
            left.lock().unwrap_or_else(PoisonError::into_inner).pop_front().unwrap_or(Answer::status(204))
        });
        Self { server, plan }
    }

    pub(crate) fn url(&self) -> String {
        self.server.url("/orders?of=ucp")
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Takes everything from now on.
    pub(crate) fn recover(&self) {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        self.server.requests().into_iter().map(Delivery::from).collect()
    }

    /// The deliveries, once there are so many.
    #[track_caller]
    pub(crate) fn after(&self, count: usize) -> Vec<Delivery> {
        crate::harness::eventually("webhooks arrive", PATIENCE, || {
            Some(self.deliveries()).filter(|deliveries| deliveries.len() >= count)
        })
    }
}
