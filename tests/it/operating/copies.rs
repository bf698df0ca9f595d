//! `data copy`: never undoes what was written since, sees gateways on either side, and goes on where it was interrupted.

use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Output, Stdio},
};

use serde_json::json;
use ucp_testkit::postgres::psql;

use crate::{
    database::database,
    harness::{Ends as _, Gateway, binary, folder},
    purchase::shopper::{Shopper, id, lines, ready},
};

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn copy(from: &str, to: &str) -> Output {
    binary().args(["data", "copy", "--from", from, "--to", to]).ends()
}

/// Copies, and returns what the command said.
#[track_caller]
fn copied(from: &str, to: &str) -> String {
    let output = copy(from, to);
    assert!(output.status.success(), "{} {}", text(&output.stdout), text(&output.stderr));
    text(&output.stdout)
}

/// Tries to copy, and returns why it was refused.
#[track_caller]
fn refused(from: &str, to: &str) -> String {
    let output = copy(from, to);
    assert!(!output.status.success(), "{}", text(&output.stdout));
    text(&output.stderr)
}

fn path(directory: &Path) -> &str {
    directory.to_str().expect("UTF-8")
}

/// Buys a bouquet, and returns the order.
fn buy(gateway: &Gateway) -> String {
    let shopper = Shopper::rest(gateway);
    let checkout = shopper.create(&ready(&[("bouquet_roses", 1)]));
    id(&shopper.complete(&checkout, "success_token")["order"]).to_owned()
}

/// Returns why a gateway did not start.
#[track_caller]
fn not_served(arguments: &[&str]) -> String {
    let output = binary().args(["serve", "--listen", "127.0.0.1:0"]).args(arguments).ends();
    assert!(!output.status.success(), "{output:?}");
    text(&output.stderr)
}

#[test]
fn a_copy_sees_the_gateways_on_both_sides() {
    let Some(database) = database() else { return };
    let (data, other) = (folder(), folder());
    let [data, other] = [&data, &other].map(|folder| path(folder.path()));
    let mut alone = Gateway::on(Path::new(data), &["--sample", "flower-shop"]);
    let said = refused(data, &database);
    assert!(said.contains("a gateway is running on") && said.contains(data), "{said}");
    assert!(alone.terminate().success());
    copied(data, &database);

    let mut shared = Gateway::on(Path::new(other), &["--database", &database]);
    let target = folder();
    // As an origin, and as a target that is finished.
    for (from, to) in [(&*database, path(target.path())), (data, &database)] {
        let said = refused(from, to);
        assert!(said.contains("a gateway is serving the shop from"), "{said}");
    }
    assert!(shared.terminate().success());
    copied(&database, path(target.path()));
}

#[test]
fn a_finished_copy_is_final() {
    let Some(database) = database() else { return };
    let (data, other, third) = (folder(), folder(), folder());
    let [data, other, third] = [&data, &other, &third].map(|folder| path(folder.path()));
    let mut gateway = Gateway::on(Path::new(data), &["--sample", "flower-shop"]);
    let first = buy(&gateway);
    assert!(gateway.terminate().success());
    assert!(copied(data, &database).contains("signing keys"), "what is not copied is told");
    let again = copied(data, &database);
    assert!(again.contains("orders: 1 rows, 0 copied") && again.contains("nothing was written since"), "{again}");

    // The target lives.
    let mut gateway = Gateway::on(Path::new(other), &["--database", &database]);
    let second = buy(&gateway);
    assert!(gateway.terminate().success());
    let state =
        "SELECT (SELECT string_agg(id, ',' ORDER BY id) FROM orders) || ' ' || (SELECT sum(quantity) FROM stock)";
    let before = psql(&database, state);
    assert!(before.contains(&first) && before.contains(&second), "{before}");
    let said = refused(data, &database);
    assert!(said.contains("was finished before") && said.contains("would undo"), "{said}");
    assert_eq!(psql(&database, state), before);

    // A place with sales of its own is mixed with nothing.
    let said = refused(&database, data);
    assert!(said.contains("of its own"), "{said}");
    assert!(copied(&database, third).contains("orders: 2 rows, 2 copied, 0 differ"));
}

