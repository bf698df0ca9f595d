//! Starting the real binary, and calling it over every transport it has.

use std::{
    collections::BTreeMap,
    fs,
    io::{BufRead as _, BufReader, Read},
    net::SocketAddr,
    ops::Deref,
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Output, Stdio},
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
    thread::JoinHandle,
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tempfile::TempDir;
use ucp_core::{Code, Operation, Release};
pub(crate) use ucp_testkit::wait::eventually;
use ucp_testkit::{
    leash::{self, Leashed, Lines},
    postgres,
};
use ucp_wire::{
    documents::release_path,
    refusal::{http_status, json_rpc},
};

use crate::{
    setup::{Ask, Transport},
    wire::{self, Connection, Response},
};

/// The profile that test calls name.
pub(crate) const PROFILE: &str = "https://agent.example.com/profile.json";

/// The headers of a well-formed REST call.
pub(crate) const REST_HEADERS: &[(&str, &str)] =
    &[("Content-Type", "application/json"), ("UCP-Agent", "profile=\"https://agent.example.com/profile.json\"")];

/// The operations that look around in the catalog.
pub(crate) const BROWSING: [Operation; 3] = [Operation::SearchCatalog, Operation::LookupCatalog, Operation::GetProduct];

/// The headers of a well-formed JSON-RPC call.
pub(crate) const RPC_HEADERS: &[(&str, &str)] = &[("Content-Type", "application/json")];

/// The binary under test.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ucp-gateway"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("UCP_GATEWAY_")) {
        command.env_remove(name);
    }
    // Tests look for warnings in the log, as text; lines about each call are the subject of `calls`.
    command.env("UCP_GATEWAY_LOG_FORMAT", "pretty").env("UCP_GATEWAY_LOG_LEVEL", "warn");
    command.env("RUST_BACKTRACE", "1").stdin(Stdio::null());
    command
}

/// The root of the repository.
pub(crate) fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// The folder of a release below `UCP_SPEC_DIR`; `None`, after saying so, when the variable is not set.
pub(crate) fn official(release: Release) -> Option<PathBuf> {
    // The newest release has no published files; the nearest are those of its branch three days earlier.
    let release = match release {
        Release::V2026_08_25 => "2026-08-22-main",
        other => other.date(),
    };
    let Some(folder) = std::env::var_os("UCP_SPEC_DIR") else {
        println!("skipped: UCP_SPEC_DIR does not point to the official schemas");
        return None;
    };
    let folder = repository().join(folder).join(release).join("source");
    assert!(folder.is_dir(), "UCP_SPEC_DIR holds no {}", folder.display());
    Some(folder)
}

/// Commands that have to come to an end by themselves.
pub(crate) trait Ends {
    /// Runs it to its end. A gateway that serves instead fails the test at once.
    fn ends(&mut self) -> Output;

    /// Runs it to its end with something to read.
    fn ends_with(&mut self, input: &[u8]) -> Output;
}

impl Ends for Command {
    #[track_caller]
    fn ends(&mut self) -> Output {
        leash::run(self, |printed| match address(printed.lines()) {
            Some(address) => Err(format!("it serves on {address}")),
            None => Ok(()),
        })
    }

    #[track_caller]
    fn ends_with(&mut self, input: &[u8]) -> Output {
        leash::run_with(self, input)
    }
}

/// Everything of this process that lies on disk and is not a test's own. Nothing runs at the end of a test process;
/// what earlier ones left is cleared away here.
fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> = LazyLock::new(|| {
        let all = Path::new(env!("CARGO_TARGET_TMPDIR"));
        for left in fs::read_dir(all).into_iter().flatten().flatten() {
            let name = left.file_name().into_string().unwrap_or_default();
            if name.strip_prefix("it-").is_some_and(|process| !Path::new("/proc").join(process).exists()) {
                // Another process may be at it, too.
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let own = all.join(format!("it-{}", std::process::id()));
        fs::create_dir_all(&own).expect("a directory");
        own
    });
    &ROOT
}

/// A new directory.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(root()).expect("a directory")
}

