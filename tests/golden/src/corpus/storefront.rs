//! In front of a shop behind Shopify's Storefront API: the stand-in of `tests/upstreams/storefront`, one for each side.

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::Duration,
};

use serde_json::{Value, json};

use super::{
    id,
    negotiation::open,
    payloads::{lines, paying, ready},
    purchase::Shopper,
    text,
};
use crate::{
    Done,
    operation::{Caller, MAIN, RELEASES, Way, endpoints},
    process::{Running, STARTUP, lines as lines_of},
    stage::{Setup, Stage},
    wire::{Client, Request},
};

/// Plays looking around and buying. Without Node or the packages of the stand-in there is nobody to ask.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let usual = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../upstreams/storefront");
    let folder = std::env::var_os("UCP_STOREFRONT_DIR").map_or(usual, PathBuf::from);
    if !folder.join("node_modules").is_dir() {
        println!("skipped: storefront, because its packages are not installed (npm install in {})", folder.display());
        return Ok(());
    }
    let mut node = Command::new("node");
    node.arg("server.mjs").current_dir(&folder).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut node = match node.spawn() {
        Ok(child) => Running(child),
        Err(error) => {
            println!("skipped: storefront, because node does not start: {error}");
            return Ok(());
        }
    };
    let lines = lines_of(node.0.stdout.take().ok_or("standard output must be a pipe")?);
    let line =
        lines.recv_timeout(STARTUP).map_err(|_| format!("the stand-in did not say within {STARTUP:?} where it is"))?;
    let said: Value =
        serde_json::from_str(&line).map_err(|error| format!("the stand-in must say JSON: {error}: {line}"))?;
    let base = text(&said, "/url").to_owned();
    let address = base.trim_start_matches("http://").trim_end_matches('/');
    let address = address.parse().map_err(|error| format!("the address of the stand-in: {error}: {base}"))?;
    let made = Client::new(address).send(&Request::post("/shops", "{}"))?.json();
    let url = text(&made, "/url").to_owned();
    stage.normal.know(url.trim_start_matches("http://"), "storefront");
    let token = stage.file("token", "private-token-of-the-test-shop")?.display().to_string();
    let configuration = open("development")
        + "[upstream]\nconnect_timeout_ms = 20000\nread_timeout_ms = 30000\nwrite_timeout_ms = 30000\ncomplete_timeout_ms = 60000\n";
    let setup = Setup::new(&configuration).bare();
    let setup = setup.arguments(&["--backend", "shopify", "--upstream-url", &url, "--upstream-token-file", &token]);
    let gateway = stage.start(&setup)?;
    stage.note("welcome", &gateway.welcome.join("\n"));
    for release in RELEASES {
        stage.ask(&format!("profile/{release}"), &gateway, &Request::get(&format!("/ucp/{release}/.well-known/ucp")));
    }
    for endpoint in endpoints() {
        for way in MAIN {
            let shopper = Shopper::new(&gateway, Caller::new(endpoint, way), "");
            browse(stage, &shopper);
            buy(stage, &shopper);
        }
    }
    // The gateway's requests to the shop after a response end before both are stopped.
    std::thread::sleep(Duration::from_millis(100));
    Ok(())
}

fn browse(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    let option = |name: &str, label: &str| json!({ "name": name, "label": label });
    for (step, name, payload) in [
        ("cotton", "search_catalog", json!({ "query": "cotton", "pagination": { "limit": 3 } })),
        ("everything", "search_catalog", json!({ "filters": { "available": true }, "pagination": { "limit": 20 } })),
        ("price", "search_catalog", json!({ "query": "cotton", "filters": { "price": { "max": 5_000 } } })),
        ("nothing", "search_catalog", json!({ "query": "xyzzyplugh" })),
        (
            "three",
            "lookup_catalog",
            json!({ "ids": ["gid://shopify/Product/1003", "gid://shopify/ProductVariant/10050001", "nothing"] }),
        ),
        (
            "in-euro",
            "lookup_catalog",
            json!({ "ids": ["gid://shopify/Product/1003"], "context": { "address_country": "DE", "currency": "EUR" } }),
        ),
        ("plain", "get_product", json!({ "id": "gid://shopify/Product/1003" })),
        ("blue", "get_product", json!({ "id": "gid://shopify/Product/1003", "selected": [option("Color", "Blue")] })),
        (
            "relaxed",
            "get_product",
            json!({ "id": "gid://shopify/Product/1003", "selected": [option("Color", "Red"), option("Size", "99")] }),
        ),
        ("by-variant", "get_product", json!({ "id": "gid://shopify/ProductVariant/10060001" })),
        ("unknown", "get_product", json!({ "id": "gid://shopify/Product/1" })),
        ("odd", "get_product", json!({ "id": "nothing" })),
    ] {
        shopper.step(stage, name, step, None, &payload);
    }
}

fn buy(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    let [item, other, sold_out] =
        ["10050001", "10080001", "10060001"].map(|number| format!("gid://shopify/ProductVariant/{number}"));
    let goods = json!({ "line_items": lines(&[(&item, 2)]) });
    let cart = id(&shopper.step(stage, "create_cart", "two", None, &goods));
    let more = super::payloads::with(
        json!({ "line_items": lines(&[(&item, 1), (&other, 2)]) }),
        &json!({ "discounts": { "codes": ["WELCOME10", "nope"] } }),
    );
    shopper.step(stage, "update_cart", "more", Some(&cart), &more);
    shopper.step(stage, "get_cart", "more", Some(&cart), &json!({}));
    let made =
        id(&shopper.step(stage, "create_checkout", "from-cart", None, &json!({ "cart_id": cart, "line_items": [] })));
    shopper.step(stage, "update_checkout", "ready", Some(&made), &ready(&[(&item, 1), (&other, 1)]));
    shopper.step(stage, "get_checkout", "ready", Some(&made), &json!({}));
    shopper.step(stage, "complete_checkout", "ready", Some(&made), &paying(shopper.release, "success_token"));
    shopper.step(stage, "cancel_checkout", "ready", Some(&made), &json!({}));
    shopper.step(stage, "create_checkout", "sold-out", None, &ready(&[(&sold_out, 1)]));
    shopper.step(stage, "create_checkout", "unknown", None, &ready(&[("nothing", 1)]));
    let wrong = shopper.caller.over(Way::Rest).call("create_checkout", None, &json!({ "line_items": 3 }));
    stage.ask(&shopper.name("create_checkout/wrong"), shopper.gateway, &wrong);
    shopper.step(stage, "cancel_cart", "over", Some(&cart), &json!({}));
}
