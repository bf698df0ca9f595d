//! The REST binding: operations as routes, refusals as HTTP errors, and the documents that describe the gateway.
//!
//! Routes are derived from the operation table; there is no handler per operation. A request becomes a [`Call`], the
//! [`CallHandler`] does the rest, and its reply is the body. Every response of an operation is JSON, and every response
//! carries `Request-Id`.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`publication`] | the profile and the generated documents, with caching headers |
//! | [`error`] | refusals as HTTP responses |

pub mod error;
pub mod publication;

use std::{convert::Infallible, future::Future, mem, panic::AssertUnwindSafe, sync::Arc};

use axum::{
    Router,
    body::Body,
    extract::{MatchedPath, Path, State, rejection::PathRejection},
    middleware::{Next, from_fn},
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, Route as AnyRoute, on},
};
use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{
    Extensions, HeaderMap, HeaderValue, Request, StatusCode, Uri,
    header::{CACHE_CONTROL, CONTENT_TYPE},
    request::Parts,
};
use serde_json::{Map, Value};
use tower::{ServiceExt as _, layer::layer_fn, service_fn};
use tracing::{Instrument as _, Span};
use ucp_core::{
    Code, Operation, Refusal, Release, json,
    operation::{Class, Method},
};
use ucp_record::{self as record, Transport};
use ucp_service::{
    Call, CallHandler, Endpoint, Fault, Ingress, Reply, body,
    coding::Codable,
    header,
    ingress::{Origins, Target},
};
use ucp_wire::{dialect, documents, view::View};

/// The JSON media type.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// State of a route.
struct Route {
    operation: Operation,
    endpoint: Endpoint,
    ingress: Ingress,
    handler: CallHandler,
}

/// Builds the routes of those of `operations` that can be called at an endpoint, below `prefix`.
pub fn router(
    handler: &CallHandler,
    ingress: &Ingress,
    endpoint: Endpoint,
    operations: &[Operation],
    prefix: &str,
) -> Router {
    let mut router = Router::new();
    for (operation, path, method) in routes(endpoint, operations, prefix) {
        let route = Route { operation, endpoint, ingress: ingress.clone(), handler: handler.clone() };
        // In an `Arc`, because axum clones the state of a route several times per request.
        router = router.route(&path, on(method, handle).with_state(Arc::new(route)));
    }
    router
}

/// Returns the routes of those of `operations` that can be called at an endpoint: their paths below `prefix`, and methods.
pub fn routes(
    endpoint: Endpoint,
    operations: &[Operation],
    prefix: &str,
) -> impl Iterator<Item = (Operation, String, MethodFilter)> {
    let callable = move |operation: &&Operation| dialect(endpoint.release()).shapes(**operation).is_some();
    operations.iter().filter(callable).map(move |operation| {
        let row = operation.row();
        let method = match row.method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
        };
        (*operation, format!("{prefix}{}", row.path), method)
    })
}

/// Adds what all routes of a gateway share: errors for unknown paths and methods, answers to browsers that ask for pages of
/// the `origins` that a request may come from, and the layers around all routes. A path with a slash at its end is the same as
/// without it, unless both have a route.
pub fn surrounded(router: Router, origins: impl Fn(&Extensions) -> Origins + Clone + Send + Sync + 'static) -> Router {
    let of_method = origins.clone();
    let router = router
        .fallback(async move |request: Request<Body>| {
            let mut answer = unknown_path(request.uri());
            origins(request.extensions()).open(request.headers(), answer.headers_mut());
            answer
        })
        .method_not_allowed_fallback(async move |request: Request<Body>| {
            let origins = of_method(request.extensions());
            if let Some(permission) = origins.preflight(request.method(), request.headers()) {
                return (StatusCode::NO_CONTENT, permission).into_response();
            }
            let refusal = Refusal::new(Code::MethodNotAllowed, "This path does not support this HTTP method.")
                .accepting("the methods that the `Allow` header names");
            let mut answer = refused(request.uri(), &refusal);
            origins.open(request.headers(), answer.headers_mut());
            answer
        });
    layered(without_slash(router))
}

