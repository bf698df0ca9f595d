//! A connection: what is happening on it, and its byte stream, with a body for the errors that `hyper` answers by itself.
//!
//! `hyper` refuses what is not HTTP with a status and nothing else. It is the only one that writes while no request is
//! being answered, so everything written then is such a refusal: its head is completed, and a body is added.

use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
};

use axum::body::{Body, Bytes};
use http::Request;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tower_http::request_id::MakeRequestId as _;
use ucp_core::{Code, Refusal, Release};
use ucp_service::header::{REQUEST_ID, RandomRequestId};
use ucp_wire::dialect;

/// Maximum size of a request header in bytes.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// State of a connection: whether and how far a request is being answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Phase {
    /// No request has arrived since the last answer.
    Idle,
    /// The body of a request is arriving.
    Receiving,
    /// The client is taking the answer.
    Writing,
    /// A request is being carried out.
    Running,
}

/// Activity of a connection. Clones share one state.
#[derive(Clone, Debug)]
pub(super) struct Activity(Arc<State>);

#[derive(Debug)]
struct State {
    phase: Mutex<Phase>,
    /// `true` from the receipt of a request until its answer is flushed.
    answering: AtomicBool,
}

impl Default for Activity {
    fn default() -> Self {
        Self(Arc::new(State { phase: Mutex::new(Phase::Idle), answering: AtomicBool::new(false) }))
    }
}

impl Activity {
    /// Takes note of a request, which is answered when the guard is dropped.
    pub(super) fn begin(&self) -> Answering {
        self.0.answering.store(true, Ordering::Release);
        *self.locked() = Phase::Running;
        Answering(self.clone())
    }

    /// Returns the state of the connection.
    pub(super) fn phase(&self) -> Phase {
        *self.locked()
    }

    fn locked(&self) -> MutexGuard<'_, Phase> {
        self.0.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, from: Phase, to: Phase) {
        let mut phase = self.locked();
        if *phase == from {
            *phase = to;
        }
    }

    fn flushed(&self) {
        if self.phase() == Phase::Idle {
            self.0.answering.store(false, Ordering::Release);
        }
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answering(Activity);

impl Drop for Answering {
    fn drop(&mut self) {
        *self.0.locked() = Phase::Idle;
    }
}

/// Body of a request. Its connection is [`Phase::Receiving`] until it has arrived or nobody waits for it.
#[derive(Debug)]
pub(super) struct Receiving {
    body: Incoming,
    activity: Activity,
}

impl Receiving {
    pub(super) fn new(body: Incoming, activity: Activity) -> Self {
        if !body.is_end_stream() {
            activity.change(Phase::Running, Phase::Receiving);
        }
        Self { body, activity }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.activity.change(Phase::Receiving, Phase::Running);
    }
}

impl HttpBody for Receiving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.activity.change(Phase::Receiving, Phase::Running);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Body of an answer, which is being answered until the last of it is handed over.
#[derive(Debug)]
pub(super) struct Answer {
    body: Body,
    _answering: Answering,
}

impl Answer {
    pub(super) fn new(body: Body, answering: Answering) -> Self {
        *answering.0.locked() = Phase::Writing;
        Self { body, _answering: answering }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The byte stream of a connection.
#[derive(Debug)]
pub(super) struct Transport<S> {
    stream: S,
    activity: Activity,
    /// Refusal of `hyper`, completed, of which not everything is written yet.
    refusal: Bytes,
}

impl<S> Transport<S> {
    pub(super) fn new(stream: S, activity: Activity) -> Self {
        Self { stream, activity, refusal: Bytes::new() }
    }
}

impl<S: AsyncWrite + Unpin> Transport<S> {
    /// Takes what `hyper` writes by itself, if `written` is that, and returns `true` then.
    fn take(&mut self, written: &[u8]) -> bool {
        if self.activity.0.answering.load(Ordering::Acquire) {
            return false;
        }
        let Some(refusal) = complete(written) else { return false };
        self.refusal = refusal;
        true
    }

    fn poll_refusal(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let written = ready!(Pin::new(&mut self.stream).poll_write(cx, &self.refusal))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            drop(self.refusal.split_to(written));
        }
        Poll::Ready(Ok(()))
    }
}

/// Adds a request ID and a body to the head of an answer that has neither; returns `None` for any other text.
fn complete(head: &[u8]) -> Option<Bytes> {
    const EMPTY: &str = "content-length: 0\r\n";
    let head = str::from_utf8(head).ok().filter(|head| head.contains(EMPTY))?;
    let refusal = match head.strip_prefix("HTTP/1.1 ")?.get(..3)? {
        "400" => Refusal::new(Code::InvalidRequest, "The request is not well-formed HTTP/1.1.")
            .accepting("a request line, headers and a length of the body as in RFC 9112"),
        "414" => Refusal::new(Code::RequestTooLarge, "The target of the request is too long."),
        "431" => Refusal::new(Code::RequestTooLarge, "The headers of the request are too large.")
            .accepting(format!("at most 100 headers, and {MAX_HEAD} bytes with the request line")),
        _ => return None,
    };
    let body = dialect(Release::NEWEST).refuse(&refusal).body;
    let id = RandomRequestId.make_request_id(&Request::new(()))?;
    let headers = format!(
        "content-type: application/json\r\ncontent-length: {}\r\n{REQUEST_ID}: {}\r\n",
        body.len(),
        id.header_value().to_str().ok()?
    );
    tracing::debug!(id = id.header_value().to_str().ok(), code = %refusal.code, "a request is not HTTP");
    Some(format!("{}{body}", head.replacen(EMPTY, &headers, 1)).into())
}

impl<S: AsyncRead + Unpin> AsyncRead for Transport<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Transport<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_refusal(cx))?;
        if self.take(buffer) {
            return Poll::Ready(Ok(buffer.len()));
        }
        Pin::new(&mut self.stream).poll_write(cx, buffer)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_refusal(cx))?;
        // The refusals of `hyper` are heads alone.
        if let [head] = buffers
            && self.take(head)
        {
            return Poll::Ready(Ok(head.len()));
        }
        Pin::new(&mut self.stream).poll_write_vectored(cx, buffers)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        ready!(Pin::new(&mut self.stream).poll_flush(cx))?;
        // `hyper` flushes the stream once it has written everything that it had.
        self.activity.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(cx))?;
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_refusals_of_hyper_are_completed() {
        let head = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let whole = complete(head.as_bytes()).expect("a refusal");
        let (head, body) = str::from_utf8(&whole).expect("text").split_once("\r\n\r\n").expect("a body");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
        assert!(head.contains("\r\nrequest-id: ") && body.contains("\"request_too_large\""), "{head} {body}");
        for other in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n", "{}", ""]
        {
            assert!(complete(other.as_bytes()).is_none(), "{other}");
        }
    }
}
