//! Token endpoint, `POST /oauth/token`: access tokens for registered platforms by OAuth 2.0 client credentials (RFC 6749,
//! section 4.4). It needs no header of UCP.
//!
//! The client shows its identifier and secret by HTTP Basic or in the body, which is a form or JSON. Attempts with a wrong
//! secret are limited per network address like wrong signatures.

use std::{collections::HashMap, sync::Arc, time::SystemTime};

use axum::{
    Router,
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
    routing::post,
};
use base64::{Engine as _, prelude::BASE64_STANDARD};
use bytes::Bytes;
use serde_json::{Value, json};
use ucp_config::Settings;
use ucp_core::{Code, Refusal, Release};
use ucp_service::ingress::Rules;
use ucp_trust::{
    access_token::{AccessToken, Clients, LIFETIME},
    limit::BodyLimit,
};

use crate::webhook_ingress::{NOTICES, WebhookIngress};

/// State of the endpoint.
struct TokenEndpoint {
    rules: Arc<Rules>,
    /// Limits of requests that do not prove a client.
    webhook_ingress: WebhookIngress,
}

/// Returns the route of the endpoint.
pub(crate) fn router(rules: &Arc<Rules>, settings: &Settings, bodies: &BodyLimit) -> Router {
    let webhook_ingress = WebhookIngress::new(settings, bodies, NOTICES);
    let endpoint = TokenEndpoint { rules: Arc::clone(rules), webhook_ingress };
    Router::new().route("/oauth/token", post(issue)).with_state(Arc::new(endpoint))
}

/// Reasons why no token is issued (RFC 6749, section 5.2; RFC 8707, section 2).
enum Failure {
    /// A parameter is missing, is repeated, or cannot be read.
    InvalidRequest(&'static str),
    /// The client did not prove itself.
    InvalidClient(&'static str),
    /// The grant is another one than client credentials.
    UnsupportedGrant,
    /// The token is asked for another audience than this shop.
    InvalidTarget,
    /// A limit was exceeded, or the body could not be received.
    Refusal(Refusal),
}

impl Failure {
    fn answer(self) -> Response {
        let (status, error, description) = match self {
            Self::InvalidRequest(description) => (StatusCode::BAD_REQUEST, "invalid_request", description),
            Self::InvalidClient(description) => (StatusCode::UNAUTHORIZED, "invalid_client", description),
            Self::UnsupportedGrant => {
                (StatusCode::BAD_REQUEST, "unsupported_grant_type", "`grant_type` must be `client_credentials`.")
            }
            Self::InvalidTarget => (
                StatusCode::BAD_REQUEST,
                "invalid_target",
                "`audience` and `resource` must be the base URL of this shop.",
            ),
            Self::Refusal(refusal) => return ucp_rest::error::answer(Release::NEWEST, &refusal),
        };
        let mut answer = written(status, &json!({ "error": error, "error_description": description }));
        if status == StatusCode::UNAUTHORIZED {
            answer
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"ucp-gateway\""));
        }
        answer
    }
}

fn written(status: StatusCode, document: &Value) -> Response {
    let media_type = HeaderValue::from_static("application/json");
    (status, [(header::CONTENT_TYPE, media_type)], document.to_string()).into_response()
}

