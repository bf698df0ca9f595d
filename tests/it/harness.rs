//! Starting the real binary, and calling it over every transport it has.

use std::{
    fs,
    io::{BufRead as _, BufReader, Read},
    net::SocketAddr,
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tempfile::TempDir;
use ucp_core::{Code, Operation, Release};
use ucp_wire::documents::release_path;

use crate::wire::{self, Connection, Response};

/// The profile that test calls name.
pub(crate) const PROFILE: &str = "https://agent.example.com/profile.json";

/// The headers of a well-formed REST call.
pub(crate) const REST_HEADERS: &[(&str, &str)] =
    &[("Content-Type", "application/json"), ("UCP-Agent", "profile=\"https://agent.example.com/profile.json\"")];

/// The operations that look around in the catalog.
pub(crate) const BROWSING: [Operation; 3] = [Operation::SearchCatalog, Operation::LookupCatalog, Operation::GetProduct];

/// The headers of a well-formed JSON-RPC call.
pub(crate) const RPC_HEADERS: &[(&str, &str)] = &[("Content-Type", "application/json")];

/// How long a gateway may take to come up, on a machine that is busy.
const STARTUP: Duration = Duration::from_secs(60);

/// The binary under test.
pub(crate) fn binary() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ucp-gateway"));
    for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("UCP_GATEWAY_")) {
        command.env_remove(name);
    }
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

