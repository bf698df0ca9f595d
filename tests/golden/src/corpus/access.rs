//! API keys, and limits that do not depend on how fast calls come.

use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::json;

use super::negotiation::{open, policy};
use crate::{
    Done,
    host::{EVERYTHING, profile},
    operation::{Caller, MAIN, NEWEST, Way, rpc},
    stage::{Setup, Stage},
    wire::Request,
};

const ONE: &str = "https://one.example.com/profile.json";
const OTHER: &str = "https://other.example.com/profile.json";

/// A registered platform whose profile is in a file.
fn platform(name: &str, profile: &str, more: &str) -> String {
    format!("\n[[platform]]\nname = \"{name}\"\nprofile = \"{profile}\"\nprofile_file = \"profile.json\"\n{more}\n")
}

fn pinned(configuration: &str) -> Setup {
    Setup::new(configuration).outfitters().file("profile.json", &profile(NEWEST, &EVERYTHING).to_string())
}

/// The key that the first lines of `keys api` show.
fn made(stage: &mut Stage<'_>, name: &str) -> Done<(String, String)> {
    let said = stage.run(name, &["keys", "api"], b"")?.stdout;
    let mut lines = said.lines();
    let key = lines.next().unwrap_or_default().to_owned();
    let line = lines.next().unwrap_or_default().to_owned();
    stage.normal.know(&key, "api_key");
    Ok((key, line))
}

/// Plays platforms with API keys.
pub(crate) fn keys(stage: &mut Stage<'_>) -> Done {
    let (one, one_line) = made(stage, "make-one")?;
    let (other, _) = made(stage, "make-other")?;
    for name in ["require", "lenient"] {
        let configuration = [
            policy(name),
            platform("One", ONE, &one_line),
            platform("Other", OTHER, "api_key_env = \"OTHER_API_KEY\""),
        ];
        let gateway = stage.start(&pinned(&configuration.concat()).variable("OTHER_API_KEY", &other))?;
        let unknown = format!("ucpk_{}", BASE64_URL_SAFE_NO_PAD.encode([7; 32]));
        let bearer = |key: &str| format!("Bearer {key}");
        for (label, profile, headers) in [
            ("good", ONE, vec![("X-API-Key", one.clone())]),
            ("good-bearer", ONE, vec![("Authorization", bearer(&one))]),
            ("good-both", ONE, vec![("X-API-Key", one.clone()), ("Authorization", bearer(&one))]),
            ("from-environment", OTHER, vec![("X-API-Key", other.clone())]),
            ("written-otherwise", "https://ONE.example.com:443/x/../profile.json#k", vec![("X-API-Key", one.clone())]),
            ("of-another", OTHER, vec![("X-API-Key", one.clone())]),
            ("two-keys", ONE, vec![("X-API-Key", one.clone()), ("X-API-Key", other.clone())]),
            ("two-ways", ONE, vec![("X-API-Key", one.clone()), ("Authorization", bearer(&other))]),
            ("unknown", ONE, vec![("X-API-Key", unknown.clone())]),
            ("unknown-bearer", ONE, vec![("Authorization", bearer(&unknown))]),
            ("empty", ONE, vec![("X-API-Key", String::new())]),
            ("short", ONE, vec![("X-API-Key", "x".to_owned())]),
            ("foreign-bearer", ONE, vec![("Authorization", "Bearer eyJhbGciOi.J9.x".to_owned())]),
            ("basic", ONE, vec![("Authorization", "Basic dTpw".to_owned())]),
            ("none", ONE, vec![]),
            ("stranger", "https://127.0.0.1:1/p", vec![("X-API-Key", one.clone())]),
        ] {
            for way in MAIN {
                for operation in ["get_product", "create_checkout"] {
                    let mut caller = Caller::new(None, way).named(profile);
                    for (header, value) in &headers {
                        caller = caller.header(header, value);
                    }
                    let payload = json!({ "id": "prod_abc123", "line_items": [{ "item": { "id": "var_abc123_red_10" }, "quantity": 1 }] });
                    stage.ask(
                        &format!("{name}/{label}/{}/{operation}", caller.label()),
                        &gateway,
                        &caller.call(operation, None, &payload),
                    );
                }
            }
        }
        let unnamed = Caller::new(None, Way::Rest).unnamed().header("X-API-Key", &one);
        stage.ask(
            &format!("{name}/unnamed"),
            &gateway,
            &unnamed.call("get_product", None, &json!({ "id": "prod_abc123" })),
        );
        let list = Request::post("/mcp", rpc("tools/list", &json!({})).to_string()).header("X-API-Key", &unknown);
        stage.ask(&format!("{name}/list-with-unknown-key"), &gateway, &list);
        let told = list.header("MCP-Protocol-Version", "2025-11-25");
        stage.ask(&format!("{name}/list-with-unknown-key-2025-11-25"), &gateway, &told);
    }
    Ok(())
}

/// Plays gateways in which the second call is too much, and stays so for a day.
pub(crate) fn limits(stage: &mut Stage<'_>) -> Done {
    // A drop falls once in ten seconds at most; the calls of a step come faster, each step on a gateway of its own.
    let (key, line) = made(stage, "make")?;
    let slow = "{ per_second = 1, burst = 1 }";
    for way in [Way::Rest, Way::Tool, Way::Handshake("2025-11-25"), Way::Stateless, Way::Flat, Way::Events] {
        for endpoint in [None, Some("2026-01-11")] {
            for (label, keyed) in [("anonymous", false), ("keyed", true)] {
                let limits = open("development")
                    .replace("anonymous = \"none\"", &format!("anonymous = {slow}"))
                    .replace("keyed = \"none\"", &format!("keyed = {slow}"));
                let gateway = stage.start(&pinned(&[limits, platform("One", ONE, &line)].concat()))?;
                let mut caller = Caller::new(endpoint, way).named(ONE);
                if keyed {
                    caller = caller.header("X-API-Key", &key);
                }
                let request = caller.call("get_product", None, &json!({ "id": "prod_abc123" }));
                // Calls until one is refused, so that nothing depends on how fast they are.
                let refused = (0..200).find_map(|_| {
                    let response = gateway.send(&request).ok()?;
                    response.text().contains("rate_limited").then_some(response)
                });
                let name = format!("{label}/{}", caller.label());
                stage.answered(&name, &request, &refused.ok_or("a call must be too much within 200")?);
                stage.ask(&format!("{name}/profile"), &gateway, &Request::get("/.well-known/ucp"));
            }
        }
    }
    Ok(())
}
