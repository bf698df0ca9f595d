//! A connection: what is happening on it, and its byte stream in HTTP/1.1, with a body for the errors that `hyper` answers
//! by itself.
//!
//! `hyper` refuses what is not HTTP with a status and nothing else. It is the only one that writes while no request is
//! being answered, so everything written then is such a refusal: its head is completed, and a body is added.

use std::{
    collections::BTreeMap,
    future::Future as _,
    io::{self, IoSlice},
    mem::MaybeUninit,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use axum::body::{Body, Bytes};
use http::Request;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use memchr::memchr;
use socket2::SockRef;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
    time::{Instant, Sleep, sleep},
};
use tokio_io_timeout::TimeoutStream;
use tokio_rustls::server::TlsStream;
use ucp_core::{Code, Refusal, Release};
use ucp_service::header::{REQUEST_ID, random_request_id, unsupported_coding};
use ucp_wire::dialect;

/// Maximum size of a request header in bytes.
pub(super) const MAX_HEAD: usize = 64 * 1024;

/// Maximum number of bytes that are read from a connection of HTTP/1.1 at once. The buffer of `hyper` has 8 KiB at first and
/// grows when one read fills it, so that it stays as it is for bodies, however large, and grows for headers alone.
const READ: usize = 8 * 1024 - 1;

/// Time for which what a client sends is read after the end of its connection was said.
const LINGER: Duration = Duration::from_secs(5);

/// State of a request or a connection: whether and how far a request is being answered.
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
    requests: Mutex<Requests>,
    /// `true` from the receipt of a request until its answer is flushed, in HTTP/1.1.
    answering: AtomicBool,
    /// `true` in HTTP/1.1, where an answer is handed over at once and the byte stream tells when it is flushed.
    is_buffered: AtomicBool,
    /// Stage of the shutdown of the listener.
    farewell: AtomicU8,
}

/// Stage of the shutdown of a listener, for an idle connection of HTTP/1.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub(super) enum Farewell {
    /// It takes another request.
    None,
    /// It ends if it has had an answer.
    AfterAnswer,
    /// It ends.
    AtOnce,
}

/// The requests of a connection that are being answered: one at a time in HTTP/1.1, several in HTTP/2.
#[derive(Debug)]
struct Requests {
    /// Each by its number on the connection, with its state and the time of its last progress.
    open: BTreeMap<u64, (Phase, Instant)>,
    next: u64,
    /// Time since which there is none, where there is none.
    idle_since: Instant,
    /// Time since which a header is expected or arriving, where no request is being answered: since the start of the
    /// connection, or the first byte after an answer.
    begun: Option<Instant>,
    /// `true` if something of a header has arrived that is not complete.
    has_part: bool,
}

/// Action of the client that a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Send the rest of a header; since its first byte, or the start of the connection.
    Header(Instant),
    /// Send a request; since the last answer.
    Request(Instant),
    /// Take more of an answer; since the last progress of the answer that has made none for longest.
    Reading(Instant),
    /// Nothing: its requests are arriving or being carried out.
    Nothing,
}

impl Default for Activity {
    fn default() -> Self {
        let now = Instant::now();
        let requests = Requests { open: BTreeMap::new(), next: 0, idle_since: now, begun: Some(now), has_part: false };
        let [answering, is_buffered] = [false; 2].map(AtomicBool::new);
        let farewell = AtomicU8::new(Farewell::None as u8);
        Self(Arc::new(State { requests: Mutex::new(requests), answering, is_buffered, farewell }))
    }
}

impl Activity {
    /// Takes note of a request, which is answered when the guard is dropped.
    pub(super) fn begin(&self) -> Answering {
        let is_buffered = self.0.is_buffered.load(Ordering::Relaxed);
        self.0.answering.store(is_buffered, Ordering::Release);
        let mut requests = self.locked();
        let id = requests.next;
        requests.next += 1;
        requests.open.insert(id, (Phase::Running, Instant::now()));
        (requests.begun, requests.has_part) = (None, false);
        drop(requests);
        Answering { activity: self.clone(), id }
    }

