//! Treatment of callers without an available profile, and of registered platforms (rules AGT-04, AGT-07).

use serde_json::{Value, json};
use ucp_core::Release;

use super::host::{Canary, Host, Page, profile_of, profile_with};
use crate::{
    harness::{Gateway, codes, elements},
    setup::{Ask, Configured, REQUIRE, Setup, Transport, requiring},
};

fn under(policy: &str) -> String {
    REQUIRE.replace("\"require\"", &format!("\"{policy}\""))
}

/// A profile that cannot be had, in each way there is.
fn out_of_reach(host: &Host) -> Vec<String> {
    let closed = ucp_testkit::leash::free_address();
    vec![
        format!("https://{closed}/p"),
        format!("https://{}/p", host.address()),
        host.url("/missing"),
        host.put("/moved", Page::redirect(301, &host.url("/p"))),
        host.put("/half", Page::Half),
    ]
}

#[test]
fn agt_04_under_require_nobody_is_served_whose_profile_cannot_be_had() {
    let (gateway, host) = (requiring(), Host::start());
    for url in out_of_reach(&host) {
        for transport in Transport::ALL {
            let refused = Ask::new(transport, &url).refusal(&gateway);
            assert_eq!(refused.verdict(), (424, "profile_unreachable"), "{url}");
            assert_eq!(refused.number.unwrap_or(-32001), -32001, "{url}");
        }
    }
}

#[test]
fn under_lenient_they_are_served_the_catalog_and_told_so() {
    let (gateway, host) = (Configured::start(&under("lenient")), Host::start());
    for url in out_of_reach(&host) {
        for transport in Transport::ALL {
            for (operation, payload) in [
                ("search_catalog", json!({ "query": "shoes" })),
                ("lookup_catalog", json!({ "ids": ["prod_abc123"] })),
                ("get_product", json!({ "id": "prod_abc123" })),
                ("get_product", json!({ "id": "prod_invalid" })),
            ] {
                let answer = Ask::new(transport, &url).of(operation, payload).answer(&gateway);
                let warning = elements(&answer["messages"])
                    .iter()
                    .find(|message| message["code"] == "profile_unreachable")
                    .unwrap_or_else(|| panic!("told so: {answer}"));
                assert_eq!(warning["type"], "warning");
                assert!(warning["content"].as_str().is_some_and(|text| text.contains("could not be fetched")));
                assert_eq!(answer["ucp"]["version"], Release::NEWEST.date());
            }
        }
    }
    // At the endpoint of a release, that release is spoken.
    for release in Release::ALL.iter().copied() {
        for transport in Transport::ALL {
            let answer = Ask::new(transport, &host.url("/missing")).at(Some(release)).answer(&gateway);
            assert_eq!(answer["ucp"]["version"], release.date());
            assert_eq!(codes(&answer), ["profile_unreachable"], "{release}: {answer}");
        }
    }
    // Available profiles get no message.
    let answer = Ask::new(Transport::Rest, &host.profile("/p", &profile_of(Release::NEWEST))).answer(&gateway);
    assert_eq!(codes(&answer), [""; 0]);
}

#[test]
fn under_development_an_address_is_enough_and_nothing_is_said() {
    let (gateway, host) = (Configured::start(&under("development")), Host::start());
    for url in out_of_reach(&host) {
        for transport in Transport::ALL {
            let answer = Ask::new(transport, &url).answer(&gateway);
            assert_eq!(codes(&answer), [""; 0], "{url}");
            assert_eq!(answer["ucp"]["version"], Release::NEWEST.date());
        }
    }
}

