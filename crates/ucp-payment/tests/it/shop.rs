//! A shop that pays at the fake provider.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::json;
use ucp_core::{
    money::{Amount, Currency},
    purchase::payment::{Attempt, Credential, Declaration, Instrument, Tender},
};
use ucp_fake_psp::{FakePsp, Keys, Options};
use ucp_payment::{
    processor::{self, Endpoint},
    sandbox,
};

pub(crate) fn keys() -> Keys {
    Keys { api_key: "canary-api-key".into(), signing_secret: "canary-signing-secret".into() }
}

pub(crate) fn fake() -> FakePsp {
    FakePsp::start(Options::new(keys())).expect("a provider")
}

pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

pub(crate) fn options(endpoint: &str) -> processor::Options {
    processor::Options::new(
        Declaration { id: "psp".into(), ..sandbox::declaration("psp") },
        Endpoint::parse(endpoint, true).expect("an address"),
        keys().api_key.parse().expect("a secret"),
        "shop-1".into(),
        keys().signing_secret.parse().expect("a secret"),
        Arc::new(now),
    )
}

pub(crate) fn tender(token: &str) -> Tender {
    let members = json!({ "type": "token", "token": token });
    let instrument = Instrument {
        id: "pi_1".into(),
        handler_id: "psp".into(),
        kind: "card".into(),
        selected: Some(true),
        billing_address: None,
        display: None,
    };
    let credential = Credential::new("token".into(), members.as_object().expect("members").clone());
    Tender { instrument, credential: Some(credential) }
}

pub(crate) fn attempt(id: &str, endpoint: &str) -> Attempt {
    let endpoint = Endpoint::parse(endpoint, true).expect("an address");
    Attempt {
        id: id.into(),
        handler_id: "psp".into(),
        checkout_id: "chk_1".into(),
        amount: Amount::new(3_500).expect("an amount"),
        currency: Currency::USD,
        begun_at: now(),
        memo: json!({ "endpoint": endpoint.as_str() }),
        at_shop: false,
        return_url: None,
        page_url: None,
        challenge: None,
    }
}
