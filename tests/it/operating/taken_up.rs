//! What a reload takes up, each kind seen over the wire, and what it says waits for the next start.

use std::{collections::BTreeSet, fs, path::Path};

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_fake_psp::{FakePsp, Keys, Options};
use ucp_testkit::leash::free_address;
use ucp_trust::api_key::ApiKey;

use super::{ADMIN, admin, reload};
use crate::{
    database::database,
    handoff::browser::{Browser, path},
    harness::{Ends as _, Gateway, binary, folder, repository},
    platforms::host::profile_with,
    purchase::shopper::{Shopper, ready, total},
    setup::{Ask, REQUIRE, Setup, Transport},
    signatures::keys,
    tls::host::Authority,
    wire::{Connection, Response, request},
};

/// Capabilities of a platform that searches and buys.
const CAPABILITIES: [&str; 4] = [
    "dev.ucp.shopping.catalog.search",
    "dev.ucp.shopping.checkout",
    "dev.ucp.shopping.fulfillment",
    "dev.ucp.shopping.order",
];

/// Reloads; the keys that wait for the next start.
#[track_caller]
fn reloaded(gateway: &Gateway) -> Vec<String> {
    let (status, answer) = reload(admin(gateway));
    assert_eq!(status, 200, "{answer}");
    serde_json::from_value(answer["from_next_start"].clone()).expect("names")
}

/// Sets terms of sale with which the post costs so much.
fn set_terms(folder: &Path, arguments: &[&str], price: u64) {
    let terms = json!({ "shipping": { "rates": [{ "id": "post", "title": "By post", "price": price }] } });
    let file = folder.join("terms.json");
    fs::write(&file, terms.to_string()).expect("a file");
    let output = binary().arg("terms").arg(file).args(arguments).ends();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    assert!(said.contains("when they reload their configuration") && said.contains("/reload"), "{said}");
}

/// The price of shipping of a new checkout.
fn shipping(shopper: &Shopper<'_>) -> i64 {
    total(&shopper.create(&ready(&[("pot_ceramic", 1)])), "fulfillment")
}

/// The post costs what the terms say, from the reload on and not before.
fn terms_are_taken_up(gateway: &Gateway, shopper: &Shopper<'_>, arguments: &[&str]) {
    let files = folder();
    for price in [321, 654] {
        let before = shipping(shopper);
        set_terms(files.path(), arguments, price);
        assert_eq!(shipping(shopper), before, "until it is told to read them");
        assert_eq!(reloaded(gateway), Vec::<String>::new());
        assert_eq!(shipping(shopper), i64::try_from(price).expect("small"));
    }
}

#[test]
fn terms_in_a_data_directory() {
    let data = folder();
    let setup = Setup::new("").arguments(&ADMIN).arguments(&["--sample", "flower-shop"]);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    terms_are_taken_up(&gateway, &Shopper::rest(&gateway), &["--data-dir", data.path().to_str().expect("UTF-8")]);
}

#[test]
fn terms_in_a_database() {
    let Some(database) = database() else { return };
    let data = folder();
    let setup = Setup::new("").arguments(&ADMIN).arguments(&["--sample", "flower-shop", "--database", &database]);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    terms_are_taken_up(&gateway, &Shopper::rest(&gateway), &["--database", &database]);
}

#[test]
fn terms_of_one_of_several_shops() {
    let data = folder();
    let toml = "[[shop]]\nname = \"one\"\nhosts = [\"one.localhost\"]\n[shop.data]\nsample = \"flower-shop\"\n\
                [[shop]]\nname = \"two\"\nhosts = [\"two.localhost\"]\n";
    let setup = Setup::new(toml).arguments(&ADMIN);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let shopper = Shopper::rest(&gateway).header("Host", "one.localhost");
    terms_are_taken_up(&gateway, &shopper, &["--shop", "one", "--data-dir", data.path().to_str().expect("UTF-8")]);
}

