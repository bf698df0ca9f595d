//! Negotiated version and capabilities of a platform (rules NEG-01 to NEG-09), and the form of older versions.

mod founding;
mod table;

use serde_json::{Value, json};
use ucp_core::Release;

use crate::{
    harness::{Lent, codes, elements, eventually},
    platforms::host::{CATALOG, Host, profile_of, profile_with},
    setup::{Ask, Configured, REQUIRE, Setup, Transport, requiring},
};

/// A gateway that wants to see profiles, and a host that has some.
struct NegotiationSetup {
    gateway: Lent<Configured>,
    host: Host,
}

impl NegotiationSetup {
    fn shared() -> Self {
        Self { gateway: requiring(), host: Host::start() }
    }

    /// A call of a platform with this profile.
    fn ask(&self, transport: Transport, path: &str, profile: &Value) -> Ask {
        Ask::new(transport, &self.host.profile(path, profile))
    }
}

const SEARCH: &str = CATALOG[0];
const LOOKUP: &str = CATALOG[1];

/// The capabilities that an answer declares, as `name version`.
fn declared(answer: &Value) -> Vec<String> {
    let capabilities = answer["ucp"]["capabilities"].as_object().unwrap_or_else(|| panic!("a registry: {answer}"));
    let versions = capabilities.iter().map(|(name, entries)| {
        assert_eq!(elements(entries).len(), 1, "{answer}");
        format!("{name} {}", entries[0]["version"].as_str().expect("a version"))
    });
    versions.collect()
}

#[test]
fn neg_01_at_the_root_every_platform_is_answered_in_its_release() {
    let place = NegotiationSetup::shared();
    for release in Release::ALL.iter().copied() {
        for transport in Transport::ALL {
            let ask = place.ask(transport, &format!("/root/{release}"), &profile_of(release));
            let answer = ask.answer(&place.gateway);
            assert_eq!(answer["ucp"]["version"], release.date(), "{transport:?}");
            let founding = release < Release::V2026_04_08;
            assert_eq!(answer["ucp"].get("status").is_none(), founding, "{release}: {answer}");
            let product = &answer["product"];
            assert_eq!(product["id"], "prod_abc123");
            assert_eq!(product.get("category").is_some(), founding, "{release}");
        }
    }
}

#[test]
fn neg_01_at_its_own_endpoint_a_release_is_answered_and_no_other() {
    let place = NegotiationSetup::shared();
    for speaks in Release::ALL.iter().copied() {
        for endpoint in Release::ALL.iter().copied() {
            for transport in Transport::ALL {
                let ask = place.ask(transport, &format!("/leaf/{speaks}"), &profile_of(speaks)).at(Some(endpoint));
                if speaks == endpoint {
                    assert_eq!(ask.answer(&place.gateway)["ucp"]["version"], endpoint.date());
                    continue;
                }
                let refused = ask.refusal(&place.gateway);
                assert_eq!(refused.verdict(), (422, "version_unsupported"), "{speaks} at {endpoint}");
                let number = if endpoint < Release::V2026_04_08 { -32603 } else { -32001 };
                assert_eq!(refused.number.unwrap_or(number), number, "{speaks} at {endpoint}");
                assert!(refused.content.contains(&format!("speaks release {speaks}")), "{refused:?}");
                assert!(refused.content.contains(&format!("this endpoint speaks {endpoint} only")), "{refused:?}");
            }
        }
    }
}

#[test]
fn neg_01_a_release_that_nobody_here_speaks_is_refused_naming_both_sides() {
    let place = NegotiationSetup::shared();
    for version in ["2031-01-01", "2025-12-31", "2026-04-09", "0000-00-00", "9999-99-99"] {
        for transport in Transport::ALL {
            let profile = json!({ "ucp": { "version": version, "capabilities": {} } });
            let refused = place.ask(transport, &format!("/unsupported/{version}"), &profile).refusal(&place.gateway);
            assert_eq!(refused.verdict(), (422, "version_unsupported"), "{version}");
            assert_eq!(refused.number.unwrap_or(-32001), -32001, "{version}");
            assert!(refused.content.contains(&format!("release {version}")), "{refused:?}");
            for release in Release::ALL {
                assert!(refused.content.contains(release.date()), "{refused:?}");
                assert!(refused.body["accepted"].as_str().is_some_and(|text| text.contains(release.date())));
            }
        }
    }
}

