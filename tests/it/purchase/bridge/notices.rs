//! Order webhooks from a shop to the gateway in front of it.

use serde_json::json;
use ucp_core::Release;
use ucp_trust::{
    jwk::{Algorithm, read_document},
    keyring::Keyring,
    signature::{Message, RequestLine, Scheme, Signed, SigningKey, Start, sign_request},
};
use ucp_wire::documents::release_path;

use super::{Ring, directory, in_front_of, signing};
use crate::{
    harness::{Ends as _, Gateway, binary},
    platforms::host::{Host, profile_with},
    purchase::{
        shopper::{Shopper, ready},
        webhooks::{self, receiver::Receiver},
    },
    setup::Transport,
    signatures::{key, now},
    wire::{Connection, Response, request},
};

#[test]
fn what_the_shop_tells_about_an_order_reaches_whoever_bought() {
    let ring = Ring::on(signing(), signing(), Transport::Tool, "", Release::NEWEST);
    let host = Host::start();
    for release in [Release::V2026_01_23, Release::V2026_08_25] {
        let receiver = Receiver::start([]);
        let order = "dev.ucp.shopping.order";
        let mut known = profile_with(release, &["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", order]);
        known["ucp"]["capabilities"][order][0]["config"] = json!({ "webhook_url": receiver.url() });
        let profile = host.profile(&format!("/{release}"), &known);
        let front = Shopper::new(&ring.front, release, Transport::Rest).named(&profile);
        let done = front.complete(&front.create(&ready(&[("pot_ceramic", 1)])), "success_token");
        assert_eq!(done["status"], "completed", "{done}");
        let delivery = receiver.after(1).remove(0);
        let told = delivery.json();
        assert_eq!((&told["id"], &told["checkout_id"]), (&done["order"]["id"], &done["id"]));
        assert_eq!(told["ucp"]["version"], release.date());
        assert!(
            delivery.header("ucp-agent").contains(&ring.front.address.to_string()),
            "the gateway in front tells it"
        );
        if release == Release::V2026_01_23 {
            assert_eq!(told["event_id"], delivery.header("webhook-id"));
            assert!(delivery.headers.contains_key("request-signature"));
            continue;
        }
        let keys = read_document(&super::profile_of(&ring.front), &mut Vec::new()).expect("keys");
        let signed = Signed::read(&delivery.headers).expect("readable").expect("signed");
        let (path, query) = delivery.path.split_once('?').expect("a query");
        let line = RequestLine {
            method: "POST",
            scheme: Scheme::Http,
            authority: delivery.header("host"),
            path,
            query: Some(query),
        };
        let message = Message { start: Start::Request(line), headers: &delivery.headers };
        signed
            .verify(&message, &delivery.body, &keys, crate::signatures::now())
            .expect("the gateway in front signs it");
    }
    // Nobody else is believed.
    let forged = ring.front.send(
        "POST",
        "/upstream/orders",
        &[("Content-Type", "application/json")],
        json!({ "id": "o", "checkout_id": "c" }).to_string().as_bytes(),
    );
    assert_eq!((forged.status, &forged.json()["code"]), (401, &json!("signature_missing")));
}

#[test]
fn a_shop_of_the_first_releases_tells_it_under_a_signature_of_the_body() {
    for shop in [Release::V2026_01_11, Release::V2026_01_23] {
        let ring = Ring::on(signing(), signing(), Transport::Rest, &release_path(shop), shop);
        let (host, receiver) = (Host::start(), Receiver::start([]));
        let profile = told_at(&host, &receiver, Release::NEWEST);
        let front = Shopper::new(&ring.front, Release::NEWEST, Transport::Rest).named(&profile);
        let done = front.complete(&front.create(&ready(&[("pot_ceramic", 1)])), "success_token");
        assert_eq!(done["status"], "completed", "{done}");
        let told = receiver.after(1).remove(0).json();
        assert_eq!((&told["id"], &told["checkout_id"]), (&done["order"]["id"], &done["id"]), "{shop}");
        assert_eq!((told.get("event_id"), told.get("created_time")), (None, None), "they are of the event");
    }
}

/// The profile of a platform that is told about its orders.
fn told_at(host: &Host, receiver: &Receiver, release: Release) -> String {
    let order = "dev.ucp.shopping.order";
    let mut known = profile_with(release, &["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", order]);
    known["ucp"]["capabilities"][order][0]["config"] = json!({ "webhook_url": receiver.url() });
    host.profile(&format!("/{release}"), &known)
}

