//! A start while the shop is down, with and without anything known of it from before.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tempfile::TempDir;
use ucp_core::Release;
use ucp_testkit::{
    PATIENCE, eventually,
    server::{Answer, Server},
};
use ucp_wire::documents::release_path;

use crate::{
    harness::{REST_HEADERS, Verdict, folder},
    setup::{Configured, Setup},
};

/// A shop that answers what it is told to, whatever it is asked.
struct Stub {
    answer: Arc<Mutex<Answer>>,
    server: Server,
    backend: &'static str,
}

const BUSY: Answer = Answer::status(503);

impl Stub {
    fn new(backend: &'static str, answer: Answer) -> Self {
        let answer = Arc::new(Mutex::new(answer));
        let told = Arc::clone(&answer);
        Self {
            answer,
            server: Server::start(move |_| told.lock().unwrap_or_else(PoisonError::into_inner).clone()),
            backend,
        }
    }

    fn answers(&self, answer: Answer) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = answer;
    }

    /// Description of the shop: the name of a currency or of a further operation in it distinguishes statements.
    fn states(&self, more: bool) {
        let document = match self.backend {
            "shopify" => {
                let country = json!({ "isoCode": "US", "currency": { "isoCode": "USD" } });
                let mut languages = vec![json!({ "isoCode": "EN" })];
                languages.extend(more.then(|| json!({ "isoCode": "FR" })));
                json!({ "data": {
                    "shop": { "name": "Stub" },
                    "localization": {
                        "availableCountries": [country], "availableLanguages": languages, "country": country,
                        "language": { "isoCode": "EN" },
                    },
                    "nodes": [null],
                } })
            }
            _ => self.profile(more),
        };
        self.answers(Answer::json(&document));
    }

    fn profile(&self, more: bool) -> Value {
        let version = Release::NEWEST.date();
        let mut capabilities = json!({ "dev.ucp.shopping.catalog.search": [{ "version": version }] });
        if more {
            capabilities["dev.ucp.shopping.cart"] = json!([{ "version": version }]);
        }
        let service = json!({ "version": version, "transport": "rest", "endpoint": self.server.url("/shop") });
        json!({
            "ucp": {
                "version": version, "services": { "dev.ucp.shopping": [service] }, "payment_handlers": {},
                "capabilities": capabilities, "status": "success",
            },
            // The same document answers a search.
            "products": [], "pagination": { "has_next_page": false },
        })
    }

    /// A call of the gateway that this shop can answer.
    fn ask(&self, gateway: &Configured) -> Verdict {
        match self.backend {
            "shopify" => gateway.rest("lookup_catalog", &json!({ "ids": ["gid://shopify/Product/7"] })),
            _ => gateway.rest("search_catalog", &json!({ "query": "tea" })),
        }
    }

    fn setup(&self) -> Setup {
        let configuration = "[profiles]\nloopback = true\n[upstream]\nconnect_timeout_ms = 20000\nread_timeout_ms = 30000\n[server]\nallowed_origins = [\"https://app.example\"]\n";
        Setup::new(configuration).arguments(&[
            "--log-level",
            "info",
            "--backend",
            self.backend,
            "--upstream-url",
            &self.server.url(""),
        ])
    }

    fn start(&self) -> Configured {
        self.setup().start_on(folder())
    }
}

fn not_ready(gateway: &Configured) -> bool {
    gateway.welcome.iter().any(|line| line.contains("NOT READY"))
}

fn becomes_ready(gateway: &Configured) {
    eventually("the gateway says that it is ready", PATIENCE, || {
        gateway.stderr().contains("upstream reachable, ready").then_some(())
    });
}

/// Copies of a data directory can be started on after the gateway has ended.
fn kept(gateway: &mut Configured) -> TempDir {
    gateway.kill();
    let copy = folder();
    crate::harness::copy(gateway.data(), copy.path());
    copy
}

