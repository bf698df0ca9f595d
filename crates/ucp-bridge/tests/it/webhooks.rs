//! Order webhooks of the shop.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use ucp_bridge::{Bridge, profile::Transport, webhook::ShopWebhook};
use ucp_core::{
    Code, Refusal, Release,
    operation::SupportedOperations,
    ports::owners::{Kind, Owner},
};
use ucp_testkit::{log::Log, wait};
use ucp_trust::signature::{
    RequestLine, Scheme, SigningKey,
    detached::{REQUEST_SIGNATURE, sign_detached},
    sign_request,
};

use super::stub::{Ahead, Stub, key, now, opened, options};

const RELEASE: Release = Release::V2026_08_25;

fn line() -> RequestLine<'static> {
    RequestLine {
        method: "POST",
        scheme: Scheme::Https,
        authority: "gateway.example",
        path: "/upstream/orders",
        query: None,
    }
}

fn headers(key: &SigningKey, body: &[u8], id: &str, at: SystemTime) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let seconds = at.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs();
    for (name, value) in [
        ("content-type", "application/json".to_owned()),
        ("ucp-agent", "profile=\"https://shop.example/.well-known/ucp\"".to_owned()),
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", seconds.to_string()),
    ] {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_str(&value).expect("a value"));
    }
    let covered = [HeaderName::from_static("webhook-id"), HeaderName::from_static("webhook-timestamp")];
    sign_request(line(), &mut headers, body, &covered, key, at).expect("signed");
    headers
}

async fn told(bridge: &Bridge, headers: &HeaderMap, body: &Value) -> Result<ShopWebhook, Refusal> {
    let body = Bytes::from(body.to_string());
    let proven = bridge.verify(bridge.heard(headers)?, line(), headers, &body).await?;
    bridge.told(proven, &body).await
}

#[tokio::test(start_paused = true)]
async fn notices_are_believed_when_the_shop_signed_them_and_somebody_bought() {
    let (shop, public) = key();
    let stub = Stub::offering(RELEASE, &SupportedOperations::everything(), &[public]).await;
    let options = options(&stub, Transport::Rest);
    let owner =
        Owner { platform: "https://agent.example/profile".into(), release: Release::V2026_01_23, mandates: false };
    options.owners.claim(Kind::Checkout, "k1", &owner, super::stub::now()).await.expect("claimed");
    let bridge = opened(options.clone()).await.expect("a bridge");
    let now: SystemTime = now().into();
    let order = json!({ "ucp": {}, "id": "o1", "checkout_id": "k1", "line_items": [], "unknown": 1,
        "totals": [{ "type": "discount", "amount": -5 }] });
    let bytes = order.to_string();
    let id = "5f0d5f3a-9d2c-4e69-8f0b-0a4a0f1c2d3e";

    let webhook_event = told(&bridge, &headers(&shop, bytes.as_bytes(), id, now), &order).await.expect("a notice");
    assert_eq!((webhook_event.id.as_str(), webhook_event.order.as_str(), &webhook_event.owner), (id, "o1", &owner));
    assert_eq!(
        (&webhook_event.body["unknown"], &webhook_event.body["totals"][0]["amount"]),
        (&json!(1), &json!(5)),
        "in the owner's release"
    );
    // From now on the order alone says whose it is.
    let later = json!({ "id": "o1", "status": "shipped" });
    let signed = headers(&shop, later.to_string().as_bytes(), id, now);
    assert_eq!(told(&bridge, &signed, &later).await.expect("a notice").owner, owner);

    let refused = |result: Result<ShopWebhook, Refusal>| result.expect_err("refused").code;
    let (stranger, _) = key();
    let forged = headers(&stranger, bytes.as_bytes(), id, now);
    assert_eq!(refused(told(&bridge, &forged, &order).await), Code::KeyNotFound);
    let mut altered = order.clone();
    altered["totals"][0]["amount"] = json!(-50);
    let of_another = headers(&shop, bytes.as_bytes(), id, now);
    assert_eq!(refused(told(&bridge, &of_another, &altered).await), Code::DigestMismatch);
    assert_eq!(refused(told(&bridge, &HeaderMap::new(), &order).await), Code::SignatureMissing);
    let old = headers(&shop, bytes.as_bytes(), id, now - Duration::from_secs(600));
    assert_eq!(refused(told(&bridge, &old, &order).await), Code::InvalidRequest);
    let nobodys = json!({ "id": "o2", "checkout_id": "k2" });
    let signed = headers(&shop, nobodys.to_string().as_bytes(), id, now);
    assert_eq!(refused(told(&bridge, &signed, &nobodys).await), Code::InvalidRequest);
    assert_eq!(options.owners.owned(Kind::Order, "o2").await.expect("read"), None);
}

