//! Scripted TCP servers on this machine: well-behaved ones, and those that hang, lie, flood or break off.
//!
//! A [`Host`] runs one behavior for each connection, on the runtime of the test, and ends with it. A behavior reads
//! requests from its [`Peer`] and writes any bytes. The host records connections, requests and bytes written.

use std::{
    future::Future,
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use http::{HeaderName, HeaderValue, StatusCode};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, ToSocketAddrs},
};

use crate::locked;

/// First byte of a TLS handshake.
const TLS: u8 = 0x16;

/// A request that a host received.
pub type Request = http::Request<Vec<u8>>;

/// A scripted server. Clones refer to the same server.
#[derive(Clone, Debug)]
pub struct Host {
    address: SocketAddr,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    connections: AtomicUsize,
    requests: Mutex<Vec<Request>>,
    written: AtomicU64,
}

impl Host {
    /// Starts a host at a free port that runs `behaviour` on every connection.
    ///
    /// The connection is closed when `behaviour` ends. Its error is ignored: clients often hang up on hosts. Panics if
    /// there is no free port.
    pub async fn start<F, R>(behaviour: F) -> Self
    where
        F: Fn(Peer) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<()>> + Send + 'static,
    {
        Self::at("127.0.0.1:0", behaviour).await
    }

    /// Starts a host like [`start`](Self::start), at a given address of this machine. Panics if the address is in use.
    pub async fn at<F, R>(address: impl ToSocketAddrs, behaviour: F) -> Self
    where
        F: Fn(Peer) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<()>> + Send + 'static,
    {
        let listener = TcpListener::bind(address).await.expect("a free port");
        let host = Self { address: listener.local_addr().expect("an address"), seen: Arc::default() };
        let serving = host.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                serving.seen.connections.fetch_add(1, Ordering::SeqCst);
                // Bytes are sent at once: a paused clock does not wait for what the system delays.
                stream.set_nodelay(true).expect("an option of every socket");
                let stream = Box::new(stream);
                tokio::spawn(behaviour(Peer { stream, buffer: Vec::new(), seen: Arc::clone(&serving.seen) }));
            }
        });
        host
    }

    /// Starts a host that answers the first request of every connection with these bytes and hangs up.
    pub async fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        Self::start(move |mut peer| {
            let bytes = Arc::clone(&bytes);
            async move {
                peer.request().await?;
                peer.write(&*bytes).await
            }
        })
        .await
    }

    /// Starts a host that speaks TLS for `name` and does `behaviour` once a handshake is complete. Returns its
    /// certificate too, which is its own root, in DER.
    #[cfg(feature = "tls")]
    pub async fn encrypted<F, R>(name: &str, behaviour: F) -> (Self, Vec<u8>)
    where
        F: Fn(Peer) -> R + Send + Sync + 'static,
        R: Future<Output = io::Result<()>> + Send + 'static,
    {
        use tokio_rustls::{TlsAcceptor, rustls::ServerConfig, rustls::pki_types::PrivatePkcs8KeyDer};

        let issued = rcgen::generate_simple_self_signed([name.to_owned()]).expect("a certificate");
        let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
        let config = ServerConfig::builder().with_no_client_auth();
        let config = config.with_single_cert(vec![issued.cert.der().clone()], key.into()).expect("a configuration");
        let (acceptor, behaviour) = (TlsAcceptor::from(Arc::new(config)), Arc::new(behaviour));
        let host = Self::start(move |peer| {
            let (acceptor, behaviour) = (acceptor.clone(), Arc::clone(&behaviour));
            async move {
                let Peer { stream, buffer, seen } = peer;
                let stream = Box::new(acceptor.accept(stream).await?);
                behaviour(Peer { stream, buffer, seen }).await
            }
        });
        (host.await, issued.cert.der().to_vec())
    }

    /// Returns an address at which nothing listens. Panics if there is no free port.
    #[must_use]
    pub fn nobody() -> SocketAddr {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address")
    }

    /// Returns the address that the host listens at.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the URL of a path: `http://127.0.0.1:<port><path>`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::SeqCst)
    }

    /// Returns the requests that were read, with their bodies, in order.
    pub fn requests(&self) -> Vec<Request> {
        locked(&self.seen.requests).clone()
    }

    /// Returns the number of requests that were read, with their bodies.
    pub fn asked(&self) -> usize {
        locked(&self.seen.requests).len()
    }

    /// Returns the number of bytes written.
    pub fn written(&self) -> u64 {
        self.seen.written.load(Ordering::SeqCst)
    }
}

