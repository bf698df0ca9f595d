//! Checkouts that the shop signs, and mandates for them.

use std::{
    slice,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use ucp_bridge::{Bridge, platform, profile::Transport};
use ucp_core::{
    Code, Operation, Release,
    operation::{AP2_MANDATE, SupportedOperations},
    ports::{ForwardedAnswer, ForwardedCall, UcpUpstream as _, caller::Caller, owners::Kind},
};
use ucp_trust::{
    mandate::{authorize, verify_authorization},
    signature::SigningKey,
};

use super::stub::{Act, Ahead, Got, Stub, call, caller, document, key, mandating, opened, options, own, ucp};

const RELEASE: Release = Release::V2026_04_08;

/// A checkout that a shop has signed.
fn signed(key: &SigningKey) -> Value {
    let mut checkout = json!({ "ucp": ucp(RELEASE), "id": "k1", "status": "incomplete", "z": [1, 2.5], "unknown": { "b": 1, "a": "é" } });
    let authorization = authorize(&checkout, key).expect("signed");
    checkout["ap2"] = json!({ "merchant_authorization": authorization, "extra": true });
    checkout
}

fn asked(operation: Operation, id: Option<&str>) -> ForwardedCall {
    let payload = if operation.row().payload.is_some() { json!({ "line_items": [] }) } else { Value::Null };
    ForwardedCall { release: RELEASE, ..call(operation, id, payload) }
}

async fn create(bridge: &Bridge, caller: &Caller) -> Result<ForwardedAnswer, ucp_core::Refusal> {
    bridge.forward(caller, asked(Operation::CreateCheckout, None)).await
}

fn agent(got: &Got) -> String {
    let stated = got.header("ucp-agent").expect("a profile").strip_prefix("profile=\"").expect("a profile");
    stated.trim_end_matches('"').to_owned()
}

#[tokio::test(start_paused = true)]
async fn what_the_shop_has_signed_is_handed_on_to_the_letter() {
    let ((shop, public), (_, platforms)) = (key(), key());
    let stub = Stub::offering(RELEASE, &SupportedOperations::everything(), slice::from_ref(&public)).await;
    let bridge = opened(options(&stub, Transport::Rest)).await.expect("a bridge");
    assert!(bridge.offering().extends(AP2_MANDATE, RELEASE), "where it can be handed on");
    for other in Release::ALL.iter().filter(|other| **other != RELEASE) {
        assert!(!bridge.offering().extends(AP2_MANDATE, *other), "{other}");
    }
    assert_eq!(bridge.sealing_keys(), [public]);
    let said = signed(&shop);
    let answer = said.clone();
    stub.usually(move |_| Act::json(201, &answer));
    let buyer = mandating("agent", RELEASE, slice::from_ref(&platforms));
    let carried = create(&bridge, &buyer).await.expect("a checkout");
    assert!(carried.sealed);
    assert_eq!(document(carried).to_string(), said.to_string());
    // The shop finds the key of whoever signs mandates where it is told to look, and nobody else's.
    let name = platform::name(&buyer.owner);
    let own = format!("https://gateway.example/upstream/2026-04-08/mandates/{name}/.well-known/ucp");
    assert_eq!(agent(&stub.got()[0]), own);
    assert_eq!(bridge.platform_keys(&name).as_deref(), Some(slice::from_ref(&platforms)));
    assert_eq!(bridge.platform_keys(&platform::name("https://other.example/profile")), None);
    assert!(!name.contains("agent"), "{name}");
    // A profile that is out of reach for once takes nothing away, another key does.
    create(&bridge, &mandating("agent", RELEASE, &[])).await.expect("a checkout");
    assert_eq!(bridge.platform_keys(&name).as_deref(), Some(&[platforms][..]));
    let (_, next) = key();
    create(&bridge, &mandating("agent", RELEASE, slice::from_ref(&next))).await.expect("a checkout");
    assert_eq!(bridge.platform_keys(&name).as_deref(), Some(&[next][..]));
    // The mandate goes there as it came.
    let mandate = json!({ "ap2": { "checkout_mandate": "a.b.c~d.e.f", "other": 1 }, "payment": { "instruments": [] } });
    let mut complete = asked(Operation::CompleteCheckout, Some("k1"));
    complete.payload = mandate.clone();
    let carried = bridge.forward(&buyer, complete).await.expect("a checkout");
    assert!(carried.sealed);
    let got = stub.got().pop().expect("a request");
    assert_eq!((agent(&got), got.body), (own, mandate));
}

#[tokio::test(start_paused = true)]
async fn a_purchase_stays_what_it_was_begun_as() {
    let (shop, public) = key();
    let stub = Stub::offering(RELEASE, &SupportedOperations::everything(), &[public]).await;
    let options = options(&stub, Transport::Rest);
    let bridge = opened(options.clone()).await.expect("a bridge");
    let said = signed(&shop);
    stub.usually(move |_| Act::json(201, &said));
    let (buyer, plain) = (mandating("agent", RELEASE, &[]), caller("agent", RELEASE));
    create(&bridge, &buyer).await.expect("a checkout");
    let with = agent(&stub.got()[0]);
    // A profile that does not state mandates any more changes nothing about what was begun with them.
    let carried = bridge.forward(&plain, asked(Operation::GetCheckout, Some("k1"))).await.expect("a checkout");
    assert!(carried.sealed);
    assert_eq!(agent(&stub.got()[1]), with);
    // Carts and orders are known to the shop under the same profile, and are never signed.
    stub.usually(|got| {
        let id = got.path.rsplit('/').next().filter(|_| got.method == "GET").unwrap_or("c1");
        Act::json(200, &json!({ "ucp": ucp(RELEASE), "id": id, "ap2": {} }))
    });
    for operation in [Operation::CreateCart, Operation::GetCart] {
        let id = (operation == Operation::GetCart).then_some("c1");
        let carried = bridge.forward(&buyer, asked(operation, id)).await.expect("a cart");
        assert!(!carried.sealed && !carried.body.contains_key("ap2"));
        assert_eq!(agent(&stub.got().pop().expect("a request")), with);
    }
    // A checkout without mandates cannot be completed without them once they are negotiated.
    own(&options, Kind::Checkout, "k0").await;
    own(&options, Kind::Cart, "c0").await;
    let before = stub.got().len();
    let mut of_cart = asked(Operation::CreateCheckout, None);
    of_cart.payload = json!({ "cart_id": "c0" });
    for call in [asked(Operation::GetCheckout, Some("k0")), asked(Operation::CompleteCheckout, Some("k0")), of_cart] {
        let answer = document(bridge.forward(&buyer, call).await.expect("an outcome"));
        assert_eq!(answer["messages"][0]["code"], "not_found", "{answer}");
    }
    assert_eq!(stub.got().len(), before, "the shop was not asked");
    bridge.forward(&buyer, asked(Operation::GetCart, Some("c0"))).await.expect("a cart");
    assert!(!agent(&stub.got().pop().expect("a request")).contains("mandates"));
    // A platform that has not negotiated them is never locked in.
    let plain = bridge.forward(&plain, asked(Operation::GetCheckout, Some("k0"))).await.expect("a checkout");
    assert!(!plain.sealed && !plain.body.contains_key("ap2"));
    assert!(!agent(&stub.got().pop().expect("a request")).contains("mandates"));
}

#[tokio::test(start_paused = true)]
async fn nothing_is_handed_on_that_does_not_hold() {
    let ((shop, public), (stranger, _)) = (key(), key());
    let stub = Stub::offering(RELEASE, &SupportedOperations::everything(), &[public]).await;
    let bridge = opened(options(&stub, Transport::Rest)).await.expect("a bridge");
    let buyer = mandating("agent", RELEASE, &[]);
    let mut altered = signed(&shop);
    altered["status"] = "ready_for_complete".into();
    let mut unsigned = signed(&shop);
    unsigned.as_object_mut().expect("an object").remove("ap2");
    for (said, why) in [(signed(&stranger), "a stranger's"), (altered, "altered"), (unsigned, "not signed")] {
        stub.usually(move |_| Act::json(201, &said));
        let refused = create(&bridge, &buyer).await.expect_err(why);
        assert_eq!(refused.code, Code::Unavailable, "{why}");
    }
    // Another release cannot have it.
    let newer = ForwardedCall { release: Release::NEWEST, ..asked(Operation::CreateCheckout, None) };
    let refused = bridge.forward(&mandating("agent", Release::NEWEST, &[]), newer).await.expect_err("refused");
    assert_eq!(refused.code, Code::VersionUnsupported);
}

#[tokio::test(start_paused = true)]
async fn a_new_key_of_the_shop_is_published_before_what_it_signs_is_handed_on() {
    let ((_, first), (next, second)) = (key(), key());
    let stub = Stub::offering(RELEASE, &SupportedOperations::everything(), slice::from_ref(&first)).await;
    let ahead = Ahead::default();
    let bridge = ahead.opened(options(&stub, Transport::Rest)).await;
    let published = Arc::new(Mutex::new(vec![first.clone()]));
    let place = Arc::clone(&published);
    bridge.whenever_keys_change(move |keys| *place.lock().expect("whole") = keys);
    let renamed = Stub::offering(RELEASE, &SupportedOperations::everything(), &[first, second]).await.shown();
    let mut profile = stub.shown();
    profile["signing_keys"] = renamed["signing_keys"].clone();
    stub.profile(profile.clone());
    let said = signed(&next);
    let answer = said.clone();
    stub.usually(move |_| Act::json(201, &answer));
    let buyer = mandating("agent", RELEASE, &[]);
    let carried = document(create(&bridge, &buyer).await.expect("a checkout"));
    let keys = ucp_trust::jwk::read_set(&json!(*published.lock().expect("whole")), &mut Vec::new());
    let authorization = carried["ap2"]["merchant_authorization"].as_str().expect("a signature");
    verify_authorization(&carried, authorization, &keys).expect("it can be verified with what is published");
    assert_eq!(stub.profile_fetches(), 2);
    // A key that the shop does not use any more is gone with the next look.
    profile["signing_keys"] = json!([renamed["signing_keys"][1]]);
    stub.profile(profile.clone());
    ahead.by(Duration::from_secs(400));
    bridge.refresh().await;
    assert_eq!(*published.lock().expect("whole"), [renamed["signing_keys"][1].clone()]);
    // Once mandates are no longer offered, checkouts that require them cannot be completed.
    profile["ucp"]["capabilities"].as_object_mut().expect("capabilities").retain(|name, _| !name.contains("ap2"));
    stub.profile(profile);
    ahead.by(Duration::from_secs(400));
    bridge.refresh().await;
    assert_eq!(published.lock().expect("whole").len(), 0);
    let refused = create(&bridge, &buyer).await.expect_err("refused");
    assert!(refused.content.contains("does not take mandates any more"), "{}", refused.content);
}
