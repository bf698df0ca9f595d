//! An API key says who calls: nothing else has to (rule AGT-09).

use std::{fs, process::Command};

use serde_json::{Value, json};
use ucp_testkit::wait::PATIENCE;

use super::*;
use crate::{
    harness::{Ends as _, Gateway, binary, elements, eventually, rpc, sample_shop, texts},
    purchase::shopper::{Shopper, lines, ready},
};

/// A gateway that knows a platform which publishes no profile.
fn desk(key: &ApiKey) -> Configured {
    Setup::new(&format!("{REQUIRE}\n[[platform]]\nname = \"Our desk\"\n{}\n", hash(key))).start()
}

fn release_of(answer: &Value) -> &str {
    answer["ucp"]["version"].as_str().expect("a release")
}

#[test]
fn a_key_alone_is_negotiated_with_as_its_platform() {
    let key = new_key();
    let platform = platform("One", "https://one.example.com/profile.json", &hash(&key));
    let gateway = Setup::new(&[REQUIRE, &platform].concat())
        .file("profile.json", &profile_of(Release::V2026_04_08).to_string())
        .start();
    for transport in Transport::ALL {
        let ask = Ask::new(transport, "").unnamed();
        let answer = ask.clone().header("X-API-Key", key.reveal()).answer(&gateway);
        assert_eq!(release_of(&answer), Release::V2026_04_08.date());
        let refused = ask.refusal(&gateway);
        assert_eq!(refused.verdict(), (400, "invalid_profile_url"));
        assert!(refused.body.to_string().contains("or an API key of a registered platform"), "{refused:?}");
    }
}

#[test]
fn a_platform_without_a_profile_has_everything_of_the_endpoint() {
    let (key, host) = (new_key(), Host::start());
    let gateway = desk(&key);
    let older = host.profile("/older", &profile_of(Release::V2026_04_08));
    for transport in Transport::ALL {
        let ask = |profile: &str| Ask::new(transport, profile).header("X-API-Key", key.reveal());
        assert_eq!(release_of(&ask("").unnamed().answer(&gateway)), Release::NEWEST.date());
        let at_older = ask("").unnamed().at(Some(Release::V2026_04_08));
        assert_eq!(release_of(&at_older.answer(&gateway)), Release::V2026_04_08.date());
        // A profile says what the platform can do, and may be out of reach.
        assert_eq!(release_of(&ask(&older).answer(&gateway)), Release::V2026_04_08.date());
        assert_eq!(release_of(&ask("https://nowhere.invalid/p").answer(&gateway)), Release::NEWEST.date());
    }
}

#[test]
fn a_platform_without_a_profile_owns_what_it_makes() {
    let (key, other) = (new_key(), new_key());
    let other_platform = format!("[[platform]]\nname = \"Other desk\"\n{}\n", hash(&other));
    let own_platform = format!("[[platform]]\nname = \"Our desk\"\n{}\n", hash(&key));
    let gateway = Setup::new(&format!("{REQUIRE}\n{own_platform}{other_platform}")).start();
    let stated = "https://nowhere.invalid/profile.json";
    let desk = |key: &ApiKey| Shopper::rest(&gateway).named(stated).header("X-API-Key", key.reveal());
    let cart = desk(&key).call("create_cart", None, &json!({ "line_items": lines(&[("var_abc123_blue_10", 1)]) }));
    let cart = cart.document();
    let path = format!("/carts/{}", cart["id"].as_str().expect("an id"));
    let get = |headers: &[(&str, &str)]| gateway.send("GET", &path, headers, b"").json();
    assert_eq!(get(&[("X-API-Key", key.reveal())])["id"], cart["id"], "with or without a profile");
    assert_eq!(crate::harness::codes(&get(&[("X-API-Key", other.reveal())])), ["not_found"]);
    let stranger = get(&[("UCP-Agent", "profile=\"urn:ucp-gateway:platform:Our+desk\"")]);
    assert_eq!(stranger["code"], "invalid_profile_url", "{stranger}");
}

