//! Encoding of refusals as HTTP responses.

use axum::{body::Body, response::Response};
use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use ucp_core::{Refusal, Release};
use ucp_record as record;
use ucp_service::{header, ingress::CHALLENGE};
use ucp_wire::dialect;

use crate::JSON;

/// Encodes a refusal in a release as an HTTP response.
pub fn answer(release: Release, refusal: &Refusal) -> Response {
    let (status, headers, body) = parts(release, refusal);
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// Encodes a refusal in a release as the parts of an HTTP response.
pub fn parts(release: Release, refusal: &Refusal) -> (StatusCode, HeaderMap, String) {
    record::note(|facts| facts.refused = Some(refusal.code));
    let refused = dialect(release).refuse(refusal);
    let status = StatusCode::from_u16(refused.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, JSON)]);
    if let Some(seconds) = refusal.retry_after {
        headers.insert(RETRY_AFTER, seconds.into());
    }
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(WWW_AUTHENTICATE, CHALLENGE);
    }
    if status == StatusCode::UNSUPPORTED_MEDIA_TYPE {
        headers.extend(header::ACCEPTED);
    }
    (status, headers, refused.body)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use serde_json::Value;
    use ucp_core::Code;
    use ucp_wire::refusal::http_status;

    use super::*;

    #[tokio::test]
    async fn every_refusal_has_its_status_and_says_whether_to_retry() {
        for code in Code::ALL {
            let refusal =
                Refusal { retry_after: code.retryable().then_some(3), ..Refusal::new(*code, "Why.").at("$.ids") };
            let response = answer(Release::NEWEST, &refusal);
            assert_eq!(response.status().as_u16(), http_status(*code));
            assert_eq!(response.headers().contains_key(WWW_AUTHENTICATE), http_status(*code) == 401);
            assert_eq!(response.headers().get(RETRY_AFTER).is_some(), code.retryable());
            assert_eq!(response.headers().contains_key("accept-encoding"), http_status(*code) == 415);
            let bytes = response.into_body().collect().await.expect("a body").to_bytes();
            let body: Value = serde_json::from_slice(&bytes).expect("JSON");
            assert_eq!(body["code"], code.as_str());
            assert_eq!((&body["content"], &body["path"]), (&"Why.".into(), &"$.ids".into()));
            assert_eq!(body["retryable"], code.retryable());
        }
    }
}
