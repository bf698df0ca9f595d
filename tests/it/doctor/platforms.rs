//! `doctor profile`: the profile of a platform.

use serde_json::{Value, json};
use ucp_client::doctor::Rule;
use ucp_testkit::server::{Answer, Server};

use super::{broken, examined};

fn profile() -> Value {
    let entry = |name: &str| json!([{ "version": "2026-08-25", "spec": format!("https://ucp.dev/{name}") }]);
    let mut order = entry("order");
    order[0]["config"] = json!({ "webhook_url": "https://agent.example.com/events" });
    json!({
        "ucp": {
            "version": "2026-08-25",
            "capabilities": {
                "dev.ucp.shopping.catalog.search": entry("search"),
                "dev.ucp.shopping.checkout": entry("checkout"),
                "dev.ucp.shopping.order": order,
            },
        },
    })
}

/// The report about a profile that is served with these header fields.
fn report(document: &Value, status: u16, fields: &[&str]) -> (Value, bool) {
    let (body, fields) = (document.to_string().into_bytes(), fields.iter().map(|field| (*field).to_owned()).collect());
    let answer = Answer::Whole(status, fields, body);
    let host = Server::start(move |_| answer.clone());
    let (report, good) = examined(&["profile", &host.url("/profile.json")]);
    (report, good)
}

const JSON: &str = "Content-Type: application/json";
const CACHING: &str = "Cache-Control: public, max-age=300";

#[test]
fn a_sound_profile_is_told_what_it_can_call() {
    let (report, good) = report(&profile(), 200, &[JSON, CACHING]);
    assert_eq!((broken(&report), good), (vec![], true), "{report:#}");
    let offers = report["offers"].to_string();
    assert!(
        offers.contains("search_catalog") && offers.contains("complete_checkout") && !offers.contains("create_cart")
    );
}

#[test]
fn every_rule_of_platforms_catches_its_fault() {
    let sound = [JSON, CACHING];
    let with = |pointer: &str, value: Value| {
        let mut changed = profile();
        *changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}")) = value;
        report(&changed, 200, &sound).0
    };
    let capability = "/ucp/capabilities/dev.ucp.shopping.checkout/0";
    for rule in Rule::ALL {
        let found = match rule {
            Rule::ProfileFound => report(&profile(), 404, &sound).0,
            Rule::ProfileRedirect => report(&profile(), 301, &[JSON, "Location: /elsewhere"]).0,
            Rule::ProfileMediaType => report(&profile(), 200, &["Content-Type: text/html", CACHING]).0,
            Rule::ProfileCaching => report(&profile(), 200, &[JSON, "Cache-Control: private"]).0,
            Rule::ProfileRelease => with("/ucp/version", "2025-01-01".into()),
            Rule::ProfileCapabilities => with(&format!("{capability}/version"), "1.0".into()),
            Rule::ProfileExtends => {
                with(capability, json!({ "version": "2026-08-25", "extends": "dev.ucp.shopping.cart" }))
            }
            Rule::ProfileAuthority => with(&format!("{capability}/spec"), "https://example.com/checkout".into()),
            Rule::ProfileKeys => {
                let mut changed = profile();
                changed["keys"] = json!([{ "kid": "a", "kty": "EC", "crv": "P-256", "x": "AA", "y": "AA", "d": "AA" }]);
                report(&changed, 200, &sound).0
            }
            Rule::PlatformAddress => {
                let output = examined(&["profile", "http://agent.invalid/profile.json"]);
                output.0
            }
            Rule::PlatformReadable => with("/ucp/version", 5.into()),
            Rule::PlatformTolerated => with(&format!("{capability}/version"), Value::Null),
            Rule::PlatformSize => {
                let mut changed = profile();
                changed["padding"] = "x".repeat(70_000).into();
                report(&changed, 200, &sound).0
            }
            Rule::PlatformWebhook => with(
                "/ucp/capabilities/dev.ucp.shopping.order/0/config/webhook_url",
                "http://agent.example.com/e".into(),
            ),
            Rule::PlatformCapabilities => with("/ucp/capabilities", json!({})),
            // Of shops.
            _ => continue,
        };
        assert!(broken(&found).contains(&rule.name()), "{rule} is not caught: {found:#}");
    }
}
