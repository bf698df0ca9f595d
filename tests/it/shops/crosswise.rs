//! Purchase, catalog and webhooks crosswise: what one shop has given out means nothing in another.

use std::net::TcpListener;

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_trust::jwk::Algorithm;

use super::{ADMIN, THREE, ask, open, search, send, several};
use crate::{
    harness::{Ends as _, PROFILE, binary, eventually, folder},
    platforms::host::{Host, profile_with},
    purchase::{
        mandates::presented,
        shopper::{Said, Shopper, id, lines, new_key, ready, said_at, ways},
        webhooks::{profile, receiver::Receiver},
    },
    setup::{Setup, Transport},
    signatures::{key, keys},
    wire::PATIENCE,
};

const HOSTS: [&str; 2] = ["one.localhost", "two.localhost"];

/// Returns `true` if an identifier is answered as one that was never given out.
fn means_nothing(shopper: &Shopper<'_>, operation: &str, identifier: &str, payload: &Value) {
    let unknown = identifier.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect::<String>();
    let said = |id: &str| {
        let said: Said = shopper.call(operation, Some(id), payload);
        let body = said.response.body.replace(id, "ID");
        (said.status, said.errors(), body)
    };
    let (status, errors, body) = said(identifier);
    assert_eq!(errors, ["not_found"], "{operation}: {body}");
    // No hint: byte for byte what a made-up identifier gets, but for what differs in each answer.
    let (other_status, other_errors, other) = said(&unknown);
    assert_eq!((status, errors), (other_status, other_errors));
    let strip = |text: &str| text.chars().filter(|c| !c.is_ascii_hexdigit() && *c != '-').collect::<String>();
    assert_eq!(strip(&body), strip(&other), "{operation}");
}

#[test]
fn identifiers_of_one_shop_mean_nothing_in_another() {
    let (_setup, _data, gateway) = several(THREE);
    for (release, transport) in ways() {
        let [one, two] = HOSTS.map(|host| Shopper::new(&gateway, release, transport).header("Host", host));
        let checkout = one.create(&ready(&[("bouquet_roses", 1)]));
        let token = json!(one.paying("success_token"));
        means_nothing(&two, "get_checkout", id(&checkout), &Value::Null);
        means_nothing(&two, "update_checkout", id(&checkout), &ready(&[("bouquet_roses", 2)]));
        means_nothing(&two, "cancel_checkout", id(&checkout), &Value::Null);
        means_nothing(&two, "complete_checkout", id(&checkout), &token);
        let done = one.complete(&checkout, "success_token");
        assert_eq!(done["status"], "completed", "{release:?} {transport:?}: {done}");
        let order = done.get("order").map_or_else(|| done["order_id"].clone(), |order| order["id"].clone());
        if let (Some(order), true) = (order.as_str(), release == Release::NEWEST) {
            assert_eq!(one.call("get_order", Some(order), &Value::Null).document()["id"], order);
            means_nothing(&two, "get_order", order, &Value::Null);
        }
        if release == Release::NEWEST {
            let cart =
                one.call("create_cart", None, &json!({ "line_items": lines(&[("bouquet_roses", 1)]) })).document();
            means_nothing(&two, "get_cart", id(&cart), &Value::Null);
            means_nothing(&two, "cancel_cart", id(&cart), &Value::Null);
        }
    }
    // The stock of one is not that of the other: nothing was sold there.
    let orders = |shop: &str| ask(&gateway, "GET", &format!("/shops/{shop}/orders"), b"").json();
    assert!(!orders("one").as_array().expect("a list").is_empty());
    assert_eq!(orders("two"), json!([]));
    let sold = orders("one")[0]["id"].as_str().expect("an order").to_owned();
    let step = ask(&gateway, "POST", &format!("/shops/two/orders/{sold}/ship"), b"");
    assert_eq!(step.status, 404, "{step:?}");
}