/// The data directory of a sample shop that was filled and stopped, once per run of the tests.
fn template(sample: &'static str, template: &'static OnceLock<PathBuf>) -> &'static Path {
    template.get_or_init(|| {
        let folder = root().join(format!("template-{sample}"));
        let mut gateway = Gateway::on(&folder, &["--sample", sample]);
        assert!(gateway.terminate().success(), "the template gateway stops");
        let left: Vec<_> =
            fs::read_dir(&folder).expect("a directory").map(|file| file.expect("a file").file_name()).collect();
        let has_log = left.iter().any(|name| name.to_string_lossy().contains("-wal"));
        assert!(!has_log, "a gateway that was asked to stop leaves no log: {left:?}");
        folder
    })
}

/// A new data directory with the sample shop.
pub(crate) fn sample_shop() -> TempDir {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    let folder = folder();
    copy(template("outfitters", &TEMPLATE), folder.path());
    folder
}

/// A new data directory with the flower shop.
pub(crate) fn flower_shop() -> TempDir {
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    let folder = folder();
    copy(template("flower-shop", &TEMPLATE), folder.path());
    folder
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("a directory") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copy");
        }
    }
}

/// The arguments that put what a gateway on a data directory stores into a PostgreSQL database of its own, if `UCP_IT_STORE` is
/// `postgres`: so the suites about purchases run on that store, too.
pub(crate) fn shared_store(data: &Path) -> Vec<String> {
    static DATABASES: Mutex<BTreeMap<PathBuf, String>> = Mutex::new(BTreeMap::new());
    if std::env::var_os("UCP_IT_STORE").is_none_or(|store| store != "postgres") {
        return Vec::new();
    }
    let server = postgres::database().expect("UCP_IT_STORE=postgres needs PostgreSQL");
    let mut databases = DATABASES.lock().unwrap_or_else(PoisonError::into_inner);
    let next = databases.len();
    let database = databases.entry(data.to_owned()).or_insert_with(|| {
        let name = format!("store_{}_{next}", std::process::id());
        drop(postgres::psql(server, &format!("CREATE DATABASE {name}")));
        let (place, _) = server.rsplit_once('/').expect("a database");
        format!("{place}/{name}")
    });
    // Hundreds of gateways share one server.
    vec!["--database".to_owned(), format!("{database}?application_name=it")]
}

/// Owner of running gateways.
pub(crate) trait Runs {
    /// All of them.
    fn gateways(&self) -> Vec<&Gateway>;
}

/// Shared fixtures of the process, from the first use to its end.
pub(crate) struct Shared<T>(OnceLock<T>);

impl<T: Runs> Shared<T> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Lends it to a test; `start` makes it where there is none yet.
    pub(crate) fn get(&'static self, start: impl FnOnce() -> T) -> Lent<T> {
        Lent::Shared(self.0.get_or_init(start))
    }
}

/// Fixture of a test, shared with others or not. At its end, it checks that the gateway did not panic.
pub(crate) enum Lent<T: Runs + 'static> {
    Shared(&'static T),
    Own(Box<T>),
}

impl<T: Runs> Lent<T> {
    /// Fixture of one test.
    pub(crate) fn own(value: T) -> Self {
        Self::Own(Box::new(value))
    }
}

impl<T: Runs> Deref for Lent<T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Shared(shared) => shared,
            Self::Own(own) => own,
        }
    }
}

impl<T: Runs> Drop for Lent<T> {
    fn drop(&mut self) {
        // The fixture of one test checks it at its end.
        if let Self::Shared(shared) = self {
            shared.gateways().into_iter().for_each(Gateway::look_back);
        }
    }
}

/// A running gateway. Dropping it ends it, and so does the end of this process; what it wrote to standard error is
/// shown when the test fails.
#[derive(Debug)]
pub(crate) struct Gateway {
    process: Leashed,
    /// Listen address.
    pub(crate) address: SocketAddr,
    /// The lines it printed at start, up to the first call to try.
    pub(crate) welcome: Vec<String>,
    printed: Mutex<Lines>,
    stderr: Arc<Mutex<String>>,
    errors: Option<JoinHandle<()>>,
    idle: Mutex<Vec<Connection>>,
    /// Kept so long as the gateway runs.
    _data: Option<TempDir>,
}

impl Gateway {
    /// A gateway with the sample shop.
    pub(crate) fn start() -> Self {
        Self::with(&[])
    }

    /// A gateway with the sample shop and more arguments.
    pub(crate) fn with(arguments: &[&str]) -> Self {
        let data = sample_shop();
        Self::on(data.path(), arguments).keeping(data)
    }