/// Without time for a lookup, the result is as if nothing had been found.
#[test]
fn agt_08_beyond_the_budget_of_fetches_the_policy_decides() {
    let host = Host::start();
    host.put_everywhere(Page::json(&profile_of(Release::V2026_04_08)));
    for (policy, warned) in [("lenient", true), ("development", false)] {
        let configuration = under(policy).replace("per_second = 1000, burst = 1000", "per_second = 1, burst = 1");
        let gateway = Configured::start(&configuration);
        let mut opaque = 0;
        for number in 0..100 {
            let transport = Transport::ALL[number % 3];
            let answer = Ask::new(transport, &host.url(&format!("/{policy}/{number}"))).answer(&gateway);
            if answer["ucp"]["version"] == Release::NEWEST.date() {
                opaque += 1;
                assert_eq!(!codes(&answer).is_empty(), warned, "{policy}: {answer}");
            }
        }
        assert!(opaque > 0, "{policy}: the budget was spent");
    }
}

/// An invalid profile, or an invalid URL of one, is rejected under any policy.
#[test]
fn agt_04_no_policy_makes_a_broken_profile_a_good_one() {
    let host = Host::start();
    let malformed = host.put("/malformed", Page::text("text/html", "<html>"));
    let future = host.profile("/future", &json!({ "ucp": { "version": "2031-01-01" } }));
    let poor = host.profile("/poor", &profile_with(Release::NEWEST, &["dev.ucp.shopping.catalog.search"]));
    for policy in ["require", "lenient", "development"] {
        let gateway = Configured::start(&under(policy));
        for transport in Transport::ALL {
            let verdict = |url: &str| {
                let refused = Ask::new(transport, url).refusal(&gateway);
                (refused.status, refused.code)
            };
            assert_eq!(verdict(&malformed), (422, "profile_malformed".into()), "{policy}");
            assert_eq!(verdict(&future), (422, "version_unsupported".into()), "{policy}");
            assert_eq!(verdict("https://10.0.0.1/p"), (400, "invalid_profile_url".into()), "{policy}");
            let answer = Ask::new(transport, &poor).answer(&gateway);
            assert_eq!(codes(&answer), ["capabilities_incompatible"], "{policy}: {answer}");
        }
    }
}

#[test]
fn the_default_policy_follows_from_who_can_reach_the_gateway() {
    for (listen, policy) in [
        ("127.0.0.1:8080", "development"),
        ("127.1.2.3:8080", "development"),
        ("[::1]:8080", "development"),
        ("[::ffff:127.0.0.1]:8080", "development"),
        ("0.0.0.0:8080", "require"),
        ("[::]:8080", "require"),
        ("10.1.2.3:8080", "require"),
        ("[2001:db8::1]:8080", "require"),
    ] {
        let shown = Setup::new("").arguments(&["--listen", listen]).run("check-config").expect("a configuration");
        assert!(shown.contains(&format!("policy = \"{policy}\"")), "{listen}: {shown}");
        let chosen = Setup::new("").arguments(&["--listen", listen, "--policy", "lenient"]).run("check-config");
        assert!(chosen.expect("a configuration").contains("policy = \"lenient\""), "{listen}");
    }
}

#[test]
fn start_up_says_which_callers_are_served() {
    assert!(said_at_start(&Gateway::shared()).contains("accepted unverified (policy development)"));
    for (policy, words) in [
        ("require", "need a UCP profile (policy require)"),
        ("lenient", "may browse without a UCP profile (policy lenient)"),
        ("development", "are not authenticated: any profile is accepted unverified (policy development)"),
    ] {
        let gateway = Gateway::with(&["--policy", policy]);
        assert!(said_at_start(&gateway).contains(words), "{policy}: {:?}", gateway.welcome);
    }
}

/// A public gateway is strict by default, and warns about unwise settings.
#[test]
fn start_up_beyond_loopback_is_strict_and_warns_of_less() {
    let on = |arguments: &[&str]| {
        let data = crate::harness::sample_shop();
        let mut command = crate::harness::binary();
        command.args(["serve", "--listen", "0.0.0.0:0", "--data-dir"]).arg(data.path()).args(arguments);
        (Gateway::spawn(&command, None), data)
    };
    let (strict, _data) = on(&[]);
    assert!(said_at_start(&strict).contains("(policy require)"), "{:?}", strict.welcome);
    let patience = std::time::Duration::from_secs(30);
    if rustix::process::geteuid().is_root() {
        let warned = crate::harness::eventually("a warning of root", patience, || {
            Some(strict.stderr()).filter(|stderr| stderr.ends_with('\n'))
        });
        assert_eq!(warned.lines().count(), 1, "{warned}");
        assert!(warned.contains("WARN") && warned.contains("running as root"), "{warned}");
    } else {
        assert_eq!(strict.stderr(), "");
    }
    let (lax, _data) = on(&["--policy", "development"]);
    assert!(said_at_start(&lax).contains("(policy development)"), "{:?}", lax.welcome);
    let warned = crate::harness::eventually("a warning of the policy", patience, || {
        Some(lax.stderr()).filter(|stderr| stderr.contains("are not authenticated"))
    });
    assert!(warned.contains("WARN"), "{warned}");
}

