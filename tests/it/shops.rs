//! Several shops of one process: routing by host and by path, isolation, reloads, places, opening and closing.

mod closed;
mod crosswise;
mod feeds;
mod neighbours;
mod shared;

use std::{fs, net::SocketAddr};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{
    harness::{Ends as _, Gateway, REST_HEADERS, binary, eventually, folder},
    purchase::shopper::{Shopper, id, lines, ready},
    setup::Setup,
    wire::{Connection, PATIENCE, Response, request},
};

/// Two shops by host and one by path, all with the flowers of the sample.
pub(crate) const THREE: &str = r#"
[data]
sample = "flower-shop"
[[shop]]
name = "one"
hosts = ["one.localhost"]
[[shop]]
name = "two"
hosts = ["two.localhost", "zwei.localhost"]
[[shop]]
name = "three"
path = "/shops/three"
"#;

const ADMIN: [&str; 2] = ["--admin-listen", "127.0.0.1:0"];

/// Starts a gateway with several shops and an admin listener.
pub(crate) fn several(toml: &str) -> (Setup, TempDir, Gateway) {
    let (setup, data) = (Setup::new(toml).arguments(&ADMIN), folder());
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    (setup, data, gateway)
}

pub(crate) fn admin(gateway: &Gateway) -> SocketAddr {
    let line = gateway.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
    line.expect("where it listens").parse().expect("an address")
}

pub(crate) fn ask(gateway: &Gateway, method: &str, path: &str, body: &[u8]) -> Response {
    let mut connection = Connection::open(admin(gateway));
    assert!(connection.write(&request(method, path, &[("Content-Type", "application/json")], body)));
    connection.read().expect("an answer")
}

/// Sends a request to a host.
pub(crate) fn send(gateway: &Gateway, host: &str, method: &str, path: &str, body: &Value) -> Response {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    gateway.send(method, path, &[REST_HEADERS, &[("Host", host)]].concat(), body.as_bytes())
}

pub(crate) fn search(gateway: &Gateway, host: &str, path: &str) -> Response {
    send(gateway, host, "POST", &format!("{path}/catalog/search"), &json!({ "query": "roses" }))
}

/// Returns the value of a metric.
fn metric(gateway: &Gateway, line: &str) -> Option<f64> {
    let text = ask(gateway, "GET", "/metrics", b"").body;
    text.lines().find_map(|found| found.strip_prefix(line)?.trim().parse().ok())
}

fn open(gateway: &Gateway) -> Vec<String> {
    let shops = ask(gateway, "GET", "/shops", b"").json();
    let open = shops.as_array().expect("a list").iter().filter(|shop| shop["open"] == true);
    open.map(|shop| shop["id"].as_str().expect("a name").to_owned()).collect()
}