    /// One gateway with the sample shop for all tests that only read.
    pub(crate) fn shared() -> Lent<Self> {
        static SHARED: Shared<Gateway> = Shared::new();
        SHARED.get(Self::start)
    }

    /// The same, with the directory it lives on.
    pub(crate) fn keeping(mut self, data: TempDir) -> Self {
        self._data = Some(data);
        self
    }

    /// A gateway on a data directory.
    pub(crate) fn on(data: &Path, arguments: &[&str]) -> Self {
        let mut command = binary();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data).args(arguments);
        command.args(shared_store(data));
        Self::spawn(&command, None)
    }

    /// One for all tests that clients reach under `https://shop.example.com`.
    pub(crate) fn shop_example() -> Lent<Self> {
        static SHARED: Shared<Gateway> = Shared::new();
        SHARED.get(|| Self::behind("https://shop.example.com"))
    }

    /// A gateway that clients reach under another address than the one it listens on.
    pub(crate) fn behind(public_url: &str) -> Self {
        let data = sample_shop();
        // The output has the public URL, so that the port has to be known beforehand.
        let listen = ucp_testkit::leash::free_address();
        let mut command = binary();
        command.args(["serve", "--public-url", public_url, "--listen", &listen.to_string(), "--data-dir"]);
        command.arg(data.path()).args(shared_store(data.path()));
        Self::spawn(&command, Some(listen)).keeping(data)
    }

    /// A gateway from a command that serves; `listen` where the lines it prints do not tell.
    #[track_caller]
    pub(crate) fn spawn(command: &Command, listen: Option<SocketAddr>) -> Self {
        let mut process = Leashed::start(command, Stdio::piped(), Stdio::piped());
        let stderr = Arc::new(Mutex::new(String::new()));
        let errors = follow(process.stderr(), Arc::clone(&stderr));
        let lines = Lines::of(process.stdout());
        // The example call over REST; the one over MCP follows.
        let welcome = lines.until("what a gateway prints at its start", |line| line.contains(" -d "));
        let Some(printed) = address(welcome.iter().map(String::as_str)) else {
            process.kill();
            errors.join().expect("its standard error is read");
            panic!("{command:?} does not serve: {welcome:?} {}", text(&stderr));
        };
        let Some(address) = listen.or_else(|| printed.parse().ok()) else { panic!("{printed} is no address") };
        let idle = Mutex::default();
        let printed = Mutex::new(lines);
        Self { process, address, welcome, printed, stderr, errors: Some(errors), idle, _data: None }
    }

    /// The lines it printed, those of [`Self::welcome`] first, up to one for which `last` is true. For one caller.
    #[track_caller]
    pub(crate) fn printed_until(&self, what: &str, last: impl Fn(&str) -> bool) -> Vec<String> {
        let more = self.printed.lock().unwrap_or_else(PoisonError::into_inner).until(what, last);
        self.welcome.iter().cloned().chain(more).collect()
    }

    /// Returns `true` if it still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.process.ended().is_none()
    }

    /// Standard error so far.
    pub(crate) fn stderr(&self) -> String {
        text(&self.stderr)
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.process.id()
    }

    /// Number of open descriptors.
    pub(crate) fn descriptors(&self) -> usize {
        fs::read_dir(format!("/proc/{}/fd", self.process())).expect("its descriptors").count()
    }

    /// A number of its `/proc/PID/status`; memory is in KiB.
    pub(crate) fn status(&self, name: &str) -> u64 {
        let status = fs::read_to_string(format!("/proc/{}/status", self.process())).expect("its status");
        let value = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).expect(name);
        value.trim().trim_end_matches(" kB").parse().expect("a number")
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        self.process.signal(name);
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.process.wait()
    }

    /// Stops it as an operator does.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.idle.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.signal("TERM");
        self.wait()
    }

    /// Stops it without warning.
    pub(crate) fn kill(&mut self) {
        self.process.kill();
    }

    /// Shows what it wrote to standard error if the test has failed, and fails it if the gateway panicked.
    fn look_back(&self) {
        let stderr = self.stderr();
        if std::thread::panicking() {
            eprintln!("--- standard error of the gateway ---\n{stderr}");
        } else {
            assert!(!stderr.contains("panicked"), "the gateway panicked:\n{stderr}");
        }
    }

    /// A connection of its own.
    pub(crate) fn connect(&self) -> Connection {
        Connection::open(self.address)
    }

    /// Sends bytes over a connection of their own and reads the answer, if there is one.
    pub(crate) fn raw(&self, bytes: &[u8]) -> Option<Response> {
        let mut connection = self.connect();
        connection.write(bytes);
        connection.read()
    }

    /// Sends a request over a connection that is kept for the next one.
    pub(crate) fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Response {
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let bytes = wire::request(method, path, headers, body);
        // In a statement of its own: the others do not wait for this answer.
        let kept = idle().pop();
        // It may have been closed by the gateway in the meantime.
        let kept = kept.and_then(|mut connection| {
            connection.write(&bytes);
            connection.read().map(|response| (connection, response))
        });
        let (connection, response) = kept.unwrap_or_else(|| {
            let mut connection = self.connect();
            connection.write(&bytes);
            let response = connection.read();
            (connection, response.unwrap_or_else(|| panic!("{method} {path} gets an answer: {}", self.stderr())))
        });
        if response.header("connection") != Some("close") {
            idle().push(connection);
        }
        response
    }

    /// `GET`.
    pub(crate) fn get(&self, path: &str) -> Response {
        self.send("GET", path, &[], b"")
    }

    /// A JSON-RPC message as it is, with the answer's HTTP status.
    pub(crate) fn rpc(&self, message: &Value) -> Response {
        self.send("POST", "/mcp", RPC_HEADERS, message.to_string().as_bytes())
    }

    /// The result of a JSON-RPC method.
    pub(crate) fn result(&self, method: &str, params: &Value) -> Value {
        let response = self.rpc(&rpc(method, params));
        assert_eq!(response.status, 200, "{response:?}");
        response.json()["result"].take()
    }

    /// Response of an operation over REST.
    pub(crate) fn rest(&self, operation: &str, payload: &Value) -> Verdict {
        self.rest_in(operation, payload, &[])
    }

    /// Response of an operation over REST at the endpoint of a version.
    pub(crate) fn rest_of(&self, release: Release, operation: &str, payload: &Value) -> Verdict {
        let row = Operation::named(operation).expect("an operation").row();
        let path = format!("{}{}", release_path(release), row.path);
        Verdict::of_rest(&self.send(row.method.as_str(), &path, REST_HEADERS, payload.to_string().as_bytes()))
    }

    /// A JSON-RPC message to the endpoint of a release.
    pub(crate) fn rpc_of(&self, release: Release, message: &Value) -> Response {
        let path = format!("{}/mcp", release_path(release));
        self.send("POST", &path, RPC_HEADERS, message.to_string().as_bytes())
    }

    /// The same with more headers.
    pub(crate) fn rest_in(&self, operation: &str, payload: &Value, more: &[(&str, &str)]) -> Verdict {
        let headers = [REST_HEADERS, more].concat();
        let row = Operation::named(operation).expect("an operation").row();
        Verdict::of_rest(&self.send(row.method.as_str(), row.path, &headers, payload.to_string().as_bytes()))
    }

    /// Response of an operation as an MCP tool.
    pub(crate) fn mcp_tool(&self, operation: &str, payload: &Value) -> Verdict {
        let arguments = json!({ "meta": meta(), "catalog": payload });
        let response = self.rpc(&rpc("tools/call", &json!({ "name": operation, "arguments": arguments })));
        Verdict::of_rpc(&response, true)
    }

    /// Response of an operation as a JSON-RPC method with named parameters.
    pub(crate) fn direct_named(&self, operation: &str, payload: &Value) -> Verdict {
        Verdict::of_rpc(&self.rpc(&rpc(operation, &json!({ "meta": meta(), "catalog": payload }))), false)
    }

    /// Response of an operation as a JSON-RPC method with positional parameters.
    pub(crate) fn direct_positional(&self, operation: &str, payload: &Value) -> Verdict {
        Verdict::of_rpc(&self.rpc(&rpc(operation, &json!([meta(), payload]))), false)
    }

    /// The answer of `search_catalog`.
    pub(crate) fn search(&self, payload: &Value) -> Value {
        self.rest("search_catalog", payload).answer()
    }

    /// An answer as any gateway would give it: without the address of this one, where its pictures are.
    pub(crate) fn anywhere(&self, answer: &Value) -> Value {
        let text = answer.to_string().replace(&format!("http://{}/", self.address), "http://gateway/");
        text.parse().expect("JSON")
    }

    /// The answer of `lookup_catalog`.
    pub(crate) fn lookup(&self, payload: &Value) -> Value {
        self.rest("lookup_catalog", payload).answer()
    }

    /// The answer of `get_product`.
    pub(crate) fn product(&self, payload: &Value) -> Value {
        self.rest("get_product", payload).answer()
    }

    /// Every product that a search finds, page by page, and what each page says in `pagination`.
    pub(crate) fn search_all(&self, payload: &Value, limit: u64) -> (Vec<Value>, Vec<Value>) {
        let mut payload = payload.clone();
        payload["pagination"] = json!({ "limit": limit });
        let (mut products, mut pages) = (Vec::new(), Vec::new());
        loop {
            let ask = Ask::new(Transport::Rest, PROFILE).of("search_catalog", payload.clone());
            let mut answer = ask.query("view=full").answer(self);
            products.extend(elements(&answer["products"]).iter().cloned());
            let page = answer["pagination"].take();
            pages.push(page.clone());
            assert!(pages.len() <= 1_000, "paging comes to an end");
            match page.get("cursor") {
                Some(cursor) => payload["pagination"]["cursor"] = cursor.clone(),
                None => return (products, pages),
            }
        }
    }
}