#[test]
fn keys_and_pages_of_one_shop_mean_nothing_in_another() {
    let (_setup, _data, gateway) = several(THREE);
    let [one, two] = HOSTS.map(|host| Shopper::new(&gateway, Release::NEWEST, Transport::Rest).header("Host", host));
    // The same key: each shop carries its own call out, and replays its own answer.
    let key = new_key();
    let [first, second] = [&one, &two].map(|shopper| {
        shopper.keyed(Some(&key), "create_checkout", None, &ready(&[("bouquet_roses", 1)])).text().to_owned()
    });
    assert_ne!(first, second);
    assert_eq!(one.keyed(Some(&key), "create_checkout", None, &ready(&[("bouquet_roses", 1)])).text(), first);
    assert_eq!(two.keyed(Some(&key), "create_checkout", None, &ready(&[("bouquet_roses", 1)])).text(), second);
    let conflict = two.keyed(Some(&key), "create_checkout", None, &ready(&[("bouquet_roses", 3)]));
    assert_eq!(conflict.refusal().0, "idempotency_conflict");
    // A buyer's page.
    let page =
        serde_json::from_str::<Value>(&first).expect("JSON")["continue_url"].as_str().expect("a page").to_owned();
    let path = page
        .split_once("localhost")
        .and_then(|(_, rest)| rest.find('/').map(|at| rest[at..].to_owned()))
        .expect("a path");
    let shown = |host: &str| gateway.send("GET", &path, &[("Host", host)], b"").status;
    assert_eq!(HOSTS.map(shown), [200, 404]);
    // A cursor.
    let page = |host: &str, cursor: Option<&str>| {
        let mut query = json!({ "query": "flowers", "pagination": { "limit": 1 } });
        if let Some(cursor) = cursor {
            query["pagination"]["cursor"] = cursor.into();
        }
        send(&gateway, host, "POST", "/catalog/search", &query)
    };
    let first = page(HOSTS[0], None).json();
    let cursor = first["pagination"]["cursor"].as_str().expect("a second page").to_owned();
    assert_eq!(page(HOSTS[0], Some(&cursor)).status, 200);
    let (foreign, made_up) = (page(HOSTS[1], Some(&cursor)), page(HOSTS[1], Some(&"A".repeat(cursor.len()))));
    assert_eq!((foreign.status, &foreign.json()["code"]), (made_up.status, &made_up.json()["code"]), "{foreign:?}");
    assert_eq!(foreign.status, 400);
}

#[test]
fn mandates_for_one_shop_mean_nothing_in_another() {
    let (setup, data) = (Setup::new(&format!("[profiles]\nloopback = true\n{THREE}")), folder());
    for shop in ["one", "two"] {
        keys(&["generate", "--shop", shop], data.path());
    }
    let (gateway, host) = (setup.spawn("127.0.0.1:0", data.path()), Host::start());
    let (platform, holder) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let capabilities =
        ["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", "dev.ucp.common.payment.ap2_mandate"];
    let mut profile = profile_with(Release::NEWEST, &capabilities);
    profile["keys"] = json!([platform.public().to_jwk()]);
    let url = host.profile("/agent", &profile);
    let [one, two] =
        HOSTS.map(|host| Shopper::new(&gateway, Release::NEWEST, Transport::Rest).named(&url).header("Host", host));
    let [first, second] = [&one, &two].map(|shopper| shopper.create(&ready(&[("bouquet_roses", 1)])));
    let audience = |host: &str| format!("http://{host}:{}", gateway.address.port());
    let mandate =
        |checkout: &Value, host: &str| presented(&platform, &holder, checkout, &audience(host), 600, &json!({}));
    // The second checkout, as if the first shop had signed it.
    let mut forged = second.clone();
    forged["ap2"] = first["ap2"].clone();
    for (mandate, code) in [
        (mandate(&first, HOSTS[0]), "mandate_scope_mismatch"),
        (mandate(&first, HOSTS[1]), "merchant_authorization_invalid"),
        (mandate(&second, HOSTS[0]), "mandate_scope_mismatch"),
        (mandate(&forged, HOSTS[1]), "merchant_authorization_invalid"),
    ] {
        let mut payload = two.paying("success_token");
        payload["ap2"] = json!({ "checkout_mandate": mandate });
        let refused = two.call("complete_checkout", Some(id(&second)), &payload).document();
        assert_eq!(said_at(&refused, "error"), [format!("{code} $.ap2.checkout_mandate")], "{refused}");
    }
    let mut payload = two.paying("success_token");
    payload["ap2"] = json!({ "checkout_mandate": mandate(&second, HOSTS[1]) });
    let completed = two.call("complete_checkout", Some(id(&second)), &payload).document();
    assert_eq!(completed["status"], "completed", "its own is taken: {completed}");
}

