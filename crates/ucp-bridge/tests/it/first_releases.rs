//! Shops of the first two versions: signatures of bodies, fields that only their version requires, and profiles as
//! their sample servers publish them.

use std::sync::Arc;

use serde_json::{Value, json};
use ucp_bridge::profile::Transport;
use ucp_core::{
    Operation, Release,
    ports::{ForwardedCall, owners::Kind},
};
use ucp_trust::{jwk::read_set, signature::detached::Detached};

use super::stub::{Act, Stub, ask, call, key, opened, options, own, ucp};

const FIRST: Release = Release::V2026_01_11;
const SECOND: Release = Release::V2026_01_23;

fn checkout(release: Release) -> Value {
    let capabilities = json!([{ "name": "dev.ucp.shopping.checkout", "version": release.date() }]);
    let envelope = if release == FIRST {
        json!({ "version": release.date(), "capabilities": capabilities })
    } else {
        ucp(release)
    };
    json!({
        "ucp": envelope, "id": "k1", "status": "incomplete", "line_items": [], "currency": "EUR", "totals": [], "links": [],
        "payment": { "handlers": [] },
    })
}

#[tokio::test(start_paused = true)]
async fn every_request_to_the_first_releases_is_signed_as_they_require() {
    for release in Release::ALL.iter().copied() {
        for transport in [Transport::Rest, Transport::Mcp] {
            let stub = Stub::of(release).await;
            let mut options = options(&stub, transport);
            let (signing, public) = key();
            options.key = Arc::new(move || Some(Arc::clone(&signing)));
            own(&options, Kind::Checkout, "k1").await;
            let bridge = opened(options).await.expect("a bridge");
            stub.usually(|_| Act::json(500, &json!({})));
            for (operation, id) in [(Operation::CreateCheckout, None), (Operation::GetCheckout, Some("k1"))] {
                ask(&bridge, call(operation, id, json!({ "line_items": [] }))).await.expect_err("it fails");
            }
            let keys = read_set(&json!([public]), &mut Vec::new());
            assert!(!stub.got().is_empty());
            for got in stub.got() {
                let body = if got.body.is_null() { String::new() } else { got.body.to_string() };
                match Detached::read(&got.headers).expect("readable") {
                    Some(signature) if release <= SECOND => {
                        signature.verify(body.as_bytes(), &keys).expect("a signature");
                    }
                    None if release > SECOND => {}
                    other => panic!("{release} over {transport:?}: {other:?}"),
                }
            }
        }
    }
}

#[tokio::test(start_paused = true)]
async fn what_only_their_release_requires_is_added() {
    for (release, caller) in
        [FIRST, SECOND].into_iter().flat_map(|shop| Release::ALL.iter().map(move |caller| (shop, *caller)))
    {
        let stub = Stub::of(release).await;
        let options = options(&stub, Transport::Rest);
        own(&options, Kind::Checkout, "k1").await;
        let bridge = opened(options).await.expect("a bridge");
        stub.usually(move |_| Act::json(201, &checkout(release)));
        let asked = |operation, id, payload| ForwardedCall { release: caller, ..call(operation, id, payload) };
        let lines =
            json!({ "line_items": [{ "item": { "id": "v" }, "quantity": 1 }], "context": { "currency": "CHF" } });
        let created = ask(&bridge, asked(Operation::CreateCheckout, None, lines.clone())).await.expect("a checkout");
        assert_eq!(created.status, 201);
        let create = stub.got().remove(0).body;
        assert_eq!(create["currency"], "CHF", "{release} from {caller}: {create}");
        let first = release == FIRST;
        assert_eq!(
            (create["payment"].is_object(), create["line_items"][0]["item"]["title"].is_string()),
            (first, first)
        );
        // A checkout that exists keeps its currency.
        let updated = ask(&bridge, asked(Operation::UpdateCheckout, Some("k1"), lines)).await.expect("a checkout");
        assert_eq!(updated.status, 200, "nothing is created");
        let got = stub.got();
        assert_eq!((got[1].method.as_str(), &got[2].body["currency"]), ("GET", &json!("EUR")));
        let instrument =
            json!({ "id": "pi", "handler_id": "h", "type": "card", "credential": { "type": "token", "token": "t" } });
        let paying = json!({ "payment": { "instruments": [instrument] } });
        ask(&bridge, asked(Operation::CompleteCheckout, Some("k1"), paying)).await.expect("a checkout");
        let complete = stub.got().pop().expect("a request").body;
        assert_eq!(complete["payment_data"]["id"] == "pi", first, "{complete}");
        assert_eq!(complete["payment"]["instruments"][0]["id"] == "pi", !first, "{complete}");
        assert!(complete["risk_signals"].is_object(), "{complete}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_profile_whose_members_are_at_its_root_is_read() {
    let stub = Stub::of(SECOND).await;
    let mut flat = stub.shown()["ucp"].clone();
    flat["signing_keys"] = json!([key().1]);
    stub.profile(flat);
    let bridge = opened(options(&stub, Transport::Rest)).await.expect("a bridge");
    assert_eq!(bridge.release(), SECOND);
    stub.usually(|_| Act::json(201, &checkout(SECOND)));
    ask(&bridge, call(Operation::CreateCheckout, None, json!({ "line_items": [] }))).await.expect("a checkout");
    // Anything else without `ucp` is no profile.
    stub.profile(json!({ "version": "2026-01-23" }));
    let error = opened(options(&stub, Transport::Rest)).await.expect_err("no profile").to_string();
    assert!(error.contains("cannot be read"), "{error}");
}
