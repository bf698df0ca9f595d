//! The HTTP endpoint: one JSON-RPC message per POST, one answer.
//!
//! Answers are plain JSON; a caller that accepts only an event stream gets the same message as its single event.
//!
//! Two kinds of callers want their errors differently. UCP platforms read the HTTP status and a JSON-RPC error (rule
//! ERR-02). Libraries of MCP take most statuses for a broken connection and JSON-RPC errors for a fault of the program, so
//! that the model never reads why its call was refused (trap T-30): they get 200, and the refusal of a tool call as its
//! result. A library is known by what MCP demands of it: `MCP-Protocol-Version`, an `Accept` that lists event streams, or
//! the session of its handshake. Such a session is a name that is handed to those who show neither of the other two; it
//! grants nothing, and nothing is remembered of it, so that it never ends.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use axum::{
    Router,
    body::Body,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::post,
};
use futures_util::FutureExt as _;
use http::{
    HeaderMap, HeaderName, HeaderValue, Request, StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, EXPECT, RETRY_AFTER, WWW_AUTHENTICATE},
    request::Parts,
};
use ucp_core::{Code, Refusal, Release, refusal::Kind};
use ucp_record::{self as record, Transport};
use ucp_service::{Fault, Ingress, body, coding::Codable, header, ingress::CHALLENGE};
use ucp_wire::refusal::http_status;
use uuid::Uuid;

use crate::{
    arguments::Caller,
    era::{BATCHING_VERSION, Era, MODERN_VERSION, Mirror},
    message,
    server::{Answer, Server},
    toolset::Toolset,
};

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENT_STREAM: HeaderValue = HeaderValue::from_static("text/event-stream");

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");

/// Maximum length of the body of a request over the rate limit that is read all the same, for its ID, in bytes.
const BRIEF: u64 = 16 * 1024;

/// Timeout for receiving such a body.
const BRIEFLY: Duration = Duration::from_secs(1);

/// HTTP status of JSON-RPC errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ErrorStatus {
    /// The status that matches the error, as UCP requires (rule ERR-02), except for libraries of MCP (trap T-30). These
    /// get 200, except where their version of MCP prescribes a status, for a request over the rate limit that is not
    /// read, for an API key or a bearer token that is not known, and for a refused `Host` or `Origin`; and the refusal of
    /// a tool call is the result of the tool.
    #[default]
    Auto,
    /// The status that matches the error, and a JSON-RPC error, for all callers.
    Always,
}

struct Mount {
    server: Server,
    ingress: Ingress,
    error_status: ErrorStatus,
}

impl Mount {
    /// Returns `true` if a request comes from a library of MCP, unless all callers are served alike.
    fn is_library(&self, headers: &HeaderMap) -> bool {
        self.error_status == ErrorStatus::Auto
            && (headers.contains_key(PROTOCOL_VERSION)
                || headers.contains_key(SESSION)
                || accepted(headers).any(|range| range == "text/event-stream"))
    }
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
        let request_id = header::request_id(request.headers()).and_then(|id| id.to_str().ok());
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
    let request_id = header::request_id(&head.headers).and_then(|id| id.to_str().ok());
    let is_library = mount.is_library(&head.headers);
    // Caught here and not in a layer, so that the answer has the form of all others and names the request.
    let answered = AssertUnwindSafe(respond(&mount, &head, body, is_library)).catch_unwind().await;
    let answered = answered.unwrap_or_else(|_| {
        tracing::error!("handler panicked");
        Err(Refusal::internal().into())
    });
    let (form, mut answer) = answered.unwrap_or_else(|Unheard { id, is_tool, refusal, unread }| {
        // A client that shows a wrong credential looks for another one when it is told so by the status alone.
        let status_is_final = unread || refusal.code == Code::Unauthorized;
        let fault = mount.server.fault(*refusal);
        // A caller that accepts neither form is told so in JSON.
        let form = form(&head.headers).unwrap_or(Form::Json);
        // A credential is no matter of the model.
        let is_for_model = is_library && is_tool && fault.refusal.code.kind() != Kind::Unauthenticated;
        let answer = match (id, Toolset::of(head.uri.query())) {
            (Some(id), Ok(toolset)) if is_for_model => {
                mount.server.refused_tool(stated_era(&head.headers), &id, &fault, &toolset, request_id)
            }
            (id, _) => Answer::refused(id.as_ref(), &fault, request_id),
        };
        (form, Answer { status_is_final, ..answer })
    });
    // A refused `Origin` concerns the browser, not the MCP library.
    let is_for_library = !answer.status_is_final && answer.status != http_status(Code::OriginForbidden);
    let (effect, is_public, agreed) = (answer.effect, answer.is_public, answer.agreed);
    let fitting = answer.status;
    if is_library && is_for_library && answer.text.is_some() {
        answer.status = StatusCode::OK.as_u16();
    }
    let (status, mut headers, body) = encode(answer, form);
    if fitting == StatusCode::UNAUTHORIZED.as_u16() {
        headers.insert(WWW_AUTHENTICATE, CHALLENGE);
    }
    if fitting == StatusCode::UNSUPPORTED_MEDIA_TYPE.as_u16() {
        headers.extend(header::ACCEPTED);
    }
    if agreed.is_some() && !is_library && mount.error_status == ErrorStatus::Auto {
        headers.extend(HeaderValue::from_str(&Uuid::new_v4().to_string()).ok().map(|session| (SESSION, session)));
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

/// Returns the generation of MCP that the head of a request states.
fn stated_era(headers: &HeaderMap) -> Era {
    let stated = version(headers).is_some_and(|version| version == MODERN_VERSION);
    if stated { Era::Modern } else { Era::Handshake }
}

/// Returns the version of MCP that a request states.
fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get(PROTOCOL_VERSION).and_then(|version| version.to_str().ok()).map(str::trim)
}

/// A message that was refused before it was parsed.
struct Unheard {
    id: Option<message::Id>,
    /// `true` if it is the call of a tool.
    is_tool: bool,
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
        Self { id: None, is_tool: false, refusal: refusal.into(), unread: false }
    }
}

