//! The HTTP endpoint: one JSON-RPC message per POST, one answer.
//!
//! A browser page of another site, or one that reaches this server under a name of its own (DNS rebinding), is refused by
//! its `Origin` or `Host`. Programs send no `Origin`. Answers are plain JSON; a caller that accepts nothing but an event
//! stream gets the same message as the only event of one.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::post,
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, HOST, ORIGIN, RETRY_AFTER},
};
use ucp_core::{Code, Refusal};
use ucp_service::{body, header};

use crate::{
    arguments::Caller,
    era::{HANDSHAKE_VERSIONS, Mirror},
    server::{Answer, Server},
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// How the endpoint behaves towards the web.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Host names, without port, under which the gateway is reached besides those of loopback.
    pub hosts: Vec<String>,
    /// Which status JSON-RPC errors have.
    pub error_status: ErrorStatus,
}

/// Which HTTP status a JSON-RPC error has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorStatus {
    /// The one that says the same, as UCP demands (rule ERR-02), except towards MCP clients that shook hands: their
    /// libraries take any such answer for a broken connection and keep the error from the agent (trap T-30). They are
    /// known by the version they name in `MCP-Protocol-Version`, which UCP platforms do not send.
    #[default]
    Fitting,
    /// The one that says the same, whoever calls.
    Matching,
}

struct Endpoint {
    server: Server,
    config: Config,
}

/// The endpoint, to be mounted at its path.
pub fn router(server: Server, config: Config) -> Router {
    Router::new().route("/mcp", post(handle)).with_state(Arc::new(Endpoint { server, config }))
}

/// The form an answer takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Event,
}

async fn handle(State(endpoint): State<Arc<Endpoint>>, request: Request<Body>) -> Response {
    let request_id = header::request_id(request.headers());
    let shook_hands = endpoint.config.error_status == ErrorStatus::Fitting && names_handshake(request.headers());
    let (form, mut answer) = match respond(&endpoint, request).await {
        Ok(answered) => answered,
        Err(refusal) => (Form::Json, Answer::refused(None, &refusal)),
    };
    // Which page may call is between browsers and servers; no MCP library is asked. A message of the era without a
    // handshake comes from a client of that era, whatever its header says.
    let is_modern = answer.modern_violation;
    if shook_hands && !is_modern && answer.text.is_some() && answer.status != Code::OriginForbidden.http_status() {
        answer.status = StatusCode::OK.as_u16();
    }
    let Answer { status, retry_after, text, .. } = answer;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [(header::REQUEST_ID, request_id), (CACHE_CONTROL, HeaderValue::from_static("no-store"))];
    let mut response = match (text, form) {
        (None, _) => (status, headers).into_response(),
        (Some(text), Form::Json) => (status, headers, [(CONTENT_TYPE, JSON)], text).into_response(),
        (Some(text), Form::Event) => {
            (status, headers, [(CONTENT_TYPE, EVENT_STREAM)], format!("event: message\ndata: {text}\n\n"))
                .into_response()
        }
    };
    if let Some(seconds) = retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

/// Whether the caller names a version of MCP that begins with a handshake.
fn names_handshake(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok()).map(str::trim);
    version.is_some_and(|version| HANDSHAKE_VERSIONS.contains(&version))
}

async fn respond(endpoint: &Endpoint, request: Request<Body>) -> Result<(Form, Answer), Refusal> {
    let (head, body) = request.into_parts();
    endpoint.config.admit(&head.headers, &head.uri)?;
    header::require_json(&head.headers)?;
    let form = form(&head.headers)?;
    let bytes = body::read(body).await?;
    let text = |name: &str| head.headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let mirror = Mirror { version: text("mcp-protocol-version"), method: text("mcp-method"), name: text("mcp-name") };
    let caller = Caller {
        claim: header::claim(&head.headers)?,
        default_claim: None,
        languages: header::languages(&head.headers),
    };
    Ok((form, endpoint.server.answer(&bytes, Some(&mirror), &caller).await))
}