#[test]
fn an_order_of_a_platform_without_a_profile_is_told_to_nobody() {
    let (key, data) = (new_key(), sample_shop());
    let made = binary().args(["keys", "generate", "--data-dir"]).arg(data.path()).ends();
    assert!(made.status.success(), "{made:?}");
    let sandbox = "[[payment]]\nkind = \"sandbox\"\nid = \"mock_payment_handler\"\n";
    let gateway =
        Setup::new(&format!("{REQUIRE}\n{sandbox}[[platform]]\nname = \"Our desk\"\n{}\n", hash(&key))).start_on(data);
    let shopper =
        Shopper::rest(&gateway).named("https://nowhere.invalid/profile.json").header("X-API-Key", key.reveal());
    let checkout = shopper.create(&ready(&[("var_abc123_blue_10", 1)]));
    let paid = shopper.complete(&checkout, "success_token");
    assert_eq!(paid["status"], "completed", "{paid}");
    let told = || {
        let listed = binary().args(["webhooks", "list", "--data-dir"]).arg(gateway.data()).ends();
        let listed = String::from_utf8(listed.stdout).expect("text");
        (listed.contains("urn:ucp-gateway:platform:Our+desk") && !listed.contains("waiting")).then_some(())
    };
    eventually("the event is settled", PATIENCE, told);
    assert!(!gateway.stderr().contains("webhook"), "{}", gateway.stderr());
}

#[test]
fn tools_need_no_platform_from_a_caller_with_a_key() {
    let key = new_key();
    let gateway = desk(&key);
    let list = |headers: &[(&str, &str)]| {
        let headers = [&[("Content-Type", "application/json")], headers].concat();
        gateway.send("POST", "/mcp", &headers, rpc("tools/list", &json!({})).to_string().as_bytes()).json()
    };
    let requires = |listed: &Value, name: &str| {
        let tools = elements(&listed["result"]["tools"]);
        let tool = tools.iter().find(|tool| tool["name"] == name).expect("a tool");
        elements(&tool["inputSchema"]["required"]).contains(&json!("meta"))
    };
    let (strangers, own) = (list(&[]), list(&[("X-API-Key", key.reveal())]));
    assert!(requires(&strangers, "search_catalog") && requires(&strangers, "complete_checkout"));
    assert!(!requires(&own, "search_catalog") && requires(&own, "complete_checkout"), "the key of the call is in it");
    let names = |listed: &Value| -> Vec<String> {
        texts(&listed["result"]["tools"], "name").into_iter().map(str::to_owned).collect()
    };
    assert_eq!(names(&strangers), names(&own));
}

#[test]
fn a_platform_is_known_by_something() {
    let refused = Setup::new("[[platform]]\nname = \"Nobody\"\n").run("check-config").expect_err("refused");
    assert!(refused.contains("`platform[0].profile`") && refused.contains("by which it is known"), "{refused}");
}

/// The call that a gateway prints which others can reach.
fn printed_call(gateway: &Gateway) -> String {
    let place = gateway.welcome.iter().position(|line| line.trim_start().starts_with("curl ")).expect("a call");
    gateway.welcome[place..].join("\n")
}

#[test]
fn the_first_start_prints_a_call_that_succeeds() {
    let data = sample_shop();
    let start = || {
        let mut command = binary();
        command.args(["serve", "--listen", "0.0.0.0:0", "--data-dir"]).arg(data.path());
        Gateway::spawn(&command, None)
    };
    let search = |authorization: &str, gateway: &Gateway| {
        let headers = [("Content-Type", "application/json"), ("Authorization", authorization)];
        gateway.send("POST", "/catalog/search", &headers, b"{\"query\":\"blue running shoes\"}").status
    };
    let gateway = start();
    let call = printed_call(&gateway);
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &call]).ends();
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {call}"));
    assert!(!elements(&answer["products"]).is_empty(), "{call}: {answer}");
    let (_, key) = call.split_once("Authorization: ").expect("a key");
    let key = key.split_once('\'').expect("its end").0.to_owned();
    drop(gateway);

    let file = data.path().join("first-api-key");
    assert!(!fs::read_to_string(&file).expect("its hash").contains(&key["Bearer ".len()..]), "only its hash is kept");
    let again = start();
    assert!(!again.welcome.join("\n").contains("ucpk_"), "{:?}", again.welcome);
    assert_eq!(search(&key, &again), 200);
    drop(again);
    fs::write(&file, "").expect("revoked");
    let revoked = start();
    assert!(!revoked.welcome.join("\n").contains("ucpk_"), "{:?}", revoked.welcome);
    assert_eq!(search(&key, &revoked), 401);
}

#[test]
fn no_key_is_made_where_nobody_needs_one() {
    let key = new_key();
    let configured = format!("[[platform]]\nname = \"Our desk\"\n{}\n", hash(&key));
    for (configuration, listen, arguments) in
        [("", "127.0.0.1:0", &[][..]), ("", "0.0.0.0:0", &["--policy", "development"]), (&configured, "0.0.0.0:0", &[])]
    {
        let gateway = Setup::new(configuration).arguments(arguments).start_at(listen, sample_shop());
        assert!(!gateway.welcome.join("\n").contains("ucpk_"), "{listen} {arguments:?}: {:?}", gateway.welcome);
    }
}
