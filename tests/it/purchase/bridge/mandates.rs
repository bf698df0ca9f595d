//! AP2 mandates through a gateway that has signed nothing of what they are about.

use std::time::Duration;

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_trust::{
    jwk::{Algorithm, PublicKey, read_document},
    mandate::verify_authorization,
    signature::SigningKey,
};
use ucp_wire::documents::release_path;

use super::{Ring, WAYS, signing};
use crate::{
    harness::{Gateway, eventually},
    platforms::host::{Host, profile_with},
    purchase::{
        mandates::presented,
        shopper::{Shopper, id, new_key, ready, said_at},
    },
    signatures::{key, keys},
};

/// Name of the extension in a version.
fn name(release: Release) -> String {
    format!("dev.ucp.{}.ap2_mandate", if release == Release::NEWEST { "common.payment" } else { "shopping" })
}

/// The profile of a platform that makes mandates, in a release.
fn platform(host: &Host, release: Release, key: &SigningKey) -> String {
    let mut profile =
        profile_with(release, &["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", &name(release)]);
    let member = if release == Release::NEWEST { "keys" } else { "signing_keys" };
    profile[member] = json!([key.public().to_jwk()]);
    host.profile(&format!("/{release}"), &profile)
}

fn published(gateway: &Gateway, release: Release) -> (Value, Vec<PublicKey>) {
    let profile = gateway.get(&format!("{}/.well-known/ucp", release_path(release))).json();
    let keys = read_document(&profile, &mut Vec::new()).expect("keys");
    (profile, keys)
}

/// An answer whose signature holds under the keys in the profile of the gateway in front.
#[track_caller]
fn signed(shopper: &Shopper<'_>, answer: Value) -> Value {
    let authorization = answer["ap2"]["merchant_authorization"].as_str().unwrap_or_else(|| panic!("signed: {answer}"));
    let (_, keys) = published(shopper.gateway, shopper.release);
    verify_authorization(&answer, authorization, &keys).unwrap_or_else(|error| panic!("{error}: {answer}"));
    answer
}

#[test]
fn mandates_and_what_the_shop_signs_travel_as_they_are() {
    for ((upstream, own), release) in WAYS.into_iter().zip([Release::V2026_04_08, Release::NEWEST]) {
        let path = if release == Release::NEWEST { String::new() } else { release_path(release) };
        let ring = Ring::on(signing(), signing(), upstream, &path, release);
        let shop_keys = |release| published(&ring.shop, release).1;
        let shops = |keys: &[PublicKey]| keys.iter().any(|key| shop_keys(release).contains(key));
        for other in Release::ALL.iter().copied() {
            let (profile, keys) = published(&ring.front, other);
            let offers = profile["ucp"]["capabilities"].to_string().contains("ap2_mandate");
            assert_eq!((offers, shops(&keys)), (other == release, other == release), "{other}: {profile}");
        }
        let (host, platform_key) = (Host::start(), key(Algorithm::Es256));
        let profile = platform(&host, release, &platform_key);
        let shopper = Shopper::new(&ring.front, release, own).named(&profile);
        let created = signed(&shopper, shopper.create(&ready(&[("bouquet_roses", 1)])));
        assert_eq!(created["status"], "ready_for_complete", "{created}");
        let complete = |mandate: Option<&str>| {
            let mut payload = shopper.paying("success_token");
            if let Some(mandate) = mandate {
                payload["ap2"] = json!({ "checkout_mandate": mandate });
            }
            shopper.keyed(Some(&new_key()), "complete_checkout", Some(id(&created)), &payload).document()
        };
        let refused = signed(&shopper, complete(None));
        assert_eq!(said_at(&refused, "error"), ["mandate_required $.ap2.checkout_mandate"], "{refused}");
        // A mandate is made for the business that signed the checkout.
        let shop = format!("http://{}", ring.shop.address);
        let mandate_of =
            |issuer: &SigningKey| presented(issuer, &key(Algorithm::Es256), &created, &shop, 600, &json!({}));
        let by_a_stranger = mandate_of(&key(Algorithm::Es256));
        let refused = signed(&shopper, complete(Some(&by_a_stranger)));
        assert_eq!(said_at(&refused, "error"), ["agent_missing_key $.ap2.checkout_mandate"], "{refused}");
        let mandate = mandate_of(&platform_key);
        let done = signed(&shopper, complete(Some(&mandate)));
        assert_eq!(done["status"], "completed", "{done}");
        let looked = signed(&shopper, shopper.call("get_checkout", Some(id(&done)), &Value::Null).document());
        assert_eq!(looked["order"], done["order"]);

        // Other releases cannot have what is signed: there is nothing of it there, and nobody is locked in.
        let other = if release == Release::NEWEST { Release::V2026_04_08 } else { Release::NEWEST };
        let plain = Shopper::new(&ring.front, other, own).named(&platform(&host, other, &platform_key));
        let created = plain.create(&ready(&[("bouquet_roses", 1)]));
        assert!(created.get("ap2").is_none(), "{created}");
        assert_eq!(plain.complete(&created, "success_token")["status"], "completed");

        // The shop signs with another key from one moment to the next.
        let before = shop_keys(release);
        keys(&["rotate", "--grace-days", "0"], ring.shop.data());
        eventually("the shop publishes another key", Duration::from_secs(60), || {
            (shop_keys(release) != before).then_some(())
        });
        signed(&shopper, shopper.create(&ready(&[("pot_ceramic", 1)])));
        for gateway in [&ring.front, &ring.shop] {
            assert!(!gateway.stderr().contains(&mandate), "mandates are not logged");
        }
    }
}
