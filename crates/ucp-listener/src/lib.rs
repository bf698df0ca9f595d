//! The HTTP listener: its accept loop, its connections and their limits, and TLS.
//!
//! A header must arrive in time, an idle connection is closed, a client that stops reading is disconnected, the number
//! of connections is limited, and a shutdown lets running requests finish. `axum::serve` is not used because it sets no
//! timers: a client that sends half a header would hold its connection forever.
//!
//! When places or file descriptors run short, connections on which the gateway is not at work are closed for new ones
//! ([`Connections`]).
//!
//! With TLS ([`TlsFiles`]), the handshake decides between HTTP/2 and HTTP/1.1. A connection without it speaks HTTP/1.1.

mod connection;
mod connections;
mod files;
mod tls;

use std::{
    convert::Infallible,
    error::Error,
    future::Future,
    io,
    net::IpAddr,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, body::Body, response::Response};
use futures_util::future::BoxFuture;
use http::{HeaderValue, Uri, header::HOST};
use hyper::{
    Request,
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::graceful::GracefulConnection,
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    time,
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::TlsAcceptor;
use tower::ServiceExt as _;
use ucp_core::{Code, Refusal};
use ucp_service::ingress::{ClientCertificate, Peer};
use ucp_trust::client::{ClientAddress, TrustedProxies};

use self::{
    connection::{Activity, Answer, Answering, MAX_HEAD, Receiving, Transport, Wait},
    tls::{HANDSHAKE, Protocol},
};
pub use self::{
    connections::Connections,
    files::{TlsFile, TlsFileError, TlsFiles, TlsSettings},
    tls::Tls,
};

/// Maximum time until a request header is complete, and maximum idle time of a connection between requests.
const HEADER_TIMEOUT: Duration = Duration::from_secs(15);

/// Maximum time for which a client may accept no data of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// Maximum time of a TLS handshake.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of requests at once on a connection of HTTP/2 (`SETTINGS_MAX_CONCURRENT_STREAMS`).
const MAX_STREAMS: u32 = 100;

/// Maximum size of the header list of a request over HTTP/2 in bytes (`SETTINGS_MAX_HEADER_LIST_SIZE`).
const MAX_HEADER_LIST: u32 = 16 * 1024;

/// Number of bytes of request bodies that a client of HTTP/2 may send ahead of their being read, on a connection and for
/// a request; what the protocol begins with.
const WINDOW: u32 = 65_535;

/// Number of bytes of an answer that HTTP/2 holds when the client has room for them and the connection is slow.
const SEND_BUFFER: usize = 64 * 1024;

/// Size of the pieces in bytes in which answers are handed to HTTP/2, which holds each until the client has room for it.
const PIECE: usize = 16 * 1024;

/// Time in which clients of HTTP/2 may end idle connections by themselves when the listener is shut down.
const GOODBYE: Duration = Duration::from_secs(1);

/// Pause after a failed accept, and between attempts to find a place for a new connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Number of connections that are closed when file descriptors run out, so that calls can open files and connections.
const SPARE: usize = 32;

/// Time between two warnings about the same shortage, and time for which a shortage of descriptors lowers the number of
/// connections.
const SHORTAGE: Duration = Duration::from_mins(1);

/// Answers a request.
pub type Respond = Arc<dyn Fn(Request<Body>) -> BoxFuture<'static, Response> + Send + Sync>;

/// Returns `answer` as a listener takes it.
pub fn responding<A: Future<Output = Response> + Send + 'static>(
    answer: impl Fn(Request<Body>) -> A + Send + Sync + 'static,
) -> Respond {
    Arc::new(move |request| Box::pin(answer(request)))
}

/// Limits of a listener.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Maximum number of open connections.
    pub connections: usize,
    /// Proxies whose connections are never closed for others.
    pub trusted_proxies: TrustedProxies,
    /// Time that running requests have to finish after a shutdown.
    pub drain: Duration,
}

/// Serves `listener` until `shutdown` completes, then waits for running requests. `answer` answers a request;
/// `connections` are the open ones. Without `tls`, connections are plain.
pub async fn serve(
    listener: TcpListener,
    tls: Option<Tls>,
    answer: Respond,
    limits: Limits,
    connections: Connections,
    shutdown: impl Future<Output = ()> + Send + 'static,
) {
    // HTTP is compiled here once, and not where it is served from.
    accept(listener, tls, move |request| answer(request), limits, connections, Box::pin(shutdown)).await;
}