impl Runs for Gateway {
    fn gateways(&self) -> Vec<&Self> {
        vec![self]
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        self.process.kill();
        if let Some(errors) = self.errors.take() {
            let _ = errors.join();
        }
        self.look_back();
    }
}

fn text(stderr: &Mutex<String>) -> String {
    stderr.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Collects what a process writes.
fn follow(stream: impl Read + Send + 'static, into: Arc<Mutex<String>>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let mut text = into.lock().unwrap_or_else(PoisonError::into_inner);
            text.push_str(&line);
            text.push('\n');
        }
    })
}

/// The address that a gateway which serves prints at its start.
fn address<'a>(mut printed: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let base = |line: &'a str| line.strip_prefix("REST ").or_else(|| line.strip_prefix("listens "));
    let base = printed.find_map(|line| base(line.trim_start()))?.trim();
    base.strip_prefix("http://").or_else(|| base.strip_prefix("https://"))
}

/// A JSON-RPC request.
pub(crate) fn rpc(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

/// The `meta` of MCP arguments.
pub(crate) fn meta() -> Value {
    json!({ "ucp-agent": { "profile": PROFILE } })
}

/// The elements of an array.
pub(crate) fn elements(array: &Value) -> &[Value] {
    array.as_array().unwrap_or_else(|| panic!("an array: {array}"))
}

/// A member of each element of an array, as text.
pub(crate) fn texts<'a>(array: &'a Value, member: &str) -> Vec<&'a str> {
    elements(array).iter().map(|element| element[member].as_str().unwrap_or_default()).collect()
}

