//! The provider behind a port of the loopback interface.
//!
//! A thread for each connection, and no runtime: it runs wherever a test does. Beside the protocol it answers to its
//! tests: `POST /fake/faults` takes an order as text, `GET /fake/report` answers with everything that happened.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read as _, Write as _},
    net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use socket2::SockRef;

use crate::{
    fault::{Fault, Order},
    psp::{Keys, Psp, Report, Request},
    reply::Reply,
    stripe::Stripe,
};

/// Timeout of a silent connection, and duration of a request that hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Interval at which waiting threads check whether the provider stops.
const TICK: Duration = Duration::from_millis(20);

/// The largest request that is read, in bytes.
const MAX_BODY: usize = 1 << 20;

/// Options of a provider.
pub struct Options {
    /// Credentials of the gateway.
    pub keys: Keys,
    /// The file that survives a crash.
    pub journal: Option<PathBuf>,
    /// The port; 0 for any that is free.
    pub port: u16,
    /// URL scheme that others see: `https` if a proxy in front of it speaks TLS.
    pub scheme: &'static str,
    /// After how long a [late](Fault::Late) request is carried out.
    pub late: Duration,
    /// Duration of a [slow](Fault::Slow) response.
    pub slow: Duration,
}

impl Options {
    /// A provider on any free port, without a journal.
    #[must_use]
    pub fn new(keys: Keys) -> Self {
        let moment = Duration::from_millis(300);
        Self { keys, journal: None, port: 0, scheme: "http", late: moment, slow: moment }
    }
}

/// A provider, without a port.
pub trait Provider: Send + Sync + 'static {
    /// Returns the fault to produce for this request, if any, and counts one use of its order.
    fn fault(&self, request: &Request) -> Option<Fault>;

    /// Carries a request out and answers it.
    fn answer(&self, request: &Request) -> Reply;

    /// Orders to misbehave at the next request of a step.
    fn inject(&self, order: Order);

    /// Everything that happened.
    fn report(&self) -> Report;

    /// Answers the browser of a buyer, if the request comes from one.
    fn page(&self, request: &Request) -> Option<Reply>;
}

macro_rules! providers {
    ($($provider:ty),+) => {
        $(impl Provider for $provider {
            fn fault(&self, request: &Request) -> Option<Fault> {
                self.fault(request)
            }

            fn answer(&self, request: &Request) -> Reply {
                self.answer(request)
            }

            fn inject(&self, order: Order) {
                self.inject(order);
            }

            fn report(&self) -> Report {
                self.report()
            }

            fn page(&self, request: &Request) -> Option<Reply> {
                self.page(request)
            }
        })+
    };
}

providers!(Psp, Stripe);

struct Shared<P> {
    psp: P,
    scheme: &'static str,
    late: Duration,
    slow: Duration,
    stopping: AtomicBool,
}

/// A running provider. Stops when it is dropped; requests that are late are not carried out after that.
pub struct Server<P> {
    address: SocketAddr,
    shared: Arc<Shared<P>>,
}

/// A provider of the gateway's own protocol.
pub type FakePsp = Server<Psp>;

/// A provider that speaks as Stripe does.
pub type FakeStripe = Server<Stripe>;

impl FakePsp {
    /// Starts a provider on the loopback interface.
    pub fn start(options: Options) -> io::Result<Self> {
        let Options { keys, journal, port, scheme, late, slow } = options;
        Self::serving(Psp::new(keys, journal.as_deref())?, port, scheme, late, slow)
    }
}

impl FakeStripe {
    /// Starts Stripe on the loopback interface. The signing secret is not used.
    pub fn start(options: Options) -> io::Result<Self> {
        let Options { keys, journal, port, scheme, late, slow } = options;
        Self::serving(Stripe::new(keys.api_key, journal.as_deref())?, port, scheme, late, slow)
    }
}

impl<P: Provider> Server<P> {
    fn serving(psp: P, port: u16, scheme: &'static str, late: Duration, slow: Duration) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared { psp, scheme, late, slow, stopping: AtomicBool::new(false) });
        let accepting = Arc::clone(&shared);
        thread::spawn(move || {
            for connection in listener.incoming() {
                if accepting.stopping.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(connection) = connection else { continue };
                let shared = Arc::clone(&accepting);
                thread::spawn(move || {
                    // Whoever breaks off a connection does not have to be told.
                    let _ = shared.serve(connection);
                });
            }
        });
        Ok(Self { address, shared })
    }

    /// Its address, `http://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The provider itself, to ask what happened and to order faults.
    pub fn psp(&self) -> &P {
        &self.shared.psp
    }
}