#[test]
fn texts_tokens_keys_and_secrets() {
    let provider_keys =
        Keys { api_key: "sk_test_0123456789abcdef".into(), signing_secret: "secret-0123456789abcdef".into() };
    let Keys { api_key, signing_secret } = provider_keys.clone();
    let provider = FakePsp::start(Options::new(provider_keys)).expect("the provider starts");
    let languages = folder();
    let text = |title: &str| {
        fs::write(languages.path().join("de.toml"), format!("[texts]\nmissing_title = \"{title}\"\n")).expect("a file");
    };
    text("Zuerst");
    let (old, new) = (ApiKey::generate().expect("a key"), ApiKey::generate().expect("a key"));
    let one = "https://one.example.com/profile.json";
    let configuration = format!(
        "{REQUIRE}\n[server]\npublic_url = \"https://localhost\"\nadmin_token_file = \"token\"\n[pages]\ntexts_dir = {:?}\n[[payment]]\nkind = \"processor\"\n\
         id = \"mock_payment_handler\"\nname = \"com.example.psp\"\nversion = \"2026-08-25\"\nspec = \"https://example.com/psp\"\n\
         schema = \"https://example.com/psp.json\"\nurl = \"{}\"\napi_key_file = \"psp.key\"\nsigning_secret_file = \"psp.secret\"\n\
         timeout_ms = 20000\ndeadline_ms = 20000\n[[platform]]\nname = \"One\"\nprofile = \"{one}\"\nprofile_file = \"profile.json\"\n\
         api_key_file = \"one.key\"\n",
        languages.path(),
        provider.url()
    );
    let setup = Setup::new(&configuration)
        .file("token", "first-token-of-operators\n")
        .file("psp.key", "sk_test_wrong_0123456789")
        .file("psp.secret", &signing_secret)
        .file("profile.json", &profile_with(Release::NEWEST, &CAPABILITIES).to_string())
        .file("one.key", &old.hash().to_string())
        .arguments(&ADMIN)
        .arguments(&["--sample", "flower-shop"]);
    let data = folder();
    // Buyers' pages need https, which is in front of it.
    let listen = free_address();
    let mut command = setup.command("serve");
    command.args(["--listen", &listen.to_string(), "--data-dir"]).arg(data.path());
    let gateway = Gateway::spawn(&command, Some(listen));
    let ask = |token: &str, method: &str, path: &str| -> Response {
        let mut connection = Connection::open(admin(&gateway));
        assert!(connection.write(&request(method, path, &[("Authorization", &format!("Bearer {token}"))], b"")));
        connection.read().expect("an answer")
    };
    let status = |key: &ApiKey| {
        Ask::new(Transport::Rest, one)
            .of("search_catalog", json!({ "query": "roses" }))
            .header("X-API-Key", key.reveal())
            .send(&gateway)
            .status
    };
    let shopper = || Shopper::rest(&gateway).named(one);
    let page = |key: &ApiKey| {
        let wish = json!({ "line_items": [{ "item": { "id": "bouquet_tulips" }, "quantity": 1 }], "context": { "language": "de" } });
        let checkout = shopper().header("X-API-Key", key.reveal()).create(&wish);
        Browser::new(&gateway).open(&path(&checkout["continue_url"])).response.body
    };
    let pays = |key: &ApiKey| {
        let header = key.reveal();
        let checkout = shopper().header("X-API-Key", header).create(&ready(&[("pot_ceramic", 1)]));
        shopper().header("X-API-Key", header).complete(&checkout, "pm_ok")["status"].clone()
    };
    let kids = || -> Vec<Value> {
        let published = gateway.get("/.well-known/ucp").json();
        let listed = published["keys"].as_array().or(published["signing_keys"].as_array()).cloned().unwrap_or_default();
        listed.iter().map(|key| key["kid"].clone()).collect()
    };
    assert_eq!([status(&old), status(&new)], [200, 401]);
    let shown = page(&old);
    assert!(shown.contains("Zuerst"), "{shown}");
    assert_ne!(pays(&old), "completed", "the provider knows another key");
    assert_eq!(ask("first-token-of-operators", "GET", "/readyz").status, 200);
    assert_eq!(kids(), Vec::<Value>::new());

    // Each file has another content.
    fs::write(setup.path("token"), "second-token-of-operators\n").expect("a file");
    fs::write(setup.path("psp.key"), &api_key).expect("a file");
    fs::write(setup.path("one.key"), new.hash().to_string()).expect("a file");
    text("Danach");
    keys(&["generate"], data.path());
    let answer = ask("first-token-of-operators", "POST", "/reload");
    assert_eq!((answer.status, answer.json()), (200, json!({ "reloaded": true, "from_next_start": [] })));
    let statuses =
        ["first-token-of-operators", "second-token-of-operators"].map(|token| ask(token, "GET", "/shops").status);
    assert_eq!(statuses, [401, 200]);
    assert_eq!([status(&old), status(&new)], [401, 200]);
    let shown = page(&new);
    assert!(shown.contains("Danach") && !shown.contains("Zuerst"), "{shown}");
    assert_eq!(pays(&new), "completed");
    assert_eq!(kids().len(), 1);
}

