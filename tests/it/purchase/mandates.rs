//! AP2 mandates over every transport in every release (rules AP2-01 to AP2-07). `tests/clients/lanes/ap2.py` does the
//! same with tools that are not ours.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use ucp_core::Release;
use ucp_trust::{
    jwk::{Algorithm, PublicKey, read_document},
    mandate::verify_authorization,
    signature::SigningKey,
};
use ucp_wire::documents::release_path;

use super::shopper::{Shopper, id, ready, said_at, ways};
use crate::{
    harness::{Ends as _, Gateway},
    platforms::host::{Host, profile_with},
    setup::{Configured, REQUIRE, Setup, Transport},
    signatures::{key, keys, now},
};

/// A shop that has a key, and a platform with a buyer.
struct Market {
    shop: Configured,
    host: Host,
    platform: SigningKey,
    holder: SigningKey,
}

impl Market {
    fn open() -> Self {
        let data = crate::harness::flower_shop();
        keys(&["generate"], data.path());
        let setup = Setup::new(&REQUIRE.replace("\"require\"", "\"development\""));
        let shop = setup.arguments(&["--sample", "flower-shop"]).start_on(data);
        let (platform, holder) = (key(Algorithm::Es256), key(Algorithm::Es256));
        Self { shop, host: Host::start(), platform, holder }
    }

    /// The platform, in a release and over a transport.
    fn shopper(&self, release: Release, transport: Transport) -> Shopper<'_> {
        let own = format!(
            "dev.ucp.{}.ap2_mandate",
            if release == Release::V2026_08_25 { "common.payment" } else { "shopping" }
        );
        let mut profile = profile_with(release, &["dev.ucp.shopping.checkout", "dev.ucp.shopping.fulfillment", &own]);
        let member = if release == Release::V2026_08_25 { "keys" } else { "signing_keys" };
        profile[member] = json!([self.platform.public().to_jwk()]);
        let url = self.host.profile(&format!("/{release}/{transport:?}"), &profile);
        Shopper::new(&self.shop, release, transport).named(&url)
    }

    /// Mandate of the buyer about the response, with wrong claims of the key binding.
    fn mandate(&self, checkout: &Value, change: &Value) -> String {
        self.issued(&self.platform, checkout, 600, change)
    }

    /// The same by somebody, for so many seconds.
    fn issued(&self, issuer: &SigningKey, checkout: &Value, life: i64, change: &Value) -> String {
        presented(issuer, &self.holder, checkout, &format!("http://{}", self.shop.address), life, change)
    }
}

/// Mandate of a holder about a response, as a platform has it: for a business of this name and so many seconds, with
/// wrong claims of the key binding.
pub(crate) fn presented(
    issuer: &SigningKey,
    holder: &SigningKey,
    checkout: &Value,
    audience: &str,
    life: i64,
    change: &Value,
) -> String {
    let seconds = now().duration_since(std::time::UNIX_EPOCH).expect("a time").as_secs();
    let issued = json!({
        "vct": "mandate.checkout.1", "exp": seconds.saturating_add_signed(life), "checkout": checkout,
        "cnf": { "jwk": holder.public().to_jwk() },
    });
    let bound = jws(issuer, &json!({ "kid": issuer.public().kid(), "typ": "dc+sd-jwt" }), &issued) + "~";
    let mut binding = json!({
        "aud": audience, "nonce": checkout["id"], "iat": seconds,
        "sd_hash": BASE64_URL_SAFE_NO_PAD.encode(sha256(bound.as_bytes())),
    });
    for (name, value) in change.as_object().expect("claims") {
        binding[name] = value.clone();
    }
    bound.clone() + &jws(holder, &json!({ "typ": "kb+jwt" }), &binding)
}

fn sha256(bytes: &[u8]) -> [u8; 32] {
    use sha2::Digest as _;
    sha2::Sha256::digest(bytes).into()
}

fn jws(key: &SigningKey, header: &Value, payload: &Value) -> String {
    let mut header = header.clone();
    header["alg"] = json!(key.algorithm().as_str());
    let part = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", part(&header), part(payload));
    let signature = BASE64_URL_SAFE_NO_PAD.encode(key.sign(signed.as_bytes()).expect("a signature"));
    format!("{signed}.{signature}")
}

