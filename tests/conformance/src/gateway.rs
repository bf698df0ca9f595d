//! Calls of the gateway: of its endpoint of the release, and of its admin endpoint.

use std::time::Duration;

use axum::body::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header::CONTENT_TYPE};
use reqwest::Client;
use serde_json::Value;
use url::Url;

use crate::{refusal::Refusal, release::Release};

/// The longest time that any request may take.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A request to the endpoint of the release.
#[derive(Clone)]
pub(crate) struct Request {
    method: Method,
    path: String,
    headers: HeaderMap,
    body: Bytes,
}

impl Request {
    /// A request of the suite, introduced by `agent`. Other headers than those that the shim knows are left out: the
    /// suite's signature is none.
    pub(crate) fn new(method: &Method, path: &str, agent: &HeaderValue, headers: &HeaderMap, body: Bytes) -> Self {
        let known = [CONTENT_TYPE, IDEMPOTENCY_KEY];
        let mut headers: HeaderMap =
            known.into_iter().filter_map(|name| headers.get(&name).cloned().map(|value| (name, value))).collect();
        headers.insert("ucp-agent", agent.clone());
        Self { method: method.clone(), path: path.to_owned(), headers, body }
    }

    /// The body; `null` when it is not JSON.
    pub(crate) fn document(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Replaces the body by `document`, unless that is `null`.
    pub(crate) fn replace(&mut self, document: &Value) {
        if !document.is_null() {
            self.body = document.to_string().into();
        }
    }

    /// The request for the current state of the same resource.
    pub(crate) fn read(&self) -> Self {
        let mut headers = self.headers.clone();
        headers.remove(IDEMPOTENCY_KEY);
        Self { method: Method::GET, headers, body: Bytes::new(), ..self.clone() }
    }

    /// The update that puts `before` back.
    pub(crate) fn undo(&self, before: &Value) -> Self {
        let mut undo = self.clone();
        undo.replace(before);
        if let Some(key) = undo.headers.get_mut(IDEMPOTENCY_KEY)
            && let Ok(other) = HeaderValue::try_from([key.as_bytes(), b"-undo"].concat())
        {
            *key = other;
        }
        undo
    }
}

/// A gateway that runs elsewhere.
pub(crate) struct Gateway {
    client: Client,
    release: String,
    admin: String,
    admin_token: String,
}

impl Gateway {
    pub(crate) fn new(client: Client, release: Release, url: &Url, admin: &Url, admin_token: String) -> Self {
        let base = |url: &Url| url.as_str().trim_end_matches('/').to_owned();
        Self { client, release: format!("{}/ucp/{}", base(url), release.date()), admin: base(admin), admin_token }
    }

    /// Sends a request, and reads the JSON answer.
    pub(crate) async fn call(&self, request: &Request) -> Result<(StatusCode, Value), Refusal> {
        let Request { method, path, headers, body } = request.clone();
        let url = format!("{}{path}", self.release);
        let answer = self.client.request(method, url).headers(headers).body(body).send().await?;
        Ok((answer.status(), answer.json().await?))
    }

    /// A document of the release.
    pub(crate) async fn get(&self, path: &str) -> Result<(StatusCode, Value), Refusal> {
        let answer = self.client.get(format!("{}{path}", self.release)).send().await?;
        Ok((answer.status(), answer.json().await?))
    }

    /// Takes a step with an order, over the admin endpoint.
    pub(crate) async fn step(&self, order: &str, step: &str, details: &Value) -> Result<(), Refusal> {
        let request = self.client.post(format!("{}/orders/{order}/{step}", self.admin)).bearer_auth(&self.admin_token);
        let answer = request.json(details).send().await?;
        if answer.status().is_success() {
            return Ok(());
        }
        let status = answer.status();
        let document: Value = answer.json().await?;
        Err(Refusal::new(status, document["error"].as_str().unwrap_or_default()))
    }
}
