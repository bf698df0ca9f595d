//! The HTTP endpoint: one JSON-RPC message per POST, one answer.
//!
//! Answers are plain JSON; a caller that accepts only an event stream gets the same message as its single event.

use std::{panic::AssertUnwindSafe, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::post,
};
use futures_util::FutureExt as _;
use http::{
    HeaderMap, HeaderValue, Request, StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
    request::Parts,
};
use ucp_core::{
    Code, Refusal, Release,
    record::{self, Transport},
};
use ucp_service::{Fault, Ingress, body, coding::Codable, header, ingress::CHALLENGE};
use ucp_wire::refusal::http_status;

use crate::{
    arguments::Caller,
    era::{HANDSHAKE_VERSIONS, MODERN_VERSION, Mirror},
    message,
    server::{Answer, Server},
    toolset::Toolset,
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

/// HTTP status of JSON-RPC errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorStatus {
    /// The status that matches the error, as UCP requires (rule ERR-02), except for clients that name a supported
    /// version of MCP in `MCP-Protocol-Version`, which UCP platforms do not: their libraries treat most error statuses
    /// as a broken connection and hide the error from the agent (trap T-30). These clients get 200, except where their
    /// version of MCP prescribes a status, for a rate limit that is exceeded before the body is read, for an API key or a
    /// bearer token that is not known, and for a refused `Host` or `Origin`.
    #[default]
    Fitting,
    /// The status that matches the error, for all callers.
    Matching,
}

struct Mount {
    server: Server,
    ingress: Ingress,
    error_status: ErrorStatus,
}

/// Builds the route of the endpoint, `mcp` below `prefix`.
pub fn router(server: Server, ingress: Ingress, error_status: ErrorStatus, prefix: &str) -> Router {
    let mount = Mount { server, ingress, error_status };
    Router::new().route(&format!("{prefix}/mcp"), post(handle)).with_state(Arc::new(mount))
}

/// Builds the route of an endpoint that refuses every message unread, for a gateway whose shop is not there.
pub fn refusing(
    release: Release,
    refusal: impl Fn() -> Refusal + Clone + Send + Sync + 'static,
    prefix: &str,
) -> Router {
    let refuse = async move |request: Request<Body>| {
        let request_id = header::request_id(request.extensions()).and_then(|id| id.to_str().ok());
        let answer = Answer::refused(None, &Fault { refusal: refusal(), release }, request_id);
        let (status, headers, body) = encode(answer, form(request.headers()).unwrap_or(Form::Json));
        (status, headers, body).into_response()
    };
    Router::new().route(&format!("{prefix}/mcp"), post(refuse))
}

/// Media type of a response body.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Event,
}

async fn handle(State(mount): State<Arc<Mount>>, request: Request<Body>) -> Response {
    let (head, body) = request.into_parts();
    record::note(|facts| (facts.transport, facts.release) = (Transport::Mcp, Some(mount.server.release())));
    let request_id = header::request_id(&head.extensions).and_then(|id| id.to_str().ok());
    let is_mcp_library = mount.error_status == ErrorStatus::Fitting && names_version(&head.headers);
    // Caught here and not in a layer, so that the answer has the form of all others and names the request.
    let answered = AssertUnwindSafe(respond(&mount, &head, body)).catch_unwind().await.unwrap_or_else(|_| {
        tracing::error!("the endpoint panicked");
        Err(Refusal::internal().into())
    });
    let (form, mut answer) = answered.unwrap_or_else(|Unheard { id, refusal, unread }| {
        // A client that shows a wrong credential looks for another one when it is told so by the status alone.
        let status_is_final = unread || refusal.code == Code::Unauthorized;
        let fault = mount.server.fault(*refusal);
        // A caller that accepts neither form is told so in JSON.
        let form = form(&head.headers).unwrap_or(Form::Json);
        let answer = Answer::refused(id.as_ref(), &fault, request_id);
        (form, Answer { status_is_final, ..answer })
    });
    // A refused `Origin` concerns the browser, not the MCP library.
    let is_for_library = !answer.status_is_final && answer.status != http_status(Code::OriginForbidden);
    let (effect, is_public) = (answer.effect, answer.is_public);
    let fitting = answer.status;
    if is_mcp_library && is_for_library && answer.text.is_some() {
        answer.status = StatusCode::OK.as_u16();
    }
    let (status, mut headers, body) = encode(answer, form);
    if fitting == StatusCode::UNAUTHORIZED.as_u16() {
        headers.insert(WWW_AUTHENTICATE, CHALLENGE);
    }
    if fitting == StatusCode::UNSUPPORTED_MEDIA_TYPE.as_u16() {
        headers.extend(header::ACCEPTED);
    }
    mount.ingress.sign(&head.headers, effect, status.as_u16(), &mut headers, body.as_bytes());
    mount.ingress.hosts().origins.open(&head.headers, &mut headers);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    if is_public {
        response.extensions_mut().insert(Codable::default());
    }
    response
}

