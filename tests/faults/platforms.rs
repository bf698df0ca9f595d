//! Platforms that want to hear about their orders: their profiles, and a receiver that misbehaves and writes down what
//! came in.

use std::{
    collections::HashMap,
    fmt,
    fs::File,
    io::{self, Read as _, Write as _},
    net::{Shutdown, SocketAddr, TcpListener, TcpStream},
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use crate::random::Random;

/// A platform: its name, the release it speaks, and the endpoints of that release.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Platform {
    pub(crate) name: &'static str,
    release: &'static str,
    pub(crate) endpoints: &'static str,
}

/// One of each form that webhooks have.
pub(crate) const PLATFORMS: &[Platform] = &[
    Platform { name: "august", release: "2026-08-25", endpoints: "/ucp/2026-08-25" },
    Platform { name: "april", release: "2026-04-08", endpoints: "/ucp/2026-04-08" },
    Platform { name: "january", release: "2026-01-23", endpoints: "/ucp/2026-01-23" },
];

/// How the receiver treats a webhook.
#[derive(Clone, Copy, Debug)]
enum Treatment {
    /// It answers with this status.
    Answer(u16),
    /// It answers with this status, and breaks off in the middle of the body.
    HalfAnswer(u16),
    /// It takes the webhook, and breaks off in the middle of the head of its answer.
    HalfHead,
    /// It takes the webhook, and hangs up.
    HangUp,
    /// It takes the webhook, and says nothing for as long as somebody waits.
    Silence,
    /// It says that somebody else is to be told.
    Redirect(u16),
    /// It resets the connection before it has read the webhook.
    Unread,
}

const FAULTS: &[Treatment] = &[
    Treatment::Answer(500),
    Treatment::Answer(503),
    Treatment::Answer(404),
    Treatment::HalfHead,
    Treatment::HangUp,
    Treatment::HangUp,
    Treatment::Silence,
    Treatment::Redirect(301),
    Treatment::Redirect(302),
    Treatment::Redirect(307),
    Treatment::Redirect(308),
    Treatment::Unread,
];

/// How often a webhook is treated badly at most. Each time its next try is twice as far away.
const BAD: u64 = 2;

/// How long the receiver waits for the other side to hang up.
const WAIT: Duration = Duration::from_secs(5);

/// A webhook that came in whole.
#[derive(Clone)]
pub(crate) struct Arrival {
    pub(crate) platform: String,
    /// The line with the method and the path.
    pub(crate) start: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl fmt::Debug for Arrival {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let body = String::from_utf8_lossy(&self.body);
        f.debug_struct("Arrival")
            .field("start", &self.start)
            .field("headers", &self.headers)
            .field("body", &body)
            .finish()
    }
}

impl Arrival {
    /// A header field, which is there once.
    pub(crate) fn header(&self, name: &str) -> Result<&str, String> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Ok(value),
            _ => Err(format!("a webhook has `{name}` not once: {:?}", self.headers)),
        }
    }
}

/// What the receiver wrote down, in the order in which it happened.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    Arrived(Arrival),
    /// The answer to an earlier entry is about to be sent.
    Answered {
        /// The place of that entry.
        arrival: usize,
        status: u16,
    },
}

/// The platforms, on this machine, and somebody whom nobody may be sent to.
pub(crate) struct Platforms {
    address: SocketAddr,
    inner: Arc<Inner>,
}

struct Inner {
    notes: Mutex<Notes>,
    random: Mutex<Random>,
    misbehaving: AtomicBool,
    /// How often each webhook may still be treated badly.
    patience: Mutex<HashMap<String, u64>>,
    /// Somebody else, and how many came there.
    elsewhere: SocketAddr,
    misled: Arc<AtomicUsize>,
}

struct Notes {
    entries: Vec<Entry>,
    log: File,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Platforms {
    /// Starts them. What comes in is written into `folder`, too.
    pub(crate) fn start(folder: &Path, seed: u64) -> Self {
        let elsewhere = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let misled = Arc::new(AtomicUsize::new(0));
        let log = File::create(folder.join("webhooks.jsonl")).expect("a file");
        let inner = Arc::new(Inner {
            notes: Mutex::new(Notes { entries: Vec::new(), log }),
            random: Mutex::new(Random::new(seed)),
            misbehaving: AtomicBool::new(false),
            patience: Mutex::default(),
            elsewhere: elsewhere.local_addr().expect("an address"),
            misled: Arc::clone(&misled),
        });
        thread::spawn(move || {
            elsewhere.incoming().for_each(|_| {
                misled.fetch_add(1, Ordering::SeqCst);
            });
        });
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("an address");
        let attending = Arc::clone(&inner);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let inner = Arc::clone(&attending);
                // Whoever is killed in the middle of it is no failure of the receiver.
                thread::spawn(move || inner.attend(stream, address).ok());
            }
        });
        Self { address, inner }
    }

    /// Where the profile of a platform is, which is who it is.
    pub(crate) fn profile(&self, platform: Platform) -> String {
        format!("http://{}/{}", self.address, platform.name)
    }

    /// Says whether webhooks are treated badly from now on.
    pub(crate) fn misbehave(&self, bad: bool) {
        self.inner.misbehaving.store(bad, Ordering::SeqCst);
    }

    /// What was written down so far.
    pub(crate) fn notes(&self) -> Vec<Entry> {
        lock(&self.inner.notes).entries.clone()
    }

    /// How many visited the address that redirects name.
    pub(crate) fn misled(&self) -> usize {
        self.inner.misled.load(Ordering::SeqCst)
    }
}

