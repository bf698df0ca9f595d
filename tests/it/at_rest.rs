//! Content of the data directory: its readers, and data that is never in it.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
};

use ucp_core::Release;
use ucp_testkit::wait::PATIENCE;

use crate::{
    harness::{Ends as _, Gateway, binary, eventually, folder},
    purchase::shopper::{Flowers, Shopper, id, ready, ways},
    setup::{Refused, Transport},
};

/// Everything below a directory, with itself.
fn everything(directory: &Path) -> Vec<PathBuf> {
    let mut found = vec![directory.to_owned()];
    for entry in fs::read_dir(directory).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() { found.extend(everything(&path)) } else { found.push(path) }
    }
    found
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("it is there").permissions().mode() & 0o777
}

#[track_caller]
fn assert_private(directory: &Path) {
    for path in everything(directory) {
        assert_eq!(mode(&path) & 0o077, 0, "{}: {:o}", path.display(), mode(&path));
    }
}

#[test]
fn the_data_directory_is_for_its_owner() {
    let root = folder();
    let data = root.path().join("new");
    let gateway = Gateway::on(&data, &[]);
    let shopper = Shopper::rest(&gateway);
    let checkout = shopper.create(&ready(&[("var_abc123_blue_10", 1)]));
    assert_eq!(shopper.complete(&checkout, "success_token")["status"], "completed");
    for arguments in [&["keys", "generate", "--data-dir"][..], &["data", "check", "--data-dir"]] {
        let done = binary().args(arguments).arg(&data).ends();
        assert!(done.status.success(), "{arguments:?}: {done:?}");
    }
    assert_eq!(mode(&data), 0o700);
    assert!(everything(&data).len() > 5, "{:?}", everything(&data));
    assert_private(&data);
}

/// As versions before left it.
#[test]
fn a_data_directory_that_others_can_read_is_closed() {
    let root = folder();
    let data = root.path().join("old");
    drop(Gateway::on(&data, &[]));
    let open = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("permissions");
    open(&data.join("shop.db"), 0o644);
    open(&data, 0o755);
    let gateway = Gateway::on(&data, &[]);
    assert_eq!((mode(&data), mode(&data.join("shop.db"))), (0o700, 0o600));
    drop(gateway);
    // One that users share is not the gateway's to close.
    open(&data, 0o1777);
    drop(Gateway::on(&data, &[]));
    assert_eq!(mode(&data), 0o777);
}

/// Agents put a number where it seems to fit.
#[test]
fn numbers_of_cards_are_neither_kept_nor_repeated() {
    const NUMBER: &str = "4242424242424242";
    let root = folder();
    let data = root.path().join("new");
    let gateway = Gateway::on(&data, &[]);
    for transport in Transport::ALL {
        let shopper = Shopper::new(&gateway, Release::NEWEST, transport);
        let mut wanted = ready(&[("var_abc123_blue_10", 1)]);
        wanted["payment"] = shopper.paying("success_token")["payment"].take();
        wanted["payment"]["instruments"][0]["display"] = serde_json::json!({ "brand": "visa", "last_digits": "4242", "pan": NUMBER, "cvc": "secret-code-of-a-card", "text": NUMBER });
        let checkout = shopper.create(&wanted);
        let display = &checkout["payment"]["instruments"][0]["display"];
        assert_eq!(*display, serde_json::json!({ "brand": "visa", "last_digits": "4242" }), "{transport:?}");
        let again = shopper.call("get_checkout", Some(id(&checkout)), &serde_json::json!({}));
        assert!(!again.text().contains(NUMBER) && !again.text().contains("secret-code-of-a-card"), "{again:?}");
        let mut payment = shopper.paying("success_token");
        payment["payment"]["instruments"][0]["display"] = wanted["payment"]["instruments"][0]["display"].take();
        let paid = shopper.call("complete_checkout", Some(id(&checkout)), &payment);
        assert_eq!(paid.document()["status"], "completed", "{paid:?}");
        assert!(!paid.text().contains(NUMBER) && !paid.text().contains("secret-code-of-a-card"), "{paid:?}");

        // A request that would be stored unmasked is rejected.
        let checkout = shopper.create(&ready(&[("var_abc123_blue_10", 1)]));
        for (name, operation) in ["id", "handler_id", "type"]
            .into_iter()
            .flat_map(|name| ["create_checkout", "update_checkout", "complete_checkout"].map(|each| (name, each)))
        {
            let mut payload = shopper.paying("success_token");
            payload["payment"]["instruments"][0][name] = NUMBER.into();
            if operation != "complete_checkout" {
                payload["line_items"] = wanted["line_items"].clone();
            }
            let id = (operation != "create_checkout").then(|| id(&checkout));
            let refused = shopper.clone().header("Request-Id", NUMBER).call(operation, id, &payload);
            let refused = format!("{refused:?}");
            assert!(refused.contains(&format!("instruments[0].{name}")), "{operation} {refused}");
            assert!(!refused.contains(NUMBER), "{operation} {refused}");
        }
    }
    // Recorded calls are on disk by the end of the process.
    let mut gateway = gateway;
    gateway.terminate();
    let holds = |bytes: &[u8], text: &str| bytes.windows(text.len()).any(|window| window == text.as_bytes());
    for path in everything(&data).into_iter().filter(|path| path.is_file()) {
        let bytes = fs::read(&path).expect("a file");
        assert!(!holds(&bytes, NUMBER) && !holds(&bytes, "secret-code-of-a-card"), "{}", path.display());
    }
    assert!(!gateway.stderr().contains(NUMBER));
}