    /// Returns the state of the connection: that of the request which has come furthest.
    pub(super) fn phase(&self) -> Phase {
        self.locked().open.values().map(|(phase, _)| *phase).max().unwrap_or(Phase::Idle)
    }

    /// Returns what the connection waits for.
    pub(super) fn wait(&self) -> Wait {
        // The byte stream of HTTP/1.1 has a timer for a client that takes nothing.
        if self.is_answering() {
            return Wait::Nothing;
        }
        let requests = self.locked();
        if requests.open.is_empty() {
            return match requests.begun {
                Some(begun) => Wait::Header(begun),
                None => Wait::Request(requests.idle_since),
            };
        }
        let writing = requests.open.values().filter(|(phase, _)| *phase == Phase::Writing);
        writing.map(|(_, since)| *since).min().map_or(Wait::Nothing, Wait::Reading)
    }

    fn locked(&self) -> MutexGuard<'_, Requests> {
        self.0.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, id: u64, change: impl FnOnce(Phase) -> Phase) {
        if let Some((phase, since)) = self.locked().open.get_mut(&id) {
            (*phase, *since) = (change(*phase), Instant::now());
        }
    }

    /// The body of a request has arrived, or nobody waits for it.
    fn arrived(&self, id: u64) {
        self.change(id, |phase| if phase == Phase::Receiving { Phase::Running } else { phase });
    }

    /// Something of a request has arrived. Returns the number of the request if it is of a header.
    fn received(&self) -> Option<u64> {
        let mut requests = self.locked();
        if !requests.open.is_empty() {
            return None;
        }
        if requests.begun.is_none() {
            requests.begun = Some(Instant::now());
        }
        requests.has_part = true;
        Some(requests.next)
    }

    /// Ends the connection once it is idle.
    pub(super) fn leave(&self, farewell: Farewell) {
        self.0.farewell.store(farewell as u8, Ordering::Relaxed);
    }

    /// Returns `true` if the connection is to end now, unless a request comes.
    fn is_left(&self) -> bool {
        let farewell = self.0.farewell.load(Ordering::Relaxed);
        if farewell == Farewell::None as u8 {
            return false;
        }
        let requests = self.locked();
        let needed = if requests.next == 0 { Farewell::AtOnce } else { Farewell::AfterAnswer };
        requests.open.is_empty() && !requests.has_part && farewell >= needed as u8
    }

    /// Returns `true` from the receipt of a request until its answer is flushed, in HTTP/1.1.
    fn is_answering(&self) -> bool {
        self.0.answering.load(Ordering::Acquire)
    }

    fn flushed(&self) {
        if self.is_answering() && self.phase() == Phase::Idle {
            self.locked().idle_since = Instant::now();
            self.0.answering.store(false, Ordering::Release);
        }
    }
}

/// A request that is being answered.
#[derive(Debug)]
pub(super) struct Answering {
    activity: Activity,
    id: u64,
}

impl Drop for Answering {
    fn drop(&mut self) {
        let mut requests = self.activity.locked();
        requests.open.remove(&self.id);
        requests.idle_since = Instant::now();
    }
}

/// Body of a request, which is [`Phase::Receiving`] until it has arrived or nobody waits for it.
#[derive(Debug)]
pub(super) struct Receiving {
    body: Incoming,
    activity: Activity,
    id: u64,
}

impl Receiving {
    pub(super) fn new(body: Incoming, answering: &Answering) -> Self {
        let (activity, id) = (answering.activity.clone(), answering.id);
        if !body.is_end_stream() {
            activity.change(id, |_| Phase::Receiving);
        }
        Self { body, activity, id }
    }
}

impl Drop for Receiving {
    fn drop(&mut self) {
        self.activity.arrived(self.id);
    }
}

