//! A platform's end of webhooks, which answers as it is told.

use std::{
    collections::VecDeque,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;

/// How the receiver treats a webhook.
#[derive(Clone, Debug)]
pub(crate) enum Treatment {
    /// It answers with this status, and more header lines.
    Status(u16, String),
    /// It closes the connection without an answer.
    Reset,
    /// It takes the webhook and says nothing for as long as it runs.
    Hang,
}

/// What came in.
#[derive(Clone, Debug)]
pub(crate) struct Delivery {
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Vec<u8>,
}

impl Delivery {
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("{name}: {:?}", self.headers)).to_str().expect("a text")
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

#[derive(Default)]
struct Inner {
    plan: Mutex<VecDeque<Treatment>>,
    deliveries: Mutex<Vec<Delivery>>,
}

/// The receiver. It takes what has no treatment planned.
pub(crate) struct Receiver {
    address: SocketAddr,
    inner: Arc<Inner>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Receiver {
    pub(crate) fn start(plan: impl IntoIterator<Item = Treatment>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let inner = Arc::new(Inner { plan: Mutex::new(plan.into_iter().collect()), ..Inner::default() });
        let attending = Arc::clone(&inner);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let inner = Arc::clone(&attending);
                // Whoever hangs up early is no failure of the receiver.
                std::thread::spawn(move || inner.attend(stream).ok());
            }
        });
        Self { address, inner }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/orders?of=ucp", self.address)
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Takes everything from now on.
    pub(crate) fn recover(&self) {
        lock(&self.inner.plan).clear();
    }

    pub(crate) fn deliveries(&self) -> Vec<Delivery> {
        lock(&self.inner.deliveries).clone()
    }

    /// The deliveries, once there are so many.
    pub(crate) fn after(&self, count: usize) -> Vec<Delivery> {
        crate::harness::eventually("webhooks arrive", Duration::from_secs(60), || {
            Some(self.deliveries()).filter(|deliveries| deliveries.len() >= count)
        })
    }
}

impl Inner {
    fn attend(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut first = String::new();
        reader.read_line(&mut first)?;
        let mut headers = HeaderMap::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            headers.append(name, HeaderValue::from_str(value.trim()).expect("a value"));
        }
        let length = headers.get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body)?;
        let path = first.split(' ').nth(1).unwrap_or_default().to_owned();
        let treatment = lock(&self.plan).pop_front();
        lock(&self.deliveries).push(Delivery { path, headers, body });
        match treatment.unwrap_or(Treatment::Status(204, String::new())) {
            Treatment::Status(status, more) => {
                let head = format!("HTTP/1.1 {status} X\r\n{more}Content-Length: 0\r\nConnection: close\r\n\r\n");
                reader.get_mut().write_all(head.as_bytes())
            }
            Treatment::Reset => Ok(()),
            Treatment::Hang => loop {
                std::thread::park();
            },
        }
    }
}
