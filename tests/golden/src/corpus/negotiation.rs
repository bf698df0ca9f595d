//! Negotiation of platforms with real profiles: their version, common capabilities, and the policies for profiles that
//! cannot be fetched.

use serde_json::{Value, json};

use super::{payloads::ready, purchase};
use crate::{
    Done,
    host::{EVERYTHING, Host, profile},
    operation::{Caller, MAIN, NEWEST, OPERATIONS, RELEASES, Way, endpoints},
    process::Gateway,
    stage::{Setup, Stage},
};

/// A configuration that takes profiles of this machine under a policy.
pub(crate) fn policy(name: &str) -> String {
    format!(
        "[callers]\npolicy = \"{name}\"\n[profiles]\nloopback = true\nconnect_timeout_ms = 30000\ntimeout_ms = 30000\n\
         fetches = {{ per_second = 1000, burst = 1000 }}\n[limits]\nanonymous = \"none\"\nsigned = \"none\"\nkeyed = \"none\"\n\
         unverified = \"none\"\n"
    )
}

/// The same where everyone may buy.
pub(crate) fn open(name: &str) -> String {
    policy(name).replace("[profiles]", "anonymous = \"everything\"\n[profiles]")
}

/// Starts a host whose address has a name in the transcript.
pub(crate) fn host(stage: &mut Stage<'_>) -> Done<Host> {
    let host = Host::start()?;
    stage.normal.know(&host.address.to_string(), "host");
    Ok(host)
}

/// Plays platforms of every release at every endpoint, with all capabilities and with few.
pub(crate) fn play(stage: &mut Stage<'_>) -> Done {
    let gateway = stage.start(&Setup::new(&open("require")).outfitters())?;
    let host = host(stage)?;
    for (label, document) in profiles() {
        let url = host.profile(&format!("/{label}"), &document);
        for endpoint in endpoints() {
            for way in MAIN {
                let caller = Caller::new(endpoint, way).named(&url);
                let wide =
                    label.starts_with("all-") || label.ends_with("-none") || endpoint.is_none() && way == Way::Rest;
                for operation in OPERATIONS.into_iter().filter(|operation| wide || operation.name == "get_product") {
                    let resource = Some("some_id")
                        .filter(|_| !operation.name.starts_with("create") && operation.name != "get_product");
                    let request = caller.call(operation.name, resource, &small(operation.name));
                    stage.ask(&format!("{}/{label}/{}", caller.label(), operation.name), &gateway, &request);
                }
            }
        }
    }
    // Whole purchases of platforms of every release at the root.
    for release in RELEASES {
        let url = host.profile(&format!("/buys-{release}"), &profile(release, &EVERYTHING));
        for way in MAIN {
            let caller = Caller::new(None, way).named(&url);
            let shopper = purchase::Shopper::new(&gateway, caller, &format!("/buys-{release}")).of(release);
            purchase::buy(stage, &shopper, "var_abc123_red_10", "var_def456_green_9", "WELCOME10");
        }
        for endpoint in endpoints().filter(|endpoint| *endpoint == Some(release)) {
            let caller = Caller::new(endpoint, Way::Rest).named(&url);
            let shopper = purchase::Shopper::new(&gateway, caller, "/at-its-own-endpoint").of(release);
            purchase::buy(stage, &shopper, "var_abc123_red_10", "var_def456_green_9", "WELCOME10");
        }
    }
    let visits: Vec<_> =
        host.visits().iter().map(|visit| format!("{}\n{}", visit.line, heads(&visit.headers))).collect();
    stage.note("visits-of-the-host", &visits.join("\n"));
    Ok(())
}

fn heads(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, value)| format!("{name}: {value}\n")).collect()
}

/// A request that an operation understands.
fn small(name: &str) -> Value {
    match name {
        "search_catalog" | "search_merchants" | "search_locations" => {
            json!({ "query": "blue", "pagination": { "limit": 1 } })
        }
        "lookup_catalog" | "lookup_locations" => json!({ "ids": ["prod_abc123"] }),
        "get_product" => json!({ "id": "prod_abc123" }),
        "get_merchant" => json!({}),
        "complete_checkout" => super::payloads::paying(NEWEST, "success_token"),
        _ => ready(&[("var_abc123_red_10", 1)]),
    }
}

