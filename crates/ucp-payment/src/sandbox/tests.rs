use std::sync::{
    Arc,
    atomic::{AtomicI64, Ordering},
};

use jiff::Timestamp;
use serde_json::json;
use ucp_core::{
    message::Severity,
    money::{Amount, Currency},
    purchase::payment::{Credential, Instrument},
};

use super::*;

const NOW: i64 = 1_800_000_000;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time")
}

fn sandbox_at(clock: &Arc<AtomicI64>) -> Sandbox {
    let clock = Arc::clone(clock);
    Sandbox::new(declaration("sandbox"), Arc::new(move || at(clock.load(Ordering::SeqCst))), SLOW)
}

fn sandbox() -> Sandbox {
    sandbox_at(&Arc::new(AtomicI64::new(NOW)))
}

fn tender(credential: Option<Value>) -> Tender {
    let credential = credential.map(|credential| {
        let kind = credential["type"].as_str().expect("a type").to_owned();
        Credential::new(kind, credential.as_object().expect("members").clone())
    });
    let instrument = Instrument {
        id: "pi_1".into(),
        handler_id: "sandbox".into(),
        kind: "card".into(),
        selected: Some(true),
        billing_address: None,
        display: None,
    };
    Tender { instrument, credential }
}

fn token(token: &str) -> Tender {
    tender(Some(json!({ "type": "token", "token": token })))
}

fn attempt(memo: Value) -> Attempt {
    Attempt {
        id: "att_1".into(),
        handler_id: "sandbox".into(),
        checkout_id: "chk_1".into(),
        amount: Amount::new(3_500).expect("an amount"),
        currency: Currency::USD,
        begun_at: at(NOW),
        memo,
        at_shop: false,
        return_url: None,
        page_url: None,
        challenge: None,
    }
}

fn word(settlement: &Settlement) -> &'static str {
    match settlement {
        Settlement::Captured { reference } => {
            assert_eq!(reference, "sandbox_att_1");
            "captured"
        }
        Settlement::Authorized { .. } => "authorized",
        Settlement::Declined { .. } => "declined",
        Settlement::Unsent => "unsent",
        Settlement::Challenged { .. } => "challenged",
        Settlement::AwaitingBuyer { .. } => "awaiting",
        Settlement::Unknown => "unknown",
        Settlement::Absent => "absent",
    }
}

#[tokio::test]
async fn tokens_do_what_they_say_and_so_does_the_next_process() {
    for (name, paid, asked, asked_later, forgotten) in [
        ("success_token", "captured", "captured", "captured", false),
        ("fail_token", "declined", "declined", "declined", true),
        ("challenge_token", "challenged", "challenged", "challenged", true),
        ("challenge_passed_token", "captured", "captured", "captured", false),
        ("timeout_token", "unknown", "absent", "absent", true),
        ("unknown_token", "unknown", "captured", "captured", false),
        ("slow_token", "unknown", "unknown", "captured", false),
        ("tok_4242424242424242", "declined", "declined", "declined", true),
    ] {
        let clock = Arc::new(AtomicI64::new(NOW));
        let tender = token(name);
        let memo = sandbox_at(&clock).prepare(&tender).expect("can pay");
        assert!(!memo.to_string().contains(name), "the memo holds the token: {memo}");
        let attempt = attempt(memo);
        assert_eq!(word(&sandbox_at(&clock).pay(&attempt, &tender).await), paid, "{name} paid");
        assert_eq!(word(&sandbox_at(&clock).inquire(&attempt).await), asked, "{name} asked");
        clock.store(NOW + 10, Ordering::SeqCst);
        assert_eq!(word(&sandbox_at(&clock).inquire(&attempt).await), asked_later, "{name} asked later");
        assert_eq!(sandbox_at(&clock).forget(&attempt).await, forgotten, "{name} forgotten");
        assert_eq!(word(&sandbox_at(&clock).inquire(&attempt).await), asked_later, "{name} asked at last");
    }
}

#[tokio::test]
async fn a_memo_of_something_else_leaves_the_end_unknown() {
    for memo in [json!(null), json!({ "scenario": "wishful" }), json!({ "endpoint": "https://psp.example/" })] {
        let attempt = attempt(memo);
        assert_eq!(sandbox().inquire(&attempt).await, Settlement::Unknown);
        assert!(!sandbox().forget(&attempt).await);
    }
}

#[test]
fn what_cannot_pay_is_refused_with_its_path() {
    let of = |members: Value| tender(Some(members));
    let mut foreign = token("success_token");
    foreign.instrument.handler_id = "elsewhere".into();
    let mut wallet = token("success_token");
    wallet.instrument.kind = "wallet".into();
    for (tender, path) in [
        (foreign, ".handler_id"),
        (wallet, ".type"),
        (tender(None), ".credential"),
        (of(json!({ "type": "card", "card_number_type": "fpan", "number": "4242424242424242" })), ".credential"),
        (of(json!({ "type": "CARD", "token": "success_token" })), ".credential"),
        (of(json!({ "type": "pan", "number": "4242424242424242" })), ".credential"),
        (of(json!({ "type": "token", "token": "success_token", "number": "4242424242424242" })), ".credential"),
        (of(json!({ "type": "token" })), ".credential.token"),
        (of(json!({ "type": "token", "token": "" })), ".credential.token"),
        (of(json!({ "type": "token", "token": 4_242_424_242_424_242_u64 })), ".credential.token"),
        (of(json!({ "type": "token", "token": "x".repeat(20_000) })), ".credential.token"),
        (of(json!({ "type": "token", "token": "success_token", "expires_at": at(NOW) })), ".credential.expires_at"),
        (of(json!({ "type": "token", "token": "success_token", "expires_at": "soon" })), ".credential.expires_at"),
        (of(json!({ "type": "token", "token": "success_token", "expires_at": 7 })), ".credential.expires_at"),
    ] {
        let Err(Message::Error { code, content, severity, path: found, .. }) = sandbox().prepare(&tender) else {
            panic!("{path} was taken");
        };
        assert_eq!(found.as_deref(), Some(format!("$.payment.instruments[0]{path}").as_str()), "{content}");
        assert_eq!((code.as_str(), severity), ("payment_failed", Severity::Recoverable));
        assert!(!content.contains("4242") && !content.contains("success_token"), "{content}");
    }
    let fresh = json!({ "type": "token", "token": "success_token", "expires_at": at(NOW + 1) });
    assert!(sandbox().prepare(&of(fresh)).is_ok());
    let network = json!({ "type": "network_token", "number": "4895370012003478", "token": "success_token" });
    assert!(sandbox().prepare(&of(network)).is_ok());
}

#[test]
fn the_declaration_says_what_can_be_tried() {
    let declared = declaration("mock_payment_handler");
    assert_eq!(declared.id, "mock_payment_handler");
    let tokens = declared.config["supported_tokens"].as_array().expect("tokens");
    assert_eq!(tokens.len(), 9);
    for token in tokens {
        assert_ne!(Scenario::of(token.as_str().expect("a token")), Scenario::NoSuchToken);
    }
}
