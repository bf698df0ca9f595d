//! Actions of an operator at a running gateway: reload, pause, block, shutdown.

mod commands;
mod copies;
mod guesses;
mod pages;
mod recovery;
mod reloads;
mod storage;
mod taken_up;

use std::{
    fs,
    net::SocketAddr,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use ucp_core::Release;

use crate::{
    harness::{Gateway, PROFILE, REST_HEADERS, eventually, folder, sample_shop},
    purchase::shopper::{Shopper, lines, ready, total},
    setup::{Configured, Setup, Transport},
    wire::{Connection, PATIENCE, Response, request},
};

pub(crate) const ADMIN: [&str; 2] = ["--admin-listen", "127.0.0.1:0"];

/// Listen address of the admin API.
pub(crate) fn admin(gateway: &Gateway) -> SocketAddr {
    let line = gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    line.expect("where it listens").parse().expect("an address")
}

pub(crate) fn ask(address: SocketAddr, method: &str, path: &str, body: &[u8]) -> Response {
    let mut connection = Connection::open(address);
    assert!(connection.write(&request(method, path, &[("Content-Type", "application/json")], body)));
    connection.read().expect("an answer")
}

fn search(gateway: &Gateway) -> Response {
    gateway.send("POST", "/catalog/search", REST_HEADERS, b"{\"query\":\"runner\"}")
}

fn configured(toml: &str) -> (Setup, tempfile::TempDir) {
    (Setup::new(toml).arguments(&ADMIN), sample_shop())
}

fn reload(address: SocketAddr) -> (u16, Value) {
    let response = ask(address, "POST", "/reload", b"");
    (response.status, response.json())
}

#[test]
fn a_changed_configuration_is_read_again() {
    let (setup, data) = configured("[limits]\nanonymous = \"none\"\n");
    let path = setup.path("gateway.toml");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    for _ in 0..20 {
        assert_eq!(search(&gateway).status, 200);
    }
    // A bad one is refused with all of its reasons, and changes nothing.
    fs::write(&path, "[limits]\nanonymous = \"much\"\n[server]\nnonsense = 1\n").expect("a file");
    let (status, refused) = reload(address);
    let problem = refused["error"].as_str().expect("a text");
    assert_eq!(status, 422);
    assert!(problem.contains("limits.anonymous") && problem.contains("nonsense"), "{problem}");
    assert_eq!(search(&gateway).status, 200);
    // So is one of another shop.
    fs::write(&path, "[upstream]\nbackend = \"ucp\"\nurl = \"https://shop.example\"\n").expect("a file");
    let (status, refused) = reload(address);
    assert_eq!(status, 422);
    assert!(refused["error"].as_str().is_some_and(|why| why.contains("started anew")), "{refused}");
    // A good one holds from the next call on, but for what belongs to the process.
    fs::write(&path, "[limits]\nanonymous = { per_second = 1, burst = 2 }\n[server]\nmax_connections = 77\n")
        .expect("a file");
    assert_eq!(reload(address), (200, json!({ "reloaded": true, "from_next_start": ["server.max_connections"] })));
    let refused = (0..20).filter(|_| search(&gateway).status == 429).count();
    assert!(refused > 0, "the new limit holds");
    // The same over SIGHUP.
    fs::write(&path, "[limits]\nanonymous = \"none\"\n").expect("a file");
    gateway.signal("HUP");
    crate::harness::eventually("the limit is gone", crate::wire::PATIENCE, || {
        (0..20).all(|_| search(&gateway).status == 200).then_some(())
    });
}

#[test]
fn synonyms_of_the_configuration_are_read_again() {
    let (setup, data) = configured("[search]\nsynonyms = [\"ours.txt\"]\n");
    let setup = setup.file("ours.txt", "zoomer, runner\n");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    let found = |words: &str| {
        let answer = gateway.search(&json!({ "query": words }));
        answer["products"].as_array().map_or(0, Vec::len)
    };
    assert!(found("zoomer") > 0 && found("whizzer") == 0);
    fs::write(setup.path("ours.txt"), "whizzer => runner\nzoomer\n").expect("a file");
    let (status, refused) = reload(address);
    let problem = refused["error"].as_str().expect("a text");
    assert!(status == 422 && problem.contains("ours.txt: line 2: `zoomer` alone"), "{problem}");
    assert!(problem.contains("search.synonyms"), "{problem}");
    assert!(found("zoomer") > 0 && found("whizzer") == 0, "what was there stays");
    fs::write(setup.path("ours.txt"), "whizzer => runner\n").expect("a file");
    assert_eq!(reload(address).0, 200);
    eventually("the other synonyms are used", PATIENCE, || (found("whizzer") > 0).then_some(()));
    assert_eq!(found("zoomer"), 0);
}

#[test]
fn a_shop_that_is_paused_refuses_calls_until_it_is_resumed() {
    let (setup, data) = configured("[server]\nallowed_origins = [\"https://app.example\"]\n");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    let shown = |paused| json!([{ "id": "default", "name": "Example Outfitters", "ready": true, "paused": paused }]);
    assert_eq!(ask(address, "GET", "/shops", b"").json(), shown(false));
    assert_eq!(ask(address, "POST", "/shops/other/pause", b"").status, 404);
    assert_eq!(ask(address, "POST", "/shops/default/pause", b"").status, 200);
    assert_eq!(ask(address, "GET", "/shops", b"").json(), shown(true));
    let refused = search(&gateway);
    assert_eq!((refused.status, &refused.json()["code"]), (503, &json!("unavailable")));
    assert!(refused.header("retry-after").is_some() && refused.json()["content"].to_string().contains("paused"));
    // Pages that may call the shop can read that, too.
    let page = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST")];
    assert_eq!(gateway.send("OPTIONS", "/mcp", &page, b"").status, 204);
    for (method, path) in [("POST", "/mcp"), ("POST", "/catalog/search"), ("GET", "/.well-known/ucp")] {
        let refused = gateway.send(method, path, &page, b"{}");
        assert_eq!(refused.header("access-control-allow-origin"), Some("https://app.example"), "{path}: {refused:?}");
        assert_eq!(refused.status, 503, "{path}");
    }
    drop(gateway);
    // It is the shop that is paused, not the process.
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    assert_eq!(search(&gateway).status, 503);
    assert_eq!(ask(admin(&gateway), "POST", "/shops/default/resume", b"").status, 200);
    assert_eq!(search(&gateway).status, 200);
    let audited = fs::read_to_string(data.path().join("audit.jsonl")).expect("the audit log");
    let audited: Vec<Value> = audited.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let actions: Vec<_> = audited.iter().map(|line| (&line["actor"], &line["action"], &line["subject"])).collect();
    assert_eq!(json!(actions), json!([["local", "pause", "default"], ["local", "resume", "default"]]));
}

#[test]
fn calls_of_operators_name_one_host() {
    let (setup, data) = configured("");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    let status = |headers: &str| {
        let mut connection = Connection::open(address);
        assert!(connection.write(format!("GET /shops HTTP/1.1\r\n{headers}\r\n").as_bytes()));
        connection.read().expect("an answer").status
    };
    assert_eq!(status(&format!("Host: {address}\r\n")), 200);
    let unsound = ["", "Host: user@localhost\r\n", "Host: localhost:0\r\n", "Host: a\r\nHost: b\r\n"];
    assert_eq!(unsound.map(status), [400; 4]);
}

#[test]
fn a_platform_that_is_blocked_is_refused() {
    let (setup, data) = configured("");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    let named = json!({ "profile": PROFILE }).to_string();
    for nonsense in ["", "{}", "{\"profile\":\"nobody\"}", "{\"profile\":\"https://a.example\",\"more\":1}"] {
        assert_eq!(ask(address, "POST", "/platforms/block", nonsense.as_bytes()).status, 400, "{nonsense}");
    }
    assert_eq!(search(&gateway).status, 200);
    assert_eq!(ask(address, "POST", "/platforms/block", named.as_bytes()).status, 200);
    assert_eq!(ask(address, "GET", "/platforms/blocked", b"").json(), json!([PROFILE]));
    let refused = search(&gateway);
    assert_eq!((refused.status, &refused.json()["code"]), (403, &json!("forbidden")));
    let other = [("Content-Type", "application/json"), ("UCP-Agent", "profile=\"https://other.example/profile\"")];
    assert_eq!(gateway.send("POST", "/catalog/search", &other, b"{\"query\":\"runner\"}").status, 200);
    assert_eq!(ask(address, "POST", "/platforms/unblock", named.as_bytes()).status, 200);
    assert_eq!(search(&gateway).status, 200);
}

#[test]
fn a_gateway_that_was_told_to_end_is_not_ready_and_still_serves_for_a_while() {
    let (setup, data) = configured("[server]\nshutdown_delay_ms = 3000\n");
    let mut gateway = setup.spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    assert_eq!(ask(address, "GET", "/readyz", b"").status, 200);
    gateway.signal("TERM");
    crate::harness::eventually("it is not ready", crate::wire::PATIENCE, || {
        let answer = ask(address, "GET", "/readyz", b"");
        (answer.status == 503 && answer.json()["reasons"]["shutdown"].is_string()).then_some(())
    });
    assert_eq!(search(&gateway).status, 200, "the listener is open");
    assert_eq!(gateway.wait().code(), Some(0));
}

#[test]
fn a_second_signal_ends_it_at_once() {
    let (setup, data) = configured("[server]\nshutdown_delay_ms = 600000\n");
    let mut gateway = setup.spawn("127.0.0.1:0", data.path());
    gateway.signal("TERM");
    let address = admin(&gateway);
    crate::harness::eventually("it has heard the first signal", crate::wire::PATIENCE, || {
        (ask(address, "GET", "/readyz", b"").status == 503).then_some(())
    });
    let told = Instant::now();
    gateway.signal("TERM");
    assert_eq!(gateway.wait().code(), Some(0));
    assert!(told.elapsed() < Duration::from_secs(300), "it does not wait for the delay");
}

/// Messages at the socket of systemd.
#[test]
fn a_service_manager_is_told_what_happens() {
    let directory = folder();
    let socket = std::os::unix::net::UnixDatagram::bind(directory.path().join("notify")).expect("a socket");
    socket.set_read_timeout(Some(crate::wire::PATIENCE)).expect("a time-out");
    let heard = || {
        let mut buffer = [0; 256];
        let length = socket.recv(&mut buffer).expect("a message within the time");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let name = directory.path().join("notify");
    let setup = Setup::new("").variable("NOTIFY_SOCKET", name.to_str().expect("UTF-8"));
    let mut gateway: Configured = setup.start();
    assert_eq!(heard().trim(), "READY=1");
    gateway.signal("HUP");
    let reloading = heard();
    assert!(reloading.contains("RELOADING=1") && reloading.contains("MONOTONIC_USEC="), "{reloading}");
    assert_eq!(heard().trim(), "READY=1");
    gateway.signal("TERM");
    assert_eq!(heard().trim(), "STOPPING=1");
    assert_eq!(gateway.wait().code(), Some(0));
}

/// Events contain actions of agents, and no data of buyers. Returns a metric with its labels, as `/metrics` writes it.
fn metric(address: SocketAddr, name: &str) -> u64 {
    let text = ask(address, "GET", "/metrics", b"").body;
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_default().parse().unwrap_or(0)
}

#[test]
fn what_cannot_be_written_is_counted_and_told_and_stops_nothing() {
    let root = folder();
    let fifo = root.path().join("events.fifo");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().expect("mkfifo runs").success());
    let events = |file: &str| Setup::new(&format!("[events]\nfile = \"{file}\"\n")).arguments(&ADMIN);

    // A disk that is full.
    let data = sample_shop();
    let mut gateway = events("/dev/full").spawn("127.0.0.1:0", data.path());
    let address = admin(&gateway);
    for _ in 0..3 {
        assert_eq!(search(&gateway).status, 200);
    }
    crate::harness::eventually("the events are counted", crate::wire::PATIENCE, || {
        (metric(address, "ucp_telemetry_items_total{of=\"events_file\",result=\"dropped\"}") == 3).then_some(())
    });
    crate::harness::eventually("it is told", crate::wire::PATIENCE, || {
        let log = gateway.stderr();
        let told = log.lines().find(|line| line.contains("events dropped"))?;
        assert!(told.contains("No space left on device"), "{told}");
        Some(())
    });
    assert_eq!(search(&gateway).status, 200);
    gateway.terminate();
    assert!(gateway.stderr().contains("total=4"), "the rest is told at the end: {}", gateway.stderr());

    // Nobody reads, and somebody does later.
    let data = sample_shop();
    let mut gateway = events(&fifo.display().to_string()).spawn("127.0.0.1:0", data.path());
    for _ in 0..3 {
        assert_eq!(search(&gateway).status, 200);
    }
    let (sender, lines) = std::sync::mpsc::channel();
    let path = fifo.clone();
    std::thread::spawn(move || {
        let file = fs::File::open(path).expect("the FIFO");
        std::io::BufRead::lines(std::io::BufReader::new(file)).map_while(Result::ok).for_each(|line| {
            let _ = sender.send(line);
        });
    });
    for _ in 0..3 {
        let line = lines.recv_timeout(crate::wire::PATIENCE).expect("an event");
        assert!(line.contains("catalog_search"), "{line}");
    }
    gateway.terminate();
    // Nor does one that nobody ever reads hold up the end.
    let data = sample_shop();
    let mut gateway = events(&fifo.display().to_string()).spawn("127.0.0.1:0", data.path());
    assert_eq!(search(&gateway).status, 200);
    assert!(gateway.terminate().success());

    // The log itself.
    let data = sample_shop();
    let setup = Setup::new("").arguments(&ADMIN).arguments(&["--log-level", "info", "--listen", "127.0.0.1:0"]);
    let mut command = setup.command("serve");
    command.arg("--data-dir").arg(data.path());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("a full disk");
    let mut process = ucp_testkit::leash::Leashed::start(&command, std::process::Stdio::piped(), full);
    let printed = ucp_testkit::leash::Lines::of(process.stdout());
    let printed = printed.until("what a gateway prints at its start", |line| line.contains(" -d "));
    let address = |of: &str| -> SocketAddr {
        let line = printed.iter().find_map(|line| line.trim().strip_prefix(of)?.trim().strip_prefix("http://"));
        line.expect("where it listens").parse().expect("an address")
    };
    assert_eq!(ask(address("REST"), "GET", "/nowhere", b"").status, 404);
    let address = address("admin");
    crate::harness::eventually("lost lines are counted", crate::wire::PATIENCE, || {
        // The line about what is lost is lost, too.
        (metric(address, "ucp_log_lines_dropped_total") > 0).then_some(())
    });
}

#[test]
fn commerce_is_told_as_events() {
    let files = folder();
    let (events, data) = (files.path().join("events.jsonl"), crate::harness::flower_shop());
    let toml = format!("[events]\nfile = \"{}\"\n", events.display());
    let gateway = Setup::new(&toml).arguments(&["--sample", "flower-shop"]).spawn("127.0.0.1:0", data.path());
    for transport in [Transport::Rest, Transport::Tool] {
        let shopper = Shopper::new(&gateway, Release::NEWEST, transport);
        shopper.call("search_catalog", None, &json!({ "query": "a-secret-wish" }));
        let cart =
            shopper.call("create_cart", None, &json!({ "line_items": lines(&[("bouquet_roses", 1)]) })).document();
        let checkout = shopper.create(&ready(&[("bouquet_roses", 2)]));
        let declined = shopper.complete(&checkout, "fail_token");
        assert_ne!(declined["status"], "completed");
        let completed = shopper.complete(&checkout, "success_token");
        assert_eq!(completed["status"], "completed", "{completed}");
        let told = crate::harness::eventually("all events are written", crate::wire::PATIENCE, || {
            let text = fs::read_to_string(&events).ok()?;
            let all: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
            let name = if transport == Transport::Rest { "rest" } else { "mcp" };
            let all: Vec<_> = all.into_iter().filter(|event| event["transport"] == name).collect();
            all.iter().any(|event| event["event_type"] == "checkout_session_completed").then_some(all)
        });
        let kinds: Vec<_> = told.iter().filter_map(|event| event["event_type"].as_str()).collect();
        assert_eq!(
            kinds,
            [
                "catalog_search",
                "cart_created",
                "checkout_session_created",
                "payment_failed",
                "payment_completed",
                "checkout_session_completed"
            ]
        );
        assert_eq!(told[1]["cart_id"], cart["id"]);
        let last = told.last().expect("an event");
        let members =
            ["checkout_session_id", "checkout_status", "order_id", "currency", "total_amount", "line_item_count"];
        let expected = json!({
            "checkout_session_id": checkout["id"], "checkout_status": "completed", "order_id": completed["order"]["id"],
            "currency": "USD", "total_amount": total(&completed, "total"), "line_item_count": 1,
        });
        let found: Value = members.iter().map(|name| ((*name).to_owned(), last[*name].clone())).collect();
        assert_eq!(found, expected);
    }
    let text = fs::read_to_string(&events).expect("the events");
    for secret in ["a-secret-wish", "jane@example.com", "bouquet_roses", "_token"] {
        assert!(!text.contains(secret), "{secret}");
    }
}

/// Steps of orders and checkouts without a request are events too, once, by whichever process causes them.
#[test]
fn steps_of_orders_and_abandoned_checkouts_are_told_as_events() {
    let lifetimes = json!({ "cart_seconds": 15, "checkout_seconds": 15 });
    let (files, data) = (folder(), crate::purchase::conditions::directory(|terms| terms["lifetimes"] = lifetimes));
    let events = files.path().join("events.jsonl");
    let setup = Setup::new(&format!("[events]\nfile = \"{}\"\n", events.display()));
    let setup = setup.arguments(&["--sample", "flower-shop"]).arguments(&ADMIN);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let shopper = Shopper::rest(&gateway);
    let completed = shopper.complete(&shopper.create(&ready(&[("bouquet_roses", 2)])), "success_token");
    let order = completed["order"]["id"].as_str().expect("an order");
    let step = |name: &str, details: Value| {
        let response = ask(admin(&gateway), "POST", &format!("/orders/{order}/{name}"), details.to_string().as_bytes());
        assert_eq!(response.status, 200, "{response:?}");
        response.json()
    };
    let line = step("ship", json!({}))["line_items"][0]["id"].clone();
    step("deliver", json!({ "line_items": [{ "id": line, "quantity": 1 }] }));
    let mut command = crate::harness::binary();
    command
        .args(["orders", "refund", order, "--amount", "100", "--reason", "a-secret-reason", "--data-dir"])
        .arg(data.path());
    let output = crate::harness::Ends::ends(&mut command);
    assert!(output.status.success(), "{output:?}");
    // One is canceled, and one is left.
    let canceled = shopper.create(&ready(&[("bouquet_roses", 1)]));
    shopper.call("cancel_checkout", canceled["id"].as_str(), &Value::Null);
    let left = shopper.create(&ready(&[("bouquet_roses", 1)]));
    let told = || -> Option<Vec<Value>> {
        let text = fs::read_to_string(&events).ok()?;
        let all: Vec<Value> = text.lines().map(serde_json::from_str).collect::<Result<_, _>>().ok()?;
        Some(all.into_iter().filter(|event| event["request_id"].is_null()).collect())
    };
    let all = crate::harness::eventually("the checkout is abandoned", crate::wire::PATIENCE, || {
        told().filter(|all| all.iter().any(|event| event["cancel_reason"] == "expired"))
    });
    let (orders, abandoned): (Vec<_>, Vec<_>) = all.iter().partition(|event| event["cancel_reason"].is_null());
    let kinds: Vec<_> = orders.iter().filter_map(|event| event["event_type"].as_str()).collect();
    assert_eq!(kinds, ["order_created", "order_shipped", "order_delivered", "order_updated"]);
    for event in &orders {
        assert_eq!((&event["order_id"], &event["currency"]), (&json!(order), &json!("USD")), "{event}");
        assert_eq!(event["checkout_session_id"], completed["id"], "{event}");
    }
    assert_eq!((&orders[3]["adjustment_type"], &orders[3]["adjustment_amount"]), (&json!("refund"), &json!(-100)));
    assert_eq!(abandoned.len(), 1, "{abandoned:?}");
    assert_eq!((&abandoned[0]["checkout_session_id"], &abandoned[0]["platform"]), (&left["id"], &json!("other")));
    let metrics = ask(admin(&gateway), "GET", "/metrics", b"").body;
    let counted = "ucp_funnel_total{platform=\"other\",shop=\"default\",step=\"abandoned\"} 1";
    assert!(metrics.lines().any(|line| line == counted), "{metrics}");
    // Not again by the next process.
    let count = told().expect("the events").len();
    drop(gateway);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    Shopper::rest(&gateway).complete(&Shopper::rest(&gateway).create(&ready(&[("bouquet_roses", 1)])), "success_token");
    let all = crate::harness::eventually("the next order", crate::wire::PATIENCE, || {
        told().filter(|all| all.iter().filter(|event| event["event_type"] == "order_created").count() == 2)
    });
    assert_eq!(all.len(), count + 1, "{all:?}");
    let text = fs::read_to_string(&events).expect("the events");
    for secret in ["a-secret-reason", "jane@example.com", "bouquet_roses"] {
        assert!(!text.contains(secret), "{secret}");
    }
}
