//! The line that the operator reads about each call.

use std::{
    collections::BTreeMap,
    io::Read as _,
    process::{Child, Command, Stdio},
    time::Instant,
};

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::{PATIENCE, eventually};

use crate::{
    harness::{Gateway, REST_HEADERS, binary, flower_shop, folder, sample_shop},
    platforms::host::{Host, Page, profile_of},
    purchase::shopper::{Shopper, lines, new_key},
    setup::{Configured, REQUIRE, Setup, Transport},
    wire,
};

const JSON: [&str; 4] = ["--log-format", "json", "--log-level", "info"];

/// Stages of a call, in their order.
const STAGES: [&str; 6] = ["identify", "read", "domain", "upstream", "store", "encode"];

/// Everything that a gateway has logged, line by line.
fn logged(stderr: &str) -> Vec<Value> {
    stderr.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("JSON: {line}"))).collect()
}

/// The lines about the request with this identifier, once the last of them is there: that of the call.
#[track_caller]
fn about(gateway: &Gateway, request_id: &str) -> Vec<Value> {
    eventually(&format!("a line about {request_id}"), PATIENCE, || {
        let text = gateway.stderr();
        // The last line may be only half there.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let lines: Vec<_> = logged(whole).into_iter().filter(|line| line["request_id"] == request_id).collect();
        lines.iter().any(|line| line["message"] == "call").then_some(lines)
    })
}

/// The one line that says what came of a request.
#[track_caller]
fn line(gateway: &Gateway, request_id: &str) -> Value {
    let mut lines = about(gateway, request_id);
    lines.retain(|line| line["message"] == "call");
    assert_eq!(lines.len(), 1, "{lines:?}");
    lines.remove(0)
}

fn members(line: &Value, names: &[&str]) -> Value {
    names.iter().map(|name| ((*name).to_owned(), line[name].clone())).collect()
}

#[test]
fn a_call_has_one_line_that_says_what_came_of_it() {
    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    let host = Host::start();
    let known = host.put("/known", Page::json(&profile_of(Release::V2026_04_08)));
    let other = host.put("/other", Page::json(&profile_of(Release::NEWEST)));
    let registered = format!("[[platform]]\nname = \"A \\\"known\\\" one\"\nprofile = \"{known}\"\n");
    let gateway = Setup::new(&[REQUIRE, &registered].concat()).arguments(&JSON).start();
    let parent = format!("00-{TRACE}-00f067aa0ba902b7-01");
    let body = json!({ "ids": ["prod_abc123"] });
    for (transport, profile, release, platform) in [
        ("rest", &known, "2026-04-08", json!("A \"known\" one")),
        ("mcp", &known, "2026-04-08", json!("A \"known\" one")),
        ("rest", &other, "2026-08-25", json!("other")),
        ("mcp", &other, "2026-08-25", json!("other")),
    ] {
        let name = format!("{transport}-{release}");
        let agent = format!("profile=\"{profile}\"");
        let headers = [
            ("Content-Type", "application/json"),
            ("UCP-Agent", &*agent),
            ("Request-Id", &*name),
            ("traceparent", &*parent),
        ];
        let (path, sent) = match transport {
            "rest" => ("/catalog/lookup", body.clone()),
            _ => (
                "/mcp",
                json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
                { "name": "lookup_catalog", "arguments": { "catalog": body } } }),
            ),
        };
        let sent = sent.to_string();
        let response = gateway.send("POST", path, &headers, sent.as_bytes());
        assert_eq!(response.status, 200, "{response:?}");
        let line = line(&gateway, &name);
        let said = members(
            &line,
            &[
                "level",
                "message",
                "trace_id",
                "shop",
                "transport",
                "release",
                "operation",
                "platform",
                "outcome",
                "status",
                "bytes_in",
                "bytes_out",
            ],
        );
        assert_eq!(
            said,
            json!({
                "level": "INFO", "message": "call", "trace_id": TRACE, "shop": "default", "transport": transport,
                "release": release, "operation": "lookup_catalog", "platform": platform, "outcome": "ok", "status": 200,
                "bytes_in": sent.len(), "bytes_out": response.body.len(),
            }),
            "{line}"
        );
        let origin = profile.strip_suffix("/other").map(Value::from).unwrap_or_default();
        assert_eq!(line["origin"], origin, "{line}");
        assert!(line["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{line}");
        let spent: Vec<_> = STAGES.map(|stage| line["ms"][stage].as_f64().expect("a time")).into();
        let total = line["ms"]["total"].as_f64().expect("a time");
        // Each is rounded down to a microsecond.
        assert!(total > 0.0 && (spent.iter().sum::<f64>() - total).abs() < 0.0075, "{line}");
    }
}