async fn accept<A: Future<Output = Response> + Send + 'static>(
    listener: TcpListener,
    tls: Option<Tls>,
    answer: impl Fn(Request<Body>) -> A + Clone + Send + 'static,
    limits: Limits,
    connections: Connections,
    mut shutdown: BoxFuture<'static, ()>,
) {
    let (draining, _) = watch::channel(());
    let mut descriptors = Descriptors::default();
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
        let conversation = Conversation {
            peer: Peer(address.ip()),
            certificate: None,
            activity: open.activity().clone(),
            draining: draining.subscribe(),
        };
        let ended = conversation.hold(stream, tls.as_ref().map(Tls::acceptor), answer.clone());
        tokio::spawn(async move {
            tokio::select! {
                ended = ended => if let Err(error) = ended {
                    tracing::debug!(error = &*error as &dyn Error, "a connection ended");
                },
                () = open.closed() => tracing::debug!("a connection was closed for others"),
            }
        });
    }
    drop(listener);
    draining.send_replace(());
    let goodbye = if tls.is_some() { GOODBYE.min(limits.drain) } else { Duration::ZERO };
    let _ = time::timeout(goodbye, draining.closed()).await;
    // Those that have sent nothing yet, or half a header, would be waited for.
    connections.close_idle();
    if time::timeout(limits.drain - goodbye, draining.closed()).await.is_err() {
        tracing::warn!("some requests did not finish before the shutdown");
    }
}

/// A connection that is served.
struct Conversation {
    peer: Peer,
    /// Certificate that the client has shown in the handshake.
    certificate: Option<ClientCertificate>,
    activity: Activity,
    /// Changes when the listener is shut down.
    draining: watch::Receiver<()>,
}

/// How a connection has ended.
type Ended = Result<(), Box<dyn Error + Send + Sync>>;

impl Conversation {
    /// Serves a connection until it ends, after a handshake if there is an `acceptor`.
    async fn hold<A: Future<Output = Response> + Send + 'static>(
        self,
        stream: TcpStream,
        acceptor: Option<TlsAcceptor>,
        answer: impl Fn(Request<Body>) -> A + Send + 'static,
    ) -> Ended {
        match acceptor {
            None => self.http1(patient(stream), &http1(), answer).await,
            // Boxed, so that a plain connection does not take the memory of one with TLS.
            Some(acceptor) => Box::pin(self.secure(stream, acceptor, answer)).await,
        }
    }

    async fn secure<A: Future<Output = Response> + Send + 'static>(
        mut self,
        stream: TcpStream,
        acceptor: TlsAcceptor,
        answer: impl Fn(Request<Body>) -> A + Send + 'static,
    ) -> Ended {
        let handshake = async {
            let mut first = [0];
            if stream.peek(&mut first).await? == 1 && first[0] != HANDSHAKE {
                return Ok(Err(stream));
            }
            tls::accept(acceptor, patient(stream)).await.map(Ok)
        };
        match time::timeout(HANDSHAKE_TIMEOUT, handshake).await?? {
            Ok((stream, protocol, certificate)) => {
                self.certificate = certificate;
                match protocol {
                    Protocol::Http1 => self.http1(stream, &http1(), answer).await,
                    Protocol::Http2 => self.http2(stream, answer).await,
                }
            }
            Err(stream) => self.http1(patient(stream), http1().keep_alive(false), plain).await,
        }
    }

    async fn http1<A: Future<Output = Response> + Send + 'static>(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        http: &http1::Builder,
        answer: impl Fn(Request<Body>) -> A + Send + 'static,
    ) -> Ended {
        let (stream, draining) = (Transport::new(stream, self.activity.clone()), self.draining.clone());
        let service = service_fn(move |request| {
            let (request, answering) = self.begin(request);
            let answer = answer(request);
            async move { Ok::<_, Infallible>(answer.await.map(|body| Answer::new(body, answering, usize::MAX))) }
        });
        // `hyper` has a timer for what is overdue here.
        serve_until(http.serve_connection(TokioIo::new(stream), service), draining, |_| std::future::pending()).await
    }

    async fn http2<A: Future<Output = Response> + Send + 'static>(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        answer: impl Fn(Request<Body>) -> A + Send + 'static,
    ) -> Ended {
        let (activity, draining) = (self.activity.clone(), self.draining.clone());
        let service = service_fn(move |mut request| {
            name_host(&mut request);
            let (request, answering) = self.begin(request);
            let answer = answer(request);
            async move { Ok::<_, Infallible>(answer.await.map(|body| Answer::new(body, answering, PIECE))) }
        });
        let connection = http2().serve_connection(TokioIo::new(stream), service);
        serve_until(connection, draining, |since| overdue(&activity, since)).await
    }

    /// Takes note of a request, and adds to it what is known of its connection.
    fn begin(&self, mut request: Request<Incoming>) -> (Request<Body>, Answering) {
        let answering = self.activity.begin();
        request.extensions_mut().insert(self.peer);
        if let Some(certificate) = self.certificate {
            request.extensions_mut().insert(certificate);
        }
        (request.map(|body| Body::new(Receiving::new(body, &answering))), answering)
    }
}