#[test]
fn api_keys_of_one_shop_are_unknown_in_another() {
    let toml = format!(
        "[callers]\npolicy = \"require\"\n{}",
        THREE.replace(
            "hosts = [\"one.localhost\"]\n",
            "hosts = [\"one.localhost\"]\n[[shop.platform]]\nname = \"agent\"\napi_key_env = \"KEY_OF_ONE\"\n"
        )
    );
    let [key, other] = [(); 2].map(|()| {
        let made = String::from_utf8(binary().args(["keys", "api"]).ends().stdout).expect("UTF-8");
        made.lines().next().expect("a key").to_owned()
    });
    let (setup, data) = (Setup::new(&toml).variable("KEY_OF_ONE", &key), folder());
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let call = |host: &str, key: &str| {
        let headers =
            [("Content-Type", "application/json"), ("Host", host), ("Authorization", &format!("Bearer {key}"))];
        gateway.send("POST", "/catalog/search", &headers, b"{\"query\":\"roses\"}")
    };
    assert_eq!(call(HOSTS[0], &key).status, 200);
    let (foreign, unknown) = (call(HOSTS[1], &key), call(HOSTS[1], &other));
    assert_eq!((foreign.status, unknown.status), (401, 401), "{foreign:?}");
    assert_eq!(foreign.body, unknown.body, "an unknown key is answered as any");
    assert_eq!(search(&gateway, HOSTS[0], "").status, search(&gateway, HOSTS[1], "").status);
}

#[test]
fn webhooks_go_out_for_the_shop_that_sold_also_after_a_restart() {
    let receiver = Receiver::start([]);
    // The database of the third one does not answer.
    let silent = TcpListener::bind("127.0.0.1:0").expect("an address");
    let silent = format!("postgres://ucp@{}/ucp", silent.local_addr().expect("an address"));
    let profile = profile(Release::NEWEST, Some(&receiver.url()));
    let toml = format!(
        "[profiles]\nloopback = true\n[[platform]]\nname = \"agent\"\nprofile = \"{PROFILE}\"\nprofile_file = \"agent.json\"\n{THREE}\
         [shop.data]\ndatabase = \"{silent}\"\n"
    );
    let (setup, data) = (Setup::new(&toml).file("agent.json", &profile.to_string()).arguments(&ADMIN), folder());
    // Each shop signs with keys of its own.
    let key = binary().args(["keys", "generate", "--shop", "one", "--data-dir"]).arg(data.path()).ends();
    assert!(key.status.success(), "{key:?}");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let one = Shopper::new(&gateway, Release::NEWEST, Transport::Rest).header("Host", HOSTS[0]);
    let order = one.complete(&one.create(&ready(&[("bouquet_roses", 1)])), "success_token");
    let order = id(&order["order"]).to_owned();
    let delivered = receiver.after(1);
    assert_eq!(delivered[0].json()["id"], order.as_str());
    let agent = delivered[0].header("ucp-agent").to_owned();
    assert!(agent.contains("one.localhost"), "it names the profile of its own shop: {agent}");
    assert_eq!(ask(&gateway, "GET", "/shops/two/webhooks", b"").json(), json!([]));
    let events = ask(&gateway, "GET", "/shops/one/webhooks", b"").json();
    let event = events[0]["id"].as_str().expect("an event").to_owned();
    assert_eq!(ask(&gateway, "POST", &format!("/shops/two/webhooks/{event}/resend"), b"").status, 404);
    drop(gateway);
    // A shop that nobody calls is opened for what it has to tell.
    let arguments = ["orders", "ship", &order, "--shop", "one"];
    let shipped = binary().args(arguments).arg("--data-dir").arg(data.path()).ends();
    assert!(shipped.status.success(), "{shipped:?}");
    let gateway = setup.spawn("127.0.0.1:0", data.path());
    let delivered = receiver.after(2);
    assert_eq!(delivered[1].json()["id"], order.as_str());
    eventually("its shop alone is open", PATIENCE, || (open(&gateway) == ["one"]).then_some(()));
    // And the other by its next call.
    Shopper::new(&gateway, Release::NEWEST, Transport::Rest)
        .header("Host", HOSTS[1])
        .create(&ready(&[("bouquet_roses", 1)]));
}
