//! `explain negotiation`: the same decisions, for people.

use serde_json::json;

use super::*;
use crate::harness::{Ends as _, binary};

/// Output of the command about a profile, and whether the profile is usable.
fn explain(profile: &[u8]) -> (bool, String, String) {
    let output = binary().args(["explain", "negotiation", "--profile", "-"]).ends_with(profile);
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

/// The cells of the row about a capability: theirs, ours, and the result.
fn row<'a>(table: &'a str, capability: &str) -> Vec<&'a str> {
    let line = table.lines().find(|line| line.split_whitespace().next() == Some(capability));
    let line = line.unwrap_or_else(|| panic!("{capability}: {table}"));
    line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).skip(1).collect()
}

#[test]
fn the_table_says_theirs_ours_the_result_and_why() {
    let profile = json!({ "ucp": { "version": "2026-04-08", "capabilities": {
        SEARCH: [{ "version": "2026-01-01" }, { "version": "2026-04-08" }],
        LOOKUP: [{ "version": "2031-01-01" }],
        "dev.ucp.common.identity_linking": [{ "version": "2026-04-08", "extends": [] }],
    } } });
    let (fine, said, _) = explain(profile.to_string().as_bytes());
    assert!(fine, "{said}");
    assert!(said.contains("platform speaks  2026-04-08"), "{said}");
    for release in Release::ALL {
        assert!(said.contains(release.date()), "{said}");
    }
    assert_eq!(row(&said, SEARCH), ["2026-01-01 2026-04-08", "2026-04-08", "active at 2026-04-08"]);
    assert_eq!(row(&said, LOOKUP), ["2031-01-01", "2026-04-08", "no common version"]);
    assert_eq!(row(&said, "dev.ucp.common.identity_linking"), ["2026-04-08", "-", "not offered here"]);
    assert!(said.contains("note             "), "what was read over is said: {said}");
    for (operation, verdict) in [
        ("search_catalog", "can be called"),
        ("lookup_catalog", "capabilities_incompatible"),
        ("get_product", "capabilities_incompatible"),
    ] {
        assert_eq!(row(&said, operation), [verdict]);
    }
}

/// The command's output about an operation matches the gateway's behavior.
#[test]
fn the_table_tells_the_truth_about_every_release() {
    let place = NegotiationSetup::shared();
    for release in Release::ALL.iter().copied() {
        for (name, capabilities) in [("all", &CATALOG[..]), ("search", &CATALOG[..1]), ("none", &[])] {
            let profile = profile_with(release, capabilities);
            let (_, said, _) = explain(profile.to_string().as_bytes());
            for (operation, payload) in
                [("search_catalog", json!({ "query": "x" })), ("get_product", json!({ "id": "p" }))]
            {
                let ask = place.ask(Transport::Method, &format!("/explained/{release}/{name}"), &profile);
                let response = ask.of(operation, payload).send(&place.gateway);
                let incompatible = response.body.contains("capabilities_incompatible");
                let verdict = if incompatible { "capabilities_incompatible" } else { "can be called" };
                assert_eq!(row(&said, operation), [verdict], "{release} {name}: {said} {response:?}");
            }
        }
    }
}

#[test]
fn what_cannot_be_negotiated_is_an_error_with_the_reason() {
    let (fine, said, _) = explain(br#"{"ucp":{"version":"2031-01-01"}}"#);
    assert!(!fine && said.contains("version_unsupported"), "{said}");
    let (fine, _, said) = explain(br#"{"ucp":{"version":"draft"}}"#);
    assert!(!fine && said.contains("`$.ucp.version` is missing or no date"), "{said}");
    let (fine, _, said) = explain(b"<html>");
    assert!(!fine && said.contains("cannot be read"), "{said}");
}