/// The codes of the messages of an answer.
pub(crate) fn codes(answer: &Value) -> Vec<&str> {
    answer.get("messages").map(|messages| texts(messages, "code")).unwrap_or_default()
}

/// Result of a call over any transport.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was carried out; the document as it was written.
    Answered(String),
    /// It was refused.
    Refused(Refused),
}

/// A payload of a release as it is read if a model wrote it, for a tool.
pub(crate) fn as_of_a_model(release: Release, operation: &str, payload: &Value) -> Value {
    let (operation, mut meant) = (Operation::named(operation).expect("an operation"), payload.clone());
    match ucp_wire::lenient::read(ucp_wire::dialect(release), operation, &mut meant) {
        Ok(()) => meant,
        Err(_) => payload.clone(),
    }
}

/// Why a call was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) content: String,
    pub(crate) path: Option<String>,
    pub(crate) accepted: Option<String>,
}

impl Verdict {
    /// Reads a REST answer.
    pub(crate) fn of_rest(response: &Response) -> Self {
        let body = response.json();
        assert!(response.header("request-id").is_some(), "{response:?}");
        if response.status == 200 {
            Self::Answered(response.body.clone())
        } else {
            Self::Refused(Refused::read(response.status, &body))
        }
    }

    /// Reads a JSON-RPC answer; that of a tool wraps the document.
    pub(crate) fn of_rpc(response: &Response, tool: bool) -> Self {
        #[derive(Deserialize)]
        struct Message<'a> {
            #[serde(borrow)]
            result: Option<&'a RawValue>,
        }
        #[derive(Deserialize)]
        struct ToolResult<'a> {
            content: Vec<Content>,
            #[serde(borrow, rename = "structuredContent")]
            structured: &'a RawValue,
        }
        #[derive(Deserialize)]
        struct Content {
            text: String,
        }
        let body = response.json();
        assert_eq!(body["jsonrpc"], "2.0", "{response:?}");
        let message: Message<'_> = serde_json::from_str(&response.body).expect("a message");
        let Some(result) = message.result else {
            let error = &body["error"];
            let refused = Refused::read(response.status, &error["data"]);
            let code = Code::ALL.iter().find(|code| code.as_str() == refused.code).expect("a known code");
            assert_eq!(error["code"], json_rpc(*code), "{response:?}");
            tells_all(error);
            return Self::Refused(refused);
        };
        assert_eq!(response.status, 200, "{response:?}");
        if !tool {
            return Self::Answered(result.get().to_owned());
        }
        let result: ToolResult<'_> = serde_json::from_str(result.get()).expect("the result of a tool");
        assert_eq!(result.content.len(), 1, "{response:?}");
        assert_eq!(result.content[0].text, result.structured.get(), "the text repeats the structure (MCP-03)");
        assert!(body["result"].get("isError").is_none(), "outcomes are no tool errors (T-28): {response:?}");
        Self::Answered(result.structured.get().to_owned())
    }

    /// The document of a call that was carried out.
    #[track_caller]
    pub(crate) fn answer(&self) -> Value {
        match self {
            Self::Answered(document) => serde_json::from_str(document).expect("JSON"),
            Self::Refused(refused) => panic!("refused: {refused:?}"),
        }
    }

    /// Why it was refused.
    #[track_caller]
    pub(crate) fn refusal(&self) -> &Refused {
        match self {
            Self::Refused(refused) => refused,
            Self::Answered(document) => panic!("answered: {document:.300}"),
        }
    }
}