#[test]
fn refusals_have_their_line_wherever_they_are_made() {
    let gateway = Setup::new(REQUIRE).arguments(&JSON).start();
    let json = ("Content-Type", "application/json");
    for (name, path, headers, body, said) in [
        ("nowhere", "/nowhere", vec![json], "{}", json!(["http", null, "unknown_path", 404])),
        ("text", "/catalog/lookup", vec![], "{}", json!(["rest", "lookup_catalog", "unsupported_media_type", 415])),
        ("half", "/catalog/lookup", vec![json], "{", json!(["rest", "lookup_catalog", "malformed_json", 400])),
        (
            "nobody",
            "/catalog/lookup",
            vec![json],
            "{\"ids\":[\"a\"]}",
            json!(["rest", "lookup_catalog", "invalid_profile_url", 400]),
        ),
        ("rpc", "/mcp", vec![json], "{", json!(["mcp", null, "malformed_json", 400])),
        (
            "method",
            "/mcp",
            vec![json],
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}",
            json!(["mcp", null, "unknown_method", 404]),
        ),
    ] {
        let headers = [&headers[..], &[("Request-Id", name)]].concat();
        let response = gateway.send("POST", path, &headers, body.as_bytes());
        let line = line(&gateway, name);
        assert_eq!(json!([line["transport"], line["operation"], line["outcome"], line["status"]]), said, "{line}");
        assert_eq!(line["status"], response.status, "{line}");
    }
}

/// No line contains data of buyers, credentials, or search words.
#[test]
fn a_line_says_nothing_about_buyers() {
    let hidden = ["hunter2", "ada@example.com", "Lovelace", "zanzibar", "bouquet_roses", "sesame"];
    for searches in [false, true] {
        let configuration = format!("[log]\nsearches = {searches}\n");
        let data = flower_shop();
        let gateway =
            Setup::new(&configuration).arguments(&JSON).arguments(&["--sample", "flower-shop"]).start_on(data);
        let rest = Shopper::rest(&gateway).header("Authorization", "Basic hunter2").header("Cookie", "sesame");
        for transport in Transport::ALL {
            let shopper = rest.over(transport);
            drop(shopper.call("search_catalog", None, &json!({ "query": "zanzibar" })));
            let buyer = json!({ "email": "ada@example.com", "first_name": "Ada", "last_name": "Lovelace" });
            let wish = json!({ "line_items": lines(&[("bouquet_roses", 1)]), "buyer": buyer });
            drop(shopper.call("create_checkout", None, &wish));
        }
        drop(gateway.send("GET", "/nowhere/ada@example.com", &[("Request-Id", "last")], b""));
        about(&gateway, "last");
        let text = gateway.stderr();
        for word in hidden {
            assert_eq!(text.contains(word), searches && word == "zanzibar", "{word}: {text}");
        }
        if searches {
            let asked = logged(&text).into_iter().filter(|line| line["query"] == "zanzibar").count();
            assert_eq!(asked, Transport::ALL.len(), "{text}");
        }
    }
}

#[test]
fn a_line_tells_new_calls_from_replayed_and_conflicting_ones() {
    let data = flower_shop();
    let gateway = Setup::new("").arguments(&JSON).arguments(&["--sample", "flower-shop"]).start_on(data);
    let key = new_key();
    for (name, quantity, said) in [
        ("first", 1, json!(["new", "ok"])),
        ("again", 1, json!(["replayed", "ok"])),
        ("other", 2, json!(["conflict", "idempotency_conflict"])),
    ] {
        let shopper = Shopper::rest(&gateway).header("Request-Id", name);
        let wish = json!({ "line_items": lines(&[("bouquet_roses", quantity)]) });
        drop(shopper.keyed(Some(&key), "create_cart", None, &wish));
        let line = line(&gateway, name);
        assert_eq!(json!([line["idempotency"], line["outcome"]]), said, "{line}");
        assert!(line["ms"]["store"].as_f64().is_some_and(|ms| ms > 0.0), "{line}");
    }
    let shopper = Shopper::rest(&gateway).header("Request-Id", "missing");
    drop(shopper.call("get_cart", Some("none"), &Value::Null));
    let line = line(&gateway, "missing");
    assert_eq!(json!([line["outcome"], line["idempotency"]]), json!(["not_found", null]), "{line}");
}

