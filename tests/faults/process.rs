//! The two processes: the gateway under test, and the payment provider with its journal.

use std::{
    fs::{self, File, OpenOptions},
    io::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitCode, Output, Stdio},
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ucp_fake_psp::{FakePsp, FakeStripe, Keys, Options, Report};
use ucp_testkit::leash::{self, Leashed, Lines};
pub(crate) use ucp_testkit::wait::PATIENCE;

use crate::client::Clients;

/// The argument that makes this program the payment provider.
pub(crate) const PSP: &str = "psp";

const API_KEY: &str = "sk_test_0123456789abcdef";

/// Secret of the signatures: of requests to the processor, and of Stripe's events.
pub(crate) const SIGNING_SECRET: &str = "secret-of-the-shop-0123456789abcdef";

/// Payment provider that takes the money.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    /// One that speaks the gateway's own protocol.
    Processor,
    /// One that speaks as Stripe does.
    Stripe,
}

impl Provider {
    const fn name(self) -> &'static str {
        match self {
            Self::Processor => "processor",
            Self::Stripe => "stripe",
        }
    }
}

/// Runs the payment provider: `psp JOURNAL PORT SLOW_MS KIND`. It prints its port, and ends when its standard input does.
pub(crate) fn psp(mut arguments: impl Iterator<Item = String>) -> ExitCode {
    let mut next = || arguments.next().expect("JOURNAL PORT SLOW_MS KIND");
    let keys = Keys { api_key: API_KEY.into(), signing_secret: SIGNING_SECRET.into() };
    let options = Options {
        journal: Some(next().into()),
        port: next().parse().expect("a port"),
        slow: Duration::from_millis(next().parse().expect("milliseconds")),
        ..Options::new(keys)
    };
    let (_stripe, _processor);
    if next() == Provider::Stripe.name() {
        let running = FakeStripe::start(options).expect("the provider starts");
        println!("{}", running.url());
        _stripe = running;
    } else {
        let running = FakePsp::start(options).expect("the provider starts");
        println!("{}", running.url());
        _processor = running;
    }
    // Input is ignored: only its end matters.
    drop(std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    ExitCode::SUCCESS
}

/// Asks again and again, until there is an answer.
#[track_caller]
pub(crate) fn eventually<T>(what: &str, ready: impl FnMut() -> Option<T>) -> T {
    ucp_testkit::wait::eventually(what, PATIENCE, ready)
}

/// Runs a command to its end.
#[track_caller]
pub(crate) fn ended(command: &Command) -> Output {
    leash::run(command, |_| Ok(()))
}

/// Counts of one scenario.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) kills: AtomicU64,
    pub(crate) provider_kills: AtomicU64,
    pub(crate) attempts: AtomicU64,
    pub(crate) broken: AtomicU64,
    pub(crate) refused: AtomicU64,
    pub(crate) replays: AtomicU64,
}

impl Tally {
    pub(crate) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Timeouts and delays between the gateways of a world and the provider, in milliseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Times {
    /// Timeout of a single request.
    pub(crate) timeout: u32,
    /// Deadline of a payment.
    pub(crate) deadline: u32,
    /// Delay of a response that is ordered to be slow.
    pub(crate) slow: u32,
}

impl Times {
    /// Hardly anything times out that was not meant to.
    pub(crate) const PATIENT: Self = Self { timeout: 5_000, deadline: 10_000, slow: 400 };
    /// Timeout for anything slow or hanging.
    pub(crate) const BRISK: Self = Self { timeout: 300, deadline: 1_500, slow: 600 };
}

/// A shop with its provider, and what clients know about both.
pub(crate) struct World {
    name: &'static str,
    folder: PathBuf,
    times: Times,
    provider: Provider,
    /// Address of the database for whoever looks into it, if gateways share one.
    pub(crate) database: std::sync::OnceLock<String>,
    psp: Mutex<Option<Psp>>,
    /// Initial stock of each variant.
    pub(crate) initial: std::sync::OnceLock<crate::books::Counts>,
    pub(crate) clients: Clients,
}

impl World {
    /// A new shop, and a provider that knows nothing.
    pub(crate) fn new(name: &'static str, root: &Path, times: Times, provider: Provider) -> Self {
        let folder = root.join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let psp = Psp::start(&folder.join("provider.journal"), 0, times, provider);
        fs::write(folder.join("api.key"), API_KEY).expect("a file");
        fs::write(folder.join("signing.secret"), SIGNING_SECRET).expect("a file");
        let Times { timeout, deadline, .. } = times;
        let keys = match provider {
            Provider::Processor => "signing_secret_file = \"signing.secret\"\n",
            Provider::Stripe => "webhook_secret_file = \"signing.secret\"\n",
        };
        let configuration = format!(
            "[data]\nsample = \"flower-shop\"\n[callers]\npolicy = \"development\"\n\
             [limits]\nanonymous = \"none\"\nsigned = \"none\"\nkeyed = \"none\"\nunverified = \"none\"\n\
             [[payment]]\nkind = \"{}\"\nid = \"{HANDLER}\"\nname = \"com.example.psp\"\nversion = \"2026-08-25\"\n\
             spec = \"https://example.com/psp\"\nschema = \"https://example.com/psp.json\"\nurl = \"{}\"\n\
             api_key_file = \"api.key\"\n{keys}\
             connect_timeout_ms = {timeout}\ntimeout_ms = {timeout}\ndeadline_ms = {deadline}\n",
            provider.name(),
            psp.url
        );
        fs::write(folder.join("gateway.toml"), configuration).expect("a file");
        let record = File::create(folder.join("record.jsonl")).expect("a file");
        let (psp, initial) = (Mutex::new(Some(psp)), std::sync::OnceLock::new());
        let database = std::sync::OnceLock::new();
        Self { name, folder, times, provider, database, psp, initial, clients: Clients::new(record) }
    }

