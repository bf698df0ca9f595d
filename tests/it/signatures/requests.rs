//! Requests that platforms sign.

use super::*;
use crate::harness::eventually;

const MISMATCH: (u16, &str) = (400, "digest_mismatch");
const INVALID: (u16, &str) = (401, "signature_invalid");
const MISSING: (u16, &str) = (401, "signature_missing");
const FOREIGN: (u16, &str) = (403, "origin_forbidden");
const NOT_FOUND: (u16, &str) = (401, "key_not_found");

#[test]
fn sig_01_signed_requests_are_accepted_whichever_member_publishes_the_key() {
    let (gateway, host) = place();
    for algorithm in Algorithm::HTTP {
        let key = key(algorithm);
        let jwk = key.public().to_jwk().expect("a JWK");
        for (path, release, members) in [
            ("keys", Release::V2026_08_25, &["keys"][..]),
            ("signing_keys", Release::V2026_08_25, &["signing_keys"]),
            ("both", Release::V2026_08_25, &["keys", "signing_keys"]),
            ("older", Release::V2026_04_08, &["signing_keys"]),
            ("oldest", Release::V2026_01_11, &["signing_keys"]),
        ] {
            let mut profile = profile_of(release);
            for member in members {
                profile[*member] = json!([jwk]);
            }
            let url = host.profile(&format!("/{path}/{algorithm:?}"), &profile);
            for transport in Transport::ALL {
                let draft = Draft::new(&gateway, transport, &url);
                draft.clone().signed(&key).is_answered(&gateway);
                draft.clone().with("Idempotency-Key", "k-1").signed(&key).is_answered(&gateway);
                // A signer may be reached by a host name, too.
                draft.with("Host", &format!("localhost:{}", gateway.address.port())).signed(&key).is_answered(&gateway);
            }
        }
    }
}

#[test]
fn sig_03_a_body_that_was_tampered_with_is_found_out() {
    let (gateway, host) = place();
    let key = key(Algorithm::Es256);
    let url = host.profile("/p", &profile(&[&key]));
    for transport in Transport::ALL {
        let draft = Draft::new(&gateway, transport, &url).signed(&key);
        let text = String::from_utf8(draft.body.clone()).expect("a text");
        for body in [text.replace("prod_abc123", "prod_def456"), format!("{text} "), "{".to_owned(), String::new()] {
            let tampered = draft.clone().saying(body.as_bytes());
            let response = tampered.send(&gateway);
            let refused = Refused::read(transport, &response);
            // Bytes are judged before they are parsed (SIG-07, SIG-08): this is about the digest, never about JSON.
            assert_eq!(refused.verdict(), MISMATCH, "{body}: {refused:?}");
            assert_eq!(refused.number.unwrap_or(-32600), -32600, "{refused:?}");
        }
        let other = draft.clone().with("Content-Digest", "sha-256=:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=:");
        other.is_refused(&gateway, MISMATCH, "");
    }
}

#[test]
fn sig_04_whatever_is_altered_after_signing_is_found_out() {
    let (gateway, host) = place();
    let (own, foreign) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let url = host.profile("/p", &profile(&[&own]));
    for transport in Transport::ALL {
        let draft = Draft::new(&gateway, transport, &url).with("Idempotency-Key", "k-1").signed(&own);
        draft.is_answered(&gateway);
        let other_signature = Draft::new(&gateway, transport, &url).signed(&own).header("signature").to_owned();
        // Made with another key under the same name.
        let forged = Draft::new(&gateway, transport, &url).signed(&foreign);
        let input = forged.header("signature-input").replace(foreign.public().kid(), own.public().kid());
        let version = draft.header("ucp-agent").to_owned() + "; version=\"2026-04-08\"";
        for altered in [
            draft.clone().with("UCP-Agent", &version),
            draft.clone().with("Content-Type", "application/json; charset=utf-8"),
            draft.clone().with("Idempotency-Key", "k-2"),
            draft.clone().with("Host", "127.0.0.1"),
            draft.clone().with("Host", "localhost"),
            draft.clone().with("Signature", &other_signature),
            Draft { path: format!("{}?x=1", draft.path), ..draft.clone() },
            forged.with("Signature-Input", &input),
        ] {
            altered.is_refused(&gateway, INVALID, "");
        }
        draft
            .clone()
            .with("Host", "elsewhere.example")
            .send(&gateway)
            .status
            .to_string()
            .starts_with('4')
            .then_some(())
            .expect("a refusal");
        let elsewhere = Draft::new(&gateway, Transport::Rest, &url).with("Host", "elsewhere.example").signed(&own);
        elsewhere.is_refused(&gateway, FOREIGN, "Unknown `Host`");
    }
}