/// A row that something else has written to.
#[test]
fn damaged_rows_are_told_from_a_shop_that_is_busy() {
    let gateway = Flowers::open();
    let database = rusqlite::Connection::open(gateway.data().join("shop.db")).expect("the database");
    let damage = |table: &str, column: &str, value: &str| {
        let sql = format!("UPDATE {table} SET {column} = ?");
        assert!(database.execute(&sql, [value]).expect("written") > 0, "{table}");
    };
    for (release, transport) in ways().filter(|(release, _)| *release >= Release::V2026_04_08) {
        let shopper = Shopper::new(&gateway, release, transport);
        let wanted = ready(&[("pot_ceramic", 1)]);
        let cart =
            shopper.call("create_cart", None, &serde_json::json!({ "line_items": wanted["line_items"] })).document();
        let checkout = shopper.create(&wanted);
        let paid = shopper.create(&wanted);
        let key = crate::purchase::shopper::new_key();
        let paying = shopper.paying("success_token");
        let order = shopper.keyed(Some(&key), "complete_checkout", Some(id(&paid)), &paying).document()["order"]["id"]
            .as_str()
            .expect("an order")
            .to_owned();
        damage("carts", "document", "{\"id\":");
        damage("checkouts", "document", "{\"status\":7}");
        damage("orders", "document", "[]");
        damage("kept", "answer", "neither\nnor");
        let none = serde_json::json!({});
        let calls = [
            ("Cart", None, "get_cart", id(&cart), &none),
            ("Checkout", None, "update_checkout", id(&checkout), &wanted),
            ("Order", None, "get_order", &order, &none),
            ("a kept answer", Some(&*key), "complete_checkout", id(&paid), &paying),
        ];
        for (what, key, operation, id, payload) in calls {
            let (method, path, headers, body) = shopper.request(key, operation, Some(id), payload);
            let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let response = gateway.send(method, &path, &headers, &body);
            let refused = Refused::read(transport, &response);
            assert_eq!(refused.code, "stored_data_damaged", "{release} {transport:?} {what}: {response:?}");
            assert_eq!(refused.body["retryable"], false, "{response:?}");
            let request = response.header("request-id").expect("an identifier").to_owned();
            let is_told = |line: &&str| line.contains(&request) && line.contains("ERROR") && line.contains(what);
            eventually("the operator is told", PATIENCE, || gateway.stderr().lines().find(is_told).map(str::to_owned));
        }
        // Undamaged data remains usable.
        assert_eq!(shopper.create(&wanted)["status"], "ready_for_complete");
        for table in ["carts", "checkouts", "orders", "kept"] {
            database.execute(&format!("DELETE FROM {table}"), ()).expect("cleared");
        }
    }
}

fn buyers(data: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let done = binary().arg("buyers").args(arguments).arg("--data-dir").arg(data).ends();
    let text = |bytes| String::from_utf8(bytes).expect("text");
    (done.status.code(), text(done.stdout), text(done.stderr))
}

