//! Bad days of an operator: the machine or its keys are lost, and what an older version left is upgraded.

use std::{fs, path::Path};

use serde_json::json;
use ucp_core::Release;
use ucp_testkit::{PATIENCE, postgres::psql};

use super::{ADMIN, admin, ask, metric};
use crate::{
    database::database,
    harness::{Ends as _, Gateway, REST_HEADERS, binary, eventually, folder},
    platforms::host::Host,
    purchase::{
        shopper::{Shopper, id, ready},
        webhooks::{self, receiver::Receiver},
    },
    setup::{REQUIRE, Setup},
    signatures::keys,
    wire::{Connection, request},
};

/// Runs a command on a data directory, and returns what it said.
#[track_caller]
fn run(arguments: &[&str], data: &Path) -> String {
    let output = binary().args(arguments).arg("--data-dir").arg(data).ends();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn order(gateway: &Gateway, profile: &str) -> String {
    let shopper = Shopper::rest(gateway).named(profile);
    let checkout = shopper.create(&ready(&[("bouquet_roses", 1)]));
    id(&shopper.complete(&checkout, "success_token")["order"]).to_owned()
}

#[test]
fn a_gateway_that_was_restored_without_its_keys_says_so_until_there_is_one() {
    let (lost, root) = (folder(), folder());
    let (host, receiver) = (Host::start(), Receiver::start([]));
    let profile = host.profile("/platform", &webhooks::profile(Release::NEWEST, Some(&receiver.url())));
    keys(&["generate"], lost.path());
    let sells = Setup::new(&webhooks::open()).arguments(&ADMIN).arguments(&["--sample", "flower-shop"]);
    let mut gateway = sells.spawn("127.0.0.1:0", lost.path());
    let order = order(&gateway, &profile);
    receiver.after(1);
    let backup = root.path().join("backup.db");
    let said = run(&["data", "backup", backup.to_str().expect("UTF-8")], lost.path());
    for part in ["signing keys", "certificates", "blocked platforms", "hashes"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(gateway.terminate().success());

    // The machine is lost, and with it the directory.
    let restored = root.path().join("restored");
    let said = run(&["data", "restore", backup.to_str().expect("UTF-8")], &restored);
    for part in [
        "signing keys: none in",
        "keys generate",
        "put decisions.json back",
        "first API key",
        "certificates, tokens, secrets",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(run(&["orders", "ship", &order], &restored).contains("shipped"));
    assert!(run(&["orders", "show", &order], &restored).contains("waits: there is no signing key"));

    // Others can reach it, and platforms are to be told of the order.
    let configuration = format!("{REQUIRE}\n[server]\nadmin_token_file = \"token\"\n");
    let setup = Setup::new(&configuration).file("token", "operators-only\n").arguments(&ADMIN);
    let gateway = setup.spawn("127.0.0.1:0", &restored);
    let address = admin(&gateway);
    let ask = |path: &str| {
        let mut connection = Connection::open(address);
        assert!(connection.write(&request("GET", path, &[("Authorization", "Bearer operators-only")], b"")));
        connection.read().expect("an answer")
    };
    let metric = |name: &str| {
        let text = ask("/metrics").body;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.and_then(|value| value.parse::<u64>().ok()).unwrap_or_else(|| panic!("no {name} in {text}"))
    };
    let reasons = eventually("it is not ready", PATIENCE, || {
        let answer = ask("/readyz");
        (answer.status == 503).then(|| answer.json()["reasons"].clone())
    });
    let reason = reasons["keys"].as_str().unwrap_or_default();
    assert!(reason.contains("no signing key") && reason.contains("keys generate"), "{reasons}");
    assert_eq!(metric("ucp_signing_key{shop=\"default\"}"), 0);
    assert!(metric("ucp_webhooks_waiting{shop=\"default\"}") > 0);
    eventually("the log says why webhooks wait", PATIENCE, || {
        gateway.stderr().contains("webhooks are waiting for a signing key").then_some(())
    });

    // One is made, or those of the lost gateway are put back: without a restart.
    keys(&["generate"], &restored);
    eventually("it is ready", PATIENCE, || (ask("/readyz").status == 200).then_some(()));
    assert_eq!(metric("ucp_signing_key{shop=\"default\"}"), 1);
    let told = receiver.after(2);
    assert!(told[1].json().to_string().contains("shipped"));
    drop(gateway);
    let said = run(&["data", "restore", backup.to_str().expect("UTF-8")], &root.path().join("again"));
    assert!(said.contains("signing keys: none"), "{said}");
    crate::harness::copy(&restored.join("keys"), &root.path().join("third/keys"));
    fs::write(root.path().join("third/decisions.json"), "{}").expect("a file");
    let said = run(&["data", "restore", backup.to_str().expect("UTF-8")], &root.path().join("third"));
    assert!(said.contains("signing keys: there are some in") && said.contains("decisions.json is there"), "{said}");
}

#[test]
fn a_developers_trial_needs_no_key() {
    let gateway = Setup::new("").arguments(&ADMIN).arguments(&["--sample", "flower-shop"]).start_on(folder());
    let checkout = Shopper::rest(&gateway).create(&ready(&[("bouquet_roses", 1)]));
    Shopper::rest(&gateway).complete(&checkout, "success_token");
    eventually("an order waits to be told", PATIENCE, || {
        (metric(admin(&gateway), "ucp_webhooks_waiting{shop=\"default\"}") > 0).then_some(())
    });
    assert_eq!(ask(admin(&gateway), "GET", "/readyz", b"").status, 200);
}

#[test]
fn two_gateways_on_one_directory_share_decisions() {
    let data = folder();
    let start = || {
        let setup = Setup::new("").arguments(&ADMIN).arguments(&["--sample", "flower-shop"]);
        setup.spawn("127.0.0.1:0", data.path())
    };
    let (one, two) = (start(), start());
    let platform = json!({ "profile": crate::harness::PROFILE }).to_string();
    let status =
        |gateway: &Gateway| gateway.send("POST", "/catalog/search", REST_HEADERS, b"{\"query\":\"roses\"}").status;
    for (action, expected) in [("block", 403), ("unblock", 200)] {
        assert_eq!(ask(admin(&one), "POST", &format!("/platforms/{action}"), platform.as_bytes()).status, 200);
        for gateway in [&one, &two] {
            eventually("both decide alike", PATIENCE, || (status(gateway) == expected).then_some(()));
        }
    }
    for (action, expected) in [("pause", 503), ("resume", 200)] {
        assert_eq!(ask(admin(&two), "POST", &format!("/shops/default/{action}"), b"").status, 200);
        for gateway in [&one, &two] {
            eventually("both decide alike", PATIENCE, || (status(gateway) == expected).then_some(()));
        }
    }
}

/// A database that version 0.1 left on schema 21, with the ID of its order.
const DIRECTORY: (&str, &str) = (include_str!("left/sqlite-21.sql"), "ord_5768576c557e477e8a04d7e18ca94233");

/// The same on PostgreSQL, schema 7.
const DATABASE: (&str, &str) = (include_str!("left/postgres-7.sql"), "ord_4f5dd20573ad4dea8fecba1b51f5e09e");

/// The gateway has what was left: the order for its platform, the products, what was sold, and what is to be told.
fn has_what_was_left(gateway: &Gateway, order: &str) {
    let found = gateway.send("GET", &format!("/orders/{order}"), REST_HEADERS, b"");
    assert_eq!((found.status, found.json()["id"].as_str()), (200, Some(order)), "{found:?}");
    let products = gateway.search(&json!({"query": "roses"}));
    assert_eq!(products["products"][0]["id"], "bouquet_roses_product", "{products}");
    let shopper = Shopper::rest(gateway);
    let checkout = shopper.create(&ready(&[("bouquet_roses", 1)]));
    assert_eq!(shopper.complete(&checkout, "success_token")["status"], "completed");
}

#[test]
fn a_data_directory_of_the_version_before_is_upgraded() {
    let (sql, order) = DIRECTORY;
    let root = folder();
    let data = root.path().join("data");
    fs::create_dir(&data).expect("a directory");
    let shop = rusqlite::Connection::open(data.join("shop.db")).expect("a database");
    // The tables come in the order of their names.
    shop.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}")).expect("its content");
    drop(shop);
    let backup = root.path().join("backup.db");
    fs::copy(data.join("shop.db"), &backup).expect("a backup");
    let mut gateway = Gateway::on(&data, &[]);
    has_what_was_left(&gateway, order);
    assert!(gateway.terminate().success());
    assert!(run(&["data", "check"], &data).contains("has no faults"));
    assert!(run(&["orders", "ship", order], &data).contains("shipped"));

    // An old backup, and the copy from which a rollback begins.
    let kept = data.join("shop.db.version-21");
    for (name, copy) in [("restored", backup), ("back", kept)] {
        let data = root.path().join(name);
        run(&["data", "restore", copy.to_str().expect("UTF-8")], &data);
        let version: i64 = rusqlite::Connection::open(data.join("shop.db"))
            .and_then(|database| database.pragma_query_value(None, "user_version", |row| row.get(0)))
            .expect("a version");
        assert_eq!(version, 21, "{name}: as it was, for whichever gateway is started");
        has_what_was_left(&Gateway::on(&data, &[]), order);
    }
}

#[test]
fn a_database_of_the_version_before_is_upgraded() {
    let Some(database) = database() else { return };
    let (sql, order) = DATABASE;
    drop(psql(&database, sql));
    let (data, again) = (folder(), folder());
    let arguments = ["--database", &*database];
    has_what_was_left(&Gateway::on(data.path(), &arguments), order);
    // Gateways of the version before can go on beside it.
    let [version, minimum]: [i32; 2] = psql(&database, "SELECT version || ' ' || minimum FROM schema_version")
        .split(' ')
        .map(|number| number.parse().expect("a number"))
        .collect::<Vec<_>>()
        .try_into()
        .expect("two");
    assert!(version > 7 && minimum <= 7, "{version} {minimum}");
    has_what_was_left(&Gateway::on(again.path(), &arguments), order);
}