#[test]
fn an_interrupted_copy_serves_nothing_and_goes_on() {
    let Some(database) = database() else { return };
    let (data, target) = (folder(), folder());
    let [data, target] = [&data, &target].map(|folder| path(folder.path()));
    let mut gateway = Gateway::on(Path::new(data), &["--sample", "flower-shop"]);
    buy(&gateway);
    let cart = |gateway: &Gateway| {
        let cart = json!({"line_items": lines(&[("pot_ceramic", 1)])});
        id(&Shopper::rest(gateway).call("create_cart", None, &cart).document()).to_owned()
    };
    let first = cart(&gateway);
    assert!(gateway.terminate().success());

    // It fails at a table in the middle, as it would with a server that goes away.
    drop(binary().args(["orders", "list", "--database", &database]).ends());
    drop(psql(&database, "ALTER TABLE outbox ADD CONSTRAINT none CHECK (false)"));
    let output = copy(data, &database);
    assert!(!output.status.success() && text(&output.stdout).contains("orders: 1 rows, 1 copied"), "{output:?}");
    drop(psql(&database, "ALTER TABLE outbox DROP CONSTRAINT none"));
    let elsewhere = folder();
    let said = not_served(&["--database", &database, "--data-dir", path(elsewhere.path())]);
    assert!(said.contains("the copy is not finished") && said.contains("data copy"), "{said}");
    let said = refused(&database, target);
    assert!(said.contains("is the target of a copy that is not finished"), "{said}");

    // The shop goes on where it was: what it has sold and removed since is right in the end.
    let mut gateway = Gateway::on(Path::new(data), &[]);
    let (order, second) = (buy(&gateway), cart(&gateway));
    assert!(gateway.terminate().success());
    // As if the first cart had expired meanwhile.
    let shop = rusqlite::Connection::open(Path::new(data).join("shop.db")).expect("a database");
    assert_eq!(shop.execute("DELETE FROM carts WHERE id = ?", [&first]).expect("removed"), 1);
    drop(shop);
    let said = copied(data, &database);
    assert!(said.contains("orders: 2 rows, 1 copied, 0 differ"), "{said}");
    let found = psql(
        &database,
        "SELECT (SELECT string_agg(id, ',') FROM orders) || ' ' || (SELECT string_agg(id, ',') FROM carts)",
    );
    assert!(found.contains(&order) && found.contains(&second) && !found.contains(&first), "{found}");
    let mut gateway = Gateway::on(elsewhere.path(), &["--database", &database]);
    buy(&gateway);
    assert!(gateway.terminate().success());

    // The other way, killed as soon as a table has been copied: wherever that was, the next run makes it whole.
    let many = "INSERT INTO carts (shop, id, owner, token, version, made, expires_at, document, held) \
                SELECT 'default', 'many-' || n, 'o', 'many-' || n, 1, gen_random_uuid(), 9223372036854775807, '{}', 0 \
                FROM generate_series(1, 3000) AS n";
    drop(psql(&database, many));
    for seen in ["products:", "carts:", "orders:"] {
        let mut command = binary();
        command.args(["data", "copy", "--from", &database, "--to", target]).stdout(Stdio::piped());
        let mut child = command.stderr(Stdio::null()).spawn().expect("a process");
        let lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
        let found = lines.map_while(Result::ok).any(|line| line.starts_with(seen));
        child.kill().expect("a process");
        drop(child.wait());
        assert!(found, "no line `{seen}`");
    }
    let said = copied(&database, target);
    let carts = psql(&database, "SELECT count(*) FROM carts");
    assert!(said.contains(&format!("carts: {carts} rows")) && said.contains("orders: 3 rows"), "{said}");
    assert!(!said.lines().any(|line| line.contains("differ") && !line.contains(" 0 differ")), "{said}");
}

#[test]
fn another_copy_into_the_same_place_is_refused() {
    let Some(database) = database() else { return };
    let (data, other) = (folder(), folder());
    let [data, other] = [&data, &other].map(|folder| path(folder.path()));
    for directory in [data, other] {
        let mut gateway = Gateway::on(Path::new(directory), &["--sample", "flower-shop"]);
        buy(&gateway);
        assert!(gateway.terminate().success());
    }
    copied(data, &database);
    let said = refused(other, &database);
    assert!(said.contains("is another shop"), "{said}");
    assert_eq!(psql(&database, "SELECT count(*) FROM orders"), "1");
}