    /// The folder with everything of it.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the payment provider that takes the money.
    pub(crate) const fn provider(&self) -> Provider {
        self.provider
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn tally(&self) -> &Tally {
        &self.clients.tally
    }

    /// Adds sections to the configuration of gateways that are started from now on.
    pub(crate) fn configure(&self, sections: &str) {
        let file = OpenOptions::new().append(true).open(self.folder.join("gateway.toml"));
        file.and_then(|mut file| file.write_all(sections.as_bytes())).expect("the configuration");
    }

    /// Adds keys to a section of the configuration of gateways that are started from now on.
    pub(crate) fn amend(&self, section: &str, keys: &str) {
        let (path, head) = (self.folder.join("gateway.toml"), format!("[{section}]\n"));
        let configuration = fs::read_to_string(&path).expect("the configuration");
        assert!(configuration.contains(&head), "{head}");
        fs::write(&path, configuration.replace(&head, &format!("{head}{keys}\n"))).expect("the configuration");
    }

    /// Makes the key that gateways sign with from now on, wherever their data are.
    pub(crate) fn make_keys(&self) {
        let directory = self.folder.join("keys");
        self.amend("data", &format!("keys_dir = \"{}\"", directory.display()));
        let output = ended(self.command(&["keys", "generate"]).arg("--keys-dir").arg(directory));
        assert!(output.status.success(), "{output:?}");
    }

    /// A command on the data directory, as an operator gives it.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = binary();
        command.args(arguments).arg("--data-dir").arg(self.data());
        command
    }

    /// Starts a gateway on the data directory, to which clients turn from now on. `trace` makes it log everything.
    pub(crate) fn start(&self, trace: bool) -> Gateway {
        let gateway = self.start_aside(trace);
        self.clients.turn_to(Some(gateway.address));
        gateway
    }

    /// Starts another gateway on the same data directory.
    pub(crate) fn start_aside(&self, trace: bool) -> Gateway {
        let gateway = Gateway::start(self, trace);
        self.initial.get_or_init(|| crate::books::Books::read(self).stock);
        gateway
    }

    /// Starts a gateway on a data directory of its own and the database at an address.
    pub(crate) fn start_on(&self, directory: &str, database: &str) -> Gateway {
        let gateway = Gateway::start_on(self, &self.folder.join(directory), Some(database), false);
        self.initial.get_or_init(|| crate::books::Books::read(self).stock);
        gateway
    }

    /// Kills a gateway that clients turn to.
    pub(crate) fn kill(&self, gateway: Gateway) {
        self.clients.turn_to(None);
        self.kill_aside(gateway);
    }

    /// Kills another gateway.
    pub(crate) fn kill_aside(&self, gateway: Gateway) {
        drop(gateway);
        Tally::add(&self.tally().kills);
    }

    /// Kills the provider, and starts it again at the same address.
    pub(crate) fn kill_provider(&self) {
        let mut psp = self.psp.lock().unwrap_or_else(PoisonError::into_inner);
        let port = psp.take().map_or(0, |psp| psp.port);
        *psp = Some(Psp::start(&self.journal(), port, self.times, self.provider));
        Tally::add(&self.tally().provider_kills);
    }

