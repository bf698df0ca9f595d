//! What the configuration promises.

use clap::Parser as _;
use ucp_trust::{
    api_key::ApiKey,
    limit::{Caller, RateLimits},
};

use std::{fs, path::PathBuf};

use serde_json::Value;
use ucp_trust::limit::Quota;

use super::{
    schema::{example, keys, published},
    *,
};
use crate::{cli::Cli, clock};

/// The configuration that the repository ships.
const EXAMPLE: &str = include_str!("../../../../docs/gateway.example.toml");

fn flags(arguments: &[&str]) -> ServeOptions {
    Cli::try_parse_from([&["ucp-gateway"], arguments].concat()).expect("a command line").serve
}

/// What a file in a directory of its own amounts to.
struct Case {
    directory: tempfile::TempDir,
    environment: Vec<(&'static str, String)>,
}

impl Case {
    fn new() -> Self {
        Self { directory: tempfile::tempdir().expect("a directory"), environment: Vec::new() }
    }

    /// With a file beside the configuration.
    fn with(self, name: &str, text: impl AsRef<[u8]>) -> Self {
        fs::write(self.directory.path().join(name), text).expect("written");
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    fn resolve(&self, text: &str, arguments: &[&str]) -> Result<Arc<Settings>, String> {
        self.resolve_all(text, arguments).map(|all| all.shops.into_iter().next().expect("a shop"))
    }

    fn resolve_all(&self, text: &str, arguments: &[&str]) -> Result<Configuration, String> {
        let file = self.path("gateway.toml");
        fs::write(&file, text).expect("written");
        let flags = ServeOptions { config: Some(file), ..flags(arguments) };
        let variable =
            |name: &str| self.environment.iter().find(|(key, _)| *key == name).map(|(_, value)| value.into());
        let directory = format!("{}/", self.directory.path().display());
        Configuration::resolve_in(&flags, &variable, clock::now())
            .map_err(|error| error.to_string().replace(&directory, ""))
    }
}

/// The only shop of the command line.
fn of_flags(arguments: &[&str]) -> Result<Arc<Settings>, ConfigError> {
    let all = Configuration::resolve(&flags(arguments), clock::now())?;
    Ok(all.single().cloned().expect("one shop"))
}

fn resolve(text: &str, arguments: &[&str]) -> Result<Arc<Settings>, String> {
    Case::new().resolve(text, arguments)
}

#[test]
fn a_problem_with_flags_alone_names_no_file() {
    for (arguments, expected) in [
        (&["--backend", "shopify"][..], "`upstream.backend`: this needs `upstream.url`, or the flag --upstream-url"),
        (
            &["--backend", "ucp", "--upstream-url", "ftp://shop.example.com"],
            "`upstream.url`: expected an https or http address",
        ),
        (
            &["--upstream-url", "https://shop.example.com"],
            "`upstream.url`: the embedded shop has no upstream; choose a `backend` too",
        ),
    ] {
        let problem = of_flags(arguments).expect_err("a problem");
        assert_eq!(problem.to_string(), expected, "{arguments:?}");
    }
}

fn refused(text: &str) -> String {
    resolve(text, &[]).expect_err(text)
}

fn platform(rest: &str) -> String {
    named("a", rest)
}

fn named(name: &str, rest: &str) -> String {
    format!("[[platform]]\nname = \"{name}\"\nprofile = \"https://{name}.example.com/profile\"\n{rest}\n")
}

#[test]
fn a_bare_start_needs_nothing() {
    let bare = of_flags(&[]).expect("settings");
    let Sections { server, data, callers, .. } = &bare.sections;
    assert_eq!(server.listen.0, SocketAddr::from(([127, 0, 0, 1], 8080)));
    assert_eq!((data.dir.to_str(), data.cache_mb.0, data.sample.0.name), (Some("./data"), 64, "outfitters"));
    assert_eq!(bare.payments.len(), 1, "a sandbox");
    assert_eq!(
        (bare.policy, callers.anonymous, server.max_connections.0),
        (Policy::Development, Anonymous::Browsing, 1_024)
    );
    assert_eq!((bare.quotas().anonymous, server.max_in_flight), (None, None));
    assert_eq!(bare.to_string(), resolve("", &[]).expect("settings").to_string());
}

#[test]
fn beyond_loopback_everything_is_strict() {
    for address in ["0.0.0.0:80", "[::]:80", "198.51.100.1:80"] {
        let settings = of_flags(&["--listen", address]).expect("settings");
        assert_eq!(settings.policy, Policy::Require, "{address}");
        let quotas = settings.quotas();
        assert_eq!((quotas.anonymous, quotas.signed), (Quota::new(50, 100), Quota::new(100, 200)));
        assert_eq!(settings.sections.limits.keyed.and_then(Limit::quota), Quota::new(200, 400));
        assert_eq!(settings.sections.server.max_in_flight.map(|number| number.0), Some(512));
    }
    for address in ["127.0.0.1:80", "127.9.9.9:80", "[::1]:80", "[::ffff:127.0.0.1]:80"] {
        let settings = of_flags(&["--listen", address]).expect("settings");
        assert_eq!(settings.policy, Policy::Development, "{address}");
    }
}

#[test]
fn a_public_address_means_that_others_can_reach_the_gateway_wherever_it_listens() {
    let policy = |url: &str| resolve("", &["--public-url", url]).expect("settings").policy;
    for private in ["http://127.0.0.1:9", "http://localhost:9", "http://[::1]:9"] {
        assert_eq!(policy(private), Policy::Development, "{private}");
    }
    for public in ["https://shop.example.com", "http://192.0.2.1", "https://localhost.example.com"] {
        assert_eq!(policy(public), Policy::Require, "{public}");
    }
    let refused = resolve("[profiles]\nloopback = true", &["--public-url", "https://shop.example.com"]);
    assert!(refused.expect_err("reachable through a proxy").contains("profiles.loopback"));
}

#[test]
fn a_flag_goes_before_the_file_and_the_file_before_the_default() {
    let file = "[server]\nlisten = \"127.0.0.1:1\"\nmax_connections = 7\nmcp_error_status = \"matching\"\n\
                [data]\ncache_mb = 9\n[callers]\npolicy = \"lenient\"";
    let settings =
        resolve(file, &["--listen", "127.0.0.1:2", "--cache-mb", "10", "--policy", "require"]).expect("settings");
    let Sections { server, data, .. } = &settings.sections;
    assert_eq!((server.listen.0.port(), data.cache_mb.0, settings.policy), (2, 10, Policy::Require));
    assert_eq!((server.max_connections.0, server.mcp_error_status), (7, McpErrorStatus::Matching));
}

#[test]
fn unknown_keys_are_refused_all_at_once_with_what_may_have_been_meant() {
    assert!(refused("max_conections = 3").ends_with("column 1; did you mean `server.max_connections`?"));
    let text = "max_connections = 3\n[server]\nlisen = \"127.0.0.1:1\"\nmax-connections = 3\n[limits]\n\
                signed = { per_second = 1, brust = 1 }\n[platfroms]\n[[platform]]\nname = 5\nxyz = 1\n";
    let expected = [
        "unknown key `max_connections` in gateway.toml, line 1, column 1; did you mean `server.max_connections`?",
        "unknown key `server.lisen` in gateway.toml, line 3, column 1; did you mean `server.listen`?",
        "unknown key `server.max-connections` in gateway.toml, line 4, column 1; did you mean `server.max_connections`?",
        "unknown key `limits.signed.brust` in gateway.toml, line 6, column 28; did you mean `limits.signed.burst`?",
        "unknown key `platfroms` in gateway.toml, line 7, column 2; did you mean `platform`?",
        "`platform[0].name` in gateway.toml, line 9, column 8: invalid type: integer `5`, expected a string",
        "unknown key `platform[0].xyz` in gateway.toml, line 10, column 1; there are `name`, `profile`, `profile_file`, \
         `api_key_hash`, `api_key_file`, `api_key_env`, `certificate_sha256`, `signature_agent`, `limit`",
    ];
    assert_eq!(refused(text).lines().collect::<Vec<_>>(), expected);
}

#[test]
fn values_that_do_not_fit_are_refused_with_key_and_line() {
    for (text, expected) in [
        ("[server]\n\nlisten = 5", "`server.listen` in gateway.toml, line 3, column 10: "),
        (
            "[server]\nlisten = \"localhost\"",
            "`server.listen` in gateway.toml, line 2, column 10: invalid socket address",
        ),
        (
            "[server]\npublic_url = \"https://a.example/x\"",
            "`server.public_url` in gateway.toml, line 2, column 14: expected an address without",
        ),
        (
            "[server]\nmax_connections = 0",
            "`server.max_connections` in gateway.toml, line 2, column 19: invalid value: integer `0`, expected a whole number from 1 to 1000000",
        ),
        (
            "[data]\ncache_mb = \"64\"",
            "`data.cache_mb` in gateway.toml, line 2, column 12: invalid type: string \"64\", expected a whole number",
        ),
        ("[data]\ncache_mb = 6.4", "`data.cache_mb` in gateway.toml, line 2, column 12: "),
        (
            "[server]\ntrusted_proxies = [\n\"10.0.0.0/8\",\n\"10.0.0.0/99\"]",
            "`server.trusted_proxies` in gateway.toml, line 2, column 19: invalid value: string \"10.0.0.0/99\", expected a network",
        ),
        (
            "[callers]\npolicy = \"strict\"",
            "`callers.policy` in gateway.toml, line 2, column 10: unknown variant `strict`, expected one of `require`, `lenient`, `development`",
        ),
        (
            "[limits]\nsigned = { per_second = 5 }",
            "`limits.signed` in gateway.toml, line 2, column 10: missing field `burst`",
        ),
        (
            "[limits]\nsigned = { per_second = 5, burst = -1 }",
            "`limits.signed.burst` in gateway.toml, line 2, column 36: ",
        ),
        (
            "[limits]\nsigned = \"much\"",
            "`limits.signed` in gateway.toml, line 2, column 10: invalid value: string \"much\", expected { per_second = …, burst = … } or \"none\"",
        ),
        ("[profiles]\ntimeout_ms = 9", "`profiles.timeout_ms` in gateway.toml, line 2, column 14: "),
        (
            "\n[[platform]]\nname = \"a\"",
            "`platform[0].profile` in gateway.toml: a platform must have a profile, an API key, a certificate or a signature agent by which it is known",
        ),
        (
            "[[platform]]\nname = \"a\"\nprofile = \"\"\n\n[[platform]]",
            "`platform[1]` in gateway.toml, line 5, column 1: missing field `name`",
        ),
        (
            "[platform]\nname = \"a\"",
            "`platform` in gateway.toml, line 1, column 1: invalid type: map, expected a sequence",
        ),
        ("server = 5", "`server` in gateway.toml, line 1, column 10: invalid type: integer `5`, expected a table"),
        ("[server\n", "gateway.toml, line 1, column 8: "),
        ("[server]\nlisten = \"127.0.0.1:1\"\nlisten = \"127.0.0.1:1\"", "line 3, column 1: duplicate key"),
    ] {
        let refused = refused(text);
        assert!(refused.contains(expected), "{text}\n{refused}");
        assert_eq!(refused.lines().count(), 1, "{refused}");
    }
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = of_flags(&["--config", "/nowhere/gateway.toml"]).expect_err("no file");
    assert!(error.to_string().contains("/nowhere/gateway.toml"), "{error}");
}

#[test]
fn limits_are_what_is_said_or_what_the_policy_implies() {
    let text =
        "[server]\nlisten = \"0.0.0.0:80\"\n[limits]\nsigned = \"none\"\nkeyed = { per_second = 3, burst = 4 }\n";
    let own = named("a", "limit = { per_second = 1, burst = 2 }");
    let text = [text, &own, &named("b", "limit = \"none\""), &named("c", "")].concat();
    let settings = resolve(&text, &[]).expect("settings");
    let quotas = settings.quotas();
    assert_eq!((quotas.anonymous, quotas.signed), (Quota::new(50, 100), None));
    assert_eq!(quotas.platforms, [Quota::new(1, 2), None, Quota::new(3, 4)]);
    let limits = RateLimits::new(&quotas);
    assert_eq!((0..9).filter(|_| limits.check(&Caller::Keyed(0)).is_ok()).count(), 2);
}

#[test]
fn a_shop_in_a_network_of_its_own_is_asked_over_http() {
    for url in ["http://shop:3000", "http://10.0.0.7:8080/", "http://shop.example.com"] {
        let settings = resolve("", &["--backend", "ucp", "--upstream-url", url]).expect("settings");
        assert!(is_exposed(&settings.upstream.as_ref().expect("an upstream").url), "{url}");
    }
    for url in ["https://shop.example.com", "http://127.0.0.1:3000", "http://[::1]:3000", "http://localhost:3000"] {
        let settings = resolve("", &["--backend", "ucp", "--upstream-url", url]).expect("settings");
        assert!(!is_exposed(&settings.upstream.as_ref().expect("an upstream").url), "{url}");
    }
}

#[test]
fn further_origins_of_a_shop_are_origins_and_nothing_else() {
    let with = |origin: &str| {
        let text = format!("[upstream]\norigins = [\"https://www.shop.example.com\", \"{origin}\"]\n");
        resolve(&text, &["--backend", "ucp", "--upstream-url", "https://api.shop.example.com"])
    };
    let settings = with("http://shop:3000").expect("settings");
    assert_eq!(settings.sections.upstream.origins.len(), 2);
    for wrong in ["https://shop.example.com/pages", "https://shop.example.com?a", "ftp://shop.example.com", "shop"] {
        let error = with(wrong).expect_err(wrong).to_string();
        assert!(error.contains("origins"), "{wrong}: {error}");
    }
}

#[test]
fn profiles_of_this_machine_are_admitted_where_only_this_machine_reaches_the_gateway() {
    assert_eq!(resolve("", &[]).expect("settings").reach, Reach::Loopback);
    assert_eq!(resolve("[profiles]\nloopback = false", &[]).expect("settings").reach, Reach::Public);
    assert_eq!(resolve("[callers]\npolicy = \"require\"", &[]).expect("settings").reach, Reach::Public);
    assert_eq!(resolve("", &["--listen", "0.0.0.0:80"]).expect("settings").reach, Reach::Public);
    let open = resolve("[callers]\npolicy = \"development\"", &["--listen", "0.0.0.0:80"]).expect("settings");
    assert_eq!(open.reach, Reach::Public, "others reach it");
}

#[test]
fn profiles_of_this_machine_need_a_gateway_that_only_this_machine_reaches() {
    let text = "[profiles]\nloopback = true\n[[platform]]\nname = \"a\"\nprofile = \"http://127.0.0.1:8099/profile\"";
    assert_eq!(resolve(text, &[]).expect("settings").reach, Reach::Loopback);
    let refused = resolve(text, &["--listen", "0.0.0.0:80"]).expect_err("reachable from elsewhere");
    assert!(
        refused.starts_with("`profiles.loopback` in gateway.toml, line 2, column 12: this is for development"),
        "{refused}"
    );
    let refused = resolve(&text.replace("true", "false"), &[]).expect_err("no https");
    assert!(
        refused.starts_with("`platform[0].profile` in gateway.toml, line 5, column 11: the address names a host"),
        "{refused}"
    );
}

#[test]
fn a_connection_cannot_take_longer_than_the_fetch() {
    let refused = refused("[profiles]\ntimeout_ms = 1000");
    assert!(refused.starts_with("`profiles.connect_timeout_ms` in gateway.toml: "), "{refused}");
}

#[test]
fn files_are_found_beside_the_configuration() {
    let case = Case::new().with("a.json", "{}").with("roots.pem", "nothing");
    let settings =
        case.resolve(&(platform("profile_file = \"a.json\"") + "[data]\ndir = \"shop\""), &[]).expect("settings");
    let pinned = settings.platforms[0].pinned.as_ref().expect("a pinned profile");
    assert_eq!((pinned.path.clone(), &*pinned.bytes), (case.path("a.json"), &b"{}"[..]));
    assert_eq!(settings.sections.data.dir.to_path_buf(), case.path("shop"));
    let refused = case.resolve(&platform("profile_file = \"b.json\""), &[]).expect_err("no file");
    assert!(
        refused.starts_with("`platform[0].profile_file` in gateway.toml, line 4, column 16: cannot read b.json: "),
        "{refused}"
    );
    let refused = case.resolve("[profiles]\nextra_roots = [\"roots.pem\"]", &[]).expect_err("no certificates");
    assert!(refused.starts_with("`profiles.extra_roots` in gateway.toml, line 2, column 15: roots.pem: "), "{refused}");
}

#[test]
fn api_keys_come_from_the_file_another_file_or_the_environment() {
    let keys: Vec<_> = (0..4).map(|_| ApiKey::generate().expect("random bytes")).collect();
    let mut case = Case::new().with("keys", format!("{}\n{}\n", keys[1].reveal(), keys[2].hash()));
    case.environment.push(("KEY", keys[3].reveal().to_owned()));
    let text =
        platform(&format!("api_key_hash = \"{}\"\napi_key_file = \"keys\"\napi_key_env = \"KEY\"", keys[0].hash()));
    let settings = case.resolve(&text, &[]).expect("settings");
    let register = settings.api_keys();
    assert!(keys.iter().all(|key| register.find(key) == Some(&0)));
    let shown = settings.to_string();
    assert!(shown.contains("# API keys: 4 set"), "{shown}");
    for key in &keys {
        assert!(!shown.contains(key.reveal()) && !shown.contains(&key.hash().to_string()));
        assert!(!format!("{settings:?}").contains(key.reveal()));
    }
}

#[test]
fn secrets_that_are_wrong_are_not_repeated() {
    let mut case = Case::new().with("keys", "hunter2");
    case.environment.extend([("KEY", "hunter2".to_owned()), ("EMPTY", " ".to_owned())]);
    for (rest, expected) in [
        ("api_key_hash = \"hunter2\"", "line 4, column 16: expected `sha256:` and 64 hexadecimal digits"),
        ("api_key_file = \"keys\"", "line 4, column 16: expected an API key of this gateway"),
        ("api_key_env = \"KEY\"", "line 4, column 15: expected an API key of this gateway"),
        ("api_key_env = \"EMPTY\"", "line 4, column 15: there is no API key in it"),
        ("api_key_env = \"MISSING\"", "line 4, column 15: the environment has no variable `MISSING`"),
        ("api_key_file = \"missing\"", "line 4, column 16: cannot read missing: "),
    ] {
        let refused = case.resolve(&platform(rest), &[]).expect_err(rest);
        assert!(refused.contains(expected) && !refused.contains("hunter2"), "{refused}");
    }
}

#[test]
fn payments_are_made_where_the_file_says() {
    let case = Case::new().with("key", "psp-key\n").with("secret", "signing-secret");
    let processor = |rest: &str| {
        format!(
            "[[payment]]\nkind = \"processor\"\nid = \"card\"\nname = \"com.example.card\"\nversion = \"2026-01-01\"\n\
             spec = \"https://example.com/card\"\nschema = \"https://example.com/card.json\"\n{rest}\n"
        )
    };
    let secrets = "api_key_file = \"key\"\nsigning_secret_file = \"secret\"";
    let whole = processor(&format!("url = \"https://psp.example.com/v1\"\n{secrets}"));
    let settings = case.resolve(&whole, &["--listen", "0.0.0.0:80"]).expect("settings");
    assert_eq!(settings.payments[0].declaration.id, "card");
    let shown = settings.to_string();
    assert!(
        shown.contains("https://psp.example.com/v1") && !shown.contains("psp-key") && !shown.contains("signing-secret")
    );
    let sandbox = "[[payment]]\nkind = \"sandbox\"\nid = \"a\"\n";
    for (text, key, problem) in [
        (processor(secrets), "payment[0].url", "needs the address"),
        (processor(&format!("url = \"http://psp.example.com\"\n{secrets}")), "payment[0].url", ""),
        (
            processor("url = \"https://psp.example.com\"\nsigning_secret_file = \"secret\""),
            "payment[0].api_key_file",
            "needs",
        ),
        (
            processor(&format!("url = \"https://psp.example.com\"\ntimeout_ms = 30000\n{secrets}")),
            "payment[0].timeout_ms",
            "more than",
        ),
        (
            format!("{sandbox}url = \"https://psp.example.com\""),
            "payment[0].url",
            "with the kind `processor` or `stripe` only",
        ),
        (format!("{sandbox}{sandbox}"), "payment[1].id", "same id"),
        ("[[payment]]\nkind = \"cash\"\nid = \"a\"".to_owned(), "payment[0].kind", "cash"),
    ] {
        let refused = case.resolve(&text, &[]).expect_err(&text);
        assert!(
            refused.contains(key) && refused.contains(problem) && !refused.contains("psp-key"),
            "{text}: {refused}"
        );
    }
}

#[test]
fn operators_are_listened_to_with_a_token_only() {
    let case = Case::new().with("token", "admin-token").with("empty", "\n");
    for (text, key, problem) in [
        ("admin_listen = \"0.0.0.0:0\"", "server.admin_listen", "needs either"),
        ("admin_token_file = \"token\"", "server.admin_listen", "means nothing"),
        ("admin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"empty\"", "server.admin_token_file", "1 to 1024"),
        ("admin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"nowhere\"", "server.admin_token_file", "cannot read"),
        ("admin_listen = \"127.0.0.1:0\"\nadmin_token_env = \"NOWHERE\"", "server.admin_token_env", "no variable"),
    ] {
        let refused = case.resolve(&format!("[server]\n{text}\n"), &[]).expect_err(text);
        assert!(refused.contains(key) && refused.contains(problem), "{text}: {refused}");
    }
    let alone = "[server]\nadmin_listen = \"127.0.0.1:0\"\n";
    let settings = case.resolve(alone, &[]).expect("settings");
    assert!(
        settings.process.admin.as_ref().is_some_and(|admin| admin.token.is_none()),
        "in development, on this machine"
    );
    let strict = [alone, "[callers]\npolicy = \"lenient\"\n"].concat();
    assert!(case.resolve(&strict, &[]).expect_err("refused").contains("needs either"));
    let text = "[server]\nadmin_listen = \"127.0.0.1:0\"\nadmin_token_file = \"token\"\n";
    let settings = case.resolve(text, &[]).expect("settings");
    assert!(settings.process.admin.is_some());
    assert!(!format!("{settings:?}{settings}").contains("admin-token"), "it is not shown");
}

/// A signature for a bot that expires in so many days, as a merchant gets it.
fn bot_signature(days: i64) -> String {
    let now = clock::timestamp().as_second();
    let (created, expires) = (now - 24 * 60 * 60, now + days * 24 * 60 * 60);
    format!(
        "Signature-Agent: \"https://shopify.com\"\nSignature-Input: sig1=(\"@authority\" \"signature-agent\");\
         keyid=\"k-7f3a91\";nonce=\"n-7f3a91\";tag=\"web-bot-auth\";created={created};expires={expires}\n\
         Signature: sig1=:c2lnbmF0dXJlLTdmM2E5MQ==:\n"
    )
}

/// The parts of it that nobody else may see.
const BOT_SECRETS: [&str; 3] = ["7f3a91", "c2lnbmF0dXJlLTdmM2E5MQ", "sig1="];

#[test]
fn a_bot_signature_is_checked_before_anything_is_asked_and_never_shown() {
    let case = Case::new()
        .with("good", bot_signature(60))
        .with("over", bot_signature(-1))
        .with("half", bot_signature(60).replace("Signature-Agent: \"https://shopify.com\"\n", ""));
    let upstream =
        |rest: &str| format!("[upstream]\nbackend = \"shopify\"\nurl = \"https://shop.example.com\"\n{rest}\n");
    let settings = case.resolve(&upstream("signature_file = \"good\""), &[]).expect("settings");
    let shown = format!("{settings} {settings:?}");
    assert!(shown.contains("# signature: set, until 2") && shown.contains("sign_as_bot = false"), "{shown}");
    assert!(!BOT_SECRETS.iter().any(|secret| shown.contains(secret)), "{shown}");
    let path = case.path("good");
    let flag = ["--upstream-signature-file", path.to_str().expect("a path")];
    let settings = case.resolve(&upstream(""), &flag).expect("settings");
    assert!(settings.to_string().contains("# signature: set"), "{settings}");

    let ucp = upstream("").replace("shopify", "ucp");
    for (text, arguments, expected) in [
        (
            upstream("signature_file = \"half\""),
            &[][..],
            "`upstream.signature_file` in gateway.toml, line 4, column 18: half: Signature-Agent is missing",
        ),
        (
            upstream("signature_file = \"none\""),
            &[],
            "`upstream.signature_file` in gateway.toml, line 4, column 18: cannot read none: ",
        ),
        (
            upstream("signature_file = \"over\""),
            &[],
            "`upstream.signature_file` in gateway.toml, line 4, column 18: the signature in over expired at 2",
        ),
        (
            upstream("signature_file = \"over\""),
            &[],
            "create another one in the shop's admin (Online Store > Preferences > Crawler access)",
        ),
        (
            upstream("signature_file = \"good\"\nsign_as_bot = true"),
            &[],
            "`upstream.sign_as_bot` in gateway.toml, line 5, column 15: either this or `signature_file`",
        ),
        (
            ucp.clone() + "signature_file = \"none\"",
            &[],
            "line 5, column 18: this means something with the backend `shopify` only",
        ),
        (
            ucp.clone() + "sign_as_bot = true",
            &[],
            "line 5, column 15: this means something with the backend `shopify` only",
        ),
        (ucp, &flag, "`upstream.signature_file` in gateway.toml: this means something with the backend `shopify` only"),
    ] {
        let refused = case.resolve(&text, arguments).expect_err(&text);
        assert!(refused.contains(expected) && refused.lines().count() == 1, "{text}: {refused}");
        assert!(!BOT_SECRETS.iter().any(|secret| refused.contains(secret)), "{refused}");
    }
}

fn signs_as_bot(upstream: &Upstream) -> bool {
    matches!(upstream.bot, Bot::Own)
}

#[test]
fn a_gateway_that_signs_as_a_bot_has_an_address_for_its_keys() {
    let text = "[upstream]\nbackend = \"shopify\"\nurl = \"https://shop.example.com\"\nsign_as_bot = true\n";
    assert!(
        refused(text)
            .contains("`upstream.sign_as_bot` in gateway.toml, line 4, column 15: this needs `server.public_url`")
    );
    let plain = refused(&format!("[server]\npublic_url = \"http://gateway.example.com\"\n{text}"));
    assert!(
        plain.contains("`server.public_url` in gateway.toml, line 2, column 14: expected an https address")
            && plain.ends_with("for `upstream.sign_as_bot`"),
        "{plain}"
    );
    let settings = resolve(text, &["--public-url", "https://gateway.example.com"]).expect("settings");
    assert!(settings.upstream.as_ref().is_some_and(signs_as_bot));
    let shown = settings.to_string();
    assert!(shown.contains("# signature: none\nsign_as_bot = true\n"), "{shown}");
    let again = resolve(&shown, &[]).expect("what was shown");
    assert!(again.upstream.as_ref().is_some_and(signs_as_bot));
}

#[test]
fn no_two_platforms_share_what_tells_them_apart() {
    let hash = ApiKey::generate().expect("random bytes").hash();
    let text = platform(&format!("api_key_hash = \"{hash}\""));
    let refused = refused(&(text.clone() + &text.replace("name = \"a\"", "name = \"b\"") + &platform("")));
    let expected = [
        "`platform[1].api_key_hash` in gateway.toml, line 8, column 16: another platform has the same key",
        "`platform[1].profile` in gateway.toml, line 7, column 11: another platform has the same profile",
        "`platform[2].name` in gateway.toml, line 10, column 8: another platform has the same name",
        "`platform[2].profile` in gateway.toml, line 11, column 11: another platform has the same profile",
    ];
    assert_eq!(refused.lines().collect::<Vec<_>>(), expected);
}

/// The example with all its keys: those that are commented out, too.
fn uncommented() -> String {
    let key = |line: &str| {
        line.strip_prefix("# ").filter(|rest| rest.starts_with('[') || rest.contains(" = ")).map(str::to_owned)
    };
    // Several shops, and a folder of them, are something else than one.
    let (single, _) = EXAMPLE.split_once("# [[shop]]").expect("the last section");
    let lines = single.lines().filter(|line| !line.contains("shops_dir ="));
    lines.map(|line| key(line).unwrap_or_else(|| line.to_owned()) + "\n").collect()
}

#[test]
#[cfg_attr(not(feature = "directory"), ignore = "the example asks for the directory")]
fn the_example_states_the_defaults() {
    let bare = of_flags(&[]).expect("settings").to_string();
    assert_eq!(resolve(EXAMPLE, &[]).expect("the example").to_string(), bare);
    // What is commented out, and has a default that depends on the policy, states the strict one.
    let listen = ["--listen", "0.0.0.0:80"];
    let strict = of_flags(&listen).expect("settings");
    let mut case = Case::new().with("example-agent.json", "{}");
    let key = ApiKey::generate().expect("random bytes");
    fs::create_dir(case.path("run")).expect("a directory");
    case = case.with("run/key", key.reveal());
    case.environment.push(("EXAMPLE_AGENT_API_KEY", key.reveal().to_owned()));
    case = case.with("run/psp", "psp-key");
    case = case.with("run/places", "US\t94105\tSan Francisco\tCalifornia\tCA\t\t\t\t\t37.7898\t-122.3942\t4\n");
    let mut all = uncommented().replace("/run/secrets/example-agent", "run/key");
    all = all.replace("/usr/share/places/allCountries.txt", "run/places");
    for (secret, other) in [
        ("psp-api-key", "api_key_env = \"PSP_API_KEY\"\n"),
        ("psp-signing-secret", "signing_secret_env = \"PSP_SIGNING_SECRET\"\n"),
    ] {
        // A secret comes from a file or from the environment.
        all = all.replace(&format!("/run/secrets/{secret}"), "run/psp").replace(other, "");
    }
    // What is in the files of TLS is judged too, in tests of their own.
    all = all
        .lines()
        .filter(|line| !["tls_", "certificate_sha256", "client_"].into_iter().any(|key| line.starts_with(key)))
        .fold(String::new(), |all, line| all + line + "\n");
    for secret in ["admin-token", "collector-token", "events-token", "shop-token", "shop-webhooks"] {
        all = all.replace(&format!("/run/secrets/{secret}"), "run/psp");
    }
    case = case.with("run/signature", bot_signature(1));
    all = all.replace("/run/secrets/shop-signature", "run/signature");
    // The kinds of payment handlers share a section.
    for other in [
        "webhook_secret_file = \"/run/secrets/stripe-webhook-secret\"\n",
        "webhook_secret_env = \"STRIPE_WEBHOOK_SECRET\"\n",
        "through = \"stripe\"\n",
    ] {
        assert!(all.contains(other), "{other}");
        all = all.replace(other, "");
    }
    // Two kinds of upstreams share a section, and the embedded shop has none.
    all = all.replace("backend = \"embedded\"", "backend = \"shopify\"");
    for other in [
        "token_env = \"SHOP_TOKEN\"\n",
        "signing_secret_file = \"/run/secrets/shop-signing\"\n",
        "mapping_file = \"shop.mapping.toml\"\n",
        "transport = \"mcp\"\n",
        "release = \"2026-08-25\"\n",
        "max_lookup_ids = 10\n",
        "origins = []\n",
    ] {
        assert!(all.contains(other), "{other}");
        all = all.replace(other, "");
    }
    all = all.replace("/run/secrets/shop-signing", "run/psp");
    // The address of a database is said once, keys of feeds mean nothing without one, and languages are files of the operator.
    for other in [
        "database_file = \"/run/secrets/database\"\n",
        "database_ca_file = \"/etc/ssl/database-ca.pem\"\n",
        "feed_file = \"products.xml\"\n",
        "feed_url = \"https://shop.example.com/products.xml\"\n",
        "format = \"google-xml\"\n",
        "max_feed_mb = 4096\n",
        "feed_timeout_s = 1800\n",
        "name = \"Flowers & Co\"\n",
        "currency = \"EUR\"\n",
        "language = \"de\"\n",
        "texts_dir = \"/etc/ucp-gateway/languages\"\n",
    ] {
        assert!(all.contains(other), "{other}");
        all = all.replace(other, "");
    }
    all = all.replace("admin_token_env = \"UCP_GATEWAY_ADMIN_TOKEN\"\n", "");
    let all = case.resolve(&all, &listen).expect("the example with all keys");
    assert!(strict.process.admin.is_none() && all.process.admin.is_some());
    let limits = |settings: &Settings| {
        let Sections { server, limits, .. } = &settings.sections;
        let keyed = limits.keyed.and_then(Limit::quota);
        (Quotas { platforms: vec![keyed], ..settings.quotas() }, server.max_in_flight, settings.policy)
    };
    assert_eq!(limits(&all), limits(&strict));
    assert_eq!((all.platforms.len(), all.platforms[0].api_keys.len()), (1, 3));
    assert_eq!((strict.payments.len(), all.payments.len()), (0, 1));
    #[cfg(feature = "directory")]
    {
        let search = &all.directory.search;
        assert!(!strict.directory.merchants && all.directory.merchants && search.geocoder.is_some());
        assert_eq!(search.places.len(), 2);
    }
    assert!(strict.upstream.is_none() && all.upstream.as_ref().is_some_and(|upstream| upstream.token.is_some()));
}

#[test]
fn the_example_is_what_the_fields_say() {
    assert!(EXAMPLE == example(), "run `cargo run -p ucp-gateway -- spec --write`");
    // Whatever can be set by a flag says so.
    let command = <ServeOptions as clap::Args>::augment_args(clap::Command::new("serve"));
    for flag in command.get_arguments().filter(|flag| flag.get_id() != "config") {
        let [name, variable] = [flag.get_long(), flag.get_env().and_then(std::ffi::OsStr::to_str)];
        for name in [format!("`--{}`", name.expect("a flag")), format!("`{}`", variable.expect("a variable"))] {
            assert!(EXAMPLE.contains(&name), "{name}");
        }
    }
}

/// The tables of a file, each with its schema.
fn tables_of<'a>(schema: &'a Value, found: &mut Vec<&'a Value>) {
    for inner in keys(schema).into_iter().flat_map(serde_json::Map::values) {
        assert!(inner["description"].is_string(), "a key has no documentation: {inner}");
        tables_of(inner, found);
    }
    if keys(schema).is_some() {
        found.push(schema);
    }
}

#[test]
fn editors_judge_a_file_as_the_gateway_does() {
    let schema = published();
    let mut tables = Vec::new();
    tables_of(&schema, &mut tables);
    // All sections, and each rate, of the process and of a shop.
    assert!(tables.len() > 30, "{}", tables.len());
    assert!(!schema.to_string().contains("null"), "TOML has no null");
    let validator = jsonschema::draft202012::options().should_validate_formats(true).build(&schema).expect("a schema");
    let classifier = |text: &str| {
        let file: toml::Table = text.parse().expect("TOML");
        validator.is_valid(&serde_json::to_value(file).expect("JSON"))
    };
    let shop = "[[shop]]\nname = \"a\"\npath = \"/a\"\n";
    let several =
        format!("{shop}[shop.limits]\nheld = 5\n[[shop.platform]]\nname = \"p\"\nprofile = \"https://p.example/\"");
    assert!(resolve(&several, &[]).is_ok());
    for good in [EXAMPLE, &uncommented(), "", &several] {
        assert!(classifier(good), "{good}");
    }
    for wrong in [
        "[server]\nlisen = \"127.0.0.1:1\"",
        "[server]\nmax_connections = 0",
        "[profiles]\ntimeout_ms = 9",
        "[callers]\npolicy = \"strict\"",
        "[limits]\nsigned = \"much\"",
        "[limits]\nsigned = { per_second = 5 }",
        "[upstream]\nrelease = \"2020-01-01\"",
        "[[platform]]\nname = \"a\"",
        "[platform]\nname = \"a\"",
        "[[payment]]\nkind = \"cash\"\nid = \"a\"",
        "server = 5",
        "[[shop]]\npath = \"/a\"",
        "shop = { name = \"a\", path = \"/a\" }",
        &format!("{shop}[shop.server]\nlisten = \"127.0.0.1:1\""),
        &format!("{shop}[shop.log]\nlevel = \"off\""),
        &format!("{shop}nonsense = 1"),
    ] {
        assert!(!classifier(wrong) && resolve(wrong, &[]).is_err(), "{wrong}");
    }
}

#[test]
fn no_mistake_hides_another() {
    let text = "[server]\nlisten = 3\nmax_connections = \"x\"\ntrusted_proxies = [\"a\", \"b\"]\n\
                [data]\ncache_mb = -1\nsise = 1\n\
                [[payment]]\nkind = \"cash\"\n\
                [[payment]]\nkind = \"sandbox\"\nid = 4\n\
                [limits]\nsigned = { per_second = 0, burst = 0 }\n";
    let expected = [
        "`server.listen` in gateway.toml, line 2, column 10: invalid type: integer `3`, expected a socket address \
         such as \"127.0.0.1:8080\"",
        "`server.max_connections` in gateway.toml, line 3, column 19: invalid type: string \"x\", expected a whole number \
         from 1 to 1000000",
        "`server.trusted_proxies` in gateway.toml, line 4, column 19: invalid value: string \"a\", expected a network such \
         as 10.0.0.0/8, or an address",
        "`server.trusted_proxies` in gateway.toml, line 4, column 19: invalid value: string \"b\", expected a network such \
         as 10.0.0.0/8, or an address",
        "`data.cache_mb` in gateway.toml, line 6, column 12: invalid value: integer `-1`, expected a whole number from 0 to \
         1048576",
        "unknown key `data.sise` in gateway.toml, line 7, column 1; there are `dir`, `database`, \
         `database_file`, `database_ca_file`, `database_connections`, `database_timeout_ms`, `database_prepares`, \
         `keys_dir`, `cache_mb`, `max_mb`, `min_free_mb`, \
         `keep_unfinished_hours`, `keep_completed_hours`, `keep_addresses_days`, `sample`",
        "`payment[0]` in gateway.toml, line 8, column 1: missing field `id`",
        "`payment[0].kind` in gateway.toml, line 9, column 8: unknown variant `cash`, expected one of `sandbox`, `processor`, `stripe`, `google_pay`",
        "`payment[1].id` in gateway.toml, line 12, column 6: invalid type: integer `4`, expected a string",
        "`limits.signed.per_second` in gateway.toml, line 14, column 25: invalid value: integer `0`, expected a whole \
         number from 1 to 1000000",
        "`limits.signed.burst` in gateway.toml, line 14, column 36: invalid value: integer `0`, expected a whole number \
         from 1 to 1000000",
    ];
    assert_eq!(refused(text).lines().collect::<Vec<_>>(), expected);
    let torn: Vec<_> = refused("[data]\nx = = 3\n[callers]\ny = \"\n").lines().map(str::to_owned).collect();
    assert_eq!(torn[0], "gateway.toml, line 2, column 5: extra `=`, expected nothing");
    assert!(torn.len() == 2 && torn[1].starts_with("gateway.toml, line 4, column "), "{torn:?}");
    // What goes wrong with a well-formed section is told beside that, unless it may follow from it.
    let missing = platform("api_key_env = \"MISSING\"");
    assert!(refused(&format!("{missing}[data]\ncache_mb = -1")).contains("no variable `MISSING`"));
    assert!(!refused(&format!("{missing}limit = 3")).contains("no variable `MISSING`"));
    assert!(!refused(&format!("{missing}[server]\nlisten = 3")).contains("no variable `MISSING`"));
}

#[test]
fn what_is_shown_can_be_read_again() {
    let case = Case::new().with("a.json", "{}");
    let text = "[server]\nlisten = \"0.0.0.0:80\"\npublic_url = \"https://shop.example.com\"\nmax_in_flight = 5\n\
                trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\n[data]\ndir = \"shop\"\n\
                [limits]\nsigned = \"none\"\n[signatures]\nresponses = \"all\"\n\
                order = \"enforce\"\nbrowsing = \"off\"\n"
        .to_owned()
        + &platform("profile_file = \"a.json\"").replace("\"a\"", "\"an \\\"agent\\\"\"");
    let shown = case.resolve(&text, &[]).expect("settings").to_string();
    assert_eq!(case.resolve(&shown, &[]).expect("what was shown").to_string(), shown);
    assert!(shown.contains("order = \"enforce\"") && shown.contains("\"10.0.0.0/8\", \"::1/128\""), "{shown}");
}

/// A binary without the directory runs, and says why it serves none where one is asked for.
#[cfg(not(feature = "directory"))]
#[test]
fn a_directory_that_was_not_built_is_not_served_and_asking_for_it_is_told() {
    let bare = resolve("[merchants]\ncapability = \"dev.ucp.x\"\n", &[]).expect("settings");
    assert!(!bare.directory.merchants && !bare.directory.locations);
    let all = "[merchants]\nenabled = true\nlocations = true\n[geocoder]\nurl = \"https://geo.example.com/\"\nplaces = \"p\"\n";
    let error = resolve(all, &[]).expect_err("there is none").to_string();
    for key in ["merchants.enabled", "merchants.locations", "geocoder.url", "geocoder.places"] {
        let told = |line: &str| line.contains(key) && line.contains("built without the feature `directory`");
        assert!(error.lines().any(told), "{key}: {error}");
    }
}

#[test]
fn risks_are_warned_of_with_their_key() {
    use std::os::unix::fs::PermissionsExt as _;

    let case =
        Case::new().with("token", "0123456789abcdef").with("weak", "letmein").with("plain", "aaaaaaaaaaaaaaaaaa");
    let mode = |name: &str, mode| fs::set_permissions(case.path(name), fs::Permissions::from_mode(mode)).expect("set");
    mode("token", 0o640);
    mode("weak", 0o600);
    mode("plain", 0o604);
    let warned = |text: &str| -> Vec<String> {
        let settings = case.resolve(text, &[]).expect(text);
        let key = |warning: &String| warning.split('`').nth(1).unwrap_or_default().to_owned();
        settings.warnings.iter().map(key).collect()
    };
    let admin = |listen: &str, file: &str| {
        format!("[server]\nadmin_listen = \"{listen}:8081\"\nadmin_token_file = \"{file}\"\n")
    };
    for (text, keys) in [
        (String::new(), &[][..]),
        ("[server]\nlisten = \"0.0.0.0:80\"\ntrusted_proxies = [\"10.0.0.0/8\", \"::1\"]".to_owned(), &[]),
        ("[server]\nlisten = \"0.0.0.0:80\"\n[callers]\npolicy = \"development\"".to_owned(), &["callers.policy"]),
        ("[server]\ntrusted_proxies = [\"0.0.0.0/0\", \"::/0\"]".to_owned(), &["server.trusted_proxies"; 2]),
        ("[server]\npublic_url = \"http://shop.example.com\"".to_owned(), &["server.public_url"]),
        ("[server]\npublic_url = \"https://shop.example.com\"".to_owned(), &[]),
        ("[server]\npublic_url = \"http://localhost:8080\"".to_owned(), &[]),
        (admin("127.0.0.1", "token"), &[]),
        (admin("0.0.0.0", "token"), &["server.admin_listen"]),
        (admin("127.0.0.1", "weak"), &["server.admin_token_file"]),
        (admin("127.0.0.1", "plain"), &["server.admin_token_file"; 2]),
    ] {
        assert_eq!(warned(&text), keys, "{text}");
    }
    let warnings = case.resolve(&admin("127.0.0.1", "weak"), &[]).expect("settings").warnings.clone();
    assert!(!warnings.join("").contains("letmein"), "{warnings:?}");
}

#[test]
fn a_shop_inherits_what_it_does_not_state() {
    let text = r#"
        [data]
        dir = "all"
        cache_mb = 5
        [limits]
        held = 7
        keyed = { per_second = 3, burst = 4 }
        [upstream]
        backend = "http"
        url = "https://shop.example.com"
        token_env = "TOKEN"
        [[platform]]
        name = "agent"
        profile = "https://agent.example/"
        [[shop]]
        name = "one"
        hosts = ["One.example"]
        [[shop]]
        name = "two"
        hosts = ["two.example", "www.two.example"]
        path = "/shops/two"
        [shop.data]
        cache_mb = 6
        [shop.upstream]
        token_file = "token"
        [shop.limits]
        keyed = "none"
        [[shop.platform]]
        name = "other"
        profile = "https://other.example/"
        [shop.server]
        public_url = "https://elsewhere.example:8443"
        [[shop]]
        name = "three"
        path = "/three"
        [shop.upstream]
        backend = "embedded"
    "#;
    let mut case = Case::new().with("token", "of-two");
    case.environment.push(("TOKEN", "of-all".to_owned()));
    let all = case.resolve_all(text, &["--listen", "0.0.0.0:80", "--sample", "flower-shop"]).expect("three shops");
    let [one, two, three] = &*all.shops else { panic!("three shops") };
    assert!(all.single().is_none() && all.drain() >= one.drain);
    assert_eq!((one.mount.hosts.clone(), &*one.mount.path), (vec!["one.example".to_owned()], ""));
    assert_eq!(two.mount.to_string(), "two.example/shops/two, www.two.example/shops/two");
    let local = Url::parse("http://127.0.0.1:8080").expect("an address");
    let url = |shop: &Settings| shop.public_url(&local).to_string();
    assert_eq!(url(one), "https://one.example/");
    assert_eq!(url(two), "https://elsewhere.example:8443/shops/two");
    assert_eq!(url(three), "http://127.0.0.1:8080/three");
    let caches = [one, two, three].map(|shop| shop.sections.data.cache_mb.count());
    assert_eq!(caches, [5, 6, 5]);
    for shop in [one, two, three] {
        assert_eq!(shop.sections.limits.held.map(Number::count), Some(7));
        assert_eq!(shop.sections.data.sample.0.name, "flower-shop");
        assert!(shop.sections.data.dir.ends_with("all"));
    }
    assert!(one.dir().ends_with("all/shops/one") && two.dir().ends_with("all/shops/two"));
    let token = |shop: &Settings| shop.upstream.as_ref()?.token.as_ref().map(|token| token.reveal().to_owned());
    assert_eq!((token(one).as_deref(), token(two).as_deref()), (Some("of-all"), Some("of-two")));
    assert!(three.upstream.is_none(), "another backend inherits nothing of the section");
    let names = |shop: &Settings| shop.platforms.iter().map(|platform| platform.name.clone()).collect::<Vec<_>>();
    assert_eq!((names(one), names(two)), (vec!["agent".to_owned()], vec!["other".to_owned()]));
    assert!(one.quotas().platforms[0].is_some() && two.quotas().platforms[0].is_none());
    // A shop is the same for as long as its own values are, wherever they stand, with the content of its files.
    let again = |text: &str, case: &Case| {
        let all = case.resolve_all(text, &["--listen", "0.0.0.0:80", "--sample", "flower-shop"]).expect("shops");
        all.shops.iter().map(|shop| shop.fingerprint).collect::<Vec<_>>()
    };
    let before: Vec<_> = all.shops.iter().map(|shop| shop.fingerprint).collect();
    let moved = text.replace("[[shop]]\n        name = \"one\"", "# a line\n\n[[shop]]\n        name = \"one\"");
    assert_eq!(again(&format!("[log]\nlevel = \"off\"\n{moved}"), &case), before);
    let differs = |after: Vec<u64>| before.iter().zip(after).map(|(one, other)| *one != other).collect::<Vec<_>>();
    assert_eq!(differs(again(&text.replace("cache_mb = 6", "cache_mb = 9"), &case)), [false, true, false]);
    assert_eq!(differs(again(&text.replace("cache_mb = 5", "cache_mb = 9"), &case)), [true, false, true]);
    let case = case.with("token", "another");
    assert_eq!(differs(again(text, &case)), [false, true, false]);
    // What is shown of the settings amounts to the same.
    let again = case.resolve_all(&all.to_string(), &[]).expect("what is shown");
    let without_secrets = |all: &Configuration| {
        all.to_string().lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_secrets(&again), without_secrets(&all));
}

#[test]
fn what_is_shown_of_several_shops_can_be_read() {
    let text = "[data]\ndir = \"/srv/shops\"\n[limits]\nheld = 7\n[[shop]]\nname = \"one\"\nhosts = [\"one.localhost\"]\n[shop.data]\ncache_mb = 6\n\
                [[shop]]\nname = \"two\"\npath = \"/two\"\n[[shop.payment]]\nkind = \"sandbox\"\nid = \"a\"\n";
    let all = Case::new().resolve_all(text, &[]).expect("two shops");
    let shown = all.to_string();
    for expected in [
        "[server]\nlisten",
        "[[shop]]\nname = \"one\"\nhosts = [\"one.localhost\"]\n",
        "[shop.data]",
        "cache_mb = 6",
        "[[shop.payment]]\n",
    ] {
        assert!(shown.contains(expected), "{expected}: {shown}");
    }
    let again = Case::new().resolve_all(&shown, &[]).expect("what is shown");
    assert_eq!(again.to_string(), shown);
    assert!(
        all.shops.iter().all(|shop| shop.policy == Policy::Development),
        "names below localhost are of this machine"
    );
}

#[test]
fn problems_with_several_shops_name_shop_and_key() {
    for (text, expected) in [
        (
            "[[shop]]\nname = \"a\"\npath = \"/a\"\n[shop.server]\nlisten = \"127.0.0.1:1\"",
            &["`server.listen` of shop `a` in gateway.toml, line 5, column 1: this belongs to the process"][..],
        ),
        (
            "[[shop]]\nname = \"a\"\npath = \"/a\"\nlog = { level = \"off\" }",
            &["`log` of shop `a` in gateway.toml, line 4, column 1: this belongs to the process"],
        ),
        (
            "[[shop]]\nname = \"a\"\npath = \"/a\"\n[shop.limits]\nhelt = 1\n[shop.data]\ncache_mb = -1",
            &[
                "unknown key `limits.helt` of shop `a` in gateway.toml, line 5, column 1; did you mean `limits.held`?",
                "`data.cache_mb` of shop `a` in gateway.toml, line 7, column 12: invalid value: integer `-1`",
            ],
        ),
        (
            "[[shop]]\nname = \"a\"\n[[shop]]\nname = \"A\"\npath = \"a\"\n[[shop]]\npath = \"/a/\"",
            &[
                "`name` of shop `a` in gateway.toml, line 2, column 8: one of several shops must have `hosts` or a `path`",
                "`name` of shop `A` in gateway.toml, line 4, column 8: the identifier of a shop must be 1 to 64 characters",
                "`path` of shop `A` in gateway.toml, line 5, column 8: the path must be segments of letters",
                "`path` of shop `` in gateway.toml, line 7, column 8: the path must be segments",
                "`name` of shop `` in gateway.toml: the identifier of a shop must be",
            ],
        ),
        (
            "[[shop]]\nname = \"a\"\nhosts = [\"One.example\"]\n[[shop]]\nname = \"b\"\nhosts = [\"x y\", \"one.example\"]\n\
             [[shop]]\nname = \"a\"\npath = \"/b\"\nhost = \"c\"",
            &[
                "`hosts` of shop `b` in gateway.toml, line 6, column 9: \"x y\" must be a host name without port",
                "`hosts` of shop `b` in gateway.toml, line 6, column 9: another shop has the same place, one.example",
                "`name` of shop `a` in gateway.toml, line 8, column 8: another shop has the same name",
                "unknown key `host` of shop `a` in gateway.toml, line 10, column 1",
            ],
        ),
        (
            "[upstream]\nbackend = \"http\"\n[[shop]]\nname = \"a\"\npath = \"/a\"\n[[shop]]\nname = \"b\"\npath = \"/b\"\n\
             [shop.upstream]\nurl = \"ftp://b\"",
            &[
                "`upstream.backend` of shop `a` in gateway.toml, line 2, column 11: this needs `upstream.url`, or the flag",
                "`upstream.url` of shop `b` in gateway.toml, line 10, column 7: expected an https address",
            ],
        ),
        (
            "[[shop]]\nname = \"a\"\npath = \"/inspector\"\n[[shop]]\nname = \"b\"\npath = \"/livez/b\"\n\
             [[shop]]\nname = \"c\"\npath = \"/inspectors\"",
            &[
                "`path` of shop `a` in gateway.toml, line 3, column 8: /inspector is the gateway's own",
                "`path` of shop `b` in gateway.toml, line 6, column 8: /livez/b is the gateway's own",
            ],
        ),
        ("shop = 3", &["`shop` in gateway.toml, line 1, column 8: expected tables, each begun with `[[shop]]`"]),
        (
            "[limits]\nhelt = 1\n[[shop]]\nname = \"a\"\npath = \"/a\"",
            &["unknown key `limits.helt` in gateway.toml, line 2"],
        ),
    ] {
        let refused = Case::new().resolve_all(text, &[]).expect_err(text);
        let lines: Vec<_> = refused.lines().collect();
        for expected in expected {
            assert!(lines.iter().any(|line| line.starts_with(expected)), "{expected}: {refused}");
        }
        assert_eq!(lines.len(), expected.len(), "{refused}");
    }
}

#[test]
fn each_file_in_a_folder_is_a_shop() {
    let mut case = Case::new();
    fs::create_dir(case.path("shops.d")).expect("a directory");
    let main = "[server]\nshops_dir = \"shops.d\"\n[[shop]]\nname = \"first\"\npath = \"/first\"\n";
    case = case.with(
        "shops.d/tea.toml",
        "path = \"/tea\"\n[upstream]\nbackend = \"http\"\nurl = \"https://t.example\"\ntoken_file = \"token\"\n",
    );
    case =
        case.with("shops.d/token", "beside-it").with("shops.d/coffee.toml", "name = \"mocha\"\npath = \"/coffee\"\n");
    let all = case.resolve_all(main, &[]).expect("three shops");
    let names: Vec<_> = all.shops.iter().map(|shop| shop.mount.id.to_string()).collect();
    assert_eq!(names, ["first", "mocha", "tea"]);
    assert!(all.shops[2].upstream.as_ref().is_some_and(|upstream| upstream.token.is_some()));
    case = case
        .with("shops.d/coffee.toml", "path = \"/coffee\"\n[data]\ncache_mb = \"x\"\n")
        .with("shops.d/tea.toml", "=");
    let refused = case.resolve_all(main, &[]).expect_err("two problems");
    let expected =
        ["`data.cache_mb` of shop `coffee` in shops.d/coffee.toml, line 3, column 12", "shops.d/tea.toml, line 1"];
    for (line, expected) in refused.lines().zip(expected) {
        assert!(line.starts_with(expected), "{refused}");
    }
    assert!(
        case.resolve_all("[server]\nshops_dir = \"nowhere\"\n", &[])
            .expect_err("no folder")
            .contains("server.shops_dir")
    );
}
