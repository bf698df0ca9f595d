//! Answers of our own shop, none of which the gateway in front finds a fault in.

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_wire::documents::release_path;

use super::{LOOPBACK, Recorder, Ring, directory, in_front_of};
use crate::{
    harness::{Gateway, elements, sample_shop},
    purchase::{
        conditions,
        shopper::{Shopper, address, id, lines, shipping},
    },
    setup::{Setup, Transport},
};

#[track_caller]
fn finds_no_fault(front: &Gateway) {
    let log = front.stderr();
    let faults: Vec<_> = log.lines().filter(|line| line.contains("faulty")).collect();
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn purchases_on_any_terms_pass() {
    let rate = |title: &str, percent: &str, included: bool| json!({ "title": title, "country": "US", "percent": percent, "included": included });
    for (taxes, fees) in [
        (json!([rate("Sales tax", "7.25%", false)]), json!([{ "title": "Gift wrap", "charge": { "USD": 99 } }])),
        (json!([rate("VAT", "19%", true), rate("City", "1%", true)]), json!([])),
    ] {
        for release in Release::ALL.iter().copied() {
            let shop = conditions::directory(|terms| {
                terms["tax"] = json!({ "rates": taxes });
                terms["fees"] = fees.clone();
            });
            let path = if release == Release::NEWEST { String::new() } else { release_path(release) };
            let ring = Ring::on(shop, directory(), Transport::Rest, &path, release);
            let front = Shopper::new(&ring.front, release, Transport::Rest);
            for (quantity, codes) in [
                (1, json!([])),
                (2, json!(["10OFF"])),
                (3, json!(["FIXED500", "BOGUS"])),
                (7, json!(["10OFF", "WELCOME20", "FIXED500"])),
            ] {
                for goods in ["bouquet_roses", "pot_ceramic"] {
                    let mut asked = json!({ "line_items": lines(&[(goods, quantity), ("orchid_white", 1)]) });
                    asked["discounts"] = json!({ "codes": codes });
                    let checkout = front.create(&asked);
                    asked["fulfillment"] = shipping(&address());
                    asked["buyer"] = json!({ "email": "buyer@example.com" });
                    let checkout = front.update(&checkout, &asked);
                    let done = front.complete(&checkout, "success_token");
                    assert_eq!(done["status"], "completed", "{release} {codes}: {done}");
                    if release >= Release::V2026_04_08 {
                        front.call("create_cart", None, &json!({ "line_items": asked["line_items"] })).document();
                        let order = front.call("get_order", done["order"]["id"].as_str(), &Value::Null).document();
                        assert_eq!(id(&order), done["order"]["id"]);
                    }
                }
            }
            finds_no_fault(&ring.front);
        }
    }
}

#[test]
fn every_product_passes_in_every_currency() {
    for release in [Release::V2026_04_08, Release::NEWEST] {
        let recorder = Recorder::start(release);
        let setup = Setup::new(LOOPBACK).arguments(&["--public-url", &recorder.url()]);
        let shop = setup.start_at(&recorder.behind(), sample_shop());
        let front = in_front_of(&[&recorder.url()], &release_path(release), Transport::Rest, "", directory());
        for context in [json!({}), json!({ "currency": "KWD" }), json!({ "address_country": "JP", "language": "ja" })] {
            let all = |gateway: &Gateway| {
                let mut asked =
                    json!({ "filters": { "available": false }, "context": context, "pagination": { "limit": 50 } });
                let mut products = 0;
                loop {
                    let found = gateway.rest_of(release, "search_catalog", &asked).answer();
                    products += elements(&found["products"]).len();
                    match found["pagination"].get("cursor") {
                        Some(cursor) => asked["pagination"]["cursor"] = cursor.clone(),
                        None => return products,
                    }
                }
            };
            assert_eq!(all(&front), all(&shop), "{context} in {release}");
        }
        finds_no_fault(&front);
        assert!(recorder.asked("search_catalog") > 3, "{release}");
    }
}