#[test]
fn a_line_tells_where_a_read_was_answered_and_how_long_the_shop_took() {
    const LOOPBACK: &str = "[profiles]\nloopback = true\n";
    let mut shop = Setup::new(LOOPBACK).arguments(&["--sample", "flower-shop"]).start_on(folder());
    let front = Setup::new(LOOPBACK)
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{}", shop.address)])
        .arguments(&JSON)
        .start_on(folder());
    let ask = |name: &str, product: &str| {
        let headers = [REST_HEADERS, &[("Request-Id", name)]].concat();
        drop(front.send("POST", "/catalog/lookup", &headers, json!({ "ids": [product] }).to_string().as_bytes()));
        line(&front, name)
    };
    let first = ask("first", "bouquet_roses");
    assert_eq!(json!([first["cache"], first["outcome"]]), json!(["miss", "ok"]), "{first}");
    assert!(first["ms"]["upstream"].as_f64().is_some_and(|ms| ms > 0.0), "{first}");
    let second = ask("second", "bouquet_roses");
    assert_eq!(json!([second["cache"], second["ms"]["upstream"]]), json!(["hit", 0.0]), "{second}");
    shop.kill();
    // Why it failed stands under the same identifier.
    let call = ask("failed", "pot_ceramic");
    assert_eq!(json!([call["status"], call["outcome"]]), json!([503, "unavailable"]), "{call}");
    let lines = about(&front, "failed");
    assert!(lines.iter().any(|line| line["message"] == "upstream request failed"), "{lines:?}");
}

#[test]
fn a_flood_of_refusals_is_sampled_and_counted() {
    const FLOOD: usize = 300;
    let gateway = Setup::new("").arguments(&JSON).start();
    for _ in 0..FLOOD {
        assert_eq!(gateway.get("/nowhere").status, 404);
    }
    drop(gateway.send("POST", "/catalog/lookup", REST_HEADERS, b"{\"ids\":[\"prod_abc123\"]}"));
    let (told, counted) = eventually("every refusal is told or counted", PATIENCE, || {
        let text = gateway.stderr();
        let lines = logged(&text[..text.rfind('\n')? + 1]);
        let told = lines.iter().filter(|line| line["outcome"] == "unknown_path").count();
        let summaries = lines.iter().filter(|line| line["message"] == "errors left out of the log");
        let counted: u64 =
            summaries.filter(|line| line["code"] == "unknown_path").filter_map(|line| line["count"].as_u64()).sum();
        (told as u64 + counted == FLOOD as u64).then_some((told, counted))
    });
    assert!(told > 0 && counted > 0, "{told} told, {counted} counted");
    // Successful requests are logged beside any flood.
    assert!(gateway.stderr().contains("\"operation\":\"lookup_catalog\""));
}

/// A shop that is gone, and callers that go on: whatever is logged about it.
#[test]
fn every_kind_of_line_that_callers_cause_is_sampled_and_counted() {
    const FLOOD: usize = 400;
    const BURST: u64 = 100;
    const LOOPBACK: &str = "[profiles]\nloopback = true\n";
    let mut shop = Setup::new(LOOPBACK).arguments(&["--sample", "flower-shop"]).start_on(folder());
    let front = Setup::new(LOOPBACK)
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{}", shop.address)])
        .arguments(&JSON)
        .start_on(folder());
    shop.kill();
    let begun = Instant::now();
    for number in 0..FLOOD {
        let body = json!({ "ids": [format!("product_{number}")] }).to_string();
        assert_eq!(front.send("POST", "/catalog/lookup", REST_HEADERS, body.as_bytes()).status, 503);
    }
    let lines = || {
        let text = front.stderr();
        logged(&text[..text.rfind('\n').map_or(0, |end| end + 1)])
    };
    eventually("lines that were left out are counted", PATIENCE, || {
        let counts = |line: &Value| line["count"].as_u64().filter(|_| line["of"] == "ucp_service::handle");
        let counted: u64 = lines().iter().filter_map(counts).sum();
        let told = lines().iter().filter(|line| line["message"] == "call failed").count();
        (counted > 0 && counted + told as u64 == FLOOD as u64).then_some(())
    });
    let mut kinds = BTreeMap::<_, u64>::new();
    for line in lines().iter().filter(|line| line["count"].is_null()) {
        let kind = json!([line["target"], line["message"], line["outcome"]]).to_string();
        *kinds.entry(kind).or_default() += 1;
    }
    let most = BURST + begun.elapsed().as_secs() + 1;
    assert!(kinds.values().all(|count| *count <= most), "at most {most} of each: {kinds:?}");
}