/// Behind a proxy, what counts is the host that the platform sees.
#[test]
fn sig_04_the_authority_is_that_of_the_public_address() {
    let (key, url) = (key(Algorithm::Es256), "https://agent.example.com/p");
    let configuration = format!(
        "[server]\npublic_url = \"https://shop.example.com\"\n[callers]\npolicy = \"require\"\n[limits]\nunverified = \"none\"\n\
         [[platform]]\nname = \"One\"\nprofile = \"{url}\"\nprofile_file = \"p.json\"\n"
    );
    let listen = ucp_testkit::leash::free_address();
    let setup = Setup::new(&configuration).file("p.json", &profile(&[&key]).to_string());
    let data = crate::harness::sample_shop();
    let mut command = setup.command("serve");
    command.args(["--listen", &listen.to_string(), "--data-dir"]).arg(data.path());
    let gateway = Gateway::spawn(&command, Some(listen));
    for transport in Transport::ALL {
        let to = |host: &str| Draft::new(&gateway, transport, url).with("Host", host);
        for host in ["shop.example.com", "shop.example.com:443", "SHOP.example.com"] {
            to(host).signed_over(Scheme::Https, &key, now()).is_answered(&gateway);
        }
        // The port that goes without saying is the one of the scheme under which the gateway is reached.
        let plain = to("shop.example.com").signed(&key).with("Host", "shop.example.com:443");
        plain.is_answered(&gateway);
        let other = to("shop.example.com").signed_over(Scheme::Https, &key, now());
        other.with("Host", "shop.example.com:8443").is_refused(&gateway, INVALID, "");
    }
    for host in ["other.example.com", "shop.example.com.evil.example", "evil-shop.example.com"] {
        let draft = Draft::new(&gateway, Transport::Rest, url).with("Host", host);
        let refused = draft.signed_over(Scheme::Https, &key, now());
        refused.is_refused(&gateway, FOREIGN, "Unknown `Host`");
    }
}

#[test]
fn sig_02_only_raw_signatures_count() {
    let (gateway, host) = place();
    let key = key(Algorithm::Es256);
    let url = host.profile("/p", &profile(&[&key]));
    let draft = Draft::new(&gateway, Transport::Rest, &url).signed(&key);
    // A signature in ASN.1/DER, as many libraries make them unless told otherwise.
    let der = "sig1=:MEUCIQDXTQ7F8k6l5d7lq9d1V1vYV8J9m0m5yq3yq3yq3yq3ygIgXTQ7F8k6l5d7lq9d1V1vYV8J9m0m5yq3yq3yq3yq3yo=:";
    draft.clone().with("Signature", der).is_refused(&gateway, INVALID, "looks like ASN.1/DER");
    for (signature, words) in
        [("sig1=:AAAA:", "3 bytes instead of the 64"), ("sig1=?1", "not a byte sequence"), ("sig2=:AAAA:", "")]
    {
        draft.clone().with("Signature", signature).is_refused(&gateway, INVALID, words);
    }
    draft.clone().with("Signature", "%&/").is_refused(&gateway, INVALID, "cannot be read");
}

#[test]
fn sig_13_a_signature_that_leaves_out_what_it_has_to_cover_does_not_count() {
    let (gateway, host) = place();
    let key = key(Algorithm::Es256);
    let url = host.profile("/p", &profile(&[&key]));
    for transport in Transport::ALL {
        let draft = Draft::new(&gateway, transport, &url).signed(&key).with("Idempotency-Key", "k-1");
        draft.is_refused(&gateway, INVALID, "does not cover \"idempotency-key\"");
        for component in ["@method", "@authority", "@path", "ucp-agent", "content-digest", "content-type"] {
            let draft = Draft::new(&gateway, transport, &url).signed(&key);
            let input = draft.header("signature-input").replace(&format!("\"{component}\""), "");
            draft.with("Signature-Input", &input).is_refused(&gateway, INVALID, &format!("\"{component}\""));
        }
    }
    // One that does is enough, whatever else is there.
    let draft = Draft::new(&gateway, Transport::Rest, &url).signed(&key);
    let input = format!("old=(\"@method\");keyid=\"gone\", {}", draft.header("signature-input"));
    let signature = format!("old=:AAAA:, {}", draft.header("signature"));
    draft.with("Signature-Input", &input).with("Signature", &signature).is_answered(&gateway);
}

