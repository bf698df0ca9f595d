//! Commands on stored data find it wherever the configuration of the gateway puts it.

use std::{fs, path::Path};

use serde_json::Value;
use tempfile::TempDir;

use crate::{
    database::database,
    harness::{Ends as _, Gateway, binary, folder},
    purchase::shopper::{Shopper, id, ready},
};

/// A gateway by a configuration file, with an order.
struct Sold {
    home: TempDir,
    gateway: Gateway,
    order: String,
}

impl Sold {
    /// Starts a gateway whose configuration has `keys` below `[data]`, and buys.
    fn begin(keys: &str) -> Self {
        let home = folder();
        let text = format!("[data]\ndir = \"data\"\nsample = \"flower-shop\"\n{keys}");
        fs::write(home.path().join("gateway.toml"), text).expect("a file");
        let mut command = binary();
        command.args(["serve", "--listen", "127.0.0.1:0", "--config"]).arg(home.path().join("gateway.toml"));
        let gateway = Gateway::spawn(&command, None);
        let order = buy(&gateway);
        Self { home, gateway, order }
    }

    /// Runs a command with the data directory alone; returns what it printed, or its errors if it failed.
    fn by_directory(&self, arguments: &[&str]) -> Result<String, String> {
        run(arguments, "--data-dir", &self.home.path().join("data"))
    }

    /// Runs a command with the configuration alone.
    fn by_configuration(&self, arguments: &[&str]) -> Result<String, String> {
        run(arguments, "--config", &self.home.path().join("gateway.toml"))
    }
}

fn run(arguments: &[&str], flag: &str, path: &Path) -> Result<String, String> {
    let output = binary().args(arguments).arg(flag).arg(path).ends();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
}

/// Buys a bouquet, and returns the order.
fn buy(gateway: &Gateway) -> String {
    let shopper = Shopper::rest(gateway);
    let checkout = shopper.create(&ready(&[("bouquet_roses", 1)]));
    id(&shopper.complete(&checkout, "success_token")["order"]).to_owned()
}

/// Each command shows or changes what the gateway has, by `--config` and by the data directory alone.
fn finds_the_sales(sold: &Sold) {
    type Run = fn(&Sold, &[&str]) -> Result<String, String>;
    let ways: [Run; 2] = [Sold::by_directory, Sold::by_configuration];
    for way in ways {
        let said = |arguments: &[&str]| way(sold, arguments).unwrap_or_else(|said| panic!("{arguments:?}: {said}"));
        assert!(said(&["orders", "list"]).contains(&sold.order));
        assert!(said(&["orders", "show", &sold.order]).contains(&sold.order));
        assert!(said(&["webhooks", "list"]).contains(&sold.order));
        let holders: Value = serde_json::from_str(&said(&["holders", "list", "--json"])).expect("JSON");
        assert!(holders.is_array(), "{holders}");
        assert!(said(&["terms"]).contains('{'));
        assert!(said(&["buyers", "export", "buyer@example.com"]).contains(&sold.order));
    }
    assert!(sold.by_directory(&["orders", "ship", &sold.order]).expect("a step").contains("shipped"));
    // No key signs the webhook event about the order, which therefore waits.
    let left = sold.by_configuration(&["buyers", "erase", "buyer@example.com"]).expect_err("something is left");
    assert!(left.contains("a webhook event about its order waits"), "{left}");
}

#[test]
fn commands_find_sales_in_a_data_directory() {
    let sold = Sold::begin("");
    finds_the_sales(&sold);
    let copy = sold.home.path().join("backup.db");
    let copy = copy.to_str().expect("UTF-8");
    assert!(sold.by_configuration(&["data", "backup", copy]).expect("a backup").contains("bytes"));
    assert!(sold.by_configuration(&["data", "check"]).expect("a check").contains("no faults"));
}

#[test]
fn commands_find_sales_in_a_database_or_say_who_takes_care_of_it() {
    let Some(database) = database() else { return };
    let file = tempfile::NamedTempFile::new().expect("a file");
    fs::write(file.path(), &database).expect("the address");
    let mut sold = Sold::begin(&format!("database_file = {:?}\n", file.path()));
    finds_the_sales(&sold);
    for (arguments, instead) in [
        (&["data", "backup", "copy.db"] as &[&str], "pg_dump"),
        (&["data", "check"], "pg_amcheck"),
        (&["data", "restore", "copy.db"], "pg_restore"),
        (&["data", "accept-loss"], "on its server"),
    ] {
        for said in [sold.by_directory(arguments), sold.by_configuration(arguments)] {
            let said = said.expect_err("nothing that a file could hold");
            assert!(said.contains("PostgreSQL database") && said.contains(instead), "{arguments:?}: {said}");
        }
    }
    // The configuration that the note leads to is gone: nothing is taken for the sales of the shop.
    assert!(sold.gateway.terminate().success());
    fs::remove_file(sold.home.path().join("gateway.toml")).expect("a file");
    let said = sold.by_directory(&["buyers", "erase", "buyer@example.com"]).expect_err("no address of the database");
    assert!(said.contains("is stored in the database"), "{said}");
}

#[test]
fn a_directory_whose_gateway_had_flags_alone_says_that_its_sales_are_elsewhere() {
    let Some(database) = database() else { return };
    let data = folder();
    let arguments = ["--sample", "flower-shop", "--database", &database];
    let gateway = Gateway::on(data.path(), &arguments);
    let order = buy(&gateway);
    let said = run(&["orders", "list"], "--data-dir", data.path()).expect_err("no address of the database");
    assert!(said.contains("--database-file") && said.contains("--config"), "{said}");
    assert!(!said.contains(database.rsplit('/').next().expect("a name")) || !said.contains('@'), "{said}");
    let found = run(&["orders", "list", "--database", &database], "--data-dir", data.path()).expect("orders");
    assert!(found.contains(&order), "{found}");
}