/// Answers a request to a target with a refusal, in the release of its endpoint.
pub fn refused(target: &Uri, refusal: &Refusal) -> Response {
    error::answer(release_of(target), refusal)
}

/// Has `router` answer a request to a path that ends with a slash and has no route as one to the path without it. The
/// target as it was written, which a signature covers, is kept as [`Target`].
fn without_slash(router: Router) -> Router {
    let inner = router.clone();
    router.fallback(async move |mut request: Request<Body>| {
        if let Some(shorter) = shorter(request.uri()) {
            let target = mem::replace(request.uri_mut(), shorter);
            if request.extensions().get::<Target>().is_none() {
                request.extensions_mut().insert(Target(target));
            }
        }
        inner.oneshot(request).await.unwrap_or_else(|never| match never {})
    })
}

/// Returns a target without the slash that ends its path; `None` if there is none, or nothing else.
fn shorter(target: &Uri) -> Option<Uri> {
    let path = target.path().strip_suffix('/').filter(|path| !path.is_empty() && !path.ends_with('/'))?;
    let text = target.query().map_or_else(|| path.to_owned(), |query| format!("{path}?{query}"));
    let mut parts = target.clone().into_parts();
    parts.path_and_query = Some(text.parse().ok()?);
    Uri::from_parts(parts).ok()
}

/// Answers a request to a path under which there is nothing.
pub fn unknown_path(uri: &Uri) -> Response {
    let releases: Vec<_> = Release::ALL.iter().map(|release| documents::release_path(*release)).collect();
    let refusal = Refusal::new(Code::UnknownPath, "There is nothing under this path.").accepting(format!(
        "the paths of /openapi.json, `POST /mcp`, and `GET /.well-known/ucp`, for single releases below {}",
        releases.join(", ")
    ));
    error::answer(release_of(uri), &refusal)
}

/// Refuses what no route of `router` takes with `refusal`, for a gateway whose shop is not there. Pages of `origins` may
/// read that. Adds the layers around all routes.
pub fn refusing(
    router: Router,
    origins: Origins,
    refusal: impl Fn() -> Refusal + Clone + Send + Sync + 'static,
) -> Router {
    let refuse = async move |uri: Uri| error::answer(release_of(&uri), &refusal());
    let router = router.fallback(refuse.clone()).method_not_allowed_fallback(refuse);
    let router = router.layer(from_fn(move |request: Request<Body>, next: Next| {
        let origins = origins.clone();
        async move {
            if let Some(permission) = origins.preflight(request.method(), request.headers()) {
                return (StatusCode::NO_CONTENT, permission).into_response();
            }
            let asked = request.headers().clone();
            let mut answer = next.run(request).await;
            origins.open(&asked, answer.headers_mut());
            answer
        }
    }));
    layered(without_slash(router))
}

/// Guards all routes, each in a log span of its request.
fn layered(router: Router) -> Router {
    // As one layer: every layer of a router costs each request a box and a clone.
    router.layer(layer_fn(|route: AnyRoute| {
        service_fn(move |request: Request<Body>| {
            let route = route.clone();
            let answer =
                |request: Request<Body>| async { route.oneshot(request).await.unwrap_or_else(|never| match never {}) };
            guarded(request, span, answer).map(Ok::<_, Infallible>)
        })
    }))
}

/// Answers a request by `answer`: with a request ID in the response and in log lines, an error if the head of the request is
/// not sound, and an internal error if `answer` panics. `span` makes the log span.
pub async fn guarded<A: Future<Output = Response>>(
    mut request: Request<Body>,
    span: impl FnOnce(&Request<Body>) -> Span,
    answer: impl FnOnce(Request<Body>) -> A,
) -> Response {
    let id = header::identify(request.headers_mut());
    record::note(|facts| facts.request_id = id.to_str().unwrap_or_default().to_owned());
    let span = span(&request);
    let guarded = async {
        let answered = async {
            match header::require_sound_head(&request) {
                Ok(()) => answer(request).await,
                Err(refusal) => error::answer(release_of(request.uri()), &refusal),
            }
        };
        AssertUnwindSafe(answered).catch_unwind().await.unwrap_or_else(|_| {
            tracing::error!("handler panicked");
            error::answer(Endpoint::Root.release(), &Refusal::internal())
        })
    };
    let mut answer = guarded.instrument(span).await;
    answer.headers_mut().entry(header::REQUEST_ID).or_insert(id);
    answer
}