#[test]
fn requests_reach_the_shop_of_their_host_or_path() {
    let (_setup, _data, gateway) = several(THREE);
    let port = gateway.address.port();
    for (host, path, base) in [
        ("one.localhost", "", format!("http://one.localhost:{port}")),
        ("ONE.localhost:8080", "", format!("http://one.localhost:{port}")),
        ("zwei.localhost", "", format!("http://two.localhost:{port}")),
        ("localhost", "/shops/three", format!("http://127.0.0.1:{port}/shops/three")),
    ] {
        let profile = send(&gateway, host, "GET", &format!("{path}/.well-known/ucp"), &Value::Null);
        assert_eq!(profile.status, 200, "{host}: {profile:?}");
        // Every address in the profile and the documents lies below the shop's own; origins of pages are no addresses.
        let mut document = profile.json();
        for handlers in document["ucp"]["payment_handlers"].as_object_mut().into_iter().flat_map(|all| all.values_mut())
        {
            for handler in handlers.as_array_mut().into_iter().flatten() {
                let origins =
                    handler["config"].as_object_mut().and_then(|config| config.shift_remove("action_origins"));
                let own = url::Url::parse(&base).expect("an address").origin().ascii_serialization();
                assert_eq!(origins, Some(json!([own])), "{host}");
            }
        }
        let text = document.to_string();
        assert!(text.contains(&format!("\"{base}")), "{host}: {text}");
        for found in text.split(&format!(":{port}")).skip(1).filter(|_| !path.is_empty()) {
            assert!(found.starts_with(path), "{host}: an address without the path: {found:.80}");
        }
        let openapi = send(&gateway, host, "GET", &format!("{path}/openapi.json"), &Value::Null).json();
        assert_eq!(openapi["servers"][0]["url"], base.as_str(), "{host}");
        assert_eq!(search(&gateway, host, path).status, 200, "{host}");
        let rpc = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
        let tools = send(&gateway, host, "POST", &format!("{path}/mcp"), &rpc);
        assert!(tools.json()["result"]["tools"].is_array(), "{host}: {tools:?}");
        let checkout =
            send(&gateway, host, "POST", &format!("{path}/checkout-sessions"), &ready(&[("bouquet_roses", 1)]));
        assert_eq!(checkout.status, 201, "{host}: {checkout:?}");
        let page = checkout.json()["continue_url"].as_str().expect("a page").to_owned();
        let page = page.strip_prefix(&base).unwrap_or_else(|| panic!("{page} lies below {base}")).to_owned();
        let page = gateway.send("GET", &format!("{path}{page}"), &[("Host", host)], b"");
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")), "{host}");
        let docs = gateway.send("GET", &format!("{path}/docs"), &[("Host", host)], b"");
        let links: Vec<_> = docs.body.split("href=\"").skip(1).filter(|link| link.starts_with('/')).collect();
        assert!(docs.status == 200 && links.len() > 10, "{docs:?}");
        for link in links {
            let link = link.split('"').next().unwrap_or_default();
            assert!(link.starts_with(&format!("{path}/")), "{host}: {link}");
        }
        let moved = gateway.send("GET", &format!("{path}/docs/rest"), &[("Host", host)], b"");
        assert_eq!(moved.header("location"), Some(&*format!("{path}/docs/api")), "{moved:?}");
    }
    // A request for another host learns nothing about the existing shops, over REST and MCP.
    let mut refusals = Vec::new();
    for (host, path) in
        [("nobody.example", ""), ("127.0.0.1", ""), ("one.localhost..", ""), ("nobody.example", "/shops")]
    {
        for (method, path) in [("POST", format!("{path}/catalog/search")), ("GET", format!("{path}/.well-known/ucp"))] {
            let refused = send(&gateway, host, method, &path, &Value::Null);
            assert_eq!((refused.status, refused.json()["code"].as_str()), (403, Some("origin_forbidden")), "{host}");
            refusals.push(refused.body);
        }
        let refused = send(
            &gateway,
            host,
            "POST",
            &format!("{path}/mcp"),
            &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }),
        );
        refusals.push(refused.body);
    }
    for told in &refusals {
        assert!(
            !["one", "two", "three", "zwei"].iter().any(|name| told.contains(&format!("{name}.localhost"))),
            "{told}"
        );
        assert!(!told.contains("/shops/"), "{told}");
    }
    // A page of one shop may not call another.
    let foreign = [("Host", "one.localhost"), ("Origin", "http://two.localhost")];
    let refused = gateway.send("POST", "/catalog/search", &[REST_HEADERS, &foreign].concat(), b"{\"query\":\"roses\"}");
    assert_eq!(refused.json()["code"], "origin_forbidden");
    // The metrics name the shop of each call, and none for those without.
    let calls = |shop: &str| {
        let text = ask(&gateway, "GET", "/metrics", b"").body;
        text.lines()
            .filter(|line| line.starts_with("ucp_calls_total{") && line.contains(&format!("shop=\"{shop}\"")))
            .count()
    };
    assert!(["one", "two", "three", "_none"].iter().all(|shop| calls(shop) > 0));
    assert_eq!(metric(&gateway, "ucp_shops_open"), Some(3.0));
}