/// A connection, encrypted or not.
trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// One connection of a [`Host`]. Everything fails if the client hangs up, or does not speak HTTP.
pub struct Peer {
    stream: Box<dyn Stream>,
    /// Bytes that were read after the last request.
    buffer: Vec<u8>,
    seen: Arc<Seen>,
}

ucp_core::opaque!(Peer);

impl Peer {
    /// Reads the next request, with its body.
    pub async fn request(&mut self) -> io::Result<Request> {
        let head = loop {
            if let Some(end) = self.buffer.windows(4).position(|end| end == b"\r\n\r\n") {
                break self.buffer.drain(..end + 4).collect::<Vec<_>>();
            }
            self.read().await?;
        };
        let (mut request, length) = parse(&head).ok_or_else(|| io::Error::other("no HTTP"))?;
        while self.buffer.len() < length {
            self.read().await?;
        }
        *request.body_mut() = self.buffer.drain(..length).collect();
        locked(&self.seen.requests).push(request.clone());
        Ok(request)
    }

    /// Reads the head of the next request and leaves the body unread: hanging up then resets the connection.
    ///
    /// A client that speaks TLS gets the status 400 in plain text, and the connection is closed.
    pub async fn head(&mut self) -> io::Result<Request> {
        let mut head = std::mem::take(&mut self.buffer);
        while !head.ends_with(b"\r\n\r\n") {
            head.push(self.stream.read_u8().await?);
            if head == [TLS] {
                self.answer(400, &[], "").await?;
                self.finish().await?;
            }
        }
        parse(&head).map(|(request, _)| request).ok_or_else(|| io::Error::other("no HTTP"))
    }

    /// Reads the body of a request whose [head](Self::head) was read.
    pub async fn body(&mut self, mut request: Request) -> io::Result<Request> {
        let length = request.headers().get("content-length").and_then(|length| length.to_str().ok()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        self.stream.read_exact(&mut body).await?;
        *request.body_mut() = body;
        locked(&self.seen.requests).push(request.clone());
        Ok(request)
    }

    async fn read(&mut self) -> io::Result<()> {
        match self.stream.read_buf(&mut self.buffer).await? {
            0 => Err(io::ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    /// Writes raw bytes.
    pub async fn write(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref()).await?;
        self.stream.flush().await?;
        self.seen.written.fetch_add(bytes.as_ref().len() as u64, Ordering::SeqCst);
        Ok(())
    }

    /// Writes a response with `Content-Length`.
    pub async fn answer(&mut self, status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> io::Result<()> {
        self.write(answer(status, headers, body)).await
    }

    /// Ends the connection from this side, and waits until the client hangs up too.
    pub async fn finish(&mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        self.hangs_up().await
    }

    /// Waits until the client hangs up.
    pub async fn hangs_up(&mut self) -> io::Result<()> {
        while self.stream.read(&mut [0; 1_024]).await? > 0 {}
        Ok(())
    }

    /// Forwards the connection in both directions to the server at another address. Fails if connecting fails or one of
    /// the two connections breaks.
    pub async fn forward(mut self, address: impl ToSocketAddrs) -> io::Result<()> {
        let mut behind = TcpStream::connect(address).await?;
        tokio::io::copy_bidirectional(&mut self.stream, &mut behind).await.map(drop)
    }
}

/// Returns the bytes of a response with `Content-Length`.
#[must_use]
pub fn answer(status: u16, headers: &[(&str, &str)], body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    let reason = StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("Whatever");
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let mut bytes =
        format!("HTTP/1.1 {status} {reason}\r\ncontent-length: {}\r\n{headers}\r\n", body.len()).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

/// Parses the head of a request; returns it with the length of its body. `None` if it is not HTTP.
fn parse(head: &[u8]) -> Option<(Request, usize)> {
    let mut lines = std::str::from_utf8(head).ok()?.trim_end().lines();
    let mut first = lines.next()?.split(' ');
    let mut request = Request::default();
    *request.method_mut() = first.next()?.parse().ok()?;
    *request.uri_mut() = first.next()?.parse().ok()?;
    for line in lines {
        let (name, value) = line.split_once(':')?;
        let name: HeaderName = name.parse().ok()?;
        request.headers_mut().append(name, HeaderValue::from_str(value.trim()).ok()?);
    }
    let length = request.headers().get("content-length");
    let length = length.map_or(Some(0), |length| length.to_str().ok()?.parse().ok())?;
    Some((request, length))
}
