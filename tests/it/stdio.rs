//! `ucp-gateway mcp --stdio`: one agent, one message per line.

use std::{
    io::Write as _,
    process::{Child, ChildStdin, ExitStatus, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::Operation;
use ucp_testkit::{leash::Lines, wait::PATIENCE};

use crate::{
    harness::{Ends as _, binary, eventually, folder, rpc, sample_shop, texts},
    wire::{Connection, request},
};

struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines,
    _data: TempDir,
}

impl Agent {
    fn start() -> Self {
        Self::with(&[])
    }

    /// One with more arguments.
    fn with(arguments: &[&str]) -> Self {
        let data = sample_shop();
        let mut command = binary();
        command.args(["mcp", "--stdio", "--data-dir"]).arg(data.path()).args(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("the binary starts");
        let (input, output) = (child.stdin.take(), Lines::of(child.stdout.take().expect("its output")));
        Self { child, input, output, _data: data }
    }

    fn write(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("an open input");
        input.write_all(line).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()).expect("it listens");
    }

    /// The next line, which is JSON-RPC: nothing else may be written there.
    fn read(&mut self) -> Value {
        let line = self.output.next("an answer over standard output").expect("it is still there");
        let message: Value = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
        assert_eq!(message["jsonrpc"], "2.0", "{line}");
        message
    }

    fn ask(&mut self, message: &Value) -> Value {
        self.write(message.to_string().as_bytes());
        self.read()
    }

    /// The page at which the buyer goes on with a new checkout.
    fn continue_url(&mut self) -> String {
        let line = json!({ "item": { "id": "var_abc123_blue_8" }, "quantity": 1 });
        let arguments = json!({ "checkout": { "line_items": [line] } });
        let answer = self.ask(&rpc("tools/call", &json!({ "name": "create_checkout", "arguments": arguments })));
        let url = answer["result"]["structuredContent"]["continue_url"].as_str();
        url.unwrap_or_else(|| panic!("a page: {answer}")).to_owned()
    }

    /// Closes its input and gives how it ended; nothing more may come.
    fn end(mut self) -> ExitStatus {
        self.input = None;
        assert_eq!(self.output.next("the end of its output"), None);
        eventually("it ends with its input", PATIENCE, || self.child.try_wait().expect("a status"))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn an_agent_shakes_hands_lists_and_calls_without_naming_a_profile() {
    let mut agent = Agent::start();
    let params =
        json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    assert_eq!(agent.ask(&rpc("initialize", &params))["result"]["protocolVersion"], "2025-06-18");
    agent.write(br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#);
    // A notification gets no line: the next one answers the next request.
    let tools = agent.ask(&rpc("tools/list", &json!({})));
    let every: Vec<_> = Operation::ALL.iter().map(|operation| operation.row().name).collect();
    assert_eq!(texts(&tools["result"]["tools"], "name"), every);
    for tool in tools["result"]["tools"].as_array().expect("tools") {
        let operation = Operation::named(tool["name"].as_str().expect("a name")).expect("an operation");
        let required = tool["inputSchema"]["required"].as_array();
        let asks = required.is_some_and(|required| required.contains(&json!("meta")));
        assert_eq!(
            asks,
            operation.row().effect.needs_key(),
            "only for a key: the desktop agent need not name itself: {tool}"
        );
    }
    let params = json!({ "name": "get_product", "arguments": { "catalog": { "id": "prod_abc123" } } });
    let answer = agent.ask(&rpc("tools/call", &params));
    assert_eq!(answer["result"]["structuredContent"]["product"]["id"], "prod_abc123");
    let refused = rpc("tools/call", &json!({ "name": "get_product", "arguments": {} }));
    let failed = agent.ask(&refused);
    assert_eq!(failed["result"]["isError"], true, "{failed}");
    assert_eq!(failed["result"]["structuredContent"]["path"], "$.catalog", "{failed}");
    assert_eq!(agent.ask(&json!([rpc("ping", &json!({}))]))["error"]["code"], -32600, "another version has batches");
    let params = json!({ "protocolVersion": "2025-03-26" });
    assert_eq!(agent.ask(&rpc("initialize", &params))["result"]["protocolVersion"], "2025-03-26");
    agent.write(json!([rpc("ping", &json!({})), refused]).to_string().as_bytes());
    let line = agent.output.next("the answers to a batch").expect("it is still there");
    let answers: Value = serde_json::from_str(&line).expect("JSON");
    assert_eq!((&answers[0]["result"], &answers[1]["result"]["isError"]), (&json!({}), &json!(true)), "{answers}");
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn whoever_shakes_no_hands_gets_the_error_of_json_rpc() {
    let mut agent = Agent::start();
    let failed = agent.ask(&rpc("tools/call", &json!({ "name": "get_product", "arguments": {} })));
    assert_eq!(failed["error"]["code"], -32602);
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn bad_lines_get_an_error_each_and_the_next_line_works() {
    let mut agent = Agent::start();
    let ping = rpc("ping", &json!({}));
    let too_long = vec![b'x'; 1024 * 1024 + 1];
    for (line, code) in [
        (b"garbage".as_slice(), -32700),
        (b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi", -32700),
        (b"\xff\xfe", -32700),
        (b"[]", -32600),
        (b"{}", -32600),
        (&too_long, -32600),
    ] {
        agent.write(line);
        assert_eq!(agent.read()["error"]["code"], code, "{:.40}", String::from_utf8_lossy(line));
        assert_eq!(agent.ask(&ping)["result"], json!({}));
    }
    agent.write(b"");
    agent.write(b"   \r");
    assert_eq!(agent.ask(&ping)["result"], json!({}), "blank lines are passed over");
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn the_end_of_the_input_is_the_end() {
    assert_eq!(Agent::start().end().code(), Some(0));
    let mut agent = Agent::start();
    // A last line without a line feed is still answered.
    let input = agent.input.as_mut().expect("an open input");
    input.write_all(rpc("ping", &json!({})).to_string().as_bytes()).expect("it listens");
    agent.input = None;
    assert_eq!(agent.read()["result"], json!({}));
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn the_modern_era_needs_no_headers_here() {
    let mut agent = Agent::start();
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {}
    });
    let discovered = agent.ask(&rpc("server/discover", &json!({ "_meta": meta })));
    assert_eq!(discovered["result"]["resultType"], "complete");
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn without_a_public_url_the_page_for_the_buyer_is_served_on_this_machine() {
    let mut agent = Agent::start();
    let url = agent.continue_url();
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("an address");
    let address: std::net::SocketAddr = host.parse().expect("an address");
    assert!(address.ip().is_loopback(), "{url}");
    let mut connection = Connection::open(address);
    assert!(connection.write(&request("GET", &format!("/{path}"), &[("Host", host)], b"")), "it listens");
    let page = connection.read().expect("a page");
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.body.contains("Runner Pro"), "{page:?}");
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn a_public_url_is_where_the_buyer_goes_on() {
    let mut agent = Agent::with(&["--public-url", "https://shop.example"]);
    assert!(agent.continue_url().starts_with("https://shop.example/continue/"));
    assert_eq!(agent.end().code(), Some(0));
    let files = folder();
    let file = files.path().join("gateway.toml");
    std::fs::write(&file, "[server]\npublic_url = \"https://file.example\"\n").expect("a file");
    let mut agent = Agent::with(&["--config", file.to_str().expect("a path")]);
    assert!(agent.continue_url().starts_with("https://file.example/continue/"));
    assert_eq!(agent.end().code(), Some(0));
}

#[test]
fn another_backend_is_opened_as_by_serve() {
    let data = folder();
    let output = binary().args(["mcp", "--stdio", "--backend", "shopify", "--data-dir"]).arg(data.path()).ends();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains("upstream.url"), "{said}");
}
