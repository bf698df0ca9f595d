//! Starting, stopping, being treated badly, and coming back.

use std::{
    fs,
    net::TcpStream,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_testkit::{leash::Leashed, wait::PATIENCE};

use crate::{
    handoff::browser::call,
    harness::{
        Ends as _, Gateway, REST_HEADERS, Verdict, binary, elements, eventually, repository, sample_shop, texts,
    },
    platforms::host::{Host, Page, profile_of},
    setup::{Configured, REQUIRE},
    wire::{self, Connection},
};

/// Log line of a gateway that has waited for requests in vain.
const UNFINISHED: &str = "shutdown deadline reached";

fn product_call() -> Vec<u8> {
    wire::request("POST", "/catalog/product", REST_HEADERS, b"{\"id\":\"prod_abc123\"}")
}

/// A product to import.
fn product(id: &str) -> Value {
    json!({
        "id": id, "title": "Zanzibar Zither", "description": { "plain": "x" },
        "variants": [{ "id": "var_new", "price": { "amount": 1, "currency": "USD" } }]
    })
}

mod slow_clients {
    use super::*;

    /// Half a header, silence between requests, and a body that never ends: none holds a connection for ever. They are
    /// waited for together, because each takes as long as the gateway is patient.
    #[test]
    fn connections_that_stall_are_closed() {
        let gateway = Configured::start("[server]\nidle_timeout_s = 17\n");
        let start = Instant::now();
        let call = product_call();
        let (half_header, half_second, idle, slow_body) = thread::scope(|scope| {
            let half_header = scope.spawn(|| {
                let mut connection = gateway.connect();
                connection.write(b"POST /catalog/search HTTP/1.1\r\nHost: localhost\r\nX-Half");
                connection.read_to_end()
            });
            let half_second = scope.spawn(|| {
                let mut connection = gateway.connect();
                connection.write(&[&call[..], b"POST /catalog/search HTTP/1.1\r\n"].concat());
                let first = connection.read().expect("an answer");
                connection.write(b"Host: localhost\r\nX-Half");
                (first, connection.read_to_end())
            });
            let idle = scope.spawn(|| {
                let mut connection = gateway.connect();
                connection.write(&call);
                let first = connection.read().expect("an answer");
                // Longer than a header may take.
                thread::sleep(Duration::from_secs(16));
                connection.write(&call);
                (first, connection.read_to_end())
            });
            let slow_body = scope.spawn(|| {
                let mut connection = gateway.connect();
                connection.write(&call[..call.len() - 1]);
                let response = connection.read().expect("an answer");
                (response, start.elapsed())
            });
            let join = "no panic";
            (
                half_header.join().expect(join),
                half_second.join().expect(join),
                idle.join().expect(join),
                slow_body.join().expect(join),
            )
        });
        assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        assert!(half_header.iter().all(|response| response.status == 408), "closed, or told why: {half_header:?}");
        assert!(half_second.0.status == 200 && half_second.1.is_empty(), "answered, then closed: {half_second:?}");
        let (first, rest) = idle;
        assert_eq!((first.status, first.header("keep-alive")), (200, Some("timeout=17")), "{first:?}");
        assert_eq!(rest.len(), 1, "answered again, then closed: {rest:?}");
        let (response, after) = slow_body;
        let refusal = Verdict::of_rest(&response);
        assert_eq!((refusal.refusal().status, refusal.refusal().code.as_str()), (408, "request_timeout"));
        assert!(after >= Duration::from_secs(5), "a slow body is given time: {after:?}");
        // Others are served meanwhile and afterwards.
        gateway.search(&json!({ "query": "runner" }));
    }

    /// A proxy that keeps connections for a minute never sends a request on one that is being closed.
    #[test]
    fn how_long_a_connection_may_be_idle_is_said_where_it_stays() {
        let gateway = Gateway::shared();
        let told = |more: &[(&str, &str)], version: &str| {
            let call =
                wire::request("POST", "/catalog/product", &[REST_HEADERS, more].concat(), b"{\"id\":\"prod_abc123\"}");
            let call = String::from_utf8(call).expect("text").replacen("HTTP/1.1", version, 1);
            let answer = gateway.raw(call.as_bytes()).expect("an answer");
            assert_eq!(answer.status, 200, "{answer:?}");
            (answer.header("connection").map(str::to_owned), answer.header("keep-alive").map(str::to_owned))
        };
        assert_eq!(told(&[], "HTTP/1.1"), (Some("keep-alive".to_owned()), Some("timeout=75".to_owned())));
        assert_eq!(told(&[("Connection", "Close")], "HTTP/1.1"), (Some("close".to_owned()), None));
        assert_eq!(told(&[], "HTTP/1.0").1, None);
    }

    #[test]
    fn stalled_connections_do_not_keep_others_from_being_served() {
        let gateway = Gateway::start();
        let stalled: Vec<_> = (0..200)
            .map(|_| {
                let mut connection = gateway.connect();
                connection.write(b"POST /mcp HTTP/1.1\r\nHost:");
                connection
            })
            .collect();
        for _ in 0..20 {
            assert_eq!(gateway.raw(&product_call()).expect("an answer").status, 200);
        }
        drop(stalled);
    }

    /// A request that is under way keeps its place, and an idle connection makes room.
    #[test]
    fn beyond_the_cap_idle_connections_make_room() {
        let gateway = Gateway::with(&["--max-connections", "2"]);
        let hold = || {
            let mut connection = gateway.connect();
            connection.write(&product_call());
            assert_eq!(connection.read().expect("an answer").status, 200);
            connection
        };
        let (mut first, mut second) = (hold(), hold());
        let mut third = gateway.connect();
        third.write(&product_call());
        assert_eq!(third.read().expect("an answer").status, 200, "an idle connection has made room");
        assert!(first.read().is_none(), "the oldest one is closed");
        second.write(&product_call());
        assert_eq!(second.read().expect("an answer").status, 200, "the others are not");
    }

    /// Connections that are idle, send slowly, or take no answers, from one address and more of them than there are
    /// places: nobody has to wait until their time is over.
    #[test]
    fn connections_of_one_address_keep_nobody_out() {
        let gateway = Gateway::with(&["--max-connections", "64"]);
        let call = product_call();
        let half_body = &call[..call.len() - 1];
        let half_header = &b"POST /mcp HTTP/1.1\r\nHost:"[..];
        let large = wire::request("GET", "/openapi.json", &[], b"").repeat(200);
        for sent in [&b""[..], half_header, half_body, &large] {
            let held: Vec<_> = (0..200)
                .map(|_| {
                    let mut connection = gateway.connect();
                    connection.write(sent);
                    connection
                })
                .collect();
            let start = Instant::now();
            for _ in 0..20 {
                assert_eq!(gateway.raw(&call).expect("an answer").status, 200);
            }
            println!("{} bytes on each: {:?}", sent.len(), start.elapsed());
            drop(held);
        }
    }

    /// Connections of a trusted proxy carry the requests of many clients.
    #[test]
    fn connections_of_a_trusted_proxy_are_not_closed_for_others() {
        let gateway = Configured::start("[server]\nmax_connections = 2\ntrusted_proxies = [\"127.0.0.1\"]\n");
        let mut held: Vec<_> = (0..2)
            .map(|_| {
                let mut connection = gateway.connect();
                connection.write(&product_call());
                assert_eq!(connection.read().expect("an answer").status, 200);
                connection
            })
            .collect();
        let mut waiting = gateway.connect();
        waiting.write(&product_call());
        assert!(waiting.is_silent_for(Duration::from_millis(300)), "no third connection is served");
        held.pop();
        assert_eq!(waiting.read().expect("an answer").status, 200, "a place has come free");
    }

    /// Without descriptors, connections can be neither accepted nor opened to others.
    #[test]
    fn at_the_limit_of_descriptors_the_gateway_still_serves() {
        let data = sample_shop();
        let mut command = Command::new("bash");
        command.args(["-c", "ulimit -n 128; exec \"$0\" \"$@\""]).arg(binary().get_program());
        command.args(["serve", "--listen", "127.0.0.1:0", "--log-level", "warn", "--data-dir"]).arg(data.path());
        let gateway = Gateway::spawn(&command, None);
        let held: Vec<_> = (0..400).map(|_| gateway.connect()).collect();
        for _ in 0..20 {
            assert_eq!(gateway.raw(&product_call()).expect("an answer").status, 200);
        }
        // Once a minute, however often it happens; the directory of the keys may be told of as well.
        assert_eq!(gateway.stderr().matches("file descriptors run short").count(), 1, "{}", gateway.stderr());
        assert!(gateway.stderr().lines().count() <= 2, "{}", gateway.stderr());
        drop(held);
    }
}

mod stopping {
    use super::*;

    /// A request that is being handled but has not arrived whole, and the rest of it. The gateway says `100 Continue`
    /// when it begins to read the body.
    fn begin(gateway: &Gateway) -> (Connection, Vec<u8>) {
        let headers = [REST_HEADERS, &[("Expect", "100-continue")]].concat();
        let body = b"{\"id\":\"prod_abc123\"}";
        let call = wire::request("POST", "/catalog/product", &headers, body);
        let (head, tail) = call.split_at(call.len() - body.len());
        let mut connection = gateway.connect();
        connection.write(head);
        assert_eq!(connection.read().expect("a word to go on").status, 100);
        (connection, tail.to_vec())
    }

    #[test]
    fn a_running_request_is_finished_and_no_new_one_taken() {
        for signal in ["TERM", "INT"] {
            let mut gateway = Gateway::start();
            let (mut running, tail) = begin(&gateway);
            let mut idle = gateway.connect();
            idle.write(&product_call());
            assert_eq!(idle.read().expect("an answer").status, 200);
            gateway.signal(signal);
            let address = gateway.address;
            eventually("the gateway takes no more connections", PATIENCE, || TcpStream::connect(address).err());
            assert!(idle.read().is_none(), "idle connections are closed");
            assert!(gateway.is_alive(), "it waits for the request that is running");
            running.write(&tail);
            let response = running.read().expect("the answer");
            assert_eq!(response.json()["product"]["id"], "prod_abc123");
            assert_eq!(gateway.wait().code(), Some(0), "{signal}");
            assert_eq!(gateway.stderr(), "");
        }
    }

    /// Ends of the calls of a client that calls until the gateway is gone.
    #[derive(Debug, Default)]
    struct Calls {
        answered: usize,
        lost: Vec<String>,
    }

    /// Behavior of a client.
    #[derive(Clone, Copy, Debug)]
    struct Manner {
        /// `true` if it sends several requests on a connection.
        again: bool,
        /// Time before the first request of a connection.
        pause: Duration,
        /// Number of pieces of a request.
        pieces: usize,
    }

    /// Calls until the kernel takes no more connections for the gateway. Every connection that it has taken counts.
    fn call_until_refused(address: std::net::SocketAddr, manner: Manner) -> Calls {
        use std::io::{ErrorKind, Read as _, Write as _};
        let (call, mut calls) = (product_call(), Calls::default());
        while let Ok(mut stream) = TcpStream::connect(address) {
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            thread::sleep(manner.pause);
            loop {
                let mut read = [0; 16 * 1024];
                let sent =
                    call.chunks(call.len().div_ceil(manner.pieces)).try_for_each(|piece| stream.write_all(piece));
                let mut answer = Vec::new();
                let got = loop {
                    match stream.read(&mut read) {
                        Ok(0) => break Err(ErrorKind::UnexpectedEof.into()),
                        Ok(length) => answer.extend_from_slice(&read[..length]),
                        Err(error) => break Err(error),
                    }
                    let text = String::from_utf8_lossy(&answer).to_ascii_lowercase();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
                    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                    if length.and_then(|length| length.parse().ok()).is_some_and(|length| body.len() >= length) {
                        break Ok(head.contains("connection: close"));
                    }
                };
                match sent.and(got) {
                    Ok(is_last) => {
                        calls.answered += 1;
                        if is_last || !manner.again {
                            break;
                        }
                    }
                    Err(error) => {
                        calls.lost.push(format!("{manner:?}: {error}"));
                        break;
                    }
                }
            }
        }
        calls
    }

    /// Accepted connections are served: those that wait to be accepted, that have sent nothing yet, whose client is
    /// slow, and that are between two requests.
    #[test]
    fn no_connection_is_reset() {
        let (mut answered, mut lost) = (0, Vec::new());
        for delay in [0, 0, 0, 300, 300, 300] {
            let mut gateway = Configured::start(&format!("[server]\nshutdown_delay_ms = {delay}\n"));
            let address = gateway.address;
            let silent: Vec<_> = (0..20).map(|_| gateway.connect()).collect();
            let calls = thread::scope(|scope| {
                let manners = (0..48).map(|number| Manner {
                    again: number % 2 == 0,
                    // Longer than idle connections are waited for.
                    pause: Duration::from_millis([0, 20, 2_000][number % 3]),
                    pieces: 1 + number % 4 / 3,
                });
                let clients: Vec<_> =
                    manners.map(|manner| scope.spawn(move || call_until_refused(address, manner))).collect();
                thread::sleep(Duration::from_millis(300));
                gateway.signal("TERM");
                // They were accepted before the signal, and send their first request after it.
                for mut connection in silent {
                    connection.write(&product_call());
                    assert_eq!(connection.read().expect("an answer").status, 200);
                }
                clients.into_iter().map(|client| client.join().expect("no panic")).collect::<Vec<_>>()
            });
            assert_eq!(gateway.wait().code(), Some(0));
            answered += calls.iter().map(|calls| calls.answered).sum::<usize>();
            lost.extend(calls.into_iter().flat_map(|calls| calls.lost));
        }
        assert!(lost.is_empty(), "{} of {} calls were lost: {lost:#?}", lost.len(), lost.len() + answered);
        println!("{answered} calls were answered");
    }

    #[test]
    fn an_idle_gateway_stops_without_waiting_for_its_connections() {
        let mut gateway = Gateway::start();
        gateway.search(&json!({ "query": "runner" }));
        gateway.signal("TERM");
        assert_eq!(gateway.wait().code(), Some(0));
        assert!(!gateway.stderr().contains(UNFINISHED), "{}", gateway.stderr());
    }

    /// A purchase may take 25 seconds.
    #[test]
    fn a_request_that_takes_long_is_finished() {
        let (host, held) = (Host::start(), Page::Held(Box::new(Page::json(&profile_of(Release::NEWEST)))));
        for (path, drain, finishes) in [("/cut", "[server]\ndrain_timeout_ms = 100\n", false), ("/long", "", true)] {
            let mut gateway = Configured::start(&[REQUIRE, drain].concat());
            let mut running = gateway.connect();
            let agent = format!("profile=\"{}\"", host.put(path, held.clone()));
            let headers = [("Content-Type", "application/json"), ("UCP-Agent", &*agent)];
            running.write(&wire::request("POST", "/catalog/product", &headers, b"{\"id\":\"prod_abc123\"}"));
            host.wait_for_visit(path);
            gateway.signal("TERM");
            if finishes {
                // Longer than the gateway once waited.
                thread::sleep(Duration::from_secs(12));
                host.release();
                assert_eq!(running.read().expect("the answer").json()["product"]["id"], "prod_abc123");
            }
            assert_eq!(gateway.wait().code(), Some(0));
            assert_eq!(gateway.stderr().contains(UNFINISHED), !finishes, "{}", gateway.stderr());
        }
    }

    #[test]
    fn a_hangup_ends_nothing() {
        let mut gateway = Gateway::start();
        for _ in 0..3 {
            gateway.signal("HUP");
            gateway.search(&json!({ "query": "runner" }));
        }
        let (mut running, tail) = begin(&gateway);
        gateway.signal("TERM");
        gateway.signal("HUP");
        running.write(&tail);
        assert_eq!(running.read().expect("the answer").json()["product"]["id"], "prod_abc123");
        assert_eq!(gateway.wait().code(), Some(0));
    }

    /// A client that never finishes its request delays the end, but does not prevent it.
    #[test]
    fn a_request_that_never_ends_does_not_keep_the_gateway() {
        let mut gateway = Gateway::start();
        let (_running, _) = begin(&gateway);
        gateway.signal("TERM");
        assert_eq!(gateway.wait().code(), Some(0));
    }
}

mod coming_back {
    use super::*;

    #[test]
    fn a_restart_keeps_data_and_cursors() {
        let data = sample_shop();
        let mut first = Gateway::on(data.path(), &[]);
        let mut payload = json!({ "query": "color", "pagination": { "limit": 5 } });
        let whole = first.search(&json!({ "query": "color", "pagination": { "limit": 10 } }));
        payload["pagination"]["cursor"] = first.search(&payload)["pagination"]["cursor"].take();
        let product = first.anywhere(&first.product(&json!({ "id": "prod_abc123" })));
        assert!(first.terminate().success());
        let second = Gateway::on(data.path(), &[]);
        assert_eq!(texts(&second.search(&payload)["products"], "id"), texts(&whole["products"], "id")[5..]);
        assert_eq!(second.anywhere(&second.product(&json!({ "id": "prod_abc123" }))), product);
    }

    fn count(gateway: &Gateway) -> usize {
        gateway.search_all(&json!({ "filters": { "available": false } }), 50).0.len()
    }

    #[test]
    fn a_kill_while_running_loses_nothing() {
        let data = sample_shop();
        let mut gateway = Gateway::on(data.path(), &[]);
        let expected = count(&gateway);
        gateway.kill();
        assert_eq!(count(&Gateway::on(data.path(), &[])), expected);
    }

    #[test]
    fn a_kill_during_the_first_fill_leaves_a_usable_directory() {
        let expected = count(&Gateway::shared());
        let has = |folder: &Path, name: &str| {
            let entries = fs::read_dir(folder).into_iter().flatten().flatten();
            entries.into_iter().any(|entry| entry.file_name().to_string_lossy().contains(name))
        };
        type Stage = (&'static str, Box<dyn Fn(&Path) -> bool>);
        let stages: [Stage; 5] = [
            ("at once", Box::new(|_| true)),
            ("when there is a directory", Box::new(Path::exists)),
            ("when there is a database", Box::new(move |data| has(data, "shop.db"))),
            ("when it is being written", Box::new(move |data| has(data, "-wal"))),
            ("when the index is begun", Box::new(move |data| has(data, "index"))),
        ];
        for (stage, reached) in stages {
            let folder = crate::harness::folder();
            let data = folder.path().join("shop");
            let mut command = binary();
            command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(&data);
            let mut process = Leashed::start(&command, Stdio::null(), Stdio::null());
            let start = Instant::now();
            // As tight as can be: the fill takes a fraction of a second. Some files come and go; then time decides.
            while !reached(&data) && start.elapsed() < Duration::from_millis(700) {
                thread::yield_now();
            }
            process.kill();
            let gateway = Gateway::on(&data, &[]);
            assert_eq!(count(&gateway), expected, "killed {stage}");
            assert_eq!(gateway.stderr(), "", "killed {stage}");
        }
    }

    /// The index is derived: whatever happens to it, it is made again.
    #[test]
    fn a_damaged_or_missing_index_is_made_again() {
        let expected = count(&Gateway::shared());
        let files = |data: &Path| -> Vec<PathBuf> {
            fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
                for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                    if entry.path().is_dir() { walk(&entry.path(), found) } else { found.push(entry.path()) }
                }
            }
            let mut found = Vec::new();
            walk(&data.join("index"), &mut found);
            found
        };
        for damage in ["remove", "truncate", "scribble"] {
            let data = sample_shop();
            assert!(!files(data.path()).is_empty());
            for file in files(data.path()) {
                match damage {
                    "remove" => fs::remove_file(&file).expect("removed"),
                    "truncate" => fs::write(&file, b"").expect("written"),
                    _ => fs::write(&file, b"not what it was").expect("written"),
                }
            }
            let gateway = Gateway::on(data.path(), &[]);
            assert_eq!(count(&gateway), expected, "{damage}");
            assert_eq!(texts(&gateway.search(&json!({ "query": "TMX-GRN-11" }))["products"], "id"), ["prod_def456"]);
        }
    }

    /// Runs a command about the store, and gives its exit code and what it prints.
    fn store(command: &[&str], data: &Path) -> (Option<i32>, String) {
        let output = binary().arg("store").args(command).arg("--data-dir").arg(data).ends();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).expect("text"))
    }

    #[test]
    fn a_backup_that_was_made_while_serving_is_restored_elsewhere() {
        let (data, other) = (sample_shop(), crate::harness::folder());
        let gateway = Gateway::on(data.path(), &[]);
        let cart = |gateway: &Gateway, payload: &Value| {
            call(gateway, "POST", "/carts", payload)["id"].as_str().expect("an identifier").to_owned()
        };
        let payload = json!({ "line_items": [{ "item": { "id": "var_abc123_red_10" }, "quantity": 1 }] });
        let before = cart(&gateway, &payload);
        let file = other.path().join("backup.db");
        let file = file.to_str().expect("a path");
        let (code, said) = store(&["backup", file], data.path());
        assert_eq!(code, Some(0), "{said}");
        let after = cart(&gateway, &payload);
        assert_eq!(store(&["check"], data.path()), (Some(0), format!("{} has no faults.\n", data.path().display())));

        let restored = other.path().join("shop");
        for (code, says) in [(0, "A gateway can be started on it."), (1, "shop.db exists already")] {
            let done = store(&["restore", file], &restored);
            assert!(done.0 == Some(code) && done.1.contains(says), "{done:?}");
        }
        let second = Gateway::on(&restored, &[]);
        assert_eq!(count(&second), count(&gateway));
        let read = |id: &str| call(&second, "GET", &format!("/carts/{id}"), &Value::Null);
        assert_eq!(read(&before)["id"], before);
        assert_eq!(read(&after)["messages"][0]["code"], "not_found");
        assert_eq!(store(&["check"], &restored).0, Some(0));
    }

    #[test]
    fn a_check_names_an_index_of_other_products() {
        let (one, two) = (sample_shop(), crate::harness::folder());
        crate::harness::copy(one.path(), two.path());
        // From here on the databases differ, and neither index can tell by the revision whose it is.
        for (data, ids) in [(one.path(), &["prod_x"][..]), (two.path(), &["prod_x", "prod_y"])] {
            let file = data.join("goods.jsonl");
            let lines: Vec<_> =
                ids.iter().map(|id| product(id).to_string().replace("var_new", &format!("var_{id}"))).collect();
            fs::write(&file, lines.join("\n")).expect("a file");
            assert!(binary().arg("import").arg(&file).arg("--data-dir").arg(data).ends().status.success());
            assert_eq!(store(&["check"], data).0, Some(0), "the index catches up");
        }
        fs::remove_dir_all(two.path().join("index")).expect("removed");
        crate::harness::copy(&one.path().join("index"), &two.path().join("index"));
        let (code, said) = store(&["check"], two.path());
        assert!(code == Some(1) && said.starts_with("the search index has "), "{said}");
        assert!(said.ends_with("data restore FILE\n"), "{said}");
    }

    #[test]
    fn two_gateways_serve_one_directory() {
        let data = sample_shop();
        let (first, second) = (Gateway::on(data.path(), &[]), Gateway::on(data.path(), &[]));
        let payload = json!({ "query": "color" });
        let answer = first.search(&payload);
        assert_eq!(second.anywhere(&second.search(&payload)), first.anywhere(&answer));
        let mut next = payload.clone();
        next["pagination"] = json!({ "cursor": answer["pagination"]["cursor"] });
        let [of_first, of_second] = [&first, &second].map(|gateway| gateway.anywhere(&gateway.search(&next)));
        assert_eq!(of_first, of_second, "a cursor of one is good for the other");

        let file = data.path().join("goods.jsonl");
        fs::write(&file, product("prod_new").to_string()).expect("a file");
        let mut import = binary();
        assert!(import.arg("import").arg(&file).arg("--data-dir").arg(data.path()).ends().status.success());
        for gateway in [&first, &second] {
            eventually("both notice the import", PATIENCE, || {
                let found = gateway.search(&json!({ "query": "zither" }));
                (elements(&found["products"]).len() == 1).then_some(())
            });
        }
        drop(first);
        assert_eq!(second.product(&json!({ "id": "prod_new" }))["product"]["id"], "prod_new");
    }
}

