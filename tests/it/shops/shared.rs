//! Several shops of several gateways in one PostgreSQL database. Skipped, with a line that says so, where there is none.

use std::{fs, net::TcpListener};

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::Release;
use ucp_testkit::postgres::psql;

use super::{ADMIN, THREE, ask, open, search, several};
use crate::{
    database::{command, database},
    harness::{Ends as _, PROFILE, REST_HEADERS, binary, eventually, folder},
    purchase::{
        shopper::{Shopper, id, ready},
        webhooks::{profile, receiver::Receiver},
    },
    setup::{Setup, Transport},
    signatures::keys,
    wire::{PATIENCE, request},
};

#[test]
fn shops_of_a_database_are_apart_and_any_gateway_serves_each_of_them() {
    let Some(database) = database() else { return };
    let receiver = Receiver::start([]);
    let agent = profile(Release::NEWEST, Some(&receiver.url()));
    let (data, signing) = ([folder(), folder()], folder());
    // The second shop has a user of its own there, and so connections of its own.
    let other = format!("other_{}", std::process::id());
    drop(psql(&database, &format!("CREATE ROLE {other} SUPERUSER LOGIN")));
    let (_, place) = database.rsplit_once('@').expect("a user");
    let named = "hosts = [\"two.localhost\", \"zwei.localhost\"]\n";
    let own = format!("{named}[shop.data]\ndatabase = \"postgres://{other}@{place}\"\n");
    let toml = format!(
        "[profiles]\nloopback = true\n[[platform]]\nname = \"agent\"\nprofile = \"{PROFILE}\"\nprofile_file = \"agent.json\"\n{}",
        THREE.replace(named, &own).replace(
            "[data]",
            &format!("[data]\ndatabase = \"{database}\"\nkeys_dir = \"{}\"", signing.path().display())
        )
    );
    // The gateways share the directory of the keys, in which those of a shop are apart.
    keys(&["generate", "--shop", "one", "--keys-dir", signing.path().to_str().expect("UTF-8")], data[0].path());
    let setup = Setup::new(&toml).file("agent.json", &agent.to_string()).arguments(&ADMIN);
    let [first, second] = [&data[0], &data[1]].map(|data| setup.spawn("127.0.0.1:0", data.path()));
    let shopper = |gateway, host| Shopper::new(gateway, Release::NEWEST, Transport::Rest).header("Host", host);

    // A purchase that goes from one gateway to the other, and means nothing in another shop.
    let checkout = shopper(&first, "one.localhost").create(&ready(&[("bouquet_roses", 1)]));
    let elsewhere = shopper(&second, "two.localhost").call("get_checkout", Some(id(&checkout)), &Value::Null);
    assert_eq!(elsewhere.errors(), ["not_found"]);
    let done = shopper(&second, "one.localhost").complete(&checkout, "success_token");
    let order = id(&done["order"]).to_owned();
    let orders = |shop: &str| ask(&first, "GET", &format!("/shops/{shop}/orders"), b"").json();
    assert_eq!((orders("one")[0]["id"].as_str(), orders("two")), (Some(&*order), json!([])));
    let users = format!(
        "SELECT count(DISTINCT usename) FROM pg_stat_activity WHERE usename IN ('{other}', current_user) \
         AND application_name = 'ucp-gateway' AND datname = current_database()"
    );
    assert_eq!(psql(&database, &users), "2", "shops share no connections of another user");
    assert_eq!(receiver.after(1)[0].json()["id"], order.as_str());

    // Commands, and imports that every gateway finds in the shop that they are for.
    assert!(command(&database, &["orders", "list", "--shop", "one"]).contains(&order));
    assert!(!command(&database, &["orders", "list", "--shop", "two"]).contains(&order));
    let product = json!({
        "id": "blue_poppy", "title": "Himalayan blue poppy", "description": {"plain": "A poppy that is blue."},
        "variants": [{"id": "blue_poppy-0", "title": "Himalayan blue poppy", "price": {"amount": 1900, "currency": "USD"}}],
    });
    let (file, imports) = (data[0].path().join("new.jsonl"), folder());
    fs::write(&file, product.to_string()).expect("a file");
    let [file, into] = [&*file, imports.path()].map(|path| path.to_str().expect("UTF-8"));
    let imported = command(&database, &["import", file, "--data-dir", into, "--shop", "two"]);
    assert!(imported.contains("1 new"), "{imported}");
    let sells = |gateway, host| {
        let poppy = shopper(gateway, host).call("create_checkout", None, &ready(&[("blue_poppy-0", 1)]));
        poppy.errors().is_empty()
    };
    for gateway in [&first, &second] {
        eventually("the product is in its shop", PATIENCE, || sells(gateway, "two.localhost").then_some(()));
        assert!(!sells(gateway, "one.localhost"));
    }
    drop(second);
    drop(first);

    // One of them moves into a directory.
    let (alone, there) = (folder(), |folder: &TempDir| folder.path().to_str().expect("UTF-8").to_owned());
    let copy = |shop: &str| {
        let arguments = ["data", "copy", "--from", &database, "--to", &there(&alone), "--shop", shop];
        let output = binary().args(arguments).ends();
        (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (failed, told) = copy("four");
    assert!(!failed && told.contains("there is no shop `four`"), "{told}");
    let (copied, told) = copy("one");
    assert!(copied && told.contains("orders: 1 rows"), "{told}");
    let orders = binary().args(["orders", "list", "--shop", "one", "--data-dir", &there(&alone)]).ends();
    assert!(String::from_utf8_lossy(&orders.stdout).contains(&order), "{orders:?}");

    // A shop that nobody calls is opened for what it has to tell.
    assert!(command(&database, &["orders", "ship", &order, "--shop", "one"]).contains("shipped"));
    let gateway = setup.spawn("127.0.0.1:0", data[0].path());
    let delivered = receiver.after(2);
    assert_eq!(delivered[1].json()["id"], order.as_str());
    eventually("its shop alone is open", PATIENCE, || (open(&gateway) == ["one"]).then_some(()));
}

#[test]
fn a_database_that_is_away_keeps_no_shop_but_its_own_from_work() {
    let silent = TcpListener::bind("127.0.0.1:0").expect("an address");
    let silent = format!("postgres://ucp@{}/ucp", silent.local_addr().expect("an address"));
    for away in ["postgres://ucp@127.0.0.1:1/ucp", &silent] {
        let toml = format!("{THREE}[shop.data]\ndatabase = \"{away}\"\n");
        let (_setup, _data, gateway) = several(&toml);
        // Started, ready, and serving: also while somebody waits for the shop whose database is away.
        let mut waiting = gateway.connect();
        let body = b"{\"query\":\"roses\"}";
        assert!(waiting.write(&request("POST", "/shops/three/catalog/search", REST_HEADERS, body)));
        for host in ["one.localhost", "two.localhost"] {
            assert_eq!(search(&gateway, host, "").status, 200, "{away}");
        }
        assert_eq!(ask(&gateway, "GET", "/readyz", b"").status, 200, "{away}");
        assert_eq!(ask(&gateway, "GET", "/metrics", b"").status, 200, "{away}");
        let refused = search(&gateway, "localhost", "/shops/three");
        assert_eq!((refused.status, refused.header("retry-after").is_some()), (503, true), "{away}: {refused:?}");
        assert_eq!(ask(&gateway, "POST", "/reload", b"").status, 200, "{away}");
        assert_eq!(search(&gateway, "two.localhost", "").status, 200, "{away}");
        eventually("it is told", PATIENCE, || gateway.stderr().contains("database unavailable").then_some(()));
    }
}
