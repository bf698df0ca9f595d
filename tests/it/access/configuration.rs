//! The configuration as an operator meets it: what goes before what, and what is said about mistakes.

use super::*;
use crate::harness::{Ends as _, binary, repository};

#[test]
fn a_flag_goes_before_the_environment_and_that_before_the_file() {
    let file = "[server]\nlisten = \"127.0.0.1:1111\"\nmax_connections = 11\n[data]\ncache_mb = 11\n[callers]\npolicy = \"lenient\"\n";
    let shown = |setup: Setup| setup.run("check-config").expect("a configuration");
    let has = |shown: &str, lines: [&str; 4]| {
        for line in lines {
            assert!(shown.lines().any(|shown| shown == line), "{line}: {shown}");
        }
    };
    let by_file = ["listen = \"127.0.0.1:1111\"", "max_connections = 11", "cache_mb = 11", "policy = \"lenient\""];
    has(&shown(Setup::new(file)), by_file);
    let in_environment = || {
        Setup::new(file)
            .variable("UCP_GATEWAY_LISTEN", "127.0.0.1:2222")
            .variable("UCP_GATEWAY_MAX_CONNECTIONS", "22")
            .variable("UCP_GATEWAY_CACHE_MB", "22")
            .variable("UCP_GATEWAY_POLICY", "development")
    };
    let by_environment =
        ["listen = \"127.0.0.1:2222\"", "max_connections = 22", "cache_mb = 22", "policy = \"development\""];
    has(&shown(in_environment()), by_environment);
    let flags = ["--listen", "127.0.0.1:3333", "--max-connections", "33", "--cache-mb", "33", "--policy", "require"];
    let by_flag = ["listen = \"127.0.0.1:3333\"", "max_connections = 33", "cache_mb = 33", "policy = \"require\""];
    has(&shown(in_environment().arguments(&flags)), by_flag);
}

#[test]
fn the_environment_can_name_the_file() {
    let files = crate::harness::folder();
    let file = files.path().join("gateway.toml");
    std::fs::write(&file, "[server]\nmax_connections = 77\n").expect("a file");
    let output = binary().arg("check-config").env("UCP_GATEWAY_CONFIG", &file).ends();
    assert!(String::from_utf8_lossy(&output.stdout).contains("max_connections = 77"), "{output:?}");
}

#[test]
fn every_unknown_key_is_named_with_what_may_have_been_meant() {
    let setup = Setup::new(
        "[server]\nlisten = \"127.0.0.1:0\"\nmax_in_fligth = 3\n[callers]\npolcy = \"require\"\n[profile]\nloopback = true\n\
         [[platform]]\nname = \"One\"\nprofile = \"https://a.example/p\"\napi_key = \"ucpk_secret\"\n",
    );
    for command in ["serve", "check-config"] {
        let said = setup.run(command).expect_err("refused");
        for words in [
            "unknown key `server.max_in_fligth`",
            "line 3, column 1; did you mean `server.max_in_flight`?",
            "unknown key `callers.polcy`",
            "line 5, column 1; did you mean `callers.policy`?",
            "unknown key `profile`",
            "did you mean `profiles`?",
            "unknown key `platform[0].api_key`",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("ucpk_secret"), "{said}");
    }
}

#[test]
fn mistakes_are_named_by_key_and_line_and_secrets_are_not_repeated() {
    for (content, words) in [
        ("[server]\nmax_in_flight = 0\n", "`server.max_in_flight`"),
        ("[server]\ntrusted_proxies = [\"everyone\"]\n", "a network such as 10.0.0.0/8"),
        ("[limits]\nanonymous = { per_second = 0, burst = 1 }\n", "`limits.anonymous"),
        ("[limits]\nsigned = \"lots\"\n", "or \"none\""),
        ("[callers]\npolicy = \"strict\"\n", "`callers.policy`"),
        ("[signatures]\nbrowsing = \"maybe\"\n", "`signatures.browsing`"),
        ("[profiles]\nca_files = [\"missing.pem\"]\n", "missing.pem"),
        (
            "[[platform]]\nname = \"A\"\nprofile = \"https://a.example/p\"\napi_key_hash = \"hunter2\"\n",
            "`platform[0].api_key_hash`",
        ),
        (
            "[[platform]]\nname = \"A\"\nprofile = \"https://a.example/p\"\napi_key_env = \"HUNTER\"\n",
            "`platform[0].api_key_env`",
        ),
        (
            "[[platform]]\nname = \"A\"\nprofile = \"https://a.example/p\"\nprofile_file = \"missing.json\"\n",
            "missing.json",
        ),
        ("[server\n", "line 1"),
    ] {
        let said = Setup::new(content).variable("HUNTER", "hunter2").run("check-config").expect_err("refused");
        assert!(said.contains(words) && said.contains("gateway.toml"), "{content}: {said}");
        assert!(!said.contains("hunter2") && !said.contains("panicked"), "{said}");
    }
}

#[test]
fn two_platforms_share_neither_name_nor_profile_nor_key() {
    let key = new_key();
    let other = platform("Other", "https://other.example/p", "");
    for (first, second, words) in [
        (platform("Other", "https://a.example/p", ""), &other, "same name"),
        (platform("A", "https://other.example:443/./p", ""), &other, "same profile"),
        (
            platform("A", "https://a.example/p", &hash(&key)),
            &platform("B", "https://b.example/p", &hash(&key)),
            "same key",
        ),
    ] {
        let said = pinned(&[first, second.clone()].concat()).run("check-config").expect_err("refused");
        assert!(said.contains(words) && said.contains("platform[1]"), "{said}");
    }
}

#[test]
fn mistakes_in_several_keys_are_told_at_once_each_with_its_place() {
    let setup = Setup::new("[server]\nlisten = 3\nmax_connections = 0\nodd = 1\n[data]\ncache_mb = \"x\"\n");
    for command in ["serve", "check-config"] {
        let said = setup.run(command).expect_err("refused");
        for words in [
            "`server.listen` in ",
            ", line 2, column 10: invalid type",
            "`server.max_connections` in ",
            ", line 3, column 19: invalid value: integer `0`, expected a whole number from 1 to 1000000",
            "unknown key `server.odd` in ",
            "`data.cache_mb` in ",
            ", line 6, column 12: invalid type: string \"x\"",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
    }
}

/// The example is a configuration, says what holds without one, and is as editors are told.
#[test]
fn the_example_can_be_used_as_it_is() {
    let printed = binary().args(["config", "schema"]).ends();
    let schema: serde_json::Value = serde_json::from_slice(&printed.stdout).expect("JSON");
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    let example = std::fs::read_to_string(repository().join("docs/gateway.example.toml")).expect("the example");
    let bare = binary().arg("check-config").ends();
    let table: toml::Table = example.parse().expect("TOML");
    let valid = jsonschema::draft202012::is_valid(&schema, &serde_json::to_value(table).expect("JSON"));
    assert!(valid, "the example is not as the schema says");
    let with_example = Setup::new(&example).run("check-config").expect("a configuration");
    assert_eq!(with_example, String::from_utf8(bare.stdout).expect("UTF-8"));
    Setup::new(&example).start().search(&serde_json::json!({ "query": "shoes" }));
}
