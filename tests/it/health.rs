//! Probes of an operator: liveness, readiness, and reasons.

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::{Value, json};
use ucp_testkit::PATIENCE;

use crate::{
    harness::{Ends as _, Gateway, REST_HEADERS, binary, eventually, folder},
    purchase::shopper::{self, Shopper, id},
    setup::Setup,
    wire::{Connection, Response, request},
};

/// Listen address of the admin API.
fn admin(gateway: &Gateway) -> SocketAddr {
    let line = gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    line.expect("where it listens").parse().expect("an address")
}

fn ask(address: SocketAddr, method: &str, path: &str, headers: &[(&str, &str)]) -> Response {
    let mut connection = Connection::open(address);
    assert!(connection.write(&request(method, path, headers, b"")));
    connection.read().expect("an answer")
}

fn ready(address: SocketAddr) -> (u16, Value) {
    let response = ask(address, "GET", "/readyz", &[]);
    assert_eq!(response.header("cache-control"), Some("no-store"));
    (response.status, response.json())
}

#[test]
fn without_a_token_only_this_machine_is_answered() {
    let gateway = Setup::new("").arguments(&["--admin-listen", "127.0.0.1:0"]).start();
    let address = admin(&gateway);
    for path in ["/livez", "/readyz", "/orders"] {
        assert_eq!(ask(address, "GET", path, &[]).status, 200, "{path}");
        for (name, value) in [
            ("Forwarded", "for=127.0.0.1"),
            ("X-Forwarded-For", "127.0.0.1"),
            ("X-Forwarded-Host", "localhost"),
            ("X-Real-IP", "127.0.0.1"),
            ("Via", "1.1 proxy"),
            ("Origin", "https://evil.example"),
            ("Origin", "null"),
            ("Sec-Fetch-Site", "cross-site"),
        ] {
            let refused = ask(address, "GET", path, &[(name, value)]);
            assert_eq!((refused.status, refused.json()["error"].is_string()), (403, true), "{name} {path}");
        }
        for host in ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example"] {
            let mut connection = Connection::open(address);
            let call = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
            assert!(connection.write(call.as_bytes()));
            assert_eq!(connection.read().expect("an answer").status, 403, "{host}");
        }
    }
}

#[test]
fn a_shop_whose_file_is_gone_is_not_ready_and_sells_nothing() {
    let arguments = ["--admin-listen", "127.0.0.1:0", "--sample", "flower-shop"];
    let gateway = Setup::new("").arguments(&arguments).start_on(folder());
    let address = admin(&gateway);
    eventually("it is ready", PATIENCE, || (ready(address).0 == 200).then_some(()));
    let shopper = Shopper::rest(&gateway);
    let checkout = shopper.create(&shopper::ready(&[("pot_ceramic", 1)]));
    let (file, away) = (gateway.data().join("shop.db"), gateway.data().join("away"));
    for replaced in [false, true] {
        std::fs::rename(&file, &away).expect("moved away");
        if replaced {
            std::fs::copy(&away, &file).expect("copied");
        }
        let reasons = eventually("it is not ready", PATIENCE, || {
            let (status, said) = ready(address);
            (status == 503).then_some(said["reasons"].clone())
        });
        assert!(reasons["disk"].as_str().is_some_and(|reason| reason.contains("removed or replaced")), "{reasons}");
        let (path, key) = (format!("/checkout-sessions/{}/complete", id(&checkout)), shopper::new_key());
        let headers = [REST_HEADERS, &[("Idempotency-Key", &key)]].concat();
        let payload = shopper.paying("success_token").to_string();
        let refused = gateway.send("POST", &path, &headers, payload.as_bytes());
        assert_eq!(refused.status, 503, "{refused:?}");
        std::fs::rename(&away, &file).expect("put back");
        eventually("it is ready again", PATIENCE, || (ready(address).0 == 200).then_some(()));
    }
    assert_eq!(shopper.complete(&checkout, "success_token")["status"], "completed");
}

/// A file system of its own, until it is dropped.
struct Disk(PathBuf);

impl Disk {
    /// Returns `None` where tests cannot mount one.
    fn mount(at: &Path, options: &str) -> Option<Self> {
        let mounted = Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output();
        mounted.is_ok_and(|mounted| mounted.status.success()).then(|| Self(at.to_owned()))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(&self.0).output());
    }
}

