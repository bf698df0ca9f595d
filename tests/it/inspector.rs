//! Recorded calls on disk: they outlive the process, and what is deleted for privacy is deleted there too.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::{Value, json};
use ucp_testkit::{
    leash::{Leashed, Lines},
    wait::PATIENCE,
};

use crate::{
    harness::{Ends as _, Gateway, binary, elements, eventually, folder},
    purchase::shopper::{Flowers, Shopper, id, new_key, ready},
};

/// Every call is recorded.
const ALL: &str = "[server]\ninspected_per_second = 1000\n";

fn configuration(folder: &Path, text: &str) -> String {
    let path = folder.join("gateway.toml");
    fs::write(&path, text).expect("a file");
    path.to_str().expect("UTF-8").to_owned()
}

/// Returns the files that hold recorded calls.
fn segments(data: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(data.join("inspector/0")) else { return Vec::new() };
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.retain(|path| path.extension().is_some());
    paths.sort();
    paths
}

fn on_disk(data: &Path) -> String {
    segments(data).iter().map(|path| fs::read_to_string(path).expect("a file")).collect()
}

/// Returns the recorded calls about a cart, checkout or order.
fn about(gateway: &Gateway, id: &str) -> Vec<Value> {
    let calls = gateway.get("/inspector/calls").json();
    elements(&calls).iter().filter(|call| call["about"].to_string().contains(id)).cloned().collect()
}

fn erase(data: &Path, e_mail: &str) -> Option<i32> {
    binary().args(["buyers", "erase", e_mail, "--data-dir"]).arg(data).ends().status.code()
}