impl HttpBody for Receiving {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        if frame.is_none() || self.body.is_end_stream() {
            self.activity.arrived(self.id);
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
    /// Part of the last frame of `body` that is not handed over yet.
    rest: Bytes,
    /// Maximum size of what is handed over at once, in bytes.
    piece: usize,
    answering: Answering,
}

impl Answer {
    pub(super) fn new(body: Body, answering: Answering, piece: usize) -> Self {
        answering.activity.change(answering.id, |_| Phase::Writing);
        Self { body, rest: Bytes::new(), piece, answering }
    }
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(cx)).transpose()?.map(Frame::into_data) {
                Some(Ok(data)) => self.rest = data,
                Some(Err(trailers)) => return Poll::Ready(Some(Ok(trailers))),
                None => return Poll::Ready(None),
            }
        }
        self.answering.activity.change(self.answering.id, |phase| phase);
        let piece = self.piece.min(self.rest.len());
        Poll::Ready(Some(Ok(Frame::data(self.rest.split_to(piece)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, body) = (self.rest.len() as u64, self.body.size_hint());
        let mut all = SizeHint::new();
        all.set_lower(body.lower() + rest);
        if let Some(upper) = body.upper() {
            all.set_upper(upper + rest);
        }
        all
    }
}

/// A byte stream over a socket.
pub(super) trait Socket {
    /// Returns `true` if the kernel holds something that the peer has sent, whether the runtime knows of it or not.
    fn has_unread(&self) -> bool;
}

impl Socket for TcpStream {
    fn has_unread(&self) -> bool {
        SockRef::from(self).peek(&mut [MaybeUninit::uninit()]).is_ok_and(|length| length > 0)
    }
}

impl<S: Socket + AsyncRead + AsyncWrite> Socket for Pin<Box<TimeoutStream<S>>> {
    fn has_unread(&self) -> bool {
        self.as_ref().get_ref().get_ref().has_unread()
    }
}

impl<S: Socket> Socket for TlsStream<S> {
    fn has_unread(&self) -> bool {
        self.get_ref().0.has_unread()
    }
}

/// The byte stream of a connection that speaks HTTP/1.1.
#[derive(Debug)]
pub(super) struct Transport<S> {
    stream: S,
    activity: Activity,
    codings: Codings,
    /// Refusal of `hyper`, completed, of which not everything is written yet.
    refusal: Bytes,
    /// Until when the client may still send, once everything is written and the end is said.
    lingering: Option<Pin<Box<Sleep>>>,
}

impl<S> Transport<S> {
    pub(super) fn new(stream: S, activity: Activity) -> Self {
        activity.0.is_buffered.store(true, Ordering::Relaxed);
        Self { stream, activity, codings: Codings::default(), refusal: Bytes::new(), lingering: None }
    }
}

impl<S: AsyncRead + Unpin> Transport<S> {
    /// Reads what the client sends after the end of the connection was said, until it ends it too or its time is over. What a
    /// socket has not read when it is closed resets the connection, and with it what the client has not taken yet.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let mut scrap = [MaybeUninit::uninit(); 4096];
        loop {
            let mut buffer = ReadBuf::uninit(&mut scrap);
            match Pin::new(&mut self.stream).poll_read(cx, &mut buffer) {
                Poll::Ready(Ok(())) if !buffer.filled().is_empty() => {}
                Poll::Ready(_) => return Poll::Ready(()),
                Poll::Pending => break,
            }
        }
        self.lingering.as_mut().map_or(Poll::Ready(()), |end| end.as_mut().poll(cx))
    }
}