/// The keys that a shop publishes for a release.
fn published(shop: &Gateway, release: Release) -> Vec<PublicKey> {
    let profile = shop.get(&format!("{}/.well-known/ucp", release_path(release))).json();
    read_document(&profile, &mut Vec::new()).expect("keys")
}

/// An answer whose signature is good.
#[track_caller]
fn signed(shopper: &Shopper<'_>, answer: Value) -> Value {
    let authorization = answer["ap2"]["merchant_authorization"].as_str().unwrap_or_else(|| panic!("signed: {answer}"));
    let keys = published(shopper.gateway, shopper.release);
    verify_authorization(&answer, authorization, &keys).unwrap_or_else(|error| panic!("{error}: {answer}"));
    answer
}

fn completing(shopper: &Shopper<'_>, mandate: Option<&str>) -> Value {
    let mut payload = shopper.paying("success_token");
    if let Some(mandate) = mandate {
        payload["ap2"] = json!({ "checkout_mandate": mandate });
    }
    payload
}

#[test]
fn every_answer_is_signed_and_nothing_is_sold_without_a_mandate() {
    let market = Market::open();
    for (release, transport) in ways() {
        let shopper = market.shopper(release, transport);
        let created = signed(&shopper, shopper.create(&ready(&[("bouquet_roses", 1)])));
        let looked = signed(&shopper, shopper.call("get_checkout", Some(id(&created)), &json!({})).document());
        assert_eq!(
            (&looked["status"], &looked["totals"]),
            (&json!("ready_for_complete"), &created["totals"]),
            "{looked}"
        );
        let complete = |key: &str, mandate: Option<&str>| {
            shopper.keyed(Some(key), "complete_checkout", Some(id(&created)), &completing(&shopper, mandate))
        };
        let nonce = json!({ "nonce": "another" });
        let with = |change: &dyn Fn(&mut Value)| {
            let mut checkout = looked.clone();
            change(&mut checkout);
            Some(market.mandate(&checkout, &json!({})))
        };
        for (code, mandate) in [
            ("mandate_required", None),
            ("mandate_invalid_signature", Some("a.b.c~d.e.f".to_owned())),
            ("agent_missing_key", Some(market.issued(&market.holder, &looked, 600, &json!({})))),
            ("mandate_expired", Some(market.issued(&market.platform, &looked, -600, &json!({})))),
            ("merchant_authorization_missing", with(&|checkout| checkout["ap2"] = json!({}))),
            ("merchant_authorization_invalid", with(&|checkout| checkout["totals"][0]["amount"] = json!(1))),
            ("mandate_scope_mismatch", Some(market.mandate(&looked, &nonce))),
            ("mandate_scope_mismatch", Some(market.mandate(&looked, &json!({ "aud": "https://other.example" })))),
        ] {
            let refused = signed(&shopper, complete(&super::shopper::new_key(), mandate.as_deref()).document());
            assert_eq!(said_at(&refused, "error"), [format!("{code} $.ap2.checkout_mandate")], "{refused}");
            assert!(refused.get("order").is_none() && refused["status"] == "incomplete", "{refused}");
        }
        let (key, mandate) = (super::shopper::new_key(), market.mandate(&looked, &json!({})));
        let completed = complete(&key, Some(&mandate));
        assert_eq!(signed(&shopper, completed.document())["status"], "completed", "{completed:?}");
        assert_eq!(complete(&key, Some(&mandate)).text(), completed.text(), "a retry gets the same bytes");
        let other = shopper.create(&ready(&[("bouquet_roses", 1)]));
        let replayed = shopper.call("complete_checkout", Some(id(&other)), &completing(&shopper, Some(&mandate)));
        assert_eq!(said_at(&replayed.document(), "error"), ["mandate_scope_mismatch $.ap2.checkout_mandate"]);
        let canceled = shopper.call("cancel_checkout", Some(id(&other)), &json!({}));
        assert_eq!(signed(&shopper, canceled.document())["status"], "canceled");
    }
    assert!(!market.shop.stderr().contains("eyJ"), "mandates are not logged");
}

