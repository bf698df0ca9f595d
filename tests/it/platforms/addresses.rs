//! Addresses of profiles that are never asked, however they are written (rules AGT-02, SEC-03).

use serde_json::json;
use ucp_core::Release;

use super::host::{Canary, Host, profile_of};
use crate::{
    harness::{Gateway, rpc},
    setup::{Ask, Refused, Setup, Transport, agent, requiring},
};

#[track_caller]
fn refused_everywhere(gateway: &Gateway, url: &str, rule: &str) {
    for transport in Transport::ALL {
        // A header holds ASCII only; arguments hold anything.
        if url.is_ascii() || transport != Transport::Rest {
            invalid(&Ask::new(transport, url).refusal(gateway), url, rule);
        }
    }
    if url.is_ascii() {
        // A header on the way of arguments, and an envelope of older releases.
        let named = Ask::new(Transport::Tool, url).unnamed().header("UCP-Agent", &agent(url));
        invalid(&named.refusal(gateway), url, rule);
    }
    let params = json!({ "_meta": { "ucp": { "profile": url } }, "id": "prod_abc123" });
    invalid(&Refused::read(Transport::Method, &gateway.rpc(&rpc("get_product", &params))), url, rule);
}

#[track_caller]
fn invalid(refused: &Refused, url: &str, rule: &str) {
    assert_eq!(refused.verdict(), (400, "invalid_profile_url"), "{url}: {refused:?}");
    assert_eq!(refused.number.unwrap_or(-32001), -32001, "{url}: {refused:?}");
    assert!(refused.content.contains(rule), "{url}: {rule}: {refused:?}");
    assert!(refused.body["accepted"].as_str().is_some_and(|accepted| accepted.contains("https")), "{refused:?}");
}

/// Spellings of addresses that lead inside, with the range that each is in. `PORT` stands for one where something
/// listens.
const INSIDE: [(&str, &str); 27] = [
    ("https://127.0.0.1:PORT/p", "(loopback)"),
    ("https://127.1:PORT/p", "(loopback)"),
    ("https://2130706433:PORT/p", "(loopback)"),
    ("https://0x7f000001:PORT/p", "(loopback)"),
    ("https://0x7f.0.0.1:PORT/p", "(loopback)"),
    ("https://0177.0.0.01:PORT/p", "(loopback)"),
    ("https://017700000001:PORT/p", "(loopback)"),
    ("https://127.0.0.1.:PORT/p", "(loopback)"),
    ("https://%31%32%37.0.0.1:PORT/p", "(loopback)"),
    ("https://①②⑦.⓪.⓪.①:PORT/p", "(loopback)"),
    ("https://127。0。0。1:PORT/p", "(loopback)"),
    ("https://[::1]:PORT/p", "(loopback)"),
    ("https://[0:0:0:0:0:0:0:1]:PORT/p", "(loopback)"),
    ("https://[::ffff:127.0.0.1]:PORT/p", "(IPv4-mapped)"),
    ("https://[::ffff:7f00:1]:PORT/p", "(IPv4-mapped)"),
    ("https://[::127.0.0.1]:PORT/p", "(IPv4-compatible)"),
    ("https://[64:ff9b::127.0.0.1]:PORT/p", "(NAT64)"),
    ("https://[64:ff9b:1::7f00:1]:PORT/p", "(NAT64)"),
    ("https://[2002:7f00:1::]:PORT/p", "(6to4)"),
    ("https://0.0.0.0:PORT/p", "(this network)"),
    ("https://0:PORT/p", "(this network)"),
    ("https://[::]:PORT/p", "(unspecified)"),
    ("https://localhost:PORT/p", "not on the public Internet"),
    ("https://localhost.:PORT/p", "not on the public Internet"),
    ("https://LOCALHOST:PORT/p", "not on the public Internet"),
    ("https://x.localhost:PORT/p", "not on the public Internet"),
    ("https://gateway:PORT/p", "not on the public Internet"),
];

/// The same for networks around the gateway, which no switch opens.
const AROUND: [(&str, &str); 16] = [
    ("https://169.254.169.254/latest/meta-data/", "(link local)"),
    ("https://2852039166/latest/meta-data/", "(link local)"),
    ("https://0xa9fea9fe/latest/meta-data/", "(link local)"),
    ("https://0251.0376.0251.0376/latest/meta-data/", "(link local)"),
    ("https://[::ffff:169.254.169.254]/latest/meta-data/", "(IPv4-mapped)"),
    ("https://[64:ff9b::a9fe:a9fe]/latest/meta-data/", "(NAT64)"),
    ("https://[fd00:ec2::254]/latest/meta-data/", "(unique local)"),
    ("https://[fe80::1]/p", "(link local)"),
    ("https://10.0.0.1/p", "(private use)"),
    ("https://172.16.0.1/p", "(private use)"),
    ("https://192.168.1.1/p", "(private use)"),
    ("https://100.64.0.1/p", "(shared address space)"),
    ("https://192.0.2.1/p", "(documentation)"),
    ("https://224.0.0.1/p", "(multicast)"),
    ("https://255.255.255.255/p", "(broadcast)"),
    ("https://[::ffff:127.0.0.1]/p", "(IPv4-mapped)"),
];