async fn respond(mount: &Mount, head: &Parts, body: Body, is_library: bool) -> Result<(Form, Answer), Unheard> {
    let (headers, request_id) = (&head.headers, header::request_id(&head.headers));
    mount.ingress.hosts().admit_page(headers, &head.uri)?;
    let mut over_limit = None;
    let entry = match mount.ingress.enter(head) {
        // The body of a request over the rate limit is not read, unless it is short and its ID lets a library go on. Nor is one
        // that its sender was to be asked for.
        Err(refusal) if refusal.code == Code::RateLimited || headers.contains_key(EXPECT) => {
            if !is_library || !is_brief(headers) {
                return Err(Unheard::unread(refusal));
            }
            over_limit = Some(refusal.clone());
            Err(refusal)
        }
        entry => entry,
    };
    header::require_json(headers)?;
    let form = form(headers)?;
    let mut held = mount.ingress.hold(entry.as_ref(), head);
    let read = body::read(headers, body, &mut held);
    let bytes = match over_limit {
        None => read.await?,
        Some(refusal) => match tokio::time::timeout(BRIEFLY, read).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(_)) | Err(_) => return Err(Unheard::unread(refusal)),
        },
    };
    // A refusal repeats the ID of the message: clients wait for an answer with that ID.
    let unheard =
        |refusal: Refusal| Unheard { id: message::id(&bytes), is_tool: message::calls_tool(&bytes), ..refusal.into() };
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
        is_library,
        admission,
        request_id: request_id.and_then(|id| id.to_str().ok()).map(str::to_owned),
        trace: header::trace(headers, request_id),
    };
    // Only libraries of one version send batches; those that state none may be of that version.
    let batches = is_library && version(headers).is_none_or(|version| version == BATCHING_VERSION);
    let Some(batch) = batches.then(|| message::batch(&bytes)).transpose().map_err(unheard)?.flatten() else {
        return Ok((form, mount.server.answer(&bytes, Some(&mirror), &caller).await));
    };
    let mut answers = Vec::with_capacity(batch.len());
    for (position, message) in batch.into_iter().map(|message| message.get().as_bytes()).enumerate() {
        // The request was charged for the first one.
        let charged = if position == 0 { Ok(()) } else { mount.ingress.charge(&caller.admission) };
        answers.push(match charged {
            Ok(()) => mount.server.answer(message, Some(&mirror), &caller).await,
            Err(refusal) => mount.server.refused(message, refusal, &caller),
        });
    }
    Ok((form, Answer::of_batch(answers)))
}

/// Returns `true` if a request states that its body is short, and does not wait for a word before it sends it.
fn is_brief(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    length.is_some_and(|length| length <= BRIEF) && !headers.contains_key(EXPECT)
}

/// Returns the media ranges of `Accept`, in lower case.
fn accepted(headers: &HeaderMap) -> impl Iterator<Item = String> {
    headers
        .get_all(ACCEPT)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|range| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase())
        .filter(|range| !range.is_empty())
}

/// Returns the form to answer in: an event stream only if `Accept` excludes JSON. A missing `Accept` accepts
/// everything.
fn form(headers: &HeaderMap) -> Result<Form, Refusal> {
    let mut accepted = accepted(headers).peekable();
    if accepted.peek().is_none() {
        return Ok(Form::Json);
    }
    let mut form =
        Err(Refusal::new(Code::NotAcceptable, "The response is `application/json`, which `Accept` excludes.")
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