/// Returns the stream with a limit on the time for which the client accepts nothing.
fn patient(stream: TcpStream) -> Pin<Box<TimeoutStream<TcpStream>>> {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(WRITE_TIMEOUT));
    Box::pin(stream)
}

fn http1() -> http1::Builder {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT).max_buf_size(MAX_HEAD);
    http
}

/// Of streams that are reset before they are accepted, and of errors that the client causes, `h2` tolerates 20 and 1,024
/// and closes the connection then.
fn http2() -> http2::Builder<TokioExecutor> {
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .max_concurrent_streams(MAX_STREAMS)
        .max_header_list_size(MAX_HEADER_LIST)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_send_buf_size(SEND_BUFFER);
    http
}

/// Serves a connection until it ends. It takes no further requests once the listener drains, or once `overdue` completes;
/// when that completes for the second time, the connection is closed.
async fn serve_until<C, O: Future<Output = Overdue>>(
    connection: C,
    mut draining: watch::Receiver<()>,
    overdue: impl Fn(time::Instant) -> O,
) -> Ended
where
    C: GracefulConnection,
    C::Error: Error + Send + Sync + 'static,
{
    let (mut since, mut leaving) = (time::Instant::now(), false);
    tokio::pin!(connection);
    loop {
        tokio::select! {
            ended = &mut connection => return Ok(ended?),
            _ = draining.changed(), if !leaving => {}
            reason = overdue(since) => if leaving || reason == Overdue::Reading {
                return Err(format!("the client is overdue: {reason:?}").into());
            },
        }
        connection.as_mut().graceful_shutdown();
        (since, leaving) = (time::Instant::now(), true);
    }
}

/// What a client has not done in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overdue {
    /// Sent a request.
    Request,
    /// Taken more of an answer.
    Reading,
}

/// Completes when a client of HTTP/2 has neither sent a request for [`HEADER_TIMEOUT`] since the last answer and `since`,
/// nor one is being answered, or when it has taken nothing of an answer for [`WRITE_TIMEOUT`].
async fn overdue(activity: &Activity, since: time::Instant) -> Overdue {
    loop {
        let (due, reason) = match activity.wait() {
            Wait::Request(idle) => (idle.max(since) + HEADER_TIMEOUT, Some(Overdue::Request)),
            Wait::Reading(progress) => (progress + WRITE_TIMEOUT, Some(Overdue::Reading)),
            Wait::Nothing => (time::Instant::now() + HEADER_TIMEOUT, None),
        };
        match reason {
            Some(reason) if due <= time::Instant::now() => return reason,
            _ => time::sleep_until(due).await,
        }
    }
}

/// Has a request of HTTP/2 name its host as one of HTTP/1.1 does: in `Host` instead of the target (RFC 9113, 8.3.1). One
/// that names two different hosts keeps both, for which it is refused.
fn name_host<B>(request: &mut Request<B>) {
    let authority = request.uri().authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(authority) = authority
        && request.headers().get(HOST) != Some(&authority)
    {
        request.headers_mut().append(HOST, authority);
    }
    if let Some(target) = request.uri().path_and_query() {
        *request.uri_mut() = Uri::from(target.clone());
    }
}

/// Answers a request over plain HTTP where TLS is spoken.
async fn plain(request: Request<Body>) -> Response {
    let refusal = || Refusal::new(Code::InvalidRequest, "The gateway speaks TLS here.").accepting("an https URL");
    ucp_rest::refusing(Router::new(), refusal).oneshot(request).await.unwrap_or_else(|never| match never {})
}

/// Waits until fewer than `most` connections are open, and closes those on which the gateway is not at work for that.
async fn make_room(connections: &Connections, most: usize, share: Option<IpAddr>) {
    loop {
        let ended = connections.ended();
        if connections.count() < most {
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
        let fewer = connections.count().min(self.connections()).saturating_sub(SPARE).max(1);
        let told = self.0.as_ref().is_some_and(|shortage| shortage.since.elapsed() < SHORTAGE);
        let since = match &self.0 {
            Some(shortage) if told => shortage.since,
            _ => Instant::now(),
        };
        if !told {
            tracing::warn!(%error, connections = fewer, "file descriptors run short; idle connections are closed");
        }
        for _ in fewer..connections.count() {
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
