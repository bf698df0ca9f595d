//! URLs to which webhooks are never sent, however a platform's profile states them (rules SEC-02, SEC-03, WHK-01).

use ucp_trust::jwk::Algorithm;

use super::*;
use crate::{
    platforms::host::Page,
    signatures::{Draft, key},
};

/// Addresses that nothing may be sent to, with what is said about them. `PORT` stands for one where somebody listens.
const FORBIDDEN: &[(&str, &str)] = &[
    ("http://0.0.0.0:PORT/x", "(this network)"),
    ("http://[::ffff:127.0.0.1]:PORT/x", "(IPv4-mapped)"),
    ("http://user:hunter2@127.0.0.1:PORT/x", "carries user information"),
    ("http://169.254.169.254/latest/meta-data", "(link local)"),
    ("https://169.254.169.254/latest/meta-data", "(link local)"),
    ("https://10.0.0.1/x", "(private use)"),
    ("https://[fd00:ec2::254]/x", "(unique local)"),
    ("http://hooks.example.com/x", "not an https address"),
    ("ftp://127.0.0.1:PORT/x", "not an https address"),
    ("file:///etc/passwd", ""),
    ("/x", ""),
];

/// The same where not even this machine may be reached.
const INSIDE: &[&str] = &[
    "http://127.0.0.1:PORT/x",
    "https://127.0.0.1:PORT/x",
    "https://localhost:PORT/x",
    "https://2130706433:PORT/x",
    "https://127.1:PORT/x",
    "https://[::1]:PORT/x",
    "https://metadata.google.internal/computeMetadata/v1/",
    "https://printer.local/x",
];

/// The webhook of the only order of a platform.
#[track_caller]
fn of(place: &WebhookSetup, platform: &str) -> Value {
    let all = place.json(&["webhooks", "list", "--limit", "1000"]);
    let mut own = crate::harness::elements(&all).iter().filter(|one| one["owner"] == platform);
    own.next().unwrap_or_else(|| panic!("a webhook of {platform}: {all}")).clone()
}

/// The webhook of a platform once it was tried again at once.
#[track_caller]
fn tried_again(place: &WebhookSetup, platform: &str) -> Value {
    let before = of(place, platform);
    place.run(&["webhooks", "resend", id(&before)]);
    eventually("it is tried again", Duration::from_secs(60), || {
        let now = listed(|| of(place, platform));
        Some(now).filter(|one| one["attempts"].as_u64() > before["attempts"].as_u64())
    })
}

/// A profile is looked at again at once when its platform signs with a key that it does not have yet.
fn look_again(place: &WebhookSetup, host: &Host, profile: &str) {
    let path = profile.strip_prefix(&host.url("")).expect("a path of the host");
    let visits = host.visits(path);
    Draft::new(&place.gateway, Transport::Rest, profile).signed(&key(Algorithm::Es256)).send(&place.gateway);
    assert_eq!(host.visits(path), visits + 1, "the profile is looked at again");
}

#[test]
fn sec_03_a_profile_that_turns_to_a_forbidden_address_gets_nothing_sent_there() {
    let mut place = WebhookSetup::open();
    let canary = Canary::start();
    let redirecting = Host::start();
    redirecting.put_everywhere(Page::redirect(307, &canary.url()));
    let redirect = (redirecting.url("/x"), "answered with a redirect (307), which is not followed");
    let at = |url: &str| url.replace("PORT", &canary.port().to_string());
    let turns = FORBIDDEN.iter().map(|(url, said)| (at(url), *said)).chain([redirect]);
    // Profiles are fetched at a limited rate per host.
    let platforms: Vec<_> = turns
        .map(|(url, said)| {
            let (host, receiver) = (Host::start(), Receiver::start(vec![Answer::status(500); 100]));
            let name = host.profile("/p", &profile(Release::NEWEST, Some(&receiver.url())));
            place.order(Release::NEWEST, &name);
            (host, receiver, name, url, said)
        })
        .collect();
    for (host, receiver, name, url, said) in &platforms {
        // The running gateway knows a good address, and sends there.
        receiver.after(1);
        host.profile("/p", &profile(Release::NEWEST, Some(url)));
        look_again(&place, host, name);
        // One try may have begun before the profile was looked at again, none after it.
        tried_again(&place, name);
        let arrived = receiver.deliveries().len();
        let webhook = tried_again(&place, name);
        assert_eq!(receiver.deliveries().len(), arrived, "{url}");
        assert_eq!(webhook["state"], "waiting", "{webhook}");
        let problem = webhook["problem"].as_str().expect("a problem");
        assert!(problem.contains(said) && !problem.contains("hunter2"), "{url}: {problem}");
        let whose = if said.contains("redirect") { "the platform " } else { "the webhook address " };
        assert!(problem.starts_with(whose), "{url}: {problem}");
    }
    canary.is_untouched();
    assert!(redirecting.all_visits() > 0, "it was asked, and not followed");

    // Nothing is lost: what waited arrives when the profile names a good address again.
    for (host, receiver, ..) in &platforms {
        receiver.recover();
        host.profile("/p", &profile(Release::NEWEST, Some(&receiver.url())));
    }
    place.gateway.kill();
    let mut again = place.start_again();
    for (_, receiver, name, ..) in &platforms {
        place.run(&["webhooks", "resend", id(&of(&place, name))]);
        eventually("it is delivered", Duration::from_secs(60), || {
            (listed(|| of(&place, name))["state"] == "delivered").then_some(())
        });
        same(&receiver.deliveries());
    }
    again.terminate();
    canary.is_untouched();
}

#[test]
fn sec_03_in_public_not_even_this_machine_is_told() {
    let canary = Canary::start();
    let at = |url: &str| url.replace("PORT", &canary.port().to_string());
    let forbidden: Vec<_> = INSIDE.iter().chain(FORBIDDEN.iter().map(|(url, _)| url)).map(|url| at(url)).collect();
    // Profiles lie elsewhere, so that the operator knows them from files.
    let named = |number: usize| format!("https://agent.example.com/{number}");
    let mut configuration =
        "[callers]\npolicy = \"development\"\n[limits]\nanonymous = \"none\"\n[profiles]\nloopback = false\n"
            .to_owned();
    for number in 0..forbidden.len() {
        let name = named(number);
        configuration +=
            &format!("[[platform]]\nname = \"P{number}\"\nprofile = \"{name}\"\nprofile_file = \"{number}.json\"\n");
    }
    let mut setup = Setup::new(&configuration).arguments(&["--sample", "flower-shop"]);
    for (number, url) in forbidden.iter().enumerate() {
        setup = setup.file(&format!("{number}.json"), &profile(Release::NEWEST, Some(url)).to_string());
    }
    let data = crate::harness::folder();
    keys(&["generate"], data.path());
    let place = WebhookSetup { gateway: setup.start_on(data), host: Host::start(), keys: Vec::new() };
    for number in 0..forbidden.len() {
        place.order(Release::NEWEST, &named(number));
    }
    for (number, url) in forbidden.iter().enumerate() {
        let webhook = tried_again(&place, &named(number));
        assert_eq!(webhook["state"], "waiting", "{url}: {webhook}");
        let problem = webhook["problem"].as_str().expect("a problem");
        assert!(problem.starts_with("the webhook address ") && !problem.contains("hunter2"), "{url}: {problem}");
    }
    canary.is_untouched();
}