/// Keys of the configuration that a list of the manual names.
fn named(text: &str) -> BTreeSet<String> {
    text.split('`').skip(1).step_by(2).filter(|name| *name != "from_next_start").map(str::to_owned).collect()
}

#[test]
fn what_waits_for_the_next_start_is_what_the_manual_says() {
    let manual = fs::read_to_string(repository().join("docs/install.md")).expect("the manual");
    let (_, list) = manual.split_once("- **At the next start:**").expect("the list");
    let (list, _) = list.split_once("- **Only after a restart:**").expect("its end");
    let (all, several) = list.split_once("with several shops").expect("those of several shops");
    let (all, single) = all.split_once("with a single shop").expect("those of a single shop");
    let (all, single, several) = (named(all), named(single), named(several));

    let files = folder();
    let authority = Authority::new("An authority");
    let issued = authority.issue("localhost");
    for (name, pem) in
        [("server.crt", &issued.certificate_pem), ("server.key", &issued.key_pem), ("clients.crt", &authority.pem())]
    {
        fs::write(files.path().join(name), pem).expect("a file");
    }
    let path = |name: &str| format!("{:?}", files.path().join(name));
    let changed = |of_shops: &str| {
        format!(
            "[server]\nlisten = \"127.0.0.1:1\"\nadmin_listen = \"127.0.0.1:2\"\ntls_certificate_file = {}\ntls_key_file = {}\n\
             tls_client_ca_file = {}\ntls_min_version = \"1.2\"\nprobes = true\nmax_connections = 77\nidle_timeout_s = 70\n\
             drain_timeout_ms = 12345\nshutdown_delay_ms = 5\ninspect = true\nrecord_unmasked = true\ninspected_per_second = 7\n\
             inspected_mb = 7\nmax_in_flight = 7\nbodies_mb = 17\n[log]\nlevel = \"error\"\n[telemetry]\nsampled_percent = 7\n\
             [events]\nfile = {}\n[data]\nmax_mb = 7777\nmin_free_mb = 7\n{of_shops}",
            path("server.crt"),
            path("server.key"),
            path("clients.crt"),
            path("events.jsonl")
        )
    };
    let start = |toml: &str| {
        let setup = Setup::new(toml);
        let mut command = setup.command("serve");
        command.env_remove("UCP_GATEWAY_LOG_LEVEL").env_remove("UCP_GATEWAY_LOG_FORMAT");
        command.arg("--data-dir").arg(files.path().join("data"));
        (Gateway::spawn(&command, None), setup)
    };
    let late = |gateway: &Gateway| -> BTreeSet<String> { reloaded(gateway).into_iter().collect() };
    let addresses = "[server]\nlisten = \"127.0.0.1:0\"\nadmin_listen = \"127.0.0.1:0\"\n";

    let (gateway, setup) = start(addresses);
    let own = "cache_mb = 7\nkeep_unfinished_hours = 7\nkeep_completed_hours = 7\nkeep_addresses_days = 700\n";
    fs::write(setup.path("gateway.toml"), changed(own)).expect("a file");
    let mut expected = &all | &single;
    // That of a database is in a test of its own.
    assert!(expected.remove("data.database"));
    assert_eq!(late(&gateway), expected);
    drop(gateway);

    let shops = "[[shop]]\nname = \"one\"\nhosts = [\"one.localhost\"]\n[[shop]]\nname = \"two\"\nhosts = [\"two.localhost\"]\n";
    let (gateway, setup) = start(&format!("{addresses}{shops}"));
    fs::write(setup.path("gateway.toml"), changed(shops)).expect("a file");
    assert_eq!(late(&gateway), &all | &several);
}

#[test]
fn another_password_of_the_database_waits_for_the_next_start() {
    let Some(database) = database() else { return };
    let toml = |limit: u32| format!("[data]\ndatabase = \"{database}\"\ndatabase_connections = {limit}\n");
    let data = folder();
    let setup = Setup::new(&toml(8)).arguments(&ADMIN);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    assert_eq!(reloaded(&gateway), Vec::<String>::new());
    fs::write(setup.path("gateway.toml"), toml(9)).expect("a file");
    assert_eq!(reloaded(&gateway), ["data.database"]);
}