/// Names by which clouds know the machine's own secrets.
const NAMES: [&str; 4] = [
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://instance-data.internal/p",
    "https://printer.local/p",
    "https://router.home.arpa/p",
];

#[test]
fn sec_03_without_the_switch_no_policy_lets_a_caller_point_the_gateway_inside() {
    let canary = Canary::start();
    std::thread::scope(|scope| {
        for policy in ["require", "lenient", "development"] {
            let canary = &canary;
            scope.spawn(move || {
                let unlimited = Setup::new("[limits]\nanonymous = \"none\"\n[profiles]\nloopback = false\n");
                let gateway = unlimited.arguments(&["--policy", policy]).start();
                let port = canary.port().to_string();
                for (url, rule) in INSIDE.iter().chain(&AROUND) {
                    refused_everywhere(&gateway, &url.replace("PORT", &port), rule);
                }
                for url in NAMES {
                    refused_everywhere(&gateway, url, "not on the public Internet");
                }
            });
        }
    });
    canary.is_untouched();
}

#[test]
fn agt_02_plain_http_user_info_and_ports_of_other_services_are_refused() {
    let canary = Canary::start();
    let gateway = Setup::new("[profiles]\nloopback = false\n").start();
    let at = |url: &str| url.replace("PORT", &canary.port().to_string());
    for url in
        ["http://agent.example.com/p", "http://127.0.0.1:PORT/p", "ftp://agent.example.com/", "file:///etc/passwd"]
    {
        let refused = Ask::new(Transport::Rest, &at(url)).refusal(&gateway);
        invalid(&refused, url, "The profile address");
    }
    for url in [
        "https://user@agent.example.com/p",
        "https://user:hunter2@agent.example.com/p",
        "https://:hunter2@agent.example.com/p",
        "https://@agent.example.com/p",
        "https://agent.example.com@127.0.0.1:PORT/p",
        "https://agent.example.com:443@127.0.0.1:PORT/p",
    ] {
        let refused = Ask::new(Transport::Tool, &at(url)).refusal(&gateway);
        invalid(&refused, url, "carries user information");
        assert!(!refused.response.body.contains("hunter2"), "secrets are not repeated: {refused:?}");
    }
    for port in [22, 25, 3306, 5432, 6379, 11211] {
        refused_everywhere(&gateway, &format!("https://agent.example.com:{port}/p"), &format!("names port {port}"));
    }
    canary.is_untouched();
}

/// The switch for development opens this machine, and nothing else; under the policy for development, where only this
/// machine reaches the gateway, it is on by default.
#[test]
fn sec_03_the_switch_for_development_opens_loopback_alone() {
    opens_loopback_alone(&requiring());
    opens_loopback_alone(&Setup::new("").start());
}

fn opens_loopback_alone(gateway: &Gateway) {
    let host = Host::start();
    let port = host.address().port();
    for (number, host_name) in ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "127.1"].into_iter().enumerate() {
        host.profile(&format!("/{number}"), &profile_of(Release::NEWEST));
        Ask::new(Transport::Rest, &format!("http://{host_name}:{port}/{number}")).answer(gateway);
    }
    for (url, rule) in AROUND {
        refused_everywhere(gateway, url, rule);
        // Plain http is for this machine only; which of the two rules is named does not matter.
        refused_everywhere(gateway, &url.replace("https:", "http:"), "The profile address");
    }
    refused_everywhere(gateway, "http://agent.example.com/p", "not an https address");
    refused_everywhere(gateway, &format!("http://user@127.0.0.1:{port}/0"), "user information");
}

#[test]
fn sec_03_registered_platforms_obey_the_same_rules() {
    for (url, rule) in [
        ("https://169.254.169.254/p", "link local"),
        ("http://agent.example.com/p", "https"),
        ("https://localhost/p", "public Internet"),
        ("https://u:hunter2@agent.example.com/p", "user information"),
    ] {
        let platform = format!("[profiles]\nloopback = false\n[[platform]]\nname = \"One\"\nprofile = \"{url}\"\n");
        let setup = Setup::new(&platform);
        let said = setup.run("check-config").expect_err("refused");
        assert!(said.contains("`platform[0].profile`") && said.contains(rule), "{said}");
        assert!(!said.contains("hunter2"), "{said}");
    }
}