#[test]
fn what_is_stored_about_a_buyer_is_shown_and_erased() {
    let gateway = Flowers::open();
    let shopper = Shopper::rest(&gateway);
    let of = |e_mail: &str| {
        let mut wanted = ready(&[("pot_ceramic", 1)]);
        wanted["buyer"] = serde_json::json!({ "email": e_mail, "first_name": "Wilhelmina" });
        wanted["fulfillment"]["methods"][0]["destinations"][0]["street_address"] = "77 Quince Lane".into();
        wanted
    };
    let (own, other) = (of("Mina@Example.com"), of("other@example.com"));
    let cart = serde_json::json!({ "line_items": own["line_items"], "buyer": own["buyer"] });
    shopper.call("create_cart", None, &cart).document();
    let open = shopper.create(&own);
    let paid = shopper.create(&own);
    let order = shopper.complete(&paid, "success_token")["order"]["id"].as_str().expect("an order").to_owned();
    let others = shopper.create(&other);

    let (code, shown, _) = buyers(gateway.data(), &["export", "mina@example.com"]);
    assert_eq!(code, Some(0), "{shown}");
    let shown: serde_json::Value = serde_json::from_str(&shown).expect("JSON");
    let counts = ["carts", "checkouts", "orders"].map(|kind| shown[kind].as_array().expect(kind).len());
    assert_eq!(counts, [1, 2, 1]);
    assert!(shown.to_string().contains("77 Quince Lane") && !shown.to_string().contains("\"token\""), "{shown}");

    // The platform has not been told of the order: there is no key to sign with.
    let (code, said, left) = buyers(gateway.data(), &["erase", "mina@example.com"]);
    assert_eq!((code, said.trim()), (Some(2), "Erased 1 carts, 1 checkouts and the addresses of 0 orders."));
    assert!(left.contains(id(&paid)) && left.contains("a webhook event about its order waits"), "{left}");
    let database = rusqlite::Connection::open(gateway.data().join("shop.db")).expect("the database");
    database.execute("UPDATE outbox SET state = 'delivered'", ()).expect("settled");
    let (code, _, left) = buyers(gateway.data(), &["erase", "mina@example.com"]);
    assert!(code == Some(2) && left.contains("goods of its order are not sent yet"), "{left}");
    let shipped = binary().args(["orders", "ship", &order, "--data-dir"]).arg(gateway.data()).ends();
    assert!(shipped.status.success(), "{shipped:?}");
    database.execute("UPDATE outbox SET state = 'delivered'", ()).expect("settled");
    // Damaged data is named, and does not affect the rest.
    let damage = "UPDATE checkouts SET document = '{' || document WHERE id = ?";
    assert_eq!(database.execute(damage, [id(&others)]).expect("damages"), 1);
    let (code, shown, left) = buyers(gateway.data(), &["export", "mina@example.com"]);
    assert!(code == Some(2) && shown.contains("77 Quince Lane"), "{shown}");
    assert!(left.contains(id(&others)) && left.contains("damaged"), "{left}");
    let (code, said, left) = buyers(gateway.data(), &["erase", "nobody@example.com"]);
    assert_eq!((code, said.trim()), (Some(2), "Erased 0 carts, 0 checkouts and the addresses of 0 orders."));
    assert!(left.contains(id(&others)) && left.contains("damaged"), "{left}");
    let mend = "UPDATE checkouts SET document = substr(document, 2) WHERE id = ?";
    assert_eq!(database.execute(mend, [id(&others)]).expect("mends"), 1);
    let (code, said, left) = buyers(gateway.data(), &["erase", "mina@example.com"]);
    assert_eq!(
        (code, said.trim(), left.as_str()),
        (Some(0), "Erased 0 carts, 1 checkouts and the addresses of 1 orders.", "")
    );
    let (code, said, _) = buyers(gateway.data(), &["erase", "MINA@example.com"]);
    assert_eq!((code, said.trim()), (Some(0), "Erased 0 carts, 0 checkouts and the addresses of 0 orders."));

    // Nor is it in the files of the database, its log included.
    for name in ["shop.db", "shop.db-wal"] {
        let bytes = fs::read(gateway.data().join(name)).expect("a file");
        for erased in ["Mina@Example.com", "mina@example.com", "Wilhelmina", "77 Quince Lane"] {
            let found = bytes.windows(erased.len()).filter(|window| *window == erased.as_bytes()).count();
            // What stays is of the other buyer, who has the same name and street.
            let others = if erased.contains('@') { 0 } else { 4 };
            assert!(found <= others, "{name} has {erased:?} {found} times");
        }
    }

    // The gateway goes on, and the shop keeps its accounts.
    let gone = shopper.call("get_checkout", Some(id(&open)), &serde_json::json!({}));
    assert_eq!(gone.errors(), ["not_found"]);
    let kept = shopper.call("get_order", Some(&order), &serde_json::json!({}));
    assert!(!kept.text().contains("Quince"), "{kept:?}");
    assert_eq!(kept.document()["line_items"].as_array().map(Vec::len), Some(1), "{kept:?}");
    let (_, shown, _) = buyers(gateway.data(), &["export", "other@example.com"]);
    assert!(shown.contains("77 Quince Lane"), "{shown}");
    database.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(())).expect("a checkpoint");
    let bytes = fs::read(gateway.data().join("shop.db")).expect("the file");
    assert!(!bytes.windows(16).any(|window| window.eq_ignore_ascii_case(b"mina@example.com")), "nothing is left of it");
}