/// The operation's capability is missing on their side: an outcome of business, not a failure of the protocol.
#[test]
fn neg_04_without_the_capability_there_is_an_outcome_and_no_failure() {
    let place = NegotiationSetup::shared();
    for release in [Release::V2026_04_08, Release::V2026_08_25] {
        for (path, profile) in [
            ("none", profile_with(release, &[])),
            ("search", profile_with(release, &[SEARCH])),
            (
                "other",
                json!({ "ucp": { "version": release.date(), "capabilities": { LOOKUP: [{ "version": "2031-01-01" }] } } }),
            ),
            ("silent", json!({ "ucp": { "version": release.date() } })),
        ] {
            for transport in Transport::ALL {
                let ask = place.ask(transport, &format!("/incompatible/{release}/{path}"), &profile);
                let answer = ask.answer(&place.gateway);
                assert_eq!(answer["ucp"]["status"], "error", "{path}: {answer}");
                assert_eq!(answer["ucp"]["version"], release.date());
                assert_eq!(declared(&answer), [""; 0]);
                assert_eq!(codes(&answer), ["capabilities_incompatible"]);
                let message = &answer["messages"][0];
                assert_eq!((&message["type"], &message["severity"]), (&json!("error"), &json!("unrecoverable")));
                let content = message["content"].as_str().expect("a text");
                assert!(content.contains("get_product") && content.contains(LOOKUP), "{content}");
                assert!(answer.get("product").is_none());
                crate::harness::own_schema_of(release, "get_product.response").validate(&answer).expect("its shape");
            }
        }
        // Common capabilities work nevertheless.
        let searching =
            place.ask(Transport::Rest, &format!("/incompatible/{release}/search"), &profile_with(release, &[SEARCH]));
        let answer = searching.of("search_catalog", json!({ "query": "shoes" })).answer(&place.gateway);
        assert_eq!(declared(&answer), [format!("{SEARCH} {release}")]);
    }
}

#[test]
fn neg_05_answers_declare_the_capability_of_their_operation_and_no_other() {
    let place = NegotiationSetup::shared();
    for release in Release::ALL.iter().copied() {
        let lookup = format!("{LOOKUP} {release}");
        let profile = profile_with(release, &[SEARCH, LOOKUP, "dev.ucp.shopping.checkout", "com.example.loyalty"]);
        for (operation, payload, expected) in [
            ("search_catalog", json!({ "query": "shoes" }), &format!("{SEARCH} {release}")),
            ("lookup_catalog", json!({ "ids": ["prod_abc123"] }), &lookup),
            ("get_product", json!({ "id": "prod_abc123" }), &lookup),
        ] {
            for transport in Transport::ALL {
                let ask = place.ask(transport, &format!("/selection/{release}"), &profile);
                let answer = ask.of(operation, payload.clone()).answer(&place.gateway);
                assert_eq!(&declared(&answer), std::slice::from_ref(expected), "{operation} {transport:?}");
            }
        }
    }
}

#[test]
fn neg_03_the_newest_version_that_both_have_is_taken() {
    let place = NegotiationSetup::shared();
    let release = Release::V2026_08_25;
    let profile = json!({ "ucp": { "version": release.date(), "capabilities": {
        LOOKUP: [{ "version": "2026-01-01" }, { "version": release.date() }, { "version": "2031-01-01" }],
    } } });
    let answer = place.ask(Transport::Rest, "/versions", &profile).answer(&place.gateway);
    assert_eq!(declared(&answer), [format!("{LOOKUP} {release}")]);
    // The founding documents date the lookup later than their release.
    let release = Release::V2026_01_11;
    for (path, versions, expected) in [
        ("/later", ["2026-02-01", "2026-02-01"], "2026-02-01"),
        ("/own", [release.date(), "2031-01-01"], release.date()),
        ("/both", [release.date(), "2026-02-01"], "2026-02-01"),
    ] {
        let entries: Vec<_> = versions.iter().map(|version| json!({ "name": LOOKUP, "version": version })).collect();
        let profile = json!({ "ucp": { "version": release.date(), "capabilities": entries } });
        let answer = place.ask(Transport::Method, path, &profile).answer(&place.gateway);
        assert_eq!(declared(&answer), [format!("{LOOKUP} {expected}")]);
    }
}

