//! The HTTP listener: its accept loop, its connections and their limits, and TLS.
//!
//! A header must arrive in time, an idle connection is closed, a client that stops reading is disconnected, the number
//! of connections is limited, and a shutdown lets running requests finish. `axum::serve` is not used because it sets no
//! timers: a client that sends half a header would hold its connection forever.
//!
//! If slots or file descriptors run short, connections on which the gateway is not at work are closed for new ones
//! ([`Connections`]).
//!
//! With TLS ([`TlsFiles`]), the handshake decides between HTTP/2 and HTTP/1.1. A connection without it speaks HTTP/1.1.

mod connection;
mod connections;
mod expiry;
mod files;
mod tls;

use std::{
    convert::Infallible,
    error::Error,
    future::Future,
    io,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Router, body::Body, response::Response};
use futures_util::future::{BoxFuture, Either};
use http::{
    HeaderName, HeaderValue, StatusCode, Uri, Version,
    header::{CONNECTION, HOST},
};
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
use ucp_service::ingress::{ClientCertificate, Origins, Peer};
use ucp_trust::{
    client::{ClientAddress, TrustedProxies},
    host::Authority,
};

use self::{
    connection::{
        Activity, Answer, Answering, Farewell, MAX_HEAD, Receiving, Socket, Transport, Wait, head_size, too_large_head,
    },
    tls::{HANDSHAKE, Protocol},
};
pub use self::{
    connections::Connections,
    expiry::expiry,
    files::{Expiries, TlsFile, TlsFileError, TlsFiles, TlsSettings},
    tls::Tls,
};

/// Maximum time until a request header is complete: since its first byte, or the start of the connection.
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

/// Time for which connections that are idle after an answer stay open when the listener is shut down: a request may be on its
/// way on them. Clients of HTTP/2 are told, and end them by themselves.
const GOODBYE: Duration = Duration::from_secs(1);

/// Time for which connections that were accepted and have sent no whole request stay open when the listener is shut down.
const LAST_WORD: Duration = Duration::from_secs(5);

/// Time for which connections whose handshake has begun are still accepted when the listener is shut down.
const LAST_CALL: Duration = Duration::from_millis(100);

/// Pause after a failed accept, and between attempts to find a place for a new connection.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Number of connections that are closed when file descriptors run out, so that calls can open files and connections.
const SPARE: usize = 32;

/// Time between two warnings about the same shortage, and time for which a shortage of descriptors lowers the number of
/// connections.
const SHORTAGE: Duration = Duration::from_mins(1);

/// Header with the time for which a connection of HTTP/1.1 may be idle.
const KEEP_ALIVE: HeaderName = HeaderName::from_static("keep-alive");

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
    /// Time for which a connection may be idle after an answer.
    pub idle: Duration,
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
    let (draining, _) = watch::channel(false);
    let mut descriptors = Descriptors::default();
    // From the shutdown on: until when connections are accepted, and until when requests may go on.
    let mut ends: Option<(time::Instant, time::Instant)> = None;
    let leave = || {
        refuse_new_ones(&listener);
        draining.send_replace(true);
        let now = time::Instant::now();
        (now + LAST_CALL.min(limits.drain), now + limits.drain)
    };
    let share_of = |address: SocketAddr| {
        let client = ClientAddress::new(address.ip());
        (!limits.trusted_proxies.trusts(client.ip())).then(|| client.bucket())
    };
    let converse = |stream: TcpStream, address: SocketAddr| {
        let open = connections.open(share_of(address));
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "TCP_NODELAY not set");
        }
        let conversation = Conversation {
            peer: Peer(address.ip()),
            certificate: None,
            activity: open.activity().clone(),
            idle: limits.idle,
            draining: draining.subscribe(),
        };
        let ended = conversation.hold(stream, tls.as_ref().map(Tls::acceptor), answer.clone());
        tokio::spawn(async move {
            tokio::select! {
                ended = ended => if let Err(error) = ended {
                    tracing::debug!(error = &*error as &dyn Error, "connection ended");
                },
                () = open.closed() => tracing::debug!("connection closed to make room"),
            }
        });
    };
    while ends.is_none_or(|(_, end)| time::Instant::now() < end) {
        let (stream, address) = tokio::select! {
            biased;
            () = &mut shutdown, if ends.is_none() => {
                ends = Some(leave());
                continue;
            }
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
            () = until(ends.map(|(last, _)| last)) => break,
        };
        let most = limits.connections.min(descriptors.connections());
        // Clients behind this one wait in the kernel's queue.
        let room = make_room(&connections, most, share_of(address));
        tokio::pin!(room);
        loop {
            tokio::select! {
                () = &mut room => break,
                () = &mut shutdown, if ends.is_none() => ends = Some(leave()),
                () = until(ends.map(|(_, end)| end)) => break,
            }
        }
        converse(stream, address);
    }
    // What has come since the runtime looked at the listener.
    if let Ok(listener) = listener.into_std() {
        while let Ok((stream, address)) = listener.accept() {
            if let Ok(stream) = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream)) {
                converse(stream, address);
            }
        }
    }
    let (now, end) = (time::Instant::now(), ends.map_or_else(time::Instant::now, |(_, end)| end));
    let _ = time::timeout_at(end.min(now + LAST_WORD + GOODBYE), draining.closed()).await;
    // Those whose handshake or header has come in parts would be waited for.
    connections.close_idle();
    if time::timeout_at(end, draining.closed()).await.is_err() {
        tracing::warn!("shutdown deadline reached with requests in flight");
    }
}