/// Profiles by name.
fn profiles() -> Vec<(String, Value)> {
    let mut all = Vec::new();
    for release in RELEASES {
        let mut add = |label: &str, document: Value| all.push((format!("{label}-{release}"), document));
        add("all", profile(release, &EVERYTHING));
        add("none", profile(release, &[]));
        add("catalog", profile(release, &EVERYTHING[..2]));
        add("search", profile(release, &EVERYTHING[..1]));
        add("checkout", profile(release, &["dev.ucp.shopping.checkout"]));
        add("cart", profile(release, &["dev.ucp.shopping.cart", "dev.ucp.shopping.discount"]));
        add(
            "extension-without-parent",
            profile(release, &["dev.ucp.shopping.fulfillment", "dev.ucp.shopping.discount"]),
        );
        add("checkout-and-extensions", profile(release, &EVERYTHING[3..8]));
        add("foreign", profile(release, &["com.example.loyalty", "dev.ucp.shopping.catalog.lookup"]));
        add(
            "ap2",
            profile(
                release,
                &["dev.ucp.shopping.checkout", "dev.ucp.shopping.ap2_mandate", "dev.ucp.common.ap2_mandate"],
            ),
        );
        add("silent", json!({ "ucp": { "version": release } }));
        let lookup = "dev.ucp.shopping.catalog.lookup";
        add(
            "other-version",
            json!({ "ucp": { "version": release, "capabilities": { lookup: [{ "version": "2031-01-01" }] } } }),
        );
        add(
            "several-versions",
            json!({ "ucp": { "version": release, "capabilities": { lookup: [
            { "version": "2026-01-23" }, { "version": "2026-04-08" }, { "version": "2026-08-25" }, { "version": "2031-01-01" },
        ] } } }),
        );
        add(
            "supported-versions",
            json!({ "ucp": { "version": release, "supported_versions": { "2026-04-08": "https://a.example/p" }, "capabilities": {} } }),
        );
        add(
            "handlers",
            json!({ "ucp": { "version": release, "capabilities": {}, "payment_handlers": { "com.example.pay": [{ "id": "x", "version": release }] } } }),
        );
        add("old-form", profile("2026-01-11", &EVERYTHING));
    }
    for version in ["2031-01-01", "2025-12-31", "2026-04-09", "0000-00-00", "soon", ""] {
        all.push((format!("unknown-{version}"), json!({ "ucp": { "version": version, "capabilities": {} } })));
    }
    all
}

/// Plays profiles that are not there, or are none, under every policy.
pub(crate) fn policies(stage: &mut Stage<'_>) -> Done {
    for name in ["require", "lenient", "development"] {
        for anonymous in ["browsing", "everything"] {
            let configuration = if anonymous == "everything" { open(name) } else { policy(name) };
            let gateway = stage.start(&Setup::new(&configuration).outfitters())?;
            let label = format!("{name}-{anonymous}");
            stage.note(&format!("{label}/welcome"), &gateway.welcome.join("\n"));
            strangers(stage, &gateway, &label)?;
        }
    }
    Ok(())
}

fn strangers(stage: &mut Stage<'_>, gateway: &Gateway, label: &str) -> Done {
    let host = host(stage)?;
    let good = profile(NEWEST, &EVERYTHING).to_string();
    let pages = [
        ("good", 200, "application/json", good.clone()),
        ("good-as-text", 200, "text/plain", good.clone()),
        ("good-with-charset", 200, "application/json; charset=utf-8", good.clone()),
        ("html", 200, "text/html", "<html>no</html>".to_owned()),
        ("broken", 200, "application/json", "{".to_owned()),
        ("list", 200, "application/json", "[]".to_owned()),
        ("empty", 200, "application/json", String::new()),
        ("no-ucp", 200, "application/json", "{}".to_owned()),
        ("no-version", 200, "application/json", "{\"ucp\":{}}".to_owned()),
        ("version-number", 200, "application/json", "{\"ucp\":{\"version\":3}}".to_owned()),
        (
            "capabilities-text",
            200,
            "application/json",
            "{\"ucp\":{\"version\":\"2026-08-25\",\"capabilities\":\"x\"}}".to_owned(),
        ),
        (
            "twice",
            200,
            "application/json",
            "{\"ucp\":{\"version\":\"2026-08-25\",\"version\":\"2026-04-08\"}}".to_owned(),
        ),
        (
            "large",
            200,
            "application/json",
            format!("{{\"ucp\":{{\"version\":\"2026-08-25\"}},\"x\":\"{}\"}}", "x".repeat(2_000_000)),
        ),
        ("gone", 404, "text/plain", "gone".to_owned()),
        ("error", 500, "text/plain", "error".to_owned()),
        ("moved", 302, "text/plain", "moved".to_owned()),
        ("nothing-new", 304, "text/plain", String::new()),
        ("created", 201, "application/json", good),
    ];
    let mut urls: Vec<(String, String)> = pages
        .map(|(page, status, media_type, body)| {
            (page.to_owned(), host.page(&format!("/{page}"), status, media_type, &body))
        })
        .into();
    urls.extend(
        [
            ("unreachable", "http://127.0.0.1:1/p"),
            ("private", "https://10.0.0.1/p"),
            ("link-local", "http://169.254.169.254/latest"),
            ("unspecified", "https://0.0.0.0/p"),
            ("localhost-https", "https://localhost:1/p"),
            ("ipv6", "http://[::1]:1/p"),
            ("file", "file:///etc/passwd"),
            ("nonsense", "nowhere"),
            ("user", "https://a:b@127.0.0.1:1/p"),
        ]
        .map(|(label, url)| (label.to_owned(), url.to_owned())),
    );
    for (page, url) in urls {
        for way in [Way::Rest, Way::Tool, Way::Flat] {
            for endpoint in [None, Some("2026-01-11"), Some(NEWEST)] {
                let caller = Caller::new(endpoint, way).named(&url);
                for name in ["get_product", "create_checkout", "get_order"] {
                    let request = caller.call(name, Some("ord_x").filter(|_| name == "get_order"), &small(name));
                    stage.ask(&format!("{label}/{page}/{}/{name}", caller.label()), gateway, &request);
                }
            }
        }
    }
    for way in MAIN {
        let caller = Caller::new(None, way).unnamed();
        stage.ask(
            &format!("{label}/unnamed/{}", caller.label()),
            gateway,
            &caller.call("get_product", None, &small("get_product")),
        );
    }
    Ok(())
}
