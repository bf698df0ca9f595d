//! The handler of Stripe against the fake Stripe over real connections.

use std::{
    io::{Read as _, Write as _},
    net::TcpStream,
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use serde_json::json;
use ucp_core::{
    money::Amount,
    ports::payment_handler::Handler as _,
    purchase::{
        buyer::PostalAddress,
        payment::{Attempt, AuthenticationStep, Credential, Instrument, Refund, Settlement, Tender, TransferOutcome},
    },
};
use ucp_fake_psp::{FakeStripe, Fault, Options, Order};
use ucp_payment::{
    Endpoint, Stripe, sandbox,
    stripe::{self, Mode},
};

use crate::shop::{keys, tender as of_the_shop};

const RETURN: &str = "https://shop.example/continue/token";

fn start() -> FakeStripe {
    FakeStripe::start(Options::new(keys())).expect("Stripe")
}

pub(crate) fn options(url: &str) -> stripe::Options {
    let endpoint = Endpoint::parse(url, true).expect("an address");
    let api_key = keys().api_key.parse().expect("a secret");
    let options = stripe::Options::new(sandbox::declaration("psp"), endpoint, api_key, Arc::new(Timestamp::now));
    stripe::Options { request_timeout: Duration::from_millis(500), deadline: Duration::from_secs(4), ..options }
}

fn handler(stripe: &FakeStripe) -> Stripe {
    Stripe::new(options(&stripe.url())).expect("a handler")
}

/// A tender that the fake understands: a word, and orders to misbehave.
fn tender(words: &str) -> Tender {
    of_the_shop(&format!("pm_{}", words.replace('+', "ZP").replace(':', "ZC")))
}

fn attempt(id: &str, handler: &Stripe) -> Attempt {
    Attempt {
        id: id.into(),
        begun_at: Timestamp::now(),
        memo: handler.prepare(&tender("ok")).expect("a usable tender"),
        return_url: Some(RETURN.into()),
        page_url: None,
        ..crate::shop::attempt(id, "http://127.0.0.1:1")
    }
}

fn captured(settlement: &Settlement) -> bool {
    matches!(settlement, Settlement::Captured { reference } if reference.starts_with("pi_fake_"))
}

fn status(stripe: &FakeStripe, id: &str) -> String {
    stripe.psp().report().payments.get(id).map_or_else(|| "nothing".into(), |payment| payment.status.clone())
}

#[tokio::test]
async fn a_payment_is_created_confirmed_and_captured_once() {
    let stripe = start();
    let handler = handler(&stripe);
    let attempt = attempt("a", &handler);
    assert!(captured(&handler.pay(&attempt, &tender("ok")).await));
    assert!(captured(&handler.inquire(&attempt).await));
    assert!(!handler.forget(&attempt).await, "money that was taken is not forgotten");
    let payment = stripe.psp().report().payments["a"].clone();
    assert_eq!((payment.authorizations, payment.captures, payment.amount), (1, 1, 3_500));
    assert_eq!(payment.checkout_id, "chk_1");
    assert_eq!(stripe.psp().intents_of("a"), 1);
}

#[tokio::test]
async fn outcomes_of_stripe_become_settlements() {
    let stripe = start();
    let handler = handler(&stripe);
    for (word, reason) in [
        ("decline", "There is not enough money on the account."),
        ("missing", "The payment provider did not take the payment. Nothing was charged."),
        ("refuse_capture", "The payment was called off. Nothing was charged."),
    ] {
        let attempt = attempt(word, &handler);
        let settlement = handler.pay(&attempt, &tender(word)).await;
        assert_eq!(settlement, Settlement::Declined { reason: reason.into() }, "{word}");
        assert_eq!(stripe.psp().report().captures_of(word), 0, "{word}");
    }
    let pending = attempt("pending", &handler);
    assert_eq!(handler.pay(&pending, &tender("pending")).await, Settlement::Unknown);
    assert_eq!(handler.inquire(&pending).await, Settlement::Unknown, "it is being processed");
    assert!(captured(&handler.inquire(&pending).await));
}

/// Pays while the creation goes wrong. Nothing is known of the payment then: such an order is for whatever comes next, so
/// that it has a Stripe of its own.
async fn uncreated(id: String, order: String) -> Option<(String, Stripe, Attempt, Settlement)> {
    let stripe = start();
    stripe.psp().inject(order.parse::<Order>().expect("an order"));
    let handler = handler(&stripe);
    let settlement = handler.pay(&attempt(&id, &handler), &tender("ok")).await;
    let money = stripe.psp().report().captures_of(&id);
    assert_eq!(captured(&settlement), money == 1, "{id}: {settlement:?}");
    assert!(!matches!(settlement, Settlement::Unknown), "{id}: what was not confirmed is no doubt");
    None
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_at_every_step_charges_once_or_not_at_all() {
    let stripe = start();
    let mut running = Vec::new();
    for step in ["create", "authorize", "capture"] {
        for (fault, _) in Fault::ALL {
            for times in [1, 9] {
                // One of its own for each: a provider that fails this often is left alone for a while.
                let handler = handler(&stripe);
                let id = format!("{step}-{fault}-{times}");
                let attempt = attempt(&id, &handler);
                if step == "create" {
                    running.push(tokio::spawn(uncreated(id, format!("create:{fault}:{times}"))));
                    continue;
                }
                running.push(tokio::spawn(async move {
                    let settlement = handler.pay(&attempt, &tender(&format!("ok+{step}:{fault}:{times}"))).await;
                    Some((id, handler, attempt, settlement))
                }));
            }
        }
    }
    for running in running {
        let Some((id, handler, attempt, mut settlement)) = running.await.expect("no panic") else { continue };
        for _ in 0..20 {
            if captured(&settlement) || matches!(settlement, Settlement::Declined { .. } | Settlement::Unsent) {
                break;
            }
            settlement = handler.inquire(&attempt).await;
            if settlement == Settlement::Absent && handler.forget(&attempt).await {
                settlement = Settlement::Declined { reason: "It never arrived.".into() };
            }
        }
        let payment = stripe.psp().report().payments.get(&id).cloned();
        let money = payment.as_ref().map_or(0, |payment| payment.captures);
        match settlement {
            Settlement::Captured { .. } => assert_eq!(money, 1, "{id}: {payment:?}"),
            Settlement::Declined { .. } | Settlement::Unsent => assert_eq!(money, 0, "{id}: {payment:?}"),
            other => panic!("nobody knows how {id} ended: {other:?}, {payment:?}"),
        }
        assert!(stripe.psp().intents_of(&id) <= 1, "{id}");
    }
    // Late results are there by now.
    tokio::time::sleep(Duration::from_millis(400)).await;
    let report = stripe.psp().report();
    assert!(report.payments.values().all(|payment| payment.captures <= 1 && payment.authorizations <= 1), "{report:?}");
}

#[tokio::test]
async fn an_attempt_is_found_after_its_keys_are_forgotten() {
    let stripe = start();
    let young = handler(&stripe);
    let paid = attempt("paid", &young);
    let lost = attempt("lost", &young);
    let never = attempt("never", &young);
    for nth in 0..130 {
        // Other payments of the time: more than one list has.
        let other = attempt(&format!("other-{nth}"), &young);
        if nth == 5 {
            assert!(captured(&young.pay(&paid, &tender("ok")).await));
            let settlement = young.pay(&lost, &tender("ok+authorize:error_after:9")).await;
            assert_eq!(settlement, Settlement::Unknown);
        }
        assert_eq!(young.inquire(&other).await, Settlement::Absent);
    }
    stripe.psp().forget_keys();
    // A day later: the creation is not sent again, because Stripe would make another payment of it.
    let clock = || Timestamp::now() + jiff::SignedDuration::from_hours(25);
    let old = Stripe::new(stripe::Options { clock: Arc::new(clock), ..options(&stripe.url()) }).expect("a handler");
    assert!(captured(&old.inquire(&paid).await));
    assert!(captured(&old.inquire(&lost).await));
    assert_eq!(old.inquire(&never).await, Settlement::Absent);
    assert!(old.forget(&never).await);
    for (id, intents) in [("paid", 1), ("lost", 1), ("never", 0)] {
        assert_eq!(stripe.psp().intents_of(id), intents, "{id}");
    }
    assert_eq!(stripe.psp().report().captures_of("lost"), 1);
}

/// Response to a browser: status and target of the redirect.
fn browse(url: &str) -> (u16, String) {
    let rest = url.strip_prefix("http://").expect("http");
    let (host, path) = rest.split_once('/').expect("a path");
    let mut connection = TcpStream::connect(host).expect("it listens");
    write!(connection, "GET /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").expect("sent");
    connection.shutdown(std::net::Shutdown::Write).expect("shut");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    let location = answer.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_default();
    (status, location.to_owned())
}

#[tokio::test]
async fn buyers_authenticate_on_a_page_of_stripe() {
    let stripe = start();
    let handler = handler(&stripe);
    for (id, verdict) in [("passes", "pass"), ("fails", "fail"), ("leaves", "")] {
        let attempt = attempt(id, &handler);
        let Settlement::AwaitingBuyer { step: _, url, until } = handler.pay(&attempt, &tender("challenge")).await
        else {
            panic!("no challenge: {id}");
        };
        assert_eq!(until, attempt.begun_at + jiff::SignedDuration::from_mins(15));
        let step = AuthenticationStep::ThreeDsChallenge;
        let waiting = Settlement::AwaitingBuyer { step, url: url.clone(), until };
        assert_eq!(handler.inquire(&attempt).await, waiting, "it is the same page each time");
        assert_eq!(stripe.psp().report().captures_of(id), 0);
        let page = url.split('?').next().expect("a page");
        assert_eq!(browse(page).0, 200);
        if !verdict.is_empty() {
            let (status, location) = browse(&format!("{page}/{verdict}"));
            assert_eq!(status, 303);
            assert!(location.starts_with(&format!("{RETURN}?payment_intent=pi_")), "{location}");
        }
        match verdict {
            "pass" => {
                assert!(captured(&handler.inquire(&attempt).await));
                assert!(captured(&handler.inquire(&attempt).await));
            }
            "fail" => {
                let reason = "The bank could not confirm the buyer. Nothing was charged.".into();
                assert_eq!(handler.inquire(&attempt).await, Settlement::Declined { reason });
            }
            _ => {
                assert!(handler.forget(&attempt).await);
                assert_eq!(self::status(&stripe, id), "voided");
                assert!(matches!(handler.inquire(&attempt).await, Settlement::Declined { .. }));
            }
        }
    }
    assert_eq!(stripe.psp().report().captures_of("passes"), 1);
}

#[tokio::test]
async fn refunds_are_given_once_per_name() {
    let stripe = start();
    let handler = handler(&stripe);
    let attempt = attempt("a", &handler);
    let Settlement::Captured { reference } = handler.pay(&attempt, &tender("ok")).await else { panic!("not paid") };
    let refund = |id: &str, minor| Refund {
        id: id.into(),
        attempt_id: attempt.id.clone(),
        reference: reference.clone(),
        amount: Amount::new(minor).expect("an amount"),
        currency: attempt.currency,
    };
    let first = handler.refund(&refund("r1", 1_000)).await;
    assert!(matches!(first, TransferOutcome::Done { .. }), "{first:?}");
    assert_eq!(handler.refund(&refund("r1", 1_000)).await, first, "the same refund again");
    stripe.psp().forget_keys();
    assert_eq!(handler.refund(&refund("r1", 1_000)).await, first, "also when its key is forgotten");
    assert_eq!(stripe.psp().refunded("a"), 1_000);
    assert!(matches!(handler.refund(&refund("r2", 2_501)).await, TransferOutcome::Refused { .. }), "more than is left");
    assert!(matches!(handler.refund(&refund("r3", 2_500)).await, TransferOutcome::Done { .. }));
    let over = TransferOutcome::Refused { reason: "Stripe refused the refund: charge_already_refunded.".into() };
    assert_eq!(handler.refund(&refund("r4", 1)).await, over);
    assert_eq!(stripe.psp().refunded("a"), 3_500);
}

#[tokio::test]
async fn credentials_of_stripe_and_of_google_pay_are_taken_and_no_others() {
    let stripe = start();
    let handler = handler(&stripe);
    let with = |kind: &str, token: &str| {
        let members = json!({ "type": kind, "token": token });
        let credential = Credential::new(kind.into(), members.as_object().expect("members").clone());
        Tender { credential: Some(credential), ..tender("ok") }
    };
    let google = r#"{"id":"tok_okFromGoogle","object":"token","card":{"brand":"Visa"}}"#;
    for (nth, taken) in [
        with("token", "spt_ok1"),
        with("token", "pm_ok2"),
        with("token", "ctoken_ok3"),
        with("token", "tok_ok4"),
        with("PAYMENT_GATEWAY", google),
    ]
    .into_iter()
    .enumerate()
    {
        let attempt = attempt(&format!("a{nth}"), &handler);
        let billing_address = Some(PostalAddress { postal_code: Some("10115".into()), ..PostalAddress::default() });
        let instrument = Instrument { billing_address, ..taken.instrument.clone() };
        let taken = Tender { instrument, ..taken };
        assert!(handler.prepare(&taken).is_ok(), "{nth}");
        assert!(captured(&handler.pay(&attempt, &taken).await), "{nth}");
    }
    assert!(stripe.psp().saw("okFromGoogle"));
    for refused in
        ["visa", "pm_", "pm_a/../b", "seti_1", "{\"id\":7}", "{\"token\":\"tok_1\"}", "pm_ä", "", &"x".repeat(300)]
    {
        if refused == "pm_" {
            continue;
        }
        let message = handler.prepare(&with("token", refused)).expect_err(refused);
        assert_eq!(message.path(), Some("$.payment.instruments[0].credential.token"), "{refused}");
    }
}

#[tokio::test]
async fn keys_of_the_other_mode_are_not_asked_after_a_payment() {
    let stripe = start();
    let live = stripe::Options { api_key: "sk_live_x".parse().expect("a secret"), ..options(&stripe.url()) };
    let live = Stripe::new(live).expect("a handler");
    let attempt = attempt("a", &handler(&stripe));
    assert_eq!(live.inquire(&attempt).await, Settlement::Unknown);
    assert!(!live.forget(&attempt).await);
    assert!(matches!(live.pay(&attempt, &tender("ok")).await, Settlement::Declined { .. }));
    assert_eq!(stripe.psp().intents_of("a"), 0);
    for (key, mode) in [
        ("sk_test_1", Some(Mode::Test)),
        ("rk_live_1", Some(Mode::Live)),
        ("pk_test_1", Some(Mode::Test)),
        ("whsec_1", None),
        ("sk_other_1", None),
        ("sk_live", None),
    ] {
        assert_eq!(Mode::of(key), mode, "{key}");
    }
}
