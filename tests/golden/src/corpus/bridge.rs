//! In front of another shop that speaks UCP. The shop is the old binary on either side, so that only the front differs.

use serde_json::json;

use super::{
    catalog, id,
    negotiation::{host, open},
    payloads::{lines, ready},
    purchase::{self, Shopper},
    webhooks::told,
};
use crate::{
    Done,
    host::{EVERYTHING, listening},
    operation::{Caller, MAIN, NEWEST, OPERATIONS, RELEASES, Way, endpoints, rpc},
    process::Gateway,
    stage::{Setup, Stage},
    wire::Request,
};

/// Plays a front that asks its shop over REST.
pub(crate) fn over_rest(stage: &mut Stage<'_>) -> Done {
    let (_shop, front) = ring(stage, "rest", "", None)?;
    everything(stage, &front, "")
}

/// Plays a front that asks its shop over MCP.
pub(crate) fn over_mcp(stage: &mut Stage<'_>) -> Done {
    let (_shop, front) = ring(stage, "mcp", "", None)?;
    everything(stage, &front, "")
}

/// Plays fronts whose shop speaks one older release only.
pub(crate) fn older_shop(stage: &mut Stage<'_>) -> Done {
    for release in &RELEASES[..3] {
        for transport in ["rest", "mcp"] {
            let (_shop, front) = ring(stage, transport, &format!("/ucp/{release}"), Some(release))?;
            let label = format!("/shop-{release}-{transport}");
            profiles(stage, &front, &label);
            for caller in RELEASES {
                let shopper = Shopper::new(&front, Caller::new(Some(caller), Way::Rest), &label);
                purchase::buy(stage, &shopper, "pot_ceramic", "orchid_white", "10OFF");
                browse(stage, &Shopper::new(&front, Caller::new(Some(caller), Way::Tool), &label));
            }
        }
    }
    Ok(())
}

/// A shop, and a gateway in front of it.
fn ring(stage: &mut Stage<'_>, transport: &str, path: &str, release: Option<&str>) -> Done<(Gateway, Gateway)> {
    let shop = stage.start(&Setup::new(&open("development")).signing().shop())?;
    let release = release.map(|release| format!("release = \"{release}\"\n")).unwrap_or_default();
    let configuration = format!(
        "{}\n[upstream]\ntransport = \"{transport}\"\n{release}connect_timeout_ms = 20000\nread_timeout_ms = 30000\n\
         write_timeout_ms = 30000\ncomplete_timeout_ms = 60000\n{}",
        open("development"),
        pages(stage)?
    );
    let url = format!("http://{}{path}", shop.address);
    let setup = Setup::new(&configuration).signing().bare().arguments(&["--backend", "ucp", "--upstream-url", &url]);
    let front = stage.start(&setup)?;
    stage.note(&format!("welcome{path}/{transport}"), &front.welcome.join("\n"));
    Ok((shop, front))
}

