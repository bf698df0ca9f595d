//! The command line: what every command says of itself, of mistakes, and of configurations.

use serde_json::json;

use crate::{
    Done,
    host::{EVERYTHING, profile},
    operation::RELEASES,
    stage::{Setup, Stage},
};

/// Plays commands that end by themselves.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let commands: [&[&str]; 24] = [
        &[],
        &["serve"],
        &["import"],
        &["terms"],
        &["mcp"],
        &["check-config"],
        &["keys"],
        &["keys", "api"],
        &["keys", "generate"],
        &["keys", "list"],
        &["keys", "rotate"],
        &["orders"],
        &["orders", "list"],
        &["orders", "show"],
        &["orders", "ship"],
        &["orders", "deliver"],
        &["orders", "cancel"],
        &["orders", "capture"],
        &["orders", "release"],
        &["orders", "refund"],
        &["webhooks"],
        &["webhooks", "list"],
        &["webhooks", "resend"],
        &["sign"],
    ];
    for command in commands.into_iter().chain([&["verify"][..], &["explain"], &["explain", "negotiation"], &["spec"]]) {
        for help in ["--help", "-h"] {
            stage.run(&format!("help/{}{help}", command.join("-")), &[command, &[help]].concat(), b"")?;
        }
    }
    for arguments in [
        &["--version"][..],
        &["help"],
        &["unheard-of"],
        &["--unheard-of"],
        &["serve", "--port", "1"],
        &["keys"],
        &["orders"],
        &["serve", "--listen", "here"],
        &["serve", "--sample", "shoes"],
        &["serve", "--policy", "strict"],
        &["serve", "--public-url", "shop.example.com"],
        &["serve", "--public-url", "https://a.example/x"],
        &["serve", "--public-url", "https://a.example/?x"],
        &["serve", "--max-connections", "0"],
        &["serve", "--backend", "x"],
        &["serve", "--backend", "ucp"],
        &["serve", "--backend", "shopify"],
        &["serve", "--mcp-error-status", "x"],
        &["serve", "--backend", "ucp", "--upstream-url", "ftp://shop.example.com"],
        &["serve", "--config", "missing.toml"],
        &["serve", "--upstream-url", "https://a.example"],
        &["serve", "--cache-mb", "many"],
        &["check-config", "--config", "missing.toml"],
        &["explain"],
        &["explain", "negotiation"],
        &["keys", "generate", "--algorithm", "rsa"],
        &["explain", "negotiation", "--profile", "missing.json"],
        &["keys", "rotate", "--grace-days", "99999"],
        &["sign", "missing.http"],
        &["verify", "missing.http"],
        &["verify", "missing.http", "--keys", "missing.json"],
        &["orders", "ship", "x", "--line", "y"],
        &["orders", "list", "--limit", "many"],
        &["terms", "missing.json"],
        &["spec", "--root", "missing"],
        &["orders", "list", "--data-dir", "missing"],
        &["webhooks", "list", "--data-dir", "missing"],
        &["keys", "list", "--data-dir", "missing"],
        &["terms", "--data-dir", "missing"],
    ] {
        stage.run(&format!("mistake/{}", arguments.join("-").replace('/', "|")), arguments, b"")?;
    }
    let data = stage.place("keys").display().to_string();
    for arguments in [
        &["keys", "list"][..],
        &["keys", "generate"],
        &["keys", "list"],
        &["keys", "generate", "--algorithm", "es384"],
        &["keys", "list"],
        &["keys", "list", "--json"],
        &["keys", "rotate"],
        &["keys", "list"],
        &["keys", "rotate", "--grace-days", "0"],
        &["keys", "list"],
    ] {
        stage.run(&arguments.join("-"), &[arguments, &["--data-dir", &data]].concat(), b"")?;
    }
    explain(stage)?;
    let written = stage.place("documents");
    std::fs::create_dir_all(&written).map_err(|error| error.to_string())?;
    let root = written.display().to_string();
    stage.run("spec/compare-with-nothing", &["spec", "--root", &root], b"")?;
    stage.run("spec/write", &["spec", "--write", "--root", &root], b"")?;
    stage.run("spec/compare", &["spec", "--root", &root], b"")?;
    files(stage, &written, "")
}

