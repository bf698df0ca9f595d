//! Gateways with a configuration file, and calls as any platform makes them: over every transport, in every release.

use std::{fs, ops::Deref, path::Path, process::Command};

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::{Code, Operation, Release};
use ucp_wire::{documents::release_path, refusal::http_status};

use crate::{
    harness::{Ends as _, Gateway, Lent, Runs, Shared, binary, folder, sample_shop, shared_store, tells_all},
    wire::Response,
};

/// Common configuration of gateways here: profiles are required, and are on this machine. A host may be slow, so that
/// nothing depends on the load of the machine.
pub(crate) const REQUIRE: &str = "
    [callers]
    policy = \"require\"
    [profiles]
    loopback = true
    connect_timeout_ms = 30000
    timeout_ms = 30000
    fetches = { per_second = 1000, burst = 1000 }
    [limits]
    anonymous = \"none\"
    signed = \"none\"
    keyed = \"none\"
    unverified = \"none\"
";

/// One gateway with the sample shop for all tests that need nothing else than [`REQUIRE`].
pub(crate) fn requiring() -> Lent<Configured> {
    static SHARED: Shared<Configured> = Shared::new();
    SHARED.get(|| Configured::start(REQUIRE))
}

/// A gateway that is about to be started.
pub(crate) struct Setup {
    files: TempDir,
    arguments: Vec<String>,
    variables: Vec<(String, String)>,
    without: Vec<String>,
}

impl Setup {
    /// One with this configuration file.
    pub(crate) fn new(configuration: &str) -> Self {
        let setup = Self { files: folder(), arguments: vec![], variables: vec![], without: vec![] };
        setup.file("gateway.toml", configuration)
    }

    /// The same with a file beside the configuration.
    pub(crate) fn file(self, name: &str, content: &str) -> Self {
        fs::write(self.files.path().join(name), content).expect("a file");
        self
    }

    /// Path of a file beside the configuration, or of the configuration itself (`gateway.toml`).
    pub(crate) fn path(&self, name: &str) -> std::path::PathBuf {
        self.files.path().join(name)
    }

    /// The same with more arguments.
    pub(crate) fn arguments(mut self, arguments: &[&str]) -> Self {
        self.arguments.extend(arguments.iter().map(|&argument| argument.to_owned()));
        self
    }

    /// The same with a variable of the environment.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.variables.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The same without a variable that the harness sets.
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    /// The arguments beside the configuration.
    pub(crate) fn own_arguments(&self) -> &[String] {
        &self.arguments
    }

    /// A command of the binary that reads the configuration.
    pub(crate) fn command(&self, name: &str) -> Command {
        let mut command = binary();
        command.arg(name).arg("--config").arg(self.files.path().join("gateway.toml")).args(&self.arguments);
        for name in &self.without {
            command.env_remove(name);
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command
    }

    /// Output of a command that ends by itself: standard output if it succeeds, else standard error.
    pub(crate) fn run(&self, name: &str) -> Result<String, String> {
        let mut command = self.command(name);
        if name == "serve" && !self.arguments.iter().any(|argument| argument == "--data-dir") {
            command.arg("--data-dir").arg(self.files.path().join("data"));
        }
        let output = command.ends();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    }

    /// Starts it on the sample shop.
    pub(crate) fn start(self) -> Configured {
        let data = sample_shop();
        self.start_on(data)
    }

    /// Starts it on this data directory.
    pub(crate) fn start_on(self, data: TempDir) -> Configured {
        self.start_at("127.0.0.1:0", data)
    }

    /// Starts it on this data directory, at this address.
    pub(crate) fn start_at(self, listen: &str, data: TempDir) -> Configured {
        let gateway = self.spawn(listen, data.path());
        Configured { gateway, data, _files: self.files }
    }

    /// Starts it on a data directory that outlives it, at this address.
    pub(crate) fn spawn(&self, listen: &str, data: &Path) -> Gateway {
        let mut command = self.command("serve");
        command.args(["--listen", listen, "--data-dir"]).arg(data).args(shared_store(data));
        Gateway::spawn(&command, None)
    }
}

/// A running gateway with a configuration of its own.
#[derive(Debug)]
pub(crate) struct Configured {
    gateway: Gateway,
    data: TempDir,
    _files: TempDir,
}

impl Configured {
    /// A gateway with this configuration on the sample shop.
    pub(crate) fn start(configuration: &str) -> Self {
        Setup::new(configuration).start()
    }

    /// Its data directory.
    pub(crate) fn data(&self) -> &Path {
        self.data.path()
    }
}

impl Deref for Configured {
    type Target = Gateway;

    fn deref(&self) -> &Gateway {
        &self.gateway
    }
}

impl std::ops::DerefMut for Configured {
    fn deref_mut(&mut self) -> &mut Gateway {
        &mut self.gateway
    }
}

impl Runs for Configured {
    fn gateways(&self) -> Vec<&Gateway> {
        vec![&self.gateway]
    }
}

/// The way that a call takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// A REST request.
    Rest,
    /// A tool of MCP.
    Tool,
    /// A JSON-RPC method.
    Method,
}

impl Transport {
    pub(crate) const ALL: [Self; 3] = [Self::Rest, Self::Tool, Self::Method];
}

/// A call of some platform.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    transport: Transport,
    endpoint: Option<Release>,
    profile: Option<String>,
    operation: Operation,
    payload: Value,
    headers: Vec<(String, String)>,
    query: &'static str,
}

