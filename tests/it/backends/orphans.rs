//! Carts that a shop behind the Storefront API has made and that no document names, as a crash leaves them.

use serde_json::json;
use ucp_testkit::{
    PATIENCE,
    server::{Answer, Server},
};

use crate::{
    harness::{eventually, folder},
    setup::Setup,
};

const ORPHAN: &str = "gid://shopify/Cart/orphan?key=1";

#[test]
fn a_cart_that_no_document_names_is_given_up_by_the_running_gateway() {
    let country = json!({ "isoCode": "US", "currency": { "isoCode": "USD" } });
    let shop = json!({ "data": {
        "shop": { "name": "Stub" },
        "localization": {
            "availableCountries": [country], "availableLanguages": [{ "isoCode": "EN" }], "country": country,
            "language": { "isoCode": "EN" },
        },
    } });
    let given_up = json!({ "data": { "emptied": { "userErrors": [] }, "forgotten": { "userErrors": [] } } });
    let gives_up = |body: &[u8]| String::from_utf8_lossy(body).contains("CartForget");
    let server = Server::start(move |request| Answer::json(if gives_up(request.body()) { &given_up } else { &shop }));
    let upstream = format!(
        "[upstream]\nbackend = \"shopify\"\nurl = \"http://{}\"\nconnect_timeout_ms = 20000\nread_timeout_ms = 30000\n",
        server.address()
    );
    let gateway = Setup::new(&upstream).start_on(folder());
    let database = rusqlite::Connection::open(gateway.data().join("shop.db")).expect("the database");
    let document = json!({ "reference": ORPHAN, "lines": { "1": "gid://shopify/CartLine/1" } }).to_string();
    let task = "INSERT INTO tasks (shop, kind, key, lane, due, body, since) VALUES ('default', 'abandon', ?, 'abandon', 0, ?, 0)";
    database.execute(task, (ORPHAN, document)).expect("a task");

    eventually("the shop is told to forget the cart", PATIENCE, || {
        let requests = server.requests();
        requests.iter().find(|request| gives_up(request.body()) && text(request.body()).contains(ORPHAN)).map(drop)
    });
    eventually("the task is gone", PATIENCE, || {
        let tasks = database.query_row("SELECT count(*) FROM tasks", (), |row| row.get::<_, i64>(0));
        (tasks.expect("a count") == 0).then_some(())
    });
}

fn text(body: &[u8]) -> String {
    String::from_utf8_lossy(body).into_owned()
}
