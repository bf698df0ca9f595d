//! Two gateways in a ring: one keeps a flower shop, the other stands in front of it and speaks UCP to it, over the
//! transport that its caller does not use, or in a release that its caller does not know.
//!
//! The shop itself can be asked about what was made through the other gateway, by whoever names the other gateway's
//! profile: what both say has to be the same, but for the envelope.

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::Release;
use ucp_trust::{
    jwk::read_document,
    signature::{Message, RequestLine, Scheme, Signed, Start},
};

use super::shopper::{Shopper, address, id, lines, new_key, ready, shipping, total};
use super::webhooks::receiver::Receiver;
use crate::{
    harness::Gateway,
    platforms::host::{Host, profile_with},
    setup::{Configured, Setup, Transport},
    signatures::keys,
};

/// The shop takes profiles of this machine, because the other gateway's is there.
const LOOPBACK: &str = "[profiles]\nloopback = true\n";

/// A shop, and a gateway in front of it.
struct Ring {
    shop: Configured,
    front: Configured,
    release: Release,
}

impl Ring {
    /// A ring in which the shop is asked over `upstream`, at one of its endpoints.
    fn asking(upstream: Transport, path: &str, release: Release) -> Self {
        Self::on(directory(), directory(), upstream, path, release)
    }

    /// The same on these directories.
    fn on(shop: TempDir, front: TempDir, upstream: Transport, path: &str, release: Release) -> Self {
        let shop = Setup::new(LOOPBACK).arguments(&["--sample", "flower-shop"]).start_on(shop);
        let transport = if upstream == Transport::Rest { "rest" } else { "mcp" };
        // On a machine that is busy an answer takes its time.
        let patient = "connect_timeout_ms = 20000\nread_timeout_ms = 30000\nwrite_timeout_ms = 30000\ncomplete_timeout_ms = 60000";
        let front = Setup::new(&format!("{LOOPBACK}[upstream]\ntransport = \"{transport}\"\n{patient}\n"))
            .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{}{path}", shop.address)])
            .start_on(front);
        Self { shop, front, release }
    }

    /// The profile of the gateway in front, as the shop sees it.
    fn profile(&self) -> String {
        format!("http://{}/upstream/{}/.well-known/ucp", self.front.address, self.release)
    }

    /// The gateway in front, asked at the shop itself.
    fn at_the_shop(&self, transport: Transport) -> Shopper<'_> {
        Shopper::new(&self.shop, self.release, transport).named(&self.profile())
    }
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

/// Both ways around: over which transport the shop is asked, and over which its callers ask.
const WAYS: [(Transport, Transport); 2] = [(Transport::Tool, Transport::Rest), (Transport::Rest, Transport::Tool)];

fn ring(upstream: Transport) -> Ring {
    Ring::asking(upstream, "", Release::NEWEST)
}

/// A document without what belongs to this one answer.
fn payload(mut document: Value) -> Value {
    let members = document.as_object_mut().expect("an object");
    members.remove("ucp");
    // Positions are sealed anew each time.
    if let Some(pagination) = members.get_mut("pagination").and_then(Value::as_object_mut) {
        pagination.remove("cursor");
    }
    document
}

#[test]
fn the_catalog_is_the_same_through_the_ring() {
    for (upstream, own) in WAYS {
        let ring = ring(upstream);
        let (front, shop) =
            (Shopper::new(&ring.front, Release::NEWEST, own), Shopper::new(&ring.shop, Release::NEWEST, own));
        for (operation, asked) in [
            ("search_catalog", json!({ "query": "roses", "pagination": { "limit": 2 } })),
            ("search_catalog", json!({ "filters": { "price": { "max": 3000 } }, "context": { "currency": "USD" } })),
            ("search_catalog", json!({ "query": "there is no such thing" })),
            ("lookup_catalog", json!({ "ids": ["bouquet_roses", "pot_ceramic", "nothing"] })),
            ("get_product", json!({ "id": "bouquet_roses" })),
            ("get_product", json!({ "id": "nothing" })),
        ] {
            let (through, direct) = (front.call(operation, None, &asked), shop.call(operation, None, &asked));
            assert_eq!(through.status, direct.status, "{operation} {asked}");
            assert_eq!(
                payload(through.document()),
                payload(direct.document()),
                "{operation} {asked} over {upstream:?}"
            );
        }
        // A position that the shop gave out is one that it takes back.
        let first =
            front.call("search_catalog", None, &json!({ "query": "roses", "pagination": { "limit": 1 } })).document();
        if first["pagination"]["has_next_page"] == true {
            let next =
                json!({ "query": "roses", "pagination": { "limit": 1, "cursor": first["pagination"]["cursor"] } });
            let second = front.call("search_catalog", None, &next).document();
            assert_ne!(second["products"][0]["id"], first["products"][0]["id"]);
        }
        let (code, ..) = front
            .call("search_catalog", None, &json!({ "query": "roses", "pagination": { "cursor": "nonsense" } }))
            .refusal();
        assert_eq!(code, "invalid_cursor");
    }
}