#[test]
fn half_a_signature_is_none_and_is_not_passed_over() {
    let (gateway, host) = place();
    let key = key(Algorithm::Es256);
    let url = host.profile("/p", &profile(&[&key]));
    for transport in Transport::ALL {
        let draft = Draft::new(&gateway, transport, &url).signed(&key);
        draft.clone().without("signature").is_refused(&gateway, MISSING, "Signature is not");
        draft.clone().without("signature-input").is_refused(&gateway, MISSING, "Signature-Input is not");
    }
    assert_eq!(host.all_visits(), 0, "nothing is fetched for it");
}

#[test]
fn sig_06_a_signature_from_the_future_does_not_count() {
    let (gateway, host) = place();
    let key = key(Algorithm::Es256);
    let url = host.profile("/p", &profile(&[&key]));
    let draft = || Draft::new(&gateway, Transport::Rest, &url);
    draft().signed_at(&key, now() + Duration::from_secs(3_600)).is_refused(&gateway, INVALID, "in the future");
    draft().signed_at(&key, now() - Duration::from_secs(3_600)).is_answered(&gateway);
}

#[test]
fn agt_06_an_unknown_key_is_looked_for_once_and_no_more() {
    let (gateway, host) = place();
    let (known, unknown) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let url = host.profile("/p", &profile(&[&known]));
    Draft::new(&gateway, Transport::Rest, &url).signed(&known).is_answered(&gateway);
    assert_eq!(host.visits("/p"), 1);
    for round in 0..10 {
        for transport in Transport::ALL {
            let draft = Draft::new(&gateway, transport, &url).signed(&unknown);
            draft.is_refused(&gateway, NOT_FOUND, unknown.public().kid());
            assert_eq!(host.visits("/p"), 2, "round {round}");
        }
    }
    // Those whose key is known notice nothing.
    Draft::new(&gateway, Transport::Tool, &url).signed(&known).is_answered(&gateway);
    assert_eq!(host.visits("/p"), 2);
}

/// The floor is one for all profiles of a host; and what the operator has pinned is never looked up.
#[test]
fn agt_06_other_profiles_of_the_host_do_not_widen_the_floor() {
    let host = Host::start();
    let (known, unknown) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let pinned = host.url("/pinned");
    let registered = format!("[[platform]]\nname = \"One\"\nprofile = \"{pinned}\"\nprofile_file = \"p.json\"\n");
    let gateway = Setup::new(&[REQUIRE, &registered].concat()).file("p.json", &profile(&[&known]).to_string()).start();
    let urls: Vec<_> = (0..5).map(|number| host.profile(&format!("/{number}"), &profile(&[&known]))).collect();
    for url in &urls {
        Draft::new(&gateway, Transport::Rest, url).signed(&known).is_answered(&gateway);
    }
    for url in &urls {
        Draft::new(&gateway, Transport::Rest, url).signed(&unknown).is_refused(&gateway, NOT_FOUND, "");
    }
    assert_eq!(host.all_visits(), urls.len() + 1, "one refresh for all of them");
    Draft::new(&gateway, Transport::Tool, &pinned).signed(&known).is_answered(&gateway);
    Draft::new(&gateway, Transport::Tool, &pinned).signed(&unknown).is_refused(&gateway, NOT_FOUND, "");
    assert_eq!(host.visits("/pinned"), 0);
}

