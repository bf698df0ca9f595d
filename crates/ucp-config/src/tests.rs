//! Guarantees of the configuration.

mod published;
mod several;

use std::{fs, net::SocketAddr, path::PathBuf};

use clap::Parser as _;
use jiff::Timestamp;
use ucp_trust::{
    api_key::ApiKey,
    limit::{Quota, RateLimits, Share},
};

use super::*;

/// A command line with the flags of the configuration alone.
#[derive(clap::Parser)]
struct CommandLine {
    #[command(flatten)]
    serve: ServeOptions,
}

/// The time at which files are read.
fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_800_000_000)
}

fn flags(arguments: &[&str]) -> ServeOptions {
    CommandLine::try_parse_from([&["ucp-gateway"], arguments].concat()).expect("a command line").serve
}

/// Configuration file in a directory of its own, with the environment.
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
        Configuration::resolve_in(&flags, &variable, now()).map_err(|error| error.to_string().replace(&directory, ""))
    }
}

/// The only shop of the command line.
fn of_flags(arguments: &[&str]) -> Result<Arc<Settings>, ConfigError> {
    let all = Configuration::resolve(&flags(arguments), now())?;
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
    assert_eq!((server.max_connections.0, server.mcp_error_status), (7, McpErrorStatus::Always));
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
        "unknown key `platform[0].xyz` in gateway.toml, line 10, column 1; there are `preset`, `name`, `profile`, \
         `profile_file`, `api_key_hash`, `api_key_file`, `api_key_env`, `client_id`, `client_secret_file`, `client_secret_env`, \
         `certificate_sha256`, `signature_agent`, `customer_group`, `limit`, `webhook_url`, `webhook_headers_file`, \
         `webhook_release`, `webhook_timestamp`, `webhook_id`, `webhook_refusal`",
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
            "`platform[0].profile` in gateway.toml: a platform must have a profile, an API key, a client, a certificate or a signature agent by which it is known",
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
    assert_eq!((0..9).filter(|_| limits.check(&Share::Keyed(0)).is_ok()).count(), 2);
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
    let refused = case.resolve("[profiles]\nca_files = [\"roots.pem\"]", &[]).expect_err("no certificates");
    assert!(refused.starts_with("`profiles.ca_files` in gateway.toml, line 2, column 12: roots.pem: "), "{refused}");
}

#[test]
fn a_key_is_taken_under_its_former_name_with_a_warning() {
    let case = Case::new();
    let settings = case.resolve("[limits]\nheld = 7\n[profiles]\nextra_roots = []", &[]).expect("settings");
    assert_eq!(settings.sections.limits.max_open_carts.map(Number::count), Some(7));
    let warning = "line 2, column 1: this key is now called `max_open_carts`; the next \
                   version accepts only that name";
    assert!(
        settings.warnings.iter().any(|told| told.starts_with("`limits.held` in ") && told.ends_with(warning)),
        "{:?}",
        settings.warnings
    );
    assert!(settings.warnings.iter().any(|told| told.contains("now called `ca_files`")), "{:?}", settings.warnings);
    let several = "[limits]\nheld = 7\n[[shop]]\nname = \"a\"\npath = \"/a\"\n[shop.limits]\nmax_open_carts = 5";
    let shops = case.resolve_all(several, &[]).expect("settings").shops;
    assert_eq!(shops[0].sections.limits.max_open_carts.map(Number::count), Some(5));
    let both = case.resolve("[limits]\nheld = 7\nmax_open_carts = 5", &[]).expect_err("a key under two names");
    assert!(both.starts_with("unknown key `limits.held`"), "{both}");
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
        ("api_key_env = \"MISSING\"", "line 4, column 15: environment variable `MISSING` is not set"),
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
        ("admin_listen = \"127.0.0.1:0\"\nadmin_token_env = \"NOWHERE\"", "server.admin_token_env", "is not set"),
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
    let now = Timestamp::try_from(now()).expect("a time").as_second();
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
    assert!(refused(&format!("{missing}[data]\ncache_mb = -1")).contains("`MISSING` is not set"));
    assert!(!refused(&format!("{missing}limit = 3")).contains("`MISSING` is not set"));
    assert!(!refused(&format!("{missing}[server]\nlisten = 3")).contains("`MISSING` is not set"));
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
