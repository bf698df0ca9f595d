//! Tests of the layers around both bindings, for failures that no test from outside can provoke.

use std::{convert::Infallible, task::Poll};

use axum::body::{Body, to_bytes};
use clap::Parser as _;
use futures_util::stream::poll_fn;
use http::{Request, StatusCode};
use serde_json::json;
use tower::ServiceExt as _;
use ucp_config::{Configuration, ServeOptions};
use ucp_testkit::Log;

use super::*;
use crate::files::Files;

/// A command line.
#[derive(clap::Parser)]
struct Line {
    #[command(flatten)]
    options: ServeOptions,
}

/// A body that panics when it is read.
fn hostile() -> Body {
    Body::from_stream(poll_fn(|_| -> Poll<Option<Result<Vec<u8>, Infallible>>> { panic!("a secret of the shop") }))
}

/// Opens the shops of a configuration, all of them with parts of one pool.
async fn opened(toml: &str, data: &tempfile::TempDir) -> Vec<Shop> {
    let file = data.path().join("gateway.toml");
    std::fs::write(&file, toml).expect("a configuration");
    let paths = [data.path(), &*file].map(|path| path.to_str().expect("a path"));
    let line = Line::try_parse_from(["ucp-gateway", "--data-dir", paths[0], "--config", paths[1]]);
    let configuration = Configuration::resolve(&line.expect("a command line").options, clock::now());
    let configuration = configuration.expect("settings");
    let pool = Pool::new(&configuration.process.server, None, Arc::new(()));
    let (files, mut shops) = (Files::default(), Vec::new());
    for settings in &configuration.shops {
        let store = DataDirectory::open(settings, &files).expect("a store");
        let keyring = open_keyring(settings).expect("a keyring");
        let public_url = Url::parse("http://localhost:8080").expect("an address");
        let decisions = Decisions::open(&settings.sections.data.dir).expect("no decisions");
        let rules = Arc::new(callers::rules(settings, &public_url, &pool));
        let shop = Shop::open(&store, settings, &public_url, keyring, &decisions, &pool, &rules, false).await;
        shops.push(shop.expect("a shop"));
    }
    shops
}

/// A request with a body of JSON.
fn posted(path: &str, id: &str, body: Body) -> Request<Body> {
    Request::post(path)
        .header("host", "localhost:8080")
        .header("content-type", "application/json")
        .header("request-id", id)
        .header("ucp-agent", "profile=\"https://agent.example.com/profile.json\"")
        .body(body)
        .expect("a request")
}

#[tokio::test]
async fn a_panic_in_a_binding_is_an_answer_of_its_protocol_and_a_line_of_the_log() {
    let (log, _guard) = Log::of_this_thread();
    let data = tempfile::tempdir().expect("a directory");
    let shop = &opened("", &data).await[0];
    for (path, id) in [("/catalog/search", "r-rest"), ("/mcp", "r-mcp"), ("/ucp/2026-04-08/mcp", "r-leaf")] {
        let request = posted(path, id, hostile());
        let response = shop.router.clone().oneshot(request).await.expect("an answer");
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR, "{path}");
        let headers = response.headers();
        assert_eq!(
            ["request-id", "content-type"].map(|name| headers[name].as_bytes()),
            [id, "application/json"].map(str::as_bytes)
        );
        let bytes = to_bytes(response.into_body(), usize::MAX).await.expect("a body");
        let mut body: Value = serde_json::from_slice(&bytes).expect("JSON");
        if path.ends_with("mcp") {
            assert_eq!((&body["jsonrpc"], &body["error"]["code"]), (&json!("2.0"), &json!(-32603)), "{body}");
            body = body["error"]["data"].take();
            assert_eq!(body["request_id"], id, "{body}");
        }
        assert_eq!((&body["code"], &body["retryable"]), (&json!("internal_error"), &json!(true)), "{path}");
        assert!(!body.to_string().contains("secret"), "{body}");
        let text = log.text();
        let line = text.lines().find(|line| line.contains(&format!("id={id}")) && line.contains("panicked"));
        assert!(line.is_some_and(|line| line.contains("ERROR")), "{path}: {text}");
    }
}

#[tokio::test]
async fn a_shop_that_panics_takes_no_place_from_its_neighbour() {
    let data = tempfile::tempdir().expect("a directory");
    let toml = "[server]\nmax_in_flight = 4\n[callers]\npolicy = \"development\"\n\
                [[shop]]\nname = \"one\"\nhosts = [\"localhost\"]\n[[shop]]\nname = \"two\"\npath = \"/two\"\n";
    let shops = opened(toml, &data).await;
    let called = async |shop: &Shop, body: Body| {
        let answer = shop.router.clone().oneshot(posted("/catalog/search", "r-1", body)).await.expect("an answer");
        answer.status().as_u16()
    };
    for _ in 0..100 {
        assert_eq!(called(&shops[0], hostile()).await, 500);
    }
    for shop in shops.iter().rev() {
        assert_eq!(called(shop, Body::from(json!({ "query": "roses" }).to_string())).await, 200);
    }
}