/// Signed requests count against the domain of their profile, whatever their network address.
#[test]
fn err_03_the_platforms_of_a_domain_that_sign_have_one_limit() {
    let host = Host::start();
    let (one, other) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let (own, others) = (host.profile("/one", &profile(&[&one])), host.profile("/other", &profile(&[&other])));
    let configuration = REQUIRE
        .replace("signed = \"none\"", "signed = { per_second = 1, burst = 3 }")
        .replace("[callers]", "[server]\n trusted_proxies = [\"127.0.0.1\"]\n [callers]");
    let gateway = Configured::start(&configuration);
    let refused = (0..500)
        .map(|number| {
            let draft = Draft::new(&gateway, Transport::ALL[number % 3], &own);
            draft.with("X-Forwarded-For", &format!("198.51.100.{}", number % 250)).signed(&one).send(&gateway)
        })
        .find(|response| response.status != 200)
        .expect("a limit");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.body.contains("requests from one domain"), "{refused:?}");
    assert_eq!(Draft::new(&gateway, Transport::Rest, &others).signed(&other).send(&gateway).status, 429);
    let elsewhere = others.replace("127.0.0.1", "localhost");
    Draft::new(&gateway, Transport::Rest, &elsewhere).signed(&other).is_answered(&gateway);
    // Nor does one speak for another by not signing: that is counted by address.
    Draft::new(&gateway, Transport::Rest, &own).is_answered(&gateway);
}

#[test]
fn agt_06_a_key_that_a_platform_has_just_made_is_found() {
    let (gateway, host) = place();
    let (old, new) = (key(Algorithm::Es256), key(Algorithm::Es384));
    let url = host.profile("/p", &profile(&[&old]));
    Draft::new(&gateway, Transport::Tool, &url).signed(&old).is_answered(&gateway);
    host.profile("/p", &profile(&[&new, &old]));
    for transport in Transport::ALL {
        Draft::new(&gateway, transport, &url).signed(&new).is_answered(&gateway);
        Draft::new(&gateway, transport, &url).signed(&old).is_answered(&gateway);
    }
    assert_eq!(host.visits("/p"), 2);
}

#[test]
fn agt_09_a_signature_speaks_for_the_profile_in_the_header_alone() {
    let host = Host::start();
    let (one, other) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let (own, others) = (host.profile("/one", &profile(&[&one])), host.profile("/other", &profile(&[&other])));
    let api_key = ucp_trust::api_key::ApiKey::generate().expect("random bytes");
    let registered =
        format!("[[platform]]\nname = \"Other\"\nprofile = \"{others}\"\napi_key_hash = \"{}\"\n", api_key.hash());
    let gateway = Configured::start(&[REQUIRE, &registered].concat());
    for transport in Transport::ALL {
        eventually("the registered platform is known", Duration::from_secs(30), || {
            let response = Draft::new(&gateway, transport, &others).signed(&other).send(&gateway);
            (response.status == 200).then_some(())
        });
        // Another's name under one's own signature.
        Draft::new(&gateway, transport, &others).signed(&one).is_refused(&gateway, NOT_FOUND, one.public().kid());
        // One's own signature, and the API key of another.
        let both = Draft::new(&gateway, transport, &own).with("X-API-Key", api_key.reveal());
        both.signed(&one).is_refused(&gateway, (403, "forbidden"), "different platforms");
        let both = Draft::new(&gateway, transport, &others).with("X-API-Key", api_key.reveal());
        both.signed(&other).is_answered(&gateway);
    }
    for transport in [Transport::Tool, Transport::Method] {
        // The header is what is signed; arguments that say something else are refused, and alone they are not enough.
        let body = Draft::new(&gateway, transport, &others).body;
        let refused = Draft::new(&gateway, transport, &own).saying(&body).signed(&one).send(&gateway);
        assert_eq!(Refused::read(transport, &refused).verdict(), (400, "invalid_profile_url"));
        let refused = Draft::new(&gateway, transport, &own).without("ucp-agent").signed(&one).send(&gateway);
        assert_eq!(Refused::read(transport, &refused).verdict(), (400, "invalid_profile_url"));
    }
}

