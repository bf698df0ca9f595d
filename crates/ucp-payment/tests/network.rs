//! The processor against the fake provider over real connections.

mod shop;

use std::{sync::Arc, time::Duration};

use shop::{attempt, fake, options, tender};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{ServerConfig, pki_types::PrivatePkcs8KeyDer},
};
use ucp_core::purchase::payment::{Attempt, Handler as _, Settlement};
use ucp_fake_psp::{FakePsp, Options};
use ucp_payment::{
    Processor,
    processor::{self, Certificate, SetupError},
};

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
    let handler = impatient(&psp.url());
    for (step, arrived) in [("authorize", false), ("capture", true)] {
        for fault in ["hang_before", "reset_before", "reset_after", "truncated", "oversized", "garbage", "slow", "late"]
        {
            let once = attempt(&format!("once-{step}-{fault}"), &psp.url());
            let paid = handler.pay(&once, &tender(&format!("ok+{step}:{fault}"))).await;
            assert_eq!(paid, captured(&once), "{step}:{fault}");
        }
        for fault in ["reset_before", "reset_after", "truncated", "oversized", "redirect", "not_found_page"] {
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
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    drop(listener);
    let attempt = attempt("a", &url);
    assert!(matches!(impatient(&url).pay(&attempt, &tender("ok")).await, Settlement::Declined { .. }));
    assert_eq!(impatient(&url).inquire(&attempt).await, Settlement::Unknown);
}

#[tokio::test]
async fn what_ends_a_connection_without_http_leaves_the_end_unknown() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("an address"));
    tokio::spawn(async move { while listener.accept().await.is_ok() {} });
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
            let settlement = settlement.await.expect("no panic");
            let possible = [captured(&attempt), Settlement::Unknown, Settlement::Absent];
            assert!(possible.contains(&settlement), "{settlement:?}");
        }
        let mut end = Settlement::Unknown;
        while end == Settlement::Unknown {
            end = handler.inquire(&attempt).await;
        }
        assert_eq!(end, captured(&attempt));
        assert_eq!(psp.psp().report().captures_of(&attempt.id), 1);
    }
}

/// Speaks TLS in front of a provider. Gives its address and its certificate.
async fn tls(behind: &FakePsp) -> (String, Certificate) {
    let issued = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).expect("a certificate");
    let key = PrivatePkcs8KeyDer::from(issued.signing_key.serialize_der());
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key.into())
        .expect("a configuration");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("https://{}", listener.local_addr().expect("an address"));
    let behind = behind.url().replace("http://", "");
    tokio::spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            let (acceptor, behind) = (acceptor.clone(), behind.clone());
            tokio::spawn(async move {
                let mut outer = acceptor.accept(connection).await?;
                let mut inner = TcpStream::connect(behind).await?;
                copy_bidirectional(&mut outer, &mut inner).await
            });
        }
    });
    (url, Certificate::from_der(issued.cert.der()).expect("a certificate"))
}

#[tokio::test]
async fn only_a_provider_that_proves_who_it_is_sees_a_credential() {
    let psp = FakePsp::start(Options { scheme: "https", ..Options::new(shop::keys()) }).expect("a provider");
    let (url, root) = tls(&psp).await;
    let attempt = attempt("a", &url);
    assert!(matches!(impatient(&url).pay(&attempt, &tender("ok")).await, Settlement::Declined { .. }));
    assert!(!psp.psp().saw("ok"));
    let trusting = Processor::new(processor::Options { roots: vec![root], ..options(&url) }).expect("a processor");
    let again = Attempt { id: "b".into(), ..attempt };
    assert_eq!(trusting.pay(&again, &tender("ok")).await, captured(&again));
    assert!(psp.psp().saw("ok"));
}

#[test]
fn options_are_looked_at_before_anything_else() {
    let wrong = processor::Options { tries: 0, ..options("https://psp.example/") };
    assert!(matches!(Processor::new(wrong), Err(SetupError::NoRoom)));
}
