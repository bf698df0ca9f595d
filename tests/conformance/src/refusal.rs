//! Errors as the sample server words them: a status, and the reason as `detail`.

use std::fmt::Display;

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use serde_json::{Value, json};

/// A JSON answer.
pub(crate) fn answer(status: StatusCode, document: &Value) -> Response {
    let mut response = Response::new(Body::from(document.to_string()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// A call that fails.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    pub(crate) detail: String,
}

impl Refusal {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    /// A document of another shape than the order's.
    pub(crate) fn unprocessable(error: impl Display) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, error.to_string())
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        answer(self.status, &json!({ "detail": self.detail }))
    }
}

/// A gateway that cannot be reached.
impl From<reqwest::Error> for Refusal {
    fn from(error: reqwest::Error) -> Self {
        Self::new(StatusCode::BAD_GATEWAY, format!("the gateway does not answer: {error}"))
    }
}