/// Completes at an instant, or never.
async fn until(end: Option<time::Instant>) {
    match end {
        Some(end) => time::sleep_until(end).await,
        None => std::future::pending().await,
    }
}

/// Has the kernel ignore further attempts to connect, so that none is completed between the last accept and the end of the
/// listener, which would reset it. Clients try again within a second, and are refused by then.
fn refuse_new_ones(listener: &TcpListener) {
    #[cfg(target_os = "linux")]
    {
        use socket2::{SockFilter, SockRef};
        // A filter of segments of TCP: one that begins a connection has SYN and no ACK among the flags in byte 13.
        const LOAD_BYTE: u16 = 0x30;
        const AND: u16 = 0x54;
        const JUMP_IF_EQUAL: u16 = 0x15;
        const RETURN: u16 = 0x06;
        const SYN: u32 = 0x02;
        const ACK: u32 = 0x10;
        let filter = [
            SockFilter::new(LOAD_BYTE, 0, 0, 13),
            SockFilter::new(AND, 0, 0, SYN | ACK),
            SockFilter::new(JUMP_IF_EQUAL, 0, 1, SYN),
            SockFilter::new(RETURN, 0, 0, 0),
            SockFilter::new(RETURN, 0, 0, u32::MAX),
        ];
        if let Err(error) = SockRef::from(listener).attach_filter(&filter) {
            tracing::debug!(%error, "holding back new connections failed; they may be reset");
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = listener;
}

/// A connection that is served.
struct Conversation {
    peer: Peer,
    /// Certificate that the client has shown in the handshake.
    certificate: Option<ClientCertificate>,
    activity: Activity,
    /// Time for which the connection may be idle after an answer.
    idle: Duration,
    /// `true` once the listener is shut down.
    draining: watch::Receiver<bool>,
}

/// Result of a connection.
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
            None => self.http1(patient(stream), true, answer).await,
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
                    Protocol::Http1 => self.http1(stream, true, answer).await,
                    Protocol::Http2 => self.http2(stream, answer).await,
                }
            }
            Err(stream) => self.http1(patient(stream), false, plain).await,
        }
    }

    /// Speaks HTTP/1.1, for one request alone unless `stays`.
    async fn http1<A: Future<Output = Response> + Send + 'static>(
        self,
        stream: impl AsyncRead + AsyncWrite + Socket + Unpin + Send + 'static,
        stays: bool,
        answer: impl Fn(Request<Body>) -> A + Send + 'static,
    ) -> Ended {
        let (activity, idle, draining) = (self.activity.clone(), self.idle, self.draining.clone());
        let stream = Transport::new(stream, activity.clone());
        let hint = HeaderValue::from_str(&format!("timeout={}", idle.as_secs()))?;
        let service = service_fn(move |request| {
            let hint = (stays && may_stay(&request)).then(|| hint.clone());
            let draining = self.draining.clone();
            // `hyper` refuses a header beyond the limit once it is not complete at the limit: what it has read together may be more.
            let is_large = head_size(&request) > MAX_HEAD;
            let (request, answering) = self.begin(request);
            let answer = if is_large { Either::Left(large(request)) } else { Either::Right(answer(request)) };
            async move {
                let mut answer = answer.await.map(|body| Answer::new(body, answering, usize::MAX));
                if *draining.borrow() {
                    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                } else if let Some(hint) = hint {
                    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("keep-alive"));
                    answer.headers_mut().insert(KEEP_ALIVE, hint);
                }
                Ok::<_, Infallible>(answer)
            }
        });
        let connection = http1().keep_alive(stays).serve_connection(TokioIo::new(stream), service);
        let (goodbye, last_word) = (draining_for(draining.clone(), GOODBYE), draining_for(draining, LAST_WORD));
        let overdue = overdue(&activity, time::Instant::now(), idle);
        let mut farewell = Farewell::None;
        tokio::pin!(connection, overdue, goodbye, last_word);
        loop {
            tokio::select! {
                ended = &mut connection => return Ok(ended?),
                reason = &mut overdue => return Err(format!("the client is overdue: {reason:?}").into()),
                () = &mut goodbye, if farewell == Farewell::None => farewell = Farewell::AfterAnswer,
                () = &mut last_word, if farewell == Farewell::AfterAnswer => farewell = Farewell::AtOnce,
            }
            // The connection asks for it when it is polled next.
            activity.leave(farewell);
        }
    }

    async fn http2<A: Future<Output = Response> + Send + 'static>(
        self,
        stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
        answer: impl Fn(Request<Body>) -> A + Send + 'static,
    ) -> Ended {
        let (activity, idle, draining) = (self.activity.clone(), self.idle, self.draining.clone());
        let service = service_fn(move |mut request| {
            name_host(&mut request);
            let (request, answering) = self.begin(request);
            let answer = answer(request);
            async move { Ok::<_, Infallible>(answer.await.map(|body| Answer::new(body, answering, PIECE))) }
        });
        let connection = http2().serve_connection(TokioIo::new(stream), service);
        serve_until(connection, draining, &activity, idle).await
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
    // What is overdue is known here.
    http.header_read_timeout(None).max_buf_size(MAX_HEAD);
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

/// Returns `true` if the connection of a request may take another one: HTTP/1.1, and the client does not close it.
fn may_stay<B>(request: &Request<B>) -> bool {
    let options =
        request.headers().get_all(CONNECTION).iter().flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    request.version() == Version::HTTP_11
        && !options.into_iter().any(|option| option.trim_ascii().eq_ignore_ascii_case(b"close"))
}

/// Completes when the listener has been shut down for some time.
async fn draining_for(mut draining: watch::Receiver<bool>, time: Duration) {
    // The sender lives for as long as there are connections.
    drop(draining.wait_for(|is_draining| *is_draining).await);
    time::sleep(time).await;
}

/// Serves a connection of HTTP/2 until it ends. It takes no further requests once the listener drains, or once its client is
/// overdue; when that is so for the second time, the connection is closed.
async fn serve_until<C>(
    connection: C,
    mut draining: watch::Receiver<bool>,
    activity: &Activity,
    mut idle: Duration,
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
            _ = draining.wait_for(|is_draining| *is_draining), if !leaving => {}
            reason = overdue(activity, since, idle) => if leaving || reason == Overdue::Reading {
                return Err(format!("the client is overdue: {reason:?}").into());
            },
        }
        connection.as_mut().graceful_shutdown();
        (since, idle, leaving) = (time::Instant::now(), HEADER_TIMEOUT, true);
    }
}