/// Nobody reads standard error: no call waits for that, and what is lost is counted.
#[test]
fn a_reader_of_the_log_that_stalls_stops_no_call() {
    const CALLS: usize = 12_000;
    let data = sample_shop();
    let mut command = binary();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data.path()).args(JSON);
    let mut process = Process::start(command);
    let address = process.address();
    let call = wire::request("GET", "/.well-known/ucp", &[], b"");
    let mut connection = wire::Connection::open(address);
    for _ in 0..CALLS / 100 {
        connection.write(&call.repeat(100));
        for _ in 0..100 {
            assert_eq!(connection.read().expect("an answer").status, 200);
        }
    }
    let mut stderr = process.0.stderr.take().expect("its standard error");
    let (sender, texts) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut buffer = [0; 1 << 16];
        while let Ok(length @ 1..) = stderr.read(&mut buffer) {
            let _ = sender.send(buffer[..length].to_vec());
        }
    });
    let mut text = Vec::new();
    let (told, lost) = eventually("every call is told or counted", PATIENCE, || {
        text.extend(texts.try_iter().flatten());
        let whole = String::from_utf8_lossy(&text[..text.iter().rposition(|byte| *byte == b'\n')? + 1]).into_owned();
        let lines = logged(&whole);
        let told = lines.iter().filter(|line| line["message"] == "call").count();
        let lost: u64 = lines
            .iter()
            .filter(|line| line["message"] == "log lines dropped")
            .filter_map(|line| line["total"].as_u64())
            .max()
            .unwrap_or_default();
        (told as u64 + lost >= CALLS as u64).then_some((told, lost))
    });
    assert!(told > 0 && lost > 0, "{told} told, {lost} lost");
}

struct Process(Child);

impl Process {
    fn start(mut command: Command) -> Self {
        Self(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts"))
    }

    fn address(&mut self) -> std::net::SocketAddr {
        let stdout = std::io::BufReader::new(self.0.stdout.take().expect("its standard output"));
        let mut lines = std::io::BufRead::lines(stdout).map_while(Result::ok);
        let line = lines.find(|line| line.contains("REST ")).expect("its address");
        // Read to the end, so that it can be written.
        std::thread::spawn(move || lines.for_each(drop));
        line.split("http://").nth(1).expect("an address").trim().parse().expect("an address")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn the_format_and_the_level_are_flags_variables_and_keys() {
    let ways: [fn() -> Configured; 3] = [
        || Setup::new("").arguments(&JSON).start(),
        || {
            let setup = Setup::new("").variable("UCP_GATEWAY_LOG_FORMAT", "json");
            setup.variable("UCP_GATEWAY_LOG_LEVEL", "info").start()
        },
        || {
            let setup = Setup::new("[log]\nformat = \"json\"\nlevel = \"info\"\n");
            setup.without("UCP_GATEWAY_LOG_FORMAT").without("UCP_GATEWAY_LOG_LEVEL").start()
        },
    ];
    for start in ways {
        let gateway = start();
        drop(gateway.send("GET", "/nowhere", &[("Request-Id", "a")], b""));
        assert_eq!(line(&gateway, "a")["outcome"], "unknown_path");
    }
    // Not to a terminal: JSON, and every call.
    let usual = Setup::new("").without("UCP_GATEWAY_LOG_FORMAT").without("UCP_GATEWAY_LOG_LEVEL").start();
    drop(usual.send("GET", "/nowhere", &[("Request-Id", "a")], b""));
    assert_eq!(line(&usual, "a")["outcome"], "unknown_path");
    let pretty = Setup::new("").arguments(&["--log-format", "pretty", "--log-level", "info"]).start();
    drop(pretty.send("GET", "/nowhere", &[("Request-Id", "a")], b""));
    eventually("a line for people", PATIENCE, || {
        pretty
            .stderr()
            .lines()
            .any(|line| line.contains(" INFO call request_id=a ") && line.contains(" outcome=unknown_path "))
            .then_some(())
    });
    let mut quiet = Setup::new("").arguments(&["--log-level", "warn"]).start();
    drop(quiet.get("/nowhere"));
    quiet.terminate();
    assert_eq!(quiet.stderr(), "");
}

/// A caller that hangs up before its answer has a line too.
#[test]
fn a_caller_that_hangs_up_has_its_line() {
    let host = Host::start();
    let url = host.put("/slow", Page::Held(Box::new(Page::json(&profile_of(Release::NEWEST)))));
    let gateway = Setup::new(REQUIRE).arguments(&JSON).start();
    let mut connection = gateway.connect();
    let agent = format!("profile=\"{url}\"");
    let headers = [("Content-Type", "application/json"), ("UCP-Agent", &*agent), ("Request-Id", "gone")];
    connection.write(&wire::request("POST", "/catalog/product", &headers, b"{\"id\":\"prod_abc123\"}"));
    host.wait_for_visit("/slow");
    drop(connection);
    let line = line(&gateway, "gone");
    assert_eq!(
        json!([line["outcome"], line["status"], line["operation"]]),
        json!(["client_closed", null, "get_product"])
    );
    host.release();
}