#[test]
fn a_shop_that_tells_nothing_is_asked_what_has_become_of_an_order() {
    // A shop without keys sends no webhooks.
    let mut ring = Ring::on(directory(), signing(), Transport::Rest, "", Release::NEWEST);
    let admin = "[server]\nadmin_listen = \"127.0.0.1:0\"\n";
    for upstream in [Transport::Rest, Transport::Tool] {
        ring.front = in_front_of(&[&ring.recorder.url()], "", upstream, admin, signing());
        let line = ring.front.welcome.iter().find_map(|line| line.trim().strip_prefix("admin    http://"));
        let listener: std::net::SocketAddr = line.expect("where it listens").parse().expect("an address");
        let host = Host::start();
        for release in Release::ALL.iter().copied() {
            let receiver = Receiver::start([]);
            let profile = host.profile(&format!("/{release}"), &webhooks::profile(release, Some(&receiver.url())));
            let front = Shopper::new(&ring.front, release, Transport::Rest).named(&profile);
            let done = front.complete(&front.create(&ready(&[("pot_ceramic", 1)])), "success_token");
            assert_eq!(done["status"], "completed", "{done}");
            let order = done.get("order").map_or_else(|| done["order_id"].as_str(), |order| order["id"].as_str());
            let order = order.unwrap_or_else(|| panic!("an order: {done}"));
            let ask = || {
                let mut connection = Connection::open(listener);
                let path = format!("/tasks/follow_order/{order}/retry");
                assert!(connection.write(&request("POST", &path, &[], b"")));
                let asked = connection.read().expect("an answer");
                assert_eq!(asked.status, 200, "{asked:?}");
            };
            ask();
            assert_eq!(receiver.after(1).len(), 1);
            let shipped = binary()
                .args(["orders", "ship", order, "--tracking-number", "T1", "--data-dir"])
                .arg(ring.shop.data())
                .ends();
            assert!(shipped.status.success(), "{shipped:?}");
            for _ in 0..2 {
                ask();
            }
            let told = receiver.after(2);
            assert!(String::from_utf8_lossy(&told[1].body).contains("T1"), "{}", told[1].json());
            assert_eq!(told.len(), 2, "it is told once");
        }
    }
}

/// Tells a gateway something, signed with a key.
fn tell(front: &Gateway, key: &SigningKey, id: &str, order: &[u8]) -> Response {
    let at = now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs().to_string();
    let authority = front.address.to_string();
    let line = RequestLine {
        method: "POST",
        scheme: Scheme::Http,
        authority: &authority,
        path: "/upstream/orders",
        query: None,
    };
    let mut headers = http::HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("ucp-agent", "profile=\"https://shop.example/.well-known/ucp\""),
        ("webhook-id", id),
        ("webhook-timestamp", &at),
    ] {
        headers.insert(http::HeaderName::from_static(name), value.parse().expect("a value"));
    }
    let covered = ["webhook-id", "webhook-timestamp"].map(http::HeaderName::from_static);
    sign_request(line, &mut headers, order, &covered, key, now()).expect("signed");
    let headers: Vec<_> =
        headers.iter().map(|(name, value)| (name.as_str(), value.to_str().expect("a text"))).collect();
    front.send("POST", "/upstream/orders", &headers, order)
}

#[test]
fn what_is_told_twice_is_handed_on_once_and_strangers_are_stopped() {
    let mut ring = Ring::on(signing(), signing(), Transport::Rest, "", Release::NEWEST);
    let limits =
        "[limits]\nunverified = { per_second = 1, burst = 3 }\nanonymous = { per_second = 1000, burst = 1000 }";
    ring.front = in_front_of(&[&ring.recorder.url()], "", Transport::Rest, limits, signing());
    let (host, receiver) = (Host::start(), Receiver::start([]));
    let profile = told_at(&host, &receiver, Release::NEWEST);
    let front = Shopper::new(&ring.front, Release::NEWEST, Transport::Rest).named(&profile);
    let done = front.complete(&front.create(&ready(&[("pot_ceramic", 1)])), "success_token");
    receiver.after(1);
    let keyring = Keyring::open(&ring.shop.data().join("keys")).expect("keys");
    let shop = keyring.signer().expect("a key");
    let order = json!({ "id": done["order"]["id"], "checkout_id": done["id"], "label": "again" }).to_string();
    let ids = ["0d4ad9f4-1b0e-4a51-9d5e-6f1f6f5f0001", "0d4ad9f4-1b0e-4a51-9d5e-6f1f6f5f0002"];
    // More often than wrong signatures are borne.
    for id in [ids[0], ids[0], ids[0], ids[0], ids[0], ids[0], ids[1]] {
        let answer = tell(&ring.front, shop, id, order.as_bytes());
        assert_eq!(answer.status, 200, "{answer:?}");
    }
    let told: Vec<_> = receiver.after(3).iter().map(|told| told.header("webhook-id").to_owned()).collect();
    assert_eq!(told[1..], ids, "each once");

    // A body that nobody needs is not read to its end, whoever signed it.
    let huge = vec![b' '; (1 << 20) + 1];
    assert_eq!(tell(&ring.front, shop, ids[1], &huge).status, 413);
    let stranger = key(Algorithm::Es256);
    let refused = std::iter::repeat_with(|| tell(&ring.front, &stranger, ids[1], order.as_bytes()));
    let codes: Vec<Response> = refused.take(20).collect();
    let (limited, wrong): (Vec<_>, Vec<_>) = codes.iter().partition(|refused| refused.status == 429);
    assert!(!wrong.is_empty() && wrong.iter().all(|refused| refused.json()["code"] == "key_not_found"), "{wrong:?}");
    assert!(!limited.is_empty(), "{codes:?}");
    for refused in limited {
        assert_eq!(refused.json()["code"], "rate_limited");
        assert!(refused.header("retry-after").is_some(), "{refused:?}");
    }
    assert_eq!(receiver.deliveries().len(), 3);
}