impl Inner {
    fn attend(&self, mut stream: TcpStream, address: SocketAddr) -> io::Result<()> {
        stream.set_read_timeout(Some(WAIT))?;
        stream.set_nodelay(true)?;
        while self.attend_one(&mut stream, address)? {}
        Ok(())
    }

    /// Takes a request. Whether another one may come over the same connection.
    fn attend_one(&self, stream: &mut TcpStream, address: SocketAddr) -> io::Result<bool> {
        // Byte by byte, so that the body is still unread then.
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte)?;
            head.extend(byte);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        let mut lines = head.split("\r\n");
        let start = lines.next().unwrap_or_default().to_owned();
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let path = start.split(' ').nth(1).unwrap_or_default();
        let name = path.split('/').nth(1).unwrap_or_default().to_owned();
        let platform = PLATFORMS.iter().find(|platform| platform.name == name);
        if start.starts_with("GET ") {
            let (status, body) = match platform {
                Some(platform) => (200, platform.document(address).to_string()),
                None => (404, String::new()),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n");
            stream.write_all(format!("{head}Connection: close\r\n\r\n{body}").as_bytes())?;
            stream.shutdown(Shutdown::Write)?;
            return Ok(false);
        }
        let header = |name: &str| headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let treatment = self.treatment(&header("webhook-id").unwrap_or_default());
        if matches!(treatment, Treatment::Unread) {
            return Ok(false);
        }
        let mut body = vec![0; header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0)];
        stream.read_exact(&mut body)?;
        let arrival = self.note(Entry::Arrived(Arrival { platform: name, start, headers, body }));
        self.treat(stream, arrival, treatment)
    }

    /// Writes an entry down, and gives its place.
    fn note(&self, entry: Entry) -> usize {
        let mut notes = lock(&self.notes);
        let line = match &entry {
            Entry::Arrived(Arrival { platform, start, headers, body }) => json!({
                "entry": notes.entries.len(), "platform": platform, "start": start, "headers": headers,
                "body": String::from_utf8_lossy(body),
            }),
            Entry::Answered { arrival, status } => json!({ "answered": arrival, "status": status }),
        };
        writeln!(notes.log, "{line}").expect("the notes are written");
        notes.entries.push(entry);
        notes.entries.len() - 1
    }

    fn treatment(&self, id: &str) -> Treatment {
        let random = lock(&self.random);
        if !self.misbehaving.load(Ordering::SeqCst) {
            return Treatment::Answer(204);
        }
        let mut patience = lock(&self.patience);
        let left = patience.entry(id.to_owned()).or_insert_with(|| random.below(BAD + 1));
        if *left > 0 {
            *left -= 1;
            return random.of(FAULTS);
        }
        match random.below(20) {
            0 => Treatment::Answer(410),
            1 => Treatment::HalfAnswer(200),
            _ => Treatment::Answer(random.of(&[200, 202, 204])),
        }
    }

    fn treat(&self, stream: &mut TcpStream, arrival: usize, treatment: Treatment) -> io::Result<bool> {
        let mut answer = |status: u16, more: &str| {
            self.note(Entry::Answered { arrival, status });
            stream.write_all(format!("HTTP/1.1 {status} X\r\n{more}").as_bytes())
        };
        match treatment {
            Treatment::Answer(status) if lock(&self.random).percent(50) => {
                answer(status, "Content-Length: 0\r\n\r\n")?;
                return Ok(true);
            }
            Treatment::Answer(status) => answer(status, "Content-Length: 0\r\nConnection: close\r\n\r\n")?,
            Treatment::HalfAnswer(status) => answer(status, "Content-Length: 100\r\n\r\n{")?,
            Treatment::Redirect(status) => {
                let location = format!("Location: http://{}/orders\r\nContent-Length: 0\r\n", self.elsewhere);
                answer(status, &format!("{location}Connection: close\r\n\r\n"))?;
            }
            Treatment::HalfHead => stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Le")?,
            Treatment::Silence => {}
            Treatment::HangUp | Treatment::Unread => return Ok(false),
        }
        // The other side has to have read it all before the connection goes.
        if !matches!(treatment, Treatment::Silence) {
            stream.shutdown(Shutdown::Write)?;
        }
        stream.read_to_end(&mut Vec::new())?;
        Ok(false)
    }
}

impl Platform {
    /// Its profile.
    fn document(self, address: SocketAddr) -> Value {
        let Self { name, release, .. } = self;
        let entry = |config: Value| json!([{ "version": release, "config": config }]);
        let webhook_url = format!("http://{address}/{name}/orders?of=ucp");
        json!({ "ucp": { "version": release, "capabilities": {
            "dev.ucp.shopping.checkout": entry(json!({})),
            "dev.ucp.shopping.fulfillment": entry(json!({})),
            "dev.ucp.shopping.order": entry(json!({ "webhook_url": webhook_url })),
        } } })
    }
}