impl<S: AsyncWrite + Unpin> Transport<S> {
    /// Takes what `hyper` writes by itself, if `written` is that, and returns `true` then.
    fn take(&mut self, written: &[u8]) -> bool {
        if self.activity.is_answering() {
            return false;
        }
        let codings = (self.codings.request == self.activity.locked().next).then_some(&self.codings);
        let Some(refusal) = complete(written, codings) else { return false };
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

/// Transfer codings in the header of a request, looked for in its bytes: `hyper` refuses a request whose last coding is not
/// `chunked` like one that is not HTTP.
#[derive(Debug, Default)]
struct Codings {
    /// Number of the request on its connection.
    request: u64,
    /// Number of bytes of [`CODING`] that were just read.
    matched: usize,
    /// Part of the value that was read behind it.
    value: Vec<u8>,
    /// `true` if another coding than `chunked` was found.
    has_other: bool,
    /// `true` if the request line has ended.
    has_line: bool,
}

/// Beginning of a header line with transfer codings, with the end of the line before it.
const CODING: &[u8] = b"\ntransfer-encoding:";

/// Maximum length of the value of a header line that can be that of `chunked`, in bytes.
const MAX_CHUNKED: usize = 64;

impl Codings {
    /// Looks through the next bytes of the header of a request.
    fn look(&mut self, request: u64, mut bytes: &[u8]) {
        if self.request != request {
            *self = Self { request, ..Self::default() };
        }
        self.has_line |= memchr(b'\n', bytes).is_some();
        loop {
            if self.matched == 0 {
                // What is before the end of a line begins none.
                let Some(end) = memchr(b'\n', bytes) else { return };
                bytes = &bytes[end..];
            }
            let Some((byte, rest)) = bytes.split_first() else { return };
            bytes = rest;
            if self.matched < CODING.len() {
                let is_next = byte.eq_ignore_ascii_case(&CODING[self.matched]);
                self.matched = if is_next { self.matched + 1 } else { usize::from(*byte == b'\n') };
            } else if *byte == b'\n' {
                self.has_other |= !self.value.trim_ascii().eq_ignore_ascii_case(b"chunked");
                (self.matched, self.value) = (1, Vec::new());
            } else if self.value.len() < MAX_CHUNKED {
                self.value.push(*byte);
            } else {
                self.has_other = true;
            }
        }
    }
}

/// Returns the size of the head of a request in bytes: its request line, its headers and the empty line.
pub(super) fn head_size<B>(request: &Request<B>) -> usize {
    let target = request.uri();
    let origin = target.authority().map_or(0, |authority| authority.as_str().len() + "://".len());
    let origin = origin + target.scheme_str().map_or(0, str::len);
    let path = target.path_and_query().map_or(0, |path| path.as_str().len());
    let line = request.method().as_str().len() + origin + path + "  HTTP/1.1\r\n".len();
    let fields = request.headers().iter().map(|(name, value)| name.as_str().len() + value.len() + ": \r\n".len());
    line + fields.sum::<usize>() + "\r\n".len()
}

/// Returns the refusal of a request with too many headers or too large ones.
pub(super) fn too_large_head() -> Refusal {
    Refusal::new(Code::RequestTooLarge, "The headers of the request are too large.")
        .accepting(format!("at most 100 headers, and {MAX_HEAD} bytes with the request line"))
}

/// Adds a request ID and a body to the head of an answer that has neither, which `hyper` has written to a request of which this
/// was `read`; returns `None` for any other text.
fn complete(head: &[u8], read: Option<&Codings>) -> Option<Bytes> {
    const EMPTY: &str = "content-length: 0\r\n";
    let head = str::from_utf8(head).ok().filter(|head| head.contains(EMPTY))?;
    let (mut status, fields) = head.strip_prefix("HTTP/1.1 ")?.split_once("\r\n")?;
    let refusal = match status.get(..3)? {
        "400" if read.is_some_and(|read| read.has_other) => {
            status = "501 Not Implemented";
            unsupported_coding()
        }
        "400" => Refusal::new(Code::InvalidRequest, "The request is not well-formed HTTP/1.1.")
            .accepting("a request line, headers and a length of the body as in RFC 9112"),
        "431" if read.is_none_or(|read| read.has_line) => too_large_head(),
        "414" | "431" => {
            status = "414 URI Too Long";
            Refusal::new(Code::RequestTooLarge, "The target of the request is too long.")
        }
        _ => return None,
    };
    let body = dialect(Release::NEWEST).refuse(&refusal).body;
    let id = random_request_id();
    let id = id.to_str().ok()?;
    let headers = format!("content-type: application/json\r\ncontent-length: {}\r\n{REQUEST_ID}: {id}\r\n", body.len());
    tracing::debug!(id, code = %refusal.code, "not an HTTP request");
    Some(format!("HTTP/1.1 {status}\r\n{}{body}", fields.replacen(EMPTY, &headers, 1)).into())
}

impl<S: AsyncRead + Socket + Unpin> AsyncRead for Transport<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        // What is read is short as a rule: to copy it takes less than to initialize the room for it.
        let mut room = [MaybeUninit::uninit(); READ];
        let mut piece = ReadBuf::uninit(&mut room[..READ.min(buffer.remaining())]);
        match Pin::new(&mut self.stream).poll_read(cx, &mut piece)? {
            Poll::Ready(()) => {}
            // As if the client had ended the connection: it is closed, and nothing is lost by that.
            Poll::Pending if self.activity.is_left() && !self.stream.has_unread() => return Poll::Ready(Ok(())),
            Poll::Pending => return Poll::Pending,
        }
        let read = piece.filled();
        if !read.is_empty()
            && let Some(request) = self.activity.received()
        {
            self.codings.look(request, read);
        }
        buffer.put_slice(read);
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Transport<S> {
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
        if self.lingering.is_none() {
            ready!(Pin::new(&mut self.stream).poll_shutdown(cx))?;
            self.lingering = Some(Box::pin(sleep(LINGER)));
        }
        self.poll_linger(cx).map(Ok)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_is_what_the_request_is_that_has_come_furthest() {
        let activity = Activity::default();
        assert!(matches!(activity.wait(), Wait::Header(_)), "the first one");
        let (one, two) = (activity.begin(), activity.begin());
        activity.change(one.id, |_| Phase::Receiving);
        activity.change(two.id, |_| Phase::Receiving);
        assert_eq!((activity.phase(), activity.wait()), (Phase::Receiving, Wait::Nothing));
        activity.arrived(one.id);
        assert_eq!(activity.phase(), Phase::Running);
        let (first, id) = (Answer::new(Body::from("x"), one, 1), two.id);
        assert_eq!(activity.phase(), Phase::Writing);
        let Wait::Reading(since) = activity.wait() else { panic!("{:?}", activity.wait()) };
        let second = Answer::new(Body::from("x"), two, 1);
        assert_eq!(activity.wait(), Wait::Reading(since), "the one that has waited for longest");
        drop(second);
        activity.arrived(id);
        assert_eq!(activity.phase(), Phase::Writing, "what has ended changes nothing");
        drop(first);
        assert_eq!(activity.phase(), Phase::Idle);
        let Wait::Request(since) = activity.wait() else { panic!("{:?}", activity.wait()) };
        assert!(since <= Instant::now());
        activity.received();
        let Wait::Header(begun) = activity.wait() else { panic!("{:?}", activity.wait()) };
        activity.received();
        assert_eq!(activity.wait(), Wait::Header(begun), "since the first byte");
        let three = activity.begin();
        activity.received();
        drop(three);
        assert!(matches!(activity.wait(), Wait::Request(_)), "a body is not a header");
        // In HTTP/1.1, the time begins when everything is written.
        let _stream = Transport::new(tokio::io::empty(), activity.clone());
        drop(activity.begin());
        assert_eq!(activity.wait(), Wait::Nothing);
        activity.flushed();
        assert!(matches!(activity.wait(), Wait::Request(_)));
    }

    #[test]
    fn only_the_refusals_of_hyper_are_completed() {
        let head = "HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        let whole = complete(head.as_bytes(), None).expect("a refusal");
        let (head, body) = str::from_utf8(&whole).expect("text").split_once("\r\n\r\n").expect("a body");
        assert!(head.contains(&format!("\r\ncontent-length: {}\r\n", body.len())), "{head}");
        assert!(head.contains("\r\nrequest-id: ") && body.contains("\"request_too_large\""), "{head} {body}");
        for other in ["HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n", "{}", ""]
        {
            assert!(complete(other.as_bytes(), None).is_none(), "{other}");
        }
    }
}