/// Encodes an answer as the parts of an HTTP response.
fn encode(Answer { status, retry_after, text, .. }: Answer, form: Form) -> (StatusCode, HeaderMap, String) {
    let mut headers = HeaderMap::from_iter([(CACHE_CONTROL, HeaderValue::from_static("no-store"))]);
    if let Some(seconds) = retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    let body = match (text, form) {
        (None, _) => String::new(),
        (Some(text), Form::Json) => {
            headers.insert(CONTENT_TYPE, JSON);
            text
        }
        (Some(text), Form::Event) => {
            headers.insert(CONTENT_TYPE, EVENT_STREAM);
            format!("event: message\ndata: {text}\n\n")
        }
    };
    (StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), headers, body)
}

/// Returns `true` if the request names a supported version of MCP.
fn names_version(headers: &HeaderMap) -> bool {
    let version = headers.get("mcp-protocol-version").and_then(|version| version.to_str().ok()).map(str::trim);
    version.is_some_and(|version| version == MODERN_VERSION || HANDSHAKE_VERSIONS.contains(&version))
}

/// A message that was refused before it was parsed.
struct Unheard {
    id: Option<message::Id>,
    refusal: Box<Refusal>,
    /// `true` if it was refused by its head, so that the answer has no ID by which a library could match it.
    unread: bool,
}

impl Unheard {
    fn unread(refusal: Refusal) -> Self {
        Self { unread: true, ..refusal.into() }
    }
}

impl From<Refusal> for Unheard {
    fn from(refusal: Refusal) -> Self {
        Self { id: None, refusal: refusal.into(), unread: false }
    }
}

async fn respond(mount: &Mount, head: &Parts, body: Body) -> Result<(Form, Answer), Unheard> {
    let (headers, request_id) = (&head.headers, header::request_id(&head.extensions));
    mount.ingress.hosts().admit_page(headers, &head.uri)?;
    let entry = match mount.ingress.enter(head) {
        // The body of a request over the rate limit is not read.
        Err(refusal) if refusal.code == Code::RateLimited => return Err(Unheard::unread(refusal)),
        entry => entry,
    };
    header::require_json(headers)?;
    let form = form(headers)?;
    let mut held = mount.ingress.hold(head);
    let bytes = body::read(headers, body, &mut held).await?;
    // A refusal repeats the ID of the message: clients wait for an answer with that ID.
    let unheard = |refusal: Refusal| Unheard { id: message::id(&bytes), ..refusal.into() };
    // Before anything is parsed: the signature covers the bytes. The in-flight permit is held until the answer is
    // there.
    let admission = mount.ingress.admit(entry.map_err(unheard)?, head, &bytes, held).await.map_err(unheard)?;
    let text = |name: &str| headers.get(name).map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
    let mirror = Mirror { version: text("mcp-protocol-version"), method: text("mcp-method"), name: text("mcp-name") };
    let caller = Caller {
        profile: header::profile(headers).map_err(unheard)?,
        default_profile: None,
        idempotency_keys: header::idempotency_keys(headers),
        languages: header::languages(headers),
        toolset: Toolset::of(head.uri.query()).map_err(unheard)?,
        admission,
        request_id: request_id.and_then(|id| id.to_str().ok()).map(str::to_owned),
        trace: header::trace(headers, request_id),
    };
    Ok((form, mount.server.answer(&bytes, Some(&mirror), &caller).await))
}

/// Returns the form to answer in: an event stream only if `Accept` excludes JSON. A missing `Accept` accepts
/// everything.
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
    use http::HeaderName;

    use super::*;

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.clone(), HeaderValue::from_str(value).expect("a value"))).collect()
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
