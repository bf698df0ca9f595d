//! Platforms that want to hear about their orders: their profiles, and a receiver that misbehaves and writes down what
//! came in.

use std::{
    collections::HashMap,
    fmt,
    fs::File,
    io::Write as _,
    path::Path,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use ucp_testkit::{
    host::Request,
    server::{Answer, Canary, Server},
};

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

/// Treatment of a webhook by the receiver.
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

/// Maximum number of times that a webhook is treated badly. Each time its next try is twice as far away.
const BAD: u64 = 2;

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
    fn of(platform: &str, request: &Request) -> Self {
        let text = |value: &http::HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
        Self {
            platform: platform.to_owned(),
            start: format!("{} {} {:?}", request.method(), request.uri(), request.version()),
            headers: request.headers().iter().map(|(name, value)| (name.to_string(), text(value))).collect(),
            body: request.body().clone(),
        }
    }

    /// A header field, which is there once.
    pub(crate) fn header(&self, name: &str) -> Result<&str, String> {
        let mut found = self.headers.iter().filter(|(known, _)| known == name);
        match (found.next(), found.next()) {
            (Some((_, value)), None) => Ok(value),
            _ => Err(format!("a webhook has `{name}` not once: {:?}", self.headers)),
        }
    }
}

/// Note of the receiver; its notes are in the order in which things happened.
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
    server: Server,
    inner: Arc<HostState>,
}

struct HostState {
    notes: Mutex<Notes>,
    random: Mutex<Random>,
    misbehaving: AtomicBool,
    /// Number of times that each webhook may still be treated badly.
    patience: Mutex<HashMap<String, u64>>,
    elsewhere: Canary,
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
        let log = File::create(folder.join("webhooks.jsonl")).expect("a file");
        let inner = Arc::new(HostState {
            notes: Mutex::new(Notes { entries: Vec::new(), log }),
            random: Mutex::new(Random::new(seed)),
            misbehaving: AtomicBool::new(false),
            patience: Mutex::default(),
            elsewhere: Canary::start(),
        });
        let (choosing, answering) = (Arc::clone(&inner), Arc::clone(&inner));
        let server = Server::choosing(
            move |head| choosing.treatment(head),
            move |request, treatment| answering.answer(request, treatment),
        );
        Self { server, inner }
    }

    /// Returns the profile URL of a platform, which identifies it.
    pub(crate) fn profile(&self, platform: Platform) -> String {
        self.server.url(&format!("/{}", platform.name))
    }

    /// Says whether webhooks are treated badly from now on.
    pub(crate) fn misbehave(&self, bad: bool) {
        self.inner.misbehaving.store(bad, Ordering::SeqCst);
    }

    /// Returns the notes so far.
    pub(crate) fn notes(&self) -> Vec<Entry> {
        lock(&self.inner.notes).entries.clone()
    }

    /// Returns the number of visits to the address that redirects name, since the last call.
    pub(crate) fn misled(&self) -> usize {
        self.inner.elsewhere.visits()
    }
}

impl HostState {
    /// Returns the treatment of a request; `None` if it is not even read.
    fn treatment(&self, head: &Request) -> Option<Treatment> {
        if head.method() == "GET" {
            return Some(Treatment::Answer(200));
        }
        let id = head.headers().get("webhook-id").and_then(|id| id.to_str().ok()).unwrap_or_default();
        Some(self.chosen(id)).filter(|treatment| !matches!(treatment, Treatment::Unread))
    }

    fn answer(&self, request: &Request, treatment: Treatment) -> Answer {
        let name = request.uri().path().split('/').nth(1).unwrap_or_default();
        if request.method() == "GET" {
            let platform = PLATFORMS.iter().find(|platform| platform.name == name);
            let host = request.headers().get("host").and_then(|host| host.to_str().ok()).unwrap_or_default();
            return platform.map_or(Answer::status(404), |platform| Answer::json(&platform.document(host)));
        }
        let arrival = self.note(Entry::Arrived(Arrival::of(name, request)));
        self.treat(arrival, treatment)
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

    fn chosen(&self, id: &str) -> Treatment {
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

    /// Carries a treatment out, as far as that is not for the server to do.
    fn treat(&self, arrival: usize, treatment: Treatment) -> Answer {
        let status = match treatment {
            Treatment::Answer(status) | Treatment::HalfAnswer(status) | Treatment::Redirect(status) => status,
            Treatment::HalfHead => return Answer::Bytes(b"HTTP/1.1 200 OK\r\nContent-Le".into()),
            Treatment::Silence => return Answer::Silence,
            Treatment::HangUp | Treatment::Unread => return Answer::HangUp,
        };
        self.note(Entry::Answered { arrival, status });
        match treatment {
            Treatment::HalfAnswer(_) => {
                Answer::Bytes(format!("HTTP/1.1 {status} X\r\nContent-Length: 100\r\n\r\n{{").into())
            }
            Treatment::Redirect(_) => {
                Answer::Whole(status, vec![format!("Location: {}", self.elsewhere.url())], Vec::new())
            }
            _ if lock(&self.random).percent(50) => Answer::Kept(status, Vec::new(), Vec::new()),
            _ => Answer::status(status),
        }
    }
}

impl Platform {
    /// Its profile.
    fn document(self, host: &str) -> Value {
        let Self { name, release, .. } = self;
        let entry = |config: Value| json!([{ "version": release, "config": config }]);
        let webhook_url = format!("http://{host}/{name}/orders?of=ucp");
        json!({ "ucp": { "version": release, "capabilities": {
            "dev.ucp.shopping.cart": entry(json!({})),
            "dev.ucp.shopping.checkout": entry(json!({})),
            "dev.ucp.shopping.fulfillment": entry(json!({})),
            "dev.ucp.shopping.order": entry(json!({ "webhook_url": webhook_url })),
        } } })
    }
}
