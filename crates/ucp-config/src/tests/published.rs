//! The example and the JSON Schema that are published.

use serde_json::Value;

use super::{
    super::schema::{example, keys, published},
    *,
};

/// The configuration that the repository ships.
const EXAMPLE: &str = include_str!("../../../../docs/gateway.example.toml");

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
    case = case.with("run/fields", "X-Key: of the platform\n").with("run/client", "a-secret-of-a-client");
    case.environment.push(("EXAMPLE_AGENT_CLIENT_SECRET", "a-secret-of-a-client".to_owned()));
    let mut all = uncommented()
        .replace("/run/secrets/example-agent-webhook", "run/fields")
        .replace("/run/secrets/example-agent-client", "run/client")
        .replace("/run/secrets/example-agent", "run/key");
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
        .filter(|line| {
            !["tls_", "certificate_sha256", "client_certificate", "client_key"]
                .into_iter()
                .any(|key| line.starts_with(key))
        })
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
        "processed_by = \"stripe\"\n",
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
        "\norigins = []\n",
    ] {
        assert!(all.contains(other), "{other}");
        all = all.replace(other, "\n");
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
        "model = \"/var/lib/ucp-gateway/model\"\n",
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
    let several = format!(
        "{shop}[shop.limits]\nmax_open_carts = 5\n[[shop.platform]]\nname = \"p\"\nprofile = \"https://p.example/\""
    );
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
