//! Refusals as HTTP answers.

use axum::response::{IntoResponse as _, Response};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use ucp_core::Refusal;
use ucp_service::header::REQUEST_ID;
use ucp_wire::{refusal::Body, splice::json};

use crate::JSON;

/// The HTTP answer that says a refusal.
#[must_use]
pub fn answer(refusal: &Refusal, request_id: HeaderValue) -> Response {
    let status = StatusCode::from_u16(refusal.code.http_status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = [(CONTENT_TYPE, JSON), (REQUEST_ID, request_id)];
    let mut response = (status, headers, json(&Body::from(refusal))).into_response();
    if let Some(seconds) = refusal.retry_after {
        response.headers_mut().insert(RETRY_AFTER, seconds.into());
    }
    response
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;
    use serde_json::Value;
    use ucp_core::Code;

    use super::*;

    #[tokio::test]
    async fn every_refusal_has_its_status_and_says_whether_to_retry() {
        for code in Code::ALL {
            let refusal =
                Refusal { retry_after: code.retryable().then_some(3), ..Refusal::new(*code, "Why.").at("$.ids") };
            let response = answer(&refusal, HeaderValue::from_static("r-1"));
            assert_eq!(response.status().as_u16(), code.http_status());
            assert_eq!(response.headers()[REQUEST_ID], "r-1");
            assert_eq!(response.headers().get(RETRY_AFTER).is_some(), code.retryable());
            let bytes = response.into_body().collect().await.expect("a body").to_bytes();
            let body: Value = serde_json::from_slice(&bytes).expect("JSON");
            assert_eq!(body["code"], code.as_str());
            assert_eq!((&body["content"], &body["path"]), (&"Why.".into(), &"$.ids".into()));
            assert_eq!(body["retryable"], code.retryable());
        }
    }
}
