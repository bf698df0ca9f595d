//! The page `/docs`, which shows the OpenAPI document in Swagger UI. All its assets are part of the binary; it loads
//! nothing from other hosts.

use std::sync::Arc;

use axum::{Router, extract::Request, middleware::Next, response::Response};
use http::{
    HeaderValue,
    header::{CONTENT_SECURITY_POLICY, LOCATION, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};
use utoipa_swagger_ui::{Config, SwaggerUi};

/// Content Security Policy of the page: it may run scripts of the gateway and call the gateway. Inline styles are
/// allowed because Swagger UI uses them.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
);

/// Builds the routes of the page and its assets, for a shop that clients reach below `path`.
pub(crate) fn router(path: &str) -> Router {
    let path: Arc<str> = path.into();
    let config = Config::from(format!("{path}/openapi.json"))
        .try_it_out_enabled(true)
        // Who calls is said once, and not again when the page is opened anew.
        .persist_authorization(true)
        .use_base_layout()
        .validator_url("none");
    Router::from(SwaggerUi::new("/docs").config(config)).layer(axum::middleware::from_fn(
        move |request: Request, next: Next| {
            let path = Arc::clone(&path);
            async move { protected(next.run(request).await, &path) }
        },
    ))
}

/// Adds the policy of the page to a response. A place that it leads to lies below `path`.
fn protected(mut response: Response, path: &str) -> Response {
    let headers = response.headers_mut();
    headers.insert(CONTENT_SECURITY_POLICY, POLICY);
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    let place = headers.get(LOCATION).and_then(|place| place.to_str().ok()).filter(|place| place.starts_with('/'));
    if let Some(place) = place.and_then(|place| HeaderValue::try_from(format!("{path}{place}")).ok()) {
        headers.insert(LOCATION, place);
    }
    response
}
