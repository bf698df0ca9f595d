//! Several gateways on one PostgreSQL database. Skipped, with a line that says so, where there is no PostgreSQL.

use std::{
    fs,
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::Release;
use ucp_fake_psp::{FakePsp, Keys, Options};
use ucp_testkit::{
    PATIENCE, eventually,
    postgres::{self, Cluster, psql},
};

use crate::{
    harness::{Ends as _, Gateway, REST_HEADERS, binary, folder},
    platforms::host::Host,
    purchase::{
        shopper::{Shopper, id, lines, new_key, paying_in, ready},
        webhooks::{self, receiver::Receiver},
    },
    setup::Setup,
    signatures::keys,
    synchronised::{buy, counted},
    tls::host::Authority,
    wire::{Connection, Response, request},
};

/// A database that no other test uses, on the server that all of them share.
pub(crate) fn database() -> Option<String> {
    static DATABASES: AtomicU32 = AtomicU32::new(0);
    let server = postgres::database()?;
    let name = format!("it_{}_{}", std::process::id(), DATABASES.fetch_add(1, Ordering::Relaxed));
    drop(psql(server, &format!("CREATE DATABASE {name}")));
    let (place, _) = server.rsplit_once('/').expect("a database");
    Some(format!("{place}/{name}"))
}

/// A gateway with a data directory of its own.
fn gateway(database: &str) -> (Gateway, TempDir) {
    let data = folder();
    let gateway =
        Gateway::on(data.path(), &["--sample", "flower-shop", "--database", database, "--admin-listen", "127.0.0.1:0"]);
    (gateway, data)
}

fn post(gateway: &Gateway, path: &str, key: &str, payload: &Value) -> Response {
    let headers = [REST_HEADERS, &[("Idempotency-Key", key)]].concat();
    gateway.send("POST", path, &headers, payload.to_string().as_bytes())
}

fn purchase(variant: &str, quantity: u64) -> Value {
    json!({
        "line_items": [{"item": {"id": variant}, "quantity": quantity}],
        "buyer": {"email": "buyer@example.com"},
        "fulfillment": {"methods": [{"type": "shipping", "destinations": [{"id": "home", "address_country": "US"}]}]},
    })
}

/// A payment that the sandbox takes.
fn paid() -> Value {
    let instrument = json!({
        "id": "i1", "handler_id": "mock_payment_handler", "type": "card", "selected": true,
        "credential": {"type": "token", "token": "success_token"},
    });
    json!({"payment": {"instruments": [instrument]}})
}

/// Runs a command on the database to its end, and returns what it prints.
#[track_caller]
pub(crate) fn command(database: &str, arguments: &[&str]) -> String {
    let output = binary().args(arguments).args(["--database", database]).ends();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

#[test]
fn any_gateway_answers_any_call() {
    let Some(database) = database() else { return };
    let ((one, _one), (two, _two)) = (gateway(&database), gateway(&database));

    // A position in a search that one has made means the same to the other.
    let search = |gateway: &Gateway, cursor: Option<&Value>| {
        let pagination = cursor.map_or_else(|| json!({"limit": 3}), |cursor| json!({"limit": 3, "cursor": cursor}));
        gateway.search(&json!({"query": "flowers", "pagination": pagination}))
    };
    let (first, same) = (search(&one, None), search(&two, None));
    assert_eq!(one.anywhere(&first["products"]), two.anywhere(&same["products"]));
    let cursor = &first["pagination"]["cursor"];
    assert!(cursor.is_string(), "{first}");
    let [of_one, of_two] = [&one, &two].map(|gateway| gateway.anywhere(&search(gateway, Some(cursor))["products"]));
    assert_eq!(of_two, of_one);

    // A purchase that goes from one to the other, and answers that are the same bytes wherever they are asked for again.
    let (create, complete) = (new_key(), new_key());
    let created = post(&one, "/checkout-sessions", &create, &purchase("bouquet_roses", 1));
    assert_eq!(created.status, 201, "{created:?}");
    let again = post(&two, "/checkout-sessions", &create, &purchase("bouquet_roses", 1));
    assert_eq!((again.status, &again.body), (201, &created.body));
    let id = created.json()["id"].as_str().expect("an identifier").to_owned();
    let path = format!("/checkout-sessions/{id}/complete");
    let completed = post(&two, &path, &complete, &paid());
    assert_eq!((completed.status, &completed.json()["status"]), (200, &json!("completed")), "{completed:?}");
    let again = post(&one, &path, &complete, &paid());
    assert_eq!((again.status, &again.body), (200, &completed.body));
    let order = completed.json()["order"]["id"].as_str().expect("an order").to_owned();
    for gateway in [&one, &two] {
        let found = gateway.send("GET", &format!("/orders/{order}"), REST_HEADERS, b"");
        assert_eq!((found.status, &found.json()["id"]), (200, &json!(order)));
    }

    // Operators find it from anywhere.
    assert!(command(&database, &["orders", "list"]).contains(&order));
    assert!(command(&database, &["orders", "ship", &order]).contains("shipped"));
    assert!(command(&database, &["webhooks", "list"]).contains(&order));
    let data: Value =
        serde_json::from_str(&command(&database, &["buyers", "export", "buyer@example.com"])).expect("JSON");
    assert_eq!((data["checkouts"][0]["id"].as_str(), data["orders"][0]["id"].as_str()), (Some(&*id), Some(&*order)));
    assert!(!data.to_string().contains("\"token\""), "nothing that opens a page");
}

#[test]
fn what_is_sold_or_imported_through_one_gateway_is_known_to_the_other() {
    let Some(database) = database() else { return };
    let ((one, _one), (two, data)) = (gateway(&database), gateway(&database));
    let available = |gateway: &Gateway, id: &str| {
        gateway.lookup(&json!({"ids": [id]}))["products"][0]["variants"][0]["availability"]["available"].clone()
    };
    let count = "SELECT quantity FROM stock WHERE variant = 'orchid_white'";
    drop(psql(&database, "UPDATE stock SET quantity = 1 WHERE variant = 'orchid_white'"));
    assert_eq!((available(&one, "orchid_white"), available(&two, "orchid_white")), (json!(true), json!(true)));
    let created = post(&one, "/checkout-sessions", &new_key(), &purchase("orchid_white", 1));
    let path = format!("/checkout-sessions/{}/complete", created.json()["id"].as_str().expect("an identifier"));
    let completed = post(&one, &path, &new_key(), &paid());
    assert_eq!(completed.json()["status"], "completed", "{completed:?}");
    assert_eq!(psql(&database, count), "0");
    // Not after a while, but in the next answer.
    std::thread::sleep(Duration::from_millis(30));
    assert_eq!((available(&one, "orchid_white"), available(&two, "orchid_white")), (json!(false), json!(false)));

    // An import is found by all of them.
    let file = data.path().join("new.jsonl");
    let product = json!({
        "id": "blue_poppy", "title": "Himalayan blue poppy", "description": {"plain": "A poppy that is blue."},
        "variants": [{"id": "blue_poppy-0", "title": "Himalayan blue poppy", "price": {"amount": 1900, "currency": "USD"}}],
    });
    fs::write(&file, format!("{product}\n")).expect("a file");
    let imports = folder();
    let arguments = ["import", file.to_str().expect("UTF-8"), "--data-dir", imports.path().to_str().expect("UTF-8")];
    let begun = Instant::now();
    assert!(command(&database, &arguments).contains("1 new"), "{arguments:?}");
    for gateway in [&one, &two] {
        eventually("the new product is found", PATIENCE, || {
            let found = gateway.search(&json!({"query": "himalayan blue poppy"}));
            (found["products"][0]["id"] == "blue_poppy").then_some(())
        });
    }
    println!("found by both gateways {:?} after the import began", begun.elapsed());
    assert!(command(&database, &arguments).contains("1 unchanged"), "a second time changes nothing");
    let left: Vec<_> = fs::read_dir(imports.path()).expect("a directory").collect();
    assert!(left.is_empty(), "{left:?}");

    // So are names that mean the same, at the next question of each.
    let synonyms = data.path().join("synonyms.txt");
    fs::write(&synonyms, "cornflower => himalayan blue poppy\n").expect("a file");
    let named = |gateway: &Gateway| gateway.search(&json!({"query": "cornflower"}))["products"][0]["id"].clone();
    assert_eq!((named(&one), named(&two)), (Value::Null, Value::Null));
    let arguments = [
        "import",
        "--synonyms",
        synonyms.to_str().expect("UTF-8"),
        "--data-dir",
        imports.path().to_str().expect("UTF-8"),
    ];
    assert!(command(&database, &arguments).contains("lines of synonyms: 1"), "{arguments:?}");
    for gateway in [&one, &two] {
        eventually("the other name is known", PATIENCE, || (named(gateway) == "blue_poppy").then_some(()));
    }

    // A gateway that starts later derives its own from the database.
    let (three, _three) = gateway(&database);
    assert_eq!(named(&three), "blue_poppy");
    let found = three.search(&json!({"query": "himalayan blue poppy"}));
    assert_eq!(found["products"][0]["id"], "blue_poppy");
    assert_eq!(available(&three, "orchid_white"), json!(false));
}

#[test]
fn goods_that_are_sold_stay_sold_when_they_are_imported_or_copied() {
    let Some(database) = database() else { return };
    let (folder, (one, _one)) = (folder(), gateway(&database));
    let import = |vases: u64, bowls: u64| {
        let mut goods = [counted("vase", 2_000, vases), counted("bowl", 500, bowls)];
        goods.iter_mut().for_each(|product| product["variants"][0]["price"]["currency"] = json!("USD"));
        let file = folder.path().join("goods.jsonl");
        fs::write(&file, goods.map(|product| format!("{product}\n")).concat()).expect("a file");
        let data = folder.path().join("import");
        command(&database, &["import", file.to_str().expect("UTF-8"), "--data-dir", data.to_str().expect("UTF-8")])
    };
    let left = |database: &str| {
        psql(
            database,
            "SELECT string_agg(variant || ' ' || quantity, ', ' ORDER BY variant) FROM stock WHERE variant IN ('vase-1', 'bowl-1')",
        )
    };
    assert!(import(2, 4).contains("2 new"));
    buy(&one, "vase-1", 2);
    buy(&one, "bowl-1", 1);
    assert!(import(2, 4).contains("2 unchanged, 0 skipped, 0 rejected; 2 stock numbers are as before"));
    assert_eq!(left(&database), "bowl-1 3, vase-1 0");
    // One number is corrected: the other product keeps what it has, and what is held is not given back.
    let held = "INSERT INTO takings (shop, variant, checkout, at, quantity) VALUES ('default', 'vase-1', 'held', 9223372036854775807, 1)";
    drop(psql(&database, held));
    assert!(import(5, 4).contains("1 changed, 1 unchanged, 0 skipped, 0 rejected; 1 stock number is as before"));
    assert_eq!(left(&database), "bowl-1 3, vase-1 4");
    // A copy has the numbers that were stated, and what was taken.
    drop(one);
    let place = folder.path().join("copied");
    let place = place.to_str().expect("UTF-8");
    let copied = binary().args(["data", "copy", "--from", &database, "--to", place]).ends();
    let said = String::from_utf8_lossy(&copied.stdout).into_owned();
    assert!(copied.status.success() && said.contains("takings: 3 rows, 3 copied, 0 differ"), "{copied:?}");
    let another = self::database().expect("a database");
    let back = binary().args(["data", "copy", "--from", place, "--to", &another]).ends();
    assert!(back.status.success(), "{back:?}");
    assert_eq!(left(&another), "bowl-1 3, vase-1 4");
    let facts = "SELECT string_agg(concat_ws(' ', variant, owed, stated, stated_at), ', ' ORDER BY variant) FROM stock";
    assert_eq!(psql(&another, facts), psql(&database, facts));
    assert!(psql(&database, facts).contains("vase-1 0 5 "));
}

#[test]
fn while_the_server_is_down_the_catalog_is_read_and_nothing_is_sold_or_lost() {
    if postgres::database().is_none() {
        return;
    }
    let Some(mut cluster) = Cluster::start(&[]) else { return };
    let (gateway, data) = gateway(&cluster.url("postgres"));
    let line = gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    let admin = line.expect("where operators ask").parse().expect("an address");
    let ready = || {
        let mut connection = Connection::open(admin);
        assert!(connection.write(&request("GET", "/readyz", &[], b"")));
        connection.read().expect("an answer").status
    };
    assert_eq!(ready(), 200);
    let (key, payload) = (new_key(), purchase("bouquet_roses", 1));
    let created = post(&gateway, "/checkout-sessions", &key, &payload);
    assert_eq!(created.status, 201, "{created:?}");

    cluster.kill();
    let while_down = new_key();
    let refused = post(&gateway, "/checkout-sessions", &while_down, &payload);
    assert_eq!(refused.status, 503, "{refused:?}");
    assert!(refused.header("retry-after").is_some(), "{refused:?}");
    eventually("the gateway is not ready", PATIENCE, || (ready() == 503).then_some(()));
    let found = gateway.search(&json!({"query": "roses"}));
    let looked_up = gateway.lookup(&json!({"ids": ["bouquet_roses"]}));
    for answer in [found, looked_up] {
        assert_eq!(answer["products"][0]["variants"][0]["id"], "bouquet_roses", "{answer}");
        assert_eq!(answer["messages"][0]["code"], "stale", "it may have changed: {answer}");
    }

    cluster.run();
    eventually("the gateway is ready again", PATIENCE, || (ready() == 200).then_some(()));
    let again = post(&gateway, "/checkout-sessions", &key, &payload);
    assert_eq!((again.status, &again.body), (201, &created.body), "what was answered is kept");
    let later = post(&gateway, "/checkout-sessions", &while_down, &payload);
    assert_eq!(later.status, 201, "{later:?}");
    assert_eq!(cluster.psql("SELECT count(*) FROM checkouts"), "2", "nothing is there twice");
    drop(data);
}

#[test]
fn a_platform_is_told_each_step_of_an_order_once_whichever_gateway_takes_it() {
    let Some(database) = database() else { return };
    let shared = folder();
    keys(&["generate"], shared.path());
    let configuration = format!("[data]\nkeys_dir = {:?}\n{}", shared.path().join("keys"), webhooks::open());
    let start = || {
        let setup = Setup::new(&configuration).arguments(&["--sample", "flower-shop", "--database", &database]);
        setup.start_on(folder())
    };
    let (one, two) = (start(), start());
    let (host, receiver) = (Host::start(), Receiver::start([]));
    let profile = host.profile("/platform", &webhooks::profile(Release::NEWEST, Some(&receiver.url())));
    // A cart and a checkout go from one to the other.
    let (first, second) = (Shopper::rest(&one), Shopper::rest(&two));
    let cart = first.call("create_cart", None, &json!({"line_items": lines(&[("pot_ceramic", 1)])})).document();
    let changed = json!({"line_items": lines(&[("pot_ceramic", 2)])});
    let changed = second.call("update_cart", Some(id(&cart)), &changed).document();
    assert_eq!(changed["line_items"][0]["quantity"], 2, "{changed}");
    let seen = first.call("get_cart", Some(id(&cart)), &json!({})).document();
    assert_eq!(seen["line_items"], changed["line_items"]);
    let checkout = first.named(&profile).create(&ready(&[("pot_ceramic", 2)]));
    let completed = second.named(&profile).complete(&checkout, "success_token");
    assert_eq!(completed["status"], "completed", "{completed}");
    let order = completed["order"]["id"].as_str().expect("an order");
    receiver.after(1);
    command(&database, &["orders", "ship", order]);
    let told = receiver.after(2);
    let shipped = [told[0].json(), told[1].json()].map(|order| order.to_string().contains("shipped"));
    assert_eq!(shipped, [false, true], "in the order of the steps");
    // As long as it takes either of them to look for something to send.
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(receiver.deliveries().len(), 2, "nothing is told twice");
    let states = "SELECT string_agg(DISTINCT state || ' ' || attempts, ', ') || ' of ' || count(*) FROM outbox";
    assert_eq!(psql(&database, states), "delivered 1 of 2");
}

#[test]
fn a_purchase_whose_gateway_dies_is_finished_by_another() {
    let Some(database) = database() else { return };
    let keys = Keys { api_key: "sk_test_0123456789abcdef".into(), signing_secret: "secret-0123456789abcdef".into() };
    let Keys { api_key, signing_secret } = keys.clone();
    let provider = FakePsp::start(Options::new(keys)).expect("the provider starts");
    let configuration = format!(
        "[callers]\npolicy = \"development\"\n[[payment]]\nkind = \"processor\"\nid = \"mock_payment_handler\"\n\
         name = \"com.example.psp\"\nversion = \"2026-08-25\"\nspec = \"https://example.com/psp\"\n\
         schema = \"https://example.com/psp.json\"\nurl = \"{}\"\napi_key_file = \"api.key\"\n\
         signing_secret_file = \"signing.secret\"\ntimeout_ms = 20000\ndeadline_ms = 20000\n",
        provider.url()
    );
    let start = || {
        let setup = Setup::new(&configuration).file("api.key", &api_key).file("signing.secret", &signing_secret);
        setup.arguments(&["--sample", "flower-shop", "--database", &database]).start_on(folder())
    };
    let (mut one, two) = (start(), start());
    let created = post(&one, "/checkout-sessions", &new_key(), &purchase("pot_ceramic", 1));
    let checkout = created.json()["id"].as_str().expect("an identifier").to_owned();
    let (path, complete) = (format!("/checkout-sessions/{checkout}/complete"), new_key());
    // The provider takes the money, and does not say so.
    let payment = paying_in(Release::NEWEST, "mock_payment_handler", "pm_okZPcaptureZChang_after");
    let headers = [REST_HEADERS, &[("Idempotency-Key", &*complete)]].concat();
    let mut connection = one.connect();
    assert!(connection.write(&request("POST", &path, &headers, payment.to_string().as_bytes())));
    let captures = || provider.psp().report().captures_of_checkout(&checkout);
    eventually("the money is taken", PATIENCE, || (captures() == 1).then_some(()));
    one.kill();
    assert!(connection.read().is_none(), "nobody has said that it is bought");

    let found = || two.send("GET", &format!("/checkout-sessions/{checkout}"), REST_HEADERS, b"").json();
    eventually("the other gateway finds out", PATIENCE, || (found()["status"] == "completed").then_some(()));
    let completed = post(&two, &path, &complete, &payment);
    assert_eq!((completed.status, &completed.json()["status"]), (200, &json!("completed")), "{completed:?}");
    assert_eq!(captures(), 1, "the money is taken once");
    let counts = "SELECT (SELECT count(*) FROM orders) || ' ' || (SELECT count(*) FROM outbox)";
    assert_eq!(psql(&database, counts), "1 1");
}

#[test]
fn a_database_is_dumped_and_restored_and_copies_of_what_came_later_are_made_anew() {
    let Some(database) = database() else { return };
    let run = |name: &str, arguments: &[&str]| {
        let program = postgres::program(name).expect("installed with the server");
        let output = std::process::Command::new(program).args(arguments).ends();
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
    };
    let (mut one, data) = gateway(&database);
    let (key, payload) = (new_key(), purchase("bouquet_roses", 1));
    let created = post(&one, "/checkout-sessions", &key, &payload);
    assert_eq!(created.status, 201, "{created:?}");
    let files = folder();
    let dump = files.path().join("monday.dump");
    let (place, dump) = (format!("--dbname={database}"), dump.to_str().expect("UTF-8"));
    run("pg_dump", &["--format=custom", &place, &format!("--file={dump}")]);

    let later = new_key();
    assert_eq!(post(&one, "/checkout-sessions", &later, &payload).status, 201);
    let file = files.path().join("new.jsonl");
    let product = json!({
        "id": "blue_poppy", "title": "Himalayan blue poppy", "description": {"plain": "A poppy that is blue."},
        "variants": [{"id": "blue_poppy-0", "title": "Himalayan blue poppy", "price": {"amount": 1900, "currency": "USD"}}],
    });
    fs::write(&file, format!("{product}\n")).expect("a file");
    let arguments = ["import", file.to_str().expect("UTF-8"), "--data-dir", files.path().to_str().expect("UTF-8")];
    assert!(command(&database, &arguments).contains("1 new"));
    let poppies = |gateway: &Gateway| {
        let found = gateway.search(&json!({"query": "himalayan blue poppy"}));
        found["products"].as_array().expect("products").iter().filter(|product| product["id"] == "blue_poppy").count()
    };
    eventually("the new product is found", PATIENCE, || (poppies(&one) == 1).then_some(()));
    assert!(one.terminate().success());

    let server = postgres::database().expect("it is there");
    let (_, name) = database.rsplit_once('/').expect("a name");
    drop(psql(server, &format!("DROP DATABASE {name}")));
    drop(psql(server, &format!("CREATE DATABASE {name}")));
    run("pg_restore", &["--no-owner", &place, dump]);
    let one = Gateway::on(data.path(), &["--database", &database]);
    assert_eq!(poppies(&one), 0, "it came after the backup");
    assert_eq!(one.search(&json!({"query": "roses"}))["products"][0]["id"], "bouquet_roses_product");
    let again = post(&one, "/checkout-sessions", &key, &payload);
    assert_eq!((again.status, &again.body), (201, &created.body), "what was answered is kept");
    assert_eq!(post(&one, "/checkout-sessions", &later, &payload).status, 201);
    assert_eq!(psql(&database, "SELECT count(*) FROM checkouts"), "2");
}

#[test]
fn a_data_directory_of_another_shop_is_refused() {
    let Some(database) = database() else { return };
    let (one, _one) = gateway(&database);
    drop(one);
    let other = crate::harness::flower_shop();
    let mut command = binary();
    command.args(["serve", "--listen", "127.0.0.1:0", "--database", &database, "--data-dir"]).arg(other.path());
    let output = command.ends();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && told.contains("data copy"), "{told}");
}

#[test]
fn an_address_that_cannot_be_used_is_refused_without_its_password() {
    for address in ["mysql://me:hunter2@db/shop", "postgres://me:hunter2@db.example", "postgres://me:hunter2@/shop"] {
        let data = folder();
        let mut command = binary();
        command.args(["serve", "--listen", "127.0.0.1:0", "--database", address, "--data-dir"]).arg(data.path());
        let output = command.ends();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && told.contains("data.database"), "{address}: {told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
}

#[test]
fn a_database_with_a_certificate_of_a_private_authority_is_used_by_gateways_and_commands() {
    if postgres::database().is_none() {
        return;
    }
    let (authority, files) = (Authority::new("A private authority"), folder());
    let issued = authority.issue("localhost");
    let Some(cluster) = Cluster::start_with_certificate(&issued.certificate_pem, &issued.key_pem) else { return };
    let database = format!("{}?sslmode=verify-full", cluster.url("postgres").replace("127.0.0.1", "localhost"));
    let trusted = files.path().join("authority.pem");
    fs::write(&trusted, authority.pem()).expect("a file");
    let trusted = ["--database-ca-file", trusted.to_str().expect("UTF-8")];

    let data = folder();
    let arguments = [&["--sample", "flower-shop", "--database", &database], &trusted[..]].concat();
    let mut gateway = Gateway::on(data.path(), &arguments);
    let created = post(&gateway, "/checkout-sessions", &new_key(), &purchase("bouquet_roses", 1));
    assert_eq!(created.status, 201, "{created:?}");
    assert!(gateway.terminate().success());

    let elsewhere = folder();
    let target = elsewhere.path().to_str().expect("UTF-8");
    for arguments in
        [&["orders", "list", "--database", &database][..], &["data", "copy", "--from", &database, "--to", target]]
    {
        let untrusting = binary().args(arguments).ends();
        let told = String::from_utf8_lossy(&untrusting.stderr).into_owned();
        assert!(!untrusting.status.success() && told.contains("certificate"), "{arguments:?}: {told}");
        let trusting = binary().args(arguments).args(trusted).ends();
        assert!(trusting.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&trusting.stderr));
    }
}

#[test]
fn a_shop_moves_into_a_database_and_back_with_the_answers_that_are_kept() {
    let Some(database) = database() else { return };
    let (data, back) = (crate::harness::flower_shop(), folder());
    let mut gateway = Gateway::on(data.path(), &[]);
    // Some that are open, one that is bought, and one that is shipped.
    let mut calls = Vec::new();
    for quantity in 1..4 {
        let (create, payload) = (new_key(), purchase("bouquet_roses", quantity));
        let created = post(&gateway, "/checkout-sessions", &create, &payload);
        assert_eq!(created.status, 201, "{created:?}");
        let id = created.json()["id"].as_str().expect("an identifier").to_owned();
        calls.push(("/checkout-sessions".to_owned(), create, payload, created));
        if quantity > 1 {
            let (path, complete) = (format!("/checkout-sessions/{id}/complete"), new_key());
            let completed = post(&gateway, &path, &complete, &paid());
            assert_eq!(completed.json()["status"], "completed", "{completed:?}");
            calls.push((path, complete, paid(), completed));
        }
    }
    let search = json!({"query": "flowers", "pagination": {"limit": 2}});
    let page = gateway.anywhere(&gateway.search(&search));
    assert!(gateway.terminate().success());

    let copy = |from: &str, to: &str| {
        let output = binary().args(["data", "copy", "--from", from, "--to", to]).ends();
        let told = [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("UTF-8")).concat();
        (output.status.success(), told)
    };
    let (here, there) = (data.path().to_str().expect("UTF-8"), back.path().to_str().expect("UTF-8"));
    let address = folder();
    let file = address.path().join("database");
    fs::write(&file, format!("{database}\n")).expect("a file");
    let file = file.to_str().expect("UTF-8");
    let (copied, told) = copy(here, file);
    assert!(copied && told.contains("checkouts: 3 rows, 3 copied, 0 differ"), "{told}");
    assert!(told.contains("orders: 2 rows, 2 copied") && told.contains("kept: 5 rows, 5 copied"), "{told}");
    // As if it had been interrupted: what is missing comes after, what is there stays.
    drop(psql(
        &database,
        "DELETE FROM kept WHERE operation = 'create_checkout'; DELETE FROM outbox; UPDATE copies SET finished = false",
    ));
    let (copied, told) = copy(here, file);
    assert!(copied && told.contains("kept: 5 rows, 3 copied, 0 differ"), "{told}");
    assert!(told.contains("outbox: 2 rows, 2 copied") && told.contains("orders: 2 rows, 0 copied"), "{told}");

    // Every answer is the same bytes on the database, and after the way back.
    let same = |gateway: &Gateway| {
        for (path, key, payload, answer) in &calls {
            let again = post(gateway, path, key, payload);
            assert_eq!((again.status, &again.body), (answer.status, &answer.body), "{path}");
        }
        let found = gateway.search(&search);
        assert_eq!(gateway.anywhere(&found["products"]), page["products"]);
        let next = json!({"query": "flowers", "pagination": {"limit": 2, "cursor": page["pagination"]["cursor"]}});
        assert!(gateway.search(&next)["products"][0]["id"].is_string(), "a position in a search from before");
    };
    let own = folder();
    let mut gateway = Gateway::on(own.path(), &["--database", &database]);
    same(&gateway);
    let later = post(&gateway, "/checkout-sessions", &new_key(), &purchase("bouquet_roses", 1));
    assert_eq!(later.status, 201, "it goes on selling");
    assert!(gateway.terminate().success());

    let (copied, told) = copy(&database, there);
    assert!(copied && told.contains("checkouts: 4 rows, 4 copied, 0 differ"), "{told}");
    let mut gateway = Gateway::on(back.path(), &[]);
    same(&gateway);
    assert!(gateway.terminate().success());

    // Foreign rows are detected.
    drop(psql(
        &database,
        "INSERT INTO tasks (shop, kind, key, lane, due, body, since) VALUES ('default', 'abandon', 'stray', 'abandon', 1, '{}', 1)",
    ));
    let (copied, told) = copy(here, &database);
    assert!(!copied && told.contains("tasks: 2 rows, 0 copied, 1 differ"), "{told}");
    let (copied, told) = copy(here, there);
    assert!(!copied && told.contains("one side must be"), "{told}");
}