async fn issue(State(endpoint): State<Arc<TokenEndpoint>>, request: Request) -> Response {
    let now = (endpoint.rules.clock)();
    let clients = &endpoint.rules.clients;
    // Attempts that fail are charged, so the failure is told as a refusal and its kind beside it.
    let mut failure = None;
    let opened = endpoint.webhook_ingress.take_heard(
        request,
        |_| Ok(()),
        async |(), headers: HeaderMap, body: Bytes| {
            token(clients, &headers, &body, now).map_err(|failed| {
                failure = Some(failed);
                Refusal::new(Code::Unauthorized, "No token is issued.")
            })
        },
    );
    let issued = opened.await.map_err(|refusal| failure.unwrap_or(Failure::Refusal(refusal)));
    let mut answer = match issued {
        Ok((token, _place)) => {
            let lifetime = LIFETIME.as_secs();
            let issued = json!({ "access_token": token.reveal(), "token_type": "Bearer", "expires_in": lifetime });
            written(StatusCode::OK, &issued)
        }
        Err(failed) => failed.answer(),
    };
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Returns the token that a request asks for.
fn token(clients: &Clients<usize>, headers: &HeaderMap, body: &[u8], now: SystemTime) -> Result<AccessToken, Failure> {
    let parameters = parameters(headers, body)?;
    let get = |name: &str| parameters.get(name).map(String::as_str).filter(|value| !value.is_empty());
    let basic = basic(headers)?;
    let (id, secret) = match (&basic, get("client_id"), get("client_secret")) {
        (Some(_), _, Some(_)) => {
            return Err(Failure::InvalidRequest("A client must prove itself in one way: by Basic or in the body."));
        }
        (Some((id, _)), Some(other), None) if id != other => {
            return Err(Failure::InvalidRequest("`client_id` must be that of `Authorization`."));
        }
        (Some((id, secret)), _, None) => (id.as_str(), secret.as_str()),
        (None, Some(id), Some(secret)) => (id, secret),
        (None, ..) => {
            return Err(Failure::InvalidClient(
                "A client must send its identifier and secret, by Basic or in the body.",
            ));
        }
    };
    match get("grant_type") {
        Some("client_credentials") => {}
        Some(_) => return Err(Failure::UnsupportedGrant),
        None => return Err(Failure::InvalidRequest("`grant_type` must be `client_credentials`.")),
    }
    let own = clients.audience();
    if ["audience", "resource"].into_iter().filter_map(get).any(|stated| stated.trim_end_matches('/') != own) {
        return Err(Failure::InvalidTarget);
    }
    let issued = clients.issue(id, secret, now);
    issued.map_err(|_| Failure::InvalidClient("The client identifier or the secret is not valid."))
}

/// Returns the parameters of a body, which is a form or a JSON object of strings. None may be repeated.
fn parameters(headers: &HeaderMap, body: &[u8]) -> Result<HashMap<String, String>, Failure> {
    let unreadable = Failure::InvalidRequest("The body must be a form or a JSON object of strings.");
    let media_type = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let media_type = media_type.split(';').next().unwrap_or_default().trim();
    if media_type.eq_ignore_ascii_case("application/json") {
        return serde_json::from_slice::<HashMap<String, Value>>(body)
            .ok()
            .and_then(|members| {
                let text = |(name, value): (String, Value)| Some((name, value.as_str()?.to_owned()));
                members.into_iter().map(text).collect()
            })
            .ok_or(unreadable);
    }
    if !media_type.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        return Err(unreadable);
    }
    let mut parameters = HashMap::new();
    for (name, value) in url::form_urlencoded::parse(body) {
        if parameters.insert(name.into_owned(), value.into_owned()).is_some() {
            return Err(Failure::InvalidRequest("No parameter may be repeated."));
        }
    }
    Ok(parameters)
}

/// Returns the client identifier and secret of `Authorization: Basic`, which are form-encoded in it (RFC 6749, section 2.3.1).
fn basic(headers: &HeaderMap) -> Result<Option<(String, String)>, Failure> {
    let Some(value) = headers.get(header::AUTHORIZATION) else { return Ok(None) };
    let wrong = || Failure::InvalidClient("`Authorization` must be `Basic` with a client identifier and secret.");
    let text = value.to_str().map_err(|_| wrong())?;
    let (scheme, encoded) = text.split_once(' ').ok_or_else(wrong)?;
    let decoded = BASE64_STANDARD.decode(encoded.trim()).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    let decoded = decoded.filter(|_| scheme.eq_ignore_ascii_case("Basic")).ok_or_else(wrong)?;
    let (id, secret) = decoded.split_once(':').ok_or_else(wrong)?;
    Ok(Some((unescaped(id), unescaped(secret))))
}

/// Decodes the percent signs of a form value. A `+` stays: credentials have no spaces, and not every client encodes it.
fn unescaped(text: &str) -> String {
    let form = format!("={}", text.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(form.as_bytes()).next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}