impl Refused {
    /// Reads the shape of a protocol failure, which validates against the schema that is checked in for it.
    pub(crate) fn read(status: u16, body: &Value) -> Self {
        static SCHEMA: OnceLock<jsonschema::Validator> = OnceLock::new();
        let schema = SCHEMA.get_or_init(|| own_schema("error"));
        if let Err(error) = schema.validate(body) {
            panic!("{error}: {status} {body}");
        }
        let text = |name: &str| body.get(name).and_then(Value::as_str).map(str::to_owned);
        let code = text("code").unwrap_or_default();
        let known = Code::ALL.iter().find(|known| known.as_str() == code).expect("a known code");
        assert_eq!(http_status(*known), status, "{body}");
        assert_eq!(body["retryable"], known.retryable(), "{body}");
        let content = text("content").unwrap_or_default();
        assert!(!content.trim().is_empty(), "{body}");
        Self { status, code, content, path: text("path"), accepted: text("accepted") }
    }
}

/// A validator for one of the schemas of the newest release that are checked in.
pub(crate) fn own_schema(name: &str) -> jsonschema::Validator {
    own_schema_of(Release::NEWEST, name)
}

/// A validator for one of the schemas of a release that are checked in.
pub(crate) fn own_schema_of(release: Release, name: &str) -> jsonschema::Validator {
    let file = repository().join(format!("schemas/{release}/{name}.json"));
    let schema: Value = serde_json::from_str(&fs::read_to_string(&file).expect("a schema")).expect("JSON");
    jsonschema::options().should_validate_formats(true).build(&schema).expect("a valid schema")
}

/// Checks that the text of a JSON-RPC error alone says what its data say about a mistake: what SDKs show an agent.
#[track_caller]
pub(crate) fn tells_all(error: &Value) {
    let (message, data) = (error["message"].as_str().expect("a text"), &error["data"]);
    for (name, value) in ["content", "path", "accepted"].map(|name| (name, data[name].as_str())) {
        let value = value.unwrap_or_default().trim_end_matches('.');
        assert!(message.contains(value), "the text says the {name}: {error}");
    }
}