/// Writes down every file below a folder.
fn files(stage: &mut Stage<'_>, folder: &std::path::Path, path: &str) -> Done {
    let fault = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut entries: Vec<_> = std::fs::read_dir(folder).map_err(fault)?.flatten().collect();
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let name = format!("{path}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            files(stage, &entry.path(), &name)?;
        } else {
            let text = std::fs::read_to_string(entry.path()).map_err(fault)?;
            stage.write(&format!("spec/written{name}"), String::new(), text);
        }
    }
    Ok(())
}

fn explain(stage: &mut Stage<'_>) -> Done {
    let mut all = Vec::new();
    for release in RELEASES {
        all.push((format!("all-{release}"), profile(release, &EVERYTHING).to_string()));
        all.push((
            format!("few-{release}"),
            profile(release, &["dev.ucp.shopping.fulfillment", "com.example.loyalty"]).to_string(),
        ));
        all.push((format!("silent-{release}"), json!({ "ucp": { "version": release } }).to_string()));
    }
    for (label, text) in
        [("unknown", "{\"ucp\":{\"version\":\"2031-01-01\"}}"), ("broken", "{"), ("empty", "{}"), ("list", "[]")]
    {
        all.push((label.to_owned(), text.to_owned()));
    }
    for (label, text) in all {
        stage.run(&format!("explain/{label}"), &["explain", "negotiation", "--profile", "-"], text.as_bytes())?;
    }
    Ok(())
}