#[test]
fn sig_09_enforced_means_that_nobody_gets_in_unsigned() {
    let host = Host::start();
    let (key, api_key) = (key(Algorithm::Es256), ucp_trust::api_key::ApiKey::generate().expect("random bytes"));
    let url = host.profile("/p", &profile(&[&key]));
    let configuration = format!(
        "{REQUIRE}\n[signatures]\nbrowsing = \"enforce\"\n[[platform]]\nname = \"One\"\nprofile = \"{url}\"\n\
         profile_file = \"p.json\"\napi_key_hash = \"{}\"\n",
        api_key.hash()
    );
    let gateway = Setup::new(&configuration).file("p.json", &profile(&[&key]).to_string()).start();
    for transport in Transport::ALL {
        let draft = Draft::new(&gateway, transport, &url);
        draft.is_refused(&gateway, MISSING, "requires a signed request");
        draft.clone().with("X-API-Key", api_key.reveal()).is_refused(&gateway, MISSING, "requires a signed request");
        draft.signed(&key).is_answered(&gateway);
    }
    // A request that is not an operation needs no signature.
    let listed = gateway.rpc(&crate::harness::rpc("tools/list", &json!({})));
    assert_eq!(listed.status, 200);
    assert_eq!(host.all_visits(), 0);
}

#[test]
fn signatures_that_are_switched_off_are_not_looked_at() {
    let host = Host::start();
    let key = key(Algorithm::Es256);
    let url = host.profile("/p", &profile(&[&key]));
    let off = "\n[signatures]\nbrowsing = \"off\"\npurchase = \"off\"\norder = \"off\"\n";
    let gateway = Configured::start(&[REQUIRE, off].concat());
    for transport in Transport::ALL {
        let draft = Draft::new(&gateway, transport, &url).signed(&key);
        draft.clone().with("Signature", "sig1=:AAAA:").is_answered(&gateway);
        draft.without("signature").is_answered(&gateway);
    }
}

/// A signature that is wrong costs work, and so it counts against the address it comes from.
#[test]
fn wrong_signatures_are_limited() {
    let host = Host::start();
    let (own, foreign) = (key(Algorithm::Es256), key(Algorithm::Es256));
    let url = host.profile("/p", &profile(&[&own]));
    let configuration = REQUIRE.replace("unverified = \"none\"", "unverified = { per_second = 1, burst = 3 }");
    let gateway = Configured::start(&configuration);
    for _ in 0..10 {
        Draft::new(&gateway, Transport::Rest, &url).signed(&own).is_answered(&gateway);
    }
    let wrong = Draft::new(&gateway, Transport::Tool, &url).signed(&foreign);
    let refused = (0..500).map(|_| wrong.send(&gateway)).find(|response| response.status != 401).expect("a limit");
    let refused = Refused::read(Transport::Tool, &refused);
    assert_eq!((refused.verdict(), refused.number), ((429, "rate_limited"), Some(-32000)));
    assert!(refused.content.contains("do not verify"), "{refused:?}");
    assert!(refused.retry_after().is_some());
}

/// A policy that serves callers without an available profile also serves them with a signature: it proves nothing, and
/// they are served as unproven.
#[test]
fn a_signature_that_cannot_be_verified_is_worth_as_much_as_none() {
    let (host, key) = (Host::start(), key(Algorithm::Es256));
    for (policy, warned) in [("lenient", true), ("development", false)] {
        let configuration = REQUIRE.replace("\"require\"", &format!("\"{policy}\""));
        let gateway = Configured::start(&configuration);
        let enforcing = Configured::start(&[&configuration, "[signatures]\nbrowsing = \"enforce\"\n"].concat());
        for transport in Transport::ALL {
            let draft = Draft::new(&gateway, transport, &host.url("/missing")).signed(&key);
            let response = draft.send(&gateway);
            assert_eq!(response.status, 200, "{policy}: {response:?}");
            assert_eq!(response.body.contains("profile_unreachable"), warned, "{policy}: {response:?}");
            let draft = Draft::new(&enforcing, transport, &host.url("/missing")).signed(&key);
            assert!(draft.send(&enforcing).status >= 400, "{policy}: who has to prove something has to prove it");
        }
    }
}

/// A platform whose profile cannot be had cannot prove anything either.
#[test]
fn sig_07_without_a_profile_there_is_nothing_to_verify_with() {
    let (gateway, host) = place();
    let key = key(Algorithm::Es256);
    for transport in Transport::ALL {
        let refused = Draft::new(&gateway, transport, &host.url("/missing")).signed(&key).send(&gateway);
        assert_eq!(Refused::read(transport, &refused).verdict(), (424, "profile_unreachable"));
        let refused = Draft::new(&gateway, transport, "https://10.0.0.1/p").signed(&key).send(&gateway);
        assert_eq!(Refused::read(transport, &refused).verdict(), (400, "invalid_profile_url"));
    }
}
