//! The processor against the fake provider over real connections.

use std::{sync::Arc, time::Duration};

use ucp_core::{
    ports::payment_handler::Handler as _,
    purchase::payment::{Attempt, Settlement},
};
use ucp_fake_psp::{FakePsp, Options};
use ucp_payment::{
    Processor,
    processor::{self, Certificate, SetupError},
};
use ucp_testkit::{Host, PATIENCE, until, within};

use crate::shop::{self, attempt, fake, options, tender};

fn captured(attempt: &Attempt) -> Settlement {
    Settlement::Captured { reference: format!("psp_{}", attempt.id) }
}

fn impatient(endpoint: &str) -> Processor {
    let options = options(endpoint);
    Processor::new(processor::Options { request_timeout: Duration::from_millis(1500), ..options }).expect("a processor")
}

#[tokio::test]
async fn faults_of_the_network_are_overcome_or_left_unknown() {
    let psp = fake();
    for (step, arrived) in [("authorize", false), ("capture", true)] {
        for fault in ["hang_before", "reset_before", "reset_after", "truncated", "oversized", "garbage", "slow", "late"]
        {
            // One of its own for each fault: a provider that fails this often is left alone for a while.
            let handler = impatient(&psp.url());
            let once = attempt(&format!("once-{step}-{fault}"), &psp.url());
            let paid = handler.pay(&once, &tender(&format!("ok+{step}:{fault}"))).await;
            assert_eq!(paid, captured(&once), "{step}:{fault}");
        }
        for fault in ["reset_before", "reset_after", "truncated", "oversized", "redirect", "not_found_page"] {
            let handler = impatient(&psp.url());
            let always = attempt(&format!("always-{step}-{fault}"), &psp.url());
            let paid = handler.pay(&always, &tender(&format!("ok+{step}:{fault}:3"))).await;
            assert_eq!(paid, Settlement::Unknown, "{step}:{fault}");
            let acts = ["reset_after", "truncated", "oversized"].contains(&fault);
            let expected = if arrived || acts { captured(&always) } else { Settlement::Absent };
            assert_eq!(handler.inquire(&always).await, expected, "{step}:{fault}");
            assert_eq!(handler.forget(&always).await, expected == Settlement::Absent, "{step}:{fault}");
        }
    }
    let report = psp.psp().report();
    assert!(report.payments.values().all(|payment| payment.captures <= 1 && payment.authorizations <= 1), "{report:?}");
}

#[tokio::test]
async fn a_port_where_nobody_listens_was_not_asked_to_pay() {
    let url = format!("http://{}", Host::nobody());
    let attempt = attempt("a", &url);
    assert_eq!(impatient(&url).pay(&attempt, &tender("ok")).await, Settlement::Unsent);
    assert_eq!(impatient(&url).inquire(&attempt).await, Settlement::Unknown);
}

#[tokio::test]
async fn a_provider_that_answers_nothing_is_left_alone_and_nothing_is_charged() {
    // Not even the gateway's own question is answered.
    let host = Host::start(async |mut peer| peer.request().await.map(drop)).await;
    let url = host.url("");
    let handler = impatient(&url);
    until("the provider to be left alone", PATIENCE, async || {
        let nth = host.connections();
        let paid = handler.pay(&attempt(&format!("always-{nth}"), &url), &tender("ok")).await;
        assert!(matches!(paid, Settlement::Unknown | Settlement::Unsent), "{paid:?}");
        (paid != Settlement::Unknown).then_some(())
    })
    .await;
    let asked = host.connections();
    let paid = handler.pay(&attempt("left-alone", &url), &tender("ok")).await;
    assert_eq!(paid, Settlement::Unsent);
    assert_eq!(host.connections(), asked, "it was not asked");
}

#[tokio::test]
async fn tokens_that_break_a_provider_keep_nobody_else_from_paying() {
    let psp = fake();
    let handler = impatient(&psp.url());
    for nth in 0..30 {
        let broken = attempt(&format!("broken-{nth}"), &psp.url());
        assert_eq!(handler.pay(&broken, &tender("ok+authorize:reset_before:3")).await, Settlement::Unknown, "{nth}");
    }
    let other = attempt("other", &psp.url());
    assert_eq!(handler.pay(&other, &tender("ok")).await, captured(&other));
}

#[tokio::test]
async fn what_ends_a_connection_without_http_leaves_the_end_unknown() {
    let url = Host::start(async |_| Ok(())).await.url("");
    assert_eq!(impatient(&url).pay(&attempt("a", &url), &tender("ok")).await, Settlement::Unknown);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_at_once_pay_once() {
    let psp = fake();
    let handler = Arc::new(impatient(&psp.url()));
    for round in 0..8 {
        let attempt = Arc::new(attempt(&format!("a{round}"), &psp.url()));
        let fault = ["ok", "ok+authorize:slow+capture:slow", "ok+capture:reset_after:2", "pending"][round % 4];
        let mut running = vec![tokio::spawn({
            let (handler, attempt) = (Arc::clone(&handler), Arc::clone(&attempt));
            async move { handler.pay(&attempt, &tender(fault)).await }
        })];
        for _ in 0..6 {
            let (handler, attempt) = (Arc::clone(&handler), Arc::clone(&attempt));
            running.push(tokio::spawn(async move { handler.inquire(&attempt).await }));
        }
        for settlement in running {
            let settlement = within("a settlement", PATIENCE, settlement).await.expect("no panic");
            let possible = [captured(&attempt), Settlement::Unknown, Settlement::Absent];
            assert!(possible.contains(&settlement), "{settlement:?}");
        }
        let end = until("the end of the payment", PATIENCE, async || {
            Some(handler.inquire(&attempt).await).filter(|end| *end != Settlement::Unknown)
        })
        .await;
        assert_eq!(end, captured(&attempt));
        assert_eq!(psp.psp().report().captures_of(&attempt.id), 1);
    }
}

/// Speaks TLS in front of a provider. Returns its address and its certificate.
async fn tls(behind: &FakePsp) -> (String, Certificate) {
    let behind = behind.url().replace("http://", "");
    let (host, certificate) = Host::encrypted("127.0.0.1", move |peer| peer.forward(behind.clone())).await;
    (format!("https://{}", host.address()), Certificate::from_der(&certificate).expect("a certificate"))
}

#[tokio::test]
async fn only_a_provider_that_proves_who_it_is_sees_a_credential() {
    let psp = FakePsp::start(Options { scheme: "https", ..Options::new(shop::keys()) }).expect("a provider");
    let (url, root) = tls(&psp).await;
    let attempt = attempt("a", &url);
    assert_eq!(impatient(&url).pay(&attempt, &tender("ok")).await, Settlement::Unsent);
    assert!(!psp.psp().saw("ok"));
    let trusting = Processor::new(processor::Options { roots: vec![root], ..options(&url) }).expect("a processor");
    let again = Attempt { id: "b".into(), ..attempt };
    assert_eq!(trusting.pay(&again, &tender("ok")).await, captured(&again));
    assert!(psp.psp().saw("ok"));
}

#[test]
fn unusable_options_are_refused_without_connecting() {
    let wrong = processor::Options { tries: 0, ..options("https://psp.example/") };
    assert!(matches!(Processor::new(wrong), Err(SetupError::NoRoom)));
}
