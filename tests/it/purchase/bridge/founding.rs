//! Shops of the first two releases, which know checkouts alone, with callers of every release in front.

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_wire::documents::release_path;

use super::{Ring, WAYS, lasting, payload};
use crate::{
    harness::Gateway,
    purchase::shopper::{Shopper, address, id, lines, new_key, shipping},
    setup::Transport,
};

/// The names of what a gateway advertises in a release.
fn advertised(gateway: &Gateway, release: Release) -> Vec<String> {
    let profile = gateway.get(&format!("{}/.well-known/ucp", release_path(release))).json();
    let capabilities = &profile["ucp"]["capabilities"];
    let named = capabilities.as_object().map(|named| named.keys().cloned().collect::<Vec<_>>());
    let mut names = named.unwrap_or_else(|| {
        let listed = capabilities.as_array().expect("capabilities");
        listed.iter().map(|entry| entry["name"].as_str().expect("a name").to_owned()).collect()
    });
    names.sort();
    names
}

/// Returns a checkout without the names of its destinations: for shops of these releases the gateway makes them.
fn unnamed(mut checkout: Value) -> Value {
    for method in checkout["fulfillment"]["methods"].as_array_mut().into_iter().flatten() {
        let method = method.as_object_mut().expect("a method");
        method.remove("selected_destination_id").expect("a chosen destination");
        for destination in method["destinations"].as_array_mut().expect("destinations") {
            destination.as_object_mut().expect("a destination").remove("id").expect("a name");
        }
    }
    checkout
}

#[test]
fn a_shop_of_the_first_releases_sells_to_callers_of_all() {
    for release in [Release::V2026_01_11, Release::V2026_01_23] {
        for (upstream, own) in WAYS {
            let ring = Ring::asking(upstream, &release_path(release), release);
            for caller in Release::ALL.iter().copied() {
                let names = advertised(&ring.front, caller);
                assert!(names.iter().any(|name| name == "dev.ucp.shopping.checkout"), "{names:?}");
                assert!(!names.iter().any(|name| name.contains("cart") || name.contains("catalog")), "{names:?}");
                let (front, direct) = (Shopper::new(&ring.front, caller, own), Shopper::new(&ring.shop, caller, own));
                let consent = if caller == Release::NEWEST {
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
                let key = new_key();
                let made = front.keyed(Some(&key), "create_checkout", None, &asked);
                assert_eq!(made.status, if own == Transport::Rest { 201 } else { 200 }, "{made:?}");
                let again = front.keyed(Some(&key), "create_checkout", None, &asked);
                assert_eq!(again.text(), made.text(), "a retry is a retry");
                let checkout = made.document();
                assert_eq!(checkout["ucp"]["version"], caller.date());
                assert_eq!(
                    unnamed(lasting(checkout.clone())),
                    unnamed(lasting(direct.create(&asked))),
                    "{caller} of {release} over {upstream:?}"
                );
                let mut less = asked.clone();
                less["id"] = json!(id(&checkout));
                less.as_object_mut().expect("an object").remove("discounts");
                let updated = front.update(&checkout, &less);
                assert_eq!(updated["status"], "ready_for_complete", "{updated}");
                let declined = front.call("complete_checkout", Some(id(&checkout)), &front.paying("fail_token"));
                assert_eq!(declined.errors(), ["payment_failed"], "{declined:?}");
                let done = front.complete(&checkout, "success_token");
                assert_eq!(done["status"], "completed", "{done}");
                let looked = front.call("get_checkout", Some(id(&done)), &Value::Null).document();
                assert_eq!(payload(looked), payload(done.clone()));
                let over = front.call("cancel_checkout", Some(id(&done)), &Value::Null);
                assert_eq!(over.errors(), ["checkout_completed"], "{over:?}");
                let left = front.create(&asked);
                let canceled = front.call("cancel_checkout", Some(id(&left)), &Value::Null).document();
                assert_eq!(canceled["status"], "canceled", "{canceled}");
                assert_eq!(front.call("get_checkout", Some("nothing"), &Value::Null).errors(), ["not_found"]);
                let stranger = front.clone().named("https://stranger.example/profile");
                assert_eq!(stranger.call("get_checkout", Some(id(&done)), &Value::Null).errors(), ["not_found"]);
            }
            // Operations outside the shop's version do not exist.
            let newest = Shopper::new(&ring.front, Release::NEWEST, own);
            let (method, path, headers, body) =
                newest.request(None, "search_catalog", None, &json!({ "query": "roses" }));
            let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            let refused = ring.front.send(method, &path, &headers, &body);
            let said = refused.json();
            let code = if own == Transport::Rest { &said["code"] } else { &said["error"]["data"]["code"] };
            assert_eq!(code, if own == Transport::Rest { "unknown_path" } else { "unknown_tool" }, "{refused:?}");
        }
    }
}