impl Ask {
    /// For a product, at the endpoint of all releases.
    pub(crate) fn new(transport: Transport, profile: &str) -> Self {
        Self {
            transport,
            endpoint: None,
            profile: Some(profile.to_owned()),
            operation: Operation::GetProduct,
            payload: json!({ "id": "prod_abc123" }),
            headers: Vec::new(),
            query: "",
        }
    }

    /// The same with a query in the URL.
    pub(crate) fn query(mut self, query: &'static str) -> Self {
        self.query = query;
        self
    }

    /// The same without saying who asks.
    pub(crate) fn unnamed(mut self) -> Self {
        self.profile = None;
        self
    }

    /// The same at the endpoint of a release.
    pub(crate) fn at(mut self, endpoint: Option<Release>) -> Self {
        self.endpoint = endpoint;
        self
    }

    /// Something else.
    pub(crate) fn of(mut self, operation: &str, payload: Value) -> Self {
        self.operation = Operation::named(operation).expect("an operation");
        self.payload = payload;
        self
    }

    /// The same with one more header.
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The path it goes to.
    pub(crate) fn path(&self) -> String {
        let prefix = self.endpoint.map(release_path).unwrap_or_default();
        let path = match self.transport {
            Transport::Rest => format!("{prefix}{}", self.operation.row().path),
            Transport::Tool | Transport::Method => format!("{prefix}/mcp"),
        };
        if self.query.is_empty() { path } else { format!("{path}?{}", self.query) }
    }

    /// The bytes it sends.
    pub(crate) fn body(&self) -> Vec<u8> {
        let name = self.operation.row().name;
        let mut arguments = json!({ self.operation.row().payload.unwrap_or("catalog"): self.payload });
        if let Some(profile) = &self.profile {
            arguments["meta"] = json!({ "ucp-agent": { "profile": profile } });
        }
        let (method, params) = match self.transport {
            Transport::Rest => return self.payload.to_string().into_bytes(),
            Transport::Tool => ("tools/call", json!({ "name": name, "arguments": arguments })),
            Transport::Method => (name, arguments),
        };
        crate::harness::rpc(method, &params).to_string().into_bytes()
    }

    /// The headers it sends.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![("Content-Type".to_owned(), "application/json".to_owned())];
        if let (Transport::Rest, Some(profile)) = (self.transport, &self.profile) {
            headers.push(("UCP-Agent".to_owned(), agent(profile)));
        }
        headers.extend(self.headers.iter().cloned());
        headers
    }

    /// Sends it.
    pub(crate) fn send(&self, gateway: &Gateway) -> Response {
        let headers = self.headers();
        let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        gateway.send("POST", &self.path(), &headers, &self.body())
    }

    /// Sends it and reads the answer.
    #[track_caller]
    pub(crate) fn answer(&self, gateway: &Gateway) -> Value {
        let response = self.send(gateway);
        assert_eq!(response.status, 200, "{self:?}: {response:?}");
        let mut body = response.json();
        match self.transport {
            Transport::Rest => body,
            Transport::Tool => body["result"]["structuredContent"].take(),
            Transport::Method => body["result"].take(),
        }
    }

    /// Sends it and reads the refusal.
    #[track_caller]
    pub(crate) fn refusal(&self, gateway: &Gateway) -> Refused {
        let response = self.send(gateway);
        Refused::read(self.transport, &response)
    }
}

/// The value of a `UCP-Agent` header.
pub(crate) fn agent(profile: &str) -> String {
    format!("profile=\"{profile}\"")
}

/// A refusal in the form of any release.
#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) content: String,
    /// The JSON-RPC code.
    pub(crate) number: Option<i64>,
    /// The body on REST, the `data` of the error elsewhere.
    pub(crate) body: Value,
    pub(crate) response: Response,
}

impl Refused {
    /// Reads a refusal, and checks what is the same in each.
    #[track_caller]
    pub(crate) fn read(transport: Transport, response: &Response) -> Self {
        let mut document = response.json();
        let (number, body) = match transport {
            Transport::Rest => (None, document),
            Transport::Tool | Transport::Method => {
                let error = &mut document["error"];
                let number = error["code"].as_i64().unwrap_or_else(|| panic!("a refusal: {response:?}"));
                tells_all(error);
                (Some(number), error["data"].take())
            }
        };
        let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("`{name}`: {response:?}")).to_owned();
        let (code, content) = (text("code"), text("content"));
        let known = Code::ALL.iter().find(|known| known.as_str() == code).expect("a known code");
        assert_eq!(response.status, http_status(*known), "{response:?}");
        assert_eq!(body["retryable"], known.retryable(), "{response:?}");
        // An error that can be retried states when, in each place (ERR-03).
        let after = response.header("retry-after").map(|seconds| seconds.parse::<u64>().expect("seconds"));
        assert_eq!(body.get("retry_after").and_then(Value::as_u64), after, "{response:?}");
        assert_eq!(response.header("www-authenticate").is_some(), response.status == 401, "{response:?}");
        Self { status: response.status, code, content, number, body, response: response.clone() }
    }

    /// Status and code.
    pub(crate) fn verdict(&self) -> (u16, &str) {
        (self.status, &self.code)
    }

    /// After how many seconds to try again.
    pub(crate) fn retry_after(&self) -> Option<u64> {
        self.body.get("retry_after").and_then(Value::as_u64)
    }
}