/// A platform that cannot continue here gets a page on which the buyer can.
#[test]
fn neg_08_a_failed_negotiation_names_the_storefront() {
    let storefront = "https://shop.example.com/welcome";
    let configuration = format!("[server]\nstorefront = \"{storefront}\"\n{REQUIRE}");
    let (gateway, host) = (Configured::start(&configuration), Host::start());
    for transport in Transport::ALL {
        for release in Release::ALL.iter().copied() {
            let poor = host.profile(&format!("/{release}"), &profile_with(release, &[SEARCH]));
            let mut body = Ask::new(transport, &poor).send(&gateway).json();
            let founding = release < Release::V2026_04_08;
            let document = match transport {
                Transport::Rest => body,
                _ if founding => body["error"]["data"].take(),
                Transport::Tool => body["result"]["structuredContent"].take(),
                Transport::Method => body["result"].take(),
            };
            assert_eq!(document["continue_url"], storefront, "{release} {transport:?}: {document}");
            let other = host.profile("/future", &json!({ "ucp": { "version": "2031-01-01" } }));
            for endpoint in [None, Some(release)] {
                let refused = Ask::new(transport, &other).at(endpoint).refusal(&gateway);
                assert_eq!(refused.body["continue_url"], storefront, "{refused:?}");
            }
        }
    }
}

/// Profiles as they are found in the wild.
#[test]
fn t_44_sloppy_profiles_are_read_leniently() {
    let place = NegotiationSetup::shared();
    let release = Release::NEWEST;
    let version = release.date();
    let entry = json!([{ "version": version }]);
    for (path, profile) in [
        ("bare", json!({ LOOKUP: entry })),
        ("single", json!({ LOOKUP: { "version": version } })),
        (
            "extends",
            json!({ LOOKUP: entry, "dev.ucp.shopping.discount":
            [{ "version": version, "extends": ["dev.ucp.shopping.checkout", "dev.ucp.shopping.cart"] }] }),
        ),
        ("empty", json!({ LOOKUP: [{ "version": version, "extends": [] }] })),
        ("null", json!({ LOOKUP: [{ "version": version, "extends": null, "spec": null }] })),
        (
            "draft",
            json!({ LOOKUP: [{ "version": "draft" }, { "version": version }], "com.example.x": [{ "version": "draft" }] }),
        ),
        ("names", json!({ LOOKUP: entry, "Not A Name": entry, "nodots": entry, "": entry })),
        ("versionless", json!({ LOOKUP: [{}, { "version": version }] })),
    ] {
        let profile = json!({ "ucp": { "version": version, "capabilities": profile, "services": 3 }, "payment": [] });
        for transport in Transport::ALL {
            let answer = place.ask(transport, &format!("/sloppy/{path}"), &profile).answer(&place.gateway);
            assert_eq!(declared(&answer), [format!("{LOOKUP} {version}")], "{path}");
        }
    }
}

#[test]
fn t_44_what_was_read_over_is_logged() {
    let (gateway, host) = (Setup::new(REQUIRE).variable("RUST_LOG", "info").start(), Host::start());
    let mut profile = profile_of(Release::NEWEST);
    profile["ucp"]["capabilities"]["com.example.x"] = json!([{ "version": "draft" }]);
    let url = host.profile("/sloppy", &profile);
    Ask::new(Transport::Rest, &url).answer(&gateway);
    let log = eventually("a line", std::time::Duration::from_secs(30), || {
        Some(gateway.stderr()).filter(|log| log.contains("faults that were tolerated"))
    });
    assert!(log.contains(&url) && log.contains("com.example.x") && log.contains("is not a date"), "{log}");
}

#[test]
fn there_are_no_endpoints_of_releases_that_nobody_speaks() {
    let place = NegotiationSetup::shared();
    for version in ["2031-01-01", "2026-04-09", "draft", "latest"] {
        for path in ["catalog/search", "mcp", ".well-known/ucp", "openapi.json"] {
            for method in ["GET", "POST"] {
                let response = place.gateway.send(method, &format!("/ucp/{version}/{path}"), &[], b"");
                assert_eq!((response.status, &response.json()["code"]), (404, &json!("unknown_path")), "{version}");
            }
        }
    }
}

/// The form of 2026-01-11 is read under any release.
#[test]
fn capabilities_may_come_as_an_array_with_names() {
    let place = NegotiationSetup::shared();
    for release in Release::ALL.iter().copied() {
        let entries = json!([{ "name": LOOKUP, "version": release.date() }, { "version": "2026-01-01" }]);
        let profile = json!({ "ucp": { "version": release.date(), "capabilities": entries } });
        let answer = place.ask(Transport::Tool, &format!("/array/{release}"), &profile).answer(&place.gateway);
        assert_eq!(declared(&answer), [format!("{LOOKUP} {release}")]);
    }
}
