//! The REST binding: operations as routes, refusals as HTTP errors, and the documents that describe the gateway.
//!
//! Routes are derived from the operation table; there is no handler per operation. A request becomes a [`Call`], the
//! pipeline does the rest, and its reply is the body. Every answer is JSON and carries `Request-Id`.
//!
//! | module | holds |
//! | :-- | :-- |
//! | [`publication`] | the profile and the generated documents, with caching headers |
//! | [`error`] | refusals as HTTP answers |

pub mod error;
pub mod publication;

use axum::{
    Router,
    body::Body,
    extract::{Path, State, rejection::PathRejection},
    response::{IntoResponse as _, Response},
    routing::{MethodFilter, on},
};
use http::{HeaderMap, HeaderValue, Request, StatusCode, header::CONTENT_TYPE};
use serde_json::Value;
use tower::{Service as _, ServiceExt as _};
use ucp_core::{Code, Operation, Refusal, Release, json, operation::Method};
use ucp_service::{Call, Pipeline, Reply, body, header};

/// The JSON media type.
pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// What the handler of a route knows.
#[derive(Clone)]
struct Route {
    operation: Operation,
    release: Release,
    pipeline: Pipeline,
}

/// The routes of `operations` in `release`, below the service endpoint.
pub fn router(pipeline: &Pipeline, release: Release, operations: &[Operation]) -> Router {
    let mut router = Router::new();
    for operation in operations {
        let filter = match operation.row().method {
            Method::Get => MethodFilter::GET,
            Method::Post => MethodFilter::POST,
            Method::Put => MethodFilter::PUT,
        };
        let route = Route { operation: *operation, release, pipeline: pipeline.clone() };
        router = router.route(operation.row().path, on(filter, handle).with_state(route));
    }
    router
}

/// Answers for paths that lead nowhere and methods that a path does not take, in the protocol's shape.
pub fn with_fallbacks(router: Router) -> Router {
    router
        .fallback(async |headers: HeaderMap| {
            let refusal = Refusal::new(Code::UnknownPath, "There is nothing under this path.")
                .accepting("the paths of /openapi.json, `POST /mcp`, and `GET /.well-known/ucp`");
            error::answer(&refusal, header::request_id(&headers))
        })
        .method_not_allowed_fallback(async |headers: HeaderMap| {
            let refusal = Refusal::new(Code::MethodNotAllowed, "This path does not take this HTTP method.")
                .accepting("the methods that the `Allow` header names");
            error::answer(&refusal, header::request_id(&headers))
        })
}

async fn handle(
    State(route): State<Route>,
    id: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> Response {
    let request_id = header::request_id(request.headers());
    match respond(route, id, request).await {
        Ok(Reply { document }) => {
            let headers = [(CONTENT_TYPE, JSON), (header::REQUEST_ID, request_id)];
            (StatusCode::OK, headers, document).into_response()
        }
        Err(refusal) => error::answer(&refusal, request_id),
    }
}

async fn respond(
    mut route: Route,
    id: Result<Path<String>, PathRejection>,
    request: Request<Body>,
) -> Result<Reply, Refusal> {
    let id = if route.operation.takes_id() {
        let Path(id) = id.map_err(|_| Refusal::invalid("$.id", "The identifier in the path is no text in UTF-8."))?;
        Some(id)
    } else {
        None
    };
    let (head, body) = request.into_parts();
    let payload = if route.operation.row().payload.is_some() {
        header::require_json(&head.headers)?;
        json::parse(&body::read(body).await?, json::Limits::REQUEST)?
    } else {
        Value::Null
    };
    let call = Call {
        operation: route.operation,
        release: route.release,
        id,
        payload,
        claims: header::claim(&head.headers)?.into_iter().collect(),
        languages: header::languages(&head.headers),
    };
    route.pipeline.ready().await?.call(call).await
}
