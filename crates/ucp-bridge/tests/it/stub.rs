//! A shop that answers what it is told to, and remembers what it was asked; and a bridge to it.

use std::{
    collections::{HashMap, VecDeque},
    io,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use http::{HeaderMap, Method};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;
use ucp_bridge::{Bridge, Options, SetupError, profile::Transport};
use ucp_core::{
    Operation, Refusal, Release, checkout,
    message::Message,
    negotiation::Active,
    operation::SupportedOperations,
    ports::{
        ForwardedAnswer, ForwardedCall, PortError, Trace, UcpUpstream as _,
        caller::{BuyerSignals, Caller},
        mandate_verifier::MandateVerifier,
        owners::{Kind, Owned, Owner, Owners},
    },
    purchase::mandate::{Evidence, Mandate},
};
use ucp_net::coalescing::Capacity;
use ucp_testkit::{Host, MemoryLedger, host::Peer};
use ucp_trust::signature::SigningKey;
use ucp_wire::{dialect::offered, offer::Offer, releases::dialect, site::Site};
use url::Url;

/// When everything happens.
pub(crate) fn now() -> Timestamp {
    "2026-11-22T12:00:00Z".parse().expect("a time")
}

/// A request that the shop got.
#[derive(Clone, Debug)]
pub(crate) struct Got {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Value,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Reaction of the shop to a request.
pub(crate) enum Act {
    /// It answers.
    Say(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// It sends the beginning of an answer and goes away.
    BreakOff(&'static str),
    /// It says this, piece by piece, and nothing more, but does not hang up.
    Stream(Vec<String>),
    /// It takes its time.
    Never,
}

impl Act {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Say(status, vec![("content-type", "application/json".to_owned())], body.to_string().into_bytes())
    }

    pub(crate) fn with(self, name: &'static str, value: &str) -> Self {
        match self {
            Self::Say(status, mut headers, body) => {
                headers.retain(|(known, _)| *known != name);
                headers.push((name, value.to_owned()));
                Self::Say(status, headers, body)
            }
            other => other,
        }
    }

    pub(crate) fn text(status: u16, media_type: &str, text: &str) -> Self {
        Self::Say(status, vec![("content-type", media_type.to_owned())], text.as_bytes().to_vec())
    }
}

type Acting = Box<dyn FnMut(&Got) -> Act + Send>;

struct StubState {
    got: Vec<Got>,
    script: VecDeque<Acting>,
    usual: Acting,
    profile: Value,
    profile_fetches: usize,
}

/// The shop.
#[derive(Clone)]
pub(crate) struct Stub {
    inner: Arc<Mutex<StubState>>,
    pub(crate) address: SocketAddr,
}

impl Stub {
    /// A shop of a release that has everything, over both transports.
    pub(crate) async fn of(release: Release) -> Self {
        Self::offering(release, &SupportedOperations::everything(), &[]).await
    }

    pub(crate) async fn offering(release: Release, offering: &SupportedOperations, keys: &[Value]) -> Self {
        let usual: Acting = Box::new(|got| panic!("nobody said what to answer to {got:?}"));
        let inner =
            StubState { got: Vec::new(), script: VecDeque::new(), usual, profile: Value::Null, profile_fetches: 0 };
        let inner = Arc::new(Mutex::new(inner));
        let own = Arc::clone(&inner);
        let host = Host::start(move |peer| serve(Arc::clone(&own), peer)).await;
        let stub = Self { inner, address: host.address() };
        let endpoint = host.url("/api");
        let profile = dialect(release).profile(&Site {
            endpoint: &endpoint,
            offering,
            names: &ucp_core::negotiation::Names::default(),
            keys,
            handlers: &[],
            supported_versions: &[],
        });
        stub.profile(profile);
        stub
    }

    fn lock(&self) -> MutexGuard<'_, StubState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn url(&self) -> Url {
        Url::parse(&format!("http://{}/", self.address)).expect("an address")
    }

    /// Does this once, after what it was told to do before.
    pub(crate) fn then(&self, act: impl FnMut(&Got) -> Act + Send + 'static) -> &Self {
        self.lock().script.push_back(Box::new(act));
        self
    }

    /// Does this whenever it was told nothing else.
    pub(crate) fn usually(&self, act: impl FnMut(&Got) -> Act + Send + 'static) -> &Self {
        self.lock().usual = Box::new(act);
        self
    }

    pub(crate) fn profile(&self, profile: Value) {
        self.lock().profile = profile;
    }

    pub(crate) fn shown(&self) -> Value {
        self.lock().profile.clone()
    }

    /// Number of requests for its profile.
    pub(crate) fn profile_fetches(&self) -> usize {
        self.lock().profile_fetches
    }

    /// Returns the requests so far, without those for the profile.
    pub(crate) fn got(&self) -> Vec<Got> {
        self.lock().got.clone()
    }
}

/// Answers the requests of a connection, one after the other.
async fn serve(inner: Arc<Mutex<StubState>>, mut peer: Peer) -> io::Result<()> {
    loop {
        let request = peer.request().await?;
        let act = {
            let mut inner = inner.lock().unwrap_or_else(PoisonError::into_inner);
            if request.uri().path() == "/.well-known/ucp" {
                inner.profile_fetches += 1;
                Act::json(200, &inner.profile)
            } else {
                let (head, body) = request.into_parts();
                let body = serde_json::from_slice(&body).unwrap_or_default();
                let got = Got { method: head.method, path: head.uri.path().to_owned(), headers: head.headers, body };
                inner.got.push(got.clone());
                match inner.script.pop_front() {
                    Some(mut act) => act(&got),
                    None => (inner.usual)(&got),
                }
            }
        };
        match act {
            Act::Say(status, headers, body) => {
                let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
                peer.answer(status, &headers, body).await?;
            }
            Act::BreakOff(text) => {
                let length = text.len() + 100;
                let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json";
                return peer.write(format!("{head}\r\ncontent-length: {length}\r\n\r\n{text}")).await;
            }
            Act::Stream(pieces) => {
                let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";
                peer.write(head).await?;
                for piece in pieces {
                    tokio::task::yield_now().await;
                    peer.write(format!("{:x}\r\n{piece}\r\n", piece.len())).await?;
                }
                return peer.hangs_up().await;
            }
            Act::Never => return peer.hangs_up().await,
        }
    }
}

/// The answer of a tool to the call that asked for it.
pub(crate) fn tool(got: &Got, document: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": got.body["id"], "result": { "structuredContent": document } })
}

/// The envelope of an answer.
pub(crate) fn ucp(release: Release) -> Value {
    json!({ "version": release.date(), "status": "success", "capabilities": {} })
}

/// Owners in memory.
#[derive(Default)]
pub(crate) struct Memory(Mutex<HashMap<(Kind, String), Owned>>);

#[async_trait]
impl Owners for Memory {
    async fn owned(&self, kind: Kind, id: &str) -> Result<Option<Owned>, PortError> {
        Ok(self.0.lock().expect("whole").get(&(kind, id.to_owned())).cloned())
    }

    async fn claim(&self, kind: Kind, id: &str, owner: &Owner, until: Timestamp) -> Result<Owner, PortError> {
        let mut owners = self.0.lock().expect("whole");
        let claimed = Owned { owner: owner.clone(), until };
        Ok(owners.entry((kind, id.to_owned())).or_insert(claimed).owner.clone())
    }

    async fn extend(&self, kind: Kind, id: &str, until: Timestamp) -> Result<(), PortError> {
        let mut owners = self.0.lock().expect("whole");
        owners.get_mut(&(kind, id.to_owned())).expect("something that belongs to somebody").until = until;
        Ok(())
    }
}

/// Options for a bridge to a shop, over one transport.
pub(crate) fn options(stub: &Stub, transport: Transport) -> Options {
    let mut call = ucp_net::Options::new("stub", stub.url());
    for limits in [&mut call.timeouts.read, &mut call.timeouts.write, &mut call.timeouts.conclude] {
        limits.answer = Duration::from_millis(400);
        limits.idle = Duration::from_millis(300);
        limits.total = Duration::from_millis(1_500);
    }
    Options {
        call,
        transport: Some(transport),
        release: None,
        token: None,
        most_ids: None,
        origins: vec![Url::parse("https://shop.example").expect("an address").origin()],
        cache: Capacity::default(),
        base: "https://gateway.example".to_owned(),
        key: Arc::new(|| None),
        now: Arc::new(now),
        ledger: Arc::new(MemoryLedger::default()),
        owners: Arc::new(Memory::default()),
        last: None,
    }
}

/// A clock that is set forward.
#[derive(Clone, Default)]
pub(crate) struct Ahead(Arc<AtomicU64>);

impl Ahead {
    pub(crate) fn by(&self, time: Duration) {
        self.0.fetch_add(time.as_secs(), Ordering::Relaxed);
    }

    /// A bridge by this clock.
    pub(crate) async fn opened(&self, options: Options) -> Bridge {
        let ahead = Arc::clone(&self.0);
        let clock = Arc::new(move || Instant::now() + Duration::from_secs(ahead.load(Ordering::Relaxed)));
        Bridge::open(options, clock, Arc::new(|| 7)).await.expect("a bridge")
    }
}

pub(crate) async fn opened(options: Options) -> Result<Bridge, SetupError> {
    Bridge::open(options, Arc::new(Instant::now), Arc::new(|| 7)).await
}

pub(crate) async fn bridge(stub: &Stub, transport: Transport) -> Bridge {
    opened(options(stub, transport)).await.expect("a bridge")
}

/// A signing key, and its public half as a profile has it.
pub(crate) fn key() -> (Arc<SigningKey>, Value) {
    let key = SigningKey::generate(ucp_trust::jwk::Algorithm::Es256).expect("a key");
    let public = key.public().to_jwk().expect("a public key");
    (Arc::new(key), public)
}

/// A platform that negotiated everything but mandates.
pub(crate) fn caller(name: &str, release: Release) -> Caller {
    declaring(name, release, |offer| !offer.signed || offer.tells)
}

/// A platform that negotiated some of what there is.
pub(crate) fn declaring(name: &str, release: Release, wants: impl Fn(&Offer) -> bool) -> Caller {
    let dialect = dialect(release);
    let declared: Vec<_> = offered(dialect, &SupportedOperations::everything())
        .filter(|offer| wants(offer))
        .map(Offer::declaration)
        .collect();
    Caller {
        owner: format!("https://{name}.example/profile"),
        active: Arc::new(
            Active::all(&declared).under(&ucp_wire::dialect::names(dialect, &ucp_core::negotiation::Names::default())),
        ),
        multi_group: false,
        buyer_signals: BuyerSignals::default(),
        customer_group: None,
        mandate_verifier: None,
    }
}

/// A call in the newest release.
pub(crate) fn call(operation: Operation, id: Option<&str>, payload: Value) -> ForwardedCall {
    ForwardedCall {
        operation,
        release: Release::V2026_08_25,
        id: id.map(str::to_owned),
        payload,
        languages: Vec::new(),
        key: operation.row().effect.writes().then(|| "2f1a4b6e-8a51-4f5c-8f0e-0f6f6b1f7a10".to_owned()),
        trace: Trace::default(),
    }
}

/// Asks as the platform `agent`.
pub(crate) async fn ask(bridge: &Bridge, call: ForwardedCall) -> Result<ForwardedAnswer, Refusal> {
    let caller = caller("agent", call.release);
    bridge.forward(&caller, call).await
}

/// Makes a checkout that belongs to the platform `agent`, without any trace at the shop.
pub(crate) async fn own(options: &Options, kind: Kind, id: &str) {
    let platform = "https://agent.example/profile".to_owned();
    let owner = Owner { platform, release: Release::V2026_08_25, mandates: false };
    options.owners.claim(kind, id, &owner, now()).await.expect("claimed");
}

/// The answer as a document.
pub(crate) fn document(carried: ForwardedAnswer) -> Value {
    Value::Object(carried.body.into())
}

/// Keys of a platform for its mandates.
#[derive(Debug)]
struct Shown(Vec<Value>);

#[async_trait]
impl MandateVerifier for Shown {
    async fn verify(&self, _: Option<&Mandate>, _: checkout::View, _: Timestamp) -> Result<Evidence, Message> {
        panic!("the shop verifies mandates")
    }

    fn platform_keys(&self) -> Vec<Value> {
        self.0.clone()
    }
}

/// A platform that negotiated everything, mandates too, and has these keys.
pub(crate) fn mandating(name: &str, release: Release, keys: &[Value]) -> Caller {
    Caller { mandate_verifier: Some(Arc::new(Shown(keys.to_vec()))), ..declaring(name, release, |_| true) }
}