#[test]
fn a_disk_without_room_is_named_sells_nothing_and_recovers() {
    for (options, fills) in [("size=400m", true), ("size=400m,nr_inodes=400", false)] {
        let root = folder();
        let at = root.path().join("disk");
        std::fs::create_dir(&at).expect("a directory");
        let Some(_disk) = Disk::mount(&at, options) else {
            eprintln!("skipped: no file system can be mounted here");
            return;
        };
        let data = at.join("data");
        let arguments = ["--admin-listen", "127.0.0.1:0", "--sample", "flower-shop"];
        let gateway = Gateway::on(&data, &arguments);
        let address = admin(&gateway);
        eventually("it is ready", PATIENCE, || (ready(address).0 == 200).then_some(()));
        let shopper = Shopper::rest(&gateway);
        let checkout = shopper.create(&shopper::ready(&[("pot_ceramic", 1)]));
        let fill = at.join("fill");
        std::fs::create_dir(&fill).expect("a directory");
        if fills {
            // Ends when there is no room.
            drop(std::fs::write(fill.join("all"), vec![1; 512 << 20]));
        } else {
            let files = (0..10_000).map_while(|number| std::fs::write(fill.join(number.to_string()), "").ok());
            assert!(files.count() < 10_000, "the inodes run out");
        }
        let reasons = eventually("it is not ready", PATIENCE, || {
            let (status, said) = ready(address);
            (status == 503).then_some(said["reasons"].clone())
        });
        let reason = reasons["disk"].as_str().unwrap_or_default();
        assert!(reason.contains(if fills { "bytes left" } else { "nothing can be written" }), "{reasons}");
        if fills {
            let (path, key) = (format!("/checkout-sessions/{}/complete", id(&checkout)), shopper::new_key());
            let headers = [REST_HEADERS, &[("Idempotency-Key", &key)]].concat();
            let payload = shopper.paying("success_token").to_string();
            let refused = gateway.send("POST", &path, &headers, payload.as_bytes());
            assert_eq!(refused.status, 503, "{refused:?}");
        }
        std::fs::remove_dir_all(&fill).expect("removed");
        eventually("it is ready again", PATIENCE, || (ready(address).0 == 200).then_some(()));
        assert_eq!(shopper.complete(&checkout, "success_token")["status"], "completed");
        drop(gateway);
        let checked = binary().args(["data", "check", "--data-dir"]).arg(&data).ends();
        assert!(checked.status.success(), "{checked:?}");
    }
}

#[test]
fn elsewhere_than_in_development_there_has_to_be_a_token() {
    for arguments in [
        ["--admin-listen", "127.0.0.1:0", "--policy", "require"],
        ["--admin-listen", "0.0.0.0:0", "--policy", "development"],
    ] {
        let refused = Setup::new("").arguments(&arguments).run("check-config").expect_err("refused");
        assert!(refused.contains("server.admin_token_file"), "{refused}");
    }
    let configuration = "[server]\nadmin_token_file = \"token\"\n[callers]\npolicy = \"require\"\n";
    let setup = Setup::new(configuration).file("token", "operators-only\n");
    let gateway = setup.arguments(&["--admin-listen", "127.0.0.1:0"]).start();
    for path in ["/livez", "/readyz"] {
        assert_eq!(ask(admin(&gateway), "GET", path, &[]).status, 401, "{path}");
        let token = [("Authorization", "Bearer operators-only")];
        assert_eq!(ask(admin(&gateway), "GET", path, &token).status, 200, "{path}");
    }
}

#[test]
fn what_keeps_a_gateway_from_being_ready_is_named() {
    let data = folder();
    let probes = Setup::new("[server]\nprobes = true\n").arguments(&["--admin-listen", "127.0.0.1:0"]).start_on(data);
    let address = admin(&probes);
    assert_eq!(ready(address), (200, json!({ "ready": true, "reasons": {} })));
    let bare = |path| {
        let response = probes.get(path);
        (response.status, response.json())
    };
    assert_eq!(bare("/livez"), (200, json!({ "live": true })));
    assert_eq!(bare("/readyz"), (200, json!({ "ready": true })));
    let database = rusqlite::Connection::open(probes.data().join("shop.db")).expect("the database");
    database.execute_batch("ALTER TABLE orders RENAME TO lost").expect("the table is gone");
    let (status, said) = crate::harness::eventually("the store is missed", crate::wire::PATIENCE, || {
        Some(ready(address)).filter(|(status, _)| *status != 200)
    });
    assert_eq!((status, &said["ready"]), (503, &json!(false)));
    assert!(said["reasons"]["store"].as_str().is_some_and(|why| why.contains("no such table")), "{said}");
    assert_eq!(bare("/readyz"), (503, json!({ "ready": false })), "strangers are told no reasons");
    assert_eq!(bare("/livez").0, 200);
}

#[test]
fn a_gateway_whose_shop_is_down_says_so() {
    let closed = ucp_testkit::leash::free_address();
    let front = Setup::new("[profiles]\nloopback = true\n")
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{closed}")])
        .arguments(&["--admin-listen", "127.0.0.1:0"])
        .start_on(folder());
    let (status, said) = ready(admin(&front));
    assert_eq!(status, 503);
    assert!(said["reasons"]["upstream"].as_str().is_some_and(|why| why.contains("the upstream is down")), "{said}");
    // Switched off, probes are paths like any other.
    assert_ne!(front.get("/livez").status, 200);
}

#[test]
fn healthcheck_needs_no_admin_listener() {
    let check = |address: SocketAddr| {
        let mut command = binary();
        command.args(["healthcheck", "--listen", &address.to_string()]);
        let output = command.ends();
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let mut gateway = Gateway::start();
    assert_eq!(check(gateway.address), (Some(0), String::new()));
    gateway.terminate();
    let (code, said) = check(gateway.address);
    assert!(code == Some(1) && said.contains("does not answer"), "{code:?} {said}");
    let closed = ucp_testkit::leash::free_address();
    let front = Setup::new("[profiles]\nloopback = true\n")
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{closed}")])
        .start_on(folder());
    let (code, said) = check(front.address);
    assert!(code == Some(1) && said.contains("does not serve"), "{code:?} {said}");
}