/// A shop with an order, and a bridge to it.
async fn selling(keys: &[Value], ahead: &Ahead) -> (Stub, Bridge) {
    let stub = Stub::offering(RELEASE, &SupportedOperations::everything(), keys).await;
    let options = options(&stub, Transport::Rest);
    let owner = Owner { platform: "https://agent.example/profile".into(), release: RELEASE, mandates: false };
    options.owners.claim(Kind::Order, "o1", &owner, super::stub::now()).await.expect("claimed");
    let bridge = ahead.opened(options).await;
    (stub, bridge)
}

#[tokio::test(start_paused = true)]
async fn a_new_key_of_the_shop_is_fetched_once_and_not_for_every_stranger() {
    let ((first, old), (second, new), (stranger, _)) = (key(), key(), key());
    let ahead = Ahead::default();
    let (stub, bridge) = selling(std::slice::from_ref(&old), &ahead).await;
    let order = json!({ "id": "o1" });
    let bytes = order.to_string();
    let at: SystemTime = now().into();
    let webhook_event = |key: &SigningKey| headers(key, bytes.as_bytes(), "5f0d5f3a-9d2c-4e69-8f0b-0a4a0f1c2d3e", at);
    let refused = |result: Result<ShopWebhook, Refusal>| result.expect_err("refused").code;
    told(&bridge, &webhook_event(&first), &order).await.expect("a notice");
    assert_eq!(stub.profile_fetches(), 1);
    // It signs with another key from one moment to the next.
    let mut profile = stub.shown();
    (profile["keys"], profile["signing_keys"]) = (json!([new]), json!([new]));
    stub.profile(profile.clone());
    let renewed = webhook_event(&second);
    let many = (0..10).map(|_| told(&bridge, &renewed, &order));
    for answer in wait::all(many).await {
        answer.expect("a notice");
    }
    assert_eq!(stub.profile_fetches(), 2, "once for all who wait for it");
    assert_eq!(refused(told(&bridge, &webhook_event(&first), &order).await), Code::KeyNotFound, "the old one is gone");
    // Invented keys cause no more than that.
    for _ in 0..10 {
        assert_eq!(refused(told(&bridge, &webhook_event(&stranger), &order).await), Code::KeyNotFound);
    }
    assert_eq!(stub.profile_fetches(), 2);
    // A while later it is looked again, and again once.
    (profile["keys"], profile["signing_keys"]) = (json!([old]), json!([old]));
    stub.profile(profile);
    ahead.by(Duration::from_secs(61));
    told(&bridge, &webhook_event(&first), &order).await.expect("a notice");
    assert_eq!(refused(told(&bridge, &webhook_event(&stranger), &order).await), Code::KeyNotFound);
    assert_eq!(stub.profile_fetches(), 3);
}