/// Action that a client has not taken in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overdue {
    /// Sent a request.
    Request,
    /// Taken more of an answer.
    Reading,
}

/// Completes when a client is overdue. It has [`HEADER_TIMEOUT`] for a header, of which the first one is expected at once,
/// and `idle` for a request after an answer, both since `since` at the earliest, and [`WRITE_TIMEOUT`] to take something of
/// an answer.
async fn overdue(activity: &Activity, since: time::Instant, idle: Duration) -> Overdue {
    loop {
        let now = time::Instant::now();
        let (due, reason) = match activity.wait() {
            Wait::Header(begun) => (begun.max(since) + HEADER_TIMEOUT, Some(Overdue::Request)),
            Wait::Request(last) => (last.max(since) + idle, Some(Overdue::Request)),
            Wait::Reading(progress) => (progress + WRITE_TIMEOUT, Some(Overdue::Reading)),
            Wait::Nothing => (now + HEADER_TIMEOUT, None),
        };
        match reason {
            Some(reason) if due <= now => return reason,
            _ => time::sleep_until(due).await,
        }
    }
}

/// Has a request of HTTP/2 name its host as one of HTTP/1.1 does: in `Host` instead of the target (RFC 9113, 8.3.1). One
/// that names two different hosts keeps both, for which it is refused.
fn name_host<B>(request: &mut Request<B>) {
    let authority = request.uri().authority().and_then(|authority| HeaderValue::from_str(authority.as_str()).ok());
    if let Some(authority) = authority
        && !request.headers().get(HOST).is_some_and(|host| is_same_host(host, &authority))
    {
        request.headers_mut().append(HOST, authority);
    }
    if let Some(target) = request.uri().path_and_query() {
        *request.uri_mut() = Uri::from(target.clone());
    }
}

/// Returns `true` if two values of `Host` name one server over TLS.
fn is_same_host(one: &HeaderValue, other: &HeaderValue) -> bool {
    let [one, other] = [one, other].map(|host| Authority::read(host.to_str().ok()?).ok());
    one.zip(other).is_some_and(|(one, other)| one.is_same(&other, 443))
}

/// Answers a request over plain HTTP where TLS is spoken.
async fn plain(request: Request<Body>) -> Response {
    refused(request, || Refusal::new(Code::InvalidRequest, "This listener requires TLS.").accepting("an https URL"))
        .await
}

/// Answers a request whose head is too large.
async fn large(request: Request<Body>) -> Response {
    let mut answer = refused(request, too_large_head).await;
    *answer.status_mut() = StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE;
    answer
}

async fn refused(request: Request<Body>, refusal: fn() -> Refusal) -> Response {
    let router = ucp_rest::refusing(Router::new(), Origins::default(), refusal);
    router.oneshot(request).await.unwrap_or_else(|never| match never {})
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
            tracing::warn!(%error, connections = fewer, "file descriptors run short; closing idle connections");
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
        tracing::error!(%error, "accepting connections failed");
    }
}