#[test]
fn one_shop_is_paused_and_the_others_are_not() {
    let (setup, data, gateway) = several(THREE);
    assert_eq!(ask(&gateway, "POST", "/shops/two/pause", b"").status, 200);
    assert_eq!(ask(&gateway, "POST", "/shops/four/pause", b"").status, 404);
    let blocked = json!({ "profile": crate::harness::PROFILE }).to_string();
    assert_eq!(ask(&gateway, "POST", "/shops/three/platforms/block", blocked.as_bytes()).status, 200);
    let statuses = |gateway: &Gateway| {
        [("one.localhost", ""), ("two.localhost", ""), ("localhost", "/shops/three")]
            .map(|(host, path)| search(gateway, host, path).status)
    };
    assert_eq!(statuses(&gateway), [200, 503, 403]);
    let refused = ask(&gateway, "GET", "/orders", b"");
    assert!(refused.status == 404 && refused.body.contains("/shops/ID/orders"), "{refused:?}");
    assert_eq!(ask(&gateway, "GET", "/shops/one/orders", b"").json(), json!([]));
    drop(gateway);
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    assert_eq!(statuses(&gateway), [200, 503, 403], "decisions outlive the process");
    assert_eq!(ask(&gateway, "POST", "/shops/two/resume", b"").status, 200);
    assert_eq!(statuses(&gateway), [200, 200, 403]);
}

#[test]
fn shops_are_added_changed_and_removed_by_a_reload() {
    let (setup, _data, gateway) = several(THREE);
    let write = |text: &str| {
        fs::write(setup.path("gateway.toml"), text).expect("a file");
        let answer = ask(&gateway, "POST", "/reload", b"");
        (answer.status, answer.body)
    };
    let cart =
        send(&gateway, "one.localhost", "POST", "/carts", &json!({ "line_items": lines(&[("bouquet_roses", 1)]) }));
    assert_eq!(cart.status, 201);
    assert_eq!(open(&gateway), ["one"], "only what was called is open");
    // Every reason is told, with its shop, and nothing changes.
    let (status, refused) = write(
        &THREE
            .replace("hosts = [\"one.localhost\"]", "hosts = [\"one.localhost\"]\nlimits = { helt = 1 }")
            .replace("/shops/three", "nowhere"),
    );
    assert_eq!(status, 422);
    assert!(refused.contains("`limits.helt` of shop `one`") && refused.contains("`path` of shop `three`"), "{refused}");
    assert_eq!(search(&gateway, "localhost", "/shops/three").status, 200);
    assert_eq!(search(&gateway, "one.localhost", "").status, 200);
    // The second goes, the third has a limit, a fourth comes. The first runs on as it was.
    let changed = THREE.replace(
        "name = \"two\"\nhosts = [\"two.localhost\", \"zwei.localhost\"]",
        "name = \"four\"\nhosts = [\"four.localhost\"]",
    ) + "[shop.limits]\nanonymous = { per_second = 1, burst = 1 }\n";
    let bytes = metric(&gateway, "ucp_profiles{shop=\"one\"}");
    assert_eq!(write(&changed).0, 200);
    let mut named: Vec<_> = open(&gateway);
    named.sort();
    assert_eq!(named, ["one", "three"], "what was open is open");
    assert_eq!(metric(&gateway, "ucp_profiles{shop=\"one\"}"), bytes, "its caches are the same");
    assert_eq!(search(&gateway, "two.localhost", "").status, 403);
    assert_eq!(search(&gateway, "four.localhost", "").status, 200);
    let limited = (0..10).filter(|_| search(&gateway, "localhost", "/shops/three").status == 429).count();
    assert!(limited > 0, "the limit of the third holds");
    let path = format!("/carts/{}", id(&cart.json()));
    assert_eq!(send(&gateway, "one.localhost", "GET", &path, &Value::Null).status, 200);
    // From one shop to several is not for a reload.
    let (status, refused) = write("[data]\nsample = \"flower-shop\"\n");
    assert!(status == 422 && refused.contains("started anew"), "{refused}");
    assert_eq!(search(&gateway, "four.localhost", "").status, 200);
}

