//! The provider as a process: it survives being killed, and ends with whoever started it.

use std::{
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use serde_json::{Map, json};
use ucp_core::{
    money::{Amount, Currency},
    ports::payment_handler::Handler as _,
    purchase::payment::{Attempt, Credential, Instrument, Settlement, Tender},
};
use ucp_payment::{
    Processor,
    processor::{self, Endpoint},
    sandbox,
};
use ucp_testkit::{
    PATIENCE, eventually,
    leash::{self, Lines},
};

use ucp_fake_psp::{Fault, Keys, Order, Psp, Report, Request, Step};

fn start(journal: &Path, arguments: &[&str]) -> (Child, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_ucp-fake-psp"))
        .args(["--api-key", "k", "--signing-secret", "s", "--journal"])
        .arg(journal)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("starts");
    let said = Lines::of(child.stdout.take().expect("output"));
    (child, said.next("it says where it is").expect("an address"))
}

/// Exit of a process whose standard input is closed.
fn end(mut child: Child) -> ExitStatus {
    drop(child.stdin.take());
    eventually("the end of the provider", PATIENCE, || child.try_wait().expect("a status"))
}

#[test]
fn the_process_prints_its_address_and_ends_with_its_parent() {
    let folder = tempfile::tempdir().expect("a folder");
    let (child, url) = start(&folder.path().join("journal"), &[]);
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    assert!(end(child).success());
}

fn handler(endpoint: Endpoint) -> Processor {
    let secret = |text: &str| text.parse().expect("a secret");
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let options =
        processor::Options::new(sandbox::declaration("psp"), endpoint, secret("k"), "shop".into(), secret("s"), clock);
    Processor::new(processor::Options { request_timeout: Duration::from_millis(300), ..options }).expect("a processor")
}

#[tokio::test]
async fn payments_survive_a_restart_of_the_provider() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("journal");
    let (mut child, url) = start(&journal, &["--fault", "capture:hang_after:3"]);
    let endpoint = Endpoint::parse(&url, true).expect("an address");
    let members = Map::from_iter([("token".to_owned(), json!("secret-token"))]);
    let tender = Tender {
        instrument: Instrument {
            id: "pi".into(),
            handler_id: "psp".into(),
            kind: "card".into(),
            selected: None,
            billing_address: None,
            display: None,
        },
        credential: Some(Credential::new("token".into(), members)),
    };
    let handler = handler(endpoint);
    let attempt = Attempt {
        id: "a".into(),
        handler_id: "psp".into(),
        checkout_id: "c".into(),
        amount: Amount::new(5).expect("an amount"),
        currency: Currency::USD,
        begun_at: Timestamp::UNIX_EPOCH,
        memo: handler.prepare(&tender).expect("can pay"),
        at_shop: false,
        return_url: None,
        page_url: None,
        challenge: None,
    };
    assert_eq!(handler.pay(&attempt, &tender).await, Settlement::Unknown);
    child.kill().expect("killed");
    child.wait().expect("dead");
    assert_eq!(handler.inquire(&attempt).await, Settlement::Unknown);
    assert_eq!(Report::read(&journal).expect("read").captures_of("a"), 1);
    let port = url.rsplit(':').next().expect("a port");
    let (child, again) = start(&journal, &["--port", port]);
    assert_eq!(again, url);
    assert_eq!(handler.inquire(&attempt).await, Settlement::Captured { reference: "psp_a".into() });
    assert!(!handler.forget(&attempt).await);
    assert_eq!(Report::read(&journal).expect("read").captures_of_checkout("c"), 1);
    assert!(!std::fs::read_to_string(&journal).expect("read").contains("secret-token"));
    end(child);
}

#[test]
fn arguments_that_make_no_sense_are_refused() {
    for arguments in [["--fault", "capture"], ["--port", "70000"], ["--seconds", "soon"], ["--what", "ever"]] {
        let output = leash::run(Command::new(env!("CARGO_BIN_EXE_ucp-fake-psp")).args(arguments), |_| Ok(()));
        assert!(!output.status.success() && !output.stderr.is_empty(), "{arguments:?}");
    }
}

#[test]
fn a_torn_journal_is_continued() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let line = r#"{"key":"a:capture","fingerprint":"f","reply":{"status":200,"body":"{}"},"payment":{"id":"a","checkout_id":"c","amount":1,"currency":"USD","status":"captured","authorizations":1,"captures":1,"voids":0,"word":"ok"}}"#;
    std::fs::write(&path, format!("{line}\n{}", &line[..40])).expect("written");
    let keys = Keys { api_key: "k".into(), signing_secret: "s".into() };
    let psp = Psp::new(keys, Some(&path)).expect("a provider");
    assert_eq!((psp.report().captures_of("a"), psp.report().captures_of_checkout("c")), (1, 1));
    assert_eq!(std::fs::read_to_string(&path).expect("read"), format!("{line}\n"));
    assert_eq!(Report::read(&path).expect("read"), psp.report());
}

#[test]
fn unsigned_requests_are_refused() {
    let keys = Keys { api_key: "k".into(), signing_secret: "s".into() };
    let psp = Psp::new(keys, None).expect("a provider");
    let headers = [("authorization".to_owned(), "Bearer k".to_owned())].into();
    let request =
        Request { method: "GET".into(), url: "http://127.0.0.1/payments/a".into(), headers, body: Vec::new() };
    assert_eq!(psp.answer(&request).status, 401);
}

#[test]
fn ordered_faults_are_parsed_and_happen_as_often_as_stated() {
    let order: Order = "inquire:reset_after:2".parse().expect("an order");
    assert_eq!(order, Order { step: Step::Inquire, fault: Fault::ResetAfter, times: 2 });
    for wrong in ["", "inquire", "inquire:", "inquire:what", "what:busy", "inquire:busy:x", "inquire:busy:1:2"] {
        assert!(wrong.parse::<Order>().is_err(), "{wrong}");
    }
    let psp = Psp::new(Keys { api_key: "k".into(), signing_secret: "s".into() }, None).expect("a provider");
    psp.inject(order);
    let request = Request {
        method: "GET".into(),
        url: "http://127.0.0.1/payments/a".into(),
        headers: Default::default(),
        body: Vec::new(),
    };
    let faults: Vec<_> = (0..3).map(|_| psp.fault(&request)).collect();
    assert_eq!(faults, [Some(Fault::ResetAfter), Some(Fault::ResetAfter), None]);
}