/// Creates the log span of a request: its ID, method and route. The route is logged as its pattern, because a real path
/// may hold the ID that opens a buyer page.
fn span(request: &Request<Body>) -> Span {
    let id = header::request_id(request.headers()).and_then(|id| id.to_str().ok());
    let route = request.extensions().get().map(MatchedPath::as_str);
    // Displayed: none of them needs quotes, and escaping them would cost more than all the rest of the span.
    tracing::error_span!("request", request_id = id.map(display), method = %request.method(), route = route.map(display))
}

/// Returns the release whose prefix a path starts with, else the newest.
fn release_of(uri: &Uri) -> Release {
    let below = |release: &Release| {
        uri.path().strip_prefix(&documents::release_path(*release)).is_some_and(|rest| rest.starts_with('/'))
    };
    Release::ALL.iter().copied().find(below).unwrap_or(Release::NEWEST)
}

async fn handle(
    State(route): State<Arc<Route>>,
    id: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> Response {
    let (head, body) = request.into_parts();
    record::note(|facts| {
        (facts.transport, facts.operation) = (Transport::Rest, Some(route.operation));
        facts.release = Some(route.endpoint.release());
    });
    let (status, headers, body) = match respond(&route, id, &head, body).await {
        Ok(Reply { encoded, .. }) => {
            let headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
            (StatusCode::from_u16(encoded.status).unwrap_or_default(), headers, encoded.document)
        }
        Err(Fault { refusal, release }) => error::parts(release, &refusal),
    };
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    // Responses are for one caller; caches must not store them.
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    let bytes = Bytes::from(body);
    let row = route.operation.row();
    let effect = row.effect;
    if row.class == Class::Browsing {
        response.extensions_mut().insert(Codable::default());
    }
    route.ingress.sign(&head.headers, Some(effect), status.as_u16(), response.headers_mut(), &bytes);
    route.ingress.hosts().origins.open(&head.headers, response.headers_mut());
    *response.body_mut() = Body::from(bytes);
    response
}

async fn respond(
    route: &Route,
    id: Result<Path<String>, PathRejection>,
    head: &Parts,
    body: Body,
) -> Result<Reply, Fault> {
    let release = route.endpoint.release();
    let call = read(route, id, head, body).await.map_err(|refusal| Fault { refusal, release })?;
    route.handler.handle(call).await
}

/// Passes a request through the gate and reads it into a call.
async fn read(
    route: &Route,
    id: Result<Path<String>, PathRejection>,
    head: &Parts,
    body: Body,
) -> Result<Call, Refusal> {
    let row = route.operation.row();
    route.ingress.hosts().admit_page(&head.headers, &head.uri)?;
    let entry = route.ingress.enter(head)?;
    let id = if route.operation.takes_id() {
        let Path(id) = id.map_err(|_| Refusal::invalid("$.id", "The identifier in the path must be UTF-8."))?;
        json::check_text(&id).map_err(|refusal| refusal.at("$.id"))?;
        Some(id)
    } else {
        None
    };
    if row.payload.is_some() {
        header::require_json(&head.headers)?;
    }
    let mut held = route.ingress.hold(Ok(&entry), head);
    let bytes = body::read(&head.headers, body, &mut held).await?;
    // Before anything is parsed: the signature covers the bytes.
    let admission = route.ingress.admit(entry, head, &bytes, held).await?;
    let payload = match row.payload {
        Some(_) => json::parse(&bytes, json::Limits::REQUEST)?,
        // Members of the flat request cannot be sent here: REST requests of the operation have no body.
        None if row.flat => Value::Object(Map::new()),
        None => Value::Null,
    };
    Ok(Call {
        operation: route.operation,
        endpoint: route.endpoint,
        id,
        payload,
        lenient: false,
        profiles: header::profile(&head.headers)?.into_iter().collect(),
        idempotency_keys: header::idempotency_keys(&head.headers),
        languages: header::languages(&head.headers),
        view: View::of(head.uri.query())?,
        admission,
        trace: header::trace(&head.headers, header::request_id(&head.headers)),
    })
}

#[cfg(test)]
mod tests {
    use axum::routing::get;
    use http_body_util::BodyExt as _;
    use ucp_wire::refusal::http_status;

    use super::*;

    #[tokio::test]
    async fn a_panic_in_a_handler_is_an_answer_that_tells_nothing() {
        let panics = get(async || -> &'static str { panic!("a secret of the shop") });
        let router = surrounded(Router::new().route("/panics", panics), |_| Origins::default());
        for path in ["/panics", "/nowhere"] {
            let request = Request::get(path)
                .header("host", "localhost")
                .header("request-id", "r-1")
                .body(Body::empty())
                .expect("a request");
            let response = router.clone().oneshot(request).await.expect("an answer");
            assert_eq!(response.headers()[header::REQUEST_ID], "r-1");
            let expected = if path == "/panics" { Code::InternalError } else { Code::UnknownPath };
            assert_eq!(response.status(), http_status(expected));
            let bytes = response.into_body().collect().await.expect("a body").to_bytes();
            let body: Value = serde_json::from_slice(&bytes).expect("JSON");
            assert_eq!(body["code"], expected.as_str());
            assert!(!body.to_string().contains("secret"));
        }
    }

    #[tokio::test]
    async fn a_slash_at_the_end_changes_nothing_but_the_target_that_is_signed() {
        async fn told(request: Request<Body>) -> String {
            let written = request.extensions().get::<Target>().map_or_else(String::new, |target| target.0.to_string());
            format!("{} {written}", request.uri())
        }
        let router = Router::new()
            .route("/mcp", get(told))
            .route("/carts/{id}", get(told))
            .route("/docs/", get(async || "the page of the slash"))
            .route("/docs", get(async || "the other one"));
        let router = surrounded(router, |_| Origins::default());
        for (target, expected) in [
            ("/mcp", Some("/mcp ")),
            ("/mcp/", Some("/mcp /mcp/")),
            ("/mcp/?tools=catalog&x=/", Some("/mcp?tools=catalog&x=/ /mcp/?tools=catalog&x=/")),
            ("/carts/a%2Fb/", Some("/carts/a%2Fb /carts/a%2Fb/")),
            ("/docs/", Some("the page of the slash")),
            ("/docs", Some("the other one")),
            ("/mcp//", None),
            ("//", None),
            ("/nowhere/", None),
        ] {
            let request = Request::get(target).header("host", "localhost").body(Body::empty()).expect("a request");
            let response = router.clone().oneshot(request).await.expect("an answer");
            let status = response.status();
            let bytes = response.into_body().collect().await.expect("a body").to_bytes();
            match expected {
                Some(expected) => assert_eq!((status.as_u16(), &*bytes), (200, expected.as_bytes()), "{target}"),
                None => assert_eq!(status, http_status(Code::UnknownPath), "{target}"),
            }
        }
        let request = Request::post("/mcp/").header("host", "localhost").body(Body::empty()).expect("a request");
        let response = router.oneshot(request).await.expect("an answer");
        assert_eq!(
            (response.status().as_u16(), &response.headers()["allow"]),
            (405, &HeaderValue::from_static("GET,HEAD"))
        );
    }

    #[test]
    fn paths_tell_the_release_of_their_callers() {
        for (path, release) in [
            ("/ucp/2026-01-11/nothing", Release::V2026_01_11),
            ("/ucp/2026-04-08/", Release::V2026_04_08),
            ("/ucp/2026-04-081/x", Release::NEWEST),
            ("/ucp/2026-01-11", Release::NEWEST),
            ("/nothing", Release::NEWEST),
        ] {
            assert_eq!(release_of(&Uri::from_static(path)), release, "{path}");
        }
    }
}
