//! `doctor` at the sample shop, and at a stand-in that breaks each of its rules in turn.

mod faults;
mod platforms;

use std::process::Output;

use serde_json::{Value, json};
use ucp_client::doctor::Rule;
use ucp_testkit::server::{Answer, Server};

use crate::harness::{Ends as _, Gateway, binary, elements};

use self::faults::Fault;

/// The report of `doctor` about an address, and whether it found no error.
fn examined(arguments: &[&str]) -> (Value, bool) {
    let Output { status, stdout, stderr } = binary().arg("doctor").args(arguments).arg("--json").ends();
    let report = serde_json::from_slice(&stdout);
    let report = report.unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&stderr)));
    (report, status.success())
}

/// The rules that a report has findings of.
fn broken(report: &Value) -> Vec<&str> {
    elements(&report["findings"]).iter().filter_map(|finding| finding["rule"].as_str()).collect()
}

/// The gateway behind a stand-in, which plants a fault into what passes.
fn stand_in(gateway: &'static str, fault: Option<Rule>) -> Server {
    let fault = fault.map(Fault::of);
    Server::start(move |request| {
        let own = format!("http://{}", request.headers()["host"].to_str().expect("a host"));
        faults::forwarded(gateway, &own, request, fault.as_ref())
    })
}

#[test]
fn the_sample_shop_has_nothing_to_be_cured() {
    let gateway = Gateway::start();
    for release in ["2026-08-25", "2026-04-08", "2026-01-23", "2026-01-11"] {
        let url = format!("http://{}", gateway.address);
        let mut arguments = vec![&*url, "--allow-writes", "--release", release];
        if release < "2026-04-08" {
            arguments.extend(["--item", "var_abc123_blue_10"]);
        }
        let (report, good) = examined(&arguments);
        assert_eq!((broken(&report), good), (vec![], true), "{release}: {report:#}");
        assert_eq!(report["release"], release);
    }
    // Everything that can be looked at was.
    let url = format!("http://{}", gateway.address);
    let (report, _) = examined(&[&url, "--allow-writes"]);
    assert_eq!(report["skipped"], json!({}), "{report:#}");
}

#[test]
fn nothing_is_written_unless_that_is_allowed() {
    let gateway = Gateway::start();
    let written = stand_in(gateway.address.to_string().leak(), None);
    let (report, _) = examined(&[&written.url("")]);
    assert!(report["skipped"]["purchase.totals"].as_str().is_some_and(|reason| reason.contains("--allow-writes")));
    for request in written.requests() {
        let body = String::from_utf8_lossy(request.body()).into_owned();
        let writes = ["/carts", "/checkout-sessions"].iter().any(|path| request.uri().path().starts_with(path));
        let calls = ["create_", "update_", "cancel_", "complete_"]
            .iter()
            .any(|name| body.contains(&format!("\"name\":\"{name}")));
        assert!(!writes || request.method() == "GET", "{request:?}");
        assert!(!calls, "{body}");
    }
}

#[test]
fn every_rule_of_shops_catches_its_fault() {
    let gateway = Gateway::start();
    let address: &'static str = gateway.address.to_string().leak();
    let sound = stand_in(address, None);
    assert_eq!(broken(&examined(&[&sound.url(""), "--allow-writes"]).0), Vec::<&str>::new());
    for rule in Rule::ALL.iter().filter(|rule| !rule.name().starts_with("platform.")) {
        let shop = stand_in(address, Some(*rule));
        let (report, good) = examined(&[&shop.url(""), "--allow-writes"]);
        assert!(broken(&report).contains(&rule.name()), "{rule} is not caught: {report:#}");
        let finding = elements(&report["findings"]).iter().find(|finding| finding["rule"] == rule.name()).expect("it");
        assert!(!finding["seen"].as_str().expect("what was seen").is_empty() && finding["cure"] == rule.cure());
        assert_eq!(good, !elements(&report["findings"]).iter().any(|finding| finding["severity"] == "error"), "{rule}");
    }
}

#[test]
fn keys_without_a_point_are_named() {
    let gateway = Gateway::shared();
    let shop = stand_in(gateway.address.to_string().leak(), Some(Rule::ProfileKeys));
    let (report, _) = examined(&[&shop.url("")]);
    let seen: Vec<_> = elements(&report["findings"])
        .iter()
        .filter(|finding| finding["rule"] == Rule::ProfileKeys.name())
        .filter_map(|finding| finding["seen"].as_str())
        .collect();
    assert!(seen.iter().any(|seen| seen.contains("\"b\" has no crv, no x, no y")), "{seen:?}");
    assert!(seen.iter().any(|seen| seen.contains("\"a\" has a private member")), "{seen:?}");
}

#[test]
fn the_report_is_readable_and_the_exit_code_tells() {
    let gateway = Gateway::shared();
    let url = gateway.address.to_string();
    let output = binary().args(["doctor", &url]).ends();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success() && printed.contains(" passed, 0 errors, 0 warnings"), "{printed}");
    assert!(!printed.contains('\u{1b}'), "there are no colours where no terminal is: {printed:?}");
    let nowhere = Server::start(|_| Answer::status(404));
    let output = binary().args(["doctor", &nowhere.url("")]).ends();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(1));
    assert!(printed.contains("profile.found") && printed.contains("\n  fix "), "{printed}");
}

/// Hands a request on to the gateway at `address`, without a fault.
pub(crate) fn forwarded(address: &str, own: &str, request: &http::Request<Vec<u8>>) -> Answer {
    faults::forwarded(address, own, request, None)
}