#[tokio::test(start_paused = true)]
async fn what_is_told_twice_has_the_same_name_and_strangers_cannot_give_it_another() {
    let (shop, public) = key();
    let (_, bridge) = selling(&[public], &Ahead::default()).await;
    let order = json!({ "id": "o1", "status": "shipped" });
    let bytes = order.to_string();
    let now: SystemTime = now().into();
    let name = async |headers: &HeaderMap| told(&bridge, headers, &order).await.expect("a notice").id;
    let (one, other) = ("5f0d5f3a-9d2c-4e69-8f0b-0a4a0f1c2d3e", "5f0d5f3a-9d2c-4e69-8f0b-0a4a0f1c2d3f");
    assert_eq!(name(&headers(&shop, bytes.as_bytes(), one, now)).await, one);
    assert_eq!(
        name(&headers(&shop, bytes.as_bytes(), "evt_1", now)).await,
        name(&headers(&shop, bytes.as_bytes(), "evt_1", now)).await
    );
    // The name and the time are not signed by every shop: then they prove nothing.
    let unsigned = |id: &str, at: SystemTime| {
        let mut headers = HeaderMap::new();
        for (name, value) in [("content-type", "application/json"), ("ucp-agent", "profile=\"https://shop.example/\"")]
        {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        sign_request(line(), &mut headers, bytes.as_bytes(), &[], &shop, now).expect("signed");
        let seconds = at.duration_since(SystemTime::UNIX_EPOCH).expect("after 1970").as_secs().to_string();
        for (name, value) in [("webhook-id", id), ("webhook-timestamp", &seconds)] {
            headers.insert(HeaderName::from_static(name), HeaderValue::from_str(value).expect("a value"));
        }
        headers
    };
    let first = name(&unsigned(one, now)).await;
    assert_ne!(first, one);
    assert_eq!(name(&unsigned(other, now + Duration::from_secs(10))).await, first, "told once more under another name");
    let moved = headers(&shop, bytes.as_bytes(), one, now);
    let mut renamed = moved.clone();
    renamed.insert("webhook-id", HeaderValue::from_static("5f0d5f3a-9d2c-4e69-8f0b-0a4a0f1c2d3f"));
    assert_eq!(told(&bridge, &renamed, &order).await.expect_err("refused").code, Code::SignatureInvalid);
}

#[tokio::test(start_paused = true)]
async fn shops_of_the_first_releases_sign_the_body_alone() {
    let ((shop, public), (stranger, _)) = (key(), key());
    for release in Release::ALL.iter().copied() {
        let stub = Stub::offering(release, &SupportedOperations::everything(), std::slice::from_ref(&public)).await;
        let options = options(&stub, Transport::Rest);
        let owner = Owner { platform: "https://agent.example/profile".into(), release: RELEASE, mandates: false };
        options.owners.claim(Kind::Order, "o1", &owner, now()).await.expect("claimed");
        let bridge = opened(options).await.expect("a bridge");
        let order =
            json!({ "id": "o1", "checkout_id": "k1", "event_id": "evt_1", "created_time": "2020-01-01T00:00:00Z" });
        let signed = |key: &SigningKey, body: &Value| {
            let signature = sign_detached(body.to_string().as_bytes(), key).expect("signed");
            HeaderMap::from_iter([(REQUEST_SIGNATURE, HeaderValue::from_str(&signature).expect("a value"))])
        };
        let sound = told(&bridge, &signed(&shop, &order), &order).await;
        if release > Release::V2026_01_23 {
            assert_eq!(sound.expect_err("later releases sign the message").code, Code::SignatureMissing);
            continue;
        }
        let webhook_event = sound.expect("a notice");
        assert_eq!((webhook_event.order.as_str(), &webhook_event.owner), ("o1", &owner));
        assert_eq!(webhook_event.body.keys().collect::<Vec<_>>(), ["id", "checkout_id"], "without those of the event");
        let again = told(&bridge, &signed(&shop, &order), &order).await.expect("a notice");
        assert_eq!(again.id, webhook_event.id, "told once more");
        let mut next = order.clone();
        next["event_id"] = json!("evt_2");
        assert_ne!(told(&bridge, &signed(&shop, &next), &next).await.expect("a notice").id, webhook_event.id);
        // Neither a stranger nor another body.
        let refused = |result: Result<ShopWebhook, Refusal>| result.expect_err("refused").code;
        assert_eq!(refused(told(&bridge, &signed(&stranger, &order), &order).await), Code::KeyNotFound);
        assert_eq!(refused(told(&bridge, &signed(&shop, &order), &next).await), Code::SignatureInvalid);
        // Nor an order that would not be an answer.
        let mut faulty = order.clone();
        faulty["currency"] = json!("QQQ");
        let (log, _guard) = Log::of_this_thread();
        let refused = told(&bridge, &signed(&shop, &faulty), &faulty).await.expect_err("faulty");
        assert!(log.text().contains("invalid upstream event") && log.text().contains("$.currency"));
        assert_eq!((refused.code, refused.path.as_deref()), (Code::InvalidRequest, Some("$.currency")));
    }
}
