//! What is sent to an upstream, and what comes back.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use serde::Deserialize;
use tokio::time::Instant;
use url::Url;

/// How much a call is worth, and what may be done with it. It is about the operation and not about the HTTP method: a
/// GraphQL query is a POST that only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// Changes nothing: it may be sent again, and somebody is waiting for it.
    Read,
    /// Changes something: it is sent once.
    Write,
    /// Commits a purchase: it is sent once, and waited for longer.
    Conclude,
}

/// Finds the end of an answer whose sender may leave it open, such as a stream of events. Given the header fields of
/// the answer, it yields who is shown each piece of the body and says when there is enough of it; the rest is not
/// waited for. `None` where the body is read to its end. Either way it is read up to the same bounds, but for the pause
/// between two pieces, which may be as long as the wait for an answer.
pub type Ending = Arc<dyn Fn(&HeaderMap) -> Option<Enough> + Send + Sync>;

/// Says whether there is enough of a body, of which it is shown every piece in turn.
pub type Enough = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// A request, and until when it is worth anything.
///
/// Its `Debug` form has neither the body nor the query of the address, nor the value of any header.
#[derive(Clone)]
pub struct UpstreamRequest {
    /// What may be done with it.
    pub call_kind: CallKind,
    /// The HTTP method.
    pub method: Method,
    /// The address, of the origin that the upstream was set up with.
    pub url: Url,
    /// The headers.
    pub headers: HeaderMap,
    /// The body; empty for none.
    pub body: Bytes,
    /// When its caller stops waiting. Without one it is what [`deadline::within`](super::deadline::within) says, and
    /// never later than the upstream's limit for this effort.
    pub deadline: Option<Instant>,
    /// What finds the end of an answer that its sender may leave open.
    pub(super) ending: Option<Ending>,
    /// Whether anything of it was handed to a connection, by this or an earlier attempt.
    pub(super) sent: Sent,
}

impl UpstreamRequest {
    /// A request without headers and body.
    #[must_use]
    pub fn new(call_kind: CallKind, method: Method, url: Url) -> Self {
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        Self { call_kind, method, url, headers, body, deadline: None, ending: None, sent: Sent::default() }
    }

    /// The same, with this header instead of others of its name.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// The same, with a header that nothing may print: a credential, or something about the buyer.
    #[must_use]
    pub fn secret(self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.header(name, value)
    }

    /// The same, with this JSON document as its body.
    #[must_use]
    pub fn json(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }

    /// The same, whose answer may be over before its body is.
    #[must_use]
    pub fn ending(mut self, ending: Ending) -> Self {
        self.ending = Some(ending);
        self
    }

    /// The same, given up at `deadline` or before.
    #[must_use]
    pub fn by(mut self, deadline: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self
    }
}

impl fmt::Debug for UpstreamRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Exchange")
            .field("effort", &self.call_kind)
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("body", &self.body.len())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// Whether anything of a request was handed to a connection. Clones tell of the same request.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent(Arc<AtomicBool>);

impl Sent {
    pub(super) fn mark(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn get(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// A whole response, no larger than the upstream's bound. Its `Debug` form does not have the body.
#[derive(Clone)]
pub struct Received {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl Received {
    /// The value of the first header of this name, where it is text.
    #[must_use]
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Whether it claims to be JSON: `application/json`, or another type that ends in `+json`.
    #[must_use]
    pub fn claims_json(&self) -> bool {
        let Some(media_type) = self.header(&header::CONTENT_TYPE) else { return false };
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        essence == "application/json"
            || essence.strip_prefix("application/").is_some_and(|rest| rest.ends_with("+json"))
    }

    /// The body as a `T`, whatever its media type says. The log has where it stopped being one, and nothing that was in
    /// it.
    ///
    /// # Errors
    /// [`Unreadable::NotJson`] or [`Unreadable::Unexpected`].
    pub fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Unreadable> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column, kind) = (error.line(), error.column(), error.classify());
            tracing::warn!(line, column, ?kind, bytes = self.body.len(), "an answer of the upstream cannot be read");
            if error.is_data() { Unreadable::Unexpected } else { Unreadable::NotJson }
        })
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Received")
            .field("status", &self.status)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("body", &self.body.len())
            .finish()
    }
}

/// Why an answer cannot be read. The texts complete "the upstream's answer …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// It is no well-formed JSON: a page, or a document that was cut off.
    #[error("is not well-formed JSON")]
    NotJson,
    /// It is JSON of another form than was asked for.
    #[error("is JSON of an unexpected form")]
    Unexpected,
    /// It has a content coding, although none was accepted.
    #[error("has a content coding, although none was accepted")]
    Encoding,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_secret_is_not_printed() {
        let url = Url::parse("https://shop.example/cart?key=hush").expect("an address");
        let upstream_request = UpstreamRequest::new(CallKind::Write, Method::POST, url)
            .secret(header::AUTHORIZATION, HeaderValue::from_static("hush"))
            .header(header::COOKIE, HeaderValue::from_static("hush"))
            .json("\"hush\"");
        let headers = HeaderMap::from_iter([(header::SET_COOKIE, HeaderValue::from_static("hush"))]);
        let received = Received { status: StatusCode::OK, headers, body: Bytes::from_static(b"hush") };
        let printed = format!("{upstream_request:?} {received:?}");
        assert!(printed.contains("shop.example") && printed.contains("authorization"), "{printed}");
        assert!(!printed.contains("hush"), "{printed}");
        assert!(upstream_request.headers[header::AUTHORIZATION].is_sensitive());
    }

    #[test]
    fn json_is_told_by_its_media_type() {
        for (media_type, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=utf-8", true),
            ("application/graphql-response+json", true),
            ("text/html", false),
            ("text/json", false),
            ("application/jsonp", false),
            ("", false),
        ] {
            let headers = HeaderMap::from_iter([(header::CONTENT_TYPE, HeaderValue::from_static(media_type))]);
            let received = Received { status: StatusCode::OK, headers, body: Bytes::new() };
            assert_eq!(received.claims_json(), expected, "{media_type}");
        }
    }
}
