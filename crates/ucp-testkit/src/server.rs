//! A [`Host`] for tests without a runtime: a server that answers each request as a function says, also as no server
//! should, and a listener that nobody may visit.

use std::{
    fmt, io,
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::Value;
use tokio::runtime::Runtime;

use crate::{
    Host, PATIENCE, eventually,
    host::{Peer, Request, answer},
    locked,
};

/// Runtime of all servers. It ends with the process.
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().expect("a runtime"));

/// Response to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// With a status, header lines beside those that frame the body, and a body. The connection is closed then.
    Whole(u16, Vec<String>, Vec<u8>),
    /// The same, and the next request may come over the connection.
    Kept(u16, Vec<String>, Vec<u8>),
    /// With these bytes, whatever they are, and the end of the connection.
    Bytes(Vec<u8>),
    /// With these bytes, and then with others again and again, with or without a pause, until the client goes.
    Forever(Vec<u8>, Vec<u8>, Option<Duration>),
    /// With the end of the connection.
    HangUp,
    /// Not at all, for as long as the client waits.
    Silence,
}

impl Answer {
    /// A status without a body.
    #[must_use]
    pub const fn status(status: u16) -> Self {
        Self::Whole(status, Vec::new(), Vec::new())
    }

    /// A JSON document.
    #[must_use]
    pub fn json(document: &Value) -> Self {
        Self::Whole(200, vec!["Content-Type: application/json".to_owned()], document.to_string().into_bytes())
    }
}

/// The server. Once it is dropped, it hangs up on whoever comes.
pub struct Server {
    host: Host,
    closed: Arc<AtomicBool>,
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host.fmt(f)
    }
}

impl Server {
    /// One that answers whole requests. The function is called on a thread that may wait. Panics if there is no free
    /// port.
    #[must_use]
    pub fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Self {
        Self::choosing(|_| Some(()), move |request, ()| answer(request))
    }

    /// One that chooses how to answer as soon as it has the head of a request. Where it chooses nothing, it hangs up
    /// without having read the body: the client gets a reset. Panics if there is no free port.
    #[must_use]
    pub fn choosing<C: Send + 'static>(
        choose: impl Fn(&Request) -> Option<C> + Send + Sync + 'static,
        answer: impl Fn(&Request, C) -> Answer + Send + Sync + 'static,
    ) -> Self {
        let closed = Arc::new(AtomicBool::new(false));
        let (choose, answer, closing) = (Arc::new(choose), Arc::new(answer), Arc::clone(&closed));
        let behaviour = move |peer| attend(peer, Arc::clone(&choose), Arc::clone(&answer), Arc::clone(&closing));
        Self { host: RUNTIME.block_on(Host::start(behaviour)), closed }
    }

    /// Returns the listen address.
    pub fn address(&self) -> SocketAddr {
        self.host.address()
    }

    /// Its URL with a path.
    pub fn url(&self, path: &str) -> String {
        self.host.url(path)
    }

    /// The requests that it read, in their order.
    pub fn requests(&self) -> Vec<Request> {
        self.host.requests()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.closed.store(true, Ordering::Release);
    }
}

/// Answers the requests of a connection.
async fn attend<C: Send + 'static>(
    mut peer: Peer,
    choose: Arc<impl Fn(&Request) -> Option<C> + Send + Sync + 'static>,
    answers: Arc<impl Fn(&Request, C) -> Answer + Send + Sync + 'static>,
    closed: Arc<AtomicBool>,
) -> io::Result<()> {
    while !closed.load(Ordering::Acquire) {
        let head = peer.head().await?;
        let Some(choice) = choose(&head) else { return Ok(()) };
        let request = peer.body(head).await?;
        let answers = Arc::clone(&answers);
        let told = tokio::task::spawn_blocking(move || answers(&request, choice)).await;
        match told.map_err(io::Error::other)? {
            Answer::Kept(status, headers, body) => {
                peer.write(whole(status, &headers, &[], body)).await?;
                continue;
            }
            Answer::Whole(status, headers, body) => {
                peer.write(whole(status, &headers, &[("connection", "close")], body)).await?;
            }
            Answer::Bytes(bytes) => peer.write(bytes).await?,
            Answer::Forever(first, others, pause) => {
                peer.write(first).await?;
                while !closed.load(Ordering::Acquire) {
                    peer.write(&others).await?;
                    if let Some(pause) = pause {
                        tokio::time::sleep(pause).await;
                    }
                }
            }
            Answer::HangUp => return Ok(()),
            Answer::Silence => return peer.hangs_up().await,
        }
        return peer.finish().await;
    }
    Ok(())
}

fn whole(status: u16, headers: &[String], more: &[(&str, &str)], body: Vec<u8>) -> Vec<u8> {
    let headers = headers.iter().map(|line| line.split_once(": ").unwrap_or((line, "")));
    answer(status, &headers.chain(more.iter().copied()).collect::<Vec<_>>(), body)
}

/// A listener that stands for everything that must not be reached.
#[derive(Debug)]
pub struct Canary {
    address: SocketAddr,
    visitors: Arc<Mutex<Vec<SocketAddr>>>,
}

impl Canary {
    /// One at a port of its own, which it holds until the process ends. Panics if there is no free port.
    #[must_use]
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let visitors = Arc::new(Mutex::new(Vec::new()));
        let book = Arc::clone(&visitors);
        thread::spawn(move || {
            while let Ok((_, buyer_signals)) = listener.accept() {
                locked(&book).push(buyer_signals);
            }
        });
        Self { address, visitors }
    }

    /// Its port.
    pub const fn port(&self) -> u16 {
        self.address.port()
    }

    /// A URL of it that somebody could be made to visit.
    pub fn url(&self) -> String {
        format!("http://{}/secret", self.address)
    }

    /// Number of connections since this was last asked. Panics if it no longer listens.
    #[track_caller]
    pub fn visits(&self) -> usize {
        // A visit of its own shows that it counts, and comes behind all others.
        let own = TcpStream::connect(self.address).and_then(|stream| stream.local_addr()).expect("it listens");
        eventually("the canary counts", PATIENCE, || {
            let mut visitors = locked(&self.visitors);
            let place = visitors.iter().position(|buyer_signals| *buyer_signals == own)?;
            visitors.drain(..=place);
            Some(place)
        })
    }

    /// Checks that nobody has connected to it. Panics if there was a connection.
    #[track_caller]
    pub fn is_untouched(&self) {
        assert_eq!(self.visits(), 0, "somebody visited the canary");
    }
}