/// Plays configurations that are good and that are not.
pub(crate) fn configuration(stage: &mut Stage<'_>) -> Done {
    for (label, content) in [
        ("empty", ""),
        (
            "several",
            "[server]\nlisten = \"127.0.0.1:0\"\nmax_connections = 11\n[data]\ncache_mb = 11\n[callers]\npolicy = \"lenient\"\n",
        ),
        ("reachable", "[server]\nlisten = \"0.0.0.0:0\"\n"),
        ("public", "[server]\npublic_url = \"https://shop.example.com\"\nstorefront = \"https://www.example.com/\"\n"),
        (
            "unknown-keys",
            "[server]\nmax_in_fligth = 3\n[callers]\npolcy = \"require\"\n[profile]\nloopback = true\n[[platform]]\nname = \"One\"\nprofile = \"https://a.example/p\"\napi_key = \"ucpk_secret\"\n",
        ),
        ("in-flight-0", "[server]\nmax_in_flight = 0\n"),
        ("in-flight", "[server]\nmax_in_flight = 7\ntrusted_proxies = [\"10.0.0.0/8\", \"127.0.0.1\"]\n"),
        ("proxies", "[server]\ntrusted_proxies = [\"everyone\"]\n"),
        ("rate-0", "[limits]\nanonymous = { per_second = 0, burst = 1 }\n"),
        ("rate-text", "[limits]\nsigned = \"lots\"\n"),
        ("rates", "[limits]\nsigned = \"none\"\nkeyed = { per_second = 3, burst = 4 }\n"),
        ("policy", "[callers]\npolicy = \"strict\"\n"),
        ("anonymous", "[callers]\nanonymous = \"nothing\"\n"),
        ("signatures", "[signatures]\nbrowsing = \"maybe\"\n"),
        (
            "signatures-good",
            "[signatures]\nbrowsing = \"off\"\npurchase = \"enforce\"\norder = \"enforce\"\nresponses = \"all\"\n",
        ),
        ("roots", "[profiles]\nca_files = [\"missing.pem\"]\n"),
        ("loopback-public", "[server]\npublic_url = \"https://shop.example.com\"\n[profiles]\nloopback = true\n"),
        ("key-hash", "[[platform]]\nname = \"A\"\nprofile = \"https://a.example/p\"\napi_key_hash = \"hunter2\"\n"),
        ("key-env", "[[platform]]\nname = \"A\"\nprofile = \"https://a.example/p\"\napi_key_env = \"HUNTER\"\n"),
        ("key-file", "[[platform]]\nname = \"A\"\nprofile = \"https://a.example/p\"\napi_key_file = \"missing\"\n"),
        (
            "profile-file",
            "[[platform]]\nname = \"A\"\nprofile = \"https://a.example/p\"\nprofile_file = \"missing.json\"\n",
        ),
        ("profile-url", "[[platform]]\nname = \"A\"\nprofile = \"nowhere\"\n"),
        (
            "twice",
            "[[platform]]\nname = \"A\"\nprofile = \"https://a.example/p\"\n[[platform]]\nname = \"A\"\nprofile = \"https://a.example:443/./p\"\n",
        ),
        ("torn", "[server\n"),
        ("types", "[server]\nlisten = 3\nmax_connections = \"x\"\n[data]\ncache_mb = -1\n"),
        (
            "merchants",
            "[merchants]\nenabled = true\nmax_radius_km = 0\nrestricted_regions = [\"nowhere\"]\ncapability = \"x\"\n",
        ),
        (
            "merchants-own",
            "[merchants]\nenabled = true\nlocations = true\ncapability = \"com.example.directory\"\nservice = \"com.example.places\"\n",
        ),
        ("geocoder", "[geocoder]\nurl = \"http://geocoder.example.com/search\"\ntimeout_ms = 0\n"),
        ("geocoder-good", "[geocoder]\nurl = \"https://geocoder.example.com/search\"\ntimeout_ms = 10\n"),
        ("payment-kind", "[[payment]]\nkind = \"magic\"\n"),
        ("payment-bare", "[[payment]]\nkind = \"processor\"\nid = \"card\"\n"),
        (
            "payment-sandbox",
            "[[payment]]\nkind = \"sandbox\"\nid = \"box\"\nname = \"com.example.box\"\nversion = \"2026-01-01\"\nspec = \"https://example.com/box\"\nschema = \"https://example.com/box.json\"\n",
        ),
        (
            "payment-processor",
            "[[payment]]\nkind = \"processor\"\nid = \"card\"\nname = \"com.example.card\"\nversion = \"2026-01-01\"\nspec = \"https://example.com/card\"\nschema = \"https://example.com/card.json\"\nurl = \"https://psp.example.com/v1\"\napi_key_env = \"HUNTER\"\nsigning_key_id = \"g\"\nsigning_secret_env = \"HUNTER\"\n",
        ),
        ("upstream-bare", "[upstream]\nbackend = \"ucp\"\n"),
        ("upstream-http", "[upstream]\nbackend = \"ucp\"\nurl = \"http://shop.example.com\"\n"),
        (
            "upstream-good",
            "[upstream]\nbackend = \"ucp\"\nurl = \"https://shop.example.com\"\ntransport = \"rest\"\nrelease = \"2026-04-08\"\nmax_lookup_ids = 5\nper_second = 10\n",
        ),
        (
            "upstream-shopify",
            "[upstream]\nbackend = \"shopify\"\nurl = \"https://shop.example.com\"\ntoken_env = \"HUNTER\"\ntoken_kind = \"public\"\n",
        ),
        ("upstream-mixed", "[upstream]\nbackend = \"embedded\"\nurl = \"https://shop.example.com\"\n"),
        (
            "upstream-odd",
            "[upstream]\nbackend = \"ucp\"\nurl = \"https://shop.example.com\"\ntransport = \"fax\"\nrelease = \"2031-01-01\"\n",
        ),
        ("admin", "[server]\nadmin_listen = \"127.0.0.1:0\"\n"),
        ("admin-good", "[server]\nadmin_listen = \"127.0.0.1:0\"\nadmin_token_env = \"HUNTER\"\n"),
        ("error-status", "[server]\nmcp_error_status = \"matching\"\n"),
    ] {
        let setup = Setup::new(content).variable("HUNTER", "hunter2-hunter2-hunter2-hunter2-hunter2");
        stage.run_with(&format!("check/{label}"), &setup, "check-config")?;
    }
    for (label, content) in [
        ("unknown", "[server]\nodd = 1\n"),
        ("unsigned", "[signatures]\nresponses = \"all\"\n"),
        ("public", "[server]\npublic_url = \"https://shop.example.com\"\n[profiles]\nloopback = true\n"),
    ] {
        let data = stage.place("data").display().to_string();
        let setup = Setup::new(content).arguments(&["--listen", "127.0.0.1:0", "--data-dir", &data]);
        // Without a mistake the gateway would run on; all of these end by themselves.
        stage.run_with(&format!("serve/{label}"), &setup, "serve")?;
    }
    let environment = Setup::new("[server]\nmax_connections = 11\n").variable("UCP_GATEWAY_MAX_CONNECTIONS", "22");
    stage.run_with("check/environment", &environment, "check-config")?;
    stage.run_with("check/flag", &environment.clone().arguments(&["--max-connections", "33"]), "check-config")?;
    let wrong = Setup::new("").variable("UCP_GATEWAY_LISTEN", "nowhere");
    stage.run_with("check/wrong-environment", &wrong, "check-config")?;
    stage.run("check/bare", &["check-config"], b"").map(drop)
}
