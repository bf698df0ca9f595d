//! Bots that identify themselves by a signature over the host alone (Web Bot Auth).

use std::time::Duration;

use serde_json::{Value, json};
use ucp_core::Release;
use ucp_trust::{
    jwk::Algorithm,
    signature::{
        Scheme, SigningKey,
        bot::{BotSignature, DIRECTORY_PATH, directory},
    },
};

use super::{key, now};
use crate::{
    harness::{Gateway, sample_shop},
    platforms::host::{Host, Page},
    setup::{REQUIRE, Setup},
    wire::Response,
};

/// A bot's host, with these keys.
fn published(host: &Host, keys: &[&SigningKey]) -> String {
    let document = directory(keys.iter().map(|key| key.public()));
    host.put(DIRECTORY_PATH, Page::json(&document));
    host.url("")
}

/// A search of a bot over REST.
fn search(gateway: &Gateway, signature: &BotSignature, more: &[(&str, &str)]) -> Response {
    let fields: Vec<_> =
        signature.fields().map(|(name, value)| (name, value.to_str().expect("text").to_owned())).collect();
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    headers.extend(more);
    gateway.send("POST", "/catalog/search", &headers, br#"{"query":"runner"}"#)
}

fn signed(agent: &str, key: &SigningKey, lifetime: u64) -> BotSignature {
    let lifetime = Duration::from_secs(lifetime);
    BotSignature::make(agent, Scheme::Http, "localhost", key, now(), lifetime).expect("signs")
}

/// The same over MCP.
fn tool(gateway: &Gateway, signature: &BotSignature) -> Response {
    let fields: Vec<_> =
        signature.fields().map(|(name, value)| (name, value.to_str().expect("text").to_owned())).collect();
    let mut headers = vec![("Content-Type", "application/json")];
    headers.extend(fields.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let arguments = json!({ "meta": {}, "catalog": { "query": "runner" } });
    let call = json!({
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "search_catalog", "arguments": arguments },
    });
    gateway.send("POST", "/mcp", &headers, call.to_string().as_bytes())
}

fn code(response: &Response) -> Value {
    response.json()["code"].clone()
}

#[test]
fn a_bot_can_be_a_registered_platform() {
    let host = Host::start();
    for algorithm in Algorithm::HTTP {
        let own = key(algorithm);
        let agent = published(&host, &[&own, &key(Algorithm::Es256)]);
        let toml = format!("{REQUIRE}\n[[platform]]\nname = \"Bot\"\nsignature_agent = \"{agent}\"\n");
        let gateway = Setup::new(&toml).start();
        for answer in [
            search(&gateway, &signed(&agent, &own, 60), &[]),
            tool(&gateway, &signed(&agent, &own, 60)),
            // The same signature again, as bots send it with every request.
            search(&gateway, &signed(&format!("{agent}{DIRECTORY_PATH}"), &own, 3_600), &[]),
        ] {
            assert_eq!(answer.status, 200, "{answer:?}");
            assert!(answer.body.contains("Runner") || answer.body.contains("runner"), "{answer:?}");
        }
        let stranger = key(algorithm);
        let refused = search(&gateway, &signed(&agent, &stranger, 60), &[]);
        assert_eq!((refused.status, code(&refused)), (401, json!("key_not_found")), "{refused:?}");
        let long = search(&gateway, &signed(&agent, &own, 90_000), &[]);
        assert_eq!((long.status, code(&long)), (401, json!("signature_invalid")), "{long:?}");
        // Another host has another signature.
        let elsewhere = BotSignature::make(&agent, Scheme::Http, "shop.example", &own, now(), Duration::from_secs(60));
        let elsewhere = search(&gateway, &elsewhere.expect("signs"), &[]);
        assert_eq!((elsewhere.status, code(&elsewhere)), (401, json!("signature_invalid")), "{elsewhere:?}");
        // An unsigned request is not from the platform.
        let plain = gateway.send("POST", "/catalog/search", &[("Content-Type", "application/json")], b"{}");
        assert!(plain.status >= 400, "{plain:?}");
    }
}

#[test]
fn a_bot_that_nobody_registered_has_a_name_in_the_log_and_a_limit_of_its_own() {
    let host = Host::start();
    let own = key(Algorithm::Ed25519);
    let agent = published(&host, &[&own]);
    let toml = "[profiles]\nloopback = true\n[limits]\nanonymous = \"none\"\nsigned = { per_second = 1, burst = 3 }\n";
    let setup = Setup::new(toml).variable("UCP_GATEWAY_LOG_FORMAT", "json").variable("UCP_GATEWAY_LOG_LEVEL", "info");
    let data = sample_shop();
    let mut gateway = setup.spawn("127.0.0.1:0", data.path());
    let signature = signed(&agent, &own, 600);
    let agent_header = [("UCP-Agent", "profile=\"https://agent.example.com/profile.json\"")];
    let answers: Vec<_> = (0..12).map(|_| search(&gateway, &signature, &agent_header).status).collect();
    assert_eq!(answers[0], 200, "{answers:?}");
    assert!(answers.contains(&429), "a bot has a limit: {answers:?}");
    assert_eq!(host.visits(DIRECTORY_PATH), 1, "its keys are fetched once");
    gateway.terminate();
    let named = format!("\"agent\":\"{agent}\"");
    assert!(gateway.stderr().contains(&named), "{named} in {}", gateway.stderr());
}

#[test]
fn keys_of_bots_are_fetched_as_guardedly_as_profiles() {
    let host = Host::start();
    let own = key(Algorithm::Ed25519);
    let gateway = Setup::new(REQUIRE).start();
    for (page, expected) in [
        (Page::status(404), "profile_unreachable"),
        (Page::redirect(302, &host.url("/elsewhere")), "profile_unreachable"),
        (Page::json(&json!([])), "profile_malformed"),
        (Page::json(&json!({ "keys": "none" })), "profile_malformed"),
        (Page::json(&json!({ "keys": vec![json!({}); 1_000] })), "profile_malformed"),
        (Page::text("text/html", "<html>"), "profile_malformed"),
    ] {
        // Each has a host of its own: what failed is not fetched again for a while.
        let host = Host::start();
        host.put(DIRECTORY_PATH, page);
        let refused = search(&gateway, &signed(&host.url(""), &own, 60), &[]);
        assert_eq!(code(&refused), json!(expected), "{refused:?}");
        assert!(!refused.body.contains(crate::platforms::host::MARKER), "{refused:?}");
        let again = search(&gateway, &signed(&host.url(""), &own, 60), &[]);
        assert_eq!(code(&again), json!(expected), "{again:?}");
        assert_eq!(host.visits(DIRECTORY_PATH), 1, "{expected}");
    }
    for elsewhere in ["http://10.0.0.1", "https://192.168.0.1", "ftp://bot.example", "https://bot.example/keys"] {
        let refused = search(&gateway, &signed(elsewhere, &own, 60), &[]);
        assert_eq!((refused.status, code(&refused)), (401, json!("signature_invalid")), "{elsewhere}: {refused:?}");
    }
    assert_eq!(host.all_visits(), 0);
}

#[test]
fn a_signature_for_ucp_counts_more_than_its_tag() {
    // A platform may send one signature for both purposes, which is judged with the keys of its profile (rule SIG-13).
    let host = Host::start();
    let own = key(Algorithm::Ed25519);
    let agent = published(&host, &[&own]);
    let profile =
        host.profile("/profile", &super::signing(crate::platforms::host::profile_of(Release::NEWEST), &[&own]));
    let gateway = Setup::new(REQUIRE).start();
    let draft = super::Draft::new(&gateway, crate::setup::Transport::Rest, &profile);
    draft.with("Signature-Agent", &format!("\"{agent}\"")).signed(&own).is_answered(&gateway);
    assert_eq!(host.visits(DIRECTORY_PATH), 0, "the keys of the bot are not needed");
}