#[test]
fn a_gateway_that_knows_nothing_refuses_calls_until_the_shop_answers() {
    for backend in ["ucp", "shopify"] {
        let shop = Stub::new(backend, BUSY);
        let gateway = shop.start();
        assert!(not_ready(&gateway), "{:?}", gateway.welcome);
        let search = json!({ "query": "tea" }).to_string();
        for release in [None].into_iter().chain(Release::ALL.iter().copied().map(Some)) {
            let prefix = release.map(release_path).unwrap_or_default();
            for (method, path) in
                [("GET", "/.well-known/ucp"), ("POST", "/catalog/search"), ("GET", "/openapi.json"), ("GET", "/mcp")]
            {
                let refused = gateway.send(method, &format!("{prefix}{path}"), REST_HEADERS, search.as_bytes());
                assert_eq!(refused.status, 503, "{path}: {refused:?}");
                let seconds: u32 = refused.header("retry-after").expect("a time").parse().expect("seconds");
                assert!((1..=60).contains(&seconds), "{refused:?}");
                assert!(
                    refused.body.contains("unavailable") && refused.body.contains("cannot be reached"),
                    "{refused:?}"
                );
                assert!(refused.header("request-id").is_some(), "{refused:?}");
            }
            let message = json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/list" });
            let refused = gateway.send("POST", &format!("{prefix}/mcp"), REST_HEADERS, message.to_string().as_bytes());
            assert_eq!(refused.status, 503, "{refused:?}");
            assert!(refused.header("retry-after").is_some(), "{refused:?}");
            let body = refused.json();
            assert_eq!((&body["jsonrpc"], &body["id"]), (&json!("2.0"), &Value::Null), "{body}");
            assert_eq!(body["error"]["data"]["code"], "unavailable", "{body}");
        }
        let page = [("Origin", "https://app.example"), ("Access-Control-Request-Method", "POST")];
        assert_eq!(gateway.send("OPTIONS", "/catalog/search", &page, b"").status, 204);
        let refused = gateway.send("POST", "/catalog/search", &page, b"{}");
        assert_eq!(refused.header("access-control-allow-origin"), Some("https://app.example"), "{refused:?}");

        shop.states(false);
        becomes_ready(&gateway);
        let profile = gateway.get("/.well-known/ucp");
        assert_eq!(profile.status, 200, "{profile:?}");
        assert_eq!(shop.ask(&gateway).answer()["products"], json!([]), "{backend}");
    }
}

#[test]
fn a_gateway_starts_with_what_the_shop_stated_last() {
    for backend in ["ucp", "shopify"] {
        let shop = Stub::new(backend, BUSY);
        shop.states(false);
        let mut first = shop.start();
        assert!(!not_ready(&first), "{:?}", first.welcome);
        let known = first.get("/.well-known/ucp").json();
        eventually("the statement is on disk", PATIENCE, || first.data().join("upstream.json").exists().then_some(()));
        let data = kept(&mut first);

        shop.answers(Answer::HangUp);
        let gateway = shop.setup().start_on(data);
        assert!(not_ready(&gateway), "{:?}", gateway.welcome);
        let profile = gateway.get("/.well-known/ucp").json();
        assert_eq!(profile["ucp"]["capabilities"], known["ucp"]["capabilities"], "{backend}");
        let refused = shop.ask(&gateway);
        assert_eq!((refused.refusal().status, refused.refusal().code.as_str()), (503, "unavailable"), "{refused:?}");

        // New operations are served without a restart.
        shop.states(true);
        becomes_ready(&gateway);
        if backend == "ucp" {
            let profile = gateway.get("/.well-known/ucp").json();
            assert!(profile["ucp"]["capabilities"]["dev.ucp.shopping.cart"].is_array(), "{profile}");
        }
        assert_eq!(shop.ask(&gateway).answer()["products"], json!([]), "{backend}");
    }
}

#[test]
fn what_another_shop_stated_is_not_known_of_this_one() {
    let (shop, other) = (Stub::new("ucp", BUSY), Stub::new("ucp", BUSY));
    shop.states(false);
    let mut first = shop.start();
    eventually("the statement is on disk", PATIENCE, || first.data().join("upstream.json").exists().then_some(()));
    let data = kept(&mut first);
    let gateway = other.setup().start_on(data);
    assert!(not_ready(&gateway));
    assert_eq!(gateway.get("/.well-known/ucp").status, 503);
}

#[test]
fn a_shop_that_will_not_answer_as_configured_ends_the_start() {
    for (backend, answer, told) in [
        ("ucp", Answer::status(404), "status 404"),
        ("ucp", Answer::status(401), "status 401"),
        ("ucp", Answer::json(&json!({ "ucp": 7 })), "The profile of the upstream"),
        ("shopify", Answer::status(401), "does not let the gateway in"),
        ("shopify", Answer::json(&json!({ "data": { "shop": null, "localization": null } })), "in which countries"),
    ] {
        let shop = Stub::new(backend, answer);
        let error = shop.setup().run("serve").expect_err("no shop");
        assert!(error.contains(told), "{backend} {told}: {error}");
    }
}
