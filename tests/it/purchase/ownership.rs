//! Whose cart, checkout or order it is, and who may buy at all.

use serde_json::{Value, json};
use ucp_core::{Operation, Release, operation::Class};
use ucp_trust::{api_key::ApiKey, jwk::Algorithm};

use super::shopper::{Flowers, Shopper, flowers, id, lines, new_key, ready, ways};
use crate::{
    platforms::host::{Host, profile_with},
    setup::{Configured, REQUIRE, Setup, Transport},
    signatures::{Draft, key, signing},
};

const OTHER: &str = "https://other.example.com/profile.json";

/// Every operation on a resource of somebody else gets the answer that it gets on one that never was.
#[test]
fn what_is_somebody_elses_is_not_there() {
    let shop = flowers();
    let owner = Shopper::rest(&shop);
    let cart = owner.call("create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) })).document();
    let open = owner.create(&ready(&[("pot_ceramic", 1)]));
    let completed = owner.complete(&owner.create(&ready(&[("pot_ceramic", 1)])), "success_token");
    for (release, transport) in ways() {
        let stranger = Shopper::new(&shop, release, transport).named(OTHER);
        let callable = |operation: &&Operation| {
            let row = operation.row();
            let there = release >= Release::V2026_04_08 || row.name.ends_with("_checkout");
            operation.takes_id() && row.class != Class::Browsing && there
        };
        for operation in Operation::ALL.iter().filter(callable) {
            let (name, class) = (operation.row().name, operation.row().capability);
            let (targets, nothing) = match class.rsplit('.').next() {
                Some("cart") => (vec![&cart], "cart_00000000000000000000000000000000"),
                Some("order") => (vec![&completed["order"]], "ord_00000000000000000000000000000000"),
                _ => (vec![&open, &completed], "chk_00000000000000000000000000000000"),
            };
            let payload = match name {
                "complete_checkout" => stranger.paying("success_token"),
                _ => ready(&[("pot_ceramic", 2)]),
            };
            let never = stranger.call(name, Some(nothing), &payload);
            assert_eq!(never.errors(), ["not_found"], "{release} {transport:?} {name}: {never:?}");
            for target in targets {
                let said = stranger.call(name, Some(id(target)), &payload);
                let plain = |said: &super::shopper::Said, own: &str| {
                    let mut body = said.response.json();
                    for (place, own) in [("/error/data", "request_id"), ("/result", "_meta")] {
                        if let Some(members) = body.pointer_mut(place).and_then(Value::as_object_mut) {
                            members.shift_remove(own);
                        }
                    }
                    (said.status, body.to_string().replace(own, "ID"))
                };
                assert_eq!(plain(&said, id(target)), plain(&never, nothing), "{release} {transport:?} {name}");
            }
        }
        if release >= Release::V2026_04_08 {
            let said = stranger.call("create_checkout", None, &json!({ "cart_id": id(&cart) }));
            assert_eq!(said.errors(), ["not_found"], "a cart of somebody else is no cart: {said:?}");
        }
    }
    assert_eq!(owner.call("get_checkout", Some(id(&open)), &json!({})).document(), open, "nothing was changed");
    assert_eq!(owner.call("get_cart", Some(id(&cart)), &json!({})).document()["totals"], cart["totals"]);
}

/// The keys of another platform lead to nothing of it, either.
#[test]
fn answers_that_are_kept_are_kept_for_one_platform() {
    let shop = flowers();
    let (owner, stranger) = (Shopper::rest(&shop), Shopper::rest(&shop).named(OTHER));
    let (key, payload) = (new_key(), ready(&[("pot_ceramic", 1)]));
    let mine = owner.keyed(Some(&key), "create_checkout", None, &payload).document();
    let theirs = stranger.keyed(Some(&key), "create_checkout", None, &payload).document();
    assert_ne!(id(&mine), id(&theirs));
    assert_ne!(mine["continue_url"], theirs["continue_url"]);
}

#[test]
fn identifiers_are_random() {
    let shop = flowers();
    let shopper = Shopper::rest(&shop);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..64 {
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let cart = shopper.call("create_cart", None, &json!({ "line_items": lines(&[("pot_ceramic", 1)]) })).document();
        for (own, prefix) in [(id(&checkout), "chk_"), (id(&cart), "cart_")] {
            let random = own.strip_prefix(prefix).expect("a prefix");
            assert!(random.len() >= 22 && random.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{own}");
            assert!(seen.insert(random.to_owned()), "{own} came twice");
        }
    }
    // No part of them is the same in all, as a clock or a counter would be.
    let all: Vec<_> = seen.iter().collect();
    for place in 0..22 {
        let letters: std::collections::BTreeSet<_> = all.iter().map(|random| random.as_bytes()[place]).collect();
        assert!(letters.len() > 1 || letters.contains(&b'4'), "place {place} is always the same: {all:?}");
    }
}

/// Everything that the purchase is made of, so that a platform that names it has it.
const CAPABILITIES: [&str; 8] = [
    "dev.ucp.shopping.catalog.search",
    "dev.ucp.shopping.catalog.lookup",
    "dev.ucp.shopping.cart",
    "dev.ucp.shopping.checkout",
    "dev.ucp.shopping.order",
    "dev.ucp.shopping.fulfillment",
    "dev.ucp.shopping.discount",
    "dev.ucp.shopping.buyer_consent",
];

fn a_line() -> Value {
    json!({ "line_items": lines(&[("var_abc123_blue_8", 1)]) })
}

/// Outside of development nobody buys anything, or looks at an order, without proof of who it is.
#[test]
fn purchases_need_proof_outside_of_development() {
    let api_key = ApiKey::generate().expect("a key");
    let signer = key(Algorithm::Es256);
    let host = Host::start();
    let registered = format!(
        "[[platform]]\nname = \"Keyed\"\nprofile = \"{OTHER}\"\nprofile_file = \"p.json\"\napi_key_hash = \"{}\"\n",
        api_key.hash()
    );
    for policy in ["require", "lenient"] {
        let configuration = REQUIRE.replace("\"require\"", &format!("\"{policy}\""));
        let gateway = Setup::new(&[&configuration, &registered[..]].concat())
            .file("p.json", &profile_with(Release::NEWEST, &CAPABILITIES).to_string())
            .start();
        for (release, transport) in ways() {
            let profile =
                host.profile(&format!("/{release}"), &signing(profile_with(release, &CAPABILITIES[..]), &[&signer]));
            let anonymous = Shopper::new(&gateway, release, transport).named(&profile);
            let callable = |operation: &&Operation| {
                let row = operation.row();
                row.class != Class::Browsing && (release >= Release::V2026_04_08 || row.name.ends_with("_checkout"))
            };
            for operation in Operation::ALL.iter().filter(callable) {
                let resource = operation.takes_id().then_some("x");
                let said = anonymous.call(operation.row().name, resource, &a_line());
                assert_eq!((said.status, said.refusal().0.as_str()), (401, "unauthorized"), "{policy}: {said:?}");
                assert!(said.response.header("www-authenticate").is_some(), "{said:?}");
            }
        }
        // A key proves it, …
        let keyed = Shopper::rest(&gateway).named(OTHER).header("X-API-Key", api_key.reveal());
        let checkout = keyed.create(&a_line());
        assert_eq!(keyed.call("get_checkout", Some(id(&checkout)), &json!({})).document(), checkout);
        // … though not for somebody else.
        let profile = host.profile("/p", &signing(profile_with(Release::NEWEST, &CAPABILITIES), &[&signer]));
        let pretending = Shopper::rest(&gateway).named(&profile).header("X-API-Key", api_key.reveal());
        let said = pretending.call("create_checkout", None, &a_line());
        assert_eq!((said.status, said.refusal().0.as_str()), (403, "forbidden"), "{said:?}");
        // So does a signature.
        let mut draft = Draft::at(Some(Release::NEWEST), &gateway, Transport::Rest, &profile);
        draft.path = "/ucp/2026-08-25/checkout-sessions".to_owned();
        let response = draft.saying(a_line().to_string().as_bytes()).signed(&signer).send(&gateway);
        assert_eq!(response.status, 201, "{response:?}");
    }
}

/// In development a platform is whoever it says it is.
#[test]
fn development_takes_platforms_at_their_word() {
    let shop = flowers();
    let checkout = Shopper::rest(&shop).named("https://nobody.example.com/p").create(&ready(&[("pot_ceramic", 1)]));
    assert_eq!(checkout["status"], "ready_for_complete");
}

/// SIG-11: the answer that commits the shop is signed, where it has a key.
#[test]
fn the_answer_that_concludes_a_purchase_is_signed() {
    let unsigned = flowers();
    let shopper = Shopper::rest(&unsigned);
    let paid = shopper.call(
        "complete_checkout",
        Some(id(&shopper.create(&ready(&[("pot_ceramic", 1)])))),
        &shopper.paying("success_token"),
    );
    assert_eq!(paid.response.header("signature"), None, "without a key nothing is signed");
    let shop = Flowers::open();
    crate::signatures::keys(&["generate"], shop.data());
    crate::harness::eventually("the key is in use", std::time::Duration::from_secs(15), || {
        shop.get("/.well-known/ucp").json()["keys"].as_array().filter(|keys| !keys.is_empty()).map(|_| ())
    });
    for transport in Transport::ALL {
        let shopper = Shopper::new(&shop, Release::NEWEST, transport);
        let checkout = shopper.create(&ready(&[("pot_ceramic", 1)]));
        let plain = shopper.call("get_checkout", Some(id(&checkout)), &json!({}));
        assert_eq!(plain.response.header("signature"), None, "{transport:?}");
        let key = new_key();
        let pay = || {
            shopper
                .keyed(Some(&key), "complete_checkout", Some(id(&checkout)), &shopper.paying("success_token"))
                .response
        };
        for response in [pay(), pay()] {
            for header in ["signature", "signature-input", "content-digest"] {
                assert!(response.header(header).is_some(), "{transport:?} {header}: {response:?}");
            }
        }
    }
}

/// Negotiation determines the response: a platform without an extension gets nothing of it.
#[test]
fn extensions_that_were_not_negotiated_are_left_out() {
    let host = Host::start();
    let configuration = REQUIRE.replace("\"require\"", "\"development\"");
    let gateway = Configured::start(&configuration);
    let mut request = a_line();
    request["discounts"] = json!({ "codes": ["WELCOME10"] });
    request["fulfillment"] = super::shopper::shipping(&super::shopper::address());
    request["buyer"] = json!({ "email": "buyer@example.com", "consent": { "marketing": true } });
    for release in [Release::V2026_01_11, Release::V2026_01_23, Release::V2026_04_08] {
        let bare = ["dev.ucp.shopping.checkout"];
        let profile = host.profile(&format!("/bare-{release}"), &profile_with(release, &bare));
        for transport in Transport::ALL {
            let shopper = Shopper::new(&gateway, release, transport).named(&profile);
            let checkout = shopper.create(&request);
            for extension in ["discounts", "fulfillment"] {
                assert_eq!(checkout.get(extension), None, "{release}: {checkout}");
            }
            assert_eq!(checkout["buyer"].get("consent"), None, "{release}: {checkout}");
            assert!(!checkout["totals"].to_string().contains("discount"), "{checkout}");
            assert!(!checkout.to_string().contains("discount_code"), "{checkout}");
            if release >= Release::V2026_04_08 {
                let said = shopper.call("create_cart", None, &a_line());
                assert_eq!((said.status, said.errors()), (200, vec!["capabilities_incompatible".to_owned()]));
            }
        }
    }
}