#[test]
fn recorded_calls_are_there_after_a_restart() {
    let root = folder();
    let (data, all) = (root.path().join("data"), configuration(root.path(), ALL));
    let mut gateway = Gateway::on(&data, &["--config", &all]);
    let who = [("UCP-Agent", "profile=\"https://inspected.example/p\""), ("Content-Type", "application/json")];
    let send = |gateway: &Gateway, id: &str, path: &str, body: &Value| {
        gateway.send("POST", path, &[&who[..], &[("Request-Id", id)]].concat(), body.to_string().as_bytes())
    };
    let wanted = json!({
        "line_items": [{ "item": { "id": "var_abc123_blue_8" }, "quantity": 1 }],
        "buyer": { "email": "bea@example.com" }, "emial": "bea@example.com",
    });
    assert!(send(&gateway, "before-1", "/checkout-sessions?for=bea%40example.com", &wanted).status < 500);
    assert_eq!(send(&gateway, "before-2", "/catalog/search", &json!({ "query": "runner" })).status, 200);
    let kept = |gateway: &Gateway, id: &str| gateway.get(&format!("/inspector/calls/{id}"));
    let before = eventually("the calls are kept", PATIENCE, || {
        let both = ["before-1", "before-2"].map(|id| kept(&gateway, id));
        both.iter().all(|call| call.status == 200).then(|| both[0].json())
    });
    gateway.kill();

    // Nothing of the buyer is there, and a line that was being written is no line.
    let text = on_disk(&data);
    assert!(text.contains("before-1") && !text.contains("bea@") && !text.contains("bea%40"), "{text}");
    for path in segments(&data) {
        assert_eq!(fs::metadata(&path).expect("a file").permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
    let newest = segments(&data).pop().expect("a segment");
    let mut file = fs::OpenOptions::new().append(true).open(newest).expect("a file");
    file.write_all(br#"{"at":"2026-11-25T17:00:01Z","id":"torn","#).expect("writes");

    let mut gateway = Gateway::on(&data, &["--config", &all]);
    assert_eq!(kept(&gateway, "before-1").json(), before);
    assert_eq!(send(&gateway, "after-1", "/catalog/search", &json!({ "query": "runner" })).status, 200);
    eventually("it is kept", PATIENCE, || (kept(&gateway, "after-1").status == 200).then_some(()));
    assert!(!on_disk(&data).contains("torn"));
    let url = format!("http://{}", gateway.address);
    let explained = binary().args(["explain", "call", "before-2", "--url", &url]).ends();
    let said = String::from_utf8(explained.stdout).expect("UTF-8");
    for expected in [
        "search_catalog",
        "profile",
        "https://inspected.example/p, named by the `UCP-Agent` header, not proved",
        "because the profile is not known",
    ] {
        assert!(said.contains(expected), "{expected} in {said}");
    }
    let mut tail = binary();
    tail.args(["tail", "--last", "2", "--operation", "search_catalog", "--url", &url]);
    let mut tail = Leashed::start(&tail, Stdio::piped(), Stdio::null());
    let lines = Lines::of(tail.stdout());
    for id in ["before-2", "after-1"] {
        let line = lines.next("the last calls").expect("a line");
        assert!(line.contains(id), "{line}");
    }
    gateway.terminate();
    assert!(tail.wait().success());

    // Without recording on disk, none of it is there from then on.
    let none = configuration(root.path(), "[server]\ninspected_mb = 0\n");
    let gateway = Gateway::on(&data, &["--config", &none]);
    assert_eq!(segments(&data), [] as [PathBuf; 0]);
    assert_eq!(send(&gateway, "memory-1", "/catalog/search", &json!({ "query": "runner" })).status, 200);
    eventually("it is kept", PATIENCE, || (kept(&gateway, "memory-1").status == 200).then_some(()));
    assert_eq!(segments(&data), [] as [PathBuf; 0]);
}

#[test]
fn recorded_calls_are_deleted_with_what_they_are_about() {
    let root = folder();
    let all = configuration(root.path(), ALL);
    let mut gateway = Flowers::with(&["--config", &all]);
    let shopper = Shopper::rest(&gateway);
    let of = |e_mail: &str| {
        let mut wanted = ready(&[("pot_ceramic", 1)]);
        wanted["buyer"] = json!({ "email": e_mail, "first_name": "Wilhelmina" });
        wanted
    };
    let none = json!({});
    let key = new_key();
    let made = |key: &str, e_mail: &str| shopper.keyed(Some(key), "create_checkout", None, &of(e_mail)).document();
    let mina = made(&key, "mina@example.com");
    assert_eq!(made(&key, "mina@example.com")["id"], mina["id"], "the answer is replayed");
    let [mina, unknown] = [id(&mina).to_owned(), "chk_unknown".to_owned()];
    shopper.call("get_checkout", Some(&mina), &none);
    shopper.call("get_checkout", Some(&unknown), &none);
    let mut wrong = of("mina@example.com");
    wrong["line_items"] = json!(7);
    shopper.call("update_checkout", Some(&mina), &wrong);
    let paid = made(&new_key(), "olga@example.com");
    let order = shopper.complete(&paid, "success_token")["order"]["id"].as_str().expect("an order").to_owned();
    shopper.call("get_order", Some(&order), &none);
    let olga = id(&paid).to_owned();
    let stays = id(&made(&new_key(), "stays@example.com")).to_owned();
    let expires = id(&made(&new_key(), "expires@example.com")).to_owned();
    let counts = [(&mina, 4), (&unknown, 1), (&olga, 2), (&order, 2), (&stays, 1), (&expires, 1)];
    eventually("the calls are kept", PATIENCE, || {
        counts.iter().all(|(id, count)| about(&gateway, id).len() == *count).then_some(())
    });

    // While the gateway runs.
    assert_eq!(erase(gateway.data(), "mina@example.com"), Some(0));
    assert!(!on_disk(gateway.data()).contains(&mina), "the command deletes them on disk");
    assert_eq!(about(&gateway, &mina), [] as [Value; 0]);
    for (id, count) in &counts[1..] {
        assert_eq!(about(&gateway, id).len(), *count, "{id}");
    }

    // While none runs, and again as if the command had ended before it came to the calls.
    gateway.terminate();
    let before: Vec<_> =
        segments(gateway.data()).into_iter().map(|path| (path.clone(), fs::read(path).expect("a file"))).collect();
    let database = rusqlite::Connection::open(gateway.data().join("shop.db")).expect("the database");
    let shipped = binary().args(["orders", "ship", &order, "--data-dir"]).arg(gateway.data()).ends();
    assert!(shipped.status.success(), "{shipped:?}");
    database.execute("UPDATE outbox SET state = 'delivered'", ()).expect("settled");
    assert_eq!(erase(gateway.data(), "olga@example.com"), Some(0));
    let text = on_disk(gateway.data());
    assert!(!text.contains(&olga) && !text.contains(&order) && text.contains(&stays), "{text}");
    for (path, bytes) in &before {
        fs::write(path, bytes).expect("writes");
    }
    // Expired calls are removed at the start.
    let expired = "UPDATE checkouts SET expires_at = 1 WHERE id = ?";
    assert_eq!(database.execute(expired, [&expires]).expect("is written"), 1);
    drop(database);
    let mut again = Gateway::on(gateway.data(), &["--config", &all]);
    assert_eq!((about(&again, &olga), about(&again, &order)), (Vec::new(), Vec::new()));
    eventually("what expired is gone", PATIENCE, || about(&again, &expires).is_empty().then_some(()));
    let text = on_disk(gateway.data());
    for gone in [&mina, &olga, &order, &expires] {
        assert!(!text.contains(gone), "{gone} in {text}");
    }
    assert!(text.contains(&stays) && about(&again, &stays).len() == 1 && about(&again, &unknown).len() == 1, "{text}");

    // A call about an order without addresses tells nothing that was erased.
    Shopper::rest(&again).call("get_order", Some(&order), &none);
    eventually("it is kept", PATIENCE, || (about(&again, &order).len() == 1).then_some(()));

    // A call about nothing that is stored is deleted when it is old.
    again.terminate();
    for path in segments(gateway.data()) {
        let text = fs::read_to_string(&path).expect("a file");
        let lines = text.split_inclusive('\n').map(|line| match line.split_once("\"at\":\"") {
            Some((before, after)) if line.contains(&unknown) => format!("{before}\"at\":\"2020{}", &after[4..]),
            _ => line.to_owned(),
        });
        fs::write(&path, lines.collect::<String>()).expect("writes");
    }
    let again = Gateway::on(gateway.data(), &["--config", &all]);
    assert_eq!((about(&again, &unknown).len(), about(&again, &stays).len()), (0, 1));
    eventually("it is gone", PATIENCE, || (!on_disk(gateway.data()).contains(&unknown)).then_some(()));
}