    /// Returns the listen address of the provider.
    pub(crate) fn provider_address(&self) -> SocketAddr {
        let psp = self.psp.lock().unwrap_or_else(PoisonError::into_inner);
        SocketAddr::from(([127, 0, 0, 1], psp.as_ref().map_or(0, |psp| psp.port)))
    }

    /// Returns the path of the provider's journal.
    pub(crate) fn journal(&self) -> PathBuf {
        self.folder.join("provider.journal")
    }

    /// Everything that the provider ever did.
    pub(crate) fn report(&self) -> Report {
        Report::read(&self.journal()).expect("the journal")
    }

    /// Everything that the gateways logged.
    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("gateway.log")
    }

    /// The line that says what was done.
    pub(crate) fn summary(&self, more: &str) -> String {
        let report = self.report();
        let captures: u32 = report.payments.values().map(|payment| payment.captures).sum();
        let Tally { kills, provider_kills, attempts, broken, refused, replays } = self.tally();
        let [kills, provider_kills, attempts, broken, refused, replays] =
            [kills, provider_kills, attempts, broken, refused, replays].map(|count| count.load(Ordering::Relaxed));
        format!(
            "{}: {kills} kills, {provider_kills} of the provider, {attempts} attempts ({broken} broken off, {refused} told \
             to come again), {replays} replays, {} payments, {captures} captures{}{more}",
            self.name,
            report.payments.len(),
            if more.is_empty() { "" } else { ", " },
        )
    }
}

/// The identifier of the payment handler.
pub(crate) const HANDLER: &str = "psp";

/// The program under test, which sees nothing of how this one is configured.
fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ucp-gateway"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("UCP_GATEWAY_") || name == "RUST_LOG") {
        command.env_remove(name);
    }
    command
}

/// A running gateway. Dropping it kills it, and so does the end of this program.
pub(crate) struct Gateway {
    process: Leashed,
    pub(crate) address: SocketAddr,
    /// Listen address of the admin API, if it has one.
    pub(crate) admin: Option<SocketAddr>,
}

impl Gateway {
    fn start(world: &World, trace: bool) -> Self {
        Self::start_on(world, &world.data(), None, trace)
    }

    fn start_on(world: &World, data: &Path, database: Option<&str>, trace: bool) -> Self {
        let mut command = binary();
        let log = OpenOptions::new().create(true).append(true).open(world.log()).expect("a log");
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(world.folder.join("gateway.toml"));
        command.arg("--data-dir").arg(data);
        if let Some(database) = database {
            command.args(["--database", database]);
        }
        if trace {
            command.env("RUST_LOG", "trace");
        }
        let mut process = Leashed::start(&command, Stdio::piped(), log);
        let welcome = Lines::of(process.stdout()).until("what a gateway prints at its start", |line| line == "Try it:");
        let printed = |name: &str| {
            let address =
                welcome.iter().find_map(|line| line.trim().strip_prefix(name)?.trim().strip_prefix("http://"));
            address.and_then(|address| address.parse().ok())
        };
        let Some(address) = printed("REST") else {
            let status = process.wait();
            panic!("the gateway did not start ({status}), see {}", world.log().display());
        };
        Self { process, address, admin: printed("admin") }
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// Stops it, and waits until each of its threads has stopped: the signal is sent before they have.
    pub(crate) fn freeze(&self) {
        self.signal("STOP");
        let threads = PathBuf::from(format!("/proc/{}/task", self.id()));
        eventually("every thread of the gateway stops", || {
            let mut threads = fs::read_dir(&threads).into_iter().flatten().flatten();
            // The state stands behind the name, which is in parentheses.
            let stopped = |stat: String| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('T'));
            threads.all(|thread| fs::read_to_string(thread.path().join("stat")).is_ok_and(stopped)).then_some(())
        });
    }

    /// Returns `true` if it still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.process.ended().is_none()
    }
}

/// The provider as a process. Dropping it kills it.
struct Psp {
    child: Child,
    /// Its end is how the provider learns of ours.
    _stdin: ChildStdin,
    url: String,
    port: u16,
}

impl Psp {
    fn start(journal: &Path, port: u16, times: Times, provider: Provider) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        command.arg(PSP).arg(journal).args([port.to_string(), times.slow.to_string()]).arg(provider.name());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("the provider starts");
        let output = Lines::of(child.stdout.take().expect("output"));
        let url = output.next("where the provider listens").expect("an address");
        let port = url.rsplit(':').next().and_then(|port| port.parse().ok()).expect("a port");
        Self { _stdin: child.stdin.take().expect("input"), child, url, port }
    }
}

impl Drop for Psp {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
