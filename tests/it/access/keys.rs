//! API keys: who shows one is the platform that it was issued for.

use std::{
    fs::{self, File},
    sync::LazyLock,
};

use ucp_testkit::{leash::Leashed, wait::PATIENCE};

use super::*;
use crate::{
    harness::{Ends as _, Lent, Shared, binary, eventually, sample_shop},
    setup::{Refused, agent},
    wire::{self, Connection},
};

const ONE: &str = "https://one.example.com/profile.json";
const OTHER: &str = "https://other.example.com/profile.json";

/// A gateway that knows two platforms, and their keys.
fn two() -> (Lent<Configured>, &'static ApiKey, &'static ApiKey) {
    static SHARED: Shared<Configured> = Shared::new();
    static KEYS: LazyLock<[ApiKey; 2]> = LazyLock::new(|| [new_key(), new_key()]);
    let [one, other] = &*KEYS;
    let start = || {
        let platforms = [platform("One", ONE, &hash(one)), platform("Other", OTHER, &hash(other))];
        pinned(&[REQUIRE, &platforms.concat()].concat()).start()
    };
    (SHARED.get(start), one, other)
}

/// Both ways to show a key.
fn shown(key: &str) -> [(&'static str, String); 2] {
    [("X-API-Key", key.to_owned()), ("Authorization", format!("Bearer {key}"))]
}

#[test]
fn a_key_opens_the_gateway_for_its_platform() {
    let (gateway, one, other) = two();
    for transport in Transport::ALL {
        for (profile, key) in [(ONE, one), (OTHER, other)] {
            for (name, value) in shown(key.reveal()) {
                Ask::new(transport, profile).header(name, &value).answer(&gateway);
            }
            let [(name, value), (also, again)] = shown(key.reveal());
            Ask::new(transport, profile).header(name, &value).header(also, &again).answer(&gateway);
            Ask::new(transport, profile).header("authorization", &format!("bearer {}", key.reveal())).answer(&gateway);
        }
    }
}

/// An address is the same one however it is written.
#[test]
fn a_platform_may_write_its_address_in_another_way() {
    let (gateway, one, _) = two();
    for profile in [
        "https://ONE.example.com/profile.json",
        "https://one.example.com:443/profile.json",
        "https://one.example.com/x/../profile.json",
        "https://one.example.com/profile.json#keys",
        "HTTPS://one.example.com/./profile.json",
    ] {
        for transport in Transport::ALL {
            Ask::new(transport, profile).header("X-API-Key", one.reveal()).answer(&gateway);
        }
    }
    for profile in ["https://one.example.com/Profile.json", "https://one.example.com/profile.json?x=1"] {
        let refused = Ask::new(Transport::Rest, profile).header("X-API-Key", one.reveal()).refusal(&gateway);
        assert_eq!(refused.verdict(), (403, "forbidden"), "{profile}");
    }
}

#[test]
fn agt_09_a_key_does_not_speak_for_another_platform() {
    let (gateway, one, _) = two();
    let host = Host::start();
    let stranger = host.profile("/stranger", &profile_of(Release::NEWEST));
    for transport in Transport::ALL {
        for profile in [OTHER, &stranger] {
            for (name, value) in shown(one.reveal()) {
                let refused = Ask::new(transport, profile).header(name, &value).refusal(&gateway);
                assert_eq!(refused.verdict(), (403, "forbidden"), "{profile}");
                assert_eq!(refused.number.unwrap_or(-32000), -32000);
                assert!(refused.content.contains("different platforms"), "{refused:?}");
            }
        }
    }
    assert_eq!(host.all_visits(), 0, "whoever may not speak for a platform causes no fetch of its profile");
}

#[test]
fn a_key_that_is_none_is_refused_with_a_challenge() {
    let (gateway, one, other) = two();
    let unknown = new_key();
    let altered = one.reveal().chars().rev().collect::<String>();
    for transport in Transport::ALL {
        let ask = || Ask::new(transport, ONE);
        let mut asks: Vec<_> = shown(unknown.reveal()).iter().map(|(name, value)| ask().header(name, value)).collect();
        asks.extend(
            ["", "x", &altered, "é", one.reveal().trim_end_matches(char::is_alphanumeric)]
                .map(|key| ask().header("X-API-Key", key)),
        );
        asks.push(ask().header("X-API-Key", one.reveal()).header("X-API-Key", other.reveal()));
        asks.push(ask().header("X-API-Key", one.reveal()).header("Authorization", &shown(other.reveal())[1].1));
        for ask in asks {
            let refused = ask.refusal(&gateway);
            assert_eq!(refused.verdict(), (401, "unauthorized"), "{ask:?}");
            assert_eq!(refused.number.unwrap_or(-32000), -32000);
            let challenge = refused.response.header("www-authenticate").expect("a challenge");
            assert!(challenge.starts_with("Bearer "), "{challenge}");
            for secret in [one.reveal(), other.reveal(), unknown.reveal()] {
                assert!(!refused.response.body.contains(secret), "{refused:?}");
            }
        }
    }
}

/// A key that was made elsewhere has no beginning by which it could be told.
#[test]
fn a_key_that_was_made_elsewhere_is_shown_in_either_way() {
    let made = "8f14e45f-ceea-467e-bd5d-a3c1e2f6b7d9";
    let hash = {
        use sha2::Digest as _;
        let digest = sha2::Sha256::digest(made.as_bytes());
        format!("sha256:{}", digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    };
    let platforms = platform("One", ONE, &format!("api_key_hash = \"{hash}\""));
    let gateway = pinned(&[REQUIRE, &platforms].concat()).start();
    for transport in Transport::ALL {
        for (name, value) in shown(made) {
            Ask::new(transport, ONE).header(name, &value).answer(&gateway);
        }
    }
}

/// Nobody who shows a credential is served as nobody, also where a library of MCP expects 200.
#[test]
fn a_bearer_token_that_is_no_key_is_refused_with_a_challenge() {
    let (gateway, one, _) = two();
    let version = ("MCP-Protocol-Version", "2025-11-25");
    for transport in Transport::ALL {
        for value in ["Bearer eyJhbGciOi.J9.x", "bearer x", "Bearer"] {
            let ask = Ask::new(transport, ONE).header("Authorization", value);
            for ask in [ask.clone(), ask.clone().header(version.0, version.1)] {
                let response = ask.send(&gateway);
                assert_eq!(response.status, 401, "{ask:?}: {response:?}");
                assert!(
                    response.header("www-authenticate").is_some_and(|it| it.starts_with("Bearer ")),
                    "{response:?}"
                );
                assert!(response.body.contains("unauthorized"), "{response:?}");
            }
            // A token of a buyer beside the key of the platform is left alone.
            ask.header("X-API-Key", one.reveal()).answer(&gateway);
        }
        for value in ["Basic dTpw", ""] {
            Ask::new(transport, ONE).header("Authorization", value).answer(&gateway);
        }
    }
}

#[test]
fn keys_come_from_files_and_the_environment_several_at_a_time() {
    let (old, new, from_environment) = (new_key(), new_key(), new_key());
    let configuration = [
        REQUIRE,
        &platform("One", ONE, "api_key_file = \"secret\""),
        &platform("Other", OTHER, "api_key_env = \"OTHER_API_KEY\""),
    ]
    .concat();
    let gateway = pinned(&configuration)
        .file("secret", &format!("{}\n{}\n", old.reveal(), new.hash()))
        .variable("OTHER_API_KEY", from_environment.reveal())
        .start();
    for (profile, key) in [(ONE, &old), (ONE, &new), (OTHER, &from_environment)] {
        Ask::new(Transport::Tool, profile).header("X-API-Key", key.reveal()).answer(&gateway);
    }
}

#[test]
fn the_command_makes_a_key_and_the_line_that_registers_it() {
    let output = binary().args(["keys", "api"]).ends();
    let said = String::from_utf8(output.stdout).expect("UTF-8");
    let [key, line] = said.lines().collect::<Vec<_>>()[..] else { panic!("a key and a line: {said}") };
    let gateway = pinned(&[REQUIRE, &platform("One", ONE, line)].concat()).start();
    Ask::new(Transport::Rest, ONE).header("X-API-Key", key).answer(&gateway);
    let again = binary().args(["keys", "api"]).ends();
    assert!(!String::from_utf8_lossy(&again.stdout).contains(key), "no two are alike");
}

/// Log of the process for requests of every kind, at the highest level.
#[test]
fn secrets_are_never_written_anywhere() {
    let (one, wrong) = (new_key(), new_key());
    let (files, data) = (crate::harness::folder(), sample_shop());
    let (out, err) = (files.path().join("out"), files.path().join("err"));
    let configuration = [REQUIRE, &platform("One", ONE, "api_key_env = \"ONE_API_KEY\"")].concat();
    let setup = pinned(&configuration).variable("ONE_API_KEY", one.reveal()).variable("RUST_LOG", "trace");
    assert!(!setup.run("check-config").expect("a configuration").contains(one.reveal()));
    let keys = binary().args(["keys", "generate", "--data-dir"]).arg(data.path()).ends();
    assert!(keys.status.success(), "{keys:?}");
    let mut command = setup.command("serve");
    command.args(["--listen", "127.0.0.1:0", "--data-dir"]).arg(data.path());
    let [stdout, stderr] = [&out, &err].map(|file| File::create(file).expect("a file"));
    let mut process = Leashed::start(&command, stdout, stderr);
    let address = eventually("it listens", PATIENCE, || {
        let said = fs::read_to_string(&out).expect("what it said");
        let base = said.lines().find_map(|line| line.trim_start().strip_prefix("REST "))?.trim().to_owned();
        base.strip_prefix("http://")?.parse().ok()
    });
    let mut written = String::new();
    let host = Host::start();
    for transport in Transport::ALL {
        let asks = [
            Ask::new(transport, ONE).header("X-API-Key", one.reveal()),
            Ask::new(transport, OTHER).header("Authorization", &format!("Bearer {}", one.reveal())),
            Ask::new(transport, ONE).header("X-API-Key", wrong.reveal()),
            Ask::new(transport, ONE).header("Authorization", "Bearer token-of-a-buyer"),
            Ask::new(transport, "https://somebody:hunter2@agent.example.com/p"),
            Ask::new(transport, &host.url("/none")).header("Signature", "sig1=:aHVudGVyMg==:"),
        ];
        for ask in asks {
            let mut connection = Connection::open(address);
            let headers = ask.headers();
            let headers: Vec<_> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
            connection.write(&wire::request("POST", &ask.path(), &headers, &ask.body()));
            written += &format!("{:?}", connection.read().expect("an answer"));
        }
    }
    process.kill();
    let log = fs::read_to_string(&err).expect("a log");
    assert!(log.contains("DEBUG"), "the log was talkative");
    written += &fs::read_to_string(&out).expect("what it said");
    written += &log;
    let private = fs::read_dir(data.path().join("keys")).expect("keys").map(|entry| {
        let key = fs::read_to_string(entry.expect("a file").path()).expect("a key");
        serde_json::from_str::<serde_json::Value>(&key).expect("JSON")["d"].as_str().expect("a key").to_owned()
    });
    let secrets = [one.reveal(), wrong.reveal(), "token-of-a-buyer", "hunter2"].map(str::to_owned);
    for secret in secrets.into_iter().chain(private) {
        let place = written.find(&secret);
        let around = |at: usize| written.get(at.saturating_sub(200)..at).unwrap_or_default().to_owned();
        assert!(place.is_none(), "{secret} is behind {:?}", place.map(around));
    }
}

/// A key is no way around statements that differ.
#[test]
fn a_key_does_not_choose_between_statements() {
    let (gateway, one, _) = two();
    let ask = Ask::new(Transport::Tool, ONE).header("UCP-Agent", &agent(OTHER)).header("X-API-Key", one.reveal());
    let refused: Refused = ask.refusal(&gateway);
    assert_eq!(refused.verdict(), (400, "invalid_profile_url"));
}