mod starting {
    use super::*;

    /// Runs a command that has to fail, and gives the one line it says.
    fn fails(command: &mut Command) -> String {
        let output = command.ends();
        let stderr = String::from_utf8(output.stderr).expect("text");
        assert_eq!(output.status.code(), Some(1), "{command:?}: {stderr}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "", "nothing was served");
        assert_eq!(stderr.lines().count(), 1, "one line: {stderr}");
        assert!(stderr.starts_with("ucp-gateway: "), "{stderr}");
        stderr
    }

    fn serve(data: &Path, listen: &str) -> Command {
        let mut command = binary();
        command.args(["serve", "--listen", listen, "--data-dir"]).arg(data);
        command
    }

    #[test]
    fn a_port_in_use_is_named() {
        let gateway = Gateway::shared();
        let data = sample_shop();
        let line = fails(&mut serve(data.path(), &gateway.address.to_string()));
        assert!(line.contains(&gateway.address.to_string()) && line.contains("--listen"), "{line}");
    }

    #[test]
    fn a_data_directory_that_cannot_be_made_is_named() {
        let folder = crate::harness::folder();
        let file = folder.path().join("file");
        fs::write(&file, "").expect("a file");
        for data in [file.clone(), file.join("below"), PathBuf::from("/proc/no-such-place")] {
            let line = fails(&mut serve(&data, "127.0.0.1:0"));
            assert!(line.contains(&data.display().to_string()) && line.contains("--data-dir"), "{line}");
        }
    }

    /// The database of a shop, with its log and the index of that.
    fn database(data: &Path) -> [Option<Vec<u8>>; 3] {
        ["shop.db", "shop.db-wal", "shop.db-shm"].map(|name| fs::read(data.join(name)).ok())
    }

    /// Every command that opens the store.
    fn commands(data: &Path) -> [Command; 11] {
        let of = |arguments: &[&str]| {
            let mut command = binary();
            command.args(arguments).arg("--data-dir").arg(data);
            command
        };
        let goods = data.join("goods.jsonl");
        fs::write(&goods, product("prod_new").to_string()).expect("a file");
        let merchants = repository().join("crates/ucp-directory/sample/merchants.jsonl");
        let path = |path: &Path| path.to_str().expect("a path").to_owned();
        [
            serve(data, "127.0.0.1:0"),
            of(&["mcp", "--stdio"]),
            of(&["import", &path(&goods)]),
            of(&["import", "--merchants", &path(&merchants)]),
            of(&["terms"]),
            of(&["orders", "list"]),
            of(&["orders", "ship", "ord_1"]),
            of(&["webhooks", "list"]),
            of(&["webhooks", "resend", "all"]),
            of(&["data", "backup", &path(&data.join("backup.db"))]),
            of(&["data", "check"]),
        ]
    }

    /// Error of every command about a database that none of them opens, and that none of them changes.
    fn refused_by_all(data: &Path) -> String {
        let before = database(data);
        let mut lines: Vec<_> = commands(data).iter_mut().map(fails).collect();
        assert!(before == database(data), "what may be worth rescuing is kept");
        lines.dedup();
        assert_eq!(lines.len(), 1, "all commands say the same: {lines:#?}");
        lines.remove(0)
    }

    #[test]
    fn a_data_directory_of_a_newer_gateway_is_refused_with_both_versions() {
        let data = sample_shop();
        let set = |version: i64| {
            let database = rusqlite::Connection::open(data.path().join("shop.db")).expect("the database");
            let known: i64 = database.pragma_query_value(None, "user_version", |row| row.get(0)).expect("a number");
            database.pragma_update(None, "user_version", version).expect("written");
            known
        };
        let known = set(1_000);
        let line = refused_by_all(data.path());
        let file = data.path().join("shop.db");
        let said = format!(
            "ucp-gateway: the database {} has schema version 1000, but this version of the gateway only knows {known};",
            file.display()
        );
        assert!(line.starts_with(&said), "{line}");
        set(known);
        drop(Gateway::on(data.path(), &[]));
    }

    /// Also where the log beside it could stand in for it: whoever overwrites a database rarely thinks of its log.
    #[test]
    fn a_database_that_is_none_is_named_and_left_alone() {
        let (stopped, killed) = (sample_shop(), sample_shop());
        let mut gateway = Gateway::on(killed.path(), &[]);
        let wanted = json!({ "line_items": [{ "item": { "id": "var_abc123_red_10" }, "quantity": 1 }] });
        call(&gateway, "POST", "/carts", &wanted);
        gateway.kill();
        let [_, log, _] = database(killed.path());
        assert!(log.is_some_and(|log| log.len() > 32), "a gateway that was killed leaves a log with something in it");
        for template in [&stopped, &killed] {
            for content in [b"garbage".repeat(1_000), b"SQLite format 3\0".to_vec(), vec![0xff; 4_096]] {
                let data = crate::harness::folder();
                crate::harness::copy(template.path(), data.path());
                fs::write(data.path().join("shop.db"), &content).expect("written");
                let line = refused_by_all(data.path());
                let file = data.path().join("shop.db");
                let said =
                    format!("ucp-gateway: {} is not an SQLite database: it must begin with the header", file.display());
                assert!(line.starts_with(&said), "{line}");
            }
        }
    }

    /// A file that may not grow stands for a disk that is full.
    #[test]
    fn a_full_disk_during_the_first_fill_is_named_and_leaves_nothing_half_done() {
        let data = crate::harness::folder();
        // While the tables are made, and while products are written into them.
        for (kibibytes, what) in [(200, "to schema version"), (800, "the write")] {
            let gateway = binary().get_program().to_owned();
            let mut command = Command::new("bash");
            command.args(["-c", &format!("trap '' XFSZ; ulimit -f {kibibytes}; exec \"$0\" \"$@\"")]).arg(gateway);
            command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(data.path());
            let line = fails(&mut command);
            assert!(line.contains(what), "{line}");
        }
        let gateway = Gateway::on(data.path(), &[]);
        assert_eq!(gateway.search(&json!({ "filters": { "available": false } }))["pagination"]["total_count"], 174);
    }

    #[test]
    fn odd_arguments_are_explained() {
        for arguments in [
            &["serve", "--listen", "nowhere"][..],
            &["serve", "--public-url", "shop.example.com"],
            &["serve", "--public-url", "https://shop.example.com/path"],
            &["serve", "--mcp-error-status", "teapot"],
            &["serve", "--max-connections", "many"],
            &["frobnicate"],
            &["mcp"],
            &["import"],
        ] {
            let output = binary().args(arguments).ends();
            let stderr = String::from_utf8(output.stderr).expect("text");
            assert_eq!(output.status.code(), Some(2), "{arguments:?}: {stderr}");
            assert!(stderr.starts_with("error: "), "{arguments:?}: {stderr}");
        }
    }

    /// Splits a command as a shell does, as far as the printed one goes.
    fn words(command: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for letter in command.replace("\\\n", " ").chars() {
            match letter {
                '\'' => quoted = !quoted,
                space if space.is_whitespace() && !quoted => words.push(String::new()),
                other => words.last_mut().expect("a word").push(other),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }

    #[test]
    fn the_printed_addresses_answer_and_the_printed_call_works() {
        let gateway = Gateway::start();
        let base = format!("http://{}", gateway.address);
        for (label, path, status) in
            [("profile", "/.well-known/ucp", 200), ("REST", "", 404), ("MCP", "/mcp", 405), ("docs", "/docs", 200)]
        {
            let line = gateway.welcome.iter().find(|line| line.trim_start().starts_with(label)).expect(label);
            assert_eq!(line.trim_start().strip_prefix(label).map(str::trim), Some(format!("{base}{path}").as_str()));
            let path = if path.is_empty() { "/" } else { path };
            assert_eq!(gateway.get(path).status, status, "{label}");
        }
        let place = gateway.welcome.iter().position(|line| line.contains("curl ")).expect("a call to try");
        let words = words(gateway.welcome[place..].join("\n").trim());
        let after = |flag: &str| -> Vec<&str> {
            words.windows(2).filter(|pair| pair[0] == flag).map(|pair| pair[1].as_str()).collect()
        };
        let headers: Vec<_> =
            after("-H").into_iter().map(|header| header.split_once(": ").expect("a header")).collect();
        let url = words.iter().find_map(|word| word.strip_prefix(base.as_str())).expect("an address");
        let response = gateway.send("POST", url, &headers, after("-d")[0].as_bytes());
        assert!(!elements(&response.json()["products"]).is_empty(), "{words:?}: {response:?}");
    }

    #[test]
    fn nobody_has_to_read_what_it_prints() {
        let data = sample_shop();
        let free = ucp_testkit::leash::free_address();
        let mut process = Leashed::start(&serve(data.path(), &free.to_string()), Stdio::piped(), Stdio::null());
        drop(process.stdout());
        let answered = eventually("it answers or ends", PATIENCE, || {
            if process.ended().is_some() {
                return Some(false);
            }
            TcpStream::connect(free).ok()?;
            let mut connection = Connection::open(free);
            connection.write(&wire::request("GET", "/.well-known/ucp", &[], b""));
            connection.read().map(|response| response.status == 200)
        });
        assert!(answered);
    }

    #[test]
    fn no_command_means_serve_and_the_environment_counts() {
        let data = sample_shop();
        let mut command = binary();
        command.env("UCP_GATEWAY_LISTEN", "127.0.0.1:0").env("UCP_GATEWAY_DATA_DIR", data.path());
        let gateway = Gateway::spawn(&command, None);
        assert_eq!(gateway.get("/.well-known/ucp").status, 200);
    }
}