#[test]
fn the_mandate_is_kept_with_the_order_and_shown_to_who_asks_for_it() {
    let market = Market::open();
    let orders = |arguments: &[&str]| {
        let output =
            crate::harness::binary().arg("orders").args(arguments).arg("--data-dir").arg(market.shop.data()).ends();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        if output.status.success() { Ok(text(output.stdout)) } else { Err(text(output.stderr)) }
    };
    for (release, transport) in [(Release::V2026_01_11, Transport::Method), (Release::NEWEST, Transport::Rest)] {
        let shopper = market.shopper(release, transport);
        let created = signed(&shopper, shopper.create(&ready(&[("bouquet_roses", 1)])));
        // One that is good, but comes with a card that is declined, and the one that the purchase is concluded with.
        let first = market.mandate(&created, &json!({}));
        let mut declined = shopper.paying("fail_token");
        declined["ap2"] = json!({ "checkout_mandate": first });
        shopper.call("complete_checkout", Some(id(&created)), &declined);
        let last = market.mandate(&created, &json!({ "nonce": created["ap2"]["merchant_authorization"] }));
        let payload = completing(&shopper, Some(&last));
        let completed = shopper.call("complete_checkout", Some(id(&created)), &payload);
        let order = completed.document()["order"]["id"].as_str().expect("an order").to_owned();
        assert!(!completed.text().contains(&last), "it is not answered");

        let shown: Value = serde_json::from_str(&orders(&["show", &order, "--json"]).expect("shown")).expect("JSON");
        let evidence = &shown["payment"]["mandate"];
        assert_eq!((&evidence["kept"], &evidence["key"]), (&json!(true), &market.platform.public().to_jwk().into()));
        let text = orders(&["show", &order]).expect("shown");
        assert!(text.contains("kept; `--mandate` writes it") && !text.contains(&last), "{text}");
        assert!(!shown.to_string().contains(&last), "{shown}");
        assert_eq!(orders(&["show", &order, "--mandate"]).expect("written"), format!("{last}\n"));
    }
    let plain = Shopper::rest(&market.shop);
    let bought = plain.complete(&plain.create(&ready(&[("bouquet_roses", 1)])), "success_token");
    let order = bought["order"]["id"].as_str().expect("an order");
    let refused = orders(&["show", order, "--mandate"]).expect_err("there is none");
    assert!(refused.contains(&format!("no mandate is kept for the order `{order}`")), "{refused}");
    assert!(!market.shop.stderr().contains("eyJ"), "mandates are not logged");
}

#[test]
fn what_was_not_negotiated_is_ignored() {
    let market = Market::open();
    for (release, transport) in ways() {
        let shopper = Shopper::new(&market.shop, release, transport);
        let created = shopper.create(&ready(&[("bouquet_roses", 1)]));
        assert!(created.get("ap2").is_none(), "{created}");
        let payload = completing(&shopper, Some("a.b.c~d.e.f"));
        let completed = shopper.call("complete_checkout", Some(id(&created)), &payload).document();
        assert_eq!(completed["status"], "completed", "{completed}");
        assert!(completed.get("ap2").is_none(), "{completed}");
    }
}

#[test]
fn a_mandate_is_bounded_in_size_and_a_text() {
    let market = Market::open();
    let shopper = market.shopper(Release::NEWEST, Transport::Rest);
    let created = shopper.create(&ready(&[("bouquet_roses", 1)]));
    for wrong in [json!(1), json!(["a.b.c~d.e.f"]), json!("a".repeat(600 * 1024))] {
        let mut payload = shopper.paying("success_token");
        payload["ap2"] = json!({ "checkout_mandate": wrong });
        let (code, text, body) = shopper.call("complete_checkout", Some(id(&created)), &payload).refusal();
        assert_eq!((code.as_str(), &body["path"]), ("invalid_request", &json!("$.ap2.checkout_mandate")), "{text}");
        assert!(text.len() < 300, "{text}");
    }
}
