//! The accept loop of a listener.
//!
//! A header must arrive in time, an idle connection is closed, a client that stops reading is disconnected, the number
//! of connections is limited, and a shutdown lets running requests finish. `axum::serve` is not used because it sets no
//! timers: a client that sends half a header would hold its connection forever.
//!
//! When places or file descriptors run short, connections on which the gateway is not at work are closed for new ones
//! ([`connections`]).

mod connection;
mod connections;

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::IpAddr,
    time::{Duration, Instant},
};

use axum::{body::Body, response::Response};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    server::graceful::GracefulShutdown,
};
use tokio::net::TcpListener;
use tokio_io_timeout::TimeoutStream;
use ucp_service::ingress::Peer;
use ucp_trust::client::{ClientAddress, TrustedProxies};

use self::connection::{Answer, MAX_HEAD, Receiving, Transport};
pub(crate) use self::connections::Connections;

/// Maximum time until a request header is complete, and maximum idle time of a connection between requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum time for which a client may accept no data of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Pause after a failed accept, and between attempts to find a place for a new connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Number of connections that are closed when file descriptors run out, so that calls can open files and connections.
const SPARE: usize = 32;

/// Time between two warnings about the same shortage, and time for which a shortage of descriptors lowers the number of
/// connections.
const SHORTAGE: Duration = Duration::from_mins(1);

/// Limits of a listener.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    /// Maximum number of open connections.
    pub(crate) connections: usize,
    /// Proxies whose connections are never closed for others.
    pub(crate) trusted_proxies: TrustedProxies,
    /// Time that running requests have to finish after a shutdown.
    pub(crate) drain: Duration,
}

/// Serves `listener` until `shutdown` completes, then waits for running requests. `answer` answers a request;
/// `connections` are the open ones.
pub(crate) async fn serve<A: Future<Output = Response> + Send + 'static>(
    listener: TcpListener,
    answer: impl Fn(Request<Body>) -> A + Clone + Send + 'static,
    limits: Limits,
    connections: Connections,
    shutdown: impl Future<Output = ()>,
) {
    let graceful = GracefulShutdown::new();
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MAX_HEAD);
    let mut descriptors = Descriptors::default();
    tokio::pin!(shutdown);
    loop {
        let (stream, address) = tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    if is_exhausted(&error) {
                        descriptors.ran_out(&connections, &error);
                    } else {
                        report(&error);
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                    continue;
                }
            },
            () = &mut shutdown => break,
        };
        let client = ClientAddress::new(address.ip());
        let share = (!limits.trusted_proxies.trusts(client.ip())).then(|| client.bucket());
        let most = limits.connections.min(descriptors.connections());
        // Clients behind this one wait in the kernel's queue.
        tokio::select! {
            () = make_room(&connections, most, share) => {}
            () = &mut shutdown => break,
        }
        let open = connections.open(share);
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection keeps its delay");
        }
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(WRITE_TIMEOUT));
        let activity = open.activity().clone();
        let transport = Transport::new(Box::pin(stream), activity.clone());
        let answer = answer.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            let answering = activity.begin();
            request.extensions_mut().insert(Peer(address.ip()));
            let answer = answer(request.map(|body| Body::new(Receiving::new(body, activity.clone()))));
            async move { Ok::<_, Infallible>(answer.await.map(|body| Answer::new(body, answering))) }
        });
        let connection = graceful.watch(http.serve_connection(TokioIo::new(transport), service));
        tokio::spawn(async move {
            tokio::select! {
                ended = connection => if let Err(error) = ended {
                    tracing::debug!(%error, "a connection ended");
                },
                () = open.closed() => tracing::debug!("a connection was closed for others"),
            }
        });
    }
    drop(listener);
    // Those that have sent nothing yet, or half a header, would be waited for.
    connections.close_idle();
    if tokio::time::timeout(limits.drain, graceful.shutdown()).await.is_err() {
        tracing::warn!("some requests did not finish before the shutdown");
    }
}

/// Waits until fewer than `most` connections are open, and closes those on which the gateway is not at work for that.
async fn make_room(connections: &Connections, most: usize, share: Option<IpAddr>) {
    loop {
        let ended = connections.ended();
        if connections.len() < most {
            return;
        }
        connections.close_one(share);
        // After a while, requests may have been answered and their connections be idle.
        let _ = tokio::time::timeout(ACCEPT_PAUSE, ended).await;
    }
}

/// Returns `true` if the process or the system has no file descriptor left (`EMFILE`, `ENFILE`).
fn is_exhausted(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(24 | 23))
}

/// Number of connections for which there are file descriptors.
#[derive(Debug, Default)]
struct Descriptors(Option<Shortage>);

#[derive(Debug)]
struct Shortage {
    connections: usize,
    since: Instant,
}

impl Descriptors {
    fn connections(&self) -> usize {
        let shortage = self.0.as_ref().filter(|shortage| shortage.since.elapsed() < SHORTAGE);
        shortage.map_or(usize::MAX, |shortage| shortage.connections)
    }

    /// Closes some connections, and keeps their descriptors free for [`SHORTAGE`].
    fn ran_out(&mut self, connections: &Connections, error: &io::Error) {
        let fewer = connections.len().min(self.connections()).saturating_sub(SPARE).max(1);
        let told = self.0.as_ref().is_some_and(|shortage| shortage.since.elapsed() < SHORTAGE);
        let since = match &self.0 {
            Some(shortage) if told => shortage.since,
            _ => Instant::now(),
        };
        if !told {
            tracing::warn!(%error, connections = fewer, "file descriptors run short; idle connections are closed");
        }
        for _ in fewer..connections.len() {
            connections.close_one(None);
        }
        self.0 = Some(Shortage { connections: fewer, since });
    }
}

/// Logs a failed accept, unless the client itself aborted the connection.
fn report(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::error!(%error, "cannot accept connections");
    }
}