#[test]
fn idle_shops_are_closed_and_opened_again_by_the_next_call() {
    let (_setup, _data, gateway) = several(&format!("[server]\nclose_idle_s = 1\nopen_shops = 2\n{THREE}"));
    assert!(open(&gateway).is_empty());
    let shopper = Shopper::rest(&gateway).header("Host", "one.localhost");
    let checkout = shopper.create(&ready(&[("bouquet_roses", 1)]));
    assert_eq!(open(&gateway), ["one"]);
    eventually("the shop is closed", PATIENCE, || open(&gateway).is_empty().then_some(()));
    let again = shopper.call("get_checkout", Some(id(&checkout)), &Value::Null).document();
    assert_eq!(again["id"], checkout["id"], "what it has stored is there again");
    // Not more are open than may be: the one that was called least lately makes room.
    assert_eq!(search(&gateway, "two.localhost", "").status, 200);
    assert_eq!(search(&gateway, "localhost", "/shops/three").status, 200);
    assert!(open(&gateway).len() <= 2, "{:?}", open(&gateway));
}

#[test]
fn commands_are_about_the_shop_that_they_name() {
    let (setup, data, gateway) = several(THREE);
    let shopper = Shopper::rest(&gateway).header("Host", "two.localhost");
    let order = shopper.complete(&shopper.create(&ready(&[("bouquet_roses", 1)])), "success_token");
    let order = id(&order["order"]).to_owned();
    let run = |arguments: &[&str]| {
        let output = binary().args(arguments).arg("--data-dir").arg(data.path()).ends();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    };
    assert!(run(&["orders", "list", "--shop", "two"]).expect("orders").contains(&order));
    assert!(run(&["orders", "show", &order, "--shop", "one"]).expect_err("another shop").contains("there is no"));
    let unknown = run(&["orders", "list", "--shop", "four"]).expect_err("no such shop");
    assert!(unknown.contains("there is no shop `four`") && unknown.contains("two"), "{unknown}");
    assert!(run(&["buyers", "export", "buyer@example.com", "--shop", "two"]).expect("a buyer").contains(&order));
    assert!(run(&["keys", "generate", "--shop", "two"]).is_ok() && data.path().join("shops/two/keys").is_dir());
    assert!(run(&["terms", "--shop", "two"]).expect("terms").contains('{'));
    let product = json!({
        "id": "import_tulip", "title": "Tulip", "description": { "plain": "One" },
        "variants": [{ "id": "import_tulip_1", "title": "One", "price": { "amount": 100, "currency": "USD" }, "availability": { "available": true } }],
    });
    let file = data.path().join("one.jsonl");
    fs::write(&file, product.to_string()).expect("a file");
    let imported = run(&["import", file.to_str().expect("UTF-8"), "--shop", "two"]).expect("imports");
    assert!(imported.contains("1 new"), "{imported}");
    let found = |host: &str| {
        let answer = send(&gateway, host, "POST", "/catalog/lookup", &json!({ "ids": ["import_tulip"] }));
        answer.json()["products"].as_array().map_or(0, Vec::len)
    };
    eventually("the product is in its shop", PATIENCE, || (found("two.localhost") == 1).then_some(()));
    assert_eq!(found("one.localhost"), 0);
    let shown = setup.run("check-config").expect("settings");
    assert!(
        ["name = \"one\"", "name = \"two\"", "path = \"/shops/three\""].iter().all(|text| shown.contains(text)),
        "{shown}"
    );
    assert!(run(&["data", "check"]).expect("no faults").contains("no faults"));
}

#[test]
fn a_check_of_health_asks_for_a_shop() {
    let (setup, _data, gateway) = several(THREE);
    let listen = gateway.address.to_string();
    let output = setup.command("healthcheck").args(["--listen", &listen]).ends();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(ask(&gateway, "GET", "/readyz", b"").status, 200);
}