#[test]
fn a_purchase_is_the_same_through_the_ring() {
    for (upstream, own) in WAYS {
        let ring = ring(upstream);
        let front = Shopper::new(&ring.front, Release::NEWEST, own);
        let shop = ring.at_the_shop(own);
        let same = |said: &Value, operation: &str| {
            let known = shop.call(operation, Some(id(said)), &Value::Null).document();
            assert_eq!(payload(said.clone()), payload(known), "{operation} over {upstream:?}");
        };
        let context = json!({ "address_country": "US", "unknown": { "kept": 1 } });
        let made = front.call(
            "create_cart",
            None,
            &json!({ "line_items": lines(&[("bouquet_roses", 2)]), "context": context }),
        );
        assert_eq!(made.status, if own == Transport::Rest { 201 } else { 200 });
        let cart = made.document();
        same(&cart, "get_cart");
        let cart = front
            .call(
                "update_cart",
                Some(id(&cart)),
                &json!({ "line_items": lines(&[("bouquet_roses", 1)]), "discounts": { "codes": ["10OFF", "BOGUS"] } }),
            )
            .document();
        same(&cart, "get_cart");
        assert!(cart["discounts"]["codes"].is_array(), "{cart}");

        let checkout = front.create(&json!({ "cart_id": id(&cart) }));
        same(&checkout, "get_checkout");
        let checkout = front.update(&checkout, &ready(&[("bouquet_roses", 1)]));
        same(&checkout, "get_checkout");
        assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
        let declined = front.complete(&checkout, "fail_token");
        assert_eq!(declined["messages"][0]["code"], "payment_failed", "{declined}");
        let done = front.complete(&checkout, "success_token");
        assert_eq!(done["status"], "completed", "{done}");
        same(&done, "get_checkout");
        let order = front.call("get_order", done["order"]["id"].as_str(), &Value::Null).document();
        same(&order, "get_order");
        assert_eq!(total(&order, "total"), total(&done, "total"));

        // What is over is over, in the words of the transport (T-21).
        let over = front.call("cancel_checkout", Some(id(&done)), &Value::Null);
        assert_eq!(over.status, if own == Transport::Rest { 409 } else { 200 });
        assert_eq!(over.errors(), ["checkout_completed"]);
        // And what somebody else has does not exist.
        let stranger = front.clone().named("https://stranger.example/profile");
        for (operation, of) in [
            ("get_cart", id(&cart)),
            ("get_checkout", id(&done)),
            ("get_order", id(&order)),
            ("cancel_checkout", id(&done)),
        ] {
            assert_eq!(stranger.call(operation, Some(of), &Value::Null).errors(), ["not_found"], "{operation}");
        }
    }
}

#[test]
fn a_retry_through_the_ring_is_still_a_retry() {
    for (upstream, own) in WAYS {
        let ring = ring(upstream);
        let front = Shopper::new(&ring.front, Release::NEWEST, own);
        // One that is handed on, and one that the shop gets another for.
        for key in [new_key(), format!("no-uuid-{}", new_key())] {
            let asked = json!({ "line_items": lines(&[("bouquet_roses", 1)]) });
            let first = front.keyed(Some(&key), "create_cart", None, &asked);
            let again = front.keyed(Some(&key), "create_cart", None, &asked);
            assert_eq!((first.status, first.text()), (again.status, again.text()), "over {upstream:?}");
            let other =
                front.keyed(Some(&key), "create_cart", None, &json!({ "line_items": lines(&[("bouquet_roses", 2)]) }));
            assert_eq!(other.refusal().0, "idempotency_conflict");
        }
    }
}

