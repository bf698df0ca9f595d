//! Two gateways in a ring: one keeps a flower shop, the other stands in front of it and speaks UCP to it, over the
//! transport that its caller does not use, or in a release that its caller does not know.
//!
//! The shop itself can be asked about what was made through the other gateway, by whoever names the other gateway's
//! profile: what both say has to be the same, but for the envelope.

mod answers;
mod chain;
mod founding;
mod mandates;
mod notices;
mod recorder;

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::Release;

use self::recorder::Recorder;
use super::shopper::{Shopper, address, id, lines, new_key, ready, shipping, total};
use crate::{
    harness::Gateway,
    platforms::host::{Host, Page},
    setup::{Configured, Setup, Transport},
    signatures::keys,
};

/// The shop takes profiles of this machine, because the other gateway's is there.
const LOOPBACK: &str = "[profiles]\nloopback = true\n";

/// The site that the shop has its terms on.
const TERMS: &str = "https://example.com";

/// A shop, and a gateway in front of it, whose requests are recorded and held against the official schemas.
struct Ring {
    shop: Configured,
    front: Configured,
    release: Release,
    recorder: Recorder,
}

impl Ring {
    /// A ring in which the shop is asked over `upstream`, at one of its endpoints.
    fn asking(upstream: Transport, path: &str, release: Release) -> Self {
        Self::on(directory(), directory(), upstream, path, release)
    }

    /// The same on these directories.
    fn on(shop: TempDir, front: TempDir, upstream: Transport, path: &str, release: Release) -> Self {
        let recorder = Recorder::start(release);
        let setup = Setup::new(LOOPBACK).arguments(&["--sample", "flower-shop", "--public-url", &recorder.url()]);
        let shop = setup.start_at(&recorder.behind(), shop);
        let front = in_front_of(&[&recorder.url()], path, upstream, "", front);
        Self { shop, front, release, recorder }
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

/// A gateway in front of the first of some shops, which it asks over `upstream`, at one of its endpoints; with more of a
/// configuration. Buyers may be sent to all of them.
fn in_front_of(shops: &[&str], path: &str, upstream: Transport, more: &str, data: TempDir) -> Configured {
    let transport = if upstream == Transport::Rest { "rest" } else { "mcp" };
    // On a machine that is busy an answer takes its time.
    let patient =
        "connect_timeout_ms = 20000\nread_timeout_ms = 30000\nwrite_timeout_ms = 30000\ncomplete_timeout_ms = 60000";
    let sites: Vec<_> = shops.iter().copied().chain([TERMS]).collect();
    Setup::new(&format!("{LOOPBACK}{more}\n[upstream]\ntransport = \"{transport}\"\n{patient}\norigins = {sites:?}\n"))
        .arguments(&["--backend", "ucp", "--upstream-url", &format!("{}{path}", shops[0])])
        .start_on(data)
}

fn directory() -> TempDir {
    crate::harness::folder()
}

/// A directory of a gateway that signs.
fn signing() -> TempDir {
    let data = directory();
    keys(&["generate"], data.path());
    data
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

        // A recorder that sees nothing would prove nothing.
        for (operation, least) in
            [("create_cart", 1), ("update_cart", 1), ("update_checkout", 1), ("complete_checkout", 2)]
        {
            assert!(ring.recorder.asked(operation) >= least, "{operation} over {upstream:?}");
        }
        // A finished checkout is finished, in the form of the transport (T-21).
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
}

#[test]
fn what_a_call_is_called_is_handed_on() {
    let host = Host::start();
    let release = Release::NEWEST;
    let service = json!({ "version": release.date(), "transport": "rest", "endpoint": host.url("/shop") });
    let search = "dev.ucp.shopping.catalog.search";
    let known = json!({ "ucp": {
        "version": release.date(), "services": { "dev.ucp.shopping": [service] }, "payment_handlers": {},
        "capabilities": { search: [{ "version": release.date() }] },
    } });
    host.profile("/.well-known/ucp", &known);
    let answer = json!({ "ucp": { "version": release.date(), "status": "success", "capabilities": {} }, "products": [],
        "pagination": { "has_next_page": false } });
    host.put("/shop/catalog/search", Page::json(&answer));
    let front = Setup::new(&format!("{LOOPBACK}[upstream]\nconnect_timeout_ms = 20000\nread_timeout_ms = 30000\n"))
        .arguments(&["--backend", "ucp", "--upstream-url", &host.url("")])
        .start_on(directory());
    let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    for (n, transport) in [Transport::Rest, Transport::Tool, Transport::Method].into_iter().enumerate() {
        let shopper = Shopper::new(&front, release, transport);
        let named = shopper.header("Request-Id", "call-1").header("Traceparent", parent).header("Tracestate", "v=1");
        named.call("search_catalog", None, &json!({ "query": format!("tea {n}") })).document();
        let request = host.last_request("/shop/catalog/search");
        for (name, value) in [("request-id", "call-1"), ("traceparent", parent), ("tracestate", "v=1")] {
            let found: Vec<_> = request.headers().get_all(name).iter().collect();
            assert_eq!(found, [value], "{name} over {transport:?}: {request:?}");
        }
        let unsound =
            Shopper::new(&front, release, transport).header("Traceparent", "00-x").header("Tracestate", "v=1");
        let answered = unsound.call("search_catalog", None, &json!({ "query": format!("coffee {n}") }));
        let request = host.last_request("/shop/catalog/search");
        let has = |name| request.headers().contains_key(name);
        assert!(!has("traceparent") && !has("tracestate"), "{request:?}");
        let own = answered.response.header("request-id").expect("an identifier");
        assert_eq!(request.headers()["request-id"], own, "the name that the caller is told too: {request:?}");
    }
}
