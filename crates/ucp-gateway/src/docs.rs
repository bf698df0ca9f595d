//! The page `/docs`, which shows the OpenAPI document in Swagger UI. All its assets are part of the binary; it loads
//! nothing from other hosts.

use axum::{Router, extract::Request, middleware::Next, response::Response};
use http::{
    HeaderValue,
    header::{CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS},
};
use utoipa_swagger_ui::{Config, SwaggerUi};

/// Content Security Policy of the page: it may run scripts of the gateway and call the gateway. Inline styles are
/// allowed because Swagger UI uses them.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
     frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
);

/// Builds the routes of the page and its assets.
pub(crate) fn router() -> Router {
    let config = Config::from("/openapi.json")
        .try_it_out_enabled(true)
        // Who calls is said once, and not again when the page is opened anew.
        .persist_authorization(true)
        .use_base_layout()
        .validator_url("none");
    Router::from(SwaggerUi::new("/docs").config(config)).layer(axum::middleware::from_fn(
        async |request: Request, next: Next| -> Response {
            let mut response = next.run(request).await;
            let headers = response.headers_mut();
            headers.insert(CONTENT_SECURITY_POLICY, POLICY);
            headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
            headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
            response
        },
    ))
}
