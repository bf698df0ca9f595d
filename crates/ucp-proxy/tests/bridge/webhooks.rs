//! What the shop tells about orders.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};
use ucp_core::{Code, Refusal, Release, operation::Offering};
use ucp_proxy::bridge::{
    Bridge,
    owners::{Kind, Owner},
    profile::Transport,
    webhook::Notice,
};
use ucp_trust::signature::{RequestLine, Scheme, SigningKey, sign_request};

use crate::stub::{Stub, key, now, opened, options};

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

async fn told(bridge: &Bridge, headers: &HeaderMap, body: &Value) -> Result<Notice, Refusal> {
    bridge.told(line(), headers, &Bytes::from(body.to_string())).await
}

#[tokio::test]
async fn notices_are_believed_when_the_shop_signed_them_and_somebody_bought() {
    let (shop, public) = key();
    let stub = Stub::offering(RELEASE, &Offering::everything(), &[public]).await;
    let options = options(&stub, Transport::Rest);
    let owner = Owner { platform: "https://agent.example/profile".into(), release: Release::V2026_01_23 };
    options.owners.claim(Kind::Checkout, "k1", &owner).await.expect("claimed");
    let bridge = opened(options.clone()).await.expect("a bridge");
    let now: SystemTime = now().into();
    let order = json!({ "ucp": {}, "id": "o1", "checkout_id": "k1", "line_items": [], "unknown": 1,
        "totals": [{ "type": "discount", "amount": -5 }] });
    let bytes = order.to_string();
    let id = "5f0d5f3a-9d2c-4e69-8f0b-0a4a0f1c2d3e";

    let notice = told(&bridge, &headers(&shop, bytes.as_bytes(), id, now), &order).await.expect("a notice");
    assert_eq!((notice.id.as_str(), notice.order.as_str(), &notice.owner), (id, "o1", &owner));
    assert_eq!(
        (&notice.body["unknown"], &notice.body["totals"][0]["amount"]),
        (&json!(1), &json!(5)),
        "in the owner's release"
    );
    // From now on the order alone says whose it is.
    let later = json!({ "id": "o1", "status": "shipped" });
    let signed = headers(&shop, later.to_string().as_bytes(), id, now);
    assert_eq!(told(&bridge, &signed, &later).await.expect("a notice").owner, owner);

    let refused = |result: Result<Notice, Refusal>| result.expect_err("refused").code;
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
    assert_eq!(options.owners.owner(Kind::Order, "o2").await.expect("read"), None);
}
