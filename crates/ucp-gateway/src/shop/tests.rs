//! Tests of the layers around both bindings, for failures that no test from outside can provoke.

use std::{convert::Infallible, task::Poll};

use axum::body::{Body, to_bytes};
use clap::Parser as _;
use futures_util::stream::poll_fn;
use http::{Request, StatusCode};
use serde_json::json;
use tower::ServiceExt as _;
use ucp_testkit::Log;

use super::*;
use crate::{cli::Cli, config::Configuration, files::Files};

/// A body that panics when it is read.
fn hostile() -> Body {
    Body::from_stream(poll_fn(|_| -> Poll<Option<Result<Vec<u8>, Infallible>>> { panic!("a secret of the shop") }))
}

#[tokio::test]
async fn a_panic_in_a_binding_is_an_answer_of_its_protocol_and_a_line_of_the_log() {
    let (log, _guard) = Log::of_this_thread();
    let data = tempfile::tempdir().expect("a directory");
    let directory = data.path().to_str().expect("a path");
    let options = Cli::try_parse_from(["ucp-gateway", "--data-dir", directory]).expect("a command line").serve;
    let configuration = Configuration::resolve(&options, clock::now()).expect("settings");
    let settings = configuration.single().expect("one shop");
    let data = DataDirectory::open(settings, &Files::default()).expect("a store");
    let keyring = open_keyring(settings).expect("a keyring");
    let public_url = Url::parse("http://localhost:8080").expect("an address");
    let pool = Pool::new(&settings.sections.server, None);
    let decisions = Decisions::open(&settings.sections.data.dir).expect("no decisions");
    let shop = Shop::open(&data, settings, &public_url, keyring, &decisions, &pool, false).await.expect("a shop");
    for (path, id) in [("/catalog/search", "r-rest"), ("/mcp", "r-mcp"), ("/ucp/2026-04-08/mcp", "r-leaf")] {
        let request = Request::post(path)
            .header("host", "localhost:8080")
            .header("content-type", "application/json")
            .header("request-id", id)
            .body(hostile())
            .expect("a request");
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
