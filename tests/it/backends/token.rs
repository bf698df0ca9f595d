//! The access token of a shop behind the Storefront API, which its operator replaces while the gateway runs.

use std::fs;

use serde_json::json;
use ucp_testkit::{
    PATIENCE,
    server::{Answer, Server},
};

use crate::{
    harness::{eventually, folder},
    setup::Setup,
};

#[test]
fn another_token_in_the_file_is_shown_to_the_shop_without_a_restart() {
    let country = json!({ "isoCode": "US", "currency": { "isoCode": "USD" } });
    let document = json!({ "data": {
        "shop": { "name": "Stub" },
        "localization": {
            "availableCountries": [country], "availableLanguages": [{ "isoCode": "EN" }], "country": country,
            "language": { "isoCode": "EN" },
        },
        "nodes": [null],
    } });
    let shop = Server::start(move |_| Answer::json(&document));
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("token");
    fs::write(&file, "shpat_first\n").expect("writes");
    let configuration = format!(
        "[upstream]\nbackend = \"shopify\"\nurl = \"http://{}\"\ntoken_file = \"{}\"\n\
         connect_timeout_ms = 20000\nread_timeout_ms = 30000\n",
        shop.address(),
        file.display()
    );
    let gateway = Setup::new(&configuration).start_on(folder());
    let mut product = 0;
    let mut shown = || {
        product += 1;
        let ids = json!({ "ids": [format!("gid://shopify/Product/{product}")] });
        gateway.rest("lookup_catalog", &ids);
        let request = shop.requests().pop().expect("the shop was asked");
        request.headers()["shopify-storefront-private-token"].to_str().expect("text").to_owned()
    };
    assert_eq!(shown(), "shpat_first");

    for (written, is_token) in [("not a token\n", false), ("shpat_second\n", true)] {
        fs::write(&file, written).expect("writes");
        if is_token {
            eventually("the shop is shown the second token", PATIENCE, || (shown() == "shpat_second").then_some(()));
        } else {
            eventually("the log says that it cannot be read", PATIENCE, || {
                gateway.stderr().contains("reloading the upstream access token failed").then_some(())
            });
            assert_eq!(shown(), "shpat_first");
        }
    }
    let log = gateway.stderr();
    assert!(!log.contains("shpat_") && !log.contains("not a token"), "{log}");
}