impl Config {
    /// Refuses requests that a foreign web page may have caused.
    fn admit(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), Refusal> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("\u{0}"));
        // HTTP/2 names the host in the URI.
        let host = text(HOST).or(uri.authority().map(http::uri::Authority::as_str));
        if !host.is_some_and(|host| self.knows(host)) {
            return Err(Refusal::new(Code::OriginForbidden, "The `Host` of the request is not one of this gateway.")
                .accepting("the host name of the gateway's public URL, or a loopback name"));
        }
        match text(ORIGIN).map(|origin| origin.split_once("://").map(|(_, host)| host)) {
            None => Ok(()),
            Some(Some(host)) if self.knows(host) => Ok(()),
            Some(_) => Err(Refusal::new(Code::OriginForbidden, "Pages of this `Origin` may not call this gateway.")
                .accepting("no `Origin`, or that of the gateway itself")),
        }
    }

    fn knows(&self, authority: &str) -> bool {
        let Ok(authority) = authority.parse::<http::uri::Authority>() else { return false };
        let host = authority.host();
        ["localhost", "127.0.0.1", "[::1]"].contains(&host)
            || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))
    }
}

/// The form a caller wants: JSON unless it takes nothing but an event stream. Saying nothing takes anything.
fn form(headers: &HeaderMap) -> Result<Form, Refusal> {
    let mut accepted = headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .filter(|range| !range.is_empty())
        .peekable();
    if accepted.peek().is_none() {
        return Ok(Form::Json);
    }
    let mut form =
        Err(Refusal::new(Code::NotAcceptable, "The gateway answers in JSON, which the caller does not accept.")
            .accepting("an `Accept` header that includes application/json or text/event-stream, or none"));
    for range in accepted {
        match range.as_str() {
            "application/json" | "application/*" | "*/*" => return Ok(Form::Json),
            "text/event-stream" | "text/*" => form = Ok(Form::Event),
            _ => {}
        }
    }
    form
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).expect("a value"))).collect()
    }

    #[test]
    fn foreign_pages_are_refused_and_programs_are_not() {
        let config = Config { hosts: vec!["shop.example".into()], ..Config::default() };
        let admits = |pairs: &[(HeaderName, &str)]| config.admit(&headers(pairs), &Uri::from_static("/mcp")).is_ok();
        assert!(admits(&[(HOST, "localhost:8080")]));
        assert!(admits(&[(HOST, "127.0.0.1")]));
        assert!(admits(&[(HOST, "[::1]:8080")]));
        assert!(admits(&[(HOST, "Shop.Example")]));
        assert!(admits(&[(HOST, "shop.example"), (ORIGIN, "https://shop.example")]));
        assert!(admits(&[(HOST, "localhost:8080"), (ORIGIN, "http://localhost:3000")]));
        assert!(!admits(&[(HOST, "evil.example")]));
        assert!(!admits(&[(HOST, "localhost.evil.example")]));
        assert!(!admits(&[(HOST, "127.0.0.1@evil.example")]));
        assert!(!admits(&[(HOST, "localhost"), (ORIGIN, "https://evil.example")]));
        assert!(!admits(&[(HOST, "localhost"), (ORIGIN, "null")]));
        assert!(!admits(&[]));
    }

    #[test]
    fn json_is_the_form_unless_only_events_are_taken() {
        let wanted = |accept: &str| match form(&headers(&[(ACCEPT, accept)])) {
            Ok(Form::Json) => "json",
            Ok(Form::Event) => "event",
            Err(_) => "none",
        };
        assert_eq!(wanted("application/json"), "json");
        assert_eq!(wanted("application/json, text/event-stream"), "json");
        assert_eq!(wanted("text/event-stream, */*;q=0.1"), "json");
        assert_eq!(wanted("text/event-stream"), "event");
        assert_eq!(wanted("text/html"), "none");
        assert_eq!(wanted(""), "json");
        assert!(matches!(form(&HeaderMap::new()), Ok(Form::Json)));
    }
}