impl<P> Drop for Server<P> {
    fn drop(&mut self) {
        self.shared.stopping.store(true, Ordering::SeqCst);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
    }
}

impl<P: Provider> Shared<P> {
    /// Waits, unless the provider stops first. Whether it still runs.
    fn wait(&self, time: Duration) -> bool {
        let mut waited = Duration::ZERO;
        while waited < time && !self.stopping.load(Ordering::SeqCst) {
            thread::sleep(TICK);
            waited += TICK;
        }
        !self.stopping.load(Ordering::SeqCst)
    }

    fn serve(self: &Arc<Self>, connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        connection.set_read_timeout(Some(PATIENCE))?;
        let mut reader = BufReader::new(connection);
        while let Some(request) = read(&mut reader, self.scheme)? {
            let connection = reader.get_mut();
            if let Some(reply) = self.control(&request) {
                write(connection, &reply)?;
                continue;
            }
            let fault = self.psp.fault(&request);
            if fault == Some(Fault::Late) {
                let (late, request) = (Arc::clone(self), request.clone());
                thread::spawn(move || {
                    if late.wait(late.late) {
                        let _ = late.psp.answer(&request);
                    }
                });
            }
            let reply = match fault {
                None => self.psp.answer(&request),
                Some(fault) if fault.acts() => fault.spoil(self.psp.answer(&request)),
                Some(fault) => fault.spoil(Reply { status: 500, body: String::new() }),
            };
            match fault {
                Some(Fault::HangBefore | Fault::HangAfter) => {
                    self.wait(PATIENCE);
                    return Ok(());
                }
                Some(Fault::ResetBefore | Fault::ResetAfter | Fault::Late) => {
                    return SockRef::from(&*connection).set_linger(Some(Duration::ZERO));
                }
                Some(Fault::Truncated) => {
                    let whole = text(&reply);
                    return connection.write_all(&whole.as_bytes()[..whole.len() - reply.body.len() / 2 - 1]);
                }
                Some(Fault::Slow) => {
                    self.wait(self.slow);
                    write(connection, &reply)?;
                }
                _ => write(connection, &reply)?,
            }
        }
        Ok(())
    }

    /// Answers what only tests ask.
    fn control(&self, request: &Request) -> Option<Reply> {
        let path = request.url.splitn(4, '/').nth(3)?;
        match (request.method.as_str(), path) {
            ("GET", "fake/report") => {
                let report = serde_json::to_string(&self.psp.report()).ok()?;
                Some(Reply { status: 200, body: report })
            }
            ("POST", "fake/faults") => {
                let order = String::from_utf8_lossy(&request.body).trim().parse::<Order>();
                Some(match order {
                    Ok(order) => {
                        self.psp.inject(order);
                        Reply { status: 200, body: "{}".into() }
                    }
                    Err(error) => Reply::error(400, "no_order", &error.to_string()),
                })
            }
            _ => self.psp.page(request),
        }
    }
}

/// Reads a request; `None` at the end of the connection.
fn read(reader: &mut BufReader<TcpStream>, scheme: &str) -> io::Result<Option<Request>> {
    let wrong = |what: &str| io::Error::new(io::ErrorKind::InvalidData, what.to_owned());
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_whitespace();
    let (Some(method), Some(path)) = (words.next(), words.next()) else {
        return Err(wrong("no request line"));
    };
    let (method, path) = (method.to_owned(), path.to_owned());
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Err(wrong("no end of the headers"));
        }
        match line.trim_end().split_once(':') {
            Some((name, value)) => headers.insert(name.to_ascii_lowercase(), value.trim().to_owned()),
            None => break,
        };
    }
    let length = headers.get("content-length").map_or(Ok(0), |length| length.parse::<usize>());
    let length = length.ok().filter(|length| *length <= MAX_BODY).ok_or_else(|| wrong("no usable length"))?;
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let host = headers.get("host").cloned().unwrap_or_default();
    Ok(Some(Request { method, url: format!("{scheme}://{host}{path}"), headers, body }))
}

fn text(reply: &Reply) -> String {
    if reply.status == 303 {
        return format!("HTTP/1.1 303 Fake\r\nlocation: {}\r\ncontent-length: 0\r\n\r\n", reply.body);
    }
    let kind = if reply.body.starts_with("<!doctype") { "text/html" } else { "application/json" };
    format!(
        "HTTP/1.1 {} Fake\r\ncontent-type: {kind}\r\n{}content-length: {}\r\n\r\n{}",
        reply.status,
        if reply.status == 307 { "location: /payments\r\n" } else { "" },
        reply.body.len(),
        reply.body
    )
}

fn write(connection: &mut TcpStream, reply: &Reply) -> io::Result<()> {
    connection.write_all(text(reply).as_bytes())
}
