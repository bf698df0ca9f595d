//! JSON-RPC messages of MCP, and their answers, whole or in a stream of events.

use http::{HeaderMap, HeaderName, HeaderValue, Method, header};
use serde_json::{Map, Value, json};
use url::Url;

use crate::http::{Exchange, Http, Unanswered};

/// Version of MCP that a session is opened in.
const VERSION: &str = "2025-06-18";

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");

/// The MCP endpoint of a shop.
#[derive(Clone, Debug)]
pub struct Endpoint {
    url: Url,
    /// Session and version of MCP, at a server that wants a session.
    session: Option<(Option<HeaderValue>, HeaderValue)>,
}

impl Endpoint {
    /// Creates an endpoint without a session.
    pub const fn new(url: Url) -> Self {
        Self { url, session: None }
    }

    /// Returns its address.
    pub const fn url(&self) -> &Url {
        &self.url
    }

    /// Sends a message and returns the exchange with the message that answers it, if there is one.
    pub async fn ask(&self, http: &Http, method: &str, params: Value) -> Result<(Exchange, Option<Value>), Unanswered> {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let exchange = self.post(http, message.to_string().into_bytes()).await?;
        let answer = answer(&exchange);
        Ok((exchange, answer))
    }

    /// Sends bytes as they are.
    pub async fn post(&self, http: &Http, body: Vec<u8>) -> Result<Exchange, Unanswered> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        if let Some((id, version)) = &self.session {
            headers.insert(PROTOCOL_VERSION, version.clone());
            if let Some(id) = id {
                headers.insert(SESSION, id.clone());
            }
        }
        http.send(Method::POST, &self.url, headers, Some(body)).await
    }

    /// Opens a session, for servers that answer nothing without one. Returns `true` if there is one now.
    pub async fn open_session(&mut self, http: &Http) -> bool {
        let client = json!({ "name": "ucp-gateway", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "protocolVersion": VERSION, "capabilities": {}, "clientInfo": client });
        let Ok((exchange, Some(answer))) = self.ask(http, "initialize", params).await else { return false };
        let Some(version) = answer["result"]["protocolVersion"].as_str() else { return false };
        let Ok(version) = HeaderValue::from_str(version) else { return false };
        self.session = Some((exchange.headers.get(SESSION).cloned(), version));
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        self.post(http, ready.to_string().into_bytes()).await.is_ok()
    }
}

/// Returns the message that answers the call: the body, or an event of a stream.
fn answer(exchange: &Exchange) -> Option<Value> {
    let answers = |message: &Value| message.get("method").is_none() && message.get("jsonrpc").is_some();
    if exchange.media_type() != "text/event-stream" {
        return exchange.json().filter(answers);
    }
    let text = String::from_utf8_lossy(&exchange.body).replace("\r\n", "\n");
    text.split("\n\n").find_map(|event| {
        let data = event.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim_start);
        serde_json::from_str(&data.collect::<Vec<_>>().join("\n")).ok().filter(answers)
    })
}

/// Returns the error in a result that is the refusal of a call: what the `data` of a JSON-RPC error would be is its
/// structure. A document of UCP, which names its release, is none.
pub fn refusal(result: &Value) -> Option<Map<String, Value>> {
    let data = result["structuredContent"]
        .as_object()
        .filter(|data| result["isError"] == true && !data.contains_key("ucp"))?;
    let is_refusal = data.get("code").is_some_and(Value::is_string) || data.get("errors").is_some_and(Value::is_array);
    let error = || json!({ "message": result["content"][0]["text"], "data": data }).as_object().cloned();
    is_refusal.then(error).flatten()
}

/// Returns the document of the result of a tool, wherever it stands.
pub fn document(result: &Value) -> Option<Map<String, Value>> {
    if let Value::Object(structured) = &result["structuredContent"] {
        return Some(structured.clone());
    }
    let texts = result["content"].as_array().into_iter().flatten().filter_map(|part| part["text"].as_str());
    let stated = texts.filter_map(|text| serde_json::from_str::<Map<String, Value>>(text).ok()).next();
    stated.or_else(|| result.as_object().filter(|result| result.contains_key("ucp")).cloned())
}