#[test]
fn a_shop_of_one_release_serves_callers_of_all() {
    let release = Release::V2026_04_08;
    for (upstream, own) in WAYS {
        let ring = Ring::asking(upstream, "/ucp/2026-04-08", release);
        for caller in [Release::V2026_01_11, Release::V2026_01_23, Release::V2026_04_08, Release::V2026_08_25] {
            let front = Shopper::new(&ring.front, caller, own);
            let direct = Shopper::new(&ring.shop, caller, own);
            let consent = if caller == Release::V2026_08_25 {
                json!({ "dev.ucp.consent.marketing": { "granted": true, "source": "platform", "description": "Advertising and newsletters." } })
            } else {
                json!({ "marketing": true })
            };
            let asked = json!({
                "line_items": lines(&[("bouquet_roses", 1)]),
                "buyer": { "email": "buyer@example.com", "consent": consent },
                "discounts": { "codes": ["10OFF"] },
                "fulfillment": shipping(&address()),
            });
            let checkout = front.create(&asked);
            assert_eq!(checkout["ucp"]["version"], caller.date());
            let discounted = checkout["totals"].as_array().and_then(|totals| {
                totals.iter().find(|total| total["type"] == "discount" || total["type"] == "items_discount")
            });
            let amount = discounted.and_then(|total| total["amount"].as_i64()).expect("a discount");
            assert_eq!(amount < 0, caller >= Release::V2026_04_08, "{checkout}");
            // The shop speaks the caller's release too, at another endpoint: there it says the same.
            assert_eq!(lasting(checkout.clone()), lasting(direct.create(&asked)), "{caller} over {upstream:?}");
            assert_eq!(checkout["status"], "ready_for_complete", "{checkout}");
            let done = front.complete(&checkout, "success_token");
            assert_eq!(done["status"], "completed", "{done}");
            let missing = front.call("get_checkout", Some("nothing"), &Value::Null);
            assert_eq!(missing.errors(), ["not_found"]);
        }
    }
}

/// A checkout without what no other one has.
fn lasting(checkout: Value) -> Value {
    let mut lasting = payload(checkout);
    let members = lasting.as_object_mut().expect("an object");
    for own in ["id", "continue_url", "expires_at"] {
        members.remove(own).unwrap_or_else(|| panic!("{own}"));
    }
    lasting
}

#[test]
fn the_gateway_offers_what_the_shop_does() {
    let ring = ring(Transport::Tool);
    let (front, shop) = (profile_of(&ring.front), profile_of(&ring.shop));
    let names = |profile: &Value| {
        let capabilities = profile["ucp"]["capabilities"].as_object().expect("capabilities");
        capabilities.keys().filter(|name| name.starts_with("dev.ucp.shopping")).cloned().collect::<Vec<_>>()
    };
    assert_eq!(names(&front), names(&shop));
    assert_eq!(front["ucp"]["payment_handlers"], shop["ucp"]["payment_handlers"]);
    let own = ring.front.get(&format!("/upstream/{}/.well-known/ucp", Release::NEWEST));
    assert_eq!(own.status, 200);
    let own = own.json();
    let order = &own["ucp"]["capabilities"]["dev.ucp.shopping.order"];
    if !order.is_null() {
        assert_eq!(order[0]["config"]["webhook_url"], format!("http://{}/upstream/orders", ring.front.address));
    }
    assert!(own["ucp"]["services"]["dev.ucp.shopping"][0].get("endpoint").is_none());
}

fn profile_of(gateway: &Gateway) -> Value {
    let response = gateway.get("/.well-known/ucp");
    assert_eq!(response.status, 200);
    response.json()
}

#[test]
fn a_shop_that_is_gone_is_said_to_be() {
    let mut ring = ring(Transport::Rest);
    ring.shop.kill();
    let refused = ring.front.send(
        "POST",
        "/catalog/search",
        crate::harness::REST_HEADERS,
        json!({ "query": "roses" }).to_string().as_bytes(),
    );
    assert_eq!(refused.status, 503, "{refused:?}");
    assert_eq!(refused.json()["code"], "unavailable");
    // And without it there is nothing to begin with.
    let address = ring.shop.address.to_string();
    let error = Setup::new(LOOPBACK)
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("http://{address}")])
        .run("serve")
        .expect_err("no shop");
    assert!(error.contains("The profile of the upstream cannot be fetched"), "{error}");
}

/// A directory of a gateway that signs.
fn signing() -> TempDir {
    let data = directory();
    keys(&["generate"], data.path());
    data
}

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
        let keys = read_document(&profile_of(&ring.front), &mut Vec::new()).expect("keys");
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