/// Calls `ready` until it gives something.
pub(crate) fn eventually<T>(what: &str, patience: Duration, mut ready: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = ready() {
            return value;
        }
        assert!(start.elapsed() < patience, "{what} within {patience:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A data directory that holds the sample shop, filled once per run of the tests.
fn template() -> &'static Path {
    static TEMPLATE: LazyLock<PathBuf> = LazyLock::new(|| {
        let root = Path::new(env!("CARGO_TARGET_TMPDIR"));
        // Nothing runs at the end of a test process; what earlier ones left is cleared away here.
        for left in fs::read_dir(root).into_iter().flatten().flatten() {
            let name = left.file_name().into_string().unwrap_or_default();
            if name.strip_prefix("template-").is_some_and(|process| !Path::new("/proc").join(process).exists()) {
                // Another process may be at it, too.
                let _ = fs::remove_dir_all(left.path());
            }
        }
        let folder = root.join(format!("template-{}", std::process::id()));
        let mut gateway = Gateway::on(&folder, &[]);
        assert!(gateway.terminate().success(), "the template gateway stops");
        folder
    });
    &TEMPLATE
}

/// A new data directory with the sample shop.
pub(crate) fn sample_shop() -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary directory");
    copy(template(), folder.path());
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

/// A running gateway. Dropping it ends it; what it wrote to standard error is shown when the test fails.
#[derive(Debug)]
pub(crate) struct Gateway {
    child: Child,
    /// Where it listens.
    pub(crate) address: SocketAddr,
    /// The lines it printed at start.
    pub(crate) welcome: Vec<String>,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
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
        let mut gateway = Self::on(data.path(), arguments);
        gateway._data = Some(data);
        gateway
    }

    /// One gateway with the sample shop for all tests that only read. It runs until the last of them is done with it.
    pub(crate) fn shared() -> Arc<Self> {
        static SHARED: Mutex<std::sync::Weak<Gateway>> = Mutex::new(std::sync::Weak::new());
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        shared.upgrade().unwrap_or_else(|| {
            let gateway = Arc::new(Self::start());
            *shared = Arc::downgrade(&gateway);
            gateway
        })
    }

    /// A gateway on a data directory.
    pub(crate) fn on(data: &Path, arguments: &[&str]) -> Self {
        let mut command = binary();
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data).args(arguments);
        Self::spawn(command, None)
    }

    /// A gateway that clients reach under another address than the one it listens on.
    pub(crate) fn behind(public_url: &str) -> Self {
        let data = sample_shop();
        // What it prints is the public address, so that the port has to be known beforehand.
        let listen =
            std::net::TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port");
        let mut command = binary();
        command.args(["serve", "--public-url", public_url, "--listen", &listen.to_string(), "--data-dir"]);
        command.arg(data.path());
        let mut gateway = Self::spawn(command, Some(listen));
        gateway._data = Some(data);
        gateway
    }

    /// A gateway from a command that serves; `listen` where the lines it prints do not tell.
    pub(crate) fn spawn(mut command: Command, listen: Option<SocketAddr>) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let stderr = Arc::new(Mutex::new(String::new()));
        let errors = follow(child.stderr.take().expect("standard error"), Arc::clone(&stderr));
        let (welcome, rest) = welcome(child.stdout.take().expect("standard output"));
        let Some(address) = printed(&welcome, listen) else {
            child.kill().expect("it can be stopped");
            let status = child.wait().expect("it ends");
            errors.join().expect("its standard error is read");
            panic!("the gateway did not start ({status}): {welcome:?} {}", text(&stderr));
        };
        let idle = Mutex::default();
        Self { child, address, welcome, stderr, readers: vec![errors, rest], idle, _data: None }
    }

    /// Whether it still runs.
    pub(crate) fn is_alive(&mut self) -> bool {
        self.child.try_wait().expect("a status").is_none()
    }

    /// What it wrote to standard error so far.
    pub(crate) fn stderr(&self) -> String {
        text(&self.stderr)
    }

    /// The number of its process.
    pub(crate) fn process(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        // Every shell can do that; a `kill` program is not on every machine.
        let command = format!("kill -{name} {}", self.child.id());
        let sent = Command::new("sh").args(["-c", &command]).status().expect("a shell");
        assert!(sent.success(), "SIG{name} can be sent");
    }

    /// Waits for its end.
    pub(crate) fn wait(&mut self) -> ExitStatus {
        eventually("the gateway ends", Duration::from_secs(30), || self.child.try_wait().expect("a status"))
    }

    /// Stops it as an operator does.
    pub(crate) fn terminate(&mut self) -> ExitStatus {
        self.idle.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.signal("TERM");
        self.wait()
    }

    /// Stops it without warning.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("it can be killed");
        self.child.wait().expect("it ends");
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
        // A kept connection may have been closed by the gateway in the meantime.
        let kept = idle().pop().and_then(|mut connection| {
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

    /// What an operation says over REST.
    pub(crate) fn rest(&self, operation: &str, payload: &Value) -> Verdict {
        self.rest_in(operation, payload, &[])
    }

    /// What an operation says over REST at the endpoint of a release.
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

    /// What an operation says as an MCP tool.
    pub(crate) fn mcp_tool(&self, operation: &str, payload: &Value) -> Verdict {
        let arguments = json!({ "meta": meta(), "catalog": payload });
        let response = self.rpc(&rpc("tools/call", &json!({ "name": operation, "arguments": arguments })));
        Verdict::of_rpc(&response, true)
    }

    /// What an operation says as a JSON-RPC method with named parameters.
    pub(crate) fn direct_named(&self, operation: &str, payload: &Value) -> Verdict {
        Verdict::of_rpc(&self.rpc(&rpc(operation, &json!({ "meta": meta(), "catalog": payload }))), false)
    }

    /// What an operation says as a JSON-RPC method with positional parameters.
    pub(crate) fn direct_positional(&self, operation: &str, payload: &Value) -> Verdict {
        Verdict::of_rpc(&self.rpc(&rpc(operation, &json!([meta(), payload]))), false)
    }

    /// The answer of `search_catalog`.
    pub(crate) fn search(&self, payload: &Value) -> Value {
        self.rest("search_catalog", payload).answer()
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
            let mut answer = self.search(&payload);
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

impl Drop for Gateway {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
        let stderr = self.stderr();
        if std::thread::panicking() {
            eprintln!("--- standard error of the gateway ---\n{stderr}");
        } else {
            assert!(!stderr.contains("panicked"), "the gateway panicked:\n{stderr}");
        }
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

/// The lines a gateway prints at start, and a thread that reads on so that it never blocks.
fn welcome(stdout: ChildStdout) -> (Vec<String>, JoinHandle<()>) {
    let (sender, receiver) = std::sync::mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let start = Instant::now();
    let mut lines = Vec::new();
    // The example call is the last thing printed.
    while let Ok(line) = receiver.recv_timeout(STARTUP.saturating_sub(start.elapsed())) {
        let last = line.contains(" -d ");
        lines.push(line);
        if last {
            break;
        }
    }
    (lines, reader)
}

/// The address that the `REST` line names, or `listen` where that is another one.
fn printed(welcome: &[String], listen: Option<SocketAddr>) -> Option<SocketAddr> {
    let base = welcome.iter().find_map(|line| line.trim_start().strip_prefix("REST "))?.trim();
    listen.or_else(|| base.strip_prefix("http://")?.parse().ok())
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

/// What came of a call, whichever way it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It was carried out; the document as it was written.
    Answered(String),
    /// It was refused.
    Refused(Refused),
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
            assert_eq!(error["code"], code.json_rpc(), "{response:?}");
            assert_eq!(error["message"], refused.content, "{response:?}");
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
        assert_eq!(known.http_status(), status, "{body}");
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