/// Location of the shop's terms, for binaries that send addresses elsewhere only if told to.
fn pages(stage: &mut Stage<'_>) -> Done<&'static str> {
    let origins = "origins = [\"https://example.com\"]\n";
    let file = stage.file("pages.toml", &format!("[upstream]\n{origins}"))?.display().to_string();
    let shop = ["--backend", "ucp", "--upstream-url", "http://127.0.0.1:9"];
    let checked = stage.run_quietly(&[&["check-config", "--config", &file][..], &shop].concat(), b"")?;
    Ok(if checked.status.success() { origins } else { "" })
}

fn profiles(stage: &mut Stage<'_>, front: &Gateway, label: &str) {
    let upstream = RELEASES.map(|release| format!("/upstream/{release}/.well-known/ucp"));
    let own = RELEASES.map(|release| format!("/ucp/{release}/.well-known/ucp"));
    for path in upstream.iter().chain(&own).map(String::as_str).chain([
        "/.well-known/ucp",
        "/openapi.json",
        "/openrpc.json",
        "/upstream/orders",
    ]) {
        stage.ask(&format!("documents{label}{path}"), front, &Request::get(path));
    }
    for endpoint in endpoints() {
        let path = Caller::new(endpoint, Way::Tool).path("/mcp");
        let list = Request::post(&path, rpc("tools/list", &json!({})).to_string());
        stage.ask(&format!("documents{label}/tools/{}", endpoint.unwrap_or("root")), front, &list);
    }
}

fn everything(stage: &mut Stage<'_>, front: &Gateway, label: &str) -> Done {
    profiles(stage, front, label);
    for endpoint in endpoints() {
        for way in MAIN {
            let shopper = Shopper::new(front, Caller::new(endpoint, way), label);
            browse(stage, &shopper);
            purchase::buy(stage, &shopper, "pot_ceramic", "orchid_white", "10OFF");
            trouble(stage, &shopper);
        }
        for (call, name, payload) in catalog::calls() {
            let caller = Caller::new(endpoint, Way::Rest);
            stage.ask(&format!("{}/catalog/{name}/{call}", caller.label()), front, &caller.call(name, None, &payload));
        }
        for operation in OPERATIONS {
            for way in MAIN {
                let caller = Caller::new(endpoint, way);
                let request = caller.call(operation.name, Some("some_id"), &json!({}));
                stage.ask(&format!("{}/empty/{}", caller.label(), operation.name), front, &request);
            }
        }
    }
    tokens(stage, front)?;
    notices(stage, front)
}

/// Payments that do not end well at once. Those that are under way come to their end together.
fn tokens(stage: &mut Stage<'_>, front: &Gateway) -> Done {
    let mut paid = Vec::new();
    for endpoint in endpoints() {
        for way in [Way::Rest, Way::Tool] {
            for token in ["challenge_token", "fail_token", "unknown_token"] {
                let shopper = Shopper::new(front, Caller::new(endpoint, way), &format!("/{token}"));
                let made = id(&shopper.step(stage, "create_checkout", "ready", None, &ready(&[("pot_ceramic", 1)])));
                let payment = super::payloads::paying(shopper.release, token);
                shopper.step(stage, "complete_checkout", "first", Some(&made), &payment);
                paid.push((shopper, made, payment));
            }
        }
    }
    for (shopper, made, payment) in &paid {
        shopper.settle(made)?;
        shopper.step(stage, "complete_checkout", "first", Some(made), payment);
        shopper.step(stage, "get_checkout", "after", Some(made), &json!({}));
    }
    Ok(())
}

fn browse(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    for (step, name, payload) in [
        ("roses", "search_catalog", json!({ "query": "roses", "pagination": { "limit": 2 } })),
        (
            "cheap",
            "search_catalog",
            json!({ "filters": { "price": { "max": 3_000 } }, "context": { "currency": "USD" } }),
        ),
        ("nothing", "search_catalog", json!({ "query": "there is no such thing" })),
        ("three", "lookup_catalog", json!({ "ids": ["bouquet_roses", "pot_ceramic", "nothing"] })),
        ("many", "lookup_catalog", json!({ "ids": (0..25).map(|number| format!("id-{number}")).collect::<Vec<_>>() })),
        ("roses", "get_product", json!({ "id": "bouquet_roses" })),
        ("nothing", "get_product", json!({ "id": "nothing" })),
    ] {
        shopper.step(stage, name, step, None, &payload);
    }
    let mut payload = json!({ "filters": { "available": true }, "pagination": { "limit": 2 } });
    for page in ["page-1", "page-2", "page-3"] {
        let answer = shopper.step(stage, "search_catalog", page, None, &payload);
        payload["pagination"]["cursor"] = json!(super::text(&answer, "/pagination/cursor"));
    }
}

fn trouble(stage: &mut Stage<'_>, shopper: &Shopper<'_>) {
    for (step, payload) in [
        ("unknown-goods", ready(&[("no_such_thing", 1)])),
        ("out-of-stock", ready(&[("gardenias", 1), ("pot_ceramic", 1)])),
        ("many", ready(&[("pot_ceramic", 9_000)])),
        ("wrong", json!({ "line_items": 3 })),
        ("foreign-members", json!({ "line_items": lines(&[("pot_ceramic", 1)]), "com.example.own": { "a": 1 } })),
    ] {
        let made = shopper.step(stage, "create_checkout", step, None, &payload);
        shopper.step(stage, "get_checkout", step, Some(&id(&made)), &json!({}));
        shopper.step(stage, "cancel_checkout", step, Some(&id(&made)), &json!({}));
        shopper.step(stage, "create_cart", step, None, &payload);
    }
    for (name, unknown) in [
        ("get_cart", "cart_nothing"),
        ("get_checkout", "chk_nothing"),
        ("get_order", "ord_nothing"),
        ("cancel_cart", "cart_nothing"),
    ] {
        shopper.step(stage, name, unknown, Some(unknown), &json!({}));
    }
}

/// Events that a platform receives through the front, and events that others must not send.
fn notices(stage: &mut Stage<'_>, front: &Gateway) -> Done {
    for release in RELEASES {
        let host = host(stage)?;
        stage.told = 0;
        let url = host.profile(&format!("/{release}"), &listening(release, &EVERYTHING, &host.url("/orders")));
        let caller = Caller::new(Some(release), Way::Rest).named(&url);
        let shopper = Shopper::new(front, caller, "/told");
        let made = shopper.step(stage, "create_checkout", "told", None, &ready(&[("pot_ceramic", 1)]));
        shopper.step(
            stage,
            "complete_checkout",
            "told",
            Some(&id(&made)),
            &super::payloads::paying(release, "success_token"),
        );
        told(stage, &format!("told/{release}"), &host, 1)?;
    }
    let forged = Request::post("/upstream/orders", json!({ "id": "o", "checkout_id": "c" }).to_string());
    stage.ask("told/forged", front, &forged);
    stage.ask(&format!("told/{NEWEST}/get"), front, &Request::get("/upstream/orders"));
    Ok(())
}
