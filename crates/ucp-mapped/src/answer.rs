//! Answers of sources: what a program gets of them, and what ends a question.

use bytes::Bytes;
use http::StatusCode;
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use ucp_contract::{Question, Reply, transport::is_definite};
use ucp_net::{Failure, Received, Unreadable};

use super::{plan::Made, source::refused};

/// Early end of a question, before its answer is made.
pub(super) enum End {
    Failure(Failure),
    Reply(Reply),
}

impl From<Failure> for End {
    fn from(failure: Failure) -> Self {
        Self::Failure(failure)
    }
}

/// GraphQL answer.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Replied<'a> {
    #[serde(borrow)]
    data: Option<&'a RawValue>,
    errors: Vec<GraphQlError>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct GraphQlError {
    message: String,
    extensions: Extensions,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Extensions {
    code: Value,
    /// Exception behind the error, whose name Saleor states as its `code`.
    exception: Value,
    /// Category of the error, which Magento states in place of a code.
    category: Value,
}

impl GraphQlError {
    fn code(&self) -> &str {
        let Extensions { code, exception, category } = &self.extensions;
        let mut stated = [code, &exception["code"], category].into_iter().filter_map(Value::as_str);
        stated.find(|code| !code.is_empty()).unwrap_or_default()
    }
}

/// Returns the failure of an answer of another form than promised.
pub(super) fn unexpected() -> End {
    End::Failure(Failure::Unreadable(Unreadable::Unexpected))
}

/// Returns what a step makes of the answer that there is no such thing.
pub(super) fn nothing(made: &Made) -> Result<Option<Bytes>, End> {
    if made.optional { Ok(None) } else { Err(End::Reply(Reply::Gone)) }
}

/// Returns the document of an answer; `None` if there is no such thing.
pub(super) fn document(question: Question, made: &Made, received: Received) -> Result<Option<Bytes>, End> {
    let Received { status, body, .. } = &received;
    let json = || -> Bytes { if body.is_empty() { Bytes::from_static(b"null") } else { body.clone() } };
    if !made.accept.is_empty() && (status.is_success() || made.accepts(*status)) {
        let body: Value = serde_json::from_slice(&json()).unwrap_or_default();
        return Ok(Some(json!({ "status": status.as_u16(), "body": body }).to_string().into()));
    }
    match *status {
        status if status.is_success() && made.graphql.is_some() => {
            let replied: Replied<'_> = serde_json::from_slice(body).map_err(|_| unexpected())?;
            let accepted = |error: &GraphQlError| made.accept_errors.iter().any(|code| code == error.code());
            if let Some(error) = replied.errors.iter().find(|error| !accepted(error)) {
                let reason = format!("`{}`: {}", made.name, ucp_import::printable(&error.message));
                return Err(End::Reply(Reply::Refused(reason)));
            }
            if !made.accept_errors.is_empty() {
                let error = |error: &GraphQlError| json!({ "code": error.code(), "message": error.message });
                let errors: Vec<_> = replied.errors.iter().map(error).collect();
                return Ok(Some(json!({ "data": replied.data, "errors": errors }).to_string().into()));
            }
            Ok(Some(replied.data.map_or(Bytes::from_static(b"null"), |data| data.get().to_owned().into())))
        }
        status if status.is_success() => Ok(Some(json())),
        StatusCode::NOT_FOUND | StatusCode::GONE => nothing(made),
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Err(refused(received).into()),
        // Whether the order is on its way is not known.
        status if question == Question::Place && !is_definite(status) => Err(unexpected()),
        status => Err(End::Reply(Reply::Refused(format!("`{}`: status {}", made.name, status.as_u16())))),
    }
}
