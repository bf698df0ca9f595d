//! Requests to an upstream, and its responses.

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

/// Kind of a call, which decides about retries, timeouts and concurrency limits. It follows from the operation, not
/// from the HTTP method: a GraphQL query is a POST that only reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CallKind {
    /// Read: it changes nothing and may be retried.
    Read,
    /// Write: it is sent once.
    Write,
    /// Completion of a purchase: it is sent once, with longer timeouts.
    Conclude,
}

/// Kind of traffic. Each has a circuit and places of its own, so that trouble with one says nothing about another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// Reads of the catalog.
    Browse,
    /// Carts and checkouts.
    Cart,
    /// Completion of purchases, and orders.
    Payment,
}

impl Lane {
    /// All lanes.
    pub const ALL: [Self; 3] = [Self::Browse, Self::Cart, Self::Payment];

    /// Returns the name of the lane in the log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Browse => "browse",
            Self::Cart => "cart",
            Self::Payment => "payment",
        }
    }
}

/// Author of what a request asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    /// A caller, whose words the request carries: that the upstream refuses it, fails or hangs says nothing about what
    /// it does for others.
    Caller,
    /// The gateway: the upstream gets the same question whoever calls.
    Gateway,
    /// The gateway, which finds out whether the upstream works.
    Probe,
}

/// Detects the end of a response that its sender may leave open, such as a stream of events. From the header fields of
/// the response it returns a function that sees each chunk of the body and says when there is enough; the rest is not
/// awaited. `None` if the body is to be read to its end. Size and time limits apply either way, but the idle timeout
/// between two chunks is that of the first answer.
pub type Ending = Arc<dyn Fn(&HeaderMap) -> Option<Enough> + Send + Sync>;

/// Returns `true` once the chunks of the body that it has seen are enough.
pub type Enough = Box<dyn FnMut(&[u8]) -> bool + Send>;

/// A request with its deadline.
///
/// `Debug` prints neither the body, nor the query of the URL, nor the values of headers.
#[derive(Clone)]
pub struct UpstreamRequest {
    /// Kind of the call.
    pub call_kind: CallKind,
    /// HTTP method.
    pub method: Method,
    /// URL, of the origin that the upstream was set up with.
    pub url: Url,
    /// Headers.
    pub headers: HeaderMap,
    /// Body; empty if there is none.
    pub body: Bytes,
    /// Time at which the caller stops waiting. Defaults to that of [`deadline::within`](super::deadline::within), and
    /// is never later than the timeout of the upstream for this kind of call.
    pub deadline: Option<Instant>,
    /// `true` if the request names a buyer: a [rejection](super::Verdict::Rejected) is of this buyer then, and so is the time
    /// for which the upstream asks to be left alone.
    pub for_buyer: bool,
    /// Kind of traffic. The one of the [`Scope`](super::Scope) comes first if it is worth more.
    pub lane: Lane,
    /// Author of what is asked.
    pub author: Author,
    /// Number of elements of a list that is asked for. Of a large answer, the others are dropped as they come.
    pub asked: Option<usize>,
    /// Detection of the end of a response that its sender may leave open.
    pub ending: Option<Ending>,
    /// Set once a byte was handed to a connection, by this or an earlier attempt.
    pub(super) sent: Sent,
}

impl UpstreamRequest {
    /// Creates a request without headers and body.
    pub fn new(call_kind: CallKind, method: Method, url: Url) -> Self {
        let (headers, body) = (HeaderMap::new(), Bytes::new());
        Self {
            call_kind,
            method,
            url,
            headers,
            body,
            deadline: None,
            for_buyer: false,
            lane: match call_kind {
                CallKind::Read => Lane::Browse,
                CallKind::Write => Lane::Cart,
                CallKind::Conclude => Lane::Payment,
            },
            author: Author::Caller,
            asked: None,
            ending: None,
            sent: Sent::default(),
        }
    }

    /// Sets a header, in place of others of its name.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets a header that is never printed: a credential, or data of the buyer.
    #[must_use]
    pub fn secret(self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.header(name, value)
    }

    /// Sets a JSON document as the body.
    #[must_use]
    pub fn json(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.header(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))
    }

    /// Sets the deadline, unless an earlier one is set.
    #[must_use]
    pub fn by(mut self, deadline: Instant) -> Self {
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
        self
    }
}

impl fmt::Debug for UpstreamRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamRequest")
            .field("call_kind", &self.call_kind)
            .field("method", &self.method)
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("body", &self.body.len())
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// Flag that a byte of a request was handed to a connection. Clones belong to the same request.
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

/// A complete response, no larger than [`Options::max_body`](super::Options::max_body). `Debug` omits the body.
#[derive(Clone)]
pub struct Received {
    /// HTTP status.
    pub status: StatusCode,
    /// Headers.
    pub headers: HeaderMap,
    /// Body.
    pub body: Bytes,
}

impl Received {
    /// Returns the value of the first header of this name, if it is visible ASCII.
    pub fn header(&self, name: &HeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// Returns `true` if the media type is `application/json` or another application type that ends in `+json`.
    pub fn claims_json(&self) -> bool {
        let Some(media_type) = self.header(&header::CONTENT_TYPE) else { return false };
        let essence = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        essence == "application/json"
            || essence.strip_prefix("application/").is_some_and(|rest| rest.ends_with("+json"))
    }

    /// Parses the body as a `T`, whatever its media type is. The log gets the position of an error, and no content.
    /// Fails with [`Unreadable::NotJson`] or [`Unreadable::Unexpected`].
    pub fn json<'a, T: Deserialize<'a>>(&'a self) -> Result<T, Unreadable> {
        serde_json::from_slice(&self.body).map_err(|error| {
            let (line, column, kind) = (error.line(), error.column(), error.classify());
            tracing::warn!(line, column, ?kind, bytes = self.body.len(), "unreadable upstream response");
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

/// Reasons why a response cannot be read. The texts complete "the upstream's answer …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not well-formed JSON: an HTML page, or a truncated document.
    #[error("is not well-formed JSON")]
    NotJson,
    /// JSON of an unexpected form.
    #[error("is JSON of an unexpected form")]
    Unexpected,
    /// A content coding, although none was accepted.
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