fn said_at_start(gateway: &Gateway) -> String {
    gateway.welcome.join("\n")
}

fn platform(name: &str, profile: &str, more: &str) -> String {
    format!("{REQUIRE}\n[[platform]]\nname = \"{name}\"\nprofile = \"{profile}\"\n{more}\n")
}

#[test]
fn agt_07_a_platform_with_a_pinned_profile_never_causes_a_fetch() {
    let (host, canary) = (Host::start(), Canary::start());
    let outside = "https://agent.example.com/pinned.json";
    let configuration = [
        platform("Here", &host.url("/pinned"), "profile_file = \"here.json\""),
        platform("There", outside, "profile_file = \"there.json\"").replace(REQUIRE, ""),
        platform("Canary", &canary.url(), "profile_file = \"there.json\"").replace(REQUIRE, ""),
    ]
    .concat();
    let gateway = Setup::new(&configuration)
        .file("here.json", &profile_of(Release::V2026_04_08).to_string())
        .file("there.json", &profile_of(Release::NEWEST).to_string())
        .start();
    for (profile, release) in [
        (host.url("/pinned"), Release::V2026_04_08),
        (outside.to_owned(), Release::NEWEST),
        (canary.url(), Release::NEWEST),
    ] {
        for transport in Transport::ALL {
            let answer = Ask::new(transport, &profile).answer(&gateway);
            assert_eq!(answer["ucp"]["version"], release.date());
        }
    }
    assert_eq!(host.all_visits(), 0);
    canary.is_untouched();
}

/// Registered profiles are fetched in the background, and no request waits for it.
#[test]
fn agt_07_a_platform_that_is_registered_by_address_is_never_waited_for() {
    let host = Host::start();
    let url = host.put("/slow", Page::Held(Box::new(Page::json(&profile_of(Release::NEWEST)))));
    let gateway = Configured::start(&platform("Slow", &url, ""));
    host.wait_for_visit("/slow");
    for transport in Transport::ALL {
        let refused = Ask::new(transport, &url).refusal(&gateway);
        assert_eq!(refused.verdict(), (424, "profile_unreachable"));
        assert!(refused.content.contains("for the first time"), "{refused:?}");
        assert!(refused.retry_after().is_some(), "{refused:?}");
    }
    host.release();
    crate::harness::eventually("it is known", std::time::Duration::from_secs(30), || {
        (Ask::new(Transport::Rest, &url).send(&gateway).status == 200).then_some(())
    });
    assert_eq!(host.visits("/slow"), 1);
}

#[test]
fn a_pinned_profile_that_is_none_keeps_the_gateway_from_starting() {
    for (content, rule) in [
        (Value::Null, "`$` must be an object"),
        (json!({ "ucp": { "version": "draft" } }), "`$.ucp.version` is missing or no date"),
    ] {
        let configuration = platform("One", "https://agent.example.com/p", "profile_file = \"p.json\"");
        let data = crate::harness::folder();
        let data = data.path().to_str().expect("a path");
        let setup = Setup::new(&configuration).arguments(&["--listen", "127.0.0.1:0", "--data-dir", data]);
        let said = setup.file("p.json", &content.to_string()).run("serve").expect_err("refused");
        assert!(said.contains("platform One") && said.contains("p.json") && said.contains(rule), "{said}");
    }
}
